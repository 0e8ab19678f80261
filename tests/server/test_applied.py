"""Definitions that are published together, or none: `POST /v1/definitions`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import httpx
import pytest

from actum.compose.published.tools import DeclaredTools
from actum.compose.settings import Settings
from actum.compose.workflows import Workflows
from actum.core.identity import Identity
from actum.core.interfaces import Journal
from actum.features.operation import ApiReply, ApiRequest
from actum.journal.memory import MemoryJournal
from actum.runs.runner import Runner
from actum.server.api.api import Api, GivenAgents
from actum.server.api.applying import OPERATIONS, ApplyBody, DefinitionsApplied, GivenDefinition
from actum.server.published import PublishedOffer
from actum.testing import FakeClock
from actum.transport.guard import Guard
from tests.patience import HANGS_S

from .test_published_agents import scripted
from .test_published_doors import Town, price, said, town
from .test_published_tools import timesing

AGENT = "actum: agent/1\nname: helper2\ninstructions: {prompt: desk}\ntools: [add, times, quote]\n"
ALL: dict[str, str] = {
    # An agent first, and a workflow after the one that uses it: the order of the files tells nothing.
    "helper2.agent.yaml": AGENT,
    "ask.workflow.yaml": price("ask").replace(
        "nodes: {}", "nodes: {p: {type: workflow, workflow: price, with: {city: Oslo}}}"
    ),
    "price.workflow.yaml": price(),
    "quote.tool.json": '{"name": "quote", "workflow": "ask"}',
    "times.tool.json": timesing(2),
    "desk.prompt.md": "Be kind.",
}


async def apply(it: Town, files: Mapping[str, str], who: str = "north", **more: object) -> httpx.Response:
    given = [{"file": file, "text": text} for file, text in files.items()]
    return await it.ask("POST", "/v1/definitions", {"definitions": given, **more}, who=who)


def done(answer: httpx.Response) -> Sequence[str]:
    assert answer.status_code == 200, answer.text
    return [f"{each['done']} {each['kind']}/{each['name']}@{each['number']}" for each in answer.json()["items"]]


async def made(it: Town, tenant: str = "north") -> list[int]:
    kinds = ("tool", "agent", "prompt", "workflow")
    return [await it.journal.definitions.publications_made(kind, tenant=tenant) for kind in kinds]


async def test_what_refers_to_each_other_is_published_together_or_not_at_all_and_the_second_time_changes_nothing(
    tmp_path: Path,
) -> None:
    async with town(tmp_path, model=scripted(tmp_path)) as it:
        wrong = ALL | {"desk.prompt.md": "", "times.tool.json": timesing(2).replace("integer", "number?")}
        refused = await apply(it, wrong)
        told = {each["path"] for each in refused.json()["problems"]}
        assert (refused.status_code, told) == (422, {"desk.prompt.md", "times.tool.json"}), refused.text
        missing = {name: text for name, text in ALL.items() if name != "price.workflow.yaml"}
        refused = await apply(it, missing)
        told = {each["path"] for each in refused.json()["problems"]}
        assert (refused.status_code, "ask.workflow.yaml" in told) == (422, True), refused.text
        tried = done(await apply(it, ALL, dry_run=True))
        assert all(line.startswith("added ") and line.endswith("@0") for line in tried)
        assert await made(it) == [0, 0, 0, 0]
        assert done(await apply(it, ALL)) == [
            *("added agent/helper2@1", "added workflow/ask@1", "added workflow/price@1"),
            *("added tool/quote@1", "added tool/times@1", "added prompt/desk@1"),
        ]
        assert await said(it, "bob", "helper2", "Hello?") == "Be kind. add,quote,times {'came': 42}"
        before = await made(it)
        assert {line.partition(" ")[0] for line in done(await apply(it, ALL))} == {"same"}
        assert (await made(it), await made(it, "south")) == (before, [0, 0, 0, 0])
        changed = ALL | {"desk.prompt.md": "Be brief."}
        assert [each for each in done(await apply(it, changed)) if "same" not in each] == ["changed prompt/desk@2"]
        (entry, *_) = (await it.ask("GET", "/v1/audit")).json()["items"]
        assert (entry["tool"], entry["arguments"]["source"]) == ("prompts.publish", "desk.prompt.md")

        # Taken out of use is what is not given; what is given still needs it, or does not.
        refused = await apply(it, {"helper2.agent.yaml": AGENT}, prune=True)
        assert refused.status_code == 422
        alone = {"desk.prompt.md": "Be brief."}
        assert done(await apply(it, alone, prune=True)) == [
            *("same prompt/desk@2", "removed workflow/ask@1", "removed workflow/price@1"),
            *("removed tool/quote@1", "removed tool/times@1", "removed agent/helper2@1"),
        ]
        assert done(await apply(it, alone, prune=True)) == ["same prompt/desk@2"]


async def test_the_hosts_of_many_tools_are_looked_up_side_by_side_and_who_publishes_hears_which_are_not_known(
    tmp_path: Path,
) -> None:
    asked: list[str] = []
    all_wait = asyncio.Event()

    async def resolve(host: str, port: int) -> list[str]:
        asked.append(host)
        if len(asked) == 100:
            all_wait.set()
        await all_wait.wait()  # for ever, if one is looked up after the other
        if host == "h7.example.com":
            raise OSError
        return ["1.1.1.1"]

    def offer(journal: Journal) -> PublishedOffer:
        workflows = Workflows(Settings(), {}, tmp_path, journal=journal)
        declared = DeclaredTools(Settings(), {}, tmp_path, journal=journal, workflows=workflows)
        declared.guard = Guard(resolve=resolve)
        return PublishedOffer(workflows, declared.of, None, offer)

    journal = MemoryJournal()
    api = Api(Runner(journal=journal), GivenAgents({}), FakeClock(), published=offer(journal))
    given = [
        GivenDefinition(file=f"t{each}.tool.json", text=json.dumps({"http": {"url": f"https://h{each}.example.com"}}))
        for each in range(100)
    ]
    ann = Identity(principal="ann", scopes=("build",))
    request = ApiRequest("applyDefinitions", ann, {}, None, ApplyBody(definitions=tuple(given)), by_operator=True)
    async with asyncio.timeout(HANGS_S):
        answer = await OPERATIONS[0].handler(api, request)
    assert len(asked) == len(await journal.definitions.in_use("tool")) == len(given)
    assert isinstance(answer, ApiReply)
    assert isinstance(answer.body, DefinitionsApplied)
    told = {each.name: each.remarks for each in answer.body.items if each.remarks}
    expected = "the name of the host 'h7.example.com' is not known now: calls of the tool fail until it is"
    assert told == {"t7": (expected,)}


async def test_what_is_wrong_and_what_is_good_to_know_is_told_in_the_language_of_the_page(tmp_path: Path) -> None:
    zh = {"accept-language": "zh-CN"}
    async with town(tmp_path) as it, httpx.AsyncClient(base_url=it.url, timeout=HANGS_S, verify=False) as http:
        http.headers.update(it.headers("builder") | zh)
        away = json.dumps({"name": "away", "description": "Away.", "http": {"url": "https://nowhere.invalid"}})
        wrong = json.dumps(
            {"actum": "workflow/1", "name": "wrong", "nodes": {"a": {"type": "tool", "tool": "nothing"}}}
        )
        files = [{"file": "away.tool.json", "text": away}, {"file": "wrong.workflow.json", "text": wrong}]
        answer = (await http.post("/v1/definitions", json={"definitions": files})).json()
        (problem,) = answer["problems"]
        assert "没有工具 'nothing'" in problem["expected"], problem
        answer = (await http.post("/v1/definitions", json={"definitions": [{**files[0], "file": "x"}]})).json()
        assert "没有说明种类" in answer["problems"][0]["expected"], answer
        await http.post("/v1/workflows/wrong/draft", json={"text": wrong, "revision": 0})
        answer = (await http.post("/v1/workflows/wrong/publish", json={})).json()
        assert [each["expected"] for each in answer["problems"]] == ["a：没有工具 'nothing'"]
        assert answer["problems"][0]["path"].startswith("line 1"), "programs read where"
        answer = (await http.post("/v1/workflows/wrong/draft", json={"text": 5})).json()
        assert answer["problems"][0]["expected"].isascii() is False, answer
        told = [
            each["remarks"]
            for each in (await http.post("/v1/definitions", json={"definitions": files[:1]})).json()["items"]
        ]
        assert "现在查不到主机名 'nowhere.invalid'" in told[0][0]
        again = (await http.post("/v1/tools/away/rollback", json={"number": 1})).json()
        assert again["remarks"] == told[0]
        checked = (await http.post("/v1/tools/away/check", json={"text": away})).json()
        assert checked["remarks"] == told[0]


async def test_a_text_without_a_name_takes_the_name_of_its_file_in_every_form(tmp_path: Path) -> None:
    files = {
        "json1.tool.json": '{"workflow": "yaml1"}',
        "yaml1.workflow.yaml": price().replace("name: price\n", ""),
        "folder/toml1.agent.toml": '# ours\nactum = "agent/1"\ninstructions = "Be kind."\n',
    }
    async with town(tmp_path) as it:
        added = ["tool/json1", "workflow/yaml1", "agent/toml1"]
        assert done(await apply(it, files)) == [f"added {name}@1" for name in added]
        assert {line.partition(" ")[0] for line in done(await apply(it, files))} == {"same"}
        wrong = await apply(it, {"a1.agent.yaml": "tools: [nothing]\nmodle: x"})
        assert (wrong.status_code, "there is no field 'modle'" in wrong.text) == (422, True), wrong.text
        other = await apply(it, {"a b.agent.yaml": "tools: []"})
        assert other.status_code == 422


@pytest.mark.parametrize(
    ("who", "files", "status", "code"),
    [
        ("bob", {"desk.prompt.md": "x"}, 403, "scope"),
        ("builder", {"desk.prompt.md": "x"}, 200, ""),
        ("builder", {"price.workflow.yaml": price()}, 200, ""),
        ("builder", {"desk.prompt.md": "x", "times.tool.json": timesing(2)}, 403, "scope"),
        ("narrow-builder", {"a1.agent.yaml": "name: a1"}, 422, "definition"),
        ("builder", {"helper.agent.yaml": "name: helper"}, 422, "definition"),
        ("builder", {"notes.md": "x"}, 422, "definition"),
        ("builder", {"a/desk.prompt.md": "x", "b/desk.prompt.md": "y"}, 422, "definition"),
        ("builder", {".prompt.md": "x"}, 422, "definition"),
    ],
)
async def test_who_may_not_publish_one_of_them_publishes_none(
    tmp_path: Path, who: str, files: Mapping[str, str], status: int, code: str
) -> None:
    async with town(tmp_path) as it:
        answer = await apply(it, files, who)
        assert answer.status_code == status, answer.text
        if code:
            assert (answer.json()["code"], await made(it)) == (code, [0, 0, 0, 0])


async def test_a_draft_that_nobody_has_published_is_not_lost_and_of_two_who_apply_one_comes_first(
    tmp_path: Path,
) -> None:
    async with town(tmp_path) as it:
        body = {"text": "Be patient.", "revision": 0}
        assert (await it.ask("POST", "/v1/prompts/desk/draft", body)).status_code == 200
        stale = await apply(it, {"other.prompt.md": "x", "desk.prompt.md": "Be kind."})
        assert (stale.status_code, stale.json()["code"], stale.json()["current"]) == (409, "stale", "Be patient.")
        assert await made(it) == [0, 0, 0, 0]
        both = [{f"{name}.prompt.md": word for name in ("one", "two")} for word in ("x", "y")]
        answers = await asyncio.gather(*(apply(it, files) for files in both))
        assert 200 in {each.status_code for each in answers}
        assert {each.status_code for each in answers} <= {200, 409}
        texts = {(await it.ask("GET", f"/v1/prompts/{name}")).json()["text"] for name in ("one", "two")}
        assert len(texts) == 1, "both are of one of the two"
