"""The models that tenants have connected: what the handlers ask of the code that opens them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal, Protocol

from ...core.model import Model
from ...features.connections import ModelConnection
from ...models.catalog import PROVIDERS

Outcome = Literal["ok", "key_refused", "unreachable", "unknown_model"]
"""The outcome of asking a model once. `unreachable` means every outcome that is none of the others."""


def key_name(row: ModelConnection) -> str:
    """Under which name the tenant's key is kept. A key belongs to one address."""
    if not row.provider:
        return f"{row.name} {row.url}"
    known = PROVIDERS[row.provider]
    return known.key_variable if row.url == known.url else f"{known.key_variable} {row.url}"


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

    async def named(self, tenant: str, name: str) -> Model | None:
        """The model that a tenant has connected under a name; None where there is none.

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

    async def local(self) -> Sequence[tuple[str, str]]:
        """The models that servers on this machine list: the provider, and the name there."""

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
            tenant: the tenant that asks.
            row: the connection as it would be.
            key: the key that is tried; empty for the one that the connection would have.

        Raises:
            UsageError: the secrets can not be read now.
        """
