"""Scorers: functions of a case and of what a run did. `correct` is the one that is shipped. Pure.

def short(case: Case, run: TriedRun) -> bool:
    return len(run.text) < 200
"""

from __future__ import annotations

import hashlib
import inspect
import math
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from msgspec import UNSET, Struct

from ..core.errors import UsageError
from ..scores.score import EVALUATION, ScoreGiven, checked
from ..scores.score import Scorer as ScorerKind
from .case import Case, CaseCall, CaseText
from .pattern import fits, fits_arguments, matches
from .tried import TriedCall, TriedRun

CORRECT = "correct"
_NUMBER = re.compile(r"[-+\u2212]?\d[\d,\u00a0\u202f']*(?:\.\d+)?(?:[eE][-+]?\d{1,3})?")


class Score(Struct, frozen=True):
    """What a scorer says.

    Attributes:
        value: from 0 to 1.
        label: the value in a word.
        explanation: why.
    """

    value: float
    label: str = ""
    explanation: str = ""


Said = bool | float | Score | None
"""What a scorer answers; None where it does not apply."""
ScoreFunction = Callable[[Case, TriedRun], Said | Awaitable[Said]]


class Scoring(Struct, frozen=True, kw_only=True):
    """A scorer with its name.

    Attributes:
        name: of its score.
        function: says how good a run was.
        version: the digest of the function, or of the model and its rubric.
        kind: who judges.
    """

    name: str
    function: ScoreFunction
    version: str
    kind: ScorerKind = "code"

    async def score(self, case: Case, run: TriedRun) -> ScoreGiven | None:
        """How good a run was; None where the scorer does not apply.

        Raises:
            UsageError: the function fails, or says something that is no score.
        """
        try:
            said: Any = self.function(case, run)
            said = await said if inspect.isawaitable(said) else said
        except Exception as error:  # the user's own function: the person who named it hears of it
            raise UsageError(
                "the scorer {name} failed at the case {case!r}: {why}",
                name=self.name,
                case=case.id,
                why=f"{type(error).__name__}: {error}",
            ) from error
        if said is None:
            return None
        if isinstance(said, bool | int | float):
            said = Score(float(said))
        if not isinstance(said, Score):
            raise UsageError(
                "the scorer {name} says {said!r:.80}: give a bool, a number, a Score or None", name=self.name, said=said
            )
        return checked(
            ScoreGiven(
                name=self.name,
                value=float(said.value),
                label=said.label,
                explanation=said.explanation,
                by=EVALUATION,
                scorer=self.kind,
                version=self.version,
            )
        )


def scoring_of(function: object, name: str = "") -> Scoring:
    """A function of a program as a scorer.

    Args:
        function: takes a `Case` and a `TriedRun`; or a `Scoring`, such as a judge.
        name: of the score; empty for the name of the function.

    Raises:
        UsageError: it is none.
    """
    if isinstance(function, Scoring):
        return function
    if not callable(function):
        raise UsageError("{what!r:.80} is no scorer: give a function of a case and a run", what=function)
    named = name or getattr(function, "__name__", type(function).__name__)
    try:
        source = inspect.getsource(function)
    except (OSError, TypeError):
        source = getattr(function, "__qualname__", repr(type(function)))
    return Scoring(name=named, function=function, version=hashlib.sha256(source.encode()).hexdigest()[:16])


def correct(case: Case, run: TriedRun) -> Score | None:
    """Whether all holds that the case expects; None where the case says nothing that can be looked at."""
    expected = case.expected
    if expected.says_nothing:
        return None
    faults = []
    if expected.calls is not None or expected.no_calls:
        faults.append(_calls_fault(case, run))
    if run.denied and expected.calls is None and not expected.no_calls:
        return None  # what the model was told of the denied call is not what the real tool says
    if not run.denied:
        if expected.text is not None:
            faults.append(_text_fault(expected.text, run.text))
        if expected.output is not UNSET and not fits(expected.output, run.output):
            faults.append("the output is another one")
        if expected.status is not None and run.status != expected.status:
            faults.append(f"the run is {run.status or 'not over'}, and not {expected.status}")
    found = [fault for fault in faults if fault]
    return Score(0.0 if found else 1.0, explanation="; ".join(found)[:2_000])


