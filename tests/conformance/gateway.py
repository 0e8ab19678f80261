"""A gateway in front of one server or several, for the conformance suite and the tests of the gateway.

`python -m tests.conformance.gateway FD URL [ERA]`, or `NAME=URL,NAME=URL` for several servers; FD is the number of a
listening socket. With `keys` as a fourth word a client shows who it is: `Bearer ` and the name of a user, three times;
the servers are told that name in the header `x-user`. A fifth word is the file of what was approved.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import cast

import uvicorn

from actum.core.identity import Identity
from actum.policy.rules import Rule, Rules
from actum.protocols.mcp.config import McpEra, McpServer
from actum.server.access import LOCAL, Access
from actum.server.mcp.gateway.gateway import McpGateway
from actum.storage.pins import PinStore
from tests.server_process import inherited


class Names:
    """Takes whoever says a name three times for that user."""

    async def verify_token(self, token: str) -> Identity | None:
        name = token[: len(token) // 3]
        return Identity(principal=name, key_id=name) if name * 3 == token else None


async def main(number: str, url: str, era: str = "auto", keys: str = "", pins: str = "") -> None:
    servers = []
    headers = {"x-user": "${secret:USER}"} if keys else {}
    for part in url.split(","):
        name, _, address = part.rpartition("=")
        servers.append(McpServer(name=name or "behind", url=address, era=cast(McpEra, era), headers=headers))
    policy = Rules(Rule("deny", tools="*forbidden"), Rule("ask", tools="*sign"), default="allow")
    gateway = McpGateway(
        servers,
        name="gateway",
        policy=policy,
        pins=PinStore(Path(pins)) if pins else None,
        secrets=lambda user: {"USER": user.principal},
    )
    application = gateway.app(access=Access(verifier=Names()) if keys else LOCAL)
    await uvicorn.Server(uvicorn.Config(application, log_level="error", timeout_keep_alive=240)).serve(
        [inherited(number)]
    )


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
