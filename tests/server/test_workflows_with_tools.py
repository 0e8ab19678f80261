"""Workflows that call what their tenant has published beside them, tools and agents, as they were when the run began,
in every process, and nothing of another tenant.
"""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from actum.compose.settings import Settings
from actum.compose.task_child import Setup, open_builder
from actum.core.clock import SystemClock
from actum.core.json import Json, JsonObject
from actum.core.run.record import Started
from actum.features.connections import CONNECTIONS, FEATURE, ModelConnection
from actum.storage.place import open_journal
from actum.tasks.attempt import attempt
from actum.transport.egress import EgressRules
from tests.chat_server import ChatServer
from tests.transport.wire_servers import wire_server

from .models.desk import until
from .test_applied import apply, done
from .test_published_agents import publish, scripted
from .test_published_doors import Town, price, town
from .test_published_tools import answering, called, timesing, weather
from .test_trying import drafted, over

FLOW = """\
actum: workflow/1
name: flow
inputs: {type: object, required: [city], properties: {city: {type: string}}}
nodes:
  look: {type: tool, tool: weather, with: {city: "${inputs.city}"}}
  sum: {type: tool, tool: times, with: {n: 21}}
edges: [look > sum]
outputs: {told: "${look.output}", came: "${sum.output.came}"}
"""
INPUTS: JsonObject = {"inputs": {"city": "Oslo"}}


async def began(it: Town, name: str = "flow", who: str = "north", **more: Json) -> str:
    answer = await it.ask("POST", f"/v1/workflows/{name}/run", {**INPUTS, **more}, who=who)
    assert answer.status_code == 202, answer.text
    return str(answer.json()["id"])


async def gave(it: Town, run: str) -> JsonObject:
    outputs = (await over(it, run))["outputs"]
    assert isinstance(outputs, dict)
    return outputs


async def problems(it: Town, text: str, who: str = "builder", name: str = "flow") -> list[str]:
    found = (await it.ask("POST", f"/v1/workflows/{name}/check", {"text": text}, who=who)).json()
    return [each["message"] for each in found["problems"]]


@pytest.mark.row("T10")
@pytest.mark.row("F2")
async def test_a_pasted_tool_is_a_node_that_is_checked_tried_published_and_run_at_every_door(tmp_path: Path) -> None:
    async with wire_server(answering) as wire:
        place = f"http://127.0.0.1:{wire.port}"
        async with town(tmp_path, egress=EgressRules(private=(place,))) as it:
            assert "look: there is no tool 'weather'" in await problems(it, FLOW)
            await publish(it, "tools", "weather", weather(place), "builder")
            await publish(it, "tools", "times", timesing(2))
            wrong = FLOW.replace('city: "$', 'town: "$').replace("21", "many")
            assert len(await problems(it, wrong)) == 3  # city is missing, town is none, n is no number
            checked = (await it.ask("POST", "/v1/workflows/flow/check", {"text": FLOW}, who="builder")).json()
            assert checked["problems"] == []
            assert [each["ports"] for each in checked["nodes"]] == [["out"], ["out"]]
            await drafted(it, "workflows", "flow", FLOW)
            tried = await it.ask("POST", "/v1/workflows/flow/try", INPUTS, who="builder")
            assert tried.status_code == 202, tried.text
            result = await over(it, tried.json()["id"])
            assert (result["outputs"], result["draft"]) == ({"told": "fine", "came": 42}, "workflow/flow"), result
            narrow = await it.ask("POST", "/v1/workflows/flow/try", INPUTS, who="narrow-builder")
            assert (narrow.status_code, "there is no tool" in narrow.text) == (422, True), narrow.text
            assert (await it.ask("POST", "/v1/workflows/flow/publish", {}, who="builder")).status_code == 200
            listed = (await it.ask("GET", "/v1/tools/flow", who="bob")).json()
            assert sorted(listed["effects"]) == ["execute", "read"]
            wanted: JsonObject = {"told": "fine", "came": 42}
            assert (await over(it, await began(it)))["outputs"] == wanted
            assert await called(it, "flow", {"city": "Oslo"}, "bob") == wanted
            asked = {"agent": "flow", "question": "Oslo"}
            run = (await it.ask("POST", "/v1/runs", asked, who="bob")).json()["id"]
            assert json.loads(str((await over(it, run))["text"])) == wanted
            async with it.mcp("bob") as client:
                assert (await client.call_tool("flow", {"city": "Oslo"})).structured_content == wanted
            gone = await it.ask("POST", "/v1/tools/weather/unpublish", who="builder")
            assert gone.json()["used_by"] == ["flow"]
            assert "look: there is no tool 'weather'" in await problems(it, FLOW)
            failed = await over(it, await began(it))
            assert (failed["status"], failed["outputs"]) == ("failed", None), failed


