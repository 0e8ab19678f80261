"""`/v1/workflows`: who may run what, what a run gives, and how a workflow that waits is answered over HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

import httpx
import pytest

from actum.core.errors import Busy
from actum.core.event import RunResult
from actum.core.identity import Identity
from actum.core.interfaces import Journal
from actum.core.run.node_records import NodeBegan
from actum.core.run.record import Started
from actum.journal.memory import MemoryJournal
from actum.runs.given_tools import Toolish
from actum.runs.runner import Runner
from actum.server.api.api import GivenAgents
from actum.server.api.routes import ApiRoutes
from actum.server.workflows import GivenWorkflows
from actum.workflow import Workflow
from actum.workflow.definition.graph import Definition
from actum.workflow.load import read_definition
from actum.workflow.published import PublishedWorkflows
from tests.patience import HANGS_S
from tests.web import serving

from .application import CALLERS, Bank, NoDrop, WebApplication, app_of
from .test_runs import stream

PAYING = b"""\
actum: workflow/1
name: paying
description: Pays somebody what two numbers come to.
inputs: {type: object, required: [a, b], properties: {a: {type: integer}, b: {type: integer}}}
nodes:
  sum: {type: tool, tool: add, with: {a: "${inputs.a}", b: "${inputs.b}"}}
  pay: {type: tool, tool: pay, with: {to: Ada, amount: "${sum.output}"}}
edges: [sum > pay]
outputs: {paid: "${pay.output}"}
"""
ADDING = b"""\
actum: workflow/1
name: adding
inputs: {type: object, required: [a], properties: {a: {type: integer}}}
nodes: {sum: {type: tool, tool: add, with: {a: "${inputs.a}", b: 1}}}
edges: []
outputs: {sum: "${sum.output}"}
"""
DESK = b"""\
actum: workflow/1
name: desk_form
nodes:
  who: {type: human, message: Who are you?, form: {type: object, required: [name], properties: {name: {type: string}}}}
