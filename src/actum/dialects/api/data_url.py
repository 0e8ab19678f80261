"""Media in JSON: as a `data:` URL (RFC 2397) with base64, or as the URL where they are. Pure."""

from __future__ import annotations

import base64
import binascii
import re

from ...core.call import MediaPart
from ...core.errors import UsageError

_HEAD = re.compile(r"data:(?P<type>[^;,]*)(?:;[^,]*)?;base64,", re.IGNORECASE)


def base64_text(part: MediaPart) -> str:
    """The bytes of a part as base64."""
    return base64.b64encode(part.data).decode()


def data_url(part: MediaPart) -> str:
    """The bytes of a part as a URL."""
    return f"data:{part.media_type};base64,{base64_text(part)}"


def media_of_url(url: str, default_type: str, name: str, place: str) -> MediaPart:
    """The part that a URL of either kind stands for.

    Args:
        url: `data:` with base64, or `http(s):`.
        default_type: MIME type where the URL does not tell it.
        name: of the file.
        place: where in a request it stands, for the error.

    Raises:
        UsageError: it is no such URL.
    """
    head = _HEAD.match(url)
    if head is not None:
        return MediaPart(head["type"] or default_type, base64_bytes(url[head.end() :], place), name=name)
    if url.startswith(("http://", "https://")):
        return MediaPart(default_type, url=url, name=name)
    raise UsageError("{place}: a data: URL with base64 or an http(s) URL was expected", place=place)


def base64_bytes(text: str, place: str) -> bytes:
    """The bytes behind base64.

    Raises:
        UsageError: it is none.
    """
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise UsageError("{place}: it is not base64", place=place) from None
