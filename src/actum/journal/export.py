"""What shows that a journal is as it was written, to somebody who does not have it: lines of JSON, and the checks.

Four kinds of lines, in any mixture::

    {"type": "entry", "run": ..., "number": ..., "at": ..., "payload": ..., "salt": ..., "digest": ..., "head": ...,
     "format": ...}
    {"type": "head",  "run": ..., "number": ..., "head": ...}
    {"type": "signed", "run": ..., "number": ..., "head": ..., "signature": ...}
    {"type": "row", "run": ..., "table": ..., "row": {...}}

An entry holds the stored bytes, so that its chain can be checked without the database, whatever the format of its
record. `format` is 1 where it is missing. A head says how far a run had
come; kept elsewhere, it shows that the run was rewritten or cut since. Signed heads are the journal's ledger. A row is
what a feature keeps of a run; no chain covers it, and the check passes over it.

What the chain of a run proves, `core.run.record` tells. A journal also keeps things beside the entries, which no chain
covers: the list of runs, the kinds of entries, the definitions of tools, large values and pages that were read.
`check_journal` compares them with the entries. Pure, but for what takes a journal, which reads.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec import Struct

from ..core.errors import JournalError, UnknownName, UsageError
from ..core.interfaces import Journal
from ..core.json import JsonObject
from ..core.message import UserMessage
from ..core.run.chain import SignedHead, against_head, verify, verify_ledger
from ..core.run.ending import ends_secrets, signs_head
from ..core.run.record import FORMAT, Entry, Forgotten, Record, Started, ToolsChanged
from ..core.run.summary import RunSummary, records_of, summary_of
from ..core.secret_values import Secretive
from .kept_tools import kept_tools

_KEPT_VALUES = ("workflow", "inputs_kept", "uses_kept", "variables_kept", "outputs_kept", "kept")
"""The fields of records that hold the digest of what is kept beside them."""
LOOKS_MAX = 4
"""So often a run that does not fit the list of runs is looked at: another process may be writing both."""


class EntryLine(Struct, frozen=True, tag_field="type", tag="entry", omit_defaults=True):
    """An entry of a run. The payload is the text that was stored; `payload_hex` where the bytes are no text. `masked`
    says that the payload is what a reader may see of it: the chain can be checked, and this text can not."""

    run: str
    number: int
    at: float
    salt: str
    digest: str
    head: str
    payload: str = ""
    payload_hex: str = ""
    format: int = 1
    masked: bool = False


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


class RowLine(Struct, frozen=True, tag_field="type", tag="row"):
    """A row of a feature's table that names the run; bytes are in base64."""

    run: str
    table: str
    row: JsonObject


Line = EntryLine | HeadLine | SignedLine | RowLine


class Evidence(Struct, frozen=True, kw_only=True):
    """What a file of such lines holds.

    Attributes:
        runs: the entries of each run.
        heads: exported heads.
        ledger: signed heads, in their order.
    """

    runs: Mapping[str, Sequence[Entry]] = {}
    heads: Sequence[SignedHead] = ()
    ledger: Sequence[SignedHead] = ()


class Report(Struct, kw_only=True):
    """What a check came to.

    Attributes:
        runs, entries: how many were checked.
        heads: exported heads that the runs were held against.
        signed: signed heads in the ledger.
        by_key: the ledger was checked with its key.
        unread: records of another format than this version reads: their bytes were checked, not what they say.
        masked: exported records without values that a reader may not see: their place in the chain was checked, not
            what they say.
        problems: what is wrong, one sentence each; empty when nothing is.
    """

    runs: int = 0
    entries: int = 0
    heads: int = 0
    signed: int = 0
    by_key: bool = False
    unread: int = 0
    masked: int = 0
    problems: list[str] = []


def entry_line(run_id: str, entry: Entry) -> EntryLine:
    """An entry as a line."""
    try:
        text, bare = entry.payload.decode(), ""
    except UnicodeDecodeError:  # damaged
        text, bare = "", entry.payload.hex()
    at = entry.at if math.isfinite(entry.at) else -1.0  # damaged, and JSON has no other numbers
    return EntryLine(
        run_id,
        entry.number,
        at,
        entry.salt.hex(),
        entry.digest.hex(),
        entry.head.hex(),
        text,
        bare,
        entry.format,
        entry.masked,
    )


async def row_lines(journal: Journal, run_id: str) -> list[RowLine]:
    """What features keep of a run."""
    found = await journal.stores.rows_of_run(run_id)
    return [RowLine(run_id, table, msgspec.to_builtins(row)) for table, rows in found.items() for row in rows]


