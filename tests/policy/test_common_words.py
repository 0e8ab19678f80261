"""Words that stand in almost every sentence."""

from __future__ import annotations

import pytest

from actum.policy.common_words import is_common

pytestmark = pytest.mark.row("C3")


def test_a_few_common_words_are_common_and_names_numbers_and_quotations_are_not() -> None:
    for text in (
        "to",
        "me",
        "the",
        "see to",
        "don’t",
        "i",
        "x",
        "我",
        "请",
        "给我",
        "请问一下",
        "der",
        "pour",
        "---",
        "",
    ):
        assert (text, is_common(text)) == (text, True)
    for text in (
        "ada",
        "mail",
        "see to ada",
        "7",
        "to-1",
        "王小明",
        "付给王小明",
        "give it to me then",
        "to " * 40 + "x",
    ):
        assert (text, is_common(text)) == (text, False)
