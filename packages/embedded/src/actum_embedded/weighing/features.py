"""What speaks for a piece of the question going into a slot, as names of features; what they are worth, `ranker` has
learned.

Features are relational: not which word it is, but how it stands to the slot: a word of the slot's own name before it,
one of another slot's between them, an `in` before a place, a kind that suits. They come in three groups, so that
each is made once: where a piece begins, where it ends, and the piece itself. A fourth speaks for nothing at all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple

from ..text.lexicon import HAN, lexicon, stem
from ..text.meanings import Point, middle, nearness, point_of, sort_of
from ..text.words import keys_of, spaced, tokenize
from ..tools.candidates import Candidate, View
from ..tools.examples import examples, form_of, forms_shown, stems
from ..tools.selection import Indexed, generic
from ..tools.slots import Slot
from ..tools.values import unit_of

_HERE = files("actum_embedded") / "data"
_STOPS = frozenset(".?!;。？！；\n")
REACH = 6
"""So many words to either side are looked at."""


class Aim(NamedTuple):
    """A slot as its features see it, made once for a tool.

    Attributes:
        slot: the slot.
        kind: its kind, with its type where the kind says little.
        head: the stem of its name's last word.
        group: the words that are used like that one.
        own: terms of its name that no other slot of the tool has.
        shared: terms of its name.
        told: terms of its description that no other slot has in its name.
        others: terms of the names of the other slots.
        tool: terms of the tool's name.
        does: terms of the first sentence of its description that are in no name of the tool or of a slot.
        chosen: terms of the values of the tool's enumerations that are in no name of the slot.
        commands: those of its name and the terms of its parameters' names and of the values that they are chosen from.
        alike: how many required slots have its type, and which of them it is.
        alike_in_kind: how many of those are of its kind, and which of them it is.
        alone: whether no other slot of the tool is of its kind.
        beside_list: whether another slot of the tool is an array.
        examples, forms, stems, like: values that its description shows, in lower case, what they look like, the stems
            of their words, and what they mean.
        signs: the Chinese characters of its name and description: 人 of 人数.
        meant, told_of: what its name means, and its description.
        rivals: what the names of the other slots mean that take words.
        called, others_called: its name and description as far as they are Chinese, and those of the others.
        unit: the unit that it asks for, by its key; empty where it asks for none.
        marks: what tells it from the slots of its kind: its roles, else the words of its name.
    """

    slot: Slot
    kind: str
    head: str
    group: str
    own: frozenset[str]
    shared: frozenset[str]
    told: frozenset[str]
    others: frozenset[str]
    tool: frozenset[str]
    does: frozenset[str]
    chosen: frozenset[str]
    commands: frozenset[str]
    alike: tuple[int, int]
    alike_in_kind: tuple[int, int]
    alone: bool
    beside_list: bool
    unit: str
    marks: tuple[str, ...]
    examples: frozenset[str]
    forms: frozenset[str]
    stems: frozenset[tuple[str, ...]]
    like: tuple[Point, ...]
    signs: frozenset[str]
    meant: Point | None
    told_of: Point | None
    rivals: tuple[Point, ...]
    called: str
    others_called: tuple[str, ...]


_known: dict[str, dict[tuple[str, ...], Aim]] = {}


def aim_of(slot: Slot, indexed: Indexed) -> Aim:
    """The slot of a tool as an aim."""
    aims = _known.get(indexed.tool.digest)
    if aims is None:
        if len(_known) > 5_000:
            _known.clear()
        aims = _known[indexed.tool.digest] = {each.path: _aim(each, indexed) for each in indexed.slots}
    return aims[slot.path]


def _aim(slot: Slot, indexed: Indexed) -> Aim:
    own = keys_of(spaced(slot.name))
    others = frozenset(key for each in indexed.slots if each.path != slot.path for key in keys_of(spaced(each.name)))
    told = frozenset(key for key in keys_of(slot.description) if generic(key) > 0.3)
    last = [word for word in spaced(slot.name).lower().split() if not word.isdigit()][-1:] or [slot.name.lower()]
    alike = [each for each in indexed.slots if each.type == slot.type and each.many == slot.many and not each.enum]
    must = [each for each in alike if each.required]
    kin = [each for each in must if each.kind == slot.kind]
    many = "s" if slot.many else ""
    kind = slot.kind + many if slot.kind != "number" else slot.type + many
    place = must.index(slot) if slot in must else -1
    return Aim(
        slot,
        kind,
        stem(last[0]),
        sort_of(last[0])[1],
        own - others,
        own,
        told - others,
        others - own,
        indexed.named,
        frozenset(key for key in indexed.summary - indexed.named - own - others if generic(key) > 0.3),
        _chosen(indexed) - own,
        indexed.named | own | others | _chosen(indexed),
        (len(must), place),
        (len(kin), kin.index(slot) if slot in kin else -1),
        all(each.kind != slot.kind for each in indexed.slots if each.path != slot.path),
        any(each.many for each in indexed.slots if each.path != slot.path),
        unit_of(f"{spaced(slot.name)} {slot.description}") or "",
        slot.roles or tuple(sorted(own - others)),
        examples(slot.description),
        forms_shown(slot.description),
        frozenset(stems(each) for each in examples(slot.description)),
        tuple(point for each in sorted(examples(slot.description)) if (point := meaning_of(each))),
        frozenset(_HAN.findall(f"{slot.name}{slot.description[:SIGNS_MAX]}")) - _COMMON,
        meaning_of(spaced(slot.name)),
        meaning_of(slot.description),
        tuple(
            point
            for each in indexed.slots
            if each.path != slot.path and each.type == slot.type and (point := meaning_of(spaced(each.name)))
        ),
        _called(slot),
        tuple(_called(each) for each in indexed.slots if each.path != slot.path),
    )


def _called(slot: Slot) -> str:
    """What of its name and of the beginning of its description is Chinese, other signs as one space."""
    return _NOT_HAN.sub(" ", f"{slot.name} {slot.description[:CALLED_MAX]}")


@lru_cache(maxsize=8192)
def meaning_of(text: str) -> Point | None:
    """What some words mean together, those left out that say nothing of it."""
    if text.isascii() and text.replace(" ", "").isalpha():  # nothing but words, as nearly all that is asked about
        return middle([point_of(word) for word in text.split() if word.lower() not in lexicon().function_words])
    return middle([point_of(token.text) for token in tokenize(text) if not token.functional])


def _chosen(indexed: Indexed) -> frozenset[str]:
    """The terms of the values of the tool's enumerations."""
    return frozenset(key for each in indexed.slots for value in each.enum for key in keys_of(spaced(str(value))))


