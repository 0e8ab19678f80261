"""What is watched: files whatever becomes of them, and resources of MCP servers, by one server of ours or by two."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from actum.core.errors import UsageError
from actum.core.json import JsonObject
from actum.protocols.mcp.config import McpServer
from actum.server import Folder, McpService
from actum.testing import FakeClock
from actum.toolsets.mcp.toolset import McpToolset
from actum.triggers import watched_file
from actum.triggers.content import ContentChanges, WatchedContent
from actum.triggers.event import TriggerEvent
from actum.triggers.mcp_resource import McpResource, resource_content
from actum.triggers.settings import TriggerTable
from actum.triggers.watch import Watcher
from actum.triggers.watched_file import MOVING_MAX, StillChanging, UnreadableFile, WatchedFile
from tests.mcp_service import served
from tests.patience import HANGS_S
from tests.storage.conftest import Store

from .test_desk import Hall

pytestmark = pytest.mark.row("A6")

PLAN = TriggerTable(workflow="lamp", file="plan.txt", with_={"room": "${event.data.text?}-"})
NOTE = TriggerTable(
    workflow="lamp", server="notes", resource="notes:///today.md", with_={"room": "${event.data.text?}-"}
)


@pytest.fixture
def hall(shared: Store) -> Callable[..., Hall]:
    return lambda **triggers: Hall(shared, triggers)


async def rooms(hall: Hall) -> list[str]:
    """The rooms that the runs were given, the oldest first."""
    runs = await hall.journal.runs(limit=None)
    for run in reversed(runs):
        await hall.carry_out(run.run_id)
    return hall.lit


# Files ----------------------------------------------------------------------------------------------------------------


def test_a_file_is_read_whole_or_not_at_all_whatever_it_is(tmp_path: Path) -> None:
    path = tmp_path / "plan.txt"
    file = WatchedFile(path)
    assert file.read() == WatchedContent()  # there is none
    path.write_text("one", "utf-8")
    first = file.read()
    assert first is not None
    assert first.text == "one"
    link = tmp_path / "link.txt"
    link.symlink_to(path)
    through = WatchedFile(link)
    assert through.read() == first
    other = tmp_path / "other.txt"
    other.write_text("two", "utf-8")
    through.settle()
    link.unlink()
    link.symlink_to(other)
    assert through.read() == WatchedContent.of([b"two"])
    large = tmp_path / "large"
    with large.open("wb") as written:
        written.truncate(watched_file.FILE_BYTES_MAX + 1)
    os.mkfifo(tmp_path / "pipe")  # reading it would wait for a writer for ever
    (tmp_path / "round").symlink_to(tmp_path / "round")
    for name, why in (("large", "longer"), ("pipe", "no file"), ("round", "read"), (".", "no file")):
        with pytest.raises(UnreadableFile, match=why):
            WatchedFile(tmp_path / name).read()
    assert WatchedFile(Path("/dev/null")).path.exists()
    with pytest.raises(UnreadableFile, match="no file"):
        WatchedFile(Path("/dev/zero")).read()


def test_two_changes_within_one_tick_of_the_file_system_are_seen(tmp_path: Path) -> None:
    """The time and the size of the file are the same for both."""
    path = tmp_path / "plan.txt"
    file = WatchedFile(path)
    path.write_text("one", "utf-8")
    before = path.stat()
    assert file.read() == WatchedContent.of([b"one"])
    file.settle()
    with path.open("r+", encoding="utf-8") as written:
        written.write("two")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file.read() == WatchedContent.of([b"two"])


def test_a_file_that_grows_while_it_is_read_is_looked_at_again_but_not_for_ever(tmp_path: Path) -> None:
    path, is_over = tmp_path / "log.txt", threading.Event()
    with path.open("wb") as empty:
        empty.truncate(150_000_000)  # so large that somebody writes meanwhile, however busy the machine is

    def write() -> None:
        with path.open("ab", buffering=0) as log:
            while not is_over.is_set():
                log.write(b".")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        file = WatchedFile(path)
        for _ in range(MOVING_MAX - 1):
            with pytest.raises(StillChanging):
                file.read()
        assert file.read() is not None
    finally:
        is_over.set()
        writer.join()


async def test_a_file_is_removed_replaced_and_is_what_it_was_again_each_time_once_for_two_servers(
    hall: Callable[..., Hall], tmp_path: Path
) -> None:
    it, path = hall(plan=PLAN), tmp_path / "plan.txt"
    watchers = [Watcher(it.intake, tmp_path), Watcher(it.intake, tmp_path)]

    async def looked() -> None:
        for _ in range(3):
            await asyncio.gather(*(watcher.look() for watcher in watchers))

    await looked()  # there is no file yet
    path.write_text("A", "utf-8")
    await looked()
    path.unlink()
    await looked()
    (tmp_path / "new").write_text("A", "utf-8")
    (tmp_path / "new").replace(path)
    await looked()
    assert sorted(await rooms(it)) == ["-", "A-", "A-"]


async def test_a_change_that_was_written_down_and_not_told_is_told_by_another_server(
    hall: Callable[..., Hall], tmp_path: Path
) -> None:
    """The first server can begin nothing for now; meanwhile the content goes back to what it was before."""
    it = hall(plan=PLAN)
    content = {text: WatchedContent.of([text.encode()]) for text in "AB"}
    full = Hall(Store(it.place), {"plan": msgspec.structs.replace(PLAN, queued_max=1)})
    first = ContentChanges(full.intake, "plan", "file", {"path": "p"})
    second = ContentChanges(it.intake, "plan", "file", {"path": "p"})
    await first.saw(content["A"])
    await full.intake.take(TriggerEvent(trigger="plan", id="x", at=0.0, data={"text": "waits"}))
    with pytest.raises(UsageError, match="1 tasks of this user wait"):
        await first.saw(content["B"])
    await full.journal.close()
    await second.saw(content["A"])  # B is told, and the change back to A
    await second.saw(content["A"])
    assert sorted(await rooms(it)) == ["A-", "B-", "waits-"]


async def test_a_server_that_is_late_tells_no_change_twice(hall: Callable[..., Hall]) -> None:
    """It read the content before another server told of two changes."""
    it = hall(plan=PLAN)
    content = {text: WatchedContent.of([text.encode()]) for text in "ABC"}
    servers = [ContentChanges(it.intake, "plan", "file", {"path": "p"}) for _ in range(2)]
    await servers[0].saw(content["A"])
    for text in "BAC":
        await asyncio.gather(*(server.saw(content[text]) for server in servers))
    assert sorted(await rooms(it)) == ["A-", "B-", "C-"]


# Schedules ------------------------------------------------------------------------------------------------------------


async def test_a_schedule_asks_the_database_only_when_it_is_due(hall: Callable[..., Hall], tmp_path: Path) -> None:
    it = hall(daily=TriggerTable(workflow="lamp", with_={"room": "hall"}, schedule="0 7 * * *"))
    watcher = Watcher(it.intake, tmp_path)
    it.clock.set(1_790_000_000.0)
    for _ in range(3):
        await watcher.look()
    begins = await it.intake.positions.find("schedule:daily")
    assert begins is not None
    assert await it.intake.positions.move("schedule:daily", begins, "0.0")  # nobody looks at it until 7 o'clock
    await watcher.look()
    assert await it.journal.runs(limit=None) == []
    it.clock.advance(86_400.0)
    await watcher.look()
    assert len(await it.journal.runs(limit=None)) == 1


async def test_an_event_of_a_schedule_waits_while_its_workflow_is_away_and_is_told_in_the_log_once(
    hall: Callable[..., Hall], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    it = hall(hourly=TriggerTable(workflow="away", with_={"room": "hall"}, schedule="0 * * * *"))
    watcher = Watcher(it.intake, tmp_path)
    it.clock.set(1_790_000_000.0)
    await watcher.look()
    it.clock.advance(3_600.0)
    for _ in range(5):
        await watcher.look()
    assert [record.message for record in caplog.records] == ["trigger hourly: it is away"]
    it.is_away = False
    await watcher.look()
    await watcher.look()
    assert await rooms(it) == ["hall"]


# Resources ------------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def resource_at(url: str) -> AsyncIterator[McpResource]:
    server = McpServer(name="notes", url=url, transport="http")
    resource = McpResource(
        "notes:///today.md", lambda changed: McpToolset(server, approve="all", changed=changed, wait_s=HANGS_S)
    )
    try:
        yield resource
    finally:
        await resource.close()


@asynccontextmanager
async def following(it: Hall, folder: Path, resource: McpResource) -> AsyncIterator[None]:
    following = asyncio.create_task(Watcher(it.intake, folder, {"note": resource}).run())
    try:
        yield
    finally:
        following.cancel()
        await asyncio.wait([following])


async def lit(it: Hall, clock: FakeClock, wanted: Sequence[str]) -> None:
    """Let the time of the MCP server pass until these rooms were lit."""
    async with asyncio.timeout(HANGS_S):
        while await rooms(it) != wanted:
            clock.advance(1.0)
            it.clock.advance(0.05)  # for a server that waits while the other takes the event
            await asyncio.sleep(0.01)


async def test_a_resource_that_a_server_tells_of_begins_one_run_a_change_with_two_servers_of_ours(
    hall: Callable[..., Hall], tmp_path: Path
) -> None:
    it, clock, note = hall(note=NOTE), FakeClock(), tmp_path / "today.md"
    it.clock.auto = False  # nothing is read because time passes
    note.write_text("one", "utf-8")
    service = McpService(resources=[Folder("notes", tmp_path)], clock=clock)
    async with (
        served(service) as url,
        resource_at(url) as here,
        resource_at(url) as there,
        following(it, tmp_path, here),
        following(it, tmp_path, there),
        asyncio.timeout(HANGS_S),
    ):
        while not service.changes.watched or await it.intake.positions.find("resource:note") is None:  # noqa: ASYNC110
            await asyncio.sleep(0.01)  # a server in between has no event for it
        told: list[str] = []
        for text in ("two", "one", "two"):
            note.write_text(text, "utf-8")
            told.append(f"{text}-")
            it.clock.advance(1.0)
            await lit(it, clock, told)
    assert len(await it.journal.runs(limit=None)) == 3


class Hasty:
    """A resource of a server that says all the time that the resource has changed."""

    address = "notes:///today.md"

    def __init__(self) -> None:
        self.read_times = 0

    async def listen(self, changed: Callable[[], None]) -> None:
        asyncio.get_running_loop().call_soon(changed)

    async def read(self) -> WatchedContent:
        self.read_times += 1
        return WatchedContent.of([b"%d" % self.read_times])

    async def close(self) -> None:
        """Nothing is open."""


async def test_a_server_that_says_all_the_time_that_a_resource_changed_has_it_read_once_a_second(
    hall: Callable[..., Hall], tmp_path: Path
) -> None:
    it, hasty = hall(note=NOTE), Hasty()
    it.clock.auto = False
    following = asyncio.create_task(Watcher(it.intake, tmp_path, {"note": hasty}).run())
    for second in range(1, 4):
        async with asyncio.timeout(HANGS_S):
            while it.clock.slept.count(1.0) < second:  # noqa: ASYNC110  # the clock has no event for it
                await asyncio.sleep(0.005)
        assert hasty.read_times == second
        it.clock.advance(1.0)
    following.cancel()
    await asyncio.wait([following])
    assert len(await it.journal.runs(limit=None)) == 2  # the first content is no change


async def test_a_resource_of_a_server_that_tells_nothing_is_read_from_time_to_time_and_may_be_away(
    hall: Callable[..., Hall], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    it, note = hall(note=NOTE), tmp_path / "today.md"
    it.clock.auto = False
    note.write_text("one", "utf-8")

    async def comes(there: Callable[[], bool]) -> None:
        while not there():
            it.clock.advance(61.0)
            await asyncio.sleep(0.02)
            await rooms(it)

    async with (
        served(McpService(resources=[Folder("notes", tmp_path)], clock=FakeClock())) as url,
        resource_at(url) as resource,
        following(it, tmp_path, resource),
        asyncio.timeout(HANGS_S),
    ):
        await comes(lambda: it.clock.slept.count(1.0) > 1)
        note.unlink()
        await comes(lambda: "trigger note:" in caplog.text)  # what can not be read is no change
        note.write_text("two", "utf-8")
        await comes(lambda: it.lit == ["two-"])
    assert it.lit == ["two-"]


def test_what_a_server_says_about_its_contents_is_no_content() -> None:
    def told(*contents: JsonObject) -> WatchedContent:
        return resource_content({"contents": list(contents)})

    plain: JsonObject = {"uri": "notes://a", "text": "Hello"}
    assert told(plain) == told(plain | {"_meta": {"at": 1}, "mimeType": "text/plain"})
    assert told(plain).digest != told(plain | {"text": "hello"}).digest
    assert told(plain, {"uri": "notes://b", "blob": "/w=="}).text is None
    assert told(plain | {"text": "x" * 70_000}).text is None
    assert told(plain | {"text": "\ud800"}).text == "?"
    assert told().digest
