"""The command line: how a model is asked, an answer that was cut off, and a conversation that is too long."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from actum.core.call import ToolCall
from actum.core.json import JsonObject
from actum.core.message import Reply

from ..chat_server import ChatServer, Raw, Said

Run = Callable[..., Result]
pytestmark = pytest.mark.row("A1")

TOO_LONG = Raw((b'{"error":{"message":"maximum context length","code":"context_length_exceeded"}}',), status=400)


def test_flags_set_how_the_model_is_asked(run: Run, home: Path) -> None:
    (home / "actum.toml").write_text("[model_settings]\ntop_p = 0.9\nseed = 1\n", "utf-8")
    words = ["--temperature", "0.3", "--max-tokens", "50", "--seed", "7", "--timeout", "30"]
    further = [
        "--stop",
        "END",
        "--stop",
        "FIN",
        "--header",
        "X-Team: blue",
        "--extra",
        "reasoning_effort=high",
        "--extra",
        'top={"k": 1}',
    ]
    with ChatServer(["Hello."]) as server:
        result = run("run", "hi", "-m", f"{server.url}#m", "--tools", "none", *words, *further)
    assert (result.exit_code, result.stdout) == (0, "Hello.\n")
    asked = server.requests[0].json
    told = {
        name: asked[name] for name in ("temperature", "top_p", "seed", "max_tokens", "stop", "reasoning_effort", "top")
    }
    assert told == {
        "temperature": 0.3,
        "top_p": 0.9,
        "seed": 7,
        "max_tokens": 50,
        "stop": ["END", "FIN"],
        "reasoning_effort": "high",
        "top": {"k": 1},
    }
    assert server.requests[0].headers["x-team"] == "blue"


def test_a_flag_of_the_wrong_form_is_one_line(run: Run) -> None:
    wrong = {
        ("--temperature", "-1"): "temperature=-1",
        ("--header", "secret"): "give a name and a value",
        ("--extra", "reasoning_effort"): "give a name and a value",
        ("--truncation", "always"): "truncation",
        ("--max-tokens", "0"): "max_tokens=0",
    }
    for words, told in wrong.items():
        result = run("run", "hi", "-m", "models.py:nothing", *words)
        assert (result.exit_code, told in result.stderr) == (2, True), (words, result.stderr)
        assert "secret" not in result.stderr


def test_what_there_is_of_a_cut_off_answer_is_printed_and_the_reason_beside_it(run: Run) -> None:
    cut = Reply(Reply.of("Once upon a").content, finish_reason="length")
    with ChatServer([cut, cut]) as server:
        model = ("-m", f"{server.url}#m", "--tools", "none", "--max-tokens", "50")
        result = run("run", "Tell me a story", *model)
        assert (result.exit_code, result.stdout) == (1, "Once upon a\n")
        assert "cut off" in result.stderr
        assert "Once upon" not in result.stderr
        told = json.loads(run("run", "Tell me a story", "--json", *model).stdout)
    assert (told["status"], told["stop_reason"]) == ("stopped", "length")


def narrow(most: int, script: list[Said]) -> Callable[[JsonObject], Said]:
    """A server whose model reads so many characters."""
    left = list(script)
    return lambda body: left.pop(0) if len(json.dumps(body["messages"])) <= most else TOO_LONG


def test_an_overflow_is_told_with_what_helps_and_no_resume_that_can_not(run: Run) -> None:
    with ChatServer(narrow(600, ["Hello.", "Summed up.", "Fine."])) as server:
        model = ("-m", f"{server.url}#m", "--tools", "none")
        alone = run("run", "x" * 900, *model)
        assert alone.exit_code == 1
        assert "too long for the model" in alone.stderr
        assert "resume" not in alone.stderr
        talk = (*model, "--conversation", "c")
        assert run("run", "y" * 400, *talk).stdout == "Hello.\n"
        second = run("run", "z" * 250, *talk)
        assert "--truncation auto" in second.stderr
        assert "actum conversations compact c" in second.stderr
        assert run("resume", "last", *model, "--truncation", "auto").stdout == "Summed up.\n"


def test_a_chat_goes_on_after_an_overflow_by_summing_up(run: Run) -> None:
    with ChatServer(narrow(2_500, ["Hello.", "A greeting.", "Both said x.", "Fine."])) as server:
        lines = ["x" * 1_500, "z" * 1_500, "/compact", "And now?"]
        result = run("chat", "-m", f"{server.url}#m", "--tools", "none", input="\n".join(lines))
    assert "/compact sums up this conversation" in result.stderr
    assert result.stdout.splitlines()[-1] == "Fine."
    asked = server.requests[-1].json["messages"]
    assert isinstance(asked, list)
    assert len(json.dumps(asked)) < 400


def test_a_run_that_calls_is_shortened_where_the_settings_allow_it(run: Run, home: Path) -> None:
    (home / "actum.toml").write_text('truncation = "auto"\n', "utf-8")
    (home / "pages.py").write_text('def page() -> str:\n    """A page."""\n    return "w" * 20_000\n', "utf-8")
    call = Reply.of(calls=[ToolCall("1", "page", {})])
    with ChatServer(narrow(9_000, [call, "Read."])) as server:
        result = run("run", "Read", "-m", f"{server.url}#m", "--tools", "pages.py", "--yes")
    assert (result.exit_code, result.stdout) == (0, "Read.\n")
