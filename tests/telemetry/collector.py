"""A collector of OTLP/HTTP: a real server, which reads what it gets by the classes of opentelemetry-proto."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.web import serving


class OtlpCollector:
    """What came.

    Attributes:
        spans: each span as its bytes, by its id, as often as it came.
        names: the names of the spans in the order in which they came.
        headers: of the requests.
        resources: the attributes of the resources.
        answers: what the next requests are answered; 200 where there are none. 0 hangs.
        came: is set with each request.
    """

    def __init__(self) -> None:
        self.spans: dict[str, list[bytes]] = {}
        self.names: list[str] = []
        self.headers: list[Mapping[str, str]] = []
        self.resources: set[tuple[tuple[str, str], ...]] = set()
        self.answers: list[int] = []
        self.came = asyncio.Event()
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
        body = ExportTraceServiceRequest.FromString(await request.body())
        if status == 200:
            for group in body.resource_spans:
                about = ((each.key, each.value.string_value) for each in group.resource.attributes)
                self.resources.add(tuple(sorted(about)))
                for scope in group.scope_spans:
                    for span in scope.spans:
                        self.spans.setdefault(span.span_id.hex(), []).append(span.SerializeToString(deterministic=True))
                        self.names.append(span.name)
        return Response(status_code=status)
