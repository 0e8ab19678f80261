"""`actum eval`: cases, experiments, and whether one version is better than another."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer
from typer.core import TyperCommand

from ...agents.agent import Agent
from ...compose.models import make_model
from ...compose.settings import Settings
from ...compose.user_code import load_object, names_one_object
from ...core.errors import UsageError
from ...core.interfaces import Journal
from ...core.json import Json, JsonObject
from ...core.process.named_file import read_named, read_named_text
from ...evals.adding import case_of
from ...evals.case import Case, read_cases
from ...evals.closed import ALL, ClosedWorld
from ...evals.comparison import RATIO_CASES_MIN, ExperimentComparison, compare, with_moments
from ...evals.comparison import shown as compared_as_json
from ...evals.experiment import AgentOf, Experiment, carry_out, score_again
from ...evals.gate import CHECKED_MIN, GateRules, judge
from ...evals.judge import Judge
from ...evals.records import experiment_lines, experiment_of, find_experiment
from ...evals.report import ExperimentReport, report_of, shown
from ...evals.scorer import CORRECT, CORRECT_SCORING, Scoring, scoring_of
from ...evals.written import exported, junit, markdown, names_told, read_exported
from ...journal.named import find_run
from ...policy.record_mask import reader_mask
from .. import loading, options
from ..exit_codes import DONE, FAILED, PAUSED
from ..language import tr
from ..options import JournalFlag, JsonFlag
from ..show import moments
from ..show.terminal import Terminal, said, shorten, who
from .rate import latest_run

if TYPE_CHECKING:
    from typer._click.core import Context  # what the method that is overridden here is typed by

app = typer.Typer(help="Evaluation: cases, experiments, and whether one version is better than another.")
ScoreFlag = Annotated[
    list[str] | None,
    typer.Option("--score", metavar="FILE.py:NAME", help="A scorer of your own, beside `correct`; may be repeated."),
]
ExperimentArgument = Annotated[str, typer.Argument(metavar="EXPERIMENT", help="Its name, or the id of its run.")]
LIVE = "--live"


class RunCommand(TyperCommand):
    """`actum eval run`, in which `--live` may have no value: then it means all tools. Typer knows no such option."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Read the words of the command line."""
        following = [*args[1:], "-"]
        words = [
            f"{LIVE}={ALL}" if word == LIVE and after.startswith("-") else word
            for word, after in zip(args, following, strict=False)
        ]
        return super().parse_args(ctx, words)


@app.command("add")
def add(
    runs: Annotated[list[str], typer.Argument(metavar="RUN...", help="Runs; `last` is your latest.")],
    to: Annotated[Path, typer.Option("--to", metavar="FILE", help="The file of cases, made if it is not there.")],
    journal: JournalFlag = "",
) -> int:
    """Make cases of runs: question, calls and results. Then say in the file what was right."""
    terminal = Terminal()

    async def command() -> list[bytes]:
        known = {case.id for case in read_cases(to)} if to.exists() else set()
        lines, settings = [], options.read(journal=journal)
        async with options.journal(settings) as opened:
            for named in runs:
                run_id = await latest_run(opened) if named == "last" else (await find_run(opened, named)).run_id
                if run_id in known:
                    raise UsageError("{file} has the run {run} already", file=to, run=run_id)
                known.add(run_id)
                added = await case_of(opened, run_id, reader_mask(settings.labels, who()))
                lines.append(msgspec.json.encode(added.case) + b"\n")
                if added.opened:
                    terminal.note(
                        "{run}: these texts are long, so that they may be anything: {names}",
                        run=run_id,
                        names=names_told(added.opened),
                    )
                if added.to_review:
                    terminal.note("{run}: the answer was rated bad: say in `expected` what was right", run=run_id)
        return lines

    lines = asyncio.run(command())
    with to.open("ab") as file:
        file.writelines(lines)
    terminal.note("{count:case|cases} added to {file}", count=len(lines), file=to)
    return DONE


