"""Runs the official conformance suite against what we make.

`python -m tests.conformance.run [server|served|gateway|client]...`

Each set of requirements that counts (2025-11-25 and 2026-07-28) is run against our server, against the same server as a
door of `actum serve` (`served`), against our gateway in front of our server, and against our client, one scenario at a
time. What the suite does not score is shown and counts for nothing. The exit status is 0 when all that counts passes.
The suite and its Node come by `tests.peers.install`.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from tests.conformance.run_client import REVISIONS, failures, required
from tests.peers.install import conformance, node
from tests.server_process import running

SUITE_S = 600.0
_LINE = re.compile(r"^([✓✗]) (\S+): (\d+) passed, (\d+) failed", re.MULTILINE)


class Outcome(NamedTuple):
    """What the suite says of a scenario."""

    scenario: str
    passes: bool
    checks: int
    counts: bool


def suite_folder() -> Path:
    """Where the suite is installed."""
    return conformance().parents[1]


def run_server(url: str, revision: str) -> tuple[list[Outcome], str]:
    """All server scenarios of a revision: what came of each, and all that the suite said."""
    command = [str(node()), str(conformance()), "server", "--url", url, "--requirements", revision]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SUITE_S, check=False)
    counted = set(required(suite_folder(), revision, "server"))
    outcomes = [
        Outcome(name, mark == "✓" and failed == "0", int(passed), name in counted)
        for mark, name, passed, failed in _LINE.findall(done.stdout)
    ]
    outcomes += [Outcome(name, False, 0, True) for name in counted - {each.scenario for each in outcomes}]
    return outcomes, done.stdout + done.stderr


def against(what: str) -> bool:
    """Run the server sets against our server, or our gateway in front of it, and print a table. Whether all pass."""
    fine = True
    with ExitStack() as stack:
        url = stack.enter_context(running(f"tests.conformance.{'served' if what == 'served' else 'server'}"))
        if what == "gateway":
            url = stack.enter_context(running("tests.conformance.gateway", url))
        for revision in REVISIONS:
            outcomes, said = run_server(url, revision)
            counted = [each for each in outcomes if each.counts]
            passing = sum(each.passes for each in counted)
            beside = [each for each in outcomes if not each.counts]
            _say(f"{what:8} {revision}  {passing} of {len(counted)} scenarios, {_beside(beside)}")
            if not counted or passing < len(counted):
                fine = False
                _say(said)
    return fine


def _beside(outcomes: Sequence[Outcome]) -> str:
    failing = [each.scenario for each in outcomes if not each.passes]
    return f"not scored: {len(outcomes) - len(failing)} of {len(outcomes)}" + (
        f" (without {', '.join(failing)})" if failing else ""
    )


def against_client() -> bool:
    """Run the client sets against our client. Whether all pass."""
    found = list(failures(suite_folder(), str(node())))
    for each in found:
        _say(each)
    return not found


def _say(words: str) -> None:
    sys.stdout.write(f"{words}\n")


def main(wanted: Sequence[str]) -> int:
    """Run what is wanted; all of it, where nothing is said."""
    legs = wanted or ("server", "served", "gateway", "client")
    results = [against_client() if leg == "client" else against(leg) for leg in legs]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
