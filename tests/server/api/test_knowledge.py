"""`/v1/knowledge`: collections are made, filled and searched, and do not exist for those who may not read them."""

from __future__ import annotations

import base64
from collections.abc import Sequence

import pytest

from actum import Label, ToolCall, tool
from actum.core.json import JsonObject
from actum.core.message import Reply
from actum.core.stored.definitions import Canary, Definitions
from actum.knowledge.browsing.browser import KnowledgeTool, QuoteTool
from actum.knowledge.unread import CallingPart
from actum.server.api.definitions.references import used_by
from actum.server.api.knowledge import OPERATIONS
from actum.testing import Said, ScriptedModel
from tests.knowledge import files

from .application import Bank, WebApplication, application

pytestmark = pytest.mark.row("F8")
TRAVEL = b"# Travel\n\nA hotel may cost 120 euros.\n"
PLACE = "/v1/knowledge/rules"


def put(data: bytes) -> dict[str, str]:
    return {"data": base64.b64encode(data).decode()}


async def test_a_collection_is_made_filled_searched_and_removed() -> None:
    async with application() as it:
        made = await it.ask("POST", "/v1/knowledge", {"name": "rules", "readers": ["role:staff"]}, who="writer")
        assert (made.status_code, made.headers["location"]) == (201, PLACE)
        assert made.json()["owner"] == "wes"
        for path, data, state in (
            ("trips/travel.md", TRAVEL, "ready"),
            ("lease.pdf", files.pdf("Notice\nThree months for a hotel."), "ready"),
            ("photo.jpg", b"x", "unreadable"),
        ):
            answer = await it.ask("PUT", f"{PLACE}/documents/{path}", put(data), who="writer")
            assert (answer.status_code, answer.json()["state"]) == (200, state), answer.text
        found = (await it.ask("GET", f"{PLACE}/search?query=What+may+a+hotel+cost?&limit=2", who="reader")).json()
        first, second = found["results"]
        assert first == {
            "document": "trips/travel.md",
            "title": "Travel",
            "heading": "Travel",
            "text": "Travel\n\nA hotel may cost 120 euros.",
            "page": None,
            "lines": [1, 3],
        }
        assert (second["document"], second["page"], second["lines"]) == ("lease.pdf", 1, None)
        listed = (await it.ask("GET", f"{PLACE}/documents?limit=2", who="reader")).json()
        assert [each["document"] for each in listed["items"]] == ["lease.pdf", "photo.jpg"]
        rest = (await it.ask("GET", f"{PLACE}/documents?cursor={listed['next']}", who="reader")).json()
        assert [each["document"] for each in rest["items"]] == ["trips/travel.md"]
        whole = (await it.ask("GET", PLACE, who="reader")).json()
        assert (whole["documents"], whole["may_change"]) == (2, False)
        assert [each["document"] for each in whole["problems"]] == ["photo.jpg"]
        gone = await it.ask("DELETE", f"{PLACE}/documents/trips/travel.md", who="writer")
        assert gone.status_code == 204
        audited = (await it.ask("GET", "/v1/audit?limit=50", who="root")).json()["items"]
        assert {"knowledge.make", "knowledge.put", "knowledge.delete"} <= {each["tool"] for each in audited}
        assert "hotel" not in str(audited)
        assert (await it.ask("DELETE", PLACE, who="writer")).status_code == 204
        assert (await it.ask("GET", PLACE, who="writer")).status_code == 404


async def test_for_those_who_may_not_read_it_a_collection_does_not_exist() -> None:
    async with application() as it:
        await it.ask("POST", "/v1/knowledge", {"name": "rules", "readers": ["role:staff"]}, who="writer")
        await it.ask("PUT", f"{PLACE}/documents/travel.md", put(TRAVEL), who="writer")
        bodies = {"put": put(b"x"), "patch": {"readers": ["all"]}}
        for each in OPERATIONS:
            if "{name}" not in each.path:
                continue
            for who in ("stranger", "north"):
                told = []
                for name in ("rules", "none"):
                    path = each.path.replace("{name}", name).replace("{path:path}", "travel.md")
                    query = "?query=hotel" if each.id == "searchCollection" else ""
                    answer = await it.ask(each.method.upper(), path + query, bodies.get(each.method), who=who)
                    told.append((answer.status_code, answer.text))
                assert told[0] == told[1], (each.id, who)
                assert told[0][0] == 404, (each.id, who)
            if each.scopes == ("documents",):  # a reader may search, and changes nothing
                path = each.path.replace("{name}", "rules").replace("{path:path}", "travel.md")
                answer = await it.ask(each.method.upper(), path, bodies.get(each.method), who="reader")
                assert answer.status_code == 403, each.id
        for who, names in {
            "stranger": [],
            "north": [],
            "reader": ["rules"],
            "root": ["rules"],
            "writer": ["rules"],
        }.items():
            items = (await it.ask("GET", "/v1/knowledge", who=who)).json()["items"]
            assert [each["name"] for each in items] == names, who
        taken = await it.ask("POST", "/v1/knowledge", {"name": "rules"}, who="stranger")
        assert (taken.status_code, taken.json()["code"]) == (409, "name_taken")
        assert (await it.ask("PATCH", PLACE, {"readers": []}, who="root")).status_code == 200
        assert (await it.ask("GET", f"{PLACE}/search?query=hotel", who="reader")).status_code == 404


