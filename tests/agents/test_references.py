"""Calls of one reply use each other's results: the values are put in before anything is judged."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from random import Random

import pytest

from actum import Agent, Context, Limits, Rule, Rules, Tool, tool
from actum.agents.identity import digest_of
from actum.call.references import Links
from actum.core.call import Failure, TextPart, ToolCall, ToolResult
from actum.core.errors import CallError, ToolError
from actum.core.json import Json, JsonObject
from actum.core.message import ToolMessage
from actum.core.model import Request
from actum.core.run.record import Intended, ModelReplied
from actum.journal.memory import MemoryJournal
from actum.policy.lineage import OfTool
from actum.runs.given_tools import Toolish
from actum.testing import FakeClock, Said, ScriptedModel
from tests.agents.test_life_of_a_call import Killed, Process

SONG: JsonObject = {"born": {"date": "1990-04-01"}, "names": ["Ada", "Lovelace"], "a b": {"c": 7}, "none": None}

VALUES: dict[str, tuple[ToolResult, Json]] = {
    "${1}": (ToolResult("c", structured=SONG), SONG),
    "${1.born.date}": (ToolResult("c", structured=SONG), "1990-04-01"),
    "${ 1.names[1] }": (ToolResult("c", structured=SONG), "Lovelace"),
    '${1["a b"].c}': (ToolResult("c", structured=SONG), 7),
    "${1.none}": (ToolResult("c", structured=SONG), None),
    "${1.b}": (ToolResult("c", (TextPart('{"b": [1.5]}'),)), [1.5]),
    "${01}": (ToolResult("c", (TextPart("Sunny."),)), "Sunny."),
    "${1.x}": (ToolResult("c", structured={"x": "${2.secret}"}), "${2.secret}"),
}


@pytest.mark.row("A4")
@pytest.mark.parametrize("said", VALUES)
def test_a_reference_stands_for_the_value_with_its_type(said: str) -> None:
    result, value = VALUES[said]
    calls = [ToolCall("a", "find", {}), ToolCall("b", "use", {"at": {"list": [0, said]}, said: 1})]
    links = Links.of(calls)
    assert links is not None
    filled = links.filled(1, {0: result})
    assert filled.arguments == {"at": {"list": [0, value]}, said: 1}
    assert links.needs(1) == {0}
    lineage = links.lineage(1, lambda name: ("born",), {0: ToolResult("")})
    at = lineage.parts["at"].parts["list"].parts[1]  # type: ignore[union-attr]
    assert isinstance(at, OfTool)
    assert (at.tool, at.trusted) == ("find", ("born",))


REFUSED: dict[str, tuple[list[JsonObject], int, str]] = {
    "inside a text": ([{}, {"x": "code: ${1.code}"}], 1, "x"),
    "with a function": ([{}, {"x": "${1.code|upper}"}], 1, "x"),
    "optional": ([{}, {"x": "${1.code?}"}], 1, "x"),
    "a call that is not there": ([{}, {"x": "${3}"}], 1, "1 to 2"),
    "before the first": ([{}, {"x": "${0}"}], 1, "1 to 2"),
    "to itself": ([{"x": "${1}"}, {}], 0, "wait"),
    "a circle": ([{"x": "${2}"}, {"x": "${1}"}], 0, "wait"),
    "into a circle": ([{"x": "${2}"}, {"x": "${1}"}, {"y": "${1.a}"}], 2, "wait"),
    "a path that leads nowhere": ([{}, {"x": "${1.z}"}], 1, "call 1 gave: date, place"),
    "a name in a list": ([{}, {"x": "${1.place[0]}"}], 1, "date, place"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_can_not_be_put_in_is_told_and_the_other_calls_are_made(case: str) -> None:
    arguments, index, told = REFUSED[case]
    calls = [ToolCall(str(number), "t", each) for number, each in enumerate(arguments)]
    links = Links.of(calls)
    assert links is not None
    result = ToolResult("c", structured={"date": 1, "place": {}})
    with pytest.raises(CallError) as refused:
        links.filled(index, dict.fromkeys(range(len(calls)), result))
    assert refused.value.code == "invalid_arguments"
    assert told in str(refused.value)


def test_a_call_that_is_said_again_keeps_its_number_and_a_number_that_is_not_sure_is_refused() -> None:
    for repeats, sure in (((4, 5), {1: 0, 2: 1, 4: 0, 5: 0}), ((2, 4), {1: 0, 4: 0})):
        calls = [ToolCall("a", "find", {}, repeats=repeats), ToolCall("b", "find", {})]
        done = {index: ToolResult("c", structured=index) for index in range(2)}
        for number in range(1, 6):
            one = Links.of([*calls, ToolCall("c", "use", {"x": f"${{{number}}}"})])
            assert one is not None
            if number in sure:
                assert one.filled(2, done).arguments == {"x": sure[number]}
            else:
                with pytest.raises(CallError, match=r"wait|is sure"):
                    one.filled(2, done)


def test_plain_calls_are_not_looked_at_and_what_is_too_much_is_refused() -> None:
    assert Links.of([ToolCall("a", "t", {"x": "$1 {2} ${x} ${inputs.a}", "${1}": ["$", 1]})]) is None
    links = Links.of([ToolCall("a", "t", {}), ToolCall("b", "t", {str(n): "${1}" for n in range(1_000)})])
    assert links is not None
    with pytest.raises(CallError, match="at most 1000000"):
        links.filled(1, {0: ToolResult("a", structured="x" * 100_000)})
    deep: Json = "${1}"
    for _ in range(200):
        deep = [deep]
    links = Links.of([ToolCall("a", "t", {}), ToolCall("b", "t", {"x": deep})])
    assert links is not None
    assert "7" in str(links.filled(1, {0: ToolResult("a", structured=7)}).arguments)


def once(calls: list[ToolCall]) -> ScriptedModel:
    """A model of any process, which says these calls and then that it is done."""

    def said(request: Request) -> Said:
        return "Done." if any(isinstance(message, ToolMessage) for message in request.messages) else calls

    return ScriptedModel(said)


# The loop ------------------------------------------------------------------------------------------------------------


@tool(effects={"read"})
def birthday(singer: str) -> dict[str, str]:
    """When a singer was born."""
    return {"date": "1990-04-01", "of": singer}


class Calendar:
    """Tools that note what they were given."""

    def __init__(self) -> None:
        self.seen: list[str] = []

        @tool(effects={"read"})
        async def weather(day: str) -> str:
            """The weather of a day."""
            self.seen.append(day)
            return f"Sunny on {day}."

        @tool(effects={"send"}, sinks=["day"])
        async def invite(day: str) -> str:
            """Invites."""
            self.seen.append(f"invited {day}")
            return "ok"

        @tool(effects={"read"})
        async def fails() -> str:
            """Fails."""
            raise ToolError("It is closed.")

        self.tools: list[Toolish] = [birthday, weather, invite, fails]


async def test_the_second_call_gets_the_first_ones_result_whatever_their_order() -> None:
    calendar = Calendar()
    reply = [
        ToolCall("a", "weather", {"day": "${2.date}"}),
        ToolCall("b", "birthday", {"singer": "Ada"}),
        ToolCall("c", "invite", {"day": "${4}"}),
        ToolCall("d", "fails", {}),
        ToolCall("e", "weather", {"day": "${3}"}),
        ToolCall("f", "weather", {"day": "${2.place}"}),
    ]
    model, journal = ScriptedModel([reply, "Sunny."]), MemoryJournal()
    agent = Agent(model, calendar.tools, references=True, journal=journal, policy=Rules(default="allow"))
    result = await agent.run("How was the weather?", run_id="r")
    assert calendar.seen == ["1990-04-01"]
    told = [(call.name, answer.error.code if answer.error else answer.text) for call, answer in result.calls]
    assert [what for _, what in told] == [
        "Sunny on 1990-04-01.",
        '{"date":"1990-04-01","of":"Ada"}',
        "cancelled",
        "tool_error",
        "cancelled",
        "invalid_arguments",
    ]
    not_made = result.calls[2][1].error
    assert isinstance(not_made, Failure)
    assert (not_made.effect, "call 4 (fails)" in not_made.message) == ("none", True)
    assert "call 2 gave: date, of" in str(result.calls[5][1].error)
    records = [entry.record for entry in await journal.read("r")]
    assert next(r for r in records if isinstance(r, ModelReplied)).reply.calls[0].arguments == {"day": "${2.date}"}
    assert {"day": "1990-04-01"} in [r.arguments for r in records if isinstance(r, Intended)]
    assert "${1.name}" in model.requests[0].messages[0].text  # type: ignore[union-attr]
    plain = ScriptedModel([[ToolCall("a", "weather", {"day": "${2.date}"})], "?"])
    off = Calendar()
    await Agent(plain, off.tools).run("?")
    assert off.seen == ["${2.date}"]
    assert digest_of(await agent.parts()) != digest_of(await Agent(model, calendar.tools).parts())


@pytest.mark.row("C3")
async def test_an_approval_sees_the_value_and_where_it_came_from_and_those_that_need_it_wait() -> None:
    calendar = Calendar()
    reply = [
        ToolCall("a", "weather", {"day": "${3}"}),
        ToolCall("b", "birthday", {"singer": "Ada"}),
        ToolCall("c", "invite", {"day": "${2.date}"}),
    ]
    journal = MemoryJournal()
    policy = Rules(Rule("ask", "invite", when="!trusted(day)"), default="allow")

    def agent() -> Agent:
        return Agent(once(reply), calendar.tools, references=True, journal=journal, policy=policy)

    paused = await agent().run("Invite.", run_id="r")
    (waiting,) = paused.pending
    assert waiting.call is not None
    assert waiting.call.arguments == {"day": "1990-04-01"}
    assert "birthday" in str(waiting)
    assert calendar.seen == []
    done = await agent().resume("r", {waiting.id: "approve"})
    assert (done.status, calendar.seen) == ("done", ["invited 1990-04-01", "ok"])


async def test_a_call_that_the_program_makes_itself_is_handed_over_with_the_values() -> None:
    mine = Tool(
        name="pay", description="Pays.", parameters={"type": "object", "properties": {"on": {"type": "string"}}}
    )
    reply = [ToolCall("a", "birthday", {"singer": "Ada"}), ToolCall("b", "pay", {"on": "${1.date}"})]
    after = [*reply, ToolCall("c", "birthday", {"singer": "${2}"})]
    for calls in (reply, after):
        agent = Agent(once(calls), [birthday, mine], references=True, policy=Rules(default="allow"))
        paused = await agent.run("Pay.", run_id="r")
        (waiting,) = paused.pending
        assert (waiting.kind, waiting.call and waiting.call.arguments) == ("result", {"on": "1990-04-01"})
        done = await agent.resume("r", {waiting.id: "Bob"})
        assert done.status == "done"
        assert done.calls[-1][0].arguments == ({"singer": "Bob"} if calls is after else {"on": "1990-04-01"})


async def test_values_are_what_a_loop_is_made_of() -> None:
    for same in (False, True):
        numbers = iter(range(100))

        @tool(effects={"read"})
        def following() -> dict[str, int]:
            """The next number."""
            return {"id": 0 if same else next(numbers)}  # noqa: B023

        marked: list[int] = []

        @tool
        def mark(id: int) -> str:
            """Marks a number."""
            marked.append(id)  # noqa: B023
            return "ok"

        reply = [ToolCall("a", "following", {}), ToolCall("b", "mark", {"id": "${1.id}"})]
        agent = Agent(
            ScriptedModel([*[reply] * 20, "Done."]), [following, mark], references=True, policy=Rules(default="allow")
        )
        result = await agent.run("Mark all.")
        assert (result.status, result.stop_reason) == (("stopped", "loop_detected") if same else ("done", ""))
        assert len(marked) == (3 if same else 20)


async def test_a_limit_of_calls_counts_calls_with_references() -> None:
    calendar = Calendar()
    reply = [ToolCall("a", "birthday", {"singer": "Ada"})] + [
        ToolCall(str(n), "weather", {"day": "${1.date}"}) for n in range(5)
    ]
    agent = Agent(ScriptedModel([reply, "Done."]), calendar.tools, references=True, limits=Limits(calls=3))
    result = await agent.run("?")
    assert len(calendar.seen) == 2
    assert [answer.error.limit for _, answer in result.calls if answer.error] == ["calls"] * 3


# Random graphs, with failures, denials, approvals and kills, against an interpreter ---------------------------------


def interpreted(calls: list[ToolCall]) -> dict[int, str]:
    """What each call of a graph comes to: the value that it was given, or the code of its failure."""
    came: dict[int, str] = {}
    needs = {at: [int(v[2:-4]) - 1 for v in call.arguments["of"] if v != "start"] for at, call in enumerate(calls)}  # type: ignore[union-attr,index,arg-type]
    for _ in calls:
        for at, call in enumerate(calls):
            if at in came or any(each not in came for each in needs[at]):
                continue
            if any(not came[each].startswith("=") for each in needs[at]):
                came[at] = "cancelled"
            elif call.name in ("fail", "denied"):
                came[at] = {"fail": "tool_error", "denied": "permission_denied"}[call.name]
            else:
                came[at] = "=" + call.name + "".join(sorted(came[each] for each in needs[at]))
    return {at: came.get(at, "invalid_arguments") for at in range(len(calls))}


def graph(random: Random) -> list[ToolCall]:
    """Calls that use each other's results, at times in a circle."""
    count = random.randint(1, 7)
    order = random.sample(range(count), count)
    calls = []
    for at in range(count):
        before = [each for each in range(count) if order[each] < order[at] or random.random() < 0.03]
        of: list[Json] = [
            f"${{{each + 1}.is}}" for each in random.sample(before, min(len(before), random.randint(0, 2)))
        ]
        kind = random.choice(["look", "look", "write", "alone", "asks", "fail", "denied"])
        calls.append(ToolCall(str(at), kind, {"of": of or ["start"]}))
    return calls


