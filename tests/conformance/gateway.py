"""A gateway in front of one server or several, for the conformance suite and the tests of the gateway.

`python -m tests.conformance.gateway PORT URL [ERA]`, or with `NAME=URL` for each of several servers.
"""

from __future__ import annotations

import asyncio
import sys
from typing import cast

import uvicorn

from actum.call.authorize import Rules
from actum.protocols.mcp_config import McpEra, McpServer
from actum.server.mcp_gateway import McpGateway


async def main(port: str, url: str, era: str = "auto") -> None:
    servers = []
    for part in url.split(","):
        name, _, address = part.rpartition("=")
        servers.append(McpServer(name=name or "behind", url=address, era=cast(McpEra, era)))
    gateway = McpGateway(servers, name="gateway", policy=Rules(default="allow"))
    config = uvicorn.Config(gateway.app(), host="127.0.0.1", port=int(port), log_level="error")
    try:
        await uvicorn.Server(config).serve()
    finally:
        await gateway.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