async def test_a_run_that_waits_has_the_tools_with_which_it_began_in_every_process_until_they_are_unpublished(
    tmp_path: Path,
) -> None:
    place = tmp_path / "runs.db"
    text = FLOW.replace("tool: weather, with: {city", "tool: price, with: {city")
    text = text.replace("type: tool, tool: price", "type: workflow, workflow: price")
    first = open_journal(place)
    async with town(tmp_path, first) as it:
        await publish(it, "workflows", "price", price())
        await publish(it, "tools", "times", timesing(2, approval=True))
        await publish(it, "workflows", "flow", text)
        queued = await it.ask("POST", "/v1/workflows/flow/run", {**INPUTS, "execute_async": True})
        task = queued.json()["task_id"]
        waiting = [await began(it) for _ in range(2)]
        for run in waiting:
            await asked_for(it, run)
    await first.close()
    second, third = open_journal(place), open_journal(place)
    async with town(tmp_path, second) as it, town(tmp_path, third) as other:
        await publish(other, "tools", "times", timesing(3, approval=True))
        (entry, *_) = await second.read(waiting[0])
        assert isinstance(entry.record, Started)
        assert entry.record.uses == {"price": 1, "tool/times": 1}
        await approve(it, waiting[0])
        assert (await over(it, waiting[0]))["outputs"] == {"told": {"said": "cheap in Oslo"}, "came": 42}
        later = await began(it)
        await approve(it, later)
        assert (await gave(it, later))["came"] == 63
        await carried_out(task, tmp_path, place)
        await approve(it, task)
        await carried_out(task, tmp_path, place)
        assert (await gave(it, task))["came"] == 42, "the task was accepted with the first version"
        gone = await other.ask("POST", "/v1/tools/times/unpublish")
        assert gone.json()["used_by"] == ["flow"]
        answer = await it.ask("POST", f"/v1/approvals/{await asked_for(it, waiting[1])}", {"verdict": "approve"})
        assert (answer.status_code, answer.json()["code"]) == (409, "unpublished"), answer.text
        stopped = await over(it, waiting[1])
        assert (stopped["status"], "was taken out of use" in json.dumps(stopped)) == ("failed", True), stopped
    await second.close()
    await third.close()


async def asked_for(it: Town, run: str) -> str:
    found: list[str] = []

    async def waits() -> bool:
        found[:] = [each["id"] for each in (await it.ask("GET", f"/v1/approvals?run={run}")).json()["items"]]
        return bool(found)

    await until(waits)
    return found[0]


async def approve(it: Town, run: str) -> None:
    answer = await it.ask("POST", f"/v1/approvals/{await asked_for(it, run)}", {"verdict": "approve"})
    assert answer.status_code == 200, answer.text


async def test_a_tenant_never_reaches_what_another_one_has_published_under_the_same_names(tmp_path: Path) -> None:
    text = FLOW.replace("look: {type: tool, tool: weather", "look: {type: workflow, workflow: price")
    helped = "actum: workflow/1\nname: helped\nnodes: {ask: {type: agent, agent: helper2, task: go}}\n"
    agent = "actum: agent/1\nname: helper2\ntools: [times]\n"
    async with town(tmp_path, model=scripted(tmp_path)) as it:
        await publish(it, "workflows", "price", price())
        await publish(it, "workflows", "price", price(word="dear"), "south")
        await publish(it, "tools", "times", timesing(2))
        await publish(it, "agents", "helper2", agent)
        for name, given, what in (("flow", text, "tool"), ("helped", helped, "agent")):
            refused = await it.publish(name, given, who="south")
            assert (refused.status_code, f"there is no {what}" in refused.text) == (422, True), refused.text
        await publish(it, "tools", "times", timesing(5), "south")
        for who in ("north", "south"):
            await publish(it, "workflows", "flow", text, who)
        for who, word, came in (("north", "cheap", 42), ("south", "dear", 105)):
            outputs = (await over(it, await began(it, who=who), who))["outputs"]
            assert outputs == {"told": {"said": f"{word} in Oslo"}, "came": came}
        assert (await it.ask("POST", "/v1/tools/times/unpublish", who="south")).json()["used_by"] == ["flow"]
        assert (await gave(it, await began(it)))["came"] == 42
        tried = await it.ask("POST", "/v1/workflows/helped/try", {}, who="south")  # the draft that was not published
        assert (tried.status_code, "there is no agent" in tried.text) == (422, True), tried.text


