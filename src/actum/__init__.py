"""actum: what a language model says, done. Any model, any tool, one call path, everything on record.

    from actum import Agent, tool

    @tool
    def add(a: int, b: int) -> int:
        '''Add two numbers.'''
        return a + b

    print(Agent("embedded", tools=[add]).run_sync("What is 2 + 3?").text)

Importing this loads no server, no HTTP client and no database.
"""

from typing import TYPE_CHECKING

from .agents.agent import Agent
from .call.limits.limits import Limits, ToolLimits, UserLimits
from .core.attachment import Audio, File, Image, Video
from .core.budget import Price
from .core.call import ToolCall, ToolResult
from .core.errors import ActumError, ToolError
from .core.interfaces import Answer, Context, Toolset
from .core.model_settings import ModelSettings
from .core.redacted_log import redact_logs
from .core.tool import Tool
from .models.catalog import open_model
from .policy.file import PolicyFile
from .policy.rules import Require, Rule, Rules
from .toolsets.function.function import tool

if TYPE_CHECKING:
    from .dialects.transcode.messages import read_messages
    from .dialects.transcode.transcode import Transcoder, transcode

__all__ = [
    "ActumError",
    "Agent",
    "Answer",
    "Audio",
    "Context",
    "File",
    "Image",
    "Limits",
    "ModelSettings",
    "PolicyFile",
    "Price",
    "Require",
    "Rule",
    "Rules",
    "Tool",
    "ToolCall",
    "ToolError",
    "ToolLimits",
    "ToolResult",
    "Toolset",
    "Transcoder",
    "UserLimits",
    "Video",
    "open_model",
    "read_messages",
    "redact_logs",
    "tool",
    "transcode",
]


def __getattr__(name: str) -> object:
    if name in ("Transcoder", "read_messages", "transcode"):
        from .dialects import transcode as room  # noqa: PLC0415  # an agent has no need of these

        return getattr(room, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
