"""Labels on values of results, such as `personal`: which models, receivers and readers may have the values. Pure.

A result says which of its fields have a label (`ToolResult.labels`); it is marked when it is written down, by the
definition of the tool that was called. So a later turn and another agent keep the label.

A model that may not be told a value is told a placeholder, `[personal:1]`, also where a later tool repeats the value.
The number follows from the conversation alone, so that a replay tells the same: each labelled value has a number, also
where the model is told the value. So a placeholder still means its value where a run waits, and the labels are changed
before it goes on, or another model goes on. The model may pass the placeholder in
an argument: the call path puts the value in, behind the policy. What a placeholder of an earlier run stood for is not
known any more, and the placeholder stays text.

Receivers are judged by context: a call that sends, spends or executes asks where its arguments hold a labelled value,
or where a model has seen one, since a model can rewrite what it has seen.

What labels do not do: they are not carried through a model's words. The answer of an agent that has seen a value is
told as any other text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import Literal, TypeVar, cast

import msgspec
from msgspec import UNSET, Struct, structs

from ..core.call import MediaPart, TextPart, ToolResult
from ..core.errors import UsageError
from ..core.json import Json, JsonObject, dumps
from ..core.message import Message, Reply, ToolMessage, Transcript, UserMessage
from ..core.model import Request
from ..core.tool import Tool
from .origins import is_trusted_field, trusted_fields
from .value_texts import ValueTexts, as_text, with_inner

READER = re.compile(r"(?:role|user):.+|all")
NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")
DEPTH_MAX = 64
"""Deeper values of a labelled result are hidden as a whole."""
T = TypeVar("T")
Placed = Callable[[str, Json], Json]
"""Says what a value is replaced by: given the label and the value."""
_SAID = frozenset(
    ["arguments", "content", "description", "error", "message", "parameters", "raw", "result", "structured", "text"]
)
"""The fields of messages and tools in which somebody says something."""
_PLACE = re.compile(r"\[[a-z][a-z0-9_-]{0,31}:(\d{1,6})\]")
_RECEIVER = re.compile(r"[\w@.:/+-]+")
"""One receiver, and no list of them."""
_LEAVES = frozenset({"send", "spend", "execute"})
"""The effects by which a value may come to somebody."""


class Label(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a label means: the table `[labels.NAME]`.

    Attributes:
        models: patterns of the names of models that may be told the values, such as `ollama/*`; None for all.
        readers: who may see the values in the record of a run: `role:hr`, `user:ann`, `all`; None for everybody who may
            see the run. For others a mask takes the place of the values; see `policy.record_mask`.
        receivers: patterns of the receivers that may get the values, such as `*@corp.example`; empty for nobody, so
            that a person is asked.
        otherwise: what another model is told: a placeholder (`mask`), or nothing, since the request fails (`refuse`).
    """

    models: Sequence[str] | None = None
    readers: Sequence[str] | None = None
    receivers: Sequence[str] = ()
    otherwise: Literal["mask", "refuse"] = "mask"

    def shows(self, model: str) -> bool:
        """Whether a model may be told the values. In names and patterns `/` and `:` are the same."""
        name = model.lower().replace(":", "/")
        return self.models is None or any(fnmatchcase(name, each.lower().replace(":", "/")) for each in self.models)

    def may_read(self, principal: str, roles: Sequence[str] = ()) -> bool:
        """Whether somebody may see the values in the record of a run.

        Args:
            principal: who reads; empty where nobody knows.
            roles: the roles of the reader.
        """
        names = {"all", *([f"user:{principal}"] if principal else ()), *(f"role:{role}" for role in roles)}
        return self.readers is None or not names.isdisjoint(self.readers)


UNKNOWN = Label(models=(), readers=())
"""What holds for a label on record that is not declared any more: no model is told the values, and no reader."""


def check_labels(labels: Mapping[str, Label], used: Mapping[str, Mapping[str, str]]) -> None:
    """Check that labels have good names, and that each label that a tool names is declared.

    Args:
        labels: the labels by their names.
        used: the labels of tools: by the name of the tool, the label of each field.

    Raises:
        UsageError: a label has a bad name or a reader that is none, or nobody declared it.
    """
    for name, label in labels.items():
        for reader in label.readers or ():
            if not READER.fullmatch(reader):
                raise UsageError(
                    "label {name!r}: {reader!r} is no reader: write user:NAME, role:NAME or all",
                    name=name,
                    reader=reader,
                )
        if not NAME.fullmatch(name):
            raise UsageError(
                "label {name!r}: use up to 32 small letters, digits, '_' or '-', a letter first", name=name
            )
    for tool, fields in used.items():
        for name in fields.values():
            if name not in labels:
                raise UsageError(
                    "{tool} has the label {name!r}, and nobody declared it: [labels.{name}] in actum.toml, or "
                    "Agent(labels={{{name!r}: Label(...)}})",
                    tool=tool,
                    name=name,
                )


