"""`JailedReader`: has documents read as pages by a child process in a jail that opens nothing.

    async with JailedReader() as reader:
        page = await reader.read("lease.pdf", data)

A document may take 20 seconds, and all processes of the jail 1 GiB of memory. The child says when it is ready, so its
start is no part of the document's time. The child that was ended at a limit is started anew for the next document. What
the child answers is checked like any other foreign bytes.

What is not covered: the child reads one document after the other, so a document that takes over the child can change
what is read of later documents of the same reader. Use a reader for documents of one collection alone.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import cache
from pathlib import Path
from struct import Struct as Packing
from typing import Self

import anyio
import msgspec
from msgspec import Struct

from ..sandbox.backend import JailBackend, backend_named
from ..sandbox.jail import Jail, JailLimits
from ..sandbox.layers import layers, start
from ..transport.process import Child, start_child
from .document_kinds import kind_of
from .problems import PROBLEMS
from .reading.page import TEXT_CHARS_MAX, TITLE_CHARS_MAX, DocumentPage, TextSpan, UnreadableDocument

DOCUMENT_BYTES_MAX = 50 * 1024 * 1024
READ_S = 20.0
START_S = 60.0
MEMORY_BYTES = 1024 * 1024 * 1024
ANSWER_BYTES_MAX = 64 * 1024 * 1024
_LONG_S = 24 * 3600.0
_LIMITS = JailLimits(memory_bytes=MEMORY_BYTES, cpu_seconds=_LONG_S, processes=16, seconds=_LONG_S)
_HEAD, _LENGTH = Packing(">II"), Packing(">I")
_SCRIPT = "read.py"
_READY = b"ready\n"
_PROGRAM = b"from reading.child import main\nmain()\n"
_PLACE = Path(__file__).with_name("reading")


class _Answer(Struct, frozen=True):
    page: DocumentPage | None = None
    problem: str = ""
    detail: str = ""


class JailedReader:
    """Reads documents. One `async with` has one child process, which is started with the first document.

    Args:
        backend: what holds the jail; None for what comes with actum.
        read_s: seconds that a document may take.

    Attributes:
        is_jailed: whether a jail holds the child; True before there is one.
    """

    def __init__(self, backend: JailBackend | None = None, *, read_s: float = READ_S) -> None:
        self._backend = backend_named("") if backend is None else backend
        self._read_s = read_s
        self._stack = AsyncExitStack()
        self._child: Child | None = None
        self.is_jailed = True

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._end()

    async def read(self, name: str, data: bytes) -> DocumentPage:
        """The page of a document.

        Args:
            name: of the file; its ending tells the kind.
            data: the bytes.

        Raises:
            UnreadableDocument: it can not be read.
        """
        kind = kind_of(name)
        if not kind:
            raise UnreadableDocument("unknown_kind")
        if len(data) > DOCUMENT_BYTES_MAX:
            raise UnreadableDocument("too_large")
        if not data.strip():
            raise UnreadableDocument("empty")
        try:
            async with asyncio.timeout(START_S):
                child = self._child = self._child or await self._start()
            async with asyncio.timeout(self._read_s):
                answer = await self._ask(child, kind, data)
        except TimeoutError:
            await self._end()
            raise UnreadableDocument("too_slow") from None
        except (asyncio.IncompleteReadError, ConnectionError, msgspec.DecodeError):  # the child was ended, or lies
            await self._end()
            raise UnreadableDocument("too_large" if self._was_ended_for_memory else "broken") from None
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self._end()
            raise
        if answer.page is None:
            raise UnreadableDocument(answer.problem if answer.problem in PROBLEMS else "broken", answer.detail[:100])
        return checked(answer.page)

    async def _ask(self, child: Child, kind: str, data: bytes) -> _Answer:
        child.stdin.write(_HEAD.pack(len(kind), len(data)) + kind.encode())
        child.stdin.write(data)
        await child.stdin.drain()
        (length,) = _LENGTH.unpack(await child.stdout.readexactly(_LENGTH.size))
        if length > ANSWER_BYTES_MAX:
            raise msgspec.DecodeError("the answer is too long")
        return msgspec.json.decode(await child.stdout.readexactly(length), type=_Answer)

    async def _start(self) -> Child:
        """A child that is ready to read."""
        child = await self._child_of_a_jail()
        await child.stdout.readexactly(len(_READY))
        return child

    async def _child_of_a_jail(self) -> Child:
        self._was_ended_for_memory = False
        self.is_jailed = all(each.is_held for each in await layers(self._backend))
        command = [sys.executable, _SCRIPT]
        if self.is_jailed:
            made = start(command, Jail(limits=_LIMITS), files=_program(), backend=self._backend)
            process = await self._stack.enter_async_context(made)
            self._stack.callback(lambda: self._note(process.report_before_removal))
            return process.child
        return await self._stack.enter_async_context(_unjailed(command))

    def _note(self, report: object) -> None:
        self._was_ended_for_memory = getattr(report, "limit", "") == "memory_bytes"

    async def _end(self) -> None:
        self._child = None
        await self._stack.aclose()
        self._stack = AsyncExitStack()

    _was_ended_for_memory = False


@cache
def _program() -> Mapping[str, bytes]:
    """The files of the child: the folder `reading`, and what starts it."""
    return {_SCRIPT: _PROGRAM, **{f"reading/{path.name}": path.read_bytes() for path in _PLACE.glob("*.py")}}


def _write_program(place: Path) -> None:
    for name, data in _program().items():
        path = place / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)


@asynccontextmanager
async def _unjailed(command: list[str]) -> AsyncIterator[Child]:
    """The child on a machine that holds no jail."""
    with tempfile.TemporaryDirectory(prefix="actum-read-") as place:
        await asyncio.to_thread(_write_program, Path(place))
        child = await start_child(command, env={"PATH": "/usr/bin:/bin"}, cwd=place)
        try:
            yield child
        finally:
            with suppress(OSError):
                await child.end()
            child.close()


def checked(page: DocumentPage) -> DocumentPage:
    """The page, if its parts are parts of its text.

    Raises:
        UnreadableDocument: they are not.
    """
    length = len(page.text)
    parts: Iterable[Iterable[TextSpan]] = (page.headings, page.links, page.units)  # type: ignore[assignment]  # alike
    for several in parts:
        last = 0
        for each in several:
            if not last <= each.start < each.end <= length:
                raise UnreadableDocument("broken")
            last = each.start
    if any(not 0 <= each.start <= length or each.page < 0 or each.line < 0 for each in page.positions):
        raise UnreadableDocument("broken")
    if not 0 < length <= TEXT_CHARS_MAX or len(page.title) > TITLE_CHARS_MAX:
        raise UnreadableDocument("broken")
    return page
