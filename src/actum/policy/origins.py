"""Finds where the values of a call's arguments came from, by looking for them in all that was said before.

Pure, and never wrong in one direction: what is named as an origin does hold the value, as a whole (an address, a link,
a number, a name, an id: `border.py` tells where such a value ends). A value that stands nowhere as a whole has the
origins of its parts, each marked `part`; what stands nowhere at all, such as a value that the model reckoned or put in
other words, comes from the model, which has read everything. A common word alone (`to`, `me`, `请`) says nothing of
where it came from, so it is the model's.

The index grows with the conversation: a text is taken apart once, and only when a call is looked at that may change
something. Nothing is blocked here; a policy does that, with `trusted(to)` (`comes_from`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import islice
from threading import Lock

import msgspec
from msgspec import UNSET

from ..core.call import TextPart, size_of
from ..core.errors import ToolError
from ..core.json import Json, JsonObject, dumps
from ..core.message import Message, Reply, SystemMessage, ToolMessage, UserMessage
from ..core.provenance import Origin, Origins
from ..core.run.handed_over import HandedOver
from ..core.run.record import CallsRequested
from .border import lower, same_but_for_case, spaced, stands_whole
from .common_words import is_common
from .small_numbers import names_thing, naming_words

ORIGINS_MAX = 8
"""The most origins of one value that are told; those that a policy can rely on come first."""
TEXTS_MAX = 32
"""The most texts in which a value is looked for."""
PLACES_MAX = 256
"""The most places of one text at which it is looked for."""
RUN_WORDS_MIN = 4
"""How many words of a longer text are looked for together."""
BRIEF_WORDS_MAX = 40
"""In a text of more words such a run is looked for only where a sentence begins."""
LOOKUPS_MAX = 500
"""The most parts of the values of one call that are looked for; the parts behind them count as the model's."""
PLACES_OF_CALL_MAX = 20_000
"""The most places that are looked at for all values of one call; a value not found by then counts as the model's."""
CHARACTERS_OF_PLACE = 4_096
"""This number of characters that are gone through counts as one more place."""
PARTS_CHARACTERS_MAX = 40_000
"""The most characters of a text that stands nowhere as a whole, in which its parts are looked for,"""
SINGLE_WORDS_MAX = 1_000
"""and this number of its words by themselves; the words behind them count as the model's."""
RAREST_OF_MAX = 100
"""The rarest of this number of words of a value tells in which texts the value may stand."""
LEAVES_MAX = 1_000
"""The most values of one call that are looked at, with lists and objects. An argument with more is the model's, too."""
NUMBER_LENGTH_MAX = 40
SMALL_NUMBER_MAX = 16
"""A text of more characters is no small number, with whatever is around one."""
SHORT_WORDS_MAX = 8
"""Each word of a text with at most this number of words is looked for by itself; of a longer one, ids and addresses."""

_HAN = "\u3400-\u9fff"
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]+")
_INNER = re.compile(r"[^@=:/%]+")
_SENTENCE_ENDS = frozenset(".!?:;。！？；：")
_PIECE = re.compile(rf"[{_HAN}]+|[^\s,，、;{_HAN}]+")
_AROUND = "\"'`()[]{}<>“”‘’«»「」《》（）【】.,:;!?，。；：！？、*"
_GROUPED_NUMBER = re.compile(r"(?<![\w.,'])\d+(?:[.,']\d+)+")
_MODEL = (Origin("model"),)
_UNSEARCHED = (Origin("model", unsearched=True),)
_NESTED = (dict, list)


INSIDE = "value"
"""Under this name a plain value inside of an argument is looked up, with the name of its field behind a dot."""
_Known = dict[tuple[str, frozenset[str] | None], tuple[Origin, ...]]
NO_INSTRUCTIONS: Mapping[str, str] = {}
Trust = Callable[[str], Sequence[str]]
"""Which fields of the results of a tool are declared to be trusted."""
Naming = Callable[[str], Mapping[str, str]]
"""Which field of a record in the results of a tool names the record, by the fields that may be relied on then."""
Lookup = Callable[[JsonObject], Origins]
"""Tells the origins of arguments, such as `OriginIndex.of`."""


