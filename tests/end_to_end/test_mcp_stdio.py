"""Our MCP server over stdio, which the official suite does not cover: byte by byte, in both eras of the protocol."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Literal

import pytest

from actum.core.json import Json, JsonObject
from tests.peers.stdio_wire import Wire, stdio_server

OURS = str(Path(__file__).parents[1] / "peers" / "servers" / "ours.py")
Era = Literal["legacy", "modern"]
both_eras = pytest.mark.parametrize("era", ["legacy", "modern"])


@contextlib.asynccontextmanager
async def begun(era: Era, capabilities: JsonObject | None = None) -> AsyncIterator[Wire]:
    """Our server, and a client that has begun to talk with it."""
    async with stdio_server(sys.executable, OURS, "stdio") as wire:
        if era == "legacy":
            await wire.shake_hands(capabilities)
        else:
            wire.go_modern(capabilities)
        yield wire


def call(name: str, /, **arguments: Json) -> JsonObject:
    return {"name": name, "arguments": arguments}


def text_of(result: JsonObject) -> str:
    content = result["content"]
    assert isinstance(content, list)
    return "".join(str(block["text"]) for block in content if isinstance(block, dict) and "text" in block)


def names(found: Json) -> list[Json]:
    assert isinstance(found, list)
    return [one["name"] for one in found if isinstance(one, dict)]


@both_eras
async def test_a_client_finds_what_is_served_and_uses_it(era: Era) -> None:
    async with begun(era) as wire:
        listed = await wire.ask("tools/list")
        assert {"add", "count", "pay"} <= set(names(listed["tools"]))
        added = await wire.ask("tools/call", call("add", a=2, b=3))
        assert (added["structuredContent"], added["isError"]) == ({"sum": 5}, False)
        content = (await wire.ask("tools/call", call("picture")))["content"]
        assert isinstance(content, list)
        assert [(one["type"], one.get("mimeType")) for one in content if isinstance(one, dict)][-1] == (
            "image",
            "image/png",
        )
        assert names((await wire.ask("prompts/list"))["prompts"]) == ["greet"]
        greeting = await wire.ask("prompts/get", call("greet", name="Ada"))
        assert "Say hello to Ada" in str(greeting["messages"])
        assert "Read me." in str(await wire.ask("resources/read", {"uri": "memo://read-me"}))
        assert await wire.leave() == 0


async def test_without_a_handshake_each_answer_says_who_gave_it_and_how_long_a_list_is_good() -> None:
    async with begun("modern") as wire:
        found = await wire.ask("server/discover")
        assert found["supportedVersions"] == ["2026-07-28"]
        listed = await wire.ask("tools/list")
        assert (listed["resultType"], listed["cacheScope"], listed["ttlMs"]) == ("complete", "private", 0)
        assert isinstance(listed["_meta"], dict)
        assert listed["_meta"]["io.modelcontextprotocol/serverInfo"] == {"name": "ours", "version": "1"}


async def test_one_connection_takes_whichever_era_it_is_begun_in() -> None:
    async with stdio_server(sys.executable, OURS, "stdio") as wire:
        wire.go_modern()
        await wire.ask("server/discover")
        assert (await wire.ask("tools/call", call("add", a=1, b=1)))["structuredContent"] == {"sum": 2}
    async with stdio_server(sys.executable, OURS, "stdio") as wire:
        assert (await wire.refused("tools/list"))["code"] in (
            -32602,
            -32600,
        )  # neither a handshake nor what stands for it
        await wire.shake_hands()
        assert names((await wire.ask("tools/list"))["tools"])


@both_eras
async def test_what_goes_wrong_is_told_in_words_that_a_model_may_read(era: Era) -> None:
    async with begun(era) as wire:
        for asked, words in (
            (call("fail"), "There is no such thing."),
            (call("add", a="x"), "b: required"),
            (call("stumble"), "internal error"),
        ):
            result = await wire.ask("tools/call", asked)
            assert result["isError"] is True
            assert words in text_of(result)
            assert "hunter2" not in str(result)
        assert (await wire.refused("tools/call", call("no_such_tool")))["code"] == -32602
        assert (await wire.refused("no/such/method"))["code"] == -32601
        missing = await wire.refused("resources/read", {"uri": "memo://gone"})
        assert missing["code"] == (-32602 if era == "modern" else -32002)


@both_eras
async def test_progress_is_told_while_a_call_runs_to_who_wants_to_hear_it(era: Era) -> None:
    async with begun(era) as wire:
        await wire.ask("tools/call", call("count", to=3))
        assert [each for each in wire.heard if each["method"] == "notifications/progress"] == []
        wire.heard.clear()
        await wire.ask("tools/call", {**call("count", to=3), "_meta": {"progressToken": "t1"}})
        told = [each["params"] for each in wire.heard if each["method"] == "notifications/progress"]
        assert told == [
            {"progressToken": "t1", "progress": number, "total": 3.0, "message": f"at {number}"} for number in (1, 2, 3)
        ]


async def test_a_client_with_a_handshake_is_asked_while_the_tool_runs() -> None:
    async with begun("legacy", {"elicitation": {}, "sampling": {}}) as wire:
        wire.answers["elicitation/create"] = {"action": "accept", "content": {"yes": True}}
        said: JsonObject = {"role": "assistant", "content": {"type": "text", "text": "A thought."}, "model": "m"}
        wire.answers["sampling/createMessage"] = {**said, "stopReason": "endTurn"}
        assert text_of(await wire.ask("tools/call", call("confirm", question="Sure?"))) == "accept {'yes': True}"
        assert text_of(await wire.ask("tools/call", call("think", about="tea"))) == "A thought."
        assert [each["method"] for each in wire.heard if "id" in each] == [
            "elicitation/create",
            "sampling/createMessage",
        ]


async def test_a_client_without_one_is_asked_by_the_answer_and_asks_again() -> None:
    async with begun("modern", {"elicitation": {"form": {}}}) as wire:
        asked = await wire.ask("tools/call", call("confirm", question="Sure?"))
        assert asked["resultType"] == "input_required"
        questions = asked["inputRequests"]
        assert isinstance(questions, dict)
        ((key, question),) = questions.items()
        assert isinstance(question, dict)
        assert question["method"] == "elicitation/create"
        state: JsonObject = {"requestState": asked["requestState"]}
        answered: JsonObject = {"inputResponses": {key: {"action": "decline"}}}
        done = await wire.ask("tools/call", {**call("confirm", question="Sure?"), **state, **answered})
        assert text_of(done) == "decline {}"
        forged = str(asked["requestState"])[:-4] + "AAAA"
        refused = await wire.refused(
            "tools/call", {**call("confirm", question="?"), "requestState": forged, **answered}
        )
        assert refused["code"] == -32602


async def test_a_client_that_can_not_be_asked_is_told_so() -> None:
    async with begun("modern") as wire:
        refused = await wire.refused("tools/call", call("confirm", question="?"))
        assert (refused["code"], refused["data"]) == (-32021, {"requiredCapabilities": {"elicitation": {}}})
    async with begun("legacy") as wire:  # its protocol has no such error: the model hears of it
        told = await wire.ask("tools/call", call("confirm", question="?"))
        assert told["isError"] is True
        assert "it offers no elicitation" in text_of(told)


@both_eras
async def test_a_call_that_is_cancelled_gets_no_answer_and_others_go_on(era: Era) -> None:
    async with begun(era) as wire:
        waiting = await wire.begin("tools/call", call("wait_for_ever"))
        assert (await wire.ask("tools/call", call("add", a=1, b=1)))["structuredContent"] == {"sum": 2}
        note: JsonObject = {"requestId": waiting, "reason": "no longer wanted"}
        await wire.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": note})
        assert (await wire.ask("tools/call", call("add", a=2, b=2)))["structuredContent"] == {"sum": 4}
        assert [each for each in wire.heard if each.get("id") == waiting and "result" in each] == []
        assert await wire.leave() == 0


@both_eras
async def test_many_calls_at_once_are_answered_each_by_its_number(era: Era) -> None:
    async with begun(era) as wire:
        asked = {await wire.begin("tools/call", call("add", a=n, b=n)): 2 * n for n in range(50)}
        answers = [await wire.receive() for _ in asked]
        found: dict[Json, Json] = {}
        for each in answers:
            assert isinstance(each["result"], dict)
            assert isinstance(each["result"]["structuredContent"], dict)
            found[each["id"]] = each["result"]["structuredContent"]["sum"]
        assert found == asked


@both_eras
async def test_large_and_foreign_texts_pass_as_they_are(era: Era) -> None:
    text = "长 é \u2028 \x00 " * 200_000
    async with begun(era) as wire:
        assert text_of(await wire.ask("tools/call", call("echo", text=text))) == text


@pytest.mark.parametrize("line", [b"{broken", b"[]", b"42", b'{"jsonrpc": "2.0", "id": 7}', b"\xff\xfe", b""])
async def test_a_line_that_says_nothing_ends_nothing(line: bytes) -> None:
    async with begun("legacy") as wire:
        await wire.send_line(line)
        assert (await wire.ask("tools/call", call("add", a=1, b=1)))["structuredContent"] == {"sum": 2}


@both_eras
async def test_a_server_whose_client_goes_in_the_middle_of_a_call_ends(era: Era) -> None:
    async with begun(era) as wire:
        await wire.begin("tools/call", call("wait_for_ever"))
        await wire.ask("tools/call", call("add", a=1, b=1))
        assert await wire.leave() == 0
