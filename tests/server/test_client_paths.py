"""A client's own tool has paths of the client's machine: no door of `actum serve` looks one up on the server, so that a
client learns neither where links lead, nor the server's working folder and home.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import msgspec

from actum.core.call import ToolCall
from actum.core.json import Json, JsonObject
from actum.core.message import Reply
from actum.storage.place import open_journal
from tests.chat_server import ChatServer
from tests.patience import HANGS_S

from .doors import doors_open
from .test_published_doors import town

POLICY = """\
[[rules]]
tools = "fetch"
when = 'has(args.plain) && under(args.plain, "{links}/barred")'
then = "deny"
[[rules]]
tools = "fetch"
when = 'has(args.plain) && under(args.plain, "{hidden}")'
then = "deny"
"""

Body = Callable[[str, JsonObject], JsonObject]


def _said(text: str) -> Json:
    return [{"role": "user", "content": text}]


def _chat(text: str, schema: JsonObject) -> JsonObject:
    tool: JsonObject = {"type": "function", "function": {"name": "fetch", "parameters": schema}}
    return {"model": "desk", "messages": _said(text), "tools": [tool]}


def _functions(text: str, schema: JsonObject) -> JsonObject:
    return {"model": "desk", "messages": _said(text), "functions": [{"name": "fetch", "parameters": schema}]}


def _responses(text: str, schema: JsonObject) -> JsonObject:
    tool: JsonObject = {"type": "function", "name": "fetch", "parameters": schema, "strict": False}
    return {"model": "desk", "input": text, "tools": [tool]}


def _messages(text: str, schema: JsonObject) -> JsonObject:
    tool: JsonObject = {"name": "fetch", "input_schema": schema}
    return {"model": "desk", "messages": _said(text), "max_tokens": 100, "tools": [tool]}


def _gemini(text: str, schema: JsonObject) -> JsonObject:
    declared: JsonObject = {"name": "fetch", "parametersJsonSchema": schema}
    contents: Json = [{"role": "user", "parts": [{"text": text}]}]
    return {"contents": contents, "tools": [{"functionDeclarations": [declared]}]}


def _assistants(text: str, schema: JsonObject) -> JsonObject:
    tools: Json = [{"type": "function", "function": {"name": "fetch", "parameters": schema}}]
    return {"assistant_id": "desk", "thread": {"messages": _said(text)}, "tools": tools, "stream": True}


def _streamed(body: Body) -> Body:
    return lambda text, schema: {**body(text, schema), "stream": True}


DOORS: tuple[tuple[str, Body], ...] = (
    ("/v1/chat/completions", _chat),
    ("/v1/chat/completions", _streamed(_chat)),
    ("/v1/chat/completions", _functions),
    ("/v1/responses", _responses),
    ("/v1/responses", _streamed(_responses)),
    ("/v1/messages", _messages),
    ("/v1/messages", _streamed(_messages)),
    ("/v1beta/models/desk:generateContent", _gemini),
    ("/v1beta/models/desk:streamGenerateContent?alt=sse", _gemini),
    ("/v1/threads/runs", _assistants),
)
"""Each door that takes tools of its client."""


class Machine:
    """A server's working folder, and links beside it: `links/out` leads to another folder, `links/in` is a folder."""

    def __init__(self, folder: Path) -> None:
        self.cwd, self.links, self.hidden = folder / "working-folder", folder / "links", folder / "hidden-target"
        for each in (self.cwd, self.links, self.hidden, self.links / "in"):
            each.mkdir()
        (self.links / "out").symlink_to(self.hidden)

    @property
    def schema(self) -> JsonObject:
        """Of the client's tool."""
        kind: JsonObject = {"type": "string", "x-kind": {"name": "path", "under": str(self.links)}}
        plain: JsonObject = {"type": "string", "format": "path"}
        several: JsonObject = {"anyOf": [{"type": "array", "items": plain}, {"type": "null"}]}
        return {"type": "object", "properties": {"plain": plain, "kind": kind, "several": several}}

    def cases(self) -> tuple[tuple[JsonObject, str], ...]:
        """What the model says as arguments, and what the client is given; empty where the call is refused."""
        return (
            ({"plain": f"{self.links}/./out"}, f"{self.links}/out"),
            ({"kind": "out"}, f"{self.links}/out"),
            ({"plain": "../notes.txt"}, ""),
            ({"kind": "in"}, f"{self.links}/in"),
            ({"plain": f"{self.links}/in"}, f"{self.links}/in"),
            ({"plain": "notes.txt"}, "notes.txt"),
            ({"plain": "~/notes.txt"}, ""),
            ({"several": ["a//b", f"{self.links}/out/x"]}, f"{self.links}/out/x"),
            ({"plain": f"{self.links}/barred/x"}, ""),
        )

    def betrayed(self, text: str) -> list[str]:
        """What a text tells of this machine."""
        return [word for word in (self.cwd.name, self.hidden.name) if word in text]


