"""`Watcher`: looks at the clock, at files and at resources of MCP servers, and tells the intake what happened.

Several servers may watch the same: what is due is taken by all of them, and begins one run. How far a schedule or a
content has come stands in the journal's database, so that nothing is missed and nothing comes twice after a restart.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Protocol

from ..core.errors import ActumError
from ..core.json import JsonObject
from .content import ContentChanges, WatchedContent
from .event import TriggerEvent
from .intake import TriggerIntake
from .schedule import Schedule
from .settings import TriggerTable
from .states import schedule_key
from .watched_file import StillChanging, UnreadableFile, WatchedFile


class WatchedResource(Protocol):
    """A resource, for whoever watches it. Both `listen` and `read` raise ActumError where the resource can not be
    reached.
    """

    @property
    def address(self) -> str:
        """What the events of the resource call it."""

    async def listen(self, changed: Callable[[], None]) -> None:
        """From now on call `changed` whenever the resource is said to have changed, as far as anybody says so. To ask
        for the same again changes nothing.
        """

    async def read(self) -> WatchedContent:
        """The content as it is now."""

    async def close(self) -> None:
        """Let go of the resource."""


log = logging.getLogger("actum.triggers")

LOOK_S = 1.0
"""Seconds between two looks."""
LATE_S = 90.0
"""A point in time that is so far back was missed: no server was there."""
MISSED_MAX = 100
"""The most missed points in time that are made up for."""


class Watcher:
    """Watches for the triggers of a intake that no request tells of.

    Args:
        intake: begins the runs.
        folder: to which the paths of files are relative.
        resources: those of the triggers that watch a resource, by the names of the triggers.
    """

    def __init__(
        self, intake: TriggerIntake, folder: Path, resources: Mapping[str, WatchedResource] | None = None
    ) -> None:
        self._intake = intake
        self._resources = resources or {}
        self._problems: dict[str, str] = {}
        self._next: dict[str, tuple[float, float]] = {}
        self._schedules = {
            name: Schedule(table.schedule, table.zone) for name, table in intake.triggers.items() if table.schedule
        }
        self._files = {
            name: WatchedFile(folder / Path(table.file).expanduser())
            for name, table in intake.triggers.items()
            if table.file
        }
        self._changes = {
            name: ContentChanges(intake, name, "file", {"path": str(file.path)}) for name, file in self._files.items()
        } | {
            name: ContentChanges(intake, name, "resource", {"uri": resource.address})
            for name, resource in self._resources.items()
        }

    async def run(self) -> None:
        """Watch until this is cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                if self._schedules or self._files:
                    group.create_task(self._look_again_and_again(), name="triggers: clock and files")
                for name, resource in self._resources.items():
                    group.create_task(self._follow(name, resource), name=f"trigger {name}")
        finally:
            for resource in self._resources.values():
                await resource.close()

    async def _look_again_and_again(self) -> None:
        while True:
            await self.look()
            await self._intake.clock.sleep(LOOK_S)

    async def look(self) -> None:
        """Look once at the clock and at all files. What fails is tried again with the next look."""
        for name in self._schedules:
            await self._guarded(name, self._look_at_clock(name, self._intake.table(name)))
        for name, file in self._files.items():
            await self._guarded(name, self._look_at_file(name, file))

    async def _guarded(self, name: str, looking: Coroutine[None, None, None]) -> None:
        """One look for one trigger. Its failure is told in the log, once for as long as it stays the same."""
        problem = ""
        try:
            await looking
        except ActumError as error:
            problem = str(error) or type(error).__name__
            if self._problems.get(name) != problem:
                log.warning("trigger %s: %s", name, problem)
        except Exception as error:  # the edge: one trigger that fails does not end the others; the log says how
            problem = repr(error)
            if self._problems.get(name) != problem:
                log.exception("trigger %s failed", name)
        self._problems[name] = problem

    # Schedules --------------------------------------------------------------------------------------------------------

    async def _look_at_clock(self, name: str, table: TriggerTable) -> None:
        """Begin what is due. Until the next point in time comes, or the clock is set back, nothing is asked of the
        database.
        """
        now = self._intake.clock.now()
        looked, due = self._next.get(name, (now, now))
        if not looked <= now < due:
            await self._begin_due(name, table, now)
            self._next[name] = (now, self._schedules[name].after(now))

    async def _begin_due(self, name: str, table: TriggerTable, now: float) -> None:
        key = schedule_key(name)
        position = await self._intake.positions.find(key)
        if position is None:  # a schedule begins with the moment in which it is first seen
            await self._intake.positions.move(key, None, repr(now))
            return
        last = float(position)
        if last - now > LATE_S:  # the clock was set back: without this, the trigger would be silent until that time
            log.warning("trigger %s: the clock was set back by %.0f seconds", name, last - now)
            await self._intake.positions.move(key, position, repr(now))
            return
        due = self._schedules[name].between(last, now, most=MISSED_MAX)
        if not due:
            return
        if table.missed == "skip":
            chosen = [moment for moment in due if now - moment <= LATE_S]
        else:
            chosen = due[-1:] if table.missed == "once" else due
        for moment in chosen:
            data: JsonObject = {"due": moment}
            event = TriggerEvent(trigger=name, id=f"{moment:.0f}", at=now, data=data, kind="schedule")
            await self._intake.take_watched(event)
        await self._intake.positions.move(key, position, repr(due[-1]))

    # Files ------------------------------------------------------------------------------------------------------------

    async def _look_at_file(self, name: str, file: WatchedFile) -> None:
        try:
            content = await asyncio.to_thread(file.read)
        except StillChanging:
            return
        except UnreadableFile as problem:
            log.warning("trigger %s: %s", name, problem)
            file.settle()
            return
        if content is not None:
            await self._changes[name].saw(content)
            file.settle()

    # Resources --------------------------------------------------------------------------------------------------------

    async def _follow(self, name: str, resource: WatchedResource) -> None:
        """Read a resource whenever it is said to have changed, once a second at most; and in any case from time to
        time, since what is said may be lost with a connection, and not every server says anything."""
        changed = asyncio.Event()
        while True:
            changed.clear()
            await self._guarded(name, self.look_at_resource(name, resource, changed.set))
            await self._intake.clock.sleep(LOOK_S)
            limit = self._intake.clock.timeout(self._intake.table(name).every_s)
            try:
                async with limit:
                    await changed.wait()
            except TimeoutError:
                if not limit.expired():
                    raise

    async def look_at_resource(self, name: str, resource: WatchedResource, changed: Callable[[], None]) -> None:
        """Look once at a resource.

        Args:
            name: of the trigger.
            resource: what it watches.
            changed: is called from now on when the resource is said to have changed.

        Raises:
            ActumError: the resource can not be read, or the change can not be put on record. A later look tells of it.
        """
        await resource.listen(changed)
        await self._changes[name].saw(await resource.read())
