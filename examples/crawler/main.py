"""A crawler as an MCP server at http://127.0.0.1:9000/sse. A host finds it by the configuration in `mcp.json`, lists
its tools and calls them; and an agent finds it for itself, by `mcp_sse_list_tools` and `mcp_sse_call_tool`."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from actum import Agent, Answer, Tool, ToolCall
from actum.cli.conversation.approve import TerminalApprover
from actum.cli.show.terminal import Terminal
from actum.core.json import JsonObject
from actum.events import RunResult
from actum.messages import Request, ToolMessage
from actum.protocols.mcp.config import McpServer
from actum.protocols.mcp.document import read_servers
from actum.testing import Said, ScriptedApprover, ScriptedModel
from actum.toolsets.mcp import McpHost, McpToolset
from actum.toolsets.mcp.finder import McpFinder

sys.path.insert(0, str(Path(__file__).parents[2]))  # so that it also runs as a file

from examples.crawler.server import PORT, service
from examples.crawler.site import web_site
from examples.local_services.serving import serving
from examples.own_model import own_model
from examples.watch import heading, watch

QUESTION = "When is the lotus in flower? Read the garden's pages first."


def configured(path: Path) -> McpServer:
    """The one server of a configuration."""
    (server,) = read_servers(json.loads(path.read_text("utf-8")), os.environ).servers
    return server


def answered(request: Request, calls: Sequence[ToolCall]) -> Said:
    """What stands in for the model: these calls one after the other, then an answer from what the last one found."""
    results = [message.result for message in request.messages if isinstance(message, ToolMessage)]
    if len(results) < len(calls):
        return calls[len(results)]
    page = json.loads(results[-1].text)[0]
    return f"{page['text'].removeprefix(page['title']).strip()} ({page['title']})"


def agent(tools: McpHost | McpFinder, own: str, *calls: ToolCall) -> Agent:
    """An agent whose user agrees to each call: nobody vouches for what a server says of its own tools.

    With a model of one's own, the person at the terminal is asked.
    """
    if own:
        return Agent(own, [tools], approver=TerminalApprover(Terminal()))
    yes = ScriptedApprover(*(Answer("approve") for _ in calls))
    return Agent(ScriptedModel(lambda request: answered(request, calls)), [tools], approver=yes)


async def by_configuration(server: McpServer, own: str = "") -> tuple[list[Tool], RunResult]:
    """List the tools of a configured server, and have an agent use them."""
    async with McpHost([McpToolset(server, wait_s=60)]) as host:
        tools = list(await host.list_tools())
        for tool in tools:
            print(f"{tool.name}: {tool.description.splitlines()[0]}")
        crawl, search = (
            ToolCall("1", "my_search__crawl", {}),
            ToolCall("2", "my_search__search", {"words": "lotus flower"}),
        )
        return tools, await watch(agent(host, own, crawl, search), QUESTION)


async def at_run_time(server: McpServer, own: str = "") -> RunResult:
    """Let an agent find out for itself what a server has."""
    async with McpHost([McpToolset(server, wait_s=60)]) as host, McpFinder(host, prefixes=["mcp_sse"]) as finder:
        search: JsonObject = {"server": server.name, "tool": "search", "arguments": {"words": "lotus flower"}}
        calls = [
            ToolCall("1", "mcp_sse_list_tools", {"server": server.name}),
            ToolCall("2", "mcp_sse_call_tool", search),
        ]
        return await watch(agent(finder, own, *calls), QUESTION)


async def everything(port: int = PORT, own: str = "") -> tuple[list[Tool], RunResult, RunResult]:
    """Start the site and the crawler, and use it both ways.

    Args:
        port: where the crawler listens; 0 for any that is free.
        own: a model of one's own, in the place of the script.
    """
    server = configured(Path(__file__).with_name("mcp.json"))
    async with serving(web_site()) as (site,), serving(service(site), port=port) as (crawler,):
        server = msgspec.structs.replace(server, url=f"{crawler}/sse")
        heading(f"{server.name}, at {server.url}")
        tools, first = await by_configuration(server, own)
        heading("The same, found at run time")
        return tools, first, await at_run_time(server, own)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run it."""
    try:
        asyncio.run(everything(own=own_model(__doc__, arguments)))
    except OSError as taken:
        sys.exit(f"port {PORT}: {taken.strerror}; end what listens there, or give mcp.json another port")


if __name__ == "__main__":
    main()
