"""The language in which the command line speaks to a person: English, or Chinese by `ACTUM_LANG` or the locale.

A text that has no Chinese yet is said in English as a whole: no sentence is mixed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from ..core.error_words import Language
from .chinese import ERRORS, HELP, WORDS

VARIABLES = ("ACTUM_LANG", "LC_ALL", "LC_MESSAGES", "LANG")
"""The first of these that is set names the language, such as `zh`, `zh_CN.UTF-8` or `en_GB`."""

_ENGLISH_HELP = {chinese: english for english, chinese in HELP.items()}


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
    """A text of `--help`, whichever language it is in now, in the person's language."""
    key = " ".join(text.split())
    if language() == "zh":
        return HELP.get(key, text)
    return _ENGLISH_HELP.get(text, text)


def tr_error(message: str) -> str:
    """What went wrong, in the person's language, as far as there are words for it."""
    if language() == "zh":
        for pattern, chinese in ERRORS:
            if found := pattern.fullmatch(message):
                return found.expand(chinese)
    return message
