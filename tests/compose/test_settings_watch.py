"""Settings that change while a process runs: what closes holds at once, and nothing opens by itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from actum.compose.agents import Agents
from actum.compose.settings import Settings, read_settings
from actum.compose.settings_watch import LOOK_S, SettingsWatch, open_egress
from actum.core.errors import UnknownName
from actum.journal.memory import MemoryJournal
from actum.testing import FakeClock
from actum.transport.egress import Egress, EgressRules
from actum.transport.guard import AddressRefused, Guard

DESK = '[agents.desk]\nmodel = "embedded"\ntools = []\nmcp = []\n'


def read(folder: Path, text: str) -> Settings:
    (folder / "actum.toml").write_text(text, "utf-8")
    return read_settings(folder, {"HOME": str(folder)}, {"tools": ["none"]})


@pytest.mark.parametrize(
    ("before", "after", "lets_in"),
    [
        ("", 'roles = ["boss"]', False),
        ("", 'users = ["bob"]', False),
        ('users = ["ann", "bob"]', 'users = ["bob"]', False),
        ('roles = ["clerk"]', 'roles = ["boss"]', False),
        ('roles = ["clerk", "boss"]', 'roles = ["clerk"]', True),
        ("", None, False),
        ('users = ["bob"]', "", False),
        ('users = ["bob"]', 'users = ["ann"]', False),
        ('roles = ["clerk"]', "roles = [", True),
    ],
)
async def test_an_agent_is_as_narrow_as_at_the_start_and_as_the_files_say_now(
    tmp_path: Path, before: str, after: str | None, lets_in: bool
) -> None:
    settings = read(tmp_path, DESK + before)
    clock = FakeClock()
    agents = Agents(settings, {"HOME": str(tmp_path)}, tmp_path, journal=MemoryJournal(), clock=clock)
    desk = agents.get("desk")
    (tmp_path / "actum.toml").write_text("" if after is None else DESK + after, "utf-8")
    clock.advance(LOOK_S)
    assert ("desk" in agents.visible("ann", ["clerk"])) is lets_in
    try:
        await desk.run("Hello", principal="ann", roles=["clerk"])
        ran = True
    except UnknownName:
        ran = False
    assert ran is lets_in
    assert not desk.is_open, "its card is for nobody without a key"
    await agents.close()


def gone(file: Path) -> None:
    file.unlink()


def broken(file: Path) -> None:
    file.write_text("[agents", "utf-8")


def a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


@pytest.mark.parametrize("change", [gone, broken, a_folder])
def test_files_that_are_gone_or_broken_change_nothing_and_it_is_told(
    tmp_path: Path, change: Callable[[Path], None]
) -> None:
    settings, clock = read(tmp_path, DESK + 'users = ["bob"]'), FakeClock()
    watch = SettingsWatch(settings, {"HOME": str(tmp_path)}, clock=clock)
    assert (watch.now, watch.trouble()) == (settings, "")
    change(tmp_path / "actum.toml")
    clock.advance(LOOK_S)
    assert watch.now.agents["desk"].users == ("bob",)
    assert "still hold" in watch.trouble()
    assert str(tmp_path) not in watch.trouble()
    if change is a_folder:
        (tmp_path / "actum.toml").rmdir()
    (tmp_path / "actum.toml").write_text(DESK + 'users = ["eve"]', "utf-8")
    clock.advance(LOOK_S)
    assert (watch.trouble(), watch.now.agents["desk"].users) == ("", ("eve",))


def test_settings_that_were_read_from_no_file_stay_as_they_are() -> None:
    settings = Settings()
    assert SettingsWatch(settings, {}).now is settings


def test_a_child_process_is_told_how_the_settings_were_read(tmp_path: Path) -> None:
    settings = read(tmp_path, DESK)
    told = msgspec.json.decode(msgspec.json.encode(settings), type=Settings)
    assert told.origin == settings.origin is not None
    clock = FakeClock()
    watch = SettingsWatch(told, {"HOME": str(tmp_path)}, clock=clock)
    (tmp_path / "actum.toml").write_text('tools = ["x.py"]\n', "utf-8")
    clock.advance(LOOK_S)
    assert (watch.now.tools, dict(watch.now.agents)) == (("none",), {}), "what was said still stands over the file"


OPEN = EgressRules()
ONE = EgressRules(allow=("a.example.com",))
HTTP = EgressRules(allow=("http://a.example.com",))
TWO = EgressRules(allow=("a.example.com", "b.example.com"))
INSIDE = EgressRules(private=("http://localhost:9000",))
A, B, OLD, HERE = "https://a.example.com/", "https://b.example.com/", "http://a.example.com/", "http://localhost:9000/"


@pytest.mark.parametrize(
    ("before", "after", "reached"),
    [
        (OPEN, OPEN, {A, B}),
        (OPEN, EgressRules(deny=("a.example.com",)), {B}),
        (OPEN, ONE, {A}),
        (TWO, ONE, {A}),
        (ONE, TWO, {A}),
        (ONE, OPEN, {A}),
        (ONE, EgressRules(allow=("b.example.com",)), set()),
        (HTTP, OPEN, set()),
        (OPEN, HTTP, set()),
        (INSIDE, INSIDE, {A, B, HERE}),
        (INSIDE, OPEN, {A, B}),
        (OPEN, INSIDE, {A, B}),
        (EgressRules(deny=("a.example.com",)), OPEN, {B}),
        (EgressRules(deny=("a.example.com",)), EgressRules(deny=("b.example.com",)), set()),
    ],
)
def test_egress_becomes_narrower_at_once_and_wider_never(
    before: EgressRules, after: EgressRules, reached: set[str]
) -> None:
    guard, found = Guard(egress=Egress(before, now=lambda: after)), set()
    for address in (A, B, OLD, HERE):
        try:
            guard.judge(address)
            found.add(address)
        except AddressRefused:
            pass
    assert found == reached


def test_the_guard_of_a_process_follows_the_files(tmp_path: Path) -> None:
    settings = read(tmp_path, "")
    egress = open_egress(settings, {"HOME": str(tmp_path)})
    assert egress.deny == ()
