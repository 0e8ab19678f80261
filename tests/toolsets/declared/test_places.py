"""A declared tool runs at its place, in the hands of those for whom it is declared."""

from __future__ import annotations

import pytest

from actum import Agent, Tool
from actum.call.resolve import COMPILED_MAX
from actum.core.call import ToolCall
from actum.core.definition import BadText
from actum.core.errors import PermissionDenied, UsageError
from actum.core.interfaces import Toolset
from actum.core.json import JsonObject, dumps
from actum.testing import ScriptedModel
from actum.toolsets.declared.declaration import declaration_of
from actum.toolsets.declared.difference import difference
from actum.toolsets.declared.places import declared_tool, given_declaration
from tests.toolsets.http.test_toolset import context
from tests.transport.wire_servers import said, wire_server


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


PYTHON: JsonObject = {
    "name": "double",
    "description": "Doubles.",
    "parameters": {"n": "integer"},
    "python": "def main(n):\n    return {'twice': 2 * n}\n",
}


async def test_a_request_goes_to_the_declared_address_with_its_arguments_in_their_places() -> None:
    heads: list[str] = []

    def answer(head: bytes, body: bytes) -> bytes:
        heads.append(head.decode().partition("\r\n")[0] + body.decode())
        return said(b'{"now": {"c": 7, "f": 44}}', "200 OK", "content-type: application/json")

    async with wire_server(answer) as wire:
        toolset = given_declaration(
            {
                "name": "weather",
                "description": "The weather.",
                "parameters": {"city": "string", "days": {"type": "integer", "required": False}},
                "effects": ["write"],
                "http": {
                    "url": f"http://127.0.0.1:{wire.port}/at/{{city}}",
                    "method": "POST",
                    "query": {"d": "{days}"},
                    "body": {"q": "in {city}"},
                    "pick": "now.c",
                },
            }
        )
        assert isinstance(toolset, Toolset)
        (tool,) = await toolset.list_tools()
        call = ToolCall("c", "weather", {"city": "a/b?x=1 &", "days": 2})
        result = await toolset.execute(call, context(call.name, call.arguments))
    assert heads == ['POST /at/a%2Fb%3Fx%3D1%20%26?d=2 HTTP/1.1{"q":"in a/b?x=1 &"}']
    assert result.structured == 7
    assert (tool.name, tool.description, tool.effects) == ("weather", "The weather.", frozenset(["write"]))


async def test_code_runs_in_the_jail_and_gives_back_what_main_returns() -> None:
    toolset = given_declaration(PYTHON)
    assert isinstance(toolset, Toolset)
    (tool,) = await toolset.list_tools()
    assert (tool.effects, tool.jailed, tool.idempotent) == (frozenset(["execute"]), True, True)
    call = ToolCall("c", "double", {"n": 21})
    assert (await toolset.execute(call, context(call.name, call.arguments))).structured == {"twice": 42}


async def test_an_agent_takes_declarations_among_its_tools() -> None:
    forms: list[JsonObject] = [
        {"name": "ask_desk", "description": "Asks.", "parameters": {"q": "string"}},
        PYTHON,
    ]
    model = ScriptedModel([[ToolCall("c", "sum", {"a": 1, "b": 2}), ToolCall("d", "plus", {"a": 1, "b": 2})], "Three."])
    parameters = {"a": "integer", "b": "integer"}
    functions: list[dict[str, object]] = [
        {"name": "sum", "parameters": parameters, "module": add},
        {"type": "function", "function": {"name": "plus", "parameters": parameters, "module": add}},
    ]
    agent = Agent(model, tools=[*forms, *functions])
    answer = await agent.run("1 + 2?")
    assert (answer.output, [each.text for _, each in answer.calls]) == ("Three.", ["3", "3"])
    listed = {tool.name: tool for tool in model.requests[0].tools}
    assert set(listed) == {"ask_desk", "double", "sum", "plus"}
    assert listed["sum"].parameters["required"] == ["a", "b"]
    assert isinstance(given_declaration(forms[0]), Tool)