edges: []
outputs: {name: "${who.output.name}"}
"""


@asynccontextmanager
async def desk(journal: Journal | None = None, bank: Bank | None = None) -> AsyncIterator[WebApplication]:
    """A server with three workflows."""
    bank, journal = bank or Bank(), journal or MemoryJournal()
    made = {
        name: Workflow(read_definition(text), bank.tools, name=name, policy=NoDrop(), journal=journal)  # type: ignore[arg-type]
        for name, text in {"paying": PAYING, "adding": ADDING, "desk_form": DESK}.items()
    }
    runner = Runner(bank.tools, name="api", policy=NoDrop(), journal=journal)  # type: ignore[arg-type]

    def make(definition: Definition, used: Sequence[Toolish], version: int, uses: Mapping[str, int]) -> Workflow:
        tools = [*bank.tools, *used]
        return Workflow(definition, tools, policy=NoDrop(), journal=journal, version=version, uses=uses)  # type: ignore[arg-type]

    def published(tenant: str) -> PublishedWorkflows:
        return PublishedWorkflows(journal, make, tenant=tenant)

    door = ApiRoutes(
        runner, GivenAgents({}), drain_s=0.1, workflows=GivenWorkflows(made, published, await runner.list_tools())
    )
    async with serving(app_of(door)) as url, httpx.AsyncClient(base_url=url, timeout=HANGS_S) as client:
        yield WebApplication(bank, journal, door, client, url)


async def test_a_workflow_is_listed_shown_and_checked() -> None:
    async with desk() as it:
        listed = (await it.ask("GET", "/v1/workflows")).json()
        assert [each["name"] for each in listed["items"]] == ["adding", "desk_form", "paying"]
        first = (await it.ask("GET", "/v1/workflows?limit=2")).json()
        rest = (await it.ask("GET", f"/v1/workflows?limit=2&cursor={first['next']}")).json()
        assert [[each["name"] for each in page["items"]] for page in (first, rest)] == [
            ["adding", "desk_form"],
            ["paying"],
        ]
        assert (await it.ask("GET", "/v1/workflows?cursor=wrong")).status_code == 404
        shown = (await it.ask("GET", "/v1/workflows/paying")).json()
        assert (shown["inputs"]["required"], shown["outputs"], shown["definition"]) == (["a", "b"], ["paid"], None)
        assert shown["nodes"] == [{"name": "sum", "type": "tool"}, {"name": "pay", "type": "tool"}]
        assert '"sum"' in (await it.ask("GET", "/v1/workflows/paying", who="root")).json()["definition"]
        checked = (await it.ask("POST", "/v1/workflows/paying/check", {})).json()
        assert (checked["problems"], [each["node"] for each in checked["nodes"]]) == ([], ["sum", "pay"])
        wrong = PAYING.decode().replace("tool: add", "tool: ad").replace("sum > pay", "sum > pey")
        told = (await it.ask("POST", "/v1/workflows/paying/check", {"text": wrong})).json()["problems"]
        assert told
        assert all(each["line"] > 1 for each in told), told
        for text in ("", "[", "a: &a [*a]", "\u0000", "nodes: 5"):
            answer = await it.ask("POST", "/v1/workflows/paying/check", {"text": text})
            assert (answer.status_code, bool(answer.json()["problems"])) == (200, True), text


async def test_a_run_is_answered_followed_from_any_event_and_gives_its_outputs() -> None:
    async with desk() as it:
        begun = await it.ask("POST", "/v1/workflows/adding/run", {"inputs": {"a": 2}}, Idempotency_Key="k1")
        run_id = begun.json()["id"]
        assert (begun.status_code, begun.headers["location"]) == (202, f"/v1/runs/{run_id}")
        told = await it.until(run_id, "done")
        assert (told["kind"], told["agent"], told["outputs"]) == ("workflow", "adding", {"sum": 3})
        again = await it.ask("POST", "/v1/workflows/adding/run", {"inputs": {"a": 2}}, Idempotency_Key="k1")
        assert again.json() == begun.json()
        other = await it.ask("POST", "/v1/workflows/adding/run", {"inputs": {"a": 3}}, Idempotency_Key="k1")
        assert other.status_code == 409
        assert it.bank.calls == ["add"]
        whole = [each async for each in stream(it, run_id)]
        assert [each["id"] for each in whole] == [str(number) for number in range(len(whole))]
        kinds = [json.loads(each["data"])["type"] for each in whole]
        assert (kinds[0], kinds[-1]) == ("started", "ended")
        nodes = [json.loads(each["data"]) for each in whole if "node" in json.loads(each["data"])]
        assert [(each["type"], each["node"]) for each in nodes] == [("node_began", "sum"), ("node_left", "sum")]
        for cut in range(len(whole)):
            rest = [(each["id"], each["data"]) async for each in stream(it, run_id, after=cut)]
            assert rest == [(each["id"], each["data"]) for each in whole[cut + 1 :]], cut
        entries = await it.journal.read(run_id)
        started = entries[0].record
        assert isinstance(started, Started)
        assert started.given_by == "client"
        trusted = (await it.ask("POST", "/v1/workflows/adding/run", {"inputs": {"a": 2}}, who="user")).json()["id"]
        started = (await it.journal.read(trusted))[0].record
        assert isinstance(started, Started)
        assert started.given_by == "user"


class LetGo(MemoryJournal):
    """A journal whose run is let go of in the moment in which an answer was held for whoever drives it."""

    def __init__(self) -> None:
        super().__init__()
        self.is_held, self.free = asyncio.Event(), asyncio.Event()

    async def post(self, run_id: str, answer: bytes) -> None:
        await super().post(run_id, answer)
        self.is_held.set()
        await self.free.wait()


@pytest.mark.parametrize("held", [False, True])
async def test_an_answer_that_comes_after_the_last_look_of_whoever_carries_the_run_out_is_not_lost(held: bool) -> None:
    journal = LetGo()
    async with desk(journal) as it:
        run_id = (await it.ask("POST", "/v1/workflows/desk_form/run", {})).json()["id"]
        await it.until(run_id, "paused")
        (item,) = (await it.ask("GET", "/v1/approvals", who="root")).json()["items"]
        work, ends = it.door.api.work, asyncio.Event()
        while True:
            if work.get(run_id) is None:
                break
            await asyncio.sleep(0)

        async def ending(_: object) -> RunResult:
            if held:
                async with journal.claim(run_id):
                    await journal.is_held.wait()
                journal.free.set()
            await ends.wait()
            raise Busy("it only ends")

        job = work.start(run_id, "", ending)  # it has looked for answers for the last time
        await asyncio.sleep(0)
        said = {"verdict": "answer", "arguments": {"name": "Ada"}}
        answered = await it.ask("POST", f"/v1/approvals/{item['id']}", said, who="root")
        assert (answered.status_code, answered.json()["goes_on"]) == (200, True)
        ends.set()
        assert (await it.until(run_id, "done"))["outputs"] == {"name": "Ada"}
        assert isinstance(job.task.exception(), Busy)


async def test_bad_inputs_are_told_with_their_places_and_begin_nothing() -> None:
    async with desk() as it:
        for inputs, places in (
            ({}, {"a", "b"}),
            ({"a": "x", "b": 1}, {"a"}),
            ({"a": 1, "b": [1]}, {"b"}),
        ):
            for more in ({}, {"execute_async": True}):
                answer = await it.ask("POST", "/v1/workflows/paying/run", {"inputs": inputs, **more})
                assert (answer.status_code, answer.json()["code"]) == (422, "invalid_arguments"), inputs
                found = {str(each["path"]).strip("$.") for each in answer.json()["problems"]}
                assert found == places, (inputs, answer.json())
        assert (await it.ask("POST", "/v1/workflows/paying/run", {"inputs": []})).status_code == 422
        assert (await it.ask("POST", "/v1/workflows/paying/run", {"input": {}})).status_code == 422
        assert (
            await it.ask("POST", "/v1/workflows/paying/run", {"inputs": {"a": 1, "b": 1}, "priority": 5})
        ).status_code == 409
        assert (await it.ask("GET", "/v1/runs")).json()["items"] == []


async def test_an_unknown_workflow_is_404_with_the_names_that_come_near() -> None:
    async with desk() as it:
        for method, rest in (("GET", ""), ("POST", "/run"), ("POST", "/check")):
            body: object = None if method == "GET" else {}
            for name, told in (
                ("payin", "Did you mean paying"),
                ("zzz", "GET /v1/workflows"),
                ("%00", ""),
            ):
                answer = await it.ask(method, f"/v1/workflows/{name}{rest}", body)
                assert answer.status_code in (404, 405), (name, rest, answer.text)
                assert told in answer.text, (name, answer.text)
        assert (await it.ask("POST", "/v1/workflows/paying/run", {"version": 3})).status_code == 404


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys of ann that may use some names only."""
    own = ("tools", "runs")
    assert isinstance(CALLERS, dict)
    monkeypatch.setitem(CALLERS, "adder", Identity(principal="ann", key_id="k", scopes=own, agents=("add*",)))
    monkeypatch.setitem(CALLERS, "toolless", Identity(principal="ann", key_id="k", scopes=("tools",)))


