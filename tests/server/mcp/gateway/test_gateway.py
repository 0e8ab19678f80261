"""A gateway between real clients and a real server of either era: what is said passes, and goes by the call path."""

from __future__ import annotations

import ast
import asyncio
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from actum.core.errors import UsageError
from actum.core.holder import Holder
from actum.core.json import Json, JsonObject
from actum.protocols.mcp.config import McpEra, McpServer
from actum.server.mcp.gateway.gateway import McpGateway
from actum.server.mcp.gateway.held_call import LOST
from actum.server.mcp.gateway.upstream import VISITED
from actum.toolsets.mcp.connection import McpConnection
from actum.toolsets.mcp.error import McpError
from tests.mcp_servers.behind import QUESTIONS, TOOLS, VISIT
from tests.mcp_service import served
from tests.patience import HANGS_S
from tests.server_process import running

from ...gateways import (
    ANSWERS,
    Somebody,
    call,
    client,
    said,
)

ROOT = Path(__file__).parents[4]
ERAS: tuple[McpEra, McpEra] = ("legacy", "modern")
PAIRS = list(product(ERAS, ERAS))
"""Of the client in front, and of the way to the server behind."""


@pytest.fixture(scope="module")
def behind() -> Iterator[str]:
    with running("tests.mcp_servers.behind") as url:
        yield url


@pytest.fixture(scope="module")
def gateways(behind: str) -> Iterator[dict[str, str]]:
    with (
        running("tests.conformance.gateway", behind, "legacy") as legacy,
        running("tests.conformance.gateway", behind, "modern") as modern,
    ):
        yield {"legacy": legacy, "modern": modern}


@pytest.fixture(scope="module")
def of_users(behind: str) -> Iterator[dict[str, str]]:
    with (
        running("tests.conformance.gateway", behind, "legacy", "keys") as legacy,
        running("tests.conformance.gateway", behind, "modern", "keys") as modern,
    ):
        yield {"legacy": legacy, "modern": modern}


async def seen(front: McpConnection) -> JsonObject:
    """What the server behind was asked: how often, and the last call."""
    found = (await front.request("tools/call", call("seen")))["structuredContent"]
    assert isinstance(found, dict)
    return found


async def counted(front: McpConnection) -> dict[str, int]:
    count = (await seen(front))["count"]
    assert isinstance(count, dict)
    return {name: int(str(number)) for name, number in count.items()}


async def listened(front: McpConnection) -> list[Json]:
    """The resources that the server behind is to tell of, by streams."""
    found = (await seen(front))["listening"]
    assert isinstance(found, list)
    return found


# Untouched ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("front", "back"), PAIRS)
async def test_definitions_and_results_pass_as_the_server_says_them(
    front: McpEra, back: McpEra, gateways: dict[str, str]
) -> None:
    async with client(gateways[back], front) as one:
        told = await one.list_all("tools/list")
        result = await one.request("tools/call", call("odd", at={"x": 1}))

    shown = [tool for tool in TOOLS if tool["name"] != "forbidden"]
    assert told == [{**tool, "execution": {"x-more": 1}} if "execution" in tool else tool for tool in shown]
    meta = result.pop("_meta")
    assert isinstance(meta, dict)
    assert meta["vendor/trace"] == "t1"
    assert result.pop("resultType", "complete") == "complete"
    assert result == {
        "content": [{"type": "text", "text": "odd"}],
        "structuredContent": {"at": {"x": 1}, "more": [None, {"deep": None}]},
        "x-result": {"keep": None},
    }


@pytest.mark.parametrize(("front", "back"), PAIRS)
async def test_one_call_in_front_is_one_request_behind(front: McpEra, back: McpEra, gateways: dict[str, str]) -> None:
    async with client(gateways[back], front) as one:
        for _ in range(2):
            await one.request("tools/call", call("odd", at={"x": 1}), caller=Somebody())
        before = await counted(one)
        for _ in range(5):
            await one.request("tools/call", call("odd", at={"x": 1}), caller=Somebody())
        after = await counted(one)

    more = {name: after[name] - before.get(name, 0) for name in after if after[name] != before.get(name, 0)}
    assert more == {"tools/call": 6}


