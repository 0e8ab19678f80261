"""What a reader may see of the record of a run: values with a label are masked for those who may not see them. Pure.

In the place of a value is `[personal]`, in the result that brought it, and wherever the record says the value again:
in arguments, questions, later results, values of a workflow, names of files and the words of the model. In which forms
a value is found is in `policy.value_texts`; a value that a model says in other words is not found. A text of fewer than
`INSIDE_MIN` characters is masked in its own result alone.

A run may also say values of other runs again: of those before it in the conversation, above it and below it. Which runs
these are `runs.other_values` finds out.

The record itself stays as it is, and so does its chain: a masked entry keeps the number, the time, the digest and the
head of the entry. So the chain over what a reader sees still checks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TypeVar, cast

import msgspec
from msgspec import Struct, structs

from ..core.call import MediaPart, ToolResult
from ..core.errors import JournalError
from ..core.json import Json, dumps
from ..core.message import Message
from ..core.run.pending import Pending
from ..core.run.record import ConversationRead, Entry, ModelReplied, Record, Started
from .labels import UNKNOWN, Label, labelled_values, masked
from .value_texts import ValueTexts, with_inner

Said = TypeVar("Said", bound=Message)
MASKED = "[masked]"
DIGEST_CHARS = 64
"""What a question says in the place of a value that it repeats in part."""
_MARKS = (b'"labels":{', b'"labels_seen":[', b'"seen":[')
"""What the stored bytes of a record have in them that has a labelled result, or tells that models saw labelled values
elsewhere."""
SAID = frozenset(
    [
        "arguments",
        "asked_for",
        "body",
        "call",
        "calls",
        "content",
        "covers",
        "detail",
        "door",
        "error",
        "extras",
        "fault",
        "fixed",
        "handed",
        "history",
        "inputs",
        "instructions",
        "mandate",
        "message",
        "opened_outside",
        "origins",
        "outputs",
        "pending",
        "problems",
        "raw",
        "reasoning",
        "received",
        "repairs",
        "reply",
        "request",
        "result",
        "risk",
        "said",
        "state",
        "structured",
        "summary",
        "text",
        "url",
        "value",
        "values",
        "variables",
    ]
)
"""The fields of records, and of what is in records, that repeat what somebody said. All others are names, kinds and
numbers of our own."""


class RecordMask:
    """Masks the records of one run for one reader. Entries are given in order.

    Args:
        hides: says whether the values of a label are hidden from the reader.
        declared: the labels that are declared.

    Attributes:
        hides_any: the values of a declared label are hidden from the reader.
        replaced: the labels whose values were replaced in what was masked by now.
    """

    def __init__(self, hides: Callable[[str], bool], declared: Iterable[str] = ()) -> None:
        self._hides = hides
        self.hides_any = any(map(hides, declared))
        self.replaced: dict[str, None] = {}
        self._values = ValueTexts()
        self._has_hidden = False

    @property
    def has_hidden(self) -> bool:
        """Whether the entries so far have a value that is hidden, or tell that a model saw one elsewhere."""
        return self._has_hidden

    def hides(self, labels: Iterable[str]) -> bool:
        """Whether the values of one of these labels are hidden from the reader."""
        return any(map(self._hides, labels))

    def of_run(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """The entries of a run as the reader may see them. A value is masked before the result that brought it, too."""
        for entry in entries:
            self._learn(entry)
        return [self._shown(entry) for entry in entries] if self.hides_any else entries

    def take(self, entry: Entry) -> Entry:
        """The next entry, as the reader may see it."""
        self._learn(entry)
        return self._shown(entry) if self.hides_any else entry

    def result(self, result: ToolResult) -> ToolResult:
        """A result of a call by itself, as the reader may see it."""
        return cast("ToolResult", self._masked(result))

    def _by_field(self, result: ToolResult) -> ToolResult:
        fields = self._hidden(result)
        self.replaced.update(dict.fromkeys(fields.values()))
        return masked(result, fields, _mask) if fields else result

    def value(self, value: Json) -> Json:
        """A value that the record of the run says again, as the reader may see it."""
        return cast("Json", self._inside(value)) if self._values else value

    def text(self, text: str) -> str:
        """A text that says values of the record again, as the reader may see it."""
        return self._without(text)

    def message(self, message: Said) -> Said:
        """A message of the run, or one that repeats values of the run, without the hidden values."""
        return cast("Said", self._masked(message)) if self._has_hidden else message

    def question(self, asked: Pending) -> Pending:
        """A question of the run without the hidden values."""
        return cast("Pending", self._masked(asked)) if self._has_hidden else asked

    def _learn(self, entry: Entry) -> None:
        """Take in the hidden values of an entry."""
        if not any(mark in entry.payload for mark in _MARKS):
            return
        try:
            record = entry.record
        except JournalError:
            return
        if isinstance(record, Started | ConversationRead) and self.hides(record.labels_seen):
            self._has_hidden = True
        for result in _results(record):
            self.know(result)

    def know_run(self, entries: Iterable[Entry]) -> None:
        """Take in the hidden values of another run."""
        for entry in entries:
            self._learn(entry)

    def know(self, result: ToolResult) -> None:
        """Take in the hidden values of a result."""
        fields = self._hidden(result)
        self._has_hidden = self._has_hidden or bool(fields) or self.hides(result.seen)
        for name, value in labelled_values(result, fields) if fields else ():
            for each in with_inner(value):
                self._values.add(each, _mask(name, value))

    def _hidden(self, result: ToolResult) -> dict[str, str]:
        return {field: name for field, name in result.labels.items() if self._hides(name)}

    def _shown(self, entry: Entry) -> Entry:
        if entry.number and not self._has_hidden:
            return entry
        try:
            record = entry.record
        except JournalError:
            return entry
        new = _unguessable(self._masked(record) if self._has_hidden else record)
        if new == record:
            return entry
        return structs.replace(entry, payload=msgspec.json.encode(new), salt=b"", masked=True)

    def _masked(self, value: object) -> object:
        """A value of a record without the hidden values: results by their fields, texts by what they say."""
        if isinstance(value, ToolResult):
            value = self._by_field(value)
        if isinstance(value, Struct):
            changed = {name: self._masked(getattr(value, name)) for name in value.__struct_fields__ if name in SAID}
            if isinstance(value, MediaPart):
                changed["name"] = self._without(value.name)
            new = structs.replace(value, **changed) if changed else value
            return _told_anew(value, new) if isinstance(value, Pending) and isinstance(new, Pending) else new
        if isinstance(value, tuple):
            return tuple([self._masked(each) for each in value])
        if isinstance(value, dict):
            return {self._masked(name): self._inside(each) for name, each in value.items()}
        if isinstance(value, list):
            return [self._inside(each) for each in value]
        if isinstance(value, str):
            return self._without(value)
        if isinstance(value, bytes):  # the record of a feature
            return dumps(self.value(msgspec.json.decode(value))).encode() if self._values else value
        if isinstance(value, int | float) and not isinstance(value, bool) and (told := self._values.told(value)):
            self._note(told)
            return told
        return value

    def _inside(self, value: object) -> object:
        """A value inside of an object or a list, which may be a hidden value as a whole."""
        if isinstance(value, dict | list) and self._values and (told := self._values.told(cast("Json", value))):
            self._note(told)
            return told
        return self._masked(value)

    def _note(self, told: str) -> None:
        """Keep which label's value was replaced."""
        self.replaced[told[1:-1]] = None

    def _without(self, text: str) -> str:
        """A text without the hidden values. JSON stays JSON, also where a number is masked: programs read it."""
        told = self._values.replaced(text, self._note)
        if told != text and text[0] in "{[":
            with suppress(msgspec.DecodeError, RecursionError, UnicodeEncodeError):
                shown = dumps(cast("Json", self._inside(msgspec.json.decode(text))))
                return shown if self._values.replaced(shown) == shown else told  # else a value is in several parts
        return told


