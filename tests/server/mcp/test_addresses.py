"""Several servers behind a gateway: each address names its server, and no server answers for another's resources."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Iterator
from itertools import product

import pytest

from actum.core.json import Json, JsonObject
from actum.protocols.mcp.config import McpEra
from actum.toolsets.mcp.connection import McpConnection
from actum.toolsets.mcp.error import McpError
from tests.mcp_servers.library import LINKS, PAGE, THOUGHT
from tests.patience import HANGS_S
from tests.server_process import running

from ..gateways import (
    Somebody,
    call,
    client,
    said,
)

ERAS: tuple[McpEra, McpEra] = ("legacy", "modern")
PAIRS = list(product(ERAS, ERAS))
"""Of the client in front, and of the way to the servers behind."""


@pytest.fixture(scope="module")
def libraries() -> Iterator[tuple[str, str]]:
    """A server, and one that wants to answer for all others."""
    with (
        running("tests.mcp_servers.library", "one") as one,
        running("tests.mcp_servers.library", "two", "greedy") as two,
    ):
        yield one, two


@pytest.fixture(scope="module")
def gateways(libraries: tuple[str, str]) -> Iterator[dict[str, str]]:
    one, two = libraries
    with (
        running("tests.conformance.gateway", f"two={two},one={one}", "legacy") as legacy,
        running("tests.conformance.gateway", f"two={two},one={one}", "modern") as modern,
    ):
        yield {"legacy": legacy, "modern": modern}


def links(server: str, prefix: str = "") -> list[Json]:
    """The links of a server as clients are to see them."""
    at = f"actum+{server}:{prefix}"
    linked: JsonObject = {**LINKS[1], "uri": f"{at}memo://linked"}
    within: JsonObject = {"type": "resource", "resource": {"uri": f"{at}memo://within", "text": "memo://within"}}
    return [LINKS[0], linked, LINKS[2], within]


async def seen(front: McpConnection, server: str) -> list[Json]:
    """The addresses that a server was asked for."""
    found = (await front.request("tools/call", call(f"{server}_seen")))["structuredContent"]
    assert isinstance(found, dict)
    asked = found["read"]
    assert isinstance(asked, list)
    return asked


async def read(front: McpConnection, uri: str) -> tuple[Json, Json]:
    contents = (await front.request("resources/read", {"uri": uri}))["contents"]
    assert isinstance(contents, list)
    (found,) = contents
    assert isinstance(found, dict)
    return found["uri"], found["text"]


@pytest.mark.parametrize(("front", "back"), PAIRS)
async def test_a_resource_is_read_at_the_server_that_its_address_names(
    front: McpEra, back: McpEra, gateways: dict[str, str]
) -> None:
    async with client(gateways[back], front) as one:
        listed = [str(each["uri"]) for each in await one.list_all("resources/list")]
        templates = [str(each["uriTemplate"]) for each in await one.list_all("resources/templates/list")]
        told = {uri: await read(one, uri) for uri in listed}

    own = ["memo://today", "memo://ü/100%25", PAGE]
    assert listed == [
        *(f"actum+two:{uri}" for uri in (*own, "actum+one:memo://today")),
        *(f"actum+one:{uri}" for uri in own),
    ]
    assert templates == ["actum+two:{+all}", "actum+one:memo://{day}/{+rest}{?q}"]
    for uri, found in told.items():
        server, there = uri.removeprefix("actum+").split(":", 1)
        assert found == (uri, f"{server} has {there}")


@pytest.mark.parametrize(("front", "back"), PAIRS)
async def test_a_link_that_is_listed_nowhere_is_read_at_the_server_that_told_it_and_no_other_is_asked(
    front: McpEra, back: McpEra, gateways: dict[str, str]
) -> None:
    async with client(gateways[back], front) as one:
        before = len(await seen(one, "two"))
        result = await one.request("tools/call", call("one_links"))
        prompt = await one.request("prompts/get", {"name": "one_brief"})
        found = await read(one, "actum+one:memo://linked")
        filled_in = await read(one, "actum+one:memo://some%20day/a/b?q=1")
        refused = []
        for uri in ("memo://linked", PAGE, "actum+three:memo://linked", "actum+", "", "actum+one.two:memo://x"):
            with pytest.raises(McpError, match="Resource not found") as error:
                await one.request("resources/read", {"uri": uri})
            refused.append((error.value.rpc_code, error.value.data))
        after = len(await seen(one, "two"))

    assert result["content"] == links("one")
    assert (result["structuredContent"], result["_meta"]) != ({}, {}), "free fields are not touched"
    assert result["structuredContent"] == {"uri": "memo://linked"}
    messages = prompt["messages"]
    assert isinstance(messages, list)
    assert [message["content"] for message in messages[:-1] if isinstance(message, dict)] == links("one")
    assert found == ("actum+one:memo://linked", "one has memo://linked")
    assert filled_in[1] == "one has memo://some%20day/a/b?q=1"
    assert after == before
    assert refused[0] == (-32602, {"uri": "memo://linked"})


@pytest.mark.parametrize(("front", "back"), PAIRS)
async def test_an_address_that_is_handed_back_to_its_server_is_the_servers_own(
    front: McpEra, back: McpEra, gateways: dict[str, str]
) -> None:
    somebody = Somebody()
    own, foreign = "actum+one:memo://linked", "actum+two:memo://linked"
    async with client(gateways[back], front) as one:
        opened = [
            said(await one.request("tools/call", call("one_open", uri=uri))) for uri in (own, foreign, f"see {own}")
        ]
        prompt = await one.request("prompts/get", {"name": "one_brief", "arguments": {"of": own}})
        ref: JsonObject = {"type": "ref/resource", "uri": "actum+one:memo://{day}/{+rest}{?q}"}
        asked: JsonObject = {"ref": ref, "argument": {"name": "day", "value": ""}}
        completed = await one.request("completion/complete", asked)
        with pytest.raises(McpError) as missing:
            await one.request("resources/read", {"uri": "actum+one:memo://never"})
        await one.request("tools/call", call("one_think"), caller=somebody)

    assert opened == ["memo://linked", foreign, f"see {own}"]
    assert ast.literal_eval(said({"content": [prompt["messages"][-1]["content"]]})) == {"of": "memo://linked"}  # type: ignore[index,call-overload]
    assert completed["completion"] == {"values": ["memo://{day}/{+rest}{?q}"]}
    assert missing.value.data == {"uri": "actum+one:memo://never"}
    shown = links("one")
    messages: list[Json] = [{"role": "user", "content": shown[1]}, {"role": "user", "content": shown}]
    assert somebody.asked == [("sampling/createMessage", {**THOUGHT, "messages": messages})]


@pytest.mark.parametrize("front", ERAS)
async def test_the_page_of_a_tool_is_named_as_its_clients_read_it(front: McpEra, gateways: dict[str, str]) -> None:
    async with client(gateways["modern"], front) as one:
        tools = {tool["name"]: tool for tool in await one.list_all("tools/list")}
        found = await read(one, "actum+one:ui://page")

    assert tools["one_page"]["_meta"] == {"ui": {"resourceUri": "actum+one:ui://page"}}
    assert found[1] == "one has ui://page"


@pytest.mark.parametrize(("front", "back"), PAIRS)
async def test_a_change_is_told_by_the_address_that_was_subscribed_to_and_by_its_own_server_alone(
    front: McpEra, back: McpEra, gateways: dict[str, str]
) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()
    uri = f"memo://watched/{front}/{back}"
    wanted = f"actum+one:{uri}"

    def hear(method: str, params: JsonObject) -> None:
        if method == "notifications/resources/updated":
            heard.put_nowait(str(params["uri"]))

    async with client(gateways[back], front, changed=hear) as one:
        await one.facts()
        one.listen([wanted])
        async with asyncio.timeout(HANGS_S):
            while heard.empty():
                for own in (uri, wanted):
                    await one.request("tools/call", call("two_touch", uri=own))
                await one.request("tools/call", call("one_touch", uri=uri))
            told = {heard.get_nowait() for _ in range(heard.qsize())}

    assert told == {wanted}


async def test_an_address_goes_through_two_gateways_to_its_server(
    gateways: dict[str, str], libraries: tuple[str, str]
) -> None:
    behind = f"near={gateways['modern']},one={libraries[0]}"
    with running("tests.conformance.gateway", behind) as url:
        async with client(url, "modern") as front:
            result = await front.request("tools/call", call("near_one_links"))
            found = await read(front, "actum+near:actum+one:memo://linked")
            opened = said(
                await front.request("tools/call", call("near_one_open", uri="actum+near:actum+one:memo://linked"))
            )

    assert result["content"] == links("near", "actum+one:")
    assert found == ("actum+near:actum+one:memo://linked", "one has memo://linked")
    assert opened == "memo://linked"
