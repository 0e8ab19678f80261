"""Calls of a model that become tasks, and `task_status`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from actum import Agent, Label, Rule, Rules, ToolError, tool
from actum.core.clock import SystemClock
from actum.core.json import JsonObject
from actum.core.policy import Answer
from actum.core.run.record import Intended, Started
from actum.core.run.task import TaskLine
from actum.runs.runner import Runner
from actum.storage.place import open_journal
from actum.tasks.attempt import attempt
from actum.tasks.background import in_background, with_argument
from actum.tasks.builder import Resumable
from actum.tasks.queue import TaskQueue
from actum.testing import ScriptedModel
from actum.toolsets.function.function import FunctionToolset
from tests.server.api.test_runs import calls


@tool(effects={"read"}, background="allowed")
def count(what: str) -> str:
    """Count."""
    return f"7 {what}"


@tool(effects={"read"}, background="allowed")
def odd(execute_async: str) -> str:
    """A tool with an argument of that name."""
    return execute_async


@pytest.mark.row("P5")
def test_the_argument_is_added_to_the_schema_unless_the_tool_has_one_of_that_name() -> None:
    shown = with_argument(count.definition)
    assert sorted(shown.property_schemas()) == ["execute_async", "what"]
    assert shown.required() == ("what",)
    assert with_argument(odd.definition) is odd.definition


@pytest.mark.row("P5")
async def test_a_model_is_answered_with_the_id_of_a_task_and_sees_those_of_its_conversation_only(
    tmp_path: Path,
) -> None:
    journal = open_journal(str(tmp_path / "journal.db"))
    inner = FunctionToolset([count, odd])
    runner = Runner([inner], name="api", journal=journal)
    queue = TaskQueue(journal, clock=SystemClock())

    class Bench:
        async def build(self, started: Started) -> Resumable:
            return runner

    def agent(*replies: object) -> Agent[str]:
        made = Agent(ScriptedModel(list(replies)), journal=journal)  # type: ignore[arg-type]
        return made.with_runner(in_background(runner, queue))

    begun = await agent(calls("count", what="eggs", execute_async=True), "Begun.").run("Count.", conversation="c1")
    (line,) = await queue.list()
    assert begun.calls[0][1].structured["task_id"] == line.run_id  # type: ignore[index, call-overload]
    await attempt(journal, Bench(), line.run_id, clock=SystemClock(), worker="w1")
    ask = calls("task_status", task_id=line.run_id)
    same = await agent(ask, "Done.").run("And?", conversation="c1")
    assert same.calls[0][1].structured["result"] == "7 eggs"  # type: ignore[index, call-overload]
    for conversation in ("c2", ""):
        other = await agent(ask, "No.").run("And?", conversation=conversation)
        assert other.calls[0][1].error is not None
    plain = await agent(calls("count", what="hens"), "Seven.").run("Count.")
    assert plain.calls[0][1].text == "7 hens"
    kept = await agent(calls("odd", execute_async="mine"), "Mine.").run("Odd.")
    assert kept.calls[0][1].text == "mine"
    await journal.close()


@pytest.mark.row("C9")
async def test_the_result_of_a_task_keeps_its_labels_for_the_model_that_asks_for_it(tmp_path: Path) -> None:
    @tool(effects={"read"}, labels={"salary": "personal"}, background=True)
    def get_employee(who: str) -> JsonObject:
        """Look an employee up."""
        return {"name": who, "salary": 73250}

    @tool(effects={"read"}, labels={"": "personal"}, background=True)
    def look_up(who: str) -> str:
        """Look an employee up."""
        if who == "Bob":
            raise ToolError("Bob earns 81990.")
        return "Ada earns 73250."

    journal, labels = open_journal(str(tmp_path / "journal.db")), {"personal": Label(models=["ollama/*"])}
    runner = Runner([FunctionToolset([get_employee, look_up])], name="api", journal=journal, labels=labels)
    queue = TaskQueue(journal, clock=SystemClock())

    class Bench:
        async def build(self, started: Started) -> Resumable:
            return runner

    for name, who in (("get_employee", "Ada"), ("look_up", "Ada"), ("look_up", "Bob")):
        asks = ScriptedModel([calls(name, who=who), "Begun."], name="openai:gpt-5")
        await Agent(asks, journal=journal).with_runner(in_background(runner, queue)).run("Look.", conversation="c")
        line = (await queue.list())[0]
        await attempt(journal, Bench(), line.run_id, clock=SystemClock(), worker="w1")
        for model, sees in (("openai:gpt-5", False), ("ollama:qwen3", True)):
            asks = ScriptedModel([calls("task_status", task_id=line.run_id), "Done."], name=model)
            agent = Agent(asks, journal=journal).with_runner(in_background(runner, queue))
            result = await agent.run("And?", conversation="c")
            told = str([request.messages for request in asks.requests])
            assert ("73250" in told or "81990" in told, "[personal:" in told) == (sees, not sees), (name, who, model)
            assert result.calls[0][1].labels


class ProcessEnded(BaseException):
    """The process ends here."""


class EndingQueue(TaskQueue):
    """A queue whose process ends before or after a task is accepted."""

    ends = ""

    async def accept_call(self, *given: Any, **named: Any) -> TaskLine:  # noqa: ANN401 - as inside
        if self.ends == "before":
            raise ProcessEnded
        line = await super().accept_call(*given, **named)
        if self.ends:
            raise ProcessEnded
        return line


class Payments:
    """A tool `pay` in the background, an agent that may call it, and a worker that has it done."""

    def __init__(self, folder: Path, *rules: Rule, replies: list[object], worker_rules: tuple[Rule, ...] = ()) -> None:
        self.done: list[dict[str, str]] = []

        @tool(effects={"write"}, sinks=("to",), background="allowed")
        def pay(to: dict[str, str]) -> str:
            """Pay."""
            self.done.append(to)
            return "paid"

        self.journal = open_journal(str(folder / "journal.db"))
        self.queue = EndingQueue(self.journal, clock=SystemClock())
        tools = FunctionToolset([pay])
        runner = Runner([tools], name="desk", journal=self.journal, policy=Rules(*rules))
        self.worker = Runner([tools], name="desk", journal=self.journal, policy=Rules(*(worker_rules or rules)))
        made = Agent(ScriptedModel(replies), name="desk", journal=self.journal)  # type: ignore[arg-type]
        self.agent = made.with_runner(in_background(runner, self.queue))

    async def build(self, started: Started) -> Resumable:
        return self.worker

    async def work(self) -> str:
        (line,) = await self.queue.list()
        await attempt(self.journal, self, line.run_id, clock=SystemClock(), worker="w1")
        return (await self.queue.look(line.run_id)).line.state


TRUSTED = Rule("deny", tools="pay", when="!trusted(to)")
LOOKED_UP = "mallory@example.org"


@pytest.mark.row("P5")
@pytest.mark.parametrize(
    ("question", "to", "is_paid"),
    [
        ("Pay ada@example.org by bank.", {"bank": "ada@example.org"}, True),
        ("Pay by bank.", {"bank": LOOKED_UP}, False),
        ("Pay ada@example.org.", {LOOKED_UP: "ada@example.org"}, False),
        (f"Pay ada@example.org by {LOOKED_UP}.", {LOOKED_UP: "ada@example.org"}, True),
    ],
)
async def test_a_task_is_judged_by_where_its_arguments_came_from_in_the_run_that_asked(
    tmp_path: Path, question: str, to: dict[str, str], is_paid: bool
) -> None:
    """The run that asks has no rule here, so that the worker alone decides: by what was handed over."""
    allow = Rule("allow", tools="*")
    desk = Payments(
        tmp_path, allow, replies=[calls("pay", to=to, execute_async=True), "Begun."], worker_rules=(TRUSTED, allow)
    )
    await desk.agent.run(question)
    assert await desk.work() == ("succeeded" if is_paid else "failed")
    assert desk.done == ([to] if is_paid else [])
    await desk.journal.close()


@pytest.mark.row("P5")
async def test_a_trusted_call_is_accepted_and_another_is_no_task(tmp_path: Path) -> None:
    for number, (question, known) in enumerate([("Pay ada@example.org.", True), ("Pay somebody.", False)]):
        folder = tmp_path / str(number)
        folder.mkdir()
        call = calls("pay", to={"bank": "ada@example.org"}, execute_async=True)
        desk = Payments(folder, TRUSTED, Rule("allow", tools="*"), replies=[call, "Done."])
        await desk.agent.run(question + " Use the bank.")
        assert len(await desk.queue.list()) == known, question
        await desk.journal.close()


ASK = Rule("ask", tools="pay")


@pytest.mark.row("P5")
async def test_a_call_that_a_person_approved_is_not_asked_again_in_the_worker(tmp_path: Path) -> None:
    for for_run in (False, True):
        folder = tmp_path / str(for_run)
        folder.mkdir()
        call = calls("pay", to={"bank": "ada"}, execute_async=True)
        desk = Payments(folder, ASK, replies=[call, *([call] if for_run else []), "Begun."])
        paused = await desk.agent.run("Pay.")
        await desk.agent.resume(paused.run_id, {paused.pending[0].id: Answer("approve", for_run=for_run)})
        for line in await desk.queue.list():
            await attempt(desk.journal, desk, line.run_id, clock=SystemClock(), worker="w1")
            (ruled,) = [e.record.rule for e in await desk.journal.read(line.run_id) if isinstance(e.record, Intended)]
            assert paused.pending[0].id in ruled
        assert len(desk.done) == 1 + for_run
        await desk.journal.close()


@pytest.mark.row("P5")
async def test_an_approval_of_another_rule_or_of_fewer_persons_does_not_count_in_the_worker(tmp_path: Path) -> None:
    stricter = [
        Rule("ask", tools="p*"),
        Rule("ask", tools="pay", approvers=("bob",)),
    ]
    for number, rule in enumerate(stricter):
        folder = tmp_path / str(number)
        folder.mkdir()
        call = calls("pay", to={"bank": "ada"}, execute_async=True)
        desk = Payments(folder, ASK, replies=[call, "Begun."], worker_rules=(rule,))
        paused = await desk.agent.run("Pay.")
        await desk.agent.resume(paused.run_id, {paused.pending[0].id: "approve"})
        assert await desk.work() == "waiting", rule
        assert desk.done == []
        await desk.journal.close()


@pytest.mark.row("P5")
async def test_a_call_that_was_interrupted_begins_one_task_and_nobody_is_asked_about_it(tmp_path: Path) -> None:
    call = calls("pay", to={"bank": "ada"}, execute_async=True)
    for accepted in (True, False):
        folder = tmp_path / str(accepted)
        folder.mkdir()
        desk = Payments(folder, Rule("allow", tools="*"), replies=[call, "Begun."])
        desk.queue.ends = "after" if accepted else "before"
        with pytest.raises(ProcessEnded):
            await desk.agent.run("Pay.", run_id="r1")
        desk.queue.ends = ""
        result = await desk.agent.resume("r1")
        assert result.status == "done", accepted
        assert len(await desk.queue.list()) == 1
        assert await desk.work() == "succeeded"
        assert len(desk.done) == 1
        await desk.journal.close()
