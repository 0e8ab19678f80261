"""Keys of a database at a door: checked in memory, dead at every server once one process revoked them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import httpx2
import pytest

from actum import tool
from actum.core.errors import JournalError
from actum.core.identity import Identity
from actum.core.interfaces import Journal
from actum.core.stored.key import Key, KeyStore, new_key
from actum.journal.memory import MemoryJournal
from actum.policy.rules import Rules
from actum.protocols.mcp.config import McpEra, McpServer
from actum.server.access import Access
from actum.server.mcp.gateway.gateway import McpGateway
from actum.server.mcp.service import McpService
from actum.server.stored_keys import ASK_S, StoredKeys
from actum.storage.place import open_journal
from actum.testing import FakeClock
from actum.toolsets.mcp.error import McpError
from tests import warm
from tests.mcp_service import connected, served
from tests.patience import HANGS_S, SOON_S
from tests.server.memory_keys import MemoryKeys
from tests.web import serving


class CountedKeys(MemoryKeys):
    """Keys in memory that count how often they were read, and can be out of touch."""

    def __init__(self) -> None:
        super().__init__()
        self.read = 0
        self.found: list[str] = []
        self.is_away = False

    async def all(self) -> list[Key]:
        self.read += 1
        await asyncio.sleep(0)
        return await super().all()

    async def find(self, id: str) -> Key | None:
        self.found.append(id)
        return await super().find(id)

    def changes(self, age_s: float = 0.0) -> int | None:
        return None if self.is_away else super().changes(age_s)


async def test_a_key_says_whose_it_is_until_it_ends_or_is_revoked() -> None:
    clock, store = FakeClock(), CountedKeys()
    text, key = new_key(
        "ci",
        principal="ann",
        roles=["clerk"],
        scopes=["tools"],
        tenant="north",
        tools=["crm_*"],
        models=["gpt"],
        agents=["desk"],
        expires_at=clock.now() + 60,
    )
    await store.add(key)
    keys = StoredKeys(store, clock=clock)
    identity = await keys.verify_token(text)
    assert identity == Identity(
        principal="ann",
        roles=("clerk",),
        key_id="ci",
        scopes=("tools",),
        tenant="north",
        tools=("crm_*",),
        models=("gpt",),
        agents=("desk",),
    )
    wrong = [
        new_key("ci")[0],
        new_key("other")[0],
        text[:-1],
        text + "x",
        text.upper(),
        "",
        "ak_ci_",
        "ä" * 50,
        "\ud800",
    ]
    assert [await keys.verify_token(each) for each in wrong] == [None] * len(wrong)
    assert not await keys.has_ended(identity)
    clock.advance(60)
    assert await keys.verify_token(text) is None
    assert await keys.has_ended(identity)
    last, key = new_key("last")
    await store.add(key)
    seen = await keys.verify_token(last)
    assert seen is not None
    await store.revoke("last", at=clock.now(), by="root")
    assert await keys.verify_token(last) is None
    assert await keys.has_ended(seen)
    assert not await keys.has_ended(Identity(principal="ann", key_id="shared"))
    assert not await keys.has_ended(Identity(principal="ann", key_id="last", issuer="https://issuer"))


@pytest.mark.parametrize("place", ["memory", "j.db"])
@pytest.mark.parametrize("seen", ["a request", "a stream"])
async def test_a_key_that_was_seen_to_have_ended_stays_so_when_the_clock_goes_back(
    seen: str, place: str, tmp_path: Path
) -> None:
    clock = FakeClock()
    alone: Journal = MemoryJournal()
    journals = [alone, alone] if place == "memory" else [open_journal(tmp_path / place) for _ in range(2)]
    ours, others = journals  # `others` is of another process
    text, key = new_key("ci", principal="ann", expires_at=clock.now() + 60)
    await ours.keys.add(key)
    keys = StoredKeys(ours.keys, clock=clock)
    identity = await keys.verify_token(text)
    assert identity is not None
    clock.advance(60)
    assert await keys.verify_token("ak_ci_" + "x" * 43) is None
    assert (await others.keys.all())[0].revoked_at == 0, "whoever guesses changes nothing"
    assert await (keys.has_ended(identity) if seen == "a stream" else keys.verify_token(text)) in (True, None)
    clock.set(clock.now() - 3600)
    for each in (keys, StoredKeys(others.keys, clock=clock)):
        assert await each.verify_token(text) is None
        assert await each.has_ended(identity)
    (ended,) = await others.keys.all()
    assert (ended.state(clock.now()), ended.was_revoked) == ("ended", False)
    assert await others.keys.revoke("ci", at=clock.now(), by="root"), "and somebody may still revoke it"
    assert (await ours.keys.all())[0].state(clock.now()) == "revoked"
    for journal in journals:
        await journal.close()


async def test_keys_are_read_once_for_each_change_however_many_ask() -> None:
    store = CountedKeys()
    keys = StoredKeys(store)
    texts = []
    for number in range(20):
        text, key = new_key(f"k{number}")
        texts.append(text)
        await store.add(key)
    known = await asyncio.gather(*map(keys.verify_token, texts * 5))
    assert None not in known
    assert (store.read, store.found) == (1, [])
    await store.revoke("k3", at=1.0, by="root")
    known = await asyncio.gather(*map(keys.verify_token, texts))
    assert [text for text, who in zip(texts, known, strict=True) if who is None] == [texts[3]]
    assert store.read == 2


async def test_every_check_asks_the_database_while_nobody_can_tell_whether_keys_were_revoked() -> None:
    store = CountedKeys()
    keys = StoredKeys(store)
    text, key = new_key("ci")
    await store.add(key)
    assert await keys.verify_token(text) is not None
    store.is_away = True
    assert await keys.verify_token(text) is not None
    await store.revoke("ci", at=1.0, by="root")
    assert await keys.verify_token(text) is None
    assert store.found == ["ci", "ci"]


async def test_a_key_that_nobody_can_look_up_opens_no_door() -> None:
    class Lost(CountedKeys):
        async def find(self, id: str) -> Key | None:
            raise JournalError("the database is away")

    store = Lost()
    text, key = new_key("ci")
    await store.add(key)
    keys = StoredKeys(store)
    assert await keys.verify_token(text) is not None
    store.is_away = True
    with pytest.raises(JournalError):
        await keys.verify_token(text)


async def test_a_database_that_hangs_is_waited_for_some_seconds_and_no_longer() -> None:
    class Hung(CountedKeys):
        async def find(self, id: str) -> Key | None:
            await asyncio.Event().wait()
            return None

    clock, store = FakeClock(), Hung()
    text, key = new_key("ci")
    await store.add(key)
    store.is_away = True
    keys = StoredKeys(store, clock=clock)
    check = asyncio.create_task(keys.verify_token(text))
    await asyncio.sleep(0)
    clock.advance(ASK_S)
    with pytest.raises(JournalError, match="5 seconds"):
        await check


@tool(effects={"read"})
def crm_find(name: str) -> str:
    """Find a customer."""
    return f"{name} is known"


@tool(effects={"read"})
def pay_list() -> str:
    """List payments."""
    return "none"


@contextlib.asynccontextmanager
async def server_at(place: str) -> AsyncIterator[tuple[str, KeyStore]]:
    """A server with a journal of its own at a place, as one more process has it: its address, and its keys."""
    journal = open_journal(place)
    service = McpService([crm_find, pay_list], journal=journal)
    try:
        async with serving(service.app(access=Access(verifier=StoredKeys(journal.keys), resource="http://us"))) as url:
            yield f"{url}/mcp", journal.keys
    finally:
        await journal.close()


async def asked(client: httpx2.AsyncClient, url: str, key: str, method: str, **params: object) -> httpx2.Response:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    headers = {
        "authorization": f"Bearer {key}",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": method,
    }
    if "name" in params:
        headers["mcp-name"] = str(params["name"])
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
    return await client.post(url, json=body, headers=headers)


async def test_a_key_uses_its_tools_and_cannot_tell_a_forbidden_tool_from_an_unknown_one() -> None:
    store = MemoryKeys()
    narrow, key = new_key("narrow", tools=["crm_*"])
    await store.add(key)
    wide, key = new_key("wide")
    await store.add(key)
    access = Access(verifier=StoredKeys(store), resource="http://us")
    async with (
        serving(McpService([crm_find, pay_list]).app(access=access)) as url,
        httpx2.AsyncClient(timeout=HANGS_S) as client,
    ):

        async def names(text: str) -> list[str]:
            listed = (await asked(client, f"{url}/mcp", text, "tools/list")).json()
            return [each["name"] for each in listed["result"]["tools"]]

        async def called(text: str, name: str) -> str:
            answer = await asked(client, f"{url}/mcp", text, "tools/call", name=name, arguments={"name": "Eve"})
            return answer.text.replace(name, "NAME")

        assert await names(narrow) == ["crm_find"]
        assert set(await names(wide)) == {"crm_find", "pay_list"}
        assert "Eve is known" in await called(narrow, "crm_find")
        assert await called(narrow, "pay_list") == await called(narrow, "no_such_tool")
        assert "Unknown tool: NAME" in await called(narrow, "pay_list")


@pytest.mark.parametrize("era", ["modern", "legacy"])
async def test_a_gateway_shows_and_permits_the_tools_of_the_key_alone(era: McpEra) -> None:
    async with served(McpService([crm_find, pay_list])) as behind:
        servers = [McpServer(name="behind", url=behind, transport="http")]
        gateway = McpGateway(servers, policy=Rules(default="allow"), who=Identity(tools=("crm_*",)))
        async with connected(gateway, era) as way:
            assert [each["name"] for each in await way.list_all("tools/list")] == ["crm_find"]
            found = await way.request("tools/call", {"name": "crm_find", "arguments": {"name": "Eve"}})
            assert "Eve is known" in str(found)
            refusals = []
            for name in ("pay_list", "no_such_tool"):
                with pytest.raises(McpError) as refused:
                    await way.request("tools/call", {"name": name, "arguments": {}})
                refusals.append(str(refused.value).replace(name, "NAME"))
            assert refusals[0] == refusals[1]


def test_which_names_a_pattern_of_a_key_fits() -> None:
    cases = {
        ((), "anything"): True,
        (("crm_*",), "crm_find"): True,
        (("crm_*",), "CRM_find"): False,
        (("crm_*",), "xcrm_find"): False,
        (("crm_*",), "crm_\n"): True,
        (("pay",), "pay"): True,
        (("pay",), "pay\n"): False,
        (("pay",), "payment"): False,
        (("a", "b*"), "bc"): True,
        (("[!a]*",), "abc"): False,
        (("",), "x"): False,
    }
    for (patterns, name), fits in cases.items():
        who = Identity(tools=patterns)
        assert who.may_use("tool", name) == fits, (patterns, name)
        assert who.may_use("agent", name), "patterns of tools say nothing of agents"


_REVOKE = """
import asyncio, sys, time
from actum.storage.place import open_journal
async def main():
    journal = open_journal(sys.argv[1])
    await journal.keys.revoke("ci", at=time.time(), by="root")
    await journal.close()
