"""What lists tell of a run: the fold of its record into one line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, get_args

import msgspec
from msgspec import Struct

from ..errors import JournalError
from .pending import Pending

if TYPE_CHECKING:
    from typing_extensions import TypeIs
from .record import CallsRequested, Ended, Entry, Forgotten, InputGiven, InputRequested, Record, Started


class RunSummary(Struct, frozen=True, kw_only=True, gc=False):
    """A run in a list of runs: an index of the journal, written with it.

    Attributes:
        status: `running`, `waiting` for a person, as it ended: `done`, `paused`, `stopped`, `failed`; or `forgotten`.
            What lists runs may also say `interrupted` or `unreadable`; neither is ever written.
        started, ended: seconds since 1970; `ended` is None while it has not.
        question: the user's words; of calls that were asked for directly, the calls.
        model: empty where no model took part.
        conversation, owner: the conversation is named by both, and by the tenant; see `Started`.
        tenant: as in `Started`; it stays when the run is forgotten.
        kind: what began it: `agent` where a model took part, `call` where calls were asked for directly,
            `workflow` where a workflow is carried out, `administration` for the act of an administrator.
    """

    run_id: str
    status: str
    started: float
    ended: float | None
    agent: str
    model: str
    question: str
    conversation: str = ""
    parent: str = ""
    principal: str = ""
    owner: str = ""
    tenant: str = ""
    kind: str = ""


Telling = Started | CallsRequested | Ended | InputRequested | InputGiven | Forgotten
"""The records that change a run's line in the list of runs."""


_TELLING = frozenset(get_args(Telling))


def is_telling(record: Record) -> TypeIs[Telling]:
    """Whether a record changes its run's line in the list of runs. Quicker than `isinstance` with a union."""
    return type(record) in _TELLING


def summarize(run_id: str, before: RunSummary | None, record: Telling, at: float) -> RunSummary:
    """The line of a run in the list of runs after one more record: how every journal keeps its index."""
    match record:
        case Started():
            return RunSummary(
                run_id=run_id,
                status="running",
                started=at,
                ended=None,
                agent=record.agent,
                model=record.model,
                question=record.question,
                conversation="" if record.parent else record.conversation,  # a run that works for a turn is no turn
                parent=record.parent,
                principal=record.principal,
                owner=record.belongs_to,
                tenant=record.tenant,
                kind="workflow" if record.workflow else "agent" if record.model else "call",
            )
        case _ if before is None:
            raise JournalError(
                "run {run} is not in the list of runs: it was never started, or its line was deleted", run=run_id
            )
        case CallsRequested():
            kind = "administration" if record.by == "administrator" else before.kind
            return msgspec.structs.replace(before, question=before.question or record.title, kind=kind)
        case Ended():
            return msgspec.structs.replace(
                before, status=record.status, ended=None if record.status == "paused" else at
            )
        case InputRequested():
            return msgspec.structs.replace(before, status="waiting")
        case InputGiven():
            return msgspec.structs.replace(before, status="running", ended=None)
        case Forgotten():
            return msgspec.structs.replace(
                before, status="forgotten", question="", principal="", conversation="", owner="", tenant=record.tenant
            )


class ConversationSummary(Struct, frozen=True, kw_only=True, gc=False):
    """A conversation in a list of conversations: an index of the journal, as `RunSummary` is.

    Attributes:
        runs: how many turns it has.
        first: its first turn.
        latest: its latest turn, which names the conversation by tenant, owner and id.
    """

    runs: int
    first: RunSummary
    latest: RunSummary


class OpenQuestion(Struct, frozen=True, gc=False):
    """Something that a run waits for, in a list of what waits: an index of the journal.

    Attributes:
        run_id: the run, which works for no other run.
        ask_id: what the answer is given under.
        at: when it was asked, in seconds since 1970.
        needs: how many persons have to agree.
        expires: as in `Pending`.
    """

    run_id: str
    ask_id: str
    at: float
    needs: int = 1
    expires: float = 0.0


def persons_needed(asked: Pending) -> int:
    """How many persons may have to agree, at most."""
    return sum(quorum.needs for quorum in asked.quorums) or asked.needs


def may_wait_on(given: InputGiven, needs: int) -> bool:
    """Whether what was asked may still wait after this answer: others have to agree as well."""
    return given.verdict == "approve" and needs > 1 and not given.met


def nothing_waits(record: Record) -> bool:
    """Whether nothing of a run waits after this record, whatever comes later."""
    return isinstance(record, Forgotten) or (isinstance(record, Ended) and record.status == "done")


OVER = ("done", "stopped", "failed", "forgotten")
"""The status of a run for which nobody is waited."""


def records_of(entries: Iterable[Entry]) -> list[Record | None]:
    """The records of entries; None in the place of each that was deleted or can not be read."""
    records: list[Record | None] = []
    for entry in entries:
        try:
            records.append(entry.record)
        except JournalError:
            records.append(None)
    return records


def summary_of(
    run_id: str, entries: Sequence[Entry], records: Sequence[Record | None] | None = None
) -> RunSummary | None:
    """The line of a run in the list of runs, as its entries say that it must be.

    Args:
        run_id: the run.
        entries: from its first.
        records: `records_of` them, where they were read already.

    Returns:
        The line. Where the run was forgotten, its agent, model, parent and end are empty, since only the list of runs
        still has them. None where there are no entries, or one of them can not be read.
    """
    if not entries:
        return None
    at = entries[0].at
    line = RunSummary(run_id=run_id, status="", started=at, ended=None, agent="", model="", question="")
    unread = False
    for entry, record in zip(entries, records_of(entries) if records is None else records, strict=True):
        if record is None:
            unread = True
        elif is_telling(record):
            line = summarize(run_id, line, record, entry.at)
            unread = unread and not isinstance(record, Forgotten)
    return None if unread else line
