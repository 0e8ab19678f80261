"""What people are told of a call that failed, in their language: one sentence for each kind.

What a model is told is in the failure itself. Of that, people are shown only what was written for them too: a tool's
own words, a person's reason, what is wrong with each argument.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import ceil

from ..call import Failure, Problem
from .sentence import Sentence
from .translation import Language, in_language

_HAN = re.compile(r"[\u3400-\u9fff]")

SENTENCES = {
    "unknown_tool": "There is no such tool.",
    "invalid_arguments": "The call did not fit what the tool takes.",
    "permission_denied": "This is not permitted.",
    "approval_denied": "Somebody said no to this.",
    "approval_expired": "The approval came too late, or was given for something else. It was not done.",
    "budget_exceeded": "It was not done: a limit is used up.",
    "loop_detected": "It was not done again: it came to the same every time.",
    "rate_limited": "Too many requests in a short time.",
    "unavailable": "The service can not be reached, or failed.",
    "timeout": "There was no answer in time. It may have happened all the same.",
    "in_doubt": "It was interrupted. It may or may not have happened; please check.",
    "tool_error": "It could not be done.",
    "tool_bug": "Something went wrong inside the tool.",
    "invalid_result": "The tool gave an answer that can not be used.",
    "resource_limit": "It was stopped: it took more memory, time or space than allowed.",
    "cancelled": "It was cancelled.",
}
"""What is told of each code of `errors.CODES`; the Chinese is in the catalogue."""

_OWN_WORDS = frozenset({"tool_error", "approval_denied"})
"""Kinds whose message a person wrote, of the tool or for the model, and that people may read."""


def language_of(text: str) -> Language:
    """The language of what a user wrote: Chinese when it holds Han characters."""
    return "zh" if _HAN.search(text) else "en"


def told(failure: Failure, language: Language = "en") -> str:
    """What a person is told.

    >>> told(Failure("rate_limited", "Slow down.", retry_after=12.0))
    'Too many requests in a short time. Try again in 12 s.'
    """
    parts: list[Sentence | str] = [Sentence(SENTENCES.get(failure.code, SENTENCES["tool_error"]))]
    parts += [_words_of(problem) for problem in failure.problems]
    if failure.code in _OWN_WORDS and failure.message:
        parts.append(failure.message)
    if failure.retry_after is not None:
        parts.append(Sentence("Try again in {seconds} s.", seconds=_seconds(failure.retry_after)))
    if failure.reference:
        parts.append(Sentence("(Reference: {reference})", reference=failure.reference))
    return ("" if language == "zh" else " ").join(in_language(part, language, "message") for part in parts)


def _seconds(seconds: float) -> str:
    """A time to wait, never told as nothing: whole seconds, and a tenth where there is less than one."""
    return f"{ceil(seconds)}" if seconds >= 1 else f"{max(0.1, seconds):.1f}"


def problem_words(problems: Sequence[Problem]) -> Sentence:
    """What people are told of arguments that do not fit, in one sentence for each problem.

    >>> str(problem_words([Problem("n", "type", "an integer", '"x"'), Problem("to", "required", "a string", "")]))
    'n: expected an integer, not "x". to: is missing (a string).'
    """
    first, *more = map(_words_of, problems)
    for each in more:
        first = Sentence("{first_why} {more_why}", first_why=first, more_why=each)
    return first


def _words_of(problem: Problem) -> Sentence:
    path, expected = problem.path or "…", problem.expected
    if problem.rule == "required" or not problem.received:
        return Sentence("{path}: is missing ({expected_detail}).", path=path, expected_detail=expected)
    return Sentence(
        "{path}: expected {expected_detail}, not {received}.",
        path=path,
        expected_detail=expected,
        received=problem.received,
    )
