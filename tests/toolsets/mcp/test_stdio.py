"""Local servers: what they write, how they end, what they see of us. Real processes."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCRequest
from msgspec.structs import replace

from actum.core.errors import CallTimeout, InvalidResult, Unavailable
from actum.core.json import JsonObject
from actum.protocols.mcp.config import McpServer
from actum.toolsets.mcp.connection import McpConnection
from actum.toolsets.mcp.error import McpError
from actum.toolsets.mcp.line import messages
from actum.toolsets.mcp.stdio import LineCutter, process
from tests.effort import turns_counted


def odd(*words: str, **settings: object) -> McpServer:
    program = ("-m", "tests.mcp_servers.odd", *words)
    return McpServer(name="odd", command=sys.executable, args=program, **settings)  # type: ignore[arg-type]


def said(result: JsonObject) -> str:
    content = result["content"]
    assert isinstance(content, list)
    assert isinstance(content[0], dict)
    return str(content[0]["text"])


async def called(connection: McpConnection, name: str, **arguments: object) -> JsonObject:
    return await connection.request("tools/call", {"name": name, "arguments": arguments})  # type: ignore[dict-item]


async def until(is_so: Callable[[], bool]) -> None:
    """Give way to others until something is so."""
    while not is_so():  # noqa: ASYNC110 - it is no task of ours that makes it so
        await asyncio.sleep(0)


def is_alive(pid: int) -> bool:
    """A process that ended and that nobody has asked after yet is not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def children() -> list[int]:
    """The servers that this process has started and that live."""
    pids = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text("ascii").split()
    return [
        int(pid) for pid in pids if is_alive(int(pid)) and b"mcp_servers" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]


@given(st.lists(st.binary(max_size=12)), st.integers(1, 8))
def test_lines_do_not_depend_on_how_the_bytes_are_cut(pieces: list[bytes], most: int) -> None:
    whole = b"".join(pieces)
    lines = LineCutter(most)

    cut = [line for piece in pieces for line in lines.feed(piece)]

    assert cut == LineCutter(most).feed(whole)
    assert cut == [(line[:most], len(line) <= most) for line in whole.split(b"\n")[:-1]]


@given(st.recursive(st.none() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)))
def test_any_json_is_messages_or_a_clear_refusal(value: object) -> None:
    problem = ""
    try:
        messages(json.dumps(value).encode())
    except ValueError as error:
        problem = str(error)

    assert problem in ("", "no JSON", "no message")


ANSWER = b'{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"WORDS"}]}}'
GOOD = b"\n" + ANSWER.replace(b"WORDS", b"good") + b"\n"


LINES: list[tuple[bytes, str | type[Exception]]] = [
    (ANSWER.replace(b"WORDS", rb"a\ud83d"), "a\ufffd"),
    (ANSWER.replace(b"WORDS", b"caf\xe9"), "caf\ufffd"),
    (ANSWER.replace(b"WORDS", rb"\udc00\u00e9 \ud83d\ude00"), "\ufffdé 😀"),
    (b"\xef\xbb\xbf" + ANSWER.replace(b"WORDS", b"marked"), "marked"),
    (ANSWER.replace(b"ID", b'"ID"').replace(b"WORDS", b"quoted"), "quoted"),
    (ANSWER.replace(b"ID", b"ID.0").replace(b"WORDS", b"float"), "float"),
    (b'[{"jsonrpc":"2.0"},' + ANSWER.replace(b"WORDS", b"batch") + b"]", "batch"),
    (b'{"jsonrpc":"2.0","id":ID,"result":{"content":[', InvalidResult),
    (b'{"jsonrpc":"2.0","result":{"content":[{"id":99', InvalidResult),
    (b'{"jsonrpc":"2.0","result":{"content":[{"id":99, oops}]},"id":ID}', InvalidResult),
    (b'{"jsonrpc":"2.0","id":ID}', InvalidResult),
    (b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}', McpError),
    (b'{"level":"error","id":ID,"error":"disk slow"}' + GOOD, "good"),
    (b'{"level":"info","sent":{"jsonrpc":"2.0","id":ID,"result":[]}}' + GOOD, "good"),
    (b'{"level":"info", id: ID, jsonrpc result' + GOOD, "good"),
    (b'I: {"jsonrpc":"2.0","result":{}' + GOOD, "good"),
    (b"caf\xe9 {\n\xff\n[1]\nnull" + GOOD, "good"),
    (b"\xef\xbb\xbf\n" + GOOD, "good"),
]


