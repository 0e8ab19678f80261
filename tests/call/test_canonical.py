"""What a format declares to be a path or an address is written out before a rule sees it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from actum.call import canonical
from actum.call.canonical import spots, written_out
from actum.core.json import Json, JsonObject
from actum.schema.canonical import Unclear

pytestmark = pytest.mark.row("C3")


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a file, a link out of it, a link into it; the program works beside it."""
    folder = Path(os.path.realpath(tmp_path)) / "data"
    (folder / "in").mkdir(parents=True)
    (folder / "in" / "a.txt").write_text("a")
    (tmp_path / "secret.txt").write_text("s")
    (folder / "out").symlink_to(tmp_path)
    (tmp_path / "into").symlink_to(folder / "in")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(folder))
    return folder


SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "file": {"type": "string", "format": "path"},
        "maybe": {"anyOf": [{"type": "string", "format": "file-path"}, {"type": "null"}]},
        "pages": {"type": "array", "items": {"type": "string", "format": "uri"}},
        "where": {"$ref": "#/$defs/Where"},
        "link": {"type": "string", "format": "uri", "x-kind": "url"},
        "other": {"type": "string", "format": "uri", "x-kind": "a word of another party"},
        "text": {"type": "string"},
    },
    "$defs": {"Where": {"type": "object", "properties": {"folder": {"type": "string", "format": "directory-path"}}}},
}


def test_a_schema_tells_where_paths_and_addresses_stand() -> None:
    assert set(spots(SCHEMA)) == {
        (("file",), "path"),
        (("maybe",), "path"),
        (("pages", "*"), "url"),
        (("where", "folder"), "path"),
        (("other",), "url"),
    }
    assert spots({"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"$ref": "#/$defs/A"}}}) == ()


def test_what_is_declared_is_written_out_and_the_rest_is_left(data: Path) -> None:
    said: JsonObject = {
        "file": f"{data}/out/x",
        "maybe": None,
        "pages": ["HTTP://A", "http://b/"],
        "where": {"folder": str(data)},
        "text": "../x",
    }
    before = str(said)
    meant, changed = written_out(said, spots(SCHEMA), local=True)
    assert meant == {**said, "file": str(data.parent / "x"), "pages": ["http://a/", "http://b/"]}
    assert changed == ["file", "pages[0]"]
    assert str(said) == before


@pytest.mark.parametrize(
    ("said", "place"),
    [
        ({"file": "a\0"}, "file"),
        ({"pages": ["http://a/", "x"]}, "pages[1]"),
        ({"where": {"folder": ""}}, "where.folder"),
    ],
)
def test_what_is_unclear_is_told_with_its_place(said: dict[str, Json], place: str) -> None:
    with pytest.raises(Unclear) as caught:
        written_out(said, spots(SCHEMA), local=True)
    assert caught.value.args[0] == place


def test_every_kind_that_is_declared_is_one_of_the_two() -> None:
    assert set(canonical.FORMATS.values()) == {"path", "url"}
