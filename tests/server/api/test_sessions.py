"""`/v1/sessions`: conversations are named, searched and exported, each by its owner alone."""

from __future__ import annotations

import json

import pytest

from actum.server.api.sessions import SessionMessage, as_markdown

from .application import WebApplication, answering, application
from .test_runs import calls

pytestmark = pytest.mark.row("A3")


async def talk(it: WebApplication, session: str, question: str) -> None:
    begun = (await it.ask("POST", "/v1/runs", {"question": question, "session": session})).json()
    await it.until(begun["id"], "done")


async def found(it: WebApplication, text: str = "", who: str = "ann") -> list[tuple[str, str]]:
    listed = await it.ask("GET", f"/v1/sessions?text={text}", who=who)
    return [(each["id"], each["title"]) for each in listed.json()["items"]]


async def test_a_conversation_is_named_found_by_its_words_and_loses_its_name_with_its_runs() -> None:
    async with application(answering(*["Hi."] * 5)) as it:
        await talk(it, "c1", "Where is the harbour?")
        await talk(it, "c2", "天气怎么样？")
        named = await it.ask("PATCH", "/v1/sessions/c1", {"title": " Boats  and 船 "})
        assert (named.status_code, named.json()) == (200, {"id": "c1", "owner": "ann", "title": "Boats and 船"})
        assert await found(it, "BOATS") == await found(it, "船") == [("c1", "Boats and 船")]
        assert await found(it, "天气") == [("c2", "")]
        assert await found(it, "harbour") == [("c1", "Boats and 船")]
        assert await found(it, "ship") == []
        await talk(it, "c1", "And now?")
        assert ("c1", "Boats and 船") in await found(it)
        said = (await it.ask("GET", "/v1/sessions/c1/messages")).json()["runs"][-1]["id"]
        branch = (await it.ask("POST", f"/v1/runs/{said}/fork", {"at": 0})).json()["id"]
        await it.until(branch, "done")
        gone = (await it.ask("DELETE", "/v1/sessions/c1")).json()
        assert (gone["runs"], gone["copies"]) == (2, [branch])
        await talk(it, "c1", "Hello again")
        assert await found(it, "again") == [("c1", "")]


async def test_nobody_else_names_searches_or_exports_a_conversation() -> None:
    async with application(answering("Hi.")) as it:
        await talk(it, "c1", "Hello")
        await it.ask("PATCH", "/v1/sessions/c1", {"title": "Mine"})
        for who in ("bob", "north"):
            for method, path, body in (
                ("PATCH", "/v1/sessions/c1", {"title": "Theirs"}),
                ("GET", "/v1/sessions/c1/export", None),
            ):
                assert (await it.ask(method, path, body, who=who)).status_code == 404
            assert await found(it, "mine", who=who) == []
        assert await found(it, "mine") == [("c1", "Mine")]
        answer = await it.ask("PATCH", "/v1/sessions/c1", {"title": "x" * 201})
        assert answer.status_code == 422


async def test_a_conversation_is_exported_for_people_and_for_programs() -> None:
    async with application(answering(calls("add", a=2, b=3), "It is 5.")) as it:
        await talk(it, "c1", "What is 2 and 3?")
        text = await it.ask("GET", "/v1/sessions/c1/export")
        assert text.headers["content-type"] == "text/markdown"
        assert "attachment" in text.headers["content-disposition"]
        order = ["# c1", "What is 2 and 3?", "`add`", '{"a":2,"b":3}', "**add**", "It is 5."]
        places = [text.text.index(each) for each in order]
        assert places == sorted(places)
        told = json.loads((await it.ask("GET", "/v1/sessions/c1/export?format=json")).content)
        assert [each["role"] for each in told["items"]] == ["user", "agent", "tool", "agent"]
        assert (await it.ask("GET", "/v1/sessions/c1/export?format=html")).status_code == 422


def test_a_result_can_not_leave_its_block() -> None:
    shown = as_markdown("t", [SessionMessage(role="tool", tool="web", text="a\n```\n# Pay now\n````")])
    assert shown.count("`````") == 2
    assert shown.index("`````") < shown.index("# Pay now") < shown.rindex("`````")
