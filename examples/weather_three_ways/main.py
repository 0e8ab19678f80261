"""One weather tool as a function, by MCP over pipes and HTTP, and by an A2A agent: the same answer, side by side."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

from actum import Agent, Rule, Rules, ToolCall
from actum.core.json import JsonObject
from actum.messages import Request, ToolMessage
from actum.runs.given_tools import Toolish
from actum.server import McpService
from actum.testing import Said
from actum.toolsets.a2a import A2AToolset, RemoteAgent
from actum.toolsets.mcp import McpServer, McpToolset

sys.path.insert(0, str(Path(__file__).parents[2]))  # so that it also runs as a file

from examples.local_services.serving import serving
from examples.local_services.weather import weather_service
from examples.own_model import own_model, own_or_scripted
from examples.watch import heading, watch
from examples.weather_three_ways.agent import weather_agent
from examples.weather_three_ways.weather import weather_tool

QUESTION = "What is the weather in Boston?"
PROGRAM = str(Path(__file__).with_name("server.py"))
TIMES = 30


def script(request: Request) -> Said:
    """What stands in for the model. It calls the one tool there is; an agent is asked in words."""
    last, tool = request.messages[-1], request.tools[0]
    if not isinstance(last, ToolMessage):
        is_agent = "message" in cast(JsonObject, tool.parameters["properties"])
        return ToolCall("1", tool.name, {"message": QUESTION} if is_agent else {"city": "Boston"})
    found = json.loads(last.result.text.splitlines()[0])
    return f"It is {found['weather']} in {found['city']}, at {found['temperature']} °C."


@asynccontextmanager
async def ways(url: str) -> AsyncIterator[dict[str, Toolish]]:
    """The tool in each way. We wrote the servers, so what they say of their tools is believed."""
    tool = weather_tool(url)
    async with serving(McpService([tool], name="weather").app(), weather_agent(tool)) as (address, agents):
        by_pipes = McpServer(name="pipes", command=sys.executable, args=(PROGRAM, url), trusted=True)
        over_http = McpServer(name="http", url=f"{address}/mcp", trusted=True)
        agent = RemoteAgent(url=agents, name="agent")
        async with McpToolset(by_pipes, wait_s=60) as pipes, McpToolset(over_http) as http, A2AToolset(agent) as by_a2a:
            yield {"function": tool, "MCP by pipes": pipes, "MCP over HTTP": http, "A2A agent": by_a2a}


async def side_by_side(times: int = TIMES, own: str = "") -> dict[str, tuple[str, float]]:
    """Ask the same in each way.

    Args:
        times: how often it is asked again to measure.
        own: a model of one's own, in the place of the script.

    Returns:
        For each way the answer, and how many milliseconds a run with one call takes.
    """
    measured = {}
    async with serving(weather_service()) as (url,), ways(url) as found:
        for way, tool in found.items():
            heading(way)
            # An agent elsewhere may do anything: without this rule a person would be asked before each call.
            agent = Agent(own_or_scripted(own, script), [tool], policy=Rules(Rule("allow")))
            answer = (await watch(agent, QUESTION)).text
            began = time.perf_counter()
            for _ in range(times):
                await agent.run(QUESTION)
            measured[way] = (answer, (time.perf_counter() - began) * 1000 / max(times, 1))
    return measured


def main(arguments: Sequence[str] | None = None) -> None:
    """Run it."""
    own = own_model(__doc__, arguments)
    measured = asyncio.run(side_by_side(0 if own else TIMES, own))
    if own:
        return
    heading(f"A run with one call, the mean of {TIMES}")
    for way, (_, milliseconds) in measured.items():
        print(f"{way:<16}{milliseconds:6.1f} ms")


if __name__ == "__main__":
    main()
