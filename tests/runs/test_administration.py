"""What an administrator does is a run of its own, told by the list of runs and by the audit."""

from __future__ import annotations

import pytest

from actum.core.run.chain import verify
from actum.journal.audit import Wanted, audit
from actum.journal.memory import MemoryJournal
from actum.runs.administration import put_on_record
from actum.testing import FakeClock

pytestmark = pytest.mark.row("C8")


async def test_an_act_of_an_administrator_is_one_line_of_the_audit_with_who_what_and_when() -> None:
    journal = MemoryJournal(FakeClock(now=1000.0))
    await put_on_record(journal, "keys.add", {"name": "ci"}, principal="root", key_id="k1", tenant="")
    (line,) = [line async for line in audit(journal, Wanted(decision="administered"))]
    assert (line.at, line.principal, line.tool, line.arguments) == (1000.0, "root", "keys.add", {"name": "ci"})
    assert [each async for each in audit(journal)] == [line]
    (run,) = await journal.runs()
    assert (run.status, run.agent, run.principal, run.question) == (
        "done",
        "administration",
        "root",
        'keys.add(name="ci")',
    )
    entries = await journal.read(run.run_id)
    assert verify(entries) == []
