"""Users log in at an API by authorization code with PKCE, at a real issuer; each has a token of their own."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from actum import Agent
from actum.core.call import ToolCall
from actum.core.json import JsonObject
from actum.core.message import ToolMessage
from actum.core.user import User
from actum.journal.memory import MemoryJournal
from actum.policy.rules import Rule, Rules
from actum.protocols.openapi.reading import read_api
from actum.protocols.openapi.setup import ApiSetup, OAuthCredential
from actum.storage.tokens import TokenStore
from actum.testing import FakeClock, ScriptedModel
from actum.toolsets.http.token import ApiLogin, NoToken, ask_token, give_back
from actum.toolsets.http.toolset import ApiToolset
from actum.toolsets.login import LoginFailed, LoginNeeded
from actum.transport.fetcher import Fetcher
from actum.transport.guard import Guard
from tests.issuer import Issuer
from tests.logins import Browser
from tests.web import serving

from .test_toolset import context

DOCUMENT: JsonObject = {
    "openapi": "3.1.0",
    "info": {"title": "Mail", "version": "1"},
    "components": {
        "securitySchemes": {
            "user": {
                "type": "oauth2",
                "flows": {"authorizationCode": {"authorizationUrl": "x", "tokenUrl": "x", "scopes": {}}},
            }
        }
    },
    "security": [{"user": ["mail.read"]}],
    "paths": {"/mail": {"get": {"operationId": "read_mail"}}},
}


@dataclass
class Mail:
    """An API that wants a token, and the issuer of its tokens.

    Attributes:
        seen: the tokens that came.
        refused: the tokens that it does not take.
    """

    clock: FakeClock
    issuer: Issuer
    store: TokenStore
    url: str = ""
    seen: list[str] = field(default_factory=list)
    refused: set[str] = field(default_factory=set)

    def setup(self, **credential: str) -> ApiSetup:
        oauth = OAuthCredential(
            token_url=f"{self.issuer.url}/token",
            client_id="actum",
            scopes=("mail.read",),
            login_url=f"{self.issuer.url}/authorize?tenant=1",
        )
        made = ApiSetup(
            name="mail",
            api=read_api(DOCUMENT),
            server=self.url,
            origins=(self.url,),
            credentials={"user": msgspec.structs.replace(oauth, **credential)},
        )
        return made.approving()

    def toolset(self) -> ApiToolset:
        return ApiToolset(self.setup(), clock=self.clock, logins=self.store)

    async def log_in(self, user: str, browser: Browser | None = None, tenant: str = "", password: str = "") -> None:
        setup = self.setup()
        credential = setup.credentials["user"]
        assert isinstance(credential, OAuthCredential)
        fetcher = Fetcher(Guard(named=[credential.token_url]))
        login = ApiLogin(setup, "user", credential, password, User(tenant, user))
        try:
            self.store.keep(await login.by(browser or Browser(), fetcher, self.clock.now()))
        finally:
            await fetcher.aclose()

    async def _answer(self, request: Request) -> Response:
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        self.seen.append(token)
        return Response(status_code=401) if token in self.refused else JSONResponse({"mail": token})

    def app(self) -> Starlette:
        return Starlette(routes=[Route("/mail", self._answer)])


@contextlib.asynccontextmanager
async def mails(folder: Path) -> AsyncIterator[Mail]:
    clock = FakeClock()
    mail = Mail(clock, Issuer(clock), TokenStore(folder / "tokens.json"))
    mail.issuer.know("actum")
    async with serving(mail.issuer.app()) as mail.issuer.url, serving(mail.app()) as mail.url:
        yield mail


async def read(toolset: ApiToolset, user: str, told: set[str] | None = None) -> None:
    await toolset.execute(ToolCall("1", "read_mail", {}), context("read_mail", principal=user, told=told))


@pytest.mark.row("T2")
async def test_each_user_logs_in_and_no_token_of_one_is_used_for_another(tmp_path: Path) -> None:
    async with mails(tmp_path) as mail:
        toolset = mail.toolset()
        with pytest.raises(LoginNeeded, match="actum tools login mail"):
            await read(toolset, "ann")
        assert mail.seen == []
        browser = Browser()
        await mail.log_in("ann", browser)
        asked = mail.issuer.last("authorize")
        assert (asked["code_challenge_method"], asked["scope"], asked["tenant"]) == ("S256", "mail.read", "1")
        assert "code_verifier" in mail.issuer.last("token")
        await mail.log_in("bob")
        for user in ("ann", "bob", "ann"):
            told: set[str] = set()
            await read(toolset, user, told)
            granted = mail.store.granted(User("", user), mail.setup().login_place("user", _oauth(mail)))
            assert granted is not None
            assert mail.seen[-1] == granted.access_token
            assert {granted.access_token, granted.refresh_token} <= told
        assert len(set(mail.seen)) == 2
        for stranger in ("eve", ""):
            with pytest.raises(LoginNeeded):
                await read(toolset, stranger)
        with pytest.raises(LoginNeeded, match=r"actum tools login mail --user 'the \$eve'$"):
            await read(toolset, "the $eve")
        await mail.log_in("ann", tenant="north")
        with pytest.raises(LoginNeeded):
            await read(toolset, "north/ann")
        assert len(mail.seen) == 3
        await toolset.aclose()


def _oauth(mail: Mail) -> OAuthCredential:
    credential = mail.setup().credentials["user"]
    assert isinstance(credential, OAuthCredential)
    return credential


async def test_a_token_is_given_back_with_the_clients_password_and_what_the_issuer_did_not_take_is_told(
    tmp_path: Path,
) -> None:
    async with mails(tmp_path) as mail:
        await mail.log_in("ann")
        place = mail.setup().login_place("user", _oauth(mail))
        granted = mail.store.granted(User("", "ann"), place)
        assert granted is not None
        answers = {"revoke": True, "nothing": False}
        for path, taken in answers.items():
            named = f"{mail.issuer.url}/{path}"
            fetcher = Fetcher(Guard(named=[named]))
            back = msgspec.structs.replace(granted, revocation_endpoint=named)
            assert await give_back(fetcher, back, "") is taken, path
            assert not await give_back(fetcher, msgspec.structs.replace(granted, revocation_endpoint=""), "")
            elsewhere = msgspec.structs.replace(granted, revocation_endpoint="http://127.0.0.1:1/")
            assert not await give_back(fetcher, elsewhere, "")
            await fetcher.aclose()
        assert [fields["token_type_hint"] for kind, fields in mail.issuer.asked if kind == "revoke"] == [
            "refresh_token",
            "access_token",
        ]
        with pytest.raises(NoToken):  # the issuer knows the refresh token no more
            fetcher = Fetcher(Guard(named=[f"{mail.issuer.url}/token"]))
            form = {"grant_type": "refresh_token", "refresh_token": granted.refresh_token}
            await ask_token(fetcher, "mail", _oauth(mail), "", form)
        await fetcher.aclose()


async def test_calls_and_processes_that_find_a_token_ended_refresh_it_once(tmp_path: Path) -> None:
    async with mails(tmp_path) as mail:
        await mail.log_in("ann")
        toolset, other_process = mail.toolset(), mail.toolset()
        mail.clock.advance(3600)
        await asyncio.gather(*[read(each, "ann") for each in (toolset, other_process) * 3])
        assert mail.issuer.count("token") == 2, "the log-in, and one refresh"
        assert len(set(mail.seen)) == 1
        mail.refused = {mail.seen[0]}
        await read(toolset, "ann")
        assert mail.issuer.count("token") == 3, "a token that the API refused is refreshed before its end"
        mail.refused |= {mail.seen[-1]}
        mail.issuer.forget_refresh_tokens()
        with pytest.raises(LoginNeeded):
            await read(toolset, "ann")
        sent = len(mail.seen)
        with pytest.raises(LoginNeeded):
            await read(other_process, "ann")
        assert len(mail.seen) == sent, "what the issuer has ended is not kept"
        for each in (toolset, other_process):
            await each.aclose()


async def test_a_log_in_that_is_not_ours_is_refused_and_nothing_is_kept(tmp_path: Path) -> None:
    async with mails(tmp_path) as mail:
        cases = {
            "another state": Browser(lambda came: came.replace("state=", "state=x")),
            "no state": Browser(lambda came: came.replace("state=", "other=")),
            "twice": Browser(lambda came: came + "&code=other"),
            "no code": Browser(lambda came: came.replace("code=", "error=access_denied&x=")),
            "another code": Browser(lambda came: came.replace("code=", "code=x")),
        }
        for case, browser in cases.items():
            with pytest.raises(LoginFailed) as failed:
                await mail.log_in("ann", browser)
            assert "hunter2" not in str(failed.value), case
            assert mail.store.granted(User("", "ann"), mail.setup().login_place("user", _oauth(mail))) is None, case
        browser = Browser()
        bad = msgspec.structs.replace(_oauth(mail), login_url="http://evil.example/login")
        login = ApiLogin(mail.setup(), "user", bad, "", User("", "ann"))
        with pytest.raises(LoginFailed, match="should not be opened"):
            await login.by(browser, Fetcher(Guard(named=[bad.token_url])), 0.0)
        assert browser.opened == []


async def test_an_api_that_is_added_again_for_other_servers_does_not_get_the_log_in(tmp_path: Path) -> None:
    async with mails(tmp_path) as mail:
        await mail.log_in("ann")
        here = mail.setup()
        for changed in (
            msgspec.structs.replace(here, origins=(*here.origins, "https://evil.example")),
            mail.setup(token_url="https://evil.example/token"),
            mail.setup(client_id="other"),
        ):
            toolset = ApiToolset(changed.approving(), clock=mail.clock, logins=mail.store)
            with pytest.raises(LoginNeeded):
                await read(toolset, "ann")
            await toolset.aclose()
        assert mail.seen == []


async def test_a_model_is_told_that_a_person_has_to_log_in_and_never_sees_a_token(tmp_path: Path) -> None:
    async with mails(tmp_path) as mail:
        journal, toolset = MemoryJournal(), mail.toolset()
        call = ToolCall("1", "read_mail", {})
        model = ScriptedModel([call, "done", call, "done"])
        agent = Agent(model, [toolset], journal=journal, policy=Rules(Rule("allow", tools="*")), clock=mail.clock)
        first = await agent.run("Read.", principal="ann")
        await mail.log_in("ann")
        second = await agent.run("Read.", principal="ann")
        await toolset.aclose()
        texts = [
            message.result for run in (first, second) for message in run.messages if isinstance(message, ToolMessage)
        ]
        assert texts[0].error is not None
        assert "actum tools login mail" in texts[0].error.message
        assert texts[1].structured == {"mail": "[redacted: secret]"}
        kept = [entry.payload for run in await journal.runs() for entry in await journal.read(run.run_id)]
        assert not any(mail.seen[0].encode() in each for each in kept)