@pytest.mark.usefixtures("keys")
async def test_a_key_runs_and_resumes_the_workflows_that_it_names_and_no_others() -> None:
    async with desk() as it:
        listed = (await it.ask("GET", "/v1/workflows", who="adder")).json()["items"]
        assert [each["name"] for each in listed] == ["adding"]
        inputs = {"inputs": {"a": 1, "b": 1}}
        refused = await it.ask("POST", "/v1/workflows/paying/run", inputs, who="adder")
        assert refused.status_code == 404
        assert "paying?" not in refused.text, "a name that the key may not use is no suggestion"
        assert (await it.ask("POST", "/v1/workflows/adding/run", inputs, who="toolless")).status_code == 403
        run_id = (await it.ask("POST", "/v1/workflows/paying/run", inputs)).json()["id"]
        await it.until(run_id, "paused")
        for path, body in (("resume", {}), ("fork", {"at": 1})):
            assert (await it.ask("POST", f"/v1/runs/{run_id}/{path}", body, who="adder")).status_code == 403, path
        assert it.bank.calls == ["add"]


async def test_a_run_is_there_for_its_user_and_tenant_alone() -> None:
    async with desk() as it:
        begun = await it.ask("POST", "/v1/workflows/paying/run", {"inputs": {"a": 1, "b": 1}}, Idempotency_Key="same")
        run_id = begun.json()["id"]
        told = await it.until(run_id, "paused")
        approvals = told["approvals"]
        assert isinstance(approvals, list)
        ask = approvals[0]["id"]
        for who in ("north", "bob"):
            for method, path, body in (
                ("GET", f"/v1/runs/{run_id}", None),
                ("GET", f"/v1/runs/{run_id}/events", None),
                ("POST", f"/v1/runs/{run_id}/cancel", {}),
                ("POST", f"/v1/runs/{run_id}/resume", {}),
                ("POST", f"/v1/runs/{run_id}/fork", {"at": 0}),
                ("POST", f"/v1/approvals/{ask}", {"verdict": "approve"}),
            ):
                answer = await it.ask(method, path, body, who=who)
                assert answer.status_code == 404, (who, path, answer.text)
        same = await it.ask(
            "POST", "/v1/workflows/paying/run", {"inputs": {"a": 1, "b": 1}}, who="north", Idempotency_Key="same"
        )
        assert same.json()["id"] != run_id
        assert it.bank.calls.count("pay") == 0


