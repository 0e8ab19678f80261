"""Workflows as runs: what is on record, how a run goes on, and what a person, a model and a failure do."""

import asyncio
from collections.abc import Callable, Sequence
from typing import cast

import msgspec
import pytest

from actum import Answer, tool
from actum.call.limits.limits import Limits
from actum.core.call import ToolCall
from actum.core.errors import InvalidArguments, ReplayDiverged, ToolError, UsageError, WorkflowFailed
from actum.core.event import NodeFinished, NodeStarted, RunFinished
from actum.core.json import Json, JsonObject
from actum.core.message import Reply
from actum.core.provenance import Origin
from actum.core.run.node_records import NodeBegan, NodeLeft
from actum.core.run.record import Intended, Record
from actum.journal.memory import MemoryJournal
from actum.journal.timeline import Timeline
from actum.policy.rules import Rule, Rules
from actum.runs.given_tools import Toolish
from actum.testing import FakeClock, ScriptedModel
from actum.workflow.load import read_definition
from actum.workflow.workflow import Workflow

from .test_load import FLIGHT


def definition_text(definition: JsonObject) -> bytes:
    return msgspec.json.encode({"actum": "workflow/1", "name": "w", **definition})


def workflow(definition: JsonObject | str, tools: Sequence[Toolish] = (), **options: object) -> Workflow:
    text = definition if isinstance(definition, str) else definition_text(definition)
    return Workflow(read_definition(text), tools, **options)  # type: ignore[arg-type]


@tool(effects={"read"})
def search_flights(date: str) -> list[dict[str, object]]:
    """Flights of a day."""
    return [{"id": "CA1", "price": 1_500}, {"id": "MU2", "price": 2_500}]


class Desk:
    """Books flights, and counts."""

    def __init__(self) -> None:
        self.booked: list[str] = []

    def tool(self) -> Toolish:
        @tool(effects={"spend"}, approval=True)
        def book_flight(flight: str) -> str:
            """Book a flight."""
            self.booked.append(flight)
            return f"booked {flight}"

        return book_flight


async def records(flow: Workflow, run_id: str) -> list[Record]:
    return [entry.record for entry in await flow.journal.read(run_id)]


@pytest.mark.row("F1")
async def test_both_branches_of_the_flight_desk_and_the_booking_waits_for_approval() -> None:
    desk, model = Desk(), ScriptedModel(["Try Tuesday."])
    flow = workflow(FLIGHT, [search_flights, desk.tool()], models={"fast": model})
    waiting = await flow.run({"date": "2026-12-01", "budget": 2_000})
    assert waiting.status == "paused"
    assert desk.booked == []
    (pending,) = waiting.pending
    assert pending.call == ToolCall("book", "book_flight", {"flight": "CA1"})
    done = await flow.resume(waiting.run_id, {pending.id: "approve"})
    assert done.output == {"booked": "booked CA1", "advice": None}
    assert desk.booked == ["CA1"]
    told = await flow.run({"date": "2026-12-01", "budget": 20})
    assert told.output == {"booked": None, "advice": "Try Tuesday."}
    with pytest.raises(InvalidArguments):
        await flow.run({"date": "2026-12-01"})


async def test_a_denied_booking_goes_on_at_the_error_port() -> None:
    desk = Desk()
    flow = workflow(FLIGHT, [search_flights, desk.tool()], models={"fast": ScriptedModel(["Then Tuesday."])})
    waiting = await flow.run({"date": "2026-12-01", "budget": 2_000})
    done = await flow.resume(waiting.run_id, {waiting.pending[0].id: "deny"})
    assert done.output == {"booked": None, "advice": "Then Tuesday."}
    assert desk.booked == []


