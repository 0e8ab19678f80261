"""The tools of the workflow that the guide shows."""

from __future__ import annotations

from actum import tool


@tool(effects={"read"})
def search_flights() -> list[dict[str, str | int]]:
    """Flights of tomorrow."""
    return [{"id": "CA1", "price": 1500}]


@tool(effects={"spend"}, approval=True)
def book_flight(flight: str) -> str:
    """Book a flight."""
    return f"booked {flight}"
