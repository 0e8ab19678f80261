"""The door at which people log in with a browser, and by which the application knows their cookies.

    GET  /login?return_to=/path   begin to log in; who is logged in already reads who they are
    GET  /login/callback          the way back from the issuer
    POST /logout                  end the session, in every process

A cookie counts at every door of the application. The session's own cookie is Strict and can't be read by a script; a
new one is made at each log-in, so that nobody can hand a session on to somebody else before they log in.

Limits: an old session of the same browser is ended at the log-in only where the browser shows it; a browser keeps a
Strict cookie back when the issuer's site leads here. Such a session ends after its time idle. A log-out here does not
log out at the issuer.

This file loads a web framework: import it only where a server is to run.
"""

from __future__ import annotations

import hmac
import logging
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from urllib.parse import quote, urlsplit

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import Scope

from ...core.clock import SystemClock
from ...core.errors import JournalError
from ...core.identity import Identity
from ...core.interfaces import Clock, Journal
from ...core.json import JsonObject
from ...core.stored.session import LoginSession
from ...runs.administration import put_on_record
from ..attempts import Attempts, TooManyAttempts
from ..refusal import busy
from ..route_group import identity_of
from .browser_sessions import BrowserSessions
from .cookies import cookie_name, cookies_of, set_cookie
from .pages import page
from .pending import PENDING, PENDING_MAX, PENDING_S, Proofs, StartedLogin, begin, pending_in, proofs
from .provider import IssuerAway, IssuerWrong, LoginProvider, LoginRejected, LoginSettings
from .same_site import own_origin, own_path, refuse_other_sites
from .sessions import KEY_ID, LoginSessions

log = logging.getLogger("actum.server")

LOGIN, CALLBACK, LOGOUT = "/login", "/login/callback", "/logout"
SESSION = "actum-session"
STUDIO = "/studio"
"""The path of the pages, whose sessions are those of `BrowserSessions`."""
TRIES = "login"
"""What failed log-ins are counted and recorded by."""
_CODE_CHARS_MAX = 4096
_NOT_BEGUN = "This log-in was not begun in this browser, was used before, or took too long."
_WRONG = "The provider at which you log in answered wrongly. The log of this server says more."
_AWAY = "The provider at which you log in does not answer now. Try again in a moment."
_TAKEN_ON = "You are logged in. You are taken on."
_BUSY = "The server can not look at log-ins now. Try again in a moment."
_SOON = {"retry-after": "5"}


