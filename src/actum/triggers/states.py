"""`TriggerStates`: how each trigger stands: paused or not, its last event, and when it is next due.

The states stand beside the journal, as the positions of schedules do: all servers of one journal read the same, and a
restart changes nothing. A position is moved by one process only, so of two that pause at once one has done so.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

import msgspec
from msgspec import Struct

from ..core.errors import JournalError, UnknownName, UsageError
from ..core.stored.position import Positions
from .settings import TriggerTable

PAUSED, ACTIVE = "paused", ""


class TriggerPaused(UsageError):
    """A trigger begins nothing until a person resumes it."""

    def __init__(self, name: str) -> None:
        super().__init__("the trigger {name!r} is paused: actum trigger resume {name}", name=name)


class LastEvent(Struct, frozen=True):
    """The event that a trigger took last.

    Attributes:
        id: of the event.
        at: when it was told, in seconds since 1970.
        run_ids: the run that it began, or those that it woke.
    """

    id: str
    at: float
    run_ids: tuple[str, ...]


def schedule_key(name: str) -> str:
    """The position of the schedule of a trigger."""
    return f"schedule:{name}"


class TriggerStates:
    """How triggers stand.

    Args:
        triggers: the triggers by their names.
        positions: where all processes of a journal share what they know.
    """

    def __init__(self, triggers: Mapping[str, TriggerTable], positions: Positions) -> None:
        self.triggers = dict(triggers)
        self._positions = positions

    def table(self, name: str) -> TriggerTable:
        """The settings of a trigger.

        Raises:
            UnknownName: there is no such trigger.
        """
        if name not in self.triggers:
            raise UnknownName("there is no trigger {name!r}", name=name)
        return self.triggers[name]

    def next_at(self, name: str, now: float) -> float | None:
        """When the schedule of a trigger comes next, in seconds since 1970; None for a trigger without a schedule.

        Args:
            name: of the trigger.
            now: in seconds since 1970.
        """
        table = self.table(name)
        if not table.schedule:
            return None
        from .schedule import Schedule  # noqa: PLC0415  # needs actum[server]; a list without schedules does not

        return Schedule(table.schedule, table.zone).after(now)

    async def is_paused(self, name: str) -> bool:
        """Whether a trigger begins nothing now.

        Raises:
            JournalError: nobody can tell.
        """
        return await self._positions.find(f"paused:{name}") == PAUSED

    async def check(self, name: str) -> None:
        """Raises:
        TriggerPaused: the trigger is paused.
        JournalError: nobody can tell.
        """
        if await self.is_paused(name):
            raise TriggerPaused(name)

    async def pause(self, name: str) -> bool:
        """From now on a trigger begins nothing; False where it was paused already.

        Raises:
            JournalError: it can not be written.
        """
        return await self._turn(name, PAUSED)

    async def resume(self, name: str, now: float) -> bool:
        """From now on a trigger begins runs again, and its schedule does not make up for what it missed; False where
        it was not paused.

        Args:
            name: of the trigger.
            now: in seconds since 1970.

        Raises:
            JournalError: it can not be written.
        """
        if not await self.is_paused(name):
            return False
        key = schedule_key(name)
        while (position := await self._positions.find(key)) is not None and float(position) < now:
            if await self._positions.move(key, position, repr(now)):
                break
        return await self._turn(name, ACTIVE)

    async def _turn(self, name: str, to: str) -> bool:
        key = f"paused:{name}"
        while (known := await self._positions.find(key)) != to and (known is not None or to == PAUSED):
            if await self._positions.move(key, known, to):
                return True
        return False

    async def took(self, name: str, event: LastEvent) -> None:
        """Note the event that a trigger took last. Where that can not be written, it is left out: the run has begun."""
        key = f"event:{name}"
        with suppress(JournalError):
            await self._positions.move(key, await self._positions.find(key), msgspec.json.encode(event).decode())

    async def last(self, name: str) -> LastEvent | None:
        """The event that a trigger took last; None where it took none.

        Raises:
            JournalError: it can not be read.
        """
        known = await self._positions.find(f"event:{name}")
        return None if known is None else msgspec.json.decode(known, type=LastEvent)
