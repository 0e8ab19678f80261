"""A server that describes a tool differently to each user: each is shown theirs, and calls are held against that."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from actum.core.json import JsonObject
from actum.protocols.mcp.config import McpEra, McpServer
from actum.storage.pins import PinStore
from actum.toolsets.mcp.connection import McpConnection
from actum.toolsets.mcp.toolset import McpToolset
from tests.server_process import running

from ..gateways import (
    call,
    client,
    said,
)

ERAS: tuple[McpEra, McpEra] = ("legacy", "modern")


@pytest.fixture(scope="module")
def library() -> Iterator[str]:
    with running("tests.mcp_servers.library", "one") as url:
        yield url


@pytest.fixture(scope="module")
def gateways(library: str) -> Iterator[dict[str, str]]:
    with (
        running("tests.conformance.gateway", library, "legacy", "keys") as legacy,
        running("tests.conformance.gateway", library, "modern", "keys") as modern,
    ):
        yield {"legacy": legacy, "modern": modern}


async def desk(front: McpConnection) -> JsonObject:
    """The definition of the tool that each user is told another of."""
    return {str(tool["name"]): tool for tool in await front.list_all("tools/list")}.get("desk", {})


@pytest.mark.parametrize("back", ERAS)
@pytest.mark.parametrize("front", ERAS)
async def test_each_user_is_shown_their_own_definition_and_their_calls_are_held_against_it(
    front: McpEra, back: McpEra, gateways: dict[str, str]
) -> None:
    url = gateways[back]
    async with (
        client(url, front, token="ada" * 3) as ada,
        client(url, front, token="bob" * 3) as bob,
        client(url, front, token="bob" * 3) as bob_again,
    ):
        shown = [await desk(each) for each in (ada, bob, bob_again, ada)]
        schema = shown[1]["inputSchema"]
        assert isinstance(schema, dict)
        told = [
            said(await ada.request("tools/call", call("desk"))),
            said(await bob.request("tools/call", call("desk", drawer=1), header_schema=schema)),
            said(await bob_again.request("tools/call", call("desk", drawer=2), header_schema=schema)),
            said(await ada.request("tools/call", call("desk", drawer="top"))),
        ]
        refused = await bob.request("tools/call", call("desk"))

    assert [tool["description"] for tool in shown] == [f"The desk of {name}." for name in ("ada", "bob", "bob", "ada")]
    assert told == [
        "desk of ada: {}",
        "desk of bob: {'drawer': 1}",
        "desk of bob: {'drawer': 2}",
        "desk of ada: {'drawer': 'top'}",
    ]
    assert refused["isError"] is True
    assert "drawer" in said(refused)


async def test_each_definition_is_approved_once_and_one_that_nobody_approved_costs_only_its_users(
    library: str, tmp_path: Path
) -> None:
    pins = tmp_path / "pins.json"
    for name in ("ada", "bob"):
        server = McpServer(name="behind", url=library, headers={"x-user": "${secret:USER}"})
        async with McpToolset(server, pins=PinStore(pins), secrets={"USER": name}) as toolset:
            await toolset.survey()
            approved = await toolset.approve(by="operator")
            assert ("desk" in approved, "page" in approved) == (True, name == "ada"), "each definition once"
    with running("tests.conformance.gateway", library, "auto", "keys", str(pins)) as url:
        found = {}
        for name in ("ada", "bob", "dan", "ada"):
            async with client(url, "modern", token=name * 3) as front:
                tools = [str(tool["name"]) for tool in await front.list_all("tools/list")]
                assert "page" in tools
                found[name] = (await desk(front)).get("description")

    assert found == {"ada": "The desk of ada.", "bob": "The desk of bob.", "dan": None}
