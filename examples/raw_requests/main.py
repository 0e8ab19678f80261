"""A DeepSeek-like endpoint: a call without arguments, `content` that is empty and not null, `index` in the call."""

from __future__ import annotations

import asyncio
import datetime
import sys
from pathlib import Path

from actum import Agent
from actum.events import RunResult

sys.path.insert(0, str(Path(__file__).parents[2]))  # so that it also runs as a file

from examples.local_services.chat import ChatService
from examples.local_services.serving import serving
from examples.raw_requests.endpoint import deepseek_like
from examples.watch import heading, watch

QUESTION = "现在几点了？"


def get_current_time() -> str:
    """查询现在的日期和时间。"""
    return datetime.datetime.now().astimezone().isoformat(sep=" ", timespec="seconds")


async def run() -> tuple[RunResult, RunResult, ChatService]:
    """Ask twice: once with somebody watching, so that the answers are streamed, and once without."""
    model = deepseek_like()
    async with serving(model.app) as (model_url,):
        agent = Agent(f"{model_url}/v1#deepseek-chat", tools=[get_current_time], dialect="openai_chat")
        heading("Streamed")
        streamed = await watch(agent, QUESTION)
        heading("Whole")
        whole = await agent.run(QUESTION)
        print(whole.text)
    return streamed, whole, model


def main() -> None:
    """Run it, then show what was sent: the same as a program with `requests` would have to write by hand."""
    _, _, model = asyncio.run(run())
    heading("The two requests behind the whole answer")
    for body in model.requests[-2:]:
        print(body.decode(), end="\n\n")


if __name__ == "__main__":
    main()
