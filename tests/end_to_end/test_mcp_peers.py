"""Servers of others behind our host: real programs, started as a user would, called through an agent."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from actum import Agent, ToolCall, ToolResult
from actum.core.call import MediaPart
from actum.core.event import CallProgress, Event
from actum.core.json import Json, JsonObject
from actum.core.message import ToolMessage, UserMessage
from actum.core.model import Request
from actum.core.policy import Answer
from actum.core.run.pending import Pending
from actum.protocols.mcp.config import McpEra, McpServer
from actum.testing import Said, ScriptedModel
from actum.toolsets.mcp import McpToolset
from tests.peers import install
from tests.peers.programs import free_port, listening, npm, py


class Person:
    """Approves every call, and fills in every form with the same values.

    Attributes:
        asked: what was shown.
    """

    def __init__(self, **form: Json) -> None:
        self.asked: list[Pending] = []
        self._form: JsonObject = form

    async def ask(self, pending: Pending) -> Answer:
        self.asked.append(pending)
        if pending.kind in ("approval", "sampling"):
            return Answer("approve")
        return Answer("answer", arguments=self._form) if self._form or pending.url else Answer("deny")


class Made(NamedTuple):
    """What came of one call."""

    result: ToolResult
    person: Person
    events: list[Event]


class Host:
    """An agent with the tools of one server."""

    def __init__(self, server: McpServer) -> None:
        self.toolset = McpToolset(server, wait_s=60)
        self._name = server.name

    async def names(self) -> list[str]:
        """The tools' names, without that of the server."""
        return [tool.name.removeprefix(f"{self._name}_") for tool in await self.toolset.list_tools()]

    async def call(
        self, tool: str, person: Person | None = None, /, *, thought: str = "Hm.", **arguments: Json
    ) -> Made:
        """Have an agent's model make one call. Whatever the server has the model say is `thought`."""
        person = person or Person()
        events: list[Event] = []
        call = ToolCall("c1", f"{self._name}_{tool}", arguments)

        def script(request: Request) -> Said:
            if not request.tools:
                return thought  # it is a server that asks
            return "Done." if isinstance(request.messages[-1], ToolMessage) else call

        result = await Agent(ScriptedModel(script), [self.toolset], approver=person).run("Go", emit=events.append)
        assert result.status == "done", result
        return Made(result.calls[0][1], person, events)


@contextlib.asynccontextmanager
async def host(server: McpServer) -> AsyncIterator[Host]:
    """A host of a server, which is ended with the block."""
    hosting = Host(server)
    try:
        yield hosting
    finally:
        await hosting.toolset.close()


# server-everything, by all of its transports --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def places() -> Iterator[dict[str, McpServer]]:
    """How server-everything is reached."""
    program = (str(install.node()), str(install.npm_bin("mcp-server-everything")))
    sse, http = free_port(), free_port()
    with (
        listening(*program, "sse", env={"PORT": str(sse)}, says=str(sse)),
        listening(*program, "streamableHttp", env={"PORT": str(http)}, says=str(http)),
    ):
        yield {
            "stdio": npm("every", "mcp-server-everything", "stdio"),
            "sse": McpServer(name="every", url=f"http://127.0.0.1:{sse}/sse", transport="sse"),
            "http": McpServer(name="every", url=f"http://127.0.0.1:{http}/mcp", transport="http"),
            "bare address": McpServer(name="every", url=f"http://127.0.0.1:{http}/mcp"),
            "bare address of old": McpServer(name="every", url=f"http://127.0.0.1:{sse}/sse"),
        }


WAYS = ["stdio", "sse", "http", "bare address", "bare address of old"]


@pytest.mark.parametrize("way", WAYS)
async def test_everything_is_found_and_used_by_every_transport(way: str, places: dict[str, McpServer]) -> None:
    async with host(places[way]) as every:
        assert {"echo", "get-tiny-image", "trigger-sampling-request", "trigger-elicitation-request"} <= set(
            await every.names()
        )
        facts = await every.toolset.facts()
        assert (facts.era, facts.version) == ("legacy", "2025-11-25")
        assert (await every.call("echo", message="你好")).result.text == "Echo: 你好"
        added = await every.call("get-sum", a=2, b=3)
        assert "is 5" in added.result.text


