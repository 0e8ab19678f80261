"""A large value in a run holds up nobody, wherever it comes from: as a result, as progress, in an error, in arguments,
or in what a client gives. Work on the loop is counted, as in `server/test_large_bodies.py`.
"""

from __future__ import annotations

import asyncio
import threading
from base64 import b64encode
from collections.abc import Awaitable, Callable, Collection, Iterator
from typing import Any, TypeAlias

import pytest

from actum import Agent, tool
from actum.agents.driver import CALLS_MAX
from actum.call.limits.limits import Limits
from actum.call.outcome import copy_arguments
from actum.core.call import ToolCall, ToolResult
from actum.core.errors import ModelGarbled, ToolError
from actum.core.event import CallProgress, Event, RunResult, TextDelta
from actum.core.interfaces import Context, Toolset
from actum.core.json import Json, JsonObject, dumps
from actum.core.message import Reply
from actum.core.run.record import CallCompleted, Intended
from actum.core.secrets.redaction import RedactedStream, Redaction
from actum.core.tool import Tool
from actum.policy.rules import Rule, Rules
from actum.runs.streaming import streamed
from actum.testing import ScriptedModel
from actum.toolsets.function.function import FunctionTool
from tests.effort import turns_counted

AnyTool: TypeAlias = Tool | FunctionTool[..., object] | Toolset
SIZE = 200_000
HELD_MAX = 50_000
"""So many calls between two turns, and three more for each list and object: reading JSON makes one for each."""


def deep(levels: int) -> Json:
    value: Json = 1
    for _ in range(levels):
        value = {"a": value}
    return value


