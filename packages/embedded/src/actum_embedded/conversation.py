"""The conversation as the embedded model reads it: turns, what is being asked now, and what an earlier turn has to do
with it.

Two things reach back. An answer to our own question ("Which city?" - "Shanghai") fills the slot that was asked for. A
follow-up ("and Shanghai?", "那上海呢？") repeats the last calls with what it names put in place.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

from actum.core.call import MediaPart, ToolCall, ToolResult
from actum.core.json import Json
from actum.core.message import (
    Message,
    Reply,
    SystemMessage,
    ToolMessage,
    UserMessage,
)

from .calls.arguments import Argument, fill
from .calls.chain import refers_back, taken_from
from .calls.plan import guess, plan
from .calls.step import Step
from .mood import answer_weighed, weighed
from .telling.answer import value_of
from .text.clauses import Clause, read
from .text.spans import Span
from .tools.selection import Shelf, index
from .tools.slots import Slot
from .tools.values import value_for

TURNS_MAX = 5
"""So many of the latest turns are looked at."""

FROM_BEFORE, BY_ANSWER = 0.9, 0.7
"""How sure a value is that an earlier call had, and one that is the whole answer to our question."""


class Turn(NamedTuple):
    """What the user said, and what came of it so far.

    Attributes:
        text: the words.
        attachments: handle and media type of what came with them.
        calls: the calls since then, each with its result where there is one.
        answer: the last text that was replied.
    """

    text: str
    attachments: tuple[tuple[str, str], ...]
    calls: tuple[tuple[ToolCall, ToolResult | None], ...]
    answer: str


def turns_of(messages: Sequence[Message]) -> list[Turn]:
    """The latest turns, the oldest of them first. Reads from the end, so a long history costs nothing."""
    turns: list[Turn] = []
    since: list[Message] = []
    for message in reversed(messages):
        if isinstance(message, UserMessage) and message.source == "memory":
            continue  # the program's word on earlier turns, and not the user's
        if isinstance(message, UserMessage):
            turns.append(_turn(message, since[::-1]))
            since = []
            if len(turns) == TURNS_MAX:
                break
        else:
            since.append(message)
    return turns[::-1]


def instructions_of(messages: Sequence[Message]) -> str:
    """What the system messages at the head say."""
    said = []
    for message in messages:
        if not isinstance(message, SystemMessage):
            break
        said.append(message.text)
    return "\n".join(said)


def _turn(said: UserMessage, since: Sequence[Message]) -> Turn:
    results: list[ToolResult] = [message.result for message in since if isinstance(message, ToolMessage)]
    calls: list[tuple[ToolCall, ToolResult | None]] = []
    answer = ""
    for message in since:
        if isinstance(message, Reply):
            answer = message.text or answer
            for call in message.calls:
                found = next((result for result in results if result.call_id == call.id), None)
                if found is not None:
                    results.remove(found)  # ids may come again in a later reply
                calls.append((call, found))
    media = [(part.handle, part.media_type) for part in said.content if isinstance(part, MediaPart) and part.handle]
    return Turn(said.text, tuple(media), tuple(calls), answer)


def steps_for(turns: Sequence[Turn], shelf: Shelf, today: date) -> list[Step]:
    """The steps that the last turn asks for, in the light of those before it.

    A step that its user's words speak against has these words as `Step.against`, until the user says yes to it.
    """
    turn, earlier = turns[-1], turns[:-1]
    if earlier and not turn.attachments and is_yes(turn.text) and (asked := held_back(earlier, shelf, today)):
        return [step._replace(against="") for step in asked]
    pending = _pending(earlier, shelf, today) if earlier else []
    question = read(turn.text, today, _attached(turn))
    lead = _LEADS.match(question.text) if earlier else None
    goes_on = bool(earlier) and (_follows_up(question) or _is_fragment(question))
    own = plan(question.part(lead.end(), question.end) if lead else question, shelf, named=goes_on)
    if not earlier:
        return weighed(own or guess(question, shelf), turn.text)
    if pending and _may_answer(pending, own):
        answered = _answered(pending, question)
        if answered:
            return [answer_weighed(step, turn.text) for step in answered]
    last = next((each.calls for each in reversed(earlier) if each.calls), ())
    if own:
        reaches = _follows_up(question) or any(refers_back(step.clause, slot) for step in own for slot in step.missing)
        return weighed([_completed(step, last, shelf) for step in own] if reaches else own, turn.text)
    return weighed(_varied(last, question, shelf) if goes_on else guess(question, shelf), turn.text)


def held_back(turns: Sequence[Turn], shelf: Shelf, today: date) -> list[Step]:
    """The steps of the last turn that its user was asked about, since the user's words spoke against them."""
    turn = turns[-1]
    if not turn.answer or not turn.answer.rstrip().endswith(SHALL_I):
        return []
    return [step for step in steps_for(turns, shelf, today) if step.against]


