from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from actum.cli.guides.examples import worked_examples
from actum.core.message import Reply
from tests import warm
from tests.patience import HANGS_S

from ..chat_server import ChatServer

ROOT = Path(__file__).parents[2]
NO_MODEL = ("native_exact_bytes", "crawler", "long_job", "switch_light", "meeting_room")
EXAMPLES = sorted(path.parent.name for path in ROOT.glob("examples/*/main.py"))


def printed(*arguments: str) -> str:
    nobody = {"HTTP_PROXY": "http://127.0.0.1:9", "http_proxy": "http://127.0.0.1:9"}  # services here need no proxy
    done: subprocess.CompletedProcess[bytes] = warm.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, **nobody},
        capture_output=True,
        timeout=HANGS_S,
        check=False,
    )
    assert (done.returncode, done.stderr.decode()) == (0, "")
    return done.stdout.decode()


def test_an_example_runs_as_a_module_and_shows_its_trace_whatever_proxy_there_is() -> None:
    shown = printed("-m", "examples.weather_prompt_json.main")

    assert [line.split()[0] for line in shown.splitlines()[:4]] == ["question", "call", "result", "answer"]
    assert '{"tool": "工具名"' in shown


def test_an_example_runs_as_a_file_too() -> None:
    shown = printed("examples/native_exact_bytes/main.py")

    assert shown.count("the same as in the file") == 2
    assert shown.endswith("It is cloudy in Boston, at 12 °C.\n")


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name not in NO_MODEL])
def test_an_example_runs_with_a_model_of_ones_own_and_says_so(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    main = import_module(f"examples.{name}.main")
    with ChatServer(lambda _: Reply.of("I am a model of your own.")) as server:
        main.main(["--model", f"{server.url}#mine"])
        assert {request.json["model"] for request in server.requests} == {"mine"}
    assert "I am a model of your own." in capsys.readouterr().out
    assert f"examples.{name}.main --model " in (ROOT / "examples" / name / "README.md").read_text("utf-8")


@pytest.mark.row("D2")
@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_is_in_the_list_says_how_to_start_it_and_has_a_test(name: str) -> None:
    assert name.isidentifier()
    assert name in {example.name for example in worked_examples()}
    assert f"python -m examples.{name}.main" in (ROOT / "examples" / name / "README.md").read_text("utf-8")
    assert (ROOT / "tests" / "examples" / f"test_{name}.py").exists()
