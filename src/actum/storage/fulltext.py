"""`FullText`: finds texts by their words, the best first. An index in memory, by SQLite's FTS5.

Words of languages that are written without spaces (Chinese, Japanese, Thai) are found anywhere in a text: of such a run
each pair of neighbouring signs is a word of the index, as CJK analysers of search engines have it. All other words are
found by their beginnings.

A query is never read as the query language of FTS5: only letters and digits of it count.
"""

from __future__ import annotations

import re
import sqlite3
import threading
from collections.abc import Iterator, Sequence

QUERY_CHARS_MAX = 200
_RUN = re.compile(r"[^\W_]+")
_DENSE = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff]+"
)
"""Signs of languages that are written without spaces."""


class FullText:
    """An index. Several threads may use it.

    Args:
        weights: how much a word counts in each of the texts that an item has.

    >>> index = FullText([2, 1])
    >>> index.put("a", ["Weather desk", "查询各地天气预报"])
    >>> index.put("b", ["Till", "Takes payments, whatever the weather."])
    >>> index.find("weath"), index.find("预报"), index.find('"; DROP')
    ([('a', 100), ('b', 87)], [('a', 100)], [])
    """

    def __init__(self, weights: Sequence[float]) -> None:
        self._lock = threading.Lock()
        self._rows: dict[str, int] = {}
        self._names: dict[int, str] = {}
        self._next = 1
        self._weights = ", ".join(str(float(weight)) for weight in weights)
        columns = [f"t{number}" for number in range(len(weights))]
        self._put = f"INSERT INTO texts(rowid, {', '.join(columns)}) VALUES ({', '.join('?' * (len(columns) + 1))})"
        self._database = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        self._database.execute(f"CREATE VIRTUAL TABLE texts USING fts5({', '.join(columns)})")

    def put(self, name: str, texts: Sequence[str]) -> None:
        """Put an item into the index, in place of what had this name."""
        words = [" ".join(_words(text)) for text in texts]
        with self._lock:
            self._forget(name)
            row, self._next = self._next, self._next + 1
            self._database.execute(self._put, (row, *words))
            self._rows[name], self._names[row] = row, name

    def remove(self, name: str) -> None:
        """Take an item out of the index; one that is not there is no error."""
        with self._lock:
            self._forget(name)

    def find(self, query: str) -> list[tuple[str, int]]:
        """The items that have words of a query, those with all words first, each with a score from 1 to 100.

        Args:
            query: as a person types it; only so many signs of it count (`QUERY_CHARS_MAX`).
        """
        terms = list(dict.fromkeys(_terms(query[:QUERY_CHARS_MAX])))
        with self._lock:
            whole = self._ranked(" AND ".join(terms))
            some = self._ranked(" OR ".join(terms)) if len(terms) > 1 else []
        found = dict(_scored(whole, 100))
        for name, score in _scored(some, 50):
            found.setdefault(name, score)
        return list(found.items())

    def _forget(self, name: str) -> None:
        row = self._rows.pop(name, None)
        if row is not None:
            del self._names[row]
            self._database.execute("DELETE FROM texts WHERE rowid = ?", (row,))

    def _ranked(self, query: str) -> list[tuple[str, float]]:
        """The names, each with how well it fits: the more, the better."""
        if not query:
            return []
        asked = f"SELECT rowid, -bm25(texts, {self._weights}) FROM texts WHERE texts MATCH ?"
        rows: list[tuple[int, float]] = self._database.execute(asked, (query,)).fetchall()
        return sorted(((self._names[row], rank) for row, rank in rows), key=lambda each: (-each[1], each[0]))


def _scored(ranked: Sequence[tuple[str, float]], most: int) -> Iterator[tuple[str, int]]:
    best = max((rank for _, rank in ranked), default=0.0)
    for name, rank in ranked:
        yield name, max(1, round(most * rank / best)) if best > 0 else 1


def _words(text: str) -> Iterator[str]:
    """What of a text stands in the index."""
    if _DENSE.search(text) is None:  # most texts: ten times as fast
        yield from _RUN.findall(text.casefold())
        return
    for dense, run in _runs(text):
        if dense:
            yield from (run[at : at + 2] for at in range(len(run)))  # the last sign stands alone
        else:
            yield run


def _terms(query: str) -> Iterator[str]:
    """The words of a query, each as a term of FTS5: the beginning of a word, or signs that follow each other."""
    for dense, run in _runs(query):
        if dense and len(run) > 1:
            yield '"' + " ".join(run[at : at + 2] for at in range(len(run) - 1)) + '"'
        else:
            yield f'"{run}"*'


def _runs(text: str) -> Iterator[tuple[bool, str]]:
    """The runs of letters and digits, each with whether its language is written without spaces."""
    for found in _RUN.finditer(text.casefold()):
        at, run = 0, found.group()
        for dense in _DENSE.finditer(run):
            if dense.start() > at:
                yield False, run[at : dense.start()]
            yield True, dense.group()
            at = dense.end()
        if at < len(run):
            yield False, run[at:]
