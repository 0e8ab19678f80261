"""Where words lie."""

from __future__ import annotations

import gzip
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum_embedded.text.meanings import (
    cut,
    middle,
    nearness,
    point_of,
    sort_of,
)


def near(one: str, other: str) -> float:
    return nearness(point_of(one), point_of(other))


@pytest.mark.parametrize(
    ("word", "like", "unlike"),
    [
        ("cheap", "inexpensive", "purple"),
        ("lion", "animal", "city"),
        ("tall", "height", "invoice"),
        ("便宜", "cheap", "weather"),
        ("医生", "患者", "高度"),
        ("酒店", "hotel", "数学"),
    ],
)
def test_words_that_are_used_alike_lie_near_each_other(word: str, like: str, unlike: str) -> None:
    assert near(word, like) > 0.35 > near(word, unlike) + 0.1


def test_every_form_of_a_word_lies_where_the_word_does() -> None:
    assert near("booking", "Books") == pytest.approx(1.0)
    assert near("天气", "weather") == pytest.approx(1.0)


def test_of_a_word_that_nobody_knows_nothing_is_known() -> None:
    assert point_of("zxqvw") is None
    assert nearness(None, point_of("weather")) == 0.0
    assert middle([None]) is None
    assert sort_of("zxqvw") == ("-", "-")


def test_it_is_known_what_kind_of_word_it_is() -> None:
    assert sort_of("weather")[0][0] == "n"
    assert sort_of("discusses")[0][0] == "v"
    assert sort_of("医生")[0] == "n"
    assert sort_of("Tuesday")[1] == sort_of("friday")[1]


def test_chinese_is_cut_where_words_end() -> None:
    run = "国债发行价格"
    assert [run[start:end] for start, end in cut(run)] == ["国债", "发行", "价格"]


@given(st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF)))
def test_nothing_is_lost_by_cutting(run: str) -> None:
    assert "".join(run[start:end] for start, end in cut(run)) == run


@pytest.mark.row("L5")
def test_all_that_the_embedded_model_knows_is_less_than_a_megabyte_in_the_wheel() -> None:
    data = files("actum_embedded") / "data"
    assert sum(len(gzip.compress(file.read_bytes())) for file in data.iterdir()) < 1_000_000
