"""A folder to search and to note in, and what lies outside of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from actum.core.errors import ToolError
from actum.toolsets.everyday.files import FILE_BYTES_MAX, FOUND_MAX, NOTE_BYTES_MAX, FileFolder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("secret")
    root = tmp_path / "root"
    for name in ("README.md", "src/main.py", "src/deep/er/tool.py", "docs/说明.md", ".git/config", ".hidden.py"):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("text")
    (root / "way_out").symlink_to(outside)
    (root / "secret_link.txt").symlink_to(outside / "secret.txt")
    (root / "loop").symlink_to(root)
    return root


def found(root: Path, pattern: str, folder: str = "") -> list[str]:
    return [file["path"] for file in FileFolder(root).find_files(pattern, folder)["files"]]


@pytest.mark.parametrize(
    ("pattern", "folder", "paths"),
    [
        ("*.py", "", ["src/main.py", "src/deep/er/tool.py"]),
        ("*.py", "src/deep", ["src/deep/er/tool.py"]),
        ("src/*.py", "", ["src/main.py", "src/deep/er/tool.py"]),
        ("readme", "", ["README.md"]),
        ("说明", "", ["docs/说明.md"]),
        ("src tool", "", ["src/deep/er/tool.py"]),
        ("m[a-z]in.py", "/src/", ["src/main.py"]),
        ("nothing", "", []),
    ],
)
def test_files_are_found_by_name_pattern_and_words(root: Path, pattern: str, folder: str, paths: list[str]) -> None:
    if folder.startswith("/"):
        with pytest.raises(ToolError):
            found(root, pattern, folder)
    else:
        assert found(root, pattern, folder) == paths


def test_a_search_tells_paths_and_sizes_and_no_more(root: Path) -> None:
    assert FileFolder(root).find_files("README.md") == {
        "pattern": "README.md",
        "files": [{"path": "README.md", "bytes": 4}],
        "more": False,
    }


def test_links_and_hidden_files_are_not_followed_or_shown(root: Path) -> None:
    assert found(root, "*") == ["README.md", "docs/说明.md", "src/main.py", "src/deep/er/tool.py"]
    assert found(root, "secret") == []


@pytest.mark.parametrize(
    "folder",
    [
        "..",
        "../outside",
        "src/../..",
        "src/../../outside",
        "way_out",
        "/",
        "/etc",
        ".git",
        "no/such",
        "..\\outside",
        "a\0b",
        "~",
    ],
)
def test_a_search_never_leaves_its_root(root: Path, folder: str) -> None:
    with pytest.raises(ToolError) as caught:
        found(root, "*", folder)
    assert str(root.parent) not in caught.value.message


def test_a_search_stops_at_its_limit_and_says_so(tmp_path: Path) -> None:
    for number in range(FOUND_MAX + 5):
        (tmp_path / f"{number}.txt").touch()
    result = FileFolder(tmp_path).find_files("*.txt")
    assert (len(result["files"]), result["more"]) == (FOUND_MAX, True)


def test_an_empty_pattern_is_asked_for(root: Path) -> None:
    with pytest.raises(ToolError, match="which files"):
        found(root, "  ")


def test_a_note_is_added_below_the_root(root: Path) -> None:
    folder = FileFolder(root)
    assert folder.write_note("buy milk") == {"noted_in": "notes/notes.txt", "bytes": 9}
    assert folder.write_note(" 买面包\n") == {"noted_in": "notes/notes.txt", "bytes": 19}
    assert (root / "notes" / "notes.txt").read_text("utf-8") == "buy milk\n买面包\n"


@pytest.mark.parametrize(
    "file", ["", "..", "../a.txt", "a/b.txt", "/etc/passwd", ".bashrc", "a\0b", "a\nb", "x" * 200, "a..b"]
)
def test_a_note_goes_nowhere_else(root: Path, file: str) -> None:
    with pytest.raises(ToolError, match="no name"):
        FileFolder(root).write_note("text", file)
    assert not (root / "notes").exists()


def test_a_note_is_not_written_through_a_link(root: Path) -> None:
    outside = root.parent / "outside"
    notes = root / "notes"
    notes.mkdir()
    (notes / "link.txt").symlink_to(outside / "secret.txt")
    os.link(outside / "secret.txt", notes / "hard.txt")
    os.mkfifo(notes / "pipe.txt")
    for name in ("link.txt", "hard.txt", "pipe.txt"):
        with pytest.raises(ToolError):
            FileFolder(root).write_note("gone", name)
    assert (outside / "secret.txt").read_text() == "secret"


def test_a_folder_of_notes_that_is_a_link_is_refused(root: Path) -> None:
    (root / "notes").symlink_to(root.parent / "outside")
    with pytest.raises(ToolError, match="link"):
        FileFolder(root).write_note("gone")
    assert [path.name for path in (root.parent / "outside").iterdir()] == ["secret.txt"]


def test_notes_have_an_end(root: Path) -> None:
    folder = FileFolder(root)
    with pytest.raises(ToolError, match="at most"):
        folder.write_note("x" * NOTE_BYTES_MAX)
    (root / "notes").mkdir()
    (root / "notes" / "full.txt").write_text("x" * (FILE_BYTES_MAX - 2))
    with pytest.raises(ToolError, match="full"):
        folder.write_note("more", "full.txt")
