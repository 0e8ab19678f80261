"""The loop, as a generator of intentions. It does no I/O: it yields what it needs done and is sent the outcome.

Whoever drives it does the work: the agent does it live, out of the journal, or first the one and then the other; tests
do it by hand. There is no second loop for streaming, for synchronous programs or for resuming.

    intention    outcome
    CallModel    ModelAnswered(reply)
    CallTools    Called(results), one for each call in order; a `Pending` among them ends the run as paused
    AskUser      UserAnswered(text); a `Pending` ends the run as paused

Whether a reply holds calls decides how it goes on; the finish reason is never trusted for that. It is only believed
where it says that an answer without calls was cut off, or pauses.

A reply that says nothing and calls nothing is left out of the conversation, and the model is asked once more: without
tools where calls of the run have been carried out, so that nothing is done again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Container, Generator, Mapping, Sequence
from decimal import Decimal

from msgspec import Struct, structs

from ..call.limits.call_count import CallCount, own_name
from ..call.limits.limits import Limits
from ..call.references import LinkedCalls, Links
from ..core.budget import NOTHING, ZERO, Used
from ..core.call import TextPart, ToolCall, ToolResult
from ..core.errors import BudgetExceeded, CallError, LoopDetected
from ..core.message import Reply, ReplyPart, ToolMessage, Transcript, Usage, UserMessage
from ..core.run.pending import Pending
from ..core.tool import ToolChoice
from ..runs.run import Finish
from ..runs.wording import Phrases
from .gates import PLAIN, AnswerRules, Gates
from .planning import Planning
from .repeats import CallKey, OfTool, Repeats, SameResults, key_of, outcome_of, with_note
from .tool_choice import Demand


class CallModel(Struct, frozen=True):
    """Ask the model, with the transcript as it stands.

    Attributes:
        transcript: the conversation.
        has_tools: the model may call tools.
        choice: whether and which tool it must call.
        refused: why its answer does not end the run; empty where it gave none.
    """

    transcript: Transcript
    has_tools: bool = True
    choice: ToolChoice = "auto"
    refused: str = ""


class CallTools(Struct, frozen=True):
    """Perform the calls of a reply, but for those that the loop itself turns away.

    Attributes:
        calls: what the model said.
        refusals: by index, why a call is not to be made.
        linked: how the calls use each other's results; None where they do not.
    """

    calls: tuple[ToolCall, ...]
    refusals: dict[int, CallError] = {}
    linked: LinkedCalls | None = None


class AskUser(Struct, frozen=True):
    """Ask the user, because the model does not."""

    question: str


class ModelAnswered(Struct, frozen=True):
    """The model's answer, what it cost, and how many seconds the run has taken by now."""

    reply: Reply
    elapsed: float = 0.0
    cost: Decimal = ZERO


class Called(Struct, frozen=True):
    """What the calls came to, in their order, and what they used up: agents that they started, or money.

    Attributes:
        sampled: how often their tools asked a model.
        said: what users said beside the results that they gave.
        made: the calls with the values in the places of their references; None where they have none.
    """

    results: Sequence[ToolResult | Pending]
    elapsed: float = 0.0
    used: Used = NOTHING
    sampled: int = 0
    said: Sequence[UserMessage] = ()
    made: Sequence[ToolCall] | None = None


class UserAnswered(Struct, frozen=True):
    """What the user answered."""

    text: str


Intention = CallModel | CallTools | AskUser
Outcome = ModelAnswered | Called | UserAnswered | Pending
Turn = Generator[Intention, Outcome, Finish]

NO_REPLY = "no_reply"
"""Why a run is stopped whose model said nothing twice."""
NOTHING_MAX = 2
"""The most replies in a row that may say nothing."""
_MARK = re.compile(r"\[conversation: [^\]]*\]")


