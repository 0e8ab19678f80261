"""A container that refuses what a jail needs: `actum doctor` says what, and which setting gives it."""

from __future__ import annotations

import errno
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from actum.sandbox.container import container

pytestmark = [pytest.mark.row("A6"), pytest.mark.skipif(sys.platform != "linux", reason="containers are Linux")]

REFUSED = """
import ctypes, os, struct, sys
number, error, *command = sys.argv[1:]
code = [(0x20, 0, 0, 0), (0x15, 0, 1, int(number)), (0x06, 0, 0, 0x00050000 | int(error)), (0x06, 0, 0, 0x7FFF0000)]
filters = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *each) for each in code))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(code), ctypes.addressof(filters)))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program) == 0, ctypes.get_errno()
os.execv(sys.executable, [sys.executable, *command])
"""
"""Starts Python where a system call is refused with an error, as the seccomp profile of a container does."""
SAY = "import msgspec; from actum.sandbox.container import lacks; print(msgspec.json.encode(lacks()).decode())"


def under(number: int, error: int, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """What Python says where a system call is refused."""
    asked = [sys.executable, "-c", REFUSED, str(number), str(error), *command]
    return subprocess.run(asked, env={**os.environ, **environment}, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("error", "what", "setting"),
    [
        (errno.EPERM, "the container refuses Landlock (EPERM)", "security_opt: [seccomp=profile.json]"),
        (errno.ENOSYS, "has no Landlock, or the seccomp profile", "Linux 5.13 or newer"),
        (errno.EOPNOTSUPP, "is switched off", "lsm="),
    ],
)
def test_what_a_container_keeps_from_a_jail_is_said_with_the_setting_that_gives_it(
    error: int, what: str, setting: str
) -> None:
    (found,) = [each for each in json.loads(under(444, error, "-c", SAY).stdout) if "Landlock" in each["what"]]
    assert what in found["what"]
    assert setting in found["setting"]


def test_doctor_says_it_in_a_container_and_goes_on(tmp_path: Path) -> None:
    told = under(
        444,
        errno.EPERM,
        "-m",
        "actum",
        "doctor",
        "--json",
        container="podman",
        HOME=str(tmp_path),
        ACTUM_JOURNAL="memory",
    )
    (found,) = [each for each in json.loads(told.stdout) if each["about"] == "sandbox"]
    assert found["verdict"] == "warn"
    assert "landlock_restrict_self" in found["advice"]
    assert "security_opt" in found["advice"]


def test_a_container_is_known_by_what_it_leaves_behind(tmp_path: Path) -> None:
    assert container({}, tmp_path) == ""
    assert container({"container": "systemd-nspawn"}, tmp_path) == "systemd-nspawn"
    (tmp_path / "run").mkdir()
    (tmp_path / "run/.containerenv").touch()
    assert container({}, tmp_path) == "podman"
    (tmp_path / ".dockerenv").touch()
    assert container({}, tmp_path) == "docker"
    assert container({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, tmp_path) == "kubernetes"


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the number of mkdir")
def test_a_read_only_root_without_a_folder_for_temporary_files_is_told_how_to_get_one() -> None:
    found = json.loads(under(83, errno.EROFS, "-c", SAY).stdout)
    assert found == [{"what": "there is no folder for temporary files", "setting": "tmpfs: [/tmp]"}]