@pytest.mark.parametrize(("front", "back"), PAIRS)
async def test_the_server_knows_what_the_client_sent_beside_the_arguments(
    front: McpEra, back: McpEra, gateways: dict[str, str]
) -> None:
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    meta: JsonObject = {"traceparent": trace, "tracestate": "a=b", "vendor/mine": [None]}
    sent: JsonObject = {**call("odd", at={"x": 2}), "_meta": meta}
    async with client(gateways[back], front) as one:
        await one.request("tools/call", sent)
        last = (await seen(one))["last"]

    assert isinstance(last, dict)
    assert (last["name"], last["arguments"]) == ("odd", {"at": {"x": 2}})
    heard = last["_meta"]
    assert isinstance(heard, dict)
    assert (heard["tracestate"], heard["vendor/mine"]) == ("actum=d:1;l:7,a=b", [None])
    assert str(heard["traceparent"])[:36] == trace[:36]


@pytest.mark.parametrize(("front", "back"), PAIRS)
async def test_a_tool_that_is_called_as_a_task_only_is_called_so_for_its_client(
    front: McpEra, back: McpEra, gateways: dict[str, str]
) -> None:
    async with client(gateways[back], front) as one:
        plain = await one.request("tools/call", call("later"))
        hasty = await one.request("tools/call", {**call("later"), "task": {"ttl": 1}})

    assert said(plain) == said(hasty) == ("in time" if back == "legacy" else "at once")


@pytest.mark.parametrize("front", ERAS)
async def test_errors_pass_with_their_code_and_data(front: McpEra, gateways: dict[str, str]) -> None:
    async with client(gateways["modern"], front) as one:
        with pytest.raises(McpError) as refused:
            await one.request("tools/call", call("refuse"))
        failed = await one.request("tools/call", call("fail"))
        with pytest.raises(McpError) as unknown:
            await one.request("tools/call", call("nothing"))

    assert (refused.value.rpc_code, refused.value.words, refused.value.data) == (
        -32050,
        "not today",
        {"retry": "tomorrow"},
    )
    assert (failed["isError"], failed["x-why"], said(failed)) == (True, "luck", "no luck")
    assert unknown.value.rpc_code == -32602


@pytest.mark.parametrize(("front", "back"), PAIRS)
async def test_a_resource_that_is_not_there_is_told_in_the_words_of_the_client(
    front: McpEra, back: McpEra, gateways: dict[str, str]
) -> None:
    async with client(gateways[back], front) as one:
        with pytest.raises(McpError) as missing:
            await one.request("resources/read", {"uri": "memo://never"})

    assert missing.value.rpc_code == (-32602 if front == "modern" else -32002 if back == "legacy" else -32602)
    assert missing.value.data == {"uri": "memo://never"}


