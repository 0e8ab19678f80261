"""What a run of the tests costs: CPU and wall clock by folder, and the slowest tests, printed at the end of a full run.

The CPU of a test is that of its process and of the processes that it started and waited for. A server that many tests
share counts at none of them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Generator
from typing import NamedTuple

import pytest

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
    return sum(os.times()[:4])


class Costs:
    """Gathers what each test of this process costs; a worker of xdist hands its costs to the process that prints."""

    def __init__(self) -> None:
        self.costs: list[Cost] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, bool | None, bool | None]:
        wall, cpu = time.monotonic(), _cpu_s()
        try:
            return (yield)
        finally:
            self.costs.append(Cost(item.nodeid, time.monotonic() - wall, _cpu_s() - cpu))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        output: dict[str, list[tuple[str, float, float]]] = getattr(node, "workeroutput", None) or {}
        self.costs += [Cost(*each) for each in output.get("costs", ())]

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        output: dict[str, object] | None = getattr(session.config, "workeroutput", None)
        if output is not None:
            output["costs"] = [tuple(each) for each in self.costs]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if len(self.costs) >= FULL:
            terminalreporter.section("cost")
            terminalreporter.write_line("\n".join(lines(self.costs)))


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
