"""The access log: one line of JSON for each request that is over, and what is known of a request while it is answered.

A line never holds a query, a body or a header. A thread writes the lines: where the disk is full or the reader of a
pipe hangs, lines are lost and counted, and no request waits. Lines that come within `GATHER_S` are written together:
a thread that woke for each line would cost more than the line. A process that is killed loses the lines of that time.
"""

from __future__ import annotations

import logging
import os
import stat
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import msgspec
from msgspec import Struct

from ..core.errors import UsageError
from ..core.run.record import ModelReplied, Record, Started
from ..core.stored.passed import PassedRequest
from ..core.trace import checked_traceparent, trace_id

log = logging.getLogger("actum.server")

LINES_MAX = 10_000
"""At most this many lines wait to be written; further ones are lost."""
GATHER_S = 0.05
"""Lines that come within this time are written together."""
WRITE_BYTES_MAX = 4_096
"""At most these bytes are written at once, so that lines of several processes do not mix in one pipe."""
END_S = 1.0
"""Seconds that the end of a server waits for lines that are not written yet."""
STDERR = "-"
UNKNOWN_ROUTE = "unknown"
"""The route of a request that no route fits, or whose route is not known."""


class RequestFacts:
    """What is known of a request while it is answered. Tasks that answer the request share the one object.

    Attributes:
        run_id: the first run that the request began.
        trace_id: the trace that the run or the request belongs to.
        model, upstream: of the run, or of a request for a model that was passed on; as they stand in the settings.
        tokens, cost: what models used for the request.
        passed: the line of a request that was passed on.
        traceparent: as the client sent it; empty where the client sent none, or something else.

    Args:
        headers: of the request.
    """

    __slots__ = ("cost", "model", "passed", "run_id", "tokens", "trace_id", "traceparent", "upstream")

    def __init__(self, headers: Sequence[tuple[bytes, bytes]] = ()) -> None:
        self.run_id = self.trace_id = self.model = self.upstream = ""
        sent = [value for name, value in headers if name == b"traceparent"]
        self.traceparent = checked_traceparent(sent[0].decode("latin-1")) if len(sent) == 1 else ""
        if self.traceparent:
            self.trace_id = trace_id("", self.traceparent)
        self.tokens, self.cost = 0, Decimal(0)
        self.passed: PassedRequest | None = None

    def note(self, run_id: str, record: Record) -> None:
        """Note what a record of a run says that the request began, or goes on with."""
        if isinstance(record, Started) and not record.parent:
            if not self.run_id:
                self.run_id, self.trace_id = run_id, trace_id(run_id, record.trace)
            self.model = self.model or record.model
        elif isinstance(record, ModelReplied):
            self.tokens += record.reply.usage.input_tokens + record.reply.usage.output_tokens
            self.cost += record.cost

    def note_passed(self, passed: PassedRequest) -> None:
        """Note that the request was passed on, and how that ended."""
        self.passed = passed
        self.trace_id = passed.trace_id
        self.model, self.upstream = passed.model, passed.upstream
        self.tokens += passed.input_tokens + passed.output_tokens
        self.cost += passed.cost or 0


request_facts: ContextVar[RequestFacts | None] = ContextVar("actum_request_facts", default=None)
"""What is known of the request that is answered now."""


def traceparent_of_request() -> str:
    """The `traceparent` that came with the request that is answered now; empty where none came."""
    facts = request_facts.get()
    return facts.traceparent if facts is not None else ""


