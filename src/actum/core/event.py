"""What happens in a run, as it happens: one closed union, `Event`. `match` on it and the type checker finds the
forgotten case.

A decoder emits the first five (`Delta`); the agent adds the rest. Events are for watching; the journal is what counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import TYPE_CHECKING, Generic, Literal, cast

import msgspec
from msgspec import Struct

from .budget import ZERO
from .call import ToolCall, ToolResult
from .errors import UsageError
from .json import Json
from .message import Message, Reply, Usage
from .run.pending import Pending
from .run.plan import PlanSteps
from .run.record import Recalled

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    Output = TypeVar("Output", default=object, covariant=True)
else:  # the default, which only type checkers read, is not in Python 3.11
    from typing import TypeVar

    Output = TypeVar("Output", covariant=True)


class TextDelta(Struct, frozen=True, tag="text_delta", omit_defaults=True):
    """More of the answer's text.

    Attributes:
        refusal: it is the model's word for why it won't.
    """

    text: str
    refusal: bool = False


class ReasoningDelta(Struct, frozen=True, tag="reasoning_delta", omit_defaults=True):
    """More of the model's reasoning.

    Attributes:
        signature: in the last delta of a thought, its opaque token; see `ReasoningPart`.
        redacted: the token is all there is of the thought.
        by: whose the token is.
    """

    text: str
    signature: str = ""
    redacted: bool = False
    by: str = ""


class CallDelta(Struct, frozen=True, tag="call_delta", omit_defaults=True):
    """More of a call that the model is saying.

    Attributes:
        index: which call of this reply, from 0.
        name: the tool's name, in the first delta of a call; empty later.
        arguments: the next piece of the arguments as source text.
        id: the call's id, in its first delta, where it is known by then.
    """

    index: int
    name: str = ""
    arguments: str = ""
    id: str = ""


class CallSaid(Struct, frozen=True, tag="call_said"):
    """The model finished saying a call.

    What follows may still take the call back (`ThoughtEnded`) or add to its `repairs`: the call to act on is the one in
    the whole reply.
    """

    index: int
    call: ToolCall


class ThoughtEnded(Struct, frozen=True, tag="thought_ended"):
    """All text and all calls of this reply so far were reasoning.

    A model whose chat template opened the thought writes only the mark that closes the thought, so nothing told before
    that mark could be known to be reasoning. The indexes of calls begin anew from 0. The event comes at most once in a
    reply.
    """


Delta = TextDelta | ReasoningDelta | CallDelta | CallSaid | ThoughtEnded


def joined(deltas: Iterable[Delta]) -> list[Delta]:
    """The same deltas with neighbouring pieces of the answer's text as one: each hearer has a cost for each delta.

    Args:
        deltas: those that came at once. No piece of text waits for another that is still to come.

    >>> [delta.text for delta in joined([TextDelta("4"), TextDelta("2"), ReasoningDelta("so"), TextDelta(".")])]
    ['42', 'so', '.']
    """
    told: list[Delta] = []
    pieces: list[str] = []
    for delta in deltas:
        if type(delta) is TextDelta and not delta.refusal:
            pieces.append(delta.text)
            continue
        if pieces:
            told.append(TextDelta("".join(pieces)))
            pieces = []
        told.append(delta)
    if pieces:
        told.append(TextDelta("".join(pieces)))
    return told


class RunStarted(Struct, frozen=True, tag="run_started"):
    """A run begins, or goes on after it was paused or interrupted."""

    run_id: str


class ReplyFinished(Struct, frozen=True, tag="reply_finished"):
    """The model's turn is complete.

    Attributes:
        reply: all it said.
        seconds: how long it took.
        left_out: how many messages of the conversation's beginning the model was not told: all of it was too long.
    """

    reply: Reply
    seconds: float
    left_out: int = 0


class CallStarted(Struct, frozen=True, tag="call_started"):
    """A tool starts to run, with the arguments it really gets."""

    call: ToolCall
    repairs: tuple[str, ...] = ()


class CallProgress(Struct, frozen=True, tag="call_progress"):
    """A running tool tells how far it is."""

    call_id: str
    value: Json


class CallFinished(Struct, frozen=True, tag="call_finished"):
    """A call has its outcome.

    Attributes:
        call: the call as the model said it.
        result: what came back, or why nothing did.
        seconds: how long it took, waiting included.
        place: which call of the run: the number of the entry that asked for the call, a point, and the index of the
            call in that entry. Empty where nobody says so.
    """

    call: ToolCall
    result: ToolResult
    seconds: float
    place: str = ""


class NodeStarted(Struct, frozen=True, tag="node_started"):
    """A node of a workflow begins.

    Attributes:
        path: where the node stands, such as `trips[3]/book`.
        kind: the type of the node.
    """

    path: str
    kind: str


class NodeProgress(Struct, frozen=True, tag="node_progress"):
    """Something happens inside of a node of a workflow: a model says something. What a call does is told by the events
    of calls, whose id is the path of the node.
    """

    path: str
    event: Delta


class NodeFinished(Struct, frozen=True, tag="node_finished", omit_defaults=True):
    """A node of a workflow was left.

    Attributes:
        path: as in `NodeStarted`.
        status: how the node ended.
        port: where the workflow goes on; empty for the only port.
        number: the number of its entry in the journal.
    """

    path: str
    status: Literal["done", "failed", "again"]
    port: str = ""
    number: int = 0


class RunResult(Struct, Generic[Output], frozen=True, kw_only=True, tag="run_result"):
    """How a run ended. `RunResult[Invoice]` is the result of a run whose output is an `Invoice`.

    Attributes:
        run_id: its id in the journal.
        status: `done`, `paused` (see `pending`) or `stopped` (see `stop_reason`).
        text: the answer, or what the user should be told.
        output: the answer as a value of the agent's `output_type`: the text itself where that is `str`. Reading it
            raises `UsageError` where the run is paused or stopped, since there is no answer then.
        output_or_none: the same, and None where the run is paused or stopped.
        calls: each call with its result, in the order of the model's words.
        messages: the whole conversation of this run.
        usage: tokens, added up, with those of all that it started, such as agents below.
        own_usage: the tokens of this run's own model alone; sums over runs add these up.
        steps: how often the model was asked.
        cost: what it cost, with what it started: models by the prices that the agent was given, and what tools said.
        stop_reason: which limit, `loop_detected`, `invalid_output`, `no_reply` where the model said nothing twice,
            `cancelled`, or `access_revoked` where the key or the agent was taken from the caller; `length` or
            `content_filter` where the endpoint cut the answer off, so that `text` is only its beginning. Empty unless
            stopped.
        pending: what a paused run waits for.
        plan: the steps that an agent with a plan wrote down last, in this conversation.
        recalled: what the run was told out of the memory of its user.
    """

    run_id: str
    status: Literal["done", "paused", "stopped"]
    text: str
    output_or_none: Output | None = msgspec.field(name="output", default=None)
    calls: tuple[tuple[ToolCall, ToolResult], ...]
    messages: tuple[Message, ...]
    usage: Usage
    own_usage: Usage = Usage()
    steps: int
    cost: Decimal = ZERO
    stop_reason: str = ""
    pending: tuple[Pending, ...] = ()
    plan: PlanSteps = ()
    recalled: tuple[Recalled, ...] = ()

    @property
    def output(self) -> Output:
        if self.status != "done":
            where = "pending tells what the run waits for" if self.status == "paused" else "stop_reason tells why"
            raise UsageError(
                "run {run!r} is {number} and has no output: result.{where}",
                run=self.run_id,
                number=self.status,
                where=where,
            )
        return cast(Output, self.output_or_none)


class AnswerRefused(Struct, frozen=True, tag="answer_refused"):
    """What the model said last does not end the run: the model is asked again. What was told of it does not count.

    Attributes:
        reason: what is wrong with the answer, as the agent's check or its output type says; it may quote the answer.
    """

    reason: str


class PlanChanged(Struct, frozen=True, tag="plan_changed"):
    """The model has written down its plan, or how a step stands."""

    plan: PlanSteps


class ChildEvent(Struct, frozen=True, tag="child_event"):
    """What happens in a run that a call of this one began: an agent that is a tool, or a run that a tool's code began.

    Attributes:
        call: the id of the call.
        agent: the name of the agent below; of a workflow its name.
        run_id: the run below.
        event: what happened there; again a `ChildEvent` where it happened further below.
    """

    call: str
    agent: str
    run_id: str
    event: Event


class MemoryKept(Struct, frozen=True, tag="memory_kept"):
    """Words of the user are remembered from now on.

    Attributes:
        id: the note.
        text: the words.
        kind: `preference` where the words are told to the model in every conversation, else `fact`.
        space: the memory space.
    """

    id: str
    text: str
    kind: str
    space: str


class RunFinished(Struct, Generic[Output], frozen=True, tag="run_finished"):
    """The last event of every run."""

    result: RunResult[Output]


PlainEvent = (
    Delta
    | RunStarted
    | ReplyFinished
    | AnswerRefused
    | PlanChanged
    | MemoryKept
    | CallStarted
    | CallProgress
    | CallFinished
    | RunFinished[Output]
)
"""What happens in a run that is none of a workflow, but for the runs below."""

Event = PlainEvent[Output] | ChildEvent | NodeStarted | NodeProgress | NodeFinished
"""Everything that `stream` yields, of an agent or a workflow."""
