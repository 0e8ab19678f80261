"""A run becomes a case: what was said, called and answered. A person only has to say what was right."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import UNSET, Struct

from ..agents.conversation import history_of
from ..core.errors import JournalError, UsageError
from ..core.interfaces import Journal
from ..core.json import Json, JsonObject
from ..core.message import Message, ToolMessage, UserMessage
from ..core.model import Request
from ..core.run.record import CallCompleted
from ..dialects.base import ApiDialect
from ..dialects.transcode.transcode import find
from ..journal.recording import RunState
from ..journal.timeline import CallSpan, Timeline
from ..policy.record_mask import RecordMask
from ..runs.other_values import as_seen
from ..scores.score import THUMB, standing_scores
from .case import Case, CaseCall, Expected

SHORT_MAX = 40
"""A longer text in the arguments of a call becomes `{"$anything": true}`."""
TO_REVIEW = "to_review"
ANYTHING: JsonObject = {"$anything": True}


class Added(Struct, frozen=True, kw_only=True):
    """A case made of a run.

    Attributes:
        case: the case.
        opened: the arguments that may be anything, since their text was long, such as `send_mail.body`.
        to_review: whether a person has to say what was right, since somebody said that the answer was bad.
    """

    case: Case
    opened: tuple[str, ...] = ()
    to_review: bool = False


async def case_of(journal: Journal, run_id: str, mask: RecordMask | None = None) -> Added:
    """A run as a case: question and history, its calls as what is right, and what came back as results.

    Args:
        journal: has the run.
        run_id: the run. Secret values that the record does not have are not in the case either.
        mask: hides values with a label from the person who adds the case.

    Raises:
        UsageError: nobody asked anything in the run, or the case is too large.
    """
    mask = RecordMask(lambda label: False) if mask is None else mask
    entries = await as_seen(mask, journal, run_id, await journal.read(run_id))
    try:
        started = RunState(entries).beginning()
    except JournalError:
        raise UsageError(
            "the run {run} can not be read: it was forgotten, or its record is damaged", run=run_id
        ) from None
    said = [message for message in started.said if isinstance(message, UserMessage)]
    if not said or started.workflow:
        raise UsageError("in the run {run} nobody asked an agent anything: there is no case in it", run=run_id)
    is_bad = any(each.given.name == THUMB and each.given.value == 0 for each in standing_scores(entries))
    timeline = Timeline(entries)
    history = await history_of(journal, started)
    for message in history:
        if isinstance(message, ToolMessage):
            mask.know(message.result)
    history = [*map(mask.message, history)]
    opened: list[str] = []
    calls = [
        CaseCall(name=span.call.name, arguments=_opened(span, opened))
        for span in timeline.calls()
        if not _is_invalid(span)
    ]
    expected = Expected() if is_bad else Expected(calls=tuple(calls)) if calls else Expected(no_calls=True)
    case = Case(
        id=run_id,
        input=said[-1].text if not history else tuple(_as_openai([*history, said[-1]])),
        expected=expected,
        results=_results(list(timeline.calls())),
        tags=(TO_REVIEW,) if is_bad else (),
    )
    return Added(case=case, opened=tuple(dict.fromkeys(opened)), to_review=is_bad)


def _as_openai(messages: Sequence[Message]) -> list[JsonObject]:
    dialect = find("openai")
    assert isinstance(dialect, ApiDialect)
    body = msgspec.json.decode(dialect.encode_request(Request(messages=messages)), type=dict[str, Json])
    said = body["messages"]
    return [message for message in said if isinstance(message, dict)] if isinstance(said, list) else []


def _is_invalid(span: CallSpan) -> bool:
    error = span.outcome.result.error if span.outcome is not None else None
    return error is not None and error.code == "invalid_arguments"


def _opened(span: CallSpan, told: list[str]) -> JsonObject:
    """The arguments of a call, in which long texts may be anything."""
    arguments = span.attempts[-1].intended.arguments if span.attempts else span.call.arguments

    def opened(value: Json, path: str) -> Json:
        match value:
            case str() if len(value) > SHORT_MAX:
                told.append(path)
                return ANYTHING
            case dict():
                return {name: opened(each, f"{path}.{name}") for name, each in value.items()}
            case list():
                return [opened(each, f"{path}[{at}]") for at, each in enumerate(value)]
            case _:
                return value

    return {name: opened(each, f"{span.call.name}.{name}") for name, each in arguments.items()}


def _results(spans: Sequence[CallSpan]) -> dict[str, Json]:
    """What the tools answered: of a tool that was called once its result, of others a list by arguments."""
    by_tool: dict[str, list[tuple[JsonObject, Json]]] = {}
    for span in spans:
        outcome = span.outcome
        if isinstance(outcome, CallCompleted) and outcome.result.error is None:
            result = outcome.result
            value: Json = result.text if result.structured is UNSET else result.structured
            arguments = span.attempts[-1].intended.arguments if span.attempts else span.call.arguments
            by_tool.setdefault(span.call.name, []).append((arguments, value))
    return {
        name: found[0][1] if len(found) == 1 else [{"arguments": each, "result": value} for each, value in found]
        for name, found in by_tool.items()
    }
