from __future__ import annotations

from pathlib import Path

import pytest

from actum.core.run.node_records import NodeLeft
from actum.storage.sqlite import SQLiteJournal
from examples.flight_workflow import main as example
from examples.local_services.flights import FlightDesk

pytestmark = pytest.mark.row("F1")


async def test_a_workflow_killed_while_it_waits_for_approval_goes_on_and_books_once(tmp_path: Path) -> None:
    flights = FlightDesk()
    result = await example.killed_while_it_waits(flights, tmp_path / "j.db")
    assert result.status == "done"
    assert result.output["advice"] is None
    assert list(flights.booked.values()) == [("MU5101", "李雷")]
    journal = SQLiteJournal(tmp_path / "j.db")
    left = [entry.record.path for entry in await journal.read(example.RUN) if isinstance(entry.record, NodeLeft)]
    assert left == ["find", "fits", "cheap", "book"]
    await journal.close()


async def test_above_the_budget_the_workflow_suggests_other_dates(tmp_path: Path) -> None:
    result = await example.above_the_budget(tmp_path / "j.db")
    assert result.output == {"booked": None, "advice": "后天有 980 元的航班。"}
