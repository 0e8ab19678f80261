from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum import Agent, Context, ToolCall, tool
from actum.core.run.record import Started
from actum.core.trace import Way, checked_traceparent, span_id, span_in, trace_id, traceparent_of, way_in
from actum.testing import ScriptedModel

GIVEN = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "garbage",
        GIVEN.upper(),
        "ff" + GIVEN[2:],
        GIVEN.replace("0af7651916cd43dd8448eb211c80319c", "0" * 32),
        GIVEN.replace("b7ad6b7169203331", "0" * 16),
        GIVEN + "-" + "x" * 100,
        None,
        7,
    ],
)
def test_what_is_no_traceparent_is_dropped(text: object) -> None:
    assert checked_traceparent(text) == ""


def test_a_later_version_may_say_more() -> None:
    assert checked_traceparent(f"01{GIVEN[2:]}-more") == f"01{GIVEN[2:]}-more"


def test_a_call_is_the_same_span_each_time_and_another_call_is_another() -> None:
    own = trace_id("run_1")
    assert trace_id("run_1", traceparent_of(own, "k")) == own
    assert span_in(traceparent_of(own, "k")) == span_id("k") != span_id("l")


async def test_a_run_belongs_to_the_trace_that_led_to_it_with_all_that_its_calls_start() -> None:
    seen: list[str] = []

    @tool
    async def look(ctx: Context) -> str:
        """Look."""
        seen.append(ctx.traceparent)
        return "seen"

    child = Agent(ScriptedModel([ToolCall("1", "look", {}), "Seen."]), [look], name="child")
    parent = Agent(
        ScriptedModel([ToolCall("1", "child", {"task": "look"}), "Done."]), [child.as_tool()], journal=child.journal
    )

    result = await parent.run("Look", trace=GIVEN)

    begun = {
        entry.record.agent: entry.record
        for run in await parent.journal.runs()
        for entry in await parent.journal.read(run.run_id)
        if isinstance(entry.record, Started)
    }
    assert begun["agent"].trace == GIVEN
    assert trace_id("", begun["child"].trace) == trace_id("", GIVEN) == trace_id("", seen[0])
    assert len({GIVEN, begun["child"].trace, *seen}) == 3
    assert result.status == "done"


async def test_a_run_that_nothing_led_to_begins_a_trace_of_its_own() -> None:
    seen: list[str] = []

    @tool
    async def look(ctx: Context) -> str:
        """Look."""
        seen.append(ctx.traceparent)
        return "seen"

    result = await Agent(ScriptedModel([ToolCall("1", "look", {}), "Seen."]), [look]).run("Look", trace="nonsense")
    assert trace_id("", seen[0]) == trace_id(result.run_id)


ids = st.text("0123456789abcdef", min_size=12, max_size=12)
ways = st.builds(
    Way,
    st.integers(0, 9_999),
    st.none() | st.integers(0, 9_999),
    st.lists(ids, max_size=40).map(tuple),
    st.lists(st.sampled_from(["v=1", "a@b=x y", f"long={'x' * 250}"]), max_size=40).map(",".join),
)


@given(ways)
def test_a_way_is_read_as_it_was_written_with_the_latest_agents(way: Way) -> None:
    read = way_in(way.tracestate)
    assert (read.depth, read.left, read.agents) == (way.depth, way.left, way.agents[-16:])
    assert len(way.tracestate) <= 512
    assert way.others.startswith(read.others)


@given(st.text(max_size=80) | st.from_regex(r"(v=1,)?actum=d:[0-9]{1,5}(;l:[0-9]{1,5})?(;a:[0-9a-f.]{0,30})?"))
def test_whatever_comes_raises_no_limit(text: str) -> None:
    way = way_in(text)
    most = way.most(8)
    assert most is not None
    assert most <= 8
