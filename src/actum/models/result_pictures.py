"""Pictures that tools returned, for a model that takes no pictures: a user's picture is asked for, a tool's may come
unasked and must not end the run."""

from __future__ import annotations

import re

from msgspec import structs

from ..core.call import MediaPart, TextPart
from ..core.errors import ModelRejected
from ..core.message import Message, ToolMessage
from ..core.model import Request

_ABOUT_PICTURES = re.compile(r"\bimages?\b|image_url|\bpictures?\b|\bvision\b|multi-?modal", re.IGNORECASE)


def refuses_pictures(request: Request, error: ModelRejected) -> bool:
    """Whether an endpoint refused a request since it holds pictures, and some of them are results of tools."""
    return _ABOUT_PICTURES.search(str(error)) is not None and any(map(_shows, request.messages))


def without_pictures(request: Request) -> Request:
    """The request with a line of text in the place of each picture that a tool returned."""
    return structs.replace(request, messages=[_told(message) for message in request.messages])


def _shows(message: Message) -> bool:
    return isinstance(message, ToolMessage) and any(_is_picture(part) for part in message.result.content)


def _is_picture(part: TextPart | MediaPart) -> bool:
    return isinstance(part, MediaPart) and part.media_type.startswith("image/")


def _told(message: Message) -> Message:
    if not isinstance(message, ToolMessage) or not _shows(message):
        return message
    content = tuple(
        TextPart(part.describe()) if isinstance(part, MediaPart) and _is_picture(part) else part
        for part in message.result.content
    )
    return structs.replace(message, result=structs.replace(message.result, content=content))
