"""The escape suite: attempts that bite without a jail and do nothing in it, and programs that work in it.

As root, and as a plain user with a Python that this user can read; with each version of Landlock up to the machine's;
with user namespaces denied. Where the machine holds no jail, the refusal is tested instead (`test_jail.py`).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from actum.sandbox.linux import landlock_abi
from tests.endurance import some
from tests.patience import HANGS_S

ROOT = Path(__file__).parents[2]
PLAIN = 12_345
ABI = landlock_abi()
SYSTEM_PYTHON = f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}"
ATTEMPTS = sorted(path.name for path in (Path(__file__).parent / "escape" / "attempts").glob("*.*"))
FEW = some(ATTEMPTS, 6)
"""The attempts that are made again in each other jail."""
BY_VERSION = ("truncate.py", "open_truncate.py", "open_mode_three.py", "signal.py", "signal_by_pipe.py", "abstract.py")
BY_HOST = (
    "tcp.py",
    "tcp_six.py",
    "tcp_fast_open.py",
    "tcp_fast_open_message.py",
    "udp.py",
    "listen.py",
    "host_race.py",
)
OF_HOSTS = [name for name in ATTEMPTS if name.startswith("host_")]
BY_NAMESPACE = ("namespaces.py", "unshare.sh")
JAIL = ("src/actum/sandbox", "tests/sandbox/escape")
USERS = some((False, True), 2)
"""Whether the attempts are a plain user's."""
NEEDS_X86 = ("signal_by_thread.py", "compare.py", "message_queue.py", "user_fault.py", "keyring.py", "namespaces.py")

pytestmark = [
    pytest.mark.skipif(ABI == 0, reason="this machine has no Landlock: nothing is run, as test_jail.py shows"),
]


def results(*arguments: str, plain: bool = False) -> dict[str, str]:
    """What the runner says. As a plain user it runs on the system's Python, with our packages."""
    python, user = [sys.executable], {}
    env = {"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": f"{ROOT / 'src'}"}
    if plain and os.getuid() == 0:
        if not Path(SYSTEM_PYTHON).exists():
            pytest.skip(f"there is no {SYSTEM_PYTHON} that a plain user could run")
        python, user = [SYSTEM_PYTHON], {"user": PLAIN, "group": PLAIN, "extra_groups": ()}
        env["PYTHONPATH"] += f":{Path(pytest.__file__).parents[1]}"
    done = subprocess.run(
        [*python, "-m", "tests.sandbox.escape.run", *arguments],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=HANGS_S,
        **user,  # type: ignore[call-overload]
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, str] = json.loads(done.stdout)
    return found


def bitten(found: dict[str, str]) -> dict[str, str]:
    return {name: what for name, what in found.items() if what}


@pytest.mark.row("T3")
@pytest.mark.endurance(*JAIL)
@pytest.mark.parametrize("plain", [False, True], ids=["as_we_are", "as_a_plain_user"])
def test_no_attempt_gets_out_of_the_jail(plain: bool) -> None:
    attempts = some(ATTEMPTS, 3) if plain else ATTEMPTS
    found = results(*attempts, plain=plain)
    assert len(found) >= min(50, len(attempts))
    assert not bitten(found)


@pytest.mark.row("T3")
@pytest.mark.endurance(*JAIL)
def test_no_attempt_gets_out_of_a_jail_that_allows_one_host() -> None:
    for plain in USERS:
        assert not bitten(results("--hosts", *{*FEW, *BY_HOST, *OF_HOSTS}, plain=plain))
        assert not bitten(results("--hosts", "--abi", "1", *BY_HOST, plain=plain))


@pytest.mark.endurance(*JAIL)
def test_each_attempt_bites_without_the_jail() -> None:
    attempts = some(ATTEMPTS, 3)
    found = results("--bare", *attempts)
    harmless = {name for name, what in found.items() if not what}
    assert harmless <= (set() if os.uname().machine == "x86_64" else set(NEEDS_X86))
    assert len(found) - len(harmless) >= min(50, len(attempts) - len(NEEDS_X86))


@pytest.mark.row("T3")
@pytest.mark.endurance(*JAIL)
def test_no_package_gets_out_of_the_jail_while_it_is_installed_and_each_does_so_without_the_jail() -> None:
    bare = results("--install", "--bare")
    assert not {name for name, what in bare.items() if not what}
    assert {"read_file.py", "write_file.py", "tcp.py", "daemon.py"} <= bare.keys()
    if shutil.which("npm"):
        assert {"read_file.js", "write_file.js", "tcp.js", "detached.js"} <= bare.keys()
    for plain in USERS:
        found = results("--install", plain=plain)
        assert not bitten(found), plain
        assert plain or found.keys() == bare.keys()


@pytest.mark.endurance(*JAIL)
def test_the_oldest_landlock_holds_all_attempts_too() -> None:
    assert not bitten(results("--abi", "1", *{*FEW, *BY_VERSION}, plain=True))


@pytest.mark.endurance(*JAIL)
def test_each_version_of_landlock_is_completed_by_the_filter() -> None:
    for plain in USERS:
        for abi in range(1, ABI + 1):
            assert not bitten(results("--abi", str(abi), *BY_VERSION, plain=plain)), (plain, abi)


@pytest.mark.endurance(*JAIL)
def test_ordinary_programs_work_in_every_configuration() -> None:
    for arguments in (("--abi", str(ABI)), ("--abi", "1"), ("--deny-namespaces",)):
        for plain in USERS:
            found = results("--programs", *arguments, plain=plain)
            assert len(found) >= 10
            assert not bitten(found), (arguments, plain)


@pytest.mark.endurance(*JAIL)
def test_the_jail_holds_where_user_namespaces_are_denied() -> None:
    for plain in USERS:
        found = results("--deny-namespaces", *{*FEW, *BY_NAMESPACE}, plain=plain)
        assert len(found) >= min(50, len(FEW))
        assert not bitten(found), plain
