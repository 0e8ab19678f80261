"""Finds where the values of a call's arguments came from, by looking for them in all that was said before.

Pure, and never wrong in one direction: what is named as an origin does hold the value. A value that stands nowhere,
such as one that the model reckoned or put in other words, comes from the model, which has read everything. Nothing is
blocked by it here.

It grows with the conversation: a text is taken apart once, and only when a call is looked at that may change something.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from msgspec import UNSET

from ..core.call import TextPart
from ..core.errors import ToolError
from ..core.json import Json, JsonObject
from ..core.message import Message, SystemMessage, ToolMessage, UserMessage
from ..core.provenance import Origin, Origins

ORIGINS_MAX = 8
"""So many origins of one value are told."""
TEXTS_MAX = 32
"""In so many texts at most a value is looked for."""
_WORD = re.compile(r"[\u3400-\u9fff]|[^\W_\u3400-\u9fff]+")
_PIECE = re.compile(r"[^\n.!?。！？;；]+")
PIECE_LENGTH_MIN = 12
"""A piece of a longer text is looked for by itself from this length on."""
_MODEL = (Origin("model"),)
_NESTED = (dict, list)


Trust = Callable[[str], Sequence[str]]
"""Which fields of the results of a tool are declared to be trusted."""


class OriginIndex:
    """What was said, by its words.

    Args:
        messages: the conversation, which may grow.
        trust: which fields of a tool's results can be trusted; it may be replaced when the tools change.

    >>> index = OriginIndex([UserMessage.of("Send 20 euros to Ada")], lambda tool: ())
    >>> index.of({"to": "Ada", "amount": 20, "note": "hello"})["to"]
    (Origin(source='user', tool='', field='', trusted=False),)
    """

    def __init__(self, messages: Sequence[Message], trust: Trust) -> None:
        self._messages = messages
        self.trust = trust
        self._seen = 0
        self._leaves: dict[str, list[Origin]] = {}
        self._texts: list[tuple[str, Origin]] = []
        self._by_word: dict[str, list[int]] = {}

    def of(self, arguments: JsonObject) -> Origins:
        """The origins of each value in the arguments of a call, by its path."""
        for message in self._messages[self._seen :]:
            self._read(message)
        self._seen = len(self._messages)
        found: Origins = {}
        for name, value in arguments.items():
            if isinstance(value, _NESTED):
                found |= {path: self._of_value(inner) for path, inner in leaves(value, name)}
            else:
                found[name] = self._of_value(value)
        return found

    def _read(self, message: Message) -> None:
        match message:
            case SystemMessage(text):
                self._add_text(text, Origin("developer"))
            case UserMessage():
                for part in message.content:
                    if isinstance(part, TextPart):
                        self._add_text(part.text, Origin(message.source))
            case ToolMessage(name, result):
                trusted = self.trust(name)
                if result.structured is not UNSET:
                    for path, value in leaves(result.structured):
                        self._add_leaf(value, Origin("tool", name, path, _is_trusted(path, trusted)))
                texts = [part.text for part in result.content if isinstance(part, TextPart)]
                if result.error is not None and result.error.code == ToolError.code:  # other errors are our own words
                    texts.append(result.error.message)
                for text in texts:
                    self._add_text(text, Origin("tool", name, trusted="" in trusted))
            case _:  # what the model says brings nothing new
                pass

    def _add_leaf(self, value: Json, origin: Origin) -> None:
        plain = _plain(value)
        if not plain:
            return
        known = self._leaves.setdefault(plain, [])
        if origin not in known and len(known) < ORIGINS_MAX:
            known.append(origin)
        if isinstance(value, str):
            self._add_text(value, origin)

    def _add_text(self, text: str, origin: Origin) -> None:
        plain = _plain(text)
        number = len(self._texts)
        self._texts.append((plain, origin))
        for word in set(_WORD.findall(plain)):
            self._by_word.setdefault(word, []).append(number)

    def _of_value(self, value: Json) -> tuple[Origin, ...]:
        if value is None or isinstance(value, bool):
            return _MODEL  # it stands everywhere and says nothing
        plain = _plain(value)
        if not plain:
            return _MODEL
        found = dict.fromkeys(self._leaves.get(plain, ()))
        found |= dict.fromkeys(self._holding(plain))
        if not found and isinstance(value, str):
            pieces = [_plain(piece) for piece in _PIECE.findall(value)]
            for piece in pieces if len(pieces) > 1 else ():
                if len(piece) >= PIECE_LENGTH_MIN:
                    found |= dict.fromkeys(self._holding(piece))
            return (*list(found)[: ORIGINS_MAX - 1], *_MODEL)  # what is between the pieces is the model's
        return tuple(list(found)[:ORIGINS_MAX]) or _MODEL

    def _holding(self, plain: str) -> Iterator[Origin]:
        """The texts in which this stands, whole words of it."""
        words = {plain} if plain.isascii() and plain.isalnum() else set(_WORD.findall(plain))
        lists = [self._by_word.get(word, ()) for word in words]
        if not lists:
            return
        shortest = min(lists, key=len)
        if len(shortest) > TEXTS_MAX:  # it stands everywhere: the first and the latest places will do
            shortest = [*shortest[: TEXTS_MAX // 2], *shortest[-TEXTS_MAX // 2 :]]
        for number in shortest:
            text, origin = self._texts[number]
            at = text.find(plain)
            while at >= 0:
                if _stands_alone(text, at, at + len(plain)):
                    yield origin
                    break
                at = text.find(plain, at + 1)


def leaves(value: Json, path: str = "") -> Iterator[tuple[str, Json]]:
    """Every plain value inside a value, with its path: `items[0].name`. The path of a plain value itself is empty."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from leaves(item, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from leaves(item, f"{path}[{index}]")
    else:
        yield path, value


def _plain(value: Json) -> str:
    """The value as it is compared: without case, the width of spaces, and the way in which a number is written."""
    if type(value) is int:
        return str(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return " ".join(str(value).casefold().split())


def _stands_alone(text: str, start: int, end: int) -> bool:
    """It is no part of a longer word or number: `20` does not stand in `1200`. Chinese has no spaces between words."""
    before, after = text[start - 1 : start], text[end : end + 1]
    left = not (_is_letter(before) and _is_letter(text[start]))
    return left and not (_is_letter(after) and _is_letter(text[end - 1]))


def _is_letter(char: str) -> bool:
    return char.isalnum() and not "\u3400" <= char <= "\u9fff"


def _is_trusted(path: str, trusted: Sequence[str]) -> bool:
    """Declared so itself, or inside of what is; list items have the name of their list."""
    if not trusted:
        return False
    bare = re.sub(r"\[\d+\]", "", path)
    return any(bare == name or bare.startswith(f"{name}.") for name in trusted)
