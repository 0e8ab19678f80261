"""`Watcher`: looks at the clock and at files, and tells the desk what happened.

Several servers may watch the same: what is due is taken by all of them, and begins one run. How far a schedule or a
file has come stands in the journal's database, so that nothing is missed and nothing comes twice after a restart.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from pathlib import Path

import msgspec
from msgspec import Struct

from ..core.errors import ActumError, InvalidArguments, TaskRefused, UsageError
from ..core.json import JsonObject
from .desk import TooManyEvents, TriggerDesk
from .event import TriggerEvent
from .schedule import Schedule
from .settings import TriggerTable

log = logging.getLogger("actum.triggers")

LOOK_S = 1.0
"""Seconds between two looks."""
LATE_S = 90.0
"""A point in time that is so far back was missed: no server was there."""
MISSED_MAX = 100
"""So many missed points in time are made up for at most."""
FILE_BYTES_MAX = 256 * 1024 * 1024
TEXT_BYTES_MAX = 64 * 1024
"""A shorter text is told with the event."""


class FilePosition(Struct, frozen=True):
    """How far a file has come.

    Attributes:
        digest: SHA-256 of its content; empty where there is no file.
        count: how often it has changed.
    """

    digest: str
    count: int = 0


class Watcher:
    """Watches for the triggers of a desk that no request tells of.

    Args:
        desk: begins the runs.
        folder: to which the paths of files are relative.
    """

    def __init__(self, desk: TriggerDesk, folder: Path) -> None:
        self._desk = desk
        self._folder = folder
        self._schedules = {
            name: Schedule(table.schedule, table.zone) for name, table in desk.triggers.items() if table.schedule
        }
        self._files = {
            name: folder / Path(table.file).expanduser() for name, table in desk.triggers.items() if table.file
        }
        self._seen: dict[str, tuple[object, ...]] = {}

    async def run(self) -> None:
        """Watch until this is cancelled."""
        while self._schedules or self._files:
            await self.look()
            await self._desk.clock.sleep(LOOK_S)

    async def look(self) -> None:
        """Look once at all that is watched. What fails is tried again with the next look."""
        for name in (*self._schedules, *self._files):
            table = self._desk.table(name)
            try:
                if name in self._schedules:
                    await self._look_at_clock(name, table)
                else:
                    await self._look_at_file(name)
            except ActumError as error:
                log.warning("trigger %s: %s", name, error)
            except Exception:  # the edge: one trigger that fails does not end the others; the log says how it failed
                log.exception("trigger %s failed", name)

    # Schedules --------------------------------------------------------------------------------------------------------

    async def _look_at_clock(self, name: str, table: TriggerTable) -> None:
        now, key = self._desk.clock.now(), f"schedule:{name}"
        position = await self._desk.positions.find(key)
        if position is None:  # a schedule begins with the moment in which it is first seen
            await self._desk.positions.move(key, None, repr(now))
            return
        last = float(position)
        if last - now > LATE_S:  # the clock was set back: without this, the trigger would be silent until that time
            log.warning("trigger %s: the clock was set back by %.0f seconds", name, last - now)
            await self._desk.positions.move(key, position, repr(now))
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
            await self._take(TriggerEvent(trigger=name, id=f"{moment:.0f}", at=now, data=data, kind="schedule"))
        await self._desk.positions.move(key, position, repr(due[-1]))

    async def _take(self, event: TriggerEvent) -> None:
        """Begin the run of an event. An event for which no run can ever begin is told in the log, and is over."""
        try:
            await self._desk.take(event)
        except TooManyEvents:
            raise
        except TaskRefused as error:
            if error.code in ("queued_max", "journal"):
                raise
            log.error("trigger %s: the event %s begins nothing: %s", event.trigger, event.id, error)
        except (InvalidArguments, UsageError) as error:
            log.error("trigger %s: the event %s begins nothing: %s", event.trigger, event.id, error)

    # Files ------------------------------------------------------------------------------------------------------------

    async def _look_at_file(self, name: str) -> None:
        path = self._files[name]
        stamp = _stamp(path)
        if self._seen.get(name) == stamp:
            return
        found = await asyncio.to_thread(_content, path)
        if found is None:
            log.warning("trigger %s: the file %s can not be read, or is too large", name, path)
            self._seen[name] = stamp
            return
        digest, text = found
        key = f"file:{name}"
        position = await self._desk.positions.find(key)
        if position is None:
            await self._desk.positions.move(key, None, _encode(FilePosition(digest)))
        else:
            last = msgspec.json.decode(position, type=FilePosition)
            if last.digest != digest:
                data: JsonObject = {"path": str(path), "digest": digest, "was": last.digest}
                if text is not None:
                    data["text"] = text
                now = self._desk.clock.now()
                id_ = f"{last.count + 1}:{digest}"
                await self._take(TriggerEvent(trigger=name, id=id_, at=now, data=data, kind="file"))
                await self._desk.positions.move(key, position, _encode(FilePosition(digest, last.count + 1)))
        self._seen[name] = stamp


def _encode(position: FilePosition) -> str:
    return msgspec.json.encode(position).decode()


def _stamp(path: Path) -> tuple[object, ...]:
    """Differs when a file may have changed."""
    try:
        found = path.stat()
    except OSError as error:
        return (error.errno,)
    return (found.st_mtime_ns, found.st_size, found.st_ino)


def _content(path: Path) -> tuple[str, str | None] | None:
    """The digest of a file and its text, where it is a short one; None where it can not be read."""
    try:
        with path.open("rb") as file:
            data = file.read(FILE_BYTES_MAX + 1)
    except FileNotFoundError:
        return "", None
    except OSError:
        return None
    if len(data) > FILE_BYTES_MAX:
        return None
    text: str | None = None
    if len(data) <= TEXT_BYTES_MAX:
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            text = None
    return hashlib.sha256(data).hexdigest(), text
