"""What came of an experiment: a view of the record of its tries."""

from __future__ import annotations

import statistics
from collections.abc import AsyncIterator, Sequence
from decimal import Decimal

from msgspec import Struct

from ..core.interfaces import Journal
from ..core.json import JsonObject
from ..core.run.record import Entry
from ..journal.recording import RunState
from ..scores.score import EVALUATION, standing_scores
from .case import Case
from .experiment import KnownTools
from .judge import Agreement, agreement
from .records import ExperimentRun, try_id
from .scorer import CORRECT, fails
from .tried import tried

READ_AT_ONCE = 200
"""How many runs are read by one query."""
QUESTION_MAX = 200
"""So much of a question is told."""
FAILED_SHARE = 0.1
"""With more failed tries than this share, the report says so first, and no gate passes."""


class TryReport(Struct, frozen=True, kw_only=True):
    """A try.

    Attributes:
        run: its run.
        status: how the run ended; empty where it has not ended.
        scores: by name; None where a scorer does not apply.
        failed: whether it failed, and counts as 0.
        denied: how many calls were not carried out.
        in_doubt: whether nobody knows if a call happened.
        cost, tokens, seconds: of the run.
    """

    run: str
    status: str
    scores: dict[str, float | None]
    failed: bool = False
    denied: int = 0
    in_doubt: bool = False
    cost: Decimal = Decimal()
    tokens: int = 0
    seconds: float = 0.0


class CaseReport(Struct, frozen=True, kw_only=True):
    """A case.

    Attributes:
        case: its id.
        tags: its tags.
        must: whether it has to be right in all tries.
        question: what was said.
        tries: in order; fewer than the experiment has where it is not finished.
    """

    case: str
    tags: tuple[str, ...]
    tries: tuple[TryReport, ...]
    must: bool = False
    question: str = ""

    def score(self, name: str) -> float | None:
        """The mean of a score over the tries; None where none has it."""
        values = [value for each in self.tries if (value := each.scores.get(name)) is not None]
        return statistics.fmean(values) if values else None

    @property
    def is_flaky(self) -> bool:
        """Whether some tries are right, and others are not."""
        return len({each.scores.get(CORRECT) for each in self.tries}) > 1

    def mean(self, name: str) -> float:
        """The mean of the cost, the tokens or the seconds of a try."""
        return statistics.fmean([float(getattr(each, name)) for each in self.tries]) if self.tries else 0.0


class ScoreSummary(Struct, frozen=True, kw_only=True):
    """A score over all cases.

    Attributes:
        mean: over the cases that have it; None where none has.
        rated: how many cases have it.
        all_right: the share of these cases whose every try has the score 1 (pass^k).
    """

    mean: float | None
    rated: int
    all_right: float | None = None


class ExperimentReport(Struct, frozen=True, kw_only=True):
    """What came of an experiment.

    Attributes:
        experiment: the run of the experiment.
        name: its name.
        dataset: the digest of its cases.
        agent: the name of the agent.
        agent_digest: of all that decides what the agent does.
        cases, tries: how many there are.
        is_over: whether all tries have ended.
        failed: how many tries failed.
        denied: how many calls were not carried out, since they may change something.
        unrated: the cases that do not say what is right.
        flaky: the cases that are right in some tries alone.
        in_doubt: the runs with a call that may or may not have happened.
        scores: by name.
        results: each case.
        judges: of each score that a model gave, how far the model agrees with people.
    """

    experiment: str
    name: str
    dataset: str
    agent: str
    cases: int
    tries: int
    failed: int
    denied: int
    scores: dict[str, ScoreSummary]
    results: tuple[CaseReport, ...]
    agent_digest: str = ""
    is_over: bool = True
    unrated: tuple[str, ...] = ()
    flaky: tuple[str, ...] = ()
    in_doubt: tuple[str, ...] = ()
    judges: dict[str, Agreement] = {}

    @property
    def fails_too_often(self) -> bool:
        """Whether too many tries failed for the scores to say much."""
        count = sum(len(each.tries) for each in self.results)
        return self.failed > FAILED_SHARE * count


