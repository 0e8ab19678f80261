"""`actum a2a login`: a user logs in at a remote agent in a browser, and calls go out as this user."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from actum.cli.show.terminal import who
from actum.cli.tools.apis import by_browser
from actum.compose.apis import login_of
from actum.compose.remote_agents import agent_setup, open_remote_agent
from actum.compose.settings import read_settings
from actum.core.clock import SystemClock
from actum.core.json import JsonObject
from actum.core.user import User
from tests.cli.conftest import Run
from tests.issuer import Issuer
from tests.toolsets.a2a.remote_servers import scripted_agent
from tests.toolsets.a2a.test_attacks import streams
from tests.web import serving

from .mcp.test_login import Browser, Typed
from .test_api_login import files_of

YES: JsonObject = {"message": {"role": "ROLE_AGENT", "parts": [{"text": "Yes."}], "messageId": "m"}}


@pytest.fixture
async def issuer(home: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Issuer]:
    monkeypatch.setenv("ACTUM_SECRETS_KEY", "0123456789abcdef" * 4)
    made = Issuer(SystemClock())
    made.know("actum")
    async with serving(made.app()) as made.url:
        yield made


async def test_a_user_logs_in_at_an_agent_and_calls_go_out_as_this_user(
    run: Run, home: Path, issuer: Issuer, capsys: pytest.CaptureFixture[str]
) -> None:
    async with scripted_agent() as agent:
        streams(agent, YES)
        code: JsonObject = {
            "authorizationUrl": f"{issuer.url}/authorize",
            "tokenUrl": f"{issuer.url}/token",
            "scopes": {},
        }
        agent.card = {
            "securitySchemes": {"it": {"oauth2SecurityScheme": {"flows": {"authorizationCode": code}}}},
            "securityRequirements": [{"schemes": {"it": {"list": ["mail.read"]}}}],
        }
        (home / "actum.toml").write_text(
            f'[a2a.oracle]\nurl = "{agent.origin}"\ncredentials = {{it = {{client_id = "actum"}}}}\n'
            f'[egress]\nprivate = ["{issuer.url}"]\n'
        )

        async def typed(*words: str) -> tuple[int, str]:
            ended = await asyncio.to_thread(run, *words)
            return ended.exit_code, " ".join((ended.stdout + ended.stderr).split())

        assert "was not approved" in (await typed("a2a", "send", "oracle", "hello", "--yes"))[1]
        assert (await typed("a2a", "approve", "oracle", "--yes"))[0] == 0
        refused = await typed("a2a", "send", "oracle", "hello", "--yes")
        assert refused[0] == 1
        assert "actum a2a login oracle" in refused[1], refused
        unattended = await typed("a2a", "login", "oracle", "--paste")
        assert unattended[0] != 0, "nobody is there to paste an address"
        assert f"{issuer.url}/authorize" in unattended[1].replace(" ", "")
        assert not [path for _, path, _ in agent.seen.heads if path == "/rpc"]

        settings = read_settings(home, os.environ, {})
        toolset = open_remote_agent("oracle", settings.a2a, os.environ)
        login = login_of(await agent_setup(toolset, {}, ""), "", User("", who()), os.environ)
        browser = Browser()
        granted = await by_browser(login, Typed("y"), open_link=browser)
        assert browser.opened[0].startswith(f"{issuer.url}/authorize")
        told = capsys.readouterr()
        sent = await typed("a2a", "send", "oracle", "hello", "--yes")
        assert sent[0] == 0, sent
        assert "Yes." in sent[1]
        assert agent.seen.heads[-1][2]["authorization"] == f"Bearer {granted.access_token}"
        everything = told.out + told.err + sent[1] + files_of(home)
        assert granted.access_token not in everything
        assert granted.refresh_token not in everything
