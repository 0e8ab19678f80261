"""The tools and the agent of a command, with the MCP servers that it uses."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from ..agents.agent import Agent
from ..compose.agents import list_tools, make_agent, open_agents, takes_published, tool_names
from ..compose.mcp import open_finder, open_mcp, usable_servers
from ..compose.models import make_model
from ..compose.published.tools import NO_AGENTS, DeclaredTools
from ..compose.secrets import open_secrets
from ..compose.settings import FINDER, Settings
from ..compose.settings_watch import open_egress
from ..compose.tools import load_tools, problems_of
from ..compose.workflows import Workflows, open_workflows
from ..core.interfaces import Journal
from ..core.policy import Approver
from ..core.tool import Tool
from ..journal.memory import MemoryJournal
from ..runs.given_tools import Toolish
from ..server.api.api import AgentsByName
from . import options
from .show.terminal import Terminal, counted

if TYPE_CHECKING:
    from ..toolsets.mcp.host import McpHost
    from ..toolsets.mcp.toolset import McpToolset


class Loaded(NamedTuple):
    """The tools of a command, and the MCP servers that some of them are of, by name."""

    tools: list[Toolish]
    servers: Mapping[str, McpToolset] = {}


@contextlib.asynccontextmanager
async def tools(settings: Settings, terminal: Terminal, *, needed: str = "") -> AsyncIterator[Loaded]:
    """The tools that were named, those of MCP servers among them; what is the matter with a server is told.

    Args:
        needed: the name of the only tool that is needed: where it is no server's, no server is looked at.
    """
    loaded = load_tools(settings, Path.cwd())
    for problem in problems_of(loaded):
        terminal.note("no tool: {problem}", problem=problem)
    if needed and needed in {tool.name for tool in await list_tools(loaded)}:
        yield Loaded(loaded)
        return
    read = usable_servers(settings.mcp, os.environ)
    for note in read.notes:
        terminal.note(note)
    host = open_mcp(read.servers, os.environ, egress=open_egress(settings, os.environ), wait_s=settings.mcp_wait)
    finds = FINDER in settings.tools
    if host is None:
        yield Loaded([*loaded, open_finder(None, settings.tool_labels)] if finds else loaded)
        return
    try:
        async with _telling([host], terminal):
            yield Loaded([*loaded, open_finder(host, settings.tool_labels) if finds else host], host.servers)
    finally:
        await host.close()


def listed_tools(terminal: Terminal, where: list[str] | None, mcp: list[str] | None) -> Sequence[Tool]:
    """The definitions of the tools that were named, those of MCP servers among them.

    Args:
        where: what `--tools` says.
        mcp: what `--mcp` says.
    """

    async def command() -> Sequence[Tool]:
        settings = options.read(tools=where, mcp=mcp)
        async with tools(settings, terminal) as loaded:
            return await list_tools(loaded.tools, settings.tool_labels)

    return asyncio.run(command())


@contextlib.asynccontextmanager
async def _telling(hosts: Sequence[McpHost], terminal: Terminal) -> AsyncIterator[None]:
    """A block with MCP servers that were looked at; what is the matter with a server is told before and after it."""
    if not hosts:
        yield
        return
    try:
        terminal.waiting.begin("looking at MCP servers")
        for host in hosts:
            await host.list_tools()
    finally:
        terminal.waiting.end()
    told = [matter for host in hosts for matter in _matters(host)]
    for matter in told:
        terminal.note(matter)
    yield
    for matter in (matter for host in hosts for matter in _matters(host)):
        if matter not in told:
            terminal.note(matter)


def _matters(host: McpHost) -> list[str]:
    """What a person should know of the servers: what is wrong with one, and which of its tools wait for them."""
    found = [
        problem if problem.startswith("MCP server ") else f"MCP server {name}: {problem}"
        for name, problem in host.problems.items()
    ]
    for name, toolset in host.servers.items():
        if toolset.server.unjailed:
            found.append(f"MCP server {name} runs without a jail: it reaches all that you can reach")
        held = [each for each in toolset.quarantined if each.fault in ("new", "changed")]
        if held:
            found.append(
                f"MCP server {name}: {counted(len(held), 'tool')} to be approved by `actum mcp approve {name}`"
            )
    return found


@contextlib.asynccontextmanager
async def agent(
    settings: Settings, journal: Journal, approver: Approver | None, terminal: Terminal
) -> AsyncIterator[Agent]:
    """The agent of this command, with the model and the tools that were named."""
    async with agent_with_servers(settings, journal, approver, terminal) as (made, _):
        yield made


@contextlib.asynccontextmanager
async def agent_with_servers(
    settings: Settings, journal: Journal, approver: Approver | None, terminal: Terminal
) -> AsyncIterator[tuple[Agent, Mapping[str, McpToolset]]]:
    """The agent of this command: that of `--agent`, or the one around all tables; and its MCP servers by name."""
    if settings.agent:
        async with (
            open_agents(settings, os.environ, Path.cwd(), journal=journal, approver=approver) as agents,
            open_workflows(settings, os.environ, Path.cwd(), journal=journal) as workflows,
        ):
            agents.completing = _declared(settings, journal, workflows, agents).completing
            named = cast("Agent", agents.get(settings.agent))  # the command line shows the answer's text alone
            async with _telling(agents.hosts, terminal):
                yield named, {name: server for host in agents.hosts for name, server in host.servers.items()}
        return
    model = make_model(settings)
    async with (
        tools(settings, terminal) as loaded,
        open_workflows(settings, os.environ, Path.cwd(), journal=journal) as workflows,
    ):
        secrets = open_secrets(os.environ)
        made = make_agent(settings, model, loaded.tools, journal=journal, approver=approver, secrets=secrets)
        if takes_published(settings):
            made = made.completed_by(_declared(settings, journal, workflows).completing(settings))
        yield made, loaded.servers


def _declared(
    settings: Settings, journal: Journal, workflows: Workflows, agents: AgentsByName = NO_AGENTS
) -> DeclaredTools:
    return DeclaredTools(settings, os.environ, Path.cwd(), journal=journal, workflows=workflows, agents=agents)


async def names_elsewhere(settings: Settings) -> set[str]:
    """The names of the tools of the agents that have a name."""
    async with open_agents(settings, os.environ, Path.cwd(), journal=MemoryJournal()) as agents:
        return await tool_names(agents)
