"""An experiment executes nothing that may change something, loses nothing when it is killed, and tells the same however
many tries run at once.
"""

from __future__ import annotations

import random
import signal
import sys
from pathlib import Path

import pytest
from msgspec import structs

from actum import Agent, ToolCall, tool
from actum.call.asking.inbox import inbox
from actum.core.errors import Busy, ModelUnavailable, UnknownName, UsageError
from actum.core.interfaces import Journal
from actum.core.json import Json
from actum.core.message import Reply, ToolMessage, UserMessage
from actum.core.model import Request
from actum.core.run.chain import verify
from actum.evals.case import Case, CaseCall, CaseText, Expected
from actum.evals.experiment import Experiment, carry_out, score_again
from actum.evals.records import experiment_lines, experiment_of, find_experiment, try_id
from actum.evals.report import ExperimentReport, report_of, shown
from actum.evals.scorer import CORRECT_SCORING, scoring_of
from actum.journal.export import check_journal
from actum.scores.rating import rate
from actum.scores.score import ScoreGiven
from actum.testing import ScriptedModel
from tests import warm
from tests.endurance import share
from tests.patience import HANGS_S
from tests.storage.conftest import Store

from .killable import cases, experiment

pytestmark = pytest.mark.row("F4")
KILLS = share(20, 4)
KILLED_BEHIND = range(3, 26)
"""Behind how many of its records a process is killed."""


