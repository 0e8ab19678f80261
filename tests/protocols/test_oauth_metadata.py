"""Metadata of issuers and of servers that take tokens: what is read, and what is none."""

from __future__ import annotations

import json

import pytest

from actum.core.json import Json
from actum.protocols.oauth_metadata import BadMetadata, IssuerMetadata, issuer_places, read_issuer, read_resource

ISSUER: dict[str, Json] = {
    "issuer": "https://a.example/t",
    "authorization_endpoint": "https://a.example/authorize?t=1",
    "token_endpoint": "https://a.example/token",
    "registration_endpoint": None,
    "scopes_supported": ["read"],
    "of_another_standard": {"a": [1]},
}
RESOURCE: dict[str, Json] = {"resource": "https://r.example/mcp", "authorization_servers": ["https://a.example"]}


def bytes_of(usual: dict[str, Json], **other: Json) -> bytes:
    return json.dumps(usual | other).encode()


def test_an_issuer_is_read_whole_and_null_is_not_said() -> None:
    read = read_issuer(bytes_of(ISSUER), "issuer", "token_endpoint")
    assert (read.issuer, read.registration_endpoint, read.scopes_supported) == ("https://a.example/t", "", ("read",))
    assert (read.token_endpoint_auth_methods_supported, read.secret_methods) == (None, ("client_secret_basic",))


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"[]",
        b"\xff",
        b'{"a":' + b"[" * 200_000,
        bytes_of(ISSUER, token_endpoint=1),
        bytes_of(ISSUER, token_endpoint=None),
        bytes_of(ISSUER, scopes_supported="read"),
        bytes_of(ISSUER, authorization_response_iss_parameter_supported="yes"),
        *(
            bytes_of(ISSUER, authorization_endpoint=address)
            for address in ("javascript:alert(1)", "https://", "https://[", "https://a.example/\x1b[2J", "https://u@b/")
        ),
    ],
)
def test_what_is_no_metadata_of_an_issuer_is_refused_whole(document: bytes) -> None:
    with pytest.raises(BadMetadata) as told:
        read_issuer(document, "token_endpoint")
    assert "alert" not in str(told.value)


@pytest.mark.parametrize(
    "other",
    [
        {"resource": None},
        {"resource": "mcp"},
        {"authorization_servers": []},
        {"authorization_servers": [""]},
        {"authorization_servers": ["file:///etc/passwd"]},
        {"scopes_supported": "read"},
    ],
)
def test_a_resource_names_itself_and_at_least_one_issuer(other: dict[str, Json]) -> None:
    assert read_resource(bytes_of(RESOURCE)).scopes_supported is None
    with pytest.raises(BadMetadata):
        read_resource(bytes_of(RESOURCE, **other))


def test_an_issuer_with_a_path_is_looked_for_in_front_of_its_path_and_behind_it() -> None:
    assert issuer_places("https://a.example/t/") == (
        "https://a.example/.well-known/oauth-authorization-server/t",
        "https://a.example/.well-known/openid-configuration/t",
        "https://a.example/t/.well-known/openid-configuration",
    )


def test_a_browser_comes_from_the_issuer_that_it_names_or_from_one_that_never_promised_to_be_named() -> None:
    silent, named = IssuerMetadata(issuer="https://a.example"), "https://a.example"
    promising = IssuerMetadata(issuer=named, authorization_response_iss_parameter_supported=True)
    assert silent.may_have_sent(None)
    assert silent.may_have_sent(named)
    assert promising.may_have_sent(named)
    assert not promising.may_have_sent(None)
    assert not silent.may_have_sent(f"{named}/")
