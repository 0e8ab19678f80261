"""Reads an answer of the Responses API: whole or as an event stream, in any cut, in linear time. Pure.

The API says everything several times: in pieces, at the end of a part, of an item, and of the answer. The pieces are
told as they come; each later saying only adds what is new in it. So a server that leaves some of them out is read as
well: one that sends no `output_item.added`, no deltas, or nothing in the last event. Pieces belong to an item by their
`output_index`, because proxies change ids on the way, and by `item_id` where there is no index.

What an item of a hosted tool becomes is said in `openai_responses_items`. A call of a custom tool, which has free text
in place of arguments, becomes a call with one argument, `input`.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec import Struct

from ..core.call import TextPart, ToolCall
from ..core.errors import ModelGarbled, ModelUnavailable
from ..core.event import CallDelta, CallSaid, Delta, ReasoningDelta, TextDelta
from ..core.json import Json, JsonObject, JsonProblem, dumps
from ..core.message import RefusalPart, Reply, Usage
from .answer_reader import AnswerReader
from .block_extras import gather
from .call_wire import read_arguments, unique_id
from .openai_chat_error import error_of_event, error_of_field, read_json
from .openai_responses_items import ITEMS, beside_thought, image_of
from .openai_responses_parts import Item, OpenCall, OpenHosted, OpenMedia, OpenPart, OpenText, OpenThought
from .signatures import OPENAI
from .token_count import count
from .tool_names import ANY_NAMES, ToolNames

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
_OF_CALL = frozenset({"id", "type", "call_id", "name", "arguments", "input", "status"})


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


_decode_event = msgspec.json.Decoder(_Event).decode
_NOT_DECODED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class ResponsesDecoder:
    """Reads one answer; see `base.ApiDecoder`.

    Args:
        names: how the tools of the request are called on the wire.
        keep_own_ids: what is read comes from a client, whose ids of thoughts may be ours.
    """

    def __init__(self, names: ToolNames = ANY_NAMES, *, keep_own_ids: bool = False) -> None:
        self.ended = False
        self._names = names
        self._keep_own_ids = keep_own_ids
        self._reader = AnswerReader()
        self._understood = False
        self._open: list[OpenPart] = []
        self._items: list[Item] = []
        self._slots: dict[int | str, Item] = {}
        self._calls: list[OpenCall] = []
        self._ids: set[str] = set()
        self._finish_reason = ""
        self._usage = Usage()
        self._model = ""
        self._id = ""
        self._extras: JsonObject = {}

    def feed(self, chunk: bytes | str) -> list[Delta]:
        """Take the next piece.

        Raises:
            ModelError: the stream tells of an error.
            ModelGarbled: an event that is not of this API.
        """
        deltas: list[Delta] = []
        for data in self._reader.feed(chunk):
            self._read_event(data, deltas)
        return deltas

    def close(self) -> list[Delta]:
        """The input is at its end.

        Raises:
            ModelGarbled: what came is not an answer of this API.
        """
        deltas: list[Delta] = []
        body, rest = self._reader.close()
        if body is not None:
            self._read_body(body, deltas)
        for data in rest:
            self._read_event(data, deltas, may_be_torn=True)
        if self._reader.began and not self._understood:
            raise ModelGarbled("the endpoint's answer is neither a response nor a stream of one")
        broke_off = not self.ended or self._finish_reason not in ("", "completed")
        for call in self._calls:
            if call.said is None:
                self._add_arguments(call, "" if call.pieces else call.hint, deltas)
                self._say_call(call, call.settle(broke_off=broke_off), deltas)
        return deltas

    @property
    def reply(self) -> Reply:
        """All that was said so far."""
        read = [(opened.part(), opened.fields) for opened in self._open]
        content, rest = gather([(part, fields) for part, fields in read if part is not None or fields])
        extras = self._extras | ({ITEMS: rest} if rest else {})
        return Reply(content, self._finish_reason, self._usage, self._model, self._id, extras)

    def read_item(self, item: JsonObject, deltas: list[Delta]) -> None:
        """Take an item that is whole and was not told before."""
        self._finish_item(self._begin_item(item, len(self._items)), item, deltas)

    # What comes in.

    def _read_body(self, body: bytes, deltas: list[Delta]) -> None:
        try:
            response = read_json(body)
        except JsonProblem:
            raise ModelGarbled("the endpoint's answer is no JSON, or broke off") from None
        if isinstance(response, dict) and (
            isinstance(response.get("output"), list) or response.get("object") == "response"
        ):
            self._understood = True
            self._read_response(response, deltas)
        elif error := error_of_event(body):
            raise error

    def _read_event(self, data: bytes, deltas: list[Delta], *, may_be_torn: bool = False) -> None:
        try:
            event = _decode_event(data)
        except _NOT_DECODED:
            try:
                event = msgspec.convert(read_json(data), _Event)
            except JsonProblem:
                if data.startswith(b"[DONE]"):
                    self.ended = self._understood
                elif not may_be_torn:
                    raise ModelGarbled("an event of the endpoint's stream is no JSON") from None
                return
            except msgspec.ValidationError:
                raise ModelGarbled("an event of the endpoint's stream is no object") from None
        read = _READERS.get(event.type) if isinstance(event.type, str) else None
        if read is not None:
            self._understood = True
            read(self, event, deltas)
        elif (event.error or event.type in (None, "error")) and (error := error_of_event(data)):
            raise error

    def _read_response(self, response: Json, deltas: list[Delta]) -> None:
        """An answer that is whole, although some of it may have been told."""
        if not isinstance(response, dict):
            raise ModelGarbled("the endpoint's answer is no response")
        self._learn(response)
        status, details = response.get("status"), response.get("incomplete_details")
        if response.get("error") or status == "failed":
            raise error_of_field(response.get("error") or "it does not say why")
        if status == "cancelled":
            raise ModelUnavailable("the response was cancelled")
        if status in ("queued", "in_progress"):
            raise ModelGarbled("the response is not finished: one that runs in the background can not be waited for")
        if isinstance(response.get("usage"), dict):
            self._usage = read_usage(response["usage"])
        reason = details.get("reason") if isinstance(details, dict) else None
        self._finish_reason = str(reason or status or "")
        self._extras |= {name: value for name, value in response.items() if name not in _ECHOED and value}
        output = response.get("output")
        left = list(self._items)
        for number, item in enumerate(output if isinstance(output, list) else []):
            if isinstance(item, dict):
                found = self._told_before(item, number, left)
                if found is None:
                    found = self._begin_item(item, number)
                else:
                    left.remove(found)
                self._finish_item(found, item, deltas)
        self.ended = True

    def _learn(self, response: JsonObject) -> None:
        id_, model = response.get("id"), response.get("model")
        if isinstance(id_, str) and not self._id:
            self._id = id_
        if isinstance(model, str) and not self._model:
            self._model = model

    def _told_before(self, item: JsonObject, number: int, left: list[Item]) -> Item | None:
        """The item of the stream that one of the last event is: by its id, its place, or as the next of its kind.

        Not by its id alone, since vLLM gives it another one in the last event.
        """
        alike = [told for told in left if told.kind == item.get("type")]
        if name := item.get("name"):
            name = self._names.back(str(name))
            alike = [told for told in alike if told.call is None or told.call.name in (name, "")]
        ids = {str(item[field]) for field in ("id", "call_id") if item.get(field)}
        same = [told for told in alike if told.id in ids or (told.call and told.call.wire_id in ids)]
        here = [told for told in alike if told is self._slots.get(number)]
        found = same or here or alike
        return found[0] if found else None

    # What an event does.

    def _on_begin(self, event: _Event, deltas: list[Delta]) -> None:
        if isinstance(event.response, dict):
            self._learn(event.response)

    def _on_end(self, event: _Event, deltas: list[Delta]) -> None:
        if event.error:
            raise error_of_field(event.error)
        self._read_response(event.response, deltas)

    def _on_item(self, event: _Event, deltas: list[Delta]) -> None:
        if isinstance(event.item, dict):
            item = self._begin_item(event.item, _place(event))
            if item.call:
                self._name_call(item.call, event.item, deltas)
                item.call.hint = _text(event.item.get("arguments"))

    def _on_item_done(self, event: _Event, deltas: list[Delta]) -> None:
        if isinstance(event.item, dict):
            item = self._slots.get(_place(event))
            id_ = str(event.item.get("id") or "")
            if item is None or item.kind != event.item.get("type") or (item.whole and item.id != id_):
                item = self._begin_item(event.item, _place(event))
            self._finish_item(item, event.item, deltas)

    def _on_part_done(self, event: _Event, deltas: list[Delta]) -> None:
        item = self._slots.get(_place(event))
        if item is not None and item.kind != "message":
            return  # vLLM calls the text of a reasoning item an output_text
        if isinstance(event.part, dict) and str(event.part.get("type")) in _TEXTS:
            self._whole_text(self._item(event, "message"), _number(event.content_index), event.part, deltas)

    def _on_text(self, event: _Event, deltas: list[Delta]) -> None:
        self._say_text(self._text_of(event, "output_text"), _text(event.delta), deltas)

    def _on_text_done(self, event: _Event, deltas: list[Delta]) -> None:
        self._say_text(opened := self._text_of(event, "output_text"), _rest(opened.pieces, event.text), deltas)

    def _on_refusal(self, event: _Event, deltas: list[Delta]) -> None:
        self._say_text(self._text_of(event, "refusal"), _text(event.delta), deltas)

    def _on_refusal_done(self, event: _Event, deltas: list[Delta]) -> None:
        self._say_text(opened := self._text_of(event, "refusal"), _rest(opened.pieces, event.refusal), deltas)

    def _on_summary(self, event: _Event, deltas: list[Delta]) -> None:
        place = ("summary", _number(event.summary_index))
        self._think(self._thought(self._item(event, "reasoning")), place, _text(event.delta), deltas)

    def _on_summary_done(self, event: _Event, deltas: list[Delta]) -> None:
        place = ("summary", _number(event.summary_index))
        self._whole_thought(self._thought(self._item(event, "reasoning")), place, event.text, deltas)

    def _on_thought(self, event: _Event, deltas: list[Delta]) -> None:
        place = ("content", _number(event.content_index))
        self._think(self._thought(self._item(event, "reasoning")), place, _text(event.delta), deltas)

    def _on_thought_done(self, event: _Event, deltas: list[Delta]) -> None:
        place = ("content", _number(event.content_index))
        self._whole_thought(self._thought(self._item(event, "reasoning")), place, event.text, deltas)

    def _on_arguments(self, event: _Event, deltas: list[Delta]) -> None:
        self._add_arguments(self._call_of(event, "function_call"), _text(event.delta), deltas)

    def _on_arguments_done(self, event: _Event, deltas: list[Delta]) -> None:
        call = self._call_of(event, "function_call")
        self._whole_arguments(call, event.arguments, deltas)
        if call.name and call.said is None and call.raw.strip():
            said = call.settle(broke_off=False)
            if said.complete:
                self._say_call(call, said, deltas)

    def _on_input(self, event: _Event, deltas: list[Delta]) -> None:
        self._add_arguments(self._call_of(event, "custom_tool_call"), _text(event.delta), deltas)

    # Items.

    def _item(self, event: _Event, kind: str) -> Item:
        item = self._slots.get(_place(event))
        if item is None or item.kind != kind:
            item = self._begin_item({"type": kind, "id": event.item_id}, _place(event))
        return item

    def _begin_item(self, item: JsonObject, place: int | str) -> Item:
        begun = self._slots[place] = Item(str(item.get("type") or "message"), str(item.get("id") or ""))
        self._items.append(begun)
        if begun.kind in ("function_call", "custom_tool_call"):
            number = len(self._calls)
            wire_id = str(item.get("call_id") or "")
            id_ = unique_id(wire_id or begun.id, number, self._ids)
            begun.call = OpenCall(number, id_, wire_id, is_custom=begun.kind == "custom_tool_call")
            self._ids.add(id_)
            self._calls.append(begun.call)
            self._open.append(begun.call)
        return begun

    def _finish_item(self, item: Item, said: JsonObject, deltas: list[Delta]) -> None:
        """Take an item's last word; only the first of them counts, beyond what is new in a text."""
        if item.call:
            self._finish_call(item.call, said, deltas)
        elif item.kind == "message":
            self._finish_message(item, said, deltas)
        elif item.kind == "reasoning" and not item.whole:
            self._finish_thought(self._thought(item), said, deltas)
        elif not item.whole:
            image = image_of(said)
            self._open.append(OpenHosted(said) if image is None else OpenMedia(image))
        item.whole = True

    def _finish_message(self, item: Item, said: JsonObject, deltas: list[Delta]) -> None:
        content = said.get("content")
        if isinstance(content, str):
            content = [{"type": "output_text", "text": content}]
        for number, part in enumerate(content if isinstance(content, list) else []):
            if isinstance(part, dict) and str(part.get("type")) in _TEXTS:
                self._whole_text(item, number, part, deltas)
            elif part and not item.whole:
                unread = self._extras.setdefault("content", [])
                if isinstance(unread, list):
                    unread.append(part)
        for opened in item.texts.values():
            opened.fields |= _rest_of(said, _OF_MESSAGE)

    def _finish_thought(self, thought: OpenThought, said: JsonObject, deltas: list[Delta]) -> None:
        for field in ("summary", "content"):
            parts = said.get(field)
            for number, part in enumerate(parts if isinstance(parts, list) else []):
                if isinstance(part, dict):
                    self._whole_thought(thought, (field, number), part.get("text"), deltas)
        thought.fields = beside_thought(said, "".join(thought.pieces), keep_own_id=self._keep_own_ids)
        thought.signature = str(said.get("encrypted_content") or "")
        thought.by = OPENAI if thought.signature else ""
        if thought.signature:
            deltas.append(ReasoningDelta("", thought.signature, by=thought.by))

    def _finish_call(self, call: OpenCall, said: JsonObject, deltas: list[Delta]) -> None:
        if call.said is None:
            self._name_call(call, said, deltas)
            self._whole_arguments(call, said.get("input" if call.is_custom else "arguments"), deltas)
            settled = call.settle(broke_off=said.get("status") == "incomplete")
            if call.is_custom:
                deltas.append(CallDelta(call.index, "", settled.raw))
            self._say_call(call, settled, deltas)
        call.fields |= _rest_of(said, _OF_CALL)

    # Texts.

    def _text_of(self, event: _Event, kind: str) -> OpenText:
        return self._part_of(self._item(event, "message"), _number(event.content_index), kind)

    def _part_of(self, item: Item, number: int, kind: str) -> OpenText:
        part_kind, field = _TEXTS[kind]
        opened = item.texts.get((number, field))
        if opened is None:
            opened = item.texts[number, field] = OpenText(part_kind)
            self._open.append(opened)
        return opened

    def _say_text(self, opened: OpenText, text: str, deltas: list[Delta]) -> None:
        if text:
            opened.pieces.append(text)
            deltas.append(TextDelta(text, opened.kind is RefusalPart))

    def _whole_text(self, item: Item, number: int, part: JsonObject, deltas: list[Delta]) -> None:
        kind = str(part["type"])
        opened = self._part_of(item, number, kind)
        self._say_text(opened, _rest(opened.pieces, part.get(_TEXTS[kind][1])), deltas)
        opened.fields |= _rest_of(part, _OF_TEXT)

    # Thoughts.

    def _thought(self, item: Item) -> OpenThought:
        if item.thought is None:
            item.thought = OpenThought()
            self._open.append(item.thought)
        return item.thought

    def _think(self, thought: OpenThought, place: tuple[str, int], text: str, deltas: list[Delta]) -> None:
        if not text:
            return
        if place not in thought.told:
            thought.told[place] = []
            if thought.pieces:
                thought.pieces.append(BETWEEN_THOUGHTS)
                deltas.append(ReasoningDelta(BETWEEN_THOUGHTS))
        thought.told[place].append(text)
        thought.pieces.append(text)
        deltas.append(ReasoningDelta(text))

    def _whole_thought(self, thought: OpenThought, place: tuple[str, int], text: Json, deltas: list[Delta]) -> None:
        self._think(thought, place, _rest(thought.told.get(place, []), text), deltas)

    # Calls.

    def _call_of(self, event: _Event, kind: str) -> OpenCall:
        call = self._item(event, kind).call
        assert call is not None  # of these kinds of item each has one
        return call

    def _name_call(self, call: OpenCall, item: JsonObject, deltas: list[Delta]) -> None:
        name, wire_id = item.get("name"), item.get("call_id")
        if isinstance(name, str) and name and not call.name:
            if wire_id and not call.wire_id:  # it began without an item
                call.wire_id = str(wire_id)
                call.id = unique_id(call.wire_id, call.index, self._ids)
                self._ids.add(call.id)
            call.name = self._names.back(name)
            deltas.append(CallDelta(call.index, call.name, "" if call.is_custom else "".join(call.pieces), call.id))

    def _add_arguments(self, call: OpenCall, piece: str, deltas: list[Delta]) -> None:
        if piece and call.said is None:
            call.pieces.append(piece)
            if call.name and not call.is_custom:
                deltas.append(CallDelta(call.index, "", piece))

    def _whole_arguments(self, call: OpenCall, whole: Json, deltas: list[Delta]) -> None:
        """The pieces count, unless they are no JSON and the last word is."""
        text = _text(whole)
        rest = _rest(call.pieces, text)
        told = "".join(call.pieces)
        is_other = text and not rest and text != told and not call.is_custom
        if is_other and not read_arguments(told)[2] and read_arguments(text)[2]:
            call.pieces = [text]
        self._add_arguments(call, rest, deltas)

    def _say_call(self, call: OpenCall, said: ToolCall, deltas: list[Delta]) -> None:
        call.said = said
        deltas.append(CallSaid(call.index, said))


