"""`SpanExporter`: sends the spans of runs that are over to a collector, each run by one of all processes of a journal.

What was sent twice, since a process was killed between sending and noting it, is the same span. A collector that hangs,
refuses or is away delays nothing but its own spans: they wait in the journal's database and are tried again.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from functools import partial
from typing import Literal

from msgspec import Struct, structs

from ..core.errors import Busy, JournalError, UsageError
from ..core.interfaces import Clock, Journal
from ..core.run.record import Entry
from ..core.stored.passed import PassedRequest, PassedRequests
from ..core.stores import Transaction
from ..journal.timeline import Timeline
from ..scores.feature import SCORES, ScoreRow
from ..transport.fetcher import Fetcher
from ..transport.http import HttpFailure
from .feature import FEATURE, UNSENT, Unsent
from .settings import TelemetryTable
from .spans import SpanContent, TraceSpan, passed_span, score_spans, spans_of

log = logging.getLogger("actum.telemetry")

RUNS_AT_ONCE = 50
"""At most the spans of this many runs are sent in one request."""
ROWS_MAX = 1_000
"""At most this many runs are read at a time."""
LINES_MAX = 1_000_000
"""At most this many passed-through requests are sent by hand at a time."""
LINES_AT_ONCE = 500
"""At most the spans of this many passed-through requests are sent in one request."""
RETRY_S_MAX = 60.0
SINCE = "telemetry since"
"""The position that says since when spans are sent: runs that began before are sent by `actum telemetry send` alone."""
_REFUSED = frozenset({400, 413, 422})
"""What a collector answers to spans that it will never take."""

Outcome = Literal["sent", "failed", "dropped"]
Encode = Callable[[Sequence[TraceSpan], Mapping[str, str]], bytes]


class Collector(Struct, frozen=True):
    """Where spans are sent.

    Attributes:
        url: the address of its traces.
        headers: gives the headers of a request, read anew for each, since secrets change.
        resource: what sends the spans.
        encode: makes the body.
        rejected: how many spans the collector did not keep, by the body of a good answer.
    """

    url: str
    headers: Callable[[], Mapping[str, str]]
    resource: Mapping[str, str]
    encode: Encode
    rejected: Callable[[bytes], int]

    def __repr__(self) -> str:
        return "Collector(...)"  # a header holds a secret


async def _as_it_is(run_id: str, entries: Sequence[Entry]) -> Sequence[Entry]:
    return entries


class SpanExporter:
    """Sends spans.

    Args:
        journal: where the runs are on record.
        collector: where they are sent.
        fetcher: sends requests.
        table: what the settings say.
        clock: the time.
        count: is told how many spans were sent, failed or dropped.
        seen: gives the entries of a run as the collector may see them.
    """

    def __init__(
        self,
        journal: Journal,
        collector: Collector,
        fetcher: Fetcher,
        table: TelemetryTable,
        clock: Clock,
        count: Callable[[Outcome, int], None] = lambda outcome, number: None,
        seen: Callable[[str, Sequence[Entry]], Awaitable[Sequence[Entry]]] = _as_it_is,
    ) -> None:
        self._seen = seen
        self._journal, self._collector, self._fetcher = journal, collector, fetcher
        self._table, self._clock, self._count = table, clock, count
        self._said = SpanContent(content=table.content, users=table.users)
        self._since = float("inf")
        self._problem = ""
        self._sizes: dict[str, int] = {}  # how many spans each run has that waits, while the collector takes none
        if journal.passed is not None:
            journal.passed.note_unsent()

    async def run(self) -> None:
        """Send spans until this is cancelled."""
        wait_s = self._table.every_s
        while True:
            await self._clock.sleep(wait_s)
            is_well = True
            with suppress(JournalError):  # a database that is away comes back
                is_well = await self.look()
            wait_s = self._table.every_s if is_well else min(wait_s * 2, RETRY_S_MAX)

    async def look(self) -> bool:
        """Send what there is; whether the collector took it.

        Raises:
            JournalError: the journal can not be read or written.
        """
        await self._begin()
        await self._journal.stores.read("", lambda transaction: None, caught_up=FEATURE.name)
        rows = await self._journal.stores.find_everywhere(UNSENT, limit=ROWS_MAX)
        held = await self._journal.held.which([row.run_id for _, row in rows])
        free = [(tenant, row) for tenant, row in rows if row.run_id not in held]
        held_at = await self._journal.held.since()
        if held_at is not None:
            free = await self._went_on(free, held_at)
        is_well = True
        for at in range(0, len(free), RUNS_AT_ONCE):
            if not (is_well := await self._send_rows(free[at : at + RUNS_AT_ONCE])):
                break
        if is_well and held_at is None:
            is_well = await self._send_beside()
        if is_well:
            self._sizes.clear()
        else:
            await self._drop()
        return is_well

    async def _went_on(self, rows: Sequence[tuple[str, Unsent]], held_at: float) -> list[tuple[str, Unsent]]:
        """Those of these runs that have done something since the journal was held. The spans of the others may have
        been sent after the backup, by the server that was lost."""
        entries = await self._journal.read_each([row.run_id for _, row in rows])
        return [each for each in rows if (found := entries.get(each[1].run_id)) and found[-1].at >= held_at]

    async def _send_beside(self) -> bool:
        """Send scores and the spans of passed-through requests; whether the collector took them."""
        with suppress(Busy):  # another process sends them
            async with self._journal.claim("telemetry of scores"):
                if not await self._send_scores():
                    return False
        if self._journal.passed is not None:
            with suppress(Busy):
                async with self._journal.claim("telemetry of passed requests"):
                    return await self._send_lines(self._journal.passed)
        return True

    async def send_runs(self, run_ids: Sequence[str]) -> int:
        """Send the spans of runs, one after the other, whatever was sent before. Where the collector is away or hangs,
        the others are not tried: each would wait as long.

        Returns:
            The number of runs whose spans the collector took.

        Raises:
            JournalError: the journal can not be read.
        """
        sent = 0
        for run_id in run_ids:
            outcome = await self._post([await self._spans(run_id), await self._spans_of_scores([run_id])])
            if outcome == "failed":
                break
            sent += outcome == "sent"
        return sent

    async def send_passed(self, since: float) -> int:
        """Send the spans of the requests that were passed through since a time, whatever was sent before; as for
        `send_runs`.

        Args:
            since: in seconds since 1970.

        Returns:
            How many spans the collector did not take.

        Raises:
            JournalError: the journal can not be read.
        """
        kept = self._journal.passed
        lines = [] if kept is None else await kept.lines(since, float("inf"), LINES_MAX)
        for at in range(0, len(lines), LINES_AT_ONCE):
            if not await self._send_in_halves(lines[at : at + LINES_AT_ONCE]):
                return len(lines) - at
        return 0

    async def close(self) -> None:
        """Let go of the connections to the collector."""
        await self._fetcher.aclose()

    async def _begin(self) -> None:
        """Find out since when spans are sent: from the first look of the first process on."""
        if self._since == float("inf"):
            now = self._journal.now()
            await self._journal.positions.move(SINCE, None, repr(now))
            self._since = float(await self._journal.positions.find(SINCE) or now)

    async def _send_rows(self, rows: Sequence[tuple[str, Unsent]]) -> bool:
        """Send the spans of runs that no other process sends now; whether the collector took them."""
        async with AsyncExitStack() as claims:
            mine: list[tuple[str, Unsent]] = []
            for tenant, row in rows:
                with suppress(Busy):
                    await claims.enter_async_context(self._journal.claim(f"telemetry {row.run_id}"))
                    if await self._journal.stores.get(tenant, UNSENT, row.run_id) == row:  # nobody has sent it
                        mine.append((tenant, row))
            spans = [await self._spans(row.run_id) if row.at >= self._since else [] for _, row in mine]
            outcome = await self._post(spans)
            if outcome == "refused" and len(mine) > 1:  # one of them spoils the others
                outcomes = [await self._post([each]) for each in spans]
            else:
                outcomes = [outcome] * len(mine)
            for (tenant, row), each, last in zip(mine, spans, outcomes, strict=True):
                if last == "failed":
                    continue
                if last == "refused":
                    self._count("dropped", len(each))
                await self._journal.stores.delete(tenant, UNSENT, {"run_id": row.run_id, "ends": row.ends})
            return "failed" not in outcomes

    async def _send_scores(self) -> bool:
        """Send the spans of scores, which come when the spans of their runs may have been sent; whether the collector
        took them."""
        stores = self._journal.stores
        rows = await stores.find_everywhere(SCORES, where={"unsent": 1}, limit=ROWS_MAX)
        for at in range(0, len(rows), RUNS_AT_ONCE):
            part = rows[at : at + RUNS_AT_ONCE]
            wanted = {(row.run_id, row.number) for _, row in part if row.at >= self._since}
            spans = await self._spans_of_scores(sorted({run_id for run_id, _ in wanted}), wanted)
            outcome = await self._post([spans])
            if outcome == "failed":
                return False
            if outcome == "refused":
                self._count("dropped", len(spans))
            for tenant, row in part:
                await stores.transact(tenant, partial(_note_sent, row))
        return True

    async def _send_lines(self, kept: PassedRequests) -> bool:
        """Send the spans of passed-through requests; whether the collector took them."""
        while lines := await kept.unsent(LINES_AT_ONCE):
            if not await self._send_in_halves([line for _, line in lines]):
                return False
            await kept.sent([place for place, _ in lines])
            if len(lines) < LINES_AT_ONCE:
                break
        return True

    async def _send_in_halves(self, lines: Sequence[PassedRequest]) -> bool:
        """Send the spans of lines. What a collector will never take is dropped, and spoils no other span."""
        spans = [span for line in lines if (span := passed_span(line, self._said)) is not None]
        spans = [span for span in spans if self._is_sampled(span.trace_id)]
        outcome = await self._post([spans])
        if outcome == "refused" and len(lines) > 1:
            middle = len(lines) // 2
            return await self._send_in_halves(lines[:middle]) and await self._send_in_halves(lines[middle:])
        if outcome == "refused":
            self._count("dropped", len(spans))
        return outcome != "failed"

    async def _spans(self, run_id: str) -> list[TraceSpan]:
        entries = await self._seen(run_id, await self._journal.read(run_id))
        found = spans_of(run_id, Timeline(entries), self._said)
        return [span for span in found if self._is_sampled(span.trace_id)]

    async def _spans_of_scores(
        self, runs: Sequence[str], wanted: Collection[tuple[str, int]] | None = None
    ) -> list[TraceSpan]:
        """The spans of scores of runs: those of these runs and entries, or all."""
        found = []
        for run_id in runs:
            scores = score_spans(run_id, Timeline(await self._journal.read(run_id)), self._said)
            found += [span for number, span in scores.items() if wanted is None or (run_id, number) in wanted]
        return [span for span in found if self._is_sampled(span.trace_id)]

    def _is_sampled(self, trace: str) -> bool:
        """Whether a trace is sent. The caller's flag is not believed."""
        return int(trace[16:], 16) < self._table.sample * 2**64

    async def _post(self, runs: Sequence[Sequence[TraceSpan]]) -> Literal["sent", "failed", "refused"]:
        spans = [span for run in runs for span in run]
        if not spans:
            return "sent"
        problem, refused, lost = "", False, 0
        try:
            body = self._collector.encode(spans, self._collector.resource)
            headers = {**self._collector.headers(), "content-type": "application/x-protobuf", "user-agent": "actum"}
            answer = await self._fetcher.send(
                "POST", self._collector.url, headers=headers, body=body, redirects="none", head_only=True
            )
            if not 200 <= answer.status < 300:
                problem, refused = f"it answered {answer.status}", answer.status in _REFUSED
            elif lost := min(self._collector.rejected(answer.body), len(spans)):
                problem = "it rejected some of them"
        except (HttpFailure, UsageError) as failure:
            problem = str(failure)  # in our words, which quote no header and nothing of an answer
        except ValueError as failure:
            problem = type(failure).__name__  # its words may quote a value
        if problem and problem != self._problem:
            log.warning("the collector did not take all spans: %s", problem)
        self._problem = problem
        if lost:  # they must not be sent again
            self._count("dropped", lost)
            problem = ""
        self._count("sent" if not problem else "failed", len(spans) - lost)
        return "sent" if not problem else "refused" if refused else "failed"

    async def _drop(self) -> None:
        """Drop the oldest spans that wait, where more wait than may. Spans of runs and those of passed-through requests
        have half of the places each, and what the others leave free.
        """
        rows = await self._journal.stores.find_everywhere(UNSENT)
        rows.sort(key=lambda each: each[1].at, reverse=True)
        self._sizes = {row.run_id: self._sizes.get(row.run_id) or len(await self._spans(row.run_id)) for _, row in rows}
        most, of_runs, kept = self._table.queue, sum(self._sizes.values()), self._journal.passed
        lines = await kept.count_unsent() if kept is not None else 0
        left = max(most - lines, most // 2)
        if kept is not None and lines > (may_wait := most - min(of_runs, left)):
            self._count("dropped", await kept.drop_unsent(may_wait))
        for tenant, row in rows:
            left -= self._sizes[row.run_id]
            if left < 0 and await self._journal.stores.delete(tenant, UNSENT, {"run_id": row.run_id}):
                self._count("dropped", self._sizes.pop(row.run_id))


def _note_sent(row: ScoreRow, transaction: Transaction) -> None:
    """Note that a score was sent, unless its run was forgotten meanwhile."""
    if transaction.get(SCORES, row.run_id, row.number) == row:
        transaction.put(SCORES, structs.replace(row, unsent=0))
