"""What a tool of an MCP server is called here: the name of its server before its own. Pure.

`files` and `read` make `files_read`. The name of the server is the one that we gave it, never what it calls itself. No
two tools have one name, whatever their servers call them, so that no tool can pass for another's: a name can be split
into its halves in one way only, or it ends in a hash of both. A name depends on its halves alone, so that it stays the
same when other servers come and go.

The way back is a table, which the code that made the names keeps.
"""

from __future__ import annotations

import base64
import hashlib
import re

NAME_CHARS_MAX = 64
HASH_CHARS = 12
"""60 bits: a server that wants another's hash has to try some 10^18 names."""

_PLAIN = re.compile(r"[A-Za-z0-9_-]+")
_UNREADABLE = re.compile(r"[^A-Za-z0-9-]+")
_HASHED = re.compile(rf".*_[a-z2-7]{{{HASH_CHARS}}}h")


def public_name(server: str, tool: str) -> str:
    """The name under which a model and a policy know a tool: at most 64 of `A-Za-z0-9_-`.

    Args:
        server: what its server is called in our configuration.
        tool: what the server calls it.

    >>> public_name("files", "read_text"), public_name("my_files", "read")
    ('files_read_text', 'my_files__read')
    """
    for between in ("_", "__"):
        name = server + between + tool
        if _is_fit(name) and _halves(name) == (server, tool):
            return name
    digest = hashlib.sha256(f"{len(server)}:{server}{tool}".encode("utf-8", "surrogatepass")).digest()
    ending = "_" + base64.b32encode(digest).decode().lower()[:HASH_CHARS] + "h"
    readable = "_".join(filter(None, (_UNREADABLE.sub("_", half).strip("_") for half in (server, tool)))) or "mcp"
    return readable[: NAME_CHARS_MAX - len(ending)] + ending


def _is_fit(name: str) -> bool:
    return len(name) <= NAME_CHARS_MAX and _PLAIN.fullmatch(name) is not None and _HASHED.fullmatch(name) is None


def _halves(name: str) -> tuple[str, str]:
    """The server and the tool of a name that has no hash: parted by the first `__`, else by the first `_`."""
    server, _, tool = name.partition("__" if "__" in name else "_")
    return server, tool
