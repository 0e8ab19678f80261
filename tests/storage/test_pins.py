"""Approvals outlive the process, and no two writers lose one."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import pytest

from actum.core.errors import UsageError
from actum.core.json import JsonObject
from actum.storage.pins import PinStore
from tests import warm

pytestmark = pytest.mark.row("T4")

ADD: JsonObject = {"name": "add", "description": "Adds.", "inputSchema": {"type": "object"}}


def test_what_was_approved_is_known_to_the_next_process_and_nothing_else_is(tmp_path: Path) -> None:
    path = tmp_path / "new" / "pins.json"
    PinStore(path).approve("server a", [ADD], by="ada")
    again = PinStore(path)
    assert again.approved("server a") == {"add": (ADD,)}
    assert again.known("server a").approved
    assert again.known("server a").tools["add"][0].by == "ada"
    assert (again.approved("server b"), again.known("server b").approved) == ({}, False)
    assert path.stat().st_mode & 0o077 == 0
    assert [found.name for found in path.parent.iterdir() if "lock" not in found.name] == ["pins.json"]


def test_what_another_one_writes_is_seen_at_once(tmp_path: Path) -> None:
    one, other = PinStore(tmp_path / "pins.json"), PinStore(tmp_path / "pins.json")
    assert one.approved("s") == {}
    before = one.stamp
    other.approve("s", [ADD])
    assert one.stamp != before
    assert one.approved("s") == {"add": (ADD,)}


def test_each_definition_of_a_tool_is_approved_once_and_stays_so_until_it_is_taken_back(tmp_path: Path) -> None:
    store = PinStore(tmp_path / "pins.json")
    other: JsonObject = {**ADD, "description": "Adds more."}
    for definition in (ADD, other, dict(reversed(ADD.items()))):
        store.approve("s", [definition])
    assert store.approved("s") == {"add": (other, ADD)}
    store.withdraw("s", ["add"])
    assert store.approved("s") == {}


def test_a_file_of_an_older_version_is_read_and_keeps_its_approvals_when_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "pins.json"
    tool = {"definition": ADD, "at": "2026-01-01T00:00:00+00:00", "by": "ada"}
    known = {"approved": True, "era": "legacy", "tools": {"add": tool}}
    path.write_bytes(msgspec.json.encode({"version": 1, "servers": {"s": known, "t": {"approved": True}}}))
    store = PinStore(path)
    assert (store.known("s").era, store.approved("s")) == ("legacy", {"add": (ADD,)})
    store.approve("t", [ADD], by="bob")
    for each in (store, PinStore(path)):
        assert each.known("s").tools["add"][0].by == "ada"
        assert (each.known("s").approved, each.approved("t")) == (True, {"add": (ADD,)})


def test_an_approval_can_be_taken_back(tmp_path: Path) -> None:
    store = PinStore(tmp_path / "pins.json")
    store.approve("s", [ADD, {**ADD, "name": "sub"}])
    store.withdraw("s", ["add"])
    assert (set(store.approved("s")), store.known("s").approved) == ({"sub"}, True)
    store.withdraw("s")
    assert (set(store.approved("s")), store.known("s").approved) == (set(), False)


def test_to_remember_an_era_approves_of_nothing(tmp_path: Path) -> None:
    store = PinStore(tmp_path / "pins.json")
    store.remember("s", "legacy")
    assert (store.known("s").era, store.known("s").approved) == ("legacy", False)
    stamp = store.stamp
    store.remember("s", "legacy")
    assert store.stamp == stamp


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"version": 3}', '{"servers": {}}', '{"version": 1, "servers": {"s": {"tools": 3}}}']
)
def test_a_damaged_file_is_an_error_and_is_left_as_it_is(tmp_path: Path, text: str) -> None:
    path = tmp_path / "pins.json"
    path.write_text(text)
    with pytest.raises(UsageError, match="no file of approvals"):
        PinStore(path).approved("s")
    with pytest.raises(UsageError, match="no file of approvals"):
        PinStore(path).approve("s", [ADD])
    assert path.read_text() == text


def test_processes_that_approve_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "pins.json"
    code = (
        "import sys; from pathlib import Path; from actum.storage.pins import PinStore\n"
        "store = PinStore(Path(sys.argv[1]))\n"
        "for n in range(10): store.approve('s', [{'name': f'{sys.argv[2]}{n}'}])"
    )
    writers = [warm.popen([sys.executable, "-c", code, str(path), letter]) for letter in "abc"]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    assert len(PinStore(path).approved("s")) == 30


def test_what_is_approved_for_a_tenant_holds_for_no_other(tmp_path: Path) -> None:
    pins = PinStore(tmp_path / "pins.json")
    stores = {tenant: pins.of_tenant(tenant) for tenant in ("", "north", "south", "../south", "north\0", "NORTH")}
    assert len({store.path for store in stores.values()}) == len(stores)
    assert {store.path.parent for store in stores.values()} == {tmp_path}
    stores["north"].approve("server", [{"name": "desk"}], by="op")
    approved = {tenant: pins.of_tenant(tenant).known("server").approved for tenant in stores}
    assert approved == {tenant: tenant == "north" for tenant in stores}
