"""Lists in pages, each with an opaque cursor to the next."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Sequence
from typing import TypeVar

from mcp.shared.exceptions import MCPError

from ...core.json import Json, JsonObject
from .calls import INVALID_PARAMS

ITEMS = 100

LISTS: dict[str, str] = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
"""The field in which each method's result has its items."""


T = TypeVar("T")


def page(method: str, items: Sequence[JsonObject], params: JsonObject) -> JsonObject:
    """One page of a list.

    Raises:
        MCPError: the cursor is of no list, or of one that has changed in length.
    """
    begin = 0
    if params.get("cursor") is not None:
        begin = _read(params["cursor"], _stamp(method, items))
    told: JsonObject = {LISTS[method]: [*items[begin : begin + ITEMS]]}
    if begin + ITEMS < len(items):
        text = f"{_stamp(method, items)}:{begin + ITEMS}"
        told["nextCursor"] = base64.urlsafe_b64encode(text.encode()).decode()
    return told


def page_of_visible(
    method: str, items: Sequence[tuple[T, JsonObject]], is_visible: Callable[[T], bool], params: JsonObject
) -> JsonObject:
    """One page of what somebody may see of a list. No more items are looked at than the page needs.

    Raises:
        MCPError: the cursor is of no list, or of one that has changed in length.
    """
    stamp = _stamp(method, items)
    begin = _read(params["cursor"], stamp) if params.get("cursor") is not None else 0
    shown: list[Json] = []
    told: JsonObject = {LISTS[method]: shown}
    for number in range(begin, len(items)):
        what, definition = items[number]
        if not is_visible(what):
            continue
        if len(shown) == ITEMS:
            told["nextCursor"] = base64.urlsafe_b64encode(f"{stamp}:{number}".encode()).decode()
            break
        shown.append(definition)
    return told


def _stamp(method: str, items: Sequence[object]) -> str:
    return hashlib.sha256(f"{method} {len(items)}".encode()).hexdigest()[:8]


def _read(cursor: Json, stamp: str) -> int:
    try:
        known, _, number = base64.urlsafe_b64decode(str(cursor).encode()).decode().partition(":")
        if known == stamp and number.isdecimal():
            return int(number)
    except ValueError:
        pass
    raise MCPError(INVALID_PARAMS, "This cursor is of no list, or of one that has changed: begin anew")
