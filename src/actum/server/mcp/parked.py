"""Calls that wait for a person who is not at the client: a caller that makes the same call again goes on with the first
one.

They are kept beside the journal, so that a server which was started since, or another one with the same journal, knows
them too.
"""

from __future__ import annotations

import hashlib
import logging

import msgspec

from ...core.errors import JournalError
from ...core.event import RunResult
from ...core.identity import Identity
from ...core.interfaces import Clock, Journal
from ...core.json import JsonObject
from ...core.stored.kept_object import KeptObject, ObjectsFull
from .client import McpClient

log = logging.getLogger("actum.mcp")

KIND = "mcp_call"


class Parked:
    """The calls of one server that wait.

    Args:
        journal: where the calls are on record.
        clock: the time.
        server: the name of the server: another server may have another tool of the same name.
    """

    def __init__(self, journal: Journal, clock: Clock, server: str) -> None:
        self._journal = journal
        self._objects = journal.objects
        self._clock = clock
        self._server = server

    async def find(self, tool: str, arguments: JsonObject, who: Identity) -> str | None:
        """The run of such a call, the oldest of several. A run that is on record no more is no call's."""
        for kept in await self._objects.find(_owner(who), KIND, self._key(tool, arguments)):
            if await self._journal.read(kept.run_id, tenant=who.tenant):
                return kept.run_id
            await self.forget(who, kept.run_id)
        return None

    async def note(
        self, tool: str, arguments: JsonObject, who: Identity, result: RunResult, client: McpClient, *, is_known: bool
    ) -> None:
        """Write down that a call waits for more than the next request of its client, or that it does not wait any more.
        Who is asked on the way has answered by now, or can not be asked.

        Args:
            tool, arguments, who: the call.
            result: how its run stands.
            client: who made the call.
            is_known: whether the call was gone on with.
        """
        try:
            if result.status != "paused":
                if is_known:
                    await self.forget(who, result.run_id)
            elif not (client.is_modern and any(map(client.can_be_asked, result.pending))):
                waits = KeptObject(
                    id=_id(result.run_id),
                    owner=_owner(who),
                    kind=KIND,
                    parent=self._key(tool, arguments),
                    at=self._clock.now(),
                    tenant=who.tenant,
                    principal=who.principal,
                    run_id=result.run_id,
                )
                await self._objects.put(waits)
        except (JournalError, ObjectsFull) as error:  # the run is on record, and can be answered and resumed
            log.warning("the same call as run %s, made again, may not be known: %s", result.run_id, error)

    async def forget(self, who: Identity, run_id: str) -> None:
        """The call that began this run does not wait any more."""
        await self._objects.delete(_owner(who), _id(run_id))

    def _key(self, tool: str, arguments: JsonObject) -> str:
        return hashlib.sha256(_sorted.encode([self._server, tool, arguments])).hexdigest()


def _id(run_id: str) -> str:
    return f"{KIND}_{run_id}"


def _owner(who: Identity) -> str:
    return hashlib.sha256(_sorted.encode([KIND, who.without_scopes()])).hexdigest()


_sorted = msgspec.json.Encoder(order="sorted")
