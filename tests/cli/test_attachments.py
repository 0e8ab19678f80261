"""Files that are given along with a question: by a pipe, and by `-a`."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from actum.cli.conversation.attachments import ATTACHED_BYTES_MAX, TEXT_BYTES_MAX, GivenFile
from actum.core.call import MediaPart, TextPart
from tests import warm
from tests.patience import HANGS_S

from .person import START, Person

Run = Callable[..., Result]
MINE = ("--tools", "tools.py", "--journal", "memory", "--model")
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))

ECHO = '''
from actum.core.call import MediaPart
from actum.testing import ScriptedModel

def say(request):
    """Each part of what the user said last, in a line."""
    return "\\n".join(
        f"[{part.handle} {part.media_type} {part.name} {len(part.data)}]" if isinstance(part, MediaPart) else part.text
        for part in request.messages[-1].content
    )

model = ScriptedModel(say, name="echo")
'''


@pytest.fixture
def echo(home: Path) -> tuple[str, ...]:
    """The words that choose a model which says again what it was told."""
    (home / "echo.py").write_text(ECHO, "utf-8")
    (home / "picture.png").write_bytes(PNG)
    return (*MINE, "echo.py:model")


def test_a_text_by_pipe_is_part_of_the_question_and_the_person_is_told(
    process: Callable[..., subprocess.CompletedProcess[str]], echo: tuple[str, ...]
) -> None:
    result = process("run", "Summarise this", *echo, input="The milk is out.\n")
    assert result.stdout == 'Summarise this\n<file name="stdin">\nThe milk is out.\n</file>\n'
    assert result.stderr == "With the question: stdin (text, 17 bytes)\n"
    nothing = process("run", "Summarise this", *echo, input=" \n")
    assert (nothing.stdout, nothing.stderr) == ("Summarise this\n", "")
    quiet = process("run", "Summarise this", "--json", *echo, input="The milk is out.\n")
    assert ("The milk is out." in quiet.stdout, quiet.stderr) == (True, "")
    dash = process("run", "-", *echo, input="The milk is out.\n")
    assert (dash.stdout, dash.stderr) == ("The milk is out.\n", "")


def test_files_are_attached_by_their_kind_and_texts_can_be_read(run: Run, home: Path, echo: tuple[str, ...]) -> None:
    (home / "list.csv").write_text("milk,1\n", "utf-8")
    (home / "notes").write_bytes("Grüße".encode("utf-16"))
    result = run("run", "Look", "-a", "picture.png", "-a", "list.csv", "--attach", "notes", *echo)
    size = len(PNG)
    assert result.stdout == (
        f'Look\n[att_1 image/png picture.png {size}]\n<file name="list.csv">\nmilk,1\n</file>\n'
        '<file name="notes">\nGrüße\n</file>\n'
    )
    assert "picture.png (image/png, 264 bytes), list.csv (text, 7 bytes), notes (text, 12 bytes)" in result.stderr


def test_a_binary_by_pipe_is_attached_by_its_kind(home: Path, echo: tuple[str, ...]) -> None:
    kinds = {
        "image/png": PNG,
        "image/jpeg": b"\xff\xd8\xff\xe0\0\x10JFIF",
        "image/webp": b"RIFF\0\0\0\0WEBPVP8 ",
        "audio/wav": b"RIFF\0\0\0\0WAVEfmt ",
        "application/pdf": b"%PDF-1.7\n\xff\xfe\x00",
        "application/octet-stream": b"\x00\x01\xfe",
    }
    for kind, data in kinds.items():
        part = GivenFile.of("stdin", data).part
        assert isinstance(part, MediaPart), kind
        assert (part.media_type, part.data) == (kind, data)
    assert isinstance(GivenFile.of("drawing.bin", b"plain words").part, TextPart)


def test_what_is_too_large_or_not_there_is_refused_before_anything_is_sent(
    run: Run, home: Path, echo: tuple[str, ...]
) -> None:
    (home / "long.txt").write_text("a" * (TEXT_BYTES_MAX + 1), "utf-8")
    (home / "empty").touch()
    with (home / "huge.bin").open("wb") as file:
        file.truncate(ATTACHED_BYTES_MAX + 1)
    with (home / "half.bin").open("wb") as file:
        file.truncate(ATTACHED_BYTES_MAX // 2 + 1)
    cases = {
        ("-a", "long.txt"): "1,000,001 bytes of text are too much for one question",
        ("-a", "huge.bin"): "larger than 20,000,000 bytes",
        ("-a", "half.bin", "-a", "half.bin"): "together",
        ("-a", "nowhere.png"): "No such file",
        ("-a", "."): "Is a directory",
        ("-a", "empty"): "empty",
    }
    for words, wrong in cases.items():
        result = run("run", "Look", *words, *echo)
        assert (result.exit_code, result.stdout, wrong in result.stderr) == (2, "", True), (words, result.stderr)


def test_an_endless_pipe_is_refused_and_an_idle_one_is_told(home: Path, echo: tuple[str, ...]) -> None:
    def command() -> subprocess.Popen[bytes]:
        words = [sys.executable, "-c", START, "run", "Summarise this", *echo]
        pipe = subprocess.PIPE
        return warm.popen(words, stdin=pipe, stdout=pipe, stderr=pipe, cwd=home, env=environment)

    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with command() as idle:
        assert idle.stderr is not None
        assert b"Reading stdin to its end" in idle.stderr.readline()
        assert b"The milk is out." in idle.communicate(b"The milk is out.")[0]
    with command() as endless:
        assert endless.stdin is not None
        assert endless.stderr is not None
        with contextlib.suppress(BrokenPipeError):
            while True:
                endless.stdin.write(b"y\n" * 50_000)
        assert b"more than 20,000,000 bytes" in endless.stderr.read()
        with contextlib.suppress(BrokenPipeError):
            endless.stdin.close()
    assert endless.returncode == 2


def test_a_command_without_a_pipe_does_not_wait_for_one(person: Callable[..., Person], echo: tuple[str, ...]) -> None:
    assert "Hello" in person("run", "Hello", *echo).ends()[1]


def test_a_command_whose_stdin_is_closed_answers_all_the_same(home: Path, echo: tuple[str, ...]) -> None:
    words = ["sh", "-c", 'exec "$@" <&-', "sh", sys.executable, "-c", START, "run", "Hello", *echo]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    told = subprocess.run(words, capture_output=True, cwd=home, env=environment, check=False, timeout=HANGS_S)
    assert (told.stdout, told.returncode) == (b"Hello\n", 0)
