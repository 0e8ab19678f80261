"""The tool of the agent: it runs on the server, and the program in Node.js does not know of it."""

from __future__ import annotations

from actum import tool


@tool(effects={"read"})
def get_air_quality(city: str) -> str:
    """Get the quality of the air of a city.

    Args:
        city: Name of the city.
    """
    return {"Fuzhou": "good (31)", "Beijing": "moderate (88)"}.get(city, "not known")
