"""Agents of the settings are the same in every process; a run goes on with the agent that began it."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path

import pytest

from actum import Agent, ToolCall
from actum.agents.identity import AgentRef, digest_of
from actum.compose.agents import Agents
from actum.compose.settings import choose_agent, read_settings
from actum.core.errors import ReplayDiverged, UnknownName, UsageError
from actum.core.run.record import AgentChanged, Started
from actum.journal.audit import audit
from actum.journal.memory import MemoryJournal
from actum.testing import ScriptedModel
from tests import warm

CODE = '''
from actum import Agent, Context, ToolCall, tool
from actum.core.message import ToolMessage
from actum.testing import ScriptedModel

@tool(effects={"send"})
def send(to: str) -> str:
    """Send a letter.

    Args:
        to: whom.
    """
    return f"sent to {to}"

@tool(effects={"read"})
def find(name: str) -> str:
    """Find somebody.

    Args:
        name: of whom.
    """
    return name

def script(request):
    last = request.messages[-1]
    return last.result.text if isinstance(last, ToolMessage) else ToolCall(id="1", name="send", arguments={"to": "ann"})

model = ScriptedModel(script, name="clerk")
agent = Agent(model, [send], name="in code", instructions="Be kind.")
not_an_agent = 7

class Letter:
    pass
'''

SETTINGS = """
mcp = ["none"]

[agents.desk]
model = "{folder}/code.py:model"
tools = ["{folder}/code.py:send", "{folder}/code.py:find"]
instructions = "Be kind."
policy = "{folder}/policy.toml"
limits.steps = 9
model_settings = {{temperature = 0.5, headers = {{"X-Key" = "hush-hush-42"}}}}