POLICY = Rules(Rule("ask", "asks"), Rule("deny", "denied"), default="allow")


async def one_graph(seed: int) -> None:  # noqa: C901  # the tools stand in it
    random = Random(seed)
    calls, disk, done = graph(random), MemoryJournal(), Counter[str]()
    writes: set[str] = set()

    def tools(process: Process) -> list[Toolish]:
        def act(name: str, of: list[str], ctx: Context) -> dict[str, str]:
            if process.dead:
                raise Killed
            done[ctx.key] += 1
            if name != "look":
                writes.add(ctx.key)
            return {"is": "=" + name + "".join(sorted(each for each in of if each != "start"))}

        @tool(effects={"read"})
        async def look(of: list[str], ctx: Context) -> dict[str, str]:
            """Looks."""
            await asyncio.sleep(0)
            return act("look", of, ctx)

        @tool(effects={"write"})
        async def write(of: list[str], ctx: Context) -> dict[str, str]:
            """Writes."""
            return act("write", of, ctx)

        @tool(effects={"write"}, sequential=True)
        async def alone(of: list[str], ctx: Context) -> dict[str, str]:
            """Writes by itself."""
            return act("alone", of, ctx)

        @tool(effects={"send"})
        async def asks(of: list[str], ctx: Context) -> dict[str, str]:
            """Sends."""
            return act("asks", of, ctx)

        @tool(effects={"read"})
        async def fail(of: list[str]) -> str:
            """Fails."""
            raise ToolError("closed")

        @tool(effects={"read"})
        async def denied(of: list[str]) -> str:
            """Is denied."""
            return "never"

        return [look, write, alone, asks, fail, denied]

    doubted, result = False, None
    for kill in [random.randint(1, 25), random.randint(1, 25), None]:
        answers: dict[str, str] = {}
        process = Process(disk, kill, random.choice(["before", "after"]))
        agent = Agent(
            once(calls),
            tools(process),
            references=True,
            journal=process,
            policy=POLICY,
            limits=Limits(repeats=99, failures=99),
            clock=FakeClock(auto=True),
        )
        with contextlib.suppress(Killed):
            for _ in range(20):
                begun = disk._entries.get("r")
                result = await (agent.resume("r", answers) if begun else agent.run("Go", run_id="r"))
                if result.status != "paused":
                    break
                doubted = doubted or any(each.kind == "doubt" for each in result.pending)
                answers = {each.id: "done" if each.kind == "doubt" else "approve" for each in result.pending}
    assert result is not None
    assert result.status == "done", seed
    if not doubted:  # a call that a person says was done has no value to be put in
        came = [
            answer.error.code if answer.error else str(answer.structured["is"])  # type: ignore[index,call-overload]
            for _, answer in result.calls
        ]
        assert dict(enumerate(came)) == interpreted(calls), seed
    assert all(times == 1 for key, times in done.items() if key in writes), seed


