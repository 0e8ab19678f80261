"""Workflows are built over HTTP by people who do not administrate: what a check tells of each node, files of other
programs, and what a builder may publish.
"""

from __future__ import annotations

import asyncio
import base64
import io
import json
import zipfile
from contextlib import AsyncExitStack
from pathlib import Path

import httpx
import pytest

from actum.core.json import JsonObject
from actum.storage.place import open_journal
from tests.patience import HANGS_S
from tests.workflow.imports.mutation import JUNK

from .models.desk import until
from .test_published_doors import Town, town
from .test_trying import drafted

DIFY, COZE = (Path(__file__).parents[1] / "workflow" / name for name in ("dify", "coze"))
HEAD = "actum: workflow/1\nname: NAME\n"
PLAIN = (
    HEAD + 'nodes:\n  sum: {type: tool, tool: add, with: {a: 1, b: 2}}\n  said: {type: say, text: "${sum.output}"}\n'
)
PLAIN += "edges: [sum > said]\n"
CODE = HEAD + "nodes: {sum: {type: code, code: 'def main(): return 1'}}\n"
SECRET = HEAD + (
    "nodes: {each: {type: each, over: [1], nodes: {get: {type: http, url: 'https://1.1.1.1/', "
    "headers: {a: 'Bearer ${ secret:KEY }'}}}}}\n"
)


async def published(it: Town, name: str, text: str, who: str) -> tuple[int, str]:
    await drafted(it, "workflows", name, text.replace("NAME", name), who=who)
    answer = await it.ask("POST", f"/v1/workflows/{name}/publish", {}, who=who)
    return answer.status_code, answer.json().get("code", "")


@pytest.mark.row("F1")
async def test_a_builder_publishes_a_workflow_but_no_code_and_no_secret(tmp_path: Path) -> None:
    async with town(tmp_path) as it:
        assert await published(it, "plain", PLAIN, "builder") == (200, "")
        assert await published(it, "coded", CODE, "builder") == (403, "scope")
        assert await published(it, "spying", SECRET, "builder") == (403, "scope")
        for name in ("coded", "spying"):
            tried = await it.ask("POST", f"/v1/workflows/{name}/try", {}, who="builder")
            assert (tried.status_code, tried.json()["code"]) == (403, "scope"), tried.text
        drafts = (await it.ask("GET", "/v1/workflows?drafts=true", who="builder")).json()["items"]
        assert {each["name"] for each in drafts} >= {"plain", "coded", "spying"}
        for who, status in (("bob", 403), ("south", 404), ("narrow-builder", 404)):
            got = await it.ask("GET", "/v1/workflows/plain/draft", who=who)
            assert got.status_code == status, (who, got.text)
        assert (await it.ask("POST", "/v1/workflows/coded/publish", {})).status_code == 200  # north has every scope
        assert await published(it, "flow", PLAIN, "narrow-builder") == (422, "definition")  # may not use the tool `add`
        shown = (await it.ask("GET", "/v1/workflows/plain", who="builder")).json()
        assert '"sum"' in shown["definition"]
        assert (await it.ask("GET", "/v1/workflows/plain", who="bob")).json()["definition"] is None