@pytest.mark.parametrize(("front", "back"), PAIRS)
async def test_resources_prompts_and_completions_pass(front: McpEra, back: McpEra, gateways: dict[str, str]) -> None:
    async with client(gateways[back], front) as one:
        facts = await one.facts()
        resources = await one.list_all("resources/list")
        templates = await one.list_all("resources/templates/list")
        memo = await one.request("resources/read", {"uri": "memo://today"})
        prompts = await one.list_all("prompts/list")
        prompt = await one.request("prompts/get", {"name": "greet"})
        asked: JsonObject = {"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "a", "value": "b"}}
        completed = await one.request("completion/complete", asked)

    assert {"tools", "resources", "prompts", "completions"} <= facts.capabilities.keys()
    assert facts.capabilities["resources"] == {"subscribe": True, "listChanged": True}
    assert facts.instructions == "Stand behind."
    assert resources == [
        {"uri": "memo://today", "name": "memo", "x-resource": 1},
        {"uri": "memo://later", "name": "memo", "x-resource": 1},
    ]
    assert templates == [{"uriTemplate": "memo://{day}", "name": "day"}]
    assert memo["contents"] == [{"uri": "memo://today", "text": "Nothing.", "_meta": {"vendor/page": 1}}]
    assert ("ttlMs" in memo) == (front == "modern")
    assert prompts == [{"name": "greet", "x-prompt": 1}]
    assert prompt["x-prompt"] == 2
    assert completed["completion"] == {"values": ["b!"], "x-more": 1}


# Asked back -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(QUESTIONS))
@pytest.mark.parametrize(("front", "back"), PAIRS)
async def test_what_a_server_asks_reaches_the_client_and_its_answer_the_server(
    front: McpEra, back: McpEra, name: str, gateways: dict[str, str]
) -> None:
    method, params = QUESTIONS[name]
    somebody = Somebody()
    async with client(gateways[back], front) as one:
        result = await one.request("tools/call", call(name), caller=somebody)

    assert somebody.asked == [(method, params)]
    assert ast.literal_eval(said(result)) == {name: ANSWERS[method]}


@pytest.mark.parametrize(("front", "back"), PAIRS)
async def test_several_questions_are_all_answered(front: McpEra, back: McpEra, gateways: dict[str, str]) -> None:
    somebody = Somebody()
    async with client(gateways[back], front) as one:
        result = await one.request("tools/call", call("several"), caller=somebody)

    assert somebody.asked == list(QUESTIONS.values())
    assert ast.literal_eval(said(result)) == {name: ANSWERS[method] for name, (method, _) in QUESTIONS.items()}


async def test_questions_asked_at_once_are_passed_at_once(gateways: dict[str, str]) -> None:
    async with client(gateways["modern"], "modern") as one:
        result = await one.request_once("tools/call", call("several"), caller=Somebody())

    assert result["resultType"] == "input_required"
    requests = {name: {"method": method, "params": params} for name, (method, params) in QUESTIONS.items()}
    assert result["inputRequests"] == requests
    assert "the server's own" not in str(result["requestState"])


@pytest.mark.parametrize(("front", "back"), PAIRS)
async def test_a_client_is_asked_only_what_it_declared(front: McpEra, back: McpEra, gateways: dict[str, str]) -> None:
    somebody = Somebody({"roots": {}})
    async with client(gateways[back], front) as one:
        await one.request("tools/call", call("where"), caller=somebody)
        last = (await seen(one))["last"]
        try:
            refused = said(await one.request("tools/call", call("ask"), caller=somebody))
        except McpError as error:
            refused = f"{error.rpc_code}"

    assert isinstance(last, dict)
    assert last["capabilities"] == {"roots": {}}
    assert somebody.asked == [("roots/list", {})]
    assert "-32021" in refused


# While it goes on -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("front", "back"), PAIRS)
async def test_progress_reaches_the_client(front: McpEra, back: McpEra, gateways: dict[str, str]) -> None:
    somebody = Somebody()
    async with client(gateways[back], front) as one:
        result = await one.request("tools/call", call("slow", ends=True), caller=somebody)

    assert said(result) == "done"
    assert [told for method, told in somebody.heard if method == "notifications/progress"] == [
        {"progress": 1, "message": "s1"},
        {"progress": 2, "message": "s2"},
    ]


@pytest.mark.parametrize(("front", "back"), PAIRS)
async def test_a_call_that_is_cancelled_in_front_is_cancelled_behind(
    front: McpEra, back: McpEra, gateways: dict[str, str]
) -> None:
    somebody = Somebody()
    async with client(gateways[back], front) as one:
        before = (await counted(one)).get("cancelled", 0)
        asking = asyncio.create_task(one.request("tools/call", call("slow"), caller=somebody))
        await somebody.news.wait()
        asking.cancel()
        await asyncio.wait([asking])
        async with asyncio.timeout(HANGS_S):
            while (await counted(one)).get("cancelled", 0) == before:
                continue


@pytest.mark.parametrize(("front", "back"), PAIRS)
async def test_what_a_server_logs_reaches_the_client_that_wants_it(
    front: McpEra, back: McpEra, gateways: dict[str, str]
) -> None:
    somebody = Somebody()
    sent: JsonObject = {**call("log"), "_meta": {"io.modelcontextprotocol/logLevel": "warning"}}
    async with client(gateways[back], front) as one:
        if front == "legacy":
            await one.request("logging/setLevel", {"level": "warning"}, caller=somebody)
        await one.request("tools/call", sent if front == "modern" else call("log"), caller=somebody)

    told = [params for method, params in somebody.heard if method == "notifications/message"]
    assert told == [{"level": "warning", "logger": "behind", "data": {"n": None}}]


@pytest.mark.parametrize(("front", "back"), PAIRS)
async def test_a_client_hears_of_what_changes(front: McpEra, back: McpEra, gateways: dict[str, str]) -> None:
    heard: asyncio.Queue[tuple[str, Json]] = asyncio.Queue()
    told: set[tuple[str, Json]] = set()
    async with client(
        gateways[back], front, changed=lambda method, params: heard.put_nowait((method, params.get("uri")))
    ) as one:
        await one.facts()
        one.listen(["memo://today"])
        wanted: set[tuple[str, Json]] = {
            ("notifications/tools/list_changed", None),
            ("notifications/resources/updated", "memo://today"),
        }
        async with asyncio.timeout(HANGS_S):
            while not wanted <= told:
                await one.request("tools/call", call("change"))
                while not heard.empty():
                    told.add(heard.get_nowait())


@pytest.mark.parametrize("front", ERAS)
async def test_a_server_is_told_when_nobody_listens_to_a_resource_any_more(
    front: McpEra, gateways: dict[str, str]
) -> None:
    async with client(gateways["modern"], "modern") as other:
        async with client(gateways["modern"], front) as one:
            await one.facts()
            one.listen(["memo://later"])
            async with asyncio.timeout(HANGS_S):
                while ["memo://later"] not in await listened(other):
                    continue
            if front == "legacy":  # of one that goes it is not known before long that it has gone
                await one.request("resources/unsubscribe", {"uri": "memo://later"})
        async with asyncio.timeout(HANGS_S):
            while ["memo://later"] in await listened(other):
                continue


async def test_a_server_with_a_handshake_is_told_too_when_nobody_listens_any_more(gateways: dict[str, str]) -> None:
    async with client(gateways["legacy"], "modern") as other:
        async with client(gateways["legacy"], "modern") as one:
            await one.facts()
            one.listen(["memo://later"])
            async with asyncio.timeout(HANGS_S):
                while "resources/subscribe" not in await counted(other):
                    continue
        async with asyncio.timeout(HANGS_S):
            while "without memo://later" not in await counted(other):
                continue


async def test_a_server_hears_that_a_client_has_other_directories_and_may_ask_for_them(
    gateways: dict[str, str],
) -> None:
    somebody = Somebody({"roots": {"listChanged": True}})
    async with client(gateways["legacy"], "legacy") as one:
        await one.request("tools/call", call("where"), caller=somebody)
        await one.roots_changed(somebody)
        async with asyncio.timeout(HANGS_S):
            while not (told := (await seen(one))["roots"]):
                continue

    assert told == [ANSWERS["roots/list"]]


async def test_a_client_that_sent_its_user_to_a_page_hears_when_that_is_done_and_no_other(
    gateways: dict[str, str],
) -> None:
    heard: asyncio.Queue[tuple[str, JsonObject]] = asyncio.Queue()
    others: list[str] = []
    somebody = Somebody()
    async with (
        client(gateways["legacy"], "legacy", changed=lambda method, params: heard.put_nowait((method, params))) as one,
        client(gateways["legacy"], "legacy", changed=lambda method, _: others.append(method)) as other,
    ):
        await other.request("tools/call", call("odd", at={"x": 1}), caller=somebody)
        await one.request("tools/call", call("visit"), caller=somebody)
        await other.request("tools/call", call("visited"), caller=somebody)
        async with asyncio.timeout(HANGS_S):
            while (told := await heard.get())[0] != VISITED:
                continue

    assert somebody.asked == [("elicitation/create", VISIT)]
    assert told[1]["elicitationId"] == VISIT["elicitationId"]
    assert told[1]["x-more"] == 1
    assert VISITED not in others


# The call path --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("front", ERAS)
async def test_a_call_that_needs_approval_asks_its_client_first(front: McpEra, gateways: dict[str, str]) -> None:
    somebody = Somebody()
    async with client(gateways["modern"], front) as one:
        before = await counted(one)
        denied = await one.request("tools/call", call("sign"), caller=somebody)
        after = await counted(one)

    assert denied["isError"] is True
    assert [method for method, _ in somebody.asked] == ["elicitation/create"]
    assert after["tools/call"] == before["tools/call"] + 1, "the call of `seen` alone"


async def test_a_denied_tool_is_not_shown_and_never_called(gateways: dict[str, str]) -> None:
    async with client(gateways["modern"], "modern") as one:
        before = await counted(one)
        denied = await one.request("tools/call", call("forbidden"))
        after = await counted(one)

    assert denied["isError"] is True
    assert after["tools/call"] == before["tools/call"] + 1


@pytest.mark.parametrize("front", ERAS)
async def test_a_secret_in_a_result_is_kept_out_of_it(front: McpEra, gateways: dict[str, str]) -> None:
    async with client(gateways["modern"], front) as one:
        result = await one.request("tools/call", call("secret"))

    assert (said(result), result["x-kept"]) == ("the key is [redacted: api key]", 1)


# Users ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("back", ERAS)
async def test_nobody_goes_on_with_the_call_of_another(back: McpEra, of_users: dict[str, str]) -> None:
    somebody = Somebody()
    async with (
        client(of_users[back], "modern", token="ada" * 3) as ada,
        client(of_users[back], "modern", token="bob" * 3) as bob,
    ):
        asked = await ada.request_once("tools/call", call("ask"), caller=somebody)
        requests = asked["inputRequests"]
        assert isinstance(requests, dict)
        answers: JsonObject = dict.fromkeys(requests, ANSWERS["elicitation/create"])
        answer = {**call("ask"), "requestState": asked["requestState"], "inputResponses": answers}
        with pytest.raises(McpError, match="requestState"):
            await bob.request_once("tools/call", answer, caller=somebody)
        result = await ada.request_once("tools/call", answer, caller=somebody)
        try:
            again = said(await ada.request_once("tools/call", answer, caller=somebody))
        except McpError as error:
            again = error.words

    assert again == (said(result) if back == "modern" else LOST)
    assert ast.literal_eval(said(result)) == {"ask": ANSWERS["elicitation/create"]}


@pytest.mark.parametrize("back", ERAS)
async def test_each_user_has_a_connection_of_their_own(back: McpEra, of_users: dict[str, str]) -> None:
    async with client(of_users[back], "modern", token="eve" * 3) as eve:
        before = await counted(eve)
        async with client(of_users[back], "modern", token="dan" * 3) as dan:
            await dan.request("tools/call", call("odd", at={"x": 1}))
        after = await counted(eve)

    begun = "initialize" if back == "legacy" else "server/discover"
    assert after[begun] == before[begun] + 1


async def test_a_client_without_a_token_does_not_come_in(of_users: dict[str, str]) -> None:
    async with client(of_users["modern"], "modern") as nobody:
        with pytest.raises(Exception, match="401"):
            await nobody.facts()


# Several servers ------------------------------------------------------------------------------------------------------


async def test_several_servers_are_one_endpoint_and_a_dead_one_costs_its_own_alone(behind: str) -> None:
    dead = "http://127.0.0.1:9/mcp"
    with running("tests.conformance.gateway", f"one={behind},gone={dead},two={behind}") as url:
        async with client(url, "modern") as front:
            tools = [str(tool["name"]) for tool in await front.list_all("tools/list")]
            resources = [str(resource["uri"]) for resource in await front.list_all("resources/list")]
            prompts = [str(prompt["name"]) for prompt in await front.list_all("prompts/list")]
            result = await front.request("tools/call", call("two_odd", at={"x": 1}))
            prompt = await front.request("prompts/get", {"name": "two_greet"})
            memo = await front.request("resources/read", {"uri": "actum+two:memo://some-day"})
            instructions = (await front.facts()).instructions
            with pytest.raises(McpError, match="Resource not found"):
                await front.request("resources/read", {"uri": "nowhere://x"})

    assert {"one_odd", "two_odd"} <= set(tools)
    assert resources == [f"actum+{server}:memo://{day}" for server in ("one", "two") for day in ("today", "later")]
    assert prompts == ["one_greet", "two_greet"]
    assert (said(result), prompt["x-prompt"]) == ("odd", 2)
    assert memo["contents"] == [{"uri": "actum+two:memo://some-day", "text": "Nothing.", "_meta": {"vendor/page": 1}}]
    assert instructions == "# one\n\nStand behind.\n\n# two\n\nStand behind."


def test_a_gateway_in_front_of_nothing_or_of_two_of_one_name_is_refused() -> None:
    one = McpServer(name="one", url="http://127.0.0.1:9/mcp")
    for servers in ([], [one, one]):
        with pytest.raises(UsageError, match="at least one server, and a name of its own for each"):
            McpGateway(servers)


async def test_what_a_server_logs_outside_of_any_request_is_passed_on_from_the_wanted_level_on() -> None:
    talker = McpServer(name="talker", command=sys.executable, args=("-m", "tests.mcp_servers.talker"), cwd=str(ROOT))
    heard: list[Json] = []
    enough = asyncio.Event()

    def logged(params: JsonObject, holder: Holder | None) -> None:
        heard.append(params)
        if len(heard) >= 3:
            enough.set()

    async with (
        served(McpGateway([talker])) as url,
        McpConnection(McpServer(name="x", url=url, transport="http"), era="legacy", logged=logged) as front,
    ):
        assert (await front.facts()).capabilities["prompts"] == {}
        await front.list_all("tools/list")
        await asyncio.wait_for(enough.wait(), HANGS_S)
    assert heard[0] == {"level": "warning", "logger": "talker", "data": {"heard": "warning"}, "x-more": 1}
    assert all(isinstance(each, dict) and each["level"] == "warning" for each in heard)
