"""Whether a gate tells regressions from chance: `python -m bench.planted [--seed 46] [--count 20] [--jobs 1]`.

The embedded model answers the own questions as they are, and again with something planted, which is drawn by the seed
before anything is run. What is planted as a regression, each in as many tools as are drawn: a tool is gone, a
description is cut, the parameters have other names, or of several calls only the first is made. What is planted as
harmless: the tools are offered in another order. Printed are how many questions each one gained and lost, and what the
gate says.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import msgspec
from msgspec import Struct, structs

from actum.core.event import Delta
from actum.core.json import JsonObject
from actum.core.message import Reply
from actum.core.model import Model, Request
from actum.core.tool import Tool
from actum.evals.comparison import compare
from actum.evals.gate import GateRules, judge
from actum.evals.report import ExperimentReport
from actum.journal.memory import MemoryJournal

from . import own, questions

RULES = GateRules(metric="right")
LOST_MIN = 15
"""A regression that loses this many questions is to be found."""


class Plant(Struct, frozen=True):
    """Something that is planted.

    Attributes:
        kind: `order`, `gone`, `cut`, `renamed` or `first`.
        tools: in which tools; none for `order` and `first`, which are about all.
        seed: of the order.
    """

    kind: str
    tools: tuple[str, ...] = ()
    seed: int = 0

    def of(self, tools: Sequence[Tool]) -> list[Tool]:
        """What is offered in the place of some tools."""
        if self.kind == "order":
            return random.Random(self.seed).sample(list(tools), len(tools))
        return [changed for tool in tools if (changed := self._changed(tool)) is not None]

    def _changed(self, tool: Tool) -> Tool | None:
        if tool.name not in self.tools:
            return tool
        if self.kind == "gone":
            return None
        if self.kind == "cut":
            return structs.replace(tool, description=tool.description[:1])
        schema: JsonObject = json.loads(msgspec.json.encode(tool.parameters))
        properties, required = schema.get("properties"), schema.get("required")
        if isinstance(properties, dict):
            schema["properties"] = {f"p_{name}": each for name, each in properties.items()}
        if isinstance(required, list):
            schema["required"] = [f"p_{name}" for name in required]
        return structs.replace(tool, parameters=schema)


class FirstCall:
    """A model of whose calls only the first is made."""

    def __init__(self, inner: Model) -> None:
        self._inner = inner
        self.name, self.supervised = f"{inner.name}-first", True

    async def reply(self, request: Request, emit: Callable[[Delta], None] | None = None) -> Reply:
        """The reply of the model within, cut."""
        said = await self._inner.reply(request)
        return Reply.of(said.text, said.calls[:1])


def plants(seed: int, count: int) -> Iterator[tuple[Plant, Plant]]:
    """A regression and something harmless, as often as is asked for."""
    drawn, names = random.Random(seed), sorted(questions.tools())
    for number in range(count):
        kind = drawn.choice(["gone", "cut", "renamed", "first"])
        tools = () if kind == "first" else tuple(drawn.sample(names, drawn.randint(1, len(names))))
        yield Plant(kind, tools), Plant("order", seed=seed + number)


def answered(plant: Plant | None) -> ExperimentReport:
    """The experiment with something planted."""
    agent = own.offering(plant.of if plant is not None else list)
    if plant is not None and plant.kind == "first":
        agent = own.offering(list, FirstCall)
    return asyncio.run(own.tried(MemoryJournal(), agent))


def told(before: ExperimentReport, plant: Plant) -> dict[str, str | int]:
    """What became of it."""
    after = answered(plant)
    found = compare(before, after, RULES.metric).scores[RULES.metric]
    verdict = judge(after, before, RULES).verdict
    return {
        "planted": plant.kind,
        "in tools": len(plant.tools),
        "gained": found.gained,
        "lost": found.lost,
        "gate": verdict,
    }


def main() -> None:
    """Print each, and how many were told apart."""
    parser = argparse.ArgumentParser(prog="bench.planted", description=__doc__)
    parser.add_argument("--seed", type=int, default=46)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=1)
    wanted = parser.parse_args()
    before = answered(None)
    each = [plant for pair in plants(wanted.seed, wanted.count) for plant in pair]
    rows = []
    with ProcessPoolExecutor(wanted.jobs) as pool:
        for row in pool.map(partial(told, before), each):
            print(json.dumps(row), flush=True)
            rows.append(row)
    harmless = [row for row in rows if row["planted"] == "order"]
    clear = [row for row in rows if row["planted"] != "order" and int(row["lost"]) - int(row["gained"]) >= LOST_MIN]
    print(f"lost {LOST_MIN} or more: {len(clear)}, failed: {sum(row['gate'] == 'fail' for row in clear)}")
    print(f"harmless: {len(harmless)}, failed: {sum(row['gate'] == 'fail' for row in harmless)}")


if __name__ == "__main__":
    main()
