"""Work on large input is done in a worker thread, so that the event loop goes on with all other requests.

A thread makes nothing faster, since threads of Python take turns: it keeps one large input from holding up everybody.
The threads are few and serve large inputs alone, so that neither waits for the tools of others and no tool for them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Concatenate, ParamSpec, TypeVar

from ..json import size_of_json

LARGE = 64 * 1024
"""Input of more bytes or characters is worked on in a worker thread."""
WALKED = 8
"""What a byte counts for where Python's own code walks through a value, one item after the other."""
THREADS = 2
"""How many large inputs are worked on at a time; others wait for their turn."""

_P = ParamSpec("_P")
_R = TypeVar("_R")
_V = TypeVar("_V")
_threads = ThreadPoolExecutor(THREADS, thread_name_prefix="actum-large")


async def off_loop(size: int, work: Callable[_P, _R], /, *args: _P.args, **more: _P.kwargs) -> _R:
    """Do work on input that others sent: at once where the input is small, else in a worker thread.

    Args:
        size: of the input, in bytes or characters.
        work: a function of values: it uses no event loop and changes nothing that the loop may use meanwhile.
        args, more: what the function takes.

    Returns:
        What the function returns.

    Raises:
        Exception: what the function raises.
    """
    if size <= LARGE:
        return work(*args, **more)
    return await asyncio.get_running_loop().run_in_executor(_threads, partial(work, *args, **more))


async def walk(work: Callable[Concatenate[_V, _P], _R], value: _V, /, *args: _P.args, **more: _P.kwargs) -> _R:
    """Have Python's own code go through a JSON value that others sent: at once where the value is small, else in a
    worker thread.

    Args:
        work: takes the value and the rest; see `off_loop`.
        value: the value, or structs of such values.
        args, more: what the function takes beside the value.

    Returns:
        What the function returns.

    Raises:
        Exception: what the function raises.
    """
    return await off_loop(WALKED * size_of_json(value), work, value, *args, **more)
