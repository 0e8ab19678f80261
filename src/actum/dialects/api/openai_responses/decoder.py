"""Reads an answer of the Responses API, a whole one or the events of a stream. Pure.

The API says everything several times: in pieces, at the end of a part, of an item, and of the answer. The pieces are
told as they come; each later saying only adds what is new in it. So a server that leaves some of them out is read as
well: one that sends no `output_item.added`, no deltas, or nothing in the last event. Pieces belong to an item by their
`output_index`, because proxies change ids on the way, and by `item_id` where there is no index.

What an item of a hosted tool becomes is said in `openai_responses.items`. A call of a custom tool, which has free text
in place of arguments, becomes a call with one argument, `input`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Literal

import msgspec
from msgspec import Struct

from ....core.call import TextPart, ToolCall
from ....core.errors import ModelGarbled, ModelUnavailable
from ....core.event import CallDelta
from ....core.json import Json, JsonObject, dumps
from ....core.message import (
    ReasoningPart,
    RefusalPart,
    Reply,
    Usage,
)
from ....core.tool import SEARCH
from ...tool_names import ANY_NAMES, ToolNames
from ..call_wire import read_arguments
from ..draft import (
    Draft,
    OpenCall,
    OpenText,
    OpenWhole,
    custom_call,
    others,
)
from ..model_errors import error_of_event, error_of_field, read_json
from ..raw_json import NOT_DECODED, read_as
from ..signatures import OPENAI
from ..token_count import count
from .items import ITEMS, beside_thought, image_of


class FunctionCall(OpenCall):
    """A call of a function.

    Attributes:
        hint: what stood as arguments where it began; counts if nothing else comes.
    """

    __slots__ = ("hint",)
    is_custom = False

    def __init__(self, index: int, id: str, wire_id: str) -> None:
        super().__init__(index, id, wire_id)
        self.hint = ""


class CustomCall(FunctionCall):
    """A call of a custom tool: free text, which becomes one argument."""

    __slots__ = ()
    is_custom = True

    def settle(self, *, broke_off: bool) -> ToolCall:
        """The call out of all that came of it."""
        return custom_call(self, broke_off=broke_off)


class SearchCall(FunctionCall):
    """A call of the API's own search of tools, which the client carries out. It has no name of its own."""

    __slots__ = ()


CALLS: dict[str, type[FunctionCall]] = {
    "function_call": FunctionCall,
    "custom_tool_call": CustomCall,
    "tool_search_call": SearchCall,
}
"""The items that are calls."""


def _call_kind(item: JsonObject, kind: str) -> type[FunctionCall] | None:
    """What collects the call that an item is; None for any other item, such as a search that the API carries out."""
    found = CALLS.get(kind)
    return None if found is SearchCall and item.get("execution") != "client" else found


class Item:
    """An item of the output, and the parts of the reply that it holds.

    Attributes:
        kind: its type.
        texts: of a message, by number and the field that holds their text.
        thought: of a reasoning item; `told` holds what was told of each of its summaries and texts.
        whole: its last word came.
    """

    __slots__ = ("call", "id", "kind", "texts", "thought", "told", "whole")

    def __init__(self, kind: str, id: str) -> None:
        self.kind = kind
        self.id = id
        self.texts: dict[tuple[int, str], OpenText] = {}
        self.thought: OpenText | None = None
        self.told: dict[tuple[str, int], list[str]] = {}
        self.call: FunctionCall | None = None
        self.whole = False


BETWEEN_THOUGHTS = "\n\n"
"""Stands between the summaries of one reasoning item, which are paragraphs."""

_TEXTS: dict[str, tuple[type[TextPart | RefusalPart], str]] = {
    "output_text": (TextPart, "text"),
    "text": (TextPart, "text"),
    "input_text": (TextPart, "text"),
    "refusal": (RefusalPart, "refusal"),
}
"""The parts of a message, and in which field they say their text."""

