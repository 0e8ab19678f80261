"""Tool names that a provider would refuse go out under a stand-in and come back as they were. Pure.

A stand-in is what is readable of the name, and a short hash of it: `crm.find_user` goes out as `crm_find_user_` and
eight digits, `查天气` as `tool_` and eight digits. It depends on the name alone, so that past calls keep theirs while
tools come and go; only where another tool of the request has that very name is the hash taken anew. A name that fits
the pattern is never touched.

Stand-ins begin with a letter and have letters, digits and `_`, at most 64: all patterns that we know of allow that.
What a provider's own pattern is, is said in its row. An empty pattern allows every name.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

from ..core.tool import Tool
from .tools_once import OncePerTools

OPENAI_NAME = "[a-zA-Z0-9_-]{1,64}"
"""OpenAI's pattern, which most providers have taken over with its API."""

MOONSHOT_NAME = "[a-zA-Z_][a-zA-Z0-9_-]{2,63}"

NAME_CHARS_MAX = 64
HASH_CHARS = 8
_UNREADABLE = re.compile(r"[^a-zA-Z0-9]+")


class ToolNames:
    """How the tools of a request are called on the wire.

    Args:
        pattern: regular expression that a name as a whole must fit; empty for any name.
        tools: of the request.

    >>> names = ToolNames(OPENAI_NAME, [Tool(name="查天气"), Tool(name="get_news")])
    >>> names.wire("get_news"), names.back(names.wire("查天气"))
    ('get_news', '查天气')
    """

    __slots__ = ("_pattern", "_tools", "_wires", "key")

    def __init__(self, pattern: str = "", tools: Sequence[Tool] = ()) -> None:
        self._pattern = re.compile(pattern) if pattern else None
        self._wires: dict[str, str] = {}
        self.key = ""
        taken = {tool.name for tool in tools if self._fits(tool.name)}
        for name in sorted({tool.name for tool in tools} - taken):  # sorted: the order of tools must not matter
            attempt = 0
            while (wire := stand_in(name, attempt)) in taken:
                attempt += 1
                self.key += f" {name} {attempt}"
            taken.add(wire)
            self._wires[name] = wire
        self._tools = {wire: name for name, wire in self._wires.items()}

    def wire(self, name: str) -> str:
        """The name under which a tool goes out; of a tool of the request or of any other."""
        return self._wires.get(name) or (name if self._fits(name) else stand_in(name))

    def told(self, tool: Tool) -> tuple[str, str]:
        """The name and the description under which a tool goes out: beside a stand-in the model can read the name."""
        name = self.wire(tool.name)
        return name, tool.description if name == tool.name else f"{tool.name}: {tool.description}"

    def back(self, wire: str) -> str:
        """The tool that a name on the wire means."""
        return self._tools.get(wire, wire)

    def may_go_on(self, wire: str) -> bool:
        """More letters could make a stand-in of this beginning of a name."""
        return any(name.startswith(wire) and name != wire for name in self._tools)

    def _fits(self, name: str) -> bool:
        return self._pattern is None or self._pattern.fullmatch(name) is not None


def stand_in(name: str, attempt: int = 0) -> str:
    """What goes out in place of a name.

    Args:
        attempt: how many other stand-ins for it were taken already.
    """
    digest = hashlib.sha256(f"{attempt}\0{name}".encode() if attempt else name.encode()).hexdigest()[:HASH_CHARS]
    readable = _UNREADABLE.sub("_", name).strip("_")
    if not readable[:1].isalpha():
        readable = f"tool_{readable}"
    return f"{readable[: NAME_CHARS_MAX - HASH_CHARS - 1].strip('_')}_{digest}"


ANY_NAMES = ToolNames()
_names = OncePerTools[str, ToolNames](lambda tools, pattern: ToolNames(pattern, tools))


def names_of(tools: Sequence[Tool], pattern: str) -> ToolNames:
    """The names of these tools; remembered for a tuple, which a request's tools are."""
    return _names(tuple(tools), pattern) if pattern else ANY_NAMES
