"""One conversation with a server that hangs, lies or floods; the server is a script at the other end of a real pair of
streams.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
import pytest
from mcp.shared.dispatcher import DispatchContext
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.memory import MessageStream, create_client_server_memory_streams
from mcp.shared.transport_context import TransportContext

from actum.core.call import ToolCall
from actum.core.errors import CallError, CallTimeout, InvalidResult
from actum.core.interfaces import InputRequired
from actum.core.json import Json, JsonObject
from actum.core.run.pending import Pending
from actum.protocols.mcp.config import McpEra
from actum.testing import FakeClock
from actum.toolsets.mcp.error import METHOD_NOT_FOUND, MISSING_CAPABILITY, UNSUPPORTED_VERSION, McpError
from actum.toolsets.mcp.limit import TimeLimit
from actum.toolsets.mcp.session import LEGACY, MODERN, NOBODY, ROUNDS_MAX, Caller, McpSession

from .test_stdio import until

pytestmark = pytest.mark.row("T4")

Dispatch = DispatchContext[TransportContext]
Says = Callable[[str, JsonObject], object]
"""What a server answers to a request: a result, an error that is raised, or `HANGS`."""

HANGS = object()
FOUND: JsonObject = {"supportedVersions": [MODERN], "capabilities": {"tools": {}}}
SHAKEN: JsonObject = {"protocolVersion": LEGACY, "capabilities": {"tools": {}}, "serverInfo": {"name": "old"}}
ASKS: JsonObject = {
    "resultType": "input_required",
    "inputRequests": {"q": {"method": "elicitation/create", "params": {"message": "Your name?"}}},
}
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"


class Scripted:
    """A server that answers as it is told, and remembers what it was asked."""

    def __init__(self, says: Says) -> None:
        self._says = says
        self.asked: list[tuple[str, JsonObject]] = []

    @property
    def methods(self) -> list[str]:
        return [method for method, _ in self.asked]

    async def answer(self, _: Dispatch, method: str, params: object) -> dict[str, Json]:
        given = params if isinstance(params, dict) else {}
        self.asked.append((method, given))
        said = self._says(method, given)
        if said is HANGS:
            await asyncio.Event().wait()
        if isinstance(said, Exception):
            raise said
        return said  # type: ignore[return-value]  # a server says what it likes


class Named:
    """A caller who answers with its own name."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.capabilities: JsonObject = {"elicitation": {"form": {}}, "experimental": {name: {}}}
        self.asked = 0

    async def answer(self, method: str, params: JsonObject) -> JsonObject:
        self.asked += 1
        return {"action": "accept", "content": {"name": self.name}}

    def told(self, method: str, params: JsonObject) -> None:
        return


class Away(Named):
    """A caller who can not answer now."""

    async def answer(self, method: str, params: JsonObject) -> JsonObject:
        raise InputRequired(Pending("p", "elicitation", "Your name?", ToolCall(id="1", name="x", arguments={})))


async def _refuses(*_: object) -> dict[str, Json]:
    raise MCPError(METHOD_NOT_FOUND, "nothing is asked of the client here")


async def _ignores(*_: object) -> None:
    return


@asynccontextmanager
async def talking(says: Says, clock: FakeClock | None = None) -> AsyncIterator[tuple[McpSession, Scripted]]:
    """A session that has not begun, and the server at its other end."""
    server = Scripted(says)

    def dispatcher(streams: MessageStream) -> JSONRPCDispatcher[TransportContext]:
        return JSONRPCDispatcher(*streams)

    async with create_client_server_memory_streams() as (ours, theirs), anyio.create_task_group() as group:
        near, far = dispatcher(ours), dispatcher(theirs)
        await group.start(near.run, _refuses, _ignores)
        await group.start(far.run, server.answer, _ignores)
        yield McpSession(near, clock or FakeClock()), server
        group.cancel_scope.cancel()


