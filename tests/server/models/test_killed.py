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

from tests.server.models.desk import until
from tests.server.models.test_agents import AnyClient
from tests.web import listening, place

KEY = "a-shared-key-of-enough-characters"
ROOT = Path(__file__).parents[3]


async def start(listener: socket.socket, folder: Path, life: str) -> asyncio.subprocess.Process:
    file = listener.fileno()
    arguments = (str(file), str(folder / "runs.db"), str(folder / "book"), KEY, life)
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.server.models.killed", *arguments, cwd=ROOT, pass_fds=[file]
    )


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
        return await other.responses.create(model="desk", input="Pay.", extra_headers=headers)


async def test_an_official_client_with_its_defaults_gets_the_one_outcome_of_a_killed_run(tmp_path: Path) -> None:
    for name in ("openai", "anthropic", "idempotency-key"):
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
