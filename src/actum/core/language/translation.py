"""The languages of people: English, and Chinese out of the catalogue `actum/locale/zh.po`.

The catalogue has the format of gettext, so that any tool for translators opens it. It is read as it is, once, when the
first text is wanted in Chinese: 10 ms, and no compiled file that may be older than its source. English runs never open
it. See `docs/decisions/languages.md`.
"""

from __future__ import annotations

import contextlib
import json
import logging
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal

from .sentence import COUNTED, Sentence

log = logging.getLogger("actum")

Language = Literal["en", "zh"]

Context = Literal["", "expected", "help", "hint", "message", "reason", "waiting"]
"""What a text is, as `msgctxt` of the catalogue: the same English may need other words there."""

CATALOGUE = Path(__file__).parents[2] / "locale" / "zh.po"
CHARACTERS_MAX = 2_000
"""A longer message holds words of somebody else, and stays English."""
DEPTH_MAX = 3
"""How many messages may be nested. A hostile message could hold hundreds, and each fits several rows."""
LETTERS_MIN = 12
"""A template with fewer characters of its own would fit messages of others."""

_ENTRY = re.compile(r'^(?:msgctxt ((?:".*"\n)+))?msgid ((?:".*"\n)+)msgstr ((?:".*"\n)+)', re.MULTILINE)
_FIELD = re.compile(r"\{(\w+)([^{}]*)\}")
_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^'"].*?"""
"""What Python writes for a value with `!r`: a text in quotes ends where they end, and swallows no other words."""
_SENTENCE = "why"
"""How the name of a value ends that is a sentence, and has to be Chinese too."""
_DETAIL = "detail"
"""How the name of a value ends that a library may have said: where the value has no Chinese, it is told as it is, and
the sentence around it in Chinese."""
_CONTEXTS: Mapping[str, Context] = {
    "hint_why": "hint",
    "hint_detail": "hint",
    **dict.fromkeys(("expected_detail", "kinds_detail", "wanted_detail"), "expected"),
}
"""What a value is, by its name: what would be right, such as `write url`, or what a schema expects."""


