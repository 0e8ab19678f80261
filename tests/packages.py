"""Packages that tests install: a folder that stands before every other one on Python's path."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

BOOKMARKS = """
from msgspec import Struct
from actum import Context, tool
from actum.features import Feature, Table

class Settings(Struct, frozen=True, forbid_unknown_fields=True):
    limit: int = 5
    api_key: str = ""

class Bookmark(Struct, frozen=True):
    url: str

class Saved(Struct, frozen=True, tag="saved"):
    url: str

BOOKMARKS = Table("bookmarks", Bookmark, key=("url",))

def tools(settings):
    @tool(effects={"write"})
    async def save_bookmark(url: str, context: Context) -> str:
        '''Save a bookmark.'''
        await context.journal.stores.put(context.tenant, BOOKMARKS, Bookmark(url))
        context.note(Saved(url))
        return f"one of {settings.limit}"
    return [save_bookmark]

FEATURE = Feature(
    name="bookmarks", title="Bookmarks.", settings=Settings, records=(Saved,), tables=(BOOKMARKS,), tools=tools
)
"""
"""A package with one feature: a setting, a record, a table and a tool."""


class Installing:
    """A folder of installed packages that stands before every other one on Python's path."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def install(self, package: str, code: str, **features: str) -> None:
        """Install a package that brings these features."""
        self.bring(package, code, {"actum.features": features})

    def bring(self, package: str, code: str, groups: Mapping[str, Mapping[str, str]]) -> None:
        """Install a package that brings things of several groups: the name of an object in its code by each name."""
        module = package.replace("-", "_")
        (self.folder / f"{module}.py").write_text(code, encoding="utf-8")
        metadata = self.folder / f"{module}-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.4\nName: {package}\nVersion: 1.0\n", encoding="utf-8")
        entries = "".join(
            f"[{group}]\n" + "".join(f"{name} = {module}:{attribute}\n" for name, attribute in names.items())
            for group, names in groups.items()
        )
        (metadata / "entry_points.txt").write_text(entries, encoding="utf-8")

    def uninstall(self, package: str) -> None:
        module = package.replace("-", "_")
        (self.folder / f"{module}.py").unlink()
        shutil.rmtree(self.folder / f"{module}-1.0.dist-info")
        sys.modules.pop(module, None)


@contextmanager
def installing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installing]:
    """A block in which packages are installed; what was imported of them is taken back at the end.

    Args:
        folder: where they are installed.
        monkeypatch: puts the folder on Python's path.
    """
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    known = set(sys.modules)
    yield Installing(folder)
    for name in set(sys.modules) - known:
        if str(folder) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]
