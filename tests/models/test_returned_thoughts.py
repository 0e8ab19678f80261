"""What an endpoint of Chat Completions put beside a call goes back to it, and to nobody else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import anthropic
import msgspec
import pytest

from actum import Agent, tool
from actum.core.call import ToolResult
from actum.core.json import Json, JsonObject, dumps
from actum.core.message import Message, Reply, ToolMessage, UserMessage
from actum.core.model import Request
from actum.dialects.api.openai_chat.dialect import OPENAI_CHAT
from actum.dialects.transcode.transcode import transcode
from actum.models import open_model
from actum.models.catalog import place_of
from actum.models.endpoint import Endpoint
from actum.server.models.upstream import ModelRoute, ModelUpstream
from tests.chat_server import ChatServer, Raw, Said
from tests.patience import HANGS_S
from tests.server.models.gateway import gateway

SIGNATURE: JsonObject = {"google": {"thought_signature": "sig-1"}}
DETAILS: list[Json] = [
    {"type": "reasoning.text", "index": 0, "format": "anthropic-claude-v1", "text": "Look ", "id": None},
    {"type": "reasoning.text", "index": 0, "text": "it up.", "signature": "sig-2"},
    {"type": "reasoning.encrypted", "index": 1, "id": "call_1", "data": "abc"},
]
MERGED: list[Json] = [
    {
        "type": "reasoning.text",
        "index": 0,
        "format": "anthropic-claude-v1",
        "text": "Look it up.",
        "id": None,
        "signature": "sig-2",
    },
    DETAILS[2],
]
PARTS: list[Json] = [
    {"type": "thinking", "thinking": [{"type": "text", "text": "Look it up."}], "closed": True, "signature": "sig-3"},
    {"type": "text", "text": "I look."},
    {"type": "thinking", "thinking": [{"type": "text", "text": "In Rome."}]},
]
"""The thoughts are parts of the content, and so is what is said between them."""
CASES: dict[str, tuple[JsonObject, JsonObject]] = {
    "reasoning_content": ({"reasoning_content": "Look it up."}, {}),
    "reasoning": ({"reasoning": "Look it up."}, {}),
    "reasoning_details": ({"reasoning": "Look it up.", "reasoning_details": MERGED}, {}),
    "extra_content": ({}, {"extra_content": SIGNATURE}),
    "parts of the content": ({"content": PARTS}, {}),
    "all of them": ({"reasoning_content": "Look.", "extra_content": {"v": [1]}}, {"extra_content": SIGNATURE}),
}
"""What stands in the message, and in the call."""
UNKNOWN: JsonObject = {"note": "of our own"}
"""A field that nobody knows: it never goes back."""
Api = Callable[[JsonObject], Said]


@tool(effects={"read"})
def look(city: str) -> str:
    """Look."""
    return f"{city} is fine"


def said(case: str, *, stream: bool) -> Raw:
    """The first answer, with a call."""
    fields, beside = CASES[case]
    function: JsonObject = {"name": "look", "arguments": '{"city": "Rome"}'}
    calls: list[Json] = [{"index": 0, "id": "call_1", "type": "function", "function": function, **beside}]
    head: JsonObject = {"id": "chatcmpl-1", "model": "m"}
    if not stream:
        message: JsonObject = {"role": "assistant", "content": None, **UNKNOWN, **fields, "tool_calls": calls}
        choices: list[Json] = [{"index": 0, "message": message, "finish_reason": "tool_calls"}]
        return Raw((dumps({**head, "choices": choices}).encode(),))
    pieces: list[JsonObject] = [{"role": "assistant", "content": "", **UNKNOWN}]
    for name, value in fields.items():
        if name == "reasoning_details":
            pieces += [{name: [each]} for each in DETAILS]
        elif name == "content":
            pieces += [{name: [piece]} for part in PARTS for piece in pieces_of(cast(JsonObject, part))]
        elif isinstance(value, str):
            pieces += [{name: letter} for letter in value]
        else:
            pieces.append({name: value})
    pieces.append({"tool_calls": calls})
    events: list[JsonObject] = [
        {**head, "choices": [{"index": 0, "delta": piece, "finish_reason": None}]} for piece in pieces
    ]
    end: JsonObject = {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
    written = [f"data: {dumps(event)}\n\n".encode() for event in [*events, end]]
    return Raw((*written, b"data: [DONE]\n\n"))


def pieces_of(part: JsonObject) -> list[JsonObject]:
    """A part of the content letter by letter; what stands beside a thought comes last."""
    if part["type"] == "text":
        return [{"type": "text", "text": letter} for letter in str(part["text"])]
    (thought,) = cast(list[JsonObject], part["thinking"])
    letters: list[JsonObject] = [
        {"type": "thinking", "thinking": [{**thought, "text": letter}]} for letter in str(thought["text"])
    ]
    return [*letters, {**part, "thinking": []}]


def strange_in(past: JsonObject) -> dict[str, Json]:
    """What of a message is no field that every endpoint of Chat Completions takes."""
    inside: JsonObject = {"content": past["content"]} if isinstance(past["content"], list) else {}
    return {name: past[name] for name in past.keys() - {"role", "content", "tool_calls"}} | inside


def refusal(words: str) -> Raw:
    return Raw((dumps({"error": {"message": words, "type": "invalid_request_error"}}).encode(),), status=400)


def wants(case: str) -> Api:
    """An endpoint that refuses the second step where what it said does not come back as it was."""
    fields, beside = CASES[case]

    def api(body: JsonObject) -> Said:
        past = past_of(body)
        if past is None:
            return said(case, stream=bool(body.get("stream")))
        call = cast(JsonObject, cast(list[Json], past["tool_calls"])[0])
        found = strange_in(past)
        if found != fields or {name: call[name] for name in call.keys() - {"id", "type", "function"}} != beside:
            return refusal("Function call is missing a thought_signature in functionCall parts")
        return "It is fine."

    return api


def refuses(case: str) -> Api:
    """An endpoint that takes none of these fields back, though it says them itself."""

    def api(body: JsonObject) -> Said:
        past = past_of(body)
        if past is None:
            return said(case, stream=bool(body.get("stream")))
        (call,) = cast(list[JsonObject], past["tool_calls"])
        strange = strange_in(past).keys() | (call.keys() - {"id", "type", "function"})
        if strange:
            return refusal(f"'messages.1' : property '{min(strange)}' is unsupported")
        return "It is fine."

    return api


def _request(history: Sequence[Message]) -> Request:
    return Request(messages=history, model="m")


def past_of(body: JsonObject) -> JsonObject | None:
    messages = cast(list[JsonObject], body["messages"])
    return next((message for message in messages if message.get("tool_calls")), None)


@pytest.mark.parametrize("case", CASES)
async def test_an_endpoint_that_no_row_knows_gets_what_it_said_beside_a_call(case: str) -> None:
    for stream in (False, True):
        with ChatServer(wants(case)) as server:
            agent = Agent(open_model(f"{server.url}#m"), [look])
            result = await agent.run("Rome?", conversation="c", emit=(lambda event: None) if stream else None)
            assert result.text == "It is fine.", (case, stream)
            assert (await agent.run("Sure?", conversation="c")).text == "It is fine."


@pytest.mark.parametrize("case", CASES)
async def test_an_endpoint_that_refuses_it_is_asked_once_without_and_never_with_it_again(case: str) -> None:
    with ChatServer(refuses(case)) as server:
        for times in (1, 2):
            result = await Agent(open_model(f"{server.url}#m"), [look]).run("Rome?")
            assert (result.status, result.text) == ("done", "It is fine.")
            assert len(server.requests) == 1 + 2 * times


async def test_a_refusal_that_has_another_cause_stays_as_it_is_and_forgets_no_thoughts() -> None:
    def api(body: JsonObject) -> Said:
        past = past_of(body)
        return said("reasoning", stream=False) if past is None else refusal("your account has no credit")

    with ChatServer(api) as server:
        model = Endpoint(server.url, "m", native=True)
        with pytest.raises(Exception, match="no credit"):
            await Agent(model, [look]).run("Rome?")
    assert isinstance(model.dialect, type(OPENAI_CHAT))
    assert model.dialect.returned


def test_it_goes_to_nobody_else_and_what_another_api_can_not_be_told_is_listed() -> None:
    for case, (fields, beside) in CASES.items():
        at = Endpoint("http://one.test/v1", "m").dialect
        wire = b"".join(said(case, stream=False).body)
        reply = at.decode(wire)
        history: list[Message] = [
            UserMessage.of("Rome?"),
            reply,
            ToolMessage("look", ToolResult(reply.calls[0].id, structured="fine")),
        ]
        request = {
            (url, model): Endpoint(url, model).dialect.encode_request(_request(history)).decode()
            for url, model in (("http://one.test/v1", "m"), ("http://one.test/v1", "n"), ("http://two.test/v1", "m"))
        }
        own = past_of(msgspec.json.decode(request["http://one.test/v1", "m"]))
        assert own is not None
        (call,) = cast(list[JsonObject], own["tool_calls"])
        assert strange_in(own) == fields
        assert {name: call[name] for name in beside} == beside
        for place in (("http://one.test/v1", "n"), ("http://two.test/v1", "m")):
            message = past_of(msgspec.json.decode(request[place]))
            assert message is not None
            assert message.keys() == {"role", "content", "tool_calls"}
            assert strange_in(message) == {}
        groq = place_of("groq:m", key="k").dialect
        assert "sig-" not in groq.encode_request(_request(history)).decode()
        assert msgspec.json.decode(msgspec.json.encode(reply), type=Reply) == reply
        assert reply.extras == UNKNOWN
        body = OPENAI_CHAT.encode_request(_request(history[:1]))
        past = msgspec.json.decode(wire)["choices"][0]["message"]
        asked = {**msgspec.json.decode(body), "messages": [{"role": "user", "content": "Rome?"}, past]}
        for target in ("anthropic", "gemini", "responses"):
            told = transcode(dumps(asked).encode(), OPENAI_CHAT, target, kind="request")
            lost = " ".join(str(loss) for loss in told.lost)
            is_text = fields.keys() <= {"reasoning", "reasoning_content"} and not beside
            assert ("Look it up." if is_text else "means something only to the API that made it") in lost, (case, lost)


def thought(text: str, **more: Json) -> JsonObject:
    return {"type": "thinking", "thinking": [{"type": "text", "text": text}], **more}


@pytest.mark.parametrize(
    "parts",
    [
        [thought("One."), thought("Two.")],
        [thought("One.", closed=True), thought("Two.", signature="s"), thought("Three.")],
        [thought("One."), {"type": "text", "text": "Said."}, thought("Two.", signature="s"), thought("Three.")],
    ],
)
def test_thoughts_side_by_side_go_back_as_they_came(parts: list[Json]) -> None:
    dialect = Endpoint("http://one.test/v1", "m").dialect
    call: JsonObject = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    message: JsonObject = {"role": "assistant", "content": parts, "tool_calls": [call]}
    reply = dialect.decode(dumps({"id": "1", "model": "m", "choices": [{"index": 0, "message": message}]}).encode())
    answer = ToolMessage("look", ToolResult(reply.calls[0].id, structured="fine"))
    past = past_of(msgspec.json.decode(dialect.encode_request(_request([UserMessage.of("Rome?"), reply, answer]))))
    assert past is not None
    assert past["content"] == parts


def event_of(delta: JsonObject, reason: str | None = None) -> JsonObject:
    return {"id": "1", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}


def test_the_signature_of_a_thought_without_a_call_is_kept_and_not_sent() -> None:
    parts: list[JsonObject] = [thought("One.", signature="sig-4"), {"type": "text", "text": "Said."}]
    dialect = Endpoint("http://one.test/v1", "m").dialect
    message: JsonObject = {"role": "assistant", "content": [*parts]}
    events = [event_of({"content": [piece]}) for part in parts for piece in pieces_of(part)] + [event_of({}, "stop")]
    stream = b"".join(f"data: {dumps(event)}\n\n".encode() for event in events) + b"data: [DONE]\n\n"
    decoder = dialect.decoder()
    decoder.feed(stream)
    decoder.close()
    body = dumps({"id": "1", "model": "m", "choices": [{"index": 0, "message": message}]}).encode()
    for wire, reply in ((body, dialect.decode(body)), (stream, decoder.reply)):
        assert "sig-4" in reply.content[0].signature  # type: ignore[union-attr]
        assert (reply.reasoning, reply.text) == ("One.", "Said.")
        assert b"sig-4" not in dialect.encode_request(_request([UserMessage.of("Rome?"), reply, UserMessage.of("?")]))
        told = transcode(wire, OPENAI_CHAT, "anthropic")
        assert b'"signature":"' in told.wire.replace(b'"signature":""', b"")
        assert "sig-4" not in str(told.lost)


def told_thoughts(case: str, *, is_first: bool) -> list[str]:
    """The thoughts that a client is told, each in a block of its own. No block is there for a signature alone."""
    if case == "extra_content" or not is_first:
        return []
    return {"all of them": ["Look."], "parts of the content": ["Look it up.", "In Rome."]}.get(case, ["Look it up."])


@pytest.mark.parametrize("kind", ["wants", "refuses"])
@pytest.mark.parametrize("case", CASES)
async def test_it_passes_through_a_client_of_messages_at_the_gateway(case: str, kind: str) -> None:
    api = wants(case) if kind == "wants" else refuses(case)
    tools = [{"name": "look", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}}]
    with ChatServer(api) as server:
        place = place_of(f"{server.url}#m")
        async with gateway({"fast": ModelRoute([ModelUpstream("one", place, timeout_s=HANGS_S)])}) as served:
            client: Any = anthropic.AsyncAnthropic(base_url=served.url, api_key="none")
            for stream in (False, True):
                answer: Any = None
                messages: list[object] = [{"role": "user", "content": "Rome?"}]
                for _ in range(2):
                    asked = {"model": "fast", "max_tokens": 99, "messages": messages, "tools": tools}
                    if stream:
                        async with client.messages.stream(**asked) as answers:
                            answer = await answers.get_final_message()
                    else:
                        answer = await client.messages.create(**asked)
                    messages.append({"role": "assistant", "content": answer.content})
                    call = next((block for block in answer.content if block.type == "tool_use"), None)
                    thoughts = [block for block in answer.content if block.type == "thinking"]
                    assert [block.thinking for block in thoughts if case != "extra_content"] == told_thoughts(
                        case, is_first=call is not None
                    )
                    if kind == "wants":  # who refuses thoughts gets none back, and so signs none
                        assert [bool(block.signature) for block in thoughts] == [True, False][: len(thoughts)]
                    if call is not None:
                        result = {"type": "tool_result", "tool_use_id": call.id, "content": "fine"}
                        messages.append({"role": "user", "content": [result]})
                assert answer.content[-1].text == "It is fine."
            await client.close()
    assert len(server.requests) == (4 if kind == "wants" else 5)
