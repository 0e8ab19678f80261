"""Drafts are tried before they are published: what they do is done, judged and on record, and reaches nobody else."""

from __future__ import annotations

import json
from pathlib import Path

from actum.core.json import JsonObject
from actum.storage.place import open_journal
from actum.transport.egress import EgressRules
from tests.transport.wire_servers import wire_server

from .models.desk import until
from .test_published_agents import HELPER, publish, scripted
from .test_published_doors import Town, town
from .test_published_tools import answering, ended, timesing, weather


async def drafted(it: Town, kind: str, name: str, text: str, revision: int = 0, who: str = "builder") -> int:
    answer = await it.ask("POST", f"/v1/{kind}/{name}/draft", {"text": text, "revision": revision}, who=who)
    assert answer.status_code == 200, answer.text
    return int(answer.json()["revision"])


async def over(it: Town, run: str, who: str = "north") -> JsonObject:
    """A run that has ended."""
    found: JsonObject = {}

    async def look() -> bool:
        found.update((await it.ask("GET", f"/v1/runs/{run}", who=who)).json())
        return found["ended"] is not None

    await until(look)
    return found


async def test_a_draft_of_a_tool_is_tried_by_those_who_could_publish_it_and_by_nobody_else(tmp_path: Path) -> None:
    async with wire_server(answering) as wire:
        place = f"http://127.0.0.1:{wire.port}"
        async with town(tmp_path, egress=EgressRules(private=(place,))) as it:
            pasted = {"text": f"curl {place}/now?city=Oslo"}
            read = (await it.ask("POST", "/v1/definitions/read", pasted, who="builder")).json()
            assert [(each["kind"], each["name"]) for each in read["items"]] == [("tool", "now")]
            assert (await it.ask("POST", "/v1/definitions/read", pasted, who="bob")).status_code == 403
            assert await drafted(it, "tools", "weather", weather(place)) == 1
            body = {"revision": 1, "arguments": {"city": "Oslo"}}
            told = (await it.ask("POST", "/v1/tools/weather/try", body, who="builder")).json()
            assert (told["result"], told["tool"]) == ("fine", "weather"), told
            run = (await it.ask("GET", f"/v1/runs/{told['run']}", who="builder")).json()
            assert (run["draft"], run["status"], run["principal"]) == ("tool/weather", "done", "bea")
            assert (await it.ask("GET", "/v1/tools/weather", who="builder")).status_code == 404  # it is at no door
            assert await drafted(it, "tools", "weather", weather(place, description="Other."), 1) == 2
            await drafted(it, "workflows", "sums", SUMS.replace("FIGURE", "1"), who="north")
            assert (await it.ask("POST", "/v1/workflows/sums/publish", {})).status_code == 200
            listed = (await it.ask("GET", "/v1/tools?drafts=true")).json()["items"]
            sources = {each["name"]: each["source"] for each in listed}
            assert (sources["weather"], sources["add"], sources["sums"]) == ("draft", "settings", "workflow"), sources
            assert (await it.ask("POST", "/v1/tools/weather/publish", {})).status_code == 200
            assert (await it.ask("GET", "/v1/tools/weather")).json()["source"] == "published"
            assert (await it.ask("GET", "/v1/tools/sums")).json()["source"] == "workflow"
            assert (await it.ask("POST", "/v1/tools/weather/unpublish", {})).status_code == 200
            for who, given, code in (
                ("builder", body, (409, "stale")),
                ("builder", {"arguments": {}}, (422, "invalid_arguments")),
                ("bob", body, (403, "scope")),
                ("south", body, (404, "not_found")),
                ("narrow-builder", body, (404, "not_found")),
            ):
                answer = await it.ask("POST", "/v1/tools/weather/try", given, who=who)
                assert (answer.status_code, answer.json()["code"]) == code, (who, answer.text)
            secret = weather("", "spy", http={"url": "https://1.1.1.1/{city}", "secret": {"bearer": "key"}})
            inside = weather("http://169.254.169.254", "inside")
            for name, text, status in (
                ("times", timesing(2), 403),
                ("spy", secret, 403),
                ("inside", inside, 422),
                ("half", '{"name": "half"', 422),
                ("add", weather(place, "add"), 409),
            ):
                saved = await it.ask("POST", f"/v1/tools/{name}/draft", {"text": text, "revision": 0}, who="builder")
                answer = await it.ask("POST", f"/v1/tools/{name}/try", {"arguments": {"n": 1}}, who="builder")
                found = answer if saved.status_code == 200 else saved
                assert found.status_code == status, (name, found.text)


async def test_a_try_that_waits_goes_on_at_another_server_with_the_same_draft_and_with_no_other(tmp_path: Path) -> None:
    place, waiting = tmp_path / "runs.db", []
    first = open_journal(place)
    async with town(tmp_path, first) as it:
        await drafted(it, "tools", "times", timesing(2, approval=True), who="north")
        for _ in range(2):
            answer = await it.ask("POST", "/v1/tools/times/try", {"arguments": {"n": 21}})
            assert answer.status_code == 202, answer.text
            waiting.append((answer.json()["run"], answer.json()["approval"]))
    await first.close()
    second = open_journal(place)
    async with town(tmp_path, second) as it:
        (run, ask), (later, asked) = waiting
        assert (await it.ask("POST", f"/v1/approvals/{ask}", {"verdict": "approve"})).status_code == 200
        assert await ended(it, run) == {"came": 42}
        await drafted(it, "tools", "times", timesing(1000, approval=True), 1, "north")
        await it.ask("POST", f"/v1/approvals/{asked}", {"verdict": "approve"})

        async def is_told() -> bool:  # the answer has begun to go on with the run, which ends with the same words
            resumed = await it.ask("POST", f"/v1/runs/{later}/resume")
            return resumed.status_code == 409 and "another than the run tries" in resumed.text

        await until(is_told)
        left = (await it.ask("GET", f"/v1/runs/{later}")).json()
        assert (left["ended"], left["calls"][0]["is_over"]) == (None, False)  # nothing was done
    await second.close()


