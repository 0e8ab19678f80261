"""Bearer tokens at an MCP server: an identity in the SDK's form, and the refusals."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator

import httpx2
import pytest
from mcp.server.auth.provider import principal_components

from actum.core.identity import Identity
from actum.core.stored.key import new_key
from actum.server.access import Access
from actum.server.issuer import Issuer, SignedTokens
from actum.server.mcp.auth import access_token, identity_of
from actum.server.mcp.service import McpService
from actum.server.verifier import Authenticator, Keys
from actum.testing import FakeClock
from tests.issuer import Issuer as RealIssuer
from tests.patience import HANGS_S
from tests.web import serving

US = "https://tools.example.org/mcp"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def real(clock: FakeClock) -> AsyncIterator[RealIssuer]:
    issuer = RealIssuer(clock)
    async with serving(issuer.app()) as issuer.url:
        yield issuer


def test_an_identity_is_the_same_after_its_way_through_the_sdk() -> None:
    full = Identity(
        principal="ada", roles=("ops",), key_id="c", scopes=("read",), tenant="t", issuer="https://i.example.org"
    )
    for identity in (full, Identity(principal="ada", key_id="c"), Identity()):
        assert identity_of(access_token(identity)) == identity


def test_the_sdk_tells_users_of_two_issuers_apart() -> None:
    one, two, own = (
        access_token(Identity(principal="ada", key_id="c", issuer=by)) for by in ("https://a", "https://b", "")
    )
    north, south = (access_token(Identity(principal="ada", key_id="c", tenant=tenant)) for tenant in ("n", "s"))
    assert len({principal_components(each) for each in (one, two, own, north, south)}) == 5
    assert principal_components(own) == ("c", None, "ada")


async def test_the_server_lets_in_whom_we_know_and_tells_others_where_to_go(
    real: RealIssuer, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    text, key = new_key("ci", scopes=["read"])
    weak, weak_key = new_key("weak")
    verifier = Authenticator(
        [Keys([key, weak_key], clock=clock), SignedTokens(Issuer(url=real.url, audience=US), clock=clock)]
    )
    access = Access(verifier=verifier, resource=US, issuer=real.url, scopes=("read",))
    token = real.sign({"aud": US, "scope": "read"})
    headers = {"accept": "application/json, text/event-stream"}
    body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    async with (
        serving(McpService([]).app(access=access)) as origin,
        httpx2.AsyncClient(headers=headers, timeout=HANGS_S) as client,
    ):

        async def status(bearer: str) -> tuple[int, str]:
            answer = await client.post(f"{origin}/mcp", json=body, headers={"authorization": f"Bearer {bearer}"})
            return answer.status_code, answer.headers.get("www-authenticate", "")

        assert (await status(token))[0] not in (401, 403)
        assert (await status(text))[0] not in (401, 403)
        code, challenge = await status("wrong")
        assert code == 401
        assert 'resource_metadata="https://tools.example.org/.well-known/oauth-protected-resource/mcp"' in challenge
        assert 'scope="read"' in challenge
        code, challenge = await status(weak)
        assert (code, 'error="insufficient_scope"' in challenge, 'scope="read"' in challenge) == (403, True, True)
        said = (await client.get(f"{origin}/.well-known/oauth-protected-resource/mcp")).json()
        assert (await client.get(f"{origin}/.well-known/oauth-protected-resource")).status_code == 404
    assert (said["resource"], said["authorization_servers"], said["scopes_supported"]) == (US, [real.url], ["read"])
    assert not any(secret in caplog.text for secret in (token, text, weak))


async def test_a_server_with_keys_of_its_own_names_no_issuer(clock: FakeClock) -> None:
    app = McpService([]).app(access=Access(verifier=Keys([], clock=clock)))
    async with serving(app) as origin, httpx2.AsyncClient(timeout=HANGS_S) as client:
        answer = await client.post(f"{origin}/mcp", json={})
        assert answer.status_code == 401
        assert "resource_metadata" not in answer.headers["www-authenticate"]
        assert (await client.get(f"{origin}/.well-known/oauth-protected-resource/mcp")).status_code == 404
