"""Tools, prompts and resources, served to real clients in both eras."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TypedDict, cast

import pytest

from actum import Agent, Context, Image, Label, Rule, Rules, Tool, ToolCall, ToolError, ToolResult, tool
from actum.call.asking.inbox import answer_pending, inbox
from actum.core.errors import UsageError
from actum.core.json import Json, JsonObject
from actum.core.message import UserMessage
from actum.core.model import Request
from actum.core.policy import Answer
from actum.core.run.record import Ended
from actum.journal.memory import MemoryJournal
from actum.journal.recording import RunState
from actum.knowledge.browsing.browser import KnowledgeTool
from actum.knowledge.collections import CollectionUser, make
from actum.policy.rules import CAREFUL
from actum.protocols.mcp.config import McpEra
from actum.server import Identity, McpService, Resource, prompt
from actum.testing import Said, ScriptedModel
from actum.toolsets.mcp.connection import McpConnection
from actum.toolsets.mcp.error import McpError
from actum.workflow.load import read_definition
from actum.workflow.workflow import Workflow
from tests.mcp_service import Client, connected

ERAS: tuple[McpEra, ...] = ("legacy", "modern")
both = pytest.mark.parametrize("era", ERAS)
NAME: JsonObject = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


@tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
async def where(city: str) -> dict[str, str]:
    """Find a city."""
    return {"city": city, "country": "China"}


@tool
async def refuse() -> str:
    """Say no."""
    raise ToolError("Not today.")


@tool
async def slip() -> str:
    """Fail by a mistake."""
    raise RuntimeError("the password is swordfish")


@tool
async def greet(ctx: Context) -> str:
    """Greet by name."""
    given = await ctx.elicit("Your name?", NAME)
    return f"{given.action}: Hello {given.content.get('name', 'stranger')}"


@tool
async def rhyme(ctx: Context) -> str:
    """Have a model rhyme."""
    return (await ctx.sample(Request(messages=[UserMessage.of("Rhyme!")], max_tokens=10))).text


@tool(effects={"write"})
async def pay(amount: int) -> str:
    """Pay somebody."""
    return f"paid {amount}"


async def call(
    way: McpConnection, name: str, arguments: JsonObject | None = None, client: Client | None = None
) -> JsonObject:
    return await way.request("tools/call", {"name": name, "arguments": arguments or {}}, caller=client or Client({}))


def text(result: JsonObject) -> str:
    match result["content"]:
        case [{"type": "text", "text": str(found)}]:
            return found
        case other:
            raise AssertionError(other)


# What is listed -------------------------------------------------------------------------------------------------------


@both
@pytest.mark.row("P2")
async def test_functions_are_listed_with_their_schemas_and_called(era: McpEra) -> None:
    async with connected(McpService([add, where]), era) as way:
        listed = await way.list_all("tools/list")
        assert [definition["name"] for definition in listed] == ["add", "where"]
        assert (await call(way, "add", {"a": 2, "b": 3}))["content"] == [{"type": "text", "text": "5"}]
        assert (await call(way, "where", {"city": "Xi'an"}))["structuredContent"] == {
            "city": "Xi'an",
            "country": "China",
        }


async def test_a_result_that_is_no_object_has_a_schema_only_where_the_protocol_knows_such() -> None:
    number = Tool(name="number", result={"type": "integer"})

    class Numbers:
        generation = 0

        async def list_tools(self) -> Sequence[Tool]:
            return (number,)

        async def execute(self, call: ToolCall, context: Context) -> ToolResult:
            return ToolResult(call.id, structured=7)

    for era, schemas, structured in (("modern", [{"type": "integer"}], 7), ("legacy", [None], None)):
        async with connected(McpService([Numbers()]), era) as way:  # type: ignore[arg-type]
            assert [definition.get("outputSchema") for definition in await way.list_all("tools/list")] == schemas
            result = await call(way, "number")
            assert (result.get("structuredContent"), text(result)) == (structured, "7")


@both
async def test_a_long_list_comes_in_pages_and_a_foreign_cursor_is_refused(era: McpEra) -> None:
    many = [Tool(name=f"tool_{number}") for number in range(230)]
    async with connected(McpService(many), era) as way:
        first = await way.request("tools/list", {})
        assert len(first["tools"]) == 100  # type: ignore[arg-type]
        assert [each["name"] for each in await way.list_all("tools/list")] == [each.name for each in many]
        with pytest.raises(McpError) as caught:
            await way.request("tools/list", {"cursor": "MTox"})
        assert caught.value.rpc_code == -32602


@both
async def test_a_tool_with_a_name_that_the_protocol_does_not_know_is_served_under_another(era: McpEra) -> None:
    class Weather:
        generation = 0

        async def list_tools(self) -> Sequence[Tool]:
            return (Tool(name="天气"),)

        async def execute(self, call: ToolCall, context: Context) -> ToolResult:
            return ToolResult(call.id, structured=call.name)

    async with connected(McpService([Weather()]), era) as way:
        (definition,) = await way.list_all("tools/list")
        assert str(definition["name"]).isascii()
        assert definition["title"] == "天气"
        assert text(await call(way, str(definition["name"]))) == "天气"


async def test_what_is_denied_to_somebody_outright_is_not_shown_to_them_and_denied_on_record() -> None:
    journal = MemoryJournal()
    policy = Rules(Rule("deny", tools="pay", users="eve"), Rule("deny", tools="add", when="args.a > 5"))
    service = McpService([add, pay], policy=policy, journal=journal, who=Identity(principal="eve"))
    async with connected(service) as way:
        assert [definition["name"] for definition in await way.list_all("tools/list")] == ["add"]
        result = await call(way, "pay", {"amount": 5})
        assert result["isError"] is True
    (run,) = await journal.runs()
    assert run.principal == "eve"


async def test_the_tool_of_a_collection_is_shown_to_its_readers_alone() -> None:
    journal = MemoryJournal()
    await make(journal, CollectionUser("", "ann"), "rules", ["user:bob"])
    for user, names in (("eve", ["add"]), ("bob", ["add", "search_rules"])):
        service = McpService([add, KnowledgeTool("rules")], journal=journal, who=Identity(principal=user))
        async with connected(service) as way:
            assert [definition["name"] for definition in await way.list_all("tools/list")] == names
            if user == "eve":
                with pytest.raises(McpError, match="Unknown tool: search_rules"):
                    await call(way, "search_rules", {"query": "hotel"})
            else:
                assert text(await call(way, "search_rules", {"query": "hotel"})) == "Nothing fits."


async def test_arguments_of_a_client_are_no_words_of_the_user() -> None:
    journal = MemoryJournal()
    policy = Rules(Rule("deny", tools="pay", when="!trusted(amount)", reason="Nobody said so."))
    async with connected(McpService([add, pay], policy=policy, journal=journal)) as way:
        assert "Nobody said so." in text(await call(way, "pay", {"amount": 5}))
        assert text(await call(way, "add", {"a": 1, "b": 2})) == "3"


async def test_what_is_not_shown_can_not_be_called() -> None:
    service = McpService([add, pay], visible=lambda tool, who: tool.name != "pay")
    async with connected(service) as way:
        with pytest.raises(McpError, match="Unknown tool: pay"):
            await call(way, "pay", {"amount": 5})


async def test_effects_are_told_as_hints() -> None:
    tools = [Tool(name="look", effects=frozenset({"read"})), Tool(name="wipe", effects=frozenset({"destroy"}))]
    async with connected(McpService([*tools, Tool(name="guess")])) as way:
        look, wipe, guess = await way.list_all("tools/list")
    assert look["annotations"] == {"readOnlyHint": True, "openWorldHint": False}
    assert wipe["annotations"] == {
        "readOnlyHint": False,
        "destructiveHint": True,
        "idempotentHint": False,
        "openWorldHint": False,
    }
    assert "annotations" not in guess


# What goes wrong ------------------------------------------------------------------------------------------------------


@both
async def test_what_goes_wrong_is_told_as_a_model_is_told_and_nothing_else(era: McpEra) -> None:
    async with connected(McpService([add, refuse, slip]), era) as way:
        wrong = await call(way, "add", {"a": "two"})
        assert wrong["isError"] is True
        assert "b: required" in text(wrong)
        assert text(await call(way, "refuse")) == "Not today."
        slipped = await call(way, "slip")
        assert slipped["isError"] is True
        assert "swordfish" not in text(slipped)
        with pytest.raises(McpError) as caught:
            await call(way, "nothing")
        assert caught.value.rpc_code == -32602


async def test_an_agent_is_a_tool() -> None:
    helper = Agent(ScriptedModel(["It is 5."]), name="helper")
    async with connected(McpService([helper])) as way:
        assert text(await call(way, "helper", {"task": "What is 2 + 3?"})) == "It is 5."


@pytest.mark.row("C4")
@pytest.mark.parametrize("denies", [True, False])
async def test_the_policy_of_a_service_binds_the_agents_that_it_serves(denies: bool) -> None:
    paid: list[int] = []

    @tool(effects={"spend"})
    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return "paid"

    journal = MemoryJournal()
    script: list[Said] = [ToolCall("1", "pay", {"amount": 20}), "Done."]
    helper = Agent(ScriptedModel(script), [pay], name="helper", journal=journal)
    deny = Rules(Rule("deny", effects={"spend"}))
    async with connected(McpService([helper], policy=deny if denies else None, journal=journal)) as way:
        await call(way, "helper", {"task": "Pay 20"})
    assert paid == ([] if denies else [20])


async def test_an_image_is_an_image() -> None:
    @tool
    async def draw() -> Image:
        """Draw."""
        return Image(b"png")

    async with connected(McpService([draw])) as way:
        assert (await call(way, "draw"))["content"] == [{"type": "image", "data": "cG5n", "mimeType": "image/png"}]


async def test_a_client_that_breaks_off_cancels_the_run() -> None:
    journal, begun = MemoryJournal(), asyncio.Event()

    @tool
    async def dig() -> str:
        """Dig for ever."""
        begun.set()
        await asyncio.Event().wait()
        return ""

    async with connected(McpService([dig], journal=journal, tasks={"*": "never"})) as way:
        calling = asyncio.create_task(call(way, "dig"))
        await begun.wait()
        calling.cancel()
        await asyncio.wait([calling])
        while True:
            (run,) = await journal.runs()
            if run.status != "running":
                break
            await asyncio.sleep(0)
    (ended,) = [entry.record for entry in await journal.read(run.run_id) if isinstance(entry.record, Ended)]
    assert (ended.status, ended.reason) == ("stopped", "cancelled")


# What is asked --------------------------------------------------------------------------------------------------------


@both
async def test_the_user_of_the_client_is_asked_in_either_era(era: McpEra) -> None:
    client = Client({"elicitation": {"form": {}}}, {"action": "accept", "content": {"name": "Ada"}})
    async with connected(McpService([greet]), era) as way:
        assert text(await call(way, "greet", client=client)) == "accept: Hello Ada"
    ((method, params),) = client.asked
    assert method == "elicitation/create"
    assert params["requestedSchema"] == NAME


@both
async def test_a_user_who_will_not_answer_is_told_from_one_who_went_away(era: McpEra) -> None:
    capable: JsonObject = {"elicitation": {"form": {}}}
    async with connected(McpService([greet]), era) as way:
        for action in ("decline", "cancel"):
            result = await call(way, "greet", client=Client(capable, {"action": action}))
            assert text(result).startswith(action)


async def test_an_answer_that_does_not_fit_is_told_to_the_tool_where_it_can_not_be_asked_again() -> None:
    client = Client({"elicitation": {"form": {}}}, {"action": "accept", "content": {"name": 5}})
    async with connected(McpService([greet]), "legacy") as way:
        result = await call(way, "greet", client=client)
    assert result["isError"] is True
    assert "not what it was asked for" in text(result)


@both
async def test_the_model_of_the_client_is_asked(era: McpEra) -> None:
    said: JsonObject = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "Roses are red"}}
    client = Client({"sampling": {}}, said)
    async with connected(McpService([rhyme]), era) as way:
        assert text(await call(way, "rhyme", client=client)) == "Roses are red"
    ((method, params),) = client.asked
    assert method == "sampling/createMessage"
    assert params["messages"] == [{"role": "user", "content": {"type": "text", "text": "Rhyme!"}}]
    assert params["maxTokens"] == 10


async def test_a_client_is_asked_only_what_it_declared() -> None:
    async with connected(McpService([greet, rhyme])) as way:
        for name, wanted in (("greet", "elicitation"), ("rhyme", "sampling")):
            with pytest.raises(McpError) as caught:
                await call(way, name)
            assert caught.value.rpc_code == -32021
            assert caught.value.data == {"requiredCapabilities": {wanted: {}}}
    async with connected(McpService([greet]), "legacy") as way:
        assert "offers no elicitation" in text(await call(way, "greet"))


@both
async def test_a_call_that_needs_approval_asks_the_user_of_the_client(era: McpEra) -> None:
    async with connected(McpService([pay], policy=CAREFUL), era) as way:
        answers: tuple[tuple[JsonObject, str], ...] = (
            ({"action": "accept", "content": {"approve": True}}, "paid 5"),
            ({"action": "decline"}, "person"),
        )
        for said, result in answers:
            client = Client({"elicitation": {"form": {}}}, said)
            told = text(await call(way, "pay", {"amount": 5}, client))
            assert result in told
            assert "amount = 5" in str(client.asked[0][1]["message"])


@both
async def test_a_call_that_waits_for_somebody_else_is_gone_on_with_by_making_it_again(era: McpEra) -> None:
    journal = MemoryJournal()
    policy = Rules(Rule("ask", tools="pay", approvers=["boss"]))
    client = Client({"elicitation": {"form": {}}})
    async with connected(McpService([pay], policy=policy, journal=journal, who=Identity(principal="eve")), era) as way:
        waits = await call(way, "pay", {"amount": 5}, client)
        assert waits["isError"] is True
        assert "waits for a person" in text(waits)
        assert await call(way, "pay", {"amount": 5}, client) == waits
        (run,) = await journal.runs()
        (asked,) = RunState(await journal.read(run.run_id)).waiting()
        assert asked.id in text(waits)
        await answer_pending(journal, asked.id, Answer("approve", by="boss"))
        assert text(await call(way, "pay", {"amount": 5}, client)) == "paid 5"
    assert client.asked == []


ASKS = """\
actum: workflow/1
name: asks
nodes:
  sure: {type: human, message: Sure?, choices: [yes, no]}
  done: {type: tool, tool: add, with: {a: 2, b: 3}}
