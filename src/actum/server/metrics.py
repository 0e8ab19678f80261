"""What a server has done since it started, counted, as Prometheus reads it.

Own code, since the text format is a page long and `prometheus_client` keeps its counts in the state of the process:
two servers in one process, or two tests, would count together. Its parser judges the text in our tests.

What stands in a database is looked at when somebody asks for the text (`Metrics.watch`).

Limits: counts are of this process and start anew with it. Tools, users and tenants have no counts of their own: the
number of series would grow with them, and the text would tell about them.
"""

from __future__ import annotations

import asyncio
import logging
from bisect import bisect_left
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from math import inf
from typing import Final, cast

from ..core.errors import JournalError
from ..core.interfaces import Clock, Journal
from ..core.record import CallCompleted, CallRefused, Ended, Record, Started

MEDIA_TYPE: Final = b"text/plain; version=0.0.4; charset=utf-8"
BOUNDS_S: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
WATCHED_S: Final = 5.0
"""What is watched is looked at once in this time."""
LOOK_S: Final = 1.0
"""A look may take no longer."""

log = logging.getLogger("actum.server")

Look = Callable[[], Awaitable[Sequence[str]]]
Labels = tuple[tuple[str, str], ...]


class Histogram:
    """How long something took, in classes."""

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS_S) + 1)
        self.sum_s = 0.0

    def take(self, seconds: float) -> None:
        """Count one duration."""
        self.counts[bisect_left(BOUNDS_S, seconds)] += 1
        self.sum_s += seconds


class Metrics:
    """The counts of one server.

    Attributes:
        under_way: how many requests have begun and are not over.
    """

    def __init__(self) -> None:
        self.under_way = 0
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._request_s: dict[str, Histogram] = {}
        self._runs_started = 0
        self._runs_ended: Counter[str] = Counter()
        self._calls: Counter[str] = Counter()
        self._call_s = Histogram()
        self._watched: _Watched | None = None

    def watch(self, look: Look, clock: Clock) -> None:
        """Tell also what can not be counted here, such as the tasks in the list of tasks.

        Args:
            look: returns lines in the text format of Prometheus. Where that fails or takes long, they are left out.
            clock: the time.
        """
        self._watched = _Watched(look, clock)

    async def scraped(self) -> bytes:
        """All counts, and what is watched, in the text format of Prometheus."""
        lines = await self._watched.lines() if self._watched is not None else ()
        return self.text() + "".join(f"{line}\n" for line in lines).encode()

    def request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request that is over.

        Args:
            route: the route as the door writes it, such as `/v1/runs/{id}`: never a path that a client made up.
            method: of the request.
            status: of the response; 0 where the client got none.
            seconds: how long it took.
        """
        self._requests[route, method, status] += 1
        self._request_s.setdefault(route, Histogram()).take(seconds)

    def record(self, record: Record) -> None:
        """Count what a record says of runs and calls."""
        match record:
            case Started():
                self._runs_started += 1
            case Ended(status=status):
                self._runs_ended[status] += 1
            case CallCompleted(final=True):
                self._calls[record.result.error.code if record.result.error else "done"] += 1
                self._call_s.take(record.seconds)
            case CallRefused():
                self._calls[record.result.error.code if record.result.error else "refused"] += 1
            case _:
                pass

    def text(self) -> bytes:
        """All counts of this process, in the text format of Prometheus."""
        return ("\n".join(self._lines()) + "\n").encode()

    def _lines(self) -> Iterator[str]:
        requests: dict[Labels, float] = {
            (("route", route), ("method", method), ("status", str(status))): count
            for (route, method, status), count in self._requests.items()
        }
        yield from _counts("actum_http_requests_total", "counter", "Requests that are over.", requests)
        yield from _counts("actum_http_requests_under_way", "gauge", "Requests under way.", {(): self.under_way})
        yield from _durations(
            "actum_http_request_seconds",
            "How long requests took, streams included.",
            {(("route", route),): found for route, found in self._request_s.items()},
        )
        yield from _counts("actum_runs_started_total", "counter", "Runs that began.", {(): self._runs_started})
        yield from _counts(
            "actum_runs_ended_total", "counter", "Runs that ended or paused.", _by("status", self._runs_ended)
        )
        yield from _counts("actum_calls_total", "counter", "Calls of tools by outcome.", _by("outcome", self._calls))
        yield from _durations("actum_call_seconds", "How long tools took.", {(): self._call_s})


class _Watched:
    """What is looked at now and then, however often it is asked for."""

    def __init__(self, look: Look, clock: Clock) -> None:
        self._look = look
        self._clock = clock
        self._looking = asyncio.Lock()
        self._at, self._lines = -inf, cast(Sequence[str], ())

    async def lines(self) -> Sequence[str]:
        """The lines, as of a few seconds ago."""
        async with self._looking:
            if self._clock.monotonic() - self._at >= WATCHED_S:
                try:
                    async with self._clock.timeout(LOOK_S):
                        self._lines = await self._look()
                except (JournalError, TimeoutError) as error:
                    log.warning("the figures of the tasks are left out: %s", str(error) or type(error).__name__)
                    self._lines = ()
                self._at = self._clock.monotonic()
        return self._lines


class CountedJournal:
    """A journal of which each record is counted. All else is the journal's own.

    Args:
        journal: where records are written.
        metrics: counts them.
    """

    def __init__(self, journal: Journal, metrics: Metrics) -> None:
        self._journal = journal
        self._metrics = metrics

    def append(self, run_id: str, record: Record) -> int:
        """Write down a record, and count it."""
        number = self._journal.append(run_id, record)
        self._metrics.record(record)
        return number

    def __getattr__(self, name: str) -> object:
        return getattr(self._journal, name)


def counted(journal: Journal, metrics: Metrics) -> Journal:
    """A journal of which each record is counted.

    Args:
        journal, metrics: as for `CountedJournal`.
    """
    return cast(Journal, CountedJournal(journal, metrics))  # what it does not say itself, the journal says


def gauge(name: str, about: str, values: Mapping[Labels, float]) -> Iterator[str]:
    """A figure that can rise and fall, in the text format of Prometheus.

    Args:
        name: of the figure.
        about: what it says.
        values: its values by their labels.
    """
    yield from _counts(name, "gauge", about, values)


def _by(name: str, counts: Mapping[str, int]) -> dict[Labels, float]:
    return {((name, value),): count for value, count in counts.items()}


def _counts(name: str, kind: str, about: str, values: Mapping[Labels, float]) -> Iterator[str]:
    yield f"# HELP {name} {about}"
    yield f"# TYPE {name} {kind}"
    for labels, value in values.items():
        yield f"{name}{_shown(labels)} {value}"


def _durations(name: str, about: str, values: Mapping[Labels, Histogram]) -> Iterator[str]:
    yield f"# HELP {name} {about}"
    yield f"# TYPE {name} histogram"
    for labels, histogram in values.items():
        total = 0
        for bound, count in zip([*map(str, BOUNDS_S), "+Inf"], histogram.counts, strict=True):
            total += count
            yield f"{name}_bucket{_shown((*labels, ('le', bound)))} {total}"
        yield f"{name}_sum{_shown(labels)} {histogram.sum_s}"
        yield f"{name}_count{_shown(labels)} {total}"


def _shown(labels: Labels) -> str:
    told = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels)
    return f"{{{told}}}" if told else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
