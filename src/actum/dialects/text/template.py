"""A developer's own prompt in the place of the instructions of `react` and `prompt_json`. Pure.

    Answer the question. You have access to these tools:       {tools} stands once, {tool_names} anywhere
    {tools}
    ...
    Question: {input}                                          the conversation goes here: the lines from {input} on
    Thought:{agent_scratchpad}                                 are left out

These are the names that prompts of LangChain have. All other braces are text, so JSON needs no doubling; where a
template doubles all of them, as `str.format` wants it, two braces are read as one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import zip_longest

from msgspec import Struct

from ...core.errors import UsageError
from ...core.tool import Tool
from .wording import Language, describe_tools

CHARS_MAX = 100_000
"""A template is not longer."""
_TOOLS, _TOOL_NAMES, _ENDS = "{tools}", "{tool_names}", ("{input}", "{agent_scratchpad}")
_KNOWN = (_TOOLS, _TOOL_NAMES, *_ENDS)
_BRACES = re.compile(r"\{\{[A-Za-z_]\w*\}\}|\{[A-Za-z_]\w*\}|\{\{|\}\}|[{}]")
_END_LINE = re.compile(rf"[^\n{{}}]{{0,40}}(?:{'|'.join(map(re.escape, _ENDS))})?[ \t]*")
_END_LINES_MAX = 4


class PromptTemplate(Struct, frozen=True):
    """A template that was read.

    Attributes:
        texts: its own texts.
        slots: the slot between each two of them: `{tools}` or `{tool_names}`.
    """

    texts: tuple[str, ...]
    slots: tuple[str, ...]

    def filled(self, tools: Sequence[Tool], language: Language) -> str:
        """The text for a model that has these tools."""
        words = {"": "", _TOOLS: describe_tools(tools, language), _TOOL_NAMES: ", ".join(tool.name for tool in tools)}
        return "".join([text + words[slot] for text, slot in zip_longest(self.texts, self.slots, fillvalue="")])

    @property
    def lines(self) -> list[str]:
        """Its lines, but for those where tools are told."""
        gaps = ["\0" if slot == _TOOLS else slot for slot in self.slots]
        whole = "".join([text + gap for text, gap in zip_longest(self.texts, gaps, fillvalue="")])
        return [line for line in whole.splitlines() if "\0" not in line]


@lru_cache(maxsize=64)
def read_template(text: str) -> PromptTemplate:
    """A developer's template.

    Args:
        text: as the file has it.

    Raises:
        UsageError: it is no template; the message names the line and says what to do.

    >>> read_template('Tools: {tools}\\nSay {"tool": "name"}\\nQuestion: {input}').texts
    ('Tools: ', '\\nSay {"tool": "name"}')
    """
    if len(text) > CHARS_MAX:
        raise UsageError(
            "a template has at most {most} characters, this one has {count}", most=CHARS_MAX, count=len(text)
        )
    found = list(_BRACES.finditer(text))
    for each in found:
        if each[0][1:-1].isidentifier() and each[0] not in _KNOWN:
            raise UsageError(
                "line {line} of the template: {word} is unknown. There are {known}; {doubled} is the text {word}",
                line=_line(text, each.start()),
                word=each[0],
                known=", ".join(_KNOWN),
                doubled=f"{{{each[0]}}}",
            )
    if (count := sum(each[0] == _TOOLS for each in found)) != 1:
        raise UsageError("a template says {tools} once; this one says it {count} times", tools=_TOOLS, count=count)
    end = _end_of_instructions(text, found)
    doubled = all(len(each[0]) > 1 for each in found)
    texts, slots, at = [""], list[str](), 0
    for each in found:
        if each.start() >= end:
            break
        texts[-1] += text[at : each.start()]
        at = each.end()
        if each[0] in _KNOWN:
            slots.append(each[0])
            texts.append("")
        else:
            is_doubled = each[0][:2] in ("{{", "}}") and (doubled or len(each[0]) > len("{{"))
            texts[-1] += each[0][1 : -1 if len(each[0]) > len("{{") else None] if is_doubled else each[0]
    texts[-1] += text[at:end]
    return PromptTemplate((*texts[:-1], texts[-1].rstrip()), tuple(slots))


def _end_of_instructions(text: str, found: Sequence[re.Match[str]]) -> int:
    """Where the line begins from which on the conversation is told.

    Raises:
        UsageError: more than a few marks stand behind it.
    """
    first = next((each.start() for each in found if each[0] in _ENDS), None)
    if first is None:
        return len(text)
    end = text.rfind("\n", 0, first) + 1
    lines = [line for line in text[end:].splitlines() if line.strip()]
    if len(lines) > _END_LINES_MAX or not all(map(_END_LINE.fullmatch, lines)):
        raise UsageError(
            "line {line} of the template: {ends} stand at its end, since the conversation goes there. Put what stands "
            "behind them in front",
            line=_line(text, first),
            ends=" and ".join(_ENDS),
        )
    return end


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1
