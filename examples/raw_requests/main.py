"""A DeepSeek-like endpoint: a call without arguments, `content` that is empty and not null, `index` in the call."""

from __future__ import annotations

import asyncio
import datetime
import sys
from collections.abc import Sequence
from pathlib import Path

from actum import Agent
from actum.events import RunResult

sys.path.insert(0, str(Path(__file__).parents[2]))  # so that it also runs as a file

from examples.local_services.chat import ChatService
from examples.local_services.serving import serving
from examples.own_model import own_model
from examples.raw_requests.endpoint import deepseek_like
from examples.watch import heading, watch

QUESTION = "现在几点了？"


def get_current_time() -> str:
    """查询现在的日期和时间。"""
    return datetime.datetime.now().astimezone().isoformat(sep=" ", timespec="seconds")


async def run(own: str = "") -> tuple[RunResult, RunResult, ChatService]:
    """Ask twice: once with somebody watching, so that the answers are streamed, and once without.

    Args:
        own: a model of one's own, in the place of the script.
    """
    model = deepseek_like()
    async with serving(model.app) as (model_url,):
        agent = Agent(
            own or f"{model_url}/v1#deepseek-chat",
            tools=[get_current_time],
            dialect="auto" if own else "openai_chat",
        )
        heading("Streamed")
        streamed = await watch(agent, QUESTION)
        heading("Whole")
        whole = await agent.run(QUESTION)
        print(whole.text)
    return streamed, whole, model


def main(arguments: Sequence[str] | None = None) -> None:
    """Run it, then show what was sent: the same as a program with `requests` would have to write by hand."""
    own = own_model(__doc__, arguments)
    _, _, model = asyncio.run(run(own))
    if own:
        return
    heading("The two requests behind the whole answer")
    for body in model.requests[-2:]:
        print(body.decode(), end="\n\n")


if __name__ == "__main__":
    main()