class OriginIndex:
    """What was said, by its words.

    Args:
        messages: the conversation, which may grow.
        trust: which fields of a tool's results can be trusted; it may be replaced when the tools change.
            So may `naming`, which tells by what records are named.
        requests: calls that were asked for directly; the values of their arguments come from whoever asked.
        instructions: the words of the developer, by the whole text of instructions that holds other words, too.

    >>> index = OriginIndex([UserMessage.of("Send 20 euros to Ada")], lambda tool: ())
    >>> [origin.source for origin in index.of({"to": "Ada", "amount": 20, "note": "hello"})["to"]]
    ['user']
    """

    def __init__(
        self,
        messages: Sequence[Message],
        trust: Trust,
        requests: Sequence[CallsRequested] = (),
        instructions: Mapping[str, str] = NO_INSTRUCTIONS,
    ) -> None:
        self._messages = messages
        self._instructions = instructions
        self.trust = trust
        self.naming: Naming = _names_nothing
        self._titles: dict[str, dict[str, None]] = {}
        self._seen = 0
        self._sized = 0
        self._reading = Lock()
        self._places = _Places()
        self._relied_on = _Said(self._places)  # looked in first: results of tools must not push the user's words out
        self._rest = _Said(self._places)
        self._lookups_left = 0
        self._known: _Known = {}  # of texts looked up since something was said
        self._unread = sum([len(dumps(call.arguments)) for request in requests for call in request.calls])
        self._requests = tuple(requests)  # read when they are first needed, which a refused call never does

    @property
    def unread(self) -> int:
        """How much was said that was not taken apart yet, in characters."""
        if self._sized != len(self._messages):
            new = self._messages[self._sized :]
            self._sized += len(new)
            for message in new:
                self._unread += _size_of(message)
        return self._unread

    def take_apart(self) -> None:
        """Take apart what was said since the last call. May be called in a thread, while more is being said."""
        with self._reading:
            requests, self._requests = self._requests, ()
            for request in requests:
                self._read_request(request)
            new = self._messages[self._seen :]
            for message in new:
                self._read(message)
            self._seen += len(new)
            self._unread = 0
            if new or requests:
                self._known = {}

    def of(self, arguments: JsonObject) -> Origins:
        """The origins of each value in the arguments of a call, by its path."""
        self.take_apart()
        known = self._known
        self._lookups_left = LOOKUPS_MAX
        self._places.left = PLACES_OF_CALL_MAX
        found: Origins = {}
        leaves_left = LEAVES_MAX
        for name, value in arguments.items():
            for path, _, leaf in _visited(value, name, ()) if isinstance(value, _NESTED) else ((name, (), value),):
                if not leaves_left:
                    found[name] = (*found.get(name, ()), *_UNSEARCHED)
                    break
                leaves_left -= 1
                if isinstance(leaf, _NESTED):
                    continue
                origins = self._looked_for(leaf, known, path)
                if path in found:
                    origins = tuple(dict.fromkeys((*found[path], *origins)))  # `{"a.b": 1, "a": {"b": 2}}`
                found[path] = origins
        return found

    def titles(self, value: Json) -> tuple[str, ...]:
        """What names the records in results that hold a plain value; see `Tool.named_by`."""
        self.take_apart()
        return tuple(self._titles.get(written(value), ()))

    def _read(self, message: Message) -> None:
        match message:
            case ToolMessage():
                self._read_result(message)
            case Reply():
                if message.claimed:  # else the model says it, which brings nothing new
                    self._add_text(message.text, Origin("client"))
            case UserMessage():
                for part in message.content:
                    if isinstance(part, TextPart):
                        self._add_text(part.text, Origin(message.source))
            case SystemMessage(text):
                self._add_text(self._instructions.get(text, text), Origin("developer"))

    def _read_result(self, message: ToolMessage) -> None:
        name, result = message.name, message.result
        trusted = () if message.given or result.given else self.trust(name)
        fields = trusted_fields(trusted) if trusted else ()
        value = result.structured
        if isinstance(value, _NESTED):
            named_by = {} if message.given or result.given else self.naming(name)
            for _, names, item in _visited(value, "", ()) if named_by else ():
                self._read_record(item, names[-1:], named_by)
            for path, names, leaf in _walk(value, "", ()):
                self._add_leaf(leaf, Origin("tool", name, path, bool(fields) and is_trusted_field(names, fields)))
        elif value is not UNSET:
            self._add_leaf(value, Origin("tool", name, "", () in fields))
        for part in result.content:
            if isinstance(part, TextPart):
                self._add_text(part.text, Origin("tool", name, trusted="" in trusted))
        if result.error is not None and result.error.code == ToolError.code:  # other errors are our own words
            self._add_text(result.error.message, Origin("tool", name, trusted="" in trusted))

    def _read_record(self, record: Json, key: Sequence[str], named_by: Mapping[str, str]) -> None:
        """Take in by what an object of a result is named: a field of it, or (`*`) the name under which it stands."""
        if not isinstance(record, dict):
            return
        for field, naming in named_by.items():
            title = key[0] if naming == "*" and key else record.get(naming)
            found = record.get(field)
            for value in found if isinstance(found, list) else (found,):
                if isinstance(title, str) and title and isinstance(value, str | int | float):
                    titles = self._titles.setdefault(written(value), {})
                    if len(titles) < TEXTS_MAX:
                        titles[title] = None

    def _read_request(self, request: CallsRequested) -> None:
        if request.handed is not None:
            for call in request.calls:
                self._read_handed(call.arguments, request.handed)
            return
        origin = Origin(request.source)
        for call in request.calls:
            for _, names, value in _walk(call.arguments, "", ()):
                self._add_leaf(value, origin)
                for name in names[1:]:  # keys inside of an argument are the asker's words too
                    self._add_leaf(name, origin)

    def _read_handed(self, arguments: JsonObject, handed: HandedOver) -> None:
        """Read a call of another run, which knew where its arguments came from."""
        for pointer, name, value in _pointers(arguments, ""):
            for origin in () if isinstance(value, _NESTED) else handed.values.get(pointer, _MODEL):
                self._add_leaf(value, origin)
            for origin in handed.names.get(pointer, _MODEL) if name else ():
                self._add_leaf(name, origin)

    def _add_leaf(self, value: Json, origin: Origin) -> None:
        text = written(value)
        if text:
            said = self._relied_on if is_relied_on(origin) else self._rest
            said.add_value(text, origin)
            if isinstance(value, str):
                said.add_text(text, origin)

    def _add_text(self, text: str, origin: Origin) -> None:
        (self._relied_on if is_relied_on(origin) else self._rest).add_text(spaced(text), origin)

    def _looked_for(self, value: Json, known: _Known, path: str) -> tuple[Origin, ...]:
        """The origins of a value, and whether it was looked for everywhere.

        Args:
            value: the value.
            known: the origins of texts that were looked for everywhere since something was said; the value's own are
                added.
            path: where the value is in the arguments.
        """
        if value is None or type(value) is bool:
            return _MODEL  # it stands everywhere and says nothing
        naming = naming_words(value, path) if type(value) is not str or len(value) <= SMALL_NUMBER_MAX else None
        if type(value) is int:
            origins = tuple(self._of_number(value, naming))[:ORIGINS_MAX] or _MODEL
        elif type(value) is str and (value, naming) in known:
            return known[value, naming]
        else:
            whole = tuple(self._whole(value, naming))[:ORIGINS_MAX]
            origins = whole or (self._of_parts(value) if isinstance(value, str) else _MODEL)
        if self._places.left <= 0:
            return (*(each for each in origins if each.source != "model"), *_UNSEARCHED)
        if type(value) is str and self._lookups_left and len(known) < LEAVES_MAX:
            known[value, naming] = origins
        return origins

    def _of_number(self, value: int, naming: frozenset[str] | None) -> dict[Origin, None]:
        """Where a whole number stands, as `_whole` finds it; most stand nowhere, and that is found out quickly."""
        found: dict[Origin, None] = {}
        text = str(value)
        digits = text.removeprefix("-")
        for said in (self._relied_on, self._rest):
            if digits in said.by_word or digits in said.numbers or text in said.values:
                said.find(text, text, found, naming if said is self._relied_on else None)
                said.find_number(text, found)
        return found

    def _whole(self, value: Json, naming: frozenset[str] | None = None) -> dict[Origin, None]:
        """Where a value stands as a whole.

        Args:
            value: the value.
            naming: where the value is a small number that names a thing: as `naming_words` returns.
        """
        text = written(value)
        found: dict[Origin, None] = {}
        if not text:
            return found
        plain = lower(text)
        for said in (self._relied_on, self._rest):
            said.find(text, plain, found, naming if said is self._relied_on else None)
            if not isinstance(value, str):
                said.find_number(text, found)
            elif text[-1] == "/" and "://" in text and text.count("/") == 3:
                said.find(text[:-1], plain[:-1], found)  # a link to a host alone is written out with a slash
        return found

    def _of_parts(self, text: str) -> tuple[Origin, ...]:
        """The origins of the parts of a text that stands nowhere as a whole; what is left over is the model's."""
        found: dict[Origin, None] = {}
        left_over = False
        words, begins = _words(text[:PARTS_CHARACTERS_MAX])
        if len(text) > PARTS_CHARACTERS_MAX:
            left_over = True
            del words[-1:]  # it may be cut
        is_short = len(words) <= SHORT_WORDS_MAX
        at, singles = 0, SINGLE_WORDS_MAX
        while at < len(words):
            end = self._run_end(words, at) if begins[at] or len(words) <= BRIEF_WORDS_MAX else at
            if end > at:
                found |= self._part(" ".join(words[at:end]))
                at = end
                continue
            singles -= 1
            if singles < 0:
                left_over = True
                break
            for piece in _PIECE.findall(words[at]):
                word = piece.strip(_AROUND)
                origins = self._part(word) if is_short or not word.isalpha() else {}
                if not origins and is_short:  # `ada@evil.com` may have been put together from two
                    for inner in _INNER.findall(word)[:SHORT_WORDS_MAX]:
                        found |= self._part(inner)
                found |= origins
                left_over = left_over or (bool(word) and not origins)
            at += 1
        if not found:
            return _MODEL
        told = [*list(found)[: ORIGINS_MAX - 1], *(_MODEL if left_over else ())]
        return tuple(msgspec.structs.replace(origin, part=True) for origin in told)

    def _run_end(self, words: Sequence[str], at: int) -> int:
        """Where a run of words that stands somewhere as a whole ends; `at` where none begins."""
        end, step = at, RUN_WORDS_MIN
        while step and self._lookups_left:
            if end + step <= len(words) and self._part(" ".join(words[at : end + step])):
                end += step
                step *= 2  # a long text is found in a few steps
            elif end == at:
                return at
            else:
                step //= 2
        return end

    def _part(self, text: str) -> dict[Origin, None]:
        """Where a part of a value stands, as long as it may be looked for."""
        if not self._lookups_left:
            return {}
        self._lookups_left -= 1
        return self._whole(text)