@pytest.mark.row("F2")
async def test_a_check_tells_what_each_node_has_gives_and_may_name_also_while_something_is_wrong(
    tmp_path: Path,
) -> None:
    text = HEAD.replace("NAME", "flow") + (
        "nodes:\n"
        "  ask: {type: classify, model: m, text: hello, classes: {yes: a, no: b}, on_error: branch}\n"
        "  form: {type: human, message: x, form: {type: object, properties: {n: {type: integer}}}}\n"
        "  read: {type: extract, model: m, text: x, schema: {type: object, $defs: {t: {type: string}}, "
        "properties: {t: {$ref: '#/$defs/t'}}}}\n"
        "  trips:\n"
        "    type: each\n"
        "    over: [1]\n"
        "    nodes:\n"
        "      sum: {type: tool, tool: add, with: {a: 1, b: 2}}\n"
        "      after: {type: say, text: '${sum.output}'}\n"
        "    edges: [sum > after]\n"
        "  __proto__: {type: say, text: hi}\n"
        "  broken: {type: tol, tool: add}\n"
        "edges: [ask.yes > form, form > read, read > trips, ask.no > __proto__]\n"
    )
    async with town(tmp_path) as it:
        answer = await it.ask("POST", "/v1/workflows/flow/check", {"text": text}, who="builder")
        found = answer.json()
        assert [each["message"] for each in found["problems"]] == ["broken: there is no type 'tol'"], found
        nodes = {each["node"]: each for each in found["nodes"]}
        assert list(nodes) == ["ask", "form", "read", "trips", "__proto__", "trips/sum", "trips/after"]
        assert nodes["ask"]["ports"] == ["yes", "no", "error"]
        assert nodes["form"]["ports"] == ["out", "denied"]
        assert nodes["trips"]["upstream"] == ["read", "form", "ask"]
        assert nodes["trips/after"]["upstream"] == ["sum", "read", "form", "ask"]
        assert nodes["__proto__"]["upstream"] == ["ask"]
        output = nodes["read"]["output"]["properties"]["output"]
        assert output["properties"]["t"] == {"$ref": "#/properties/output/$defs/t"}
        assert "output" in nodes["trips/sum"]["output"]["properties"]
        bad = text.replace("over: [1]", "over: '${[1]}'")
        answer = (await it.ask("POST", "/v1/workflows/flow/check", {"text": bad}, who="builder")).json()
        assert "no reference" in answer["problems"][0]["message"], answer
        assert list(nodes) == [each["node"] for each in answer["nodes"]]
        ring = HEAD.replace("NAME", "flow") + "nodes: {a: {type: say, text: x}, b: {type: say, text: x}}\n"
        circle = (await it.ask("POST", "/v1/workflows/flow/check", {"text": ring + "edges: [a > b, b > a]\n"})).json()
        assert circle["nodes"] == []
        assert "cycle" in circle["problems"][0]["message"]


@pytest.mark.row("F1")
async def test_a_file_of_dify_or_coze_is_answered_as_text_with_its_report_and_nothing_is_kept(tmp_path: Path) -> None:
    dify = next(path for path in sorted(DIFY.glob("*.yml")) if "workflow" in path.read_text()).read_text()
    coze = min(COZE.glob("*.canvas.json")).read_text()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("flow.json", coze)
    path = "/v1/workflows/import"
    async with town(tmp_path) as it:
        for body, wrote in (
            ({"text": dify}, "dify"),
            ({"text": coze, "name": "my flow.json"}, "coze"),
            ({"data": base64.b64encode(packed.getvalue()).decode(), "format": "coze"}, "coze"),
        ):
            answer = await it.ask("POST", path, body, who="builder")
            told = answer.json()
            assert (answer.status_code, told.get("format")) == (200, wrote), answer.text
            assert told["text"].startswith("actum: workflow/1")
            assert told["counts"]["same"] > 0
            assert {each["status"] for each in told["lines"]} <= {"near", "open", "lost"}
            checked = await it.ask("POST", f"/v1/workflows/{told['name']}/check", {"text": told["text"]}, who="builder")
            assert all("there is no" in each["message"] for each in checked.json()["problems"]), checked.text
        for body, status, words in (
            ({"text": "hello"}, 422, "no workflow of coze or dify"),
            ({"text": "a: &a [x]\n" + "".join(f"b{n}: [*a, *a]\n" for n in range(9))}, 422, "no workflow"),
            ({"text": '{"data": {"x": 1}}'}, 422, "no workflow"),
            ({"data": base64.b64encode(b"PK\x03\x04" + b"x" * 99).decode()}, 422, "archive"),
            ({"text": dify, "format": "n8n"}, 422, "coze or dify"),
            ({"text": dify, "data": "eA=="}, 422, "`data`"),
            ({}, 422, "`data`"),
            ({"data": base64.b64encode(b"x" * 1_000_001).decode()}, 413, "1000000 bytes"),
            ({"text": "x" * 5_000_000}, 413, "bytes"),
        ):
            answer = await it.ask("POST", path, body, who="builder")
            assert answer.status_code == status, (str(body)[:80], answer.text)
            assert words in answer.json()["detail"], answer.text
        for who, status in (("bob", 403), ("south", 200), ("narrow-builder", 200)):
            assert (await it.ask("POST", path, {"text": coze}, who=who)).status_code == status
        kept = (await it.ask("GET", "/v1/workflows?drafts=true", who="north")).json()["items"]
        assert [each["name"] for each in kept] == ["desk"]  # of the settings
        for junk in JUNK:
            assert (await it.ask("POST", path, {"text": str(junk)[:1000] or "-"}, who="builder")).status_code in (
                200,
                422,
            )


