"""A model on this machine is found and offered; nothing of the person's goes there before a yes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
from typer.testing import Result

from actum.core.clock import SystemClock
from actum.core.stored.passed import PassedRequest
from actum.storage.sqlite import SQLiteJournal
from tests.chat_server import ChatServer

from .person import Person

Run = Callable[..., Result]
SitDown = Callable[..., Person]
BARE = ("--tools", "none", "--mcp", "none")


def offered(person: SitDown, *words: str) -> Person:
    """A person who is offered a model; tried again, as a busy machine can miss a tenth of a second."""
    for _ in range(4):
        somebody = person(*words)
        try:
            somebody.sees("A number, or Enter")
        except AssertionError:
            continue
        return somebody
    raise AssertionError("no model was offered")


@pytest.mark.parametrize("command", ["run", "chat"])
def test_a_model_is_offered_and_gets_the_words_after_a_yes_alone(
    command: str, person: SitDown, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ChatServer(lambda _: "Hello from here.", models=["tiny:1b", "other"]) as server:
        monkeypatch.setenv("OLLAMA_BASE_URL", server.url)
        somebody = offered(person, *([command, "hi", *BARE] if command == "run" else [command, *BARE]))
        assert server.requests == []
        somebody.types("7\n").sees("A number, or Enter")
        somebody.types("1\n").sees("[y/N]")
        assert server.requests == []
        somebody.types("y\n").sees("Remembered")
        if command == "chat":
            somebody.sees("ollama:tiny:1b")
            somebody.types("hi\n")
        somebody.sees("Hello from here.")
        assert server.requests[0].json["model"] == "tiny:1b"
        assert (home / ".config/actum/actum.toml").read_text() == 'model = "ollama:tiny:1b"\n'
        looked = len(server.looked)
        again = person("run", "hi", *BARE)  # what is remembered is neither looked for nor asked about
        assert "Which one" not in again.sees("Hello from here.")
        assert len(server.looked) == looked


def test_who_takes_none_gets_the_embedded_model_and_is_told_in_one_line(
    person: SitDown, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ChatServer([], models=["tiny:1b"]) as server:
        monkeypatch.setenv("VLLM_BASE_URL", server.url)
        for typed in ("\n", "\x04"):
            somebody = offered(person, "run", "What is 17 * 23?")
            code, told = somebody.types(typed).ends()
            assert (code, told.count("embedded model"), "391" in told) == (0, 1, True)
        assert offered(person, "run", "What is 17 * 23?").types("\x03").ends()[0] == 130
        assert server.requests == []
    assert not (home / ".config").exists()


def test_a_choice_that_can_not_be_remembered_is_still_taken(
    person: SitDown, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / ".config").write_text("in the way")
    with ChatServer(lambda _: "Hello from here.", models=["tiny:1b"]) as server:
        monkeypatch.setenv("OLLAMA_BASE_URL", server.url)
        somebody = offered(person, "run", "hi", *BARE)
        somebody.types("1\ny\n").sees("directory")
        somebody.sees("Hello from here.")


def test_without_a_terminal_nothing_is_looked_at_and_nothing_is_asked(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ChatServer([], models=["tiny:1b"]) as server:
        monkeypatch.setenv("OLLAMA_BASE_URL", server.url)
        assert run("run", "What is 17 * 23?").exit_code == 0
        assert run("chat").exit_code == 0
        assert run("doctor").exit_code == 0
        assert server.looked == []


def test_models_are_listed_and_one_is_taken_for_the_future(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = run("models")
    assert (nothing.exit_code, nothing.stdout) == (0, "")
    assert "11434" in nothing.stderr
    assert run("models", "--json").stdout == "[]\n"
    with ChatServer([], models=["tiny:1b"]) as server:
        monkeypatch.setenv("OLLAMA_BASE_URL", server.url)
        listed = next(filter(None, (run("models").stdout for _ in range(4))))  # a busy machine can miss a tenth
        assert "ollama:tiny:1b" in listed
        told = next(filter(None, (json.loads(run("models", "--json").stdout) for _ in range(4))))
        assert told == [{"name": "ollama:tiny:1b", "url": server.url}]
        assert run("models", "--use", "ollama:tiny:1b").exit_code == 0
        assert server.requests == []
    assert (home / ".config/actum/actum.toml").read_text() == 'model = "ollama:tiny:1b"\n'
    refused = run("models", "--use", "opnai:gpt-5")
    assert (refused.exit_code, "Did you mean openai:gpt-5?" in refused.stderr) == (2, True)


def test_the_doctor_lists_what_is_there_and_sends_it_nothing(person: SitDown, monkeypatch: pytest.MonkeyPatch) -> None:
    with ChatServer([], models=["tiny:1b"]) as server:
        monkeypatch.setenv("LMSTUDIO_BASE_URL", server.url)
        listings = (" ".join(person("doctor").ends()[1].split()) for _ in range(4))
        assert any("actum models --use lmstudio:tiny:1b" in told for told in listings)
        assert server.requests == []


def test_tokens_that_no_upstream_told_are_marked_in_the_report(run: Run, home: Path) -> None:
    async def keep() -> None:
        journal = SQLiteJournal(home / "runs.db")
        assert journal.passed is not None
        for model, estimated in (("fast", True), ("slow", False)):
            line = PassedRequest(
                at=SystemClock().now(),
                request_id=model,
                principal="ann",
                surface="chat",
                upstream="up",
                model=model,
                asked=model,
                end="client_left",
                status=200,
                input_tokens=1_234,
                output_tokens=567,
                estimated=estimated,
                cost=Decimal("0.25"),
                seconds=1.0,
            )
            journal.passed.add(line)
        await journal.close()

    asyncio.run(keep())
    told = run("models", "report", "--journal", str(home / "runs.db"))
    rows = {line.split()[2]: line.split()[6:9] for line in told.stdout.splitlines()[1:]}
    assert rows == {"fast": ["~1234", "~567", "~0.25"], "slow": ["1234", "567", "0.25"]}, told.stdout
    sums = json.loads(run("models", "report", "--journal", str(home / "runs.db"), "--json").stdout)
    assert {each["model"]: each["estimated"] for each in sums} == {"fast": 1, "slow": 0}
