"""What a slot has to choose from: of all that a clause has, what can be a value of it at all.

Left out is what the kind of the slot rules out, by signs and small words: a city is no number, a command to the model
no value. Which of the rest is meant, `ranker` has learned.
"""

from __future__ import annotations

import re

from ..text.clauses import Clause
from ..text.lexicon import HAN, is_han, wordset
from ..text.spans import PARTS, Span
from ..text.words import spaced
from ..tools.candidates import Candidate, View, candidates, opens_sentence
from ..tools.content import content_of
from ..tools.selection import Indexed
from ..tools.slots import Slot
from .features import aim_of, fits_of


def offered(slot: Slot, indexed: Indexed, clause: Clause) -> list[Candidate]:
    """What a slot of this tool has to choose from; free text may also be what the command leaves over."""
    if slot.kind in TYPED and not slot.many:
        fits = fits_of(slot.kind)
        found = candidates(slot, clause)
        found = [each for each in found if any(kind in fits or kind == "shown" for kind in each.kinds)]
        if slot.kind == "expression":
            formed = [each for each in found if _FORMED.intersection(each.kinds)]
            found = [each for each in formed if len(each.span.text) > 1] or formed or found
            found = [each for each in found if not _BARE_NUMBER.fullmatch(each.span.text)]
        return [each for each in found if slot.kind != "month" or _is_month(each)]
    free = slot.kind in FREE_TEXT and not slot.many
    content = content_of(slot, indexed, clause, ()) if free else None
    if content is not None and slot.kind == "query" and content[0].text.strip("?？").count("？"):
        content = None  # two questions are no query
    found = candidates(slot, clause, content)
    if slot.type == "integer" and not slot.many and _is_numbered(slot) and is_han(clause.words):
        return [each for each in found if any(sign.isdigit() for sign in each.span.text)] or found
    if slot.type != "string" or slot.many:
        return found
    if _SECRET.search(spaced(slot.name).lower()):
        coded = (each for each in found if "code" in each.kinds and re.search(r"\d", each.span.text))
        return [*coded, *(each for each in found if "quoted" in each.kinds)]
    if is_han(clause.words):
        found = [
            each for each in found if not (_COUNTED_ONLY.fullmatch(each.span.text) or _halves_a_house(each, clause))
        ]
    found = _of_the_kind(found, slot, clause)
    found = _with_whole_places(found, indexed, clause)
    commands, name = aim_of(slot, indexed).commands, indexed.tool.name
    if is_han(clause.words) and slot.kind not in _SPOKEN:
        commands |= {key for key in indexed.summary if key[0] == "#"}
    view = View.of(clause)
    return [each for each in found if not _is_command(each, commands, view) and each.value != name]


def _of_the_kind(found: list[Candidate], slot: Slot, clause: Clause) -> list[Candidate]:
    """Without what no text of the slot's kind is."""
    view = View.of(clause)
    if slot.kind not in _SPOKEN and is_han(clause.words):
        found = [each for each in found if not _is_no_value(each, view)]
    if slot.kind == "id":
        coded = {"code", "number", "quoted"}
        found = [each for each in found if coded.intersection(each.kinds) or not _has_a_moment(each, view)]
    if slot.kind in NAMED:
        counted = _COUNTED - {"email"} if slot.kind == "person" else _COUNTED
        found = [each for each in found if not (counted.intersection(each.kinds) or _is_denied(each, view))]
        found = [each for each in found if len(each.span.text) > 1 or each.kinds or not is_han(each.span.text)]
        found = [each for each in found if not _POINTING.fullmatch(each.span.text)]
        found = [each for each in found if each.kinds or not _POINTS_BACK.fullmatch(each.span.text.lower())]
        if slot.kind == "person":
            found = [each for each in found if each.kinds or not _INTRODUCED.fullmatch(each.span.text)]
    if is_han(clause.words):
        found = [each for each in found if not (_LABELLED.fullmatch(each.span.text) or _asks(each.span, clause))]
    if re.search(r"\bdigits\b", slot.description):
        found = [each for each in found if re.search(r"\d", each.span.text) and not is_han(each.span.text)]
    if _is_numbered(slot):
        found = [each for each in found if any(not is_han(sign) for sign in each.span.text)]
    return found


