"""What closes while a server runs closes at every door of the table: a first key is made, an agent becomes narrower."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from actum.core.json import JsonObject
from tests.chat_server import ChatServer
from tests.patience import SOON_S

from .doors import DOORS, Place, Told, doors_open

TOOLS = '''\
from actum import tool


@tool(effects={"read"})
def desk(task: str) -> str:
    """Answer."""
    return f"I heard: {task}"
'''
SAID = "I heard: Hello"


def answers(request: JsonObject) -> str:
    """What the model says."""
    return SAID


async def heard(place: Place, key: str) -> Mapping[str, Told]:
    """What each door with keys says to this key."""
    found: dict[str, Told] = {}
    for door in DOORS:
        if door.keyless:
            continue
        found[door.name] = await door.ask(place, "desk", "Hello", key)
        if door.stream is not None:
            found[f"{door.name}, streamed"] = await door.stream(place, "desk", "Hello", key)
    return found


async def test_every_door_closes_with_the_first_key_and_with_an_agent_that_becomes_narrower(tmp_path: Path) -> None:
    with ChatServer(answers) as model:
        settings = f'model = "{model.url}#m"\ntools = ["tools.py"]\npolicy = ""\n[agents.desk]\ntools = []\n'
        async with doors_open(tmp_path, settings, TOOLS) as place:
            opened = await heard(place, "")
            assert [name for name, told in opened.items() if SAID not in told.text] == []
            scopes = ("--scope", "runs", "--scope", "tools", "--scope", "models")
            key = await place.key("ann", *scopes)
            for shown in ("", "nonsense"):
                let_in = [name for name, told in (await heard(place, shown)).items() if SAID in told.text]
                assert let_in == [], f"with the key {shown!r}"
            boss = await place.key("eva", *scopes, "--role", "boss")
            file = tmp_path / "actum.toml"
            file.write_text(file.read_text("utf-8").replace("tools = []\n", 'tools = []\nroles = ["boss"]\n'), "utf-8")
            async with asyncio.timeout(SOON_S):
                while SAID in (await place.http("POST", "/v1/chat/completions", _chat(), key)).text:
                    pass
            agents = {door.name for door in DOORS if door.answers == "agent" and not door.keyless}
            for who, may in ((key, False), (boss, True)):
                told = await heard(place, who)
                wrong = [
                    name for name, one in told.items() if name.split(",")[0] in agents and (SAID in one.text) is not may
                ]
                assert wrong == [], {name: told[name] for name in wrong}


def _chat() -> JsonObject:
    return {"model": "desk", "messages": [{"role": "user", "content": "Hello"}]}
