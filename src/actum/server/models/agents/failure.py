"""What a client of a model API is told of a run that failed, and of a run whose answer has not the demanded form.

The status keeps official clients from sending the request again by themselves: the tools of the run have run already.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from starlette.responses import Response

from ....core.errors import ActumError, RunFailed
from ....core.json import Json, JsonObject
from ....dialects.transcode.one_field import with_field
from ....runs.caller_access import ACCESS_REVOKED
from ....runs.wording import failed_words
from ..refused import DO_NOT_RETRY, told_error
from ..surface import Vendor
from .answer import Ending, Piece, ServerCall, text_of, told_call

STATUS_HEADER = "x-actum-status"
"""How the run of an answer stands; see `Ending.status`."""
_STATUS = {
    **dict.fromkeys(("ContextOverflow", "ModelRejected"), 400),
    **dict.fromkeys(("PermissionDenied", ACCESS_REVOKED), 403),
}
"""By the reason of the run; 422 for all others."""
_CODES = {"ContextOverflow": "context_length_exceeded"}
_INNER_CAPITAL = re.compile(r"(?<!^)(?=[A-Z])")


def failure(ending: Ending) -> RunFailed:
    """The error of a run that has failed."""
    words = failed_words(ending.reason) or "The run could not be carried out."
    return RunFailed(words, code=code_of(ending), status=_STATUS.get(ending.reason, 422))


def code_of(ending: Ending) -> str:
    """Why a run has failed, in one word; `run_failed` where that is for the operator alone."""
    if not failed_words(ending.reason):
        return "run_failed"
    return _CODES.get(ending.reason, _INNER_CAPITAL.sub("_", ending.reason).lower())


def failed_response(
    vendor: Vendor, ending: Ending, pieces: Sequence[Piece], request_id: str, headers: Mapping[str, str]
) -> Response:
    """The whole answer of a run that has failed: the API's error, whose field `run` holds what was said and called.

    Args:
        vendor: the vendor whose client asks.
        ending: how the run ended.
        pieces: what was said and called before.
        request_id: the id of the request in the log.
        headers: of the answer.
    """
    error: ActumError = failure(ending)
    told = told_error(vendor, error, request_id)
    calls: list[Json] = [told_call(piece) for piece in pieces if isinstance(piece, ServerCall)]
    run: JsonObject = {"id": ending.run_id, "said": text_of(pieces) or ending.text, "calls": calls}
    body = with_field(told.body, ["error", "run"], run, insert=True)
    return Response(body, told.status, {**told.headers, **DO_NOT_RETRY, **headers})
