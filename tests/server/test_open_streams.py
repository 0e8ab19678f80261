"""Streams that are open end with the key of their reader; calls that are under way do not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from actum.core.errors import JournalError
from actum.core.identity import Identity
from actum.core.stored.key import Key, new_key
from actum.server.open_streams import ENDS_WITH_KEY, OpenStreams
from actum.server.stored_keys import StoredKeys
from tests.patience import HANGS_S, SOON_S
from tests.server.memory_keys import MemoryKeys
from tests.web import serving


class Served:
    """An app that answers with a stream or a slow call, behind the keys of its readers."""

    def __init__(self, store: MemoryKeys) -> None:
        self.streams = OpenStreams([StoredKeys(store)])
        self.go_on = asyncio.Event()
        self._app = Starlette(
            routes=[
                Route("/events", self._events, methods=["GET"]),
                Route("/read", self._read, methods=["POST"]),
                Route("/slow", self._slow, methods=["GET", "POST"]),
            ]
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        name = dict(scope["headers"])[b"x-key"].decode()
        await self.streams.serve(self._app, Identity(principal="ann", key_id=name), scope, receive, send)

    async def _events(self, request: Request) -> Response:
        async def events() -> AsyncIterator[bytes]:
            yield b"data: 1\n\n"
            await self.go_on.wait()
            yield b"data: 2\n\n"

        return StreamingResponse(events(), media_type="text/event-stream")

    async def _read(self, request: Request) -> Response:
        request.scope[ENDS_WITH_KEY] = True
        return await self._events(request)

    async def _slow(self, request: Request) -> Response:
        await self.go_on.wait()
        return Response("done")


async def test_a_stream_ends_within_a_second_of_its_key_and_a_call_under_way_finishes() -> None:
    store = MemoryKeys()
    for name in ("one", "two"):
        await store.add(new_key(name)[1])
    app = Served(store)
    async with (
        app.streams.watched(),
        serving(app) as url,
        httpx2.AsyncClient(timeout=HANGS_S) as client,
    ):

        async def read(name: str, began: asyncio.Event) -> str:
            text = ""
            async with client.stream("GET", f"{url}/events", headers={"x-key": name}) as answer:
                async for piece in answer.aiter_text():
                    text += piece
                    began.set()
            return text

        began = [asyncio.Event() for _ in range(3)]
        one, again, two = (
            asyncio.create_task(read(name, event)) for name, event in zip(("one", "one", "two"), began, strict=True)
        )
        for event in began:
            await event.wait()
        call = asyncio.create_task(client.post(f"{url}/slow", headers={"x-key": "one"}))
        waits = asyncio.create_task(client.get(f"{url}/slow", headers={"x-key": "one"}))
        while len(app.streams) < 4:  # noqa: ASYNC110 - the server takes it up by itself
            await asyncio.sleep(0.005)
        await store.revoke("one", at=1.0, by="root")
        async with asyncio.timeout(SOON_S):
            assert [await one, await again] == ["data: 1\n\n"] * 2
            assert (await waits).status_code == 401
        assert (two.done(), call.done(), len(app.streams)) == (False, False, 1)
        app.go_on.set()
        assert await two == "data: 1\n\ndata: 2\n\n"
        assert (await call).text == "done"
    assert len(app.streams) == 0


async def test_an_answer_that_is_only_read_ends_with_its_key_also_when_it_was_asked_for_by_post() -> None:
    store = MemoryKeys()
    await store.add(new_key("one")[1])
    app = Served(store)
    async with (
        app.streams.watched(),
        serving(app) as url,
        httpx2.AsyncClient(timeout=HANGS_S) as client,
        client.stream("POST", f"{url}/read", headers={"x-key": "one"}) as answer,
    ):
        pieces = answer.aiter_text()
        assert await anext(pieces) == "data: 1\n\n"
        assert len(app.streams) == 1
        await store.revoke("one", at=1.0, by="root")
        async with asyncio.timeout(SOON_S):
            assert [piece async for piece in pieces] == []


async def test_a_stream_whose_key_nobody_can_look_up_ends(caplog: pytest.LogCaptureFixture) -> None:
    class Away(MemoryKeys):
        def changes(self, age_s: float = 0.0) -> int | None:
            return None

        async def find(self, id: str) -> Key | None:
            raise JournalError("the database is away")

    app = Served(Away())
    async with (
        app.streams.watched(),
        serving(app) as url,
        httpx2.AsyncClient(timeout=HANGS_S) as client,
    ):
        answer = await client.get(f"{url}/events", headers={"x-key": "one"})
    assert answer.text == "data: 1\n\n"
    assert "can not be read" in caplog.text
