"""`ModelConnections`: the models that tenants have connected, as models that can be asked.

A connection is a row of the tenant (`features.connections`), read anew for each request, so that a change counts from
the next request in every process. Its key is looked for under the connection itself, then among the secrets of the
tenant, and last in the environment of the server, whose keys are the operator's and serve the tenant without a name
only. The key goes to the address of the row alone: redirects are not followed, and a guard looks at every address at
which a socket is opened, so that a name can not lead elsewhere after the row was written.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

from ..core.errors import ModelError, UsageError
from ..core.interfaces import Journal
from ..core.message import UserMessage
from ..core.model import Model, Request
from ..core.run.ids import new_id
from ..core.stores import Stores
from ..core.user import User
from ..features.connections import CONNECTIONS, ModelConnection
from ..models.catalog import PROVIDERS, Connection, open_connected, place_of
from ..models.local_servers import find_local_models
from ..server.api.api import ASSISTANT, KeptSecrets
from ..server.api.connected import Outcome, key_name
from ..server.models.upstream import ModelRoute, ModelUpstream
from ..transport.egress import Egress
from ..transport.guard import AddressRefused, Guard
from ..transport.http import HttpFailure
from ..transport.upstream_client import UpstreamClient
from .settings import Settings
from .settings_watch import open_egress

log = logging.getLogger("actum.server")

LOOK_S = 0.5
"""How long servers of this machine have to list their models, in seconds."""
TEST_S = 30.0
"""The longest silence of a model that is tested, in seconds."""
TEST_TOKENS = 200
"""Room for a model that thinks before it says a word."""
_ABOUT_THE_KEY = re.compile(r"api[ _-]?key", re.IGNORECASE)


class _Opened(NamedTuple):
    row: ModelConnection
    key: str
    model: Model
    route: ModelRoute


class ModelConnections:
    """The models that tenants have connected.

    Args:
        stores: keep the connections.
        secrets: keep the keys, and the secrets of the tenants.
        egress: the operator's rules for outgoing calls.
        environment: the variables of the server, which are the operator's.
        agent: the name of the agent that asks the default model of its caller's tenant; empty for none.
        taken: names of models and agents of the settings, which no connection can have.

    Attributes:
        agent, taken: as above.
    """

    def __init__(
        self,
        stores: Stores,
        secrets: KeptSecrets,
        egress: Egress,
        environment: Mapping[str, str],
        *,
        agent: str = "",
        taken: Collection[str] = (),
    ) -> None:
        self.agent, self.taken = agent, frozenset(taken)
        self._stores, self._secrets = stores, secrets
        self._egress, self._environment = egress, environment
        self._opened: dict[tuple[str, str], _Opened] = {}
        self._clients: dict[str, UpstreamClient] = {}

    # What a tenant has ------------------------------------------------------------------------------------------------

    async def rows(self, tenant: str) -> Sequence[ModelConnection]:
        """The connections of a tenant, by name."""
        try:
            return await self._stores.find(tenant, CONNECTIONS)
        except UsageError:  # a program serves without the features of actum, so nobody has connected anything
            return ()

    async def names(self, tenant: str) -> Sequence[str]:
        """What a tenant calls its models."""
        return [row.name for row in await self.rows(tenant)]

    async def default_name(self, tenant: str) -> str:
        """What the default model of a tenant is called on record; empty where the tenant has none."""
        return next((shown_name(row) for row in await self.rows(tenant) if row.is_default), "")

    async def default_model(self, tenant: str) -> Model | None:
        """The default model of a tenant; None where the tenant has none.

        Raises:
            UsageError: the model can not be asked now.
        """
        row = next((row for row in await self.rows(tenant) if row.is_default), None)
        return None if row is None else (await self._open(tenant, row)).model

    async def named(self, tenant: str, name: str) -> Model | None:
        """The model that a tenant has connected under a name; None where there is none.

        Raises:
            UsageError: the model can not be asked now.
        """
        row = next((row for row in await self.rows(tenant) if row.name == name), None)
        return None if row is None else (await self._open(tenant, row)).model

    async def route(self, tenant: str, name: str) -> ModelRoute | None:
        """Where requests for a model of a tenant go; None where the tenant has none of this name.

        Raises:
            UsageError: the model can not be asked now.
        """
        row = next((row for row in await self.rows(tenant) if row.name == name), None)
        return None if row is None else (await self._open(tenant, row)).route

    async def local(self) -> Sequence[tuple[str, str]]:
        """The models that servers on this machine list; see `models.local_servers`."""
        found = [model.name.split(":", 1) for model in await find_local_models(self._environment, wait_s=LOOK_S)]
        return [(provider, name) for provider, name in found]

    # Addresses and keys -----------------------------------------------------------------------------------------------

    def provider_url(self, tenant: str, provider: str) -> tuple[str, bool]:
        """Where a provider answers, and whether the operator has named another address than the provider's own, which
        holds for the tenant without a name.

        Args:
            tenant: whose connection it is.
            provider: a row of the table of providers.

        Raises:
            UsageError: a variable of the environment holds what is no address.
        """
        row = PROVIDERS[provider]
        known = self._environment if not tenant else {}
        place = place_of(f"{provider}:any", environment={**known, row.key_variable: "any"})
        return place.url, place.url != row.url

    async def check(self, row: ModelConnection) -> None:
        """The address of a connection may be reached. A name that nobody knows now is looked at when it is asked.

        Raises:
            AddressRefused: it may not.
        """
        try:
            await self._guard(row).check(row.url)
        except AddressRefused:
            raise
        except HttpFailure as failure:
            log.info("the address of the connection %s is not known now: %s", row.name, failure)

    async def key(self, tenant: str, row: ModelConnection) -> str:
        """The key of a connection; empty where there is none.

        Raises:
            UsageError: the secrets can not be read now. Why is in the log: the words name files.
        """
        try:
            return await asyncio.to_thread(self._find_key, tenant, row)
        except UsageError as error:
            reference = new_id("err")
            log.error("%s: %s", reference, error)
            raise UsageError(
                "the key of the model {name} can not be read now; the log of the server has the cause under {mark}",
                name=row.name,
                mark=reference,
            ) from None

    def _find_key(self, tenant: str, row: ModelConnection) -> str:
        keys, store = self._secrets.model_keys, self._secrets.store
        own = keys.model_key(key_name(row), tenant) if keys is not None else None
        if own is not None:
            return own.reveal()
        if not row.provider:
            return ""  # no other key was ever meant for this address
        variable = PROVIDERS[row.provider].key_variable
        shared = store.get(variable, User(tenant)) if store is not None else None
        if shared is not None:
            return shared.reveal()
        return self._environment.get(variable, "") if not tenant else ""

    # Asking -----------------------------------------------------------------------------------------------------------

    async def test(self, tenant: str, row: ModelConnection, key: str) -> Outcome:
        """Ask a model once. Nothing is kept.

        Args:
            tenant: the tenant that asks.
            row: the connection as it would be.
            key: the key that is tried; empty for the one that the connection would have.

        Raises:
            UsageError: the secrets can not be read now.
        """
        key = key or await self.key(tenant, row)
        reach = Connection(client=UpstreamClient(guard=self._guard(row)), timeout_s=TEST_S, asks_once=True)
        try:
            model = _model_of(row, key, reach)
        except UsageError:
            return "key_refused"  # the provider wants a key, and there is none
        try:
            await model.reply(Request(messages=(UserMessage.of("Say OK."),), max_tokens=TEST_TOKENS))
        except ModelError as error:
            log.info("a test of the model %s failed: %s", model.name, error)
            return _outcome_of(error, model.name, row.model)
        return "ok"

    async def _open(self, tenant: str, row: ModelConnection) -> _Opened:
        """A connection as a model and as a route. Both are kept while the row and the key stay the same, since a model
        learns how its endpoint is spoken to."""
        key = await self.key(tenant, row)
        known = self._opened.get((tenant, row.name))
        if known is None or (known.row, known.key) != (row, key):
            known = self._made(tenant, row, key)
            self._opened[tenant, row.name] = known
        return known

    def _made(self, tenant: str, row: ModelConnection, key: str) -> _Opened:
        client = self._client(row)
        model = _model_of(row, key, Connection(client=client))
        name, base_url = _named(row)
        environment = {f"{row.provider.upper()}_BASE_URL": base_url} if base_url else {}
        place = place_of(name, key=key, environment=environment)
        # Another name than that of every other upstream: failures are counted by it.
        upstream = ModelUpstream(f"{tenant}/{row.name}", place, client=client)
        return _Opened(row, key, model, ModelRoute([upstream]))

    def _guard(self, row: ModelConnection) -> Guard:
        return Guard(row.url if row.is_local else "", egress=self._egress)

    def _client(self, row: ModelConnection) -> UpstreamClient:
        """One client for all whom the same guard holds back."""
        own = row.url if row.is_local else ""
        if own not in self._clients:
            self._clients[own] = UpstreamClient(guard=self._guard(row))
        return self._clients[own]


def open_connections(
    settings: Settings, environment: Mapping[str, str], journal: Journal, secrets: KeptSecrets
) -> ModelConnections:
    """The models that tenants connect while a server of these settings runs. Where the settings name no agent, the
    agent `assistant` asks the default model of its caller's tenant.

    Args:
        settings: as read.
        environment: the variables of this process.
        journal: keeps the connections.
        secrets: keep their keys.
    """
    return ModelConnections(
        journal.stores,
        secrets,
        open_egress(settings, environment),
        environment,
        agent="" if settings.agents else ASSISTANT,
        taken=settings.models,
    )


def shown_name(row: ModelConnection) -> str:
    """What the model of a connection is called on record."""
    return f"{row.provider}:{row.model}" if row.provider else f"{row.model}@{urlsplit(row.url).netloc}"


def _named(row: ModelConnection) -> tuple[str, str]:
    """The full name of the model, and the address that takes the place of its provider's own; empty for that."""
    if not row.provider:
        return f"{row.url}#{row.model}", ""
    return f"{row.provider}:{row.model}", "" if row.url == PROVIDERS[row.provider].url else row.url


def _model_of(row: ModelConnection, key: str, reach: Connection) -> Model:
    """The model of a connection.

    Raises:
        UsageError: the provider wants a key, and there is none.
    """
    if row.provider and PROVIDERS[row.provider].key_needed and not key:
        raise UsageError(
            "the model {name} has no key any more: connect the model again, with its key", name=shown_name(row)
        )
    name, base_url = _named(row)
    return open_connected(name, key=key, base_url=base_url, connection=reach)


def _outcome_of(error: ModelError, *names: str) -> Outcome:
    """What an error of a model means for the person who connects the model."""
    said = str(error)
    for name in names:  # a name may hold the words that are looked for
        said = said.replace(name, "")
    if error.status in (401, 403) or (error.status == 400 and _ABOUT_THE_KEY.search(said)):
        return "key_refused"
    if error.status in (400, 404, 422) and "model" in said.lower():
        return "unknown_model"
    return "unreachable"
