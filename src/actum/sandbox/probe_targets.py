"""`ProbeTargets`: what the probe of a jail aims at, and what became of it, as seen from outside."""

from __future__ import annotations

import socket
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Self

WHOLE = "whole"


class ProbeTargets:
    """Files that everybody may read and write by their modes, and sockets that answer everybody: the jail alone holds.

    Args:
        folder: an empty folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self._opened = ExitStack()
        self._streams: dict[str, socket.socket] = {}
        self._datagrams: dict[str, socket.socket] = {}

    def __enter__(self) -> Self:
        for name in ("secret", "target"):
            file = self.folder / name
            file.write_text(WHOLE, "ascii")
            file.chmod(0o666)
        self._streams["TCP"] = self._socket(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0))
        self._streams["a unix socket"] = self._socket(socket.AF_UNIX, socket.SOCK_STREAM, str(self.folder / "stream"))
        if sys.platform == "linux":
            abstract = f"\0{self.folder / 'stream'}"
            self._streams["an abstract socket"] = self._socket(socket.AF_UNIX, socket.SOCK_STREAM, abstract)
        self._datagrams["UDP"] = self._socket(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0))
        place = str(self.folder / "datagrams")
        self._datagrams["a datagram pair"] = self._socket(socket.AF_UNIX, socket.SOCK_DGRAM, place)
        for name in ("stream", "datagrams"):
            (self.folder / name).chmod(0o666)
        self.folder.chmod(0o777)
        return self

    def __exit__(self, *error: object) -> None:
        self._opened.close()

    @property
    def ports(self) -> tuple[int, int]:
        """The ports on the loopback, of TCP and of UDP."""
        tcp, udp = (each.getsockname()[1] for each in (self._streams["TCP"], self._datagrams["UDP"]))
        return int(tcp), int(udp)

    def changed(self) -> str:
        """What became of the files; empty where nothing did."""
        left = {file.name: file.read_bytes() for file in self.folder.iterdir() if not file.is_socket()}
        whole = WHOLE.encode("ascii")
        return "" if left == {"secret": whole, "target": whole} else "a file outside was changed"

    def reached(self) -> str:
        """Which of the sockets were reached; empty for none."""
        found = []
        for name, opened in (*self._streams.items(), *self._datagrams.items()):
            try:
                if name in self._streams:
                    opened.accept()[0].close()
                else:
                    opened.recv(16)
            except BlockingIOError:
                continue
            found.append(name)
        return ", ".join(found)

    def _socket(self, family: int, kind: int, address: tuple[str, int] | str) -> socket.socket:
        opened = self._opened.enter_context(socket.socket(family, kind))
        opened.bind(address)
        opened.setblocking(False)
        if kind == socket.SOCK_STREAM:
            opened.listen()
        return opened
