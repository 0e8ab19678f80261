"""Access tokens at an OAuth 2.0 token endpoint (RFC 6749), and the log-in of a user by authorization code with PKCE.

A token endpoint's prose is not repeated: it may hold secrets.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import quote, urlencode, urlsplit

import msgspec
from msgspec import Struct

from ...core.errors import ToolError, Unavailable
from ...core.user import User
from ...protocols.openapi.setup import ApiSetup, OAuthCredential
from ...storage.tokens import Granted
from ...transport.fetcher import Fetcher
from ...transport.guard import is_here
from ...transport.http import HttpFailure
from ..login import LoginFailed, Person, ask_person

USUAL_S = 300.0
"""How long a token is used whose endpoint does not say when it ends."""
_CODE = re.compile(r"[a-z_]{1,60}")
_HEADERS = {"content-type": "application/x-www-form-urlencoded", "accept": "application/json"}


class ApiToken(Struct, frozen=True):
    """The answer of a token endpoint (RFC 6749 section 5.1)."""

    access_token: str
    token_type: str = "bearer"
    expires_in: float | str | None = None
    refresh_token: str = ""
    scope: str = ""

    @property
    def seconds(self) -> float:
        """How long the token is used."""
        try:
            seconds = float(self.expires_in) if self.expires_in is not None else USUAL_S
        except ValueError:
            return USUAL_S
        return seconds if 0 <= seconds <= 86_400 * 365 else USUAL_S

    def __repr__(self) -> str:
        return "ApiToken(...)"


class NoToken(ToolError):
    """A token endpoint gives no token.

    Args:
        message: what happened.
        error: the error code of the endpoint (RFC 6749 section 5.2); empty where it has none.
    """

    def __init__(self, message: str, error: str) -> None:
        super().__init__(message)
        self.error = error


class _Refusal(Struct, frozen=True):
    error: str = ""


def basic_code(client_id: str, password: str) -> str:
    """Client and password as a token endpoint takes them in a header (RFC 6749 section 2.3.1)."""
    pair = f"{quote(client_id, safe='')}:{quote(password, safe='')}"
    return base64.b64encode(pair.encode()).decode()


async def ask_token(
    fetcher: Fetcher, name: str, credential: OAuthCredential, password: str, grant: Mapping[str, str]
) -> ApiToken:
    """Ask for a token.

    Args:
        fetcher: reaches the token endpoint.
        name: what the API is called here.
        credential: the endpoint and the client.
        password: of the client; empty for a public one.
        grant: the fields of the form.

    Raises:
        NoToken: the endpoint refuses, or answers with something else.
        Unavailable: the endpoint can not be reached now.
    """
    headers, form = _as_client(credential.client_id, password, grant)
    try:
        answer = await fetcher.post(credential.token_url, headers, urlencode(form).encode())
    except HttpFailure as failure:
        raise Unavailable("The token endpoint of {name} gave no answer: {why}", name=name, why=failure) from None
    if answer.status >= 500 or answer.status == 429:
        raise Unavailable("The token endpoint of {name} failed (HTTP {number}).", name=name, number=answer.status)
    granted = _decoded(answer.body) if answer.status in (200, 201) else None
    if granted is None:
        raise NoToken(
            f"The token endpoint of {name} gives no token (HTTP {answer.status}). A person has to set up its "
            "credential again.",
            _error(answer.body),
        )
    return granted


async def give_back(fetcher: Fetcher, granted: Granted, password: str) -> bool:
    """Tell the issuer of a token that the token is not to be used any more (RFC 7009).

    Args:
        fetcher: reaches the revocation endpoint.
        granted: the token.
        password: of the client; empty for a public one.

    Returns:
        Whether the issuer took back all that it had granted.
    """
    if not granted.revocation_endpoint:
        return False
    taken = True
    for hint, token in (("refresh_token", granted.refresh_token), ("access_token", granted.access_token)):
        if token:
            headers, form = _as_client(granted.client_id, password, {"token": token, "token_type_hint": hint})
            try:
                answer = await fetcher.post(granted.revocation_endpoint, headers, urlencode(form).encode())
            except HttpFailure:
                return False
            taken = taken and answer.status == 200
    return taken


def _as_client(client_id: str, password: str, fields: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """The headers and the fields of a form by which a client shows who it is."""
    if password:
        return {**_HEADERS, "authorization": f"Basic {basic_code(client_id, password)}"}, dict(fields)
    return dict(_HEADERS), {**fields, "client_id": client_id}


class ApiLogin(NamedTuple):
    """The log-in of a user for one security scheme of an API.

    Attributes:
        setup: the API.
        scheme, credential: for which a user logs in.
        password: of this program at the token endpoint; empty for a public client.
        user: who logs in.
    """

    setup: ApiSetup
    scheme: str
    credential: OAuthCredential
    password: str
    user: User

    async def by(self, person: Person, fetcher: Fetcher, now: float) -> Granted:
        """Let the person log in, in a browser.

        Args:
            person: who logs in.
            fetcher: reaches the token endpoint.
            now: seconds since 1970.

        Raises:
            LoginFailed: the person or the endpoint said no, or the answer is not for us.
            Unavailable: the endpoint can not be reached now.
        """
        credential = self.credential
        query = {"client_id": credential.client_id}
        if credential.scopes:
            query["scope"] = " ".join(credential.scopes)
        if "offline_access" in credential.scopes:
            query["prompt"] = "consent"  # OpenID Connect Core section 11
        answer = await ask_person(person, credential.login_url, query, local=is_here(credential.login_url))
        code = answer.fields.get("code", "")
        if not code:
            raise LoginFailed(
                "{site} did not let the person in: {short}",
                site=self.site,
                short=_short(answer.fields.get("error", "")),
            )
        grant = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": person.redirect_uri,
            "code_verifier": answer.verifier,
        }
        try:
            token = await ask_token(fetcher, self.setup.name, credential, self.password, grant)
        except NoToken as refused:
            raise LoginFailed("the token endpoint gives no token: {short}", short=_short(refused.error)) from None
        return self.granted(token, now)

    def granted(self, token: ApiToken, now: float, before: Granted | None = None) -> Granted:
        """A token as it is kept; a refresh token that was granted before stays where there is no new one."""
        credential = self.credential
        return Granted(
            server=self.setup.login_place(self.scheme, credential),
            resource=self.setup.name,
            user=self.user.principal,
            tenant=self.user.tenant,
            issuer=self.site,
            token_endpoint=credential.token_url,
            revocation_endpoint=credential.revoke_url,
            client_id=credential.client_id,
            access_token=token.access_token,
            refresh_token=token.refresh_token or (before.refresh_token if before else ""),
            scope=token.scope or (before.scope if before else " ".join(credential.scopes)),
            expires_at=now + token.seconds,
        )

    @property
    def site(self) -> str:
        """Where the user logs in, without what may be secret in the address."""
        parts = urlsplit(self.credential.login_url)
        return f"{parts.scheme}://{parts.netloc}"


def _short(error: str) -> str:
    return error if _CODE.fullmatch(error) else "no code"


def _decoded(body: bytes) -> ApiToken | None:
    """A token that can be used; None for any other answer."""
    try:
        found = msgspec.json.decode(body, type=ApiToken)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return None
    return found if found.token_type.lower() == "bearer" and found.access_token else None


def _error(body: bytes) -> str:
    try:
        found = msgspec.json.decode(body, type=_Refusal).error
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return ""
    return found if _CODE.fullmatch(found) else ""
