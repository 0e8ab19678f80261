"""What probes found: whether the model at an endpoint calls tools by the API.

A yes is kept in the person's state folder, so that later processes need not ask again. A no holds for this process and
an hour: a server may be restarted with another chat template or with a parser for tool calls. Nothing else than an
answer to the probe, or a refusal that speaks of tools, is a no; see `Endpoint.probe`.

Nothing is read or written before the first probe. Where the state folder can not be made or written, a yes holds for
this process. The file holds digests and times, since the address of an endpoint may hold a secret.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import NamedTuple

import msgspec

from ..core.errors import UsageError
from ..storage.folders import state_folder
from ..storage.whole_file import replace

NO_S_MAX = 3600.0
YES_S_MAX = 30 * 24 * 3600.0
KEPT_MAX = 1000
FILE_BYTES_MAX = 1024 * 1024


class Asked(NamedTuple):
    """What a probe is about: a model at an address, spoken to in a dialect."""

    url: str
    model: str
    dialect: str

    @property
    def digest(self) -> str:
        """The name of this in the file."""
        return hashlib.sha256(msgspec.json.encode(self)).hexdigest()


class _Found(NamedTuple):
    native: bool
    at: float


class ProbeMemory:
    """What the probes of this process found, and the yeses of earlier processes."""

    def __init__(self) -> None:
        self._found: dict[Asked, _Found] = {}

    def recall(self, asked: Asked, now: float) -> bool | None:
        """What this process knows; None for nothing, or for a no that is older than an hour."""
        found = self._found.get(asked)
        if found is None or (not found.native and not 0 <= now - found.at < NO_S_MAX):
            return None
        return found.native

    def look_up(self, asked: Asked, now: float) -> bool | None:
        """The same, with the yeses of earlier processes."""
        if asked not in self._found:
            at = _read().get(asked.digest)
            if at is not None and 0 <= now - at < YES_S_MAX:
                self._found[asked] = _Found(native=True, at=now)
        return self.recall(asked, now)

    def learn(self, asked: Asked, now: float, *, native: bool) -> None:
        """Remember what was found: a yes for later processes too; after a no the file does not say yes any more."""
        before = self._found.get(asked)
        self._found[asked] = _Found(native, now)
        if before is None or before.native is not native:
            _write(asked.digest, now if native else None)


PROBES = ProbeMemory()
"""The memory of this process."""


class SharedProbes:
    """The probes that are under way: a caller that asks the same meanwhile waits for the same answer."""

    def __init__(self) -> None:
        self._under_way: dict[tuple[asyncio.AbstractEventLoop, Asked, str], _UnderWay] = {}

    async def found(
        self, asked: Asked, key: str, probe: Callable[[], Coroutine[None, None, bool | None]]
    ) -> bool | None:
        """What the probe finds. It ends early when nobody waits for it any more.

        Args:
            asked: what it is about.
            key: the key that is sent; users with another key do not share its fate.
            probe: asks.
        """
        place = asyncio.get_running_loop(), asked, key
        one = self._under_way.get(place)
        if one is None:
            one = self._under_way[place] = _UnderWay(asyncio.ensure_future(probe()))
        one.waiting += 1
        try:
            return await asyncio.shield(one.task)
        finally:
            one.waiting -= 1
            if not one.waiting:
                del self._under_way[place]
                one.task.cancel()


class _UnderWay:
    def __init__(self, task: asyncio.Future[bool | None]) -> None:
        self.task = task
        self.waiting = 0


def _path() -> Path | None:
    with contextlib.suppress(UsageError):
        return state_folder(os.environ) / "probes.json"
    return None


def _read() -> dict[str, float]:
    """The times of the yeses; empty where there is no such file, or where the file can not be read."""
    path = _path()
    with contextlib.suppress(OSError, msgspec.DecodeError):
        if path is not None and path.stat().st_size < FILE_BYTES_MAX:
            return msgspec.json.decode(path.read_bytes(), type=dict[str, float])
    return {}


def _write(digest: str, at: float | None) -> None:
    """Put down a yes, or strike one out. Two processes at once may lose a yes, and then ask again."""
    path, known = _path(), _read()
    if path is None or (at is None and digest not in known):
        return
    known.pop(digest, None)
    if at is not None:
        known[digest] = at
    latest = dict(sorted(known.items(), key=lambda item: item[1])[-KEPT_MAX:])
    with contextlib.suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace(path, msgspec.json.encode(latest))