def modern(*results: object) -> Says:
    """A server without a handshake that answers calls with these, and with the last of them for ever."""
    left = list(results)

    def says(method: str, params: JsonObject) -> object:
        if method == "server/discover":
            return FOUND
        return left.pop(0) if len(left) > 1 else left[0]

    return says


async def begun(session: McpSession, era: McpEra = "modern") -> None:
    await session.begin(era, 1.0, 1.0, silence_is_legacy=True)


async def called(session: McpSession, caller: Caller = NOBODY, paused: JsonObject | None = None) -> JsonObject:
    limit = TimeLimit(FakeClock(), 60.0, 60.0)
    return await session.request("tools/call", {"name": "x", "arguments": {}}, caller, limit, paused=paused)


async def advanced(clock: FakeClock, doing: asyncio.Task[object]) -> None:
    """Let time go by until something is over."""
    while not doing.done():
        await asyncio.sleep(0)
        clock.advance(1.0)


# Hangs ----------------------------------------------------------------------------------------------------------------


async def test_a_server_that_is_silent_is_given_up_in_time_and_nothing_was_done() -> None:
    cases: list[tuple[McpEra, bool, list[str]]] = [
        ("modern", True, ["server/discover"]),
        ("auto", False, ["server/discover"]),
        ("auto", True, ["server/discover", "initialize"]),
        ("legacy", True, ["initialize"]),
    ]
    for era, silence_is_legacy, methods in cases:
        clock = FakeClock()
        async with talking(lambda method, params: HANGS, clock) as (session, server):
            beginning: asyncio.Task[object] = asyncio.create_task(
                session.begin(era, 5.0, 5.0, silence_is_legacy=silence_is_legacy)
            )
            await advanced(clock, beginning)
            with pytest.raises(CallTimeout) as late:
                await beginning
        assert late.value.failure().effect == "none", (era, silence_is_legacy)
        assert server.methods == methods, (era, silence_is_legacy)


async def test_a_server_that_is_silent_about_the_new_protocol_may_still_shake_hands() -> None:
    clock = FakeClock()

    def says(method: str, params: JsonObject) -> object:
        return SHAKEN if method == "initialize" else HANGS

    async with talking(says, clock) as (session, server):
        beginning = asyncio.create_task(session.begin("auto", 5.0, 5.0, silence_is_legacy=True))
        await until(lambda: server.methods == ["server/discover"])
        clock.advance(5.0)
        await beginning
        assert (session.facts.era, session.facts.version) == ("legacy", LEGACY)


# Lies -----------------------------------------------------------------------------------------------------------------


async def test_what_a_server_says_of_itself_is_kept_only_where_it_has_the_right_kind() -> None:
    odd: list[Json] = [None, 1, "x", [], [1]]
    for lie in odd:
        found: JsonObject = {"supportedVersions": [MODERN], "capabilities": lie, "instructions": [lie], "_meta": lie}
        async with talking(lambda method, params, found=found: found) as (session, _):  # type: ignore[misc]
            await begun(session)
            facts = session.facts
        assert (facts.capabilities, facts.info, facts.instructions) == ({}, {}, ""), lie


async def test_a_server_that_names_no_version_which_we_speak_is_refused_with_an_error_of_a_call() -> None:
    lies: list[Json] = [None, 1, MODERN, {MODERN: True}, [], ["2099-01-01"], [None]]
    for lie in lies:
        for era, answer in (("modern", {"supportedVersions": lie}), ("legacy", {"protocolVersion": lie})):
            async with talking(lambda method, params, answer=answer: answer) as (session, _):  # type: ignore[misc]
                with pytest.raises(CallError):
                    await begun(session, "modern" if era == "modern" else "legacy")


async def test_an_error_that_names_odd_versions_is_an_error_and_no_fault() -> None:
    lies: list[Json] = [None, 1, "x", [], {"supported": None}, {"supported": "all"}, {"supported": [None, {}]}]
    for data in lies:
        error = MCPError(UNSUPPORTED_VERSION, "no", data)
        async with talking(lambda method, params, error=error: error) as (session, _):  # type: ignore[misc]
            with pytest.raises(McpError):
                await begun(session, "auto")


