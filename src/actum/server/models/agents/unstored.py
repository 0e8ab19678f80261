"""Runs whose answer the client does not want stored: `store: false` at the Responses API.

The words of such a run are deleted from the record when its answer was told and nothing waits in the run. Where nobody
came to do this, because the client hung up, a person answered elsewhere or the server was killed, a look from time to
time does, in any process that serves this journal. Ten minutes stay for a client that repeats its request.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from ....core.errors import Busy, JournalError, UnknownName, UsageError
from ....core.run.record import Ended, Entry
from ....journal.recording import RunState
from ...api.api import Api
from .placing import REPEAT_S, UNSTORED

log = logging.getLogger("actum.server.models")

LOOK_MAX = 10_000
"""At so many runs, the latest, one look looks."""
AT_ONCE = 50


class UnstoredRuns:
    """Deletes the words of runs that are not to be stored.

    Args:
        api: the runs and the journal.
    """

    def __init__(self, api: Api) -> None:
        self._api = api
        self._refused: set[str] = set()

    async def look(self) -> None:
        """Delete the words of each run that nobody carries out, and in which nothing happened for ten minutes."""
        journal = self._api.journal
        ids = [id_ for id_ in await journal.named(UNSTORED, limit=LOOK_MAX) if id_ not in self._refused]
        for at in range(0, len(ids), AT_ONCE):
            part = ids[at : at + AT_ONCE]
            driven = {*await journal.driven(part), *(id_ for id_ in part if self._api.work.get(id_) is not None)}
            for run_id, entries in (await journal.read_each(part)).items():
                if run_id not in driven and entries[-1].at <= self._api.clock.now() - REPEAT_S:
                    await self._forget(run_id, entries)

    async def forget(self, run_id: str) -> None:
        """Delete the words of a run that has come to its end."""
        entries = await self._api.journal.read(run_id)
        if entries and isinstance(entries[-1].record, Ended):
            await self._forget(run_id, entries)

    async def _forget(self, run_id: str, entries: Sequence[Entry]) -> None:
        journal = self._api.journal
        try:
            if RunState(entries).waiting():
                return
            for child in await journal.runs(parent=run_id, limit=None):
                if child.status != "forgotten":
                    await self._forget(child.run_id, await journal.read(child.run_id))
            await journal.forget(run_id, by="models door", reason="store: false")
        except (UnknownName, Busy):
            pass  # it was forgotten, or somebody goes on with it
        except (UsageError, JournalError) as error:
            self._refused.add(run_id)
            log.warning("run %s is not to be stored and can not be forgotten: %s", run_id, error)
