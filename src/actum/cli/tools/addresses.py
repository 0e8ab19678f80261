"""`actum tools discover` for addresses and for what `actum catalog` knows; what `--add` does with it.

An MCP server and an agent are written down only: their tools are used once a person has looked at them and approved.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from ...compose.catalog import CatalogKeeper, catalog_files
from ...compose.discovery.addresses import discover_at, found_of, is_address
from ...compose.discovery.places import FoundTools, discover
from ...compose.remote_agents import A2A_SOURCE
from ...compose.written_settings import remember_tools
from ...core.clock import SystemClock
from ...protocols.plain_text import shown
from .. import options
from ..exit_codes import DONE
from ..language import tr
from ..mcp import commands as mcp
from ..show.terminal import Terminal
from . import a2a, apis


def found_at(place: str) -> list[FoundTools]:
    """What could be tools at a place.

    Args:
        place: an address, a folder, a module, or the name of an entry of the catalog; empty for what is installed and
            what is in the catalog.

    Raises:
        UsageError: there is nothing.
    """
    if is_address(place):
        settings, egress, clock = options.read(), options.egress(), SystemClock()
        keeper = CatalogKeeper(catalog_files(os.environ), settings.a2a, os.environ, egress=egress, clock=clock)
        return asyncio.run(discover_at(place, keeper, egress, clock))
    entries = [entry for entry in catalog_files(os.environ).all() if place in ("", entry.name)]
    if place and entries and not Path(place).expanduser().exists():
        return [found_of(entry) for entry in entries]
    return [*discover(place), *(found_of(entry) for entry in entries if not place)]


def add_found(terminal: Terminal, found: FoundTools, *, yes: bool) -> bool:
    """Write down an MCP server or an agent that was found, if a person agrees; whether it was written down."""
    if found.kind == "agent":  # whose card is shown, and who is asked, there
        if a2a.approve(found.source, yes=yes) != DONE:
            return False
        path = remember_tools([A2A_SOURCE + found.source], Path.cwd(), os.environ)
        terminal.note(tr("Added to {path}: {places}", path=str(path), places=A2A_SOURCE + found.source))
        return True
    if found.name in mcp.written_servers():
        terminal.note(tr("There is an MCP server {name} already; it stays as it is.", name=found.name))
        return False
    question = f"add the MCP server {shown(found.name)} at {shown(found.source)}?  [y]es  [n]o: "
    return apis.agreed(terminal, question, yes=yes) and mcp.add(found.name, [found.source]) == DONE
