"""The Responses API, read and written. What goes over a connection is in `test_endpoint`."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai import AsyncOpenAI
from openai.types.responses import Response, ResponseStreamEvent
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming
from openai.types.responses.response_error import ResponseError

from actum import Agent, tool
from actum.core.call import Failure, MediaPart, TextPart, ToolCall, ToolResult
from actum.core.errors import ModelError, ModelRejected, ModelUnavailable, UsageError
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
from actum.dialects.api.openai_chat.dialect import OPENAI_CHAT
from actum.dialects.api.openai_responses.dialect import OPENAI_RESPONSES, OpenAiResponses
from actum.dialects.tool_names import OPENAI_NAME, stand_in
from actum.models import open_model
from tests.chat_server import ChatServer, Raw
from tests.dialects import api_corpus

CORPUS = Path(__file__).parents[3] / "corpus" / "openai_responses"
CASES = sorted(path.stem for path in CORPUS.glob("*.wire"))
WEATHER = Tool(
    name="get_weather",
    description="The weather in a city.",
    parameters={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
NEWS = Tool(name="get_news", description="The news.")
QUESTION = UserMessage.of("How is the weather in 北京?")
BEIJING = ToolCall("call_abc123", "get_weather", {"city": "北京"}, raw='{"city": "北京"}')
ENDED_EARLY = ("stream_cut_in_arguments", "stream_cut_in_event")


def case(name: str) -> bytes:
    return (CORPUS / f"{name}.wire").read_bytes()


def read(chunks: Sequence[bytes | str]) -> tuple[list[Delta], Reply, bool]:
    return api_corpus.read(OPENAI_RESPONSES, chunks)


def events_of(wire: bytes) -> list[JsonObject]:
    data = [line.removeprefix(b"data: ") for line in wire.split(b"\n") if line.startswith(b"data: {")]
    return [msgspec.json.decode(item, type=JsonObject) for item in data]


# Reading an answer.


def test_a_call_is_told_as_soon_as_its_arguments_are_done() -> None:
    decoder = OPENAI_RESPONSES.decoder()
    events = case("stream_call").split(b"\n\n")
    told = [decoder.feed(event + b"\n\n") for event in events]
    (first,) = [number for number, deltas in enumerate(told) if any(isinstance(delta, CallSaid) for delta in deltas)]
    assert events[first].startswith(b"event: response.function_call_arguments.done")


def test_a_stand_in_for_a_name_comes_back_as_the_name() -> None:
    dialect = OpenAiResponses(name_pattern=OPENAI_NAME)
    tool = Tool(name="查天气")
    for wire in (case("stream_call"), case("whole_parallel_calls")):
        renamed = wire.replace(b"get_weather", stand_in("查天气").encode())
        decoder = dialect.decoder(tools=(tool,))
        deltas = [*decoder.feed(renamed), *decoder.close()]
        assert decoder.reply.calls[0].name == "查天气"
        assert next(delta.name for delta in deltas if isinstance(delta, CallDelta)) == "查天气"


def test_each_code_of_a_failed_response_says_whether_another_try_may_work() -> None:
    passing = {"server_error", "rate_limit_exceeded", "vector_store_timeout"}
    for code in get_args(ResponseError.model_fields["code"].annotation):
        error = {"object": "response", "status": "failed", "error": {"code": code, "message": "x"}, "output": []}
        with pytest.raises(ModelUnavailable if code in passing else ModelRejected):
            OPENAI_RESPONSES.decode(msgspec.json.encode(error))


FIELDS = (
    *("type", "response", "output", "item", "part", "delta", "content", "summary", "text", "status", "error", "usage"),
    *("id", "call_id", "name", "arguments", "output_index", "content_index", "incomplete_details"),
)
KINDS = ("message", "reasoning", "function_call", "custom_tool_call", "image_generation_call", "output_text", "refusal")
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(KINDS) | st.text(max_size=3),
    lambda child: st.lists(child, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), child, max_size=5),
)
WHOLE = [name for name in CASES if name not in ENDED_EARLY]
KINDS_OF_EVENT = sorted({str(event["type"]) for name in WHOLE for event in events_of(case(name))})


@given(ANY_JSON, st.sampled_from(KINDS_OF_EVENT))
def test_an_answer_of_any_shape_reads_or_is_a_model_error(value: Json, kind: str) -> None:
    event = {**value, "type": kind} if isinstance(value, dict) else {"type": kind, "item": value, "response": value}
    whole: JsonObject = {"object": "response", "output": [value]}
    for wire in (msgspec.json.encode(whole), b"data: %s\n\n" % msgspec.json.encode(event)):
        with contextlib.suppress(ModelError):
            OPENAI_RESPONSES.decode(wire)


def test_a_part_of_a_message_that_is_not_known_is_kept() -> None:
    part: JsonObject = {"type": "output_audio", "data": "UklG"}
    item: JsonObject = {"type": "message", "content": [{"type": "output_text", "text": "Hi"}, part]}
    done = {"type": "response.output_item.done", "output_index": 0, "item": item}
    end = {"type": "response.completed", "response": {"status": "completed", "output": [item], "service_tier": "flex"}}
    for reply in (
        OPENAI_RESPONSES.decode(b"".join([b"data: %s\n\n" % msgspec.json.encode(event) for event in (done, end)])),
        OPENAI_RESPONSES.decode(msgspec.json.encode(end["response"])),
    ):
        assert (reply.text, reply.extras) == ("Hi", {"content": [part], "service_tier": "flex"})


def test_a_call_that_begins_with_its_arguments_is_told_with_its_own_id() -> None:
    place: JsonObject = {"output_index": 0, "item_id": "fc_1"}
    call: JsonObject = {"type": "function_call", "id": "fc_1", "call_id": "call_a", "name": "f", "arguments": '{"a":1}'}
    events: list[JsonObject] = [
        {"type": "response.function_call_arguments.delta", **place, "delta": '{"a":1}'},
        {"type": "response.output_item.done", "output_index": 0, "item": call},
    ]
    deltas, _, _ = read([b"data: %s\n\n" % msgspec.json.encode(event) for event in events])
    said = ToolCall("call_a", "f", {"a": 1}, raw='{"a":1}')
    assert deltas == [CallDelta(0, "f", '{"a":1}', "call_a"), CallSaid(0, said)]


def test_the_last_word_on_arguments_counts_where_the_pieces_are_no_json() -> None:
    wire = case("stream_call").replace('"delta":"北"'.encode(), b'"delta":"\\"\\""')
    assert OPENAI_RESPONSES.decode(wire).calls[0].arguments == {"location": "北京"}


# Writing a request.


def body(request: Request, dialect: OpenAiResponses = OPENAI_RESPONSES) -> JsonObject:
    wire = dialect.encode_request(request)
    return msgspec.json.decode(wire, type=JsonObject)


def objects(value: Json) -> list[JsonObject]:
    return msgspec.convert(value, list[JsonObject])


def input_of(request: Request, dialect: OpenAiResponses = OPENAI_RESPONSES) -> list[JsonObject]:
    return objects(body(request, dialect)["input"])


def as_the_sdk_would_send(asked: JsonObject) -> None:
    """Raises unless this is what the official client's types allow."""
    pydantic.TypeAdapter(ResponseCreateParamsNonStreaming).validate_python(asked, strict=False)


