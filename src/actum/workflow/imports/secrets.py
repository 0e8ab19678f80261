"""Keeps the secrets of a foreign file out of our file: a reference such as `${secret:NAME}` stands in their place.

The values are never written anywhere. The report names each secret, so that a person can keep it with
`actum secrets set NAME`.
"""

from __future__ import annotations

import re

from ...core.json import Json, JsonObject
from ...core.redaction import DEFAULT_REDACTION, FIELDS
from .report import ImportNotes

_NAMES = FIELDS | {
    *("xapikey", "key", "token", "appkey", "appsecret", "accesskeyid", "secretid", "sign", "pwd", "dbpassword", "auth"),
    *("xaccesstoken", "xauthtoken", "authkey", "proxyauthorization", "subscriptionkey", "ocpapimsubscriptionkey"),
}
_SEPARATORS = re.compile(r"[\s_-]+")
_CODE_NAMED = re.compile(
    r"(?i:\b(?:pass(?:word|wd|phrase)|client[_-]?secret|api[_-]?key|secret[_-]?key|access[_-]?token|refresh[_-]?token)|密码|口令)"
    r"""(?P<quote>["']?)\s{0,4}(?=[:=：]\s{0,4}[^\s"',;}，；])"""
)
_NAMED = r"(?i:(?<![a-z])(?:token|key|sign|auth)[\"']?\s{0,4}[:=]\s{0,4}"
_VALUE = r"([A-Za-z0-9_+/=.-]{16,})"
_TOKEN = re.compile(rf"({_NAMED}[\"']?)){_VALUE}")
_QUOTED_TOKEN = re.compile(rf"({_NAMED}[\"'])){_VALUE}")
_LEFT_OUT = "a key stood here in plain text: it is left out, and has to be given anew"
_WORDS = frozenset({"key", "token", "sign", "auth"})
LENGTH_MIN = 16
"""A shorter text is not looked at for a key by its looks."""


class Secrets:
    """The secrets of one file.

    Args:
        notes: where to report.
    """

    def __init__(self, notes: ImportNotes) -> None:
        self._notes = notes
        self._names: dict[str, str] = {}

    def keep(self, name: str, value: str) -> str:
        """The name under which a person has to keep a secret; one value has one name."""
        if value in self._names:
            return self._names[value]
        base = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_")[:60] or "secret"
        if not base[0].isalpha():
            base = f"s_{base}"
        fresh, number = base, 1
        while fresh in self._names.values():
            number += 1
            fresh = f"{base}_{number}"
        self._names[value] = fresh
        return fresh

    def without(self, value: Json, where: str, *, code: bool = False) -> Json:
        """A value in which no key stands in plain text."""
        match value:
            case str():
                return self._clean(value, where, code=code)
            case dict():
                return {name: self._field(name, item, where, code=code) for name, item in value.items()}
            case list():
                return [self.without(item, where, code=code) for item in value]
            case _:
                return value

    def _field(self, name: str, value: Json, where: str, *, code: bool) -> Json:
        if not is_secret(name, value):
            return self.without(value, where, code=code)
        self._notes.say("open", where, "a secret stood here in plain text: it is left out, and has to be given anew")
        return ""

    def _clean(self, text: str, where: str, *, code: bool) -> str:
        if len(text) < LENGTH_MIN:
            return text
        pattern = _QUOTED_TOKEN if code else _TOKEN
        hidden = pattern.sub(lambda found: f"{found[1]}[redacted]" if _is_random(found[2]) else found[0], text)
        if hidden != text:
            self._notes.say("open", where, _LEFT_OUT)
            text = hidden
        cleaned = DEFAULT_REDACTION.value(text)
        if cleaned == text or not isinstance(cleaned, str):
            return text
        if code:  # `connect(password=password)` says no password: more space, and the redaction sees that
            text = _CODE_NAMED.sub(lambda found: found[0].rstrip() + " " * 5, text)
            again = DEFAULT_REDACTION.value(text)
            if again == text or not isinstance(again, str):
                return text
            cleaned = again
        self._notes.say("open", where, _LEFT_OUT)
        return cleaned


def is_secret_name(name: str) -> bool:
    """Whether a field of this name holds a secret."""
    return _SEPARATORS.sub("", name).lower() in _NAMES


def is_secret(name: str, value: Json) -> bool:
    """Whether a value that stands in the file under this name is a secret, and no reference to a secret."""
    if not isinstance(value, str) or not value.strip() or "${" in value or not is_secret_name(name):
        return False
    return name.lower() not in _WORDS or _is_random(value)


def _is_random(text: str) -> bool:
    """Whether a text looks like a key, and not like a word."""
    has_both = any(each.isdigit() for each in text) and any(each.isalpha() for each in text)
    return len(text) >= LENGTH_MIN and has_both and not any(each.isspace() for each in text)


def without_keys(definition: JsonObject, secrets: Secrets) -> JsonObject:
    """A definition in which no key stands in plain text."""
    nodes = definition.get("nodes")
    found: JsonObject = {
        name: value if name == "nodes" else secrets.without(value, name) for name, value in definition.items()
    }
    found["nodes"] = _nodes(nodes if isinstance(nodes, dict) else {}, secrets)
    return found


def _nodes(nodes: JsonObject, secrets: Secrets) -> JsonObject:
    found: JsonObject = {}
    for name, node in nodes.items():
        fields: JsonObject = {}
        for field, value in (node if isinstance(node, dict) else {}).items():
            if field == "nodes" and isinstance(value, dict):
                fields[field] = _nodes(value, secrets)
            else:
                fields[field] = secrets.without(value, f"{name}.{field}", code=field in ("code", "template"))
        found[name] = fields
    return found
