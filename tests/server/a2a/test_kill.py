"""A server that is killed in the middle of a streaming task."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import httpx
import pytest

from actum.core.run.record import CallCompleted
from actum.storage.sqlite import SQLiteJournal
from tests.patience import HANGS_S
from tests.server_process import running

from .serving import NEW, spoken


async def noted_on_disk(here: Path, run_id: str) -> None:
    """Wait until the end of the call of `note` is on the disk; killed before, the server would have to ask about it."""
    journal = SQLiteJournal(here / "journal.db")
    try:
        while not any(isinstance(entry.record, CallCompleted) for entry in await journal.read(run_id)):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    finally:
        await journal.close()


@pytest.mark.row("P3")
async def test_a_task_goes_on_after_kill_9_and_nothing_is_done_twice(tmp_path: Path) -> None:
    here = Path(str(tmp_path))
    async with httpx.AsyncClient(timeout=HANGS_S) as client:

        async def events(url: str, method: str, params: object, until: str) -> list[dict[str, object]]:
            found = []
            body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            async with client.stream("POST", url, json=body, headers=NEW) as answer:
                async for line in answer.aiter_lines():
                    if line.startswith("data: "):
                        found.append(json.loads(line[6:])["result"])
                        if until in line:
                            break
            return found

        with running("tests.server.a2a.killable", str(here), path="/a2a/desk") as url:
            (first,) = await events(url, "SendStreamingMessage", spoken("Go"), until='"task"')
            task = first["task"]
            assert isinstance(task, dict)
            async with asyncio.timeout(HANGS_S):
                while not await asyncio.to_thread((here / "waits").exists):  # noqa: ASYNC110  # another process makes it
                    await asyncio.sleep(0.02)
                await noted_on_disk(here, str(task["id"]))
        # `running` kills its process: the tool was waiting.
        await asyncio.to_thread((here / "open").touch)
        with running("tests.server.a2a.killable", str(here), path="/a2a/desk") as url:
            try:
                async with asyncio.timeout(HANGS_S):
                    rest = await events(url, "SubscribeToTask", {"id": task["id"]}, until="TASK_STATE_COMPLETED")
            except KeyError:  # it was over before anybody could subscribe
                rest = []
            body = {"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": task["id"]}}
            got = (await client.post(url, json=body, headers=NEW)).json()["result"]
        assert got["status"]["state"] == "TASK_STATE_COMPLETED", (got, rest)
        assert got["artifacts"][0]["parts"][0]["text"] == "Done."
    assert await asyncio.to_thread((here / "notes").read_text) == "noted\n"
