"""A client of an MCP server over stdio that knows no more than the bytes: lines of JSON, sent as a test wants them."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from typing import Self

import msgspec

from actum.core.json import Json, JsonObject
from tests import warm
from tests.patience import HANGS_S

MODERN = "2026-07-28"
LEGACY = "2025-11-25"


class Wire:
    """The process and its two streams.

    Attributes:
        process: the server.
        heard: every message it sent that answers none of our requests, in order.
        meta: what is sent as `_meta` of every request.
        answers: by method, the result that a request of the server gets.
    """

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process = process
        self.heard: list[JsonObject] = []
        self.meta: JsonObject = {}
        self.answers: dict[str, JsonObject] = {}
        self._to, self._from = process.stdin, process.stdout
        self._ids = itertools.count(1)

    async def send(self, message: Json) -> None:
        """Send a message as a line."""
        await self.send_line(msgspec.json.encode(message))

    async def send_line(self, line: bytes) -> None:
        """Send a line as it is."""
        self._to.write(line + b"\n")
        await self._to.drain()

    async def receive(self) -> JsonObject:
        """The next message; whatever is on stdout has to be one.

        Raises:
            EOFError: the server has closed its stdout.
        """
        async with asyncio.timeout(HANGS_S):
            line = await self._from.readline()
        if not line:
            raise EOFError
        return msgspec.json.decode(line, type=JsonObject)

    async def begin(self, method: str, params: JsonObject | None = None) -> int:
        """Send a request and do not wait for its answer; its id."""
        number = next(self._ids)
        with_meta = {**(params or {}), **({"_meta": {**self.meta, **_meta(params)}} if self.meta else {})}
        await self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": with_meta})
        return number

    async def answer(self, number: int) -> JsonObject:
        """The answer to a request: the whole message, result or error. What comes before it goes to `heard`."""
        while (message := await self.receive()).get("id") != number or "method" in message:
            self.heard.append(message)
            if "id" in message and (result := self.answers.get(str(message.get("method")))) is not None:
                await self.send({"jsonrpc": "2.0", "id": message["id"], "result": result})
        return message

    async def ask(self, method: str, params: JsonObject | None = None) -> JsonObject:
        """Send a request; its result.

        Raises:
            AssertionError: it was answered with an error.
        """
        message = await self.answer(await self.begin(method, params))
        assert "error" not in message, message
        result = message["result"]
        assert isinstance(result, dict)
        return result

    async def refused(self, method: str, params: JsonObject | None = None) -> JsonObject:
        """Send a request that is to fail; its error."""
        message = await self.answer(await self.begin(method, params))
        error = message["error"]
        assert isinstance(error, dict)
        return error

    async def shake_hands(self, capabilities: JsonObject | None = None) -> JsonObject:
        """The beginning of the handshake era; what the server said of itself."""
        client: JsonObject = {"name": "wire", "version": "1"}
        said = await self.ask(
            "initialize", {"protocolVersion": LEGACY, "capabilities": capabilities or {}, "clientInfo": client}
        )
        await self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return said

    def go_modern(self, capabilities: JsonObject | None = None) -> Self:
        """Say with every request what the era without a handshake wants said."""
        self.meta = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": capabilities or {},
            "io.modelcontextprotocol/clientInfo": {"name": "wire", "version": "1"},
        }
        return self

    async def leave(self) -> int:
        """Close its stdin, as the protocol says a client ends; the exit code."""
        self._to.close()
        async with asyncio.timeout(HANGS_S):
            while await self._from.readline():
                pass
            return await self.process.wait()


@contextlib.asynccontextmanager
async def stdio_server(
    *command: str, env: Mapping[str, str] | None = None, cwd: str | None = None
) -> AsyncIterator[Wire]:
    """Run a server with pipes to it. Whatever it left running is killed when the block ends."""
    process = await (warm.start if command[0] == sys.executable else asyncio.create_subprocess_exec)(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, **(env or {})},
        cwd=cwd,
        limit=64 * 1024 * 1024,
        start_new_session=True,
    )
    wire = Wire(process)
    try:
        yield wire
    finally:
        with contextlib.suppress(ProcessLookupError):  # it has left, and nothing stayed behind
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


def _meta(params: JsonObject | None) -> JsonObject:
    meta = (params or {}).get("_meta")
    return meta if isinstance(meta, dict) else {}
