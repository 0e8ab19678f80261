"""Secret values in arguments: nothing that is shown or exported has them, and the run that goes on does."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from pathlib import Path

import msgspec
import pytest

from actum import Agent, Answer, Context, ToolCall, tool
from actum.call.asking.inbox import answer_pending, inbox
from actum.call.plan import idempotency_key
from actum.core.errors import JournalError
from actum.core.event import Event, RunResult
from actum.core.interfaces import Journal
from actum.core.json import JsonObject
from actum.core.message import Reply, ToolMessage
from actum.core.model import Request
from actum.core.run.record import CallRefused, Ended, Intended, ModelReplied, Record, Started
from actum.journal.audit import audit
from actum.journal.export import check_journal, entry_line
from actum.journal.memory import MemoryJournal
from actum.journal.recording import CallRef
from actum.journal.secrets import copied
from actum.runs.options import RunOptions
from actum.runs.runner import Runner
from actum.testing import ScriptedModel
from actum.toolsets.function.function import FunctionTool

from .conftest import Store
from .records import started

pytestmark = pytest.mark.row("C7")

VALUE = "hunter2-xyz"
RAW = f'{{ "user":"ann",   "password":"{VALUE}"}}'
CALL = ToolCall("1", "login", {"user": "ann", "password": VALUE}, raw=RAW)


class Desk:
    """A tool that logs in, and the passwords that it was given."""

    def __init__(self, *, approval: bool = True) -> None:
        self.given: list[str] = []

        @tool(approval=approval, idempotent=True)
        def login(user: str, password: str) -> str:
            """Log in.

            Args:
                user: Who logs in.
                password: The password.
            """
            self.given.append(password)
            return f"{user} is in with {password}"

        self.login: FunctionTool[..., str] = login


def logs_in(request: Request) -> Reply:
    return Reply.of("Done.") if isinstance(request.messages[-1], ToolMessage) else Reply((CALL,))


def agent(journal: Journal, desk: Desk) -> tuple[Agent, ScriptedModel]:
    model = ScriptedModel(logs_in)
    return Agent(model, [desk.login], journal=journal), model


def bytes_of(store: Store) -> bytes:
    """All that lies in the folder of a journal's file."""
    return b"".join(file.read_bytes() for file in Path(store.place).parent.iterdir())


async def shown(journal: Journal, result: RunResult, events: list[Event]) -> str:
    """Everything that shows or exports a run."""
    entries = await journal.read(result.run_id)
    records = [entry.record for entry in entries]
    lines = [msgspec.json.encode(entry_line(result.run_id, entry)).decode() for entry in entries]
    seen = [records, lines, await journal.runs(), await inbox(journal), [each async for each in audit(journal)]]
    return "\n".join(map(repr, [*seen, events, result]))


@pytest.mark.parametrize("key", [None, b"the key of this journal"], ids=["plain", "encrypted"])
async def test_a_secret_is_shown_nowhere_and_a_run_that_waited_makes_its_call_with_the_value(
    store: Store, key: bytes | None
) -> None:
    events: list[Event] = []
    desk, journal = Desk(), store.open(key=key)
    first, _ = agent(journal, desk)
    paused = await first.run("Log in", emit=events.append)
    assert (paused.status, desk.given) == ("paused", [])
    assert VALUE not in await shown(journal, paused, events)
    if store.place.endswith(".db"):
        await journal.close()
        assert bytes_of(store).count(VALUE.encode()) == (1 if key is None else 0)
    other = store.open(key=key) if store.place else journal  # as another process would
    second, model = agent(other, desk)
    assert (await check_journal(other, key=key)).problems == []
    done = await second.resume(paused.run_id, {paused.pending[0].id: "approve"}, emit=events.append)
    assert (done.status, desk.given) == ("done", [VALUE])
    (reply,) = [said for said in model.requests[0].messages if isinstance(said, Reply)]
    assert reply.calls == (CALL,)  # the model is shown its own words
    assert VALUE not in await shown(other, done, events)
    assert "[secret]" in await shown(other, done, events)
    assert await other.hidden_intact(paused.run_id) == {}
    assert (await check_journal(other, key=key)).problems == []
    if store.place.endswith(".db"):
        await other.runs()  # the writer has done what it was asked before
        assert VALUE.encode() not in bytes_of(store)
    told_again = await second.resume(paused.run_id)
    assert (told_again.status, desk.given) == ("done", [VALUE])