_HAN = re.compile(f"[{HAN}]")
_NOT_HAN = re.compile(f"[^{HAN}]+")
CALLED_MAX = 20
_COMMON = frozenset("的之一是和与或要查询名称例如为可选在中上下个")
SIGNS_MAX = 12


def begins(aim: Aim, view: View, at: int) -> Iterator[str]:
    """Of a piece that begins with this word."""
    if at >= len(view.lower):
        return  # what was attached stands behind the last word
    before = _word(view, at - 1)
    earlier = f"{_word(view, at - 2)} {before}"
    kind, type_ = aim.kind, aim.slot.type
    yield f"p={before}"
    yield f"p={before}|{kind}"
    yield f"p={before}|={aim.head}"
    yield f"p={before}|+{aim.group}"
    for word in aim.marks:
        yield f"p={before}|~{word}"
    yield f"pp={earlier}"
    yield f"pp={earlier}|{kind}"
    yield f"ps={_shape(view, at - 1)}|{_shape(view, at)}|{aim.slot.type}"
    yield f"f={view.lower[at]}|{kind}"
    kind_before, group_before = _sort(view, at - 1)
    kind_here, group_here = _sort(view, at)
    yield f"pk={kind_before}|{kind_here}|{aim.slot.type}"
    yield f"pg={group_before}|{kind}"
    yield f"fg={group_here}|{kind}"
    yield f"fg={group_here}|+{aim.group}"
    if view.halved[at]:
        yield f"word cut first|{type_}"
    if touching := _touching(view, at):
        yield f"touches first={touching}|{type_}"
    if view.keys[at] & aim.shared:
        yield f"own first|{type_}"
    yield from _told_at("first", "before", aim, view, at, at - 1)
    if at and aim.signs:
        yield f"sign before={_meets(view, at - 1, aim)}{_meets(view, at - 2, aim)}|{aim.slot.type}"
        yield f"sign first={_meets(view, at, aim)}|{aim.slot.type}"
    yield from _cues("b", aim, view, range(at - 1, max(-1, at - 1 - REACH), -1))
    if view.tongue:
        yield from _labelled(aim, view, at)


