"""The conversation that a run of a workflow belongs to: its variables, and what was said in it before.

There is no store beside the record. A run begins with the variables as they are then; each change stands on record
with its version. Whoever drives a run holds the conversation, so two runs never change a variable at the same time. A
run that was paused while another run changed a variable can not overwrite that change: its node fails.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import msgspec
from msgspec import Struct

from ..agents.conversation import history
from ..core.errors import UsageError
from ..core.interfaces import Journal
from ..core.json import Json, JsonObject
from ..core.message import Message, Reply, UserMessage
from ..core.record import Entry, NodeLeft, Remembered, Started
from ..core.token_estimate import tokens_of
from ..core.user import User
from ..journal.recording import RunState
from ..runs.recorded import sound
from .flow import Due, NodeOutcome
from .settings import MemoryWindow

OPEN_RUNS_MAX = 100
"""So many runs of a conversation may be open: paused or interrupted."""
_LOOKED_AT = 20
"""So many of the latest runs are looked at for one that was not forgotten."""


class ConversationState(Struct, frozen=True, kw_only=True):
    """How a conversation stands.

    Attributes:
        previous: its latest run; empty where there is none.
        seen: how many entries that run has.
        open_runs: runs of workflows that have not come to their end.
        variables: the variables as they are now.
    """

    previous: str = ""
    seen: int = 0
    open_runs: tuple[str, ...] = ()
    variables: dict[str, Remembered] = {}


async def state_of(journal: Journal, owner: User, conversation: str) -> ConversationState:
    """How a conversation stands now. The caller holds the conversation.

    Args:
        journal: where its runs are written down.
        owner: whose conversation it is; another owner's conversation of the same id is another one.
        conversation: its id.

    Raises:
        UsageError: too many runs of the conversation are open.
    """
    latest = await journal.runs(conversation=conversation, owner=owner.principal, tenant=owner.tenant, limit=1)
    if not latest:
        return ConversationState()
    previous = latest[0].run_id
    seen = len(await journal.read(previous, tenant=owner.tenant))
    begun = await _latest_workflow(journal, owner, conversation)
    if begun is None:
        return ConversationState(previous=previous, seen=seen)
    run_id, started = begun
    variables = await remembered_by(journal, started)
    still_open: list[str] = []
    for each in (run_id, *started.open_runs):
        entries = sound(each, await journal.read(each, tenant=owner.tenant))
        if not entries or not entries[0].payload:
            continue  # forgotten
        state = RunState(entries)
        for name, found in (await _assigned_in(journal, state)).items():
            if name not in variables or variables[name].version < found.version:
                variables[name] = found
        if state.ended is None or state.ended.status not in ("done", "failed"):
            still_open.append(each)
    if len(still_open) > OPEN_RUNS_MAX:
        raise UsageError(f"conversation {conversation!r} has more than {OPEN_RUNS_MAX} runs that have not ended")
    return ConversationState(previous=previous, seen=seen, open_runs=tuple(still_open), variables=variables)


async def remembered_by(journal: Journal, started: Started) -> dict[str, Remembered]:
    """The variables of the conversation with which a run began."""
    if not started.variables_kept:
        return dict(started.variables)
    return msgspec.json.decode(await journal.kept(started.variables_kept), type=dict[str, Remembered])


async def _latest_workflow(journal: Journal, owner: User, conversation: str) -> tuple[str, Started] | None:
    listed = await journal.runs(
        conversation=conversation, owner=owner.principal, tenant=owner.tenant, kind="workflow", limit=_LOOKED_AT
    )
    for run in listed:
        entries: Sequence[Entry] = await journal.read(run.run_id, tenant=owner.tenant)
        if entries and entries[0].payload:
            return run.run_id, RunState(entries[:1]).beginning()
    return None


async def _assigned_in(journal: Journal, state: RunState) -> dict[str, Remembered]:
    """The variables of the conversation that a run changed, as the run left them."""
    found: dict[str, Remembered] = {}
    for _, record in state.nodes:
        if not isinstance(record, NodeLeft) or not record.assigned:
            continue
        value = msgspec.json.decode(await journal.kept(record.kept)) if record.kept else record.value
        output = cast(JsonObject, value["output"])
        found |= {name: Remembered(output[name], version) for name, version in record.assigned.items()}
    return found


class ConversationVariables:
    """The variables of the conversation as one run knows them.

    Args:
        names: the variables of the conversation; empty for a run that belongs to no conversation.
        known: the variables with which the run began.
        now: the variables as they are now.
    """

    def __init__(
        self, names: frozenset[str], known: Mapping[str, Remembered], now: Mapping[str, Remembered] | None = None
    ) -> None:
        self._names = names
        self.values: dict[str, Json] = {name: each.value for name, each in known.items()}
        self._known = {name: each.version for name, each in known.items()}
        self._now = {name: each.version for name, each in (known if now is None else now).items()}

    def assigned(self, due: Due, outcome: NodeOutcome) -> dict[str, int]:
        """The variables of the conversation that a node changed, with their new versions."""
        return {
            name: self._known.get(name, 0) + 1
            for name in outcome.variables
            if name in self._names and due.scope.owner_of(name).outer is None
        }

    def conflict(self, assigned: Mapping[str, int]) -> str:
        """The variable that another run has changed since this run has begun; empty where there is none."""
        return next((name for name, version in assigned.items() if self._now.get(name, 0) >= version), "")

    def take(self, assigned: Mapping[str, int]) -> None:
        """The record says that this run has changed the variables."""
        self._known.update(assigned)
        for name, version in assigned.items():
            self._now[name] = max(version, self._now.get(name, 0))


async def earlier_turns(journal: Journal, started: Started) -> list[Message]:
    """What was said in the conversation before a run."""
    if not started.previous:
        return []
    return await history(journal, started.previous, started.seen, owner=started.owning_user)


def window(earlier: Sequence[Message], memory: MemoryWindow | None) -> list[Message]:
    """The latest turns that fit into a memory window: of each turn what was asked, and what was answered.

    Args:
        earlier: what was said in the conversation.
        memory: how much of it a model is told; None for nothing.
    """
    if memory is None:
        return []
    turns: list[tuple[UserMessage, Reply]] = []
    last: Reply | None = None
    for message in reversed(earlier):
        if isinstance(message, Reply) and message.text and last is None:
            last = message
        elif isinstance(message, UserMessage) and last is not None:
            turns.append((message, Reply.of(last.text)))
            last = None
        if len(turns) == memory.turns:
            break
    left, found = memory.tokens, list[Message]()
    for question, answer in turns:
        left -= tokens_of(question) + tokens_of(answer)
        if left < 0:
            break
        found[:0] = [question, answer]
    return found
