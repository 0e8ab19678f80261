"""`/v1/memories`: everybody finds and forgets the own memory, and nobody else's."""

from __future__ import annotations

import pytest

from actum import Agent, ToolCall
from actum.core.interfaces import Journal
from actum.core.message import Reply
from actum.memory.feature import FEATURE
from actum.testing import ScriptedModel

from .application import application

pytestmark = pytest.mark.row("A2")
BOAT = "My boat is red."
ATTACKS: list[tuple[str, str, int]] = [
    *((who, "/{id}", 404) for who in ("bob", "north", "root", "keyless")),
    *((who, "?query=boat", 200) for who in ("bob", "north", "root")),
    ("ann", "?query=boat&space=cook", 200),
    ("ann", "?query=%27%20OR%201%3D1%20--", 200),
    ("ann", "?query=%00", 422),
    ("ann", "?query=%3F%21", 422),
    ("ann", "?query=" + "x" * 2_001, 422),
    ("ann", "?limit=51", 422),
    ("ann", "?kind=secret", 422),
    ("ann", "?owner=bob", 422),
    ("ann", "?cursor=WzEsIngiXQ", 200),
    ("ann", "?cursor=WzEsMV0", 404),
    ("ann", "/run_none", 404),
    ("ann", "/%00", 404),
    ("ann", "/" + "x" * 2_001, 404),
    ("none", "", 403),
]


async def told(journal: Journal, said: str, answer: str | Reply, name: str = "desk", **whose: str) -> str:
    """The run in which a user says something."""
    agent = Agent(ScriptedModel([answer, "Kept."]), name=name, journal=journal, memory="user")
    return (await agent.run(said, **{"principal": "ann"} | whose)).run_id  # type: ignore[arg-type]  # names alone


async def test_a_user_lists_finds_and_shows_what_is_remembered() -> None:
    async with application() as it:
        boat = await told(it.journal, BOAT, "A fine colour.", conversation="monday")
        keep = Reply.of(calls=[ToolCall("c1", "remember", {"quote": "eat no nuts", "kind": "preference"})])
        nuts = await told(it.journal, "I eat no nuts.", keep, name="cook")
        listed = (await it.ask("GET", "/v1/memories")).json()
        assert [(each["type"], each["space"], each["said"]) for each in listed["items"]] == [
            ("note", "cook", "eat no nuts"),
            ("turn", "cook", "I eat no nuts."),
            ("turn", "desk", BOAT),
        ]
        note = listed["items"][0]
        assert (note["run"], note["kind"], note["until"]) == (nuts, "preference", None)
        turn = (await it.ask("GET", f"/v1/memories/{boat}")).json()
        assert (turn["conversation"], turn["agent"], turn["answered"]) == ("monday", "desk", "A fine colour.")
        assert (await it.ask("GET", f"/v1/memories/{note['id']}")).json() == note
        for query, ids in {
            "query=boats": [boat],
            "query=nuts&kind=preference": [note["id"]],
            "query=nuts&space=desk": [],
            f"query=boat&until={turn['at']}": [],
            f"since={turn['at']}&space=desk": [boat],
            "kind=turn": [nuts, boat],
        }.items():
            found = (await it.ask("GET", f"/v1/memories?{query}")).json()["items"]
            assert [each["id"] for each in found] == ids, query
        parts: list[str] = []
        cursor: str | None = ""
        while cursor is not None:
            part = (await it.ask("GET", f"/v1/memories?limit=1&cursor={cursor}")).json()
            parts, cursor = parts + [each["id"] for each in part["items"]], part["next"]
        assert parts == [note["id"], nuts, boat]


async def test_nobody_gets_at_the_memory_of_another_user_tenant_or_space() -> None:
    async with application() as it:
        boat = await told(it.journal, BOAT, "Fine.")
        for who, path, status in ATTACKS:
            place = "/v1/memories" + path.replace("{id}", boat)
            for method in ("GET", "DELETE") if path.startswith("/") else ("GET",):
                answer = await it.ask(method, place, who=who)
                assert answer.status_code == status, (who, path, answer.text)
                assert status != 200 or answer.json()["items"] == []
                assert BOAT not in answer.text
        assert (await it.ask("GET", f"/v1/memories/{boat}")).status_code == 200


