"""A comparison pairs by case, a gate says pass, fail or unknown, and what is written of them is escaped."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.core.errors import UsageError
from actum.evals.comparison import compare, shown
from actum.evals.gate import GateRules, GateVerdict, judge
from actum.evals.report import CaseReport, ExperimentReport, TryReport, names_of, summary_of
from actum.evals.written import exported, junit, markdown, read_exported

pytestmark = pytest.mark.row("F4")


def case(
    name: str, *marks: float | None, tags: Sequence[str] = (), must: bool = False, cost: float = 1.0
) -> CaseReport:
    tries = tuple(
        TryReport(run=f"run_{name}_{at}", status="done", scores={"correct": mark}, cost=Decimal(str(cost)), tokens=10)
        for at, mark in enumerate(marks)
    )
    return CaseReport(case=name, tags=tuple(tags), must=must, tries=tries, question=f"question {name}")


def report(*cases: CaseReport, failed: int = 0, is_over: bool = True) -> ExperimentReport:
    return ExperimentReport(
        experiment="run_x",
        name="",
        dataset="d",
        agent="desk",
        cases=len(cases),
        tries=len(cases[0].tries),
        failed=failed,
        denied=0,
        is_over=is_over,
        scores={name: summary_of(cases, name) for name in names_of(cases)},
        results=cases,
    )


def marked(right: int, wrong: int, *, cost: float = 1.0, tags: Sequence[str] = ()) -> ExperimentReport:
    """So many cases right, and so many wrong behind them."""
    marks = [1.0] * right + [0.0] * wrong
    return report(*(case(str(at), mark, cost=cost, tags=tags) for at, mark in enumerate(marks)))


def verdict(
    after: ExperimentReport, before: ExperimentReport | None = None, judged: int | None = None, **rules: float | bool
) -> str:
    return judge(after, before, GateRules(**rules), judged_by_model=judged).verdict  # type: ignore[arg-type]


def test_a_comparison_pairs_by_case_and_lists_the_others() -> None:
    before = report(case("a", 1.0), case("b", 0.0), case("c", None), case("old", 1.0))
    after = report(case("a", 0.0), case("b", 1.0), case("c", 1.0), case("new", 1.0))
    found = compare(before, after)
    score = found.scores["correct"]
    assert (found.cases, found.alone, score.cases, score.gained, score.lost) == (3, ("old", "new"), 2, 1, 1)
    assert (score.a, score.b, score.difference) == (0.5, 0.5, 0)
    assert [(each.case, each.b - each.a, each.runs) for each in found.changed] == [
        ("a", -1, ("run_a_0", "run_a_0")),
        ("b", 1, ("run_b_0", "run_b_0")),
    ]
    assert shown(found)["cost"] == {"a": 3.0, "b": 3.0, "ratio": None, "low": None, "high": None}


def test_costs_have_a_ratio_from_twenty_cases_on_and_none_where_nobody_knows_them() -> None:
    assert compare(marked(19, 0), marked(19, 0, cost=2)).used["cost"].ratio is None
    used = compare(marked(20, 0), marked(20, 0, cost=2)).used
    assert (used["cost"].ratio, used["cost"].low, used["cost"].high) == (2, 2, 2)
    nothing = compare(marked(20, 0, cost=0), marked(20, 0)).used["cost"]
    assert (nothing.a, nothing.b, nothing.ratio) == (None, 20, None)


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([0.0, 0.5, 1.0])), min_size=1, max_size=30))
def test_a_comparison_the_other_way_round_says_the_opposite(marks: list[tuple[float, float]]) -> None:
    one = report(*(case(str(at), a) for at, (a, _) in enumerate(marks)))
    other = report(*(case(str(at), b) for at, (_, b) in enumerate(marks)))
    there, back = compare(one, other).scores["correct"], compare(other, one).scores["correct"]
    assert there.difference == pytest.approx(-back.difference)
    assert there.low == pytest.approx(-back.high)
    assert there.high == pytest.approx(-back.low)
    assert (there.gained, there.lost, there.chance) == (back.lost, back.gained, back.chance)
    assert there.low <= there.difference + 0.2
    assert there.high >= there.difference - 0.2


@pytest.mark.parametrize(
    ("after", "before", "rules", "meant"),
    [
        (marked(90, 10), None, {"minimum": 0.9}, "pass"),
        (marked(89, 11), None, {"minimum": 0.9}, "fail"),
        (marked(100, 0), marked(100, 0), {}, "pass"),
        (marked(95, 5), marked(100, 0), {}, "pass"),
        (marked(80, 20), marked(100, 0), {}, "fail"),
        (marked(53, 0), marked(53, 0), {"margin": 0.05}, "unknown"),
        (marked(54, 0), marked(54, 0), {"margin": 0.05}, "pass"),
        (marked(980, 20), marked(1_000, 0), {}, "fail"),
        (marked(980, 20), marked(1_000, 0), {"margin": 0.05}, "pass"),
        (marked(900, 100), marked(1_000, 0), {"margin": 0.05}, "fail"),
        (marked(30, 0, cost=1.5), marked(30, 0), {"cost": 1.1}, "fail"),
        (marked(30, 0, cost=1.05), marked(30, 0), {"cost": 1.1}, "pass"),
    ],
)
def test_the_verdict_of_a_gate(
    after: ExperimentReport, before: ExperimentReport | None, rules: dict[str, float], meant: str
) -> None:
    assert judge(after, before, GateRules(**rules)).verdict == meant  # type: ignore[arg-type]


def test_a_case_that_must_be_right_is_right_in_all_tries_or_nothing_passes() -> None:
    fine = case("a", 1.0, 1.0, must=True)
    assert verdict(report(fine, case("b", 1.0, 0.0))) == "pass"
    for marks in ((1.0, 0.0), (1.0, None), (1.0,)):
        bad = report(case("b", 1.0, 1.0), case("a", *marks, must=True))
        assert verdict(bad) == "fail"


def test_a_tag_that_surely_lost_fails_though_the_whole_did_not() -> None:
    tagged = [case(f"x{at}", 0.0, tags=["mail"]) for at in range(15)]
    before = report(
        *(case(each.case, 1.0, tags=["mail"]) for each in tagged), *(case(str(at), 0.0) for at in range(15))
    )
    after = report(*tagged, *(case(str(at), 1.0) for at in range(15)))
    found = judge(after, before, GateRules())
    assert found.verdict == "fail"
    assert "mail" in str(found.reasons[0])


def test_nothing_passes_with_too_many_failed_tries_or_on_the_word_of_a_judge_alone() -> None:
    fine = marked(20, 0)
    assert verdict(report(*fine.results, failed=2)) == "pass"
    assert verdict(report(*fine.results, failed=3)) == "unknown"
    assert verdict(report(*fine.results, is_over=False)) == "unknown"
    assert verdict(fine, judged=49) == "unknown"
    assert verdict(fine, judged=50) == "pass"
    assert verdict(fine, judged=0, unchecked_judge=True) == "pass"
    assert verdict(marked(0, 20), judged=0, minimum=0.5) == "fail"


def test_what_a_gate_can_not_be_asked_is_refused() -> None:
    for rules in (GateRules(metric="polite"), GateRules(margin=0.05), GateRules(cost=1.1)):
        with pytest.raises(UsageError, match="--"):
            judge(marked(5, 0), None, rules)


@given(st.lists(st.lists(st.sampled_from([0.0, 0.5, 1.0, None]), min_size=2, max_size=2), min_size=1, max_size=8))
def test_the_file_of_an_experiment_compares_as_the_experiment_does(marks: list[list[float | None]]) -> None:
    whole = report(*(case(str(at), *each, tags=["x"], must=at == 0) for at, each in enumerate(marks)))
    again = read_exported(exported(whole), "before.json")
    assert exported(again) == exported(whole)
    other = marked(len(marks), 0)
    one, two = shown(compare(whole, other)), shown(compare(again, other))
    assert one["scores"] == two["scores"]
    assert one["cost"] == two["cost"]
    assert b"question" not in exported(whole)


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"format": 2}', b"[" * 100_000])
def test_a_file_that_is_no_experiment_is_refused(content: bytes) -> None:
    with pytest.raises(UsageError, match=r"before\.json"):
        read_exported(content, "before.json")


NASTY = ["]]>", "<script>alert(1)</script>", "a|b", "a\nb", "\x00\x1b[31m", "\"&'", "\ud800", "[x](http://y)", "`x`"]


@given(st.text(max_size=20) | st.sampled_from(NASTY), st.text(max_size=20) | st.sampled_from(NASTY))
def test_what_strangers_wrote_is_escaped_and_the_xml_parses(name: str, question: str) -> None:
    bad = CaseReport(case=name, tags=(), tries=case("x", 0.0).tries, question=question)
    fine: GateVerdict = judge(report(bad), None, GateRules(minimum=0.5))
    parsed = ElementTree.fromstring(junit(report(bad), fine).encode("utf-8", "replace"))
    assert [each.tag for each in parsed.iter()] == [
        *("testsuites", "testsuite", "testcase", "failure", "testcase", "failure"),
    ]
    page = markdown(report(bad), fine)
    assert "<script" not in page
    assert page.splitlines()[-1].count("|") - page.splitlines()[-1].count(r"\|") == 4
