"""What an address has that could be tools: the document of an API, an MCP server, an agent, or an AI catalog of such.

An address is looked at with the operator's rules for outgoing calls. No tool is called, no message is sent, and nothing
is approved by a look. What a catalog names is not looked at.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from urllib.parse import urlsplit

from ...core.errors import ActumError, UsageError
from ...core.interfaces import Clock
from ...core.json import Json, JsonObject, JsonProblem, parse
from ...protocols.a2a.remote_agent import host_name
from ...protocols.catalog import MEDIA_TYPES, CatalogEntry, CatalogKind
from ...protocols.mcp.document import name_for
from ...protocols.plain_text import plain
from ...transport.egress import Egress
from ..apis import read_source
from ..catalog import CatalogKeeper
from .places import FoundTools, document_in, named

LOOK_S = 15.0
"""Seconds for which an address is waited for, each time that it is asked in another way."""
ENTRIES_MAX = 200
"""At most this many entries of a catalog are told."""
_KINDS: dict[str, CatalogKind] = {media_type: kind for kind, media_type in MEDIA_TYPES.items()}


def is_address(place: str) -> bool:
    """Whether a place is an address of the web."""
    return place.startswith(("http://", "https://"))


async def discover_at(url: str, keeper: CatalogKeeper, egress: Egress, clock: Clock) -> list[FoundTools]:
    """What could be tools at an address.

    Args:
        url: the address.
        keeper: looks at agents and MCP servers.
        egress: the operator's rules for outgoing calls.
        clock: time.

    Raises:
        UsageError: nothing was found; the message says how the address answered.
    """
    problems: list[str] = []
    try:
        async with clock.timeout(LOOK_S):
            content = (await read_source(url, egress)).content
    except (TimeoutError, ActumError) as error:
        content, problems = b"", [str(error) or "it did not answer"]
    if document := document_in(content, url, host_name(url)):
        return document
    try:
        said, _ = parse(content)
    except JsonProblem:
        said = None
    fields = said if isinstance(said, dict) else {}
    if isinstance(entries := fields.get("entries"), list):
        return [found for entry in entries[:ENTRIES_MAX] if (found := _of_entry(entry)) is not None]
    kinds: tuple[CatalogKind, ...] = ("a2a", "mcp") if "skills" in fields else ("mcp", "a2a")
    for kind in kinds:
        try:
            async with clock.timeout(2 * LOOK_S):
                return [found_of(await keeper.looked(CatalogEntry(name=name_for(host_name(url)), kind=kind, url=url)))]
        except (TimeoutError, ValueError, ActumError) as error:
            problems.append(f"{kind}: {str(error) or 'it did not answer'}")
    raise UsageError(
        "{url} is no OpenAPI document, no MCP server, no agent and no AI catalog: {why}",
        url=url,
        why=plain("; ".join(problems))[:1_000],
    )


def found_of(entry: CatalogEntry) -> FoundTools:
    """An agent or an MCP server, as it was when it was last looked at."""
    listed = entry.document.get("tools" if entry.kind == "mcp" else "skills")
    names = [
        plain(str(each.get("name")))[:100]
        for each in (listed if isinstance(listed, list) else [])
        if isinstance(each, dict) and each.get("name")
    ]
    return _found(entry.kind, entry.name, entry.url, names, entry.problem)


def _found(kind: CatalogKind, name: str, url: str, names: Sequence[str] = (), problem: str = "") -> FoundTools:
    if kind == "mcp":
        use = f"actum mcp add {shlex.quote(name)} {shlex.quote(url)}"
        return FoundTools("server", url, *named(list(names)), use=use, name=name, problem=problem)
    return FoundTools(
        "agent", url, *named(list(names)), use=f"actum a2a approve {shlex.quote(url)}", name=name, problem=problem
    )


def _of_entry(entry: Json) -> FoundTools | None:
    """What an entry of a catalog of somebody else is; None where it is nothing that can be used."""
    said: JsonObject = entry if isinstance(entry, dict) else {}
    kind, url = _KINDS.get(str(said.get("type"))), said.get("url")
    if kind is None or not isinstance(url, str) or not is_address(url) or not urlsplit(url).netloc:
        return None
    return _found(kind, name_for(host_name(url)), plain(url)[:2_000], [plain(str(said.get("displayName") or ""))[:100]])
