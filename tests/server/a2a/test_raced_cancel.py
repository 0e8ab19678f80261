"""Two processes cancel a task at the moment at which it ends: its state is one of the two, everywhere, and stays."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import pytest

from actum.core.run.record import Ended
from tests.patience import HANGS_S
from tests.server_process import running

from .racing import opened
from .serving import NEW, spoken

ROUNDS = 12


async def ask(client: httpx.AsyncClient, url: str, method: str, params: object) -> dict[str, Any]:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    told: dict[str, Any] = (await client.post(url, json=body, headers=NEW)).json()
    return told


async def until_there(path: Path) -> None:
    while not await asyncio.to_thread(path.exists):  # noqa: ASYNC110  # another process makes it
        await asyncio.sleep(0.005)


async def race(client: httpx.AsyncClient, urls: tuple[str, str], folder: Path, number: int) -> tuple[str, str]:
    """One task: the id, and the state in which it ended. The file is made a little earlier in each round."""
    name = f"round{number}"
    params = {**spoken(name, name), "configuration": {"returnImmediately": True}}
    task = (await ask(client, urls[number % 2], "SendMessage", params))["result"]["task"]
    await until_there(folder / f"{name}.waits")

    async def open_later() -> None:
        for _ in range(2 * (ROUNDS - number)):
            await asyncio.sleep(0)
        await asyncio.to_thread((folder / name).touch)

    cancels = (ask(client, url, "CancelTask", {"id": task["id"]}) for url in urls)
    told = await asyncio.gather(*cancels, open_later())
    answers = [each for each in told if each is not None]
    async with asyncio.timeout(HANGS_S):
        while True:
            got = [(await ask(client, url, "GetTask", {"id": task["id"]}))["result"] for url in urls]
            states = {each["status"]["state"] for each in got}
            if len(states) == 1 and states <= {"TASK_STATE_CANCELED", "TASK_STATE_COMPLETED"}:
                break
    (state,) = states
    for each in answers:
        if "result" in each:
            assert each["result"]["status"]["state"] == state == "TASK_STATE_CANCELED", (each, state)
        else:
            assert each["error"]["code"] == -32002, each
    if state == "TASK_STATE_COMPLETED":
        assert all("error" in each for each in answers), answers
        assert got[0]["artifacts"][0]["parts"][0]["text"] == "Done."
    return task["id"], state


@pytest.mark.row("P3")
async def test_a_task_that_two_processes_cancel_as_it_ends_has_one_state_and_keeps_it(
    place: str, tmp_path: Path
) -> None:
    words = (place, str(tmp_path))
    with (
        running("tests.server.a2a.racing", *words, path="/a2a/desk") as one,
        running("tests.server.a2a.racing", *words, path="/a2a/desk") as other,
    ):
        # A kept connection may be closed by the server just as the next request goes out on a busy machine.
        async with httpx.AsyncClient(timeout=HANGS_S, limits=httpx.Limits(max_keepalive_connections=0)) as client:
            ended = dict([await race(client, (one, other), tmp_path, number) for number in range(ROUNDS)])
            for run_id, state in ended.items():
                for url in (one, other):
                    got = await ask(client, url, "GetTask", {"id": run_id})
                    assert got["result"]["status"]["state"] == state
    journal = opened(place)
    try:
        for run_id in ended:
            ends = [entry.record for entry in await journal.read(run_id) if isinstance(entry.record, Ended)]
            assert len(ends) == 1, (run_id, ends)
    finally:
        await journal.close()
    assert len(ended) == ROUNDS, Counter(ended.values())
