"""A service whose calls become tasks, and what a client does with them."""

from __future__ import annotations

import asyncio

from actum import Context, ToolError, tool
from actum.core.clock import SystemClock
from actum.core.json import JsonObject
from actum.protocols.mcp.tasks import EXTENSION
from actum.server.mcp.service import McpService
from actum.server.mcp.tasks import TaskMode
from actum.toolsets.mcp.connection import McpConnection
from tests.mcp_service import Client

KNOWS: JsonObject = {"extensions": {EXTENSION: {}}, "elicitation": {"form": {}}}
NAME: JsonObject = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


class Pausing(SystemClock):
    """Time that tells when somebody pauses in it."""

    def __init__(self) -> None:
        self.paused = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        self.paused.set()
        await super().sleep(seconds)


class Desk:
    """Tools whose course a test steers."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.working = asyncio.Event()

    def service(self, **options: object) -> McpService:
        @tool
        async def dig(name: str) -> str:
            """Dig until told."""
            self.working.set()
            await self.go.wait()
            return f"dug {name}"

        @tool
        async def greet(ctx: Context) -> str:
            """Greet by name."""
            return f"Hello {(await ctx.elicit('Your name?', NAME)).content['name']}"

        @tool
        async def fail() -> str:
            """Say why it can not be done."""
            raise ToolError("Not today.")

        @tool
        async def slip() -> str:
            """Fail by a mistake."""
            raise ZeroDivisionError

        @tool
        async def introduce(ctx: Context) -> str:
            """Ask for two names at once."""
            one, two = await asyncio.gather(ctx.elicit("You?", NAME, key="you"), ctx.elicit("I?", NAME, key="me"))
            return f"{one.content['name']}, {two.content['name']}"

        @tool
        async def leak() -> str:
            """Say what nobody should hear."""
            return "the key is sk-abcdefghijklmnopqrstuvwx"

        @tool
        async def owe() -> str:
            """Be done later only."""
            return "later"

        modes: dict[str, TaskMode] = {"owe": "required", "*": "always"}
        return McpService([dig, greet, fail, slip, introduce, leak, owe], tasks=modes, **options)  # type: ignore[arg-type]


async def begun(way: McpConnection, name: str, arguments: JsonObject | None = None) -> str:
    """The id of the task that a call became."""
    handle = await way.request_once("tools/call", {"name": name, "arguments": arguments or {}}, caller=Client(KNOWS))
    assert handle["resultType"] == "task"
    return str(handle["taskId"])


async def look(way: McpConnection, task_id: str, *, until: str = "") -> JsonObject:
    while True:
        task = await way.request("tasks/get", {"taskId": task_id}, caller=Client(KNOWS))
        if not until or task["status"] == until:
            return task
        await asyncio.sleep(0.01)
