"""The ways to a token: a person logs in, or credentials, or a voucher of somebody else are exchanged for one.

Each way is a function from a `TokenRequest` to a token, in the table `GRANTS`. Every token is asked for one server
(RFC 8707), and nothing that an issuer says in prose is repeated: it may hold secrets.

Sources: RFC 6749, RFC 7636 (PKCE), RFC 9207 (`iss`), RFC 7523 (assertions), RFC 8693 (exchange), MCP 2026-07-28,
Authorization, with the extensions for client credentials and enterprise-managed authorization.
"""

from __future__ import annotations

import secrets as random
from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple
from urllib.parse import quote, urlencode

import jwt
from mcp.shared.auth import JWT_BEARER_GRANT_TYPE, OAuthToken
from msgspec import Struct, json
from pydantic import ValidationError

from ...protocols.mcp.config import McpAuth
from ...storage.tokens import Registration
from ...transport.fetcher import Fetched, Fetcher
from ..login import LoginFailed, LoginNeeded, Person, ask_person
from .issuer import (
    TokenSource,
    ask,
    error_code,
    refusal,
    secret_of,
    shown,
)

ASSERTION_S = 300
_FORM = {"content-type": "application/x-www-form-urlencoded"}
_ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
_ID_JAG = "urn:ietf:params:oauth:token-type:id-jag"
_ID_TOKEN = "urn:ietf:params:oauth:token-type:id_token"  # a kind, not a token


class TokenRefused(LoginFailed):
    """The issuer gives no token.

    Args:
        message: what happened.
        error: its code (RFC 6749 §5.2).
    """

    def __init__(self, message: str, error: str) -> None:
        super().__init__(message)
        self.error = error


class TokenEndpoint(NamedTuple):
    """Where an issuer gives tokens, and who asks there.

    Attributes:
        url: its address.
        issuer: whose it is.
        client: how this program is known there.
        auth, secrets: what the person set up.
        fetcher: by which to ask.
        now: seconds since 1970.
    """

    url: str
    issuer: str
    client: Registration
    auth: McpAuth
    secrets: Mapping[str, str]
    fetcher: Fetcher
    now: float

    async def token(self, form: Mapping[str, str]) -> OAuthToken:
        """Ask for a token, showing who we are as it was agreed at the registration.

        Args:
            form: the grant.

        Raises:
            TokenRefused: the issuer says no.
            LoginFailed: it answered with something else, or its address is refused.
            Unavailable: it can not be reached now.
        """
        answer = await self.post(form)
        if answer.status not in (200, 201):
            error = refusal(answer)
            raise TokenRefused(f"{shown(self.url)} gives no token: {error or f'status {answer.status}'}", error)
        try:
            return OAuthToken.model_validate_json(answer.body)
        except ValidationError:
            raise LoginFailed("{url} answered with something that is no bearer token", url=shown(self.url)) from None

    async def post(self, form: Mapping[str, str]) -> Fetched:
        """Send a form, showing who we are.

        Raises:
            LoginFailed, Unavailable: as by `ask`.
        """
        headers, proof = self._proof()
        return await ask(self.fetcher, self.url, headers, urlencode({**form, **proof}).encode())

    def _proof(self) -> tuple[dict[str, str], dict[str, str]]:
        """Headers and fields that show who we are (RFC 6749 §2.3)."""
        client = self.client
        match client.method:
            case "client_secret_basic":
                pair = f"{quote(client.client_id, safe='')}:{quote(client.client_secret, safe='')}"
                return {**_FORM, "authorization": f"Basic {b64encode(pair.encode()).decode()}"}, {}
            case "client_secret_post":
                return _FORM, {"client_id": client.client_id, "client_secret": client.client_secret}
            case "private_key_jwt":
                return _FORM, {"client_assertion_type": _ASSERTION_TYPE, "client_assertion": self._signed()}
            case _:
                return _FORM, {"client_id": client.client_id}

    def _signed(self) -> str:
        """Our own word on who we are, for this issuer alone (RFC 7523 §3)."""
        who, now = self.client.client_id, int(self.now)
        claims = {"iss": who, "sub": who, "aud": self.issuer, "iat": now, "exp": now + ASSERTION_S}
        claims["jti"] = random.token_urlsafe(16)
        try:
            return jwt.encode(claims, self.client.client_secret, algorithm=self.auth.algorithm)
        except (jwt.PyJWTError, ValueError, TypeError, NotImplementedError):
            raise LoginFailed(
                "the secret {secret} is no private key for {algorithm}",
                secret=self.auth.secret,
                algorithm=self.auth.algorithm,
            ) from None


