"""Whether an answer is backed by its references, passage by passage. Pure.

A passage is a paragraph, an item of a list or a row of a table. A reference `[1]` backs the words before it in its
passage, back to the reference before. Headings, questions, code, and a line that ends in a colon before a list need
none. Whether a quote *means* what the words before it say is not checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from .numbers import numbers_in
from .reference_forms import plain_references, without_code
from .references import QuoteReference

ProblemKind = Literal["no_reference", "unknown_reference", "number_not_quoted"]
_REFERENCES = re.compile(r"\[\d{1,4}\](?!\()(?:[\s,，、]*\[\d{1,4}\](?!\())*")
_NUMBER = re.compile(r"\d+")
_MARKER = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)、]|[（(]?[一二三四五六七八九十]{1,3}[）)、])\s+|^\s*(?:>\s*)+")
_RULE = re.compile(r"^[\s|:*_=-]+$")
_FENCE = re.compile(r"^\s*(```|~~~)")
_LETTERS = re.compile(r"[^\W_]")


class AnswerProblem(Struct, frozen=True):
    """What is wrong with a passage.

    Attributes:
        kind: no reference backs its words; it names a reference that there is not; or a number is in none of the
            quotes that back it.
        text: the words, the reference, or the number.
        at: where in the answer the words end, or the references that do not back them.
    """

    kind: ProblemKind
    text: str
    at: int = 0


class AnswerPassage(Struct, frozen=True):
    """A passage of an answer.

    Attributes:
        start, end: its part of the answer.
        problems: what is wrong with it.
        is_backed: whether a reference backs it; false where none is needed.
    """

    start: int
    end: int
    problems: tuple[AnswerProblem, ...]
    is_backed: bool


class CheckedAnswer(Struct, frozen=True):
    """An answer that was checked.

    Attributes:
        text: the answer, with its references written as `[1]`.
        passages: its passages.
    """

    text: str
    passages: tuple[AnswerPassage, ...]

    @property
    def problems(self) -> list[AnswerProblem]:
        """What is wrong with the answer."""
        return [each for passage in self.passages for each in passage.problems]


def checked_answer(said: str, references: Mapping[int, QuoteReference], heard: str = "") -> CheckedAnswer:
    """An answer, checked passage by passage. Here the forms of references that models write become one.

    Args:
        said: the answer, as the model wrote it.
        references: those that may be cited, by number.
        heard: the user's own words, whose numbers need no quote.
    """
    answer = plain_references(said)
    cites, known = without_code(answer), numbers_in(heard, words=True)
    passages = [
        AnswerPassage(start, end, (), False) if is_free else _checked(answer, cites, start, end, references, known)
        for start, end, is_free in _passages(cites)
    ]
    return CheckedAnswer(answer, tuple(passages))


def what_is_wrong(checked: CheckedAnswer) -> str:
    """What a model is told of an answer; empty where nothing is wrong."""
    lines = [
        f"{_TOLD[each.kind].format(text=each.text[:200])} In: {checked.text[passage.start : passage.end][:200]}"
        for passage in checked.passages
        for each in passage.problems
    ]
    return "\n".join(lines[:12])


_TOLD: dict[ProblemKind, str] = {
    "no_reference": "No reference stands behind the words: {text!r}.",
    "unknown_reference": "There is no reference {text}: quote the words first.",
    "number_not_quoted": "{text} is in none of the quotes that back it: quote it, or leave it out.",
}


def _checked(
    answer: str, cites: str, start: int, end: int, references: Mapping[int, QuoteReference], known: set[str]
) -> AnswerPassage:
    text = answer[start:end]
    offset = marker.end() if (marker := _MARKER.match(text)) else 0
    problems: list[AnswerProblem] = []
    at = offset
    for group in _REFERENCES.finditer(cites[start:end], offset):
        words, at = text[at : group.start()], group.end()
        numbers = [int(each) for each in _NUMBER.findall(group[0])]
        unknown = [each for each in numbers if each not in references]
        problems += [AnswerProblem("unknown_reference", f"[{each}]", start + at) for each in unknown]
        backing = [references[each] for each in numbers if each in references]
        quoted = {number for each in backing for number in numbers_in(f"{each.quote}\n{each.title}", words=True)}
        if backing:
            missing = numbers_in(words) - quoted - known
            problems += [AnswerProblem("number_not_quoted", each, start + at) for each in sorted(missing)]
    rest = text[at:]
    if _LETTERS.search(rest):
        problems.append(AnswerProblem("no_reference", rest.strip(), start + len(text.rstrip(" |"))))
    return AnswerPassage(start, end, tuple(problems), at > offset)


def _passages(answer: str) -> Iterator[tuple[int, int, bool]]:
    """The passages of an answer, and whether each needs no reference."""
    lines = list(_lines(answer))
    number, in_code = 0, False
    while number < len(lines):
        start, end = lines[number]
        line = answer[start:end]
        if in_code or _FENCE.match(line):
            in_code = in_code != bool(_FENCE.match(line))
            number += 1
            continue
        if not line.strip() or _RULE.match(line):
            number += 1
            continue
        last = number
        while not _is_alone(line) and last + 1 < len(lines) and _goes_on(answer, lines[last + 1]):
            last += 1
        end = lines[last][1]
        yield start, end, _is_free(answer, lines, number, last)
        number = last + 1


def _lines(answer: str) -> Iterator[tuple[int, int]]:
    at = 0
    for line in answer.split("\n"):
        yield at, at + len(line)
        at += len(line) + 1


def _is_alone(line: str) -> bool:
    """Whether a line is a passage of its own: a heading, or a row of a table."""
    return line.lstrip().startswith(("#", "|"))


def _goes_on(answer: str, line: tuple[int, int]) -> bool:
    """Whether a line belongs to the passage of the line before."""
    text = answer[line[0] : line[1]]
    is_new = not text.strip() or _is_alone(text) or _MARKER.match(text) or _FENCE.match(text) or _RULE.match(text)
    return not is_new


def _is_free(answer: str, lines: Sequence[tuple[int, int]], first: int, last: int) -> bool:
    """Whether a passage needs no reference: a heading, a question, the head of a table, or what announces a list."""
    text = answer[lines[first][0] : lines[last][1]].strip()
    if text.startswith("#") or (text.startswith("**") and text.endswith("**") and "[" not in text):
        return True
    if not _REFERENCES.search(text) and text.endswith(("?", "？")):
        return True
    behind = next((answer[start:end] for start, end in lines[last + 1 :] if answer[start:end].strip()), "")
    if text.endswith((":", "：")) and (_MARKER.match(behind) or behind.lstrip().startswith(("|", "```"))):
        return True
    return text.startswith("|") and bool(_RULE.match(behind)) and "-" in behind


class CitedAnswer(Struct, frozen=True):
    """What is left of an answer when only what is backed may be said.

    Attributes:
        text: the passages that are backed, with those that need no reference; empty where none is backed.
        left_out: the other passages, each with what is wrong first.
        cited: the numbers of the references in the text.
    """

    text: str
    left_out: tuple[tuple[str, AnswerProblem], ...]
    cited: tuple[int, ...]


def backed(checked: CheckedAnswer) -> CitedAnswer:
    """The answer without the passages that are wrong: whole passages, never a sentence of one."""
    answer, passages = checked.text, checked.passages
    wrong = [each for each in passages if each.problems]
    left_out = tuple((answer[each.start : each.end].strip(), each.problems[0]) for each in wrong)
    if not any(each.is_backed and not each.problems for each in passages):
        return CitedAnswer("", left_out, ())
    text, at = "", 0
    for each in wrong:
        text, at = text + answer[at : each.start], each.end + 1
    text = re.sub(r"\n{3,}", "\n\n", text + answer[at:]).strip()
    return CitedAnswer(text, left_out, numbers_cited(text))


def numbers_cited(answer: str) -> tuple[int, ...]:
    """The numbers of the references that an answer cites, each once."""
    return tuple(dict.fromkeys(number for number, _, _ in places_cited(answer)))


def places_cited(answer: str) -> list[tuple[int, int, int]]:
    """Where an answer cites references: the number, and where its `[1]` begins and ends.

    >>> places_cited("Both say so [1][2].")
    [(1, 12, 15), (2, 15, 18)]
    """
    return [
        (int(number[0]), number.start() - 1, number.end() + 1)
        for group in _REFERENCES.finditer(without_code(answer))
        for number in _NUMBER.finditer(answer, group.start(), group.end())
    ]


def marked(answer: str, problems: Sequence[AnswerProblem]) -> str:
    """The whole answer, with `[?]` behind what is not backed.

    >>> marked("Breakfast is free.", [AnswerProblem("no_reference", "Breakfast is free.", 18)])
    'Breakfast is free. [?]'
    """
    for at in sorted({each.at for each in problems}, reverse=True):
        answer = f"{answer[:at]} [?]{answer[at:]}"
    return answer
