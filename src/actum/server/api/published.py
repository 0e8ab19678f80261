"""Agents, prompts, servers and policies as kinds of definitions. Drafts and publications are at
`/v1/agents/{name}/...`, `/v1/prompts/{name}/...`, `/v1/servers/{name}/...` and `/v1/policies/{name}/...`.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ...agents.declared import AGENT, PROMPT, agents_differ, prompts_differ, read_agent, read_prompt
from ...core.definition import DefinitionChange, ReadDefinition
from ...core.identity import Identity
from ...core.interfaces import Journal
from ...features.definition import DefinitionKind
from ...policy.file import read_rules
from ...policy.published import POLICY, policies_differ, read_published
from ...runs.definitions import Publisher
from ...runs.rejudged import decisions_differ
from ...toolsets.declared.server import SERVER, read_server, read_server_card, servers_differ
from ..scopes import allows, wants
from .api import Api
from .definitions.operations import operations_of


async def _open(api: Api, who: Identity) -> Publisher | None:
    """What publishes the agents of the caller's tenant; None where nobody can publish any."""
    agents = api.published.agents_of(who.tenant)
    if agents is None:
        return None

    async def check(name: str, text: str) -> ReadDefinition:
        shows = await api.shows(who)
        return await agents.check(name, text, {tool.name: tool for tool in await api.tools(who) if shows(tool)}, who)

    return Publisher(api.journal, AGENT, "agents", check, tenant=who.tenant, means=agents.means)


async def _means(api: Api, who: Identity, name: str) -> str:
    """What else a name means on this server; empty for nothing."""
    if name in api.agents.names:
        return "an agent of the settings"
    if name in api.workflows.names:
        return "a workflow of the settings"
    return "a published workflow" if name in await api.published.listed(who.tenant) else ""


def _read(text: str) -> ReadDefinition:
    return ReadDefinition(name=read_agent(text).name)


AGENTS = DefinitionKind(
    name=AGENT,
    plural="agents",
    read=_read,
    difference=agents_differ,
    open=_open,
    means=_means,
    may_see=lambda who, name: who.may_use("agent", name),
    readers=("build",),
    builders=("build",),
    uses_tools=True,
    runs="agent",
    own=frozenset({"list", "get"}),  # with those of the settings, and workflows
    is_listed=False,
    example="helper.agent.yaml",
    differs_in=", field by field",
)
PROMPTS = DefinitionKind(
    name=PROMPT,
    plural="prompts",
    read=read_prompt,
    difference=prompts_differ,
    readers=("build",),
    builders=("build",),
    example="desk.prompt.md",
    differs_in=", word by word",
    empty="There are no prompts yet. Try: actum prompts publish desk.prompt.md",
)


async def _open_servers(api: Api, who: Identity) -> Publisher | None:
    """What publishes the servers of the caller's tenant; None where nobody can publish any."""
    tools = api.published.tools_of(who.tenant)
    if tools is None:
        return None

    async def check(name: str, text: str) -> ReadDefinition:
        read = read_server(text)
        if read.names_secret and not allows(who, ("admin",)):  # to look at the tools is to send the secret
            raise wants("admin", "to publish what names a secret")
        workflows = [*api.workflows.names, *(await api.published.listed(who.tenant))]
        taken = [*workflows, *api.agents.names, *(tool.name for tool in await api.runner.list_tools())]
        card = await tools.check_server(name, text, taken)
        about = msgspec.json.encode(card).decode()
        return ReadDefinition(name=read.name, about=about, names_secret=read.names_secret, pins=True)

    return Publisher(api.journal, SERVER, "servers", check, tenant=who.tenant)


def _read_server(text: str) -> ReadDefinition:
    return ReadDefinition(name=read_server(text).name)


def _told_of_server(about: str) -> str:
    card = read_server_card(about)
    if card is None:
        return ""
    names = ", ".join(tool.name for tool in card.tools[:SHOWN_MAX])
    more = f", +{len(card.tools) - SHOWN_MAX}" if len(card.tools) > SHOWN_MAX else ""
    return f"{card.description}: {names}{more}" if card.description else f"{names}{more}"


SHOWN_MAX = 12
"""The number of tools of a server that a list names."""
SERVERS = DefinitionKind(
    name=SERVER,
    plural="servers",
    read=_read_server,
    difference=servers_differ,
    open=_open_servers,
    may_see=lambda who, name: who.may_use("tool", f"{name}_"),
    readers=("build",),
    builders=("build",),
    uses_tools=True,
    stops=True,
    told=_told_of_server,
    example="crm.server.yaml",
    differs_in=", field by field",
    empty="There are no servers yet. Try: actum servers publish crm.server.yaml",
)


async def _decisions(journal: Journal, tenant: str, old: str, new: str) -> Sequence[DefinitionChange]:
    """Which of the latest calls on record the new policy judges otherwise."""
    before, after = (read_rules(text, which, careful=True) for text, which in ((old, "old"), (new, "new")))
    return await decisions_differ(journal, before, after, tenant=tenant)


POLICIES = DefinitionKind(
    name=POLICY,
    plural="policies",
    group="policy",
    read=read_published,
    difference=policies_differ,
    weighed=_decisions,
    judges=True,
    example="house.policy.toml",
    differs_in=", by rule, and by the calls on record that would be judged otherwise",
    empty="There are no policies yet. Try: actum policy publish house.policy.toml",
)
AGENT_OPERATIONS = operations_of(AGENTS)
SERVER_OPERATIONS = operations_of(SERVERS)
PROMPT_OPERATIONS = operations_of(PROMPTS)
POLICY_OPERATIONS = operations_of(POLICIES)
