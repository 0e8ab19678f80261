"""What a model means by the text behind `Action:`: the name of a tool, or a whole call in one of many hands.

These are read, and what was mended is recorded:

    weather   `weather`   use the weather tool   weather(city="Oslo")   weather[Oslo]   weather: Oslo
    weather {"city": "Oslo"}   {"action": "weather", "action_input": {...}}   none   Finish[It is sunny.]
"""

from __future__ import annotations

import re

from msgspec import structs

from ....core.call import TextPart, ToolCall
from ....core.json import JsonProblem, parse
from ....core.message import ReasoningPart
from ...json_scan import JsonScan
from ..json.call_shape import ARGUMENT_KEYS, NAME_KEYS
from ..json.calls import JsonCalls
from ..speech import CallRead, Speech
from ..toolbox import (
    Toolbox,
    read_input,
    read_object,
    read_pairs,
    read_signature,
    unfence,
)

Named = tuple[str, tuple[str, ...]]
"""A tool's name and what was mended to read it."""

Step = list[CallRead | TextPart | ReasoningPart]
"""What a part of the text came to, in order."""

_NO_ACTION = re.compile(
    r"(?:(?:none|n/?a|null|no[ _](?:action|tool)s?|nothing|finish|final[ _]answer|answer|respond)(?![\w-])"
    r"|无需|不需要|没有|结束|完成|回答|无(?!\w))",
    re.IGNORECASE,
)
_SIGNATURE = re.compile(r"([^\s()\[\]{}（）【】:：,，]+)[ \t]*(?:[:：]\s*)?(?:\n\s*)?(?=[(\[（【{])")
_BRACKETS = {"(": ")）", "（": ")）", "[": "]】", "【": "]】"}
_BRACKET_EDGE = re.compile(r"""\\.|["'“”()\[\]（）【】]""", re.DOTALL)
_STRING_ENDS = {'"': '"', "'": "'", "“": "”", "”": "”"}
_BETWEEN = re.compile(r"[\s,;，；、]*")
_INLINE_INPUT = re.compile(r"(?:\baction[ _]?input|行动输入|动作输入|操作输入)\s*[:：]", re.IGNORECASE)
_NAMED_INPUT = re.compile(r"([^\s:：]+)[ \t]*([:：\n])\s*(\S.*)", re.DOTALL)
_UNKNOWN = re.compile(r"[\w.\-]{1,48}")
_EDGE = "`*_\"'“” \t\r\n.。"
_NAME_MAX = 128


def name_action(text: str, box: Toolbox) -> Named | None:
    """The tool that an `Action:` with an `Action Input:` behind it names; None where it says that there is none."""
    body = unfence(text)
    signature = _SIGNATURE.match(body)
    found = box.find(body) or (box.find(signature[1]) if signature is not None else None) or box.find_in(body)
    if found is not None:
        return found
    name = body.split("\n")[0].strip(_EDGE)[:_NAME_MAX]
    return None if not name or _NO_ACTION.match(name) else (name, ())


def read_action(text: str, box: Toolbox, *, ended: bool, known_only: bool = False) -> Step | None:
    """The calls and the text that an `Action:` without an `Action Input:` stands for.

    Args:
        text: the text behind the marker.
        box: the tools.
        ended: the text of the reply ends here, perhaps too early.
        known_only: the text is part of an answer, where only a tool's name makes a call of it.

    Returns:
        The calls and the text; None where the text is no action but prose.
    """
    inline = _INLINE_INPUT.search(text)
    if inline is not None:
        named = name_action(text[: inline.start()], box)
        source = text[inline.end() :]
        return [said_by(named, read_input(named[0], source, box, close=not ended))] if named else read_answer(source)
    body = unfence(text)
    if not body:
        return []
    if body[0] in "{[":
        return _read_json(body, box)
    named = box.find(body)
    if named is not None:
        return [_without_input(named, box, ended=ended)]
    step = _read_signatures(body, box, known_only=known_only) or _read_named_input(body, box, ended=ended)
    if step is not None:
        return step
    named = box.find_in(body)
    if named is not None:
        return [_without_input(named, box, ended=ended)]
    none = _NO_ACTION.match(body)
    if none is not None:
        return read_answer(body[none.end() :]) if body[none.end() : none.end() + 1] in tuple(_BRACKETS) else []
    return [CallRead(body, {})] if _is_unknown_name(body) and not known_only else None


