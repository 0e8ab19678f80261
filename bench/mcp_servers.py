"""MCP servers and gateways for the benchmark, each a process of its own: `python -m bench.mcp_servers WHAT [URL]`.

All serve one tool that adds two numbers, over Streamable HTTP in both eras of the protocol, or stand in front of the
server at URL that does. The process prints its port and serves until its input ends.
Each loads what it is made of by itself: in the environment of the peer there is no actum.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

import uvicorn


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def sdk_server(_: str) -> Any:
    """The official SDK's own server."""
    from mcp.server import MCPServer

    server = MCPServer("bench", log_level="CRITICAL")
    server.tool()(add)
    return server.streamable_http_app()


def sdk_json_server(_: str) -> Any:
    """The same, answering each request with one JSON body, as ours does, instead of a stream."""
    from mcp.server import MCPServer

    server = MCPServer("bench", log_level="CRITICAL")
    server.tool()(add)
    return server.streamable_http_app(json_response=True)


def sdk_hop(url: str) -> Any:
    """The floor of a gateway: the SDK's low-level server in front of the SDK's client, which stays connected."""
    import mcp_types as types
    from mcp.client.client import Client
    from mcp.server.lowlevel import Server

    @contextlib.asynccontextmanager
    async def connected(_: Server[Client]) -> AsyncIterator[Client]:
        async with Client(url) as client:
            yield client

    async def list_tools(ctx: Any, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        found: types.ListToolsResult = await ctx.lifespan_context.list_tools()
        return found

    async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        found: types.CallToolResult = await ctx.lifespan_context.call_tool(params.name, params.arguments)
        return found

    server = Server(
        "bench",
        lifespan=connected,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        get_tool_input_schema=lambda name: None,
    )
    return server.streamable_http_app()


def actum_server(_: str) -> Any:
    from actum import tool
    from actum.server.mcp.service import McpService

    return McpService([tool(add)]).app()


def actum_sqlite_server(_: str) -> Any:
    """As `actum mcp serve` has it: each call is on disk."""
    from actum import tool
    from actum.server.mcp.service import McpService
    from actum.storage.place import open_journal

    return McpService([tool(add)], journal=open_journal(os.environ["BENCH_JOURNAL"])).app()


def actum_sqlite_gateway(url: str) -> Any:
    from actum.policy.rules import Rules
    from actum.protocols.mcp.config import McpServer
    from actum.server.mcp.gateway.gateway import McpGateway
    from actum.storage.place import open_journal

    journal = open_journal(os.environ["BENCH_JOURNAL"])
    return McpGateway([McpServer(name="behind", url=url)], policy=Rules(default="allow"), journal=journal).app()


def actum_gateway(url: str) -> Any:
    from actum.policy.rules import Rules
    from actum.protocols.mcp.config import McpServer
    from actum.server.mcp.gateway.gateway import McpGateway

    return McpGateway([McpServer(name="behind", url=url)], policy=Rules(default="allow")).app()


def fastmcp_server(_: str) -> Any:
    from fastmcp import FastMCP

    server = FastMCP("bench")
    server.tool(add)
    return server.http_app()


def fastmcp_proxy(url: str) -> Any:
    from fastmcp.server import create_proxy

    return create_proxy(url, name="bench").http_app()


WHAT: dict[str, Callable[[str], Any]] = {
    "sdk server": sdk_server,
    "sdk json server": sdk_json_server,
    "sdk hop": sdk_hop,
    "actum server": actum_server,
    "actum sqlite server": actum_sqlite_server,
    "actum gateway": actum_gateway,
    "actum sqlite gateway": actum_sqlite_gateway,
    "fastmcp server": fastmcp_server,
    "fastmcp proxy": fastmcp_proxy,
}
"""Each makes an ASGI application, given the address of what it stands in front of."""


async def serve(application: Any) -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(128)  # so that whoever reads the port can connect
        print(listening.getsockname()[1], flush=True)
        server = uvicorn.Server(uvicorn.Config(application, log_level="critical", lifespan="on"))
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
        server.should_exit = server.force_exit = True
        await serving


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    asyncio.run(serve(WHAT[sys.argv[1]](sys.argv[2] if len(sys.argv) > 2 else "")))
