"""Connections to servers that behave, and to one that does not: real processes on pipes, in both eras."""

from __future__ import annotations

import asyncio
import json
import random
import sys

import pytest
from msgspec.structs import replace
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, use_span

from actum.core.call import ToolCall
from actum.core.errors import CallTimeout, Unavailable, UsageError
from actum.core.interfaces import InputRequired
from actum.core.json import Json, JsonObject
from actum.core.run.pending import Pending
from actum.protocols.mcp.config import McpEra, McpServer
from actum.testing import FakeClock
from actum.toolsets.mcp.connection import McpConnection
from actum.toolsets.mcp.error import McpError
from tests.endurance import share

from .test_stdio import (
    called,
    children,
    odd,
    said,
    until,
)

FORM: JsonObject = {"elicitation": {"form": {}}}


class Somebody:
    """A caller who answers with its own name, and remembers what it was told."""

    def __init__(self, name: str = "Ada", capabilities: JsonObject | None = None) -> None:
        self.name = name
        self.capabilities: JsonObject = {**FORM, "roots": {}} if capabilities is None else capabilities
        self.asked: list[str] = []
        self.heard: list[tuple[str, Json]] = []
        self.hold = asyncio.Event()
        self.hold.set()

    async def answer(self, method: str, params: JsonObject) -> JsonObject:
        self.asked.append(method)
        await self.hold.wait()
        return {"roots": []} if method == "roots/list" else {"action": "accept", "content": {"name": self.name}}

    def told(self, method: str, params: JsonObject) -> None:
        self.heard.append((method, params.get("progress", params.get("data"))))


class Absent(Somebody):
    """One who can not answer now."""

    async def answer(self, method: str, params: JsonObject) -> JsonObject:
        raise InputRequired(Pending("q", "elicitation", "Your name?", ToolCall(id="1", name="x", arguments={})))


class Broken(Somebody):
    """One with a fault."""

    async def answer(self, method: str, params: JsonObject) -> JsonObject:
        raise RuntimeError("secret inside")


def asking(method: str = "elicitation/create") -> JsonObject:
    return {"name": "ask", "arguments": {"method": method, "params": {"message": "Your name?"}}}


async def settled(connection: McpConnection) -> None:
    """Wait until the end of a connection was noticed."""
    await until(lambda: connection.health.state != "up")


# Eras -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "era", "found", "version"),
    [
        ((), "auto", "modern", "2026-07-28"),
        (("legacy",), "auto", "legacy", "2025-06-18"),
        (("modern",), "auto", "modern", "2026-07-28"),
        ((), "legacy", "legacy", "2025-06-18"),
        ((), "modern", "modern", "2026-07-28"),
    ],
)
async def test_the_era_is_found_out_or_pinned(words: tuple[str, ...], era: McpEra, found: str, version: str) -> None:
    async with McpConnection(odd(*words, era=era)) as connection:
        facts = await connection.facts()

    assert (facts.era, facts.version, facts.info["name"]) == (found, version, "odd")


async def test_a_pinned_era_that_a_server_does_not_speak_is_an_error() -> None:
    async with McpConnection(odd("legacy", era="modern")) as connection:
        with pytest.raises(Unavailable, match="can not be reached: The server refused"):
            await connection.facts()


@pytest.mark.parametrize(("now", "before"), [("modern", "legacy"), ("legacy", "modern")])
async def test_a_remembered_era_that_a_server_has_left_is_found_out_anew(now: str, before: McpEra) -> None:
    async with McpConnection(odd(now), era=before) as connection:
        assert (await connection.facts()).era == now


async def test_a_server_that_is_slow_to_start_is_not_taken_for_one_of_old() -> None:
    clock = FakeClock()
    async with McpConnection(odd("slow"), clock=clock) as connection:
        asking = asyncio.create_task(connection.facts())
        await until(lambda: "asked" in connection.health.stderr)
        clock.advance(11)

        assert (await asking).era == "modern"


async def test_a_local_server_that_says_nothing_is_given_up() -> None:
    clock = FakeClock()
    connection = McpConnection(odd("mute"), clock=clock)
    asking = asyncio.create_task(connection.facts())

    def is_over() -> bool:
        clock.advance(1)
        return asking.done()

    await until(is_over)

    with pytest.raises(Unavailable, match="does not answer initialize"):
        await asking
    assert connection.health.state == "resting"
    with pytest.raises(Unavailable, match=r"It is tried again in [45]\d s"):
        await connection.facts()
    await connection.close()


# Requests -------------------------------------------------------------------------------------------------------------