_READERS: dict[str, Callable[[ResponsesDecoder, _Event, list[Delta]], None]] = {
    "response.created": ResponsesDecoder._on_begin,
    "response.queued": ResponsesDecoder._on_begin,
    "response.in_progress": ResponsesDecoder._on_begin,
    "response.output_item.added": ResponsesDecoder._on_item,
    "response.output_item.done": ResponsesDecoder._on_item_done,
    "response.content_part.done": ResponsesDecoder._on_part_done,
    "response.output_text.delta": ResponsesDecoder._on_text,
    "response.output_text.done": ResponsesDecoder._on_text_done,
    "response.refusal.delta": ResponsesDecoder._on_refusal,
    "response.refusal.done": ResponsesDecoder._on_refusal_done,
    "response.reasoning_summary_text.delta": ResponsesDecoder._on_summary,
    "response.reasoning_summary_text.done": ResponsesDecoder._on_summary_done,
    "response.reasoning_text.delta": ResponsesDecoder._on_thought,
    "response.reasoning_text.done": ResponsesDecoder._on_thought_done,
    "response.function_call_arguments.delta": ResponsesDecoder._on_arguments,
    "response.function_call_arguments.done": ResponsesDecoder._on_arguments_done,
    "response.custom_tool_call_input.delta": ResponsesDecoder._on_input,
    "response.completed": ResponsesDecoder._on_end,
    "response.incomplete": ResponsesDecoder._on_end,
    "response.failed": ResponsesDecoder._on_end,
}
"""What each event does. All others repeat what these say, or tell how far a hosted tool is."""


def read_usage(usage: Json) -> Usage:
    """The tokens of an answer; what is missing or no number counts as 0."""
    said = usage if isinstance(usage, dict) else {}
    cached, thought = said.get("input_tokens_details"), said.get("output_tokens_details")
    return Usage(
        count(said.get("input_tokens")),
        count(said.get("output_tokens")),
        count(cached.get("cached_tokens") if isinstance(cached, dict) else 0),
        count(thought.get("reasoning_tokens") if isinstance(thought, dict) else 0),
    )


def _place(event: _Event) -> int | str:
    return event.output_index if isinstance(event.output_index, int) else str(event.item_id or "")


def _number(index: Json) -> int:
    return index if isinstance(index, int) else 0


def _text(value: Json) -> str:
    """Text; what came as a value in its place is written as JSON."""
    return value if isinstance(value, str) else "" if value is None else dumps(value)


def _rest(told: list[str], whole: Json) -> str:
    """What is new in a text that is said again as a whole."""
    text, before = _text(whole), "".join(told)
    return text[len(before) :] if text.startswith(before) else ""


def _rest_of(said: JsonObject, known: frozenset[str]) -> JsonObject:
    return {name: value for name, value in said.items() if name not in known and value not in (None, "", [], {})}
