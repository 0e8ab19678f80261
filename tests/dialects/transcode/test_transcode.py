"""Any API's words in any other's: requests, answers and streams, heard by the official clients; nothing lost unsaid."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Sequence
from pathlib import Path

import anthropic
import msgspec
import openai
import pytest
from google.genai import errors as google
from hypothesis import given, settings
from hypothesis import strategies as st

import actum
from actum.core.call import Failure, MediaPart, TextPart, ToolCall, ToolResult
from actum.core.errors import ModelGarbled, ModelUnavailable, UnknownName, UsageError
from actum.core.event import CallDelta, TextDelta
from actum.core.json import Json, JsonObject
from actum.core.message import Message, Reply, SystemMessage, ToolMessage, Usage, UserMessage
from actum.core.model import Request
from actum.core.tool import NamedTool, Tool
from actum.dialects import dialect
from actum.dialects.api.openai_chat.dialect import OpenAiChat
from actum.dialects.base import ApiDialect
from actum.dialects.catalog import ApiName, text_dialect
from actum.dialects.tool_names import OPENAI_NAME
from actum.dialects.transcode.transcode import (
    Transcoded,
    Transcoder,
    kind_of,
    transcode,
)
from tests.chat_server import ChatServer, Raw
from tests.dialects.api_corpus import CORPUS
from tests.effort import effort
from tests.official_clients import Heard, official_client

NAMES: tuple[ApiName, ...] = ("anthropic_messages", "gemini_content", "openai_chat", "openai_responses")
APIS: dict[str, ApiDialect] = {name: dialect(name) for name in NAMES}
PAIRS = list(itertools.product(APIS, APIS))
OTHERS = list(itertools.permutations(APIS, 2))
EVENTS = {"content-type": "text/event-stream"}


def wires(source: str, part: str = "") -> list[Path]:
    return sorted(path for path in (CORPUS / source).glob("*.wire") if part in path.stem)


# Every answer of the corpora, heard by the official client of each other API.

RAISED = (openai.APIError, anthropic.APIError, google.APIError)
DESCRIBED = {"whole_file", "whole_image"}
"""Hold media, which not every API has a place for: they are then described in the text."""


def spoken(reply: Reply) -> str:
    return "".join([part.text for part in reply.content if isinstance(part, TextPart)])


def complaint(path: Path, reply: Reply, heard: Heard) -> str | None:
    """What a client heard other than it was said; what it makes of calls that broke off is its own matter."""
    said = [(call.name, call.arguments) for call in reply.calls if call.complete]
    whole = [call for call in heard.calls if call in said]
    if said != whole or len(heard.calls) > len(reply.calls):
        return f"{path.stem}: {said} was heard as {heard.calls}"
    if spoken(reply) != heard.text and path.stem not in DESCRIBED:
        return f"{path.stem}: {spoken(reply)!r} was heard as {heard.text!r}"
    return None


@pytest.mark.row("S9")
@pytest.mark.parametrize(("source", "target"), OTHERS)
async def test_the_official_client_hears_what_another_api_streamed(source: str, target: str) -> None:
    paths = wires(source)
    told = [transcode(path.read_bytes(), source, target, kind="stream") for path in paths]
    complaints: list[str | None] = []
    with ChatServer([Raw((found.wire,), headers=EVENTS) for found in told]) as server:
        async with official_client(target, server.url) as ask:
            for path, found in zip(paths, told, strict=True):
                reply = APIS[source].decode(path.read_bytes())
                if found.error is not None:
                    with pytest.raises(RAISED, match=re.escape(str(found.error))):
                        await ask(streamed=True)
                elif target == "anthropic_messages" and any(call.repairs and call.raw for call in reply.calls):
                    # Pieces that were sent can't be taken back, and this client parses them itself.
                    with contextlib.suppress(ValueError):
                        await ask(streamed=True)
                else:
                    complaints.append(complaint(path, reply, await ask(streamed=True)))
    assert [found for found in complaints if found] == []


@pytest.mark.row("S9")
@pytest.mark.parametrize(("source", "target"), OTHERS)
async def test_the_official_client_hears_what_another_api_answered(source: str, target: str) -> None:
    paths = wires(source, "whole_")
    told = [transcode(path.read_bytes(), source, target) for path in paths]

    assert {found.kind for found in told} == {"response"}
    with ChatServer([Raw((found.wire,), headers={"content-type": "application/json"}) for found in told]) as server:
        async with official_client(target, server.url) as ask:
            heard = [await ask(streamed=False) for _ in paths]
    complaints = [complaint(p, APIS[source].decode(p.read_bytes()), h) for p, h in zip(paths, heard, strict=True)]
    assert [found for found in complaints if found] == []


CUT_AT = ("stream_parallel_calls", "stream_thinking", "stream_name_split", "stream_refusal", "stream_partial_arguments")


@pytest.mark.row("S9")
@pytest.mark.parametrize("target", APIS)
@pytest.mark.parametrize("path", [p for name in APIS for p in wires(name) if p.stem in CUT_AT], ids=lambda p: p.stem)
def test_a_stream_says_the_same_wherever_it_is_cut(path: Path, target: str) -> None:
    wire, source = path.read_bytes(), path.parent.name
    whole = transcode(wire, source, target)
    assert whole.kind == "stream"
    for place in range(0, len(wire) + 1, 7):
        transcoder = Transcoder(source, target)
        told = transcoder.feed(wire[:place]) + transcoder.feed(wire[place:]) + transcoder.close()
        assert (told, transcoder.lost, transcoder.error) == (whole.wire, whole.lost, None)


@pytest.mark.parametrize("target", APIS)
@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
def test_what_came_before_an_error_is_told_in_any_cut(target: str, line_end: bytes) -> None:
    begun = APIS["openai_chat"].encoder(id_="x", model="m").feed(TextDelta("I look."))
    wire = (begun + b'data: {"error": {"message": "too busy", "code": "429"}}\n\n').replace(b"\n", line_end)
    whole = transcode(wire, "openai", target)
    assert b"I look." in whole.wire
    assert b"too busy" in whole.wire
    assert isinstance(whole.error, ModelUnavailable)
    transcoder = Transcoder("openai", target)
    pieces = [transcoder.feed(wire[n : n + 1]) for n in range(len(wire))]
    more = b"" if target == "openai_chat" else b"more"  # to the same API it would go through
    assert b"".join([*pieces, transcoder.feed(more), transcoder.close()]) == whole.wire


def test_a_stream_is_passed_on_as_it_comes() -> None:
    encoder, transcoder = APIS["anthropic_messages"].encoder(), Transcoder("anthropic", "responses")
    for word in ("one", "two", "three"):
        assert f'"delta":"{word}"'.encode() in transcoder.feed(encoder.feed(TextDelta(word)))
    said = transcoder.feed(encoder.feed(CallDelta(0, "f", '{"a":', "x")))
    assert b'"name":"f"' in said
    assert rb"{\"a\":" in said


@pytest.mark.parametrize("target", APIS)
def test_a_stream_that_broke_off_does_not_look_whole(target: str) -> None:
    wire = (CORPUS / "openai_chat/stream_cut_in_arguments.wire").read_bytes()
    found = transcode(wire, "openai", target)
    assert isinstance(found.error, ModelUnavailable)
    with pytest.raises(ModelUnavailable, match="broke off"):
        APIS[target].decode(found.wire)


# Requests and answers of any shape, between any two APIs.

words = st.sampled_from(['{"}', "<tool_call>", "data: [DONE]", '\\"', "北京🌤", "```json"]) | st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=6
)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
arguments: st.SearchStrategy[JsonObject] = st.one_of(
    st.just(JsonObject()), st.dictionaries(words, values, max_size=3), st.just({"a": {"b": {"c": [[{"d": {}}]]}}})
)
said_calls = st.lists(st.tuples(st.sampled_from(["get_weather", "f"]), arguments), max_size=5)


def calls_of(said: list[tuple[str, JsonObject]], first: int = 0) -> list[ToolCall]:
    return [
        ToolCall(f"id_{first + n}", name, found, msgspec.json.encode(found).decode())
        for n, (name, found) in enumerate(said)
    ]


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    messages: list[Message] = [SystemMessage(draw(words)), UserMessage.of(draw(words))]
    count = 0
    for _ in range(draw(st.integers(0, 2))):
        calls = calls_of(draw(said_calls), count)
        count += len(calls)
        text = draw(words)
        messages.append(Reply((TextPart(text), *calls)))
        messages += [ToolMessage(call.name, ToolResult(call.id, (TextPart(draw(words)),))) for call in calls]
        messages.append(UserMessage.of(draw(words)))
    return messages


def essence(messages: Sequence[Message]) -> list[object]:
    """What was said and done in a conversation, whatever ids it goes by."""
    found: list[object] = []
    for message in messages:
        match message:
            case SystemMessage(text) | UserMessage((TextPart(text),)):
                found.append(text)
            case Reply():
                found += [message.text, [(call.name, call.arguments) for call in message.calls]]
            case ToolMessage(name, result):
                found.append((name, result.text))
            case _:
                raise AssertionError(message)
    return found


TOOLS = (
    Tool(
        name="get_weather",
        description="The weather.",
        parameters={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    ),
    Tool(name="f", parameters={"type": "object", "properties": {}}),
)


@pytest.mark.row("S9")
@settings(max_examples=15)
@pytest.mark.parametrize(("source", "target"), PAIRS)
@given(messages=conversations(), temperature=st.sampled_from([None, 0.5]))
def test_a_conversation_reads_the_same_in_every_api(
    source: str, target: str, messages: list[Message], temperature: float | None
) -> None:
    asked = Request(messages=messages, tools=TOOLS, temperature=temperature, max_tokens=9, tool_choice=NamedTool("f"))
    found = transcode(APIS[source].encode_request(asked), source, target)
    heard = APIS[target].decode_request(found.wire)
    assert found.kind == "request"
    assert essence(heard.messages) == essence(messages)
    assert (heard.tools, heard.temperature, heard.max_tokens) == (TOOLS, temperature, 9)
    assert heard.tool_choice == NamedTool("f")
    assert found.lost == ()


@pytest.mark.row("S9")
@settings(max_examples=25)
@pytest.mark.parametrize(("source", "target"), PAIRS)
@given(text=words, said=said_calls)
def test_an_answer_reads_the_same_in_every_api(
    source: str, target: str, text: str, said: list[tuple[str, JsonObject]]
) -> None:
    reply = Reply((TextPart(text), *calls_of(said)), usage=Usage(5, 4, 3, 2), model="m", id="x")
    found = transcode(APIS[source].encode_reply(reply), source, target)
    heard = APIS[target].decode(found.wire)
    assert [(call.id, call.name, call.arguments, call.complete) for call in heard.calls] == [
        (call.id, call.name, call.arguments, True) for call in reply.calls
    ]
    assert (heard.text, heard.usage, heard.model, heard.id) == (text, reply.usage, "m", "x")
    assert found.lost == ()


# What is lost.


def lost(found: Transcoded) -> set[str]:
    return {loss.where for loss in found.lost}


def asked(source: str, **fields: Json) -> bytes:
    body: JsonObject = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}], **fields}
    return msgspec.json.encode(body)


@pytest.mark.row("S9")
@pytest.mark.parametrize(
    ("source", "target", "fields", "places"),
    [
        ("anthropic", "openai", {"top_k": 5}, {"top_k"}),
        ("anthropic", "gemini", {"top_k": 5}, {"model"}),
        ("anthropic", "openai", {"thinking": {"budget_tokens": 9}}, {"thinking.budget_tokens"}),
        ("anthropic", "openai", {"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, {"tools[0]"}),
        ("anthropic", "responses", {"stop_sequences": ["a", "b"]}, {"stop[0]", "stop[1]"}),
        ("openai", "gemini", {"stop": list("123456"), "stream": True}, {"stop[5]", "model", "stream"}),
        ("openai", "anthropic", {"seed": 1, "logprobs": True, "n": 2}, {"seed", "logprobs", "n"}),
        ("openai", "responses", {"metadata": {"a.b": "c"}, "reasoning_effort": "low"}, set()),
        ("openai", "openai", {"seed": 1, "logit_bias": {"5": 1}, "stream_options": {}}, set()),
        ("openai", "functions", {"parallel_tool_calls": False}, {"parallel_calls"}),
    ],
)
def test_an_option_that_the_target_does_not_have_is_in_the_list(
    source: str, target: str, fields: JsonObject, places: set[str]
) -> None:
    tools: JsonObject = {"tools": [{"type": "function", "function": {"name": "f"}}]} if source == "openai" else {}
    assert lost(transcode(asked(source, **(tools | fields)), source, target)) == places


def test_marks_for_the_cache_and_details_of_an_image_are_in_the_list() -> None:
    marked: JsonObject = {"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral"}}
    cached: Json = [{"role": "user", "content": [marked]}]
    assert lost(transcode(asked("anthropic", messages=cached), "anthropic", "openai")) == {
        "messages[0].content[0].cache_control"
    }
    assert lost(transcode(asked("anthropic", messages=cached), "anthropic", "anthropic")) == set()
    image: JsonObject = {"url": "https://example.org/a.png", "detail": "low"}
    looked: Json = [{"role": "user", "content": [{"type": "image_url", "image_url": image}]}]
    places = lost(transcode(asked("openai", messages=looked), "openai", "anthropic"))
    assert places == {"messages[0].content[0].image_url.detail"}


def said_in(source: ApiName, messages: list[Message], tools: tuple[Tool, ...] = ()) -> bytes:
    return APIS[source].encode_request(Request(messages=messages, tools=tools, model="m"))


def test_what_a_conversation_loses_is_in_the_list() -> None:
    call = ToolCall("a.b", "f", {}, raw="{}", signature="QQ==")
    answer = ToolResult("a.b", (TextPart("no"), MediaPart("image/png", b"1")))
    late: list[Message] = [Reply((TextPart("?"), call)), ToolMessage("f", answer), SystemMessage("Late.")]
    wire = said_in("gemini_content", [UserMessage((MediaPart("audio/wav", b"1"),)), *late, UserMessage.of("Go")], TOOLS)
    whys = {loss.where: loss.why for loss in transcode(wire, "gemini", "anthropic", model="m").lost}
    assert whys == {
        "messages[0].content[0]": "anthropic_messages takes no such media here; they are described in words",
        "messages[1].calls[0].id": "anthropic_messages gives calls ids of its own form",
        "messages[1].calls[0].signature": "it means something only to the API that made it",
    }


@pytest.mark.parametrize("target", ["openai", "responses"])
def test_a_failed_call_is_told_in_words_where_there_is_no_mark_for_it(target: str) -> None:
    answer = ToolMessage("f", ToolResult("a", error=Failure("x", "No.")))
    wire = said_in("anthropic_messages", [UserMessage.of("?"), Reply.of(calls=[ToolCall("a", "f", {})]), answer])
    found = transcode(wire, "anthropic", target)
    assert b"No." in found.wire
    assert lost(found) == {"messages[2].result.error"}


def test_a_name_that_the_target_refuses_goes_by_another_and_comes_back() -> None:
    tool = Tool(name="查天气", description="The weather.")
    wire = said_in("openai_chat", [UserMessage.of("?"), Reply.of("I look.", [ToolCall("a", "查天气", {})])], (tool,))
    found = transcode(wire, "openai", "anthropic")
    assert lost(found) == {"tools[0].name"}
    stand_in = APIS["anthropic_messages"].decode_request(found.wire).tools[0].name
    answer = APIS["anthropic_messages"].encode_reply(Reply.of(calls=[ToolCall("a", stand_in, {})]))
    back = transcode(answer, "anthropic", "openai", tools=[tool])
    assert APIS["openai_chat"].decode(back.wire).calls[0].name == "查天气"
    hosted = transcode(wire, "openai", OpenAiChat(name_pattern=OPENAI_NAME))
    assert stand_in.encode() in hosted.wire


def test_rules_of_a_schema_are_in_the_list_unless_they_are_said_in_another_way() -> None:
    parameters: JsonObject = {
        "type": "object",
        "properties": {"n": {"type": "integer", "exclusiveMinimum": 0}, "kind": {"$ref": "#/$defs/kind"}},
        "$defs": {"kind": {"type": "string", "const": "a", "title": "Kind"}},
    }
    wire = said_in("openai_chat", [UserMessage.of("?")], (Tool(name="f", parameters=parameters, strict=True),))
    found = transcode(wire, "openai", "gemini")
    assert [(loss.where, loss.what) for loss in found.lost] == [
        ("model", '"m"'),
        ("tools[0].strict", "strict"),
        ("tools[0].parameters.n", "exclusiveMinimum: 0"),
    ]


ASKING: JsonObject = {"messages": [{"role": "user", "content": "Hi."}], "max_tokens": 9}
STRANGE_CHOICES: list[tuple[ApiName, JsonObject]] = [
    ("openai_chat", {**ASKING, "tool_choice": "pay"}),
    ("openai_chat", {**ASKING, "function_call": {"name": "pay"}}),
    ("openai_chat", {**ASKING, "tool_choice": {"type": "function", "function": {"name": "pay"}}}),
    ("openai_responses", {"input": "Hi.", "tool_choice": {"type": "custom", "name": "pay"}}),
    ("anthropic_messages", {**ASKING, "tool_choice": {"type": "tool", "name": "pay"}}),
    (
        "gemini_content",
        {
            "contents": [{"parts": [{"text": "Hi."}]}],
            "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["pay"]}},
        },
    ),
]
"""A request that names a tool which it does not bring: an agent may have one of this name, a model has not."""


@pytest.mark.parametrize(("source", "body"), STRANGE_CHOICES)
def test_a_choice_of_a_tool_that_the_request_does_not_bring_is_refused(source: ApiName, body: JsonObject) -> None:
    target: ApiName = "anthropic_messages" if source != "anthropic_messages" else "openai_chat"
    with pytest.raises(UsageError, match="tool_choice: 'pay' is neither"):
        transcode(msgspec.json.encode({"model": "m", **body}), dialect(source), dialect(target), kind="request")


def test_a_choice_among_some_tools_is_in_the_list_where_only_these_are_shown() -> None:
    choice: JsonObject = {"mode": "auto", "tools": [{"type": "function", "function": {"name": "f"}}]}
    declared: Json = [{"type": "function", "function": {"name": name}} for name in ("f", "g", "h")]
    wire = asked("openai", tools=declared, tool_choice={"type": "allowed_tools", "allowed_tools": choice})
    assert lost(transcode(wire, "openai", "anthropic")) == {"tools[1]", "tools[2]", "tool_choice"}
    assert lost(transcode(wire, "openai", "gemini")) == {"model"}


def test_the_form_of_an_answer_is_carried_and_its_absence_told() -> None:

    schema: JsonObject = {"type": "object", "properties": {"a": {"type": "string"}}}
    form: JsonObject = {"type": "json_schema", "json_schema": {"name": "x", "strict": True, "schema": schema}}
    wire = asked("openai", response_format=form)
    assert lost(transcode(wire, "openai", "anthropic")) == {"response_format.json_schema.name"}
    assert lost(transcode(wire, "openai", "gemini")) == {"model", "response_format.json_schema.name"}
    there = transcode(wire, "openai", "responses")
    assert (lost(there), lost(transcode(there.wire, "responses", "openai"))) == (set(), set())
    written = msgspec.json.decode(there.wire)["text"]["format"]
    assert written == {"type": "json_schema", "name": "x", "strict": True, "schema": schema}
    back = msgspec.json.decode(transcode(there.wire, "responses", "openai").wire)
    assert back["response_format"] == form
    with_tools = asked("openai", response_format=form, tools=[{"function": {"name": "f"}}])
    assert "output_schema" in lost(transcode(with_tools, "openai", "gemini"))
    plain = transcode(asked("openai", response_format={"type": "json_object"}), "openai", "gemini")
    assert b'"responseMimeType":"application/json"' in plain.wire


@pytest.mark.parametrize(
    ("case", "target", "places"),
    [
        ("anthropic_messages/stream_thinking", "openai", {"reply.content[0].signature"}),
        ("anthropic_messages/stream_thinking", "gemini", set()),
        (
            "openai_responses/stream_reasoning_encrypted_then_call",
            "anthropic",
            {"service_tier", "created_at", "instructions", "reasoning.effort"},
        ),
        (
            "gemini_content/whole_blocked_prompt",
            "openai",
            {"usageMetadata.promptTokensDetails", "reply.finish_reason"},
        ),
        ("openai_responses/whole_image", "openai", {"reply.content[0]", "instructions", "reasoning.effort"}),
        ("openai_responses/whole_image", "gemini", {"created_at", "instructions", "reasoning.effort"}),
        ("openai_chat/stream_refusal", "anthropic", {"created", "system_fingerprint"}),
    ],
)
def test_what_an_answer_loses_is_in_the_list(case: str, target: str, places: set[str]) -> None:
    wire = (CORPUS / f"{case}.wire").read_bytes()
    assert lost(transcode(wire, case.partition("/")[0], target)) == places


# Text, kinds, errors, names.

SAID = 'I look.\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "北京"}}\n</tool_call>'


@pytest.mark.row("S9")
@pytest.mark.parametrize("target", APIS)
def test_what_a_model_wrote_as_text_becomes_an_answer_of_an_api_whole_and_streamed(target: str) -> None:
    whole = transcode(SAID, "hermes", target, tools=TOOLS, model="m")
    transcoder = Transcoder("hermes", target, tools=TOOLS, model="m")
    streamed = b"".join([*map(transcoder.feed, SAID), transcoder.close()])
    for wire in (whole.wire, streamed):
        reply = APIS[target].decode(wire)
        assert (reply.text, reply.model) == ("I look.", "m")
        assert [(call.name, call.arguments) for call in reply.calls] == [("get_weather", {"city": "北京"})]
    assert transcoder.error is None


@pytest.mark.row("S9")
@pytest.mark.parametrize("target", APIS)
def test_no_call_is_sent_that_may_prove_to_be_thought(target: str) -> None:
    thought = SAID.replace("look", "could look") + "\nNo."
    transcoder = Transcoder("hermes", target, tools=TOOLS, model="m")
    sent = b"".join([transcoder.feed(word + " ") for word in thought.split(" ")])
    assert b"could" in sent
    assert b"get_weather" not in sent
    sent += b"".join(map(transcoder.feed, "</think>\nIt rains.\n" + SAID)) + transcoder.close()
    reply = APIS[target].decode(sent)
    assert (reply.text, reply.reasoning) == ("I could look.\n\nIt rains.\nI look.", "")
    assert [call.arguments for call in reply.calls] == [{"city": "北京"}]
    (told,) = [loss for loss in transcoder.lost if "sent as text" in loss.why]
    assert (told.where, told.what) == ("reasoning", "I could look.")


@pytest.mark.parametrize("target", APIS)
def test_behind_a_thought_that_was_closed_calls_are_sent_as_they_come(target: str) -> None:
    transcoder = Transcoder("hermes", target, tools=TOOLS, model="m")
    transcoder.feed("<think>Hm.</think>")
    sent = b"".join(map(transcoder.feed, SAID))
    assert b"get_weather" in sent
    unsettled = Transcoder("hermes", target, tools=TOOLS, model="m")
    assert b"get_weather" not in b"".join(map(unsettled.feed, SAID))
    assert b"get_weather" in unsettled.close()


def test_an_answer_of_an_api_is_written_as_a_model_would() -> None:
    answer = APIS["openai_chat"].encode_reply(
        Reply.of("I look.", [ToolCall("call_0", "get_weather", {"city": "北京"})])
    )
    found = transcode(answer, "openai", "hermes", tools=TOOLS)
    reply = text_dialect("hermes").decode(found.wire, tools=TOOLS)
    assert (reply.text, reply.calls[0].arguments) == ("I look.", {"city": "北京"})
    assert lost(found) == {"reply.id"}


@pytest.mark.parametrize(("source", "kind"), [("hermes", "request"), ("openai", "request"), ("openai", "stream")])
def test_a_way_to_write_calls_in_text_has_no_requests_and_no_streams(source: str, kind: str) -> None:
    with pytest.raises(UsageError, match="hermes is a way to write calls in text"):
        transcode(asked("openai"), source, "hermes", kind="stream" if kind == "stream" else "request")


@pytest.mark.parametrize(
    ("wire", "kind"),
    [
        (b' {"messages": []}', "request"),
        (b'{"input": "Hi"}', "request"),
        (b'\xef\xbb\xbf{"contents": []}', "request"),
        (b'{"choices": []}', "response"),
        (b'{"error": {}}', "response"),
        (b'{"choices": [', "response"),
        (b"[5", "stream"),
        (b"\n: ping\n\n", "stream"),
        (b"event: message_start", "stream"),
    ],
)
def test_what_comes_in_says_itself_what_it_is(wire: bytes, kind: str) -> None:
    assert kind_of(wire, APIS["openai_chat"]) == kind


def test_nothing_is_no_request() -> None:
    with pytest.raises(UsageError, match="nothing to read"):
        transcode(b" \n", "openai", "anthropic")


@pytest.mark.parametrize("target", APIS)
def test_an_error_stays_an_error(target: str) -> None:
    found = transcode(b'{"error": {"message": "Slow.", "type": "rate_limit_error"}}', "openai", target)
    assert isinstance(found.error, ModelUnavailable)
    assert found.error.status == 429
    assert "Slow." in str(APIS[target].decode_error(429, None, found.wire))


def test_what_is_no_answer_is_refused() -> None:
    with pytest.raises(ModelGarbled):
        transcode(b'{"a": 1}', "openai", "anthropic")
    with pytest.raises(UsageError, match=r"messages\[0\]"):
        transcode(b'{"messages": [5]}', "openai", "anthropic")
    with pytest.raises(UnknownName, match="klingon"):
        transcode(b"{}", "klingon", "anthropic")


STREAMED = [("openai", "responses"), ("responses", "openai"), ("responses", "anthropic"), ("responses", "gemini")]


def calls_in_events(number: int) -> bytes:
    """A stream of Chat Completions: a call in each event."""
    calls = (
        b'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"id":"c%d","type":"function","function":'
        b'{"name":"f%d","arguments":"{}"}}]}}]}\n\n' % (n, n, n % 3)
        for n in range(number)
    )
    return b"".join(calls) + b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'


@pytest.mark.parametrize(("source", "target"), STREAMED)
def test_the_work_of_a_stream_grows_as_its_calls_do(source: str, target: str) -> None:
    spent: list[int] = []
    for number in (100, 400):
        wire = calls_in_events(number)
        if source != "openai":
            wire = transcode(wire, "openai", source, kind="stream").wire
        with effort() as one:
            found = transcode(wire, source, target, kind="stream")
        assert found.error is None
        spent.append(one.calls)
    assert spent[1] < 5 * spent[0]


def test_it_is_at_hand_in_the_package() -> None:
    assert actum.transcode is transcode
    assert actum.Transcoder is Transcoder
