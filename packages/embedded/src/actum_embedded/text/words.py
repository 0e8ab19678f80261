"""Text cut into words, and words into what they may be found by: concepts, stems, and pairs of Chinese characters.

A Chinese sentence is cut by longest match against the lexicon; what no word of the lexicon covers stays together as a
*chunk*, which is what names look like: 周杰伦|生日|那天|北京|的|天气.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import cache, lru_cache
from itertools import pairwise
from typing import NamedTuple

from .lexicon import HAN, Meaning, is_han, lexicon, stem, table, wordset
from .meanings import cut, glosses, is_word

_PIECE = re.compile(rf"[{HAN}]+|[^\W\d_{HAN}]+(?:['’][^\W\d_{HAN}]+)?|\d+|[^\w\s]|_")
LETTER = r"[A-Za-z0-9_\u00b5\u00c0-\u00ff]"
"""A letter, digit or `_` of a Western word: where a Chinese character touches one, it ends. Those of Latin-1 alone,
since a larger class takes milliseconds to compile, and it stands in hundreds of patterns.
"""

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class Token(NamedTuple):
    """A word where it stands.

    Attributes:
        kind: `word` (Latin letters and the like), `known` (a Chinese word of the lexicon), `chunk` (Chinese that is
            not), `number` or `sign`.
    """

    text: str
    start: int
    end: int
    kind: str

    @property
    def functional(self) -> bool:
        """It says nothing of what is asked for: `the`, `please`, `的`, a comma."""
        return self.kind == "sign" or bare(self.text) in lexicon().function_words


class Term(NamedTuple):
    """Something by which a text may be found.

    Attributes:
        key: `#weather` for a concept, else a stem, a Chinese word or a pair of characters.
        weight: how surely the text means it, 0 to 1.
        start, end: the words that say it.
    """

    key: str
    weight: float
    start: int
    end: int


def tokenize(text: str, breaks: Collection[int] = ()) -> list[Token]:
    """The words, numbers and signs of a text, in order.

    Args:
        text: the text.
        breaks: places where a word ends for certain, because a date or a formula begins or ends there.
    """
    tokens: list[Token] = []
    for piece in _PIECE.finditer(text):
        first = piece[0][0]
        if is_han(first):
            inner = sorted(
                {piece.start(), piece.end(), *(place for place in breaks if piece.start() < place < piece.end())}
            )
            for start, end in pairwise(inner):
                tokens += _cut(text[start:end], start)
        elif first.isdigit():
            tokens.append(Token(piece[0], piece.start(), piece.end(), "number"))
        elif first.isalpha():
            tokens.append(Token(piece[0], piece.start(), piece.end(), "word"))
        else:
            tokens.append(Token(piece[0], piece.start(), piece.end(), "sign"))
    return tokens


def terms(text: str, tokens: list[Token] | None = None, *, hints: bool = True) -> list[Term]:
    """What a text may be found by.

    Args:
        text: a question, or a tool's name or description.
        tokens: its tokens, where they are known.
        hints: whether words that merely hint at a concept count; they do in a question, not in a description.
    """
    tokens = tokenize(text) if tokens is None else tokens
    known = lexicon()
    found: list[Term] = []
    words = [in_full(bare(token.text)) if token.kind == "word" else "" for token in tokens]
    stems = [stem(word) for word in words]
    covered = 0
    for index, token in enumerate(tokens):
        if token.kind == "word":
            length = _phrase(words, tokens, index, found, hints) or _phrase(stems, tokens, index, found, hints)
            covered = max(covered, index + length)
            loose = index >= covered or (length == 1 and not _certain(found, token))
            if loose and not token.functional:
                found.append(Term(stems[index], 1.0, token.start, token.end))
        elif token.kind == "known":
            meanings = [meaning for meaning in known.han.get(token.text, ()) if hints or meaning.weight == 1.0]
            found += [Term(f"#{meaning.concept}", meaning.weight, token.start, token.end) for meaning in meanings]
            if not meanings and not token.functional:
                found.append(Term(token.text, 1.0, token.start, token.end))
        elif token.kind == "chunk":
            found += _pairs(token)
            found += _glossed(token) if hints else ()
    return [*found, *_parted_terms(text)] if hints else found


@lru_cache(maxsize=512)
def told_terms(text: str) -> tuple[Term, ...]:
    """What a tool's name or description may be found by: the same ones come again and again."""
    return tuple(terms(text, hints=False))


@lru_cache(maxsize=8192)
def keys_of(text: str) -> frozenset[str]:
    """The keys of these."""
    return frozenset(term.key for term in told_terms(text))


class Parted(NamedTuple):
    """A Chinese word with others inside of it, and where its two halves stand: 订 and 票 of 订两张票."""

    first: tuple[int, int]
    last: tuple[int, int]
    meanings: tuple[Meaning, ...]


def parted(text: str) -> list[Parted]:
    """The words of a text that have others inside of them."""
    found: list[Parted] = []
    for (first, last), meanings in lexicon().parted.items():
        if first in text and last in text:
            match = re.search(f"{first}[^，。！？；,.!?;：:“”\n]{{1,{PARTED_MAX}}}?{last}", text)
            if match is not None:
                ends = (match.start(), match.start() + len(first)), (match.end() - len(last), match.end())
                found.append(Parted(*ends, meanings))
    return found


PARTED_MAX = 10
"""So many characters stand inside of a word at most."""


def _parted_terms(text: str) -> Iterator[Term]:
    for word in parted(text):
        for place in (word.first, word.last):
            yield from (Term(f"#{meaning.concept}", meaning.weight, *place) for meaning in word.meanings)


