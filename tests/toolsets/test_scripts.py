"""The scripts of a folder are tools: their header is read without running them, and the jail holds what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from actum import Agent, ToolCall
from actum.core.call import MediaPart
from actum.core.errors import BadTool, CallError, InvalidArguments, ToolError, Unavailable, UsageError
from actum.core.interfaces import Context
from actum.core.json import JsonObject
from actum.sandbox.jail import Jail, JailLimits
from actum.sandbox.linux import landlock_abi
from actum.testing import ScriptedModel
from actum.toolsets.script_header import Parameter, parameters_of, read_header, words_of
from actum.toolsets.scripts import ScriptToolset

held = pytest.mark.skipif(landlock_abi() == 0, reason="this machine has no Landlock: nothing is run")

GREET = """\
# /// tool
# description = "Greets a person."
# effects = ["read"]
# [parameters.name]
# type = "string"
# ///
import json, sys
print("Hello", json.load(sys.stdin)["name"])
"""
COUNT = '''\
#!/usr/bin/env python3
# /// tool
# files = ["table"]
# effects = ["read"]
# ///
"""Counts the rows of a table."""
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("table", help="The table.")
parser.add_argument("--skip", "-s", type=int, default=0)
parser.add_argument("--word", action="append", choices=["a", "-rf"])
parser.add_argument("-v", action="store_true")
given = parser.parse_args()
print(len(open(given.table).readlines()) - given.skip, given.word, given.v)
'''
TYPED = """\
# /// tool
# ///
from typing import Annotated
import typer
app = typer.Typer()
@app.command()
def main(city: str, days: Annotated[int, typer.Option(help="How many.")] = 3, loud: bool = False):
    print(city, days, loud)
