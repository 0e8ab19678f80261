"""`actum keys`, made from the operations at `/v1/keys`; and who may come in at a server that a command starts."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import typer

from ...core.interfaces import Journal
from ...server.access import Access
from ...server.api.keys import OPERATIONS
from ...server.keys import Entrance, with_stored_keys
from ..language import tr
from ..operated import add_commands
from ..show.terminal import Terminal, who

app = typer.Typer(help="Keys of a server: make one, list them, revoke one.", invoke_without_command=True)
add_commands(app, OPERATIONS)


async def entrance(access: Access, journal: Journal, host: str, *, scopes: Sequence[str] = ()) -> Entrance:
    """Who may come in at a server that a command starts, with the keys of its journal.

    Off the loopback, and before anybody made a key, the first key is made and shown to a person who sits at the
    terminal; see `server.keys.with_stored_keys`.

    Args:
        access: who may use the server by other settings.
        journal: keeps the keys.
        host: where the server listens.
        scopes: what the first key allows.

    Raises:
        UsageError: others than this machine would reach the server, and there is no key for them.
        JournalError: the keys can not be read or written.
    """
    terminal = Terminal()
    found = await with_stored_keys(access, journal, host=host, by=who(), is_person=terminal.person, scopes=scopes)
    if found.made is not None:
        terminal.note(
            tr("Others than this machine reach this server: here is a key for you, as `actum keys add` makes.")
        )
        terminal.note(tr("Clients show this key as `Authorization: Bearer KEY`. It is not shown again:"))
        print(found.made.text, file=sys.stderr)
    return found
