"""Whether a conversation was clean before a run begins: a fold of what stands on record of the runs before it.

The first record of each run says what had brought foreign text by then (`Started.outside`). So a summary, a window of
the latest runs, a branch or words that were forgotten make no conversation clean again. See `policy.outside`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..core.interfaces import Journal
from ..core.message import Message
from ..core.user import User
from ..journal.recording import RunState
from ..policy.labels import Label, seen_by
from ..policy.outside import EARLIER, OutsideText, ToolNamed, brought_by
from ..runs.recorded import sound


def no_tool(name: str) -> None:
    """Knows no tool, so that each result that an older version recorded counts as foreign."""


def outside_of(state: RunState) -> tuple[str, ...]:
    """What had brought foreign text to a run, as it stands on record."""
    started = state.beginning()
    is_below = bool(started.parent)
    said: list[Message] = [*started.said, *(word for answer in state.answers.values() for word in answer.said)]
    told = [brought_by(message, no_tool, is_below=is_below) for message in said]
    return tuple(dict.fromkeys(name for name in (*(started.outside or ()), *told, *state.outside) if name))


async def outside_before(
    journal: Journal, run_id: str, seen: int, owner: User, told: Sequence[Message], tool_named: ToolNamed, window: int
) -> tuple[str, ...]:
    """What had brought foreign text to a conversation, up to one of its runs.

    Args:
        journal: where its runs are.
        run_id: the latest run that counts.
        seen: how many of its entries count.
        owner: whose conversation it is.
        told: what a model is told of the conversation.
        tool_named: gives the tools of the run that is going to begin, for records of an older version.
        window: the number of latest runs that are told; 0 for all.
    """
    names: dict[str, None] = {}
    while run_id:
        entries = sound(run_id, await journal.read(run_id))[:seen]
        if entries and not entries[0].payload:
            return (*names, EARLIER)  # forgotten, and nobody knows what was said there
        state = RunState(entries)
        started = state.beginning()
        if started.owning_user == owner:
            names.update(dict.fromkeys(outside_of(state)))
            if started.outside is None:
                return (*names, *_of_old(told, tool_named, is_cut=window > 0 or bool(started.workflow)))
            if not started.workflow:
                return tuple(names)
        run_id, seen = started.previous, started.seen  # a run of a workflow does not say what was before it
    return tuple(names)


async def labels_seen_before(
    journal: Journal, run_id: str, seen: int, owner: User, labels: Mapping[str, Label]
) -> tuple[str, ...]:
    """The labels of values that models had seen in a conversation, up to one of its runs.

    Args:
        journal, run_id, seen, owner: as for `outside_before`.
        labels: what the labels mean: which models see the values.
    """
    found: dict[str, None] = {}
    while run_id and labels:
        entries = sound(run_id, await journal.read(run_id))[:seen]
        if not entries or not entries[0].payload:
            return tuple(dict.fromkeys((*found, *labels)))  # forgotten, and nobody knows what was seen there
        state = RunState(entries)
        started = state.beginning()
        if started.owning_user == owner:
            seen_here = [*state.labels_seen]  # a run of a workflow may pass on any value
            if seen_here and not started.workflow:
                seen_here = seen_by(labels, started.model, state.results())
            found |= dict.fromkeys((*started.labels_seen, *seen_here))
            if not started.workflow:
                break
        run_id, seen = started.previous, started.seen
    return tuple(found)


def _of_old(told: Sequence[Message], tool_named: ToolNamed, *, is_cut: bool) -> tuple[str, ...]:
    """What brought foreign text by what is told of runs that an older version recorded."""
    found = OutsideText(told, tool_named, before=None).names()
    return (*found, EARLIER) if is_cut else found
