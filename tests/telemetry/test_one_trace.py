"""One run over several processes, one of which is killed, is one trace; and what a collector may do to us."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import Counter
from pathlib import Path

import pytest

from actum.compose.deploy.telemetry import open_exporter
from actum.core.run.record import CallCompleted
from actum.journal.memory import MemoryJournal
from actum.journal.timeline import Timeline
from actum.policy.rules import Rules
from actum.server.mcp.service import McpService
from actum.storage.sqlite import SQLiteJournal
from actum.telemetry.spans import TraceSpan, spans_of
from actum.testing import FakeClock
from tests import warm
from tests.mcp_service import served
from tests.patience import HANGS_S
from tests.storage.conftest import Store
from tests.telemetry.collector import BOMB, HANGS_THEN, QUOTES, OtlpCollector
from tests.telemetry.firm import RUN, firm, other
from tests.telemetry.test_exporter import ENVIRONMENT, opened, ran, settings
from tests.telemetry.test_spans import weather

pytestmark = pytest.mark.row("A6")


async def spans_in(*journals: MemoryJournal | SQLiteJournal) -> list[TraceSpan]:
    """The spans of all runs."""
    return [
        span
        for journal in journals
        for run in await journal.runs(limit=None)
        for span in spans_of(run.run_id, Timeline(await journal.read(run.run_id)))
    ]


@pytest.mark.row("F9")
async def test_a_run_with_a_child_and_a_call_at_another_server_is_one_trace_after_kill_9_and_resume(
    tmp_path: Path,
) -> None:
    path, theirs = tmp_path / "runs.db", MemoryJournal()
    async with served(McpService([weather], journal=theirs, policy=Rules(default="allow"))) as address:
        command = (sys.executable, "-m", "tests.telemetry.firm", str(path), address)
        process = await warm.start(*command, stdout=asyncio.subprocess.PIPE, env={**os.environ})
        assert process.stdout is not None
        assert await asyncio.wait_for(process.stdout.readline(), HANGS_S) == b"the model is asked\n"
        ours = SQLiteJournal(path)
        async with asyncio.timeout(HANGS_S):  # an outcome is on disk a moment after the model was told of it
            while sum(isinstance(each.record, CallCompleted) for each in await ours.read(RUN)) < 2:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        process.kill()
        await process.wait()
        before = {span.span_id: span for span in await spans_in(ours, theirs)}
        async with other(address) as way:
            assert (await firm(ours, way).resume(RUN)).text == "Done."
        found = await spans_in(ours, theirs)
        await ours.close()
    by_id = {span.span_id: span for span in found}
    assert len(by_id) == len(found), "no span is there in two versions"
    assert before.items() <= by_id.items(), "what had ended before the kill is as it was"
    assert len({span.trace_id for span in found}) == 1
    (root,) = [span for span in found if not span.parent_span_id]
    assert root.name == "invoke_agent firm"
    assert all(span.parent_span_id in by_id for span in found if span is not root)
    assert Counter(span.name.split(" ")[0] for span in found) == {"invoke_agent": 2, "chat": 4, "execute_tool": 4}
    named = {span.name: span for span in found}
    far, near = named["execute_tool weather"], named["execute_tool far_weather"]
    assert far.parent_span_id == near.span_id, "the call at the other server stands below the one that made it"


async def test_what_was_sent_by_a_process_that_was_killed_before_it_noted_it_is_sent_again_as_the_same_bytes(
    shared: Store,
) -> None:
    collector, clock = OtlpCollector(), FakeClock()
    async with collector.serving() as url:
        wanted = settings(url)
        journals = [await opened(shared, wanted, clock) for _ in range(3)]
        with (
            open_exporter(wanted, ENVIRONMENT, journals[0]) as killed,
            open_exporter(wanted, ENVIRONMENT, journals[1]) as second,
            open_exporter(wanted, ENVIRONMENT, journals[2]) as third,
        ):
            assert killed is not None
            assert second is not None
            assert third is not None
            await killed.look()
            clock.advance(1)
            await ran(journals[0])
            collector.answers = [HANGS_THEN]
            sending = asyncio.create_task(killed.look())
            await asyncio.wait_for(collector.took.wait(), HANGS_S)
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
            await asyncio.gather(second.look(), third.look())
    assert {len(each) for each in collector.spans.values()} == {2}
    assert all(len(set(each)) == 1 for each in collector.spans.values())


async def test_a_collector_that_answers_a_bomb_or_quotes_the_header_back_gains_nothing(
    shared: Store, caplog: pytest.LogCaptureFixture
) -> None:
    collector, clock, counts = OtlpCollector(), FakeClock(), Counter[str]()
    async with collector.serving() as url:
        wanted = settings(url)
        journal = await opened(shared, wanted, clock)

        def count(outcome: str, number: int) -> None:
            counts[outcome] += number

        with open_exporter(wanted, ENVIRONMENT, journal, count) as exporter:
            assert exporter is not None
            await exporter.look()
            clock.advance(1)
            await ran(journal)
            collector.answers = [BOMB, QUOTES]
            async with asyncio.timeout(HANGS_S):
                await exporter.look()
                await ran(journal)
                clock.advance(1)
                await exporter.look()
                assert await exporter.look()
    assert "a-secret-key" not in caplog.text
    assert collector.bomb_pieces < 1_000, "the answer is not read to its end"
    assert counts["sent"] >= 8
