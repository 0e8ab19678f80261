"""What of a text counts when texts are looked for: words, and of languages without spaces pairs of signs.

Pure, and knows nothing of an index: the texts may be tools of a catalog, what a user said, or documents. The language
of a text is not guessed. An index that wants stems makes them of `split_name`.

    text  ->  runs of letters and digits  ->  words; a name of a program (`getUserById`) is several words as well
                                          ->  of Chinese, Japanese, Thai and the like: signs in a row, as pairs
"""

from __future__ import annotations

import re
from collections.abc import Iterator

WORD_CHARS_MAX = 64
"""Of a longer word, such as a key or a digest, only the beginning counts."""
_RUN = re.compile(r"[^\W_]+")
_DENSE = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff]+"
)
"""Signs of languages that are written without spaces."""
_CAPITALS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def split_name(run: str) -> list[str]:
    """The words of one run of letters and digits, in small letters: those between its capitals, and the whole.

    >>> split_name("TimeZones"), split_name("weather")
    (['time', 'zones', 'timezones'], ['weather'])
    """
    whole = run.casefold()[:WORD_CHARS_MAX]
    if run.islower() or run.istitle():
        return [whole]
    parts = _CAPITALS.split(run)
    return [*(part.casefold()[:WORD_CHARS_MAX] for part in parts), whole] if len(parts) > 1 else [whole]


def runs_of(text: str) -> Iterator[tuple[bool, str]]:
    """The runs of letters and digits, each with whether its language is written without spaces.

    >>> list(runs_of("get_weather 查询天气"))
    [(False, 'get'), (False, 'weather'), (True, '查询天气')]
    """
    if _DENSE.search(text) is None:  # most texts: ten times as fast
        for run in _RUN.findall(text):
            yield False, run
        return
    for found in _RUN.finditer(text):
        at, run = 0, found.group()
        for dense in _DENSE.finditer(run):
            if dense.start() > at:
                yield False, run[at : dense.start()]
            yield True, dense.group()
            at = dense.end()
        if at < len(run):
            yield False, run[at:]


_SAYING_NOTHING = """
a about above after again all also am an and any are as at be because been before being below between both but by can
could did do does doing down during each few for from further had has have having he her here hers him his how i if in
into is it its just me more most my no nor not now of off on once only or other our out over own please same she should
so some such than that the their them then there these they this those through to too under until up very was we were
what when where which while who whom why will with would you your
什么 怎么 如何 请问 请帮 帮我 一下 可以 我的 我要 我想 给我 一个 这个 那个 哪个 哪些 多少 是否 能否 不能 有没 没有
"""
STOP_WORDS = frozenset(_SAYING_NOTHING.split())
"""Words, and pairs of signs, that a question holds whatever it is about."""
