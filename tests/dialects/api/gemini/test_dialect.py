"""The Gemini API, read and written. How it is reached is in `test_catalog` of the models."""

from __future__ import annotations

import contextlib
from pathlib import Path

import msgspec
import pytest
from google import genai
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st

from actum.core.call import Failure, MediaPart, TextPart, ToolCall, ToolResult
from actum.core.errors import ModelError, UsageError
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
from actum.dialects.api.gemini.dialect import GEMINI_CONTENT, GeminiContent
from tests.chat_server import ChatServer
from tests.dialects import api_corpus
from tests.dialects.api_corpus import paths_of

CASES = paths_of("gemini_content")
WEATHER = Tool(
    name="get_weather",
    description="The weather in a city.",
    parameters={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
NEWS = Tool(name="get_news", description="The news.")
QUESTION = UserMessage.of("How is the weather in 北京?")
BEIJING = ToolCall("call_0", "get_weather", {"city": "北京"}, raw='{"city":"北京"}')


# Reading an answer.


def test_a_call_is_told_with_the_event_that_it_stands_in() -> None:
    (path,) = paths_of("gemini_content", "stream_calls_in_two_events")
    decoder = GEMINI_CONTENT.decoder()
    told = [decoder.feed(event + b"\r\n\r\n") for event in path.read_bytes().split(b"\r\n\r\n") if event]
    assert [[type(delta) for delta in deltas] for deltas in told] == [[CallDelta, CallSaid], [CallDelta, CallSaid], []]


FIELDS = (
    *("candidates", "content", "parts", "text", "thought", "thoughtSignature", "functionCall", "name", "args", "id"),
    *(
        "partialArgs",
        "jsonPath",
        "stringValue",
        "willContinue",
        "inlineData",
        "data",
        "mimeType",
        "fileData",
        "fileUri",
    ),
    *("finishReason", "finishMessage", "index", "usageMetadata", "promptFeedback", "blockReason", "error", "code"),
)


@given(api_corpus.any_json(FIELDS))
def test_an_answer_of_any_shape_reads_or_is_a_model_error(value: Json) -> None:
    for shape in (
        value,
        {"candidates": [{"content": value}]},
        {"candidates": [{"content": {"parts": [value]}, "finishReason": value}]},
        {"candidates": [{"content": {"parts": [{"functionCall": value}]}}], "promptFeedback": value},
        {"candidates": [{"content": {"parts": [{"functionCall": {"partialArgs": [value]}}]}}]},
    ):
        for wire in (msgspec.json.encode(shape), b"data: %s\n\n" % msgspec.json.encode(shape)):
            with contextlib.suppress(ModelError):
                GEMINI_CONTENT.decode(wire)


RETRY_INFO = (
    b'{"error":{"code":429,"message":"slow down","status":"RESOURCE_EXHAUSTED","details":['
    b'{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.5s"}]}}'
)


def test_the_body_of_an_error_says_when_to_come_back() -> None:
    assert GEMINI_CONTENT.decode_error(429, None, RETRY_INFO).retry_after == 34.5
    assert GEMINI_CONTENT.decode_error(429, None, b"[%s]" % RETRY_INFO).retry_after == 34.5
    assert GEMINI_CONTENT.decode_error(429, None, b"oops").retry_after is None


# Writing a request.


def body(request: Request, dialect: GeminiContent = GEMINI_CONTENT) -> JsonObject:
    return msgspec.json.decode(dialect.encode_request(request), type=JsonObject)


def objects(value: Json) -> list[JsonObject]:
    return msgspec.convert(value, list[JsonObject])


def an_object(value: Json) -> JsonObject:
    return msgspec.convert(value, JsonObject)


def contents_of(messages: list[Message]) -> list[JsonObject]:
    return objects(body(Request(messages=messages))["contents"])


def parts_of(content: JsonObject) -> list[JsonObject]:
    return objects(content["parts"])


@pytest.mark.row("S5")
def test_a_call_and_its_answer_go_out_byte_by_byte_as_the_api_shows_them() -> None:
    answer = ToolMessage("get_weather", ToolResult("call_0", structured={"temperature": 24}))
    messages: list[Message] = [SystemMessage("Be brief."), QUESTION, Reply((BEIJING,)), answer]
    assert GEMINI_CONTENT.encode_request(Request(messages=messages, tools=(WEATHER,), model="m")).decode() == (
        '{"systemInstruction":{"parts":[{"text":"Be brief."}]},"contents":['
        '{"role":"user","parts":[{"text":"How is the weather in 北京?"}]},'
        '{"role":"model","parts":[{"functionCall":{"name":"get_weather","args":{"city":"北京"}}}]},'
        '{"role":"user","parts":[{"functionResponse":{"name":"get_weather","response":{"temperature":24}}}]}],'
        '"tools":[{"functionDeclarations":[{"name":"get_weather","description":"The weather in a city.",'
        '"parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}]}]}'
    )


@pytest.mark.parametrize(
    ("choice", "written"),
    [
        ("auto", None),
        ("none", {"mode": "NONE"}),
        ("required", {"mode": "ANY"}),
        (NamedTool("get_news"), {"mode": "ANY", "allowedFunctionNames": ["get_news"]}),
        (
            AllowedTools(("get_news", "get_weather"), "required"),
            {"mode": "ANY", "allowedFunctionNames": ["get_news", "get_weather"]},
        ),
        (AllowedTools(("get_news",)), {"mode": "VALIDATED", "allowedFunctionNames": ["get_news"]}),
        (AllowedTools(()), {"mode": "NONE"}),
    ],
)
def test_each_tool_choice_is_written_and_the_tools_stay(choice: ToolChoice, written: Json) -> None:
    asked = body(Request(messages=[QUESTION], tools=(WEATHER, NEWS), tool_choice=choice))
    assert asked.get("toolConfig") == (written and {"functionCallingConfig": written})
    declarations = objects(objects(asked["tools"])[0]["functionDeclarations"])
    assert [item["name"] for item in declarations] == ["get_weather", "get_news"]
    assert "parameters" not in declarations[1]


def test_strict_means_that_calls_fit_their_schemas_also_where_the_model_may_choose() -> None:
    asked = body(Request(messages=[QUESTION], tools=(NEWS,)), GeminiContent(strict=True))
    assert asked["toolConfig"] == {"functionCallingConfig": {"mode": "VALIDATED"}}


def test_options_are_written_and_extras_are_put_together_with_ours() -> None:
    request = Request(
        messages=[QUESTION],
        tools=(NEWS,),
        stop=("\n\n", *"abcdef"),
        output_schema={"type": "object", "properties": {"n": {"type": "integer"}}},
        max_tokens=5,
        temperature=0.0,
        stream=True,
        model="gemini-3-pro",
        extras={
            "generationConfig": {"topK": 3, "temperature": 1},
            "tools": [{"googleSearch": {}}],
            "cachedContent": "c",
        },
    )
    asked = body(request)
    del asked["contents"]
    assert asked == {
        "tools": [{"functionDeclarations": [{"name": "get_news", "description": "The news."}]}, {"googleSearch": {}}],
        "generationConfig": {"temperature": 1, "maxOutputTokens": 5, "stopSequences": ["\n\n", *"abcd"], "topK": 3},
        "cachedContent": "c",
    }
    newer = an_object(body(request, GeminiContent(schema_beside_tools=True))["generationConfig"])
    assert newer["responseMimeType"] == "application/json"
    assert newer["responseSchema"] == request.output_schema


def test_answers_stand_alone_in_the_content_after_the_calls_with_ids_where_names_are_not_enough() -> None:
    calls = (BEIJING, ToolCall("call_1", "get_weather", {"city": "东京"}), ToolCall("x-7", "get_news", {}))
    failed = ToolResult("call_1", error=Failure("unavailable", "The service does not answer."))
    messages: list[Message] = [
        QUESTION,
        Reply((TextPart("I look."), *calls)),
        ToolMessage("get_weather", failed),
        ToolMessage("get_weather", ToolResult("call_0", (TextPart("24 °C"),))),
        UserMessage.of("And tomorrow?"),
        UserMessage.of("Please."),
    ]
    written = contents_of(messages)
    assert [content["role"] for content in written] == ["user", "model", "user", "user"]
    assert [an_object(part["functionCall"]).get("id") for part in parts_of(written[1])[1:]] == [
        "call_0",
        "call_1",
        "x-7",
    ]
    assert [part["functionResponse"] for part in parts_of(written[2])] == [
        {"id": "call_1", "name": "get_weather", "response": {"error": "The service does not answer."}},
        {"id": "call_0", "name": "get_weather", "response": {"output": "24 °C"}},
        {"id": "x-7", "name": "get_news", "response": {"error": "There is no result of this call."}},
    ]
    assert parts_of(written[3]) == [{"text": "And tomorrow?"}, {"text": "Please."}]


@pytest.mark.parametrize(
    ("result", "response"),
    [
        (ToolResult("call_0", structured={"n": 1}), {"n": 1}),
        (ToolResult("call_0", structured={"output": 1, "n": 2}), {"output": {"output": 1, "n": 2}}),
        (ToolResult("call_0", structured=[1, None]), {"output": [1, None]}),
        (ToolResult("call_0", structured=None), {"output": None}),
        (ToolResult("call_0"), {"output": ""}),
        (ToolResult("call_0", (TextPart("a"), TextPart("b")), structured=1), {"output": "a\nb"}),
    ],
)
def test_every_value_of_a_tool_becomes_an_object(result: ToolResult, response: Json) -> None:
    written = contents_of([QUESTION, Reply((BEIJING,)), ToolMessage("get_weather", result)])
    assert an_object(parts_of(written[2])[0]["functionResponse"])["response"] == response


def test_an_answer_to_no_call_is_written_as_text() -> None:
    (written,) = contents_of([QUESTION, ToolMessage("get_news", ToolResult("gone", (TextPart("Nothing."),)))])
    assert parts_of(written)[1] == {"text": "[result of get_news] Nothing."}


def test_instructions_stand_in_front_and_later_ones_where_they_were_said() -> None:
    messages: list[Message] = [SystemMessage("One."), SystemMessage("Two."), QUESTION, SystemMessage("Three.")]
    asked = body(Request(messages=messages))
    assert asked["systemInstruction"] == {"parts": [{"text": "One."}, {"text": "Two."}]}
    (content,) = objects(asked["contents"])
    assert [part["text"] for part in parts_of(content)] == [QUESTION.text, "Three."]


def test_media_are_written_with_their_handles_also_in_answers() -> None:
    parts = (
        TextPart("Look:"),
        MediaPart("image/png", b"\x89PNG", handle="att_1"),
        MediaPart("video/mp4", url="https://example.org/a.mp4"),
        MediaPart("audio/mpeg", b"ID3"),
    )
    answer = ToolMessage("draw", ToolResult("call_0", parts[:2]))
    written = contents_of([UserMessage(parts), Reply((ToolCall("call_0", "draw", {}),)), answer])
    png = {"inlineData": {"mimeType": "image/png", "data": "iVBORw=="}}
    assert parts_of(written[0]) == [
        {"text": "Look:"},
        {"text": "[att_1: image/png, 4 bytes]"},
        png,
        {"fileData": {"mimeType": "video/mp4", "fileUri": "https://example.org/a.mp4"}},
        {"inlineData": {"mimeType": "audio/mpeg", "data": "SUQz"}},
    ]
    assert parts_of(written[2])[0]["functionResponse"] == {
        "name": "draw",
        "response": {"output": "Look:\n[att_1: image/png, 4 bytes]"},
        "parts": [png],
    }


@pytest.mark.parametrize(
    "name",
    [
        *("whole_call_signature", "whole_thought_with_signature", "whole_text_signature", "whole_code_execution"),
        *("whole_image", "whole_file", "whole_call_with_id", "whole_two_candidates"),
    ],
)
def test_what_a_model_said_goes_back_as_it_came(name: str) -> None:
    (path,) = paths_of("gemini_content", name)
    candidates = objects(msgspec.json.decode(path.read_bytes())["candidates"])
    said = an_object(next(item for item in candidates if not item["index"])["content"])["parts"]
    written = parts_of(contents_of([QUESTION, GEMINI_CONTENT.decode(path.read_bytes())])[1])
    assert [_without_made_id(part) for part in written] == said


def _without_made_id(part: JsonObject) -> JsonObject:
    """Of two calls of one tool, an id of ours tells which is which."""
    call = part.get("functionCall")
    if isinstance(call, dict) and str(call.get("id")).startswith("call_"):
        return {**part, "functionCall": {name: value for name, value in call.items() if name != "id"}}
    return part


def test_a_thought_without_signature_and_thoughts_of_others_stay_away() -> None:
    said = Reply((ReasoningPart("hm"), ReasoningPart("", "cmVk", redacted=True), TextPart(""), RefusalPart("No.")))
    assert parts_of(contents_of([QUESTION, said])[1]) == [{"text": "No."}]


def test_names_are_put_in_the_form_that_the_api_takes_and_come_back() -> None:
    search = Tool(name="查客户")
    call = ToolCall("call_0", search.name, {})
    messages: list[Message] = [QUESTION, Reply((call,)), ToolMessage(search.name, ToolResult("call_0", structured=1))]
    asked = body(Request(messages=messages, tools=(search,), tool_choice=NamedTool(search.name)))
    text = msgspec.json.encode(asked).decode()
    name = str(objects(objects(asked["tools"])[0]["functionDeclarations"])[0]["name"])
    assert text.count(f'"{name}"') == 4
    wire = msgspec.json.encode({"candidates": [{"content": {"parts": [{"functionCall": {"name": name}}]}}]})
    assert GEMINI_CONTENT.decode(wire, tools=(search,)).calls[0].name == search.name


def test_a_transcript_is_written_like_a_list_however_it_grew() -> None:
    turn: list[Message] = [Reply((BEIJING, BEIJING)), *[ToolMessage("get_weather", ToolResult("call_0"))] * 2]
    messages: list[Message] = [SystemMessage("Hi."), QUESTION, *turn, *turn, QUESTION, QUESTION, Reply.of("Done.")]
    transcript = Transcript()
    for count, message in enumerate(messages, 1):
        transcript.append(message)
        grown = GEMINI_CONTENT.encode_request(Request(messages=transcript))
        assert grown == GEMINI_CONTENT.encode_request(Request(messages=messages[:count]))


# Reading a request.


def decoded(**fields: Json) -> Request:
    return GEMINI_CONTENT.decode_request(msgspec.json.encode({"contents": [], **fields}))


@pytest.mark.parametrize(
    ("written", "choice"),
    [
        (None, "auto"),
        ({"mode": "AUTO"}, "auto"),
        ({"mode": "VALIDATED"}, "auto"),
        ({"mode": "NONE"}, "none"),
        ({"mode": "any"}, "required"),
        ({"mode": "ANY", "allowedFunctionNames": ["a"]}, NamedTool("a")),
        ({"mode": "ANY", "allowed_function_names": ["a", "b"]}, AllowedTools(("a", "b"), "required")),
        ({"mode": "VALIDATED", "allowedFunctionNames": ["a"]}, AllowedTools(("a",))),
    ],
)
def test_every_form_of_tool_choice_is_read(written: Json, choice: ToolChoice) -> None:
    tools: Json = [{"function_declarations": [{"name": "a"}, {"name": "b"}]}, {"googleSearch": {}}]
    request = decoded(tools=tools, toolConfig={"functionCallingConfig": written, "retrievalConfig": {}})
    assert request.tool_choice == choice
    assert [tool.name for tool in request.tools] == ["a", "b"]
    assert request.extras == {"tools": [{"googleSearch": {}}], "toolConfig": {"retrievalConfig": {}}}


def test_a_request_comes_back_as_it_was_written() -> None:
    content = (TextPart("a"), MediaPart("image/png", b"1"), MediaPart("video/mp4", url="https://example.org/a"))
    call = msgspec.structs.replace(BEIJING, signature="c2ln")
    request = Request(
        messages=[
            SystemMessage("Be brief."),
            UserMessage(content),
            Reply(
                (
                    ReasoningPart("hm", "c2ln", by="gemini"),
                    TextPart("Well."),
                    call,
                    ToolCall("x", "get_news", {}, raw="{}"),
                )
            ),
            ToolMessage("get_weather", ToolResult("call_0", (TextPart("4"),))),
            ToolMessage("get_news", ToolResult("x", structured={"n": 1})),
            Reply.of("Cold."),
            UserMessage.of("Thanks"),
        ],
        tools=(WEATHER,),
        tool_choice=AllowedTools(("get_weather",)),
        stop=("a", "b"),
        max_tokens=5,
        temperature=0.5,
        extras={"generationConfig": {"topK": 3}, "safetySettings": []},
    )
    assert GEMINI_CONTENT.decode_request(GEMINI_CONTENT.encode_request(request)) == request
    schema: JsonObject = {"type": "object", "properties": {"n": {"type": "integer"}}}
    asked = Request(messages=[QUESTION], output_schema=schema)
    assert GEMINI_CONTENT.decode_request(GEMINI_CONTENT.encode_request(asked)) == asked


def test_answers_find_their_calls_by_id_or_by_name_and_order() -> None:
    calls: Json = [
        {"function_call": {"name": "f", "args": {"n": 1}}},
        {"functionCall": {"name": "f", "args": {"n": 2}}},
        {"functionCall": {"name": "g", "id": "x"}},
    ]
    answers: Json = [
        {"functionResponse": {"name": "g", "id": "x", "response": {"error": "no"}}},
        {"function_response": {"name": "f", "response": {"output": "one"}}},
        {"functionResponse": {"name": "f", "response": {"n": 2}}},
        {"functionResponse": {"name": "f", "response": {"output": 3}}},
        {"text": "Go on."},
    ]
    messages = decoded(contents=[{"role": "model", "parts": calls}, {"role": "function", "parts": answers}]).messages
    assert messages[1:] == [
        ToolMessage("g", ToolResult("x", error=Failure("tool_error", "no"))),
        ToolMessage("f", ToolResult("call_0", (TextPart("one"),))),
        ToolMessage("f", ToolResult("call_1", structured={"n": 2})),
        ToolMessage("f", ToolResult("", structured=3)),
        UserMessage.of("Go on."),
    ]


def test_a_schema_of_the_api_is_read_as_json_schema() -> None:
    schema: Json = {
        "type": "OBJECT",
        "properties": {
            "min_items": {"type": "ARRAY", "items": {"type": "STRING"}, "min_items": "1"},
            "n": {"anyOf": [{"type": "INTEGER"}, {"type": "NUMBER"}]},
            "s": {"type": "STRING", "nullable": True, "enum": ["a"]},
        },
        "propertyOrdering": ["s"],
    }
    (tool,) = decoded(tools=[{"functionDeclarations": [{"name": "f", "parameters": schema}]}]).tools
    assert tool.parameters == {
        "type": "object",
        "properties": {
            "min_items": {"type": "array", "items": {"type": "string"}, "minItems": 1},
            "n": {"anyOf": [{"type": "integer"}, {"type": "number"}]},
            "s": {"type": ["string", "null"], "enum": ["a", None]},
        },
    }


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"contents": None}, "contents: array was expected, null came"),
        ({"contents": [1]}, "contents[0]: object was expected, integer came"),
        ({"contents": [{"role": "robot"}]}, "contents[0].role"),
        ({"contents": [{"parts": [5]}]}, "contents[0].parts[0]"),
        ({"contents": [{"parts": [{"film": 1}]}]}, "contents[0].parts[0]"),
        ({"contents": [{"parts": [{"inlineData": {"data": "?"}}]}]}, "contents[0].parts[0].inlineData.data"),
        ({"contents": [{"parts": [{"functionResponse": {}}]}]}, "contents[0].parts[0].functionResponse.name"),
        ({"systemInstruction": 5}, "systemInstruction"),
        ({"tools": [{"functionDeclarations": [{"name": "a b"}]}]}, "tools[0].functionDeclarations[0]"),
        ({"toolConfig": {"functionCallingConfig": {"mode": "MAYBE"}}}, "toolConfig.functionCallingConfig.mode"),
        ({"generationConfig": {"temperature": "hot"}}, "generationConfig.temperature"),
        ({"generationConfig": {"maxOutputTokens": "5"}}, "maxOutputTokens: integer was expected"),
    ],
)
def test_a_wrong_request_is_told_the_place(fields: JsonObject, place: str) -> None:
    with pytest.raises(UsageError) as raised:
        decoded(**fields)
    assert place in str(raised.value)


