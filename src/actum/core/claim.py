"""Who drives which run, within one process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .errors import UsageError


class Claims:
    """The runs of one journal that are being driven. Two at once would each do what the other has done."""

    def __init__(self) -> None:
        self._held: set[str] = set()

    @contextmanager
    def hold(self, run_id: str) -> Iterator[None]:
        """Drive a run within this block.

        Raises:
            UsageError: it is being driven.
        """
        if run_id in self._held:
            raise UsageError(f"run {run_id!r} is under way: wait until it has ended or paused")
        self._held.add(run_id)
        try:
            yield
        finally:
            self._held.discard(run_id)
