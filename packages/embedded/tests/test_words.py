"""Words, and what they may be found by."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum_embedded.text.lexicon import (
    fold,
    is_han,
    lexicon,
    stem,
)
from actum_embedded.text.words import spaced, terms, tokenize


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("周杰伦生日那天北京的天气", ["周杰伦", "生日", "那天", "北京", "的", "天气"]),
        ("李想是什么时候出生的", ["李想", "是什么", "时候", "出生", "的"]),
        ("张国荣和孙中山的歌", ["张国荣", "和", "孙中山", "的", "歌"]),
        ("星辰贸易有限公司", ["星辰贸易有限", "公司"]),
        ("查飞行日志", ["查", "飞行日志"]),
        ("订两张票", ["订", "两", "张", "票"]),
        ("What's 17*23?", ["What's", "17", "*", "23", "?"]),
        ("get_weather", ["get", "_", "weather"]),
    ],
)
def test_text_is_cut_into_words(text: str, words: list[str]) -> None:
    assert [token.text for token in tokenize(text)] == words


@given(st.text(max_size=60))
def test_every_character_but_space_is_in_one_word(text: str) -> None:
    tokens = tokenize(text)
    assert "".join("".join(token.text.split()) for token in tokens) == "".join(
        character for character in text if not character.isspace() or any(token.text == character for token in tokens)
    )
    assert all(text[token.start : token.end] == token.text for token in tokens)


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("weather forecast", {"#weather"}),
        ("天气", {"#weather"}),
        ("how many people live there", {"#population", "live"}),
        ("17 times 23", {"#multiply"}),
        ("what time is it", {"#time"}),
        ("飞行日志", {"飞行", "行日", "日志"}),
    ],
)
def test_both_languages_meet_in_concepts(text: str, keys: set[str]) -> None:
    assert {term.key for term in terms(text)} >= keys


def test_a_word_is_not_taken_for_another_of_the_same_stem() -> None:
    assert [term.key for term in terms("17 times 23")] == ["#multiply"]


def test_a_hint_counts_in_a_question_and_not_in_a_description() -> None:
    assert [(term.key, term.weight) for term in terms("umbrella")] == [("#weather", 0.6), ("umbrella", 1.0)]
    assert [term.key for term in terms("umbrella", hints=False)] == ["umbrella"]


def test_names_are_taken_apart() -> None:
    assert spaced("getCurrentTime_v2.latest-one") == "get Current Time v2 latest one"


@pytest.mark.parametrize(
    ("word", "stemmed"), [("cities", "city"), ("searches", "search"), ("news", "news"), ("is", "is")]
)
def test_words_are_stemmed_lightly(word: str, stemmed: str) -> None:
    assert stem(word) == stemmed


def test_a_place_has_one_key_in_both_languages() -> None:
    names = lexicon().names
    assert {name.key for name in names["北京"]} == {name.key for name in names["beijing"]} == {"Beijing"}
    assert is_han("北京")
    assert fold(" New_York ") == "new york"


def test_a_chinese_word_is_found_with_others_inside_of_it() -> None:
    assert "#reserve" in {term.key for term in terms("订两张票")}
    assert "#reserve" not in {term.key for term in terms("订单，票")}


def test_a_chinese_word_that_no_concept_has_is_found_by_what_a_dictionary_says() -> None:
    assert "emperor" in {term.key for term in terms("皇帝")}
    assert "emperor" not in {term.key for term in terms("皇帝", hints=False)}


@pytest.mark.parametrize(
    ("short", "word"), [("qty", "quantity"), ("stats", "statistics"), ("avg_temp", "average temperature")]
)
def test_a_word_that_programs_write_short_meets_the_whole_one(short: str, word: str) -> None:
    assert {term.key for term in terms(spaced(short))} == {term.key for term in terms(word)}
