"""The Anthropic Messages API, read and written. How it is reached is in `test_catalog` of the models."""

from __future__ import annotations

import contextlib
from pathlib import Path

import msgspec
import pytest
from anthropic import AsyncAnthropic
from anthropic.types import Message as SdkMessage
from anthropic.types.message_create_params import MessageCreateParamsBase
from hypothesis import given
from hypothesis import strategies as st

from actum.core.call import Failure, MediaPart, TextPart, ToolCall, ToolResult
from actum.core.errors import ModelError, ModelUnavailable, UsageError
from actum.core.event import CallDelta, CallSaid, Delta, ReasoningDelta, TextDelta
from actum.core.json import Json, JsonObject
from actum.core.message import (
    Message,
    ReasoningPart,
    RefusalPart,
    Reply,
    ReplyPart,
    SystemMessage,
    ToolMessage,
    Transcript,
    Usage,
    UserMessage,
)
from actum.core.model import Request
from actum.core.tool import AllowedTools, NamedTool, Tool, ToolChoice
from actum.dialects.api.anthropic.dialect import ANTHROPIC_MESSAGES, AnthropicMessages
from tests.chat_server import ChatServer
from tests.dialects import api_corpus
from tests.dialects.api_corpus import paths_of

CASES = paths_of("anthropic_messages")
WEATHER = Tool(
    name="get_weather",
    description="The weather in a city.",
    parameters={"type": "object", "properties": {"city": {"type": "string", "minLength": 1}}, "required": ["city"]},
)
NEWS = Tool(name="get_news", description="The news.")
QUESTION = UserMessage.of("How is the weather in 北京?")
BEIJING = ToolCall("toolu_1", "get_weather", {"city": "北京"}, raw='{"city": "北京"}')


# Reading an answer.


def test_a_call_is_told_at_the_end_of_its_block() -> None:
    (path,) = paths_of("anthropic_messages", "stream_text_then_call")
    decoder = ANTHROPIC_MESSAGES.decoder()
    for event in path.read_bytes().split(b"\n\n"):
        told = decoder.feed(event + b"\n\n")
        assert any(isinstance(delta, CallSaid) for delta in told) == (b'"content_block_stop","index":1' in event)


def test_an_error_in_the_stream_is_raised_as_it_comes() -> None:
    decoder = ANTHROPIC_MESSAGES.decoder()
    begin = 'data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a"}}\n\n'
    assert decoder.feed(begin) == [TextDelta("a")]
    with pytest.raises(ModelUnavailable, match="Overloaded"):
        decoder.feed(
            'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n'
        )


FIELDS = (
    *("type", "index", "delta", "content_block", "message", "usage", "error", "content", "id", "name", "input"),
    *("text", "thinking", "signature", "data", "partial_json", "citation", "stop_reason", "stop_details"),
)


@given(api_corpus.any_json(FIELDS))
def test_an_answer_of_any_shape_reads_or_is_a_model_error(value: Json) -> None:
    begin = {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "input": value}}
    more = {"type": "content_block_delta", "index": 0, "delta": value}
    wires = [
        msgspec.json.encode(value),
        msgspec.json.encode({"type": "message", "content": value}),
        *[
            b"data: %s\n\n" % msgspec.json.encode(event)
            for event in (value, begin, {"type": "message_delta", "delta": value})
        ],
        b"data: %s\n\ndata: %s\n\n" % (msgspec.json.encode(begin), msgspec.json.encode(more)),
    ]
    for wire in wires:
        with contextlib.suppress(ModelError):
            ANTHROPIC_MESSAGES.decode(wire)


# Writing a request.


def body(request: Request, dialect: AnthropicMessages = ANTHROPIC_MESSAGES) -> JsonObject:
    return msgspec.json.decode(dialect.encode_request(request), type=JsonObject)


def objects(value: Json) -> list[JsonObject]:
    return msgspec.convert(value, list[JsonObject])


def messages_of(request: Request, dialect: AnthropicMessages = ANTHROPIC_MESSAGES) -> list[JsonObject]:
    return objects(body(request, dialect)["messages"])


def blocks_of(message: JsonObject) -> list[JsonObject]:
    return objects(message["content"])


