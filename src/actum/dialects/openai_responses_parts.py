"""The parts of a reply of the Responses API while they grow, and the items of its output that they belong to. Pure.

`fields` of each is what the API says of it beyond our nouns.
"""

from __future__ import annotations

from ..core.call import MediaPart, TextPart, ToolCall
from ..core.json import JsonObject, dumps
from ..core.message import ReasoningPart, RefusalPart, ReplyPart
from .call_wire import read_arguments


class OpenText:
    """A part of a message."""

    __slots__ = ("fields", "kind", "pieces")

    def __init__(self, kind: type[TextPart | RefusalPart]) -> None:
        self.kind = kind
        self.pieces: list[str] = []
        self.fields: JsonObject = {}

    def part(self) -> ReplyPart | None:
        """As it is so far; None as long as there is nothing in it."""
        return self.kind("".join(self.pieces)) if self.pieces else None


class OpenThought:
    """A reasoning item.

    Attributes:
        told: what was told of each of its summaries and texts.
        signature: known once the item is whole.
        by: whose it is.
    """

    __slots__ = ("by", "fields", "pieces", "signature", "told")

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.told: dict[tuple[str, int], list[str]] = {}
        self.signature = ""
        self.by = ""
        self.fields: JsonObject = {}

    def part(self) -> ReplyPart | None:
        """As it is so far; None as long as there is nothing in it."""
        if not self.pieces and not self.signature and not self.fields:
            return None
        return ReasoningPart("".join(self.pieces), self.signature, by=self.by)


class OpenHosted:
    """An item of a hosted tool: no part, but all of it in `fields`."""

    __slots__ = ("fields",)

    def __init__(self, fields: JsonObject) -> None:
        self.fields = fields

    def part(self) -> ReplyPart | None:
        """None: we have no noun for it."""
        return None


class OpenMedia:
    """An image that the endpoint made."""

    __slots__ = ("fields", "media")

    def __init__(self, media: MediaPart) -> None:
        self.media = media
        self.fields: JsonObject = {}

    def part(self) -> ReplyPart | None:
        """The image."""
        return self.media


class OpenCall:
    """A call.

    Attributes:
        id: ours.
        wire_id: the endpoint's; empty as long as it is not known.
        hint: what stood as arguments where it began; counts if nothing else comes.
        said: the call, once it was told to be whole.
    """

    __slots__ = ("fields", "hint", "id", "index", "is_custom", "name", "pieces", "said", "wire_id")

    def __init__(self, index: int, id: str, wire_id: str, *, is_custom: bool) -> None:
        self.index = index
        self.id = id
        self.wire_id = wire_id
        self.is_custom = is_custom
        self.name = ""
        self.hint = ""
        self.pieces: list[str] = []
        self.said: ToolCall | None = None
        self.fields: JsonObject = {}

    @property
    def raw(self) -> str:
        """The arguments so far."""
        return "".join(self.pieces) or self.hint

    def settle(self, *, broke_off: bool) -> ToolCall:
        """The call out of all that came of it."""
        raw = self.raw
        if self.is_custom:
            arguments: JsonObject = {"input": raw}
            note = "a custom tool's text: taken as 'input'"
            return ToolCall(self.id, self.name, arguments, dumps(arguments), not broke_off, (note,))
        arguments, repairs, complete = read_arguments(raw)
        if broke_off and not raw.strip():
            complete, repairs = False, ("the answer broke off before the arguments",)
        return ToolCall(self.id, self.name, arguments, raw, complete, repairs)

    def part(self) -> ReplyPart | None:
        """As it is so far."""
        return self.said or self.settle(broke_off=True)


OpenPart = OpenText | OpenThought | OpenHosted | OpenMedia | OpenCall


class Item:
    """An item of the output, and the parts of the reply that it holds.

    Attributes:
        kind: its type.
        texts: of a message, by number and the field in which their text stands.
        whole: its last word came.
    """

    __slots__ = ("call", "id", "kind", "texts", "thought", "whole")

    def __init__(self, kind: str, id: str) -> None:
        self.kind = kind
        self.id = id
        self.texts: dict[tuple[int, str], OpenText] = {}
        self.thought: OpenThought | None = None
        self.call: OpenCall | None = None
        self.whole = False
