"""A world to log in to: a real authorization server, a real resource server, and a browser that follows links."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from actum.core.errors import CallError
from actum.core.user import User
from actum.protocols.mcp.config import McpAuth
from actum.server.issuer import Issuer as Trusted
from actum.server.issuer import SignedTokens
from actum.storage.tokens import TokenStore
from actum.testing import FakeClock
from actum.toolsets.login import LoginFailed
from actum.toolsets.mcp.auth import OAuth
from tests.issuer import Issuer
from tests.patience import HANGS_S
from tests.web import listening, place, serving

CALLBACK = "http://127.0.0.1:9/callback"


@dataclass
class Resource:
    """A server that wants tokens.

    Attributes:
        needed: the scopes that it wants now.
        resource, issuers: what its metadata says; empty for the truth, None for no metadata.
        hint: it says where its metadata is.
        seen: the tokens that came.
    """

    verifier: SignedTokens
    url: str
    issuer: str
    needed: tuple[str, ...] = ("read",)
    resource: str = ""
    issuers: tuple[str, ...] | None = ()
    hint: str = ""
    status: int = 0
    seen: list[str] = field(default_factory=list)

    def app(self) -> Starlette:
        metadata = Route("/.well-known/oauth-protected-resource/mcp", self._metadata)
        return Starlette(routes=[Route("/mcp", self._answer, methods=["POST"]), metadata])

    async def _metadata(self, request: Request) -> Response:
        if self.issuers is None:
            return Response(status_code=404)
        body = {"resource": self.resource or self.url, "authorization_servers": list(self.issuers or (self.issuer,))}
        return JSONResponse(body, self.status or 200)

    async def _answer(self, request: Request) -> Response:
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        self.seen.append(token)
        identity = await self.verifier.verify_token(token) if token else None
        hint = f', resource_metadata="{self.hint}"' if self.hint else ""
        scope = f'scope="{" ".join(self.needed)}"' if self.needed else 'realm="tools"'
        if identity is None:
            return Response(status_code=401, headers={"www-authenticate": f"Bearer {scope}{hint}"})
        if not set(self.needed) <= set(identity.scopes):
            error = f'Bearer error="insufficient_scope", {scope}{hint}'
            return Response(status_code=403, headers={"www-authenticate": error})
        return JSONResponse({"principal": identity.principal})


class Browser:
    """Somebody who logs in at once. `before` can change where the browser ends."""

    redirect_uri = CALLBACK

    def __init__(self, before: Callable[[str], str] = str) -> None:
        self.opened: list[str] = []
        self._before = before

    async def authorize(self, url: str) -> str:
        self.opened.append(url)
        async with httpx2.AsyncClient(timeout=HANGS_S) as client:
            return self._before((await client.get(url)).headers["location"])


@dataclass
class World:
    clock: FakeClock
    issuer: Issuer
    server: Resource
    store: TokenStore

    def oauth(
        self,
        person: Browser | None = None,
        auth: McpAuth | None = None,
        user: str = "",
        tenant: str = "",
        **secrets: str,
    ) -> OAuth:
        return OAuth(
            self.server.url,
            self.store,
            auth=auth,
            name="tools",
            user=User(tenant, user),
            secrets=secrets,
            person=person,
            clock=self.clock,
        )

    async def call(self, oauth: OAuth, **headers: str) -> int:
        async with httpx2.AsyncClient(auth=oauth, timeout=HANGS_S) as client:
            return (await client.post(self.server.url, json={"method": "x"}, headers=headers)).status_code


@contextlib.asynccontextmanager
async def worlds(tmp_path: Path, metadata_path: str = "") -> AsyncIterator[World]:
    clock = FakeClock()
    issuer = Issuer(clock)
    issuer.metadata_path = metadata_path or issuer.metadata_path
    listener = listening()
    url = f"{place(listener)}/mcp"
    async with serving(issuer.app()) as issuer.url:
        verifier = SignedTokens(Trusted(url=issuer.url, audience=url, jwks_uri=f"{issuer.url}/jwks"), clock=clock)
        server = Resource(verifier, url, issuer.url)
        async with serving(server.app(), listener):
            yield World(clock, issuer, server, TokenStore(tmp_path / "tokens.json"))


async def fails(call: Awaitable[object], kind: type[CallError] = LoginFailed) -> str:
    with pytest.raises(kind) as raised:
        await call
    return str(raised.value)