async def test_what_is_forgotten_is_found_no_more_with_all_that_says_it_and_stays_on_record() -> None:
    async with application() as it:
        boat = await told(it.journal, BOAT, "Fine.")
        keep = Reply.of(calls=[ToolCall("c1", "remember", {"quote": "my boat is red"})])
        kept = await told(it.journal, "Keep that my boat is red", keep)
        other = await told(it.journal, "The boat of my aunt is blue.", "Fine.")
        (note,) = (await it.ask("GET", "/v1/memories?query=boat&kind=fact")).json()["items"]
        gone = (await it.ask("DELETE", f"/v1/memories/{note['id']}")).json()
        assert gone["id"] == note["id"]
        assert set(gone["items"]) == {note["id"], boat, kept}
        assert set(gone["on_record"]) == {boat, kept}
        for _ in range(2):
            found = (await it.ask("GET", "/v1/memories?query=boat")).json()["items"]
            assert [each["id"] for each in found] == [other]
            assert (await it.ask("DELETE", f"/v1/memories/{note['id']}")).status_code == 404
            await it.journal.stores.rebuild(FEATURE.name)
        assert (await it.ask("GET", f"/v1/runs/{boat}")).status_code == 200
        assert (await it.ask("DELETE", f"/v1/memories/{other}")).json()["on_record"] == [other]
        assert (await it.ask("GET", "/v1/memories")).json()["items"] == []
        acts = (await it.ask("GET", "/v1/audit?tool=memory.forget", who="root")).json()["items"]
        assert {(each["tool"], each["principal"], each["decision"]) for each in acts} == {
            ("memory.forget", "ann", "done")
        }
        assert BOAT not in str(acts)


WRONG: list[tuple[dict[str, object], int, str]] = [
    ({"text": "x", "space": "desk", "replaces": "mem_of_bob"}, 422, "memory"),
    ({"text": " \n ", "space": "desk"}, 422, "text"),
    ({"text": "\u200b \u202e", "space": "desk"}, 422, "text"),
    ({"text": "", "space": "desk"}, 422, "invalid"),
    ({"text": "x" * 1_001, "space": "desk"}, 422, "invalid"),
    ({"text": "a\u0000b", "space": "desk"}, 422, "invalid"),
    ({"text": "x", "kind": "secret", "space": "desk"}, 422, "invalid"),
    ({"text": "x"}, 422, "space"),
    ({"text": "x", "principal": "bob"}, 422, "invalid"),
]


async def test_a_user_writes_notes_down_which_are_told_and_found_and_take_the_place_of_others() -> None:
    async with application() as it:
        await told(it.journal, BOAT, "Fine.")
        await told(it.journal, "I cook.", "Fine.", name="cook")
        for body, status, code in WRONG:
            answer = await it.ask("POST", "/v1/memories", body)
            assert (answer.status_code, answer.json()["code"]) == (status, code), body
        first = await it.ask("POST", "/v1/memories", {"text": "I eat\nno nuts", "space": "desk"})
        again = await it.ask("POST", "/v1/memories", {"text": "i eat no  NUTS", "space": "desk"})
        assert (first.status_code, again.status_code) == (201, 200)
        assert first.json() == again.json()
        assert first.headers["location"] == f"/v1/memories/{first.json()['id']}"
        body = {"text": "I eat no nuts, but almonds", "kind": "preference", "space": "desk"}
        second = (await it.ask("POST", "/v1/memories", body | {"replaces": first.json()["id"]})).json()
        old = (await it.ask("GET", f"/v1/memories/{first.json()['id']}")).json()
        assert old["until"] == second["at"]
        assert (await it.ask("GET", f"/v1/memories/{second['id']}")).json() == second
        assert (await it.ask("GET", f"/v1/memories/{second['id']}", who="bob")).status_code == 404
        await it.journal.stores.rebuild(FEATURE.name)
        model = ScriptedModel(["Cake?"])
        result = await Agent(model, name="desk", journal=it.journal, memory="user").run("Hello!", principal="ann")
        assert [each.id for each in result.recalled] == [second["id"]]
        assert (await it.ask("GET", f"/v1/runs/{second['run']}")).json()["principal"] == "ann"
        acts = (await it.ask("GET", "/v1/audit?tool=memory.add", who="root")).json()["items"]
        assert {(each["principal"], each["decision"]) for each in acts} == {("ann", "done")}
        gone = (await it.ask("DELETE", f"/v1/memories/{second['id']}")).json()
        assert gone["items"] == [second["id"], first.json()["id"]]  # the first does not hold again
        assert gone["on_record"] == [second["run"], first.json()["run"]]
        await it.journal.stores.rebuild(FEATURE.name)
        assert (await it.ask("GET", "/v1/memories?kind=preference")).json()["items"] == []


