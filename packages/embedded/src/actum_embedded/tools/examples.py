"""The values that a description shows: `(e.g., daily, weekly, monthly)`, `such as 'INV-7'`.

They tell what a value looks like, and which one is meant where a question says it. Limits: what is shown in other words
than `e.g.`, `such as` or quotes is not seen, and of a value with a comma in it the parts are taken for values as well.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ..text.lexicon import stem

_SHOWN = re.compile(r"['\"“‘]([^'\"”’]{1,40})['\"”’]")
_SUCH_AS = re.compile(
    r"(?:e\.g\.,?|such as|for example,?|like|including|i\.e\.,?|例如|比如|如)\s*[:：]?\s*"
    r"([^;()（）。]+?)(?=[;()（）。]|\.\s|\.?$)",
    re.IGNORECASE,
)
LONGEST = 40


@lru_cache(maxsize=4096)
def examples(description: str) -> frozenset[str]:
    """The values that it shows, in lower case."""
    found = set(_SHOWN.findall(description))
    for said in _SUCH_AS.findall(description):
        found |= {said, *re.split(r",|、|\bor\b|\band\b|或|和", said)}
    kept = {each.strip(" '\"“”‘’,").lower() for each in found}
    return frozenset(each for each in kept if 0 < len(each) <= LONGEST and each not in _MORE)


_MORE = frozenset({"etc", "etc.", "等", "...", "more", "others"})


@lru_cache(maxsize=4096)
def forms_shown(description: str) -> frozenset[str]:
    """What the values that it shows look like; see `form_of`."""
    return frozenset(form_of(re.sub(r"(?<![a-z])[ymdhs]{2,4}(?![a-z])", "0", each)) for each in examples(description))


def form_of(value: str) -> str:
    """What a value looks like: its words as `a`, its numbers as `0`, and its signs: `a-0` of INV-7."""
    return re.sub(r"\d+", "0", re.sub(r"[^\W\d_]+", "a", value.lower()))


@lru_cache(maxsize=8192)
def stems(text: str) -> tuple[str, ...]:
    """The stems of its words, in their order."""
    return tuple(stem(word.lower()) for word in re.findall(r"\w+", text))
