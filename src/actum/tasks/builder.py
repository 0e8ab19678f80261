"""`Builder`: builds again, in whatever process, what a run was begun with. `compose` has the one of the settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ..core.errors import UsageError
from ..core.event import Event, RunResult
from ..core.run.record import Started
from ..runs.run import Stopping
from ..runs.runner import Begins


class Resumable(Protocol):
    """What goes on with a run: an `Agent`, or a `Runner` for direct calls."""

    async def resume(
        self,
        run_id: str,
        *,
        emit: Callable[[Event], None] | None = None,
        begins: Begins | None = None,
        stopping: Stopping | None = None,
    ) -> RunResult:
        """Go on with a run; the arguments are those of `Agent.resume`."""


class Unfit(UsageError):
    """This process can not build what a run was begun with: it has no such agent, or another version of it."""


class Builder(Protocol):
    """Builds what goes on with a run."""

    async def build(self, started: Started) -> Resumable:
        """What goes on with the run that began so.

        Raises:
            Unfit: this process can not build it; another may.
        """