def _labelled(aim: Aim, view: View, at: int) -> Iterator[str]:
    """Whose name the Chinese words right before it are: 品牌 of 品牌是海尔."""
    joint = ""
    while at and view.lower[at - 1] in _IS:
        at, joint = at - 1, "is"
    words: list[str] = []
    keys: set[str] = set()
    while at and sum(map(len, words)) < LABEL_MAX:
        at -= 1
        named = view.tokens[at].kind == "word" and len(view.tokens[at].text) <= LETTERS_MAX
        if view.lower[at] in _PARTING or not (named or view.tokens[at].kind in ("known", "chunk")):
            break
        words.append(view.lower[at])
        keys |= view.keys[at] if len(words) <= LABEL_WORDS else frozenset()
    if not words:
        return
    said = "".join(reversed(words))
    mine = max(_common_run(said, aim.called), 2 * bool(keys & aim.own))
    others = max((_common_run(said, each) for each in aim.others_called), default=0)
    others = max(others, 2 * bool(keys & aim.others))
    who = "none" if not mine and not others else "mine" if mine > others else "another's" if others > mine else "both"
    if joint or who != "none":
        yield f"label={who}{joint}|{aim.slot.type}"
        yield f"label={who}{joint}|{aim.kind}"


_IS = frozenset([*'是为叫:：“"「《=', "叫做", "名叫", "就是", "设为", "改为", "改成"])
_PARTING = frozenset(["的", "了", "和", "与", "在", "把"])
LABEL_MAX, LABEL_WORDS, LETTERS_MAX = 6, 3, 5


@lru_cache(maxsize=32768)
def _common_run(said: str, called: str) -> int:
    """How many characters of the longest run that both have; one says nothing."""
    for length in range(min(len(said), len(called)), 1, -1):
        if any(said[at : at + length] in called for at in range(len(said) - length + 1)):
            return length
    return 0


def ends(aim: Aim, view: View, at: int) -> Iterator[str]:
    """Of a piece whose last word stands before this place."""
    if not view.lower:
        return
    after = _word(view, at)
    kind, type_ = aim.kind, aim.slot.type
    yield f"n={after}"
    yield f"n={after}|{kind}"
    yield f"n={after}|={aim.head}"
    yield f"n={after}|+{aim.group}"
    for word in aim.marks:
        yield f"n={after}|~{word}"
    yield f"nn={after} {_word(view, at + 1)}|{kind}"
    yield f"ns={_shape(view, at - 1)}|{_shape(view, at)}|{aim.slot.type}"
    yield f"l={view.lower[at - 1]}|{kind}"
    kind_here, group_here = _sort(view, at - 1)
    kind_after, group_after = _sort(view, at)
    yield f"nk={kind_here}|{kind_after}|{aim.slot.type}"
    yield f"ng={group_after}|{kind}"
    yield f"lg={group_here}|{kind}"
    yield f"lg={group_here}|={aim.head}"
    yield f"lg={group_here}|+{aim.group}"
    for word in aim.marks:
        yield f"lg={group_here}|~{word}"
    if at < len(view.halved) and view.halved[at]:
        yield f"word cut last|{type_}"
    if touching := _touching(view, at):
        yield f"touches last={touching}|{type_}"
    if view.keys[at - 1] & aim.shared:
        yield f"own last|{type_}"
    yield from _told_at("last", "after", aim, view, at - 1, at)
    if aim.signs:
        yield f"sign after={_meets(view, at, aim)}{_meets(view, at + 1, aim)}|{aim.slot.type}"
        yield f"sign last={_meets(view, at - 1, aim)}|{aim.slot.type}"
    yield from _cues("a", aim, view, range(at, min(len(view.tokens), at + REACH)))


