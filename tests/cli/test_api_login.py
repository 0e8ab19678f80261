"""`actum tools login`: an API of a document with a log-in is added, a user logs in, and calls go out as this user."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from actum.cli.show.terminal import who
from actum.cli.tools.apis import by_browser
from actum.compose.apis import ApiChoice, api_store, login_of, read_source, set_up
from actum.core.clock import SystemClock
from actum.core.errors import UsageError
from actum.core.json import JsonObject
from actum.core.user import User
from actum.protocols.openapi.setup import OAuthCredential
from actum.transport.egress import Egress
from tests.cli.conftest import Run
from tests.issuer import Issuer
from tests.web import serving

from .mcp.test_login import Browser, Typed


@pytest.fixture
async def issuer(home: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Issuer]:
    monkeypatch.setenv("ACTUM_SECRETS_KEY", "0123456789abcdef" * 4)
    made = Issuer(SystemClock(), metadata_path="/.well-known/openid-configuration")
    made.know("actum")
    async with serving(made.app()) as made.url:
        yield made


def write(text: str) -> None:
    Path("api.json").write_text(text)


def files_of(folder: Path) -> str:
    return "".join(path.read_text("utf-8", "replace") for path in folder.rglob("*") if path.is_file())


def document(server: str, issuer: str, scheme: JsonObject) -> str:
    paths: JsonObject = {"/me": {"get": {"operationId": "who_am_i"}}}
    return json.dumps(
        {
            "openapi": "3.1.0",
            "info": {"title": "Me", "version": "1"},
            "servers": [{"url": server}],
            "components": {"securitySchemes": {"user": scheme}},
            "security": [{"user": ["mail.read"]}],
            "paths": paths,
        }
    )


def schemes(issuer: str) -> dict[str, JsonObject]:
    code: JsonObject = {"authorizationUrl": f"{issuer}/authorize", "tokenUrl": f"{issuer}/token", "scopes": {}}
    program: JsonObject = {"tokenUrl": f"{issuer}/token", "scopes": {}}
    return {
        "code": {"type": "oauth2", "flows": {"authorizationCode": code}},
        "both": {"type": "oauth2", "flows": {"authorizationCode": code, "clientCredentials": program}},
        "metadata": {
            "type": "oauth2",
            "flows": {"authorizationCode": code},
            "oauth2MetadataUrl": f"{issuer}/.well-known/openid-configuration",
        },
        "openid": {
            "type": "openIdConnect",
            "openIdConnectUrl": f"{issuer}/.well-known/openid-configuration",
        },
    }


async def test_a_user_logs_in_at_an_api_and_calls_go_out_as_this_user(
    run: Run, home: Path, issuer: Issuer, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[str] = []

    async def me(request: Request) -> Response:
        seen.append(request.headers.get("authorization", ""))
        return JSONResponse({"token": seen[-1]})

    async with serving(Starlette(routes=[Route("/me", me)])) as server:
        for name, scheme in schemes(issuer.url).items():
            write(document(server, issuer.url, scheme))
            add = ("tools", "add", "openapi", "api.json", "--name", name, "--oauth-client", "actum", "--login", "--yes")
            added = await asyncio.to_thread(run, *add)
            assert added.exit_code == 0, (name, added.stderr)
            assert f"{issuer.url}/authorize" in added.stdout, name
            assert f"actum tools login {name}" in added.stderr
            call = ("call", "who_am_i", "--tools", f"openapi:{name}", "--yes")
            refused = await asyncio.to_thread(run, *call)
            assert (refused.exit_code, len(seen)) == (1, 0), name
            assert f"actum tools login {name}" in " ".join((refused.stdout + refused.stderr).split())
            assert (await asyncio.to_thread(run, "tools", "logout", name)).exit_code == 1, "nobody was logged in"
            login = login_of(api_store(os.environ).get(name), "", User("", who()), os.environ)
            browser = Browser()
            granted = await by_browser(login, Typed("y"), open_link=browser)
            shown = capsys.readouterr()
            assert browser.opened[0] in shown.err.replace("\n", "")
            called = await asyncio.to_thread(run, *call)
            assert called.exit_code == 0, called.stderr
            assert seen == [f"Bearer {granted.access_token}"], name
            everything = shown.out + shown.err + called.stdout + called.stderr
            everything += files_of(home)
            assert granted.access_token not in everything, name
            assert granted.refresh_token not in everything, name
            before = issuer.count("revoke")
            left = await asyncio.to_thread(run, "tools", "logout", name)
            assert left.exit_code == 0
            named = name in ("openid", "metadata")
            assert (f"{issuer.url}/revoke" in added.stdout) is named, name
            assert ("could not be told" in left.stderr) is not named, name
            given_back = [fields for kind, fields in issuer.asked if kind == "revoke"][before:]
            tokens = [granted.refresh_token, granted.access_token] if named else []
            assert [fields["token"] for fields in given_back] == tokens, name
            assert all(fields["client_id"] == "actum" for fields in given_back)
            assert (await asyncio.to_thread(run, *call)).exit_code == 1
            seen.clear()


async def test_where_a_program_can_ask_by_itself_nobody_logs_in_unless_a_person_says_so(issuer: Issuer) -> None:
    async def credential(scheme: JsonObject, *, login: bool = False) -> OAuthCredential:
        write(document("https://x.example", issuer.url, scheme))
        found = await read_source("api.json", Egress())
        wanted = ApiChoice("api", oauth_client="actum:client_secret", login=login)
        made = (await set_up(wanted, "api.json", found, Egress())).credentials["user"]
        assert isinstance(made, OAuthCredential)
        return made

    both = schemes(issuer.url)["both"]
    assert (await credential(both)).login_url == ""
    assert (await credential(both, login=True)).login_url == f"{issuer.url}/authorize"
    openid = await credential(schemes(issuer.url)["openid"])
    assert (openid.login_url, openid.token_url) == (f"{issuer.url}/authorize?tenant=1", f"{issuer.url}/token")
    assert openid.scopes == ("mail.read", "openid")
    for flow in (
        {"authorizationUrl": "http://evil.example/a", "tokenUrl": "https://evil.example/t"},
        {"authorizationUrl": "https://evil.example/a", "tokenUrl": "http://evil.example/t"},
        {"authorizationUrl": "https://evil.example/a"},
    ):
        with pytest.raises(UsageError, match="no OAuth"):
            await credential({"type": "oauth2", "flows": {"authorizationCode": dict(flow)}})
    with pytest.raises(UsageError, match="can not be read"):
        await credential({"type": "openIdConnect", "openIdConnectUrl": f"{issuer.url}/nothing"})
