"""Who drives which run, and who adds to which conversation, within one process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from .errors import Busy


class Claims:
    """What is held of one journal. Two that drive one run would each do what the other has done."""

    def __init__(self) -> None:
        self._held: set[str] = set()

    @contextmanager
    def hold(self, name: str) -> Iterator[None]:
        """Hold it within this block.

        Raises:
            Busy: it is held.
        """
        if name in self._held:
            raise busy(name)
        self._held.add(name)
        try:
            yield
        finally:
            self._held.discard(name)

    def held(self, names: Iterable[str]) -> set[str]:
        """Those of them that are held."""
        return self._held.intersection(names)


def busy(name: str) -> Busy:
    """The error of whoever comes second."""
    kind, colon, rest = name.partition(":")
    what = f"conversation {rest!r}" if kind == "conversation" and colon else f"run {name!r}"
    return Busy(f"{what} is under way: wait until it has ended or paused")