@app.command("run", cls=RunCommand)
def run(
    cases: Annotated[Path, typer.Argument(metavar="CASES", help="A file of cases: .jsonl or .csv.")],
    agent: Annotated[
        str, typer.Option("--agent", metavar="NAME|FILE.py:NAME", help="An agent of actum.toml, or of a file.")
    ] = "",
    model: Annotated[str, typer.Option("--model", "-m", metavar="NAME", help="In the place of the agent's own.")] = "",
    instructions: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Instructions in the place of the agent's own.")
    ] = None,
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="By which the experiment is found again.")] = "",
    tries: Annotated[int, typer.Option(metavar="NUMBER", help="How often each case is asked.")] = 1,
    jobs: Annotated[int, typer.Option(metavar="NUMBER", help="How many run at once.")] = 4,
    limit: Annotated[int, typer.Option(metavar="NUMBER", help="Only the first cases; 0 for all.")] = 0,
    tag: Annotated[str, typer.Option(metavar="TAG", help="Only cases with this tag.")] = "",
    score: ScoreFlag = None,
    judge_model: Annotated[str, typer.Option("--judge", metavar="MODEL", help="A model that judges by --rubric.")] = "",
    rubric: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What a good answer is; the file names the score.")
    ] = None,
    results: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What tools answer in all cases, as JSON by tool.")
    ] = None,
    live: Annotated[
        list[str] | None,
        typer.Option(
            LIVE,
            metavar="[TOOL]",
            help="Execute this tool whatever it does; all tools where none is named. May be repeated.",
        ),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Begin anew, whatever the name had before.")] = False,
    as_json: JsonFlag = False,
    journal: JournalFlag = "",
) -> int:
    """Ask an agent each case, and score what it did. No tool that may change something is executed.

    The same command with the same --name goes on where it was interrupted. Exit code 1: more than a tenth of the tries
    failed.
    """
    terminal = Terminal()
    chosen = _chosen(read_cases(cases), tag, limit)
    scorers = [CORRECT_SCORING, *(_scoring(each) for each in score or [])]
    judged_by = _judge(judge_model, rubric)
    given, words = _results(results), _words(instructions)

    async def command() -> ExperimentReport:
        settings = options.read(journal=journal, agent="" if names_one_object(agent) else agent)
        async with (
            options.journal(settings) as opened,
            _agent(settings, agent, opened, terminal, model, words) as made,
        ):
            experiment = Experiment(
                cases=chosen,
                agent=made,
                scorers=[*scorers, *(each.scoring(opened, principal=who()) for each in judged_by)],
                name=said(name),
                tries=tries,
                jobs=jobs,
                results=given,
                live=live or [],
                principal=who(),
                again=again,
            )
            if isinstance(made, Agent):
                await _tell_denied(terminal, experiment, made)
            run_id = await carry_out(experiment, opened)
            found = experiment_of(run_id, await opened.read(run_id))
            assert found is not None
            return await report_of(opened, found)

    report = asyncio.run(command())
    _show(terminal, report, as_json=as_json)
    return FAILED if report.fails_too_often else DONE


@app.command("list")
def list_experiments(as_json: JsonFlag = False, journal: JournalFlag = "") -> None:
    """List your experiments, the latest first."""
    terminal = Terminal()

    async def command() -> list[JsonObject]:
        found: list[JsonObject] = []
        async with options.journal(options.read(journal=journal)) as opened:
            for line in await experiment_lines(opened, who(), ""):
                each = experiment_of(line.run_id, await opened.read(line.run_id))
                if each is not None:
                    found.append(
                        {
                            "experiment": line.run_id,
                            "name": each.began.name,
                            "agent": each.began.agent,
                            "model": each.began.model,
                            "cases": each.began.cases,
                            "tries": each.began.tries,
                            "began": line.started,
                            "is_over": each.is_over,
                        }
                    )
        return found

    found = asyncio.run(command())
    if as_json:
        terminal.json({"items": [*found]})
    elif not found:
        terminal.note("There is no experiment yet. Try: actum eval run CASES --agent NAME --name before")
    else:
        rows = [
            (
                moments.shown(float(str(each["began"]))),
                str(each["name"]),
                str(each["experiment"]),
                f"{each['agent']} {each['model']}",
                f"{each['cases']} x {each['tries']}",
                tr("done") if each["is_over"] else tr("interrupted"),
            )
            for each in found
        ]
        terminal.table("when", "name", "experiment", "agent", "cases", "status", rows=rows)