@given(api_corpus.any_json((*FIELDS, "role", "functionResponse", "response", "functionDeclarations", "parameters")))
def test_a_request_of_any_shape_reads_or_is_a_usage_error(value: Json) -> None:
    for wire in (
        value,
        {"contents": value},
        {"contents": [{"role": "user", "parts": value}, {"role": "model", "parts": value}], "systemInstruction": value},
        {"contents": [], "tools": [value], "toolConfig": value, "generationConfig": value},
        {"contents": [], "tools": [{"functionDeclarations": [{"name": "f", "parameters": value}]}]},
    ):
        with contextlib.suppress(UsageError):
            GEMINI_CONTENT.decode_request(msgspec.json.encode(wire))


# Writing an answer.


def a_joint(before: ReplyPart, part: ReplyPart) -> bool:
    """Two parts that a stream tells as one."""
    return (
        type(before) is type(part)
        and isinstance(part, TextPart | ReasoningPart)
        and not getattr(before, "signature", "")
    )


@st.composite
def replies(draw: st.DrawFn) -> Reply:
    """Replies in any order of parts; what is refused comes last, as this API tells it."""
    signed = st.builds(ReasoningPart, api_corpus.text, st.just("c2ln"), by=st.just("gemini"))
    thought = signed | st.builds(ReasoningPart, api_corpus.text)
    media = st.sampled_from([MediaPart("image/png", b"1"), MediaPart("video/mp4", url="https://example.org/a")])
    said: list[ReplyPart] = draw(st.lists(thought | media | st.builds(TextPart, api_corpus.text), max_size=4))
    calls = [
        msgspec.structs.replace(call, signature=draw(st.sampled_from(["", "QQ=="]))) for call in draw(api_corpus.calls)
    ]
    order = iter(calls)
    mixed: list[ReplyPart] = draw(st.permutations([*said, *calls]))
    parts: list[ReplyPart] = []
    for part in mixed:
        part_in_order = next(order) if isinstance(part, ToolCall) else part
        if not parts or not a_joint(parts[-1], part_in_order):
            parts.append(part_in_order)
    refusal: list[ReplyPart] = draw(st.lists(st.builds(RefusalPart, api_corpus.text), max_size=1))
    cached, rest, thoughts, out = draw(st.tuples(*[st.integers(0, 9)] * 4))
    extras: JsonObject = draw(st.sampled_from([{}, {"safetyRatings": []}, {"usageMetadata": {"trafficType": "x"}}]))
    usage = Usage(cached + rest, thoughts + out, cached, thoughts)
    return Reply((*parts, *refusal), "SAFETY" if refusal else "STOP", usage, "m", "id", extras)


