"""What takes an agent's place for the time of a block, so that a program can be tested as it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from msgspec import Struct

from ..core.interfaces import Clock, Journal
from ..core.model import Model
from ..runs.given_tools import Toolish

_in_force: ContextVar[Mapping[object, Replaced]] = ContextVar("actum_overrides", default={})  # noqa: B039  # never changed


class Replaced(Struct, frozen=True, kw_only=True, eq=False):
    """What takes the place of an agent's own parts; None leaves the own one.

    Attributes:
        model: is asked.
        tools: can be called, and no others of the agent's own.
        journal: has the runs.
        clock: tells the time.
    """

    model: Model | None = None
    tools: Sequence[Toolish] | None = None
    journal: Journal | None = None
    clock: Clock | None = None


def replaced(origin: object) -> Replaced | None:
    """What takes the place of an agent's parts here and now; None where nothing does.

    Args:
        origin: what all copies of the agent have in common.
    """
    return _in_force.get().get(origin)


@contextmanager
def replacing(origin: object, parts: Replaced) -> Iterator[None]:
    """A block in which the parts of an agent are replaced, in asyncio tasks and threads begun there too."""
    token = _in_force.set({**_in_force.get(), origin: parts})
    try:
        yield
    finally:
        _in_force.reset(token)
