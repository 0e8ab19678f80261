"""The blocks and fields of a reply that our types have no place for, kept by position and put back in their place.

They are in `Reply.extras` under a key of the API's own, so that they go back to that API and to no other:

    {"anthropic_blocks": {"alone": {"1": <a whole block>}, "beside": {"0": <further fields of a block>}}}

Positions count blocks of both sorts. Code that inserts parts in front of others moves those away from the fields that
were beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ...core.json import JsonObject
from ...core.message import Reply, ReplyPart


def gather(blocks: Iterable[tuple[ReplyPart | None, JsonObject]]) -> tuple[tuple[ReplyPart, ...], JsonObject]:
    """Part the blocks of a reply into our nouns and the rest.

    Args:
        blocks: each as a noun and what is left of it; None and all of it where there is no noun.

    Returns:
        The parts, and the rest by position; empty where nothing is left.
    """
    parts: list[ReplyPart] = []
    whole: JsonObject = {}
    beside: JsonObject = {}
    for position, (part, rest) in enumerate(blocks):
        if part is None:
            whole[str(position)] = rest
        else:
            parts.append(part)
            if rest:
                beside[str(position)] = rest
    return tuple(parts), {name: found for name, found in (("alone", whole), ("beside", beside)) if found}


Block = dict[str, object]
"""A block as it is written."""


def weave(reply: Reply, key: str, write: Callable[[ReplyPart], Block | None]) -> list[Block]:
    """The blocks of a reply in order: its parts as `write` writes them, or leaves them out, and the rest in between."""
    rest = reply.extras.get(key)
    whole, beside = (_by_position(rest, name) for name in ("alone", "beside"))
    if not whole and not beside:
        return [block for part in reply.content if (block := write(part)) is not None]
    blocks: list[Block] = []
    position = 0
    for part in reply.content:
        while position in whole:
            blocks.append(whole.pop(position))
            position += 1
        block = write(part)
        if block is not None:
            blocks.append(beside.get(position, {}) | block)
        position += 1
    return [*blocks, *[whole[place] for place in sorted(whole)]]


def alone(reply: Reply, key: str) -> list[Block]:
    """The blocks that there is no noun for, in order."""
    found = _by_position(reply.extras.get(key), "alone")
    return [found[place] for place in sorted(found)]


def _by_position(rest: object, name: str) -> dict[int, Block]:
    """What the key holds may come from a client: anything else than it should be is passed over."""
    found = rest.get(name) if isinstance(rest, dict) else None
    if not isinstance(found, dict):
        return {}
    return {int(place): dict(value) for place, value in found.items() if place.isdecimal() and isinstance(value, dict)}
