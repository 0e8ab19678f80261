"""Secret values in arguments: which parameters hold them, what is shown in their place, and how they come back.

A parameter holds a secret when its schema says so (`"x-secret": true`, or `"format": "password"` as OpenAPI and
pydantic write it), or when its whole name does (`NAMES`). `"x-secret": false` says that a parameter of such a name
holds none.

A record with a secret value is split in two. The record that is written down, shown and exported has `[secret]` in the
place of each value. The values themselves are kept apart, as the bytes that `split_*` returns: the journal holds them
until the run ends (`Journal.hide`), and `restored` puts them back for the run that goes on.

What a model or a client sends can hold any number of such names, and each is work: arguments that no tool declares
are looked through up to `UNDECLARED_MAX` names, and are secret as a whole beyond.

What is not found: a value that is said elsewhere, such as in the user's own words, and a value that a model repeats in
a later reply. Pure; `core.secrets.sealed` and the journals say how the values are kept.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

import msgspec
from msgspec import Struct

from .call import Problem, TextPart, ToolCall
from .json import Json, JsonObject, JsonProblem, dumps, parse_object, same
from .message import ReasoningPart, RefusalPart, Reply, ReplyPart
from .run.record import CallsRequested, InputGiven, ModelReplied

SECRET = "[secret]"
"""What is shown in the place of a secret value."""

NAMES = frozenset({"password", "passwd", "pwd", "secret", "apikey", "accesstoken", "refreshtoken", "privatekey"})
"""Whole names of parameters that hold secrets; compared without case, `_`, `-` and spaces. Not `key` and not `token`,
which mean other things in most tools."""

_WRITTEN = frozenset(
    {"password", "Password", "passwd", "pwd", "secret"}
    | {f"{first}{mark}{second}" for first, second in (("api", "key"), ("private", "key")) for mark in ("", "_", "-")}
    | {f"{kind}{mark}token" for kind in ("access", "refresh") for mark in ("", "_", "-")}
    | {"apiKey", "privateKey", "accessToken", "refreshToken"}
)
"""The usual spellings of `NAMES`, so that the names of arguments are looked at quickly."""

DEPTH_MAX = 8
NODES_MAX = 2_000
"""The depth, and the number of places, to which a schema is searched."""
UNDECLARED_MAX = 2_000
"""The most names and items in the arguments that no tool declares that are looked at."""
VALUES_MAX = 1_000
"""With more secret values than this in its calls, a reply shows none of its words: each value would be looked for in
all of them. In results, the first of the values are looked for."""
_STEPS_MAX = 4 * VALUES_MAX
"""The most values, within each other, that are looked into for that."""
REPEATED_LENGTH_MIN = 4
"""A value shorter than this is not looked for in the words around a call: it would be found everywhere."""

Path = tuple[str, ...]
"""Where a secret value is in arguments: names of properties, and `*` for every item of a list or of a map."""

EVERYTHING: Path = ("*",)
"""The path of all arguments together."""

_SEPARATORS = re.compile(r"[\s_-]+")
_encoder = msgspec.json.Encoder()

Secretive = ModelReplied | CallsRequested | InputGiven
"""The records that can hold secret values."""


class Taken(Struct, frozen=True, array_like=True):
    """A value that was taken out of arguments, and the place where it stood."""

    place: tuple[str | int, ...]
    value: Json


class SecretCall(Struct, frozen=True, omit_defaults=True):
    """What was taken out of a call.

    Attributes:
        raw: the source text of the arguments; the values are read from it where `taken` is empty.
        taken: the values.
    """

    raw: str = ""
    taken: tuple[Taken, ...] = ()


class SecretWords(Struct, frozen=True, omit_defaults=True):
    """What was taken out of a record.

    Attributes:
        calls: of each call that held secrets, by its place in the record.
        parts: other parts of a reply in which such a value stood as well, by their place.
        extras: the same for a reply's extras; None where they held none.
        arguments: of an answer's arguments.
    """

    calls: dict[int, SecretCall] = {}
    parts: dict[int, ReplyPart] = {}
    extras: JsonObject | None = None
    arguments: tuple[Taken, ...] = ()


_decoder = msgspec.json.Decoder(SecretWords)


# Which parameters hold secrets ----------------------------------------------------------------------------------------


def secret_paths(schema: JsonObject) -> tuple[Path, ...]:
    """Where the arguments that fit a JSON Schema hold secrets.

    >>> secret_paths({"properties": {"user": {}, "password": {}, "pin": {"x-secret": True}}})
    (('password',), ('pin',))
    >>> secret_paths({"properties": {"secret": {"type": "boolean"}, "pwd": {"x-secret": False}}})
    ()
    """
    search = _Search(schema)
    search.look(schema, (), 0)
    return tuple(search.found)


class _Search:
    """Looks through one schema."""

    def __init__(self, root: JsonObject) -> None:
        self.found: dict[Path, None] = {}
        self._root = root
        self._left = NODES_MAX

    def look(self, schema: Json, place: Path, depth: int) -> None:
        self._left -= 1
        if not isinstance(schema, dict) or depth > DEPTH_MAX or self._left < 0:
            return
        if place and self._says_so(schema):
            self.found[place] = None
            return
        for other in self._same_place(schema):
            self.look(other, place, depth + 1)
        properties = schema.get("properties")
        for name, below in properties.items() if isinstance(properties, dict) else ():
            if self._is_secret(name, below):
                self.found[(*place, name)] = None
            else:
                self.look(below, (*place, name), depth + 1)
        prefix = schema.get("prefixItems")
        patterns = schema.get("patternProperties")
        inside = [schema.get("items"), schema.get("additionalProperties")]
        inside += prefix if isinstance(prefix, list) else []
        inside += patterns.values() if isinstance(patterns, dict) else []
        for below in inside:
            self.look(below, (*place, "*"), depth + 1)

    def _is_secret(self, name: str, schema: Json) -> bool:
        """Whether a property holds a secret, by its schema or by its name."""
        if isinstance(schema, dict) and schema.get("x-secret") is False:
            return False
        nodes = self._alternatives(schema)
        if any(self._says_so(node) for node in nodes):
            return True
        kinds = {kind for node in nodes for kind in _kinds(node)}
        return is_secret_name(name) and not (kinds and kinds <= {"boolean", "null"})

    @staticmethod
    def _says_so(schema: JsonObject) -> bool:
        said = schema.get("x-secret")
        return bool(said) if said is not None else schema.get("format") == "password"

    def _alternatives(self, schema: Json) -> list[JsonObject]:
        """The schemas that hold at the same place as a schema, itself first."""
        found = [schema] if isinstance(schema, dict) else []
        for node in found:  # grows
            if len(found) < DEPTH_MAX:
                found += [other for other in self._same_place(node) if isinstance(other, dict)]
        return found

    def _same_place(self, schema: JsonObject) -> list[Json]:
        found: list[Json] = []
        for word in ("allOf", "anyOf", "oneOf"):
            several = schema.get(word)
            found += several if isinstance(several, list) else []
        found += [schema[word] for word in ("then", "else") if word in schema]
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference.startswith("#"):
            found.append(self._referred(reference))
        return found

    def _referred(self, reference: str) -> Json:
        found: Json = self._root
        for step in reference.removeprefix("#").split("/")[1:]:
            found = found.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(found, dict) else None
        return found


def _kinds(schema: JsonObject) -> list[Json]:
    kind = schema.get("type")
    return kind if isinstance(kind, list) else [] if kind is None else [kind]


def is_secret_name(name: str) -> bool:
    """Whether a parameter of this name holds a secret, as far as its name says."""
    return _plain(name) in NAMES


def _plain(name: str) -> str:
    return _SEPARATORS.sub("", name).lower()


def paths_in(arguments: JsonObject, paths: Sequence[Path], declared: Collection[str] = ()) -> Sequence[Path]:
    """Where the arguments of one call hold secrets.

    Args:
        arguments: as they came; they may not fit the tool.
        paths: of the tool, as `secret_paths` finds them; empty where there is no tool of that name.
        declared: the properties that the tool declares. A property that the tool does not declare, and everything
            inside of it, holds a secret by its name alone.

    Returns:
        `paths` itself where the arguments hold no others. What is not declared and has more than `UNDECLARED_MAX` names
        and items is a secret as a whole: looking through it would hold up others.
    """
    if _WRITTEN.isdisjoint(arguments):
        for name, value in arguments.items():
            if (type(value) is dict or type(value) is list) and name not in declared:
                break
        else:
            return paths
    if len(arguments) > UNDECLARED_MAX:
        return [*paths, EVERYTHING]
    found, left = list[Path](), [UNDECLARED_MAX]
    for name in arguments:
        if name not in declared:
            inside = list(_named(name, arguments[name], (), 0, left))
            found += inside if left[0] >= 0 else [(name,)]
            left[0] = max(0, left[0])
    return [*paths, *dict.fromkeys(found)] if found else paths


def _named(name: str, value: Json, place: Path, depth: int, left: list[int]) -> Iterator[Path]:
    """Where an argument that no tool declares holds secrets by the names in it.

    Args:
        left: how many names and items may still be looked at; below zero where there were more.
    """
    place = (*place, name)
    if name in _WRITTEN if depth else is_secret_name(name):
        yield place
    elif isinstance(value, dict | list) and depth < DEPTH_MAX:
        inside, at = ([value], place) if isinstance(value, dict) else (value, (*place, "*"))
        left[0] -= len(inside)
        for each in inside if left[0] >= 0 else ():
            if isinstance(each, dict):
                left[0] -= len(each)
                for key, below in each.items() if left[0] >= 0 else ():
                    yield from _named(key, below, at, depth + 1, left)


# Arguments and calls --------------------------------------------------------------------------------------------------


def taken_out(arguments: JsonObject, paths: Sequence[Path]) -> tuple[JsonObject, tuple[Taken, ...]]:
    """Arguments with `[secret]` in the place of each secret value, and the values.

    >>> taken_out({"user": "ann", "password": "hunter2"}, [("password",)])[0]
    {'user': 'ann', 'password': '[secret]'}
    """
    if EVERYTHING in paths:
        return dict.fromkeys(arguments, SECRET), (Taken((), arguments),)
    taken: list[Taken] = []
    shown = _without(arguments, (_tree(paths),), (), taken)
    assert isinstance(shown, dict)
    return shown, tuple(taken)


class _Tree:
    """Paths that begin alike, by their next step.

    Attributes:
        is_end: a path ends here.
        steps: by the plain form of a name.
    """

    __slots__ = ("is_end", "steps")

    def __init__(self) -> None:
        self.is_end = False
        self.steps: dict[str, _Tree] = {}


def _tree(paths: Sequence[Path]) -> _Tree:
    whole = _Tree()
    for path in paths:
        tree = whole
        for step in path:
            tree = tree.steps.setdefault(step if step == "*" else _plain(step), _Tree())
        tree.is_end = True
    return whole


def _without(value: Json, trees: tuple[_Tree, ...], place: tuple[str | int, ...], taken: list[Taken]) -> Json:
    if any(tree.is_end for tree in trees) or (isinstance(value, str) and place):  # a text holds what is below it, too
        if value is None or value == SECRET:
            return value
        taken.append(Taken(place, value))
        return SECRET
    if isinstance(value, dict):
        return {
            name: _without(item, below, (*place, name), taken) if (below := _below(trees, _plain(str(name)))) else item
            for name, item in value.items()
        }
    if isinstance(value, list) and (below := _below(trees, "*")):
        return [_without(item, below, (*place, index), taken) for index, item in enumerate(value)]
    return value


def _below(trees: tuple[_Tree, ...], step: str) -> tuple[_Tree, ...]:
    """What the paths say behind a step; `*` stands for every step."""
    steps = ("*",) if step == "*" else ("*", step)
    return tuple([tree.steps[each] for tree in trees for each in steps if each in tree.steps])


def put_back(shown: JsonObject, taken: Sequence[Taken]) -> JsonObject:
    """Arguments with the values that were taken out of them."""
    whole = _Places()
    for each in taken:
        places = whole
        for step in each.place:
            places = places.steps.setdefault(step, _Places())
        places.taken = each
    put = _with(shown, whole)
    assert isinstance(put, dict)
    return put


class _Places:
    """Places that begin alike, by their next step.

    Attributes:
        taken: the value that was taken out here; None for none.
        steps: by their names and indexes.
    """

    __slots__ = ("steps", "taken")

    def __init__(self) -> None:
        self.taken: Taken | None = None
        self.steps: dict[str | int, _Places] = {}


def _with(value: Json, places: _Places) -> Json:
    if places.taken is not None:
        return places.taken.value
    steps = places.steps
    if not steps:
        return value
    if isinstance(value, dict):
        return {name: _with(item, steps[name]) if name in steps else item for name, item in value.items()}
    if isinstance(value, list):
        return [_with(item, steps[index]) if index in steps else item for index, item in enumerate(value)]
    return value


def filled(shown: JsonObject, known: JsonObject, paths: Sequence[Path]) -> JsonObject:
    """Arguments in which `[secret]` still stands, with the values that other arguments hold at the same places: a
    person who edits a call is not shown its secrets and leaves them as they are.
    """
    return _filled(shown, known, paths) if paths else shown


def _filled(shown: JsonObject, known: JsonObject, paths: Sequence[Path]) -> JsonObject:
    values = {each.place: each.value for each in taken_out(known, paths)[1]}
    plain = {tuple(_plain(step) if isinstance(step, str) else step for step in place): v for place, v in values.items()}
    missing = [Taken(place, plain[key]) for place in _marks(shown, ()) if (key := _key(place)) in plain]
    return put_back(shown, missing)


def _key(place: tuple[str | int, ...]) -> tuple[str | int, ...]:
    return tuple(_plain(step) if isinstance(step, str) else step for step in place)


def _marks(value: Json, place: tuple[str | int, ...]) -> list[tuple[str | int, ...]]:
    """The places at which `[secret]` stands."""
    if value == SECRET:
        return [place]
    if isinstance(value, dict):
        return [found for name, item in value.items() for found in _marks(item, (*place, name))]
    if isinstance(value, list):
        return [found for index, item in enumerate(value) for found in _marks(item, (*place, index))]
    return []


def is_missing(arguments: JsonObject, paths: Sequence[Path]) -> str:
    """The first secret parameter whose value is gone, with only `[secret]` left; empty where there is none."""
    for place in _marks(arguments, ()):
        if any(_fits(place, path) for path in paths):
            return ".".join(map(str, place))
    return ""


def _fits(place: tuple[str | int, ...], path: Path) -> bool:
    return len(place) == len(path) and all(
        wanted == "*" or wanted == step for wanted, step in zip(path, place, strict=True)
    )


def differing_texts(shown: JsonObject, whole: JsonObject) -> list[str]:
    """The secret values that arguments hold and that are not shown, as texts; of very many, the first `VALUES_MAX`.

    Args:
        shown: the arguments as they are shown. What holds no secret is best the same object as in `whole`.
        whole: the arguments.
    """
    taken, pairs = list[Taken](), list[tuple[Json, Json]]([(shown, whole)])
    while pairs and len(taken) < VALUES_MAX:
        one, other = pairs.pop()
        if one == SECRET:
            if other != SECRET:
                taken.append(Taken((), other))
        elif isinstance(one, dict) and isinstance(other, dict):
            pairs += [(item, other[name]) for name, item in one.items() if name in other and item is not other[name]]
        elif isinstance(one, list) and isinstance(other, list):
            pairs += [pair for pair in zip(one, other, strict=False) if pair[0] is not pair[1]]
    return texts_of(taken)


def texts_of(taken: Sequence[Taken]) -> list[str]:
    """The secret values as texts, by which they are found elsewhere; of very many, the first `VALUES_MAX`."""
    return [text for text in _texts_of(taken)[0] if len(text) >= REPEATED_LENGTH_MIN]


def _texts_of(taken: Sequence[Taken]) -> tuple[list[str], bool]:
    """Values as texts, at most `VALUES_MAX`; and whether these are all."""
    found: list[str] = []
    values: list[Json] = [each.value for each in reversed(taken)]
    for _ in range(_STEPS_MAX):
        if not values or len(found) == VALUES_MAX:
            break
        value = values.pop()
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, dict | list):
            values += list(value.values() if isinstance(value, dict) else value)[::-1]
        elif value is not None and not isinstance(value, bool):
            found.append(dumps(value))
    return found, not values


def shown_call(call: ToolCall, paths: Sequence[Path]) -> ToolCall:
    """A call as it is shown; the same object where it holds no secret."""
    parted = _split_call(call, paths) if paths else None
    return call if parted is None else parted[0]


def shown_repairs(repairs: tuple[str, ...], taken: Sequence[Taken]) -> tuple[str, ...]:
    """What was mended in the arguments, without secret values: a repair quotes the value, or its beginning."""
    texts, is_whole = _texts_of(taken)
    quoted = {text[:6] for text in texts if text}
    return tuple(
        [
            "a secret value was mended" if not is_whole or any(text in repair for text in quoted) else repair
            for repair in repairs
        ]
    )


def shown_problems(problems: Sequence[Problem], paths: Sequence[Path]) -> tuple[Problem, ...]:
    """What is wrong with arguments, without what came at the places of secrets."""
    names = {_plain(path[0]) for path in paths}
    is_each = EVERYTHING in paths
    return tuple(
        [
            msgspec.structs.replace(problem, received=SECRET)
            if problem.received
            and (is_each or not problem.path or _plain(re.split(r"[.\[]", problem.path)[0]) in names)
            else problem
            for problem in problems
        ]
    )


def _split_call(call: ToolCall, paths: Sequence[Path]) -> tuple[ToolCall, SecretCall, tuple[Taken, ...]] | None:
    """A call as it is shown, and what was taken out of it; None where it holds no secret."""
    shown, taken = taken_out(call.arguments, paths)
    if not taken and (call.complete or not call.raw):
        return None
    kept = SecretCall(call.raw) if _says(call, call.arguments) else SecretCall(call.raw, taken)
    repairs = shown_repairs(call.repairs, taken) if call.repairs else ()
    if not call.complete:
        repairs = tuple(["the arguments broke off" for _ in repairs])
    return msgspec.structs.replace(call, arguments=shown, raw="", repairs=repairs), kept, taken


def _says(call: ToolCall, arguments: JsonObject) -> bool:
    """Whether the source text of a call says these arguments."""
    if not call.raw or not call.complete:
        return False
    try:
        return same(parse_object(call.raw)[0], arguments)
    except (JsonProblem, RecursionError):
        return False


def _whole_call(shown: ToolCall, kept: SecretCall) -> ToolCall:
    arguments = parse_object(kept.raw)[0] if kept.raw and not kept.taken and shown.complete else None
    if arguments is None:
        arguments = put_back(shown.arguments, kept.taken)
    return msgspec.structs.replace(shown, arguments=arguments, raw=kept.raw)


# Records --------------------------------------------------------------------------------------------------------------


def split_reply(reply: Reply, paths: Sequence[Sequence[Path]]) -> tuple[Reply, bytes] | None:
    """A model's reply as it is shown, and what was taken out of it; None where it holds no secret.

    Args:
        reply: the reply.
        paths: of each call in the reply, where it holds secrets.
    """
    if not any(paths):
        return None
    content: list[ReplyPart] = list(reply.content)
    calls: dict[int, SecretCall] = {}
    texts: list[str] | None = []
    of_calls = iter(paths)
    for index, part in enumerate(content):
        if isinstance(part, ToolCall):
            parted = _split_call(part, next(of_calls))
            if parted is not None:
                content[index], calls[index], taken = parted
                values, is_whole = _texts_of(taken)
                texts = [*texts, *values] if texts is not None and is_whole else None
    if not calls:
        return None
    parts: dict[int, ReplyPart] = {}
    if texts is not None:
        texts = [text for text in dict.fromkeys(texts) if len(text) >= REPEATED_LENGTH_MIN]
    for index, part in enumerate(content):
        if isinstance(part, TextPart | ReasoningPart | RefusalPart) and _holds(part.text, texts):
            parts[index] = part
            content[index] = msgspec.structs.replace(part, text=_marked(part.text, texts))
    extras = reply.extras if reply.extras and _holds(dumps(reply.extras), texts) else None
    shown = msgspec.structs.replace(reply, content=tuple(content), extras={} if extras else reply.extras)
    return shown, _encoder.encode(SecretWords(calls, parts, extras))


def split_calls(
    calls: Sequence[ToolCall], paths: Sequence[Sequence[Path]]
) -> tuple[tuple[ToolCall, ...], bytes] | None:
    """Calls as they are shown, and what was taken out of them; None where they hold no secret."""
    shown, kept = list(calls), dict[int, SecretCall]()
    for index, (call, places) in enumerate(zip(calls, paths, strict=True)):
        parted = _split_call(call, places) if places else None
        if parted is not None:
            shown[index], kept[index], _ = parted
    return (tuple(shown), _encoder.encode(SecretWords(kept))) if kept else None


def split_answer(arguments: JsonObject, paths: Sequence[Path]) -> tuple[JsonObject, bytes] | None:
    """The arguments of an answer as they are shown, and what was taken out of them; None where they hold no secret."""
    shown, taken = taken_out(arguments, paths) if paths else (arguments, ())
    return (shown, _encoder.encode(SecretWords(arguments=taken))) if taken else None


def restored(record: Secretive, words: bytes) -> Secretive:
    """A record with its secret values put back.

    Args:
        record: as the journal holds it.
        words: the values that were kept apart, as bytes.
    """
    kept = _decoder.decode(words)
    if isinstance(record, ModelReplied):
        content = list(record.reply.content)
        for index, call in kept.calls.items():
            shown = content[index]
            assert isinstance(shown, ToolCall)
            content[index] = _whole_call(shown, call)
        for index, part in kept.parts.items():
            content[index] = part
        reply = msgspec.structs.replace(record.reply, content=tuple(content))
        if kept.extras is not None:
            reply = msgspec.structs.replace(reply, extras=kept.extras)
        return msgspec.structs.replace(record, reply=reply)
    if isinstance(record, CallsRequested):
        calls = list(record.calls)
        for index, call in kept.calls.items():
            calls[index] = _whole_call(calls[index], call)
        return msgspec.structs.replace(record, calls=tuple(calls))
    return msgspec.structs.replace(record, arguments=put_back(record.arguments or {}, kept.arguments))


def _holds(text: str, values: Sequence[str] | None) -> bool:
    """Whether a text holds one of these values; it may where there are too many of them, which None says."""
    return bool(text) and (values is None or len(values) > VALUES_MAX or any(value in text for value in values))


def _marked(text: str, values: Sequence[str] | None) -> str:
    if values is None or len(values) > VALUES_MAX:
        return SECRET
    for value in sorted(values, key=len, reverse=True):
        text = text.replace(value, SECRET)
    return text
