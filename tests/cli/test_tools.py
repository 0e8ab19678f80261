"""`actum tools` and `actum dialects`: what a model is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from typer.testing import Result

from actum.cli.tools.dialects import AUTO, summaries
from actum.dialects import names

Run = Callable[..., Result]
MINE = ("--tools", "tools.py")


def test_the_everyday_tools_are_there_by_default(run: Run) -> None:
    listed = run("tools", "list").stdout
    assert listed.splitlines()[0].split() == ["tool", "effects", "what", "it", "does"]
    assert {"calculate", "time_in", "convert_units", "write_note"} <= {line.split()[0] for line in listed.splitlines()}


def test_tools_are_found_by_what_they_do(run: Run) -> None:
    found = json.loads(run("tools", "search", "what time is it in Oslo", "--json", "--limit", "2").stdout)
    assert found[0]["name"] == "time_in"
    assert len(found) <= 2
    assert "time_in" in run("tools", "search", "the time in Oslo").stdout
    nothing = run("tools", "search", "the zzz")
    assert (nothing.exit_code, "No tool fits these words." in nothing.stderr) == (1, True)


def test_a_list_says_what_using_a_tool_does(run: Run) -> None:
    effects = {line.split()[0]: line.split()[1] for line in run("tools", "list", *MINE).stdout.splitlines()}
    assert (effects["add"], effects["keep"]) == ("read", "write")


def test_several_places_make_one_list(run: Run) -> None:
    tools = json.loads(run("tools", "list", "--json", *MINE, "--tools", "everyday").stdout)
    assert {"add", "calculate"} <= {tool["name"] for tool in tools}


def test_no_tools_is_an_empty_list(run: Run) -> None:
    assert json.loads(run("tools", "list", "--json", "--tools", "none").stdout) == []


def test_a_tool_is_shown_with_its_parameters(run: Run) -> None:
    shown = run("tools", "show", "add", *MINE).stdout
    assert "   takes  a  integer  the first." in shown


def test_its_schema_is_json(run: Run) -> None:
    schema = json.loads(run("tools", "schema", "add", *MINE).stdout)
    assert (schema["type"], schema["required"]) == ("object", ["a", "b"])


def test_its_schema_in_a_native_dialect_is_what_goes_over_the_wire(run: Run) -> None:
    told = json.loads(run("tools", "schema", "add", "-d", "openai_chat", *MINE).stdout)
    assert told["tools"][0]["function"]["name"] == "add"
    old = json.loads(run("tools", "schema", "add", "-d", "openai_functions", *MINE).stdout)
    assert old["functions"][0]["name"] == "add"


def test_its_schema_in_a_dialect_of_text_is_the_prompt(run: Run) -> None:
    assert "Action Input:" in run("tools", "schema", "add", "-d", "react", *MINE).stdout
    assert '"tool"' in run("tools", "schema", "add", "-d", "prompt_json", *MINE).stdout


def test_lint_says_what_a_description_lacks_and_fails(run: Run, home: Path) -> None:
    (home / "poor.py").write_text("def f(a: int) -> int:\n    return a\n")
    result = run("tools", "lint", "--tools", "poor.py")
    assert result.exit_code == 1
    assert "    lint  f  " in result.stdout
    assert json.loads(run("tools", "lint", "--json", "--tools", "poor.py").stdout)[0]["tool"] == "f"


def test_lint_does_not_take_a_word_for_a_description(run: Run, home: Path) -> None:
    (home / "poor.py").write_text('def f() -> None:\n    """Do."""\n')
    result = run("tools", "lint", "--tools", "poor.py")
    assert result.exit_code == 1
    assert "says too little" in " ".join(result.stdout.split())


def test_lint_says_what_of_a_schema_some_apis_can_not_be_told(run: Run, home: Path) -> None:
    (home / "either.py").write_text(
        "from msgspec.structs import replace\n\nfrom actum import tool\n\n\n"
        '@tool(effects={"read"})\ndef find(id: str = "") -> str:\n    """Find a thing by its id.\n\n'
        '    Args:\n        id: Of the thing.\n    """\n    return id\n\n\n'
        'schema = {"anyOf": [{"properties": {"id": {}}}, {"properties": {"name": {}}}]}\n'
        "find.definition = replace(find.definition, parameters=schema)\n"
    )
    result = run("tools", "lint", "--tools", "either.py")
    assert result.exit_code == 1
    assert "can not be told `anyOf` at the root" in " ".join(result.stdout.split())


def test_the_list_shows_a_summary_of_two_lines_whole(run: Run, home: Path) -> None:
    (home / "mine.py").write_text(
        'def f(a: int) -> None:\n    """Find a thing and\n    say where.\n\n    Slowly.\n\n'
        '    Args:\n        a: it\n    """\n'
    )
    listed = run("tools", "list", "--tools", "mine.py").stdout
    assert "Find a thing and say where." in listed
    assert "Slowly" not in listed


def test_lint_finds_nothing_in_what_ships(run: Run) -> None:
    result = run("tools", "lint", *MINE)
    assert (result.exit_code, result.stdout) == (0, "")
    assert run("tools", "lint").exit_code == 0


def test_every_dialect_has_its_line(run: Run) -> None:
    assert list(summaries()) == [AUTO, *names()]
    assert all(summaries().values())
    assert [item["name"] for item in json.loads(run("dialects", "--json").stdout)] == [AUTO, *names()]
    assert "Observation" in run("dialects").stdout


def test_published_tools_are_listed_found_and_shown_beside_those_of_the_settings(run: Run, home: Path) -> None:
    (home / "close.json").write_text(
        '{"name": "close", "description": "Closes the ticket of a customer.",'
        ' "http": {"url": "https://api.example.com/close", "method": "POST"}}',
        "utf-8",
    )
    assert run("tools", "search", "close the ticket of a customer", "--tools", "none").exit_code == 1
    assert not list(home.glob("**/*.db")), "no journal is made for a search"
    assert run("tools", "publish", "close.json", "--tenant", "north").exit_code == 0
    for command in (("search", "close the ticket of a customer"), ("list",), ("show", "close")):
        whose = {
            tenant: run("tools", *command, "--tools", "none", "--tenant", tenant, "--json").stdout
            for tenant in ("north", "south")
        }
        assert {tenant: '"close"' in told for tenant, told in whose.items()} == {"north": True, "south": False}
