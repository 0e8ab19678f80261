"""Agents and prompts that are published while a server runs: with the tools, the prompt and the rights that a run began
with.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from textwrap import dedent

import pytest

from actum.core.run.record import Started
from actum.journal.memory import MemoryJournal
from actum.storage.place import open_journal

from .models.desk import until
from .test_published_doors import Town, price, said, town
from .test_published_tools import timesing

HELPER = """\
actum: agent/1
name: helper2
description: Helps.
instructions: {prompt: desk}
tools: [add, times]
"""


def scripted(folder: Path) -> str:
    """A model that calls one of its tools, then tells its instructions and the result."""
    (folder / "model_of_tests.py").write_text(
        dedent(
            """
            from actum.core.call import ToolCall
            from actum.testing import ScriptedModel


            CALLS = {
                "times": {"n": 21},
                "search_rules": {"query": "hotel"},
                "ask_helper": {"task": "go"},
                "price": {"city": "Oslo"},
            }


            def answer(request):
                results = [each for each in request.messages if type(each).__name__ == "ToolMessage"]
                if not results:
                    names = {tool.name for tool in request.tools}
                    name = next((each for each in CALLS if each in names), "times")
                    return [ToolCall("c", name, CALLS[name])]
                shown = ",".join(sorted(tool.name for tool in request.tools))
                told = results[-1].result
                value = told.structured if isinstance(told.structured, dict) else told.text
                came = value if told.error is None else told.error.message
                system = next((each.text for each in request.messages if type(each).__name__ == "SystemMessage"), "")
                return f"{system} {shown} {came}"


            MODEL = ScriptedModel(answer)
            """
        ),
        "utf-8",
    )
    return f"{folder / 'model_of_tests.py'}:MODEL"


async def publish(it: Town, kind: str, name: str, text: str, who: str = "north") -> None:
    answer = await it.publish(name, text, who=who, kind=kind)
    assert answer.status_code == 200, answer.text


async def test_an_agent_is_at_every_door_with_its_prompt_and_its_tools_for_its_tenant_alone(tmp_path: Path) -> None:
    async with town(tmp_path, model=scripted(tmp_path)) as it:
        refused = await it.publish("helper2", HELPER, who="builder", kind="agents")
        assert (refused.status_code, "no tool 'times' here that you may use" in refused.text) == (422, True)
        await publish(it, "tools", "times", timesing(2))
        refused = await it.publish("helper2", HELPER, who="builder", kind="agents")
        assert (refused.status_code, "no published prompt 'desk'" in refused.text) == (422, True)
        await publish(it, "prompts", "desk", "Be kind.", "builder")
        await publish(it, "agents", "helper2", HELPER, "builder")
        assert await said(it, "bob", "helper2", "Hello?") == "Be kind. add,times {'came': 42}"
        listed = (await it.ask("GET", "/v1/agents", who="bob")).json()["items"]
        assert [(each["version"], each["description"]) for each in listed if each["name"] == "helper2"] == [
            (1, "Helps.")
        ]
        task = await it.a2a("north", "helper2", "Hello?")
        assert task.artifacts[0].parts[0].text == "Be kind. add,times {'came': 42}"
        for who in ("south", "narrow"):
            began = await it.ask("POST", "/v1/runs", {"agent": "helper2", "question": "Hello?"}, who=who)
            assert began.status_code == 404, who
            assert (await it.ask("GET", "/v1/agents/helper2", who=who)).status_code == 404
        await publish(it, "prompts", "desk", "Be brief.", "builder")
        assert (await said(it, "bob", "helper2", "Hello?")).startswith("Be brief.")
        changes = (await it.ask("GET", "/v1/prompts/desk/diff?old=1&new=2", who="builder")).json()["changes"]
        assert [(each["old"], each["new"]) for each in changes] == [("kind", "brief")]
        await publish(it, "agents", "helper2", HELPER.replace("desk", "desk@1"), "builder")
        assert (await said(it, "bob", "helper2", "Hello?")).startswith("Be kind.")
        gone = await it.ask("POST", "/v1/agents/helper2/unpublish", who="builder")
        assert gone.json()["number"] == 2
        began = await it.ask("POST", "/v1/runs", {"agent": "helper2", "question": "Hello?"})
        assert began.status_code == 404


async def test_a_published_agent_has_a_collection_for_its_readers_alone_and_cites(tmp_path: Path) -> None:
    text = 'actum: agent/1\nname: helper2\ntools: [add, "knowledge:rules"]\ncite: mark\n'
    async with town(tmp_path, model=scripted(tmp_path)) as it:
        refused = await it.publish("helper2", text.replace("rules", "../x"), kind="agents")
        assert (refused.status_code, "no name for a collection" in refused.text) == (422, True)
        refused = await it.publish("helper2", text.replace("mark", "loud"), kind="agents")
        assert (refused.status_code, "loud" in refused.text) == (422, True), refused.text
        await publish(it, "agents", "helper2", text)
        assert " add,quote There is no tool" in await said(it, "north", "helper2", "Hello?"), "not made yet"
        await it.ask("POST", "/v1/knowledge", {"name": "rules"})
        assert " add,quote,search_rules {'results': []} [?]" in await said(it, "north", "helper2", "Hello?")
        assert " add,quote There is no tool" in await said(it, "bob", "helper2", "Hello?")
        await it.ask("PATCH", "/v1/knowledge/rules", {"readers": ["user:bob"]})
        assert " add,quote,search_rules {'results': []} [?]" in await said(it, "bob", "helper2", "Hello?")


async def test_a_waiting_run_of_an_agent_goes_on_with_all_that_it_began_with_by_another_server(tmp_path: Path) -> None:
    place, model = tmp_path / "runs.db", scripted(tmp_path)
    first = open_journal(place)
    async with town(tmp_path, first, model=model) as it:
        await publish(it, "tools", "times", timesing(2, approval=True))
        await publish(it, "prompts", "desk", "Be kind.")
        await publish(it, "agents", "helper2", HELPER)
        began = await it.ask("POST", "/v1/runs", {"agent": "helper2", "question": "Hello?"})
        run = began.json()["id"]

        async def waits() -> bool:
            return bool((await it.ask("GET", f"/v1/approvals?run={run}")).json()["items"])

        await until(waits)
    await first.close()
    second = open_journal(place)
    async with town(tmp_path, second, model=model) as it:
        await publish(it, "tools", "times", timesing(3, approval=True))
        await publish(it, "prompts", "desk", "Be brief.")
        await publish(it, "agents", "helper2", HELPER.replace("Helps.", "Helps more.").replace("add, ", ""))
        (ask,) = [each["id"] for each in (await it.ask("GET", "/v1/approvals")).json()["items"]]
        assert (await it.ask("POST", f"/v1/approvals/{ask}", {"verdict": "approve"})).status_code == 200
        text = (await it.ask("GET", f"/v1/runs/{run}/events")).text
        assert "Be kind. add,times {'came': 42}" in text
        (entry, *_) = await second.read(run)
        assert isinstance(entry.record, Started)
        assert entry.record.uses == {"agent/helper2": 1, "prompt/desk": 1, "tool/times": 1}
    await second.close()


async def test_an_agent_has_published_workflows_and_agents_as_tools_and_none_stands_for_itself(tmp_path: Path) -> None:
    journal = open_journal(tmp_path / "runs.db")
    async with town(tmp_path, journal, model=scripted(tmp_path)) as it:
        await publish(it, "tools", "times", timesing(2))
        await publish(it, "prompts", "desk", "Be kind.")
        await publish(it, "agents", "helper2", HELPER)
        await publish(it, "tools", "ask_helper", "name: ask_helper\nagent: helper2")
        answer = await it.ask("POST", "/v1/tools/ask_helper/call", {"arguments": {"task": "go"}}, who="bob")
        assert answer.json()["result"] == "Be kind. add,times {'came': 42}"
        (entry, *_) = await journal.read(answer.json()["run"])
        assert isinstance(entry.record, Started)
        assert entry.record.uses == {"tool/ask_helper": 1, "agent/helper2": 1, "prompt/desk": 1, "tool/times": 1}
        await publish(it, "agents", "boss", "name: boss\ninstructions: Lead.\ntools: [ask_helper]")
        assert await said(it, "bob", "boss", "Hello?") == "Lead. ask_helper Be kind. add,times {'came': 42}"
        assert (await it.publish("price", price())).status_code == 200
        assert (await it.publish("price", price(word="dear"))).status_code == 200
        for named, word in (("price", "dear"), ("price@1", "cheap")):
            await publish(it, "agents", "trader", f"name: trader\ninstructions: Trade.\ntools: [{named}]")
            assert await said(it, "bob", "trader", "Hello?") == f"Trade. price {{'said': '{word} in Oslo'}}"
        await publish(it, "tools", "ask_helper", "name: ask_helper\nagent: helper2@1")
        circle = HELPER.replace("[add, times]", "[ask_helper]")
        refused = await it.publish("helper2", circle, kind="agents")
        assert (refused.status_code, "nothing stands for itself" in refused.text) == (422, True)
        refused = await it.publish("ask_helper", "name: ask_helper\nagent: boss", kind="tools")
        assert (refused.status_code, "tool ask_helper > agent boss > tool ask_helper" in refused.text) == (422, True)
        for missing in ("nobody", "helper2@9"):
            refused = await it.publish("other", f"name: other\nagent: {missing}", kind="tools")
            assert (refused.status_code, refused.json()["code"]) == (422, "definition")
    await journal.close()


SPENDS = """\
actum: workflow/1
name: price
description: Tells a price.
inputs: {type: object, required: [city], properties: {city: {type: string}}}
nodes: {pay: {type: tool, tool: pay, with: {euros: 5}}}
outputs: {said: "${pay.output}"}
"""


async def test_an_agent_does_not_reach_a_tool_that_the_policy_forbids_by_way_of_a_workflow(tmp_path: Path) -> None:
    journal = MemoryJournal()
    for denied, came in (("nothing", "paid 5"), ("pay", "not permitted")):
        policy = tmp_path / f"{denied}.toml"
        policy.write_text(f'default = "allow"\n[[rules]]\nthen = "deny"\ntools = "{denied}"\n', "utf-8")
        async with town(tmp_path, journal, model=scripted(tmp_path), policy=str(policy)) as it:
            if denied == "nothing":
                await publish(it, "workflows", "price", SPENDS)
                await publish(it, "agents", "trader", "name: trader\ninstructions: Trade.\ntools: [price]")
            told = await said(it, "bob", "trader", "Hello?")
            assert (came in told, "paid" in told) == (True, denied == "nothing"), told


async def test_a_share_of_the_users_gets_another_version_and_the_runs_of_both_are_compared(tmp_path: Path) -> None:
    place, model = tmp_path / "runs.db", scripted(tmp_path)
    first, second = open_journal(place), open_journal(place)
    async with town(tmp_path, first, model=model) as it, town(tmp_path, second, model=model) as other:
        await publish(it, "tools", "times", timesing(2))
        await publish(it, "prompts", "desk", "Be kind.")
        for words in ("Helps.", "Helps more."):
            text = HELPER.replace("Helps.", words).replace("{prompt: desk}", words)
            await publish(it, "agents", "helper2", text)

        async def version(at: Town, who: str, **more: object) -> int:
            asked = {"agent": "helper2", "question": "Hello?", **more}
            run = (await at.ask("POST", "/v1/runs", asked, who=who)).json()["id"]
            assert "ended" in (await at.ask("GET", f"/v1/runs/{run}/events", who=who)).text
            (entry, *_) = await first.read(run)
            assert isinstance(entry.record, Started)
            return entry.record.uses["agent/helper2"]

        async def try_out(share: int, number: int = 1, who: str = "builder") -> tuple[int, object]:
            body = {"version": number, "share": share}
            answer = await it.ask("POST", "/v1/agents/helper2/canary", body, who=who)
            return answer.status_code, answer.json().get("code") or answer.json()

        assert [
            await try_out(5, 2),
            await try_out(5, 3),
            await try_out(5, who="south"),
            await try_out(5, who="bob"),
        ] == [
            *((409, "in_use"), (404, "not_found"), (404, "not_found"), (403, "scope")),
        ]
        assert await try_out(100) == (200, {"name": "helper2", "number": 2, "version": 1, "share": 100})
        assert [await version(at, who) for at in (it, other) for who in ("north", "bob")] == [1, 1, 1, 1]
        assert (await said(other, "bob", "helper2", "Hello?")).startswith("Helps. "), "at the door of models, too"
        task = await other.a2a("north", "helper2", "Hello?")
        assert task.artifacts[0].parts[0].text.startswith("Helps. ")
        assert await version(other, "bob", version=2) == 2, "whoever names a version gets it"
        missing = await it.ask("POST", "/v1/runs", {"agent": "helper2", "question": "x", "version": 9})
        assert (missing.status_code, missing.json()["code"]) == (404, "unknown_agent")
        listed = (await it.ask("GET", "/v1/agents/helper2/versions", who="builder")).json()["items"]
        assert [(each["number"], each["share"]) for each in listed] == [(2, 0), (1, 100)]
        await try_out(50)
        drawn = {who: await version(it, who) for who in ("north", "bob")}
        assert {who: await version(other, who) for who in drawn} == drawn, "always the same for a user"
        assert (await it.ask("POST", "/v1/agents/helper2/rollback", {"number": 2}, who="builder")).status_code == 200
        assert [await version(other, who) for who in drawn] == [2, 2]

        rated = [each["id"] for each in (await it.ask("GET", "/v1/runs?agent=helper2&version=1")).json()["items"]][:2]
        for run, values in zip(rated, ((1,), (1, 0)), strict=True):  # of one author the latest counts
            for value in values:
                given = await it.ask("POST", f"/v1/runs/{run}/scores", {"name": "thumb", "value": value})
                assert given.status_code == 200, given.text
        found = await it.ask("GET", "/v1/agents/helper2/compare?old=1&new=2", who="builder")
        old, new = found.json()["items"]
        assert (old["thumbs_up"], old["thumbs_down"], new["thumbs_up"]) == (
            *({"value": 1.0, "runs": [run]} for run in rated),
            {"value": 0.0, "runs": []},
        )
        assert (old["version"], new["version"], old["runs"]["value"] + new["runs"]["value"]) == (1, 2, 13)
        assert (old["ended"]["done"]["value"], new["failed"]) == (old["runs"]["value"], {"value": 0.0, "runs": []})
        (run, *_) = new["runs"]["runs"]
        assert (await it.ask("GET", f"/v1/runs/{run}")).json()["agent"] == "helper2"
        runs = (await it.ask("GET", "/v1/runs?agent=helper2&version=2")).json()["items"]
        assert {each["id"] for each in runs} == set(new["runs"]["runs"])
        assert (await it.ask("GET", "/v1/agents/helper2/compare?old=1&new=9", who="builder")).status_code == 404
        assert (await it.ask("GET", "/v1/agents/helper2/compare?old=1&new=2", who="south")).status_code == 404
        (entry, *_) = [
            each["arguments"] for each in (await it.ask("GET", "/v1/audit?tool=agents.canary")).json()["items"]
        ]
        assert (entry["name"], entry["number"], entry["share"]) == ("helper2", 1, 50)
    await first.close()
    await second.close()


async def test_a_damaged_agent_hides_no_other_and_whoever_asks_it_is_told_what_to_do(tmp_path: Path) -> None:
    journal = open_journal(str(tmp_path / "j.db"))
    async with town(tmp_path, journal) as it:
        for name in ("good", "bad"):
            await publish(it, "agents", name, f"name: {name}\ndescription: Helps.\n")
        with closing(sqlite3.connect(tmp_path / "j.db")) as file, file:
            file.execute("UPDATE publications SET text = CAST('x' AS BLOB) WHERE name = 'bad'")
        listed = (await it.ask("GET", "/v1/agents")).text
        assert '"good"' in listed
        assert '"bad"' in listed
        assert (await it.ask("GET", "/v1/agents/good")).status_code == 200
        for told in (
            await it.ask("GET", "/v1/agents/bad"),
            await it.ask("POST", "/v1/runs", {"agent": "bad", "question": "Hi."}),
        ):
            assert (told.status_code, told.json()["code"]) == (409, "damaged"), told.text
            assert "publish it anew from its file" in told.text
        assert (await it.ask("POST", "/v1/agents/bad/publish")).status_code == 200, "its draft is whole"
        assert (await it.ask("GET", "/v1/agents/bad")).json()["version"] == 2
    await journal.close()


async def test_a_workflow_is_tried_on_a_share_of_the_users_too_and_not_as_a_tool(tmp_path: Path) -> None:
    async with town(tmp_path) as it:
        for word in ("cheap", "dear"):
            assert (await it.publish("price", price(word=word))).status_code == 200
        tried = await it.ask("POST", "/v1/workflows/price/canary", {"version": 1, "share": 100})
        assert (tried.status_code, tried.json()["version"]) == (200, 1)
        assert await said(it, "bob", "price", "Oslo") == "cheap in Oslo"
        for given, word in (({}, "cheap"), ({"version": 2}, "dear")):
            body = {"inputs": {"city": "Rome"}, **given}
            run = (await it.ask("POST", "/v1/workflows/price/run", body)).json()["id"]
            assert f"{word} in Rome" in (await it.ask("GET", f"/v1/runs/{run}/events")).text
        called = await it.ask("POST", "/v1/tools/price/call", {"arguments": {"city": "Oslo"}})
        assert called.json()["result"] == {"said": "dear in Oslo"}
        old, new = (await it.ask("GET", "/v1/workflows/price/compare?old=1&new=2&days=1")).json()["items"]
        assert [(each["runs"]["value"], each["ended"]["done"]["value"]) for each in (old, new)] == [(2, 2), (2, 2)]


@pytest.mark.parametrize(
    ("who", "name", "text", "status", "code"),
    [
        ("bob", "a1", "name: a1", 403, "scope"),
        ("builder", "helper", "name: helper", 409, "name_taken"),
        ("builder", "desk", "name: desk", 409, "name_taken"),
        ("builder", "a1", "name: a2", 422, "definition"),
        ("builder", "a1", "name: a1\npython: shop:agent", 422, "definition"),
        ("builder", "a1", "name: a1\nmodel: nobody", 422, "definition"),
        ("builder", "a1", "name: a1\ntools: [nothing]", 422, "definition"),
        ("builder", "a1", "name: a1\ntools: [add, add]", 422, "definition"),
        ("builder", "a1", "name: a1\ninstructions: 'a\u200bb'", 422, "definition"),
        ("builder", "a1", "name: a1\ninstructions: {prompt: nobody}", 422, "definition"),
        ("builder", "a1", "name: &x a1\ndescription: *x", 422, "definition"),
        ("narrow-builder", "desk1", "name: desk1", 404, "not_found"),
    ],
)
async def test_what_is_no_agent_is_not_published(
    tmp_path: Path, who: str, name: str, text: str, status: int, code: str
) -> None:
    async with town(tmp_path) as it:
        answer = await it.publish(name, text, who=who, kind="agents")
        assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text


async def test_nobody_gives_an_agent_a_tool_that_the_publisher_may_not_use(tmp_path: Path) -> None:
    (tmp_path / "strict.toml").write_text(
        'default = "allow"\n[[rules]]\nthen = "deny"\ntools = ["pay"]\nusers = ["bea"]\n', "utf-8"
    )
    async with town(tmp_path, policy_file="strict.toml") as it:
        refused = await it.publish("a1", "name: a1\ntools: [pay]", who="builder", kind="agents")
        assert (refused.status_code, "no tool 'pay' here that you may use" in refused.text) == (422, True)
        await publish(it, "agents", "a1", "name: a1\ntools: [pay]", "north")


async def test_an_agent_lowers_the_limits_of_the_settings_and_never_raises_them(tmp_path: Path) -> None:
    async with town(tmp_path, model=scripted(tmp_path)) as it:
        await publish(it, "tools", "times", timesing(2))
        await publish(it, "prompts", "desk", "Be kind.")
        for limits, status in (("{steps: 1}", "stopped"), ("{steps: 1000000, calls: 3}", "done")):
            await publish(it, "agents", "helper2", f"{HELPER}limits: {limits}\n")
            run = (await it.ask("POST", "/v1/runs", {"agent": "helper2", "question": "Hello?"})).json()["id"]

            async def is_over(run: str = run) -> bool:
                return (await it.ask("GET", f"/v1/runs/{run}")).json()["ended"] is not None

            await until(is_over)
            assert (await it.ask("GET", f"/v1/runs/{run}")).json()["status"] == status
        wrong = {"text": f"{HELPER}limits: {{steps: 0}}\n"}
        checked = await it.ask("POST", "/v1/agents/helper2/check", wrong, who="north")
        assert [each["place"] for each in checked.json()["problems"]] == ["limits.steps"]


async def test_a_builder_finds_agents_by_words_and_sees_drafts_part_by_part(tmp_path: Path) -> None:
    async with town(tmp_path, model=scripted(tmp_path)) as it:
        for name in ("bard", "crier", "zoo"):
            await it.ask("POST", f"/v1/agents/{name}/draft", {"text": f"name: {name}"}, who="builder")
        names: list[str] = []
        cursor: str | None = ""
        while cursor is not None:
            part = (await it.ask("GET", f"/v1/agents?drafts=true&limit=1&cursor={cursor}", who="builder")).json()
            names, cursor = [*names, *(each["name"] for each in part["items"])], part["next"]
        assert names == sorted({*names, "bard", "crier", "zoo"})
        found = (await it.ask("GET", "/v1/agents?drafts=true&query=RIE+c", who="builder")).json()
        assert ([each["name"] for each in found["items"]], found["next"]) == (["crier"], None)
        assert (await it.ask("GET", "/v1/agents?query=crier", who="builder")).json()["items"] == []
        assert (await it.ask("GET", "/v1/agents?drafts=true&query=crier", who="south")).json()["items"] == []
        refused = await it.ask("GET", "/v1/agents?drafts=true", who="bob")
        assert (refused.status_code, refused.json()["code"]) == (403, "scope")


async def test_the_text_of_an_agent_says_how_its_tools_are_called_and_the_settings_say_what_it_leaves_out(
    tmp_path: Path,
) -> None:
    async with town(tmp_path, model=scripted(tmp_path), tool_choice="none") as it:
        await publish(it, "tools", "times", timesing(2))
        for name, more in (
            ("plain", ""),
            ("planner", "tool_choice: auto\nplan: true\nreferences: true\ncite: mark\ntruncation: auto\n"),
            ("chosen", "tool_choice: [times]\n"),
        ):
            await publish(it, "agents", name, f"name: {name}\ntools: [times, add]\n{more}", "builder")
        assert "'came': 42" not in await said(it, "bob", "plain", "Hello?")
        planned = await said(it, "bob", "planner", "Hello?")
        assert planned.startswith("Plan") or "update_plan" in planned, planned
        assert "'came': 42" in await said(it, "bob", "chosen", "Hello?")
        for more, words in (
            ("tool_choice: pay", "'pay' is none of the tools of this agent"),
            ("tool_choice: []", "give 'auto', 'none', 'required'"),
            ("plan: second", "Invalid enum value"),
        ):
            text = f"name: planner\ntools: [times, add]\n{more}\n"
            checked = (await it.ask("POST", "/v1/agents/planner/check", {"text": text})).json()["problems"]
            assert words in str(checked), (more, checked)


TEAM = """\
actum: agent/1
name: boss
instructions: Lead.
tools: [times@1]
agents: [clerk, clerk@1]
model_settings: {temperature: 0.5, max_tokens: 900}
"""
CLERK = "name: clerk\ninstructions: {word}\ntools: [times]\n"
MODEL_OF_TEAM = """
from actum.core.call import ToolCall
from actum.testing import ScriptedModel


