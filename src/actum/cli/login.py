"""The person at the terminal who logs in somewhere, in a browser of this machine or of another.

The address is always shown in full, with whose it is, and a browser is started only after a yes. Where the browser
runs on another machine, the person pastes the address at which it ended, which this machine could not be reached at.
"""

from __future__ import annotations

import asyncio
import webbrowser
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

from ..toolsets.login import LoginFailed
from ..transport.guard import AddressRefused, check_link
from ..transport.loopback import Loopback
from .show.terminal import Terminal

LOGIN_S_MAX = 600.0

Open = Callable[[str], bool]
"""Opens an address in a browser; False when there is none."""


class TerminalLogin:
    """The person at the terminal, with a browser somewhere.

    Args:
        terminal: where to ask.
        loopback: where the browser comes back to; it listens already.
        paste: the browser runs on another machine.
        open_link: starts a browser.
    """

    def __init__(
        self, terminal: Terminal, loopback: Loopback, *, paste: bool, open_link: Open = webbrowser.open
    ) -> None:
        self._terminal = terminal
        self._loopback = loopback
        self._paste = paste
        self._open = open_link

    @property
    def redirect_uri(self) -> str:
        return self._loopback.redirect_uri

    async def authorize(self, url: str) -> str:
        """Show the address, open it on a yes, and wait until the browser is back.

        Raises:
            LoginFailed: nobody should open this, or nobody came back.
        """
        try:
            site = check_link(url, local=True).words[1]
        except AddressRefused as refused:
            raise LoginFailed(str(refused)) from None
        self._terminal.note("To log in, open this address. {site}", site=site)
        self._terminal.err.print(url, soft_wrap=True, markup=False, highlight=False)
        if self._paste:
            return self._pasted()
        self._loopback.expect(parse_qs(urlsplit(url).query)["state"][0])
        if self._terminal.person:
            said = self._terminal.ask("Open it in the browser of this machine now? [y/N] ")
            if (said or "").strip().lower() in ("y", "yes") and not self._open(url):
                self._terminal.note("There is no browser here: open the address yourself, or use --paste.")
        self._terminal.waiting.begin("waiting until the browser is back; Ctrl-C ends this")
        try:
            async with asyncio.timeout(LOGIN_S_MAX):
                return await self._loopback.arrived()
        except TimeoutError:
            raise LoginFailed("nobody came back from the login") from None
        finally:
            self._terminal.waiting.end()

    def _pasted(self) -> str:
        self._terminal.note(
            "In the end the browser can not reach {address}. Copy the whole address that it shows then.",
            address=self.redirect_uri,
        )
        said = (self._terminal.ask("Paste that address: ") or "").strip()
        if not said.startswith(f"{self.redirect_uri}?"):
            raise LoginFailed(
                "that is not the whole address: it begins with {redirect_uri}?", redirect_uri=self.redirect_uri
            )
        return said
