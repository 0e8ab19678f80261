"""What `actum serve` keeps of requests that use sessions: `python -m bench.serve_memory [requests] [way ...]`.

The doors, the application and the journal of `actum serve` answer in this process, without sockets, so that what is
kept can be counted. Each way asks so many times over 200 sessions, by itself: see `WAYS`. After each tenth of the
requests the objects that are alive (after a collection of garbage) and the memory of the process are told. A way is
flat where the second half of its requests keeps fewer than `FLAT_BLOCKS` blocks of Python's allocator for each request.
20,000 requests take one to two minutes a way. `trace` as a way more has tracemalloc tell at the end what was kept of
the second half, and counts the objects of each type; that takes ten times as long.

A conversation is read as a whole when it goes on, so it is begun anew after a few turns (`TURNS`). `tests/server/
test_memory.py` asks in the same ways, and looks at our own objects and registries alone.
"""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import tempfile
import time
import tracemalloc
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec
from starlette.types import ASGIApp, Message

from actum import Agent, tool
from actum.compose.serving import Serving, open_doors
from actum.compose.settings import Settings
from actum.compose.tables.serve import ServeSettings
from actum.core.call import ToolCall
from actum.core.json import JsonObject
from actum.core.message import Reply, UserMessage
from actum.core.model import Request
from actum.server import Access, Identity, make_key
from actum.server.api.api import GivenAgents
from actum.server.keys import with_stored_keys
from actum.server.metrics import Metrics, counted
from actum.storage.place import open_journal

SESSIONS = 200
TURNS = 5
AT_ONCE = 8
Asks = Callable[[int, str], Awaitable[None]]
"""Asks one request: its number, and the `Authorization`."""
FLAT_BLOCKS = 1.0


class Told(NamedTuple):
    """An answer.

    Attributes:
        status: of HTTP.
        headers: by their names.
        body: whole.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> JsonObject:
        """The body."""
        return msgspec.json.decode(self.body, type=JsonObject)


class Client:
    """Asks an ASGI application, without sockets.

    Args:
        app: answers.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def ask(self, method: str, path: str, body: object = None, **headers: str) -> Told:
        """One request, to the end of its answer.

        Raises:
            ValueError: the answer is no success.
        """
        told = {"host": "127.0.0.1:8000", "content-type": "application/json", **headers}
        sent = b"" if body is None else msgspec.json.encode(body)
        path, _, query = path.partition("?")
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "root_path": "",
            "query_string": query.encode(),
            "scheme": "http",
            "client": ("127.0.0.1", 4711),
            "server": ("127.0.0.1", 8000),
            "http_version": "1.1",
            "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in told.items()],
        }
        parts: list[bytes] = []
        begun: list[Message] = []
        waiting, over = [sent], asyncio.Event()

        async def receive() -> Message:
            if waiting:
                return {"type": "http.request", "body": waiting.pop(), "more_body": False}
            await over.wait()
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                begun.append(message)
                return
            parts.append(message.get("body", b""))
            if not message.get("more_body", False):
                over.set()

        await self._app(scope, receive, send)
        answered = {name.decode(): value.decode() for name, value in begun[0]["headers"]}
        told_ = Told(begun[0]["status"], answered, b"".join(parts))
        if told_.status >= 300:
            raise ValueError(f"{method} {path}: {told_.status} {told_.body.decode()}")
        return told_