SHALL_I = ("Shall I?", "要做吗？")
"""How such a question ends, in both languages."""


def is_yes(text: str) -> bool:
    """The user agrees, and says nothing else."""
    return _YES.fullmatch(text) is not None


def is_no(text: str) -> bool:
    """The user declines, and says nothing else."""
    return _NO.fullmatch(text) is not None


_YES = re.compile(
    r"\W*(?:yes|yep|yeah|yup|sure|please do|do it|do so|do that|go ahead|of course|certainly|confirm|confirmed"
    r"|是|是的|对|对的|可以|确定|确认|要|要的|做吧|执行)"
    r"(?:\W+(?:please|do|do it|do so|do that|go ahead|i am sure|请做|做吧|可以))*\W*",
    re.IGNORECASE,
)
_NO = re.compile(
    r"\W*(?:no|nope|nah|no thanks|no thank you|not now|don['’]?t|do not|不|不要|不用|不是|别|不做|不行|否)\W*",
    re.IGNORECASE,
)


def _attached(turn: Turn) -> list[Span]:
    place = len(turn.text)
    return [Span("attachment", place, place, handle, handle, media_type) for handle, media_type in turn.attachments]


# Answers to what we asked ---------------------------------------------------------------------------------------------


def _pending(turns: Sequence[Turn], shelf: Shelf, today: date) -> list[Step]:
    """The steps of the turn before that wait for a value; none that the user has to say yes to first."""
    if not turns[-1].answer:
        return []
    return [step for step in steps_for(turns, shelf, today) if step.missing and not step.against]


def _may_answer(pending: Sequence[Step], own: Sequence[Step]) -> bool:
    """Whether what was said now can be the answer: it asks for nothing of its own, or for the same tool, or text was
    wanted.
    """
    tools = {step.indexed.tool.name for step in pending}
    wants_text = any(slot.kind in ("text", "title") for step in pending for slot in step.missing[:1])
    return not own or wants_text or all(step.indexed.tool.name in tools for step in own)


def _answered(pending: Sequence[Step], answer: Clause) -> list[Step]:
    """The waiting steps with what the answer gives them; empty when it gives nothing."""
    filled: list[Step] = []
    for step in pending:
        had = {each.slot.path for each in step.arguments}
        wants_text = len(step.missing) == 1 and step.missing[0].kind == "text"
        found = () if wants_text else fill(step.indexed, answer).arguments
        given = [each for each in found if each.slot.path not in had]
        known = {each.slot.path for each in given}
        missing = [slot for slot in step.missing if slot.path not in known]
        if len(missing) == 1 == len(step.missing) and (whole := _whole(missing[0], answer)) is not None:
            given, missing = [whole, *given], []
        filled.append(step._replace(arguments=(*step.arguments, *given), missing=tuple(missing)))
    return filled if any(len(new.missing) < len(old.missing) for new, old in zip(filled, pending, strict=True)) else []


_LEAD = re.compile(
    r"^(?:it['’]?s|it is|in|for|at|on|to|about|the|please|make it|use|是|在|就|就是|我在|请|用)\s*", re.IGNORECASE
)
_ANSWER_LENGTH_MAX = 60


