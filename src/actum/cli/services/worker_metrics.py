"""What a worker counts, and the address at which `/metrics` tells it.

This file loads a web server: import it only where one is to run.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from ...compose.serving import listener, model_labels, place_of, watch_journal
from ...compose.settings import Settings
from ...core.interfaces import Journal
from ...server.metrics import CountedAttempts, Metrics
from ...server.web import Beside, metrics_app, served_beside
from ...telemetry.exporter import Outcome


class WorkerMetrics:
    """The counts of one worker.

    Args:
        settings: as read; they name the models.
        journal: where the tasks are on record.
        place: the address and the port.

    Attributes:
        attempts: counts what attempts at tasks put on record.

    Raises:
        UsageError: the place is no address and port, or is taken.
    """

    def __init__(self, settings: Settings, journal: Journal, place: str) -> None:
        self._metrics = Metrics(model_labels(settings))
        self._beside = Beside(metrics_app(self._metrics, place_of(place)[0]), listener(place))
        self.attempts = CountedAttempts(journal, self._metrics)
        watch_journal(self._metrics, journal)

    def served(self) -> AbstractAsyncContextManager[None]:
        """A block within which `/metrics` answers."""
        return served_beside([self._beside])

    def spans(self, outcome: Outcome, number: int) -> None:
        """Count spans that were sent, that a collector did not take, or that were dropped."""
        self._metrics.spans(outcome, number)
