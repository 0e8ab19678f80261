"""Tokens of an outside issuer with real keys: whose they are, and which are refused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import jwt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from actum.core.errors import UsageError
from actum.core.identity import Identity
from actum.core.json import Json, JsonObject, dumps
from actum.core.stored.key import new_key
from actum.server.issuer import KEYS_ANEW_S, KEYS_MAX, AskedTokens, Issuer, SignedTokens
from actum.server.verifier import Authenticator, Keys
from actum.testing import FakeClock
from actum.transport.fetcher import Fetcher
from actum.transport.guard import Guard
from tests.effort import turns_counted
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
    identity = await verifier.verify_token(token)
    assert identity == Identity(principal="ada", roles=("ops",), key_id="c", scopes=("read", "write"), issuer=real.url)
    assert token not in repr(identity)


async def test_a_claim_names_the_tenant_and_a_token_without_it_is_nobodys(real: RealIssuer, clock: FakeClock) -> None:
    verifier = signed(real, clock, tenant_claim="org.name")
    tenants = []
    said: list[Json] = [{"name": "north"}, {"name": ""}, {"name": ["north"]}, {"name": None}, {}, "north", None]
    for org in said:
        identity = await verifier.verify_token(real.sign({"aud": US, "org": org}))
        tenants.append(identity.tenant if identity is not None else None)
    assert tenants == ["north", None, None, None, None, None, None]
    assert await verifier.verify_token(real.sign({"aud": US, "tenant": "north"})) is None
    unnamed = await signed(real, clock).verify_token(real.sign({"aud": US, "tenant": "north"}))
    assert unnamed is not None
    assert unnamed.tenant == ""


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


async def test_an_issuer_that_says_very_much_of_a_token_holds_up_nobody_and_is_believed_to_64_kb(
    clock: FakeClock,
) -> None:
    answers: dict[str, dict[str, object]] = {
        "audiences": {"aud": ["x"] * 15_000 + [US]},
        "roles": {"aud": US, "roles": ["a"] * 15_000},
        "words": {"aud": US, "scope": "a " * 30_000},
        "too many roles": {"aud": US, "roles": ["a"] * 250_000},
        "too deep": {"aud": US, "x": "DEEP"},
    }

    async def introspect(request: Request) -> Response:
        name = str((await request.form())["token"])
        body = dumps({"active": True, "sub": "ada", **answers[name]})
        return Response(body.replace('"DEEP"', "[" * 20_000 + "]" * 20_000), media_type="application/json")

    app = Starlette(routes=[Route("/introspect", introspect, methods=["POST"])])
    found: dict[str, bool] = {}
    async with serving(app) as url:
        asked = AskedTokens(Issuer(url=url, audience=US, introspection_endpoint=f"{url}/introspect"), clock=clock)
        for name in answers:
            async with turns_counted() as turns:
                found[name] = await asked.verify_token(name) is not None
            assert turns.held < 30_000, name
    assert found == {"audiences": True, "roles": True, "words": True, "too many roles": False, "too deep": False}


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


async def test_of_an_issuer_that_floods_us_with_keys_the_first_hundred_are_read(
    real: RealIssuer, clock: FakeClock
) -> None:
    real.more_keys = 3_000
    verifier = signed(real, clock)
    assert await verifier.verify_token(real.sign({"aud": US})) is not None
    assert await verifier.verify_token(real.sign({"aud": US}, kid=f"more-{KEYS_MAX - 3}")) is not None
    assert await verifier.verify_token(real.sign({"aud": US}, kid=f"more-{KEYS_MAX}")) is None


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
    identity = await verifier.verify_token(real.sign({"aud": US, "exp": None}))
    assert identity is not None
    assert (identity.principal, identity.issuer) == ("Ada", real.url)
    assert real.last("introspect")["authorization"] == "Basic dXM6b3VyJTNBc2VjcmV0"
    for token in (real.sign({"aud": "other"}), real.sign({"aud": US, "exp": 1}), real.sign({"aud": US, "iss": "x"})):
        assert await verifier.verify_token(token) is None
    assert await verifier.verify_token("unknown") is None


def test_what_could_be_forged_is_refused_when_it_is_set_up() -> None:
    with pytest.raises(UsageError):
        SignedTokens(Issuer(url="https://i.example.org", audience=US, algorithms=("HS256",)))
    with pytest.raises(UsageError):
        AskedTokens(Issuer(url="https://i.example.org", audience=US))