async def run_ids(journal: Journal) -> list[str]:
    """Every run of which there is an entry or a line in the list of runs: those in the list by when they began, then
    those that are missing there.
    """
    listed = [run.run_id for run in reversed(await journal.runs(limit=None))]
    return list(dict.fromkeys([*listed, *(run_id for run_id, _ in await journal.edges("latest"))]))


def faults(entries: Sequence[Entry], records: Sequence[Record | None] | None = None) -> list[str]:
    """What is wrong with the entries of a run by themselves, one sentence each: the chain, and what can not be read.

    Args:
        entries: from its first.
        records: `records_of` them, where they were read already.
    """
    problems = verify(entries)
    records = records_of(entries) if records is None else records
    deleted = deleted_before(entries, records)
    for entry, record in zip(entries, records, strict=True):
        if not entry.payload:
            if entry.number >= deleted:
                problems.append(f"entry {entry.number}: its payload was deleted, and no record says so")
        elif record is None and entry.is_sealed and entry.format == FORMAT:
            problems.append(f"entry {entry.number}: its payload is not a record")
    return problems


def deleted_before(entries: Sequence[Entry], records: Sequence[Record | None]) -> int:
    """The number of the last record which says that the payloads before it were deleted; 0 where there is none."""
    numbers = (entry.number for entry, record in zip(entries, records, strict=True) if isinstance(record, Forgotten))
    return max(numbers, default=0)


async def head_lines(journal: Journal) -> AsyncIterator[HeadLine | SignedLine]:
    """The latest head of every run, in the order of their ids, and the ledger."""
    for run_id, entry in await journal.edges("latest"):
        yield HeadLine(run_id, entry.number, entry.head.hex())
    for signed in await journal.heads():
        yield SignedLine(signed.run_id, signed.number, signed.head.hex(), signed.signature.hex())


def read_lines(lines: Iterable[str | bytes]) -> Evidence:
    """What a file of lines holds; empty lines are passed over.

    Raises:
        UsageError: a line is none; the message says which.
    """
    runs: dict[str, list[Entry]] = {}
    heads: list[SignedHead] = []
    ledger: list[SignedHead] = []
    for number, text in enumerate(lines, 1):
        if not text.strip():
            continue
        try:
            line = _decoder.decode(text)
            match line:
                case EntryLine():
                    runs.setdefault(line.run, []).append(_entry(line))
                case RowLine():
                    pass
                case HeadLine():
                    heads.append(SignedHead(line.run, line.number, bytes.fromhex(line.head)))
                case SignedLine():
                    ledger.append(
                        SignedHead(line.run, line.number, bytes.fromhex(line.head), bytes.fromhex(line.signature))
                    )
        except (ValueError, RecursionError) as error:
            raise UsageError("line {number} is no line of an export: {why}", number=number, why=error) from None
    return Evidence(runs=runs, heads=heads, ledger=ledger)


KeptBy = Callable[[Sequence[Record | None]], Mapping[str, int]]
"""The digests of what the records of a run refer to and the journal keeps beside them, with the numbers of the entries
that do."""


def nothing_kept(records: Sequence[Record | None]) -> Mapping[str, int]:
    """What the records of a run refer to beside what `check_journal` knows: nothing."""
    return {}


async def check_journal(
    journal: Journal,
    run_ids: Sequence[str] = (),
    *,
    known: Evidence | None = None,
    key: bytes | None = None,
    pages: KeptBy = nothing_kept,
) -> Report:
    """Check a journal, one run at a time.

    Args:
        journal: the journal.
        run_ids: these runs alone; all of them when it is empty.
        known: heads, a ledger or entries that were exported earlier.
        key: the key that the journal signs with.
        pages: the pages that a run has read; `knowledge.citing.sources.pages_kept` knows them.
    """
    known, ledger = known or Evidence(), await journal.heads()
    lines = await _lines(journal)
    there = list(run_ids) or await _every_run(journal, [*known.heads, *ledger])
    report = Report(signed=len(ledger), by_key=key is not None, problems=_ledger_problems(ledger, known.ledger, key))
    since = None if key is None else await _first_signed(journal, ledger)
    heads, signed = _by_run([*known.heads, *known.ledger]), _by_run(ledger)
    tools: set[str] = set()
    whole: dict[str, str] = {}
    doubtful = []
    for run_id in there:
        entries = await journal.read(run_id)
        records = records_of(entries)
        _check_run(report, run_id, entries, records, heads.get(run_id, []), signed.get(run_id, []))
        if key is not None:
            report.problems += _unsigned(run_id, entries, records, signed.get(run_id, []), since)
        if _against_list(run_id, entries, records, lines.get(run_id)):
            doubtful.append(run_id)
        report.problems += await _bad_secrets(journal, run_id, records)
        kept = {"the value": _values_kept(records), "the page": pages(records)}
        report.problems += await _bad_values(journal, run_id, records, kept, whole)
        labels = await journal.mislabelled(run_id)
        report.problems += [f"run {run_id}: entry {number}: its kind is not that of its record" for number in labels]
        tools |= {record.tools for record in records if isinstance(record, Started | ToolsChanged) and record.tools}
    report.problems += await against_list(journal, doubtful)
    report.problems += await _bad_definitions(journal, tools)
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
        _check_run(report, run_id, entries, records_of(entries), heads.get(run_id, []), signed.get(run_id, []))
    return report