def _told_at(within: str, beside: str, aim: Aim, view: View, inner: int, outer: int) -> Iterator[str]:
    """Whether the word at a border, or the one beside it, is of the tool's name; in Chinese also whether it is of what
    the tool does or a value that is chosen: 黑色 of 黑色T恤 where a color is.
    """
    told = (("tool", aim.tool), ("does", aim.does), ("choice", aim.chosen))
    for name, keys in told if view.tongue else told[:1]:
        if view.keys[inner] & keys and (view.tongue or within == "first"):
            yield f"{name} {within}|{aim.slot.type}"
        if 0 <= outer < len(view.keys) and view.keys[outer] & keys:
            yield f"{name} {beside}|{aim.kind}"


def _meets(view: View, at: int, aim: Aim) -> int:
    """Whether a word there shares a Chinese character with the slot."""
    return int(0 <= at < len(view.lower) and not aim.signs.isdisjoint(view.lower[at]))


def _cues(side: str, aim: Aim, view: View, places: range) -> Iterator[str]:
    """Words of the slot's name and description to one side, and whether another slot's come first."""
    first, type_ = "", aim.slot.type
    far = 0
    said: set[str] = set()
    over = joined = nearest = ""
    for at in places:
        if view.tokens[at].text in _STOPS:
            break
        far += 1
        keys = view.keys[at]
        if view.lower[at] in _JOINING:
            joined = "&"
        if not keys:
            if view.tokens[at].kind == "number":
                over = "+number"
            continue
        for name, wanted in (("own", aim.own), ("shared", aim.shared), ("told", aim.told), ("other", aim.others)):
            if name not in said and keys & wanted:
                said.add(name)
                if name == "shared" and "own" in said:
                    continue
                yield f"{side}:{name}:{min(far, 4)}{over}|{type_}"
                yield f"{side}:{name}{over}{joined}|{type_}"
                if name != "told":
                    first = first or name
                    nearest = nearest or name + joined
                    yield f"{side}:{name}:{aim.kind}"
    yield f"{side}:first={first or 'told' if said else 'none'}|{type_}"
    if nearest:
        yield f"{side}:nearest={nearest}|{type_}"


_JOINING = frozenset({"and", "or", ",", "with", "，", "、", "和"})
"""What parts what belongs together: a name behind one of these is rather another value's."""


def inside(aim: Aim, view: View, candidate: Candidate, numbers: int) -> Iterator[str]:
    """Of the piece itself; `numbers` are in the whole clause."""
    kind, type_ = aim.kind, aim.slot.type
    fits = fits_of(aim.slot.kind)
    yield f"fit={max((fits.get(each, 0.0) for each in candidate.kinds), default=-1.0)}|{type_}"
    for each in candidate.kinds or ("run",):
        yield f"is={each}|{kind}"
        yield f"is={each}|={aim.head}"
        yield f"is={each}|+{aim.group}"
        yield f"is={each}|{type_}"
    yield f"form={candidate.form}|{kind}"
    yield f"form={candidate.form}|={aim.head}"
    yield f"form={candidate.form}|+{aim.group}"
    yield from _built(aim, view, candidate)
    yield from _shared(aim, view, candidate)
    if type_ == "string" and not candidate.listed:
        yield from _in_order(aim, view, candidate)
    yield from _in_a_row(aim, view, candidate)
    if candidate.listed:
        yield f"listed={min(candidate.listed, 4)}|{type_}"
        yield from _whole_list(view, candidate)
    elif type_ in ("integer", "number"):
        yield from _number(aim, candidate, numbers, view)