@pytest.mark.row("S5")
def test_a_call_and_its_answer_go_out_byte_by_byte_as_the_api_shows_them() -> None:
    answer = ToolMessage("get_weather", ToolResult("toolu_1", structured={"temperature": 24}))
    messages: list[Message] = [SystemMessage("Be brief."), QUESTION, Reply((BEIJING,)), answer]
    request = Request(messages=messages, tools=(WEATHER,), model="claude-opus-5-5", max_tokens=100)
    assert ANTHROPIC_MESSAGES.encode_request(request).decode() == (
        '{"model":"claude-opus-5-5","max_tokens":100,"system":"Be brief.","messages":['
        '{"role":"user","content":[{"type":"text","text":"How is the weather in 北京?"}]},'
        '{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"get_weather",'
        '"input":{"city": "北京"}}]},'
        '{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"{\\"temperature\\":24}"}]}],'
        '"tools":[{"name":"get_weather","description":"The weather in a city.",'
        '"input_schema":{"type":"object","properties":{"city":{"type":"string","minLength":1}},"required":["city"]}}]}'
    )


@pytest.mark.parametrize(
    ("choice", "parallel", "written", "tools"),
    [
        ("auto", None, None, 2),
        ("auto", False, {"type": "auto", "disable_parallel_tool_use": True}, 2),
        ("none", False, {"type": "none"}, 2),
        ("required", True, {"type": "any", "disable_parallel_tool_use": False}, 2),
        (NamedTool("get_news"), None, {"type": "tool", "name": "get_news"}, 2),
        (AllowedTools(("get_news",)), None, None, 1),
        (AllowedTools(("get_news",), "required"), None, {"type": "any"}, 1),
        (AllowedTools(()), None, {"type": "none"}, 2),
    ],
)
def test_each_tool_choice_comes_as_near_as_the_api_allows(
    choice: ToolChoice, parallel: bool | None, written: Json, tools: int
) -> None:
    asked = body(Request(messages=[QUESTION], tools=(WEATHER, NEWS), tool_choice=choice, parallel_calls=parallel))
    assert asked.get("tool_choice") == written
    assert len(objects(asked["tools"])) == tools


