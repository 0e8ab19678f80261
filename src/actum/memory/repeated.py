"""Answers that may repeat what their user had forgotten: they are found and shown no more.

A model is told the turns before in its conversation, and what the run recalls. So the answer is left out of a turn
whose model was told something that was forgotten since, or an answer that is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import structs

from ..core.interfaces import Journal
from ..core.stored.word_index import Space
from ..core.stores import Transaction
from ..core.user import User
from .feature import FEATURE, take_into_use
from .notes import has_forgotten, out_of
from .recall import RecordedTurn, read_turns

RUNS_LOOKED_AT = 1_000
"""Where a turn rests on more runs than this, its answer is left out unread."""


async def without_repeated(
    journal: Journal, user: User, turns: Mapping[str, RecordedTurn]
) -> Mapping[str, RecordedTurn]:
    """Turns as they may be shown: without the answers that may repeat something forgotten.

    Args:
        journal: has the runs on which the turns rest.
        user: whose turns.
        turns: the turns by their runs.

    Raises:
        JournalError: the memory or a run can not be read.
    """
    spaces = {Space(user.principal, turn.started.space) for turn in turns.values()}
    stores = await take_into_use(journal)

    def look(transaction: Transaction) -> list[Space]:
        return [space for space in spaces if has_forgotten(transaction, space)]

    forgetting = await stores.read(user.tenant, look, caught_up=FEATURE.name, principal=user.principal)
    if not forgetting:
        return turns
    runs, left = await _rests_on(journal, user, turns)
    names = [*runs, *{name for turn in runs.values() for name in turn.told}]

    def find_out(transaction: Transaction) -> set[str]:
        return {name for space in forgetting for name in out_of(transaction, space, names)}

    out = await stores.read(user.tenant, find_out, caught_up=FEATURE.name, principal=user.principal)
    repeated = _repeated(runs, out | left)
    hidden = {name: structs.replace(turns[name], answered="", repeats=True) for name in turns if name in repeated}
    return {**turns, **hidden}


async def _rests_on(
    journal: Journal, user: User, turns: Mapping[str, RecordedTurn]
) -> tuple[dict[str, RecordedTurn], set[str]]:
    """Some turns and all runs whose answers their models were told; and the names of those that were not looked at."""
    runs, looked = dict(turns), set(turns)
    wanted = _answers_told(turns.values()) - looked
    while wanted and len(looked) < RUNS_LOOKED_AT:
        looked |= wanted
        found = await read_turns(journal, user, sorted(wanted))
        runs |= found
        wanted = _answers_told(found.values()) - looked
    return runs, wanted


def _answers_told(turns: Iterable[RecordedTurn]) -> set[str]:
    return {name for turn in turns for name in turn.answers_told}


def _repeated(runs: Mapping[str, RecordedTurn], out: set[str]) -> set[str]:
    """The runs whose models were told something forgotten, or the answer of such a run."""
    repeated = {name for name, turn in runs.items() if not out.isdisjoint(turn.told)}
    while more := {
        name for name, turn in runs.items() if name not in repeated and not repeated.isdisjoint(turn.answers_told)
    }:
        repeated |= more
    return repeated
