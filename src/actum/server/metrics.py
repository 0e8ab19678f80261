"""What a server has done since it started, counted, as Prometheus reads it.

Each `Metrics` has a registry of its own, so two servers in one process count apart, and nothing of the process's own
registry is shown. Figures that are in a database are read when somebody asks for the text (`Metrics.watch`).

Limits: counts are of this process and start anew with it. Tools, users and tenants have no counts of their own: the
number of series would grow with them, and the text would tell about them. Models and upstreams are counted by their
names in the settings, all others together as `other`. The times at which series began (`_created`) are left out.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from math import inf
from typing import Final, cast

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response

from ..core.errors import JournalError
from ..core.interfaces import Clock, Journal
from ..core.message import Usage
from ..core.run.record import CallCompleted, CallRefused, Ended, ModelReplied, Record, Started
from ..core.stored.passed import PassedRequest
from .access_log import request_facts

BOUNDS_S: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
MODEL_BOUNDS_S: Final = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)
OTHER: Final = "other"
"""In the place of a model or an upstream that the settings do not name."""
RUNS_MAX: Final = 10_000
"""Of this many runs under way it is known which model they ask."""
WATCHED_S: Final = 5.0
"""What is watched is looked at once in this time."""
LOOK_S: Final = 4.0
"""A look may take no longer."""

log = logging.getLogger("actum.server")

Look = Callable[[], Awaitable[Sequence[Metric]]]


class Metrics:
    """The counts of one server, or of one worker.

    Args:
        models: the names of models and of upstreams as they stand in the settings; or a mapping of the names that
            records say to those of the settings, where they differ, as for a model that is named by its address.

    Attributes:
        under_way: how many requests have begun and are not over.
    """

    def __init__(self, models: Collection[str] | Mapping[str, str] = ()) -> None:
        self._models = models if isinstance(models, Mapping) else {name: name for name in models}
        self._asks: dict[str, str] = {}
        self._registry = of = CollectorRegistry()
        # `labels` looks a series up under a lock, in some microseconds, and each request needs eight of them.
        self._requests = cache(
            Counter(
                "actum_http_requests_total", "Requests that are over.", ("route", "method", "status"), registry=of
            ).labels
        )
        self.under_way = Gauge("actum_http_requests_under_way", "Requests under way.", registry=of)
        self._request_s = cache(
            Histogram(
                "actum_http_request_seconds",
                "How long requests took, streams included.",
                ("route",),
                registry=of,
                buckets=BOUNDS_S,
            ).labels
        )
        self._runs_started = Counter("actum_runs_started_total", "Runs that began.", registry=of)
        self._runs_ended = cache(
            Counter("actum_runs_ended_total", "Runs that ended or paused.", ("status",), registry=of).labels
        )
        self._calls = cache(
            Counter("actum_calls_total", "Calls of tools by outcome.", ("outcome",), registry=of).labels
        )
        self._call_s = Histogram("actum_call_seconds", "How long tools took.", registry=of, buckets=BOUNDS_S)
        self._model_requests = cache(
            Counter(
                "actum_model_requests_total",
                "Requests to models, of agents and of those that are passed through.",
                ("model", "upstream", "outcome"),
                registry=of,
            ).labels
        )
        self._model_s = Histogram(
            "actum_model_seconds", "How long requests to models took.", registry=of, buckets=MODEL_BOUNDS_S
        )
        self._tokens = cache(
            Counter(
                "actum_tokens_total", "Tokens of models; cached ones are input, too.", ("model", "kind"), registry=of
            ).labels
        )
        self._cost = cache(
            Counter("actum_cost_total", "What models cost, where prices are set.", ("model",), registry=of).labels
        )
        self._spans = Counter(
            "actum_spans_total", "Spans by what became of them: sent, failed, dropped.", ("outcome",), registry=of
        )
        self._log_lost = Counter(
            "actum_access_log_lost_total", "Lines of the access log that could not be written.", registry=of
        )
        self._watched: _Watched | None = None

    def watch(self, look: Look, clock: Clock) -> None:
        """Tell also what can not be counted here, such as the tasks in the list of tasks.

        Args:
            look: returns figures. Where that fails or takes long, they are left out.
            clock: the time.
        """
        self._watched = _Watched(look, clock)

    async def answer(self, request: Request) -> Response:
        """All counts, and what is watched, in the text format of Prometheus: the endpoint of `/metrics`."""
        watched = await self._watched.figures() if self._watched is not None else ()
        text = generate_latest(_Shown([*self._registry.collect(), *watched]))
        return Response(text, headers={"content-type": CONTENT_TYPE_PLAIN_0_0_4})

    def request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request that is over.

        Args:
            route: the route as the door writes it, such as `/v1/runs/{id}`: never a path that a client made up.
            method: of the request.
            status: of the response; 0 where the client got none.
            seconds: how long it took.
        """
        self._requests(route, method, status).inc()
        self._request_s(route).observe(seconds)

    def passed(self, passed: PassedRequest) -> None:
        """Count a request for a model that was passed on."""
        upstream = self._named(passed.upstream) if passed.upstream else ""
        usage = Usage(passed.input_tokens, passed.output_tokens, passed.cached_tokens)
        cost = float(passed.cost or 0)
        self._model(self._named(passed.model), upstream, passed.end, passed.seconds, usage, cost)

    def spans(self, outcome: str, number: int) -> None:
        """Count spans that were sent, that a collector did not take, or that were dropped."""
        self._spans.labels(outcome).inc(number)

    def lost_line(self) -> None:
        """Count a line of the access log that could not be written."""
        self._log_lost.inc()

    def asks(self, run_id: str, started: Started) -> None:
        """Note which model a run asks."""
        if started.model:
            self._asks[run_id] = self._named(started.model)
            while len(self._asks) > RUNS_MAX:
                del self._asks[next(iter(self._asks))]

    def _named(self, model: str) -> str:
        return self._models.get(model, OTHER)

    def _model(self, model: str, upstream: str, outcome: str, seconds: float, usage: Usage, cost: float) -> None:
        self._model_requests(model, upstream, outcome).inc()
        self._model_s.observe(seconds)
        used = (("input", usage.input_tokens), ("output", usage.output_tokens), ("cached", usage.cached_tokens))
        for kind, tokens in used:
            self._tokens(model, kind).inc(tokens)
        if cost:
            self._cost(model).inc(cost)

    def record(self, run_id: str, record: Record) -> None:
        """Count what a record says of runs, calls and models."""
        match record:
            case Started():
                self._runs_started.inc()
                self.asks(run_id, record)
            case ModelReplied(reply=reply):
                model = self._asks.get(run_id) or self._named(reply.model)
                self._model(model, model, "answered", record.seconds, reply.usage, float(record.cost))
            case Ended(status=status):
                self._runs_ended(status).inc()
                self._asks.pop(run_id, None)
            case CallCompleted(final=True):
                self._calls(record.result.error.code if record.result.error else "done").inc()
                self._call_s.observe(record.seconds)
            case CallRefused():
                self._calls(record.result.error.code if record.result.error else "refused").inc()
            case _:
                pass