def _check_run(
    report: Report,
    run_id: str,
    entries: Sequence[Entry],
    records: Sequence[Record | None],
    heads: Sequence[SignedHead],
    signed: Sequence[SignedHead],
) -> None:
    """Add to the report what is wrong with a run, by itself and held against its heads."""
    report.problems += [f"run {run_id}: {problem}" for problem in faults(entries, records)]
    against = [against_head(entries, head) for head in [*heads, *signed]]
    report.problems += dict.fromkeys(problem for found in against for problem in found)
    unread = [entry for entry, record in zip(entries, records, strict=True) if record is None and entry.is_sealed]
    report.unread += sum(entry.format != FORMAT for entry in unread)
    report.masked += sum(entry.masked for entry in entries)
    report.runs += 1
    report.entries += len(entries)
    report.heads += len(heads)


async def _bad_secrets(journal: Journal, run_id: str, records: Sequence[Record | None]) -> list[str]:
    """What is wrong with the secret values that were taken out of the records of a run."""
    digests = _hidden_in(records)
    if not digests:
        return []
    intact = await journal.hidden_intact(run_id)
    if not intact.keys() >= digests.keys():  # it may have ended since it was read
        digests = _hidden_in(records_of(await journal.read(run_id)))
    return [
        f"run {run_id}: entry {number}: its secret values were {'changed' if digest in intact else 'deleted'}"
        for digest, number in digests.items()
        if not intact.get(digest)
    ]


def _values_kept(records: Sequence[Record | None]) -> dict[str, int]:
    """The digests of the large values and the definitions of workflows that records refer to, with the numbers of the
    entries.
    """
    found: dict[str, int] = {}
    for number, record in enumerate(records):
        named = [getattr(record, name, "") for name in _KEPT_VALUES]
        found |= {digest: number for digest in named if digest and digest not in found}
    return found


async def _bad_values(
    journal: Journal,
    run_id: str,
    records: Sequence[Record | None],
    kept: Mapping[str, Mapping[str, int]],
    known: dict[str, str],
) -> list[str]:
    """What is wrong with what the journal keeps beside the records of a run.

    Args:
        journal: the journal.
        run_id: the run.
        records: of the run. What a branch shares with another run leaves with the other run, when that is forgotten.
        kept: what is kept, in words: the digests with the numbers of the entries that refer to them.
        known: by digest, what was found before.
    """
    is_branch = bool(records) and isinstance(records[0], Started) and bool(records[0].forked)
    problems: list[str] = []
    for what, wanted in kept.items():
        for digest, number in wanted.items():
            if digest not in known:
                known[digest] = await _damage_of(journal, digest)
            if known[digest] == "changed" or (known[digest] and not is_branch):
                problems.append(
                    f"run {run_id}: entry {number}: {what} that the journal keeps for it was {known[digest]}"
                )
    if problems and isinstance(records_of(await journal.read(run_id))[-1], Forgotten):
        return []  # it was forgotten since it was read
    return problems


async def _damage_of(journal: Journal, digest: str) -> str:
    """What happened to a kept payload: it was changed or deleted; empty where it is whole."""
    try:
        payload = await journal.kept(digest)
    except UnknownName:
        return "deleted"
    except JournalError:  # it is not even bytes
        return "changed"
    return "" if hashlib.sha256(payload).hexdigest() == digest else "changed"


def _hidden_in(records: Sequence[Record | None]) -> dict[str, int]:
    """The digests of the secret values that must be there, with the numbers of their entries: those of a run that has
    ended were deleted.
    """
    found: dict[str, int] = {}
    for number, record in enumerate(records):
        if isinstance(record, Secretive) and record.hidden:
            found[record.hidden] = number
        elif record is not None and ends_secrets(record):
            found.clear()
    return found


def _by_run(heads: Iterable[SignedHead]) -> dict[str, list[SignedHead]]:
    found: dict[str, list[SignedHead]] = {}
    for head in heads:
        found.setdefault(head.run_id, []).append(head)
    return found


async def _lines(journal: Journal) -> dict[str, RunSummary]:
    return {run.run_id: run for run in await journal.runs(limit=None)}


