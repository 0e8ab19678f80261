"""The secrets that tools of this process were given: what its log is kept clean of.

A run knows the secrets of its own tools (`RunContext.told`). A line of the log may be written outside of any run: by a
thread that a tool started, by a connection that ends later. So a process remembers the secrets that its tools were
given lately, up to `KEPT_MAX` of them. A secret value in the arguments of a call is looked for only while that call
runs: a caller chooses such a value, and could choose a word that is in every line.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable
from contextvars import ContextVar

from .matcher import SecretMatcher, matcher, united
from .redaction import DEFAULT_REDACTION

KEPT_MAX = 1_000
"""The most secrets that a process remembers. Beyond that, the one that was given longest ago is forgotten first."""

TEXT_MAX = 16 * 1024
"""The most characters of a text that are looked through: everybody else waits meanwhile, and a line of a log is no
place for a document."""

of_this_call: ContextVar[Collection[str]] = ContextVar("of_this_call", default=())
"""The secrets of the run whose call is being carried out."""


class GivenSecrets:
    """Secrets of a process. Any thread may add and ask."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[str, None] = {}
        self._matcher = SecretMatcher(())
        self._known: set[str] = set()

    def add(self, secrets: Iterable[str]) -> None:
        """Remember secrets."""
        with self._lock:
            for secret in secrets:
                self._kept.pop(secret, None)
                self._kept[secret] = None
            while len(self._kept) > KEPT_MAX:
                del self._kept[next(iter(self._kept))]

    def forget(self) -> None:
        """Forget all of them: a test is over, and with it the process that the test was about."""
        with self._lock:
            self._kept, self._matcher, self._known = {}, SecretMatcher(()), set()

    def without(self, text: str) -> str:
        """The text without these secrets, without those of the call that is carried out, and without what looks like a
        secret. Of a longer text the first `TEXT_MAX` characters, and how many more there were.
        """
        left_out, text = len(text) - TEXT_MAX, text[:TEXT_MAX]
        is_cut, own = left_out > 0, of_this_call.get()
        with self._lock:
            spans = self._up_to_date().find(text, beginnings=is_cut) if self._kept else []
        if is_cut and own:
            spans = united([*spans, *matcher(frozenset(own)).find(text, beginnings=True)])
        told = DEFAULT_REDACTION.text(text, own, spans)
        return f"{told} [{left_out} more characters]" if is_cut else told

    def _up_to_date(self) -> SecretMatcher:
        if len(self._known) > 2 * KEPT_MAX:
            self._matcher, self._known = SecretMatcher(()), set()
        for secret in self._kept.keys() - self._known:
            self._matcher.add(secret)
            self._known.add(secret)
        return self._matcher


GIVEN = GivenSecrets()
"""Those of this process."""