app()
"""
SHELL = """\
#!/bin/bash
# /// tool
# description = "Says its words."
# arguments = "words"
# effects = ["write"]
# [parameters.text]
# type = "string"
# ///
printf '%s\\n' "$@"
"""


def context(call: ToolCall, **attachments: MediaPart) -> Context:
    return Context(run_id="r", call=call, key="k", attempt=1, principal="", deps=None, attachments={**attachments})


async def said(toolset: ScriptToolset, name: str, arguments: JsonObject, **attachments: MediaPart) -> str:
    call = ToolCall("c1", name, arguments)
    return (await toolset.execute(call, context(call, **attachments))).text


def folder_of(place: Path, **scripts: str) -> Path:
    for name, text in scripts.items():
        stem, _, ending = name.rpartition("_")
        (place / f"{stem}.{ending}").write_text(text, "utf-8")
    return place


@pytest.mark.row("T3")
async def test_header_argparse_and_typer_give_the_schema_and_nothing_is_run(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    bomb = f"open({str(ran)!r}, 'w')\n"
    scripts = folder_of(tmp_path, greet_py=GREET + bomb, count_py=COUNT + bomb, typed_py=TYPED + bomb, shell_sh=SHELL)
    tools = {tool.name: tool for tool in await ScriptToolset(scripts).list_tools()}
    assert not ran.exists()
    assert set(tools) == {"greet", "count", "typed", "shell"}
    assert tools["greet"].effects == frozenset({"read"})
    assert tools["typed"].effects == frozenset({"execute"})
    assert tools["count"].description == "Counts the rows of a table."
    assert tools["count"].parameters == {
        "type": "object",
        "properties": {
            "table": {"type": "string", "description": "The table. Pass the handle of an attachment, such as att_1."},
            "skip": {"type": "integer"},
            "word": {"type": "array", "items": {"type": "string", "enum": ["a", "-rf"]}},
            "v": {"type": "boolean"},
        },
        "required": ["table"],
        "additionalProperties": False,
    }
    assert tools["typed"].property_schemas() == {
        "city": {"type": "string"},
        "days": {"type": "integer", "description": "How many."},
        "loud": {"type": "boolean"},
    }
    assert tools["typed"].required() == ("city",)


@held
async def test_arguments_reach_a_script_as_they_are_and_no_value_becomes_an_option_or_a_command(tmp_path: Path) -> None:
    scripts = ScriptToolset(folder_of(tmp_path, greet_py=GREET, count_py=COUNT, typed_py=TYPED, shell_sh=SHELL))
    await scripts.list_tools()
    nasty = "$(touch x); `id` '\"\n--help"
    assert await said(scripts, "greet", {"name": nasty}) == f"Hello {nasty}"
    assert await said(scripts, "shell", {"text": nasty}) == f"--text={nasty}"
    assert await said(scripts, "typed", {"city": "--help", "loud": True}) == "--help 3 True"
    table = MediaPart("text/csv", data=b"1\n2\n3\n", name="../json.py")
    words: JsonObject = {"table": "att_1", "skip": 1, "word": ["-rf", "a"], "v": True}
    assert await said(scripts, "count", words, att_1=table) == "2 ['-rf', 'a'] True"
    for arguments in ({"table": "/etc/passwd"}, {"table": "att_2"}):
        with pytest.raises(InvalidArguments, match="handle"):
            await said(scripts, "count", {**arguments}, att_1=table)
    for value in ("a\0b", "x" * 200_000):
        with pytest.raises(InvalidArguments):
            await said(scripts, "shell", {"text": value})


@held
@pytest.mark.row("T3")
async def test_a_script_that_says_it_only_reads_can_write_nothing(tmp_path: Path) -> None:
    scripts, given = tmp_path / "scripts", tmp_path / "given"
    for folder in (scripts, given):
        folder.mkdir()
        folder.chmod(0o777)
    for folder in (tmp_path, *list(tmp_path.parents)[:2]):
        folder.chmod(0o755)
    body = f"# ///\nopen({str(given / 'out')!r}, 'w').write('x')\n"
    reads = f'# /// tool\n# effects = ["read"]\n{body}'
    writes = f'# /// tool\n# effects = ["read", "write"]\n{body}'
    toolset = ScriptToolset(folder_of(scripts, reads_py=reads, writes_py=writes), Jail(write=(str(given),)))
    tools = {tool.name: tool for tool in await toolset.list_tools()}
    assert (tools["reads"].idempotent, tools["writes"].idempotent) == (True, False)
    with pytest.raises(ToolError, match=r"reads\.py ended with exit code 1(.|\n)*PermissionError"):
        await said(toolset, "reads", {})
    assert not (given / "out").exists()
    await said(toolset, "writes", {})
    assert (given / "out").read_text("utf-8") == "x"


def test_a_jail_that_may_write_the_scripts_is_refused(tmp_path: Path) -> None:
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    (tmp_path / "link").symlink_to(scripts)
    for write in (tmp_path, scripts, tmp_path / "link"):
        with pytest.raises(UsageError, match="name another folder"):
            ScriptToolset(scripts, Jail(write=(str(write),)))
    with pytest.raises(UsageError, match="no folder"):
        ScriptToolset(tmp_path / "none")


async def test_a_script_without_a_whole_header_is_no_tool_and_the_list_says_which_line(tmp_path: Path) -> None:
    parse = "# /// tool\n# ///\nimport argparse\np = argparse.ArgumentParser()\n"
    bad = {
        "none_py": ("print(1)", "`# /// tool` is missing"),
        "open_py": ("# /// tool\n# name = 'x'\n", "`# ///` is missing"),
        "broken_py": ("# /// tool\n# a = 1\nprint(1)\n", "line 3: the header ends without"),
        "word_py": ("# /// tool\n# effect = ['read']\n# ///\n", "effect"),
        "effects_py": ("# /// tool\n# effects = ['fly']\n# ///\n", "fly"),
        "toml_py": ("# /// tool\n# name =\n# ///\n", "header that begins in line 1"),
        "twice_py": (GREET + GREET, "line 9: a second header"),
        "free_py": (parse + "n = 'x'\np.add_argument(n)\n", "line 6: n is not written out"),
        "sub_py": (parse + "p.add_subparsers()\n", "line 5: a script with subcommands"),
        "bool_py": (parse + "p.add_argument('x', type=bool)\n", "line 5: type=bool"),
        "files_py": ("# /// tool\n# files = ['x']\n# ///\n", "'x' is none of its parameters"),
        "syntax_py": ("# /// tool\n# ///\nx = (\n", "can't be read"),
        "same_py": (GREET.replace("# desc", '# name = "greet"\n# desc'), "another script is called 'greet'"),
    }
    toolset = ScriptToolset(folder_of(tmp_path, greet_py=GREET, **{name: text for name, (text, _) in bad.items()}))
    (tmp_path / "latin.py").write_bytes(b"# \xe4\n")
    assert [tool.name for tool in await toolset.list_tools()] == ["greet"]
    found = {problem.file: problem.problem for problem in toolset.problems}
    for name, (_, words) in bad.items():
        assert words in found[name.replace("_py", ".py")], (name, found)
    assert "UTF-8" in found["latin.py"]


@held
async def test_a_script_that_was_changed_is_another_tool_and_is_not_run_as_the_old_one(tmp_path: Path) -> None:
    toolset = ScriptToolset(folder_of(tmp_path, greet_py=GREET))
    before, generation = (await toolset.list_tools())[0], toolset.generation
    folder_of(tmp_path, greet_py=GREET.replace("Hello", "Bye"))
    with pytest.raises(Unavailable, match="was changed"):
        await said(toolset, "greet", {"name": "Ann"})
    assert toolset.generation > generation
    after = (await toolset.list_tools())[0]
    assert before.digest != after.digest
    assert await said(toolset, "greet", {"name": "Ann"}) == "Bye Ann"


@held
async def test_a_script_of_unknown_effect_waits_for_a_person_and_one_that_reads_does_not(tmp_path: Path) -> None:
    toolset = ScriptToolset(folder_of(tmp_path, greet_py=GREET, typed_py=TYPED))
    model = ScriptedModel([[ToolCall("c1", "greet", {"name": "Ann"})], [ToolCall("c2", "typed", {"city": "Bern"})]])
    result = await Agent(model, tools=[toolset]).run("Greet Ann.")
    assert result.status == "paused"
    assert [each.call.name for each in result.pending if each.call] == ["typed"]


@held
async def test_a_limit_a_signal_and_a_script_that_reads_nothing_have_their_own_words(tmp_path: Path) -> None:
    header = "# /// tool\n# ///\n"
    scripts = folder_of(
        tmp_path,
        slow_py=f"{header}print('begun', flush=True)\nimport time; time.sleep(60)",
        dies_sh=f"{header}kill -SEGV $$",
        deaf_py=f"{header}# [x]\nimport os\nos.close(0)\nprint('fine')",
    )
    toolset = ScriptToolset(scripts, Jail(limits=JailLimits(seconds=0.6)))
    await toolset.list_tools()
    for name, words in (("slow", "at the limit seconds = 0.6"), ("dies", "signal 11")):
        with pytest.raises(CallError, match=words) as raised:
            await said(toolset, name, {})
        assert raised.value.effect == "none"
    assert await said(toolset, "deaf", {}) == "fine"


def test_each_word_stands_where_only_its_own_parameter_can_be_meant() -> None:
    several = Parameter(name="xs", schema={}, required=False, option="--xs", repeated=False)
    short = Parameter(name="n", schema={}, required=False, option="-n")
    assert words_of([several, short], {"xs": ["a", 1], "n": "-x"}) == ["--xs", "a", "1", "-n-x"]
    with pytest.raises(InvalidArguments):
        words_of([several], {"xs": ["--other"]})
    with pytest.raises(BadTool, match="line 4"):
        text = "# /// tool\n# ///\nimport typer; typer.run(f)\ndef f(*x): ...\ndef g(x: list): ..."
        parameters_of(read_header(text), text.replace("*x", "x: set"), is_python=True)
