"""`actum tools discover` for addresses and for what `actum catalog` knows; what `--add` does with it.

An MCP server and an agent are written down only: their tools are used once a person has looked at them and approved.
With `--tenant` a place with many tools becomes the draft of a server of this tenant, and is published when a person
agrees.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path

from ...compose.administration import open_application
from ...compose.catalog import CatalogKeeper, catalog_files
from ...compose.discovery.addresses import discover_at, found_of, is_address
from ...compose.discovery.places import FoundTools, discover
from ...compose.remote_agents import A2A_SOURCE
from ...compose.written_settings import remember_tools
from ...core.clock import SystemClock
from ...core.errors import UsageError
from ...core.json import Json, dumps
from ...protocols.mcp.document import name_for
from ...protocols.plain_text import shown
from ...server.api.definitions.bodies import DefinitionChecked, DefinitionPublished, DraftText
from ...server.api.published import SERVER_OPERATIONS
from ...toolsets.declared.server import HEADER, SERVER
from .. import options
from ..definitions.commands import text_in
from ..exit_codes import DONE
from ..language import language, tr
from ..mcp import commands as mcp
from ..operated import Operated
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


SERVED: Mapping[str, str] = {"server": "url", "agent": "a2a", "document": "openapi"}
"""The field of a server's definition that says where what was found is, by its kind."""


def publish_found(terminal: Terminal, found: FoundTools, tenant: str, *, yes: bool) -> bool:
    """Save a place with many tools as the draft of a server, and publish it if a person agrees. Nobody is asked where
    the draft could not be published, such as for a place that is reached without https.

    Returns:
        Whether it was published.

    Args:
        terminal: where the person is asked.
        found: one of the kinds of `SERVED`.
        tenant: whose server it is.
        yes: nobody is asked.

    Raises:
        UsageError: the place can not be published as a server.
    """
    name, settings, operated = name_for(found.name), options.read(), Operated(SERVER_OPERATIONS)
    place = found.source if is_address(found.source) else text_in(found.source, SERVER)
    text = dumps({"actum": HEADER, "name": name, SERVED[found.kind]: place})

    async def saved() -> int:
        async with open_application(settings) as app:
            kept = await app.journal.definitions.draft(SERVER, name, tenant=tenant)
            if kept is not None:  # one that a person said no to, or that could not be published, is asked about again
                return kept.revision if kept.text == text and not kept.published else 0
            given: dict[str, Json] = {"text": text, "revision": 0}
            draft = await operated.ask(app, "saveServerDraft", {"name": name}, given, tenant)
            assert isinstance(draft, DraftText)
            return draft.revision

    async def checked() -> str:
        async with open_application(settings) as app:
            found = await operated.ask(app, "checkServer", {"name": name}, {"text": text}, tenant, language=language())
            assert isinstance(found, DefinitionChecked)
            return found.problems[0].message if found.problems else ""

    async def published(revision: int) -> int:
        async with open_application(settings) as app:
            given: dict[str, Json] = {"revision": revision, "source": found.source[-1_000:]}
            made = await operated.ask(app, "publishServer", {"name": name}, given, tenant)
            assert isinstance(made, DefinitionPublished)
            return made.number

    revision = asyncio.run(saved())
    if not revision:
        terminal.note(tr("There is a server {name} already; it stays as it is.", name=name))
        return False
    if why := asyncio.run(checked()):
        raise UsageError(
            "the draft of the server {name} is kept, and can not be published: {detail}", name=name, detail=why
        )
    question = f"publish {shown(found.source)} as the server {shown(name)}?  [y]es  [n]o: "
    if not apis.agreed(terminal, question, yes=yes):
        terminal.note(tr("Its draft is kept. To publish it: actum servers publish {name}", name=name))
        return False
    terminal.text(tr("{name}@{number} is published.", name=name, number=asyncio.run(published(revision))))
    return True


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
