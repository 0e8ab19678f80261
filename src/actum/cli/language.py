"""The language in which the command line speaks to a person: English, or Chinese by `ACTUM_LANG` or the locale.

A text that has no Chinese yet is said in English as a whole: no sentence is mixed. The rooms below the command line
write English alone. Their messages are translated here, at the edge, by templates: see `chinese_messages`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import cache
from typing import Literal

from ..core.error_words import Language
from .chinese import HELP, WORDS
from .chinese_messages import ENDINGS, FINDINGS, MESSAGES, REASONS, WAITING

VARIABLES = ("ACTUM_LANG", "LC_ALL", "LC_MESSAGES", "LANG")
"""The first of these that is set names the language, such as `zh`, `zh_CN.UTF-8` or `en_GB`."""

_ENGLISH_HELP = {chinese: english for english, chinese in HELP.items()}
_FIELD = re.compile(r"\{(\w+)\}")
_SENTENCE = "why"
CHARACTERS_MAX = 2_000
"""A longer message holds words of somebody else, and stays English."""
DEPTH_MAX = 3
"""How many messages may stand in one another: a hostile one could hold hundreds, each of which fits several rows."""

Kind = Literal["message", "finding", "waiting"]
_BESIDE: dict[Kind, dict[str, str]] = {"message": {}, "finding": FINDINGS, "waiting": WAITING}
"""Rows of short texts that other messages could be mistaken for: each is used in its place alone."""


def language(environment: Mapping[str, str] = os.environ) -> Language:
    """The person's language.

    >>> language({"LANG": "zh_CN.UTF-8"}), language({"ACTUM_LANG": "en", "LANG": "zh_CN.UTF-8"}), language({})
    ('zh', 'en', 'en')
    """
    said = next((environment[name] for name in VARIABLES if environment.get(name)), "")
    return "zh" if said.lower().startswith("zh") else "en"


def tr(english: str, **values: object) -> str:
    """A text in the person's language.

    Args:
        english: the text in English, with `{name}` in the place of each value.
        values: what is put there.
    """
    text = WORDS.get(english, english) if language() == "zh" else english
    return text.format(**values) if values else text


def tr_help(text: str) -> str:
    """A text of `--help`, whichever language it is in now, in the person's language.

    Args:
        text: the text, or its first paragraph.
    """
    if language() != "zh":
        return _ENGLISH_HELP.get(text, text)
    key = " ".join(text.split())
    return HELP.get(key) or next((chinese for whole, chinese in HELP.items() if whole.startswith(f"{key} ")), text)


def tr_message(message: str) -> str:
    """An error or a remark in the person's language; in English where it fits no template.

    Blanks in front of the message stay.
    """
    if language() != "zh":
        return message
    body = message.lstrip()
    return message[: len(message) - len(body)] + (in_chinese(body) or body)


def tr_finding(text: str) -> str:
    """What `actum doctor` found or advises, in the person's language; it may be an error of any room."""
    return text if language() != "zh" else in_chinese(text, "finding") or text


def tr_waiting(text: str) -> str:
    """What is waited for, beside the spinner, in the person's language."""
    return text if language() != "zh" else in_chinese(text, "waiting") or text


def in_chinese(message: str, kind: Kind = "message", *, depth: int = 0) -> str | None:
    """A message in Chinese; None where it fits no template, or where a sentence within it fits none.

    >>> in_chinese("runs.db can not be read: Permission denied")
    '无法读取 runs.db：没有权限'
    >>> in_chinese("runs.db can not be read: the moon is full")
    """
    if len(message) > CHARACTERS_MAX or depth > DEPTH_MAX:
        return None
    for english, chinese in ENDINGS.items():
        if message.endswith(english):
            body = in_chinese(message.removesuffix(english), kind, depth=depth + 1)
            return None if body is None else body.rstrip("。") + chinese
    for pattern, template in _patterns(kind):
        found = pattern.fullmatch(message)
        if found is None:
            continue
        values = {name: _in_place(name, value, depth) for name, value in found.groupdict().items()}
        if None not in values.values():
            return template.format(**values)
    return None


def _in_place(name: str, value: str, depth: int) -> str | None:
    """What stands in the place of a field: the value, or for a sentence its Chinese."""
    return in_chinese(value, depth=depth + 1) if name.endswith(_SENTENCE) else value


@cache
def _patterns(kind: Kind) -> list[tuple[re.Pattern[str], str]]:
    """Every template as a pattern, those with the most words of their own first."""
    rows = {**REASONS, **MESSAGES, **_BESIDE[kind]}
    ordered = sorted(rows, key=lambda english: len(_FIELD.sub("", english)), reverse=True)
    return [(template_pattern(english), rows[english]) for english in ordered]


def template_pattern(english: str) -> re.Pattern[str]:
    """The pattern of all messages that a template makes."""
    pieces = _FIELD.split(english)  # text and names of fields by turns
    made = [f"(?P<{piece}>.+?)" if at % 2 else re.escape(piece) for at, piece in enumerate(pieces)]
    return re.compile("".join(made), re.DOTALL)
