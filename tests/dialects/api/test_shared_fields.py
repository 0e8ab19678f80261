"""Fields of one meaning go from API to API; what has no counterpart stays behind under its path."""

from __future__ import annotations

import copy
import itertools

import pytest

from actum.core.json import Json, JsonObject
from actum.dialects.api.shared_fields import (
    ANTHROPIC,
    CHAT,
    GEMINI,
    RESPONSES,
    SHARED,
    moved,
)

APIS = (ANTHROPIC, CHAT, GEMINI, RESPONSES)


def body(path: str, value: Json) -> JsonObject:
    for name in reversed(path.split(".")):
        value = {name: value}
    assert isinstance(value, dict)
    return value


@pytest.mark.row("S9")
@pytest.mark.parametrize(("source", "target"), list(itertools.permutations(APIS, 2)))
def test_a_shared_field_goes_there_and_comes_back(source: str, target: str) -> None:
    for row in SHARED:
        path, there = row.paths.get(source), row.paths.get(target)
        if path is None or there is None:
            continue
        value = next(iter(row.words), "x")
        given = body(path, row.words.get(value, {}).get(source, value))
        found, left = moved(given, source, target)
        assert left == {}
        assert found == body(there, row.words.get(value, {}).get(target, value))
        assert moved(found, target, source) == (given, {})


def test_words_are_spelled_as_the_target_does_and_unknown_ones_stay_behind() -> None:
    low: JsonObject = {"generationConfig": {"thinkingConfig": {"thinkingLevel": "LOW"}}}
    assert moved({"reasoning_effort": "low"}, CHAT, GEMINI) == (low, {})
    assert moved({"reasoning_effort": "xhigh"}, CHAT, GEMINI) == ({}, {"reasoning_effort": "xhigh"})


def test_an_object_is_carried_with_all_its_names_whatever_they_hold() -> None:
    extras: JsonObject = {"metadata": {"a.b": "c", "d": {"e": [1]}}, "stream_options": {"include_usage": True}}
    before = copy.deepcopy(extras)
    assert moved(extras, CHAT, RESPONSES) == ({"metadata": {"a.b": "c", "d": {"e": [1]}}}, {})
    assert moved(extras, CHAT, GEMINI) == ({}, {"metadata.a.b": "c", "metadata.d.e": [1]})
    assert extras == before


def test_null_says_nothing() -> None:
    assert moved({"seed": None, "logit_bias": None}, CHAT, ANTHROPIC) == ({}, {})


def test_several_fields_are_put_into_one_object() -> None:
    found, left = moved({"presence_penalty": 0.5, "frequency_penalty": 1, "n": 2}, CHAT, GEMINI)
    assert found == {"generationConfig": {"presencePenalty": 0.5, "frequencyPenalty": 1}}
    assert left == {"n": 2}