class CountedAttempts:
    """Counts what attempts at tasks have put on record. Child processes make them, and count nothing.

    Args:
        journal: where the runs are on record.
        metrics: counts.
    """

    def __init__(self, journal: Journal, metrics: Metrics) -> None:
        self._journal, self._metrics = journal, metrics

    async def count(self, run_id: str, since: float) -> None:
        """See `CountsAttempts`."""
        for entry in await self._journal.read(run_id):
            if isinstance(entry.record, Started):
                self._metrics.asks(run_id, entry.record)
            if entry.at >= since and not isinstance(entry.record, Started):
                self._metrics.record(run_id, entry.record)
        for child in await self._journal.runs(parent=run_id, limit=None):
            await self.count(child.run_id, since)


class _Shown(Collector):
    """Figures as they are shown: without the times at which their series began."""

    def __init__(self, figures: Sequence[Metric]) -> None:
        self._figures = figures

    def collect(self) -> Iterator[Metric]:
        """The figures."""
        for figure in self._figures:
            figure.samples = [sample for sample in figure.samples if not sample.name.endswith("_created")]
            yield figure


class _Watched:
    """What is looked at now and then, however often it is asked for."""

    def __init__(self, look: Look, clock: Clock) -> None:
        self._look = look
        self._clock = clock
        self._looking = asyncio.Lock()
        self._at, self._figures = -inf, cast(Sequence[Metric], ())

    async def figures(self) -> Sequence[Metric]:
        """The figures, as of a few seconds ago."""
        async with self._looking:
            if self._clock.monotonic() - self._at >= WATCHED_S:
                try:
                    async with self._clock.timeout(LOOK_S):
                        self._figures = await self._look()
                except (JournalError, TimeoutError) as error:
                    log.warning("the figures of the journal are left out: %s", str(error) or type(error).__name__)
                    self._figures = ()
                self._at = self._clock.monotonic()
        return self._figures


class CountedJournal:
    """A journal of which each record is counted, and noted for the request that is answered. The rest is the journal's.

    Args:
        journal: where records are written.
        metrics: counts them.
    """

    def __init__(self, journal: Journal, metrics: Metrics) -> None:
        self._journal = journal
        self._metrics = metrics

    def append(self, run_id: str, record: Record) -> int:
        """Write down a record, count it, and note it of the request that is answered."""
        number = self._journal.append(run_id, record)
        self._metrics.record(run_id, record)
        if (facts := request_facts.get()) is not None:
            facts.note(run_id, record)
        return number

    def __getattr__(self, name: str) -> object:
        return getattr(self._journal, name)


def counted(journal: Journal, metrics: Metrics) -> Journal:
    """A journal of which each record is counted.

    Args:
        journal, metrics: as for `CountedJournal`.
    """
    return cast(Journal, CountedJournal(journal, metrics))  # what it does not say itself, the journal says
