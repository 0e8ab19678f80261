"""Holders: a conversation, a run or a client that keeps something open between calls, such as a session with a server.

A toolset that keeps sessions gives each holder its own session, so that no two holders share the state behind a session
(a page in a browser, a transaction). The holder tells the toolset whether it still needs what is kept. This file knows
nothing of servers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Literal, TypeAlias

from .user import User

HolderState: TypeAlias = Literal["here", "paused", "idle", "left", "over"]
"""`here`: at work. `paused`: waits for a person. `idle`: may come back, as a conversation between two turns. `left`:
does not come back, and what was kept may be used by another of the same user. `over`: what was kept is to be
ended."""

HolderKey: TypeAlias = tuple[User, str]
"""The user on whose behalf a holder acts, and the name of the holder."""


class Holder:
    """Somebody for whom toolsets keep things open between calls. Two of the same user and name mean the same.

    Args:
        principal: the user on whose behalf the holder acts; empty for nobody known.
        name: who it is, such as `conversation:c1`, `run:run_1`, or `client:` and an id that nobody can guess.
        called: tells the names of the tools that were already called with success on its record.
        alone: what is kept for it is never handed to another holder, but ended.
        tenant: whose user the principal is.

    Attributes:
        state: whether it needs what is kept; `here` to begin with.
    """

    def __init__(
        self,
        principal: str,
        name: str,
        called: Callable[[], Collection[str]] = frozenset,
        *,
        alone: bool = False,
        tenant: str = "",
    ) -> None:
        self.user = User(tenant, principal)
        self.name = name
        self.called = called
        self.alone = alone
        self.state: HolderState = "here"
        self._hears: list[Callable[[Holder], None]] = []

    @property
    def key(self) -> HolderKey:
        """What this holder is known by."""
        return (self.user, self.name)

    def watch(self, hear: Callable[[Holder], None]) -> None:
        """Have something called when the state changes; the same only once."""
        if hear not in self._hears:
            self._hears.append(hear)

    def enter(self) -> None:
        """It is at work: nobody else gets what is kept for it."""
        self._become("here")

    def pause(self) -> None:
        """It waits for a person; toolsets keep what they have for it for some minutes."""
        self._become("paused")

    def rest(self) -> None:
        """It may come back; what is kept for it may be given up where room is needed."""
        self._become("idle")

    def leave(self) -> None:
        """It does not come back; another holder of the same user may use what was kept."""
        self._become("left")

    def end(self) -> None:
        """It is over, and what was kept for it is to be ended."""
        self._become("over")

    def _become(self, state: HolderState) -> None:
        if state != self.state:
            self.state = state
            for hear in list(self._hears):
                hear(self)
