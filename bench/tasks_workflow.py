"""Workflows as tasks, whose servers are killed at random moments; a leg of the kill loop of `tasks.py`.

Each workflow reads, acts in branches side by side, in a container and in a workflow of its own, and waits. Of the one
plain write nobody can tell whether it happened where its process was killed: a person is asked, and says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from actum.call.asking.inbox import answer_in_run
from actum.compose.settings import Settings
from actum.compose.workflows import Workflows
from actum.core.errors import Busy, UnknownName
from actum.core.interfaces import Journal
from actum.core.policy import Answer
from actum.core.run.record import InputRequested
from actum.core.run.task import TaskOptions
from actum.runs.options import ConversationOptions
from actum.tasks.queue import TaskQueue

TOOLS = """
from actum.workflow import Workflow

part = Workflow.load(Path(__file__).parent / "part.workflow.yaml", tools=[look, keyed])
offered = [add, look, keyed, plain, part]
"""
PART = """\
actum: workflow/1
name: part
inputs: {type: object, properties: {n: {type: integer}}}
nodes:
  act: {type: tool, tool: keyed, with: {n: "${inputs.n}"}}
  nap: {type: wait, for: 0.3s}
  end: {type: tool, tool: keyed, with: {n: {cel: "inputs.n + 1"}}}
edges: [act > nap, nap > end]
outputs: {done: "${end.output}"}
"""
WHOLE = """\
actum: workflow/1
name: whole
inputs: {type: object, properties: {n: {type: integer}}}
nodes:
  begin: {type: tool, tool: look, with: {n: {cel: "inputs.n"}}}
  left:  {type: tool, tool: plain, with: {n: {cel: "inputs.n + 1"}}, on_error: {default: {output: null}}}
  right: {type: tool, tool: keyed, with: {n: {cel: "inputs.n + 2"}}}
  nap:   {type: wait, for: 0.5s}
  items:
    type: each
    over: [10, 11, 12]
    parallel: 2
    nodes: {act: {type: tool, tool: keyed, with: {n: {cel: "inputs.n + item"}}}}
    edges: []
    output: "${act.output}"
  part:  {type: workflow, workflow: part, with: {n: {cel: "inputs.n + 20"}}}
  last:  {type: tool, tool: keyed, with: {n: {cel: "inputs.n + 30"}}}
edges: [begin > left, begin > right, begin > nap, left > items, right > part, nap > items, items > last, part > last]
outputs: {items: "${items.output}", part: "${part.output.done}", last: "${last.output}"}
"""
SETTINGS = '[workflows.whole]\nfile = "whole.workflow.yaml"\n'
ONCE = (2, 10, 11, 12, 20, 21, 30)
"""The calls with a key, by their numbers within the workflow."""
OUTPUTS = {"items": ["done"] * 3, "part": "done", "last": "done"}


def write_workflows(folder: Path) -> None:
    """Write the definitions, and the settings that name them."""
    (folder / "part.workflow.yaml").write_text(PART, "utf-8")
    (folder / "whole.workflow.yaml").write_text(WHOLE, "utf-8")
    (folder / "actum.toml").write_text(SETTINGS, "utf-8")


class KilledWorkflows:
    """Workflows as tasks, in a place that is killed.

    Args:
        settings: of the place.
        environment: of the place.
        folder: of the place.
        journal: of the place.
        queue: of the place.
    """

    def __init__(
        self, settings: Settings, environment: Mapping[str, str], folder: Path, journal: Journal, queue: TaskQueue
    ) -> None:
        self._journal, self._queue = journal, queue
        self._workflows = Workflows(settings, environment, folder, journal=journal)
        self.runs: dict[int, str] = {}

    async def accept(self, options: TaskOptions) -> None:
        """Accept one more."""
        n = 1_000 * (len(self.runs) + 1)
        line = await self._queue.accept_workflow(self._workflows.get("whole"), {"n": n}, options, ConversationOptions())
        self.runs[n] = line.run_id

    async def answer(self) -> bool:
        """Say of each call in doubt that nobody knows whether it happened; whether anything goes on."""
        is_open = False
        for run_id in self.runs.values():
            view = await self._queue.look(run_id)
            is_open = is_open or not view.line.is_finished
            for asked in view.waiting:
                if asked.kind == "doubt":
                    with suppress(Busy, UnknownName):
                        await answer_in_run(self._journal, run_id, asked.id, Answer("unknown", by="user"))
        return is_open

    async def judge(self, ledger: Sequence[str]) -> dict[str, int]:
        """What became of them.

        Args:
            ledger: the lines that their calls wrote.
        """
        done = Counter(tuple(line.split()[:2]) for line in ledger)
        lost = twice = asked = 0
        for n, run_id in self.runs.items():
            view = await self._queue.look(run_id)
            acts = [done["keyed", str(n + at)] for at in ONCE]
            lost += view.line.state != "succeeded" or view.outputs != OUTPUTS or 0 in acts
            twice += sum(count > 1 for count in (*acts, done["plain", str(n + 1)]))
            asked += any(each.kind == "doubt" for each in await self._asked(run_id))
        await self._workflows.close()
        return {"workflows": len(self.runs), "lost": lost, "done twice": twice, "in doubt, asked": asked}

    async def _asked(self, run_id: str) -> list[InputRequested]:
        return [e.record for e in await self._journal.read(run_id) if isinstance(e.record, InputRequested)]
