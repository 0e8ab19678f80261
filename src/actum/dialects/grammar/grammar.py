"""The grammar of what a model may answer: text, or calls of the tools that it is given, in its own format. Pure.

    Request + text dialect ──▶ Grammar ──▶ the engine's mask over the next token (`models.constrained`)

Where a call begins, only the name of a tool of the request can follow, and then arguments that fit its schema. Where
calls begin with a mark, the mark is what text may not hold; where they do not (prompt JSON, bare lists), text may not
begin like one. What the engine refuses in a schema is left out of account for that tool alone and listed in `loose`:
validation follows in any case, and a model that is told its error tries again.

Behind its calls a reply ends. Reasoning is where the format has it. `copies` makes a second kind of grammar, which
allows only strings that occur in some texts, such as the conversation, or that the schema itself names.

Limits: arguments come in the order of the schema. A number of more than about 300 digits is no number to Python and
ends as a call that is not complete.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct, structs

from ...core.call import ToolCall
from ...core.errors import UsageError
from ...core.message import (
    Message,
    Reply,
    ToolMessage,
    UserMessage,
)
from ...core.model import Request
from ...core.tool import AllowedTools, NamedTool, Tool
from ..base import TextDialect
from ..listing import TextListing
from ..loose import Loose, Strength
from ..text.harmony import Harmony
from ..text.prompt_json import PromptJson
from ..text.react.dialect import WORDS, React
from ..text.react.markers import PLAIN
from ..text.tagged.bodies import JsonCall
from ..text.tagged.dialect import Format, TaggedText, bare_tool
from ..text.wording import language_of
from .calls import (
    CallParts,
    alike_of,
    has_row,
    row_of,
)
from .copies import Copies
from .lark import Lark, either, pattern, quoted, without
from .values import STRENGTHS, Values

CALLS_MAX = 16
"""Calls in one reply."""

Refuses = Callable[[str], str]
"""Says why the engine does not take a grammar; empty where it does."""


class Grammar(Struct, frozen=True):
    """What a model may say.

    Attributes:
        source: in llguidance's language.
        dialect: reads what is said.
        loose: where it lets through more than the schemas do.
    """

    source: str
    dialect: TextDialect
    loose: tuple[Loose, ...] = ()


def grammar_of(
    dialect: TextDialect,
    request: Request,
    *,
    refuses: Refuses,
    special: Mapping[str, int] | None = None,
    thinking: bool = False,
    copies: Iterable[str] | None = None,
) -> Grammar:
    """The grammar of the answers to a request.

    Args:
        dialect: in which the model writes calls.
        request: its tools, tool choice, parallel calls and output schema count.
        refuses: asks the engine.
        special: the tokens of the vocabulary that are marks, by their text.
        thinking: the prompt ended with the mark that opens reasoning.
        copies: texts that strings in arguments must be copied from; None where they may be any.

    Raises:
        UsageError: the tool choice names a tool that the request has not, or the engine takes no grammar of these
            tools at all, because they are too many for it.
    """
    chosen, must = _allowed(request)
    tools = _sayable(dialect, chosen)
    loose = [
        Loose(tool.name, "none", "its name can not be said in this format") for tool in chosen if tool not in tools
    ]
    if must and not tools:
        raise UsageError("no tool that must be called can be said in the dialect {dialect!r}", dialect=dialect.name)
    source = None if copies is None else Copies(copies)

    def write(strengths: Mapping[str, Strength], written: Sequence[Tool]) -> tuple[str, dict[str, set[str]]]:
        lark = Lark(special)
        values = {tool.name: Values(lark, tool, strengths.get(tool.name, "exact"), source) for tool in written}
        start = _start(dialect)(_Asked(lark, dialect, request, written, values, must, thinking))
        return lark.source(start), {name: found.left_out for name, found in values.items()}

    def refused(strengths: Mapping[str, Strength], *some: Tool) -> str:
        return refuses(write(strengths, some)[0])

    strengths: dict[str, Strength] = {}
    if refused(strengths, *tools):
        weakened = [_weakened(tool, refused) for tool in tools]
        strengths = {one.tool: one.kept for one in weakened if one is not None and one.kept != "none"}
        loose += [one for one in weakened if one is not None]
        if why := refused(strengths, *tools):  # each by itself it takes, all of them are too much
            strengths = {tool.name: "object" for tool in tools}
            loose = [one for one in loose if one.kept == "none"]
            loose += [Loose(tool.name, "object", why) for tool in tools]
    text, left_out = write(strengths, tools)
    if why := refuses(text):
        raise UsageError("no grammar can be made of these tools: {why}", why=why)
    loose += [
        Loose(name, "lenient", f"left out: {', '.join(sorted(words))}") for name, words in left_out.items() if words
    ]
    if request.output_schema is not None and tools and not must and not _tells_apart(dialect):
        loose.append(Loose("", "lenient", "the answer is JSON, and so are calls: both are only validated"))
    return Grammar(text, _reader(dialect), tuple(loose))


def _weakened(tool: Tool, refused: Callable[[Mapping[str, Strength], Tool], str]) -> Loose | None:
    """What of a tool's schema is held, where the engine does not take all of it."""
    why = ""
    for strength in STRENGTHS:
        reason = refused({tool.name: strength}, tool)
        if not reason:
            return Loose(tool.name, strength, why) if why else None
        why = why or reason
    return Loose(tool.name, "object", why)


