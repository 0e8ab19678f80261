"""Tools that are published while a server runs: at every door, in every process, for their tenant, as they were when a
run began.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from mcp import MCPError

from actum.compose.settings import Settings
from actum.core.json import Json, JsonObject
from actum.core.run.record import Started
from actum.journal.memory import MemoryJournal
from actum.storage.place import open_journal
from actum.transport.egress import EgressRules
from tests.transport.wire_servers import said, wire_server

from .test_published_doors import Town, asking, price, town

CODE = "def main(n):\n    return {'came': FACTOR * n}\n"


def weather(place: str, name: str = "weather", **more: Json) -> str:
    declared: JsonObject = {
        "actum": "tool/1",
        "name": name,
        "description": "The weather of a city.",
        "parameters": {"city": "string"},
        "http": {"url": f"{place}/now/{{city}}", "pick": "told"},
        **more,
    }
    return json.dumps({key: value for key, value in declared.items() if value is not None})


def timesing(factor: int, **more: Json) -> str:
    declared = {"name": "times", "description": "Times.", "parameters": {"n": "integer"}, **more}
    return json.dumps({**declared, "python": CODE.replace("FACTOR", str(factor))})


def answering(head: bytes, body: bytes) -> bytes:
    return said(b'{"told": "fine", "asked": "x"}', "200 OK", "content-type: application/json")


async def called(it: Town, name: str, arguments: JsonObject, who: str = "north") -> Json:
    answer = await it.ask("POST", f"/v1/tools/{name}/call", {"arguments": arguments}, who=who)
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()["error"] or answer.json()["result"]
    return found


@pytest.mark.row("T10")
async def test_a_tool_is_at_every_door_with_the_next_request_and_gone_with_the_next_for_its_tenant_alone(
    tmp_path: Path,
) -> None:
    async with wire_server(answering) as wire:
        place = f"http://127.0.0.1:{wire.port}"
        egress = EgressRules(private=(place,))
        async with town(tmp_path, egress=egress) as it:
            text = weather(place)
            saved = await it.ask("POST", "/v1/tools/weather/draft", {"text": text, "revision": 0}, who="builder")
            assert saved.status_code == 200
            assert (await it.ask("GET", "/v1/tools/weather")).status_code == 404, "a draft is at no door"
            drafts = (await it.ask("GET", "/v1/tools?drafts=true", who="builder")).json()["items"]
            assert ("weather", 0) in {(each["name"], each["version"]) for each in drafts}
            assert (await it.ask("GET", "/v1/tools?drafts=true", who="bob")).status_code == 403
            made = await it.ask("POST", "/v1/tools/weather/publish", {"revision": 1}, who="builder")
            assert (made.status_code, made.json().get("number")) == (200, 1), made.text
            listed = {each["name"]: each for each in (await it.ask("GET", "/v1/tools", who="bob")).json()["items"]}
            assert (listed["weather"]["version"], listed["weather"]["effects"]) == (1, ["read"])
            assert await called(it, "weather", {"city": "Oslo"}, "bob") == "fine"
            async with it.mcp("bob") as client:
                tools = {each.name: each for each in (await client.list_tools()).tools}
                assert tools["weather"].input_schema["required"] == ["city"]
                assert (await client.call_tool("weather", {"city": "Oslo"})).structured_content == "fine"
            shown = (await it.ask("GET", "/v1/tools/weather", who="builder")).json()
            assert (shown["version"], shown["declaration"]) == (1, text)
            assert (await it.ask("GET", "/v1/tools/weather", who="bob")).json()["declaration"] is None
            for who in ("south", "narrow", "operator"):
                for method, path, body in (
                    ("GET", "/v1/tools/weather", None),
                    ("POST", "/v1/tools/weather/call", {"arguments": {"city": "Oslo"}}),
                ):
                    answer = await it.ask(method, path, body, who=who)
                    assert answer.status_code == 404, (who, path, answer.text)
                async with it.mcp(who) as client:
                    assert "weather" not in {each.name for each in (await client.list_tools()).tools}
                    with pytest.raises(MCPError, match="Unknown tool"):
                        await client.call_tool("weather", {"city": "Oslo"})
            for verb in ("draft", "versions", "diff"):
                assert (await it.ask("GET", f"/v1/tools/weather/{verb}", who="south")).status_code == 404
            again = await it.publish("weather", weather(place, description="Told anew."), kind="tools")
            assert again.json().get("number") == 2, again.text
            async with it.mcp("north") as client:
                tools = {each.name: each for each in (await client.list_tools()).tools}
                assert tools["weather"].description == "Told anew."
            versions = (await it.ask("GET", "/v1/tools/weather/versions", who="builder")).json()["items"]
            assert [each["number"] for each in versions] == [2, 1]
            old = (await it.ask("GET", "/v1/tools/weather?version=1", who="builder")).json()
            assert (old["version"], old["description"]) == (1, "The weather of a city.")
            back = await it.ask("POST", "/v1/tools/weather/rollback", {"number": 1}, who="builder")
            assert (back.status_code, back.json()["again"]) == (200, 1)
            gone = await it.ask("POST", "/v1/tools/weather/unpublish", who="builder")
            assert (gone.status_code, gone.json()["number"]) == (200, 3)
            assert (await it.ask("GET", "/v1/tools/weather")).status_code == 404
            audited = [each["tool"] for each in (await it.ask("GET", "/v1/audit")).json()["items"]]
            assert {"tools.publish", "tools.rollback", "tools.unpublish"} <= set(audited)


async def test_a_waiting_call_does_what_its_version_says_by_another_server_and_nothing_once_its_tool_is_out_of_use(
    tmp_path: Path,
) -> None:
    place = tmp_path / "runs.db"
    asks: JsonObject = {"approval": True}
    waiting: list[tuple[str, str]] = []
    first = open_journal(place)
    async with town(tmp_path, first) as it:
        assert (await it.publish("times", timesing(2, **asks), kind="tools")).status_code == 200
        for _ in range(2):
            answer = await it.ask("POST", "/v1/tools/times/call", {"arguments": {"n": 21}})
            assert answer.status_code == 202, answer.text
            waiting.append((answer.json()["run"], answer.json()["approval"]))
    await first.close()
    second, third = open_journal(place), open_journal(place)
    async with town(tmp_path, second) as it, town(tmp_path, third) as other:
        assert (await other.publish("times", timesing(3, **asks), kind="tools")).json()["number"] == 2
        run, ask = waiting[0]
        answer = await it.ask("POST", f"/v1/approvals/{ask}", {"verdict": "approve"})
        assert answer.status_code == 200, answer.text
        assert await ended(it, run) == {"came": 42}, "what the person has approved"
        (entry, *_) = await second.read(run)
        assert isinstance(entry.record, Started)
        assert entry.record.uses == {"tool/times": 1}
        assert (await other.ask("POST", "/v1/tools/times/unpublish")).status_code == 200
        run, ask = waiting[1]
        answer = await it.ask("POST", f"/v1/approvals/{ask}", {"verdict": "approve"})
        assert (answer.status_code, answer.json()["code"]) == (409, "unpublished"), answer.text
        assert "was taken out of use" in str(await ended(it, run))
        assert (await it.ask("POST", "/v1/tools/times/call", {"arguments": {"n": 1}})).status_code == 404
    await second.close()
    await third.close()


async def ended(it: Town, run: str) -> Json:
    """What the call of a run came to."""
    text = (await it.ask("GET", f"/v1/runs/{run}/events")).text
    events = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]
    done = [each for each in events if "result" in each or "error" in each]
    told: Json = done[-1].get("error") or done[-1]["result"]
    return told


async def test_who_may_publish_what(tmp_path: Path) -> None:
    secret = weather("https://1.1.1.1", http={"url": "https://1.1.1.1/{city}", "secret": {"bearer": "key"}})
    module = json.dumps({"name": "root", "parameters": {"x": "number"}, "module": "math:sqrt"})
    posting = weather("", effects=["read"], http={"url": "https://1.1.1.1/{city}", "method": "POST"})
    cases: Mapping[str, tuple[str, str, str, int, str]] = {
        "no scope": ("bob", "weather", weather("https://1.1.1.1"), 403, "scope"),
        "code": ("builder", "times", timesing(2), 403, "scope"),
        "a secret": ("builder", "weather", secret, 403, "scope"),
        "a module": ("north", "root", module, 422, "definition"),
        "understated": ("builder", "weather", posting, 422, "effects"),
        "another's name": ("builder", "add", weather("https://1.1.1.1", "add"), 409, "name_taken"),
        "much like another's": ("builder", "ADD", weather("https://1.1.1.1", "ADD"), 409, "name_taken"),
        "an agent": ("builder", "helper", weather("https://1.1.1.1", "helper"), 409, "name_taken"),
        "our own": ("builder", "search_tools", weather("https://1.1.1.1", "search_tools"), 409, "name_taken"),
        "not for this key": ("narrow-builder", "weather", weather("https://1.1.1.1"), 404, "not_found"),
        "not its agent": (
            "narrow-builder",
            "crm_help",
            json.dumps({"name": "crm_help", "agent": "helper"}),
            422,
            "definition",
        ),
        "no such agent": ("builder", "help", json.dumps({"name": "help", "agent": "nobody"}), 422, "definition"),
        "no such server": (
            "builder",
            "close",
            json.dumps({"name": "close", "mcp": {"server": "crm", "tool": "close"}}),
            422,
            "definition",
        ),
        "inside": ("builder", "weather", weather("http://127.0.0.1:8000"), 422, "definition"),
        "where clouds keep secrets": ("builder", "weather", weather("http://169.254.169.254"), 422, "definition"),
        "two places": ("builder", "weather", weather("https://1.1.1.1", agent="helper"), 422, "definition"),
        "no place": ("builder", "weather", weather("", http=None), 422, "definition"),
        "another alphabet": ("builder", "weаther", weather("https://1.1.1.1", "weаther"), 422, "definition"),
        "not seen": ("builder", "weather", weather("https://1.1.1.1", description="a\u200bb"), 422, "definition"),
    }
    async with town(tmp_path) as it:
        for case, (who, name, text, status, code) in cases.items():
            answer = await it.publish(name, text, who=who, kind="tools")
            assert (answer.status_code, answer.json()["code"]) == (status, code), (case, answer.text)
        for name in ("__proto__", "constructor"):
            text = json.dumps({"name": name, "agent": "helper", "description": "Helps."})
            assert (await it.publish(name, text, who="builder", kind="tools")).status_code == 200
            assert await called(it, name, {"task": "Hello?"}) == "Hi."
        checked = (await it.ask("POST", "/v1/tools/root/check", {"text": module})).json()["problems"]
        assert [(each["place"], "[tools] modules" in each["message"]) for each in checked] == [("module", True)]


async def test_code_is_published_where_the_operator_allows_it_and_never_by_a_server_that_wants_no_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shop_prices.py").write_text(
        "from json import dumps\n\n\ndef double(x: int) -> int:\n    return 2 * x\n", "utf-8"
    )
    monkeypatch.syspath_prepend(tmp_path)
    module = json.dumps({"name": "twice", "parameters": {"x": "integer"}, "module": "shop_prices:double"})
    other = json.dumps({"name": "dump", "parameters": {"obj": "string"}, "module": "shop_prices:dumps"})
    reads = json.dumps(
        {"name": "peek", "parameters": {"path": "string"}, "python": "def main(path):\n    return open(path).read()\n"}
    )
    (tmp_path / "own.txt").write_text("of the operator")
    sandbox = Settings().sandbox
    async with town(tmp_path, tool_modules=("shop_*",), sandbox=sandbox) as it:
        assert (await it.publish("twice", module, kind="tools")).status_code == 200
        assert await called(it, "twice", {"x": 16}) == 32
        refused = await it.publish("dump", other, kind="tools")
        assert "a function of another module" in refused.text
        assert (await it.publish("peek", reads, kind="tools")).status_code == 200
        assert "of the operator" not in str(await called(it, "peek", {"path": str(tmp_path / "own.txt")}))
    async with town(tmp_path, keyless=True) as it:
        answer = await it.publish("times", timesing(2), who="", kind="tools")
        assert (answer.status_code, answer.json()["code"]) == (403, "needs_key"), answer.text
        open_to_all = weather("https://1.1.1.1")
        assert (await it.publish("weather", open_to_all, who="", kind="tools")).status_code == 200


async def test_a_tool_that_stands_for_a_workflow_takes_its_parameters_and_keeps_its_version(tmp_path: Path) -> None:
    declared = json.dumps({"name": "quote", "workflow": "ask"})
    journal = MemoryJournal()
    async with town(tmp_path, journal) as it:
        for name, text in (("price", price()), ("ask", asking("Oslo"))):
            assert (await it.publish(name, text)).status_code == 200
        assert (await it.publish("quote", declared, who="builder", kind="tools")).status_code == 200
        shown = (await it.ask("GET", "/v1/tools/quote")).json()
        assert shown["parameters"]["required"] == ["city"]
        answer = await it.ask("POST", "/v1/tools/quote/call", {"arguments": {"city": "Oslo"}})
        assert answer.status_code == 202, answer.text
        run = answer.json()["run"]
        (entry, *_) = await journal.read(run)
        assert isinstance(entry.record, Started)
        assert entry.record.uses == {"tool/quote": 1, "ask": 1, "price": 1}
        assert (await it.publish("price", price(word="dear"))).json()["number"] == 2
        assert (await it.publish("ask", asking("Rome"))).json()["number"] == 2
        await it.answers("north")
        assert await ended(it, run) == {"said": "Oslo: cheap in Oslo"}
        taken = await it.publish("quote", price("quote"))
        assert (taken.status_code, taken.json()["code"]) == (409, "name_taken")


async def test_a_diff_names_what_breaks_those_who_call_the_tool(tmp_path: Path) -> None:
    old = json.dumps(
        {
            "name": "pay_bill",
            "agent": "helper",
            "parameters": {
                "type": "object",
                "properties": {
                    "euros": {"type": "number"},
                    "note": {"type": "string"},
                    "when": {"type": "string", "enum": ["now", "later"]},
                    "gone": {"type": "string"},
                    "kept": {"type": "integer"},
                },
                "required": ["euros"],
            },
        }
    )
    new = json.loads(old)
    new["effects"] = ["send", "spend"]
    new["parameters"]["required"] = ["euros", "note"]
    new["parameters"]["properties"] |= {
        "euros": {"type": "integer"},
        "when": {"type": "string", "enum": ["now"]},
        "kept": {"type": "number"},
        "more": {"type": "string"},
    }
    del new["parameters"]["properties"]["gone"]
    async with town(tmp_path) as it:
        assert (await it.publish("pay_bill", old, who="builder", kind="tools")).status_code == 200
        body = {"text": json.dumps(new), "revision": 1}
        assert (await it.ask("POST", "/v1/tools/pay_bill/draft", body, who="builder")).status_code == 200
        answer = await it.ask("GET", "/v1/tools/pay_bill/diff?old=1", who="builder")
    breaks = {each["place"]: each["breaks"] for each in answer.json()["changes"]}
    assert breaks == {
        "effects": "its effects grew: send, spend",
        "euros": "its type takes less: number before, integer now",
        "note": "callers have to give it now",
        "when": "some of its values are refused now",
        "gone": "",
        "kept": "",
        "more": "",
    }


async def test_a_secret_goes_to_the_declared_origin_alone_also_where_the_declared_one_sends_the_request_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACTUM_SECRET_API", "hush4711")

    async with wire_server(answering) as other:

        def moved(head: bytes, body: bytes) -> bytes:
            return said(b"", "302 Found", f"location: http://127.0.0.1:{other.port}/now/Oslo")

        async with wire_server(moved) as first:
            place = f"http://127.0.0.1:{first.port}"
            egress = EgressRules(private=(place, f"http://127.0.0.1:{other.port}"))
            async with town(tmp_path, egress=egress) as it:
                text = weather(place, http={"url": f"{place}/now/{{city}}", "secret": {"bearer": "api"}})
                assert (await it.publish("weather", text, kind="tools")).status_code == 200
                came = await called(it, "weather", {"city": "Oslo"})
            assert "hush4711" in "".join(first.heads)
            assert "hush4711" not in "".join(other.heads) + str(came)


async def test_what_only_the_server_finds_wrong_with_a_text_is_told_with_its_line_too(tmp_path: Path) -> None:
    texts = {
        "tools": [
            ("name: t\nhttp:\n  method: GET\n  url: https://127.0.0.1/x\n", (4, 3, "http.url")),
            ('{"type": "function",\n"function": {"name": "t",\n  "agent": "nobody"}}', (3, 3, "agent")),
            ("description: x\nname: other\nworkflow: nothing\n", (2, 1, "name")),
        ],
        "agents": [("name: t\ntools:\n- add\n- nothing\n", (4, 3, "tools.1"))],
    }
    async with town(tmp_path) as it:
        for kind, cases in texts.items():
            for text, place in cases:
                told = await it.ask("POST", f"/v1/{kind}/t/check", {"text": text}, who="north")
                (problem,) = told.json()["problems"]
                assert (problem["line"], problem["column"], problem["place"]) == place, problem


@pytest.mark.row("F5")
async def test_a_tool_for_some_users_does_not_exist_for_others_at_any_door_or_in_an_agent(tmp_path: Path) -> None:
    """Nobody publishes an agent with a tool that they may not use, and no model is shown it."""
    text = json.dumps({"name": "code", "users": ["bob"], "python": "def main():\n    return 7\n"})
    agent = "actum: agent/1\nname: a\ninstructions: Help.\ntools: [code]\n"
    async with town(tmp_path) as it:
        assert (await it.publish("code", text, kind="tools")).status_code == 200
        for who, exists in (("bob", True), ("north", False)):
            listed = {each["name"] for each in (await it.ask("GET", "/v1/tools", who=who)).json()["items"]}
            found = (await it.ask("GET", "/v1/tools?query=code", who=who)).json()["items"]
            async with it.mcp(who) as client:
                offered = {each.name for each in (await client.list_tools()).tools}
                if not exists:
                    with pytest.raises(MCPError, match="Unknown tool"):
                        await client.call_tool("code", {})
            assert {"code" in listed, "code" in {each["name"] for each in found}, "code" in offered} == {exists}
            answer = await it.ask("POST", "/v1/tools/code/call", {"arguments": {}}, who=who)
            assert answer.status_code == (200 if exists else 404)
        refused = await it.publish("a", agent, kind="agents")
        assert (refused.status_code, "no tool 'code' here that you may use" in refused.text) == (422, True)
