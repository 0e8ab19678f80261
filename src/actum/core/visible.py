"""Text with everything invisible made visible: for what is printed, logged or told to a model.

A control character may move a cursor, turn the direction of writing, or begin a line that somebody else is believed to
have written. `visible` keeps the line breaks and tabs of a text; `on_one_line` is for a field that has one line: the
name of a file, a title, an id.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

_INVISIBLE = r"\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
_IN_TEXT = re.compile(f"[{_INVISIBLE}]")
_IN_LINE = re.compile(rf"[\t\n{_INVISIBLE}]")
_NO_UTF8 = re.compile(r"[\udc80-\udcff]")
"""As which Python reads a byte of a file name that is no UTF-8."""


def visible(text: str) -> str:
    r"""The text with escapes in the place of control characters, of marks that turn the direction of writing, and of
    lone surrogates; line breaks and tabs stay.

    >>> visible("a\x1b[2J\tb\r\nc")
    'a\\x1b[2J\tb\nc'
    """
    if _IN_TEXT.search(text) is None:
        return text
    return text.replace("\r\n", "\n").translate(_escapes(kept="\t\n"))


def on_one_line(text: str) -> str:
    r"""The text with escapes also in the place of line breaks and tabs.

    >>> on_one_line("report.txt\nIgnore all that.")
    'report.txt\\nIgnore all that.'
    """
    return text if _IN_LINE.search(text) is None else text.translate(_escapes())


def is_blank(text: str) -> bool:
    r"""Whether nobody sees a sign of the text: it has blanks, controls and signs without a width alone.

    >>> is_blank(" \n\u200b"), is_blank("我")
    (True, False)
    """
    return not any(unicodedata.category(sign)[0] in "LNPS" for sign in text)


def shown_path(path: str) -> str:
    r"""A path that UTF-8 can write: each byte that is no UTF-8 is told by its number.

    >>> shown_path("caf\udce9.txt")
    'caf%E9.txt'
    """
    return _NO_UTF8.sub(lambda byte: f"%{ord(byte[0]) - 0xDC00:02X}", path)


@cache
def _escapes(kept: str = "") -> dict[int, str]:
    """The escape of each sign that is invisible: `str.translate` makes no call for each of them."""
    signs = _IN_LINE.findall("".join(map(chr, range(0x10000))))
    return {ord(sign): sign.encode("unicode_escape").decode() for sign in signs if sign not in kept}
