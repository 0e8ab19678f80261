"""Writes an answer of the Responses API, whole and as its event stream: what a server sends. Pure.

The whole answer is what the stream ends with, so there is one way to write either. An item is told to be done as soon
as the next one begins; a call when it was said.

Limits: no piece of a streamed reply tells of images and of items of hosted tools, so they are written at its end;
`phase`, annotations and the like of its parts stand in the last event alone; a server that knows the annotations of a
text while the text is told gives them with `annotate`. Media other than images are described.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, cast

import msgspec

from ....core.call import MediaPart, TextPart, ToolCall
from ....core.errors import ActumError
from ....core.event import (
    CallDelta,
    CallSaid,
    Delta,
    ReasoningDelta,
    TextDelta,
    ThoughtEnded,
)
from ....core.json import Json, JsonObject
from ....core.message import (
    ReasoningPart,
    RefusalPart,
    Reply,
    Usage,
)
from ....protocols.sse import sse
from ...error_answer import openai_error
from ..call_wire import WireIds, arguments_text
from ..cut_short import cut_short
from ..signatures import OPENAI, carried
from .items import (
    ITEMS,
    OWN_ID,
    image_item,
    thought_item,
    woven,
)

DEFAULT_ID = "resp_actum"
_INCOMPLETE = {"content_filter": "content_filter", "length": "max_output_tokens"}
"""The reason why an answer is not complete, by `cut_short`."""

_OF_PART = ("annotations", "logprobs")
"""Fields of a part's own; all others belong to the message that holds the part."""

_encode = msgspec.json.Encoder().encode


class _OpenItem:
    """An item that grows: itself, its place in the output, and the text of its current part.

    `shared` are the fields that it has beyond our nouns, `beside_part` those of its current part. Of a call, `said` is
    what it came to, once that is known.
    """

    __slots__ = ("beside_part", "is_refusal", "item", "parts", "pieces", "place", "said", "shared")

    def __init__(self, item: JsonObject, place: int) -> None:
        self.item = item
        self.place = place
        self.parts: list[Json] = []
        self.pieces: list[str] = []
        self.is_refusal: bool | None = None
        self.shared: JsonObject = {}
        self.beside_part: JsonObject = {}
        self.said: ToolCall | None = None


