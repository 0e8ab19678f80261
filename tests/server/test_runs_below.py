"""At every door: what the code of a tool begins is bound by the policy of the server, and is of the caller's tenant."""

from __future__ import annotations

from pathlib import Path

import pytest

from actum.core.call import ToolCall
from actum.core.json import JsonObject
from actum.core.message import Reply
from actum.storage.sqlite import SQLiteJournal
from tests.chat_server import ChatServer, Said

from .doors import DOORS, doors_open

TOOLS = '''\
from pathlib import Path
from actum import Agent, ToolCall, tool
from actum import Rule, Rules
from actum.testing import ScriptedModel

HERE = Path(__file__).parent


def says(request):
    return "the helper is done" if len(request.messages) > 1 else [ToolCall("1", "pay", {})]


@tool(effects={"spend"})
async def pay() -> str:
    """Pay."""
    with (HERE / "paid").open("a") as file:
        file.write("x")
    return "paid"


allowed = Rules(Rule("allow", final=True))
helper = Agent(ScriptedModel(says), [pay], name="helper", policy=allowed)


@tool(effects={"read"})
def desk(task: str) -> str:
    """Have the helper pay."""
    with (HERE / "acted").open("a") as file:
        file.write("x")
    return helper.run_sync(task).text
'''
ALLOWS = '[[rules]]\nthen = "allow"\nfinal = true\n'
"""Final, since what an agent of another program asks for is no user's word: the defence would ask a person."""
DENIES = """\
default = "allow"
[[rules]]
effects = "spend"
then = "deny"
"""


def answers(request: JsonObject) -> Said:
    """The model calls the tool once."""
    messages = request["messages"]
    assert isinstance(messages, list)
    last = messages[-1]
    assert isinstance(last, dict)
    return "all done" if last["role"] == "tool" else Reply.of(calls=[ToolCall("1", "desk", {"task": "Pay"})])


@pytest.mark.row("C4")
@pytest.mark.parametrize("policy", [DENIES, ALLOWS])
async def test_the_policy_of_the_server_holds_for_what_a_tool_begins_at_every_door(tmp_path: Path, policy: str) -> None:
    (tmp_path / "policy.toml").write_text(policy)
    with ChatServer(answers) as model:
        settings = f'model = "{model.url}#m"\ntools = ["tools.py"]\npolicy = "policy.toml"\n[agents.desk]\n'
        scopes = [word for scope in ("runs", "tools", "models") for word in ("--scope", scope)]
        asked = 0
        async with doors_open(tmp_path, settings, TOOLS) as place:  # the first key, without which the server is open
            key = await place.key("ann", "--tenant", "north", *scopes)
        async with doors_open(tmp_path, settings, TOOLS) as place:
            for door in DOORS:
                for ask in filter(None, (door.ask, door.stream)):
                    told = await ask(place, "desk", "Pay", key)
                    asked += 1
                    assert (tmp_path / "acted").read_text() == "x" * asked, (door.name, told)
    denies = policy == DENIES
    assert (tmp_path / "paid").exists() is not denies
    journal = SQLiteJournal(str(tmp_path / "runs.db"))
    lines = {line.run_id: line for line in await journal.runs(limit=None)}
    await journal.close()
    helpers = [line for line in lines.values() if line.agent == "helper"]
    assert len(helpers) == asked
    assert {line.parent in lines for line in helpers} == {True}
    assert {(line.tenant, lines[line.parent].tenant) for line in helpers} == {("north", "north"), ("", "")}
