"""What operations work with where no server runs: the journal of the settings, and what follows from it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import cache
from pathlib import Path

from ..core.clock import SystemClock
from ..core.errors import UsageError
from ..core.interfaces import Journal, Toolset
from ..runs.given_tools import Toolish
from ..runs.runner import Runner
from ..server.api.api import Api, GivenAgents, Tasking
from ..server.published import PublishedOffer, TenantAgents
from ..server.workflows import GivenWorkflows, WorkflowsByName
from ..toolsets.declared.published import TenantTools
from ..triggers.states import TriggerStates
from ..workflow.published import PublishedCalls
from .agents import Agents, list_tools
from .connections import open_connections
from .features import features_of, take_into_use
from .journals import open_journal
from .published.collection_agents import calling_parts
from .published.offer import published_offer
from .published.tools import DeclaredTools
from .secrets import kept_secrets
from .settings import Settings
from .task_queue import open_queue
from .tools import memory_spaces
from .upstreams.named_models import NamedModels
from .workflows import WorkflowParts, Workflows, workflows_of_tenant


@asynccontextmanager
async def open_application(settings: Settings, tools: Sequence[Toolish] = ()) -> AsyncIterator[Api]:
    """What the operations of this machine's own commands work with: no agents, and nothing that carries a task out in
    this process. Loads no web server.

    Args:
        settings: name the journal.
        tools: the tools that workflows and published agents may call; none by default. With some, the workflows of the
            settings are tools as well.

    Raises:
        JournalError: the journal can not be opened.
    """
    journal = open_journal(settings, os.environ)
    built = Workflows(settings, os.environ, Path.cwd(), journal=journal)
    try:
        features = await take_into_use(features_of(settings), journal)
        own = [*tools, *(_as_tools(built) if tools else ())]
        runner = Runner(own, journal=journal, labels=settings.labels)
        listed = await list_tools(tools, settings.tool_labels) if tools else []

        def workflows_in(kept: Journal) -> WorkflowsByName:
            parts = WorkflowParts(settings=settings, tools=tools, journal=kept, named=NamedModels(settings, os.environ))
            return GivenWorkflows({}, lambda tenant: workflows_of_tenant(parts, tenant=tenant, tools=listed), listed)

        tasking = Tasking(open_queue(settings, journal))
        secrets = kept_secrets(os.environ)
        async with _published(settings, journal, tools, workflows_in) as offer:
            api = Api(
                runner,
                GivenAgents({}),
                SystemClock(),
                tasking,
                offer.workflows,
                features,
                secrets,
                published=offer,
                triggers=TriggerStates(settings.triggers, journal.positions),
            )
            api.calling = calling_parts(settings, Path.cwd())
            api.spaces = memory_spaces(settings)
            yield api
    finally:
        await built.close()
        await journal.close()


def _as_tools(workflows: Workflows) -> Iterator[Toolset]:
    """The workflows of the settings as tools, which a published agent may name as on a server. A workflow that can not
    be built is left out: `actum config check` tells why.
    """
    for name in workflows.names:
        with suppress(UsageError):
            yield workflows.tool(name)


@asynccontextmanager
async def _published(
    settings: Settings,
    journal: Journal,
    tools: Sequence[Toolish],
    workflows_in: Callable[[Journal], WorkflowsByName],
) -> AsyncIterator[PublishedOffer]:
    """What tenants have published, with the agents and workflows of the settings: made when they are asked for."""
    async with AsyncExitStack() as stack:

        @cache
        def declared() -> DeclaredTools:
            agents = Agents(settings, os.environ, Path.cwd(), journal=journal)
            workflows = Workflows(settings, os.environ, Path.cwd(), journal=journal)
            stack.push_async_callback(agents.close)
            stack.push_async_callback(workflows.close)
            found = DeclaredTools(settings, os.environ, Path.cwd(), journal=journal, workflows=workflows, agents=agents)
            agents.completing = found.completing
            return found

        @cache
        def made() -> PublishedOffer:
            models = open_connections(settings, os.environ, journal, kept_secrets(os.environ))
            return published_offer(declared(), workflows_in, tools, models)

        def calls_of(tenant: str) -> PublishedCalls:
            made()  # knows the published agents
            return declared().calls_of(tenant)

        def tools_of(tenant: str) -> TenantTools:
            own = made().tools_of(tenant)
            assert own is not None
            return own

        def agents_of(tenant: str) -> TenantAgents:
            own = made().agents_of(tenant)
            assert own is not None
            return own

        def over(other: Journal) -> PublishedOffer:
            whole = made().over
            assert whole is not None
            return whole(other)

        own = workflows_in(journal)
        own.call_published(calls_of)
        yield PublishedOffer(own, tools_of, agents_of, over)
