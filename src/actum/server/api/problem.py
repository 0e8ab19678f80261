"""A `Refusal` as an HTTP response: `application/problem+json`.

Source: RFC 9457 (problem details).
"""

from __future__ import annotations

import msgspec

from ...features.refusal import Refusal

PROBLEM_TYPE = "application/problem+json"
Headers = list[tuple[bytes, bytes]]


def encoded(refusal: Refusal) -> tuple[int, bytes, Headers]:
    """The status, body and headers of the answer to a request that is refused."""
    body = msgspec.json.encode(refusal.details)
    headers = [(name.lower().encode(), value.encode("latin-1", "replace")) for name, value in refusal.headers.items()]
    return refusal.details.status, body, [(b"content-type", PROBLEM_TYPE.encode()), *headers]
