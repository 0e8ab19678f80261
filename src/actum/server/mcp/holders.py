"""The clients of a service, each as the holder of what toolsets keep open for it: a session with a server, say.

A client with a handshake is one holder from its handshake until its connection ends; what was kept for it ends then,
too. A client without a handshake has no session by which it could be known again. Requests of the same user, from the
same program, with the same capabilities and the same key are taken to be of one client: no better word is on the wire.

Between two requests a client keeps what it has, unless others need the quota: then it ends, and nobody else gets it.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import msgspec
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from ...core.holder import Holder
from ...core.identity import Identity
from ...core.user import User
from .client import connection_of

CLIENTS_MAX = 1_000
"""The most clients without a handshake that are known at a time. Beyond that, a client that is away is ended: of the
tenant with the most clients, and there of the user with the most, the one that was away the longest. So no tenant and
no user drives out another's clients.
"""

Context = ServerRequestContext[Any, Any]


class Client:
    """One client.

    Args:
        user: the user on whose behalf the client speaks.

    Attributes:
        holder: for whom toolsets keep things open.
        listening: the resources that it listens to; what tells of their changes is kept open for it.
    """

    def __init__(self, user: User) -> None:
        self.holder = Holder(user.principal, f"client:{uuid4().hex}", alone=True, tenant=user.tenant)
        self.listening: set[str] = set()
        self._requests = 0
        self._is_over = False

    @property
    def is_away(self) -> bool:
        """None of its requests is under way, and it listens to nothing."""
        return self._requests == 0 and not self.listening

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """A block in which a request of it is under way."""
        self._requests += 1
        if not self._is_over:
            self.holder.enter()
        try:
            yield
        finally:
            self._requests -= 1
            if self.is_away and not self._is_over:
                self.holder.rest()

    def end(self) -> None:
        """It is gone: what was kept for it ends."""
        self._is_over = True
        self.holder.end()


class Clients:
    """All clients of a service."""

    def __init__(self) -> None:
        self._connected: dict[Connection, Client] = {}
        self._others: dict[Hashable, Client] = {}

    def client(self, ctx: Context, who: Identity) -> Client:
        """The client that makes a request."""
        if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return self._known_again(ctx, who)
        connection = connection_of(ctx)
        if connection not in self._connected:
            self._connected[connection] = Client(who.user)
            connection.exit_stack.callback(self._left, connection)
        return self._connected[connection]

    def _left(self, connection: Connection) -> None:
        self._connected.pop(connection).end()

    def _known_again(self, ctx: Context, who: Identity) -> Client:
        meta = (ctx.params or {}).get("_meta")
        says = _encoder.encode([meta.get(field) for field in _SAYS_WHO] if isinstance(meta, Mapping) else [])
        told = hashlib.sha256(says).digest()  # a client may say megabytes of itself
        who = who.without_scopes()
        client = self._others.pop((who, told), None)
        if client is None:
            client = Client(who.user)
            self._make_room()
        self._others[who, told] = client  # at the end: it was there last
        return client

    def _make_room(self) -> None:
        if len(self._others) < CLIENTS_MAX:
            return
        spare = {key: client.holder.user for key, client in self._others.items() if client.is_away}
        if spare:
            share = shares(client.holder.user for client in self._others.values())
            self._others.pop(max(spare, key=lambda key: share(spare[key]))).end()  # the first of several

    def close(self) -> None:
        """All are gone."""
        for client in (*self._connected.values(), *self._others.values()):
            client.end()
        self._others.clear()


def shares(users: Iterable[User]) -> Callable[[User], tuple[int, int]]:
    """How much of a quota each user takes: how much their tenant holds, then how much they hold themselves. Who takes
    most gives way, so that a tenant with many users or keys puts out no other tenant.

    Args:
        users: the holder of each place.

    >>> share = shares([User("north", "ada"), User("north", "bob"), User("south", "eve")])
    >>> share(User("north", "ada")), share(User("south", "eve"))
    ((2, 1), (1, 1))
    """
    held = Counter(users)
    tenants = Counter[str]()
    for user, count in held.items():
        tenants[user.tenant] += count
    return lambda user: (tenants[user.tenant], held[user])


_SAYS_WHO = ("io.modelcontextprotocol/clientInfo", "io.modelcontextprotocol/clientCapabilities")
_encoder = msgspec.json.Encoder(order="sorted")