async def _every_run(journal: Journal, heads: Iterable[SignedHead]) -> list[str]:
    return list(dict.fromkeys([*await run_ids(journal), *(head.run_id for head in heads)]))


def _against_list(
    run_id: str, entries: Sequence[Entry], records: Sequence[Record | None], line: RunSummary | None
) -> list[str]:
    """Where the list of runs does not say what the entries do."""
    if line is None:
        return [f"run {run_id}: it is missing in the list of runs"] if entries else []
    if not entries:
        return [f"run {run_id}: it is in the list of runs, and has no entries"]
    by_entries = summary_of(run_id, entries, records)
    if by_entries is None:  # which is a fault of the entries
        return []
    return [
        f"run {run_id}: the list of runs has {name} {shown!r:.80}, its entries say {said!r:.80}"
        for name, shown, said in differences(line, by_entries, records[0])
    ]


def differences(line: RunSummary, by_entries: RunSummary, first: Record | None) -> Iterator[tuple[str, object, object]]:
    """Where a line of the list of runs differs from the one that the entries call for: field and both values.

    Args:
        line: the line.
        by_entries: the line that they call for.
        first: the run's first record. Which of the user's messages in it is the question, no version has to agree on.
    """
    said = [
        message for message in (first.said if isinstance(first, Started) else ()) if isinstance(message, UserMessage)
    ]
    questions = {message.text.replace("\0", "\ufffd") for message in said}  # as a database writes them
    only_in_list = {"agent", "model", "parent", "ended", "kind"} if by_entries.status == "forgotten" else set[str]()
    for name in RunSummary.__struct_fields__:
        shown, expected = getattr(line, name), getattr(by_entries, name)
        is_question = name == "question" and str(shown).replace("\0", "\ufffd") in questions
        if shown != expected and name not in only_in_list and not is_question:
            yield name, shown, expected


async def against_list(journal: Journal, run_ids: Sequence[str]) -> list[str]:
    """What is wrong with the lines of these runs in the list of runs. Each is looked at again while it changes, since
    another process may be writing it.
    """
    problems: list[str] = []
    for _ in range(LOOKS_MAX if run_ids else 0):
        problems, still = [], []
        before = await _lines(journal)
        read = {run_id: await journal.read(run_id) for run_id in run_ids}
        after = await _lines(journal)
        for run_id, entries in read.items():
            records = records_of(entries)
            found = _against_list(run_id, entries, records, after.get(run_id))
            if found and _against_list(run_id, entries, records, before.get(run_id)):
                problems += found
                still.append(run_id)
        if all(before.get(run_id) == after.get(run_id) for run_id in still):
            break
        run_ids = still
    return problems


async def _bad_definitions(journal: Journal, digests: Iterable[str]) -> list[str]:
    problems = []
    for digest in sorted(digests):
        try:
            await kept_tools(journal, digest)
        except JournalError as error:
            problems.append(str(error))
    return problems


def _ledger_problems(ledger: Sequence[SignedHead], known: Sequence[SignedHead], key: bytes | None) -> list[str]:
    """What is wrong with the ledger by itself, and held against an earlier copy."""
    problems = [] if key is None else verify_ledger(ledger, key)
    if len(known) > len(ledger):
        problems.append(f"the ledger was cut: it had {len(known)} signed heads and has {len(ledger)}")
    for place, (then, now) in enumerate(zip(known, ledger, strict=False)):
        if then != now:
            problems.append(f"the ledger was rewritten: signed head {place} is not the one that was exported")
            break
    return problems


async def _first_signed(journal: Journal, ledger: Sequence[SignedHead]) -> float | None:
    """When the journal began to sign; None when that can not be told."""
    for head in ledger[:1]:
        entries = await journal.read(head.run_id, head.number - 1)
        return entries[0].at if entries else None
    return None


def _unsigned(
    run_id: str,
    entries: Sequence[Entry],
    records: Sequence[Record | None],
    heads: Sequence[SignedHead],
    since: float | None,
) -> list[str]:
    """Ends of a run that a journal with a key would have signed, and did not."""
    signed = {head.number for head in heads}
    return [
        f"run {run_id}: its end at entry {entry.number} is not signed: it was written without the key"
        for entry, record in zip(entries, records, strict=True)
        if entry.number not in signed
        and (since is None or entry.at >= since)
        and record is not None
        and signs_head(record)
    ]


def _entry(line: EntryLine) -> Entry:
    payload = bytes.fromhex(line.payload_hex) if line.payload_hex else line.payload.encode()
    return Entry(
        line.number,
        line.at,
        payload,
        bytes.fromhex(line.salt),
        bytes.fromhex(line.digest),
        bytes.fromhex(line.head),
        line.format,
        line.masked,
    )


_decoder: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)