@given(replies())
def test_what_is_written_is_read_whole_and_streamed(reply: Reply) -> None:
    assert GEMINI_CONTENT.decode(GEMINI_CONTENT.encode_reply(reply)) == reply
    assert GEMINI_CONTENT.decode(GEMINI_CONTENT.encoder(id_="id", model="m").close(reply)) == reply


@given(replies())
def test_what_a_decoder_tells_can_be_streamed_on(reply: Reply) -> None:
    wire = GEMINI_CONTENT.encoder(id_="id", model="m").close(reply)
    encoder, decoder = GEMINI_CONTENT.encoder(id_="id", model="m"), GEMINI_CONTENT.decoder()
    passed = b"".join([encoder.feed(delta) for n in range(len(wire)) for delta in decoder.feed(wire[n : n + 1])])
    passed += b"".join([encoder.feed(delta) for delta in decoder.close()]) + encoder.close(decoder.reply)
    again = GEMINI_CONTENT.decode(passed)
    assert (again.calls, again.text, again.reasoning) == (reply.calls, reply.text, reply.reasoning)
    assert (again.finish_reason, again.usage, again.extras) == (reply.finish_reason, reply.usage, reply.extras)


@api_corpus.cases("gemini_content")
def test_every_answer_of_the_corpus_can_be_told_again(path: Path) -> None:
    reply = GEMINI_CONTENT.decode(path.read_bytes())
    if all(call.complete and call.raw for call in reply.calls) and reply.finish_reason:
        written = GEMINI_CONTENT.encode_reply(reply)
        expected = msgspec.structs.replace(reply, finish_reason=GEMINI_CONTENT.decode(written).finish_reason)
        assert GEMINI_CONTENT.decode(written) == expected
        streamed = GEMINI_CONTENT.encoder(id_=reply.id, model=reply.model).close(reply)
        assert GEMINI_CONTENT.decode(streamed) == expected


