"""What the settings have that may reach collections of documents: agents, and workflows by their nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from ...agents.agent import Agent
from ...agents.agent_tool import AgentTool
from ...core.errors import ActumError, UsageError
from ...core.interfaces import Toolset
from ...core.tool import innermost
from ...knowledge.browsing.browser import Browser, KnowledgeTool
from ...knowledge.unread import CallingPart, callers_of
from ...server.api.api import ASSISTANT
from ...workflow.definition.text import BadWorkflow
from ...workflow.definition.tool_names import called_names, workflow_names
from ...workflow.workflow_tool import WorkflowTool
from ..settings import PUBLISHED, Settings, ToolSource
from ..tools import KNOWLEDGE
from ..workflows import read_workflow_file


def calling_parts(
    settings: Settings, folder: Path, built: Callable[[str], Agent[object]] | None = None
) -> list[CallingPart]:
    """The agents and workflows of the settings, with what they may call.

    Args:
        settings: with the tables of the agents and workflows; without a table there is one agent for everybody.
        folder: that of the settings.
        built: builds an agent by its name, for those that are defined in Python code; None where no code is loaded:
            then nothing is known of what they call.
    """
    return [*_agents(settings, built), *_workflows(settings, folder)]


def _agents(settings: Settings, built: Callable[[str], Agent[object]] | None) -> Iterator[CallingPart]:
    if not settings.agents:
        yield CallingPart(ASSISTANT, frozenset(_places(settings)), ())
    for name, table in settings.agents.items():
        calls = _in_code(name, built) if table.python else [*_places(settings.of_agents[name]), *table.agents]
        yield CallingPart(name, frozenset(calls), callers_of(table.users, table.roles))


def _workflows(settings: Settings, folder: Path) -> Iterator[CallingPart]:
    """The workflows. One that can not be read calls nothing."""
    for name, table in settings.workflows.items():
        with suppress(UsageError, BadWorkflow):
            definition = read_workflow_file(str(folder / Path(table.file).expanduser()))
            yield CallingPart(name, frozenset([*called_names(definition), *workflow_names(definition)]))


def _places(settings: Settings) -> list[str]:
    """Where the tools of settings come from."""
    return [(each.source if isinstance(each, ToolSource) else each).removeprefix(PUBLISHED) for each in settings.tools]


def _in_code(name: str, built: Callable[[str], Agent[object]] | None) -> list[str]:
    """The collections that an agent in Python code reaches, as settings name them."""
    try:
        return [] if built is None else [f"{KNOWLEDGE}{each}" for each in _collections(built(name).runner.toolsets)]
    except ActumError:  # what is wrong with the agent is told elsewhere
        return []


def _collections(toolsets: Sequence[Toolset]) -> Iterator[str]:
    """The collections of tools and browsers, also of those that the agents and workflows among the tools have."""
    for each in (inner for one in toolsets for inner in innermost(one)):
        if isinstance(each, Browser | KnowledgeTool):
            yield from each.collections or ()
        elif isinstance(each, WorkflowTool):
            yield from _collections(each.workflow.runner.toolsets)
        elif isinstance(each, AgentTool) and isinstance(each.agent, Agent):
            yield from _collections(each.agent.runner.toolsets)