def test_options_are_written_and_extras_stand_as_they_are() -> None:
    request = Request(
        messages=[QUESTION],
        tools=(NEWS,),
        stop=("END", "\n\n"),
        output_schema={"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}},
        temperature=0.0,
        stream=True,
        model="m",
        extras={"top_k": 3, "output_config": {"effort": "low"}, "tools": [{"type": "bash_20250124", "name": "bash"}]},
    )
    asked = body(request)
    del asked["messages"]
    narrowed = {
        "type": "object",
        "properties": {"n": {"type": "integer", "description": "(minimum: 1)"}},
        "additionalProperties": False,
    }
    assert asked == {
        "model": "m",
        "max_tokens": 8192,
        "tools": [
            {"name": "get_news", "description": "The news.", "input_schema": {"type": "object", "properties": {}}},
            {"type": "bash_20250124", "name": "bash"},
        ],
        "temperature": 0.0,
        "stop_sequences": ["END"],
        "output_config": {"format": {"type": "json_schema", "schema": narrowed}, "effort": "low"},
        "top_k": 3,
        "stream": True,
    }


def test_strict_tools_say_so_with_a_schema_that_can_be_held() -> None:
    (tool,) = objects(body(Request(messages=[QUESTION], tools=(WEATHER,)), AnthropicMessages(strict=True))["tools"])
    assert tool["strict"] is True
    assert tool["input_schema"] == {
        "type": "object",
        "properties": {"city": {"type": "string", "description": "(minLength: 1)"}},
        "required": ["city"],
        "additionalProperties": False,
    }


def test_answers_come_first_in_the_one_message_after_the_calls() -> None:
    calls = (BEIJING, ToolCall("toolu_2", "get_news", {}), ToolCall("toolu_3", "get_news", {}))
    failed = ToolResult("toolu_2", error=Failure("unavailable", "The service does not answer."))
    messages: list[Message] = [
        QUESTION,
        Reply((TextPart("I look."), *calls)),
        ToolMessage("get_news", failed),
        ToolMessage("get_weather", ToolResult("toolu_1", (TextPart("24 °C"),))),
        UserMessage.of("And tomorrow?"),
        UserMessage.of("Please."),
    ]
    written = messages_of(Request(messages=messages))
    assert [message["role"] for message in written] == ["user", "assistant", "user"]
    assert blocks_of(written[2]) == [
        {
            "type": "tool_result",
            "tool_use_id": "toolu_2",
            "content": "The service does not answer.",
            "is_error": True,
        },
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": "24 °C"},
        {
            "type": "tool_result",
            "tool_use_id": "toolu_3",
            "content": "There is no result of this call.",
            "is_error": True,
        },
        {"type": "text", "text": "And tomorrow?"},
        {"type": "text", "text": "Please."},
    ]


def test_an_answer_to_no_call_is_written_as_text() -> None:
    stray = ToolMessage("get_news", ToolResult("gone", (TextPart("Nothing new."),)))
    (written,) = messages_of(Request(messages=[QUESTION, stray]))
    assert blocks_of(written)[1] == {"type": "text", "text": "[result of get_news] Nothing new."}


def test_instructions_stand_in_front_and_later_ones_where_they_were_said() -> None:
    messages: list[Message] = [
        SystemMessage("One."),
        SystemMessage("Two."),
        QUESTION,
        SystemMessage("Three."),
        Reply.of("Yes."),
    ]
    asked = body(Request(messages=messages))
    assert asked["system"] == [{"type": "text", "text": "One."}, {"type": "text", "text": "Two."}]
    assert [block["text"] for block in blocks_of(objects(asked["messages"])[0])] == [QUESTION.text, "Three."]
    newer = messages_of(Request(messages=messages), AnthropicMessages(system_in_place=True))
    assert [message["role"] for message in newer] == ["user", "system", "assistant"]


def test_media_are_written_with_their_handles_also_in_answers() -> None:
    parts = (
        TextPart("Look:"),
        MediaPart("image/png", b"\x89PNG", handle="att_1"),
        MediaPart("image/jpeg", url="https://example.org/a.jpg"),
        MediaPart("application/pdf", b"%PDF", name="a.pdf"),
        MediaPart("application/pdf", url="https://example.org/a.pdf"),
        MediaPart("text/csv", b"a,b", name="t.csv"),
        MediaPart("audio/mpeg", b"ID3"),
        MediaPart("image/tiff", b"II*"),
    )
    answer = ToolMessage("draw", ToolResult("a", parts[:2]))
    written = messages_of(Request(messages=[UserMessage(parts), Reply((ToolCall("a", "draw", {}),)), answer]))
    png = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}}
    looked = [{"type": "text", "text": "Look:"}, {"type": "text", "text": "[att_1: image/png, 4 bytes]"}, png]
    csv = {"type": "text", "media_type": "text/plain", "data": "a,b"}
    assert blocks_of(written[0]) == [
        *looked,
        {"type": "image", "source": {"type": "url", "url": "https://example.org/a.jpg"}},
        {
            "type": "document",
            "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="},
            "title": "a.pdf",
        },
        {"type": "document", "source": {"type": "url", "url": "https://example.org/a.pdf"}},
        {"type": "document", "source": csv, "title": "t.csv"},
        {"type": "text", "text": "[attachment: audio/mpeg, 3 bytes]"},
        {"type": "text", "text": "[attachment: image/tiff, 3 bytes]"},
    ]
    assert blocks_of(written[2]) == [{"type": "tool_result", "tool_use_id": "a", "content": looked}]


def test_what_a_model_said_goes_back_as_it_came() -> None:
    whole = [
        path
        for path in paths_of("anthropic_messages", "whole")
        if path.stem in ("whole_thinking", "whole_parallel_calls")
    ]
    for path in [*whole, *paths_of("anthropic_messages", "whole_unknown_fields")]:
        wire = path.read_bytes()
        content = [block for block in objects(msgspec.json.decode(wire)["content"]) if block.get("text") != ""]
        written = messages_of(Request(messages=[QUESTION, ANTHROPIC_MESSAGES.decode(wire)]))
        assert blocks_of(written[1]) == content


def test_a_thought_without_signature_and_blank_text_stay_away() -> None:
    said = Reply((ReasoningPart("hm"), TextPart(" \n"), RefusalPart("No."), MediaPart("image/png", b"1")))
    written = messages_of(Request(messages=[QUESTION, said, Reply((TextPart(""),))]))
    assert [block["text"] for block in blocks_of(written[1])] == ["No.", "[attachment: image/png, 1 bytes]"]
    assert len(written) == 2


