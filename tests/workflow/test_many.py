"""Many runs of one workflow at once do not disturb each other."""

from __future__ import annotations

import pytest

from actum.compose.journals import open_journal
from actum.compose.settings import Settings
from bench.workflow_many import run_all


@pytest.mark.row("F1")
async def test_a_hundred_runs_of_ten_nodes_at_once_all_give_what_they_should(place: str) -> None:
    journal = open_journal(Settings(journal=place), {})
    try:
        _, wrong = await run_all(journal, 100)
        assert wrong == 0
        assert len(await journal.runs(limit=None, status="done")) == 100
    finally:
        await journal.close()
