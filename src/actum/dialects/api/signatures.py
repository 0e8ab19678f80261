"""Whose the opaque token of a thought is, and how one travels through a client that speaks another family's API. Pure.

A signature only goes to an endpoint of the family that made it: to any other it is a forgery, and the whole request is
refused. A client is different: it only keeps what a server said and hands it back. So towards a client a signature of
another family is wrapped (`carried`) into base64 that begins with `actum:`, its family and whether there is a text to
it; when the client hands it back, it is taken out again (`claimed`).
"""

from __future__ import annotations

import base64
import binascii
import re

from msgspec import structs

from ...core.event import ReasoningDelta
from ...core.message import ReasoningPart, Reply, ReplyPart

ANTHROPIC, GEMINI, OPENAI = "anthropic", "gemini", "openai"

_WRAPPED = re.compile(r"actum:(?P<by>[a-z]*):(?P<kind>[a-z]+):(?P<signature>.*)", re.DOTALL)
_BEGINNING = base64.b64encode(b"actum:").decode()


def is_for(thought: ReasoningPart | ReasoningDelta, family: str) -> bool:
    """Whether an endpoint of this family may be sent the signature of a thought."""
    return bool(thought.signature) and thought.by in ("", family)


def carried(thought: ReasoningPart | ReasoningDelta, family: str) -> str:
    """The signature as a client of this family's API is handed it. Only Anthropic's has a word for a redacted one."""
    is_known = thought.by in ("", family) and not (thought.redacted and family != ANTHROPIC)
    if is_known or not thought.signature:
        return thought.signature
    kind = "redacted" if thought.redacted else "told"
    return base64.b64encode(f"actum:{thought.by}:{kind}:{thought.signature}".encode()).decode()


def claimed(reply: Reply) -> Reply:
    """A reply that a client hands back, with the signatures as those who made them know them."""
    if not any(_is_carried(part) for part in reply.content):
        return reply
    return structs.replace(reply, content=tuple([_unwrapped(part) for part in reply.content]))


def _is_carried(part: ReplyPart) -> bool:
    return isinstance(part, ReasoningPart) and part.signature.startswith(_BEGINNING)


def _unwrapped(part: ReplyPart) -> ReplyPart:
    if not isinstance(part, ReasoningPart) or not _is_carried(part):
        return part
    try:  # the official client of Gemini writes the alphabet of URLs
        text = base64.b64decode(part.signature.replace("-", "+").replace("_", "/"), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return part
    found = _WRAPPED.fullmatch(text)
    if found is None:
        return part
    return ReasoningPart(part.text, found["signature"], found["kind"] == "redacted", found["by"])
