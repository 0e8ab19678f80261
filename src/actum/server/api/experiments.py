"""`/v1/experiments`: what the caller's experiments came to. They are begun on the command line, and read here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct, field

from ...core.errors import UnknownName
from ...core.identity import Identity
from ...features.operation import AnswerKind, ApiReply, ApiRequest, Operation
from ...features.refusal import not_found
from .examples import ASKED_AT, RUN
from .fields import Cursor, Limit, ListPart, Name
from .records import cursors

if TYPE_CHECKING:
    from ...evals.report import ExperimentReport
    from .api import Api  # agents and workflows, which the completion of a command needs none of


class ExperimentsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which part of the list of experiments.

    Attributes:
        limit: the most items of this part of the list, the latest first.
        cursor: `next` of the part before.
    """

    limit: Limit = 50
    cursor: Cursor = ""


class ExperimentInfo(Struct, frozen=True, kw_only=True):
    """An experiment in a list.

    Attributes:
        experiment: the id of its run.
        name: its name; empty for none.
        agent, model: the names.
        cases, tries: how many cases there are, and how often each is asked.
        began: when, in seconds since 1970.
        is_over: whether all tries have ended.
    """

    experiment: str
    name: str
    agent: str
    model: str
    cases: int
    tries: int
    began: float
    is_over: bool


class ExperimentList(ListPart[ExperimentInfo], frozen=True, kw_only=True):
    """A part of the list of the caller's experiments, the latest first."""


class ScoreMean(Struct, frozen=True, kw_only=True):
    """A score over all cases. The fields are those of `actum.evals.report.ScoreSummary`."""

    mean: float | None
    rated: int
    all_right: float | None


class JudgeAgreement(Struct, frozen=True, kw_only=True):
    """How far a judge agrees with people. The fields are those of `actum.evals.judge.Agreement`."""

    both: int
    kappa: float | None


class TryResult(Struct, frozen=True, kw_only=True):
    """A try: its run, how the run ended, and its scores; null where a scorer does not apply."""

    run: str
    status: str
    scores: dict[str, float | None]


class CaseResult(Struct, frozen=True, kw_only=True):
    """A case, with its tags and tries."""

    case: str
    tags: tuple[str, ...]
    tries: tuple[TryResult, ...]


class ExperimentDetails(Struct, frozen=True, kw_only=True):
    """What came of an experiment, as `actum eval show --json` tells.

    Attributes:
        experiment: the id of its run.
        name: its name; empty for none.
        dataset: the digest of its cases.
        agent: the name of the agent.
        cases, tries: how many cases there are, and how often each is asked.
        failed: how many tries failed, and count as 0.
        denied: how many calls were not carried out, since they may change something.
        is_over: whether all tries have ended.
        unrated: the cases that do not say what is right.
        flaky: the cases that are right in some tries alone.
        in_doubt: the runs with a call that may or may not have happened.
        scores: by name.
        judges: of each score that a model gave, how far the model agrees with people.
        results: each case.
    """

    experiment: str
    name: str
    dataset: str
    agent: str
    cases: int
    tries: int
    failed: int
    denied: int
    is_over: bool
    unrated: tuple[str, ...]
    flaky: tuple[str, ...]
    in_doubt: tuple[str, ...]
    scores: dict[str, ScoreMean]
    judges: dict[str, JudgeAgreement]
    results: tuple[CaseResult, ...]


class ComparedWith(Struct, frozen=True, forbid_unknown_fields=True):
    """What an experiment is compared with.

    Attributes:
        other: the id of the run of the later experiment, or its name; written `with`.
    """

    other: Name = field(name="with")


class ScoreChange(Struct, frozen=True, kw_only=True):
    """A score of two experiments. The fields are those of `actum.evals.comparison.ScoreDifference`."""

    a: float
    b: float
    difference: float
    low: float
    high: float
    gained: int
    lost: int
    chance: float


class UsedChange(Struct, frozen=True, kw_only=True):
    """What two experiments used up. The fields are those of `actum.evals.comparison.UsedTotals`."""

    a: float | None
    b: float | None
    ratio: float | None
    low: float | None
    high: float | None


class RunsPart(Struct, frozen=True, kw_only=True):
    """The first moment at which two runs part. The fields are those of `actum.evals.comparison.Parting`."""

    what: str
    step: int


class CaseChange(Struct, frozen=True, kw_only=True):
    """A case whose score is another one, with a run of each experiment, and the moment at which the two runs part."""

    case: str
    score: str
    a: float
    b: float
    runs: tuple[str, str]
    parts_at: RunsPart | None


class ExperimentDifference(Struct, frozen=True, kw_only=True):
    """Two experiments, paired by case, as `actum eval compare --json` tells.

    Attributes:
        cases: how many cases both have.
        could_see: the difference that this set shows with power 80 %.
        scores: by name; shares from 0 to 1, `difference` is b - a.
        cost, tokens, seconds: both totals, and their ratio.
        tags: the main score by tag.
        changed: the cases that changed, what became worse first.
        flaky: the cases that are right in some tries alone.
        alone: the cases that only one of the two has.
    """

    cases: int
    could_see: float
    scores: dict[str, ScoreChange]
    cost: UsedChange
    tokens: UsedChange
    seconds: UsedChange
    tags: dict[str, ScoreChange]
    changed: tuple[CaseChange, ...]
    flaky: tuple[str, ...]
    alone: tuple[str, ...]


