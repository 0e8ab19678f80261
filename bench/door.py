"""What a server costs a request; part of `make bench`.

The application: CPU of a request that a door answers at once, in this process and without sockets: a Starlette
application alone, the same route behind the application, and behind the application with one of a thousand keys.

Keys: CPU of checking one key that a database keeps, with one key and with a thousand, while runs are written to the
same database. A check includes the question whether any process has revoked a key since.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message

from actum.core.stored.key import new_key
from actum.runs.administration import put_on_record
from actum.server.access import Access
from actum.server.attempts import Attempts
from actum.server.metrics import Metrics
from actum.server.stored_keys import StoredKeys
from actum.server.verifier import Keys
from actum.server.web_application import WebApplication, WebApplicationSettings
from actum.storage.place import open_journal
from tests.postgres import postgres_server

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


def application_table(rounds: int) -> list[Row]:
    """CPU of a request: alone, behind the application, and with a key."""
    made = [new_key(f"k{number}", scopes=["tools"]) for number in range(KEYS)]
    access = Access(verifier=Keys([key for _, key in made]))
    apps: dict[str, tuple[ASGIApp, str]] = {
        "starlette alone": (Starlette(routes=ROUTES), ""),
        "behind the application": (WebApplication([_Door()], metrics=Metrics()).app, ""),
        "with a key": (
            WebApplication([_Door()], WebApplicationSettings(access=access), metrics=Metrics()).app,
            made[KEYS // 2][0],
        ),
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


CHECKS = 5_000
KEY_COUNTS = (1, 1_000)


def keys_table(rounds: int) -> list[Row]:
    """CPU of a check, by database and number of keys."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder, postgres_server() as server:
        for name in ("sqlite", "postgres"):
            for count in KEY_COUNTS:
                place = server.new_database() if name == "postgres" else str(Path(folder) / f"{count}.db")
                spent = asyncio.run(_checks(place, count, rounds, busy=False))
                busy = asyncio.run(_checks(place, count, rounds, busy=True))
                rows.append(
                    {
                        "journal": name,
                        "keys": count,
                        "µs a check": round(spent * 1e6, 1),
                        "µs a check, runs written meanwhile": round(busy * 1e6, 1),
                    }
                )
    return rows


async def _checks(place: str, count: int, rounds: int, *, busy: bool) -> float:
    """CPU seconds of one check in this thread: the best of so many rounds."""
    journal = open_journal(place)
    made = [new_key(f"{'b' if busy else 'k'}{number}", principal="ann", scopes=["tools"]) for number in range(count)]
    for _, key in made:
        await journal.keys.add(key)
    while journal.keys.changes() is None:  # noqa: ASYNC110 - another thread connects
        await asyncio.sleep(0.01)
    keys, attempts, best = StoredKeys(journal.keys), Attempts(), float("inf")
    try:
        async with _written(place) if busy else nullcontext():
            for _ in range(rounds):
                began = time.thread_time()
                for number in range(CHECKS):
                    if await attempts.check(keys, "192.0.2.1", made[number % count][0]) is None:
                        raise AssertionError("a good key was refused")
                    if not number % 50:
                        await asyncio.sleep(0)
                best = min(best, (time.thread_time() - began) / CHECKS)
    finally:
        await journal.close()
    return best


@asynccontextmanager
async def _written(place: str) -> AsyncIterator[None]:
    """Another connection writes runs as fast as it can, in a thread and a loop of its own."""
    is_over = asyncio.Event()

    def write() -> None:
        async def all_the_time() -> None:
            journal = open_journal(place)
            while not is_over.is_set():
                await put_on_record(journal, "bench", {}, principal="bench")
            await journal.close()

        asyncio.run(all_the_time())

    writing = asyncio.create_task(asyncio.to_thread(write))
    try:
        yield
    finally:
        is_over.set()
        await writing
