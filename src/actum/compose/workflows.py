"""Makes workflows out of settings: the tools, the policy, the prices and the journal are those of an agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ..core.errors import UsageError
from ..core.interfaces import Approver, Journal
from ..core.secret_store import SecretSource
from ..runs.given_tools import Toolish
from ..transport.egress import Egress
from ..workflow.graph import Definition
from ..workflow.load import read_definition
from ..workflow.published import PublishedWorkflows
from ..workflow.workflow import Workflow
from .agents import list_tools, open_policy
from .settings import Settings
from .tools import with_labels


def make_workflow(
    settings: Settings,
    definition: Definition,
    tools: Sequence[Toolish],
    *,
    journal: Journal,
    approver: Approver | None,
    secrets: SecretSource | None = None,
    egress: Egress | None = None,
    version: int = 0,
    uses: Mapping[str, int] | None = None,
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
        version, uses: as for `Workflow`.

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
        version=version,
        uses=uses,
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


async def published_workflows(
    settings: Settings,
    tools: Sequence[Toolish],
    *,
    journal: Journal,
    approver: Approver | None,
    secrets: SecretSource | None = None,
    egress: Egress | None = None,
    tenant: str = "",
) -> PublishedWorkflows:
    """The published workflows of a journal's shelf, made with tools of `load_tools`.

    Args:
        settings, tools, journal, approver, secrets, egress: as for `make_workflow`.
        tenant: whose shelf is meant.

    Raises:
        UsageError: the journal keeps no shelf.
    """

    def make(definition: Definition, used: Sequence[Workflow], version: int, uses: Mapping[str, int]) -> Workflow:
        return make_workflow(
            settings,
            definition,
            [*tools, *used],
            journal=journal,
            approver=approver,
            secrets=secrets,
            egress=egress,
            version=version,
            uses=uses,
        )

    given = [tool.name for tool in await list_tools(tools)]
    return PublishedWorkflows(journal, make, given=given, tenant=tenant)
