"""The weather tool as an MCP server by its pipes: `python server.py WEATHER_SERVICE [JOURNAL]`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from actum.server import McpService
from actum.storage.sqlite import SQLiteJournal

sys.path.insert(0, str(Path(__file__).parents[2]))  # it is started as a file, from any folder

from examples.weather_three_ways.weather import weather_tool


async def serve(url: str, journal: str = "") -> None:
    """Serve until the host leaves."""
    opened = SQLiteJournal(Path(journal)) if journal else None
    await McpService([weather_tool(url)], name="weather", journal=opened).run_stdio()
    if opened is not None:
        await opened.close()


if __name__ == "__main__":
    asyncio.run(serve(*sys.argv[1:]))
