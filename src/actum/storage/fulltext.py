"""`FullText`: finds texts by their words, the best first. An index in memory, by SQLite's FTS5.

It is asked in two ways: by `find` with words that a person types, all of which should be there, and by `answering` with
a question in whole sentences, where some of the words will be there.

Words of languages that are written without spaces (Chinese, Japanese, Thai) are found anywhere in a text: of such a run
each pair of neighbouring signs is a word of the index, as CJK analysers of search engines have it. All other words are
found by their beginnings, or with `stems` by their stems.

A query is never read as the query language of FTS5: only letters and digits of it count.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence

from ..core.language.words import STOP_WORDS, pairs_of, runs_of, split_name

QUERY_CHARS_MAX = 200
QUESTION_CHARS_MAX = 2_000
"""Of a longer question, such as one with a pasted document, the beginning and the end count."""
QUESTION_TERMS_MAX = 64


class FullText:
    """An index. Several threads may use it.

    Args:
        weights: how much a word counts in each of the texts that an item has.
        stems: words are indexed by their English stems, and names of programs by the words in them.

    >>> index = FullText([2, 1])
    >>> index.put("a", ["Weather desk", "查询各地天气预报"])
    >>> index.put("b", ["Till", "Takes payments, whatever the weather."])
    >>> index.find("weath"), index.find("预报"), index.find('"; DROP')
    ([('a', 100), ('b', 87)], [('a', 100)], [])
    >>> index.answering("Could you please tell me how the weather will be?")
    ['a', 'b']
    """

    def __init__(self, weights: Sequence[float], *, stems: bool = False) -> None:
        self._lock = threading.Lock()
        self._rows: dict[str, int] = {}
        self._names: dict[int, str] = {}
        self._next = 1
        self._weights = ", ".join(str(float(weight)) for weight in weights)
        columns = [f"t{number}" for number in range(len(weights))]
        self._put = f"INSERT INTO texts(rowid, {', '.join(columns)}) VALUES ({', '.join('?' * (len(columns) + 1))})"
        self._database = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        self._stems = stems
        tokenizer = "porter unicode61" if stems else "unicode61"
        self._database.execute(f"CREATE VIRTUAL TABLE texts USING fts5({', '.join(columns)}, tokenize='{tokenizer}')")

    def put(self, name: str, texts: Sequence[str]) -> None:
        """Put an item into the index, in place of what had this name."""
        self.put_all({name: texts})

    def put_all(self, items: Mapping[str, Sequence[str]]) -> None:
        """Put several items into the index at once, in place of what had their names."""
        with self._lock:
            self._database.execute("BEGIN")
            for name, texts in items.items():
                self._forget(name)
                row, self._next = self._next, self._next + 1
                self._database.execute(self._put, (row, *(" ".join(self._words(text)) for text in texts)))
                self._rows[name], self._names[row] = row, name
            self._database.execute("COMMIT")

    def remove(self, name: str) -> None:
        """Take an item out of the index; one that is not there is no error."""
        with self._lock:
            self._forget(name)

    def find(self, query: str) -> list[tuple[str, int]]:
        """The items that have words of a query, those with all words first, each with a score from 1 to 100.

        Args:
            query: as a person types it; only the first signs count (`QUERY_CHARS_MAX`).
        """
        terms = list(dict.fromkeys(_terms(query[:QUERY_CHARS_MAX])))
        with self._lock:
            whole = self._ranked(" AND ".join(terms))
            some = self._ranked(" OR ".join(terms)) if len(terms) > 1 else []
        found = dict(_scored(whole, 100))
        for name, score in _scored(some, 50):
            found.setdefault(name, score)
        return list(found.items())

    def answering(self, question: str, limit: int = 20) -> list[str]:
        """The items whose texts have most to do with a question, the best first: a word that is in few texts counts
        most, and not all words need be there.

        Args:
            question: whole sentences. Words that say nothing (`STOP_WORDS`) do not count, nor does the middle of a long
                question (`QUESTION_CHARS_MAX`), nor words beyond a number (`QUESTION_TERMS_MAX`).
            limit: how many items at most.
        """
        half = QUESTION_CHARS_MAX // 2
        asked = question if len(question) <= QUESTION_CHARS_MAX else f"{question[:half]}\n{question[-half:]}"
        terms = list(dict.fromkeys(_question_terms(asked)))[:QUESTION_TERMS_MAX]
        with self._lock:
            return [name for name, _ in self._ranked(" OR ".join(terms), limit)]

    def _forget(self, name: str) -> None:
        row = self._rows.pop(name, None)
        if row is not None:
            del self._names[row]
            self._database.execute("DELETE FROM texts WHERE rowid = ?", (row,))

    def _ranked(self, query: str, limit: int = -1) -> list[tuple[str, float]]:
        """The names, each with how well it fits: the more, the better."""
        if not query:
            return []
        asked = (
            f"SELECT rowid, rank FROM texts WHERE texts MATCH ? AND rank MATCH 'bm25({self._weights})' ORDER BY rank"
        )
        rows: list[tuple[int, float]] = self._database.execute(f"{asked} LIMIT ?", (query, limit)).fetchall()
        return sorted(((self._names[row], -rank) for row, rank in rows), key=lambda each: (-each[1], each[0]))

    def _words(self, text: str) -> Iterator[str]:
        """What of a text stands in the index."""
        for dense, run in runs_of(text):
            if dense:
                yield from (run[at : at + 2] for at in range(len(run)))  # the last sign stands alone
            elif self._stems:
                yield from split_name(run)
            else:
                yield run.casefold()


def _scored(ranked: Sequence[tuple[str, float]], most: int) -> Iterator[tuple[str, int]]:
    best = max((rank for _, rank in ranked), default=0.0)
    for name, rank in ranked:
        yield name, max(1, round(most * rank / best)) if best > 0 else 1


def _terms(query: str) -> Iterator[str]:
    """The words of a query, each as a term of FTS5: the beginning of a word, or two signs side by side."""
    for dense, run in runs_of(query.casefold()):
        if dense and len(run) > 1:
            yield from (f'"{pair}"' for pair in pairs_of(run))
        else:
            yield f'"{run}"*'


def _question_terms(question: str) -> Iterator[str]:
    """The words of a question that say something, each as a term of FTS5: a word, or two signs side by side."""
    for dense, run in runs_of(question):
        if dense and len(run) == 1:
            yield f'"{run}"*'
            continue
        words = pairs_of(run) if dense else split_name(run)
        yield from (f'"{word}"' for word in words if word not in STOP_WORDS)
