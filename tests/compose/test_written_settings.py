"""Places of tools are written into the settings of a folder, and nothing else in the file changes."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from actum.compose.written_settings import remember_tools
from actum.core.errors import UsageError

CASES = {
    "": '[tools]\nuse = ["a.py", "b/"]\n',
    'model = "x"\n': 'model = "x"\n\n[tools]\nuse = ["a.py", "b/"]\n',
    "[tools]\n[limits]\nsteps = 1\n": '[tools]\nuse = ["a.py", "b/"]\n[limits]\nsteps = 1\n',
    '[tools.x]\neffects = ["read"]\n': '[tools.x]\neffects = ["read"]\n\n[tools]\nuse = ["a.py", "b/"]\n',
    '[tools]\nuse = [  # mine\n  "c.py",\n  {from = "d.py", prefix = "d_"},\n]\n': (
        '[tools]\nuse = ["a.py", "b/",   # mine\n  "c.py",\n  {from = "d.py", prefix = "d_"},\n]\n'
    ),
    'tools = []\n[other]\nuse = ["x"]\n': 'tools = ["a.py", "b/", ]\n[other]\nuse = ["x"]\n',
    "[tools] # here\n'use' = [\"b/\"]\n": '[tools] # here\n\'use\' = ["a.py", "b/"]\n',
}


def test_places_are_added_to_the_list_wherever_and_however_it_is_written(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    path = folder / "actum.toml"
    for before, after in CASES.items():
        path.write_text(before)
        assert remember_tools(["a.py", "b/", "a.py"], folder, {"HOME": str(tmp_path)}) == path
        assert path.read_text() == after, before
        tomllib.loads(after)
        remember_tools(["b/", "a.py"], folder, {"HOME": str(tmp_path)})
        assert path.read_text() == after, "the same is not written twice"
    path.unlink()
    remember_tools(['q"\\.py'], folder, {"HOME": str(tmp_path)})
    assert tomllib.loads(path.read_text()) == {"tools": {"use": ['q"\\.py']}}
    assert [each.name for each in folder.iterdir()] == ["actum.toml"]
    path.chmod(0o640)
    remember_tools(["c.py"], folder, {"HOME": str(tmp_path)})
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_file_that_can_not_be_added_to_stays_as_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    path = folder / "actum.toml"
    for text in (
        '[tools]\nuse\n= ["c"]\n',
        "[tools\n",
        'tools = {use = ["c"]}\n',
        '[tools]\nuse = "c"\n',
        "a.b = [\n[1],\n",
    ):
        path.write_text(text)
        with pytest.raises(UsageError):
            remember_tools(["a.py"], folder, {"HOME": str(tmp_path)})
        assert path.read_text() == text
