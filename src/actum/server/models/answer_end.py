"""`AnswerEnd`: which model has answered a request that was passed on, and why it stopped. Pure.

Read from a whole answer or from a few events of a stream, in the form of any API. All other fields are skipped unread.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

WORD_MAX = 200
"""Of a name or a reason at most this many characters are kept: they are the words of an upstream."""
REASONS_MAX = 16
"""Of one answer at most this many reasons are kept."""
OBJECTS_MAX = 100_000
"""An answer of more objects than these is made to cost memory, and is not read."""
_UNDER_WAY = (None, "queued", "in_progress")


class _Choice(Struct):
    index: int = 0
    finish_reason: str | None = None
    finishReason: str | None = None  # noqa: N815  # as Google writes it


class _Details(Struct):
    reason: str | None = None


class _Told(Struct):
    """A whole answer, or an event; `response`, `message` and `delta` hold the rest of an event."""

    model: str | None = None
    modelVersion: str | None = None  # noqa: N815
    choices: list[_Choice] | None = None
    candidates: list[_Choice] | None = None
    stop_reason: str | None = None
    status: str | None = None
    incomplete_details: _Details | None = None
    response: _Told | None = None
    message: _Told | None = None
    delta: _Told | None = None


_read = msgspec.json.Decoder(_Told).decode


class AnswerEnd:
    """What an answer says of its model and of its end.

    Attributes:
        model: the model that answered, by its own name; empty where the answer does not tell.
    """

    def __init__(self) -> None:
        self.model = ""
        self._reasons: dict[int, str] = {}

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the model stopped, in the word of its API, one for each choice."""
        return tuple(self._reasons[at] for at in sorted(self._reasons))

    def read(self, said: bytes) -> None:
        """Note what a whole answer, or the data of an event, says. What has another form says nothing.

        >>> end = AnswerEnd()
        >>> end.read(b'{"model": "m-1", "choices": [{"finish_reason": "stop"}]}')
        >>> end.model, end.reasons
        ('m-1', ('stop',))
        """
        if said.count(b"{") > OBJECTS_MAX:
            return
        try:
            told = _read(said)
        except (ValueError, RecursionError):
            return
        for part in (told, told.response, told.message, told.delta):
            if part is not None:
                self.model = self.model or (part.model or part.modelVersion or "")[:WORD_MAX]
                self._add_reasons(part)

    def _add_reasons(self, told: _Told) -> None:
        for choice in (told.choices or told.candidates or ())[:REASONS_MAX]:
            reason = choice.finish_reason or choice.finishReason
            if reason and (choice.index in self._reasons or len(self._reasons) < REASONS_MAX):
                self._reasons[choice.index] = reason[:WORD_MAX]
        cut = told.incomplete_details.reason if told.incomplete_details is not None else ""
        if reason := cut or told.stop_reason or (told.status if told.status not in _UNDER_WAY else ""):
            self._reasons[0] = reason[:WORD_MAX]
