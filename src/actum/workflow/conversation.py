"""The conversation that a run of a workflow belongs to: its variables, and what was said in it before.

There is no store beside the record. A run begins with the variables as they are then; each change is on record with its
version. The driver of a run holds the conversation, so two runs never change a variable at the same time. A run that
was paused while another run changed a variable can not overwrite that change: its node fails.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import cast

import msgspec
from msgspec import Struct

from ..agents.cleanness import labels_seen_before
from ..agents.conversation import NO_LABELS
from ..core.errors import UsageError
from ..core.interfaces import Journal
from ..core.json import Json, JsonObject
from ..core.message import Message, Reply, UserMessage
from ..core.run.node_records import NODE_VALUE_BYTES_MAX, NodeLeft
from ..core.run.record import ConversationRead, Remembered, Started
from ..core.token_estimate import tokens_of
from ..core.user import User
from ..journal.recording import RunState
from ..policy.labels import Label
from ..runs.recorded import sound
from .definition.flow import Due, NodeOutcome
from .definition.settings import MemoryWindow

OPEN_RUNS_MAX = 100
"""The most open runs of a conversation: paused, interrupted or queued."""
_PAGE = 50
_BEFORE_MAX = 1_000
"""The most earlier answers that are searched, one before another, for a run of a workflow, where they have no
conversation."""
SPEAKER = "workflow:"
"""How the name of the model begins by which an agent stands for a workflow; see `speaker`."""


class ConversationState(Struct, frozen=True, kw_only=True):
    """How a conversation stands.

    Attributes:
        previous: its latest run; empty where there is none.
        seen: how many entries that run has.
        open_runs: runs of workflows that have not come to their end.
        variables: the variables as they are now.
        labels_seen: the labels of values that were seen in the conversation; a run of a workflow may pass on any value.
    """

    previous: str = ""
    seen: int = 0
    open_runs: tuple[str, ...] = ()
    variables: dict[str, Remembered] = {}
    labels_seen: tuple[str, ...] = ()

    def check_room(self, conversation: str) -> None:
        """Whether one more run can begin or be queued. Runs that are open already may always go on.

        Raises:
            UsageError: too many runs of the conversation are open.
        """
        if len(self.open_runs) >= OPEN_RUNS_MAX:
            raise UsageError(
                "conversation {conversation!r} has {most} runs that have not ended: end some",
                conversation=conversation,
                most=OPEN_RUNS_MAX,
            )

    def within(self, run_id: str, started: Started, journal: Journal) -> Started:
        """The first record of a run that begins in this state of the conversation."""
        variables, kept = self.kept_in(journal, run_id)
        return msgspec.structs.replace(
            started,
            previous=self.previous,
            seen=self.seen,
            open_runs=self.open_runs,
            variables=variables,
            variables_kept=kept,
            labels_seen=tuple(dict.fromkeys((*started.labels_seen, *self.labels_seen))),
        )

    def read(self, run_id: str, journal: Journal, labels_seen: Sequence[str]) -> ConversationRead:
        """The record of a run that was queued, and begins in this state of the conversation."""
        variables, kept = self.kept_in(journal, run_id)
        return ConversationRead(
            previous=self.previous,
            seen=self.seen,
            open_runs=self.open_runs,
            variables=variables,
            variables_kept=kept,
            labels_seen=tuple(dict.fromkeys((*labels_seen, *self.labels_seen))),
        )

    def kept_in(self, journal: Journal, run_id: str) -> tuple[dict[str, Remembered], str]:
        """The variables as they go on record: by themselves, or by the digest under which the journal keeps them."""
        text = msgspec.json.encode(self.variables)
        if len(text) <= NODE_VALUE_BYTES_MAX:
            return self.variables, ""
        kept = hashlib.sha256(text).hexdigest()
        journal.keep(kept, text, run_id)
        return {}, kept


async def state_of(
    journal: Journal, owner: User, conversation: str, *, but: str = "", labels: Mapping[str, Label] = NO_LABELS
) -> ConversationState:
    """How a conversation stands now. The caller holds the conversation.

    Args:
        journal: where its runs are written down.
        owner: whose conversation it is; another owner's conversation of the same id is another one.
        conversation: its id.
        but: a run that is left out: it was queued, and begins now.
        labels: what the labels of values mean.
    """
    previous, seen, behind = "", 0, ""
    queued: list[str] = []
    while True:
        page = await journal.runs(
            conversation=conversation, owner=owner.principal, tenant=owner.tenant, limit=_PAGE, behind=behind
        )
        for line in page:
            if line.run_id == but:
                continue
            run_id = await _workflow_of(journal, line.run_id, line.model, owner, is_workflow=line.kind == "workflow")
            state = await _state(journal, run_id, owner) if run_id else None
            if state is not None and not state.has_read_conversation:
                if state.ended is None:
                    queued.append(run_id)
                continue
            if not previous:
                previous = line.run_id
                seen = len(await journal.read(previous, tenant=owner.tenant))
            if state is not None and state.beginning().conversation:
                folded, seen_before = await _folded(journal, owner, run_id, state), tuple[str, ...]()
                if previous != run_id:
                    seen_before = await labels_seen_before(journal, previous, seen, owner, labels)
                return msgspec.structs.replace(
                    folded,
                    previous=previous,
                    seen=seen,
                    open_runs=(*queued, *folded.open_runs),
                    labels_seen=(*folded.labels_seen, *seen_before),
                )
        if len(page) < _PAGE:
            break
        behind = page[-1].run_id
    labels_seen = await labels_seen_before(journal, previous, seen, owner, labels)
    return ConversationState(previous=previous, seen=seen, open_runs=tuple(queued), labels_seen=labels_seen)


async def state_after(journal: Journal, owner: User, run_id: str) -> ConversationState:
    """How a conversation that has no id stood when one of its runs ended: each run names the run before it. Two runs
    that follow the same run do not see each other's variables.

    Args:
        journal: where the runs are written down.
        owner: whose conversation it is.
        run_id: the run.
    """
    for _ in range(_BEFORE_MAX):
        before = await _state(journal, run_id, owner) if run_id else None
        if before is None:
            break
        started = before.beginning()
        child = await _workflow_of(journal, run_id, started.model, owner, is_workflow=bool(started.workflow))
        state = await _state(journal, child, owner) if child else None
        if state is not None and state.beginning().conversation:
            return msgspec.structs.replace(await _folded(journal, owner, child, state), open_runs=())
        run_id = started.previous
    return ConversationState()


async def _workflow_of(journal: Journal, run_id: str, model: str, owner: User, *, is_workflow: bool) -> str:
    """The run of a workflow that a run of a conversation is, or that works for it; empty where there is none."""
    if is_workflow:
        return run_id
    if not model.startswith(SPEAKER):
        return ""
    found = await journal.runs(parent=run_id, tenant=owner.tenant, kind="workflow", limit=1)
    return found[0].run_id if found else ""


async def _state(journal: Journal, run_id: str, owner: User) -> RunState | None:
    """A run of an owner as it stands; None where it was forgotten, or is another owner's."""
    entries = sound(run_id, await journal.read(run_id, tenant=owner.tenant))
    if not entries or not entries[0].payload:
        return None
    state = RunState(entries)
    return state if state.beginning().owning_user == owner else None


async def _folded(journal: Journal, owner: User, run_id: str, state: RunState) -> ConversationState:
    """The variables and labels as a run, and those that were open when the run began, left them; and which are open."""
    variables = await remembered_by(journal, state.beginning())
    still_open, labels_seen = list[str](), dict[str, None]()
    for each in (run_id, *state.beginning().open_runs):
        found = state if each == run_id else await _state(journal, each, owner)
        if found is None:
            continue
        labels_seen |= dict.fromkeys((*found.beginning().labels_seen, *found.labels_seen))
        for name, value in (await _assigned_in(journal, found)).items():
            if name not in variables or variables[name].version < value.version:
                variables[name] = value
        if found.ended is None or found.ended.status not in ("done", "failed"):
            still_open.append(each)
    return ConversationState(variables=variables, open_runs=tuple(still_open), labels_seen=tuple(labels_seen))


async def remembered_by(journal: Journal, started: Started) -> dict[str, Remembered]:
    """The variables of the conversation with which a run began."""
    if not started.variables_kept:
        return dict(started.variables)
    return msgspec.json.decode(await journal.kept(started.variables_kept), type=dict[str, Remembered])


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
