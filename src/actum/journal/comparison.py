"""Two runs side by side: what they began with, where they first part, and what each came to.

Compared is what was said and done: the model's words and calls, what each call came to, what was asked and answered.
Times, ids and the order in which parallel calls ended are no difference. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from msgspec import Struct

from ..core.json import Json, JsonObject, dumps
from ..core.message import Usage, UserMessage
from ..core.run.record import CallRefused, Ended, Entry, Started
from .timeline import CallSpan, DirectCalls, InputAsked, ModelTurn, NodeSpan, OtherEvent, Timeline


class Moment(Struct, frozen=True):
    """Something that was said or done.

    Attributes:
        what: `model`, `call NAME`, `question` or `end`.
        step: in which turn of the model, from 1; 0 before the first.
        text: what it was, in words.
    """

    what: str
    step: int
    text: str


class Outcome(Struct, frozen=True, kw_only=True):
    """What a run came to.

    Attributes:
        status: as it ended; empty when it has not.
        seconds: between its first and its latest entry, without the time for which somebody was asked.
        tokens: of all replies.
    """

    status: str
    answer: str
    steps: int
    calls: int
    failed_calls: int
    tokens: int
    seconds: float


class Comparison(Struct, frozen=True, kw_only=True):
    """How two runs differ.

    Attributes:
        begun: what they were begun with that is not the same: name, and both values.
        alike: how many moments from the beginning are the same in both.
        parts: the first that is not; None on a side that had ended before; both None where nothing differs.
        outcomes: what each came to.
    """

    begun: tuple[tuple[str, Json, Json], ...]
    alike: int
    parts: tuple[Moment | None, Moment | None]
    outcomes: tuple[Outcome, Outcome]


def compare(left: Sequence[Entry], right: Sequence[Entry]) -> Comparison:
    """Compare two runs by their entries, each from its first."""
    one, other = Timeline(left), Timeline(right)
    alike = 0
    parts: tuple[Moment | None, Moment | None] = (None, None)
    for mine, yours in zip_longest(_moments(one), _moments(other)):
        if mine != yours:
            parts = mine, yours
            break
        alike += 1
    mine_begun, yours_begun = _begun(one.started), _begun(other.started)
    return Comparison(
        begun=tuple(
            (name, value, yours_begun[name]) for name, value in mine_begun.items() if value != yours_begun[name]
        ),
        alike=alike,
        parts=parts,
        outcomes=(outcome_of(one), outcome_of(other)),
    )


def outcome_of(run: Timeline) -> Outcome:
    """What a run came to."""
    ended = [row.record for row in run.rows if isinstance(row, OtherEvent) and isinstance(row.record, Ended)]
    last = ended[-1] if ended else None
    calls = list(run.calls())
    usage = sum((step.replied.reply.usage for step in run.steps()), Usage())
    return Outcome(
        status=last.status if last is not None else "",
        answer=last.text if last is not None else "",
        steps=len(list(run.steps())),
        calls=len(calls),
        failed_calls=sum(1 for call in calls if call.outcome is not None and call.outcome.result.error is not None),
        tokens=usage.total_tokens,
        seconds=max(0.0, run.latest - run.began - run.waited_s),
    )


def _begun(started: Started | None) -> JsonObject:
    """What a run was begun with, by name."""
    if started is None:
        return dict.fromkeys(("agent", "model", "question", "instructions", "tools"))
    return {
        "agent": started.agent,
        "model": started.model,
        "question": "\n".join(message.text for message in started.said if isinstance(message, UserMessage)),
        "instructions": started.instructions,
        "tools": started.tools[:12],
    }


def _moments(run: Timeline) -> Iterator[Moment]:
    """A run as what was said and done, the calls of a turn in the order of the model's words."""
    steps = 0
    for row in run.rows:
        match row:
            case ModelTurn():
                steps += 1
                calls = [f"{call.call.name} {dumps(call.call.arguments)}" for call in row.calls]
                yield Moment("model", steps, "\n".join([*filter(None, [row.replied.reply.text]), *calls]))
                yield from (Moment(f"call {call.call.name}", steps, _outcome_text(call)) for call in row.calls)
            case DirectCalls():
                yield from (Moment(f"call {call.call.name}", steps, _outcome_text(call)) for call in row.calls)
            case NodeSpan():
                yield from (Moment(f"call {call.call.name}", steps, _outcome_text(call)) for call in row.calls)
                if row.left is not None and not row.calls:
                    came = row.left.error.message if row.left.error is not None else dumps(row.left.value)
                    yield Moment(f"node {row.path}", steps, f"{row.left.status} {row.left.port}\n{came}")
            case InputAsked():
                answer = row.answered.text if row.answered is not None else "(no answer)"
                yield Moment("question", steps, f"{row.asked.pending.message}\n{answer}")
            case OtherEvent(record=Ended() as ended):
                if ended.status != "paused":
                    yield Moment("end", steps, f"{ended.status} {ended.reason}\n{ended.text}")
            case OtherEvent():
                pass


def _outcome_text(call: CallSpan) -> str:
    """What became of a call, without what is new each time."""
    said = [f"{each.asked.kind}: {each.answered.verdict}" for each in call.questions if each.answered is not None]
    if call.outcome is None:
        return "\n".join([*said, "in doubt" if call.in_doubt else "no outcome"])
    result = call.outcome.result
    label = "refused" if isinstance(call.outcome, CallRefused) else "done" if result.error is None else "failed"
    text = result.text
    if result.error is not None:
        text = f"{result.error.code}: {text.replace(result.error.reference or chr(0), '')}"
    return "\n".join([*said, f"{label}: {text}"])
