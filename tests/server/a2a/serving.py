"""A whole server with agents, keys and A2A, as `actum serve` puts one together, and its callers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx
from a2a.client import ClientConfig, create_client
from a2a.client.client import Client
from a2a.types import a2a_pb2 as pb

from actum import Agent
from actum.compose.serving import Serving, open_doors
from actum.compose.settings import Settings
from actum.compose.tables.serve import A2ATable, ServeSettings
from actum.core.interfaces import Journal
from actum.core.model import Model
from actum.server import Access, Identity
from actum.server.api.api import GivenAgents
from actum.server.scopes import ALL_SCOPES
from tests.patience import HANGS_S
from tests.server.api.application import ANN, BOB, Bank, NoDrop, answering
from tests.web import serving

NORTH = Identity(principal="ann", tenant="north", key_id="k-north", scopes=ALL_SCOPES)
ROOT = Identity(principal="ann", key_id="k-root", scopes=ALL_SCOPES)
OWN = Identity(principal="ann", key_id="k-own", personal=True, scopes=ALL_SCOPES)
CALLERS: Mapping[str, Identity] = {"ann": ANN, "bob": BOB, "north": NORTH, "root": ROOT, "own": OWN}
NEW = {"a2a-version": "1.0"}


class KnownCallers:
    """The keys of the callers are their names."""

    async def verify_token(self, token: str) -> Identity | None:
        """Whose key this is."""
        return CALLERS.get(token)


class A2AServer:
    """A server of A2A.

    Attributes:
        url: the origin where it is.
        client: sends requests.
        bank: the tools of the agent.
        journal: its journal.
        clients: whatever sends requests to it.
    """

    def __init__(self, url: str, client: httpx.AsyncClient, bank: Bank, journal: Journal) -> None:
        self.url = url
        self.client = client
        self.bank = bank
        self.journal = journal
        self.clients = [client]

    @property
    def rpc(self) -> str:
        """The address of JSON-RPC."""
        return f"{self.url}/a2a/desk"

    async def ask(
        self, method: str, params: object, *, who: str = "ann", path: str = "", headers: Mapping[str, str] = NEW
    ) -> dict[str, Any]:
        """What a method of JSON-RPC answers."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = await self.client.post(
            f"{self.rpc}{path}", json=body, headers={"authorization": f"Bearer {who}", **headers}
        )
        told: dict[str, Any] = answer.json()
        return told

    async def ask_stream(self, method: str, params: object, *, who: str = "ann") -> str:
        """A whole stream of a method of JSON-RPC."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = await self.client.post(self.rpc, json=body, headers={"authorization": f"Bearer {who}", **NEW})
        return answer.text

    async def sdk(self, *bindings: str, who: str = "ann", streaming: bool = False) -> Client:
        """The official client."""
        http = httpx.AsyncClient(headers={"authorization": f"Bearer {who}"}, timeout=HANGS_S)
        self.clients.append(http)
        config = ClientConfig(httpx_client=http, streaming=streaming, supported_protocol_bindings=list(bindings))
        return await create_client(self.url, client_config=config)


def said(text: str, id_: str = "m1", *, task: str = "", context: str = "") -> pb.SendMessageRequest:
    """A message."""
    parts = [pb.Part(text=text)]
    message = pb.Message(message_id=id_, role=pb.ROLE_USER, parts=parts, task_id=task, context_id=context)
    return pb.SendMessageRequest(message=message)


def spoken(text: str, id_: str = "m1", **more: object) -> dict[str, Any]:
    """The parameters of a message of 1.0."""
    return {"message": {"messageId": id_, "role": "ROLE_USER", "parts": [{"text": text}], **more}}


def error_of(told: dict[str, Any]) -> int:
    """The code of an error."""
    code = told["error"]["code"]
    assert isinstance(code, int)
    return code


@asynccontextmanager
async def a2a_server(
    model: Model | None = None,
    *,
    journal: Journal,
    bank: Bank | None = None,
    table: A2ATable | None = None,
    agents: Sequence[Agent[object]] = (),
    public: str = "",
    private: Sequence[str] = (),
) -> AsyncIterator[A2AServer]:
    """A server whose first agent is called `desk`."""
    bank = bank or Bank()
    desk = Agent(model or answering("Hello."), bank.tools, name="desk", journal=journal, policy=NoDrop())  # type: ignore[arg-type]
    named = {agent.name: agent for agent in [desk, *agents]}
    serve = ServeSettings(a2a=table or A2ATable(), public=public)
    settings = Settings(serve=serve)
    if private:
        settings = Settings(serve=serve, egress=type(settings.egress)(private=tuple(private)))
    verifier = KnownCallers()
    doors = open_doors(settings, bank.tools, GivenAgents(named), journal, Identity(), verifier=verifier)  # type: ignore[arg-type]
    application = Serving(doors, serve, Access(verifier=verifier), journal=journal).application
    async with serving(application.app) as url, httpx.AsyncClient(timeout=HANGS_S) as client:
        it = A2AServer(url, client, bank, journal)
        yield it
        for each in it.clients:
            await each.aclose()
