"""What shows that a journal is as it was written, to somebody who does not have it: lines of JSON, and the checks.

Three kinds of lines, in any mixture::

    {"type": "entry", "run": ..., "number": ..., "at": ..., "payload": ..., "salt": ..., "digest": ..., "head": ...}
    {"type": "head",  "run": ..., "number": ..., "head": ...}
    {"type": "signed", "run": ..., "number": ..., "head": ..., "signature": ...}

An entry holds the stored bytes, so that its chain can be checked without the database. A head says how far a run had
come; kept elsewhere, it shows that the run was rewritten or cut since. Signed heads are the journal's ledger.

What each check finds, `core.record` tells. Pure, but for `check_journal`, which reads.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec import Struct

from ..core.errors import JournalError, UsageError
from ..core.interfaces import Journal
from ..core.record import Ended, Entry, Forgotten, Head, against_head, verify, verify_ledger


class EntryLine(Struct, frozen=True, tag_field="type", tag="entry", omit_defaults=True):
    """An entry of a run. The payload is the text that was stored; `payload_hex` where the bytes are no text."""

    run: str
    number: int
    at: float
    salt: str
    digest: str
    head: str
    payload: str = ""
    payload_hex: str = ""


class HeadLine(Struct, frozen=True, tag_field="type", tag="head"):
    """How far a run had come when its head was exported."""

    run: str
    number: int
    head: str


class SignedLine(Struct, frozen=True, tag_field="type", tag="signed"):
    """A line of the journal's ledger."""

    run: str
    number: int
    head: str
    signature: str


Line = EntryLine | HeadLine | SignedLine


class Evidence(Struct, frozen=True, kw_only=True):
    """What a file of such lines holds.

    Attributes:
        runs: the entries of each run.
        heads: exported heads.
        ledger: signed heads, in their order.
    """

    runs: Mapping[str, Sequence[Entry]] = {}
    heads: Sequence[Head] = ()
    ledger: Sequence[Head] = ()


class Report(Struct, kw_only=True):
    """What a check came to.

    Attributes:
        runs, entries: how many were checked.
        heads: exported heads that the runs were held against.
        signed: signed heads in the ledger.
        by_key: the ledger was checked with its key.
        problems: what is wrong, one sentence each; empty when nothing is.
    """

    runs: int = 0
    entries: int = 0
    heads: int = 0
    signed: int = 0
    by_key: bool = False
    problems: list[str] = []


def entry_line(run_id: str, entry: Entry) -> EntryLine:
    """An entry as a line."""
    try:
        text, bare = entry.payload.decode(), ""
    except UnicodeDecodeError:  # damaged
        text, bare = "", entry.payload.hex()
    return EntryLine(run_id, entry.number, entry.at, entry.salt.hex(), entry.digest.hex(), entry.head.hex(), text, bare)


async def head_lines(journal: Journal) -> AsyncIterator[HeadLine | SignedLine]:
    """The latest head of every run, the oldest run first, and the ledger."""
    for run in reversed(await journal.runs(limit=None)):
        entries = await journal.read(run.run_id)
        if entries:
            yield HeadLine(run.run_id, entries[-1].number, entries[-1].head.hex())
    for signed in await journal.heads():
        yield SignedLine(signed.run_id, signed.number, signed.head.hex(), signed.signature.hex())


def read_lines(lines: Iterable[str | bytes]) -> Evidence:
    """What a file of lines holds; empty lines are passed over.

    Raises:
        UsageError: a line is none; the message says which.
    """
    runs: dict[str, list[Entry]] = {}
    heads: list[Head] = []
    ledger: list[Head] = []
    for number, text in enumerate(lines, 1):
        if not text.strip():
            continue
        try:
            line = _decoder.decode(text)
            match line:
                case EntryLine():
                    runs.setdefault(line.run, []).append(_entry(line))
                case HeadLine():
                    heads.append(Head(line.run, line.number, bytes.fromhex(line.head)))
                case SignedLine():
                    ledger.append(Head(line.run, line.number, bytes.fromhex(line.head), bytes.fromhex(line.signature)))
        except (msgspec.DecodeError, ValueError) as error:
            raise UsageError(f"line {number} is no line of an export: {error}") from None
    return Evidence(runs=runs, heads=heads, ledger=ledger)


