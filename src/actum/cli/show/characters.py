"""Which characters a stream can show. Light to import: every command asks this first."""

from __future__ import annotations

import codecs
import sys
from typing import TextIO

_ASCII = str.maketrans({"…": "...", "·": "-", "→": "->", "“": '"', "”": '"', "✓": "+", "✗": "x", "—": "-", "×": "x"})


def plain_characters() -> None:
    """Let streams that do not speak Unicode show what they can, instead of failing at the first dash."""
    codecs.register_error("actum", _replace)
    for stream in (sys.stdout, sys.stderr):
        if not speaks_unicode(stream) and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="actum")


def _replace(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    bad = error.object[error.start : error.end].translate(_ASCII)
    return bad.encode("ascii", "backslashreplace").decode(), error.end


def speaks_unicode(stream: TextIO) -> bool:
    """Whether a stream takes every character."""
    return "utf" in (stream.encoding or "").lower()
