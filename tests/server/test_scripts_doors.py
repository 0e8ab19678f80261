"""A script that is added while a server runs is a tool with the next request at every door."""

from __future__ import annotations

from pathlib import Path

import pytest

from actum import Agent
from actum.compose.serving import Serving, open_doors
from actum.compose.settings import Settings
from actum.compose.tools import load_tools
from actum.compose.workflows import open_workflows
from actum.core.model import Request
from actum.core.stored.key import new_key
from actum.journal.memory import MemoryJournal
from actum.sandbox.linux import landlock_abi
from actum.server import Access, Identity
from actum.server.api.api import GivenAgents
from actum.server.scopes import ALL_SCOPES
from actum.server.verifier import Keys
from actum.testing import ScriptedModel
from tests.toolsets.test_scripts import GREET, folder_of
from tests.web import serving

from .test_published_doors import Town, said


def names(request: Request) -> str:
    return ",".join(sorted(tool.name for tool in request.tools))


@pytest.mark.row("T10")
@pytest.mark.skipif(landlock_abi() == 0, reason="this machine has no Landlock: nothing is run")
async def test_a_script_added_changed_or_removed_while_a_server_runs_is_so_with_the_next_request_at_every_door(
    tmp_path: Path,
) -> None:
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    folder_of(scripts, first_py=GREET)
    settings, journal = Settings(tools=(f"{scripts}/",)), MemoryJournal()
    key, stored = new_key("ann", principal="ann", scopes=ALL_SCOPES)
    tools, access = load_tools(settings, tmp_path), Access(verifier=Keys([stored]))
    desk: Agent[object] = Agent(ScriptedModel(names), load_tools(settings, tmp_path), name="desk", journal=journal)
    async with open_workflows(settings, {}, tmp_path, journal=journal) as workflows:
        agents = GivenAgents({"desk": desk})
        doors = open_doors(settings, tools, agents, journal, Identity(), verifier=access.verifier, workflows=workflows)
        house = Serving(doors, settings.serve, access, who=Identity(), journal=journal).application
        async with serving(house.app) as url, Town(url, {"ann": key}, journal).mcp("ann") as client:
            it = Town(url, {"ann": key}, journal)

            async def at_every_door() -> list[str]:
                task = await it.a2a("ann", "desk", f"Which tools, {len(list(scripts.iterdir()))}?")
                found = {
                    "api": ",".join(
                        sorted(each["name"] for each in (await it.ask("GET", "/v1/tools", who="ann")).json()["items"])
                    ),
                    "mcp, a session that was open": ",".join(
                        sorted(each.name for each in (await client.list_tools()).tools)
                    ),
                    "models": await said(it, "ann", "desk", "Which tools?"),
                    "a2a": task.artifacts[0].parts[0].text,
                }
                assert len({*found.values()}) == 1, found
                return found["api"].split(",")

            async def greet(name: str) -> object:
                body = {"arguments": {"name": "Ann"}}
                return (await it.ask("POST", f"/v1/tools/{name}/call", body, who="ann")).json()

            assert await at_every_door() == ["first"]
            folder_of(scripts, second_py=GREET.replace("Hello", "Good day"))
            assert await at_every_door() == ["first", "second"]
            assert "Good day Ann" in str(await greet("second"))
            assert "Good day Ann" in str((await client.call_tool("second", {"name": "Ann"})).content)
            folder_of(scripts, second_py=GREET.replace("Hello", "Bye"))
            assert "Bye Ann" in str(await greet("second"))
            (scripts / "first.py").unlink()
            assert await at_every_door() == ["second"]
            assert (await it.ask("GET", "/v1/tools/first", who="ann")).status_code == 404
