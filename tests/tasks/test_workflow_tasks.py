"""Workflows as tasks, on local children with SQLite and on Celery with PostgreSQL. All processes are real ones."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from actum import Answer, tool
from actum.call.asking.inbox import answer_in_run
from actum.compose.journals import open_journal
from actum.compose.workflows import Workflows
from actum.core.interfaces import Journal
from actum.core.run.node_records import NodeLeft
from actum.core.run.record import Intended
from actum.core.run.task import TaskLine, TaskOptions
from actum.runs.options import ConversationOptions
from actum.storage.place import open_journal as open_at
from actum.workflow import Workflow
from actum.workflow.load import read_definition
from tests.broker import BrokerServer
from tests.tasks.office import SOON, Office, is_gone, until
from tests.tasks.service import environment_of

pytestmark = pytest.mark.row("F1")

WORK = '''
import os, time
from pathlib import Path
from actum import Agent, tool
from actum.core.call import ToolCall
from actum.core.message import ToolMessage
from actum.testing import ScriptedModel
from actum.workflow import Workflow

HERE = Path(__file__).parent
LEDGER = HERE / "ledger"

def note(*words):
    with LEDGER.open("a") as file:
        file.write(" ".join(map(str, words)) + "\\n")

def held(word):
    note("begun_" + word, os.getpid())
    while not (HERE / "go").exists():
        time.sleep(0.02)
    note("ended_" + word)
    return word

@tool(effects={"read"})
def look(name: str) -> str:
    """Look."""
    note("look", name)
    return "seen " + name

@tool(effects={"read"})
def hold() -> str:
    """Read, for as long as there is no file `go`."""
    return held("hold")

@tool(effects={"write"}, idempotent=False)
def pay() -> str:
    """Pay, for as long as there is no file `go`."""
    return held("pay")

@tool(effects={"read"})
def shaky() -> str:
    """End the process the first time."""
    note("shaky")
    if LEDGER.read_text().count("shaky") == 1:
        os._exit(9)
    return "firm"

def say(request):
    told = [each for each in request.messages if isinstance(each, ToolMessage)]
    return "The clerk has " + told[0].result.text if told else ToolCall("1", "look", {"name": "clerk"})

clerk = Agent(ScriptedModel(say), [look], name="clerk")
part = Workflow.load(HERE / "part.workflow.yaml", tools=[look])
offered = [look, hold, pay, shaky, clerk, part]
'''
PART = """\
actum: workflow/1
name: part
nodes:
  look: {type: tool, tool: look, with: {name: part}}
  nap:  {type: wait, for: 0.3s}
  last: {type: tool, tool: look, with: {name: last}}
edges: [look > nap, nap > last]
outputs: {seen: "${last.output}"}
"""
PAYS = """\
actum: workflow/1
name: anything
nodes:
  first: {type: tool, tool: look, with: {name: first}}
  pay:   {type: tool, tool: pay}
  hold:  {type: tool, tool: hold}
  both:  {type: set, set: {}}
edges: [first > pay, first > hold, pay > both, hold > both]
outputs: {paid: "${pay.output}", held: "${hold.output}"}
"""
TRIP = """\
actum: workflow/1
name: anything
nodes:
  first: {type: tool, tool: look, with: {name: first}}
  shaky: {type: tool, tool: shaky}
  part:  {type: workflow, workflow: part}
  clerk: {type: agent, agent: clerk, task: "Look."}
  nap:   {type: wait, for: 0.3s}
  sure:  {type: human, message: "Sure?", choices: [yes, no]}
  yes:   {type: tool, tool: look, with: {name: yes}}
edges: [first > shaky, shaky > part, shaky > clerk, part > nap, clerk > nap, nap > sure, sure.yes > yes]
outputs: {part: "${part.output.seen}", clerk: "${clerk.output}", yes: "${yes.output?}"}
"""
NAP = """\
actum: workflow/1
name: anything
nodes:
  before: {type: tool, tool: look, with: {name: before}}
  nap:    {type: wait, for: 0.3s}
  after:  {type: tool, tool: look, with: {name: after}}