def answer(request):
    results = [each for each in request.messages if type(each).__name__ == "ToolMessage"]
    names = [tool.name for tool in request.tools]
    if not results:
        given = {"times": {"n": 21}, "clerk": {"task": "go"}}
        return [ToolCall(name, name, given[name]) for name in names]
    told = [each.result.error.message if each.result.error else each.result.structured or each.result.text
            for each in results]
    system = next((each.text for each in request.messages if type(each).__name__ == "SystemMessage"), "")
    return f"{system} {request.temperature} {request.max_tokens} {','.join(map(str, told))}"


MODEL = ScriptedModel(answer)
"""


async def test_an_agent_hands_tasks_to_agents_each_with_the_versions_with_which_the_run_began(tmp_path: Path) -> None:
    place = tmp_path / "runs.db"
    (tmp_path / "model_of_team.py").write_text(MODEL_OF_TEAM, "utf-8")
    model = f"{tmp_path / 'model_of_team.py'}:MODEL"
    team = TEAM.replace(", clerk@1", "")
    first = open_journal(place)
    async with town(tmp_path, first, model=model) as it:
        for factor in (2, 3):
            await publish(it, "tools", "times", timesing(factor, approval=True))
        refused = await it.publish("boss", team, kind="agents")
        assert (refused.status_code, "no published agent 'clerk'" in refused.text) == (422, True), refused.text
        await publish(it, "agents", "clerk", CLERK.format(word="One."))
        refused = await it.publish("boss", TEAM, kind="agents")
        assert (refused.status_code, "have the same name" in refused.text) == (422, True), refused.text
        for field in ("headers: {a: b}", "extras: {model: x}", "temperature: -1"):
            refused = await it.publish("boss", team.replace("temperature: 0.5", field), kind="agents")
            assert refused.status_code == 422, field
        await publish(it, "agents", "boss", team)
        refused = await it.publish("clerk", CLERK.format(word="x") + "agents: [boss]\n", kind="agents")
        assert "agent clerk > agent boss > agent clerk" in refused.text
        removed = await it.ask("POST", "/v1/agents/clerk/unpublish", who="builder")
        assert removed.json()["used_by"] == ["boss"]
        await publish(it, "agents", "clerk", CLERK.format(word="Two."))
        run = (await it.ask("POST", "/v1/runs", {"agent": "boss", "question": "Go"})).json()["id"]

        async def both_wait() -> bool:
            return len((await it.ask("GET", "/v1/approvals")).json()["items"]) == 2

        await until(both_wait)
        (entry, *_) = await first.read(run)
        assert isinstance(entry.record, Started)
        assert entry.record.uses == {"agent/boss": 1, "tool/times@1": 1, "agent/clerk": 2, "tool/times": 2}
    await first.close()
    second = open_journal(place)
    async with town(tmp_path, second, model=model) as it:
        await publish(it, "tools", "times", timesing(5, approval=True))
        await publish(it, "agents", "clerk", CLERK.format(word="Three."))
        for each in (await it.ask("GET", "/v1/approvals")).json()["items"]:
            approved = await it.ask("POST", f"/v1/approvals/{each['id']}", {"verdict": "approve"})
            assert approved.status_code == 200, approved.text
        text = (await it.ask("GET", f"/v1/runs/{run}/events")).text
        assert "Lead. 0.5 900 {'came': 42},Two. None None {'came': 63}" in text
        ours = CLERK.format(word="Four.") + "users: [ann]\n"
        await publish(it, "agents", "clerk", ours)
        await publish(it, "tools", "ask_clerk", "name: ask_clerk\nagent: clerk")
        asked = await it.ask("POST", "/v1/tools/ask_clerk/call", {"arguments": {"task": "go"}}, who="bob")
        assert asked.status_code == 403, asked.text
        assert "The agent 'ask_clerk' is not for this user." in asked.text
        refused = await it.publish("boss", team, who="builder", kind="agents")
        assert "no agent 'clerk' here that you may use" in refused.text
        for path in ("/v1/agents", "/v1/models"):
            told = {who: '"clerk"' in (await it.ask("GET", path, who=who)).text for who in ("north", "bob")}
            assert told == {"north": True, "bob": False}, path
        cards = [(await it.ask("GET", "/a2a/clerk/.well-known/agent-card.json", who=who)) for who in ("north", "bob")]
        assert [card.status_code for card in cards] == [200, 404]
    await second.close()
