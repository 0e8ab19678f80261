"""Gives agents of the settings what they take from what their caller's tenant has published.

    [agents.desk]
    tools = ["shop.py", "published:*"]
    instructions = "prompt:desk"

What is published is theirs with the next run. A run goes on with the publications with which it began.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from ...agents.parts import AgentParts, Completes
from ...core.stored.definitions import reference
from ..agents import prompt_named
from ..settings import Settings
from ..tools import published_names
from .agents import published_prompt
from .tools import DeclaredTools


def completing(declared: DeclaredTools, settings: Settings) -> Completes:
    """What completes an agent of these settings.

    Args:
        declared: the published tools of all tenants.
        settings: of the agent.
    """
    return partial(_completed, declared, published_names(settings.tools), prompt_named(settings.instructions))


async def _completed(
    declared: DeclaredTools,
    names: list[str],
    prompt: str,
    agent: AgentParts,
    tenant: str,
    began_with: Mapping[str, int] | None,
) -> AgentParts:
    instructions, uses = None, dict[str, int]()
    if prompt:
        instructions, uses = await published_prompt(declared.journal.definitions, prompt, tenant, began_with)
    if not names:
        return agent.with_published((), uses, instructions)
    own = {tool.name for tool in await agent.list_tools()}
    without = own - {reference(name)[0] for name in names if name != "*"}
    made = await declared.of(tenant).toolset(names, without=without, began_with=began_with)
    return agent.with_published([made.toolset], {**uses, **made.uses}, instructions)
