"""Tools of LangChain and LlamaIndex here, and ours there: in one process that has the frameworks beside actum."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actum.core.run.record import Ended, Started
from actum.storage.sqlite import SQLiteJournal
from tests.patience import HANGS_S
from tests.peers import install

PROGRAM = Path(install.__file__).parent / "clients" / "frameworks.py"
PACKAGES = f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"


@pytest.mark.row("T12")
@pytest.mark.row("T8")
async def test_tools_of_frameworks_are_called_here_and_ours_there_take_the_call_path(tmp_path: Path) -> None:
    site = install.py_bin("frameworks", "python").parents[1] / PACKAGES
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, PROGRAM, tmp_path / "runs.db", site),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    said, problems = await asyncio.wait_for(process.communicate(), HANGS_S)
    assert process.returncode == 0, problems.decode()[-3_000:]
    heard = msgspec.json.decode(said, type=dict[str, Any])
    assert heard["loaded by actum"] == []
    theirs_here(heard)
    ours_there(heard)
    await on_record(heard, tmp_path / "runs.db")


def theirs_here(heard: dict[str, Any]) -> None:
    assert [each[:2] for each in heard["langchain"]] == [
        ["order", ""],
        ["order", "invalid_arguments"],  # fits the schema, and not the check of its class
        ["look", ""],
        ["look", "tool_error"],
        ["look", "tool_bug"],
        ["paint", ""],
        ["own", ""],
        ["one_text", ""],
    ]
    told = [each[2] for each in heard["langchain"]]
    assert told[0] == "ordered 1 of 7"
    assert "nobody sells so much" in told[1]
    assert told[2:4] == ["here True", "It is dark."]  # with the id of the call, which the model is not asked for
    assert "/secret/path" not in told[4]
    assert heard["langchain"][5][3] == [["image/png", 12], ["application/json", 13]]  # the artifact is a file
    assert heard["langchain definitions"][-1] == ["one_text", False, ["tool_input"]]
    assert heard["langchain definitions"][:2] == [["order", True, ["number", "size"]], ["look", False, ["what"]]]
    assert heard["llamaindex"] == [
        ["add", "", "{'sum': 5}", []],
        ["picture", "", "[att_1: image/png, 12 bytes]", [["image/png", 12]]],
        ["refuse", "tool_error", "No way.", []],
    ]
    refusals = [
        "from actum.interop.langchain import from_tools",
        "from actum.interop.langchain import from_tools",
        "from actum.interop.llamaindex import from_tools",
        "'kept' takes owner, which only a graph of LangGraph gives",
        "function is no tool of LangChain",
        "'shared' takes the Context of a workflow",
    ]
    for expected, refusal in zip(refusals, heard["refusals"], strict=True):
        assert expected in refusal


def ours_there(heard: dict[str, Any]) -> None:
    for framework, error, picture in (
        ("langchain", "ToolException", "dict"),
        ("llamaindex", "ToolError", "ImageBlock"),
    ):
        assert list(heard[f"{framework} schema"]) == ["config", "self_"]
        for way in ("sync", "async"):
            found, unfit, waits, denied, drawn, desk = heard[f"in {framework}, {way}"]
            assert found == ["", "found a.toml 1"]
            assert drawn == ["", [picture]]
            assert desk == ["", "It is done."]
            assert [each[0] for each in (unfit, waits, denied)] == [error] * 3
            assert "self_: type: expected integer" in unfit[1]
            assert "approval ask_" in waits[1]
            assert "not permitted. (run run_" in denied[1]
    assert heard["approved"] == "paid 5"


async def on_record(heard: dict[str, Any], place: Path) -> None:
    journal = SQLiteJournal(place)
    runs = await journal.runs(limit=None, parent="")
    assert len(runs) == 24  # two frameworks, two ways, six calls
    assert {(run.tenant, run.principal) for run in runs} == {("acme", "ann")}
    (waiting,) = {word for word in heard["in langchain, async"][2][1].replace(",", "").split() if "run_" in word}
    records = [entry.record for entry in await journal.read(waiting)]
    assert isinstance(records[0], Started)
    assert isinstance(records[-1], Ended)
    assert records[-1].status == "paused"
    await journal.close()
