"""What a server costs a request; part of `make bench`.

The house: CPU of a request that a door answers at once, in this process and without sockets: a Starlette application
alone, the same route behind the house, and behind the house with one of a thousand keys.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message

from actum.server.access import Access
from actum.server.house import House, HouseSettings
from actum.server.identity import Keys, new_key
from actum.server.metrics import Metrics

from .loop import Row

REQUESTS = 2_000
KEYS = 1_000


async def _answer(request: Request) -> Response:
    await request.body()
    return Response(b"{}", media_type="application/json")


ROUTES: list[BaseRoute] = [Route("/v1/tools/{name}/call", _answer, methods=["POST"])]


class _Door:
    """One route that answers at once."""

    routes: Sequence[BaseRoute] = ROUTES

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        yield

    async def end_streams(self) -> None:
        return


def house_table(rounds: int) -> list[Row]:
    """CPU of a request: alone, behind the house, and with a key."""
    made = [new_key(f"k{number}", scopes=["tools"]) for number in range(KEYS)]
    access = Access(verifier=Keys([key for _, key in made]))
    apps: dict[str, tuple[ASGIApp, str]] = {
        "starlette alone": (Starlette(routes=ROUTES), ""),
        "behind the house": (House([_Door()], metrics=Metrics()).app, ""),
        "with a key": (House([_Door()], HouseSettings(access=access), metrics=Metrics()).app, made[KEYS // 2][0]),
    }
    best = dict.fromkeys(apps, float("inf"))
    for _ in range(rounds):
        for name, (app, key) in apps.items():
            best[name] = min(best[name], asyncio.run(_spent(app, key)))
    floor = best["starlette alone"]
    return [
        {"request": name, "µs": round(spent * 1e6, 1), "more µs": round((spent - floor) * 1e6, 1)}
        for name, spent in best.items()
    ]


async def _spent(app: ASGIApp, key: str) -> float:
    """CPU seconds of one request."""
    headers = [(b"host", b"127.0.0.1:8000"), (b"content-type", b"application/json"), (b"content-length", b"2")]
    headers += [(b"user-agent", b"bench"), (b"accept", b"*/*"), (b"connection", b"keep-alive")]
    if key:
        headers.append((b"authorization", f"Bearer {key}".encode()))
    path = "/v1/tools/add/call"
    statuses: set[int] = set()

    async def receive() -> Message:
        return {"type": "http.request", "body": b"{}", "more_body": False}

    async def send(message: Message) -> None:
        if "status" in message:
            statuses.add(message["status"])

    began = time.thread_time()
    for _ in range(REQUESTS):
        scope = {
            "type": "http",
            "method": "POST",
            "path": path,
            "raw_path": path.encode(),
            "root_path": "",
            "query_string": b"",
            "scheme": "http",
            "client": ("127.0.0.1", 4711),
            "server": ("127.0.0.1", 8000),
            "http_version": "1.1",
            "headers": headers,
        }
        await app(scope, receive, send)
    spent = time.thread_time() - began
    if statuses != {200}:
        raise ValueError(statuses)
    return spent / REQUESTS