@cache
def catalogue() -> Mapping[tuple[str, str], str]:
    """The Chinese of every English text that has one, by context and text."""
    try:
        return entries(CATALOGUE.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        log.warning("the catalogue %s can not be read, so English is spoken: %s", CATALOGUE, error)
        return {}


def entries(text: str) -> dict[tuple[str, str], str]:
    """The entries of a catalogue that have a translation, by context and English text. A damaged entry is left out."""
    found: dict[tuple[str, str], str] = {}
    for context, english, said in _ENTRY.findall(text):
        with contextlib.suppress(ValueError):
            if english != '""\n' and _joined(said):
                found[_joined(context), _joined(english)] = _joined(said)
    return found


def chinese(text: Sentence | str, context: Context = "") -> str | None:
    """A text in Chinese; None where it has none, or where a sentence in it has none. Nothing stays nothing.

    A text without values is looked up as it stands; where it has no entry, as a message that a template has made:

    >>> chinese(Sentence("It holds {covers}.", covers="all"))
    '已批准：all。'
    >>> chinese("runs.db can not be read: Permission denied", "message")
    '无法读取 runs.db：没有权限'
    >>> chinese("runs.db can not be read: the moon is full", "message")
    """
    if isinstance(text, Sentence) and text.values:
        template = catalogue().get(("", text.template))
        values = {name: _value(name, value) for name, value in text.values.items()}
        return None if template is None or None in values.values() else filled(template, values)
    said = str(text)
    return (
        catalogue().get((context, said)) or catalogue().get(("", said)) or (_matched(said, context, 0) if said else "")
    )


def in_language(text: Sentence | str, language: Language, context: Context = "") -> str:
    """A text in a person's language; in English where it has no Chinese."""
    return (chinese(text, context) if language == "zh" else None) or str(text)


def accepted(header: str) -> Language:
    """The language that a person reads, by `Accept-Language` (RFC 9110, 12.5.4); English where the header names
    neither.

    >>> accepted("fr, zh-CN;q=0.9, en;q=0.5"), accepted("zh;q=0"), accepted("")
    ('zh', 'en', 'en')
    """
    best: tuple[float, Language] = (0.0, "en")
    for part in header[:500].split(","):
        tag, _, weight = part.strip().partition(";")
        name, given = tag.strip().lower().partition("-")[0], weight.strip().removeprefix("q=")
        try:
            share = float(given) if given else 1.0
        except ValueError:
            continue
        if name == "en" and share > best[0]:
            best = (share, "en")
        elif name == "zh" and share > best[0]:
            best = (share, "zh")
    return best[1]


def template_pattern(english: str) -> re.Pattern[str]:
    """The pattern of all messages that a template makes."""
    pieces = _FIELD.split(COUNTED.sub("{\\1} \0\\2|\\3\0", english))  # text, name of a field, and its form by turns
    made: list[str] = []
    for at in range(0, len(pieces), 3):
        made.append(_pattern_of_text(pieces[at]))
        for name, form in [pieces[at + 1 : at + 3]] if at + 1 < len(pieces) else []:
            value = _QUOTED if form == "!r" else ".+?"
            made.append(f"(?P={name})" if name in pieces[1:at:3] else f"(?P<{name}>{value})")
    return re.compile("".join(made), re.DOTALL)


def _pattern_of_text(text: str) -> str:
    """The pattern of what stands between the fields of a template; between two zeros are the two forms of a noun."""
    forms = text.split("\0")
    return "".join(
        re.escape(each) if at % 2 == 0 else f"(?:{'|'.join(re.escape(form) for form in each.split('|'))})"
        for at, each in enumerate(forms)
    )


def _value(name: str, value: object) -> object:
    """A value of a sentence: one that is a sentence itself in Chinese, or None where it has none."""
    inner = getattr(value, "sentence", value)  # of an error of ours
    if isinstance(inner, Sentence):
        told = chinese(inner, _CONTEXTS.get(name, "message"))
        return str(inner) if told is None and name.endswith(_DETAIL) else told
    context = _CONTEXTS.get(name, "message")
    if name.endswith(_DETAIL):
        return chinese(str(value), context) or value
    if isinstance(value, BaseException) or name.endswith(_SENTENCE):
        return chinese(str(value), context)
    return value


def _matched(message: str, context: Context, depth: int) -> str | None:
    """The Chinese of a message by the template that makes it."""
    if context in ("", "help") or len(message) > CHARACTERS_MAX or depth > DEPTH_MAX:
        return None
    for pattern, template in _patterns(context):
        found = pattern.fullmatch(message)
        if found is None:
            continue
        values = {name: _part(name, value, depth + 1) for name, value in found.groupdict().items()}
        if None not in values.values():
            return filled(template, values)
    return None


def _part(name: str, value: str, depth: int) -> str | None:
    """A value of a finished message: one that is a sentence itself in Chinese, or None where it has none."""
    if not name.endswith((_SENTENCE, _DETAIL)):
        return value
    context = _CONTEXTS.get(name, "message")
    told = catalogue().get((context, value)) or _matched(value, context, depth)
    return value if told is None and name.endswith(_DETAIL) else told


def filled(template: str, values: Mapping[str, object]) -> str | None:
    """A template with its values; None where a translator wrote a placeholder that it can not have."""
    try:
        return template.format(**values)
    except (AttributeError, LookupError, TypeError, ValueError):
        return None


@cache
def _patterns(context: Context) -> list[tuple[re.Pattern[str], str]]:
    """Every template as a pattern, with its Chinese; those with the most words of their own first.

    A value of a finished message is text: it is put into the Chinese as it stands there.
    """
    rows = {
        english: _FIELD.sub(r"{\1}", said)
        for (kind, english), said in catalogue().items()
        if kind in ("message", "reason", context) or (kind == "" and _own(english) >= LETTERS_MIN)
    }
    ordered = sorted((english for english in rows if "{{" not in english), key=_own, reverse=True)
    return [(template_pattern(english), rows[english]) for english in ordered]


def _own(english: str) -> int:
    """How many characters of a template are its own words."""
    return len(_FIELD.sub("", english))


def _joined(lines: str) -> str:
    """The text of an entry, which is written in quotes, on one line or on several."""
    return "".join(json.loads(f"[{','.join(lines.splitlines())}]"))