class Talks:
    """The conversations of one way: so many at a time, of which each asks `TURNS` times and then begins anew.

    Args:
        client: asks.
        sessions: how many conversations there are at a time.
    """

    def __init__(self, client: Client, sessions: int = SESSIONS) -> None:
        self.client = client
        self.sessions = sessions
        self.kept: dict[int, str] = {}

    def turn(self, number: int) -> int:
        """Which turn of its conversation a request is."""
        return number // self.sessions % TURNS

    async def runs(self, number: int, key: str) -> None:
        """A run of the runs API in a session, and its events to the end."""
        place = number % self.sessions
        session = f"s{place}-{number // self.sessions // TURNS}"
        question = {"agent": "desk", "question": f"use {number}", "session": session}
        begun = (await self.client.ask("POST", "/v1/runs", question, authorization=key)).json()
        events = await self.client.ask("GET", str(begun["events"]), authorization=key)
        _expect(events, b"done")

    async def chat(self, number: int, key: str) -> None:
        """A chat whose client sends what was said before."""
        said: list[JsonObject] = [{"role": "user", "content": f"use {number % self.sessions}"}]
        for earlier in range(self.turn(number)):
            said += [{"role": "assistant", "content": "said 1"}, {"role": "user", "content": f"say {earlier}"}]
        asked = {"model": "desk", "messages": said, "user": f"user {number % self.sessions}"}
        _expect(await self.client.ask("POST", "/v1/chat/completions", asked, authorization=key), b"said")

    async def responses(self, number: int, key: str) -> None:
        """A response that goes on with the one before."""
        place = number % self.sessions
        asked: JsonObject = {"model": "desk", "input": f"use {number}"}
        if self.turn(number):
            asked["previous_response_id"] = self.kept[place]
        self.kept[place] = str((await self.client.ask("POST", "/v1/responses", asked, authorization=key)).json()["id"])

    async def assistants(self, number: int, key: str) -> None:
        """A message and a streamed run in a thread of the assistants API."""
        place = number % self.sessions
        if not self.turn(number):
            self.kept[place] = str((await self.client.ask("POST", "/v1/threads", {}, authorization=key)).json()["id"])
        thread = f"/v1/threads/{self.kept[place]}"
        said = {"role": "user", "content": f"use {number}"}
        await self.client.ask("POST", f"{thread}/messages", said, authorization=key)
        asked = {"assistant_id": "desk", "stream": True}
        _expect(await self.client.ask("POST", f"{thread}/runs", asked, authorization=key), b"thread.run.completed")

    async def a2a(self, number: int, key: str) -> None:
        """A message in a context of A2A."""
        place = number % self.sessions
        message: JsonObject = {"messageId": f"m{number}", "role": "ROLE_USER", "parts": [{"text": f"use {number}"}]}
        if self.turn(number):
            message["contextId"] = self.kept[place]
        asked = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}}
        answer = await self.client.ask("POST", "/a2a/desk", asked, authorization=key, a2a_version="1.0")
        _expect(answer, b"TASK_STATE_COMPLETED")
        self.kept[place] = msgspec.json.decode(answer.body)["result"]["task"]["contextId"]

    async def mcp(self, number: int, key: str) -> None:
        """A call in a session of MCP that stays open."""
        if number < self.sessions:
            self.kept[number] = await self._opened(key)
        await self._call(number, key)

    async def mcp_anew(self, number: int, key: str) -> None:
        """As `mcp`; after its turns a session is ended by its client."""
        place = number % self.sessions
        if not self.turn(number):
            if place in self.kept:
                await self.client.ask("DELETE", "/mcp", authorization=key, mcp_session_id=self.kept[place])
            self.kept[place] = await self._opened(key)
        await self._call(number, key)

    async def mcp_left(self, number: int, key: str) -> None:
        """As `mcp`; after its turns a session is left to the server, and another one opened."""
        if not self.turn(number):
            self.kept[number % self.sessions] = await self._opened(key)
        await self._call(number, key)

    async def mcp_new(self, number: int, key: str) -> None:
        """A call without a session, of a client that tells one of as many names."""
        told: JsonObject = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": f"bench {number % self.sessions}", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        call: JsonObject = {"name": "add", "arguments": {"a": number, "b": 1}, "_meta": told}
        more = {"mcp_protocol_version": "2026-07-28", "mcp_method": "tools/call", "mcp_name": "add"}
        answer = await self._post("tools/call", call, key, **more)
        _expect(answer, str(number + 1).encode())

    async def _opened(self, key: str) -> str:
        told = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        return (await self._post("initialize", told, key)).headers["mcp-session-id"]

    async def _call(self, number: int, key: str) -> None:
        call = {"name": "add", "arguments": {"a": number, "b": 1}}
        answer = await self._post("tools/call", call, key, mcp_session_id=self.kept[number % self.sessions])
        _expect(answer, str(number + 1).encode())

    async def _post(self, method: str, params: object, key: str, **headers: str) -> Told:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        accept = "application/json, text/event-stream"
        headers = {"mcp_protocol_version": "2025-06-18", **headers}
        return await self.client.ask("POST", "/mcp", body, authorization=key, accept=accept, **headers)


def _expect(answer: Told, words: bytes) -> None:
    if words not in answer.body:
        raise ValueError(answer.body.decode())


WAYS: Mapping[str, Callable[[Talks], Asks]] = {
    "runs": lambda talks: talks.runs,
    "chat": lambda talks: talks.chat,
    "responses": lambda talks: talks.responses,
    "assistants": lambda talks: talks.assistants,
    "a2a": lambda talks: talks.a2a,
    "mcp": lambda talks: talks.mcp,
    "mcp_anew": lambda talks: talks.mcp_anew,
    "mcp_left": lambda talks: talks.mcp_left,
    "mcp_new": lambda talks: talks.mcp_new,
}


@tool(effects={"read"})
def add(a: int, b: int) -> int:
    """Add two numbers.

    Args:
        a: One.
        b: Other.
    """
    return a + b


