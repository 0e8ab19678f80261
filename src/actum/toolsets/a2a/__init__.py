"""Remote agents as tools, by A2A of any version: `A2AToolset("https://agents.example.com/weather")`.

`toolset` makes calls, `connection` speaks to one agent, `error` says what may go wrong, `signing` verifies cards.
"""

from __future__ import annotations

from ...protocols.a2a.remote_agent import RemoteAgent
from .toolset import A2AToolset

__all__ = ["A2AToolset", "RemoteAgent"]
