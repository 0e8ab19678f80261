"""The catalog: what is registered, seen again, checked, found, and shown to whom."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from actum import tool
from actum.compose.catalog import CatalogKeeper, catalog_files
from actum.core.errors import CallError, UsageError
from actum.core.json import JsonObject
from actum.core.stored.key import new_key
from actum.protocols.catalog import CatalogEntry, ai_catalog, search_answer
from actum.server import McpService
from actum.server.access import Access
from actum.server.catalog import CatalogRoutes
from actum.server.verifier import Keys
from actum.server.web_application import WebApplication, WebApplicationSettings
from actum.storage.catalog import CatalogIndex
from actum.testing import FakeClock
from actum.transport.egress import Egress
from tests.patience import HANGS_S
from tests.toolsets.a2a.remote_servers import april_agent, scripted_agent, sdk_agent
from tests.web import serving


def keeper(tmp_path: Path, clock: FakeClock | None = None) -> CatalogKeeper:
    environment = {"XDG_STATE_HOME": str(tmp_path)}
    return CatalogKeeper(
        catalog_files(environment), {}, environment, egress=Egress(), clock=clock or FakeClock(1_000.0)
    )


@pytest.mark.row("P4")
async def test_an_entry_keeps_each_version_and_what_changed_and_when_it_was_last_seen(tmp_path: Path) -> None:
    clock = FakeClock(1_000.0)
    it = keeper(tmp_path, clock)
    async with scripted_agent() as agent:
        added = await it.add(agent.origin, name="oracle", tags=["truth"])
        assert (added.health, added.signature, len(added.versions)) == ("well", "unsigned", 1)
        clock.advance(10)
        same = await it.look("oracle")
        assert (len(same.versions), same.last_seen) == (1, 1_010.0)
        agent.card = {"description": "Knows more."}
        changed = await it.look("oracle")
        assert [version.changes for version in changed.versions] == [
            (),
            ('description: was "Knows.", is "Knows more."',),
        ]
        with pytest.raises(UsageError, match="another 'oracle'"):
            await it.add(f"{agent.origin}/", name="oracle")
    clock.advance(10)
    gone = await it.look("oracle")
    assert (gone.health, gone.last_seen, gone.looked) == ("failing", 1_010.0, 1_020.0)
    assert "can not be reached" in gone.problem
    assert gone.description == "Knows more."
    with pytest.raises(CallError):
        await it.add("http://127.0.0.1:9/", name="nobody")


@pytest.mark.row("P4")
async def test_an_mcp_server_is_added_by_its_address_with_its_tools_and_checked(tmp_path: Path) -> None:
    @tool
    def forecast(city: str) -> str:
        """Tell whether it will rain.

        Args:
            city: where.
        """
        return city

    it = keeper(tmp_path)
    async with serving(McpService([forecast], name="weather").app()) as url:
        added = await it.add(f"{url}/mcp", kind="mcp", name="tools", tags=["rain"])
        assert (added.kind, added.health) == ("mcp", "well")
        assert "forecast" in str(added.document)
        checked = await it.check("tools")
        assert checked.checks, checked
        assert all(step.passed for step in checked.checks), checked.checks
    found = indexed(added).find("rain")
    assert [entry.name for entry, _ in found] == ["tools"]
    gone = await it.look("tools")
    assert gone.health == "failing"


@pytest.mark.parametrize(
    ("second", "told"),
    [
        ({"error": {"code": -32603, "message": "no such table"}}, "no such table"),
        ({"result": {"tools": 7}}, "no list of tools"),
        ({"result": {"tools": [], "nextCursor": "x"}}, "do not end"),
    ],
)
async def test_a_list_of_tools_that_is_not_whole_takes_nothing_out_of_the_catalog(
    tmp_path: Path, second: JsonObject, told: str
) -> None:
    pages: dict[str | None, JsonObject] = {}

    async def answer(request: Request) -> Response:
        asked = await request.json()
        if asked["method"] == "server/discover":
            said: JsonObject = {"result": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}}
        elif asked["method"] == "tools/list":
            said = pages[asked["params"].get("cursor")]
        else:
            return Response(status_code=405)
        return JSONResponse({"jsonrpc": "2.0", "id": asked["id"], **said})

    it = keeper(tmp_path)
    one: JsonObject = {"name": "one", "inputSchema": {"type": "object"}}
    two: JsonObject = {**one, "name": "two"}
    async with serving(Starlette(routes=[Route("/mcp", answer, methods=["POST"])])) as url:
        pages |= {None: {"result": {"tools": [one], "nextCursor": "x"}}, "x": second}
        begun = await it.add(f"{url}/mcp", kind="mcp", name="half")
        assert (begun.health, told in begun.problem, "one" in str(begun.document)) == ("failing", True, True)
        pages["x"] = {"result": {"tools": [two]}}
        whole = await it.look("half")
        assert (whole.health, "two" in str(whole.document)) == ("well", True)
        pages["x"] = second
        half = await it.look("half")
        assert (half.health, told in half.problem, half.versions) == ("failing", True, whole.versions)


async def test_a_card_that_did_not_change_is_not_sent_again(tmp_path: Path) -> None:
    it = keeper(tmp_path)
    async with sdk_agent(("JSONRPC", "1.0")) as (origin, seen):
        first = await it.add(origin, name="weather")
        again = await it.look("weather")
        assert first.etag
        assert seen.heads[-1][2]["if-none-match"] == first.etag
        assert again.versions == first.versions


async def test_a_check_tries_card_send_stream_and_cancel(tmp_path: Path) -> None:
    it = keeper(tmp_path)
    for name in ("sdk", "april"):
        async with sdk_agent(("JSONRPC", "1.0")) if name == "sdk" else april_agent() as (origin, _):
            await it.add(origin, name=name)
            checked = await it.check(name)
            assert [(check.step, check.passed) for check in checked.checks] == [
                ("card", True),
                ("send", True),
                ("stream", True),
                ("cancel", True),
            ], checked.checks
    async with scripted_agent() as agent:  # it answers no method at all
        await it.add(agent.origin, name="mute")
        steps = {check.step: check.passed for check in (await it.check("mute")).checks}
        assert steps == {"card": True, "send": False, "stream": False}


async def test_two_that_look_at_one_entry_lose_nothing_of_each_other(tmp_path: Path) -> None:
    one, other = keeper(tmp_path), keeper(tmp_path)
    async with scripted_agent() as agent:
        await asyncio.gather(*(each.add(agent.origin, name=f"a{n}") for n in range(4) for each in (one, other)))
        await asyncio.gather(*(each.look(f"a{n}") for n in range(4) for each in (one, other)))
    entries = catalog_files({"XDG_STATE_HOME": str(tmp_path)}).all()
    assert [(entry.name, len(entry.versions)) for entry in entries] == [(f"a{n}", 1) for n in range(4)]


def indexed(*entries: CatalogEntry) -> CatalogIndex:
    made = CatalogIndex()
    for entry in entries:
        made.put(entry)
    return made


def test_entries_are_found_by_words_of_skills_tags_and_descriptions() -> None:
    def entry(name: str, document: JsonObject, *tags: str) -> CatalogEntry:
        made = CatalogEntry(name=name, kind="a2a", url=f"https://{name}.example", tags=tags)
        return made.with_document(document, 1.0)

    entries = [
        entry("desk", {"name": "Desk", "description": "Books flights.", "skills": [{"id": "f", "name": "Flights"}]}),
        entry("sky", {"name": "Sky", "description": "Tells the weather for a flight."}),
        entry("till", {"name": "Till", "description": "Pays."}, "flights"),
        entry("odd", {"name": 7, "description": [], "skills": ["x", {"name": None, "tags": 3}]}),
    ]
    cases: dict[str, list[str]] = {
        "flight": ["desk", "till", "sky"],
        "weather flight": ["sky", "desk", "till"],
        "nothing": [],
        "": ["desk", "odd", "sky", "till"],
    }
    for query, names in cases.items():
        assert [found.name for found, _ in indexed(*entries).find(query)] == names, query
    answer = search_answer(indexed(*entries).find("flight"), 2)
    assert answer["pageToken"] == "2"
    assert ai_catalog(entries, "here")["entries"]


def test_an_entry_that_another_process_changed_or_took_out_is_found_as_it_is_now(tmp_path: Path) -> None:
    environment = {"XDG_STATE_HOME": str(tmp_path)}
    reader, writer = catalog_files(environment), catalog_files(environment)

    def made(words: str) -> Callable[[CatalogEntry | None], CatalogEntry]:
        return lambda _: CatalogEntry(name="a", kind="a2a", url="x").with_document({"description": words}, 1.0)

    writer.change("a", made("Tells the weather."))
    assert [entry.name for entry, _ in reader.find("weather")] == ["a"]
    writer.change("a", made("Books flights."))
    assert reader.find("weather") == []
    assert [entry.name for entry, _ in reader.find("flights")] == ["a"]
    writer.remove("a")
    assert reader.find("flights") == []
    assert reader.all() == []


def test_who_may_see_an_entry_is_said_by_users_and_roles() -> None:
    def entry(*users: str, tenant: str = "") -> CatalogEntry:
        return CatalogEntry(name="a", kind="a2a", url="x", users=users, tenant=tenant)

    assert entry().is_seen_by("")
    assert entry("ann").is_seen_by("ann")
    assert not entry("ann").is_seen_by("")
    assert not entry("ann").is_seen_by("bob")
    assert not entry("*").is_seen_by("")
    assert entry("role:clerk").is_seen_by("bob", ["clerk"])
    assert not entry("role:clerk").is_seen_by("role:clerk", [])
    assert not entry("*").is_seen_by("", ["clerk"])
    assert not entry("ann", tenant="red").is_seen_by("ann", tenant="blue")
    assert entry("ann", tenant="red").is_seen_by("ann", tenant="red")


async def test_the_server_tells_each_caller_of_the_entries_that_the_caller_may_see() -> None:
    open_to_all = CatalogEntry(name="open", kind="a2a", url="https://a.example")
    mine = CatalogEntry(name="anns", kind="mcp", url="https://b.example", users=("ann",))
    entries = indexed(open_to_all, mine, CatalogEntry(name="red", kind="a2a", url="https://c.example", tenant="red"))
    keys = {name: new_key(name, scopes=["tools"]) for name in ("ann", "bob")}
    verifier = Keys([key for _, key in keys.values()])
    application = WebApplication([CatalogRoutes(entries)], WebApplicationSettings(access=Access(verifier=verifier)))
    async with serving(application.app) as origin, httpx2.AsyncClient(base_url=origin, timeout=HANGS_S) as client:
        public = await client.get("/.well-known/ai-catalog.json")
        assert public.headers["actum-draft"]
        assert [each["url"] for each in public.json()["entries"]] == ["https://a.example"]
        assert (await client.post("/catalog/search", json={})).status_code == 401
        for name, urls in (("ann", {"https://a.example", "https://b.example"}), ("bob", {"https://a.example"})):
            head = {"authorization": f"Bearer {keys[name][0]}"}
            found = await client.post("/catalog/search", headers=head, json={"query": {"text": ""}})
            assert {each["url"] for each in found.json()["results"]} == urls, name
            hidden = await client.post("/catalog/search", headers=head, json={"query": {"text": "red example"}})
            assert "c.example" not in hidden.text
            assert max(each["score"] for each in hidden.json()["results"]) == 100
        head = {"authorization": f"Bearer {keys['bob'][0]}"}
        for body in (b"", b"[]", b'{"pageSize": 0}', b'{"pageToken": "-1"}', b'{"query": 1}', b"[" * 50_000):
            assert (await client.post("/catalog/search", headers=head, content=body)).status_code == 400, body[:20]
