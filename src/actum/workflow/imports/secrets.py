"""Keeps the secrets of a foreign file out of our file: a reference such as `${secret:NAME}` replaces each.

The values are never written anywhere. The report names each secret, so that a person can keep it with
`actum secrets set NAME`.
"""

from __future__ import annotations

import re

from ...core.json import Json, JsonObject
from ...core.secrets.redaction import DEFAULT_REDACTION, FIELDS, NAMED, names_secret
from ..definition.plain_keys import looks_like_key
from .report import ImportNotes

_NAMES = FIELDS | {
    *("xapikey", "key", "token", "appkey", "appsecret", "accesskeyid", "secretid", "sign", "pwd", "dbpassword", "auth"),
    *("xaccesstoken", "xauthtoken", "authkey", "proxyauthorization", "subscriptionkey", "ocpapimsubscriptionkey"),
}
_CODE_NAMED = re.compile(
    r"(?i:\b(?:pass(?:word|wd|phrase)|client[_-]?secret|api[_-]?key|secret[_-]?key|access[_-]?token|refresh[_-]?token)|密码|口令)"
    r"""(?P<quote>["']?)\s{0,4}(?=[:=：]\s{0,4}[^\s"',;}，；])"""
)
_NO_VALUE = "\u200a" * 5
"""Stands behind a name that code gives no value in plain text, as in `connect(password=password)`: with so much space
the redaction sees no value.
"""
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

    def without(self, value: Json, where: str, *, field: str = "") -> Json:
        """A value that holds no key in plain text."""
        match value:
            case str():
                return self._clean(value, where, field=field)
            case dict():
                return {name: self._field(name, item, where, field=field) for name, item in value.items()}
            case list():
                return [self.without(item, where, field=field) for item in value]
            case _:
                return value

    def _field(self, name: str, value: Json, where: str, *, field: str) -> Json:
        if not is_secret(name, value):
            return self.without(value, where, field=field)
        self._notes.say("open", where, "a secret stood here in plain text: it is left out, and has to be given anew")
        return ""

    def _clean(self, text: str, where: str, *, field: str) -> str:
        if len(text) < LENGTH_MIN:
            return text
        is_code = field in ("code", "template")
        pattern = _QUOTED_TOKEN if is_code else _TOKEN
        hidden = pattern.sub(lambda found: f"{found[1]}[redacted]" if _is_random(found[2]) else found[0], text)
        if hidden != text:
            self._notes.say("open", where, _LEFT_OUT)
            text = hidden
        cleaned = DEFAULT_REDACTION.value(text)
        if cleaned == text or not isinstance(cleaned, str):
            return text
        if is_code:
            marked = _CODE_NAMED.sub(lambda found: _marked(found, is_template=field == "template"), text)
            again = DEFAULT_REDACTION.value(marked)
            if again == marked or not isinstance(again, str):
                return text
            cleaned = again.replace(_NO_VALUE, "")
        self._notes.say("open", where, _LEFT_OUT)
        return cleaned


def _marked(found: re.Match[str], *, is_template: bool) -> str:
    """A name that is given no value in plain text, so that the redaction sees that; in a template the value may stand
    there without quotes.
    """
    value = NAMED.match(found.string, found.start()) if is_template else None
    return found[0] if value is not None and looks_like_key(value["value"]) else f"{found[0]}{_NO_VALUE}"


def is_secret_name(name: str) -> bool:
    """Whether a field of this name holds a secret."""
    return names_secret(name, _NAMES)


def is_secret(name: str, value: Json) -> bool:
    """Whether the value that the file has under this name is a secret, and no reference to a secret."""
    if not isinstance(value, str) or not value.strip() or "${" in value or not is_secret_name(name):
        return False
    return name.lower() not in _WORDS or _is_random(value)


def _is_random(text: str) -> bool:
    """Whether a text looks like a key, and not like a word."""
    has_both = any(each.isdigit() for each in text) and any(each.isalpha() for each in text)
    return len(text) >= LENGTH_MIN and has_both and not any(each.isspace() for each in text)


def without_keys(definition: JsonObject, secrets: Secrets) -> JsonObject:
    """A definition that holds no key in plain text."""
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
                fields[field] = secrets.without(value, f"{name}.{field}", field=field)
        found[name] = fields
    return found
