"""The crawler as an MCP server: `python -m examples.crawler.server SITE [PORT]`, at http://127.0.0.1:PORT/sse.

It speaks the old HTTP+SSE there, which many configurations still name, and Streamable HTTP at /mcp.
"""

from __future__ import annotations

import sys
from pathlib import Path

import uvicorn
from starlette.applications import Starlette

from actum.server import McpService

sys.path.insert(0, str(Path(__file__).parents[2]))  # so that it also runs as a file

from examples.crawler.crawl import crawler

PORT = 9000


def service(site: str) -> Starlette:
    """The crawler of one site, for any ASGI server."""
    return McpService(crawler(site), name="crawler").app(sse=True)


def main() -> None:
    """Serve for ever."""
    site, port = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else PORT
    uvicorn.run(service(site), host="127.0.0.1", port=port, log_level="warning", timeout_keep_alive=75)


if __name__ == "__main__":
    main()
