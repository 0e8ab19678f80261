"""What tenants have published, as a server offers it, with what the settings of the operator allow."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from ...core.interfaces import Journal
from ...runs.given_tools import Toolish
from ...server.api.connected import TenantModels
from ...server.published import PublishedOffer
from ...server.workflows import WorkflowsByName
from ...workflow.published import CallsOfTenants
from ..agents import Agents
from ..connections import open_connections
from ..secrets import kept_secrets
from ..settings import Settings
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
    declared.models = (lambda: models) if models is not None else None

    def over(journal: Journal) -> PublishedOffer:
        place = settings, declared.environment, declared.folder
        workflows = Workflows(*place, journal=journal)
        tools = DeclaredTools(*place, journal=journal, workflows=workflows, agents=declared.agents)
        return published_offer(tools, workflows_in, own, models)

    served = workflows_in(declared.journal)
    served.call_published(declared.calls_of)
    return PublishedOffer(served, declared.of, agents.of, over)


def published_calls(
    settings: Settings, journal: Journal, own: Sequence[Toolish], agents: Agents, workflows: Workflows
) -> CallsOfTenants:
    """What the nodes of workflows may use of what tenants have, where no server runs.

    Args:
        settings: as read.
        journal: keeps the texts.
        own: the tools of the settings.
        agents, workflows: of the settings.
    """
    declared = DeclaredTools(settings, os.environ, Path.cwd(), journal=journal, workflows=workflows, agents=agents)
    agents.completing = declared.completing
    models = open_connections(settings, os.environ, journal, kept_secrets(os.environ))
    published_offer(declared, lambda _: workflows, own, models)
    return declared.calls_of
