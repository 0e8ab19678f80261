from __future__ import annotations

from pathlib import Path

import pytest

from examples.meeting_room import main as example


@pytest.mark.row("P3")
async def test_a_room_is_booked_in_the_methods_of_1_0_and_of_april_2025(tmp_path: Path) -> None:
    seen = await example.book(tmp_path)
    booked = ["submitted", "working", "input-required", "completed"]
    new, old = seen["1.0"], seen["2025-04"]
    assert list(dict.fromkeys(new["booked"])) == booked
    assert list(dict.fromkeys(old["booked"])) == booked
    assert (new["resubscribed"][0], new["resubscribed"][-1]) == ("input-required", "completed")
    assert new["pushed"][-2:] == ["working", "completed"]
    assert (new["failed"], old["failed"], old["got"]) == (["failed"], ["failed"], ["completed"])
    assert (new["canceled"][-1], old["canceled"][-1]) == ("canceled", "canceled")