async def test_the_owner_is_told_which_published_agents_have_callers_that_can_not_read_it() -> None:
    async with application() as it:
        text = 'actum: agent/1\nname: desk\ntools: ["knowledge:rules"]\nroles: ["x; reboot"]\n'
        for tenant in ("", "north"):  # the agents of another tenant are nobody's business
            name = f"desk{tenant}"
            await it.journal.definitions.save("agent", name, text.replace("desk", name), 0, tenant=tenant)
            await it.journal.definitions.publish("agent", name, tenant=tenant)
        await it.journal.definitions.save("agent", "old", "knowledge:rules of another version", 0)
        await it.journal.definitions.publish("agent", "old")
        await it.ask("POST", "/v1/knowledge", {"name": "rules", "readers": ["role:staff"]}, who="writer")
        command = "actum knowledge readers rules role:staff 'role:x; reboot'"
        told = {"agent": "desk", "collection": "rules", "command": command}
        for who, found in {"writer": [told], "root": [told], "reader": []}.items():
            assert (await it.ask("GET", PLACE, who=who)).json()["unread"] == found, who


FLOW = """actum: workflow/1
name: flow
inputs: {ask: {type: string}}
nodes:
  find: {type: knowledge, tool: search_rules, query: "${inputs.ask}"}
outputs: {text: "${find.output}"}
"""


async def publish(definitions: Definitions, texts: Sequence[tuple[str, str, str]]) -> None:
    for kind, name, text in texts:
        draft = await definitions.draft(kind, name)
        await definitions.save(kind, name, text, draft.revision if draft else 0)
        await definitions.publish(kind, name)


async def told_of(it: WebApplication) -> set[str]:
    return {each["agent"] for each in (await it.ask("GET", PLACE, who="writer")).json()["unread"]}


async def test_agents_that_reach_a_collection_by_a_workflow_or_are_tried_on_some_users_are_told_as_well() -> None:
    async with application() as it:
        definitions = it.journal.definitions
        texts = [
            ("workflow", "flow", FLOW),
            ("tool", "ask_rules", "actum: tool/1\nname: ask_rules\nworkflow: flow\n"),
            ("agent", "by-flow", "actum: agent/1\nname: by-flow\ntools: [flow]\n"),
            ("agent", "by-tool", "actum: agent/1\nname: by-tool\ntools: [ask_rules]\n"),
            ("agent", "by-name", "actum: agent/1\nname: by-name\ntools: [search_rules]\n"),
            ("agent", "other", "actum: agent/1\nname: other\ntools: [search_rules_of_others]\n"),
            ("agent", "tried", "actum: agent/1\nname: tried\n"),
            ("agent", "tried", 'actum: agent/1\nname: tried\ntools: ["knowledge:rules"]\n'),
        ]
        await publish(definitions, texts)
        await it.ask("POST", "/v1/knowledge", {"name": "rules", "readers": ["role:staff"]}, who="writer")

        async def told() -> set[str]:
            return await told_of(it)

        await definitions.rollback("agent", "tried", 1)
        assert await told() == {"by-flow", "by-tool", "by-name"}
        await definitions.set_canary("agent", "tried", Canary(2, 10))
        assert await told() == {"by-flow", "by-tool", "by-name", "tried"}
        assert await used_by(definitions, "workflow", "flow", tenant="") == ["ask_rules", "by-flow"]
        assert await used_by(definitions, "collection", "knowledge:rules", tenant="") == ["tried"]


class BankWithRules(Bank):
    """Tools, one of them over a collection."""

    @property
    def tools(self) -> Sequence[object]:
        return [*super().tools, KnowledgeTool("rules"), QuoteTool()]


ASKS_AN_AGENT = """actum: workflow/1
name: asks
inputs: {ask: {type: string}}
nodes:
  one: {type: agent, agent: inner, task: "${inputs.ask}"}
outputs: {text: "${one.output}"}
"""


