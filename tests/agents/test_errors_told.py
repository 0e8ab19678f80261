"""Every kind of failed call, reached by a run: the model can act on what it is told, and nothing leaks into it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import msgspec
import pytest

from actum import Agent, Answer, Limits, Tool, ToolCall, ToolError, ToolLimits, tool
from actum.core.errors import CODES
from actum.core.language.error_words import told
from actum.core.message import Message, ToolMessage
from actum.core.policy import Approver, Decision, Facts, Policy
from actum.core.run.record import CallCompleted
from actum.journal.memory import MemoryJournal
from actum.policy.rules import DEFAULT
from actum.testing import FakeClock, RecordingToolset, ScriptedApprover, ScriptedModel
from actum.toolsets.function.function import FunctionTool

pytestmark = pytest.mark.row("C2")

SECRETS = ("hunter22", "X-Api-Key", "/srv/private/ledger", "PGPASSWORD", "SELECT", "rule-of-the-house", "10.1.2.3")
FOREIGN = (
    "X-Api-Key: hunter22 was refused by 10.1.2.3 while reading /srv/private/ledger.db (PGPASSWORD=hunter22): "
    "SELECT * FROM accounts"
)
"""What exceptions of tools say: headers, paths, addresses, variables, statements."""
INSIDE = ("Traceback", 'File "', ".py", "Error(", "Exception", "tests.", "actum.", " at 0x")

ASK = ToolCall("c1", "act", {"city": "Beijing"})


def act(raised: BaseException | None = None, answer: object = "done", **facts: object) -> FunctionTool:
    """The tool `act`, which looks something up and fails like this."""

    @tool(effects={"read"}, **facts)  # type: ignore[call-overload,untyped-decorator]
    async def act(city: str) -> object:
        """Act."""
        if raised is not None:
            raise raised
        return answer

    found: FunctionTool = act
    return found


async def ran(
    *tools: FunctionTool | RecordingToolset,
    calls: int = 1,
    said: ToolCall = ASK,
    policy: Policy = DEFAULT,
    limits: Limits | None = None,
    approver: Approver | None = None,
) -> list[Message]:
    """The conversation of a run that makes a call, as often as it is told."""
    model = ScriptedModel([*[[said]] * calls, "I see."])
    clock = FakeClock(auto=True)
    agent = Agent(model, list(tools), policy=policy, limits=limits, approver=approver, clock=clock)
    return list((await agent.run("go")).messages)


async def expired() -> list[Message]:
    clock = FakeClock()
    agent = Agent(
        ScriptedModel([[ASK], "I see."]), [act(approval=True)], limits=Limits(approval_seconds=60), clock=clock
    )
    paused = await agent.run("go", run_id="r")
    clock.advance(61)
    return list((await agent.resume("r", {paused.pending[0].id: "approve"})).messages)


async def in_doubt() -> list[Message]:
    """A journal that ends within a call that may not be repeated."""

    @tool(effects={"spend"})
    async def act(city: str) -> str:
        """Act."""
        return city

    agent = Agent(ScriptedModel([[ASK], "I see."]), [act])
    await agent.run("go", run_id="r")
    entries = await agent.journal.read("r")
    left = MemoryJournal()
    for entry in entries[: next(n for n, each in enumerate(entries) if isinstance(each.record, CallCompleted))]:
        left.append("r", entry.record)
    other = Agent(ScriptedModel(["I see."]), [act], journal=left)
    paused = await other.resume("r")
    return list((await other.resume("r", {paused.pending[0].id: "unknown"})).messages)


async def cancelled() -> list[Message]:
    """The run after one that was cancelled within a call."""
    started = asyncio.Event()

    @tool(effects={"read"})
    async def act(city: str) -> str:
        """Act."""
        started.set()
        await asyncio.Event().wait()
        return city

    agent = Agent(ScriptedModel([[ASK], "I see."]), [act])
    task = asyncio.create_task(agent.run("go", conversation="c"))
    await started.wait()
    task.cancel()
    await asyncio.wait([task])
    return list((await agent.run("and?", conversation="c")).messages)


class WebApplication:
    """A policy with a rule that is nobody's business."""

    def decide(self, tool: Tool, call: ToolCall, facts: Facts) -> Decision:
        return Decision("deny", "rule-of-the-house", "Not on Sundays.")


