"""What a model's endpoint says when it does not answer, as a `ModelError`. Pure.

Error bodies differ: `{"error": {"message", "type", "code"}}`, `{"error": "text"}` (Ollama), `{"object": "error",
"message"}` (older vLLM), `{"detail": ...}` (FastAPI), a list of one error (Gemini), or a proxy's page. The status alone
decides the class; the body gives the words.
"""

from __future__ import annotations

import re

import msgspec

from ...core.errors import (
    ModelError,
    ModelGarbled,
    ModelRejected,
    ModelUnavailable,
)
from ...core.json import (
    Json,
    JsonProblem,
    dumps,
    parse,
)

MESSAGE_CHARS_MAX = 300
_PASSES_BY_ITSELF = {408, 409, 425, 429}
_STATUS_OF_WORD = {
    "authentication_error": 401,
    "invalid_request_error": 400,
    "not_found_error": 404,
    "permission_error": 403,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "server_error": 500,
    "vector_store_timeout": 504,
    **dict.fromkeys(
        (
            *("invalid_prompt", "data_residency_mismatch", "bio_policy", "misalignment_policy_violation"),
            *("invalid_image", "invalid_image_format", "invalid_base64_image", "invalid_image_url", "image_too_large"),
            *("image_too_small", "image_parse_error", "image_content_policy_violation", "invalid_image_mode"),
            *("image_file_too_large", "unsupported_image_media_type", "empty_image_file", "failed_to_download_image"),
            "image_file_not_found",
        ),
        400,
    ),
}
"""What stands as `type` or `code` in an error that has no HTTP status, since it came in an answer that began well."""
_MEANING = {
    400: "the endpoint refused the request",
    401: "the endpoint did not accept the key",
    403: "the endpoint does not allow this",
    404: "the endpoint knows no such model or address",
    413: "the request is too long for the endpoint",
    429: "the endpoint asks to slow down",
    529: "the endpoint is overloaded",
}
_SECRET = re.compile(r"\b(?:[A-Za-z]{2,8}-[\w*-]*[\w*]{8,}|AIza[\w*-]{8,}|Bearer\s+\S+)")
"""What looks like a key (`sk-...`, Google's `AIza...`). Endpoints like to quote the key that they refuse."""

_decode = msgspec.json.Decoder().decode


def read_json(wire: bytes) -> Json:
    """The value of a body or an event. The fast parser first, then the one that mends what can be mended.

    Raises:
        JsonProblem: it is not JSON.
    """
    try:
        value: Json = _decode(wire)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        value, _ = parse(wire.removeprefix(b"\xef\xbb\xbf"), keep_last=True)
    return value


def error_of_status(status: int, retry_after: float | None, wire: bytes) -> ModelError:
    """The error that an answer with this HTTP status and body means."""
    try:
        body = read_json(wire)
    except JsonProblem:
        body = None
    return error_of(status, retry_after, body)


def error_of_event(wire: bytes) -> ModelError | None:
    """The error that stands in an answer which began well, or None when there is none."""
    body = read_json(wire)
    if not isinstance(body, dict):
        return None
    error = body.get("error") or (body if "error" in (body.get("object"), body.get("type")) else None)
    return error_of_field(error) if error else None


def error_of_field(error: Json) -> ModelError:
    """The error that the value of a field `error` means."""
    words: list[Json] = [error.get("type"), error.get("code")] if isinstance(error, dict) else []
    status = next((_STATUS_OF_WORD[word] for word in words if isinstance(word, str) and word in _STATUS_OF_WORD), 500)
    for word in words:
        if isinstance(word, int | str) and re.fullmatch(r"[45]\d\d", str(word)):
            status = int(word)
    return error_of(status, None, error)


def error_of(status: int, retry_after: float | None, body: Json) -> ModelError:
    """The error of this status, with what the body says about it."""
    kind: type[ModelError]
    if status in _PASSES_BY_ITSELF or status >= 500:
        kind, meaning = ModelUnavailable, "the endpoint has trouble"
    elif status >= 400:
        kind, meaning = ModelRejected, "the endpoint refused the request"
    else:
        kind, meaning = ModelGarbled, "this is not how the API answers; is the address right?"
    text, message = f"{_MEANING.get(status, meaning)} ({status})", _message(body)
    return kind(f"{text}: {message}" if message else text, status=status, retry_after=retry_after)


def _message(body: Json) -> str:
    """The endpoint's own words, shortened and without what looks like a key."""
    if isinstance(body, list) and len(body) == 1:
        body = body[0]
    while isinstance(body, dict):
        body = next((body[key] for key in ("error", "message", "detail", "code") if body.get(key)), None)
    if body is None:
        return ""
    text = " ".join(_SECRET.sub("[key]", body if isinstance(body, str) else dumps(body)).split())
    return text if len(text) <= MESSAGE_CHARS_MAX else text[: MESSAGE_CHARS_MAX - 1] + "…"
