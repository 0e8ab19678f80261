"""Which turns of a user answer a question best: a pure function over the scores of single turns.

A turn is short, and what it is about is often said in the turn before or behind it. So a turn lends a part of its score
to its neighbours in the conversation, the best turns of a conversation lift all of its turns, and what was said in a
span of time that the question names is lifted too. Scores of another source can be added to those of the words.

The constants are chosen on the conversations 1, 3, 5, 7 and 9 of LoCoMo and shown on the others: `bench/memory.py`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping
from heapq import nlargest

from msgspec import Struct

from .spans import TimeSpan

BEST = 64
"""The turns with the best scores lend to others and are ranked, with their neighbours: at most this number."""
SATURATION, BY_LENGTH = 1.0, 0.3
"""As in `core.stored.word_index.Found.scores`."""
TO_NEIGHBOURS = (0.5, 0.2)
"""What a turn lends to the turns beside it, and to those beside these."""
TO_CONVERSATION, BEST_OF_CONVERSATION = 0.3, 3
"""What a conversation gives to each of its turns: a part of the mean score of its best turns."""
IN_SPAN = 1.6
"""What the score of a turn in a span of time is multiplied by."""


class Occasion(Struct, frozen=True):
    """Where and when a turn was said.

    Attributes:
        conversation: the conversation; empty for a turn that stands alone.
        at: in seconds since 1970.
    """

    conversation: str
    at: float


def best(scores: Mapping[int, float]) -> list[int]:
    """The turns that are ranked, by their numbers: those with the best scores, the earliest of equal ones first."""
    return nlargest(BEST, scores, key=lambda number: (scores[number], -number))


def ranked(
    scores: Mapping[int, float],
    said: Mapping[int, Occasion],
    conversations: Mapping[str, list[int]],
    spans: Collection[TimeSpan] = (),
) -> list[tuple[int, float]]:
    """Turns by their numbers, the best first, each with its score.

    Args:
        scores: how well each turn fits by itself.
        said: where and when the turns of `best` were said. One that is missing is left out.
        conversations: the numbers of all turns of each conversation, in order.
        spans: the spans of time that the question names.
    """
    said = {number: said[number] for number in best(scores) if number in said}
    whole = {number: scores[number] for number in said}
    near = dict(said)
    tops: dict[str, list[float]] = {}
    for number, where in said.items():
        tops.setdefault(where.conversation, []).append(scores[number])
        turns = conversations.get(where.conversation, ())
        place = bisect_left(turns, number)
        if turns[place : place + 1] != [number]:
            continue
        for far, part in enumerate(TO_NEIGHBOURS, start=1):
            for other in (turns[at] for at in (place - far, place + far) if 0 <= at < len(turns)):
                whole[other] = whole.get(other, scores.get(other, 0.0)) + part * scores[number]
                near.setdefault(other, where)
    for number, where in near.items():
        if where.conversation:
            lifting = nlargest(BEST_OF_CONVERSATION, tops.get(where.conversation, ()))
            whole[number] += TO_CONVERSATION * sum(lifting) / BEST_OF_CONVERSATION
        if any(span.holds(where.at) for span in spans):
            whole[number] *= IN_SPAN
    return sorted(whole.items(), key=lambda each: (-each[1], each[0]))
