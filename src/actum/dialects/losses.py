"""What is lost when one API's words are said in another's: found by reading back what was written. Pure.

A request or a reply is a heap of facts: this text, that call with these arguments, this temperature. Whatever is
written is read again by the target's own dialect, and each fact that is not there any more is a `Loss`. So nothing that
the nouns hold can be lost unsaid, be it by a rule of ours or by a mistake. The order of facts is not compared.

What the nouns do not hold in the first place (`detail` of an image, a mark for the cache, a second choice) is for
`api.unread` to say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec
from msgspec import Struct, structs

from ..core.call import MediaPart, TextPart, ToolCall, ToolResult
from ..core.json import Json, dumps
from ..core.message import (
    LENGTH_WORDS,
    Message,
    ReasoningPart,
    RefusalPart,
    Reply,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from ..core.model import Request
from ..core.tool import AllowedTools, NamedTool, Tool, ToolChoice
from .tool_names import ANY_NAMES, ToolNames

WHAT_CHARS_MAX = 100
_sorted = msgspec.json.Encoder(order="sorted").encode


class Loss(Struct, frozen=True):
    """Something that the target did not get, or not as it was.

    Attributes:
        where: the place, in the words of `Request` and `Reply` (`messages[2].calls[0].id`), or, for what these do not
            hold, in those of the source.
        what: what stood there, shortened.
        why: why it could not be said, for a person.
    """

    where: str
    what: str
    why: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}: {self.why}"


_WHY = {
    "answer form": "{api} takes no form of the answer here",
    "call": "{api} was told of this call in another way, or not at all",
    "extra": "only the API that it comes from knows it",
    "failed": "{api} has no mark for a call that failed; the words are sent",
    "file name": "{api} takes no name of a file here",
    "finish reason": "{api} has no such reason",
    "id": "{api} gives calls ids of its own form",
    "media": "{api} takes no such media here; they are described in words",
    "model": "{api} has the model in its address",
    "not whole": "{api} takes no call that broke off; it is sent without arguments",
    "parallel calls": "{api} can not be told whether to call in parallel",
    "redacted": "only Anthropic's API knows thoughts that are kept back",
    "refusal of the past": "{api} takes no refusal as such in a conversation; its words are sent as text",
    "result": "{api} takes an answer only to a call that waits for one; it is sent as text",
    "schema": "{api} has no such rule; it is said in the description, where that can be",
    "signature": "it means something only to the API that made it",
    "stop": "{api} takes no such stop text",
    "stream": "{api} has the wish for a stream in its address",
    "strict": "{api} can not be told to hold the model to the schema of one tool",
    "system": "{api} takes instructions at the beginning only; these are said by the user",
    "thought": "{api} is not told of this thought",
    "tool": "{api} can not be told to choose among some of the tools; it is only told of these",
    "tool choice": "{api} can not be told so",
    "tool name": "{api} takes no such name; the tool goes by another, and the description says this one",
}
"""By the kind of a fact; all others have no place."""


class _Fact(NamedTuple):
    """Something that was said. Facts are the same if `kind` and `key` are."""

    kind: str
    key: Hashable
    where: str
    what: str


def of_request(said: Request, heard: Request, api: str, names: ToolNames) -> list[Loss]:
    """What of a request is not in what was written of it.

    Args:
        said: as the source meant it.
        heard: as the target's dialect reads what it wrote.
        api: name of the target.
        names: how the target calls the tools.
    """
    lost = _missing(_request_facts(said, ANY_NAMES), _request_facts(heard, names), api)
    whole = {loss.where for kind, loss in lost if kind in ("tool", "answer form")}
    return [loss for _, loss in lost if loss.where in whole or loss.where.partition(".")[0] not in whole]


def of_reply(said: Reply, heard: Reply, api: str) -> list[Loss]:
    """What of a reply is not in what was written of it; the arguments are as for `of_request`."""
    return [loss for _, loss in _missing(_whole_reply_facts(said), _whole_reply_facts(heard), api)]


def _missing(said: Iterable[_Fact], heard: Iterable[_Fact], api: str) -> list[tuple[str, Loss]]:
    there = Counter([(fact.kind, fact.key) for fact in heard])
    lost = []
    for fact in said:
        if there[fact.kind, fact.key]:
            there[fact.kind, fact.key] -= 1
        else:
            why = _WHY.get(fact.kind, "{api} has no place for it").replace("{api}", api)
            lost.append((fact.kind, Loss(fact.where, shortened(fact.what), why)))
    return lost


def shortened(text: str) -> str:
    """The beginning of a text, in one line."""
    line = " ".join(text[: WHAT_CHARS_MAX + 1].split())
    return line if len(text) <= WHAT_CHARS_MAX else f"{line[:WHAT_CHARS_MAX]}…"


# Requests.

_TOLD_APART = frozenset(
    {
        "messages",
        "tools",
        "tool_choice",
        "stop",
        "output_schema",
        "extras",
        "timeout_s",
        "headers",
        "search",
        "found",
        "tool_search",
    }
)
"""Fields of a request that are more than one fact, or no part of a body; each other field is a fact as it is."""


def _request_facts(request: Request, names: ToolNames) -> Iterator[_Fact]:
    for field in structs.fields(Request):
        value: object = getattr(request, field.name)
        if field.name not in _TOLD_APART and value not in (None, "", (), {}) and value is not False:
            yield _Fact(field.name.replace("_", " "), _sorted(value), field.name, dumps(value))
    if request.parallel_calls is False:
        yield _Fact("parallel calls", b"false", "parallel_calls", "false")
    for number, text in enumerate(request.stop):
        yield _Fact("stop", text, f"stop[{number}]", dumps(text))
    if request.output_schema is not None:
        yield _Fact("answer form", "", "output_schema", "the schema of the answer")
        yield from _schema_facts("", request.output_schema, "output_schema")
    for number, tool in enumerate(request.tools):
        yield from _tool_facts(tool, names, f"tools[{number}]")
    choice = _meaning(request.tool_choice, len(request.tools), names)
    if choice != "auto" and (request.tools or choice != "none"):  # with no tools there is nothing to forbid
        yield _Fact("tool choice", choice, "tool_choice", str(request.tool_choice))
    yield from _conversation_facts(request.messages, names)


def _meaning(choice: ToolChoice, tools: int, names: ToolNames) -> Hashable:
    """A choice in the fewest words."""
    match choice:
        case AllowedTools(()):
            return "none"
        case AllowedTools((name,), "required") | NamedTool(name):
            return "required" if tools == 1 else ("one", names.back(name))
        case AllowedTools(allowed, mode):
            return mode, frozenset(map(names.back, allowed))
        case word:
            return word


def _tool_facts(tool: Tool, names: ToolNames, where: str) -> Iterator[_Fact]:
    name = names.back(tool.name)
    yield _Fact("tool", name, where, name)
    yield _Fact("tool name", (name, tool.name), f"{where}.name", tool.name)
    if description := tool.description.removeprefix(f"{name}: "):
        yield _Fact("description", (name, description), f"{where}.description", description)
    if tool.strict:
        yield _Fact("strict", name, f"{where}.strict", "strict")
    yield from _schema_facts(name, tool.parameters, f"{where}.parameters")


_SCHEMAS = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_LISTS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_UNSAID = frozenset({"$ref", "$schema", "$id", "$comment", "type", "title", "description", "nullable", "examples"})
"""Where a schema refers to, how it is told, and its type, which no API leaves out."""


def _schema_facts(owner: str, schema: Json, where: str) -> Iterator[_Fact]:
    """The rules of a schema, wherever in it they stand: an API may put parts of it elsewhere."""
    if not isinstance(schema, dict):
        if schema is not True:  # which allows anything, as no schema does
            yield _Fact("schema", (owner, "", _sorted(schema)), where, dumps(schema))
        return
    for name, value in schema.items():
        if name in _SCHEMAS and isinstance(value, dict):
            for key, inner in value.items():
                if name == "properties":
                    yield _Fact("parameter", (owner, key), f"{where}.{key}", key)
                yield from _schema_facts(owner, inner, f"{where}.{key}")
        elif name in _LISTS and isinstance(value, list):
            for inner in value:
                yield from _schema_facts(owner, inner, where)
        elif name not in _UNSAID and isinstance(value, dict) and name not in ("default", "const", "example"):
            yield from _schema_facts(owner, value, where)
        elif name == "const":  # the same as a list of one
            yield _Fact("schema", (owner, "enum", _sorted([value])), where, f"const: {dumps(value)}")
        elif name not in _UNSAID and value is not True and value not in ({}, []):
            yield _Fact("schema", (owner, name, _sorted(value)), where, f"{name}: {dumps(value)}")


# Conversations.


class _Numbers:
    """Numbers calls through a conversation, whatever their ids.

    Attributes:
        names: of the tools that are called, by the number of the call.
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self._waiting: dict[str, list[int]] = {}

    def of(self, call: ToolCall) -> int:
        number = len(self.names)
        self.names.append(call.name)
        self._waiting.setdefault(call.id, []).append(number)
        return number

    def answered(self, call_id: str) -> int:
        """The number of the call that this answers; -1 for none."""
        waiting = self._waiting.get(call_id)
        return waiting.pop(0) if waiting else -1

    def forget(self) -> None:
        self._waiting = {}


