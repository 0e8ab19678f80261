"""Text that an outsider may have written: whether a conversation has any, and what brought it there. Pure.

A conversation is clean until its model is told such a text: in a result of a tool whose results may hold it
(`Tool.is_outside`), in an attachment, an event, a prompt of a server, or the words of another agent or program.
Numbers and booleans alone leave it clean, and so do short texts in fields that are declared to be trusted.

A result is looked at when it is written down, by the definition of the tool that was called, and is marked on record
(`ToolResult.outside`). So another agent with a tool of the same name can not take the mark away. What the record of an
older version leaves open counts as an outsider's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
from msgspec import UNSET

from ..core.call import MediaPart, TextPart, ToolResult
from ..core.json import Json
from ..core.message import Message, Reply, ToolMessage, UserMessage
from ..core.tool import Tool
from .origins import declared_names, is_trusted_field, trusted_fields

NAME_MAX = 64
"""A text of more characters in a trusted field counts as an outsider's: an id or an address is shorter."""
EARLIER = "an earlier run"
"""What brought foreign text where the record does not say what did."""

_OWN_ERRORS = frozenset({"timeout", "cancelled", "in_doubt"})
"""Failures that are told in our own words alone."""
_PLAIN = (int, float, bool, type(None))
ToolNamed = Callable[[str], Tool | None]
"""Gives the tool of a name; None where there is none."""


def has_foreign_text(tool: Tool, result: ToolResult) -> bool:
    """Whether a result of a tool holds text that an outsider may have written.

    Args:
        tool: the tool.
        result: what came back.
    """
    if not tool.is_outside:
        return False
    fields = trusted_fields(tool.trusted) if not result.given and (tool.vouched or not tool.foreign) else []
    if result.error is not None and result.error.code not in _OWN_ERRORS:
        return True
    value = result.structured
    if value is not UNSET and not _is_harmless(value, fields, tool):
        return True
    return any(isinstance(part, MediaPart) or not _is_same(part, value, fields) for part in result.content)


def _is_harmless(value: Json, fields: Sequence[tuple[str, ...]], tool: Tool) -> bool:
    """Whether a value holds numbers, booleans and short trusted texts alone, below names that the tool has declared."""
    declared: frozenset[str] | None = None
    waiting: list[tuple[tuple[str, ...], Json]] = [((), value)]
    while waiting:
        names, item = waiting.pop()
        if isinstance(item, dict):
            declared = frozenset([*declared_names(tool.result), *(name for field in fields for name in field)])
            if any(key not in declared for key in item):
                return False
            waiting += [((*names, key), each) for key, each in item.items()]
        elif isinstance(item, list):
            waiting += [(names, each) for each in item]
        elif isinstance(item, str) and item and (len(item) > NAME_MAX or not is_trusted_field(names, fields)):
            return False
    return True


def _is_same(part: TextPart, value: Json | msgspec.UnsetType, fields: Sequence[tuple[str, ...]]) -> bool:
    """Whether a text of a result brings nothing beside its value: it is short and trusted, a number, or the value."""
    text = part.text.strip()
    if not text or (() in fields and len(text) <= NAME_MAX):
        return True
    try:
        said: Json = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return value is not UNSET and text == value
    return isinstance(said, _PLAIN) or (value is not UNSET and said == value)


def brought_by(message: Message, tool_named: ToolNamed, *, is_below: bool = False, is_old: bool = False) -> str:
    """What brought foreign text with a message: the name of a tool, or a word such as `attachment`; empty for nothing.

    Args:
        message: what the model is told.
        tool_named: gives the tools of the run.
        is_below: the run works for another run of this journal, whose cleanness it has inherited: the task is no news.
        is_old: an older version wrote the record, which marked no results.
    """
    match message:
        case ToolMessage(name, result):
            if result.outside:
                return name
            if not (is_old or message.given):
                return ""  # else the record would have the mark
            tool = tool_named(name)
            return name if tool is None or has_foreign_text(tool, msgspec.structs.replace(result, given=True)) else ""
        case UserMessage(content, source):
            if any(isinstance(part, MediaPart) for part in content):
                return "attachment"
            if source == "agent":
                return "" if is_below else "agent"
            return source if source in ("event", "tool") or (is_old and source == "memory") else ""
        case Reply():
            return "client" if message.claimed else ""
        case _:
            return ""


class OutsideText:
    """What has brought foreign text to a conversation. Each message is looked at once, when somebody asks.

    Args:
        messages: the conversation, which may grow.
        tool_named: as for `brought_by`; it may be replaced when the tools change.
        before: what had brought foreign text before `begins`; None where that is not on record.
        begins: the index of the first message that is to be looked at, where `before` is known.
        is_below: as for `brought_by`.
    """

    def __init__(
        self,
        messages: Sequence[Message],
        tool_named: ToolNamed,
        before: tuple[str, ...] | None = (),
        begins: int = 0,
        *,
        is_below: bool = False,
    ) -> None:
        self.tool_named = tool_named
        self._messages = messages
        self._is_old = before is None
        self._is_below = is_below
        self._seen = 0 if before is None else begins
        self._names = dict.fromkeys(before or ())

    @property
    def is_told(self) -> bool:
        """Whether there is a conversation: without one, a run has no model that is told anything."""
        return bool(self._messages)

    def names(self) -> tuple[str, ...]:
        """The names of what brought foreign text, each once."""
        if self._seen < len(self._messages):
            new = self._messages[self._seen :]
            self._seen += len(new)
            for message in new:
                name = brought_by(message, self.tool_named, is_below=self._is_below, is_old=self._is_old)
                if name:
                    self._names[name] = None
        return tuple(self._names)
