"""What passages and questions are compared by: words as they are written, and of Chinese, Japanese and Thai runs pairs
of signs and single signs. Words have no stems here: what a document says is cited letter for letter.
"""

from __future__ import annotations

from collections import Counter

from ..core.language.words import STOP_SIGNS, STOP_WORDS, pairs_of, runs_of, split_name

WHOLE, NAMED = 2, 5
"""What a word counts in a passage, and in its title and heading: 1 and 2.5, as whole numbers."""
SATURATION, BY_LENGTH = 1.2 * WHOLE, 0.75
"""As in `core.stored.word_index.Found.scores`, where each word of a text weighs `WHOLE`."""
QUESTION_TERMS_MAX = 64


def terms_of(text: str) -> Counter[str]:
    """The terms of a text, each with how often it is there, without those that say nothing.

    >>> sorted(terms_of("How are hotels paid? 酒店"))
    ['hotels', 'paid', '店', '酒', '酒店']
    """
    terms: Counter[str] = Counter()
    for dense, run in runs_of(text):
        if dense:
            if len(run) > 1:
                terms.update(
                    pair for pair in pairs_of(run) if pair not in STOP_WORDS and not STOP_SIGNS.issuperset(pair)
                )
            terms.update(sign for sign in run if sign not in STOP_SIGNS)
        else:
            terms.update(word for word in split_name(run) if word not in STOP_WORDS)
    return terms


def weighed(text: str, *names: str) -> Counter[str]:
    """The terms of a passage.

    Args:
        text: its words.
        names: title and heading.
    """
    terms = Counter({term: WHOLE * count for term, count in terms_of(text).items()})
    for name in names:
        for term, count in terms_of(name).items():
            terms[term] += NAMED * count
    return terms


def asked_for(question: str) -> list[str]:
    """The terms of a question; empty where no word says anything."""
    return list(terms_of(question))[:QUESTION_TERMS_MAX]
