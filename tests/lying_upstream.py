"""Servers of every kind that actum sends requests to, all of which may lie: bytes come that nobody has asked for.

Each kind has a port of its own, since what one destination did says nothing of another. A true answer repeats the mark
of its request, such as `north-3`; a forged one says `forged`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import ssl
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple

from actum.core.json import Json, JsonObject
from tests.patience import HANGS_S
from tests.transport.wire_servers import length_of, listening

KINDS = ("model", "gateway", "api", "mcp", "a2a", "webhook", "login")
_MARK = re.compile(rb"(?:north|south)-\d+")


class Lie(NamedTuple):
    """What a server does beside answering.

    Attributes:
        behind: what it says behind an answer, by a forged answer.
        before: what it says before the answer to a request with a mark that is not the first on its connection.
        short: the length that it tells of a body is too short.
        late: once the answer was taken, it says a forged one on the same connection.
    """

    behind: Callable[[bytes], bytes] = lambda forged: b""
    before: Callable[[bytes], bytes] = lambda forged: b""
    short: bool = False
    late: bool = False


LIES = {
    "one byte more": Lie(lambda forged: b"X"),
    "a line break more": Lie(lambda forged: b"\r\n"),
    "a whole answer more": Lie(lambda forged: forged),
    "an interim answer more": Lie(lambda forged: b"HTTP/1.1 100 Continue\r\n\r\n"),
    "a length that is too short": Lie(short=True),
    "a late answer while nobody uses the connection": Lie(late=True),
    "a late answer while the next request is under way": Lie(before=lambda forged: forged),
    "a late byte while the next request is under way": Lie(before=lambda forged: b"X"),
}
HONEST = Lie()


class LyingUpstream:
    """All of them.

    Attributes:
        ports: by kind.
        connections: by kind, and of each connection the marks of its requests; empty for a request without a mark.
    """

    def __init__(self, lie: Lie, scheme: str) -> None:
        self._lie = lie
        self._scheme = scheme
        self.ports: dict[str, int] = {}
        self.connections: defaultdict[str, list[list[str]]] = defaultdict(list)
        self._open: defaultdict[str, dict[asyncio.StreamWriter, asyncio.Event]] = defaultdict(dict)
        self._forged = b""

    def origin(self, kind: str) -> str:
        return f"{self._scheme}://localhost:{self.ports[kind]}"

    async def says_late(self, kind: str) -> None:
        """Say a forged answer on each connection that is open, and wait until the other side has closed it."""
        if self._lie.late:
            for writer, is_closed in list(self._open[kind].items()):
                writer.write(self._forged)
                async with asyncio.timeout(HANGS_S):
                    await is_closed.wait()

    async def serve(self, kind: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        marks: list[str] = []
        self.connections[kind].append(marks)
        self._open[kind][writer] = is_closed = asyncio.Event()
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                body = await reader.readexactly(length_of(head))
                found = _MARK.search(body if kind != "webhook" and body else head)
                marks.append(found[0].decode() if found else "")
                writer.write(self._answer(kind, head, body, marks))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            del self._open[kind][writer]
            is_closed.set()

    def _answer(self, kind: str, head: bytes, body: bytes, marks: list[str]) -> bytes:
        asked = json.loads(body) if body.startswith(b"{") else {}
        content = self._says(kind, head, asked, f"true {marks[-1]}")
        self._forged = _wire(self._says(kind, head, {**asked, "id": _next(asked.get("id"))}, "forged"))
        is_late = bool(marks[-1]) and len(marks) > 1
        before = self._lie.before(_wire(self._says(kind, head, asked, "forged"))) if is_late else b""
        return before + _wire(content, short=self._lie.short) + self._lie.behind(self._forged)

    def _says(self, kind: str, head: bytes, asked: JsonObject, words: str) -> Json:
        """The content of an answer; None for an answer without one."""
        match kind:
            case "model" | "gateway":
                choice: JsonObject = {"index": 0, "message": {"role": "assistant", "content": words}}
                choice["finish_reason"] = "stop"
                usage: JsonObject = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
                return {"id": "c", "object": "chat.completion", "choices": [choice], "usage": usage}
            case "api":
                return {"said": words}
            case "mcp":
                return _rpc(asked, _mcp(str(asked.get("method")), words)) if "id" in asked else None
            case "a2a":
                message: JsonObject = {
                    "messageId": "m",
                    "contextId": "c",
                    "role": "ROLE_AGENT",
                    "parts": [{"text": words}],
                }
                return self._card() if head.startswith(b"GET") else _rpc(asked, {"message": message})
            case "login":
                return self._metadata() if head.startswith(b"GET") else {"error": "invalid_grant", "words": words}
            case _:
                return None

    def _card(self) -> JsonObject:
        place: JsonObject = {"url": self.origin("a2a"), "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        return {"name": "Remote", "supportedInterfaces": [place], "capabilities": {}}

    def _metadata(self) -> JsonObject:
        mine = self.origin("login")
        return {
            "issuer": mine,
            "authorization_endpoint": f"{mine}/authorize",
            "token_endpoint": f"{mine}/token",
            "jwks_uri": f"{mine}/jwks",
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
            "id_token_signing_alg_values_supported": ["ES256"],
        }


@asynccontextmanager
async def lying_upstream(lie: Lie, context: ssl.SSLContext | None = None) -> AsyncIterator[LyingUpstream]:
    """Servers of each kind, until the block ends."""
    upstream = LyingUpstream(lie, "https" if context else "http")
    async with contextlib.AsyncExitStack() as stack:
        for kind in KINDS:

            async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, kind: str = kind) -> None:
                await upstream.serve(kind, reader, writer)

            upstream.ports[kind] = await stack.enter_async_context(listening(serve, context))
        yield upstream


def _rpc(asked: JsonObject, result: JsonObject) -> JsonObject:
    return {"jsonrpc": "2.0", "id": asked.get("id"), "result": result}


def _mcp(method: str, words: str) -> JsonObject:
    schema: JsonObject = {"type": "object", "properties": {"mark": {"type": "string"}}, "required": ["mark"]}
    if method == "server/discover":
        info: JsonObject = {"name": "liar", "version": "1"}
        return {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": [{"name": "say", "description": "Say it.", "inputSchema": schema}], "ttlMs": 3_600_000}
    return {"content": [{"type": "text", "text": words}]}


def _next(number: Json) -> Json:
    return number + 1 if isinstance(number, int) else number


def _wire(content: Json, *, short: bool = False) -> bytes:
    if content is None:
        return b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n" + (b"  " if short else b"")
    body = json.dumps(content).encode() + b"  "
    length = len(body) - 2 if short else len(body)
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % length + body