async def test_a_published_agent_is_a_node_and_nothing_leads_back_to_itself(tmp_path: Path) -> None:
    helped = (
        "actum: workflow/1\nname: helped\nnodes: {ask: {type: agent, agent: helper2, task: go}}\n"
        'outputs: {said: "${ask.text}"}\n'
    )
    agent = "actum: agent/1\nname: helper2\ntools: [times]\n"
    around = json.dumps({"name": "times", "description": "Times.", "workflow": "helped"})
    async with town(tmp_path, model=scripted(tmp_path)) as it:
        await publish(it, "tools", "times", timesing(2))
        await publish(it, "agents", "helper2", agent)
        await publish(it, "workflows", "helped", helped)
        run = await began(it, "helped", inputs={})
        assert (await over(it, run))["outputs"] == {"said": " times {'came': 42}"}
        (entry, *_) = await it.journal.read(run)
        assert isinstance(entry.record, Started)
        assert entry.record.uses == {"agent/helper2": 1, "tool/times": 1}
        assert (await it.ask("GET", "/v1/agents/helper2/diff?old=1", who="builder")).json()["used_by"] == ["helped"]
        for kind, name, text in (
            ("tools", "times", around),
            ("agents", "helper2", agent.replace("times", "helped")),
        ):
            refused = await it.publish(name, text, kind=kind)
            assert (refused.status_code, "nothing stands for itself" in refused.text) == (422, True), refused.text
        other = around.replace('"times"', '"again"')
        await publish(it, "tools", "again", other)
        back = helped.replace("type: agent, agent: helper2, task: go", "type: tool, tool: again, with: {}")
        refused = await it.publish("helped", back)
        assert (refused.status_code, "can not use itself: helped > again > helped" in refused.text) == (422, True)
        assert (await over(it, await began(it, "helped", inputs={})))["status"] == "done"


async def test_a_tool_of_a_published_server_is_a_node(tmp_path: Path) -> None:
    text = "actum: workflow/1\nname: flow\nnodes: {sum: {type: tool, tool: shop_add, with: {a: 20, b: 22}}}\n"
    text += 'outputs: {sum: "${sum.output}"}\n'
    for name in ("shop", "here"):
        (tmp_path / name).mkdir()
    async with (
        town(tmp_path / "shop", keyless=True) as shop,
        town(tmp_path / "here", egress=EgressRules(private=(shop.url,))) as it,
    ):
        served = json.dumps({"actum": "server/1", "name": "shop", "url": f"{shop.url}/mcp", "only": ["add"]})
        await publish(it, "servers", "shop", served, "builder")
        await publish(it, "workflows", "flow", text, "builder")
        run = await began(it, inputs={})
        assert (await over(it, run))["outputs"] == {"sum": 42}
        (entry, *_) = await it.journal.read(run)
        assert isinstance(entry.record, Started)
        assert entry.record.uses == {"server/shop": 1}
        gone = await it.ask("POST", "/v1/servers/shop/unpublish", who="builder")
        assert gone.json()["used_by"] == ["flow"]
        assert (await over(it, await began(it, inputs={})))["status"] == "failed"


async def test_a_node_asks_a_model_that_its_tenant_has_connected_in_every_process(tmp_path: Path) -> None:
    text = "actum: workflow/1\nname: flow\nnodes: {say: {type: model, model: mine, prompt: Hello?}}\n"
    text += 'outputs: {said: "${say.text}"}\n'
    place = tmp_path / "runs.db"
    with ChatServer(lambda body: "By ours.") as ours, ChatServer(lambda body: "By theirs.") as theirs:
        journal = open_journal(place)
        await journal.stores.migrate(FEATURE.name, FEATURE.all_migrations)
        async with town(tmp_path, journal) as it:
            assert await problems(it, text) == ["say: there is no model 'mine'"], "nobody has connected one"
            for tenant, server in (("north", ours), ("south", theirs)):
                await journal.stores.put(tenant, CONNECTIONS, connection(server.url))
                await publish(it, "workflows", "flow", text, tenant)
            assert await ran(it, "north") == {"said": "By ours."}
            assert await ran(it, "south") == {"said": "By theirs."}
            await journal.stores.put("north", CONNECTIONS, connection(ours.url, is_local=0))  # and not allowed any more
            assert "failed" in str(await over(it, await began(it, inputs={})))
            queued = await it.ask("POST", "/v1/workflows/flow/run", {"execute_async": True}, who="south")
            await carried_out(queued.json()["task_id"], tmp_path, place)
            assert (await over(it, queued.json()["task_id"], "south"))["outputs"] == {"said": "By theirs."}
            assert len(theirs.requests) == 2
        await journal.close()


