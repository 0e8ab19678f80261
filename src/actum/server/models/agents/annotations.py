"""References as annotations of type `url_citation`, in the whole answers of Chat Completions and Responses. Pure.

Sources: the reference of OpenAI's API for both, `annotations` of a message and of `output_text`.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....core.json import Json, JsonObject
from ....knowledge.citing.answer import places_cited
from ....knowledge.citing.references import QuoteReference


def annotations_of(text: str, references: Sequence[QuoteReference]) -> list[Json]:
    """Where a text cites references.

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


def annotate_message(body: JsonObject, references: Sequence[QuoteReference]) -> None:
    """Put the annotations into the messages of a whole answer of Chat Completions."""
    choices = body.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        message = choice.get("message") if isinstance(choice, dict) else None
        if isinstance(message, dict) and isinstance(text := message.get("content"), str):
            found = annotations_of(text, references)
            message["annotations"] = [
                {"type": each.pop("type"), "url_citation": each} for each in found if isinstance(each, dict)
            ]


def annotate_output(response: JsonObject, references: Sequence[QuoteReference]) -> None:
    """Put the annotations into the texts of a whole response of the Responses API."""
    items = response.get("output")
    for item in items if isinstance(items, list) else ():
        parts = item.get("content") if isinstance(item, dict) else None
        for part in parts if isinstance(parts, list) else ():
            if isinstance(part, dict) and isinstance(text := part.get("text"), str):
                part["annotations"] = annotations_of(text, references)
