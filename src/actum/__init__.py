"""actum: what a language model says, done. Any model, any tool, one call path, everything on record.

    from actum import Agent, tool

    @tool
    def add(a: int, b: int) -> int:
        '''Add two numbers.'''
        return a + b

    print(Agent("embedded", tools=[add]).run_sync("What is 2 + 3?").text)

Importing this loads no server, no HTTP client and no database.
"""

from .agents.agent import Agent
from .call.authorize import Require, Rule, Rules
from .call.limit import Limits
from .core.attachment import Audio, File, Image, Video
from .core.call import ToolCall, ToolResult
from .core.errors import ActumError, ToolError
from .core.interfaces import Answer, Context, Toolset
from .core.tool import Tool
from .toolsets.function import tool

__all__ = [
    "ActumError",
    "Agent",
    "Answer",
    "Audio",
    "Context",
    "File",
    "Image",
    "Limits",
    "Require",
    "Rule",
    "Rules",
    "Tool",
    "ToolCall",
    "ToolError",
    "ToolResult",
    "Toolset",
    "Video",
    "tool",
]
