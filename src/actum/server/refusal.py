"""A request that is refused before a door has answered it, and how the refusal is told.

The general form is `application/problem+json` (RFC 9457). A door whose protocol has a form of its own is an `OwnWords`
(`route_group.py`). What is told names no file, no SQL, no stack and nobody else's data.

This file knows no protocol and no web server.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ..core.json import JsonObject
from ..core.language.sentence import Sentence, as_sentence
from ..core.language.translation import Language, in_language
from ..features.refusal import phrase

Headers = Sequence[tuple[bytes, bytes]]

PROBLEM = b"application/problem+json"


class HttpRefusal(Exception):
    """The request is refused. A door may raise this as long as its answer has not begun; the application answers.

    Args:
        status: of the response.
        detail: a sentence for the client.
        headers: of the response, beside those of its body.
        values: what is put into the detail, where the detail is a template.
    """

    def __init__(self, status: int, detail: str | Sentence, headers: Headers = (), **values: object) -> None:
        self.sentence = as_sentence(detail, values)
        self.detail = str(self.sentence)
        super().__init__(status, self.detail)
        self.status = status
        self.headers = headers


class MissingScope(HttpRefusal):
    """The key, or the token, does not allow this.

    Args:
        scope: the name of the scope that is needed.
    """

    def __init__(self, scope: str) -> None:
        super().__init__(403, "This needs a key, or a token, with the scope {scope}.", scope=scope)
        self.scope = scope


def busy(status: int, detail: str, after_s: int = 1) -> HttpRefusal:
    """A refusal that ends by itself.

    Args:
        status: 429 where the caller alone makes too many requests, 503 where everybody together does.
        detail: as in `HttpRefusal`.
        after_s: when it is worth to try again.
    """
    return HttpRefusal(status, detail, ((b"retry-after", b"%d" % after_s),))


def spoken(language: Language) -> Headers:
    """The headers of an answer whose sentence is in the language that the request asks for."""
    return ((b"content-language", language.encode()), (b"vary", b"accept-language"))


def problem(refusal: HttpRefusal, request_id: str, language: Language) -> bytes:
    """The body of a refusal in the general form.

    Args:
        refusal: what is told.
        request_id: the id of the request in the log.
        language: of the detail, which a person reads.
    """
    told: JsonObject = {
        "type": "about:blank",
        "title": phrase(refusal.status),
        "status": refusal.status,
        "detail": in_language(refusal.sentence, language),
        "code": phrase(refusal.status).lower().replace(" ", "_").replace("-", "_"),
        "reference": request_id,
    }
    if isinstance(refusal, MissingScope):
        told |= {"code": "scope", "scope": [refusal.scope]}  # as our own API words the same refusal
    return msgspec.json.encode(told)
