"""The weather tool, once. The ways differ in how a model gets to it."""

from __future__ import annotations

from actum import tool
from actum.core.json import Json
from actum.toolsets.function import FunctionTool
from examples.local_services.client import ask


def weather_tool(url: str) -> FunctionTool:
    """The tool, given the address of the weather service."""

    @tool(effects={"read"})
    async def weather(city: str) -> Json:
        """Look up today's weather of a city.

        Args:
            city: its name.
        """
        return await ask(url, "weather", city=city)

    return weather