async def test_a_draft_of_an_agent_answers_with_its_tools_in_a_conversation(tmp_path: Path) -> None:
    async with town(tmp_path, model=scripted(tmp_path)) as it:
        await publish(it, "tools", "times", timesing(2))
        await publish(it, "prompts", "desk", "Be kind.", "builder")
        await drafted(it, "agents", "helper2", HELPER, who="north")
        for question in ("Hello?", "And now?"):
            began = await it.ask(
                "POST", "/v1/agents/helper2/try", {"question": question, "revision": 1, "session": "s"}
            )
            assert began.status_code == 202, began.text
            run = await over(it, began.json()["id"])
            assert (run["text"], run["draft"]) == ("Be kind. add,times {'came': 42}", "agent/helper2")
        missing = HELPER.replace("[add, times]", "[add, gone]")
        await drafted(it, "agents", "helper2", missing, 1, "north")
        answer = await it.ask("POST", "/v1/agents/helper2/try", {"question": "Hello?"})
        assert (answer.status_code, "no tool 'gone' here" in answer.text) == (422, True)
        assert (await it.ask("GET", "/v1/agents/helper2")).status_code == 404


SUMS = """actum: workflow/1
name: sums
inputs: {type: object, required: [a], properties: {a: {type: integer}}}
nodes:
  first: {type: tool, tool: add, with: {a: "${inputs.a}", b: 1}}
  ask: {type: human, message: "${first.output}?"}
  second: {type: tool, tool: add, with: {a: "${first.output}", b: FIGURE}}
edges: [first > ask, ask > second]
outputs: {came: "${second.output?}"}
"""


async def test_a_draft_of_a_workflow_is_tried_whole_or_node_by_node_and_goes_on_with_the_text_it_began_with(
    tmp_path: Path,
) -> None:
    place, path, text = tmp_path / "runs.db", "/v1/workflows/sums/try", SUMS.replace("FIGURE", "10")
    first = open_journal(place)
    async with town(tmp_path, first) as it:
        await drafted(it, "workflows", "sums", text, who="north")
        began = await it.ask("POST", path, {"revision": 1, "inputs": {"a": 2}})
        assert began.status_code == 202, began.text
        run = str(began.json()["id"])

        async def waits() -> bool:
            return str((await it.ask("GET", f"/v1/runs/{run}")).json()["status"]) == "paused"

        await until(waits)
        alone = {"only": "second", "pins": {"first": {"output": 5}}}
        only = await over(it, (await it.ask("POST", path, alone)).json()["id"])
        assert (only["outputs"], only["draft"]) == ({"output": 15, "text": "15", "files": []}, "workflow/sums"), only
        listed = (await it.ask("GET", "/v1/workflows?drafts=true&query=SUM")).json()["items"]
        assert [(each["name"], each["version"]) for each in listed] == [("sums", 0)]
        assert (await it.ask("GET", "/v1/workflows?query=sum")).json()["items"] == []
        assert (await it.ask("GET", "/v1/workflows?drafts=true", who="bob")).status_code == 403
        own = (await it.ask("POST", path, alone, who="builder")).json()["id"]
        await over(it, own, "builder")
        await drafted(it, "workflows", "sums", SUMS.replace("FIGURE", "1000"), 1, "north")
        drawn = (await it.ask("GET", f"/v1/runs/{own}/timeline", who="builder")).json()["definition"]
        assert json.loads(drawn)["nodes"]["second"]["with"]["b"] == 10, "a run is seen on the text that it ran"
        for query, found in (("workflow=sums", [own]), ("workflow=other", []), ("workflow=sums&status=paused", [])):
            answer = (await it.ask("GET", f"/v1/runs?{query}", who="builder")).json()
            assert [each["id"] for each in answer["items"]] == found, query
        for who, given, code in (
            ("north", {"revision": 1}, (409, "stale")),
            ("north", {}, (422, "invalid_arguments")),
            ("north", {"only": "second"}, (422, "missing_pin")),
            ("north", {"only": "gone"}, (422, "unknown_name")),
            ("north", {"pins": {}, "inputs": {"a": 1}, "only": "ask"}, (422, "missing_pin")),
            ("bob", {"inputs": {"a": 1}}, (403, "scope")),
            ("south", {"inputs": {"a": 1}}, (404, "not_found")),
        ):
            answer = await it.ask("POST", path, given, who=who)
            assert (answer.status_code, answer.json()["code"]) == code, (who, given, answer.text)
    await first.close()
    second = open_journal(place)
    async with town(tmp_path, second) as it:
        (waiting,) = (await it.ask("GET", f"/v1/approvals?run={run}")).json()["items"]
        answered = await it.ask("POST", f"/v1/approvals/{waiting['id']}", {"verdict": "answer", "arguments": {}})
        assert answered.status_code == 200, answered.text
        ended = await over(it, run)
        assert (ended["outputs"], ended["draft"]) == ({"came": 13}, "workflow/sums"), ended
    await second.close()
