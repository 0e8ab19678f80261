"""Local MCP servers as processes: what is started is ended, whoever opens and closes, and however a server behaves."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import select
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from actum.core.errors import CallError, Unavailable
from actum.protocols.mcp.config import McpServer
from actum.toolsets.mcp.connection import McpConnection
from tests.endurance import share
from tests.patience import HANGS_S

SHY = str(Path(__file__).parents[1] / "peers" / "servers" / "shy.py")


class Held:
    """A pipe that every process of a server holds open: once nobody does, all of them are gone."""

    def __init__(self, place: Path) -> None:
        os.mkfifo(place)
        self._place = place
        self._end = os.open(place, os.O_RDONLY | os.O_NONBLOCK)

    def server(self, name: str, *, script: str = 'exec "$0" "$1"', more: str = "") -> McpServer:
        """A server whose processes hold the pipe. `$0` is Python and `$1` the server's program."""
        line = f'exec 3>"$2"; {more} {script}'
        args = ("-c", line, sys.executable, SHY, str(self._place))
        return McpServer(name=name, command="/bin/sh", args=args, era="legacy")

    def wait_for_word(self) -> None:
        """Wait until one of the processes writes a line into the pipe."""
        select.select([self._end], [], [], HANGS_S)
        assert os.read(self._end, 100).endswith(b"\n")

    def is_free(self) -> bool:
        """Nobody holds the pipe, now or in a moment."""
        return bool(select.select([self._end], [], [], HANGS_S)[0]) and os.read(self._end, 1) == b""

    def close(self) -> None:
        os.close(self._end)


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Held]:
    pipe = Held(tmp_path / "held")
    yield pipe
    pipe.close()


@pytest.mark.endurance("src/actum/toolsets/mcp", "src/actum/transport")
async def test_connections_in_any_order_and_task_leave_no_process_and_no_file_open(held: Held) -> None:
    dice = random.Random(20)
    connections = [McpConnection(held.server(f"s{number}")) for number in range(share(200, 60))]
    up: list[McpConnection] = []
    at_once = asyncio.Semaphore(12)

    async def use(connection: McpConnection) -> None:
        async with at_once:
            if dice.random() < 0.1:  # closed by another task while it comes up
                with contextlib.suppress(Unavailable):
                    await asyncio.gather(connection.facts(), connection.close())
                return
            assert await connection.list_all("tools/list") == []
            up.append(connection)
            if len(up) > 8:
                another = up.pop(dice.randrange(len(up)))
                await asyncio.create_task(another.close())

    async with McpConnection(held.server("first")) as first:
        await first.facts()  # what a first one loads stays open
    before = len(os.listdir("/dev/fd"))  # noqa: PTH208 - it is no folder of files
    async with asyncio.TaskGroup() as tasks:
        for connection in connections:
            tasks.create_task(use(connection))
    dice.shuffle(up)
    await asyncio.gather(*(connection.close() for connection in up))

    assert await asyncio.to_thread(held.is_free)
    assert len(os.listdir("/dev/fd")) <= before  # noqa: PTH208
    assert [task for task in asyncio.all_tasks() if task.get_name().startswith("mcp ")] == []


@pytest.mark.parametrize(
    ("kind", "more", "script"),
    [
        ("one that has children", "sleep 1000 &", 'exec "$0" "$1"'),
        ("one that is deaf to its end", "trap '' TERM;", '"$0" "$1"; sleep 1000'),
    ],
)
async def test_a_server_is_ended_with_all_that_it_started(held: Held, kind: str, more: str, script: str) -> None:
    async with McpConnection(held.server(kind, more=more, script=script)) as connection:
        assert (await connection.facts()).info["name"] == "shy"
    assert await asyncio.to_thread(held.is_free)


async def test_whoever_is_cancelled_while_a_server_starts_leaves_no_process(held: Held) -> None:
    connection = McpConnection(
        held.server("slow", more="sleep 1000 &", script="echo up >&3; cat >/dev/null")
    )  # it never answers
    asking = asyncio.create_task(connection.facts())
    await asyncio.to_thread(held.wait_for_word)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await connection.close()
    assert await asyncio.to_thread(held.is_free)


async def test_a_server_that_ends_at_the_question_for_its_era_is_started_again_and_shaken_hands_with() -> None:
    async with McpConnection(McpServer(name="shy", command=sys.executable, args=(SHY,))) as connection:
        assert (await connection.facts()).version == "2025-06-18"


async def test_what_can_not_be_started_is_told_in_words(tmp_path: Path) -> None:
    for command, words in (("no-such-program-anywhere", "no program"), (str(tmp_path), "")):
        connection = McpConnection(McpServer(name="x", command=command))
        with pytest.raises(CallError, match=f"'x' can not be reached.*{words}"):
            await connection.facts()
        await connection.close()
