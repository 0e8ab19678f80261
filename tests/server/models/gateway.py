"""A models door over real sockets that passes requests on to upstreams of a test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple

import httpx2

from actum.core.interfaces import Clock
from actum.core.stored.passed import PassedRequest, PassedSum
from actum.dialects.api.anthropic.dialect import ANTHROPIC_MESSAGES
from actum.dialects.api.gemini.dialect import GEMINI_CONTENT
from actum.dialects.api.openai_chat.dialect import OPENAI_CHAT
from actum.dialects.api.openai_responses.dialect import OPENAI_RESPONSES
from actum.dialects.base import ApiDialect
from actum.models.catalog import ModelPlace
from actum.server.access import Access
from actum.server.access_log import AccessLog
from actum.server.metrics import Metrics
from actum.server.models.names import ModelNames
from actum.server.models.passing import PassingThrough
from actum.server.models.routes import ModelRoutes
from actum.server.models.upstream import ModelRoute, ModelUpstream
from actum.server.web_application import WebApplication, WebApplicationSettings
from actum.transport.upstream_client import UpstreamClient
from tests.patience import HANGS_S
from tests.web import serving

KEY = "upstream-secret-1234567890"
"""The key of the server at its upstreams."""
DIALECTS: dict[str, ApiDialect] = {
    "chat": OPENAI_CHAT,
    "responses": OPENAI_RESPONSES,
    "messages": ANTHROPIC_MESSAGES,
    "gemini": GEMINI_CONTENT,
}


def upstream(url: str, api: str = "chat", **more: object) -> ModelUpstream:
    """An upstream of an API."""
    place = ModelPlace(url=url, model="model-1", key=KEY, dialect=DIALECTS[api])
    return ModelUpstream(f"{api}@{url}", place, **{"timeout_s": HANGS_S, **more})  # type: ignore[arg-type]


class KeptLines:
    """Keeps lines in a list."""

    def __init__(self) -> None:
        self.kept: list[PassedRequest] = []
        self.came = asyncio.Event()

    def add(self, line: PassedRequest) -> None:
        self.kept.append(line)
        self.came.set()

    async def ready(self) -> None:
        pass

    def note_unsent(self) -> None:
        pass

    async def unsent(self, limit: int) -> Sequence[tuple[int, PassedRequest]]:
        return []

    async def sent(self, places: Sequence[int]) -> None:
        pass

    async def count_unsent(self) -> int:
        return 0

    async def drop_unsent(self, most: int) -> int:
        return 0

    async def sums(self, since: float, until: float) -> list[PassedSum]:
        return []

    async def lines(self, since: float, until: float, limit: int) -> Sequence[PassedRequest]:
        return self.kept


class Gateway(NamedTuple):
    """What a test talks to."""

    url: str
    client: httpx2.AsyncClient
    lines: KeptLines


@asynccontextmanager
async def gateway(
    routes: Mapping[str, ModelRoute | ModelUpstream],
    *,
    access: Access | None = None,
    clock: Clock | None = None,
    failures_max: int = 5,
    metrics: Metrics | None = None,
    access_log: AccessLog | None = None,
) -> AsyncIterator[Gateway]:
    """Serve models.

    Args:
        routes: by the names of the models.
        access: who may come in.
        clock: of the breakers.
        failures_max: after so many failures in a row an upstream is left alone.
        metrics, access_log: of the application.
    """
    lines = KeptLines()
    made = {name: route if isinstance(route, ModelRoute) else ModelRoute([route]) for name, route in routes.items()}
    door = ModelRoutes(
        ModelNames(made, {}),
        passer=PassingThrough(UpstreamClient(), kept=lines, clock=clock, failures_max=failures_max),
    )
    settings = WebApplicationSettings(access=access or Access(), proxies=("127.0.0.1",))
    application = WebApplication([door], settings, metrics=metrics, access_log=access_log)
    async with (
        serving(application.app) as origin,
        httpx2.AsyncClient(base_url=origin, timeout=HANGS_S) as client,
    ):
        yield Gateway(origin, client, lines)


PATIENCE_S = 0.5


class RawServer:
    """An upstream that sends the bytes it is given, whatever they are.

    Args:
        answers: what each connection is sent, in pieces; None hangs up, and an empty piece waits for ever.

    Attributes:
        asked: what was received, a request each.
        gone: is set when a connection is over.
        came: is set when a request has come.
        waits: is set when a client has read nothing for a while.
        sent: bytes.
    """

    def __init__(self, *answers: Sequence[bytes]) -> None:
        self.answers = list(answers)
        self.asked: list[bytes] = []
        self.gone = asyncio.Event()
        self.came = asyncio.Event()
        self.waits = asyncio.Event()
        self.sent = 0
        self.url = ""

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        """Listen within the block."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        self._open: set[asyncio.StreamWriter] = set()
        try:
            yield self.url
        finally:
            server.close()
            for writer in list(self._open):
                writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(
                (
                    int(line.split(b":")[1])
                    for line in head.split(b"\r\n")
                    if line.lower().startswith(b"content-length")
                ),
                0,
            )
            self.asked.append(head + await reader.readexactly(length))
            self.came.set()
            for piece in self.answers.pop(0) if self.answers else ():
                if not piece:
                    await reader.read()
                    break
                writer.write(piece)
                try:
                    await asyncio.wait_for(writer.drain(), PATIENCE_S)
                except TimeoutError:
                    self.waits.set()
                    await writer.drain()
                self.sent += len(piece)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self.gone.set()
            self._open.discard(writer)
            writer.close()


def http(body: bytes, *, status: int = 200, kind: str = "application/json", more: str = "") -> bytes:
    """An HTTP answer, whole."""
    head = f"HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n{more}\r\n"
    return head.encode() + body


STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
