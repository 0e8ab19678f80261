"""The logic of the pages, which is plain TypeScript, tested by its own tests."""

from __future__ import annotations

import re
from pathlib import Path

from actum import workflow
from actum.agents.gates import INVALID_OUTPUT
from actum.agents.planning import NO_PROGRESS, PLAN_OPEN
from actum.agents.turn import NO_REPLY
from actum.call.asking import question
from actum.core import errors
from actum.core.run import risk
from actum.core.run.task import TIMED_OUT, WORKFLOW_FAILED
from actum.policy import rules
from actum.runs import wording
from packages.studio import hatch_build

from . import node_types


def test_the_sentences_of_the_record_that_pages_translate_are_those_of_the_server() -> None:
    own = (hatch_build.WEB / "src" / "core" / "own.ts").read_text("utf-8").partition("dictionary(")[2]
    sentences = re.findall(r': "([ -~]+)",', own)
    server = "".join(Path(module.__file__).read_text("utf-8") for module in (rules, question) if module.__file__)
    assert len(sentences) > 5
    assert [each for each in sentences if f'"{each}"' not in server] == []


def test_the_sentences_of_the_defence_are_those_of_the_server() -> None:
    page = (hatch_build.WEB / "src" / "core" / "risk.ts").read_text("utf-8").partition("dictionary(")[2]
    sentences = re.findall(r': "([ -~]+)",', page)
    assert len(sentences) == 8
    assert [each for each in sentences if f'"{each}"' not in Path(risk.__file__).read_text("utf-8")] == []


def test_pages_say_in_their_language_why_a_run_ended_and_of_which_kind_an_error_is() -> None:
    page = (hatch_build.WEB / "src" / "core" / "ended.ts").read_text("utf-8")
    english, chinese = (set(re.findall(r"^    (\w+):", each, re.MULTILINE)) for each in page.split("\n  {\n")[1:3])
    raised = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    words = {kind.code for kind in raised if issubclass(kind, errors.CallError)}
    words |= {
        kind.__name__ for kind in raised if issubclass(kind, errors.ModelError) and kind.__module__ == errors.__name__
    }
    told = Path(wording.__file__).read_text("utf-8")
    words |= set(re.findall(r'^    "(\w+)": "I (?:stopped|did)', told, re.MULTILINE))
    for module in Path(workflow.__file__).parent.glob("*.py"):
        words |= set(re.findall(r'NodeFailed\("(\w+)"', module.read_text("utf-8")))
    words |= {
        INVALID_OUTPUT,
        NO_PROGRESS,
        PLAN_OPEN,
        NO_REPLY,
        WORKFLOW_FAILED,
        TIMED_OUT,
        "ok",
        "length",
        "content_filter",
    }
    assert words - english == {"ScriptExhausted"}
    assert english == chinese


def test_the_logic_of_the_pages_passes_its_own_tests(bundle: None) -> None:
    hatch_build.run_npm("run", "test")


def test_the_types_of_nodes_on_the_canvas_are_those_of_workflows() -> None:
    assert node_types.FILE.read_text("utf-8") == node_types.written(), "python -m tests.studio.node_types"
