"""For whom toolsets keep sessions with servers open while a run is under way, and after."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.holder import Holder
from ..core.json import dumps
from ..core.message import Message, ToolMessage
from ..journal.recording import RunState


def holder_of(run_id: str, state: RunState, heard: Sequence[Message]) -> Holder:
    """For whom toolsets keep sessions open during a run: its conversation, or the run itself."""
    started = state.beginning()

    def called() -> set[str]:
        results = [said for said in heard if isinstance(said, ToolMessage) and not said.given]
        told = {said.name for said in results if said.result.error is None}
        return told | (state.succeeded() if state.requested else set())

    conversation = f"conversation:{dumps([started.belongs_to, started.conversation])}"
    name = conversation if started.conversation else f"run:{run_id}"
    return Holder(started.principal, name, called, tenant=started.tenant)


def rest_or_leave(holder: Holder, *, paused: bool, comes_back: bool) -> None:
    """A run is not under way any more: toolsets need not keep their sessions for it."""
    if paused:
        holder.pause()
    elif comes_back:
        holder.rest()
    else:
        holder.leave()
