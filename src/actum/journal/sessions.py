"""Sessions in memory, beside the journal in memory. They are gone when the process ends."""

from __future__ import annotations

import os

from ..core.session import SESSIONS_PER_USER_MAX, KnownSession, LoginSession


class MemorySessions:
    """A `SessionStore` that lives as long as its process."""

    def __init__(self) -> None:
        self._sessions: dict[str, KnownSession] = {}
        self._used: dict[str, float] = {}
        self._secret = os.urandom(32)

    async def add(self, session: LoginSession, *, idle_since: float, began_since: float) -> None:
        self._sessions = {
            name: known
            for name, known in self._sessions.items()
            if known.seen_at >= idle_since and known.session.began_at >= began_since
        }
        self._sessions[session.id] = KnownSession(session, session.began_at)
        own = [known for known in self._sessions.values() if known.session.owner == session.owner]
        own.sort(key=lambda known: (known.session.id == session.id, known.seen_at), reverse=True)
        for known in own[SESSIONS_PER_USER_MAX:]:
            del self._sessions[known.session.id]

    async def find(self, id: str) -> KnownSession | None:
        return self._sessions.get(id)

    async def note(self, id: str, at: float) -> None:
        known = self._sessions.get(id)
        if known is not None:
            self._sessions[id] = KnownSession(known.session, max(at, known.seen_at))

    async def end(self, id: str) -> bool:
        return self._sessions.pop(id, None) is not None

    async def use_once(self, name: str, *, now: float, ends_at: float) -> bool:
        self._used = {used: ends for used, ends in self._used.items() if ends > now}
        if name in self._used:
            return False
        self._used[name] = ends_at
        return True

    async def secret(self) -> bytes:
        return self._secret
