"""A sentence that a person may read in another language: the template of its words, and the values in it.

What programs read, the record and models get is `str(sentence)`, which is English. `translation` says it in Chinese.
"""

from __future__ import annotations

from collections.abc import Mapping

VALUE_CHARS_MAX = 16 * 1024
"""The most characters of a text that is put into a sentence: a stranger may have sent the text."""


class Sentence:
    """A sentence of ours, kept as facts.

    Args:
        template: the sentence in English, with `{name}` in the place of each value.
        values: what is put there, of a long text the beginning. A text without values is taken as it is, braces and
            all. A value that is a sentence or an error is itself told in the person's language.

    >>> str(Sentence("there is no agent {name!r}", name="crm")), str(Sentence("write {} around it"))
    ("there is no agent 'crm'", 'write {} around it')
    """

    __slots__ = ("template", "values")

    def __init__(self, template: str, /, **values: object) -> None:
        self.template = template
        self.values = {name: _shortened(value) for name, value in values.items()}

    def __str__(self) -> str:
        return self.template.format(**self.values) if self.values else self.template


def as_sentence(text: object, values: Mapping[str, object]) -> Sentence:
    """What an error is made of: a sentence that stands already, or the template of a new one with its values."""
    return text if isinstance(text, Sentence) else Sentence(str(text), **values)


def _shortened(value: object) -> object:
    if not isinstance(value, str) or len(value) <= VALUE_CHARS_MAX:
        return value
    return f"{value[:VALUE_CHARS_MAX]}… ({len(value)} characters)"