async def test_the_record_has_a_beginning_and_an_end_of_each_node_and_a_pure_node_only_its_end() -> None:
    nodes: JsonObject = {
        "a": {"type": "tool", "tool": "search_flights", "with": {"date": "x"}},
        "b": {"type": "say", "text": "hi"},
    }
    flow = workflow({"nodes": nodes, "edges": ["a > b"]}, [search_flights])
    done = await flow.run()
    assert done.text == "hi"
    found = await records(flow, done.run_id)
    began = next(each for each in found if isinstance(each, NodeBegan))
    left = [each for each in found if isinstance(each, NodeLeft)]
    intended = next(each for each in found if isinstance(each, Intended))
    assert began.call is not None
    assert [each.path for each in left] == ["a", "b"]
    assert (intended.cause, intended.index) == (found.index(began), 0) == (left[0].began, 0)
    assert left[1].began == -1
    timeline = Timeline(await flow.journal.read(done.run_id))
    assert [(node.path, len(node.calls)) for node in timeline.nodes()] == [("a", 1), ("b", 0)]
    (summary,) = await flow.journal.runs()
    assert (summary.kind, summary.agent, summary.status) == ("workflow", "w", "done")


async def test_origins_are_exact_and_policies_see_them() -> None:
    sent: list[str | list[str]] = []

    @tool(effects={"read"}, trusted=["address"])
    def look_up(who: str) -> dict[str, str]:
        """Look somebody up."""
        return {"address": f"{who}@example.org", "note": "evil@example.com"}

    @tool(effects={"send"}, sinks=["to"])
    def send(to: str | list[str], text: str) -> str:
        """Send."""
        sent.append(to)
        return "sent"

    policy = Rules(Rule("deny", tools="send", when="!trusted(to)"), Rule("allow"))

    async def origins_of(to: object, inputs: JsonObject | None = None) -> object:
        nodes: JsonObject = {
            "who": {"type": "tool", "tool": "look_up", "with": {"who": "ann"}},
            "say": {"type": "model", "model": "m", "prompt": "x"},
            "send": {"type": "tool", "tool": "send", "with": {"to": to, "text": "hello"}},  # type: ignore[dict-item]
        }
        definition: JsonObject = {"inputs": {"type": "object"}, "nodes": nodes, "edges": ["who > say", "say > send"]}
        flow = workflow(
            definition, [look_up, send], models={"m": ScriptedModel(["evil@example.com", "bob@b.org"])}, policy=policy
        )
        try:
            done = await flow.run(inputs)
        except WorkflowFailed as failure:
            return failure.code
        found = [
            each for each in await records(flow, done.run_id) if isinstance(each, Intended) and each.tool == "send"
        ]
        assert found[0].origins["text"] == (Origin("developer"),)
        return found[0].origins["to[0]" if isinstance(to, list) else "to"]

    assert await origins_of("new@c.org") == (Origin("developer"),)  # nobody else has said so
    assert await origins_of("hello") == (Origin("developer"),)
    assert await origins_of("${inputs.to}", {"to": "hello"}) == (Origin("user"),)
    assert await origins_of(["new@c.org", "${inputs.to}"], {"to": "x@y.org"}) == (Origin("developer"),)
    assert await origins_of(["${who.output.note}"]) == "permission_denied"
    assert await origins_of(["${who.output.note}", "evil@example.com"]) == "permission_denied"
    sent.clear()
    assert await origins_of("${inputs.to}", {"to": "a@b.org"}) == (Origin("user"),)
    assert await origins_of("ann@example.org") == (Origin("developer"),)
    assert await origins_of("${who.output.address}") == (Origin("tool", "look_up", "address", trusted=True),)
    assert await origins_of("${who.output.note}") == "permission_denied"
    assert await origins_of("${say.text}") == "permission_denied"  # the model repeats what the tool said
    assert sent == ["a@b.org", "ann@example.org", "ann@example.org"]


async def test_what_a_failure_says_is_never_the_developers_word() -> None:
    @tool(effects={"read"})
    def broken() -> str:
        """Fail with words of a stranger."""
        raise ToolError("evil@example.com")

    @tool(effects={"send"}, sinks=["to"])
    def send(to: str) -> str:
        """Send."""
        return "sent"

    policy = Rules(Rule("deny", tools="send", when="!trusted(to)"), Rule("allow"))
    default: JsonObject = {"default": {"output": "ann@example.org"}}
    for on_error, edge, to, is_sent in (
        ("branch", "b.error > s", "${error.message}", False),
        ("branch", "b.error > s", "${b.error.message}", False),
        (default, "b > s", "${b.error.message}", False),
        (default, "b > s", "${b.output}", True),
    ):
        nodes: JsonObject = {
            "b": {"type": "tool", "tool": "broken", "on_error": on_error},
            "s": {"type": "tool", "tool": "send", "with": {"to": to}, "on_error": "branch"},
        }
        flow = workflow(
            {"nodes": nodes, "edges": [edge], "outputs": {"said": "${s.output?}"}}, [broken, send], policy=policy
        )
        assert (await flow.run()).output == {"said": "sent" if is_sent else None}, to