async def test_agents_inside_agents_are_followed_to_any_depth_also_where_texts_lead_in_a_circle() -> None:
    async with application() as it:
        agents = {
            "inner": 'tools: ["knowledge:rules"]',
            "by-flow": "tools: [asks]",
            "by-tool": "tools: [ask_inner]",
            "first": "agents: [second]\nroles: [guests]",
            "second": "agents: [third@1, first]",
            "third": "agents: [by-flow]",
            "readers": 'tools: ["knowledge:rules"]\nroles: [staff]',
            "asks-readers": "agents: [readers]",  # lets nobody else in
            "other": "agents: [inner-of-others]",
        }
        texts = [("agent", name, f"actum: agent/1\nname: {name}\n{text}\n") for name, text in agents.items()]
        texts += [("workflow", "asks", ASKS_AN_AGENT)]
        texts += [("tool", "ask_inner", "actum: tool/1\nname: ask_inner\nagent: inner\n")]
        await publish(it.journal.definitions, texts)
        await it.ask("POST", "/v1/knowledge", {"name": "rules", "readers": ["role:staff"]}, who="writer")
        it.door.api.calling = [
            CallingPart("own", frozenset({"*"}), ("role:guests",)),
            CallingPart("reads", frozenset({"knowledge:rules"}), ("role:staff",)),
            CallingPart("own-flow", frozenset({"reads"})),
            CallingPart("asks-reads", frozenset({"own-flow"}), ()),  # agents of the settings let in those who call them
            CallingPart("none", frozenset({"other", "asks-readers"}), ()),
        ]
        inside = {"inner", "by-flow", "by-tool", "first", "second", "third"}
        assert await told_of(it) == {*inside, "own", "asks-reads"}
        await it.ask("PATCH", PLACE, {"readers": ["role:staff", "role:guests"]}, who="writer")
        assert await told_of(it) == {*inside, "asks-reads"} - {"first"}
        await it.ask("PATCH", PLACE, {"readers": ["all"]}, who="writer")
        assert await told_of(it) == set()


async def test_of_a_name_with_a_version_the_text_of_this_version_is_looked_at() -> None:
    async with application() as it:
        with_rules, without = 'tools: ["knowledge:rules"]', "tools: [add]"
        agents = [
            ("books", with_rules),  # 1
            ("books", without),  # 2, in use
            ("once", without),  # 1
            ("once", with_rules),  # 2, in use
            ("deep", "agents: [books@1]"),  # 1
            ("deep", without),  # 2, in use
            ("by-old", "agents: [books@1]"),
            ("by-deep", "agents: [deep@1]"),
            ("by-now", "agents: [once@2]"),
            ("by-name", "agents: [once]"),
            ("safe-now", "agents: [books, books@2]"),
            ("safe-old", "agents: [once@1]"),
            ("safe-prompt", "instructions: {prompt: books@1}\nroles: [guests]"),
            ("gone", with_rules),  # 1, and in use no more
            ("by-gone", "agents: [gone@1]"),
            ("readers", f"{with_rules}\nroles: [staff]"),  # 1: lets nobody else in
            ("readers", without),
            ("asks-readers", "agents: [readers@1]"),
        ]
        texts = [("agent", name, f"actum: agent/1\nname: {name}\n{text}\n") for name, text in agents]
        await publish(it.journal.definitions, texts)
        await it.journal.definitions.unpublish("agent", "gone")
        await it.ask("POST", "/v1/knowledge", {"name": "rules", "readers": ["role:staff"]}, who="writer")
        it.door.api.calling = [
            CallingPart("own", frozenset({"price@1", "a2a:https://ann@host"}), ("role:guests",)),
            CallingPart("own-safe", frozenset({"price"}), ("role:guests",)),
        ]
        tool = "actum: tool/1\nname: price\n"
        await publish(
            it.journal.definitions,
            [("tool", "price", f"{tool}agent: books@1\n"), ("tool", "price", f"{tool}agent: books\n")],
        )
        found = await told_of(it)
        assert found == {
            "once",
            "books@1",
            "deep@1",
            "gone@1",
            "by-old",
            "by-deep",
            "by-now",
            "by-name",
            "by-gone",
            "own",
        }


async def test_the_tool_of_a_collection_is_listed_found_and_called_by_its_readers_alone() -> None:
    async with application(bank=BankWithRules()) as it:
        await it.ask("POST", "/v1/knowledge", {"name": "rules", "readers": ["user:ann"]}, who="writer")
        await it.ask("PUT", f"{PLACE}/documents/travel.md", put(TRAVEL), who="writer")
        for who in ("ann", "bob", "north"):
            is_reader = who == "ann"
            for query in ("", "?query=search+documents+rules"):
                listed = (await it.ask("GET", f"/v1/tools{query}", who=who)).json()["items"]
                assert ("search_rules" in {each["name"] for each in listed}) == is_reader, (who, query)
            told = [await it.ask("GET", f"/v1/tools/search_{name}", who=who) for name in ("rules", "ruleq")]
            called = [
                await it.ask("POST", f"/v1/tools/search_{name}/call", {"arguments": {"query": "hotel"}}, who=who)
                for name in ("rules", "ruleq")
            ]
            for both in (told, called):
                assert (both[0].status_code == 200) == is_reader, (who, both[0].text)
                assert is_reader or both[0].text == both[1].text