def test_ids_and_names_are_put_in_the_form_that_the_api_takes_and_come_back() -> None:
    search = Tool(name="crm.查客户")
    call = ToolCall("functions.get:0", search.name, {})
    messages: list[Message] = [QUESTION]
    for _ in range(2):
        messages += [Reply((call,)), ToolMessage(search.name, ToolResult(call.id, structured=1))]
    asked = body(Request(messages=messages, tools=(search,), tool_choice=NamedTool(search.name)))
    blocks = [block for message in objects(asked["messages"]) for block in blocks_of(message)]
    assert [block["id"] for block in blocks if "id" in block] == ["functions_get_0", "functions_get_0_2"]
    assert [block["tool_use_id"] for block in blocks if "tool_use_id" in block] == [
        "functions_get_0",
        "functions_get_0_2",
    ]
    (name,) = {block["name"] for block in [*blocks, *objects(asked["tools"])] if "name" in block}
    assert asked["tool_choice"] == {"type": "tool", "name": name}
    wire = msgspec.json.encode(
        {"type": "message", "content": [{"type": "tool_use", "id": "a", "name": name, "input": {}}]}
    )
    assert ANTHROPIC_MESSAGES.decode(wire, tools=(search,)).calls[0].name == search.name


def test_arguments_go_back_as_an_object_even_where_the_model_wrote_none() -> None:
    broken = ToolCall("a", "add", {}, raw='{"a": ', complete=False, repairs=("broke off",))
    mended = ToolCall("a", "add", {"a": 1}, raw="{'a': 1}", repairs=("single quotes",))
    wrong = ToolCall("a", "add", {"a": 1}, raw="a=1")
    for call, written in (
        (broken, b'{"INVALID_JSON":"{\\"a\\": "}'),
        (mended, b'{"a":1}'),
        (wrong, b'{"a":1}'),
        (BEIJING, BEIJING.raw.encode()),
    ):
        assert b'"input":%s}' % written in ANTHROPIC_MESSAGES.encode_request(Request(messages=[Reply((call,))]))


def test_a_transcript_is_written_like_a_list_however_it_grew() -> None:
    turn: list[Message] = [Reply((BEIJING, BEIJING)), *[ToolMessage("get_weather", ToolResult("toolu_1"))] * 2]
    messages: list[Message] = [SystemMessage("Hi."), QUESTION, *turn, *turn, QUESTION, QUESTION, Reply.of("Done.")]
    transcript = Transcript()
    for count, message in enumerate(messages, 1):
        transcript.append(message)
        grown = ANTHROPIC_MESSAGES.encode_request(Request(messages=transcript))
        assert grown == ANTHROPIC_MESSAGES.encode_request(Request(messages=messages[:count]))


# Reading a request.


def decoded(**fields: Json) -> Request:
    return ANTHROPIC_MESSAGES.decode_request(msgspec.json.encode({"model": "m", "messages": [], **fields}))


TOOLS_WIRE: list[Json] = [
    {"name": "get_weather", "input_schema": {"type": "object"}},
    {"type": "custom", "name": "get_news", "input_schema": {"type": "object"}},
    {"type": "web_search_20250305", "name": "web_search"},
]


@pytest.mark.parametrize(
    ("written", "choice", "parallel"),
    [
        (None, "auto", None),
        ({"type": "auto"}, "auto", None),
        ({"type": "any", "disable_parallel_tool_use": True}, "required", False),
        ({"type": "none"}, "none", None),
        ({"type": "tool", "name": "get_news"}, NamedTool("get_news"), None),
        ({"type": "tool", "name": "web_search"}, NamedTool("web_search"), None),
    ],
)
def test_every_form_of_tool_choice_is_read(written: Json, choice: ToolChoice, parallel: bool | None) -> None:
    request = decoded(tools=TOOLS_WIRE, tool_choice=written)
    assert (request.tool_choice, request.parallel_calls) == (choice, parallel)
    assert [tool.name for tool in request.tools] == ["get_weather", "get_news"]
    assert request.extras == {"tools": [TOOLS_WIRE[2]]}


