"""Dify files of our own, against what Dify's own engine answers: `tests/workflow/dify`, recorded by `record.py` there.

Each case is a `.yml` file, and beside it a `.json` file with the inputs, the outputs and the nodes that were taken.
`recorded` says who answered: graphon, or a person by hand where graphon refuses the file or asks a model.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import structs
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from actum.core.call import ToolCall, ToolResult
from actum.core.errors import WorkflowFailed
from actum.core.interfaces import Context
from actum.core.json import JsonObject
from actum.core.record import NodeLeft
from actum.core.tool import Tool
from actum.journal.memory import MemoryJournal
from actum.policy.rules import Rule, Rules
from actum.testing import ScriptedModel
from actum.workflow.imports.dify import ImportedApp, import_dify
from actum.workflow.load import check_text, read_definition
from actum.workflow.workflow import Workflow
from examples.local_services.serving import serving

CORPUS = Path(__file__).parent.parent / "dify"
STARTS = (
    "start",
    "iteration-start",
    "loop-start",
    "trigger-webhook",
    "trigger-schedule",
    "trigger-plugin",
    "datasource",
)
TYPES = {
    *("start", "end", "answer", "llm", "knowledge-retrieval", "knowledge-index", "if-else", "code", "tool", "agent"),
    *("template-transform", "question-classifier", "http-request", "datasource", "variable-aggregator", "loop"),
    *("loop-start", "loop-end", "iteration", "iteration-start", "parameter-extractor", "assigner"),
    *("document-extractor", "list-operator", "trigger-webhook", "trigger-schedule", "trigger-plugin", "human-input"),
    "variable-assigner",
}


class Recorder:
    """Tools that answer with their names, and keep what they were given."""

    generation = 0

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self.given: dict[str, JsonObject] = {}

    async def list_tools(self) -> Sequence[Tool]:
        return [
            Tool(name=name, description=name, parameters={"type": "object"}, effects=frozenset())
            for name in self._names
        ]

    async def execute(self, call: ToolCall, context: Context) -> ToolResult:
        self.given[call.name] = call.arguments
        return (
            ToolResult.of(call.id, call.name)
            if hasattr(ToolResult, "of")
            else ToolResult(call.id, structured=call.name)
        )


async def _echo(request: Request) -> PlainTextResponse:
    body = (await request.body()).decode()
    said = f"{request.method} {request.url.query} {request.headers.get('x-one', '')} {body}"
    return PlainTextResponse(said)


ECHO = Starlette(routes=[Route("/echo", _echo, methods=["GET", "POST"])])


def _turn(call: JsonObject) -> ToolCall:
    return ToolCall("1", "answer", call)


async def carried_out(imported: ImportedApp, case: dict[str, Any]) -> tuple[str, JsonObject, list[str], list[str]]:
    """Status, outputs and taken nodes of an imported workflow, and what is wrong with what it asked for."""
    definition = structs.replace(read_definition(imported.text), imported="")  # as if a person had published it
    tools = Recorder(list(case.get("tools", {})))
    replies = [*case.get("replies", ()), *map(_turn, case.get("calls", ()))]
    model = ScriptedModel(replies)
    journal = MemoryJournal()
    flow = Workflow(
        definition,
        [tools],
        models={"openai:gpt-4o-mini": model},
        journal=journal,
        policy=Rules(Rule("allow")),
        secrets=case.get("secrets", {}),
    )
    run_id, status, outputs = "run_oracle", "failed", JsonObject()
    try:
        result = await flow.run(case.get("inputs", {}), run_id=run_id)
        for answer in case.get("answers", ()):
            result = await flow.resume(run_id, {result.pending[0].id: answer})
        status, outputs = result.status, result.output
    except WorkflowFailed as failure:
        if failure.code == "unavailable":
            pytest.skip("no layer of the sandbox holds on this machine")
    finally:
        await flow.aclose()
    wrong = [
        f"{name}: {tools.given.get(name)}"
        for name, given in case.get("tools", {}).items()
        if tools.given.get(name) != given
    ]
    asked = "\n".join(str(each.messages) for each in model.requests)
    wrong += [f"not asked: {words}" for words in case.get("asked", ()) if words not in asked]
    handled = {
        name for name, node in _nodes(msgspec.json.decode(definition.text)["nodes"]).items() if "on_error" in node
    }
    ids = {name: id_ for id_, name in imported.report.names.items()}
    taken = set()
    for entry in await journal.read(run_id):
        if isinstance(entry.record, NodeLeft):
            name = entry.record.path.rpartition("/")[2]
            if name in ids and (entry.record.status == "done" or (name in handled and status == "done")):
                taken.add(ids[name])
    return status, outputs, sorted(taken), wrong


def _nodes(nodes: JsonObject) -> dict[str, JsonObject]:
    found: dict[str, JsonObject] = {}
    for name, node in nodes.items():
        assert isinstance(node, dict)
        if "on_error" in node and node["type"] != "each":
            found[name] = node
        if isinstance(node.get("nodes"), dict):
            found |= _nodes(node["nodes"])  # type: ignore[arg-type]
    return found


@pytest.mark.row("F1")
async def test_every_dify_file_of_the_corpus_does_here_what_it_does_in_dify() -> None:
    wrong: list[str] = []
    paths = sorted(CORPUS.glob("*.yml"))
    assert len(paths) >= 40
    async with serving(ECHO) as (url,):
        for path in paths:
            case = msgspec.json.decode(path.with_suffix(".json").read_bytes())
            text = path.read_text(encoding="utf-8").replace("http://HOST", url)
            imported = import_dify(text)
            problems = check_text(imported.text).problems
            if problems:
                wrong.append(f"{path.stem}: {problems[0]}")
                continue
            status, outputs, nodes, others = await carried_out(imported, case)
            wanted = (case["status"], case["outputs"], case["nodes"])
            if status == "failed" == case["status"]:
                continue
            if (status, outputs, nodes) != wanted:
                wrong.append(f"{path.stem}:\n  {status, outputs, nodes}\n  {wanted}")
            wrong += [f"{path.stem}: {each}" for each in others]
            expected = case.get("exit", 0)
            if (expected == 4 and imported.report.exit_code != 4) or (expected != 4 and imported.report.exit_code == 4):
                lost = [str(line) for line in imported.report.lines if line.status == "lost"]
                wrong.append(f"{path.stem}: exit {imported.report.exit_code}: {lost}")
    assert not wrong, "\n".join(wrong)


def test_the_corpus_has_every_type_of_node_and_most_answers_are_those_of_dify() -> None:
    kinds: set[str] = set()
    for path in CORPUS.glob("*.yml"):
        text = path.read_text(encoding="utf-8")
        kinds |= {kind for kind in TYPES if f"type: {kind}\n" in text}
    kinds |= {"variable-assigner"}
    assert kinds == TYPES
    recorded = [msgspec.json.decode(path.read_bytes())["recorded"] for path in CORPUS.glob("*.json")]
    assert recorded.count("graphon 0.8.0") >= 40
    assert set(recorded) == {"graphon 0.8.0", "by hand"}
