"""Carries an imported workflow out with scripted models and tools, for the files of the corpora."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct, structs
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from actum.core.call import ToolCall, ToolResult
from actum.core.errors import WorkflowFailed
from actum.core.interfaces import Context
from actum.core.json import JsonObject
from actum.core.run.node_records import NodeLeft
from actum.core.tool import Tool
from actum.journal.memory import MemoryJournal
from actum.policy.rules import Rule, Rules
from actum.testing import ScriptedModel
from actum.workflow.imports.imported import ImportedApp
from actum.workflow.load import read_definition
from actum.workflow.workflow import Workflow


class Recorder:
    """Tools that answer with their names, or with what `gives` says, and keep what they were given."""

    generation = 0

    def __init__(self, names: Sequence[str], gives: JsonObject) -> None:
        self._names = names
        self._gives = gives
        self.given: dict[str, JsonObject] = {}

    async def list_tools(self) -> Sequence[Tool]:
        return [
            Tool(
                name=name,
                description=name,
                parameters={"type": "object"},
                effects=frozenset(),
                knowledge=True,
            )
            for name in self._names
        ]

    async def execute(self, call: ToolCall, context: Context) -> ToolResult:
        self.given[call.name] = call.arguments
        return ToolResult(call.id, structured=self._gives.get(call.name, call.name))


async def _echo(request: Request) -> PlainTextResponse:
    body = (await request.body()).decode()
    said = f"{request.method} {request.url.query} {request.headers.get('x-one', '')} {body}"
    return PlainTextResponse(said)


ECHO = Starlette(routes=[Route("/echo", _echo, methods=["GET", "POST"])])


def _turn(call: JsonObject) -> ToolCall:
    return ToolCall("1", "answer", call)


class CarriedOut(Struct, frozen=True):
    """What an imported workflow did.

    Attributes:
        status: how the run ended; `unavailable` where no layer of the sandbox holds on this machine.
        outputs: what the workflow gave.
        taken: the ids of the nodes that were carried out, as the foreign file has them.
        said: what was said to the user.
        wrong: what was asked of models and tools in another way than the case says.
    """

    status: str
    outputs: JsonObject
    taken: list[str]
    said: str
    wrong: list[str]


async def carried_out(imported: ImportedApp, case: dict[str, Any]) -> CarriedOut:
    """Carry an imported workflow out as its case says."""
    definition = structs.replace(read_definition(imported.text), imported="")  # as if a person had published it
    nodes = _nodes(msgspec.json.decode(definition.text)["nodes"])
    tools = Recorder(list(case.get("tools", {})), case.get("gives", {}))
    replies = [*case.get("replies", ()), *map(_turn, case.get("calls", ()))]
    model = ScriptedModel(replies)
    journal = MemoryJournal()
    flow = Workflow(
        definition,
        [tools],
        models={str(node["model"]): model for node in nodes.values() if "model" in node},
        journal=journal,
        policy=Rules(Rule("allow")),
        secrets=case.get("secrets", {}),
    )
    run_id, status, outputs, said = "run_oracle", "failed", JsonObject(), ""
    try:
        result = await flow.run(case.get("inputs", {}), run_id=run_id)
        for answer in case.get("answers", ()):
            result = await flow.resume(run_id, {result.pending[0].id: answer})
        status, outputs, said = result.status, result.output, result.text
    except WorkflowFailed as failure:
        said = f"{failure.code}: {failure}"
        if failure.code == "unavailable":
            status = "unavailable"
    finally:
        await flow.aclose()
    wrong = [
        f"{name}: {tools.given.get(name)}"
        for name, given in case.get("tools", {}).items()
        if tools.given.get(name) != given
    ]
    asked = "\n".join(str(each.messages) for each in model.requests)
    wrong += [f"not asked: {words}" for words in case.get("asked", ()) if words not in asked]
    handled = {name for name, node in nodes.items() if "on_error" in node and node["type"] != "each"}
    ids = {name: id_ for id_, name in imported.report.names.items()}
    taken = set()
    for entry in await journal.read(run_id):
        if isinstance(entry.record, NodeLeft):
            name = entry.record.path.rpartition("/")[2]
            if name in ids and (entry.record.status == "done" or (name in handled and status == "done")):
                taken.add(ids[name])
    return CarriedOut(status, outputs, sorted(taken), said, wrong)


def _nodes(nodes: JsonObject) -> dict[str, JsonObject]:
    found: dict[str, JsonObject] = {}
    for name, node in nodes.items():
        assert isinstance(node, dict)
        found[name] = node
        if isinstance(node.get("nodes"), dict):
            found |= _nodes(node["nodes"])  # type: ignore[arg-type]
    return found
