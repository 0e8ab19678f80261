"""Who grants a server's tokens: what is not believed, and as whom this program is known there."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from actum.core.errors import Unavailable
from actum.core.user import User
from actum.protocols.mcp.config import McpAuth
from actum.server.issuer import Issuer as Trusted
from actum.server.issuer import SignedTokens
from actum.toolsets.login import LoginNeeded
from tests.logins import Browser, World, fails, worlds


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with worlds(tmp_path) as world:
        yield world


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
    assert world.store.granted(User(), world.server.url) is None


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
    assert world.store.registration(User(), world.issuer.url) is None
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
