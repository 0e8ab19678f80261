"""The engine of the open models' text formats: a row of `formats` says how a model writes, this reads and writes
it, whole or in pieces, in one pass.

    prose ──opening mark──▶ lead ──head of a call──▶ call ──its end──▶ behind a call ──▶ prose
    prose ──head of a call without its mark──▶ call

An opening mark alone is no call: what follows it must begin like one, or all of it is text. How the call itself is
written is `tagged.bodies`' affair. A mark that only servers are meant to see is dropped. Thoughts, and results that a
model made up, are the affair of `text.reader`.

Limits: text that shows a call in the model's own mark-up has made it. A mark that a value may not hold in a format (its
own end tag, with another tag right behind it) ends the value there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

from msgspec import Struct

from ....core.call import MediaPart, TextPart, ToolCall
from ....core.json import JsonObject, dumps
from ....core.message import (
    ReasoningPart,
    RefusalPart,
    Reply,
    ReplyPart,
    ToolMessage,
)
from ....core.model import Request
from ....core.tool import Tool
from ...chat_marks import CHATML, ChatMarks
from ...listing import TextListing
from ...tools_once import OncePerTools
from ..history import (
    Writers,
    as_text,
    instructions,
    without_tools,
)
from ..invented_results import result_marks, turn_marks
from ..marks import (
    HEAD_MAX,
    WAIT,
    CallHead,
    Marks,
)
from ..reader import (
    Position,
    ReplyMarks,
    TextReader,
    TextRules,
)
from ..speech import Speech
from ..thought_marks import ThoughtMarks, thought_marks_of
from ..toolbox import Toolbox
from ..wording import language_of
from .bodies import (
    Body,
    BodyReader,
    BodySetting,
    NamedCall,
    fill,
)

_SPACE = re.compile(r"\s+")
_FENCE = re.compile(r"\s{0,64}(?:`{3,16}|~{3,16})")


class Format(Struct, frozen=True, kw_only=True):
    """A row: how the models of a family write calls.

    Attributes:
        listing: how the catalog lists the dialect: its name, its models, the signs of their chat templates.
        bodies: the ways of writing a call that are read; the first is the one that is written.
        opens: marks before a call or a section of calls, any of which may be missing.
        closes: marks behind one.
        drops: marks for the server, which say nothing here. A mark that ends a call and every other message is in both.
        think: the marks around reasoning.
        thoughts: further pairs of marks around reasoning, which are read and never written.
        think_lone: a closing mark without an opening one ends a thought that the prompt had opened. False where the
            mark that closes reasoning ends every other message as well.
        ends_answer: the mark that closes reasoning may end the whole output as well; there it is dropped.
        cites: how a passage of the text that rests on a source begins and ends; the end has the group `sources`. The
            marks are dropped, and the reply's extras keep what the marks say.
        call_ends_thought: a call in reasoning that is never closed counts; else it is part of the reasoning.
        bare: a call is read where its opening mark is missing, too. Not so where a grammar put every mark in its place.
        several_inside: behind an opening mark several calls may stand, none of which has a mark of its own.
        opened: the prompt ends in the opening mark, so that the output may begin behind it.
        said: what is written before text.
        loose: what may stand between calls and behind the last, as the inside of a character class.
        section: what is written around all calls of a reply.
        call: what is written around each call.
        between: what is written between two calls.
        prompt: what the model is told; `{tools}` is filled in.
        declare: how a tool is described to it.
        joined: the text between two descriptions; a pair of brackets more makes a list of them.
        result: how a result is told; `{name}`, `{id}`, `{text}` and `{json}`, the text in quotes, are filled in.
        results: further ways in which a model begins a result that it makes up.
        chat: how the family's chat template marks turns, where there is only a text to go on with.
        source: where the format is described.
    """

    listing: TextListing
    bodies: tuple[Body, ...]
    opens: tuple[str, ...] = ()
    closes: tuple[str, ...] = ()
    drops: tuple[str, ...] = ()
    think: tuple[str, str] = ("<think>", "</think>")
    thoughts: tuple[tuple[str, str], ...] = ()
    think_lone: bool = True
    ends_answer: bool = False
    cites: tuple[CallHead, CallHead] | None = None
    call_ends_thought: bool = False
    bare: bool = True
    several_inside: bool = False
    opened: bool = False
    said: str = ""
    loose: str = r"\s,;"
    section: tuple[str, str] = ("", "")
    call: tuple[str, str] = ("", "")
    between: str = "\n"
    prompt: str
    declare: Callable[[Tool], str]
    joined: Literal["lines", "list"] = "lines"
    result: str
    results: tuple[str, ...] = ()
    chat: ChatMarks = CHATML
    source: str

    @property
    def name(self) -> str:
        """The dialect's name."""
        return self.listing.name

    @property
    def thought_marks(self) -> tuple[ThoughtMarks, ...]:
        """All marks of thoughts that count in the models' text."""
        return thought_marks_of((self.think, *self.thoughts), lone=self.think_lone)


