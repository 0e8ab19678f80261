"""The login at a server: a real authorization server, a real resource server, and a browser that follows links."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
import pytest
from cryptography.hazmat.primitives import serialization
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from actum.core.errors import CallError, Unavailable
from actum.protocols.mcp_config import McpAuth
from actum.server.mcp_auth import Issuer as Trusted
from actum.server.mcp_auth import SignedTokens
from actum.storage.tokens import TokenStore
from actum.testing import FakeClock
from actum.toolsets.mcp_auth import OAuth
from actum.toolsets.mcp_error import LoginFailed, LoginNeeded
from actum.transport.guard import Fetcher, Guard
from tests.issuer import KEY, Issuer, claims_of
from tests.web import listening, place, serving

CALLBACK = "http://127.0.0.1:9/callback"


@dataclass
class Resource:
    """A server that wants tokens.

    Attributes:
        needed: the scopes that it wants now.
        resource, issuers: what its metadata says; empty for the truth, None for no metadata.
        hint: it says where its metadata is.
        seen: the tokens that came.
    """

    verifier: SignedTokens
    url: str
    issuer: str
    needed: tuple[str, ...] = ("read",)
    resource: str = ""
    issuers: tuple[str, ...] | None = ()
    hint: str = ""
    status: int = 0
    seen: list[str] = field(default_factory=list)

    def app(self) -> Starlette:
        metadata = Route("/.well-known/oauth-protected-resource/mcp", self._metadata)
        return Starlette(routes=[Route("/mcp", self._answer, methods=["POST"]), metadata])

    async def _metadata(self, request: Request) -> Response:
        if self.issuers is None:
            return Response(status_code=404)
        body = {"resource": self.resource or self.url, "authorization_servers": list(self.issuers or (self.issuer,))}
        return JSONResponse(body, self.status or 200)

    async def _answer(self, request: Request) -> Response:
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        self.seen.append(token)
        access = await self.verifier.verify_token(token) if token else None
        hint = f', resource_metadata="{self.hint}"' if self.hint else ""
        scope = f'scope="{" ".join(self.needed)}"' if self.needed else 'realm="tools"'
        if access is None:
            return Response(status_code=401, headers={"www-authenticate": f"Bearer {scope}{hint}"})
        if not set(self.needed) <= set(access.scopes):
            error = f'Bearer error="insufficient_scope", {scope}{hint}'
            return Response(status_code=403, headers={"www-authenticate": error})
        return JSONResponse({"principal": access.subject})


class Browser:
    """Somebody who logs in at once. `before` can change where the browser ends."""

    redirect_uri = CALLBACK

    def __init__(self, before: Callable[[str], str] = str) -> None:
        self.opened: list[str] = []
        self._before = before

    async def authorize(self, url: str) -> str:
        self.opened.append(url)
        async with httpx2.AsyncClient(trust_env=False) as client:
            return self._before((await client.get(url)).headers["location"])


@dataclass
class World:
    clock: FakeClock
    issuer: Issuer
    server: Resource
    store: TokenStore

    def oauth(
        self, person: Browser | None = None, auth: McpAuth | None = None, user: str = "", **secrets: str
    ) -> OAuth:
        return OAuth(
            self.server.url,
            self.store,
            auth=auth,
            name="tools",
            user=user,
            secrets=secrets,
            person=person,
            clock=self.clock,
        )

    async def call(self, oauth: OAuth, **headers: str) -> int:
        async with httpx2.AsyncClient(auth=oauth, trust_env=False) as client:
            return (await client.post(self.server.url, json={"method": "x"}, headers=headers)).status_code


@contextlib.asynccontextmanager
async def worlds(tmp_path: Path, metadata_path: str = "") -> AsyncIterator[World]:
    clock = FakeClock()
    issuer = Issuer(clock)
    issuer.metadata_path = metadata_path or issuer.metadata_path
    listener = listening()
    url = f"{place(listener)}/mcp"
    async with serving(issuer.app()) as issuer.url:
        verifier = SignedTokens(Trusted(url=issuer.url, audience=url, jwks_uri=f"{issuer.url}/jwks"), clock=clock)
        server = Resource(verifier, url, issuer.url)
        async with serving(server.app(), listener):
            yield World(clock, issuer, server, TokenStore(tmp_path / "tokens.json"))


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with worlds(tmp_path) as world:
        yield world


async def fails(call: Awaitable[object], kind: type[CallError] = LoginFailed) -> str:
    with pytest.raises(kind) as raised:
        await call
    return str(raised.value)


# A person logs in. ----------------------------------------------------------------------------------------------------


async def test_a_person_logs_in_once_and_the_token_is_used_from_then_on(world: World) -> None:
    browser = Browser()
    oauth = world.oauth(browser)
    assert [await world.call(oauth), await world.call(oauth)] == [200, 200]
    assert len(browser.opened) == 1
    assert (world.issuer.count("register"), world.issuer.count("token")) == (1, 1)
    asked = world.issuer.last("authorize")
    assert (asked["tenant"], asked["code_challenge_method"], asked["resource"]) == ("1", "S256", world.server.url)
    assert asked["scope"] == "read"
    assert world.issuer.last("token")["resource"] == world.server.url
    assert claims_of(world.server.seen[-1])["aud"] == world.server.url
    assert await world.call(world.oauth()) == 200  # another process, and nobody there


async def test_each_user_has_a_token_of_their_own(world: World) -> None:
    ada, bob = world.oauth(Browser(), user="ada"), world.oauth(Browser(), user="bob")
    assert [await world.call(ada), await world.call(bob)] == [200, 200]
    assert len(set(ada.secrets) & set(bob.secrets)) == 0
    await fails(world.call(world.oauth(user="eve")), LoginNeeded)


async def test_without_a_person_it_is_said_what_to_do(world: World) -> None:
    message = await fails(world.call(world.oauth()), LoginNeeded)
    assert "actum mcp login tools" in message
    assert world.issuer.asked == []


async def test_calls_at_the_same_time_lead_to_one_login(world: World) -> None:
    browser = Browser()
    oauth = world.oauth(browser)
    assert set(await asyncio.gather(*(world.call(oauth) for _ in range(8)))) == {200}
    assert len(browser.opened) == 1


async def test_a_call_does_not_wait_for_another_to_be_answered(world: World) -> None:
    async with httpx2.AsyncClient(auth=world.oauth(Browser()), trust_env=False) as client:
        flow = world.oauth(Browser()).async_auth_flow(client.build_request("POST", world.server.url))
        await anext(flow)  # sent, and not answered yet
        assert (await client.post(world.server.url)).status_code == 200
        await flow.aclose()


@pytest.mark.parametrize(
    "path", ["/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"], ids=["oidc", "oauth"]
)
async def test_an_issuer_is_found_by_either_kind_of_metadata(tmp_path: Path, path: str) -> None:
    async with worlds(tmp_path, path) as world:
        assert await world.call(world.oauth(Browser())) == 200


# What is not believed. ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metadata", "word"),
    [
        ({"issuer": "https://evil.example.org"}, "another issuer"),
        ({"code_challenge_methods_supported": None}, "S256"),
        ({"code_challenge_methods_supported": ["plain"]}, "S256"),
        ({"authorization_endpoint": "javascript:alert(1)"}, "says nowhere"),
        ({"authorization_endpoint": "http://10.0.0.1/login"}, "should not be opened"),
        ({"registration_endpoint": "http://169.254.169.254/register"}, "may not be reached"),
        ({"registration_endpoint": "https://169.254.169.254/register"}, "may not be reached"),
        ({"token_endpoint": "http://example.org/token"}, "may not be reached"),
    ],
)
async def test_an_issuer_whose_metadata_is_not_safe_is_refused(
    world: World, metadata: dict[str, str | list[str] | None], word: str
) -> None:
    world.issuer.metadata.update(metadata)  # type: ignore[arg-type]
    browser = Browser()
    message = await fails(world.call(world.oauth(browser)))
    assert word in message
    assert world.issuer.count("token") == 0
    assert world.store.granted("", world.server.url) is None


async def test_without_s256_this_program_does_not_even_register(world: World) -> None:
    world.issuer.metadata["code_challenge_methods_supported"] = ["plain"]
    await fails(world.call(world.oauth(Browser())))
    assert world.issuer.count("register") == 0


@pytest.mark.parametrize("iss", ["https://evil.example.org", None, "slash"])
async def test_an_answer_of_another_issuer_is_refused(world: World, iss: str | None) -> None:
    world.issuer.iss = f"{world.issuer.url}/" if iss == "slash" else iss
    assert "iss" in await fails(world.call(world.oauth(Browser())))
    assert world.issuer.count("token") == 0


async def test_an_issuer_that_does_not_promise_iss_may_leave_it_out_but_not_lie(world: World) -> None:
    world.issuer.metadata["authorization_response_iss_parameter_supported"] = None
    world.issuer.iss = "https://evil.example.org"
    await fails(world.call(world.oauth(Browser())))
    world.issuer.iss = None
    assert await world.call(world.oauth(Browser())) == 200


@pytest.mark.parametrize(
    "end",
    [
        lambda url: url.replace("state=", "state=x"),
        lambda url: url.replace("state=", "other="),
        lambda url: f"{url}&state=x",
        lambda url: f"{url}&code=mine",
        lambda url: url.replace("code=", "error=access_denied&other="),
        lambda url: "",
    ],
    ids=["wrong", "none", "two states", "two codes", "denied", "nothing"],
)
async def test_an_answer_that_is_not_to_our_question_is_refused(world: World, end: Callable[[str], str]) -> None:
    message = await fails(world.call(world.oauth(Browser(end))))
    assert "hunter2" not in message
    assert world.issuer.count("token") == 0


async def test_metadata_of_another_server_is_refused(world: World) -> None:
    for other in ("https://evil.example.org/mcp", f"{world.server.url}/more", f"{world.server.url}2"):
        world.server.resource = other
        assert "another server" in await fails(world.call(world.oauth(Browser())))
    assert world.issuer.asked == []


async def test_metadata_indoors_is_not_fetched(world: World) -> None:
    world.server.hint = "http://169.254.169.254/latest/meta-data"
    assert "may not be reached" in await fails(world.call(world.oauth(Browser())))


async def test_an_issuer_that_is_not_the_one_that_was_set_up_is_refused(world: World) -> None:
    auth = McpAuth(issuer="https://login.example.org")
    assert "was set up" in await fails(world.call(world.oauth(Browser(), auth)))
    assert world.issuer.asked == []
    world.server.issuers = ("https://first.example.org", world.issuer.url)
    assert await world.call(world.oauth(Browser(), McpAuth(issuer=world.issuer.url))) == 200


async def test_nothing_is_guessed_where_there_is_no_metadata(world: World) -> None:
    world.server.issuers = None
    assert "says nowhere" in await fails(world.call(world.oauth(Browser())))
    assert world.issuer.asked == []


async def test_a_server_whose_metadata_fails_now_is_not_taken_for_one_without(world: World) -> None:
    world.server.status = 503
    await fails(world.call(world.oauth(Browser())), Unavailable)


async def test_prose_of_an_issuer_reaches_nobody(world: World) -> None:
    world.issuer.error = "invalid_scope"
    message = await fails(world.call(world.oauth(Browser())))
    assert "invalid_scope" in message
    assert "hunter2" not in message


# Who this program is. -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post", "none"])
async def test_a_secret_is_shown_as_it_was_agreed(world: World, method: str) -> None:
    world.issuer.method = method
    assert await world.call(world.oauth(Browser())) == 200
    form = world.issuer.last("token")
    ways = (form["authorization"].startswith("Basic "), "client_secret" in form)
    assert ways == (method == "client_secret_basic", method == "client_secret_post")


async def test_a_registration_is_used_again_and_made_anew_when_the_issuer_forgot_it(world: World) -> None:
    oauth = world.oauth(Browser())
    await oauth.log_in()
    await oauth.log_in()
    assert world.issuer.count("register") == 1
    world.issuer.forget_clients()
    assert "invalid_client" in await fails(oauth.log_in())
    await oauth.log_in()
    assert world.issuer.count("register") == 2


async def test_another_issuer_does_not_see_the_client_of_the_first(world: World, tmp_path: Path) -> None:
    oauth = world.oauth(Browser())
    assert await world.call(oauth) == 200
    async with worlds(tmp_path / "second") as second:
        world.server.issuer, world.server.verifier = (
            second.issuer.url,
            SignedTokens(
                Trusted(url=second.issuer.url, audience=world.server.url, jwks_uri=f"{second.issuer.url}/jwks"),
                clock=world.clock,
            ),
        )
        world.issuer.forget_refresh_tokens()
        assert await world.call(oauth) == 200
        assert second.issuer.count("register") == 1
        assert not any("rt-" in str(asked) for asked in second.issuer.asked)


async def test_a_client_that_was_set_up_by_hand_is_used_first(world: World) -> None:
    world.issuer.know("ours", "s3cret")
    auth = McpAuth(client_id="ours", secret="MCP", issuer=world.issuer.url, client_metadata_url="https://us.example/c")
    assert await world.call(world.oauth(Browser(), auth, MCP="s3cret")) == 200
    assert world.issuer.count("register") == 0
    assert world.store.registration("", world.issuer.url) is None
    assert "s3cret" not in world.store.path.read_text()


async def test_a_secret_goes_to_nobody_whom_the_person_did_not_name(world: World) -> None:
    world.issuer.know("ours", "s3cret")
    auth = McpAuth(client_id="ours", secret="MCP")
    message = await fails(world.call(world.oauth(Browser(), auth, MCP="s3cret")))
    assert f"set `issuer` in this server's `auth` (the server names {world.issuer.url})" in message
    assert "not set" in await fails(world.call(world.oauth(Browser(), auth)))
    assert world.issuer.count("token") == 0


async def test_a_description_of_ours_is_preferred_to_a_registration(world: World) -> None:
    auth = McpAuth(client_metadata_url="https://us.example.org/client.json")
    world.issuer.metadata["client_id_metadata_document_supported"] = True
    assert await world.call(world.oauth(Browser(), auth)) == 200
    assert world.issuer.last("authorize")["client_id"] == "https://us.example.org/client.json"
    assert world.issuer.count("register") == 0


async def test_where_nobody_registers_programs_a_person_is_told_to(world: World) -> None:
    world.issuer.metadata["registration_endpoint"] = None
    message = await fails(world.call(world.oauth(Browser())), LoginNeeded)
    assert "client_id" in message


# How a token is kept good. --------------------------------------------------------------------------------------------


async def test_a_token_is_refreshed_before_it_ends_at_the_endpoint_that_its_issuer_named(world: World) -> None:
    await world.oauth(Browser()).log_in()
    world.clock.advance(3590)
    fresh = world.oauth()  # after a restart: nothing is known but what was kept
    assert await world.call(fresh) == 200
    assert world.issuer.last("token")["grant_type"] == "refresh_token"
    assert (world.issuer.count("metadata"), world.issuer.count("token")) == (1, 2)
    assert len(world.server.seen) == 2  # the first asked who may come in


async def test_a_token_that_the_server_does_not_take_any_more_is_refreshed_first(world: World) -> None:
    world.issuer.lifetime_s = None
    oauth = world.oauth(Browser())
    await oauth.log_in()
    world.clock.advance(7200)  # the issuer did not say that it ends
    assert await world.call(world.oauth()) == 200
    assert world.issuer.last("token")["grant_type"] == "refresh_token"


async def test_one_process_refreshes_for_all(world: World) -> None:
    await world.oauth(Browser()).log_in()
    world.clock.advance(3590)
    several = [world.oauth() for _ in range(4)]
    assert await asyncio.gather(*(world.call(oauth) for oauth in several)) == [200] * 4
    assert world.issuer.count("token") == 2


async def test_an_issuer_that_is_down_costs_nobody_a_login(world: World) -> None:
    oauth = world.oauth(Browser())
    await oauth.log_in()
    world.issuer.status = 503
    world.clock.advance(3590)
    assert await world.call(oauth) == 200  # it is good for ten seconds more
    world.clock.advance(60)
    await fails(world.call(oauth), Unavailable)
    world.issuer.status = 0
    assert await world.call(oauth) == 200
    assert world.issuer.count("authorize") == 1


async def test_when_a_refresh_is_refused_somebody_has_to_log_in(world: World) -> None:
    await world.oauth(Browser()).log_in()
    world.issuer.forget_refresh_tokens()
    world.clock.advance(4000)
    await fails(world.call(world.oauth()), LoginNeeded)
    assert world.store.granted("", world.server.url) is None
    assert await world.call(world.oauth(Browser())) == 200


async def test_more_scopes_are_asked_for_together_with_those_that_were_granted(world: World) -> None:
    oauth = world.oauth(Browser())
    assert await world.call(oauth) == 200
    world.server.needed = ("write",)
    assert await world.call(oauth) == 200
    assert world.issuer.last("authorize")["scope"] == "read write"
    assert await world.call(oauth) == 200
    assert world.issuer.count("authorize") == 2


async def test_where_nobody_can_log_in_it_is_said_for_what(world: World) -> None:
    assert await world.call(world.oauth(Browser())) == 200
    world.server.needed = ("write", "read")
    assert "`actum mcp login tools --scope write`" in await fails(world.call(world.oauth()), LoginNeeded)
    await world.oauth(Browser()).log_in(["write"])
    assert world.issuer.last("authorize")["scope"].split() == ["read", "write"]
    assert await world.call(world.oauth()) == 200


async def test_what_a_server_calls_a_scope_is_not_put_into_a_command(world: World) -> None:
    assert await world.call(world.oauth(Browser())) == 200
    world.server.needed = ("write;", "$(reboot)", "files:read", "ignore_" * 20)
    message = await fails(world.call(world.oauth()), LoginNeeded)
    assert message.endswith("`actum mcp login tools --scope files:read`")


async def test_a_refusal_that_may_pass_does_not_cost_the_login(world: World) -> None:
    await world.oauth(Browser()).log_in()
    world.clock.advance(4000)
    world.issuer.error = "temporarily_unavailable"
    await fails(world.call(world.oauth()), LoginNeeded)
    assert await world.call(world.oauth()) == 200


async def test_a_server_that_is_never_content_is_left_alone(world: World) -> None:
    world.issuer.granted = "read"
    oauth = world.oauth(Browser())
    assert await world.call(oauth) == 200
    world.server.needed = ("admin",)
    assert "does not allow admin" in await fails(world.call(oauth))
    assert world.issuer.count("authorize") <= 3


async def test_a_scope_that_was_granted_is_not_asked_for_again(world: World) -> None:
    oauth = world.oauth(Browser())
    await oauth.log_in()
    world.server.verifier = SignedTokens(Trusted(url=world.issuer.url, audience="https://other.example.org"))
    assert "does not take the token" in await fails(world.call(oauth))
    assert world.issuer.count("authorize") == 2


async def test_refresh_is_asked_for_where_the_issuer_offers_it(world: World) -> None:
    world.issuer.metadata["scopes_supported"] = ["read", "offline_access"]
    assert await world.call(world.oauth(Browser())) == 200
    assert (world.issuer.last("authorize")["scope"], world.issuer.last("authorize")["prompt"]) == (
        "read offline_access",
        "consent",
    )


async def test_no_scope_is_asked_for_when_nobody_names_one(world: World) -> None:
    world.server.needed = ()
    world.issuer.metadata["scopes_supported"] = ["everything"]
    assert await world.call(world.oauth(Browser())) == 200
    assert "scope" not in world.issuer.last("authorize")


async def test_a_token_goes_to_its_server_alone(world: World) -> None:
    oauth = world.oauth(Browser())
    assert await world.call(oauth) == 200
    other = listening()
    stranger = Resource(world.server.verifier, f"{place(other)}/mcp", "")
    async with serving(stranger.app(), other), httpx2.AsyncClient(auth=oauth, trust_env=False) as client:
        await client.post(stranger.url, headers={"authorization": "Bearer of-our-own-caller"})
    assert stranger.seen == [""]


async def test_our_own_callers_credentials_are_not_passed_on(world: World) -> None:
    oauth = world.oauth(Browser())
    await oauth.log_in()
    assert await world.call(oauth, authorization="Bearer of-our-own-caller") == 200
    assert "of-our-own-caller" not in world.server.seen


async def test_a_log_out_forgets_the_token_and_tells_the_issuer(world: World) -> None:
    oauth = world.oauth(Browser())
    await oauth.log_in()
    refresh = oauth.secrets[1]
    assert await oauth.log_out() is True
    assert world.issuer.last("revoke")["token"] == refresh
    assert oauth.secrets == ()
    assert world.store.granted("", world.server.url) is None
    assert await oauth.log_out() is False
    await fails(world.call(world.oauth()), LoginNeeded)


# No person needed. ----------------------------------------------------------------------------------------------------


def pem() -> str:
    return KEY.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()


async def test_a_program_with_a_password_gets_a_token_by_itself(world: World) -> None:
    world.issuer.know("robot", "s3cret")
    auth = McpAuth(grant="client", issuer=world.issuer.url, client_id="robot", secret="MCP")
    oauth = world.oauth(auth=auth, MCP="s3cret")
    assert await world.call(oauth) == 200
    world.clock.advance(3700)
    assert await world.call(oauth) == 200
    assert {form["grant_type"] for name, form in world.issuer.asked if name == "token"} == {"client_credentials"}
    assert "wrong" not in await fails(world.call(world.oauth(auth=auth, user="b", MCP="wrong")))


async def test_a_program_with_a_key_signs_for_the_issuer_alone(world: World) -> None:
    world.issuer.know("robot")
    auth = McpAuth(grant="client", issuer=world.issuer.url, client_id="robot", secret="MCP", method="private_key_jwt")
    assert await world.call(world.oauth(auth=auth, MCP=pem())) == 200
    claims = claims_of(world.issuer.last("token")["client_assertion"])
    assert (claims["iss"], claims["sub"], claims["aud"]) == ("robot", "robot", world.issuer.url)
    assert claims["exp"] == world.clock.now() + 300
    message = await fails(world.call(world.oauth(auth=auth, user="b", MCP="no key")))
    assert message == "the secret MCP is no private key for ES256"


async def test_the_companys_login_vouches_for_its_user(world: World) -> None:
    world.issuer.know("ours", "s3cret")
    world.issuer.know("at-idp")
    auth = McpAuth(
        grant="company",
        issuer=world.issuer.url,
        client_id="ours",
        secret="MCP",
        assertion="ID",
        idp_token_endpoint=f"{world.issuer.url}/token",
        idp_client_id="at-idp",
    )
    assert await world.call(world.oauth(auth=auth, MCP="s3cret", ID="id-token")) == 200
    first, second = [form for name, form in world.issuer.asked if name == "token"]
    assert (first["audience"], first["resource"]) == (world.issuer.url, world.server.url)
    assert claims_of(second["assertion"])["resource"] == world.server.url
    assert "not set" in await fails(world.call(world.oauth(auth=auth, user="b", MCP="s3cret")))


async def test_a_platform_vouches_for_its_program(world: World) -> None:
    world.issuer.know("robot")
    auth = McpAuth(grant="voucher", issuer=world.issuer.url, client_id="robot", assertion="VOUCHER")
    assert await world.call(world.oauth(auth=auth, VOUCHER="v")) == 200
    assert world.issuer.last("token")["assertion"] == "v"


# Secrets. -------------------------------------------------------------------------------------------------------------


async def test_no_secret_stands_in_a_log_or_an_error(world: World, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    world.issuer.method = "client_secret_post"

    class Discreet(Browser):
        """A browser whose own words do not count."""

        async def authorize(self, url: str) -> str:
            logging.disable(logging.CRITICAL)
            try:
                return await super().authorize(url)
            finally:
                logging.disable(logging.NOTSET)

    oauth = world.oauth(Discreet())
    assert await world.call(oauth) == 200
    world.clock.advance(3700)
    assert await world.call(oauth) == 200
    world.issuer.error = "invalid_grant"
    world.clock.advance(3700)
    errors = [await fails(world.call(world.oauth()), LoginNeeded)]
    secrets = {"registered-secret", *oauth.secrets, *(token for token in world.server.seen if token)}
    for name, form in world.issuer.asked:
        fields = ("state",) if name == "authorize" else ("code", "code_verifier", "refresh_token")
        secrets |= {form[field] for field in fields if field in form}
    shown = " ".join([*errors, repr(oauth), repr(world.store), caplog.text])
    assert len(secrets) > 6
    assert not [secret for secret in secrets if secret in shown]


async def test_a_fetcher_of_ones_own_decides_what_is_reached(world: World) -> None:
    oauth = OAuth(
        world.server.url, world.store, person=Browser(), clock=world.clock, fetcher=Fetcher(Guard("https://x.example"))
    )
    assert "may not be reached" in await fails(world.call(oauth))
