"""The user on whose behalf something is done. Two tenants may each have a user `ann`: these are two users."""

from __future__ import annotations

from typing import NamedTuple


class User(NamedTuple):
    """A principal of a tenant.

    Attributes:
        tenant: the tenant; empty where there is only one.
        principal: the name of the user within the tenant; empty for nobody known.
    """

    tenant: str = ""
    principal: str = ""
