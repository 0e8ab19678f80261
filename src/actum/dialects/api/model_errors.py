"""What a model's endpoint says when it does not answer, as a `ModelError`. Pure.

Error bodies differ: `{"error": {"message", "type", "code"}}`, `{"error": "text"}` (Ollama), `{"object": "error",
"message"}` (older vLLM), `{"detail": ...}` (FastAPI), a list of one error (Gemini), or a proxy's page. The status alone
decides the class; the body gives the words.
"""

from __future__ import annotations

import re

import msgspec

from ...core.errors import (
    ContextOverflow,
    ModelError,
    ModelGarbled,
    ModelRejected,
    ModelUnavailable,
)
from ...core.json import DEPTH_MAX, Json, JsonProblem, dumps, is_too_deep, may_be_deep, parse
from ...core.language.sentence import Sentence

MESSAGE_CHARS_MAX = 300
LOOKED_AT_MAX = 20_000
"""Within this many characters of an error it is looked for what the error means."""
_PASSES_BY_ITSELF = {408, 409, 425, 429}
_STATUS_OF_WORD = {
    "authentication_error": 401,
    "insufficient_quota": 429,
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
            *("image_file_not_found", "context_length_exceeded"),
        ),
        400,
    ),
}
"""The `type` or `code` of an error without an HTTP status, as it comes in an answer that began well."""
_MEANING = {
    400: Sentence("the endpoint refused the request"),
    401: Sentence("the endpoint did not accept the key"),
    403: Sentence("the endpoint does not allow this"),
    404: Sentence("the endpoint knows no such model or address"),
    429: Sentence("the endpoint asks to slow down"),
    529: Sentence("the endpoint is overloaded"),
}
_NO_QUOTA = frozenset(
    {
        *("insufficient_quota", "billing_hard_limit_reached", "billing_not_active"),  # OpenAI
        "exceeded_current_quota_error",  # Moonshot
        "1113",  # Zhipu
    }
)
"""The `type` or `code` where the account is used up: status 429 as well, but no wait helps."""
_SECRET = re.compile(r"\b(?:[A-Za-z]{2,8}-[\w*-]*[\w*]{8,}|AIza[\w*-]{8,}|Bearer\s+\S+)")
"""What looks like a key (`sk-...`, Google's `AIza...`). Endpoints like to quote the key that they refuse."""

_OVERFLOW_WORDS = frozenset({"context_length_exceeded", "exceed_context_size_error", "context_window_exceeded"})
"""The `type` or `code` in the error of a conversation that is too long."""

_OVERFLOW = re.compile(
    "|".join(
        (
            r"context[ _-](?:length|window|size|limit)[^.]{0,60}(?:exceed|overflow|too (?:long|large|small))",
            r"(?:exceed|longer than|larger than|too (?:long|large) for)[^.]{0,80}(?:context|model token limit)",
            r"exceed[^.]{0,80}maximum (?:(?:model|prompt|input) length|number of tokens)",
            r"maximum (?:context|prompt|model) length",  # OpenAI, vLLM, DeepSeek, xAI, Mistral
            r"(?:prompt|input|request|conversation)(?: \S+)? (?:is|are) too long",  # Anthropic, Bedrock
            r"prompt exceeds max length",  # Zhipu
            r"input length [^.]{0,40}exceed",  # Anthropic
            r"input token count[^.]{0,60}exceeds",  # Gemini
            r"(?:requested token count|input tokens?)[^.]{0,40}exceeds",  # SGLang
            r"range of input length should be",  # Qwen
            r"reduce the length of the (?:messages|prompt|input)",  # OpenAI, Groq, Cerebras
            r"tokens to keep from the initial prompt is greater than the context",  # LM Studio
            r"when context the overflows",  # LM Studio, earlier
            r"inputs` tokens \+ `max_new_tokens`",  # Text Generation Inference
            r"too many (?:input )?tokens in (?:the )?(?:prompt|request|input)",
        )
    ),
    re.IGNORECASE,
)
"""How endpoints say, in words alone, that a conversation is too long."""

_ANSWER_TOO_LONG = re.compile(
    r"max_(?:completion_|output_)?tokens\W[^.]{0,40}(?:too large|at most|must be)", re.IGNORECASE
)
"""How they say that a longer answer was asked for than the model can give: a shorter conversation is no help."""

_decode = msgspec.json.Decoder().decode