async def test_a_run_that_was_killed_after_the_reply_makes_its_call_with_the_value(store: Store) -> None:
    desk, journal = Desk(approval=False), store.open()
    before, _ = agent(journal, Desk())
    paused = await before.run("Log in")
    words = await journal.hidden(paused.run_id)
    whole: list[Record] = [entry.record for entry in await journal.read(paused.run_id)]
    for record in whole[:2]:
        assert isinstance(record, Started | ModelReplied)
        journal.append("killed", copied(journal, "killed", record, words))
    await journal.sync("killed")
    after, _ = agent(journal, desk)
    assert (await after.resume("killed", accept=True)).status == "done"
    assert desk.given == [VALUE]
    assert await journal.hidden_intact("killed") == {}
    assert len(await journal.hidden_intact(paused.run_id)) == 1


async def test_without_its_key_a_run_does_not_go_on_and_is_not_told(shared: Store) -> None:
    desk, journal = Desk(), shared.open(key=b"the key of this journal")
    first, _ = agent(journal, desk)
    paused = await first.run("Log in")
    for key, told in ((None, "open the journal with its key"), (b"another one", "with another key")):
        second, _ = agent(shared.open(key=key), desk)
        with pytest.raises(JournalError, match=told):
            await second.resume(paused.run_id, {paused.pending[0].id: "approve"})
    assert desk.given == []
    assert (await first.resume(paused.run_id, {paused.pending[0].id: "approve"})).status == "done"
    assert desk.given == [VALUE]


async def test_a_value_that_was_changed_or_deleted_is_found_and_not_acted_upon(file: Store) -> None:
    for statement, told in (
        ("UPDATE hidden SET payload = x'007b7d'", "its secret values were changed"),
        ("DELETE FROM hidden", "its secret values were deleted"),
    ):
        desk, journal = Desk(), file.open()
        first, _ = agent(journal, desk)
        paused = await first.run("Log in")
        await asyncio.to_thread(_change, file.place, statement)
        problems = (await check_journal(journal, [paused.run_id])).problems
        assert [told in problem for problem in problems] == [True]
        if "changed" in told:
            with pytest.raises(JournalError, match="were changed"):
                await first.resume(paused.run_id, {paused.pending[0].id: "approve"})
        else:
            result = await first.resume(paused.run_id, {paused.pending[0].id: "approve"})
            assert "[secret] only stands in its place" in result.calls[0][1].text
        assert desk.given == []


def _change(place: str, statement: str) -> None:
    with contextlib.closing(sqlite3.connect(place)) as database, database:
        database.execute(statement)


async def test_the_next_turn_sees_the_mark_and_a_call_with_the_mark_is_not_made(store: Store) -> None:
    desk, journal = Desk(approval=False), store.open()
    first, _ = agent(journal, desk)
    await first.run("Log in", conversation="c")
    copying = ScriptedModel(
        lambda request: (
            "I need the password."
            if isinstance(request.messages[-1], ToolMessage)
            else [call for said in request.messages if isinstance(said, Reply) for call in said.calls][:1]
        )
    )
    second = await Agent(copying, [desk.login], journal=journal).run("Again", conversation="c")
    assert "[secret] only stands in its place on record" in second.calls[0][1].text
    assert desk.given == [VALUE]


@pytest.mark.parametrize(
    ("edited", "made"), [("[secret]", VALUE), ("another-value", "another-value")], ids=["leaves it", "gives another"]
)
async def test_a_person_who_edits_a_call_leaves_its_secret_or_gives_another(
    store: Store, edited: str, made: str
) -> None:
    desk, journal = Desk(), store.open()
    first, _ = agent(journal, desk)
    paused = await first.run("Log in")
    arguments: JsonObject = {"user": "bob", "password": edited}
    await answer_pending(journal, paused.pending[0].id, Answer("approve", arguments=arguments))
    other = store.open() if store.place else journal
    second, _ = agent(other, desk)
    result = await second.resume(paused.run_id)
    if result.status == "paused":  # the changed call is asked about once more
        result = await second.resume(paused.run_id, {result.pending[0].id: "approve"})
    assert (result.status, desk.given) == ("done", [made])
    assert made not in await shown(other, result, [])