@pytest.mark.row("S3")
def test_a_call_and_its_answer_go_out_byte_by_byte_as_the_api_shows_them() -> None:
    answer = ToolMessage("get_weather", ToolResult("call_abc123", structured={"temperature": 24}))
    said: list[Message] = [SystemMessage("Be brief."), QUESTION, Reply((BEIJING,)), answer]
    request = Request(messages=said, tools=(WEATHER,), model="gpt-5")
    assert OPENAI_RESPONSES.encode_request(request).decode() == (
        '{"model":"gpt-5","instructions":"Be brief.","input":['
        '{"role":"user","content":"How is the weather in 北京?"},'
        '{"type":"function_call","call_id":"call_abc123","name":"get_weather","arguments":"{\\"city\\": \\"北京\\"}"},'
        '{"type":"function_call_output","call_id":"call_abc123","output":"{\\"temperature\\":24}"}],'
        '"tools":[{"type":"function","name":"get_weather","description":"The weather in a city.",'
        '"parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]},"strict":false}]}'
    )
    as_the_sdk_would_send(body(request))


NAMED: JsonObject = {"type": "function", "name": "get_news"}


@pytest.mark.row("S3")
@pytest.mark.parametrize(
    ("choice", "written"),
    [
        ("auto", None),
        ("none", "none"),
        ("required", "required"),
        (NamedTool("get_news"), NAMED),
        (AllowedTools(("get_news",), "required"), {"type": "allowed_tools", "mode": "required", "tools": [NAMED]}),
    ],
)
def test_each_tool_choice_is_written_and_read_and_the_tools_stay(choice: ToolChoice, written: Json) -> None:
    request = Request(messages=[QUESTION], tools=(WEATHER, NEWS), tool_choice=choice)
    asked = body(request)
    as_the_sdk_would_send(asked)
    assert asked.get("tool_choice") == written
    assert [tool["name"] for tool in objects(asked["tools"])] == ["get_weather", "get_news"]
    assert OPENAI_RESPONSES.decode_request(msgspec.json.encode(asked)).tool_choice == choice


def test_options_are_written_and_extras_stand_as_they_are() -> None:
    extras: JsonObject = {
        "previous_response_id": "resp_0",
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "text": {"verbosity": "low"},
        "temperature": 1,
    }
    request = Request(
        messages=[QUESTION],
        tools=(WEATHER,),
        parallel_calls=False,
        stop=("\n\n",),
        output_schema={"type": "object"},
        max_tokens=5,
        temperature=0.0,
        stream=True,
        extras=extras,
    )
    asked = body(request)
    del asked["input"], asked["tools"]
    form: JsonObject = {"type": "json_schema", "name": "answer", "schema": {"type": "object"}}
    text_options: JsonObject = {"format": form, "verbosity": "low"}
    assert asked == {
        "model": "",
        "parallel_tool_calls": False,
        "max_output_tokens": 5,
        **extras,
        "text": text_options,
        "stream": True,
    }
    assert body(Request(messages=[QUESTION])).keys() == {"model", "input"}


