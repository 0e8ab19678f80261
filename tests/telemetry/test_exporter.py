"""Spans are sent once, by one of all processes, and a collector that does anything wrong delays nothing."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from decimal import Decimal
from importlib.metadata import version

import pytest

from actum import Answer
from actum.compose.deploy.telemetry import open_exporter, telemetry_sent
from actum.compose.features import features_of, take_into_use
from actum.compose.settings import Settings
from actum.core.call import ToolCall
from actum.core.errors import UsageError
from actum.core.interfaces import Journal
from actum.core.stored.passed import PassedRequest, PassedRequests
from actum.journal.memory import MemoryJournal
from actum.journal.timeline import Timeline
from actum.scores.rating import rate
from actum.scores.score import ScoreGiven
from actum.telemetry.exporter import SpanExporter
from actum.telemetry.settings import TelemetryTable
from actum.telemetry.spans import SpanContent, score_spans, spans_of
from actum.testing import FakeClock
from tests.patience import HANGS_S
from tests.storage.conftest import Store
from tests.telemetry.collector import REJECTS, OtlpCollector
from tests.telemetry.test_spans import desk, turn

pytestmark = pytest.mark.row("A6")

SPANS = ["invoke_agent desk", "chat gpt-5-mini", "execute_tool weather", "chat gpt-5-mini"]
ENVIRONMENT = {"HOME": "/nowhere", "COLLECTOR_KEY": "a-secret-key"}


def settings(url: str, **more: object) -> Settings:
    headers = {"authorization": "Basic ${COLLECTOR_KEY}"}
    return Settings(telemetry=TelemetryTable(endpoint=f"{url}/otel", headers=headers, **more))  # type: ignore[arg-type]


async def opened(store: Store, wanted: Settings, clock: FakeClock) -> Journal:
    journal = store.open(clock=clock)
    await take_into_use(features_of(wanted), journal)
    return journal


async def ran(journal: Journal, count: int = 1) -> list[str]:
    ids = []
    for _ in range(count):
        agent = desk(journal, turn(ToolCall("c1", "weather", {"city": "Bonn"})), turn(text="Done."))
        ids.append((await agent.run("How?", principal="ann")).run_id)
    return ids


async def test_two_processes_and_a_third_after_a_failure_send_each_span_once_and_the_record_says_the_same(
    shared: Store,
) -> None:
    collector, clock, counts = OtlpCollector(), FakeClock(), Counter[str]()
    async with collector.serving() as url:
        wanted = settings(url)
        journals = [await opened(shared, wanted, clock) for _ in range(2)]
        before = await ran(journals[0])

        def count(outcome: str, number: int) -> None:
            counts[outcome] += number

        clock.advance(10)
        with (
            open_exporter(wanted, ENVIRONMENT, journals[0], count) as first,
            open_exporter(wanted, ENVIRONMENT, journals[1], count) as second,
        ):
            assert first is not None
            assert second is not None
            assert await first.look()
            assert not collector.names, "what ran before telemetry was switched on is sent by hand alone"
            clock.advance(10)
            runs = await ran(journals[0], 8)
            await asyncio.gather(*(each.look() for each in (first, second) * 3))
            assert counts == {"sent": 32}
            assert set(map(len, collector.spans.values())) == {1}
            assert len(collector.spans) == 32
            for status in (500, 429, 404, 307):
                collector.answers = [status]
                runs += await ran(journals[0])
                assert not await first.look()
                assert await second.look(), "another process sends what the first could not"
                clock.advance(1)
            assert counts["failed"] == 16
            assert {each["path"] for each in collector.headers} == {"/otel/v1/traces"}, "no redirect is followed"
            assert {each["authorization"] for each in collector.headers} == {"Basic a-secret-key"}
            assert await first.send_runs(before[:1]) == 1
        assert collector.resources == {(("service.name", "actum"), ("service.version", version("actum")))}
        for run_id in (*runs, *before):
            for span in spans_of(run_id, Timeline(await journals[1].read(run_id))):
                assert len(collector.spans[span.span_id]) == 1


@pytest.mark.row("F4")
async def test_a_score_that_comes_after_the_spans_of_its_run_is_sent_once_below_the_run(shared: Store) -> None:
    collector, clock = OtlpCollector(), FakeClock()
    async with collector.serving() as url:
        wanted = settings(url)
        journals = [await opened(shared, wanted, clock) for _ in range(2)]
        (before,) = await ran(journals[0])
        await rate(journals[0], before, ScoreGiven(name="thumb", value=1.0), clock=clock)
        clock.advance(1)
        with (
            open_exporter(wanted, ENVIRONMENT, journals[0]) as first,
            open_exporter(wanted, ENVIRONMENT, journals[1]) as second,
        ):
            assert first is not None
            assert second is not None
            await first.look()
            clock.advance(1)
            run_id, forgotten = await ran(journals[0], 2)
            await first.look()
            assert len(collector.names) == 8, "a score from before telemetry was switched on is sent by hand alone"
            down = ScoreGiven(name="thumb", value=0.0, by="ann", label="a-label", explanation="my-word")
            for each in (run_id, forgotten):
                await rate(journals[1], each, down, clock=clock)
            await journals[1].forget(forgotten)
            collector.answers = [500]
            assert not await first.look()
            await asyncio.gather(*(each.look() for each in (second, first) * 3))
            assert collector.names[8:] == ["gen_ai.evaluation.result"]
            await rate(journals[0], run_id, ScoreGiven(name="thumb", by="ann", withdrawn=True), clock=clock)
            await second.look()
            assert await first.send_runs([before]) == 1
        assert collector.names[8:] == ["gen_ai.evaluation.result"] * 2 + [*SPANS, "gen_ai.evaluation.result"]
    timeline = Timeline(await journals[0].read(run_id))
    (run,) = [each for each in spans_of(run_id, timeline) if each.name == "invoke_agent desk"]
    given, back = score_spans(run_id, timeline).values()
    assert (given.parent_span_id, given.trace_id, given.start) == (run.span_id, run.trace_id, given.end)
    assert given.attributes == {
        "gen_ai.evaluation.name": "thumb",
        "gen_ai.evaluation.score.value": 0.0,
        "actum.score.scorer": "person",
        "actum.run.id": run_id,
    }
    assert back.attributes["actum.score.withdrawn"]
    assert "gen_ai.evaluation.score.value" not in back.attributes
    (whole, _) = score_spans(run_id, timeline, SpanContent(content=True, users=True)).values()
    said = {"gen_ai.evaluation.score.label": "a-label", "gen_ai.evaluation.explanation": "my-word", "user.id": "ann"}
    assert whole.attributes == {**given.attributes, **said}


async def test_a_run_that_is_held_sends_nothing_and_a_waiting_run_is_sent_when_it_is_over(shared: Store) -> None:
    collector, clock = OtlpCollector(), FakeClock()
    async with collector.serving() as url:
        wanted = settings(url)
        journal = await opened(shared, wanted, clock)
        with open_exporter(wanted, ENVIRONMENT, journal) as exporter:
            assert exporter is not None
            await exporter.look()
            clock.advance(1)
            agent = desk(journal, turn(ToolCall("c1", "pay", {"sum": 3})), turn(text="Done."))
            paused = await agent.run("Pay.")
            await exporter.look()
            assert not collector.names
            await ran(journal)  # has ended, and its spans were not sent when the journal was held
            clock.advance(1)
            await journal.held.hold()
            await exporter.look()
            assert not collector.names, "what ended before goes out by nobody's word but a person's"
            await ran(journal)  # new requests are served meanwhile
            await exporter.look()
            assert len(collector.names) == 4
            await journal.held.release()
            await exporter.look()
            assert len(collector.names) == 8
            (waits,) = paused.pending
            await agent.resume(paused.run_id, {waits.id: Answer("approve")})
            await exporter.look()
            assert len(collector.names) == 12


async def test_spans_that_a_collector_will_never_take_keep_no_others_waiting_and_the_oldest_are_dropped(
    shared: Store,
) -> None:
    collector, clock, counts = OtlpCollector(), FakeClock(), Counter[str]()
    async with collector.serving() as url:
        wanted = settings(url, queue=8)
        journal = await opened(shared, wanted, clock)
        with open_exporter(
            wanted, ENVIRONMENT, journal, lambda outcome, number: counts.update({outcome: number})
        ) as exporter:
            assert exporter is not None
            await exporter.look()
            clock.advance(1)
            await ran(journal, 3)
            collector.answers = [400, 400]  # together, and the first alone
            assert await exporter.look()
            assert (len(collector.names), counts["dropped"]) == (8, 4)
            clock.advance(1)
            await ran(journal, 5)
            collector.answers = [503]
            assert not await exporter.look()
            assert counts["dropped"] == 4 + 3 * 4
            assert await exporter.look()
            assert len(collector.names) == 16


async def test_spans_that_a_collector_did_not_keep_are_dropped_and_the_log_says_what_was_wrong(
    shared: Store, caplog: pytest.LogCaptureFixture
) -> None:
    collector, clock, counts = OtlpCollector(), FakeClock(), Counter[str]()

    def count(outcome: str, number: int) -> None:
        counts[outcome] += number

    async with collector.serving() as url:
        wanted = settings(url)
        journal = await opened(shared, wanted, clock)
        with open_exporter(wanted, ENVIRONMENT, journal, count) as exporter:
            assert exporter is not None
            await exporter.look()
            clock.advance(1)
            await ran(journal)
            collector.answers = [REJECTS]
            assert await exporter.look()
            assert counts == {"sent": 3, "dropped": 1}
            assert "it rejected some of them" in caplog.text
    runs = await ran(journal, 3)
    with open_exporter(wanted, ENVIRONMENT, journal, count) as exporter:
        assert exporter is not None
        assert await exporter.send_runs(runs) == 0  # nobody listens there any more
        assert counts["failed"] == 4, "only the first run is tried: each would wait as long"
        assert not await exporter.look()
    assert (len(collector.headers), counts["failed"]) == (1, 4 + 3 * 4)
    assert "it can not be reached" in caplog.text


async def test_a_collector_that_hangs_delays_neither_runs_nor_the_end(shared: Store) -> None:
    collector, clock = OtlpCollector(), FakeClock()
    collector.answers = [0]
    async with collector.serving() as url:
        wanted = settings(url, every_s=0.01)
        journal = await opened(shared, wanted, clock)
        async with asyncio.timeout(HANGS_S):
            async with telemetry_sent(wanted, ENVIRONMENT, journal):
                while not collector.came.is_set():
                    clock.advance(1)
                    await ran(journal)
                await ran(journal)
    assert not collector.names


async def test_a_sample_is_drawn_by_the_trace_so_that_all_processes_agree(shared: Store) -> None:
    collector, clock = OtlpCollector(), FakeClock()
    async with collector.serving() as url:
        wanted = settings(url, sample=0.5)
        journal = await opened(shared, wanted, clock)
        with open_exporter(wanted, ENVIRONMENT, journal) as exporter:
            assert isinstance(exporter, SpanExporter)
            await exporter.look()
            clock.advance(1)
            runs = await ran(journal, 40)
            await exporter.look()
        spans = [spans_of(run_id, Timeline(await journal.read(run_id))) for run_id in runs]
        sent = [{span.span_id in collector.spans for span in each} for each in spans]
    assert all(len(each) == 1 for each in sent), "a trace is sent whole or not"
    assert 5 < sum(True in each for each in sent) < 35


@pytest.mark.parametrize(
    ("table", "environment", "word"),
    [
        (TelemetryTable(endpoint="collector:4318"), {}, "endpoint"),
        (TelemetryTable(), {"OTEL_EXPORTER_OTLP_ENDPOINT": "ftp://x"}, "endpoint"),
        (TelemetryTable(endpoint="http://c:1", headers={"a": "${NOT_THERE}"}), {}, "NOT_THERE"),
        (TelemetryTable(endpoint="http://c:1", headers={"a": "${secret:nowhere}"}), {}, "nowhere"),
    ],
)
async def test_what_can_not_be_is_told_at_the_start(
    table: TelemetryTable, environment: Mapping[str, str], word: str
) -> None:
    variables = {"HOME": "/nowhere", **environment}
    opening = open_exporter(Settings(telemetry=table), variables, MemoryJournal())
    with pytest.raises(UsageError, match=word), opening:
        pass


def passed(number: int, **more: object) -> PassedRequest:
    """The line of a request that was passed through."""
    said = {"end": "answered", "surface": "chat", "upstream": "openai:gpt-5-mini", "tenant": "north", **more}
    return PassedRequest(
        at=1_000.0 + number,
        request_id="r",
        principal="ann",
        model="fast",
        asked="fast",
        status=200,
        input_tokens=30,
        output_tokens=5,
        cached_tokens=10,
        cost=Decimal(2),
        seconds=0.5,
        **said,  # type: ignore[arg-type]
    )


def kept(journal: Journal) -> PassedRequests:
    assert journal.passed is not None
    return journal.passed


async def test_requests_that_are_passed_through_are_sent_once_by_one_of_all_processes_and_never_while_held(
    shared: Store,
) -> None:
    collector, clock, counts = OtlpCollector(), FakeClock(), Counter[str]()
    async with collector.serving() as url:
        wanted = settings(url, queue=5)
        journals = [await opened(shared, wanted, clock) for _ in range(2)]
        kept(journals[0]).add(passed(0))  # before telemetry was switched on
        assert await kept(journals[0]).sums(0, 1) == [], "the line is written"

        def count(outcome: str, number: int) -> None:
            counts[outcome] += number

        with (
            open_exporter(wanted, ENVIRONMENT, journals[0], count) as a,
            open_exporter(wanted, ENVIRONMENT, journals[1], count) as b,
        ):
            assert a is not None
            assert b is not None
            for number in range(1, 9):
                kept(journals[number % 2]).add(passed(number))
            kept(journals[0]).add(passed(9, surface="count_tokens"))
            assert [await kept(each).sums(0, 1) for each in journals] == [[], []], "the lines are written"
            await asyncio.gather(*(each.look() for each in (a, b) * 3))
            assert (counts["sent"], len(collector.names), set(collector.names)) == (8, 8, {"chat gpt-5-mini"})
            assert await a.send_passed(0) == 0
            assert len(collector.spans) == 9, "by hand, what ran before"
            for number in range(10, 20):
                kept(journals[0]).add(passed(number))
            await kept(journals[0]).sums(0, 1)
            agent = desk(journals[0], turn(ToolCall("c1", "pay", {"sum": 3})))
            await agent.run("Pay.")  # is unfinished, so that there is something to hold
            before = len(collector.names)
            await journals[0].held.hold()
            assert await a.look()
            assert len(collector.names) == before, "what waits at a backup waits for a person"
            await journals[0].held.release()
            collector.answers = [503]
            assert not await a.look()
            assert counts["dropped"] == 5, "the oldest, beyond the queue"
            collector.answers = [400] * 4  # all together, the older half, and each of its two
            assert await b.look()
            assert (counts["dropped"], len(collector.names) - before) == (5 + 2, 3)


async def test_runs_and_passed_requests_that_wait_are_as_many_spans_as_the_queue_holds(shared: Store) -> None:
    collector, clock, counts = OtlpCollector(), FakeClock(), Counter[str]()
    async with collector.serving() as url:
        wanted = settings(url, queue=8)
        journal = await opened(shared, wanted, clock)

        def count(outcome: str, number: int) -> None:
            counts[outcome] += number

        with open_exporter(wanted, ENVIRONMENT, journal, count) as exporter:
            assert exporter is not None
            await exporter.look()
            clock.advance(1)
            runs = await ran(journal, 2)  # of 4 spans each
            clock.advance(1)
            runs += await ran(journal)
            for number in range(10):
                kept(journal).add(passed(number))
            await kept(journal).sums(0, 1)
            collector.answers = [503, 503]
            assert not await exporter.look()
            assert counts["dropped"] == 2 * 4 + 6, "each kind keeps half of the places"
            assert not await exporter.look()
            assert counts["dropped"] == 2 * 4 + 6, "what waits fits"
            assert await exporter.look()
            assert (len(collector.names), counts["sent"]) == (8, 8)
            latest = spans_of(runs[-1], Timeline(await journal.read(runs[-1])))
            assert {span.span_id for span in latest} <= set(collector.spans)


async def test_without_the_table_nothing_is_written_and_nothing_is_sent(shared: Store) -> None:
    journal = await opened(shared, Settings(), FakeClock())
    await ran(journal)
    assert "telemetry" not in {each.feature for each in await journal.stores.kept()}
    with open_exporter(Settings(), {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, journal) as exporter:
        assert exporter is None


@pytest.mark.parametrize(
    ("table", "variables", "what"),
    [
        ({"headers": {"a": "Basic ${secret:LANGFUSE}"}}, {}, "headers with secrets"),
        ({"headers": {"a": "${HOME}"}}, {}, "headers with secrets"),
        ({}, {"OTEL_EXPORTER_OTLP_HEADERS": "authorization=Basic%20x"}, "headers with secrets"),
        ({"content": True}, {}, "content"),
        ({"users": True}, {}, "users"),
    ],
)
def test_a_folder_that_was_cloned_does_not_decide_where_words_and_secrets_are_sent(
    table: dict[str, object], variables: dict[str, str], what: str
) -> None:
    url = "http://collector.example:4318"
    said = TelemetryTable(endpoint=url, **table)  # type: ignore[arg-type]
    cloned = Settings(telemetry=said, sources={"telemetry": "actum.toml"})
    with (
        pytest.raises(UsageError, match=f"{what} would be sent there"),
        open_exporter(cloned, variables, MemoryJournal()),
    ):
        pass
    agreed = {"HOME": "/home/ann", **variables, "OTEL_EXPORTER_OTLP_ENDPOINT": f"{url}/"}
    if "secret:" not in str(table):
        with open_exporter(cloned, agreed, MemoryJournal()) as exporter:
            assert exporter is not None
    bare = Settings(telemetry=TelemetryTable(endpoint=url), sources={"telemetry": "actum.toml"})
    with open_exporter(bare, {}, MemoryJournal()) as exporter:
        assert exporter is not None
