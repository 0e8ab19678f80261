"""At A2A a memory works for a key that one person alone has; for others the task says that there is none."""

from __future__ import annotations

import pytest

from actum import Agent
from actum.journal.memory import MemoryJournal
from actum.testing import ScriptedModel

from .serving import a2a_server, spoken


@pytest.mark.row("A2")
async def test_a_task_of_a_key_of_many_people_says_that_the_agent_has_no_memory_and_that_of_one_person_recalls() -> (
    None
):
    journal, model = MemoryJournal(), ScriptedModel(["Nice."] * 6)
    agents = [Agent(model, name="desk", journal=journal, memory="user"), Agent(model, name="plain", journal=journal)]
    async with a2a_server(journal=journal, agents=agents) as it:
        asked = [("own", "My boat is red."), ("own", "Which boat?"), ("ann", "Which boat?")]
        tasks = [
            (await it.ask("SendMessage", spoken(words, f"m{number}"), who=who))["result"]["task"]
            for number, (who, words) in enumerate(asked)
        ]
        other = await it.client.post(
            f"{it.url}/a2a/plain",
            json={"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": spoken("Hi", "m9")},
            headers={"authorization": "Bearer ann", "a2a-version": "1.0"},
        )
    assert ["Earlier words" in str(request.messages) for request in model.requests] == [False, True, False, False]
    assert [task.get("metadata") for task in tasks] == [None, None, {"actum": {"memory": "off"}}]
    assert "metadata" not in other.json()["result"]["task"]