def test_the_signature_of_a_text_that_was_streamed_follows_it_alone() -> None:
    extras: JsonObject = {"gemini_parts": {"beside": {"0": {"thoughtSignature": "QQ=="}}}}
    encoder = GEMINI_CONTENT.encoder()
    wire = encoder.feed(TextDelta("Hi")) + encoder.close(Reply((TextPart("Hi"),), "STOP", extras=extras))
    reply = GEMINI_CONTENT.decode(wire)
    assert reply.text == "Hi"
    assert reply.extras == {"gemini_parts": {"alone": {"1": {"text": "", "thoughtSignature": "QQ=="}}}}


@pytest.mark.parametrize(
    ("reply", "written"),
    [
        (Reply((BEIJING,), "tool_calls"), "STOP"),
        (Reply.of("a"), "STOP"),
        (Reply((TextPart("a"),), "length"), "MAX_TOKENS"),
        (Reply((TextPart("a"),), "max_tokens"), "MAX_TOKENS"),
        (Reply((TextPart("a"),), "refusal"), "SAFETY"),
        (Reply((RefusalPart("a"),), "stop"), "SAFETY"),
        (Reply((RefusalPart("a"),), "BLOCKLIST"), "BLOCKLIST"),
        (Reply((TextPart("a"),), "pause_turn"), "OTHER"),
        (Reply((TextPart("a"),), "max_output_tokens"), "MAX_TOKENS"),
    ],
)
def test_the_finish_reason_is_one_that_clients_of_this_api_know(reply: Reply, written: str) -> None:
    assert msgspec.json.decode(GEMINI_CONTENT.encode_reply(reply))["candidates"][0]["finishReason"] == written


