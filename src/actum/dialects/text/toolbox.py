"""The tools that a text decoder knows of, and how the text of a call's arguments becomes arguments of one of them.

It goes as far as the text tells: a bare string becomes the only parameter, `"3"` stays a string. Types, missing and
misspelt parameters are for the tool's schema, which every call meets later.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence

from ...core.json import (
    Ambiguous,
    Json,
    JsonObject,
    JsonProblem,
    given_twice,
    kind_of,
    parse,
    parse_object,
)
from ...core.tool import Tool
from ..json_mend import Reader, mend
from .speech import CallRead

_NAMESPACE = re.compile(r"^(?:functions?|tools?)[.:/]", re.IGNORECASE)
_DECORATION = " \t\r\n`*_'\"“”「」《》<>.。,，;；:："
_SEPARATORS = re.compile(r"[\s_\-]+")
_NOTHING = re.compile(
    r"(?:none|null|nil|n/?a|empty|no (?:input|parameters?|arguments?)(?: (?:needed|required))?"
    r"|无|空|无需参数|没有参数)[.。]?",
    re.IGNORECASE,
)
_PAIR_KEY = re.compile(r"""\s*["'“]?([^\W\d][\w\-]*)["'”]?\s*[=:：]\s*""")
_OBJECT_KEY = re.compile(r'"(?:[^"\\]|\\.)*+"\s*+:')
"""The first key of an object whose opening brace is missing."""
_PAIR_END = re.compile(r"\s*(?:[,，;；&\n]\s*|$)")
_PAIR_STRING = re.compile(r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|“[^”]*”)(?=\s*(?:[,，;；&\n]|$))""", re.DOTALL)
_PLAIN_VALUE = re.compile(r"""\s*(?:["'“{\[]|(?:-?\d+(?:\.\d+)?|true|false|null|none)\s*(?:,|$))""", re.IGNORECASE)
"""A value that is one by its looks, unlike a piece of a sentence with commas."""
_PAIR_TEXT = re.compile(r"[^,，;；&\n]+")
SENTENCE_MAX = 500
"""Characters in which a tool's name is looked for."""
_QUOTES = "\"'“"
_FENCE = re.compile(r"(?:`{3,}|~{3,})[ \t]*[\w+-]*")


class Toolbox:
    """Tools by name.

    >>> Toolbox([Tool(name="get_weather")]).find("functions.Get Weather")
    ('get_weather', ("read 'functions.Get Weather' as 'get_weather'",))
    """

    def __init__(self, tools: Sequence[Tool] = ()) -> None:
        self.tools = {tool.name: tool for tool in tools}
        self._by_spelling: dict[str, list[str]] = {}

    def find(self, said: str) -> tuple[str, tuple[str, ...]] | None:
        """The tool that is meant by a name, and what had to be mended; None where there is none, or two as likely."""
        if said in self.tools:
            return said, ()
        bare = said.strip(_DECORATION)
        if bare in self.tools:
            return bare, ()
        names = self._spellings().get(_plain(_NAMESPACE.sub("", bare)), ())
        return (names[0], (f"read {said.strip()[:40]!r} as {names[0]!r}",)) if len(names) == 1 else None

    def find_in(self, sentence: str) -> tuple[str, tuple[str, ...]] | None:
        """The only tool that a sentence names; a name inside a longer one does not count."""
        rest, found = sentence[:SENTENCE_MAX].lower(), set[str]()
        plain = _plain(rest)
        near = [name for spelling, names in self._spellings().items() if spelling in plain for name in names]
        for name in sorted(near, key=len, reverse=True):
            words = r"[\s_\-]*".join(re.escape(word) for word in _SEPARATORS.split(name.lower()))
            rest, count = re.subn(rf"(?<!\w){words}(?!\w)", "\0", rest, flags=re.ASCII)
            if count:
                found.add(name)
        if len(found) != 1:
            return None
        name = found.pop()
        return name, (f"read {sentence.strip()[:40]!r} as {name!r}",)

    def parameters(self, name: str) -> tuple[str, ...]:
        """Names of a tool's parameters, in order; none of an unknown tool."""
        return tuple(self.tools[name].property_schemas()) if name in self.tools else ()

    def required(self, name: str) -> tuple[str, ...]:
        """Names of the parameters that must be given."""
        return self.tools[name].required() if name in self.tools else ()

    def only_parameter(self, name: str) -> str:
        """The parameter that a single value must be meant for: the only required one, or the only one; else empty."""
        for names in (self.required(name), self.parameters(name)):
            if len(names) == 1:
                return names[0]
        return "" if name in self.tools else "input"

    def _spellings(self) -> dict[str, list[str]]:
        """Names by what is left of them without case and separators; made when a name is first misspelt."""
        if not self._by_spelling:
            for name in self.tools:
                spelling = _plain(name)
                if spelling:
                    self._by_spelling.setdefault(spelling, []).append(name)
        return self._by_spelling


def read_object(name: str, source: str, *, close: bool = False) -> CallRead:
    """A call whose arguments are meant as a JSON object.

    Args:
        name: the tool.
        source: the object as the model wrote it.
        close: brackets that are missing at the end may be added, because the model went on with something else.

    Returns:
        The call; not complete where even a tolerant reading finds no object.
    """
    try:
        arguments, repairs = parse_object(source)
    except JsonProblem:
        try:
            value, repairs = mend(source, close=close)
        except Ambiguous as problem:
            return CallRead(name, {}, source, complete=False, repairs=(str(problem),))
        except JsonProblem:
            return CallRead(name, {}, source, complete=False)
        if not isinstance(value, dict):
            return CallRead(name, {}, source, complete=False)
        arguments = value
    return CallRead(name, arguments, source, repairs=repairs)


def read_input(name: str, source: str, box: Toolbox, *, close: bool = False) -> CallRead:
    """A call whose arguments stand in any of the ways in which models write them.

    A JSON object, fenced or not, JSON text in a string, `key=value` pairs, or a bare value for a tool's only parameter.

    Args:
        name: the tool.
        source: the text of the input.
        close: as in `read_object`.
    """
    text = unfence(source)
    if text.startswith("{"):
        return read_object(name, text, close=close)
    if not text or _NOTHING.fullmatch(text):
        repairs = (f"read {text!r} as no arguments",) if text else ()
        return CallRead(name, {}, repairs=repairs)
    if text.endswith("}") and _OBJECT_KEY.match(text):
        return CallRead(name, {}, text, complete=False, repairs=("the opening brace of the arguments is missing",))
    quoted = _quoted(text)
    if quoted is not None and quoted.lstrip().startswith("{"):
        inner = read_object(name, quoted, close=close)
        note = "arguments were JSON inside a string: opened"
        return CallRead(name, inner.arguments, text, inner.complete, (note, *inner.repairs))
    pairs = read_pairs(name, text, box)
    if pairs is not None:
        return pairs
    return read_value(name, text if quoted is None else quoted, text, box)


def read_value(name: str, value: Json, source: str, box: Toolbox) -> CallRead:
    """A call with one value in place of named arguments: it goes to the only parameter, or the call is not complete.

    A number or a word stays text, for the schema to type; only a list is read as one.
    """
    if name in box.tools and not box.parameters(name):
        return CallRead(name, {}, source, repairs=(f"ignored {source[:40]!r}: the tool takes no parameters",))
    only = box.only_parameter(name)
    if not only:
        return CallRead(name, {}, source, complete=False)
    if isinstance(value, str):
        key = _PAIR_KEY.match(value)
        value = _list_or_text(value[key.end() :] if key is not None and key[1] == only else value)
    return CallRead(name, {only: value}, source, repairs=(f"took a bare {kind_of(value)} as {only!r}",))


def read_signature(name: str, source: str, box: Toolbox) -> CallRead:
    """A call whose arguments stood in brackets behind the name: `city="Oslo", 3`, an object, or one value."""
    text = source.strip()
    if not text or text.startswith("{"):
        return read_object(name, text, close=True)
    pairs = read_pairs(name, text, box, positional=True)
    return read_value(name, _quoted(text) or text, text, box) if pairs is None else pairs


def read_pairs(name: str, text: str, box: Toolbox, *, positional: bool = False) -> CallRead | None:
    """`city="Oslo", days=3`: a call, or None unless every key is a parameter of the tool: prose is not taken for pairs.

    Args:
        name: the tool.
        text: the pairs, divided by commas, semicolons, `&` or line breaks.
        box: the tools.
        positional: values without a key are taken in the order of the parameters.
    """
    names = box.parameters(name)
    by_order = names if positional and len(names) > 1 else ()
    reader = Reader(text)
    arguments: JsonObject = {}
    repair = "read 'key=value' pairs"
    while reader.at < len(text):
        key = reader.match(_PAIR_KEY)
        if key is not None and key[1] in names:
            reader.at = key.end()
            where = key[1]
        elif len(arguments) < len(by_order) and (not box.only_parameter(name) or reader.match(_PLAIN_VALUE)):
            where = by_order[len(arguments)]
            repair = "took values by the order of the parameters"
        else:
            return None
        try:
            value = _pair_value(reader)
        except Ambiguous as problem:
            return CallRead(name, {}, text, complete=False, repairs=(str(problem),))
        except JsonProblem:
            return None
        if reader.match(_PAIR_END) is None:
            return None
        reader.take(_PAIR_END)
        if where in arguments:
            try:
                reader.note(given_twice(where, arguments[where], value))
            except Ambiguous as problem:
                return CallRead(name, {}, text, complete=False, repairs=(str(problem),))
        arguments[where] = value
    return CallRead(name, arguments, text, repairs=(repair, *reader.repairs)) if arguments else None


def unfence(source: str) -> str:
    """The text without the code fence or the backticks around it."""
    text = source.strip()
    fence = _FENCE.match(text)
    if fence is not None:
        return text[fence.end() :].rstrip("`~ \t\r\n").lstrip()
    return text.strip("`").strip() if text[:1] == text[-1:] == "`" else text


def _plain(name: str) -> str:
    return _SEPARATORS.sub("", name).lower()


def _quoted(text: str) -> str | None:
    """The string that a text is, where it is one string in quotes."""
    if text[0] not in _QUOTES:
        return None
    try:
        value = mend(text)[0]
    except JsonProblem:
        return None
    return value if isinstance(value, str) else None


def _list_or_text(text: str) -> Json:
    if text.startswith("["):
        with contextlib.suppress(JsonProblem):  # it is text that happens to begin with a bracket
            return parse(text)[0]
    return text


def _pair_value(reader: Reader) -> Json:
    reader.skip()
    quoted = reader.take(_PAIR_STRING)
    if quoted:
        return mend(quoted)[0]
    if reader.text[reader.at : reader.at + 1] in ("{", "["):
        return reader.value()
    text = reader.take(_PAIR_TEXT).strip()
    if not text:
        raise reader.problem("a value")
    if text[0] in _QUOTES:
        raise Ambiguous("nobody knows where a string ends, since its quotes are not escaped")
    return None if text in ("None", "null") else text
