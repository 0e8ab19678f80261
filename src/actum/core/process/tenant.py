"""The tenant that the running code works for, where several tenants share this program.

A context variable carries the tenant through `await`, into tasks and into the threads in which functions are called.
`transport.connection_pool` keeps the connections of tenants apart by it. The block is entered where the user is known:
by a run, a request that is passed on, a message that is sent later. Outside of such a block the tenant is empty.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_tenant: ContextVar[str] = ContextVar("actum_tenant", default="")


def current_tenant() -> str:
    """The tenant; empty where there is only one, or where nobody's work is done."""
    return _tenant.get()


@contextmanager
def acting_for(tenant: str) -> Iterator[None]:
    """A block in which the work is done for a tenant.

    Args:
        tenant: whose work it is.
    """
    before = _tenant.get()
    _tenant.set(tenant)
    try:
        yield
    finally:
        _tenant.set(before)  # no token: a generator that is given up may be closed in another context
