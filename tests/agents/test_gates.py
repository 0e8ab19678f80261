"""What an answer has to pass before it ends a run: the agent's own check beside its output type."""

from __future__ import annotations

import pytest

from actum import Agent
from actum.agents.gates import Answered
from actum.agents.identity import Naming
from actum.core.call import ToolCall
from actum.core.errors import ReplayDiverged, UsageError
from actum.core.event import AnswerRefused, Event, ReplyFinished, RunFinished, TextDelta
from actum.core.message import Reply, UserMessage
from actum.core.run.record import Ended
from actum.core.tool import Tool
from actum.journal.memory import MemoryJournal
from actum.testing import RecordingToolset, Said, ScriptedModel

LOOK = Tool(name="look", description="Looks.", effects=frozenset({"read"}))
CALL = ToolCall("c1", "look", {})


def polite(answer: Answered) -> str:
    return "" if "please" in answer.text else "It does not say please."


def looked(answer: Answered) -> str:
    return "" if [call.name for call, result in answer.calls if result.error is None] == ["look"] else "Look first."


def small(answer: Answered) -> str:
    assert isinstance(answer.output, int)
    return "" if answer.output < 10 else "Below ten."


ENDS: dict[str, tuple[dict[str, object], list[Said], str, str, list[str]]] = {
    "good at once": ({"check": polite}, ["Yes, please."], "done", "Yes, please.", []),
    "good at last": ({"check": polite}, ["Yes.", "No.", "please"], "done", "please", ["please", "please"]),
    "never good": ({"check": polite}, ["a", "b", "c"], "invalid_output", "c", ["please", "please"]),
    "as often as it may": ({"check": polite, "tries": 1}, ["a"], "invalid_output", "a", []),
    "it sees the calls": ({"check": looked}, ["4", CALL, "5"], "done", "5", ["Look first."]),
    "it sees the value": ({"check": small, "output_type": int}, ["12", "7"], "done", "7", ["Below ten."]),
    "one count for all gates": (
        {"check": small, "output_type": int},
        ["twelve", "12", "none"],
        "invalid_output",
        "none",
        ["could not be used", "Below ten."],
    ),
    "a long word of the check": (
        {"check": lambda _: "x" * 10_000_000, "tries": 2},
        ["a", "b"],
        "invalid_output",
        "b",
        ["xx"],
    ),
}


def agent(script: list[Said], **more: object) -> tuple[Agent[object], ScriptedModel, MemoryJournal]:
    model, journal = ScriptedModel(script), MemoryJournal()
    return Agent(model, [RecordingToolset([LOOK])], journal=journal, **more), model, journal  # type: ignore[arg-type]


@pytest.mark.row("A4")
@pytest.mark.parametrize("case", ENDS)
async def test_an_answer_ends_a_run_when_no_gate_refuses_it(case: str) -> None:
    more, script, how, text, told = ENDS[case]
    one, model, _ = agent(script, **more)
    events: list[Event] = [event async for event in one.stream("How many?")]
    assert isinstance(events[-1], RunFinished)
    result = events[-1].result
    assert (result.status if result.status == "done" else result.stop_reason, result.text) == (how, text)
    refusals = [event.reason for event in events if isinstance(event, AnswerRefused)]
    said = [m.text for m in model.requests[-1].messages if isinstance(m, UserMessage)][1:]
    assert len(refusals) == len(said) == len(told)
    assert all(part in message for part, message in zip(told, said, strict=True))
    assert all(len(message) < 5_000 for message in said)
    resumed = await one.resume(result.run_id)
    assert (resumed.status, resumed.text, len(model.requests)) == (result.status, text, len(script))


async def test_a_check_that_raises_fails_the_run_and_the_record_names_the_error() -> None:
    def broken(_: Answered) -> str:
        raise LookupError("the table of prices is gone")

    one, _, journal = agent(["a"], check=broken)
    with pytest.raises(LookupError):
        await one.run("?", run_id="run_1")
    ended = [entry.record for entry in await journal.read("run_1")][-1]
    assert isinstance(ended, Ended)
    assert (ended.status, ended.reason) == ("failed", "LookupError")
    one, _, _ = agent(["a"], check=lambda _: None)
    with pytest.raises(UsageError, match="NoneType"):
        await one.run("?")


async def test_a_check_that_says_another_thing_of_the_same_answer_is_told() -> None:
    for before, after in ((polite, lambda _: ""), (polite, lambda _: "Something else."), (lambda _: "", polite)):
        one, _, journal = agent(["Yes.", "Yes, please."], check=before)
        await one.run("?", run_id="run_1")
        other = Agent(ScriptedModel(["Never asked."]), [RecordingToolset([LOOK])], journal=journal, check=after)
        if after is polite:  # the run was done, and one more request would be made
            assert (await other.resume("run_1")).text == "Yes."
        else:
            with pytest.raises(ReplayDiverged):
                await other.resume("run_1")
            assert (await other.resume("run_1", accept=True)).status == "done"


@pytest.mark.parametrize(("name", "value"), [("check", "please"), ("tries", 0), ("tries", True), ("tries", "3")])
def test_what_is_no_check_is_refused(name: str, value: object) -> None:
    with pytest.raises(UsageError, match=f"{name}="):
        agent([], **{name: value})


def test_an_async_check_is_refused() -> None:
    async def later(_: Answered) -> str:
        return ""

    with pytest.raises(UsageError, match="not async"):
        agent([], check=later)


async def test_a_result_that_is_the_answer_passes_the_same_gates() -> None:
    tool = Tool(name="ask", description="Hands over.", answers=True)
    for check, asked in ((polite, 2), (looked, 2), (lambda _: "", 1)):
        model = ScriptedModel([ToolCall("c1", "ask", {}), "please look"])
        one = Agent(model, [RecordingToolset([tool])], check=check if check is not looked else polite)
        await one.run("?")
        assert len(model.requests) == asked


async def test_an_agent_with_a_name_tells_only_the_answer_that_is_taken() -> None:
    script: list[Said] = ["Yes.", Reply.of("I look.", [CALL]), "No.", "Yes, please."]
    told = {}
    for named in (False, True):
        one, _, _ = agent(script, check=polite)
        one = one.known_as(Naming(name="desk")) if named else one
        events = [event async for event in one.stream("?")]
        told[named] = [event.text for event in events if isinstance(event, TextDelta)]
        assert len([event for event in events if isinstance(event, AnswerRefused)]) == 2
        order = [type(event) for event in events if isinstance(event, TextDelta | ReplyFinished | AnswerRefused)]
        assert order[-2:] == [TextDelta, ReplyFinished]
    assert told == {False: ["Yes.", "I look.", "No.", "Yes, please."], True: ["I look.", "Yes, please."]}