@pytest.mark.parametrize("streamed", [False, True])
def test_a_call_that_broke_off_is_never_written_as_one(streamed: bool) -> None:
    broken = ToolCall("a", "f", {}, raw='{"a": ', complete=False)
    reply = Reply((TextPart("Well."), broken), "length")
    encoder = GEMINI_CONTENT.encoder()
    wire = encoder.feed(CallSaid(0, broken)) + encoder.close(reply) if streamed else GEMINI_CONTENT.encode_reply(reply)
    again = GEMINI_CONTENT.decode(wire)
    assert (again.text, again.calls, again.finish_reason) == ("Well.", (), "MALFORMED_FUNCTION_CALL")
    assert again.extras == {"finishMessage": 'Malformed function call: f({"a": )'}


def test_thoughts_and_calls_are_streamed_with_their_signatures() -> None:
    encoder = GEMINI_CONTENT.encoder()
    call = msgspec.structs.replace(BEIJING, signature="QQ==")
    fed: list[Delta] = [
        ReasoningDelta("a"),
        ReasoningDelta("b", "c2ln"),
        CallDelta(0, "get_weather"),
        CallSaid(0, call),
        CallSaid(0, call),
    ]
    wire = b"".join([encoder.feed(delta) for delta in fed]) + encoder.close(Reply((call,)))
    assert GEMINI_CONTENT.decode(wire).content == (ReasoningPart("a"), ReasoningPart("b", "c2ln", by="gemini"), call)


