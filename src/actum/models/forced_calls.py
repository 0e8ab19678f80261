"""A demand to call a tool, for an endpoint that refuses such demands: models that think often do."""

from __future__ import annotations

import re

from msgspec import structs

from ..core.errors import ModelRejected
from ..core.message import Message, SystemMessage
from ..core.model import Request
from ..core.tool import AllowedTools, ToolChoice, is_demand
from ..dialects.text.wording import describe_wishes, language_of

_ABOUT_CHOICE = re.compile(
    r"tool.?choice|tool.?config|function.?calling.?config|forced? (?:a )?tool|force[sd]? tool", re.IGNORECASE
)


def refuses_demand(request: Request, error: ModelRejected) -> bool:
    """Whether an endpoint refused a request since it demands a call."""
    return is_demand(request.tool_choice) and _ABOUT_CHOICE.search(str(error)) is not None


def said_instead(request: Request) -> Request:
    """The request with the demand said behind the instructions."""
    wish = structs.replace(request, parallel_calls=None, output_schema=None)
    said = "\n".join(describe_wishes(wish, language_of(request.messages)))
    choice = request.tool_choice
    left: ToolChoice = AllowedTools(choice.names) if isinstance(choice, AllowedTools) else "auto"
    first, *others = request.messages
    opening: list[Message] = [SystemMessage(said), first]
    if isinstance(first, SystemMessage):
        opening = [SystemMessage(f"{first.text}\n\n{said}")]
    return structs.replace(request, messages=[*opening, *others], tool_choice=left)
