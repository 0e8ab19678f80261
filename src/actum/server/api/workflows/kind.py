"""Workflows as a kind of definitions: the first one. Drafts and publications are at `/v1/workflows/{name}/...`."""

from __future__ import annotations

from ....core.definition import ReadDefinition
from ....core.identity import Identity
from ....core.tool import Tool
from ....features.command import AnswerText
from ....features.definition import DefinitionKind
from ....runs.definitions import Publisher
from ....workflow.definition.difference import difference
from ....workflow.load import read_definition
from ...published import agent_tool
from ..api import Api
from ..definitions.operations import operations_of


async def _open(api: Api, who: Identity) -> Publisher | None:
    """What publishes the workflows of the caller's tenant; None where the journal keeps none."""
    published = await api.workflows.published(who.tenant)
    return published.publisher(await tools_for(api, who)) if published is not None else None


async def tools_for(api: Api, who: Identity) -> list[Tool]:
    """What the nodes of a caller's workflows may call: the tools of the settings, and the tools and agents that the
    caller's tenant has published; of these, what the caller may use.
    """
    shows, own = await api.shows(who), await api.workflows.default_tools()
    taken = {tool.name for tool in own}
    declared = (await api.published.offered(who.tenant)).declared
    tools = [*own, *(each.tool for name, each in declared.items() if name not in taken)]
    agents = api.published.agents_of(who.tenant)
    listed = await agents.listed() if agents is not None else {}
    asked = [agent_tool(name, each.description) for name, each in listed.items() if who.may_use("agent", name)]
    return [*(tool for tool in tools if shows(tool)), *(tool for tool in asked if tool.name not in taken)]


async def _means(api: Api, who: Identity, name: str) -> str:
    """What else a name means on this server; empty for nothing."""
    tools = api.published.tools_of(who.tenant)
    if tools is not None and name in await tools.listed():
        return "a published tool"
    if name in api.workflows.names:
        return "a workflow of the settings"
    if name in api.agents.names:
        return "an agent"
    return "a tool" if any(tool.name == name for tool in await api.runner.list_tools()) else ""


def _read(text: str) -> ReadDefinition:
    return ReadDefinition(name=read_definition(text).name)


def _remarks(text: str) -> list[AnswerText]:
    definition = read_definition(text)
    told = "{name} was imported from {format}. From now on its fixed values count as written by you."
    values = {"name": definition.name, "format": definition.imported or ""}
    return [AnswerText(told, values=values, is_note=True)] if definition.imported else []


WORKFLOWS = DefinitionKind(
    name="workflow",
    plural="workflows",
    group="workflow",
    read=_read,
    difference=difference,
    open=_open,
    means=_means,
    may_see=lambda who, name: who.may_use("agent", name),
    readers=("runs", "build"),
    builders=("build",),
    uses_tools=True,
    runs="workflow",
    own=frozenset({"list", "get", "check"}),  # with those of the settings, inputs and outputs, and what a node is
    example="flight_desk.workflow.yaml",
    differs_in=": nodes, edges and fields, but no positions",
    empty="There are no workflows yet. Try: actum workflow publish desk.workflow.yaml",
    remarks=_remarks,
)
OPERATIONS = operations_of(WORKFLOWS)
