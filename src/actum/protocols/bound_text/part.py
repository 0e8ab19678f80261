"""What a text is made of: the words of its author, and values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from ...core.json import Json, dumps

Encoded = Literal["", "raw", "query_string", "form"]
"""How a value is encoded by the word of its author: not at all; as it has to be at its place, which is believed
(`raw`); as a query (`query_string`); as a value of a form."""


class NoPlace(ValueError):
    """A value can not stand at its place, or the place can not be told. The message says what could, as `expected ...`
    or as a sentence of its own. It never shows the value."""


class Given(Struct, frozen=True):
    """A value that is put into a text.

    Attributes:
        value: of its own type, for places that have types.
        text: how it is written where the place has none.
        encoded: what the author says of the value's encoding.
    """

    value: Json
    text: str
    encoded: Encoded = ""

    @classmethod
    def of(cls, value: Json, encoded: Encoded = "") -> Given:
        """A value: a text as it is, nothing for null, everything else as JSON.

        >>> Given.of([1]).text, Given.of(None).text
        ('[1]', '')
        """
        return cls(value, "" if value is None else value if isinstance(value, str) else dumps(value), encoded)


class Later(Struct, frozen=True):
    """A place whose value is bound at the moment of sending, such as a secret.

    Attributes:
        text: the text at its place until then.
    """

    text: str


Part = str | Given | Later
Parts = Sequence[Part]


VALUES_MAX = 1_000
"""The most values in an address, a header or a text of markup; more are refused."""


def check_count(parts: Parts) -> None:
    """Bound how many values a text is filled with.

    Raises:
        NoPlace: there are more.
    """
    if sum(isinstance(part, Given) for part in parts) > VALUES_MAX:
        raise NoPlace(f"expected at most {VALUES_MAX} values in one text")


def joined(parts: Parts) -> str:
    """The parts as a text that has no grammar."""
    return "".join(part if isinstance(part, str) else part.text for part in parts)
