"""Runs that were recorded before the rooms and the records were renamed replay as they were: nothing is done again."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec

from actum.core.json import JsonObject
from actum.core.pending import Pending
from actum.core.record import Record
from actum.journal.memory import MemoryJournal
from actum.testing import FakeClock
from tests.storage.bistro import bistro, write_old

TAGS = {
    "replied": "model_replied",
    "settled": "call_completed",
    "refused": "call_refused",
    "checked": "precheck_done",
    "asked": "input_requested",
    "answered": "input_given",
    "parked": "call_parked",
}


def translated(old: JsonObject) -> Record:
    """A record of format 1 as this version writes it: only names and places have changed."""
    tag = str(old["type"])
    new = old | {"type": TAGS.get(tag, tag)}
    if "index" in new:
        new["cause"] = new.pop("reply")
    if tag == "asked":
        pending: JsonObject = {name: new.pop(name) for name in Pending.__struct_fields__ if name in new}
        new["pending"] = pending
    record: Record = msgspec.convert(new, Record)
    return record


async def recorded(folder: Path) -> MemoryJournal:
    journal = MemoryJournal(FakeClock())
    with closing(sqlite3.connect(write_old(folder / "old.db"))) as file:
        for digest, payload in file.execute("SELECT digest, payload FROM kept"):
            journal.keep(digest, payload)
        rows = file.execute(
            "SELECT run_id, payload FROM entries WHERE run_id IN ('run_menu', 'run_order') ORDER BY 1, number"
        )
        for run_id, payload in rows:
            journal.append(run_id, translated(json.loads(payload)))
    return journal


async def test_a_run_that_was_recorded_before_replays_without_a_call_or_a_model(tmp_path: Path) -> None:
    journal = await recorded(tmp_path)
    entries = len(await journal.read("run_menu"))
    agent = bistro(journal, FakeClock())
    told = await agent.resume("run_menu")
    assert (told.status, told.text, told.calls[0][1].text) == ("done", '["soup"]', '["soup"]')
    assert len(await journal.read("run_menu")) == entries


async def test_a_run_that_waited_goes_on_where_it_was_and_pays_no_second_time(tmp_path: Path) -> None:
    journal = await recorded(tmp_path)
    paused = await bistro(journal, FakeClock()).resume("run_order")
    assert [pending.kind for pending in paused.pending] == ["elicitation"]
    before = [entry.record for entry in await journal.read("run_order")]
    done = await bistro(journal, FakeClock()).resume("run_order", {paused.pending[0].id: '{"name": "soup"}'})
    assert done.status == "done"
    assert "soup" in done.text
    fresh = [type(entry.record).__name__ for entry in (await journal.read("run_order"))[len(before) :]]
    assert fresh.count("Intended") == 1, "the order alone is executed, with what it asked for"