def turn(
    transcript: Transcript,
    limits: Limits,
    wording: Phrases,
    polled: OfTool,
    reads: OfTool,
    answers: OfTool,
    ending: AnswerRules = PLAIN,
    names_of: Callable[[ToolCall], Sequence[str]] = own_name,
    choice: ToolChoice = "auto",
    references: bool = False,
    planning: Planning | None = None,
) -> Turn:
    """One answer to the user.

    Args:
        transcript: the conversation; the loop appends to it.
        limits: how much may be used.
        wording: what the user and the model are told, in the user's language.
        polled: whether the tool of this name is meant to be asked again and again.
        reads: whether the tool of this name is declared to read only.
        answers: whether a result of the tool of this name is the answer.
        ending: what the agent asks of its answers.
        names_of: the names by which limits know a call.
        choice: whether and which tools the run must call.
        references: calls of one reply may use each other's results.
        planning: the plan of the run; None where the agent makes none.
    """
    demand = Demand(choice, names_of)
    gates = Gates(wording, demand, ending, planning)
    spent = _Spent(limits, names_of)
    watch = _Watch(limits, polled, reads, planning)
    missing: set[str] = set()
    said = _Said(transcript)
    made: list[tuple[ToolCall, ToolResult]] = []
    refused = ""
    while True:
        if reason := spent.exhausted():
            return Finish(status="stopped", text=wording.stopped(reason), stop_reason=reason)
        outcome = yield CallModel(transcript, said.may_call(watch.carried_out), demand.now, refused)
        refused = ""
        assert isinstance(outcome, ModelAnswered)
        spent.add_reply(outcome.reply.usage, outcome.elapsed, outcome.cost)
        reply = said.take(outcome.reply, watch.carried_out)
        if said.nothing == NOTHING_MAX:
            return Finish(status="stopped", text=wording.no_reply(outcome.reply), stop_reason=NO_REPLY)
        if reply is None:
            continue
        calls = reply.calls
        if not calls:
            ended = gates.end(reply, made)
            if isinstance(ended, Finish):
                return ended
            transcript.append(ended.told)
            refused = ended.reason
            continue

        forbidden = {} if demand.now == "auto" else demand.refusals(calls)
        intended = watch.intend(calls, spent.made, forbidden, Links.of(calls) if references else None)
        outcome = yield intended
        assert isinstance(outcome, Called)
        spent.add_calls(outcome)
        waiting = tuple({each.id: each for each in outcome.results if isinstance(each, Pending)}.values())
        if waiting:
            return Finish(status="paused", text=wording.waiting(waiting), pending=waiting)
        results: Sequence[ToolResult] = outcome.results  # type: ignore[assignment]  # none waits
        calls = watch.take_made(intended, outcome.made, results)
        transcript.extend([*watch.hear(calls, results, intended.refusals), *outcome.said])
        made.extend(zip(calls, results, strict=True))
        handed = _handed_over(calls, results, answers, gates, made)
        if handed is not None:
            return handed
        stop_reason = watch.end_step()
        if stop_reason:
            return Finish(status="stopped", text=wording.stopped(stop_reason), stop_reason=stop_reason)

        again = _still_missing(calls, results, missing)
        if again:
            answer = yield AskUser(wording.ask_for(again))
            if isinstance(answer, Pending):
                return Finish(status="paused", text=answer.message, pending=(answer,))
            assert isinstance(answer, UserAnswered)
            transcript.append(UserMessage.of(answer.text))


def _handed_over(
    calls: Sequence[ToolCall],
    results: Sequence[ToolResult],
    answers: OfTool,
    gates: Gates,
    made: Sequence[tuple[ToolCall, ToolResult]],
) -> Finish | None:
    """How the run ends where a result is its answer: the first one that fits. None where the model is asked again."""
    for call, result in zip(calls, results, strict=True):
        if result.error is None and answers(call.name):
            handed = gates.taken(answer_of(result), made)
            if handed is not None:
                return handed
    return None


def answer_of(result: ToolResult) -> str:
    """The text of a result as an answer for the user. The last line of an agent elsewhere, which names the
    conversation with it, is for the model.

    >>> answer_of(ToolResult("c", (TextPart("Paid."), TextPart("[conversation: c7]"))))
    'Paid.'
    """
    kept = [part for part in result.content if not (isinstance(part, TextPart) and _MARK.fullmatch(part.text))]
    return structs.replace(result, content=tuple(kept)).text