def test_a_request_comes_back_as_it_was_written() -> None:
    content = (
        TextPart("a"),
        MediaPart("image/png", b"1"),
        MediaPart("application/pdf", b"3", name="a.pdf"),
        MediaPart("text/plain", b"x", name="t"),
    )
    call = msgspec.structs.replace(BEIJING, raw='{"city":"北京"}')
    request = Request(
        messages=[
            SystemMessage("Be brief."),
            UserMessage(content),
            Reply(
                (
                    ReasoningPart("hm", "sig", by="anthropic"),
                    ReasoningPart("", "red", True, "anthropic"),
                    TextPart("Well."),
                    call,
                )
            ),
            ToolMessage("get_weather", ToolResult("toolu_1", (TextPart("4"), MediaPart("image/png", b"2")))),
            Reply.of("Cold."),
            UserMessage.of("Thanks"),
        ],
        tools=(WEATHER, NEWS),
        tool_choice=NamedTool("get_news"),
        parallel_calls=True,
        stop=("a", "b"),
        output_schema={"type": "object", "properties": {}, "additionalProperties": False},
        max_tokens=5,
        temperature=0.5,
        model="m",
        stream=True,
        extras={"thinking": {"type": "enabled", "budget_tokens": 1024}, "output_config": {"effort": "low"}},
    )
    assert ANTHROPIC_MESSAGES.decode_request(ANTHROPIC_MESSAGES.encode_request(request)) == request


def test_answers_errors_and_other_blocks_of_a_message_are_read_in_order() -> None:
    used: Json = [
        {"type": "tool_use", "id": "a", "name": "f", "input": {}},
        {"type": "tool_use", "id": "b", "name": "g", "input": {}},
    ]
    said: Json = [
        {"type": "tool_result", "tool_use_id": "b", "content": [{"type": "text", "text": "no"}], "is_error": True},
        {"type": "tool_result", "tool_use_id": "a"},
        {"type": "text", "text": "Go on."},
        {"type": "document", "source": {"type": "content", "content": "x"}, "title": "T"},
        {"type": "search_result", "title": "S", "source": "u", "content": [{"type": "text", "text": "y"}]},
    ]
    messages = decoded(messages=[{"role": "assistant", "content": used}, {"role": "user", "content": said}]).messages
    assert messages[1:] == [
        ToolMessage("g", ToolResult("b", error=Failure("tool_error", "no"))),
        ToolMessage("f", ToolResult("a")),
        UserMessage((TextPart("Go on."), TextPart("T"), TextPart("x"), TextPart("S u"), TextPart("y"))),
    ]