class _Places:
    """How many places may still be looked at."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = PLACES_OF_CALL_MAX


class _Said:
    """Texts and plain values, by their words.

    Args:
        places: how many places of the texts may be looked at.
    """

    def __init__(self, places: _Places) -> None:
        self._places = places
        self.values: dict[str, list[tuple[str, Origin]]] = {}
        self._texts: list[tuple[str, str, Origin]] = []
        self.by_word: dict[str, list[int]] = {}
        self.numbers: dict[str, dict[Origin, None]] = {}

    def add_value(self, text: str, origin: Origin) -> None:
        """Take in a plain value: a field of a result."""
        known = self.values.setdefault(lower(text), [])
        if (text, origin) not in known and len(known) < TEXTS_MAX:
            known.append((text, origin))

    def add_text(self, text: str, origin: Origin) -> None:
        """Take in a text, with single blanks."""
        plain = lower(text)
        place = len(self._texts)
        self._texts.append((plain, text, origin))
        for word in set(_WORD.findall(plain)):
            self.by_word.setdefault(word, []).append(place)
        for found in _GROUPED_NUMBER.finditer(plain):
            number = _number(found[0])
            if number is not None and stands_whole(plain, found.start(), found.end()):
                self.numbers.setdefault(number, {})[origin] = None

    def find(self, value: str, plain: str, found: dict[Origin, None], naming: frozenset[str] | None = None) -> None:
        """Add the origins of all that holds a value as a whole to those that were found.

        Args:
            value: the value, as text.
            plain: the same in lower case.
            found: the origins that were found.
            naming: the value has to be behind one of these words; None where the value may be anywhere.
        """
        for text, origin in self.values.get(plain, ()):
            if same_but_for_case(value, text):
                found[origin] = None
        if plain.isascii() and plain.isalnum():
            places: Sequence[int] = self.by_word.get(plain, ())
        else:
            words = islice(set(_WORD.findall(plain)), RAREST_OF_MAX)
            places = min((self.by_word.get(word, ()) for word in words), key=len, default=())
        if not places:
            return
        is_plain_word = is_common(plain)
        is_abbreviation = len(value) > 1 and value.isupper()  # `US` is a country where the text has it in capitals too
        if len(places) > TEXTS_MAX:  # it stands everywhere: the first and the latest places will do
            places = [*places[: TEXTS_MAX // 2], *places[-TEXTS_MAX // 2 :]]
        for place in places:
            text, written, origin = self._texts[place]
            if origin in found or (is_plain_word and text != plain and not (is_abbreviation and value in written)):
                continue
            behind = naming if text != plain else None
            if self._holds(text, written, plain, value, behind, exactly=is_plain_word and is_abbreviation):
                found[origin] = None

    def _holds(
        self, text: str, written: str, plain: str, value: str, naming: frozenset[str] | None, *, exactly: bool
    ) -> bool:
        """Whether a value stands in a text as a whole.

        Args:
            text, plain: the text and the value in lower case.
            written, value: the same as they were written.
            naming: as in `find`.
            exactly: the cases have to be equal.
        """
        at = -1
        for _ in range(min(PLACES_MAX, self._places.left)):
            self._places.left -= 1
            before, at = at, text.find(plain, at + 1)
            self._places.left -= ((at if at >= 0 else len(text)) - before) // CHARACTERS_OF_PLACE
            if at < 0:
                break
            end = at + len(plain)
            there = written[at:end]
            if (
                (there == value or not exactly)
                and stands_whole(text, at, end)
                and same_but_for_case(value, there)
                and (naming is None or names_thing(text, at, end, naming))
            ):
                return True
        return False

    def find_number(self, number: str, found: dict[Origin, None]) -> None:
        """Add the origins of all texts that hold a number in another form, such as `1,000.00`."""
        if self.numbers:
            found |= self.numbers.get(number, {})


def is_relied_on(origin: Origin) -> bool:
    """Whether a value that came from there as a whole was named by the user, the developer or a trusted field."""
    return not origin.part and (origin.source in ("user", "developer") or origin.trusted)


def is_user(origin: Origin) -> bool:
    """Whether a value that came from there as a whole was named by the user."""
    return not origin.part and origin.source == "user"


def comes_from(
    value: Json,
    origins: Lookup,
    accept: Callable[[Origin], bool],
    declared: Callable[[], frozenset[str]],
    name: str = INSIDE,
) -> bool:
    """Whether every plain value inside of a value, and every key, came as a whole from an origin that is accepted.

    Args:
        value: the argument of a call, or a part of it.
        origins: looks origins up.
        accept: which origins are accepted.
        declared: tells the names of fields that the schema of the tool declares. Such a key is the tool's own word.
        name: the name of the argument, where the value is a whole argument: whoever knows the exact origins of each
            argument finds a plain value by this name. Of a part of an argument `inside` tells the name.

    Returns:
        False also where there is no value: for null, an empty text, an empty list and an empty object; and where there
        are more than `LOOKUPS_MAX` different values.
    """
    names: frozenset[str] | None = None
    accepted: set[tuple[type, Json, str]] = set()
    waiting: list[tuple[str, Json]] = [(inside(name) if isinstance(value, _NESTED) else name, value)]
    while waiting:
        name, item = waiting.pop()
        if isinstance(item, dict):
            names = declared() if names is None else names
            waiting += [(INSIDE, key) for key in item if key not in names]
        if isinstance(item, _NESTED):
            if not item:
                return False
            named = item.items() if isinstance(item, dict) else ()
            waiting += [(inside(key), each) for key, each in named] or [(name, each) for each in item]
            continue
        known = (type(item), item, "" if naming_words(item, name) is None else name)
        if known not in accepted:
            if len(accepted) == LOOKUPS_MAX or not any(map(accept, origins({name: item}).get(name, ()))):
                return False
            accepted.add(known)
    return True


def inside(name: str) -> str:
    """The name under which a plain value inside of an argument is looked up, where its field has a name."""
    return f"{INSIDE}.{name}" if name and not is_inside(name) else name or INSIDE


def is_inside(name: str) -> bool:
    """Whether a value is looked up that is somewhere inside of an argument."""
    return name.partition(".")[0] == INSIDE


def values_at(arguments: Json, names: Sequence[str]) -> Iterator[Json]:
    """The values that stand under names which lead into each other; items of a list have the name of their list.

    Null stands for each that is not there.
    """
    if isinstance(arguments, list) and names and arguments:
        for item in arguments:
            yield from values_at(item, names)
    elif not names:
        yield arguments
    elif isinstance(arguments, dict) and names[0] in arguments:
        yield from values_at(arguments[names[0]], names[1:])
    else:
        yield None


def origins_to_hand_over(arguments: JsonObject, lookup: Lookup) -> tuple[Origins, Origins]:
    """Where the values in the arguments of a call came from, and the names of the fields inside of them, for another
    run; see `HandedOver`. What stands behind the first `LOOKUPS_MAX` values counts as the model's.

    Args:
        arguments: of the call.
        lookup: looks origins up in the run whose model asked for the call.
    """
    values: Origins = {}
    names: Origins = {}
    for pointer, name, value in islice(_pointers(arguments, ""), LOOKUPS_MAX):
        if not isinstance(value, _NESTED):
            own = next((each for each in reversed(pointer.split("/")) if not each.isdecimal()), "")
            values[pointer] = lookup({inside(own): value}).get(inside(own), _MODEL)
        if name:
            names[pointer] = lookup({INSIDE: name}).get(INSIDE, _MODEL)
    return values, names


def _pointers(value: Json, pointer: str, name: str = "") -> Iterator[tuple[str, str, Json]]:
    """Every value inside of arguments: its JSON pointer, the name of its field inside of an argument, and the value."""
    if pointer:
        yield pointer, name, value
    if isinstance(value, dict):
        for key, item in value.items():
            escaped = key.replace("~", "~0").replace("/", "~1")
            yield from _pointers(item, f"{pointer}/{escaped}", key if pointer else "")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _pointers(item, f"{pointer}/{index}")


def _walk(value: Json, path: str, names: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...], Json]]:
    """Every plain value with its path, and with the names of the fields that lead there, without places in lists. The
    path of a plain value itself is empty, and `items[0].name` is one.
    """
    for each in _visited(value, path, names):
        if not isinstance(each[2], _NESTED):
            yield each


def _visited(value: Json, path: str, names: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...], Json]]:
    """The same of every value: of lists and objects as well, each before what stands in it."""
    inside = [iter([(path, names, value)])]
    while inside:  # no recursion: each value would pass through all generators above
        each = next(inside[-1], None)
        if each is None:
            inside.pop()
            continue
        yield each
        if isinstance(each[2], _NESTED):
            inside.append(_items(*each))


def _items(path: str, names: tuple[str, ...], value: Json) -> Iterator[tuple[str, tuple[str, ...], Json]]:
    """What stands in a list or an object, as `_walk` tells it."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield f"{path}.{name}" if path else name, (*names, name), item
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield f"{path}[{index}]", names, item


