"""The credentials of an API's requests: looked up for the user of the call, put in at the moment of sending.

Secrets come from the call's own context, so each user and tenant has their own. An access token lives in the memory of
this process, by user; calls that find it ended wait for one request that brings a new one. What a user was granted at a
log-in is kept in `storage.tokens`, for this user alone. Every value that is sent, and every token that an endpoint
gives, is concealed in the run.

Limits: no DPoP.
"""

from __future__ import annotations

import asyncio
import base64
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

from msgspec import Struct

from ...core.clock import SystemClock
from ...core.errors import InvalidArguments, ToolError, UnknownName
from ...core.interfaces import Clock, Context
from ...core.user import User
from ...protocols.openapi.request import BuiltRequest, CredentialSlot, with_credentials
from ...protocols.openapi.setup import ApiSetup, Credential, OAuthCredential, SecretCredential
from ...storage.tokens import Granted, TokenStore
from ...transport.fetcher import Fetcher
from ..login import LoginNeeded
from .token import ApiLogin, ApiToken, NoToken, ask_token, basic_code

EARLY_S = 15.0
"""Seconds before its end at which a token is asked for anew."""
REFUSED_MAX = 200
"""The most tokens that are remembered because an API refused them before their end. A newer token is asked for then."""

Keep = Callable[[str, str, User], None]
"""Keeps a new value of a secret: its name, the value, whose it is."""
_Owner = tuple[str, str, str]


class Dressed(NamedTuple):
    """A request with its credentials.

    Attributes:
        request: the request.
        secrets: what of it is secret.
        certificate: with its private key, as PEM: the client certificate that the connection has to show; or empty.
    """

    request: BuiltRequest
    secrets: tuple[str, ...]
    certificate: str = ""


class _Token(Struct, frozen=True):
    value: str
    ends: float


