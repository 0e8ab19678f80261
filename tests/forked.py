"""Runs the tests in forks of the process that collected them: `pytest --forks 4`.

Collecting takes 20 seconds of CPU, twice as much where nothing is compiled yet, and each worker of pytest-xdist
collects for itself. Here one process collects, and its forks run the tests and send the reports back. It hands out
whole files, so that the tests of a file share their fixtures; at the end, a worker without a file takes half of what
another one has left. All workers but one begin with the first files, which talk to servers and mostly wait; one begins
with the last files, which take nothing but CPU.
"""

from __future__ import annotations

import atexit
import collections
import contextlib
import multiprocessing
import multiprocessing.connection
import os
import random
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
from _pytest.capture import CaptureManager, FDCapture

from tests import warm

Way = multiprocessing.connection.Connection
"""The way between the process that collected and a worker: numbers of tests go there, reports come back."""

MANY = 1000
"""Of more tests, some start processes."""
WAITING = ("examples", "studio", "tasks", "end_to_end", "server", "cli", "triggers", "conformance", "bound", "sandbox")
"""Folders of tests that wait for other processes: their files come first, in this order."""


class Files:
    """What is left to run, by file.

    Args:
        paths: the path of each test, in the order of the collection.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        files: dict[Path, collections.deque[int]] = {}
        for number, path in enumerate(paths):
            files.setdefault(path, collections.deque()).append(number)
        self._untouched = collections.deque(sorted(files.values(), key=lambda its: _place(paths[its[0]])))
        self._begun: dict[int, collections.deque[int]] = {}

    def next(self, worker: int, *, at_the_end: bool) -> int | None:
        """The next test for a worker, `None` if there is none."""
        mine = self._begun.get(worker)
        if not mine:
            if self._untouched:
                mine = self._untouched.pop() if at_the_end else self._untouched.popleft()
            else:
                most = max(self._begun.values(), key=len, default=collections.deque())
                mine = collections.deque(most.pop() for _ in range((len(most) + 1) // 2))
                mine.reverse()
            self._begun[worker] = mine
        return mine.popleft() if mine else None

    def put_back(self, worker: int, number: int) -> None:
        """This test was handed out and did not begin."""
        self._begun.setdefault(worker, collections.deque()).appendleft(number)


def _place(path: Path) -> int:
    folder = next((part for part in path.parts if part in WAITING), None)
    return WAITING.index(folder) if folder else len(WAITING)


class Worker:
    """A fork, as the process that collected sees it.

    Attributes:
        way: to the fork.
        pid: of the fork.
        handed: the numbers of the tests that it has: the one that runs, and the next.
    """

    def __init__(self, way: Way, pid: int) -> None:
        self.way = way
        self.pid = pid
        self.handed: collections.deque[int] = collections.deque()


class Forks:
    """A plugin that runs the tests in forks.

    Args:
        number: how many forks.
        first: what each fork does first.
    """

    def __init__(self, number: int, first: Callable[[], None]) -> None:
        self._number = number
        self._first = first
        self._workers: dict[int, Worker] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        if session.testsfailed or session.config.option.collectonly or session.config.option.usepdb:
            return None  # as without forks
        terminal = session.config.pluginmanager.getplugin("terminalreporter")
        if terminal is not None:
            terminal.showfspath = False  # the files come in no order
        session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]  # made once
        if len(session.items) >= MANY:
            warm.loaded(sys.executable)  # one process for all forks
        files = Files([item.path for item in session.items])
        try:
            for place in range(min(self._number, len(session.items))):
                self._begin(session, files, place)
            while self._workers:
                self._hear(session, files)
        finally:
            for worker in self._workers.values():  # the run was stopped
                with contextlib.suppress(ProcessLookupError):
                    os.kill(worker.pid, signal.SIGINT)
            for worker in self._workers.values():
                worker.way.close()
                os.waitpid(worker.pid, 0)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)
        return True

    def _begin(self, session: pytest.Session, files: Files, place: int) -> None:
        here, there = multiprocessing.Pipe()
        capture: CaptureManager = session.config.pluginmanager.getplugin("capturemanager")
        if capture.is_globally_capturing():
            capture.read_global_capture()
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if not pid:
            here.close()
            for other in self._workers.values():
                other.way.close()
            _work(session, there, place, self._first)
        there.close()
        self._workers[place] = Worker(here, pid)
        for _ in range(2):
            self._hand(files, place)

    def _hand(self, files: Files, place: int) -> None:
        worker = self._workers[place]
        number = files.next(place, at_the_end=place == self._number - 1)
        if number is not None:
            worker.handed.append(number)
        with contextlib.suppress(OSError):  # it crashed, which is heard
            worker.way.send(number)

    def _hear(self, session: pytest.Session, files: Files) -> None:
        """Take what the workers tell, and hand out the next tests."""
        ways: Mapping[object, int] = {worker.way: place for place, worker in self._workers.items()}
        for way in multiprocessing.connection.wait([worker.way for worker in self._workers.values()]):
            place = ways[way]
            worker = self._workers[place]
            try:
                told = worker.way.recv()
            except (EOFError, ConnectionResetError):
                self._ended(session, files, place)
                continue
            if told is None:  # a test is done
                worker.handed.popleft()
                if session.shouldfail or session.shouldstop:
                    worker.way.send(None)
                else:
                    self._hand(files, place)
                continue
            report = session.config.hook.pytest_report_from_serializable(config=session.config, data=told)
            report.node = SimpleNamespace(gateway=SimpleNamespace(id=f"fork {place}"), _workerinfocache=f"fork {place}")
            session.config.hook.pytest_runtest_logreport(report=report)

    def _ended(self, session: pytest.Session, files: Files, place: int) -> None:
        """A worker ended: it has nothing left, or it crashed, and another one goes on."""
        worker = self._workers.pop(place)
        worker.way.close()
        _, status = os.waitpid(worker.pid, 0)
        if not worker.handed:
            return
        item = session.items[worker.handed[0]]
        why = f"the worker crashed in this test, with the exit code {os.waitstatus_to_exitcode(status)}"
        report = pytest.TestReport(item.nodeid, item.location, {}, "failed", why, "call")
        session.config.hook.pytest_runtest_logreport(report=report)
        for number in [*worker.handed][1:]:
            files.put_back(place, number)
        self._begin(session, files, place)


class _Sender:
    """A plugin of a worker: sends each report."""

    def __init__(self, config: pytest.Config, way: Way) -> None:
        self._config = config
        self._way = way

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._way.send(self._config.hook.pytest_report_to_serializable(config=self._config, report=report))


def _work(session: pytest.Session, way: Way, place: int, first: Callable[[], None]) -> None:
    """In a fork: run the tests whose numbers come, and end."""
    code = 1
    try:
        _settle(session.config, place)
        first()
        session.config.pluginmanager.register(_Sender(session.config, way))
        items = session.items
        number: int | None = way.recv()
        while number is not None:
            following: int | None = way.recv()
            after = None if following is None else items[following]
            session.config.hook.pytest_runtest_protocol(item=items[number], nextitem=after)
            way.send(None)
            number = following
        code = 0
    except (KeyboardInterrupt, pytest.exit.Exception, EOFError, BrokenPipeError):
        pass  # the run was stopped
    except BaseException:  # noqa: BLE001  # nothing of a worker goes on in the code of the process that forked it
        os.write(2, traceback.format_exc().encode())
    try:
        session._setupstate.teardown_exact(None)  # what a stopped run left standing
        atexit._run_exitfuncs()
    finally:
        os._exit(code)


def _settle(config: pytest.Config, place: int) -> None:
    """Share nothing with the process that forked this one: output, folders, chance."""
    manager = config.pluginmanager
    manager.unregister(manager.getplugin("terminalreporter"))
    _capture_apart(manager.getplugin("capturemanager"))
    folder = config._tmp_path_factory.getbasetemp() / f"fork{place}-{os.getpid()}"  # type: ignore[attr-defined]
    folder.mkdir()
    config._tmp_path_factory._basetemp = folder  # type: ignore[attr-defined]
    random.seed()


def _capture_apart(manager: CaptureManager) -> None:
    """Capture into files of this process. The objects stay, since what was imported may hold `sys.stderr`."""
    captured = manager._global_capturing
    for each in (captured.out, captured.err) if captured is not None else ():
        if isinstance(each, FDCapture):
            with tempfile.TemporaryFile(buffering=0) as own:
                os.dup2(own.fileno(), each.tmpfile.fileno())
            os.dup2(each.tmpfile.fileno(), each.targetfd)