@pytest.mark.row("F2")
async def test_the_feed_tells_changes_of_drafts_to_those_who_may_see_them(tmp_path: Path) -> None:
    heard: dict[str, list[JsonObject]] = {name: [] for name in ("builder", "narrow-builder", "south", "bob")}

    async def read(it: Town, who: str, begun: asyncio.Event) -> None:
        async with (
            httpx.AsyncClient(timeout=HANGS_S, verify=False) as http,
            http.stream("GET", f"{it.url}/v1/events", headers=it.headers(who)) as answer,
        ):
            assert answer.status_code == 200, (who, await answer.aread())
            event = ""
            async for line in answer.aiter_lines():
                name, _, value = line.partition(": ")
                if (name, value) == ("event", "approvals"):
                    begun.set()  # from here on every change is heard of
                event = value if name == "event" else event
                if name == "data" and event == "draft":
                    heard[who].append(json.loads(value))
                    if heard[who][-1]["name"] == "last":
                        return

    near, far = (open_journal(tmp_path / "runs.db") for _ in range(2))
    async with AsyncExitStack() as stack:
        it, other = [await stack.enter_async_context(town(tmp_path, journal)) for journal in (near, far)]
        begun = {who: asyncio.Event() for who in heard}
        readers = [asyncio.create_task(read(it, who, begun[who])) for who in heard]
        async with asyncio.timeout(HANGS_S):
            await asyncio.gather(*(each.wait() for each in begun.values()))
            await drafted(other, "workflows", "flow", "one", who="builder")  # by way of another process
            await drafted(other, "tools", "crm_find", "x", who="builder")
            await drafted(other, "agents", "spy", "x", who="south")
            deleted = await other.ask("DELETE", "/v1/workflows/flow/draft", who="north")
            assert deleted.status_code == 200, deleted.text

            async def all_heard() -> bool:
                narrow = {str(each["name"]) for each in heard["narrow-builder"]}
                is_gone = any(each["is_gone"] for each in heard["builder"])
                return is_gone and bool(heard["south"]) and narrow == {"flow", "crm_find"}

            await until(all_heard)
            for tenant in ("north", "south"):
                await drafted(it, "workflows", "last", "x", who=tenant)
            await asyncio.gather(
                *(each for who, each in zip(heard, readers, strict=True) if who in ("builder", "south"))
            )
        for each in readers:
            each.cancel()
        await asyncio.wait(readers)
    await near.close()
    await far.close()
    told = {who: {(each["kind"], each["name"]) for each in news} for who, news in heard.items()}
    assert told["builder"] == {("tool", "crm_find"), ("workflow", "flow"), ("workflow", "last")}
    (gone,) = (each for each in heard["builder"] if each["is_gone"])
    assert gone == {"kind": "workflow", "name": "flow", "revision": 1, "by": "ann", "is_gone": True}
    assert (told["south"], told["bob"]) == ({("agent", "spy"), ("workflow", "last")}, set())