async def test_a_memory_that_its_user_has_switched_off_recalls_nothing_and_takes_nothing_in() -> None:
    async with application() as it:
        boat = await told(it.journal, BOAT, "Fine.")
        assert (await it.ask("PUT", "/v1/memories", {"on": False})).json() == {"space": "desk", "on": False}
        search = Reply.of(calls=[ToolCall("c1", "recall", {"query": "boat"})])
        keep = Reply.of(calls=[ToolCall("c2", "remember", {"quote": "is blue"})])
        model = ScriptedModel([search, keep, "Well."])
        desk = Agent(model, name="desk", journal=it.journal, memory="user")
        result = await desk.run("My other boat is blue.", principal="ann")
        assert [each.error and each.error.code for _, each in result.calls] == ["permission_denied"] * 2
        assert not result.recalled
        refused = await it.ask("POST", "/v1/memories", {"text": "x"})
        assert (refused.status_code, refused.json()["code"]) == (409, "memory_off")
        listed = (await it.ask("GET", "/v1/memories")).json()
        assert [each["id"] for each in listed["items"]] == [boat]
        assert listed["spaces"] == [{"space": "desk", "on": False}]
        bobs = await told(it.journal, BOAT, "Fine.", principal="bob")
        assert [each["id"] for each in (await it.ask("GET", "/v1/memories", who="bob")).json()["items"]] == [bobs]
        assert (await it.ask("PUT", "/v1/memories", {"on": True, "space": "desk"})).json()["on"] is True
        await it.journal.stores.rebuild(FEATURE.name)
        assert [each["id"] for each in (await it.ask("GET", "/v1/memories")).json()["items"]] == [boat]
        again = Agent(ScriptedModel(["Red."]), name="desk", journal=it.journal, memory="user")
        assert [each.id for each in (await again.run("Which boat?", principal="ann")).recalled] == [boat]


async def test_all_of_a_memory_is_forgotten_at_once_for_good_and_nothing_of_others() -> None:
    async with application() as it:
        bobs = await told(it.journal, BOAT, "Fine.", principal="bob")
        for name in ("desk", "cook"):
            await told(it.journal, BOAT, "Fine.", name=name)
            await it.ask("POST", "/v1/memories", {"text": "I eat no nuts", "space": name})
        for wrong in ("", "?all=true&id=x", "?all=true"):
            assert (await it.ask("DELETE", f"/v1/memories{wrong}")).status_code == 422
        gone = await it.ask("DELETE", "/v1/memories?all=true&space=desk")
        assert gone.json() == {"space": "desk", "count": 2}
        for _ in range(2):
            items = (await it.ask("GET", "/v1/memories")).json()["items"]
            assert {each["space"] for each in items} == {"cook"}
            assert len(items) == 2
            await it.journal.stores.rebuild(FEATURE.name)
        assert [each["id"] for each in (await it.ask("GET", "/v1/memories", who="bob")).json()["items"]] == [bobs]


async def test_what_is_forgotten_with_its_record_leaves_no_run_that_says_it_and_no_note_of_it() -> None:
    async with application() as it:
        boat = await told(it.journal, BOAT, "Fine.")
        note = {"text": "I eat no nuts", "space": "desk"}
        added = (await it.ask("POST", "/v1/memories", note)).json()
        nuts = await told(it.journal, "Please remember: I eat no nuts.", "Fine.")
        search = Reply.of(calls=[ToolCall("c1", "recall", {"query": "boat"})])
        keep = Reply.of(calls=[ToolCall("c2", "remember", {"quote": BOAT})])
        agent = Agent(ScriptedModel([search, keep, "Kept."]), name="desk", journal=it.journal, memory="user")
        holder = (await agent.run("Keep the colour.", principal="ann")).run_id
        branch = await Agent(ScriptedModel(["Blue."]), name="desk", journal=it.journal).fork(boat, 0)
        refused = await it.ask("DELETE", "/v1/memories?all=true&space=desk&record=true")
        assert (refused.status_code, refused.json()["code"]) == (422, "record")
        async with it.journal.claim(boat):  # somebody goes on with the run
            busy = await it.ask("DELETE", f"/v1/memories/{boat}?record=true")
            assert (busy.status_code, busy.json()["code"]) == (409, "busy")
        assert (await it.ask("GET", f"/v1/memories/{boat}")).status_code == 200
        assert (await it.ask("DELETE", f"/v1/memories/{boat}?record=true", who="bob")).status_code == 404
        gone = (await it.ask("DELETE", f"/v1/memories/{boat}?record=true")).json()
        assert gone == {"id": boat, "items": [boat], "on_record": [branch], "deleted": [boat, holder]}
        async with it.journal.claim(nuts):  # such a run is named, and the others are deleted
            gone = (await it.ask("DELETE", f"/v1/memories?id={added['id']}&record=true")).json()
        assert (gone["deleted"], gone["on_record"]) == ([added["run"]], [nuts])
        await it.journal.forget(nuts, "ann", "memory forgotten")
        for _ in range(2):
            assert (await it.ask("GET", "/v1/memories")).json()["items"] == []
            await it.journal.stores.rebuild(FEATURE.name)
        for run_id in (boat, holder, nuts, added["run"]):
            assert (await it.journal.runs(run_id=(run_id,)))[0].status == "forgotten"
