"""Keeps secrets out of results before they are written down and told to a model: by field, by their looks, by value.

Pure. Its limits: a secret without a telling name or look passes, and so does one inside of media. What a user or a
model itself says is not redacted: it is what the run is about.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from msgspec import UNSET, Struct, structs

from .call import TextPart, ToolResult
from .json import Json, dumps, whole_text

FIELDS = frozenset(
    {
        *(
            "password",
            "passwd",
            "passphrase",
            "secret",
            "clientsecret",
            "apikey",
            "accesskey",
            "secretkey",
            "privatekey",
        ),
        *("accesstoken", "refreshtoken", "idtoken", "authtoken", "bearertoken", "sessiontoken", "authorization"),
        *("cookie", "setcookie", "cvv", "cvc", "密码", "口令"),
    }
)
"""Names of fields whose values are secrets; compared without case, `_`, `-` and spaces."""

LOOKS: dict[str, str] = {
    "private key": r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[^-]{0,20000}(?:-----END [A-Z ]{0,30}PRIVATE KEY-----)?",
    "json web token": r"\beyJ(?:\w|-(?!eyJ)){8,2000}+\.eyJ[\w-]{8,8000}+\.[\w-]{16,2000}",
    "api key": r"\b(?:sk-[\w-]{20,200}|sk_(?:live|test)_\w{16,200}|AIza[\w-]{35}|(?:AKIA|ASIA)[0-9A-Z]{16})\b",
    "access token": r"\b(?:gh[pousr]_\w{36,255}|github_pat_\w{36,255}|glpat-[\w-]{20,255}|xox[abeoprs]-[\w-]{10,255})",
    "bearer token": r"(?i:\bbearer)\s+[\w.~+/-]{20,4000}=*",
    "password": r"(?<=://)[^\s/:@]{1,100}:[^\s/@]{1,100}(?=@)",
}
"""Secrets that are known by their looks, each with what it is called. Every pattern is linear in the text."""

_SEPARATORS = re.compile(r"[\s_-]+")
_LOOKS = re.compile("|".join(f"(?P<l{number}>{look})" for number, look in enumerate(LOOKS.values())))
_KINDS = list(LOOKS)
_NAMED = re.compile(
    r"""(?i:\b(?P<name>pass(?:word|wd|phrase)|client[_-]?secret|api[_-]?key|secret[_-]?key|access[_-]?token"""
    r"""|refresh[_-]?token)|(?P<han>密码|口令))["']?\s{0,4}[:=：]\s{0,4}["']?(?P<value>[^\s"',;}，；]{1,500})"""
)
VALUE_LENGTH_MIN = 4
"""A known secret shorter than this is not looked for: it would be found everywhere."""


class Redaction(Struct, frozen=True, kw_only=True):
    """What is kept out of results.

    Attributes:
        fields: names of fields whose values are secrets.
        looks: whether secrets are known by their looks, too.

    >>> DEFAULT_REDACTION.clean(ToolResult("1", (TextPart("password: hunter22"),))).text
    'password: [redacted: password]'
    """

    fields: frozenset[str] = FIELDS
    looks: bool = True

    def clean(self, result: ToolResult, known: Collection[str] = ()) -> ToolResult:
        """The result without secrets; the same object where there are none.

        Args:
            result: what a tool returned, or its failure.
            known: secrets that the tool was given.
        """
        known = _spellings(known)
        content = tuple(
            [TextPart(self._text(part.text, known)) if isinstance(part, TextPart) else part for part in result.content]
        )
        structured = result.structured if result.structured is UNSET else self._value(result.structured, known)
        error = result.error
        if error is not None:
            error = structs.replace(error, message=self._text(error.message, known))
        if content == result.content and structured == result.structured and error == result.error:
            return result
        return structs.replace(result, content=content, structured=structured, error=error)

    def value(self, value: Json, known: Collection[str] = ()) -> Json:
        """A value without secrets, as in `clean`."""
        return self._value(value, _spellings(known))

    def _value(self, value: Json, known: Collection[str]) -> Json:
        if isinstance(value, str):
            return self._text(value, known)
        if isinstance(value, list):
            return [self._value(item, known) for item in value]
        if isinstance(value, dict):
            return {
                self._text(name, known): f"[redacted: {name}]"
                if item and self._is_secret(name)
                else self._value(item, known)
                for name, item in zip(map(str, value), value.values(), strict=True)  # JSON has no other names
            }
        return value

    def _is_secret(self, name: str) -> bool:
        return _SEPARATORS.sub("", name).lower() in self.fields

    def _text(self, text: str, known: Collection[str]) -> str:
        text = _without(text, known)
        if not self.looks:
            return text
        text = _LOOKS.sub(lambda found: f"[redacted: {_KINDS[int((found.lastgroup or 'l0')[1:])]}]", text)
        return _NAMED.sub(_named, text)


def _named(found: re.Match[str]) -> str:
    value = found["value"]
    if value.startswith("[redacted"):
        return found[0]
    return found[0][: -len(value)] + f"[redacted: {(found['name'] or found['han']).lower()}]"


def _spellings(known: Collection[str]) -> list[str]:
    """Secrets as they may stand in a text: as they are and inside of JSON, the longest first, as one may begin with
    another.
    """
    spelt = {
        form
        for secret in known
        if len(secret) >= VALUE_LENGTH_MIN
        for form in (secret, dumps(whole_text(secret))[1:-1])
    }
    return sorted(spelt, key=len, reverse=True)


def _without(text: str, known: Collection[str]) -> str:
    for secret in known:
        text = text.replace(secret, "[redacted: secret]")
    return text


DEFAULT_REDACTION = Redaction()
NO_REDACTION = Redaction(fields=frozenset(), looks=False)
"""Only secrets that a tool was given are kept out."""
