"""A run that a call of another run begins: what it takes over from there.

Either an agent or a workflow is the tool that is called, or the code of a tool begins a run itself (`core.under_way`).
For both the policies and limits above hold. The run acts for the same user, and is in the same trace and journal. A
call that is made again goes on with the run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from ..call.asking.inbox import records_of
from ..core.errors import InDoubt
from ..core.event import ChildEvent, Event, RunResult
from ..core.interfaces import Context, InputRequired, Journal
from ..core.json import JsonObject
from ..core.message import Message, UserMessage
from ..core.policy import Answer
from ..core.run.ids import child_id, new_id
from ..core.run.record import InputGiven, InputRequested, Started
from ..journal.recording import RunState
from .options import Emit, Options, RunOptions
from .recorded import checked_id

_Said = TypeVar("_Said", bound=Message)
Result = TypeVar("Result", bound=RunResult[Any])
"""Of a run, whatever its output is."""


def on_behalf(given: Options, above: Context | None) -> Options:
    """The options of a run with the user for whom the run acts: whom its beginning names, else the user of the call
    that begins it.

    Args:
        given: what was said where the run is begun.
        above: the call; None where no call begins the run.
    """
    if above is None or (given.tenant and given.tenant != above.tenant):
        return given
    if given.principal and given.principal != above.principal:
        return msgspec.structs.replace(given, tenant=above.tenant)
    return msgspec.structs.replace(
        given,
        principal=above.principal,
        tenant=above.tenant,
        roles=given.roles or above.roles,
        key_id=given.key_id or above.key_id,
    )


def acts_for(options: RunOptions) -> JsonObject:
    """For whom a run acts, as it is part of the run's id; see `id_below`."""
    return {
        "principal": options.principal,
        "tenant": options.tenant,
        "roles": list(options.roles),
        "key_id": options.key_id,
    }


def below(started: Started, above: Context) -> Started:
    """The first record of a run that a call begins."""
    lineage = above.ancestors
    return msgspec.structs.replace(
        started,
        outside=tuple(dict.fromkeys((*(started.outside or ()), *(lineage[-1].facts().outside if lineage else ())))),
        labels_seen=tuple(
            dict.fromkeys((*started.labels_seen, *above.labels_seen, *(lineage[-1].labels_seen() if lineage else ())))
        ),
        parent=above.run_id,
        bound=tuple(each.agent for each in above.ancestors if each.policy is not None),
        trace=started.trace or above.traceparent,
    )


def forked(started: Started, above: Context | None) -> Started:
    """The first record of a run that branches off from another, which may have had a parent of its own.

    Args:
        started: the record; its parent is the other run's.
        above: the call whose code branches off; None where the run stands on its own.
    """
    alone = msgspec.structs.replace(started, parent="", bound=())
    return alone if above is None else below(msgspec.structs.replace(alone, trace=""), above)


def id_of_fork(given: str | None, above: Context | None, *words: object) -> str:
    """The id of a run that branches off: the given one, else a new one, and within a call the same when the call is
    made again.

    Args:
        given: what the caller wants it to be called.
        above: the call whose code branches off; None where there is none.
        words: what the run is branched off with.
    """
    if given is not None:
        return checked_id(given)
    return new_id("run") if above is None else id_below(above, "fork", *words)


def said_by(question: str | UserMessage, above: Context | None) -> UserMessage:
    """Another question of a user, or of the code of a call."""
    said = UserMessage.of(question)
    return said if above is None else _from_agent(said)


def from_agent(said: Sequence[Message]) -> tuple[Message, ...]:
    """Messages that the code of a call gives to a run below, in the place of the user's words. The code may have them
    from a model, so that they are no origin of values.
    """
    return tuple(map(_from_agent, said))


def _from_agent(said: _Said) -> _Said:
    if isinstance(said, UserMessage) and said.source == "user":
        return msgspec.structs.replace(said, source="agent")
    return said


