"""What lists tell of published workflows: read without the texts, so that a list of thousands costs little.

The code that publishes a workflow writes a `WorkflowCard` beside the text; see
`core.stored.definitions.PublicationInUse`. The effects of a workflow are not on the card: they follow from the tools as
they are now.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from ..core.json import JsonObject
from ..core.stored.definitions import PublicationInUse
from ..core.tool import Effects, Tool
from .definition.graph import Definition, nodes_in
from .definition.tool_names import tool_names, workflow_names
from .workflow_tool import NODE_EFFECTS


class WorkflowCard(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What lists tell of a definition.

    Attributes:
        description: what the workflow is good for.
        inputs: the JSON Schema of its inputs.
        tools: the tools that its nodes name.
        workflows: the workflows that its nodes name, as they are written.
        effects: the effects of nodes that call no tool of the program.
    """

    description: str = ""
    inputs: JsonObject = {}
    tools: tuple[str, ...] = ()
    workflows: tuple[str, ...] = ()
    effects: tuple[Effects, ...] = ()


class ListedWorkflow(Struct, frozen=True, kw_only=True):
    """A published workflow in a list.

    Attributes:
        publication: which publication is in use.
        card: what the list tells of it.
        tool: the workflow as a tool.
    """

    publication: PublicationInUse
    card: WorkflowCard
    tool: Tool

    @property
    def description(self) -> str:
        """What the workflow is good for, as its author says it; may be empty."""
        return self.card.description


def card_of(definition: Definition) -> WorkflowCard:
    """The card of a definition."""
    nodes = nodes_in(definition.graph)
    workflows = workflow_names(definition)
    named = {name for node in nodes for name in tool_names(node.settings)}
    return WorkflowCard(
        description=definition.description,
        inputs=definition.inputs,
        tools=tuple(sorted(named - {name.partition("@")[0] for name in workflows})),
        workflows=tuple(workflows),
        effects=tuple(sorted({NODE_EFFECTS[node.type.name] for node in nodes if node.type.name in NODE_EFFECTS})),
    )


def written_card(definition: Definition) -> str:
    """The card of a definition as text; empty where the definition has characters that can not be written."""
    try:
        return msgspec.json.encode(card_of(definition)).decode()
    except UnicodeEncodeError:
        return ""


def read_card(about: str) -> WorkflowCard | None:
    """The card in a text; None where there is none, or one that this version can not read."""
    try:
        return msgspec.json.decode(about, type=WorkflowCard) if about else None
    except msgspec.MsgspecError:
        return None


def listed(
    found: Sequence[tuple[PublicationInUse, WorkflowCard]],
    tools: Sequence[Tool],
    known: Mapping[str, ListedWorkflow] | None = None,
) -> dict[str, ListedWorkflow]:
    """The list of published workflows.

    Args:
        found: the publications in use, each with its card.
        tools: the tools that the workflows may call.
        known: an older list, whose lines are used again where they are still true.

    Returns:
        Each workflow by its name.
    """
    effects = _Effects({each.name: (each, card) for each, card in found}, tools)
    before = known or {}
    return {each.name: _line(each, card, effects.of(each.name), before.get(each.name)) for each, card in found}


def _line(
    publication: PublicationInUse,
    card: WorkflowCard,
    effects: frozenset[Effects] | None,
    before: ListedWorkflow | None,
) -> ListedWorkflow:
    if before is not None and before.publication == publication and before.tool.effects == effects:
        return before
    tool = Tool(
        name=publication.name,
        description=card.description or f"Run the workflow {publication.name!r}.",
        parameters=card.inputs or {"type": "object", "properties": {}},
        effects=effects,
        idempotent=True,
        from_client=True,
    )
    return ListedWorkflow(publication=publication, card=card, tool=tool)


class _Effects:
    """The effects of workflows: those of all tools that they call, by way of other workflows too."""

    def __init__(self, cards: Mapping[str, tuple[PublicationInUse, WorkflowCard]], tools: Sequence[Tool]) -> None:
        self._cards = cards
        self._tools = {tool.name: tool for tool in tools}
        self._known: dict[str, frozenset[Effects] | None] = {}

    def of(self, name: str) -> frozenset[Effects] | None:
        """The effects of a workflow; None where they are not known."""
        if name not in self._known:
            self._known[name] = None  # a workflow that comes back to itself can not be run
            own = self._own(self._cards[name][1])
            self._known[name] = None if own is None else frozenset(own or {"read"})
        return self._known[name]

    def _own(self, card: WorkflowCard) -> set[Effects] | None:
        found: set[Effects] = set(card.effects)
        for name in card.tools:
            tool = self._tools.get(name)
            if tool is None or tool.effects is None:
                return None
            found |= tool.effects
        for written in card.workflows:
            below = self._of_written(written)
            if below is None:
                return None
            found |= below
        return found

    def _of_written(self, written: str) -> frozenset[Effects] | None:
        name, _, number = written.partition("@")
        if name in self._tools and not number:
            return self._tools[name].effects
        used = self._cards.get(name)
        if used is None or (number and number != str(used[0].number)):
            return None  # an older publication, which no list tells
        return self.of(name)
