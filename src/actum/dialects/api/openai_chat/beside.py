"""What an endpoint of Chat Completions puts beside a call and wants back with the call. Pure.

That is a thought, or its signature: `reasoning_content`, `reasoning` or `reasoning_details` in the message, parts of
the type `thinking` in its content, and `extra_content` in a call. They are kept as the signature of a thought, by the
family `chat`: so they pass through a client of another API as other signatures do (`..signatures`), and no endpoint of
another API is sent them. What stood beside thoughts in the content is kept where there are no calls, too, and is not
sent. The signature says who said them. They go back to that endpoint and that model, and to nobody
else.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from ....core.json import Json, JsonObject
from ....core.message import ReasoningPart, Reply
from ..raw_json import NOT_DECODED

CHAT = "chat"
"""The family of these signatures."""

IN_CONTENT = "thinking"
"""The type of a part of a message's `content` that holds a thought."""
THOUGHT_FIELDS = ("extra_content", "reasoning", "reasoning_content", "reasoning_details", IN_CONTENT)
"""The names of the fields, in a message or in a call, where no row says otherwise; of the parts, their type."""

_IN_PIECES = frozenset({"data", "summary", "text"})
"""What of an item of `reasoning_details` comes in pieces."""


class BesideCalls(Struct, frozen=True, omit_defaults=True):
    """What stood beside the calls of one message.

    Attributes:
        at: the endpoint and the model that said it; empty where nobody knows.
        thought: the field of the message in which the text of the thought came, or `IN_CONTENT`.
        fields: further fields of the message.
        calls: fields of calls, by the number of the call.
        parts: of the thoughts in the content, one after another, the further fields, such as a signature.
    """

    at: str = ""
    thought: str = ""
    fields: JsonObject = {}
    calls: dict[str, JsonObject] = {}
    parts: list[JsonObject] = []

    @property
    def signature(self) -> str:
        """The same as the signature of a thought."""
        return msgspec.json.encode(self).decode()


_read = msgspec.json.Decoder(BesideCalls).decode
NOTHING = BesideCalls()


def beside_calls(reply: Reply) -> BesideCalls:
    """What stood beside the calls of a reply. The last signature has all of it: a client of a stream may hand an
    earlier one back as well."""
    for part in reversed(reply.content):
        if isinstance(part, ReasoningPart) and part.by == CHAT:
            return read_beside(part.signature)
    return NOTHING


def read_beside(signature: str) -> BesideCalls:
    """What a signature says. It may come from a client: nothing where it is not ours."""
    try:
        return _read(signature)
    except NOT_DECODED:
        return NOTHING


def merged_details(values: Sequence[Json]) -> list[Json]:
    """The items of `reasoning_details` out of the pieces of a stream: neighbours of one type and place are one item."""
    found: list[Json] = []
    for item in values:
        last = found[-1] if found else None
        if isinstance(item, dict) and isinstance(last, dict) and _goes_on(last, item):
            texts: JsonObject = {name: f"{last.get(name) or ''}{item[name]}" for name in _IN_PIECES & item.keys()}
            found[-1] = {**last, **{name: value for name, value in item.items() if value is not None}, **texts}
        else:
            found.append(item)
    return found


def _goes_on(last: JsonObject, item: JsonObject) -> bool:
    ids = (last.get("id"), item.get("id"))
    same = all(last.get(name) == item.get(name) for name in ("type", "index"))
    return same and "index" in item and (None in ids or ids[0] == ids[1]) and not last.get("signature")
