"""`actum a2a` and `actum catalog`, as a person types them, with an agent on this machine."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.toolsets.a2a.remote_servers import sdk_agent

Process = Callable[..., subprocess.CompletedProcess[str]]


async def test_an_agent_is_looked_at_approved_asked_and_watched(process: Process, home: Path) -> None:
    async with sdk_agent(("JSONRPC", "1.0")) as (origin, seen):
        (home / "actum.toml").write_text(f'[a2a.weather]\nurl = "{origin}"\n')

        async def typed(*words: str) -> subprocess.CompletedProcess[str]:
            return await asyncio.to_thread(process, *words)

        before = await typed("a2a", "send", "weather", "hello", "--yes")
        assert before.returncode != 0
        assert "was not approved: `actum a2a approve weather`" in before.stderr
        card = json.loads((await typed("a2a", "card", "weather", "--json")).stdout)
        assert (card["state"], card["signature"]) == ("new", "unsigned")
        assert (await typed("a2a", "approve", "weather")).returncode == 1, "nobody was there to agree"
        agreed = await typed("a2a", "approve", "weather", "--yes")
        assert agreed.returncode == 0, agreed.stderr
        assert "Knows the weather." in agreed.stdout
        sent = await typed("a2a", "send", "weather", "hello", "--yes")
        assert sent.returncode == 0, sent.stderr
        assert "Hello, world." in sent.stdout
        assert seen.texts == ["hello"]
        unknown = await typed("a2a", "watch", "weather", "no-such-task")
        assert unknown.returncode != 0
        assert "-32001" in unknown.stderr
        await typed("a2a", "remove", "weather")
        assert (await typed("a2a", "send", "weather", "hello", "--yes")).returncode != 0
        nobody = await typed("a2a", "card", "nobody")
        assert "there is no remote agent 'nobody'" in nobody.stderr
        # A bare address is a place of tools, as a name of the settings is.
        (home / "actum.toml").write_text(f'tools = ["a2a:{origin}"]\n')
        before = await typed("tools", "list")
        assert "was not approved" in before.stdout + before.stderr, before
        assert (await typed("a2a", "approve", origin, "--yes")).returncode == 0
        listed = await typed("tools", "list")
        assert "Ask the remote agent 'Weather'" in listed.stdout, listed


async def test_the_catalog_is_kept_by_hand(process: Process) -> None:
    async with sdk_agent(("JSONRPC", "1.0")) as (origin, _):

        async def typed(*words: str) -> subprocess.CompletedProcess[str]:
            return await asyncio.to_thread(process, "catalog", *words)

        added = await typed("add", origin, "--name", "weather", "--tag", "rain")
        assert added.returncode == 0, added.stderr
        assert [each["name"] for each in json.loads((await typed("search", "forec", "--json")).stdout)] == ["weather"]
        assert json.loads((await typed("search", "nothing", "--json")).stdout) == []
        checked = await typed("check", "weather", "--json")
        assert [each["passed"] for each in json.loads(checked.stdout)] == [True] * 4, checked.stdout
        assert "weather" in (await typed("list")).stdout
        assert (await typed("remove", "weather")).returncode == 0
        assert "the catalog has no 'weather'" in (await typed("check", "weather")).stderr
