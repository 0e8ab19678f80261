"""The outside issuer at which people log in (OpenID Connect Core 1.0, code flow with PKCE).

What the issuer says is believed only as far as it is checked: its metadata must name the issuer itself (Discovery
§4.3), the ID token must be signed by a published key with an asymmetric algorithm, be for this client, and hold the
nonce of this log-in. All requests go through the guard, with limits on time and size, and follow no redirect with a
body.

This file knows no web framework.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
from base64 import b64encode
from urllib.parse import quote, urlencode, urlsplit

import msgspec
from msgspec import Struct

from ...core.clock import SystemClock
from ...core.errors import ActumError
from ...core.identity import Identity
from ...core.interfaces import Clock
from ...core.json import Json, JsonObject
from ...protocols.oauth_metadata import BadMetadata, IssuerMetadata, openid_place, read_issuer
from ...transport.fetcher import Fetched, Fetcher
from ...transport.guard import Guard, is_here
from ...transport.http import HttpFailure
from ..issuer import Issuer, SignedTokens
from .pending import Proofs

log = logging.getLogger("actum.server")

METADATA_S = 600.0
"""How long the metadata of the issuer is believed."""
FAILED_S = 5.0
"""Seconds after a failure in which the issuer is not asked for its metadata again."""
ANSWER_S = 10.0
ANSWER_BYTES_MAX = 256 * 1024


class LoginSettings(Struct, frozen=True, kw_only=True):
    """How people log in, as the operator set it up.

    Attributes:
        issuer: the issuer identifier of the OpenID provider.
        client_id: the name of this server there.
        client_secret: the password of this server at the provider; empty for a public client.
        asks: the scopes that are asked of the issuer, beside `openid`.
        scopes: what people may do here.
        principal_claim: the claim of the ID token that names the user.
        roles_claim: the claim that lists the roles; dots lead inside.
        tenant_claim: the claim that names the tenant; dots lead inside. Empty where all belong to one tenant.
        idle_s: seconds after its last request at which a session ends.
        session_s: seconds after the log-in at which a session ends.
    """

    issuer: str
    client_id: str
    client_secret: str = ""
    asks: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    principal_claim: str = "sub"
    roles_claim: str = "roles"
    tenant_claim: str = ""
    idle_s: float = 3600.0
    session_s: float = 12 * 3600.0

    def __repr__(self) -> str:
        return f"LoginSettings(issuer={self.issuer!r}, client_id={self.client_id!r})"


class IssuerAway(ActumError):
    """The issuer can not be reached, or does not answer in time."""


class IssuerWrong(ActumError):
    """What the issuer answered is not what OpenID Connect asks of it, or not for this server. The log says more."""


class LoginRejected(ActumError):
    """The issuer, or what it says of the person, does not let this log-in pass."""


class LoginProvider:
    """The issuer at which people log in.

    Args:
        settings: how.
        fetcher: makes the requests; by a guard that lets the issuer be private, by default.
        clock: the time.
    """

    def __init__(self, settings: LoginSettings, *, fetcher: Fetcher | None = None, clock: Clock | None = None) -> None:
        self._settings = settings
        self._fetcher = fetcher or Fetcher(Guard(settings.issuer), seconds_max=ANSWER_S, bytes_max=ANSWER_BYTES_MAX)
        self._clock = clock or SystemClock()
        self._alone = asyncio.Lock()
        self._known: tuple[IssuerMetadata, SignedTokens] | None = None
        self._known_at = self._failed_at = float("-inf")
        self._failure: IssuerAway | IssuerWrong = IssuerAway("the issuer was not asked yet")

    async def address(self, proofs: Proofs, redirect_uri: str) -> str:
        """Where a browser is sent to log in.

        Args:
            proofs: of this log-in.
            redirect_uri: where the browser comes back to.

        Raises:
            IssuerAway, IssuerWrong: it is not known where.
        """
        metadata, _ = await self._metadata()
        asked = {
            "response_type": "code",
            "client_id": self._settings.client_id,
            "redirect_uri": redirect_uri,
            "scope": " ".join(("openid", *self._settings.asks)),
            "state": proofs.state,
            "nonce": proofs.nonce,
            "code_challenge": proofs.challenge,
            "code_challenge_method": "S256",
        }
        joint = "&" if urlsplit(metadata.authorization_endpoint).query else "?"
        return f"{metadata.authorization_endpoint}{joint}{urlencode(asked)}"

    async def check_sender(self, iss: str | None) -> None:
        """Look at the `iss` with which a browser came back (RFC 9207).

        Args:
            iss: as it came; None where there was none.

        Raises:
            LoginRejected: another issuer sent the browser.
            IssuerAway, IssuerWrong: it is not known what this issuer says.
        """
        metadata, _ = await self._metadata()
        if not metadata.may_have_sent(iss):
            raise LoginRejected("another issuer sent the browser back")

    async def who(self, code: str, proofs: Proofs, redirect_uri: str) -> Identity:
        """Who has logged in.

        Args:
            code: that the browser brought.
            proofs: of this log-in.
            redirect_uri: where the browser came back to.

        Returns:
            The person, with the scopes that people have here.

        Raises:
            LoginRejected: the issuer does not accept the code, or the person has no tenant.
            IssuerAway, IssuerWrong: the issuer is away, or lies.
        """
        metadata, tokens = await self._metadata()
        answer = await self._exchange(metadata, code, proofs, redirect_uri)
        token = answer.get("id_token")
        checked = await tokens.check(token) if isinstance(token, str) else None
        if checked is None and isinstance(token, str) and not tokens.has_keys:
            raise IssuerAway("the keys with which the issuer signs can not be read")
        if checked is None:
            raise IssuerWrong("the ID token is missing, or is not valid for this client, user and tenant")
        identity, claims = checked
        nonce, audience = claims.get("nonce"), claims.get("aud")
        if not isinstance(nonce, str) or not hmac.compare_digest(nonce.encode(), proofs.nonce.encode()):
            raise IssuerWrong("the ID token is of another log-in: its nonce is another one")
        party = claims.get(
            "azp", None if isinstance(audience, list) and len(audience) > 1 else self._settings.client_id
        )
        if party != self._settings.client_id:
            raise IssuerWrong("the ID token was made for another client: azp")
        if self._settings.principal_claim == "email" and claims.get("email_verified") is not True:
            raise LoginRejected("the issuer has not checked that the address belongs to the person: email_verified")
        return msgspec.structs.replace(identity, scopes=self._settings.scopes, key_id="")

    async def _exchange(self, metadata: IssuerMetadata, code: str, proofs: Proofs, redirect_uri: str) -> JsonObject:
        """What the issuer gives for a code."""
        own = self._settings
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "client_id": own.client_id,
            "code_verifier": proofs.verifier,
        }
        headers = {"content-type": "application/x-www-form-urlencoded", "accept": "application/json"}
        if own.client_secret and "client_secret_basic" in metadata.secret_methods:
            pair = f"{quote(own.client_id, safe='')}:{quote(own.client_secret, safe='')}"
            headers["authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
        elif own.client_secret:
            form["client_secret"] = own.client_secret
        try:
            fetched = await self._fetcher.post(metadata.token_endpoint, headers, urlencode(form).encode())
        except HttpFailure as failure:
            raise _failed(failure) from None
        answer = _object(fetched)
        if fetched.status == 400 and answer is not None and answer.get("error") == "invalid_grant":
            raise LoginRejected("the issuer does not accept the code")
        if fetched.status >= 500 or fetched.status == 429:
            raise IssuerAway("the token endpoint answered with status {number}", number=fetched.status)
        if fetched.status != 200 or answer is None:
            raise IssuerWrong(
                "the token endpoint answered with status {number}: {other_number}",
                number=fetched.status,
                other_number=_code(answer),
            )
        return answer

    async def _metadata(self) -> tuple[IssuerMetadata, SignedTokens]:
        """What the issuer publishes of itself, asked now and then."""
        async with self._alone:  # who comes while we ask waits for the answer
            now = self._clock.monotonic()
            if self._known is not None and now - self._known_at < METADATA_S:
                return self._known
            if now - self._failed_at >= FAILED_S:
                try:
                    metadata = await self._asked()
                except (IssuerAway, IssuerWrong) as failure:
                    self._failed_at, self._failure = self._clock.monotonic(), failure
                else:
                    if self._known is None or metadata != self._known[0]:
                        self._known = metadata, self._tokens(metadata)
                    self._known_at = now
            if self._known is None:
                raise type(self._failure)(str(self._failure))
            return self._known  # what was true before, while the issuer is away

    async def _asked(self) -> IssuerMetadata:
        url = openid_place(self._settings.issuer)
        try:
            fetched = await self._fetcher.get(url, {"accept": "application/json"})
        except HttpFailure as failure:
            raise _failed(failure) from None
        if fetched.status >= 500 or fetched.status == 429:
            raise IssuerAway("the metadata is answered with status {number}", number=fetched.status)
        try:
            metadata = read_issuer(fetched.body, "issuer", "authorization_endpoint", "token_endpoint", "jwks_uri")
        except BadMetadata as error:
            raise IssuerWrong("the metadata is not that of an OpenID provider: {why}", why=error) from None
        if fetched.status != 200 or metadata.issuer != self._settings.issuer:
            raise IssuerWrong("the metadata is that of another issuer")
        parts = urlsplit(metadata.authorization_endpoint)
        if parts.fragment or (parts.scheme == "http" and not is_here(self._settings.issuer)):
            raise IssuerWrong("the address to log in at does not begin with https://, or is not well formed")
        return metadata

    def _tokens(self, metadata: IssuerMetadata) -> SignedTokens:
        own = self._settings
        issuer = Issuer(
            url=own.issuer,
            audience=own.client_id,
            jwks_uri=metadata.jwks_uri,
            principal_claim=own.principal_claim,
            roles_claim=own.roles_claim,
            tenant_claim=own.tenant_claim,
        )
        return SignedTokens(issuer, fetcher=self._fetcher, clock=self._clock)


def _object(fetched: Fetched) -> JsonObject | None:
    try:
        return msgspec.json.decode(fetched.body, type=dict[str, Json])
    except (ValueError, RecursionError):
        return None


def _code(answer: JsonObject | None) -> str:
    """The error code of an answer, for the log: a word, and never the issuer's own prose."""
    code = answer.get("error") if answer is not None else None
    return code if isinstance(code, str) and code.isascii() and code.isidentifier() and len(code) <= 40 else "no code"


def _failed(failure: HttpFailure) -> IssuerAway | IssuerWrong:
    return IssuerWrong(str(failure)) if failure.lasting else IssuerAway(str(failure))
