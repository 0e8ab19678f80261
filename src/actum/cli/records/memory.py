"""`actum memory`: what is remembered of you. Most of it is made from operations of the API; `export` and `rebuild` are
none: they read all of a memory, and the whole journal.
"""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from ...compose.tools import memory_spaces
from ...core.user import User
from ...memory.feature import FEATURE, take_into_use
from ...memory.items import listed
from ...server.api.memories import OPERATIONS, space_meant
from .. import options
from ..operated import MeantTenantFlag, group_of
from ..options import JournalFlag, JsonFlag
from ..show.terminal import Terminal, said, who

app = group_of(
    OPERATIONS,
    "What is remembered of you across conversations: list, search, show, add, forget, on, off, export, rebuild.",
)
ITEMS_AT_ONCE = 200


@app.command("export")
def export(
    space: Annotated[
        str,
        typer.Option(
            "--space", "--agent", metavar="NAME", help="Only of this memory space, such as the name of an agent."
        ),
    ] = "",
    tenant: MeantTenantFlag = None,
    journal: JournalFlag = "",
) -> None:
    """Print all that is remembered of you as JSON, one item a line, the latest first."""
    terminal = Terminal()

    async def command() -> None:
        user, behind, settings = User(said(tenant or ""), who()), None, options.read(journal=journal)
        meant = space_meant(said(space), memory_spaces(settings))
        async with options.journal(settings) as opened:
            while items := await listed(opened, user, ITEMS_AT_ONCE, meant, behind=behind, is_whole=True):
                for item in items:
                    terminal.json(item)
                behind = (items[-1].at, items[-1].id)

    asyncio.run(command())


@app.command("rebuild")
def rebuild(as_json: JsonFlag = False, journal: JournalFlag = "") -> None:
    """Make the index of all memories anew from the journal."""
    terminal = Terminal()

    async def command() -> int:
        async with options.journal(options.read(journal=journal)) as opened:
            stores = await take_into_use(opened)
            count = await stores.rebuild(FEATURE.name)
            await stores.read("", lambda transaction: None, caught_up=FEATURE.name)
            return count

    count = asyncio.run(command())
    if as_json:
        terminal.json({"read": count})
    else:
        terminal.note("The index of memory is made anew, from {count:run or note|runs and notes}.", count=count)
