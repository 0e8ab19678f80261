"""An agent writes a plan, ticks its steps, changes it when a step fails, and does not end with a step open."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import count, cycle
from random import Random

import pytest

from actum import Agent, Rules, ToolCall, tool
from actum.agents.planning import Planning, plan_in
from actum.core.call import ToolResult
from actum.core.errors import ToolError, UsageError
from actum.core.event import AnswerRefused, PlanChanged, RunFinished
from actum.core.json import Json
from actum.core.message import SystemMessage, ToolMessage, UserMessage
from actum.core.model import Request
from actum.core.run.plan import PlanStep
from actum.core.tool import NamedTool
from actum.journal.memory import MemoryJournal
from actum.runs.wording import Phrases
from actum.testing import Said, ScriptedModel

OPEN = Rules(default="allow")


def planned(*steps: str, id: str = "p") -> ToolCall:
    """A call of `update_plan`: `done Book`, `failed Book: sold out`."""
    made: list[Json] = []
    for each in steps:
        status, _, rest = each.partition(" ")
        words, _, note = rest.partition(": ")
        made.append({"step": words, "status": status, **({"note": note} if note else {})})
    return ToolCall(id, "update_plan", {"steps": made})


@tool(effects={"read"})
def find(what: str) -> str:
    """Finds."""
    return f"found {what}"


@tool(effects={"send"})
def mail(to: str) -> str:
    """Sends a mail."""
    return "sent"


@tool(effects={"read"}, polled=True)
def status() -> str:
    """How far a job is."""
    return "running"


@tool(effects={"read"})
def closed(what: str) -> str:
    """Fails."""
    raise ToolError("It is closed.")


@tool
def odd(n: int) -> str:
    """Declares nothing."""
    return "same"


TOOLS = [find, mail, status, closed, odd]


def agent(script: list[Said] | Callable[[Request], Said], **more: object) -> tuple[Agent[object], ScriptedModel]:
    model = ScriptedModel(script)
    return Agent(model, TOOLS, plan=more.pop("plan", True), policy=OPEN, **more), model  # type: ignore[arg-type]


def look(what: str = "x") -> ToolCall:
    return ToolCall("c", "find", {"what": what})


ENDS: dict[str, tuple[list[Said], str, list[str], int]] = {
    "all done": ([planned("pending A"), look(), planned("done A"), "Here."], "done", ["done A"], 0),
    "dropped with a note": ([planned("dropped A: not needed"), "Here."], "done", ["dropped A: not needed"], 0),
    "a question to the user": (
        [planned("waiting A: which day?", "pending B"), "Which day?"],
        "done",
        ["waiting A: which day?", "pending B"],
        0,
    ),
    "open, then done": ([planned("pending A"), "Here.", planned("done A"), "Here."], "done", ["done A"], 1),
    "open to the end": ([planned("pending A"), "a", "b", "c"], "plan_open", ["pending A"], 2),
    "no plan at all": (["Here."], "done", [], 0),
    "a note is missing": ([planned("failed A"), planned("failed A: gone"), "Here."], "done", ["failed A: gone"], 0),
    "reworded": (
        [planned("pending A", "pending B"), planned("done The letter A", "done b!"), "Here."],
        "done",
        ["done The letter A", "done b!"],
        0,
    ),
    "a step has vanished": (
        [planned("pending A", "pending B"), planned("done A"), planned("done A", "dropped B: no"), "Here."],
        "done",
        ["done A", "dropped B: no"],
        0,
    ),
}


@pytest.mark.row("A4")
@pytest.mark.parametrize("case", ENDS)
async def test_a_run_ends_when_its_plan_has_come_to_an_end(case: str) -> None:
    script, how, plan, refused = ENDS[case]
    one, model = agent(script)
    events = [event async for event in one.stream("Do it.")]
    assert isinstance(events[-1], RunFinished)
    result = events[-1].result
    assert (result.status if result.status == "done" else result.stop_reason) == how
    steps = [f"{each.status} {each.step}{f': {each.note}' if each.note else ''}" for each in result.plan]
    assert steps == plan
    assert len([event for event in events if isinstance(event, AnswerRefused)]) == refused
    changes = [event.plan for event in events if isinstance(event, PlanChanged)]
    assert (changes[-1] if changes else ()) == result.plan
    if refused:
        said = [message.text for message in model.requests[-1].messages if isinstance(message, UserMessage)]
        assert "[pending] A" in said[-1]
    again = await one.resume(result.run_id)
    assert (again.status, again.plan, len(model.requests)) == (result.status, result.plan, len(script))


async def test_a_plan_belongs_to_its_conversation_and_is_told_before_the_next_question() -> None:
    script: list[Said] = [
        planned("waiting Book: which day?"),
        "Which day?",
        "Fine.",
        planned("done Book"),
        "Done.",
        "Hi.",
    ]
    one, model = agent(script)
    for question in ("Book.", "And the weather?", "Monday.", "Hello"):
        result = await one.run(question, conversation="c")
        assert result.status == "done"
    told = [[m.text for m in request.messages if isinstance(m, UserMessage)] for request in model.requests]
    assert "[waiting] Book (which day?)" in told[2][1]  # an answer beside the plan ends the run
    assert told[2][2] == "And the weather?"
    assert "[waiting]" in told[3][-2]
    assert told[-1][-1] == "Hello"
    assert "plan" not in told[-1][-2]


async def test_first_a_plan_and_a_choice_that_leaves_it_out_is_refused() -> None:
    one, model = agent([planned("done A"), "Here."], plan="first")
    await one.run("Do it.")
    assert [request.tool_choice for request in model.requests] == [NamedTool("update_plan"), "auto"]
    for wrong in ({"tool_choice": "none"}, {"tool_choice": ["find"]}, {"plan": "second"}):
        with pytest.raises(UsageError, match="plan="):
            agent([], **wrong)
    with pytest.raises(UsageError, match="begins with a plan"):
        agent([], plan="first", tool_choice="find")
    one, model = agent([planned("pending A"), "Here."])
    result = await one.run("Do it.", tool_choice=["find"])
    assert (result.status, result.plan) == ("done", ())


async def test_a_failed_call_asks_for_another_plan_only_where_there_is_one() -> None:
    for plan in ([planned("pending A")], []):
        script: list[Said] = [*plan, ToolCall("c", "closed", {"what": "x"}), planned("failed A: closed"), "No."]
        one, model = agent(script)
        await one.run("Do it.")
        told = [
            m.result.error.message for m in model.requests[-1].messages if isinstance(m, ToolMessage) and m.result.error
        ]
        assert ["plan" in message for message in told] == [bool(plan)]


def ticking() -> Iterator[list[ToolCall]]:
    """A step that is ticked and unticked in turns."""
    for word in cycle(("pending", "done", "in_progress")):
        yield [planned(f"{word} A")]


CIRCLES: dict[str, Callable[[], Iterator[list[ToolCall]]]] = {
    "a step ticked and unticked": ticking,
    "arguments that change": lambda: ([ToolCall("c", "odd", {"n": n})] for n in range(1_000)),
    "two tools by turns": lambda: ([look(word), ToolCall("d", "odd", {"n": 1})] for word in cycle("xyz")),
    "a plan beside the same call": lambda: ([planned(f"{word} A"), look()] for word in cycle(("pending", "done"))),
    "failures that change": lambda: ([ToolCall("c", "closed", {"what": str(n)})] for n in range(1_000)),
}


def wandering(seed: int) -> Iterator[list[ToolCall]]:
    """A circle of a few moves, drawn at random: none of them is a step that is new, or a result that was not seen."""
    draw = Random(seed)
    moves: list[Callable[[int], list[ToolCall]]] = [
        lambda n: [planned(f"{('pending', 'done', 'in_progress')[n % 3]} A")],
        lambda n: [look()],
        lambda n: [ToolCall("c", "odd", {"n": n})],
        lambda n: [ToolCall("c", "closed", {"what": str(n)})],
        lambda n: [look(), ToolCall("d", "odd", {"n": n})],
    ]
    circle = [draw.choice(moves) for _ in range(draw.randint(1, 4))]
    for n in count():
        yield circle[n % len(circle)](n)


CIRCLES |= {f"drawn at random, {seed}": partial(wandering, seed) for seed in range(25)}
NONE: dict[str, Callable[[], Iterator[list[ToolCall]]]] = {
    "thirty mails that all answer sent": lambda: ([ToolCall("c", "mail", {"to": f"{n}@x.test"})] for n in range(30)),
    "forty looks at a job": lambda: ([ToolCall("c", "status", {})] for _ in range(40)),
    "thirty pages": lambda: ([look(str(n))] for n in range(30)),
}


@pytest.mark.row("A4")
@pytest.mark.parametrize("case", [*CIRCLES, *NONE])
async def test_a_run_that_gets_no_further_is_stopped_and_one_that_does_is_not(case: str) -> None:
    replies = (CIRCLES.get(case) or NONE[case])()
    begun = iter([[planned("pending A")]])

    def said(request: Request) -> Said:
        reply = next(begun, None) or next(replies, None)
        if reply is None:
            last = request.messages[-1]
            reply = [planned("done A")] if isinstance(last, ToolMessage) and last.name != "update_plan" else None
        return reply if reply is not None else "All done."

    one, model = agent(said)
    result = await one.run("Do it.")
    if case in CIRCLES:
        assert (result.status, result.stop_reason) in (("stopped", "no_progress"), ("stopped", "loop_detected"))
        late = 8 if "random" in case else 0  # replies may pass until a step has each status for the first time
        assert len(model.requests) <= 16 + late
    else:
        assert (result.status, result.text) == ("done", "All done.")


def test_what_is_no_plan_is_refused_and_bounded() -> None:
    no = Planning(Phrases("en"), (PlanStep("A", "pending"),), lambda _: False, lambda _: False)
    odd: list[Json] = [None, 1, "[", "x" * 1_000_000, [1], [{"step": 1}], [{}], "[" * 10_000]
    for steps in odd:
        assert no.refusals([ToolCall("p", "update_plan", {"steps": steps})]) == {}  # its schema refuses it
    many: Json = [{"step": str(n), "status": "pending"} for n in range(10_000)]
    assert set(no.refusals([ToolCall("p", "update_plan", {"steps": many})])) <= {0}
    text = '[{"step": "a!", "status": "done"}]'
    assert no.refusals([ToolCall("p", "update_plan", {"steps": text})]) == {}
    gone = no.refusals([ToolCall("p", "update_plan", {"steps": []}), planned("done A")])
    assert list(gone) == [0]
    assert plan_in([ToolMessage("update_plan", ToolResult("p", structured={"steps": [{"step": 1}]}))]) == ()
    assert plan_in([SystemMessage("x")]) == ()


async def test_ten_thousand_steps_and_a_step_of_a_megabyte_are_refused() -> None:
    for bad in ([f"pending {n}" for n in range(10_000)], ["pending " + "x" * 1_000_000], []):
        one, _ = agent([planned(*bad), "Here."])
        result = await one.run("Do it.")
        assert result.calls[0][1].error is not None
        assert result.calls[0][1].error.code == "invalid_arguments"
        assert len(result.calls[0][1].error.message) < 3_000
        assert result.plan == ()


async def test_an_agent_with_other_tools_still_plans() -> None:
    one, _ = agent([planned("done A"), "Here."], plan="first")
    assert [each.name for each in await one.with_tools([find]).list_tools()] == ["find", "update_plan"]
    result = await one.with_tools([find]).run("Do it.")
    assert [each.step for each in result.plan] == ["A"]


async def test_a_plan_is_the_same_after_a_resume_in_another_process() -> None:
    journal = MemoryJournal()
    for fresh in (True, False):
        one, _ = agent([planned("pending A"), look(), planned("done A"), "Here."], journal=journal)
        result = await (one.run("Do it.", run_id="r") if fresh else one.resume("r"))
        assert [each.status for each in result.plan] == ["done"]