def conversation(messages: Sequence[Message]) -> list[str]:
    """What the user said and what tools answered: the texts that a copy is made of."""
    said = [message.text for message in messages if isinstance(message, UserMessage)]
    return said + [message.result.text for message in messages if isinstance(message, ToolMessage)]


def _allowed(request: Request) -> tuple[tuple[Tool, ...], bool]:
    """The tools that may be called, and whether one must be."""
    known = {tool.name for tool in request.tools}
    names, must = known, False
    match request.tool_choice:
        case "none":
            return (), False
        case "required":
            must = True
        case NamedTool(name):
            names, must = {name}, True
        case AllowedTools(allowed, mode):
            names, must = set(allowed), mode == "required"
        case "auto":
            pass
    if names - known:
        raise UsageError("tool choice: the request has no tool {names}", names=", ".join(sorted(names - known)))
    tools = tuple([tool for tool in request.tools if tool.name in names])
    return tools, must and bool(tools)


def _sayable(dialect: TextDialect, tools: Sequence[Tool]) -> tuple[Tool, ...]:
    """The tools whose calls are read as theirs when they are written."""

    def read(some: Sequence[Tool]) -> list[str]:
        written = Reply.of(calls=[ToolCall(str(number), tool.name, {}) for number, tool in enumerate(some)])
        return [call.name for call in dialect.decode(dialect.encode_reply(written), tools=some).calls]

    if read(tools) == [tool.name for tool in tools]:
        return tuple(tools)
    return tuple([tool for tool in tools if read([tool]) == [tool.name]])


class _Asked(Struct, frozen=True):
    """All that a grammar is made of."""

    lark: Lark
    dialect: TextDialect
    request: Request
    tools: Sequence[Tool]
    values: Mapping[str, Values]
    must: bool
    thinking: bool

    @property
    def several(self) -> bool:
        return self.request.parallel_calls is not False

    def repeated(self, first: str, more: str) -> str:
        return f"{first} ({more}){{0,{CALLS_MAX - 1}}}" if self.several else first

    def answer(self, text: str) -> str:
        """What is said where no tool is called: text, or what the output schema asks for."""
        schema = self.request.output_schema
        if schema is None or schema.get("type") not in ("object", "array"):
            return self.lark.terminal(text)
        return self.lark.json(schema, lenient=True)


# Formats in marks, and bare JSON.

_PROMPT_JSON = Format(
    listing=TextListing("prompt_json"),
    bodies=(JsonCall(name_key="tool", arguments_key="params"),),
    prompt="",
    declare=bare_tool,
    result="",
    source="",
)
_PROSE = pattern(r"[^{\[`~<]*")
"""Text before a call where what else the reply might be begins with a mark-up: nothing that could begin that."""


def _format(dialect: TextDialect) -> Format:
    return dialect.form if isinstance(dialect, TaggedText) else _PROMPT_JSON


def _marked(form: Format) -> bool:
    """Calls begin with a mark that text can do without."""
    return _lead(form).startswith(form.opens) if form.opens else False


def _strict(form: Format) -> bool:
    """Every call has its mark, so that what only looks like one can be text."""
    follows = form.call[0] + row_of(form.bodies[0]).prefix(form.bodies[0])
    return _marked(form) and (row_of(form.bodies[0]).listed or form.several_inside or follows.startswith(form.opens))


def _tells_apart(dialect: TextDialect) -> bool:
    """An answer in JSON can not be taken for a call."""
    return not isinstance(dialect, TaggedText | PromptJson) or _marked(_format(dialect))


def _lead(form: Format) -> str:
    """What every reply with calls begins with."""
    body = form.bodies[0]
    return form.section[0] + form.call[0] + row_of(body).prefix(body)


def _tagged(asked: _Asked) -> str:
    form, lark = _format(asked.dialect), asked.lark
    body, lead = form.bodies[0], _lead(form)
    ends = [*form.opens, *form.closes, *form.drops]
    parts = [row_of(body).parts(lark, body, tool, asked.values[tool.name], ends) for tool in asked.tools]
    trigger = next((mark for mark in (*form.opens, row_of(body).prefix(body)) if mark and lead.startswith(mark)), "")
    marks = [quoted(mark) for mark in (*form.opens, *form.think, trigger) if mark]
    alike = alike_of(form.bodies, [tool.name for tool in asked.request.tools]) if asked.request.tools else []
    free = without([*marks, *(alike if not _strict(form) and asked.request.output_schema is None else [])])
    thought = _thought(asked, form, without(marks))
    answer = asked.answer(free) if _marked(form) or not parts else lark.terminal(free)
    if not parts:
        return f"{thought} {answer}"
    begin = lark.rule(either([f"{_head(lark, part)} {part.rest}" for part in parts]))
    again = f"{lark.text(form.call[1] + form.between + form.call[0] + row_of(body).prefix(body))} {begin}"
    end = f"{asked.repeated('', again)} {lark.text(form.call[1] + form.section[1])}"
    if asked.must:
        return f"{thought} {lark.text(lead)} {begin} {end}"
    if trigger:
        before = free if asked.request.output_schema is None else _PROSE
        found = f"{lark.until(before, trigger)} {lark.text(lead.removeprefix(trigger))} {begin}"
    else:
        heads = [f"{_PROSE} {quoted(lead)} {part.head}" if lead else f"{_PROSE} {part.head}" for part in parts]
        lazy = [lark.rule(lark.terminal(head), lazy=True) for head in heads]
        found = either([f"{head} {part.rest}" for head, part in zip(lazy, parts, strict=True)])
    return f"{thought} ({answer} | {found} {end})"


