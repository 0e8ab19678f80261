"""An answer is read as the agent's type, whatever stands around its JSON; without an answer there is no output."""

from __future__ import annotations

import typing
from dataclasses import dataclass, field

import pytest
from pydantic import BaseModel, field_validator
from typing_extensions import TypedDict

from actum import Agent, Context, ToolCall, tool
from actum.agents.output import typed
from actum.core.errors import UsageError
from actum.core.event import RunFinished
from actum.testing import ScriptedModel


class Invoice(BaseModel):
    total: int

    @field_validator("total")
    @classmethod
    def is_not_thirteen(cls, value: int) -> int:
        if value == 13:
            raise ValueError("13 brings bad luck")
        return value


@dataclass
class Refusal:
    reason: str
    hints: list[str] = field(default_factory=list)


class Line(TypedDict):
    text: str


class Node(BaseModel):
    name: str
    children: list[Node] = []


class Boxed(BaseModel):
    answer: int


READ: list[tuple[object, str, object]] = [
    (Invoice, '{"total": 5}', Invoice(total=5)),
    (Invoice, '```json\n{"total": 5}\n```', Invoice(total=5)),
    (Invoice, 'Here it is:\n\n```\n{"total": 5}\n```\nAnything else?', Invoice(total=5)),
    (Invoice, 'The invoice {"total": 5} is what [1] says, see {this}.', Invoice(total=5)),
    (Invoice, 'He said "{". So: {"total": 5}', Invoice(total=5)),
    (Invoice, 'First {"total": "x"}, then {"total": 5}', Invoice(total=5)),
    (Invoice, '{"total": 5} and once more {"total":5}', Invoice(total=5)),
    (Refusal, '{"reason": "no", "hints": null}', Refusal("no")),
    (Line, 'Sure! {"text": "tea {hot} \\" [now]"}', {"text": 'tea {hot} " [now]'}),
    (list[int], '{"answer": [1, 2]}', [1, 2]),
    (list[int], "[1, 2]", [1, 2]),
    (list[int], "The numbers are: [1, 2].", [1, 2]),
    (list[Line], 'I found [{"text": "tea"}] for you', [{"text": "tea"}]),
    (Invoice | Refusal, 'So: {"answer": {"reason": "no"}}', Refusal("no")),
    (Invoice | Refusal, '{"reason": "no"}', Refusal("no")),
    (int, '{"answer": 5}', 5),
    (int, "5", 5),
    (int | None, '{"answer": null}', None),
    (dict[str, int], '{"answer": 5}', {"answer": 5}),
    (Boxed, '{"answer": 5}', Boxed(answer=5)),
    (Boxed | Invoice, '{"answer": 5}', Boxed(answer=5)),
    (Node, '{"answer": {"name": "a", "children": [{"name": "b"}]}}', Node(name="a", children=[Node(name="b")])),
]

UNREAD: list[tuple[object, str, str]] = [
    (Invoice, 'It is {"total": 5} or {"total": 6}', "2 different JSON values that fit"),
    (Invoice, '{"total": 5, "total": 6}', "given twice"),
    (Invoice, '{"total": 13}', "13 brings bad luck"),
    (Invoice, 'Well: {"total": "x"}', "total: Input should be a valid integer"),
    (Invoice, "[" * 100_000, "nested deeper"),
    (Invoice, '{"total": ' * 10_000, "nested deeper"),
    (Invoice, "", "Expecting value"),
    (Refusal, "Look at {} and []", "Expecting value"),
    (list[int], "As [1] and [2, 3] say, I do not know.", "Expecting value"),
    (int, "It is 5.", "Expecting value"),
    (int, '{"answer": "five"}', "valid integer"),
    (Node, '{"answer": {"children": []}}', "name: Field required"),
]


def test_an_answer_is_read_in_a_fence_and_in_a_sentence_and_only_where_one_value_fits() -> None:
    for output_type, text, value in READ:
        _, check = typed(output_type)  # type: ignore[arg-type]  # each is a type
        assert check(text) == (value, ""), (output_type, text)
    for output_type, text, problem in UNREAD:
        _, check = typed(output_type)  # type: ignore[arg-type]  # likewise
        value, told = check(text)
        assert value is None, (output_type, text[:80])
        assert problem in told, (output_type, text[:80], told)


def test_the_schema_of_every_type_is_that_of_an_object() -> None:
    for output_type in (Invoice, Refusal, Line, list[Line], Invoice | Refusal, int | None, Node, dict[str, int]):
        schema, _ = typed(output_type)  # type: ignore[arg-type]  # each is a type
        assert schema["type"] == "object", output_type
        assert "$ref" not in schema, output_type


class OldLine(typing.TypedDict):
    text: str


def test_a_type_that_can_not_be_read_is_refused_when_the_agent_is_made() -> None:
    for output_type, problem in ((object(), "pydantic can not"), (typing.Callable, "pydantic can not")):
        with pytest.raises(UsageError, match=problem):
            Agent(ScriptedModel([]), output_type=output_type)  # type: ignore[arg-type]  # it is wrong
    try:
        Agent(ScriptedModel([]), output_type=list[OldLine])
    except UsageError as error:  # before Python 3.12
        assert "import TypedDict from typing_extensions" in str(error)  # noqa: PT017  # newer versions raise nothing


@tool(approval=True)
def pay() -> str:
    """Pay."""
    return "paid"


async def test_a_run_without_an_answer_has_no_output_and_says_so() -> None:
    paused = await Agent(ScriptedModel([[ToolCall("1", "pay", {})]]), [pay], output_type=Invoice).run("Pay")
    stopped = await Agent(ScriptedModel(["no"] * 3), output_type=Invoice).run("?")
    for result, status in ((paused, "paused"), (stopped, "stopped")):
        assert (result.status, result.output_or_none) == (status, None)
        with pytest.raises(UsageError, match=f"is {status} and has no output: result."):
            _ = result.output
    done = await Agent(ScriptedModel(["Hi."])).run("Hi")
    assert done.output == done.output_or_none == done.text == "Hi."


async def test_the_last_event_and_a_resumed_run_have_the_output_too() -> None:
    script = ScriptedModel([[ToolCall("1", "pay", {})], 'Done: {"total": 5}'])
    agent = Agent(script, [pay], output_type=Invoice)
    paused = await agent.run("Pay")
    assert (await agent.resume(paused.run_id, {paused.pending[0].id: "approve"})).output == Invoice(total=5)
    events = [event async for event in Agent(ScriptedModel(['{"total": 5}']), output_type=Invoice).stream("?")]
    last = events[-1]
    assert isinstance(last, RunFinished)
    assert last.result.output == Invoice(total=5)


async def test_a_context_that_says_the_type_of_its_deps_is_filled_in_like_a_plain_one() -> None:
    def one(ctx: Context[Invoice]) -> int:
        """One."""
        return ctx.deps.total

    def other(ctx: Context[Invoice] | None = None) -> int:
        """Other."""
        return ctx.deps.total if ctx is not None else 0

    def plain(ctx: Context) -> str:
        """Plain."""
        return type(ctx.deps).__name__

    calls = [ToolCall(str(number), name, {}) for number, name in enumerate(("one", "other", "plain"))]
    agent = Agent(ScriptedModel([calls, "Done."]), [one, other, plain])
    result = await agent.run("?", context=Invoice(total=5))
    assert [outcome.text for _, outcome in result.calls] == ["5", "5", "Invoice"]