edges: [sure.yes > done]
outputs: {sum: "${done.output?}"}
"""


@both
@pytest.mark.parametrize("said", ["nothing declared", "an answer that does not fit", "an error"])
async def test_a_question_of_a_workflow_that_the_client_can_not_be_asked_waits_for_somebody_who_can(
    era: McpEra, said: str
) -> None:
    class Refusing(Client):
        async def answer(self, method: str, params: JsonObject) -> JsonObject:
            if said == "an error":
                raise McpError(-32603, "no page to show it on")
            return {"action": "accept", "content": {"choice": "perhaps"}}

    if era == "modern" and said != "nothing declared":
        return  # the client's next request brings its answer, and a wrong answer is an error of that request
    journal = MemoryJournal()
    flow = Workflow(read_definition(ASKS), [add], journal=journal)
    client = Refusing({} if said == "nothing declared" else {"elicitation": {"form": {}}})
    async with connected(McpService([flow], journal=journal), era) as way:
        waits = await call(way, "asks", {}, client)
        assert waits["isError"] is True
        assert "has begun and waits for a person" in text(waits)
        assert text(await call(way, "asks", {}, client)) == text(waits)
        runs = await journal.runs()
        assert len(runs) == 2  # the call, and the workflow
        (item,) = await inbox(journal)
        assert item.asked.id in text(waits)
        await answer_pending(journal, item.asked.id, Answer("answer", arguments={"choice": "yes"}))
        assert (await call(way, "asks", {}, client))["structuredContent"] == {"sum": 5}


TELLS = """\
actum: workflow/1
name: tells
nodes:
  look: {type: tool, tool: get_employee}
  sure: {type: human, message: "Pay Ada ${look.output.salary}?", choices: [yes, no]}
  done: {type: tool, tool: pay, with: {amount: "${look.output.salary}"}}
