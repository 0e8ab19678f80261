"""Each type of node that asks somebody else: agents, workflows in workflows, knowledge, models with files, code."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec
import pytest

from actum import Agent, Answer, tool
from actum.call.limits.limits import Limits
from actum.core.call import MediaPart, TextPart, ToolCall, ToolResult
from actum.core.errors import UsageError, WorkflowFailed
from actum.core.interfaces import Context
from actum.core.json import Json, JsonObject
from actum.core.message import Reply, Usage, UserMessage
from actum.core.model import Model
from actum.core.run.node_records import NodeBegan, NodeLeft
from actum.core.run.record import Intended, Started
from actum.core.tool import Tool
from actum.core.user import User
from actum.journal.memory import MemoryJournal
from actum.policy.rules import Rule, Rules
from actum.testing import FakeClock, ScriptedModel
from actum.toolsets.function import FunctionToolset
from actum.toolsets.wrappers import ToolLabels, labelled
from actum.workflow.workflow import Workflow

from .test_workflow import definition_text, records, workflow


def used(reply: Reply, tokens: int) -> Reply:
    """A reply that used so many tokens."""
    return msgspec.structs.replace(reply, usage=Usage(tokens, tokens))


@tool(effects={"read"})
def look(city: str) -> str:
    """Look at a city."""
    return f"{city} is fine"


async def test_an_agent_is_a_child_run_with_the_budget_the_trace_and_the_rules_of_the_workflow() -> None:
    replies = [used(Reply.of(calls=[ToolCall("1", "look", {"city": "Paris"})]), 10), used(Reply.of("Go to Paris."), 20)]
    helper = Agent(ScriptedModel(replies), [look], name="helper")
    nodes: JsonObject = {
        "ask": {"type": "agent", "agent": "helper", "task": "Where to, ${inputs.who}?"},
        "said": {"type": "say", "text": "${ask.output}"},
    }
    definition: JsonObject = {"inputs": {"type": "object"}, "nodes": nodes, "edges": ["ask > said"]}
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    flow = workflow(definition, [helper])
    done = await flow.run({"who": "Ann"}, trace=trace)
    assert done.text == "Go to Paris."
    child = next(run for run in await flow.journal.runs() if run.agent == "helper")
    assert child.parent == done.run_id
    started = (await records(flow, child.run_id))[0]
    assert isinstance(started, Started)
    assert started.trace.split("-")[1] == trace.split("-")[1]
    (intended,) = [each for each in await records(flow, done.run_id) if isinstance(each, Intended)]
    assert intended.arguments == {"task": "Where to, Ann?"}
    (began,) = [each for each in await records(flow, done.run_id) if isinstance(each, NodeBegan)]
    assert (began.kind, began.path) == ("agent", "ask")
    denied = workflow(definition, [Agent(ScriptedModel(replies), [look], name="helper")], policy=Rules(Rule("deny")))
    with pytest.raises(WorkflowFailed) as caught:
        await denied.run({"who": "Ann"})
    assert (caught.value.code, caught.value.node) == ("permission_denied", "ask")


async def test_the_tokens_of_an_agent_count_for_the_workflow_that_asked_the_agent() -> None:
    def helper() -> Agent:
        return Agent(ScriptedModel([used(Reply.of("first"), 40), used(Reply.of("second"), 40)]), name="helper")

    nodes: JsonObject = {
        name: {"type": "agent", "agent": "helper", "task": "x", "on_error": "branch"} for name in ("one", "two")
    }
    flow = workflow({"nodes": nodes, "edges": ["one > two"]}, [helper()], limits=Limits(tokens=50))
    done = await flow.run()
    left = [each for each in await records(flow, done.run_id) if isinstance(each, NodeLeft)]
    assert left[0].error is None
    assert left[1].error is not None
    assert "more tokens than allowed" in left[1].error.message


def nested(depth: int, journal: MemoryJournal, limits: Limits | None = None) -> Workflow:
    """Workflows in workflows, so many deep; the innermost says how deep it is."""
    flow = workflow({"name": "w0", "nodes": {}, "outputs": {"depth": 0}}, journal=journal)
    for at in range(1, depth):
        nodes: JsonObject = {"w": {"type": "workflow", "workflow": f"w{at - 1}"}}
        outputs: JsonObject = {"depth": {"cel": "w.output.depth + 1"}}
        flow = workflow({"name": f"w{at}", "nodes": nodes, "outputs": outputs}, [flow], journal=journal, limits=limits)
    return flow


async def test_workflows_in_workflows_are_child_runs_and_the_depth_is_bounded() -> None:
    journal = MemoryJournal()
    assert (await nested(4, journal).run()).output == {"depth": 3}
    runs = await journal.runs()
    parents = {run.run_id: run.parent for run in runs}
    assert sorted(run.agent for run in runs) == ["w0", "w1", "w2", "w3"]
    assert sum(parent in parents for parent in parents.values()) == 3
    shallow = Limits(steps=None, calls=None, depth=3)
    with pytest.raises(WorkflowFailed, match="3 deep, one under another"):
        await nested(4, MemoryJournal(), shallow).run()
    assert (await nested(3, MemoryJournal(), shallow).run()).output == {"depth": 2}


async def test_a_workflow_that_calls_itself_by_way_of_an_agent_ends_at_the_depth() -> None:
    made: list[int] = []

    def again(request: object) -> Reply:
        made.append(1)
        return Reply.of(calls=[ToolCall(f"c{len(made)}", "w", {})])

    class Later:
        """A toolset that gets its workflow when there is one."""

        generation = 0
        flow: Workflow | None = None

        async def list_tools(self) -> Sequence[Tool]:
            assert self.flow is not None
            return await self.flow.as_tool().list_tools()

        async def execute(self, call: ToolCall, context: Context) -> ToolResult:
            assert self.flow is not None
            return await self.flow.as_tool().execute(call, context)

    later = Later()
    helper = Agent(ScriptedModel(again), [later], name="helper", limits=Limits(steps=3, depth=6))
    nodes: JsonObject = {"a": {"type": "agent", "agent": "helper", "task": "go on", "on_error": "branch"}}
    later.flow = workflow({"nodes": nodes}, [helper], limits=Limits(steps=None, calls=30, depth=6))
    done = await later.flow.run()
    assert done.status in ("done", "stopped")
    assert len(await later.flow.journal.runs(limit=None)) <= 200


async def test_what_an_inner_workflow_asks_is_answered_at_the_outer_one() -> None:
    inner = workflow(
        {
            "name": "inner",
            "nodes": {"h": {"type": "human", "message": "Which?", "choices": ["a", "b"]}},
            "edges": [],
            "outputs": {"chosen": "${h.output}"},
        }
    )
    nodes: JsonObject = {"w": {"type": "workflow", "workflow": "inner"}}
    outer = workflow({"nodes": nodes, "outputs": {"got": "${w.output.chosen}"}}, [inner])
    waiting = await outer.run()
    assert (waiting.status, waiting.text) == ("paused", "Which?")
    done = await outer.resume(waiting.run_id, {waiting.pending[0].id: "b"})
    assert done.output == {"got": "b"}


async def test_a_knowledge_node_is_one_call_with_the_query_and_the_other_arguments() -> None:
    asked: list[tuple[str, int]] = []

    @tool(effects={"read"}, knowledge=True)
    def search_docs(query: str, top: int = 3) -> list[dict[str, str]]:
        """Search."""
        asked.append((query, top))
        return [{"text": "found", "source": "doc 1"}]

    nodes: JsonObject = {
        "k": {"type": "knowledge", "tool": "search_docs", "query": "about ${inputs.x}", "with": {"top": 5}},
        "s": {"type": "say", "text": "${k.output[0].text}"},
    }
    flow = workflow({"inputs": {"type": "object"}, "nodes": nodes, "edges": ["k > s"]}, [search_docs])
    assert (await flow.run({"x": "cats"})).text == "found"
    assert asked == [("about cats", 5)]


async def test_a_knowledge_node_asks_no_tool_that_does_not_declare_itself_a_source_of_knowledge() -> None:
    asked: list[str] = []

    @tool(effects={"send"})
    def post(query: str) -> str:
        """Post."""
        asked.append(query)
        return "posted"

    nodes: JsonObject = {"k": {"type": "knowledge", "tool": "post", "query": "x", "on_error": "branch"}}
    definition: JsonObject = {"nodes": nodes, "outputs": {"code": "${k.error.code?}", "said": "${k.output?}"}}
    refused = workflow(definition, [post])
    (problem,) = await refused.check(definition_text(definition))
    assert problem.message == "k: post does not declare itself a source of knowledge"
    assert "knowledge=True" in str(problem.hint)
    assert (await refused.run()).output == {"code": "no_knowledge", "said": None}
    assert asked == []
    declared = labelled({"post": ToolLabels(knowledge=True)}, FunctionToolset([post]))
    taken = workflow(definition, [declared])
    assert await taken.check(definition_text(definition)) == []
    assert (await taken.run()).output == {"code": None, "said": "posted"}


async def test_check_compares_the_query_of_a_knowledge_node_with_what_its_tool_takes() -> None:
    @tool(effects={"read"}, knowledge=True)
    def look_up(query: str, top: int) -> str:
        """Look up."""
        return query

    @tool(effects={"read"}, knowledge=True)
    def no_query(question: str) -> str:
        """Look up."""
        return question

    nodes: JsonObject = {
        "a": {"type": "knowledge", "tool": "look_up", "query": "${inputs.words}", "with": {"top": 3}},
        "b": {"type": "knowledge", "tool": "look_up", "query": "x"},
        "c": {"type": "knowledge", "tool": "no_query", "query": "x", "with": {"question": "y"}},
    }
    definition: JsonObject = {
        "inputs": {"type": "object", "properties": {"words": {"type": "array"}}, "required": ["words"]},
        "nodes": nodes,
    }
    problems = await workflow(definition, [look_up, no_query]).check(definition_text(definition))
    assert [problem.message for problem in problems] == [
        "a: query is an array, and look_up takes a string",
        "b: look_up needs 'top'",
        "c: no_query takes no 'query'",
    ]


async def test_a_model_is_shown_the_files_of_a_tool_and_a_handle_that_nobody_gave_is_no_file() -> None:
    @tool(effects={"read"})
    def picture() -> MediaPart:
        """Take a picture."""
        return MediaPart("image/png", data=b"\x89PNG\r\n\x1a\n")

    model = ScriptedModel(["a cat"])
    nodes: JsonObject = {
        "p": {"type": "tool", "tool": "picture"},
        "m": {"type": "model", "model": "m", "prompt": "What is it?", "files": "${p.files}", "on_error": "branch"},
    }
    outputs: JsonObject = {"said": "${m.text?}", "code": "${m.error.code?}"}
    flow = workflow({"nodes": nodes, "edges": ["p > m"], "outputs": outputs}, [picture], models={"m": model})
    assert (await flow.run()).output == {"said": "a cat", "code": None}
    (message,) = model.requests[0].messages
    assert isinstance(message, UserMessage)
    assert [type(part) for part in message.content] == [TextPart, MediaPart]
    for files in (["att_99"], "att_1", [1], {"a": 1}):
        nodes["m"] = {"type": "model", "model": "m", "files": files, "on_error": "branch"}  # type: ignore[dict-item]
        flow = workflow({"nodes": nodes, "edges": ["p > m"], "outputs": outputs}, [picture], models={"m": model})
        assert (await flow.run()).output == {"said": None, "code": "no_value"}, files


async def test_a_model_that_answers_nonsense_fails_its_node_and_breaks_nothing_else() -> None:
    schema: JsonObject = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    kinds: dict[str, JsonObject] = {
        "model": {"type": "model", "model": "m", "prompt": "x", "output_schema": schema},
        "classify": {"type": "classify", "model": "m", "text": "x", "classes": {"a": "", "b": ""}},
        "extract": {"type": "extract", "model": "m", "text": "x", "schema": schema, "ask": False},
    }
    nonsense: list[Reply | str] = [
        "",
        "[]",
        "null",
        "{" * 5_000,
        "\x00\x01",
        "```json\n```",
        Reply.of(calls=[ToolCall("1", "other", {"class": 7, "n": "x"})]),
        Reply.of(calls=[ToolCall("1", "answer", {}), ToolCall("1", "answer", {"class": "a", "n": 1})]),
        '{"class": ["a"], "n": {"n": 1}}',
    ]
    for name, node in kinds.items():
        for said in nonsense:
            model = ScriptedModel([said, said])
            flow = workflow(
                {"nodes": {"m": {**node, "on_error": "branch"}}, "outputs": {"e": "${m.error?}"}}, models={"m": model}
            )
            done = await flow.run()
            assert done.output is not None
            error = done.output["e"]
            assert isinstance(error, dict), (name, said, done.output)
            assert error["code"] in ("invalid_output", "missing", "no_reply"), (name, said, error)
            assert len(model.requests) <= 2


async def test_a_model_node_asks_once_more_where_nothing_was_said_and_goes_on_after_a_pause() -> None:
    node: JsonObject = {"type": "model", "model": "m", "prompt": "x", "on_error": "branch"}
    outputs: JsonObject = {"said": "${m.text?}", "code": "${m.error.code?}"}
    called = Reply.of(calls=[ToolCall("1", "other", {})])
    lost = Reply.of("I'll look.")
    lost = msgspec.structs.replace(lost, finish_reason="MALFORMED_FUNCTION_CALL")
    pause = msgspec.structs.replace(Reply.of("I look. "), finish_reason="pause_turn")
    scripts: list[tuple[list[Reply | str], str | None]] = [
        (["", "Hi."], "Hi."),
        ([called, "Hi."], "Hi."),
        ([lost, "Hi."], "Hi."),
        (["", " "], None),
        ([called, lost], None),
        ([pause, pause, "Hi."], "I look. I look. Hi."),
        ([pause] * 10, None),
    ]
    for script, said in scripts:
        model = ScriptedModel(script)
        done = await workflow({"nodes": {"m": node}, "outputs": outputs}, models={"m": model}).run()
        assert done.output == {"said": said, "code": None if said else "no_reply"}
        assert len(model.requests) == len(script)
        paused = [each for each in script if each == pause]
        assert model.requests[-1].messages[1:] == paused[: len(script) - 1]


async def test_messages_that_are_none_fail_the_node() -> None:
    node: JsonObject = {"type": "model", "model": "m", "messages": "${inputs.said}"}
    for said in ("hello", [1], [{"role": "tool", "text": "x"}], [{"text": "x"}], {"role": "user"}):
        model = ScriptedModel(["hi"])
        flow = workflow({"inputs": {"type": "object"}, "nodes": {"m": node}}, models={"m": model})
        with pytest.raises(WorkflowFailed) as caught:
            await flow.run({"said": said})  # type: ignore[dict-item]
        assert caught.value.code == "no_value", said
        assert model.requests == []


async def test_a_wait_for_no_time_fails_and_a_wait_for_a_time_long_past_is_over() -> None:
    async def waited(**given: Json) -> tuple[str, str]:
        node: JsonObject = {"type": "wait", given.pop("field"): "${inputs.x?}"}  # type: ignore[dict-item]
        flow = workflow({"inputs": {"type": "object"}, "nodes": {"w": node}}, clock=FakeClock())
        try:
            done = await flow.run(given)
        except WorkflowFailed as failure:
            return "failed", failure.code
        left = [each for each in await records(flow, done.run_id) if isinstance(each, NodeLeft)]
        assert all(0 <= each.seconds < 60 for each in left)
        return done.status, ""

    for field, value in (("until", None), ("for", None), ("until", float("inf")), ("until", "soon"), ("for", "long")):
        assert await waited(field=field, x=value) == ("failed", "no_value"), (field, value)
    for field, value in (("until", "0001-01-01"), ("until", -5), ("until", 0), ("for", 0), ("until", "1969-01-01")):
        assert await waited(field=field, x=value) == ("done", ""), (field, value)


async def test_a_question_that_asks_for_nothing_takes_a_yes_and_nothing_that_may_be_a_no() -> None:
    nodes: JsonObject = {
        "h": {"type": "human", "message": "Go on?"},
        "on": {"type": "say", "text": "went on"},
        "off": {"type": "say", "text": "stopped"},
    }
    flow = workflow({"nodes": nodes, "edges": ["h > on", "h.denied > off"]})
    for said, text in (("yes", "went on"), ("approve", "went on"), ("{}", "went on"), ("deny", "stopped")):
        waiting = await flow.run()
        ask = waiting.pending[0].id
        for no in ("don't", "no", "yes, but not today", "Yes?", "", " ", "null", "[]", "not {}"):
            with pytest.raises(UsageError, match="waits for 'yes', 'deny' or 'cancel'"):
                await flow.resume(waiting.run_id, {ask: no})
            with pytest.raises(UsageError, match="waits for 'yes', 'deny' or 'cancel'"):
                await flow.resume(waiting.run_id, {ask: Answer("answer", no)})
        assert (await flow.resume(waiting.run_id, {ask: said})).text == text
    form: JsonObject = {"type": "object", "properties": {"n": {"type": "integer"}}}
    flow = workflow({"nodes": {"h": {"type": "human", "message": "How many?", "form": form}}})
    waiting = await flow.run()
    with pytest.raises(UsageError, match="waits for a JSON object, 'deny' or 'cancel'"):
        await flow.resume(waiting.run_id, {waiting.pending[0].id: "yes"})


async def test_approvers_are_names_and_a_form_is_checked() -> None:
    form: JsonObject = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    node: JsonObject = {"type": "human", "message": "x", "form": form, "approvers": "${inputs.who}"}
    definition: JsonObject = {"inputs": {"type": "object"}, "nodes": {"h": node}, "outputs": {"n": "${h.output.n}"}}
    flow = workflow(definition)
    for who in (None, 5, [None], [""], {"a": 1}):
        with pytest.raises(WorkflowFailed, match="approvers is no name"):
            await flow.run({"who": who})  # type: ignore[dict-item]
    waiting = await flow.run({"who": "ann"})
    (pending,) = waiting.pending
    for answer in (Answer("answer", arguments={"n": 1}, by="bob"), Answer("answer", arguments={"n": "x"}, by="ann")):
        with pytest.raises(UsageError):
            await flow.resume(waiting.run_id, {pending.id: answer})
    done = await flow.resume(waiting.run_id, {pending.id: Answer("answer", arguments={"n": 1}, by="ann")})
    assert done.output == {"n": 1}


async def test_code_that_fails_says_so_in_all_three_languages() -> None:
    for language, code in {
        "python": "def main():\n    raise ValueError('broken')",
        "javascript": "function main() { throw new Error('broken'); }",
        "shell": "echo broken >&2; exit 3",
    }.items():
        node: JsonObject = {"type": "code", "language": language, "code": code, "on_error": "branch"}
        flow = workflow({"nodes": {"c": node}, "outputs": {"e": "${c.error?}"}}, policy=Rules(Rule("allow")))
        done = await flow.run()
        assert done.output is not None
        error = done.output["e"]
        assert isinstance(error, dict), (language, done.output)
        if error["code"] != "unavailable":  # no layer of the sandbox holds on this machine
            assert "broken" in str(error["message"]), (language, error)


async def test_unicode_stands_in_names_values_and_ports() -> None:
    nodes: JsonObject = {
        "fall": {"type": "if", "cases": [{"port": "größer", "when": "inputs.zahl > 1"}]},
        "ausgabe": {"type": "say", "text": "日本語 ${inputs.zahl} 🎉"},
        "größe": {"type": "set", "set": {"größe": "${inputs.zahl}"}},
    }
    definition: JsonObject = {
        "inputs": {"type": "object"},
        "vars": {"größe": 0},
        "nodes": nodes,
        "edges": ["fall.größer > ausgabe", "ausgabe > größe"],
        "outputs": {"größe": "${vars.größe}", "文": "${ausgabe.text}"},
    }
    done = await workflow(definition).run({"zahl": 2})
    assert done.output == {"größe": 2, "文": "日本語 2 🎉"}


async def test_an_each_takes_nothing_null_and_an_object_as_what_they_are() -> None:
    async def over(value: Json) -> object:
        each: JsonObject = {
            "type": "each",
            "over": "${inputs.of}",
            "nodes": {},
            "output": "${item}",
            "on_error": "branch",
        }
        outputs: JsonObject = {"got": "${e.output?}", "why": "${e.error.message?}"}
        flow = workflow({"inputs": {"type": "object"}, "nodes": {"e": each}, "outputs": outputs})
        return (await flow.run({"of": value})).output

    assert await over([]) == {"got": [], "why": None}
    assert await over(None) == {"got": None, "why": "over is no list, but NoneType"}
    assert await over({"a": 1}) == {"got": None, "why": "over is no list, but dict"}
    assert await over("text") == {"got": None, "why": "over is no list, but str"}
    assert await over([None, [], {}]) == {"got": [None, [], {}], "why": None}


async def test_a_cancel_in_the_middle_of_a_container_stops_it_and_the_run_goes_on_where_it_was() -> None:
    made: list[int] = []
    third = asyncio.Event()

    @tool(effects={"spend"}, idempotent=True)
    async def pay(amount: int, context: Context) -> int:
        """Pay; the third one hangs, the first time."""
        if amount == 3 and not third.is_set():
            third.set()
            await asyncio.Event().wait()
        made.append(amount)
        return amount

    body: JsonObject = {"p": {"type": "tool", "tool": "pay", "with": {"amount": "${item}"}}}
    each: JsonObject = {"type": "each", "over": [1, 2, 3, 4], "nodes": body, "output": "${p.output}"}
    flow = workflow({"nodes": {"e": each}, "outputs": {"got": "${e.output}"}}, [pay])
    run = asyncio.ensure_future(flow.run(run_id="r"))
    await third.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    done = await flow.resume("r")
    assert made in ([1, 2, 3, 4], [1, 2, 4])
    assert done.output in ({"got": [1, 2, 3, 4]}, {"got": [1, 2, 4]})


async def test_runs_and_conversations_of_two_tenants_are_apart() -> None:
    definition: JsonObject = {
        "conversation": {"n": 0},
        "nodes": {"s": {"type": "set", "add": {"n": 1}}},
        "outputs": {"n": "${vars.n}"},
    }
    flow = workflow(definition)

    async def said(tenant: str, principal: str = "ann") -> object:
        return (await flow.run(tenant=tenant, principal=principal, conversation="c")).output["n"]

    assert [await said("north"), await said("south"), await said("north"), await said("south", "bob")] == [1, 1, 2, 1]
    await flow.run(run_id="r", tenant="north")
    with pytest.raises(UsageError, match="there is a run 'r' already"):
        await flow.run(run_id="r", tenant="south")
    with pytest.raises(UsageError):
        await flow.resume("r", tenant="south")


class AskedFor:
    """Offers one model, and keeps on whose behalf it was asked."""

    names = ("fast",)

    def __init__(self) -> None:
        self.users: list[User] = []

    def has(self, name: str) -> bool:
        return name == "fast"

    async def open(self, name: str, user: User) -> Model | None:
        self.users.append(user)
        return ScriptedModel([Reply.of("Yes.")])


async def test_runs_of_nobody_known_are_drawn_by_their_conversation_or_each_for_itself() -> None:
    offered = AskedFor()
    nodes: JsonObject = {"nodes": {"say": {"type": "model", "model": "fast", "prompt": "Well?"}}}
    flow = workflow(nodes, offered=offered)
    for conversation, principal in (("", ""), ("", ""), ("c1", ""), ("c1", ""), ("", "ann")):
        await flow.run({}, conversation=conversation, principal=principal)
    first, second, *others = offered.users
    assert len({first, second, *others}) == 4
    assert others == [User("", "c1"), User("", "c1"), User("", "ann")]