async def test_a_tool_for_some_users_is_called_for_no_other() -> None:
    toolset = given_declaration({**PYTHON, "users": ["ann"], "roles": ["lead"]})
    assert isinstance(toolset, Toolset)
    call = ToolCall("c", "double", {"n": 1})
    stranger = context("double", principal="bob")
    assert (await toolset.execute(call, context("double"))).structured == {"twice": 2}
    with pytest.raises(PermissionDenied, match="for other users"):
        await toolset.execute(call, stranger)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({**PYTHON, "effects": ["read"]}, "effect execute"),
        ({"name": "t", "http": {"url": "https://e.org", "method": "POST"}, "effects": ["read"]}, "effect "),
        ({"name": "t", "http": {"url": "https://{host}/a"}, "parameters": {"host": "string"}}, "host of an endpoint"),
        ({"name": "t", "http": {"url": "https://e.org/{a}"}}, r"\{a\} is none of the parameters"),
        ({"name": "t", "http": {"url": "https://e.org"}, "parameters": {"a": "string"}}, "'a' goes nowhere"),
        ({"name": "t", "http": {"url": "file:///etc/passwd"}}, "no address of the web"),
        ({"name": "t", "http": {"url": "https://e.org", "headers": {"Authorization": "x"}}}, "looks like a credential"),
        ({"name": "t", "agent": "desk"}, "give the agent"),
        ({"name": "t", "module": "os:system"}, "give the function"),
        ({"name": "t", "users": ["ann"]}, "names none"),
        (PYTHON | {"python": {"source": "def main(n): 1", "hosts": ["e.org"]}}, "not one of the hosts"),
    ],
)
def test_a_place_that_can_not_be_is_refused_in_words(given: JsonObject, told: str) -> None:
    with pytest.raises(BadText, match=told):
        given_declaration(given)


def test_a_place_of_a_server_is_made_by_a_server() -> None:
    with pytest.raises(UsageError, match="belongs to a server"):
        declared_tool(declaration_of({"name": "t", "workflow": "price@2"}))


@pytest.mark.row("F5")
def test_a_diff_names_effects_that_grew_with_the_place_though_neither_text_says_effects() -> None:
    read = {"name": "t", "parameters": {"n": "integer"}, "http": {"url": "https://e.org/?n={n}"}}
    write = read | {"http": {"url": "https://e.org", "method": "POST", "body": {"n": "{n}"}}}
    code: JsonObject = {**PYTHON, "name": "t"}
    read_said, write_said, code_said = (dumps(each) for each in (read, write, code))

    def told(old: str, new: str) -> list[str]:
        return [each.breaks for each in difference(old, new) if each.place == "effects"]

    assert told(read_said, write_said) == ["its effects grew: write"]
    assert told(write_said, read_said) == [""]
    assert told(read_said, code_said) == ["its effects grew: execute"]
    assert told(read_said, read_said.replace("?n=", "?m=")) == []
    assert told(read_said, dumps({**read, "effects": ["read"]})) == []


@pytest.mark.row("T8")
def test_of_very_many_declarations_a_schema_is_compiled_at_the_first_call_of_its_tool() -> None:
    """To compile all of ten thousand took four seconds before the first step, of which a model calls three."""
    bad: JsonObject = {"name": "bad", "parameters": {"type": "object", "properties": {"a": {"type": "strin"}}}}
    many: list[JsonObject] = [{**PYTHON, "name": f"t{number}"} for number in range(COMPILED_MAX)]
    with pytest.raises(BadText, match=r"properties\.a\.type"):
        Agent(ScriptedModel(["Hi."]), tools=[*many[1:], bad])
    agent = Agent(ScriptedModel([ToolCall("c", "bad", {"a": "x"}), "Hi."]), tools=[*many, bad])
    result = agent.run_sync("Call bad.")
    (_, told) = result.calls[0]
    assert (result.text, told.error is not None) == ("Hi.", True)


def test_a_function_without_a_name_of_its_own_has_the_declared_one() -> None:
    seven = {"name": "seven", "parameters": {}, "module": lambda: 7}
    result = Agent(ScriptedModel([ToolCall("c", "seven", {}), "7."]), tools=[seven]).run_sync("How many?")
    assert result.calls[0][1].structured == 7
