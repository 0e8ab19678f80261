from __future__ import annotations

from examples.weather_three_ways import main as example


async def test_each_way_gives_the_same_answer() -> None:
    measured = await example.side_by_side(times=1)
    assert list(measured) == ["function", "MCP by pipes", "MCP over HTTP", "A2A agent"]
    assert {answer for answer, _ in measured.values()} == {"It is cloudy in Boston, at 12 °C."}