def _in_order(aim: Aim, view: View, candidate: Candidate) -> Iterator[str]:
    """Whether as many of its sort are said before it as slots of the kind come before; and whether it is not in quotes
    where others are.
    """
    if view.quotes:
        must = "must" if aim.slot.required else "may"
        yield f"quotes={min(view.quotes, 3)}, quoted={'quoted' in candidate.kinds}|{must}"
    count, place = aim.alike_in_kind
    sort = next((each for each in _ORDERED if each in candidate.kinds), "")
    if sort and place >= 0 and count > 1:
        before = sum(
            any(span.kind == sort for span in spans)
            for (first, _), spans in view.typed.items()
            if first < candidate.first
        )
        yield f"turn={max(-3, min(3, before - place))}|{min(count, 3)}"
        yield f"turn={max(-3, min(3, before - place))}|{sort}"


_ORDERED = ("quoted", "date", "time", "city", "country", "email", "file", "url", "code", "name")


def _built(aim: Aim, view: View, candidate: Candidate) -> Iterator[str]:
    """How long it is, where its capitals are, what is cut by its borders."""
    kind, type_ = aim.kind, aim.slot.type
    first, last = candidate.first, candidate.last
    chinese = "h" if first < len(view.tokens) and view.tokens[first].kind in ("chunk", "known") else ""
    many = f"{chinese}{min(last - first, 8)}"
    if chinese and any(start < first < end or start < last < end for start, end in _names_at(view, first, last)):
        yield f"name cut|{kind}"
    yield f"words={many}|{kind}"
    yield f"words={many}|{type_}"
    capitals = sum(view.tokens[at].text[:1].isupper() for at in range(first, last))
    if capitals:
        yield f"capitals={'all' if capitals == last - first else 'some'}|{kind}"
        if _capital(view, first - 1) or _capital(view, last):
            yield f"capitals cut|{type_}"
            yield f"capitals cut|{kind}"
    borders = {first, last - 1} & set(range(len(view.inside)))
    if any(place != (first, last) for at in borders for place in view.inside[at]):
        yield f"with typed|{kind}"
    held = sum(view.functional[at] for at in range(first, last))
    if held:
        yield f"small words={min(held, 3)}|{type_}"
        yield from (f"m={view.lower[at]}|{type_}" for at in range(first + 1, last - 1) if view.functional[at])


def _shared(aim: Aim, view: View, candidate: Candidate) -> Iterator[str]:
    """Whose words are in it."""
    kind, type_ = aim.kind, aim.slot.type
    if aim.examples and type_ == "string":
        yield from _as_shown(aim, candidate)
    if candidate.last - candidate.first >= WIDE:
        return
    if aim.slot.type == "string":
        yield from _near(aim, candidate.span.text)
    keys = frozenset().union(*view.keys[candidate.first : candidate.last])
    if keys & aim.shared:
        yield f"has own|{kind}"
    if keys & aim.others:
        yield f"has other|{kind}"
    if keys & aim.tool:
        yield f"has tool|{kind}"
    if keys & aim.told:
        yield f"has told|{type_}"


def _as_shown(aim: Aim, candidate: Candidate) -> Iterator[str]:
    """How it comes to the values that the description shows: one of them, a part of one, of the same form."""
    must = "must" if aim.slot.required else "may"
    said = stems(candidate.span.text)
    if said in aim.stems:
        alike = "same" if candidate.span.text.lower() in aim.examples else "stems"
    elif any(set(said) < set(each) for each in aim.stems):
        alike = "part"
    elif any(set(said) > set(each) for each in aim.stems if each):
        alike = "more"
    else:
        alike = "other"
    yield f"example={alike}"
    yield f"example={alike}|{must}|{aim.kind}"
    formed = form_of(str(candidate.value)) in aim.forms
    yield f"example formed={formed}|{candidate.form}"
    yield f"example formed={formed}|{aim.kind}"
    if aim.like and (meaning := meaning_of(candidate.span.text)):
        near = _grade(max(nearness(meaning, each) for each in aim.like))
        yield f"example near={near}"
        yield f"example near={near}|{aim.kind}"


def _near(aim: Aim, text: str) -> Iterator[str]:
    """How near its meaning comes to what the slot is called, and to the others: a `lion` to `animal`."""
    kind, type_ = aim.kind, aim.slot.type
    meaning = meaning_of(text)
    if meaning is None:
        yield f"near=?|{kind}"
        return
    name, told = nearness(meaning, aim.meant), nearness(meaning, aim.told_of)
    other = max((nearness(meaning, each) for each in aim.rivals), default=0.0)
    yield f"near={_grade(name)}|{type_}"
    yield f"near={_grade(name)}|{kind}"
    yield f"near told={_grade(told)}|{type_}"
    yield f"near told={_grade(told)}|{kind}"
    yield f"nearer={_grade(name - other)}|{type_}"


