"""Finds the words of a quote in a text, in one piece and letter for letter. Pure.

Made one before they are compared, on both sides: white space, width (NFKC), quotation marks, dashes. Left out on both
sides: soft hyphens, signs without width, hyphens at the end of a line within a word, marks of links and of footnotes.
The case of the first letter and a last `.`, `,`, `;` or `。` do not count. What is found is a part of the text itself.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

from msgspec import Struct
from rapidfuzz import fuzz

from ..reading.page import TextSpan

QUOTE_CHARS_MAX = 600
WORDS_MIN, SIGNS_MIN = 4, 8
"""A quote from a document has this many words, or Chinese signs, or is a whole cell, heading, item or paragraph."""
NEAREST_CHARS = 300
_SKIPPED = re.compile(
    "[\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]"  # nobody sees them
    r"|[【〔](?:link )?\d{1,4}[】〕]|\[(?:\d{1,3}|[a-z]|\*)\]"  # marks of links and of footnotes
    r"|(?<=[^\W\d_])[-\u2010]\n\s*(?=[a-z\u00df-\u00ff])"  # a word that goes on in the next line
)
_SAME = str.maketrans(
    {
        **dict.fromkeys("“”„‟«»「」『』〝〞″", '"'),
        **dict.fromkeys("‘’‚‛`´′", "'"),
        **dict.fromkeys("‐‑‒–—―−﹘﹣", "-"),
    }
)
_DENSE = re.compile("[\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef]")
_WORD = re.compile(r"[^\W_]+")
_HAN = re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_LAST = ".,;。，；"


class ComparedText(Struct, frozen=True):
    """A text as quotes are compared with it.

    Attributes:
        text: the signs that count.
        places: for each of them, the place in the text itself.
    """

    text: str
    places: Sequence[int]

    @classmethod
    def of(cls, text: str) -> ComparedText:
        """The signs of a text that count."""
        signs: list[str] = []
        places: list[int] = []
        at = 0
        for gap in [*(each.span() for each in _SKIPPED.finditer(text)), (len(text), len(text))]:
            for place in range(at, gap[0]):
                _take(text[place], place, signs, places)
            at = gap[1]
        while signs and signs[-1] == " ":
            signs.pop()
            places.pop()
        return cls("".join(signs), places)


def _take(sign: str, place: int, signs: list[str], places: list[int]) -> None:
    """Add a sign as it is compared. A blank beside a Chinese sign does not count: lines are broken there."""
    if sign.isascii() and not sign.isspace() and sign != "`":
        made = sign
    else:
        made = unicodedata.normalize("NFKC", sign).translate(_SAME)
    for each in made:
        if each.isspace():
            if signs and signs[-1] != " " and not _DENSE.match(signs[-1]):
                signs.append(" ")
                places.append(place)
            continue
        if signs and signs[-1] == " " and _DENSE.match(each):
            signs.pop()
            places.pop()
        signs.append(each)
        places.append(place)


def find_quote(quote: str, text: str) -> TextSpan | None:
    """The first part of a text that a quote is; None where its words do not stand there in one piece.

    >>> text = 'The “period of notice” is three\\nmonths.'
    >>> (found := find_quote('the "period of notice" is three months', text)), text[found.start : found.end][-6:]
    (TextSpan(start=0, end=38), 'months')
    """
    return next(found_in(quote, ComparedText.of(text)), None)


def found_in(quote: str, text: ComparedText) -> Iterator[TextSpan]:
    """All parts of a text that a quote is."""
    wanted = ComparedText.of(quote).text.strip(" ")
    if wanted and wanted[-1] in _LAST:
        wanted = wanted[:-1].rstrip(" ")
    if not wanted:
        return
    first, whole, length = wanted[0].casefold(), text.text, len(wanted)
    at = whole.find(wanted[1:], 1)
    while at > 0 and at - 1 + length <= len(whole):
        start = at - 1
        if whole[start].casefold() == first and _is_whole(whole, start, start + length):
            yield TextSpan(text.places[start], text.places[start + length - 1] + 1)
        at = whole.find(wanted[1:], at + 1)


def _is_whole(text: str, start: int, end: int) -> bool:
    """Whether no word or number goes on before or behind a part of a text."""
    if start and _goes_on(text[start - 1], text[start]):
        return False
    if start > 1 and text[start].isdigit() and text[start - 1] in ".,-" and text[start - 2].isdigit():
        return False
    if end < len(text) and _goes_on(text[end - 1], text[end]):
        return False
    return not (end + 1 < len(text) and text[end - 1].isdigit() and text[end] in ".,-" and text[end + 1].isdigit())


def _goes_on(one: str, other: str) -> bool:
    if not (one.isalnum() and other.isalnum()):
        return False
    if one.isdigit() or other.isdigit():
        return one.isdigit() == other.isdigit() or not (_HAN.match(one) or _HAN.match(other))
    return not (_HAN.match(one) or _HAN.match(other))


def says_enough(text: str, span: TextSpan, units: Sequence[TextSpan]) -> bool:
    """Whether a part of a document is enough to back something: four words, eight Chinese signs, or a whole unit."""
    quote = text[span.start : span.end]
    signs = len(_HAN.findall(quote))
    if signs >= SIGNS_MIN or len(_WORD.findall(_HAN.sub(" ", quote))) + (signs + 1) // 2 >= WORDS_MIN:
        return True
    bare = _bare(quote)
    for unit in units:
        if unit.start > span.start:
            break
        if unit.end >= span.end and _bare(text[unit.start : unit.end]) == bare:
            return True
    before, behind = text[: span.start].rstrip(" "), text[span.end :].lstrip(" " + _LAST)
    return (not before or before.endswith("\n\n")) and (not behind or behind.startswith("\n\n"))


def _bare(text: str) -> str:
    return text.strip().rstrip(_LAST).strip()


def nearest(quote: str, text: str) -> str:
    """The passage of a text that comes nearest to a quote; empty where the text is empty."""
    if not text.strip() or not quote.strip():
        return ""
    found = fuzz.partial_ratio_alignment(quote, text)
    if found is None:
        return ""
    middle = (found.dest_start + found.dest_end) // 2
    start, end = max(0, middle - NEAREST_CHARS // 2), min(len(text), middle + NEAREST_CHARS // 2)
    while start and not text[start - 1].isspace() and not _HAN.match(text[start]):
        start -= 1
    while end < len(text) and not text[end].isspace() and not _HAN.match(text[end - 1]):
        end += 1
    return " ".join(text[start:end].split())


def sentence_around(text: str, span: TextSpan) -> str:
    """The sentence or line around a part of a text, to be read."""
    ends = re.compile(r"(?<=[.!?])\s|[。！？]|\n\n")
    start, end = max(0, span.start - QUOTE_CHARS_MAX), min(len(text), span.end + QUOTE_CHARS_MAX)
    before = [each.end() for each in ends.finditer(text, start, span.start)]
    behind = ends.search(text, max(span.end - 1, 0), end)
    last = end if behind is None else behind.start() + (text[behind.start()] in "。！？")
    return " ".join(text[before[-1] if before else start : max(last, span.end)].split())
