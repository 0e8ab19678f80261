"""What issuers of tokens, and servers that take tokens, publish of themselves: where it is, and what it says. No I/O.

A document is read whole or not at all: a field of a wrong type, or an address that is none, makes it `BadMetadata`.
Fields that are null count as missing. Whom to believe, and what a document must have, is the caller's affair.

Sources: RFC 8414 and OpenID Connect Discovery 1.0 (issuer), RFC 9728 (protected resource), RFC 9207 (`iss`).
"""

from __future__ import annotations

from typing import TypeVar
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from ..core.json import Json


class BadMetadata(ValueError):
    """A document is no metadata of this kind. The text repeats nothing of the document."""


class IssuerMetadata(Struct, frozen=True, kw_only=True):
    """What an issuer says of itself. Addresses and names are empty where the issuer does not say them."""

    issuer: str = ""
    authorization_endpoint: str = ""
    token_endpoint: str = ""
    jwks_uri: str = ""
    registration_endpoint: str = ""
    revocation_endpoint: str = ""
    scopes_supported: tuple[str, ...] = ()
    token_endpoint_auth_methods_supported: tuple[str, ...] | None = None
    code_challenge_methods_supported: tuple[str, ...] = ()
    client_id_metadata_document_supported: bool = False
    authorization_response_iss_parameter_supported: bool = False

    @property
    def secret_methods(self) -> tuple[str, ...]:
        """How a client may show its secret at the token endpoint; as the standards have it where nothing is said."""
        return self.token_endpoint_auth_methods_supported or ("client_secret_basic",)

    def may_have_sent(self, iss: str | None) -> bool:
        """Whether a browser may come back from this issuer with this `iss`; None where it brings none (RFC 9207)."""
        return iss == self.issuer if iss is not None else not self.authorization_response_iss_parameter_supported


class ResourceMetadata(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a server that takes tokens says of itself. `scopes_supported` is None where it does not say."""

    resource: str
    authorization_servers: tuple[str, ...]
    scopes_supported: tuple[str, ...] | None = None
    bearer_methods_supported: tuple[str, ...] = ()


_Metadata = TypeVar("_Metadata", IssuerMetadata, ResourceMetadata)


def issuer_places(issuer: str) -> tuple[str, ...]:
    """Where the metadata of an issuer may be, in the order in which to ask.

    >>> issuer_places("https://a.example")
    ('https://a.example/.well-known/oauth-authorization-server', 'https://a.example/.well-known/openid-configuration')
    """
    parts = urlsplit(issuer)
    origin, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    kinds = ("oauth-authorization-server", "openid-configuration")
    before = [f"{origin}/.well-known/{kind}{path}" for kind in kinds]
    return tuple(dict.fromkeys([*before, openid_place(origin + path)]))


def openid_place(issuer: str) -> str:
    """Where OpenID Connect Discovery has the metadata of an issuer."""
    return f"{issuer.rstrip('/')}/.well-known/openid-configuration"


def read_issuer(document: bytes, *needed: str) -> IssuerMetadata:
    """Read the metadata of an issuer.

    Args:
        document: as it was fetched.
        needed: fields without which the document is of no use.

    Raises:
        BadMetadata: it is none.
    """
    read = _read(document, IssuerMetadata)
    missing = [name for name in needed if not getattr(read, name)]
    if missing:
        raise BadMetadata(f"it has no {missing[0]}")
    endpoints = read.authorization_endpoint, read.token_endpoint, read.registration_endpoint, read.revocation_endpoint
    _check_addresses(read.issuer, read.jwks_uri, *endpoints)
    return read


def read_resource(document: bytes) -> ResourceMetadata:
    """Read the metadata of a server that takes tokens.

    Raises:
        BadMetadata: it is none.
    """
    read = _read(document, ResourceMetadata)
    if not read.resource or not all(read.authorization_servers) or not read.authorization_servers:
        raise BadMetadata("it names no resource or no issuer")
    _check_addresses(read.resource, *read.authorization_servers)
    return read


def _read(document: bytes, kind: type[_Metadata]) -> _Metadata:
    try:
        said = msgspec.json.decode(document, type=dict[str, Json])
        return msgspec.convert({name: value for name, value in said.items() if value is not None}, kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadMetadata(str(error)) from None


def _check_addresses(*addresses: str) -> None:
    """See that each one that is said is an address of the web in plain letters: some are shown to people."""
    for address in filter(None, addresses):
        try:
            parts = urlsplit(address)
        except ValueError:
            raise BadMetadata("an address in it is not well formed") from None
        plain = all("!" <= letter <= "~" for letter in address)
        if parts.scheme not in ("https", "http") or not parts.hostname or "@" in parts.netloc or not plain:
            raise BadMetadata("an address in it is not well formed")
