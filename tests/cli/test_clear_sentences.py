"""What cannot be is told in one clear sentence, said once."""

from __future__ import annotations

import json
import logging
import os
import sys
from pathlib import Path

import pytest

from actum import Agent
from actum.core.errors import UsageError
from actum.core.tool import Tool
from actum.dialects.text.react.dialect import React
from actum.runs.given_tools import sort_out, warn_of_undeclared
from actum.toolsets.code import RUN_CODE

from .conftest import Run


class StructuredTool:
    """As LangChain has one: callable, and no function."""

    name = "add"

    def __call__(self, given: str) -> str:
        return given


StructuredTool.__module__ = "langchain_core.tools.structured"


@pytest.mark.parametrize(
    ("model", "tools", "told"),
    [
        (None, [], "a model is a name"),
        (7, [], "a model is a name"),
        (Agent, [], "a model is a name"),
        ("embedded", None, "tools=: give a list, as in tools=[my_function]; this is None"),
        ("embedded", "everyday", "this is str"),
        ("embedded", len, "this is builtin_function_or_method"),
        ("embedded", [3], "tools=: int is not a function"),
        ("embedded", [StructuredTool()], "from actum.interop.langchain import from_tools"),
    ],
)
def test_an_agent_of_something_else_is_refused_in_a_sentence(model: object, tools: object, told: str) -> None:
    with pytest.raises(UsageError) as refused:
        Agent(model, tools)  # type: ignore[arg-type]
    assert told in str(refused.value)


@pytest.mark.parametrize(
    ("argument", "value", "told"),
    [
        ("policy", "policy.toml", 'policy=: give Rules(Rule("ask", "pay")), or PolicyFile("policy.toml"); this is str'),
        ("policy", [], "policy=: give Rules("),
        ("limits", {"steps": 3}, "limits=: give Limits(steps=20); this is dict"),
        ("journal", 5, 'journal=: give "runs.db"; this is int'),
        ("instructions", None, "instructions=: give a text, or a function that returns one; this is None"),
        ("instructions", ["Be kind."], "this is list"),
        ("name", 5, "name=: give a text"),
        ("prices", [1], "prices=: give {"),
        ("approver", True, "approver=: give an object with a method `ask`; this is bool"),
        ("dialect", ["hermes"], 'dialect=: give "auto"'),
        ("extra_arguments", "keep", 'extra_arguments=: give "refuse" or "drop"'),
        ("secrets", "KEY", "secrets=: give os.environ"),
        ("redaction", None, "redaction=: give Redaction"),
        ("clock", 0.0, "clock=: give an object"),
        ("always", "search", 'always=: give ["search"]; this is str'),
        ("output_type", {"type": "object"}, "output_type=: give a type"),
    ],
)
def test_an_argument_that_can_not_be_meant_is_told_by_its_name(argument: str, value: object, told: str) -> None:
    with pytest.raises(UsageError) as refused:
        Agent("embedded", **{argument: value})  # type: ignore[arg-type]
    assert told in str(refused.value)


def test_the_notice_about_effects_is_one_short_sentence(caplog: pytest.LogCaptureFixture) -> None:
    def scatter(seed: str) -> str:
        """Scatter seed."""
        return seed

    toolsets, _ = sort_out([scatter])
    with caplog.at_level(logging.WARNING, "actum"):
        warn_of_undeclared("embedded", [Tool(name="scatter", description="", parameters={"type": "object"})])
    assert toolsets
    assert len(caplog.messages[0]) < 130


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ('[limits]\nsteps = "x"', "`limits.steps`: give a whole number, not a text"),
        ("[serve.limits]\nrequests = [1]", "`serve.limits.requests`: give a whole number, not a list"),
        ("[agents.desk]\ntools = 4", "`agents.desk.tools`: give a list, not a whole number"),
        ('[tasks]\ndispatcher = "x"', "`tasks.dispatcher`: there is no 'x': give one of 'local', "),
        ('[models.m]\nupstreams = ["embedded"]', "'embedded' is at no endpoint"),
        ('[models.m]\nupstreams = ["local:/m"]', "'local:/m' is at no endpoint"),
        ('[models.m]\nupstreams = ["opnai:gpt-5"]', "Did you mean openai"),
    ],
)
def test_a_setting_that_does_not_fit_is_told_as_people_say_it(run: Run, settings: str, told: str) -> None:
    Path("actum.toml").write_text(settings, "utf-8")
    checked = run("config", "check", "--json")
    (mistake,) = json.loads(checked.stdout)
    assert told in mistake["problem"]
    assert not any(word in mistake["problem"] for word in ("Expected", "null", "$"))


