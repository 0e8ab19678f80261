"""An answer is held to its quotes, passage by passage and number by number."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.knowledge.citing.answer import backed, checked_answer, places_cited
from actum.knowledge.citing.numbers import numbers_in
from actum.knowledge.citing.reference_forms import plain_references
from actum.knowledge.citing.references import QuotePlace, QuoteReference

pytestmark = pytest.mark.row("T7")


def quoted(number: int, quote: str, title: str = "Travel") -> QuoteReference:
    return QuoteReference(number, title, "knowledge:a/b.md", quote, quote, QuotePlace(), "d", 0.0)


REFERENCES = {
    1: quoted(1, "A hotel may cost at most one hundred and twenty euros a night"),
    2: quoted(2, "每晚最多一百二十欧元，占百分之五十"),
    3: quoted(3, "On March 30, 2022 it cost 2.5 million euros for 1,234 rooms"),
    4: quoted(4, "Exceptions are approved by the manager.", "Rules of 2024"),
}
NO, UNKNOWN, NUMBER = "no_reference", "unknown_reference", "number_not_quoted"
ANSWERS: list[tuple[str, list[str], str]] = [
    ("A hotel may cost 120 euros a night [1].", [], "A hotel may cost 120 euros a night [1]."),
    ("A hotel may cost 130 euros a night [1].", [NUMBER], ""),
    ("A hotel may cost 120 euros [3].", [NUMBER], ""),
    ("A hotel may cost 120 euros [9].", [UNKNOWN], ""),
    ("A hotel may cost 120 euros.", [NO], ""),
    ("A hotel may cost 120 euros [1]. However, breakfast is free.", [NO], ""),
    ("A hotel may cost 120 euros [1]. The manager approves exceptions [4].", [], "="),
    ("Dr. Smith may pay 120 euros, e.g. in Rome [1].", [], "="),
    ("In 2024 exceptions were approved [4].", [], "="),
    ("You asked about 3 nights: the manager decides [4].", [], "="),
    ("The limits:\n\n- 120 euros [1]\n- lunch", [NO], "The limits:\n\n- 120 euros [1]"),
    ("1. 120 euros [1]\n2. approved [4]", [], "="),
    (
        "| City | Limit |\n|---|---|\n| Rome | 120 [1] |\n| Oslo | 150 [1] |",
        [NUMBER],
        "| City | Limit |\n|---|---|\n| Rome | 120 [1] |",
    ),
    ("# Hotels\n\n120 euros [1].\n\nDo you need more?", [], "="),
    ("```\nx = 5\n```\n\n120 euros [1].", [], "="),
    ("On 2022-03-30 it cost 2,500,000 euros for １２３４ rooms [3].", [], "="),
    ("It cost 2.6 million [3].", [NUMBER], ""),
    ("Both say so [1][2], and the manager decides [4].", [], "="),
    ("Hello! How can I help?", [], ""),
    ("每晚最多 120 欧元，占 50% [2]。", [], "="),
    ("每晚最多 130 欧元 [2]。", [NUMBER], ""),
    ("例外由经理批准[4]。但是早餐免费。", [NO], ""),
    ("规定如下：\n\n- 120 欧元[2]\n- 150 欧元[2]", [NUMBER], "规定如下：\n\n- 120 欧元[2]"),
    ("2022年3月30日花了 250万 [3]。", [], "="),
    ("一般来说每晚 120 欧元[2]。", [], "="),
    ("你好！", [NO], ""),
    ("酒店每晚最多120欧元，占50%[2]。", [], "="),  # no blank stands before a number
    ("酒店每晚最多130欧元[2]。", [NUMBER], ""),
    ("In 2022, on March 30, it cost 2.5 million [3].", [], "="),
    ("2022年3月花了250万[3]。3月30日花的[3]。", [], "="),
    ("On March 31 it cost 2.5 million [3].", [NUMBER], ""),
    ("It cost 30 euros [3].", [NUMBER], ""),  # a day is no amount
]


@pytest.mark.parametrize(("answer", "kinds", "left"), ANSWERS)
def test_answers_as_models_write_them(answer: str, kinds: list[str], left: str) -> None:
    checked = checked_answer(answer, REFERENCES, "What for 3 nights?")
    assert [each.kind for each in checked.problems] == kinds
    assert backed(checked).text == (answer if left == "=" else left)


FORMS: list[tuple[str, str]] = [
    ("120 euros【1】.", "120 euros[1]."),
    ("120 euros 【1†source】【2†rules/travel.md】.", "120 euros [1][2]."),
    ("120 euros [1, 2].", "120 euros [1][2]."),
    ("120 euros [1,2; 4].", "120 euros [1][2][4]."),
    ("120 euros night[1, 2]. The société[3, 4].", "120 euros night[1][2]. The société[3][4]."),
    ("120 euros [1-3]. Rome [2\u20133, 9].", "120 euros [1][2][3]. Rome [2][3][9]."),
    ("120 euros[^1]. Rome [ 2 ].", "120 euros[1]. Rome [2]."),
    ("120 euros (the year before【link 3】 too) [1].", "120 euros (the year before too) [1]."),
    ("120 euros【1】(a night)", "120 euros[1] (a night)"),  # no link comes of it
    ("每晚 120 欧元【1, 2】。", "每晚 120 欧元[1][2]。"),
    ("每晚 120 欧元[1，2]，占一半［４］。", "每晚 120 欧元[1][2]，占一半[4]。"),
    ("每晚 120 欧元【1、2】【4～5】。", "每晚 120 欧元[1][2][4][5]。"),
    ("规定：\n- 120 欧元\n【1】\n- 经理批准【4†来源】", "规定：\n- 120 欧元\n[1]\n- 经理批准[4]"),
]
NO_REFERENCES = [
    "120 euros [1][2] [9].",
    "Write `x[1, 2]` and ``a【1】``, `【link 3】` [1].",
    "```\nx = y[1, 2]\nz = 【1】\n```\n\n120 euros [1].",
    "See [1, 2](https://example.com) and x[1, 2], row_of[1-3].",
    "120 euros[^1].\n\n[^1]: The rules of travel.",
    "It costs [1,234] or [1.5], between [0, 1] and [10-5], 2019 [2019-2021].",
    "【1】住宿\n【2】交通",
    "国发【2022】15号文件。[a, b] [1, x] 【4:0†source】【1] [1】",
    "- [ ] open\n- [x] done",
]


@pytest.mark.parametrize(("written", "read"), FORMS)
def test_forms_of_references_that_models_write_are_read_as_one(written: str, read: str) -> None:
    assert checked_answer(written, REFERENCES).text == read


@pytest.mark.parametrize("text", NO_REFERENCES)
def test_code_links_footnotes_and_numbering_stay_as_they_are(text: str) -> None:
    assert plain_references(text) == text


def test_a_bracket_in_code_cites_nothing() -> None:
    checked = checked_answer("It may cost 120 euros `a[1]`.\n\n```\nb[2]\n```", REFERENCES)
    assert [each.kind for each in checked.problems] == [NO]
    assert places_cited(checked.text) == []


_WRITTEN = st.one_of(
    st.tuples(
        st.sampled_from(["[{}]", "【{}】", "［{}］", "【{}†source】", "[{}†L1-L9]"]),
        st.sampled_from([", ", ",", "，", "、", "; "]),
        st.lists(st.integers(1, 99), min_size=1, max_size=4),
    ),
    st.tuples(
        st.sampled_from(["[{}]", "【{}】"]),
        st.sampled_from(["-", " - ", "\u2013", "～"]),
        st.tuples(st.integers(1, 9), st.integers(10, 20)).map(list),
    ),
)
_WORDS = st.sampled_from(
    ["A hotel may cost 120 euros", "每晚最多一百二十欧元", "`a[7]` and [one](https://a.example) more", "例外"]
)


@given(st.lists(st.tuples(_WORDS, _WRITTEN), min_size=1, max_size=4))
def test_an_answer_is_checked_the_same_in_each_form(parts: list[tuple[str, tuple[str, str, list[int]]]]) -> None:
    written, plain, said = "", "", []
    for words, (form, between, numbers) in parts:
        is_range = between.strip() in "-\u2013～"
        cited = list(range(numbers[0], numbers[-1] + 1)) if is_range else numbers
        written += f"{words} {form.format(between.join(map(str, numbers)))}. "
        plain += f"{words} {''.join(f'[{each}]' for each in cited)}. "
        said += cited
    checked = checked_answer(written, REFERENCES)
    assert checked.text == plain
    assert [number for number, _, _ in places_cited(checked.text)] == said
    assert checked == checked_answer(plain, REFERENCES)


@given(st.text("[]【】［］()1230４,，-†^`~:x_ \n", max_size=40))
def test_what_was_read_once_is_read_no_other_way_again(text: str) -> None:
    assert plain_references(plain_references(text)) == plain_references(text)


def test_one_number_has_several_spellings() -> None:
    for text in ("1,234", "1234", "１２３４", "1 234", "one thousand two hundred and thirty-four", "一千二百三十四"):
        assert "1234" in numbers_in(text, words=True), text
    for text in ("50 %", "50%", "50 percent", "百分之五十", "fifty percent", "百分之50"):
        assert "50%" in numbers_in(text, words=True), text
    for text in (
        "March 30, 2022",
        "30 March 2022",
        "2022-03-30",
        "2022年3月30日",
        "30. Mar 2022",
        "2022/3/30",
        "the 30th of March 2022",
    ):
        assert numbers_in(text) == {"2022-03-30"}, text
    for text in ("2.5 million", "2500000", "250万", "2,500,000", "二百五十万"):
        assert "2500000" in numbers_in(text, words=True), text
    for text, found in (("在2022-03-30之前", "2022-03-30"), ("第3条", "3"), ("A4纸", "a4"), ("v2.13", "2.13")):
        assert numbers_in(text) == {found}, text
    assert numbers_in("Only 30 may enter") == {"30"}
    assert numbers_in("-5 degrees") == numbers_in("\u22125 degrees") == {"-5"}
    assert "-5" not in numbers_in("5 degrees, 3-5 degrees", words=True)
    assert numbers_in("2.5万", words=True) == {"25000"}
    assert numbers_in("one of 一般") == set()
    assert numbers_in("50%") != numbers_in("50")
