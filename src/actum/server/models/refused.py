"""Errors of the models door, in the form and with the status of the API that was asked."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import structs
from starlette.responses import Response

from ...core.errors import ActumError, ModelError
from ...dialects.error_answer import ErrorAnswer
from ...dialects.transcode.one_field import with_field
from ..refusal import HttpRefusal
from .surface import ERROR_DIALECTS, Vendor

DO_NOT_RETRY = {"x-should-retry": "false"}
"""Official clients repeat a request by themselves after 409, 429 and 5xx, unless an answer has this header."""
NOT_SERVED = 501
"""What a vendor's API has and this server does not have. It will not have it a second later."""


class Refused(Exception):
    """A request is refused, with headers beside those of the error.

    Args:
        error: what the client is told. `ModelError(message, status=409)` has a status of its own.
        headers: of the answer, such as `DO_NOT_RETRY`.
    """

    def __init__(self, error: ActumError, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(str(error))
        self.error = error
        self.headers = dict(headers or {})


def told_error(vendor: Vendor, error: ActumError, request_id: str) -> ErrorAnswer:
    """An error in the form of a vendor's API.

    Args:
        vendor: the vendor whose client asks.
        error: what the client is told.
        request_id: the id of the request in the log.
    """
    told = ERROR_DIALECTS[vendor].encode_error(error)
    if vendor != "anthropic":
        return told
    return structs.replace(told, body=with_field(told.body, ["request_id"], request_id, insert=True))


def refusal_response(
    vendor: Vendor, error: ActumError, request_id: str, headers: Mapping[str, str] | None = None
) -> Response:
    """The answer to a request that is refused.

    Args:
        vendor, error, request_id: as for `told_error`.
        headers: of the answer, beside those of the error.
    """
    told = told_error(vendor, error, request_id)
    final = DO_NOT_RETRY if told.status == NOT_SERVED else {}
    return Response(told.body, told.status, {**told.headers, **final, **(headers or {})})


def error_of_refusal(refusal: HttpRefusal) -> ModelError:
    """What the application refuses, as an error that every dialect can write."""
    again = next((value for name, value in refusal.headers if name == b"retry-after"), b"")
    return ModelError(refusal.detail, status=refusal.status, retry_after=float(again) if again.isdigit() else None)