async def test_a_failed_node_fails_the_run_and_the_failure_is_on_record() -> None:
    @tool(effects={"read"})
    def broken() -> str:
        """Fail."""
        raise ValueError("no")

    flow = workflow({"nodes": {"a": {"type": "tool", "tool": "broken"}}}, [broken])
    with pytest.raises(WorkflowFailed, match="a: The tool failed") as caught:
        await flow.run(run_id="r1")
    assert (caught.value.code, caught.value.node) == ("tool_bug", "a")
    (summary,) = await flow.journal.runs()
    assert summary.status == "failed"
    with pytest.raises(WorkflowFailed):  # what is on record is not done again
        await flow.resume("r1")


async def test_limits_end_a_workflow() -> None:
    loop: JsonObject = {"type": "loop", "max": 1_000, "nodes": {"n": {"type": "set", "add": {"x": 1}}}}
    flow = workflow({"vars": {"x": 0}, "limits": {"steps": 20}, "nodes": {"l": loop}})
    stopped = await flow.run()
    assert (stopped.status, stopped.stop_reason) == ("stopped", "steps")

    @tool(effects={"read"})
    async def forever() -> str:
        """Wait."""
        await asyncio.Event().wait()
        return ""

    nodes: JsonObject = {"a": {"type": "tool", "tool": "forever"}, "b": {"type": "tool", "tool": "forever"}}
    flow = workflow({"nodes": nodes, "limits": {"seconds": 0.05}}, [forever])
    stopped = await flow.run()
    assert (stopped.status, stopped.stop_reason) == ("stopped", "seconds")
    call: JsonObject = {"type": "tool", "tool": "search_flights", "with": {"date": "x"}, "on_error": "branch"}
    nodes = {"a": call, "b": call}
    flow = workflow({"nodes": nodes, "edges": ["a > b"]}, [search_flights], limits=Limits(calls=1))
    done = await flow.run()
    left = [each for each in await records(flow, done.run_id) if isinstance(each, NodeLeft)]
    assert left[1].error is not None
    assert left[1].error.code == "budget_exceeded"


async def test_what_is_due_runs_side_by_side_up_to_parallel() -> None:
    most = now = 0

    @tool(effects={"read"})
    async def slow(x: int) -> int:
        """Wait a moment."""
        nonlocal most, now
        now += 1
        most = max(most, now)
        for _ in range(5):
            await asyncio.sleep(0)
        now -= 1
        return x

    nodes: JsonObject = {f"n{at}": {"type": "tool", "tool": "slow", "with": {"x": at}} for at in range(12)}
    outputs: JsonObject = {f"o{at}": f"${{n{at}.output}}" for at in range(12)}
    flow = workflow({"nodes": nodes, "outputs": outputs, "limits": {"parallel": 4}}, [slow])
    done = await flow.run()
    assert done.output == {f"o{at}": at for at in range(12)}
    assert most == 4


