"""`KEEPER`: ends the children of this process when this process has ended, whatever it died of.

A child that reads its input hears of the end by itself. One that is stopped, that waits in code which hears of nothing,
or that is a program of another party does not. So one small process beside this one, the keeper, holds the other end
of a pipe and is told of each child. When this process dies, the kernel closes the pipe, and the keeper kills what is
left (`process_tree.py`). This needs no system call of one kernel, reaches what a child started, and reaches a child
whatever it does.

Limits: a child whose parent is killed in the moment between the start of the child and the line to the keeper hears
of it by its input alone. Windows has no keeper.
"""

from __future__ import annotations

import atexit
import logging
import os
import subprocess
import sys
import threading
from pathlib import Path

from . import process_tree
from .process_tree import start_of

log = logging.getLogger("actum.process")

START = '{ "$0" -I -S "$1" <&3 >/dev/null 2>&1 & } 3<&0'
"""The keeper is no child of ours: nobody has to wait for its end, and it is not ended with what is below us."""


class ProcessKeeper:
    """The keeper of this process. It is started with the first child, and anew where it was killed.

    Attributes:
        pipe: our end of the pipe that the keeper reads; None before the first child.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.pipe: int | None = None
        self._children: dict[int, str] = {}

    def add(self, pid: int, mark: str) -> None:
        """Have a child ended when this process has ended.

        Args:
            pid: the child, which leads a group.
            mark: what the child and what it starts carry; empty for a launcher that ends its own tree.
        """
        if os.name != "posix":
            return
        line = f"+ {pid} {start_of(pid) or '.'} {mark or '.'}\n"
        with self._lock:
            self._children[pid] = line
            if self.pipe is None or not self._tell(line):
                self._start()

    def remove(self, pid: int) -> None:
        """Forget a child, which was ended."""
        with self._lock:
            if self._children.pop(pid, None) is not None:
                self._tell(f"- {pid}\n")

    def close(self) -> None:
        """Have all children ended, now."""
        with self._lock:
            if self.pipe is not None:
                os.close(self.pipe)
            self.pipe = None

    def forget(self) -> None:
        """This process is a fork: the children are its parent's, and so is the keeper."""
        self._lock = threading.Lock()
        self._children = {}
        if self.pipe is not None:
            os.close(self.pipe)
        self.pipe = None

    def _tell(self, line: str) -> bool:
        """Write a line to the keeper; whether there is a keeper."""
        if self.pipe is not None:
            try:
                os.write(self.pipe, line.encode("ascii"))
            except BlockingIOError:  # it was stopped long ago: another beside it would end what lives
                pass
            except OSError:
                return False
        return True

    def _start(self) -> None:
        """Start a keeper, and tell it of all children."""
        theirs, ours = os.pipe()
        os.set_blocking(ours, False)
        command = ["/bin/sh", "-c", START, sys.executable, str(Path(process_tree.__file__))]
        try:
            subprocess.run(command, stdin=theirs, env={}, cwd="/", start_new_session=True, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            os.close(ours)
            log.warning("no process can be started that ends the children of this one after its end: %s", error)
            return
        finally:
            os.close(theirs)
        if self.pipe is not None:
            os.close(self.pipe)
        self.pipe = ours
        for line in self._children.values():
            self._tell(line)


KEEPER = ProcessKeeper()
"""Of this process."""
atexit.register(KEEPER.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=KEEPER.forget)