async def list_experiments(api: Api, asked: ApiRequest[ExperimentsQuery, None]) -> ApiReply:
    """The experiments of the caller, the latest first."""
    from ...evals.records import experiment_of, page_of_experiments  # noqa: PLC0415  # as for `Api`

    who, query, found = asked.who, asked.query, []
    with cursors():
        page = await page_of_experiments(api.journal, who.principal, who.tenant, limit=query.limit, cursor=query.cursor)
    for line in page.items:
        each = experiment_of(line.run_id, await api.journal.read(line.run_id, tenant=who.tenant))
        if each is not None and who.principal == line.principal:
            began = each.began
            found.append(
                ExperimentInfo(
                    experiment=line.run_id,
                    name=began.name,
                    agent=began.agent,
                    model=began.model,
                    cases=began.cases,
                    tries=began.tries,
                    began=line.started,
                    is_over=each.is_over,
                )
            )
    return ApiReply(ExperimentList(items=tuple(found), next=page.next or None))


async def get_experiment(api: Api, asked: ApiRequest[None, None]) -> ApiReply:
    """What came of an experiment."""
    from ...evals.report import shown  # noqa: PLC0415  # as for `Api`

    report = await _own(api, asked.names["id"], asked.who)
    return ApiReply(msgspec.convert(shown(report), ExperimentDetails))


async def compare_experiments(api: Api, asked: ApiRequest[ComparedWith, None]) -> ApiReply:
    """Two experiments, paired by case."""
    from ...evals.comparison import compare, shown, with_moments  # noqa: PLC0415  # as for `Api`

    one, other = [await _own(api, named, asked.who) for named in (asked.names["id"], asked.query.other)]
    compared = await with_moments(api.journal, compare(one, other))
    return ApiReply(msgspec.convert(shown(compared), ExperimentDifference))


async def _own(api: Api, named: str, who: Identity) -> ExperimentReport:
    """What came of an experiment of the caller.

    Raises:
        Refusal: there is none of this name.
    """
    from ...evals.records import find_experiment  # noqa: PLC0415  # as for `Api`
    from ...evals.report import report_of  # noqa: PLC0415  # as for `Api`

    try:
        found = await find_experiment(api.journal, named, who.principal, who.tenant)
    except UnknownName:
        raise not_found("experiment") from None
    return await report_of(api.journal, found)


_INFO = {
    "experiment": RUN,
    "name": "before",
    "agent": "desk",
    "model": "openai:gpt-5",
    "cases": 30,
    "tries": 1,
    "began": ASKED_AT,
    "is_over": True,
}
_DETAILS = {
    **{name: _INFO[name] for name in ("experiment", "name", "agent", "is_over")},
    "dataset": "9f2c41d07a66b1e0",
    "cases": 1,
    "tries": 1,
    "failed": 0,
    "denied": 0,
    "unrated": [],
    "flaky": [],
    "in_doubt": [],
    "scores": {"correct": {"mean": 1.0, "rated": 1, "all_right": 1.0}},
    "judges": {},
    "results": [{"case": "bolts", "tags": [], "tries": [{"run": RUN, "status": "done", "scores": {"correct": 1.0}}]}],
}
_USED = {"a": None, "b": None, "ratio": None, "low": None, "high": None}
_DIFFERENCE = {
    "cases": 30,
    "could_see": 0.162,
    "scores": {
        "correct": {
            "a": 0.9,
            "b": 0.9,
            "difference": 0.0,
            "low": -0.087,
            "high": 0.087,
            "gained": 0,
            "lost": 0,
            "chance": 1.0,
        }
    },
    "cost": _USED,
    "tokens": _USED,
    "seconds": _USED,
    "tags": {},
    "changed": [],
    "flaky": [],
    "alone": [],
}
_NAME = {"id": "The id of the run of an experiment, or the name of the experiment."}
OPERATIONS: tuple[Operation, ...] = (
    Operation(
        id="listExperiments",
        method="get",
        path="/v1/experiments",
        tag="experiments",
        summary="List your experiments, the latest first.",
        scopes=("runs",),
        query=ExperimentsQuery,
        replies={
            200: AnswerKind(means="The experiments.", body=ExperimentList, example={"items": [_INFO], "next": None})
        },
        handler=list_experiments,
    ),
    Operation(
        id="getExperiment",
        method="get",
        path="/v1/experiments/{id}",
        tag="experiments",
        summary="Get what came of an experiment: scores, cases, and the runs of their tries.",
        scopes=("runs",),
        names=_NAME,
        replies={200: AnswerKind(means="The experiment.", body=ExperimentDetails, example=_DETAILS)},
        handler=get_experiment,
    ),
    Operation(
        id="compareExperiments",
        method="get",
        path="/v1/experiments/{id}/comparison",
        tag="experiments",
        summary="Compare two experiments case by case.",
        scopes=("runs",),
        names=_NAME,
        query=ComparedWith,
        replies={200: AnswerKind(means="The two experiments.", body=ExperimentDifference, example=_DIFFERENCE)},
        handler=compare_experiments,
    ),
)
