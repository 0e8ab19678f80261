"""actum: what a language model says, done. Any model, any tool, one call path, everything on record.

    from actum import Agent, tool

    @tool
    def add(a: int, b: int) -> int:
        '''Add two numbers.'''
        return a + b

    print(Agent("embedded", tools=[add]).run_sync("What is 2 + 3?").text)

Importing this loads nothing else: each name is loaded when it is asked for, without a server, an HTTP client or a
database.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .agents.agent import Agent
    from .agents.gates import Answered
    from .call.limits.limits import Limits, ToolLimits, UserLimits
    from .core.attachment import Audio, File, Image, Video
    from .core.budget import Price
    from .core.call import ToolCall, ToolResult
    from .core.errors import ActumError, ToolError
    from .core.interfaces import Context, Toolset
    from .core.model_settings import ModelSettings
    from .core.policy import Answer, Defence
    from .core.secrets.redacted_log import redact_logs
    from .core.tool import Tool
    from .dialects.transcode.messages import read_messages
    from .dialects.transcode.transcode import Transcoder, transcode
    from .models.catalog import open_model
    from .policy.file import PolicyFile
    from .policy.labels import Label
    from .policy.mandate import Mandate
    from .policy.rules import Require, Rule, Rules
    from .toolsets.function.function import tool

__all__ = [
    "ActumError",
    "Agent",
    "Answer",
    "Answered",
    "Audio",
    "Context",
    "Defence",
    "File",
    "Image",
    "Label",
    "Limits",
    "Mandate",
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

_PLACES = {
    "ActumError": "core.errors",
    "Agent": "agents.agent",
    "Answer": "core.policy",
    "Answered": "agents.gates",
    "Audio": "core.attachment",
    "Context": "core.interfaces",
    "Defence": "core.policy",
    "File": "core.attachment",
    "Image": "core.attachment",
    "Label": "policy.labels",
    "Limits": "call.limits.limits",
    "Mandate": "policy.mandate",
    "ModelSettings": "core.model_settings",
    "PolicyFile": "policy.file",
    "Price": "core.budget",
    "Require": "policy.rules",
    "Rule": "policy.rules",
    "Rules": "policy.rules",
    "Tool": "core.tool",
    "ToolCall": "core.call",
    "ToolError": "core.errors",
    "ToolLimits": "call.limits.limits",
    "ToolResult": "core.call",
    "Toolset": "core.interfaces",
    "Transcoder": "dialects.transcode.transcode",
    "UserLimits": "call.limits.limits",
    "Video": "core.attachment",
    "open_model": "models.catalog",
    "read_messages": "dialects.transcode.messages",
    "redact_logs": "core.secrets.redacted_log",
    "tool": "toolsets.function.function",
    "transcode": "dialects.transcode.transcode",
}


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(f".{_PLACES[name]}", __name__), name)
    globals()[name] = found
    return found
