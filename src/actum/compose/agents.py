"""An agent and its policy, as the settings describe them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..agents.agent import Agent
from ..core.interfaces import Approver, Journal, Model
from ..core.secret_store import SecretSource
from ..core.tool import Tool
from ..policy.file import PolicyFile
from ..policy.rules import CAREFUL, Rules
from ..runs.given_tools import Toolish
from ..runs.runner import Runner
from .settings import Settings


def make_agent(
    settings: Settings,
    model: Model,
    tools: Sequence[Toolish],
    *,
    journal: Journal,
    approver: Approver | None,
    name: str = "agent",
    secrets: SecretSource | None = None,
) -> Agent:
    """An agent around a model of `make_model`, and tools of `load_tools`.

    Without a policy of their own it asks before every declared side effect: whoever types a command has not read the
    tools' code.

    Raises:
        UsageError: the policy can not be read.
    """
    return Agent(
        model,
        tools,
        instructions=settings.instructions,
        name=name,
        policy=open_policy(settings),
        limits=settings.limits,
        prices=settings.prices,
        journal=journal,
        approver=approver,
        settings=settings.model_settings,
        truncation=settings.truncation,
        secrets=secrets,
    )


def make_runner(
    settings: Settings,
    tools: Sequence[Toolish],
    *,
    name: str,
    journal: Journal,
    approver: Approver | None,
    secrets: SecretSource | None = None,
) -> Runner:
    """What makes calls of tools of `load_tools` without a model; the policy is that of `make_agent`.

    Raises:
        UsageError: the policy can not be read.
    """
    return Runner(
        tools,
        name=name,
        policy=open_policy(settings),
        limits=settings.limits,
        prices=settings.prices,
        journal=journal,
        approver=approver,
        secrets=secrets,
    )


def open_policy(settings: Settings) -> Rules | PolicyFile:
    """The policy that the settings name; where its rules say nothing, side effects of local tools ask too.

    Raises:
        UsageError: it can not be read, or is no policy.
    """
    return PolicyFile(Path(settings.policy).expanduser(), careful=True) if settings.policy else CAREFUL


async def list_tools(tools: Sequence[Toolish]) -> Sequence[Tool]:
    """The definitions of these tools, as an agent would show them to its model.

    Raises:
        BadTool: two of one name, or a bad schema.
    """
    return await Runner(tools).list_tools()