def bare(word: str) -> str:
    """A word in lower case, without a possessive or contracted ending: `Chou's` -> `chou`, `what's` -> `what`."""
    word = word.lower()
    return _CONTRACTED.sub("", word.replace("’", "'")) if "'" in word or "’" in word else word


_CONTRACTED = re.compile(r"'(?:s|re|ve|ll|d|m)$")


def in_full(word: str) -> str:
    """A word that programs write short as people write it: `qty` -> `quantity`."""
    return _shortened().get(word, word)


@cache
def _shortened() -> dict[str, str]:
    return {row["short"]: row["word"] for row in table("shortened")}


def spaced(name: str) -> str:
    """A tool's or parameter's name as words: `getCurrentTime_v2` -> `get Current Time v2`."""
    return _CAMEL.sub(" ", re.sub(r"[_.\-]+", " ", name))


def _cut(run: str, offset: int) -> list[Token]:
    """A run of Chinese characters as known words and the chunks between them."""
    known = lexicon()
    tokens: list[Token] = []
    at = chunk = 0

    def close_chunk() -> None:
        if at > chunk:
            tokens.append(Token(run[chunk:at], offset + chunk, offset + at, "chunk"))

    while at < len(run):
        length = next(
            (n for n in range(min(known.han_longest, len(run) - at), 0, -1) if run[at : at + n] in known.han_words), 0
        )
        if length == 0 or (length == 1 and (_absorbed(run, chunk, at) or _in_a_word(run, chunk, at))):
            at += 1
            continue
        close_chunk()
        tokens.append(Token(run[at : at + length], offset + at, offset + at + length, "known"))
        at += length
        chunk = at
    close_chunk()
    return _names_kept_whole(tokens)


def _absorbed(run: str, chunk: int, at: int) -> bool:
    """One character that is a word, but here part of a longer one that is not known: 国 of 张国荣, 飞 of 飞行."""
    loose = not _starts_word(run, at + 1)
    if run[at + 1 : at + 2] in _NUMERALS:  # 订两张票, 发三封
        return False
    if run[at] in wordset("surnames"):  # 张 is a measure word as well
        return loose and at + 1 < len(run) and run[at - 1 : at] not in _NUMERALS
    return run[at] in wordset("absorbed in names") and (at > chunk or (loose and at + 1 < len(run)))


def _in_a_word(run: str, chunk: int, at: int) -> bool:
    """One character that is a word, but here part of one that the dictionary knows: 台 of 茅台, 有 of 有限."""
    starts = [at - n for n in (1, 2) if at - n >= chunk]
    if any(is_word(run[start : at + n]) for start in starts for n in (1, 2) if at + n <= len(run)):
        return True
    if any(is_word(run[at : at + n]) for n in (3, 4) if at + n <= len(run)):
        return True
    return at + 2 <= len(run) and run[at] not in _LEADING and is_word(run[at : at + 2])


_LEADING = frozenset("从到在给和跟与向对把被让为去来往由请帮叫买订要想问查找看说写发点")
"""Small words and verbs that a name or a thing follows, though a dictionary has a word of both."""


def _starts_word(run: str, at: int) -> bool:
    known = lexicon()
    lengths = range(1, min(known.han_longest, len(run) - at) + 1)
    return any(
        run[at : at + n] in known.han_words and run[at : at + n] not in wordset("absorbed in names") for n in lengths
    )


_NUMERALS = tuple("零一二两三四五六七八九十百千万几")


def _names_kept_whole(tokens: list[Token]) -> list[Token]:
    """Put a surname back together with a given name that looks like function words: 李|想 -> 李想."""
    merged: list[Token] = []
    for token in tokens:
        last = merged[-1] if merged else None
        touching = last is not None and last.kind == "chunk" and last.end == token.start
        if last is not None and touching and (token.kind == "chunk" or _is_given_name(last, token)):
            merged[-1] = Token(last.text + token.text, last.start, token.end, "chunk")
        else:
            merged.append(token)
    return merged


def _is_given_name(surname: Token, token: Token) -> bool:
    return surname.text in wordset("surnames") and len(token.text) == 1 and token.text not in "的和与跟是在"


def _phrase(words: list[str], tokens: list[Token], index: int, found: list[Term], hints: bool) -> int:
    """Add the meanings of the longest phrase of the lexicon that starts here; how many words it has, 0 for none."""
    known = lexicon()
    for length in range(known.phrase_starts.get(words[index], 0), 0, -1):
        meanings = known.phrases.get(tuple(words[index : index + length]), ())
        meanings = tuple(meaning for meaning in meanings if hints or meaning.weight == 1.0)
        if meanings and index + length <= len(tokens):
            start, end = tokens[index].start, tokens[index + length - 1].end
            found += [Term(f"#{meaning.concept}", meaning.weight, start, end) for meaning in meanings]
            return length
    return 0


def _certain(found: list[Term], token: Token) -> bool:
    return any(term.start == token.start and term.weight == 1.0 for term in found)


def _glossed(token: Token) -> Iterator[Term]:
    """The English words that a dictionary has for the Chinese ones of a chunk."""
    for start, end in cut(token.text):
        if end - start > 1:
            for key in glosses(token.text[start:end])[:2]:
                yield Term(key, GLOSS_WEIGHT, token.start + start, token.start + end)


GLOSS_WEIGHT = 0.5


def _pairs(token: Token) -> list[Term]:
    text = token.text
    if len(text) == 1:
        return [Term(text, 0.5, token.start, token.end)]
    starts = range(len(text) - 1)
    return [Term(text[i : i + 2], 1.0 / (len(text) - 1) ** 0.5, token.start + i, token.start + i + 2) for i in starts]
