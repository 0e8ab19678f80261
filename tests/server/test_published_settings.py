"""Agents of `actum.toml` that take what their caller's tenant has published: with the next run, and as a run began."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from actum.compose.agents import Agents
from actum.compose.published.agents import DeclaredAgents
from actum.compose.published.tools import DeclaredTools
from actum.compose.serving import Serving, open_doors, served_agents
from actum.compose.settings import read_settings
from actum.compose.task_child import SettingsBuilder
from actum.compose.tools import load_tools
from actum.compose.workflows import open_workflows
from actum.core.errors import UsageError
from actum.core.interfaces import Journal
from actum.core.run.record import Started
from actum.core.stored.key import new_key
from actum.journal.kept_uses import with_all_uses
from actum.journal.memory import MemoryJournal
from actum.journal.recording import RunState
from actum.server import Access, Identity
from actum.server.verifier import Keys
from actum.storage.place import open_journal
from tests.web import serving

from .models.desk import until
from .test_published_agents import publish, scripted
from .test_published_doors import KEYS, TOOLS, Town, price, said
from .test_published_tools import timesing

FRONT = """
from actum.core.call import ToolCall
from actum.testing import ScriptedModel


def answer(request):
    results = [each for each in request.messages if type(each).__name__ == "ToolMessage"]
    return f"desk says: {results[-1].result.text}" if results else [ToolCall("c", "desk", {"task": "Hello?"})]


