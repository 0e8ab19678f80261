"""`actum transcode`: a filter on stdin and stdout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from actum.core.event import TextDelta
from actum.dialects import dialect
from tests import warm
from tests.dialects.api_corpus import CORPUS

from .person import START, Person

ASKED = json.dumps({"model": "c", "max_tokens": 9, "top_k": 5, "messages": [{"role": "user", "content": "你好"}]})
STREAM = (CORPUS / "openai_chat" / "stream_parallel_calls.wire").read_text("utf-8")


@pytest.mark.row("S9")
def test_a_request_goes_out_in_the_others_words_and_losses_are_told_beside_it(run: Callable[..., Result]) -> None:
    done = run("transcode", "--from", "anthropic", "--to", "openai", "--model", "gpt-5", input=ASKED)
    assert done.exit_code == 0
    assert json.loads(done.stdout) == {
        "model": "gpt-5",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": "你好"}],
    }
    assert done.stderr == "lost: top_k: 5: openai_chat has no field of this meaning\n"


def test_on_a_terminal_losses_stand_on_lines_of_their_own(person: Callable[..., Person], home: Path) -> None:
    somebody = person("transcode", "--from", "anthropic", "--to", "openai")
    _, shown = somebody.types(f"{ASKED}\n\x04").ends()
    assert "}\nlost: top_k" in shown


def test_losses_are_told_as_json_and_strictly(run: Callable[..., Result]) -> None:
    done = run("transcode", "--from", "anthropic", "--to", "openai", "--json", "--strict", input=ASKED)
    assert done.exit_code == 1
    assert json.loads(done.stderr) == {
        "where": "top_k",
        "what": "5",
        "why": "openai_chat has no field of this meaning",
    }
    assert run("transcode", "--from", "anthropic", "--to", "anthropic", "--strict", input=ASKED).exit_code == 0


@pytest.mark.row("S9")
def test_a_stream_goes_out_as_a_stream(run: Callable[..., Result]) -> None:
    done = run("transcode", "--from", "openai", "--to", "anthropic", input=STREAM)
    assert done.exit_code == 0
    assert [line.split(":")[:2] for line in done.stderr.splitlines()] == [
        ["lost", " created"],
        ["lost", " system_fingerprint"],
    ]
    strict = run("transcode", "--from", "openai", "--to", "anthropic", "--strict", input=STREAM)
    assert (strict.exit_code, strict.stdout) == (1, done.stdout)
    said = dialect("anthropic_messages").decode(done.stdout)
    assert said.calls == dialect("openai_chat").decode(STREAM).calls


def test_a_stream_that_broke_off_ends_with_1(run: Callable[..., Result]) -> None:
    cut = (CORPUS / "openai_chat" / "stream_cut_in_event.wire").read_bytes()
    done = run("transcode", "--from", "openai", "--to", "gemini", input=cut)
    assert done.exit_code == 1
    assert '{"error":' in done.stdout
    assert done.stderr.splitlines()[-1] == "actum: the answer broke off"


def test_what_a_model_wrote_as_text_can_be_streamed_on(run: Callable[..., Result]) -> None:
    text = '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'
    done = run("transcode", "--from", "hermes", "--to", "responses", "--kind", "stream", input=text)
    assert done.exit_code == 0
    assert dialect("openai_responses").decode(done.stdout).calls[0].arguments == {"a": 1}


@pytest.mark.parametrize(
    ("words", "input", "message"),
    [
        (("--from", "openai", "--to", "klingon"), ASKED, "there is no dialect called 'klingon'"),
        (("--from", "openai", "--to", "anthropic"), "", "there is nothing to read"),
        (("--from", "openai", "--to", "anthropic"), '{"messages": 5}', "messages: array was expected"),
        (("--to", "anthropic"), ASKED, "--from"),
    ],
)
def test_misuse_ends_with_2(run: Callable[..., Result], words: tuple[str, ...], input: str, message: str) -> None:
    done = run("transcode", *words, input=input)
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr


@pytest.mark.usefixtures("home")
def test_a_piece_of_a_stream_goes_on_before_the_next_one_comes() -> None:
    encoder = dialect("anthropic_messages").encoder()
    words = ["transcode", "--from", "anthropic", "--to", "openai"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with warm.popen(
        [sys.executable, "-c", START, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdin
        assert process.stdout
        for word in ("one", "two"):
            process.stdin.write(encoder.feed(TextDelta(word)))
            process.stdin.flush()
            while word.encode() not in (line := process.stdout.readline()):
                assert line  # it goes on
        process.stdin.close()
        assert b"broke off" in process.stdout.read()
    assert process.returncode == 1
