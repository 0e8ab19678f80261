"""A service that is down is left alone for a while, and tried again by one call."""

from __future__ import annotations

import pytest

from actum import Agent, Limits, ToolCall, tool
from actum.call.limits.breaker import Breakers
from actum.core.errors import CallError, ToolError, Unavailable
from actum.core.message import ToolMessage
from actum.core.model import Request
from actum.testing import FakeClock, Said, ScriptedModel

pytestmark = pytest.mark.row("C6")


def rests(breakers: Breakers, now: float) -> float | None:
    """Seconds that the tool still rests; None when it may be asked."""
    try:
        breakers.check("t", now)
    except Unavailable as error:
        return error.retry_after
    return None


def test_after_so_many_failures_in_a_row_a_tool_rests_and_then_one_call_tries() -> None:
    breakers = Breakers(3, 30.0)
    for second in range(3):
        assert rests(breakers, second) is None
        breakers.note("t", Unavailable("down"), second)
    assert rests(breakers, 12.0) == 20.0
    assert rests(breakers, 32.0) is None  # the one that tries
    assert rests(breakers, 32.0) == 30.0  # the next waits for what comes of it
    breakers.note("t", None, 33.0)
    assert rests(breakers, 33.0) is None


@pytest.mark.parametrize("between", [None, ToolError("There is no such city.")])
def test_whatever_a_service_answers_shows_that_it_is_there(between: CallError | None) -> None:
    breakers = Breakers(2, 30.0)
    for error in (Unavailable("down"), between, Unavailable("down")):
        breakers.note("t", error, 0.0)
    assert rests(breakers, 1.0) is None


async def test_a_tool_that_is_down_is_not_asked_by_the_next_run_and_the_model_hears_why() -> None:
    asked = []

    @tool(effects={"read"})
    async def weather(city: str) -> str:
        """Weather."""
        asked.append(city)
        raise Unavailable("The weather service can not be reached.")

    def script(request: Request) -> Said:
        last = request.messages[-1]
        return last.result.text if isinstance(last, ToolMessage) else [ToolCall("1", "weather", {"city": "Oslo"})]

    clock = FakeClock(auto=True)
    agent = Agent(ScriptedModel(script), [weather], clock=clock, limits=Limits(failures=3, attempts=3))
    await agent.run("Weather?")
    assert len(asked) == 3
    second = await agent.run("Weather?")
    assert len(asked) == 3
    assert "left alone" in second.text
    clock.advance(30.0)
    await agent.run("Weather?")
    assert len(asked) > 3