asyncio.run(main())
"""


async def test_a_key_that_one_process_revoked_is_dead_at_the_servers_of_others_within_a_second_and_stays_dead(
    place: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    text, key = new_key("ci")
    other, other_key = new_key("other")
    async with httpx2.AsyncClient(timeout=HANGS_S) as client:

        async def status(url: str, shown: str = text) -> int:
            return (await asked(client, url, shown, "tools/list")).status_code

        async with server_at(place) as (one, keys), server_at(place) as (two, _):
            await keys.add(key)
            await keys.add(other_key)
            assert [await status(url, shown) for url in (one, two) for shown in (text, other)] == [200] * 4
            process = await warm.start(sys.executable, "-c", _REVOKE, place)
            assert await process.wait() == 0
            async with asyncio.timeout(SOON_S):
                for url in (one, two):
                    while await status(url) != 401:
                        pass
            assert [await status(url, other) for url in (one, two)] == [200] * 2
        async with server_at(place) as (again, _):
            assert await status(again) == 401
            assert await status(again, other) == 200
    assert text.split("_", 2)[2] not in caplog.text


def test_what_a_server_writes_down_and_shows_of_a_key_never_holds_its_text() -> None:
    text, key = new_key("ci", principal="ann")
    secret = text.split("_", 2)[2]  # an underscore may stand in it, too
    shown: list[Callable[[], str]] = [lambda: repr(key), lambda: repr(StoredKeys(MemoryKeys())), lambda: str(key)]
    assert not any(secret in show() for show in shown)