def _grade(value: float) -> int:
    return round(max(-0.2, min(value, 0.8)) * 10)


def _names_at(view: View, first: int, last: int) -> set[tuple[int, int]]:
    """The typed spans that reach over one of the borders."""
    near = {first - 1, first, last - 1, last} & set(range(len(view.inside)))
    return {place for at in near for place in view.inside[at]}


WIDE = 12


def _plural(view: View, at: int) -> bool:
    return at < len(view.lower) and view.lower[at].endswith("s")


def _whole_list(view: View, candidate: Candidate) -> Iterator[str]:
    """Whether the list goes on at its ends, and whether its elements are built alike."""
    if _word(view, candidate.last) in _BETWEEN:
        yield "list goes on"
    if _word(view, candidate.first - 1) in _BETWEEN:
        yield "list went before"
    said = [str(each) for each in candidate.value] if isinstance(candidate.value, list) else []
    if len(said) < 2:
        return
    words = [each.split() for each in said]
    if "quoted" not in candidate.kinds:
        yield f"first longer={max(-2, min(3, len(words[0]) - max(map(len, words[1:-1] or words[1:]))))}"
        yield f"last longer={max(-2, min(3, len(words[-1]) - max(map(len, words[:-1]))))}"
    yield f"forms={min(len({form_of(each) for each in said}), 3)}"
    yield f"capitals alike={len({each[0].isupper() for each in said if each}) == 1}"
    if all(words) and len({each[-1].lower() for each in words}) == 1:
        yield "elements end alike"


_BETWEEN = frozenset({",", "and", "or", "，", "、", "和"})


def _in_a_row(aim: Aim, view: View, candidate: Candidate) -> Iterator[str]:
    """Whether a piece of its sort stands beside it, with nothing but a comma or `and` between."""
    sort = next((each for each in _IN_ROWS if each in candidate.kinds), "")
    after = candidate.last
    while sort and after < len(view.lower) and view.lower[after] in _BETWEEN:
        after += 1
    before = candidate.first
    while sort and before > 0 and view.lower[before - 1] in _BETWEEN:
        before -= 1
    on = after > candidate.last and _is_there(view, sort, after, last=False)
    back = before < candidate.first and _is_there(view, sort, before, last=True)
    if on or back:
        many = "s" if aim.slot.many else "of several" if aim.beside_list else ""
        yield f"in a row: {on} {back} {many}"
        yield f"in a row: {on} {back} {many}|{sort}"


def _is_there(view: View, sort: str, at: int, *, last: bool) -> bool:
    """Whether a piece of the sort begins there, or ends."""
    return any(place[last] == at and any(span.kind == sort for span in spans) for place, spans in view.typed.items())


_IN_ROWS = ("quoted", "number", "date", "city", "country", "email", "code", "name")


def _number(aim: Aim, candidate: Candidate, numbers: int, view: View) -> Iterator[str]:
    count, place = aim.alike
    span = candidate.span
    if place >= 0:
        earlier = (spans for (first, _), spans in view.typed.items() if first < candidate.first)
        before = sum(each.kind == "number" for spans in earlier for each in spans)
        order = max(-3, min(3, before - place))
        yield f"order={order}|{min(count, 4)}|{min(numbers, 5)}"
        yield f"order={order}|{'exact' if count == numbers else 'more' if numbers > count else 'fewer'}"
    if span.detail:
        unit = span.detail.split(":")[-1]
        agrees = unit == aim.unit or any(unit in (key, key.lstrip("#")) for key in aim.slot.terms)
        yield f"unit {'agrees' if agrees else 'is another'}|{aim.kind}"
        yield f"unit={unit}|={aim.head}"
        yield f"unit={span.detail.split(':')[0]}|={aim.head}"
        yield f"unit={span.detail.split(':')[0]}|+{aim.group}"
    if span.text.isalpha():
        yield f"in words|{_word(view, candidate.last - 1)}"
        yield f"in words|{aim.kind}|{_plural(view, candidate.last)}"
    value = span.value
    if isinstance(value, int | float):
        size = "year" if isinstance(value, int) and 1800 <= value <= 2100 else "small" if abs(value) < 13 else "large"
        yield f"size={size}|={aim.head}"
        yield f"size={size}|+{aim.group}"
        yield f"size={size}|{aim.kind}"
        yield f"whole={float(value).is_integer()}|={aim.head}"
        yield f"whole={float(value).is_integer()}|+{aim.group}"


