"""The logic of the pages, which is plain TypeScript, tested by its own tests."""

from __future__ import annotations

import re
from pathlib import Path

from actum.call.asking import question
from actum.core.run import risk
from actum.policy import rules
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


def test_the_logic_of_the_pages_passes_its_own_tests(bundle: None) -> None:
    hatch_build.run_npm("run", "test")


def test_the_types_of_nodes_on_the_canvas_are_those_of_workflows() -> None:
    assert node_types.FILE.read_text("utf-8") == node_types.written(), "python -m tests.studio.node_types"
