"""How a call's id and arguments stand on a wire, whichever API it is. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Container

import msgspec
from msgspec import structs

from ...core.call import ToolCall
from ...core.json import (
    JsonObject,
    JsonProblem,
    dumps,
    parse_object,
)

_is_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


class WireIds:
    """Gives each call an id that no other call of the conversation has: the model's own wherever it can be kept.

    Args:
        refused: regular expression for what the API does not take in an id, put right by `_`; empty where it takes all.
    """

    def __init__(self, refused: str = "") -> None:
        self._refused = re.compile(refused) if refused else None
        self._taken: set[str] = set()
        self._numbers: dict[str, int] = {}

    def take(self, id_: str) -> str:
        """The id under which a call with this id of ours is written."""
        id_ = id_ or f"call_{len(self._taken)}"
        wire = id_ = self._refused.sub("_", id_) if self._refused else id_
        number = self._numbers.get(id_, 1)
        while wire in self._taken:
            number += 1
            wire = f"{id_}_{number}"
        self._taken.add(wire)
        self._numbers[id_] = number
        return wire


class PastIds:
    """The ids of a conversation's calls as they are written, and which call an answer is to: models repeat ids.

    Args:
        refused: as for `WireIds`.
    """

    def __init__(self, refused: str = "") -> None:
        self._ids = WireIds(refused)
        self._unanswered: list[tuple[str, str]] = []

    def asked(self, calls: tuple[ToolCall, ...]) -> list[str]:
        """The wire's ids for the calls of the next reply."""
        wired = [self._ids.take(call.id) for call in calls]
        self._unanswered = [(call.id, wire_id) for call, wire_id in zip(calls, wired, strict=True)]
        return wired

    def waits(self, call_id: str) -> bool:
        """Whether a call of the last reply has this id and no answer yet."""
        return any(id_ == call_id for id_, _ in self._unanswered)

    def leave_unanswered(self) -> list[str]:
        """The wire's ids of the last reply's calls that have no answer; they are not waited for any longer."""
        left, self._unanswered = self._unanswered, []
        return [wire_id for _, wire_id in left]

    def answered(self, call_id: str) -> str:
        """The wire's id of the call that is answered: the first of the last reply with this id and no answer yet."""
        for number, (id_, wire_id) in enumerate(self._unanswered):
            if id_ == call_id:
                del self._unanswered[number]
                return wire_id
        return call_id


MADE_ID = re.compile(r"call_\d+_*")
"""Ids as `unique_id` makes them."""


def unique_id(wanted: str, number: int, taken: Container[str]) -> str:
    """The id of the call with this number in a reply that comes in: the one it came with, unless it is missing or
    another call's.
    """
    id_ = wanted or f"call_{number}"
    if id_ in taken:
        id_ = f"call_{number}"
    while id_ in taken:
        id_ += "_"
    return id_


def read_arguments(raw: str) -> tuple[JsonObject, tuple[str, ...], bool]:
    """The arguments of a call out of their source text, what was mended, and whether they are all there."""
    try:
        return *parse_object(raw), True
    except JsonProblem as problem:
        return {}, (f"the arguments are no JSON object: {problem}",), False


def arguments_text(call: ToolCall, *, nothing: str = "") -> str:
    """The source text that the model wrote; where it had to be mended, the JSON that it was mended to.

    Of a call that broke off, a text that no reader takes for whole arguments: it must not be run further on either.

    Args:
        nothing: stands for the arguments of a call that broke off before them, where the API has no other word for it.
    """
    if call.complete:
        return dumps(call.arguments) if call.repairs else call.arguments_text()
    return (call.raw.rstrip()[:-1] or nothing) if _may_be_read(call.raw) else call.raw


def _may_be_read(raw: str) -> bool:
    """Some reader takes this text for whole arguments: one that keeps the last of two values of a key, say."""
    try:
        json.loads(raw.strip() or "{}")
    except (ValueError, RecursionError):
        return False
    return True


def readable(call: ToolCall) -> ToolCall:
    """The call as an endpoint takes it back: vLLM and llama.cpp refuse a whole request over arguments that are no JSON.

    What was wrong with them is told by the answer to the call.
    """
    return call if call.complete else structs.replace(call, raw="", complete=True)


def arguments_object(call: ToolCall) -> msgspec.Raw:
    """The arguments as a JSON object: the model's own text where it is one, so that no digit and no order changes.

    A call that broke off has none, or what was understood of it.
    """
    if call.complete and not call.repairs and call.raw:
        try:
            _is_object(call.raw)
            return msgspec.Raw(call.raw.encode())
        except (ValueError, RecursionError):
            pass
    return msgspec.Raw(msgspec.json.encode(call.arguments))
