"""Calls that a gateway holds open: a server with a handshake asks something while it serves, and the client, which has
no handshake, answers by its next request.

A held call goes on in a task of its own while its client is away. The client finds the call again by a handle, which is
random and sealed for its user; that the call belongs to this user is checked again here. A client that does not come
back loses the call after some time, or when others need the quota. Limits: held calls are lost with the process.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Coroutine

from mcp.shared.exceptions import MCPError

from ....core.identity import Identity
from ....core.interfaces import Clock
from ....core.json import JsonObject
from ....core.user import User
from ..calls import INVALID_PARAMS, NotYet
from .gateway_client import GatewayClient, ServerQuestion

KEPT_S = 600.0
"""Seconds that a client may take to answer; no longer than the state that it holds is sealed for."""
KEPT_MAX = 1_000
KEPT_EACH_MAX = 6
"""The most calls that are kept at a time, in all and for one user: a server waits for the answer to each."""

_MARK = "held:"
LOST = "This call is not waiting here any more: it took too long, or was lost. It may have happened in part."


class HeldCall:
    """A call that is under way.

    Args:
        client: the client that made the call.
        work: makes the call, and returns the raw result.
    """

    def __init__(self, client: GatewayClient, work: Coroutine[None, None, JsonObject]) -> None:
        self.client = client
        self.task = asyncio.create_task(work)
        self.question: ServerQuestion | None = None
        self.user = User()

    async def next(self) -> ServerQuestion | None:
        """What the server asks next; None when the call is over."""
        asked = asyncio.create_task(self.client.questions.get())
        try:
            await asyncio.wait({self.task, asked}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await self.end()
            raise
        finally:
            asked.cancel()
        self.question = asked.result() if asked.done() and not asked.cancelled() else None
        return self.question

    async def end(self) -> None:
        """Break it off."""
        self.task.cancel()
        await asyncio.wait([self.task])
        if not self.task.cancelled():
            self.task.exception()  # the caller that would have heard of it is gone


class HeldCalls:
    """The calls whose clients are away.

    Args:
        clock: for how long they may be.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._kept: dict[str, tuple[HeldCall, asyncio.Task[None]]] = {}

    @staticmethod
    def is_of(state: str) -> bool:
        """Whether this is the handle of a call that is kept, or was."""
        return state.startswith(_MARK)

    async def begin(self, call: HeldCall, who: Identity) -> JsonObject:
        """Wait for a call's result, or for the first question to its client."""
        call.user = who.user
        return await self._until_asked(call)

    async def go_on(self, handle: str, client: GatewayClient, user: User) -> JsonObject:
        """Hand in what a client answered, and wait on.

        Raises:
            MCPError: no such call is waiting for this user.
        """
        kept = self._kept.get(handle)
        if kept is None or kept[0].user != user:
            raise MCPError(INVALID_PARAMS, LOST)
        call, timer = kept
        assert call.question is not None
        responses = client.params.get("inputResponses")
        response = responses.get(call.question.id) if isinstance(responses, dict) else None
        if not isinstance(response, dict):
            return self._asking(handle, call.question)
        timer.cancel()
        del self._kept[handle]
        call.client.come_back(client)
        call.question.answer.set_result({name: value for name, value in response.items() if name != "resultType"})
        return await self._until_asked(call)

    async def _until_asked(self, call: HeldCall) -> JsonObject:
        question = await call.next()
        if question is None:
            return await call.task
        await self._make_room(call.user)
        await call.client.flush()
        handle = _MARK + secrets.token_urlsafe(24)
        self._kept[handle] = (call, asyncio.create_task(self._give_up(handle)))
        return self._asking(handle, question)

    async def _make_room(self, user: User) -> None:
        """Give up the calls that wait longest, for one more."""
        of_user = [handle for handle, (call, _) in self._kept.items() if call.user == user]
        spare = of_user[: len(of_user) + 1 - KEPT_EACH_MAX] if len(of_user) >= KEPT_EACH_MAX else []
        for handle in spare or list(self._kept)[: max(0, len(self._kept) + 1 - KEPT_MAX)]:
            call, timer = self._kept.pop(handle)
            timer.cancel()
            await call.end()

    def _asking(self, handle: str, question: ServerQuestion) -> JsonObject:
        asked: JsonObject = {"method": question.method, "params": question.params}
        return NotYet(handle, {question.id: asked}).told()

    async def _give_up(self, handle: str) -> None:
        await self._clock.sleep(KEPT_S)
        call, _ = self._kept.pop(handle)
        await call.end()

    async def close(self) -> None:
        """Break off all."""
        kept, self._kept = list(self._kept.values()), {}
        for _, timer in kept:
            timer.cancel()
        await asyncio.gather(*(call.end() for call, _ in kept))
