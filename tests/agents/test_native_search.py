"""What a model finds reaches it by its API's own means: stand-ins of the APIs refuse what the real ones refuse."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from anthropic.types import ToolParam, ToolResultBlockParam
from openai.types.responses import FunctionToolParam, ToolSearchToolParam
from openai.types.responses.response_input_item_param import ToolSearchCall
from openai.types.responses.response_tool_search_output_item_param_param import ResponseToolSearchOutputItemParamParam
from pydantic import TypeAdapter

from actum import Agent, Answer, ModelSettings, Rule, Rules, open_model
from actum.core.call import ToolCall
from actum.core.json import JsonObject
from actum.core.message import Reply
from actum.core.tool import SEARCH, Tool
from actum.journal.memory import MemoryJournal
from actum.storage.sqlite import SQLiteJournal
from actum.testing import RecordingToolset
from tests.chat_server import ChatServer, Raw, Said

TOOLS = [
    Tool(name="get_weather", description="Tells the weather of a city.", effects=frozenset({"read"})),
    Tool(name="close.ticket", description="Closes a ticket of the help desk.", effects=frozenset({"read"})),
    *(Tool(name=f"spare_{number}", description=f"Reads gauge {number}.") for number in range(100)),
]
QUERY: JsonObject = {"query": "closing a ticket", "limit": 2}
POLICY = Rules(Rule(tools=["close.ticket"], then="ask"), default="allow")

Body = dict[str, Any]


def refusal(message: str) -> Raw:
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": message}}
    return Raw((msgspec.json.encode(error),), status=400)


def checked(kind: type[object], value: object) -> None:
    """The value is what the official SDK would send."""
    TypeAdapter(kind).validate_python(value, strict=False)


# Anthropic ----------------------------------------------------------------------------------------------------------


def results_of(body: Body) -> Iterator[Body]:
    for message in body["messages"]:
        for block in message["content"] if isinstance(message["content"], list) else ():
            if block["type"] == "tool_result":
                checked(ToolResultBlockParam, block)
                yield block


def anthropic(body: Body) -> Said:
    """The Messages API: it refuses references to what is not deferred, and has only what is loaded called."""
    for tool in body["tools"]:
        checked(ToolParam, tool)
    later = {tool["name"] for tool in body["tools"] if tool.get("defer_loading")}
    loaded = {tool["name"] for tool in body["tools"]} - later
    if not loaded:
        return refusal("All tools have defer_loading set. At least one tool must be non-deferred.")
    answered = 0
    for block in results_of(body):
        answered += 1
        kinds = {part["type"] for part in block["content"]} if isinstance(block["content"], list) else {"text"}
        if "tool_reference" in kinds and kinds != {"tool_reference"}:
            return refusal("tool_reference can not be mixed with other content")
        for part in block["content"] if "tool_reference" in kinds else ():
            if part["tool_name"] not in later:
                return refusal(f"Tool reference {part['tool_name']!r} has no corresponding tool definition")
            loaded.add(part["tool_name"])
    return next_reply(answered, loaded)


# OpenAI -------------------------------------------------------------------------------------------------------------


def openai(body: Body) -> Said:
    """The Responses API: its search is answered by its own item, which loads tools that the list does not have."""
    (search,) = [tool for tool in body["tools"] if tool["type"] == "tool_search"]
    checked(ToolSearchToolParam, search)
    functions = [tool for tool in body["tools"] if tool["type"] == "function"]
    for tool in functions:
        checked(FunctionToolParam, tool)
    listed = {tool["name"] for tool in functions}
    loaded, asked, answered = set(listed), set(), 0
    for item in body["input"]:
        if item.get("type") == "tool_search_call":
            checked(ToolSearchCall, item)
            asked.add(item["call_id"])
        elif item.get("type") == "tool_search_output":
            checked(ResponseToolSearchOutputItemParamParam, item)
            if item["call_id"] not in asked:
                return refusal(f"No tool search call found for {item['call_id']}")
            for tool in item["tools"]:
                if tool["name"] in listed or not tool["defer_loading"]:
                    return refusal(f"Duplicate tool {tool['name']}")
                loaded.add(tool["name"])
            answered += 1
        elif item.get("type") == "function_call":
            asked.add(item["call_id"])
            if item["name"] not in loaded:
                return refusal(f"{item['name']} is not loaded")
        elif item.get("type") == "function_call_output":
            answered += 1
    said = next_reply(answered, loaded | {SEARCH})
    if isinstance(said, Reply) and said.calls[0].name == SEARCH:
        call = said.calls[0]
        item = {"type": "tool_search_call", "id": "tsc_1", "call_id": call.id, "execution": "client"}
        output = [{**item, "status": "completed", "arguments": call.arguments}]
        answer = {"id": "r", "object": "response", "status": "completed", "model": "gpt-5.4", "output": output}
        return Raw((msgspec.json.encode(answer),))
    return said


def next_reply(answered: int, loaded: set[str]) -> Said:
    """Searches, calls what was found, and answers."""
    if answered == 0:
        return Reply.of(calls=[ToolCall("call_a", SEARCH, QUERY)])
    if answered == 1:
        found = [name for name in loaded if name.startswith("close")]
        return Reply.of(calls=[ToolCall("call_b", found[0], {})]) if found else "It is not loaded."
    return "Closed."


MODELS: dict[str, tuple[str, str, Callable[[Body], Said], str]] = {
    "anthropic": ("anthropic:claude-sonnet-4-5", "auto", anthropic, "messages"),
    "openai": ("openai:gpt-5.4", "openai_responses", openai, "input"),
}


def agent_at(
    server: ChatServer, api: str, journal: SQLiteJournal | None = None, settings: ModelSettings | None = None
) -> Agent:
    name, dialect, _, _ = MODELS[api]
    model = open_model(name, dialect=dialect, key="k", base_url=server.url)
    return Agent(model, [RecordingToolset(TOOLS)], journal=journal, policy=POLICY, settings=settings)


def beginning(bodies: Sequence[bytes], conversation: str) -> None:
    """Each request begins as the one before: the bytes of its tools, of its instructions and of what was said."""
    shown: list[dict[str, msgspec.Raw]] = [msgspec.json.decode(body, type=dict[str, msgspec.Raw]) for body in bodies]
    tools, said = [], []
    for body in shown:
        listed = msgspec.json.decode(body["tools"], type=list[msgspec.Raw])
        tools.append([bytes(tool) for tool in listed if b'"defer_loading":true' not in bytes(tool)])
        said.append([bytes(each) for each in msgspec.json.decode(body[conversation], type=list[msgspec.Raw])])
        assert body.get("system") == shown[0].get("system")
    assert all(each == tools[0] for each in tools)
    for before, after in pairwise(said):
        assert after[: len(before)] == before
        assert len(after) > len(before)


@pytest.mark.row("T8")
@pytest.mark.parametrize("api", MODELS)
async def test_what_a_model_found_reaches_it_without_a_change_to_the_beginning_also_in_another_process(
    api: str, tmp_path: Path
) -> None:
    _, _, script, conversation = MODELS[api]
    with ChatServer(script) as server:
        journal = SQLiteJournal(tmp_path / "runs.db")
        paused = await agent_at(server, api, journal).run("The weather, please.")
        assert paused.status == "paused", paused.text
        await journal.close()
        journal = SQLiteJournal(tmp_path / "runs.db")
        answers = {paused.pending[0].id: Answer("approve")}
        result = await agent_at(server, api, journal).resume(paused.run_id, answers)
        await journal.close()
    assert result.text == "Closed."
    assert [call.name for call, _ in result.calls] == [SEARCH, "close.ticket"]
    assert len(server.requests) == 3
    beginning([asked.body for asked in server.requests], conversation)
    first, second, third = [asked.json for asked in server.requests]
    assert "defer_loading" not in str(first)
    assert "defer_loading" in str(second)
    assert second["tools"] == third["tools"]


async def test_told_plainly_the_list_of_tools_grows_and_a_model_of_before_is_not_told_natively() -> None:
    def grows(body: Body) -> Said:
        names = [str(tool["name"]) for tool in body["tools"]]
        return next_reply(str(body["messages"]).count("tool_use_id"), set(names))

    with ChatServer(grows) as server:
        plain = ModelSettings(tool_search="plain")
        result = await agent_at(server, "anthropic", settings=plain).run("The weather, please.")
        assert result.status == "paused"
        older = open_model("anthropic:claude-3-5-haiku-latest", key="k", base_url=server.url)
        assert (await Agent(older, [RecordingToolset(TOOLS)]).run("The weather, please.")).text == "Closed."
    assert "defer_loading" not in str([asked.json for asked in server.requests])
    lists = [[tool["name"] for tool in asked.json["tools"]] for asked in server.requests]  # type: ignore[index,call-overload,union-attr]
    assert lists[1][: len(lists[0])] == lists[0]
    assert len(lists[1]) > len(lists[0])
    with ChatServer(anthropic) as server:
        older = open_model("anthropic:claude-3-5-haiku-latest", key="k", base_url=server.url)
        native = ModelSettings(tool_search="native")
        assert (await Agent(older, [RecordingToolset(TOOLS)], settings=native).run("The weather?")).text == "Closed."


async def test_a_tool_whose_search_is_no_more_part_of_the_conversation_is_told_in_the_list() -> None:
    """In the next run of a conversation the search was part of another run; what was called is shown from the start."""
    with ChatServer(anthropic) as server:
        model, journal = open_model(MODELS["anthropic"][0], key="k", base_url=server.url), MemoryJournal()
        for question in ("The weather?", "And now?"):
            agent = Agent(model, [RecordingToolset(TOOLS)], journal=journal)
            assert (await agent.run(question, conversation="c")).text == "Closed."
    last = server.requests[-1].json
    assert "tool_reference" not in str(last["messages"])
    assert "defer_loading" not in str(last["tools"])


async def test_a_native_search_that_the_api_has_no_field_for_is_said_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with ChatServer(["Hello."]) as server:
        model = open_model("openai:gpt-5.4", key="k", base_url=server.url)
        await Agent(model, settings=ModelSettings(tool_search="native")).run("Hi")
    assert "not sent, since the API has no field for it: tool_search" in caplog.text