NUMBER = Tool(name="act", parameters={"type": "object"}, result={"type": "integer"}, effects=frozenset({"read"}))

REACHED: dict[str, Callable[[], Awaitable[list[Message]]]] = {
    "unknown_tool": lambda: ran(act(), said=ToolCall("c1", "atc", {})),
    "invalid_arguments": lambda: ran(act(), said=ToolCall("c1", "act", {"city": 5, "key": 1})),
    "permission_denied": lambda: ran(act(), policy=WebApplication()),
    "approval_denied": lambda: ran(act(approval=True), approver=ScriptedApprover(Answer("deny", "Not today."))),
    "approval_expired": expired,
    "budget_exceeded": lambda: ran(act(), calls=2, limits=Limits(tools={"act": ToolLimits(calls=1)})),
    "loop_detected": lambda: ran(act(), calls=4),
    "rate_limited": lambda: ran(act(), calls=2, limits=Limits(tools={"act": ToolLimits(per_minute=1)})),
    "unavailable": lambda: ran(act(ConnectionRefusedError(111, FOREIGN))),
    "timeout": lambda: ran(act(ConnectionResetError(FOREIGN))),
    "in_doubt": in_doubt,
    "tool_error": lambda: ran(act(ToolError("There is no such city."))),
    "tool_bug": lambda: ran(act(RuntimeError(FOREIGN))),
    "invalid_result": lambda: ran(RecordingToolset([NUMBER], lambda call: "a word")),
    "resource_limit": lambda: ran(act(MemoryError(FOREIGN))),
    "cancelled": cancelled,
}


def test_every_kind_is_reached() -> None:
    assert REACHED.keys() == CODES.keys()


@pytest.mark.parametrize("code", REACHED)
async def test_the_model_is_told_what_it_can_act_on_and_nothing_of_the_inside(
    code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", "hunter22")
    messages = await REACHED[code]()
    failures = [m.result.error for m in messages if isinstance(m, ToolMessage) and m.result.error is not None]
    assert [failure.code for failure in failures][-1] == code
    heard = msgspec.json.encode(messages).decode() + "".join(
        m.result.text for m in messages if isinstance(m, ToolMessage)
    )
    assert [word for word in (*SECRETS, *INSIDE) if word in heard] == []
    assert failures[-1].message
    assert all(told(failures[-1], language) for language in ("en", "zh"))


BUGS: list[BaseException] = [
    *(KeyError(FOREIGN), OSError(2, FOREIGN, "/srv/private/ledger"), TimeoutError(FOREIGN), RecursionError(FOREIGN)),
    *(UnicodeDecodeError("utf-8", FOREIGN.encode(), 0, 1, FOREIGN), ExceptionGroup(FOREIGN, [ValueError(FOREIGN)])),
    *(AssertionError(FOREIGN), StopAsyncIteration(FOREIGN), asyncio.CancelledError(FOREIGN), EOFError(FOREIGN)),
]


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: type(bug).__name__)
async def test_no_exception_of_a_tool_says_anything_to_the_model(bug: BaseException) -> None:
    heard = msgspec.json.encode(await ran(act(bug))).decode()
    assert [word for word in (*SECRETS, *INSIDE) if word in heard] == []
    assert '"code":"' in heard


async def test_where_it_failed_stands_on_record_under_the_reference() -> None:
    agent = Agent(ScriptedModel([[ASK], "I see."]), [act(RuntimeError(FOREIGN))])
    result = await agent.run("go", run_id="r")
    error = result.calls[0][1].error
    assert error is not None
    assert error.reference.startswith("ref_")
    assert error.reference in error.message
    records = [entry.record for entry in await agent.journal.read("r")]
    (settled,) = [record for record in records if isinstance(record, CallCompleted)]
    assert "RuntimeError at " in settled.detail
    assert FOREIGN not in settled.detail
