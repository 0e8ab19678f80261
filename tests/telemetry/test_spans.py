"""The spans of a run are a fold of its record: the same bytes wherever and whenever they are made."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from msgspec import structs

from actum import Agent, Answer, ToolError, tool
from actum.core.budget import Price
from actum.core.call import TextPart, ToolCall
from actum.core.interfaces import Journal
from actum.core.message import Reply, Usage
from actum.core.run.record import CallCompleted, Entry
from actum.core.stored.passed import PassedRequest
from actum.core.trace import span_id
from actum.journal.memory import MemoryJournal
from actum.journal.timeline import Timeline
from actum.policy.rules import Rule, Rules
from actum.runs.options import RunOptions
from actum.runs.runner import Runner
from actum.telemetry.spans import SpanContent, TraceSpan, passed_span, spans_of
from actum.testing import FakeClock, ScriptedModel
from tests.storage.conftest import Store

pytestmark = pytest.mark.row("A6")

ALL = SpanContent(content=True, users=True)


@tool(effects={"read"})
def weather(city: str) -> str:
    """The weather."""
    if city == "Atlantis":
        raise ToolError("There is no such city.")
    return f"sunny in {city}"


@tool(effects={"spend"})
def pay(sum: int) -> str:
    """Pay."""
    return f"paid {sum}"


def turn(*calls: ToolCall, text: str = "") -> Reply:
    content: tuple[TextPart | ToolCall, ...] = (*([TextPart(text)] if text else []), *calls)
    spent = Usage(input_tokens=20, output_tokens=3, cached_tokens=5, cache_written_tokens=4)
    return Reply(content=content, usage=spent, model="gpt-5-mini-2026", finish_reason="stop")


def desk(journal: Journal, *turns: Reply, tools: Sequence[Any] = (weather, pay)) -> Agent[object]:
    model = ScriptedModel([*turns])
    model.name = "openai:gpt-5-mini"
    policy = Rules(Rule("ask", tools="pay"), Rule("deny", tools="weather", when='args.city == "Mars"'), default="allow")
    price = {"openai:gpt-5-mini": Price(input=Decimal(1_000_000), output=Decimal(0))}
    return Agent(model, [*tools], name="desk", journal=journal, policy=policy, prices=price)


def encoded(spans: Sequence[TraceSpan]) -> bytes:
    return msgspec.json.encode([*spans])


async def spans(journal: Journal, run_id: str, said: SpanContent = ALL) -> list[TraceSpan]:
    return spans_of(run_id, Timeline(await journal.read(run_id)), said)


@pytest.mark.row("F9")
async def test_a_child_agent_stands_below_the_call_that_began_it_in_one_trace_with_one_root() -> None:
    journal = MemoryJournal()
    child = desk(journal, turn(ToolCall("c1", "weather", {"city": "Bonn"})), turn(text="Sunny."))
    asked = turn(ToolCall("c1", "clerk", {"task": "Weather?"}), ToolCall("c2", "weather", {"city": "Atlantis"}))
    parent = desk(journal, asked, turn(text="Fine."), tools=[child.as_tool("clerk", "Knows."), weather])
    result = await parent.run("How is it?", principal="ann", conversation="c1")
    (below,) = [run.run_id for run in await journal.runs(parent=result.run_id, limit=None)]
    found = [*await spans(journal, result.run_id), *await spans(journal, below)]
    by_id = {span.span_id: span for span in found}
    assert len(by_id) == len(found) == 9
    assert len({span.trace_id for span in found}) == 1
    (root,) = [span for span in found if not span.parent_span_id]
    assert (root.name, root.attributes["user.id"]) == ("invoke_agent desk", "ann")
    assert all(span.parent_span_id in by_id for span in found if span is not root)
    (inner,) = [span for span in found if span.name == "invoke_agent desk" and span is not root]
    assert by_id[inner.parent_span_id].name == "execute_tool clerk"
    (failed,) = [span for span in found if span.status == "error"]
    assert (failed.name, failed.attributes["error.type"]) == ("execute_tool weather", "tool_error")
    chat = next(span for span in found if span.name == "chat gpt-5-mini")
    wanted = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.response.model": "gpt-5-mini-2026",
        "gen_ai.response.finish_reasons": ("stop",),
        "actum.upstream": "openai:gpt-5-mini",
        "gen_ai.usage.input_tokens": 20,
        "gen_ai.usage.cache_read.input_tokens": 5,
        "gen_ai.usage.cache_creation.input_tokens": 4,
        "gen_ai.usage.output_tokens": 3,
        "gen_ai.conversation.id": "c1",
        "session.id": "c1",
        "actum.cost": 20.0,
    }
    assert {name: chat.attributes[name] for name in wanted} == wanted
    counted = [span.name for span in found if any("usage" in name or "cost" in name for name in span.attributes)]
    assert set(counted) == {"chat gpt-5-mini"}, "backends add up what stands on spans"


async def test_without_content_and_users_no_word_of_anybody_is_said() -> None:
    journal = MemoryJournal()
    agent = desk(journal, turn(ToolCall("c1", "weather", {"city": "Bonn"})), turn(text="It is sunny."))
    run_id = (await agent.run("my-word", principal="ann")).run_id
    bare, whole = encoded(await spans(journal, run_id, SpanContent())), encoded(await spans(journal, run_id))
    for word in (b"my-word", b"Bonn", b"It is sunny", b"ann"):
        assert word not in bare
        assert word in whole


async def test_a_run_that_was_cut_anywhere_has_no_span_in_two_versions(shared: Store) -> None:
    clock = FakeClock(auto=True)
    journal = shared.open(clock=clock)
    asked = turn(ToolCall("c1", "pay", {"sum": 3}), ToolCall("c2", "weather", {"city": "Bonn"}))
    agent = desk(journal, asked, turn(text="Done."))
    first = await agent.run("Pay.", run_id="run_cut")
    assert first.status == "paused"
    names = [span.name for span in await spans(journal, first.run_id)]
    assert sorted(names) == ["chat gpt-5-mini", "execute_tool weather"], "the run and the payment have not ended"
    clock.advance(3_600)
    (waits,) = first.pending
    await agent.resume(first.run_id, {waits.id: Answer("approve")})
    entries: list[Entry] = await journal.read(first.run_id)
    whole = {span.span_id: span for span in spans_of(first.run_id, Timeline(entries), ALL)}
    assert len(whole) == 5
    for cut in range(len(entries)):
        for span in spans_of(first.run_id, Timeline(entries[:cut]), ALL):
            assert span == whole[span.span_id]
    paid = next(span for span in whole.values() if span.name == "execute_tool pay")
    assert {event.name for event in paid.events} >= {"asked", "answered"}
    again = shared.open(clock=FakeClock())
    assert encoded(await spans(again, first.run_id)) == encoded([*whole.values()]), "another process says the same"


async def test_a_database_gives_the_bytes_that_memory_gives(shared: Store) -> None:
    memory = MemoryJournal()
    agent = desk(memory, turn(ToolCall("c1", "weather", {"city": "Bonn"})), turn(text="Done."))
    run_id = (await agent.run("How?")).run_id
    clock = FakeClock()
    journal = shared.open(clock=clock)
    for entry in await memory.read(run_id):
        clock.advance(entry.at - clock.now())
        journal.append(run_id, entry.record)
    await journal.sync(run_id)
    assert encoded(await spans(journal, run_id)) == encoded(await spans(memory, run_id))


async def test_what_a_branch_took_over_has_its_spans_where_it_was_done_and_its_cost_counts_once() -> None:
    journal = MemoryJournal()
    asked = turn(ToolCall("c1", "weather", {"city": "Bonn"}))
    caller = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    first = await desk(journal, asked, turn(text="Sunny.")).run("How?", trace=caller)
    agent = desk(journal, turn(text="Rain."))
    done = next(entry.number for entry in await journal.read(first.run_id) if isinstance(entry.record, CallCompleted))
    new = await agent.fork(first.run_id, done, result="rain in Bonn")
    await agent.resume(new)
    ours, theirs = await spans(journal, new), await spans(journal, first.run_id)
    assert [span.name for span in ours] == ["invoke_agent desk", "chat gpt-5-mini"]
    assert not {span.span_id for span in ours} & {span.span_id for span in theirs}
    assert {span.trace_id for span in ours} != {span.trace_id for span in theirs}, "nobody above waits for a branch"


async def test_calls_without_a_model_hang_below_the_span_of_their_caller() -> None:
    journal = MemoryJournal()
    runner = Runner([weather], journal=journal, policy=Rules(default="allow"))
    caller = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    call = ToolCall("c1", "weather", {"city": "Bonn"})
    result = await runner.call([call], RunOptions(trace=caller), by="client")
    (span,) = await spans(journal, result.run_id)
    assert (span.trace_id, span.parent_span_id) == ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331")
    assert span.name == "execute_tool weather"
    assert span.span_id != span_id(result.run_id)


def test_a_request_that_was_passed_through_is_a_chat_span_in_the_trace_of_its_caller() -> None:
    line = PassedRequest(
        at=100.25,
        request_id="r1",
        tenant="north",
        principal="ann",
        key_id="k1",
        surface="messages",
        model="gpt-*",
        asked="gpt-5",
        upstream="openai:*",
        end="answered",
        status=200,
        input_tokens=30,
        output_tokens=5,
        cached_tokens=10,
        cache_written_tokens=6,
        cost=Decimal(2),
        seconds=0.5,
        request_body=b"my-word",
        answer_body=b"my-word",
        response_model="gpt-5-2026",
        finish_reasons=("stop", "length"),
        trace="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    )
    span = passed_span(line, ALL)
    assert span is not None
    assert (span.trace_id, span.parent_span_id) == ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331")
    assert (span.name, span.kind, span.start, span.end) == ("chat gpt-5", "client", 100_250_000_000, 100_750_000_000)
    assert span.attributes == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-5",
        "gen_ai.response.model": "gpt-5-2026",
        "gen_ai.response.finish_reasons": ("stop", "length"),
        "gen_ai.usage.input_tokens": 30,
        "gen_ai.usage.output_tokens": 5,
        "gen_ai.usage.cache_read.input_tokens": 10,
        "gen_ai.usage.cache_creation.input_tokens": 6,
        "actum.cost": 2.0,
        "langfuse.observation.cost_details": '{"total":2.0}',
        "actum.tenant": "north",
        "actum.key.id": "k1",
        "actum.upstream": "openai:*",
        "user.id": "ann",
    }
    bare = passed_span(structs.replace(line, end="broke_off", trace="", upstream="", surface="embeddings"))
    assert bare is not None
    assert (bare.name, bare.status, bare.attributes["error.type"]) == ("embeddings gpt-5", "error", "broke_off")
    assert not bare.parent_span_id
    later = structs.replace(line, at=100.5)
    assert later.trace_id == line.trace_id
    assert passed_span(later) != passed_span(line)
    assert passed_span(structs.replace(line, surface="count_tokens")) is None
    assert "actum.usage.estimated" not in span.attributes
    estimated = passed_span(structs.replace(line, estimated=True))
    assert estimated is not None
    assert estimated.attributes["actum.usage.estimated"] is True
