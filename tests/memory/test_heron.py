"""The example of the guide: what a user said on Monday is told on Friday once, word for word, with its date.

At the command line, over HTTP, and in Chinese with the embedded model.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import httpx2
import pytest

from actum import Agent
from actum.core.json import JsonObject
from actum.core.message import UserMessage
from actum.core.run.record import ModelReplied, Started
from actum.journal.memory import MemoryJournal
from actum.memory.recall import lines
from actum.testing import FakeClock
from tests.chat_server import ChatServer
from tests.cli.conftest import Run, home, run
from tests.patience import HANGS_S
from tests.server.models.desk import desk

__all__ = ["home", "run"]
pytestmark = pytest.mark.row("A2")
HERON = "I started a project called Heron: cheap sensors that measure the water quality of small rivers."
QUESTION = "What was the project I mentioned last week?"
HERON_ZH = "我开始做一个叫 Heron 的项目：用便宜的传感器测小河的水质。"
QUESTION_ZH = "我上周提到的项目是什么？"


@pytest.fixture
def server(home: Path) -> Iterator[ChatServer]:
    with ChatServer(["What does it measure?", "It was Heron."]) as made:
        (home / "actum.toml").write_text(
            f'model = "{made.url}#m"\njournal = "runs.db"\n[agents.desk]\nmemory = "user"\n', "utf-8"
        )
        yield made


def told(request: JsonObject) -> list[str]:
    messages = request["messages"]
    assert isinstance(messages, list)
    return [str(each["content"]) for each in messages if isinstance(each, dict) and each["role"] == "user"]


def days() -> set[str]:
    """Today, also where midnight comes in between."""
    today = datetime.now().astimezone().date()
    return {today.isoformat(), (today - timedelta(days=1)).isoformat()}


def test_at_the_command_line_the_model_is_told_the_own_words_of_the_user_once_with_their_date(
    run: Run, server: ChatServer
) -> None:
    first = json.loads(run("run", "--agent", "desk", "--json", HERON).stdout.splitlines()[-1])
    done = run("run", "--agent", "desk", "-v", QUESTION)
    assert done.exit_code == 0, done.output
    assert "It was Heron." in done.output
    assert len(server.requests) == 2  # one for each question
    assert told(server.requests[0].json) == [HERON]
    block, question = told(server.requests[1].json)
    assert question == QUESTION
    assert block.count(HERON) == 1
    assert block.splitlines()[1:] in ([f'- {day}, {first["run_id"]}: "{HERON}"'] for day in days())
    assert first["run_id"] in done.output


async def test_over_http_the_model_is_told_them_and_the_run_says_which() -> None:
    async with desk(["What does it measure?", "It was Heron."], memory="user") as server:
        headers = {"Authorization": f"Bearer {server.keys['ann']}"}
        async with httpx2.AsyncClient(base_url=server.url, headers=headers, timeout=HANGS_S) as client:
            first, second = [
                (await client.post("/v1/runs", json={"agent": "desk", "question": question})).json()
                for question in (HERON, QUESTION)
            ]
            shown = (await client.get(f"/v1/runs/{second['id']}")).json()
        assert [each["id"] for each in shown["recalled"]] == [first["id"]]
        assert len(server.model.requests) == 2
        block, question = [each.text for each in server.model.requests[1].messages if isinstance(each, UserMessage)]
        assert question == QUESTION
        assert block.splitlines()[1:] in ([f'- {day}, {first["id"]}: "{HERON}"'] for day in days())


async def test_in_chinese_with_the_embedded_model_it_is_found_by_the_span_of_time_and_the_words() -> None:
    clock = FakeClock(datetime(2026, 11, 23, 12).astimezone().timestamp())
    journal = MemoryJournal(clock)
    agent = Agent("embedded", name="desk", journal=journal, memory="user")
    monday = await agent.run(HERON_ZH, principal="ann")
    clock.advance(7 * 86_400.0)
    result = await agent.run(QUESTION_ZH, principal="ann")
    assert [each.id for each in result.recalled] == [monday.run_id]
    entries = await journal.read(result.run_id)
    assert isinstance(started := entries[0].record, Started)
    assert await lines(journal, started, "") == [f'- 2026-11-23, {monday.run_id}: "{HERON_ZH}"']
    replies = [entry.record for entry in entries if isinstance(entry.record, ModelReplied)]
    assert len(replies) == 1
