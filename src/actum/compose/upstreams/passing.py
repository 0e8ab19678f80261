"""The models door as the settings describe it: the tables `[models.*]`, and the agents.

This file loads a web framework and an HTTP client: import it only where a server is to run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ...core.budget import Price
from ...core.errors import UsageError
from ...core.interfaces import Journal
from ...models.catalog import SILENCE_S, ModelPlace, place_of
from ...server.models.executor import Executor
from ...server.models.names import ModelNames
from ...server.models.passing import PassingThrough
from ...server.models.routes import ModelRoutes
from ...server.models.upstream import ModelRoute, ModelUpstream
from ...transport.upstream_client import UpstreamClient
from ..connections import ModelConnections
from ..mcp import secrets_of
from ..settings import EMBEDDED, ModelTable, Settings, UpstreamTable

MODELS_SCOPE = "models"
_SECRET = re.compile(r"\$\{(secret:)?([A-Za-z0-9_.-]+)\}")


def open_models_door(
    settings: Settings,
    environment: Mapping[str, str],
    journal: Journal,
    agents: Sequence[str] = (),
    executor: Executor | None = None,
    connections: ModelConnections | None = None,
) -> ModelRoutes[ModelRoute]:
    """The door of all model APIs. Where the settings name no model and no agent, every request is told so in the form
    of its API, with what is to be written into the settings.

    Args:
        settings: as read.
        environment: variables, for keys of providers and for the secrets that the settings name.
        journal: keeps a line of each request that is passed on.
        agents: the names of the agents that the executor answers by.
        executor: answers by agents; None where no agent is served at this door.
        connections: the models that tenants have connected; None for none.

    Raises:
        UsageError: a table is wrong, a key is missing, or a name means two things.
    """
    passing: dict[str, ModelRoute] = {}
    executing = {name: name for name in agents if name and executor is not None}
    for name, table in settings.models.items():
        if table.agent and table.upstreams:
            raise UsageError(
                "[models.{name}] means two things: the agent {agent}, and upstreams", name=name, agent=table.agent
            )
        if table.agent and table.agent not in agents:
            raise UsageError("[models.{name}]: there is no agent {agent!r}", name=name, agent=table.agent)
        if table.agent:
            if name in executing and table.agent != name:
                raise UsageError(
                    "the model {name!r} means two things: the agents {name} and {agent}", name=name, agent=table.agent
                )
            executing[name] = table.agent
        else:
            passing[name] = model_route(name, table, settings.prices, environment)
    passer = PassingThrough(UpstreamClient(), kept=journal.passed)
    names = ModelNames(passing, executing)
    return ModelRoutes(names, passer=passer, executor=executor, scopes=(MODELS_SCOPE,), connected=connections)


def model_route(
    name: str, table: ModelTable, prices: Mapping[str, Price], environment: Mapping[str, str]
) -> ModelRoute:
    """Where the requests for a model of `[models.*]` go.

    Args:
        name, table: the model.
        prices: what models cost.
        environment: variables, for keys of providers and for the secrets that the settings name.

    Raises:
        UsageError: the table is wrong, or a key is missing.
    """
    upstreams = []
    for one in upstream_tables(table):
        try:
            upstreams.append(_upstream(one, prices, environment))
        except UsageError as error:
            raise UsageError("[models.{name}]: {why}", name=name, why=error) from None
    if not upstreams:
        raise UsageError('[models.{name}] needs upstreams = ["provider:model"], or agent = "name"', name=name)
    return ModelRoute(upstreams, fallback=table.fallback, keeps_bodies=table.keep_bodies)


def upstream_tables(table: ModelTable) -> list[UpstreamTable]:
    """The upstreams of a model, in order."""
    return [each if isinstance(each, UpstreamTable) else UpstreamTable(model=each) for each in table.upstreams]


def _upstream(table: UpstreamTable, prices: Mapping[str, Price], environment: Mapping[str, str]) -> ModelUpstream:
    if table.model == EMBEDDED or table.model.startswith("local:"):
        raise UsageError(
            "{name!r} is at no endpoint to which requests could be passed on: make it the model of an agent, "
            '[agents.NAME] model = "…", and write agent = "NAME" here',
            name=table.model,
        )
    place: ModelPlace = place_of(
        table.model, dialect=table.api, key=upstream_key(table.key, environment), environment=environment
    )
    return ModelUpstream(
        table.model,
        place,
        weight=table.weight,
        timeout_s=SILENCE_S if table.timeout_s is None else table.timeout_s,
        headers=table.headers,
        prices=prices,
        trace=table.trace,
    )


def upstream_key(said: str, environment: Mapping[str, str]) -> str:
    """The key that `${secret:NAME}` or `${NAME}` stands for; empty where nothing is said.

    Raises:
        UsageError: it is not there, or the key itself was written.
    """
    if not said:
        return ""
    named = _SECRET.fullmatch(said)
    if named is None:
        raise UsageError("key: write ${secret:NAME} or ${VARIABLE}; the key itself does not belong into a file")
    found = secrets_of(environment).get(named[2]) if named[1] else environment.get(named[2])
    if not found:
        raise UsageError("key: {said} is not there, or is empty", said=said)
    return found
