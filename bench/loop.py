"""What the agent loop costs; part of `make bench`.

Validation, policy, loop detection and the chained journal in memory are on, as they always are. The bare floor is a
loop that a person would write by hand and that does none of this; the lean floor only parses, validates with pydantic,
awaits and appends; the peer is agno. CPU seconds of this process, the best of several rounds in turn, so that a busy
machine disturbs all alike; ratios are to the floor of the same round of measuring.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from functools import partial

import jsonschema_rs

from actum import Agent, Limits, ToolCall, tool
from actum.core.message import Reply
from actum.core.model import Request
from actum.testing import ScriptedModel

from .peers import SCHEMA, add, agno_agent, bare_run, lean_run, spare_tools

UNLIMITED = Limits(steps=None)
Job = Callable[[], Awaitable[object]]
Row = dict[str, int | float | str]


class Counting:
    """A model that asks for `add` so many times, then answers. It holds on to nothing, unlike a ScriptedModel."""

    name = "counting"

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self.step = 0

    async def reply(self, request: Request, emit: object = None) -> Reply:
        self.step += 1
        if self.step > self.steps:
            self.step = 0
            return Reply.of("done")
        return Reply((ToolCall("c1", "add", {"a": self.step, "b": 1}),))


def actum_agent(steps: int, tools: int) -> Job:
    agent = Agent(Counting(steps), [tool(add), *map(tool, spare_tools(tools - 1))], limits=UNLIMITED)
    return lambda: agent.run("go")


def bare(steps: int) -> Job:
    validator = jsonschema_rs.Draft202012Validator(SCHEMA)
    return lambda: bare_run(steps, validator)


def lean(steps: int) -> Job:
    return lambda: lean_run(steps)


def cpu(jobs: dict[str, Job], rounds: int, times: dict[str, int]) -> dict[str, float]:
    """CPU seconds of one run of each job: the best of so many rounds, the jobs in turn."""

    async def measure() -> dict[str, float]:
        best: dict[str, float] = {}
        for job in jobs.values():
            await job()  # first runs compile and import
        for _ in range(rounds):
            for name, job in jobs.items():
                began = time.process_time()
                for _ in range(times[name]):
                    await job()
                spent = (time.process_time() - began) / times[name]
                best[name] = min(best.get(name, spent), spent)
        return best

    return asyncio.run(measure())


def steps_table(rounds: int) -> list[Row]:
    rows: list[Row] = []
    for steps, tools in [(20, 1), (100, 1), (400, 1), (100, 200), (100, 2000)]:
        jobs = {
            "lean": lean(steps),
            "bare": bare(steps),
            "actum": actum_agent(steps, tools),
            "agno": agno_agent(steps, tools),
        }
        many = max(1, 4000 // steps)
        spent = cpu(jobs, rounds, {"lean": many, "bare": many, "actum": max(1, many // 4), "agno": 1})
        step = {name: seconds / (steps + 1) * 1e6 for name, seconds in spent.items()}
        rows.append(
            {
                "steps": steps,
                "tools": tools,
                **{f"{name} µs a step": round(value, 1) for name, value in step.items()},
                "actum × lean": round(step["actum"] / step["lean"], 1),
                "agno × lean": round(step["agno"] / step["lean"], 1),
                "actum × bare": round(step["actum"] / step["bare"], 1),
                "agno × bare": round(step["agno"] / step["bare"], 1),
            }
        )
    return rows


def parallel_table(rounds: int) -> list[Row]:
    """Calls of 50 ms side by side: how long until all are done, against 50 ms."""

    @tool
    async def nap(n: int) -> int:
        """Take 50 ms."""
        await asyncio.sleep(0.05)
        return n

    async def measure(count: int) -> float:
        calls = [ToolCall(f"c{n}", "nap", {"n": n}) for n in range(count)]
        times = []
        for _ in range(rounds):
            agent = Agent(ScriptedModel([calls, "done"]), [nap])
            began = time.perf_counter()
            await agent.run("go")
            times.append(time.perf_counter() - began)
        return min(times)

    found = {count: asyncio.run(measure(count)) for count in (8, 64)}
    return [
        {"calls": count, "ms": round(seconds * 1000, 1), "× 50 ms": round(seconds / 0.05, 2)}
        for count, seconds in found.items()
    ]


def concurrent_table(rounds: int) -> list[Row]:
    """200 runs of 5 steps at once: runs a second of CPU."""

    def many(make: Callable[[], Job]) -> Job:
        jobs = [make() for _ in range(200)]

        async def run() -> None:
            await asyncio.gather(*(job() for job in jobs))

        return run

    makers: dict[str, Callable[[], Job]] = {
        "bare": partial(bare, 5),
        "actum": partial(actum_agent, 5, 1),
        "agno": partial(agno_agent, 5, 1),
    }
    jobs = {name: many(make) for name, make in makers.items()}
    spent = cpu(jobs, rounds, {"bare": 3, "actum": 1, "agno": 1})
    return [{"who": name, "runs a second": round(200 / seconds)} for name, seconds in spent.items()]


ONE_TOOL = """
from actum import tool
@tool
def add(a: int, b: int) -> int:
    '''Add two numbers.

    Args:
        a: The first number.
        b: The second number.
    '''
    return a + b
assert add.definition.parameters
"""


def import_table(rounds: int) -> list[Row]:
    """CPU seconds of a whole process that imports and makes one tool, less those of an empty one."""
    sources = {"empty": "pass", "actum": ONE_TOOL, "agno": "from agno.agent import Agent"}
    seconds = {name: min(_process_cpu(source) for _ in range(rounds)) for name, source in sources.items()}
    return [
        {"who": name, "s of CPU": round(value, 3), "less an empty process": round(value - seconds["empty"], 3)}
        for name, value in seconds.items()
    ]


def _process_cpu(source: str) -> float:
    script = f"import resource\n{source}\nu = resource.getrusage(resource.RUSAGE_SELF)\nprint(u.ru_utime + u.ru_stime)"
    return float(subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout)