async def test_a_damaged_line_is_mended_or_told_at_once_and_a_log_disturbs_nobody() -> None:
    async with McpConnection(odd("modern")) as connection:
        for lines, expected in LINES:
            try:
                found: object = said(await called(connection, "lines", lines=(lines + b"\n").hex()))
            except (CallTimeout, InvalidResult, McpError) as error:
                found = type(error)
            assert found == expected, lines
        assert connection.health.restarts == 0


def notification(method: str, params: bytes = b"{}") -> bytes:
    return b'{"jsonrpc":"2.0","method":"notifications/%s","params":%s}' % (method.encode(), params)


LOGGED = notification("message", b'{"level":"info","data":"x"}')
FLOODS: dict[str, bytes] = {
    "first": b"",
    "empty lines": b"\n" * 30_000,
    "blank lines": b" \n" * 30_000,
    "lines of a log": b"x\n" * 2_000,
    "lists without an end": b"[\n" * 2_000,
    "objects": b"{}\n" * 2_000,
    "no end": b'{"jsonrpc":"2.0","id":99,"x":[' + b'{"b":1},' * 20_000,
    "just not large, no end": b'{"jsonrpc":"2.0","id":99,"x":[' + b'{"b":1},' * 7_500,
    "halves of pairs": rb'{"jsonrpc":"2.0","method":"x","params":{"x":"\ud83d","y":[' + b'{"b":1},' * 7_500 + b"1]}}",
    "a batch": b"[" + b",".join([LOGGED] * 600) + b"]",
    "a batch of nothing": b"[" + b"{}," * 2_000 + b"{}]",
    "progress": notification("progress", b'{"progressToken":ID,"progress":1,"message":"x"}\n') * 200,
    "logged": (LOGGED + b"\n") * 200,
    "changed": (notification("tools/list_changed") + b"\n") * 200,
    "errors for all": b'{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}\n' * 2_000,
}


async def test_whatever_a_local_server_writes_leaves_the_loop_to_others() -> None:
    held: dict[str, int] = {}
    async with McpConnection(odd("modern")) as connection:
        for name, lines in FLOODS.items():
            async with turns_counted() as turns:
                with suppress(McpError):
                    await called(connection, "lines", lines=(lines + GOOD).hex())
            held[name] = turns.held
    assert {name: calls for name, calls in held.items() if calls >= 30_000} == {}


@pytest.mark.parametrize(
    ("line", "ended"),
    [
        (b'{"jsonrpc": "2.0", "id": 7, "result": null}', [7]),
        (b'{"jsonrpc": "2.0", "id": 7, "result": {"a": ', [7]),
        (b'{"result": {"id": 8, "a": "\\"id\\": 8"}, "id": 7, oops', [7]),
        (b'{"jsonrpc": "2.0", "error": {"id": 8, "a": ', [7, 8]),
        (b'{"jsonrpc": "2.0", "result": {"id": 8}}', [7, 8]),
        (b'{"jsonrpc": "2.0", "method": "notifications/progress", "params": {', None),
        (b'[{"jsonrpc": "2.0", "result": {"id": 8, ', None),
        (b'{"id": 7, "a": ', None),
    ],
)
def test_of_the_requests_that_wait_only_those_end_that_the_line_may_answer(
    line: bytes, ended: list[int] | None
) -> None:
    if ended is None:
        with pytest.raises(ValueError, match="no "):
            messages(line, (7, 8))
        return
    answers = messages(line, (7, 8))
    assert all(isinstance(answer, JSONRPCError) for answer in answers)
    assert [answer.id for answer in answers if isinstance(answer, JSONRPCError)] == ended