class TaggedText(Struct, frozen=True):
    """The dialect of a row.

    Args:
        form: the row.
        thinking: the prompt ends with the mark that opens reasoning, as the chat templates of some models do it.
    """

    form: Format
    thinking: bool = False

    @property
    def name(self) -> str:
        """The row's name."""
        return self.form.name

    @property
    def marks(self) -> ChatMarks:
        """How turns are marked for a model that only goes on with a text."""
        return self.form.chat

    def encode_request(self, request: Request) -> Request:
        """The request for a model behind a chat or plain completions endpoint; see `TextDialect`.

        The server's own template adds the marks of roles; what the template would add for `tools` is in the messages
        here.
        """
        told = instructions(request, _prompt(request.tools, self.form), language_of(request.messages))
        return without_tools(request, as_text(request.messages, self.name, told, self._writers))

    def decode(self, output: bytes | str, *, tools: Sequence[Tool] = ()) -> Reply:
        """What a model wrote, as text, reasoning and calls."""
        decoder = self.decoder(tools=tools)
        decoder.feed(output)
        decoder.close()
        return decoder.reply

    def decoder(self, *, tools: Sequence[Tool] = (), reasoned: bool = False) -> TextReader:
        """A reader of the same text in pieces; see `TextDialect`."""
        return TextReader(_signs(tuple(tools), self.form).rules, thinking=self.thinking, reasoned=reasoned)

    def encode_reply(self, reply: Reply) -> str:
        """The text by which a model would have said this reply; `decode` takes it back.

        An incomplete call comes back as such only where it stands last.
        """
        return _Writer(self.form, thinking=self.thinking).text(reply.content, reasoning=True)

    def _writers(self) -> Writers:
        writer = _Writer(self.form)
        return writer.reply, writer.result


def _told(tools: tuple[Tool, ...], form: Format) -> str:
    declared = [form.declare(tool) for tool in tools]
    told = "\n".join(declared) if form.joined == "lines" else "[" + ", ".join(declared) + "]"
    return form.prompt.replace("{tools}", told)


_prompt = OncePerTools(_told)


