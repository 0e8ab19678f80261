"""A command is imported when it is used, and what is known of it before is true."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import typer
from typer.core import TyperGroup
from typer.main import get_command

from actum.cli.app import Unloaded, app
from actum.cli.commands import COMMANDS
from actum.cli.language import tr_help

from ..test_layers import HEAVY

_RUN = """
import contextlib, io, json, sys
from actum.cli.app import main
with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
    main()
print(json.dumps(sorted(sys.modules)))
"""
ROOMS = ("agents", "compose", "dialects", "journal", "models", "runs", "server", "storage", "toolsets", "workflow")


def loaded(*words: str, **environment: str) -> set[str]:
    """The modules that a command loads, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", _RUN, *words], capture_output=True, text=True, check=True, env=environment
    )
    return set(json.loads(done.stdout))


def tab(*words: str) -> set[str]:
    """The modules that a shell loads to complete the last of these words."""
    return loaded(_ACTUM_COMPLETE="complete_bash", COMP_WORDS=" ".join(words), COMP_CWORD=str(len(words) - 1))


def rooms(modules: set[str]) -> set[str]:
    """The rooms of actum, beside the command line and what is core to all, that are among these modules."""
    return {room for room in ROOMS if f"actum.{room}" in modules}


def test_the_version_help_and_the_completion_of_names_load_no_command() -> None:
    for modules in (
        loaded("--version"),
        loaded("--help"),
        loaded("runs", "--help"),
        tab("actum", "ru"),
        tab("actum", "runs", ""),
    ):
        # The settings may name features, whose commands are listed, too: one module says where the settings are.
        assert {name for name in modules if name.startswith(tuple(f"actum.{room}." for room in ROOMS))} <= {
            "actum.storage.folders"
        }
        assert "asyncio" not in modules
        assert {name for name in modules if name.startswith("actum.cli.")} <= {
            f"actum.cli.{name}"
            for name in (
                *(
                    "app",
                    "commands",
                    "exit_codes",
                    "feature_names",
                    "language",
                    "versions",
                ),
                *("show", "show.characters"),
            )
        }
    assert "importlib.metadata" not in loaded("--help")


@pytest.mark.parametrize("words", ["audit", "runs list", "approvals approve"])
def test_the_completion_of_a_commands_options_loads_that_command_alone(words: str) -> None:
    modules = tab("actum", *words.split(), "--")
    assert f"actum.cli.records.{words.split()[0]}" in modules
    assert "actum.cli.records.tasks" not in modules
    assert not modules & (HEAVY - {"importlib.metadata", "pydantic", "rich", "sqlite3", "typer"})
    assert rooms(modules).isdisjoint({"agents", "dialects", "models", "workflow"})
    assert "actum.server.api.api" not in modules


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_is_known_of_a_command_is_what_it_says_itself(language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACTUM_LANG", language)
    root = get_command(app)
    assert isinstance(root, TyperGroup)
    assert list(root.commands) == list(COMMANDS)
    for name, known in root.commands.items():
        assert isinstance(known, Unloaded)
        itself = known.loaded()
        assert first(tr_help(known.help or "")) == first(itself.help), name
        if not known.commands:  # one command, or a group with options of its own
            assert not isinstance(itself, TyperGroup) or itself.params, name
            continue
        assert isinstance(itself, TyperGroup), name
        context = typer.Context(itself)
        assert [each.name for each in itself.get_params(context)] == ["help"], name
        assert itself.list_commands(context) == list(known.commands), name
        for inner, about in known.commands.items():
            assert first(tr_help(about.help or "")) == first(itself.commands[inner].help), (name, inner)


def first(text: str | None) -> str:
    """The first paragraph of a help, on one line."""
    return " ".join((text or "").split("\n\n")[0].split())
