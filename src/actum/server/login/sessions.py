"""Who is logged in: sessions that the server keeps, looked up at each request.

Each check reads the session from the journal's database, so that a log-out in one process counts in all at once.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
from typing import NamedTuple

from ...core.identity import Identity
from ...core.interfaces import Clock
from ...core.stored.session import KEPT_S, LoginSession, SessionStore
from .provider import LoginSettings

NOTED_S = 30.0
"""The least seconds between two requests that are noted; a session may end this much earlier than its idle time
says."""
KEY_ID = "session:"
"""Begins `Identity.key_id` of somebody who logged in. No key has a colon in its id."""
TEXT = re.compile(r"[A-Za-z0-9_-]{43}")
"""What a browser shows: 256 random bits."""


class NewSession(NamedTuple):
    """A session that has just begun.

    Attributes:
        text: what the browser shows from now on.
        session: what is kept.
    """

    text: str
    session: LoginSession


class LoginSessions:
    """The sessions of one server.

    Args:
        store: keeps the sessions.
        settings: how long sessions last, whose they may be, and what people may do.
        clock: the time.
    """

    def __init__(self, store: SessionStore, settings: LoginSettings, clock: Clock) -> None:
        self._store = store
        self._settings = settings
        self._clock = clock

    def made(self, identity: Identity) -> NewSession:
        """A new session, which is not kept yet.

        Args:
            identity: who logged in.
        """
        text = new_text()
        session = LoginSession(
            id=session_id(text),
            issuer=self._settings.issuer,
            client=self._settings.client_id,
            principal=identity.principal,
            tenant=identity.tenant,
            roles=identity.roles,
            began_at=self._clock.now(),
        )
        return NewSession(text, session)

    async def add(self, session: LoginSession) -> None:
        """Keep a session: from now on its text lets its user in.

        Raises:
            JournalError: it could not be kept.
        """
        await self._store.add(session, idle_since=self._clock.now() - max(self._settings.idle_s, KEPT_S))

    async def find(self, text: str) -> LoginSession | None:
        """The session that a cookie shows; None where there is none, or the session has ended.

        Raises:
            JournalError: nobody can tell now.
        """
        if not TEXT.fullmatch(text):
            return None
        name, now = session_id(text), self._clock.now()
        session, seen_at = await self._valid(name, now)
        if session is not None and now - seen_at >= min(NOTED_S, self._settings.idle_s / 4):
            await self._store.note(name, now)
        return session

    async def end(self, session: LoginSession) -> None:
        """End a session, in every process.

        Raises:
            JournalError: the session could not be ended.
        """
        await self._store.end(session.id)

    async def has_ended(self, identity: Identity) -> bool:
        """Whether the session that a user logged in with has ended since; for streams that are open.

        Raises:
            JournalError: nobody can tell now.
        """
        if not identity.key_id.startswith(KEY_ID) or identity.issuer != self._settings.issuer:
            return False
        session, _ = await self._valid(identity.key_id.removeprefix(KEY_ID), self._clock.now())
        return session is None

    def identity(self, session: LoginSession) -> Identity:
        """The user of a browser."""
        return Identity(
            principal=session.principal,
            roles=session.roles,
            key_id=KEY_ID + session.id,
            scopes=self._settings.scopes,
            tenant=session.tenant,
            issuer=session.issuer,
        )

    async def _valid(self, id: str, now: float) -> tuple[LoginSession | None, float]:
        known, own = await self._store.find(id), self._settings
        if known is None:
            return None, 0.0
        session, seen_at = known.session, known.seen_at
        # A session with a proof is one of the pages: its cookie alone is nobody.
        is_ours = (session.issuer, session.client) == (own.issuer, own.client_id) and not session.proof
        if not is_ours:
            return None, 0.0
        if now - seen_at >= own.idle_s or now - session.began_at >= own.session_s:
            await self._store.end(id)  # so that it stays ended when the clock goes back
            return None, 0.0
        return session, seen_at


def new_text() -> str:
    """A text that nobody can guess."""
    return base64.urlsafe_b64encode(os.urandom(32)).decode().rstrip("=")


def session_id(text: str) -> str:
    """The id of the session whose text this is."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]
