"""A `Refusal` as an HTTP response: `application/problem+json`.

Source: RFC 9457 (problem details).
"""

from __future__ import annotations

import msgspec
from msgspec import structs

from ...core.call import Problem
from ...core.language.translation import Context, Language, chinese, in_language
from ...features.refusal import ProblemDetails, Refusal
from ..refusal import spoken

_SENTENCES = frozenset({"definition", "schema"})
"""The rules whose problems are whole sentences. Those of other rules say in a word or two what is expected."""
PROBLEM_TYPE = "application/problem+json"
Headers = list[tuple[bytes, bytes]]


def encoded(refusal: Refusal, language: Language) -> tuple[int, bytes, Headers]:
    """The status, body and headers of the answer to a request that is refused.

    Args:
        refusal: why.
        language: of the detail and of what is wrong, which a person reads. What programs read is English in every
            language.
    """
    details = refusal.details if language == "en" else _in_language(refusal, language)
    body = msgspec.json.encode(details)
    headers = [(name.lower().encode(), value.encode("latin-1", "replace")) for name, value in refusal.headers.items()]
    return refusal.details.status, body, [(b"content-type", PROBLEM_TYPE.encode()), *headers, *spoken(language)]


def _in_language(refusal: Refusal, language: Language) -> ProblemDetails:
    details = refusal.details
    told = refusal.told or [each.expected for each in details.problems]
    problems = tuple(
        structs.replace(problem, expected=in_language(words, language, _context(problem)))
        for problem, words in zip(details.problems, told, strict=True)
    )
    return structs.replace(details, detail=chinese(refusal.sentence) or details.detail, problems=problems)


def _context(problem: Problem) -> Context:
    return "message" if problem.rule in _SENTENCES else "expected"
