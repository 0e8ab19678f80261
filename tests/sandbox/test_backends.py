"""What a backend says of itself counts for nothing: a probe tries, and nothing is run where it could do something."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from actum.core.errors import UsageError
from actum.sandbox.backend import GROUP, JailBackend, backend_named, own_backend
from actum.sandbox.jail import Jail, JailLimits
from actum.sandbox.jail_watch import ProcessLine, read_ps
from actum.sandbox.layers import layers, start
from actum.sandbox.linux import LandlockJail, landlock_abi
from actum.sandbox.macos import SeatbeltJail, held_command, profile
from actum.sandbox.process import JailedCommand, JailedProcess, JailReport
from actum.sandbox.work_folder import JailPlace, furnished
from actum.transport.process import start_child
from tests.patience import HANGS_S
from tests.toolsets.mcp.test_stdio import until

held = pytest.mark.skipif(landlock_abi() == 0, reason="this machine has no Landlock: the refusal is tested instead")
PAGE = os.sysconf("SC_PAGE_SIZE")
TICKS = os.sysconf("SC_CLK_TCK")
ALL_HELD = '{"read":"","write":"","network":"","signal":""}'


class BareProcess(JailedProcess):
    """A command that nothing holds."""

    def report(self) -> JailReport:
        return JailReport(self.child.returncode, "", 0.0, 0, stopped=False)


class LyingJail(Struct, frozen=True):
    """Says that it holds everything, and runs the command as it is.

    Attributes:
        words: go before the command.
    """

    words: tuple[str, ...] = ()
    name: str = "the strongest of all jails"

    def unavailable(self) -> str:
        return ""

    @asynccontextmanager
    async def start(self, asked: JailedCommand) -> AsyncIterator[JailedProcess]:
        async with furnished(asked, ()) as place:
            command = [*self.words, *asked.command]
            child = await start_child(command, env=place.environment, cwd=str(place.work), marked=False)
            try:
                yield BareProcess(child, place.work)
            finally:
                await child.end()
                child.close()


class HonestJail(Struct, frozen=True):
    """Holds by the kernel, and is another backend all the same."""

    name: str = "machines"

    def unavailable(self) -> str:
        return ""

    @asynccontextmanager
    async def start(self, asked: JailedCommand) -> AsyncIterator[JailedProcess]:
        async with LandlockJail().start(asked) as process:
            yield process


async def said(backend: JailBackend | None, jail: Jail, code: str) -> tuple[str, JailReport]:
    async with start([sys.executable, "main.py"], jail, files={"main.py": code.encode()}, backend=backend) as process:
        told = await process.child.stdout.read()
        return told.decode(), await process.ended()


@pytest.mark.row("C5")
async def test_a_backend_that_claims_all_and_holds_nothing_runs_nothing(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    code = f"open({str(ran)!r}, 'x')"
    with pytest.raises(UsageError) as refused:
        await said(LyingJail(), Jail(), code)
    for what in ("a file was read", "a file was written", "TCP", "UDP", "actum was signalled", "--no-jail"):
        assert what in str(refused.value)
    assert not await asyncio.to_thread(ran.exists)
    assert {layer.name: layer.is_held for layer in await layers(LyingJail())} == dict.fromkeys(
        ("read", "write", "network", "signal"), False
    )


async def test_a_backend_that_says_its_probe_could_do_nothing_is_seen_through_from_outside() -> None:
    """The probe runs, what it says is thrown away, and the backend says that all was held."""
    liar = LyingJail(("/bin/sh", "-c", f"\"$@\" > report; echo '{ALL_HELD}'", "sh"))
    found = {layer.name: layer for layer in await layers(liar)}
    assert found["write"].found == "a file outside was changed"
    assert {"TCP", "UDP", "a unix socket", "a datagram pair"} <= set(found["network"].found.split(", "))
    with pytest.raises(UsageError, match="does not hold a jail"):
        await said(liar, Jail(), "")
    for answer in ("{}", "[]", "", '{"read": 1}'):
        found = {layer.name: layer for layer in await layers(LyingJail(("/bin/sh", "-c", f"echo '{answer}'", "sh")))}
        assert not any(layer.is_held for layer in found.values()), (answer, found)


@held
async def test_the_probe_runs_where_the_folder_for_temporary_files_is_deep(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 60) / ("e" * 60)
    deep.mkdir(parents=True)
    for folder in (deep, *list(deep.parents)[:4]):
        folder.chmod(0o755)
    program = "import asyncio; from actum.sandbox.layers import layers; print([e.found for e in asyncio.run(layers())])"
    environment = {**os.environ, "TMPDIR": str(deep)}
    ended = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        check=False,
        timeout=HANGS_S,
    )
    assert ended.stdout == b"['held', 'held', 'held', 'held']\n", ended


@held
async def test_a_package_offers_a_backend_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    about = tmp_path / "machines-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: machines\nVersion: 1.0\n", "ascii")
    module = HonestJail.__module__
    (about / "entry_points.txt").write_text(
        f"[{GROUP}]\nmachines={module}:HonestJail\nliar={module}:LyingJail\nbroken=no_such_module:Jail\n"
        f"nothing={module}:dict\n",
        "ascii",
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert backend_named("machines") == HonestJail()
    assert (await said(None, Jail(backend="machines"), "print(6 * 7)"))[0] == "42\n"
    for name, why in (
        ("liar", "does not hold a jail"),
        ("broken", "can't be loaded: .*No module named 'no_such_module'"),
        ("nothing", "can't be loaded"),
        ("unknown", r"no installed package offers this backend \(offered are: broken, liar, machines, nothing\)"),
    ):
        with pytest.raises(UsageError, match=why):
            await said(None, Jail(backend=name), "")


async def test_on_windows_nothing_is_run_and_the_refusal_says_what_to_do() -> None:
    backend = own_backend("win32")
    with pytest.raises(UsageError, match=r"has no jail that actum knows.*--no-jail"):
        await said(backend, Jail(), "")
    with pytest.raises(UsageError, match="was not run"):
        backend.start(JailedCommand(command=["true"], jail=Jail()))
    assert not any(layer.is_held for layer in await layers(backend))
    assert isinstance(own_backend("darwin"), SeatbeltJail)


# macOS: never run there. Its profile is a text, and its watch is tried on this machine. -------------------------------

PROFILE = """\
(version 1)
(deny default)
(allow process-fork)
(allow process-exec (subpath (param "READ0")) (subpath (param "WRITE0")))
(allow process-info* (target same-sandbox))
(allow signal (target same-sandbox))
(allow sysctl-read (sysctl-name-prefix "hw.") (sysctl-name-prefix "machdep.cpu.") (sysctl-name-prefix "kern.os") \
(sysctl-name-prefix "kern.version") (sysctl-name-prefix "kern.argmax") (sysctl-name-prefix "kern.maxfiles") \
(sysctl-name-prefix "kern.ngroups"))
(allow file-read-metadata)
(allow file-read* (literal "/") (subpath (param "READ0")) (subpath (param "WRITE0")))
(allow file-read* (literal "/dev/null") (literal "/dev/zero") (literal "/dev/random") (literal "/dev/urandom"))
(allow file-write-data (literal "/dev/null") (literal "/dev/zero"))
(allow file-write* (subpath (param "WRITE0")))
(deny file-write-setugid)
"""


def place_of(read: Sequence[str], write: Sequence[str], work: str, home: str = "", port: int = 0) -> JailPlace:
    return JailPlace(
        base=Path(work),
        work=Path(work),
        home=home,
        system=(),
        read=tuple(read),
        write=tuple(write),
        environment={},
        port=port,
    )


def test_the_profile_of_macos_denies_all_but_what_the_jail_names() -> None:
    assert profile(["READ0"], ["WRITE0"], 0) == PROFILE
    with_hosts = profile(["READ0"], ["WRITE0"], 4711)
    assert with_hosts == PROFILE + '(allow network-outbound (remote ip "localhost:4711"))\n'
    place = place_of(["/usr", "/data"], ["/out"], "/work", "/home", port=4711)
    command = held_command(["python", "-p", "x"], place)
    assert command[-5:] == [
        "-p",
        profile(["READ0", "READ1"], ["WRITE0", "WRITE1", "WRITE2"], 4711),
        "python",
        "-p",
        "x",
    ]
    assert command[1:-5] == [
        *("-D", "READ0=/usr", "-D", "READ1=/data"),
        *("-D", "WRITE0=/work", "-D", "WRITE1=/home", "-D", "WRITE2=/out"),
    ]


@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))), st.text(min_size=1))
def test_no_path_can_add_a_rule_to_the_profile_of_macos(paths: list[str], work: str) -> None:
    """Paths are parameters: the text of the profile is the same whatever they are."""
    command = held_command(["true"], place_of([f"/{path}" for path in paths], [], f"/{work}"))
    plain = held_command(["true"], place_of(["/a"] * len(paths), [], "/b"))
    assert command[command.index("-p", len(paths) * 2 + 2) + 1] == plain[plain.index("-p") + 1]
    assert command[2 : 2 + 2 * len(paths) : 2] == [f"READ{index}=/{path}" for index, path in enumerate(paths)]


def processes() -> list[ProcessLine]:
    """The processes of this machine out of `/proc`, as `ps` lists them on macOS."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            fields = (folder / "stat").read_bytes().rpartition(b")")[2].split() if folder.name.isdecimal() else []
        except OSError:
            continue
        if not fields:
            continue
        if fields[0] not in b"ZX":
            cpu = (int(fields[11]) + int(fields[12])) / TICKS
            number, memory = int(folder.name), int(fields[21]) * PAGE
            found.append(ProcessLine(number, int(fields[1]), int(fields[2]), memory, cpu, fields[19].decode()))
    return found