def test_a_name_that_is_meant_is_not_listed_a_second_time() -> None:
    with pytest.raises(UsageError) as refused:
        Agent("embeded")
    assert str(refused.value).count("embedded") == 1


def test_import_takes_over_as_json_what_it_says(run: Run) -> None:
    servers = {"mcpServers": {"files": {"command": "files-server", "args": []}, "notes": {"url": "https://n.example"}}}
    Path("theirs.json").write_text(json.dumps(servers), "utf-8")
    looked = run("mcp", "import", "theirs.json", "--json")
    assert ("Nothing was taken over" in looked.stderr, "taken" in json.loads(looked.stdout)[0]) == (True, False)
    assert json.loads(run("mcp", "list", "--json").stdout) == []
    taken = json.loads(run("mcp", "import", "theirs.json", "--yes", "--json").stdout)
    listed = json.loads(run("mcp", "list", "--json").stdout)
    assert sorted(taken[0]["taken"]) == sorted(each["name"] for each in listed)
    assert "notes" in taken[0]["taken"]


def test_the_trace_of_code_begins_in_the_code(tmp_path: Path) -> None:
    import subprocess  # noqa: PLC0415

    (tmp_path / ".run.py").write_text(RUN_CODE, "utf-8")
    for code in (
        "1 / 0",
        "def f():\n    raise KeyError('x')\nf()",
        "x = (",
        "import no_such_thing",
        "try:\n  1/0\nfinally:\n  f",
    ):
        (tmp_path / "code.py").write_text(code, "utf-8")
        ended = subprocess.run([sys.executable, ".run.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert ended.returncode == 1
        assert ("code.py" in ended.stderr, ".run.py" in ended.stderr, "Error" in ended.stderr) == (True, False, True), (
            code
        )


@pytest.mark.parametrize("gap", ["  ", "   ", " \t"])
@pytest.mark.parametrize("words", ["Action{}Input", "action{}input", "Final{}Answer"])
def test_blanks_between_the_words_of_a_marker_do_not_matter(gap: str, words: str) -> None:
    marker = words.format(gap)
    call = f'Thought: look\nAction: weather\n{marker}: {{"city": "Oslo"}}'
    answer = f"Thought: done\n{marker}: It is sunny."
    wire = answer if "nswer" in words else call
    wanted = React().decode(wire.replace(gap, " "))
    for cut in range(len(wire) + 1):
        decoder = React().decoder()
        decoder.feed(wire[:cut])
        decoder.feed(wire[cut:])
        decoder.close()
        reply = decoder.reply
        assert ([each.arguments for each in reply.calls], reply.text) == (
            [each.arguments for each in wanted.calls],
            wanted.text,
        ), cut


READERS = (
    ("run", "hi", "-a", "pipe"),
    ("ask", "hi", "--attach", "pipe.md"),
    ("workflow", "publish", "pipe.yaml"),
    ("workflow", "run", "pipe.yaml"),
    ("workflow", "import", "--from", "dify", "pipe.yaml"),
    ("workflow", "run", "x", "--only", "a", "--pin", "pipe"),
    ("tools", "list", "--tools", "pipe.json"),
    ("tools", "add", "openapi", "pipe.yaml", "--name", "pets"),
    ("mcp", "import", "pipe.json"),
    ("run", "hi", "--mcp", "pipe.json"),
    ("run", "hi", "--policy", "pipe.toml"),
    ("restore", "pipe", "--into", "x"),
    ("journal", "verify", "--file", "pipe"),
    ("journal", "verify", "--key-file", "pipe"),
    ("eval", "run", "pipe.jsonl"),
)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipes among files")
def test_nobody_waits_for_a_pipe_that_was_named_as_a_file(run: Run, home: Path) -> None:
    for name in {word for words in READERS for word in words if word.startswith("pipe")}:
        os.mkfifo(home / name)
    for words in READERS:
        refused = run(*words)
        told = " ".join(refused.output.split())
        assert (refused.exit_code, "It is a pipe or a device, and no file" in told) == (2, True), (words, told)
    given, put = os.pipe()  # as a shell opens it for `<(command)`
    os.write(put, b"actum: workflow/1\nname: one\nnodes: {}\noutputs: {sum: 1}\n")
    os.close(put)
    assert run("workflow", "run", f"/dev/fd/{given}").stdout.strip() == '{"sum":1}'
    os.close(given)