MODEL = ScriptedModel(answer)
"""


@asynccontextmanager
async def settled(folder: Path, journal: Journal | None = None, *, names: bool = True) -> AsyncIterator[Town]:
    """A server of an `actum.toml`: the agent `desk` takes what is published, and `front` hands tasks to it; without
    names the one agent, `assistant`, takes it.
    """
    (folder / "tools.py").write_text(TOOLS, "utf-8")
    (folder / "policy.toml").write_text('[[rules]]\nthen = "allow"\nfinal = true\n', "utf-8")
    (folder / "front.py").write_text(FRONT, "utf-8")
    takes = f'model = "{scripted(folder)}"\ninstructions = "prompt:desk"\n'
    takes += f'tools = ["{folder / "tools.py"}", "published:times", "published:*"]\n'
    front = f'[agents.front]\nmodel = "{folder / "front.py"}:MODEL"\nagents = ["desk"]\ntools = ["none"]\n'
    head = f'policy = "{folder / "policy.toml"}"\n'
    text = f'{head}tools = ["{folder / "tools.py"}"]\n[agents.desk]\n{takes}{front}' if names else head + takes
    (folder / "actum.toml").write_text(text, "utf-8")
    settings, journal = read_settings(folder, {}, {}), journal or MemoryJournal()
    made = {name: new_key(name, **fields) for name, fields in KEYS.items()}
    verifier, tools = Keys(key for _, key in made.values()), load_tools(settings, folder)
    async with open_workflows(settings, {}, folder, journal=journal) as workflows:
        declared = DeclaredTools(settings, {}, folder, journal=journal, workflows=workflows)
        async with served_agents(settings, {}, folder, tools, journal, None, workflows, declared) as agents:
            doors = open_doors(
                settings, tools, agents, journal, Identity(), verifier=verifier, workflows=workflows, declared=declared
            )
            access = Access(verifier=verifier)
            application = Serving(doors, settings.serve, access, who=Identity(), journal=journal).application
            async with serving(application.app) as url:
                yield Town(url, {name: text for name, (text, _) in made.items()}, journal)


@pytest.mark.parametrize("names", [True, False])
async def test_an_agent_of_the_settings_has_what_its_tenant_has_published_with_the_next_run(
    tmp_path: Path, names: bool
) -> None:
    desk = "desk" if names else "assistant"
    async with settled(tmp_path, names=names) as it:
        early = await it.ask("POST", "/v1/runs", {"agent": desk, "question": "Hello?"})
        assert (early.status_code // 100, "no published prompt 'desk' here" in early.text) == (4, True), early.text
        await publish(it, "prompts", "desk", "Be kind.")
        assert (await said(it, "bob", desk, "Hello?")).startswith("Be kind. add,pay There is no tool")
        await publish(it, "tools", "times", timesing(2))
        await publish(it, "workflows", "price", price())
        await publish(it, "tools", "quote", '{"name": "quote", "workflow": "price"}')
        assert await said(it, "bob", desk, "Hello?") == "Be kind. add,pay,quote,times {'came': 42}"
        if names:
            assert await said(it, "bob", "front", "Hello?") == ("desk says: Be kind. add,pay,quote,times {'came': 42}")
            task = await it.a2a("north", "desk", "Hello?")
            assert task.artifacts[0].parts[0].text == "Be kind. add,pay,quote,times {'came': 42}"
            await publish(it, "tools", "ask_desk", '{"name": "ask_desk", "agent": "desk"}')
            asked = await it.ask("POST", "/v1/tools/ask_desk/call", {"arguments": {"task": "Hello?"}})
            assert asked.json()["result"] == "Be kind. add,ask_desk,pay,quote,times {'came': 42}"
            assert (await it.ask("POST", "/v1/tools/ask_desk/unpublish")).status_code == 200
        began = await it.ask("POST", "/v1/runs", {"agent": desk, "question": "Hello?"}, who="south")
        assert began.status_code // 100 == 4, "another tenant has published nothing"
        await publish(it, "tools", "times", timesing(3))
        await publish(it, "prompts", "desk", "Be brief.")
        assert await said(it, "bob", desk, "Hello?") == "Be brief. add,pay,quote,times {'came': 63}"
        assert (await it.ask("POST", "/v1/tools/times/unpublish")).status_code == 200
        assert (await said(it, "bob", desk, "Hello?")).startswith("Be brief. add,pay,quote There is no tool")


@pytest.mark.parametrize("names", [True, False])
async def test_a_run_keeps_the_publications_with_which_it_began_and_other_processes_find_them(
    tmp_path: Path, names: bool
) -> None:
    place, desk = tmp_path / "runs.db", "desk" if names else "assistant"
    runs: list[str] = []
    first = open_journal(place)
    async with settled(tmp_path, first, names=names) as it:
        await publish(it, "tools", "times", timesing(2, approval=True))
        await publish(it, "workflows", "price", price())
        await publish(it, "tools", "quote", '{"name": "quote", "workflow": "price"}')
        await publish(it, "prompts", "desk", "Be kind.")
        for agent in [desk, *(["front"] if names else [])]:
            began = await it.ask("POST", "/v1/runs", {"agent": agent, "question": "Hello?"})
            runs.append(began.json()["id"])

        async def all_wait() -> bool:
            return len((await it.ask("GET", "/v1/approvals")).json()["items"]) == len(runs)

        await until(all_wait)
    await first.close()
    second = open_journal(place)
    async with settled(tmp_path, second, names=names) as it:
        await publish(it, "tools", "times", timesing(3, approval=True))
        await publish(it, "workflows", "price", price(word="dear"))
        await publish(it, "prompts", "desk", "Be brief.")
        await publish(it, "tools", "more", timesing(3).replace('"times"', '"more"'))
        state = RunState(await second.read(runs[0]))
        if names:
            settings = read_settings(tmp_path, {}, {})
            agents = Agents(settings, {}, tmp_path, journal=second)
            assert await SettingsBuilder(settings, {}, tmp_path, second, agents).can_go_on(runs[0], state)
        for each in (await it.ask("GET", "/v1/approvals")).json()["items"]:
            answer = await it.ask("POST", f"/v1/approvals/{each['id']}", {"verdict": "approve"})
            assert answer.status_code == 200, answer.text
        for run in runs:
            text = (await it.ask("GET", f"/v1/runs/{run}/events")).text
            assert "Be kind. add,pay,quote,times {'came': 42}" in text
        started = state.beginning()
        assert isinstance(started, Started)
        assert started.uses == {"prompt/desk": 1, "tool/quote": 1, "tool/times": 1, "price": 1}
    await second.close()


async def test_a_run_with_very_many_published_tools_names_them_by_a_digest_and_goes_on_with_them_elsewhere(
    tmp_path: Path,
) -> None:
    place = tmp_path / "runs.db"
    first = open_journal(place)
    texts = [timesing(2, approval=True)]
    texts += [timesing(2).replace('"times"', f'"tool_{number}"') for number in range(150)]
    many = [{"file": f"{number}.tool.json", "text": text} for number, text in enumerate(texts)]
    async with settled(tmp_path, first) as it:
        published = await it.ask("POST", "/v1/definitions", {"definitions": many})
        assert published.status_code == 200, published.text
        await publish(it, "prompts", "desk", "Be kind.")
        began = [(await it.ask("POST", "/v1/runs", {"agent": "desk", "question": "Hi?"})).json()["id"] for _ in "ab"]

        async def all_wait() -> bool:
            return len((await it.ask("GET", "/v1/approvals")).json()["items"]) == len(began)

        await until(all_wait)
    await first.close()
    second = open_journal(place)
    async with settled(tmp_path, second) as it:
        started = RunState(await second.read(began[0])).beginning()
        assert (started.uses, bool(started.uses_kept)) == ({"prompt/desk": 1}, True)
        whole = await with_all_uses(started, second)
        assert (len(whole.uses), whole.uses["tool/tool_149"], whole.uses_kept) == (152, 1, "")
        await publish(it, "tools", "times", timesing(3, approval=True))
        waiting = (await it.ask("GET", "/v1/approvals")).json()["items"]
        by_run = {each["run"]: each["id"] for each in waiting}
        approved = await it.ask("POST", f"/v1/approvals/{by_run[began[0]]}", {"verdict": "approve"})
        assert approved.status_code == 200, approved.text
        assert "{'came': 42}" in (await it.ask("GET", f"/v1/runs/{began[0]}/events")).text
        assert (await it.ask("POST", "/v1/tools/times/unpublish")).status_code == 200
        refused = await it.ask("POST", f"/v1/approvals/{by_run[began[1]]}", {"verdict": "approve"})
        assert (refused.status_code, refused.json()["code"]) == (409, "unpublished"), refused.text
    await second.close()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('tools = ["published:"]', "names no publication"),
        ('tools = ["published:a b"]', "use 1 to 128 letters"),
        ('tools = [{from = "published:x", prefix = "y_"}]', "published tools keep their names"),
        ('instructions = "prompt:"', "names no publication"),
    ],
)
def test_what_names_nothing_that_could_be_published_is_told_when_the_settings_are_used(
    tmp_path: Path, line: str, told: str
) -> None:
    (tmp_path / "actum.toml").write_text(f'[agents.desk]\nmodel = "{scripted(tmp_path)}"\n{line}\n', "utf-8")
    agents = Agents(read_settings(tmp_path, {}, {}), {}, tmp_path, journal=MemoryJournal())
    with pytest.raises(UsageError, match=told):
        agents.get("desk")


async def test_the_users_of_a_published_agent_are_shared_out_by_the_weights_of_its_model(tmp_path: Path) -> None:
    upstreams = ", ".join(f'{{ model = "http://127.0.0.1:{port}/v1#m", weight = 1 }}' for port in (8001, 8002))
    (tmp_path / "actum.toml").write_text(f"[models.fast]\nupstreams = [{upstreams}]\n", "utf-8")
    settings, journal = read_settings(tmp_path, {}, {}), MemoryJournal()
    async with open_workflows(settings, {}, tmp_path, journal=journal) as workflows:
        tools = DeclaredTools(settings, {}, tmp_path, journal=journal, workflows=workflows)
        agents = DeclaredAgents(settings, journal=journal, own=[], tools=tools)
        first = [await agents.model("north", "fast", f"user {number}") for number in range(30)]
        again = [await agents.model("north", "fast", f"user {number}") for number in range(30)]
    assert (len(set(map(id, first))), first) == (2, again)
