"""Fresh ids, and the ids of child runs."""

from __future__ import annotations

import os
import sys


def child_id(key: str) -> str:
    """The id of the run that a call starts, made of the call's idempotency key: who resumes the one finds the other."""
    return f"run_{key[:20]}"


def new_id(prefix: str) -> str:
    """A fresh id: the prefix and 80 random bits, as in `run_1f0c...`."""
    return f"{prefix}_{random_16()[:10].hex()}"


def random_16() -> bytes:
    """16 bytes that nobody can guess. They are taken from the system many at a time: each visit there lets go of the
    interpreter, for which every thread of it waits.
    """
    while True:
        try:
            return _stock.pop()  # one thread gets it, and no other
        except IndexError:
            drawn = os.urandom(16 * 2048)
            _stock.extend(drawn[at : at + 16] for at in range(0, len(drawn), 16))


_stock: list[bytes] = []
if sys.platform != "win32":
    os.register_at_fork(after_in_child=_stock.clear)  # two processes would draw the same
