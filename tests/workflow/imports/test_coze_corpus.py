"""Coze canvases of our own, in the format that Coze publishes: `tests/workflow/coze`.

Each case is a `.canvas.json` file, and beside it a `.json` file with the inputs and with what Coze gives, written by
hand. `why` names the file of Coze Studio (`backend/domain/workflow`) that says so.
"""

from pathlib import Path

import msgspec
import pytest

from actum.workflow.imports.coze import import_coze
from actum.workflow.load import check_text
from examples.local_services.serving import serving
from tests.workflow.imports.corpus import ECHO, carried_out

CORPUS = Path(__file__).parent.parent / "coze"


@pytest.mark.row("F1")
async def test_every_canvas_of_the_corpus_does_here_what_it_does_in_coze() -> None:
    wrong: list[str] = []
    paths = sorted(CORPUS.glob("*.canvas.json"))
    assert len(paths) >= 20
    async with serving(ECHO) as (url,):
        for path in paths:
            name = path.name.removesuffix(".canvas.json")
            case = msgspec.json.decode((CORPUS / f"{name}.json").read_bytes())
            imported = import_coze(path.read_text(encoding="utf-8").replace("http://HOST", url))
            wrong += [f"{name}: {problem}" for problem in check_text(imported.text).problems]
            if imported.report.exit_code != case["exit"]:
                lines = [str(line) for line in imported.report.lines if line.status in ("open", "lost")]
                wrong.append(f"{name}: exit {imported.report.exit_code}: {lines}")
            if case["status"] == "open":  # nothing here stands for these nodes before a person has chosen tools
                continue
            done = await carried_out(imported, case)
            if done.status == "unavailable":
                continue
            if (done.status, done.outputs) != (case["status"], case["outputs"]):
                wrong.append(f"{name}:\n  {done.status, done.outputs, done.said}\n  {case['outputs']}\n{imported.text}")
            if case["nodes"] is not None and done.taken != sorted(case["nodes"]):
                wrong.append(f"{name}: took {done.taken}")
            if "said" in case and done.said != case["said"]:
                wrong.append(f"{name}: said {done.said}")
            wrong += [f"{name}: {each}" for each in done.wrong]
    assert not wrong, "\n".join(wrong)
