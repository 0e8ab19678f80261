"""Two experiments compared case by case. Pure, but for the place at which two runs part."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct, structs

from ..core.interfaces import Journal
from ..core.json import JsonObject
from ..journal.comparison import compare as compare_runs
from .report import CaseReport, ExperimentReport, names_of
from .scorer import CORRECT
from .statistics import Interval, could_see, difference, ratio, sign_test

RATIO_CASES_MIN = 20
"""The least number of cases with which a ratio of totals has an interval."""
CHANGED_MAX = 50
"""For how many changed cases the moment is told at which their runs part."""
LEVEL = 0.95
USED = ("cost", "tokens", "seconds")


class ScoreDifference(Struct, frozen=True, kw_only=True):
    """A score of two experiments, over the cases that have it in both.

    Attributes:
        a, b: the means.
        difference: b - a.
        low, high: the interval of the difference.
        gained, lost: how many cases became better and worse.
        chance: how likely a difference at least so clear is, if neither is better (sign test).
        cases: how many there are.
    """

    a: float
    b: float
    difference: float
    low: float
    high: float
    gained: int
    lost: int
    chance: float
    cases: int

    @property
    def surely_lost(self) -> bool:
        """Whether the interval says so."""
        return self.high < 0


class UsedTotals(Struct, frozen=True, kw_only=True):
    """What two experiments used up, one try of each case on average.

    Attributes:
        a, b: the totals; None where a total is 0, or nobody knows it.
        ratio, low, high: b / a with its interval, from 20 cases on; else None.
    """

    a: float | None
    b: float | None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None


class Parting(Struct, frozen=True, kw_only=True):
    """The first moment at which two runs part.

    Attributes:
        what: `model`, `call NAME`, `node PATH`, `question` or `end`.
        step: in which turn of the model, from 1; 0 before the first.
    """

    what: str
    step: int


class ChangedCase(Struct, frozen=True, kw_only=True):
    """A case whose score is another one.

    Attributes:
        case: its id.
        score: the name of the score.
        a, b: the means over the tries.
        runs: a run of each experiment, to look at.
        parts_at: where the two runs part; None where nothing differs, or nobody has looked.
    """

    case: str
    score: str
    a: float
    b: float
    runs: tuple[str, str] = ("", "")
    parts_at: Parting | None = None


class ExperimentComparison(Struct, frozen=True, kw_only=True):
    """Two experiments, paired by case.

    Attributes:
        names: what the two are called.
        cases: how many cases both have.
        could_see: the difference that this set shows with power 80 %.
        scores: by name.
        used: `cost`, `tokens` and `seconds`.
        tags: by tag, the main score with an interval that allows for the number of tags.
        changed: what became worse first.
        flaky: the cases that are right in some tries alone, in either.
        alone: the cases that only one of the two has.
        differences: of the main score, case by case.
    """

    names: tuple[str, str]
    cases: int
    could_see: float
    scores: dict[str, ScoreDifference]
    used: dict[str, UsedTotals]
    tags: dict[str, ScoreDifference]
    changed: tuple[ChangedCase, ...]
    flaky: tuple[str, ...]
    alone: tuple[str, ...]
    differences: tuple[float, ...] = ()


def compare(a: ExperimentReport, b: ExperimentReport, metric: str = CORRECT) -> ExperimentComparison:
    """Compare two experiments.

    Args:
        a: the one before.
        b: the one after.
        metric: the main score, by which tags are told.
    """
    before, after = {case.case: case for case in a.results}, {case.case: case for case in b.results}
    both = [id_ for id_ in before if id_ in after]
    pairs = [(before[id_], after[id_]) for id_ in both]
    names = [name for name in names_of(a.results) if name in names_of(b.results)]
    scores = {name: found for name in names if (found := _difference(pairs, name)) is not None}
    marks = [value for pair in pairs if (value := _gap(pair, metric)) is not None]
    return ExperimentComparison(
        names=(a.name or a.experiment, b.name or b.experiment),
        cases=len(both),
        could_see=could_see(sum(each != 0 for each in marks), len(marks)),
        scores=scores,
        used={name: _used(pairs, name) for name in USED},
        tags=_tags(pairs, metric),
        changed=_changed(pairs, names),
        flaky=tuple(sorted({*a.flaky, *b.flaky})),
        alone=tuple(id_ for id_ in (*before, *after) if (id_ in before) != (id_ in after)),
        differences=tuple(marks),
    )


Pair = tuple[CaseReport, CaseReport]


def _gap(pair: Pair, name: str) -> float | None:
    """How much better the later one is in a case; None where one of the two has no such score."""
    one, other = pair[0].score(name), pair[1].score(name)
    return None if one is None or other is None else other - one


def _difference(pairs: Sequence[Pair], name: str, level: float = LEVEL) -> ScoreDifference | None:
    scores = [(pair[0].score(name), pair[1].score(name)) for pair in pairs]
    marks = [(one, other) for one, other in scores if one is not None and other is not None]
    if not marks:
        return None
    gaps = [other - one for one, other in marks]
    found: Interval = difference(gaps, level)
    gained, lost = sum(gap > 0 for gap in gaps), sum(gap < 0 for gap in gaps)
    count = len(marks)
    return ScoreDifference(
        a=sum(one for one, _ in marks) / count,
        b=sum(other for _, other in marks) / count,
        difference=found.value,
        low=found.low,
        high=found.high,
        gained=gained,
        lost=lost,
        chance=sign_test(gained, lost),
        cases=count,
    )


def _used(pairs: Sequence[Pair], name: str) -> UsedTotals:
    before, after = [pair[0].mean(name) for pair in pairs], [pair[1].mean(name) for pair in pairs]
    found = ratio(before, after) if len(pairs) >= RATIO_CASES_MIN else None
    a, b = sum(before) or None, sum(after) or None
    if found is None:
        return UsedTotals(a=a, b=b)
    return UsedTotals(a=a, b=b, ratio=found.value, low=found.low, high=found.high)


def _tags(pairs: Sequence[Pair], metric: str) -> dict[str, ScoreDifference]:
    tags = sorted({tag for pair in pairs for tag in (*pair[0].tags, *pair[1].tags)})
    level = 1 - (1 - LEVEL) / len(tags) if tags else LEVEL
    found = {tag: _difference([pair for pair in pairs if tag in pair[1].tags], metric, level) for tag in tags}
    return {tag: each for tag, each in found.items() if each is not None}


def _changed(pairs: Sequence[Pair], names: Sequence[str]) -> tuple[ChangedCase, ...]:
    found = []
    for name in names:
        for one, other in pairs:
            a, b = one.score(name), other.score(name)
            if a is not None and b is not None and a != b:
                runs = (_telling(one, name, better=a > b), _telling(other, name, better=b > a))
                found.append(ChangedCase(case=one.case, score=name, a=a, b=b, runs=runs))
    return tuple(sorted(found, key=lambda each: each.b - each.a))


def _telling(case: CaseReport, name: str, *, better: bool) -> str:
    """The run of a case that shows best what changed."""
    choose: Callable[..., int] = max if better else min
    places = range(len(case.tries))
    return case.tries[choose(places, key=lambda at: case.tries[at].scores.get(name) or 0.0)].run if places else ""


async def with_moments(journal: Journal, found: ExperimentComparison) -> ExperimentComparison:
    """The comparison with the moment at which the runs of each changed case part, of the first `CHANGED_MAX` cases.

    Args:
        journal: has the runs of both experiments.
        found: the comparison.
    """
    moments = {each.runs: await _parting(journal, each.runs) for each in found.changed[:CHANGED_MAX]}
    return structs.replace(
        found, changed=tuple(structs.replace(each, parts_at=moments.get(each.runs)) for each in found.changed)
    )


async def _parting(journal: Journal, runs: tuple[str, str]) -> Parting | None:
    one, other = [await journal.read(run) for run in runs]
    parts = [part for part in compare_runs(one, other).parts if part is not None]
    return Parting(what=parts[-1].what, step=parts[-1].step) if parts else None


def shown(found: ExperimentComparison) -> JsonObject:
    """The comparison as JSON, for programs."""
    used: JsonObject = {
        name: {"a": each.a, "b": each.b, "ratio": each.ratio, "low": each.low, "high": each.high}
        for name, each in found.used.items()
    }
    return {
        "cases": found.cases,
        "could_see": found.could_see,
        "scores": {name: _shown(each) for name, each in found.scores.items()},
        **used,
        "tags": {tag: _shown(each) for tag, each in found.tags.items()},
        "changed": [
            {
                "case": each.case,
                "score": each.score,
                "a": each.a,
                "b": each.b,
                "runs": [*each.runs],
                "parts_at": None if each.parts_at is None else {"what": each.parts_at.what, "step": each.parts_at.step},
            }
            for each in found.changed
        ],
        "flaky": [*found.flaky],
        "alone": [*found.alone],
    }


def _shown(each: ScoreDifference) -> JsonObject:
    return {
        "a": each.a,
        "b": each.b,
        "difference": each.difference,
        "low": each.low,
        "high": each.high,
        "gained": each.gained,
        "lost": each.lost,
        "chance": each.chance,
    }