class Labelling:
    """The labelled values of one conversation. Each message is read once, when it is needed.

    Args:
        labels: the labels by their names.
        model: the name of the model that the conversation is told to.
        messages: the conversation, which grows.
        begins: the index of the first message of the run itself.
        seen: the labels of values that models have seen before: earlier in the conversation, and in the run above.
    """

    def __init__(
        self,
        labels: Mapping[str, Label],
        model: str,
        messages: Transcript,
        begins: int = 0,
        seen: Sequence[str] = (),
    ) -> None:
        self._labels = labels
        self._model = model
        self._messages = messages
        self._told = Transcript()
        self._first = 1 + max(_numbers(messages[:begins]), default=0)
        self._placeholders: dict[tuple[str, str], str] = {}
        self._values: dict[str, Json] = {}
        self._hidden = ValueTexts()
        self._known: dict[str, ValueTexts] = {}
        self._known_of: list[ToolResult] = []  # whose values were not taken apart yet
        self._seen: set[str] = set(seen)

    def _label(self, name: str) -> Label:
        return self._labels.get(name, UNKNOWN)

    def seen(self) -> tuple[str, ...]:
        """The labels of values that the model has seen, or may have been told by a model that has."""
        self.told()
        return tuple(sorted(self._seen))

    def shows(self, name: str, model: str = "") -> bool:
        """Whether the values of a label may be told to a model; without a name, to the model of the conversation."""
        return self._label(name).shows(model or self._model)

    def told(self) -> Transcript:
        """The conversation as the model is told it. It grows along with the conversation.

        Raises:
            UsageError: the model may not be told a value, and its label says that the request fails then.
        """
        for message in self._messages[len(self._told) :]:
            self._told.take_over(self._messages, message, self._told_as(message))
        return self._told

    def _told_as(self, message: Message) -> Message:
        if not isinstance(message, ToolMessage):
            return message
        message = self._without_echoes(message)
        result = message.result
        self._seen.update(result.seen)
        if not result.labels:
            return message
        self.know(result)
        masked(result, result.labels, self._numbered)
        hidden: dict[str, str] = {}
        for field, name in result.labels.items():
            label = self._label(name)
            if label.shows(self._model):
                self._seen.add(name)
            elif label.otherwise == "refuse":
                raise UsageError(
                    "the model {model} may not be told what {tool} gives: it has the label {name!r}",
                    model=self._model,
                    tool=message.name,
                    name=name,
                )
            else:
                hidden[field] = name
        return structs.replace(message, result=masked(result, hidden, self._placed)) if hidden else message

    def _numbered(self, name: str, value: Json) -> str:
        """The placeholder of a value: the same for the same value."""
        key = (name, dumps(value))
        if key not in self._placeholders:
            placeholder = f"[{name}:{self._first + len(self._placeholders)}]"
            self._placeholders[key], self._values[placeholder] = placeholder, value
        return self._placeholders[key]

    def _placed(self, name: str, value: Json) -> str:
        """The placeholder of a value that the model is not told."""
        placeholder = self._numbered(name, value)
        if not self._hidden.told(value):
            self._hidden.add(value, placeholder)
            for each in with_inner(value):
                self._hidden.add(each, f"[{name}]")  # a part of a value that a tool repeats is hidden, and no handle
        return placeholder

    def asked_apart(self, request: Request) -> Request:
        """A request that a tool makes of the model, without the values that the model may not be told."""
        self.told()
        if not self._hidden:
            return request
        messages, tools = _each_said((tuple(request.messages), request.tools), self._hidden.replaced)
        return structs.replace(request, messages=messages, tools=tools)

    def logged(self, value: Json) -> Json:
        """What a tool tells as to a log, without labelled values: nobody knows who reads a log."""
        self._learn()
        for known in self._known.values():
            value = each_text(value, known.replaced)
        return value

    def _without_echoes(self, message: ToolMessage) -> ToolMessage:
        """A result in which hidden values are placeholders, where a tool repeats what it was given."""
        if not self._hidden:
            return message
        without = self._hidden.replaced
        result = message.result
        error = None if result.error is None else structs.replace(result.error, message=without(result.error.message))
        content = [TextPart(without(each.text)) if isinstance(each, TextPart) else each for each in result.content]
        value = result.structured if result.structured is UNSET else each_text(result.structured, without)
        new = structs.replace(result, error=error, content=tuple(content), structured=value)
        return message if new == result else structs.replace(message, result=new)

    def know(self, result: ToolResult) -> None:
        """Take in the labelled values of a result, so that they are found in arguments as they are."""
        self._known_of.append(result)
        for name in result.labels.values():
            self._known.setdefault(name, ValueTexts())

    def _learn(self) -> None:
        """Take the values of results apart: most runs look for none."""
        results, self._known_of = self._known_of, []
        fields = [(result, {field: name}) for result in results for field, name in result.labels.items()]
        for result, field in fields:
            for name, value in labelled_values(result, field):
                for each in with_inner(value):
                    self._known[name].add(each, f"[{name}]")

    def filled(self, arguments: JsonObject) -> JsonObject:
        """Arguments with the values in the place of the placeholders; the same object where there are none."""
        self.told()
        if not self._values or not any(_PLACE.search(text) for text in _texts(arguments)):
            return arguments
        filled = {name: self._filled(value) for name, value in arguments.items()}
        return arguments if filled == arguments else filled

    def _filled(self, value: Json) -> Json:
        if isinstance(value, dict):
            return {name: self._filled(each) for name, each in value.items()}
        if isinstance(value, list):
            return [self._filled(each) for each in value]
        if not isinstance(value, str):
            return value
        if value in self._values:
            return self._values[value]
        return _PLACE.sub(lambda found: as_text(self._values.get(found[0], found[0])), value)

    def barred(self, tool: Tool, arguments: JsonObject) -> str:
        """The label whose values a call may give to somebody who may not have them; empty where there is none.

        Args:
            tool: what is called.
            arguments: the arguments with their values in the place of placeholders.
        """
        effects = tool.effects
        if (effects is None and not tool.foreign) or (effects is not None and not effects & _LEAVES):
            return ""
        self.told()
        self._learn()
        texts = list(_texts(arguments)) if self._known else []
        for name in sorted(self._known.keys() | self._seen):
            known = self._known.get(name)
            is_near = name in self._seen or (known is not None and any(map(known.is_in, texts)))
            if is_near and not self._fits(name, tool, arguments):
                return name
        return ""

    def _fits(self, name: str, tool: Tool, arguments: JsonObject) -> bool:
        """Whether each receiver of a call may have the values of a label; False for a call without a receiver."""
        sinks = arguments if tool.sinks is None else tool.sinks
        receivers = [text for sink in sinks if sink in arguments for text in _texts(arguments[sink])]
        patterns = [each.lower() for each in self._label(name).receivers]
        return bool(receivers) and all(
            _RECEIVER.fullmatch(text) is not None
            and text.count("@") <= 1
            and any(fnmatchcase(text.lower(), pattern) for pattern in patterns)
            for text in receivers
        )