def _is_month(candidate: Candidate) -> bool:
    return "month" in candidate.kinds and _MONTH.fullmatch(str(candidate.value)) is not None


_MONTH = re.compile(r"\d{4}-\d\d")

_FORMED = frozenset({"expression", "formula", "equation", "quoted"})
"""Kinds of what is calculated: beside one of these a number alone is not."""

_BARE_NUMBER = re.compile("[-+]?[\\d,.]+%?|[零〇一二两三四五六七八九十百千万亿]+")
"""What is no sum: there is nothing to calculate in `打0折 1299`."""

_SECRET = re.compile(r"\b(?:api|app|access|auth|secret) ?(?:key|token|secret)\b|\bappid\b")
"""Names of what lets a program in: no word that somebody says by the way is one."""

_SPOKEN = ("text", "title")
"""Kinds of slots that take what somebody says or writes: it may begin with any word."""


_PORTION = re.compile("[一两二三四五六七八九十半]+[个只条份张杯瓶袋碗盒箱包串盘套束斤件双](?!.?[级班])")
"""So many of something, which is no part of its name."""

_COUNTED_ONLY = re.compile("[一两二三四五六七八九十几\\d]+[个只条张杯瓶袋碗盒箱包串盘套束斤件双份]")
"""So many of something, without what."""

_HOUSE = re.compile("(?:股份)?有限(?:责任)?公司|医院|大学|学院|中学|小学|机场|火车站|酒店|宾馆|影城|研究院|事务所")
"""What the name of a house or a firm ends by."""


def _halves_a_house(candidate: Candidate, clause: Clause) -> bool:
    """It ends where the name of a house or a firm goes on: 华山 of 华山医院."""
    loose = _LOOSE.issuperset(kind.split()[0] for kind in candidate.kinds)
    end = candidate.span.end
    goes_on = _HOUSE.match(clause.text, end) or (clause.text[end - 1 : end + 2] in ("有限公", "股份有"))
    return loose and bool(goes_on) and is_han(candidate.span.text[-1:])


_SERVING = re.compile("(?:来|要|点|加|再来|给)[一两二三四五六七八九十半]?[杯份个瓶碗盒袋张]")
"""How one asks to be served: 来杯美式."""

_AT_THE_END = re.compile(
    rf"(?:现在|目前|当前|如今|这会儿|就|才|(?<=[{HAN}])[一两二三四五六七八九十\d]+[个只条份张杯瓶袋碗盒箱包串盘套束斤件双])$"
)
"""What ends no name: 茅台现在, 拿铁一杯."""


def _is_no_value(candidate: Candidate, view: View) -> bool:
    """Its first word leads to a value, counts it, points at one said before, or is half a word of a file's name:
    把大门, 一份紫菜汤, 这个文件, 稿.docx; or it ends in what ends no name: 茅台现在.
    """
    if candidate.first >= len(view.tokens) or not _LOOSE.issuperset(kind.split()[0] for kind in candidate.kinds):
        return False
    token = view.tokens[candidate.first]
    halved = view.halved[candidate.first] and "." in candidate.span.text
    said = candidate.span.text
    if halved or _PORTION.match(said) or _SERVING.match(said) or (_AT_THE_END.search(said) and len(said) > 2):
        return True
    if "的话" in said or (said[0] == "话" and candidate.first and view.lower[candidate.first - 1] == "的"):
        return True
    return token.kind == "known" and token.text in wordset("before values zh")


_LABELLED = re.compile(rf"[{HAN}]{{0,4}}(?:(?:号码?|单|电话|手机)[:：是为]?\s*[A-Za-z0-9-]{{3,}}|[尾单编卡户]号)")
"""A number with what it is: 尾号6688, of which 6688 is the value."""

_INTRODUCED = re.compile(rf"[{HAN}]{{1,4}}[是为叫][{HAN}].*")
"""A name with what it is: 抬头是星辰公司."""

_POINTING = re.compile("(?:[我你他她它]们?|咱们?|人家)?[那这](?:儿|里|边|个地方)?(?:现在)?|当地|本地")
"""What only points at a place: 他们那儿."""

