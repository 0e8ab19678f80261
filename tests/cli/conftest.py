"""A folder, a journal and a command line of its own for every test."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import Result

from tests import warm
from tests.patience import HANGS_S

from .person import START, Person
from .typed import typed

Run = Callable[..., Result]

TOOLS = '''
from actum import Context, ToolError, tool

@tool(effects={"read"})
def add(a: int, b: int) -> int:
    """Add two numbers.

    Args:
        a: the first.
        b: the second.
    """
    return a + b

@tool(effects={"write"})
def keep(text: str) -> str:
    """Keep a text.

    Args:
        text: what to keep.
    """
    with open("kept.txt", "a", encoding="utf-8") as file:
        file.write(text)
    return "kept"

@tool(effects={"read"})
def find(name: str) -> str:
    """Find a person.

    Args:
        name: of the person.
    """
    raise ToolError(f"Nobody is called {name}.")

@tool(effects={"read"})
async def wait() -> str:
    """Wait until the end of time."""
    import asyncio
    await asyncio.Event().wait()
    return "never"
'''

MODELS = '''
from actum import ToolCall
from actum.core.errors import ModelUnavailable
from actum.core.message import Reply, ToolMessage, UserMessage
from actum.testing import ScriptedModel

def calling(name, /, **arguments):
    """A model that makes one call, then says what came of it."""
    def script(request):
        last = request.messages[-1]
        if isinstance(last, ToolMessage):
            return f"{name}: {last.result.text}"
        return ToolCall(id="1", name=name, arguments=arguments)
    return ScriptedModel(script, name=f"calling-{name}")

add = calling("add", a=2, b=3)
mended = calling("add", a="2", b=3)
keep = calling("keep", text="milk")
find = calling("find", name="Ann")
wait = calling("wait")
def forgetful(request):
    """A model that leaves out what it needs, until the user is asked for it."""
    said = [message.text for message in request.messages if isinstance(message, UserMessage)]
    return f"Thank you for {said[1]}." if len(said) > 1 else ToolCall(id="1", name="add", arguments={"a": 2})

forgets = ScriptedModel(forgetful, name="forgets")
nothing = ScriptedModel(lambda request: f"You said: {request.messages[-1].text}", name="nothing")
again = ScriptedModel(lambda request: ToolCall(id="1", name="add", arguments={"a": 1, "b": 1}), name="again")
away = ScriptedModel(lambda request: ModelUnavailable("the endpoint does not answer"), name="away")
nasty = ScriptedModel(lambda request: "red \\x1b[31malert\\x07 \\u202eevil", name="nasty")
chinese = ScriptedModel(lambda request: "好的，没问题。", name="chinese")
thinking = ScriptedModel(lambda request: Reply.of("Yes.", reasoning="I should say yes."), name="thinking")
counting = ScriptedModel(lambda request: str(sum(type(m).__name__ == "UserMessage" for m in request.messages)))
buggy = ScriptedModel(lambda request: 1 / 0, name="buggy")
number = 7
'''


ANSWERS_BY_HAND = """
import json, sys

for line in sys.stdin:
    asked = json.loads(line)
    given = asked.get("params", {})
    match asked["method"]:
        case _ if "id" not in asked:
            continue
        case "initialize":
            able = {"tools": {}, "prompts": {}}
            about = {"protocolVersion": "2025-11-25", "capabilities": able, "serverInfo": {"name": "desk"}}
            told = {"result": about}
        case "tools/list":
            told = {"result": {"tools": TOOLS}}
        case "tools/call":
            text = CALL(given["name"], **given["arguments"])
            told = {"result": {"content": [{"type": "text", "text": text}]}}
        case "prompts/list":
            told = {"result": {"prompts": PROMPTS}}
        case "prompts/get":
            text = GET(given["name"], **given["arguments"])
            told = {"result": {"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}}
        case other:
            told = {"error": {"code": -32601, "message": other}}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **told}), flush=True)
"""
"""The end of a program that is an MCP server with TOOLS and CALL, PROMPTS and GET.

A server on the SDK takes half a second of CPU to start; how actum talks with those is tested elsewhere
(`tests/toolsets/mcp`, `tests/end_to_end`).
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, with tools and models of the user's own and a journal in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    for server in ("OLLAMA", "LLAMACPP", "LMSTUDIO", "VLLM"):  # whatever runs on this machine is not looked at
        monkeypatch.setenv(f"{server}_HOST", "no-server.invalid")
    monkeypatch.setenv("ACTUM_LANG", "en")
    monkeypatch.setattr(
        sys, "path", [*sys.path]
    )  # a command looks for modules in its folder; the next test has another
    monkeypatch.delitem(sys.modules, "tools", raising=False)
    (tmp_path / "tools.py").write_text(TOOLS, "utf-8")
    (tmp_path / "models.py").write_text(MODELS, "utf-8")
    return tmp_path


@pytest.fixture
def run(home: Path) -> Run:
    """Type a command; nobody sits at the terminal."""
    return typed


@pytest.fixture
def person(home: Path) -> Iterator[Callable[..., Person]]:
    """Sit down at a terminal and type a command."""
    people: list[Person] = []

    def sit_down(*words: str) -> Person:
        people.append(Person(words, home))
        return people[-1]

    yield sit_down
    for somebody in people:
        somebody.close()


@pytest.fixture
def process(home: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a command as a process of its own, with pipes around it."""

    def command(*words: str, input: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
        # Where the variables are the interpreter's, such as the locale, one starts.
        start = warm.run if environment.keys().isdisjoint(warm.OF_THE_INTERPRETER) else subprocess.run
        return start(
            [sys.executable, "-W", "error", "-c", START, *words],
            input=input,
            capture_output=True,
            encoding="utf-8",
            cwd=home,
            env={"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": os.pathsep.join(sys.path)} | environment,
            check=False,
            timeout=HANGS_S,
        )

    return command
