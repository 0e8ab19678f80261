"""`actum audit`: searched, and handed on as JSON and CSV."""

from __future__ import annotations

import asyncio
import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from actum.cli.show.terminal import who
from actum.runs.administration import put_on_record
from actum.storage.place import open_journal

pytestmark = pytest.mark.row("C8")

Run = Callable[..., Result]
MINE = ("--tools", "tools.py", "--journal", "runs.db", "--model")
RECORD = ("--journal", "runs.db")


def test_a_table_tells_who_called_what_why_and_what_came_back(run: Run) -> None:
    run("run", "2 and 3?", *MINE, "models.py:add")
    head, allowed, done = run("audit", *RECORD).stdout.splitlines()
    assert head.startswith("when")
    assert "allowed" in allowed
    assert '{"a":2,"b":3}  (default: only reads)' in allowed
    assert done.split()[-3:] == ["done", "add", "5"]
    assert who() in allowed


def test_an_act_of_an_administrator_is_told_as_such_by_every_command(run: Run, tmp_path: Path) -> None:
    async def act() -> None:
        journal = open_journal(tmp_path / "runs.db")
        await put_on_record(journal, "keys.revoke", {"id": "ci-1"}, principal="root")
        await journal.close()

    asyncio.run(act())
    for words, told in {
        "runs list": ["(administrator)", 'keys.revoke(id="ci-1")'],
        "runs show last": ["asked for by an administrator"],
        "audit": ["administered", "keys.revoke", '{"id":"ci-1"}'],
        "audit --decision administered": ["keys.revoke"],
        "journal verify": [],
    }.items():
        shown = run(*words.split(), "--journal", str(tmp_path / "runs.db"))
        assert shown.exit_code == 0, (words, shown.output)
        assert all(each in shown.stdout for each in told), (words, shown.stdout)


def test_json_is_the_answer_of_the_operation_and_is_found_by_every_flag(run: Run) -> None:
    run("run", "2 and 3?", *MINE, "models.py:add")
    run("run", "keep milk", *MINE, "models.py:keep")

    def found(*flags: str) -> list[str]:
        lines = json.loads(run("audit", "--json", *flags, *RECORD).stdout)["items"]
        return [f"{line['decision']} {line['tool']}" for line in lines]

    assert found() == ["allowed add", "done add", "asked keep"]
    assert found("--tool", "k*") == ["asked keep"]
    assert found("--decision", "done") == ["done add"]
    assert found("--principal", who(), "--since", "1h") == found()
    assert found("--principal", "nobody") == found("--until", "1h") == []
    assert found("--run", "last") == ["asked keep"]


def test_csv_has_a_header_and_a_row_each_and_no_formulas(run: Run, home: Path) -> None:
    (home / "evil.py").write_text(
        "from actum import tool\n@tool(effects={'read'})\ndef look() -> str:\n    '''Look.'''\n"
        "    return '=1+1\\nsecond \\x1b[2J'\n",
        "utf-8",
    )
    (home / "models.py").write_text((home / "models.py").read_text("utf-8") + "look = calling('look')\n", "utf-8")
    run("run", "look", "--tools", "evil.py", *RECORD, "--model", "models.py:look")
    allowed, done = csv.DictReader(io.StringIO(run("audit", "--csv", *RECORD).stdout))
    assert (allowed["decision"], allowed["arguments"], allowed["attempt"]) == ("allowed", "{}", "1")
    assert done["text"] == "'=1+1\nsecond \\x1b[2J"
    assert done["time"].startswith("20")


def test_forgotten_runs_are_shown_as_such(run: Run) -> None:
    run("run", "2 and 3?", *MINE, "models.py:add")
    run("journal", "forget", "last", "--yes", "--reason", "asked for", *RECORD)
    lines = json.loads(run("audit", "--json", *RECORD).stdout)["items"]
    assert [(line["decision"], line["by"], line["text"]) for line in lines] == [
        ("deleted", "", "from here on, what was on record"),
        ("forgotten", who(), "asked for"),
    ]
    assert "2 and 3?" not in run("audit", *RECORD).stdout


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (("--decision", "maybe"), "there is no decision 'maybe'; there are: administered, agent_changed"),
        (("--since", "soon"), "'soon' is no time"),
        (("--json", "--csv"), "--json or --csv, not both"),
        (("--run", "none"), "there is no run 'none'"),
    ],
)
def test_misuse_is_said(run: Run, flags: tuple[str, ...], told: str) -> None:
    result = run("audit", *flags, *RECORD)
    assert (result.exit_code, told in result.stderr) == (2, True)


def test_an_empty_audit_says_so(run: Run) -> None:
    result = run("audit", *RECORD)
    assert (result.exit_code, result.stdout) == (0, "")
    assert "Nothing is on record that fits." in result.stderr