class _Said:
    """What the model says, as far as it is an answer or calls. A reply that says nothing is left out of the
    conversation, and a reply behind which the endpoint pauses is one with the next.

    Attributes:
        nothing: how many replies in a row said nothing.
    """

    def __init__(self, transcript: Transcript) -> None:
        self.nothing = 0
        self._transcript = transcript
        self._paused: tuple[ReplyPart, ...] = ()

    def may_call(self, carried_out: bool) -> bool:
        """Whether the model is given tools: not where it is asked again and calls of the run have been carried out."""
        return not (self.nothing and carried_out)

    def take(self, reply: Reply, carried_out: bool) -> Reply | None:
        """Take the next reply.

        Returns:
            What is to be answered or carried out; None where the model is to be asked again.
        """
        calls = reply.calls
        if (not self.may_call(carried_out)) if calls else (reply.says_nothing and not reply.cut_off):
            self.nothing += 1
            return None
        self.nothing = 0
        self._transcript.append(reply)
        if not calls and reply.is_paused:
            self._paused += reply.content
            return None
        paused, self._paused = self._paused, ()
        return structs.replace(reply, content=(*paused, *reply.content)) if paused and not calls else reply


class _Spent:
    """What the run has used so far, with all that it started."""

    def __init__(self, limits: Limits, names_of: Callable[[ToolCall], Sequence[str]]) -> None:
        self.limits = limits
        self.steps = 0
        self.made = CallCount(limits, names_of)
        self.tokens = 0
        self.cost = ZERO
        self.elapsed = 0.0

    def add_reply(self, usage: Usage, elapsed: float, cost: Decimal) -> None:
        self.steps += 1
        self.tokens += usage.total_tokens
        self.elapsed = elapsed
        if cost:
            self.cost += cost

    def add_calls(self, called: Called) -> None:
        self.elapsed = called.elapsed
        self.steps += called.sampled
        used = called.used
        if used is not NOTHING:
            self.made.calls += used.calls
            self.tokens += used.tokens
            self.cost += used.cost

    def exhausted(self) -> str:
        """The limit that forbids another step; empty when there is none."""
        limits = self.limits
        if limits.steps is not None and self.steps >= limits.steps:
            return "steps"
        if limits.tokens is not None and self.tokens >= limits.tokens:
            return "tokens"
        if limits.cost is not None and self.cost >= limits.cost:
            return "cost"
        if limits.seconds is not None and self.elapsed >= limits.seconds:
            return "seconds"
        return ""


class _TurnedAway:
    """Counts the turns in which calls of a tool ran into the same limit, since one of them last did not."""

    def __init__(self, allowed: int) -> None:
        self._allowed = allowed
        self._turns: dict[tuple[str, str], int] = {}
        self._now: set[tuple[str, str]] = set()

    def note(self, call: ToolCall, result: ToolResult) -> None:
        if result.error is not None:
            if result.error.limit:
                name = "" if result.error.limit == "calls" else call.name  # of all tools together
                self._now.add((name, result.error.limit))
        elif self._turns:
            self._turns = {key: turns for key, turns in self._turns.items() if key[0] != call.name}

    def too_often(self) -> str:
        """After a turn: the limit that a tool has run into as often as it may; empty when there is none."""
        if not self._now:
            return ""
        for key in self._now:
            self._turns[key] = self._turns.get(key, 0) + 1
        reached = sorted(limit for name, limit in self._now if self._turns[name, limit] >= self._allowed)
        self._now.clear()
        return next(iter(reached), "")


