"""What is answered too late is not answered: whoever answers hears so, and no clock that goes back undoes it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from actum import Agent, Limits, Tool, ToolCall
from actum.call.asking.inbox import answer_pending, inbox
from actum.core.errors import TooLate, UnknownName
from actum.core.identity import Identity
from actum.core.interfaces import Journal
from actum.core.policy import Answer
from actum.core.run.record import InputGiven, InputRequested
from actum.journal.memory import MemoryJournal
from actum.server.api.approvals.bodies import ApprovalsQuery
from actum.server.api.approvals.operations import waiting
from actum.server.api.records import Records
from actum.storage.sqlite import SQLiteJournal
from actum.testing import FakeClock, RecordingToolset, ScriptedModel
from tests.cli.test_serve import command

pytestmark = pytest.mark.row("C4")

ANSWERS = {
    "approved": Answer("approve", by="ada"),
    "approved for the run": Answer("approve", by="ada", for_run=True),
    "edited": Answer("approve", by="ada", arguments={}),
    "denied": Answer("deny", by="ada"),
}
LATE = {"a moment": 60.001, "minutes": 600.0, "weeks": 3e6}
JOURNALS: dict[str, Callable[[FakeClock, Path], Journal]] = {
    "memory": lambda clock, folder: MemoryJournal(clock),
    "sqlite": lambda clock, folder: SQLiteJournal(folder / "runs.db", now=clock.now),
}


def agent(clock: FakeClock, journal: Journal, *, goes_on: bool = False) -> tuple[Agent, RecordingToolset]:
    home = RecordingToolset([Tool(name="pay", approval=True)])
    model = ScriptedModel(["done"] if goes_on else [[ToolCall("1", "pay", {})]])
    return Agent(model, [home], limits=Limits(approval_seconds=60), clock=clock, journal=journal), home


@pytest.mark.parametrize("journal_name", JOURNALS)
@pytest.mark.parametrize("late", LATE)
@pytest.mark.parametrize("way", ANSWERS)
async def test_a_late_answer_is_refused_and_the_expiry_stays_where_the_clock_goes_back(
    way: str, late: str, journal_name: str, tmp_path: Path
) -> None:
    clock = FakeClock()
    journal = JOURNALS[journal_name](clock, tmp_path)
    first, _ = agent(clock, journal)
    paused = await first.run("go", run_id="r")
    ask_id = paused.pending[0].id
    clock.advance(LATE[late])
    with pytest.raises(TooLate, match=f"{ask_id} could be answered until .* too late"):
        await answer_pending(journal, ask_id, ANSWERS[way])
    clock.set(clock.now() - 2 * LATE[late])
    with pytest.raises(UnknownName, match="nothing waits"):
        await answer_pending(journal, ask_id, ANSWERS["approved"])
    assert await inbox(journal) == []
    second, home = agent(clock, journal, goes_on=True)
    result = await second.resume("r")
    error = result.calls[0][1].error
    assert error is not None
    assert (result.status, error.code, home.executed) == ("done", "approval_expired", [])
    given = [entry.record for entry in await journal.read("r") if isinstance(entry.record, InputGiven)]
    assert [(record.verdict, record.by, record.expired) for record in given] == [("cancel", "clock", True)]
    await journal.close()


async def listed(journal: Journal, folder: Path) -> None:
    await waiting(Records(journal, FakeClock()), ApprovalsQuery(), Identity(scopes=("approve",)))


async def run_shown(journal: Journal, folder: Path) -> None:
    records = Records(journal, FakeClock())
    await records.summary(await records.run("r", Identity()), Identity())


async def at_the_command_line(journal: Journal, folder: Path) -> None:
    # The real clock of the command is years ahead of the clock of the test.
    command(folder, "approvals", "list", "--journal", "runs.db")


SEEN = {"the list": listed, "the page of the run": run_shown, "the command line": at_the_command_line}


@pytest.mark.parametrize("seen", SEEN)
async def test_an_expiry_that_somebody_was_shown_stays_where_the_clock_goes_back(seen: str, tmp_path: Path) -> None:
    clock = FakeClock()
    journal = JOURNALS["sqlite"](clock, tmp_path)
    first, _ = agent(clock, journal)
    paused = await first.run("go", run_id="r")
    clock.advance(59)
    if seen != "the command line":
        await SEEN[seen](journal, tmp_path)
        assert len(await inbox(journal)) == 1, "there is time left"
    clock.advance(2)
    async with journal.claim("r"):  # somebody drives the run: nothing is written, and nobody waits
        await SEEN[seen](journal, tmp_path)
    assert len(await inbox(journal)) == 1
    await SEEN[seen](journal, tmp_path)
    await SEEN[seen](journal, tmp_path)
    clock.set(clock.now() - 50)
    with pytest.raises(UnknownName, match="nothing waits"):
        await answer_pending(journal, paused.pending[0].id, ANSWERS["approved"])
    second, home = agent(clock, journal, goes_on=True)
    result = await second.resume("r")
    error = result.calls[0][1].error
    assert error is not None
    assert (error.code, home.executed) == ("approval_expired", [])
    given = [entry.record for entry in await journal.read("r") if isinstance(entry.record, InputGiven)]
    assert [(record.verdict, record.by, record.expired) for record in given] == [("cancel", "clock", True)]
    await journal.close()


async def test_an_answer_at_the_last_moment_counts() -> None:
    clock = FakeClock()
    journal = MemoryJournal(clock)
    first, _ = agent(clock, journal)
    paused = await first.run("go", run_id="r")
    clock.advance(60)
    await answer_pending(journal, paused.pending[0].id, ANSWERS["approved"])
    second, home = agent(clock, journal, goes_on=True)
    assert (await second.resume("r")).status == "done"
    assert len(home.executed) == 1


async def test_time_that_is_on_record_counts_though_this_clock_is_behind() -> None:
    clock = FakeClock()
    journal = MemoryJournal(clock)
    first, _ = agent(clock, journal)
    paused = await first.run("go", run_id="r")
    (asked,) = [entry.record for entry in await journal.read("r") if isinstance(entry.record, InputRequested)]
    clock.advance(100)
    journal.append("r", InputGiven("another question", "answer"))  # some other machine wrote later
    clock.set(clock.now() - 1_000)
    with pytest.raises(TooLate):
        await answer_pending(journal, paused.pending[0].id, ANSWERS["approved"])
    assert asked.pending.expires > clock.now()
