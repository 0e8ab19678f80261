"""A server with one agent behind the models door, for tests with the official clients."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

from msgspec import Struct

from actum import Agent
from actum.call.limits.limits import Limits
from actum.core.clock import SystemClock
from actum.core.interfaces import Clock, Journal
from actum.core.message import Reply
from actum.core.model import Request
from actum.core.stored.key import new_key
from actum.policy.rules import Rules
from actum.runs.given_tools import Toolish
from actum.runs.runner import Runner
from actum.server.access import Access
from actum.server.api.api import Api, GivenAgents
from actum.server.api.routes import ApiRoutes
from actum.server.models.agents.executor import AgentExecutor, AgentServing
from actum.server.models.names import ModelNames
from actum.server.models.passing import PassingThrough
from actum.server.models.routes import ModelRoutes
from actum.server.models.upstream import ModelRoute
from actum.server.route_group import RouteGroup
from actum.server.verifier import Keys
from actum.server.web_application import WebApplication, WebApplicationSettings
from actum.storage.place import open_journal
from actum.testing import ScriptedModel
from actum.transport.upstream_client import UpstreamClient
from tests.patience import HANGS_S
from tests.web import serving


async def until(look: Callable[[], Awaitable[object]]) -> None:
    """Wait until something is so that no event tells of."""
    async with asyncio.timeout(HANGS_S):
        while not await look():
            await SystemClock().sleep(0.005)


Script = Sequence[str | Reply] | Callable[[Request], str | Reply]


class Desk(Struct, frozen=True):
    """A server that runs.

    Attributes:
        url: where it is.
        keys: the texts of its keys, by their names.
        model: what its agent asks.
        journal: where its runs are written down.
        api: the runs under way.
    """

    url: str
    keys: dict[str, str]
    model: ScriptedModel
    journal: Journal
    api: Api


@asynccontextmanager
async def desk(
    script: Script,
    tools: Sequence[Toolish] = (),
    *,
    policy: Rules | None = None,
    path: Path | None = None,
    hold_s: float = 0.0,
    hang_up: Literal["", "end"] = "",
    clock: Clock | None = None,
    model: ScriptedModel | None = None,
    passing: Mapping[str, ModelRoute] | None = None,
    limits: Limits | None = None,
    memory: Literal["user"] | None = None,
    cite: Literal["mark", "strict"] | bool = False,
) -> AsyncIterator[Desk]:
    """A server with the agent `desk`, and keys: of `ann`, of `bob`, of `ann` who may also approve, of a program, of
    an `ann` of another tenant, and one that `ann` alone has. `passing` are models whose requests are passed on.
    """
    model = model or ScriptedModel(script)
    journal = open_journal(path) if path is not None else None
    agent: Agent[object] = Agent(
        model,
        tools,
        name="desk",
        policy=policy,
        journal=journal,
        instructions="You help.",
        limits=limits,
        memory=memory,
        cite=cite,
    )
    runner = Runner(name="server", journal=agent.journal)
    api = Api(runner, GivenAgents({"desk": agent}), clock or SystemClock())
    executor = AgentExecutor(api, AgentServing(hold_s=hold_s, drain_s=1.0))
    made = {
        "ann": new_key("ann", scopes=["runs"], hang_up=hang_up),
        "bob": new_key("bob", scopes=["runs"]),
        "boss": new_key("boss", principal="ann", scopes=["runs", "approve"]),
        "approver": new_key("approver", scopes=["approve"]),
        "program": new_key("program", scopes=["runs"], speaks_for="program"),
        "personal": new_key("personal", principal="ann", scopes=["runs"], personal=True),
        "ann-2": new_key("ann-2", principal="ann", tenant="other", scopes=["runs", "approve"]),
    }
    doors: list[RouteGroup] = [
        ModelRoutes(
            ModelNames(passing or {}, {"desk": "desk"}), passer=PassingThrough(UpstreamClient()), executor=executor
        ),
        ApiRoutes(runner, GivenAgents({"desk": agent})),
    ]
    application = WebApplication(
        doors, WebApplicationSettings(access=Access(verifier=Keys(key for _, key in made.values())))
    )
    async with serving(application.app) as origin:
        yield Desk(origin, {name: text for name, (text, _) in made.items()}, model, agent.journal, api)
    if path is not None:
        await agent.journal.close()
