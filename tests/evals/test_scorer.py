"""`correct` is 1 where all holds that a case expects, 0 where anything does not, and does not apply where it says
nothing.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.core.errors import UsageError
from actum.core.tool import Tool
from actum.evals.case import read_case
from actum.evals.scorer import Score, correct, fails, scoring_of
from actum.evals.tried import CallEnd, TriedCall, TriedRun

pytestmark = pytest.mark.row("F4")

STOCK = Tool(
    name="stock",
    description="Stock.",
    parameters={"type": "object", "properties": {"item": {}, "place": {"default": "Berlin"}}},
    effects=frozenset({"read"}),
)
SEND = Tool(name="send", description="Send.", parameters={"type": "object"}, effects=frozenset({"write"}))


def ran(*calls: tuple[str, dict[str, Any]], end: CallEnd = "done", **fields: Any) -> TriedRun:  # noqa: ANN401 (of any type)
    made: dict[str, Any] = {"status": "done", "text": "", "denied": 0, "reason": ""} | fields
    return TriedRun(
        run_id="run_1",
        question="?",
        calls=tuple(TriedCall(name, arguments, end) for name, arguments in calls),
        in_doubt=False,
        tokens=0,
        cost=Decimal(),
        seconds=0.0,
        tools={"stock": STOCK, "send": SEND},
        **made,
    )


BOLT = ("stock", {"item": "bolt"})
NUT = ("stock", {"item": "nut"})
MAIL = ("send", {"to": "ann"})


def value(expected: str, run: TriedRun) -> float | None:
    case = read_case(f'{{"id":"a","input":"?","expected":{expected}}}'.encode(), "here")
    said = correct(case, run)
    return None if said is None else said.value


CALLS = '"calls":[{"name":"stock","arguments":{"item":"bolt"}},{"name":"stock","arguments":{"item":"nut"}}]'
ONE = '"calls":[{"name":"stock","arguments":{"item":"bolt"}}]'


@pytest.mark.parametrize(
    ("expected", "run", "right"),
    [
        ("{}", ran(BOLT), None),
        (f"{{{CALLS}}}", ran(NUT, BOLT), 1),
        (f"{{{CALLS}}}", ran(BOLT), 0),
        (f"{{{CALLS}}}", ran(BOLT, NUT, NUT), 0),
        (f'{{{CALLS},"order":true}}', ran(BOLT, NUT), 1),
        (f'{{{CALLS},"order":true}}', ran(NUT, BOLT), 0),
        (f'{{{CALLS},"order":true,"others":"read"}}', ran(NUT, BOLT, NUT), 1),
        (f'{{{ONE},"others":"read"}}', ran(NUT, BOLT), 1),
        (f'{{{ONE},"others":"read"}}', ran(MAIL, BOLT), 0),
        (f"{{{ONE}}}", ran(("stock", {"item": "bolt", "place": "Berlin"})), 1),
        (f"{{{ONE}}}", ran(("stock", {"item": "bolt", "place": "Rome"})), 0),
        ('{"calls":[{"name":"stock","arguments":{"item":"bolt","place":"Berlin"}}]}', ran(BOLT), 1),
        ('{"calls":[]}', ran(), 1),
        ('{"calls":[]}', ran(BOLT), 0),
        ('{"no_calls":true}', ran(), 1),
        ('{"no_calls":true}', ran(BOLT, end="denied"), 0),
        ('{"no_calls":true}', ran(BOLT, end="invalid"), 1),
        ('{"text":{"equals":"Yes."}}', ran(text=" Yes.\n"), 1),
        ('{"text":{"contains":["mon","TUE"]}}', ran(text="Mon, Tue"), 1),
        ('{"text":{"contains":["mon","wed"]}}', ran(text="Mon, Tue"), 0),
        ('{"text":{"matches":"^\\\\d+$"}}', ran(text="12"), 1),
        ('{"text":{"number":1200}}', ran(text="It is 1,200 in all."), 1),
        ('{"text":{"number":1200}}', ran(text="It is 12 or 1201."), 0),
        ('{"text":{"number":20.5,"within":0.1}}', ran(text="About 20.45 °C"), 1),
        ('{"text":{"number":-3}}', ran(text="\u22123 °C"), 1),
        ('{"output":{"day":"Monday","n":2}}', ran(text='{"n": 2.0, "day": "Monday"}'), 1),
        ('{"output":{"day":"Monday"}}', ran(text='{"day": "Tuesday"}'), 0),
        ('{"output":null}', ran(text="null"), 1),
        ('{"status":"paused"}', ran(status="paused"), 1),
        ('{"status":"paused"}', ran(), 0),
        (f'{{{ONE},"text":{{"contains":"x"}}}}', ran(BOLT, text="y"), 0),
        (f'{{{ONE},"text":{{"contains":"x"}}}}', ran(BOLT, text="y", denied=1, end="denied"), 1),
        ('{"text":{"contains":"x"}}', ran(MAIL, text="y", denied=1, end="denied"), None),
    ],
)
def test_correct_is_what_the_case_says(expected: str, run: TriedRun, right: float | None) -> None:
    assert value(expected, run) == right


@given(st.permutations(["bolt", "nut", "screw", "nail"]), st.integers(0, 4))
def test_calls_count_in_any_order_and_each_once(items: list[str], more: int) -> None:
    wanted = ",".join(f'{{"name":"stock","arguments":{{"item":{{"$any":["{item}","?"]}}}}}}' for item in items)
    came = [("stock", {"item": "?" if at < more else item}) for at, item in enumerate(items)]
    assert value(f'{{"calls":[{wanted}]}}', ran(*came)) == 1
    assert value(f'{{"calls":[{wanted}]}}', ran(*came[1:])) == 0


def test_a_try_that_met_a_limit_failed_unless_that_is_what_was_expected() -> None:
    silent = read_case(b'{"id":"a","input":"?"}', "here")
    stops = read_case(b'{"id":"a","input":"?","expected":{"status":"stopped"}}', "here")
    assert [fails(silent, ran(status=status)) for status in ("done", "paused", "stopped", "failed", "")] == [
        False,
        False,
        True,
        True,
        True,
    ]
    assert not fails(stops, ran(status="stopped"))


async def test_a_scorer_of_a_program_says_a_bool_a_number_a_score_or_nothing() -> None:
    case = read_case(b'{"id":"a","input":"?"}', "here")

    def says(what: object) -> object:
        return lambda case, run: what

    for said, meant in ((True, 1.0), (0.25, 0.25), (Score(0.5, "so so"), 0.5)):
        given = await scoring_of(says(said), "short").score(case, ran())
        assert given is not None
        assert (given.name, given.value, given.scorer) == ("short", meant, "code")
    assert await scoring_of(says(None), "short").score(case, ran()) is None
    for bad in ("yes", 2.0, float("nan")):
        with pytest.raises(UsageError):
            await scoring_of(says(bad), "short").score(case, ran())
    with pytest.raises(UsageError, match="short failed at the case 'a': ZeroDivisionError"):
        await scoring_of(lambda case, run: 1 / 0, "short").score(case, ran())
