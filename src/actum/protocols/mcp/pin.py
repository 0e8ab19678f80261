"""The definitions of an MCP server's tools as they were approved, and what has become of them. Pure.

A server may describe one tool differently to different users, so several definitions of a tool can be approved.

A server can show a harmless tool until it is approved and another one after. So the whole definition is pinned: name,
title, description, both schemas, annotations, icons, `_meta`, and whatever else it says. The order of keys does not
matter; everything else does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from ...core.json import JsonObject
from ..definition_changes import differences

_sorted = msgspec.json.Encoder(order="sorted")


def digest(definition: JsonObject) -> str:
    """SHA-256 of a definition, hexadecimal, whatever the order of its keys.

    >>> digest({"name": "a", "inputSchema": {}}) == digest({"inputSchema": {}, "name": "a"})
    True
    """
    return hashlib.sha256(_sorted.encode(definition)).hexdigest()


class Compared(Struct, frozen=True):
    """Definitions of a server beside those that were approved. All by the tool's name.

    Attributes:
        known: are as they were approved.
        new: were never approved.
        changed: are not as they were approved, each with what is different, in lines for a person.
        gone: were approved and are there no more.
        renamed: are new and as one that is gone but for its name: new name to old.
    """

    known: frozenset[str]
    new: frozenset[str]
    changed: Mapping[str, tuple[str, ...]]
    gone: frozenset[str]
    renamed: Mapping[str, str]


def compare(pins: Mapping[str, Sequence[JsonObject]], definitions: Sequence[JsonObject]) -> Compared:
    """Hold definitions against those that were approved.

    Args:
        pins: the approved definitions by name, at least one for each name.
        definitions: what the server tells now; each has a name, and no two the same.
    """
    now = {str(definition["name"]): definition for definition in definitions}
    same = {name for name, definition in now.items() if digest(definition) in map(digest, pins.get(name, ()))}
    new, gone = now.keys() - pins.keys(), pins.keys() - now.keys()
    nameless = {digest({**pin, "name": ""}): name for name in sorted(gone) for pin in pins[name]}
    renamed = {name: nameless.get(digest({**now[name], "name": ""}), "") for name in new}
    return Compared(
        frozenset(same),
        frozenset(new),
        {name: _least_differences(pins[name], now[name]) for name in now.keys() & pins.keys() if name not in same},
        frozenset(gone),
        {name: old for name, old in renamed.items() if old},
    )


def _least_differences(pins: Sequence[JsonObject], now: JsonObject) -> tuple[str, ...]:
    """What is different from the approved definition that is nearest; the latest of those that are equally near."""
    return min((differences(pin, now) for pin in reversed(pins)), key=len)
