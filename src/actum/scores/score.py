"""A score: how good a run was, as a record of this run. Pure.

A score is given when the run is over (`scores.rating`). All that was ever said stays on record; one score counts for
each name and author, the latest one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from ..core.errors import JournalError, UsageError
from ..core.run.noted import RecordKind, RecordKinds
from ..core.run.record import Entry, Noted

FEATURE_NAME = "scores"
Scorer = Literal["person", "code", "model"]
"""Who judged: a person, a function, or a model."""
EVALUATION = "evaluation"
"""Who gives the scores of the scorers of experiments: `ScoreGiven.by`."""
THUMB = "thumb"
"""The name of the score for which a person says up (1) or down (0)."""
LABEL_CHARS_MAX, EXPLANATION_CHARS_MAX, NAME_CHARS_MAX = 200, 4_000, 64
NAME_PATTERN = r"^[A-Za-z][A-Za-z0-9_.-]{0,63}$"
_NAME = re.compile(NAME_PATTERN)


class ScoreGiven(Struct, frozen=True, kw_only=True, tag="given", omit_defaults=True):
    """Somebody says how good a run was.

    Attributes:
        name: what was judged, as a word: `thumb`, `correct`, `helpful`.
        value: from 0 to 1; None where a score is withdrawn.
        label: the value in a word, such as `polite`; empty for none.
        explanation: why, in the author's words.
        by: the principal that gave the score; empty where the program itself did.
        user: the end user on whose behalf a program gave the score; empty where the principal is the author.
        scorer: who judged.
        version: the digest of the function or of the model and its rubric; empty for a person.
        over: the run that this one is preferred to; empty for none.
        withdrawn: the author takes the score back.
    """

    name: str
    value: float | None = None
    label: str = ""
    explanation: str = ""
    by: str = ""
    user: str = ""
    scorer: Scorer = "person"
    version: str = ""
    over: str = ""
    withdrawn: bool = False

    @property
    def author(self) -> tuple[str, str]:
        """The principal and the end user: of one author the latest score of a name counts."""
        return self.by, self.user


RECORD_KIND = RecordKind(FEATURE_NAME, ScoreGiven)
_KINDS = RecordKinds([RECORD_KIND])


def noted(given: ScoreGiven) -> Noted:
    """The score as it goes on the record of a run that is over.

    Raises:
        UsageError: the score is too long for a record.
    """
    made = _KINDS.noted(given)
    return Noted(made.feature, made.kind, made.version, made.body, after_end=True)


def checked(given: ScoreGiven) -> ScoreGiven:
    """The score, if it is one.

    Raises:
        UsageError: a field can not be used; the sentence begins with its name.
    """
    if not _NAME.fullmatch(given.name):
        raise UsageError(
            "name={name!r:.80}: the name of a score is a word of at most {most} letters, digits, `_`, `-` and `.`",
            name=given.name,
            most=NAME_CHARS_MAX,
        )
    value = given.value
    if not given.withdrawn and (value is None or not math.isfinite(value) or not 0 <= value <= 1):
        raise UsageError("value={value}: a score is a number from 0 to 1", value=value)
    if given.name == THUMB and value not in (None, 0, 1):
        raise UsageError("value={value}: a thumb is 1 for up or 0 for down", value=value)
    for name, text, most in (
        ("label", given.label, LABEL_CHARS_MAX),
        ("explanation", given.explanation, EXPLANATION_CHARS_MAX),
        ("user", given.user, LABEL_CHARS_MAX),
    ):
        if len(text) > most:
            raise UsageError(
                "{name}: at most {most} characters, and these are {count}", name=name, most=most, count=len(text)
            )
    return given


class ScoreOnRecord(Struct, frozen=True):
    """A score as it stands on the record of a run.

    Attributes:
        number: of its entry within the run.
        at: when it was given, in seconds since 1970.
        given: the score.
    """

    number: int
    at: float
    given: ScoreGiven


def all_scores(entries: Iterable[Entry]) -> list[ScoreOnRecord]:
    """Every score that was ever given to a run and was not forgotten, in order, withdrawn ones among them.

    Args:
        entries: of the run.
    """
    found = []
    for entry in entries:
        if not entry.payload.startswith(b'{"type":"noted"'):
            continue
        try:
            record = entry.record
        except JournalError:
            continue
        if isinstance(record, Noted) and (given := score_of(record)) is not None:
            found.append(ScoreOnRecord(entry.number, entry.at, given))
    return found


def score_of(noted: Noted) -> ScoreGiven | None:
    """The score that a feature's record is; None where the record is something else.

    Args:
        noted: the record.
    """
    found = _KINDS.read(noted) if noted.feature == FEATURE_NAME else None
    return found if isinstance(found, ScoreGiven) else None


def standing_scores(entries: Iterable[Entry]) -> list[ScoreOnRecord]:
    """The scores of a run that count: of each name and author the latest, where it was not withdrawn.

    Args:
        entries: of the run.
    """
    latest = {(each.given.name, each.given.author): each for each in all_scores(entries)}
    return sorted((each for each in latest.values() if not each.given.withdrawn), key=lambda each: each.number)


def thumbs(entries: Iterable[Entry]) -> tuple[int, int]:
    """How many people found a run good, and how many bad.

    Args:
        entries: of the run.
    """
    values = [each.given.value for each in standing_scores(entries) if each.given.name == THUMB]
    return values.count(1), values.count(0)
