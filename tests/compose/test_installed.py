"""Toolsets, dialects and importers of installed packages: found by name, and told where they can not be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from actum.cli.definitions.importing import import_workflow
from actum.compose.settings import Settings
from actum.compose.tools import load_tools
from actum.core.errors import UnknownName, UsageError
from actum.dialects.catalog import dialect
from actum.runs.given_tools import sort_out
from tests.packages import Installing

CODE = """
from actum import tool
from actum.dialects.catalog import text_dialect
from actum.toolsets import FunctionToolset
from actum.workflow.imports.dify import import_dify

@tool
def greet(name: str) -> str:
    "Greet."
    return name

def toolset():
    return FunctionToolset([greet])

def hermes(**options):
    return text_dialect("hermes", **options)

def broken():
    raise ValueError("no")

def importer(text, name):
    return import_dify(text, name)

NOTHING = 3
"""
GROUPS = {
    "actum.toolsets": {"greetings": "toolset", "broken": "broken", "nothing": "NOTHING"},
    "actum.dialects": {"acme": "hermes", "nothing": "NOTHING"},
    "actum.importers": {"acme": "importer", "nothing": "NOTHING"},
}


@pytest.fixture
def acme(packages: Installing) -> Installing:
    packages.bring("acme-things", CODE, GROUPS)
    return packages


async def test_a_toolset_of_a_package_is_a_place_of_tools(acme: Installing, tmp_path: Path) -> None:
    (toolset,), _ = sort_out(load_tools(Settings(tools=("greetings",)), tmp_path))
    assert [each.name for each in await toolset.list_tools()] == ["greet"]
    for name, told in (("broken", "can not be made: ValueError: no"), ("nothing", "is no Toolset")):
        with pytest.raises(UsageError, match=told):
            load_tools(Settings(tools=(name,)), tmp_path)
    with pytest.raises(UnknownName, match="there is no module 'greeting'"):
        load_tools(Settings(tools=("greeting",)), tmp_path)


def test_a_dialect_of_a_package_is_opened_by_its_name(acme: Installing) -> None:
    said = '<tool_call>{"name": "now", "arguments": {}}</tool_call>'
    assert dialect("acme").decode(said).calls == dialect("hermes").decode(said).calls
    with pytest.raises(UsageError, match="is no TextDialect"):
        dialect("nothing")
    with pytest.raises(UnknownName, match="no dialect called 'acne'"):
        dialect("acne")


def test_an_importer_of_a_package_reads_files(
    acme: Installing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = next((Path(__file__).parents[1]).rglob("dify/*.yml"))
    monkeypatch.chdir(tmp_path)
    codes = [import_workflow(str(source), name, f"{name}.yaml") for name in ("dify", "acme")]
    assert codes[0] == codes[1]
    assert (tmp_path / "dify.yaml").read_text() == (tmp_path / "acme.yaml").read_text()
    with pytest.raises(UsageError, match="--from acne: give coze or dify or acme or nothing"):
        import_workflow(str(source), "acne")
    with pytest.raises(UsageError, match="is no function"):
        import_workflow(str(source), "nothing")