def _conversation_facts(messages: Sequence[Message], names: ToolNames) -> Iterator[_Fact]:
    numbers = _Numbers()
    for place, message in enumerate(messages):
        where = f"messages[{place}]"
        match message:
            case SystemMessage(text):
                if text:
                    yield _Fact("system", text, where, text)
            case UserMessage(content):
                for number, part in enumerate(content):
                    yield from _part_facts("user", part, f"{where}.content[{number}]")
            case ToolMessage(name, result):
                number = numbers.answered(result.call_id)
                if number >= 0 and name not in ("", numbers.names[number]):  # an API that has the id needs no name
                    yield _Fact("result", ("name", number, name), f"{where}.name", name)
                yield from _result_facts(number, result, f"{where}.result")
            case Reply():
                yield from _reply_facts(message, numbers, names, where)
                if text := _spoken(message, _TEXT + _REFUSAL):  # a refusal of the past may be told as text
                    yield _Fact("reply text", text, where, text)
                if refusal := _spoken(message, _REFUSAL):
                    yield _Fact("refusal of the past", refusal, f"{where}.refusal", refusal)


_ANY_MEDIA = frozenset({"", "image/*", "application/octet-stream"})
"""Media types that say nothing."""


def _part_facts(who: Hashable, part: TextPart | MediaPart, where: str) -> Iterator[_Fact]:
    if isinstance(part, TextPart):
        if part.text:
            yield _Fact("text", (who, part.text), where, part.text)
        return
    yield _Fact("media", (who, part.data or part.url), where, part.describe())
    if part.url and not part.data and part.media_type not in _ANY_MEDIA:
        yield _Fact("media type", (who, part.url, part.media_type), f"{where}.media_type", part.media_type)
    if part.name:
        yield _Fact("file name", (who, part.name), where, part.name)


