"""A value whose closing mark is missing: whatever stands behind it, no other parameter and no other call becomes a part
of the value in a call that is carried out.

Each closing mark of a value is cut out of each output of the corpus, in every text dialect.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest
from msgspec import structs

from actum.core.call import ToolCall
from actum.core.json import Json
from actum.core.message import Reply
from actum.core.tool import Tool
from actum.dialects import dialect, names
from actum.dialects.base import ApiDialect, TextDialect
from actum.dialects.text.tagged.dialect import TaggedText
from actum.dialects.text.tagged.keyed_call import KeyedCall
from actum.dialects.text.tagged.pythonic_call import PythonicCall
from actum.dialects.text.tagged.xml_call import XmlCall
from tests.dialects.text_corpus import CORPUS, output_of, thinks, tools_of
from tests.each import each_path

TEXTS = [name for name in names() if not isinstance(dialect(name), ApiDialect)]
OUTPUTS = [path for name in TEXTS for path in sorted((CORPUS / name).glob("*.txt")) if "made_up" not in path.stem]
"""Without those in which a model makes up a result: where the call before it is broken, nothing tells the result."""


def dialect_of(path: Path) -> TextDialect:
    found = dialect(path.parent.name)
    assert not isinstance(found, ApiDialect)
    return structs.replace(found, thinking=True) if isinstance(found, TaggedText) and thinks(path) else found


def closing_marks(found: TextDialect) -> re.Pattern[str]:
    """What ends a value in the way of writing that is the dialect's own; where none of these is, that is JSON."""
    body = found.form.bodies[0] if isinstance(found, TaggedText) else None
    match body:
        case XmlCall(value_end=end, whole_end=whole, sections=sections):
            marks = [re.escape(mark).replace(re.escape("{key}"), r"[^<>]+") for mark in (end, whole) if mark]
            return re.compile("|".join([*marks, *(["]]>(?=" + re.escape(end) + ")"] if sections else [])]))
        case KeyedCall(quote=quote):
            return re.compile(_BEGUN + re.escape(quote) + _BEHIND)
        case PythonicCall():
            return re.compile(_BEGUN + "['\"]" + _BEHIND)
        case _:
            return re.compile(_BEGUN + '"' + _BEHIND)


_BEGUN = r"(?<![=:,(\[{\\\s])"
_BEHIND = r"(?=\s*[,}\])])"


def without(mark: str, value: Json) -> Json:
    """A value without a mark in its texts: where the mark was data, only the data is another."""
    match value:
        case str():
            return value.replace(mark, "").strip()
        case list():
            return [without(mark, item) for item in value]
        case dict():
            return {key: without(mark, item) for key, item in value.items()}
        case _:
            return value


def cuts(path: Path) -> Iterator[tuple[str, str]]:
    """The output without one closing mark, and the mark."""
    text = output_of(path)
    for mark in closing_marks(dialect_of(path)).finditer(text):
        yield text[: mark.start()] + text[mark.end() :], mark[0]


def said(calls: Iterable[ToolCall], mark: str) -> list[Json]:
    return [[call.name, without(mark, call.arguments)] for call in calls if call.complete]


def shown(found: TextDialect, calls: Iterable[ToolCall], tools: Sequence[Tool]) -> Iterator[ToolCall]:
    """The calls that the values of calls show as data: behind a string that was never closed, such a call is made."""
    for call in calls:
        for value in call.arguments.values():
            yield from found.decode(value, tools=tools).calls if isinstance(value, str) else ()


@pytest.mark.no_cover
@pytest.mark.row("S6")
@each_path(OUTPUTS)
def test_a_value_without_its_closing_mark_swallows_nothing(path: Path) -> None:
    found, tools = dialect_of(path), tools_of(path.parent.name)
    whole = found.decode(output_of(path), tools=tools).calls
    for text, mark in cuts(path):
        known = said([*whole, *shown(found, whole, tools)], mark)
        for call in said(found.decode(text, tools=tools).calls, mark):
            assert call in known, (text, mark)


def test_closing_marks_are_cut_in_every_text_dialect() -> None:
    assert {path.parent.name for path in OUTPUTS if any(True for _ in cuts(path))} == set(TEXTS)


SAVE = Tool(
    name="save",
    parameters={"type": "object", "properties": {"text": {"type": "string"}, "meta": {"type": "object"}}},
)
DATA: dict[str, tuple[str, dict[str, Json]]] = {
    "tags that end": ("minimax_m2", {"text": '<x><parameter name="meta">1</parameter></x>', "meta": {}}),
    "tags that end, of no parameter": ("dots", {"text": '<x><parameter name="y">1</parameter></x>'}),
    "half a tag": ("minimax_m2", {"text": 'as in <parameter name="y'}),
    "a tag in JSON": ("minimax_m2", {"meta": {"y": '<parameter name="text">'}}),
    "a tag in a section": ("minicpm5", {"text": 'as in <param name="meta">'}),
    "pairs that end": ("glm4_5", {"text": "<arg_key>y</arg_key>\n<arg_value>1</arg_value>?"}),
    "the mark of a value": ("glm4_5", {"text": "behind <arg_value> it stands"}),
    "the mark of strings": ("gemma4", {"text": 'marks are <|"|> here'}),
    "strings that end": ("gemma4", {"text": 'say, y:<|"|>a<|"|> and'}),
    "quotes": ("llama_pythonic", {"text": "f(a='x', b='y')", "meta": {"a": "'"}}),
}


@pytest.mark.parametrize(("name", "arguments"), DATA.values(), ids=DATA)
def test_mark_up_that_is_whole_stays_data(name: str, arguments: dict[str, Json]) -> None:
    found = dialect(name)
    assert not isinstance(found, ApiDialect)
    written = found.encode_reply(Reply.of(calls=[ToolCall("", "save", arguments)]))
    (call,) = found.decode(written, tools=[SAVE]).calls
    assert (call.arguments, call.complete) == (arguments, True)


def test_a_mark_of_a_value_behind_the_name_of_a_parameter_is_no_data() -> None:
    """The tags around the name are missing as well as the end of the value before."""
    text = "<tool_call>save<arg_key>text</arg_key><arg_value>a\nmeta</arg_key><arg_value>{}</arg_value></tool_call>"
    (call,) = dialect("glm4_5").decode(text, tools=[SAVE]).calls
    assert not call.complete
    assert "'meta' stands in the value of 'text'" in call.repairs[-1]
