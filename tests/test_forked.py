"""Forks of the process that collected run each test once, and tell of it what one process would tell."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.forked import Files

pytest_plugins = ["pytester"]

CONFTEST = """
import sys
sys.path.insert(0, {root!r})
from tests.forked import Forks

def pytest_configure(config):
    config.pluginmanager.register(Forks(3, lambda: None))
"""
TESTS = """
import os, pathlib, pytest

@pytest.fixture(scope="session")
def mine():
    pathlib.Path(f"began-{{os.getpid()}}").touch()
    yield os.getpid()
    pathlib.Path(f"ended-{{os.getpid()}}").touch()

@pytest.mark.parametrize("number", range(20))
def test_each(number, mine, tmp_path):
    assert mine == os.getpid() != {parent}
    pathlib.Path(f"{file}-{{number}}").touch(exist_ok=False)
    print("said in", number)
    if number == 11: assert not "false", "told"
    if number == 12: pytest.skip("no")
    if number == 13 and {dies}: os._exit(9)
"""


def test_each_test_runs_once_and_is_told_whole_and_one_that_crashes_its_process_alone_fails(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function")
    pytester.makeconftest(CONFTEST.format(root=str(Path(__file__).parents[1])))
    for file in ("a", "b"):
        text = TESTS.format(file=file, parent="os.getppid()", dies=file == "b")
        (pytester.path / f"test_{file}.py").write_text(text, "utf-8")
    told = pytester.runpytest_subprocess("-p", "no:actum", "-p", "no:schemathesis", "-p", "no:cacheprovider")
    told.assert_outcomes(passed=35, failed=3, skipped=2)
    told.stdout.fnmatch_lines_random(["*said in 11*", "*the worker crashed in this test, with the exit code 9*"])
    names = {path.name for path in pytester.path.iterdir()}
    assert {f"{file}-{number}" for file in ("a", "b") for number in range(20)} <= names
    began, ended = ({name[6:] for name in names if name.startswith(word)} for word in ("began-", "ended-"))
    assert 2 <= len(began) <= 4
    assert len(began - ended) == 1, "only the worker that crashed left its fixture standing"


def test_a_file_stays_with_a_worker_and_who_has_none_takes_half_of_the_fullest() -> None:
    a, b, c = Path("tests/core/a"), Path("tests/server/b"), Path("tests/core/c")
    files = Files([a, a, a, a, b, b, c])
    assert [files.next(0, at_the_end=False) for _ in range(3)] == [4, 5, 0], "those that wait are first"
    assert [files.next(1, at_the_end=True) for _ in range(3)] == [6, 2, 3]
    files.put_back(1, 3)
    assert [files.next(1, at_the_end=True), files.next(0, at_the_end=False)] == [3, 1]
    assert [files.next(0, at_the_end=False), files.next(1, at_the_end=True)] == [None, None]
