"""Wrong uses of typed answers and typed contexts: type checkers find each line that ends with `# wrong`, and no other.
`test_typed.py` holds them to that. Nothing here is ever called.
"""

from __future__ import annotations

from actum import Agent, Context
from actum.core.event import RunFinished, RunResult
from actum.core.message import UserMessage

from .right import Invoice, Line, Refusal, Shop


def price(name: str, ctx: Context[Shop]) -> int:
    return ctx.deps.prise(name)  # wrong


def untyped(name: str, ctx: Context) -> object:
    return ctx.deps.price(name)  # wrong


def other_deps(ctx: Context[Shop]) -> Context[Invoice]:
    return ctx  # wrong


def in_text(agent: Agent) -> int:
    return agent.run_sync("Hi").output + 1  # wrong


def as_a_model() -> object:
    return Agent("embedded", output_type=Invoice).run_sync("Hi").output.totl  # wrong


def as_a_list() -> object:
    return Agent("embedded", output_type=list[Line]).run_sync("Hi").output[0]["prise"]  # wrong


def as_one_of_two() -> int:
    return Agent("embedded", output_type=Invoice | Refusal).run_sync("Hi").output.total  # wrong


def that_may_be_none() -> int:
    return Agent("embedded", output_type=int | None).run_sync("Hi").output + 1  # wrong


def before_it_is_done(result: RunResult[Invoice]) -> int:
    return result.output_or_none.total  # wrong


async def as_it_happens(agent: Agent[Invoice]) -> int:
    async for event in agent.stream("Hi"):
        if isinstance(event, RunFinished):
            return event.result.output.totl  # wrong
    return (await agent.resume("run", {})).output.totl  # wrong


def with_other_tools(agent: Agent[Invoice]) -> object:
    return agent.with_tools([]).run_sync("Hi").output.totl  # wrong


def annotated() -> Agent[Refusal]:
    return Agent("embedded", output_type=Invoice)  # wrong


def taken_for_another(agent: Agent[Invoice]) -> RunResult[Refusal]:
    return agent.run_sync("Hi")  # wrong


def of_any_type(result: RunResult) -> int:
    return result.output.total  # wrong


def in_other_words(agent: Agent) -> object:
    dicts = [{"role": "user", "content": "Hi"}]
    return agent.run_sync("And?", messages=dicts)  # wrong


def one_message(agent: Agent) -> object:
    return agent.run_sync("And?", messages=UserMessage.of("Hi"))  # wrong
