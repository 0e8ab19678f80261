"""Which of the tools that an MCP server lists may be used: those that are sound, and as they were approved.

One bad definition costs its own tool, not the list. What may not be used is kept with the reason, for a person to look
at. Knows nothing of connections.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Literal

import msgspec
from mcp.shared.inbound import find_invalid_x_mcp_header
from msgspec import Struct

from ...core.errors import BadTool
from ...core.json import JsonObject
from ...core.tool import Tool
from ...protocols.mcp.config import McpServer
from ...protocols.mcp.name import public_name
from ...protocols.mcp.pin import compare, digest
from ...protocols.mcp.tool import tool_of
from ...protocols.plain_text import shown
from ...schema.schema import compile_schema

Fault = Literal["malformed", "duplicate", "new", "changed"]


class Usable(Struct, frozen=True):
    """A tool that may be used.

    Attributes:
        tool: under its name here.
        name: the server's own.
        definition: as the server told it.
    """

    tool: Tool
    name: str
    definition: JsonObject


class Quarantined(Struct, frozen=True):
    """A tool that may not be used.

    Attributes:
        name: the server's own; empty where it has none.
        fault: what is the matter. One that is `new` or `changed` can be approved.
        reason: in a sentence, for a person.
        definition: as the server told it, with all that may be hidden in it; see `plain_text.shown`.
        changes: what is not as it was approved, in lines.
    """

    name: str
    fault: Fault
    reason: str
    definition: JsonObject
    changes: tuple[str, ...] = ()


class Listing(Struct, frozen=True):
    """What a server lists, sorted out.

    Attributes:
        usable: by the name here, in the server's order.
        quarantined: the rest, but for those that its configuration leaves out.
        gone: names that were approved and are not there any more.
    """

    usable: Mapping[str, Usable]
    quarantined: tuple[Quarantined, ...] = ()
    gone: frozenset[str] = frozenset()

    @property
    def sound(self) -> list[JsonObject]:
        """The definitions that are well formed, approved or not."""
        waiting = [each.definition for each in self.quarantined if each.fault in ("new", "changed")]
        return [*(each.definition for each in self.usable.values()), *waiting]


def sort_out(
    server: McpServer,
    definitions: Sequence[JsonObject],
    pins: Mapping[str, Sequence[JsonObject]] | None,
    readers: Collection[str] = (),
) -> Listing:
    """Sort out what a server lists.

    Args:
        server: as it is configured.
        definitions: what it lists.
        pins: the approved definitions of each tool, by the server's names; None where none need be approved.
        readers: the digests of definitions that a person approved as those of tools that only read.
    """
    wanted = [definition for definition in definitions if _is_wanted(server, definition)]
    count = Counter(definition["name"] for definition in wanted if isinstance(definition.get("name"), str))
    usable: dict[str, Usable] = {}
    bad: list[Quarantined] = []
    for definition in wanted:
        name = definition.get("name")
        try:
            if isinstance(name, str) and count[name] > 1:
                told = f"{count[name]} tools of this server are called {shown(name[:128])!r}."
                bad.append(Quarantined(name, "duplicate", told, definition))
            else:
                tool = _sound(server, definition, readers)
                usable[tool.name] = Usable(tool, str(name), definition)
        except BadTool as error:
            bad.append(Quarantined(name if isinstance(name, str) else "", "malformed", str(error), definition))
    if pins is None:
        return Listing(usable, tuple(bad))
    compared = compare(pins, [each.definition for each in usable.values()])
    for public, each in list(usable.items()):
        if each.name in compared.known:
            continue
        del usable[public]
        changes = compared.changed.get(each.name, ())
        if changes:
            told = "It is not as it was approved."
        else:
            old = compared.renamed.get(each.name)
            told = f"It was called {old!r}, and is not approved under this name." if old else "It was never approved."
        bad.append(Quarantined(each.name, "changed" if changes else "new", told, each.definition, changes))
    return Listing(usable, tuple(bad), compared.gone)


def _is_wanted(server: McpServer, definition: JsonObject) -> bool:
    name = str(definition.get("name"))
    if any(fnmatchcase(name, pattern) for pattern in server.exclude):
        return False
    return server.include is None or any(fnmatchcase(name, pattern) for pattern in server.include)


def _sound(server: McpServer, definition: JsonObject, readers: Collection[str]) -> Tool:
    """The tool under its name here.

    Raises:
        BadTool: its definition is none that a call could be made by.
    """
    try:
        reads = bool(readers) and digest(definition) in readers
        tool = tool_of(definition, trusted=server.trusted, reads=reads)
        where = f"tool {tool.name!r}"
        compile_schema(tool.parameters, where=where, foreign=True)
        if tool.result is not None:
            compile_schema(tool.result, where=f"result of {where}", blanks=True, foreign=True)
    except RecursionError:
        raise BadTool("its definition is nested too deep") from None
    wrong = find_invalid_x_mcp_header(tool.parameters)
    if wrong is not None:
        raise BadTool("{where}: {wrong}", where=where, wrong=shown(wrong)[:300])
    name = public_name(server.name, tool.name)
    return msgspec.structs.replace(tool, name=name, timeout_s=server.max_timeout, unjailed=server.unjailed)
