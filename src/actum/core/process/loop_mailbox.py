"""What threads tell, handed to the event loop in its order, however fast and however much they tell.

A thread that tells more than the loop takes waits for the loop. Where the loop does not come to it, such as a loop that
waits for that very thread, the oldest values are left out, and it is told how many.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress

import msgspec

from ..json import Json

VALUES_MAX = 64
"""This many values wait at most, and are handed on in one turn of the loop."""
BYTES_MAX = 16 * 1024
"""Of values that are long, this many bytes of JSON wait at most, and one value more."""
WAIT_S = 0.5
"""How long a thread waits once in vain; after that it waits no more."""


class LoopMailbox:
    """The way from threads to one event loop, which is the one that runs here.

    Args:
        deliver: takes each value, in the thread of the loop.
    """

    def __init__(self, deliver: Callable[[Json], None]) -> None:
        self._deliver = deliver
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._values: deque[tuple[Json, int]] = deque()
        self._bytes = self._left_out = 0
        self._room = threading.Condition()
        self._waits = True
        self._is_due = False

    def tell(self, value: Json) -> None:
        """Have a value delivered: at once in the thread of the loop, else in the loop's next turn."""
        is_here = threading.get_ident() == self._thread
        if is_here and not self._values:
            self._deliver(value)
            return
        size = _size(value)
        with self._room:
            if self._waits and not is_here:
                self._waits = self._room.wait_for(lambda: not self._is_full, WAIT_S)
            if self._is_full:
                self._bytes -= self._values.popleft()[1]
                self._left_out += 1
            self._values.append((value, size))
            self._bytes += size
            if self._is_due:
                return
            self._is_due = True
        with suppress(RuntimeError):  # the loop is closed: nobody hears
            self._loop.call_soon_threadsafe(self._hand_on)

    @property
    def _is_full(self) -> bool:
        return len(self._values) >= VALUES_MAX or self._bytes >= BYTES_MAX

    def _hand_on(self) -> None:
        with self._room:
            values, left_out = [value for value, _ in self._values], self._left_out
            self._values.clear()
            self._bytes = self._left_out = 0
            self._is_due = False
            self._room.notify_all()
        if left_out:
            values.insert(0, f"[{left_out} before this were left out]")
        for value in values:
            self._deliver(value)


def _size(value: Json) -> int:
    """How many bytes a value counts for. What is no JSON fails where it is delivered, and not in the thread."""
    if isinstance(value, str):
        return len(value)
    try:
        return len(msgspec.json.encode(value))
    except (TypeError, ValueError, RecursionError):
        return 0
