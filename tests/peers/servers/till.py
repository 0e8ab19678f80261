"""A till as an MCP server of the official SDK: what it took in stands in a file, whatever becomes of the server.

    python till.py FILE PIPE

`pay` writes the amount down, and `look` reads. The first call that is told to hold on writes the server's process id
into the pipe, a line, and never ends, so that a test knows that a call is under way and whom to kill.
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations

BOOK, PIPE = Path(sys.argv[1]), Path(sys.argv[2])
server = MCPServer("till", log_level="ERROR")


def _hold() -> None:
    held = BOOK.with_name("held")
    if held.exists():
        return
    held.touch()
    with PIPE.open("w") as pipe:
        pipe.write(f"{os.getpid()}\n")
    threading.Event().wait()


@server.tool(annotations=ToolAnnotations(read_only_hint=False, destructive_hint=False))
def pay(amount: int, hold: bool = False) -> str:
    """Pay."""
    with BOOK.open("a") as book:
        book.write(f"{amount}\n")
    if hold:
        _hold()
    return f"paid {amount}"


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def look(hold: bool = False) -> list[str]:
    """What was paid."""
    if hold:
        _hold()
    return BOOK.read_text().splitlines() if BOOK.exists() else []


if __name__ == "__main__":
    server.run("stdio")