# The official client, over a real connection, reads what we write, and we read what it asks.


async def as_the_sdk_reads(reply: Reply, *, streamed: bool) -> tuple[list[types.GenerateContentResponse], Request]:
    with ChatServer([reply]) as server:
        options = types.HttpOptions(base_url=server.url.removesuffix("/v1"), api_version="v1beta")
        client = genai.Client(api_key="x", http_options=options).aio
        parameters = types.Schema(type=types.Type.OBJECT, properties={"city": types.Schema(type=types.Type.STRING)})
        declared = types.FunctionDeclaration(name="get_weather", description="w", parameters=parameters)
        config = types.GenerateContentConfig(
            system_instruction="Be brief.",
            temperature=0.5,
            max_output_tokens=9,
            tools=[types.Tool(function_declarations=[declared])],
            tool_config=types.ToolConfig(
                function_calling_config=types.FunctionCallingConfig(mode=types.FunctionCallingConfigMode.ANY)
            ),
        )
        asked: list[types.ContentUnion] = [
            types.Content(role="user", parts=[types.Part.from_bytes(data=b"\xfb\xff", mime_type="image/png")])
        ]
        if streamed:
            stream = await client.models.generate_content_stream(model="gemini-x", contents=asked, config=config)
            found = [chunk async for chunk in stream]
        else:
            found = [await client.models.generate_content(model="gemini-x", contents=asked, config=config)]
        await client.aclose()
    return found, GEMINI_CONTENT.decode_request(server.requests[0].body)