def read_json(wire: bytes) -> Json:
    """The value of a body or an event. The fast parser first, then the one that mends what can be mended.

    Raises:
        JsonProblem: it is not JSON, or nested deeper than 100 levels.
    """
    try:
        value: Json = _decode(wire)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        value, _ = parse(wire.removeprefix(b"\xef\xbb\xbf"), keep_last=True)
    else:
        if may_be_deep(wire) and is_too_deep(value):
            raise JsonProblem(f"nested deeper than {DEPTH_MAX} levels")
    return value


def error_of_status(status: int, retry_after: float | None, wire: bytes) -> ModelError:
    """The error that an answer with this HTTP status and body means."""
    try:
        body = read_json(wire)
    except JsonProblem:
        body = None
    return error_of(status, retry_after, body)


def error_of_event(wire: bytes) -> ModelError | None:
    """The error inside an answer which began well, or None when there is none."""
    body = read_json(wire)
    if not isinstance(body, dict):
        return None
    error = body.get("error") or (body if "error" in (body.get("object"), body.get("type")) else None)
    return error_of_field(error) if error else None


def error_of_field(error: Json) -> ModelError:
    """The error that the value of a field `error` means."""
    words = _words(error)
    status = next((_STATUS_OF_WORD[word] for word in words if word in _STATUS_OF_WORD), 500)
    for word in words:
        if re.fullmatch(r"[45]\d\d", word):
            status = int(word)
    return error_of(status, None, error)


def _words(body: Json) -> list[str]:
    """The `type` and the `code` of an error, which may stand in a field `error`, in the form of text."""
    error = body.get("error", body) if isinstance(body, dict) else body
    found = [error.get("type"), error.get("code")] if isinstance(error, dict) else []
    return [str(word) for word in found if isinstance(word, int | str)]


def error_of(status: int, retry_after: float | None, body: Json) -> ModelError:
    """The error of this status, with what the body says about it."""
    kind: type[ModelError]
    meaning = _MEANING.get(status)
    if status >= 400 and (status == 413 or _is_overflow(body)):
        kind, meaning = ContextOverflow, Sentence("the conversation is too long for the model")
    elif status == 429 and not _NO_QUOTA.isdisjoint(_words(body)):
        kind, meaning, retry_after = (
            ModelRejected,
            Sentence("the account at the endpoint has no quota or credit left"),
            None,
        )
    elif status in _PASSES_BY_ITSELF or status >= 500:
        kind, meaning = ModelUnavailable, meaning or Sentence("the endpoint has trouble")
    elif status >= 400:
        kind, meaning = ModelRejected, meaning or _MEANING[400]
    else:
        kind, meaning = ModelGarbled, meaning or Sentence("this is not how the API answers; is the address right?")
    told = Sentence("{meaning_why} ({number})", meaning_why=meaning, number=status)
    if message := _message(body):
        told = Sentence(
            "{meaning_why} ({number}): {said_detail}", meaning_why=meaning, number=status, said_detail=message
        )
    return kind(told, status=status, retry_after=retry_after)


def _is_overflow(body: Json) -> bool:
    """Whether an error says that the conversation is too long for the model."""
    if isinstance(body, list) and len(body) == 1:
        body = body[0]
    inner = body.get("error") if isinstance(body, dict) else None
    for error in (body, inner):
        if isinstance(error, dict) and not _OVERFLOW_WORDS.isdisjoint(map(str, (error.get("type"), error.get("code")))):
            return True
    said = _said(_told(body), LOOKED_AT_MAX)
    return _OVERFLOW.search(said) is not None and _ANSWER_TOO_LONG.search(said) is None


def _told(body: Json) -> Json:
    """What the endpoint says in words."""
    while isinstance(body, dict):
        body = next((body[key] for key in ("error", "message", "detail", "code") if body.get(key)), None)
    return body


def _message(body: Json) -> str:
    """The endpoint's own words, shortened and without what looks like a key."""
    if isinstance(body, list) and len(body) == 1:
        body = body[0]
    body = _told(body)
    if body is None:
        return ""
    text = " ".join(_SECRET.sub("[key]", _said(body, 2 * MESSAGE_CHARS_MAX)).split())
    return text if len(text) <= MESSAGE_CHARS_MAX else text[: MESSAGE_CHARS_MAX - 1] + "…"


def _said(words: Json, most: int) -> str:
    """The beginning of what an endpoint says: of an error of 4 MB nobody needs more."""
    return (words if isinstance(words, str) else dumps(words))[:most]
