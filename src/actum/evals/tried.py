"""`TriedRun`: what a run did, folded from its record, as a scorer is given it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Literal

from msgspec import Struct, field

from ..core.call import ToolCall
from ..core.json import Json, JsonObject, JsonProblem, parse
from ..core.run.record import CallRefused, Ended, Entry
from ..core.tool import Tool
from ..journal.comparison import outcome_of
from ..journal.timeline import CallSpan, OtherEvent, Timeline

RULE = "evaluation"
"""The rule by which a call is denied that an experiment does not carry out."""
CallEnd = Literal["done", "failed", "denied", "invalid", "open"]
"""What became of a call: it has a result; it failed; it was not allowed; its arguments did not fit the schema; it has
no outcome."""


class TriedCall(Struct, frozen=True):
    """A call that the model asked for.

    Attributes:
        name: of the tool.
        arguments: as they were carried out; as the model said them where they were not.
        end: what became of the call.
        result: the text of its result, or of the error.
    """

    name: str
    arguments: JsonObject
    end: CallEnd
    result: str = ""


class TriedRun(Struct, frozen=True, kw_only=True):
    """What a run did.

    Attributes:
        run_id: the run.
        status: how it ended: `done`, `paused`, `stopped`, `failed`, or empty where it has not ended.
        reason: why it was stopped or failed.
        question: what the user said.
        text: the answer.
        calls: the calls that the model asked for, in order.
        denied: how many of them an experiment did not carry out, since they may change something.
        in_doubt: whether nobody knows if a call happened.
        tokens: of the model.
        cost: of the model and of tools; 0 where nobody knows the price.
        seconds: that it took, without waiting for persons.
        tools: the definitions of its tools, by name.
    """

    run_id: str
    status: str
    reason: str
    question: str
    text: str
    calls: tuple[TriedCall, ...]
    denied: int
    in_doubt: bool
    tokens: int
    cost: Decimal
    seconds: float
    tools: Mapping[str, Tool] = field(default_factory=dict)

    @property
    def output(self) -> Json:
        """The answer as JSON; its text where it is none."""
        try:
            return parse(self.text)[0]
        except (JsonProblem, ValueError, RecursionError):
            return self.text


def tried(run_id: str, entries: Sequence[Entry], tools: Mapping[str, Tool]) -> TriedRun:
    """What a run did.

    Args:
        run_id: the run.
        entries: of the run, from its first.
        tools: the definitions of its tools, by name.
    """
    timeline = Timeline(entries)
    outcome = outcome_of(timeline)
    spans = list(timeline.calls())
    ends = [row.record for row in timeline.rows if isinstance(row, OtherEvent) and isinstance(row.record, Ended)]
    costs = [step.replied.cost for step in timeline.steps()]
    costs += [
        span.outcome.used.cost
        for span in spans
        if span.outcome is not None and not isinstance(span.outcome, CallRefused)
    ]
    return TriedRun(
        run_id=run_id,
        status=outcome.status,
        reason=ends[-1].reason if ends else "",
        question=timeline.started.question if timeline.started is not None else "",
        text=outcome.answer,
        calls=tuple(_call(span) for span in spans),
        denied=sum(isinstance(span.outcome, CallRefused) and span.outcome.rule == RULE for span in spans),
        in_doubt=any(span.in_doubt for span in spans),
        tokens=outcome.tokens,
        cost=sum(costs, Decimal()),
        seconds=outcome.seconds,
        tools=tools,
    )


def _call(span: CallSpan) -> TriedCall:
    call: ToolCall = span.call
    arguments = span.attempts[-1].intended.arguments if span.attempts else call.arguments
    outcome = span.outcome
    if outcome is None:
        return TriedCall(call.name, arguments, "open")
    error = outcome.result.error
    if isinstance(outcome, CallRefused):
        invalid = error is not None and error.code == "invalid_arguments"
        return TriedCall(call.name, arguments, "invalid" if invalid else "denied", outcome.result.text)
    return TriedCall(call.name, arguments, "failed" if error is not None else "done", outcome.result.text)
