"""Keys between real processes: commands make and revoke them, and two servers on one journal obey."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2

from tests import warm
from tests.patience import HANGS_S, SOON_S

ACTUM = (sys.executable, "-m", "actum")
TOOLS = '''
from actum import tool

@tool(effects={"read"})
def crm_find(name: str) -> str:
    """Find a customer."""
    return f"{name} is known"

@tool(effects={"read"})
def pay_list() -> str:
    """List payments."""
    return "none"
'''
HEADERS = {
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/list",
}
LIST = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/list",
    "params": {
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
    },
}


class Machine:
    """A machine on which commands are typed and servers run, all with one journal."""

    def __init__(self, folder: Path, place: str) -> None:
        self._folder = folder
        self._environment = {**os.environ, "HOME": str(folder), "ACTUM_JOURNAL": place}
        (folder / "tools.py").write_text(TOOLS, "utf-8")

    async def types(self, *words: str) -> str:
        """Type a command; what it prints."""
        process = await warm.start(
            *ACTUM, *words, cwd=self._folder, env=self._environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        out, problems = await process.communicate()
        assert process.returncode == 0, problems.decode()
        return out.decode()

    @asynccontextmanager
    async def serves(self) -> AsyncIterator[str]:
        """A server of this machine; its address."""
        words = ("mcp", "serve", "--tools", "tools.py", "--http", "127.0.0.1:0")
        process = await warm.start(*ACTUM, *words, cwd=self._folder, env=self._environment, stderr=subprocess.PIPE)
        assert process.stderr is not None
        try:
            line = (await process.stderr.readline()).decode()
            found = re.search(r"http://\S+", line)
            assert found, line
            yield found[0]
        finally:
            process.terminate()
            await process.communicate()


async def test_a_key_revoked_by_a_command_is_dead_at_two_servers_within_a_second_and_after_a_restart(
    place: str, tmp_path: Path
) -> None:
    machine = Machine(tmp_path, place)
    ci = (await machine.types("keys", "add", "ci", "--tool", "crm_*", "--expires", "1d")).strip()
    other = json.loads(await machine.types("keys", "add", "other", "--json"))["key"]
    async with httpx2.AsyncClient(timeout=HANGS_S) as client:

        async def listed(url: str, key: str) -> list[str] | int:
            """The tools that a key is shown, or why not."""
            headers = HEADERS | ({"authorization": f"Bearer {key}"} if key else {})
            answer = await client.post(url, json=LIST, headers=headers)
            if answer.status_code != 200:
                return answer.status_code
            return sorted(tool["name"] for tool in answer.json()["result"]["tools"])

        async with machine.serves() as one, machine.serves() as two:
            for url in (one, two):
                assert await listed(url, ci) == ["crm_find"]
                assert await listed(url, other) == ["crm_find", "pay_list"]
                assert await listed(url, "") == 401  # also on the loopback, once a key was made
            late = (await machine.types("keys", "add", "late")).strip()
            assert [await listed(url, late) for url in (one, two)] == [["crm_find", "pay_list"]] * 2
            await machine.types("keys", "revoke", "ci")
            async with asyncio.timeout(SOON_S):
                for url in (one, two):
                    while await listed(url, ci) != 401:
                        pass
            assert await listed(one, other) == ["crm_find", "pay_list"]
        async with machine.serves() as again:
            assert await listed(again, ci) == 401
            assert await listed(again, late) == ["crm_find", "pay_list"]
    acts = json.loads(await machine.types("audit", "--json"))["items"]
    assert [line["tool"] for line in acts if line["tool"].startswith("keys.")] == [
        "keys.add",
        "keys.add",
        "keys.add",
        "keys.revoke",
    ]
    assert not any(key.split("_", 2)[2] in json.dumps(acts) for key in (ci, other, late))
