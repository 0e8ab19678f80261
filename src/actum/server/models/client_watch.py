"""Notices that a client has hung up, while its answer is still being made."""

from __future__ import annotations

import asyncio

from starlette.requests import ClientDisconnect
from starlette.types import Receive


class ClientWatch:
    """Cancels the task that makes an answer when the client hangs up.

    Args:
        receive: of the request, whose body was read to its end.

    Attributes:
        has_left: the client has hung up.
    """

    def __init__(self, receive: Receive) -> None:
        self.has_left = False
        self._receive = receive
        self._answering = asyncio.current_task()
        self._watching = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self.has_left = True
        if self._answering is not None:
            self._answering.cancel()

    def is_cause(self) -> bool:
        """Whether the cancellation that was just caught came from here; it is taken back then. Called once for each
        cancellation that is caught."""
        if not self.has_left or self._answering is None:
            return False
        return self._answering.uncancel() == 0

    def stop(self) -> None:
        """Look no more, whatever was seen."""
        self._watching.cancel()

    def end(self) -> None:
        """Look no more.

        Raises:
            ClientDisconnect: the client has hung up.
        """
        self.stop()
        if self.has_left:
            raise ClientDisconnect
