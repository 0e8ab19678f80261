"""Sessions of people who logged in to a server with a browser: how a session is kept, and what keeps sessions.

A browser shows the text of a session in a cookie. Only a hash of the text is kept, which also is the id of the session:
nobody can find out the text from the place where sessions are kept. A session that a key or a code began has a second
text, which a page keeps for its origin and sends as a header: cookies do not know ports. This file knows no database
and no server.
"""

from __future__ import annotations

import hashlib
from typing import Protocol

from msgspec import Struct

SESSIONS_PER_USER_MAX = 20
"""A user who logs in once more ends the session that was quiet for longest."""
KEPT_S = 30 * 86_400.0
"""Seconds without a request after which a session is deleted. The session may have ended before."""


class LoginSession(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One browser in which a person has logged in.

    Attributes:
        id: the hash of the text in the cookie.
        issuer: who said who the person is; empty where a key or a code did.
        client: as which client of the issuer the server asked.
        principal: the user.
        tenant: the tenant of the user.
        roles: the roles of the user.
        began_at: when the person logged in, in seconds since 1970.
        key_id: the key that began the session; empty where an issuer or a code did.
        proof: the hash of the second text; empty where the session has none.
        address: the origin at which the session counts, such as `http://127.0.0.1:8000`; empty for any.
    """

    id: str
    issuer: str
    client: str
    principal: str
    tenant: str = ""
    roles: tuple[str, ...] = ()
    began_at: float = 0.0
    key_id: str = ""
    proof: str = ""
    address: str = ""

    @property
    def owner(self) -> str:
        """Names the user among those of all issuers and tenants."""
        parts = "\0".join((self.issuer, self.tenant, self.principal))
        return hashlib.sha256(parts.encode("utf-8", "surrogatepass")).hexdigest()


class KnownSession(Struct, frozen=True):
    """A session that is kept.

    Attributes:
        session: the session.
        seen_at: when a request was last noted, in seconds since 1970.
    """

    session: LoginSession
    seen_at: float


class SessionStore(Protocol):
    """A place that keeps sessions, and that several processes may share. Every method may raise JournalError."""

    async def add(self, session: LoginSession, *, idle_since: float) -> None:
        """Keep a new session, and delete those without a request since then.

        Args:
            session: the new one.
            idle_since: in seconds since 1970; `KEPT_S` ago.
        """

    async def find(self, id: str) -> KnownSession | None:
        """The session of this id; None when there is none. Whether the session has ended is the caller's to say."""

    async def note(self, id: str, at: float) -> None:
        """A request of this session was made."""

    async def end(self, id: str) -> bool:
        """Delete a session. When this returns, the session is dead in every process.

        Returns:
            False where there was no such session.
        """

    async def use_once(self, name: str, *, now: float, ends_at: float) -> bool:
        """Use up a name that may be used once, by whatever process.

        Args:
            name: the name.
            now: the time; names that ended before are deleted.
            ends_at: until when the name is remembered.

        Returns:
            False where the name was used before.
        """

    async def secret(self) -> bytes:
        """A secret that all processes of this journal share: 32 random bytes, made when it is first asked for."""
