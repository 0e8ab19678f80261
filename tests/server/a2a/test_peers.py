"""Clients of others against our server: the official ones of JavaScript, and of Python in 0.2 and 0.3."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from actum import Agent
from actum.compose.serving import Serving, open_doors
from actum.compose.settings import Settings
from actum.compose.tables.serve import ServeSettings
from actum.journal.memory import MemoryJournal
from actum.server import Access, Identity
from actum.server.api.api import GivenAgents
from actum.server.scopes import ALL_SCOPES
from tests.peers import install
from tests.server.api.application import answering
from tests.web import serving

CLIENTS = install.HERE / "clients"


async def told_by(*command: str) -> dict[str, Any]:
    """What a program prints."""
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode()[-3000:]
    found: dict[str, Any] = json.loads(out.decode().splitlines()[-1])
    return found


@pytest.mark.parametrize("peer", ["@a2a-js/sdk 1.3.0", "a2a-sdk 0.3.26", "a2a-sdk 0.2.16"])
async def test_a_client_of_others_sends_and_streams(peer: str) -> None:
    journal = MemoryJournal()
    who = Identity(principal="ann", scopes=ALL_SCOPES)
    agent = Agent(answering("Hello.", "Streamed."), name="desk", journal=journal)
    doors = open_doors(Settings(), [], GivenAgents({"desk": agent}), journal, who)
    application = Serving(doors, ServeSettings(), Access(), who=who, journal=journal).application
    async with serving(application.app) as url:
        if peer.startswith("@"):
            modules = install.npm_bin("conformance").parents[3]
            script = str(CLIENTS / "a2a_client.mjs")
            told = await told_by(str(install.node()), script, url, str(modules))
            assert "Hello." in json.dumps(told["sent"])
            assert told["kinds"] == ["task", "statusUpdate", "artifactUpdate", "statusUpdate"]
            assert "Hello." in json.dumps(told["got"])
            return
        environment = "a2a03" if "0.3" in peer else "a2a02"
        script = str(CLIENTS / "a2a_old_client.py")
        told = await told_by(str(install.py_bin(environment, "python")), script, url)
        assert told["url"] == f"{url}/a2a/desk" + ("" if environment == "a2a03" else "/legacy")
        sent = told["sent"]["result"]
        assert (sent["status"]["state"], sent["artifacts"][0]["parts"][0]["text"]) == ("completed", "Hello.")
        assert told["kinds"] == ["task", "status-update", "artifact-update", "status-update"]
