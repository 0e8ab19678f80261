from __future__ import annotations

from pathlib import Path

import pytest

from examples.flight_booking import main as example
from examples.local_services.flights import FlightDesk

pytestmark = pytest.mark.row("C4", "A1")


async def test_a_booking_waits_for_a_person_through_the_end_of_its_process_and_is_made_once(tmp_path: Path) -> None:
    flights = FlightDesk()
    paused, result = await example.run(flights, tmp_path / "j.db", ("approve",))
    (pending,) = paused.pending
    assert pending.call is not None
    assert (pending.kind, pending.call.name, pending.call.arguments["price"]) == ("approval", "book_flight", 1380)
    assert [str(origin) for origin in pending.origins["passenger"]] == ["user"]
    assert [str(origin) for origin in pending.origins["price"]] == ["tool search_flights.[0].price"]
    assert (result.status, result.text) == ("done", "已预订，订单号 O0001。")
    assert list(flights.booked.values()) == [("MU5101", "李雷")]


async def test_a_no_is_told_to_the_model_in_the_persons_words_and_nothing_is_booked(tmp_path: Path) -> None:
    flights = FlightDesk()
    _, result = await example.run(flights, tmp_path / "j.db", ("deny", "改坐高铁。"))
    assert "改坐高铁。" in result.text
    assert flights.booked == {}


async def test_what_a_person_changes_is_what_is_booked(tmp_path: Path) -> None:
    flights = FlightDesk()
    _, result = await example.run(flights, tmp_path / "j.db", ("edit", "passenger=韩梅梅"))
    assert list(flights.booked.values()) == [("MU5101", "韩梅梅")]
    assert result.status == "done"


async def test_above_the_budget_other_dates_are_suggested_and_nothing_is_booked(tmp_path: Path) -> None:
    flights = FlightDesk({1: 2480, 2: 980, 3: 2150, 4: 890})
    result, _ = await example.run(flights, tmp_path / "j.db", ("approve",))
    assert result.status == "done"
    assert "980 元" in result.text
    assert "890 元" in result.text
    assert "2150" not in result.text
    assert flights.booked == {}
