"""Writes records that hold secret values: the record as it is shown to the journal, the values to a place of their own.

What is secret, and how a record is split, stands in `core.secret_values`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from ..core.call import ToolCall
from ..core.interfaces import Journal
from ..core.run.pending import Pending
from ..core.run.record import CallsRequested, InputGiven, ModelReplied, Record
from ..core.secret_values import Path, Secretive, secret_paths, split_answer, split_calls, split_reply
from .recording import RunState

PathsOf = Callable[[ToolCall], Sequence[Path]]
"""Where the arguments of a call hold secrets."""


def write_reply(journal: Journal, run_id: str, state: RunState, record: ModelReplied, paths_of: PathsOf) -> int:
    """Put a model's reply on record, its secret values apart, and take it into the state of the run.

    Returns:
        The number of its entry.
    """
    parted = split_reply(record.reply, [paths_of(call) for call in record.reply.calls])
    if parted is None:
        return _write(journal, run_id, state, record)
    return _write_apart(journal, run_id, state, msgspec.structs.replace(record, reply=parted[0]), record, parted[1])


def write_request(journal: Journal, run_id: str, state: RunState, record: CallsRequested, paths_of: PathsOf) -> int:
    """The same for calls that were asked for directly."""
    parted = split_calls(record.calls, [paths_of(call) for call in record.calls])
    if parted is None:
        return _write(journal, run_id, state, record)
    return _write_apart(journal, run_id, state, msgspec.structs.replace(record, calls=parted[0]), record, parted[1])


def write_answer(journal: Journal, run_id: str, state: RunState, record: InputGiven) -> int:
    """The same for an answer: the arguments that a person put in the place of a call's own, or a form filled in."""
    asked = state.question(record.id)
    paths = paths_of_answer(asked.pending) if asked is not None and record.arguments else ()
    parted = split_answer(record.arguments, paths) if record.arguments else None
    if parted is None:
        return _write(journal, run_id, state, record)
    shown = msgspec.structs.replace(record, arguments=parted[0])
    return _write_apart(journal, run_id, state, shown, record, parted[1])


async def words_of(journal: Journal, run_id: str, records: Iterable[Record]) -> Mapping[str, bytes]:
    """The secret values that were taken out of records of a run; none where the run has ended."""
    held = any(isinstance(record, Secretive) and record.hidden for record in records)
    return await journal.hidden(run_id) if held else {}


def copied(journal: Journal, run_id: str, record: Record, words: Mapping[str, bytes]) -> Record:
    """A record of another run as it is to be written to a run that branches off, with secret values of its own.

    Args:
        journal: the journal.
        run_id: the new run.
        record: a record of the other run.
        words: the secret values of the other run.
    """
    if not isinstance(record, Secretive) or not record.hidden:
        return record
    taken = words.get(record.hidden)
    return msgspec.structs.replace(record, hidden="" if taken is None else journal.hide(run_id, taken))


def paths_of_answer(pending: Pending) -> Sequence[Path]:
    """Where the arguments of an answer hold secrets."""
    if pending.kind == "elicitation" and pending.schema is not None:
        return secret_paths(pending.schema)
    return pending.secrets


def _write(journal: Journal, run_id: str, state: RunState, record: Secretive) -> int:
    number = journal.append(run_id, record)
    state.take(number, record)
    return number


def _write_apart(
    journal: Journal, run_id: str, state: RunState, shown: Secretive, whole: Secretive, words: bytes
) -> int:
    digest = journal.hide(run_id, words)
    shown = msgspec.structs.replace(shown, hidden=digest)
    number = journal.append(run_id, shown)
    state.take_apart(number, shown, msgspec.structs.replace(whole, hidden=digest))
    return number
