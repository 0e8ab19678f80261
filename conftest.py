"""What holds for every test: it does not depend on who runs it, on how fast the machine is, or on luck."""

from __future__ import annotations

import atexit
import functools
import gc
import os
import random
import re
import shutil
import sys
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import settings

from actum.core.secrets.given import GIVEN
from tests.cost import Costs
from tests.endurance import Endurance, Volume, is_unchanged, share
from tests.forked import Forks
from tests.packages import Installing, installing
from tests.postgres import PostgresServer, postgres_server

OF_THE_PERSON = re.compile(r"ACTUM_.*|.*_API_KEY|.*_BASE_URL|.*_PROXY|NO_COLOR|FORCE_COLOR|COLUMNS", re.IGNORECASE)
"""Variables by which the person who runs the tests would change what they see: keys, endpoints, proxies, colours."""

gc.disable()  # until all is collected: what comes then stays

for name in list(os.environ):
    if OF_THE_PERSON.fullmatch(name):
        del os.environ[name]

# The only authority that the tests trust is one that signed nothing and whose key is gone. Each client loads the
# authorities anew, and those of the system take 25 ms of CPU.
os.environ["SSL_CERT_FILE"] = str(Path(__file__).with_name("tests") / "nobody.pem")

# What one process has compiled, the next one reads: compiling the tests alone takes 15 seconds, in each worker anew.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def own_state() -> None:
    """What a test approves or logs in to is no state of the person's; the processes of a test inherit the folder."""
    folder = tempfile.mkdtemp(prefix="actum-state-")
    maker = os.getpid()
    atexit.register(lambda: shutil.rmtree(folder, ignore_errors=True) if os.getpid() == maker else None)
    os.environ["XDG_STATE_HOME"] = os.environ["XDG_CONFIG_HOME"] = folder


own_state()


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Costs(), "costs")
    if config.getoption("forks") > 1:
        config.pluginmanager.register(Forks(config.getoption("forks"), own_state), "forks")
    endurance = config.getoption("endurance")
    if endurance is not None:
        Volume.whole = True
        config.pluginmanager.register(Endurance(None if endurance == "whole" else float(endurance)), "endurance")
    # The same examples each time, so that what passed passes again; `--hypothesis-profile=default` looks for new ones.
    settings.register_profile("steady", deadline=None, derandomize=True, max_examples=share(100, 12))
    settings.load_profile("steady")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--forks", type=int, default=0, help="run the tests in this number of processes")
    # No test may need another one to run before it: `--order-seed 7` runs them in a random order, always the same.
    parser.addoption("--order-seed", type=int, help="run the files, and the tests in each file, in a random order")
    parser.addoption("--pictures", action="store_true", help="write the screenshots of the guides into docs/images")
    parser.addoption(
        "--endurance",
        help="run the tests marked `endurance` alone, with all their cases: `whole`, or a number of seconds, for which "
        "those run whose files have changed since they passed",
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A run of all tests leaves out the projects whose files have not changed; a run that names them does not."""
    is_everything = config.args_source is config.ArgsSource.TESTPATHS and config.getoption("endurance") is None
    return True if is_everything and any(_is_unchanged(each) for each in collection_path.parents) else None


@functools.cache
def _is_unchanged(folder: Path) -> bool:
    return is_unchanged(folder)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Examples in docstrings of tests are none: looking for them took a fifth of the collection."""
    found = yield
    return [each for each in found if "tests" not in file_path.parts or not isinstance(each, DoctestModule)]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    seed = config.getoption("order_seed")
    if seed is None:
        return
    chance = random.Random(seed)
    files: dict[Path, list[pytest.Item]] = {}  # the tests of a file stay together: they may share a server
    for item in items:
        files.setdefault(item.path, []).append(item)
    order = list(files.values())
    chance.shuffle(order)
    for tests in order:
        chance.shuffle(tests)
    items[:] = [item for tests in order for item in tests]


def pytest_collection_finish() -> None:
    """What was collected stays to the end: the collector of garbage need not look at it again and again.

    The little garbage among it stays as well: looking for it takes a second, in which no test runs.
    """
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True)
def _no_folder_is_left_behind() -> Iterator[None]:
    """Where modules are looked for is what it was: a command that runs in this process adds its folder for good, and
    the next test's `tools` would be found in the folder of the last."""
    before = [*sys.path]
    yield
    sys.path[:] = before


@pytest.fixture(autouse=True)
def _no_secret_is_left_behind() -> Iterator[None]:
    """A secret of one test, such as `root`, is a common word in the texts of the next."""
    yield
    GIVEN.forget()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server for all tests that share one; each makes a database of its own."""
    with postgres_server() as running:
        yield running


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a journal of each kind is kept: a file, and the address of an empty database."""
    if request.param == "sqlite":
        return str(tmp_path / "journal.db")
    address: str = request.getfixturevalue("postgres").new_database()
    return address


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installing]:
    """Packages that a test installs."""
    with installing(tmp_path / "packages", monkeypatch) as found:
        yield found
