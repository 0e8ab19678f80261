"""A small server built on the SDK's own `MCPServer`: `python -m tests.mcp_servers.desk stdio`, or `FD http|sse`."""

from __future__ import annotations

import asyncio
import os
import socket
import sys

import anyio
import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from pydantic import BaseModel

server = MCPServer("desk", instructions="Ask me anything.")


class Name(BaseModel):
    name: str


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
async def slow(seconds: float, ctx: Context, steps: int = 1) -> str:
    """Take a while, and tell how far it is."""
    for step in range(steps):
        await anyio.sleep(seconds / steps)
        await ctx.report_progress(step + 1, steps, f"step {step + 1}")
    return "done"


@server.tool()
async def greet(ctx: Context) -> str:
    """Ask for a name, and greet."""
    answer = await ctx.elicit("Your name?", Name)
    return f"Hello {answer.data.name}" if answer.action == "accept" else f"nobody ({answer.action})"


@server.tool()
def die() -> str:
    """End the process at once."""
    os._exit(3)


@server.tool()
def fail() -> str:
    """Fail."""
    raise ValueError("no luck")


@server.tool()
def environment() -> list[str]:
    """The names of the environment's variables."""
    return sorted(os.environ)


@server.resource("memo://today")
def today() -> str:
    """What is on today."""
    return "Nothing."


@server.prompt()
def review(code: str) -> str:
    """Review code."""
    return f"Review this: {code}"


async def main() -> None:
    how, *rest = sys.argv[1:]
    sys.stderr.write("desk is here\n")
    if how == "stdio":
        await server.run_stdio_async()
    else:
        app = server.sse_app() if rest == ["sse"] else server.streamable_http_app()
        await uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_keep_alive=240)).serve(
            [socket.socket(fileno=int(how))]
        )


if __name__ == "__main__":
    asyncio.run(main())
