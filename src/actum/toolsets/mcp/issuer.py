"""Who grants the tokens of an MCP server, found out by its metadata; and how this program is registered there.

Every document is fetched through the guard on addresses and believed only for what it may say: a resource's metadata
for that resource, an issuer's for that issuer. There is no fallback to guessed endpoints such as `/token`: without
metadata nobody is asked. Known by nothing here: requests to the server itself, and how a person logs in.

Sources: RFC 9728 (protected resource), RFC 8414 and OpenID Connect Discovery (issuer), RFC 7591 (registration), MCP
2026-07-28, Authorization.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from mcp.client.auth.utils import (
    build_protected_resource_metadata_discovery_urls,
    is_valid_client_metadata_url,
    issuers_match,
)
from mcp.shared.auth import OAuthClientInformationFull
from mcp.shared.auth_utils import check_resource_allowed, resource_url_from_server_url
from msgspec import UNSET, Struct, UnsetType, json
from pydantic import ValidationError

from ...core.errors import Unavailable
from ...core.user import User
from ...protocols.mcp.config import McpAuth
from ...protocols.oauth_metadata import BadMetadata, IssuerMetadata, issuer_places, read_issuer, read_resource
from ...storage.tokens import Registration
from ...transport.fetcher import Fetched, Fetcher
from ...transport.guard import AddressRefused, origin
from ...transport.http import HttpFailure
from ..login import LoginFailed, LoginNeeded

_CODE = re.compile("[a-z_]{1,40}")
SECRET_METHODS = ("client_secret_basic", "client_secret_post")
_NEEDED = ("issuer", "authorization_endpoint", "token_endpoint")


class TokenSource(NamedTuple):
    """Where tokens for a server come from.

    Attributes:
        resource: what to ask tokens for (RFC 8707).
        issuer: who grants them, in its own spelling.
        metadata: what the issuer says of itself.
        scopes: what the server says that it needs; None when it does not say.
    """

    resource: str
    issuer: str
    metadata: IssuerMetadata
    scopes: tuple[str, ...] | None


async def discover(server_url: str, hint: str | None, auth: McpAuth, fetcher: Fetcher) -> TokenSource:
    """Find out who grants tokens for a server.

    Args:
        server_url: the server's address, as the person set it up.
        hint: where the server says that its metadata lies.
        auth: the issuer that is wanted, if the person said so.
        fetcher: by which to fetch.

    Raises:
        LoginFailed: the metadata is not there, contradicts itself, or names an issuer that is not wanted.
        Unavailable: it can not be fetched now.
    """
    resource, scopes, issuers = resource_url_from_server_url(server_url), None, tuple[str, ...]()
    for url in build_protected_resource_metadata_discovery_urls(hint, server_url):
        answer = await ask(fetcher, url)
        try:
            found = read_resource(answer.body if answer.status == 200 else b"")
        except BadMetadata:
            continue
        if not check_resource_allowed(requested_resource=resource, configured_resource=found.resource):
            raise LoginFailed("the server's metadata is for another server: {resource}", resource=found.resource)
        resource, issuers, scopes = found.resource, found.authorization_servers, found.scopes_supported
        break
    # Servers of 2025-03-26 have no metadata of their own: their issuer is at their own origin.
    issuer = _chosen(issuers or (_origin(server_url),), auth)
    for url in issuer_places(issuer)[: None if issuers else 1]:
        answer = await ask(fetcher, url)
        try:
            metadata = read_issuer(answer.body if answer.status == 200 else b"", *_NEEDED)
        except BadMetadata:
            continue
        said = metadata.issuer
        if said != issuer and (issuers or not issuers_match(said, issuer)):
            raise LoginFailed(
                "the metadata of {issuer} says that it is of another issuer, {said}", issuer=issuer, said=said
            )
        return TokenSource(resource, said, metadata, scopes)
    raise LoginFailed("{issuer} says nowhere how to log in", issuer=issuer)


def check_proof(place: TokenSource) -> None:
    """See that a code is of no use to a thief (PKCE with S256).

    Raises:
        LoginFailed: the issuer does not say that it can do this.
    """
    if "S256" not in place.metadata.code_challenge_methods_supported:
        raise LoginFailed("{issuer} does not offer S256, without which a code can be stolen", issuer=place.issuer)


async def register(place: TokenSource, redirect_uri: str, scope: str, user: User, fetcher: Fetcher) -> Registration:
    """Become known to an issuer (RFC 7591).

    Args:
        place: whose issuer it is.
        redirect_uri: where the browser comes back to.
        scope: what may ever be asked for.
        user: for whom.
        fetcher: by which to ask.

    Raises:
        LoginNeeded: the issuer registers nobody by itself; a person has to.
        LoginFailed: it refused, or registered what is of no use.
        Unavailable: it can not be reached now.
    """
    endpoint = place.metadata.registration_endpoint
    if not endpoint:
        raise LoginNeeded(
            "{issuer} does not register programs by itself: register one there by hand and set "
            "`client_id` (and `secret` and `issuer`) in this server's `auth`",
            issuer=place.issuer,
        )
    wanted = _Wanted(
        redirect_uris=(redirect_uri,),
        token_endpoint_auth_method=_method(place.metadata),
        scope=scope or UNSET,
    )
    answer = await ask(fetcher, endpoint, {"content-type": "application/json"}, json.encode(wanted))
    if answer.status not in (200, 201):
        raise LoginFailed(
            "{issuer} did not register this program: status {number} {refusal}",
            issuer=place.issuer,
            number=answer.status,
            refusal=refusal(answer),
        )
    try:
        known = OAuthClientInformationFull.model_validate_json(answer.body)
    except ValidationError:
        raise LoginFailed("{issuer} answered the registration with something else", issuer=place.issuer) from None
    secret = known.client_secret or ""
    method = known.token_endpoint_auth_method or ("client_secret_basic" if secret else "none")
    if method not in ("none", *SECRET_METHODS) or (method in SECRET_METHODS and not secret):
        raise LoginFailed(
            "{issuer} registered this program for a kind of proof that it does not have", issuer=place.issuer
        )
    return Registration(
        issuer=place.issuer,
        user=user.principal,
        tenant=user.tenant,
        client_id=known.client_id,
        client_secret=secret,
        method=method,
        redirect_uri=redirect_uri,
        scope=scope,
        expires_at=float(known.client_secret_expires_at or 0),
    )


def set_up(place: TokenSource, auth: McpAuth, secrets: Mapping[str, str]) -> Registration | None:
    """The client that the person set up for this issuer, by its id or by its metadata's address; None for none.

    Raises:
        LoginFailed: its secret would go to an issuer that the person did not name, or is not there.
    """
    if not auth.client_id:
        if place.metadata.client_id_metadata_document_supported and is_valid_client_metadata_url(
            auth.client_metadata_url
        ):
            return Registration(issuer=place.issuer, client_id=auth.client_metadata_url)
        return None
    secret = secret_of(auth.secret, secrets)
    if secret and not auth.issuer:
        raise LoginFailed(
            "a secret is set but not for whom: set `issuer` in this server's `auth` (the server names {issuer})",
            issuer=place.issuer,
        )
    supported = place.metadata.secret_methods
    fitting = next((method for method in SECRET_METHODS if method in supported), "client_secret_basic")
    return Registration(
        issuer=place.issuer,
        client_id=auth.client_id,
        client_secret=secret,
        method=(auth.method or fitting) if secret else "none",
    )


def secret_of(name: str, secrets: Mapping[str, str]) -> str:
    """The secret of this name; empty for no name.

    Raises:
        LoginFailed: it is not set.
    """
    if name and not secrets.get(name):
        raise LoginFailed("the secret {name} is not set", name=name)
    return secrets[name] if name else ""


class _Wanted(Struct, frozen=True, kw_only=True):
    """What to be registered as."""

    redirect_uris: tuple[str, ...]
    token_endpoint_auth_method: str | UnsetType
    scope: str | UnsetType
    client_name: str = "actum"
    application_type: str = "native"
    grant_types: tuple[str, ...] = ("authorization_code", "refresh_token")
    response_types: tuple[str, ...] = ("code",)


def _chosen(advertised: Sequence[str], auth: McpAuth) -> str:
    """The wanted one of the issuers that a server names, or the first.

    Raises:
        LoginFailed: the wanted one is not among them.
    """
    if not auth.issuer:
        return advertised[0]
    for issuer in advertised:
        if issuers_match(issuer, auth.issuer):
            return issuer
    raise LoginFailed(
        "the server names {advertised} as its issuer, and {issuer} was set up for it",
        advertised=advertised[0],
        issuer=auth.issuer,
    )


def _method(metadata: IssuerMetadata) -> str | UnsetType:
    """How to show who we are: a program on a person's machine keeps no secret, so `none` is preferred."""
    supported = metadata.token_endpoint_auth_methods_supported
    if supported is None:
        return UNSET
    return next((method for method in ("none", *SECRET_METHODS) if method in supported), UNSET)


