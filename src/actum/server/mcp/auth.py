"""Who asks an MCP server of ours: bearer tokens are checked, and become a user, roles and a key id.

Three kinds of token, each a `Verifier`, tried in order by `Authenticator`: a key of our own (small set-ups), a JWT of
an outside issuer by its published keys (RFC 9068), and any token by asking its issuer (RFC 7662). A token must be meant
for this server: its audience is checked exactly (RFC 8707), and so are issuer and end. The token itself is not handed
on to whoever serves the request, so that it can not reach another server.

It fits the SDK: `Server.streamable_http_app(auth=settings(...), token_verifier=Doorkeeper(...))`, which answers 401 and
403 and publishes the metadata of RFC 9728. `ChallengedScopes` around that app adds what scopes are wanted.

Limits: a JWT that was revoked holds until it ends; asking the issuer sees that at once, at the price of a request.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import re
import secrets as random
from base64 import b64encode
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol
from urllib.parse import quote, urlencode

import jwt
import msgspec
from jwt.types import Options
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from msgspec import Struct
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ...core.clock import SystemClock
from ...core.errors import UsageError
from ...core.interfaces import Clock
from ...core.json import Json, JsonObject
from ...transport.guard import Fetched, Fetcher, Guard
from ...transport.http import HttpFailure

ALGORITHMS = ("ES256", "ES384", "ES512", "EdDSA", "PS256", "PS384", "PS512", "RS256", "RS384", "RS512")
"""Asymmetric ones: with a shared key whoever checks could also issue."""
LEEWAY_S = 30.0
KEYS_S = 600.0
"""How long an issuer's published keys are believed."""
KEYS_ANEW_S = 30.0
"""An unknown key id makes us ask again, but not more often than this."""
_TOKEN_MAX = 16_384
_KEY = re.compile(r"ak_([A-Za-z0-9-]{1,40})_([A-Za-z0-9_-]{43})")


class Identity(NamedTuple):
    """On whose behalf a request is served.

    Attributes:
        principal: the user.
        roles: that the user has.
        key_id: by which key, or which program, the request came; for the record.
    """

    principal: str
    roles: tuple[str, ...]
    key_id: str


class Verifier(Protocol):
    """Checks one kind of token. It fits the SDK's `TokenVerifier`."""

    async def verify_token(self, token: str) -> AccessToken | None:
        """What a token allows, or None: it is not of this kind, or not good."""