[agents.coded]
python = "{folder}/code.py:agent"
"""

POLICY = '[[rules]]\nthen = "ask"\ntools = "send"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return written(tmp_path / "one")


def written(folder: Path, settings: str = SETTINGS, policy: str = POLICY) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "code.py").write_text(CODE)
    (folder / "policy.toml").write_text(policy)
    (folder / "actum.toml").write_text(settings.format(folder=folder))
    return folder


def agents_of(folder: Path, journal: MemoryJournal | None = None) -> Agents:
    settings = read_settings(folder, {}, {})
    return Agents(settings, {}, folder, journal=journal or MemoryJournal())


async def reference(folder: Path, name: str = "desk") -> AgentRef:
    return await agents_of(folder).get(name).reference()


async def test_a_run_waits_in_one_process_and_goes_on_with_the_agent_that_another_built(folder: Path) -> None:
    journal = MemoryJournal()
    for name in ("desk", "coded"):
        waiting = await agents_of(folder, journal).get(name).run("write to ann", run_id=name)
        ended = waiting
        if name == "desk":  # the agent in code has no policy of its own that asks
            assert waiting.status == "paused"
            ended = await agents_of(folder, journal).get(name).resume(name, {waiting.pending[0].id: "approve"})
        assert ended.text == "sent to ann"
        started = (await journal.read(name))[0].record
        assert isinstance(started, Started)
        now = await agents_of(folder).get(name).reference()
        assert (started.agent, started.agent_digest, started.agent_parts) == (name, now.digest, now.parts)
        assert started.agent_digest == digest_of(started.agent_parts)


async def test_the_digest_is_the_same_wherever_the_files_lie_and_in_whatever_order_they_say_it(tmp_path: Path) -> None:
    one = await reference(written(tmp_path / "one"))
    assert one == await reference(written(tmp_path / "far" / "away"))
    head, table = SETTINGS.split("[agents.desk]")
    desk, coded = table.split("[agents.coded]")
    lines = desk.strip().splitlines()
    tools = 'tools = ["{folder}/code.py:find", "{folder}/code.py:send"]'
    turned = "\n".join(reversed([tools if line.startswith("tools") else line for line in lines]))
    other = f"{head}[agents.coded]{coded}\n[agents.desk]\n{turned}\n"
    assert one == await reference(written(tmp_path / "turned", other, f"# a comment\n{POLICY}"))


def test_the_digest_is_the_same_in_another_process(folder: Path) -> None:
    here = asyncio.run(reference(folder))
    environment = {**os.environ, "PYTHONHASHSEED": "7", "XDG_CONFIG_HOME": str(folder)}
    command = [sys.executable, "-m", "actum", "agents", "show", "desk", "--json"]
    told = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, cwd=folder)
    shown = json.loads(told.stdout)
    assert (shown["digest"], shown["parts"]) == (here.digest, here.parts)
    assert "hush-hush" not in told.stdout


CHANGES: dict[str, tuple[str, str]] = {
    "instructions": ('"Be kind."\npolicy', '"Be brief."\npolicy'),
    "limits": ("limits.steps = 9", "limits.steps = 8"),
    "settings": ("temperature = 0.5", "temperature = 0.6"),
    "tools": (', "{folder}/code.py:find"]', "]"),
    "conversation": ("limits.steps = 9", 'limits.steps = 9\nmemory = "none"'),
    "labels, tools": ("[agents.desk]", '[tools."send"]\neffects = ["spend"]\n[agents.desk]'),
    "output": ("limits.steps = 9", 'limits.steps = 9\noutput = "builtins:int"'),
    "agents, tools": ("limits.steps = 9", 'limits.steps = 9\nagents = ["coded"]'),
    "model": ("limits.steps = 9", 'limits.steps = 9\ndialect = "react"'),
}


async def test_a_process_whose_agent_is_another_does_not_go_on_but_says_which_parts_changed(tmp_path: Path) -> None:
    journal = MemoryJournal()
    waiting = await agents_of(written(tmp_path / "0"), journal).get("desk").run("write to ann", run_id="r")
    before = await journal.read("r")
    answers = {waiting.pending[0].id: "approve"}
    for parts, (old, new) in CHANGES.items():
        assert old in SETTINGS, parts
        changed = agents_of(written(tmp_path / parts.replace(", ", "_"), SETTINGS.replace(old, new)), journal).get(
            "desk"
        )
        with pytest.raises(ReplayDiverged, match=f"another version of the agent 'desk'; what differs: {parts}\\."):
            await changed.resume("r", answers)
    policy = agents_of(written(tmp_path / "policy", policy='default = "allow"\n'), journal).get("desk")
    with pytest.raises(ReplayDiverged, match="what differs: policy\\."):
        await policy.resume("r", answers)
    with pytest.raises(ReplayDiverged, match="is of the agent 'desk' of the settings"):
        await agents_of(tmp_path / "0", journal).get("coded").resume("r", answers)
    with pytest.raises(ReplayDiverged, match="is of the agent 'desk' of the settings"):
        await Agent(ScriptedModel([]), name="desk", journal=journal).resume("r", answers)
    assert await journal.read("r") == before, "nothing was done"


async def test_whoever_goes_on_with_another_agent_on_purpose_stands_on_record(tmp_path: Path) -> None:
    journal = MemoryJournal()
    waiting = await agents_of(written(tmp_path / "0"), journal).get("desk").run("write", run_id="r", principal="ann")
    other = SETTINGS.replace('"Be kind."\npolicy', '"Be brief."\npolicy')
    changed = agents_of(written(tmp_path / "1", other), journal).get("desk")
    still = await changed.resume("r", principal="ann", accept=True)
    assert still.status == "paused"
    (record,) = [each.record for each in await journal.read("r") if isinstance(each.record, AgentChanged)]
    now = await changed.reference()
    assert record == AgentChanged(
        agent="desk", agent_digest=now.digest, agent_parts=now.parts, changed=("instructions",), by="ann"
    )
    with pytest.raises(ReplayDiverged, match="what differs: instructions"):
        await agents_of(tmp_path / "0", journal).get("desk").resume("r")
    done = await changed.resume("r", {waiting.pending[0].id: "approve"})
    assert done.text == "sent to ann", "the agent that was accepted needs no second word"
    lines = [line async for line in audit(journal)]
    assert [(line.by, line.text) for line in lines if line.decision == "agent_changed"] == [
        ("ann", "desk: instructions")
    ]
    forked = await changed.fork("r", 0, new_run="branch")
    (begun,) = await journal.read(forked)
    assert isinstance(begun.record, Started)
    assert begun.record.agent_digest == now.digest


async def test_a_secret_is_no_part_of_a_digest(tmp_path: Path) -> None:
    one = await reference(written(tmp_path / "one"))
    assert one == await reference(written(tmp_path / "two", SETTINGS.replace("hush-hush-42", "another-key")))
    assert one != await reference(written(tmp_path / "three", SETTINGS.replace("X-Key", "X-Other")))


async def test_an_agent_without_a_name_runs_and_says_at_once_that_it_can_not_be_handed_on(folder: Path) -> None:
    journal = MemoryJournal()
    agent = Agent(
        ScriptedModel([ToolCall(id="1", name="ask_user", arguments={"question": "?"}), "Hi."]), journal=journal
    )
    with pytest.raises(UsageError, match=r"can not be handed to another process.*agents.agent = \{python ="):
        await agent.reference()
    await agent.run("Hi", run_id="r")
    started = (await journal.read("r"))[0].record
    assert isinstance(started, Started)
    assert (started.agent_digest, started.agent_parts) == ("", {})
    with pytest.raises(
        ReplayDiverged, match="is of an agent without a name, which can not be handed to the agent 'desk'"
    ):
        await agents_of(folder, journal).get("desk").resume("r")


async def test_an_agent_file_that_changes_while_a_run_waits_is_seen_by_the_next_process(tmp_path: Path) -> None:
    folder = written(tmp_path / "one")
    journal = folder / "runs.db"
    environment = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)}

    def actum(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "actum", *words, "--journal", str(journal)]
        return warm.run(command, capture_output=True, text=True, cwd=folder, env=environment, check=False)

    waiting = actum("run", "write to ann", "--agent", "desk", "--json")
    assert waiting.returncode == 3, waiting.stderr
    pending = json.loads(waiting.stdout)["pending"][0]["id"]
    code = (folder / "code.py").read_text()
    (folder / "code.py").write_text(code.replace("Send a letter.", "Send a letter by night."))
    refused = actum("resume", "last", "--approve", pending)
    assert refused.returncode == 2
    assert "what differs: tools" in refused.stderr
    (folder / "code.py").write_text(code)
    other = actum("resume", "last", "--approve", pending, "--agent", "coded")
    assert (other.returncode, "is of the agent 'desk'" in other.stderr) == (2, True)
    done = actum("resume", "last", "--approve", pending)
    assert (done.returncode, done.stdout) == (0, "sent to ann\n"), done.stderr


def test_names_that_are_not_there_and_circles_are_told_with_what_was_meant(tmp_path: Path) -> None:
    settings = read_settings(written(tmp_path / "one"), {}, {})
    with pytest.raises(UnknownName, match=r"there is no agent 'desc'; there are: desk, coded\. Did you mean `desk`\?"):
        choose_agent(settings, "desc")
    with pytest.raises(UnknownName, match=r"have no \[agents\.desk\]"):
        choose_agent(read_settings(tmp_path, {}, {}), "desk")
    for text, told in {
        '[agents.a]\nagents = ["a"]': "in a circle.*: a -> a$",
        '[agents.a]\nagents = ["b"]\n[agents.b]\nagents = ["c"]\n[agents.c]\nagents = ["b"]': "circle.*: b -> c -> b$",
        '[agents.alpha]\nagents = ["alhpa"]': r"\[agents.alpha\]: there is no agent 'alhpa'.*Did you mean `alpha`",
        '[agents.a]\npython = "x:y"\nmodel = "z"': "line 3: `model` beside `python`",
        '[agents."a b"]\nmodel = "z"': "line 1: the agent 'a b' can not be called so",
        '[agents.a]\nmodle = "z"': "line 2: unknown field `modle`.*Did you mean `model`",
        "[agents]\na = 7": "give a table, not a whole number",
    }.items():
        with pytest.raises(UsageError, match=told), settings_in(tmp_path, text) as folder:
            read_settings(folder, {}, {})


@contextmanager
def settings_in(folder: Path, text: str) -> Iterator[Path]:
    (folder / "actum.toml").write_text(text)
    yield folder


async def test_an_empty_table_is_an_agent_of_the_settings_around_it(tmp_path: Path) -> None:
    folder = written(
        tmp_path / "one", 'mcp = ["none"]\nmodel = "{folder}/code.py:model"\ntools = ["none"]\n[agents.a]\n'
    )
    assert (await reference(folder, "a")).name == "a"
    agents = Agents(read_settings(tmp_path, {}, {}), {}, tmp_path, journal=MemoryJournal())
    assert (agents.names, agents.visible("ann"), list(agents.hosts)) == ((), (), [])


async def test_what_stands_in_code_must_be_an_agent(tmp_path: Path) -> None:
    for python, told in {
        "{folder}/code.py:not_an_agent": "of type int; needed is an object Agent",
        "{folder}/code.py:nothing": "has no 'nothing'",
        "{folder}/code.py": "write package.module:agent",
        "{folder}/none.py:agent": "there is no file",
    }.items():
        folder = written(tmp_path / "one", f'[agents.desk]\npython = "{python}"\n')
        with pytest.raises(UsageError, match=told):
            agents_of(folder).get("desk")


async def test_an_agent_is_not_there_for_those_who_may_not_use_it_not_even_through_another_agent(
    tmp_path: Path,
) -> None:
    settings = """
