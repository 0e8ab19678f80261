"""Documents that come with a question are read, quoted as `attachment:NAME`, and forgotten with the run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from actum import Agent, ToolCall
from actum.agents.attached import SHORT_CHARS
from actum.agents.options import AgentOptions
from actum.browser import Browser
from actum.core.call import MediaPart
from actum.core.clock import SystemClock
from actum.core.errors import UsageError
from actum.core.event import RunResult
from actum.core.interfaces import Journal
from actum.core.json import Json
from actum.core.message import Reply, ToolMessage, UserMessage
from actum.core.run.record import Started
from actum.core.run.task import TaskOptions
from actum.journal.memory import MemoryJournal
from actum.journal.recording import RunState
from actum.knowledge.browsing.browser import KnowledgeTool
from actum.knowledge.citing.references import checked, references_in
from actum.runs.given_tools import Toolish
from actum.storage.sqlite import SQLiteJournal
from actum.tasks.attempt import attempt
from actum.tasks.queue import TaskQueue
from actum.testing import ScriptedModel
from actum.toolsets.wrappers import combined, filtered, prefixed, renamed
from tests.knowledge import files as made

pytestmark = pytest.mark.row("T7")
Call = tuple[str, Mapping[str, Json]]
LEASE = b"# Lease\n\nThe period of notice is three months."
QUOTE: Call = ("quote", {"text": "The period of notice is three months", "source": "attachment:lease.md"})


def file(name: str, data: bytes) -> MediaPart:
    return MediaPart("application/octet-stream", data, name=name)


async def asked(
    journal: Journal, *calls: Call, files: tuple[MediaPart, ...] = (), principal: str = "ann", browser: bool = True
) -> tuple[RunResult, ScriptedModel]:
    said = [Reply.of(calls=[ToolCall(f"c{at}", name, dict(given))]) for at, (name, given) in enumerate(calls)]
    model = ScriptedModel([*said, "Done.", "Done."])
    agent = Agent(model, [Browser([])] if browser else [], cite="mark", journal=journal)
    result = await agent.run("When may I leave?", principal=principal, conversation="c", attachments=files)
    return result, model


def told(model: ScriptedModel) -> list[str]:
    return [each.result.text for each in model.requests[-1].messages if isinstance(each, ToolMessage)]


async def test_a_short_document_is_told_whole_and_is_not_the_users_word() -> None:
    journal = MemoryJournal()
    result, model = await asked(journal, QUOTE, files=(file("lease.md", LEASE),), browser=False)
    assert [each.source for each in heard(model)] == ["tool", "user"]
    assert "attachment:lease.md" in heard(model)[0].text
    assert "The period of notice is three months." in heard(model)[0].text
    assert not any(isinstance(part, MediaPart) for each in heard(model) for part in each.content)
    assert "[1] “The period of notice is three months”\nLease, attachment:lease.md" in told(model)[0]
    state = RunState(await journal.read(result.run_id))
    (reference,) = await checked(journal, result.run_id, references_in(state))
    assert (reference.verified, reference.address) == (True, "attachment:lease.md")


def heard(model: ScriptedModel) -> list[UserMessage]:
    """What the model was told before its first reply, beside instructions."""
    return [each for each in model.requests[0].messages if isinstance(each, UserMessage)]


async def test_a_long_document_is_searched_and_opened_and_later_turns_of_its_owner_have_it(tmp_path: Path) -> None:
    journal = SQLiteJournal(tmp_path / "runs.db")
    filler = b"Nothing is said here.\n\n" * (SHORT_CHARS // 20)
    long = file("long.md", b"# Rules\n\n" + filler + b"## End\n\nZebras pay 17 euros a day.")
    calls: tuple[Call, ...] = (("search", {"query": "zebras"}), ("click", {"number": 0}))
    quote: Call = ("quote", {"text": "Zebras pay 17 euros a day"})
    first, model = await asked(journal, *calls, quote, files=(long,))
    assert "Zebras" not in heard(model)[0].text
    assert "Zebras pay 17 euros a day" in told(model)[0]
    assert "attachment:long.md · " in told(model)[1]
    assert "[1] “Zebras pay 17 euros a day”" in told(model)[2]
    later, model = await asked(journal, *calls, quote)
    assert "[2] “Zebras pay 17 euros a day”" in told(model)[-1]
    reference = (await checked(journal, later.run_id, references_in(RunState(await journal.read(later.run_id)))))[0]
    assert reference.verified
    _, model = await asked(journal, *calls, principal="bob")
    assert "Zebras" not in "".join(told(model))
    for run in (later.run_id, first.run_id):
        await journal.forget(run)
    _, model = await asked(journal, *calls)
    assert "Zebras" not in "".join(told(model))


@pytest.mark.parametrize(
    ("tools", "told"),
    [
        ([prefixed("docs_", combined(Browser([])))], "[`docs_search` finds more]"),
        ([KnowledgeTool("rules"), renamed({"look_up": "search"}, Browser([]))], "[`look_up` finds more]"),
        ([filtered(("click", "quote"), Browser([]))], "the last words"),
        ([KnowledgeTool("rules")], "the last words"),  # that finds nothing in a document of the question
    ],
)
async def test_the_tool_that_finds_more_is_told_by_its_own_name_and_a_document_is_told_whole_without_it(
    tools: list[Toolish], told: str
) -> None:
    model = ScriptedModel(["Done.", "Done."])
    agent = Agent(model, tools, cite="mark", journal=MemoryJournal())
    long = file(
        "long.md", b"# Rules\n\n" + b"Nothing is said here.\n\n" * (SHORT_CHARS // 20) + b"These are the last words"
    )
    await agent.run("When may I leave?", attachments=(long,))
    assert heard(model)[0].text.endswith(told)


async def test_two_of_one_name_are_told_apart_and_one_that_can_not_be_read_begins_no_run() -> None:
    journal = MemoryJournal()
    other = LEASE.replace(b"three", b"six")
    _, model = await asked(journal, QUOTE, files=(file("lease.md", LEASE), file("lease.md", other)))
    assert "attachment:lease.md (2)" in "".join(
        each.text for each in model.requests[0].messages if isinstance(each, UserMessage)
    )
    locked = file("x.pdf", made.pdf("Hello", password="p"))
    with pytest.raises(UsageError, match=r"empty\.md: there is no text in it"):
        await asked(journal, files=(file("empty.md", b""),))
    with pytest.raises(UsageError, match=r"x\.pdf: it is encrypted"):
        await asked(MemoryJournal(), files=(locked,))
    photo = MediaPart("image/png", b"png", name="a.png")
    _, model = await asked(MemoryJournal(), files=(photo,))
    assert any(isinstance(part, MediaPart) for part in heard(model)[0].content)


class OneAgent:
    """Builds one agent, as a worker does."""

    def __init__(self, agent: Agent[str]) -> None:
        self._agent = agent

    async def build(self, started: Started) -> Agent[str]:
        assert started.agent == self._agent.name
        return self._agent


async def test_a_queued_question_has_its_document_in_the_process_that_answers_it(tmp_path: Path) -> None:
    asking = SQLiteJournal(tmp_path / "runs.db")
    options = AgentOptions(principal="ann", conversation="c", attachments=(file("lease.md", LEASE),))
    desk = Agent(ScriptedModel([]), name="desk", cite="mark", journal=asking)
    queue = TaskQueue(asking, clock=SystemClock(), home="desk.py")
    task = await queue.accept_run(desk, "When may I leave?", TaskOptions(), options)
    await asking.close()
    journal = SQLiteJournal(tmp_path / "runs.db")
    model = ScriptedModel([Reply.of(calls=[ToolCall("c", QUOTE[0], dict(QUOTE[1]))]), "In three months [1]."])
    worker = OneAgent(Agent(model, name="desk", cite="mark", journal=journal))
    await attempt(journal, worker, task.run_id, clock=SystemClock(), worker="w1")
    (reference,) = await checked(journal, task.run_id, references_in(RunState(await journal.read(task.run_id))))
    assert (reference.verified, reference.address) == (True, "attachment:lease.md")
    assert "The period of notice is three months." in heard(model)[0].text
    await journal.close()
