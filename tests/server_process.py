"""Servers as processes of their own, at addresses that take connections from the first moment."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests import warm


@contextmanager
def running(module: str, *words: str, path: str = "/mcp") -> Iterator[str]:
    """Run a server until the block ends.

    The server inherits a socket that listens already. A client that is too early waits in the socket's queue, so nobody
    has to ask again and again whether the server is up; and servers that are started one after the other load at the
    same time.

    Args:
        module: a program that takes the number of a listening socket as its first word.
        words: more words for the program.
        path: of the address.

    Returns:
        The address. Connections are refused when the program ends.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        number = listener.fileno()
        process = warm.popen([sys.executable, "-m", module, str(number), *words], pass_fds=[number])
    try:
        yield f"http://127.0.0.1:{port}{path}"
    finally:
        process.kill()
        process.wait()


def inherited(number: str) -> socket.socket:
    """In such a program: the socket that the program was given."""
    return socket.socket(fileno=int(number))