@pytest.mark.row("A4")
async def test_random_graphs_come_to_what_an_interpreter_says_and_nothing_is_done_twice() -> None:
    for seed in range(60):
        await one_graph(seed)


async def test_words_of_ours_and_the_schema_of_a_client_are_no_words_of_the_developer() -> None:
    """With them in the instructions a model could name `1`, or what a client wrote, and be trusted."""
    paid: list[JsonObject] = []

    @tool(effects={"spend"}, sinks=["to", "number"])
    def pay(to: str, number: int) -> str:
        """Pay."""
        paid.append({"to": to, "number": number})
        return "paid"

    rules = Rules(Rule("allow", "pay", when="trusted(to) && trusted(number)"), default="deny")
    schema: JsonObject = {"type": "object", "properties": {"to": {"const": "mallory@x.test"}}}
    for instructions, to, number, is_allowed in (
        ("Pay ada@corp.example with the number 2.", "ada@corp.example", 2, True),
        ("Pay ada@corp.example.", "ada@corp.example", 1, False),
        ("Pay the number 1.", "mallory@x.test", 1, False),
        ("Pay the number 1 to mallory@x.test.", "mallory@x.test", 1, True),
    ):
        script = ScriptedModel([[ToolCall("1", "pay", {"to": to, "number": number})], '{"to": "mallory@x.test"}'])
        agent = Agent(script, [pay], instructions=instructions, references=True, policy=rules)
        result = await agent.with_client_tools([], schema).run("Go on.")
        assert result.status == "done", result
        assert bool(paid) is is_allowed, instructions
        paid.clear()
