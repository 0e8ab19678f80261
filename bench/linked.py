"""Calls of one reply that use each other's results: what they save on real tasks, and what they cost.

The tasks are those of the Berkeley leaderboard that play several turns against its simulated services. The right calls
of a turn are said in one reply; an argument that is exactly a part of the result of an earlier call of the turn is said
as a reference to it. What is right is the state of the services in the end: that of the right calls made one by one.
"""

from __future__ import annotations

import ast
import asyncio
import copy
import inspect
import json
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any, cast

from actum import Agent, Limits, Rules, Tool, ToolCall, tool
from actum.core.call import TextPart, ToolResult
from actum.core.interfaces import Context
from actum.core.json import Json, JsonObject
from actum.core.message import Reply

from .bfcl import fetch, importable
from .loop import UNLIMITED, Counting, Job, Row, cpu
from .peers import add

CATEGORY = "BFCL_v4_multi_turn_base"
Path = tuple[str | int, ...]


class Services:
    """The simulated services of one task, as a toolset.

    Args:
        task: a line of the leaderboard's file.
    """

    generation = 0

    def __init__(self, task: dict[str, Any]) -> None:
        backend = import_module("bfcl_eval.constants.executable_backend_config")
        self.instances: dict[str, Any] = {}
        self._methods: dict[str, Callable[..., Any]] = {}
        for name in task["involved_classes"]:
            made = getattr(import_module(backend.CLASS_FILE_PATH_MAPPING[name]), name)()
            if name not in backend.STATELESS_CLASSES:
                made._load_scenario(copy.deepcopy(task["initial_config"].get(name, {})), long_context=False)
            self.instances[name] = made
            methods = inspect.getmembers(made, predicate=inspect.ismethod)
            self._methods |= {method: found for method, found in methods if not method.startswith("_")}

    def made(self, name: str, arguments: JsonObject) -> Json:
        """What a call comes to; an error of a service is a result like any other."""
        try:
            return cast(Json, json.loads(json.dumps(self._methods[name](**arguments), default=str)))
        except Exception as error:  # noqa: BLE001  # the leaderboard does the same
            return f"Error during execution: {error}"

    def arguments(self, call: ast.Call) -> JsonObject:
        """The arguments of a call by their names."""
        names = [*inspect.signature(self._methods[cast(ast.Name, call.func).id]).parameters]
        by_place = zip(names, call.args, strict=False)
        pairs = [*by_place, *((str(keyword.arg), keyword.value) for keyword in call.keywords)]
        return {name: ast.literal_eval(value) for name, value in pairs}

    def is_like(self, other: Services) -> bool:
        """Whether both hold the same, as the leaderboard compares services."""
        return all(
            value == vars(other.instances[name])[field]
            for name, made in self.instances.items()
            for field, value in vars(made).items()
            if not field.startswith("_")
        )

    async def list_tools(self) -> Sequence[Tool]:
        return [
            Tool(
                name=name,
                description=name,
                parameters={"type": "object", "properties": {key: {} for key in inspect.signature(method).parameters}},
                sequential=True,
            )
            for name, method in self._methods.items()
        ]

    async def execute(self, call: ToolCall, context: Context) -> ToolResult:
        value = self.made(call.name, call.arguments)
        return ToolResult(call.id, (TextPart(json.dumps(value)),), structured=value)


def _places(value: Json, wanted: Json, path: Path = ()) -> Iterator[Path]:
    """Where a part of a result is exactly this value."""
    if type(value) is type(wanted) and value == wanted:
        yield path
    if isinstance(value, dict):
        for name, part in value.items():
            yield from _places(part, wanted, (*path, name))
    elif isinstance(value, list):
        for number, part in enumerate(value):
            yield from _places(part, wanted, (*path, number))


def _said(number: int, path: Path) -> str:
    steps = [f"[{step}]" if isinstance(step, int) else f"[{json.dumps(step)}]" for step in path]
    return f"${{{number}{''.join(steps)}}}"


def _linked(value: Json, results: Sequence[Json]) -> Json:
    """An argument, said as a reference where it is exactly a part of an earlier result of its turn."""
    is_telling = isinstance(value, str | int | float) and not isinstance(value, bool) and value not in ("", 0)
    for number, result in enumerate(results, 1) if is_telling else ():
        if (path := next(_places(result, value), None)) is not None:
            return _said(number, path)
    return [_linked(item, results) for item in value] if isinstance(value, list) else value


