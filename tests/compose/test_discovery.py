"""What could be tools is found in folders and modules, and nothing of it is run."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from actum.compose.discovery.places import FILES_MAX, FoundTools, discover
from actum.core.errors import UsageError

BOOM = "raise SystemExit('it was run')\n"
CODE = (
    BOOM
    + """
from actum import tool
import actum

@tool
def add(a: int) -> int: ...

@actum.tool(effects=["read"])
async def look(a: int) -> int: ...

def helper(): ...
"""
)
API = {"openapi": "3.1.0", "info": {"title": "A", "version": "1"}, "paths": {"/a": {"get": {"operationId": "get_a"}}}}
SCRIPT = """#!/usr/bin/env python3
# /// tool
# description = "Counts the rows of a table."
# effects = ["read"]
# ///
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("table")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "tools.py").write_text(CODE)
    (inside / "plain.py").write_text(BOOM + "def helper(): ...\n")
    (inside / "broken.py").write_text("def (")
    (inside / "api.json").write_text(json.dumps(API))
    (inside / "bad.yaml").write_text("openapi: 3.1.0\npaths: [1]\n")
    (inside / "other.json").write_text('{"swagger": false}')
    (inside / "broken.json").write_text('{"openapi": "3.1.0", ')
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "rows.py").write_text(SCRIPT)
    (tmp_path / "scripts" / "rows.py").chmod(0o755)
    for hidden in (".venv", "node_modules"):
        (tmp_path / hidden).mkdir()
        (tmp_path / hidden / "tools.py").write_text(CODE)
    (tmp_path / "link.py").symlink_to(inside / "tools.py")
    return tmp_path


def of(found: list[FoundTools], kind: str) -> list[FoundTools]:
    return [each for each in found if each.kind == kind]


@pytest.mark.row("T8")
def test_functions_and_documents_of_a_folder_are_found_and_nothing_is_run(folder: Path) -> None:
    found = discover(str(folder))
    (functions,) = of(found, "functions")
    assert (functions.names, functions.use) == (("add", "look"), f"--tools {folder}/inside/tools.py")
    (scripts,) = of(found, "scripts")
    assert (scripts.names, scripts.use) == (("rows",), f"--tools {folder}/scripts/")
    documents = {Path(each.source).name: each for each in of(found, "document")}
    assert set(documents) == {"api.json", "bad.yaml", "broken.json"}
    assert documents["api.json"].names == ("get_a",)
    assert documents["api.json"].use == f"actum tools add openapi {folder}/inside/api.json --name api"
    assert "not an object" in documents["bad.yaml"].problem
    assert "not JSON" in documents["broken.json"].problem


def test_functions_of_a_module_are_found_without_importing_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "inside" / "__init__.py").write_text(BOOM)
    monkeypatch.syspath_prepend(str(folder))
    for name in ("inside", "inside.tools"):
        (functions,) = of(discover(name), "functions")
        assert (functions.source, functions.names) == ("inside.tools", ("add", "look")), name
    assert "inside" not in sys.modules
    with pytest.raises(UsageError, match="no folder, file or module"):
        discover("no_such_module_anywhere")


def test_a_folder_of_very_many_files_is_refused_instead_of_read_for_long(tmp_path: Path) -> None:
    for number in range(FILES_MAX + 1):
        (tmp_path / f"{number}.txt").touch()
    with pytest.raises(UsageError, match="name a folder inside"):
        discover(str(tmp_path))


def test_nothing_is_found_where_nothing_is(tmp_path: Path) -> None:
    assert of(discover(str(tmp_path)), "functions") == []
