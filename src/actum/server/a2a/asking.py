"""What a request over HTTP says beside its body: which agent it asks, who asks, the version, and the trace."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress

import msgspec
from a2a.utils.errors import InvalidRequestError, VersionNotSupportedError
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from ...core.interfaces import Clock
from ...core.json import Json
from ..open_streams import ENDS_WITH_KEY
from ..route_group import identity_of
from .service import A2ARequest, Form

VERSION_HEADER = "a2a-version"
JSON_TYPES = ("application/json", "application/a2a+json")
SILENT_S = 15.0
"""Seconds without an event after which a stream sends a comment, so that no proxy cuts the stream."""
_SSE = {"cache-control": "no-cache, no-transform", "x-accel-buffering": "no"}


def asked_by(request: Request, agent: str, form: Form) -> A2ARequest:
    """What a request says."""
    headers = request.headers
    last = headers.get("last-event-id", "")
    return A2ARequest(
        who=identity_of(request.scope),
        agent=agent,
        form=form,
        trace=headers.get("traceparent", ""),
        tracestate=headers.get("tracestate", ""),
        base=base_of(request),
        after=int(last) if last.isascii() and last.isdecimal() and len(last) < 10 else None,
    )


def base_of(request: Request) -> str:
    """The address of the server, as the client wrote it in this request."""
    return f"{request.url.scheme}://{request.url.netloc}".rstrip("/")


def version_of(request: Request) -> str:
    """The version that a request names, in its header or its query; 0.3 where it names none, by section 3.6.2."""
    return (request.headers.get(VERSION_HEADER) or request.query_params.get("A2A-Version") or "0.3").strip()


def check_version(said: str, form: Form) -> None:
    """Raises:
    VersionNotSupportedError: a request names another version than that of the method or the path that it uses.
    """
    major, dot, minor = said.partition(".")
    is_number = major.isascii() and major.isdecimal() and (not dot or minor.replace(".", "0").isdecimal())
    is_same = is_number and (major == "1" if form == "1.0" else said in ("0", "0.2", "0.3") or said.startswith("0."))
    if not is_same:
        raise VersionNotSupportedError(
            "This version is not served by this method: send A2A-Version 1.0 with the methods of 1.0. A request "
            "without the header counts as 0.3."
        )


def is_json(request: Request) -> bool:
    """Whether a request says that its body is JSON; one that says nothing counts as JSON."""
    said = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return said in ("", *JSON_TYPES)


def parameters(value: Json) -> dict[str, Json]:
    """Parameters, which are an object.

    Raises:
        InvalidRequestError: they are not.
    """
    if not isinstance(value, dict):
        raise InvalidRequestError("The body is no JSON object.")
    return value


def event_stream(events: AsyncGenerator[tuple[Json, int], None], clock: Clock) -> StreamingResponse:
    """A stream of server-sent events.

    Args:
        events: each event and the number of the entry that it tells of; -1 for an event that a client can not go on
            behind.
        clock: the time.
    """
    return _ReadStream(_lines(events, clock), media_type="text/event-stream", headers=_SSE)


class _ReadStream(StreamingResponse):
    """A stream that ends with the key of its reader. Its task goes on."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[ENDS_WITH_KEY] = True
        await super().__call__(scope, receive, send)


async def _lines(events: AsyncGenerator[tuple[Json, int], None], clock: Clock) -> AsyncIterator[bytes]:
    coming: asyncio.Task[tuple[Json, int] | None] | None = None
    async with aclosing(events):
        try:
            while True:
                coming = coming or asyncio.create_task(_next(events))
                with suppress(TimeoutError):
                    async with clock.timeout(SILENT_S):
                        await asyncio.wait([coming])
                if not coming.done():
                    yield b": still here\n\n"
                    continue
                told, coming = coming.result(), None
                if told is None:
                    return
                event, number = told
                id_ = b"id: %d\n" % number if number >= 0 else b""
                yield id_ + b"data: " + msgspec.json.encode(event) + b"\n\n"
        finally:
            if coming is not None:
                coming.cancel()
                await asyncio.wait([coming])


async def _next(events: AsyncGenerator[tuple[Json, int], None]) -> tuple[Json, int] | None:
    return await anext(events, None)
