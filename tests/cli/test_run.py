"""`actum run`: answers, exit codes, traces, JSON; and what a person reads who got something wrong."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from actum.cli.show.terminal import who
from tests.patience import HANGS_S

from .person import START

Run = Callable[..., Result]
TWO_OF_ONE_NAME = """
from actum import tool

@tool
def f(a: int) -> int:
    "One."
    return a

@tool(name="f")
def g(a: int) -> int:
    "Two."
    return a
"""
MINE = ("--tools", "tools.py", "--model")


def test_the_answer_goes_to_stdout_and_nothing_else_does(run: Run) -> None:
    result = run("run", "2 and 3?", *MINE, "models.py:add")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "add: 5\n", "")


@pytest.mark.row("A1")
def test_a_verbose_trace_tells_question_call_result_and_answer(run: Run) -> None:
    result = run("run", "2 and 3?", "-v", *MINE, "models.py:add")
    told = re.sub(r"· .*ms", "· ms", result.stdout)
    assert told.splitlines() == [
        "question  2 and 3?",
        "    call  add  a=2  b=3",
        "  result  5  · ms",
        "  answer  add: 5",
    ]


def test_a_repair_stands_in_the_trace(run: Run) -> None:
    result = run("run", "2 and 3?", "-v", *MINE, "models.py:mended")
    assert "repaired  a: " in result.stdout
    assert "call  add  a=2  b=3" in result.stdout


@pytest.mark.row("C2")
def test_a_failure_is_told_in_the_language_of_the_question(run: Run) -> None:
    assert "tool_error: Nobody is called Ann." in run("run", "find her", "-v", *MINE, "models.py:find").stdout
    assert "tool_error: 没能完成。Nobody is called Ann." in run("run", "找到她", "-v", *MINE, "models.py:find").stdout


@pytest.mark.row("C5")
def test_a_limit_on_the_command_line_stops_the_run_with_a_word(run: Run) -> None:
    result = run("run", "2 and 3?", "--limit", "steps=1", *MINE, "models.py:add")
    assert result.exit_code == 1
    assert "I stopped: this took more steps than allowed." in result.stderr
    result = run("run", "2 and 3?", "--limit", "steps", *MINE, "models.py:add")
    assert (result.exit_code, "--limit steps: give a name and a number" in result.stderr) == (2, True)


def test_a_thought_stands_in_the_trace(run: Run) -> None:
    assert " thought  I should say yes.  ·" in run("run", "may I?", "-v", *MINE, "models.py:thinking").stdout


def test_a_failed_call_stands_in_the_trace_with_its_kind(run: Run) -> None:
    result = run("run", "find Ann", "-v", *MINE, "models.py:find")
    assert "   error  tool_error: Nobody is called Ann." in result.stdout
    assert result.exit_code == 0


def test_json_is_one_object_and_nothing_else(run: Run) -> None:
    result = run("run", "2 and 3?", "--json", *MINE, "models.py:add")
    told = json.loads(result.stdout)
    assert result.stdout.count("\n") == 1
    assert (told["status"], told["text"], told["model"], told["steps"]) == ("done", "add: 5", "calling-add", 2)
    assert told["calls"] == [{"name": "add", "arguments": {"a": 2, "b": 3}, "result": 5}]


def test_json_and_verbose_are_the_events_line_by_line(run: Run) -> None:
    result = run("run", "2 and 3?", "--json", "-v", *MINE, "models.py:add")
    events = [json.loads(line)["type"] for line in result.stdout.splitlines()]
    assert events[0] == "run_started"
    assert events[-1] == "run_finished"
    assert {"call_started", "call_finished", "text_delta"} <= set(events)


def test_the_question_may_come_from_stdin(run: Run) -> None:
    result = run("run", "-", *MINE, "models.py:nothing", input="你好\n")
    assert result.stdout == "You said: 你好\n"


def test_an_empty_question_is_misuse(run: Run) -> None:
    result = run("run", "-", input=" \n")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "there is no question" in result.stderr


def test_a_conversation_goes_on_in_the_next_command(run: Run) -> None:
    for count in ("1", "2", "3"):
        assert run("run", "hi", "-c", "talk", *MINE, "models.py:counting").stdout == f"{count}\n"
    assert run("run", "hi", *MINE, "models.py:counting").stdout == "1\n"


def test_instructions_reach_the_model(run: Run, home: Path) -> None:
    (home / "own.py").write_text(
        "from actum.testing import ScriptedModel\nmodel = ScriptedModel(lambda request: request.messages[0].text)\n"
    )
    assert run("run", "hi", "-i", "Answer like a pirate.", "-m", "own.py:model").stdout == "Answer like a pirate.\n"


def test_a_dialect_of_text_is_spoken_to_the_model(run: Run, home: Path) -> None:
    (home / "own.py").write_text(
        "from actum.testing import ScriptedModel\n"
        "def script(request):\n"
        "    if len(request.messages) > 3: return 'Answer: five'\n"
        '    return \'Thought: add\\nAction: add\\nAction Input: {"a": 2, "b": 3}\\n\'\n'
        "model = ScriptedModel(script)\n"
    )
    result = run("run", "2 and 3?", "-v", "--tools", "tools.py", "--dialect", "react", "-m", "own.py:model")
    assert "    call  add  a=2  b=3" in result.stdout


@pytest.mark.row("C4")
def test_a_side_effect_waits_for_a_person_and_nothing_is_done_meanwhile(run: Run, home: Path) -> None:
    result = run("run", "keep milk", *MINE, "models.py:keep")
    assert (result.exit_code, result.stdout) == (3, "")
    assert 'text = "milk"' in result.stderr
    assert not (home / "kept.txt").exists()


@pytest.mark.row("C4")
@pytest.mark.parametrize("place", ["tools.py", "tools.py:keep", "tools:keep"])
def test_however_a_tool_is_named_its_side_effect_asks(run: Run, home: Path, place: str) -> None:
    assert run("run", "keep milk", "--tools", place, "--model", "models.py:keep").exit_code == 3
    assert not (home / "kept.txt").exists()


@pytest.mark.row("C4")
def test_the_command_that_is_told_approves_the_call(run: Run, home: Path) -> None:
    paused = run("run", "keep milk", *MINE, "models.py:keep")
    (told,) = re.findall(r"^  actum (resume .*)$", paused.stderr, re.MULTILINE)
    result = run(*told.split())
    assert (result.exit_code, result.stdout) == (0, "keep: kept\n")
    assert (home / "kept.txt").read_text() == "milk"


@pytest.mark.row("C4")
def test_the_command_that_is_told_carries_the_flags_of_the_run(run: Run, home: Path) -> None:
    (home / "servers.json").write_text('{"mcpServers": {}}')
    flags = ("--mcp", "servers.json", "-i", "Be brief.", "--limit", "calls=3", "--limit", "seconds=none")
    paused = run("run", "keep milk", *flags, *MINE, "models.py:keep")
    (told,) = re.findall(r"^  actum (resume .*)$", paused.stderr, re.MULTILINE)
    for flag in ("--mcp servers.json", "--instructions 'Be brief.'", "--limit calls=3", "--model models.py:keep"):
        assert flag in told, flag
    assert run(*shlex.split(told)).stdout == "keep: kept\n"


@pytest.mark.row("C4")
def test_a_denied_call_is_not_made_and_the_model_learns_why(run: Run, home: Path) -> None:
    ask_id = json.loads(run("run", "keep milk", "--json", *MINE, "models.py:keep").stdout)["pending"][0]["id"]
    result = run("resume", "last", "--deny", ask_id, "--reason", "I have some", *MINE, "models.py:keep")
    assert "I have some" in result.stdout
    assert not (home / "kept.txt").exists()


@pytest.mark.row("C4")
def test_yes_approves_and_the_record_says_by_whom(run: Run, home: Path) -> None:
    assert run("run", "keep milk", "--yes", *MINE, "models.py:keep").stdout == "keep: kept\n"
    assert f'approved  by {who()}, as "--yes" (claimed)' in run("runs", "show").stdout


@pytest.mark.row("C4")
def test_nothing_is_done_twice_by_resuming_twice(run: Run, home: Path) -> None:
    run("run", "keep milk", "--yes", *MINE, "models.py:keep")
    result = run("resume", "last", *MINE, "models.py:keep")
    assert (result.exit_code, result.stdout) == (0, "keep: kept\n")
    assert (home / "kept.txt").read_text() == "milk"


def test_a_question_of_the_run_is_answered_by_resume(run: Run) -> None:
    paused = run("run", "add 2", "--json", *MINE, "models.py:forgets")
    (pending,) = json.loads(paused.stdout)["pending"]
    assert (paused.exit_code, pending["kind"]) == (3, "answer")
    result = run("resume", "last", "--answer", f"{pending['id']}=three", *MINE, "models.py:forgets")
    assert (result.exit_code, result.stdout) == (0, "Thank you for three.\n")


def test_resuming_with_other_tools_is_refused_with_a_way_out(run: Run) -> None:
    run("run", "keep milk", *MINE, "models.py:keep")
    result = run("resume", "last", "--yes", "--tools", "tools.py:keep", "-m", "models.py:keep")
    assert result.exit_code == 2
    assert "--accept" in result.stderr
    accepted = run("resume", "last", "--yes", "--accept", "--tools", "tools.py:keep", "-m", "models.py:keep")
    assert (accepted.exit_code, accepted.stdout) == (0, "keep: kept\n")


def test_resuming_without_the_model_says_how_to_name_it(run: Run) -> None:
    run("run", "keep milk", *MINE, "models.py:keep")
    result = run("resume", "last", "--yes", "--tools", "tools.py")
    assert result.exit_code == 2
    assert "calling-keep" in result.stderr
    assert "--model" in result.stderr


def test_the_model_that_is_set_is_taken_where_it_is_the_one_on_record(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACTUM_MODEL", "models.py:keep")
    run("run", "keep milk", "--tools", "tools.py")
    assert run("resume", "last", "--yes", "--tools", "tools.py").stdout == "keep: kept\n"


def test_a_run_that_goes_in_circles_is_stopped_and_is_a_failure(run: Run) -> None:
    result = run("run", "go", *MINE, "models.py:again")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "loop_detected" in result.stderr


def test_a_model_that_is_not_there_is_one_line_and_the_run_can_be_resumed(run: Run) -> None:
    result = run("run", "go", *MINE, "models.py:away")
    assert (result.exit_code, result.stdout) == (1, "")
    assert re.fullmatch(
        r"actum: the endpoint does not answer "
        r"\(on record; to try again: actum resume run_\w+ --tools tools.py --model models.py:away\)\n",
        result.stderr,
    )


def test_with_json_an_error_is_json_too(run: Run) -> None:
    result = run("run", "go", "--json", *MINE, "models.py:away")
    told = json.loads(result.stdout)
    assert (told["status"], told["error"]["kind"]) == ("failed", "ModelUnavailable")
    assert result.exit_code == 1


def test_a_model_of_the_users_own_that_has_a_bug_is_told_without_a_stack_trace(run: Run) -> None:
    result = run("run", "go", *MINE, "models.py:buggy")
    assert result.exit_code == 1
    assert "ZeroDivisionError" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["run"], "Missing argument 'question'"),
        (["rnu", "hi"], "Did you mean 'run'"),
        (["run", "hi", "--verbos"], "No such option: --verbos"),
        (["run", "hi", "--model", "nobody:gpt"], "there is no model called 'nobody:gpt'"),
        (["run", "hi", "--model", "http://127.0.0.1:9/v1"], "which model"),
        (["run", "hi", "--model", "models.py:nope"], "models.py has no 'nope'"),
        (["run", "hi", "--model", "models.py:number"], "models.py:number is of type int; a Model is"),
        (["run", "hi", "--model", "gone.py:model"], "there is no file gone.py"),
        (["run", "hi", "--dialect", "klingon"], "there is no dialect called 'klingon'"),
        (["run", "hi", "--tools", "gone.py"], "there is no file gone.py"),
        (["run", "hi", "--tools", "no_such_module"], "there is no module 'no_such_module'"),
        (["run", "hi", "--tools", "models.py:number"], "models.py:number is of type int"),
        (["run", "hi", "--tools", "tools.py", "--tools", "tools.py"], "add"),
        (["resume", "run_nope"], "there is no run 'run_nope'"),
        (["resume", "last", "--answer", "what"], "--answer 'what': write --answer ASK_ID=TEXT"),
        (["runs", "show", "run_nope"], "there is no run 'run_nope'"),
        (["runs", "list", "-n", "0"], "'--limit'"),
    ],
)
def test_misuse_is_one_clear_line_and_exit_code_2(run: Run, words: list[str], told: str) -> None:
    result = run(*words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("actum: ")
    assert result.stderr.count("\n") == 1
    assert told in result.stderr


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("def f(:\n", "bad.py, line 1: "),
        ("x = 1\nprint(nope)\n", "NameError: name 'nope' is not defined (line 2)"),
        ("raise SystemExit('bye')\n", "SystemExit: bye"),
        ("x = 1\n", "bad.py holds no tools"),
        (TWO_OF_ONE_NAME, "'f'"),
    ],
)
def test_a_file_that_holds_no_good_tools_says_what_is_wrong_and_where(
    run: Run, home: Path, source: str, told: str
) -> None:
    (home / "bad.py").write_text(source)
    result = run("run", "hi", "--tools", "bad.py")
    assert (result.exit_code, result.stdout) == (2, "")
    assert told in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_file_without_a_decorated_function_offers_its_public_ones(run: Run, home: Path) -> None:
    (home / "plain.py").write_text(
        "from pathlib import Path\n"
        "def double(a: int) -> int:\n    '''Double.\n\n    Args:\n        a: a number.\n    '''\n    return 2 * a\n"
        "def _hidden() -> None: ...\n"
    )
    assert [tool["name"] for tool in json.loads(run("tools", "list", "--tools", "plain.py", "--json").stdout)] == [
        "double"
    ]


def test_a_file_of_tools_may_import_what_lies_beside_it(run: Run, home: Path) -> None:
    (home / "deep").mkdir()
    (home / "deep" / "beside_it.py").write_text("ANSWER = 42\n")
    (home / "deep" / "asks.py").write_text(
        "from beside_it import ANSWER\ndef answer() -> int:\n    '''The answer.'''\n    return ANSWER\n"
    )
    assert run("call", "answer", "--tools", "deep/asks.py").stdout == "42\n"


def test_control_characters_of_a_model_are_shown_and_not_obeyed(run: Run) -> None:
    assert run("run", "hi", *MINE, "models.py:nasty").stdout == "red \\x1b[31malert\\x07 \\u202eevil\n"


def test_a_journal_that_can_not_be_opened_says_what_to_do(run: Run, home: Path) -> None:
    (home / "no.db").write_bytes(b"this is no database, and long enough to be taken for one" * 40)
    result = run("run", "hi", "--journal", "no.db", *MINE, "models.py:nothing")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "--journal" in result.stderr
    assert "no.db" in result.stderr
    assert result.stderr.count("\n") == 1


def test_the_journal_of_a_person_lies_in_their_state_folder_for_their_eyes_alone(run: Run, home: Path) -> None:
    run("run", "hi", *MINE, "models.py:nothing")
    journal = home / ".local" / "state" / "actum" / "journal.db"
    assert journal.is_file()
    assert journal.parent.stat().st_mode & 0o077 == 0


def test_without_a_journal_nothing_is_written(run: Run, home: Path) -> None:
    run("run", "hi", "--journal", "memory", *MINE, "models.py:nothing")
    assert not (home / ".local").exists()


def test_a_pipe_gets_plain_text_and_a_foreign_encoding_is_no_failure(
    process: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    for environment in ({}, {"LC_ALL": "C"}, {"PYTHONIOENCODING": "ascii"}, {"NO_COLOR": "1"}, {"TERM": "dumb"}):
        done = process("run", "hi", "-v", *MINE, "models.py:chinese", **environment)
        assert done.returncode == 0, done.stderr
        assert "\x1b" not in done.stdout + done.stderr
        assert ("\\u597d" if "PYTHONIOENCODING" in environment else "好的") in done.stdout


def test_a_reader_that_has_seen_enough_is_no_error(home: Path) -> None:
    (home / "long.py").write_text(
        "from actum.testing import ScriptedModel\nmodel = ScriptedModel(lambda request: 'line\\n' * 30000)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", START, "run", "hi", "-m", "long.py:model"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        cwd=home,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"line\n"
        process.stdout.close()
        assert process.stderr.read() == b""
        process.wait(HANGS_S)
