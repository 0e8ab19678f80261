"""A sentence that a person may read in another language: the template of its words, and the values in it.

What programs read, the record and models get is `str(sentence)`, which is English. `translation` says it in Chinese.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from string import Formatter

VALUE_CHARS_MAX = 16 * 1024
"""The most characters of a text that is put into a sentence: a stranger may have sent the text."""
COUNTED = re.compile(r"\{(\w+):([^{}|]*)\|([^{}|]*)\}")
"""A number with its noun in a template, as `{count:run is|runs are}`. Chinese has one form, and writes `{count}`."""


class Sentence:
    """A sentence of ours, kept as facts.

    Args:
        template: the sentence in English, with `{name}` in the place of each value.
        values: what is put there, of a long text the beginning. A text without values is taken as it is, braces and
            all. A value that is a sentence or an error is itself told in the person's language. A number that counts
            something is written with its noun, for one and for any other number.

    >>> str(Sentence("there is no agent {name!r}", name="crm")), str(Sentence("write {} around it"))
    ("there is no agent 'crm'", 'write {} around it')
    >>> [str(Sentence("{count:run is|runs are} released", count=count)) for count in (1, 2)]
    ['1 run is released', '2 runs are released']
    """

    __slots__ = ("template", "values")

    def __init__(self, template: str, /, **values: object) -> None:
        self.template = template
        self.values = {name: _shortened(value) for name, value in values.items()}

    def __eq__(self, other: object) -> bool:
        """A sentence equals its English text."""
        return isinstance(other, Sentence | str) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        if not self.values:
            return self.template
        if COUNTED.search(self.template):
            return _WITH_NOUNS.vformat(self.template, (), self.values)
        return self.template.format(**self.values)


class _WithNouns(Formatter):
    def format_field(self, value: object, format_spec: str) -> str:
        one, is_counted, many = format_spec.partition("|")
        if is_counted:
            return f"{value} {one if value == 1 else many}"
        return str(super().format_field(value, format_spec))


_WITH_NOUNS = _WithNouns()


def names_or_none(names: Iterable[str]) -> str | Sentence:
    """Names as a value of a sentence: with commas between them, or the word for none in the person's language.

    >>> str(Sentence("there are: {known}", known=names_or_none([])))
    'there are: none'
    """
    return ", ".join(names) or Sentence("none")


def as_sentence(text: object, values: Mapping[str, object]) -> Sentence:
    """What an error is made of: a sentence that stands already, or the template of a new one with its values."""
    return text if isinstance(text, Sentence) else Sentence(str(text), **values)


def _shortened(value: object) -> object:
    if not isinstance(value, str) or len(value) <= VALUE_CHARS_MAX:
        return value
    return f"{value[:VALUE_CHARS_MAX]}… ({len(value)} characters)"
