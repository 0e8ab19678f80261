"""What a run of the tests costs: CPU and wall clock by folder, and the slowest tests, printed at the end of a full run.

The CPU of a test is that of its process and of the processes that it started and waited for. A server that many tests
share counts at none of them.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import NamedTuple

import pytest

from tests import warm

FULL = 1000
"""A run of fewer tests prints nothing."""
SLOWEST = 20


class Cost(NamedTuple):
    """What one test cost: its id, and seconds of wall clock and of CPU."""

    test: str
    wall_s: float
    cpu_s: float

    @property
    def folder(self) -> str:
        """The folder below `tests`, or the package, that the test is in."""
        parts = self.test.partition("::")[0].split("/")[:-1]
        return "/".join(parts[:2]) if parts else "."


def _cpu_s() -> float:
    return sum(os.times()[:4]) + sum(warm.spent_ms) / 1000


class Costs:
    """Gathers what each test costs: where the test runs, each report gets its CPU; where it is heard, CPU adds up."""

    def __init__(self) -> None:
        self.costs: dict[str, Cost] = {}
        self._before_s = 0.0

    def pytest_runtest_logstart(self) -> None:
        self._before_s = _cpu_s()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        now_s = _cpu_s()
        report.cpu_s, self._before_s = now_s - self._before_s, now_s  # type: ignore[attr-defined]  # xdist carries it
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        before = self.costs.get(report.nodeid, Cost(report.nodeid, 0.0, 0.0))
        cpu_s = before.cpu_s + getattr(report, "cpu_s", 0.0)
        self.costs[report.nodeid] = Cost(report.nodeid, before.wall_s + report.duration, cpu_s)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if len(self.costs) >= FULL:
            terminalreporter.section("cost")
            terminalreporter.write_line("\n".join(lines([*self.costs.values()])))


def lines(costs: list[Cost]) -> list[str]:
    """The table of folders, the dearest first, and the slowest tests."""
    folders: dict[str, list[Cost]] = {"all": costs}
    for each in costs:
        folders.setdefault(each.folder, []).append(each)
    found = [f"{'tests':>6} {'CPU s':>7} {'wall s':>7}  folder"]
    for folder, its in sorted(folders.items(), key=lambda item: -sum(each.cpu_s for each in item[1])):
        cpu, wall = sum(each.cpu_s for each in its), sum(each.wall_s for each in its)
        found.append(f"{len(its):6} {cpu:7.1f} {wall:7.1f}  {folder}")
    found.append(f"{'CPU s':>7} {'wall s':>7}  the slowest tests")
    found += [
        f"{each.cpu_s:7.1f} {each.wall_s:7.1f}  {each.test}"
        for each in sorted(costs, key=lambda each: -each.wall_s)[:SLOWEST]
    ]
    return found
