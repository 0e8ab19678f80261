"""What the routes for models need of an object that answers with an agent. See `Executor`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from starlette.responses import Response
from starlette.routing import BaseRoute

from ...core.identity import Identity
from .request import ModelRequest


class Executor(Protocol):
    """Answers by an agent of this server, whole or streamed."""

    @property
    def routes(self) -> Sequence[BaseRoute]:
        """Further paths, such as `GET /v1/responses/{id}`; they come before the paths of the door itself. Where an
        endpoint is wrapped in `door.in_its_form`, the errors that it raises are told in the form of the API."""

    async def answer(self, asked: ModelRequest, agent: str) -> Response:
        """Answer a request.

        Args:
            asked: the request of a caller who may use the agent.
            agent: the name of the agent.

        Returns:
            The answer; for a stream a `StreamingResponse`, which the door sends and whose end the door waits for.

        Raises:
            ActumError: why there is no answer. The door writes the error in the form of the API.
            Refused: likewise, with headers.
        """

    def lets_in(self, who: Identity, agent: str) -> bool:
        """Whether a caller may use an agent of this name: for all others there is no such agent."""

    async def published(self, who: Identity) -> Sequence[str]:
        """The names of the agents that the caller's tenant has published, and that the caller may use."""

    async def has_published(self, name: str, who: Identity) -> bool:
        """Whether such an agent has this name."""

    def know_names(self, agent_of: Callable[[str, Identity], Awaitable[str]]) -> None:
        """Hear what the names of models mean, for requests at further paths that name a model.

        Args:
            agent_of: the name of the agent that a model's name means for a caller; raises UnknownName where the name
                means none.
        """

    def lifespan(self) -> AbstractAsyncContextManager[None]:
        """What has to be open while the server runs."""

    async def end_streams(self) -> None:
        """The server stops: end open streams."""
