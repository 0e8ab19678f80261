"""Finds the parts of a body that no code reads: in a request, an answer, or the events of a stream. Pure.

The shape of each API (`<api>.shape`) names the fields that its readers read; a field that no shape names is a `Loss`,
under its place in the body. `losses` finds fields that are read and then not written. Fields of a request that are at
its top and have no place in `Request` are its `extras`: `shared_fields` keeps the account of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from ...core.json import Json, JsonObject, JsonProblem, dumps
from ..losses import Loss, shortened
from .anthropic import shape as anthropic
from .gemini import shape as gemini
from .model_errors import read_json
from .openai_chat import shape as openai_chat
from .openai_fields import camel
from .openai_responses import shape as openai_responses
from .shape import Leftover, Shape, as_is, leftovers


class _Shapes(NamedTuple):
    request: Shape
    reply: Shape
    places_of_event: Callable[[JsonObject], Iterable[tuple[str, Json, Shape]]]
    named: Callable[[JsonObject], JsonObject] = as_is


_SHAPES = {
    "openai_chat": _Shapes(openai_chat.REQUEST, openai_chat.REPLY, openai_chat.places_of_event),
    "openai_responses": _Shapes(openai_responses.REQUEST, openai_responses.REPLY, openai_responses.places_of_event),
    "anthropic_messages": _Shapes(anthropic.REQUEST, anthropic.REPLY, anthropic.places_of_event),
    "gemini_content": _Shapes(gemini.REQUEST, gemini.REPLY, gemini.places_of_event, camel),
}
_WHY = "it has no place in what actum reads of {what}"
_OTHER_CHOICE = "only the first choice is read"


def unread_of_request(body: JsonObject, api: str) -> list[Loss]:
    """What of a request nobody reads.

    Args:
        body: that the dialect has read without an error.
        api: the dialect's name. Of an API that is not known here nothing is told.
    """
    shapes = _SHAPES.get(api)
    if shapes is None:
        return []
    found = [*leftovers(body, shapes.request, named=shapes.named)]
    if api == "openai_chat":
        found += openai_chat.names_of_answers(body.get("messages"))
    return [_loss(each, "a request") for each in found]


def unread_of_reply(wire: bytes, api: str) -> list[Loss]:
    """What of a whole answer nobody reads; the arguments are as for `unread_of_request`."""
    unread = UnreadOfStream(api)
    unread.read_body(wire)
    return unread.lost


class UnreadOfStream:
    """Collects what nobody reads of the answers and events that it is shown: each place once, however often a stream
    comes back to it.

    Args:
        api: the dialect's name. Of an API that is not known here nothing is told.
    """

    def __init__(self, api: str) -> None:
        self._shapes = _SHAPES.get(api)
        self._found: dict[str, Loss] = {}

    @property
    def lost(self) -> list[Loss]:
        """What was found so far, in order."""
        return list(self._found.values())

    def read_event(self, data: bytes) -> JsonObject:
        """Take the data of an event; return the event, which is empty where the data is none."""
        event = _object(data)
        if self._shapes is not None:
            for path, value, shape in self._shapes.places_of_event(event):
                self._add(leftovers(value, shape, path))
        return event

    def read_body(self, wire: bytes) -> None:
        """Take a whole answer, or the array of answers that Gemini's stream is without `alt=sse`."""
        try:
            body = read_json(wire)
        except JsonProblem:
            return
        if self._shapes is not None and isinstance(body, dict | list):
            for answer in body if isinstance(body, list) else [body]:
                self._add(leftovers(answer, self._shapes.reply))

    def _add(self, found: Iterator[Leftover]) -> None:
        for leftover in found:
            if leftover.path not in self._found:
                self._found[leftover.path] = _loss(leftover, "an answer")


def _loss(found: Leftover, what: str) -> Loss:
    is_choice = found.path.startswith(("choices[", "candidates[")) and found.path.endswith("]")
    why = _OTHER_CHOICE if is_choice else _WHY.replace("{what}", what)
    return Loss(found.path, shortened(dumps(found.value)), why)


def _object(data: bytes) -> JsonObject:
    try:
        event = read_json(data)
    except JsonProblem:
        return {}
    return event if isinstance(event, dict) else {}
