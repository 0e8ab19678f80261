"""Clients of a gateway: each has sessions of its own with the servers behind, which end with it, and one that hangs or
is dead costs its own tools alone. The servers are processes, the clients real ones.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TypeVar

import pytest

from actum.core.interfaces import Clock
from actum.core.json import Json, JsonObject
from actum.policy.rules import Rules
from actum.protocols.mcp.config import McpEra, McpServer
from actum.server.access import LOCAL, Access
from actum.server.mcp.gateway.gateway import INTRODUCE_S, McpGateway
from actum.storage.pins import PinStore
from actum.testing import FakeClock
from actum.toolsets.mcp.connection import McpConnection
from actum.toolsets.mcp.error import McpError
from actum.toolsets.mcp.toolset import WAIT_S
from tests.conformance.gateway import Names
from tests.patience import HANGS_S
from tests.server_process import running
from tests.toolsets.mcp.test_stdio import (
    children,
    is_alive,
    odd,
    until,
)
from tests.toolsets.shifty_server import ADD, READS, SHIFTY, Shifty
from tests.web import serving

from ..gateways import (
    Somebody,
    call,
    client,
    said,
)

T = TypeVar("T")
ERAS: tuple[McpEra, McpEra] = ("legacy", "modern")
COUNTER = Path(__file__).parents[2] / "mcp_servers" / "counter.py"
ANEW = "The server web was started anew; its state is gone."
DEAD = McpServer(name="dead", command="/there/is/no/such/program")


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with asyncio.timeout(HANGS_S), AsyncExitStack() as stack:
        yield stack


@asynccontextmanager
async def gateway(
    servers: Sequence[McpServer], *, pins: PinStore | None = None, clock: Clock | None = None, keys: bool = False
) -> AsyncIterator[str]:
    """The address of a gateway in front of these servers."""
    async with served(McpGateway(servers, pins=pins, clock=clock, policy=Rules(default="allow")), keys=keys) as url:
        yield url


@asynccontextmanager
async def served(gateway: McpGateway, *, keys: bool = False) -> AsyncIterator[str]:
    app = gateway.app(access=Access(verifier=Names()) if keys else LOCAL)
    async with serving(app) as origin:
        yield f"{origin}/mcp"


def counter(folder: Path, era: McpEra, sessions: int = 0) -> McpServer:
    """A local server that counts the calls of its process."""
    words = ("legacy",) if era == "legacy" else ()
    args = (str(COUNTER), str(folder), *words)
    return McpServer(name="web", command=sys.executable, args=args, sessions=sessions)


async def counted(front: McpConnection, who: Somebody) -> tuple[int, int]:
    """What the server has counted, and its process."""
    number, process = said(await front.request("tools/call", call("count"), caller=who)).split()
    return int(number), int(process)


# Sessions -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("front", ERAS)
@pytest.mark.parametrize("back", ERAS)
async def test_all_calls_of_a_client_meet_one_process_and_no_other_clients(
    front: McpEra, back: McpEra, tmp_path: Path, stack: AsyncExitStack
) -> None:
    url = await stack.enter_async_context(gateway([counter(tmp_path, back)]))
    one, other = Somebody(), Somebody({"roots": {}})
    first = await stack.enter_async_context(client(url, front))
    second = await stack.enter_async_context(client(url, front))
    await first.request("tools/list", {}, caller=one)

    many = await asyncio.gather(*(counted(first, one) for _ in range(100)))
    few = await asyncio.gather(*(counted(second, other) for _ in range(10)))

    assert sorted(number for number, _ in many) == list(range(1, 101))
    assert sorted(number for number, _ in few) == list(range(1, 11))
    assert len({process for _, process in many} | {process for _, process in few}) == 2
    # A client without a handshake says what it can be asked only by its requests: here the first one says nothing of
    # that, and a server with a handshake was reached by then.
    listing = 1 if (front, back) == ("modern", "legacy") else 0
    assert len(children()) == 2 + listing, "the lists are asked for over the same processes"


@pytest.mark.parametrize("back", ERAS)
async def test_what_a_client_had_ends_with_it_and_another_of_the_same_key_keeps_its_own(
    back: McpEra, tmp_path: Path, stack: AsyncExitStack
) -> None:
    url = await stack.enter_async_context(gateway([counter(tmp_path, back)], keys=True))
    other = await stack.enter_async_context(client(url, "legacy", token="ada" * 3))
    _, kept = await counted(other, Somebody())
    async with client(url, "legacy", token="ada" * 3) as one:
        _, ended = await counted(one, Somebody())
        assert ended != kept

    await until(lambda: not is_alive(ended))
    assert await counted(other, Somebody()) == (2, kept)


async def test_where_there_is_no_room_a_client_that_comes_back_is_told_that_its_session_is_gone(
    tmp_path: Path, stack: AsyncExitStack
) -> None:
    url = await stack.enter_async_context(gateway([counter(tmp_path, "legacy", sessions=1)]))
    fronts = [await stack.enter_async_context(client(url, "legacy")) for _ in range(2)]
    told: list[list[Json]] = []
    for front in (fronts[0], fronts[0], fronts[1], fronts[0]):
        content = (await front.request("tools/call", call("count"), caller=Somebody()))["content"]
        assert isinstance(content, list)
        told.append(
            [
                str(block["text"]).split(" ")[0] if block["text"] != ANEW else ANEW
                for block in content
                if isinstance(block, dict)
            ]
        )

    assert told == [["1"], ["2"], ["1"], [ANEW, "1"]], "and nobody was handed the session of another"
    assert len(children()) == 1


async def test_a_client_hears_of_what_happens_in_its_own_session(stack: AsyncExitStack) -> None:
    library = stack.enter_context(running("tests.mcp_servers.library", "one"))
    url = await stack.enter_async_context(gateway([McpServer(name="one", url=library, era="legacy")]))
    heard: asyncio.Queue[str] = asyncio.Queue()

    def hear(method: str, params: JsonObject) -> None:
        if method == "notifications/resources/updated":
            heard.put_nowait(str(params["uri"]))

    front = await stack.enter_async_context(client(url, "legacy", changed=hear))
    await front.request("tools/call", call("next"))
    front.listen(["memo://mine"])
    while heard.empty():
        await front.request("tools/call", call("touch", uri="memo://mine", here=True))
    assert await heard.get() == "memo://mine"


# What hangs, is dead, or comes late -----------------------------------------------------------------------------------


def healthy(folder: Path, name: str) -> McpServer:
    (folder / name).mkdir()
    Shifty(folder / name).tell(tools=[ADD, READS])
    return McpServer(name=name, command=sys.executable, args=(str(SHIFTY), str(folder / name)))


def hung(name: str = "hung") -> McpServer:
    server = odd("mute")
    return McpServer(name=name, command=server.command, args=server.args)


async def spent(
    clock: FakeClock, doing: asyncio.Task[T], front: McpGateway, healthy: Collection[str], step: float = 0.5
) -> tuple[float, T]:
    """How much time has to pass by the clock until something is done, and what it comes to.

    The clock stands still until the healthy servers are up, however long this machine needs to start them.
    """
    begun = clock.now()
    while any(front.states[name].state != "up" for name in healthy):
        await asyncio.wait([doing], timeout=0.01)
    while not (await asyncio.wait([doing], timeout=1))[0]:
        clock.advance(step)
    return clock.now() - begun, await doing


@pytest.mark.parametrize("front", ERAS)
async def test_with_eight_servers_of_which_one_hangs_and_one_is_dead_the_others_serve_as_ever(
    front: McpEra, tmp_path: Path, stack: AsyncExitStack
) -> None:
    clock, pins = FakeClock(), PinStore(tmp_path / "pins.json")
    servers = [*(healthy(tmp_path, f"s{number}") for number in range(6)), hung(), DEAD]
    for server in servers:
        pins.approve(server.identity, [ADD, READS])
    before = McpGateway(servers, pins=pins, clock=clock, policy=Rules(default="allow"))
    url = await stack.enter_async_context(served(before))

    async def visit() -> tuple[list[str], str]:
        async with client(url, front) as one:
            assert {"tools", "resources", "prompts"} <= (await one.facts()).capabilities.keys()
            listed = await one.list_all("tools/list")
            return [str(tool["name"]) for tool in listed], said(await one.request("tools/call", call("s3_add")))

    well = [server.name for server in servers[:6]]
    seconds, (names, told) = await spent(clock, asyncio.create_task(visit()), before, well)
    assert seconds <= INTRODUCE_S
    assert told == "add was called"
    assert len(names) == 16, "those of the hung and the dead one, which were approved, too"

    clock.advance(WAIT_S)
    assert (await visit())[1] == "add was called", "and nobody waits a second time: the clock stands still"
    async with client(url, front) as one:
        assert await one.list_all("resources/list") == []
    states = {name: each.state for name, each in before.states.items()}
    assert states == {**{f"s{number}": "up" for number in range(6)}, "hung": "starting", "dead": "resting"}
    assert (before.states["s0"].problem, "no program" in before.states["dead"].problem) == ("", True)


async def test_the_tools_of_a_server_that_comes_late_are_taken_in_and_its_clients_are_told(
    tmp_path: Path, stack: AsyncExitStack
) -> None:
    gate, clock = tmp_path / "gate", FakeClock()
    program = " ".join([sys.executable, *healthy(tmp_path, "slow").args])
    wait = f"while [ ! -e {gate} ]; do sleep 0.01; done; exec {program}"
    late = McpServer(name="slow", command="/bin/sh", args=("-c", wait))
    before = McpGateway([healthy(tmp_path, "well"), late, DEAD], clock=clock, policy=Rules(default="allow"))
    url = await stack.enter_async_context(served(before))
    heard = asyncio.Event()

    def hear(method: str, params: JsonObject) -> None:
        if method == "notifications/tools/list_changed":
            heard.set()

    async def listed(front: McpConnection) -> list[str]:
        return [str(tool["name"]) for tool in await front.list_all("tools/list")]

    one = await stack.enter_async_context(client(url, "legacy", changed=hear))
    one.listen()
    seconds, names = await spent(clock, asyncio.create_task(listed(one)), before, ["well"], step=1.0)
    assert seconds <= INTRODUCE_S + WAIT_S
    assert names == ["well_add", "well_look"]
    with pytest.raises(McpError, match="Unknown tool"):
        await one.request("tools/call", call("slow_add"))
    gate.touch()
    await heard.wait()
    assert set(await listed(one)) == {"well_add", "well_look", "slow_add", "slow_look"}
    assert said(await one.request("tools/call", call("slow_add"))) == "add was called"


async def test_a_server_that_nobody_approved_is_never_started(tmp_path: Path, stack: AsyncExitStack) -> None:
    pins = PinStore(tmp_path / "pins.json")
    servers = [healthy(tmp_path, "one"), healthy(tmp_path, "two")]
    pins.approve(servers[0].identity, [ADD, READS])
    url = await stack.enter_async_context(gateway(servers, pins=pins))
    for front in ERAS:
        one = await stack.enter_async_context(client(url, front))
        assert {str(tool["name"]) for tool in await one.list_all("tools/list")} == {"one_add", "one_look"}
        wanted: list[tuple[str, JsonObject]] = [
            ("tools/call", call("two_add")),
            ("resources/read", {"uri": "actum+two:memo://today"}),
            ("prompts/get", {"name": "two_brief"}),
            ("completion/complete", {"ref": {"type": "ref/resource", "uri": "actum+two:x:y"}, "argument": {}}),
        ]
        for method, params in wanted:
            with pytest.raises(McpError):
                await one.request(method, params)
    assert Shifty(tmp_path / "two").heard() == []