class _Writer:
    """Writes what was said before, counting the calls."""

    def __init__(self, form: Format, *, thinking: bool = False) -> None:
        self._form = form
        self._thinking = thinking
        self._written = 0
        self._ids: dict[str, str] = {}
        marks = (*form.opens, *form.closes, *form.drops, *form.think)
        ends = re.findall(r"</\w+>|\[/\w+\]|<\|?[^{}<>]+\|?>", form.result)
        self._marks = Marks((*marks, *ends)).pattern

    def reply(self, reply: Reply) -> list[TextPart | MediaPart]:
        text = self.text(reply.content, reasoning=False)
        media = [part for part in reply.content if isinstance(part, MediaPart)]
        return [*([TextPart(text)] if text else []), *media]

    def result(self, message: ToolMessage, call: ToolCall | None, first: bool) -> Iterator[TextPart | MediaPart]:
        """A result, in marks that its own text can not leave."""
        text = self._told_apart(message.result.text)
        if message.result.error is not None:
            text = "Error: " + text
        given = message.result.call_id
        call_id = self._ids.get(given, given)
        yield TextPart(fill(self._form.result, name=message.name, id=call_id, text=text, json=dumps(text)))
        yield from (part for part in message.result.content if isinstance(part, MediaPart))

    def _told_apart(self, text: str) -> str:
        """The text with a backslash in each mark. A mark may hold another one."""
        return self._marks.sub(lambda found: found[0][0] + "\\" + self._told_apart(found[0][1:]), text)

    def text(self, parts: Sequence[ReplyPart], *, reasoning: bool) -> str:
        pieces: list[str] = []
        calls: list[ToolCall] = []
        if reasoning and self._thinking and not isinstance(next(iter(parts), None), ReasoningPart):
            pieces.append(self._form.think[1])
        for part in parts:
            if isinstance(part, ToolCall):
                calls.append(part)
                continue
            pieces += self._section(calls)
            calls = []
            match part:
                case TextPart(text) | RefusalPart(text):
                    pieces.append(self._form.said + text)
                case ReasoningPart(text=text) if reasoning:
                    opening, closing = self._form.think
                    pieces.append(f"{'' if self._thinking and not pieces else opening}\n{text}\n{closing}\n")
                case _:
                    pass
        return "\n".join([*pieces, *self._section(calls)])

    def _section(self, calls: Sequence[ToolCall]) -> list[str]:
        if not calls:
            return []
        opening, closing = self._form.section
        texts = [self._call(call) for call in calls]
        return [opening + self._form.between.join(texts) + (closing if calls[-1].complete else "")]

    def _call(self, call: ToolCall) -> str:
        body, (opening, closing) = self._form.bodies[0], self._form.call
        text = opening + body.write(call, self._written)
        if isinstance(body, NamedCall):
            self._ids[call.id] = body.id_of(call, self._written)
        self._written += 1
        return text + closing if call.complete else text


class _Signs:
    """What is looked for in the text of a model that may call these tools."""

    def __init__(self, tools: tuple[Tool, ...], form: Format) -> None:
        self.form = form
        self.box = Toolbox(tools)
        self.marks = Marks((*form.opens, *form.closes, *form.drops))
        self.stops = Marks((*form.opens, *form.closes, *form.drops))
        self.closes = Marks((*form.closes, *form.drops))
        bare = [(body, body.bare(self.box)) for body in form.bodies] if form.bare else []
        self.bare: list[tuple[Body, CallHead]] = [(body, head) for body, head in bare if head is not None]
        self.edge = _edge(self.marks.all, [head for _, head in self.bare], self.box.tools)
        results = (*result_marks(form.result), *form.results, "<tool_response", *turn_marks(form.chat))
        self.rules = TextRules(
            marks=ReplyMarks(form.thought_marks, results),
            plain=ReplyMarks((), results),
            answer=lambda speech, first: TaggedReader(self, speech, first=first),
            thought=lambda speech: TaggedReader(self, speech, thought=True),
            call_ends_thought=form.call_ends_thought,
            last=form.think[1] if form.ends_answer else "",
        )


_signs = OncePerTools(_Signs)


