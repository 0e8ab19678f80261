"""HTML as a page: the whole text, in the order of the document, without what a browser would not show.

Hidden elements are those that say so themselves, by `hidden` or by their own `style`. Style sheets are not carried out.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser

from resiliparse.parse.html import DOMContext, ElementNode, HTMLTree, TextNode, traverse_dom

from .charset import decoded
from .page import DocumentPage, Mark, PageWriter

_UNSEEN = (
    "applet area audio canvas datalist embed frame frameset head iframe map math meta noembed noframes noscript object "
    "param script style svg template title video"
)
_PARTED = (
    "address article aside blockquote body center dd details dialog dir div dl dt fieldset figcaption figure footer "
    "form header hgroup hr html legend main menu nav p pre search section summary table tbody tfoot thead"
)
_ENDLESS = "area base br col embed frame hr img input link meta param source track wbr"
"""Elements in which nothing stands."""
_LEFT_OUT, _BLOCKS, _VOID = (frozenset(each.split()) for each in (_UNSEEN, _PARTED, _ENDLESS))
_DEPTH_MAX = 100
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_LINES = frozenset(("br", "caption", "li", "option", "tr"))
_HIDDEN = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|(?:^|[;\s])opacity\s*:\s*0*\.?0*\s*(?:;|!|$)|"
    r"font-size\s*:\s*0*\.?0*(?:[a-z%]+)?\s*(?:;|!|$)|content-visibility\s*:\s*hidden",
    re.IGNORECASE,
)


def read_html(data: bytes) -> DocumentPage:
    """The page of an HTML document."""
    writer = PageWriter()
    write_html(writer, decoded(data, html=True))
    return writer.page()


def write_html(writer: PageWriter, text: str) -> None:
    """Write the text of an HTML document onto a page."""
    tree = HTMLTree.parse(text)
    writer.title = writer.title or tree.title or ""
    root = tree.body or tree.document
    if root is not None:
        walk = _Walk(writer)
        traverse_dom(root, walk.enter, walk.leave)


class _Walk:
    """The way through a document."""

    def __init__(self, writer: PageWriter) -> None:
        self._writer = writer
        self._hidden_at = -1
        self._marks: dict[int, Mark] = {}
        self._lists: list[int] = []
        self._pre = 0

    def enter(self, context: DOMContext) -> None:
        if self._hidden_at >= 0 and context.depth > self._hidden_at:
            return
        self._hidden_at = -1  # the end of some elements, such as `template`, is not told
        node = context.node
        if isinstance(node, TextNode):
            (self._writer.exactly if self._pre else self._writer.words)(node.value or "")
        elif isinstance(node, ElementNode):
            tag = (node.tag or "").lower()
            if _is_hidden(tag, node.getattr("style"), is_marked=node.hasattr("hidden")):
                self._hidden_at = context.depth
            else:
                self._open(tag, context.depth)

    def _open(self, tag: str, depth: int) -> None:
        writer = self._writer
        if tag in _BLOCKS:
            writer.block()
        elif tag in _LINES:
            writer.line()
        if tag == "pre":
            self._pre += 1
        elif tag in ("ol", "ul"):
            self._lists.append(0 if tag == "ol" else -1)
            writer.line() if len(self._lists) > 1 else writer.block()
        elif tag == "li":
            number = self._lists[-1] if self._lists else -1
            if number >= 0:
                self._lists[-1] = number + 1
            writer.words("- " if number < 0 else f"{number + 1}. ")
            self._marks[depth] = writer.begin()
        elif tag in ("td", "th"):
            if depth in self._marks:  # another cell of the row stands before
                writer.words(" | ")
            self._marks[depth] = writer.begin()
        elif tag == "tr":
            self._marks.pop(depth + 1, None)
        elif tag == "a":
            self._marks[depth] = writer.begin()
        elif tag in _HEADINGS:
            writer.block()
            self._marks[depth] = writer.begin()

    def leave(self, context: DOMContext) -> None:
        depth = context.depth
        if 0 <= self._hidden_at <= depth:
            return
        self._hidden_at = -1
        node = context.node
        if not isinstance(node, ElementNode):
            return
        tag, writer = (node.tag or "").lower(), self._writer
        if tag == "pre":
            self._pre -= 1
        elif tag in ("ol", "ul"):
            self._lists.pop()
        if tag == "a":
            writer.end_link(self._marks.pop(depth), (node.getattr("href") or "").strip())
        elif tag in ("td", "th"):
            writer.end_unit(self._marks[depth])
        elif tag == "li":
            writer.end_unit(self._marks.pop(depth))
            writer.line()
        elif tag in _HEADINGS:
            writer.end_heading(self._marks.pop(depth), _HEADINGS[tag])
        elif tag in _BLOCKS:
            writer.block()
        elif tag == "tr":
            writer.line()


def _is_hidden(tag: str, style: str | None, *, is_marked: bool) -> bool:
    """Whether nobody sees an element: by its kind, by its own style, or by `hidden`."""
    return tag in _LEFT_OUT or is_marked or (style is not None and _HIDDEN.search(style) is not None)


class HiddenPart(HTMLParser):
    """Follows the tags of HTML that stands piece by piece between other text, and knows whether they hide that text.

    Attributes:
        tag: the element that hides what comes next; empty for none.
        depth: how many elements of this kind are open.
    """

    def __init__(self) -> None:
        super().__init__()
        self.tag, self.depth = "", 0

    @property
    def begins(self) -> str:
        """HTML that hides what stands behind it, as the tags until here do."""
        return f"<{self.tag} hidden>" * min(self.depth, _DEPTH_MAX)

    def follow(self, html: str) -> None:
        """Take the next piece."""
        self.feed(html)
        self.close()
        self.reset()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self.tag:
            self.depth += tag == self.tag
        elif tag not in _VOID and _is_hidden(tag, dict(attrs).get("style"), is_marked="hidden" in dict(attrs)):
            self.tag, self.depth = tag, 1

    def handle_endtag(self, tag: str) -> None:
        if tag == self.tag:
            self.depth -= 1
            self.tag = self.tag if self.depth else ""
