"""Answers of the Responses API that are asked for again: `GET`, `DELETE`, `cancel` and `input_items`.

Everything is read from the record of the run, so any process that has the journal answers. A stream that was cut is
taken up again with `?stream=true&starting_after=N`, where the response was begun in the background with a stream: such
a stream is always told out of the record, so that the numbers of its events are the same each time.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import TypeAlias

from starlette.requests import Request as HttpRequest
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from ....core.errors import UnknownName, UsageError
from ....core.identity import Identity
from ....core.json import JsonObject
from ....core.run.record import Entry
from ...api.api import Api
from ...api.records import Recorded
from ...api.runs.operations import cancel_elsewhere
from ...paths import OtherPath
from ...route_group import identity_of
from .endpoints import Methods, forget, json_response, page_of
from .ids import AnswerRef, read_answer_id
from .items import input_items, response_of, stored_writer
from .placing import Placing
from .writers import AnswerWriter

Tell: TypeAlias = Callable[[AnswerRef, Identity, AnswerWriter, JsonObject], AsyncIterator[bytes]]
"""Tells the stream of an answer of a caller, by this writer. The last is `Started.door` of the run."""


class StoredAnswers:
    """The endpoints.

    Args:
        api: the runs and the journal.
        placing: finds the runs of callers.
        tell: tells the stream of an answer out of the record.
    """

    def __init__(self, api: Api, placing: Placing, tell: Tell) -> None:
        self._api = api
        self._placing = placing
        self._tell = tell

    @property
    def routes(self) -> Sequence[BaseRoute]:
        """The paths."""
        one = f"{OtherPath.RESPONSES}/{{id}}"
        return [
            Route(one, Methods({"GET": self._get, "DELETE": self._delete})),
            Route(f"{one}/input_items", Methods({"GET": self._input_items})),
            Route(f"{one}/cancel", Methods({"POST": self._cancel})),
        ]

    # Responses --------------------------------------------------------------------------------------------------------

    async def stored(self, id_: str, who: Identity) -> tuple[AnswerRef, Recorded]:
        """An answer that was stored, with its run.

        Raises:
            UnknownName: there is none for the caller.
        """
        ref = read_answer_id(id_) if id_.startswith("resp_") else None
        if ref is None or not ref.is_stored:
            raise _no_response()
        recorded = await self._placing.own(ref.run_id, who, "response")
        door = recorded.started.door
        is_begun = ref.begins == 0 or ref.begins < len(recorded.entries)
        if door.get("surface") != "responses" or door.get("store") is not True or not is_begun:
            raise _no_response()
        return ref, recorded

    async def _get(self, http: HttpRequest) -> Response:
        ref, recorded = await self.stored(http.path_params["id"], identity_of(http.scope))
        if http.query_params.get("stream") != "true":
            return json_response(await response_of(self._api.journal, ref, await self._shown(recorded, http)))
        after = http.query_params.get("starting_after")
        door = recorded.started.door
        if after is not None and not (after.isdecimal() and door.get("background") and door.get("stream")):
            raise UsageError(
                "starting_after: only the stream of a response that was begun with background and stream can be taken "
                "up again behind an event"
            )
        body = self._again(ref, recorded, identity_of(http.scope), -1 if after is None else int(after))
        return StreamingResponse(body, media_type="text/event-stream", headers={"cache-control": "no-cache"})

    async def _again(self, ref: AnswerRef, recorded: Recorded, who: Identity, after: int) -> AsyncIterator[bytes]:
        """The stream of a response out of the record, those of its events that follow a number."""
        writer = stored_writer(ref, recorded.entries)
        number = 0
        async for told in self._tell(ref, who, writer, recorded.started.door):
            if told.startswith(b":"):
                yield told
                continue
            for event in told.split(b"\n\n")[:-1]:
                if number > after:
                    yield event + b"\n\n"
                number += 1

    async def _delete(self, http: HttpRequest) -> Response:
        who = identity_of(http.scope)
        _, recorded = await self.stored(http.path_params["id"], who)
        await self._stop(recorded, who)
        await forget(self._api, recorded.run_id, who, "response deleted")
        return json_response({"id": http.path_params["id"], "object": "response", "deleted": True})

    async def _cancel(self, http: HttpRequest) -> Response:
        who = identity_of(http.scope)
        ref, recorded = await self.stored(http.path_params["id"], who)
        await self._stop(recorded, who)
        recorded = await self._placing.own(ref.run_id, who)
        return json_response(await response_of(self._api.journal, ref, await self._shown(recorded, http)))

    async def _input_items(self, http: HttpRequest) -> Response:
        ref, recorded = await self.stored(http.path_params["id"], identity_of(http.scope))
        return json_response(page_of(input_items(ref, await self._shown(recorded, http)), http))

    async def _shown(self, recorded: Recorded, http: HttpRequest) -> Sequence[Entry]:
        """The entries of a run as the caller may see them."""
        return (await self._api.records.shown(recorded, identity_of(http.scope))).entries

    async def _stop(self, recorded: Recorded, who: Identity) -> None:
        if not recorded.is_over and not await self._api.work.cancel(recorded.run_id):
            await cancel_elsewhere(self._api, recorded.run_id, who)


def _no_response() -> UnknownName:
    return UnknownName("There is no such response.")