_POINTS_BACK = re.compile(
    r"(?:(?:the|these|those|this|that|both|same|two|three|all|each|every|other|of|them) )*"
    r"(?:cit(?:y|ies)|towns?|places?|locations?|countr(?:y|ies)|regions?|there|two|both|each|same|other)"
)
"""What names a thing that was named before: `the two cities`."""

_EITHER_WAY = re.compile(rf"([{HAN}])不\1")


def _asks(span: Span, clause: Clause) -> bool:
    """It begins or ends in words that ask whether: 好不好 names nothing."""
    return any(
        match.start() <= span.start < match.end() or match.start() < span.end <= match.end()
        for match in _EITHER_WAY.finditer(clause.text)
    )


def _with_whole_places(found: list[Candidate], indexed: Indexed, clause: Clause) -> list[Candidate]:
    """Without the parts of `Riga, Latvia` where the tool takes a place as a whole, without the whole where it takes the
    parts.
    """
    wholes = [span for span in clause.spans if span.detail == PARTS]
    if not wholes:
        return found
    parts = {part for slot in indexed.slots for part in _PART_OF_PLACE.findall(spaced(slot.name).lower())}
    if len(parts) > 1:
        return [each for each in found if each.span.detail != PARTS]
    return [each for each in found if not any(_is_part(each.span, whole) for whole in wholes)]


def _is_part(span: Span, whole: Span) -> bool:
    return whole.start <= span.start and span.end <= whole.end and len(span.text) < len(whole.text)


_PART_OF_PLACE = re.compile(r"\b(?:city|town|state|country|region|province|county|street)\b")


def _is_numbered(slot: Slot) -> bool:
    """It takes digits, as a telephone or an account has: no Chinese word is one."""
    last = spaced(slot.name).lower().split()[-1:]
    told = f"{slot.name}{slot.description}"
    counts = slot.type == "integer" and bool(_COUNTING.intersection(last))
    return (bool(wordset("numbered").intersection(last)) and not counts) or any(
        is_han(word) and word in told for word in wordset("numbered")
    )


_COUNTING = frozenset({"number", "num", "no"})
"""Names of a number that is no name of anything, where an integer goes by it."""


def _has_a_moment(candidate: Candidate, view: View) -> bool:
    """A day or a time is in it: `April 10th with Dr. Davis` is no number of anything."""
    return any(
        candidate.first <= first and last <= candidate.last and any(span.kind in ("date", "time") for span in spans)
        for (first, last), spans in view.typed.items()
    )


def _is_denied(candidate: Candidate, view: View) -> bool:
    """`without stops` names nothing."""
    return candidate.first > 0 and view.lower[candidate.first - 1] in wordset("negations")


def _is_command(candidate: Candidate, commands: frozenset[str], view: View) -> bool:
    """Nothing but words of the tool, in lower case: they say what to do and not what with."""
    if not _LOOSE.issuperset(kind.split()[0] for kind in candidate.kinds):
        return False
    if candidate.span.text[:1].isupper() and not _opens_a_sentence(candidate, view):
        return False
    places = [at for at in range(candidate.first, candidate.last) if not view.functional[at]]
    return bool(places) and all(view.keys[at] & (commands | _VERBS) for at in places)


def _opens_a_sentence(candidate: Candidate, view: View) -> bool:
    """It begins where a sentence does, and no other word of it has a capital: the `Book` of `Book a room`."""
    more = (view.tokens[at].text[:1].isupper() for at in range(candidate.first + 1, candidate.last))
    return opens_sentence(view, candidate.first) and not any(more)


_VERBS = frozenset({"#search", "#find", "#query", "#list", "#create", "#update", "#send", "#calculate", "#convert"})
"""What is said of any tool."""

_LOOSE = frozenset({"run", "word", "phrase", "chunk", "content", "name"})


TYPED = frozenset(
    {
        "date",
        "month",
        "time",
        "datetime",
        "email",
        "url",
        "attachment",
        "expression",
        "sql",
        "command",
        "unit",
        "currency",
    }
)
"""Kinds of slots that take nothing but what can be seen to be such."""

NAMED = frozenset({"city", "country", "place", "person", "timezone", "language"})
"""Kinds of slots that take a name, which no number and no day is."""

_COUNTED = frozenset({"number", "date", "time", "datetime", "email", "url", "sql"})

FREE_TEXT = ("query", "text", "title", "string")
