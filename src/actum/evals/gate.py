"""A gate: whether an experiment may pass, in three words, with reasons. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from ..core.errors import UsageError
from ..core.language.sentence import Sentence
from .comparison import ExperimentComparison, compare
from .report import CaseReport, ExperimentReport
from .scorer import CORRECT
from .statistics import cases_needed

Verdict = Literal["pass", "fail", "unknown"]
CHECKED_MIN = 50
"""How many runs need a score of the judge and of a person before the judge's word alone passes a gate."""


class GateRules(Struct, frozen=True, kw_only=True):
    """What a gate asks for.

    Attributes:
        metric: the score.
        minimum: the mean is at least this; None for any.
        margin: it is to be shown that less than this was lost, from 0 to 1; None where a loss has to be shown.
        cost: the cost is at most this many times as high; None for any.
        unchecked_judge: the score of a judge may pass though few people have looked at the same.
    """

    metric: str = CORRECT
    minimum: float | None = None
    margin: float | None = None
    cost: float | None = None
    unchecked_judge: bool = False


class GateVerdict(Struct, frozen=True, kw_only=True):
    """What a gate says.

    Attributes:
        verdict: the word.
        reasons: why, a sentence each.
    """

    verdict: Verdict
    reasons: tuple[Sentence, ...]


def judge(
    report: ExperimentReport, against: ExperimentReport | None, rules: GateRules, *, judged_by_model: int | None = None
) -> GateVerdict:
    """What a gate says of an experiment.

    Args:
        report: the experiment.
        against: the one before; None for none.
        rules: what is asked for.
        judged_by_model: where the score is that of a model, how many runs a person has judged by the same name; None
            where no model judges.

    Raises:
        UsageError: the experiment has no such score; or there is nothing to compare with.
    """
    if rules.metric not in report.scores:
        raise UsageError("--metric {name}: the experiment has no such score", name=rules.metric)
    if against is None and (rules.margin is not None or rules.cost is not None):
        raise UsageError("--margin and --cost need --against: there is nothing to compare with")
    compared = compare(against, report, rules.metric) if against is not None else None
    if compared is not None and rules.metric not in compared.scores:
        raise UsageError("--against: the two have no case with the score {name} in common", name=rules.metric)
    bad = [*_faults_alone(report, rules), *(_faults_compared(compared, rules) if compared is not None else [])]
    if bad:
        return GateVerdict(verdict="fail", reasons=tuple(bad))
    open_ = _unknown(report, compared, rules, judged_by_model)
    if open_:
        return GateVerdict(verdict="unknown", reasons=tuple(open_))
    return GateVerdict(verdict="pass", reasons=tuple(_passed(report, compared, rules, judged_by_model)))


def _faults_alone(report: ExperimentReport, rules: GateRules) -> list[Sentence]:
    found = [
        Sentence("the case {case} has to be right in all tries", case=case.case)
        for case in report.results
        if case.must and not _is_right(case, report.tries, rules.metric)
    ]
    mean = report.scores[rules.metric].mean
    if rules.minimum is not None and (mean is None or mean < rules.minimum):
        found.append(
            Sentence("{name} is {mean:.3f}, below {least:g}", name=rules.metric, mean=mean or 0.0, least=rules.minimum)
        )
    return found


def _is_right(case: CaseReport, tries: int, metric: str) -> bool:
    return len(case.tries) == tries and all(each.scores.get(metric) == 1.0 for each in case.tries)


def _faults_compared(compared: ExperimentComparison, rules: GateRules) -> list[Sentence]:
    found = []
    score = compared.scores[rules.metric]
    is_small = rules.margin is not None and score.low > -rules.margin  # a smaller loss is allowed, though it is sure
    if score.surely_lost and not is_small:
        found.append(
            Sentence(
                "{name} surely lost: {points:+.1f} points, at best {best:+.1f}",
                name=rules.metric,
                points=100 * score.difference,
                best=100 * score.high,
            )
        )
    for tag, each in compared.tags.items():
        if each.surely_lost:
            found.append(
                Sentence("the tag {tag} surely lost: {points:+.1f} points", tag=tag, points=100 * each.difference)
            )
    cost = compared.used["cost"]
    if rules.cost is not None and cost.low is not None and cost.low > rules.cost:
        found.append(Sentence("the cost is surely above {most:g} times", most=rules.cost))
    return found


def _unknown(
    report: ExperimentReport, compared: ExperimentComparison | None, rules: GateRules, judged_by_model: int | None
) -> list[Sentence]:
    found = []
    if not report.is_over:
        found.append(Sentence("the experiment is not finished"))
    if report.fails_too_often:
        found.append(Sentence("{count:try|tries} failed, more than a tenth: nothing can pass", count=report.failed))
    if report.scores[rules.metric].mean is None:
        found.append(Sentence("no case has the score {name}", name=rules.metric))
    if judged_by_model is not None and judged_by_model < CHECKED_MIN and not rules.unchecked_judge:
        found.append(
            Sentence(
                "{name} is not checked against people: {count:run has|runs have} both scores, and {most} are needed",
                name=rules.metric,
                count=judged_by_model,
                most=CHECKED_MIN,
            )
        )
    if rules.margin is not None and compared is not None:
        score = compared.scores[rules.metric]
        if score.low <= -rules.margin:
            needed = cases_needed(compared.differences, rules.margin)
            points = 100 * rules.margin
            if needed:
                found.append(
                    Sentence(
                        "a loss of {points:g} points is possible: about {count} cases are needed, not {cases}",
                        points=points,
                        count=needed,
                        cases=score.cases,
                    )
                )
            else:
                found.append(
                    Sentence(
                        "a loss of {points:g} points is possible, and more cases of this kind would not help",
                        points=points,
                    )
                )
    return found


def _passed(
    report: ExperimentReport, compared: ExperimentComparison | None, rules: GateRules, judged_by_model: int | None
) -> list[Sentence]:
    found = []
    if compared is not None:
        score = compared.scores[rules.metric]
        if rules.margin is None:
            found.append(
                Sentence(
                    "no sure loss; up to {points:.1f} points would be missed",
                    points=-100 * min(0.0, score.low),
                )
            )
        else:
            found.append(Sentence("fewer than {points:g} points were lost", points=100 * rules.margin))
    else:
        mean = report.scores[rules.metric].mean
        found.append(Sentence("{name} is {mean:.3f}", name=rules.metric, mean=mean or 0.0))
    if judged_by_model is not None and rules.unchecked_judge and judged_by_model < CHECKED_MIN:
        found.append(Sentence("{name} is not checked against people: --unchecked-judge", name=rules.metric))
    return found


def texts(reasons: Sequence[Sentence]) -> list[str]:
    """The reasons in English."""
    return [str(each) for each in reasons]