def test_what_the_user_attached_is_written_with_its_handle() -> None:
    parts = (
        TextPart("Look:"),
        MediaPart("image/png", b"\x89PNG", handle="att_1"),
        MediaPart("image/jpeg", url="https://example.org/a.jpg"),
        MediaPart("application/pdf", b"%PDF", name="a.pdf"),
        MediaPart("application/pdf", url="https://example.org/a.pdf"),
        MediaPart("audio/mpeg", b"ID3"),
    )
    request = Request(messages=[UserMessage(parts)])
    (written,) = input_of(request)
    assert written["content"] == [
        {"type": "input_text", "text": "Look:"},
        {"type": "input_text", "text": "[att_1: image/png, 4 bytes]"},
        {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,iVBORw=="},
        {"type": "input_image", "detail": "auto", "image_url": "https://example.org/a.jpg"},
        {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERg=="},
        {"type": "input_file", "file_url": "https://example.org/a.pdf"},
        {"type": "input_text", "text": "[attachment: audio/mpeg, 3 bytes]"},
    ]
    as_the_sdk_would_send(body(request))


def test_an_answer_is_written_as_the_model_may_read_or_see_it() -> None:
    results = [
        ToolResult("a", error=Failure("unavailable", "The service does not answer.")),
        ToolResult("a", (TextPart("Here:"), MediaPart("image/png", b"1234"))),
        ToolResult("a", (TextPart("Here:"), MediaPart("audio/wav", b"1234"))),
    ]
    answers = [ToolMessage("get_weather", result) for result in results]
    request = Request(messages=[Reply((msgspec.structs.replace(BEIJING, id="a"),)), *answers])
    assert [item["output"] for item in input_of(request)[1:]] == [
        "The service does not answer.",
        [
            {"type": "input_text", "text": "Here:"},
            {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,MTIzNA=="},
        ],
        "Here:\n[attachment: audio/wav, 4 bytes]",
    ]
    as_the_sdk_would_send(body(request))


REASONED = ("stream_reasoning_two_summaries", "stream_reasoning_encrypted_then_call", "stream_reasoning_text")


@pytest.mark.row("S3")
@pytest.mark.parametrize("name", [*REASONED, "stream_web_search"])
def test_the_models_own_items_go_back_unharmed_and_in_their_place(name: str) -> None:
    done = [event["item"] for event in events_of(case(name)) if event["type"] == "response.output_item.done"]
    first, second = [msgspec.convert(item, JsonObject) for item in done]
    for field in ("status", "encrypted_content"):
        if (field == "status" and first["type"] == "reasoning") or first.get(field) is None:
            first.pop(field, None)
    request = Request(messages=[QUESTION, OPENAI_RESPONSES.decode(case(name))])
    written = input_of(request)
    assert written[1] == first
    assert written[2].get("call_id") == second.get("call_id")
    as_the_sdk_would_send(body(request))


def test_an_item_that_the_endpoint_did_not_store_is_not_sent_back_by_its_id() -> None:
    item: JsonObject = {"type": "reasoning", "id": "rs_1", "summary": []}
    reply = OPENAI_RESPONSES.decode(msgspec.json.encode({"object": "response", "output": [item]}))
    transcript = Transcript([reply])
    for messages in (transcript, [reply]):
        assert input_of(Request(messages=messages)) == [item]
        assert input_of(Request(messages=messages, extras={"store": False})) == []


def test_a_thought_whose_id_was_lost_goes_back() -> None:
    item: JsonObject = {"type": "reasoning", "summary": [], "encrypted_content": "gAAA"}
    reply = OPENAI_RESPONSES.decode(msgspec.json.encode({"object": "response", "output": [item]}))
    assert input_of(Request(messages=[reply])) == [item]


def test_reasoning_of_another_api_is_not_sent() -> None:
    said = Reply((ReasoningPart("hm", "EqQBCgIYAhIM1gbcDa9GJwZA2b3h"), TextPart("Yes."), RefusalPart(" No.")))
    assert input_of(Request(messages=[said])) == [{"role": "assistant", "content": "Yes. No."}]


def test_a_phase_goes_back_with_its_message() -> None:
    written = input_of(Request(messages=[OPENAI_RESPONSES.decode(case("whole_phases_and_citation"))]))
    assert written == [
        {"role": "assistant", "content": "I look.", "phase": "commentary"},
        {"type": "function_call", "call_id": "call_a", "name": "find", "arguments": "{}", "namespace": "crm"},
        {"role": "assistant", "content": "Sure", "phase": "final_answer"},
    ]


def test_arguments_go_back_as_json_even_where_the_model_wrote_none() -> None:
    broken = ToolCall("a", "add", {}, raw='{"a": ', complete=False, repairs=("broke off",))
    mended = ToolCall("a", "add", {"a": 1}, raw="{'a': 1}", repairs=("single quotes",))
    written = input_of(Request(messages=[Reply((broken, mended, BEIJING))]))
    assert [item["arguments"] for item in written] == ["{}", '{"a":1}', BEIJING.raw]


@pytest.mark.row("S3")
def test_every_answer_goes_to_its_call_although_the_model_repeats_ids() -> None:
    calls = [ToolCall("a", "add", {"n": 1}), ToolCall("a", "add", {"n": 2}), ToolCall("x" * 90, "add", {"n": 3})]
    answers = [ToolMessage("add", ToolResult(call.id, structured=call.arguments["n"])) for call in calls]
    turn: list[Message] = [Reply(tuple(calls)), *answers]
    written = input_of(Request(messages=[*turn, *turn]))
    asked = {str(item["call_id"]): item["arguments"] for item in written if item["type"] == "function_call"}
    answered = {item["call_id"]: item["output"] for item in written if item["type"] == "function_call_output"}
    assert len(asked) == 6
    assert all(len(id_) <= 64 for id_ in asked)
    assert {id_: f'{{"n":{answer}}}' for id_, answer in answered.items()} == asked


def test_a_transcript_is_written_like_a_list_however_it_grew() -> None:
    turn: list[Message] = [Reply((BEIJING, BEIJING)), *[ToolMessage("get_weather", ToolResult("call_abc123"))] * 2]
    messages: list[Message] = [SystemMessage("Be brief."), QUESTION, *turn, Reply(), *turn, Reply.of("Done.")]
    transcript = Transcript()
    for count, message in enumerate(messages, 1):
        transcript.append(message)
        grown = OPENAI_RESPONSES.encode_request(Request(messages=transcript))
        assert grown == OPENAI_RESPONSES.encode_request(Request(messages=messages[:count]))


def test_no_name_goes_out_that_is_refused() -> None:
    dialect = OpenAiResponses(name_pattern=OPENAI_NAME)
    tools = (Tool(name="查天气"), NEWS)
    messages: list[Message] = [Reply((ToolCall("a", "查天气", {}),)), ToolMessage("查天气", ToolResult("a"))]
    for choice in (NamedTool("查天气"), AllowedTools(("查天气", "get_news"))):
        wire = dialect.encode_request(Request(messages=messages, tools=tools, tool_choice=choice)).decode()
        assert wire.count(f'"name":"{stand_in("查天气")}"') == 3
        assert '"name":"查天气"' not in wire


# Reading a request.


TOOLS_WIRE: list[Json] = [{"type": "function", "name": name, "strict": True} for name in ("get_weather", "get_news")]


def decoded(**fields: Json) -> Request:
    return OPENAI_RESPONSES.decode_request(msgspec.json.encode({"model": "m", "input": [], **fields}))


def test_a_plain_string_is_what_the_user_said() -> None:
    assert decoded(input="Hi", instructions="Be brief.").messages == [SystemMessage("Be brief."), UserMessage.of("Hi")]


@pytest.mark.row("S3")
def test_items_of_every_shape_are_read() -> None:
    request = decoded(
        input=[
            {"role": "developer", "content": "Be brief."},
            {"type": "message", "role": "system", "content": [{"type": "input_text", "text": "Be kind."}]},
            {
                "type": "message",
                "role": "user",
                "status": "completed",
                "content": [
                    {"type": "input_text", "text": "Look."},
                    {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,iVBORw=="},
                    {"type": "input_image", "image_url": "https://example.org/a.jpg"},
                    {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERg=="},
                    {"type": "input_file", "file_url": "https://example.org/a.pdf"},
                    {"type": "input_audio", "input_audio": {"data": "SUQz", "format": "mp3"}},
                ],
            },
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"},
            {"role": "assistant", "content": "I look."},
            {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "get_weather", "arguments": '{"city":"x"}'},
            {"type": "custom_tool_call", "id": "ctc_1", "call_id": "b", "name": "run", "input": "1+1"},
            {"type": "function_call_output", "call_id": "a", "output": "4"},
            {
                "type": "custom_tool_call_output",
                "call_id": "b",
                "output": [
                    {"type": "input_text", "text": "2"},
                    {"type": "input_image", "image_url": "https://x.org/b"},
                ],
            },
            {
                "type": "message",
                "id": "msg_1",
                "role": "assistant",
                "status": "completed",
                "content": [
                    {"type": "output_text", "text": "Cold.", "annotations": []},
                    {"type": "refusal", "refusal": "No."},
                ],
            },
        ]
    )
    media = (
        MediaPart("image/png", b"\x89PNG"),
        MediaPart("image/*", url="https://example.org/a.jpg"),
        MediaPart("application/pdf", b"%PDF", name="a.pdf"),
        MediaPart("application/octet-stream", url="https://example.org/a.pdf"),
        MediaPart("audio/mpeg", b"ID3"),
    )
    custom = ToolCall(
        "b", "run", {"input": "1+1"}, '{"input":"1+1"}', True, ("a custom tool's text: taken as 'input'",)
    )
    first = Reply(
        (
            ReasoningPart("", "gAAA", by="openai"),
            TextPart("I look."),
            ToolCall("a", "get_weather", {"city": "x"}, raw='{"city":"x"}'),
            custom,
        ),
        extras={"openai_items": {"beside": {"0": {"id": "rs_1"}}}},
    )
    assert request.messages == [
        SystemMessage("Be brief."),
        SystemMessage("Be kind."),
        UserMessage((TextPart("Look."), *media)),
        first,
        ToolMessage("get_weather", ToolResult("a", (TextPart("4"),))),
        ToolMessage("run", ToolResult("b", (TextPart("2"), MediaPart("image/*", url="https://x.org/b")))),
        Reply((TextPart("Cold."), RefusalPart("No."))),
    ]


@pytest.mark.row("S3")
@pytest.mark.parametrize(
    ("written", "choice"),
    [
        (None, "auto"),
        ("required", "required"),
        ({"type": "function", "name": "get_news"}, NamedTool("get_news")),
        ({"type": "allowed_tools", "mode": "auto", "tools": [NAMED]}, AllowedTools(("get_news",))),
    ],
)
def test_every_form_of_tool_choice_is_read(written: Json, choice: ToolChoice) -> None:
    assert decoded(tools=TOOLS_WIRE, tool_choice=written).tool_choice == choice


def test_a_request_comes_back_as_it_was_written() -> None:
    content = (TextPart("a"), MediaPart("image/png", b"1"), MediaPart("application/pdf", b"3", name="a.pdf"))
    thought = Reply(
        (
            ReasoningPart("Hm.", "gAAA", by="openai"),
            TextPart("Let me see."),
            BEIJING,
            ToolCall("b", "get_news", {}, raw="{}"),
        ),
        extras={"openai_items": {"beside": {"0": {"id": "rs_1"}, "1": {"phase": "commentary"}}}},
    )
    request = Request(
        messages=[
            SystemMessage("Be brief."),
            UserMessage(content),
            thought,
            ToolMessage("get_weather", ToolResult("call_abc123", (TextPart("4"), MediaPart("image/png", b"2")))),
            ToolMessage("get_news", ToolResult("b", (TextPart(""),))),
            Reply.of("Cold."),
            UserMessage.of("Thanks"),
        ],
        tools=(WEATHER, NEWS),
        tool_choice=AllowedTools(("get_news",)),
        parallel_calls=True,
        output_schema={"type": "object"},
        max_tokens=5,
        temperature=0.5,
        model="m",
        stream=True,
        extras={"store": False, "text": {"verbosity": "low"}, "previous_response_id": "resp_0"},
    )
    assert OPENAI_RESPONSES.decode_request(OPENAI_RESPONSES.encode_request(request)) == request


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"input": None}, "input: array was expected, null came"),
        ({"input": [1]}, "input[0]: object was expected, integer came"),
        ({"input": [{"role": "robot", "content": "x"}]}, "input[0].role"),
        ({"input": [{"type": 5, "role": "user"}]}, "input[0].type"),
        ({"input": [{"role": "user"}]}, "input[0].content: array was expected, null came"),
        ({"input": [{"role": "user", "content": [{"type": "video"}]}]}, "input[0].content[0]"),
        ({"input": [{"role": "user", "content": [{"type": "input_file", "file_id": "x"}]}]}, "uploaded files"),
        ({"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "file:///x"}]}]}, "image_url"),
        ({"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "data:;base64,!"}]}]}, "base64"),
        ({"input": [{"role": "system", "content": [{"type": "input_image", "image_url": "http://x"}]}]}, "only text"),
        ({"input": [{"role": "assistant"}]}, "input[0].content: array was expected"),
        ({"input": [{"type": "item_reference", "id": "msg_1"}]}, "input[0]: items are not stored here"),
        ({"input": [{"type": "function_call", "call_id": "a", "arguments": "{}"}]}, "input[0].name"),
        ({"input": [{"type": "function_call", "call_id": "a", "name": "f"}]}, "input[0].arguments"),
        ({"input": [{"type": "function_call_output", "output": "4"}]}, "input[0].call_id"),
        ({"input": [{"type": "reasoning", "summary": "x"}]}, "input[0].summary"),
        ({"instructions": 5}, "instructions: string was expected"),
        ({"tools": [{"type": "custom", "name": "run"}]}, "tools[0].type: only 'function' is known here, not 'custom'"),
        ({"tools": [{"type": "web_search"}]}, "tools[0].type: only 'function' is known here, not 'web_search'"),
        ({"tools": [{"type": "function"}]}, "tools[0].name: string was expected"),
        ({"tool_choice": {"type": "file_search"}}, "tool_choice"),
        ({"tool_choice": {"type": "allowed_tools", "mode": "maybe", "tools": []}}, "allowed_tools.mode"),
        ({"max_output_tokens": True}, "max_output_tokens: integer was expected, boolean came"),
        ({"stream": "yes"}, "stream: boolean was expected"),
    ],
)
def test_a_wrong_request_is_told_the_place(fields: JsonObject, place: str) -> None:
    with pytest.raises(UsageError) as raised:
        decoded(**fields)
    assert place in str(raised.value)


@given(ANY_JSON)
def test_a_request_of_any_shape_reads_or_is_a_usage_error(value: Json) -> None:
    for wire in (
        value,
        {"input": value},
        {"input": [{"role": "user", "content": value}]},
        {"input": [{"role": "assistant", "content": value}]},
        {"input": [{"type": "function_call_output", "call_id": "a", "output": value}]},
        {"input": [], "tools": [value], "text": value},
    ):
        with contextlib.suppress(UsageError):
            OPENAI_RESPONSES.decode_request(msgspec.json.encode(wire))


# Writing an answer.


VALUES: list[JsonObject] = [
    {},
    {"city": "北京"},
    {"a": 2, "b": [3, None, {"c": '}{"\\'}], "": 0.5, "big": 12345678901234567890123},
    {"text": "\n\t\u0000\x7f🌤", "empty": {}},
]
text = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
parts = st.one_of(
    st.builds(TextPart, text),
    st.builds(RefusalPart, text),
    st.builds(ReasoningPart, text),
    st.builds(ReasoningPart, st.just("") | text, st.sampled_from(["gAAA", "any"]), by=st.just("openai")),
    st.builds(MediaPart, st.just("image/png"), st.binary(min_size=1, max_size=4)),
    st.builds(
        lambda name, values: ToolCall("", name, values, raw=json.dumps(values, ensure_ascii=False)),
        st.sampled_from(["f", "查天气"]),
        st.sampled_from(VALUES),
    ),
)


@st.composite
def replies(draw: st.DrawFn) -> Reply:
    content: list[ReplyPart] = draw(st.lists(parts, max_size=6))
    said = [
        msgspec.structs.replace(part, id=f"c{n}") if isinstance(part, ToolCall) else part
        for n, part in enumerate(content)
    ]
    reason = draw(st.sampled_from(["completed", "max_output_tokens", "content_filter"]))
    counts = draw(st.lists(st.integers(0, 9), min_size=4, max_size=4))
    extras: JsonObject = draw(st.sampled_from([{}, {"note": "x"}]))
    return Reply(tuple(said), reason, Usage(counts[0], counts[1], counts[2], counts[3]), "m", "id", extras)


@pytest.mark.row("S3")
@given(replies())
def test_what_is_written_is_read_whole_and_streamed(reply: Reply) -> None:
    assert OPENAI_RESPONSES.decode(OPENAI_RESPONSES.encode_reply(reply)) == reply
    assert OPENAI_RESPONSES.decode(OPENAI_RESPONSES.encoder(id_="id", model="m").close(reply)) == reply


@pytest.mark.parametrize("name", [name for name in CASES if "cut" not in name and "broken" not in name])
def test_what_an_endpoint_said_is_written_and_read_again(name: str) -> None:
    reply = OPENAI_RESPONSES.decode(case(name))
    calls = [
        msgspec.structs.replace(part, repairs=()) if isinstance(part, ToolCall) and part.complete else part
        for part in reply.content
    ]
    reply = msgspec.structs.replace(reply, content=tuple(calls))
    assert OPENAI_RESPONSES.decode(OPENAI_RESPONSES.encode_reply(reply)) == reply
    assert OPENAI_RESPONSES.decode(OPENAI_RESPONSES.encoder(id_=reply.id, model=reply.model).close(reply)) == reply


def merged(reply: Reply) -> Reply:
    """The reply as pieces can tell it: neighbours of one kind run together, and images come last."""
    content: list[ReplyPart] = []
    for part in sorted(reply.content, key=lambda part: isinstance(part, MediaPart)):
        last = content[-1] if content else None
        if isinstance(part, TextPart | RefusalPart) and type(last) is type(part):
            content[-1] = type(part)(f"{getattr(last, 'text', '')}{part.text}")
        elif isinstance(part, ReasoningPart) and isinstance(last, ReasoningPart) and not last.signature:
            content[-1] = ReasoningPart(last.text + part.text, part.signature, by=part.by)
        else:
            content.append(part)
    return msgspec.structs.replace(reply, content=tuple(content))


@given(replies())
def test_what_a_decoder_tells_can_be_streamed_on(reply: Reply) -> None:
    wire = OPENAI_RESPONSES.encoder(id_="id", model="m").close(reply)
    encoder, decoder = OPENAI_RESPONSES.encoder(id_="id", model="m"), OPENAI_RESPONSES.decoder()
    passed = b"".join([encoder.feed(delta) for n in range(len(wire)) for delta in decoder.feed(wire[n : n + 1])])
    passed += b"".join([encoder.feed(delta) for delta in decoder.close()]) + encoder.close(decoder.reply)
    assert OPENAI_RESPONSES.decode(passed) == merged(reply)


EVENT = pydantic.TypeAdapter[object](ResponseStreamEvent)


@given(replies())
def test_every_event_and_the_answer_fit_the_official_types(reply: Reply) -> None:
    wire = OPENAI_RESPONSES.encoder(id_="id", model="m").close(reply)
    for number, event in enumerate(events_of(wire)):
        assert event["sequence_number"] == number
        EVENT.validate_python(event, strict=True)
    Response.model_validate_json(OPENAI_RESPONSES.encode_reply(reply), strict=True)


def test_a_stream_has_the_official_sequence() -> None:
    encoder = OPENAI_RESPONSES.encoder(id_="resp_1", model="m", created=5)
    deltas: list[Delta] = [
        ReasoningDelta("Hm"),
        ReasoningDelta("", "gAAA"),
        TextDelta("I "),
        TextDelta("look."),
        CallDelta(0, "get_weather", id="call_abc123"),
        CallDelta(0, arguments='{"city":'),
        CallDelta(0, arguments=' "北京"}'),
        CallSaid(0, BEIJING),
    ]
    told = b"".join([encoder.feed(delta) for delta in deltas])
    reply = Reply((ReasoningPart("Hm", "gAAA"), TextPart("I look."), BEIJING), usage=Usage(3, 2))
    wire = told + encoder.close(reply)
    assert [str(event["type"]).removeprefix("response.") for event in events_of(wire)] == [
        *("created", "in_progress"),
        *("output_item.added", "reasoning_summary_part.added", "reasoning_summary_text.delta"),
        *("reasoning_summary_text.done", "reasoning_summary_part.done", "output_item.done"),
        *("output_item.added", "content_part.added", "output_text.delta", "output_text.delta"),
        *("output_text.done", "content_part.done", "output_item.done"),
        *("output_item.added", "function_call_arguments.delta", "function_call_arguments.delta"),
        *("function_call_arguments.done", "output_item.done"),
        "completed",
    ]
    assert [event for event in told.split(b"\n\n") if b"output_item.done" in event][-1].endswith(b'\\"}"}}')
    assert wire.startswith(b"event: response.created\ndata: ")
    assert {
        msgspec.convert(event["response"], JsonObject)["created_at"] for event in events_of(wire) if "response" in event
    } == {5}


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        ("stop", "completed"),
        ("", "completed"),
        ("length", "max_output_tokens"),
        ("max_tokens", "max_output_tokens"),
        ("SAFETY", "content_filter"),
    ],
)
def test_the_status_is_one_that_clients_of_this_api_know(reason: str, status: str) -> None:
    written = msgspec.json.decode(
        OPENAI_RESPONSES.encode_reply(Reply.of("a"))
        if not reason
        else OPENAI_RESPONSES.encode_reply(msgspec.structs.replace(Reply.of("a"), finish_reason=reason))
    )
    assert written["status"] == ("completed" if status == "completed" else "incomplete")
    assert (written["incomplete_details"] or {}).get("reason", "completed") == status


def test_a_call_that_broke_off_is_told_to_be_incomplete() -> None:
    broken = ToolCall("a", "add", {}, raw='{"a": ', complete=False, repairs=("broke off",))
    (item,) = msgspec.json.decode(OPENAI_RESPONSES.encode_reply(Reply((broken,), "length")))["output"]
    assert (item["status"], item["arguments"]) == ("incomplete", '{"a": ')


def test_a_call_whose_name_comes_late_is_told_when_it_has_one() -> None:
    encoder = OPENAI_RESPONSES.encoder()
    assert encoder.feed(CallDelta(0, id="a")) == encoder.feed(CallDelta(0, arguments="{")) == b""
    encoder.feed(CallDelta(0, "add", arguments="}"))
    call = ToolCall("a", "add", {}, raw="{}")
    encoder.feed(CallSaid(0, call))
    encoder.close(Reply((call,)))
    assert [item["arguments"] for item in objects(encoder.response["output"])] == ["{}"]


def test_a_call_without_a_name_is_told_all_the_same() -> None:
    call = ToolCall("a", "", {}, raw="{}")
    encoder = OPENAI_RESPONSES.encoder()
    wire = b"".join([encoder.feed(CallDelta(0, id="a", arguments="{}")), encoder.close(Reply((call,)))])
    assert [(said.id, said.raw) for said in OPENAI_RESPONSES.decode(wire).calls] == [("a", "{}")]


def announced(wire: bytes) -> list[str]:
    """The names under which calls begin."""
    items = [event["item"] for event in events_of(wire) if event["type"] == "response.output_item.added"]
    return [str(item["name"]) for item in items if isinstance(item, dict) and item["type"] == "function_call"]


def test_a_call_begins_with_its_whole_name_when_that_comes_in_pieces() -> None:
    encoder = OPENAI_RESPONSES.encoder()
    assert encoder.feed(CallDelta(0, "get_", id="a")) + encoder.feed(CallDelta(0, "weather")) == b""
    wire = encoder.feed(CallDelta(0, arguments="{"))
    assert announced(wire) == ["get_weather"]


def test_calls_begin_in_their_order_whichever_is_whole_first() -> None:
    encoder = OPENAI_RESPONSES.encoder()
    first, second = ToolCall("a", "f", {}, raw="{}"), ToolCall("b", "g", {}, raw="{}")
    waiting = encoder.feed(CallDelta(0, id="a")) + encoder.feed(CallSaid(1, second))  # whose name is not known yet
    assert waiting == b""
    wire = encoder.feed(CallDelta(0, "f")) + encoder.feed(CallSaid(0, first)) + encoder.close(Reply((first, second)))
    assert announced(wire) == ["f", "g"]
    assert OPENAI_RESPONSES.decode(wire).calls == (first, second)


def test_calls_that_share_an_id_are_told_apart() -> None:
    reply = Reply((BEIJING, BEIJING, ToolCall("", "get_news", {})))
    calls = OPENAI_RESPONSES.decode(OPENAI_RESPONSES.encode_reply(reply)).calls
    assert [call.id for call in calls] == ["call_abc123", "call_abc123_2", "call_2"]


def test_a_thought_of_another_api_travels_through_a_client_and_back() -> None:
    thoughts = (ReasoningPart("Hm", "EqQBCgIY", by="anthropic"), ReasoningPart("", "EmwKAhgB", True, "anthropic"))
    reply = Reply((*thoughts, BEIJING), "completed", id="resp_7")
    output = msgspec.json.decode(OPENAI_RESPONSES.encode_reply(reply))["output"]
    back = decoded(input=[{"role": "user", "content": "?"}, *output]).messages[1]
    assert isinstance(back, Reply)
    assert back.content == reply.content


def test_what_one_api_of_openai_said_is_told_by_the_other() -> None:
    reply = OPENAI_RESPONSES.decode(case("stream_incomplete_call"))
    chat = msgspec.json.decode(OPENAI_CHAT.encode_reply(reply))
    assert chat["choices"][0]["finish_reason"] == "length"


@pytest.mark.row("A1")
async def test_an_agent_sends_the_models_reasoning_back_beside_its_call_and_the_answer() -> None:
    @tool
    def get_weather(city: str) -> str:
        """The weather in a city."""
        return f"4 in {city}"

    first = Raw((case("stream_reasoning_encrypted_then_call"),), headers={"content-type": "text/event-stream"})
    with ChatServer([first, "It is 4."]) as server:
        model = open_model(f"{server.url}#gpt-5", dialect="openai_responses")
        result = await Agent(model, tools=[get_weather]).run("How is the weather in Oslo?")
    assert result.text == "It is 4."
    said = objects(server.requests[1].json["input"])
    assert said == [
        {"role": "user", "content": "How is the weather in Oslo?"},
        {"type": "reasoning", "summary": [], "id": "rs_1", "encrypted_content": "gAAAwhole"},
        {"type": "function_call", "call_id": "call_a", "name": "get_weather", "arguments": '{"city":"Oslo"}'},
        {"type": "function_call_output", "call_id": "call_a", "output": "4 in Oslo"},
    ]


# The official client, unmodified, over a real connection.


@pytest.mark.row("S3")
@pytest.mark.parametrize("way", ["create", "stream=True", "stream"])
async def test_the_official_client_reads_what_we_write(way: str) -> None:
    calls = (BEIJING, ToolCall("b", "get_news", {}, raw="{}"))
    said = Reply(
        (ReasoningPart("Hm.", "gAAA"), TextPart("I look."), *calls), usage=Usage(5, 3, 2, 1), model="m", id="resp_1"
    )
    with ChatServer([said]) as server:
        async with AsyncOpenAI(base_url=server.url, api_key="x", max_retries=0) as client:
            if way == "create":
                response = await client.responses.create(model="m", input="?")
            elif way == "stream=True":
                *_, last = [event async for event in await client.responses.create(model="m", input="?", stream=True)]
                assert last.type == "response.completed"
                response = last.response
            else:
                async with client.responses.stream(model="m", input="?") as stream:
                    kinds = [event.type async for event in stream]
                    response = await stream.get_final_response()
                assert kinds[0] == "response.created"
    Response.model_validate(
        response.model_dump(
            exclude={"output": {"__all__": {"content": {"__all__": {"parsed"}}, "parsed_arguments": True}}},
            by_alias=True,
            exclude_unset=True,
        )
    )
    assert response.output_text == "I look."
    assert [item.type for item in response.output] == ["reasoning", "message", "function_call", "function_call"]
    called = [item for item in response.output if item.type == "function_call"]
    assert [(call.call_id, call.name, call.arguments) for call in called] == [
        ("call_abc123", "get_weather", '{"city": "北京"}'),
        ("b", "get_news", "{}"),
    ]
    (thought,) = [item for item in response.output if item.type == "reasoning"]
    assert (thought.summary[0].text, thought.encrypted_content) == ("Hm.", "gAAA")
    assert response.usage is not None
    assert (response.usage.total_tokens, response.usage.input_tokens_details.cached_tokens) == (8, 2)


@pytest.mark.row("S3")
@pytest.mark.parametrize("name", WHOLE)
async def test_the_official_stream_helper_takes_what_is_streamed_on(name: str) -> None:
    decoder = OPENAI_RESPONSES.decoder()
    encoder = OPENAI_RESPONSES.encoder(id_="resp_1", model="m")
    told = [encoder.feed(delta) for event in case(name).split(b"\n\n") for delta in decoder.feed(event + b"\n\n")]
    told += [encoder.feed(delta) for delta in decoder.close()]
    wire = Raw((*told, encoder.close(decoder.reply)), headers={"content-type": "text/event-stream"})
    with ChatServer([wire]) as server:
        client = AsyncOpenAI(base_url=server.url, api_key="x", max_retries=0)
        async with client, client.responses.stream(model="m", input="?") as stream:
            events = [event async for event in stream]
    last = events[-1]
    assert last.type in ("response.completed", "response.incomplete")
    reply = decoder.reply
    called = [item for item in last.response.output if item.type == "function_call"]
    assert [(call.call_id, call.name) for call in called] == [(call.id, call.name) for call in reply.calls]
    texts = [part.text for part in reply.content if isinstance(part, TextPart)]
    assert last.response.output_text == "".join(texts)


async def test_the_official_client_is_told_of_an_answer_that_is_not_complete_and_of_a_refusal() -> None:
    with ChatServer([Reply((RefusalPart("No."),), "length", id="resp_1")]) as server:
        async with AsyncOpenAI(base_url=server.url, api_key="x", max_retries=0) as client:
            events = [event async for event in await client.responses.create(model="m", input="?", stream=True)]
    last = events[-1]
    assert last.type == "response.incomplete"
    assert last.response.incomplete_details is not None
    assert last.response.incomplete_details.reason == "max_output_tokens"
    (message,) = [item for item in last.response.output if item.type == "message"]
    assert message.content[0].type == "refusal"


async def test_what_the_official_client_sends_is_read() -> None:
    with ChatServer([Reply((BEIJING,), id="resp_1"), Reply.of("24.")]) as server:
        async with AsyncOpenAI(base_url=server.url, api_key="x", max_retries=0) as client:
            first = await client.responses.create(
                model="m",
                instructions="Be brief.",
                input="?",
                tools=[
                    {"type": "function", "name": "get_weather", "parameters": {**WEATHER.parameters}, "strict": True}
                ],
                tool_choice={"type": "function", "name": "get_weather"},
            )
            said = [msgspec.convert(item.to_dict(), JsonObject) for item in first.output]
            output: JsonObject = {"type": "function_call_output", "call_id": "call_abc123", "output": "24"}
            items: list[JsonObject] = [{"role": "user", "content": "?"}, *said, output]
            await client.post("/responses", cast_to=Response, body={"model": "m", "input": items})
    asked, again = [OPENAI_RESPONSES.decode_request(request.body) for request in server.requests]
    assert asked.messages == [SystemMessage("Be brief."), UserMessage.of("?")]
    assert (asked.tool_choice, [tool.name for tool in asked.tools]) == (NamedTool("get_weather"), ["get_weather"])
    assert again.messages[1:] == [
        Reply((BEIJING,)),
        ToolMessage("get_weather", ToolResult("call_abc123", (TextPart("24"),))),
    ]
