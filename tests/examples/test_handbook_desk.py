from __future__ import annotations

from pathlib import Path

import pytest

from actum.journal.recording import RunState
from actum.knowledge.citing.references import checked, references_in
from actum.storage.sqlite import SQLiteJournal
from examples.handbook_desk import main as example
from examples.handbook_desk.model import RIGHT

pytestmark = pytest.mark.row("F8", "T7")


async def test_an_answer_rests_on_a_document_and_on_a_tool_and_a_wrong_number_is_never_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = await example.ask(tmp_path / "runs.db")
    assert (result.status, result.text) == ("done", RIGHT)
    journal = SQLiteJournal(tmp_path / "runs.db")
    references = references_in(RunState(await journal.read(result.run_id)))
    assert [(each.number, each.address) for each in references] == [
        (1, "knowledge:handbook/travel.md"),
        (2, "tool:hotel_price"),
    ]
    assert all(each.verified for each in await checked(journal, result.run_id, references))
    await journal.close()
    answers = [line for line in capsys.readouterr().out.splitlines() if line.strip().startswith("answer")]
    assert "95" not in "".join(answers)
    assert await example.actum("references", result.run_id, journal=tmp_path / "runs.db") == 0