QUOTING: list[Said] = [
    Reply.of(calls=[ToolCall("s", "search_rules", {"query": "hotel"})]),
    Reply.of(calls=[ToolCall("q", "quote", {"text": "A hotel may cost 120 euros"})]),
    "120 euros [1].",
]


async def test_the_kept_text_around_a_quote_is_for_the_owner_of_the_run_while_the_collection_may_be_read() -> None:
    async with application(ScriptedModel(QUOTING), bank=BankWithRules()) as it:
        await it.ask("POST", "/v1/knowledge", {"name": "rules", "readers": ["user:ann"]}, who="writer")
        await it.ask("PUT", f"{PLACE}/documents/travel.md", put(TRAVEL), who="writer")
        run = (await it.ask("POST", "/v1/runs", {"agent": "desk", "question": "Hotel?"}, who="ann")).json()["id"]
        await it.until(run, "done")
        found = await it.ask("GET", f"/v1/runs/{run}/references/1", who="ann")
        around = found.json()
        assert found.status_code == 200, found.text
        assert (around["before"], around["behind"]) == ("Travel\n\n", ".")
        assert (around["reference"]["quote"], around["reference"]["verified"]) == ("A hotel may cost 120 euros", True)
        for who, number in (("bob", "1"), ("ann", "2"), ("ann", "x"), ("ann", "01")):
            assert (await it.ask("GET", f"/v1/runs/{run}/references/{number}", who=who)).status_code == 404
        await it.ask("PATCH", PLACE, {"readers": []}, who="writer")
        assert (await it.ask("GET", f"/v1/runs/{run}/references/1", who="ann")).status_code == 404
        assert (await it.ask("GET", f"/v1/runs/{run}/references/1", who="root")).status_code == 200


async def test_the_kept_text_around_a_quote_hides_a_labelled_value_of_the_run() -> None:
    class BankWithPrices(BankWithRules):
        """A bank that also knows a personal price."""

        @property
        def tools(self) -> Sequence[object]:
            @tool(effects={"read"}, labels={"price": "personal"})
            def get_price() -> JsonObject:
                """Look a price up."""
                return {"price": "120 euros"}

            return [*super().tools, get_price]

    replies: list[Said] = [Reply.of(calls=[ToolCall("p", "get_price", {})]), *QUOTING]
    labels = {"personal": Label(readers=["role:hr"])}
    async with application(ScriptedModel(replies), bank=BankWithPrices(), labels=labels) as it:
        await it.ask("POST", "/v1/knowledge", {"name": "rules", "readers": ["user:ann", "role:hr"]}, who="writer")
        await it.ask("PUT", f"{PLACE}/documents/travel.md", put(TRAVEL), who="writer")
        run = (await it.ask("POST", "/v1/runs", {"agent": "desk", "question": "Hotel?"}, who="ann")).json()["id"]
        await it.until(run, "done")
        for who, sees in (("ann", False), ("hella", True)):
            found = await it.ask("GET", f"/v1/runs/{run}/references/1", who=who)
            assert found.status_code == 200, found.text
            assert ("120 euros" in found.text, "[personal]" in found.text) == (sees, not sees)


async def test_what_can_not_be_is_refused_with_a_reason() -> None:
    async with application() as it:
        await it.ask("POST", "/v1/knowledge", {"name": "rules"}, who="writer")
        attacks: list[tuple[str, str, object, int]] = [
            ("POST", "/v1/knowledge", {"name": "../x"}, 422),
            ("POST", "/v1/knowledge", {"name": "x" * 41}, 422),
            ("POST", "/v1/knowledge", {"name": "y", "readers": ["bob"]}, 422),
            ("POST", "/v1/knowledge", {"name": "y", "readers": ["user:a\nall"]}, 422),
            ("PATCH", PLACE, {"readers": ["user:" + "x" * 300]}, 422),
            ("PUT", f"{PLACE}/documents/..%2Fx.md", put(b"x"), 422),
            ("PUT", f"{PLACE}/documents/a%00.md", put(b"x"), 422),
            ("PUT", f"{PLACE}/documents/a.md", {"data": "not base64!"}, 422),
            ("GET", f"{PLACE}/search?query=%3F%21", None, 422),
            ("GET", f"{PLACE}/search?query=x&limit=51", None, 422),
            ("GET", f"{PLACE}/documents?cursor=nonsense", None, 404),
            ("GET", "/v1/knowledge/%00", None, 404),
            ("DELETE", f"{PLACE}/documents/none.md", None, 404),
        ]
        for method, path, body, status in attacks:
            answer = await it.ask(method, path, body, who="writer")
            assert answer.status_code == status, (method, path, answer.text)
