"""The mandate of a run: made once for each message of its user, and on record before anything rests on it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from msgspec import structs

from ..core.budget import ZERO, Used
from ..core.errors import ActumError, UsageError
from ..core.message import Reply, Usage, UserMessage
from ..core.run.mandate import MandatedCall, MandateMade
from ..core.tool import Tool, innermost
from ..policy.mandate import Mandate, answered, request_for
from .asking.asker import LiveApprover
from .resolve import Catalog
from .scope import RunContext

WAIT_MAX_S = 120.0
"""So long the model is waited for, where the run has no limit of its own."""


class Mandates:
    """Has the mandate of one run; see `core.policy.MandateSource`.

    Args:
        scope: the run.
        catalog: the tools of the run; it may be replaced when they change.
        asker: asks persons; it tells whether somebody is there.
        asks_model: the run's model may be asked.
    """

    def __init__(self, scope: RunContext, catalog: Catalog, asker: LiveApprover, *, asks_model: bool) -> None:
        self.catalog = catalog
        self._scope = scope
        self._asker = asker
        self._asks_model = asks_model
        self._making = asyncio.Lock()
        self._loop = asyncio.get_running_loop()
        self._heard = (0, 0)

    @property
    def is_attended(self) -> bool:
        """Whether somebody can be asked now."""
        return self._asker.is_there

    def known(self) -> tuple[MandatedCall, ...] | None:
        """The mandate for what the user has said by now; None where none was made."""
        started = self._scope.recording.started
        if started is not None and started.mandate is not None:
            return started.mandate
        if not self._asks_model:
            return ()
        made = self._scope.recording.mandates.get(self._message)
        return None if made is None else made.calls

    @property
    def _message(self) -> int:
        """How many messages of the user the conversation has."""
        seen, count = self._heard
        heard = self._scope.heard
        if seen < len(heard):
            count += sum(isinstance(each, UserMessage) and each.source == "user" for each in heard[seen:])
            self._heard = (len(heard), count)
        return count

    async def make(self, tools: Sequence[Tool] = ()) -> None:
        """Make the mandate, and put it on record; nothing where there is one.

        Args:
            tools: of a run below that needs the mandate.

        Raises:
            JournalError: the mandate can not be written down; nothing may rest on it.
        """
        if asyncio.get_running_loop() is not self._loop:  # the run below is in a thread of its own
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self.make(tools), self._loop))
            return
        async with self._making:
            if self.known() is not None:
                return
            scope, message = self._scope, self._message
            made = await self._asked(message, tools)
            scope.write(made)
            await scope.journal.sync(scope.run_id)

    async def _asked(self, message: int, tools: Sequence[Tool]) -> MandateMade:
        """The record of what the run's model says; an empty mandate where it says none."""
        scope = self._scope
        known = {tool.name: tool for tool in [*tools, *await _below(self.catalog), *self.catalog.tools]}
        if reason := scope.budget.exhausted():
            return self._empty(message, f"the limit of {reason} is reached")
        reply = Reply()
        try:
            assert scope.sample is not None
            async with scope.clock.timeout(WAIT_MAX_S):
                reply = await scope.sample(request_for(scope.heard, scope.instructions, list(known.values())))
            found = Mandate.of(answered(reply.text).encode()).checked(known)
        except (ActumError, TimeoutError) as error:
            return self._empty(message, str(error) if isinstance(error, UsageError) else type(error).__name__, reply)
        return self._counted(MandateMade(found.calls, "model", message), reply)

    def _empty(self, message: int, fault: str, reply: Reply | None = None) -> MandateMade:
        return self._counted(MandateMade((), "nobody", message, fault[:200]), reply or Reply())

    def _counted(self, made: MandateMade, reply: Reply) -> MandateMade:
        """The record with what the model used, which counts for the run."""
        scope = self._scope
        usage = reply.usage if reply.usage.is_sound else Usage()
        cost = scope.price.of(usage) if scope.price is not None else ZERO
        scope.budget.add(Used(tokens=usage.total_tokens, cost=cost, usage=usage))
        cause = scope.recording.replies[-1][0] if scope.recording.replies else -1
        return structs.replace(made, usage=usage, cost=cost, elapsed=scope.elapsed(), cause=cause)


async def _below(catalog: Catalog) -> list[Tool]:
    """The tools of the agents that are tools here."""
    found: list[Tool] = []
    for toolset in catalog.toolsets:
        for inner in innermost(toolset):
            tell = getattr(inner, "tools_below", None)
            if tell is not None:
                found += await tell()
    return found