def _origin(url: str) -> str:
    scheme, host, port = origin(url)
    place = f"[{host}]" if ":" in host else host
    return f"{scheme}://{place}" if port in (80, 443) else f"{scheme}://{place}:{port}"


async def ask(fetcher: Fetcher, url: str, headers: Mapping[str, str] | None = None, body: bytes = b"") -> Fetched:
    """Ask somebody whose address is not our own: a GET, or a POST when there is a body.

    Raises:
        LoginFailed: the address is refused by the guard, or nothing can be had there.
        Unavailable: there is no answer now.
    """
    head = {"accept": "application/json", **(headers or {})}
    try:
        answer = await (fetcher.post(url, head, body) if body else fetcher.get(url, head))
    except AddressRefused as refused:
        raise LoginFailed(
            "{url} may not be reached on the server's word: {why}. If it is your own, set `issuer` "
            "in this server's `auth` to the one that it belongs to",
            url=shown(url),
            why=refused,
        ) from None
    except HttpFailure as failure:
        raise (LoginFailed if failure.lasting else Unavailable)(f"{shown(url)}: {failure}") from None
    if answer.status >= 500 or answer.status == 429:
        raise Unavailable("{url} answered with status {number}", url=shown(url), number=answer.status)
    return answer


def shown(url: str) -> str:
    """An address without what may be secret in it."""
    return url.partition("?")[0].partition("#")[0]


def refusal(answer: Fetched) -> str:
    """The error code of an issuer's answer (RFC 6749 §5.2); empty when it has none. Its prose is not repeated."""
    try:
        return error_code(json.decode(answer.body, type=_Error).error)
    except (ValueError, RecursionError):
        return ""


def error_code(text: str) -> str:
    """A text that looks like one of OAuth's error codes, or nothing.

    >>> error_code("invalid_grant"), error_code("Dear model, ...")
    ('invalid_grant', '')
    """
    return text if _CODE.fullmatch(text) else ""


class _Error(Struct, frozen=True):
    error: str = ""
