"""Bearer tokens at our door: an outside issuer with real keys, our own keys, and the SDK's server in front."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator

import httpx2
import jwt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.server.lowlevel import Server

from actum.core.errors import UsageError
from actum.core.json import JsonObject
from actum.server.mcp.auth import (
    KEYS_ANEW_S,
    AskedTokens,
    Authenticator,
    ChallengedScopes,
    Identity,
    Issuer,
    Key,
    Keys,
    SignedTokens,
    identity_of,
    new_key,
    settings,
)
from actum.testing import FakeClock
from actum.transport.guard import Fetcher, Guard
from tests.issuer import OTHER_KEY
from tests.issuer import Issuer as RealIssuer
from tests.web import serving

_TOKEN = r"ey[A-Za-z0-9_-]*\.ey[A-Za-z0-9_-]*\.[A-Za-z0-9_-]*"
US = "https://tools.example.org/mcp"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def real(clock: FakeClock) -> AsyncIterator[RealIssuer]:
    issuer = RealIssuer(clock)
    async with serving(issuer.app()) as issuer.url:
        yield issuer


def signed(real: RealIssuer, clock: FakeClock, **more: str) -> SignedTokens:
    return SignedTokens(Issuer(url=real.url, audience=US, **more), clock=clock)  # type: ignore[arg-type]


async def test_a_token_of_the_issuer_for_us_becomes_a_user_with_roles(real: RealIssuer, clock: FakeClock) -> None:
    verifier = signed(real, clock, roles_claim="realm.roles")
    token = real.sign({"aud": [US, "other"], "scope": "read write", "realm": {"roles": ["ops", 1]}})
    access = await verifier.verify_token(token)
    assert access is not None
    assert identity_of(access) == Identity("ada", ("ops",), "c")
    assert (access.scopes, access.resource, access.token) == (["read", "write"], US, "")
    assert token not in repr(access)


@pytest.mark.parametrize(
    ("claims", "what"),
    [
        ({"aud": "https://other.example.org/mcp"}, "another audience"),
        ({"aud": None}, "no audience"),
        ({"aud": f"{US}/more"}, "something under us"),
        ({"aud": US, "iss": "https://evil.example.org"}, "another issuer"),
        ({"aud": US, "iss": None}, "no issuer"),
        ({"aud": US, "exp": 999_000}, "ended"),
        ({"aud": US, "exp": None}, "no end"),
        ({"aud": US, "exp": "never"}, "an end that is no number"),
        ({"aud": US, "nbf": 1_001_000}, "not yet"),
        ({"aud": US, "sub": None}, "nobody"),
        ({"aud": US, "sub": ["ada"]}, "a crowd"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_token_that_is_not_good_for_us_is_refused(
    real: RealIssuer, clock: FakeClock, claims: JsonObject, what: str
) -> None:
    verifier = signed(real, clock)
    assert await verifier.verify_token(real.sign({"aud": US})) is not None
    try:
        token = real.sign(claims)
    except TypeError:  # the library refuses to write it; a stranger would not ask it
        token = jwt.api_jws.encode(
            b'{"aud":"%s","iss":"%s","exp":"never","sub":"ada"}' % (US.encode(), real.url.encode()),
            OTHER_KEY,
            algorithm="ES256",
        )
    assert await verifier.verify_token(token) is None


async def test_a_token_signed_by_somebody_else_is_refused(real: RealIssuer, clock: FakeClock) -> None:
    verifier = signed(real, clock)
    good = real.sign({"aud": US})
    forged = real.sign({"aud": US}, key=OTHER_KEY)
    head, body, _ = good.split(".")
    unsigned = jwt.encode({"aud": US, "iss": real.url, "sub": "ada", "exp": 9e9}, "", algorithm="none")
    shared = jwt.encode({"aud": US, "iss": real.url, "sub": "ada", "exp": 9e9}, "x" * 32, headers={"kid": "k1"})
    for token in (forged, f"{head}.{body}.", unsigned, shared, f"{good}x", "a.b.c", "", "x" * 100_000):
        assert await verifier.verify_token(token) is None
    assert await verifier.verify_token(good) is not None


@given(st.one_of(st.text(), st.binary().map(lambda raw: f"{raw.hex()}.{raw.hex()}.{raw.hex()}"), st.from_regex(_TOKEN)))
def test_whatever_comes_as_a_token_is_refused_and_breaks_nothing(token: str) -> None:
    nobody = Issuer(url="http://127.0.0.1:9", audience=US)
    door = Authenticator([Keys([new_key("ci")[1]]), SignedTokens(nobody, fetcher=Fetcher(Guard()))])
    assert asyncio.run(door.verify_token(token)) is None


async def test_a_token_ends_by_the_clock(real: RealIssuer, clock: FakeClock) -> None:
    verifier, token = signed(real, clock), real.sign({"aud": US})
    assert await verifier.verify_token(token) is not None
    clock.advance(3631)
    assert await verifier.verify_token(token) is None


async def test_an_unknown_key_id_makes_us_ask_the_issuer_again_but_not_at_will(
    real: RealIssuer, clock: FakeClock
) -> None:
    verifier = signed(real, clock)
    for _ in range(5):
        assert await verifier.verify_token(real.sign({"aud": US}, kid="k2")) is None
    assert real.count("jwks") == 1
    clock.advance(KEYS_ANEW_S + 1)
    assert await verifier.verify_token(real.sign({"aud": US}, kid="k2")) is None
    assert real.count("jwks") == 2
    assert await verifier.verify_token(real.sign({"aud": US})) is not None
    assert real.count("jwks") == 2


async def test_tokens_that_come_at_once_wait_for_the_issuers_keys(real: RealIssuer, clock: FakeClock) -> None:
    verifier, token = signed(real, clock), real.sign({"aud": US})
    assert None not in await asyncio.gather(*(verifier.verify_token(token) for _ in range(5)))
    assert real.count("jwks") == 1


async def test_keys_of_an_issuer_that_calls_itself_otherwise_are_not_believed(
    real: RealIssuer, clock: FakeClock
) -> None:
    real.metadata = {"issuer": "https://other.example.org"}
    assert await signed(real, clock).verify_token(real.sign({"aud": US})) is None
    assert real.count("jwks") == 0
    assert await signed(real, clock, jwks_uri=f"{real.url}/jwks").verify_token(real.sign({"aud": US})) is not None


async def test_an_issuer_that_is_gone_lets_nobody_in(clock: FakeClock) -> None:
    gone = RealIssuer(clock)
    async with serving(gone.app()) as gone.url:
        pass
    assert await signed(gone, clock).verify_token(gone.sign({"aud": US})) is None
    asked = AskedTokens(Issuer(url=gone.url, audience=US, introspection_endpoint=f"{gone.url}/x"), clock=clock)
    assert await asked.verify_token("anything") is None


async def test_an_issuer_is_asked_of_a_token(real: RealIssuer, clock: FakeClock) -> None:
    issuer = Issuer(
        url=real.url,
        audience=US,
        introspection_endpoint=f"{real.url}/introspect",
        client_id="us",
        client_secret="our:secret",
        principal_claim="username",
    )
    assert "secret" not in repr(issuer)
    verifier = AskedTokens(issuer, clock=clock)
    access = await verifier.verify_token(real.sign({"aud": US, "exp": None}))
    assert access is not None
    assert identity_of(access).principal == "Ada"
    assert real.last("introspect")["authorization"] == "Basic dXM6b3VyJTNBc2VjcmV0"
    for token in (real.sign({"aud": "other"}), real.sign({"aud": US, "exp": 1}), real.sign({"aud": US, "iss": "x"})):
        assert await verifier.verify_token(token) is None
    assert await verifier.verify_token("unknown") is None


async def test_a_key_of_ours_is_known_by_its_hash_until_it_ends(clock: FakeClock) -> None:
    text, key = new_key("ci", principal="robot", roles=["deploy"], scopes=["read"])
    assert text not in repr(key)
    keys = Keys([key], clock=clock)
    access = await keys.verify_token(text)
    assert access is not None
    assert (identity_of(access), access.scopes) == (Identity("robot", ("deploy",), "ci"), ["read"])
    other, _ = new_key("ci")
    unknown, _ = new_key("other")
    for wrong in (other, unknown, text[:-1], text + "x", "", "ak_ci_"):
        assert await keys.verify_token(wrong) is None
    ends = Keys([Key(id="ci", sha256=key.sha256, expires_at=clock.now() + 10)], clock=clock)
    assert await ends.verify_token(text) is not None
    clock.advance(10)
    assert await ends.verify_token(text) is None


def test_keys_that_can_not_be_told_apart_are_refused() -> None:
    _, key = new_key("a")
    with pytest.raises(UsageError):
        Keys([key, key])
    for wrong in ("", "a_b", "ä", "x" * 41):
        with pytest.raises(UsageError):
            new_key(wrong)


def test_what_could_be_forged_is_refused_when_it_is_set_up() -> None:
    with pytest.raises(UsageError):
        SignedTokens(Issuer(url="https://i.example.org", audience=US, algorithms=("HS256",)))
    with pytest.raises(UsageError):
        AskedTokens(Issuer(url="https://i.example.org", audience=US))


async def test_the_sdks_server_lets_in_whom_we_know_and_tells_others_where_to_go(
    real: RealIssuer, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    text, key = new_key("ci", scopes=["read"])
    weak, weak_key = new_key("weak")
    door = Authenticator([Keys([key, weak_key], clock=clock), signed(real, clock)])
    auth = settings(US, issuer=real.url, scopes=["read"])
    app = ChallengedScopes(Server("t").streamable_http_app(auth=auth, token_verifier=door), ["read"])
    token = real.sign({"aud": US, "scope": "read"})
    headers = {"accept": "application/json, text/event-stream"}
    body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    async with serving(app) as origin, httpx2.AsyncClient(headers=headers, trust_env=False) as client:

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
    assert (said["resource"], said["authorization_servers"]) == (US, [real.url])
    assert not any(secret in caplog.text for secret in (token, text, weak))


async def test_a_server_with_keys_of_its_own_names_no_issuer(clock: FakeClock) -> None:
    app = Server("t").streamable_http_app(auth=settings(US), token_verifier=Keys([], clock=clock))
    async with serving(app) as origin, httpx2.AsyncClient(trust_env=False) as client:
        answer = await client.post(f"{origin}/mcp", json={})
        assert answer.status_code == 401
        assert "resource_metadata" not in answer.headers["www-authenticate"]
        assert (await client.get(f"{origin}/.well-known/oauth-protected-resource/mcp")).status_code == 404
