"""Keeps secrets out of results before they are written down and told to a model: by field, by their looks, by value.

Known secrets are found encoded, too: `secret_matcher` says how, and which forms it can not find. A secret that a tool
did not get from the agent is found only by the name of its field or by its looks. Media are not looked into. What a
user or a model itself says is not redacted: it is what the run is about.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache

import msgspec
from msgspec import UNSET, Struct, structs

from ..call import TextPart, ToolResult
from ..json import Json, JsonObject
from .encoded_text import Span
from .matcher import SecretMatcher, matcher

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

WORK = 8
"""To look through a text is this many times the work that others do on input of its size; see `off_loop`."""
REDACTED = "[redacted: secret]"
"""The text that replaces a known secret."""

_NO_TEXT = frozenset({int, float, bool, type(None)})
_SEPARATORS = re.compile(r"[\s_-]+")
LOOKING = re.compile("|".join(f"(?P<l{number}>{look})" for number, look in enumerate(LOOKS.values())))
"""Finds a secret by its looks."""
_KINDS = list(LOOKS)
_WORDS_OF_LOOKS: dict[str, tuple[str, ...]] = {
    "private key": ("private key-----",),
    "json web token": ("eyj",),
    "api key": ("sk-", "sk_", "aiza", "akia", "asia"),
    "access token": ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox"),
    "bearer token": ("bearer",),
    "password": ("://",),
}
"""Each text that one of `LOOKS` finds holds one of these words, as `_folded` writes it."""
_WORDS_OF_NAMED = (
    *("passw", "passphrase", "clients", "client_s", "client-s", "apik", "api_k", "api-k", "secretk", "secret_k"),
    *("secret-k", "accesst", "access_t", "access-t", "refresht", "refresh_t", "refresh-t", "密码", "口令"),
)
"""Each text that `NAMED` finds holds one of these, as `_folded` writes it."""
_SHORT = 40
"""In a text of fewer characters the words are not looked for first, which would take longer than the patterns."""
NAMED = re.compile(
    r"""(?i:\b(?P<name>pass(?:word|wd|phrase)|client[_-]?secret|api[_-]?key|secret[_-]?key|access[_-]?token"""
    r"""|refresh[_-]?token)|(?P<han>密码|口令))["']?\s{0,4}[:=：]\s{0,4}["']?(?P<value>[^\s"',;}，；]{1,500})"""
)
"""Finds the value behind a name such as `password:`."""


def names_secret(name: str, fields: Collection[str] = FIELDS) -> bool:
    """Whether a field of this name holds a secret.

    Args:
        name: the name.
        fields: the names of fields that do, as they stand in `FIELDS`.
    """
    return _SEPARATORS.sub("", name).lower() in fields


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
        if type(result.structured) in _NO_TEXT and not result.content and result.error is None and not known:
            return result
        secrets = _matcher(known)
        content = tuple(
            [
                TextPart(self._text(part.text, secrets)) if isinstance(part, TextPart) else part
                for part in result.content
            ]
        )
        structured = result.structured
        if structured is not UNSET:
            structured = self._value(structured, _if_any(secrets, structured))
        error = result.error
        if error is not None:
            error = structs.replace(error, message=self._text(error.message, secrets))
        if content == result.content and structured == result.structured and error == result.error:
            return result
        return structs.replace(result, content=content, structured=structured, error=error)

    def value(self, value: Json, known: Collection[str] = ()) -> Json:
        """A value without secrets, as in `clean`."""
        return self._value(value, _if_any(_matcher(known), value))

    def fields_of(self, value: JsonObject, known: Collection[str] = ()) -> JsonObject:
        """An object whose fields are each without secrets, as in `value`; their names stay."""
        return {name: self.value(item, known) for name, item in value.items()}

    def text(self, text: str, known: Collection[str] = (), spans: Sequence[Span] = ()) -> str:
        """A text without secrets, as in `clean`.

        Args:
            text: the text.
            known: secrets that the tool was given.
            spans: where other secrets stand in the text.
        """
        return self._text(_without(text, spans), _matcher(known))

    def stream(self, known: Collection[str]) -> RedactedStream:
        """What cleans values that are told one after another.

        Args:
            known: secrets that the tool was given; it is looked at anew for each value.
        """
        return RedactedStream(self, known)

    def _value(self, value: Json, secrets: SecretMatcher | None) -> Json:
        if isinstance(value, str):
            return self._text(value, secrets)
        if isinstance(value, int | float):
            return REDACTED if secrets is not None and secrets.is_in(value) else value
        if isinstance(value, list):
            return [self._value(item, secrets) for item in value]
        if isinstance(value, dict):
            return {
                self._text(name, secrets): f"[redacted: {name}]"
                if item and self._is_secret(name)
                else self._value(item, secrets)
                for name, item in zip(map(str, value), value.values(), strict=True)  # JSON has no other names
            }
        return value

    def _is_secret(self, name: str) -> bool:
        return names_secret(name, self.fields)

    def _text(self, text: str, secrets: SecretMatcher | None) -> str:
        if secrets is not None:
            text = _without(text, secrets.find(text))
        return self._without_looks(text)

    def _without_looks(self, text: str) -> str:
        if not self.looks:
            return text
        if len(text) < _SHORT:
            return NAMED.sub(_named, LOOKING.sub(_looked, text))
        folded = _folded(text)
        holds = folded.__contains__
        looks = [any(map(holds, words)) for words in _WORDS_OF_LOOKS.values()]
        if any(looks):
            text = _looking(tuple(looks)).sub(_looked, text)
        return NAMED.sub(_named, text) if any(map(holds, _WORDS_OF_NAMED)) else text


class RedactedStream:
    """Cleans what a call tells piece by piece: a secret that is cut between pieces is kept out of them, too.

    Nothing is held back, so that progress is told when it happens. What can be known of a secret only when it goes on
    has been told by then: at most its first three characters, or bytes where it is encoded.

    Args:
        redaction: how each piece is cleaned.
        known: secrets that the tool was given; it is looked at anew for each piece.
    """

    PLACES_MAX = 16
    """The most fields of a value that are searched for cut secrets."""
    PIECE_MAX = 8 * 1024
    """The most characters of a text that are told; another value that is larger as JSON is not told. A piece is
    searched in one go, while everything else waits."""

    def __init__(self, redaction: Redaction, known: Collection[str]) -> None:
        self._redaction = redaction
        self._known = known
        self._told: dict[tuple[str, ...], str] = {}

    def value(self, value: Json) -> Json:
        """The next value without secrets; what is too large is cut, or left out."""
        size = len(value) if isinstance(value, str) else _json_bytes(value)
        cut = ""
        if size > self.PIECE_MAX:
            cut = f"[{size} {'characters' if isinstance(value, str) else 'bytes'}: too much to be told]"
            value = value[: self.PIECE_MAX] if isinstance(value, str) else ""
        secrets = _matcher(self._known)
        if secrets is not None:
            value = self._joined(value, secrets, ())
        told = self._redaction.value(value, self._known)
        return f"{told}{cut}" if cut else told

    def _joined(self, value: Json, secrets: SecretMatcher, place: tuple[str, ...]) -> Json:
        """The value without secrets that began in the values before it, each field looked at by itself."""
        if isinstance(value, str) and (place in self._told or len(self._told) < self.PLACES_MAX):
            before = self._told.get(place, "")
            whole = before + value
            self._told[place] = whole[-secrets.reach :]
            here = [(begin - len(before), end - len(before)) for begin, end in secrets.find(whole, beginnings=True)]
            return _without(value, [(max(0, begin), end) for begin, end in here if end > 0])
        if isinstance(value, dict):
            return {name: self._joined(item, secrets, (*place, str(name))) for name, item in value.items()}
        if isinstance(value, list):
            return [self._joined(item, secrets, (*place, str(index))) for index, item in enumerate(value)]
        return value


def _json_bytes(value: Json) -> int:
    try:
        return len(msgspec.json.encode(value))
    except (TypeError, ValueError, RecursionError):  # it is no JSON, and not from another party
        return 0


def _folded(text: str) -> str:
    """The text in small letters, as the patterns see it: to them `ſ`, `ı` and the sign of kelvin are s, i and k."""
    return text.lower() if text.isascii() else text.replace("ı", "i").replace("İ", "i").casefold()


@lru_cache(1 << len(LOOKS))
def _looking(looks: tuple[bool, ...]) -> re.Pattern[str]:
    """`LOOKING` without the looks that a text can not hold: it is searched many times faster."""
    return re.compile("|".join(f"(?P<l{number}>{look})" for number, look in enumerate(LOOKS.values()) if looks[number]))


def _looked(found: re.Match[str]) -> str:
    return f"[redacted: {_KINDS[int((found.lastgroup or 'l0')[1:])]}]"


def _named(found: re.Match[str]) -> str:
    value = found["value"]
    if value.startswith("[redacted"):
        return found[0]
    return found[0][: -len(value)] + f"[redacted: {(found['name'] or found['han']).lower()}]"


def _matcher(known: Collection[str]) -> SecretMatcher | None:
    return matcher(frozenset(known)) if known else None


def _if_any(secrets: SecretMatcher | None, value: Json) -> SecretMatcher | None:
    """The matcher, if any secret is in the value: one look at all texts is cheaper than one at each of them."""
    if secrets is None or not isinstance(value, list | dict):
        return secrets
    if secrets.has_numbers and any(map(secrets.is_in, _numbers(value))):
        return secrets
    return secrets if secrets.find("\n".join(_texts(value))) else None


def _numbers(value: Json) -> Iterator[float]:
    if isinstance(value, int | float):
        yield value
    elif isinstance(value, list | dict):
        for item in value if isinstance(value, list) else value.values():
            yield from _numbers(item)


def _texts(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            yield str(name)
            yield from _texts(item)


def _without(text: str, spans: Sequence[Span]) -> str:
    """The text with a mark in the place of each span."""
    if not spans:
        return text
    pieces, at = [], 0
    for begin, end in spans:
        pieces += [text[at:begin], REDACTED]
        at = end
    return "".join([*pieces, text[at:]])


DEFAULT_REDACTION = Redaction()
NO_REDACTION = Redaction(fields=frozenset(), looks=False)
"""Only secrets that a tool was given are kept out."""
