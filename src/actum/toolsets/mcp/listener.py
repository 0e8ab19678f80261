"""Listening to an MCP server: lists that change, and resources that do, for each holder over its own session.

Where a resource is listened to, a session that broke is opened again for that. For changes of lists alone it is not:
once the first session is over, the next is listened to when somebody else has opened it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from msgspec import Struct, field

from ...core.errors import CallError
from ...core.holder import Holder, HolderKey
from ...core.interfaces import Clock
from ...core.json import Json, JsonObject
from .error import McpError
from .link import ServerLink
from .pool import SessionPool
from .session import NOBODY, Caller, McpSession

PAUSES_S = (0.0, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
"""Seconds between a connection that broke and the next try; the last for ever."""


class Ear(Struct, eq=False):
    """What is listened to for one holder.

    Attributes:
        holder: None where nobody in particular listens.
        caller: what the server is told that it can ask, where a session is opened for this.
        uris: resources.
        task: listens.
    """

    holder: Holder | None
    caller: Caller
    uris: set[str] = field(default_factory=set)
    task: asyncio.Task[None] | None = None


class Listener:
    """Listens over the sessions of one pool.

    Args:
        name: of the server, for tasks.
        pool: the sessions.
        clock: time.
    """

    def __init__(self, name: str, pool: SessionPool, clock: Clock) -> None:
        self._name = name
        self._pool = pool
        self._clock = clock
        self._ears: dict[HolderKey | None, Ear] = {}

    def listen(self, uris: Sequence[str], holder: Holder | None, caller: Caller) -> None:
        """Listen to lists that change, and to these resources as well."""
        key = holder.key if holder is not None else None
        ear = self._ears.setdefault(key, Ear(holder, caller))
        ear.uris |= set(uris)
        self._anew(ear)
        if holder is not None:
            holder.watch(self._heard_of)

    def unlisten(self, uris: Sequence[str], holder: Holder | None, *, again: bool) -> None:
        """Listen to these resources no more.

        Args:
            again: the server is asked anew for what is left.
        """
        ear = self._ears.get(holder.key if holder is not None else None)
        if ear is not None:
            ear.uris -= set(uris)
            if again:
                self._anew(ear)

    def _heard_of(self, holder: Holder) -> None:
        if holder.state == "over":
            ear = self._ears.pop(holder.key, None)
            if ear is not None and ear.task is not None:
                ear.task.cancel()

    def _anew(self, ear: Ear) -> None:
        if ear.task is not None:
            ear.task.cancel()
        ear.task = asyncio.create_task(self._keep_listening(ear), name=f"mcp {self._name} listens")

    async def _keep_listening(self, ear: Ear) -> None:
        failures, is_first = 0, True
        while True:
            try:
                opens = is_first or bool(ear.uris)
                link = await (self._pool.any(ear.caller, ear.holder) if opens else self._pool.listened(ear.holder))
                is_first = False
                if link.session is not None:
                    await self._listen(link, link.session, ear)
                failures = 0
            except McpError:
                return  # it does not do that
            except CallError:
                failures += 1
            await self._clock.sleep(PAUSES_S[min(failures + 1, len(PAUSES_S) - 1)])

    async def _listen(self, link: ServerLink, session: McpSession, ear: Ear) -> None:
        if session.facts.era == "modern":
            await session.once("subscriptions/listen", {"notifications": _filter(ear.uris)}, NOBODY)
            return
        for uri in sorted(ear.uris):
            await session.once("resources/subscribe", {"uri": uri}, NOBODY)
        await link.over.wait()

    async def close(self) -> None:
        """Listen no more."""
        tasks = [ear.task for ear in self._ears.values() if ear.task is not None]
        self._ears.clear()
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


def _filter(uris: set[str]) -> JsonObject:
    wanted: JsonObject = dict.fromkeys(("toolsListChanged", "promptsListChanged", "resourcesListChanged"), True)
    if uris:
        wanted["resourceSubscriptions"] = list[Json](sorted(uris))
    return wanted
