"""Each door of the table is open: the agent's word, or the tool's, comes back through it, whole and streamed."""

from __future__ import annotations

from pathlib import Path

from actum.core.json import JsonObject
from tests.chat_server import ChatServer

from .doors import DOORS, Told, doors_open

TOOLS = '''\
from actum import tool


@tool(effects={"read"})
def desk(task: str) -> str:
    """Answer."""
    return f"I heard: {task}"
'''


def answers(request: JsonObject) -> str:
    """What the model says."""
    return "I heard: Hello"


async def test_what_an_agent_or_a_tool_says_comes_back_through_every_door(tmp_path: Path) -> None:
    with ChatServer(answers) as model:
        settings = f'model = "{model.url}#m"\ntools = ["tools.py"]\npolicy = ""\n[agents.desk]\ntools = []\n'
        async with doors_open(tmp_path, settings, TOOLS) as place:
            key = await place.key("ann", "--scope", "runs", "--scope", "tools", "--scope", "models")
            heard: dict[str, Told] = {}
            for door in DOORS:
                heard[door.name] = await door.ask(place, "desk", "Hello", key)
                if door.stream is not None:
                    heard[f"{door.name}, streamed"] = await door.stream(place, "desk", "Hello", key)
    missing = {name: told for name, told in heard.items() if "I heard: Hello" not in told.text}
    assert not missing
    assert {told.status for told in heard.values()} == {0, 200}
