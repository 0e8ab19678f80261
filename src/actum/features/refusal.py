"""A `Refusal`: what an operation answers when it refuses. One shape for every error, `ProblemDetails`.

Everything in a problem is written by us: no stack trace, no path of a file, no SQL, no id of another tenant. The cause
of an error that nobody expected is in the log, under the reference that the client is told.

Source: RFC 9457 (problem details), RFC 9110 (statuses and `Retry-After`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from math import ceil

from msgspec import Struct

from ..core.call import Effect, Problem
from ..core.errors import ActumError
from ..core.language.sentence import Sentence, as_sentence

_RENAMED = {413: "Content Too Large", 422: "Unprocessable Content"}


class ProblemDetails(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a request was refused.

    Attributes:
        type: always `about:blank`; `code` tells the kind of the problem.
        title: the name of the HTTP status.
        status: the HTTP status.
        detail: what is wrong, and what to do about it, for a person.
        code: the kind of the problem in one word, for a program. For a call, the code of the call's error.
        problems: for values that do not fit: each value, with what was expected.
        scope: the scopes that allow the request, and that the key does not have; one of them is enough.
        run: the run that the problem is about.
        state: the state of the task that the problem is about.
        effect: for a call, what the call may have changed in the world.
        reference: the id under which the log of the server has the cause.
        retry_after: the number of seconds after which another try makes sense.
        current: the text as it is now, where somebody else has changed the text since.
        text: then the text that was sent, so that a program has both.
        used_by: the names of what uses the thing that was to go.
    """

    type: str
    title: str
    status: int
    detail: str
    code: str
    problems: tuple[Problem, ...] = ()
    scope: tuple[str, ...] = ()
    run: str = ""
    state: str = ""
    effect: Effect | None = None
    reference: str = ""
    retry_after: float | None = None
    current: str = ""
    text: str = ""
    used_by: tuple[str, ...] = ()


class Refusal(Exception):
    """A request is refused.

    Args:
        status: the HTTP status.
        code: as in `ProblemDetails`.
        detail: as in `ProblemDetails`, or the template of it where there are values. An error is told as a sentence
            of its own, and keeps its facts.
        problems, scope, run, state, effect, reference, retry_after, current, text, used_by: as in `ProblemDetails`.
        told: what is wrong, of each of `problems`, as facts for people; by default the words of the problem.
        headers: headers of the answer, beside those of the body and `Retry-After`.
        values: what is put into the template.

    Attributes:
        sentence: the detail as facts, to be told in the client's language.
        told: as given.
        details: the body of the answer, in English.
    """

    def __init__(
        self,
        status: int,
        code: str,
        detail: str | Sentence | ActumError,
        *,
        problems: tuple[Problem, ...] = (),
        told: Sequence[Sentence | str] = (),
        scope: tuple[str, ...] = (),
        run: str = "",
        state: str = "",
        effect: Effect | None = None,
        reference: str = "",
        retry_after: float | None = None,
        current: str = "",
        text: str = "",
        used_by: tuple[str, ...] = (),
        headers: Mapping[str, str] | None = None,
        **values: object,
    ) -> None:
        self.sentence = detail.sentence if isinstance(detail, ActumError) else as_sentence(detail, values)
        self.told = tuple(told)
        words = str(self.sentence)
        if isinstance(detail, ActumError):
            words = f"{words[:1].upper()}{words[1:]}{'' if words.endswith('.') else '.'}"
        super().__init__(words)
        self.details = ProblemDetails(
            type="about:blank",
            title=phrase(status),
            status=status,
            detail=words,
            code=code,
            problems=problems,
            scope=scope,
            run=run,
            state=state,
            effect=effect,
            reference=reference,
            retry_after=retry_after,
            current=current,
            text=text,
            used_by=used_by,
        )
        self.headers = dict(headers or {})
        if retry_after is not None:
            self.headers["Retry-After"] = str(max(1, ceil(retry_after)))


def not_found(what: str) -> Refusal:
    """The refusal for everything that is not there for the caller: whether somebody else has it can not be told.

    Args:
        what: the kind of thing, as a noun: `run`.
    """
    return Refusal(404, "not_found", "There is no such {what}.", what=Sentence(what))


def phrase(status: int) -> str:
    """The name of a status by RFC 9110; `Error` for a number that has none. Versions of Python differ in two names.

    >>> phrase(404), phrase(422), phrase(999)
    ('Not Found', 'Unprocessable Content', 'Error')
    """
    try:
        return _RENAMED.get(status) or HTTPStatus(status).phrase
    except ValueError:
        return "Error"