class Model:
    """Calls the tool where it is told to `use` it, and then says something."""

    name = "bench"
    tells_usage = True

    async def reply(self, request: Request, emit: object = None) -> Reply:
        """A reply."""
        last = request.messages[-1]
        if isinstance(last, UserMessage) and last.text.startswith("use"):
            return Reply.of(calls=[ToolCall(id=f"c{len(request.messages)}", name="add", arguments={"a": 1, "b": 2})])
        return Reply.of("said 1")


@asynccontextmanager
async def served(folder: Path) -> AsyncIterator[tuple[Client, list[str]]]:
    """What `actum serve` puts together, without its listener: a client, and the `Authorization` of eight users."""
    opened = open_journal(folder / "runs.db")
    made = [await make_key(opened, f"k{place}", by="bench", user=f"u{place}", scopes=("admin",)) for place in range(8)]
    counts = Metrics()
    journal = counted(opened, counts)
    access, stored, _ = await with_stored_keys(Access(), opened, host="127.0.0.1", by="bench", is_person=False)
    agent: Agent[object] = Agent(Model(), [add], name="desk", journal=journal)
    doors = open_doors(Settings(), [add], GivenAgents({"desk": agent}), journal, Identity(), verifier=access.verifier)
    application = Serving(doors, ServeSettings(), access, journal=journal, metrics=counts, stored=stored).application
    async with application.app.router.lifespan_context(application.app):
        yield Client(application.app), [f"Bearer {each.text}" for each in made]
    await opened.close()


async def measure(name: str, requests: int, *, trace: bool) -> bool:
    """Ask so many times, and tell what is kept.

    Returns:
        Whether that is flat.
    """
    with tempfile.TemporaryDirectory() as folder:
        async with served(Path(folder)) as (client, keys):
            ask, seen = WAYS[name](Talks(client)), [_alive()]
            began = time.monotonic()
            kept: list[tuple[tracemalloc.Snapshot, Counter[str]]] = []
            for part in range(10):
                await ask_all(ask, range(requests * part // 10, requests * (part + 1) // 10), keys)
                seen.append(_alive())
                if trace and part in (4, 9):
                    kept.append((_snapshot(), _types()))
            took = time.monotonic() - began
    blocks = (seen[-1].blocks - seen[5].blocks) / (requests / 2)
    memory = (seen[-1].memory - seen[5].memory) / (requests / 2)
    print(f"{name}: {requests} requests in {took:.0f} s")
    print(f"  blocks {' '.join(str(each.blocks) for each in seen)}; {blocks:.2f} a request of the second half")
    print(f"  MB {' '.join(f'{each.memory / 1e6:.1f}' for each in seen)}; {memory:.0f} bytes a request", flush=True)
    if trace:
        _tell(*kept)
    return blocks <= FLAT_BLOCKS


async def ask_all(ask: Asks, numbers: Sequence[int], keys: Sequence[str]) -> None:
    """Ask for each number, eight at a time.

    Args:
        ask: one of the ways.
        numbers: of the requests; of each session's, always the same user asks.
        keys: the `Authorization` of each user.
    """

    async def some(place: int) -> None:
        for number in numbers[place::AT_ONCE]:
            await ask(number, keys[place])

    await asyncio.gather(*map(some, range(AT_ONCE)))  # a session is always asked by the same of them, one by one


class Alive(NamedTuple):
    """What the process holds.

    Attributes:
        blocks: of Python's allocator.
        memory: bytes that the kernel counts as resident.
    """

    blocks: int
    memory: int


def _alive() -> Alive:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return Alive(sys.getallocatedblocks(), pages * os.sysconf("SC_PAGE_SIZE"))


def _snapshot() -> tracemalloc.Snapshot:
    return tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(False, tracemalloc.__file__)])


def _types() -> Counter[str]:
    return Counter(f"{type(each).__module__}.{type(each).__qualname__}" for each in gc.get_objects())


def _tell(before: tuple[tracemalloc.Snapshot, Counter[str]], after: tuple[tracemalloc.Snapshot, Counter[str]]) -> None:
    for kept in after[0].compare_to(before[0], "traceback")[:12]:
        print(kept.size_diff, kept.count_diff, *kept.traceback.format()[-16:], sep="\n")
    print(*(after[1] - before[1]).most_common(25), sep="\n", flush=True)


if __name__ == "__main__":
    words = sys.argv[1:]
    count = int(words.pop(0)) if words and words[0].isdecimal() else 20_000
    if "trace" in words:
        tracemalloc.start(8)
    chosen = [word for word in words if word in WAYS] or list(WAYS)
    flat = [asyncio.run(measure(name, count, trace="trace" in words)) for name in chosen]
    sys.exit(0 if all(flat) else 1)
