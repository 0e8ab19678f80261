"""What a container keeps from a jail, and which setting of the container gives it.

A jail needs Landlock and seccomp of the host's kernel, and no rights beyond that. A container can refuse the system
calls of both, or have no folder for temporary files. Nothing here changes anything: the kernel is only asked.

Sources: landlock(7), seccomp(2), and what Docker, Podman and systemd leave behind by which a process knows them.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from .linux import LANDLOCK_CREATE_RULESET
from .system_calls import SECCOMP

LANDLOCK_CALLS = "landlock_create_ruleset, landlock_add_rule, landlock_restrict_self"
GET_ACTION_AVAIL = 2
USER_NOTIF = 0x7FC00000
_PROFILE = (
    "give the container a seccomp profile with {calls}, as newer versions of Docker and Podman have by default: "
    "security_opt: [seccomp=profile.json] (in Kubernetes: seccompProfile, type Localhost)"
)


class Lack(Struct, frozen=True):
    """Something that a jail needs and does not get here.

    Attributes:
        what: it is, for people.
        setting: what gives it.
    """

    what: str
    setting: str


def container(environment: Mapping[str, str], root: Path = Path("/")) -> str:
    """The kind of container that this process runs in, such as `docker`; empty outside of one.

    Args:
        environment: the variables of this process.
        root: the root of the file system.
    """
    if environment.get("KUBERNETES_SERVICE_HOST"):
        return "kubernetes"
    if (root / ".dockerenv").exists():
        return "docker"
    if (root / "run/.containerenv").exists():
        return "podman"
    return environment.get("container", "")[:40]  # systemd and Podman say so, in small letters


def lacks() -> list[Lack]:
    """What a jail needs and the kernel does not give to this process."""
    found = [_of_landlock(_asked(LANDLOCK_CREATE_RULESET, None, 0, 1)), _of_seccomp(), _of_folder()]
    return [each for each in found if each is not None]


def _of_landlock(error: int) -> Lack | None:
    """What is lacking, by the error with which the kernel answered."""
    if not error:
        return None
    if error == errno.EOPNOTSUPP:
        setting = "no setting of the container helps: start the host's kernel with landlock in lsm=..."
        return Lack("Landlock is in the host's kernel, and is switched off", setting)
    profile = _PROFILE.format(calls=LANDLOCK_CALLS)
    if error == errno.ENOSYS:  # an old kernel says so, and runc of a call that a profile does not know
        told = f"Linux {platform.release()} here has no Landlock, or the seccomp profile of the container hides it"
        return Lack(told, f"on a host of Linux 5.13 or newer, {profile}; gVisor has no Landlock: use the runtime runc")
    return Lack(f"the container refuses Landlock ({errno.errorcode.get(error, error)})", profile)


def _of_seccomp() -> Lack | None:
    number = SECCOMP.get(platform.machine())
    if number is None:
        return Lack(f"there is no seccomp filter for {platform.machine()}", "use a host of x86_64 or aarch64")
    action = ctypes.c_uint32(USER_NOTIF)
    error = _asked(number, GET_ACTION_AVAIL, 0, ctypes.byref(action))
    if not error:
        return None
    return Lack(
        f"the container refuses seccomp with notifications ({errno.errorcode.get(error, error)})",
        _PROFILE.format(calls="seccomp and prctl"),
    )


def _of_folder() -> Lack | None:
    try:
        with tempfile.TemporaryDirectory(prefix="actum-probe-"):
            return None
    except OSError:
        return Lack("there is no folder for temporary files", "tmpfs: [/tmp]")


def _asked(number: int, *arguments: object) -> int:
    """The error with which the kernel answers a system call; 0 for none. The call is one that changes nothing."""
    libc = ctypes.CDLL(None, use_errno=True)
    said = [each if each is None or not isinstance(each, int) else ctypes.c_size_t(each) for each in arguments]
    return ctypes.get_errno() if libc.syscall(ctypes.c_long(number), *said) < 0 else 0


def advice() -> str:
    """What a jail needs and does not get in this container, with the settings that give it; empty outside of one."""
    if sys.platform != "linux" or not container(os.environ):
        return ""
    return "; ".join(f"{each.what}: {each.setting}" for each in lacks())
