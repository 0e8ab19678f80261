"""Two server processes around one journal: one drives a task, the other one tells of the task."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import httpx

from tests.patience import HANGS_S
from tests.server_process import running

from .serving import NEW, spoken

HEARS_S = 0.5
TRIES = 10


async def test_a_subscriber_in_another_process_hears_within_half_a_second(tmp_path: Path) -> None:
    late: list[float] = []
    with (
        running("tests.server.a2a.killable", str(tmp_path), path="/a2a/desk") as driving,
        running("tests.server.a2a.killable", str(tmp_path), path="/a2a/desk") as telling,
    ):
        async with httpx.AsyncClient(timeout=HANGS_S) as client, asyncio.timeout(HANGS_S):

            async def hear(url: str, method: str, params: object, began: asyncio.Future[str]) -> float:
                """When the end of the task was heard of."""
                body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
                async with client.stream("POST", url, json=body, headers=NEW) as answer:
                    async for line in answer.aiter_lines():
                        if line.startswith("data: ") and not began.done():
                            began.set_result(json.loads(line[6:])["result"]["task"]["id"])
                        if "TASK_STATE_COMPLETED" in line:
                            return asyncio.get_running_loop().time()
                raise AssertionError("the stream ended before the task")

            for number in range(TRIES):  # the machine may be busy: one of some tries has to be in time
                for name in ("open", "waits"):
                    await asyncio.to_thread((tmp_path / name).unlink, missing_ok=True)
                first, second = [asyncio.get_running_loop().create_future() for _ in range(2)]
                sent = spoken("Go", f"m{number}")
                here = asyncio.create_task(hear(driving, "SendStreamingMessage", sent, first))
                subscribed = {"id": await first}
                there = asyncio.create_task(hear(telling, "SubscribeToTask", subscribed, second))
                await second
                while not await asyncio.to_thread((tmp_path / "waits").exists):  # noqa: ASYNC110  # another process
                    await asyncio.sleep(0.02)
                await asyncio.to_thread((tmp_path / "open").touch)
                late.append(await there - await here)
                if late[-1] < HEARS_S:
                    break
    assert min(late) < HEARS_S, late
