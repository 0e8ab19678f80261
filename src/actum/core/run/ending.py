"""What a record says of the end of its run, and what may stand behind the end.

A run that is over can still be noted about: somebody rates its answer. Such a record (`Noted.after_end`) changes
nothing of how the run stands, so the latest record that counts is found by `last_entry`.
"""

from __future__ import annotations

from collections.abc import Sequence

from .record import Ended, Entry, Forgotten, Noted, Record, TaskEnded


def is_afterword(record: Record) -> bool:
    """Whether a record was noted of a run that was over, and changes nothing of how the run stands."""
    return isinstance(record, Noted) and record.after_end


def is_last(record: Record) -> bool:
    """Whether a run whose latest record is this one has ended, with its task where the run is one, or is forgotten."""
    return ends_secrets(record) or is_afterword(record)


def ends_secrets(record: Record) -> bool:
    """Whether the secret values of a run are deleted with this record: the run has ended, or is forgotten. Those of a
    task are kept from one attempt to the next, until the task has ended.
    """
    return (isinstance(record, Ended) and record.status != "paused") or isinstance(record, Forgotten | TaskEnded)


def signs_head(record: Record) -> bool:
    """Whether a journal with a key signs the head of the run with this record."""
    return isinstance(record, Ended | Forgotten) or is_afterword(record)


def last_entry(entries: Sequence[Entry]) -> Entry:
    """The latest entry that says how a run stands.

    Args:
        entries: of the run, from its first or from a later one; at least one.

    Returns:
        The entry; where all entries are afterwords, the last of them.

    Raises:
        JournalError: an entry can not be read.
    """
    return next((entry for entry in reversed(entries) if not is_afterword(entry.record)), entries[-1])
