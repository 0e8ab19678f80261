"""Agents behind the model APIs, asked by the vendors' own clients."""

from __future__ import annotations

from typing import Any, TypeAlias

import anthropic
import openai
from google import genai

from actum.core.call import ToolCall
from actum.core.message import Reply
from tests.server.models.desk import Desk, desk

AnyClient: TypeAlias = Any
"""A client of a vendor. What the tests send is plain JSON, where the clients' types want classes."""


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


ADDS: list[str | Reply] = [Reply.of("Let me see.", [ToolCall("call_0", "add", {"a": 2, "b": 3})]), "It is 5."]


def openai_of(server: Desk, key: str = "ann", **more: object) -> AnyClient:
    return openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key=server.keys[key], **more)  # type: ignore[arg-type]


def anthropic_of(server: Desk, key: str = "ann") -> AnyClient:
    return anthropic.AsyncAnthropic(base_url=server.url, api_key=server.keys[key])


def gemini_of(server: Desk, key: str = "ann") -> AnyClient:
    return genai.Client(api_key=server.keys[key], http_options=genai.types.HttpOptions(base_url=server.url))


async def test_chat_whole_and_streamed() -> None:
    async with desk([*ADDS, *ADDS], [add]) as server, openai_of(server) as client:
        raw = await client.chat.completions.with_raw_response.create(
            model="desk", messages=[{"role": "user", "content": "What is 2 + 3?"}]
        )
        assert raw.headers["actum-run"].startswith("run_")
        assert raw.parse().choices[0].message.content == "Let me see.\n\nIt is 5."
        stream = await client.chat.completions.create(
            model="desk", messages=[{"role": "user", "content": "What is 2 + 3?"}], stream=True
        )
        text = "".join([chunk.choices[0].delta.content or "" async for chunk in stream])
        assert text == "Let me see.\n\nIt is 5."


async def test_responses_whole_and_streamed() -> None:
    async with desk([*ADDS, *ADDS], [add]) as server, openai_of(server) as client:
        answer = await client.responses.create(model="desk", input="What is 2 + 3?")
        kinds = [item.type for item in answer.output]
        assert kinds == ["message", "mcp_call", "message"]
        assert answer.output[1].output == "5"
        async with client.responses.stream(model="desk", input="What is 2 + 3?") as stream:
            events = [event.type async for event in stream]
            last = await stream.get_final_response()
        assert [item.type for item in last.output] == kinds
        assert last.output_text == answer.output_text
        assert "response.mcp_call.completed" in events


async def test_messages_whole_and_streamed() -> None:
    async with desk([*ADDS, *ADDS], [add]) as server, anthropic_of(server) as client:
        message = await client.messages.create(
            model="desk", max_tokens=500, messages=[{"role": "user", "content": "What is 2 + 3?"}]
        )
        assert [block.type for block in message.content] == ["text", "mcp_tool_use", "mcp_tool_result", "text"]
        async with client.messages.stream(
            model="desk", max_tokens=500, messages=[{"role": "user", "content": "What is 2 + 3?"}]
        ) as stream:
            text = "".join([piece async for piece in stream.text_stream])
            final = await stream.get_final_message()
        assert text == "Let me see.It is 5."
        assert [block.type for block in final.content] == [block.type for block in message.content]


async def test_gemini_whole_and_streamed() -> None:
    async with desk([*ADDS, *ADDS], [add]) as server:
        client = gemini_of(server)
        answer = await client.aio.models.generate_content(model="desk", contents="What is 2 + 3?")
        assert answer.text == "Let me see.\n\nIt is 5."
        pieces = await client.aio.models.generate_content_stream(model="desk", contents="What is 2 + 3?")
        assert "".join([piece.text or "" async for piece in pieces]) == "Let me see.\n\nIt is 5."