def reader_mask(labels: Mapping[str, Label], principal: str = "", roles: Sequence[str] = ()) -> RecordMask:
    """A mask for somebody who reads the record of a run.

    Args:
        labels: the labels by their names. Of a label on record that is not declared any more, nobody sees the values.
        principal: who reads; empty where nobody knows.
        roles: the roles of the reader.
    """
    return RecordMask(lambda name: not labels.get(name, UNKNOWN).may_read(principal, roles), labels)


def model_mask(labels: Mapping[str, Label], model: str) -> RecordMask:
    """A mask for a model that a workflow, or an agent above, tells of values of its run.

    Args:
        labels: the labels by their names. Values with another label are told to no model.
        model: the name of the model.
    """
    return RecordMask(lambda name: not labels.get(name, UNKNOWN).shows(model), labels)


def _mask(name: str, _: Json) -> str:
    return f"[{name}]"


def _told_anew(asked: Pending, new: Pending) -> Pending:
    """A question whose arguments are masked: its words repeat long values in part."""
    old_risk, risk = asked.risk, new.risk
    if asked.call is None or new.call is None or old_risk is None or risk is None or asked.call == new.call:
        return new
    before, after = asked.call.arguments, new.call.arguments
    values = [
        each if before.get(each.name) == after.get(each.name) else structs.replace(each, value=MASKED)
        for each in risk.values
    ]
    risk = structs.replace(risk, values=tuple(values))
    return structs.replace(new, risk=risk, message=asked.message.replace(str(old_risk), str(risk)))


def _unguessable(record: object) -> object:
    """A record without what tells whether a guess is right: the salt of the run's keys, and digests over values."""
    match record:
        case Started():
            recalled = tuple([structs.replace(each, digest="") for each in record.recalled])
            return structs.replace(record, salt="", recalled=recalled)
        case ModelReplied(intention=digest) if len(digest) == DIGEST_CHARS:  # the runs of workflows have the place here
            return structs.replace(record, intention="")
        case _:
            return record


def _results(value: Record | Struct) -> Iterator[ToolResult]:
    """The results of calls in a record."""
    waiting: list[object] = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, ToolResult):
            yield item
        elif isinstance(item, Struct):
            waiting += [getattr(item, name) for name in item.__struct_fields__ if name in SAID]
        elif isinstance(item, tuple):
            waiting += item
