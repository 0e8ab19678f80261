"""Every operation of every kind of definitions: both databases, two tenants, each scope, two publishers at once."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from actum.storage.place import open_journal

from .test_published_doors import Town, price, town
from .test_published_tools import timesing


class Kind(NamedTuple):
    """A kind of definitions.

    Attributes:
        texts: two texts that can be published; the first names nothing else.
        wrong: one that can not.
        builder: who may publish with the scope that this kind wants.
        user: a definition that names the first one: its kind, its name, its text.
    """

    texts: tuple[str, str]
    wrong: str
    builder: str = "builder"
    user: tuple[str, str, str] | None = None


API = {"openapi": "3.1.0", "info": {"title": "A", "version": "1"}, "paths": {"/": {"get": {"operationId": "find"}}}}


def api(description: str) -> str:
    place = {"openapi": json.dumps(API), "base": "https://api.invalid"}
    return json.dumps({"name": "it", "description": description, **place})


USES_TOOL = ("agents", "user1", "name: user1\ntools: [it]")
KINDS: Mapping[str, Kind] = {
    "prompts": Kind(("Be kind.", "Be brief."), "", user=("agents", "user1", "name: user1\ninstructions: {prompt: it}")),
    "tools": Kind((timesing(2, name="it"), timesing(3, name="it")), "name: it\nwhere: nowhere", "north", USES_TOOL),
    "policies": Kind(
        ('[[rules]]\nthen = "allow"', '[[rules]]\nthen = "deny"\ntools = "pay"'), '[[rules]]\nthen = "no"', "north"
    ),
    "servers": Kind(
        (api("One."), api("Two.")),
        "name: it\nurll: run",
        user=("tools", "user1", "name: user1\nmcp: {server: it, tool: find}"),
    ),
    "agents": Kind(
        ("name: it\ntools: [add]", "name: it\ndescription: Helps."),
        "name: it\ntools: [nothing]",
        user=("tools", "user1", "name: user1\nagent: it"),
    ),
    "workflows": Kind((price("it"), price("it", "dear")), price("it") + "more: 1\n", "north", USES_TOOL),
}
PLACES: dict[str, Callable[[pytest.FixtureRequest], str]] = {
    "sqlite": lambda request: str(request.getfixturevalue("tmp_path") / "runs.db"),
    "postgres": lambda request: request.getfixturevalue("postgres").new_database(),
}
_WRITES: Mapping[str, object] = {
    "draft": {"text": "x", "revision": 0},
    "check": {"text": "x"},
    "publish": {},
    "rollback": {"number": 1},
    "unpublish": None,
    "canary": {"version": 1, "share": 5},
}
HAN = re.compile(r"[\u4e00-\u9fff]")
ENGLISH = re.compile(r"(?<!')\b[a-z]{2,} [a-z]{2,}|\b(tool|agent|prompt|policy|server|workflow) '")
"""What the Chinese of a refusal does not have: English words, and a kind in English before a name."""
BUILDERS = ("build", "admin")
_READS = ("draft", "versions", "diff?old=1&new=1")


def asked(kind: str) -> list[tuple[str, str, object]]:
    """Every operation about one name, that is no list: method, path below the name, body."""
    writes = {verb: body for verb, body in _WRITES.items() if verb != "canary" or kind in ("agents", "workflows")}
    return [
        *(("GET", path, None) for path in (*_READS, *(("compare?old=1&new=2",) if "canary" in writes else ()))),
        *(("POST", verb, body) for verb, body in writes.items()),
        ("DELETE", "draft", None),
    ]


async def went(it: Town, kind: str, case: Kind) -> None:
    """One definition through all that can be done with it."""
    who = case.builder

    async def told(method: str, path: str, body: object = None, status: int = 200, by: str = who) -> dict[str, object]:
        answer = await it.ask(method, f"/v1/{kind}/it{path}", body, who=by, language="zh" if status >= 400 else "en")
        assert answer.status_code == status, (kind, method, path, answer.text)
        found: dict[str, Any] = answer.json()
        if status >= 400:
            assert HAN.search(found["detail"]), found
            assert not ENGLISH.search(found["detail"]), found
        return found

    first, second = case.texts
    for method, path, body in asked(kind):
        if path not in ("draft", "check") or method != "POST":
            await told(method, f"/{path}", body, 404)
        if kind != "workflows" or path not in ("versions", "check"):  # readers of workflows may look
            refused = await told(method, f"/{path}", body, 403, "bob")
            assert (refused["code"], refused["scope"]) == ("scope", ["admin"] if kind == "policies" else [*BUILDERS])
    assert (await told("POST", "/draft", {"text": first, "revision": 0}))["revision"] == 1
    listed = await it.ask("GET", f"/v1/{kind}?drafts=true", who="north" if kind == "policies" else "builder")
    assert "it" in [each["name"] for each in listed.json()["items"]], (kind, listed.text)
    stale = await told("POST", "/draft", {"text": second, "revision": 0}, 409)
    assert (stale["code"], stale["current"], stale["text"]) == ("stale", first, second), "a program has both texts"
    assert (await told("POST", "/check", {"text": first}))["problems"] == []
    assert (await told("POST", "/check", {"text": case.wrong}))["problems"]
    assert (await told("POST", "/publish", {"source": "it.file"}))["number"] == 1
    await told("POST", "/draft", {"text": case.wrong, "revision": 1})
    assert (await told("POST", "/publish", {}, 422))["code"] == "definition"
    await told("POST", "/draft", {"text": second, "revision": 2})
    assert (await told("POST", "/publish", {"revision": 2}, 409))["code"] == "stale"
    made = await told("POST", "/publish", {"revision": 3})
    assert (made["number"], made["source"], made["share"]) == (2, "", 100)
    assert (await told("GET", "?version=1"))["name"] == "it"
    if case.user is not None:
        of, name, text = case.user
        answer = await it.publish(name, text, who="north", kind=of)
        assert answer.status_code == 200, answer.text
    users = [case.user[1]] if case.user is not None else []
    difference = await told("GET", "/diff?old=1&new=2")
    assert (bool(difference["changes"]), difference["used_by"]) == (True, users)
    assert (await told("POST", "/rollback", {"number": 1}))["number"] == 3
    items = (await told("GET", "/versions"))["items"]
    assert isinstance(items, list)
    assert [(each["number"], each["again"], each["source"]) for each in items] == [
        *((3, 1, "it.file"), (2, 0, ""), (1, 0, "it.file")),
    ]
    for method, path, body in asked(kind):
        if path not in ("draft", "check") or method != "POST":
            await told(method, f"/{path}", body, 404, "south")
    refused = await told("DELETE", "/draft", None, 409)
    assert (refused["code"], refused.get("used_by", [])) == ("in_use", users)
    assert (await told("POST", "/unpublish"))["used_by"] == users
    assert (await told("DELETE", "/draft?revision=1", None, 409))["code"] == "stale"
    assert (await told("DELETE", "/draft"))["text"] == second
    await told("GET", "/draft", None, 404)
    assert (await told("POST", "/rollback", {"number": 2}))["number"] == 4
    assert (await told("GET", "/draft"))["published"] == 4


@pytest.mark.row("F5")
@pytest.mark.parametrize("place", PLACES)
async def test_every_operation_does_the_same_for_every_kind(
    place: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    journal = open_journal(PLACES[place](request))
    async with town(tmp_path, journal) as it:
        for kind, case in KINDS.items():
            await went(it, kind, case)
            if case.user is not None:
                of, name, _ = case.user
                assert (await it.ask("POST", f"/v1/{of}/{name}/unpublish")).status_code == 200
            assert (await it.ask("POST", f"/v1/{kind}/it/unpublish")).status_code == 200
    await journal.close()


@pytest.mark.parametrize("place", PLACES)
async def test_of_two_publishers_at_two_servers_one_is_told_of_the_other(
    place: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    where = PLACES[place](request)
    first, second = open_journal(where), open_journal(where)
    async with town(tmp_path, first) as it, town(tmp_path, second) as other:
        for kind, case in KINDS.items():
            bodies = [{"text": text, "revision": 0} for text in case.texts]
            path = f"/v1/{kind}/it/draft"
            answers = await asyncio.gather(
                *(each.ask("POST", path, body) for each, body in zip((it, other), bodies, strict=True))
            )
            assert sorted(each.status_code for each in answers) == [200, 409], kind
            (kept,) = [each.json()["text"] for each in answers if each.status_code == 200]
            (stale,) = [each.json() for each in answers if each.status_code == 409]
            assert (stale["code"], stale["current"], kept in case.texts) == ("stale", kept, True)
            made = await asyncio.gather(*(each.ask("POST", f"/v1/{kind}/it/publish", {}) for each in (it, other)))
            assert [(each.status_code, each.json()["number"]) for each in made] == [(200, 1), (200, 1)], kind
            shown = await asyncio.gather(*(each.ask("GET", f"/v1/{kind}/it") for each in (it, other)))
            assert {each.status_code for each in shown} == {200}, "each sees what the other has published"
            assert (await it.ask("POST", f"/v1/{kind}/it/unpublish")).status_code == 200
            assert (await other.ask("POST", f"/v1/{kind}/it/unpublish")).status_code == 404
    await first.close()
    await second.close()