class _Watch:
    """Watches the calls of a run: which are not to be made, and what comes of those that are.

    Attributes:
        carried_out: a call of the run has been carried out, or may have been.
    """

    def __init__(self, limits: Limits, polled: OfTool, reads: OfTool, planning: Planning | None) -> None:
        self._planning = planning
        self._most = limits.calls_per_reply
        self._repeats = Repeats(limits.repeats, polled)
        self._same = SameResults(lambda name: reads(name) and not polled(name))
        self._turned_away = _TurnedAway(limits.repeats)
        self._keys: list[CallKey] = []
        self._is_loop = False
        self.carried_out = False

    def intend(
        self, calls: tuple[ToolCall, ...], made: CallCount, forbidden: Mapping[int, CallError], links: Links | None
    ) -> CallTools:
        """What is to become of the calls of a reply.

        Args:
            calls: of the reply.
            made: counts them.
            forbidden: those that are forbidden, by index.
            links: how they use each other's results; None where they do not. A call that uses one is looked at when its
                values are known.
        """
        self._keys = [key_of(call) for call in calls]
        refusals: dict[int, CallError] = {}
        if self._planning is not None:
            forbidden = {**self._planning.refusals(calls), **forbidden}
        later: Container[int] = () if links is None else links.references
        for index, call in enumerate(calls):
            if index in forbidden:
                refusals[index] = forbidden[index]
            elif self._most is not None and index >= self._most:
                refusals[index] = BudgetExceeded(
                    "Of one reply, {most} tool calls are made (the setting Limits.calls_per_reply). "
                    "This call was not made: ask for it in your next reply if you still need it.",
                    limit="calls_per_reply",
                    most=self._most,
                )
            elif index not in later and (refusal := self._refusal(call, self._keys[index], made)) is not None:
                refusals[index] = refusal
                if isinstance(refusal, LoopDetected):
                    self._is_loop = self._is_loop or self._repeats.was_told(self._keys[index])
        if links is None:
            return CallTools(calls, refusals)
        judge = lambda call: self._refusal(call, key_of(call), made)  # noqa: E731  # a method would hold `made`
        return CallTools(calls, refusals, LinkedCalls(links, judge))

    def _refusal(self, call: ToolCall, key: CallKey, made: CallCount) -> CallError | None:
        """Why a call is not to be made; None where it is made, and counted."""
        refusal = made.refusal(call)
        if refusal is not None:
            return refusal
        if self._repeats.is_loop(key):
            return LoopDetected(
                "You made this same call several times and always got the same result. Do something else, "
                "or answer with what you know."
            )
        made.count(call)
        return None

    def take_made(
        self, said: CallTools, made: Sequence[ToolCall] | None, results: Sequence[ToolResult]
    ) -> tuple[ToolCall, ...]:
        """The calls as they were made: of those with references the values are compared from here on. Those that were
        turned away when their values were known join the refusals.
        """
        if made is None:
            return said.calls
        for index, call in enumerate(made):
            if call is said.calls[index]:
                continue
            self._keys[index] = key_of(call)
            error = results[index].error
            if error is not None and (error.code == LoopDetected.code or error.limit in ("calls", "tool_calls")):
                said.refusals[index] = LoopDetected(error.message)
                looped = error.code == LoopDetected.code
                self._is_loop = self._is_loop or (looped and self._repeats.was_told(self._keys[index]))
        return tuple(made)

    def hear(
        self, calls: Sequence[ToolCall], results: Sequence[ToolResult], refusals: Collection[int]
    ) -> list[ToolMessage]:
        """What the calls of the reply came to, as the model is told it."""
        keys = self._keys
        messages: list[ToolMessage] = []
        for index, (call, result) in enumerate(zip(calls, results, strict=True)):
            messages.append(ToolMessage(call.name, result))
            self._turned_away.note(call, result)
            if not self.carried_out and (result.error is None or result.error.effect != "none"):
                self.carried_out = True
            if index not in refusals:
                came = outcome_of(result)
                self._repeats.note(keys[index], came)
                self._same.note(call.name, came)
        self._repeats.end_step([keys[index] for index in refusals] if refusals else ())
        if self._planning is not None and (note := self._planning.hear(calls, results)):
            messages[-1] = ToolMessage(messages[-1].name, with_note(messages[-1].result, note))
        notes = self._same.end_step()
        if notes:
            for index, message in enumerate(messages):
                if index not in refusals and message.name in notes:
                    messages[index] = ToolMessage(message.name, with_note(message.result, notes.pop(message.name)))
        return messages

    def end_step(self) -> str:
        """Why the run is to be stopped after this step; empty where it is not."""
        if self._is_loop or self._same.is_loop:
            return "loop_detected"
        stuck = "" if self._planning is None else self._planning.stop_reason
        return stuck or self._turned_away.too_often()


def _still_missing(calls: Sequence[ToolCall], results: Sequence[ToolResult], before: set[str]) -> list[tuple[str, str]]:
    """The required values that the model left out a second time though it was told to ask: (tool, parameter)."""
    again = []
    for call, result in zip(calls, results, strict=True):
        problems = result.error.problems if result.error is not None else ()
        for problem in problems:
            if problem.rule == "required":
                name = f"{call.name}\0{problem.path}"
                if name in before:
                    again.append((call.name, problem.path))
                    before.discard(name)
                else:
                    before.add(name)
    return again
