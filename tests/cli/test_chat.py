"""`actum chat` out of a pipe: each line is a turn. At a terminal it is tried in `test_at_a_terminal.py`."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from actum import ToolCall
from actum.cli.show.terminal import who
from actum.core.message import Reply, UserMessage
from actum.core.run.record import Intended, ModelReplied, Started
from actum.storage.sqlite import SQLiteJournal

from .conftest import ANSWERS_BY_HAND
from .person import Person

Run = Callable[..., Result]
MINE = ("--tools", "tools.py", "--model")


def test_each_line_is_a_turn_and_the_history_is_kept(run: Run) -> None:
    result = run("chat", *MINE, "models.py:counting", input="one\n\ntwo\nthree\n")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "1\n2\n3\n", "")


def test_a_new_conversation_knows_nothing_of_the_old_one(run: Run) -> None:
    assert run("chat", *MINE, "models.py:counting", input="one\ntwo\n/new\nthree\n").stdout == "1\n2\n1\n"


def test_a_conversation_goes_on_after_the_end_of_the_process(run: Run) -> None:
    run("chat", "--conversation", "talk", *MINE, "models.py:counting", input="one\ntwo\n")
    assert run("chat", "--conversation", "talk", *MINE, "models.py:counting", input="three\n").stdout == "3\n"


def test_tools_are_listed(run: Run) -> None:
    assert "Add two numbers." in run("chat", *MINE, "models.py:nothing", input="/tools\n").stdout


def test_the_last_turn_is_shown_as_a_tree(run: Run) -> None:
    result = run("chat", *MINE, "models.py:add", input="2 and 3?\n/trace\n")
    assert "── add  a=2  b=3" in result.stdout
    assert "chain whole" in result.stdout


def test_the_trace_is_turned_on_and_off(run: Run) -> None:
    result = run("chat", *MINE, "models.py:add", input="one\n/trace on\ntwo\n/trace off\nthree\n")
    assert result.stdout.count("    call  add  a=2  b=3") == 1


def test_quit_leaves_before_the_end(run: Run) -> None:
    assert run("chat", *MINE, "models.py:counting", input="one\n/quit\ntwo\n").stdout == "1\n"


def test_an_unknown_command_is_said_and_a_path_is_no_command(run: Run) -> None:
    result = run("chat", *MINE, "models.py:nothing", input="/nope\n/etc/hosts says?\n")
    assert "there is no command /nope" in result.stderr
    assert result.stdout == "You said: /etc/hosts says?\n"


def test_a_turn_that_fails_does_not_end_the_chat(run: Run) -> None:
    result = run("chat", *MINE, "models.py:away", input="one\ntwo\n")
    assert result.exit_code == 1
    assert result.stderr.count("the endpoint does not answer") == 2


def test_a_question_back_is_answered_by_the_next_line(run: Run) -> None:
    result = run("chat", *MINE, "models.py:forgets", input="add 2\nthree\n")
    assert "b" in result.stdout.splitlines()[0]
    assert result.stdout.splitlines()[1] == "Thank you for three."
    assert result.exit_code == 0


def test_a_call_that_needs_approval_waits_and_the_chat_goes_on(run: Run) -> None:
    result = run("chat", *MINE, "models.py:keep", input="keep milk\n")
    assert result.exit_code == 3
    assert "actum resume run_" in result.stderr


def test_with_json_every_turn_is_one_object(run: Run) -> None:
    result = run("chat", "--json", *MINE, "models.py:add", input="one\ntwo\n")
    assert [json.loads(line)["text"] for line in result.stdout.splitlines()] == ["add: 5", "add: 5"]


@pytest.mark.row("A3")
def test_what_was_said_is_summed_up(run: Run) -> None:
    result = run("chat", *MINE, "models.py:counting", input="one\ntwo\nthree\n/compact 0\nfour\n/compact x\n")
    assert result.stdout == "1\n2\n3\n4\n2\n"
    assert "/compact x: say how many turns" in result.stderr


@pytest.mark.row("A3")
def test_nothing_can_be_summed_up_before_anything_was_said(run: Run) -> None:
    result = run("chat", *MINE, "models.py:counting", input="/compact\none\n")
    assert (result.exit_code, result.stdout) == (1, "1\n")
    assert "there is no conversation" in result.stderr


@pytest.mark.row("A3")
def test_a_turn_in_a_conversation_that_somebody_else_is_using_is_not_sent(
    run: Run, person: Callable[..., Person], home: Path
) -> None:
    other = person("chat", "-c", "tea", *MINE, "models.py:wait", "--journal", "runs.db")
    other.sees("> ")
    other.types("wait\n")
    for _ in range(1000):
        if run("runs", "list", "--journal", "runs.db").stdout:
            break
    result = run("chat", "-c", "tea", *MINE, "models.py:nothing", "--journal", "runs.db", input="hello\n")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "somebody else is in the middle of a turn" in result.stderr


@pytest.mark.row("C7")
def test_whoever_comes_back_to_a_turn_that_was_killed_is_told(run: Run, home: Path) -> None:
    async def killed() -> None:
        journal = SQLiteJournal(home / "runs.db")
        journal.append("run_1", Started(agent="agent", model="m", said=(), conversation="tea", principal=who()))
        journal.append("run_1", ModelReplied("", Reply.of(calls=[ToolCall("1", "keep", {"text": "milk"})])))
        journal.append("run_1", Intended(1, 0, 1, "keep", "v", {"text": "milk"}, "key"))
        await journal.close()

    asyncio.run(killed())
    result = run("chat", "-c", "tea", *MINE, "models.py:nothing", "--journal", "runs.db", input="hello\n")
    assert result.stdout == "You said: hello\n"
    assert "Nobody knows whether this happened in the last turn: keep." in result.stderr
    assert "actum resume run_1" in result.stderr


@pytest.mark.row("C7")
def test_whoever_breaks_off_a_side_effect_is_told_that_nobody_knows(person: Callable[..., Person], home: Path) -> None:
    (home / "slow.py").write_text(SLOW, "utf-8")
    models = (home / "models.py").read_text("utf-8")
    (home / "models.py").write_text(models + "send = calling('send')\n", "utf-8")
    somebody = person("chat", "--tools", "slow.py", "--model", "models.py:send", "--journal", "runs.db", "--yes")
    somebody.sees("> ")
    somebody.types("send it\n").sees("sending")
    somebody.insists("\x03", "Nobody knows whether this happened in the last turn: send.")
    somebody.sees("actum resume run_")
    somebody.sees("> ")
    assert somebody.types("\x04").ends()[0] == 0


SLOW = '''
import asyncio
from actum import tool

@tool(effects={"send"})
async def send() -> str:
    """Send."""
    print("sending", flush=True)
    await asyncio.Event().wait()
    return "sent"
'''


PROMPT_SERVER = (
    """
