"""What was changed in a journal is found: by accident alone without a key, on purpose with one or with known heads."""

from __future__ import annotations

import msgspec
import pytest

from actum import Agent, ToolCall, tool
from actum.core.errors import UsageError
from actum.core.run.chain import GENESIS, SignedHead, seal, sign
from actum.core.run.record import Ended, Entry, Started
from actum.journal.export import (
    Evidence,
    HeadLine,
    Line,
    SignedLine,
    check_export,
    check_journal,
    entry_line,
    head_lines,
    read_lines,
)
from actum.journal.memory import MemoryJournal
from actum.testing import ScriptedModel

pytestmark = pytest.mark.row("C8")

KEY, OTHER_KEY = b"k" * 32, b"o" * 32


@tool(effects={"spend"})
async def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


async def written(key: bytes | None = KEY) -> MemoryJournal:
    """A journal of two runs in which 20 were paid."""
    journal = MemoryJournal(key=key)
    for run_id in ("one", "two"):
        model = ScriptedModel([ToolCall("1", "pay", {"amount": 20}), "Paid."])
        await Agent(model, [pay], journal=journal).run("Pay", run_id=run_id)
    return journal


async def exported(journal: MemoryJournal) -> Evidence:
    return read_lines([msgspec.json.encode(line) async for line in head_lines(journal)])


def rewrite(journal: MemoryJournal, run_id: str, *, upto: int | None = None) -> None:
    """Write a run anew as somebody would who has the database and no key: 20 becomes 2, and every hash fits."""
    entries: list[Entry] = []
    for entry in journal._entries[run_id][:upto]:
        record = msgspec.json.decode(entry.payload.replace(b"20", b"2"), type=type(entry.record))
        entries.append(seal(record, entry.number, entry.at, entries[-1].head if entries else GENESIS))
    journal._entries[run_id] = entries


def forge_ledger(journal: MemoryJournal) -> None:
    """Sign the ledger anew, with a key of one's own."""
    ledger: list[SignedHead] = []
    for head in journal._heads:
        entries = journal._entries[head.run_id]
        if head.number < len(entries):
            previous = ledger[-1].signature if ledger else GENESIS
            ledger.append(sign(OTHER_KEY, previous, head.run_id, head.number, entries[head.number].head))
    journal._heads = ledger


async def test_a_sound_journal_is_sound_and_it_is_told_how_much_was_checked() -> None:
    journal = await written()
    report = await check_journal(journal, known=await exported(journal), key=KEY)
    assert report.problems == []
    assert (report.runs, report.entries, report.signed, report.by_key) == (2, 12, 2, True)
    assert report.heads == 4  # the latest of each run, and the ledger


async def test_a_changed_byte_and_a_missing_entry_are_found_without_a_key() -> None:
    journal = await written(key=None)
    one, two = journal._entries["one"], journal._entries["two"]
    one[2] = msgspec.structs.replace(one[2], payload=one[2].payload.replace(b"20", b"99"))
    del two[3]
    problems = (await check_journal(journal)).problems
    assert problems[0] == "run one: entry 2: its payload was changed"
    assert "run two: entry 3 is missing" in problems


async def test_a_payload_that_was_deleted_in_silence_is_found_and_one_that_was_forgotten_is_not() -> None:
    journal = await written(key=None)
    one = journal._entries["one"]
    one[2] = msgspec.structs.replace(one[2], payload=b"")
    assert (await check_journal(journal)).problems == [
        "run one: entry 2: its payload was deleted, and no record says so"
    ]
    await journal.forget("one", "bo")
    assert (await check_journal(journal)).problems == []


async def test_a_run_that_was_rewritten_as_a_whole_is_not_found_without_key_or_heads() -> None:
    journal = await written()
    rewrite(journal, "one")
    forge_ledger(journal)
    assert (await check_journal(journal)).problems == []


async def test_a_run_that_was_rewritten_as_a_whole_is_found_with_the_key() -> None:
    journal = await written()
    rewrite(journal, "one")
    forge_ledger(journal)
    problems = (await check_journal(journal, key=KEY)).problems
    assert problems[0].startswith("signed head 0 (run one) is not signed with this key")


async def test_a_run_that_was_rewritten_is_found_with_the_key_though_the_ledger_was_emptied() -> None:
    journal = await written()
    rewrite(journal, "one")
    journal._heads.clear()
    assert (await check_journal(journal)).problems == []
    problems = (await check_journal(journal, key=KEY)).problems
    assert problems[0] == "run one: its end at entry 5 is not signed: it was written without the key"


async def test_a_run_that_was_rewritten_is_found_with_heads_that_were_exported() -> None:
    journal = await written(key=None)
    known = await exported(journal)
    rewrite(journal, "one")
    assert (await check_journal(journal)).problems == []
    assert (await check_journal(journal, known=known)).problems == [
        "run one was rewritten: entry 5 is not the one whose head was taken"
    ]


