"""A reply with nothing in it is no answer, whichever API it comes from; an endpoint that pauses is gone on with."""

from __future__ import annotations

import msgspec
import pytest
from msgspec import structs

from actum import Agent, tool
from actum.agents.conversation import said_in
from actum.core.call import ToolCall
from actum.core.json import Json, JsonObject, dumps
from actum.core.message import Reply, UserMessage
from actum.core.run.record import Ended, ModelReplied
from actum.dialects import dialect
from actum.journal.memory import MemoryJournal
from actum.journal.recording import RunState
from actum.models import open_model
from actum.testing import ScriptedModel
from tests.chat_server import ChatServer, Raw, Said


def chat(**message: Json) -> JsonObject:
    finish = message.pop("finish_reason", "stop")
    return {"choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}]}


def claude(*content: Json, stop: str = "end_turn") -> JsonObject:
    head: JsonObject = {"id": "msg_1", "type": "message", "role": "assistant", "model": "c"}
    usage: JsonObject = {"input_tokens": 1, "output_tokens": 2}
    return {**head, "content": [*content], "stop_reason": stop, "usage": usage}


def gemini(reason: str, *parts: Json, **more: Json) -> JsonObject:
    content: JsonObject = {"content": {"role": "model", "parts": [*parts]}} if parts else {}
    return {"candidates": [{**content, "finishReason": reason, "index": 0, **more}]}


MALFORMED = {"finishMessage": "Malformed function call: print(default_api.pay(euros=20))"}
RESPONSE: JsonObject = {"id": "r", "object": "response", "status": "completed", "model": "m"}
NOTHING: dict[str, tuple[str, JsonObject, str]] = {
    "chat, null": ("openai_chat", chat(content=None), ""),
    "chat, blank": ("openai_chat", chat(content=" \n"), ""),
    "chat, a thought alone": ("openai_chat", chat(content="", reasoning_content="Hm."), ""),
    "chat, no calls in the list": ("openai_chat", chat(content=None, tool_calls=[], finish_reason="tool_calls"), ""),
    "2023": ("openai_functions", chat(content=None), ""),
    "messages": ("anthropic_messages", claude(), ""),
    "messages, a thought alone": (
        "anthropic_messages",
        claude({"type": "thinking", "thinking": "Hm.", "signature": "s"}),
        "",
    ),
    "messages, a pause without anything": ("anthropic_messages", claude(stop="pause_turn"), "pause_turn"),
    "gemini": ("gemini_content", gemini("STOP"), ""),
    "gemini, malformed": ("gemini_content", gemini("MALFORMED_FUNCTION_CALL", **MALFORMED), "MALFORMED_FUNCTION_CALL"),
    "gemini, malformed after words": (
        "gemini_content",
        gemini("MALFORMED_FUNCTION_CALL", {"text": "I'll pay."}, **MALFORMED),
        "MALFORMED_FUNCTION_CALL",
    ),
    "gemini, not asked for": ("gemini_content", gemini("UNEXPECTED_TOOL_CALL"), "UNEXPECTED_TOOL_CALL"),
    "responses": ("openai_responses", {**RESPONSE, "output": []}, ""),
    "responses, a thought alone": (
        "openai_responses",
        {**RESPONSE, "output": [{"type": "reasoning", "id": "rs_1", "summary": []}]},
        "",
    ),
    "completions": ("openai_completions", {"choices": [{"index": 0, "text": "", "finish_reason": "stop"}]}, ""),
    "generate": ("ollama_generate", {"model": "m", "response": "", "done": True, "done_reason": "stop"}, ""),
}
PAY = ToolCall("c1", "pay", {"euros": 20})


def read(case: str) -> Reply:
    api, wire, _ = NOTHING[case]
    return dialect(api).decode(dumps(wire))


@pytest.mark.parametrize("case", NOTHING)
async def test_a_model_that_says_nothing_is_asked_once_more_and_then_the_run_is_stopped(case: str) -> None:
    empty, word = read(case), NOTHING[case][2]
    paid: list[int] = []

    @tool(effects={"spend"})
    def pay(euros: int) -> str:
        """Pay."""
        paid.append(euros)
        return "paid"

    scripts: list[tuple[list[Reply | ToolCall | str], str, int]] = [
        ([empty, "Paid."], "done", 2),
        ([empty, empty], "stopped", 2),
        ([PAY, empty, "Paid."], "done", 3),
        ([PAY, empty, empty], "stopped", 3),
        ([PAY, empty, PAY], "stopped", 3),  # it was given no tools, and calls one
        ([empty, PAY, "Paid."], "done", 3),
    ]
    for script, status, asked in scripts:
        paid.clear()
        model = ScriptedModel(script)
        result = await Agent(model, [pay]).run("Pay 20 euros")
        assert (result.status, len(model.requests)) == (status, asked)
        assert result.stop_reason == ("no_reply" if status == "stopped" else "")
        assert result.text == "Paid." or "no answer" in result.text
        assert status == "done" or script[-1] == PAY or word in result.text
        assert len(paid) == (PAY in script)
        carried_out = script[0] == PAY
        assert [bool(request.tools) for request in model.requests] == [True, True, not carried_out][:asked]
        assert all(empty not in request.messages for request in model.requests)


async def test_a_turn_that_had_no_reply_and_one_that_had_it_late_leave_no_empty_message_behind() -> None:
    model = ScriptedModel([Reply(), "Hi.", Reply(), Reply(), "Here."])
    agent = Agent(model)
    for question in ("a", "b", "c"):
        await agent.run(question, conversation="talk")
    assert [message.text for message in model.requests[-1].messages if isinstance(message, UserMessage | Reply)] == [
        *("a", "Hi.", "b"),
        "I stopped: the model gave no answer, and none when it was asked again.",
        "c",
    ]


async def test_a_run_that_an_earlier_version_took_for_done_stays_done_and_its_conversation_as_it_was() -> None:
    journal = MemoryJournal()
    model = ScriptedModel(["Hi.", "again"])
    agent = Agent(model, journal=journal)
    result = await agent.run("a")
    (number,) = [entry.number for entry in await journal.read(result.run_id) if isinstance(entry.record, ModelReplied)]
    old = MemoryJournal()
    for entry in await journal.read(result.run_id):
        record = entry.record
        if isinstance(record, ModelReplied):
            record = structs.replace(record, reply=Reply())
        old.append(result.run_id, Ended("done") if isinstance(record, Ended) else record)
    assert number
    resumed = await Agent(model, journal=old).resume(result.run_id)
    assert (resumed.status, resumed.text, resumed.output, len(model.requests)) == ("done", "", "", 1)
    assert said_in(RunState(await old.read(result.run_id)))[-1] == Reply()


SEARCH: tuple[JsonObject, ...] = (
    {"type": "text", "text": "I'll look. "},
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "weather"}},
)
FOUND: tuple[JsonObject, ...] = (
    {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
    {"type": "text", "text": "It is sunny."},
)


@pytest.mark.parametrize("word", ["pause_turn", "compaction"])
async def test_a_pause_is_gone_on_with_by_what_was_said_as_it_came(word: str) -> None:
    def api(asked: JsonObject) -> Said:
        messages = msgspec.convert(asked["messages"], list[dict[str, object]])
        match messages[1:]:
            case []:
                return raw(claude(*SEARCH, stop=word))
            case [{"role": "assistant", "content": said}] if said == [*SEARCH]:
                return raw(claude(*FOUND))
            case other:
                return Raw((dumps({"type": "error", "error": {"message": f"refused: {other}"}}).encode(),), status=400)

    with ChatServer(api) as server:
        model = open_model(f"{server.url}#m", dialect="anthropic_messages")
        result = await Agent(model).run("Weather?")
    assert (result.status, result.text, result.steps) == ("done", "I'll look. It is sunny.", 2)


def raw(wire: JsonObject) -> Raw:
    return Raw((dumps(wire).encode(),))