@pytest.mark.parametrize("way", ["stdio", "sse", "http"])
async def test_everything_may_turn_to_the_run_while_it_serves(way: str, places: dict[str, McpServer]) -> None:
    async with host(places[way]) as every:
        sampled = await every.call("trigger-sampling-request", thought="A thought of the model.", prompt="tea")
        assert "A thought of the model." in sampled.result.text
        assert [pending.kind for pending in sampled.person.asked] == ["approval", "sampling"]
        filled = await every.call("trigger-elicitation-request", Person(name="Ada", check=True))
        assert "Name: Ada" in filled.result.text
        assert [pending.kind for pending in filled.person.asked] == ["approval", "elicitation"]
        assert "every" in filled.person.asked[1].asker
        declined = await every.call("trigger-elicitation-request")
        assert "declined" in declined.result.text


@pytest.mark.parametrize("way", ["stdio", "http"])
async def test_everythings_tool_that_is_called_as_a_task_only_is_called_so(
    way: str, places: dict[str, McpServer]
) -> None:
    async with host(places[way]) as every:
        query = "simulate-research-query"  # takes seconds
        plain, asked = await asyncio.gather(
            every.call(query, topic="tea"),
            every.call(query, Person(interpretation="snake"), topic="python", ambiguous=True),
        )
        assert "# Research Report: tea" in plain.result.text
        assert "# Research Report: python (snake)" in asked.result.text
        assert [pending.kind for pending in asked.person.asked] == ["approval", "elicitation"]


async def test_everythings_content_of_all_kinds_comes_through(places: dict[str, McpServer]) -> None:
    async with host(places["stdio"]) as every:
        image = (await every.call("get-tiny-image")).result
        (picture,) = [part for part in image.content if isinstance(part, MediaPart)]
        assert (picture.media_type, picture.data[:4]) == ("image/png", b"\x89PNG")
        structured = (await every.call("get-structured-content", location="Chicago")).result.structured
        assert structured == {"temperature": 36, "conditions": "Light rain / drizzle", "humidity": 82}
        annotated = (await every.call("get-annotated-message", messageType="error", includeImage=True)).result
        assert "Error: Operation failed" in annotated.text
        embedded = (await every.call("get-resource-reference", resourceType="Text", resourceId=7)).result
        assert "Resource 7" in embedded.text or b"Resource 7" in b"".join(
            part.data for part in embedded.content if isinstance(part, MediaPart)
        )
        links = (await every.call("get-resource-links", count=2)).result
        assert "demo://resource/dynamic/" in links.text
        refused = await every.call("get-sum", a="two", b=3)
        assert refused.result.error is not None


async def test_everythings_progress_is_told_as_it_comes(places: dict[str, McpServer]) -> None:
    async with host(places["stdio"]) as every:
        made = await every.call("trigger-long-running-operation", duration=0.3, steps=3)
        assert "completed" in made.result.text
        told = [event.value for event in made.events if isinstance(event, CallProgress)]
        assert [each["progress"] for each in told if isinstance(each, dict)] == [1, 2, 3]


async def test_everythings_resources_prompts_and_completion_are_there(places: dict[str, McpServer]) -> None:
    async with host(places["stdio"]) as every:
        found = await every.toolset.resources()
        template = next(each for each in found if each.uri == "demo://resource/dynamic/text/{resourceId}")
        assert b"Resource 3" in b"".join(
            part.data if isinstance(part, MediaPart) else part.text.encode()
            for part in await every.toolset.read("demo://resource/dynamic/text/3")
        )
        assert await every.toolset.complete(template, "resourceId", "4") == ["4"]
        prompt = next(each for each in await every.toolset.prompts() if each.name == "completable-prompt")
        assert await every.toolset.complete(prompt, "department", "S") == ["Sales", "Support"]
        assert await every.toolset.complete(prompt, "name", "E", {"department": "Sales"}) == ["Eve"]
        (message,) = await every.toolset.prompt("completable-prompt", {"department": "Sales", "name": "Eve"})
        assert isinstance(message, UserMessage)
        assert "promote Eve" in message.text


async def test_everything_is_told_the_roots_that_it_was_given(tmp_path: Path) -> None:
    server = npm("every", "mcp-server-everything", "stdio")
    async with host(McpServer(name="every", command=server.command, args=server.args, roots=(str(tmp_path),))) as every:
        assert tmp_path.as_uri() in (await every.call("get-roots-list")).result.text


