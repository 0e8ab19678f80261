"""Makes workflows out of settings: the tools, the policy, the prices and the journal are those of an agent."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from ..agents.agent import Agent
from ..core.errors import UsageError
from ..core.interfaces import Approver, Journal
from ..core.record import Started
from ..core.secret_store import SecretSource
from ..runs.given_tools import Toolish
from ..transport.egress import Egress
from ..workflow.graph import Definition, nodes_in
from ..workflow.load import read_definition
from ..workflow.settings import AgentNode
from ..workflow.workflow import Workflow
from .agents import open_policy
from .settings import Settings
from .tools import with_labels


class NamedAgents(Protocol):
    """Agents by their names."""

    def get(self, name: str) -> Agent[object]:
        """The agent of a name.

        Raises:
            UnknownName: there is none.
        """


def make_workflow(
    settings: Settings,
    definition: Definition,
    tools: Sequence[Toolish],
    *,
    journal: Journal,
    approver: Approver | None,
    secrets: SecretSource | None = None,
    egress: Egress | None = None,
) -> Workflow:
    """A workflow with tools of `load_tools`.

    Args:
        settings: what a person set.
        definition: the graph.
        tools: what the nodes may call.
        journal: where runs are written down.
        approver: who can be asked.
        secrets: what tools and `http` nodes may ask for.
        egress: the operator's rules for outgoing requests.

    Raises:
        UsageError: the policy can not be read.
    """
    return Workflow(
        definition,
        with_labels(tools, settings.tool_labels),
        policy=open_policy(settings),
        prices=settings.prices,
        journal=journal,
        approver=approver,
        secrets=secrets,
        egress=egress,
    )


def load_workflow(
    settings: Settings,
    named: str,
    tools: Sequence[Toolish],
    agents: NamedAgents,
    *,
    journal: Journal,
    secrets: SecretSource | None = None,
    egress: Egress | None = None,
) -> Workflow:
    """A workflow of the settings, or in a file, for a server. Nobody is there who could be asked.

    Args:
        settings: what a person set.
        named: a name of `[workflows]`, or a file.
        tools: of `load_tools`.
        agents: the agents that nodes may name.
        journal: where runs are written down.
        secrets: what tools and `http` nodes may ask for.
        egress: the operator's rules for outgoing requests.

    Raises:
        BadWorkflow: something is wrong with the definition.
        UsageError: there is no such workflow, or no agent that one of its nodes names.
    """
    table = settings.workflows.get(named)
    definition = read_workflow_file(table.file if table is not None else named)
    return workflow_of(settings, definition, tools, agents, journal=journal, secrets=secrets, egress=egress)


def workflow_of(
    settings: Settings,
    definition: Definition,
    tools: Sequence[Toolish],
    agents: NamedAgents,
    *,
    journal: Journal,
    secrets: SecretSource | None = None,
    egress: Egress | None = None,
) -> Workflow:
    """A workflow with the agents that its nodes name; the arguments and errors are those of `load_workflow`."""
    nodes = nodes_in(definition.graph)
    named = dict.fromkeys(node.settings.agent for node in nodes if isinstance(node.settings, AgentNode))
    helpers = [agents.get(name).as_tool(name) for name in named]
    return make_workflow(
        settings, definition, [*tools, *helpers], journal=journal, approver=None, secrets=secrets, egress=egress
    )


def read_workflow_file(path: str) -> Definition:
    """The definition in a file.

    Raises:
        BadWorkflow: something is wrong with the text.
        UsageError: the file can not be read.
    """
    return read_definition(workflow_text(path))


def workflow_text(path: str) -> bytes:
    """The text of a definition in a file.

    Raises:
        UsageError: the file can not be read.
    """
    try:
        return Path(path).expanduser().read_bytes()
    except OSError as error:
        raise UsageError(f"the workflow {path} can not be read: {error.strerror}") from None


async def definition_of(journal: Journal, run_id: str) -> Definition:
    """The definition with which a run began.

    Raises:
        UsageError: the run is none of a workflow.
    """
    entries = (await journal.read(run_id))[:1]
    started = entries[0].record if entries else None
    if not isinstance(started, Started) or not started.workflow:
        raise UsageError(f"run {run_id!r} is none of a workflow")
    return read_definition(await journal.kept(started.workflow))
