"""Names under which a server finds a run again."""

from __future__ import annotations

from pathlib import Path

from actum.core.interfaces import Journal
from actum.core.run.record import Ended, Started
from actum.journal.memory import MemoryJournal
from actum.storage.place import open_journal


async def test_a_run_is_found_by_its_names_until_it_is_forgotten(tmp_path: Path) -> None:
    journals: list[Journal] = [MemoryJournal(), open_journal(tmp_path / "runs.db")]
    for journal in journals:
        for number in range(3):
            run_id = f"run_{number}"
            journal.append(run_id, Started(agent="a", model="m", said=(), names=("n", f"own-{number}")))
            journal.append(run_id, Ended("done"))
            await journal.sync(run_id)
        assert await journal.named("n") == ["run_2", "run_1", "run_0"]
        assert await journal.named("n", limit=1) == ["run_2"]
        assert (await journal.named("own-1"), await journal.named("other")) == (["run_1"], [])
        await journal.forget("run_1")
        assert (await journal.named("n"), await journal.named("own-1")) == (["run_2", "run_0"], [])
        await journal.close()
