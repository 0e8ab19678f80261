"""Values in XML and HTML: as text between tags, or within a quoted attribute. Anywhere else they have no place."""

from __future__ import annotations

import html
import re

from .part import Given, NoPlace, Parts, check_count

_TOKEN = re.compile(
    r"<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<\?.*?(?:\?>|\Z)"
    r"|<(?:[^<>\"']|\"[^\"]*(?:\"|\Z)|'[^']*(?:'|\Z))*(?:>|\Z)|[^<]+|<",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(r"<(?!!|\?)(?:[^\"']|\"[^\"]*\"|'[^']*')*?\s([\w:.-]+)\s*=\s*(\"[^\"]*|'[^']*)", re.DOTALL)
_SCRIPTED = re.compile(r"(?i)on\w+|style|srcdoc")
_NAME = re.compile(r"<\s*(/?)\s*([A-Za-z][\w:.-]*)")
_NO_TEXT = frozenset({"script", "style", "iframe", "noscript", "xmp", "noembed", "noframes", "plaintext"})
"""Elements of HTML whose content is no text with entities."""
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
TAGS_MAX = 100_000
"""Words of the author, and values that are declared as markup, may have so many marks of tags before a value."""
_ELSEWHERE = "expected the value between tags, or within a quoted attribute"


def bind_markup(parts: Parts, *, is_html: bool = False) -> str:
    """A text of XML or HTML.

    Raises:
        NoPlace: a value can not stand at its place.

    >>> bind_markup(['<a title="', Given.of('"x"'), '">', Given.of("<b>"), "</a>"])
    '<a title="&quot;x&quot;">&lt;b&gt;</a>'
    """
    check_count(parts)
    written: list[str] = []
    place = _Place(is_html=is_html)
    values_left = sum(1 for part in parts if isinstance(part, Given) and part.encoded != "raw")
    tags_left = TAGS_MAX
    for part in parts:
        if not isinstance(part, Given) or part.encoded == "raw":
            text = part if isinstance(part, str) else part.text
            if values_left:  # else nothing needs to know where the text has come to
                tags_left -= text.count("<")
                if tags_left < 0:
                    raise NoPlace(f"expected at most {TAGS_MAX} tags before the value")
                place.read(text)
            written.append(text)
            continue
        values_left -= 1
        place.check()
        if _CONTROL.search(part.text):
            raise NoPlace("expected text without control characters")
        written.append(html.escape(part.text, quote=True))
    return "".join(written)


class _Place:
    """Where a text of markup has come to.

    Args:
        is_html: elements and attributes of HTML have contents with grammars of their own.
    """

    def __init__(self, *, is_html: bool) -> None:
        self._is_html = is_html
        self._open = ""
        self._element = ""

    def read(self, text: str) -> None:
        """Go on by words of the author."""
        tokens = _TOKEN.findall(self._open + text)
        self._open = ""
        for at, token in enumerate(tokens):
            if not token.startswith("<"):
                continue
            if at == len(tokens) - 1 and not _is_whole(token):
                self._open = token
                return
            name = _NAME.match(token)
            if name is None or not self._is_html or name[2].lower() not in _NO_TEXT:
                continue
            if not name[1] and not self._element:
                self._element = name[2].lower()
            elif name[1] and name[2].lower() == self._element:
                self._element = ""

    def check(self) -> None:
        """Whether a text can stand here.

        Raises:
            NoPlace: no.
        """
        if self._element:
            raise NoPlace(_ELSEWHERE)
        if not self._open:
            return
        found = _ATTRIBUTE.fullmatch(self._open)
        if found is None or (self._is_html and _SCRIPTED.fullmatch(found[1])):
            raise NoPlace(_ELSEWHERE)
        name = _NAME.match(self._open)
        self._open = f"<{name[2] if name is not None else 'a'} {found[1]}={found[2][0]}"  # short, however many follow


def _is_whole(token: str) -> bool:
    for opening, closing in (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")):
        if token.startswith(opening):
            return token.endswith(closing) and len(token) >= len(opening) + len(closing)
    bare = re.sub(r"\"[^\"]*\"|'[^']*'", "", token)
    return bare.endswith(">")
