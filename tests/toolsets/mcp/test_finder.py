"""An agent finds servers and their tools while it runs, and what holds for these holds all the same."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from actum import Agent, Label, ToolCall
from actum.core.call import ToolResult
from actum.core.json import Json, JsonObject
from actum.core.message import ToolMessage
from actum.core.policy import Answer
from actum.core.run.pending import Pending
from actum.testing import ScriptedModel
from actum.toolsets.mcp import McpHost, McpToolset
from actum.toolsets.mcp.finder import McpFinder
from actum.toolsets.wrappers import ToolLabels, labelled
from tests.toolsets.shifty_server import ADD, Shifty

pytestmark = pytest.mark.row("T4")

STRICT: JsonObject = {
    **ADD,
    "inputSchema": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
}


class Person:
    """Says the same to whatever is asked."""

    def __init__(self, verdict: str = "approve") -> None:
        self.verdict = verdict
        self.asked: list[Pending] = []

    async def ask(self, pending: Pending) -> Answer:
        self.asked.append(pending)
        return Answer(self.verdict)  # type: ignore[arg-type]


@pytest.fixture
def shifty(tmp_path: Path) -> Shifty:
    shifty = Shifty(tmp_path)
    shifty.tell(tools=[STRICT, {**ADD, "name": "bad", "inputSchema": 5}])
    return shifty


@pytest.fixture
async def finder(shifty: Shifty) -> AsyncIterator[McpFinder]:
    async with McpHost([McpToolset(shifty.server())]) as host:
        yield McpFinder(host, prefixes=["mcp", "mcp_sse"])


async def call(finder: McpFinder, name: str, person: Person, **arguments: Json) -> ToolResult:
    model = ScriptedModel([[ToolCall("1", name, arguments)], "Done."])
    return (await Agent(model, [finder], approver=person).run("Go")).calls[0][1]


async def test_the_tools_of_a_server_are_listed_without_a_question(finder: McpFinder) -> None:
    person = Person()
    for name in ("mcp_list_tools", "mcp_sse_list_tools"):
        listed = await call(finder, name, person, server="shifty")
        tool: JsonObject = {"name": "add", "description": ADD["description"], "parameters": STRICT["inputSchema"]}
        assert listed.structured == {"tools": [tool], "kept_back": 1}
    assert person.asked == []


async def test_a_call_asks_and_shows_what_is_called(finder: McpFinder, shifty: Shifty) -> None:
    person = Person()
    given: JsonObject = {"server": "shifty", "tool": "add", "arguments": {"a": "5"}}
    assert (await call(finder, "mcp_call_tool", person, **given)).text == "add was called"
    (pending,) = person.asked
    assert pending.call is not None
    assert pending.call.arguments == given
    (sent,) = shifty.heard("tools/call")
    assert isinstance(sent["params"], dict)
    assert sent["params"]["arguments"] == {"a": 5}  # read as the tool's own schema has it


async def test_a_denied_call_never_reaches_the_server(finder: McpFinder, shifty: Shifty) -> None:
    result = await call(finder, "mcp_call_tool", Person("deny"), server="shifty", tool="add", arguments={"a": 1})
    assert result.error is not None
    assert shifty.heard() == []


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        ({"server": "shifty", "tool": "add"}, "invalid_arguments", "arguments.a: required"),
        ({"server": "shifty", "tool": "bad"}, "unknown_tool", "It has: add"),
        ({"server": "other", "tool": "add"}, "invalid_arguments", "server"),
        ({"server": "https://example.org/mcp", "tool": "add"}, "invalid_arguments", "server"),
    ],
)
async def test_what_can_not_be_called_is_told_so_that_the_model_can_mend_it(
    finder: McpFinder, shifty: Shifty, arguments: JsonObject, code: str, told: str
) -> None:
    result = await call(finder, "mcp_call_tool", Person(), **arguments)
    assert result.error is not None
    assert (result.error.code, told in result.error.message) == (code, True), result.error.message
    assert shifty.called() == []


@pytest.mark.parametrize(
    "url",
    ["https://127.0.0.1/mcp", "http://example.org/mcp", "https://169.254.169.254/", "https://10.1.2.3/", "ftp://x/"],
)
async def test_an_address_must_lead_to_the_open_internet(url: str) -> None:
    async with McpFinder(McpHost([]), urls=True) as finder:
        person = Person()
        result = await call(finder, "mcp_list_tools", person, server=url)
        assert result.error is not None
        assert "may not be reached" in result.error.message
        assert [pending.kind for pending in person.asked] == ["approval"]  # to go there says something to somebody


@pytest.mark.row("C9")
async def test_the_labels_of_a_server_s_tool_hold_also_where_the_tool_is_found_while_the_agent_runs(
    shifty: Shifty,
) -> None:
    labels = {"personal": Label(models=["ollama/*"])}
    operator = {"shifty_add": ToolLabels(labels={"": "personal"})}
    call = ToolCall("1", "mcp_call_tool", {"server": "shifty", "tool": "add", "arguments": {"a": 73250}})
    async with McpHost([McpToolset(shifty.server())]) as host:
        finder = labelled(operator, McpFinder(host, labels=operator))
        for name, sees in (("openai:gpt-5", False), ("ollama:qwen3", True)):
            model = ScriptedModel([call, "Done."], name=name)
            result = await Agent(model, [finder], approver=Person(), labels=labels).run("Go")
            (told,) = [each.result for each in model.requests[-1].messages if isinstance(each, ToolMessage)]
            assert result.calls[0][1].labels == {"": "personal"}
            assert (told.text == "[personal:1]") is not sees, name
