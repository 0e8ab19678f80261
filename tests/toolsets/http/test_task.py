"""A server that is made from a document: an agent does a task on it, with paging, an upload and a log-in."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from actum import Agent, ToolCall
from actum.core.attachment import File
from actum.core.json import JsonObject
from actum.core.message import ToolMessage
from actum.core.user import User
from actum.journal.memory import MemoryJournal
from actum.policy.rules import Rule, Rules
from actum.protocols.openapi.model import ApiOperation
from actum.protocols.openapi.reading import read_api
from actum.protocols.openapi.setup import ApiSetup, OAuthCredential
from actum.storage.tokens import TokenStore
from actum.testing import FakeClock, ScriptedModel
from actum.toolsets.http.token import ApiLogin
from actum.toolsets.http.toolset import ApiToolset
from actum.transport.fetcher import Fetcher
from actum.transport.guard import Guard
from tests.issuer import Issuer
from tests.logins import Browser
from tests.web import serving

PHOTO: JsonObject = {
    "type": "object",
    "required": ["photo"],
    "properties": {"title": {"type": "string"}, "photo": {"type": "string", "contentMediaType": "image/png"}},
}
CODE: JsonObject = {"authorizationUrl": "x", "tokenUrl": "x", "scopes": {"album": "Sees and adds."}}
DOCUMENT: JsonObject = {
    "openapi": "3.1.0",
    "info": {"title": "Album", "version": "1"},
    "components": {"securitySchemes": {"user": {"type": "oauth2", "flows": {"authorizationCode": CODE}}}},
    "security": [{"user": ["album"]}],
    "paths": {
        "/photos": {
            "get": {
                "operationId": "list_photos",
                "parameters": [{"name": "page", "in": "query", "schema": {"type": "integer"}}],
            },
            "post": {
                "operationId": "add_photo",
                "requestBody": {"required": True, "content": {"multipart/form-data": {"schema": PHOTO}}},
            },
        }
    },
}
PNG = b"\x89PNG\x00\xff"


class Album:
    """The server of the document: each of its operations is a route, and wants a token."""

    def __init__(self) -> None:
        self.photos = [f"photo {number}" for number in range(1, 4)]
        self.tokens: list[str] = []
        self.added: list[bytes] = []

    def app(self) -> Starlette:
        return Starlette(routes=[self._route(operation) for operation in read_api(DOCUMENT).operations])

    def _route(self, operation: ApiOperation) -> Route:
        async def answer(request: Request) -> Response:
            self.tokens.append(request.headers.get("authorization", "").removeprefix("Bearer "))
            if not self.tokens[-1]:
                return JSONResponse({"message": "who are you?"}, 401)
            if operation.method == "POST":
                async with request.form() as form:
                    self.photos.append(str(form["title"]))
                    self.added.append(await form["photo"].read())  # type: ignore[union-attr]
                return JSONResponse({"token": self.tokens[-1]}, 201)
            page = int(request.query_params.get("page", 1))
            more = {"link": f'<{request.url.replace_query_params(page=page + 1)}>; rel="next"'} if page == 1 else {}
            return JSONResponse(self.photos[2 * page - 2 : 2 * page], headers=more)

        return Route(operation.path, answer, methods=[operation.method])


@contextlib.asynccontextmanager
async def logged_in(folder: Path, album: Album) -> AsyncIterator[ApiToolset]:
    """The tools of the API, at which ann has logged in."""
    clock = FakeClock()
    issuer, store = Issuer(clock), TokenStore(folder / "tokens.json")
    issuer.know("actum")
    async with serving(issuer.app()) as issuer.url, serving(album.app()) as here:
        credential = OAuthCredential(
            f"{issuer.url}/token", "actum", scopes=("album",), login_url=f"{issuer.url}/authorize"
        )
        setup = ApiSetup(
            name="album", api=read_api(DOCUMENT), server=here, origins=(here,), credentials={"user": credential}
        ).approving()
        fetcher = Fetcher(Guard(named=[credential.token_url]))
        login = ApiLogin(setup, "user", credential, "", User("", "ann"))
        store.keep(await login.by(Browser(), fetcher, clock.now()))
        await fetcher.aclose()
        toolset = ApiToolset(setup, clock=clock, logins=store)
        yield toolset
        await toolset.aclose()


@pytest.mark.row("T2")
async def test_an_agent_lists_two_pages_and_uploads_a_photo_as_the_user_who_logged_in(tmp_path: Path) -> None:
    album, journal = Album(), MemoryJournal()
    script: list[ToolCall | str] = [
        ToolCall("1", "list_photos", {}),
        ToolCall("2", "list_photos", {"page": 2}),
        ToolCall("3", "add_photo", {"body": {"title": "Ünïted/%&", "photo": "att_1"}}),
        "done",
    ]
    async with logged_in(tmp_path, album) as toolset:
        agent = Agent(
            ScriptedModel(script), [toolset], journal=journal, policy=Rules(Rule("allow", tools="*", final=True))
        )
        photo = File(PNG, media_type="image/png", name="new.png").part()
        result = await agent.run("Look, and add this.", principal="ann", attachments=[photo])
    texts = [message.result.text for message in result.messages if isinstance(message, ToolMessage)]
    assert 'again with the same arguments and {"page":"2"}' in texts[0]
    assert "photo 3" in texts[1]
    assert (album.photos[-1], album.added) == ("Ünïted/%&", [PNG])
    assert len(set(album.tokens)) == 1
    token = album.tokens[0]
    assert token
    records = [entry.payload for run in await journal.runs() for entry in await journal.read(run.run_id)]
    assert not any(token.encode() in each for each in [*records, msgspec.json.encode(result.messages)])
    assert "[redacted: secret]" in texts[2]
