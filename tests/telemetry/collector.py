"""A collector of OTLP/HTTP: a real server, which reads what it gets by the classes of opentelemetry-proto."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from tests.web import serving

BOMB, QUOTES, HANGS_THEN, REJECTS = -1, -2, -3, -4
"""Answers: a body without end; 503 with the header of the request; none, after the spans were taken; 200 with the word
that one span was not kept."""


class OtlpCollector:
    """What came.

    Attributes:
        spans: each span as its bytes, by its id, as often as it came.
        names: the names of the spans in the order in which they came.
        headers: of the requests.
        resources: the attributes of the resources.
        answers: what the next requests are answered; 200 where there are none. 0 hangs.
        bomb_pieces: how many pieces of a body without end went out.
        came, took: are set with each request, before and after its spans were read.
    """

    def __init__(self) -> None:
        self.spans: dict[str, list[bytes]] = {}
        self.names: list[str] = []
        self.headers: list[Mapping[str, str]] = []
        self.resources: set[tuple[tuple[str, str], ...]] = set()
        self.answers: list[int] = []
        self.came = asyncio.Event()
        self.took = asyncio.Event()
        self.bomb_pieces = 0
        self.url = ""

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        """Listen within the block."""
        app = Starlette(routes=[Route("/{path:path}", self._take, methods=["POST", "GET"])])
        async with serving(app) as self.url:
            yield self.url

    async def _take(self, request: Request) -> Response:
        self.came.set()
        self.headers.append({**request.headers, "path": request.url.path, "method": request.method})
        status = self.answers.pop(0) if self.answers else 200
        if not status:
            await asyncio.Event().wait()
        if status == 307:
            return Response(status_code=307, headers={"location": f"{self.url}/elsewhere"})
        if status == QUOTES:
            return Response(request.headers["authorization"], status_code=503, headers={"x-said": "a-secret-key"})
        body = ExportTraceServiceRequest.FromString(await request.body())
        if status in (200, BOMB, HANGS_THEN):
            for group in body.resource_spans:
                about = ((each.key, each.value.string_value) for each in group.resource.attributes)
                self.resources.add(tuple(sorted(about)))
                for scope in group.scope_spans:
                    for span in scope.spans:
                        self.spans.setdefault(span.span_id.hex(), []).append(span.SerializeToString(deterministic=True))
                        self.names.append(span.name)
        self.took.set()
        if status == HANGS_THEN:
            await asyncio.Event().wait()
        if status == REJECTS:
            rejected = ExportTracePartialSuccess(rejected_spans=1, error_message="no room")
            return Response(ExportTraceServiceResponse(partial_success=rejected).SerializeToString())
        return StreamingResponse(self._bomb()) if status == BOMB else Response(status_code=status)

    async def _bomb(self) -> AsyncIterator[bytes]:
        for _ in range(5_000):
            self.bomb_pieces += 1
            yield bytes(1 << 20)
            await asyncio.sleep(0)  # once the client has hung up, nothing that is sent waits
