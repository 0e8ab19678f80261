"""The Chat Completions API, read and written, in both its forms. What goes over a connection is in `test_endpoint`."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai import AsyncOpenAI, AsyncStream
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from actum.core.call import Failure, MediaPart, TextPart, ToolCall, ToolResult
from actum.core.errors import ModelError, ModelUnavailable, UsageError
from actum.core.event import CallDelta, CallSaid, Delta, TextDelta
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
from actum.dialects.api.openai_chat.dialect import OPENAI_CHAT, OPENAI_FUNCTIONS, OpenAiChat
from tests.chat_server import ChatServer
from tests.dialects import api_corpus
from tests.dialects.api_corpus import cut

CORPUS = Path(__file__).parents[3] / "corpus" / "openai_chat"
CASES = sorted(path.stem for path in CORPUS.glob("*.wire"))
WEATHER = Tool(
    name="get_weather",
    description="The weather in a city.",
    parameters={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
NEWS = Tool(name="get_news", description="The news.")
QUESTION = UserMessage.of("How is the weather in 北京?")
BEIJING = ToolCall("call_abc123", "get_weather", {"city": "北京"}, raw='{"city": "北京"}')


def case(name: str) -> bytes:
    return (CORPUS / f"{name}.wire").read_bytes()


def read(chunks: Sequence[bytes | str]) -> tuple[list[Delta], Reply, bool]:
    return api_corpus.read(OPENAI_CHAT, chunks)


# Reading an answer.


@pytest.mark.parametrize("name", ["stream_crlf_bom_comments", "stream_cr", "stream_data_over_lines"])
def test_an_answer_reads_the_same_in_any_three_pieces_around_its_line_ends(name: str) -> None:
    wire = case(name)
    whole = read([wire])
    near = sorted({n + d for n, byte in enumerate(wire) if byte in b"\r\n\xef\xb1" for d in (0, 1)})
    for first in near:
        for second in near:
            assert read(cut(wire, [first, second])) == whole


@pytest.mark.row("S4")
@pytest.mark.parametrize("name", CASES)
def test_an_answer_reads_the_same_in_the_form_of_2023(name: str) -> None:
    assert OPENAI_FUNCTIONS.decode(case(name)) == OPENAI_CHAT.decode(case(name))


@pytest.mark.parametrize("name", [name for name in CASES if "cut" in name])
def test_an_answer_that_broke_off_is_known_to_have(name: str) -> None:
    _, reply, ended = read([case(name)])
    assert not ended
    assert all(call.complete == bool(call.arguments) for call in reply.calls)


def test_a_call_is_told_as_soon_as_the_next_one_begins() -> None:
    decoder = OPENAI_CHAT.decoder()
    told = [decoder.feed(event + b"\n\n") for event in case("stream_parallel_calls").split(b"\n\n")]
    first = next(number for number, deltas in enumerate(told) if any(isinstance(delta, CallSaid) for delta in deltas))
    assert b'"call_b"' in case("stream_parallel_calls").split(b"\n\n")[first]


def test_arguments_that_go_on_after_a_call_was_told_are_told_again() -> None:
    item = '{"choices":[{"delta":{"tool_calls":[{"index":%d,"id":"%s","function":{"name":"f","arguments":"%s"}}]}}]}'
    more = '{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}}]}'
    events = [item % (0, "a", "{}"), item % (1, "b", "{}"), more, "[DONE]"]
    deltas, reply, _ = read([f"data: {event}\n\n" for event in events])
    assert [delta.call.complete for delta in deltas if isinstance(delta, CallSaid)] == [True, False, True]
    assert [call.raw for call in reply.calls] == ["{}{}", "{}"]
    assert not reply.calls[0].complete


def test_an_error_in_the_stream_is_raised_as_it_comes() -> None:
    decoder = OPENAI_CHAT.decoder()
    assert decoder.feed('data: {"choices":[{"delta":{"content":"a"}}]}\n\n') == [TextDelta("a")]
    with pytest.raises(ModelUnavailable, match="Overloaded"):
        decoder.feed('data: {"error":{"message":"Overloaded"}}\n\n')


FIELDS = (
    *("choices", "delta", "message", "finish_reason", "usage", "error"),
    *("tool_calls", "function", "name", "arguments", "id", "index", "content", "type", "text"),
)
ANY_JSON = api_corpus.any_json(FIELDS)


@given(ANY_JSON)
def test_an_answer_of_any_shape_reads_or_is_a_model_error(value: Json) -> None:
    for wire in (msgspec.json.encode(value), b"data: %s\n\n" % msgspec.json.encode({"choices": [{"delta": value}]})):
        with contextlib.suppress(ModelError):
            OPENAI_CHAT.decode(wire)


# What an error means.


def test_an_endpoints_own_words_are_shortened() -> None:
    error = OPENAI_CHAT.decode_error(400, None, msgspec.json.encode({"error": {"message": "x " * 5_000}}))
    assert len(str(error)) < 400


# Writing a request.


def body(request: Request, dialect: OpenAiChat = OPENAI_CHAT) -> JsonObject:
    return msgspec.json.decode(dialect.encode_request(request), type=JsonObject)


def objects(value: Json) -> list[JsonObject]:
    return msgspec.convert(value, list[JsonObject])


def messages_of(request: Request, dialect: OpenAiChat = OPENAI_CHAT) -> list[JsonObject]:
    return objects(body(request, dialect)["messages"])


def function_of(call: JsonObject) -> JsonObject:
    return msgspec.convert(call["function"], JsonObject)


@pytest.mark.row("S3")
def test_a_call_and_its_answer_go_out_byte_by_byte_as_the_api_shows_them() -> None:
    answer = ToolMessage("get_weather", ToolResult("call_abc123", structured={"temperature": 24}))
    request = Request(messages=[QUESTION, Reply((BEIJING,)), answer], tools=(WEATHER,), model="gpt-4o")
    assert OPENAI_CHAT.encode_request(request).decode() == (
        '{"model":"gpt-4o","messages":['
        '{"role":"user","content":"How is the weather in 北京?"},'
        '{"role":"assistant","content":null,"tool_calls":[{"id":"call_abc123","type":"function",'
        '"function":{"name":"get_weather","arguments":"{\\"city\\": \\"北京\\"}"}}]},'
        '{"role":"tool","tool_call_id":"call_abc123","content":"{\\"temperature\\":24}"}],'
        '"tools":[{"type":"function","function":{"name":"get_weather","description":"The weather in a city.",'
        '"parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}]}'
    )


@pytest.mark.row("S4")
def test_the_form_of_2023_goes_out_byte_by_byte_as_the_api_showed_it() -> None:
    answer = ToolMessage("get_weather", ToolResult("call_abc123", (TextPart("24 °C"),)))
    request = Request(messages=[QUESTION, Reply((BEIJING,)), answer], tools=(WEATHER,), model="gpt-4-0613")
    assert OPENAI_FUNCTIONS.encode_request(request).decode() == (
        '{"model":"gpt-4-0613","messages":['
        '{"role":"user","content":"How is the weather in 北京?"},'
        '{"role":"assistant","content":null,"function_call":{"name":"get_weather",'
        '"arguments":"{\\"city\\": \\"北京\\"}"}},'
        '{"role":"function","name":"get_weather","content":"24 °C"}],'
        '"functions":[{"name":"get_weather","description":"The weather in a city.",'
        '"parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}]}'
    )


NAMED: JsonObject = {"type": "function", "function": {"name": "get_news"}}


@pytest.mark.row("S3")
@pytest.mark.parametrize(
    ("choice", "written"),
    [
        ("auto", None),
        ("none", "none"),
        ("required", "required"),
        (NamedTool("get_news"), NAMED),
        (
            AllowedTools(("get_news",), "required"),
            {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [NAMED]}},
        ),
    ],
)
def test_each_tool_choice_is_written_and_the_tools_stay(choice: ToolChoice, written: Json) -> None:
    asked = body(Request(messages=[QUESTION], tools=(WEATHER, NEWS), tool_choice=choice))
    assert asked.get("tool_choice") == written
    assert [function["function"] for function in objects(asked["tools"])] == [
        {"name": "get_weather", "description": WEATHER.description, "parameters": WEATHER.parameters},
        {"name": "get_news", "description": NEWS.description, "parameters": NEWS.parameters},
    ]


@pytest.mark.row("S4")
@pytest.mark.parametrize(
    ("choice", "written", "count"),
    [
        ("auto", None, 2),
        ("none", "none", 2),
        ("required", None, 2),
        (NamedTool("get_news"), {"name": "get_news"}, 2),
        (AllowedTools(("get_news",)), None, 1),
        (AllowedTools(("get_news",), "required"), {"name": "get_news"}, 1),
    ],
)
def test_each_tool_choice_comes_as_near_as_the_form_of_2023_allows(
    choice: ToolChoice, written: Json, count: int
) -> None:
    asked = body(Request(messages=[QUESTION], tools=(WEATHER, NEWS), tool_choice=choice), OPENAI_FUNCTIONS)
    assert asked.get("function_call") == written
    assert len(objects(asked["functions"])) == count


def test_options_are_written_and_extras_stand_as_they_are() -> None:
    request = Request(
        messages=[SystemMessage("Be brief."), QUESTION],
        tools=(WEATHER,),
        parallel_calls=False,
        stop=("\n\n",),
        output_schema={"type": "object"},
        max_tokens=5,
        temperature=0.0,
        stream=True,
        extras={"seed": 1, "temperature": 1},
    )
    asked = body(request)
    del asked["messages"], asked["tools"]
    schema = {"type": "json_schema", "json_schema": {"name": "answer", "schema": {"type": "object"}}}
    assert asked == {
        "model": "",
        "parallel_tool_calls": False,
        "stop": ["\n\n"],
        "max_tokens": 5,
        "temperature": 1,
        "response_format": schema,
        "seed": 1,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    newer = OpenAiChat(max_tokens_field="max_completion_tokens")
    assert body(request, newer)["max_completion_tokens"] == 5
    assert body(Request(messages=[QUESTION])).keys() == {"model", "messages"}


def test_what_the_user_attached_is_written_with_its_handle() -> None:
    parts = (
        TextPart("Look:"),
        MediaPart("image/png", b"\x89PNG", handle="att_1"),
        MediaPart("image/jpeg", url="https://example.org/a.jpg"),
        MediaPart("audio/mpeg", b"ID3"),
        MediaPart("application/pdf", b"%PDF", name="a.pdf"),
        MediaPart("video/mp4", url="https://example.org/a.mp4"),
    )
    (written,) = messages_of(Request(messages=[UserMessage(parts)]))
    assert written["content"] == [
        {"type": "text", "text": "Look:"},
        {"type": "text", "text": "[att_1: image/png, 4 bytes]"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.jpg"}},
        {"type": "input_audio", "input_audio": {"data": "SUQz", "format": "mp3"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERg=="}},
        {"type": "text", "text": "[attachment: video/mp4, https://example.org/a.mp4]"},
    ]


def test_an_answer_is_written_as_the_model_may_read_it() -> None:
    failed = ToolResult("a", error=Failure("unavailable", "The service does not answer."))
    media = ToolResult("a", (TextPart("Here:"), MediaPart("image/png", b"1234", handle="att_2")))
    said = Reply(
        (ReasoningPart("hm"), TextPart("I look."), msgspec.structs.replace(BEIJING, id="a"), RefusalPart("No."))
    )
    messages: list[Message] = [said, ToolMessage("get_weather", failed), said, ToolMessage("get_weather", media)]
    written = messages_of(Request(messages=messages))
    assert written[0]["content"] == "I look.No."
    assert "reasoning_content" not in written[0]
    assert written[1]["content"] == "The service does not answer."
    assert written[3]["content"] == "Here:\n[att_2: image/png, 4 bytes]"
    thinking = OpenAiChat(reasoning_field="reasoning_content")
    assert messages_of(Request(messages=messages), thinking)[0]["reasoning_content"] == "hm"


@pytest.mark.parametrize("dialect", [OPENAI_CHAT, OPENAI_FUNCTIONS])
def test_arguments_go_back_as_json_even_where_the_model_wrote_none(dialect: OpenAiChat) -> None:
    broken = ToolCall("a", "add", {}, raw='{"a": ', complete=False, repairs=("broke off",))
    mended = ToolCall("a", "add", {"a": 1}, raw="{'a': 1}", repairs=("single quotes",))
    for call, written in ((broken, "{}"), (mended, '{"a":1}'), (BEIJING, BEIJING.raw)):
        (message,) = messages_of(Request(messages=[Reply((call,))]), dialect)
        name = "add" if call is not BEIJING else "get_weather"
        function = (
            message["function_call"] if "function_call" in message else function_of(objects(message["tool_calls"])[0])
        )
        assert function == {"name": name, "arguments": written}


def test_a_client_is_told_the_broken_text_of_a_call_and_not_of_a_mended_one() -> None:
    broken = ToolCall("a", "add", {}, raw='{"a": ', complete=False, repairs=("broke off",))
    mended = ToolCall("b", "add", {"a": 1}, raw="{'a': 1}", repairs=("single quotes",))
    calls = OPENAI_CHAT.decode(OPENAI_CHAT.encode_reply(Reply((broken, mended)))).calls
    assert [(call.raw, call.complete) for call in calls] == [('{"a": ', False), ('{"a":1}', True)]


@pytest.mark.parametrize("streamed", [False, True])
def test_a_call_that_broke_off_before_its_arguments_is_no_whole_call_to_a_client(streamed: bool) -> None:
    reply = Reply((ToolCall("a", "delete_all", {}, complete=False, repairs=("broke off",)),), "length")
    wire = OPENAI_CHAT.encoder().close(reply) if streamed else OPENAI_CHAT.encode_reply(reply)
    assert [call.complete for call in OPENAI_CHAT.decode(wire).calls] == [False]


@pytest.mark.row("S3")
def test_every_answer_goes_to_its_call_although_the_model_repeats_ids() -> None:
    calls = [ToolCall("a", "add", {"n": 1}), ToolCall("a", "add", {"n": 2}), ToolCall("", "add", {"n": 3})]
    answers = [ToolMessage("add", ToolResult(call.id, structured=call.arguments["n"])) for call in calls]
    turn: list[Message] = [Reply(tuple(calls)), *answers]
    written = messages_of(Request(messages=[*turn, *turn]))
    asked = {call["id"]: function_of(call)["arguments"] for m in written for call in objects(m.get("tool_calls", []))}
    answered = {message["tool_call_id"]: message["content"] for message in written if message["role"] == "tool"}
    assert len(asked) == 6
    assert next(iter(asked)) == "a"
    assert {id_: f'{{"n":{answer}}}' for id_, answer in answered.items()} == asked


@pytest.mark.row("S4")
def test_several_calls_of_one_turn_become_pairs_in_the_form_of_2023() -> None:
    calls = [ToolCall("a", "add", {"n": 1}), ToolCall("a", "add", {"n": 2}), ToolCall("b", "now", {})]
    answers = [ToolMessage(call.name, ToolResult(call.id, structured=call.arguments.get("n"))) for call in calls]
    said: list[Message] = [Reply((TextPart("Well."), *calls)), *answers, Reply.of("3")]
    written = messages_of(Request(messages=said), OPENAI_FUNCTIONS)
    assert [message["role"] for message in written] == ["assistant", "function"] * 3 + ["assistant"]
    assert [m["function_call"] for m in written[:-1:2]] == [
        {"name": "add", "arguments": '{"n":1}'},
        {"name": "add", "arguments": '{"n":2}'},
        {"name": "now", "arguments": "{}"},
    ]
    assert [m["content"] for m in written] == ["Well.", "1", None, "2", None, "null", "3"]


def test_a_transcript_is_written_like_a_list_however_it_grew() -> None:
    turn: list[Message] = [Reply((BEIJING, BEIJING)), *[ToolMessage("get_weather", ToolResult("call_abc123"))] * 2]
    messages: list[Message] = [QUESTION, *turn, *turn, Reply.of("Done.")]
    for dialect in (OPENAI_CHAT, OPENAI_FUNCTIONS):
        transcript = Transcript()
        for count, message in enumerate(messages, 1):
            transcript.append(message)
            grown = dialect.encode_request(Request(messages=transcript))
            assert grown == dialect.encode_request(Request(messages=messages[:count]))


def test_tools_are_encoded_once_and_never_those_of_another_request() -> None:
    for number in range(100):
        tools = (Tool(name=f"tool_{number}"),)
        for _ in range(2):
            (written,) = objects(body(Request(messages=[], tools=tools))["tools"])
            assert function_of(written)["name"] == f"tool_{number}"


# Reading a request.


TOOLS_WIRE: list[Json] = [
    {"type": "function", "function": {"name": "get_weather"}},
    {"type": "function", "function": {"name": "get_news"}},
]


def decoded(**fields: Json) -> Request:
    return OPENAI_CHAT.decode_request(msgspec.json.encode({"model": "m", "messages": [], **fields}))


@pytest.mark.row("S3")
@pytest.mark.parametrize(
    ("written", "choice"),
    [
        (None, "auto"),
        ("auto", "auto"),
        ("none", "none"),
        ("required", "required"),
        ("any", "required"),
        ({"type": "none"}, "none"),
        ({"type": "function", "function": {"name": "get_news"}}, NamedTool("get_news")),
        ({"type": "function", "name": "get_news"}, NamedTool("get_news")),
        ({"function": {"name": "get_news"}}, NamedTool("get_news")),
        ({"name": "get_news"}, NamedTool("get_news")),
        ("get_news", NamedTool("get_news")),
        (
            {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [NAMED]}},
            AllowedTools(("get_news",), "required"),
        ),
        (
            {
                "type": "allowed_tools",
                "mode": "auto",
                "tools": [{"type": "function", "name": "get_news"}, "get_weather"],
            },
            AllowedTools(("get_news", "get_weather")),
        ),
    ],
)
def test_every_form_of_tool_choice_is_read(written: Json, choice: ToolChoice) -> None:
    assert decoded(tools=TOOLS_WIRE, tool_choice=written).tool_choice == choice


@pytest.mark.row("S4")
@pytest.mark.parametrize(
    ("written", "choice"),
    [
        ("auto", "auto"),
        ("none", "none"),
        ({"name": "get_news"}, NamedTool("get_news")),
        ("get_news", NamedTool("get_news")),
    ],
)
def test_every_form_of_function_call_is_read(written: Json, choice: ToolChoice) -> None:
    functions: list[Json] = [
        {"name": "get_weather", "description": "x", "parameters": {"type": "object"}},
        {"name": "get_news"},
    ]
    request = decoded(functions=functions, function_call=written)
    assert request.tool_choice == choice
    assert [tool.name for tool in request.tools] == ["get_weather", "get_news"]


@pytest.mark.row("S4")
def test_a_conversation_of_2023_is_read_with_each_answer_at_its_call() -> None:
    said: list[Json] = [
        {"role": "user", "content": "Weather in Oslo, then Rome"},
        {
            "role": "assistant",
            "content": None,
            "function_call": {"name": "get_weather", "arguments": '{"city":"Oslo"}'},
        },
        {"role": "function", "name": "get_weather", "content": "4"},
        {
            "role": "assistant",
            "content": None,
            "function_call": {"name": "get_weather", "arguments": '{"city":"Rome"}'},
        },
        {"role": "function", "name": "get_weather", "content": "20"},
    ]
    request = decoded(messages=said, functions=[{"name": "get_weather"}])
    assert [m.result.call_id for m in request.messages if isinstance(m, ToolMessage)] == ["call_0", "call_0"]
    assert body(request, OPENAI_FUNCTIONS)["messages"] == said
    ids = [message["tool_call_id"] for message in messages_of(request) if message["role"] == "tool"]
    assert ids == ["call_0", "call_0_2"]


def test_a_request_comes_back_as_it_was_written() -> None:
    content = (
        TextPart("a"),
        MediaPart("image/png", b"1"),
        MediaPart("audio/wav", b"2"),
        MediaPart("application/pdf", b"3", name="a.pdf"),
    )
    request = Request(
        messages=[
            SystemMessage("Be brief."),
            UserMessage(content),
            Reply((TextPart("Let me see."), BEIJING, ToolCall("b", "get_news", {}, raw="{}"))),
            ToolMessage("get_weather", ToolResult("call_abc123", (TextPart("4"),))),
            ToolMessage("get_news", ToolResult("b", (TextPart(""),))),
            Reply.of("Cold."),
            UserMessage.of("Thanks"),
        ],
        tools=(WEATHER, NEWS),
        tool_choice=AllowedTools(("get_news",)),
        parallel_calls=True,
        stop=("a", "b"),
        output_schema={"type": "object"},
        max_tokens=5,
        temperature=0.5,
        top_p=0.9,
        seed=7,
        model="m",
        extras={"logit_bias": {"5": 1}},
    )
    assert OPENAI_CHAT.decode_request(OPENAI_CHAT.encode_request(request)) == request


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"messages": None}, "messages: array was expected, null came"),
        ({"messages": [1]}, "messages[0]: object was expected, integer came"),
        ({"messages": [{"role": "robot"}]}, "messages[0].role"),
        ({"messages": [{"role": "user"}]}, "messages[0].content: array was expected, null came"),
        ({"messages": [{"role": "user", "content": [{"type": "video"}]}]}, "messages[0].content[0]"),
        ({"messages": [{"role": "user", "content": [{"type": "file", "file": {"file_id": "x"}}]}]}, "content[0].file"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "file:///x"}}]}]},
            "image_url",
        ),
        (
            {
                "messages": [
                    {
                        "role": "user",
                        "content": [{"type": "input_audio", "input_audio": {"data": "!", "format": "wav"}}],
                    }
                ]
            },
            "base64",
        ),
        ({"messages": [{"role": "system", "content": [{"type": "image_url"}]}]}, "messages[0].content[0]: a text part"),
        ({"messages": [{"role": "tool", "content": "4"}]}, "messages[0]: there is no call"),
        ({"tools": {}}, "tools: array was expected, object came"),
        ({"tools": [{"type": "custom", "custom": {}}]}, "tools[0].type"),
        ({"tools": [{"type": "function", "function": {}}]}, "tools[0].function.name: string was expected"),
        ({"tools": [{"type": "function", "function": {"name": "a b"}}]}, "tools[0].function: tool name"),
        ({"functions": [{"name": "a", "parameters": []}, {"name": "b", "parameters": 5}]}, "functions[1].parameters"),
        ({"tool_choice": 5}, "tool_choice"),
        (
            {"tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "maybe", "tools": []}}},
            "allowed_tools.mode",
        ),
        ({"tool_choice": {"type": "allowed_tools", "tools": [5]}}, "allowed_tools.tools[0]"),
        ({"max_tokens": True}, "max_tokens: integer was expected, boolean came"),
        ({"temperature": "hot"}, "temperature: number was expected"),
        ({"stop": [1]}, "stop: string was expected"),
        ({"stream": "yes"}, "stream: boolean was expected"),
    ],
)
def test_a_wrong_request_is_told_the_place(fields: JsonObject, place: str) -> None:
    with pytest.raises(UsageError) as raised:
        decoded(**fields)
    assert place in str(raised.value)


def test_what_is_no_json_is_no_request() -> None:
    for wire in (b"", b"{", b"[]", b'"a"'):
        with pytest.raises(UsageError, match="the body"):
            OPENAI_CHAT.decode_request(wire)


@given(ANY_JSON)
def test_a_request_of_any_shape_reads_or_is_a_usage_error(value: Json) -> None:
    for wire in (
        value,
        {"messages": value},
        {"messages": [{"role": "user", "content": value}]},
        {"messages": [], "tools": [value]},
    ):
        with contextlib.suppress(UsageError):
            OPENAI_CHAT.decode_request(msgspec.json.encode(wire))


# Writing an answer.


VALUES: list[JsonObject] = [
    {},
    {"city": "北京"},
    {"a": 2, "b": [3, None, {"c": '}{"\\'}], "": 0.5},
    {"text": "\n\t\u0000\x7f🌤", "empty": {}},
]
text = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
calls = st.lists(st.tuples(st.sampled_from(["get_weather", "查天气"]), st.sampled_from(VALUES)), max_size=3).map(
    lambda said: [
        ToolCall(f"id_{number}", name, values, raw=msgspec.json.encode(values).decode())
        for number, (name, values) in enumerate(said)
    ]
)


def a_reply(parts: list[list[ReplyPart]], calls: list[ToolCall], counts: list[int], extras: JsonObject) -> Reply:
    content = [part for kind in parts for part in kind]
    return Reply(
        (*content, *calls),
        "tool_calls" if calls else "stop",
        Usage(counts[0], counts[1], counts[2], counts[3]),
        "m",
        "id",
        extras,
    )


def replies() -> st.SearchStrategy[Reply]:
    """Replies in the order in which this API tells them: reasoning, text, refusal, calls."""
    parts = st.tuples(*[st.lists(st.builds(kind, text), max_size=1) for kind in (ReasoningPart, TextPart, RefusalPart)])
    counts = st.lists(st.integers(0, 9), min_size=4, max_size=4)
    return st.builds(a_reply, parts, calls, counts, st.sampled_from([{}, {"note": "x"}]))


@given(replies())
def test_what_is_written_is_read_whole_and_streamed(reply: Reply) -> None:
    assert OPENAI_CHAT.decode(OPENAI_CHAT.encode_reply(reply)) == reply
    assert OPENAI_CHAT.decode(OPENAI_CHAT.encoder(id_="id", model="m").close(reply)) == reply


@given(replies())
def test_what_a_decoder_tells_can_be_streamed_on(reply: Reply) -> None:
    wire = OPENAI_CHAT.encoder(id_="id", model="m").close(reply)
    encoder, decoder = OPENAI_CHAT.encoder(id_="id", model="m"), OPENAI_CHAT.decoder()
    passed = b"".join([encoder.feed(delta) for n in range(len(wire)) for delta in decoder.feed(wire[n : n + 1])])
    passed += b"".join([encoder.feed(delta) for delta in decoder.close()]) + encoder.close(decoder.reply)
    assert OPENAI_CHAT.decode(passed) == reply


def test_a_stream_has_the_official_shape() -> None:
    encoder = OPENAI_CHAT.encoder(id_="chatcmpl-1", model="m", created=5)
    deltas: list[Delta] = [
        CallDelta(0, "get_weather", id="call_abc123"),
        CallDelta(0, arguments='{"city":'),
        CallDelta(0, arguments=' "北京"}'),
        CallSaid(0, BEIJING),
    ]
    wire = b"".join([*[encoder.feed(delta) for delta in deltas], encoder.close(Reply((BEIJING,), usage=Usage(3, 2)))])
    events = [event.removeprefix(b"data: ") for event in wire.split(b"\n\n")]
    assert events[-2:] == [b"[DONE]", b""]
    chunks = [msgspec.json.decode(event) for event in events[:-2]]
    assert all(chunk["object"] == "chat.completion.chunk" and chunk["created"] == 5 for chunk in chunks)
    assert [chunk["choices"][0]["delta"] for chunk in chunks[:-1]] == [
        {"role": "assistant", "content": None},
        {
            "tool_calls": [
                {
                    "index": 0,
                    "id": "call_abc123",
                    "type": "function",
                    "function": {"name": "get_weather", "arguments": ""},
                }
            ]
        },
        {"tool_calls": [{"index": 0, "function": {"arguments": '{"city":'}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": ' "北京"}'}}]},
        {},
    ]
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks[:-1]] == [None, None, None, None, "tool_calls"]
    assert chunks[-1]["choices"] == []
    assert chunks[-1]["usage"]["total_tokens"] == 5


def test_a_stream_without_usage_ends_with_the_finish_reason() -> None:
    wire = OPENAI_CHAT.encoder(include_usage=False).close(Reply.of("Hi."))
    assert b"usage" not in wire
    assert msgspec.json.decode(wire.split(b"\n\n")[-3][6:])["choices"][0]["finish_reason"] == "stop"


@pytest.mark.parametrize(
    ("reason", "calls", "written"),
    [
        ("stop", True, "tool_calls"),
        ("end_turn", False, "stop"),
        ("", False, "stop"),
        ("max_tokens", False, "length"),
        ("MAX_TOKENS", True, "length"),
        ("content_filter", False, "content_filter"),
        ("SAFETY", False, "content_filter"),
    ],
)
def test_the_finish_reason_is_one_that_clients_of_this_api_know(reason: str, calls: bool, written: str) -> None:
    reply = Reply((BEIJING,) if calls else (), reason)
    assert msgspec.json.decode(OPENAI_CHAT.encode_reply(reply))["choices"][0]["finish_reason"] == written


@pytest.mark.parametrize("streamed", [False, True])
def test_calls_that_share_an_id_are_told_apart(streamed: bool) -> None:
    reply = Reply((BEIJING, BEIJING, ToolCall("", "get_news", {})))
    wire = OPENAI_CHAT.encoder().close(reply) if streamed else OPENAI_CHAT.encode_reply(reply)
    assert [call.id for call in OPENAI_CHAT.decode(wire).calls] == ["call_abc123", "call_abc123_2", "call_2"]


@pytest.mark.row("S4")
def test_a_function_call_that_came_in_pieces_is_written_once() -> None:
    encoder = OPENAI_FUNCTIONS.encoder()
    call = ToolCall("c", "get_weather", {"city": "Oslo"})
    told: list[Delta] = [
        CallDelta(0, "get_weather", id="c"),
        CallDelta(0, arguments='{"city":'),
        CallDelta(0, arguments='"Oslo"}'),
        CallSaid(0, call),
    ]
    wire = b"".join([*(encoder.feed(delta) for delta in told), encoder.close(Reply((call,)))])
    assert [(said.name, said.arguments) for said in OPENAI_CHAT.decode(wire).calls] == [
        ("get_weather", {"city": "Oslo"})
    ]


# The official client, over a real connection, reads what we write.


async def as_the_sdk_reads(reply: Reply, *, functions: bool, streamed: bool) -> ChatCompletion:
    asked: JsonObject = {"functions": [{"name": "get_weather"}]} if functions else {"tools": TOOLS_WIRE}
    asked |= {"model": "m", "messages": [{"role": "user", "content": "?"}]}
    with ChatServer([reply]) as server:
        async with AsyncOpenAI(base_url=server.url, api_key="x", max_retries=0) as client:
            if not streamed:
                return await client.post("/chat/completions", cast_to=ChatCompletion, body=asked)
            state = ChatCompletionStreamState()
            stream = await client.post(
                "/chat/completions",
                cast_to=ChatCompletionChunk,
                body=asked | {"stream": True},
                stream=True,
                stream_cls=AsyncStream[ChatCompletionChunk],
            )
            async for chunk in stream:
                state.handle_chunk(chunk)
            return state.get_final_completion()


@pytest.mark.row("S3")
@pytest.mark.parametrize("streamed", [False, True])
async def test_the_official_client_reads_calls_as_we_write_them(streamed: bool) -> None:
    reply = Reply((TextPart("I look."), BEIJING, ToolCall("b", "get_news", {})), usage=Usage(5, 3, 2, 1))
    completion = await as_the_sdk_reads(reply, functions=False, streamed=streamed)
    ChatCompletion.model_validate(completion.model_dump(), strict=True)
    message = completion.choices[0].message
    assert message.content == "I look."
    called = [call for call in message.tool_calls or [] if call.type == "function"]
    assert [(call.id, call.function.name, call.function.arguments) for call in called] == [
        ("call_abc123", "get_weather", '{"city": "北京"}'),
        ("b", "get_news", "{}"),
    ]
    assert completion.choices[0].finish_reason == "tool_calls"
    assert completion.usage is not None
    assert completion.usage.total_tokens == 8


@pytest.mark.row("S4")
@pytest.mark.parametrize("streamed", [False, True])
async def test_the_official_client_reads_a_function_call_as_we_write_it(streamed: bool) -> None:
    completion = await as_the_sdk_reads(Reply((BEIJING,)), functions=True, streamed=streamed)
    called = completion.choices[0].message.function_call
    assert called is not None
    assert (called.name, called.arguments) == ("get_weather", '{"city": "北京"}')
    assert completion.choices[0].finish_reason == "function_call"
