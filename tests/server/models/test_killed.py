"""A server is killed in a run with a side effect: the client's own repetition gets the one outcome."""

from __future__ import annotations

import asyncio
import signal
import socket
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import anthropic
import openai

from actum.core.clock import SystemClock
from actum.server.models.agents.placing import REPEAT_S
from actum.testing import FakeClock
from tests import warm
from tests.server.models.desk import desk, until
from tests.server.models.test_agents import AnyClient
from tests.web import listening, place

KEY = "a-shared-key-of-enough-characters"
ROOT = Path(__file__).parents[3]


async def start(listener: socket.socket, folder: Path, life: str) -> asyncio.subprocess.Process:
    file = listener.fileno()
    arguments = (str(file), str(folder / "runs.db"), str(folder / "book"), KEY, life)
    return await warm.start(sys.executable, "-m", "tests.server.models.killed", *arguments, cwd=ROOT, pass_fds=[file])


def is_settled(path: Path) -> bool:
    """The payment is on record. Before that moment nobody could know that it happened, and a person would be asked."""
    with closing(sqlite3.connect(path)) as journal:
        return bool(journal.execute("SELECT 1 FROM entries WHERE kind = 'call_completed'").fetchall())


async def ask(name: str, url: str) -> object:
    """Ask with the defaults of a client, which repeats twice by itself."""
    if name == "anthropic":
        ant: AnyClient = anthropic.AsyncAnthropic(base_url=url, api_key=KEY)
        async with ant as client:
            messages = [{"role": "user", "content": "Pay."}]
            return await client.messages.create(model="desk", max_tokens=9, messages=messages)
    headers = {"idempotency-key": "k1"} if name == "idempotency-key" else {}
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key=KEY) as other:
        store = name != "not stored"
        return await other.responses.create(model="desk", input="Pay.", store=store, extra_headers=headers)


async def test_an_official_client_with_its_defaults_gets_the_one_outcome_of_a_killed_run(tmp_path: Path) -> None:
    for name in ("openai", "anthropic", "idempotency-key", "not stored"):
        folder = tmp_path / name
        folder.mkdir()
        with listening() as listener:
            first = await start(listener, folder, "first")
            try:
                asking = asyncio.create_task(ask(name, place(listener)))

                async def is_stuck(folder: Path = folder) -> bool:
                    return (folder / "book.stuck").exists() and is_settled(folder / "runs.db")

                await until(is_stuck)
            finally:
                first.send_signal(signal.SIGKILL)
                await first.wait()
            second = await start(listener, folder, "second")
            try:
                told = await asking
                assert "Done." in str(told), (name, told)
                assert (folder / "book").read_text() == "20\n", name
            finally:
                second.kill()
                await second.wait()


async def words_on_record(path: Path) -> set[str]:
    """The kinds of records that still say something."""
    with closing(sqlite3.connect(path)) as journal:
        rows = journal.execute("SELECT kind FROM entries WHERE length(payload) > 0").fetchall()
    return {kind for (kind,) in rows}


async def test_the_words_of_a_killed_run_that_is_not_to_be_stored_are_deleted_by_the_next_server(
    tmp_path: Path,
) -> None:
    path = tmp_path / "runs.db"
    with listening() as listener:
        first = await start(listener, tmp_path, "first")
        asking = asyncio.create_task(ask("not stored", place(listener)))
        try:

            async def is_stuck() -> bool:
                return (tmp_path / "book.stuck").exists() and is_settled(path)

            await until(is_stuck)
        finally:
            first.send_signal(signal.SIGKILL)
            await first.wait()
            asking.cancel()  # the client does not come again
    clock = FakeClock(SystemClock().now() + 60)
    async with desk([], path=path, clock=clock):
        pass  # the client may still come, and get its answer
    assert "call_completed" in await words_on_record(path)
    clock.set(clock.now() + REPEAT_S)
    async with desk([], path=path, clock=clock):

        async def is_forgotten() -> bool:
            return await words_on_record(path) == {"forgotten"}

        await until(is_forgotten)
