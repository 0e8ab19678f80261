"""Somebody at a real terminal: a process behind a pseudo-terminal, keys that are pressed, a screen that is read."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import sys
import time
from pathlib import Path
from typing import Self

from tests import warm
from tests.patience import HANGS_S

START = "from actum.cli.app import main; main()"
ON_A_TERMINAL = (
    "import fcntl, signal, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    "signal.signal(signal.SIGINT, signal.default_int_handler); " + START  # which a shell has its background jobs ignore
)


class Person:
    """Somebody at a real terminal, in front of a process of its own.

    Attributes:
        raw: all that came to the screen, colours and all.
    """

    def __init__(self, words: tuple[str, ...], folder: Path) -> None:
        self.raw = ""
        self._seen = ""
        self._master, slave = pty.openpty()
        environment = {**os.environ, "HOME": str(folder), "TERM": "xterm", "PYTHONPATH": os.pathsep.join(sys.path)}
        self._process = warm.popen(
            [sys.executable, "-c", ON_A_TERMINAL, *words],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )
        os.close(slave)

    def sees(self, text: str, timeout_s: float = HANGS_S) -> str:
        """Read until the text is on the screen, after what was seen before; what was read, without colours."""
        until = time.monotonic() + timeout_s
        while text not in self._seen:
            assert time.monotonic() < until, f"{text!r} did not come; there was:\n{self._seen}"
            if not self._read():
                break
        before, found, self._seen = self._seen.partition(text)
        assert found, f"{text!r} did not come before the end; there was:\n{before}"
        return before + found

    def types(self, text: str) -> Self:
        """Press keys: `\\n` is Enter, `\\x03` Ctrl-C, `\\x04` Ctrl-D."""
        os.write(self._master, text.encode())
        return self

    def insists(self, key: str, text: str) -> str:
        """Press a key until the text is on the screen.

        For Ctrl-C at a prompt: while CPython's `readline` module handles another key it can miss one.
        """
        for _ in range(10):
            try:
                return self.types(key).sees(text, 15.0)
            except AssertionError:
                if self._process.poll() is not None:
                    raise
        raise AssertionError(f"{text!r} did not come; there was:\n{self._seen}")

    def ends(self, timeout_s: float = HANGS_S) -> tuple[int, str]:
        """Wait for the end: the exit code, and what was shown until then."""
        until = time.monotonic() + timeout_s
        while self._read():
            assert time.monotonic() < until, f"it does not end; there was:\n{self._seen}"
        return self._process.wait(HANGS_S), self._seen

    def close(self) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        os.close(self._master)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._master], [], [], 0.5)
        if not ready:
            return self._process.poll() is None
        try:
            chunk = os.read(self._master, 65536)
        except OSError:  # Linux says so when the other side is closed
            return False
        text = chunk.decode("utf-8", "replace")
        self.raw += text
        self._seen += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r\n", "\n")
        return bool(chunk)
