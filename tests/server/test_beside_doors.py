"""At every door: files beside `actum.toml` that are named as libraries take the place of none, in no process; a task
that no process can build says so at once, while every other door answers.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from actum.core.call import ToolCall
from actum.core.json import JsonObject
from actum.core.message import Reply
from tests.chat_server import ChatServer, Said
from tests.cli.test_serve import until

from .doors import DOORS, doors_open

NAMES = ("redis", "cel", "celery", "psycopg", "a2a", "grpc", "mcp", "yaml", "jwt", "secrets", "sqlite3")
"""Modules of libraries, of Python and of ours that the folder has files of the same name as."""
SHADOW = """\
from pathlib import Path
(Path(__file__).parent / f"taken {__name__}").touch()
raise RuntimeError("this is no library")
"""
TOOLS = '''\
from actum import tool
import beside


@tool(effects={"read"})
def desk(task: str) -> str:
    """Answer."""
    return f"{beside.WORDS}: {task}"
'''
BROKEN = "import os\nif os.environ.get('ACTUM_TASK_CHILD'):\n    import no_such_library\n"
POLICY = """\
default = "allow"
[[rules]]
then = "deny"
tools = "desk"
when = "args.task == 'Stop'"
"""
SETTINGS = """\
model = "{url}#m"
tools = ["tools.py"]
policy = "policy.toml"
[agents.desk]
tools = ["tools.py"]
"""
SAID = "I heard: Hello"


def answers(request: JsonObject) -> Said:
    """The model calls the tool once, and says what it heard."""
    messages = request["messages"]
    assert isinstance(messages, list)
    last = messages[-1]
    assert isinstance(last, dict)
    return SAID if last["role"] == "tool" else Reply.of(calls=[ToolCall("1", "desk", {"task": "Hello"})])


def written(folder: Path, tools: str) -> str:
    """Write what stands beside the settings; the text of the tools."""
    for name in NAMES:
        (folder / f"{name}.py").write_text(SHADOW, "utf-8")
    (folder / "beside.py").write_text('WORDS = "I heard"\n', "utf-8")
    (folder / "policy.toml").write_text(POLICY, "utf-8")
    return tools


def taken(folder: Path) -> list[str]:
    """The files that some process has taken for a library."""
    return [file.name for file in folder.glob("taken *")]


@pytest.mark.row("P5")
async def test_no_file_beside_the_settings_takes_the_place_of_a_library_at_any_door(tmp_path: Path) -> None:
    tools = written(tmp_path, TOOLS)
    with ChatServer(answers) as model:
        async with doors_open(tmp_path, SETTINGS.format(url=model.url), tools) as place:
            for door in DOORS:
                for ask in filter(None, (door.ask, door.stream)):
                    told = await ask(place, "desk", "Hello", "")
                    assert SAID in told.text, (door.name, ask is door.stream, told)
            for words in (("doctor",), ("tasks", "list"), ("policy", "lint"), ("worker", "--check")):
                assert "this is no library" not in (await place.command(*words)).text, words
    assert taken(tmp_path) == []


@pytest.mark.row("P5")
async def test_a_task_that_no_process_can_build_says_so_at_once_and_every_other_door_answers(tmp_path: Path) -> None:
    tools = written(tmp_path, BROKEN + TOOLS)
    with ChatServer(answers) as model:
        async with doors_open(tmp_path, SETTINGS.format(url=model.url), tools) as place:
            asked: dict[str, JsonObject] = {
                "/v1/runs": {"agent": "desk", "question": "Hello", "execute_async": True},
                "/v1/tools/desk/call": {"arguments": {"task": "Hello"}, "execute_async": True},
            }
            tasks: list[str] = []
            for path, body in asked.items():
                begun = await place.http("POST", path, body)
                tasks.append(str(msgspec.json.decode(begun.text)["task_id"]))
            for door in DOORS:
                for ask in filter(None, (door.ask, door.stream)):
                    if door.name != "tasks":
                        told = await ask(place, "desk", "Hello", "")
                        assert SAID in told.text, (door.name, ask is door.stream, told)
            for task in tasks:
                found: list[JsonObject] = []

                async def says_so(task: str = task, found: list[JsonObject] = found) -> bool:
                    told = await place.http("GET", f"/v1/tasks/{task}")
                    found[:] = [msgspec.json.decode(told.text)]
                    return bool(found[0]["problem"])

                await until(says_so)
                assert (found[0]["state"], found[0]["result"]) == ("queued", None), found
                assert "no_such_library" in str(found[0]["problem"]), found
