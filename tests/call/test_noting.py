"""A tool puts a record of a feature on the record of its run, and every reader of the record tells it."""

from __future__ import annotations

import io
from html import unescape

import msgspec
import pytest
from msgspec import Struct
from rich.console import Console
from rich.tree import Tree

from actum import Agent, Context, ToolCall, tool
from actum.cli.show.page import page_of
from actum.cli.show.tree import tree_of
from actum.core.errors import FeatureMissing, UsageError
from actum.core.interfaces import Journal
from actum.core.run.chain import verify
from actum.core.run.noted import RecordKind, RecordKinds
from actum.core.run.record import CallCompleted, CallsRequested, Ended, Intended, Noted, Started
from actum.journal.audit import audit_lines
from actum.journal.conversations import family
from actum.journal.export import check_journal
from actum.journal.memory import MemoryJournal
from actum.runs.options import RunOptions
from actum.runs.runner import Runner
from actum.server.api.runs.views import EventFold
from actum.storage.place import open_journal
from actum.testing import Said, ScriptedModel


class Saved(Struct, frozen=True, tag="saved"):
    url: str
    count: int = 0


KINDS = RecordKinds([RecordKind("bookmarks", Saved, package="actum-bookmarks")])
SHOWN = 'bookmarks/saved {"type":"saved","url":"https://example.org","count":0}'
UNREAD = "bookmarks/saved, 54 bytes, not read here"


@tool(effects={"read"})
async def save(url: str, context: Context, needed: bool = False) -> str:
    """Save a bookmark."""
    context.note(Saved(url), needed=needed)
    return "saved"


@tool(effects={"read"})
def save_in_thread(url: str, context: Context) -> str:
    """Save a bookmark, in a thread."""
    context.note(Saved(url))
    return "saved"


@tool(effects={"read"})
async def ask(context: Context) -> str:
    """Ask first."""
    return (await context.elicit("Sure?")).action


def call(name: str = "save", **arguments: object) -> ToolCall:
    return ToolCall("c1", name, msgspec.to_builtins({"url": "https://example.org"} | arguments))


def printed(tree: Tree) -> str:
    out = io.StringIO()
    Console(file=out, width=200).print(tree)
    return out.getvalue()


async def records(journal: Journal, run_id: str = "r") -> list[object]:
    return [entry.record for entry in await journal.read(run_id)]


@pytest.mark.parametrize("name", ["save", "save_in_thread"])
async def test_a_note_stands_on_record_before_the_outcome_of_its_call(name: str) -> None:
    journal = MemoryJournal(record_kinds=KINDS)
    await Runner([save, save_in_thread], journal=journal).call([call(name)], RunOptions(run_id="r"), by="person")
    found = await records(journal)
    assert [type(record) for record in found] == [Started, CallsRequested, Intended, Noted, CallCompleted, Ended]
    noted = found[3]
    assert isinstance(noted, Noted)
    assert KINDS.read(noted) == Saved("https://example.org")
    assert (noted.cause, noted.index, noted.package, noted.needed) == (1, 0, "actum-bookmarks", False)


async def test_secrets_are_left_out_of_a_note() -> None:
    @tool(effects={"read"})
    async def keep(context: Context) -> str:
        """Keep something."""
        context.note(Saved(f"https://example.org/{context.secret('token')}?password=hunter22"))
        return "kept"

    journal = MemoryJournal(record_kinds=KINDS)
    runner = Runner([keep], journal=journal, secrets={"token": "a-long-secret"})
    await runner.call([ToolCall("1", "keep", {})], RunOptions(run_id="r"), by="person")
    (noted,) = [record for record in await records(journal) if isinstance(record, Noted)]
    assert b"a-long-secret" not in noted.body
    assert b"hunter22" not in noted.body
    assert KINDS.read(noted) is not None


async def test_a_note_that_can_not_do_without_a_secret_is_refused() -> None:
    @tool(effects={"read"})
    async def keep(context: Context) -> str:
        """Keep something."""
        context.conceal("71234567")
        context.note(Saved("x", 71234567))
        return "kept"

    journal = MemoryJournal(record_kinds=KINDS)
    result = await Runner([keep], journal=journal).call(
        [ToolCall("1", "keep", {})], RunOptions(run_id="r"), by="person"
    )
    assert result.calls[0][1].error is not None
    assert not [record for record in await records(journal) if isinstance(record, Noted)]
    assert "71234567" not in str(await records(journal))


