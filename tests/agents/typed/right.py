"""Right uses of typed answers and typed contexts: type checkers find nothing wrong here. `test_typed.py` runs them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_type

from pydantic import BaseModel
from typing_extensions import TypedDict

from actum import Agent, Context, tool
from actum.core.event import RunFinished, RunResult


class Invoice(BaseModel):
    total: int
    payee: str = ""


@dataclass
class Refusal:
    reason: str


class Line(TypedDict):
    text: str
    price: int


class Shop:
    def price(self, name: str) -> int:
        return len(name)


@tool
def price(name: str, ctx: Context[Shop]) -> int:
    """The price of a thing.

    Args:
        name: Name of the thing.
    """
    return ctx.deps.price(name)


@tool
def principal(ctx: Context) -> str:
    """On whose behalf this is."""
    assert_type(ctx.deps, object)
    return ctx.principal


def log(ctx: Context) -> str:
    return ctx.run_id


def look(ctx: Context[Shop]) -> str:
    return log(ctx)


def in_text() -> None:
    agent = Agent("embedded", tools=[price, principal])
    assert_type(agent, Agent[str])
    assert_type(agent.run_sync("Hi", context=Shop()).output, str)
    assert_type(agent.with_tools([]).run_sync("Hi").output, str)


def as_values() -> int:
    invoice = Agent("embedded", output_type=Invoice).run_sync("Hi").output
    assert_type(invoice, Invoice)
    lines = Agent("embedded", output_type=list[Line]).run_sync("Hi").output
    assert_type(lines, list[Line])
    either = Agent("embedded", output_type=Invoice | Refusal).run_sync("Hi").output
    assert_type(either, Invoice | Refusal)
    maybe = Agent("embedded", output_type=int | None).run_sync("Hi").output
    assert_type(maybe, int | None)
    table = Agent("embedded", output_type=dict[str, int]).run_sync("Hi").output
    assert_type(table, dict[str, int])
    paid = either.total if isinstance(either, Invoice) else 0
    return invoice.total + lines[0]["price"] + paid + (maybe or 0) + table["a"]


async def as_it_happens(agent: Agent[Invoice]) -> int:
    async for event in agent.stream("Hi"):
        if isinstance(event, RunFinished):
            assert_type(event.result.output, Invoice)
            return event.result.output.total
    resumed = await agent.resume("run", {})
    assert_type(resumed.output_or_none, Invoice | None)
    history = (await agent.run("Hi", messages=resumed.messages)).messages
    return (await agent.run("And?", messages=history)).output.total


def name(agent: Agent[object]) -> str:
    return agent.name


def status(result: RunResult) -> str:
    assert_type(result.output, object)
    return result.status


def any_agent(agent: Agent[Invoice], result: RunResult[Invoice]) -> str:
    return name(agent) + name(Agent("embedded")) + status(result)
