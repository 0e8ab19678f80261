"""What a call costs that our own API is asked for; part of `make bench`.

CPU of `POST /v1/tools/{name}/call` of one small tool, and of the same call through `/mcp` without a handshake, both
through the application of `actum serve` with one key, in this process and without sockets, with the journal in memory.
Up to 1.15 times as much is allowed.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager

from starlette.applications import Starlette
from starlette.types import ASGIApp, Message

from actum import tool
from actum.compose.serving import Serving, open_doors
from actum.compose.settings import Settings
from actum.compose.tables.serve import ServeSettings
from actum.core.identity import Identity
from actum.core.stored.key import new_key
from actum.journal.memory import MemoryJournal
from actum.server.access import Access
from actum.server.api.api import GivenAgents
from actum.server.metrics import Metrics
from actum.server.scopes import ALL_SCOPES
from actum.server.stored_keys import StoredKeys

from .loop import Row

CALLS = 500
RUNS_MAX = 1_000
MODERN = "2026-07-28"


@tool(effects=["read"])
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def api_table(rounds: int) -> list[Row]:
    """CPU of a call: through `/mcp` without a handshake, and through our own API."""
    return asyncio.run(_measured(rounds))


async def _measured(rounds: int) -> list[Row]:
    journal = MemoryJournal(runs_max=RUNS_MAX)
    text, key = new_key("bench", principal="ann", scopes=ALL_SCOPES)
    await journal.keys.add(key)
    access = Access(verifier=StoredKeys(journal.keys))
    doors = open_doors(Settings(), [add], GivenAgents({}), journal, Identity())
    app = Serving(doors, ServeSettings(), access, journal=journal, metrics=Metrics()).application.app
    own: list[tuple[bytes, bytes]] = [(b"content-type", b"application/json"), (b"host", b"127.0.0.1:8000")]
    own.append((b"authorization", f"Bearer {text}".encode()))
    meta = "io.modelcontextprotocol/"
    params = {
        "name": "add",
        "arguments": {"a": 2, "b": 3},
        "_meta": {
            f"{meta}protocolVersion": MODERN,
            f"{meta}clientInfo": {"name": "bench", "version": "1"},
            f"{meta}clientCapabilities": {},
        },
    }
    of_mcp = [
        *own,
        (b"accept", b"application/json, text/event-stream"),
        (b"mcp-protocol-version", MODERN.encode()),
        (b"mcp-method", b"tools/call"),
        (b"mcp-name", b"add"),
    ]
    asked = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    ways: dict[str, tuple[ASGIApp, str, Sequence[tuple[bytes, bytes]], bytes]] = {
        "/mcp": (app, "/mcp", of_mcp, asked),
        "/v1": (app, "/v1/tools/add/call", own, b'{"arguments": {"a": 2, "b": 3}}'),
        "/v1, repeatable": (app, "/v1/tools/add/call", own, b'{"arguments": {"a": 2, "b": 3}}'),
    }
    best = dict.fromkeys(ways, float("inf"))
    async with _lifespan(app):
        for _ in range(rounds):
            for name, (served, path, headers, body) in ways.items():
                began = time.process_time()
                for number in range(CALLS):
                    keyed = [(b"idempotency-key", f"{began}-{number}".encode())] if "repeatable" in name else []
                    answer = await _ask(served, path, [*headers, *keyed], body)
                    if b"5" not in answer:
                        raise ValueError(answer)
                best[name] = min(best[name], (time.process_time() - began) / CALLS)
    floor = best["/mcp"]
    return [{"call": name, "µs": round(spent * 1e6), "×": round(spent / floor, 2)} for name, spent in best.items()]


def _lifespan(app: Starlette) -> AbstractAsyncContextManager[object]:
    return app.router.lifespan_context(app)


async def _ask(app: ASGIApp, path: str, headers: Sequence[tuple[bytes, bytes]], body: bytes) -> bytes:
    """The body of the answer to a request."""
    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "scheme": "http",
        "http_version": "1.1",
        "server": ("127.0.0.1", 8000),
        "client": ("127.0.0.1", 50_000),
        "headers": [*headers, (b"content-length", b"%d" % len(body))],
    }
    received = False
    told: list[bytes] = []

    async def receive() -> Message:
        nonlocal received
        if received:
            await asyncio.Event().wait()
        received = True
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] != 200:
            raise ValueError(f"{path}: {message}")
        told.append(message.get("body", b""))

    await app(scope, receive, send)
    return b"".join(told)
