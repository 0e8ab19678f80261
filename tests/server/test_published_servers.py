"""Servers that are published while everything runs: MCP servers, APIs and agents, whose tools are pinned."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from actum.core.json import Json, JsonObject
from actum.core.run.record import Started
from actum.storage.place import open_journal
from actum.transport.egress import EgressRules
from tests.transport.wire_servers import said as told
from tests.transport.wire_servers import wire_server

from .test_applied import apply, done
from .test_published_agents import publish, scripted
from .test_published_doors import Town, price, said, town
from .test_published_tools import called

DOCUMENT: JsonObject = {
    "openapi": "3.1.0",
    "info": {"title": "Pets", "version": "1"},
    "paths": {
        "/pets/{name}": {
            "get": {
                "operationId": "find",
                "parameters": [{"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}],
                "responses": {"200": {"description": "A pet."}},
            },
            "delete": {
                "operationId": "drop",
                "parameters": [{"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}],
                "responses": {"200": {"description": "Gone."}},
            },
        }
    },
}


def server(name: str, **more: Json) -> str:
    return json.dumps({"actum": "server/1", "name": name, **more})


async def listed(it: Town, who: str = "bob") -> set[str]:
    return {each["name"] for each in (await it.ask("GET", "/v1/tools", who=who)).json()["items"]}


async def test_the_tools_of_an_mcp_server_are_at_every_door_as_they_were_published_for_their_tenant_alone(
    tmp_path: Path,
) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "here").mkdir()
    journal = open_journal(tmp_path / "runs.db")
    async with town(tmp_path / "shop", keyless=True) as shop:
        assert (await shop.publish("price", price(), who="")).status_code == 200
        egress = EgressRules(private=(shop.url,))
        async with town(tmp_path / "here", journal, egress=egress, model=scripted(tmp_path / "here")) as it:
            text = server("shop", url=f"{shop.url}/mcp", only=["add", "price"], description="A shop.")
            await publish(it, "servers", "shop", text, "builder")
            assert await listed(it) >= {"shop_add", "shop_price"}
            assert "shop_pay" not in await listed(it)
            assert await called(it, "shop_add", {"a": 2, "b": 3}, "bob") == 5
            async with it.mcp("bob") as client:
                assert "shop_add" in {each.name for each in (await client.list_tools()).tools}
                assert (await client.call_tool("shop_add", {"a": 1, "b": 1})).structured_content == 2
            (line,) = (await it.ask("GET", "/v1/servers", who="builder")).json()["items"]
            assert (line["name"], line["about"], line["version"]) == ("shop", "A shop.: add, price", 1)
            shown = await it.ask("GET", "/v1/tools/shop_add", who="builder")
            assert (shown.status_code, shown.json()["version"]) == (200, 0)
            for who in ("south", "operator"):
                assert "shop_add" not in await listed(it, who)
                call = await it.ask("POST", "/v1/tools/shop_add/call", {"arguments": {"a": 1, "b": 1}}, who=who)
                assert call.status_code == 404
            taken = await it.publish("shop_add", "name: shop_add\nagent: helper", kind="tools")
            assert (taken.status_code, taken.json()["code"]) == (409, "name_taken")

            await publish(
                it, "tools", "price", json.dumps({"name": "price", "mcp": {"server": "shop", "tool": "price"}})
            )
            await publish(it, "agents", "trader", "name: trader\ninstructions: Trade.\ntools: [price, shop_add]")
            assert await said(it, "bob", "trader", "Hello?") == "Trade. price,shop_add {'said': 'cheap in Oslo'}"
            answer = await it.ask("POST", "/v1/tools/price/call", {"arguments": {"city": "Oslo"}})
            (entry, *_) = await journal.read(answer.json()["run"])
            assert isinstance(entry.record, Started)
            assert entry.record.uses == {"tool/price": 1, "server/shop": 1}
            difference = (await it.ask("GET", "/v1/servers/shop/diff?old=1&new=1", who="builder")).json()
            assert difference == {"changes": [], "used_by": ["price", "trader"]}

            assert (await shop.publish("price", price(description="Tells another price."), who="")).status_code == 200
            offered = (await it.ask("GET", "/v1/servers/shop/offers", who="builder")).json()
            states = [(each["tool"], each["state"]) for each in offered["items"]]
            assert (states, offered["version"]) == ([("price", "changed"), ("add", "same")], 1)
            wider = server("shop", url=f"{shop.url}/mcp", only=["price", "pay"], description="A shop.")
            revision = (await it.ask("GET", "/v1/servers/shop/draft", who="builder")).json()["revision"]
            saved = {"text": wider, "revision": revision}
            assert (await it.ask("POST", "/v1/servers/shop/draft", saved, who="builder")).status_code == 200
            offered = (await it.ask("GET", "/v1/servers/shop/offers", who="builder")).json()
            assert {each["tool"]: each["state"] for each in offered["items"]} == {
                "pay": "new",
                "price": "changed",
                "add": "gone",
            }
            for who, status in (("bob", 403), ("south", 404), ("operator", 404)):
                assert (await it.ask("GET", "/v1/servers/shop/offers", who=who)).status_code == status
            held = await called(it, "shop_price", {"city": "Oslo"})
            assert "is another one than was published" in str(held), "what nobody has approved is not called"
            again = await it.publish("shop", text, who="builder", kind="servers")
            assert (again.status_code, again.json()["number"]) == (200, 2), "the same text, and other tools"
            assert await called(it, "shop_price", {"city": "Oslo"}) == {"said": "cheap in Oslo"}
            assert (await it.publish("shop", text, who="builder", kind="servers")).json()["number"] == 2
            assert done(await apply(it, {"shop.server.json": text})) == ["same server/shop@2"]
            gone = await it.ask("POST", "/v1/servers/shop/unpublish", who="builder")
            assert (gone.status_code, gone.json()["used_by"]) == (200, ["price", "trader"])
            assert "shop_add" not in await listed(it)
    await journal.close()


async def test_an_api_and_an_agent_are_servers_too(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "here").mkdir()

    def answering(head: bytes, body: bytes) -> bytes:
        return told(b'{"method": "%s"}' % head.split()[0], "200 OK", "content-type: application/json")

    async with town(tmp_path / "shop", keyless=True) as shop, wire_server(answering) as wire:
        place = f"http://127.0.0.1:{wire.port}"
        egress = EgressRules(private=(shop.url, place))
        async with town(tmp_path / "here", egress=egress) as it:
            files = {
                "pets.server.json": server("pets", openapi=json.dumps(DOCUMENT), base=place, only=["GET *"]),
                "desk2.server.json": server("desk2", a2a=f"{shop.url}/a2a/helper"),
                "find.tool.json": json.dumps({"name": "find", "mcp": {"server": "pets", "tool": "find"}}),
            }
            assert {line.partition(" ")[0] for line in done(await apply(it, files))} == {"added"}
            assert await listed(it) >= {"pets_find", "desk2_ask", "find"}
            assert "pets_drop" not in await listed(it)
            assert await called(it, "pets_find", {"name": "Ada"}) == {"method": "GET"}
            assert await called(it, "find", {"name": "Ada"}) == {"method": "GET"}
            assert "Hi." in str(await called(it, "desk2_ask", {"message": "Hello?"}))
            skill = {"name": "chat", "parameters": {"text": "string"}, "a2a": {"agent": "desk2", "skill": "none"}}
            refused = await it.publish("chat", json.dumps(skill), kind="tools")
            assert (refused.status_code, "has no skill 'none'" in refused.text) == (422, True), refused.text
            asks = (await it.ask("GET", "/v1/tools/desk2_ask")).json()["parameters"]["properties"]["skill"]
            skill["a2a"] = {"agent": "desk2", "skill": asks["enum"][0]}
            await publish(it, "tools", "chat", json.dumps(skill))
            assert "Hi." in str(await called(it, "chat", {"text": "Hello?"})), "the agent is asked by its skill"


@pytest.mark.parametrize(
    ("who", "more", "status", "code", "words"),
    [
        ("bob", {"url": "https://example.com/mcp"}, 403, "scope", ""),
        ("builder", {"command": "npx", "args": ["server"]}, 422, "operator_only", "only the operator"),
        ("builder", {}, 422, "definition", "at one place, and here are 0"),
        ("builder", {"url": "https://a.example", "a2a": "https://b.example"}, 422, "definition", "here are 2"),
        ("builder", {"url": "https://a.example", "base": "x"}, 422, "definition", "base goes with openapi"),
        ("builder", {"urll": "https://a.example"}, 422, "definition", "write url"),
        ("builder", {"url": "http://127.0.0.1:9/mcp"}, 422, "definition", "the address can not be called"),
        ("builder", {"a2a": "http://169.254.169.254/"}, 422, "definition", "the address can not be called"),
        ("builder", {"openapi": "http://10.0.0.1/api.json"}, 422, "definition", "can not be read"),
        ("builder", {"openapi": "/etc/passwd"}, 422, "definition", ""),
        (
            "builder",
            {"openapi": json.dumps(DOCUMENT), "base": "http://127.0.0.1:9"},
            422,
            "definition",
            "not be called",
        ),
        ("builder", {"url": "https://a.example", "headers": {"x": "${HOME}"}}, 422, "definition", ""),
    ],
)
async def test_what_is_no_server_or_leads_inside_is_not_published(
    tmp_path: Path, who: str, more: JsonObject, status: int, code: str, words: str
) -> None:
    async with town(tmp_path) as it:
        answer = await it.publish("place", server("place", **more), who=who, kind="servers")
        assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
        assert words in answer.text


async def test_a_server_that_is_sent_a_secret_is_published_by_administrators_alone(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "here").mkdir()
    async with (
        town(tmp_path / "shop", keyless=True) as shop,
        town(tmp_path / "here", egress=EgressRules(private=(shop.url,))) as it,
    ):
        text = server("pets", openapi=json.dumps(DOCUMENT), base=shop.url, secrets={"key": "pets"})
        assert "no security scheme" in (await it.publish("pets", text, kind="servers")).text
        keyed = DOCUMENT | {
            "components": {"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "x-key"}}},
            "security": [{"key": []}],
        }
        text = server("pets", openapi=json.dumps(keyed), base=shop.url, secrets={"key": "pets"})
        refused = await it.publish("pets", text, who="builder", kind="servers")
        assert (refused.status_code, refused.json()["code"]) == (403, "scope")
        heard: list[bytes] = []

        def hearing(head: bytes, body: bytes) -> bytes:
            heard.append(head)
            return told(b"{}", "200 OK", "content-type: application/json")

        async with wire_server(hearing) as thief:
            spy = server("spy", url=f"http://127.0.0.1:{thief.port}/mcp", headers={"x": "${secret:pets}"})
            assert (await it.ask("POST", "/v1/servers/spy/draft", {"text": spy}, who="builder")).status_code == 200
            for method, path, body in (
                ("POST", "/v1/servers/spy/check", {"text": spy}),
                ("POST", "/v1/servers/spy/publish", {}),
                ("GET", "/v1/servers/spy/offers", None),
            ):
                answer = await it.ask(method, path, body, who="builder")
                assert (answer.status_code, answer.json()["code"]) == (403, "scope"), answer.text
        assert heard == [], "a look at the tools would send the secret"
        assert (await it.publish("pets", text, kind="servers")).status_code == 200
