"""The items of `output` and `input` of the Responses API that we have no type for. Pure.

They are kept in `Reply.extras[ITEMS]` (see `block_extras`): items of hosted tools (`web_search_call`, `compaction`,
...) are kept whole, and beside a part are the fields that our types do not have: `phase` of a message, `annotations`,
`namespace`. The text and the `encrypted_content` of a reasoning item are a `ReasoningPart`; its id and the rest lie
beside that.

Towards a client a thought of another API goes as an item whose id says that it is ours, with its signature, wrapped,
for `encrypted_content`; it comes back as it was (`signatures`).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from typing import cast

from ....core.call import MediaPart
from ....core.json import Json, JsonObject
from ....core.message import ReasoningPart, Reply, ReplyPart
from ..block_extras import weave
from ..signatures import OPENAI, carried

ITEMS = "openai_items"
OWN_ID = "rs_actum_"
"""Begins the id of a reasoning item that was not the endpoint's."""


def woven(reply: Reply) -> Iterator[tuple[ReplyPart | None, JsonObject]]:
    """The parts of a reply with what lies beside each, and in between the items of hosted tools, with None."""
    for block in weave(reply, ITEMS, lambda part: {"": part}):
        part = cast("ReplyPart | None", block.pop("", None))
        yield part, cast(JsonObject, block)


def beside_thought(item: JsonObject, text: str, *, keep_own_id: bool) -> JsonObject:
    """What of a reasoning item is not said by the part that it becomes.

    Args:
        item: finished.
        text: of the part.
        keep_own_id: an id of ours stays, and says that the thought came from a client of this API.
    """
    known = ("type", "status", "encrypted_content")
    rest: JsonObject = {name: value for name, value in item.items() if name not in known and value is not None}
    if rest.get("summary", []) == summaries(text):
        rest.pop("summary", None)
    if not rest.get("content"):
        rest.pop("content", None)
    if is_own(item) and not keep_own_id:
        rest.pop("id")
    elif not rest and item.get("encrypted_content"):  # a proxy took the id away; it is from this API all the same
        rest["summary"] = summaries(text)
    return rest


def thought_item(part: ReasoningPart, beside: JsonObject) -> JsonObject:
    """The reverse."""
    item: JsonObject = {"type": "reasoning", "summary": summaries(part.text), **beside}
    if part.signature:
        item["encrypted_content"] = carried(part, OPENAI)
    return item


def reference_of(item: Json) -> str:
    """The id by which an item of the input names another item; empty for every other item. Its type may be left out."""
    match item:
        case {"type": "item_reference", "id": str(id_)}:
            return id_
        case {"id": str(id_), **rest} if not any(rest.values()):
            return id_
        case _:
            return ""


def is_own(item: JsonObject) -> bool:
    """Its id was made here."""
    return str(item.get("id") or "").startswith(OWN_ID)


def summaries(text: str) -> list[Json]:
    """A thought as the `summary` of a reasoning item."""
    return [{"type": "summary_text", "text": text}] if text else []


def image_of(item: JsonObject) -> MediaPart | None:
    """The image in an item of the hosted image tool; None where there is none in it."""
    result = item.get("result")
    if item.get("type") != "image_generation_call" or not isinstance(result, str) or not result:
        return None
    try:
        return MediaPart(f"image/{item.get('output_format') or 'png'}", base64.b64decode(result, validate=True))
    except (binascii.Error, ValueError):
        return None


def image_item(id_: str, part: MediaPart) -> JsonObject | None:
    """The reverse; None for what is no image that is here as bytes."""
    family, _, form = part.media_type.partition("/")
    if family != "image" or not part.data:
        return None
    result = base64.b64encode(part.data).decode()
    return {
        "id": id_,
        "type": "image_generation_call",
        "status": "completed",
        "result": result,
        "output_format": form,
    }
