"""The login at an MCP server: an `httpx2.Auth` that has a token for each request, and gets one where it can.

A token is asked for this server alone and sent to its origin alone; whatever credentials the own caller came with are
not passed on. It is refreshed before it ends, at the endpoint that its issuer named when it was granted, by one process
at a time. A server that wants more scopes is given those together with what was granted before, a bounded number of
times. Where only a person can help and there is none, `LoginNeeded` says so at once.

The SDK's own provider is not used, its parts are (metadata, PKCE, scopes, issuers): the provider holds a lock until a
request is answered, so that calls wait for each other; it falls back to guessed endpoints, forgets after a restart when
a token ends, lets issuers without S256 pass, and logs what issuers say.

Limits: no DPoP, no mutual TLS. A token lives in the memory of this process while it is used.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from itertools import count

import httpx2
from mcp.client.auth.utils import (
    extract_field_from_www_auth,
    extract_resource_metadata_from_www_auth,
    extract_scope_from_www_auth,
)
from mcp.shared.auth import OAuthToken
from mcp.shared.auth_utils import resource_url_from_server_url
from msgspec import structs

from ...core.clock import SystemClock
from ...core.errors import CallError, Unavailable
from ...core.interfaces import Clock
from ...core.user import User
from ...protocols.mcp.config import McpAuth, McpServer
from ...storage.tokens import Granted, Registration, TokenStore
from ...transport.egress import Egress
from ...transport.fetcher import Fetcher
from ...transport.guard import Guard, is_here, origin
from ...transport.http import HttpFailure
from ..login import LoginFailed, LoginNeeded, Person
from .grants import (
    GRANTS,
    TokenEndpoint,
    TokenRefused,
    TokenRequest,
)
from .issuer import (
    TokenSource,
    check_proof,
    discover,
    register,
    secret_of,
    set_up,
)

_NOBODY = User()
EARLY_S = 15.0
"""Seconds before its end at which a token is refreshed."""
STEPS_MAX = 2
"""How often one request may ask for more scopes."""
_ATTEMPTS_MAX = 5
"""How often one request may be sent: with what we have, refreshed, after a login, and for more scopes."""


class OAuth(httpx2.Auth):
    """The tokens for one server, for one user.

    Args:
        server_url: the server, as the person set it up.
        store: where tokens are kept.
        auth: what the person set up for the login.
        name: the name of the server here, for the words to the person.
        user: the user whose tokens these are; without a name where there is only one user.
        secrets: secrets by the names that `auth` uses.
        person: who can log in; None when nobody can now.
        fetcher: reaches the server and the hosts that it names, by a guard.
        egress: the operator's rules for outgoing calls, where there is no `fetcher`.
        clock: for the end of tokens.
    """

    def __init__(
        self,
        server_url: str,
        store: TokenStore,
        *,
        auth: McpAuth | None = None,
        name: str = "",
        user: User = _NOBODY,
        secrets: Mapping[str, str] | None = None,
        person: Person | None = None,
        fetcher: Fetcher | None = None,
        egress: Egress | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._url = server_url
        self._key = resource_url_from_server_url(server_url)
        self._store = store
        self._auth = auth or McpAuth()
        self._name = name or server_url
        self._user = user
        self._secrets = secrets or {}
        self._person = person
        named = filter(None, (self._auth.issuer, self._auth.idp_token_endpoint))
        self._fetcher = fetcher or Fetcher(Guard(server_url, named=named, egress=egress))
        self._clock = clock or SystemClock()
        self._granted = store.granted(user, self._key)
        self._alone = asyncio.Lock()

    @property
    def granted(self) -> Granted | None:
        """What is granted now, as far as this process knows."""
        return self._granted

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not stand in anything that this server sends back: a server may echo its token."""
        one = self._granted
        return tuple(filter(None, (one.access_token, one.refresh_token))) if one else ()

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Send a request with a token, and once more when the server wants another one.

        Raises:
            LoginNeeded: only a person can help.
            LoginFailed: the login was refused, or is not safe, or the server does not take what was granted.
            Unavailable: the issuer can not be reached now.
        """
        if origin(str(request.url)) != origin(self._url):
            request.headers.pop("Authorization", None)
            yield request
            return
        used, steps, seen = await self._current(), 0, set[str]()
        for attempt in count(1):
            if used is not None:
                request.headers["Authorization"] = f"Bearer {used.access_token}"
            response = yield request
            wants_more = _wants_more(response)
            steps += wants_more
            if not (response.status_code == 401 or wants_more):
                return
            may = steps <= STEPS_MAX and attempt < _ATTEMPTS_MAX
            got = await self._other(used, response, seen, more=wants_more) if may else None
            if got is None:
                lacking = ", ".join(_shown(_lacking(used, response)))
                without = f": it does not allow {lacking}" if lacking else ""
                raise LoginFailed(
                    "{name} does not take the token that its issuer gave for it{without}",
                    name=self._name,
                    without=without,
                )
            used = got

    async def log_in(self, scopes: Sequence[str] = ()) -> Granted:
        """Let the person, or an issuer that vouches for the user, get a token now, even if there is one already.

        Args:
            scopes: what to ask for besides what the server asks for and what was granted before.

        Raises:
            LoginNeeded, LoginFailed, Unavailable: as by `async_auth_flow`.
        """
        async with self._alone:
            return await self._log_in(await self._challenged(), self._granted, scopes)

    async def log_out(self) -> bool:
        """Forget the token. Whether its issuer could be told, too (RFC 7009)."""
        async with self._alone:
            one, self._granted = self._store.granted(self._user, self._key), None
            if one is None:
                return False
            self._store.drop(one)
            return await self._revoked(one)

    async def _current(self) -> Granted | None:
        """The token that holds now; None for none, which lets the server say what it wants."""
        one = self._granted
        if one is None or not self._ends(one):
            return one
        async with self._alone:
            if self._granted is not one:
                return self._granted
            try:
                return await self._renewed(one)
            except Unavailable:
                if one.expires_at > self._clock.now():
                    return one
                raise

    async def _other(
        self, used: Granted | None, response: httpx2.Response, seen: set[str], *, more: bool
    ) -> Granted | None:
        """Another token than the one that the server did not take; None when there is no use in asking."""
        async with self._alone:
            if self._granted is not None and self._granted is not used:
                return self._granted  # somebody else got it while this request was under way
            if more:
                return await self._log_in(response, used) if _lacking(used, response) else None  # else no use in it
            if used is not None and "refresh" not in seen:
                seen.add("refresh")
                got = await self._renewed(used)
                if got is not None:
                    return got
            if "login" in seen:
                return None
            seen.add("login")
            return await self._log_in(response, used)

    def _ends(self, one: Granted) -> bool:
        return bool(one.expires_at) and one.expires_at - EARLY_S <= self._clock.now()

    async def _renewed(self, old: Granted) -> Granted | None:
        """A newer token in place of this one, without a person; None when there is none to be had.

        Raises:
            Unavailable: the issuer can not be reached now; the old one may be good for another try.
        """
        async with self._store.turn(self._user, self._key):
            kept = self._store.granted(self._user, self._key)
            if kept is not None and kept.access_token != old.access_token and not self._ends(kept):
                self._granted = kept  # another process was faster
                return kept
            known = kept or old
            client = self._client_of(known)
            if not known.refresh_token or client is None:
                self._granted = None
                return None
            form = {"grant_type": "refresh_token", "refresh_token": known.refresh_token, "resource": known.resource}
            try:
                got = await self._endpoint(known.token_endpoint, known.issuer, client).token(form)
            except TokenRefused as refused:
                self._granted = None
                if refused.error in _GONE:
                    self._store.drop(known)
                self._forget(client, refused)
                return None
            return self._keep(
                structs.replace(
                    known,
                    access_token=got.access_token,
                    refresh_token=got.refresh_token or known.refresh_token,
                    scope=got.scope or known.scope,
                    expires_at=self._end(got),
                )
            )

    async def _log_in(self, challenge: httpx2.Response, used: Granted | None, scopes: Sequence[str] = ()) -> Granted:
        by_person = self._auth.grant == "code"
        if by_person and self._person is None:
            more = "".join(f" --scope {scope}" for scope in _shown(_lacking(used, challenge))) if used else ""
            raise LoginNeeded(
                "{name} wants a login: a person has to run `actum mcp login {name}{more}`", name=self._name, more=more
            )
        hint = extract_resource_metadata_from_www_auth(challenge)
        place = await discover(self._url, hint, self._auth, self._fetcher)
        if by_person:
            check_proof(place)
        before = used.scope if used is not None and used.issuer == place.issuer else ""
        scope = _scope(place, self._auth, extract_scope_from_www_auth(challenge), [*before.split(), *scopes])
        client = await self._client(place, scope)
        at = self._endpoint(place.metadata.token_endpoint, place.issuer, client)
        try:
            got = await GRANTS[self._auth.grant](TokenRequest(place, at, scope, self._person, is_here(self._url)))
        except TokenRefused as refused:
            self._forget(client, refused)
            raise
        return self._keep(
            Granted(
                resource=place.resource,
                server=self._key,
                user=self._user.principal,
                tenant=self._user.tenant,
                issuer=place.issuer,
                token_endpoint=at.url,
                revocation_endpoint=place.metadata.revocation_endpoint,
                client_id=client.client_id,
                method=client.method,
                access_token=got.access_token,
                refresh_token=got.refresh_token or "",
                scope=got.scope if got.scope is not None else scope,  # RFC 6749 §5.1: what is not said was granted
                expires_at=self._end(got),
            )
        )

    async def _client(self, place: TokenSource, scope: str) -> Registration:
        """How this program is known to an issuer: set up by hand, by its metadata, registered before, or now."""
        client = set_up(place, self._auth, self._secrets)
        if client is not None:
            return client
        if self._person is None:
            raise LoginFailed(
                "set `client_id` in the `auth` of {name}: who asks, when no person does?", name=self._name
            )
        redirect_uri = self._person.redirect_uri
        known = self._store.registration(self._user, place.issuer)
        if known and self._covers(known, redirect_uri, scope):
            return known
        may_ask = " ".join(dict.fromkeys([*scope.split(), *(place.scopes or ())]))
        client = await register(place, redirect_uri, may_ask, self._user, self._fetcher)
        self._store.keep(client)
        return client

    def _covers(self, known: Registration, redirect_uri: str, scope: str) -> bool:
        """Whether a registration is good for this."""
        has_ended = 0 < known.expires_at <= self._clock.now()
        return known.redirect_uri == redirect_uri and set(scope.split()) <= set(known.scope.split()) and not has_ended

    def _client_of(self, one: Granted) -> Registration | None:
        """Who asked for a token, if that is still known."""
        auth = self._auth
        if one.client_id in (auth.client_id, auth.client_metadata_url) and auth.issuer in ("", one.issuer):
            secret = secret_of(auth.secret, self._secrets) if one.client_id == auth.client_id else ""
            return Registration(issuer=one.issuer, client_id=one.client_id, client_secret=secret, method=one.method)
        known = self._store.registration(self._user, one.issuer)
        return known if known and known.client_id == one.client_id else None

    def _endpoint(self, url: str, issuer: str, client: Registration) -> TokenEndpoint:
        return TokenEndpoint(url, issuer, client, self._auth, self._secrets, self._fetcher, self._clock.now())

    def _end(self, got: OAuthToken) -> float:
        return self._clock.now() + got.expires_in if got.expires_in is not None else 0.0

    def _keep(self, one: Granted) -> Granted:
        self._store.keep(one)
        self._granted = one
        return one

    def _forget(self, client: Registration, refused: TokenRefused) -> None:
        """An issuer that does not know its client any more is asked to register a new one the next time."""
        if refused.error in _UNKNOWN_CLIENT:
            self._store.drop(client)

    async def _challenged(self) -> httpx2.Response:
        """What the server says to somebody without a token.

        Raises:
            Unavailable: nothing.
        """
        headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        try:
            answer = await self._fetcher.send(
                "POST", self._url, headers=headers, body=_PING, redirects="none", head_only=True
            )
        except HttpFailure as failure:
            raise Unavailable("{name}: {why}", name=self._name, why=failure) from None
        return httpx2.Response(answer.status, headers=dict(answer.headers))

    async def _revoked(self, one: Granted) -> bool:
        client = self._client_of(one)
        if client is None or not one.revocation_endpoint:
            return False
        at = self._endpoint(one.revocation_endpoint, one.issuer, client)
        try:
            return (await at.post({"token": one.refresh_token or one.access_token})).status == 200
        except CallError:
            return False


def oauth_of(
    server: McpServer,
    store: TokenStore,
    *,
    secrets: Mapping[str, str] | None = None,
    user: User = _NOBODY,
    person: Person | None = None,
    egress: Egress | None = None,
    clock: Clock | None = None,
) -> OAuth | None:
    """The login for a server as it is configured; None for one that runs here, or that gets a header of its own.

    Args:
        server: as it is configured.
        store, secrets, user, person, egress, clock: as in `OAuth`.
    """
    if not server.url or any(name.lower() == "authorization" for name in server.headers):
        return None
    return OAuth(
        server.url,
        store,
        auth=server.auth,
        name=server.name,
        user=user,
        secrets=secrets,
        person=person,
        egress=egress,
        clock=clock,
    )


_UNKNOWN_CLIENT = ("invalid_client", "unauthorized_client")
_GONE = ("invalid_grant", *_UNKNOWN_CLIENT)
"""After these a refresh token is of no use any more."""
_PLAIN_SCOPE = re.compile(r"\w[\w.:/-]{0,79}", re.ASCII)
_PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'


def _wants_more(response: httpx2.Response) -> bool:
    return response.status_code == 403 and extract_field_from_www_auth(response, "error") == "insufficient_scope"


def _lacking(used: Granted | None, response: httpx2.Response) -> list[str]:
    """The scopes that the server wants and the token does not have."""
    wanted = (extract_scope_from_www_auth(response) or "").split()
    return [scope for scope in wanted if used is None or scope not in used.scope.split()]


def _shown(scopes: Sequence[str]) -> list[str]:
    """Scopes that may be told to a model, and typed into a shell: a server can write anything there."""
    return [scope for scope in scopes if _PLAIN_SCOPE.fullmatch(scope)]


def _scope(place: TokenSource, auth: McpAuth, challenged: str | None, before: Sequence[str]) -> str:
    """What to ask for: what was granted before, what the person set up, and what the server wants now."""
    wanted = challenged.split() if challenged is not None else place.scopes or ()
    scopes = dict.fromkeys([*before, *auth.scopes, *wanted])
    if scopes and auth.grant == "code" and "offline_access" in place.metadata.scopes_supported:
        scopes["offline_access"] = None  # a token that can be refreshed
    return " ".join(scopes)
