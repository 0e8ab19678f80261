"""Every recorded request to every upstream, and every recorded answer back to every client, through the models door."""

from __future__ import annotations

import json

import httpx2
import msgspec

from actum.core.json import JsonObject
from actum.dialects.api.openai_responses.items import reference_of
from actum.dialects.base import ApiDialect
from actum.dialects.transcode import Transcoder, transcode
from actum.server.models.lost import told_losses
from tests.chat_server import ChatServer, Raw
from tests.dialects.api_corpus import CORPUS, case_of, paths_of
from tests.server.models.gateway import DIALECTS, Gateway, gateway, upstream

NAMES = {name: dialect.name for name, dialect in DIALECTS.items()}
PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"}
GEMINI = {False: "/v1beta/models/fast:generateContent", True: "/v1beta/models/fast:streamGenerateContent?alt=sse"}
SMALL: dict[str, JsonObject] = {
    "chat": {"model": "fast", "messages": [{"role": "user", "content": "Hi"}]},
    "responses": {"model": "fast", "input": "Hi"},
    "messages": {"model": "fast", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]},
    "gemini": {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
}


def url_of(server: ChatServer, api: str) -> str:
    """Where the upstream is."""
    return server.url if api != "gemini" else server.url.replace("/v1", "/v1beta")


OF_THE_PROVIDER = ("mcp_servers", "web_search_options", "previous_response_id", "conversation")


def without_what_the_provider_has(api: str, body: JsonObject) -> JsonObject:
    """A request that may go to any API: without tools that the provider runs, and what it has stored."""
    kept = {name: value for name, value in body.items() if name not in OF_THE_PROVIDER}
    if isinstance(said := body.get("input"), list):
        kept["input"] = [item for item in said if not reference_of(item)]
    tools = body.get("tools")
    if isinstance(tools, list):
        own = {"chat": "function custom", "responses": "function custom", "messages": "None custom", "gemini": ""}[api]
        kept["tools"] = [
            {"functionDeclarations": tool["functionDeclarations"]} if api == "gemini" else tool
            for tool in tools
            if isinstance(tool, dict)
            and (str(tool.get("type")) in own.split() if api != "gemini" else "functionDeclarations" in tool)
        ]
    return kept


async def test_every_recorded_request_reaches_every_api_and_every_loss_is_listed() -> None:
    reply = {"chat": b'{"choices": []}', "responses": b"{}", "messages": b"{}", "gemini": b"{}"}
    for here, name in NAMES.items():
        recorded = msgspec.json.decode((CORPUS / "transcode" / f"{name}.request.json").read_bytes(), type=dict)
        for there, other in DIALECTS.items():
            body: JsonObject = {**recorded, **({} if here == "gemini" else {"model": "fast", "stream": False})}
            if here != there:
                body = without_what_the_provider_has(here, body)
            wire = msgspec.json.encode(body)
            with ChatServer(lambda _, there=there: Raw((reply[there],))) as server:  # type: ignore[misc]
                async with gateway({"fast": upstream(url_of(server, there), there)}) as (_, client, _):
                    answer = await client.post(PATHS.get(here, GEMINI[False]), content=wire)
                (asked,) = server.requests
            if here == there:
                expected = wire if here == "gemini" else wire.replace(b'"fast"', b'"model-1"')
                assert (asked.body, answer.status_code) == (expected, 200), name
                assert "x-actum-lost" not in answer.headers
                continue
            pure = transcode(wire, DIALECTS[here], other, kind="request", model="model-1")
            assert asked.body == pure.wire, (here, there)
            assert pure.lost
            told = answer.headers.get("x-actum-lost", "")
            assert answer.status_code != 200 or json.loads(told)[0] == str(pure.lost[0]), (here, there, told)
            assert len(told) <= 3_000


async def test_every_recorded_answer_comes_back_to_every_client() -> None:
    came: list[bool] = []
    for there in DIALECTS:
        current: list[bytes] = []
        with ChatServer(lambda _: Raw((current[0],), headers={"content-type": "text/event-stream"})) as server:  # noqa: B023
            to = upstream(url_of(server, there), there)
            async with gateway({"fast": to}, failures_max=1_000) as opened:
                for path in paths_of(NAMES[there]):
                    current[:] = [path.read_bytes()]
                    came += [
                        await _comes_back(opened, here, there, to.dialect("fast"), path.stem, current[0])
                        for here in DIALECTS
                    ]
    assert sum(came) > 0.8 * len(came)


async def _comes_back(opened: Gateway, here: str, there: str, dialect: ApiDialect, name: str, wire: bytes) -> bool:
    """Whether an answer came at all."""
    stream = name.startswith("stream_")
    body = SMALL[here] if here == "gemini" or not stream else {**SMALL[here], "stream": True}
    answer = await opened.client.post(PATHS.get(here, GEMINI[stream]), json=body)
    case = (name, there, here)
    said = case_of(CORPUS / NAMES[there] / f"{name}.wire").reply
    if answer.status_code != 200:  # what is broken before its first byte is an error
        assert answer.status_code in (400, 404, 429, 500, 502, 503), (case, answer.text)
        assert "error" in answer.json(), case
        return False
    if here == there:
        assert _same(answer, wire), case
        return True
    if not stream:
        pure = transcode(wire, dialect, DIALECTS[here], kind="response")
        assert answer.content == pure.wire, case
        return True
    transcoder = Transcoder(dialect, DIALECTS[here])
    transcoder.feed(wire)
    transcoder.close()
    listed = f": lost {told_losses(transcoder.lost)}\n\n" if transcoder.lost and here != "gemini" else ""
    assert answer.text.endswith(listed), case
    assert (": lost" in answer.text) == bool(listed), case
    if said.text and transcoder.error is None:
        assert DIALECTS[here].decode(answer.content).text == said.text, case
    return True


def _same(answer: httpx2.Response, wire: bytes) -> bool:
    """Whether a stream came as it was: but for the event with the usage alone, for a last blank line, and for the
    error that ends a stream that broke off."""
    plain = [each.replace(b"\r\n", b"\n").replace(b"\r", b"\n").strip() for each in (answer.content, wire)]
    told, sent = ([part.strip() for part in each.split(b"\n\n") if part.strip()] for each in plain)
    left = [part for part in sent if part not in told]
    new = [part for part in told if part not in sent]
    torn = left and left[0] == sent[-1]
    usage_alone = all(b'"choices":[]' in part.replace(b" ", b"") and b'"usage"' in part for part in left)
    return (not left or usage_alone or bool(torn)) and (not new or (len(new) == 1 and b"error" in new[0]))
