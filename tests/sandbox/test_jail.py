"""A jail fails closed, counts over all processes, and leaves nothing, however it ends."""

from __future__ import annotations

import asyncio
import os
import signal
import struct
import subprocess
import sys
import time
from collections import UserDict
from collections.abc import ItemsView
from pathlib import Path

import pytest

from actum.core.errors import UsageError
from actum.sandbox import layers as layers_module
from actum.sandbox.jail import Jail, JailLimits
from actum.sandbox.layers import NEEDED, Layer, layers, start
from actum.sandbox.linux import LandlockJail, landlock_abi
from actum.sandbox.process import JailReport
from actum.sandbox.system_calls import ALLOW, ERRNO, KILL, NUMBERS, program
from actum.storage.pins import PinStore
from actum.storage.secret_file import SecretFile
from actum.storage.secret_key import KEY_FILE_VARIABLE, EnvironmentKey, KeyringKey
from actum.storage.sqlite import SQLiteJournal
from actum.transport.process_tree import descendants, start_of
from tests import warm
from tests.patience import HANGS_S, SOON_S
from tests.toolsets.mcp.test_stdio import until

HOLDS = landlock_abi() > 0
held = pytest.mark.skipif(not HOLDS, reason="this machine has no Landlock: the refusal is tested instead")
SLEEPERS = """
import os, subprocess, time
if os.fork() == 0:
    os.setsid()
    subprocess.Popen(["sleep", "98"], env={"NUMBER": "98"})
    time.sleep(98)
print("started", flush=True)
time.sleep(98)
"""


async def run(code: str, jail: Jail | None = None) -> tuple[bytes, bytes, JailReport]:
    files = {"main.py": code.encode()}
    async with start([sys.executable, "main.py"], jail or Jail(), files=files) as process:
        said, errors = await asyncio.gather(process.child.stdout.read(), process.child.stderr.read())
        return said, errors, await process.ended()


async def test_without_a_layer_nothing_is_run_and_the_refusal_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [layer.is_held for layer in await layers(LandlockJail(0))] == [False] * len(NEEDED)
    with pytest.raises(UsageError, match="does not hold a jail"):
        async with start(["true"], Jail(), backend=LandlockJail(0)):
            pass
    for missing in NEEDED:
        found = tuple(Layer(name, is_held=name != missing, found="it was done") for name in NEEDED)
        monkeypatch.setitem(layers_module._found, LandlockJail(), found)
        with pytest.raises(UsageError, match=f"{missing}: it was done"):
            async with start(["true"], Jail()):
                pass


@held
async def test_the_probe_finds_every_layer_held_by_each_version_of_landlock() -> None:
    for abi in range(1, landlock_abi() + 1):
        assert all(layer.is_held for layer in await layers(LandlockJail(abi))), (abi, await layers(LandlockJail(abi)))


async def test_a_jail_over_what_is_private_or_missing_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "state" / "journal.db"
    link, beside = tmp_path / "link", tmp_path / "beside"
    beside.mkdir()
    await SQLiteJournal(place).close()
    PinStore(tmp_path / "approvals" / "pins.json")
    EnvironmentKey({KEY_FILE_VARIABLE: str(tmp_path / "keys" / "key")}, tmp_path / "state" / "secrets.json")
    SecretFile(tmp_path / "secret" / "secrets.json", KeyringKey("none"))
    for folder in ("approvals", "keys", "secret"):
        (tmp_path / folder).mkdir()
    link.symlink_to(place.parent)
    for jail in (
        *(Jail(read=(str(path),)) for path in (tmp_path, place, link, tmp_path / "keys", tmp_path / "secret")),
        *(Jail(write=(str(path),)) for path in (place.parent, link, tmp_path / "approvals")),
    ):
        with pytest.raises(UsageError, match=r"name a narrower folder"):
            async with start(["true"], jail, backend=LandlockJail(1)):
                pass
    for jail in (Jail(read=(str(tmp_path / "none"),)), Jail(write=(str(place),))):
        with pytest.raises(UsageError, match="there is no"):
            jail.checked()
    Jail(read=(str(beside),), write=(str(beside),)).checked()
    with pytest.raises(UsageError, match="move"):
        Jail().checked((str(tmp_path),))
    with pytest.raises(UsageError, match="absolute"):
        Jail(read=("relative",))
    with pytest.raises(UsageError, match="above 0"):
        JailLimits(memory_bytes=0)


