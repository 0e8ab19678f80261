"""The models that tenants have connected: their table, and what the handlers ask of the code that opens them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal, Protocol

from msgspec import Struct

from ...core.model import Model
from ...core.stores import Table
from ...features.feature import Feature
from ...models.catalog import PROVIDERS

Outcome = Literal["ok", "key_refused", "unreachable", "unknown_model"]
"""What came of asking a model once. `unreachable` stands for everything that is none of the others."""


class ModelConnection(Struct, frozen=True, kw_only=True):
    """A model that a tenant has connected.

    Attributes:
        name: what the tenant calls the model.
        provider: a row of the table of providers; empty for a model at an address of its own.
        url: where the model is asked: the address of the provider, or the model's own.
        model: the name of the model there.
        is_default: 1 for the default model of the tenant, 0 for any other.
        is_local: 1 where the address may be one of the local network, on the word of the person who runs the server;
            else 0.
    """

    name: str
    provider: str
    url: str
    model: str
    is_default: int
    is_local: int

    @property
    def key_name(self) -> str:
        """Under which name the tenant's key is kept. A key belongs to one address."""
        if not self.provider:
            return f"{self.name} {self.url}"
        row = PROVIDERS[self.provider]
        return row.key_variable if self.url == row.url else f"{row.key_variable} {self.url}"


CONNECTIONS = Table("models", ModelConnection, key=("name",))
FEATURE = Feature(name="connections", title="Models that tenants have connected.", tables=(CONNECTIONS,))


class TenantModels(Protocol):
    """The models of tenants, as models that can be asked; `compose.connections` has them."""

    @property
    def agent(self) -> str:
        """The name of the agent that asks the default model of its caller's tenant; empty for none."""

    @property
    def taken(self) -> Collection[str]:
        """Names of models of the settings, which no connection can have."""

    async def rows(self, tenant: str) -> Sequence[ModelConnection]:
        """The connections of a tenant, by name."""

    async def default_name(self, tenant: str) -> str:
        """What the default model of a tenant is called on record; empty where the tenant has none."""

    async def default_model(self, tenant: str) -> Model | None:
        """The default model of a tenant; None where the tenant has none.

        Raises:
            UsageError: the model can not be asked now.
        """

    def provider_url(self, tenant: str, provider: str) -> tuple[str, bool]:
        """Where a provider answers, and whether the operator has named another address than the provider's own, which
        holds for the tenant without a name.

        Args:
            tenant: whose connection it is.
            provider: a row of the table of providers.

        Raises:
            UsageError: a variable of the environment holds what is no address.
        """

    async def check(self, row: ModelConnection) -> None:
        """The address of a connection may be reached. A name that nobody knows now is looked at when it is asked.

        Raises:
            AddressRefused: it may not.
        """

    async def key(self, tenant: str, row: ModelConnection) -> str:
        """The key of a connection; empty where there is none.

        Raises:
            UsageError: the secrets can not be read now. Why is in the log: the words name files.
        """

    async def test(self, tenant: str, row: ModelConnection, key: str) -> Outcome:
        """Ask a model once. Nothing is kept.

        Args:
            tenant: on whose behalf.
            row: the connection as it would be.
            key: the key that is tried; empty for the one that the connection would have.

        Raises:
            UsageError: the secrets can not be read now.
        """
