"""Models without native calling call tools all the same, and a call in the wrong place is found."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec import structs

from actum.core.call import MediaPart, TextPart, ToolCall, ToolResult
from actum.core.errors import ModelRejected
from actum.core.event import CallSaid, Delta, ReasoningDelta, TextDelta, ThoughtEnded
from actum.core.message import Message, ReasoningPart, RefusalPart, Reply, ToolMessage, Transcript, Usage, UserMessage
from actum.core.model import Model, Request
from actum.core.tool import Tool
from actum.dialects.base import TextDialect
from actum.dialects.catalog import text_dialect
from actum.models.endpoint import Endpoint
from actum.models.prompted import Auto, Prompted, Recognising
from actum.testing import ScriptedModel
from tests.chat_server import ChatServer

WEATHER = Tool(
    name="get_weather",
    description="The weather in a city.",
    parameters={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
QUESTION = UserMessage.of("How is the weather in Oslo?")
ASKED = Request(messages=[QUESTION], tools=(WEATHER,))
TEXT: dict[str, TextDialect] = {"prompt_json": text_dialect("prompt_json"), "react": text_dialect("react")}
SAID = {
    "prompt_json": 'I look. {"tool": "get_weather", "params": {"city": "Oslo"}}',
    "react": 'Thought: I look.\nAction: get_weather\nAction Input: {"city": "Oslo"}\n',
}


def _bytes_of(request: Request) -> list[bytes]:
    """The media that a request shows."""
    said = [message for message in request.messages if isinstance(message, UserMessage)]
    return [part.data for message in said for part in message.content if isinstance(part, MediaPart)]


class Chatty:
    """A model that says a reply in these pieces of text, and whatever else it is given."""

    name = "chatty"

    def __init__(self, reply: Reply, deltas: list[Delta]) -> None:
        self._reply = reply
        self._deltas = deltas

    async def reply(self, request: Request, emit: Callable[[Delta], None] | None = None) -> Reply:
        if emit is not None:
            for delta in self._deltas:
                emit(delta)
        return self._reply


BEAM = (
    "<|start|>assistant to=get_weather<|channel|>analysis <|constrain|>xml<|message|>"
    '<rfl:parameter name="city">\nOslo\n</rfl:parameter>'
)


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(("reason", "complete"), [("stop", True), ("", True), ("length", False), ("max_tokens", False)])
async def test_a_call_without_its_last_mark_is_whole_unless_the_endpoint_says_that_it_broke_off(
    reason: str, complete: bool, streamed: bool
) -> None:
    inner = Chatty(structs.replace(Reply.of(BEAM), finish_reason=reason), [TextDelta(text) for text in BEAM])
    told: list[Delta] = []
    reply = await Prompted(inner, text_dialect("beam")).reply(ASKED, told.append if streamed else None)
    (call,) = reply.calls
    assert (call.name, call.complete) == ("get_weather", complete)
    assert call.arguments == ({"city": "Oslo"} if complete else {})
    assert [delta.call for delta in told if isinstance(delta, CallSaid)] == ([call] if streamed else [])


@pytest.mark.row("S8")
@pytest.mark.parametrize("name", SAID)
async def test_a_model_that_only_writes_calls_a_tool(name: str) -> None:
    inner = ScriptedModel([SAID[name]], name="writer")
    model: Model = Prompted(inner, TEXT[name])
    reply = await model.reply(ASKED)
    assert [(call.name, call.arguments) for call in reply.calls] == [("get_weather", {"city": "Oslo"})]
    (asked,) = inner.requests
    assert asked.tools == ()
    assert "get_weather" in str(asked.messages)
    assert model.name == "writer"
    assert repr(model).startswith("Prompted(")


CALL = '{"tool": "get_weather", "params": {"city": "Oslo"}}'
THINKING = text_dialect("prompt_json", thinking=True)


async def answered(text: str, found: TextDialect, *, reasoning: str = "", finish: str = "stop") -> tuple[Reply, str]:
    """What a model answers, the same heard as not heard, and the text that whoever listens was told of last."""
    inner = structs.replace(Reply.of(text, reasoning=reasoning), finish_reason=finish)
    thought: list[Delta] = [ReasoningDelta(reasoning)] if reasoning else []
    heard: list[Delta] = []
    deltas = [*thought, *[TextDelta(char) for char in text]]
    reply = await Prompted(Chatty(inner, deltas), found).reply(ASKED, heard.append)
    assert await Prompted(Chatty(inner, deltas), found).reply(ASKED) == reply
    ends = [place for place, delta in enumerate(heard) if isinstance(delta, ThoughtEnded)]
    told = heard[ends[-1] :] if ends else heard
    return reply, "".join([delta.text for delta in told if isinstance(delta, TextDelta)])


@pytest.mark.parametrize("name", SAID)
async def test_a_picture_of_a_tool_does_not_end_the_run_of_a_model_that_takes_none(name: str) -> None:
    picture = MediaPart("image/png", b"PNG", name="a.png", handle="att_1")
    said: list[Message] = [
        UserMessage.of("Draw"),
        Reply.of(calls=[ToolCall("1", "draw", {})]),
        ToolMessage("draw", ToolResult("1", (picture,))),
    ]
    refusal = ModelRejected("This model does not support image input", status=400)
    inner = ScriptedModel([refusal, "Answer: I drew it.", "Answer: Again."])
    model = Prompted(inner, TEXT[name])
    for answer in ("I drew it.", "Again."):
        assert answer in (await model.reply(Request(messages=said))).text
    assert [picture.data in _bytes_of(asked) for asked in inner.requests] == [True, False, False]
    assert "att_1" in repr(inner.requests[2].messages), "the model can still hand it to another tool"
    mine = Request(messages=[UserMessage((TextPart("Look"), picture))])
    with pytest.raises(ModelRejected):
        await Prompted(ScriptedModel([refusal]), TEXT[name]).reply(mine)


async def test_a_thought_without_its_opening_mark_is_no_answer() -> None:
    reply, told = await answered(f"Maybe {CALL}? No.</think>Hello.", TEXT["prompt_json"])
    assert (reply.text, reply.calls, told) == ("Hello.", (), "Hello.")
    assert reply.reasoning == f"Maybe {CALL}? No."


async def test_where_the_server_tells_reasoning_itself_marks_are_text() -> None:
    for found in (TEXT["prompt_json"], THINKING):
        reply, told = await answered(f"The mark </think> ends it. {CALL}", found, reasoning="Hm.")
        assert (reply.text, reply.reasoning) == ("The mark </think> ends it.", "Hm.")
        assert len(reply.calls) == 1
        assert told.strip() == reply.text


async def test_a_model_that_always_thinks_and_did_not_has_answered_all_the_same() -> None:
    reply, told = await answered("Hello.", THINKING)
    assert (reply.text, reply.reasoning, told) == ("Hello.", "", "Hello.")
    cut_short, _ = await answered("I think", THINKING, finish="length")
    assert (cut_short.text, cut_short.reasoning) == ("", "I think")
    thought, _ = await answered(f"Maybe {CALL}", THINKING)
    assert thought.calls == ()


async def test_a_call_in_a_thought_is_not_recognised() -> None:
    said = Reply.of(f"Maybe {CALL}? No.</think>Hello.")
    for found in (TEXT["prompt_json"], THINKING):
        assert await Recognising(ScriptedModel([said]), found).reply(ASKED) == said
        plain = await Recognising(ScriptedModel([Reply.of(CALL)]), found).reply(ASKED)
        assert len(plain.calls) == 1


@pytest.mark.row("S8")
@pytest.mark.parametrize("name", SAID)
async def test_a_conversation_with_tools_goes_on_in_text(name: str) -> None:
    inner = ScriptedModel([SAID[name], "Answer: It is 4 degrees." if name == "react" else "It is 4 degrees."])
    model = Prompted(inner, TEXT[name])
    transcript = Transcript([QUESTION])
    reply = await model.reply(Request(messages=transcript, tools=(WEATHER,)))
    result = ToolResult(reply.calls[0].id, (TextPart("4 °C"),))
    transcript.extend([reply, ToolMessage("get_weather", result)])
    last = await model.reply(Request(messages=transcript, tools=(WEATHER,)))
    assert (last.text, last.calls) == ("It is 4 degrees.", ())
    assert "4 °C" in str(inner.requests[1].messages)
    assert not any(isinstance(message, ToolMessage) for message in inner.requests[1].messages)


@pytest.mark.row("S8")
@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize("name", SAID)
async def test_pieces_are_told_as_the_dialect_reads_them(name: str, size: int) -> None:
    said = SAID[name]
    pieces: list[Delta] = [TextDelta(said[n : n + size]) for n in range(0, len(said), size)]
    heard: list[Delta] = []
    reply = await Prompted(Chatty(Reply.of(said), pieces), TEXT[name]).reply(ASKED, heard.append)
    assert reply == await Prompted(Chatty(Reply.of(said), []), TEXT[name]).reply(ASKED)
    assert [delta.call for delta in heard if isinstance(delta, CallSaid)] == list(reply.calls)
    assert "".join(delta.text for delta in heard if isinstance(delta, TextDelta)) == reply.text


async def test_what_the_inner_model_tells_beside_text_is_kept() -> None:
    native = ToolCall("n", "get_weather", {"city": "Rome"})
    inner = Reply(
        (ReasoningPart("hm"), TextPart(SAID["prompt_json"]), RefusalPart("Or not."), native),
        "stop",
        Usage(5, 3),
        "some-model",
        "id_1",
        {"note": "x"},
    )
    deltas: list[Delta] = [ReasoningDelta("hm"), TextDelta(SAID["prompt_json"]), TextDelta("Or not.", refusal=True)]
    heard: list[Delta] = []
    reply = await Prompted(Chatty(inner, deltas), TEXT["prompt_json"]).reply(ASKED, heard.append)
    assert (reply.finish_reason, reply.usage, reply.model, reply.id) == ("stop", Usage(5, 3), "some-model", "id_1")
    assert (reply.extras, reply.reasoning) == ({"note": "x"}, "hm")
    assert [call.arguments for call in reply.calls] == [{"city": "Oslo"}, {"city": "Rome"}]
    assert heard[0] == ReasoningDelta("hm")
    assert TextDelta("Or not.", refusal=True) in heard
    assert "Or not." in reply.text


@pytest.mark.row("S8")
@pytest.mark.row("S3")
async def test_a_native_call_that_comes_back_as_text_is_still_recognised() -> None:
    said = Reply((ReasoningPart("hm"), TextPart(SAID["prompt_json"])), "stop", Usage(5, 3))
    heard: list[Delta] = []
    model = Recognising(Chatty(said, [TextDelta(SAID["prompt_json"])]), TEXT["prompt_json"])
    reply = await model.reply(ASKED, heard.append)
    (call,) = reply.calls
    assert (call.name, call.arguments) == ("get_weather", {"city": "Oslo"})
    assert "written as text" in call.repairs
    assert (reply.reasoning, reply.text.strip(), reply.usage) == ("hm", "I look.", Usage(5, 3))
    assert heard[-1] == CallSaid(0, call)
    assert repr(model).startswith("Recognising(")


@pytest.mark.parametrize(
    ("said", "request_"),
    [
        (Reply.of("No braces."), ASKED),
        (Reply.of('{"tool": "get_news", "params": {}}'), ASKED),
        (Reply.of('{"city": "Oslo"}'), ASKED),
        (Reply.of(SAID["prompt_json"]), Request(messages=[QUESTION])),
        (Reply.of(SAID["prompt_json"]), Request(messages=[QUESTION], tools=(WEATHER,), tool_choice="none")),
        (Reply.of(SAID["prompt_json"], [ToolCall("a", "get_weather", {"city": "Rome"})]), ASKED),
    ],
)
async def test_a_reply_that_holds_no_such_call_is_left_alone(said: Reply, request_: Request) -> None:
    heard: list[Delta] = []
    assert await Recognising(Chatty(said, []), TEXT["prompt_json"]).reply(request_, heard.append) == said
    assert heard == []


@pytest.mark.row("S8")
async def test_auto_calls_by_the_api_where_that_works() -> None:
    call = ToolCall("a", "get_weather", {"city": "Oslo"}, raw='{"city":"Oslo"}')
    with ChatServer([Reply.of(calls=[call]), SAID["prompt_json"]], native=True) as server:
        model = Auto(Endpoint(server.url, "m"), TEXT["prompt_json"])
        assert model.dialect_used == ""
        assert (await model.reply(ASKED)).calls == (call,)
        assert model.dialect_used == "openai_chat"
        assert [call.repairs for call in (await model.reply(ASKED)).calls] == [("written as text",)]
    assert server.probes == 1
    assert all("tools" in request.json for request in server.requests)
    assert "openai_chat" in repr(model)


@pytest.mark.row("S8")
@pytest.mark.parametrize("name", SAID)
async def test_auto_calls_by_the_prompt_where_the_api_does_not(name: str) -> None:
    with ChatServer([SAID[name], SAID[name]], native=False) as server:
        model = Auto(Endpoint(server.url, "m"), TEXT[name])
        heard: list[Delta] = []
        for emit in (None, heard.append):
            reply = await model.reply(ASKED, emit)
            assert [(call.name, call.arguments) for call in reply.calls] == [("get_weather", {"city": "Oslo"})]
        assert model.dialect_used == name
    assert server.probes == 1
    assert not any("tools" in request.json for request in server.requests)
    assert any(isinstance(delta, CallSaid) for delta in heard)


async def test_auto_does_not_probe_for_a_question_without_tools() -> None:
    with ChatServer(["Hi."]) as server:
        model = Auto(Endpoint(server.url, "m"), TEXT["prompt_json"])
        assert (await model.reply(Request(messages=[QUESTION]))).text == "Hi."
        assert (model.dialect_used, server.probes) == ("", 0)
        assert model.name.startswith("m@127.0.0.1")
