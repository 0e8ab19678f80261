"""`actum dialects`: the ways to say a call, and what each tells a model of a tool."""

from __future__ import annotations

from typing import cast

from ..core.interfaces import Request
from ..core.json import Json, parse
from ..core.message import SystemMessage, UserMessage
from ..core.tool import Tool
from ..dialects import dialect, names
from .options import JsonFlag
from .terminal import Terminal

AUTO = "auto"
LINES = {
    AUTO: "by the API where the endpoint is known or found to call tools, else by the prompt",
    "openai_chat": "native: tools and tool_calls of the Chat Completions API",
    "openai_functions": "native, as it was in 2023: functions and function_call",
    "prompt_json": 'in the prompt: the model writes {"tool": ..., "params": {...}}',
    "react": "in the prompt: Thought, Action, Action Input, Observation, Answer",
}
"""Each in a line. `auto` is no dialect but the choice of one."""


def dialects(as_json: JsonFlag = False) -> None:
    """List the ways a model can say a call."""
    terminal = Terminal()
    found = [AUTO, *names()]
    if as_json:
        terminal.json([{"name": name, "line": LINES[name]} for name in found])
    else:
        terminal.table("dialect", "how a model says a call", rows=[(name, LINES[name]) for name in found])


def as_told(tool: Tool, name: str) -> Json:
    """What a model is told of a tool in this dialect: the fields of an API's request, or the text of a prompt.

    Raises:
        UnknownName: there is no such dialect.
    """
    request = Request(messages=[UserMessage.of("?")], tools=(tool,))
    told = dialect(name).encode_request(request)
    if isinstance(told, bytes):
        body = cast("dict[str, Json]", parse(told)[0])
        return {field: body[field] for field in ("tools", "functions") if field in body}
    return "\n\n".join(message.text for message in told.messages if isinstance(message, SystemMessage))
