"""What a server keeps of requests that are over."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections import Counter, deque
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.serve_memory import WAYS, Talks, ask_all, served

SESSIONS = 24  # three for each of the eight users; each is begun anew once within these requests
REQUESTS = 120
NOISE = 20
"""What is under way or was asked for last may differ by as much."""
CANCELLED_TIMERS = 100
"""asyncio keeps so many timers that were cancelled, each with the context of its request, until they are due."""
NOISE_OF = {"actum.server.access_log.RequestFacts": CANCELLED_TIMERS}
FILLS = {"mcp_left"}
"""Here sessions are left to the server, which keeps a thousand of them."""


STOCKS = {"actum.core.run.ids:_stock"}
"""Random numbers drawn ahead: never more than at a time are drawn."""


def _kept() -> Counter[str]:
    """How many objects of each class of ours were made since the last `gc.freeze`, and how much their registries and
    those of our modules hold."""
    gc.collect()
    kept = Counter[str]()
    named: list[object] = []
    for module_name, module in list(sys.modules.items()):
        if _is_ours(module_name):
            for field, value in list(vars(module).items()):
                kept[f"{module_name}:{field}"] += _length(value)
                named.append(value)
    for each in {id(each): each for each in (*named, *gc.get_objects())}.values():
        if _is_ours(str(type(each).__module__)):
            name = f"{type(each).__module__}.{type(each).__qualname__}"
            kept[name] += 1
            for field, value in _fields(each):
                kept[f"{name}.{field}"] += _length(value)
    return kept


def _is_ours(module: str) -> bool:
    return module == "actum" or module.startswith("actum.")


def _fields(item: object) -> Iterator[tuple[str, object]]:
    yield from getattr(item, "__dict__", {}).items()
    for field in getattr(item, "__struct_fields__", ()):
        yield field, getattr(item, field, None)


def _length(value: object) -> int:
    return len(value) if isinstance(value, dict | set | list | deque) else 0


@pytest.mark.parametrize("way", sorted(WAYS.keys() - FILLS))
async def test_nothing_is_kept_of_a_request_that_is_over(way: str, tmp_path: Path) -> None:
    gc.collect()
    gc.freeze()  # what other tests left behind is looked at by none of the looks below
    async with served(tmp_path) as (client, keys):
        ask = WAYS[way](Talks(client, SESSIONS))
        await ask_all(ask, range(REQUESTS), keys)
        before = _kept()
        await ask_all(ask, range(REQUESTS, 2 * REQUESTS), keys)
        grown: dict[str, int] = {}
        for _ in range(200):  # what ends in the background may take a moment on a busy machine
            more = {name: count for name, count in (_kept() - before).items() if name not in STOCKS}
            grown = {name: count for name, count in more.items() if count > NOISE_OF.get(name, NOISE)}
            if not grown:
                break
            await asyncio.sleep(0.2)
    assert grown == {}
