"""Our server, as a program of its own: `python ours.py stdio [JOURNAL]`, or `python ours.py http PORT [JOURNAL]`.

What a test wants to know of a call that is cut off stands in the folder TILL, if that is set: `pay` writes each amount
into its file `book`, says so in its pipe `told`, and holds on if it is told to.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import TypedDict

import uvicorn

from actum import Context, Image, ToolError, tool
from actum.core.interfaces import Journal
from actum.core.json import JsonObject
from actum.core.message import UserMessage
from actum.core.model import Request
from actum.server.mcp.prompts import prompt
from actum.server.mcp.resources import Resource
from actum.server.mcp.service import McpService
from actum.storage.sqlite import SQLiteJournal

TILL = Path(os.environ.get("TILL", "/nowhere"))
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360f8cfc0000003010100"
    "c9fe92ef0000000049454e44ae426082"
)


class Sum(TypedDict):
    """A sum."""

    sum: int


@tool(effects={"read"})
async def add(a: int, b: int) -> Sum:
    """Add two numbers.

    Args:
        a: one of them
        b: the other
    """
    return {"sum": a + b}


@tool(effects={"read"})
async def echo(text: str) -> str:
    """Say it again.

    Args:
        text: what to say
    """
    return text


@tool(effects={"read"})
async def fail() -> str:
    """Fail, in words for the model."""
    raise ToolError("There is no such thing.")


@tool(effects={"read"})
async def stumble() -> str:
    """Fail, by a bug."""
    raise RuntimeError("the password is hunter2")


@tool(effects={"read"})
async def picture() -> Image:
    """A picture of one pixel."""
    return Image(PIXEL)


@tool(effects={"read"})
async def count(to: int, ctx: Context) -> int:
    """Count, and tell how far it is.

    Args:
        to: up to where
    """
    for number in range(1, to + 1):
        ctx.progress({"progress": number, "total": to, "message": f"at {number}"})
        ctx.log("info", f"counted {number}")
        await asyncio.sleep(0)
    return to


@tool(effects={"read"})
async def wait_for_ever() -> None:
    """Never come to an end."""
    await asyncio.Event().wait()


@tool(effects={"read"})
async def confirm(question: str, ctx: Context) -> str:
    """Ask the user.

    Args:
        question: what
    """
    schema: JsonObject = {"type": "object", "properties": {"yes": {"type": "boolean"}}, "required": ["yes"]}
    answer = await ctx.elicit(question, schema)
    return f"{answer.action} {answer.content}"


@tool(effects={"read"})
async def think(about: str, ctx: Context) -> str:
    """Have a model say something.

    Args:
        about: what
    """
    return (await ctx.sample(Request(messages=[UserMessage.of(about)], max_tokens=50))).text


@tool(effects={"spend"})
async def pay(amount: int, hold: bool = False) -> str:
    """Pay.

    Args:
        amount: how much
        hold: never come to an end
    """
    await asyncio.to_thread(_take, amount)
    if hold:
        await asyncio.Event().wait()
    return f"paid {amount}"


def _take(amount: int) -> None:
    with (TILL / "book").open("a") as book:
        book.write(f"{amount}\n")
    with (TILL / "told").open("w") as pipe:
        pipe.write("paid\n")


@prompt
async def greet(name: str) -> str:
    """Greet somebody.

    Args:
        name: whom
    """
    return f"Say hello to {name}, in one sentence."


def service(journal: Journal | None = None) -> McpService:
    """All of it."""
    return McpService(
        [add, echo, fail, stumble, picture, count, wait_for_ever, confirm, think, pay],
        prompts=[greet],
        resources=[Resource("memo://read-me", "Read me.", name="read-me")],
        name="ours",
        version="1",
        instructions="Add and pay.",
        journal=journal,
    )


async def main(way: str, *more: str) -> None:
    """Serve until the client goes, or for ever."""
    *port, journal = [*more, ""] if len(more) < 1 + (way == "http") else more
    opened = SQLiteJournal(Path(journal)) if journal else None
    try:
        if way == "stdio":
            await service(opened).run_stdio()
        else:
            config = uvicorn.Config(
                service(opened).app(), port=int(port[0]), log_level="info", timeout_keep_alive=240, ws="none"
            )
            await uvicorn.Server(config).serve()
    finally:
        if opened is not None:
            await opened.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