class ResponsesEncoder:
    """Writes an answer as events; see `base.Encoder`.

    Args:
        id_: of the answer; must be known before it is.
        model: the model that answers; likewise.
        created: seconds since 1970.
        fields: fields of the answer that repeat what the request says, such as `store`.

    Attributes:
        response: the whole answer; set by `close`.
    """

    def __init__(
        self, *, id_: str = DEFAULT_ID, model: str = "", created: int = 0, fields: JsonObject | None = None
    ) -> None:
        self.response: JsonObject = {}
        self._id = id_
        self._model = model
        self._created = created
        self._fields = fields or {}
        self._events: list[bytes] = []
        self._count = 0
        self._output: list[JsonObject] = []
        self._said: _OpenItem | None = None
        self._calls: dict[int, _OpenItem] = {}
        self._calls_begun = 0
        self._ids = WireIds()

    def feed(self, delta: Delta) -> bytes:
        """The events for this piece; none where it adds nothing."""
        match delta:
            case TextDelta(text, refusal):
                self._say(text, refusal)
            case ReasoningDelta():
                self._think(delta)
            case CallDelta(index, name, arguments, id_):
                self._call(index, id_, name, arguments)
            case CallSaid(index, call):
                self._end_call(index, call)
            case ThoughtEnded():
                pass
        return self._taken()

    def close(self, reply: Reply) -> bytes:
        """The end of the stream, after what of the reply was not told in pieces."""
        reason = _INCOMPLETE.get(cut_short(reply), "")
        if self._output:
            self._tell_rest(reply, "incomplete" if reason else "completed")
        else:
            self._tell(reply)
            self._end("incomplete" if reason else "completed")
        self.response = self._response("incomplete" if reason else "completed", reply, reason)
        self._event("response.incomplete" if reason else "response.completed", response=self.response)
        return self._taken()

    def break_off(self, status: Literal["cancelled", "failed"], reply: Reply, message: str = "") -> bytes:
        """The end of a stream whose answer did not come to its own end, with all that was told of the answer.

        Args:
            status: of the answer.
            reply: its usage; there is nothing more to tell of it.
            message: why the answer failed.
        """
        self._end("incomplete")
        self.response = self._response(status, reply, "")
        if status == "failed":
            self.response["error"] = {"code": "server_error", "message": message}
        self._event("response.failed" if status == "failed" else "response.incomplete", response=self.response)
        return self._taken()

    def begin(self) -> bytes:
        """The events with which a stream begins, before there is anything to tell."""
        if not self._count:
            begun = self._response("in_progress", Reply(), "")
            self._event("response.created", response=begun)
            self._event("response.in_progress", response=begun)
        return self._taken()

    def show(
        self, item: JsonObject, between: Iterable[tuple[str, JsonObject]] = (), begins: JsonObject | None = None
    ) -> bytes:
        """The events for an item that is no part of a reply, such as a call that the server has made.

        Args:
            item: the whole item.
            between: events of the item that come before it is done: the kind of each, and its fields.
            begins: the item as it is shown at its beginning; the whole item by default.
        """
        self._end()
        place = len(self._output)
        self._output.append(item)
        self._event("response.output_item.added", output_index=place, item=item if begins is None else begins)
        for kind, fields in between:
            self._event(kind, output_index=place, item_id=item["id"], **fields)
        self._event("response.output_item.done", output_index=place, item=item)
        return self._taken()

    def annotate(self, annotations: Callable[[str], list[Json]]) -> bytes:
        """Put annotations into all texts that were told; the events are for the text that is being told.

        Args:
            annotations: of a text, as the API tells them.
        """
        for item in self._output:
            for part in cast(list[Json], item["content"]) if item["type"] == "message" else ():
                if isinstance(part, dict) and part["type"] == "output_text":
                    part["annotations"] = annotations(str(part["text"]))
        opened = self._said
        if opened is not None and opened.is_refusal is False:
            found = annotations("".join(opened.pieces))
            opened.beside_part = {**opened.beside_part, "annotations": found}
            for number, each in enumerate(found):
                placed = {**_in_part(opened), "annotation_index": number}
                self._event("response.output_text.annotation.added", **placed, annotation=each)
        return self._taken()

    def fail(self, error: ActumError) -> bytes:
        """The end of a stream whose answer did not come to its own.

        The event is documented with its fields beside its type and comes from OpenAI with them in `error`, which is
        where the official client looks before it raises.
        """
        said = openai_error(error)
        self._event("error", code=said["code"] or said["type"], message=said["message"], param=None, error=said)
        return self._taken()

    def _tell(self, reply: Reply) -> None:
        """Tell a whole reply, where no piece of it was told before."""
        calls = 0
        for part, beside in woven(reply):
            match part:
                case ToolCall():
                    self._end_call(calls, part, beside)
                    calls += 1
                case ReasoningPart():
                    self._tell_thought(thought_item(part, beside))
                case RefusalPart(text) | TextPart(text):
                    self._say(text, isinstance(part, RefusalPart), beside)
                    self._end_part()
                case MediaPart():
                    self._show(part)
                case None:
                    self._whole(beside)

    def _tell_rest(self, reply: Reply, status: str) -> None:
        """What the pieces of a reply could not tell."""
        for index, call in enumerate(reply.calls):
            self._end_call(index, call)
        self._end(status)
        self._add_beside(reply)
        for part, item in woven(reply):
            if part is None:
                self._whole(item)
            elif isinstance(part, MediaPart):
                self._show(part)
        self._end(status)

    # Messages.

    def _say(self, text: str, refusal: bool, beside: JsonObject | None = None) -> None:
        if not text:
            return
        shared = {name: value for name, value in (beside or {}).items() if name not in _OF_PART}
        opened = self._said
        if opened is None or opened.item["type"] != "message" or (beside is not None and opened.shared != shared):
            message: JsonObject = {"type": "message", "status": "in_progress", "role": "assistant", "content": []}
            opened = self._begin("msg_", message | shared)
            opened.shared = shared
        if opened.is_refusal is not refusal:
            self._end_part()
            opened.is_refusal = refusal
            opened.beside_part = {name: value for name, value in (beside or {}).items() if name in _OF_PART}
            part = _part("", refusal)
            self._event("response.content_part.added", **_in_part(opened), part=part)
        opened.pieces.append(text)
        name, more = _TEXT_EVENTS[refusal]
        self._event(f"response.{name}.delta", **_in_part(opened), delta=text, **more)

    def _end_part(self) -> None:
        opened = self._said
        if opened is None or opened.is_refusal is None:
            return
        text, refusal = "".join(opened.pieces), opened.is_refusal
        part, (name, more) = _part(text, refusal) | opened.beside_part, _TEXT_EVENTS[refusal]
        self._event(f"response.{name}.done", **_in_part(opened), **{"refusal" if refusal else "text": text}, **more)
        self._event("response.content_part.done", **_in_part(opened), part=part)
        opened.parts.append(part)
        opened.pieces, opened.is_refusal = [], None

    # Reasoning.

    def _think(self, delta: ReasoningDelta) -> None:
        opened = self._said
        if opened is None or opened.item["type"] != "reasoning" or delta.redacted:
            if not delta.text and not delta.signature:
                return
            opened = self._begin(OWN_ID, {"type": "reasoning", "summary": [], "encrypted_content": None})
        if delta.text:
            self._add_summary(opened, delta.text)
        if delta.signature:
            opened.item["encrypted_content"] = carried(delta, OPENAI)
            self._end()

    def _tell_thought(self, item: JsonObject) -> None:
        opened = self._begin(OWN_ID, {**item, "summary": []})
        summary = item["summary"]
        for part in summary if isinstance(summary, list) else []:
            if isinstance(part, dict):
                self._add_summary(opened, str(part.get("text") or ""))
                self._end_summary(opened)
        self._end()

    def _add_summary(self, opened: _OpenItem, text: str) -> None:
        if not opened.pieces:
            part: Json = {"type": "summary_text", "text": ""}
            self._event("response.reasoning_summary_part.added", **_in_summary(opened), part=part)
        opened.pieces.append(text)
        self._event("response.reasoning_summary_text.delta", **_in_summary(opened), delta=text)

    def _end_summary(self, opened: _OpenItem) -> None:
        if opened.pieces:
            text = "".join(opened.pieces)
            part: Json = {"type": "summary_text", "text": text}
            self._event("response.reasoning_summary_text.done", **_in_summary(opened), text=text)
            self._event("response.reasoning_summary_part.done", **_in_summary(opened), part=part)
            opened.parts.append(part)
            opened.pieces = []

    # Calls.

    def _call(self, index: int, id_: str, name: str, arguments: str) -> None:
        opened = self._calls.get(index)
        if opened is None:
            call: JsonObject = {"type": "function_call", "status": "in_progress", "call_id": id_, "name": ""}
            opened = self._calls[index] = _OpenItem(call | {"arguments": ""}, -1)
        if name or id_:
            opened.item |= {"call_id": opened.item["call_id"] or id_, "name": f"{opened.item['name']}{name}"}
        if arguments:
            self._begin_calls(index)
            self._add_arguments(opened, arguments)

    def _begin_calls(self, last: int) -> None:
        """Tell of calls in their order, up to this one and those that only waited for it.

        A name is known to be whole when arguments follow it, or when those of a later call do.
        """
        while opened := self._calls.get(self._calls_begun):
            is_known = opened.said is not None or (bool(opened.item["name"]) and self._calls_begun <= last)
            if not is_known and not (opened.item["name"] and opened.pieces):
                return
            self._calls_begun += 1
            self._end()
            opened.item["call_id"] = self._ids.take(str(opened.item["call_id"]))
            self._place(opened, "fc_")
            before, opened.pieces = "".join(opened.pieces), []
            self._add_arguments(opened, before)
            if opened.said is not None:
                self._finish_call(opened, opened.said)

    def _add_arguments(self, opened: _OpenItem, piece: str) -> None:
        if piece:
            opened.pieces.append(piece)
            if opened.place >= 0:
                self._event("response.function_call_arguments.delta", **_in_item(opened), delta=piece)

    def _end_call(self, index: int, call: ToolCall, beside: JsonObject | None = None) -> None:
        self._call(index, call.id, "", "")
        opened = self._calls[index]
        if opened.said is not None:
            return
        opened.item["name"] = call.name
        opened.beside_part = beside or {}
        if opened.place < 0:
            opened.said = call
            self._begin_calls(index)
        else:
            self._finish_call(opened, call)

    def _finish_call(self, opened: _OpenItem, call: ToolCall) -> None:
        opened.said = call
        if not opened.pieces:
            self._add_arguments(opened, arguments_text(call))
        text = "".join(opened.pieces)
        self._event("response.function_call_arguments.done", **_in_item(opened), name=call.name, arguments=text)
        status = "completed" if call.complete else "incomplete"
        opened.item |= {"status": status, "name": call.name, "arguments": text, **opened.beside_part}
        self._event("response.output_item.done", output_index=opened.place, item=opened.item)

    # Items.

    def _begin(self, prefix: str, item: JsonObject) -> _OpenItem:
        self._end()
        self._said = _OpenItem(item, -1)
        self._place(self._said, prefix)
        return self._said

    def _place(self, opened: _OpenItem, prefix: str) -> None:
        """Give an item its place in the output, and tell that it begins."""
        opened.place = len(self._output)
        opened.item = {"id": self._item_id(prefix), **opened.item}
        self._output.append(opened.item)
        self._event("response.output_item.added", output_index=opened.place, item=opened.item)

    def _item_id(self, prefix: str) -> str:
        return f"{prefix}{self._id.removeprefix('resp_')}_{len(self._output)}"

    def _end(self, status: str = "completed") -> None:
        """Tell that what is being said or thought is done."""
        opened = self._said
        if opened is None:
            return
        if opened.item["type"] == "message":
            self._end_part()
            opened.item |= {"status": status, "content": opened.parts}
        else:
            self._end_summary(opened)
            opened.item["summary"] = opened.parts
        self._said = None
        self._event("response.output_item.done", output_index=opened.place, item=opened.item)

    def _show(self, media: MediaPart) -> None:
        item = image_item(self._item_id("ig_"), media)
        if item is None:
            self._say(media.describe(), refusal=False)
        else:
            self._whole(item)

    def _whole(self, item: JsonObject) -> None:
        """Tell an item that is not told in pieces."""
        self._end()
        place = len(self._output)
        self._output.append(item)
        self._event("response.output_item.added", output_index=place, item=item)
        self._event("response.output_item.done", output_index=place, item=item)

    def _add_beside(self, reply: Reply) -> None:
        """Put what lies beside texts and calls where it belongs, if each part has its place in the output."""
        places = [
            (item, part)
            for item in self._output
            for part in (cast(list[Json], item["content"]) if item["type"] == "message" else [None])
        ]
        told = [(part, beside) for part, beside in woven(reply) if part is not None and not isinstance(part, MediaPart)]
        if len(places) != len(told):
            return
        for (item, content), (part, beside) in zip(places, told, strict=True):
            if not isinstance(part, ReasoningPart):
                item |= {name: value for name, value in beside.items() if name not in _OF_PART}
            if isinstance(content, dict):
                content |= {name: value for name, value in beside.items() if name in _OF_PART}

    # Events.

    def _event(self, kind: str, **fields: Json) -> None:
        if not self._count and kind not in _BEGINNING:
            begun = self.begin()  # which puts another list in the place of `_events`
            self._events.append(begun)
        self._events.append(sse(_encode({"type": kind, "sequence_number": self._count, **fields}), kind))
        self._count += 1

    def _taken(self) -> bytes:
        taken, self._events = b"".join(self._events), []
        return taken

    def _response(self, status: str, reply: Reply, reason: str) -> JsonObject:
        is_over = status != "in_progress"
        extras = {name: value for name, value in reply.extras.items() if name != ITEMS}
        output: list[Json] = [*self._output] if is_over else []
        return {
            "metadata": {},
            "service_tier": None,
            **extras,
            "id": self._id,
            "object": "response",
            "created_at": self._created,
            "status": status,
            "background": False,
            "error": None,
            "incomplete_details": {"reason": reason} if reason else None,
            "instructions": None,
            "max_output_tokens": None,
            "model": self._model,
            "output": output,
            "parallel_tool_calls": True,
            "previous_response_id": None,
            "reasoning": {"effort": None, "summary": None},
            "store": False,
            "temperature": None,
            "text": {"format": {"type": "text"}},
            "tool_choice": "auto",
            "tools": [],
            "top_p": None,
            "truncation": "disabled",
            "usage": usage_object(reply.usage) if is_over else None,
            **self._fields,
        }