_ECHOED = frozenset(
    {
        *("id", "object", "created_at", "completed_at", "model", "output", "output_text", "usage", "status", "error"),
        *("incomplete_details", "instructions", "max_output_tokens", "max_tool_calls", "parallel_tool_calls", "store"),
        *("previous_response_id", "prompt", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention"),
        *("reasoning", "safety_identifier", "temperature", "text", "tool_choice", "tools", "top_logprobs", "top_p"),
        *("truncation", "user", "background", "access_programs", "image", "frequency_penalty", "presence_penalty"),
    }
)
"""Fields of an answer that are read, or only repeat the request. All others are extras."""

_OF_MESSAGE = frozenset({"id", "type", "role", "status", "content"})
_OF_TEXT = frozenset({"type", "text", "refusal"})
_OF_CALL = frozenset({"id", "type", "call_id", "name", "arguments", "input", "status", "execution"})


class _ToldItems:
    """The items of a stream, that the last event tells once more: each is found again once, without looking at all.

    Args:
        items: in the order in which they were told.
    """

    def __init__(self, items: Sequence[Item]) -> None:
        self._items = tuple(items)
        self._numbers = {item: number for number, item in enumerate(self._items)}
        self._alike: dict[_Key, deque[int]] = {}
        for number, told in enumerate(self._items):
            ids = {None, told.id, told.call.wire_id if told.call else None}
            for name, id_ in product((None, _called(told)), ids):
                self._alike.setdefault((told.kind, name, id_), deque()).append(number)

    def take(self, item: JsonObject, name: str, here: Item | None) -> Item | None:
        """The item of the stream that one of the last event is: by its id, its place, or as the next of its kind; None
        where there is none. Not by its id alone, since vLLM gives it another one in the last event.

        Args:
            item: of the last event.
            name: of the tool that it calls; empty where it has none.
            here: the item that the stream told at its place.
        """
        kind, names = str(item.get("type")), (name, "") if name else (None,)
        ids = {str(item[field]) for field in ("id", "call_id") if item.get(field)}
        found = self._first([(kind, one, id_) for one in names for id_ in ids])
        if found is None and here is not None and here.kind == kind and (not name or _called(here) in names):
            found = self._numbers.get(here)
        if found is None:
            found = self._first([(kind, one, None) for one in names])
        if found is None:
            return None
        told = self._items[found]
        del self._numbers[told]
        return told

    def _first(self, keys: Iterable[_Key]) -> int | None:
        """The first of the items with one of these keys that was not taken."""
        found: list[int] = []
        for key in keys:
            numbers = self._alike.get(key)
            while numbers and self._items[numbers[0]] not in self._numbers:
                numbers.popleft()
            if numbers:
                found.append(numbers[0])
        return min(found, default=None)


_Key = tuple[str, str | None, str | None]
"""The kind of an item, the name of the tool that it calls, and an id of it; None for whichever it is."""


def _called(told: Item) -> str:
    """The name of the tool that an item calls; empty where it is not known."""
    return told.call.name if told.call else ""


class _Event(Struct, gc=False):
    """Any event of the stream. The fields are checked where they are used, since servers differ in them."""

    type: Json = None
    output_index: Json = None
    content_index: Json = None
    summary_index: Json = None
    item_id: Json = None
    delta: Json = None
    text: Json = None
    refusal: Json = None
    arguments: Json = None
    input: Json = None
    item: Json = None
    part: Json = None
    response: Json = None
    error: Json = None


class _Piece(Struct, gc=False):
    """By far the most common events. All others are an `_Event`."""

    type: Literal["response.function_call_arguments.delta", "response.output_text.delta"]
    output_index: int
    delta: str
    content_index: int = 0


_decode_piece = msgspec.json.Decoder(_Piece).decode
_decode_event = msgspec.json.Decoder(_Event).decode


class ResponsesAnswer:
    """One answer; see `Answer`.

    Args:
        names: how the tools of the request are called on the wire.
        keep_own_ids: what is read comes from a client, whose ids of thoughts may be ours.
    """

    KIND = "a response"

    def __init__(self, names: ToolNames = ANY_NAMES, *, keep_own_ids: bool = False) -> None:
        self.draft = Draft(names)
        self._keep_own_ids = keep_own_ids
        self._items: list[Item] = []
        self._slots: dict[int | str, Item] = {}

    @property
    def reply(self) -> Reply:
        """All that was said so far."""
        return self.draft.reply(read_usage(self.draft.usage), ITEMS)

    def read_item(self, item: JsonObject) -> None:
        """Take an item that is whole and was not told before."""
        self._finish_item(self._begin_item(item, len(self._items)), item)

    def read_body(self, body: bytes) -> None:
        """Take a whole answer."""
        response = read_json(body)
        if isinstance(response, dict) and (
            isinstance(response.get("output"), list) or response.get("object") == "response"
        ):
            self.draft.understood = True
            self._read_response(response)
        elif error := error_of_event(body):
            raise error

    def read_event(self, data: bytes) -> None:
        """Take an event."""
        if self._read_piece(data):
            return
        event = read_as(_decode_event, data)
        if isinstance(event.type, str) and event.type in _READERS:
            self.draft.understood = True
            read, what = _READERS[event.type]
            read(self, event, what)
        elif (event.error or event.type in (None, "error")) and (error := error_of_event(data)):
            raise error

    def finish(self) -> None:
        """Nothing more will come."""
        for item in self._items:
            self._take_hint(item.call)
        self.draft.say_calls(broke_off=not self.draft.ended or self.draft.finish_reason not in ("", "completed"))

    # What comes in.

    def _read_piece(self, data: bytes) -> bool:
        """Take an event of a most common form; whether it is one."""
        try:
            piece = _decode_piece(data)
        except NOT_DECODED:
            return False
        item = self._slots.get(piece.output_index)
        if item is None:
            return False
        if piece.type == "response.output_text.delta":
            opened = item.texts.get((piece.content_index, "text")) if item.kind == "message" else None
            if opened is not None:
                self.draft.say(opened, piece.delta)
            return opened is not None
        call = item.call
        if call is None or item.kind != "function_call" or call.said or not call.name or not piece.delta:
            return False
        self.draft.argue(call, piece.delta)
        return True

    def _read_response(self, response: Json) -> None:
        """An answer that is whole, although some of it may have been told."""
        if not isinstance(response, dict):
            raise ModelGarbled("the endpoint's answer is no response")
        self.draft.learn(response.get("id"), response.get("model"))
        status, details = response.get("status"), response.get("incomplete_details")
        if response.get("error") or status == "failed":
            raise error_of_field(response.get("error") or "it does not say why")
        if status == "cancelled":
            raise ModelUnavailable("the response was cancelled")
        if status in ("queued", "in_progress"):
            raise ModelGarbled("the response is not finished: one that runs in the background can not be waited for")
        self.draft.count(response.get("usage"))
        reason = details.get("reason") if isinstance(details, dict) else None
        self.draft.finish_reason = str(reason or status or "")
        self.draft.extras |= {name: value for name, value in response.items() if name not in _ECHOED and value}
        output = response.get("output")
        left = _ToldItems(self._items)
        for number, item in enumerate(output if isinstance(output, list) else []):
            if isinstance(item, dict):
                name = self.draft.names.back(str(item["name"])) if item.get("name") else ""
                found = left.take(item, name, self._slots.get(number)) or self._begin_item(item, number)
                self._finish_item(found, item)
        self.draft.ended = True

    # What an event does.

    def _on_begin(self, event: _Event, _: str) -> None:
        if isinstance(event.response, dict):
            self.draft.learn(event.response.get("id"), event.response.get("model"))

    def _on_end(self, event: _Event, _: str) -> None:
        if event.error:
            raise error_of_field(event.error)
        self._read_response(event.response)

    def _on_item(self, event: _Event, _: str) -> None:
        if isinstance(event.item, dict):
            item = self._begin_item(event.item, _place(event))
            if item.call:
                self._name_call(item.call, event.item)
                item.call.hint = _text(event.item.get("arguments") or "")

    def _on_item_done(self, event: _Event, _: str) -> None:
        if isinstance(event.item, dict):
            item = self._slots.get(_place(event))
            id_ = str(event.item.get("id") or "")
            if item is None or item.kind != event.item.get("type") or (item.whole and item.id != id_):
                item = self._begin_item(event.item, _place(event))
            self._finish_item(item, event.item)

    def _on_part_done(self, event: _Event, _: str) -> None:
        item = self._slots.get(_place(event))
        if item is not None and item.kind != "message":
            return  # vLLM calls the text of a reasoning item an output_text
        if isinstance(event.part, dict) and str(event.part.get("type")) in _TEXTS:
            self._whole_text(self._item(event, "message"), event.content_index, event.part)

    def _on_text(self, event: _Event, kind: str) -> None:
        self.draft.say(self._text_of(self._item(event, "message"), event.content_index, kind), _text(event.delta))

    def _on_text_done(self, event: _Event, kind: str) -> None:
        said = {"type": kind, _TEXTS[kind][1]: event.text if kind == "output_text" else event.refusal}
        self._whole_text(self._item(event, "message"), event.content_index, said)

    def _on_thought(self, event: _Event, field: str) -> None:
        self._think(self._item(event, "reasoning"), _place_in(event, field), _text(event.delta))

    def _on_thought_done(self, event: _Event, field: str) -> None:
        self._whole_thought(self._item(event, "reasoning"), _place_in(event, field), event.text)

    def _on_arguments(self, event: _Event, kind: str) -> None:
        self._add_arguments(self._call_of(event, kind), _text(event.delta))

    def _on_arguments_done(self, event: _Event, kind: str) -> None:
        call = self._call_of(event, kind)
        self._whole_arguments(call, event.arguments)
        if call.name and call.said is None and any(map(str.strip, call.pieces)):
            said = call.settle(broke_off=False)
            if said.complete:
                self.draft.say_call(call, said)

    # Items.

    def _item(self, event: _Event, kind: str) -> Item:
        item = self._slots.get(_place(event))
        if item is None or item.kind != kind:
            item = self._begin_item({"type": kind, "id": event.item_id}, _place(event))
        return item

    def _begin_item(self, item: JsonObject, place: int | str) -> Item:
        begun = self._slots[place] = Item(str(item.get("type") or "message"), str(item.get("id") or ""))
        self._items.append(begun)
        if kind := _call_kind(item, begun.kind):
            begun.call = self.draft.begin_call(kind, str(item.get("call_id") or ""), begun.id)
        return begun

    def _finish_item(self, item: Item, said: JsonObject) -> None:
        """Take an item's last word; only the first of them counts, beyond what is new in a text."""
        if item.call:
            self._finish_call(item.call, said)
        elif item.kind == "message":
            self._finish_message(item, said)
        elif item.kind == "reasoning" and not item.whole:
            self._finish_thought(item, said)
        elif not item.whole:
            image = image_of(said)
            self.draft.parts.append(OpenWhole(image, said if image is None else {}))
        item.whole = True

    def _finish_message(self, item: Item, said: JsonObject) -> None:
        content = said.get("content")
        if isinstance(content, str):
            content = [{"type": "output_text", "text": content}]
        for number, part in enumerate(content if isinstance(content, list) else []):
            if isinstance(part, dict) and str(part.get("type")) in _TEXTS:
                self._whole_text(item, number, part)
            elif part and not item.whole:
                unread = self.draft.extras.setdefault("content", [])
                if isinstance(unread, list):
                    unread.append(part)
        for opened in item.texts.values():
            opened.fields |= others(said, _OF_MESSAGE)

    def _finish_thought(self, item: Item, said: JsonObject) -> None:
        for field in ("summary", "content"):
            parts = said.get(field)
            for number, part in enumerate(parts if isinstance(parts, list) else []):
                if isinstance(part, dict):
                    self._whole_thought(item, (field, number), part.get("text"))
        thought = self._thought(item)
        thought.fields = beside_thought(said, "".join(thought.pieces), keep_own_id=self._keep_own_ids)
        self.draft.sign(thought, str(said.get("encrypted_content") or ""), OPENAI)

    def _finish_call(self, call: FunctionCall, said: JsonObject) -> None:
        if call.said is None:
            self._name_call(call, said)
            self._whole_arguments(call, said.get("input" if call.is_custom else "arguments"))
            self._take_hint(call)
            settled = call.settle(broke_off=said.get("status") == "incomplete")
            if call.is_custom:
                self.draft.deltas.append(CallDelta(call.index, "", settled.raw))
            self.draft.say_call(call, settled)
        call.fields |= others(said, _OF_CALL)

    # Texts and thoughts.

    def _text_of(self, item: Item, number: Json, kind: str) -> OpenText:
        part_kind, field = _TEXTS[kind]
        place = number if isinstance(number, int) else 0, field
        if place not in item.texts:
            item.texts[place] = self.draft.begin_text(part_kind)
        return item.texts[place]

    def _whole_text(self, item: Item, number: Json, part: JsonObject) -> None:
        kind = str(part["type"])
        opened = self._text_of(item, number, kind)
        self.draft.say(opened, _rest(opened.pieces, part.get(_TEXTS[kind][1])))
        opened.fields |= others(part, _OF_TEXT)

    def _thought(self, item: Item) -> OpenText:
        if item.thought is None:
            item.thought = self.draft.begin_text(ReasoningPart)
        return item.thought

    def _think(self, item: Item, place: tuple[str, int], text: str) -> None:
        if text:
            thought = self._thought(item)
            if place not in item.told and thought.pieces:
                self.draft.say(thought, BETWEEN_THOUGHTS)
            item.told.setdefault(place, []).append(text)
            self.draft.say(thought, text)

    def _whole_thought(self, item: Item, place: tuple[str, int], text: Json) -> None:
        self._think(item, place, _rest(item.told.get(place, []), text))

    # Calls.

    def _call_of(self, event: _Event, kind: str) -> FunctionCall:
        call = self._item(event, kind).call
        assert call is not None  # of these kinds of item each has one
        return call

    def _name_call(self, call: FunctionCall, item: JsonObject) -> None:
        name, wire_id = SEARCH if isinstance(call, SearchCall) else item.get("name"), item.get("call_id")
        if isinstance(name, str) and name and not call.name:
            if wire_id and not call.wire_id:  # it began without an item
                self.draft.rename_call(call, str(wire_id))
            self.draft.name_call(call, name, "" if call.is_custom else "".join(call.pieces))

    def _add_arguments(self, call: FunctionCall, piece: str) -> None:
        if piece and call.said is None:
            if call.name and not call.is_custom:
                self.draft.argue(call, piece)
            else:
                call.pieces.append(piece)

    def _take_hint(self, call: FunctionCall | None) -> None:
        if call and not call.pieces:
            self._add_arguments(call, call.hint)

    def _whole_arguments(self, call: FunctionCall, whole: Json) -> None:
        """The pieces count, unless they are no JSON and the last word is."""
        text = _text(whole)
        rest = _rest(call.pieces, text)
        told = "".join(call.pieces)
        is_other = text and not rest and text != told and not call.is_custom
        if is_other and not read_arguments(told)[2] and read_arguments(text)[2]:
            call.pieces = [text]
        self._add_arguments(call, rest)


_READERS: dict[str, tuple[Callable[[ResponsesAnswer, _Event, str], None], str]] = {
    "response.created": (ResponsesAnswer._on_begin, ""),
    "response.queued": (ResponsesAnswer._on_begin, ""),
    "response.in_progress": (ResponsesAnswer._on_begin, ""),
    "response.output_item.added": (ResponsesAnswer._on_item, ""),
    "response.output_item.done": (ResponsesAnswer._on_item_done, ""),
    "response.content_part.done": (ResponsesAnswer._on_part_done, ""),
    "response.output_text.delta": (ResponsesAnswer._on_text, "output_text"),
    "response.output_text.done": (ResponsesAnswer._on_text_done, "output_text"),
    "response.refusal.delta": (ResponsesAnswer._on_text, "refusal"),
    "response.refusal.done": (ResponsesAnswer._on_text_done, "refusal"),
    "response.reasoning_summary_text.delta": (ResponsesAnswer._on_thought, "summary"),
    "response.reasoning_summary_text.done": (ResponsesAnswer._on_thought_done, "summary"),
    "response.reasoning_text.delta": (ResponsesAnswer._on_thought, "content"),
    "response.reasoning_text.done": (ResponsesAnswer._on_thought_done, "content"),
    "response.function_call_arguments.delta": (ResponsesAnswer._on_arguments, "function_call"),
    "response.function_call_arguments.done": (ResponsesAnswer._on_arguments_done, "function_call"),
    "response.custom_tool_call_input.delta": (ResponsesAnswer._on_arguments, "custom_tool_call"),
    "response.completed": (ResponsesAnswer._on_end, ""),
    "response.incomplete": (ResponsesAnswer._on_end, ""),
    "response.failed": (ResponsesAnswer._on_end, ""),
}
"""What each event does, and to what kind of text, field or item. All others repeat what these say, or tell how far a
hosted tool is."""


def read_usage(said: JsonObject) -> Usage:
    """The tokens of an answer; what is missing or no number counts as 0."""
    cached, thought = said.get("input_tokens_details"), said.get("output_tokens_details")
    return Usage(
        count(said.get("input_tokens")),
        count(said.get("output_tokens")),
        count(cached.get("cached_tokens") if isinstance(cached, dict) else 0),
        count(thought.get("reasoning_tokens") if isinstance(thought, dict) else 0),
        cache_written_tokens=count(cached.get("cache_write_tokens") if isinstance(cached, dict) else 0),
    )


def _place(event: _Event) -> int | str:
    return event.output_index if isinstance(event.output_index, int) else str(event.item_id or "")


def _place_in(event: _Event, field: str) -> tuple[str, int]:
    """Which summary, or which text, of a thought."""
    number = event.summary_index if field == "summary" else event.content_index
    return field, number if isinstance(number, int) else 0


def _text(value: Json) -> str:
    """Text; what came as a value in its place is written as JSON."""
    return value if isinstance(value, str) else "" if value is None else dumps(value)


def _rest(told: list[str], whole: Json) -> str:
    """What is new in a text that is said again as a whole."""
    text, before = _text(whole), "".join(told)
    return text[len(before) :] if text.startswith(before) else ""
