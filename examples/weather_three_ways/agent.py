"""The weather agent, behind A2A: asked in words, it calls the weather tool and answers with the result."""

from __future__ import annotations

import re

from starlette.types import ASGIApp

from actum import Agent, ToolCall
from actum.compose.serving import open_doors
from actum.compose.settings import Settings
from actum.core.identity import Identity
from actum.journal.memory import MemoryJournal
from actum.messages import Request, ToolMessage, UserMessage
from actum.server.api.api import GivenAgents
from actum.server.web_application import WebApplication, WebApplicationSettings
from actum.testing import Said, ScriptedModel
from actum.toolsets.function import FunctionTool


def script(request: Request) -> Said:
    """What stands in for the model of the weather agent."""
    last = request.messages[-1]
    if isinstance(last, ToolMessage):
        return last.result.text
    asked = last.text if isinstance(last, UserMessage) else ""
    found = re.search(r"weather in (\w+)", asked)
    return ToolCall("1", "weather", {"city": found[1]}) if found else "Of which city?"


def weather_agent(tool: FunctionTool) -> ASGIApp:
    """The agent, as `actum serve` serves agents."""
    journal = MemoryJournal()
    agent = Agent(ScriptedModel(script), [tool], name="weather", journal=journal)
    doors = open_doors(Settings(), [tool], GivenAgents({"weather": agent}), journal, Identity())
    return WebApplication(doors, WebApplicationSettings()).app
