"""What `layers` runs in a jail: it attempts what no jail allows and says what it could do. Standard library only."""

import json
import os
import signal
import socket
import sys
from collections.abc import Callable


def attempts(what: dict[str, Callable[[], object]]) -> str:
    """Which of several attempts worked; empty for none."""
    done = []
    for name, attempt in what.items():
        try:
            attempt()
        except PermissionError:
            continue
        except OSError as error:
            if error.errno == 38:  # ENOSYS: the system call is not there
                continue
            done.append(f"{name}: {error.strerror}")  # it failed for another reason than the jail
        else:
            done.append(name)
    return ", ".join(done)


def dial(family: int, kind: int, address: tuple[str, int] | str) -> None:
    """Open a socket and reach an address."""
    with socket.socket(family, kind) as opened:
        opened.connect(address)


secret, target = sys.argv[1:]
beside = os.path.join(os.path.dirname(secret), "new")
host = os.getppid()
found = {
    "read": attempts(
        {
            "a file was read": lambda: open(secret).close(),
            "a folder was listed": lambda: os.listdir(os.path.dirname(secret)),
            "the environment of another process was read": lambda: open(f"/proc/{host}/environ").close(),
        }
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
            "TCP": lambda: dial(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 9)),
            "UDP": lambda: dial(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 9)),
            "a unix socket": lambda: dial(socket.AF_UNIX, socket.SOCK_STREAM, "/run/x"),
            "an abstract socket": lambda: dial(socket.AF_UNIX, socket.SOCK_STREAM, "\0x"),
            "a datagram pair": lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM),
        }
    ),
    "signal": attempts({"another process was signalled": lambda: os.kill(host, signal.Signals.SIGCONT)}),
}
print(json.dumps(found))
