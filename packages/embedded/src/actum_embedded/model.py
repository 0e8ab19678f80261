"""`Embedded`: a model that ships with actum. It is no language model.

It reads the question (`words`, `spans`, `clauses`), makes a plan of calls out of the tools' own words (`selection`,
`arguments`, `plan`), looks at what was done of it (`progress`), and either says the calls that come next or the
answer (`answer`). Each reply is a pure function of the request and the present day: no state, no chance, no network,
and nothing that stands in a tool's result can make it do anything: results are told, or fill the slot that the plan
left open for them.

Not covered: understanding. It knows words, not what is meant; it writes no prose, concludes nothing, holds no
knowledge, and keeps to no output schema. `docs/embedded.md` says how it chooses and where it fails.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import date

from actum.core.call import TextPart, ToolCall
from actum.core.event import (
    CallDelta,
    CallSaid,
    Delta,
    TextDelta,
)
from actum.core.json import JsonObject, dumps
from actum.core.message import Message, Reply, ToolMessage
from actum.core.model import Request
from actum.core.tool import AllowedTools, NamedTool, Tool

from .calls.arguments import fill
from .calls.step import Step
from .conversation import Turn, held_back, instructions_of, is_no, steps_for, turns_of
from .mood import weighed
from .telling.answer import ToldResult, tell
from .telling.asking import confirmation, questions
from .telling.progress import Progress, ends_early, lay_over
from .telling.voice import Voice, talk
from .text.clauses import read
from .text.dates import stated_today
from .text.words import tokenize
from .tools.selection import Shelf
from .tools.slots import Slot

CALLS_MAX = 32
"""So many calls of one reply at most: a list of a hundred cities is asked for in parts."""

TOOLS_NAMED_MAX = 6


class Embedded:
    """The embedded model.

    Args:
        today: gives the present day, for "tomorrow"; a date that the instructions state goes before it.
    """

    def __init__(self, today: Callable[[], date] = date.today) -> None:
        self._today = today

    @property
    def name(self) -> str:
        """`embedded`."""
        return "embedded"

    @property
    def supervised(self) -> bool:
        """It is: it knows words, not what is meant, so a person approves effects where the agent has no policy."""
        return True

    async def reply(self, request: Request, emit: Callable[[Delta], None] | None = None) -> Reply:
        """Answer a request: with calls while there is something to find out, else with text."""
        reply = _reply(request, self._today)
        if emit is not None:
            for delta in _deltas(reply):
                emit(delta)
        return reply


def _reply(request: Request, today: Callable[[], date]) -> Reply:
    turns = turns_of(request.messages)
    if not turns:
        return _text(Voice(False).say("empty"))
    turn, voice = turns[-1], _voice(turns)
    tools, must = _on_offer(request)
    if not turn.calls and not must and (said := _talk(turn, voice)):
        return _text(said)
    day = stated_today(instructions_of(request.messages)) or today()
    shelf = Shelf(tools)
    if len(turns) > 1 and not turn.calls and is_no(turn.text) and held_back(turns[:-1], shelf, day):
        return _text(voice.say("called_off"))
    steps = steps_for(turns, shelf, day)
    if must and not turn.calls:
        steps = _at_any_rate(steps, turn, shelf, day)
    progress = lay_over(steps, turn.calls)
    calls = [] if request.tool_choice == "none" else progress.next_calls()
    if must and not turn.calls and not calls:
        calls = [(step.indexed.tool.name, _known(step)) for step in steps[:1] if not step.against]
    if calls:
        most = 1 if request.parallel_calls is False else CALLS_MAX
        return _said(calls[:most], _calls_so_far(request.messages))
    return _text(_answer(progress, tools, voice, allowed=request.tool_choice != "none"))


def _on_offer(request: Request) -> tuple[Sequence[Tool], bool]:
    """The tools that may be called, and whether one must be."""
    match request.tool_choice:
        case NamedTool(name=name):
            return [tool for tool in request.tools if tool.name == name], True
        case AllowedTools(names=names, mode=mode):
            return [tool for tool in request.tools if tool.name in names], mode == "required"
        case choice:  # it writes no sentence that a quote would have to back
            return [tool for tool in request.tools if tool.source_kind != "reference"], choice == "required"


def _at_any_rate(steps: list[Step], turn: Turn, shelf: Shelf, day: date) -> list[Step]:
    """The plan, or where it is empty the tool that comes nearest, with what the question has for it."""
    if any(not step.missing or step.against for step in steps) or not shelf.tools:
        return steps
    question = read(turn.text, day)
    ranked = shelf.rank(question.terms, question.spans, question.words)
    filled = [fill(each.indexed, question) for each in ranked]
    best = min(filled, key=lambda each: (len(each.missing), -len(each.arguments))) if not steps else None
    if best is None:
        return steps
    return weighed([Step(0, best.indexed, best.arguments, best.missing, (), question)], turn.text)


def _known(step: Step) -> JsonObject:
    return {each.slot.path[0]: each.value for each in step.arguments if len(each.slot.path) == 1}


# What is said ---------------------------------------------------------------------------------------------------------


def _answer(progress: Progress, tools: Sequence[Tool], voice: Voice, *, allowed: bool) -> str:
    """What came of the plan, then what is still to be known."""
    told: list[ToldResult] = []
    for step in progress.steps:
        last = progress.last(step)
        if last is not None and not _wanting(step, progress):
            told.append(tell(step.indexed, progress.made(step), last[1], voice))
        elif ends_early(step, progress) and allowed and not step.against:
            needed = next(need.slot for need in step.needs)
            told.append(
                ToldResult(
                    voice.say("blocked", topic=voice.topic(step.indexed), noun=voice.noun(needed.kind, needed.name))
                )
            )
    lines = [each.text for each in told] + [
        result.text for _, result in progress.others if result is not None and result.text
    ]
    held = [step for step in progress.steps if step.against]
    lines += questions([(step, _wanting(step, progress)) for step in progress.steps if not step.against], voice)
    lines += [confirmation(step, voice) for step in held]
    if not lines:
        return _nothing(tools, voice, allowed=allowed)
    apart = "\n\n" if any(each.block for each in told) else "\n" if len(lines) > 2 else voice.say("joined")
    return apart.join(dict.fromkeys(lines))


def _wanting(step: Step, progress: Progress) -> tuple[Slot, ...]:
    """The slots that the user has to fill: those that nothing filled, and those that the tool said were missing."""
    last = progress.last(step)
    error = last[1].error if last is not None and last[1] is not None else None
    if error is None or error.code != "invalid_arguments":
        return step.missing if last is None else ()
    named = {problem.path for problem in error.problems if problem.rule == "required"}
    return tuple(slot for slot in step.indexed.slots if ".".join(slot.path) in named)


def _nothing(tools: Sequence[Tool], voice: Voice, *, allowed: bool) -> str:
    if not tools:
        return voice.say("no_tools")
    if not allowed:
        return voice.say("not_now")
    named = [tool.title or tool.name for tool in tools[:TOOLS_NAMED_MAX]]
    offer = voice.say("offer", tools=voice.say("list").join([*named, *(["…"] if len(tools) > len(named) else [])]))
    return voice.say("nothing_fits", offer=offer)


def _voice(turns: Sequence[Turn]) -> Voice:
    """The language of the question; of the one before where the last message is a name and no sentence."""
    voice = Voice.for_text(turns[-1].text)
    bare_name = not any(token.functional and token.kind != "sign" for token in tokenize(turns[-1].text))
    earlier = Voice.for_text(turns[-2].text) if len(turns) > 1 else voice
    return earlier if bare_name and turns[-2:-1] and turns[-2].answer else voice


def _talk(turn: Turn, voice: Voice) -> str:
    """The answer to a greeting, to thanks, to silence; empty when something is asked."""
    words = re.findall(r"[\w'’]+", turn.text.lower())
    if not words and not turn.attachments:
        return voice.say("empty")
    said = " ".join(words)
    kind = talk().get(said) or talk().get("".join(words))
    return voice.say(kind) if kind else ""


def _text(text: str) -> Reply:
    return Reply((TextPart(text),), finish_reason="stop", model="embedded")


def _said(calls: Sequence[tuple[str, JsonObject]], before: int) -> Reply:
    made = [ToolCall(id=f"call_{before + at}", name=name, arguments=found) for at, (name, found) in enumerate(calls, 1)]
    return Reply(tuple(made), finish_reason="tool_calls", model="embedded")


def _calls_so_far(messages: Sequence[Message]) -> int:
    """How many calls this conversation has had, so that each gets an id of its own."""
    return sum(isinstance(message, ToolMessage) for message in messages)


def _deltas(reply: Reply) -> Iterator[Delta]:
    """The reply in pieces: text by words, calls by name and then by arguments."""
    index = 0
    for part in reply.content:
        if isinstance(part, TextPart):
            yield from (TextDelta(piece) for piece in re.findall(r"\s*\S{1,12}\s*|\s+", part.text))
        elif isinstance(part, ToolCall):
            text = dumps(part.arguments)
            yield CallDelta(index, name=part.name)
            yield from (CallDelta(index, arguments=text[at : at + 16]) for at in range(0, len(text), 16))
            yield CallSaid(index, part)
            index += 1