def _names_nothing(tool: str) -> Mapping[str, str]:
    return {}


def _size_of(message: Message) -> int:
    """How many characters of a message are taken apart."""
    match message:
        case ToolMessage():
            return size_of(message.result)
        case Reply():
            return len(message.text) if message.claimed else 0
        case UserMessage():
            return sum([len(part.text) for part in message.content if isinstance(part, TextPart)])
        case SystemMessage(text):
            return len(text)


def _words(text: str) -> tuple[list[str], list[bool]]:
    """The words of a text as blanks divide them, and of each whether a line or a sentence begins with it."""
    words: list[str] = []
    begins: list[bool] = []
    for line in text.splitlines():
        of_line = spaced(line).split(" ")
        words += of_line
        begins.append(True)
        begins += [word[-1:] in _SENTENCE_ENDS for word in of_line[:-1]]
    return words, begins


def written(value: Json) -> str:
    """A value as it is compared: with single blanks, and a number in its shortest form."""
    if isinstance(value, str):
        return spaced(value)
    if isinstance(value, float):
        return _plain_decimal(repr(value))
    return str(value)


def declared_names(schema: Json) -> Iterator[str]:
    """The names of fields that a schema declares, at any depth."""
    if isinstance(schema, dict):
        properties = schema.get("properties")
        yield from properties if isinstance(properties, dict) else ()
        for inner in schema.values():
            yield from declared_names(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from declared_names(inner)


def _number(text: str) -> str | None:
    """A number in its shortest form, whether it is written `1200.5`, `1,200.50` or `1.200,50`; None where it is none.

    Three digits behind a single comma are thousands, behind a single dot they are decimals.

    >>> [_number(text) for text in ("1,000.00", "1000", "1.5", "1,5", "1.2.2026", "007")]
    ['1000', '1000', '1.5', '1.5', None, None]
    """
    found = _NUMBER.fullmatch(text) if len(text) <= NUMBER_LENGTH_MAX else None
    if found is None:
        return None
    sign, commas, dots, quotes, plain, cents = found.groups()
    whole = next(form for form in (commas, dots, quotes, plain) if form is not None)
    digits = re.sub(r"[.,']", "", whole)
    return _plain_decimal(f"{sign}{digits}.{cents or 0}")


_NUMBER = re.compile(
    r"(-?)(?:([1-9]\d{0,2}(?:,\d{3})+)(?=\.|$)|([1-9]\d{0,2}(?:\.\d{3})+)(?=,)|([1-9]\d{0,2}(?:'\d{3})+)|(0|[1-9]\d*))"
    r"(?:[.,](\d{1,20}))?"
)


def _plain_decimal(text: str) -> str:
    number = Decimal(text)
    if not number.is_finite():
        return text
    if number == number.to_integral_value() and number.adjusted() < 40:
        return str(int(number))
    return f"{number.normalize():f}" if abs(number.adjusted()) < 40 else str(number)


def trusted_fields(trusted: Sequence[str]) -> list[tuple[str, ...]]:
    """The declared fields as names: `account.balance` as two. The empty one is the value itself."""
    return [tuple(field.split(".")) if field else () for field in trusted]


def is_trusted_field(names: Sequence[str], fields: Sequence[tuple[str, ...]]) -> bool:
    """Whether a field is declared to be trusted, or is inside of one that is. A declared `*` is any one name.

    It goes by the names of the fields and not by their path as a text: a key `email.x` or `[0].email`, which a stranger
    may have chosen, is not the field `email`.

    >>> is_trusted_field(("Watch", "product_id"), trusted_fields(["*.product_id"]))
    True
    """
    return any(
        len(names) >= len(field) and all(map(_is_name, field, names)) if field else not names for field in fields
    )


def _is_name(declared: str, name: str) -> bool:
    return declared in ("*", name)
