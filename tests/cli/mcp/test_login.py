"""Logging in and out at a terminal: what is shown, what is asked, and that nothing opens without a yes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest

from actum.cli.mcp.login import log_in, log_out
from actum.cli.show.terminal import Terminal
from actum.core.errors import UsageError
from actum.protocols.mcp.config import McpAuth, McpServer
from actum.toolsets.login import LoginFailed
from tests.issuer import Issuer
from tests.logins import World, worlds
from tests.patience import HANGS_S


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with worlds(tmp_path) as world:
        yield world


class Typed(Terminal):
    """A terminal at which somebody types these lines."""

    def __init__(self, *lines: str) -> None:
        super().__init__()
        self.person = True
        self.prompts: list[str] = []
        self._lines = list(lines)

    def ask(self, prompt: str, /, **values: object) -> str | None:
        self.prompts.append(prompt)
        return self._lines.pop(0) if self._lines else None


class Browser:
    """A browser that is started with an address, logs in, and follows where it is sent."""

    def __init__(self) -> None:
        self.opened: list[str] = []
        self._tasks: list[asyncio.Task[httpx2.Response]] = []

    def __call__(self, url: str) -> bool:
        self.opened.append(url)
        self._tasks.append(asyncio.create_task(self._follow(url)))
        return True

    async def _follow(self, url: str) -> httpx2.Response:
        async with httpx2.AsyncClient(follow_redirects=True, timeout=HANGS_S) as client:
            return await client.get(url)


def server_of(world: World, auth: McpAuth | None = None) -> McpServer:
    return McpServer(name="tools", url=world.server.url, auth=auth)


async def test_on_a_yes_the_browser_opens_and_comes_back(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    browser = Browser()
    await log_in(server_of(world), world.store, {}, open_link=browser, terminal=Typed("y"))
    shown = capsys.readouterr()
    assert browser.opened[0] in shown.err.replace("\n", "")
    assert "The site is 127.0.0.1." in shown.err
    assert shown.out == f"Logged in at {world.issuer.url}, for read.\n"
    assert await world.call(world.oauth()) == 200
    assert not [token for token in world.oauth().secrets if token in shown.out + shown.err]


async def test_a_second_login_comes_back_to_the_port_that_is_registered(world: World) -> None:
    for _ in range(2):
        await log_in(server_of(world), world.store, {}, open_link=Browser(), terminal=Typed("y"))
    assert (world.issuer.count("authorize"), world.issuer.count("register")) == (2, 1)


@pytest.mark.parametrize("said", ["n", "", "yes please"])
async def test_without_a_yes_nothing_is_opened(world: World, said: str) -> None:
    browser, opened = Browser(), asyncio.Event()

    class Hesitant(Typed):
        def ask(self, prompt: str, /, **values: object) -> str | None:
            opened.set()
            return super().ask(prompt)

    task = asyncio.create_task(log_in(server_of(world), world.store, {}, open_link=browser, terminal=Hesitant(said)))
    await opened.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert browser.opened == []
    assert world.issuer.count("authorize") == 0


async def test_the_address_can_be_pasted_from_a_browser_elsewhere(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """The issuer runs in a loop of its own here: the question at the terminal holds this one up."""

    class Elsewhere(Typed):
        def ask(self, prompt: str, /, **values: object) -> str | None:
            url = next(line for line in capsys.readouterr().err.splitlines() if line.startswith("http"))
            with ThreadPoolExecutor() as threads:
                return threads.submit(asyncio.run, followed(url)).result()

    async def followed(url: str) -> str:
        issuer = Issuer(world.clock, url=world.issuer.url)
        transport = httpx2.ASGITransport(issuer.app())
        async with httpx2.AsyncClient(transport=transport, timeout=HANGS_S) as client:
            location = (await client.get(url)).headers["location"]
        world.issuer._codes |= issuer._codes
        return str(location)

    await log_in(server_of(world), world.store, {}, paste=True, terminal=Elsewhere())
    assert await world.call(world.oauth()) == 200


async def test_a_bare_code_is_not_enough(world: World) -> None:
    with pytest.raises(LoginFailed, match="whole address"):
        await log_in(server_of(world), world.store, {}, paste=True, terminal=Typed("just-a-code"))
    assert world.issuer.count("token") == 0


async def test_what_can_not_be_logged_in_at_is_told(world: World) -> None:
    local = McpServer(name="files", command="files")
    keyed = McpServer(name="keyed", url=world.server.url, headers={"Authorization": "Bearer ${secret:X}"})
    for server in (local, keyed):
        with pytest.raises(UsageError, match=server.name):
            await log_in(server, world.store, {}, terminal=Typed())


async def test_a_logout_says_whether_the_issuer_was_told(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    server = server_of(world)
    await log_in(server, world.store, {}, open_link=Browser(), terminal=Typed("y"))
    capsys.readouterr()
    await log_out(server, world.store, {})
    assert capsys.readouterr().out == f"Logged out of tools; {world.issuer.url} was told.\n"
    await log_out(server, world.store, {})
    assert capsys.readouterr().out == "Nobody was logged in at tools.\n"
    world.issuer.metadata["revocation_endpoint"] = None
    await log_in(server, world.store, {}, open_link=Browser(), terminal=Typed("y"))
    capsys.readouterr()
    await log_out(server, world.store, {})
    assert "was not told" in capsys.readouterr().out