async def test_a_server_that_asks_back_without_saying_what_is_not_sent_the_call_again() -> None:
    lies: list[JsonObject] = [
        {"inputRequests": []},
        {"inputRequests": "name"},
        {"inputRequests": {}},
        {},
        {"inputRequests": None},
    ]
    for lie in lies:
        async with talking(modern({"resultType": "input_required", **lie})) as (session, server):
            await begun(session)
            with pytest.raises(InvalidResult) as wrong:
                await called(session, Named("Ada"))
        assert wrong.value.failure().effect == "unknown", lie
        assert server.methods.count("tools/call") == 1, lie


async def test_a_server_asks_nothing_that_its_caller_did_not_declare() -> None:
    questions = [("sampling/createMessage", MISSING_CAPABILITY), ("roots/list", MISSING_CAPABILITY)]
    questions += [("tools/call", METHOD_NOT_FOUND), ("None", METHOD_NOT_FOUND)]
    for method, code in questions:
        asks: JsonObject = {"resultType": "input_required", "inputRequests": {"q": {"method": method}}}
        caller = Named("Ada")
        async with talking(modern(asks)) as (session, _):
            await begun(session)
            with pytest.raises(McpError) as refused:
                await called(session, caller)
        assert (refused.value.rpc_code, caller.asked) == (code, 0), method


async def test_a_task_that_nobody_declared_to_know_is_no_result() -> None:
    async with talking(modern({"resultType": "task", "taskId": "t", "status": "working"})) as (session, server):
        await begun(session)
        with pytest.raises(InvalidResult, match="which nobody asked for"):
            await called(session, Named("Ada"))
        assert "tasks/get" not in server.methods


# Floods ---------------------------------------------------------------------------------------------------------------


async def test_a_server_that_asks_back_for_ever_is_left_after_so_many_rounds() -> None:
    caller = Named("Ada")
    async with talking(modern(ASKS)) as (session, server):
        await begun(session)
        with pytest.raises(McpError, match=f"asked back {ROUNDS_MAX} times") as flooded:
            await called(session, caller)
    assert flooded.value.effect == "unknown", "the server may have done something each time"
    assert (server.methods.count("tools/call"), caller.asked) == (ROUNDS_MAX + 1, ROUNDS_MAX)


# Two at once, and one that waits --------------------------------------------------------------------------------------


async def test_of_two_callers_at_once_each_is_declared_and_asked_for_itself() -> None:
    def says(method: str, params: JsonObject) -> object:
        if method == "server/discover":
            return FOUND
        meta, responses = params["_meta"], params.get("inputResponses")
        assert isinstance(meta, dict)
        if responses is None:
            return ASKS
        return {"content": [], "structuredContent": {"declared": meta[CAPABILITIES], "answered": responses}}

    callers = [Named(f"user {number}") for number in range(20)]
    async with talking(says) as (session, _):
        await begun(session)
        results = await asyncio.gather(*(called(session, caller) for caller in callers))
    for caller, result in zip(callers, results, strict=True):
        found = result["structuredContent"]
        answer: JsonObject = {"q": {"action": "accept", "content": {"name": caller.name}}}
        assert found == {"declared": caller.capabilities, "answered": answer}, caller.name


async def test_a_call_that_paused_goes_on_from_there_and_is_not_sent_as_a_new_call() -> None:
    asks: JsonObject = {**ASKS, "requestState": "sealed"}
    async with talking(modern(asks, {"content": []})) as (session, server):
        await begun(session)
        with pytest.raises(InputRequired) as paused:
            await called(session, Away("Ada"))
        assert server.methods.count("tools/call") == 1
        await called(session, Named("Ada"), paused=asks)
    assert paused.value.state
    _, sent = server.asked[-1]
    assert server.methods.count("tools/call") == 2
    assert sent["requestState"] == "sealed"
    assert sent["inputResponses"] == {"q": {"action": "accept", "content": {"name": "Ada"}}}