class TaggedReader:
    """A `CallReader`: it tells text and calls.

    Args:
        signs: what is looked for.
        speech: is told.
        first: the reply begins here.
        thought: it is a thought: nothing in it is a call.
    """

    def __init__(self, signs: _Signs, speech: Speech, *, first: bool = False, thought: bool = False) -> None:
        form = self._form = signs.form
        self._box = signs.box
        self._speech = speech
        self._closing = False
        self._held = ""
        self._thought = thought
        self._state: Callable[[str, int], int] = self._in_lead if form.opened and first else self._in_prose
        self._lead = ""
        self._loose: list[str] = []
        self._fenced = False
        self._inside = False
        self._reader: BodyReader | None = None
        self.begun = 0
        self._marks, self._stops, self._closes = signs.marks, signs.stops, signs.closes
        self._bare, self._edge = signs.bare, signs.edge
        self._loose_text = re.compile(f"[{form.loose}]+")
        # How a row writes the end of a call: what else stands there was mended.
        self._tail = form.call[1] + form.section[1]
        self._closed_by_mark = self._closes.pattern.search(self._tail) is not None

    @property
    def position(self) -> Position:
        """See `CallReader`."""
        if self._reader is not None:
            return "value" if self._reader.in_value else "call"
        return "behind" if self._state == self._behind else "prose"

    def end(self, *, last: bool) -> None:
        """Nothing more comes; see `CallReader`."""
        self._closing = True
        self.read("")
        if self._reader is not None:
            self._reader.stop(whole=last and not self._speech.cut_off)
            self._end_call()
        self._end_unclosed()
        self._give_up_lead()

    def read(self, text: str) -> None:
        """Each state takes what it can from `at` on. One that takes nothing waits for the next piece to tell."""
        text, self._held, at = self._held + text, "", 0
        while at < len(text):
            state, before = self._state, at
            at = state(text, at)
            if at == before and state == self._state:
                self._held = text[at:]
                return

    # Text.

    def _in_prose(self, text: str, at: int) -> int:
        edge = self._edge.search(text, at)
        end = edge.start() if edge is not None else len(text)
        if end > at:
            self._say(text[at:end])
            return end
        taken = self._take_mark(text, at)
        if taken is None:
            taken = self._take_cite(text, at)
        if taken is not None:
            return taken
        if not self._thought:
            begun = self._begin(self._bare, text, at)
            if begun is not None:
                return begun
        if not self._closing and self._marks.may_begin(text, at):
            return at
        self._say(text[at])
        return at + 1

    def _take_mark(self, text: str, at: int) -> int | None:
        """The place behind a mark that stands here, None where none does that counts."""
        found = self._marks.pattern.match(text, at)
        if found is None:
            return None
        mark, form = found[0], self._form
        if mark not in form.closes:
            self._end_unclosed()
        if mark in form.opens:
            if self._thought:
                return None
            self._lead = self._take_loose() + mark
            self._state = self._in_lead
        elif mark in form.closes:
            if self._state == self._in_prose:
                return found.end() if mark in form.drops else None
            self._speech.release(*self._too_much(self._take_loose()))
            self._inside = False
        return found.end()

    def _end_unclosed(self) -> None:
        """What follows a call is no closing mark."""
        self._speech.release(*(["closing mark missing"] if self._closed_by_mark else []))

    def _too_much(self, loose: str) -> list[str]:
        """What has to be said of brackets behind a call that the row does not write there."""
        body = self._form.bodies[0]
        written = self._tail + (body.form.split("{arguments}")[1] if isinstance(body, NamedCall) else "")
        brackets = "".join([char for char in loose if char in "}])" and char not in written])
        return [f"ignored {brackets[:40]!r} behind the call"] if brackets else []

    def _take_cite(self, text: str, at: int) -> int | None:
        """The place behind a mark of a citation; its own place where it may yet be one, None where it is none."""
        waits = False
        for head in self._form.cites or ():
            found = head.sees(text, at, closing=self._closing)
            if isinstance(found, re.Match):
                sources = found.groupdict().get("sources")
                if sources is None:
                    self._speech.begin_citation()
                else:
                    self._speech.end_citation(sources)
                return at + found.end()
            waits = waits or found is WAIT
        return at if waits else None

    def _say(self, text: str) -> None:
        text = self._take_loose().translate(_STRAY) + text
        (self._speech.think if self._thought else self._speech.say)(text)

    def _take_loose(self) -> str:
        """What stood loosely behind the last call."""
        loose, self._loose = "".join(self._loose), []
        return loose

    # Behind an opening mark.

    def _in_lead(self, text: str, at: int) -> int:
        room = max(0, HEAD_MAX - len(self._lead))
        found = self._stops.pattern.match(text, at) or _SPACE.match(text, at, at + room)
        if found is not None and room and found[0] not in self._form.closes:
            self._lead += found[0]
            return found.end()
        begun = self._begin([(body, body.head) for body in self._form.bodies], text, at, tagged=True)
        if begun is not None:
            return begun
        if not self._closing and self._stops.may_begin(text, at):
            return at
        self._give_up_lead()
        return at

    def _give_up_lead(self) -> None:
        """No call followed: the mark was text."""
        if self._state == self._in_lead:
            lead, self._lead = self._lead, ""
            self._state = self._in_prose
            self._say(lead)

    def _begin(self, heads: Sequence[tuple[Body, CallHead]], text: str, at: int, *, tagged: bool = False) -> int | None:
        """Begin a call whose head stands here; its place where it may yet be one, None where it is none."""
        waits = False
        for body, head in heads:
            found = head.sees(text, at, closing=self._closing)
            if isinstance(found, re.Match):
                start = found.start("json") if "json" in found.groupdict() else found.end()
                loose = self._take_loose()
                self._lead = self._lead if tagged else loose + found[0][:start]
                fenced = not tagged and found[0][:1] in ("`", "~")
                self._fenced = fenced or (self._fenced and self._state == self._behind)
                self._inside = tagged and self._form.several_inside
                self._speech.release()
                self._speech.waits = tagged and self._closed_by_mark
                place = BodySetting(self._speech, self._box, self._stops, self._closes, tagged)
                self._reader = body.reader(found, place)
                self.begun += 1
                self._state = self._in_call
                if self._reader.ended:  # text to the user follows, at once: a thought may begin in it
                    self._reader, self._lead, self._state = None, "", self._in_prose
                return at + start
            waits = waits or found is WAIT
        return at if waits else None

    # Calls.

    def _in_call(self, text: str, at: int) -> int:
        assert self._reader is not None
        at = self._reader.feed(text, at, closing=self._closing)
        if self._reader.ended:
            self._end_call()
        return at

    def _end_call(self) -> None:
        assert self._reader is not None
        text, self._reader = self._reader.text, None
        lead, self._lead = self._lead, ""
        if text:
            self._state = self._in_prose
            self._say(lead + text)
        else:
            self._state = self._behind

    def _behind(self, text: str, at: int) -> int:
        """Behind a call: separators, brackets too many, closing marks, or the next call."""
        fence = _FENCE.match(text, at) if self._fenced else None
        if fence is not None and (fence.end() < len(text) or self._closing):
            self._fenced = False
            return fence.end()
        if self._fenced and not self._closing and _FENCE_BEGUN.match(text, at):
            return at
        loose = self._loose_text.match(text, at)
        if loose is not None:
            self._loose.append(loose[0])
            return loose.end()
        taken = self._take_mark(text, at)
        if taken is None:
            heads = [(body, body.head) for body in self._form.bodies] if self._inside else self._bare
            taken = self._begin(heads, text, at, tagged=self._inside)
        if taken is not None:
            return taken
        if not self._closing and self._marks.may_begin(text, at):
            return at
        self._end_unclosed()
        self._state = self._in_prose
        return at