async def test_a_run_that_was_cut_is_found_with_key_or_heads_and_not_without() -> None:
    journal = await written()
    known = await exported(journal)
    del journal._entries["two"][3:]
    journal._heads.pop()
    problems = (await check_journal(journal)).problems
    assert problems[0] == "run two: the list of runs has status 'done', its entries say 'running'"
    journal._summaries["two"] = msgspec.structs.replace(journal._summaries["two"], status="running", ended=None)
    assert (await check_journal(journal)).problems == []
    cut = "run two was cut: entry 5 was there when its head was taken, and is gone"
    assert cut in (await check_journal(journal, known=known)).problems
    journal._heads.append(SignedHead(known.ledger[1].run_id, known.ledger[1].number, known.ledger[1].head))
    assert cut in (await check_journal(journal, key=KEY)).problems


async def test_a_run_that_is_gone_as_a_whole_is_found_with_heads() -> None:
    journal = await written(key=None)
    known = await exported(journal)
    del journal._entries["two"], journal._summaries["two"]
    assert (await check_journal(journal)).problems == []
    assert (await check_journal(journal, known=known)).problems == [
        "run two was cut: entry 5 was there when its head was taken, and is gone"
    ]


async def test_a_ledger_that_was_cut_or_changed_is_found_with_an_earlier_copy() -> None:
    journal = await written()
    known = msgspec.structs.replace(await exported(journal), heads=())
    journal._heads.pop()
    assert "the ledger was cut: it had 2 signed heads and has 1" in (await check_journal(journal, known=known)).problems
    forge_ledger(journal)
    problems = (await check_journal(journal, known=known)).problems
    assert "the ledger was rewritten: signed head 0 is not the one that was exported" in problems


async def test_runs_from_before_there_was_a_key_are_no_problem() -> None:
    journal = await written(key=None)
    journal._key = KEY
    journal.append("late", Started(agent="a", model="m", said=()))
    journal.append("late", Ended("done"))
    assert (await check_journal(journal, key=KEY)).problems == []


async def test_a_run_that_went_on_since_its_head_was_taken_is_sound() -> None:
    journal = await written()
    known = await exported(journal)
    await journal.forget("one", "bo")
    assert (await check_journal(journal, known=known, key=KEY)).problems == []


async def test_chosen_runs_alone_are_checked() -> None:
    journal = await written(key=None)
    journal._entries["two"].pop(0)
    assert (await check_journal(journal, ["one"])).problems == []
    assert (await check_journal(journal, ["two"])).problems


async def test_an_export_is_checked_without_the_journal() -> None:
    journal = await written()
    lines = [msgspec.json.encode(entry_line("one", entry)) for entry in await journal.read("one")]
    export = read_lines(lines)
    assert export.runs["one"] == await journal.read("one")
    assert check_export(export).problems == []
    assert check_export(export, known=await exported(journal), key=KEY).problems == []
    changed = read_lines([line.replace(b"paid 20", b"paid 99") for line in lines])
    assert check_export(changed).problems == ["run one: entry 3: its payload was changed"]
    rewrite(journal, "one")
    forged = read_lines(msgspec.json.encode(entry_line("one", entry)) for entry in await journal.read("one"))
    assert check_export(forged).problems == []
    assert check_export(forged, known=export_of_heads(export)).problems


def export_of_heads(export: Evidence) -> Evidence:
    return Evidence(
        heads=[SignedHead(run, entries[-1].number, entries[-1].head) for run, entries in export.runs.items()]
    )


async def test_damaged_bytes_are_exported_as_they_are() -> None:
    (entry, *_) = await (await written()).read("one")
    damaged = msgspec.structs.replace(entry, payload=b"\xff\xfe")
    assert read_lines([msgspec.json.encode(entry_line("one", damaged))]).runs["one"] == [damaged]


@pytest.mark.parametrize("text", ["nonsense", '{"type":"head"}', '{"type":"head","run":"r","number":0,"head":"zz"}'])
def test_a_line_that_is_none_is_named(text: str) -> None:
    head = msgspec.json.encode(HeadLine("r", 0, "00")).decode()
    with pytest.raises(UsageError, match="line 3 is no line of an export"):
        read_lines([head, "", text])


def test_every_kind_of_line_comes_back() -> None:
    lines: list[Line] = [HeadLine("r", 1, "0a"), SignedLine("r", 2, "0b", "0c")]
    evidence = read_lines(map(msgspec.json.encode, lines))
    assert (evidence.heads, evidence.ledger) == ([SignedHead("r", 1, b"\x0a")], [SignedHead("r", 2, b"\x0b", b"\x0c")])
