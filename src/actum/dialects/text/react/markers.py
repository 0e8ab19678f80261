"""The words that begin a line of ReAct, in English and Chinese, in all the ways in which models write them.

All of these are markers:

    Thought:   **Action:**   Action Input：   思考：   【行动】   ### Answer:   Thought 2:   1. Action:   final answer :
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

Kind = Literal["question", "thought", "plan", "action", "input", "observation", "answer"]

WORDS: dict[Kind, tuple[str, ...]] = {
    "question": ("question", "user question", "问题", "用户问题", "用户提问"),
    "thought": ("thought", "thoughts", "思考", "想法", "思路"),
    "plan": ("plan", "计划", "规划"),
    "action": (
        *("action", "actions", "tool", "tool name"),
        *("行动", "动作", "操作", "工具", "工具名", "工具名称", "调用工具", "使用工具"),
    ),
    "input": (
        *("action input", "action inputs", "action_input", "actioninput", "action arguments", "action parameters"),
        *("tool input", "input", "inputs", "arguments", "args", "parameters", "params"),
        *("行动输入", "动作输入", "操作输入", "工具输入", "行动参数", "工具参数", "输入参数", "输入", "参数"),
    ),
    "observation": ("observation", "observations", "观察", "观察结果", "观测", "观测结果"),
    "answer": (
        *("answer", "final answer", "final_answer", "final response"),
        *("回答", "最终回答", "答案", "最终答案", "答复", "最终答复"),
    ),
}
"""What each part of a step is called, the template's own word first in each language."""

PLAIN = frozenset(("thought", "action", "observation", "question", "思考", "行动", "观察", "问题"))
"""Words that even in the middle of an answer begin a new part. The others are too common in the lines of an answer."""

_KINDS: dict[str, Kind] = {word: kind for kind, words in WORDS.items() for word in words}
_PREFIXES = frozenset(word[:end] for word in _KINDS for end in range(1, len(word) + 1))
_LONGEST_FIRST = sorted(_KINDS, key=len, reverse=True)


def _spelled(word: str) -> str:
    """A word of several parts, with one to four blanks between each two."""
    return r"[ \t]{1,4}".join(map(re.escape, word.split(" ")))


_DECORATION = (
    r"[ \t]{0,8}(?P<item>(?:[-*•+]|\d{1,3}[.)、])[ \t]{1,4})?(?:[#>]{1,6}[ \t]{0,4})?(?P<bold>[*_]{1,3})?(?P<box>【)?"
)
_NUMBER = r"[ \t]{0,4}(?:[\[(（#]?\d{1,3}[\])）]?)?[ \t]{0,4}"
_MARKER = re.compile(
    rf"{_DECORATION}(?P<word>{'|'.join(_spelled(word) for word in _LONGEST_FIRST)}){_NUMBER}"
    r"(?:(?(box)】[ \t]{0,4}[:：]?|[*_]{0,3}[ \t]{0,4}[:：])(?(bold)[*_]{0,3}))",
    re.IGNORECASE,
)
_LEAD = re.compile(
    r"[ \t]{0,8}(?:(?:[-*•+]|\d{1,3}(?:[.)、]|\Z))(?:[ \t]{1,4}|\Z))?(?:[#>]{1,6}[ \t]{0,4})?[*_]{0,3}【?"
)
_TAIL = re.compile(
    r"[ \t]{0,4}[\[(（#]?\d{0,3}[\])）]?[ \t]{0,4}(?:】[ \t]{0,4}[:：]?|[*_]{0,3}[ \t]{0,4}[:：]?)[*_]{0,3}"
)
_BLANKS = re.compile(r"(?<=[a-z])[ \t]{1,4}")
LENGTH_MAX = 80
"""Characters within which a marker ends."""


class Marker(NamedTuple):
    """A marker at the beginning of a line.

    Attributes:
        kind: which part it begins.
        plain: it is one that counts in an answer too: a plain word, and no item of a list.
        end: where the text behind it begins.
    """

    kind: Kind
    plain: bool
    end: int


def find_marker(text: str, at: int, *, last: bool) -> Marker | Literal["wait"] | None:
    """The marker that stands at the beginning of a line.

    Args:
        text: what there is of the text.
        at: where the line begins.
        last: nothing will follow the text.

    Returns:
        The marker; None where there is none; `wait` where more text may still make one.
    """
    found = _MARKER.match(text, at, at + LENGTH_MAX)
    if found is None:
        return "wait" if not last and _may_become_marker(text[at : at + LENGTH_MAX]) else None
    if found.end() == len(text) and not last and (found["bold"] or found["box"]):
        return "wait"
    word = " ".join(found["word"].lower().split())
    return Marker(_KINDS[word], word in PLAIN and found["item"] is None, found.end())


def _may_become_marker(line: str) -> bool:
    """A beginning of a line that more text may turn into a marker."""
    lead = _LEAD.match(line)
    rest = line[lead.end() :].lower() if lead is not None else line
    rest = _BLANKS.sub(" ", rest)
    if not rest or rest in _PREFIXES:
        return len(line) < LENGTH_MAX
    return any(rest.startswith(word) and _TAIL.fullmatch(rest, len(word)) for word in _LONGEST_FIRST)
