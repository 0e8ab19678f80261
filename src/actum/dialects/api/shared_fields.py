"""Fields that `Request` has no place for and that several APIs have all the same, put from one into another. Pure.

A row of the table is one meaning: where each API says it, and in which words, if these differ. What no row knows stays
behind. A row says that the meaning is the same; a field that is only similar (a budget of tokens for thinking, and a
level of effort) has none.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from ...core.json import Json, JsonObject

CHAT, RESPONSES, ANTHROPIC, GEMINI = "openai_chat", "openai_responses", "anthropic_messages", "gemini_content"

SAID_ANYWAY = frozenset({("stream_options", "include_usage")})
"""Asks for what the other APIs tell without being asked: the tokens at the end of a stream."""


class Shared(Struct, frozen=True):
    """A meaning that several APIs can say.

    Attributes:
        paths: where each says it, as names with dots between them.
        words: the values that are carried, and how an API spells them where it does not spell them so. Any value
            where this is empty.
    """

    paths: dict[str, str]
    words: dict[str, dict[str, str]] = {}


def _openai(name: str) -> Shared:
    return Shared({CHAT: name, RESPONSES: name})


SHARED = (
    Shared({ANTHROPIC: "top_k", GEMINI: "generationConfig.topK"}),
    Shared({CHAT: "frequency_penalty", GEMINI: "generationConfig.frequencyPenalty"}),
    Shared({CHAT: "presence_penalty", GEMINI: "generationConfig.presencePenalty"}),
    Shared({CHAT: "user", RESPONSES: "user", ANTHROPIC: "metadata.user_id"}),
    Shared({CHAT: "verbosity", RESPONSES: "text.verbosity"}),
    Shared(
        {
            CHAT: "reasoning_effort",
            RESPONSES: "reasoning.effort",
            ANTHROPIC: "output_config.effort",
            GEMINI: "generationConfig.thinkingConfig.thinkingLevel",
        },
        {word: {GEMINI: word.upper()} for word in ("low", "medium", "high")},
    ),
    Shared(
        {
            CHAT: "response_format.type",
            RESPONSES: "text.format.type",
            GEMINI: "generationConfig.responseMimeType",
        },
        {"json_object": {GEMINI: "application/json"}, "text": {GEMINI: "text/plain"}},
    ),
    *map(_openai, ("metadata", "prompt_cache_key", "prompt_cache_retention", "safety_identifier", "service_tier")),
    _openai("store"),
)


def moved(extras: JsonObject, source: str, target: str) -> tuple[JsonObject, JsonObject]:
    """A request's further fields for another API.

    Args:
        extras: as the source has them; left as they are.
        source: name of the dialect that they were read in.
        target: name of the dialect that they are to be written in.

    Returns:
        What the target can say, in its way, and what stays behind, by its path.
    """
    leaves = [leaf for name, value in extras.items() for leaf in _leaves((name,), value)]
    left = {place: value for place, value in leaves if place not in SAID_ANYWAY and value not in ([], {}, "")}
    found: JsonObject = {}
    for row in SHARED:
        if source not in row.paths or target not in row.paths:
            continue
        path, there = tuple(row.paths[source].split(".")), tuple(row.paths[target].split("."))
        for place in [place for place in left if place[: len(path)] == path]:
            value = _respelled(row, left[place], source, target)
            if value is not None:
                _put(found, (*there, *place[len(path) :]), value)
                del left[place]
    return found, {".".join(place): value for place, value in left.items()}


def _leaves(path: tuple[str, ...], value: Json) -> Iterator[tuple[tuple[str, ...], Json]]:
    """The values in an object by their places; null says nothing."""
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from _leaves((*path, name), inner)
    elif value is not None:
        yield path, value


def _respelled(row: Shared, value: Json, source: str, target: str) -> Json:
    """The value as the target spells it; None where it has no word for it."""
    if not row.words:
        return value
    ours = [word for word, spelled in row.words.items() if spelled.get(source, word) == value]
    return row.words[ours[0]].get(target, ours[0]) if ours else None


def _put(body: JsonObject, path: tuple[str, ...], value: Json) -> None:
    name, *rest = path
    if not rest:
        body[name] = value
        return
    inner = body.setdefault(name, {})
    if isinstance(inner, dict):
        _put(inner, tuple(rest), value)
