"""Clients see names that the operator gave: no door tells where a model is, and no caller can tell an agent that others
use from a name that nobody has.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from actum.core.call import ToolCall
from actum.core.json import JsonObject
from actum.core.message import Reply
from tests.chat_server import ChatServer, Raw

from .doors import DOORS, Door, Place, Told, doors_open

HOST = "localhost"
"""Where the models are. The server itself is told by its number alone."""
TOOLS = '''\
from actum import tool


@tool(effects={"read"})
def look(task: str) -> str:
    """Look."""
    return f"I looked: {task}"
'''
FLOW = """\
actum: workflow/1
name: flow
inputs: {type: object, required: [task], properties: {task: {type: string}}}
nodes:
  ask: {type: model, model: fast, prompt: "${inputs.task}"}
outputs: {said: "${ask.text?}"}
"""
SETTINGS = """\
model = "{url}#qwen3"
tools = ["tools.py"]
policy = ""
[models.fast]
upstreams = ["{url}#qwen3"]
[models.away]
upstreams = ["http://localhost:9/v1#qwen3"]
[models."any-*"]
upstreams = ["{url}#*"]
[workflows.flow]
file = "flow.workflow.yaml"
models = {{fast = "{url}#qwen3"}}
[agents.desk]
tools = ["tools.py"]
[agents.lead]
agents = ["desk"]
tools = []
[agents.gone]
model = "http://localhost:9/v1#qwen3"
[agents.vault]
roles = ["boss"]
description = "For the boss alone."
[agents.safes]
users = ["zoe"]
[agents.zebra]
tools = []
"""


class Leak(NamedTuple):
    """What tells where a model is: the host, the port, the scheme before the host."""

    host: str
    port: str

    def found_in(self, told: Told) -> str:
        """Where it stands in an answer; empty where it does not."""
        text = f"{told.text}\n{dict(told.headers)}"
        port = re.search(rf"(?<![0-9a-fA-F]){self.port}(?![0-9a-fA-F])", text)
        at = text.find(self.host) if self.host in text else port.start() if port else -1
        return text[max(0, at - 150) : at + 100] if at >= 0 else ""


def says(request: JsonObject) -> str | Reply | Raw:
    """What the model says. One that is told to fail tells its own address."""
    text = str(request)
    if "Fail" in text:
        host = f"http:\\/\\/{HOST}:{says.port}"  # type: ignore[attr-defined]
        return Raw((b'{"error": {"message": "%s said no"}}' % host.encode(),), 400)
    if "'desk'" in text and "'role': 'tool'" not in text:
        return Reply.of(calls=[ToolCall("c", "desk", {"task": "Fail"})])
    if "'look'" in text and "'role': 'tool'" not in text:
        return Reply.of(calls=[ToolCall("c", "look", {"task": "it"})])
    return "Done."


def settings_of(url: str, folder: Path) -> str:
    """The settings, with the model at `localhost`."""
    (folder / "flow.workflow.yaml").write_text(FLOW, "utf-8")
    says.port = url.partition("//")[2].partition("/")[0].partition(":")[2]  # type: ignore[attr-defined]
    return SETTINGS.format(url=url.replace("127.0.0.1", HOST))


SCOPES = ("--scope", "runs", "--scope", "tools", "--scope", "models")
KEYS = {
    "ann": SCOPES,
    "narrow": (*SCOPES, "--agent", "desk", "--tool", "look", "--model", "fast"),
    "boss": (*SCOPES, "--role", "boss"),
    "root": ("--user", "ann", "--scope", "runs", "--scope", "admin"),
}


class Keyed(NamedTuple):
    """A server that wants keys.

    Attributes:
        place: the server.
        keys: their texts, by name.
        leak: what must not be told.
    """

    place: Place
    keys: dict[str, str]
    leak: Leak


@asynccontextmanager
async def keyed(folder: Path) -> AsyncIterator[Keyed]:
    """A server that finds its keys when it starts."""
    with ChatServer(says) as model:
        settings = settings_of(model.url, folder)
        async with doors_open(folder, settings, TOOLS) as place:
            keys = {name: await place.key(name, *flags) for name, flags in KEYS.items()}
        async with doors_open(folder, settings, TOOLS) as place:
            yield Keyed(place, keys, Leak(HOST, says.port))  # type: ignore[attr-defined]


def names_at(door: Door) -> list[tuple[str, str]]:
    """The names and texts to ask for."""
    if door.keyless:
        return []
    flow = [("flow", "Hello"), ("flow", "Fail")]
    if door.answers == "tool":
        return [("look", "Hello"), *flow]
    gone = [("gone", "Hello")] if door.name in ("chat", "runs", "a2a") else []  # it is asked three times, in seconds
    return [("desk", "Hello"), ("desk", "Fail"), ("lead", "Hello"), *flow, *gone]


LISTS = (
    *("/v1/models", "/v1beta/models", "/v1/models/fast", "/v1/models/desk", "/v1/assistants", "/v1/assistants/desk"),
    *("/v1/runs", "/v1/tasks", "/v1/tools", "/v1/workflows", "/v1/workflows/flow", "/v1/approvals", "/v1/sessions"),
    *("/openapi.json", "/readyz", "/.well-known/agent-card.json", "/a2a/desk/.well-known/agent-card.json"),
    *("/a2a/desk/.well-known/agent.json", "/a2a/desk/rest/extendedAgentCard", "/a2a/desk/rest/tasks"),
)


@pytest.mark.row("S9")
async def test_no_door_tells_a_client_where_a_model_is(tmp_path: Path) -> None:
    async with keyed(tmp_path) as (place, keys, leak):
        key = keys["ann"]
        heard: dict[str, Told] = {}
        for door in DOORS:
            for name, text in names_at(door):
                heard[f"{door.name} {name} {text}"] = await door.ask(place, name, text, key)
                if door.stream is not None:
                    heard[f"{door.name} {name} {text}, streamed"] = await door.stream(place, name, text, key)
        for path in LISTS:
            heard[path] = await place.http("GET", path, None, key)
        runs = msgspec.json.decode(heard["/v1/runs"].text, type=JsonObject)["items"]
        assert isinstance(runs, list)
        for run in runs:
            assert isinstance(run, dict)
            assert run["model"] in ("qwen3", "", "workflow:flow"), run
            for path in (f"/v1/runs/{run['id']}", f"/v1/runs/{run['id']}/events"):
                heard[path] = await place.http("GET", path, None, key)
        for model_name in (
            "fast",
            "away",
            "any-thing",
            "any-../x",
            f"http://{HOST}:{leak.port}/v1#qwen3",
            f"qwen3@{HOST}",
        ):
            for text in ("Hello", "Fail"):
                said = {"model": model_name, "messages": [{"role": "user", "content": text}], "max_tokens": 9}
                for path in ("/v1/chat/completions", "/v1/messages"):
                    heard[f"{path} {model_name} {text}"] = await place.http("POST", path, said, key)
        shown = (await place.http("GET", "/v1/runs", None, keys["root"])).text
        assert f"qwen3@{HOST}:{leak.port}" in shown  # an administrator is told
    asked_for = {name for name in heard if f"/{HOST}" in name or f"@{HOST}" in name}  # the client's own words come back
    leaks = {name: leak.found_in(told) for name, told in heard.items() if leak.found_in(told)}
    assert {name: leaks[name] for name in leaks.keys() - asked_for} == {}
    assert all(heard[name].status == 404 for name in asked_for)
    assert heard["/v1/chat/completions fast Hello"].status == 200
    told = {each["id"] for each in msgspec.json.decode(heard["/v1/models"].text)["data"]}
    assert told == {"fast", "away", "desk", "gone", "lead", "zebra", "flow"}


def masked(told: Told, name: str) -> tuple[int, str, list[str]]:
    """An answer without what differs from request to request: the name that was asked for, and ids."""
    text = re.sub(r"\b[0-9a-f]{32}\b", "ID", told.text).replace(name, "NAME")
    return told.status, text, sorted(set(told.headers) - {"date"})


@pytest.mark.row("S9")
async def test_an_agent_that_a_caller_may_not_use_is_told_from_no_name_that_nobody_has(tmp_path: Path) -> None:
    async with keyed(tmp_path) as (place, keys, _):
        for who, names in {"ann": ("vault", "safes"), "narrow": ("vault", "zebra")}.items():
            key = keys[who]
            for name in names:
                for path in ("/v1/models", "/v1beta/models", "/v1/assistants"):
                    assert name not in (await place.http("GET", path, None, key)).text, (who, path, name)
                for path in ("/v1/models/{}", "/v1beta/models/{}", "/v1/assistants/{}", "/v1/workflows/{}"):
                    await same(place, path.format(name), path.format("nobod"), name, key)
                if who == "ann":  # the card of an agent for everybody needs no key
                    for path in ("/a2a/{}/.well-known/agent-card.json", "/a2a/{}/rest/extendedAgentCard"):
                        await same(place, path.format(name), path.format("nobod"), name, key)
                for door in DOORS:
                    if door.keyless or door.name == "a2a grpc" or (door.answers == "tool" and who == "ann"):
                        continue
                    asked = "flow" if door.answers == "tool" else name
                    for ask in (door.ask, door.stream):
                        if ask is None:
                            continue
                        ours = masked(await ask(place, asked, "Hello", key), asked)
                        nobodys = masked(await ask(place, "nobod", "Hello", key), "nobod")
                        assert ours == nobodys, (who, door.name, asked)
                        assert ours[0] == 404 or "error" in ours[1], (who, door.name, ours)
        assert "vault" in (await place.http("GET", "/v1/models", None, keys["boss"])).text
        assert (await DOORS[0].ask(place, "vault", "Hello", keys["boss"])).status == 200


async def same(place: Place, path: str, other: str, name: str, key: str) -> None:
    """Two paths are answered the same but for the name."""
    new = {"a2a_version": "1.0"} if "/rest/" in path else {}
    ours = await place.http("GET", path, None, key, **new)
    nobodys = await place.http("GET", other, None, key, **new)
    assert masked(ours, name) == masked(nobodys, "nobod"), path
    assert ours.status == 404, path
