"""What the readers of the Gemini API read; see `..shape`. Names are those in `camelCase`."""

from __future__ import annotations

from collections.abc import Iterator

from ....core.json import Json, JsonObject
from ..shape import ANY_OTHER, ERROR, Choices, Fields, Kinds, Shape, Words, only, whole
from .decoder import REFUSALS, base64_any


def _is_base64(value: Json, item: JsonObject) -> bool:
    try:
        return isinstance(value, str) and bool(base64_any(value))
    except ValueError:
        return False


_INLINE = Fields({"mimeType": whole, "data": _is_base64, "displayName": whole})
_LOCATED = Fields({"mimeType": whole, "fileUri": whole, "displayName": whole})
_CALL = Fields({"id": whole, "name": whole, "args": whole, "partialArgs": whole, "willContinue": whole})


def _kind_of_part(item: JsonObject) -> str:
    if "functionCall" in item:
        return "call"
    if "text" in item:
        return "thought" if item.get("thought") is True else "text"
    return next((name for name in ("inlineData", "fileData", "functionResponse") if name in item), "")


_SAID: dict[str, Shape] = {
    "text": Fields({"text": whole, "thought": only(False)}),
    "inlineData": Fields({"inlineData": _INLINE}),
    "fileData": Fields({"fileData": _LOCATED}),
}
_REPLY_PART = Kinds(
    _kind_of_part,
    {
        **_SAID,
        "call": Fields({"functionCall": _CALL, "thoughtSignature": whole}),
        "thought": Fields({"text": whole, "thought": whole, "thoughtSignature": whole}),
    },
)

# Answers.


def _is_sum(value: Json, item: JsonObject) -> bool:
    names = ("promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount", "toolUsePromptTokenCount")
    counts = [item.get(name) for name in names]
    return value == sum([count for count in counts if isinstance(count, int)])


def _says_why_not(value: Json, item: JsonObject) -> bool:
    """The words of a refusal are read; other words about the end are not."""
    return item.get("finishReason") in REFUSALS


_CANDIDATE = Fields(
    {
        "index": whole,
        "content": Fields({"role": only("model"), "parts": _REPLY_PART}),
        "finishReason": whole,
        "finishMessage": _says_why_not,
    }
)
REPLY = Fields(
    {
        "candidates": Choices(_CANDIDATE),
        "promptFeedback": Fields(
            {
                "blockReason": whole,
                "blockReasonMessage": lambda _, item: bool(item.get("blockReason")),
            }
        ),
        "usageMetadata": Fields(
            {
                "promptTokenCount": whole,
                "candidatesTokenCount": whole,
                "cachedContentTokenCount": whole,
                "thoughtsTokenCount": whole,
                "toolUsePromptTokenCount": whole,
                "totalTokenCount": _is_sum,
                ANY_OTHER: only(0),
            }
        ),
        "modelVersion": whole,
        "responseId": whole,
        "error": ERROR,
    }
)


def places_of_event(event: JsonObject) -> Iterator[tuple[str, Json, Shape]]:
    """The places of an event that are looked through: it is an answer, in the same words."""
    yield "", event, REPLY


# Requests.

_ANSWER = Fields(
    {
        "id": whole,
        "name": whole,
        "response": whole,
        "parts": Kinds(_kind_of_part, _SAID),
    }
)
_USER_PART = Kinds(_kind_of_part, {**_SAID, "functionResponse": Fields({"functionResponse": _ANSWER})})
_USER = Fields({"role": whole, "parts": _USER_PART})
_FUNCTION = Fields({"name": whole, "description": whole, "parameters": whole, "parametersJsonSchema": whole})
_MODES = ("AUTO", "MODE_UNSPECIFIED", "ANY", "NONE")


def _is_mode(value: Json, item: JsonObject) -> bool:
    """The mode VALIDATED with no names is read as AUTO; that it holds the model to the schemas is left over."""
    return str(value).upper() in _MODES or bool(item.get("allowedFunctionNames"))


def _is_json(value: Json, item: JsonObject) -> bool:
    return value == "application/json" or not (item.get("responseSchema") or item.get("responseJsonSchema"))


REQUEST = Fields(
    {
        "systemInstruction": Words(Fields({"role": whole, "parts": Fields({"text": whole})})),
        "contents": Kinds(
            lambda item: str(item.get("role") or "user"),
            {
                "model": Fields({"role": whole, "parts": _REPLY_PART}),
                "user": _USER,
                "function": _USER,
            },
        ),
        "tools": Fields({"functionDeclarations": _FUNCTION}),
        "toolConfig": Fields(
            {
                "functionCallingConfig": Fields({"mode": _is_mode, "allowedFunctionNames": whole}),
                ANY_OTHER: whole,
            }
        ),
        "generationConfig": Fields(
            {
                "responseSchema": lambda _, item: item.get("responseJsonSchema") is None,
                "responseMimeType": _is_json,
                ANY_OTHER: whole,
            }
        ),
        ANY_OTHER: whole,
    }
)
"""All other fields are read as they are, or are in the request's `extras`, and `shared_fields` keeps the account of
those."""
