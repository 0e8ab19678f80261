"""The text of bytes: by a mark at their beginning, by what the document says of itself, then by what they look like."""

from __future__ import annotations

import codecs

from resiliparse.parse.encoding import bytes_to_str, detect_encoding

from .page import UnreadableDocument

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def decoded(data: bytes, *, html: bool = False) -> str:
    """The text.

    Args:
        data: the bytes.
        html: a `meta` element near the beginning may name the charset.

    Raises:
        UnreadableDocument: it is no text.
    """
    for mark, name in _MARKS:
        if data.startswith(mark):
            return data[len(mark) if name == "utf-8" else 0 :].decode(name, "replace")
    named = detect_encoding(data, from_html_meta=True) if html and b"charset" in data[:1024].lower() else None
    if named is None:
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            pass
        else:
            return _checked(text)
        named = detect_encoding(data) or "cp1252"
    try:
        return _checked(str(bytes_to_str(data, named, fallback_encodings=("utf-8", "cp1252"))))
    except LookupError:
        return _checked(data.decode("cp1252", "replace"))


def _checked(text: str) -> str:
    if text.count("\0") > len(text) // 1_000:
        raise UnreadableDocument("broken")
    return text