async def test_nothing_is_noted_after_the_call_nor_without_the_feature() -> None:
    kept: list[Context] = []

    @tool(effects={"read"})
    async def keep(context: Context) -> str:
        """Keep the context."""
        kept.append(context)
        return "kept"

    journal = MemoryJournal(record_kinds=KINDS)
    await Runner([keep], journal=journal).call([ToolCall("1", "keep", {})], RunOptions(run_id="r"), by="person")
    with pytest.raises(UsageError, match="bookmarks/saved comes too late: the call that notes it is over"):
        kept[0].note(Saved("x"))
    plain = MemoryJournal()
    await Runner([keep], journal=plain).call([ToolCall("1", "keep", {})], RunOptions(run_id="r"), by="person")
    with pytest.raises(UsageError, match="Saved is a record of no feature that is on"):
        kept[1].note(Saved("x"))
    outside = Context(run_id="", call=call(), key="", attempt=1, principal="", deps=None, attachments={})
    with pytest.raises(UsageError, match="no call of a run is under way here"):
        outside.note(Saved("x"))


@pytest.mark.parametrize(("kinds", "shown"), [(KINDS, SHOWN), (RecordKinds(), UNREAD)], ids=["with", "without"])
async def test_every_reader_tells_a_note(place: str, kinds: RecordKinds, shown: str) -> None:
    writing = open_journal(place, record_kinds=KINDS)
    await Runner([save], journal=writing).call([call()], RunOptions(run_id="r"), by="person")
    await writing.close()
    journal = open_journal(place, record_kinds=kinds)
    entries = await journal.read("r")
    assert verify(entries) == []
    assert (await check_journal(journal)).problems == []
    (line,) = await journal.runs()
    whole = await family(journal, line)
    assert f"noted  {shown}" in printed(tree_of(whole))
    assert shown in unescape(page_of(whole))
    noted = next(each for each in audit_lines("r", entries, kinds) if each.decision == "noted")
    assert (noted.text, noted.tool, noted.number) == (shown, "save", 3)
    fold = EventFold("r", kinds)
    event = [fold.take(entry) for entry in entries][3]
    assert (event.type, event.text, event.tool, event.call) == ("noted", shown, "save", "1.0")
    again = await Runner([save], journal=journal).resume("r")  # the note is not needed
    assert again.calls[0][1].text == "saved"
    await journal.forget("r")
    assert not any(entry.payload for entry in (await journal.read("r"))[:-1])
    assert (await check_journal(journal)).problems == []
    await journal.close()


async def test_a_run_goes_on_only_where_its_needed_note_is_read(place: str) -> None:
    calls = [call(needed=True), ToolCall("c2", "ask", {})]
    one = open_journal(place, record_kinds=KINDS)
    paused = await Runner([save, ask], journal=one).call(calls, RunOptions(run_id="r"), by="person")
    assert paused.status == "paused"
    before = len(await one.read("r"))
    other = open_journal(place)  # of a server that does not have the feature
    wanted = "run r needs its record bookmarks/saved to go on.* install the package actum-bookmarks, and switch it on"
    with pytest.raises(FeatureMissing, match=wanted):
        await Runner([save, ask], journal=other).resume("r", {paused.pending[0].id: "{}"}, accept=True)
    assert len(await other.read("r")) == before
    done = await Runner([save, ask], journal=one).resume("r", {paused.pending[0].id: "{}"})
    assert (done.status, [result.text for _, result in done.calls]) == ("done", ["saved", "accept"])
    await one.close()
    await other.close()


async def test_a_run_above_does_not_go_on_either_and_loses_nothing() -> None:
    """The agent above would be told that its call failed, and would act upon that."""

    def desk(journal: MemoryJournal, model: ScriptedModel) -> Agent:
        said: list[Said] = [call(needed=True), ToolCall("2", "ask", {}), "Below."]
        below = Agent(ScriptedModel(said), [save, ask], name="below")
        return Agent(model, [below], name="desk", journal=journal)

    journal = MemoryJournal(record_kinds=KINDS)
    paused = await desk(journal, ScriptedModel([ToolCall("1", "below", {"task": "Save it."})])).run("Go.", run_id="r")
    assert paused.status == "paused"
    before = {line.run_id: len(await journal.read(line.run_id)) for line in await journal.runs()}
    journal.record_kinds = RecordKinds()
    with pytest.raises(FeatureMissing):
        await desk(journal, ScriptedModel(["Above."])).resume("r", {paused.pending[0].id: "{}"})
    (child,) = [run_id for run_id in before if run_id != "r"]
    assert len(await journal.read(child)) == before[child]
    assert not isinstance((await records(journal))[-1], CallCompleted | Ended)
