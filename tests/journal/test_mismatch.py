"""The list of runs is held against the entries, and nobody is alarmed about what is just being written."""

from __future__ import annotations

import pytest
from msgspec import structs

from actum import Agent
from actum.core.errors import UnknownName
from actum.core.message import Reply, UserMessage
from actum.core.run.record import Ended, Entry, ModelReplied, Started
from actum.core.run.summary import RunSummary
from actum.journal.export import check_journal
from actum.journal.memory import MemoryJournal
from actum.journal.mismatch import UNREADABLE, mismatch, summary
from actum.testing import ScriptedModel

pytestmark = pytest.mark.row("C8")

STARTED = Started(agent="a", model="m", said=(UserMessage.of("Hi"),), principal="ada", conversation="c")


class Busy(MemoryJournal):
    """A journal that another process writes to whenever somebody reads a run."""

    async def read(self, run_id: str, after: int = -1, *, tenant: str | None = None) -> list[Entry]:
        entries = await super().read(run_id, after)
        if len(self._entries) < 20:
            self.append(f"new {len(self._entries)}", STARTED)
        if run_id in self._entries and not isinstance(self._entries[run_id][-1].record, Ended):
            self.append(run_id, Ended("done"))
        return entries


async def written(journal: MemoryJournal) -> MemoryJournal:
    """Three runs: one done, one that goes on, one forgotten."""
    await Agent(ScriptedModel(["Hi."]), journal=journal).run("Hi", run_id="done", principal="ada", conversation="c")
    await Agent(ScriptedModel(["Hi."]), journal=journal).run("Hi", run_id="forgotten", principal="ada")
    await journal.forget("forgotten", "bo")
    journal.append("open", STARTED)
    journal.append("open", ModelReplied("i", Reply.of("x")))
    return journal


async def test_a_journal_that_is_being_written_is_sound() -> None:
    assert (await mismatch(await written(MemoryJournal()))).problems == []
    for check in (mismatch, check_journal):
        found = await check(await written(Busy()))
        assert found.problems == []


async def test_every_field_of_a_line_is_held_against_the_entries() -> None:
    journal = await written(MemoryJournal())
    others = {"started": 5.0, "ended": 6.0}
    for run_id, line in list(journal._summaries.items()):
        for name in RunSummary.__struct_fields__[1:]:
            changed = structs.replace(line, **{name: others.get(name, "changed")})
            journal._summaries[run_id] = changed
            problems = (await check_journal(journal)).problems
            where = f"{name} of {run_id}: {problems}"
            nowhere_else = ("agent", "model", "parent", "ended", "kind")  # once a run was forgotten
            if run_id == "forgotten" and name in nowhere_else:
                assert problems == [], where
            else:
                assert any(f"run {run_id}: the list of runs has {name}" in problem for problem in problems), where
            quick = (await mismatch(journal)).problems
            assert quick == problems, where
            journal._summaries[run_id] = line


async def test_a_run_that_is_missing_or_can_not_be_read_is_named() -> None:
    journal = await written(MemoryJournal())
    line = journal._summaries.pop("done")
    open_ = journal._entries["open"]
    open_[1] = structs.replace(open_[1], payload=open_[1].payload + b" ")
    journal._summaries["ghost"] = structs.replace(line, run_id="ghost")
    found = await mismatch(journal)
    assert found.missing == ["done"]
    assert found.problems == [
        "run ghost can not be read: no entries are found under its id",
        "run open can not be read: entry 1: its payload was changed",
        "run done: it is missing in the list of runs",
    ]
    assert [run.status for run in found.mark(await journal.runs())] == [UNREADABLE, UNREADABLE, "forgotten"]
    assert await summary(journal, "done") == line
    opened = await summary(journal, "open")
    assert opened is not None
    assert (opened.status, opened.question) == (UNREADABLE, "")
    assert await summary(journal, "ghost") is None


async def test_a_run_that_is_missing_in_the_list_is_forgotten_all_the_same() -> None:
    journal = await written(MemoryJournal())
    del journal._summaries["done"]
    assert await journal.forget("done", "bo") > 0
    assert not any(entry.payload for entry in (await journal.read("done"))[:-1])
    with pytest.raises(UnknownName):
        await journal.forget("none")