def refused(labels: Mapping[str, Label], names: Iterable[str]) -> str:
    """The first of some labels that says that a request fails which may not tell its values; empty for none.

    Args:
        labels: the labels by their names.
        names: the labels of the values that a request would have told.
    """
    return next((name for name in names if labels.get(name, UNKNOWN).otherwise == "refuse"), "")


def seen_by(labels: Mapping[str, Label], model: str, results: Sequence[ToolResult]) -> list[str]:
    """The labels of values that a model sees in results, and of those that models below have seen.

    Args:
        labels: the labels by their names.
        model: the name of the model.
        results: the results.
    """
    names = [name for result in results for name in result.labels.values() if labels.get(name, UNKNOWN).shows(model)]
    return [*names, *(name for result in results for name in result.seen)]


def hidden_from(model: str, messages: Sequence[Message], labels: Mapping[str, Label]) -> list[Message]:
    """Messages as a model is told them that makes no calls: `[personal]` in the place of each value that it may not
    be told.

    Args:
        model: the name of the model.
        messages: the messages.
        labels: the labels by their names.
    """
    told: list[Message] = []
    for message in messages:
        fields = message.result.labels if isinstance(message, ToolMessage) else {}
        hidden = {field: name for field, name in fields.items() if not labels.get(name, UNKNOWN).shows(model)}
        if hidden and isinstance(message, ToolMessage):
            result = masked(message.result, hidden, lambda name, _: f"[{name}]")
            told.append(structs.replace(message, result=result))
        else:
            told.append(message)
    return told


# Results ------------------------------------------------------------------------------------------------------------