def connection(url: str, is_local: int = 1) -> ModelConnection:
    return ModelConnection(name="mine", provider="", url=url, model="big", is_default=0, is_local=is_local)


async def ran(it: Town, who: str) -> Json:
    """What a run of the workflow gave."""
    return (await over(it, await began(it, who=who, inputs={}), who))["outputs"]


async def carried_out(task: str, folder: Path, place: Path) -> None:
    """Carry out a task, as another process does."""
    settings = Settings(tools=(str(folder / "tools.py"),), policy=str(folder / "policy.toml"), journal=str(place))
    setup = Setup(settings=settings, journal=str(place), folder=str(folder))
    async with open_builder(msgspec.json.encode(setup)) as (journal, builder):
        await attempt(journal, builder, task, clock=SystemClock(), worker="w1")


async def test_a_tool_and_its_workflow_are_published_together_unless_they_stand_for_each_other(tmp_path: Path) -> None:
    text = "actum: workflow/1\nname: flow\nnodes: {sum: {type: tool, tool: times, with: {n: 21}}}\n"
    text += 'outputs: {came: "${sum.output.came}"}\n'
    ring = json.dumps({"name": "times", "description": "Times.", "workflow": "flow"})
    async with town(tmp_path) as it:
        flow = text.replace("with: {n: 21}", "with: {}")
        refused = await apply(it, {"flow.workflow.yaml": flow, "times.tool.json": ring})
        assert (refused.status_code, "itself" in refused.text) == (422, True), refused.text
        files = {"flow.workflow.yaml": text, "times.tool.json": timesing(2)}
        assert done(await apply(it, files)) == ["added workflow/flow@1", "added tool/times@1"]
        assert await gave(it, await began(it, inputs={})) == {"came": 42}
        assert [each["done"] for each in (await apply(it, files)).json()["items"]] == ["same", "same"]


async def test_what_stands_below_one_another_goes_on_with_the_versions_with_which_it_began(tmp_path: Path) -> None:
    inner = "actum: workflow/1\nname: inner\nnodes: {sum: {type: tool, tool: times, with: {n: 21}}}\n"
    inner += 'outputs: {came: "${sum.output.came}"}\n'
    outer = "actum: workflow/1\nname: outer\nnodes: {in: {type: workflow, workflow: inner, with: {}}}\n"
    outer += 'outputs: {came: "${in.output.came}"}\n'
    around = "actum: workflow/1\nname: around\nnodes: {in: {type: tool, tool: stands, with: {}}}\n"
    around += 'outputs: {came: "${in.output.came}"}\n'
    place = tmp_path / "runs.db"
    journal = open_journal(place)
    names = ("outer", "around")
    async with town(tmp_path, journal) as it:
        await publish(it, "tools", "times", timesing(2, approval=True))
        await publish(it, "workflows", "inner", inner)
        await publish(it, "tools", "stands", json.dumps({"name": "stands", "description": "S.", "workflow": "inner"}))
        await publish(it, "workflows", "outer", outer)
        await publish(it, "workflows", "around", around)
        runs = [await began(it, name, inputs={}) for name in names]
        asked = {"agent": "outer", "question": "{}"}
        runs.append((await it.ask("POST", "/v1/runs", asked, who="bob")).json()["id"])
        await drafted(it, "workflows", "outer", outer + "# changed\n", 1, "north")
        runs.append((await it.ask("POST", "/v1/workflows/outer/try", {})).json()["id"])
        for run in runs:
            await asked_for(it, run)
        await publish(it, "tools", "times", timesing(3, approval=True))
    await journal.close()
    again = open_journal(place)
    async with town(tmp_path, again) as it:
        await publish(it, "workflows", "inner", inner.replace("21", "1"))
        for run in runs:
            await approve(it, run)
            found = await over(it, run)
            assert "42" in str(found["outputs"] or found["text"]), found
        (entry, *_) = await again.read(runs[1])
        assert isinstance(entry.record, Started)
        assert entry.record.uses == {"inner": 1, "tool/stands": 1, "tool/times": 1}
    await again.close()