def fits_of(kind: str) -> dict[str, float]:
    """How well each kind of span suits a kind of slot, 0 to 1; one that is not there does not."""
    return _fits().get(kind, {})


@cache
def _fits() -> dict[str, dict[str, float]]:
    read: dict[str, dict[str, float]] = json.loads((_HERE / "fits.json").read_text("utf-8"))
    return read


def nothing(aim: Aim, view: View, found: Sequence[Candidate]) -> Iterator[str]:
    """Of leaving the slot empty, where these could go into it."""
    must = "must" if aim.slot.required else "may"
    yield f"none|{must}"
    yield f"none|{must}|{aim.kind}"
    yield f"none|{must}|={aim.head}"
    yield f"none|{must}|+{aim.group}"
    said = frozenset().union(*view.keys) if view.keys else frozenset()
    if aim.examples:
        shown = any("shown" in each.kinds for each in found)
        yield f"none|{must}|example={shown}"
        yield f"none|{must}|{aim.kind}|example={shown}"
    yield f"none|{must}|own={bool(said & aim.own)}|told={bool(said & aim.told)}"
    yield f"none|{must}|{aim.kind}|own={bool(said & aim.own)}"
    if "default" in aim.slot.schema or "default" in aim.slot.description.lower():
        yield f"none|{must}|default"


def _word(view: View, at: int) -> str:
    """The word there; numbers are all one."""
    if at < 0:
        return "^"
    if at >= len(view.tokens):
        return "$"
    return "0" if view.tokens[at].kind == "number" else view.lower[at][:12]


def _shape(view: View, at: int) -> str:
    if at < 0 or at >= len(view.tokens):
        return "-"
    token = view.tokens[at]
    if token.kind == "word":
        small = "f" if view.functional[at] else ""
        return (
            "A" if token.text.isupper() and len(token.text) > 1 else "A1" if token.text[0].isupper() else "a"
        ) + small
    return {"known": "k", "chunk": "c", "number": "0", "sign": "."}[token.kind] + (
        "f" if token.kind == "known" and view.functional[at] else ""
    )


def _sort(view: View, at: int) -> tuple[str, str]:
    """What kind of word stands there and which group it belongs to; of small words, numbers and signs themselves."""
    if at < 0 or at >= len(view.tokens):
        return "-", "-"
    token = view.tokens[at]
    if token.kind == "number":
        return "0", "0"
    if view.functional[at]:
        return ("f", "f") if token.kind != "sign" else (token.text, token.text)
    kinds, group = sort_of(view.words[at])
    if token.kind != "word":
        return kinds, group
    ending = next((each for each in _ENDINGS if view.lower[at].endswith(each)), "")
    return f"{'A' if token.text[0].isupper() else ''}{kinds}{ending}", group


_ENDINGS = ("ing", "ed", "ly", "s")


def _touching(view: View, at: int) -> str:
    """What stands on both sides of a place with no space between, signs as they are; empty where one is, and beside
    Chinese.
    """
    if not 0 < at < len(view.tokens) or view.tokens[at - 1].end < view.tokens[at].start:
        return ""
    sides = view.tokens[at - 1], view.tokens[at]
    if any(each.kind in ("known", "chunk") for each in sides):
        return ""
    return "".join(each.text if each.kind == "sign" else each.kind[0] for each in sides)


def _capital(view: View, at: int) -> bool:
    return 0 < at < len(view.tokens) and view.tokens[at].text[0].isupper() and not view.functional[at]
