"""The agent that books meeting rooms, behind A2A, as `actum serve` serves agents."""

from __future__ import annotations

import asyncio
from pathlib import Path

from starlette.types import ASGIApp

from actum import Agent, Context, Rule, Rules, ToolCall, ToolError, tool
from actum.compose.serving import open_doors
from actum.compose.settings import Settings
from actum.core.identity import Identity
from actum.core.json import JsonObject
from actum.messages import Request, ToolMessage, UserMessage
from actum.server.api.api import GivenAgents
from actum.server.web_application import WebApplication, WebApplicationSettings
from actum.storage.sqlite import SQLiteJournal
from actum.testing import Said, ScriptedModel
from actum.toolsets.function import FunctionTool
from actum.transport.egress import EgressRules

CHOICE: JsonObject = {"type": "object", "properties": {"room": {"type": "string"}}, "required": ["room"]}


@tool(effects=["write"])
async def book(people: int, ctx: Context) -> str:
    """Book a meeting room; the user chooses one.

    Args:
        people: how many come.
    """
    answer = await ctx.elicit("The Blue and the Green room are free. Which one?", CHOICE)
    if answer.action != "accept":
        raise ToolError("The user chose no room.")
    return f"The {answer.content['room']} room is booked for {people}."


@tool(effects=["write"])
async def wait_for_room() -> str:
    """Wait until a room is given back, which may take hours."""
    await asyncio.Event().wait()
    return "A room is free."


def script(request: Request) -> Said:
    """What stands in for the model."""
    last = request.messages[-1]
    if isinstance(last, ToolMessage):
        return last.result.text
    asked = last.text if isinstance(last, UserMessage) else ""
    if "moon" in asked:
        raise RuntimeError("the model does not answer")
    return ToolCall("1", "wait_for_room", {}) if "wait" in asked else ToolCall("1", "book", {"people": 6})


def room_agent(folder: Path, receiver: str) -> ASGIApp:
    """The agent.

    Args:
        folder: for its journal; pushed news need a journal on disk.
        receiver: the address to which news may be pushed although it is on this machine.
    """
    journal = SQLiteJournal(folder / "rooms.db")
    tools: list[FunctionTool] = [book, wait_for_room]
    agent = Agent(ScriptedModel(script), tools, name="rooms", policy=Rules(Rule("allow")), journal=journal)
    settings = Settings(egress=EgressRules(private=(receiver,)))
    doors = open_doors(settings, tools, GivenAgents({"rooms": agent}), journal, Identity())
    return WebApplication(doors, WebApplicationSettings()).app
