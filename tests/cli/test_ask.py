"""`actum ask`: a question is answered with references that a program has checked, or it is not answered."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from tests.knowledge import files

pytestmark = pytest.mark.row("T7")
Run = Callable[..., Result]
RECORD = ("--journal", "runs.db")
MODEL = """
from actum import ToolCall
from actum.core.message import Reply
from actum.testing import ScriptedModel


def scripted(*answers):
    words = {"text": "A hotel may cost 120 euros"}
    calls = [("search", {"query": "hotel"}), ("click", {"number": 0}), ("quote", words)]
    return ScriptedModel([*(Reply.of(calls=[ToolCall("c", name, given)]) for name, given in calls), *answers])


good = scripted("It is free.", "A hotel may cost 120 euros [1].")
partly = scripted(*["A hotel may cost 120 euros [1].\\n\\nBreakfast is free."] * 3)
bad, worse = (scripted(*["A hotel may cost 130 euros [1]."] * 3) for _ in range(2))
"""


def test_a_question_is_answered_with_checked_references_or_it_is_not_answered(run: Run) -> None:
    Path("docs").mkdir()
    Path("docs/travel.md").write_text("# Travel\n\nA hotel may cost 120 euros.\n")
    Path("models.py").write_text(MODEL)
    run("knowledge", "add", "rules", "docs", *RECORD)
    asked = ("ask", "What may a hotel cost?", "--knowledge", "rules", *RECORD, "--model")
    good = run(*asked, "models.py:good")
    assert (good.exit_code, "A hotel may cost 120 euros [1]." in good.stdout) == (0, True), good.output
    assert "Travel, knowledge:rules/travel.md:3-3" in good.stdout
    partly = json.loads(run(*asked, "models.py:partly", "--json").stdout)
    assert (partly["status"], partly["answer"]) == ("answered", "A hotel may cost 120 euros [1].")
    assert partly["left_out"] == [{"text": "Breakfast is free.", "problem": "no_reference"}]
    (reference,) = partly["references"]
    assert (reference["number"], reference["quote"], reference["verified"]) == (1, "A hotel may cost 120 euros", True)
    bad = run(*asked, "models.py:bad")
    assert (bad.exit_code, "130" in bad.stdout) == (1, False)
    assert "no answer that a quote backs. Looked for: hotel" in bad.stdout
    assert "Travel, knowledge:rules/travel.md" in bad.stdout
    told = json.loads(run(*asked, "models.py:worse", "--json").stdout)
    assert (told["status"], told["answer"], told["references"]) == ("abstained", "", [])
    embedded = run(*asked, "embedded")
    assert (embedded.exit_code, "“A hotel may cost 120 euros” [1]" in embedded.stdout) == (0, True), embedded.output
    assert run("ask", "zebra?", "--knowledge", "rules", *RECORD, "--model", "embedded").exit_code == 1
    Path("docs/差旅.md").write_text("# 差旅\n\n每晚酒店最多一百二十欧元。\n", "utf-8")
    assert run("knowledge", "update", "rules", *RECORD).exit_code == 0
    for question, code in (("酒店每晚多少钱？", 0), ("月亮有多远？", 1)):
        assert run("ask", question, "--knowledge", "rules", *RECORD, "--model", "embedded").exit_code == code
    for wrong, why in (
        (("ask", "x"), "--knowledge NAME"),
        (("ask", "x", "--knowledge", "none"), "there is no collection"),
    ):
        refused = run(*wrong, *RECORD)
        assert (refused.exit_code, why in refused.stderr) == (2, True)


def test_a_question_that_was_interrupted_goes_on_by_its_record_in_the_language_that_was_asked_for(run: Run) -> None:
    Path("docs").mkdir()
    Path("docs/travel.md").write_text("# Travel\n\nA hotel may cost 120 euros.\n")
    Path("models.py").write_text(
        f"{MODEL}\nbroken = scripted()\nlater = ScriptedModel(['It may cost 120 euros [1].'])\n"
    )
    run("knowledge", "add", "rules", "docs", *RECORD)
    asked = ("ask", "What may a hotel cost?", "--knowledge", "rules", "--lang", "zh", *RECORD)
    assert run(*asked, "--model", "models.py:broken").exit_code != 0
    gone_on = run("resume", "last", *RECORD, "--model", "models.py:later")
    assert (gone_on.exit_code, "[1] “A hotel may cost 120 euros”" in gone_on.stdout) == (0, True), gone_on.output
    refused = run("ask", "x", "--knowledge", "rules", "--lang", "xx", *RECORD)
    assert (refused.exit_code, "--lang" in refused.stderr) == (2, True)


def test_a_file_is_asked_without_a_collection_and_leaves_none_behind(run: Run) -> None:
    Path("lease.pdf").write_bytes(files.pdf("Notice\nThe period of notice is three months.", title="Lease"))
    asked = run("ask", "When can I give notice?", "--attach", "lease.pdf", "--model", "embedded", *RECORD)
    assert asked.exit_code == 0, asked.output
    assert "“The period of notice is three months” [1]" in asked.stdout
    assert "Lease, attachment:lease.pdf#1" in asked.stdout
    assert run("references", "last", *RECORD).exit_code == 0
    assert json.loads(run("knowledge", "list", "--json", *RECORD).stdout)["items"] == []
    Path("photo.jpg").write_text("x")
    os.mkfifo("pipe.pdf")
    for name, why in (
        ("photo.jpg", "files of this kind are not read"),
        ("none.pdf", "can not be read"),
        ("pipe.pdf", "pipe.pdf can not be read: It is a pipe"),
    ):
        refused = run("ask", "What?", "--attach", name, "--model", "embedded", *RECORD)
        assert (refused.exit_code, why in refused.stderr) == (2, True), refused.output
    assert json.loads(run("knowledge", "list", "--json", *RECORD).stdout)["items"] == []