async def test_a_person_chooses_fills_in_denies_or_is_too_late() -> None:
    nodes: JsonObject = {
        "ask": {
            "type": "human",
            "message": "Ship ${inputs.what}?",
            "choices": ["ship", "hold"],
            "approvers": ["ann"],
            "expires": "1h",
        },
        "ship": {"type": "say", "text": "shipped by ${ask.by}"},
        "hold": {"type": "say", "text": "held"},
        "denied": {"type": "say", "text": "denied"},
        "late": {"type": "say", "text": "late"},
    }
    edges: list[Json] = ["ask.ship > ship", "ask.hold > hold", "ask.denied > denied", "ask.expired > late"]
    clock = FakeClock()
    flow = workflow({"inputs": {"type": "object"}, "nodes": nodes, "edges": edges}, clock=clock)

    async def ask() -> tuple[str, str]:
        waiting = await flow.run({"what": "it"})
        assert waiting.text == "Ship it?"
        return waiting.run_id, waiting.pending[0].id

    run, asked = await ask()
    with pytest.raises(UsageError, match="may not answer"):
        await flow.resume(run, {asked: Answer("answer", arguments={"choice": "ship"}, by="bob")})
    with pytest.raises(UsageError, match="does not answer"):
        await flow.resume(run, {asked: Answer("answer", arguments={"choice": "no"}, by="ann")})
    done = await flow.resume(run, {asked: Answer("answer", arguments={"choice": "ship"}, by="ann")})
    assert done.text == "shipped by ann"
    run, asked = await ask()
    assert (await flow.resume(run, {asked: Answer("deny", by="ann")})).text == "denied"
    run, asked = await ask()
    clock.advance(3_601)
    late = await flow.resume(run, {asked: Answer("answer", arguments={"choice": "ship"}, by="ann")})
    assert late.text == "late"
    run, asked = await ask()
    clock.advance(3_601)
    assert (await flow.resume(run)).text == "late"


async def test_a_wait_pauses_until_its_time_and_an_event_wakes_it() -> None:
    clock = FakeClock()
    nodes: JsonObject = {"w": {"type": "wait", "for": "10m"}, "s": {"type": "say", "text": "later"}}
    flow = workflow({"nodes": nodes, "edges": ["w > s"]}, clock=clock)
    waiting = await flow.run()
    assert waiting.status == "paused"
    assert (await flow.resume(waiting.run_id)).status == "paused"
    clock.advance(601)
    assert (await flow.resume(waiting.run_id)).text == "later"
    nodes = {"w": {"type": "wait", "event": "order 7"}, "s": {"type": "say", "text": "${w.output.ok}"}}
    flow = workflow({"nodes": nodes, "edges": ["w > s"]})
    waiting = await flow.run()
    assert waiting.pending[0].name == "order 7"
    assert (await flow.resume(waiting.run_id, {waiting.pending[0].id: '{"ok": 5}'})).text == "5"


async def test_a_model_classifies_and_extracts_repaired_once_and_what_is_missing_is_asked() -> None:
    schema: JsonObject = {
        "type": "object",
        "required": ["city", "days"],
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    }
    nodes: JsonObject = {
        "kind": {"type": "classify", "model": "m", "text": "x", "classes": {"trip": "travel", "other": ""}},
        "read": {"type": "extract", "model": "m", "text": "x", "schema": schema},
    }
    script = [
        Reply.of(calls=[ToolCall("1", "answer", {"class": "nonsense"})]),
        Reply.of(calls=[ToolCall("2", "answer", {"class": "trip"})]),
        Reply.of(calls=[ToolCall("3", "answer", {"city": "Paris"})]),
    ]
    model = ScriptedModel(script)
    flow = workflow(
        {"nodes": nodes, "edges": ["kind.trip > read"], "outputs": {"got": "${read.output}"}}, models={"m": model}
    )
    waiting = await flow.run()
    (pending,) = waiting.pending
    assert pending.schema == {"type": "object", "properties": {"days": {"type": "integer"}}, "required": ["days"]}
    done = await flow.resume(waiting.run_id, {pending.id: '{"days": 3}'})  # no reply is asked for again
    assert done.output == {"got": {"city": "Paris", "days": 3}}
    assert done.steps == 3


async def test_a_model_node_is_tried_again_and_its_answer_fits_its_schema() -> None:
    schema: JsonObject = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    nodes: JsonObject = {"m": {"type": "model", "model": "m", "prompt": "x", "output_schema": schema, "system": "s"}}
    flow = workflow({"nodes": nodes, "outputs": {"n": "${m.value.n}"}}, models={"m": ScriptedModel(["no", '{"n": 3}'])})
    assert (await flow.run()).output == {"n": 3}
    retry: JsonObject = {"attempts": 2, "base_s": 5}
    nodes = {"m": {"type": "model", "model": "m", "prompt": "x", "output_schema": schema, "retry": retry}}
    flow = workflow(
        {"nodes": nodes, "outputs": {"n": "${m.value.n}"}},
        models={"m": ScriptedModel(["a", "b", "c", '{"n": 4}'])},
        clock=FakeClock(auto=True),
    )
    assert (await flow.run()).output == {"n": 4}