SHAPES: dict[str, Json] = {
    "wide": {f"name{n}": n for n in range(SIZE // 16)},
    "list": [{"b": "xy"} for _ in range(SIZE // 12)],
    "empty lists": [[] for _ in range(SIZE // 3)],
    "deep": [deep(90) for _ in range(SIZE // 600)],
    "half a letter": "password=word \ud800 " * (SIZE // 16),
    "words": "password=word https://a.b/c 12,5 " * (SIZE // 33),
    "different words": " ".join([f"word{n}" for n in range(SIZE // 10)]),
    "one word": "a" * SIZE,
    "percent": "%41" * (SIZE // 3),
    "escapes": "%41&#65;&nosuch;\\u0041=41" * 2_500,
    "different escapes": "".join(f"&#{n};" for n in range(10_000, 18_000)),
    "runs": "password:x " * 5_500,
    "the secret, encoded": "%68%75%6e%74%65%72%32-hunter2 " * 2_000,
    "the secret, encoded twice": b64encode(b"hunter2-hunter2,").decode() * 2_500,
    "signs that are not seen": "\x1b" * 60_000,
}
"""The last six are a little smaller than what is large by itself: to look for secrets is much work all the same."""


def values_in(value: Json) -> int:
    """How many lists and objects there are."""
    count, waiting = 0, [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict | list):
            count += 1
            waiting += each.values() if isinstance(each, dict) else each
    return count


def agent(tools: Collection[AnyTool], arguments: JsonObject, **more: Any) -> Agent[str]:  # noqa: ANN401
    """An agent whose model calls the first tool, and which knows a secret."""
    name = "t"
    script: list[str | Reply] = [Reply.of(calls=[ToolCall("c1", name, arguments)]), "Done."]
    return Agent(ScriptedModel(script), [*tools], secrets={"CRM": "hunter2-hunter2"}, **more)


def named(work: Callable[[Context], Json | Awaitable[Json]], *, sends: bool = False) -> FunctionTool[..., object]:
    async def t(context: Context, body: Json = None) -> Json:
        """Do it."""
        context.secret("CRM")
        done = work(context)
        return await done if isinstance(done, Awaitable) else done

    return tool(effects={"send"} if sends else {"read"})(t)


async def as_result(value: Json) -> RunResult[str]:
    return await agent([named(lambda _: value)], {}).run("Go.")


async def as_progress(value: Json) -> RunResult[str]:
    async def work(context: Context) -> Json:
        context.progress(value)
        await asyncio.sleep(0)
        return "done"

    return await agent([named(work)], {}).run("Go.", emit=lambda _: None)


async def as_log(value: Json) -> RunResult[str]:
    return await agent([named(lambda context: context.log("debug", value))], {}).run("Go.")


async def as_error(value: Json) -> RunResult[str]:
    def work(context: Context) -> Json:
        raise ToolError(str(value))

    return await agent([named(work)], {}).run("Go.")


async def as_arguments(value: Json) -> RunResult[str]:
    return await agent([named(lambda _: "sent", sends=True)], {"body": value}).run("Go.")


async def under_a_rule(value: Json) -> RunResult[str]:
    rules = Rules(Rule(then="allow", when="trusted(body) || size(args) > 0"))
    return await agent([named(lambda _: "sent", sends=True)], {"body": value}, policy=rules).run("Go.")


async def as_given(value: Json) -> RunResult[str]:
    made = agent([Tool(name="t")], {})
    asked = await made.run("Go.")
    return await made.resume(asked.run_id, {asked.pending[0].id: value if isinstance(value, str) else dumps(value)})


async def as_task_of_an_agent(value: Json) -> RunResult[str]:
    inner = Agent(ScriptedModel(["Done."]), name="inner")
    return await agent([inner.as_tool("t")], {"task": value if isinstance(value, str) else dumps(value)}).run("Go.")


SMALLER = tuple(SHAPES)[-6:]
WAYS: dict[Callable[[Json], Awaitable[RunResult[str]]], tuple[str, ...]] = {
    as_result: (*("list", "deep", "words", "half a letter"), *SMALLER),
    as_progress: ("wide", "words", "percent", *SMALLER),
    as_log: ("list", "different words", *SMALLER),
    as_error: ("words", *SMALLER),
    as_arguments: ("wide", "list", "empty lists", "deep", "different words", "one word"),
    under_a_rule: ("wide", "words"),
    as_given: ("list", "words"),
    as_task_of_an_agent: ("wide", "words"),
}


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
async def test_a_large_value_leaves_the_loop_to_others(way: Callable[[Json], Awaitable[RunResult[str]]]) -> None:
    assert (await way("small")).status == "done"  # what is loaded at the first use is loaded now
    held: dict[str, tuple[int, int]] = {}
    for name in WAYS[way]:
        value = SHAPES[name]
        async with turns_counted() as turns:
            await asyncio.sleep(0)
            assert (await way(value)).status == "done"
        held[name] = turns.held, HELD_MAX + 3 * values_in(value)
    assert all(held <= most for held, most in held.values()), held


async def test_a_result_that_is_too_large_is_refused_before_anybody_looks_for_secrets_in_it() -> None:
    looked: list[int] = []

    class Noting(Redaction, frozen=True):
        def clean(self, result: ToolResult, known: Collection[str] = ()) -> ToolResult:
            looked.append(len(result.text))
            return super().clean(result, known)

    limits = Limits(result_bytes_max=SIZE // 2)
    made = agent([named(lambda _: SHAPES["words"])], {}, limits=limits, redaction=Noting())
    assert (await made.run("Go.")).text == "Done."
    assert looked
    assert max(looked) < 1_000


async def test_progress_that_is_too_large_is_cut_or_left_out_and_what_comes_after_it_is_told() -> None:
    told: list[Json] = []

    async def work(context: Context) -> Json:
        values: tuple[Json, ...] = (SHAPES["one word"], SHAPES["wide"], "hunter2-hunter2", {"step": 3})
        for value in values:
            context.progress(value)
        await asyncio.sleep(0)
        return "done"

    def heard(event: object) -> None:
        if isinstance(event, CallProgress):
            told.append(event.value)

    await agent([named(work)], {}).run("Go.", emit=heard)
    first, second, *rest = told
    assert first == "a" * RedactedStream.PIECE_MAX + f"[{SIZE} characters: too much to be told]"
    assert second == f"[{len(dumps(SHAPES['wide']))} bytes: too much to be told]"
    assert rest == ["[redacted: secret]", {"step": 3}]


def telling(context: Context) -> Json:
    for step in range(2_000):
        context.progress({"step": step})
    return "done"


@tool(effects={"read"})
def in_a_thread(context: Context) -> Json:
    """Do it."""
    return telling(context)


@tool(effects={"read"})
def in_pieces() -> Iterator[Json]:
    """Do it."""
    for step in range(2_000):
        yield {"step": step}


@tool(effects={"read"})
async def while_the_loop_waits(context: Context) -> Json:
    """Do it."""
    thread = threading.Thread(target=telling, args=[context])
    thread.start()
    thread.join()
    await asyncio.sleep(0)
    return "done"


@pytest.mark.parametrize("of_thread", [in_a_thread, in_pieces, while_the_loop_waits])
async def test_progress_that_a_thread_tells_without_end_leaves_the_loop_to_others(
    of_thread: FunctionTool[..., object],
) -> None:
    told: list[Json] = []

    def heard(event: object) -> None:
        if isinstance(event, CallProgress):
            told.append(event.value)

    script: list[str | Reply] = [Reply.of(calls=[ToolCall("c1", of_thread.name, {})]), "Done."]
    made = Agent(ScriptedModel(script), [of_thread])
    async with turns_counted() as turns:
        assert (await made.run("Go.", emit=heard)).text == "Done."
    assert turns.held < HELD_MAX
    assert told[-1] == {"step": 1_999}
    if of_thread is while_the_loop_waits:
        assert told[0] == "[1936 before this were left out]"
    else:
        assert told == [{"step": step} for step in range(2_000)]


async def test_of_progress_that_nobody_reads_only_so_much_is_kept() -> None:
    async def run(emit: Callable[[Event], None]) -> None:
        for step in range(3_000):
            emit(CallProgress("c1", step))
        emit(TextDelta("Done."))

    assert len([event async for event in streamed(run)]) == 1_001


async def test_a_run_that_is_cancelled_while_secrets_are_looked_for_has_the_result_on_record() -> None:
    made = agent([named(lambda _: SHAPES["words"])], {})
    run = asyncio.create_task(made.run("Go.", run_id="run_1"))

    entries = await made.journal.read("run_1")
    while not any(isinstance(entry.record, Intended) for entry in entries):
        await asyncio.sleep(0)
        entries = await made.journal.read("run_1")
    while not run.done():  # again and again, as a server that ends does
        run.cancel()
        await asyncio.sleep(0)
    entries = await made.journal.read("run_1")
    outcomes = [entry.record.result for entry in entries if isinstance(entry.record, CallCompleted)]
    assert [outcome.error for outcome in outcomes] == [None]
    assert "[redacted: password]" in outcomes[0].text


async def test_a_reply_of_very_many_calls_leaves_the_loop_to_others_and_one_of_more_is_none() -> None:
    @tool(effects={"read"})
    def look(n: int) -> int:
        """Look."""
        return n

    for name, count in (("look", CALLS_MAX), ("nobody", CALLS_MAX), ("look", CALLS_MAX + 1)):
        said = [ToolCall(f"c{n}", name, {"n": n}) for n in range(count)]
        model = ScriptedModel([Reply.of(calls=said), "done"])
        async with turns_counted() as turns:
            if count == CALLS_MAX:
                assert (await Agent(model, [look]).run("Look.")).status == "done"
            else:
                with pytest.raises(ModelGarbled, match=f"holds {count} calls"):
                    await Agent(model, [look]).run("Look.")
        assert turns.held < HELD_MAX, (name, count)


def test_a_tool_gets_a_copy_of_its_own_down_to_the_last_object() -> None:
    """Numbers that JSON does not know, an object in two places, and a type that only Python has are copied as well."""
    shared: JsonObject = {"a": [1]}
    deep: Json = 1
    for _ in range(900):
        deep = [deep]
    given: JsonObject = {"two": [shared, shared], "large": [10**40, 1e400], "word": [Word("w")], "deep": deep, "x": "y"}
    copied = copy_arguments(given)
    assert copied == given
    assert isinstance(copied["two"], list)
    assert copied["two"][0] is not copied["two"][1]
    assert copied["two"][0] is not shared
    assert isinstance(copied["word"], list)
    assert type(copied["word"][0]) is Word


class Word(str):
    """A type of Python's that JSON does not have."""

    __slots__ = ()
