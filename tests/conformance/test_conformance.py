"""The official suite against our server: all that it scores passes, in both eras."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conformance.run import run_server, suite_folder
from tests.conformance.run_client import failure
from tests.peers.install import node
from tests.server_process import running


@pytest.fixture(scope="module", params=["server", "served"])
def server(request: pytest.FixtureRequest) -> Iterator[str]:
    """The server by itself, and the same as a door of `actum serve`."""
    with running(f"tests.conformance.{request.param}") as url:
        yield url


@pytest.mark.row("P2")
@pytest.mark.parametrize(("revision", "scenarios"), [("2025-11-25", 30), ("2026-07-28", 37)])
def test_all_scored_scenarios_of_the_official_suite_pass(server: str, revision: str, scenarios: int) -> None:
    outcomes, said = run_server(server, revision)
    counted = [each for each in outcomes if each.counts]
    assert len(counted) == scenarios
    assert all(each.passes and each.checks for each in counted), said


def test_a_scenario_of_the_official_suite_for_clients_passes() -> None:
    """`make conformance` runs them all."""
    assert failure(suite_folder(), str(node()), "2025-11-25", "initialize") == ""