@pytest.fixture
def seatbelt(tmp_path: Path) -> SeatbeltJail:
    """The jail of macOS with a `sandbox-exec` that takes the same words and holds nothing."""
    stand_in = tmp_path / "sandbox-exec"
    stand_in.write_text('#!/bin/sh\nwhile [ "$1" = -D ]; do shift 2; done\nshift 2\nexec "$@"\n', "ascii")
    stand_in.chmod(0o755)
    return SeatbeltJail(str(stand_in), processes)


async def test_a_sandbox_exec_that_holds_nothing_runs_nothing(seatbelt: SeatbeltJail) -> None:
    with pytest.raises(UsageError, match="does not hold a jail"):
        await said(seatbelt, Jail(), "print(1)")


LIMITED = (
    ("memory_bytes", JailLimits(memory_bytes=80 << 20), "held = bytearray(200 << 20)\nimport time; time.sleep(60)"),
    (
        "processes",
        JailLimits(processes=3),
        "import os, time\nfor _ in range(5): os.fork() or time.sleep(60)\ntime.sleep(60)",
    ),
    (
        "disk_bytes",
        JailLimits(disk_bytes=1 << 20),
        "open('big', 'wb').write(bytes(4 << 20))\nimport time; time.sleep(60)",
    ),
    ("cpu_seconds", JailLimits(cpu_seconds=0.5), "while True: pass"),
    ("seconds", JailLimits(seconds=0.5), "import time; time.sleep(60)"),
    ("", JailLimits(), "print('done')"),
)


