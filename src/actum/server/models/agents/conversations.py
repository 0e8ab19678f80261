"""`/v1/conversations` of the Responses API: a view of the sessions of this server.

The id of a new conversation is signed for its caller with the secret of the journal, so that a conversation without an
answer needs no place of its own, and nobody can use the id of another caller. A session that was begun otherwise, such
as at our own API, is a conversation of its owner as well.
"""

from __future__ import annotations

import hmac
import os
import re
from collections.abc import Sequence
from typing import NamedTuple

from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from ....core.errors import JournalError, UnknownName, UsageError
from ....core.identity import Identity
from ....core.json import JsonObject
from ....core.run.record import Entry
from ....journal.recording import RunState
from ...api.api import Api
from ...paths import OtherPath
from ...route_group import identity_of
from .endpoints import Methods, fields_of_body, forget, json_response, page_of
from .history import name_of
from .ids import AnswerRef
from .items import input_items, response_of
from .secret import NameSecret

_OURS = re.compile(r"conv_([0-9a-f]{24})([0-9a-f]{16})")
_CONTROL = re.compile("[\\x00-\\x1f\\x7f]")


class TalkRun(NamedTuple):
    """A run of a conversation, with its entries as the caller may see them."""

    run_id: str
    entries: Sequence[Entry]


class Conversations:
    """The endpoints, and the check of a conversation that a request names.

    Args:
        api: the journal.
        secret: signs the ids.
    """

    def __init__(self, api: Api, secret: NameSecret) -> None:
        self._api = api
        self._secret = secret

    @property
    def routes(self) -> Sequence[BaseRoute]:
        """The paths."""
        one = f"{OtherPath.CONVERSATIONS}/{{id}}"
        return [
            Route(OtherPath.CONVERSATIONS, Methods({"POST": self._begin})),
            Route(one, Methods({"GET": self._get, "POST": self._get, "DELETE": self._delete})),
            Route(f"{one}/items", Methods({"GET": self._items})),
        ]

    async def check(self, id_: str, who: Identity) -> None:
        """Whether a caller may go on with a conversation.

        Raises:
            UnknownName: there is no such conversation for the caller.
        """
        if not is_signed(id_, who, await self._secret.get()):
            await self.runs_of(id_, who, must_be=True)

    async def runs_of(self, id_: str, who: Identity, *, must_be: bool) -> list[TalkRun]:
        """The runs of a conversation, the latest first.

        Args:
            id_: the conversation.
            who: the caller, whose conversation it has to be.
            must_be: raise an error where it has no runs.

        Raises:
            UnknownName: there is no such conversation for the caller.
        """
        runs = []
        if id_ and not _CONTROL.search(id_):
            runs = await self._api.journal.runs(conversation=id_, owner=who.principal, tenant=who.tenant, limit=None)
        if must_be and not runs:
            raise UnknownName("There is no such conversation.")
        read, shown = self._api.journal.read, self._api.records.entries_shown
        return [TalkRun(run.run_id, await shown(run.run_id, await read(run.run_id), who)) for run in runs]

    async def _begin(self, http: HttpRequest) -> Response:
        if (await fields_of_body(http)).get("items"):
            raise UsageError("items: a conversation begins with its first response: send the items there")
        id_ = new_conversation_id(identity_of(http.scope), await self._secret.get())
        return json_response(_told(id_, self._api.clock.now()))

    async def _get(self, http: HttpRequest) -> Response:
        id_ = http.path_params["id"]
        runs = await self._found(http)
        return json_response(_told(id_, runs[-1].entries[0].at if runs else self._api.clock.now()))

    async def _items(self, http: HttpRequest) -> Response:
        items: list[JsonObject] = []
        for run in reversed(await self._found(http)):
            try:
                RunState(run.entries[:1]).beginning()
            except JournalError:  # it was forgotten
                continue
            ref = AnswerRef(run.run_id)
            items += input_items(ref, run.entries)
            output = (await response_of(self._api.journal, ref, run.entries))["output"]
            items += [item for item in output if isinstance(item, dict)] if isinstance(output, list) else []
        return json_response(page_of(items, http))

    async def _delete(self, http: HttpRequest) -> Response:
        id_, who = http.path_params["id"], identity_of(http.scope)
        for run in await self._found(http):
            await forget(self._api, run.run_id, who, "conversation deleted")
        return json_response({"id": id_, "object": "conversation.deleted", "deleted": True})

    async def _found(self, http: HttpRequest) -> list[TalkRun]:
        id_, who = http.path_params["id"], identity_of(http.scope)
        return await self.runs_of(id_, who, must_be=not is_signed(id_, who, await self._secret.get()))


def new_conversation_id(who: Identity, secret: bytes) -> str:
    """The id of a new conversation of a caller."""
    drawn = os.urandom(12).hex()
    return f"conv_{drawn}{_sign(drawn, who, secret)}"


def is_signed(id_: str, who: Identity, secret: bytes) -> bool:
    """Whether the id of a conversation was made for this caller."""
    found = _OURS.fullmatch(id_)
    return found is not None and hmac.compare_digest(found[2], _sign(found[1], who, secret))


def _sign(drawn: str, who: Identity, secret: bytes) -> str:
    return name_of("conversation", secret, who, [drawn]).partition(":")[2][:16]


def _told(id_: str, began: float) -> JsonObject:
    return {"id": id_, "object": "conversation", "created_at": int(began), "metadata": {}}
