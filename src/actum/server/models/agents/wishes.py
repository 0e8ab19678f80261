"""What a request wishes of a model and an agent can not give. Pure.

A wish for something that a program reads in the answer (`logprobs`, a second choice, sound) is refused by name. Every
other field that an agent does not heed is listed to the client in the header `x-actum-lost`. A field that asks for what
every answer has (`"logprobs": false`) is no wish.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....core.errors import UsageError
from ....core.json import Json, JsonObject, dumps
from ....dialects.api.openai_fields import camel
from ....dialects.losses import WHAT_CHARS_MAX, Loss
from ..surface import CHAT, COMPLETIONS, MESSAGES, RESPONSES, Surface

_LOGPROBS = "an agent has no probabilities of tokens"
_ONE_ANSWER = "an agent gives one answer"
_TEXT_ALONE = "an agent answers with text"
_REFUSED: dict[str, dict[str, str]] = {
    "chat": {
        **dict.fromkeys(("logprobs", "top_logprobs"), _LOGPROBS),
        **dict.fromkeys(("audio", "modalities"), _TEXT_ALONE),
        "n": _ONE_ANSWER,
    },
    "completions": {
        "logprobs": _LOGPROBS,
        **dict.fromkeys(("n", "best_of"), _ONE_ANSWER),
        "echo": "an agent does not repeat the prompt",
        "suffix": "an agent fills no gap",
    },
    "responses": {
        **dict.fromkeys(("top_logprobs", "include.message.output_text.logprobs"), _LOGPROBS),
        **dict.fromkeys(("audio", "modalities"), _TEXT_ALONE),
        "prompt": "prompts that OpenAI keeps are not known here",
    },
    "messages": {"mcp_servers": "an agent has its own tools"},
    "gemini": {
        **dict.fromkeys(("generationConfig.responseLogprobs", "generationConfig.logprobs"), _LOGPROBS),
        "generationConfig.candidateCount": _ONE_ANSWER,
        **dict.fromkeys(("generationConfig.responseModalities", "generationConfig.speechConfig"), _TEXT_ALONE),
        "cachedContent": "what Google keeps of a conversation is not known here",
    },
}
"""The wishes that are refused, by the API and the field."""
_LABELS = frozenset(
    {"cache_control", "labels", "prompt_cache_key", "prompt_cache_retention", "safety_identifier", "user"}
)
"""Fields for the provider's books: no answer depends on them."""
_HEEDED = {
    CHAT: frozenset({"stream_options"}),
    COMPLETIONS: frozenset({"stream_options"}),
    RESPONSES: frozenset({"background", "conversation", "metadata", "previous_response_id", "store"}),
    MESSAGES: frozenset[str](),
}
"""Fields that an agent heeds."""
_WITHIN = frozenset({"generationConfig", "output_config", "text"})
"""Fields whose own fields are wishes."""
_NO_WISHES: tuple[Json, ...] = (
    None,
    False,
    "",
    "auto",
    "default",
    "disabled",
    [],
    {},
    {"type": "text"},
    ["text"],
    ["TEXT"],
)
"""Values that ask for what every answer has."""


def lost_wishes(surface: Surface, extras: JsonObject) -> list[Loss]:
    """What of a request an agent does not heed.

    Args:
        surface: the API that was asked.
        extras: the fields of the request that are no part of `Request`, and those that were read elsewhere.

    Raises:
        UsageError: a program would look in the answer for what is not there.
    """
    refused = _REFUSED["gemini" if surface.vendor == "gemini" else surface.name]
    heeded, found = _HEEDED.get(surface, frozenset()), list[Loss]()
    for where, value in _wishes(camel(extras) if surface.vendor == "gemini" else extras):
        if where in refused:
            raise UsageError("{where}: {why}: leave it out", where=where, why=refused[where])
        if where not in heeded and where not in _LABELS:
            found.append(Loss(where, dumps(value)[:WHAT_CHARS_MAX], "an agent does not heed this"))
    return found


def _wishes(fields: JsonObject) -> Iterator[tuple[str, Json]]:
    for name, value in fields.items():
        if name in _WITHIN and isinstance(value, dict):
            yield from (
                (f"{name}.{inner}", wish)
                for inner, wish in _wishes(camel(value) if name == "generationConfig" else value)
            )
        elif name == "include" and isinstance(value, list):
            yield from ((f"include.{each}", True) for each in value)
        elif name == "metadata" and isinstance(value, dict):
            if value.keys() - {"actum_run"}:
                yield name, value
        elif not _is_none(name, value):
            yield name, value


def _is_none(name: str, value: Json) -> bool:
    """Whether a value asks for nothing: 0 of most things, one answer."""
    if name in ("n", "best_of", "candidateCount"):
        return value in (None, 0, 1)
    if isinstance(value, bool) or name == "logprobs":
        return value is None or value is False
    return value == 0 or value in _NO_WISHES