def _head(lark: Lark, part: CallParts) -> str:
    return lark.terminal(part.head) if part.head else ""


def _thought(asked: _Asked, form: Format, free: str) -> str:
    """Reasoning at the beginning of a reply: there is some where the prompt opened it, else there may be."""
    opening, closing = form.think
    behind = '("\\n\\n" | "\\n")?'
    if asked.thinking:
        return f"{asked.lark.until(free, closing)} {behind}"
    if asked.must:
        return ""
    return f"({asked.lark.text(opening)} {asked.lark.until(free, closing)} {behind})?"


# Harmony.

_CHANNEL, _NEXT = "<|channel|>", "<|start|>assistant"
_HARMONY_MARKS = ("<|start|>", "<|channel|>", "<|message|>", "<|constrain|>", "<|end|>", "<|call|>", "<|return|>")


def _harmony(asked: _Asked) -> str:
    lark = asked.lark
    free = without([quoted(mark) for mark in _HARMONY_MARKS])
    thought = f"{lark.text(_CHANNEL + 'analysis<|message|>')} {lark.until(free, '<|end|>')} {lark.text(_NEXT)}"
    word = f"{lark.text(_CHANNEL + 'commentary<|message|>')} {lark.until(free, '<|end|>')} {lark.text(_NEXT)}"
    final = f"{lark.text(_CHANNEL + 'final<|message|>')} {asked.answer(free)}"
    calls = [
        f"{lark.text(tool.name + ' <|constrain|>json<|message|>')} {asked.values[tool.name].json()}"
        for tool in asked.tools
    ]
    if not calls:
        return f"({thought})? {final}"
    call = f"{lark.text(_CHANNEL + 'commentary to=functions.')} {either(calls)}"
    found = asked.repeated(call, f"{lark.text('<|call|>' + _NEXT)} {call}")
    if asked.must:
        return f"{found}"
    return f"({thought})? ({final} | ({word})? {found})"


# ReAct.

_BREAK = "\n"
_LINE = pattern(r"[^\n]+")
"""A thought: one line."""


def _react(asked: _Asked) -> str:
    lark, dialect = asked.lark, asked.dialect
    assert isinstance(dialect, React)
    language = language_of(asked.request.messages) if dialect.language == "auto" else dialect.language
    words = WORDS[language]
    begins = "|".join([*sorted(PLAIN), "answer", "动作", "回答", "最终答案"])
    marker = pattern(rf"(?i:{begins})[ \t\[\](（)）#0-9*_】]{{0,16}}[:：】]")
    free = without([marker, quoted("<think")])
    line = f"({_LINE} & {free})"
    thought = f"({quoted(words.thought)} {lark.until(line, _BREAK)})?"
    answer = f"{quoted(words.answer)} {asked.answer(free)}"
    heads = {tool.name: quoted(tool.name + _BREAK + words.input) for tool in asked.tools}
    calls = [f"{head} {asked.values[name].json()}" for name, head in heads.items()]
    if not calls:
        return f"{thought} {answer}"
    call = f"{quoted(words.action)} {either(calls)}"
    found = asked.repeated(call, f"{quoted(_BREAK)} {call}")
    return f"{thought} {found}" if asked.must else f"{thought} ({answer} | {found})"


_STARTS: dict[type[TextDialect], Callable[[_Asked], str]] = {
    TaggedText: _tagged,
    PromptJson: _tagged,
    Harmony: _harmony,
    React: _react,
}


def constrains(dialect: TextDialect) -> bool:
    """There is a grammar of what is said in this dialect."""
    if isinstance(dialect, TaggedText):
        return all(map(has_row, dialect.form.bodies))
    return type(dialect) in _STARTS


def _start(dialect: TextDialect) -> Callable[[_Asked], str]:
    if not constrains(dialect):
        raise UsageError("no grammar is known of the dialect {dialect!r}", dialect=dialect.name)
    return _STARTS[type(dialect)]


def _reader(dialect: TextDialect) -> TextDialect:
    """Reads calls only where the grammar lets them begin."""
    if isinstance(dialect, TaggedText) and _strict(dialect.form):
        return structs.replace(dialect, form=structs.replace(dialect.form, bare=False))
    return dialect
