"""The processes below a process: how they are found, and how they are ended.

Run as a program (`python -I -S process_tree.py`), this file is the keeper of another process: the keeper reads from its
input which children that process has, and ends them when the input ends. The input ends whatever that process died of,
`kill -9` included. So no child outlives it: not one that is stopped, not one that is deaf, and nothing that the child
started. `process_keeper.py` starts the keeper and tells it of children.

The keeper has the standard library alone, and of that little: each process that has children has one.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

MARK = "ACTUM_CHILD"
"""The variable by which everything that a child started is found, unless the variable was removed."""
PROC = Path("/proc")
KILL: signal.Signals = getattr(signal, "SIGKILL", signal.SIGTERM)
"""SIGKILL. Windows has no such signal, and this module is imported there, too."""
LOOK_S = 0.01
"""Seconds till the second look at what is left; each further look comes after twice the time."""
GRACE_S = 1.0
"""Seconds that a process without a mark below a lost child may take to tidy up, such as the launcher of a jail."""
ENDING_S = 3.0
"""Seconds for which the keeper looks for what is left. A stray may start another while it is being killed."""


def signal_group(group: int, sign: signal.Signals | None) -> bool:
    """Send a signal to a group, or none, and tell whether anything is left of the group."""
    try:
        os.killpg(group, sign or 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's by now, or a zombie
        return False
    return True


def descendants(pid: int) -> set[tuple[int, str]]:
    """The processes below a process, each with the moment of its start, as a number may be given again."""
    parents: dict[int, list[tuple[int, str]]] = {}
    for each in _pids():
        fields = _stat(each)
        if fields is not None:
            parents.setdefault(int(fields[1]), []).append((each, fields[19]))
    found: set[tuple[int, str]] = set()
    above = [pid]
    while above:
        for child in parents.get(above.pop(), ()):
            if child not in found:
                found.add(child)
                above.append(child[0])
    return found


def marked(mark: str) -> set[tuple[int, str]]:
    """The processes whose environment carries this mark, each with the moment of its start."""
    found = {(pid, start_of(pid)) for pid in _pids() if mark_of(pid) == mark}
    return {stray for stray in found if stray[1]}


def mark_of(pid: int) -> str:
    """The mark that a process carries; empty where it carries none, or has ended."""
    with suppress(OSError):
        for variable in (PROC / str(pid) / "environ").read_bytes().split(b"\0"):
            if variable.startswith(b"%b=" % MARK.encode()):
                return variable.partition(b"=")[2].decode("utf-8", "replace")
    return ""


def start_of(pid: int) -> str:
    """When a process was started, in ticks since the machine was; empty where the process has ended."""
    fields = _stat(pid)
    return "" if fields is None or fields[0] in "ZX" else fields[19]


def send(pid: int, sign: signal.Signals) -> None:
    """Send a signal to a process, if the process is there and ours."""
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, sign)


def _pids() -> list[int]:
    try:
        return [int(each.name) for each in PROC.iterdir() if each.name.isdecimal()]
    except OSError:
        return []


def _stat(pid: int) -> list[str] | None:
    """The fields of `/proc/PID/stat` from the state on: a name may hold spaces and brackets."""
    try:
        return (PROC / str(pid) / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return None


# The keeper -----------------------------------------------------------------------------------------------------------


def end_lost(pid: int, begun: str, mark: str) -> None:
    """End a child that lost its parent, with all that it started.

    Args:
        pid: the child, which leads a group.
        begun: when the child was started; empty where nobody can tell.
        mark: what the child and what it started carry; empty for a launcher, which ends its own tree and hears of its
            parent's end by itself. A launcher that is stopped is let go on, so that it does.
    """
    now = start_of(pid)
    if begun and now and now != begun:  # the number was given again, so no group of this number is left
        return
    if not mark:
        signal_group(pid, getattr(signal, "SIGCONT", None))
        return
    others = descendants(pid)
    began, wait_s = time.monotonic(), LOOK_S
    while (spent_s := time.monotonic() - began) < ENDING_S:
        others = {stray for stray in others if start_of(stray[0]) == stray[1]}
        at_once = marked(mark) | {stray for stray in others if mark_of(stray[0])}
        for stray, _ in at_once:
            send(stray, KILL)
        is_left = signal_group(pid, KILL)
        for stray, _ in others - at_once:
            send(stray, KILL if spent_s >= GRACE_S else signal.SIGCONT)
        if not at_once and not others and not is_left:
            return
        time.sleep(wait_s)
        wait_s *= 2


def keep() -> None:
    """Read which children there are, a line each, until the input ends; then end those that are left.

    `+ PID BEGUN MARK` tells of a child and `- PID` that it was ended; a `.` stands for a word that is empty.
    """
    for sign in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(sign, signal.SIG_IGN)
    children: dict[int, tuple[str, str]] = {}
    for line in sys.stdin:
        word, pid, *more = line.split()
        if word == "+":
            begun, mark = ("" if each == "." else each for each in more)
            children[int(pid)] = (begun, mark)
        else:
            children.pop(int(pid), None)
    for child, (begun, mark) in children.items():
        if os.fork() == 0:  # one child that does not end makes no other wait
            end_lost(child, begun, mark)
            os._exit(0)


if __name__ == "__main__":
    keep()
