"""What is used counts for all above, once, however often a run is taken up."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.core.budget import NOTHING, Budget, Price, Used
from actum.core.errors import BudgetExceeded, LoopDetected
from actum.core.message import Usage
from actum.core.trace import Way

pytestmark = pytest.mark.row("C5")

PRICE = Price(input=Decimal(1), output=Decimal(3))
USAGES = st.builds(Usage, st.integers(0, 99), st.integers(0, 99))
AMOUNTS = st.builds(Used, st.integers(0, 9), st.integers(0, 99), st.decimals(0, 9, places=3), USAGES)


def below(above: Budget, call: str = "k", agent: object = "child", allowed: dict[str, int] | None = None) -> Budget:
    return Budget(allowed, agent, above=above, call=call)


@given(st.lists(AMOUNTS, max_size=5), st.lists(AMOUNTS, max_size=5))
def test_what_is_used_below_counts_above_and_for_the_call(first: list[Used], later: list[Used]) -> None:
    top = Budget({}, "top")
    middle = below(top, "a")
    bottom = below(middle, "b", agent="bottom")
    for used in first:
        bottom.add(used)
    recorded = sum(first, NOTHING)
    again = below(middle, "b", agent="bottom")  # the same run, taken up anew in the same process
    again.take_up(recorded)
    for used in later:
        again.add(used)
    total = sum([*first, *later], NOTHING)
    for run in (again, middle, top):
        assert Used(run.calls, run.tokens, run.cost, run.usage) == total
    assert (top.used_by("a"), middle.used_by("b")) == (total, total)


def test_in_another_process_what_is_on_record_counts_above_once() -> None:
    top = Budget({}, "top")
    top.take_up(Used(tokens=70))  # the call's earlier attempt, of 30, is among them
    top.know("k", Used(tokens=30))
    below(top).take_up(Used(tokens=45))
    assert (top.tokens, top.used_by("k")) == (85, Used(tokens=45))


def test_a_limit_above_is_one_below() -> None:
    top = Budget({"tokens": 100}, "top")
    bottom = below(below(top), agent="bottom")
    assert bottom.exhausted_above() == ""
    bottom.add(Used(tokens=100))
    assert bottom.exhausted_above() == "tokens"
    assert top.exhausted_above() == ""


def test_the_last_call_that_may_be_made_is_made_and_no_other() -> None:
    top = Budget({"calls": 3}, "top")
    top.count_call()
    bottom = below(top)
    bottom.count_call()
    bottom.count_call()
    with pytest.raises(BudgetExceeded) as refused:
        bottom.count_call()
    assert (refused.value.limit, top.calls) == ("calls", 3)


def test_agents_stand_so_deep_and_not_in_a_circle() -> None:
    top = Budget({}, "a", depth=2)
    with pytest.raises(LoopDetected):
        below(top, agent="a")
    second = below(top, agent="b")
    with pytest.raises(BudgetExceeded) as refused:
        below(second, agent="c")
    assert refused.value.limit == "depth"


def test_agents_in_other_programs_stand_above_too_and_raise_no_limit() -> None:
    first = Budget({}, "a", depth=3)
    told = below(first, agent="b").way_down()
    assert (told.depth, told.left, len(told.agents)) == (2, 1, 2)
    there = Budget({}, None, depth=8, way=told)
    assert there.way_down().left == 0
    with pytest.raises(BudgetExceeded) as refused:
        below(there, agent="c")
    assert refused.value.limit == "depth"
    with pytest.raises(BudgetExceeded):
        Budget({}, None, depth=8, way=there.way_down())
    with pytest.raises(LoopDetected):
        below(Budget({}, None, way=told), agent="a")
    boast = Way(left=9_999)
    with pytest.raises(BudgetExceeded):
        below(below(Budget({}, "a", depth=2, way=boast), agent="b"), agent="c")
    assert Budget({}, "a", depth=2, way=Way(left=9_999)).way_down().left == 1


def test_a_price_above_holds_below_and_must_be_known_where_money_is_limited() -> None:
    top = Budget({"cost": Decimal(1)}, "top", prices={"m": PRICE})
    assert below(top).price("m") is PRICE
    with pytest.raises(BudgetExceeded):
        below(top).price("other")
    assert below(Budget({}, "top")).price("other") is None


def test_cached_tokens_cost_what_fresh_ones_do_unless_they_have_a_price() -> None:
    usage = Usage(input_tokens=1_000_000, cached_tokens=400_000, output_tokens=1_000_000)
    assert PRICE.of(usage) == Decimal(4)
    assert Price(input=Decimal(1), output=Decimal(3), cached=Decimal("0.1")).of(usage) == Decimal("3.64")
