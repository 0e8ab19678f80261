"""`actum rate`, and `/up` and `/down` in a chat: a person says how good an answer was."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import pytest
from typer.testing import Result

from actum.cli.show.terminal import who
from actum.scores.score import all_scores, standing_scores
from actum.storage.sqlite import SQLiteJournal

pytestmark = pytest.mark.row("F4")

Run = Callable[..., Result]
RECORD = ("--journal", "runs.db")
MINE = ("--tools", "tools.py", "--model")


async def recorded(principal: str = "") -> list[tuple[str, list[tuple[str, float | None, str]]]]:
    """The runs, the latest first, each with its scores."""
    journal = SQLiteJournal("runs.db")
    found = []
    for line in await journal.runs(principal=principal):
        scores = standing_scores(await journal.read(line.run_id))
        found.append((line.run_id, [(each.given.name, each.given.value, each.given.explanation) for each in scores]))
    await journal.close()
    return found


def test_a_run_is_rated_by_its_beginning_or_as_the_latest_and_the_score_is_taken_back(run: Run) -> None:
    run("run", "2 and 3?", *MINE, "models.py:add", *RECORD)
    ((run_id, _),) = asyncio.run(recorded())
    assert run("rate", run_id[:10], "down", "--comment", "wrong day", *RECORD).exit_code == 0
    assert asyncio.run(recorded()) == [(run_id, [("thumb", 0.0, "wrong day")])]
    told = run("rate", "last", "--score", "0.7", "--name", "helpful", "--json", *RECORD)
    assert json.loads(told.stdout) == {"run": run_id, "name": "helpful", "value": 0.7, "changed": True}
    assert "on record already" in run("rate", "last", "--score", "0.7", "--name", "helpful", *RECORD).stderr
    assert run("rate", "last", "--withdraw", *RECORD).exit_code == 0
    assert asyncio.run(recorded()) == [(run_id, [("helpful", 0.7, "")])]
    assert run("journal", "verify", *RECORD).exit_code == 0
    assert "interrupted" not in run("journal", "tail", *RECORD).stderr
    assert "damaged" not in run("runs", "list", *RECORD).stderr


def test_what_can_not_be_rated_is_refused_and_nothing_is_written(run: Run) -> None:
    run("run", "keep it", *MINE, "models.py:keep", *RECORD)
    waiting = run("rate", "last", "up", *RECORD)
    assert waiting.exit_code == 1
    assert "the run is not over" in waiting.stderr
    assert asyncio.run(recorded())[0][1] == []
    for words in (
        ("up", "--score", "1"),
        (),
        ("sideways",),
        ("--score", "nan"),
        ("--score", "2"),
        ("--withdraw", "up"),
    ):
        assert run("rate", "last", *words, *RECORD).exit_code == 2, words
    assert run("rate", "", "up", *RECORD).exit_code == 2
    assert "over" in run("rate", "last", "up", "--over", "run_none", *RECORD).stderr


def test_the_last_answer_of_a_chat_is_rated_by_a_word(run: Run) -> None:
    said = run("chat", *MINE, "models.py:counting", *RECORD, input="/up\none\n/up\ntwo\n/down too short\n")
    assert said.exit_code == 0
    latest, first = asyncio.run(recorded(who()))
    assert latest[1] == [("thumb", 0.0, "too short")]
    assert first[1] == [("thumb", 1.0, "")]
    assert "noted: down" in said.stderr


def test_all_that_was_said_stays_on_record(run: Run) -> None:
    run("run", "2 and 3?", *MINE, "models.py:add", *RECORD)
    for word in ("up", "down", "up"):
        run("rate", "last", word, *RECORD)
    ((run_id, _),) = asyncio.run(recorded())

    async def everything() -> list[float | None]:
        journal = SQLiteJournal("runs.db")
        found = [each.given.value for each in all_scores(await journal.read(run_id))]
        await journal.close()
        return found

    assert asyncio.run(everything()) == [1.0, 0.0, 1.0]
