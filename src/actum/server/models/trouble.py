"""Why an upstream gave no answer, what the client is told of that, and whether another upstream may be asked. Pure.

A client learns nothing of how this server reaches its models: no address, no key, no account.
"""

from __future__ import annotations

import msgspec
from starlette.responses import Response

from ...core.errors import ModelError, ModelGarbled, ModelUnavailable
from ...core.stored.passed import Trouble, trouble_of
from ...dialects.base import ApiDialect
from ...transport.http import HttpFailure, retry_after
from ...transport.upstream_client import UpstreamAnswer
from .upstream import ModelUpstream

ERROR_BYTES_MAX = 1024 * 1024
RESTS: frozenset[Trouble | None] = frozenset({"unreachable", "trouble", "garbled", "key"})
"""After such troubles in a row an upstream is left alone for a while. One that asks to slow down says itself when."""
_PROVOKED = frozenset({403, 408, 425, 500, 501})
"""Statuses that a request can provoke: 403 for a model, 408 by its length, 500 where a server has a defect."""
_KEY_BYTES_MIN = 6
_ABOUT_RETRIES = frozenset({"retry-after", "retry-after-ms", "x-should-retry"})


class UpstreamFailure(Exception):
    """An upstream gave no answer.

    Args:
        trouble: the kind of the failure; None where the request itself is wrong, so that no other upstream is asked.
        error: what the client is told.
        told: the upstream's own answer, where the client speaks the same API and may see it.
        provoked: the request itself may have caused this, such as one for a model that this server's account may not
            use. Only the caller who made the request is kept from the upstream for a while, and nobody else.
        is_final: the upstream says that the request must not be sent again, as where an agent's tools have run already.
            No other upstream is asked, and the client is told the same.
    """

    def __init__(
        self,
        trouble: Trouble | None,
        error: ModelError,
        told: Response | None = None,
        *,
        provoked: bool = False,
        is_final: bool = False,
    ) -> None:
        super().__init__(str(error))
        self.is_final = is_final
        self.trouble = trouble
        self.error = error
        self.told = told
        self.provoked = provoked


def failure_of_status(
    answer: UpstreamAnswer, body: bytes, upstream: ModelUpstream, now: float, *, dialect: ApiDialect, same_api: bool
) -> UpstreamFailure:
    """What an answer means that is none.

    Args:
        answer: its head.
        body: its body.
        upstream: whose answer it is.
        now: seconds since 1970.
        dialect: of the upstream.
        same_api: the client speaks the API of the upstream.
    """
    error = dialect.decode_error(answer.status, retry_after(answer.headers, now), body)
    trouble, provoked = trouble_of(error, answer.status), answer.status in _PROVOKED
    if trouble == "key":
        refused = ModelUnavailable("The model's own server refuses this server.", status=502)
        return UpstreamFailure(trouble, refused, provoked=provoked)
    if trouble == "garbled":
        return UpstreamFailure(trouble, ModelGarbled("The model's own server answers something else.", status=502))
    key = upstream.place.key
    body = upstream.without_address(body)
    words = upstream.without_address(str(error).encode("utf-8", "replace")).decode()
    error.args = (words.replace(key, "[key]") if len(key) >= _KEY_BYTES_MIN else words,)
    told = None
    if same_api and _is_object(body) and not (len(key) >= _KEY_BYTES_MIN and key.encode() in body):
        passed = {name: value for name, value in answer.headers.items() if name in _ABOUT_RETRIES}
        told = Response(body, answer.status, passed, "application/json")
    is_final = answer.headers.get("x-should-retry", "").lower() == "false"
    return UpstreamFailure(trouble, error, told, provoked=provoked, is_final=is_final)


def failure_of_network(failure: HttpFailure) -> UpstreamFailure:
    """What a failed connection means."""
    if failure.lasting:
        return UpstreamFailure("garbled", ModelGarbled("The model's own server answers something else.", status=502))
    if failure.silent:
        return UpstreamFailure(
            "unreachable", ModelUnavailable("The model's own server did not answer in time.", status=504)
        )
    return UpstreamFailure("unreachable", ModelUnavailable("The model's own server can not be reached.", status=503))


def _is_object(body: bytes) -> bool:
    try:
        msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True
