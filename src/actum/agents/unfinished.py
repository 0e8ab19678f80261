"""Calls that had no outcome when their conversation went on: their state, and the news when the state changes.

A run can wait for a person while the conversation goes on with another run. What the model was told then is never
changed afterwards, since replay and the caches of providers rest on it. The next run after the change begins with a
message that says what became of the call; the message is in `Started.said`, and the calls that are still open are in
`Started.unfinished`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence

from msgspec import Struct

from ..core.call import TextPart, ToolCall
from ..core.interfaces import Journal
from ..core.message import UserMessage
from ..core.run.chain import verify
from ..core.run.ending import last_entry
from ..core.run.record import Ended, Entry, Standing, Unfinished
from ..journal.recording import CallRef, RunState
from ..policy.outside import EARLIER
from ..runs.wording import Phrases
from .cleanness import outside_of

log = logging.getLogger("actum.journal")

FOLLOWED_MAX = 32
"""The most runs without an end that are followed, beside those that have open calls. Each is read anew when a turn
begins.
"""
_FINAL = frozenset({"denied", "expired"})
"""A call in one of these states is never made."""


class News(Struct, frozen=True):
    """What the model is told of earlier runs.

    Attributes:
        said: the message, where there is anything to tell.
        unfinished: the runs that have not come to their end yet.
        outside: what had brought foreign text to the earlier runs that the message tells of; see `cleanness`.
    """

    said: tuple[UserMessage, ...] = ()
    unfinished: tuple[Unfinished, ...] = ()
    outside: tuple[str, ...] = ()


def standing(recording: RunState, place: CallRef, now: float = 0.0) -> Standing:
    """How a call stands that has no outcome.

    Args:
        now: seconds since 1970, to tell an approval that did not come in time; 0 where time does not count.
    """
    approval = recording.asked(place)
    if now:
        now = max(now, recording.latest)  # the wall clock may have been set back
    late = approval is not None and 0 < approval.pending.expires < now
    waiting = [asked for asked in recording.waiting() if (asked.cause, asked.index) == (place.cause, place.index)]
    if waiting:
        if late and approval in waiting:
            return "expired"
        return "doubt" if all(asked.kind == "doubt" and not asked.run for asked in waiting) else "waiting"
    if recording.in_doubt(place):
        return "answered" if recording.was_asked(place) else "doubt"
    answer = recording.answers.get(approval.id) if approval is not None else None
    if answer is not None and answer.expired:
        return "expired"
    if answer is not None:
        return "denied" if answer.verdict == "deny" else "expired" if late else "approved"
    return "answered" if recording.parked(place) is not None else "unmade"


def unfinished(run_id: str, entries: Sequence[Entry], seen: int) -> tuple[Unfinished, ...]:
    """The runs of a conversation that have not come to their end, as far as the conversation was told of them.

    Args:
        run_id: the latest run of the conversation.
        entries: all its entries.
        seen: how many of its entries count.
    """
    if not (entries and entries[0].payload):
        return ()
    recording, last = RunState(entries[:seen]), last_entry(entries[:seen]).record
    started = recording.beginning()
    if started.compacts or (isinstance(last, Ended) and last.status == "done"):
        return started.unfinished
    open_calls = {
        place.name: standing(recording, place) for place, _ in _calls(recording) if recording.outcome(place) is None
    }
    latest = Unfinished(run_id, seen, open_calls, seen == len(entries) or isinstance(last, Ended))
    return (*started.unfinished, latest)


async def news(journal: Journal, before: Sequence[Unfinished], now: float, wording: Phrases) -> News:
    """What became of earlier runs since the conversation was last told of them.

    Args:
        before: the runs, and what was told of each.
        now: seconds since 1970.
        wording: in which language the model is told.
    """
    texts: list[str] = []
    left: list[Unfinished] = []
    outside: dict[str, None] = {}
    for known in before:
        entries = await journal.read(known.run)
        if not entries or not entries[0].payload:
            continue  # forgotten, and nothing is told of it any more
        if problems := verify(entries):
            log.warning("run %s: what became of its calls is not told, since %s", known.run, problems[0])
            left.append(known)
            continue
        recording = RunState(entries)
        lines, calls = _changes(recording, known, now, wording)
        done = _is_done(recording)
        if done and known.follows and recording.ended is not None and recording.ended.text:
            lines.append(wording.turn_answered(recording.ended.text))
        texts += lines
        if lines:
            outside.update(
                dict.fromkeys(
                    (*outside_of(recording), *(() if recording.beginning().outside is not None else (EARLIER,)))
                )
            )
        if not done and (known.follows or calls):
            left.append(Unfinished(known.run, len(entries), calls, known.follows))
    said = (UserMessage((TextPart(wording.news(texts)),), "memory"),) if texts else ()
    return News(said, _bounded(left), tuple(outside))


def _changes(
    recording: RunState, known: Unfinished, now: float, wording: Phrases
) -> tuple[list[str], dict[str, Standing]]:
    """A line for each call that stands otherwise than it was told, and the calls that are still open."""
    lines: list[str] = []
    calls: dict[str, Standing] = {}
    for place, call in _calls(recording):
        told = known.calls.get(place.name)
        if told is None and not (known.follows and place.cause >= known.told):
            continue
        outcome = recording.outcome(place)
        if outcome is not None:
            lines.append(wording.call_ended(call, outcome[0], recording.cut.get(place)))
            continue
        how = standing(recording, place, now)
        if how != told:
            lines.append(wording.call_stands(call, how))
        if how not in _FINAL:
            calls[place.name] = how
    return lines, calls


def _bounded(left: Sequence[Unfinished]) -> tuple[Unfinished, ...]:
    """All runs with open calls, and the latest of the others."""
    silent = [each for each in left if not each.calls]
    dropped = {each.run for each in silent[:-FOLLOWED_MAX]}
    return tuple(each for each in left if each.run not in dropped)


def _calls(recording: RunState) -> Iterator[tuple[CallRef, ToolCall]]:
    for number, replied in recording.replies:
        for index, call in enumerate(replied.reply.calls):
            yield CallRef(number, index), call


def _is_done(recording: RunState) -> bool:
    return recording.ended is not None and recording.ended.status == "done"