mcp = ["none"]
[agents.desk]
model = "{folder}/code.py:model"
tools = ["{folder}/code.py:send"]
users = ["ann", "b*"]
roles = ["clerk"]
policy = "{folder}/policy.toml"
[agents.open]
model = "{folder}/ask.py:model"
tools = ["none"]
agents = ["desk"]
policy = "{folder}/policy.toml"
"""
    policy = 'default = "allow"\n[users.dora]\nroles = ["clerk"]\n'
    folder = written(tmp_path / "one", settings, policy)
    (folder / "ask.py").write_text(
        CODE.replace('name="send", arguments={"to": "ann"}', 'name="desk", arguments={"task": "x"}')
    )
    agents = agents_of(folder)
    for principal, roles, is_let_in in (
        ("ann", [], True),
        ("bob", [], True),
        ("carl", ["clerk"], True),
        ("dora", [], True),  # the policy knows her role
        ("carl", ["guest"], False),
        ("", [], False),
    ):
        through = await agents.get("open").run("go", principal=principal, roles=roles)
        assert ("sent to ann" in through.text) is is_let_in, (principal, roles, through.text)
        if is_let_in:
            assert (await agents.get("desk").run("go", principal=principal, roles=roles)).text == "sent to ann"
            continue
        with pytest.raises(UnknownName, match=r"^there is no agent 'desk'$"):
            await agents.get("desk").run("go", principal=principal, roles=roles)
    assert agents.visible("zoe") == ("open",)


async def test_an_agent_without_memory_takes_part_in_no_conversation(tmp_path: Path) -> None:
    settings = SETTINGS.replace("limits.steps = 9", 'memory = "none"')
    agent = agents_of(written(tmp_path / "one", settings, 'default = "allow"')).get("desk")
    with pytest.raises(UsageError, match="takes part in no conversation"):
        await agent.run("go", conversation="c")
    assert (await agent.run("go")).text == "sent to ann"


async def test_an_agent_takes_from_the_settings_around_it_what_it_does_not_set(tmp_path: Path) -> None:
    around = 'instructions = "Be brief."\nlimits = {cost = 3, steps = 7}\nmodel = "a"\n'
    (tmp_path / "actum.toml").write_text(f'{around}[agents.desk]\nmodel = "b"\nlimits.calls = 2\npolicy = "lax.toml"\n')
    settings = read_settings(tmp_path, {"ACTUM_MODEL": "c"}, {"limits": {"steps": 5}})
    desk = choose_agent(settings, "desk")
    assert (desk.model, desk.instructions, settings.model) == ("b", "Be brief.", "c")
    assert (desk.limits.calls, desk.limits.steps, desk.limits.cost) == (2, 5, Decimal(3))
    assert (desk.agent, desk.sources["model"]) == ("desk", "actum.toml")
    enforced = choose_agent(read_settings(tmp_path, {"ACTUM_POLICY": "strict.toml"}, {}), "desk")
    assert enforced.policy == "strict.toml"
    flagged = choose_agent(read_settings(tmp_path, {}, {"model": "d"}), "desk")
    assert (flagged.model, flagged.sources["model"]) == ("d", "flag")