async def test_no_path_of_a_clients_tool_is_looked_up_on_the_server(tmp_path: Path) -> None:
    """Not in an answer, an event, a record or an error; and `under` of a rule judges the text that the client gets."""
    machine = Machine(tmp_path)
    cases = machine.cases()

    def answer(asked: JsonObject) -> Reply | str:
        last = msgspec.convert(asked["messages"], list[dict[str, Any]])[-1]
        if last["role"] != "user":
            return "It can not be fetched."  # the call was refused
        return Reply.of(calls=[ToolCall("call_0", "fetch", cases[int(last["content"])][0])])

    (machine.cwd / "policy.toml").write_text(POLICY.format(links=machine.links, hidden=machine.hidden), "utf-8")
    with ChatServer(answer) as model:
        settings = f'model = "{model.url}#m"\npolicy = "policy.toml"\n[serve]\nhold_s = 0\n[agents.desk]\n'
        async with (
            doors_open(machine.cwd, settings) as place,
            httpx2.AsyncClient(base_url=place.url, timeout=HANGS_S) as client,
        ):
            for number, (path, body) in enumerate(DOORS):
                for case, (arguments, given) in enumerate(cases if number == 0 else cases[:3]):
                    told = await client.post(path, json=body(str(case), machine.schema))
                    assert told.status_code == 200, told.text
                    assert (given or "can not be fetched") in told.text.replace("\\/", "/"), (
                        path,
                        arguments,
                        told.text,
                    )
                    assert not machine.betrayed(told.text + str(told.headers)), (path, arguments, told.text)
            listed = (await client.get("/v1/runs?limit=100")).json()["items"]
            assert len(listed) == len(cases) + 3 * (len(DOORS) - 1)
            for name in [each["id"] for each in listed[-len(cases) :]]:
                told = await client.get(f"/v1/runs/{name}")
                assert (told.status_code, machine.betrayed(told.text)) == (200, []), told.text
    assert not machine.betrayed("".join(place.server.said))
    assert not machine.betrayed("".join([each.body.decode() for each in model.requests])), "what the model is told"
    journal = open_journal(machine.cwd / "runs.db")
    for run in [each["id"] for each in listed]:
        entries = await journal.read(run)
        assert not machine.betrayed(str([each.record for each in entries])), run
    await journal.close()


PUBLISHED = """\
actum: workflow/1
name: fetch
inputs:
  type: object
  properties:
    plain: {{type: string, format: path}}
    kind: {{type: string, x-kind: {{name: path, under: {links}}}}}
nodes: {{}}
outputs: {{plain: "${{inputs.plain?}}", kind: "${{inputs.kind?}}"}}
"""


async def test_nor_is_one_of_a_workflow_that_somebody_published(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    async with town(machine.cwd) as it:
        assert (await it.publish("fetch", PUBLISHED.format(links=machine.links))).status_code == 200
        for arguments, given in machine.cases():
            if "several" in arguments or not given:
                continue
            called = await it.ask("POST", "/v1/tools/fetch/call", {"arguments": arguments})
            assert given in called.text, (arguments, called.text)
            begun = await it.ask("POST", "/v1/workflows/fetch/run", {"inputs": arguments})
            assert begun.status_code == 202, (arguments, begun.text)
            assert not machine.betrayed(called.text + begun.text)