@app.command("show")
def show(
    experiment: ExperimentArgument,
    failed: Annotated[bool, typer.Option("--failed", help="Only the cases that are not right.")] = False,
    as_json: JsonFlag = False,
    journal: JournalFlag = "",
) -> None:
    """Show what came of an experiment, and the runs of its cases."""
    terminal = Terminal()
    report = asyncio.run(_reports(journal, experiment))[0]
    _show(terminal, report, as_json=as_json)
    if not as_json:
        _show_cases(terminal, report, failed=failed)


@app.command("score")
def score_experiment(
    experiment: ExperimentArgument, score: ScoreFlag = None, as_json: JsonFlag = False, journal: JournalFlag = ""
) -> None:
    """Score the runs of an experiment again. No model is asked."""
    terminal = Terminal()
    scorers = [CORRECT_SCORING, *(_scoring(each) for each in score or [])]

    async def command() -> ExperimentReport:
        async with options.journal(options.read(journal=journal)) as opened:
            found = await find_experiment(opened, experiment, who(), "")
            await score_again(opened, found, scorers)
            return await report_of(opened, found)

    _show(terminal, asyncio.run(command()), as_json=as_json)


@app.command("compare")
def compare_experiments(
    a: Annotated[str, typer.Argument(metavar="BEFORE", help="An experiment.")],
    b: Annotated[str, typer.Argument(metavar="AFTER", help="Another one.")],
    metric: Annotated[str, typer.Option(metavar="NAME", help="The main score.")] = CORRECT,
    as_json: JsonFlag = False,
    journal: JournalFlag = "",
) -> None:
    """Compare two experiments case by case: difference, interval, tags, changed cases."""
    terminal = Terminal()

    async def command() -> ExperimentComparison:
        async with options.journal(options.read(journal=journal)) as opened:
            before, after = await _found(opened, a, b)
            return await with_moments(opened, compare(before, after, metric))

    found = asyncio.run(command())
    if as_json:
        terminal.json(compared_as_json(found))
        return
    rows = [
        (
            label,
            f"{each.a:.3f}",
            f"{each.b:.3f}",
            f"{100 * each.difference:+.1f}",
            f"{100 * each.low:+.1f} .. {100 * each.high:+.1f}",
            f"+{each.gained} -{each.lost}",
            f"{each.chance:.3f}",
        )
        for label, each in [*found.scores.items(), *((f"  {tag}", each) for tag, each in found.tags.items())]
    ]
    terminal.table("score", found.names[0], found.names[1], "points", "95 %", "cases", "by chance", rows=rows)
    for name, used in found.used.items():
        if used.a is not None and used.b is not None:
            interval = "" if used.ratio is None else f"  x {used.ratio:.2f} ({used.low:.2f} .. {used.high:.2f})"
            terminal.text(f"{name}: {used.a:.6g} -> {used.b:.6g}{interval}")
    unknown = [name for name, used in found.used.items() if used.ratio is None]
    if unknown:
        terminal.note(
            "No ratio of {names}: a total is 0 or unknown, or there are fewer than {least} cases.",
            names=names_told(unknown),
            least=RATIO_CASES_MIN,
        )
    terminal.note(
        "This set of {count:case|cases} shows a difference of {points:.1f} points.",
        count=found.cases,
        points=100 * found.could_see,
    )
    if found.alone:
        terminal.note("Cases that only one of the two has, left out: {names}", names=names_told(found.alone))
    if found.flaky:
        terminal.note("Flaky cases: {names}", names=names_told(found.flaky))
    if found.changed:
        changed = [
            (
                each.case,
                each.score,
                f"{each.a:g} -> {each.b:g}",
                *each.runs,
                "" if each.parts_at is None else f"{each.parts_at.what} {each.parts_at.step}",
            )
            for each in found.changed
        ]
        terminal.table("case", "score", "changed", "before", "after", "parts at", rows=changed)


