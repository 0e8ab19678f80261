"""The forms in which models write references, read as one: `[1]`, several as `[1][2]`. Pure.

Models are told to write `[1]`. What they write as well is read, in brackets of three kinds (`[ ]`, `【 】`, `［ ］`): a
list `[1, 2]`, a range `[1-3]`, a mark with a source behind the number `【1†source】`, and a footnote mark `[^1]`.

No reference is: what is in code; the words of a link, `[1, 2](url)`; an index, `x[1, 2]`; a footnote that the
answer itself explains; a number with a thousands separator, `[1,234]`; a year, `【2022】`; a list or a range with 0, or
that runs backwards; and `【1】` before the words of a line, where it numbers them. A mark of a link, `【link 3】`, that
was copied from a page is left out.

>>> plain_references("Both say so【1†source】[2, 3]; see the year before【link 3】.")
'Both say so[1][2][3]; see the year before.'
"""

from __future__ import annotations

import re

RANGE_MAX = 20
"""A longer range is no range of references."""
_CODE = re.compile(
    r"^[^\S\n]*(?:```|~~~).*?(?:^[^\S\n]*(?:```|~~~)[^\n]*$|\Z)"
    r"|(?<!`)(`{1,4})(?!`)[^\n]{0,1000}?[^`\n]\1(?!`)",
    re.DOTALL | re.MULTILINE,
)
_BRACKET = re.compile(r"[\[\]【】［］]")
_RANGE = r"\d{1,3}(?:\s?[-\u2010-\u2015~～]\s?\d{1,3})?"
_SEVERAL = rf"(?P<several>(?!\d{{1,3}}[,，]\d{{3}}\b){_RANGE}(?:\s*[,，、;；]\s*{_RANGE})*)"
_INSIDE = rf"\s*(?:\^?(?P<one>\d{{1,3}})|{_SEVERAL})\s*(?:†[^\[\]【】［］\n]{{0,80}})?"
_FORM = re.compile(rf"(?P<opens>[\[【［]){_INSIDE}(?P<closes>[\]】］])")
_LINK = re.compile(r"【link \d{1,4}】")
"""The mark of a link on a page of the browser."""
_CLOSES = {"[": "]", "【": "】", "［": "］"}
_PART = re.compile(r"(\d+)(?:\s?[^\d\s,，、;；]\s?(\d+))?")
_INDEXED = re.compile(r"(?:(?<![^\W_\u3040-\u9fff])[A-Za-z]|[^\W_]_\w*[^\W_])$")
"""Behind such a name brackets hold an index."""
_MARK_CHARS_MAX = 40
"""Longer is no mark of a list, with its blanks."""
_FOOTNOTE = re.compile(r"^[^\S\n]{0,3}\[\^(\d{1,3})\]:", re.MULTILINE)


def without_code(text: str) -> str:
    """A text of the same length whose code has no brackets.

    >>> without_code("Write `a[1]` [1].")
    'Write `a 1 ` [1].'
    """
    return _CODE.sub(lambda code: _BRACKET.sub(" ", code[0]), text)


def plain_references(text: str) -> str:
    """A text with each reference written as `[1]`, and without marks of links; all else is as it was."""
    text = _without_links(text)
    read = without_code(text)
    explained = {int(each) for each in _FOOTNOTE.findall(read)}
    told, at = "", 0
    for form in _FORM.finditer(read):
        if numbers := _numbers(form, read, explained):
            told += text[at : form.start()] + "".join(f"[{each}]" for each in numbers)
            at = form.end()
            told += " " if read.startswith("(", at) else ""  # else it would be a link
    return told + text[at:]


def _without_links(text: str) -> str:
    """A text without the marks of links that stand in no code."""
    told, at = "", 0
    for mark in _LINK.finditer(without_code(text)):
        told, at = told + text[at : mark.start()], mark.end()
    return told + text[at:]


def _numbers(form: re.Match[str], read: str, explained: set[int]) -> list[int]:
    """The numbers of a reference, if a form is one that has to be written otherwise."""
    opens, inside = form["opens"], form[0][1:-1]
    if form["closes"] != _CLOSES[opens] or (opens == "[" and inside.isascii() and inside.isdigit()):
        return []
    if opens == "[":
        name = read[max(0, form.start() - 60) : form.start()]
        if read.startswith("(", form.end()) or (form["several"] and _INDEXED.search(name)):
            return []
    elif _begins_line(read, form.start()) and read[form.end() : form.end() + 1].strip():
        return []
    if form["one"]:
        number = int(form["one"])
        return [] if inside.lstrip().startswith("^") and number in explained else [number]
    found: list[int] = []
    for first, last in _PART.findall(form["several"]):
        begins, ends = int(first), int(last or first)
        if begins < 1 or not 0 <= ends - begins < RANGE_MAX or (last and begins == ends):
            return []
        found += range(begins, ends + 1)
    return found


def _begins_line(read: str, at: int) -> bool:
    """Whether nothing but the mark of a list stands before a place of its line."""
    before = read[max(0, at - _MARK_CHARS_MAX) : at]
    return (at <= _MARK_CHARS_MAX or "\n" in before) and not before.rpartition("\n")[2].strip(" \t>*+#•-")