def _whole(slot: Slot, answer: Clause) -> Argument | None:
    """The answer as it is, where it is short or the slot takes text."""
    text = answer.text.strip(" \t\n?？。.!！,，")
    while slot.kind != "text" and (shorter := _LEAD.sub("", text, count=1)) != text and shorter:
        text = shorter
    short = len(text) <= _ANSWER_LENGTH_MAX and len(text.split()) <= 6
    if (
        not text
        or (slot.kind != "text" and all(token.functional for token in answer.tokens))
        or not (short or slot.kind in ("text", "query"))
        or slot.enum
        or slot.kind in ("date", "time", "email", "url")
    ):
        return None
    span = Span("answer", answer.start, answer.end, text, text)
    value: Json | None = value_for(slot, span) if slot.type == "string" else None
    return Argument(slot, value, span, BY_ANSWER) if value is not None else None


# Follow-ups -----------------------------------------------------------------------------------------------------------

_LEADS = re.compile(
    r"\s*(?:(?:and|or|also|then|but)?\s*(?:what about|how about|what if)|and|or|also|then|but)\b"
    r"|\s*(?:那|那么|还有|再|换成|如果)",
    re.IGNORECASE,
)
_TRAILS = re.compile(r"呢\s*[？?。!！]*\s*$")


def _follows_up(question: Clause) -> bool:
    return _LEADS.match(question.text) is not None or _TRAILS.search(question.text) is not None


def _is_fragment(question: Clause) -> bool:
    """It names something and asks nothing: `Shanghai?`."""
    typed = [span for span in question.spans if span.kind not in ("phrase", "chunk")]
    loose = [
        token
        for token in question.tokens
        if not token.functional and not any(span.start <= token.start < span.end for span in typed)
    ]
    return bool(typed) and not loose


def _completed(step: Step, last: Sequence[tuple[ToolCall, ToolResult | None]], shelf: Shelf) -> Step:
    """A step of a follow-up with what it lacks taken from the calls before: the city of "and the news?"."""
    if not step.missing:
        return step
    found: list[Argument] = []
    for slot in step.missing:
        old = next((value for call, _ in reversed(last) if (value := _old_value(slot, call, shelf)) is not None), None)
        if old is None and refers_back(step.clause, slot):
            old = next(
                (value for _, result in last if result is not None and (value := _found(slot, result)) is not None),
                None,
            )
        if old is not None:
            found.append(Argument(slot, old, _before(old), FROM_BEFORE))
    had = {each.slot.path for each in found}
    missing = tuple(slot for slot in step.missing if slot.path not in had)
    return step._replace(arguments=(*step.arguments, *found), missing=missing)


def _found(slot: Slot, result: ToolResult) -> Json | None:
    """What an earlier result has for a slot: the address in "open the first result"."""
    return taken_from(value_of(result), slot) if result.error is None else None


def _old_value(slot: Slot, call: ToolCall, shelf: Shelf) -> Json | None:
    """What an earlier call had for a slot of the same name or kind."""
    if slot.name in call.arguments and len(slot.path) == 1:
        return call.arguments[slot.name]
    tool = next((each for each in shelf.tools if each.tool.name == call.name), None)
    alike = [each for each in tool.slots if each.kind == slot.kind and len(each.path) == 1] if tool else []
    return next((call.arguments[each.name] for each in alike if each.name in call.arguments), None)


def _varied(last: Sequence[tuple[ToolCall, ToolResult | None]], question: Clause, shelf: Shelf) -> list[Step]:
    """The last calls again, with what the question names in place of what they had."""
    steps: list[Step] = []
    for call, _ in last:
        tool = next((each.tool for each in shelf.tools if each.tool.name == call.name), None)
        if tool is None:
            continue
        indexed = index(tool)
        new = [
            each
            for each in fill(indexed, question).arguments
            if each.slot.kind not in ("text", "query") or len(indexed.slots) == 1
        ]
        if not new:
            continue
        named = {each.slot.path for each in new}
        kept = [
            Argument(slot, call.arguments[slot.name], _before(call.arguments[slot.name]), FROM_BEFORE)
            for slot in indexed.slots
            if len(slot.path) == 1 and slot.path not in named and slot.name in call.arguments
        ]
        step = Step(len(steps), indexed, (*new, *kept), (), (), question)
        if not any(step.same_call(other) for other in steps):
            steps.append(step)
    return steps


def _before(value: Json) -> Span:
    return Span("before", 0, 0, str(value), value)
