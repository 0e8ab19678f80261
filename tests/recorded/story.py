"""What the recorded runs of this folder do, and how one that stopped anywhere is brought to its end.

The definitions are frozen with the runs: a run goes on only with the tools and the graph that it began with. What a
later version of actum makes of them may differ, and that is what the test looks at.

    agent      an agent with tools, a question to the user, a check before a payment, an approval and another agent
    workflow   branches, a container, a loop, a question, an approval and a workflow of its own
    call       a direct call that waits for approval
    task       a direct call that a queue accepted
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path

from actum import Agent, Answer, Context, Require, Rule, Rules, ToolCall, tool
from actum.core.clock import SystemClock
from actum.core.event import RunResult
from actum.core.interfaces import Journal
from actum.core.json import JsonObject
from actum.core.message import Reply
from actum.core.model import Request
from actum.core.policy import Policy
from actum.core.run.record import Started
from actum.core.run.task import TaskOptions
from actum.runs.options import RunOptions
from actum.runs.runner import Runner
from actum.tasks.attempt import attempt, settle
from actum.tasks.queue import TaskQueue
from actum.testing import Said, ScriptedModel
from actum.toolsets.function.function import FunctionTool
from actum.workflow.load import read_definition
from actum.workflow.workflow import Workflow

NAME: JsonObject = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
STEPS = [["look", "plain"], ["keyed", "plain"], ["greet"], ["signed", "unpaid"], ["clerk", "keyed"]]
"""What the agent's model says, reply by reply."""
CLERK = [["keyed"], ["signed"]]
"""What the model of the other agent says."""
PART = """\
actum: workflow/1
name: part
nodes:
  first: {type: tool, tool: keyed, with: {step: 50, index: 0}}
  second: {type: tool, tool: plain, with: {step: 51, index: 0}, on_error: {default: {output: null}}}
edges: [first > second]
outputs: {done: "${first.output}"}
"""
WHOLE = """\
actum: workflow/1
name: whole
inputs: {type: object, properties: {items: {type: array}}}
limits: {steps: 500}
nodes:
  begin: {type: tool, tool: look, with: {step: 0, index: 0}}
  left: {type: tool, tool: plain, with: {step: 1, index: 0}, on_error: {default: {output: null}}}
  ask: {type: human, message: "Go on with ${inputs.items}?", choices: [go, stop]}
  items:
    type: each
    over: "${inputs.items}"
    parallel: 2
    nodes: {act: {type: tool, tool: keyed, with: {step: 2, index: "${item}"}}}
    edges: []
    output: "${act.output}"
  rounds:
    type: loop
    vars: {n: 0}
    until: "vars.n >= 2"
    max: 5
    nodes:
      add: {type: set, set: {n: {cel: "vars.n + 1"}}}
      act: {type: tool, tool: keyed, with: {step: 4, index: "${vars.n}"}}
    edges: [add > act]
    output: "${vars.n}"
  sign: {type: tool, tool: signed, with: {step: 5, index: 0}}
  part: {type: workflow, workflow: part}
  last: {type: tool, tool: keyed, with: {step: 6, index: 0}}
edges: [begin > left, begin > ask, left > items, ask.go > sign, items > rounds, rounds > part, part > last, sign > last]
outputs: {rounds: "${rounds.output}", items: "${items.output}"}
"""
PAYMENTS: Policy = Rules(
    Rule("deny", tools="unpaid", reason="Nothing is given away."),
    Rule(
        "allow",
        tools="signed",
        require=Require("look", "check == 'seen'", {"step": "args.step", "index": "args.index"}),
    ),
    Rule("allow", tools="*"),
)
RECORDED = {"agent": 55, "workflow": 64, "call": 8, "task": 8}
"""How often each story was begun; the last time to its end."""
MEANT: Mapping[str, Mapping[str, int]] = {
    "agent": {"plain": 2, "keyed": 3, "signed": 2},
    "workflow": {"plain": 2, "keyed": 7, "signed": 1},
    "call": {"signed": 1},
    "task": {"keyed": 1},
}
"""The effects of each story, by kind: `plain` at most as often, and each doubt asked about; the others exactly."""