async def test_a_request_without_a_handshake_says_who_sends_it_and_what_its_caller_can_do() -> None:
    async with McpConnection(odd()) as connection:
        params: JsonObject = {"name": "echo", "_meta": {"mine": 1}}
        result = await connection.request("tools/call", params, caller=Somebody(capabilities=FORM))
        other = await called(connection, "echo")

    meta = json.loads(said(result))["_meta"]
    assert meta["mine"] == 1
    assert meta["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
    assert meta["io.modelcontextprotocol/clientCapabilities"] == FORM
    assert meta["io.modelcontextprotocol/clientInfo"]["name"] == "actum"
    assert json.loads(said(other))["_meta"]["io.modelcontextprotocol/clientCapabilities"] == {}
    assert result["ownField"] == {"kept": True}


async def test_a_request_belongs_to_the_trace_of_whoever_makes_it() -> None:
    here = SpanContext(trace_id=0xABC, span_id=0xDEF, is_remote=False, trace_flags=TraceFlags(1))
    async with McpConnection(odd()) as connection:
        with use_span(NonRecordingSpan(here)):
            meta = json.loads(said(await called(connection, "echo")))["_meta"]

    assert meta["traceparent"].startswith(f"00-{0xABC:032x}-")


@pytest.mark.parametrize(
    ("era", "uris", "told"),
    [
        ("modern", (), "notifications/tools/list_changed"),
        ("legacy", ("memo://1",), "notifications/resources/updated"),
    ],
)
async def test_whoever_listens_is_told_of_changes(era: McpEra, uris: tuple[str, ...], told: str) -> None:
    heard: list[str] = []
    async with McpConnection(odd(era=era), changed=lambda method, _: heard.append(method)) as connection:
        connection.listen(uris)
        await until(lambda: bool(heard))
        assert said(await called(connection, "echo"))

    assert heard == [told]


async def test_pages_are_walked_and_an_empty_one_is_not_the_end() -> None:
    async with McpConnection(odd()) as connection:
        tools = await connection.list_all("tools/list")

    assert tools == [{"name": "one", "inputSchema": {}, "extra": 1}, {"name": "two"}]


async def test_of_pages_that_go_in_a_circle_each_thing_is_listed_once_where_the_fault_is_heard() -> None:
    faults: list[object] = []
    async with McpConnection(odd("circle")) as connection:
        with pytest.raises(McpError, match="do not end"):
            await connection.list_all("tools/list")
        tools = await connection.list_all("tools/list", note=faults.append)

    assert [tool["name"] for tool in tools] == ["one", "two"]
    assert "do not end" in str(faults)


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_progress_is_told_to_whoever_made_the_request(era: McpEra) -> None:
    ada, bob = Somebody("Ada"), Somebody("Bob")
    async with McpConnection(odd(era=era)) as connection:
        await connection.request("tools/call", {"name": "steps"}, caller=ada)
        await connection.request("tools/call", {"name": "echo"}, caller=bob)

    assert ada.heard == [("notifications/progress", 1), ("notifications/progress", 2)]
    assert bob.heard == []


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_request_that_takes_too_long_is_cancelled_and_breaks_nothing(era: McpEra) -> None:
    clock = FakeClock()
    ada = Somebody()
    async with McpConnection(odd(era=era), clock=clock) as connection:
        waiting = asyncio.create_task(connection.request("tools/call", {"name": "silence"}, caller=ada))
        await until(lambda: bool(ada.heard))
        clock.advance(60)

        with pytest.raises(CallTimeout, match="in time") as late:
            await waiting

        assert late.value.effect == "unknown"
        assert said(await connection.request("tools/call", {"name": "echo"}, caller=ada))
        assert any(line.startswith("cancelled") for line in connection.health.stderr)
        assert connection.health.restarts == 0


async def test_whoever_stops_waiting_cancels_the_request_and_breaks_nothing() -> None:
    ada = Somebody()
    async with McpConnection(odd()) as connection:
        waiting = asyncio.create_task(connection.request("tools/call", {"name": "silence"}, caller=ada))
        await until(lambda: bool(ada.heard))
        waiting.cancel()
        await asyncio.wait([waiting])

        assert said(await called(connection, "echo"))
        assert any(line.startswith("cancelled") for line in connection.health.stderr)


# A server that asks back ----------------------------------------------------------------------------------------------


async def test_several_inputs_are_answered_at_once_and_the_state_goes_back_as_it_came() -> None:
    async with McpConnection(odd()) as connection:
        ada = Somebody()
        again = json.loads(said(await connection.request("tools/call", {"name": "two things"}, caller=ada)))

    assert again["requestState"] == "s\u00e9\n1"
    assert ada.asked == ["elicitation/create", "roots/list"]
    assert again["inputResponses"] == {
        "name": {"action": "accept", "content": {"name": "Ada"}},
        "where": {"roots": []},
    }
    assert again["id"] > 2  # a new request, after the probe and the first


async def test_what_was_not_declared_is_not_asked() -> None:
    async with McpConnection(odd()) as connection:
        ada = Somebody(capabilities=FORM)
        with pytest.raises(McpError, match="roots"):
            await connection.request("tools/call", {"name": "two things"}, caller=ada)

    assert ada.asked == ["elicitation/create"]


async def test_the_gateway_is_handed_what_a_server_asks_as_it_is() -> None:
    async with McpConnection(odd()) as connection:
        result = await connection.request_once("tools/call", {"name": "two things"}, caller=Somebody())

    assert result["resultType"] == "input_required"
    assert result["requestState"] == "s\u00e9\n1"


async def test_rounds_are_bounded() -> None:
    async with McpConnection(odd()) as connection:
        with pytest.raises(McpError, match="asked back"):
            await connection.request("tools/call", {"name": "for ever"})


async def test_who_can_not_answer_now_goes_on_later_where_the_server_stopped() -> None:
    async with McpConnection(odd()) as connection:
        with pytest.raises(InputRequired) as waiting:
            await connection.request("tools/call", {"name": "two things"}, caller=Absent())
        paused = json.loads(waiting.value.state)

        result = await connection.request("tools/call", {"name": "two things"}, caller=Somebody(), paused=paused)

    assert json.loads(said(result))["requestState"] == "s\u00e9\n1"


async def test_what_a_server_pushes_is_asked_of_its_caller() -> None:
    ada, bob = Somebody("Ada"), Somebody("Bob")
    async with McpConnection(odd("legacy")) as connection:
        answers = await asyncio.gather(
            *(connection.request("tools/call", asking(), caller=each) for each in (ada, bob, ada))
        )

    assert [json.loads(said(each))["content"]["name"] for each in answers] == ["Ada", "Bob", "Ada"]


async def test_a_request_of_nobody_is_never_put_to_somebody_else() -> None:
    ada = Somebody()
    ada.hold.clear()
    async with McpConnection(odd("legacy")) as connection:
        hers = asyncio.create_task(connection.request("tools/call", asking(), caller=ada))
        await until(lambda: bool(ada.asked))

        refused = json.loads(said(await connection.request("tools/call", asking())))
        ada.hold.set()
        await hers

    assert refused["code"] < 0
    assert len(ada.asked) == 1


@pytest.mark.parametrize(
    ("method", "answer"),
    [("ping", "{}"), ("no/such", "-32601"), ("elicitation/create", "cancel"), ("roots/list", "-32601")],
)
async def test_what_a_server_asks_on_the_line_is_always_answered(method: str, answer: str) -> None:
    async with McpConnection(odd("legacy")) as connection:
        result = await connection.request("tools/call", asking(method), caller=Absent())

    assert answer in said(result)


async def test_a_fault_of_ours_is_no_words_for_a_stranger(caplog: pytest.LogCaptureFixture) -> None:
    async with McpConnection(odd("legacy")) as connection:
        result = await connection.request("tools/call", asking(), caller=Broken())

    assert "secret inside" not in said(result)
    assert "it could not be answered" in said(result)
    assert "secret inside" in caplog.text


async def test_a_persons_time_does_not_count() -> None:
    clock, ada = FakeClock(), Somebody()
    ada.hold.clear()
    async with McpConnection(odd("legacy"), clock=clock) as connection:
        waiting = asyncio.create_task(connection.request("tools/call", asking(), caller=ada))
        await until(lambda: bool(ada.asked))
        clock.advance(100_000)
        ada.hold.set()

        assert json.loads(said(await waiting))["action"] == "accept"


async def test_many_callers_share_few_connections_and_none_waits_for_ever() -> None:
    async with McpConnection(odd("legacy")) as connection:
        most = connection.server.sessions_max
        callers = [Somebody(str(n), {**FORM, "experimental": {"n": n}}) for n in range(most + 4)]
        answers = await asyncio.gather(
            *(connection.request("tools/call", asking(), caller=caller) for caller in callers)
        )

        assert [json.loads(said(each))["content"]["name"] for each in answers] == [each.name for each in callers]
        assert len(children()) <= most


async def test_a_handshake_before_the_first_call_declares_what_callers_will_do() -> None:
    async with McpConnection(odd("legacy"), capabilities=FORM) as connection:
        await connection.list_all("tools/list")
        await connection.request("tools/call", asking(), caller=Somebody(capabilities=FORM))

        assert len(children()) == 1


# Ends -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_server_that_dies_in_a_call_fails_it_at_once_and_is_started_again(era: McpEra) -> None:
    clock = FakeClock(auto=True)
    async with McpConnection(odd(era=era), clock=clock) as connection:
        with pytest.raises(CallTimeout, match="lost") as lost:
            await called(connection, "die")
        await settled(connection)

        assert lost.value.effect == "unknown"
        assert connection.health.state == "resting"
        assert connection.health.failures == 1
        assert "I am dying of it" in connection.health.stderr
        assert said(await called(connection, "echo"))
        assert (connection.health.state, connection.health.restarts, connection.health.failures) == ("up", 1, 0)


async def test_the_pauses_before_a_new_try_grow_and_then_whoever_asks_is_told_at_once() -> None:
    clock = FakeClock(auto=True)
    connection = McpConnection(McpServer(name="x", command="no-such-program"), clock=clock)

    problems = []
    for _ in range(5):
        with pytest.raises(Unavailable) as failed:
            await connection.facts()
        problems.append(failed.value.message)

    assert clock.slept == [0.5, 1.0]
    assert problems[0] == "The MCP server 'x' can not be reached: There is no program 'no-such-program'."
    assert problems[-1].endswith("It is tried again in 2 s.")


async def test_a_server_that_never_comes_up_says_why() -> None:
    async with McpConnection(McpServer(name="x", command=sys.executable, args=("-c", "import no_such_module"))) as x:
        with pytest.raises(Unavailable, match="ended before it had answered"):
            await x.facts()

        assert any("no_such_module" in line for line in x.health.stderr)


@pytest.mark.parametrize(
    ("settings", "why"),
    [({"cwd": "/no/such"}, "There is no directory '/no/such'"), ({"command": "/etc"}, "'/etc' may not be run")],
)
async def test_a_server_that_can_not_be_started_says_what_is_wrong(settings: dict[str, str], why: str) -> None:
    async with McpConnection(replace(odd(), **settings)) as connection:
        with pytest.raises(Unavailable, match=why):
            await connection.facts()


async def test_closing_does_not_wait_for_a_start() -> None:
    connection = McpConnection(odd("mute"))
    start = asyncio.create_task(connection.facts())
    await until(lambda: bool(children()))

    await connection.close()

    with pytest.raises(Unavailable):
        await start
    assert children() == []
    assert connection.health.state == "closed"


async def test_a_closed_connection_says_so() -> None:
    connection = McpConnection(odd())
    await connection.close()

    with pytest.raises(Unavailable, match="closed"):
        await connection.facts()


async def test_a_secret_that_is_not_there_is_told_before_anything_is_started() -> None:
    async with McpConnection(odd(env={"KEY": "${secret:key}"})) as connection:
        with pytest.raises(Unavailable, match="no secret called 'key'"):
            await connection.facts()

    assert children() == []


def test_a_server_without_an_address_is_refused() -> None:
    with pytest.raises(UsageError, match="command or a url"):
        McpConnection(McpServer(name="x"))


@pytest.mark.endurance("src/actum/toolsets/mcp", "src/actum/transport")
async def test_connections_open_and_close_in_any_order_and_nothing_is_left() -> None:
    dice = random.Random(7)
    before = asyncio.all_tasks()
    gate = asyncio.Semaphore(12)

    async def one(number: int) -> None:
        async with gate:
            connection = McpConnection(odd(*dice.choice([(), ("legacy",)])))
            use = asyncio.create_task(called(connection, "echo"))
            match number % 4:
                case 0:
                    await use
                case 1:  # closed in another task
                    await use
                    await asyncio.create_task(connection.close())
                case 2:  # broken off at some point of its start
                    for _ in range(dice.randrange(60)):
                        await asyncio.sleep(0)
                    use.cancel()
                case _:  # closed while it is used
                    for _ in range(dice.randrange(60)):
                        await asyncio.sleep(0)
            await asyncio.gather(connection.close(), connection.close())
            await asyncio.wait([use])
            if not use.cancelled():
                use.exception()

    await asyncio.gather(*(one(number) for number in range(share(200, 60))))

    assert children() == []
    assert asyncio.all_tasks() == before