async def test_a_paused_workflow_is_answered_over_http_and_two_answers_at_once_pay_once() -> None:
    async with desk() as it:
        run_id = (await it.ask("POST", "/v1/workflows/paying/run", {"inputs": {"a": 2, "b": 3}})).json()["id"]
        told = await it.until(run_id, "paused")
        approvals = told["approvals"]
        assert isinstance(approvals, list)
        ask = approvals[0]["id"]
        assert (await it.ask("POST", f"/v1/approvals/{ask}", {"verdict": "approve"})).status_code == 403
        answers = await asyncio.gather(
            *(it.ask("POST", f"/v1/approvals/{ask}", {"verdict": "approve"}, who="eve") for _ in range(8))
        )
        codes = sorted(each.status_code for each in answers)
        assert codes[0] == 200, [each.text for each in answers]
        assert set(codes[1:]) <= {200, 404, 409}, codes
        told = await it.until(run_id, "done")
        assert told["outputs"] == {"paid": "paid 5 to Ada"}
        assert it.bank.calls.count("pay") == 1


async def test_a_form_is_filled_in_by_the_user_of_the_run() -> None:
    async with desk() as it:
        run_id = (await it.ask("POST", "/v1/workflows/desk_form/run", {})).json()["id"]
        told = await it.until(run_id, "paused")
        approvals = told["approvals"]
        assert isinstance(approvals, list)
        ask = approvals[0]["id"]
        wrong = await it.ask("POST", f"/v1/approvals/{ask}", {"verdict": "answer", "arguments": {"name": 5}})
        assert wrong.status_code in (409, 422), wrong.text
        right = await it.ask("POST", f"/v1/approvals/{ask}", {"verdict": "answer", "arguments": {"name": "Ann"}})
        assert right.status_code == 200, right.text
        assert (await it.until(run_id, "done"))["outputs"] == {"name": "Ann"}


async def test_a_run_is_cancelled_and_forked() -> None:
    async with desk() as it:
        run_id = (await it.ask("POST", "/v1/workflows/paying/run", {"inputs": {"a": 2, "b": 3}})).json()["id"]
        await it.until(run_id, "paused")
        entries = await it.journal.read(run_id)
        at = (
            next(each.number for each in entries if isinstance(each.record, NodeBegan) and each.record.path == "pay")
            - 1
        )
        asked = {"at": at}
        assert (await it.ask("POST", f"/v1/runs/{run_id}/fork", asked | {"question": "What?"})).status_code == 422
        forked = await it.ask("POST", f"/v1/runs/{run_id}/fork", asked, Idempotency_Key="f")
        assert forked.status_code == 202, forked.text
        assert (await it.ask("POST", f"/v1/runs/{run_id}/fork", asked, Idempotency_Key="f")).json() == forked.json()
        branch = await it.until(forked.json()["id"], "paused")
        assert (branch["forked"], branch["kind"]) == (run_id, "workflow")
        assert it.bank.calls == ["add"], "what is on record is not done again"
        assert (await it.ask("POST", f"/v1/runs/{run_id}/cancel", {})).json()["status"] == "stopped"
        assert (await it.until(str(branch["id"]), "paused"))["status"] == "paused"