edges: [before > nap, nap > after]
outputs: {seen: "${after.output}"}
"""
SETTINGS = """\
[workflows.nap]
file = "nap.workflow.yaml"
[workflows.pays]
file = "pays.workflow.yaml"
[workflows.trip]
file = "trip.workflow.yaml"
"""
AGAIN = TaskOptions(max_retries=3, backoff=SOON)


class Desk(Office):
    """An office with workflows."""

    def __init__(self, kind: str, place: str, folder: Path) -> None:
        for name, text in (("part", PART), ("pays", PAYS), ("trip", TRIP), ("nap", NAP)):
            (folder / f"{name}.workflow.yaml").write_text(text, "utf-8")
        (folder / "tools.py").write_text(WORK, "utf-8")
        (folder / "actum.toml").write_text(SETTINGS, "utf-8")
        super().__init__(kind, place, folder)
        self.workflows = Workflows(self.settings, environment_of(folder), folder, journal=self.journal)

    async def begin(self, name: str, options: TaskOptions = AGAIN) -> TaskLine:
        """Accept a run of a workflow."""
        return await self.queue.accept_workflow(self.workflows.get(name), {}, options, ConversationOptions())

    async def left(self, line: TaskLine) -> list[str]:
        """The nodes that the run has left."""
        entries = await self.journal.read(line.run_id)
        return sorted(entry.record.path for entry in entries if isinstance(entry.record, NodeLeft))

    def looked(self) -> list[str]:
        """What was looked at, in order."""
        return [words[0] for words in self.ledger("look")]


@pytest.fixture(params=["local", "celery"])
async def desk(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Desk]:
    place = str(tmp_path / "journal.db")
    if request.param == "celery":
        broker: BrokerServer = request.getfixturevalue("broker")
        (tmp_path / "broker").write_text(broker.url, "utf-8")
        place = request.getfixturevalue("postgres").new_journal()
    made = Desk(request.param, place, tmp_path)
    try:
        yield made
    finally:
        await made.workflows.close()
        await made.journal.close()


async def test_a_worker_is_killed_while_a_node_pays_and_what_may_have_happened_is_asked_about(desk: Desk) -> None:
    async with desk.dispatching():
        line = await desk.begin("pays")
        (pid,) = await desk.wrote("begun_pay")
        await desk.wrote("begun_hold")
        os.kill(int(pid), signal.SIGKILL)
        await until(lambda: len(desk.ledger("begun_hold")) == 2)  # a call that reads is made again
        (desk.folder / "go").touch()
        view = await desk.ended(line)
        assert [(asked.kind, asked.call and asked.call.name) for asked in view.waiting] == [("doubt", "pay")]
        assert await desk.left(line) == ["first", "hold"]
        other = open_at(desk.place)  # as a person has it at another terminal
        await answer_in_run(other, line.run_id, view.waiting[0].id, Answer("retry", by="ann"))
        await other.close()
        view = await desk.ended(line)
        assert (view.line.state, view.outputs) == ("succeeded", {"paid": "pay", "held": "hold"})
    assert (desk.looked(), len(desk.ledger("begun_pay")), len(desk.ledger("ended_hold"))) == (["first"], 2, 1)
    assert view.attempts[0].error == "worker_lost"


async def test_a_workflow_with_a_part_an_agent_a_wait_a_retry_and_a_person_goes_through_each_once(desk: Desk) -> None:
    async with desk.dispatching():
        line = await desk.begin("trip")
        view = await desk.ended(line)
        assert [asked.message for asked in view.waiting] == ["Sure?"]
        assert [each.error for each in view.attempts].count("worker_lost") == 1
        other: Journal = open_journal(desk.settings, environment_of(desk.folder))
        yes = Answer("answer", arguments={"choice": "yes"}, by="ann")
        await answer_in_run(other, line.run_id, view.waiting[0].id, yes)
        await other.close()
        view = await desk.ended(line)
        outputs = {"part": "seen last", "clerk": "The clerk has seen clerk", "yes": "seen yes"}
        assert (view.line.state, view.outputs) == ("succeeded", outputs)
    looked = Counter(desk.looked())
    assert looked.pop("first") in (1, 2)  # a call that reads may be made again: its process was killed just behind it
    assert looked == Counter(["clerk", "last", "part", "yes"])


async def test_a_cancel_while_branches_run_ends_their_processes_and_nothing_follows(desk: Desk) -> None:
    async with desk.dispatching():
        line = await desk.begin("pays")
        pids = [*(await desk.wrote("begun_pay")), *(await desk.wrote("begun_hold"))]
        assert (await desk.queue.cancel(line.run_id)).state == "cancelled"
        await until(lambda: all(is_gone(pid) for pid in pids))
        (desk.folder / "go").touch()
        view = await desk.queue.look(line.run_id)
        assert (view.line.state, view.waiting) == ("cancelled", ())
    entries = await desk.journal.read(line.run_id)
    assert sum(isinstance(entry.record, Intended) for entry in entries) == 3
    assert not desk.ledger("ended_pay") + desk.ledger("ended_hold")
    assert await desk.left(line) == ["first"]


async def test_a_run_that_is_no_task_goes_on_as_its_wait_ends_in_two_dispatchers_once(desk: Desk) -> None:
    workflow = desk.workflows.get("nap")
    runs = [(await workflow.run(wait_s=0)).run_id for _ in range(5)]
    stranger = Workflow(read_definition(NAP), [tool(look)], name="stranger", journal=desk.journal)
    left = (await stranger.run(wait_s=0)).run_id
    async with desk.dispatching(), desk.dispatching():
        for run_id in runs:
            while True:
                listed = {line.run_id: line for line in await desk.queue.list()}
                if run_id in listed:
                    break
                await asyncio.sleep(0.02)
            view = await desk.ended(listed[run_id])
            assert (view.line.state, view.outputs) == ("succeeded", {"seen": "seen after"})
    assert Counter(desk.looked()) == Counter({"before": 5, "after": 5})
    assert left not in {line.run_id for line in await desk.queue.list()}


def look(name: str) -> str:
    """Look, as another program does."""
    return "seen elsewhere " + name