class Key(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A key of our own, as it stands in a file: its text can not be had from this.

    Attributes:
        id: what it is called, on record too.
        sha256: of its text, in hexadecimal. The text has 256 random bits, so that a slow hash would add nothing.
        principal: whose calls it makes; the id when empty.
        roles: that this user has; without any, no rule for a role fits.
        scopes: what it allows; without any, nothing that a server wants a scope for.
        expires_at: seconds since 1970; 0 for never.
    """

    id: str
    sha256: str
    principal: str = ""
    roles: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    expires_at: float = 0.0


def new_key(id: str, *, principal: str = "", roles: Sequence[str] = (), scopes: Sequence[str] = ()) -> tuple[str, Key]:
    """A new key: its text, which is shown once, and what to keep of it.

    Args:
        id: letters, digits and hyphens, 40 at most.
        principal, roles, scopes: as in `Key`.

    Raises:
        UsageError: the id has other characters.
    """
    text = f"ak_{id}_{random.token_urlsafe(32)}"
    if not _KEY.fullmatch(text):
        raise UsageError(f"{id!r} is no id for a key: letters, digits and hyphens, 40 at most")
    return text, Key(id=id, sha256=_hash(text), principal=principal, roles=tuple(roles), scopes=tuple(scopes))


class Keys:
    """Keys of our own.

    Args:
        keys: those that hold.
        clock: for their end.

    Raises:
        UsageError: two have the same id.
    """

    def __init__(self, keys: Iterable[Key], *, clock: Clock | None = None) -> None:
        known = list(keys)
        self._keys = {key.id: key for key in known}
        if len(self._keys) != len(known):
            raise UsageError("two keys have the same id")
        self._clock = clock or SystemClock()

    async def verify_token(self, token: str) -> AccessToken | None:
        found = _KEY.fullmatch(token)
        if found is None:
            return None
        key = self._keys.get(found[1])
        same = hmac.compare_digest(_hash(token), key.sha256 if key else "0" * 64)  # compared even where there is none
        if key is None or not same or 0 < key.expires_at <= self._clock.now():
            return None
        return _access(Identity(key.principal or key.id, key.roles, key.id), key.scopes, key.id)


class Issuer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An outside issuer of tokens, as a person set it up.

    Attributes:
        url: its issuer identifier; a token's `iss` must be exactly this.
        audience: this server's address; a token's `aud` must hold it.
        jwks_uri: where its keys are; empty to learn it from its metadata.
        introspection_endpoint: where it tells of a token; for `AskedTokens`.
        client_id, client_secret: who we are there.
        algorithms: with which it may sign.
        principal_claim: what names the user.
        roles_claim: what lists the roles; dots lead inside.
    """

    url: str
    audience: str
    jwks_uri: str = ""
    introspection_endpoint: str = ""
    client_id: str = ""
    client_secret: str = ""
    algorithms: tuple[str, ...] = ALGORITHMS
    principal_claim: str = "sub"
    roles_claim: str = "roles"

    def __repr__(self) -> str:
        return f"Issuer(url={self.url!r}, audience={self.audience!r})"


class SignedTokens:
    """JWTs of an outside issuer, checked by its published keys.

    Args:
        issuer: whose.
        fetcher: gets its keys; by a guard that lets the issuer be private, by default.
        clock: for the end of tokens.

    Raises:
        UsageError: an algorithm with a shared key was named.
    """

    def __init__(self, issuer: Issuer, *, fetcher: Fetcher | None = None, clock: Clock | None = None) -> None:
        if not set(issuer.algorithms) <= set(ALGORITHMS):
            raise UsageError(f"tokens may be signed with {', '.join(ALGORITHMS)} only")
        self._issuer = issuer
        self._fetcher = fetcher or _fetcher(issuer)
        self._clock = clock or SystemClock()
        self._keys: dict[str, jwt.PyJWK] = {}
        self._asked_at = float("-inf")
        self._alone = asyncio.Lock()

    async def verify_token(self, token: str) -> AccessToken | None:
        if len(token) > _TOKEN_MAX or token.count(".") != 2:
            return None
        try:
            head = jwt.get_unverified_header(token)
            key = await self._key(str(head.get("kid", "")))
            if key is None or head["alg"] not in self._issuer.algorithms:
                return None
            claims: JsonObject = jwt.decode(
                token,
                key,
                algorithms=[head["alg"]],
                issuer=self._issuer.url,
                options=_OPTIONS,
            )
        except (jwt.PyJWTError, KeyError, TypeError, ValueError):
            return None
        return _claimed(claims, self._issuer, self._clock.now())

    async def _key(self, kid: str) -> jwt.PyJWK | None:
        """The issuer's key of this id; without an id its only one."""
        async with self._alone:  # who comes while we ask waits for the answer
            age = self._clock.now() - self._asked_at
            if age > KEYS_S or (age > KEYS_ANEW_S and kid and kid not in self._keys):
                self._asked_at = self._clock.now()
                self._keys = await self._published() or self._keys
        if not kid and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        return self._keys.get(kid)

    async def _published(self) -> dict[str, jwt.PyJWK]:
        """The issuer's keys; none when they can not be had now."""
        uri = self._issuer.jwks_uri or await self._found_uri()
        document = await _json(self._fetcher, uri) if uri else None
        listed = document.get("keys") if document else None
        found: dict[str, jwt.PyJWK] = {}
        for one in listed if isinstance(listed, list) else []:
            try:
                key = jwt.PyJWK(one)  # type: ignore[arg-type]  # whatever it is, it is checked there
            except (jwt.PyJWTError, TypeError, ValueError, KeyError, AttributeError):
                continue  # of a kind that we do not know: its tokens will not pass
            if key.public_key_use in (None, "sig") and key.algorithm_name in ALGORITHMS:
                found[key.key_id or ""] = key
        return found

    async def _found_uri(self) -> str:
        base, _, path = self._issuer.url.partition("://")
        host, _, path = path.partition("/")
        tail = f"/{path.rstrip('/')}" if path else ""
        for uri in (
            f"{base}://{host}/.well-known/oauth-authorization-server{tail}",
            f"{base}://{host}{tail}/.well-known/openid-configuration",
        ):
            document = await _json(self._fetcher, uri)
            if document and document.get("issuer") == self._issuer.url and isinstance(document.get("jwks_uri"), str):
                return str(document["jwks_uri"])
        return ""


class AskedTokens:
    """Tokens of any form, of which their issuer is asked each time (RFC 7662).

    Args:
        issuer: whose; with its introspection endpoint.
        fetcher, clock: as in `SignedTokens`.

    Raises:
        UsageError: no introspection endpoint was named.
    """

    def __init__(self, issuer: Issuer, *, fetcher: Fetcher | None = None, clock: Clock | None = None) -> None:
        if not issuer.introspection_endpoint:
            raise UsageError("say where the issuer tells of tokens: introspection_endpoint")
        self._issuer = issuer
        self._fetcher = fetcher or _fetcher(issuer)
        self._clock = clock or SystemClock()

    async def verify_token(self, token: str) -> AccessToken | None:
        if len(token) > _TOKEN_MAX:
            return None
        pair = f"{quote(self._issuer.client_id, safe='')}:{quote(self._issuer.client_secret, safe='')}"
        headers = {
            "content-type": "application/x-www-form-urlencoded",
            "accept": "application/json",
            "authorization": f"Basic {b64encode(pair.encode()).decode()}",
        }
        body = urlencode({"token": token, "token_type_hint": "access_token"}).encode()
        try:
            claims = _object(await self._fetcher.post(self._issuer.introspection_endpoint, headers, body))
        except HttpFailure:
            return None
        if not claims or claims.get("active") is not True or claims.get("iss", self._issuer.url) != self._issuer.url:
            return None
        return _claimed(claims, self._issuer, self._clock.now())


class Authenticator:
    """Several kinds of token at one door: the first verifier that knows a token decides.

    Args:
        verifiers: in order.
    """

    def __init__(self, verifiers: Sequence[Verifier]) -> None:
        self._verifiers = tuple(verifiers)

    async def verify_token(self, token: str) -> AccessToken | None:
        for verifier in self._verifiers:
            access = await verifier.verify_token(token)
            if access is not None:
                return access
        return None


def settings(resource: str, *, issuer: str = "", scopes: Sequence[str] = ()) -> AuthSettings:
    """What the SDK's server needs to know beside a verifier.

    Args:
        resource: this server's own address, as clients write it.
        issuer: who grants tokens for it; empty where only our own keys hold: then no metadata is published.
        scopes: that every request needs.
    """
    said = {  # as text: a URL object of pydantic would end an issuer with a slash that it does not have
        "issuer_url": issuer or resource,
        "resource_server_url": resource if issuer else None,
        "required_scopes": list(scopes),
        "validate_token_resource": False,  # the verifiers do, for lists of audiences too
    }
    return AuthSettings.model_validate(said)


def identity_of(access: AccessToken) -> Identity:
    """On whose behalf a request with this token is served."""
    claims = access.claims or {}
    return Identity(access.subject or "", tuple(claims.get("roles", ())), str(claims.get("key_id", "")))


class ChallengedScopes:
    """An ASGI app whose refusals say which scopes are wanted (RFC 6750 §3), as MCP asks of servers.

    Args:
        app: the SDK's, which says the rest.
        scopes: that every request needs.
    """

    def __init__(self, app: ASGIApp, scopes: Sequence[str]) -> None:
        self._app = app
        self._scopes = " ".join(scopes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def told(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] in (401, 403) and self._scopes:
                headers = MutableHeaders(raw=message["headers"])
                challenge = headers.get("www-authenticate", "")
                if challenge.startswith("Bearer ") and "scope=" not in challenge:
                    headers["www-authenticate"] = f'{challenge}, scope="{self._scopes}"'
            await send(message)

        await self._app(scope, receive, told)


_OPTIONS: Options = {
    "require": ["exp", "iss", "aud"],
    "verify_exp": False,
    "verify_nbf": False,
    "verify_iat": False,
    "verify_aud": False,
}
"""The clock and the audience are checked in `_claimed`, for both kinds of foreign tokens alike."""


def _claimed(claims: JsonObject, issuer: Issuer, now: float) -> AccessToken | None:
    """What the claims of a token allow; None when it is not for us, not yet or no longer good, or of nobody."""
    audience, ends, begins = claims.get("aud"), claims.get("exp", float("inf")), claims.get("nbf", 0)
    meant = [audience] if isinstance(audience, str) else audience if isinstance(audience, list) else []
    if issuer.audience.removesuffix("/") not in [str(one).removesuffix("/") for one in meant]:
        return None
    if not isinstance(ends, int | float) or not isinstance(begins, int | float):
        return None
    if ends + LEEWAY_S <= now or begins - LEEWAY_S > now:
        return None
    principal = claims.get(issuer.principal_claim)
    if not isinstance(principal, str) or not principal:
        return None
    client = str(claims.get("client_id") or claims.get("azp") or "")
    identity = Identity(principal, _words(_inside(claims, issuer.roles_claim)), client)
    scopes = _words(claims.get("scope", claims.get("scp")))
    return _access(identity, scopes, client, issuer)


def _access(identity: Identity, scopes: Iterable[str], client: str, issuer: Issuer | None = None) -> AccessToken:
    """The SDK's form of it. The token's text stays out."""
    claims = {"roles": list(identity.roles), "key_id": identity.key_id}
    return AccessToken(
        token="",
        client_id=client,
        scopes=list(scopes),
        expires_at=None,  # checked by our clock
        resource=issuer.audience if issuer else None,
        subject=identity.principal,
        claims=claims | ({"iss": issuer.url} if issuer else {}),
    )


def _inside(claims: JsonObject, path: str) -> Json:
    found: Json = claims
    for name in path.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    return found


def _words(value: Json) -> tuple[str, ...]:
    """A list of words, or words with blanks between them."""
    if isinstance(value, str):
        return tuple(value.split())
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _fetcher(issuer: Issuer) -> Fetcher:
    return Fetcher(Guard(issuer.url, named=filter(None, (issuer.jwks_uri, issuer.introspection_endpoint))))


def _object(answer: Fetched) -> JsonObject | None:
    if answer.status != 200:
        return None
    try:
        return msgspec.json.decode(answer.body, type=dict[str, Json])
    except ValueError:
        return None


async def _json(fetcher: Fetcher, url: str) -> JsonObject | None:
    try:
        return _object(await fetcher.get(url, {"accept": "application/json"}))
    except HttpFailure:
        return None
