"""What probes found is remembered where that is of use, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from actum.models.probe_memory import KEPT_MAX, NO_S_MAX, YES_S_MAX, Asked, ProbeMemory

HERE = Asked("http://127.0.0.1:8000/secret-path/v1", "m", "openai_chat")
NOW = 1_000_000_000.0


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "actum" / "probes.json"


def test_a_yes_is_kept_for_later_processes_and_a_no_is_not(state: Path) -> None:
    memory = ProbeMemory()
    assert memory.look_up(HERE, NOW) is None
    assert not state.parent.exists()
    memory.learn(HERE, NOW, native=True)
    assert (state.stat().st_mode & 0o777, b"secret" in state.read_bytes()) == (0o600, False)
    assert ProbeMemory().look_up(HERE, NOW + 60) is True
    assert ProbeMemory().look_up(HERE._replace(model="other"), NOW) is None
    assert ProbeMemory().look_up(HERE, NOW + YES_S_MAX) is None
    memory.learn(HERE, NOW, native=False)
    assert ProbeMemory().look_up(HERE, NOW) is None
    ProbeMemory().learn(HERE, NOW, native=True)  # by another process, meanwhile
    assert memory.look_up(HERE, NOW + 1) is False


def test_a_no_holds_for_an_hour_whatever_the_clock_does(state: Path) -> None:
    memory = ProbeMemory()
    memory.learn(HERE, NOW, native=False)
    known = {later: memory.look_up(HERE, NOW + later) for later in (0.0, NO_S_MAX - 1, NO_S_MAX, -1.0)}
    assert known == {0.0: False, NO_S_MAX - 1: False, NO_S_MAX: None, -1.0: None}
    assert not state.exists()


def test_a_folder_that_can_not_be_made_and_a_damaged_file_are_no_error(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state.parent.mkdir()
    for damaged in (b"", b"[]", b'{"a": "b"}', b"\xff"):
        state.write_bytes(damaged)
        assert ProbeMemory().look_up(HERE, NOW) is None
        ProbeMemory().learn(HERE, NOW, native=True)
        assert ProbeMemory().look_up(HERE, NOW) is True
    monkeypatch.setenv("XDG_STATE_HOME", "/dev/null")
    memory = ProbeMemory()
    memory.learn(HERE, NOW, native=True)
    assert memory.look_up(HERE, NOW) is True
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", "/dev/null")
    ProbeMemory().learn(HERE, NOW, native=True)


def test_the_file_does_not_grow_for_ever(state: Path) -> None:
    state.parent.mkdir()
    state.write_text("{" + ",".join(f'"{number}":{number}' for number in range(KEPT_MAX)) + "}")
    ProbeMemory().learn(HERE, NOW, native=True)
    assert ProbeMemory().look_up(HERE, NOW) is True
    assert state.read_text().count(":") == KEPT_MAX