def read_answer(text: str) -> Step:
    """An answer that was written as the input of no action: plain, in brackets, as a string, or alone in an object."""
    body = unfence(text)
    if body[:1] in tuple(_BRACKETS) and body[-1] in _BRACKETS[body[0]]:
        body = body[1:-1].strip()
    value: object = body
    if body[:1] in ("{", '"'):
        try:
            value = parse(body)[0]
        except JsonProblem:
            value = body
    if isinstance(value, dict) and len(value) <= 1:
        value = next(iter(value.values()), "")
    said = value if isinstance(value, str) else body
    return [TextPart(said)] if said.strip() and not (_NO_ACTION.fullmatch(said.strip())) else []


def unwrap(said: CallRead, box: Toolbox) -> CallRead:
    """The call itself, where its arguments hold the whole call once more: `{"tool": "weather", "params": {...}}`."""
    keys = {key.lower() for key in said.arguments} - set(box.parameters(said.name))
    if not (said.complete and keys.intersection(NAME_KEYS) and keys.intersection(ARGUMENT_KEYS)):
        return said
    inner = [part for part in _read_json(said.raw, box) if isinstance(part, CallRead)]
    if len(inner) != 1 or inner[0].name != said.name:
        return said
    note = "the whole call stood in its arguments"
    return structs.replace(inner[0], repairs=(*said.repairs, *inner[0].repairs, note))


def said_by(named: Named, said: CallRead) -> CallRead:
    """The call, with what was mended to read its tool's name."""
    return structs.replace(said, repairs=(*named[1], *said.repairs))


def _without_input(named: Named, box: Toolbox, *, ended: bool) -> CallRead:
    """A tool's name alone. At the end of the text its input may be what is missing."""
    return CallRead(named[0], {}, complete=not (ended and box.required(named[0])), repairs=named[1])


def _read_json(text: str, box: Toolbox) -> Step:
    speech = Speech()
    reader = JsonCalls(box, speech)
    reader.read(text)
    reader.end(last=True)
    return [
        CallRead(part.name, part.arguments, part.raw, part.complete, part.repairs)
        if isinstance(part, ToolCall)
        else part
        for part in speech.reply.content
        if isinstance(part, ToolCall | TextPart | ReasoningPart)
    ]


def _read_named_input(body: str, box: Toolbox, *, ended: bool) -> Step | None:
    """`weather: Oslo`, and a name with its input on the next lines as pairs."""
    found = _NAMED_INPUT.match(body)
    named = box.find(found[1]) if found is not None else None
    if found is None or named is None:
        return None
    if found[2] != "\n":
        return [said_by(named, read_input(named[0], found[3], box, close=not ended))]
    pairs = read_pairs(named[0], found[3], box)
    if pairs is not None:
        return [said_by(named, pairs)]
    return [_without_input(named, box, ended=ended), TextPart(found[3])]


def _read_signatures(body: str, box: Toolbox, *, known_only: bool) -> Step | None:
    """`weather(city="Oslo"), news[Oslo]`: a name and its arguments in brackets, once or several times."""
    step: Step = []
    at = 0
    while (found := _SIGNATURE.match(body, at)) is not None:
        known = box.find(found[1])
        opener = body[found.end()]
        if known is None and (known_only or opener not in "(（" or not _is_unknown_name(found[1])):
            break
        named: Named = known or (found[1], ())
        end = _object_end(body, found.end()) if opener == "{" else _bracket_end(body, found.end())
        if end is None:
            step.append(CallRead(named[0], {}, body[found.end() :], complete=False, repairs=named[1]))
            return step
        inner = body[found.end() : end] if opener == "{" else body[found.end() + 1 : end - 1]
        read = read_object(named[0], inner) if opener == "{" else read_signature(named[0], inner, box)
        step.append(said_by(named, read))
        between = _BETWEEN.match(body, end)
        at = between.end() if between is not None else end
    if step and body[at:].strip(_EDGE):
        step.append(TextPart(body[at:]))
    return step or None


def _is_unknown_name(text: str) -> bool:
    return _UNKNOWN.fullmatch(text) is not None and _NO_ACTION.match(text) is None


def _object_end(text: str, at: int) -> int | None:
    scan = JsonScan()
    while True:
        place, mark = scan.next(text, at)
        if not mark:
            return None
        at = place + 1
        if not scan.depth:
            return at


def _bracket_end(text: str, at: int) -> int | None:
    """Where the bracket that opens here is closed, brackets in strings left aside."""
    depth, string_end = 0, ""
    for found in _BRACKET_EDGE.finditer(text, at):
        char = found[0]
        if string_end:
            string_end = "" if char == string_end else string_end
        elif char in _STRING_ENDS and text[found.start() - 1] in " =:：,，([（【":
            string_end = _STRING_ENDS[char]
        elif char in _BRACKETS:
            depth += 1
        elif char in ")]）】":
            depth -= 1
            if not depth:
                return found.end()
    return None