@pytest.mark.row("S5")
@pytest.mark.parametrize("streamed", [False, True])
async def test_the_official_client_reads_everything_as_we_write_it(streamed: bool) -> None:
    call = msgspec.structs.replace(BEIJING, signature="c2ln")
    content = (ReasoningPart("Hm.", "c2ln"), TextPart("I look."), call, MediaPart("image/png", b"1"))
    reply = Reply((*content, ToolCall("b", "get_news", {})), usage=Usage(9, 3, 4, 1), model="m", extras={"note": "x"})
    chunks, request = await as_the_sdk_reads(reply, streamed=streamed)
    candidates = [candidate for chunk in chunks for candidate in chunk.candidates or []]
    parts = [part for item in candidates if item.content for part in item.content.parts or []]
    assert (parts[0].text, parts[0].thought, parts[0].thought_signature) == ("Hm.", True, b"sig")
    assert parts[1].text == "I look."
    calls = [part.function_call for part in parts if part.function_call]
    assert [(call.id, call.name, call.args) for call in calls] == [
        ("call_0", "get_weather", {"city": "北京"}),
        ("b", "get_news", {}),
    ]
    assert parts[2].thought_signature == b"sig"
    assert parts[3].inline_data is not None
    assert parts[3].inline_data.data == b"1"
    assert candidates[-1].finish_reason is types.FinishReason.STOP
    usage = chunks[-1].usage_metadata
    assert usage is not None
    assert (usage.prompt_token_count, usage.candidates_token_count, usage.thoughts_token_count) == (9, 2, 1)
    assert usage.cached_content_token_count == 4
    assert request == Request(
        messages=[SystemMessage("Be brief."), UserMessage((MediaPart("image/png", b"\xfb\xff"),))],
        tools=(
            Tool(
                name="get_weather",
                description="w",
                parameters={"type": "object", "properties": {"city": {"type": "string"}}},
            ),
        ),
        tool_choice="required",
        max_tokens=9,
        temperature=0.5,
    )


