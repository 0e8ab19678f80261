"""The language in which the command line speaks to a person: English, or Chinese by `ACTUM_LANG` or the locale.

A text that has no Chinese yet is said in English as a whole: no sentence is mixed. The Chinese is in
`core.language.translation`'s catalogue; what programs read (`--json`, the record, a model) stays English.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from ..core.language.sentence import Sentence
from ..core.language.translation import Context, Language, catalogue, in_language

VARIABLES = ("ACTUM_LANG", "LC_ALL", "LC_MESSAGES", "LANG")
"""The first of these that is set names the language, such as `zh`, `zh_CN.UTF-8` or `en_GB`."""


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
    return _in_language(Sentence(english, **values))


def tr_help(text: str) -> str:
    """A text of `--help`, whichever language it is in now, in the person's language.

    Args:
        text: the text, or its first paragraph.
    """
    if text.isascii() and language() != "zh":
        return text
    rows = {english: said for (context, english), said in catalogue().items() if context == "help"}
    if language() != "zh":
        return next((english for english, said in rows.items() if said == text), text)
    key = " ".join(text.split())
    return rows.get(key) or next((said for whole, said in rows.items() if whole.startswith(f"{key} ")), text)


def tr_message(message: Sentence | str) -> str:
    """An error or a remark in the person's language; in English where it has no Chinese.

    Blanks in front of the message stay.
    """
    if isinstance(message, Sentence):
        return _in_language(message, "message")
    body = message.lstrip()
    return message[: len(message) - len(body)] + _in_language(body, "message")


def tr_hint(hint: Sentence | str) -> str:
    """What would be right in the text of a definition, in the person's language."""
    return _in_language(hint, "hint")


def tr_waiting(text: Sentence) -> str:
    """What is waited for, beside the spinner, in the person's language."""
    return _in_language(text, "waiting")


def _in_language(text: Sentence | str, context: Context = "") -> str:
    return in_language(text, language(), context)