async def test_an_answer_that_is_no_object_is_told_at_once() -> None:
    async with McpConnection(odd()) as connection:
        with pytest.raises(InvalidResult, match="malformed"):
            await called(connection, "list")

        assert said(await called(connection, "echo")) != ""


async def test_noise_on_the_line_is_kept_for_people_and_loses_no_answer() -> None:
    async with McpConnection(odd()) as connection:
        assert said(await called(connection, "noise")) == "after the noise"

        assert any("a banner of mine" in line for line in connection.health.stderr)


async def test_a_batch_is_read() -> None:
    async with McpConnection(odd()) as connection:
        assert (await called(connection, "batch"))["content"] == []


async def test_a_message_that_is_too_long_fails_its_request_alone() -> None:
    async with McpConnection(odd()) as connection:
        with pytest.raises(InvalidResult, match="too long"):
            await called(connection, "huge")

        assert said(await called(connection, "echo"))
        assert connection.health.restarts == 0


async def test_a_message_too_long_to_tell_whose_it_is_is_told_to_all_that_wait() -> None:
    async with McpConnection(odd()) as connection:
        with pytest.raises(InvalidResult, match="too long"):
            await called(connection, "huge and nameless")

        assert said(await called(connection, "echo"))
        assert connection.health.restarts == 0


async def test_an_error_of_the_servers_own_keeps_its_words_without_what_nobody_sees() -> None:
    async with McpConnection(odd()) as connection:
        with pytest.raises(McpError, match="my own words") as refused:
            await called(connection, "own")

        assert refused.value.rpc_code == -32000
        assert refused.value.data == {"a": 1}
        assert connection.health.state == "up"


async def test_a_server_sees_little_of_our_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_TOKEN", "secret")
    monkeypatch.setenv("LC_TIME", "C")

    async with McpConnection(odd(env={"MINE": "${secret:key}"}), secrets={"key": "k"}) as connection:
        seen = json.loads(said(await called(connection, "environment")))

    assert seen["MINE"] == "k"
    assert seen["LC_TIME"] == "C"
    assert "PATH" in seen
    assert "OPENAI_TOKEN" not in seen
    assert "PYTEST_CURRENT_TEST" not in seen


async def test_what_a_server_writes_beside_the_protocol_is_kept_without_secrets() -> None:
    said_it = "import os, sys; sys.exit('\\x07the key is ' + os.environ['KEY'])"
    server = odd(era="legacy", env={"KEY": "${secret:key}"})

    async with McpConnection(replace(server, args=("-c", said_it)), secrets={"key": "s3cret"}) as connection:
        with pytest.raises(Unavailable) as failed:
            await connection.facts()

    assert list(connection.health.stderr) == ["the key is [secret]"]
    assert connection.health.problem == "It ended before it had answered. It wrote: the key is [secret]"
    assert "the key is" not in str(failed.value)


async def test_what_a_server_started_ends_with_it() -> None:
    async with McpConnection(odd()) as connection:
        pids = [int(pid) for pid in said(await called(connection, "family")).split()]
        assert all(map(is_alive, pids))

    assert not any(map(is_alive, pids))


async def test_a_death_is_noticed_when_somebody_else_holds_the_pipes() -> None:
    async with McpConnection(odd()) as connection:
        with pytest.raises(CallTimeout, match="lost"):
            await called(connection, "orphan")

    assert children() == []


async def test_a_server_that_ends_on_no_polite_word_is_killed() -> None:
    ending = ((None, 0.01), (signal.SIGTERM, 0.01), (signal.SIGKILL, 60))
    wrote: list[str] = []

    async with process(odd("stubborn"), {}, wrote.append, ending) as (incoming, outgoing):
        await outgoing.send(SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=1, method="ping")))
        await incoming.receive()  # it runs, and has said how it takes signals
        (pid,) = children()

    assert not is_alive(pid)


async def test_a_start_that_is_broken_off_leaves_no_process() -> None:
    connection = McpConnection(odd("mute"))

    for turns in range(0, 30, 3):
        start = asyncio.create_task(connection.facts())
        for _ in range(turns):
            await asyncio.sleep(0)
        start.cancel()
        await asyncio.wait([start])
        assert start.cancelled()

    assert children() == []
    await connection.close()
