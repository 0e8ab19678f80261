"""The official clients, unmodified, one after the pattern of another: what each makes of an answer of its API.

async with official_client("anthropic_messages", server.url) as ask:
    heard = await ask(streamed=True)
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable
from typing import NamedTuple, Protocol

import anthropic
import msgspec
import openai
from google import genai
from google.genai import types
from openai import AsyncStream
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import ChatCompletionChunk

from actum.core.json import JsonObject


class Heard(NamedTuple):
    """What a client understood: the calls by name and arguments, and the text without what was refused."""

    calls: list[tuple[str, JsonObject]]
    text: str


class Ask(Protocol):
    """Asks the server anything."""

    def __call__(self, *, streamed: bool) -> Awaitable[Heard]: ...


@contextlib.asynccontextmanager
async def official_client(dialect: str, url: str) -> AsyncIterator[Ask]:
    """A client of the API of a dialect, of a server at this address."""
    match dialect:
        case "anthropic_messages":
            async with anthropic.AsyncAnthropic(
                base_url=url.removesuffix("/v1"), api_key="x", max_retries=0
            ) as messages:
                yield lambda *, streamed: _messages(messages, streamed)
        case "gemini_content":
            options = types.HttpOptions(base_url=url.removesuffix("/v1"), api_version="v1beta")
            content = genai.Client(api_key="x", http_options=options).aio
            yield lambda *, streamed: _content(content, streamed)
            await content.aclose()
        case "openai_responses":
            async with openai.AsyncOpenAI(base_url=url, api_key="x", max_retries=0) as responses:
                yield lambda *, streamed: _responses(responses, streamed)
        case _:
            async with openai.AsyncOpenAI(base_url=url, api_key="x", max_retries=0) as chat:
                yield lambda *, streamed: _chat(chat, streamed)


async def _messages(client: anthropic.AsyncAnthropic, streamed: bool) -> Heard:
    if streamed:
        async with client.messages.stream(model="m", max_tokens=9, messages=[{"role": "user", "content": "?"}]) as s:
            message: anthropic.types.Message = await s.get_final_message()
    else:
        message = await client.messages.create(
            model="m", max_tokens=9, messages=[{"role": "user", "content": "?"}], stream=False
        )
    calls = [(block.name, _object(block.input)) for block in message.content if block.type == "tool_use"]
    return Heard(calls, "".join([block.text for block in message.content if block.type == "text"]))


async def _content(client: genai.client.AsyncClient, streamed: bool) -> Heard:
    if streamed:
        stream = await client.models.generate_content_stream(model="m", contents="?")
        chunks = [chunk async for chunk in stream]
    else:
        chunks = [await client.models.generate_content(model="m", contents="?")]
    candidates = [candidate for chunk in chunks for candidate in chunk.candidates or []]
    parts = [part for item in candidates if item.content for part in item.content.parts or []]
    calls = [(part.function_call.name or "", _object(part.function_call.args)) for part in parts if part.function_call]
    return Heard(calls, "".join([part.text for part in parts if part.text and not part.thought]))


async def _responses(client: openai.AsyncOpenAI, streamed: bool) -> Heard:
    if streamed:
        async with client.responses.stream(model="m", input="?") as stream:
            response: openai.types.responses.Response | None = None
            async for event in stream:
                if event.type in ("response.completed", "response.incomplete"):
                    response = event.response
        assert response is not None
    else:
        response = await client.responses.create(model="m", input="?")
    calls = [(item.name, _parsed(item.arguments)) for item in response.output if item.type == "function_call"]
    return Heard(calls, response.output_text)


async def _chat(client: openai.AsyncOpenAI, streamed: bool) -> Heard:
    state = ChatCompletionStreamState()
    if streamed:
        stream: AsyncStream[ChatCompletionChunk] = await client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "?"}], stream=True
        )
        async for chunk in stream:
            state.handle_chunk(chunk)
        message = state.current_completion_snapshot.choices[0].message  # the final one is refused when cut at a limit
    else:
        completion = await client.chat.completions.create(model="m", messages=[{"role": "user", "content": "?"}])
        return _heard_of(completion.choices[0].message.model_dump())
    return _heard_of(message.model_dump())


def _heard_of(message: dict[str, object]) -> Heard:
    read = msgspec.convert(message, JsonObject)
    said = [item["function"] for item in _list(read.get("tool_calls")) if isinstance(item, dict)]
    calls = [(str(call["name"]), _parsed(str(call["arguments"]))) for call in said if isinstance(call, dict)]
    match read.get("function_call"):
        case {"name": str(name), "arguments": str(arguments)}:
            calls.append((name, _parsed(arguments)))
        case _:
            pass
    return Heard(calls, str(read.get("content") or ""))


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _object(value: object) -> JsonObject:
    return msgspec.convert(value, JsonObject) if isinstance(value, dict) else {"broken": str(value)} if value else {}


def _parsed(arguments: str) -> JsonObject:
    """Broken arguments as a client sees them: as no object."""
    try:
        return msgspec.json.decode(arguments, type=JsonObject)
    except msgspec.DecodeError:
        return {"broken": arguments}
