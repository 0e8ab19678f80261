"""The login at a server: one for all calls, kept good, for more scopes, and for nobody else."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from actum.core.errors import Unavailable
from actum.core.user import User
from actum.server.issuer import Issuer as Trusted
from actum.server.issuer import SignedTokens
from actum.toolsets.login import LoginNeeded
from actum.toolsets.mcp.auth import OAuth
from actum.transport.fetcher import Fetcher
from actum.transport.guard import Guard
from tests.issuer import claims_of
from tests.logins import Browser, Resource, World, fails, worlds
from tests.patience import HANGS_S
from tests.web import listening, place, serving


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with worlds(tmp_path) as world:
        yield world


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
    north = world.oauth(Browser(), user="ada", tenant="north")
    assert [await world.call(ada), await world.call(bob), await world.call(north)] == [200, 200, 200]
    assert len(set(ada.secrets) & set(bob.secrets)) == 0
    assert len(set(ada.secrets) & set(north.secrets)) == 0
    await fails(world.call(world.oauth(user="eve")), LoginNeeded)
    await fails(world.call(world.oauth(user="ada", tenant="south")), LoginNeeded)


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
    async with httpx2.AsyncClient(auth=world.oauth(Browser()), timeout=HANGS_S) as client:
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
    assert world.store.granted(User(), world.server.url) is None
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
    async with serving(stranger.app(), other), httpx2.AsyncClient(auth=oauth, timeout=HANGS_S) as client:
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
    assert world.store.granted(User(), world.server.url) is None
    assert await oauth.log_out() is False
    await fails(world.call(world.oauth()), LoginNeeded)


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
