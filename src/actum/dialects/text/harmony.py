"""Harmony, the format of gpt-oss: messages with a header that says who speaks, to whom, and on which channel.

    <|channel|>analysis<|message|>I need the weather.<|end|>
    <|start|>assistant<|channel|>commentary to=functions.weather <|constrain|>json<|message|>{"city": "Oslo"}<|call|>
    <|start|>assistant<|channel|>final<|message|>It rains.<|return|>

`analysis` is reasoning, `final` is the answer, `commentary` is a word to the user on the way; any of them with a
recipient is a call. The recipient is before or after the channel, a content type may follow, and everything else in a
header is noise that models make. The model made up any message of a role other than the assistant: behind a call it
ends the reply, else it is kept as reasoning.

    text ──<|start|>, <|channel|>──▶ header ──<|message|>──▶ text, thought or call ──<|end|>, <|call|>──▶ text

Limits: a mark inside of text ends it there. Where a server drops the marks, what is left (`analysisWe need...
assistantfinal...`) is read only if the reply begins so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from ...core.call import MediaPart, TextPart, ToolCall
from ...core.json import Json, JsonObject, dumps
from ...core.message import (
    ReasoningPart,
    RefusalPart,
    Reply,
    ReplyPart,
    ToolMessage,
)
from ...core.model import Request
from ...core.tool import Tool
from ..tools_once import OncePerTools
from .history import as_text, instructions, without_tools
from .invented_results import CUT
from .marks import CallHead, Marks, NeedsMore, unlike
from .reader import (
    Position,
    ReplyMarks,
    TextReader,
    TextRules,
)
from .speech import CallRead, Speech
from .tagged.bodies import (
    Arguments,
    BodySetting,
    ValueReader,
    resolve,
)
from .thought_marks import THINK
from .toolbox import Toolbox
from .wording import language_of

_HEADS = ("<|start|>", "<|channel|>")
_ENDS = ("<|end|>", "<|call|>", "<|return|>")
_ALL = Marks((*_HEADS, *_ENDS, "<|message|>", "<|constrain|>"))
_CALL_ENDS = Marks((*_HEADS, *_ENDS))
_HEADER_ENDS = Marks((*_ENDS, "<|message|>", "<|start|>"))
_HEADER_MAX = 1000
_NO_TOOLS = frozenset(("assistant", "user", "all", "final", "analysis", "commentary"))
"""Recipients that are no tools."""

_CHANNEL = re.compile(r"<\|channel\|>\s*(analysis|commentary|final)")
_CHANNEL_NEAR = re.compile(r"(analysis|commentary|final)")
_RECIPIENT = re.compile(r"to=([^\s<]+)")
_ROLE = re.compile(r"<\|start\|>\s*([^\s<]*)")
_MARK = re.compile(r"<\|\w+\|>")
_LOOSE = re.compile(r"[\s}\]]+")

_OPENING = CallHead(
    re.compile(r"(?:(?:assistant)? ?to=[^\s<]{1,128}|assistant)\s*(?=<\|(?:channel|constrain|message)\|>)"),
    refuse=re.compile(
        rf"{unlike(' to=', 'to=', 'assistant')}|assistant(?:[^ <]| [^t]| t[^o]| to[^=])"
        r"|(?:assistant)? ?to=(?:[\s<]|[^\s<]{129}|[^\s<]++\s*+(?:[^\s<]|<[^|]|<\|[^cm]))"
    ),
)
"""How a reply begins whose prompt ended with `<|start|>assistant`, where the recipient comes first."""

_STRIPPED = CallHead(
    re.compile(r"(?P<channel>analysis)(?=[^a-z\s,.:;'])|(?P<recipient>commentary) ?(?=to=functions\.)"),
    refuse=re.compile(
        rf"{unlike('analysis', 'commentary to=functions.', 'commentaryto=functions.')}|analysis[a-z\s,.:;']"
    ),
)
"""How a reply begins from which a server dropped the marks."""

_STRIPPED_MARKS = Marks(("assistantanalysis", "assistantcommentary", "assistantfinal"))
_STRIPPED_CALL = CallHead(
    re.compile(r"\s?to=functions\.(?P<name>[^\s<{]{1,128}?)\s?(?:json|code)?\s*(?=\{)"),
    refuse=re.compile(rf"{unlike(' to=functions.', 'to=functions.')}|\s?to=functions\.[^\s<{{]*+\s*+[^\s{{jsonc]"),
)


class Harmony(Struct, frozen=True):
    """The dialect.

    >>> said = '<|channel|>commentary to=functions.weather <|constrain|>json<|message|>{"city": "Oslo"}<|call|>'
    >>> Harmony().decode(said).calls[0].arguments
    {'city': 'Oslo'}
    """

    @property
    def name(self) -> str:
        """`harmony`."""
        return "harmony"

    def encode_request(self, request: Request) -> Request:
        """The request for a model behind a chat or plain completions endpoint; see `TextDialect`."""
        told = instructions(request, _rules(request.tools, None), language_of(request.messages))
        return without_tools(request, as_text(request.messages, self.name, told, lambda: (_reply_parts, _result_parts)))

    def decode(self, output: bytes | str, *, tools: Sequence[Tool] = ()) -> Reply:
        """What a model wrote, as text, reasoning and calls."""
        decoder = self.decoder(tools=tools)
        decoder.feed(output)
        decoder.close()
        return decoder.reply

    def decoder(self, *, tools: Sequence[Tool] = (), reasoned: bool = False) -> TextReader:
        """A reader of the same text in pieces; see `TextDialect`."""
        box = Toolbox(tools)
        rules = TextRules(_MARKS, _PLAIN, lambda speech, first: HarmonyReader(box, speech, first=first))
        return TextReader(rules, reasoned=reasoned)

    def encode_reply(self, reply: Reply) -> str:
        """The text by which a model would have said this reply; `decode` takes it back.

        An incomplete call comes back as such only where it stands last.
        """
        return _written(reply.content, reasoning=True)


_MARKS = ReplyMarks((THINK,), ())
_PLAIN = ReplyMarks((), ())


class HarmonyReader:
    """A `CallReader`: it tells text, reasoning and calls."""

    def __init__(self, box: Toolbox, speech: Speech, *, first: bool) -> None:
        self._box = box
        self._speech = speech
        self._closing = False
        self._held = ""
        self._state: Callable[[str, int], int] = self._at_start if first else self._in_text
        self._thinking = False
        self._stripped = False
        self._header: list[str] = []
        self._header_length = 0
        self._reader: ValueReader | None = None
        self.begun = 0

    @property
    def position(self) -> Position:
        """See `CallReader`. A header and a message of reasoning stand for a call: no mark of a thought counts there."""
        if self._state == self._in_cut:
            return "cut"
        if self._reader is not None:
            return "value" if self._reader.in_value else "call"
        if self._thinking or self._state == self._in_header:
            return "call"
        return "behind" if self._state == self._behind_call else "prose"

    def end(self, *, last: bool) -> None:
        """Nothing more comes; see `CallReader`."""
        self._closing = True
        self.read("")
        if self._reader is not None:
            self._reader.stop(whole=last and not self._speech.cut_off)
        elif self._header:
            self._break_header()

    def read(self, text: str) -> None:
        """Each state takes what it can from `at` on. One that takes nothing waits for the next piece to tell."""
        text, self._held, at = self._held + text, "", 0
        while at < len(text):
            state, before = self._state, at
            at = state(text, at)
            if at == before and state == self._state:
                self._held = text[at:]
                return

    def _at_start(self, text: str, at: int) -> int:
        opening = _OPENING.sees(text, at, closing=self._closing)
        if isinstance(opening, re.Match):
            self._begin_header(opening[0])
            return at + opening.end()
        bare = _STRIPPED.sees(text, at, closing=self._closing)
        if isinstance(bare, re.Match):
            self._stripped = True
            self._thinking = bare["channel"] is not None
            self._speech.settled |= self._thinking
            self._state = self._in_text if self._thinking else self._at_stripped_call
            return at + len(bare[0].rstrip())
        if isinstance(opening, NeedsMore) or isinstance(bare, NeedsMore):
            return at
        self._state = self._in_text
        return at

    # What is said.

    def _in_text(self, text: str, at: int) -> int:
        marks = _STRIPPED_MARKS if self._stripped else _ALL
        found = marks.pattern.search(text, at)
        end = found.start() if found is not None else len(text)
        if found is None and not self._closing:
            end = marks.hold(text, at, end)
        (self._speech.think if self._thinking else self._speech.say)(text[at:end])
        if found is None:
            return end
        mark = found[0]
        if self._stripped:
            self._thinking = mark == "assistantanalysis"
            self._state = self._at_stripped_call if mark == "assistantcommentary" else self._in_text
        elif mark in _HEADS:
            self._begin_header(mark)
        elif mark in _ENDS:
            self._thinking = False
        return found.end()

    def _at_stripped_call(self, text: str, at: int) -> int:
        found = _STRIPPED_CALL.sees(text, at, closing=self._closing)
        if isinstance(found, re.Match):
            self._begin_call(found["name"])
            return at + found.end()
        if found is None:
            self._state = self._in_text
        return at

    # Headers.

    def _begin_header(self, mark: str) -> None:
        self._header = [mark]
        self._header_length = 0
        self._state = self._in_header

    def _in_header(self, text: str, at: int) -> int:
        limit = min(len(text), at + _HEADER_MAX - self._header_length)
        found = _HEADER_ENDS.pattern.search(text, at, limit)
        end = found.start() if found is not None else limit
        if found is None and not (self._closing and limit == len(text)):
            end = _HEADER_ENDS.hold(text, at, limit)
        self._header.append(text[at:end])
        self._header_length += end - at
        if found is None:
            if limit < len(text):  # no header is that long: the mark stood in text
                self._break_header()
            return end
        if found[0] == "<|message|>":
            self._end_header()
        else:
            self._break_header()
            if found[0] == "<|start|>":
                self._begin_header(found[0])
        return found.end()

    def _end_header(self) -> None:
        header, self._header = "".join(self._header), []
        recipient = _recipient(header)
        role = _ROLE.search(header)
        foreign = role is not None and role[1] not in ("assistant", "") and not role[1].startswith("to=")
        if recipient and not foreign:
            self._begin_call(recipient)
            return
        if foreign and self._speech.has_call:
            self._speech.note(CUT)
            self._state = self._in_cut
            return
        channels = _CHANNEL.findall(header) or _CHANNEL_NEAR.findall(header)
        self._thinking = foreign or (bool(channels) and channels[-1] == "analysis")
        self._speech.settled |= self._thinking
        self._state = self._in_text

    def _in_cut(self, text: str, at: int) -> int:
        """Behind a result that the model made up."""
        return len(text)

    def _break_header(self) -> None:
        """A header without a message: a call that broke off, or noise; the words of noise are kept as reasoning."""
        header, self._header = "".join(self._header), []
        self._state = self._in_text
        self._thinking = False
        recipient = _recipient(header)
        if recipient and (self._closing or self._header_length < _HEADER_MAX):
            name, repairs = resolve(recipient, self._box)
            self._speech.call(CallRead(name, {}, complete=False, repairs=repairs))
        elif not _CHANNEL_NEAR.search(header):
            words = _MARK.sub(" ", header).removeprefix(" assistant")
            self._speech.think(words)

    # Calls.

    def _begin_call(self, recipient: str) -> None:
        name, repairs = resolve(recipient, self._box)
        self._speech.begin_call(name)
        self.begun += 1
        stops = _STRIPPED_MARKS if self._stripped else _CALL_ENDS
        place = BodySetting(self._speech, self._box, stops, stops, True)
        self._reader = ValueReader(Arguments(name, repairs, place), place)
        self._thinking = False
        self._state = self._in_call

    def _in_call(self, text: str, at: int) -> int:
        assert self._reader is not None
        at = self._reader.feed(text, at, closing=self._closing)
        if self._reader.ended:
            self._reader = None
            self._state = self._behind_call
        return at

    def _behind_call(self, text: str, at: int) -> int:
        """Brackets too many belong to the call."""
        loose = _LOOSE.match(text, at)
        if loose is None:
            self._state = self._in_text
            return at
        return loose.end()


def _recipient(header: str) -> str:
    """The tool that a message is sent to; empty where it is none."""
    named = [name.removeprefix("functions.") for name in _RECIPIENT.findall(header)]
    tools = [name for name in named if name not in _NO_TOOLS]
    return tools[-1] if tools else ""


# What is written.

_HOW = """\
Calls of functions go to the commentary channel, with the function as recipient, one message a call:
<|start|>assistant<|channel|>commentary to=functions.name <|constrain|>json<|message|>{"parameter": "value"}<|call|>"""


def _written(parts: Sequence[ReplyPart], *, reasoning: bool) -> str:
    calls = [index for index, part in enumerate(parts) if isinstance(part, ToolCall)]
    messages = []
    for index, part in enumerate(parts):
        match part:
            case ReasoningPart(text=text) if reasoning:
                messages.append(f"<|channel|>analysis<|message|>{text}<|end|>")
            case TextPart(text) | RefusalPart(text):
                on_the_way = calls and index < calls[-1]
                head, end = ("commentary", "<|end|>") if on_the_way else ("final", "<|return|>")
                messages.append(f"<|channel|>{head}<|message|>{text}{end}")
            case ToolCall():
                content = dumps(part.arguments) + "<|call|>" if part.complete else part.raw
                messages.append(f"<|channel|>commentary to=functions.{part.name} <|constrain|>json<|message|>{content}")
            case _:
                pass
    return "<|start|>assistant".join(messages)


def _reply_parts(reply: Reply) -> list[TextPart | MediaPart]:
    media = [part for part in reply.content if isinstance(part, MediaPart)]
    text = _written(reply.content, reasoning=False) if reply.calls else reply.text
    return [*([TextPart(text)] if text else []), *media]


def _result_parts(message: ToolMessage, call: ToolCall | None, first: bool) -> Iterator[TextPart | MediaPart]:
    text = _MARK.sub(lambda found: "<\\" + found[0][1:], message.result.text)
    if message.result.error is not None:
        text = "Error: " + text
    head = f"<|start|>functions.{message.name} to=assistant<|channel|>commentary<|message|>"
    yield TextPart(f"{head}{text}<|end|>")
    yield from (part for part in message.result.content if isinstance(part, MediaPart))


def _declare(tools: Sequence[Tool]) -> str:
    """The tools as TypeScript, which is how the model knows them."""
    lines = ["# Tools", "", "## functions", "", "namespace functions {", ""]
    for tool in tools:
        lines += _comment(tool.description)
        schemas = tool.property_schemas()
        if schemas:
            lines += [f"type {tool.name} = (_: {{", *_properties(tool.parameters, 0), "}) => any;", ""]
        else:
            lines += [f"type {tool.name} = () => any;", ""]
    return "\n".join([*lines, "} // namespace functions"])


_rules = OncePerTools[None, str](lambda tools, _: f"{_declare(tools)}\n\n{_HOW}")


def _comment(text: Json) -> list[str]:
    return [f"// {line.strip()}" for line in text.splitlines() if line.strip()] if isinstance(text, str) else []


def _properties(schema: JsonObject, depth: int) -> list[str]:
    required = schema.get("required")
    found = schema.get("properties")
    lines = []
    for name, part in found.items() if isinstance(found, dict) else ():
        node = part if isinstance(part, dict) else {}
        lines += _comment(node.get("description"))
        optional = "" if isinstance(required, list) and name in required else "?"
        key = name if name.isidentifier() else dumps(name)
        default = f" // default: {dumps(node['default'])}" if "default" in node else ""
        lines.append(f"{key}{optional}: {_type(node, depth)},{default}")
    return lines


_NAMES = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
_DEPTH_MAX = 6


def _type(node: Json, depth: int) -> str:
    """A schema as a type of TypeScript; what it can not say is `any`."""
    if not isinstance(node, dict) or depth > _DEPTH_MAX:
        return "any"
    options = node.get("enum")
    if isinstance(options, list):
        return " | ".join(dumps(option) for option in options)
    for key in ("anyOf", "oneOf"):
        branches = node.get(key)
        if isinstance(branches, list):
            return " | ".join(dict.fromkeys(_type(branch, depth + 1) for branch in branches))
    kind = node.get("type")
    if isinstance(kind, list):
        return " | ".join(_type({**node, "type": one}, depth + 1) for one in kind)
    if kind == "array":
        inner = _type(node.get("items"), depth + 1)
        return f"({inner})[]" if " | " in inner else f"{inner}[]"
    if kind == "object" or "properties" in node:
        lines = _properties(node, depth + 1)
        return "\n".join(["{", *lines, "}"]) if lines else "object"
    return _NAMES.get(kind, "any") if isinstance(kind, str) else "any"
