"""What an MCP client says is not the user's word, unless the operator says so: by the real server, in both eras."""

from __future__ import annotations

import pytest

from actum import Rule, Rules, tool
from actum.core.json import JsonObject
from actum.core.run.record import CallsRequested
from actum.journal.memory import MemoryJournal
from actum.protocols.mcp.config import McpEra
from actum.server import Identity, McpService
from tests.mcp_service import Client, connected

ALL_FROM_USER = "origins.to.all(o, o.source == 'user')"


@tool(effects={"send"})
def send(to: str) -> str:
    """Send a message."""
    return f"sent to {to}"


@pytest.mark.row("C4")
@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize("when", [ALL_FROM_USER, "trusted(to)"])
async def test_a_client_can_not_send_to_anybody_by_a_rule_that_trusts_the_user(era: McpEra, when: str) -> None:
    policy = Rules(Rule("allow", tools="send", when=when), Rule("deny", tools="send"))
    for who, allowed in ((Identity(), False), (Identity(principal="ada", speaks_for="user"), True)):
        journal = MemoryJournal()
        service = McpService([send], policy=policy, journal=journal, who=who)
        async with connected(service, era) as way:
            params: JsonObject = {"name": "send", "arguments": {"to": "mallory@evil.example"}}
            result = await way.request("tools/call", params, caller=Client({}))
            assert (result.get("isError") is not True) == allowed, (era, when, who)
        (run,) = await journal.runs()
        records = [entry.record for entry in await journal.read(run.run_id)]
        (requested,) = [record for record in records if isinstance(record, CallsRequested)]
        assert (requested.by, requested.speaks_for) == ("client", who.speaks_for)
        assert (run.question, run.model) == ('send(to="mallory@evil.example")', "")
