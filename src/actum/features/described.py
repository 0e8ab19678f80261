"""What a docstring says of each attribute, for the document of the API and for `--help`."""

from __future__ import annotations

import inspect
import re

_ATTRIBUTE = re.compile(r"^ {0,8}(\w[\w, ]*): (.*?)(?=^ {0,8}\w[\w, ]*: |\Z)", re.MULTILINE | re.DOTALL)


def attributes_in(text: str) -> tuple[str, dict[str, str]]:
    """The summary of a docstring, and what the docstring says of each attribute, as sentences.

    >>> attributes_in("A bookmark.\\n\\nAttributes:\\n    url: where it leads.\\n    title, x: words\\n      for it.")
    ('A bookmark.', {'url': 'Where it leads.', 'title': 'Words for it.', 'x': 'Words for it.'})
    """
    summary, _, listed = text.partition("Attributes:")
    found = {
        name.strip(): _sentence(" ".join(said.split()))
        for names, said in _ATTRIBUTE.findall(listed)
        for name in names.split(",")
    }
    return " ".join(summary.split()), found


def attributes_of(kind: type) -> dict[str, str]:
    """What the docstrings of a type and of the types below it say of each attribute."""
    found: dict[str, str] = {}
    for each in reversed(kind.__mro__):
        if each.__doc__ and "__doc__" in vars(each):
            found |= attributes_in(inspect.cleandoc(each.__doc__))[1]
    return found


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
