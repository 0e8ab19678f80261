"""Which definitions name others: what fails when one is taken out of use, and who calls a tool that changes.

Agents name tools and prompts, workflows name tools, agents and workflows, tools name workflows and agents. A name that
may be several of these counts for each. What the settings of the operator name is not looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from ....agents.declared import AGENT, PROMPT, PromptReference, read_agent
from ....core.definition import BadText
from ....core.process.worker_thread import off_loop
from ....core.stored.definitions import Definitions, reference
from ....toolsets.declared.declaration import read_declaration
from ....toolsets.declared.published import KIND as TOOL
from ....toolsets.declared.server import SERVER
from ....workflow.definition.graph import nodes_in
from ....workflow.definition.settings import WorkflowNode
from ....workflow.definition.tool_names import tool_names
from ....workflow.load import read_definition

WORKFLOW = "workflow"
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
            if any((kind, name) == known[:2] and (with_numbers or not known[2]) for known in named):
                found.add(each.name)
    return sorted(found)


_Named = tuple[str, str, bool]
"""The kind and the name of what a text refers to, and whether it names a version."""


def _named(named_in: Callable[[str], Iterator[_Named]], text: str) -> list[_Named]:
    try:
        return list(named_in(text))
    except BadText:  # a text of another version of the program
        return []


def _reference(kind: str, written: str) -> _Named:
    name, number = reference(written)
    return kind, name, number is not None


def _in_agent(text: str) -> Iterator[_Named]:
    agent = read_agent(text)
    for written in agent.tools:
        yield from (_reference(kind, written) for kind in (TOOL, WORKFLOW))
    if isinstance(agent.instructions, PromptReference):
        yield _reference(PROMPT, agent.instructions.prompt)


def _in_tool(text: str) -> Iterator[_Named]:
    declared = read_declaration(text)
    for kind, written in ((WORKFLOW, declared.workflow), (AGENT, declared.agent)):
        if written:
            yield _reference(kind, written)
    if declared.mcp is not None or declared.a2a is not None:
        yield SERVER, declared.mcp.server if declared.mcp is not None else declared.a2a.agent, False  # type: ignore[union-attr]


def _in_workflow(text: str) -> Iterator[_Named]:
    for node in nodes_in(read_definition(text).graph):
        if isinstance(node.settings, WorkflowNode):
            yield _reference(WORKFLOW, node.settings.workflow)
            continue
        for name in tool_names(node.settings):
            yield from ((kind, name, False) for kind in _CALLED)


_NAMED_IN: Mapping[str, Callable[[str], Iterator[_Named]]] = {
    AGENT: _in_agent,
    TOOL: _in_tool,
    WORKFLOW: _in_workflow,
}
