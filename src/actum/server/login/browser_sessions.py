"""Sessions of browsers that a key, a code or a log-in began: a cookie and a text that a page sends as a header.

Cookies do not know ports: a program at another port of the same host is sent the cookie, and could set one. So neither
the cookie nor the header alone is a session. A page keeps the second text in the storage of its origin, which no other
port can read. A session counts at the origin where it began, lasts `IDLE_S` from its last request, and ends with the
key that began it. A session that a log-in began lasts as long as the settings of the log-in say.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
from typing import NamedTuple

from msgspec import structs
from starlette.types import Scope

from ...core.clock import SystemClock
from ...core.errors import JournalError
from ...core.identity import Identity
from ...core.interfaces import Clock, Journal
from ...core.json import JsonObject
from ...core.stored.session import KEPT_S, LoginSession
from ...runs.administration import put_on_record
from ..attempts import Attempts
from ..refusal import busy
from ..stored_keys import StoredKeys
from .codes import CodeFor, use_code
from .cookies import cookie_name, cookies_of, set_cookie
from .provider import LoginSettings
from .same_site import own_origin, refuse_other_sites
from .sessions import NOTED_S, TEXT, new_text, session_id

log = logging.getLogger("actum.server")

IDLE_S = KEPT_S
HEADER = b"actum-session"
"""The header with the second text."""
COOKIE_S = 400 * 86_400
"""Seconds that a browser keeps the cookie, the longest that browsers allow; the session may end before."""
CODE_TRIES = "code"
"""What failed codes are counted and recorded by."""
KEY_ID = "browser:"
"""Begins `Identity.key_id` of a person whom a code let in. No key has a colon in its id."""


class BegunSession(NamedTuple):
    """A session that has just begun.

    Attributes:
        identity: who has come in.
        text: the second text, which the page keeps.
        cookie: the value of `Set-Cookie`.
    """

    identity: Identity
    text: str
    cookie: str


class BrowserSessions:
    """The sessions of browsers at one server.

    Args:
        journal: keeps the sessions, and what is put on record.
        keys: the keys that can begin a session.
        scopes: what a person may do whom a code let in.
        public: the server's address as clients write it; empty where it is the one at which the server listens.
        attempts: slows down those whose keys and codes are wrong.
        login: how people log in at a provider; None where they do not.
        clock: the time.

    Attributes:
        public: as above; can be replaced while the server runs.
    """

    def __init__(
        self,
        journal: Journal,
        keys: StoredKeys,
        *,
        scopes: tuple[str, ...],
        public: str = "",
        attempts: Attempts | None = None,
        login: LoginSettings | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._journal, self._keys, self._scopes, self._login = journal, keys, scopes, login
        self._clock = clock or SystemClock()
        self._attempts = attempts or Attempts(clock=self._clock)
        self.public = public

    async def begin_by_key(self, text: str, *, address: str, sender: str) -> BegunSession | None:
        """Begin a session for the holder of a key; None where the key is not valid.

        Args:
            text: the key.
            address: the origin at which the session counts.
            sender: the address of the client.

        Raises:
            TooManyAttempts: the key was not looked at.
            JournalError: nobody can tell now.
        """
        identity = await self._attempts.check(self._keys, sender, text)
        if identity is None:
            return None
        return await self._begin(identity, address, sender, key_id=identity.key_id)

    async def begin_by_code(self, text: str, *, address: str, sender: str) -> BegunSession | None:
        """Begin a session of a person of this machine; None where the code does not count.

        Args:
            text: the code.
            address, sender: as for `begin_by_key`.

        Raises:
            TooManyAttempts, JournalError: as for `begin_by_key`.
        """
        identity = await self._attempts.check(_Codes(self), sender, text, name=CODE_TRIES)
        return None if identity is None else await self._begin(identity, address, sender)

    async def begin_by_login(self, identity: Identity, *, address: str, sender: str) -> BegunSession:
        """Begin a session of a person who has just logged in at the provider.

        Args:
            identity: who logged in.
            address, sender: as for `begin_by_key`.

        Raises:
            JournalError: the session could not be kept.
        """
        return await self._begin(identity, address, sender, login=self._login)

    async def take(self, code: str) -> Identity | None:
        """Use a code up."""
        found: CodeFor | None = await use_code(self._journal.sessions, code, now=self._clock.now())
        return None if found is None else Identity(principal=found.principal, tenant=found.tenant)

    async def _begin(
        self, identity: Identity, address: str, sender: str, *, key_id: str = "", login: LoginSettings | None = None
    ) -> BegunSession:
        text, proof = new_text(), new_text()
        session = LoginSession(
            id=session_id(text),
            issuer="" if login is None else login.issuer,
            client="" if login is None else login.client_id,
            principal=identity.principal,
            tenant=identity.tenant,
            roles=identity.roles,
            began_at=self._clock.now(),
            key_id=key_id,
            proof=_hash(proof),
            address=address,
        )
        await self._record("session.begin", session, sender)
        await self._journal.sessions.add(session, idle_since=self._clock.now() - IDLE_S)
        found = await self._identity(session)
        if found is None:  # the key was revoked while the session began
            raise JournalError("the key has ended")
        return BegunSession(found, proof, self._cookie(address, text, COOKIE_S))

    async def end(self, identity: Identity, *, address: str, sender: str) -> str:
        """End the session in which a request was made, in every process.

        Args:
            identity: who makes the request.
            address, sender: as for `begin_by_key`.

        Returns:
            The value of `Set-Cookie` that takes the cookie from the browser.

        Raises:
            JournalError: the session could not be ended.
        """
        known = await self._journal.sessions.find(identity.session) if identity.session else None
        if known is not None:
            await self._journal.sessions.end(known.session.id)
            await self._record("session.end", known.session, sender)
        return self._cookie(address, "", 0)

    async def recognize(self, scope: Scope) -> Identity | None:
        """Who makes a request by the cookie and the header of a session; None without both.

        Raises:
            HttpRefusal: another site makes the request, or nobody can tell now.
        """
        shown = [value.decode("latin-1") for name, value in scope["headers"] if name == HEADER]
        if len(shown) != 1:
            return None
        own = own_origin(scope, self.public)
        text = cookies_of(scope["headers"]).get(_name(own), "")
        if not TEXT.fullmatch(text):
            return None
        try:
            found = await self._valid(session_id(text))
        except JournalError:
            log.exception("sessions can not be checked")
            raise busy(503, "Sessions can not be checked now.") from None
        if found is None or found[0].address != own or not hmac.compare_digest(found[0].proof, _hash(shown[0])):
            return None
        refuse_other_sites(scope, own)
        return found[1]

    def is_of_this_machine(self, identity: Identity) -> bool:
        """Whether a session was begun with a code, as only the person has who started the studio here."""
        return bool(identity.session) and identity.key_id == KEY_ID + identity.session and not identity.issuer

    async def has_ended(self, identity: Identity) -> bool:
        """Whether the session that a user logged in with has ended since; for streams that are open.

        Raises:
            JournalError: nobody can tell now.
        """
        return bool(identity.session) and await self._valid(identity.session) is None

    async def _valid(self, id: str) -> tuple[LoginSession, Identity] | None:
        known, now = await self._journal.sessions.find(id), self._clock.now()
        if known is None or not known.session.proof:
            return None
        identity = await self._identity(known.session)
        if identity is None or self._is_over(known.session, known.seen_at, now):
            await self._journal.sessions.end(id)  # so that it stays ended when the clock goes back
            return None
        if now - known.seen_at >= NOTED_S:
            await self._journal.sessions.note(id, now)
        return known.session, identity

    def _is_over(self, session: LoginSession, seen_at: float, now: float) -> bool:
        if session.issuer and self._login is not None:
            return now - seen_at >= self._login.idle_s or now - session.began_at >= self._login.session_s
        return now - seen_at >= IDLE_S

    async def _identity(self, session: LoginSession) -> Identity | None:
        """The user of a browser; None where the key that began the session has ended, or log-in has moved."""
        if session.issuer:
            own = self._login
            if own is None or (session.issuer, session.client) != (own.issuer, own.client_id):
                return None
            return Identity(
                principal=session.principal,
                tenant=session.tenant,
                roles=session.roles,
                key_id=KEY_ID + session.id,
                scopes=own.scopes,
                issuer=session.issuer,
                speaks_for="user",  # the page sends what the person typed
                session=session.id,
            )
        if session.key_id:
            found = await self._keys.identity(session.key_id)
            return None if found is None else structs.replace(found, session=session.id)
        return Identity(
            principal=session.principal,
            tenant=session.tenant,
            key_id=KEY_ID + session.id,
            scopes=self._scopes,
            speaks_for="user",  # the page sends what the person typed
            session=session.id,
        )

    def _cookie(self, address: str, text: str, seconds: int) -> str:
        is_https = address.startswith("https://")
        return set_cookie(_name(address), text, is_https=is_https, same_site="Strict", seconds=seconds)

    async def _record(self, act: str, session: LoginSession, sender: str) -> None:
        arguments: JsonObject = {"session": session.id, "address": sender}
        key_id = session.key_id or KEY_ID + session.id
        await put_on_record(
            self._journal, act, arguments, principal=session.principal, key_id=key_id, tenant=session.tenant
        )


class _Codes:
    """Codes, as a `Verifier` whose failed tries are counted."""

    def __init__(self, sessions: BrowserSessions) -> None:
        self._sessions = sessions

    async def verify_token(self, token: str) -> Identity | None:
        """Whose code this is."""
        return await self._sessions.take(token)


def _name(origin: str) -> str:
    """The name of the cookie: one for each origin, so that two servers at one host do not overwrite each other's."""
    return cookie_name(f"actum-{_hash(origin)[:12]}", is_https=origin.startswith("https://"))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