@held
async def test_a_link_that_takes_the_place_of_a_checked_folder_is_not_followed(tmp_path: Path) -> None:
    given, private = tmp_path / "given", tmp_path / "private"
    given.mkdir()
    private.mkdir()

    class SwappingFiles(UserDict[str, bytes]):
        def items(self) -> ItemsView[str, bytes]:  # is asked for after the check
            given.rmdir()
            given.symlink_to(private)
            return super().items()

    with pytest.raises(UsageError, match="a link was put in its way"):
        async with start(["true"], Jail(read=(str(given),)), files=SwappingFiles({"a": b""})) as process:
            await process.ended()


@held
async def test_what_the_jail_allows_works_and_the_environment_is_clean(tmp_path: Path) -> None:
    given, taken = tmp_path / "given", tmp_path / "taken"
    for folder in (given, taken):
        folder.mkdir()
        folder.chmod(0o777)
    for folder in (tmp_path, *list(tmp_path.parents)[:2]):
        folder.chmod(0o755)
    (given / "data").write_text("7", "ascii")
    os.environ["ACTUM_TEST_SECRET"] = "hidden"
    try:
        jail = Jail(read=(str(given),), write=(str(taken),), environment={"MINE": "1"})
        code = f"open({str(taken / 'out')!r}, 'w').write(open({str(given / 'data')!r}).read())"
        code += "\nimport os; print(dict(os.environ))"
        said, errors, report = await run(code, jail)
    finally:
        del os.environ["ACTUM_TEST_SECRET"]
    assert report.exit == 0, errors
    assert (taken / "out").read_text("ascii") == "7"
    assert b"MINE" in said
    assert b"hidden" not in said


@held
@pytest.mark.row("C5")
async def test_each_limit_ends_the_command_and_is_named() -> None:
    for limit, usage, code in (
        ("memory_bytes", JailLimits(memory_bytes=80 << 20), "held = bytearray(100 << 20)\nimport time; time.sleep(60)"),
        ("cpu_seconds", JailLimits(cpu_seconds=0.5), "while True: pass"),
        (
            "processes",
            JailLimits(processes=3),
            "import os, time\nfor _ in range(5): os.fork() or time.sleep(60)\ntime.sleep(60)",
        ),
        (
            "disk_bytes",
            JailLimits(disk_bytes=1 << 20),
            "for n in range(9): open(str(n), 'wb').write(bytes(1 << 19))\nimport time; time.sleep(60)",
        ),
        ("seconds", JailLimits(seconds=0.5), "import time; time.sleep(60)"),
    ):
        _, _, report = await run(code, Jail(limits=usage))
        assert report.limit == limit, (limit, report)


@held
async def test_a_tree_of_processes_is_ended_before_it_holds_twice_its_memory() -> None:
    code = "import os\nfor _ in range(3): os.fork()\nheld = []\nwhile True: held.append(b'x' * (1 << 20))"
    _, _, report = await run(code, Jail(limits=JailLimits(memory_bytes=512 << 20)))
    assert report.limit == "memory_bytes"
    assert report.memory_bytes < 1 << 30


@held
async def test_a_launcher_that_is_killed_takes_everything_along() -> None:
    began = descendants(os.getpid())
    async with start([sys.executable, "main.py"], Jail(), files={"main.py": SLEEPERS.encode()}) as process:
        assert await process.child.stdout.readline() == b"started\n"
        tree = descendants(process.child.pid)
        assert len(tree) >= 3
        os.kill(process.child.pid, signal.SIGKILL)
        await until(lambda: not [pid for pid, begun in tree if start_of(pid) == begun])
        assert (await process.ended()).exit is None
    assert not {pid for pid, _ in descendants(os.getpid()) - began if start_of(pid)}


