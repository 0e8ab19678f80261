"""A task ends when its key is revoked, in the process that carries it out: that of a server, or of `actum worker`."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from actum.core.run.record import Ended, ModelReplied
from actum.runs.caller_access import ACCESS_REVOKED, AGE_S
from actum.server.keys import make_key, revoke_key
from actum.storage.sqlite import SQLiteJournal
from tests import warm
from tests.chat_server import ChatServer
from tests.cli.test_serve import PATHS, Server, until
from tests.server.doors import doors_open
from tests.server.test_access_doors import SETTINGS, TOOLS, answers

DISPATCHERS = {
    "a server": "[tasks]\nworkers = 1\n",
    "a worker": '[tasks]\nworkers = 1\ndispatcher = "celery"\nbroker = "{broker}"\n',
}


@asynccontextmanager
async def working(folder: Path) -> AsyncIterator[None]:
    """`actum worker` in a folder."""
    process = await warm.start(
        *(sys.executable, "-m", "actum", "worker"),
        stderr=asyncio.subprocess.PIPE,
        cwd=folder,
        env={**PATHS, "HOME": str(folder), "ACTUM_JOURNAL": "runs.db"},
    )
    try:
        await Server(process, folder).heard("actum works")
        yield
    finally:
        process.kill()
        await process.communicate()


@asynccontextmanager
async def nobody() -> AsyncIterator[None]:
    """The server carries tasks out itself."""
    yield


@pytest.mark.row("S3")
@pytest.mark.parametrize("who", DISPATCHERS)
async def test_a_task_under_way_ends_and_one_that_waits_does_not_begin(
    who: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    broker = request.getfixturevalue("broker").url if who == "a worker" else ""
    journal = SQLiteJournal(str(tmp_path / "runs.db"))
    tasks = journal.tasks
    assert tasks is not None
    with ChatServer(answers) as model:
        settings = SETTINGS.format(url=model.url) + DISPATCHERS[who].format(broker=broker)
        async with doors_open(tmp_path, settings, TOOLS) as place, working(tmp_path) if broker else nobody():
            key = await make_key(journal, "ci", by="root", user="ann", scopes=("runs", "tools", "tasks"))
            ids: list[str] = []
            for case in ("case-1", "case-2"):
                body = {"agent": "desk", "question": case, "execute_async": True}
                told = await place.http("POST", "/v1/runs", body, key.text)
                ids.append(str(msgspec.json.decode(told.text)["task_id"]))
            await until((tmp_path / "begun case-1").exists)
            await revoke_key(journal, "ci", by="root")
            await asyncio.sleep(AGE_S)  # the process that has looked before may learn of it this late
            (tmp_path / "go").touch()

            async def are_over() -> bool:
                found = [await tasks.find(each) for each in ids]
                return all(line is not None and line.is_finished for line in found)

            await until(are_over)
    for task, replies in zip(ids, (1, 0), strict=True):
        line = await tasks.find(task)
        assert line is not None
        assert (line.state, line.error) == ("failed", ACCESS_REVOKED)
        records = [entry.record for entry in await journal.read(task)]
        assert [record.reason for record in records if isinstance(record, Ended)] == [ACCESS_REVOKED]
        assert len([record for record in records if isinstance(record, ModelReplied)]) == replies
    assert (tmp_path / "finished case-1").exists(), "the call that was under way has finished"
    assert not (tmp_path / "begun case-2").exists()
    assert not (tmp_path / "paid").exists()
    await journal.close()