def fails(case: Case, run: TriedRun) -> bool:
    """Whether a try failed, and says nothing of what the agent can do: the model is away, or a limit was met."""
    return run.status in ("failed", "stopped", "") and run.status != case.expected.status


def _calls_fault(case: Case, run: TriedRun) -> str:
    """What is wrong with the calls; empty where nothing is. Of a call that was refused as invalid, only its mended form
    counts.
    """
    came = [call for call in run.calls if call.end != "invalid"]
    wanted = case.expected.calls or ()
    reads = {name for name, tool in run.tools.items() if tool.reads_only}
    pairs = _pairs(wanted, came, run)
    if case.expected.order and None not in pairs and None in (pairs := _pairs_in_order(wanted, came, run)):
        return "the calls came in another order"
    missing = [call.name for at, call in enumerate(wanted) if pairs[at] is None]
    if missing:
        return f"not asked for: {', '.join(missing)}"
    taken = [pair for pair in pairs if pair is not None]
    more = [call.name for at, call in enumerate(came) if at not in taken]
    if case.expected.others == "read":
        more = [name for name in more if name not in reads]
    return f"asked for beside them: {', '.join(more)}" if more else ""


def _pairs(wanted: Sequence[CaseCall], came: Sequence[TriedCall], run: TriedRun) -> list[int | None]:
    """For each expected call the place of the call that it is, each used once, so that as many as possible fit. In
    order of the calls where several would do.
    """
    choices = [[at for at, call in enumerate(came) if _is(each, call, run)] for each in wanted]
    owner: dict[int, int] = {}

    def place(at: int, seen: set[int]) -> bool:
        for choice in choices[at]:
            if choice not in seen:
                seen.add(choice)
                if choice not in owner or place(owner[choice], seen):
                    owner[choice] = at
                    return True
        return False

    for at in range(len(wanted)):
        place(at, set())
    found: dict[int, int] = {at: choice for choice, at in owner.items()}
    return [found.get(at) for at in range(len(wanted))]


def _pairs_in_order(wanted: Sequence[CaseCall], came: Sequence[TriedCall], run: TriedRun) -> list[int | None]:
    """For each expected call the first call behind the one before that is it."""
    found: list[int | None] = []
    behind = 0
    for each in wanted:
        at = next((at for at in range(behind, len(came)) if _is(each, came[at], run)), None)
        found.append(at)
        behind = len(came) if at is None else at + 1
    return found


def _is(wanted: CaseCall, came: TriedCall, run: TriedRun) -> bool:
    tool = run.tools.get(came.name)
    return wanted.name == came.name and fits_arguments(wanted.arguments, came.arguments, tool)


def _text_fault(expected: CaseText, text: str) -> str:
    folded = text.casefold()
    parts = (expected.contains,) if isinstance(expected.contains, str) else expected.contains or ()
    if expected.equals is not None and text.strip() != expected.equals.strip():
        return "the text is another one"
    missing = [part for part in parts if part.casefold() not in folded]
    if missing:
        return f"the text does not contain {missing[0]!r:.80}"
    if expected.matches is not None and not matches(expected.matches, text):
        return "the text does not match"
    if expected.number is not None:
        wanted = expected.number
        if not any(abs(number - wanted) <= expected.within for number in _numbers(text)):
            return f"the text does not say {wanted:g}"
    return ""


def _numbers(text: str) -> list[float]:
    found = []
    for word in _NUMBER.findall(text):
        plain = re.sub(r"[,\u00a0\u202f']", "", word).replace("\u2212", "-")
        value = float(plain)
        if math.isfinite(value):
            found.append(value)
    return found


CORRECT_SCORING = scoring_of(correct)
