"""`actum studio`: the pages for people, in a browser of this machine. It serves what `actum serve` serves."""

from __future__ import annotations

import hashlib
import os
import time
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from html import escape
from pathlib import Path
from typing import Annotated

import typer
from msgspec import structs

from ...compose.extras import check_extras
from ...compose.journals import journal_place
from ...compose.secrets import make_key_file
from ...compose.settings import Settings, at_their_lines
from ...compose.tables.serve import ServeSettings
from ...core.errors import UsageError
from ...core.interfaces import Journal
from ...core.json import JsonObject
from ...storage import whole_file
from ...storage.claim_file import ClaimFile
from ...storage.folders import state_folder
from .. import options
from ..exit_codes import DONE
from ..options import JournalFlag, JsonFlag, LimitFlag, PolicyFlag, ToolsFlag
from ..show.terminal import Terminal
from .callers import InsecureFlag, IssuerFlag, KeyFlag, local
from .serve import HttpFlag, MetricsFlag, PublicFlag, read_served, run

PORTS_TRIED = 20
"""How many ports behind the usual one are tried, where other programs have these."""


def studio(
    http: HttpFlag = "",
    tools: ToolsFlag = None,
    metrics: MetricsFlag = "",
    public: PublicFlag = "",
    key_env: KeyFlag = "",
    issuer: IssuerFlag = "",
    insecure: InsecureFlag = False,
    instructions: options.InstructionsFlag = "",
    limit: LimitFlag = None,
    journal: JournalFlag = "",
    policy: PolicyFlag = "",
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address, and open nothing.")] = False,
    as_json: JsonFlag = False,
) -> int:
    """Open the studio in a browser: chat, approvals, runs, audit and settings.

    The address that is printed signs you in. It counts once, for ten minutes: start the command again for another.
    """

    def read() -> Settings:
        flags: JsonObject = {"http": http, "metrics": metrics, "public": public, "issuer": issuer}
        return read_served(flags, tools, instructions, limit, journal, policy)

    settings = read()
    check_extras(settings, "studio")
    from ...compose.serving import run_server  # noqa: PLC0415  # nobody else needs a web server

    if not http and settings.serve.http == ServeSettings().http:
        settings = structs.replace(settings, serve=structs.replace(settings.serve, http=_free(settings.serve.http)))
    shown = _Shown(settings, opens=not no_browser, as_json=as_json)
    with at_their_lines(Path.cwd(), os.environ):
        return run_server(_studio(settings, shown, lambda: read().serve, key_env, insecure=insecure))


async def _studio(
    settings: Settings,
    shown: _Shown,
    reread: Callable[[], ServeSettings],
    key_env: str,
    *,
    insecure: bool,
) -> int:
    """Serve, or open the studio that another process of this person serves for the same journal."""
    with shown.claimed() as is_first:
        if not is_first:
            async with options.journal(settings) as opened:
                await shown.tell(opened, shown.address())
            return DONE
        if (made := make_key_file(os.environ)) is not None:
            Terminal().note("No keyring answers here: a new key file seals the secrets, {file}", file=made)
        # Other programs and other users of this machine reach the port, too.
        return await run(settings, reread, key_env, insecure=insecure, wants_key=True, begun=shown.begun)


class _Shown:
    """Tells the person where the studio is.

    Args:
        settings: as read.
        opens: whether a browser is opened.
        as_json: whether a line of JSON is printed.
    """

    def __init__(self, settings: Settings, *, opens: bool, as_json: bool) -> None:
        self._settings, self._opens, self._as_json = settings, opens, as_json
        journal = hashlib.sha256(journal_place(settings, os.environ).encode()).hexdigest()[:16]
        self._place = state_folder(os.environ) / f"studio-{journal}"

    @contextmanager
    def claimed(self) -> Iterator[bool]:
        """A block in which no other process is the first studio of this journal; False where another one is."""
        self._place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        claim = ClaimFile(self._place.with_suffix(".claim"))
        try:
            is_first = claim.take("studio")
            if is_first:  # the address of a studio that is gone leads nowhere, or to another program
                self._place.with_suffix(".address").unlink(missing_ok=True)
            yield is_first
        finally:
            claim.close()

    def address(self) -> str:
        """Where the first studio of this journal is.

        Raises:
            UsageError: it is about to start, and has not said so yet.
        """
        with suppress(OSError):
            if found := self._place.with_suffix(".address").read_text("utf-8"):
                return found
        raise UsageError("another actum studio for this journal is starting: try again in a moment")

    async def begun(self, journal: Journal, address: str) -> None:
        """The server listens."""
        whole_file.replace(self._place.with_suffix(".address"), address.encode())
        await self.tell(journal, address)

    async def tell(self, journal: Journal, address: str) -> None:
        """Tell the person the address that signs in, and open it."""
        from ...server.login.codes import make_code  # noqa: PLC0415  # nobody else needs it

        code = await make_code(journal.sessions, local(self._settings).principal, now=time.time())
        url = f"{address}/studio/#code={code}"
        terminal = Terminal()
        if self._as_json:
            terminal.json({"url": url})
        else:
            terminal.note("The studio is at this address. It signs you in once, within ten minutes:")
            print(url, flush=True)
        if self._opens:
            # The browser gets the address by a file for its owner alone: the arguments of a process can be read.
            door = self._place.with_suffix(".html")
            link = f'<meta charset="utf-8"><meta http-equiv="refresh" content="0; url={escape(url)}">'
            whole_file.replace(door, link.encode())
            webbrowser.open(door.as_uri())


def _free(place: str) -> str:
    """The place, or the one with the next port that no other program has."""
    from ...compose.serving import listener, place_of  # noqa: PLC0415  # as above

    host, port = place_of(place)
    for each in range(port, port + PORTS_TRIED):
        with suppress(UsageError):
            listener(f"{host}:{each}").close()
            return f"{host}:{each}"
    return f"{host}:0"
