"""`actum memory`: what is remembered of the user of this machine, found, shown and forgotten."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from actum import Agent, ToolCall
from actum.cli.show.terminal import who
from actum.core.message import Reply
from actum.storage.sqlite import SQLiteJournal
from actum.testing import ScriptedModel

pytestmark = pytest.mark.row("A2")

Run = Callable[..., Result]
RECORD = ("--journal", "runs.db")


async def told(said: str, principal: str, *calls: ToolCall) -> str:
    journal = SQLiteJournal("runs.db")
    model = ScriptedModel([*(Reply.of(calls=[call]) for call in calls), "Fine."])
    result = await Agent(model, name="desk", journal=journal, memory="user").run(said, principal=principal)
    await journal.close()
    return result.run_id


def test_what_is_remembered_is_listed_found_shown_and_forgotten(run: Run) -> None:
    mine, theirs = (asyncio.run(told("My boat is red.", principal)) for principal in (who(), "somebody"))
    listed = run("memory", "list", *RECORD).stdout
    assert mine in listed
    assert theirs not in listed
    assert [each["id"] for each in json.loads(run("memory", "search", "boats", "--json", *RECORD).stdout)["items"]] == [
        mine
    ]
    many = run("memory", "search", "boats", "--limit", "51", *RECORD)
    assert (many.exit_code, "<= 50" in many.stderr) == (2, True)
    assert "Nothing fits." in run("memory", "search", "boats", "--space", "cook", *RECORD).stderr
    assert "My boat is red." in run("memory", "show", mine, *RECORD).stdout
    refused = run("memory", "show", theirs, *RECORD)
    assert refused.exit_code != 0
    assert "there is no such memory" in refused.stderr
    forgotten = run("memory", "forget", mine, *RECORD)
    assert mine in forgotten.stdout
    assert f"actum journal forget {mine}" in forgotten.stderr
    assert "Nothing is remembered." in run("memory", "list", *RECORD).stderr


def test_notes_are_added_the_memory_is_switched_off_and_on_printed_made_anew_and_emptied(run: Run) -> None:
    boat = asyncio.run(told("My boat is red. " + "It is long. " * 40, who()))
    assert "no nuts" in run("memory", "add", "I eat no nuts", "--kind", "preference", *RECORD).stdout
    added = json.loads(run("memory", "add", "i eat no nuts", "--json", *RECORD).stdout)
    assert "is off" in run("memory", "off", *RECORD).stdout
    assert "actum memory on --space desk" in run("memory", "list", *RECORD).stdout
    assert run("memory", "add", "x", *RECORD).exit_code != 0
    assert "is on" in run("memory", "on", "--agent", "desk", *RECORD).stdout
    assert "from 2 runs and notes" in run("memory", "rebuild", *RECORD).stderr
    lines = [json.loads(line) for line in run("memory", "export", *RECORD).stdout.splitlines()]
    assert [each["id"] for each in lines] == [added["id"], boat]
    assert len(lines[1]["said"]) > 400
    assert run("memory", "forget", *RECORD).exit_code != 0
    assert "Forgotten in the memory desk: 2" in run("memory", "forget", "--all", *RECORD).stdout
    assert run("memory", "export", *RECORD).stdout == ""


def test_the_memory_of_an_agent_is_meant_by_its_name_and_a_name_of_no_memory_is_refused(run: Run) -> None:
    Path("actum.toml").write_text('[agents.clerk]\nmemory = {user = true, space = "desk"}\n', "utf-8")
    boat = asyncio.run(told("My boat is red.", who()))
    assert boat in run("memory", "list", "--agent", "clerk", *RECORD).stdout
    assert boat in run("memory", "export", "--agent", "clerk", *RECORD).stdout
    for words in (["off"], ["add", "I eat no nuts"], ["forget", "--all"]):
        refused = run("memory", *words, "--agent", "nobody", *RECORD)
        assert (refused.exit_code, "there is no memory 'nobody'" in refused.stderr) == (2, True)
    assert "The memory desk is off" in run("memory", "off", "--agent", "clerk", *RECORD).stdout
    assert "Forgotten in the memory desk: 1" in run("memory", "forget", "--all", "--agent", "clerk", *RECORD).stdout


def test_a_run_that_holds_a_note_of_forgotten_words_is_named_and_the_note_does_not_come_back(run: Run) -> None:
    boat = asyncio.run(told("My boat is red.", who()))
    keep = (ToolCall("c1", "recall", {"query": "boat"}), ToolCall("c2", "remember", {"quote": "my boat is red"}))
    holder = asyncio.run(told("Keep that.", who(), *keep))
    cook = asyncio.run(told("I like soup.", who()))
    assert run("memory", "list", "--kind", "fact", "--json", *RECORD).stdout.count("mem_") == 1
    forgotten = run("journal", "forget", boat, "--yes", *RECORD)
    assert f"notes that hold some of it: {holder}\n" in forgotten.stderr
    for _ in range(2):
        items = json.loads(run("memory", "list", "--json", *RECORD).stdout)["items"]
        assert [each["id"] for each in items] == [cook, holder]
        run("memory", "rebuild", *RECORD)
    gone = run("memory", "forget", cook, "--record", *RECORD)
    assert "deleted from the record" in gone.stdout
    assert "journal forget" not in gone.stderr
    assert run("memory", "forget", "--all", "--record", *RECORD).exit_code != 0
    assert b"soup" not in b"".join(path.read_bytes() for path in Path().glob("runs.db*"))