def id_below(above: Context, *words: object) -> str:
    """The id of a run that the code of a call begins: the same when the call is made again, so that the run is found
    which was begun. The same words once more, in one attempt, are another run.

    Args:
        above: the call.
        words: what the run is begun with.
    """
    digest = hashlib.sha256(above.key.encode() + msgspec.json.encode(words)).hexdigest()
    times = above.begun[digest] = above.begun.get(digest, 0) + 1
    return child_id(hashlib.sha256(f"{digest} {times}".encode()).hexdigest())


def handed_down(answers: Mapping[str, InputGiven], state: RunState) -> list[InputGiven]:
    """What a run waits for and the run that it works for was told."""
    waiting = {asked.id for asked in state.waiting()}
    return [
        msgspec.structs.replace(answer, elapsed=state.elapsed, met=True)
        for ask_id, answer in answers.items()
        if ask_id in waiting
    ]


def answers_of(
    state: RunState, *, answers: Mapping[str, str | Answer], above: Context | None, is_shared: bool
) -> list[InputGiven]:
    """What a run is told that is gone on with: by the program, and by the call that the run works for.

    Args:
        state: of the run.
        answers: what the program says.
        above: the call whose code goes on with the run; None where there is none.
        is_shared: others may have answered meanwhile; see `Journal.is_shared`.
    """
    given = records_of(state, answers, is_shared=is_shared)
    if above is None or state.beginning().parent != above.run_id:
        return given
    known = {answer.id for answer in given}
    return [*given, *(each for each in handed_down(above.answers, state) if each.id not in known)]


async def is_begun(run_id: str, journal: Journal, above: Context) -> bool:
    """Whether an earlier attempt at a call began this run."""
    return above.attempt > 1 and await is_below(run_id, journal, above)


async def is_below(run_id: str, journal: Journal, above: Context) -> bool:
    """Whether a run works for the run of this call."""
    entries = (await journal.read(run_id))[:1]
    return bool(entries and entries[0].payload) and RunState(entries).beginning().parent == above.run_id


def telling_above(emit: Emit | None, above: Context | None, agent: str, run_id: str) -> Emit | None:
    """Tells an event of a run to those who watch the run, and to those who watch the run above; None for nobody.

    Args:
        emit: is told the events of the run; None where nobody watches.
        above: the call that the run works for; None where the run stands on its own.
        agent: the name of the run's agent.
        run_id: the run.
    """
    if above is None or above.emit is None:
        return emit
    tell, call = above.emit, above.call.id

    def both(event: Event) -> None:
        if emit is not None:
            emit(event)
        tell(ChildEvent(call, agent, run_id, event))

    return both


def told_above(result: RunResult) -> None:
    """A run that works for another waits by that one: nobody would see its question, or could go on with it alone.

    Raises:
        InputRequired: the run waits.
    """
    if result.status == "paused":
        raise InputRequired(result.pending[0], result.run_id)


async def seen_above(result: Result, journal: Journal, above: Context | None) -> Result:
    """How a run stands that was gone on with, for the code that did so.

    Raises:
        InputRequired: the run works for the run of this call, and waits.
    """
    if above is not None and await is_below(result.run_id, journal, above):
        told_above(result)
    return result


async def check_not_begun(run_id: str, agent: str, own: Journal, above: Context) -> None:
    """A run of an agent that is not in the journal of the call above was not begun before. Earlier versions wrote such
    runs to the agent's own journal: to begin such a run anew could do everything a second time.

    Args:
        run_id: the run.
        agent: the name of the agent.
        own: the agent's own journal.
        above: the call, which belongs to a run.

    Raises:
        InDoubt: the run was begun.
    """
    journal = above.journal
    assert journal is not None
    records = [entry.record for entry in await journal.read(above.run_id)]
    asked = any(isinstance(record, InputRequested) and record.run == run_id for record in records)
    if asked or (own is not journal and await own.read(run_id)):
        raise InDoubt(
            "The agent {name!r} had begun this task, and what it did is not in this journal. It "
            "may have done all of it or a part; it was not begun anew.",
            name=agent,
        )
