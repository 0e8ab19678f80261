"""`actum call`: arguments from words, and the same path as a model's call."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import Result

from actum.cli.conversation.call import read_arguments
from actum.core.json import Json
from actum.core.tool import Tool

Run = Callable[..., Result]
MINE = ("--tools", "tools.py")


def test_the_result_is_printed_and_on_record(run: Run) -> None:
    result = run("call", "add", "a=2", "b=3", *MINE)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "5\n", "")
    assert "add  a=2  b=3" in run("runs", "show").stdout


def test_arguments_may_be_one_json_object(run: Run) -> None:
    assert run("call", "add", "--args", '{"a": 2, "b": 3}', *MINE).stdout == "5\n"


def test_json_tells_arguments_and_result(run: Run) -> None:
    told = json.loads(run("call", "add", "a=2", "b=3", "--json", *MINE).stdout)
    assert (told["name"], told["arguments"], told["result"]) == ("add", {"a": 2, "b": 3}, 5)


def test_chinese_values_pass(run: Run, home: Path) -> None:
    result = run("call", "keep", "text=北京", "--yes", *MINE)
    assert result.stdout == "kept\n"
    assert (home / "kept.txt").read_text("utf-8") == "北京"


def test_verbose_shows_the_call_and_its_result_once(run: Run) -> None:
    result = run("call", "add", "a=2", "b=3", "-v", *MINE)
    assert [line.split()[0] for line in result.stdout.splitlines()] == ["call", "result"]


@pytest.mark.row("C4")
def test_a_write_that_is_typed_by_hand_asks_like_every_other(run: Run, home: Path) -> None:
    waiting = run("call", "keep", "text=milk", "--json", *MINE)
    (pending,) = json.loads(waiting.stdout)["pending"]
    assert waiting.exit_code == 3
    assert not (home / "kept.txt").exists()
    assert run("resume", "last", "--approve", pending["id"], *MINE).exit_code == 0
    assert (home / "kept.txt").read_text() == "milk"


@pytest.mark.parametrize(
    ("words", "told", "code"),
    [
        (["add", "a=2"], "add: b: is missing", 2),
        (["add", "a=2", "b=x"], 'add: b: expected integer, not "x"', 2),
        (["add", "a=2", "b=3", "c=4"], "add: c: ", 2),
        (["add", "nonsense"], "'nonsense' is no argument: write key=value", 2),
        (["add", "a=1", "a=2"], "'a' is given twice", 2),
        (["add", "--args", "[1]"], "an object was expected", 2),
        (["add", "--args", "{"], "--args", 2),
        (["ad", "a=1"], "there is no tool 'ad'; there are: add, keep, find, wait", 2),
        (["find", "name=Ann"], "find: Nobody is called Ann.", 1),
    ],
)
def test_what_is_wrong_with_a_call_is_one_line(run: Run, words: list[str], told: str, code: int) -> None:
    result = run("call", *words, *MINE)
    assert (result.exit_code, result.stdout) == (code, "")
    assert result.stderr.startswith("actum: ")
    assert result.stderr.count("\n") == 1
    assert told in result.stderr


@pytest.mark.parametrize(
    ("schema", "word", "value"),
    [
        ({"type": "string"}, "5", "5"),
        ({"type": "integer"}, "5", 5),
        ({"type": "array"}, "[1, 2]", [1, 2]),
        ({"type": "boolean"}, "true", True),
        ({"type": ["integer", "string"]}, "5", "5"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "null", "null"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "null", None),
        ({"$ref": "#/$defs/Colour"}, "7", "7"),
        ({"enum": ["1", "2"]}, "1", "1"),
        ({}, "x=y", "x=y"),
        ({"type": "integer"}, "", ""),
    ],
)
def test_a_word_is_read_as_its_schema_wants_it(schema: Json, word: str, value: Json) -> None:
    definitions: Json = {"Colour": {"type": "string"}}
    tool = Tool(name="f", parameters={"type": "object", "properties": {"a": schema}, "$defs": definitions})
    assert read_arguments(tool, [f"a={word}"]) == {"a": value}


@given(st.text())
def test_text_reaches_a_text_parameter_as_it_was_typed(text: str) -> None:
    tool = Tool(name="f", parameters={"type": "object", "properties": {"a": {"type": "string"}}})
    assert read_arguments(tool, [f"a={text}"]) == {"a": text}
