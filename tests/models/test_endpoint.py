"""An endpoint over a real connection: the true bytes, whole and streamed, and everything that goes wrong on the way."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import threading

import msgspec
import pytest
from msgspec import structs

from actum import Agent, tool
from actum.core.call import MediaPart, TextPart, ToolCall, ToolResult
from actum.core.errors import ModelError, ModelGarbled, ModelRejected, ModelUnavailable, UsageError
from actum.core.event import CallDelta, CallSaid, Delta, TextDelta
from actum.core.json import JsonObject
from actum.core.language.translation import chinese
from actum.core.message import Message, Reply, ToolMessage, Transcript, UserMessage
from actum.core.model import Model, Request
from actum.core.tool import Tool
from actum.dialects.api.anthropic.dialect import ANTHROPIC
from actum.dialects.api.openai_chat.dialect import OPENAI_CHAT, OPENAI_FUNCTIONS, OpenAiChat
from actum.dialects.base import ApiDialect
from actum.dialects.catalog import dialect as any_dialect
from actum.dialects.catalog import text_dialect
from actum.models import open_model
from actum.models.endpoint import Endpoint
from actum.models.prompted import Auto
from actum.testing import FakeClock
from tests.chat_server import ChatServer, Raw, Said
from tests.effort import turns_counted
from tests.transport.wire_servers import always, wire_server
from tests.transport.wire_servers import said as answered

KEY = "sk-0123456789abcdef"
WEATHER = Tool(
    name="get_weather",
    description="The weather in a city.",
    parameters={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
BEIJING = ToolCall("call_abc123", "get_weather", {"city": "北京"}, raw='{"city": "北京"}')
CALL_WIRE = """{"id":"chatcmpl-123","object":"chat.completion","created":1718345013,"model":"gpt-4o-2024-08-06",\
"choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_abc123","type":"function",\
"function":{"name":"get_weather","arguments":"{\\"city\\": \\"北京\\"}"}}]},"finish_reason":"tool_calls"}]}"""
TEXT_WIRE = b'{"choices":[{"index":0,"message":{"role":"assistant","content":"Hi."},"finish_reason":"stop"}]}'
PIECE = b'data: {"choices":[{"index":0,"delta":{"content":"Hel"}}]}\n\n'
REST = b'data: {"choices":[{"index":0,"delta":{"content":"lo."},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'


def asking(*said: Message) -> Request:
    return Request(messages=[UserMessage.of("北京天气怎么样?"), *said], tools=(WEATHER,))


def failing(status: int, body: bytes = b"{}", retry_after: str = "") -> Raw:
    return Raw((body,), status=status, headers={"retry-after": retry_after})


def endpoint(server: ChatServer, clock: FakeClock | None = None) -> Endpoint:
    return Endpoint(server.url, "m", key=KEY, clock=clock or FakeClock(auto=True))


@pytest.mark.row("S3")
async def test_a_call_and_its_answer_go_over_the_wire_byte_by_byte() -> None:
    with ChatServer([Raw((CALL_WIRE.encode(),)), "北京今天 24 度。"]) as server:
        model: Model = Endpoint(server.url, "gpt-4o", key=KEY)
        transcript = Transcript([UserMessage.of("北京天气怎么样?")])
        reply = await model.reply(Request(messages=transcript, tools=(WEATHER,)))
        assert reply.calls == (BEIJING,)
        transcript.extend([reply, ToolMessage("get_weather", ToolResult("call_abc123", (TextPart("24 度，晴"),)))])
        assert (await model.reply(Request(messages=transcript, tools=(WEATHER,)))).text == "北京今天 24 度。"
    first, second = server.requests
    assert (first.path, first.headers["authorization"]) == ("/v1/chat/completions", f"Bearer {KEY}")
    assert first.headers["content-type"] == "application/json"
    question = '{"role":"user","content":"北京天气怎么样?"}'
    tools = (
        '"tools":[{"type":"function","function":{"name":"get_weather","description":"The weather in a city.",'
        '"parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}]'
    )
    assert first.body.decode() == f'{{"model":"gpt-4o","messages":[{question}],{tools}}}'
    call = (
        '{"role":"assistant","content":null,"tool_calls":[{"id":"call_abc123","type":"function",'
        '"function":{"name":"get_weather","arguments":"{\\"city\\": \\"北京\\"}"}}]}'
    )
    answer = '{"role":"tool","tool_call_id":"call_abc123","content":"24 度，晴"}'
    assert second.body.decode() == f'{{"model":"gpt-4o","messages":[{question},{call},{answer}],{tools}}}'


@pytest.mark.row("S3")
async def test_a_call_with_empty_content_and_an_index_is_a_call() -> None:
    wire = (
        b'{"choices":[{"index":0,"message":{"role":"assistant","content":"","tool_calls":[{"index":0,"id":"call_0_1",'
        b'"type":"function","function":{"name":"get_current_time","arguments":"{}"}}]},"finish_reason":"stop"}]}'
    )
    with ChatServer([Raw((wire,))]) as server:
        reply = await endpoint(server).reply(asking())
    assert reply.calls == (ToolCall("call_0_1", "get_current_time", {}, raw="{}"),)
    assert reply.finish_reason == "stop"


@pytest.mark.row("S3")
@pytest.mark.row("S4")
@pytest.mark.parametrize("dialect", [OPENAI_CHAT, OPENAI_FUNCTIONS])
async def test_whole_and_streamed_say_the_same(dialect: OpenAiChat) -> None:
    said = Reply((TextPart("I look."), BEIJING))
    heard: list[Delta] = []
    with ChatServer([said, said]) as server:
        model = Endpoint(server.url, "m", dialect=dialect)
        whole = await model.reply(asking())
        streamed = await model.reply(asking(), heard.append)
    assert whole.content == streamed.content
    assert whole.finish_reason == streamed.finish_reason
    assert "".join(delta.text for delta in heard if isinstance(delta, TextDelta)) == "I look."
    assert "".join(delta.arguments for delta in heard if isinstance(delta, CallDelta)) == BEIJING.raw
    assert [delta.call for delta in heard if isinstance(delta, CallSaid)] == list(whole.calls)
    assert [request.json.get("stream") for request in server.requests] == [None, True]


async def test_each_piece_is_told_as_it_comes() -> None:
    heard: list[Delta] = []
    with ChatServer([Raw((PIECE[:20], PIECE[20:], REST[:50], REST[50:]))]) as server:
        reply = await endpoint(server).reply(asking(), heard.append)
    assert heard == [TextDelta("Hel"), TextDelta("lo.")]
    assert reply.text == "Hello."


async def test_pieces_that_come_at_once_are_told_as_one() -> None:
    heard: list[Delta] = []
    with ChatServer([Raw((PIECE + REST,))]) as server:
        reply = await endpoint(server).reply(asking(), heard.append)
    assert heard == [TextDelta("Hello.")]
    assert reply.text == "Hello."


async def test_an_endpoint_may_stream_or_not_as_it_likes() -> None:
    heard: list[Delta] = []
    with ChatServer([Raw((TEXT_WIRE,)), Raw((PIECE, REST))]) as server:
        assert (await endpoint(server).reply(asking(), heard.append)).text == "Hi."
        assert (await endpoint(server).reply(asking())).text == "Hello."
    assert heard == [TextDelta("Hi.")]


async def test_headers_and_extras_go_with_every_request() -> None:
    with ChatServer(["a"]) as server:
        model = Endpoint(server.url + "/", "m", headers={"x-title": "t"}, extras={"seed": 1, "top_p": 0.5})
        await model.reply(Request(messages=[], extras={"seed": 2}))
    assert server.requests[0].headers["x-title"] == "t"
    assert "authorization" not in server.requests[0].headers
    assert server.requests[0].json == {"model": "m", "messages": [], "seed": 2, "top_p": 0.5}


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
async def test_a_refusal_is_not_tried_again(status: int) -> None:
    refusal = failing(status, b'{"error":{"message":"because"}}')
    with ChatServer([refusal]) as server, pytest.raises(ModelRejected, match="because") as raised:
        await endpoint(server).reply(asking())
    assert raised.value.status == status
    assert len(server.requests) == 1


async def test_too_many_requests_are_tried_again_when_the_endpoint_says() -> None:
    clock = FakeClock(auto=True)
    with ChatServer([failing(429, retry_after="7"), failing(503), "done"]) as server:
        assert (await endpoint(server, clock).reply(asking())).text == "done"
    assert clock.slept[0] == 7.0
    assert 0.5 <= clock.slept[1] <= 1.0
    assert len({request.body for request in server.requests}) == 1


async def test_an_endpoint_that_asks_for_an_hour_is_not_waited_for() -> None:
    clock = FakeClock(auto=True)
    with ChatServer([failing(429, retry_after="3600")]) as server, pytest.raises(ModelUnavailable) as raised:
        await endpoint(server, clock).reply(asking())
    assert (raised.value.retry_after, raised.value.status, clock.slept) == (3600.0, 429, [])


async def test_an_endpoint_that_says_not_to_ask_again_is_asked_once() -> None:
    final = Raw((b"{}",), status=503, headers={"x-should-retry": "false"})
    with ChatServer([final, "done"]) as server, pytest.raises(ModelRejected):
        await endpoint(server).reply(asking())
    assert len(server.requests) == 1


async def test_trouble_that_stays_is_told_after_three_attempts() -> None:
    clock = FakeClock(auto=True)
    with ChatServer([failing(500, b"<html>")] * 4) as server, pytest.raises(ModelUnavailable, match="500"):
        await endpoint(server, clock).reply(asking())
    assert len(server.requests) == 3
    assert len(clock.slept) == 2


async def test_an_endpoint_that_is_not_there_is_told_after_three_attempts() -> None:
    clock = FakeClock(auto=True)
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        model = Endpoint(f"http://127.0.0.1:{nobody.getsockname()[1]}/v1", "m", clock=clock)
        with pytest.raises(ModelUnavailable, match="can not be reached"):
            await model.reply(asking())
    assert len(clock.slept) == 2


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    "body",
    [
        b"<html>",
        b'{"ok": true}',
        b"data: nonsense\n\n",
        b'{"choices": ' + b"[" * 20_000,
        b"data: " + b'{"x":' * 20_000 + b"\n\n",
    ],
)
async def test_garbage_is_told_and_not_tried_again(body: bytes, streamed: bool) -> None:
    with ChatServer([Raw((body,))]) as server, pytest.raises(ModelGarbled):
        await endpoint(server).reply(asking(), (lambda delta: None) if streamed else None)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "broken", [Raw((b"",), cut=True), Raw((b": hello\n\n", PIECE[:30]), cut=True), Raw((PIECE[:30],))]
)
async def test_a_stream_that_breaks_off_before_its_first_piece_is_tried_again(broken: Raw) -> None:
    heard: list[Delta] = []
    with ChatServer([broken, Raw((PIECE, REST))]) as server:
        assert (await endpoint(server).reply(asking(), heard.append)).text == "Hello."
    assert heard == [TextDelta("Hel"), TextDelta("lo.")]


@pytest.mark.parametrize(
    "broken",
    [
        Raw((PIECE,), cut=True),
        Raw((PIECE,)),
        Raw((PIECE, b'data: {"error":{"message":"Overloaded","type":"server_error"}}\n\n')),
    ],
)
async def test_a_stream_that_breaks_off_in_the_middle_is_told_and_never_begun_again(broken: Raw) -> None:
    heard: list[Delta] = []
    with ChatServer([broken, "again"]) as server, pytest.raises(ModelUnavailable):
        await endpoint(server).reply(asking(), heard.append)
    assert heard == [TextDelta("Hel")]
    assert len(server.requests) == 1


async def test_the_key_stands_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    quoting = msgspec.json.encode({"error": {"message": f"Incorrect API key provided: {KEY}"}})
    told: list[str] = []
    with ChatServer([failing(401, quoting), failing(500, quoting), failing(404, f"no {KEY}".encode()), "ok"]) as server:
        model = Endpoint(server.url, "m", key=f"{KEY}\n", clock=FakeClock(auto=True))
        for _ in range(2):
            with pytest.raises(ModelError) as raised:
                await model.reply(asking())
            told += [str(raised.value), repr(raised.value), str(raised.value.sentence)]
        await model.reply(asking())
    assert KEY not in "".join(
        [*told, repr(model), str(vars(model.dialect) if hasattr(model.dialect, "__dict__") else "")]
    )
    assert KEY not in caplog.text
    assert server.requests[-1].headers["authorization"] == f"Bearer {KEY}"


async def test_a_short_key_in_an_answer_of_any_form_is_hidden_too() -> None:
    quoting = failing(400, b'{"error":"you sent hunter2"}')
    with ChatServer([quoting]) as server, pytest.raises(ModelRejected) as raised:
        await Endpoint(server.url, "m", key="hunter2").reply(asking())
    assert "hunter2" not in str(raised.value)
    assert "you sent [key]" in str(raised.value)
    told = chinese(raised.value.sentence)
    assert told is not None
    assert told.endswith("：接口拒绝了请求（400）：you sent [key]")


@pytest.mark.parametrize(
    "url", ["", "localhost:8000/v1", "ftp://a/v1", "http://", "http://user:hunter2@host/v1", "http://a:99999"]
)
def test_what_is_no_address_is_refused_at_once(url: str) -> None:
    with pytest.raises(UsageError) as raised:
        Endpoint(url, "m")
    assert "hunter2" not in str(raised.value)


def test_an_endpoint_shows_where_it_is_and_no_secret() -> None:
    model = Endpoint("https://host:8/v1/chat/completions?api-version=1&code=hunter2#x", "m", key=KEY)
    assert repr(model) == "Endpoint('https://host:8/v1', 'm', dialect='openai_chat')"
    assert model.name == "m@host:8"


async def test_a_query_in_the_address_is_kept() -> None:
    with ChatServer(["ok"]) as server:
        await Endpoint(server.url + "?api-version=1", "m").reply(asking())
    assert server.requests[0].path == "/v1/chat/completions"
    assert server.requests[0].query == "api-version=1"


@pytest.mark.row("S8")
@pytest.mark.parametrize("native", [True, False])
async def test_a_probe_tells_whether_the_endpoint_calls_tools_and_is_made_once(native: bool) -> None:
    with ChatServer([], native=native) as server:
        model = Endpoint(server.url, "m")
        assert model.native is None
        assert await model.probe() is native
        assert model.native is native
        assert await Endpoint(server.url, "m").probe() is native
        assert server.probes == 1
        await Endpoint(server.url, "another").probe()
        assert server.probes == 2


@pytest.mark.row("S8")
@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "registry.ollama.ai/library/gemma:2b does not support tools"),
        (400, '"auto" tool choice requires --enable-auto-tool-choice'),
        (422, [{"loc": ["body", "tools"], "msg": "extra fields not permitted", "type": "value_error.extra"}]),
        (404, "No endpoints found that support tool use"),
        (500, "tools param requires --jinja flag"),
    ],
)
async def test_an_endpoint_that_refuses_tools_does_not_call_them(status: int, words: object) -> None:
    refusal = failing(status, msgspec.json.encode({"detail": words}))
    with ChatServer([], probe=refusal) as server:
        assert await Endpoint(server.url, "m", clock=FakeClock(auto=True)).probe() is False


@pytest.mark.row("S8")
@pytest.mark.parametrize("status", [401, 403, 429, 503])
async def test_an_endpoint_that_does_not_answer_leaves_the_question_open(status: int) -> None:
    with ChatServer([], probe=failing(status, b'{"error":"no tool for you"}' if status < 500 else b"")) as server:
        model = Endpoint(server.url, "m", clock=FakeClock(auto=True))
        with pytest.raises(ModelError):
            await model.probe()
    assert model.native is None


@pytest.mark.row("S8")
async def test_what_is_known_is_not_probed() -> None:
    with ChatServer([]) as server:
        assert await Endpoint(server.url, "m", native=True).probe()
        assert not await Endpoint(server.url, "m", native=False).probe()
    assert server.probes == 0


@pytest.mark.row("S3")
def test_an_agent_calls_a_tool_over_the_wire_again_and_again() -> None:
    @tool
    def get_weather(city: str) -> str:
        """The weather in a city.

        Args:
            city: its name.
        """
        return f"{city}: 24 °C"

    with ChatServer([Reply.of(calls=[BEIJING]), "It is warm.", Reply.of(calls=[BEIJING]), "Still warm."]) as server:
        agent = Agent(f"{server.url}#m", tools=[get_weather])
        assert [agent.run_sync("北京?").text for _ in range(2)] == ["It is warm.", "Still warm."]
    assert '"content":"北京: 24 °C"' in server.requests[1].body.decode()
    assert server.probes == 1


async def test_headers_and_silence_of_a_request_hold_and_the_key_keeps_its_header() -> None:
    with ChatServer(["Hi.", failing_with("X-Team: open sesame")]) as server:
        model = Endpoint(server.url, "m", key=KEY, headers={"X-Team": "blue", "x-app": "a"}, clock=FakeClock(auto=True))
        asked = structs.replace(
            asking(), headers={"x-team": "open sesame", "Authorization": "Bearer other"}, timeout_s=9
        )
        await model.reply(asked)
        with pytest.raises(ModelRejected) as caught:
            await model.reply(asked)
    headers = server.requests[0].headers
    assert (headers["x-team"], headers["x-app"]) == ("open sesame", "a")
    assert headers["authorization"] == f"Bearer {KEY}"
    assert "sesame" not in str(caught.value)
    with pytest.raises(UsageError, match="X-Team"):
        Endpoint(server.url, "m", headers={"X-Team": "a\nb"})


async def test_an_endpoint_that_is_silent_longer_than_a_request_allows_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        model = Endpoint(f"http://127.0.0.1:{silent.getsockname()[1]}/v1", "m", clock=FakeClock(auto=True))
        with pytest.raises(ModelUnavailable):
            await model.reply(structs.replace(asking(), timeout_s=0.05))


async def test_a_setting_that_the_api_has_no_field_for_is_said_once_and_not_sent(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with ChatServer(["Hi."] * 3) as server:
        model = Endpoint(server.url, "m", dialect=ANTHROPIC)
        for _ in range(3):
            await model.reply(structs.replace(asking(), temperature=0.5, seed=1))
    assert caplog.messages == [f"{model.name}: not sent, since the API has no field for it: temperature, seed"]
    assert all(b"temperature" not in request.body for request in server.requests)


def failing_with(words: str) -> Raw:
    return failing(400, b'{"error": {"message": "%s"}}' % words.encode())


async def test_a_probe_has_the_headers_of_the_request_that_it_is_for() -> None:
    with ChatServer(["Hi."], probe=Reply.of(calls=[ToolCall("p", "open_door", {"number": 7})])) as server:
        model = Auto(Endpoint(server.url, "gateway"), text_dialect("prompt_json"))
        await model.reply(structs.replace(asking(), headers={"x-team": "blue"}, extras={"provider": {"zdr": True}}))
        assert server.probes == 1
    assert [asked.headers.get("x-team") for asked in server.everything] == ["blue", "blue"]
    assert all(b'"zdr":true' in asked.body for asked in server.everything)


def said(status: int, message: str, **more: str) -> Raw:
    return failing(status, msgspec.json.encode({"error": {"message": message, **more}}))


NO_TOOLS = said(400, "registry.ollama.ai/library/gemma:2b does not support tools")


@pytest.mark.row("S8")
async def test_an_unrelated_400_does_not_turn_native_calling_off() -> None:
    loading = said(400, "model is being loaded")
    with ChatServer([loading, Reply.of(calls=[BEIJING]), "text"], probe=loading) as server:
        with pytest.raises(ModelRejected, match="being loaded"):
            await open_model(f"{server.url}#toolace").reply(asking())
        assert (await open_model(f"{server.url}#toolace").reply(asking())).calls == (BEIJING,)
        assert await Endpoint(server.url, "toolace").probe()
        assert server.probes == 2  # the call that came by the API is a yes
    assert all("tools" in request.json for request in server.requests)


@pytest.mark.row("S8")
async def test_a_refusal_of_tools_after_a_good_probe_falls_back_to_text() -> None:
    def script(asked: JsonObject) -> Raw | str:
        return NO_TOOLS if "tools" in asked else '{"tool": "get_weather", "params": {"city": "北京"}}'

    clock = FakeClock()
    with ChatServer(script) as server:
        model = Auto(endpoint(server, clock), text_dialect("prompt_json"))
        assert await model.endpoint.probe(asking())
        server.probe = NO_TOOLS
        for _ in range(2):
            assert [call.name for call in (await model.reply(asking())).calls] == ["get_weather"]
        assert ["tools" in request.json for request in server.requests] == [True, False, False]
        assert (model.dialect_used, server.probes) == ("prompt_json", 2)
        clock.advance(3600.0)  # a no holds for an hour
        server.probe = Reply.of(calls=[ToolCall("probe", "open_door", {"number": 7})])
        assert model.dialect_used == ""
        assert await model.endpoint.probe(asking())


@pytest.mark.row("S8")
async def test_a_provider_that_calls_tools_may_have_a_model_that_does_not() -> None:
    no_tools = said(400, "deepseek-reasoner does not support Function Calling")
    with ChatServer(lambda asked: no_tools if "tools" in asked else "Hi.", probe=no_tools) as server:
        model = Auto(Endpoint(server.url, "m", native=True), text_dialect("prompt_json"))
        assert (await model.reply(asking())).text == "Hi."
        server.probe = failing(401)  # the probe fails: the refusal of the request is told
        model = Auto(Endpoint(server.url, "n", native=True), text_dialect("prompt_json"))
        with pytest.raises(ModelRejected, match="does not support Function Calling"):
            await model.reply(asking())


@pytest.mark.row("S8")
async def test_a_refusal_of_one_tool_is_told_and_native_calling_stays() -> None:
    with ChatServer([said(400, "Invalid schema for function 'get_weather'")]) as server:
        model = Auto(endpoint(server), text_dialect("prompt_json"))
        with pytest.raises(ModelRejected, match="Invalid schema"):
            await model.reply(asking())
        assert model.endpoint.native
    assert len(server.requests) == 1


@pytest.mark.row("S8")
async def test_many_at_once_are_one_probe_and_one_that_is_cancelled_spoils_nothing() -> None:
    with ChatServer(lambda _: "Hi.") as server:
        first, *others = [asyncio.create_task(open_model(f"{server.url}#m").reply(asking())) for _ in range(8)]
        await asyncio.sleep(0)  # each has begun
        first.cancel()
        assert {reply.text for reply in await asyncio.gather(*others)} == {"Hi."}
    assert server.probes == 1


@pytest.mark.parametrize("streamed", [False, True])
async def test_an_address_without_its_version_is_mended_and_told(
    streamed: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with ChatServer(["Hi.", "Hello.", failing(404, b'{"error": "no such model"}')]) as server:
        model = Endpoint(server.url.removesuffix("/v1"), "m")
        emit = (lambda delta: None) if streamed else None
        assert [(await model.reply(asking(), emit)).text for _ in range(2)] == ["Hi.", "Hello."]
        assert model.url == server.url
        assert caplog.text.count(f"It is at {server.url}") == 1
        with pytest.raises(ModelRejected, match="no such model"):
            await model.reply(asking(), emit)
    with ChatServer([]) as server:
        for below in ("", "/chat"):  # neither there nor below: nothing is said of another address
            wrong = Endpoint(server.url.removesuffix("/v1") + "/nothing" + below, "m")
            with pytest.raises(ModelRejected, match="404"):
                await wrong.reply(asking(), emit)
            assert "/v1" not in wrong.url


@pytest.mark.parametrize("guess", [failing(403, b"{}"), failing(500), "never"])
async def test_an_endpoint_that_knows_no_such_model_is_not_left_for_another_address(guess: Said) -> None:
    unknown = said(404, "The model `m` does not exist")
    with ChatServer([unknown, guess], anywhere=True) as server:
        model = Endpoint(server.url.removesuffix("/v1"), "m", clock=FakeClock(auto=True))
        with pytest.raises(ModelRejected, match="does not exist"):
            await model.reply(asking())
    assert len(server.requests) == 1


async def test_lm_studio_says_with_status_200_that_there_is_no_api() -> None:
    words = Raw((b'{"error":"Unexpected endpoint or method. (POST /chat/completions)"}',))
    with ChatServer([words, "Hi."], anywhere=True) as server:
        assert (await Endpoint(server.url.removesuffix("/v1"), "m").reply(asking())).text == "Hi."


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refusal_without_a_key_names_the_variable(status: int) -> None:
    with ChatServer([failing(status)] * 2) as server:
        with pytest.raises(ModelRejected, match="No key was sent: set OPENAI_API_KEY"):
            await Endpoint(server.url, "m", key_variable="OPENAI_API_KEY").reply(asking())
        with pytest.raises(ModelRejected) as raised:
            await Endpoint(server.url, "m", key=KEY, key_variable="OPENAI_API_KEY").reply(asking())
    assert "No key" not in str(raised.value)


async def test_an_account_without_quota_is_not_asked_again() -> None:
    spent = said(429, "You exceeded your current quota", type="insufficient_quota", code="insufficient_quota")
    with (
        ChatServer([spent, "never"]) as server,
        pytest.raises(ModelRejected, match="no quota or credit left") as raised,
    ):
        await endpoint(server).reply(asking())
    assert (raised.value.status, len(server.requests)) == (429, 1)


async def test_a_stream_that_says_nothing_more_ends_after_its_time_and_is_not_begun_again() -> None:
    came: list[int] = []
    over = threading.Event()

    def serve(listening: socket.socket) -> None:
        with contextlib.suppress(OSError):  # the client has hung up, or the test is over
            while True:
                with listening.accept()[0] as connection:
                    came.append(1)
                    connection.recv(65536)
                    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
                    while not over.wait(0.01):
                        connection.sendall(b": still there\n\n")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=serve, args=(listening,), daemon=True).start()
        model = Endpoint(f"http://127.0.0.1:{listening.getsockname()[1]}/v1", "m", timeout_s=0.2)
        with pytest.raises(ModelUnavailable, match=r"stood still for 0.2 s"):
            await model.reply(asking(), lambda delta: None)
        over.set()
    assert len(came) == 1


async def test_a_picture_of_a_tool_does_not_end_the_run_of_a_model_that_takes_none() -> None:
    picture = MediaPart("image/png", b"PNG", name="a.png", handle="att_1")
    drawn = ToolMessage("draw", ToolResult("1", (picture,)))
    request = Request(messages=[UserMessage.of("Draw"), Reply.of(calls=[ToolCall("1", "draw", {})]), drawn])
    refusal = failing(400, b'{"error": {"message": "This model does not support image input"}}')
    with ChatServer([refusal, "I drew it.", "Again."]) as server:
        model = Endpoint(server.url, "m", clock=FakeClock(auto=True))
        assert (await model.reply(request)).text == "I drew it."
        assert (await model.reply(request)).text == "Again."
    assert [b"image_url" in asked.body for asked in server.requests] == [True, False, False]
    assert b"att_1" in server.requests[2].body, "the model can still hand it to another tool"
    mine = Request(messages=[UserMessage((TextPart("Look"), picture))])
    with ChatServer([refusal]) as server, pytest.raises(ModelRejected):
        await Endpoint(server.url, "m", clock=FakeClock(auto=True)).reply(mine)


CALL = '{"index":%d,"id":"c%d","type":"function","function":{"name":"f","arguments":"{}"}}'
CALLS = ",".join(CALL % (n, n) for n in range(1_500))
LAST = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
ITEMS = '{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},' * 2_000
EVENT = 'data: {"choices":[{"index":0,"delta":{"tool_calls":[' + CALLS + "]}}]}"
LARGE_EVENTS: dict[str, tuple[str, str]] = {
    "small": ("openai_chat", LAST),
    "calls in one event": ("openai_chat", EVENT + "\n\n" + LAST),
    "calls, CR LF": ("openai_chat", EVENT + "\r\n\r\n" + LAST),
    "lines without an end": ("openai_chat", "data: {}\n" * 20_000 + "\n" + LAST),
    "a whole answer": ("openai_chat", '{"choices":[{"message":{"tool_calls":[' + CALLS + "]}}]}"),
    "items": ("openai_responses", 'data: {"type":"response.completed","response":{"output":[' + ITEMS + "{}]}}\n\n"),
    "lines": ("ollama_generate", '{"response":"x","done":false}\n' * 4_000 + '{"response":"","done":true}\n'),
    "a line": ("ollama_generate", '{"response":"x","done":true,"context":[%s1]}\n' % ("[1]," * 30_000)),
}  # fmt: skip


async def test_an_event_that_is_large_is_read_off_the_loop_however_small_its_pieces_are() -> None:
    held: dict[str, int] = {}
    for name, (dialect, wire) in LARGE_EVENTS.items():
        heard: list[Delta] = []
        spoken = any_dialect(dialect)
        assert isinstance(spoken, ApiDialect)
        async with wire_server(always(answered(wire.encode(), "200 OK", "content-type: text/event-stream"))) as server:
            model = Endpoint(f"http://127.0.0.1:{server.port}/v1", "m", dialect=spoken)
            async with turns_counted() as turns:
                with contextlib.suppress(ModelError):
                    await model.reply(Request(messages=[UserMessage.of("Hi")]), heard.append)
        held[name] = turns.held
    assert {name: calls for name, calls in held.items() if calls >= 30_000} == {}
