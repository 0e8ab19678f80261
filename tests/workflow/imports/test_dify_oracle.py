"""Dify files of our own, against what Dify's own engine answers: `tests/workflow/dify`, recorded by `record.py` there.

Each case is a `.yml` file, and beside it a `.json` file with the inputs, the outputs and the nodes that were taken.
`recorded` says who answered: graphon, or a person by hand where graphon refuses the file or asks a model.
"""

from pathlib import Path

import msgspec
import pytest

from actum.workflow.imports.dify import import_dify
from actum.workflow.load import check_text
from examples.local_services.serving import serving
from tests.workflow.imports.corpus import ECHO, carried_out

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
            done = await carried_out(imported, case)
            status, outputs, nodes = done.status, done.outputs, done.taken
            if status == "unavailable":
                continue
            wanted = (case["status"], case["outputs"], case["nodes"])
            if status == "failed" == case["status"]:
                continue
            if (status, outputs, nodes) != wanted:
                wrong.append(f"{path.stem}:\n  {status, outputs, nodes}\n  {wanted}")
            wrong += [f"{path.stem}: {each}" for each in done.wrong]
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