edges: [look > sure, sure.yes > done]
outputs: {paid: "${done.output?}"}
"""


@both
async def test_a_question_tells_no_labelled_value_to_a_caller_who_may_not_read_it(era: McpEra) -> None:
    @tool(effects={"read"}, labels={"salary": "personal"})
    async def get_employee() -> JsonObject:
        """Look Ada up."""
        return {"salary": 73_250}

    labels = {"personal": Label(readers=["role:hr"])}
    for roles, shown in (((), "[personal]"), (("hr",), "73250")):
        journal = MemoryJournal()
        flow = Workflow(read_definition(TELLS), [get_employee, pay], policy=CAREFUL, labels=labels, journal=journal)
        who = Identity(principal="ann", roles=roles)
        yes: JsonObject = {"action": "accept", "content": {"approve": True}}
        client = Client({"elicitation": {"form": {}}}, {"action": "accept", "content": {"choice": "yes"}}, yes)
        async with connected(McpService([flow], journal=journal, labels=labels, who=who), era) as way:
            await call(way, "tells", {}, client)
        questions = [str(params["message"]) for _, params in client.asked]
        assert [shown in each for each in questions] == [True, True], questions
        assert ("73250" in str(client.asked)) is bool(roles)


class Employee(TypedDict):
    salary: int


@both
async def test_a_result_without_its_hidden_values_is_held_to_no_schema_that_was_told(era: McpEra) -> None:
    @tool(effects={"read"}, labels={"salary": "personal"})
    async def get_employee() -> Employee:
        """Look Ada up."""
        return {"salary": 73_250}

    for roles, shown in (((), "[personal]"), (("hr",), 73_250)):
        who = Identity(principal="ann", roles=roles)
        service = McpService([get_employee], labels={"personal": Label(readers=["role:hr"])}, who=who)
        async with connected(service, era) as way:
            (listed,) = cast("list[JsonObject]", (await way.request("tools/list", {}))["tools"])
            assert ("outputSchema" in listed) is bool(roles)
            assert (await call(way, "get_employee"))["structuredContent"] == {"salary": shown}


@both
async def test_arguments_that_are_nested_too_deep_are_refused_in_a_sentence(era: McpEra) -> None:
    deep: Json = []
    for _ in range(150):
        deep = [deep]
    async with connected(McpService([where]), era) as way:
        with pytest.raises(McpError, match="arguments: nested deeper than 100 levels") as refused:
            await call(way, "where", {"city": deep})
        assert refused.value.rpc_code == -32602


async def test_the_state_of_a_waiting_call_belongs_to_its_request() -> None:
    capable = Client({"elicitation": {"form": {}}})
    async with connected(McpService([greet, add])) as way:
        waits = await way.request_once("tools/call", {"name": "greet", "arguments": {}}, caller=capable)
        assert waits["resultType"] == "input_required"
        state = waits["requestState"]
        stolen: JsonObject = {"name": "add", "arguments": {}, "requestState": state}
        changed: JsonObject = {"name": "greet", "arguments": {}, "requestState": f"{state}x"}
        for params in (stolen, changed):
            with pytest.raises(McpError, match="requestState"):
                await way.request_once("tools/call", params, caller=capable)


def test_a_key_that_seals_nothing_is_none() -> None:
    with pytest.raises(UsageError, match="32 bytes"):
        McpService([greet], keys=[b"short"])


async def test_a_call_that_waited_outlives_the_process_where_key_and_journal_do() -> None:
    journal, key = MemoryJournal(), b"k" * 32
    capable = Client({"elicitation": {"form": {}}})
    params: JsonObject = {"name": "greet", "arguments": {}}
    async with connected(McpService([greet], journal=journal, keys=[key])) as way:
        waits = await way.request_once("tools/call", params, caller=capable)
    requests = waits["inputRequests"]
    assert isinstance(requests, dict)
    answers: Json = {next(iter(requests)): {"action": "accept", "content": {"name": "Ada"}}}
    async with connected(McpService([greet], journal=journal, keys=[key])) as way:
        again = {**params, "requestState": waits["requestState"], "inputResponses": answers}
        assert text(await way.request_once("tools/call", again, caller=capable)) == "accept: Hello Ada"


# What is told meanwhile -----------------------------------------------------------------------------------------------


@both
async def test_progress_grows_and_is_told_before_the_result(era: McpEra) -> None:
    @tool
    async def walk(ctx: Context) -> str:
        """Walk."""
        for value in ({"progress": 1, "total": 3}, {"progress": 1}, 3, "there"):
            ctx.progress(value)  # type: ignore[arg-type]
        return "done"

    client = Client({})
    async with connected(McpService([walk]), era) as way:
        await call(way, "walk", client=client)
    told = [(params["progress"], params.get("message")) for method, params in client.heard if "progress" in method]
    assert told == [(1, None), (3, None), (4, "there")]


async def test_what_a_tool_logs_is_told_from_the_level_on_that_the_client_set() -> None:
    @tool
    def walk(ctx: Context) -> str:
        """Walk, in a thread of its own."""
        ctx.log("debug", "a step")
        ctx.log("warning", {"stone": 1})
        return "done"

    @tool
    async def run(ctx: Context) -> str:
        """Run, and log at the very end."""
        ctx.log("error", "a wall")
        return "done"

    client = Client({})
    async with connected(McpService([walk, run]), "legacy") as way:
        await way.request("logging/setLevel", {"level": "warning"})
        await call(way, "walk", client=client)
        await call(way, "run", client=client)
    told = [params["data"] for method, params in client.heard if method == "notifications/message"]
    assert told == [{"stone": 1}, "a wall"]


async def test_without_being_asked_for_nothing_is_logged_to_a_client_without_a_handshake() -> None:
    @tool
    async def run(ctx: Context) -> str:
        """Log."""
        ctx.log("emergency", "fire")
        return "done"

    client = Client({})
    async with connected(McpService([run])) as way:
        await call(way, "run", client=client)
    assert client.heard == []


# Prompts and resources ------------------------------------------------------------------------------------------------


@prompt(suggest={"language": lambda begun: [each for each in ("French", "Finnish") if each.startswith(begun)]})
def translate(text: str, language: str = "French") -> str:
    """Translate a text.

    Args:
        text: what to translate.
        language: into which.
    """
    return f"Translate into {language}: {text}"


@both
async def test_a_prompt_is_listed_filled_in_and_its_arguments_are_completed(era: McpEra) -> None:
    async with connected(McpService(prompts=[translate]), era) as way:
        (told,) = await way.list_all("prompts/list")
        assert told["arguments"] == [
            {"name": "text", "required": True, "description": "what to translate."},
            {"name": "language", "required": False, "description": "into which."},
        ]
        filled = await way.request("prompts/get", {"name": "translate", "arguments": {"text": "Hi"}})
        assert filled["messages"] == [
            {"role": "user", "content": {"type": "text", "text": "Translate into French: Hi"}}
        ]
        reference: JsonObject = {"type": "ref/prompt", "name": "translate"}
        asked: JsonObject = {"ref": reference, "argument": {"name": "language", "value": "Fi"}}
        completed = await way.request("completion/complete", asked)
        assert completed["completion"] == {"values": ["Finnish"], "total": 1, "hasMore": False}
        with pytest.raises(McpError) as caught:
            await way.request("prompts/get", {"name": "translate", "arguments": {}})
        assert caught.value.rpc_code == -32602


@both
async def test_a_resource_that_is_not_there_is_said_so_in_the_code_of_the_era(era: McpEra) -> None:
    def diary(day: str) -> str | None:
        return "Rain." if day == "today" else None

    note = Resource("memo://{day}", diary, name="memo")
    async with connected(McpService(resources=[note]), era) as way:
        found = await way.request("resources/read", {"uri": "memo://today"})
        assert found["contents"] == [{"uri": "memo://today", "mimeType": "text/plain", "text": "Rain."}]
        with pytest.raises(McpError) as caught:
            await way.request("resources/read", {"uri": "memo://never"})
        assert caught.value.rpc_code == {"modern": -32602, "legacy": -32002}[era]


@both
async def test_only_what_there_is_is_offered(era: McpEra) -> None:
    async with connected(McpService([add]), era) as way:
        facts = await way.facts()
        assert "tools" in facts.capabilities
        assert not {"prompts", "resources"} & set(facts.capabilities)
        with pytest.raises(McpError) as caught:
            await way.request("prompts/list", {})
        assert caught.value.rpc_code == -32601
