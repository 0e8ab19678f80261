"""The text of a reply, as dialects without parts of their own for media and refusals write it. Pure."""

from __future__ import annotations

from ..core.call import MediaPart, TextPart
from ..core.message import RefusalPart, Reply


def spoken(reply: Reply, *, refusal: bool = False) -> str:
    """The text of a reply, with or without its refusal, media described."""
    kinds = TextPart | MediaPart | RefusalPart if refusal else TextPart | MediaPart
    parts = [part for part in reply.content if isinstance(part, kinds)]
    return "".join([part.describe() if isinstance(part, MediaPart) else part.text for part in parts])
