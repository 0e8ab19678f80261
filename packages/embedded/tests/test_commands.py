"""Commands for a shell are taken where they are said to be such, and never made up."""

from __future__ import annotations

from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.core.tool import Tool
from actum_embedded.calls.arguments import as_object, fill
from actum_embedded.text.clauses import read
from actum_embedded.tools.commands import commands_in
from actum_embedded.tools.selection import index
from packages.embedded.tests.harness import TODAY

pytestmark = pytest.mark.row("L5")

SHELL = Tool(
    name="run_shell",
    description="Run a command in the shell and return its output.",
    parameters={
        "type": "object",
        "properties": {"command": {"type": "string", "description": "The command to run"}},
        "required": ["command"],
    },
)


def command(said: str) -> str | None:
    found = as_object(fill(index(SHELL), read(said, TODAY)).arguments)
    return cast("str | None", found.get("command"))


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("run git status", "git status"),
        ("Please run ls -la and tell me what is there.", "ls -la"),
        ("run `make test`", "make test"),
        ("execute the command df -h on the server", "df -h"),
        ("can you run npm install lodash for me?", "npm install lodash"),
        ("1. run git status 2. send an email", "git status"),
        ("git is slow today, run git add . please", "git add ."),
        ("is docker running, please use docker ps to find out", "docker ps"),
        ("show me today's date using the echo %date% command", "echo %date%"),
        ("using the command echo %time%, tell me the time", "echo %time%"),
        ('is it running, using the command tasklist /FI "IMAGENAME eq a.exe"', 'tasklist /FI "IMAGENAME eq a.exe"'),
        ("在终端执行 ls -la", "ls -la"),
        ("帮我运行 git log --oneline -5 看看", "git log --oneline -5"),
        ("跑一下“df -h”", "df -h"),
    ],
)
def test_a_command_is_taken_as_it_is_said(said: str, wanted: str) -> None:
    assert command(said) == wanted


@pytest.mark.parametrize("said", ["Run the tests", "close it with the shell", "what time is it", "运行一下测试"])
def test_no_command_is_made_up(said: str) -> None:
    assert command(said) is None


@given(st.text(max_size=80))
def test_any_text_is_read_and_each_command_stands_in_it(text: str) -> None:
    clause = read(f"run {text} command {text}", TODAY)
    for span in commands_in(clause):
        assert clause.text[span.start : span.end] == span.text == span.value != ""
