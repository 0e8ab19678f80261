"""`A2ARoutes`: the agents of a server in every version of A2A.

/.well-known/agent-card.json                the card of the first agent; /.well-known/agent.json in the old form
/.well-known/jwks.json                      the key that signs
/a2a/{agent}                                JSON-RPC of 1.0 and 0.3
/a2a/{agent}/rest/...                       HTTP+JSON of 1.0, and of 0.3 below /v1
/a2a/{agent}/legacy                         the protocol of April 2025
/a2a/{agent}/.well-known/agent-card.json    the card of each agent; agent.json likewise
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress

from a2a.types import a2a_pb2 as pb
from a2a.utils.errors import ExtendedAgentCardNotConfiguredError, UnsupportedOperationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from ...core.errors import JournalError, UsageError
from ...core.identity import Identity
from ...core.policy import Facts
from ...features.refusal import Refusal
from ..admission import Admission
from ..api.api import Api
from ..models.agents.secret import NameSecret
from ..refusal import HttpRefusal
from ..route_group import identity_of
from .asking import base_of
from .card import JWKS, CardForm, Cards, signed_card
from .handler import RunHandler
from .jsonrpc import JsonRpc
from .original import OriginalRpc
from .push import PushSender, PushTargets
from .rest import Rest
from .service import A2ARequest, TaskService
from .signing import CardKey

DRAIN_S = 10.0
CARD, OLD_CARD = "/.well-known/agent-card.json", "/.well-known/agent.json"
SCOPE = "runs"


class A2ARoutes:
    """The door of A2A.

    Args:
        tasks: the tasks.
        cards: the cards.
        public: the address of the server as clients write it; empty where requests say it.
        first: the name of the agent whose card stands at the root; empty for the first.
        key: signs cards and news; None for the key that follows from the journal.
        push: where news are pushed; None where no news are pushed.
        sender: makes what pushes news, of the key and the address of its JWK set; None where no news are pushed.
        beside: what has to be open while the server runs, such as gRPC, of the methods and of what callers have
            to pass; None for nothing.
        drain_s: the seconds that runs may go on when the server stops.
    """

    def __init__(
        self,
        tasks: TaskService,
        cards: Cards,
        *,
        public: str = "",
        first: str = "",
        key: CardKey | None = None,
        push: PushTargets | None = None,
        sender: Callable[[Callable[[], Awaitable[CardKey]], str], PushSender] | None = None,
        beside: Callable[[RunHandler, Admission], AbstractAsyncContextManager[object]] | None = None,
        drain_s: float = DRAIN_S,
    ) -> None:
        self.scopes = (SCOPE,)
        self._tasks = tasks
        self._api: Api = tasks.api
        self._cards = cards
        self._public = public
        self._key = key
        self._secret = NameSecret(self._api.journal)
        self._sender, self._beside, self._drain_s = sender, beside, drain_s
        self._admission = Admission()
        self._agents = tuple(self._api.agents.names)
        self._first = first or next(iter(self._agents), "")
        self.handler = RunHandler(tasks, push, self._extended_card)
        later = JsonRpc(self.handler, self._agent_at)
        original = OriginalRpc(self.handler, later, self._agent_at)
        self._routes: list[BaseRoute] = [
            Route(CARD, self._card_at_root, methods=["GET"]),
            Route(OLD_CARD, self._old_card_at_root, methods=["GET"]),
            Route(JWKS, self._jwks, methods=["GET"]),
            Route("/a2a/{agent}" + CARD, self._card, methods=["GET"]),
            Route("/a2a/{agent}" + OLD_CARD, self._old_card, methods=["GET"]),
            Route("/a2a/{agent}/legacy", original.answer, methods=["POST"]),
            *Rest(self.handler, self._agent_at).routes("/a2a/{agent}/rest"),
            Route("/a2a/{agent}", later.answer, methods=["POST"]),
            # Clients that join the address and a path, such as the official kit, write a slash behind the address.
            Route("/a2a/{agent}/", later.answer, methods=["POST"]),
            Route("/a2a/{agent}/legacy/", original.answer, methods=["POST"]),
        ]

    @property
    def routes(self) -> Sequence[BaseRoute]:
        """See `RouteGroup`."""
        return self._routes

    @property
    def open_paths(self) -> Collection[str]:
        """The cards of agents that anybody may use, and the key that signs."""
        found = {JWKS}
        for name in self._agents:
            if self._api.agents.get(name).is_open:
                found |= {f"/a2a/{name}{CARD}", f"/a2a/{name}{OLD_CARD}"}
                if name == self._first:
                    found |= {CARD, OLD_CARD}
        return found

    def take_admission(self, admission: Admission) -> None:
        """See `OwnPort`."""
        self._admission = admission

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Runs go on, and news are pushed, within this block."""
        with suppress(JournalError):
            await self._tasks.revive_all()
        sending = None
        if self._sender is not None:
            # Without `public` only requests say where the server is, and the first client could make it up.
            sender = self._sender(self.card_key, f"{self._public}{JWKS}" if self._public else "")
            sending = asyncio.create_task(sender.run(), name="news of A2A")
        try:
            if self._beside is not None:
                async with self._beside(self.handler, self._admission):
                    yield
            else:
                yield
        finally:
            if sending is not None:
                sending.cancel()
                await asyncio.wait([sending])
            await self._api.work.close(self._drain_s)

    async def end_streams(self) -> None:
        """End the streams: their clients subscribe again. Runs have some seconds left."""
        self._api.work.refuse_new()
        self._tasks.live.end()

    async def card_key(self) -> CardKey:
        """The key that signs."""
        if self._key is None:
            self._key = CardKey.of_secret(await self._secret.get())
        return self._key

    # Cards ------------------------------------------------------------------------------------------------------------

    async def _card_at_root(self, request: Request) -> Response:
        return await self._tell(request, self._first, self._cards.form_for(request))

    async def _old_card_at_root(self, request: Request) -> Response:
        return await self._tell(request, self._first, "original")

    async def _card(self, request: Request) -> Response:
        return await self._tell(request, str(request.path_params["agent"]), self._cards.form_for(request))

    async def _old_card(self, request: Request) -> Response:
        return await self._tell(request, str(request.path_params["agent"]), "original")

    async def _tell(self, request: Request, address: str, form: CardForm) -> Response:
        who, base, key = identity_of(request.scope), self._address(request), await self.card_key()
        wants_keys = await self._cards.wants_keys()
        if address in self._agents:
            agent = self._api.agents.get(address)
            if not agent.is_open:  # the card of any other agent is for everybody, with a key or without
                await self._agent_for(who, address)
            told = self._cards.told(agent, address, base, form, key, wants_keys=wants_keys)
            return self._cards.answer(request, told)
        name = await self._agent_for(who, address)
        try:
            agent = await self._api.agent(who, name)
        except (Refusal, UsageError):  # it is for others, or can not be made now
            raise HttpRefusal(404, "There is no such agent here.") from None
        line = (await self._api.published.agents(who.tenant))[address]
        told = signed_card(self._cards.card(agent, address, base, wants_keys=wants_keys), form, key, base)
        return self._cards.answer(request, told, made_at=line.publication.at)

    async def _jwks(self, request: Request) -> Response:
        return self._cards.answer(request, (await self.card_key()).jwks)

    async def _extended_card(self, asked: A2ARequest) -> pb.AgentCard:
        wants_keys = await self._cards.wants_keys()
        if not wants_keys:
            raise UnsupportedOperationError("There is no extended card: this server wants no keys.")
        agent = await self._tasks.agent(asked)
        # The address of this very request: by the address of another request its sender could send callers elsewhere.
        base = self._public or asked.base
        if not base and not self._cards.lists_grpc:
            raise ExtendedAgentCardNotConfiguredError("The operator has to set the address of this server: `public`.")
        hidden = await agent.runner.hidden_from(Facts.of(asked.who))
        tools = [each for each in await agent.list_tools() if each.name not in hidden]
        return self._cards.card(agent, asked.agent, base, tools, wants_keys=wants_keys)

    # Agents -----------------------------------------------------------------------------------------------------------

    async def _agent_at(self, request: Request) -> str:
        """The name of the agent that a request is for, or of the published workflow of the caller's tenant."""
        return await self._agent_for(identity_of(request.scope), str(request.path_params["agent"]))

    async def _agent_for(self, who: Identity, address: str) -> str:
        """The same by the name in the address.

        Raises:
            HttpRefusal: there is no such agent for this caller.
        """
        is_own = address in self._agents
        if is_own and self._api.lets_in(who, address):
            return address
        published = not is_own and who.may_use("agent", address)
        if not published or address not in await self._api.published.agents(who.tenant):
            raise HttpRefusal(404, "There is no such agent here.")
        return address

    def _address(self, request: Request) -> str:
        """The address of the server as clients write it."""
        return self._public or base_of(request)
