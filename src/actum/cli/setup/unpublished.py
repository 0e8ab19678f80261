"""What the settings take from the publications of tenants, and no tenant has published."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager

from msgspec import Struct

from ...agents.declared import PROMPT
from ...compose.agents import prompt_named
from ...compose.settings import Settings
from ...compose.tools import published_names
from ...core.interfaces import Journal
from ...core.stored.definitions import KindName, reference
from ...policy.published import POLICY, policy_named
from ...toolsets.declared.published import ALL
from ...toolsets.declared.published import KIND as TOOL
from ...toolsets.declared.server import SERVER

WORKFLOW = "workflow"
_COMMANDS = {
    TOOL: "actum tools publish {name}.json --tenant TENANT",
    PROMPT: "actum prompts publish {name}.prompt.md --tenant TENANT",
    POLICY: "actum policy publish {name}.policy.toml --tenant TENANT",
    WORKFLOW: "actum workflow publish {name}.workflow.yaml --tenant TENANT",
}


class Unpublished(Struct, frozen=True):
    """A name in the settings that nobody has published.

    Attributes:
        agent: the agent or the trigger that has it, such as `[agents.desk]`; `actum.toml` for the settings outside a
            table.
        kind: `tool`, `prompt`, `policy` or `workflow`.
        name: the name.
        command: what publishes it.
    """

    agent: str
    kind: KindName
    name: str
    command: str

    def __str__(self) -> str:
        return f"{self.agent}: nobody has published the {self.kind} {self.name!r}"


async def unpublished(settings: Settings, opened: AbstractAsyncContextManager[Journal]) -> list[Unpublished]:
    """The names in the settings that no tenant has published.

    Args:
        settings: with the tables of the agents.
        opened: opens the journal that keeps the publications. It is opened only where the settings name some.

    Raises:
        ActumError: the journal can not be opened, or does not answer; or a name is none.
    """
    named = list(dict.fromkeys(_named(settings)))
    if not named:
        return []
    async with opened as journal:
        in_use = {(kind, name) for _, kind, name in await journal.definitions.in_use_everywhere()}
    servers = [name for kind, name in in_use if kind == SERVER]
    return [
        Unpublished(agent, kind, name, _COMMANDS[kind].format(name=name))
        for agent, kind, name in named
        if (kind, name) not in in_use
        and not (kind == TOOL and any(name.startswith(f"{server}_") for server in servers))
    ]


def _named(settings: Settings) -> Iterator[tuple[str, KindName, str]]:
    """Each name with the agent or the trigger that has it, and its kind."""
    for name, trigger in settings.triggers.items():
        if trigger.workflow and trigger.workflow not in settings.workflows:
            yield f"[triggers.{name}]", WORKFLOW, reference(trigger.workflow)[0]
    tables = {f"[agents.{name}]": each for name, each in settings.of_agents.items()}
    for agent, each in (tables or {"actum.toml": settings}).items():
        for written in published_names(each.tools):
            if written != ALL:
                yield agent, TOOL, reference(written)[0]
        if prompt := prompt_named(each.instructions):
            yield agent, PROMPT, reference(prompt)[0]
        if policy := policy_named(each.policy):
            yield agent, POLICY, policy