@pytest.mark.parametrize("streamed", [False, True])
async def test_the_official_client_reads_a_refusal_as_we_write_it(streamed: bool) -> None:
    chunks, _ = await as_the_sdk_reads(Reply((RefusalPart("I won't."),)), streamed=streamed)
    (candidate,) = chunks[-1].candidates or []
    assert candidate.finish_reason is types.FinishReason.SAFETY
    assert chunks[-1].prompt_feedback is not None
    assert chunks[-1].prompt_feedback.block_reason_message == "I won't."


def test_one_object_is_read_for_a_list_of_one_as_google_writes_it_for_curl() -> None:
    one = {"system_instruction": {"parts": {"text": "You are a cat."}}, "contents": {"parts": {"text": "Hi."}}}
    several = {"systemInstruction": {"parts": [{"text": "You are a cat."}]}, "contents": [{"parts": [{"text": "Hi."}]}]}
    read = GEMINI_CONTENT.decode_request(msgspec.json.encode(one))
    assert read == GEMINI_CONTENT.decode_request(msgspec.json.encode(several))
    assert [message.text for message in read.messages] == ["You are a cat.", "Hi."]  # type: ignore[union-attr]
    with pytest.raises(UsageError, match="contents: array was expected, string came"):
        GEMINI_CONTENT.decode_request(b'{"contents": "Hi."}')
