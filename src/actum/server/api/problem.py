"""A `Refusal` as an HTTP response: `application/problem+json`.

Source: RFC 9457 (problem details).
"""

from __future__ import annotations

import msgspec

from ...core.language.translation import Language, in_language
from ...features.refusal import Refusal
from ..refusal import spoken

PROBLEM_TYPE = "application/problem+json"
Headers = list[tuple[bytes, bytes]]


def encoded(refusal: Refusal, language: Language) -> tuple[int, bytes, Headers]:
    """The status, body and headers of the answer to a request that is refused.

    Args:
        refusal: why.
        language: of the detail, which a person reads. What programs read is English in every language.
    """
    detail = refusal.details.detail if language == "en" else in_language(refusal.sentence, language)
    body = msgspec.json.encode(msgspec.structs.replace(refusal.details, detail=detail))
    headers = [(name.lower().encode(), value.encode("latin-1", "replace")) for name, value in refusal.headers.items()]
    return refusal.details.status, body, [(b"content-type", PROBLEM_TYPE.encode()), *headers, *spoken(language)]
