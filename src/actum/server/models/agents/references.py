"""References to items of stored answers: `{"type": "item_reference", "id": "fc_…"}` in the input of the Responses API.

A client that asks for its answers to be stored, as the AI SDK does by default, sends the items of earlier answers back
by their ids alone. Each reference is replaced by the item itself, out of the record, before the request is read. An
item of another caller does not exist, and neither does an item of an answer that was not to be stored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from ....core.errors import UnknownName, UsageError
from ....core.identity import Identity
from ....core.json import Json, JsonObject
from ....core.process.worker_thread import off_loop
from ....dialects.api.openai_responses.items import reference_of
from ....dialects.error_answer import no_item
from ...api.api import Api
from ...api.records import Recorded
from ..request import ModelRequest
from ..surface import RESPONSES
from .ids import AnswerRef, read_approval_id, read_item_id, read_server_call_id
from .items import input_items, response_of
from .stored import StoredAnswers
from .turn import check_size


class ItemReferences:
    """Replaces references by items.

    Args:
        api: the runs and the journal.
        stored: finds the stored answers of callers.
    """

    def __init__(self, api: Api, stored: StoredAnswers) -> None:
        self._api = api
        self._stored = stored

    async def replaced(self, asked: ModelRequest) -> ModelRequest:
        """The request with the items themselves.

        Raises:
            NotStored: there is no such item for the caller.
            UsageError: an item is named twice, or the request says too much.
        """
        if asked.surface is not RESPONSES:
            return asked
        named = await off_loop(len(asked.body), _named, asked)
        if not any(named):
            return asked
        found = await self._found([id_ for id_ in named if id_], asked.identity)
        return await off_loop(len(asked.body), _with_items, asked, named, found)

    async def _found(self, ids: Sequence[str], who: Identity) -> dict[str, JsonObject]:
        """The items by their ids.

        Raises:
            NotStored: one of them is not there.
        """
        found: dict[str, JsonObject] = {}
        read: set[AnswerRef] = set()
        for id_ in ids:
            try:
                answer = read_item_id(id_)
                if answer is not None and answer not in read:
                    read.add(answer)
                    found |= await self._items_of(answer, who)
                elif answer is None:
                    found |= await self._told_item(id_, who)
            except UnknownName:
                raise no_item(id_) from None
            if id_ not in found:
                raise no_item(id_)
        return found

    async def _items_of(self, answer: AnswerRef, who: Identity) -> dict[str, JsonObject]:
        """All items of an answer: what was asked, and what it says."""
        ref, recorded = await self._stored.stored(f"resp_{answer.tail}", who)
        entries = (await self._api.records.shown(recorded, who)).entries
        output = (await response_of(self._api.journal, ref, entries))["output"]
        said = [item for item in output if isinstance(item, dict)] if isinstance(output, list) else []
        return {str(item["id"]): item for item in (*input_items(ref, entries), *said)}

    async def _told_item(self, id_: str, who: Identity) -> dict[str, JsonObject]:
        """An item that only tells what was done here: what it says is on record, and no client has to say it."""
        if (call := read_server_call_id(id_)) is not None:
            run_id, place = call
            made = (await self._run(run_id, who)).state.calls.get(place.cause, ())
            return {id_: {"type": "mcp_call", "id": id_}} if place.index < len(made) else {}
        if (asked := read_approval_id(id_)) is not None and (await self._run(asked.run_id, who)).state.is_known(
            asked.ask_id
        ):
            return {id_: {"type": "mcp_approval_request", "id": id_}}
        return {}

    async def _run(self, run_id: str, who: Identity) -> Recorded:
        return (await self._stored.stored(f"resp_{AnswerRef(run_id).tail}", who))[1]


def _named(asked: ModelRequest) -> list[str]:
    """For each item of the input the id by which it names another item; empty for every other item.

    Raises:
        UsageError: an item is named twice, or the request says too much.
    """
    said = asked.fields.get("input")
    if not isinstance(said, list):
        return []
    check_size(asked.fields)
    named = [reference_of(item) for item in said]
    for id_, times in Counter(named).items():
        if id_ and times > 1:
            raise UsageError("input: the item {item_id!r} is named twice", item_id=id_[:100])
    return named


def _with_items(asked: ModelRequest, named: Sequence[str], found: Mapping[str, JsonObject]) -> ModelRequest:
    said = asked.fields["input"]
    assert isinstance(said, list)
    items: list[Json] = [found[id_] if id_ else item for id_, item in zip(named, said, strict=True)]
    return asked.saying({**asked.fields, "input": items})