def masked(result: ToolResult, fields: Mapping[str, str], placed: Placed) -> ToolResult:
    """A result with something else in the place of its labelled values. A text that does not say the same as the value
    of the result is replaced as a whole: nobody knows where the values stand in it.

    Args:
        result: the result.
        fields: the labels of fields, as in `Tool.labels`.
        placed: says what a value is replaced by: given the label and the value.
    """
    named = [(trusted_fields([field]), name) for field, name in fields.items()]
    value = result.structured
    new = value if value is UNSET else _replaced(value, (), named, placed)
    content: list[TextPart | MediaPart] = []
    for part in result.content:
        if isinstance(part, TextPart) and part.text:
            content.append(TextPart(_masked_text(part.text, named, placed)))
        elif isinstance(part, TextPart) or "" not in fields:
            content.append(part)  # pictures and files of a tool whose text has a label are left out
    error = result.error
    if error is not None and "" in fields:
        error = structs.replace(error, message=str(placed(fields[""], error.message)))
    return structs.replace(result, content=tuple(content), structured=new, error=error)


def _masked_text(text: str, named: Sequence[tuple[list[tuple[str, ...]], str]], placed: Placed) -> str:
    try:
        said: Json = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        said = None
    if isinstance(said, dict | list):
        return dumps(_replaced(said, (), named, placed))
    name = next((name for fields, name in named if () in fields), named[0][1])
    return str(placed(name, text))


def _replaced(
    value: Json, names: tuple[str, ...], named: Sequence[tuple[list[tuple[str, ...]], str]], placed: Placed
) -> Json:
    if value is None:
        return None
    for fields, name in named:
        if is_trusted_field(names, fields):
            return placed(name, value)
    if len(names) > DEPTH_MAX:
        return placed(named[0][1], value)
    if isinstance(value, dict):
        return {name: _replaced(each, (*names, name), named, placed) for name, each in value.items()}
    if isinstance(value, list):
        return [_replaced(each, names, named, placed) for each in value]
    return value


def as_field(result: ToolResult, field: str) -> tuple[Json, dict[str, str]]:
    """What a result says, as a field of another result, with the labels of the fields there.

    Args:
        result: the result, of a call that did not fail.
        field: the name of the field.
    """
    value: Json = result.text if result.structured is UNSET else result.structured
    if isinstance(value, str) and result.labels:
        with suppress(msgspec.DecodeError, RecursionError, UnicodeEncodeError):
            value = msgspec.json.decode(value)
    if isinstance(value, dict | list):
        return value, {f"{field}.{name}" if name else field: label for name, label in result.labels.items()}
    names = [*dict.fromkeys(result.labels.values())]  # nobody knows where in a text the values are
    if len(names) > 1:
        return " ".join([f"[{name}]" for name in names]), {}
    return value, dict.fromkeys([field], names[0]) if names else {}


def _each_said(value: T, told: Callable[[str], str]) -> T:
    """Parts of a request with other texts in what is said: names, kinds and media stay."""
    new: object = value
    if isinstance(value, Struct):
        new = structs.replace(value, **{name: _each_said(getattr(value, name), told) for name in _saying(value)})
    elif isinstance(value, tuple):
        new = tuple([_each_said(each, told) for each in value])
    elif isinstance(value, str | dict | list):
        new = each_text(value, told)
    return cast("T", new)


def _saying(value: Struct) -> list[str]:
    return [name for name in value.__struct_fields__ if name in _SAID]


def each_text(value: Json, told: Callable[[str], str]) -> Json:
    """A value with other texts; a number that is told otherwise becomes a text."""
    if isinstance(value, dict):
        return {told(name): each_text(each, told) for name, each in value.items()}
    if isinstance(value, list):
        return [each_text(each, told) for each in value]
    if isinstance(value, str):
        return told(value)
    if value is None or isinstance(value, bool):
        return value
    return value if (text := told(dumps(value))) == dumps(value) else text


def labelled_values(result: ToolResult, fields: Mapping[str, str]) -> list[tuple[str, Json]]:
    """The labelled values of a result, each with its label."""
    found: list[tuple[str, Json]] = []

    def take(name: str, value: Json) -> str:
        found.append((name, value))
        return ""

    masked(result, fields, take)
    return found


def _numbers(messages: Sequence[Message]) -> Iterator[int]:
    """The numbers of the placeholders that earlier runs have told of."""
    for message in messages:
        texts = [message.text] if isinstance(message, Reply | UserMessage) else []
        texts += [text for call in message.calls for text in _texts(call.arguments)] if type(message) is Reply else []
        yield from (int(found[1]) for text in texts for found in _PLACE.finditer(text))


def _texts(value: Json) -> Iterator[str]:
    """All plain values in a value, as texts, and the names of its fields."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            yield from item
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item
        elif item is not None:
            yield as_text(item)
