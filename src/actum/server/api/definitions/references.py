"""Which definitions name others: what fails when one is taken out of use, and who calls a tool that changes.

Agents name tools, collections and prompts, workflows name tools, agents and workflows, tools name workflows and agents.
A name that may be several of these counts for each. What the settings of the operator name is not looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from ....agents.declared import AGENT, PROMPT, PromptReference, read_agent
from ....core.definition import BadText
from ....core.errors import UsageError
from ....core.process.worker_thread import off_loop
from ....core.stored.definitions import Definitions, Publication, reference
from ....knowledge.citing.sources import ADDRESS
from ....knowledge.tables import CollectionRow
from ....knowledge.unread import ALL_TOOLS, CallingPart, UnreadCollection, callers_of, tools_of, unread_by
from ....toolsets.declared.declaration import read_declaration
from ....toolsets.declared.published import KIND as TOOL
from ....toolsets.declared.server import SERVER
from ....workflow.definition.graph import nodes_in
from ....workflow.definition.tool_names import MODEL, named_by
from ....workflow.load import read_definition

WORKFLOW, COLLECTION = "workflow", "collection"
_CALLED = (TOOL, WORKFLOW, AGENT)
"""What can be called by its name: one name is one of these."""


async def used_by(
    definitions: Definitions, kind: str, name: str, *, tenant: str, with_numbers: bool = False
) -> list[str]:
    """The names of the definitions in use that refer to another one, in order.

    Args:
        definitions: keeps the texts.
        kind, name: the one that is referred to.
        tenant: whose definitions are meant.
        with_numbers: whether those count, too, that name a version of it (`price@3`).
    """
    found: set[str] = set()
    for other, named_in in _NAMED_IN.items():
        for each in await definitions.mentioning(other, name, tenant=tenant):
            if (other, each.name) == (kind, name):
                continue
            named = await off_loop(len(each.text), _named, named_in, each.text)
            if any(_is_meant(kind, name, known) and (with_numbers or not known[2]) for known in named):
                found.add(each.name)
    return sorted(found)


async def unread(
    definitions: Definitions, collection: CollectionRow, *, tenant: str, own: Sequence[CallingPart]
) -> list[UnreadCollection]:
    """The agents that reach a collection and whose callers can not all read it. An agent reaches what it calls, and
    what this calls: agents, workflows and published tools, to any depth.

    A published agent lets nobody in but its own callers, and neither does an agent that is called by one. So where all
    callers of an agent can read, nobody who calls the agent by way of a published text has to be told.

    Args:
        definitions: keeps the texts. Of a name with a version the text in use is looked at.
        collection: the collection.
        tenant: whose collection and definitions are meant.
        own: the agents and workflows of the settings.
    """
    found = dict[UnreadCollection, None]()
    wanted = [(each, False) for each in tools_of(collection.name)]
    seen, own = set(wanted), [*own, *await _not_in_use(definitions, own, tenant=tenant)]
    while wanted:
        called, lets_readers_in = wanted.pop()
        calling = [each for each in own if called in each.calls and not (lets_readers_in and each.is_published)]
        if not lets_readers_in and called != ALL_TOOLS:
            calling += await _calling(definitions, called, tenant=tenant)
        for each in calling:
            problem = unread_by(each, collection, tenant=tenant)
            is_fine = problem is None and each.callers is not None
            if problem is not None:
                found[problem] = None
            if not (is_fine and each.is_published):
                ways = {(name, is_fine) for name in (*each.called, *([ALL_TOOLS] if each.is_tool else []))} - seen
                wanted += ways
                seen |= ways
    return list(found)


async def _calling(definitions: Definitions, called: str, *, tenant: str) -> list[CallingPart]:
    """The agents, tools and workflows in use that call something by its name."""
    found: list[CallingPart] = []
    for kind in _NAMED_IN:
        for each in await definitions.mentioning(kind, called, tenant=tenant):
            part = await _part(each, each.name)
            found += [part] if called in part.calls else []
    return found


async def _not_in_use(definitions: Definitions, own: Sequence[CallingPart], *, tenant: str) -> list[CallingPart]:
    """The publications that others call by their number alone (`books@3`), down to the last one."""
    texts = [each for kind in _NAMED_IN for each in await definitions.mentioning(kind, "@", tenant=tenant)]
    found: list[CallingPart] = []
    wanted = [*own, *[await _part(each, each.name) for each in texts]]
    seen = set[str]()
    while wanted:
        for written in {each for each in wanted.pop().calls if "@" in each} - seen:
            seen.add(written)
            parts = [await _part(each, written) for each in await _named_by(definitions, written, tenant=tenant)]
            wanted += parts
            found += parts
    return found


async def _named_by(definitions: Definitions, written: str, *, tenant: str) -> list[Publication]:
    """The publications that a name with a number stands for, without those in use."""
    try:
        name, number = reference(written)
    except UsageError:  # such as an address
        return []
    found: list[Publication] = []
    for kind in _NAMED_IN:
        line = await definitions.line_in_use(kind, name, tenant=tenant)
        in_use = () if line is None else (line.number, line.canary.number if line.canary is not None else 0)
        text = None if number in in_use else await definitions.published(kind, name, number, tenant=tenant)
        found += [] if text is None else [text]
    return found


async def _part(text: Publication, name: str) -> CallingPart:
    """A published text with what it calls."""
    named = await off_loop(len(text.text), _named, _NAMED_IN[text.kind], text.text)
    agent = await off_loop(len(text.text), read_agent, text.text) if text.kind == AGENT and named else None
    callers = None if agent is None else callers_of(agent.users, agent.roles)
    called = [(name, number) for kind, name, number in named if kind in (*_CALLED, COLLECTION)]
    calls = frozenset(f"{name}@{number}" if number else name for name, number in called)
    is_tool = text.kind == TOOL and "@" not in name
    return CallingPart(name, calls, callers, is_published=True, is_tool=is_tool, number=text.number)


_Named = tuple[str, str, int | None]
"""The kind and the name of what a text refers to, and the number of the version that it names."""


def _named(named_in: Callable[[str], Iterator[_Named]], text: str) -> list[_Named]:
    try:
        return list(named_in(text))
    except BadText:  # a text of another version of the program
        return []


def _is_meant(kind: str, name: str, known: _Named) -> bool:
    """Whether a text refers to a definition: to a server also by the name of one of the server's tools."""
    is_its_tool = kind == SERVER and known[0] == TOOL and known[1].startswith(f"{name}_")
    return is_its_tool or (kind, name) == known[:2]