class ApiCredentials:
    """What shows to an API who asks.

    Args:
        setup: names the credentials.
        fetcher: reaches the token endpoints.
        clock: for the end of tokens.
        keep: keeps a refresh token that an endpoint gave in the place of another; None where nothing can be kept.
        logins: what users were granted who logged in; None where nobody can have logged in.
        login: the command by which a user logs in, without the name of the API.
    """

    def __init__(
        self,
        setup: ApiSetup,
        fetcher: Fetcher,
        *,
        clock: Clock | None = None,
        keep: Keep | None = None,
        logins: TokenStore | None = None,
        login: Sequence[str] = ("actum", "tools", "login"),
    ) -> None:
        self._setup = setup
        self._fetcher = fetcher
        self._clock = clock or SystemClock()
        self._keep = keep
        self._logins = logins
        self._login = login
        self._refused: dict[str, None] = {}
        self._tokens: dict[_Owner, _Token] = {}
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[_Owner, asyncio.Lock]] = WeakKeyDictionary()

    async def dress(self, request: BuiltRequest, context: Context) -> Dressed:
        """The request with its credentials.

        Args:
            request: as `build_request` made it.
            context: of the call: whose secrets are used.

        Raises:
            ToolError: a credential is missing, or its token endpoint refuses to give a token.
            Unavailable: the token endpoint can not be reached.
        """
        slots = self._chosen(request)
        values = {slot.scheme: await self._value(slot.scheme, context) for slot in slots}
        try:
            dressed = with_credentials(request, slots, values)
        except InvalidArguments:
            names = ", ".join(values)
            raise ToolError("The credential for {names} has characters that can not be sent.", names=names) from None
        basic = [base64.b64encode(values[slot.scheme].encode()).decode() for slot in slots if slot.prefix == "Basic "]
        passwords = [values[slot.scheme].partition(":")[2] for slot in slots if slot.prefix == "Basic "]
        secrets = tuple(filter(None, [*values.values(), *basic, *passwords]))
        context.conceal(*secrets)
        certificates = [values[slot.scheme] for slot in slots if slot.where == "certificate"]
        if len(certificates) > 1:
            raise ToolError("The API wants two client certificates at once; a connection can show one.")
        if certificates and not request.url.startswith("https://"):
            raise ToolError("The API wants a client certificate, which can be shown at an https:// address only.")
        return Dressed(dressed, secrets, "".join(certificates))

    def forget(self, request: BuiltRequest, context: Context, refused: tuple[str, ...]) -> bool:
        """Let go of the access tokens that the API refused. Whether there were any, so that new ones may help."""
        owners = [
            self._owner(slot.scheme, context)
            for slot in self._chosen(request)
            if isinstance(self._setup.credentials.get(slot.scheme), OAuthCredential)
        ]
        for owner in owners:
            known = self._tokens.get(owner)
            if known is not None and known.value in refused:
                del self._tokens[owner]
        if owners:
            self._refused.update(dict.fromkeys(refused))
            for oldest in list(self._refused)[:-REFUSED_MAX]:
                del self._refused[oldest]
        return bool(owners)

    def _chosen(self, request: BuiltRequest) -> tuple[CredentialSlot, ...]:
        """The first alternative whose credentials are all set up; else none where none is needed."""
        known = self._setup.credentials
        for slots in request.credentials:
            if slots and all(slot.scheme in known for slot in slots):
                return slots
        if request.credentials and () not in request.credentials:
            names = sorted({slot.scheme for slots in request.credentials for slot in slots})
            raise ToolError(
                "This call needs a credential that is not set up: {names}. A person sets it up by "
                "adding this API again with --secret.",
                names=" or ".join(names),
            )
        return ()

    async def _value(self, scheme: str, context: Context) -> str:
        credential: Credential = self._setup.credentials[scheme]
        if isinstance(credential, SecretCredential):
            return _secret(credential.secret, context)
        if credential.login_url:
            return await self._of_login(scheme, credential, context)
        return await self._token(scheme, credential, context)

    def _owner(self, scheme: str, context: Context) -> _Owner:
        return (context.tenant, context.principal, scheme)

    async def _token(self, scheme: str, credential: OAuthCredential, context: Context) -> str:
        # The secrets are looked up for each call, so that a secret that was removed is not used any longer.
        password = _secret(credential.client_secret, context) if credential.client_secret else ""
        refresh = _secret(credential.refresh_token, context) if credential.refresh_token else ""
        owner = self._owner(scheme, context)
        locks = self._locks.setdefault(asyncio.get_running_loop(), {})
        async with locks.setdefault(owner, asyncio.Lock()):
            known = self._tokens.get(owner)
            if known is None or known.ends - EARLY_S <= self._clock.now():
                if credential.refresh_token:
                    refresh = _secret(credential.refresh_token, context)  # another call may have got a new one
                granted = await self._ask(credential, password, refresh, context)
                known = self._tokens[owner] = _Token(granted.access_token, self._clock.now() + granted.seconds)
            return known.value

    async def _ask(self, credential: OAuthCredential, password: str, refresh: str, context: Context) -> ApiToken:
        form = {"grant_type": "refresh_token", "refresh_token": refresh} if refresh else {}
        form = form or {"grant_type": "client_credentials"}
        if credential.scopes and not credential.login_url:
            form["scope"] = " ".join(credential.scopes)
        if password:
            context.conceal(basic_code(credential.client_id, password))
        granted = await ask_token(self._fetcher, self._setup.name, credential, password, form)
        context.conceal(granted.access_token, granted.refresh_token)
        if granted.refresh_token and granted.refresh_token != refresh and credential.refresh_token and self._keep:
            self._keep(credential.refresh_token, granted.refresh_token, context.user)
        return granted

    async def _of_login(self, scheme: str, credential: OAuthCredential, context: Context) -> str:
        """The token of the call's own user, who has logged in.

        Raises:
            LoginNeeded: this user has not, or has to do so again.
            Unavailable: the token endpoint can not be reached now.
        """
        login = ApiLogin(self._setup, scheme, credential, "", context.user)
        place, store = self._setup.login_place(scheme, credential), self._logins
        granted = store.granted(context.user, place) if store else None
        if store is None or granted is None:
            raise self._login_needed(context.user)
        if self._is_over(granted):
            async with store.turn(context.user, place):
                granted = store.granted(context.user, place)
                if granted is not None and self._is_over(granted):  # no other call, and no other process, was faster
                    granted = await self._renewed(login, granted, store, context)
            if granted is None:
                raise self._login_needed(context.user)
        context.conceal(granted.access_token, granted.refresh_token)
        return granted.access_token

    async def _renewed(self, login: ApiLogin, old: Granted, store: TokenStore, context: Context) -> Granted | None:
        """A newer token in place of this one; None where the user has to log in again."""
        if not old.refresh_token:
            return None
        credential = login.credential
        password = _secret(credential.client_secret, context) if credential.client_secret else ""
        context.conceal(old.access_token, old.refresh_token)
        try:
            token = await self._ask(credential, password, old.refresh_token, context)
        except NoToken as refused:
            if refused.error == "invalid_grant":
                store.drop(old)
            return None
        new = login.granted(token, self._clock.now(), old)
        store.keep(new)
        return new

    def _is_over(self, granted: Granted) -> bool:
        return granted.expires_at - EARLY_S <= self._clock.now() or granted.access_token in self._refused

    def _login_needed(self, user: User) -> LoginNeeded:
        words = [*self._login, self._setup.name, "--user", user.principal]
        words += ["--tenant", user.tenant] if user.tenant else []
        return LoginNeeded(
            "{setup} wants a log-in. A person has to run: {command}", setup=self._setup.name, command=shlex.join(words)
        )


def _secret(name: str, context: Context) -> str:
    try:
        return context.secret(name)
    except UnknownName:
        raise ToolError(
            "The secret {name!r} that this API needs is not set. A person sets it with `actum secrets set {name}`.",
            name=name,
        ) from None
    except ToolError as unreadable:
        unreadable.effect = "none"  # nothing was sent
        raise


def schemes_without(setup: ApiSetup) -> Mapping[str, str]:
    """The security schemes that operations name and for which no credential is set up, with their kinds."""
    named = {each.scheme for one in setup.api.operations for needed in one.security for each in needed}
    return {name: setup.api.schemes[name].kind for name in sorted(named) if name not in setup.credentials}
