"""Of a text in any language what counts is found again, and what says nothing is left out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.core.language.words import STOP_SIGNS, STOP_WORDS, WORD_CHARS_MAX, is_sign, terms_of


@pytest.mark.parametrize(
    ("text", "terms"),
    {
        "Which projects did I mention?": {"project", "mention"},
        "getUserByID": {"get", "user", "id", "getuserbyid"},
        "我养了一只猫": {"我养", "养了", "一只", "只猫", "养", "只", "猫"},
        "我的猫叫什么": {"的猫", "猫叫", "叫什", "猫", "叫"},
        "東京タワーへ": {"東京", "京タ", "タワ", "ワー", "ーへ", "東", "京"},
        "naïve Straße 2026-11-23": {"naïv", "strass", "2026", "11", "23"},
        "": set(),
        "… !? \u202e\x00 \ud800": set(),
        "谢谢你们的了": {"谢谢", "谢你", "谢"},
    }.items(),
)
def test_a_text_has_these_terms(text: str, terms: set[str]) -> None:
    assert set(terms_of(text)) == terms


def test_a_term_counts_as_often_as_it_is_there() -> None:
    assert terms_of("Rivers, a river and the RIVER; 河, 河边") == {"river": 3, "河": 2, "河边": 1, "边": 1}


@given(st.text(max_size=200))
def test_terms_hold_letters_and_digits_alone_and_are_found_in_a_longer_text(text: str) -> None:
    terms = terms_of(text)
    assert all(term.isalnum() and len(term) <= WORD_CHARS_MAX + 8 for term in terms)
    assert not STOP_WORDS.intersection(terms)
    assert not any(is_sign(term) and term in STOP_SIGNS for term in terms)
    assert terms.keys() <= terms_of(f"before. {text} behind.").keys()


def test_a_word_without_an_end_counts_with_its_beginning() -> None:
    assert set(terms_of("k" * 100_000)) == {"k" * WORD_CHARS_MAX}
