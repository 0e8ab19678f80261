"""Published documents, served by a real server on this machine: an agent works with them as with any tools."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest
from msgspec import structs

from actum import Agent, ToolCall
from actum.compose.apis import ApiChoice, DocumentSource, set_up
from actum.core.json import JsonObject, dumps
from actum.core.message import ToolMessage
from actum.policy.rules import Rule, Rules
from actum.protocols.openapi.setup import ApiSetup
from actum.storage.apis import ApiStore
from actum.testing import ScriptedModel
from actum.toolsets.http.toolset import ApiToolset
from actum.transport.egress import Egress
from tests.transport.wire_servers import said, wire_server

CORPUS = Path(__file__).parents[2] / "corpus" / "openapi"
JSON = "content-type: application/json"


_read: dict[tuple[str, tuple[str, ...]], ApiSetup] = {}
"""What was read once: the document of GitHub takes a second."""


async def added(name: str, server: str, only: tuple[str, ...] = ()) -> ApiSetup:
    if (name, only) not in _read:
        document = gzip.decompress((CORPUS / f"{name}.json.gz").read_bytes())
        wanted = ApiChoice("api", only, "https://api.example.com", idempotency_header="Idempotency-Key")
        source = DocumentSource("https://example.com/api.json", document)
        _read[name, only] = await set_up(wanted, "api.json", source, Egress())
    return structs.replace(_read[name, only], server=server, origins=(server,)).approving()


@pytest.mark.row("T2")
async def test_an_agent_does_a_task_of_three_calls_with_paging_on_githubs_own_document() -> None:
    issues: list[JsonObject] = [{"number": number, "title": f"Issue {number}"} for number in range(1, 4)]
    made: list[JsonObject] = []

    def answer(head: bytes, body: bytes) -> bytes:
        method, target = head.decode().split(" ")[:2]
        if method == "POST":
            made.append({"number": 4, **json.loads(body)})
            return said(dumps(made[-1]).encode(), "201 Created", JSON)
        page = int((re.search(r"[?&]page=(\d+)", target) or ["", "1"])[1])
        more = [f'link: <{place}/repos/ann/cats/issues?per_page=2&page={page + 1}>; rel="next"'] if page == 1 else []
        return said(dumps(issues[2 * page - 2 : 2 * page]).encode(), "200 OK", JSON, *more)

    async with wire_server(answer) as server:
        place = f"http://127.0.0.1:{server.port}"
        setup = await added("api.github.com", place, ("issues/list-for-repo", "issues/create"))
        toolset = ApiToolset(setup)
        tools = {tool.name: tool for tool in await toolset.list_tools()}
        listing = next(name for name in tools if "list-for-repo" in name or "list_for_repo" in name)
        creating = next(name for name in tools if "create" in name)
        repository: JsonObject = {"owner": "ann", "repo": "cats"}
        script: list[ToolCall | str] = [
            ToolCall("1", listing, {**repository, "per_page": 2}),
            ToolCall("2", listing, {**repository, "per_page": 2, "page": 2}),
            ToolCall("3", creating, {**repository, "body": {"title": "Ünïted/%&"}}),
            "done",
        ]
        model = ScriptedModel(script)
        from_agent = await Agent(model, tools=[toolset], policy=Rules(Rule("allow", tools="*", final=True))).run(
            "Three calls, please."
        )
        await toolset.aclose()
    texts = [message.result.text for message in from_agent.messages if isinstance(message, ToolMessage)]
    assert 'again with the same arguments and {"page":"2"}' in texts[0]
    assert "Issue 3" in texts[1]
    assert made == [{"number": 4, "title": "Ünïted/%&"}]
    assert len([head for head in server.heads if head.startswith("POST")]) == 1


async def test_an_api_of_1200_operations_is_the_same_after_it_was_stored(tmp_path: Path) -> None:
    setup = await added("api.github.com", "https://api.github.com")
    store = ApiStore(tmp_path)
    store.put(setup)
    again = store.get("api")
    assert len(again.api.operations) == 1223
    assert again.held() == ()
    assert again.whole == setup.whole
    assert store.names() == ["api"]
