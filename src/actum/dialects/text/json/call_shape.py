"""What makes a call of a JSON object: the names that models give to its keys, as tables, and `Frame`, an open object.

The form that the prompt asks for is `{"tool": ..., "params": {...}}`. Models answer in the forms of other prompts and
APIs as well, put the parameters beside the name, or say in JSON that they use no tool. All of that is read here; where
the object begins and ends is `json.calls`' affair.
"""

from __future__ import annotations

import re
from collections.abc import Container

from msgspec import structs

from ....core.json import (
    Ambiguous,
    Json,
    JsonProblem,
    dumps,
    given_twice,
    parse,
    same,
)
from ....core.tool import NAME
from ...json_mend import mend
from ..speech import CallRead
from ..toolbox import (
    Toolbox,
    read_input,
    read_object,
    read_value,
)

ARGUMENT_KEYS = (
    *("params", "parameters", "arguments", "args", "action_input", "tool_input", "tool_args", "input", "kwargs"),
    *("参数", "输入"),
)
"""Under which keys the arguments of a call stand, the likelier first."""

NAME_KEYS: dict[str, Container[str]] = {
    **dict.fromkeys(("tool", "tool_name", "toolname", "function_name", "recipient_name"), ARGUMENT_KEYS),
    **dict.fromkeys(("工具", "工具名", "工具名称"), ARGUMENT_KEYS),
    "function": ("arguments", "parameters", "args"),
    "action": ("action_input",),
    "name": ("arguments", "parameters"),
}
"""Under which keys the name of the tool stands, the likelier first; and beside which keys for the arguments that makes
a call of an object even where no tool has that name."""

WEAK_NAME_KEYS = ("function", "action", "name")
"""Name keys that other objects have as well: without arguments beside them, the object has to fit the tool."""

WRAPPER_KEYS = (
    *("tool_calls", "tool_call", "tool_uses", "tools", "tool", "calls", "call"),
    *("functions", "function", "function_call", "actions", "action", "next"),
)
"""Under which keys calls stand in an object that is none itself."""

THOUGHT_KEYS = ("thought", "thoughts", "thinking", "reasoning", "rationale", "思考", "想法")
TEXT_KEYS = ("answer", "final_answer", "response", "reply", "text", "content", "message", "output", "回答", "答案")
ID_KEYS = ("id", "call_id", "tool_call_id")
SILENT_KEYS = (*ID_KEYS, "type", "index", "role", "description")
DIRECTLY = ("directly_answer", "directly-answer")
"""The tool by which Command R says that it uses none; never a call, unless there is a tool of that name."""

NO_TOOL = (
    *("none", "null", "no_tool", "final answer", "final_answer", "answer", "finish", "respond"),
    *("无", "回答", "最终答案"),
    *DIRECTLY,
)
"""Names by which a model says that it answers and uses no tool."""

KEY_TEXT = r"""(?:"([^"\\\n]{1,64})"|'([^'\\\n]{1,64})'|[“”]([^“”"\n]{1,64})[“”"]|([^\W\d]\w{0,63}))"""
_KEY = re.compile(rf"\s*{KEY_TEXT}\s*[:：]\s*")
_KEY_LENGTH_MAX = 200
_BROKEN_NAME = re.compile(r"""["'“]([\w.\-]+)\Z""")


def key_of(text: str) -> str:
    """The key at the beginning of a `key: value` pair, in lower case; empty where there is none."""
    found = _KEY.match(text[:_KEY_LENGTH_MAX])
    return next(filter(None, found.groups()), "").strip().lower() if found is not None else ""


class Field:
    """One pair of an object, read.

    Attributes:
        key: as the model wrote it.
        value: what it holds; None as well where it is `broken`.
        source: the value's source text.
        doubt: why it has two meanings, where it is broken for that; else empty.
    """

    __slots__ = ("broken", "doubt", "key", "repairs", "source", "value")

    def __init__(self, text: str) -> None:
        found = _KEY.match(text)
        self.source = text[found.end() :].strip() if found is not None else text
        self.key = next(filter(None, found.groups()), "") if found is not None else ""
        self.value: Json = None
        self.repairs: tuple[str, ...] = ()
        self.broken = True
        self.doubt = ""
        for read in (parse, mend):
            try:
                pair, repairs = read("{" + text + "}")
            except Ambiguous as problem:
                self.doubt = str(problem)
                continue
            except JsonProblem:
                continue
            if isinstance(pair, dict) and len(pair) == 1:
                self.value, self.repairs, self.broken = next(iter(pair.values())), repairs, False
                return