TOOLS = []
PROMPTS = [
    {"name": name, "description": said, "arguments": [{"name": needed, "required": True}, *more]}
    for name, said, needed, more in (
        ("review", "Review code.", "code", [{"name": "style"}]), ("cheer", "Cheer somebody up.", "who", [])
    )
]

def GET(prompt, code="", style="kind", who=""):
    return f"Cheer up {who}" if prompt == "cheer" else f"Review this in a {style} way: {code}"
"""
    + ANSWERS_BY_HAND
)


@pytest.fixture
def prompts(run: Run, home: Path) -> Run:
    """The chat, with a server that offers prompts."""
    (home / "desk.py").write_text(PROMPT_SERVER)
    run("mcp", "add", "desk", "--no-jail", "--", sys.executable, "desk.py")
    run("mcp", "approve", "desk", "--yes")
    return lambda said: run("chat", "-c", "talk", "--journal", "runs.db", *MINE, "models.py:nothing", input=f"{said}\n")


@pytest.mark.row("T4")
def test_a_prompt_of_a_server_is_a_command(prompts: Run) -> None:
    result = prompts('/desk:review code="x = 1" style=stern')
    assert result.stdout == "You said: Review this in a stern way: x = 1\n"
    assert prompts("/desk:cheer Ann and Bob").stdout == "You said: Cheer up Ann and Bob\n"
    assert "/desk:review" in (told := prompts("/help").stdout)
    assert "Review code. code=… [style=…]" in told


@pytest.mark.row("T4")
def test_what_is_missing_for_a_prompt_or_too_much_is_said_and_nothing_is_sent(prompts: Run) -> None:
    for said, wrong in (("", "code is missing"), ("tone=x", "there is no argument 'tone'"), ('code="x', "No closing")):
        result = prompts(f"/desk:review {said}")
        assert (result.stdout, wrong in result.stderr) == ("", True)
    assert prompts("/desk:other thing").stdout == "You said: /desk:other thing\n"


@pytest.mark.row("T4")
def test_the_words_of_a_prompt_are_on_record_as_not_the_persons(prompts: Run, home: Path) -> None:
    prompts("/desk:cheer Ann")

    async def sources() -> list[str]:
        journal = SQLiteJournal(home / "runs.db")
        try:
            (run,) = await journal.runs(conversation="talk")
            return [
                said.source
                for entry in await journal.read(run.run_id)
                if isinstance(entry.record, Started)
                for said in entry.record.said
                if isinstance(said, UserMessage)
            ]
        finally:
            await journal.close()

    assert asyncio.run(sources()) == ["tool"]
