"""How a result looks that a model made up behind its own call. Pure.

A model that goes on after a call writes what it expects: a result in the form in which its dialect tells results, a
line such as `Observation: ...`, or a turn of the user or of the tool. What follows rests on something that never
happened, so the reply ends there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ..chat_marks import ChatMarks

CUT = "hallucinated observation cut"
"""The repair at a call behind which a made-up result was cut."""

RESULT_WORDS = (
    *("observation", "observations", "result", "results", "output", "outputs"),
    *("tool result", "tool results", "tool output", "tool outputs", "tool response", "tool responses"),
    *("观察", "观察结果", "结果", "工具返回", "工具结果", "工具输出", "工具返回结果", "返回结果"),
)
"""Words that begin a line with a result, before a colon."""

ROLE_WORDS = ("user", "tool", "human", "用户", "工具")
"""Words that begin another role's turn, before a colon. English ones count with a capital only: `user: ada` is data."""

_WORDS = sorted(
    {
        form
        for word in (*RESULT_WORDS, *ROLE_WORDS)
        for form in (word.capitalize(), word.title(), word.upper(), *([] if word in ROLE_WORDS else [word]))
    }
    | {word for word in ROLE_WORDS if not word.isascii()},
    key=len,
    reverse=True,
)
_BOLD = r"[*_]{1,3}[ \t]{0,4}"
_NUMBER = r"[ \t]?(?:\[?\d{1,3}\]?|\([^\n\[\]()<>|]{0,40}\))?"
_NUMBER_BEGUN = r"[ \t]?(?:\[?\d{0,3}\]?|\([^\n\[\]()<>|]{0,40}\)?)"
_BOLD_END = r"[ \t]{0,2}[*_]{0,3}[ \t]?"
_COLON = "[:：]"


def alternatives(words: Iterable[str], behind: str = "") -> str:
    """A pattern of one of some words, each group of them under its first character, which makes the search fast."""
    rests: dict[str, list[str]] = {}
    for word in sorted(set(words), key=len, reverse=True):
        rests.setdefault(word[0], []).append(re.escape(word[1:]))
    return "|".join([f"{re.escape(first)}(?:{'|'.join(found)}){behind}" for first, found in rests.items()])


_BEGINNINGS = {word[:end] for word in _WORDS for end in range(1, len(word))}
_TAIL = _NUMBER + _BOLD_END + _COLON
WORD = "|".join(
    [
        alternatives(_WORDS, _TAIL),
        *[f"{sign}[*_]{{0,2}}[ \t]{{0,4}}(?:{alternatives(_WORDS)}){_TAIL}" for sign in (r"\*", "_")],
    ]
)
"""A word for a result or a role, perhaps with a number or a tool's name behind it, and a colon."""

EDGES = "}])>|`["
"""What a call, or the mark behind it, ends in: a word counts behind one of these, or where it begins a line."""
LOOSE = " \t\r\n,;，；、}]#*_>"
_UNFINISHED = re.compile(
    rf"(?:\A|[\n{re.escape(EDGES)}])[{re.escape(LOOSE)}]*?"
    rf"(?P<word>(?:{_BOLD})?(?:{alternatives(_BEGINNINGS)}|(?:{alternatives(_WORDS)}){_NUMBER_BEGUN}{_BOLD_END})\Z|{_BOLD}\Z)"
)
_LENGTH_MAX = 120


def unfinished_word(text: str, at: int) -> int:
    """Where, from a place on, the end of the text begins that may become a `WORD`; its length where none may."""
    found = _UNFINISHED.search(text[max(at, len(text) - _LENGTH_MAX) :])
    return len(text) - (len(found["word"]) if found is not None else 0)


_RESULT_MARK = re.compile(r"<[^<>{}\s=]+>?|\[[A-Z_]{2,}\]|[^{\n]{4,}")


def result_marks(form: str) -> tuple[str, ...]:
    """How a result begins that is told in this form; none where its beginning is no mark."""
    found = _RESULT_MARK.match(form)
    return (found[0].strip(),) if found is not None else ()


_TAG_END = re.compile(r"[^\s<>]*>")
_TAG = re.compile(r"<[^\s<>]+>")
_ROLES = ("user", "tool", "system", "ipython", "observation", "function", "environment")


def turn_marks(chat: ChatMarks) -> tuple[str, ...]:
    """How the turn of another role begins in a chat template."""
    mark = chat.user.split("{text}")[0].strip()
    if not mark or mark.endswith(":"):
        return ()
    for name in (str.lower, str.capitalize, str.upper):
        before, user, behind = mark.partition(name("user"))
        if user:
            end = (_TAG_END if before else _TAG).match(behind)  # a role without a mark before it needs one behind it
            return tuple(before + name(role) + (end[0] if end is not None else "") for role in _ROLES)
    return (mark,)


def prefix_free(marks: Sequence[str]) -> tuple[str, ...]:
    """The marks without those that begin with another of them: the shorter one is found in the longer anyway."""
    found = set(marks)
    return tuple(sorted(mark for mark in found if not any(mark != one and mark.startswith(one) for one in found)))