class Ledger:
    """The world outside: a file with a line for each effect.

    Args:
        path: the file.
        run_id: the story whose effects these are.
    """

    def __init__(self, path: Path, run_id: str) -> None:
        self._path, self._run_id = path, run_id

    def write(self, kind: str, key: str) -> None:
        """Act. What has a key is done once."""
        with self._path.open("a+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            line = f"{self._run_id} {kind} {key}\n"
            if kind == "plain" or line not in file.read():
                os.write(file.fileno(), line.encode())

    def effects(self) -> list[str]:
        """The kinds of all effects of the story."""
        lines = [line.split() for line in self._path.read_text().splitlines()]
        return [kind for run_id, kind, _ in lines if run_id == self._run_id]


def tools(ledger: Ledger) -> list[FunctionTool]:
    """What a story may do to the world."""

    @tool(effects={"read"})
    async def look(step: int, index: int) -> str:
        """Look."""
        return "seen"

    @tool(effects={"write"})
    async def plain(step: int, index: int, ctx: Context) -> str:
        """Change something."""
        ledger.write("plain", ctx.key)
        return "done"

    @tool(effects={"write"}, idempotent=True)
    async def keyed(step: int, index: int, ctx: Context) -> str:
        """Change something, once a key."""
        ledger.write("keyed", ctx.key)
        return "done"

    @tool(effects={"spend"}, approval=True, idempotent=True)
    async def signed(step: int, index: int, ctx: Context) -> str:
        """Change something that a person approves."""
        ledger.write("signed", ctx.key)
        return "done"

    @tool(effects={"spend"})
    async def unpaid(step: int, index: int) -> str:
        """Give something away."""
        return "done"

    @tool(effects={"read"})
    async def greet(step: int, index: int, ctx: Context) -> str:
        """Greet by name."""
        return f"Hello {(await ctx.elicit('Your name?', NAME)).content['name']}"

    return [look, plain, keyed, signed, unpaid, greet]


def says(steps: list[list[str]], request: Request) -> Said:
    """The next reply, by what is in the conversation: another process says the same."""
    done = sum(isinstance(message, Reply) for message in request.messages)
    if done == len(steps):
        return "All done."
    return [
        ToolCall(f"{done}.{index}", kind, {"task": "Act"} if kind == "clerk" else {"step": done, "index": index})
        for index, kind in enumerate(steps[done])
    ]


def answers(result: RunResult) -> dict[str, Answer | str]:
    """What the person says to everything that waits."""
    words = {"approval": "approve", "doubt": "unknown"}
    form = Answer("answer", text='{"name": "Ada"}')
    return {
        one.id: words[one.kind] if one.kind in words else form if "name" in str(one.schema) else "go"
        for one in result.pending
    }


async def tell_agent(journal: Journal, run_id: str, ledger: Ledger) -> RunResult:
    """Begin the agent's run, or go on with it, to the end."""
    clerk = Agent(ScriptedModel(partial(says, CLERK)), tools(ledger), name="clerk", policy=PAYMENTS)
    agent = Agent(
        ScriptedModel(partial(says, STEPS)), [*tools(ledger), clerk], name="desk", journal=journal, policy=PAYMENTS
    )
    result = await (agent.resume(run_id) if await journal.read(run_id) else agent.run("Go", run_id=run_id))
    while result.status == "paused":
        result = await agent.resume(run_id, answers(result))
    return result


async def tell_workflow(journal: Journal, run_id: str, ledger: Ledger) -> RunResult:
    """Begin the workflow's run, or go on with it, to the end."""
    part = Workflow(read_definition(PART.encode()), tools(ledger), journal=journal)
    whole = Workflow(read_definition(WHOLE.encode()), [*tools(ledger), part.as_tool()], journal=journal)
    begun = await journal.read(run_id)
    result = await (whole.resume(run_id) if begun else whole.run({"items": [0, 1, 2]}, run_id=run_id))
    while result.status == "paused":
        result = await whole.resume(run_id, answers(result))
    return result


async def tell_call(journal: Journal, run_id: str, ledger: Ledger) -> RunResult:
    """Make the direct call, or go on with it, to the end. A call that is not on record is made anew by its client."""
    runner = Runner(tools(ledger), name="api", journal=journal)
    call = ToolCall("1", "signed", {"step": 0, "index": 0})
    begun = await journal.read(run_id)
    if len(begun) == 1:
        begun, run_id = [], f"{run_id}.anew"
    result = await (runner.resume(run_id) if begun else runner.call([call], RunOptions(run_id=run_id), by="client"))
    while result.status == "paused":
        result = await runner.resume(run_id, answers(result))
    return result


class OneRunner:
    """A `Builder` that builds one runner.

    Args:
        runner: the runner.
    """

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    async def build(self, started: Started) -> Runner:
        """The runner."""
        return self._runner


async def tell_task(journal: Journal, run_id: str, ledger: Ledger) -> RunResult:
    """Accept the task, or go on with it, to the end. The name of the story is the unique key of the task."""
    runner, clock = Runner(tools(ledger), name="api", journal=journal), SystemClock()
    queue = TaskQueue(journal, clock=clock)
    options = TaskOptions(unique_key=run_id, max_retries=5)
    line = await queue.accept_call(runner, ToolCall("1", "keyed", {"step": 0, "index": 0}), options)
    if line.state == "running":  # its process has ended
        await settle(journal, line.run_id, clock=clock, is_free=True)
    if not (await queue.look(line.run_id)).line.is_finished:
        await attempt(journal, OneRunner(runner), line.run_id, clock=clock, worker="w")
    return await runner.resume(line.run_id)


Tell = Callable[[Journal, str, Ledger], Awaitable[RunResult]]
STORIES: Mapping[str, Tell] = {"agent": tell_agent, "workflow": tell_workflow, "call": tell_call, "task": tell_task}
