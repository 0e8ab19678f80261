"""The agent whose runs stand in `tests/corpus/journals`, and the journal as a file.

The agent must stay as it was when the runs were recorded. In the journal are `run_menu`, a call that read something;
`run_order`, the next run of the same conversation, which waits for the name of a dish after a call was denied and a
payment was checked, approved and made; and `run_forgotten`, whose payloads were deleted.
"""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

from actum import Agent, Context, Require, Rule, Rules, ToolCall, tool
from actum.core.interfaces import Clock, Journal
from actum.core.json import JsonObject
from actum.core.message import Reply, ToolMessage
from actum.core.model import Request
from actum.runs.given_tools import Toolish
from actum.testing import Said, ScriptedModel

CORPUS = Path(__file__).parents[1] / "corpus" / "journals"
KEY = b"the key of the old journal"
"""What the heads are signed with."""

DISH: JsonObject = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
ENOUGH = Require("purse", "check.left >= args.amount", {}, "The purse is too light.")

POLICY = Rules(
    Rule("deny", tools="call_chef", reason="The chef is busy."),
    Rule("ask", tools="pay", require=ENOUGH, reason="Payments are approved by a person."),
    Rule("allow"),
)


@tool(effects={"read"})
async def menu() -> list[str]:
    """The dishes."""
    return ["soup"]


@tool(effects={"read"})
async def purse() -> dict[str, float]:
    """What is left in the purse."""
    return {"left": 100}


@tool(effects={"write"})
async def call_chef() -> str:
    """Call the chef."""
    return "here"


@tool(effects={"spend"})
async def pay(amount: float) -> str:
    """Pay."""
    return f"paid {amount:g}"


@tool(effects={"write"})
async def order(ctx: Context) -> str:
    """Order a dish."""
    return str((await ctx.elicit("Which dish?", DISH)).content["name"])


def says(request: Request) -> Said:
    """The menu first; an order, a call of the chef and a payment when it is asked to order; then what came of them."""
    last = request.messages[-1]
    if isinstance(last, ToolMessage):
        replied = next(at for at, said in reversed([*enumerate(request.messages)]) if isinstance(said, Reply))
        return "; ".join(said.result.text for said in request.messages[replied:] if isinstance(said, ToolMessage))
    if "Order" in last.text:
        return [ToolCall("1", "call_chef", {}), ToolCall("2", "pay", {"amount": 20}), ToolCall("3", "order", {})]
    return ToolCall("1", "menu", {})


def bistro(journal: Journal, clock: Clock) -> Agent:
    """The agent over a journal."""
    tools: list[Toolish] = [menu, purse, call_chef, pay, order]
    return Agent(ScriptedModel(says), tools, policy=POLICY, journal=journal, clock=clock)


def write_old(path: Path) -> Path:
    """Write the journal of format 1 to a file, as actum left it."""
    with contextlib.closing(sqlite3.connect(path)) as file:
        file.executescript((CORPUS / "format_1.sql").read_text("utf-8"))
        file.execute("PRAGMA journal_mode=WAL")
    return path