class AccessLine(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A request that is over.

    Attributes:
        time: when it began, by RFC 3339, in UTC.
        request_id, trace_id, run_id: by which it is found elsewhere; no trace and no run are left out.
        method, route: the route as the server writes it, such as `/v1/runs/{id}`.
        status: of the answer; 0 where the client got none.
        seconds: how long it took, a stream to its end.
        bytes: of the body of the answer.
        key_id, tenant: whose request it was.
        client: the address of the client, as far as proxies are believed.
        model, upstream, tokens, cost: of a request for a model.
    """

    time: str
    request_id: str
    trace_id: str = ""
    run_id: str = ""
    method: str
    route: str
    status: int
    seconds: float
    bytes: int
    key_id: str = ""
    tenant: str = ""
    client: str = ""
    model: str = ""
    upstream: str = ""
    tokens: int = 0
    cost: float | None = None


def moment(at: float) -> str:
    """A time by RFC 3339.

    >>> moment(1_793_516_400.25)
    '2026-11-01T07:00:00.250Z'
    """
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def encoded(line: AccessLine) -> bytes:
    """A line as it is written: no sign in it can move the cursor of a terminal or begin another line."""
    text = msgspec.json.encode(line)
    if not text.isascii():
        text = "".join(each if each.isascii() else _escaped(each) for each in text.decode()).encode()
    return text.replace(b"\x7f", b"\\u007f") + b"\n"


def _escaped(sign: str) -> str:
    units = sign.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


class AccessLog:
    """Writes lines, within the block of `opened`.

    Args:
        place: a file, or `-` for the standard error.
        lost: is called for each line that could not be written, in whatever thread.

    Raises:
        UsageError: the folder of the file is not there.
    """

    def __init__(self, place: str, lost: Callable[[], None] = lambda: None) -> None:
        if place != STDERR and not Path(place).absolute().parent.is_dir():
            raise UsageError(
                "[serve] access_log: the folder of {place} is not there: make the folder, or write - for the "
                "standard error",
                place=place,
            )
        self._place, self._lost = place, lost
        self._file = -1
        self._is_broken = False
        self._lines: deque[AccessLine] = deque()
        self._came, self._ends = threading.Event(), threading.Event()
        self._reopens = threading.Event()

    @contextmanager
    def opened(self) -> Iterator[None]:
        """A block within which lines are written. At its end, a second at most is waited for lines that wait.

        Raises:
            UsageError: the file can not be opened.
        """
        self._file = _opened(self._place)
        thread = threading.Thread(target=self._write_all, name="access log", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._ends.set()
            self._came.set()
            thread.join(END_S)

    def write(self, line: AccessLine) -> None:
        """Have a line written. Nobody waits."""
        if len(self._lines) >= LINES_MAX:
            self._lost()
            return
        self._lines.append(line)
        if not self._came.is_set():
            self._came.set()

    def reopen(self) -> None:
        """Write what comes from now on into the file that has the name now: another program has moved the old one."""
        self._reopens.set()

    def _write_all(self) -> None:
        is_over = False
        while not is_over:
            self._came.wait()
            is_over = self._ends.wait(GATHER_S)
            self._came.clear()  # before the lines are taken: a line that comes from here on wakes this thread again
            while self._lines:
                if self._reopens.is_set():
                    self._reopens.clear()
                    self._open_anew()
                self._write(self._gathered())

    def _gathered(self) -> list[bytes]:
        """The lines that are written next, of those that wait: at least one."""
        lines = [encoded(self._lines.popleft())]
        size = len(lines[0])
        while self._lines and size < WRITE_BYTES_MAX:
            line = encoded(self._lines[0])
            if (size := size + len(line)) <= WRITE_BYTES_MAX:
                lines.append(line)
                self._lines.popleft()
        return lines

    def _write(self, lines: Sequence[bytes]) -> None:
        """Write lines; those that were not written, or only in part, are lost. The next line begins behind a line
        break.
        """
        told = b"".join(lines)
        left = b"\n" + told if self._is_broken else told
        try:
            while left:
                written = os.write(self._file, left)
                left = left[written:]
                self._is_broken = bool(left)
        except OSError:
            for _ in range(min(len(lines), left.count(b"\n"))):
                self._lost()

    def _open_anew(self) -> None:
        try:
            new = _opened(self._place)
        except UsageError as error:
            log.error("the old access log is written on: %s", error)
            return
        if self._place != STDERR:
            os.close(self._file)
        self._file, self._is_broken = new, False


def _opened(place: str) -> int:
    """Raises:
    UsageError: the file can not be opened.
    """
    if place == STDERR:
        return sys.__stderr__.fileno() if sys.__stderr__ is not None else os.open(os.devnull, os.O_WRONLY)
    try:
        # A pipe that nobody reads would keep the server from starting.
        file = os.open(place, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
        os.set_blocking(file, True)
        if stat.S_ISREG(os.fstat(file).st_mode):
            os.fchmod(file, 0o600)
    except OSError as error:
        raise UsageError(
            "[serve] access_log: {place} can not be written: {why}", place=place, why=error.strerror or error
        ) from None
    return file
