"""The marks of thoughts and of results in all families, for the dialects that any model may be told to write. Pure.

A model that is told to write `prompt_json` or `react` falls back into the marks that the model was trained on. These
marks are collected from the rows of `formats`, so a new row is known here by itself.
"""

from __future__ import annotations

from msgspec import structs

from .. import chat_marks
from ..chat_marks import ChatMarks
from .formats.rows import FORMATS
from .invented_results import result_marks, turn_marks
from .thought_marks import THINK, ThoughtMarks


def _signed(marks: ThoughtMarks) -> ThoughtMarks:
    """Without the forms of an opening mark that begin with a word; see `_sign`."""
    return structs.replace(marks, opening=tuple(mark for mark in marks.opening if not mark[:1].isalpha()))


ALL_THOUGHT_MARKS = tuple(
    dict.fromkeys((THINK, *(_signed(own) for row in FORMATS.values() for own in row.thought_marks)))
)
"""How a thought begins and ends."""

_OTHERS = (
    *("<tool_response", "<tool_result", "<tool_output", "<result", "<function_results>", "<TOOL_RESPONSE"),
    *("<|tool_response", "Results of the tools, sent by the program", "以下是工具返回的结果"),
)
"""Marks of results beside those of the rows: near misses of tags, and what `prompt_json` writes itself."""

_OF_ANSWERS = ("<response>",)
"""A mark of results in one family, in which other families write their answers."""

_LENGTH_MIN = 4
"""The least length of a mark of results: a shorter one, such as `["`, occurs in answers as well."""

_CHATS = [value for value in vars(chat_marks).values() if isinstance(value, ChatMarks)]
"""Also the chat templates that no row names: a model of such a family makes up turns as well."""


def _sign(mark: str) -> str:
    """A mark from its first sign on: `<|role_sep|>` of `user<|role_sep|>`.

    Where a mark began with a word, each text that ends in the first letters of the word would be held back.
    """
    return mark[mark.index("<") :] if mark[:1].isalpha() and "<" in mark else mark


ALL_RESULT_MARKS = tuple(
    dict.fromkeys(
        mark
        for mark in (
            *_OTHERS,
            *(_sign(mark) for row in FORMATS.values() for mark in (*result_marks(row.result), *row.results)),
            *(_sign(mark) for chat in _CHATS for mark in turn_marks(chat)),
        )
        if mark not in _OF_ANSWERS and len(mark) >= _LENGTH_MIN
    )
)
"""How a result that the model made up begins, or the turn of somebody else."""
