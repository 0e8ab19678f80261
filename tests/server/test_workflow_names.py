"""What a node of a workflow names: a model of the settings or of its tenant, a version of a tool, and an agent that its
tenant has published, with its version. What is not there is refused before anything runs, at its place.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from actum.compose.settings import ModelTable, UpstreamTable
from actum.core.json import JsonObject
from actum.core.run.record import Started
from actum.features.connections import CONNECTIONS, FEATURE, ModelConnection
from actum.journal.memory import MemoryJournal
from actum.storage.place import open_journal
from tests.chat_server import ChatServer, Raw

from .test_published_agents import publish, scripted
from .test_published_doors import Town, town
from .test_published_tools import timesing
from .test_trying import drafted, over
from .test_workflows_with_tools import approve, asked_for, began, problems


def flow(**nodes: JsonObject) -> str:
    """A workflow whose only node gives `output`, or `text`."""
    (name,) = nodes
    gives = "output" if nodes[name]["type"] == "tool" else "text"
    return json.dumps(
        {"actum": "workflow/1", "name": "flow", "nodes": nodes, "outputs": {"came": f"${{{name}.{gives}}}"}}
    )


def asking(model: str) -> str:
    return flow(say={"type": "model", "model": model, "prompt": "Hello?"})


def calling(tool: str, **given: object) -> str:
    return flow(sum={"type": "tool", "tool": tool, "with": given or {"n": 21}})  # type: ignore[dict-item]


def handing(agent: str) -> str:
    return flow(ask={"type": "agent", "agent": agent, "task": "go"})


async def came(it: Town, who: str = "north") -> object:
    """What a run of the published workflow gives."""
    result = await over(it, await began(it, who=who, inputs={}), who)
    assert result["status"] == "done", result
    outputs = result["outputs"]
    assert isinstance(outputs, dict)
    return outputs["came"]


async def refused(it: Town, text: str, who: str = "builder") -> JsonObject:
    """The one problem that a check finds."""
    found = (await it.ask("POST", "/v1/workflows/flow/check", {"text": text}, who=who)).json()
    (problem,) = found["problems"]
    answer = await it.publish("flow", text, who=who)
    assert answer.status_code == 422, answer.text
    assert isinstance(problem, dict)
    return problem


@pytest.mark.row("F2")
async def test_a_node_asks_a_model_of_the_settings_by_its_name_and_the_next_upstream_where_one_is_dead(
    tmp_path: Path,
) -> None:
    busy = Raw((b'{"error": {"message": "busy"}}',), 503)
    with ChatServer(lambda body: f"By {body['model']}.") as up, ChatServer(lambda body: busy) as down:
        models = {
            "fast": ModelTable(upstreams=(f"{up.url}#big",)),
            "safe": ModelTable(upstreams=(UpstreamTable(model=f"{down.url}#dead"), f"{up.url}#spare")),
            "picky": ModelTable(upstreams=(f"{down.url}#dead", f"{up.url}#spare"), fallback=("unreachable",)),
            "any-*": ModelTable(upstreams=(f"{up.url}#*",)),
            "front": ModelTable(agent="helper"),
        }
        async with town(tmp_path, models=models) as it:
            problem = await refused(it, asking("slow"))
            assert (problem["message"], problem["place"]) == ("say: there is no model 'slow'", "nodes.say.model")
            assert "fast" in str(problem["hint"])
            assert up.url not in str(problem)
            assert "the agent 'helper'" in str((await refused(it, asking("front")))["message"])
            for name, wanted in (("fast", "By big."), ("safe", "By spare."), ("any-other", "By any-other.")):
                assert await problems(it, asking(name)) == []
                await publish(it, "workflows", "flow", asking(name), "builder")
                assert await came(it) == wanted, name
            assert (len(down.requests), len(up.requests)) == (1, 3), "who is busy is asked once"
            await publish(it, "workflows", "flow", asking("picky"), "builder")
            assert (await over(it, await began(it, inputs={})))["status"] == "failed"
            address = asking(f"{up.url}#big")
            told = await it.publish("flow", address, who="builder")
            assert (told.status_code, told.json()["code"]) == (403, "scope"), "with build alone nobody types an address"
            await publish(it, "workflows", "flow", address)
            assert await came(it) == "By big."
            await publish(it, "agents", "helper2", "actum: agent/1\nname: helper2\nmodel: safe\ntools: []\n", "builder")
            await publish(it, "workflows", "flow", handing("helper2"), "builder")
            assert await came(it) == "By spare.", "the models of the settings are those of published agents, too"


async def test_a_model_that_its_tenant_has_connected_is_known_to_the_check_and_no_other_tenants(tmp_path: Path) -> None:
    journal = MemoryJournal()
    await journal.stores.migrate(FEATURE.name, FEATURE.all_migrations)
    with ChatServer(lambda body: "By ours.") as ours:
        row = ModelConnection(name="mine", provider="", url=ours.url, model="big", is_default=0, is_local=1)
        async with town(tmp_path, journal, models={"fast": ModelTable(upstreams=(f"{ours.url}#big",))}) as it:
            assert (await refused(it, asking("mine")))["message"] == "say: there is no model 'mine'"
            await journal.stores.put("north", CONNECTIONS, row)
            await publish(it, "workflows", "flow", asking("mine"), "builder")
            assert await came(it) == "By ours."
            assert "mine" in str((await refused(it, asking("other")))["hint"])
            theirs = await refused(it, asking("mine"), "south")
            assert (theirs["message"], "mine" in str(theirs["hint"])) == ("say: there is no model 'mine'", False)


@pytest.mark.row("T10")
@pytest.mark.row("F5")
async def test_a_tool_node_names_a_version_and_a_run_keeps_it(tmp_path: Path) -> None:
    place = tmp_path / "runs.db"
    first = open_journal(place)
    async with town(tmp_path, first) as it:
        await publish(it, "tools", "times", timesing(2, approval=True))
        await publish(
            it, "tools", "times", timesing(3, parameters={"m": "integer", "n": {"type": "integer", "default": 1}})
        )
        gone = await refused(it, calling("times@9"))
        assert (gone["message"], gone["place"]) == ("sum: there is no published tool 'times@9'", "nodes.sum.tool")
        assert "names no publication" in str((await refused(it, calling("times@two")))["message"])
        own = await refused(it, calling("add@1", a=1, b=2), "north")
        assert own["message"] == "sum: the tools of the settings have no versions: write tool: add"
        assert "there is no tool" in str((await refused(it, calling("times@1"), "narrow-builder"))["message"])
        assert "there is no tool" in str((await refused(it, calling("times@1"), "south"))["message"])
        wrong = await refused(it, calling("times@1", m=1, n=2))
        assert wrong["message"] == "sum: times takes no 'm'", "the arguments are those of the version"
        two = json.loads(calling("times@1"))
        two["nodes"]["more"] = {"type": "tool", "tool": "times", "with": {"m": 1}}
        assert "two versions of times" in str((await refused(it, json.dumps(two)))["message"])
        draft = (await it.ask("GET", "/v1/workflows/flow/draft", who="builder")).json()
        await drafted(it, "workflows", "flow", calling("times@1"), draft["revision"])
        tried = (await it.ask("POST", "/v1/workflows/flow/try", {}, who="builder")).json()["id"]
        await approve(it, tried)
        assert (await over(it, tried))["outputs"] == {"came": {"came": 42}}
        await publish(it, "workflows", "flow", calling("times@1"), "builder")
        waiting = [await began(it, inputs={}) for _ in range(2)]
        for run in waiting:
            await asked_for(it, run)
        (entry, *_) = await first.read(waiting[0])
        assert isinstance(entry.record, Started)
        assert entry.record.uses == {"tool/times@1": 1}
    await first.close()
    second = open_journal(place)
    async with town(tmp_path, second) as it:
        await publish(it, "tools", "times", timesing(5))
        await approve(it, waiting[0])
        assert (await over(it, waiting[0]))["outputs"] == {"came": {"came": 42}}
        assert (await it.ask("GET", "/v1/tools/times/diff?old=1", who="builder")).json()["used_by"] == []
        assert (await it.ask("POST", "/v1/tools/times/unpublish")).json()["used_by"] == ["flow"]
        answer = await it.ask("POST", f"/v1/approvals/{await asked_for(it, waiting[1])}", {"verdict": "approve"})
        assert (answer.status_code, answer.json()["code"]) == (409, "unpublished"), answer.text
        assert (await over(it, await began(it, inputs={})))["status"] == "failed"
    await second.close()


@pytest.mark.row("F5")
async def test_an_agent_node_names_a_published_agent_and_its_version(tmp_path: Path) -> None:
    agent = "actum: agent/1\nname: helper2\ninstructions: {}\ntools: [times]\n"
    async with town(tmp_path, model=scripted(tmp_path)) as it:
        await publish(it, "tools", "times", timesing(2))
        missing = await refused(it, handing("helper2"), "north")
        assert (missing["message"], missing["place"]) == ("ask: there is no agent 'helper2'", "nodes.ask.agent")
        assert "published agent" in str(missing["hint"]), "a list of tools would name no agent"
        assert "times" not in str(missing["hint"])
        for word in ("First.", "Second."):
            await publish(it, "agents", "helper2", agent.format(word))
        gone = await refused(it, handing("helper2@3"), "north")
        assert gone["message"] == "ask: there is no published agent 'helper2@3'"
        for written, wanted in (("helper2@1", "First."), ("helper2", "Second.")):
            await publish(it, "workflows", "flow", handing(written))
            run = await began(it, inputs={})
            assert str((await over(it, run))["outputs"]["came"]).startswith(wanted)  # type: ignore[index,call-overload]
            (entry, *_) = await it.journal.read(run)
            assert isinstance(entry.record, Started)
            number = int(wanted == "Second.") + 1
            assert entry.record.uses == {f"agent/{written}": number, "tool/times": 1}


async def test_nothing_leads_back_to_itself_by_way_of_a_version(tmp_path: Path) -> None:
    async with town(tmp_path, model=scripted(tmp_path)) as it:
        await publish(it, "tools", "times", timesing(2))
        await publish(it, "workflows", "flow", calling("times"))
        await publish(it, "tools", "around", json.dumps({"name": "around", "description": "x", "workflow": "flow"}))
        back = await refused(it, calling("around@1"), "north")
        assert "flow > around@1 > flow" in str(back["message"])
        assert back["place"] == "nodes.sum.tool"