async def test_wrong_arguments_are_refused_without_the_value(store: Store) -> None:
    desk, journal = Desk(approval=False), store.open()
    wrong: tuple[tuple[JsonObject, str], ...] = (
        ({"user": 1, "password": [VALUE]}, ""),
        ({"user": "ann", "passwd": VALUE}, ""),
        ({}, f'{{"password": "{VALUE}'),
    )
    for arguments, raw in wrong:
        call = ToolCall("1", "login", arguments, raw=raw, complete=not raw)
        nobody = ToolCall("2", "log_on", {"password": VALUE})
        model = ScriptedModel([Reply((call, nobody)), "I can't."])
        result = await Agent(model, [desk.login], journal=journal).run("Log in")
        records = [entry.record for entry in await journal.read(result.run_id)]
        assert len([record for record in records if isinstance(record, CallRefused)]) == 2
        assert VALUE not in await shown(journal, result, [])
    assert desk.given == []


async def test_a_call_that_a_person_asks_for_directly_hides_its_secrets_in_the_list_of_runs(store: Store) -> None:
    desk, journal = Desk(approval=False), store.open()
    result = await Runner([desk.login], journal=journal).call([CALL], RunOptions(principal="ann"), by="person")
    assert (result.status, desk.given) == ("done", [VALUE])
    (line,) = await journal.runs()
    assert line.question == 'login(user="ann", password="[secret]")'
    assert VALUE not in await shown(journal, result, [])


async def test_no_digest_on_record_is_made_of_the_value() -> None:
    """A short password could be guessed from a digest over words that are known but for the password."""
    digests, keys = set[str](), 0
    for value in ("1111", "2222"):
        model = ScriptedModel([Reply((ToolCall("1", "login", {"user": "ann", "password": value}),)), "Done."])
        journal = MemoryJournal()
        await Agent(model, [Desk(approval=False).login], journal=journal).run("Log in", run_id="r")
        records = [entry.record for entry in await journal.read("r")]
        digests |= {record.intention for record in records if isinstance(record, ModelReplied)}
        (salt,) = (record.salt for record in records if isinstance(record, Started))
        for made in (record for record in records if isinstance(record, Intended)):
            shown = ToolCall("1", made.tool, made.arguments)
            keys += made.key == idempotency_key(f"r{salt}", CallRef(made.cause, made.index), shown)
    assert (len(digests), keys) == (2, 2)  # two questions to the model, alike in both runs, and a call in each


async def test_a_branch_has_secret_values_of_its_own(store: Store) -> None:
    desk, journal = Desk(), store.open()
    first, _ = agent(journal, desk)
    paused = await first.run("Log in")
    branch = await first.fork(paused.run_id, 1)
    assert (await first.resume(paused.run_id, {paused.pending[0].id: "deny"})).status == "done"
    waiting = await first.resume(branch)
    assert (await first.resume(branch, {waiting.pending[0].id: "approve"})).status == "done"
    assert desk.given == [VALUE]
    assert VALUE not in await shown(journal, waiting, [])


async def test_a_secret_that_is_filled_into_a_form_is_kept_apart(store: Store) -> None:
    form: JsonObject = {"type": "object", "properties": {"pin": {"type": "string", "x-secret": True}}}
    given: list[object] = []

    @tool(effects={"write"})
    async def unlock(ctx: Context) -> str:
        """Unlock."""
        given.append((await ctx.elicit("Which PIN?", form)).content.get("pin"))
        return "open"

    journal = store.open()
    model = ScriptedModel(
        lambda q: "Done." if isinstance(q.messages[-1], ToolMessage) else [ToolCall("1", "unlock", {})]
    )
    unlocks = Agent(model, [unlock], journal=journal)
    paused = await unlocks.run("Unlock")
    await answer_pending(journal, paused.pending[0].id, Answer("answer", arguments={"pin": VALUE}))
    assert VALUE not in await shown(journal, paused, [])
    result = await unlocks.resume(paused.run_id)
    assert (result.status, given) == ("done", [VALUE])
    assert VALUE not in await shown(journal, result, [])


async def test_forgetting_a_run_deletes_its_secret_values(store: Store) -> None:
    journal = store.open()
    first, _ = agent(journal, Desk())
    paused = await first.run("Log in")
    await journal.forget(paused.run_id)
    assert await journal.hidden_intact(paused.run_id) == {}
    assert (await check_journal(journal)).problems == []


async def test_values_of_a_record_that_could_not_be_written_are_not_there_either(file: Store) -> None:
    here, there = file.open(), file.open()
    here.append("r", started())
    await here.sync("r")
    async with there.claim("r"):
        there.append("r", Ended("paused"))
        await there.sync("r")
    digest = here.hide("r", b"{}")
    here.append("r", ModelReplied("", Reply.of("Hi."), hidden=digest))
    with pytest.raises(JournalError):
        await here.sync("r")
    assert await there.hidden_intact("r") == {}
