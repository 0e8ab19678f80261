"""Behind one key at the model APIs there may be many people: memory works there for personal keys alone."""

from __future__ import annotations

import pytest

from actum import ToolCall
from actum.core.message import Reply, ToolMessage, UserMessage
from actum.core.run.record import Started
from tests.server.models.desk import Desk, desk
from tests.server.models.test_agents import openai_of

HERON = "I started a project called Heron."
QUESTION = "What was the project I mentioned?"


def told(server: Desk) -> list[str]:
    return [each.text for each in server.model.requests[-1].messages if isinstance(each, UserMessage)]


@pytest.mark.parametrize(("key", "other", "is_told"), [("personal", "ann", True), ("ann", "personal", False)])
async def test_what_is_said_with_a_personal_key_is_remembered_for_personal_keys_alone(
    key: str, other: str, is_told: bool
) -> None:
    async with desk(["Yes."] * 4, memory="user") as server:
        async with openai_of(server, key) as client:
            await client.chat.completions.create(model="desk", messages=[{"role": "user", "content": HERON}])
            chat, responses = client.chat.completions.with_raw_response, client.responses.with_raw_response
            for answer in (
                await chat.create(model="desk", messages=[{"role": "user", "content": QUESTION}]),
                await responses.create(model="desk", input=QUESTION),
            ):
                assert answer.headers.get("x-actum-memory") == (None if is_told else "off")
                entries = await server.journal.read(answer.headers["x-actum-run"])
                assert isinstance(started := entries[0].record, Started)
                assert started.space == ("desk" if is_told else "")
            assert any(HERON in text for text in told(server)) == is_told
        async with openai_of(server, other) as client:
            await client.chat.completions.create(model="desk", messages=[{"role": "user", "content": QUESTION}])
            assert told(server) == [QUESTION]


async def test_behind_a_key_of_many_a_model_gets_at_no_memory_by_its_tools_either() -> None:
    calls = [ToolCall("c1", "remember", {"quote": "My salary is 4000"}), ToolCall("c2", "recall", {"query": "salary"})]
    replies = [Reply.of(calls=[each]) for each in calls]
    async with desk([*replies, "Kept.", *replies, "I do not know."], memory="user") as server:
        for key, codes in (("personal", []), ("ann", ["permission_denied"] * 2)):
            async with openai_of(server, key) as client:
                said = "My salary is 4000."
                await client.chat.completions.create(model="desk", messages=[{"role": "user", "content": said}])
                results = [each.result for each in server.model.requests[-1].messages if isinstance(each, ToolMessage)]
                assert [each.error.code for each in results if each.error] == codes


@pytest.mark.filterwarnings("ignore:deprecated:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:The Assistants API is deprecated:DeprecationWarning")
async def test_an_assistant_says_that_it_goes_without_memory() -> None:
    async with desk(["Yes."], memory="user") as server:
        for key, header in (("ann", "off"), ("personal", None)):
            async with openai_of(server, key) as client:
                thread = await client.beta.threads.create(messages=[{"role": "user", "content": HERON}])
                raw = client.beta.threads.runs.with_raw_response
                run = await raw.create(thread_id=thread.id, assistant_id="desk")
                assert run.headers.get("x-actum-memory") == header
