"""References as annotations of type `url_citation`, in the answers of Chat Completions and Responses. Pure.

Sources: the reference of OpenAI's API for both, `annotations` of a message and of `output_text`.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....core.json import Json
from ....knowledge.citing.answer import places_cited
from ....knowledge.citing.references import QuoteReference


def annotations_of(text: str, references: Sequence[QuoteReference]) -> list[Json]:
    """Where a text cites references, as the Responses API tells it.

    Args:
        text: the answer.
        references: those of its run.
    """
    known = {each.number: each for each in references}
    return [
        {
            "type": "url_citation",
            "start_index": start,
            "end_index": end,
            "title": known[number].title,
            "url": known[number].address,
        }
        for number, start, end in places_cited(text)
        if number in known
    ]


def message_annotations(text: str, references: Sequence[QuoteReference]) -> list[Json]:
    """Where a text cites references, as Chat Completions tells it; the arguments are as for `annotations_of`."""
    found = annotations_of(text, references)
    return [{"type": each.pop("type"), "url_citation": each} for each in found if isinstance(each, dict)]
