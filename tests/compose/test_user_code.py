"""Python code of the user's own is loaded once, and an error in it is told with its line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from actum.compose.user_code import load_module, load_object, load_objects
from actum.core.errors import UnknownName, UsageError


def test_a_file_is_loaded_once_and_two_files_of_one_name_are_two_modules(tmp_path: Path) -> None:
    for folder, word in (("a", "ann"), ("b", "bob")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.py").write_text(f"name = {word!r}\nboth = [1, 2]\n_hidden = 3\n")
    first, second = (str(tmp_path / folder / "mine.py") for folder in ("a", "b"))
    assert load_module(first) is load_module(first)
    assert [load_object(f"{place}:name") for place in (first, second)] == ["ann", "bob"]
    assert load_objects(f"{first}:both") == [1, 2]
    assert load_objects(f"{first}:name") == ["ann"]
    assert "ann" in load_objects(first)
    assert 3 not in load_objects(first)


def test_what_can_not_be_loaded_is_told_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    for text, told in (
        ("x = 1\nx = 1 / 0\n", r"failed while it was loaded: ZeroDivisionError: division by zero \(line 2\)"),
        ("x = 1\nraise SystemExit(3)\n", r"failed while it was loaded: SystemExit: 3 \(line 2\)"),
        ("x = 1\nx =\n", "line 2: invalid syntax"),
    ):
        file.write_text(text)
        with pytest.raises(UsageError, match=told):
            load_module(str(file))
    file.write_text("x = 1\n")  # what failed is not kept
    assert load_object(f"{file}:x") == 1
    for name, told in (
        (str(tmp_path / "none.py"), "there is no file"),
        ("no_such_module", "there is no module 'no_such_module'"),
        (f"{file}:y", "has no 'y'; it has: x"),
    ):
        with pytest.raises(UnknownName, match=told):
            load_objects(name)


@pytest.mark.parametrize("name", ["google", "redis", "random", "anyio"])
def test_a_file_beside_what_is_loaded_takes_the_place_of_no_library(tmp_path: Path, name: str) -> None:
    """`google` is a package without a file of its own, which Python gives up for a module that stands last."""
    (tmp_path / f"{name}.py").write_text("raise SystemExit('the file was imported')\n")
    (tmp_path / "beside.py").write_text("word = 'beside'\n")
    (tmp_path / "mine.py").write_text("from beside import word\n")
    uses = "import google.protobuf.message, redis, random, anyio; print(load_object('mine.py:word'))"
    program = f"from actum.compose.user_code import load_object; load_object('mine.py:word'); {uses}"
    done = subprocess.run(
        [sys.executable, "-P", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("beside\n", "")
