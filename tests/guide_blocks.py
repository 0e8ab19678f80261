"""The code blocks of the guides, and what their fences say of them.

    ```console                            the commands behind `$` are typed; what follows each is what they print
    ```sh                                 the same, without the output
    ```python file=desk.py                is run, and kept under this name for the blocks that follow
    ```toml                               is read as `actum.toml`, and kept
    ```console not run: it needs Docker   is only read

A reader sees the language alone: whatever shows Markdown leaves the rest of a fence out.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

FENCED = re.compile(r"^```(\w*)([^`\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
REASON = "not run: "
SHELLS = ("console", "sh")
BEFORE_COMMENT = re.compile(r"""(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|(?<=\S)\#|[^'"\\\#])*""")
"""A line of a shell up to a comment: `#` inside a word or in quotes begins none."""
OPERATORS = ("&&", "|", "<", ">")


class GuideCommand(NamedTuple):
    """A line that a reader types.

    Attributes:
        text: the line.
        shown: what the guide says that the line prints; empty where the guide does not say.
    """

    text: str
    shown: str

    def parts(self) -> Iterator[tuple[str, list[str]]]:
        """The simple commands of the line, each behind the operator before it.

        >>> list(GuideCommand("cd ops && cat < 'a b'  # look", "").parts())
        [('', ['cd', 'ops']), ('&&', ['cat']), ('<', ['a b'])]
        """
        words = shlex.shlex(BEFORE_COMMENT.match(self.text)[0], posix=True, punctuation_chars="&|<>")  # type: ignore[index]  # it always fits
        words.whitespace_split, words.commenters = True, ""
        operator, simple = "", list[str]()
        for word in words:
            if word in OPERATORS:
                yield operator, simple
                operator, simple = word, []
            else:
                simple.append(word)
        if simple:
            yield operator, simple


class GuideBlock(NamedTuple):
    """A block of a page.

    Attributes:
        place: the page and the line of the fence, for a message.
        language: the first word of the fence.
        file: the name under which the block is kept; empty where it is not.
        reason: why the block is not run; empty where it is.
        text: what is in it.
    """

    place: str
    language: str
    file: str
    reason: str
    text: str

    def commands(self) -> list[GuideCommand]:
        """The commands of a block that is typed into a shell."""
        text = self.text.replace("\\\n", " ")
        if self.language == "console":
            return [GuideCommand(*each) for each in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE)]
        return [GuideCommand(line, "") for line in text.splitlines() if line]


def blocks_of(page: Path) -> list[GuideBlock]:
    """The blocks of a page, in order.

    Raises:
        ValueError: a fence says what is not understood.
    """
    text = page.read_text("utf-8")
    return [
        _block(f"{page.name}:{text[: found.start()].count(chr(10)) + 1}", *found.groups())
        for found in FENCED.finditer(text)
    ]


def _block(place: str, language: str, note: str, text: str) -> GuideBlock:
    note = note.strip()
    if note.startswith(REASON):
        return GuideBlock(place, language, "", note.removeprefix(REASON), text)
    key, _, file = note.partition("=")
    if note and (key != "file" or not re.fullmatch(r"[\w.-]+", file)):
        raise ValueError(f"{place}: {note!r} is neither file=NAME nor `{REASON}` with a reason")
    return GuideBlock(place, language, file or ("actum.toml" if language == "toml" else ""), "", text)
