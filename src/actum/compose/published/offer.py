"""What tenants have published, as a server offers it, with what the settings of the operator allow."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...core.interfaces import Journal
from ...runs.given_tools import Toolish
from ...server.api.connected import TenantModels
from ...server.published import PublishedOffer
from ...server.workflows import WorkflowsByName
from ..workflows import Workflows
from .agents import DeclaredAgents
from .tools import DeclaredTools


def published_offer(
    declared: DeclaredTools,
    workflows_in: Callable[[Journal], WorkflowsByName],
    own: Sequence[Toolish],
    models: TenantModels | None = None,
) -> PublishedOffer:
    """What tenants have published.

    Args:
        declared: the published tools.
        workflows_in: the workflows of the server, with the published ones that a journal keeps.
        own: the tools of the server.
        models: the models that tenants have connected; None for none.
    """
    settings = declared.settings
    agents = DeclaredAgents(settings, journal=declared.journal, own=own, tools=declared, models=models)
    declared.published_agents = agents.of

    def over(journal: Journal) -> PublishedOffer:
        place = settings, declared.environment, declared.folder
        workflows = Workflows(*place, journal=journal)
        tools = DeclaredTools(*place, journal=journal, workflows=workflows, agents=declared.agents)
        return published_offer(tools, workflows_in, own, models)

    return PublishedOffer(workflows_in(declared.journal), declared.of, agents.of, over)