def linked_table(rounds: int) -> list[Row]:
    """Each task once; `rounds` changes nothing."""
    place = fetch() / "bfcl_eval" / "data"
    lines = [
        (place / folder / f"{CATEGORY}.json").read_text("utf-8").splitlines() for folder in ("", "possible_answer")
    ]
    tasks = [(json.loads(task), json.loads(answer)) for task, answer in zip(*lines, strict=True)]
    with importable(fetch()):
        found = [asyncio.run(_played(task, answer["ground_truth"])) for task, answer in tasks]
    turns, several, links = (sum(counts) for counts in zip(*(each[:3] for each in found), strict=True))
    return [
        {
            "tasks": len(tasks),
            "turns": turns,
            "of several calls": several,
            "with a reference": links,
            "replies saved": sum(each[3] for each in found),
            "same state": sum(each[4] for each in found),
        }
    ]


async def _played(task: dict[str, Any], turns: list[list[str]]) -> tuple[int, int, int, int, bool]:
    """Play a task: its turns, those of several calls, those with a reference, replies that references save, and
    whether the services hold in the end what they hold after the right calls.
    """
    right, ours = Services(task), Services(task)
    script: list[Reply] = []
    several = linked = saved = 0
    for turn in turns:
        calls: list[ToolCall] = []
        results: list[Json] = []
        for source in turn:
            call = cast(ast.Call, ast.parse(source, mode="eval").body)
            name, arguments = cast(ast.Name, call.func).id, right.arguments(call)
            said = {key: _linked(value, results) for key, value in arguments.items()}
            calls.append(ToolCall(f"c{len(script)}_{len(calls)}", name, said))
            results.append(right.made(name, arguments))
        several += len(calls) > 1
        references = [str(value) for call in calls for value in call.arguments.values() if "${" in str(value)]
        linked += bool(references)
        saved += len({reference.split("[")[0] for reference in references})
        if calls:
            script.append(Reply.of(calls=calls))
    agent = Agent(
        _Playing(script), [ours], references=True, policy=Rules(default="allow"), limits=Limits(steps=None, calls=None)
    )
    await agent.run("Do it.")
    return len(turns), several, linked, saved, ours.is_like(right)


class _Playing:
    name = "playing"
    tells_usage = True

    def __init__(self, script: Sequence[Reply]) -> None:
        self._script = iter(script)

    async def reply(self, request: object, emit: object = None) -> Reply:
        return next(self._script, Reply.of("Done."))


def linked_cost_table(rounds: int) -> list[Row]:
    """CPU of a run of 20 steps with references on and none used, and with a plan of 20 steps, beside one without; and
    the time of 64 calls of 50 ms in 8 chains of 8.
    """
    add_tool = tool(add)
    agents = {
        "plain": Agent(Counting(20), [add_tool], limits=UNLIMITED),
        "references": Agent(Counting(20), [add_tool], limits=UNLIMITED, references=True),
        "plan": Agent(Counting(20), [add_tool], limits=UNLIMITED, plan=True),
    }
    jobs: dict[str, Job] = {name: lambda agent=agent: agent.run("go") for name, agent in agents.items()}  # type: ignore[misc]
    spent = cpu(jobs, rounds, dict.fromkeys(jobs, 20))
    chains = min(asyncio.run(_chains()) for _ in range(rounds))
    return [
        {
            "references, none used, × plain": round(spent["references"] / spent["plain"], 3),
            "a plan, × plain": round(spent["plan"] / spent["plain"], 3),
            "64 calls in 8 chains of 8, × 50 ms": round(chains / 0.05, 2),
        }
    ]


async def _chains() -> float:
    """Seconds until 64 calls of 50 ms are done that wait for each other in chains of 8."""

    @tool
    async def nap(n: int) -> int:
        """Take 50 ms."""
        await asyncio.sleep(0.05)
        return n

    calls = [
        ToolCall(f"c{at}", "nap", {"n": at if at % 8 == 0 else f"${{{at}}}"})  # calls are counted from 1
        for at in range(64)
    ]
    began = time.perf_counter()
    result = await Agent(_Playing([Reply.of(calls=calls)]), [nap], references=True).run("go")
    assert [told.text for _, told in result.calls] == [str(at // 8 * 8) for at in range(64)]
    return time.perf_counter() - began