async def test_a_workflow_is_drafted_published_run_changed_and_rolled_back_in_one_tenant_alone() -> None:
    async with desk() as it:
        text = ADDING.decode().replace("name: adding", "name: fresh")
        place = "/v1/workflows/fresh"
        assert (await it.ask("POST", f"{place}/draft", {"text": text})).status_code == 403, "ann is no admin"
        saved = await it.ask("POST", f"{place}/draft", {"text": text}, who="root")
        assert (saved.status_code, saved.json()["revision"]) == (200, 1)
        assert (await it.ask("POST", f"{place}/run", {"inputs": {"a": 1}})).status_code == 404, "a draft is not run"
        other = text.replace("b: 1", "b: 2")
        stale = await it.ask("POST", f"{place}/draft", {"text": other}, who="root")
        assert (stale.status_code, stale.json()["code"], stale.json()["current"]) == (409, "stale", text)
        assert (await it.ask("POST", f"{place}/publish", {"revision": 9}, who="root")).status_code == 409
        assert (await it.ask("POST", f"{place}/publish", {"revision": 1}, who="root")).json()["number"] == 1
        first = (await it.ask("POST", f"{place}/run", {"inputs": {"a": 1}})).json()["id"]
        assert (await it.until(first, "done"))["outputs"] == {"sum": 2}
        await it.ask("POST", f"{place}/draft", {"text": other, "revision": 1}, who="root")
        changes = (await it.ask("GET", f"{place}/diff", who="root")).json()["changes"]
        assert [(each["kind"], each["old"], each["new"]) for each in changes] == [("changed", 1, 2)]
        assert (await it.ask("POST", f"{place}/publish", {}, who="root")).json()["number"] == 2
        for version, came in ((0, 3), (1, 2), (2, 3)):
            body = {"inputs": {"a": 1}, "version": version}
            run_id = (await it.ask("POST", f"{place}/run", body)).json()["id"]
            assert (await it.until(run_id, "done"))["outputs"] == {"sum": came}, version
        assert (await it.ask("POST", f"{place}/rollback", {"number": 1}, who="root")).json()["again"] == 1
        assert [each["number"] for each in (await it.ask("GET", f"{place}/versions")).json()["items"]] == [3, 2, 1]
        assert (await it.ask("POST", f"{place}/rollback", {"number": 7}, who="root")).status_code == 404
        broken = {"text": text.replace("tool: add", "tool: none"), "revision": 2}
        await it.ask("POST", f"{place}/draft", broken, who="root")
        refused = await it.ask("POST", f"{place}/publish", {}, who="root")
        assert (refused.status_code, refused.json()["problems"][0]["path"][:5]) == (422, "line ")
        for rest in ("", "/versions", "/draft", "/diff"):
            assert (await it.ask("GET", place + rest, who="north")).status_code == 404, rest
        assert "fresh" not in (await it.ask("GET", "/v1/workflows", who="north")).text
        assert "fresh" in (await it.ask("GET", "/v1/workflows", who="bob")).text
        for taken in ("adding", "add"):
            answer = await it.ask("POST", f"/v1/workflows/{taken}/draft", {"text": text}, who="root")
            assert (answer.status_code, answer.json()["code"]) == (409, "name_taken"), taken
        for odd in ("%20", "a%00b", "x" * 300, "..%2f"):
            assert (await it.ask("GET", f"/v1/workflows/{odd}/versions")).status_code in (404, 409), odd
