"""Tokens that an outside issuer grants: a program logs in there, and shows us the token.

Two kinds of `Verifier`: `SignedTokens` checks a JWT by the issuer's published keys (RFC 9068), and `AskedTokens` asks
the issuer about a token of any form (RFC 7662). A token must be meant for this server: its audience is checked exactly
(RFC 8707), and so are its issuer and when it ends.

This file knows no protocol of agents and no web server. PyJWT is needed; for keys of our own, which need no such
package, see `identity`.

Limits: a JWT that was revoked is accepted until it ends. `AskedTokens` sees at once that a token was revoked, but needs
a request to the issuer for each check.
"""

from __future__ import annotations

import asyncio
from base64 import b64encode
from typing import NamedTuple
from urllib.parse import quote, urlencode

import jwt
import msgspec
from jwt.types import Options
from msgspec import Struct

from ..core.clock import SystemClock
from ..core.errors import UsageError
from ..core.identity import Identity
from ..core.interfaces import Clock
from ..core.json import Json, JsonObject
from ..protocols.oauth_metadata import BadMetadata, issuer_places, read_issuer
from ..transport.fetcher import Fetcher
from ..transport.guard import Guard
from ..transport.http import HttpFailure

ALGORITHMS = ("ES256", "ES384", "ES512", "EdDSA", "PS256", "PS384", "PS512", "RS256", "RS384", "RS512")
"""Asymmetric ones: with a shared key a server that checks tokens could also issue them."""
LEEWAY_S = 30.0
KEYS_S = 600.0
"""How long an issuer's published keys are believed."""
KEYS_ANEW_S = 30.0
"""An unknown key id makes us ask again, but not more often than this."""
KEYS_MAX = 100
"""Keys of an issuer that are read at most: each costs as much as the check of a token, and issuers publish a few."""
_TOKEN_MAX = 16_384
_ANSWER_MAX = 65_536
"""Bytes of what an issuer answers of a token: four times what a token can say itself."""


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
        tenant_claim: what names the tenant of the user; dots lead inside. A token without it is not accepted then.
            Empty where all users of this issuer belong to the one tenant without a name.
        user_clients: the ids of clients that the operator trusts to say only what their user said; see
            `Identity.speaks_for`.
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
    tenant_claim: str = ""
    user_clients: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Issuer(url={self.url!r}, audience={self.audience!r})"


class Checked(NamedTuple):
    """A token that was found valid.

    Attributes:
        identity: whose token this is.
        claims: all that the issuer said in the token.
    """

    identity: Identity
    claims: JsonObject


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
            raise UsageError("tokens may be signed with {algorithms} only", algorithms=", ".join(ALGORITHMS))
        self._issuer = issuer
        self._fetcher = fetcher or _fetcher(issuer)
        self._clock = clock or SystemClock()
        self._keys: dict[str, jwt.PyJWK] = {}
        self._asked_at = float("-inf")
        self._alone = asyncio.Lock()

    @property
    def has_keys(self) -> bool:
        """Whether any published key of the issuer is known; False as well where the issuer was not asked yet."""
        return bool(self._keys)

    async def verify_token(self, token: str) -> Identity | None:
        checked = await self.check(token)
        return checked.identity if checked is not None else None

    async def check(self, token: str) -> Checked | None:
        """Check a token whose claims are needed, too, such as the `nonce` of an ID token.

        Args:
            token: as for `verify_token`.

        Returns:
            Whose token this is, and its claims. None when the token is not valid.
        """
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
        except (jwt.PyJWTError, KeyError, TypeError, ValueError, RecursionError):
            return None
        identity = _claimed(claims, self._issuer, self._clock.now())
        return Checked(identity, claims) if identity is not None else None

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
        document = _object(await _body(self._fetcher, uri)) if uri else None
        listed = document.get("keys") if document else None
        found: dict[str, jwt.PyJWK] = {}
        for one in listed[:KEYS_MAX] if isinstance(listed, list) else []:
            try:
                key = jwt.PyJWK(one)  # type: ignore[arg-type]  # whatever it is, it is checked there
            except (jwt.PyJWTError, TypeError, ValueError, KeyError, AttributeError):
                continue  # of a kind that we do not know: its tokens will not pass
            if key.public_key_use in (None, "sig") and key.algorithm_name in ALGORITHMS:
                found[key.key_id or ""] = key
        return found

    async def _found_uri(self) -> str:
        for uri in issuer_places(self._issuer.url):
            try:
                found = read_issuer(await _body(self._fetcher, uri), "jwks_uri")
            except BadMetadata:
                continue
            if found.issuer == self._issuer.url:
                return found.jwks_uri
        return ""


class AskedTokens:
    """Tokens of any form. Their issuer is asked about each, each time (RFC 7662).

    Args:
        issuer: the issuer of the tokens, with its introspection endpoint.
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

    async def verify_token(self, token: str) -> Identity | None:
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
            answer = await self._fetcher.post(self._issuer.introspection_endpoint, headers, body)
        except HttpFailure:
            return None
        claims = _object(answer.body) if answer.status == 200 and len(answer.body) <= _ANSWER_MAX else None
        if not claims or claims.get("active") is not True or claims.get("iss", self._issuer.url) != self._issuer.url:
            return None
        return _claimed(claims, self._issuer, self._clock.now())


_OPTIONS: Options = {
    "require": ["exp", "iss", "aud"],
    "verify_exp": False,
    "verify_nbf": False,
    "verify_iat": False,
    "verify_aud": False,
}
"""The clock and the audience are checked in `_claimed`, for both kinds of foreign tokens alike."""


def _claimed(claims: JsonObject, issuer: Issuer, now: float) -> Identity | None:
    """Whose token has these claims; None when the token is not for us, not valid now, or of nobody."""
    audience, ends, begins = claims.get("aud"), claims.get("exp", float("inf")), claims.get("nbf", 0)
    meant = [audience] if isinstance(audience, str) else audience if isinstance(audience, list) else []
    ours = issuer.audience.removesuffix("/")
    if ours not in meant and f"{ours}/" not in meant:
        return None
    if not isinstance(ends, int | float) or not isinstance(begins, int | float):
        return None
    if ends + LEEWAY_S <= now or begins - LEEWAY_S > now:
        return None
    principal = claims.get(issuer.principal_claim)
    if not isinstance(principal, str) or not principal:
        return None
    tenant = _inside(claims, issuer.tenant_claim) if issuer.tenant_claim else ""
    if not isinstance(tenant, str) or (issuer.tenant_claim and not tenant):
        return None
    client = str(claims.get("client_id") or claims.get("azp") or "")
    return Identity(
        principal=principal,
        roles=_words(_inside(claims, issuer.roles_claim)),
        key_id=client,
        scopes=_words(claims.get("scope", claims.get("scp"))),
        tenant=tenant,
        issuer=issuer.url,
        speaks_for="user" if client and client in issuer.user_clients else "",
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
    return tuple([one for one in value if type(one) is str]) if isinstance(value, list) else ()


def _fetcher(issuer: Issuer) -> Fetcher:
    return Fetcher(Guard(issuer.url, named=filter(None, (issuer.jwks_uri, issuer.introspection_endpoint))))


def _object(body: bytes) -> JsonObject | None:
    try:
        return msgspec.json.decode(body, type=dict[str, Json])
    except (ValueError, RecursionError):
        return None


async def _body(fetcher: Fetcher, url: str) -> bytes:
    """What is published at an address; empty where nothing can be had there now."""
    try:
        answer = await fetcher.get(url, {"accept": "application/json"})
    except HttpFailure:
        return b""
    return answer.body if answer.status == 200 else b""