@held
async def test_actum_that_is_killed_leaves_no_process_of_a_jail() -> None:
    program = f"""
import asyncio, sys
from actum.sandbox.jail import Jail
from actum.sandbox.layers import start
async def main():
    async with start([sys.executable, "main.py"], Jail(), files={{"main.py": {SLEEPERS.encode()!r}}}) as process:
        print((await process.child.stdout.readline()).decode(), flush=True)
        await asyncio.sleep(90)
asyncio.run(main())
"""
    host = await warm.start(sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE)
    assert host.stdout is not None
    assert await host.stdout.readline() == b"started\n"
    tree = descendants(host.pid)
    host.kill()
    await host.wait()
    await until(lambda: not [pid for pid, begun in tree if start_of(pid) == begun])


@held
async def test_a_call_that_is_cancelled_leaves_no_process_and_no_folder() -> None:
    seen: list[Path] = []

    async def work() -> None:
        async with start([sys.executable, "main.py"], Jail(), files={"main.py": SLEEPERS.encode()}) as process:
            await process.child.stdout.readline()
            seen.append(process.work)
            await process.ended()

    before = descendants(os.getpid())
    task = asyncio.ensure_future(work())
    await until(lambda: bool(seen))
    began = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - began < SOON_S
    assert not seen[0].parent.exists()
    assert not [pid for pid, _ in descendants(os.getpid()) - before if start_of(pid)]


@held
async def test_what_is_left_in_the_work_folder_is_removed_and_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("kept", "ascii")
    code = f"import os\nos.symlink({str(tmp_path)!r}, 'link')\n"
    code += "os.mkdir('shut')\nopen('shut/a', 'w')\nos.chmod('shut', 0)\nos.mkfifo('pipe')"
    async with start([sys.executable, "main.py"], Jail(), files={"main.py": code.encode()}) as process:
        assert (await process.ended()).exit == 0
        base = process.work.parent
    assert not base.exists()
    assert (tmp_path / "kept").read_text("ascii") == "kept"


async def test_a_file_of_the_call_can_not_be_placed_outside_the_work_folder() -> None:
    if HOLDS:
        with pytest.raises(UsageError, match="not a path below"):
            async with start(["true"], Jail(), files={"../out": b""}):
                pass


LISTENED_TO = """
import asyncio, ctypes, os, sys
from actum.core.errors import UsageError
from actum.sandbox.jail import Jail
from actum.sandbox.layers import layers, start

def listen():  # as a container does whose engine is asked of system calls
    body = ctypes.create_string_buffer((6).to_bytes(2, "little") + bytes(2) + (0x7FFF0000).to_bytes(4, "little"), 8)
    header = (1).to_bytes(8, "little") + ctypes.addressof(body).to_bytes(8, "little")
    libc = ctypes.CDLL(None, use_errno=True)
    zero = ctypes.c_ulong(0)
    assert libc.prctl(38, ctypes.c_ulong(1), zero, zero, zero) == 0
    number = {"x86_64": 317, "aarch64": 277}[os.uname().machine]
    assert libc.syscall(ctypes.c_long(number), ctypes.c_long(1), ctypes.c_long(8), header) > 0, ctypes.get_errno()

async def main():
    if sys.argv[2] == "listened":
        listen()
    print(all(layer.is_held for layer in await layers()))
    async with start(["cat", sys.argv[1]], Jail(audit=True)) as process:
        errors = (await process.child.stderr.read()).decode()
        report = await process.ended()
        print(report.exit, "denied" in errors, process.opened_outside())
    try:
        async with start(["true"], Jail(hosts=("api.example.org",))) as process:
            print((await process.ended()).exit)
    except UsageError as error:
        print("refused", "could not be put on" in str(error))

asyncio.run(main())
"""


@held
def test_where_another_program_listens_to_system_calls_a_jail_holds_and_says_that_it_sees_no_opens(
    tmp_path: Path,
) -> None:
    (tmp_path / "secret").write_text("secret", "ascii")
    for how, wanted in (
        ("alone", ["True", f"1 True ['{tmp_path / 'secret'}']", "0"]),
        ("listened", ["True", "1 True None", "refused True"]),
    ):
        said = subprocess.run(
            [sys.executable, "-c", LISTENED_TO, str(tmp_path / "secret"), how],
            capture_output=True,
            text=True,
            check=True,
            timeout=HANGS_S,
        )
        assert said.stdout.splitlines() == wanted, how


