"""The packing server: an agent as an MCP server, whose tool is another MCP server. `python packing.py WEATHER_SERVICE
FOLDER`, by its pipes; it starts the weather server for itself.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from actum import Agent, ToolCall
from actum.messages import Request, ToolMessage
from actum.server import McpService
from actum.storage.sqlite import SQLiteJournal
from actum.testing import Said, ScriptedModel
from actum.toolsets.mcp import McpServer, McpToolset

sys.path.insert(0, str(Path(__file__).parents[2]))  # it is started as a file, from any folder

WEATHER = str(Path(__file__).parents[1] / "weather_three_ways" / "server.py")


def script(request: Request) -> Said:
    """What stands in for the packing agent's model."""
    last = request.messages[-1]
    if not isinstance(last, ToolMessage):
        return ToolCall("1", "weather_weather", {"city": last.text.rpartition(" ")[2]})
    found = json.loads(last.result.text)
    return (
        f"It is {found['weather']} in {found['city']}: take {'an umbrella' if 'rain' in found['weather'] else 'a hat'}."
    )


async def serve(url: str, folder: Path) -> None:
    """Serve until the host leaves."""
    weather = McpServer(
        name="weather", command=sys.executable, args=(WEATHER, url, str(folder / "weather.db")), trusted=True
    )
    journal = SQLiteJournal(folder / "packing.db")
    async with McpToolset(weather, wait_s=60) as toolset:
        packer = Agent(ScriptedModel(script), [toolset], name="packer", journal=journal)
        tool = packer.as_tool(description="Says what to pack for a city.")
        await McpService([tool], name="packing", journal=journal).run_stdio()
    await journal.close()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], Path(sys.argv[2])))
