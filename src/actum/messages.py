"""What a conversation is made of: messages and their parts, and the request that a model gets.

    from actum.messages import MediaPart, Reply, UserMessage

A program needs these names to attach media to a question, to bring its own history (`Agent.run(..., messages=[...])`),
and to write a model of its own. The classes are made in `actum.core`. Programs import them from here.
"""

from .core.call import MediaPart, TextPart
from .core.message import Message, ReasoningPart, RefusalPart, Reply, SystemMessage, ToolMessage, Usage, UserMessage
from .core.model import Request

__all__ = [
    "MediaPart",
    "Message",
    "ReasoningPart",
    "RefusalPart",
    "Reply",
    "Request",
    "SystemMessage",
    "TextPart",
    "ToolMessage",
    "Usage",
    "UserMessage",
]