def decided(code: bytes, machine: int, number: int, *arguments: int) -> int:
    """What a filter answers: a small machine for the instructions that the filter uses."""
    data = struct.pack("<IIQ6Q", number, machine, 0, *(*arguments, *[0] * (6 - len(arguments))))
    steps, at, value = list(struct.iter_unpack("<HBBI", code)), 0, 0
    while True:
        kind, if_true, if_false, operand = steps[at]
        at += 1
        match kind:
            case 0x20:
                value = struct.unpack_from("<I", data, operand)[0]
            case 0x54:
                value &= operand
            case 0x15:
                at += if_true if value == operand else if_false
            case 0x35:
                at += if_true if value >= operand else if_false
            case _:
                return int(operand)


def test_the_filter_decides_alike_on_every_machine() -> None:
    for name, machine, socket, truncating in (("x86_64", 0xC000003E, 41, 0o1000), ("aarch64", 0xC00000B7, 198, 0o1000)):
        numbers = NUMBERS[name]
        code = program(name, 7, own_uid=False, pid=50)
        for number, arguments, wanted in (
            (socket, (2, 1), ERRNO | 1),
            (numbers["openat"], (0, 0, 0), ALLOW),
            (numbers["openat"], (0, 0, truncating), ERRNO | 13),
            (numbers["openat"], (0, 0, truncating | 1), ALLOW),
            (numbers["openat"], (0, 0, 3), ERRNO | 13),
            (numbers["openat"], (0, 0, 0o101, 0o4755), ERRNO | 1),
            (numbers["openat"], (0, 0, 1, 0o4755), ALLOW),
            (numbers["socketpair"], (1, 1), ALLOW),
            (numbers["socketpair"], (1, 0o2000001), ALLOW),
            (numbers["socketpair"], (1, 2), ERRNO | 1),
            (numbers["sendto"], (3, 0, 0, 0, 0), ALLOW),
            (numbers["sendto"], (3, 0, 0, 0, 1 << 40), ERRNO | 1),
            (numbers["setsid"], (), ERRNO),
            (numbers["clone"], (0x10000000,), ERRNO | 1),
            (numbers["clone"], (0x3D0F00,), ALLOW),
            (numbers["prlimit64"], (0,), ALLOW),
            (numbers["prlimit64"], (1,), ERRNO | 1),
            (435, (), ERRNO | 38),
            (436, (), ALLOW),
            (9999, (), ERRNO | 38),
        ):
            assert decided(code, machine, number, *arguments) == wanted, (name, number, arguments)
        assert decided(code, 0x40000003, 1) == KILL
        old = program(name, 5, own_uid=False, pid=50)
        for pid, wanted in (
            (50, ALLOW),
            (0, ALLOW),
            (-50 & 0xFFFFFFFFFFFFFFFF, ALLOW),
            (51, ERRNO | 1),
            (-1, ERRNO | 1),
        ):
            assert decided(old, machine, numbers["kill"], pid & 0xFFFFFFFFFFFFFFFF, 15) == wanted, pid
    with pytest.raises(ValueError, match="riscv64"):
        program("riscv64", 7, own_uid=True, pid=1)


@held
async def test_folders_nested_too_deep_to_be_counted_end_the_command_and_are_removed() -> None:
    for count, rest in ((2500, "time.sleep(30)"), (300, "time.sleep(30)"), (300, ""), (300, "os._exit(3)")):
        code = f"import os, time\nfor _ in range({count}):\n    os.mkdir('d')\n    os.chdir('d')\n{rest}"
        async with start([sys.executable, "main.py"], Jail(), files={"main.py": code.encode()}) as process:
            report = await process.ended()
            base = process.work.parent
        assert report.limit == "disk_bytes", (count, rest)
        assert not base.exists(), (count, rest)


@held
async def test_folders_that_are_not_nested_too_deep_are_counted_as_what_they_hold() -> None:
    code = "import os\nfor _ in range(150):\n    os.mkdir('d')\n    os.chdir('d')\nopen('end', 'w').write('.')"
    async with start([sys.executable, "main.py"], Jail(), files={"main.py": code.encode()}) as process:
        assert (await process.ended()).limit == ""
