"""What an experiment has on record: what it compares, and each case.

An experiment is a run of its own, without a model. Each try is a child run of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from ..core.errors import JournalError, UnknownName
from ..core.interfaces import Journal
from ..core.json import Json
from ..core.message import UserMessage
from ..core.run.noted import RecordKind, RecordKinds
from ..core.run.record import Entry, Noted, Started
from ..core.run.summary import RunSummary
from ..journal.lists import Page, page_of_runs
from ..scores.score import EVALUATION
from .case import Case

FEATURE_NAME = "evals"


class ExperimentBegan(Struct, frozen=True, kw_only=True, tag="began", omit_defaults=True):
    """What an experiment compares.

    Attributes:
        name: by which a person names it; empty for none.
        dataset: the digest of its cases.
        cases: how many there are.
        agent, model: the names.
        agent_digest: of all that decides what the agent does.
        scorers: the digest of each scorer, by the name of its score.
        tries: how often each case is run.
        results: the digest of the results for all cases; empty for none.
        live: the tools that are executed whatever they do.
    """

    name: str
    dataset: str
    cases: int
    agent: str
    model: str
    agent_digest: str
    scorers: dict[str, str]
    tries: int = 1
    results: str = ""
    live: tuple[str, ...] = ()


class CaseTaken(Struct, frozen=True, tag="case"):
    """A case of an experiment, whole: an experiment can be shown and scored again without the file."""

    case: Case


RECORDS = (ExperimentBegan, CaseTaken)
_KINDS = RecordKinds([RecordKind(FEATURE_NAME, record) for record in RECORDS])


def noted(record: ExperimentBegan | CaseTaken) -> Noted:
    """A record of an experiment as it goes on record."""
    return _KINDS.noted(record)


def started(began: ExperimentBegan, principal: str, tenant: str) -> Started:
    """The first record of the run of an experiment."""
    title = f"{began.name or began.agent}: {began.cases} cases" + (f" x {began.tries}" if began.tries > 1 else "")
    names = (digest_of_name(began.name, principal, tenant),) if began.name else ()
    said = (UserMessage.of(title),)
    return Started(agent=EVALUATION, model="", said=said, principal=principal, tenant=tenant, names=names)


def digest_of_name(name: str, principal: str, tenant: str) -> str:
    """What the journal finds an experiment by: a name of one user is never a name of another."""
    words = msgspec.json.encode([EVALUATION, tenant, principal, name])
    return f"{EVALUATION}:{hashlib.sha256(words).hexdigest()}"


def digest_of_results(results: Mapping[str, Json]) -> str:
    """Of results for all cases; empty for none."""
    return hashlib.sha256(msgspec.json.encode(results, order="sorted")).hexdigest() if results else ""


def try_id(experiment: str, case_id: str, number: int) -> str:
    """The run of a try: the same whenever the experiment is gone on with.

    Args:
        experiment: the run of the experiment.
        case_id: the case.
        number: of the try, from 0.
    """
    digest = hashlib.sha256(msgspec.json.encode([experiment, case_id, number])).hexdigest()
    return f"run_{digest[:20]}"


class ExperimentRun(Struct, frozen=True):
    """An experiment, as it is on record.

    Attributes:
        run_id: its run.
        began: what it compares.
        cases: its cases, in order; fewer than `began.cases` where its beginning was interrupted.
        is_over: whether all tries have ended.
    """

    run_id: str
    began: ExperimentBegan
    cases: tuple[Case, ...]
    is_over: bool


def experiment_of(run_id: str, entries: Sequence[Entry]) -> ExperimentRun | None:
    """The experiment of a run; None where the run is none, or is forgotten."""
    began: ExperimentBegan | None = None
    cases = []
    for entry in entries:
        if not entry.payload.startswith(b'{"type":"noted","feature":"evals"'):
            continue
        try:
            record = entry.record
        except JournalError:
            continue
        found = _KINDS.read(record) if isinstance(record, Noted) else None
        if isinstance(found, ExperimentBegan):
            began = found
        elif isinstance(found, CaseTaken):
            cases.append(found.case)
    if began is None:
        return None
    is_over = any(entry.payload.startswith(b'{"type":"ended"') for entry in entries[-1:])
    return ExperimentRun(run_id, began, tuple(cases), is_over)


async def find_experiment(journal: Journal, named: str, principal: str, tenant: str) -> ExperimentRun:
    """The experiment that a person means: its name, its run, or the beginning of the id of its run.

    Raises:
        UnknownName: there is none of this user.
    """
    for run_id in await experiments_named(journal, named, principal, tenant):
        if found := experiment_of(run_id, await journal.read(run_id, tenant=tenant)):
            return found
    lines = await experiment_lines(journal, principal, tenant)
    ids = [line.run_id for line in lines if line.run_id == named] or [
        line.run_id for line in lines if named and line.run_id.startswith(named)
    ]
    if len(ids) == 1 and (found := experiment_of(ids[0], await journal.read(ids[0], tenant=tenant))):
        return found
    raise UnknownName("there is no experiment {wanted!r}: `actum eval list` shows those there are", wanted=named)


async def experiments_named(journal: Journal, name: str, principal: str, tenant: str) -> list[str]:
    """The runs of the experiments that had a name, the latest first."""
    return await journal.named(digest_of_name(name, principal, tenant)) if name else []


async def experiment_lines(journal: Journal, principal: str, tenant: str) -> list[RunSummary]:
    """The experiments of a user in the list of runs, the latest first."""
    found = await journal.runs(agent=EVALUATION, principal=principal, tenant=tenant, parent="", limit=None)
    return [line for line in found if line.status != "forgotten"]


async def page_of_experiments(
    journal: Journal, principal: str, tenant: str, *, limit: int, cursor: str
) -> Page[RunSummary]:
    """A part of the experiments of a user in the list of runs, the latest first.

    Args:
        journal: the journal.
        principal, tenant: the user.
        limit, cursor: as for `page_of_runs`.

    Raises:
        UsageError: as for `page_of_runs`.
    """
    page = await page_of_runs(
        journal, limit=limit, cursor=cursor, agent=EVALUATION, principal=principal, tenant=tenant, parent=""
    )
    return Page(tuple(line for line in page.items if line.status != "forgotten"), page.next)