@app.command("gate")
def gate(
    experiment: ExperimentArgument,
    against: Annotated[str, typer.Option(metavar="EXPERIMENT|FILE", help="The one before; or a file of export.")] = "",
    metric: Annotated[str, typer.Option(metavar="NAME", help="The score.")] = CORRECT,
    minimum: Annotated[float | None, typer.Option("--min", metavar="NUMBER", help="The least mean.")] = None,
    margin: Annotated[
        float | None, typer.Option(metavar="POINTS", help="Ask for proof that fewer points were lost.")
    ] = None,
    cost: Annotated[float | None, typer.Option(metavar="NUMBER", help="The highest ratio of the costs.")] = None,
    junit_to: Annotated[Path | None, typer.Option("--junit", metavar="FILE", help="Write JUnit there.")] = None,
    markdown_to: Annotated[
        Path | None, typer.Option("--markdown", metavar="FILE", help="Write Markdown there.")
    ] = None,
    unchecked_judge: Annotated[
        bool, typer.Option("--unchecked-judge", help="Let a judge's score pass that few people have checked.")
    ] = False,
    allow_unknown: Annotated[bool, typer.Option("--allow-unknown", help="Exit code 0 in the place of 3.")] = False,
    as_json: JsonFlag = False,
    journal: JournalFlag = "",
) -> int:
    """Say whether an experiment may pass. Exit code 0: pass; 1: fail; 3: unknown."""
    terminal = Terminal()
    if margin is not None and not 0 < margin < 100:
        raise UsageError("--margin {margin:g}: give points between 0 and 100", margin=margin)
    is_file = bool(against) and Path(against).is_file()
    reports = asyncio.run(_reports(journal, experiment, *([against] if against and not is_file else [])))
    before = reports[1] if len(reports) > 1 else None
    if is_file:
        before = read_exported(Path(against).read_bytes(), against)
    rules = GateRules(
        metric=metric,
        minimum=minimum,
        margin=None if margin is None else margin / 100,
        cost=cost,
        unchecked_judge=unchecked_judge,
    )
    agreed = reports[0].judges.get(metric)
    verdict = judge(reports[0], before, rules, judged_by_model=None if agreed is None else agreed.both)
    for place, text in ((junit_to, junit), (markdown_to, markdown)):
        if place is not None:
            place.write_text(text(reports[0], verdict, metric), "utf-8")
    if as_json:
        terminal.json({"verdict": verdict.verdict, "reasons": [str(each) for each in verdict.reasons]})
    else:
        terminal.text(tr(verdict.verdict))
        for each in verdict.reasons:
            terminal.note(each)
    allowed = DONE if allow_unknown else PAUSED
    return {"pass": DONE, "fail": FAILED, "unknown": allowed}[verdict.verdict]


@app.command("export")
def export(experiment: ExperimentArgument, journal: JournalFlag = "") -> None:
    """Print a small file of an experiment for `gate --against`: digests and scores, no words."""
    report = asyncio.run(_reports(journal, experiment))[0]
    typer.echo(exported(report), nl=False)


async def _reports(journal: str, *named: str) -> list[ExperimentReport]:
    async with options.journal(options.read(journal=journal)) as opened:
        return await _found(opened, *named)


async def _found(journal: Journal, *named: str) -> list[ExperimentReport]:
    return [await report_of(journal, await find_experiment(journal, each, who(), "")) for each in named]


def _words(path: Path | None) -> str:
    if path is None:
        return ""
    try:
        return read_named_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError("--instructions {file}: {why}", file=path, why=error) from None


@contextlib.asynccontextmanager
async def _agent(
    settings: Settings, agent: str, journal: Journal, terminal: Terminal, model: str, instructions: str
) -> AsyncIterator[Agent[object] | AgentOf]:
    """The agent that is tried: one of the settings, or of a file of the user's own.

    Raises:
        UsageError: it is none.
    """
    if not names_one_object(agent):
        async with loading.agent(settings, journal, None, terminal) as made:
            yield _changed(made, model, instructions)
        return
    found = load_object(agent)
    if isinstance(found, Agent):
        yield _changed(found, model, instructions)
    elif callable(found) and not (model or instructions):
        yield found
    elif callable(found):
        raise UsageError("--model and --instructions: {agent} is a function that makes the agents itself", agent=agent)
    else:
        raise UsageError("--agent {agent}: give an Agent, or a function of a case that returns one", agent=agent)


def _changed(agent: Agent[object], model: str, instructions: str) -> Agent[object]:
    """The agent with another model and other instructions, where they are given."""
    if instructions:
        agent = agent.with_published((), {}, instructions)
    return agent.with_runner(agent.runner, make_model(options.read(model=model))) if model else agent


