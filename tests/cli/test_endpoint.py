"""The command line with a model behind HTTP: addresses, keys, streaming, and an endpoint that fails."""

from __future__ import annotations

import json
import shlex
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from actum.core.call import ToolCall
from actum.core.message import Reply

from ..chat_server import ChatServer, Raw

Run = Callable[..., Result]
MINE = ("--tools", "tools.py")
CALL = Reply.of(calls=[ToolCall("c1", "add", {"a": 2, "b": 3})])


@pytest.mark.row("A1", "S3")
def test_an_address_and_a_name_are_a_model(run: Run) -> None:
    with ChatServer([CALL, "It is 5."]) as server:
        result = run("run", "2 and 3?", "-m", f"{server.url}#tiny", *MINE)
    assert (result.exit_code, result.stdout) == (0, "It is 5.\n")
    assert server.requests[0].json["model"] == "tiny"


def test_the_environment_names_address_model_and_key(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with ChatServer(["Hello."]) as server:
        monkeypatch.setenv("ACTUM_BASE_URL", server.url)
        monkeypatch.setenv("ACTUM_MODEL", "qwen3:8b")
        monkeypatch.setenv("ACTUM_API_KEY", "k-123")
        assert run("run", "hi", *MINE).stdout == "Hello.\n"
    assert server.requests[0].json["model"] == "qwen3:8b"
    assert server.requests[0].headers["authorization"] == "Bearer k-123"


def test_an_address_without_a_model_says_what_to_set(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACTUM_BASE_URL", "http://127.0.0.1:9/v1")
    result = run("run", "hi")
    assert result.exit_code == 2
    assert "ACTUM_MODEL" in result.stderr
    assert run("run", "hi", "-m", "embedded").exit_code == 0


@pytest.mark.row("S8")
@pytest.mark.parametrize(("native", "told"), [(True, "openai_chat"), (False, "prompt_json")])
def test_the_dialect_that_was_found_out_is_shown(run: Run, native: bool, told: str) -> None:
    said = CALL if native else '{"tool": "add", "params": {"a": 2, "b": 3}}'
    with ChatServer([said, "It is 5."], native=native) as server:
        result = run("run", "2 and 3?", "-v", "-m", f"{server.url}#tiny", *MINE)
    assert f"in the dialect {told}" in result.stdout
    assert "    call  add  a=2  b=3" in result.stdout


def test_a_key_that_is_refused_is_one_line_without_the_key(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACTUM_API_KEY", "k-secret")
    refusal = Raw((json.dumps({"error": {"message": "Incorrect API key k-secret", "code": 401}}).encode(),), status=401)
    with ChatServer([refusal], probe=refusal) as server:
        result = run("run", "hi", "-m", f"{server.url}#tiny", *MINE)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "Incorrect API key" in result.stderr
    assert "k-secret" not in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_run_at_an_endpoint_is_resumed_with_the_command_that_was_told(run: Run, home: Path) -> None:
    keep = Reply.of(calls=[ToolCall("c1", "keep", {"text": "milk"})])
    with ChatServer([keep, "Kept."]) as server:
        paused = run("run", "keep milk", "-m", f"{server.url}#tiny", *MINE)
        (told,) = [shlex.split(line)[1:] for line in paused.stderr.splitlines() if line.startswith("  actum resume")]
        assert run(*told).stdout == "Kept.\n"
    assert (home / "kept.txt").read_text() == "milk"


@pytest.mark.parametrize(("native", "calls"), [(True, "ok"), (False, "warn")])
def test_the_doctor_asks_the_endpoint_and_sees_whether_it_calls_tools(run: Run, native: bool, calls: str) -> None:
    with ChatServer(["No."], native=native) as server:
        told = json.loads(run("doctor", "--json", "-m", f"{server.url}#tiny").stdout)
    verdicts = {finding["about"]: finding["verdict"] for finding in told}
    assert (verdicts["model"], verdicts["calls"]) == ("ok", calls)


def refusing(status: int, message: str, code: str = "") -> Raw:
    return Raw((json.dumps({"error": {"message": message, "code": code}}).encode(),), status=status)


@pytest.mark.parametrize(
    ("probe", "found", "advice"),
    [
        (refusing(401, "Missing key"), "No key was sent: set ACTUM_API_KEY", "set the variable"),
        (refusing(404, "model 'tiny' not found"), "model 'tiny' not found", "check the model's name"),
        (refusing(429, "no money", "insufficient_quota"), "no quota or credit left", "see the account"),
        (refusing(400, "tiny is being loaded"), "is being loaded", "see what the endpoint says"),
    ],
)
def test_the_doctor_tells_refusals_apart(run: Run, probe: Raw, found: str, advice: str) -> None:
    with ChatServer([probe], probe=probe) as server:
        told = json.loads(run("doctor", "--json", "-m", f"{server.url}#tiny").stdout)
    (model,) = [finding for finding in told if finding["about"] == "model"]
    assert (model["verdict"], found in model["found"], advice in model["advice"]) == ("bad", True, True), model


def test_the_doctor_tells_what_is_not_reached_apart(process: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        down = f"127.0.0.1:{nobody.getsockname()[1]}"
        plain = ChatServer([]).url.removeprefix("http://")
        for address, found in {
            f"http://{down}/v1": f"{down}: it can not be reached: nothing listens at this port",
            f"https://{plain}": "it does not speak TLS",
            "http://no-such-host.invalid/v1": "its name is not known",
        }.items():
            told = json.loads(process("doctor", "--json", "-m", f"{address}#tiny").stdout)
            (model,) = [finding for finding in told if finding["about"] == "model"]
            assert (model["verdict"], found in model["found"]) == ("bad", True), model


def test_an_address_without_its_version_works_and_the_right_one_is_said(
    run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    with ChatServer(["Hello."]) as server:
        assert run("run", "hi", "-m", f"{server.url.removesuffix('/v1')}#tiny", *MINE).stdout == "Hello.\n"
        assert f"It is at {server.url}" in caplog.text