async def test_a_container_that_fails_is_carried_out_anew() -> None:
    tries: list[int] = []

    @tool(effects={"read"})
    def flaky() -> int:
        """Fail twice."""
        tries.append(1)
        if len(tries) < 3:
            raise ValueError
        return len(tries)

    each: JsonObject = {
        "type": "each",
        "over": [1],
        "nodes": {"t": {"type": "tool", "tool": "flaky"}},
        "output": "${t.output}",
        "retry": {"attempts": 3},
    }
    clock = FakeClock(auto=True)
    flow = workflow({"nodes": {"e": each}, "outputs": {"got": "${e.output}"}}, [flaky], clock=clock)
    done = await flow.run()
    assert done.output == {"got": [3]}
    assert clock.monotonic() >= 3


async def test_a_template_is_written_in_a_child_that_can_be_ended() -> None:
    async def write(template: str) -> str:
        nodes: JsonObject = {"t": {"type": "template", "template": template, "with": {"x": ["a", "b"]}}}
        flow = workflow({"nodes": nodes, "outputs": {"t": "${t.text}"}})
        try:
            return str((await flow.run()).output["t"])
        except WorkflowFailed as failure:
            return failure.code
        finally:
            await flow.aclose()

    assert await write("{% for i in x %}{{ i }},{% endfor %}\n") == "a,b,\n"
    assert await write("{{ 'a' * 300000000 }}") in ("template", "timeout")  # by what a slow machine reaches first
    assert await write("{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}") == "timeout"
    assert await write("{{ x.__class__.__mro__ }}") == "template"
    assert await write("{{ nothing }}") == "template"


async def test_a_workflow_is_a_tool_and_its_run_is_a_child() -> None:
    desk = Desk()
    inner = workflow(
        {
            "name": "desk",
            "inputs": {"type": "object", "required": ["f"], "properties": {"f": {"type": "string"}}},
            "nodes": {"b": {"type": "tool", "tool": "book_flight", "with": {"flight": "${inputs.f}"}}},
            "outputs": {"said": "${b.output}"},
        },
        [desk.tool()],
    )
    outer = workflow(
        {
            "nodes": {"w": {"type": "workflow", "workflow": "desk", "with": {"f": "CA1"}}},
            "outputs": {"got": "${w.output.said}"},
        },
        [inner],
    )
    (definition,) = await inner.as_tool().list_tools()
    assert definition.effects == frozenset({"spend"})
    assert definition.parameters["required"] == ["f"]
    waiting = await outer.run()
    assert waiting.status == "paused"
    done = await outer.resume(waiting.run_id, {waiting.pending[0].id: "approve"})
    assert done.output == {"got": "booked CA1"}
    assert desk.booked == ["CA1"]
    runs = await outer.journal.runs()
    assert {(run.agent, run.parent) for run in runs} == {("w", ""), ("desk", done.run_id)}


async def test_a_run_goes_on_by_the_definition_with_which_it_began() -> None:
    desk, journal = Desk(), MemoryJournal()
    tools = [search_flights, desk.tool()]
    flow = workflow(FLIGHT, tools, models={"fast": ScriptedModel([])}, journal=journal)
    waiting = await flow.run({"date": "2026-12-01", "budget": 2_000})
    newer = workflow(
        FLIGHT.replace("booked:", "other_name:"), tools, models={"fast": ScriptedModel([])}, journal=journal
    )
    done = await newer.resume(waiting.run_id, {waiting.pending[0].id: "approve"})
    assert done.output == {"booked": "booked CA1", "advice": None}


async def test_another_result_of_a_tool_in_the_record_diverges_before_any_effect() -> None:
    desk = Desk()
    flow = workflow(FLIGHT, [search_flights, desk.tool()], models={"fast": ScriptedModel([])})
    waiting = await flow.run({"date": "2026-12-01", "budget": 2_000})
    found = await flow.journal.read(waiting.run_id)
    other = MemoryJournal()
    for entry in found:
        record = entry.record
        if isinstance(record, NodeBegan) and record.path == "book":
            assert record.call is not None
            record = msgspec.structs.replace(
                record, call=msgspec.structs.replace(record.call, arguments={"flight": "MU2"})
            )
        other.append(waiting.run_id, record)
    for digest in (flow.definition.digest, (await flow.runner.catalog()).digest):
        other.keep(digest, await flow.journal.kept(digest))
    changed = workflow(FLIGHT, [search_flights, desk.tool()], models={"fast": ScriptedModel([])}, journal=other)
    with pytest.raises(ReplayDiverged, match="the node book would be given something else"):
        await changed.resume(waiting.run_id, {waiting.pending[0].id: "approve"})
    assert desk.booked == []