class TokenRequest(NamedTuple):
    """What a token is asked for.

    Attributes:
        place: for which server, and of whom.
        at: where.
        scope: what it shall allow; empty to leave it to the issuer.
        person: who could log in.
        local: the server runs on this machine.
    """

    place: TokenSource
    at: TokenEndpoint
    scope: str
    person: Person | None
    local: bool


async def by_person(asked: TokenRequest) -> OAuthToken:
    """A person logs in, in a browser (authorization code with PKCE).

    Raises:
        LoginNeeded: there is no person.
        LoginFailed: the person or the issuer said no, or the answer is not for us.
        Unavailable: the issuer can not be reached now.
    """
    person = asked.person
    if person is None:
        raise LoginNeeded("a person has to log in")
    query = {"client_id": asked.at.client.client_id, "resource": asked.place.resource}
    if asked.scope:
        query["scope"] = asked.scope
    if "offline_access" in asked.scope.split():
        query["prompt"] = "consent"  # OpenID Connect Core §11
    page = asked.place.metadata.authorization_endpoint
    answer = await ask_person(person, page, query, local=asked.local)
    form = {
        "grant_type": "authorization_code",
        "code": _code(answer.fields, asked),
        "redirect_uri": person.redirect_uri,
        "code_verifier": answer.verifier,
        "resource": asked.place.resource,
    }
    return await asked.at.token(form)


async def by_credentials(asked: TokenRequest) -> OAuthToken:
    """This program has credentials of its own, and no person is needed.

    Raises:
        LoginFailed, Unavailable: as by `TokenEndpoint.token`.
    """
    form = {"grant_type": "client_credentials", "resource": asked.place.resource}
    return await asked.at.token(form | ({"scope": asked.scope} if asked.scope else {}))


async def by_voucher(asked: TokenRequest) -> OAuthToken:
    """The platform on which this program runs vouches for it (RFC 7523 §2.1).

    Raises:
        LoginFailed, Unavailable: as by `TokenEndpoint.token`.
    """
    return await _by_assertion(asked, secret_of(asked.at.auth.assertion, asked.at.secrets))


async def by_company(asked: TokenRequest) -> OAuthToken:
    """The company's login vouches for its user, to this issuer and for this server (identity assertion grant).

    Raises:
        LoginFailed, Unavailable: as by `TokenEndpoint.token`; also when the company's login refuses.
    """
    endpoint = asked.at.auth.idp_token_endpoint
    form = {
        "grant_type": _EXCHANGE,
        "requested_token_type": _ID_JAG,
        "audience": asked.place.issuer,
        "resource": asked.place.resource,
        "subject_token": secret_of(asked.at.auth.assertion, asked.at.secrets),
        "subject_token_type": _ID_TOKEN,
        "client_id": asked.at.auth.idp_client_id,
    }
    answer = await ask(asked.at.fetcher, endpoint, _FORM, urlencode(form).encode())
    try:
        voucher = json.decode(answer.body, type=_Exchanged) if answer.status == 200 else None
    except (ValueError, RecursionError):
        voucher = None
    if voucher is None or voucher.issued_token_type != _ID_JAG:
        raise TokenRefused(f"{shown(endpoint)} does not vouch for this user", refusal(answer))
    return await _by_assertion(asked, voucher.access_token)


GRANTS: dict[str, Callable[[TokenRequest], Awaitable[OAuthToken]]] = {
    "code": by_person,
    "client": by_credentials,
    "company": by_company,
    "voucher": by_voucher,
}
"""Every way to a token."""


class _Exchanged(Struct, frozen=True):
    access_token: str
    issued_token_type: str


async def _by_assertion(asked: TokenRequest, assertion: str) -> OAuthToken:
    form = {"grant_type": JWT_BEARER_GRANT_TYPE, "assertion": assertion, "resource": asked.place.resource}
    return await asked.at.token(form | ({"scope": asked.scope} if asked.scope else {}))


def _code(said: Mapping[str, str], asked: TokenRequest) -> str:
    """The code in what the browser came back with.

    Raises:
        LoginFailed: another issuer answered, or the person was not let in.
    """
    if not asked.place.metadata.may_have_sent(said.get("iss")):
        raise LoginFailed("the answer does not come from {issuer}: its `iss` says another", issuer=asked.place.issuer)
    if "code" not in said:
        error = error_code(said.get("error", ""))
        raise TokenRefused(f"{asked.place.issuer} did not let the person in: {error or 'no code'}", error)
    return said["code"]