async def test_what_a_server_finds_of_our_environment_is_little(
    places: dict[str, McpServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_SECRET_KEY", "hunter2")
    async with host(places["stdio"]) as every:
        seen = (await every.call("get-env")).result.text
    assert "PATH" in seen
    assert "hunter2" not in seen


# The other servers of the reference set -------------------------------------------------------------------------------


async def test_the_filesystem_server_serves_one_directory_and_refuses_any_other(tmp_path: Path) -> None:
    allowed = tmp_path / "allowed"
    allowed.mkdir()
    (allowed / "a.txt").write_text("In it.\n")
    (tmp_path / "b.txt").write_text("Beside it.\n")
    async with host(npm("files", "mcp-server-filesystem", str(allowed))) as files:
        assert "In it." in (await files.call("read_text_file", path=str(allowed / "a.txt"))).result.text
        for path in (str(tmp_path / "b.txt"), str(allowed / ".." / "b.txt"), "/etc/hostname"):
            refused = (await files.call("read_text_file", path=path)).result
            assert refused.error is not None
            assert "Access denied" in refused.text
        written = await files.call("write_file", path=str(allowed / "c.txt"), content="New.")
        assert [pending.kind for pending in written.person.asked] == ["approval"]
        assert (allowed / "c.txt").read_text() == "New."


async def test_the_memory_server_keeps_what_it_is_told(tmp_path: Path) -> None:
    server = npm("memory", "mcp-server-memory", env={"MEMORY_FILE_PATH": str(tmp_path / "memory.jsonl")})
    kettle: JsonObject = {"name": "kettle", "entityType": "thing", "observations": ["it is blue"]}
    async with host(server) as memory:
        await memory.call("create_entities", entities=[kettle])
    async with host(server) as memory:  # another process
        found = (await memory.call("search_nodes", query="blue")).result.structured
    assert isinstance(found, dict)
    assert found["entities"] == [kettle]


@pytest.mark.parametrize("era", ["auto", "legacy", "modern"])
async def test_the_time_server_is_spoken_to_in_the_era_that_is_wanted(era: McpEra) -> None:
    async with host(py("time", "mcp2", "mcp-server-time", era=era)) as time:
        facts = await time.toolset.facts()
        assert facts.version == ("2025-11-25" if era == "legacy" else "2026-07-28")
        for source, there in (("Asia/Shanghai", "T13:00:00+09:00"), ("Mars/Olympus", "Invalid timezone")):
            made = await time.call("convert_time", source_timezone=source, time="12:00", target_timezone="Asia/Tokyo")
            assert there in made.result.text


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_the_git_server_reads_and_writes_one_repository(era: McpEra, tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    await asyncio.to_thread(_make_repository, repository)
    async with host(py("git", "mcp2", "mcp-server-git", "--repository", str(repository), era=era)) as git:
        assert "First." in (await git.call("git_log", repo_path=str(repository))).result.text
        (repository / "b.txt").write_text("b")
        await git.call("git_add", repo_path=str(repository), files=["b.txt"])
        assert "b.txt" in (await git.call("git_diff_staged", repo_path=str(repository))).result.text
        elsewhere = (await git.call("git_log", repo_path=str(tmp_path))).result
        assert elsewhere.error is not None


def _make_repository(folder: Path) -> None:
    folder.mkdir()
    (folder / "a.txt").write_text("a")
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    for command in (("init", "-q"), ("add", "."), (*identity, "commit", "-qm", "First.")):
        subprocess.run(["git", *command], cwd=folder, check=True)


async def test_a_server_on_the_sdk_of_before_is_served_as_well(tmp_path: Path) -> None:
    server = py("db", "mcp1", "mcp-server-sqlite", "--db-path", str(tmp_path / "t.db"))
    async with host(server) as db:
        assert (await db.toolset.facts()).era == "legacy"
        await db.call("create_table", query="CREATE TABLE tea (name TEXT)")
        await db.call("write_query", query="INSERT INTO tea VALUES ('Longjing')")
        assert "Longjing" in (await db.call("read_query", query="SELECT * FROM tea")).result.text
        assert "tea" in (await db.call("list_tables")).result.text
