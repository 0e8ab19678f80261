"""Runs the official compatibility kit of A2A against `actum serve`: `python -m tests.a2a_kit.run`.

The kit is fetched by git and installed into an environment of its own in `.venv/a2a-kit`, so that this needs a network.
`A2A_KIT=FOLDER` names a copy of the kit's repository in the place of the network.

The branch `1.0-dev` runs against a card with the fields of 1.0 alone (`strict_card`), on all bindings. The branch
`0.3.x` runs its mandatory tests against the default card. The exit status is 0 where nothing fails but what
`CONTRADICTED` names; `docs/a2a.md` says why.
"""

from __future__ import annotations

import os
import re
import secrets
import subprocess
import sys
import tempfile
import time
import urllib.request
import venv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.peers.programs import free_port

REPOSITORY = "https://github.com/a2aproject/a2a-tck"
BRANCHES = ("1.0-dev", "0.3.x")
PLACE = Path(sys.prefix) / "a2a-kit"
AGENT = Path(__file__).with_name("agent.py")
KIT_S, START_S = 600.0, 30.0
CONTRADICTED = ("CORE-SEND-003",)
"""Requirements that the kit counts as failed for a server that does what they say."""
PACKAGES = (
    *("pytest", "pytest-asyncio", "pytest-html", "pytest-json-report", "httpx", "grpcio", "protobuf"),
    *("googleapis-common-protos", "jsonschema", "gherkin-official", "Jinja2", "requests", "responses", "deepdiff"),
    *("packaging", "PyYAML", "python-dotenv", "cryptography", "pyOpenSSL"),
)
"""What both branches need. Their own lists are not installed, since they differ in what they forget."""
SETTINGS = """journal = "journal.db"

[agents.kit]
python = "{agent}:agent"

[serve.a2a]
strict_card = {strict}
grpc = "127.0.0.1:{grpc}"
list_grpc = true

[egress]
private = ["http://localhost:*"]  # where the kit takes pushed news
"""
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+::\S+.*)$", re.MULTILINE)


def fetched(branch: str) -> Path:
    """A copy of a branch of the kit.

    Raises:
        CalledProcessError: it can not be had.
    """
    place = PLACE / branch
    if not (place / "run_tck.py").exists():
        source = os.environ.get("A2A_KIT") or REPOSITORY
        git("clone", "--quiet", "--branch", branch, "--single-branch", source, str(place))
    return place


def git(*words: str) -> None:
    subprocess.run(["git", *words], check=True)


def kit_python() -> Path:
    """The Python of an environment with what the kit needs."""
    place = PLACE / "env"
    python = place / "bin" / "python"
    if not (place / "ready").exists():
        venv.create(place, with_pip=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
        (place / "ready").touch()
    return python


@contextmanager
def served(*, strict: bool) -> Iterator[str]:
    """The scripted agent, by `actum serve` with default settings but for those of `SETTINGS`; the server's origin.

    Raises:
        TimeoutError: the server does not start.
    """
    with tempfile.TemporaryDirectory() as folder:
        port, grpc = free_port(), free_port()
        text = SETTINGS.format(agent=AGENT, strict="true" if strict else "false", grpc=grpc)
        Path(folder, "actum.toml").write_text(text)
        command = [sys.executable, "-m", "actum", "serve", "--http", f"127.0.0.1:{port}"]
        environment = {**os.environ, "HOME": folder, "XDG_CONFIG_HOME": folder, "XDG_STATE_HOME": folder}
        environment["ACTUM_SECRETS_KEY"] = secrets.token_hex(32)  # for the credentials of those who take pushed news
        server = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL)
        try:
            _wait_for(f"http://127.0.0.1:{port}/.well-known/agent-card.json", server)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait(30)


def _wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + START_S
    while time.monotonic() < end and server.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=5).close()
        except OSError:
            time.sleep(0.2)
        else:
            return
    raise TimeoutError("the server did not start")


def failures(branch: str) -> list[str]:
    """The tests of a branch that fail and are not contradicted."""
    kit, python = fetched(branch), kit_python()
    with served(strict=branch == "1.0-dev") as origin:
        command: Sequence[str] = ("--sut-host", origin)
        if branch == "0.3.x":  # this branch wants the address of JSON-RPC
            command = ("--sut-url", f"{origin}/a2a/kit", "--category", "mandatory")
        done = subprocess.run(
            [str(python), "run_tck.py", *command], cwd=kit, capture_output=True, text=True, timeout=KIT_S, check=False
        )
    ends = [line for line in done.stdout.splitlines() if " passed" in line]
    _say(f"{branch:8} {ends[-1].strip('= ') if ends else 'the kit did not run'}")
    found = [each for each in _FAILED.findall(done.stdout) if not any(name in each for name in CONTRADICTED)]
    if not ends:
        found.append("the kit did not run")
        _say(done.stdout[-4000:] + done.stderr[-4000:])
    return found


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - a command


def main() -> int:
    """Run both branches; the exit status."""
    found = [f"{branch}: {each}" for branch in BRANCHES for each in failures(branch)]
    for each in found:
        _say(f"fails: {each}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