class Desk:
    """An agent with a tool that reads, one that sends, and one that says nothing of itself; and what was executed."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.asked = 0

    def agent(self, journal: Journal | None = None) -> Agent:
        @tool(effects={"read"})
        def stock(item: str) -> int:
            """Say the stock."""
            self.done.append(f"stock {item}")
            return 12

        @tool(effects={"write"}, approval=True)
        def send(to: str) -> str:
            """Send a mail."""
            self.done.append(f"send {to}")
            return "sent"

        @tool
        def undeclared(what: str) -> str:
            """Do something."""
            self.done.append(f"undeclared {what}")
            return "did"

        def says(request: Request) -> str | Reply:
            self.asked += 1
            last = request.messages[-1]
            if isinstance(last, ToolMessage):
                return f"It is {last.result.text}."
            assert isinstance(last, UserMessage)
            name, _, rest = last.text.partition(" ")
            field = {"stock": "item", "send": "to", "undeclared": "what"}.get(name)
            return Reply.of(calls=[ToolCall("1", name, {field: rest})]) if field else last.text

        return Agent(ScriptedModel(says, name="m"), [stock, send, undeclared], name="desk", journal=journal)


def calls(name: str, **arguments: Json) -> Expected:
    return Expected(calls=(CaseCall(name=name, arguments=arguments),))


async def tried(journal: Journal, made: Experiment) -> ExperimentReport:
    run_id = await carry_out(made, journal)
    found = experiment_of(run_id, await journal.read(run_id))
    assert found is not None
    return await report_of(journal, found)


def scores(report: ExperimentReport, name: str = "correct") -> dict[str, float | None]:
    return {case.case: case.score(name) for case in report.results}


async def test_no_tool_that_may_change_something_is_executed_and_results_answer_without_approval(store: Store) -> None:
    journal, desk = store.open(), Desk()
    said = Expected(text=CaseText(contains="mailed"))
    cases = [
        Case(id="reads", input="stock bolt", expected=Expected(text=CaseText(number=12))),
        Case(id="asks", input="send ann", expected=calls("send", to="ann")),
        Case(id="told", input="send ann", expected=said),
        Case(id="given", input="send ann", expected=said, results={"send": "mailed"}),
        Case(id="by arguments", input="send bob", expected=said, results={
            "send": [{"arguments": {"to": "ann"}, "result": "no"}, {"arguments": {"to": "bob"}, "result": "mailed"}]
        }),
        Case(id="for all", input="undeclared x", expected=Expected(text=CaseText(contains="all"))),
    ]  # fmt: skip
    report = await tried(journal, Experiment(cases=cases, agent=desk.agent(), results={"undeclared": "for all"}))
    assert desk.done == ["stock bolt"]
    assert scores(report) == {"reads": 1, "asks": 1, "told": None, "given": 1, "by arguments": 1, "for all": 1}
    assert report.denied == 2
    assert await inbox(journal) == []
    assert (await check_journal(journal)).problems == []


async def test_tools_of_agents_below_are_not_executed_either_and_live_tools_are() -> None:
    desk = Desk()
    inner = desk.agent()
    outer = Agent(
        ScriptedModel(
            lambda request: (
                "Done."
                if isinstance(request.messages[-1], ToolMessage)
                else Reply.of(calls=[ToolCall("1", "desk", {"task": "undeclared x"})])
            )
        ),
        [inner],
        name="boss",
    )
    case = Case(id="a", input="Go.", expected=calls("desk", task={"$anything": True}))
    for live, done in (([], []), (["desk"], []), (["*"], ["undeclared x"])):
        journal = Agent(ScriptedModel([])).journal
        report = await tried(journal, Experiment(cases=[case], agent=outer, live=live))
        assert (desk.done, scores(report)) == (done, {"a": 1}), live


async def test_what_the_agents_own_policy_denies_is_denied_and_what_asks_waits_in_no_inbox() -> None:
    desk = Desk()

    @tool(effects={"read"}, approval=True)
    def peek(item: str) -> str:
        """Look."""
        raise AssertionError("nobody approved")

    agent = Agent(ScriptedModel([[ToolCall("1", "peek", {"item": "x"})]]), [peek], name="desk", journal=None)
    report = await tried(
        agent.journal, Experiment(cases=[Case(id="a", input="x", expected=Expected(status="paused"))], agent=agent)
    )
    assert scores(report) == {"a": 1}
    assert await inbox(agent.journal) == []
    assert desk.done == []


async def test_the_same_name_shows_the_report_and_another_set_takes_the_name(store: Store) -> None:
    journal, desk = store.open(), Desk()
    case = Case(id="a", input="stock bolt", expected=calls("stock", item="bolt"))
    first = Experiment(cases=[case], agent=desk.agent(), name="n", principal="ann")
    one = await carry_out(first, journal)
    asked = desk.asked
    assert await carry_out(first, journal) == one
    assert await carry_out(structs.replace(first, jobs=1), journal) == one
    assert desk.asked == asked
    other = await carry_out(structs.replace(first, cases=[case, Case(id="b", input="Hi")]), journal)
    assert other != one
    assert (await find_experiment(journal, "n", "ann", "")).run_id == other
    assert (await find_experiment(journal, one, "ann", "")).run_id == one
    assert await carry_out(structs.replace(first, again=True), journal) not in (one, other)
    for principal, tenant in (("bob", ""), ("ann", "north")):
        for named in ("n", one, one[:10]):
            with pytest.raises(UnknownName):
                await find_experiment(journal, named, principal, tenant)
        assert await experiment_lines(journal, principal, tenant) == []


async def test_an_unfinished_experiment_with_something_else_is_refused_and_a_driven_one_is_busy(store: Store) -> None:
    journal, desk = store.open(), Desk()
    case = Case(id="a", input="stock bolt", expected=calls("stock", item="bolt"))

    def fails(case: Case, run: object) -> bool:
        raise RuntimeError("boom")

    made = Experiment(cases=[case], agent=desk.agent(), name="n")
    broken = structs.replace(made, scorers=[CORRECT_SCORING, scoring_of(fails)])
    with pytest.raises(UsageError, match="the scorer fails failed at the case 'a'"):
        await carry_out(broken, journal)
    with pytest.raises(UsageError, match=r"not finished.*scorers"):
        await carry_out(made, journal)
    run_id = (await experiment_lines(journal, "", ""))[0].run_id
    async with journal.claim(run_id):
        with pytest.raises(Busy, match="is being driven"):
            await carry_out(broken, journal)
    assert (await tried(journal, structs.replace(made, again=True))).is_over


async def test_a_try_that_fails_counts_as_nothing_and_too_many_are_told(store: Store) -> None:
    journal = store.open()

    def says(request: Request) -> str | Exception:
        return ModelUnavailable("away") if "away" in str(request.messages[-1]) else "Yes."

    agent = Agent(ScriptedModel(says, name="m"), name="desk")
    cases = [Case(id=word, input=word, expected=Expected(no_calls=True)) for word in ("here", "away")]
    report = await tried(journal, Experiment(cases=cases, agent=agent, tries=2, name="n"))
    assert (scores(report), report.failed, report.fails_too_often) == ({"here": 1, "away": 0}, 2, True)
    assert report.scores["correct"].all_right == 0.5


async def test_the_report_is_the_same_however_many_run_at_once_and_flaky_cases_are_named(store: Store) -> None:
    journal = store.open()
    told: dict[str, int] = {}

    def says(request: Request) -> str:
        text = request.messages[-1].text  # type: ignore[union-attr]
        told[text] = told.get(text, 0) + 1
        return "Yes." if text != "flaky" or told[text] % 2 else "No."

    agent = Agent(ScriptedModel(says, name="m"), name="desk")
    cases = [
        Case(id=str(number), input=f"q{number}", expected=Expected(text=CaseText(equals="Yes."))) for number in range(9)
    ]
    cases.append(Case(id="flaky", input="flaky", expected=Expected(text=CaseText(equals="Yes."))))
    reports = []
    for jobs in (1, 7):
        told.clear()
        made = Experiment(cases=cases, agent=agent, tries=2, jobs=jobs, name="n", again=True)
        report = await tried(journal, made)
        assert (report.flaky, report.scores["correct"].mean, report.scores["correct"].all_right) == (
            ("flaky",),
            0.95,
            0.9,
        )
        reports.append([(case.case, sorted(str(each.scores) for each in case.tries)) for case in report.results])
    assert reports[0] == reports[1]


async def test_an_experiment_is_scored_again_without_a_model_and_a_persons_word_stands_beside() -> None:
    desk = Desk()
    agent = desk.agent()
    case = Case(id="a", input="stock bolt", expected=calls("stock", item="bolt"))
    report = await tried(agent.journal, Experiment(cases=[case], agent=agent, name="n"))
    (run_id,) = [each.run for each in report.results[0].tries]
    await rate(agent.journal, run_id, ScoreGiven(name="short", value=0.0, by="ann"))
    found, asked = await find_experiment(agent.journal, "n", "", ""), desk.asked
    for _ in range(2):
        await score_again(agent.journal, found, [scoring_of(lambda case, run: len(run.text) < 99, "short")])
    again = await report_of(agent.journal, found)
    assert (desk.asked, scores(again), scores(again, "short")) == (asked, {"a": 1}, {"a": 1})
    entries = await agent.journal.read(run_id)
    assert not verify(entries)
    assert sum(b'"scores"' in entry.payload for entry in entries) == 3


async def test_an_agent_may_be_a_function_of_the_case() -> None:
    seen = []

    def made(case: Case) -> Agent[object]:
        seen.append(case.id)
        return Agent(ScriptedModel([f"I am {case.id}."]), name="own")

    cases = [Case(id=id_, input="Who?", expected=Expected(text=CaseText(contains=id_))) for id_ in "ab"]
    report = await tried(Agent(ScriptedModel([])).journal, Experiment(cases=cases, agent=made, jobs=1))
    assert (seen, scores(report)) == (["a", "b"], {"a": 1, "b": 1})


def test_what_can_not_be_an_experiment_is_refused() -> None:
    agent = Desk().agent()
    case = Case(id="a", input="x")
    wrongs: list[dict[str, object]] = [
        {"cases": []},
        {"tries": 0},
        {"jobs": 0},
        {"tries": 100_001},
        {"scorers": []},
        {"scorers": [CORRECT_SCORING, CORRECT_SCORING]},
    ]
    for wrong in wrongs:
        with pytest.raises(UsageError):
            Experiment(**({"cases": [case], "agent": agent} | wrong))  # type: ignore[arg-type]


def told(report: ExperimentReport) -> object:
    """What a report says, whatever its runs are called."""
    results = [(case.case, [(each.status, each.scores) for each in case.tries]) for case in report.results]
    return {**shown(report), "experiment": "", "results": []}, results


@pytest.mark.row("C7")
@pytest.mark.endurance("src/actum/evals", "src/actum/runs", "tests/evals/killable.py")
async def test_a_killed_experiment_goes_on_and_tells_what_an_undisturbed_one_does(
    shared: Store, tmp_path: Path
) -> None:
    drawn = random.Random(46)
    count = 3 * KILLS  # so that there is always something left to be killed

    def carried_out(ledger: Path, records: int) -> int:
        words = [sys.executable, "-m", "tests.evals.killable", shared.place, str(ledger), str(count), str(records)]
        return warm.run(words, check=False, timeout=HANGS_S, cwd=Path(__file__).parents[2]).returncode

    killed = tmp_path / "killed"
    for _ in range(KILLS):
        assert carried_out(killed, drawn.choice(KILLED_BEHIND)) == -signal.SIGKILL
    assert carried_out(killed, 0) == 0
    journal = shared.open()
    found = await find_experiment(journal, "before", "", "")
    report = await report_of(journal, found)
    undisturbed = await tried(journal, structs.replace(experiment(tmp_path / "other", count), again=True))
    assert told(report) == told(undisturbed)
    assert sorted(killed.read_text().splitlines()) == sorted(case.input for case in cases(count))
    assert (await check_journal(journal)).problems == []
    ids = {try_id(found.run_id, case.id, 0) for case in cases(count)}
    assert {each.run for case in report.results for each in case.tries} == ids
