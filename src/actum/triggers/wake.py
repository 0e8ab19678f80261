"""`WaitingNodes`: wakes the `wait` nodes of workflows that wait for a token. Each of them is woken by one event.

Which nodes an event wakes is written down before the first is woken: told again, the event wakes what is left of these
and no later one. Which event wakes a node is written down, too: of two events that come at once, one wakes the node,
and the other hears that nothing waits.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress

from ..call.asking.inbox import answer_in_run, page_of_waiting
from ..core.errors import JournalError, UnknownName
from ..core.interfaces import Journal
from ..core.policy import Answer
from ..core.stored.position import Positions

PAGE = 100
"""How many questions are read at a time in the search for those that wait for an event."""
WOKEN_MAX = 1_000
"""The most nodes that one event wakes."""


class WaitingNodes:
    """The nodes that wait in a journal.

    Args:
        journal: where the runs are on record.
        positions: where it is written down which event wakes which node.
        go_on: goes on with a run that waits for nothing more, by its id and its tenant.
    """

    def __init__(self, journal: Journal, positions: Positions, go_on: Callable[[str, str], Awaitable[None]]) -> None:
        self._journal = journal
        self._positions = positions
        self._go_on = go_on

    async def planned(self, key: str) -> list[tuple[str, str]] | None:
        """What an event wakes that was told before; None for one that was not.

        Args:
            key: of the event.
        """
        known = await self._positions.find(key)
        return None if known is None else _read(known)

    async def plan(self, key: str, found: list[tuple[str, str]]) -> list[tuple[str, str]]:
        """Write down what an event wakes, unless that is written down already; returns what is written down."""
        if await self._positions.move(key, None, "\n".join(f"{run_id} {ask_id}" for run_id, ask_id in found)):
            return found
        return _read(await self._positions.find(key) or "")

    async def find(self, tenant: str, token: str) -> list[tuple[str, str]]:
        """The runs of a tenant that wait for a token, each with the id of its question.

        Raises:
            UnknownName: none does.
        """
        found: list[tuple[str, str]] = []
        cursor = ""
        while token and len(found) < WOKEN_MAX:
            page = await page_of_waiting(self._journal, limit=PAGE, cursor=cursor, tenant=tenant)
            for item in page.items:
                pending = item.asked.pending
                if pending.kind == "result" and pending.call is None and pending.name == token:
                    found.append((item.run.run_id, item.asked.id))
            cursor = page.next
            if not cursor:
                break
        if not found:
            raise nothing_waits(token)
        return found[:WOKEN_MAX]

    async def wake(self, key: str, planned: list[tuple[str, str]], answer: Answer) -> tuple[str, ...]:
        """Wake nodes, except those that another event wakes.

        Args:
            key: of the event.
            planned: the runs and their questions.
            answer: what the event says.

        Returns:
            The runs that this event has woken, now or when it was told before.
        """
        woken: dict[str, None] = {}
        for run_id, ask_id in planned:
            if not await self._is_ours(key, ask_id):
                continue
            woken[run_id] = None
            with suppress(UnknownName):  # this event was told before, or a person has answered
                await self._wake_one(run_id, ask_id, answer)
        return tuple(woken)

    async def _wake_one(self, run_id: str, ask_id: str, answer: Answer) -> None:
        try:
            state = await answer_in_run(self._journal, run_id, ask_id, answer)
        except JournalError:
            entries = await self._journal.read(run_id)
            if entries and entries[0].payload:
                raise
            return  # the run was forgotten
        if ask_id in state.answers and not state.waiting():
            await self._go_on(run_id, state.beginning().tenant)

    async def _is_ours(self, key: str, ask_id: str) -> bool:
        name = f"woken:{ask_id}"
        return await self._positions.move(name, None, key) or await self._positions.find(name) == key


def nothing_waits(token: str) -> UnknownName:
    """The error of an event for which nothing waits."""
    return UnknownName("nothing waits for {token!r}", token=token[:200])


def _read(planned: str) -> list[tuple[str, str]]:
    return [(run_id, ask_id) for line in planned.split("\n") for run_id, _, ask_id in [line.partition(" ")]]
