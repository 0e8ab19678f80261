"""An experiment: each case is asked as often as is wanted, each try is an ordinary run, and each run is scored.

Everything is on record, so a process that was killed loses nothing: the same experiment goes on where it stopped. A
try that ended is not begun again, and one under way is resumed by the rules of the journal.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress

from msgspec import Struct

from ..agents.agent import Agent
from ..agents.identity import digest_of
from ..core.errors import Busy, ModelError, UsageError
from ..core.interfaces import Journal
from ..core.json import Json
from ..core.message import UserMessage
from ..core.run.ending import is_last
from ..core.run.ids import new_id
from ..core.run.record import Ended, Entry, Started
from ..core.run.summary import records_of
from ..core.tool import Tool
from ..journal.kept_tools import kept_tools
from ..scores.rating import score_run
from ..scores.score import EVALUATION, ScoreGiven
from .case import Case, digest_of_cases
from .closed import CASE_RESULTS, NO_RESULTS, ClosedWorld, closed
from .records import (
    CaseTaken,
    ExperimentBegan,
    ExperimentRun,
    digest_of_results,
    experiment_of,
    experiments_named,
    noted,
    started,
    try_id,
)
from .scorer import CORRECT, CORRECT_SCORING, Scoring, fails
from .tried import TriedRun, tried

TRIES_MAX = 100_000
"""How many tries an experiment has at most."""
SCORED_AT_ONCE = 20
"""How many tries are scored together, where no model judges."""
AgentOf = Callable[[Case], Agent[object]]


class Experiment(Struct, frozen=True, kw_only=True):
    """What is to be tried.

    Attributes:
        cases: each with an id of its own.
        agent: the agent; or a function that gives the agent of a case.
        scorers: say how good a try was.
        name: by which the experiment is found again; empty for none.
        tries: how often each case is asked.
        jobs: how many tries run at once. This changes nothing in the report.
        results: what tools answer in all cases, as `Case.results`.
        live: the tools that are executed whatever they do; `*` for all.
        principal, tenant: on whose behalf.
        again: begin anew, whatever the name had before.
    """

    cases: Sequence[Case]
    agent: Agent[object] | AgentOf
    scorers: Sequence[Scoring] = (CORRECT_SCORING,)
    name: str = ""
    tries: int = 1
    jobs: int = 4
    results: Mapping[str, Json] = NO_RESULTS
    live: Sequence[str] = ()
    principal: str = ""
    tenant: str = ""
    again: bool = False

    def __post_init__(self) -> None:
        if not self.cases:
            raise UsageError("there is no case to try")
        if self.tries < 1 or self.jobs < 1 or len(self.cases) * self.tries > TRIES_MAX:
            raise UsageError("an experiment has 1 to {most} tries, and at least one at a time", most=TRIES_MAX)
        names = [scorer.name for scorer in self.scorers]
        if not names or len(set(names)) < len(names):
            raise UsageError("each score needs one scorer, and a name of its own: {names}", names=", ".join(names))

    async def began(self) -> ExperimentBegan:
        """What goes on record of it."""
        if isinstance(self.agent, Agent):
            name, model, digest = self.agent.name, self.agent.model.name, digest_of(await self.agent.parts())
        else:
            name, model = getattr(self.agent, "__name__", "agent"), ""
            digest = hashlib.sha256(_source(self.agent).encode()).hexdigest()
        return ExperimentBegan(
            name=self.name,
            dataset=digest_of_cases(self.cases),
            cases=len(self.cases),
            agent=name,
            model=model,
            agent_digest=digest,
            scorers={scorer.name: scorer.version for scorer in self.scorers},
            tries=self.tries,
            results=digest_of_results(self.results),
            live=tuple(sorted(self.live)),
        )


async def carry_out(experiment: Experiment, journal: Journal) -> str:
    """Carry an experiment out, or go on with it. One that is over, with nothing changed, is left as it is.

    Args:
        experiment: what is to be tried.
        journal: where its runs are written down.

    Returns:
        The run of the experiment.

    Raises:
        Busy: another process drives the experiment.
        UsageError: an unfinished experiment of this name compares something else; or a scorer fails.
    """
    began = await experiment.began()
    before = None if experiment.again else await _before(experiment, began, journal)
    if before is not None and before.is_over:
        return before.run_id
    run_id = before.run_id if before is not None else new_id("run")
    try:
        async with journal.claim(run_id):
            is_new = await _begin(experiment, began, run_id, journal)
            await _Tries(experiment, run_id, journal, is_new=is_new).carry_out()
            journal.append(run_id, Ended("done", f"{began.cases * began.tries} tries"))
            await journal.sync(run_id)
    except Busy as error:
        raise Busy("the experiment {name} is being driven: {why}", name=experiment.name or run_id, why=error) from None
    return run_id


async def _before(experiment: Experiment, began: ExperimentBegan, journal: Journal) -> ExperimentRun | None:
    """The latest experiment of this name, where it compares the same.

    Raises:
        UsageError: it compares something else, and is not finished.
    """
    for run_id in await experiments_named(journal, experiment.name, experiment.principal, experiment.tenant):
        found = experiment_of(run_id, await journal.read(run_id, tenant=experiment.tenant))
        if found is None:
            continue
        if found.began == began:
            return found
        if not found.is_over:
            changed = [name for name in began.__struct_fields__ if getattr(began, name) != getattr(found.began, name)]
            raise UsageError(
                "the experiment {name} ({run}) is not finished, and this one has another {changed}: go on with the "
                "same, take another --name, or begin anew with --again",
                name=experiment.name,
                run=run_id,
                changed=", ".join(changed),
            )
        return None
    return None


async def _begin(experiment: Experiment, began: ExperimentBegan, run_id: str, journal: Journal) -> bool:
    """Have the beginning of an experiment on record, and all its cases; whether nothing was on record before."""
    entries = await journal.read(run_id)
    found = experiment_of(run_id, entries)
    if not entries:
        journal.append(run_id, started(began, experiment.principal, experiment.tenant))
    if found is None:
        journal.append(run_id, noted(began))
    known = {case.id for case in found.cases} if found is not None else set()
    for case in experiment.cases:
        if case.id not in known:
            journal.append(run_id, noted(CaseTaken(case)))
    await journal.sync(run_id)
    return not entries


class _Tries:
    """The tries of an experiment that is claimed."""

    def __init__(self, experiment: Experiment, run_id: str, journal: Journal, *, is_new: bool) -> None:
        self._experiment = experiment
        self._is_new = is_new
        self._run_id = run_id
        self._journal = journal
        self._world = ClosedWorld(experiment.results, experiment.live)
        self._agent = closed(experiment.agent, self._world, journal) if isinstance(experiment.agent, Agent) else None
        self._marks = TryScorer(journal, experiment.scorers)
        self._unscored: list[tuple[str, Case]] = []
        self._scored_at_once = SCORED_AT_ONCE if all(each.kind == "code" for each in experiment.scorers) else 1

    async def carry_out(self) -> None:
        """Carry out all that are not over."""
        waiting = self._waiting()
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._experiment.jobs):
                    group.create_task(self._work(waiting))
        except BaseExceptionGroup as several:
            raise several.exceptions[0] from None  # the others were cancelled by it
        await self._score()

    def _waiting(self) -> Iterator[tuple[Case, int]]:
        return ((case, number) for case in self._experiment.cases for number in range(self._experiment.tries))

    async def _work(self, waiting: Iterator[tuple[Case, int]]) -> None:
        for case, number in waiting:
            CASE_RESULTS.set(case.results)
            await self._try(case, try_id(self._run_id, case.id, number))

    async def _try(self, case: Case, run_id: str) -> None:
        entries = [] if self._is_new else await self._journal.read(run_id)
        if not entries or not _has_ended(entries):
            with suppress(ModelError):  # the run says so on its record, and counts as failed
                await self._run(case, run_id, is_begun=bool(entries))
        self._unscored.append((run_id, case))
        if len(self._unscored) >= self._scored_at_once:
            await self._score()

    async def _score(self) -> None:
        """Score the tries that are over and have no scores yet: together, since each by itself waits for the disk."""
        taken, self._unscored = self._unscored, []
        entries = await self._journal.read_each([run_id for run_id, _ in taken])
        try:
            async with asyncio.TaskGroup() as group:
                for run_id, case in taken:
                    scorers = self._marks.of(run_id, case)
                    group.create_task(score_run(self._journal, run_id, scorers, entries.get(run_id, ())))
        except BaseExceptionGroup as several:
            raise several.exceptions[0] from None

    async def _run(self, case: Case, run_id: str, *, is_begun: bool) -> None:
        agent = self._agent
        if agent is None:
            assert not isinstance(self._experiment.agent, Agent)
            agent = closed(self._experiment.agent(case), self._world, self._journal)
        if is_begun:
            await agent.resume(run_id)
            return
        *history, question = case.messages
        assert isinstance(question, UserMessage)
        await agent.run(
            question,
            messages=history or None,
            run_id=run_id,
            parent=self._run_id,
            principal=self._experiment.principal,
            tenant=self._experiment.tenant,
            memory=False,
        )


async def score_again(journal: Journal, found: ExperimentRun, scorers: Sequence[Scoring]) -> None:
    """Score the runs of an experiment again. No model is asked, but by a scorer that does.

    Args:
        journal: has the runs.
        found: the experiment.
        scorers: say how good a try was.

    Raises:
        Busy: another process drives the experiment.
        UsageError: a scorer fails.
    """
    marks = TryScorer(journal, scorers)
    async with journal.claim(found.run_id):
        for case in found.cases:
            for number in range(found.began.tries):
                run_id = try_id(found.run_id, case.id, number)
                if await journal.is_listed(run_id):
                    await score_run(journal, run_id, marks.of(run_id, case))
        await journal.sync(found.run_id)


class TryScorer:
    """What scorers say of tries.

    Args:
        journal: has the runs.
        scorers: all of them.
    """

    def __init__(self, journal: Journal, scorers: Sequence[Scoring]) -> None:
        self._scorers = scorers
        self._tools = KnownTools(journal)

    def of(self, run_id: str, case: Case) -> Callable[[Sequence[Entry]], Awaitable[Sequence[ScoreGiven]]]:
        """Scores a try, out of the entries of its run."""

        async def score(entries: Sequence[Entry]) -> Sequence[ScoreGiven]:
            run = tried(run_id, entries, await self._tools.of(entries))
            given = [await scored(scorer, case, run) for scorer in self._scorers]
            return [each for each in given if each is not None]

        return score


async def scored(scorer: Scoring, case: Case, run: TriedRun) -> ScoreGiven | None:
    """What a scorer says of a try. A try that failed counts as 0, where the scorer applies to the case.

    Raises:
        UsageError: the scorer fails.
    """
    if not fails(case, run):
        return await scorer.score(case, run)
    if scorer.name == CORRECT and case.expected.says_nothing:
        return None
    return ScoreGiven(
        name=scorer.name,
        value=0.0,
        label="failed",
        explanation=run.reason[:200],
        by=EVALUATION,
        scorer=scorer.kind,
        version=scorer.version,
    )


class KnownTools:
    """The definitions of the tools of runs, each list read once.

    Args:
        journal: keeps the definitions.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._known: dict[str, Mapping[str, Tool]] = {}

    async def of(self, entries: Sequence[Entry]) -> Mapping[str, Tool]:
        """The tools of a run, by name."""
        first = records_of(entries[:1])
        digest = first[0].tools if first and isinstance(first[0], Started) else ""
        if digest not in self._known:
            found = await kept_tools(self._journal, digest) if digest else ()
            self._known[digest] = {tool.name: tool for tool in found}
        return self._known[digest]


def _has_ended(entries: Sequence[Entry]) -> bool:
    """Whether a try is not to be gone on with: it is over, or waits."""
    record = entries[-1].record
    return is_last(record) or isinstance(record, Ended)


def _source(function: object) -> str:
    try:
        return inspect.getsource(function)  # type: ignore[arg-type]
    except (OSError, TypeError):
        return getattr(function, "__qualname__", repr(type(function)))
