"""What an agent with a plan does differently: `Agent(plan=True)`. Pure but for counts.

The plan is the calls of one tool, `update_plan`, which gives the whole list each time: it may be changed, and no step
may vanish. A plan permits nothing; policies never look at it. The loop asks the strategy at three places:

    before the calls of a reply   a plan in which a step has vanished is refused
    after their results           a failed call asks for a changed plan; a run that gets no further is stopped
    before an answer ends the run steps of a plan that this run wrote may not be open

With a plan, a run gets further when a step has a status for the first time, and by the calls of other tools: a result
that is new in the run, a successful call with new arguments of a tool that declares an effect beyond `read`, any call
of a tool that is declared `polled`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct

from ..core.call import Problem, TextPart, ToolCall, ToolResult
from ..core.errors import CallError, InvalidArguments
from ..core.interfaces import Context
from ..core.json import Json, JsonProblem, parse
from ..core.message import Message, ToolMessage, UserMessage
from ..core.run.plan import OPEN, UPDATE_PLAN, PlanStep, PlanSteps, lines_of, plan_of
from ..core.tool import Tool
from ..runs.wording import Phrases
from .repeats import CallKey, OfTool, key_of, outcome_of

STEPS_MAX = 30
STEP_CHARS_MAX = 400
TOLD_REPLIES = 6
"""After this number of replies with calls in which the run gets no further, the model is told to change the plan."""
STOPPED_REPLIES = 12
"""After this number, the run is stopped."""
NO_PROGRESS = "no_progress"
PLAN_OPEN = "plan_open"
_NEED_NOTES = frozenset({"waiting", "failed", "dropped"})

PLAN_TOOL = Tool(
    name=UPDATE_PLAN,
    description=(
        "Write down your plan for a task of several steps, and how each step stands. Give the whole list each time: "
        "change a step's words or status, add steps, but leave none out. Mark a step as soon as it is done. A step "
        "that waits for the user, failed or was dropped needs a note that says for what, or why."
    ),
    parameters={
        "type": "object",
        "properties": {
            "steps": {
                "type": "array",
                "minItems": 1,
                "maxItems": STEPS_MAX,
                "items": {
                    "type": "object",
                    "properties": {
                        "step": {"type": "string", "minLength": 1, "maxLength": STEP_CHARS_MAX},
                        "status": {"enum": ["pending", "in_progress", "waiting", "done", "failed", "dropped"]},
                        "note": {"type": "string", "maxLength": STEP_CHARS_MAX, "default": ""},
                    },
                    "required": ["step", "status"],
                    "additionalProperties": False,
                },
            },
            "why": {"type": "string", "maxLength": STEP_CHARS_MAX, "default": "", "description": "Why it changed."},
        },
        "required": ["steps"],
        "additionalProperties": False,
    },
    effects=frozenset({"read"}),
    polled=True,
    sinks=(),
)


class PlanToolset:
    """The tool by which a model writes down its plan. It does nothing: the call is the plan."""

    generation = 0

    async def list_tools(self) -> Sequence[Tool]:
        """The one tool."""
        return (PLAN_TOOL,)

    async def execute(self, call: ToolCall, context: Context) -> ToolResult:
        """Take the plan.

        Raises:
            InvalidArguments: a step that needs a note has none.
        """
        steps = msgspec.convert(call.arguments["steps"], list[PlanStep])
        lacking = [
            Problem(f"steps[{at}].note", "required", f"a note: the step is {each.status}")
            for at, each in enumerate(steps)
            if each.status in _NEED_NOTES and not each.note.strip()
        ]
        if lacking:
            raise InvalidArguments(lacking)
        open_ = sum(each.status in OPEN for each in steps)
        told = f"The plan has {len(steps)} steps, {open_} of them still to be done."
        return ToolResult(call.id, (TextPart(told),), structured={"steps": msgspec.to_builtins(steps)})


def told_plan(plan: PlanSteps, question: UserMessage) -> tuple[UserMessage, ...]:
    """What the model is told, before a question, of the plan that it wrote in an earlier run: nothing where no step is
    left to be done.
    """
    if all(each.status in ("done", "failed", "dropped") for each in plan):
        return ()
    told = Phrases.for_text(question.text).plan_told(lines_of(plan))
    return (UserMessage((TextPart(told),), "model"),)


def plan_in(messages: Iterable[Message]) -> PlanSteps:
    """The latest plan in a conversation; none where there is none."""
    plan: PlanSteps = ()
    for message in messages:
        if isinstance(message, ToolMessage) and message.name == UPDATE_PLAN:
            plan = plan_of(message.result) or plan
    return plan


class _Step(Struct):
    """A step while the plan changes: the same where its words are, or where it was reworded."""

    number: int
    words: str


class Planning:
    """The plan of a run, and how the run gets on.

    Args:
        wording: what the model is told.
        plan: the plan of the conversation, before the run.
        polled: whether the tool of this name is meant to be asked again and again.
        changes: whether the tool of this name declares an effect beyond `read`.

    Attributes:
        plan: the latest.
        stop_reason: why the run is to be stopped; empty where it is not.
    """

    def __init__(self, wording: Phrases, plan: PlanSteps, polled: OfTool, changes: OfTool) -> None:
        self.plan = plan
        self.stop_reason = ""
        self._wording = wording
        self._polled = polled
        self._changes = changes
        self._is_own = False
        self._steps: list[_Step] = []
        self._statuses: set[tuple[int, str]] = set()
        self._results: set[bytes] = set()
        self._made: set[CallKey] = set()
        self._idle = 0
        self._number = 0
        self._take(plan)

    def refusals(self, calls: Sequence[ToolCall]) -> dict[int, CallError]:
        """The plans of a reply in which a step has vanished, by the index of the call."""
        refused: dict[int, CallError] = {}
        steps = self._steps
        for index, call in enumerate(calls):
            words = _words_of(call) if call.name == UPDATE_PLAN else None
            if words is None:
                continue
            matched, vanished = _matched(steps, words)
            if vanished:
                names = "; ".join(each.words for each in vanished[:5])
                refused[index] = InvalidArguments(
                    [Problem("steps", "complete", f"every step of the plan, with what became of it. Missing: {names}")]
                )
            else:
                steps = matched
        return refused

    def hear(self, calls: Sequence[ToolCall], results: Sequence[ToolResult]) -> str:
        """What the calls of a reply came to.

        Returns:
            What the model is told behind the last result; mostly nothing.
        """
        is_further, has_failed = False, False
        for call, result in zip(calls, results, strict=True):
            if call.name == UPDATE_PLAN:
                plan = plan_of(result)
                if plan:
                    self._is_own = True
                    is_further |= self._take(plan)
                continue
            has_failed |= result.error is not None
            is_further |= self._is_progress(call, result)
        self._idle = 0 if is_further else self._idle + 1
        if not self.plan:
            self._idle = 0
        elif self._idle >= STOPPED_REPLIES:
            self.stop_reason = NO_PROGRESS
        elif self._idle == TOLD_REPLIES:
            return self._wording.plan_stuck()
        return self._wording.plan_failed() if has_failed and self.plan else ""

    def open_steps(self) -> str:
        """Which steps still have to be done before an answer may end the run; empty where it may."""
        if not self._is_own or any(each.status == "waiting" for each in self.plan):
            return ""  # the answer is the question to the user
        return lines_of(tuple([each for each in self.plan if each.status in OPEN]))

    def _is_progress(self, call: ToolCall, result: ToolResult) -> bool:
        came = hashlib.sha256(f"{call.name}\0{outcome_of(result)}".encode("utf-8", "surrogatepass")).digest()
        key = key_of(call)
        is_new, is_other = came not in self._results, key not in self._made
        self._results.add(came)
        self._made.add(key)
        return is_new or self._polled(call.name) or (is_other and result.error is None and self._changes(call.name))

    def _take(self, plan: PlanSteps) -> bool:
        """The model has a new plan.

        Returns:
            Whether a step has a status for the first time.
        """
        matched, _ = _matched(self._steps, [each.step for each in plan])
        known = len(self._statuses)
        for step, said in zip(matched, plan, strict=True):
            if step.number < 0:
                self._number += 1
                step.number = self._number
            self._statuses.add((step.number, said.status))
        self._steps, self.plan = matched, plan
        return len(self._statuses) > known


def _matched(before: Sequence[_Step], words: Sequence[str]) -> tuple[list[_Step], list[_Step]]:
    """The steps of a new plan, with the numbers of the old ones; and the old ones that have vanished."""
    by_words: dict[str, list[_Step]] = {}
    for step in before:
        by_words.setdefault(_bare(step.words), []).append(step)
    numbers: list[int] = []
    for each in words:
        same = by_words.get(_bare(each))
        numbers.append(same.pop(0).number if same else -1)
    left = [step for step in before if step.number not in numbers]
    steps = []
    for each, number in zip(words, numbers, strict=True):
        steps.append(_Step(left.pop(0).number if number < 0 and left else number, each))
    return steps, left


def _bare(words: str) -> str:
    """Words without case, blanks and marks."""
    return "".join(filter(str.isalnum, words.casefold()))


def _words_of(call: ToolCall) -> list[str] | None:
    """The words of the steps that a call names; None where it names none, which its schema refuses."""
    steps: Json = call.arguments.get("steps")
    if isinstance(steps, str):  # as some models write a list
        try:
            steps = parse(steps)[0]
        except JsonProblem:
            return None
    if not isinstance(steps, list):
        return None
    words = [each.get("step") if isinstance(each, dict) else None for each in steps[: STEPS_MAX + 1]]
    return [each for each in words if isinstance(each, str)] if all(isinstance(each, str) for each in words) else None