async def check_journal(
    journal: Journal, run_ids: Sequence[str] = (), *, known: Evidence | None = None, key: bytes | None = None
) -> Report:
    """Check a journal, one run at a time.

    Args:
        journal: the journal.
        run_ids: these runs alone; all of them when it is empty.
        known: heads, a ledger or entries that were exported earlier.
        key: the key that the journal signs with.
    """
    known, ledger = known or Evidence(), await journal.heads()
    there = [run.run_id for run in reversed(await journal.runs(limit=None))]
    chosen = list(run_ids) or list(dict.fromkeys([*there, *(head.run_id for head in [*known.heads, *ledger])]))
    report = Report(signed=len(ledger), by_key=key is not None, problems=_ledger_problems(ledger, known.ledger, key))
    since = None if key is None else await _first_signed(journal, ledger)
    heads, signed = _by_run([*known.heads, *known.ledger]), _by_run(ledger)
    for run_id in chosen:
        entries = await journal.read(run_id)
        _check_run(report, run_id, entries, heads.get(run_id, []), signed.get(run_id, []))
        if key is not None:
            report.problems += _unsigned(run_id, entries, signed.get(run_id, []), since)
    return report


def check_export(export: Evidence, *, known: Evidence | None = None, key: bytes | None = None) -> Report:
    """Check exported entries, without the journal that they are from.

    Args:
        export: the entries, with or without heads.
        known: heads or a ledger that were exported earlier.
        key: the key that the journal signs with.
    """
    known = known or Evidence()
    ledger = known.ledger or export.ledger
    report = Report(signed=len(ledger), by_key=key is not None, problems=_ledger_problems(ledger, (), key))
    heads, signed = _by_run([*export.heads, *known.heads]), _by_run(ledger)
    for run_id, entries in export.runs.items():
        _check_run(report, run_id, entries, heads.get(run_id, []), signed.get(run_id, []))
    return report


def _check_run(
    report: Report, run_id: str, entries: Sequence[Entry], heads: Sequence[Head], signed: Sequence[Head]
) -> None:
    """Add to the report what is wrong with a run, by itself and held against its heads."""
    problems = [*verify(entries), *_deleted_in_silence(entries)]
    report.problems += [f"run {run_id}: {problem}" for problem in problems]
    against = [against_head(entries, head) for head in [*heads, *signed]]
    report.problems += dict.fromkeys(problem for found in against for problem in found)
    report.runs += 1
    report.entries += len(entries)
    report.heads += len(heads)


def _by_run(heads: Iterable[Head]) -> dict[str, list[Head]]:
    found: dict[str, list[Head]] = {}
    for head in heads:
        found.setdefault(head.run_id, []).append(head)
    return found


def _deleted_in_silence(entries: Sequence[Entry]) -> Iterator[str]:
    """Payloads that are gone, with no record after them which says that they were deleted."""
    said = max((entry.number for entry in entries if isinstance(_read(entry), Forgotten)), default=-1)
    for entry in entries:
        if not entry.payload and entry.number > said:
            yield f"entry {entry.number}: its payload was deleted, and no record says so"


def _ledger_problems(ledger: Sequence[Head], known: Sequence[Head], key: bytes | None) -> list[str]:
    """What is wrong with the ledger by itself, and held against an earlier copy."""
    problems = [] if key is None else verify_ledger(ledger, key)
    if len(known) > len(ledger):
        problems.append(f"the ledger was cut: it had {len(known)} signed heads and has {len(ledger)}")
    for place, (then, now) in enumerate(zip(known, ledger, strict=False)):
        if then != now:
            problems.append(f"the ledger was rewritten: signed head {place} is not the one that was exported")
            break
    return problems


async def _first_signed(journal: Journal, ledger: Sequence[Head]) -> float | None:
    """When the journal began to sign; None when that can not be told."""
    for head in ledger[:1]:
        entries = await journal.read(head.run_id, head.number - 1)
        return entries[0].at if entries else None
    return None


def _unsigned(run_id: str, entries: Sequence[Entry], heads: Sequence[Head], since: float | None) -> list[str]:
    """Ends of a run that a journal with a key would have signed, and did not."""
    signed = {head.number for head in heads}
    return [
        f"run {run_id}: its end at entry {entry.number} is not signed: it was written without the key"
        for entry in entries
        if entry.number not in signed
        and (since is None or entry.at >= since)
        and isinstance(_read(entry), Ended | Forgotten)
    ]


def _read(entry: Entry) -> object:
    try:
        return entry.record
    except JournalError:
        return None


def _entry(line: EntryLine) -> Entry:
    payload = bytes.fromhex(line.payload_hex) if line.payload_hex else line.payload.encode()
    return Entry(
        line.number, line.at, payload, bytes.fromhex(line.salt), bytes.fromhex(line.digest), bytes.fromhex(line.head)
    )


_decoder: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)