def _result_facts(number: int, result: ToolResult, where: str) -> Iterator[_Fact]:
    yield _Fact("result", (number, result.text), where, result.text)
    if number < 0 and result.call_id:
        yield _Fact("result", ("id", result.call_id), f"{where}.call_id", result.call_id)
    if result.error is not None:
        yield _Fact("failed", number, f"{where}.error", result.error.message)
    for place, part in enumerate(result.content if result.error is None else ()):
        if isinstance(part, MediaPart):
            yield from _part_facts(number, part, f"{where}.content[{place}]")


# Replies.


def _reply_facts(reply: Reply, numbers: _Numbers, names: ToolNames, where: str) -> Iterator[_Fact]:
    """What both a reply of today and one of the past say; their text is told in other ways."""
    numbers.forget()
    said = 0
    for place, part in enumerate(reply.content):
        match part:
            case ToolCall():
                yield from _call_facts(part, numbers.of(part), names, f"{where}.calls[{said}]")
                said += 1
            case ReasoningPart(_, signature, redacted, by):
                if signature:
                    yield _Fact("signature", (signature, by), f"{where}.content[{place}].signature", signature)
                if redacted:
                    yield _Fact("redacted", signature, f"{where}.content[{place}].redacted", "redacted")
            case MediaPart():
                yield from _part_facts("model", part, f"{where}.content[{place}]")
            case _:
                pass
    if reply.reasoning:
        yield _Fact("thought", reply.reasoning, f"{where}.reasoning", reply.reasoning)
    for name, value in reply.extras.items():
        for label, key in _extra_facts(name, value):
            yield _Fact("extra", (where, key), f"{where}.extras.{name}", label)


