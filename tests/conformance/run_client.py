"""Runs the official suite against our client, one scenario after the other: `run_client.py SUITE [NODE]`.

SUITE is the folder of the npm package `@modelcontextprotocol/conformance`, NODE a node of version 22 or newer. The
suite's own way to run a set starts all clients at once, and they time out on a small machine. Which scenarios count is
what the package's `requirements` say of a revision of the protocol; the others are extensions.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

REVISIONS = ("2025-11-25", "2026-07-28")
CLIENT = f"{sys.executable} -m tests.conformance.client"


def required(suite: Path, revision: str, leg: str = "client") -> list[str]:
    """The scenarios that a client (or a server) must pass for a revision."""
    text = (suite / "requirements" / f"{revision}.yaml").read_text("utf-8")
    part = re.search(rf"^{leg}:\n((?:  - .*\n)+)", text, re.MULTILINE)
    return re.findall(r"^  - (\S+)$", part[1], re.MULTILINE) if part else []


def failure(suite: Path, node: str, revision: str, scenario: str) -> str:
    """What the suite says of a scenario that fails; empty where it passes."""
    command = [node, str(suite / "dist" / "index.js"), "client", "--scenario", scenario]
    command += ["--spec-version", revision, "--command", CLIENT]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    return "" if done.returncode == 0 and "OVERALL: PASSED" in said else said


def failures(suite: Path, node: str) -> Iterator[str]:
    """Each scenario that fails, with what the suite says of it."""
    for revision in REVISIONS:
        scenarios = required(suite, revision)
        if not scenarios:
            yield f"{revision}: its requirements name no scenario"
        failed = 0
        for scenario in scenarios:
            if said := failure(suite, node, revision, scenario):
                failed += 1
                yield f"{revision} {scenario}:\n{said}"
        sys.stdout.write(f"{revision}: {len(scenarios) - failed} of {len(scenarios)} scenarios pass\n")


if __name__ == "__main__":
    suite, node = Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "node"
    found = list(failures(suite, node))
    sys.exit("\n".join(found) or 0)
