"""Why a document can not be read, in words for a person."""

from __future__ import annotations

from collections.abc import Mapping

from ..core.errors import UsageError
from ..core.language.sentence import Sentence


class UnreadableAttachment(UsageError):
    """A document that came with a question can not be read."""


PROBLEMS: Mapping[str, Sentence] = {
    "broken": Sentence("the file is damaged, or is not what its name says"),
    "empty": Sentence("there is no text in it"),
    "encrypted": Sentence("it is encrypted"),
    "name": Sentence("its name can not be used: it is too long, or holds control characters"),
    "no_text": Sentence("it is scanned without text"),
    "not_a_file": Sentence("it is a link, or no plain file"),
    "not_installed": Sentence("the extra `documents` is not installed: pip install 'actum[documents]'"),
    "too_large": Sentence("it is too large"),
    "too_many_pages": Sentence("it has more than 500 pages"),
    "too_much_text": Sentence("it has more than 2 million characters of text"),
    "too_slow": Sentence("it took longer than 20 seconds to read"),
    "unknown_kind": Sentence("files of this kind are not read"),
    "unopened": Sentence("the file can not be opened"),
    "unread_folder": Sentence("the folder can not be read: what was read of it before stays"),
}
"""Each problem by its name."""