def test_a_mark_for_the_cache_is_kept_on_the_request() -> None:
    mark: JsonObject = {"type": "ephemeral", "ttl": "1h"}
    system: Json = [{"type": "text", "text": "a", "cache_control": mark}]
    assert decoded(system=system).extras == {"cache_control": mark}
    marked: Json = [{"role": "user", "content": [{"type": "text", "text": "a", "cache_control": mark}]}]
    assert decoded(messages=marked).extras == {"cache_control": mark}
    assert decoded(messages=marked, cache_control={"type": "ephemeral"}).extras == {
        "cache_control": {"type": "ephemeral"}
    }


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"messages": None}, "messages: array was expected, null came"),
        ({"messages": [1]}, "messages[0]: object was expected, integer came"),
        ({"messages": [{"role": "robot", "content": "a"}]}, "messages[0].role"),
        ({"messages": [{"role": "user"}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": [{"type": "film"}]}]}, "messages[0].content[0]"),
        ({"messages": [{"role": "user", "content": [{"type": "tool_result"}]}]}, "messages[0].content[0].tool_use_id"),
        ({"messages": [{"role": "assistant", "content": [1]}]}, "messages[0].content[0]"),
        (
            {
                "messages": [
                    {"role": "user", "content": [{"type": "image", "source": {"type": "file", "file_id": "f"}}]}
                ]
            },
            "messages[0].content[0].source",
        ),
        (
            {"messages": [{"role": "user", "content": [{"type": "image", "source": {"type": "base64", "data": "?"}}]}]},
            "messages[0].content[0].source.data",
        ),
        ({"system": [{"type": "image"}]}, "system[0]"),
        ({"tools": [{"name": "a b", "input_schema": {}}]}, "tools[0]"),
        ({"tools": [{"name": "a", "input_schema": 5}]}, "tools[0].input_schema"),
        ({"tool_choice": {"type": "maybe"}}, "tool_choice"),
        ({"max_tokens": "5"}, "max_tokens: integer was expected"),
        ({"stop_sequences": [1]}, "stop_sequences: string was expected"),
    ],
)
def test_a_wrong_request_is_told_the_place(fields: JsonObject, place: str) -> None:
    with pytest.raises(UsageError) as raised:
        decoded(**fields)
    assert place in str(raised.value)


@given(api_corpus.any_json((*FIELDS, "role", "source", "tool_use_id", "cache_control", "format", "schema")))
def test_a_request_of_any_shape_reads_or_is_a_usage_error(value: Json) -> None:
    for wire in (
        value,
        {"messages": value},
        {"messages": [{"role": "user", "content": value}]},
        {"messages": [{"role": "assistant", "content": value}], "system": value},
        {"messages": [], "tools": [value], "tool_choice": value, "output_config": value},
    ):
        with contextlib.suppress(UsageError):
            ANTHROPIC_MESSAGES.decode_request(msgspec.json.encode(wire))


# Writing an answer.


@st.composite
def replies(draw: st.DrawFn) -> Reply:
    """Replies in any order of parts; what is refused comes last, as this API tells it."""
    thought = st.builds(ReasoningPart, api_corpus.text, api_corpus.text, by=st.just("anthropic"))
    redacted = st.builds(ReasoningPart, st.just(""), api_corpus.text, st.just(True), st.just("anthropic"))
    said: list[ReplyPart] = draw(st.lists(thought | redacted | st.builds(TextPart, api_corpus.text), max_size=4))
    calls = draw(api_corpus.calls)
    parts: list[ReplyPart] = draw(st.permutations([*said, *calls]))
    order = iter(calls)
    parts = [next(order) if isinstance(part, ToolCall) else part for part in parts]
    refusal: list[ReplyPart] = draw(st.lists(st.builds(RefusalPart, api_corpus.text), max_size=1))
    reason = "refusal" if refusal else "tool_use" if calls else "end_turn"
    cached, written, rest, out = draw(st.tuples(*[st.integers(0, 9)] * 4))
    extras: JsonObject = draw(st.sampled_from([{}, {"container": {"id": "c"}}]))
    usage = Usage(cached + written + rest, out, cached, draw(st.integers(0, out)), cache_written_tokens=written)
    return Reply((*parts, *refusal), reason, usage, "m", "id", extras)


@given(replies())
def test_what_is_written_is_read_whole_and_streamed(reply: Reply) -> None:
    assert ANTHROPIC_MESSAGES.decode(ANTHROPIC_MESSAGES.encode_reply(reply)) == reply
    assert ANTHROPIC_MESSAGES.decode(ANTHROPIC_MESSAGES.encoder(id_="id", model="m").close(reply)) == reply


def without_joints(reply: Reply) -> tuple[list[ReplyPart], str, str]:
    """The parts; where texts meet is not told by deltas."""
    parts: list[ReplyPart] = [part for part in reply.content if not isinstance(part, TextPart | RefusalPart)]
    return parts, reply.text, reply.finish_reason


@given(replies())
def test_what_a_decoder_tells_can_be_streamed_on(reply: Reply) -> None:
    wire = ANTHROPIC_MESSAGES.encoder(id_="id", model="m").close(reply)
    encoder, decoder = ANTHROPIC_MESSAGES.encoder(id_="id", model="m"), ANTHROPIC_MESSAGES.decoder()
    passed = b"".join([encoder.feed(delta) for n in range(len(wire)) for delta in decoder.feed(wire[n : n + 1])])
    passed += b"".join([encoder.feed(delta) for delta in decoder.close()]) + encoder.close(decoder.reply)
    assert without_joints(ANTHROPIC_MESSAGES.decode(passed)) == without_joints(reply)


@api_corpus.cases("anthropic_messages")
def test_every_answer_of_the_corpus_can_be_told_again(path: Path) -> None:
    reply = ANTHROPIC_MESSAGES.decode(path.read_bytes())
    if all(call.complete for call in reply.calls) and reply.finish_reason:
        reply = msgspec.structs.replace(reply, content=tuple([_plain(part) for part in reply.content]))
        assert ANTHROPIC_MESSAGES.decode(ANTHROPIC_MESSAGES.encode_reply(reply)) == reply
        streamed = ANTHROPIC_MESSAGES.encoder(id_=reply.id, model=reply.model).close(reply)
        assert ANTHROPIC_MESSAGES.decode(streamed) == reply


def _plain(part: ReplyPart) -> ReplyPart:
    """A call with its arguments as they are written: those that were mended or never were text, anew. A repeat of it
    is not told again.
    """
    if not isinstance(part, ToolCall):
        return part
    part = msgspec.structs.replace(part, repeats=())
    if part.raw and not part.repairs:
        return part
    return msgspec.structs.replace(part, raw=msgspec.json.encode(part.arguments).decode(), repairs=())


def events_of(wire: bytes) -> list[JsonObject]:
    return [msgspec.json.decode(event.split(b"data: ", 1)[1], type=JsonObject) for event in wire.split(b"\n\n")[:-1]]


def test_a_stream_has_the_official_shape() -> None:
    encoder = ANTHROPIC_MESSAGES.encoder(id_="msg_1", model="m", input_tokens=3)
    deltas: list[Delta] = [
        TextDelta("I look."),
        CallDelta(0, "get_weather", id="toolu_1"),
        CallDelta(0, arguments='{"city":'),
        CallDelta(0, arguments=' "北京"}'),
        CallSaid(0, BEIJING),
    ]
    end = encoder.close
    wire = b"".join(
        [*[encoder.feed(delta) for delta in deltas], end(Reply((TextPart("I look."), BEIJING), usage=Usage(3, 2)))]
    )
    events = events_of(wire)
    assert [event["type"] for event in events] == [
        *("message_start", "content_block_start", "content_block_delta", "content_block_stop"),
        *("content_block_start", "content_block_delta", "content_block_delta", "content_block_stop"),
        *("message_delta", "message_stop"),
    ]
    assert all(b"event: %s\ndata: " % str(event["type"]).encode() in wire for event in events)
    assert [event["index"] for event in events if "index" in event] == [0, 0, 0, 1, 1, 1, 1]
    assert events[4]["content_block"] == {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {}}
    assert events[5]["delta"] == {"type": "input_json_delta", "partial_json": '{"city":'}
    nothing = {"stop_sequence": None, "stop_details": None, "container": None}
    assert events[-2]["delta"] == {"stop_reason": "tool_use", **nothing}


def test_what_is_said_beside_an_open_call_waits_for_its_end() -> None:
    encoder = ANTHROPIC_MESSAGES.encoder()
    second = ToolCall("b", "get_news", {"n": 1}, raw='{"n": 1}')
    deltas: list[Delta] = [
        CallDelta(0, "get_", id="toolu_1"),
        CallDelta(0, "weather"),
        CallDelta(0, arguments='{"city"'),
        CallDelta(1, "get_news", id="b"),
        CallDelta(1, arguments='{"n"'),
        TextDelta("Hm."),
        CallDelta(0, arguments=': "北京"}'),
        CallDelta(1, arguments=": 1}"),
        CallSaid(0, BEIJING),
        CallSaid(1, second),
        CallSaid(1, second),
    ]
    wire = b"".join([*[encoder.feed(delta) for delta in deltas], encoder.close(Reply((BEIJING, second)))])
    assert ANTHROPIC_MESSAGES.decode(wire).calls == (BEIJING, second)
    assert ANTHROPIC_MESSAGES.decode(wire).text == "Hm."


@pytest.mark.parametrize(
    ("reply", "written"),
    [
        (Reply((BEIJING,), "stop"), "tool_use"),
        (Reply((BEIJING,), "length"), "tool_use"),
        (Reply.of("a"), "end_turn"),
        (Reply((TextPart("a"),), "MAX_TOKENS"), "max_tokens"),
        (Reply((TextPart("a"),), "content_filter"), "refusal"),
        (Reply((TextPart("a"),), "pause_turn"), "pause_turn"),
        (Reply((TextPart("a"),), "tool_calls"), "end_turn"),
        (Reply((ToolCall("a", "f", {}, raw="{", complete=False),), "tool_use"), "max_tokens"),
        (Reply((TextPart("a"),), "stop_sequence", extras={"stop_sequence": "x"}), "stop_sequence"),
    ],
)
def test_the_stop_reason_is_one_that_clients_of_this_api_know(reply: Reply, written: str) -> None:
    assert msgspec.json.decode(ANTHROPIC_MESSAGES.encode_reply(reply))["stop_reason"] == written


def test_a_stream_that_ends_inside_a_call_says_that_it_is_not_whole() -> None:
    broken = ToolCall("a", "f", {}, raw='{"a": ', complete=False)
    encoder = ANTHROPIC_MESSAGES.encoder()
    wire = encoder.feed(CallDelta(0, "f", '{"a": ', "a")) + encoder.close(Reply((broken,)))
    reply = ANTHROPIC_MESSAGES.decode(wire)
    assert (reply.finish_reason, reply.calls[0].raw, reply.calls[0].complete) == ("max_tokens", '{"a": ', False)


# The official client, over a real connection, reads what we write, and we read what it asks.


async def as_the_sdk_reads(reply: Reply, *, streamed: bool) -> tuple[SdkMessage, Request]:
    asked: MessageCreateParamsBase = {
        "model": "m",
        "max_tokens": 9,
        "system": "Be brief.",
        "messages": [{"role": "user", "content": "?"}],
        "tools": [{"name": "get_weather", "input_schema": {"type": "object"}}],
        "tool_choice": {"type": "any", "disable_parallel_tool_use": True},
    }
    with ChatServer([reply]) as server:
        async with AsyncAnthropic(base_url=server.url.removesuffix("/v1"), api_key="x", max_retries=0) as client:
            if streamed:
                async with client.messages.stream(**asked) as stream:
                    message: SdkMessage = await stream.get_final_message()
            else:
                message = await client.messages.create(**asked)
    return message, ANTHROPIC_MESSAGES.decode_request(server.requests[0].body)


@pytest.mark.row("S5")
@pytest.mark.parametrize("streamed", [False, True])
async def test_the_official_client_reads_everything_as_we_write_it(streamed: bool) -> None:
    content = (ReasoningPart("Hm.", "c2ln"), ReasoningPart("", "cmVk", redacted=True), TextPart("I look."), BEIJING)
    reply = Reply((*content, ToolCall("b", "get_news", {})), usage=Usage(9, 3, 4, 1), model="m")
    message, request = await as_the_sdk_reads(reply, streamed=streamed)
    SdkMessage.model_validate(message.model_dump(exclude={"content": {"__all__": {"parsed_output"}}}), strict=True)
    assert [block.type for block in message.content] == [
        "thinking",
        "redacted_thinking",
        "text",
        "tool_use",
        "tool_use",
    ]
    assert ANTHROPIC_MESSAGES.decode(message.model_dump_json(exclude_none=True)).calls[0].arguments == {"city": "北京"}
    assert message.content[0].model_dump() == {"signature": "c2ln", "thinking": "Hm.", "type": "thinking"}
    assert message.stop_reason == "tool_use"
    assert (message.usage.input_tokens, message.usage.cache_read_input_tokens, message.usage.output_tokens) == (5, 4, 3)
    assert request == Request(
        messages=[SystemMessage("Be brief."), UserMessage.of("?")],
        tools=(Tool(name="get_weather", parameters={"type": "object"}),),
        tool_choice="required",
        parallel_calls=False,
        max_tokens=9,
        model="m",
        stream=streamed,
    )


@pytest.mark.parametrize("streamed", [False, True])
async def test_the_official_client_reads_a_refusal_as_we_write_it(streamed: bool) -> None:
    message, _ = await as_the_sdk_reads(Reply((RefusalPart("I won't."),)), streamed=streamed)
    assert message.stop_reason == "refusal"
    assert message.stop_details is not None
    assert message.stop_details.explanation == "I won't."


def test_a_thought_is_streamed_with_its_signature_at_its_end() -> None:
    encoder = ANTHROPIC_MESSAGES.encoder()
    wire = (
        encoder.feed(ReasoningDelta("a")) + encoder.feed(ReasoningDelta("b", "s")) + encoder.feed(ReasoningDelta("c"))
    )
    reply = ANTHROPIC_MESSAGES.decode(wire + encoder.close(Reply()))
    assert reply.content == (ReasoningPart("ab", "s", by="anthropic"), ReasoningPart("c"))