_STRAY = str.maketrans("", "", "}])")
_FENCE_BEGUN = re.compile(r"\s{0,64}(?:`{0,15}|~{0,15})\Z")


def _edge(marks: Iterable[str], heads: Iterable[CallHead], names: Iterable[str]) -> re.Pattern[str]:
    """The characters that a mark or a head may begin with; a head begins with any that it does not refuse."""
    first = {mark[0] for mark in marks}
    candidates = {chr(code) for code in range(33, 127)} | {name[0] for name in names}
    for head in heads:
        first |= {char for char in candidates if head.sees(char, 0, closing=False) is not None}
    return re.compile("[" + "".join(map(re.escape, sorted(first))) + "]" if first else r"(?!)")


BRACKETS = r"\s,;}\]"
"""`Format.loose` where calls are JSON: brackets too many stand there as well."""

IN_TOOLS = """\
# Tools

These are the functions that you may call, as JSON, one a line:
<tools>
{tools}
</tools>

"""
"""The beginning of a prompt that many models know."""


def openai_tool(tool: Tool) -> str:
    """`{"type": "function", "function": {...}}`."""
    return dumps({"type": "function", "function": _definition(tool)})


def bare_tool(tool: Tool) -> str:
    """`{"name": ..., "description": ..., "parameters": ...}`."""
    return dumps(_definition(tool))


def _definition(tool: Tool) -> JsonObject:
    return {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
