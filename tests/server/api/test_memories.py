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
    ("ann", "?limit=201", 422),
    ("ann", "?kind=secret", 422),
    ("ann", "?owner=bob", 422),
    ("ann", "?cursor=WzEsIngiXQ", 404),
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
        assert (await it.ask("GET", "/v1/memories")).json() == {"items": [], "next": None}
        acts = (await it.ask("GET", "/v1/audit?decision=administered", who="root")).json()["items"]
        assert [(each["tool"], each["principal"]) for each in acts] == [("memory.forget", "ann")] * 2
        assert BOAT not in str(acts)