_BEGINNING = ("response.created", "response.in_progress")
_NO_LOGPROBS: JsonObject = {"logprobs": []}
_TEXT_EVENTS: dict[bool, tuple[str, JsonObject]] = {False: ("output_text", _NO_LOGPROBS), True: ("refusal", {})}
"""How the events of a text and of a refusal are called, and what else they must hold."""


def encode_reply(reply: Reply, *, created: int = 0) -> bytes:
    """The body of an answer.

    Args:
        created: seconds since 1970.
    """
    encoder = ResponsesEncoder(id_=reply.id or DEFAULT_ID, model=reply.model, created=created)
    encoder.close(reply)
    return _encode(encoder.response)


_REPEATED = (
    *("instructions", "max_output_tokens", "metadata", "parallel_tool_calls", "temperature", "text", "tool_choice"),
    *("tools", "top_p", "user"),
)


def repeated(asked: JsonObject) -> JsonObject:
    """What an answer repeats of the body of its request. Clients look here: LangChain reads a text as the demanded
    object only where `text` repeats the schema."""
    return {name: asked[name] for name in _REPEATED if asked.get(name) is not None}


def usage_object(usage: Usage) -> JsonObject:
    """The tokens of an answer."""
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {
            "cached_tokens": usage.cached_tokens,
            "cache_write_tokens": usage.cache_written_tokens,
        },
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": usage.total_tokens,
    }


def _part(text: str, refusal: bool) -> JsonObject:
    if refusal:
        return {"type": "refusal", "refusal": text}
    return {"type": "output_text", "annotations": [], "logprobs": [], "text": text}


def _in_item(opened: _OpenItem) -> JsonObject:
    return {"item_id": opened.item["id"], "output_index": opened.place}


def _in_summary(opened: _OpenItem) -> JsonObject:
    return {**_in_item(opened), "summary_index": len(opened.parts)}


def _in_part(opened: _OpenItem) -> JsonObject:
    return {**_in_item(opened), "content_index": len(opened.parts)}