async def test_each_limit_is_watched_on_macos_too(seatbelt: SeatbeltJail) -> None:
    for limit, limits, code in LIMITED:
        asked = JailedCommand(
            command=[sys.executable, "main.py"], jail=Jail(limits=limits), files={"main.py": code.encode()}
        )
        async with seatbelt.start(asked) as process:
            told = await process.child.stdout.read()
            report = await process.ended()
        assert (report.limit, told) == (limit, b"" if limit else b"done\n"), (limit, report)
        assert report.exit == (0 if not limit else -9), report


LEAVES_ONE = """
import subprocess, sys
left = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
print(left.pid, flush=True)
import time; time.sleep(0.5)
"""


async def test_what_left_the_group_of_a_command_is_ended_with_it_on_macos(seatbelt: SeatbeltJail) -> None:
    asked = JailedCommand(command=[sys.executable, "main.py"], jail=Jail(), files={"main.py": LEAVES_ONE.encode()})
    async with seatbelt.start(asked) as process:
        left = int(await process.child.stdout.readline())
        assert (await process.ended()).exit == 0
        assert left not in {line.pid for line in processes()}
    async with seatbelt.start(asked) as process:
        left = int(await process.child.stdout.readline())
    assert process.report_before_removal is not None
    assert process.report_before_removal.stopped
    assert left not in {line.pid for line in processes()}


PROGRAM = """
import asyncio, os, sys
from actum.sandbox.jail import Jail
from actum.sandbox.process import JailedCommand
from tests.sandbox.test_backends import SeatbeltJail, processes

async def main():
    asked = JailedCommand(command=["/bin/sh", "-c", "echo $$; sleep 60"], jail=Jail())
    async with SeatbeltJail(sys.argv[1], processes).start(asked) as process:
        print((await process.child.stdout.readline()).decode().strip(), flush=True)
        os.kill(os.getpid(), 9)

asyncio.run(main())
"""


async def test_a_command_ends_with_an_actum_that_was_killed_on_macos(seatbelt: SeatbeltJail) -> None:
    ended = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", PROGRAM, seatbelt.program],
        capture_output=True,
        check=False,
        timeout=HANGS_S,
    )
    assert ended.returncode == -9, ended.stderr
    group = int(ended.stdout)
    await until(lambda: group not in {line.group for line in processes()})


def test_lines_of_ps_are_read_as_macos_and_linux_write_them() -> None:
    text = """\
    1     0     1  14352   1:13.37 Mon Nov 23 08:00:01 2026
  412     1   412   5120 101:02.50 Mon Nov 23 08:00:09 2026
 5123   412  5123    896   0:00.01 Mon Nov 23 09:12:44 2026
 8899  5123  5123   2048  2-01:00:05 Sat Nov 21 09:12:44 2026
 8900  5123  5123   2048  01:02:03 Mon Nov 23 09:12:44 2026
 what is this
 8901 5123
"""
    found = read_ps(text)
    assert [line.pid for line in found] == [1, 412, 5123, 8899, 8900]
    assert [line.cpu_seconds for line in found] == [73.37, 6062.5, 0.01, 176_405.0, 3723.0]
    assert found[2] == ProcessLine(5123, 412, 5123, 896 * 1024, 0.01, "Mon Nov 23 09:12:44 2026")
