"""A program says whether a run calls tools, and which: the model is told so until the run has done it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from actum import Agent
from actum.agents.tool_choice import ChosenTools
from actum.core.call import ToolCall
from actum.core.errors import UsageError
from actum.core.json import JsonObject
from actum.core.message import Reply, ToolMessage, UserMessage
from actum.core.run.record import ModelReplied, Started
from actum.core.tool import AllowedTools, Effects, NamedTool, Tool, ToolChoice
from actum.journal.memory import MemoryJournal
from actum.models.endpoint import Endpoint
from actum.policy.rules import Rule, Rules
from actum.testing import RecordingToolset, Said, ScriptedModel
from tests.chat_server import ChatServer, Raw

READS: frozenset[Effects] = frozenset({"read"})
TOOLS = [Tool(name=name, description=f"Does {name}.", effects=READS) for name in ("look", "count")]
LOOK, COUNT = ToolCall("c1", "look", {}), ToolCall("c2", "count", {})
PICKED = AllowedTools(("look",))

ASKED: dict[str, tuple[ChosenTools, list[Said], list[ToolChoice], list[str]]] = {
    "required until a call": ("required", [LOOK, COUNT, "done"], ["required", "auto", "auto"], ["look", "count"]),
    "a name until its call": ("count", [COUNT, LOOK, "done"], [NamedTool("count"), "auto", "auto"], ["count", "look"]),
    "another call first": (
        "count",
        [LOOK, COUNT, "done"],
        [NamedTool("count"), NamedTool("count"), "auto"],
        ["count"],
    ),
    "names for the whole run": (["look"], [LOOK, COUNT, LOOK, "done"], [PICKED] * 4, ["look", "look"]),
    "names, and a call first": (
        AllowedTools(("look",), "required"),
        [COUNT, LOOK, "done"],
        [AllowedTools(("look",), "required"), AllowedTools(("look",), "required"), PICKED],
        ["look"],
    ),
    "none for the whole run": ("none", [LOOK, "done"], ["none"] * 2, []),
    "auto": ("auto", [LOOK, "done"], ["auto"] * 2, ["look"]),
    "a demand that is not met": ("required", ["No.", "No!"], ["required"] * 2, []),
    "a name that is called never": (
        "count",
        [LOOK, LOOK, "done"],
        [NamedTool("count"), NamedTool("count"), "auto"],
        [],
    ),
}
"""What is said, what the model answers, what each request says, and what is carried out."""


def agent(model: ScriptedModel, **more: object) -> tuple[Agent, RecordingToolset, MemoryJournal]:
    toolset, journal = RecordingToolset(TOOLS), MemoryJournal()
    return Agent(model, [toolset], journal=journal, **more), toolset, journal  # type: ignore[arg-type]


@pytest.mark.row("S3")
@pytest.mark.parametrize("case", ASKED)
async def test_a_choice_holds_as_long_as_it_says(case: str) -> None:
    said, script, asked, made = ASKED[case]
    of_agent, of_run = ScriptedModel(script), ScriptedModel(script)
    ones = [(of_agent, *agent(of_agent, tool_choice=said), None), (of_run, *agent(of_run), said)]
    for model, one, toolset, journal, here in ones:
        result = await one.run("Look, and count.", tool_choice=here)
        assert [request.tool_choice for request in model.requests] == asked
        assert [call.name for call in toolset.executed] == made
        assert (result.status, result.text) == ("done", script[-1])
        records = [entry.record for entry in await journal.read(result.run_id)]
        assert isinstance(records[0], Started)
        assert (records[0].tool_choice == "auto") == (said == "auto")
        replied = [record for record in records if isinstance(record, ModelReplied)]
        assert [record.demanded for record in replied] == [
            choice == "required" or isinstance(choice, NamedTool) or choice == AllowedTools(("look",), "required")
            for choice in asked
        ]


async def test_a_model_that_disobeys_hears_of_it_in_the_language_of_the_user() -> None:
    for question, word in (("Count.", "`count`"), ("数一数。", "请现在调用`count`")):
        model = ScriptedModel(["No.", COUNT, "One."])
        one, toolset, _ = agent(model, tool_choice="count")
        assert (await one.run(question)).text == "One."
        last = model.requests[1].messages[-1]
        assert isinstance(last, UserMessage)
        assert word in last.text
        assert len(toolset.executed) == 1


async def test_a_forbidden_call_is_told_which_calls_are_not() -> None:
    for choice, word in ((["look"], "look"), ("none", "answer with what you know")):
        model = ScriptedModel([COUNT, "done"])
        one, toolset, _ = agent(model, tool_choice=choice)
        await one.run("Count.")
        told = model.requests[1].messages[-1]
        assert isinstance(told, ToolMessage)
        assert told.result.error is not None
        assert (told.result.error.code, word in told.result.error.message) == ("permission_denied", True)
        assert not toolset.executed


async def test_a_choice_that_can_not_be_is_refused_before_the_model_is_asked() -> None:
    for said, word in (
        ("pay", "'pay'"),
        (["look", "pay"], "'pay'"),
        ([], r"\[\]"),
        (["look", ""], "''"),
        ([1], r"\[1\]"),
        (" ", "' '"),
    ):
        model = ScriptedModel(["done"])
        with pytest.raises(UsageError, match=f"tool_choice.*{word}"):
            await agent(model)[0].run("Hi", tool_choice=said)  # type: ignore[arg-type]
        assert not model.requests


async def test_a_run_that_waited_goes_on_with_its_choice() -> None:
    model = ScriptedModel([LOOK, COUNT, "done"])
    asks = Rules(Rule("ask", ["look"]), Rule("allow", ["*"]))
    one, toolset, _ = agent(model, tool_choice="required", policy=asks)
    waiting = await one.run("Look.", tool_choice=["look"])
    result = await one.resume(waiting.run_id, {waiting.pending[0].id: "approve"})
    assert [request.tool_choice for request in model.requests] == [PICKED] * 3
    assert (result.status, [call.name for call in toolset.executed]) == ("done", ["look"])


async def test_of_very_many_tools_those_that_are_named_are_shown() -> None:
    many = [*TOOLS, *[Tool(name=f"spare_{number}", effects=READS) for number in range(90)]]
    for choice in ("spare_77", ["spare_77", "spare_3"]):
        model = ScriptedModel([ToolCall("c1", "spare_77", {}), "done"])
        result = await Agent(model, [RecordingToolset(many)], tool_choice=choice).run("Look.")
        assert "spare_77" in {tool.name for tool in model.requests[0].tools}
        assert (len(model.requests[0].tools) < 20, result.status) == (True, "done")


REFUSALS = (
    "Thinking may not be enabled when tool_choice forces tool use.",
    "deepseek-reasoner does not support this tool_choice",
    "functionCallingConfig.mode ANY is not supported by this model",
)


@pytest.mark.parametrize("refusal", REFUSALS)
async def test_an_endpoint_that_refuses_a_demand_is_asked_in_words_from_then_on(refusal: str) -> None:
    seen: list[object] = []

    def answer(body: JsonObject) -> str | Reply | Raw:
        seen.append(body.get("tool_choice"))
        if body.get("tool_choice") not in (None, "auto"):
            return Raw((b'{"error": {"message": "%s"}}' % refusal.encode(),), status=400)
        text = str(body["messages"])
        return Reply.of(calls=[COUNT]) if "must use the tool count" in text and "'tool'" not in text else "One."

    for stream in (False, True):
        seen.clear()
        with ChatServer(answer) as server:
            journal, toolset = MemoryJournal(), RecordingToolset(TOOLS)
            endpoint = Endpoint(server.url, "m", native=True)
            one = Agent(endpoint, [toolset], journal=journal, instructions="Be brief.", tool_choice="count")
            events: list[object] = []
            emit: Callable[[object], None] | None = events.append if stream else None
            results = [await one.run("Count.", emit=emit) for _ in range(2)]
        assert [result.text for result in results] == ["One."] * 2
        assert len(toolset.executed) == 2
        forced = [choice for choice in seen if choice not in (None, "auto")]
        assert len(forced) == 1  # what was refused once is not asked again
        replied = [
            entry.record
            for result in results
            for entry in await journal.read(result.run_id)
            if isinstance(entry.record, ModelReplied)
        ]
        assert [(one.demanded, one.reply.demand_in_words) for one in replied] == [(True, True), (False, False)] * 2


async def test_a_text_dialect_says_the_choice_in_its_prompt() -> None:
    for name in ("prompt_json", "react"):
        model = ScriptedModel(["Final Answer: no", "Final Answer: no"])
        await Agent(model, [RecordingToolset(TOOLS)], dialect=name, tool_choice="count").run("Count.")
        assert "must use the tool count" in str(model.requests[0].messages)
