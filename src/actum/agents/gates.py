"""What an answer has to pass before it ends a run: one row of gates, which share one count of tries. Pure.

    the tool choice     a call was demanded, and the model answered (it has tries of its own, see `tool_choice.Demand`)
    the plan            no step is open that this run planned (see `planning`)
    the output type     the answer can be read as the type that was asked for
    the agent's check   a function of the program, `Agent(check=...)`
    the references      what the answer says is quoted (it has tries of its own, and stops no run; see `citing`)

A gate says what is wrong, or nothing. The model is told, and may try again; the gate that refuses the last try names
the reason for which the run is stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from ..core.call import TextPart, ToolCall, ToolResult
from ..core.errors import UsageError
from ..core.message import Reply, UserMessage
from ..core.tool import named_tools
from ..runs.run import Finish
from ..runs.wording import Phrases
from .citing import TOLD_MAX, Citing
from .planning import PLAN_OPEN, Planning
from .tool_choice import Demand

TRIES = 3
"""After as many answers that a gate refuses, the run is stopped, where the agent says nothing else."""

INVALID_OUTPUT = "invalid_output"
"""Why a run is stopped whose answers do not fit the output type or the agent's check."""

PROBLEM_MAX = 4_000
"""The most characters that the model is told of what is wrong with its answer."""


class Answered(Struct, frozen=True):
    """An answer, before it ends a run.

    Attributes:
        text: what the model says.
        output: the same as a value of the agent's `output_type`.
        calls: each call of the run with its result, in the order of the model's words.
    """

    text: str
    output: object
    calls: tuple[tuple[ToolCall, ToolResult], ...] = ()


ReadAnswer = Callable[[str], tuple[object, str]]
"""Reads the answer's text as the agent's output type: the value, and what is wrong with it (empty when nothing is)."""

CheckAnswer = Callable[[Answered], str]
"""Says what is wrong with an answer, and nothing where it is good. It must say the same of the same."""

ToldCut = Callable[[Reply], str]
"""What the user is told of an answer that the endpoint broke off before the model was done."""


def plain(text: str) -> tuple[object, str]:
    """The reader of an agent that answers in text: the text itself."""
    return text, ""


class AnswerRules(Struct, frozen=True):
    """What an agent asks of its answers.

    Attributes:
        read: reads an answer.
        check: of the program; None where there is none.
        tries: after as many answers that are refused, the run is stopped.
        told_cut: what the user is told of an answer that was cut off.
        citing: holds answers to what was quoted; None where the agent does not cite.
    """

    read: ReadAnswer = plain
    check: CheckAnswer | None = None
    tries: int = TRIES
    told_cut: ToldCut = lambda reply: reply.text
    citing: Citing | None = None

    @property
    def may_refuse(self) -> bool:
        """Whether an answer may be refused."""
        return self.check is not None or self.read is not plain


PLAIN = AnswerRules()
"""An agent that takes any text for an answer."""


class TryAgain(Struct, frozen=True):
    """An answer that a gate does not let through.

    Attributes:
        told: what the model is told.
        reason: what is wrong with the answer, as a watcher of the run is told.
    """

    told: UserMessage
    reason: str


class _Wrong(Struct, frozen=True):
    """What a gate says of an answer: what is wrong, what the model is told, and why a run is stopped in the end."""

    reason: str
    told: str
    stop_reason: str = INVALID_OUTPUT


class Gates:
    """The gates of one run.

    Args:
        wording: what the model is told.
        demand: the tool choice of the run.
        ending: what the agent asks of its answers.
        planning: the plan of the run; None where there is none.
    """

    def __init__(self, wording: Phrases, demand: Demand, ending: AnswerRules, planning: Planning | None = None) -> None:
        self._wording = wording
        self._demand = demand
        self._ending = ending
        self._planning = planning
        self._refused = self._unbacked = 0

    def end(self, reply: Reply, calls: Sequence[tuple[ToolCall, ToolResult]]) -> Finish | TryAgain:
        """How the run ends with an answer; or why it does not yet.

        Args:
            reply: the answer.
            calls: of the run so far.

        Raises:
            UsageError: the program's check said something that is no text.
        """
        if reply.cut_off:
            return Finish(status="stopped", text=self._ending.told_cut(reply), stop_reason=reply.cut_off)
        if self._demand.is_open and self._demand.disobeyed():
            demanded = self._wording.call_demanded(named_tools(self._demand.now))
            return TryAgain(UserMessage((TextPart(demanded),), "developer"), demanded)
        value, wrong = self._look(reply.text, calls)
        if wrong is None:
            return self._cited(reply.text, value, calls)
        self._refused += 1
        if self._refused >= self._ending.tries:
            return Finish(status="stopped", text=reply.text, stop_reason=wrong.stop_reason)
        return TryAgain(UserMessage((TextPart(wrong.told),), "model"), wrong.reason)  # both may quote the model

    def _cited(self, text: str, value: object, calls: Sequence[tuple[ToolCall, ToolResult]]) -> Finish | TryAgain:
        """How the run ends with an answer that has passed all other gates."""
        citing = self._ending.citing
        if citing is None:
            return Finish(status="done", text=text, output=value)
        problem = citing.wrong(text, calls)[:PROBLEM_MAX]
        if problem and self._unbacked < TOLD_MAX[citing.mode]:
            self._unbacked += 1
            return TryAgain(UserMessage((TextPart(self._wording.refused(problem)),), "model"), problem)
        told = citing.accepted(text, calls, self._wording)
        return Finish(status="done", text=told, output=told)

    def taken(self, text: str, calls: Sequence[tuple[ToolCall, ToolResult]]) -> Finish | None:
        """How the run ends where a result is its answer; None where a gate refuses it, and the model is asked."""
        value, wrong = self._look(text, calls)
        citing = self._ending.citing
        if wrong is not None or (citing is not None and citing.wrong(text, calls)):
            return None
        if citing is None:
            return Finish(status="done", text=text, output=value)
        told = citing.accepted(text, calls, self._wording)
        return Finish(status="done", text=told, output=told)

    def _look(self, text: str, calls: Sequence[tuple[ToolCall, ToolResult]]) -> tuple[object, _Wrong | None]:
        """The value of an answer, and what the first gate that does not let it through says."""
        wording = self._wording
        if self._planning is not None and (steps := self._planning.open_steps()):
            return None, _Wrong(steps, wording.plan_open(steps), PLAN_OPEN)
        value, problem = self._ending.read(text)
        if problem:
            return None, _Wrong(problem, wording.invalid_output(problem))
        if self._ending.check is None:
            return value, None
        said = self._ending.check(Answered(text, value, tuple(calls)))
        if not isinstance(said, str):
            kind = type(said).__name__
            raise UsageError("check= says what is wrong with an answer as text: it returned {kind}", kind=kind)
        problem = said[:PROBLEM_MAX]
        return value, _Wrong(problem, wording.refused(problem)) if problem else None
