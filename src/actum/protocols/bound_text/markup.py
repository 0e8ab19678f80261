"""Values in XML and HTML: as text between tags, or within a quoted attribute. Anywhere else they have no place.

An attribute of HTML that holds an address, such as `href`, has the grammar of an address: each value in it is bound by
that grammar first. A value that leads to code, such as `javascript:...`, is refused.
"""

from __future__ import annotations

import html
import re

from .address import bind_link
from .part import Given, NoPlace, Part, Parts, check_count

_TOKEN = re.compile(
    r"<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<\?.*?(?:\?>|\Z)"
    r"|<(?:[^<>\"']|\"[^\"]*(?:\"|\Z)|'[^']*(?:'|\Z))*(?:>|\Z)|[^<]+|<",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(r"<(?!!|\?)(?:[^\"']|\"[^\"]*\"|'[^']*')*?\s([\w:.-]+)\s*=\s*(\"[^\"]*|'[^']*)", re.DOTALL)
_SCRIPTED = re.compile(r"(?i)on\w+|style|srcdoc|srcset|imagesrcset|ping|archive")
"""Attributes of HTML with a grammar of their own: scripts, styles, documents, and lists of addresses."""
_LINK = re.compile(
    r"(?i)(?:xlink:)?href|src|(?:form)?action|data|poster|cite|background|longdesc|manifest|codebase|classid|profile"
)
"""Attributes of HTML that hold an address."""
_REFRESH = re.compile(r"(?i)\shttp-equiv\s*=")
_NAME = re.compile(r"<\s*(/?)\s*([A-Za-z][\w:.-]*)")
_NO_TEXT = frozenset({"script", "style", "iframe", "noscript", "xmp", "noembed", "noframes", "plaintext"})
"""Elements of HTML whose content is no text with entities."""
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
TAGS_MAX = 100_000
"""The most marks of tags before a value, in the author's words and in values that are declared as markup."""
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
    place, link = _Place(is_html=is_html), _Link()
    values_left = sum(1 for part in parts if isinstance(part, Given) and part.encoded != "raw")
    tags_left = TAGS_MAX
    for part in parts:
        if not isinstance(part, Given) or part.encoded == "raw":
            text = part if isinstance(part, str) else part.text
            if values_left or place.is_in_content:  # else nothing needs to know where the text has come to
                tags_left -= text.count("<")
                if tags_left < 0:
                    raise NoPlace(f"expected at most {TAGS_MAX} tags before the value")
                place.read(text)
            link.go_on(part, text, written)
            written.append(text)
            continue
        values_left -= 1
        began = place.check()
        if _CONTROL.search(part.text):
            raise NoPlace("expected text without control characters")
        link.add(part, len(written), began)
        written.append(html.escape(part.text, quote=True))
    link.end(written)
    return "".join(written)


class _Link:
    """The values in one attribute that holds an address. They are bound when the attribute has come to its end."""

    def __init__(self) -> None:
        self._quote = ""
        self._parts: list[Part] = []
        self._places: list[int] = []

    def add(self, value: Given, place: int, began: str) -> None:
        """A value in an attribute.

        Args:
            value: the value.
            place: where in the text the value is written.
            began: the quote of the attribute, and the words behind it; empty where the attribute holds no address.
        """
        if not self._quote and began:
            self._quote = began[0]
            self._parts = [html.unescape(began[1:])] if began[1:] else []
        if self._quote:
            self._places.append(place)
            self._parts.append(value)

    def go_on(self, part: Part, text: str, written: list[str]) -> None:
        """Go on by words of the author."""
        if not self._quote:
            return
        inside, quote, _ = text.partition(self._quote)
        if inside:
            self._parts.append(html.unescape(inside) if isinstance(part, str) else part)
        if quote:
            self.end(written)

    def end(self, written: list[str]) -> None:
        """Bind the values of the attribute.

        Raises:
            NoPlace: one of them can not stand at its place.
        """
        if self._places:
            texts = (text for text, part in zip(bind_link(self._parts), self._parts, strict=True) if _is_value(part))
            for place, text in zip(self._places, texts, strict=True):
                written[place] = html.escape(text, quote=True)
        self._quote, self._parts, self._places = "", [], []


def _is_value(part: Part) -> bool:
    return isinstance(part, Given) and part.encoded != "raw"


class _Place:
    """Where a text of markup has come to.

    Args:
        is_html: elements and attributes of HTML have contents with grammars of their own.

    Attributes:
        is_in_content: a value is in `content` of a `meta` whose other attributes may still come.
    """

    def __init__(self, *, is_html: bool) -> None:
        self._is_html = is_html
        self._open = ""
        self._element = ""
        self.is_in_content = False

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
            if self.is_in_content and _REFRESH.search(token):
                raise NoPlace(_ELSEWHERE)
            self.is_in_content = False
            name = _NAME.match(token)
            if name is None or not self._is_html or name[2].lower() not in _NO_TEXT:
                continue
            if not name[1] and not self._element:
                self._element = name[2].lower()
            elif name[1] and name[2].lower() == self._element:
                self._element = ""

    def check(self) -> str:
        """Whether a text can stand here.

        Returns:
            In an attribute that holds an address, its quote and the words behind the quote; empty in any other place.

        Raises:
            NoPlace: no.
        """
        if self._element:
            raise NoPlace(_ELSEWHERE)
        if not self._open:
            return ""
        found = _ATTRIBUTE.fullmatch(self._open)
        if found is None or (self._is_html and _SCRIPTED.fullmatch(found[1])):
            raise NoPlace(_ELSEWHERE)
        name = _NAME.match(self._open)
        tag = name[2] if name is not None else "a"
        if self._is_html and (tag.lower(), found[1].lower()) == ("meta", "content"):
            if _REFRESH.search(self._open):
                raise NoPlace(_ELSEWHERE)
            self.is_in_content = True
        self._open = f"<{tag} {found[1]}={found[2][0]}"  # short, however many follow
        return found[2] if self._is_html and _LINK.fullmatch(found[1]) else ""


def _is_whole(token: str) -> bool:
    for opening, closing in (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")):
        if token.startswith(opening):
            return token.endswith(closing) and len(token) >= len(opening) + len(closing)
    bare = re.sub(r"\"[^\"]*\"|'[^']*'", "", token)
    return bare.endswith(">")