async def test_large_values_are_kept_by_digest_and_come_back() -> None:
    desk = Desk()
    nodes: JsonObject = {
        "big": {"type": "set", "set": {"rows": {"cel": "inputs.rows.map(r, r + r)"}}},
        "b": {"type": "tool", "tool": "book_flight", "with": {"flight": "${vars.rows[0]}"}},
    }
    flow = workflow(
        {
            "inputs": {"type": "object"},
            "vars": {"rows": []},
            "nodes": nodes,
            "edges": ["big > b"],
            "outputs": {"n": {"cel": "size(vars.rows)"}},
        },
        [desk.tool()],
    )
    waiting = await flow.run({"rows": ["x" * 120] * 900})
    assert max(len(entry.payload) for entry in await flow.journal.read(waiting.run_id)) < 70_000
    done = await flow.resume(waiting.run_id, {waiting.pending[0].id: "approve"})
    assert done.output == {"n": 900}


@pytest.mark.parametrize(
    "given",
    [
        {"none": [], "text": "x" * 100_000},
        {f"text{at}": "x" * 9_000 for at in range(10)},
        {"deep": {"text": ["x"] * 30_000}},
    ],
)
async def test_a_large_argument_is_kept_by_digest_wherever_it_stands(given: JsonObject) -> None:
    took: list[JsonObject] = []

    @tool(effects={"read"})
    def take(none: list[str], all: dict[str, object]) -> str:
        """Take it."""
        took.append(cast(JsonObject, all))
        return "taken"

    nodes: JsonObject = {
        "a": {"type": "set", "set": {name: f"${{inputs.{name}}}" for name in given}},
        "b": {"type": "tool", "tool": "take", "with": {"none": [], "all": "${inputs}"}},
        "h": {"type": "human", "message": "Go on?"},
    }
    first: JsonObject = dict.fromkeys(given)
    definition: JsonObject = {"inputs": {"type": "object"}, "vars": first, "nodes": nodes, "edges": ["a > b", "b > h"]}
    flow = workflow(definition, [take])
    waiting = await flow.run(given)
    assert waiting.status == "paused"
    found = await flow.journal.read(waiting.run_id)
    large = [entry.record for entry in found if len(entry.payload) > 70_000]
    assert [each for each in large if isinstance(each, NodeBegan | NodeLeft)] == []
    assert took == [given]
    done = await flow.resume(waiting.run_id, {waiting.pending[0].id: "yes"})
    assert done.status == "done"


async def test_a_watcher_hears_of_each_node_and_leaving_early_cancels() -> None:
    flow = workflow(
        {"nodes": {"a": {"type": "tool", "tool": "search_flights", "with": {"date": "x"}}}}, [search_flights]
    )
    events = [event async for event in flow.stream()]
    assert NodeStarted("a", "tool") in events
    assert [event.status for event in events if isinstance(event, NodeFinished)] == ["done"]
    assert isinstance(events[-1], RunFinished)


async def test_a_fork_branches_off_and_asks_anew() -> None:
    desk = Desk()
    flow = workflow(FLIGHT, [search_flights, desk.tool()], models={"fast": ScriptedModel([])})
    waiting = await flow.run({"date": "2026-12-01", "budget": 2_000})
    await flow.resume(waiting.run_id, {waiting.pending[0].id: "approve"})
    found = await records(flow, waiting.run_id)
    at = next(number for number, each in enumerate(found) if isinstance(each, NodeLeft) and each.path == "find")
    other = await flow.resume(await flow.fork(waiting.run_id, at))
    assert other.status == "paused"
    assert desk.booked == ["CA1"]


Nodes = Callable[[str], JsonObject]
