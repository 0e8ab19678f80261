"""What of a text counts when texts are looked for: words, and of languages without spaces pairs of signs.

Pure, and knows nothing of an index: the texts may be tools of a catalog, what a user said, or documents. The language
of a text is not guessed.

    text  ->  runs of letters and digits  ->  words; a name of a program (`getUserById`) is several words as well
                                          ->  of Chinese, Japanese, Thai and the like: pairs of signs side by side, and
                                              of Chinese single signs

`terms_of` makes terms for `core.stored.word_index` of a text: words by their English stems, without words that say
nothing. `written_words` takes words as they are written, and all of them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, lru_cache

WORD_CHARS_MAX = 64
"""Of a longer word, such as a key or a digest, only the beginning counts."""
STEMS_KEPT = 20_000
_RUN = re.compile(r"[^\W_]+")
_DENSE = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff]+"
)
"""Signs of languages that are written without spaces."""
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
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


def terms_of(text: str) -> Counter[str]:
    """The terms of a text, each with how often it is there: stems of words, pairs of signs, and single Chinese signs.
    Those that say nothing are left out.

    >>> sorted(terms_of("Which projects did I mention? 我养了一只猫"))
    ['mention', 'project', '一只', '养', '养了', '只', '只猫', '我养', '猫']
    """
    terms: Counter[str] = Counter()
    for dense, run in runs_of(text):
        if dense:
            signs = _HAN.findall(run)
            pairs = pairs_of(run) if [run] != signs else ()
            terms.update(pair for pair in pairs if pair not in STOP_WORDS and not STOP_SIGNS.issuperset(pair))
            terms.update(sign for sign in signs if sign not in STOP_SIGNS)
        else:
            terms.update(stem(word) for word in split_name(run) if word not in STOP_WORDS)
    return terms


def written_words(text: str) -> list[str]:
    """The words of a text in small letters, each once, in their order; of languages without spaces pairs of signs, and
    single Chinese signs.

    >>> written_words("Pay Ada, pay! 付款")
    ['pay', 'ada', '付款', '付', '款']
    """
    found: dict[str, None] = {}
    for dense, run in runs_of(text):
        words = [*pairs_of(run), *_HAN.findall(run)] if dense else split_name(run)
        found.update(dict.fromkeys(words))
    return list(found)


def pairs_of(run: str) -> list[str]:
    """The pairs of signs side by side in a run of a language without spaces; of a single sign, the sign itself."""
    return [run[at : at + 2] for at in range(len(run) - 1)] or [run]


def is_sign(term: str) -> bool:
    """Whether a term is a single Chinese sign, which says less than a pair."""
    return len(term) == 1 and _HAN.match(term) is not None


@lru_cache(STEMS_KEPT)
def stem(word: str) -> str:
    """A word in small letters without its English ending: `projects`, `project`."""
    return _stemmer()(word)


@cache
def _stemmer() -> Callable[[str], str]:
    import snowballstemmer  # noqa: PLC0415  # takes 0.1 s to load, and is needed with the first index

    stems: Callable[[str], str] = snowballstemmer.stemmer("english").stemWord
    return stems


_SAYING_NOTHING = """
a about above after again all also am an and any are as at be because been before being below between both but by can
could did do does doing down during each either few for from further had has have having he her here hers him his how i
if in into is it its just me more most my no nor not now of off on once only or other our out over own please same she
should so some such than that the their them then there these they this those through to too under until up very was we
were what when where which while who whom whose why will with would you your
什么 怎么 如何 请问 请帮 帮我 一下 可以 我的 我要 我想 给我 一个 这个 那个 哪个 哪些 多少 是否 能否 不能 有没 没有
"""
STOP_WORDS = frozenset(_SAYING_NOTHING.split())
"""Words, and pairs of signs, that a question holds whatever it is about."""
STOP_SIGNS = frozenset(
    "我你您他她它们的了是在有和与就都也还又不没很吗呢吧啊呀嘛么这那哪什一个些会能可以要说想请把被让给到去来上下里为从对所其之而或但如果因"
)
"""Chinese signs that say nothing by themselves; a pair of two such signs says nothing either."""
COUNTING_SIGNS = frozenset("一二两三四五六七八九十百千万多少等于者")
"""Single signs of numbers and of grammar that a text may share with a question about something else."""
