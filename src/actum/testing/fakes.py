"""Fakes of every protocol, for actum's own tests and for yours. They keep the contracts: nothing is to be patched."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Sequence

import msgspec

from ..core.call import ToolCall, ToolResult
from ..core.errors import CallError, ScriptExhausted
from ..core.event import CallSaid, Delta, TextDelta
from ..core.interfaces import Context
from ..core.json import Json, JsonObject, dumps
from ..core.message import Reply
from ..core.model import Request
from ..core.policy import Answer
from ..core.run.pending import Pending
from ..core.tool import Tool
from ..policy.mandate import TITLE

Said = str | ToolCall | Sequence[ToolCall] | Reply | Exception
"""One turn of a script: text, a call, several calls, a whole reply, or an error to raise."""


class ScriptedModel:
    """A `Model` that says what it is told to say. No I/O.

    Args:
        script: its turns in order, or a function of the request that returns the next one.
        name: its name in records.
        mandate: what it says where it is asked for a mandate (`actum.Mandate`): a value, a text, or a function of the
            request. None: nothing, so that the mandate is empty. No turn of the script.

    Attributes:
        requests: what it was asked, in order. `messages` of each is a copy of that moment.
        mandates: how it was asked for mandates, in order.
        tells_usage: its replies use the tokens that the script says, and no others: nothing is estimated.

    Raises:
        ScriptExhausted: by `reply`, beyond the end of the script.

    >>> import asyncio
    >>> asyncio.run(ScriptedModel(["Hi."]).reply(Request(messages=[]))).text
    'Hi.'
    """

    tells_usage = True

    def __init__(
        self,
        script: Sequence[Said] | Callable[[Request], Said],
        name: str = "scripted",
        *,
        mandate: JsonObject | str | Callable[[Request], Said] | None = None,
    ) -> None:
        self.name = name
        self.requests: list[Request] = []
        self.mandates: list[Request] = []
        self._script = script
        self._mandate = mandate

    async def reply(self, request: Request, emit: Callable[[Delta], None] | None = None) -> Reply:
        if (request.output_schema or {}).get("title") == TITLE:
            self.mandates.append(request)
            said = self._mandated(request)
        else:
            self.requests.append(msgspec.structs.replace(request, messages=list(request.messages)))
            said = self._next(request)
        if isinstance(said, Exception):
            raise said
        reply = _as_reply(said)
        tell(reply, emit)
        return reply

    def _mandated(self, request: Request) -> Said:
        if callable(self._mandate):
            return self._mandate(request)
        return self._mandate if isinstance(self._mandate, str) else dumps(self._mandate)

    def _next(self, request: Request) -> Said:
        if callable(self._script):
            return self._script(request)
        turn = len(self.requests) - 1
        if turn >= len(self._script):
            raise ScriptExhausted("the script has {count} turns and was asked for one more", count=len(self._script))
        return self._script[turn]


def tell(reply: Reply, emit: Callable[[Delta], None] | None) -> None:
    """Tell a reply as a model streams it: its text, then its calls."""
    if emit is None:
        return
    if reply.text:
        emit(TextDelta(reply.text))
    for index, call in enumerate(reply.calls):
        emit(CallSaid(index, call))


def _as_reply(said: Said) -> Reply:
    match said:
        case Reply():
            return said
        case str():
            return Reply.of(said)
        case ToolCall():
            return Reply.of(calls=[said])
        case Exception():
            raise said
        case _:
            return Reply.of(calls=said)


class RecordingToolset:
    """A `Toolset` that writes down what reaches it and answers as it is told.

    Args:
        tools: the tools that it has.
        answer: for a call, the result's value, a whole result, or an error to raise.

    Attributes:
        executed: each call that reached a tool, in order.
        contexts: the context of each.
    """

    def __init__(
        self, tools: Sequence[Tool], answer: Callable[[ToolCall], Json | ToolResult | CallError] = lambda call: "ok"
    ) -> None:
        self.tools = list(tools)
        self.generation = 0
        self.executed: list[ToolCall] = []
        self.contexts: list[Context] = []
        self._answer = answer

    async def list_tools(self) -> Sequence[Tool]:
        return list(self.tools)

    def change(self, tools: Sequence[Tool]) -> None:
        """Have other tools from now on."""
        self.tools = list(tools)
        self.generation += 1

    async def execute(self, call: ToolCall, context: Context) -> ToolResult:
        self.executed.append(call)
        self.contexts.append(context)
        answer = self._answer(call)
        if isinstance(answer, CallError):
            raise answer
        return answer if isinstance(answer, ToolResult) else ToolResult(call.id, structured=answer)


class ScriptedApprover:
    """An `Approver` that gives these answers in order, then none.

    Attributes:
        asked: what it was shown.
    """

    def __init__(self, *answers: Answer) -> None:
        self.asked: list[Pending] = []
        self._answers = list(answers)

    async def ask(self, pending: Pending) -> Answer | None:
        self.asked.append(pending)
        return self._answers.pop(0) if self._answers else None


class FakeClock:
    """A `Clock` that stands still until it is told to move.

    Args:
        now: seconds since 1970 to begin with.

    Attributes:
        slept: how long each sleep was asked to be.
        auto: a sleep moves the clock and returns at once, instead of waiting for `advance`.
    """

    def __init__(self, now: float = 1_000_000.0, *, auto: bool = False) -> None:
        self._now = now
        self._passed = 0.0
        self.auto = auto
        self.slept: list[float] = []
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []
        self._timeouts: list[tuple[float, asyncio.Timeout]] = []

    def now(self) -> float:
        return self._now

    def monotonic(self) -> float:
        return self._passed

    def set(self, now: float) -> None:
        """Set the clock, back or forward, as a person or a time server does: no time passes by that."""
        self._now = now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        if self.auto:
            self.advance(seconds)
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.append((self._passed + seconds, future))
        await future

    def timeout(self, seconds: float | None) -> asyncio.Timeout:
        timeout = asyncio.timeout(0 if seconds is not None and seconds <= 0 else None)
        if seconds is not None:
            self._timeouts.append((self._passed + seconds, timeout))
        return timeout

    @contextlib.contextmanager
    def hold(self, timeout: asyncio.Timeout) -> Iterator[None]:
        held = [due - self._passed for due, each in self._timeouts if each is timeout]
        self._timeouts = [item for item in self._timeouts if item[1] is not timeout]
        yield
        self._timeouts += [(self._passed + left, timeout) for left in held]

    def advance(self, seconds: float) -> None:
        """Move on: sleepers whose time has come wake, blocks whose time is over end."""
        self._now += seconds
        self._passed += seconds
        for due, future in self._sleepers:
            if due <= self._passed and not future.done():
                future.set_result(None)
        for due, timeout in self._timeouts:
            if due <= self._passed:
                with contextlib.suppress(RuntimeError):  # its block was left before its time was over
                    timeout.reschedule(asyncio.get_running_loop().time())
        self._sleepers = [item for item in self._sleepers if item[0] > self._passed]
        self._timeouts = [item for item in self._timeouts if item[0] > self._passed]