class LoginRoutes:
    """A `RouteGroup` of the application; also an `OpenRoutes` and a `Recognizer`.

    Args:
        settings: how people log in.
        journal: keeps the sessions, and what is put on record.
        public: the server's address as clients write it; empty where it is the one at which the server listens.
        attempts: slows down those whose log-ins fail; None to let everybody try as fast as they can.
        provider: the issuer; made of the settings by default.
        clock: the time.

    Attributes:
        settings: as above.
        public: as above; can be replaced while the server runs.
        sessions: who is logged in.
        browsers: begins the sessions of the studio's pages; None where there are none.
    """

    open_paths: Collection[str] = frozenset({LOGIN, CALLBACK, LOGOUT})

    def __init__(
        self,
        settings: LoginSettings,
        journal: Journal,
        *,
        public: str = "",
        attempts: Attempts | None = None,
        provider: LoginProvider | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._clock = clock or SystemClock()
        self.settings, self._journal, self._store = settings, journal, journal.sessions
        self._attempts = attempts or Attempts(clock=self._clock)
        self._provider = provider or LoginProvider(settings, clock=self._clock)
        self._secret = b""
        self.sessions = LoginSessions(self._store, settings, self._clock)
        self.public = public
        self.browsers: BrowserSessions | None = None
        self.routes: Sequence[BaseRoute] = (
            Route(LOGIN, self._login, methods=["GET"]),
            Route(CALLBACK, self._callback, methods=["GET"]),
            Route(LOGOUT, self._logout, methods=["POST"]),
        )

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Nothing has to be open."""
        yield

    async def end_streams(self) -> None:
        """There are none."""

    # Who is logged in -------------------------------------------------------------------------------------------------

    async def recognize(self, scope: Scope) -> Identity | None:
        """Whose cookie it is; None without one of a session that lasts.

        Raises:
            HttpRefusal: another site makes the request, or nobody can tell now.
        """
        session = await self._session(scope)
        if session is None:
            return None
        refuse_other_sites(scope, own_origin(scope, self.public))
        return self.sessions.identity(session)

    async def _session(self, scope: Scope) -> LoginSession | None:
        text = cookies_of(scope["headers"]).get(cookie_name(SESSION, is_https=self._is_https(scope)))
        try:
            return await self.sessions.find(text) if text else None
        except JournalError:
            log.exception("sessions can not be checked")
            raise busy(503, "Sessions can not be checked now.") from None

    # Pages ------------------------------------------------------------------------------------------------------------

    async def _login(self, request: Request) -> Response:
        """Send the browser to the issuer; or say who is logged in."""
        return_to = request.query_params.get("return_to", "")
        if return_to and not own_path(return_to):
            return page(request, "The page to return to is not one of this server.", status=400, login=self._at(LOGIN))
        identity = identity_of(request.scope)
        if identity.key_id.startswith(KEY_ID) and not self._is_of_pages(return_to):
            if return_to:
                return RedirectResponse(return_to, 303, headers={"cache-control": "no-store"})
            name, logout = identity.principal, self._at(LOGOUT)
            return page(request, "You are logged in as {name}.", logout=logout, name=name)
        pending = begin(self._clock.now(), return_to)
        try:
            address = await self._provider.address(
                await self._proofs(request.scope, pending), self._redirect_uri(request.scope)
            )
        except (IssuerAway, IssuerWrong, JournalError) as error:
            return self._failed(request, error, return_to)
        response = RedirectResponse(
            address, 303, headers={"cache-control": "no-store", "referrer-policy": "no-referrer"}
        )
        self._keep(request.scope, response, pending)
        return response

    async def _callback(self, request: Request) -> Response:
        """The way back from the issuer."""
        if request.method == "HEAD":  # to look at the address is no log-in
            return Response(status_code=405, headers={"allow": "GET"})
        try:
            begun = await self._begun(request)
        except JournalError as error:
            return self._failed(request, error, "")
        if begun is None:
            return page(request, _NOT_BEGUN, status=400, login=self._at(LOGIN))
        pending, found = begun
        try:
            response = await self._come_back(request, pending, found)
        except TooManyAttempts as error:
            text, seconds = "Too many log-ins have failed. Wait for {seconds} seconds.", error.retry_after_s
            response = page(request, text, status=429, seconds=seconds)
            response.headers["retry-after"] = str(seconds)
            return response
        except (IssuerAway, IssuerWrong, JournalError) as error:
            response = self._failed(request, error, "")
        self._forget(request.scope, response, pending)
        return response

    async def _logout(self, request: Request) -> Response:
        """End the session. Without one the answer is the same."""
        name = cookie_name(SESSION, is_https=self._is_https(request.scope))
        try:
            session = await self._session(request.scope)
            if session is not None:
                await self.sessions.end(session)
                await self._record("login.end", session, request)
        except JournalError as error:
            return self._failed(request, error, "")
        response = page(request, "You are logged out.", login=self._at(LOGIN))
        gone = set_cookie(name, "", is_https=self._is_https(request.scope), same_site="Strict", seconds=0)
        response.headers.append("set-cookie", gone)
        return response

    # The way back -----------------------------------------------------------------------------------------------------

    async def _begun(self, request: Request) -> tuple[StartedLogin, Proofs] | None:
        """The log-in that this browser began, by the state that came back; None where there is none."""
        state = _one(request.query_params, "state")
        cookies = cookies_of(request.scope["headers"])
        is_https = self._is_https(request.scope)
        for pending in pending_in(cookies, now=self._clock.now(), is_https=is_https).values():
            found = await self._proofs(request.scope, pending)
            if state and hmac.compare_digest(state.encode(), found.state.encode()):
                return pending, found
        return None

    async def _come_back(self, request: Request, pending: StartedLogin, found: Proofs) -> Response:
        """Answer a browser that has come back with the state of a log-in that it began."""
        address = request.client.host if request.client else ""
        attempt = _Attempt(self, request, pending, found)
        identity = await self._attempts.check(attempt, address, found.state, name=TRIES)
        if identity is None:
            status = 502 if isinstance(attempt.why, IssuerWrong) else 400 if attempt.was_used else 403
            text = {502: _WRONG, 400: _NOT_BEGUN, 403: "The provider did not let you in."}[status]
            return page(request, text, status=status, login=self._at(LOGIN))
        if self.browsers is not None and self._is_of_pages(pending.return_to):
            own = own_origin(request.scope, self.public)
            of_pages = await self.browsers.begin_by_login(identity, address=own, sender=address)
            # The part behind `#` is sent to no server; the page takes it out of the address.
            go_on = f"{pending.return_to.partition('#')[0]}#session={of_pages.text}"
            response = page(request, _TAKEN_ON, go_on=go_on)
            response.headers.append("set-cookie", of_pages.cookie)
            return response
        begun = self.sessions.made(identity)
        await self._record("login.begin", begun.session, request)
        before = await self._session(request.scope)
        if before is not None:
            await self.sessions.end(before)
        await self.sessions.add(begun.session)
        go_on = pending.return_to or self._at(LOGIN)
        response = page(request, _TAKEN_ON, go_on=go_on)
        is_https = self._is_https(request.scope)
        cookie = set_cookie(cookie_name(SESSION, is_https=is_https), begun.text, is_https=is_https, same_site="Strict")
        response.headers.append("set-cookie", cookie)
        return response

    async def exchange(self, request: Request, pending: StartedLogin, found: Proofs) -> Identity | None:
        """Who logged in; None where this log-in was used up before.

        Raises:
            LoginRejected, IssuerAway, IssuerWrong: as by `LoginProvider`.
            JournalError: nobody can tell whether it was used up.
        """
        query, now = request.query_params, self._clock.now()
        if not await self._store.use_once(found.state, now=now, ends_at=pending.began_at + PENDING_S + 60):
            return None
        await self._provider.check_sender(query.get("iss"))
        code = _one(query, "code")
        if "error" in query or not code or len(code) > _CODE_CHARS_MAX:
            raise LoginRejected("the browser came back with an error, or without a code")
        return await self._provider.who(code, found, self._redirect_uri(request.scope))

    def _is_of_pages(self, return_to: str) -> bool:
        """Whether a person came from the studio, whose pages have sessions of their own."""
        return self.browsers is not None and (return_to == STUDIO or return_to.startswith(f"{STUDIO}/"))

    # Words and addresses ----------------------------------------------------------------------------------------------

    def _failed(self, request: Request, error: Exception, return_to: str) -> Response:
        log.warning("a log-in failed: %s: %s", type(error).__name__, error)
        again = self._at(LOGIN) + (f"?return_to={quote(return_to, safe='')}" if return_to else "")
        if isinstance(error, IssuerWrong):
            return page(request, _WRONG, status=502, login=again)
        response = page(request, _AWAY if isinstance(error, IssuerAway) else _BUSY, status=503, login=again)
        response.headers.update(_SOON)
        return response

    async def _record(self, act: str, session: LoginSession, request: Request) -> None:
        address = request.client.host if request.client else ""
        arguments: JsonObject = {"session": session.id, "issuer": session.issuer, "address": address}
        key_id = KEY_ID + session.id
        await put_on_record(
            self._journal, act, arguments, principal=session.principal, key_id=key_id, tenant=session.tenant
        )

    async def _proofs(self, scope: Scope, pending: StartedLogin) -> Proofs:
        self._secret = self._secret or await self._store.secret()
        own = self.settings
        return proofs(pending, self._secret, "\0".join((own.issuer, own.client_id, self._redirect_uri(scope))))

    def _keep(self, scope: Scope, response: Response, pending: StartedLogin) -> None:
        """Have the browser keep a log-in that is under way, and drop the oldest of too many."""
        is_https = self._is_https(scope)
        name = cookie_name(PENDING, is_https=is_https)
        shown = cookies_of(scope["headers"])
        under_way = pending_in(shown, now=self._clock.now(), is_https=is_https)
        ended = [each for each in shown if each.startswith(name) and each not in under_way]
        dropped = [*ended, *list(under_way)[: max(0, len(under_way) + 1 - PENDING_MAX)]]
        for each in dropped:
            if each.isascii() and each.replace("-", "").replace("_", "").isalnum():
                gone = set_cookie(each, "", is_https=is_https, same_site="Lax", seconds=0)
                response.headers.append("set-cookie", gone)
        kept = set_cookie(name + pending.tag, pending.value, is_https=is_https, same_site="Lax", seconds=int(PENDING_S))
        response.headers.append("set-cookie", kept)

    def _forget(self, scope: Scope, response: Response, pending: StartedLogin) -> None:
        is_https = self._is_https(scope)
        name = cookie_name(PENDING, is_https=is_https) + pending.tag
        response.headers.append("set-cookie", set_cookie(name, "", is_https=is_https, same_site="Lax", seconds=0))

    def _is_https(self, scope: Scope) -> bool:
        return own_origin(scope, self.public).startswith("https://")

    def _redirect_uri(self, scope: Scope) -> str:
        return own_origin(scope, self.public) + self._at(CALLBACK)

    def _at(self, path: str) -> str:
        """A path as browsers see it: behind a proxy the server may have a path of its own."""
        return urlsplit(self.public).path.rstrip("/") + path


class _Attempt:
    """One way back from the issuer, as a `Verifier` whose failed tries are counted.

    Attributes:
        why: the reason why it failed; None where it did not, or was used before.
        was_used: it was used up before.
    """

    def __init__(self, door: LoginRoutes, request: Request, pending: StartedLogin, found: Proofs) -> None:
        self._door, self._request, self._pending, self._found = door, request, pending, found
        self.why: LoginRejected | IssuerWrong | None = None
        self.was_used = False

    async def verify_token(self, token: str) -> Identity | None:
        """Who logged in; None where nobody did, which counts as a failed try."""
        try:
            identity = await self._door.exchange(self._request, self._pending, self._found)
        except (LoginRejected, IssuerWrong) as error:
            log.warning("a log-in was refused: %s", error)
            self.why = error
            return None
        self.was_used = identity is None
        return identity


def _one(query: QueryParams, name: str) -> str:
    """The one value of a name; empty where there is none, or more than one."""
    values = query.getlist(name)
    return values[0] if len(values) == 1 else ""