class Frame:
    """An object or a list that is open, and that may hold calls.

    Attributes:
        kind: the bracket, `{` or `[`.
        trusted: it is where a call would be, so an unknown tool's name makes a call too.
        tagged: it is inside mark-up that holds only calls, so a name alone makes a call too.
        used: it held a call or was one, or an answer, and so is not text itself.
        said: the call that it is, once its arguments were read.
        name: the tool of the call that it is, once that is certain, and what was mended to read it.
    """

    __slots__ = (
        "_doubt",
        "_fields",
        "_key",
        "_lost",
        "_pieces",
        "_start",
        "kind",
        "name",
        "said",
        "tagged",
        "trusted",
        "used",
    )

    def __init__(self, kind: str, *, trusted: bool, tagged: bool = False) -> None:
        self.kind = kind
        self.trusted = trusted
        self.tagged = tagged and trusted
        self.used = False
        self.said: CallRead | None = None
        self.name: tuple[str, tuple[str, ...]] | None = None
        self._pieces = [kind]
        self._start = 1
        self._key: str | None = None
        self._fields: dict[str, str] = {}  # source of the pairs before the current one, by key in lower case
        self._doubt = ""
        self._lost = ""  # what stood where a pair should, and is none

    @property
    def source(self) -> str:
        """All its text so far; that of calls in it is left out."""
        return "".join(self._pieces)

    @property
    def segment(self) -> str:
        """The text of the current pair or item."""
        return "".join(self._pieces[self._start :])

    @property
    def key(self) -> str:
        """The key of the current pair. Looked for once a pair, when its value begins."""
        if self._key is None:
            self._key = key_of(self.segment) if self.kind == "{" else ""
        return self._key

    def add(self, text: str) -> None:
        """More of its text."""
        self._pieces.append(text)

    def end_segment(self, mark: str) -> None:
        """The current pair or item is complete; `mark` is the comma or bracket that ended it."""
        if self.kind == "{":
            text = self.segment
            key = key_of(text)
            if key in self._fields:
                self._compare(Field(self._fields[key]), Field(text))
            elif key:
                self._fields[key] = text
            elif not self._lost:
                self._lost = text.strip()
        self._pieces.append(mark)
        self.drop_segment()

    def _compare(self, known: Field, again: Field) -> None:
        """A key stands here twice, and perhaps with two values."""
        try:
            given_twice(again.key, known.value, again.value)
        except Ambiguous as problem:
            self._doubt = self._doubt or str(problem)

    def drop_segment(self) -> None:
        """The current pair needs no reading any more: it held a call."""
        self._start = len(self._pieces)
        self._key = None

    def strings(self, keys: Container[str]) -> list[str]:
        """The strings under some keys, taken out."""
        fields = [Field(self._fields.pop(key)) for key in list(self._fields) if key in keys]
        return [field.value for field in fields if isinstance(field.value, str)]

    def others(self) -> tuple[str, ...]:
        """A note on each pair that nothing was made of."""
        known = (*ARGUMENT_KEYS, *NAME_KEYS, *SILENT_KEYS, *THOUGHT_KEYS, *TEXT_KEYS)
        return tuple(f"ignored {key!r} beside the call" for key in self._fields if key not in known)

    def called(self, arguments_key: str, box: Toolbox) -> tuple[str, tuple[str, ...]] | None:
        """The tool that this object calls, given the key of its arguments; None if it is no call."""
        keys = [key for key in NAME_KEYS if key in self._fields]
        if "description" in self._fields:  # a tool's definition, said back
            keys = [key for key in keys if key != "name"]
        fields = [(key, Field(self._fields[key])) for key in keys]
        named = [(key, field.value, field.repairs) for key, field in fields if isinstance(field.value, str)]
        for _, name, repairs in named:
            found = box.find(name)
            if found is not None:
                return found[0], (*found[1], *repairs)
        for key, name, repairs in named:
            if name in DIRECTLY or (_says_no_tool(name) and not self.tagged):
                return None
            fitting = arguments_key in NAME_KEYS[key] or (self.tagged and (arguments_key in ("", *ARGUMENT_KEYS)))
            if self.trusted and fitting and NAME.fullmatch(name):
                return name, repairs
        return None

    def settle(self, box: Toolbox) -> CallRead | None:
        """The call that this object is, now that it has ended, or None. Takes out the pairs that it is made of."""
        arguments_key = next((key for key in ARGUMENT_KEYS if key in self._fields), "")
        called = self.called(arguments_key, box)
        if called is None:
            said = self._named_by_key(box)
        elif arguments_key:
            said = _read_field(called[0], Field(self._fields.pop(arguments_key)), box)
            said = structs.replace(said, repairs=(*called[1], *said.repairs))
        else:
            said = self._flat(*called, box)
        return self.finish(said, box) if said is not None else None

    def finish(self, said: CallRead, box: Toolbox) -> CallRead:
        """A call with what the other pairs of its object say of it. It is not complete if they give it two meanings."""
        doubt = self._doubt or self._second_meaning(said, box)
        if doubt and said.complete:
            source = said.raw or dumps(said.arguments)
            said = structs.replace(said, arguments={}, raw=source, complete=False)
        return with_repairs(said, *self.others(), *filter(None, [doubt]))

    def _second_meaning(self, said: CallRead, box: Toolbox) -> str:
        """Why the pairs beside a call's arguments give it a second meaning: another tool's name, other arguments, or a
        parameter that its arguments do not have. Empty where they do not.
        """
        names = [Field(self._fields[key]).value for key in NAME_KEYS if key in self._fields]
        tools = {found[0] for name in names if isinstance(name, str) and (found := box.find(name)) is not None}
        if len(tools) > 1:
            return f"two tools are named: {', '.join(sorted(tools))}"
        for key, text in self._fields.items():
            field = Field(text)
            if key in ARGUMENT_KEYS and field.value not in (None, "", {}, []) and not same(field.value, said.arguments):
                return f"{field.key!r} holds arguments as well"
            known = key in (*NAME_KEYS, *SILENT_KEYS, *THOUGHT_KEYS, *TEXT_KEYS)
            is_parameter = not known and field.key in box.parameters(said.name)
            if is_parameter and not same(field.value, said.arguments.get(field.key)):
                return f"{field.key!r} stands beside the arguments"
        return ""

    def answer(self) -> str:
        """The text of an answer that says in JSON that it uses no tool; empty if this is none."""
        fields = [Field(self._fields[key]) for key in NAME_KEYS if key in self._fields and key != "name"]
        if not any(field.value is None or _says_no_tool(field.value) for field in fields if not field.broken):
            return ""
        for key in (*TEXT_KEYS, *ARGUMENT_KEYS):
            value = Field(self._fields[key]).value if key in self._fields else None
            if isinstance(value, dict) and len(value) == 1:
                (value,) = value.values()
            if isinstance(value, str) and value.strip():
                del self._fields[key]
                return value
        return ""

    @property
    def says_nothing(self) -> bool:
        """It stands where calls do, and is the mark-up of an answer that stands elsewhere."""
        fields = [Field(self._fields[key]) for key in NAME_KEYS if key in self._fields and self.tagged]
        return any(field.value in DIRECTLY for field in fields if isinstance(field.value, str))

    @property
    def call_id(self) -> str:
        """The id that the model gave the call, as far as it was read; empty where there is none."""
        for key in ID_KEYS:
            value = Field(self._fields[key]).value if key in self._fields else None
            if isinstance(value, str):
                return value.strip()
        return ""

    def broken_off(self, box: Toolbox, *, closed: bool = False) -> CallRead | None:
        """The call that the text ended in; None if it was none. `closed`: only its closing brackets are missing."""
        segment = self.segment
        key = key_of(segment)
        value = segment[_end_of_key(segment) :].strip() if key else ""
        if value[-1:] in tuple("\"'”}]") and len(value) > 1 and not Field(segment).broken:
            self.end_segment("")
            key = value = segment = ""
        called = self.called(key, box)
        if called is not None:
            closed = closed and not segment.strip()  # or a pair broke off, which may be the arguments
            whole = self.settle(box) if closed or any(name in self._fields for name in ARGUMENT_KEYS) else None
            if whole is not None:
                return with_repairs(whole, "closing bracket missing")
            return CallRead(called[0], {}, value if key in ARGUMENT_KEYS else "", complete=False)
        name = _BROKEN_NAME.search(value) if key in NAME_KEYS else None
        if name is None or not self.trusted:
            return None
        if key in WEAK_NAME_KEYS and not any(tool.startswith(name[1]) for tool in box.tools):
            return None
        return CallRead(name[1], {}, complete=False)

    def _flat(self, name: str, repairs: tuple[str, ...], box: Toolbox) -> CallRead | None:
        """A name without arguments: the other pairs are the arguments, or there are none."""
        name_key = next(key for key in NAME_KEYS if key in self._fields)
        parameters = box.parameters(name)
        fields = [Field(text) for key, text in self._fields.items() if key != name_key]
        rest = {
            field.key: field
            for field in fields
            if field.key in parameters or field.key.lower() not in (*SILENT_KEYS, *THOUGHT_KEYS)
        }
        fits = rest.keys() <= set(parameters) and rest.keys() >= set(box.required(name))
        if not self.tagged and (name not in box.tools or (name_key in WEAK_NAME_KEYS and not fits)):
            return None
        for key in rest:
            del self._fields[key.strip().lower()]
        if self._lost:
            lost = f"{self._lost[:40]!r} is no pair of a name and a value"
            return CallRead(name, {}, self.source, complete=False, repairs=(lost,))
        if any(field.broken for field in rest.values()):
            doubts = tuple(field.doubt for field in rest.values() if field.doubt)
            return CallRead(name, {}, self.source, complete=False, repairs=doubts)
        mended = tuple(repair for field in rest.values() for repair in field.repairs)
        moved = ("took the parameters from beside the name",) if rest else ()
        return CallRead(name, {key: field.value for key, field in rest.items()}, repairs=(*repairs, *moved, *mended))

    def _named_by_key(self, box: Toolbox) -> CallRead | None:
        """`{"weather": {"city": "Oslo"}}`: the only key is a tool, and the value fits it."""
        texts = [text for key, text in self._fields.items() if key not in (*SILENT_KEYS, *THOUGHT_KEYS)]
        if len(texts) != 1:
            return None
        field = Field(texts[0])
        if field.key not in box.tools or not isinstance(field.value, dict):
            return None
        keys = field.value.keys()
        if not keys <= set(box.parameters(field.key)) or not keys >= set(box.required(field.key)):
            return None
        return CallRead(
            field.key, field.value, field.source, repairs=("the tool's name stood as the key", *field.repairs)
        )


def _says_no_tool(name: Json) -> bool:
    return isinstance(name, str) and name.strip().lower() in NO_TOOL


def _end_of_key(text: str) -> int:
    found = _KEY.match(text)
    return found.end() if found is not None else 0


def with_repairs(said: CallRead, *more: str) -> CallRead:
    """The call with more repairs on record."""
    return structs.replace(said, repairs=(*said.repairs, *more)) if more else said


def _read_field(name: str, field: Field, box: Toolbox) -> CallRead:
    """A call out of the pair that holds its arguments."""
    value = field.value
    if field.broken:
        return CallRead(name, {}, field.source, complete=False, repairs=(field.doubt,) if field.doubt else ())
    if value is None or isinstance(value, dict):
        return read_object(name, field.source)
    if not isinstance(value, str):
        return read_value(name, value, field.source, box)
    said = read_input(name, value, box)
    note = ("arguments were JSON inside a string: opened",) if value.lstrip().startswith("{") else ()
    return CallRead(name, said.arguments, field.source, said.complete, (*note, *said.repairs))
