"""The models that tenants have connected: their table."""

from __future__ import annotations

from msgspec import Struct

from ..core.stores import Table
from .feature import Feature


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


CONNECTIONS = Table("models", ModelConnection, key=("name",))
FEATURE = Feature(name="connections", title="Models that tenants have connected.", tables=(CONNECTIONS,))