def _reference(kind: str, written: str) -> _Named:
    return kind, *reference(written)


def _in_agent(text: str) -> Iterator[_Named]:
    agent = read_agent(text)
    for written in agent.tools:
        if written.startswith(ADDRESS):
            yield COLLECTION, written, None
        else:
            yield from (_reference(kind, written) for kind in (TOOL, WORKFLOW))
    yield from (_reference(AGENT, written) for written in agent.agents)
    if isinstance(agent.instructions, PromptReference):
        yield _reference(PROMPT, agent.instructions.prompt)


def _in_tool(text: str) -> Iterator[_Named]:
    declared = read_declaration(text)
    for kind, written in ((WORKFLOW, declared.workflow), (AGENT, declared.agent)):
        if written:
            yield _reference(kind, written)
    if declared.mcp is not None or declared.a2a is not None:
        yield SERVER, declared.mcp.server if declared.mcp is not None else declared.a2a.agent, None  # type: ignore[union-attr]


def _in_workflow(text: str) -> Iterator[_Named]:
    for node in nodes_in(read_definition(text).graph):
        named = named_by(node.settings)
        if named is None or named[0] == MODEL:
            continue
        written, kinds = named[1], (WORKFLOW,) if named[0] == WORKFLOW else _CALLED
        name, number = reference(written) if "@" in written else (written, None)  # the operator's tools have any name
        yield from ((kind, name, number) for kind in kinds)


_NAMED_IN: Mapping[str, Callable[[str], Iterator[_Named]]] = {
    AGENT: _in_agent,
    TOOL: _in_tool,
    WORKFLOW: _in_workflow,
}
