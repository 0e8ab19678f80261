"""`actum mcp login` and `logout`: a person logs in at an MCP server; see `cli.login`."""

from __future__ import annotations

import webbrowser
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from ...core.errors import UsageError
from ...protocols.mcp.config import McpServer
from ...storage.tokens import TokenStore
from ...toolsets.login import Person
from ...toolsets.mcp.auth import OAuth, oauth_of
from ...transport.loopback import Loopback
from .. import options
from ..language import tr
from ..login import Open, TerminalLogin
from ..show.terminal import Terminal


async def log_in(
    server: McpServer,
    store: TokenStore,
    secrets: Mapping[str, str],
    *,
    scopes: Sequence[str] = (),
    paste: bool = False,
    open_link: Open = webbrowser.open,
    terminal: Terminal | None = None,
) -> None:
    """Log in at a server, whatever token there is already.

    Args:
        server: as it is configured.
        store: where tokens are kept.
        secrets: by the names that its `auth` uses.
        scopes: what to ask for besides what the server asks for.
        paste: the browser runs on another machine.
        open_link: starts a browser.
        terminal: where to ask.

    Raises:
        UsageError: it is no server to log in at.
        LoginNeeded, LoginFailed, Unavailable: as by `OAuth.log_in`.
    """
    terminal = terminal or Terminal()
    async with Loopback(_port(server, store, secrets)) as loopback:
        person = TerminalLogin(terminal, loopback, paste=paste, open_link=open_link)
        granted = await _oauth(server, store, secrets, person).log_in(scopes)
    if granted.scope:
        terminal.text(tr("Logged in at {issuer}, for {scope}.", issuer=granted.issuer, scope=granted.scope))
    else:
        terminal.text(tr("Logged in at {issuer}.", issuer=granted.issuer))


async def log_out(server: McpServer, store: TokenStore, secrets: Mapping[str, str]) -> None:
    """Forget the login at a server, and tell its issuer where that can be told.

    Raises:
        UsageError: it is no server to log in at.
    """
    oauth = _oauth(server, store, secrets, None)
    known, told = oauth.granted, await oauth.log_out()
    if known is None:
        words = tr("Nobody was logged in at {name}.", name=server.name)
    elif told:
        words = tr("Logged out of {name}; {issuer} was told.", name=server.name, issuer=known.issuer)
    else:
        words = tr(
            "Logged out of {name}; {issuer} was not told, and may keep the login until it ends.",
            name=server.name,
            issuer=known.issuer,
        )
    Terminal().text(words)


def _port(server: McpServer, store: TokenStore, secrets: Mapping[str, str]) -> int:
    """The port that was set, else the one with which this program is registered already, else any."""
    if server.auth is not None and server.auth.redirect_port:
        return server.auth.redirect_port
    granted = _oauth(server, store, secrets, None).granted
    known = store.registration(granted.owner, granted.issuer) if granted else None
    return (urlsplit(known.redirect_uri).port or 0) if known else 0


def _oauth(server: McpServer, store: TokenStore, secrets: Mapping[str, str], person: Person | None) -> OAuth:
    found = oauth_of(server, store, secrets=secrets, person=person, egress=options.egress())
    if found is None:
        raise UsageError(
            "{name} is no server to log in at: it has no url, or a header of its own for that", name=server.name
        )
    return found