def _call_facts(call: ToolCall, number: int, names: ToolNames, where: str) -> Iterator[_Fact]:
    name = names.back(call.name)
    if call.complete:
        yield _Fact("call", (number, name, _sorted(call.arguments)), where, f"{name}({dumps(call.arguments)})")
    else:
        yield _Fact("not whole", (number, name), where, f"{name}({call.raw}")
    yield _Fact("id", (number, call.id), f"{where}.id", call.id)
    if call.signature:
        yield _Fact("signature", (number, call.signature), f"{where}.signature", call.signature)


def _extra_facts(name: str, value: Json) -> Iterator[tuple[str, Hashable]]:
    """What an API says beyond our nouns; blocks without one, and further fields of others (`block_extras`), by name."""
    blocks = value if isinstance(value, dict) and value and value.keys() <= {"alone", "beside"} else None
    if blocks is None:
        yield dumps(value), (name, _sorted(value))
        return
    for way, found in blocks.items():
        for block in found.values() if isinstance(found, dict) else ():
            if way == "alone" and isinstance(block, dict):
                yield str(block.get("type") or ", ".join(block)), (name, _sorted(block))
            elif isinstance(block, dict):
                for field, inner in block.items():
                    if field != "id":  # of an item, by which nobody but its own API finds it
                        yield f"{field}: {dumps(inner)}", (name, field, _sorted(inner))


_Words = tuple[type[TextPart | MediaPart | RefusalPart], ...]
_TEXT: _Words = (TextPart, MediaPart)
_REFUSAL: _Words = (RefusalPart,)


def _spoken(reply: Reply, kinds: _Words) -> str:
    """The texts of a reply put together, with media described among them, as an API does that takes none."""
    said = [part for part in reply.content if isinstance(part, kinds)]
    return "".join([part.describe() if isinstance(part, MediaPart) else part.text for part in said])


_FINISHES = {
    **dict.fromkeys(("", "stop", "completed", "end_turn", "stop_sequence", "tool_use", "tool_calls"), "end"),
    **dict.fromkeys(("function_call", "eos", "finished"), "end"),
    **dict.fromkeys(LENGTH_WORDS, "length"),
    **dict.fromkeys(("content_filter", "refusal", "safety"), "refused"),
}
"""What the words for why a model stopped mean; all others mean themselves."""


def _whole_reply_facts(reply: Reply) -> Iterator[_Fact]:
    yield from _reply_facts(reply, _Numbers(), ANY_NAMES, "reply")
    for kind, kinds in (("text", _TEXT), ("refusal", _REFUSAL)):
        if text := _spoken(reply, kinds):
            yield _Fact(kind, text, "reply", text)
    reason = reply.finish_reason.lower()
    meaning = _FINISHES.get(reason, reason)
    if meaning == "end" and _spoken(reply, _REFUSAL):
        meaning = "refused"
    yield _Fact("finish reason", meaning, "reply.finish_reason", reply.finish_reason)
    for name in ("model", "id"):
        value: str = getattr(reply, name)
        if value:
            yield _Fact(f"reply {name}", value, f"reply.{name}", value)
    for name, count in structs.asdict(reply.usage).items():
        if count:
            yield _Fact(name, count, f"reply.usage.{name}", str(count))
