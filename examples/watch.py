"""Asks an agent and shows every step of it on the terminal, as `actum run --verbose` does."""

from __future__ import annotations

from actum import Agent
from actum.cli.show.terminal import Terminal
from actum.cli.show.trace import Trace
from actum.events import RunResult


def heading(text: str) -> None:
    """A line between two parts of an example."""
    print(f"\n== {text}\n", flush=True)


async def watch(agent: Agent, question: str, *, conversation: str = "", principal: str = "") -> RunResult:
    """Run the agent, and print what happens as it happens. With somebody watching, the model is asked to stream."""
    trace = Trace(Terminal(), verbose=True)
    trace.question(question)
    try:
        result = await agent.run(question, conversation=conversation, principal=principal, emit=trace.show)
    finally:
        trace.close()
    if result.status != "done":
        print(f"{result.status}: {result.text}")
    return result