async def report_of(journal: Journal, found: ExperimentRun) -> ExperimentReport:
    """What came of an experiment.

    Args:
        journal: has its runs.
        found: the experiment.
    """
    reader = _Tries(journal, found)
    results = []
    for at in range(0, len(found.cases), READ_AT_ONCE):
        results += [each async for each in reader.read(found.cases[at : at + READ_AT_ONCE])]
    tries = [each for case in results for each in case.tries]
    return ExperimentReport(
        experiment=found.run_id,
        name=found.began.name,
        dataset=found.began.dataset,
        agent=found.began.agent,
        agent_digest=found.began.agent_digest,
        cases=found.began.cases,
        tries=found.began.tries,
        is_over=found.is_over,
        failed=sum(each.failed for each in tries),
        denied=sum(each.denied for each in tries),
        unrated=tuple(case.id for case in found.cases if case.expected.says_nothing),
        flaky=tuple(each.case for each in results if each.is_flaky),
        in_doubt=tuple(each.run for each in tries if each.in_doubt),
        scores={name: summary_of(results, name) for name in names_of(results)},
        results=tuple(results),
        judges={name: await agreement(journal, reader.tenant, name) for name in sorted(reader.judged)},
    )


class _Tries:
    """Reads the tries of an experiment."""

    def __init__(self, journal: Journal, found: ExperimentRun) -> None:
        self._journal = journal
        self._found = found
        self._tools = KnownTools(journal)
        self.judged: set[str] = set()
        self.tenant = ""

    async def read(self, cases: Sequence[Case]) -> AsyncIterator[CaseReport]:
        """Some cases, in order."""
        numbers = range(self._found.began.tries)
        ids = {case.id: [try_id(self._found.run_id, case.id, number) for number in numbers] for case in cases}
        entries = await self._journal.read_each([run_id for group in ids.values() for run_id in group])
        for case in cases:
            tries = [await self._one(case, run_id, entries[run_id]) for run_id in ids[case.id] if run_id in entries]
            yield CaseReport(case=case.id, tags=case.tags, must=case.must, question=_question(case), tries=tuple(tries))

    async def _one(self, case: Case, run_id: str, entries: Sequence[Entry]) -> TryReport:
        run = tried(run_id, entries, await self._tools.of(entries))
        marks = [each.given for each in standing_scores(entries) if each.given.by == EVALUATION]
        given = {each.name: each.value for each in marks}
        self.judged |= {each.name for each in marks if each.scorer == "model"}
        self.tenant = RunState(entries[:1]).beginning().tenant
        return TryReport(
            run=run_id,
            status=run.status,
            scores={name: given.get(name) for name in (*self._found.began.scorers, *given)},
            failed=fails(case, run),
            denied=run.denied,
            in_doubt=run.in_doubt,
            cost=run.cost,
            tokens=run.tokens,
            seconds=run.seconds,
        )


def _question(case: Case) -> str:
    return case.question if len(case.question) <= QUESTION_MAX else case.question[: QUESTION_MAX - 1] + "\u2026"


def names_of(results: Sequence[CaseReport]) -> list[str]:
    """The names of all scores, `correct` first."""
    found = dict.fromkeys(name for case in results for each in case.tries for name in each.scores)
    return sorted(found, key=lambda name: (name != CORRECT, name))


def summary_of(results: Sequence[CaseReport], name: str) -> ScoreSummary:
    """A score over all cases."""
    rated = [case for case in results if case.score(name) is not None]
    values = [value for case in rated if (value := case.score(name)) is not None]
    if not values:
        return ScoreSummary(mean=None, rated=0)
    right = [all(each.scores.get(name) == 1.0 for each in case.tries) for case in rated]
    return ScoreSummary(mean=statistics.fmean(values), rated=len(rated), all_right=statistics.fmean(right))


def shown(report: ExperimentReport) -> JsonObject:
    """The report as JSON, for programs."""
    return {
        "experiment": report.experiment,
        "name": report.name,
        "dataset": report.dataset,
        "agent": report.agent,
        "cases": report.cases,
        "tries": report.tries,
        "failed": report.failed,
        "denied": report.denied,
        "is_over": report.is_over,
        "unrated": [*report.unrated],
        "flaky": [*report.flaky],
        "in_doubt": [*report.in_doubt],
        "scores": {
            name: {"mean": each.mean, "rated": each.rated, "all_right": each.all_right}
            for name, each in report.scores.items()
        },
        "judges": {name: {"both": each.both, "kappa": each.kappa} for name, each in report.judges.items()},
        "results": [
            {
                "case": case.case,
                "tags": [*case.tags],
                "tries": [{"run": each.run, "status": each.status, "scores": {**each.scores}} for each in case.tries],
            }
            for case in report.results
        ],
    }
