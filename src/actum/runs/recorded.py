"""What has to hold of a run that is on record, and of what a program says of a run, before anything is done."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from ..core.errors import FeatureMissing, JournalError, UnknownName, UsageError
from ..core.interfaces import Journal
from ..core.json import JsonObject, whole_text
from ..core.run.chain import verify
from ..core.run.record import Ended, Entry, Intended, Started
from ..core.tool import Tool, brought_by_client
from ..journal.recording import RunState

_RUN_ID = re.compile(r"[\w.:-]{1,128}")


def is_run_id(text: str) -> bool:
    """Whether a text can be the id of a run."""
    return _RUN_ID.fullmatch(text) is not None


def checked_id(run_id: str) -> str:
    """A run's id, if it can be one.

    Raises:
        UsageError: it can not.
    """
    if not isinstance(run_id, str) or not is_run_id(run_id):
        raise UsageError("run_id={id!r}: use 1 to 128 letters, digits, '_', '-', '.' or ':'", id=run_id)
    return run_id


def checked_text(name: str, value: str) -> str:
    """A text that the program gave, if it is a text.

    Raises:
        UsageError: it is not.
    """
    if not isinstance(value, str):
        raise UsageError("{name}={value!r}: give a text", name=name, value=value)
    return whole_text(value)


def checked_roles(roles: Sequence[str]) -> tuple[str, ...]:
    """Roles that the program gave, if they are a list of texts.

    Raises:
        UsageError: they are not.
    """
    if isinstance(roles, str):
        raise UsageError("roles={roles!r}: give a list of texts", roles=roles)
    return tuple(checked_text("roles", role) for role in roles)


def unknown_run(run_id: str) -> UnknownName:
    """The error for a run that does not exist, or that belongs to another user: the two can not be told apart."""
    return UnknownName("there is no run {wanted!r} in this journal", wanted=run_id)


def sound(run_id: str, entries: list[Entry]) -> list[Entry]:
    """The entries of a run, if they are as they were written.

    Raises:
        JournalError: one was changed or is missing; what was changed is not acted upon.
    """
    problems = verify(entries)
    if problems:
        raise JournalError("run {run} can not be gone on with: {why}", run=run_id, why=problems[0])
    return entries


async def done_after(journal: Journal, started: Started) -> frozenset[str]:
    """The tools that the run which this one branched off from began to use after that point, and the run that that one
    branched off from, and so on.
    """
    used: set[str] = set()
    at = started.fork_at
    while run_id := started.forked:
        entries = await journal.read(run_id)
        try:
            records = [entry.record for entry in entries[at + 1 :]]
            started = RunState(entries[:1]).beginning()
        except JournalError:
            raise JournalError(
                "what run {run} did after the branch was deleted, and can not be told", run=run_id
            ) from None
        used.update(record.tool for record in records if isinstance(record, Intended))
        at = min(at, started.fork_at)  # up to here the three are the same
    return frozenset(used)


def check_bound(run_id: str, started: Started, *, above: str) -> None:
    """A run that policies from above bind goes on only under them.

    Args:
        run_id, started: the run.
        above: the run whose call goes on with it; empty where there is none.

    Raises:
        UsageError: another run is above than the one that started it, or none: it would go on without the policies.
    """
    if started.bound and above != started.parent:
        raise UsageError(
            "run {run!r} is bound by the policy of {bound}, which only the run that started it "
            "knows: resume {parent!r}",
            run=run_id,
            bound=", ".join(map(repr, started.bound)),
            parent=started.parent,
        )


def check_needed(run_id: str, state: RunState, journal: Journal) -> None:
    """A run goes on only where the records of features can be read that the run needs.

    Args:
        run_id, state: the run.
        journal: knows the features of this process.

    Raises:
        FeatureMissing: one of them can not be read here.
    """
    for noted in state.needed:
        if why := journal.record_kinds.missing(noted):
            raise FeatureMissing(
                "run {run} needs its record {title} to go on, which is not read here: {why}",
                run=run_id,
                title=noted.title,
                why=why,
            )


async def outputs_of(journal: Journal, ended: Ended | None) -> JsonObject | None:
    """What a workflow gave; None where nothing is on record.

    Args:
        journal: which keeps large outputs.
        ended: how the run ended; None where it has not.
    """
    if ended is None or not ended.outputs_kept:
        return ended.outputs if ended is not None else None
    found: JsonObject = msgspec.json.decode(await journal.kept(ended.outputs_kept), type=dict)
    return found


async def client_tools_of(journal: Journal, run_id: str, otherwise: tuple[Tool, ...]) -> tuple[Tool, ...]:
    """The tools that a client of a server brought for a run; `otherwise` where the run can not be read."""
    begun = (await journal.read(checked_id(run_id)))[:1]
    try:
        return brought_by_client(RunState(begun).beginning().client_tools)
    except JournalError:  # told when the run is taken up
        return otherwise
