"""What waits for persons and what was interrupted, as Prometheus reads it.

The figures are read from the journal's database. All servers of one journal tell the same figures: take their maximum,
not their sum.
"""

from __future__ import annotations

from collections.abc import Sequence

from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily

from ..core.interfaces import Clock, Journal
from ..journal.lists import count_interrupted


async def journal_figures(journal: Journal, clock: Clock) -> Sequence[Metric]:
    """The figures now.

    Args:
        journal: whose figures.
        clock: the time.

    Raises:
        JournalError: the journal can not be read.
    """
    waiting = await journal.count_asked()
    oldest = await journal.asked(limit=1) if waiting else []
    age = max(0.0, clock.now() - oldest[0].at) if oldest else 0.0
    return [
        GaugeMetricFamily("actum_approvals_waiting", "Questions to persons that runs wait for.", waiting),
        GaugeMetricFamily("actum_approvals_oldest_seconds", "How long the oldest of these questions has waited.", age),
        GaugeMetricFamily(
            "actum_runs_interrupted",
            "Runs whose process has ended, and that nobody goes on with.",
            await count_interrupted(journal),
        ),
    ]
