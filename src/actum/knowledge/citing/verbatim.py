"""`VerbatimModel`: shows the passages that answer a question best, word for word and with references.

There is no language model in it. It is a model like any other: it asks for calls of `search` and `quote`, which go the
way of all calls.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence

from msgspec import Struct

from ...core.call import ToolCall
from ...core.event import Delta
from ...core.language.words import COUNTING_SIGNS
from ...core.message import Reply, ToolMessage
from ...core.model import Request
from ..terms import terms_of
from .matching import QUOTE_CHARS_MAX
from .references import reference_of
from .sources import QUOTE

SHOWN = 3
_ENDS = re.compile(r"[.!?](?=\s)|[。！？]|\n")


class FoundWords(Struct, frozen=True):
    """A passage that was found.

    Attributes:
        title: of its document.
        heading: the heading that it is under.
        address: of its document.
        text: its words.
    """

    title: str
    heading: str
    address: str
    text: str


class VerbatimModel:
    """Answers with the best passages.

    Args:
        question: what is asked.
        find: finds the passages of a run that has begun, the best first.
    """

    name = "embedded"

    def __init__(self, question: str, find: Callable[[], Awaitable[Sequence[FoundWords]]]) -> None:
        self._question = question
        self._find = find

    async def reply(self, request: Request, emit: Callable[[Delta], None] | None = None) -> Reply:
        """Search, then quote, then show what was quoted."""
        results = [each.result for each in request.messages if isinstance(each, ToolMessage)]
        if not results:
            return Reply.of(calls=[ToolCall("search", "search", {"query": self._question})])
        found = [each for each in await self._find() if says_more(each, self._question)] if len(results) == 1 else []
        if found:
            words = {each.address: best_words(each, self._question) for each in found[:SHOWN]}
            calls = [
                ToolCall(f"quote_{number}", QUOTE, {"text": text, "source": address})
                for number, (address, text) in enumerate(words.items(), 1)
            ]
            return Reply.of(calls=calls)
        made = [each for result in results[1:] if (each := reference_of(result)) is not None]
        shown = [f"“{' '.join(each.quote.split())}” [{each.number}]" for each in made]
        return Reply.of("\n\n".join(shown) or "Nothing fits.")


def says_more(found: FoundWords, question: str) -> bool:
    """Whether a passage shares more with a question than Chinese signs of numbers and of grammar."""
    shared = terms_of(question).keys() & terms_of(f"{found.title} {found.heading} {found.text}").keys()
    return not shared <= COUNTING_SIGNS


def best_words(found: FoundWords, question: str) -> str:
    """The paragraph of a passage that fits a question best, or its beginning, no longer than a quote may be."""
    wanted = terms_of(question)
    paragraphs = [each for each in found.text.split("\n\n") if " ".join(each.split()) != found.heading] or [found.text]
    best = max(paragraphs, key=lambda each: sum(term in terms_of(each) for term in wanted))
    if len(best) <= QUOTE_CHARS_MAX:
        return best
    ends = [each.end() for each in _ENDS.finditer(best, 0, QUOTE_CHARS_MAX)]
    return best[: ends[-1] if ends else best.rfind(" ", 0, QUOTE_CHARS_MAX)]