def _chosen(cases: Sequence[Case], tag: str, limit: int) -> list[Case]:
    found = [case for case in cases if not tag or tag in case.tags]
    if not found:
        raise UsageError("no case has the tag {tag!r}", tag=tag) if tag else UsageError("the file has no case")
    return found[:limit] if limit > 0 else found


def _scoring(place: str) -> Scoring:
    return scoring_of(load_object(place))


def _judge(model: str, rubric: Path | None) -> list[Judge]:
    """The judge that a person names, where they name one."""
    if (model != "") != (rubric is not None):
        raise UsageError("--judge MODEL and --rubric FILE go together")
    if rubric is None:
        return []
    try:
        words = read_named_text(rubric)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError("--rubric {file}: {why}", file=rubric, why=error) from None
    return [Judge(model=make_model(options.read(model=model)), rubric=words, name=rubric.stem)]


def _results(path: Path | None) -> dict[str, Json]:
    if path is None:
        return {}
    try:
        return msgspec.json.decode(read_named(path), type=dict[str, Json])
    except (OSError, msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise UsageError("--results {file}: {why}", file=path, why=str(error) or "nested too deeply") from None


async def _tell_denied(terminal: Terminal, experiment: Experiment, agent: Agent[object]) -> None:
    """Say before the first try which tools are not executed."""
    everywhere = set.intersection(*(set(case.results) for case in experiment.cases))
    world = ClosedWorld(experiment.results, experiment.live)
    names = world.denied(await agent.list_tools(), everywhere)
    if names:
        terminal.note(
            "Not executed, since they may change something, but where a case has results: {names}",
            names=names_told(names),
        )


def _show(terminal: Terminal, report: ExperimentReport, *, as_json: bool) -> None:
    if as_json:
        terminal.json(shown(report))
        return
    if not report.is_over:
        terminal.note("The experiment is not finished: the same `actum eval run` goes on with it.")
    if report.fails_too_often:
        terminal.error("{count:try|tries} failed, more than a tenth: the scores say little", count=report.failed)
    if report.unrated:
        terminal.note(
            "Of {count:case|cases} nothing says what is right: {names}",
            count=len(report.unrated),
            names=names_told(report.unrated),
        )
    rows = [
        (
            name,
            "" if each.mean is None else f"{each.mean:.3f}",
            str(each.rated),
            "" if each.all_right is None or report.tries == 1 else f"{each.all_right:.3f}",
        )
        for name, each in report.scores.items()
    ]
    terminal.table("score", "mean", "cases", "right in all tries", rows=rows)
    terminal.note(
        "{cases:case|cases}, {tries:try|tries} each, {failed} failed, {denied:call|calls} not carried out",
        cases=report.cases,
        tries=report.tries,
        failed=report.failed,
        denied=report.denied,
    )
    if report.flaky:
        terminal.note("Flaky cases: {names}", names=names_told(report.flaky))
    for name, each in report.judges.items():
        if each.both < CHECKED_MIN:
            terminal.note(
                "{name} is not checked against people: {count:run has|runs have} both scores",
                name=name,
                count=each.both,
            )
        elif each.kappa is not None:
            terminal.note(
                "{name} and people agree in {count:run|runs} with kappa {kappa:.2f}",
                name=name,
                count=each.both,
                kappa=each.kappa,
            )
    for run_id in report.in_doubt:
        terminal.note("Nobody knows whether a call of {run} happened.", run=run_id)
    terminal.note(
        "{experiment}: actum eval show {name}", experiment=report.experiment, name=report.name or report.experiment
    )


def _told(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"


def _show_cases(terminal: Terminal, report: ExperimentReport, *, failed: bool) -> None:
    rows = [
        (
            case.case,
            " ".join(_told(each.scores.get(CORRECT)) for each in case.tries),
            shorten(case.question, 60),
            " ".join(each.run for each in case.tries),
        )
        for case in report.results
        if not failed or (case.score(CORRECT) is not None and case.score(CORRECT) != 1.0)
    ]
    if rows:
        terminal.table("case", CORRECT, "question", "runs", rows=rows)
