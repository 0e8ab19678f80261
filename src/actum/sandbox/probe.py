"""What `layers` runs in a jail: it attempts what no jail allows and says what it could do. Standard library only.

    python probe.py FOLDER PID PORT UDP_PORT

Everything that is aimed at exists, outside the jail (`probe_targets.py`). So what is not there, in the jail, is held.
"""

import errno
import json
import os
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from functools import partial

HELD = frozenset(
    {errno.ENOSYS, errno.EROFS, errno.ENOENT, errno.ESRCH, errno.ECONNREFUSED, errno.ENETUNREACH, errno.EHOSTUNREACH}
    | {errno.ENETDOWN, errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT, errno.ETIMEDOUT}
)
"""Errors beside those of permission which say that the jail has no such file, process, address or system call."""


PATIENCE_S = 2.0


def attempts(what: Mapping[str, Callable[[], object]]) -> str:
    """Which of several attempts worked; empty for none."""
    done = []
    for name, attempt in what.items():
        try:
            attempt()
        except (PermissionError, TimeoutError):
            continue
        except OSError as error:
            if error.errno not in HELD:
                done.append(f"{name}: {error.strerror}")  # it failed for another reason than the jail
        else:
            done.append(name)
    return ", ".join(done)


def dial(family: int, kind: int, address: tuple[str, int] | str) -> None:
    """Open a socket and reach an address."""
    with socket.socket(family, kind) as opened:
        opened.settimeout(PATIENCE_S)
        opened.connect(address)


def send_by_pair(path: str) -> None:
    """Send from one end of a pair, which needs no socket of its own, to a socket on the disk."""
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with one, other:
        one.sendto(b".", path)


def send_udp(port: int) -> None:
    """Send a packet. Whether it came through is seen outside: a network of the jail's own takes it, too."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as opened:
        opened.sendto(b".", ("127.0.0.1", port))
    raise PermissionError


def environment_of(pid: int) -> None:
    """Read the environment of a process."""
    if sys.platform != "darwin":
        os.close(os.open(f"/proc/{pid}/environ", os.O_RDONLY))
        return
    import ctypes  # noqa: PLC0415 - only here, and costly

    libc = ctypes.CDLL(None, use_errno=True)
    name = (ctypes.c_int * 3)(1, 49, pid)  # CTL_KERN, KERN_PROCARGS2: sysctl(3)
    size = ctypes.c_size_t(1 << 20)
    if libc.sysctl(name, 3, ctypes.create_string_buffer(1 << 20), ctypes.byref(size), None, 0) != 0:
        raise OSError(ctypes.get_errno(), "sysctl")


folder = sys.argv[1]
actum, port, udp_port = (int(word) for word in sys.argv[2:])
secret, target, beside, stream, datagrams = (
    os.path.join(folder, name) for name in ("secret", "target", "new", "stream", "datagrams")
)
with open(target) as file:
    if file.read() != "whole":  # the jail lets this file be read: so the others are in reach, but for the jail
        sys.exit("the probe reads another file than it was given")
others = {"actum": actum} | ({"the launcher": os.getppid()} if os.getppid() > 1 else {})
only_linux: dict[str, Callable[[], object]] = {
    "an abstract socket": lambda: dial(socket.AF_UNIX, socket.SOCK_STREAM, f"\0{stream}"),
}
found = {
    "read": attempts(
        {
            "a file was read": lambda: open(secret).close(),
            "a folder was listed": lambda: os.listdir(folder),
        }
        | {f"the environment of {name} was read": partial(environment_of, pid) for name, pid in others.items()}
    ),
    "write": attempts(
        {
            "a file was written": lambda: open(target, "a").close(),
            "a file was made": lambda: open(beside, "x").close(),
            "a file was emptied": lambda: os.truncate(target, 0),
            "a file was emptied by opening it": lambda: os.close(os.open(target, os.O_RDONLY | os.O_TRUNC)),
            "a file was removed": lambda: os.unlink(target),
            "a folder was made": lambda: os.mkdir(beside),
            "a file was linked": lambda: os.link(target, beside),
        }
    ),
    "network": attempts(
        {
            "TCP": lambda: dial(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", port)),
            "UDP": lambda: send_udp(udp_port),
            "a unix socket": lambda: dial(socket.AF_UNIX, socket.SOCK_STREAM, stream),
            "a datagram pair": lambda: send_by_pair(datagrams),
            # Nothing is sent. A network of the jail's own may lead elsewhere, though not to this machine.
            "a route to other machines": lambda: dial(socket.AF_INET, socket.SOCK_DGRAM, ("192.0.2.1", 9)),
            "a route by IPv6": lambda: dial(socket.AF_INET6, socket.SOCK_DGRAM, ("2001:db8::1", 9)),
        }
        | (only_linux if sys.platform == "linux" else {})
    ),
    "signal": attempts(
        {f"{name} was signalled": partial(os.kill, pid, signal.Signals.SIGCONT) for name, pid in others.items()}
    ),
}
print(json.dumps(found))
