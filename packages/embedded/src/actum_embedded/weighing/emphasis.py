"""What is said so plainly that it counts beside what was learned: a piece in quotes, a list in brackets, and either
right after the name of the slot: `the title should be 'Dune'`.

Made of signs and of the words of the tool, the same for any tool. What such a piece is worth is added to its score in
`ranker`, where the learned weights are summed.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NamedTuple

from ..text.lexicon import HAN, is_han, lexicon, table, wordset
from ..text.spans import PARTS
from ..text.words import spaced
from ..tools.candidates import Candidate, View, opens_sentence
from ..tools.slots import wants_weekday
from ..tools.values import quantity_of
from .features import Aim

QUOTED, BRACKETED, ANNOUNCED, ANOTHERS = 2.5, 6.0, 3.0, -3.0
REACH = 6
"""So many words before a quote may name what it is."""


def emphasis(aim: Aim, view: View, candidate: Candidate) -> float:
    """How much more speaks for a piece than was learned; less than 0 where another slot's name stands before it."""
    around = (*view.lower[candidate.first - 1 : candidate.first], *view.lower[candidate.last : candidate.last + 1])
    worth = BRACKETED if candidate.listed > 1 and around == ("[", "]") else 0.0
    if candidate.listed == 2 and _TWO_ENDS.search(f"{aim.slot.name} {aim.slot.description}".lower()):
        worth += BRACKETED
    if "month name" in candidate.kinds:
        return worth + BRACKETED
    if aim.slot.type != "string":
        return worth + _counted(aim, view, candidate)
    by_kind = _OF_KINDS.get(aim.slot.kind)
    return worth + (by_kind or _of_words)(aim, view, candidate)


def _of_expression(aim: Aim, view: View, candidate: Candidate) -> float:
    """How much more speaks for what shall be calculated: it is a sum by its signs, or it stands in quotes."""
    quoted = "quoted" in candidate.kinds
    return QUOTED + ANNOUNCED if quoted else ANNOUNCED if "expression" in candidate.kinds else 0.0


def _of_unit(aim: Aim, view: View, candidate: Candidate) -> float:
    return COUNTED_IN if _is_only_unit(view, candidate) else 0.0


def _of_currency(aim: Aim, view: View, candidate: Candidate) -> float:
    """How much more speaks for a currency that stands with an amount, as what it is turned from: the € of `€20 in
    dollars`.
    """
    with_amount = _is_number(view, candidate.last) or _is_number(view, candidate.first - 1)
    if not with_amount or "currency" not in candidate.kinds:
        return _of_words(aim, view, candidate)
    roles = aim.slot.roles
    return _of_words(aim, view, candidate) + COUNTED * (("source" in roles) - ("target" in roles))


def _of_words(aim: Aim, view: View, candidate: Candidate) -> float:
    """How much more speaks for a name, a text or whatever else has no form of its own."""
    worth = ANNOUNCED * _is_before_its_label(aim, view, candidate)
    if not _OWNERS.isdisjoint(view.lower[candidate.first : candidate.first + 1]) and aim.slot.kind not in _SAYINGS:
        worth -= COUNTED_IN
    worth += _of_text(aim, view, candidate)
    worth -= ANNOUNCED * _is_cut_from_a_name(aim, view, candidate)
    worth -= COUNTED_IN * _ends_in_what_is_looked_for(aim, view, candidate)
    worth += _of_name(aim, view, candidate) if aim.slot.kind in _NAMES else 0.0
    if candidate.last - candidate.first > 1 and _ends_by_its_name(aim, view, candidate):
        worth += BY_ITS_NAME
    worth += ANNOUNCED * _is_put_after_a_name(aim, view, candidate)
    if _DECADE.fullmatch(candidate.span.text) and _OF_DECADES.search(f"{aim.slot.name} {aim.slot.description}".lower()):
        worth += BRACKETED
    if "date" in candidate.kinds and wants_weekday(aim.slot.description):
        worth += BRACKETED
    if "email" in candidate.kinds and _MAIL.search(aim.slot.description):
        worth += ANNOUNCED
    if _is_tail(aim, view, candidate):
        worth += BRACKETED
    if _DIALLED.fullmatch(candidate.span.text) and _PHONE.search(f"{spaced(aim.slot.name)} {aim.slot.description}"):
        worth += ANNOUNCED
    if "name" in candidate.kinds:
        return worth + _introduced(aim, view, candidate)
    if "quoted" not in candidate.kinds:
        return worth
    return worth + QUOTED + _announced(aim, view, candidate.first)


def _of_moment(aim: Aim, view: View, candidate: Candidate) -> float:
    """How much more speaks for a day or a time: it is the only one there is for it, or what stands beside it tells
    whether it is the latest or the earliest: 四点前, `after 10 a.m.`
    """
    kind = aim.slot.kind
    said = {place for place, spans in view.typed.items() if any(span.kind == kind for span in spans)}
    worth = COUNTED_IN if aim.alone and len(said) == 1 and kind == "date" and kind in candidate.kinds else 0.0
    wanted = _BY_OR_AFTER.search(f"{spaced(aim.slot.name)} {aim.slot.description}".lower())
    if wanted is None or kind not in candidate.kinds:
        return worth
    before = view.lower[max(0, candidate.first - 2) : candidate.first]
    after = "".join(view.lower[candidate.last : candidate.last + 2])
    latest = _BEFORE.match(after) is not None or not _BY.isdisjoint(before)
    earliest = _AFTER.match(after) is not None or not _SINCE.isdisjoint(before)
    if latest == earliest:
        return worth
    return worth + (COUNTED if (wanted["by"] is not None) == latest else -COUNTED)


_OF_KINDS = {
    "expression": _of_expression,
    "unit": _of_unit,
    "currency": _of_currency,
    "date": _of_moment,
    "time": _of_moment,
}

_BY_OR_AFTER = re.compile(
    r"(?P<by>\bby\b|\bbefore\b|\blatest\b|\bdeadline\b|\bno later than\b|最晚|截止|之前|前到)"
    r"|\bafter\b|\bearliest\b|\bnot before\b|\bno earlier than\b|最早|之后|以后"
)
_BEFORE, _AFTER = re.compile("[之以]?前"), re.compile("[之以]?后")
_BY, _SINCE = frozenset({"by", "before", "until"}), frozenset({"after", "since", "from"})


_DECADE = re.compile(r"(?:1[5-9]|20)?\d0['’]?s")
_OF_DECADES = re.compile(r"\bdecades?\b|\beras?\b")


def _is_cut_from_a_name(aim: Aim, view: View, candidate: Candidate) -> bool:
    """It is what the name of a thing ends in, and no place for a slot that takes one: the Gaugamela of `the Battle of
    Gaugamela`.
    """
    head = candidate.first - 2
    if head < 1 or view.lower[head + 1] != "of" or aim.slot.kind in _PLACES or not candidate.span.text[:1].isupper():
        return False
    word = view.tokens[head]
    return word.kind == "word" and word.text.istitle() and not opens_sentence(view, head)


def _ends_in_what_is_looked_for(aim: Aim, view: View, candidate: Candidate) -> bool:
    """Its last word is what the tool is for: the `films` of `science fiction films`, beside `genre`."""
    last = candidate.last - 1
    if aim.slot.kind != "string" or aim.slot.many or candidate.first >= last or last >= len(view.tokens):
        return False
    word = view.tokens[last].text
    return word.isascii() and word.islower() and not view.keys[last].isdisjoint(aim.tool - aim.shared)


_PLACES = frozenset({"city", "country", "place", "timezone", "date", "month"})


def _is_before_its_label(aim: Aim, view: View, candidate: Candidate) -> bool:
    """A Chinese word right behind a name in Latin letters or digits says what it is: 302会议室, photos文件夹."""
    at = candidate.last
    if at >= len(view.tokens) or view.tokens[at].kind != "known" or is_han(candidate.span.text):
        return False
    word = view.tokens[at].text
    if aim.slot.kind == "folder":
        return word in ("文件夹", "目录")
    return aim.slot.kind in ("id", "string", "place") and len(word) > 1 and word in aim.called


def _of_name(aim: Aim, view: View, candidate: Candidate) -> float:
    """How much more speaks for a piece that shall be a name, by how it is written and what stands before it."""
    worth = MORE_THAN_A_NAME if _has_more_than_a_name(view, candidate) else 0.0
    worth += SERVED if aim.slot.kind == "person" and _is_served(view, candidate) else 0.0
    return worth + (BRACKETED if _is_written_out(aim, view, candidate) else 0.0)


def _of_text(aim: Aim, view: View, candidate: Candidate) -> float:
    """How much more speaks for a piece that shall be a text or a file, by what stands before it and at its ends."""
    if aim.slot.kind == "file":
        commanded = any(view.keys[at] & aim.commands for at in range(candidate.first, candidate.last))
        worth = MORE_THAN_A_NAME if commanded and _is_file(candidate) else 0.0
        return worth + (QUOTED if _is_path(candidate) and is_han("".join(view.lower)) else 0.0)
    worth = 0.0
    if aim.slot.kind == "query" and candidate.first and _follows_a_year(view, candidate.first):
        worth -= ANNOUNCED
    if aim.slot.kind in ("text", "title") and aim.slot.required and _is_dictated(view, candidate):
        worth += BRACKETED if _is_nothing_but_text(aim, view, candidate) else ANNOUNCED
    if aim.slot.kind == "text" and _is_speech(view, candidate):
        worth += ANNOUNCED
    if aim.slot.kind == "text" and aim.others & _LANGUAGE and _ends_in_a_language(view, candidate):
        worth -= BRACKETED
    return worth


def _follows_a_year(view: View, at: int) -> bool:
    """The year before it is a part of what is looked for: 2021年图灵奖得主."""
    return view.lower[at - 1] == "年" and at > 1 and view.tokens[at - 2].kind == "number"


_LANGUAGE = frozenset({"languag", "#language"})


def _is_file(candidate: Candidate) -> bool:
    return "file" in candidate.kinds or candidate.span.text[-5:].count(".") == 1


def _is_path(candidate: Candidate) -> bool:
    """It is a file's name by its signs, in quotes or not."""
    return (
        "file" in candidate.kinds
        or re.fullmatch(r"[^，。；]*(?:/[^，。；]*|\.[A-Za-z]\w{0,7})", str(candidate.value)) is not None
    )


def _is_put_after_a_name(aim: Aim, view: View, candidate: Candidate) -> bool:
    """It is all that stands between a sign and a colon behind the slot's name, or the tool's where it takes free text:
    `new task: fix the login page, due Friday`.
    """
    first, last = candidate.first, candidate.last
    if first < 2 or view.lower[first - 1] not in (":", "："):
        return False
    free = aim.slot.kind in ("text", "title") and aim.slot.required
    named = view.keys[first - 2] & (aim.own | aim.tool if free else aim.own)
    if not named or (last < len(view.tokens) and view.tokens[last].text not in _PARTING):
        return False
    rest = any(
        place[0] >= last and _VALUES.intersection(span.kind for span in spans) for place, spans in view.typed.items()
    )
    return rest or not free or last >= len(view.tokens) - 1


_PARTING = frozenset(",;.?!，；。？！\n")
_VALUES = frozenset({"number", "date", "time", "code", "email", "url", "quoted", "city", "currency", "name"})
"""Kinds of pieces that are rather other slots' values than a part of a text."""

_MAIL = re.compile(r"e-?mail|邮箱|邮件", re.IGNORECASE)


def _is_only_unit(view: View, candidate: Candidate) -> bool:
    """It is the one unit that is said, right behind a number: the inches of `a radius of 4 inches`."""
    units = {place for place, spans in view.typed.items() if any(span.kind == "unit" for span in spans)}
    counting = any(last == candidate.first for _, last in view.typed)
    return counting and units == {(candidate.first, candidate.last)}


def _is_tail(aim: Aim, view: View, candidate: Candidate) -> bool:
    """It is the end of a number, and the slot takes that: `card_last_four` of 尾号6688."""
    wanted = _LAST_FOUR.search(f"{spaced(aim.slot.name)} {aim.slot.description}".lower())
    return wanted is not None and candidate.first > 0 and view.tokens[candidate.first - 1].text == "尾号"


_LAST_FOUR = re.compile(r"\blast (?:four|4)\b|尾号|后四位")
_PHONE = re.compile(
    r"\b(?:tele)?phone\b|\bmobile\b|\bcontact (?:info|number|details)|电话|手机|联系方式", re.IGNORECASE
)
_OWNERS, _SAYINGS = frozenset({"my", "our"}), frozenset({"text", "title", "query"})
"""Whose a thing is, and the kinds of slots that take it as it was said."""

_DIALLED = re.compile(r"\+?\d[\d -]{5,17}\d")
_TWO_ENDS = re.compile(r"interval|\brange\b|\b(?:limit|bound|boundarie)s\b|区间|范围")
"""What takes the two ends of a range."""


def _ends_by_its_name(aim: Aim, view: View, candidate: Candidate) -> bool:
    """Its last word only says what it is: `London time zone` for a time zone."""
    last = candidate.last - 1
    words = tuple(view.tokens[at].text.lower() for at in range(candidate.first, candidate.last))
    named = bool(view.keys[last] & aim.shared) and not (
        words[-1] == "room" and words in lexicon().phrases
    )  # a living room is called so
    return not candidate.kinds and named and view.tokens[last].text.islower()


def _has_more_than_a_name(view: View, candidate: Candidate) -> bool:
    """A name with a word in lower case at an end: `upcoming Eminem`, `Chicago area`."""
    said = [view.tokens[at].text for at in range(candidate.first, candidate.last)]
    edges = [at for at in (candidate.first, candidate.last - 1) if view.tokens[at].text.isalpha()]
    small = any(view.tokens[at].text.islower() and not view.functional[at] for at in edges)
    return len(said) > 1 and small and any(each[0].isupper() for each in said)


_NAMES = frozenset({"person", "city", "place", "country", "timezone", "id", "string", "title"})
BY_ITS_NAME, MORE_THAN_A_NAME = -2.5, -2.5


def _is_written_out(aim: Aim, view: View, candidate: Candidate) -> bool:
    """It is a whole address with its street and number, or the full name of a company."""
    said = candidate.span.text
    if aim.slot.kind == "place" and candidate.span.detail == PARTS and _HOUSE_NUMBER.match(said):
        return True
    whole = _ADDRESS.fullmatch(said) if aim.slot.kind == "place" else _COMPANY.fullmatch(said)
    at = candidate.first
    if not whole or at == 0 or view.functional[at - 1] or view.tokens[at - 1].kind == "sign":
        return bool(whole)
    return len(view.lower[at - 1]) > 1 and view.lower[at - 1] in aim.called


_HOUSE_NUMBER = re.compile(r"\d+[A-Za-z]? \D")
_ADDRESS = re.compile(
    rf"(?![{HAN}]{{0,6}}[是送寄住])[{HAN}]{{2,20}}(?:路|街|大道|巷|弄)\d+号(?:[{HAN}]?\d*[A-Z]?[{HAN}\d]{{0,4}}[座楼室层院])?"
)
_COMPANY = re.compile(rf"[{HAN}]{{4,20}}(?:公司|集团|事务所|研究院)")


def _is_speech(view: View, candidate: Candidate) -> bool:
    """It is all that stands after 说, `saying` or `that`, or after whom something is told: 告诉小美我到了."""
    first = candidate.first
    if first < 2 or any(token.kind != "sign" for token in view.tokens[candidate.last :]):
        return False
    if view.lower[first - 1] in {"说", "saying", "that"}:
        return True
    before = "".join(view.lower[max(0, first - SAID_TO) : first])
    addressed = _TOLD_TO.search(before) is not None and view.lower[first] in wordset("beginning a message zh")
    return addressed or _SAID_SO.search(before) is not None


_TOLD_TO = re.compile(rf"(?:告诉|通知|转告)[{HAN}]{{1,4}}$")
_SAID_SO = re.compile("说一?下?声?[，,:：]$")

SAID_TO = 8


def _is_served(view: View, candidate: Candidate) -> bool:
    """It is somebody's full name after a word for whom something is done: 给王小明."""
    said = candidate.span.text
    named = len(said) == 3 and said[0] in wordset("surnames") and not candidate.kinds
    return named and candidate.first > 0 and view.lower[candidate.first - 1] in {"给", "帮", "替", "为"}


SERVED = 2.0


def _ends_in_a_language(view: View, candidate: Candidate) -> bool:
    """`good morning in French`: the language is another slot's."""
    spans = view.typed.get((candidate.last - 1, candidate.last), ())
    before = view.lower[candidate.last - 2 : candidate.last - 1]
    return any(span.kind == "language" for span in spans) and bool(set(before) & {"in", "into", "to"})


def _is_dictated(view: View, candidate: Candidate) -> bool:
    """It is all that stands after a command and a sign: 记下来，周三交电费."""
    sure = {"content 0.8", "content 0.9"}.intersection(candidate.kinds)
    return bool(sure) and candidate.first > 0 and view.tokens[candidate.first - 1].text in ",，:："


def _is_nothing_but_text(aim: Aim, view: View, candidate: Candidate) -> bool:
    """A colon stands before it and nothing in it looks like the value of another slot; a text may tell of days."""
    moments = _MOMENTS if aim.slot.kind == "text" else frozenset()
    inside = {
        span.kind
        for (first, last), spans in view.typed.items()
        if candidate.first <= first and last <= candidate.last
        for span in spans
    }
    colon = view.tokens[candidate.first - 1].text in ":："
    return colon and not inside & (_VALUES - moments)


_MOMENTS = frozenset({"date", "time", "city", "name"})


def _counted(aim: Aim, view: View, candidate: Candidate) -> float:
    """Whether what stands around a number tells that it counts what the slot wants, or what another would: `3 copies`,
    the upper end of a range.
    """
    if "number" not in candidate.kinds:
        return 0.0
    if candidate.first and _LABEL.search(view.tokens[candidate.first - 1].text):
        return -COUNTED
    wanted, bound = _wanted_by(aim.slot.name, aim.slot.description)
    worth = _measured(aim, view, candidate)
    worth -= COUNTED * (_is_year_for_another(aim, view, candidate) or _counts_what_is_told_of(aim, view, candidate))
    if bound and (end := _end_of_range(view, candidate)):
        return BRACKETED if bound == end else -BRACKETED
    if bound and (end := _said_to_be_the(view, candidate)):
        return worth + (COUNTED if bound == end else -COUNTED)
    if not wanted:
        return worth
    following = "".join(_said_on(view, candidate.last))
    rows = [row for row in _measures() if row.counted.match(following)]
    if wanted.intersection(rows):
        return COUNTED
    own = view.keys[candidate.last] & (aim.shared | aim.told) if candidate.last < len(view.keys) else frozenset()
    return worth if not rows or own else -COUNTED


def _counts_what_is_told_of(aim: Aim, view: View, candidate: Candidate) -> bool:
    """It counts something that the tool knows nothing of, and the slot tells how many results there shall be: the 300
    of `news about 300 workers`.
    """
    if (
        aim.slot.required
        or view.tongue
        or not _RESULTS.search(f"{spaced(aim.slot.name)} {aim.slot.description}".lower())
    ):
        return False
    after = range(candidate.last, min(candidate.last + 3, len(view.tokens)))
    solid = [at for at in after if not view.functional[at] and view.tokens[at].kind in ("word", "known", "chunk")]
    own = aim.tool | aim.does | aim.told | aim.shared
    return bool(solid) and solid[0] == candidate.last and not any(view.keys[at] & own for at in solid)


_RESULTS = re.compile(
    r"^(?:limit|max results|top n|results?)\b|\b(?:results|headlines|articles|entries|records|matches|hits)\b"
)


def _is_year_for_another(aim: Aim, view: View, candidate: Candidate) -> bool:
    """It is said as a year, `in 2018`, and the slot takes no year."""
    said = candidate.span.text
    if not _YEAR.fullmatch(said) or not candidate.first or view.lower[candidate.first - 1] not in _IN_YEARS:
        return False
    name = spaced(aim.slot.name).lower()
    return _OF_MONEY.search(name) is not None or _OF_TIME.search(f"{name} {aim.slot.description}".lower()) is None


_YEAR = re.compile(r"(?:19|20)\d\d")
_IN_YEARS = frozenset({"in", "since", "until", "year", "during"})
_OF_MONEY = re.compile(r"\b(?:revenue|income|profit|sales|price|cost|amount|budget|salary|value|population)$")
_OF_TIME = re.compile(r"\b(?:year|yr|date|season|when|since|from|until|to|start|end|period|time|decade|vintage)\b|年")


def _measured(aim: Aim, view: View, candidate: Candidate) -> float:
    """How much more speaks for a number by the unit that stands with it, where the slot asks for one; a share of a
    hundred has another.
    """
    if aim.unit and not _PERCENT.isdisjoint(view.lower[candidate.last : candidate.last + 1]):
        return -COUNTED
    quantity, _, unit = candidate.span.detail.partition(":")
    if quantity == "term":
        return BRACKETED if unit == _term_of(aim) else -BRACKETED
    wanted = quantity_of(aim.unit)
    if not unit or wanted is None or not quantity:
        return 0.0
    return COUNTED_IN if quantity == wanted else -COUNTED


_PERCENT = frozenset({"%", "％", "percent"})


def _term_of(aim: Aim) -> str:
    """Which term of a polynomial a slot takes the coefficient of, where all that must be said are such."""
    count, place = aim.alike
    named = len(aim.slot.name) == 1 or _COEFFICIENT.search(f"{aim.slot.name} {aim.slot.description}".lower())
    return f"{count - 1 - place}/{count - 1}" if named and place >= 0 else ""


_COEFFICIENT = re.compile(r"coef|constant|系数|常数")

_BOUND = re.compile(r"(?P<low>\bmin|_min|lowest|lower|最低|最小)|\bmax|_max|highest|upper|最高|最大")


def _end_of_range(view: View, candidate: Candidate) -> int:
    """-1 for the lower end of a range of two numbers, 1 for its upper end, 0 for any other number."""
    first, last = candidate.first, candidate.last
    if view.lower[last : last + 1] and view.lower[last] in _REACHING:
        return -int(_is_number(view, last + 1 + _is_money(view, last + 1)))
    first -= _is_money(view, first - 1)
    return int(first > 1 and view.lower[first - 1] in _REACHING and _is_number(view, first - 2))


def _is_money(view: View, at: int) -> bool:
    return 0 <= at < len(view.lower) and view.lower[at] in "$€£¥￥"


def _said_to_be_the(view: View, candidate: Candidate) -> int:
    """-1 for what is said to be the least, 1 for the most, 0 for any other number: 500以内, `at least 3`."""
    first, last = candidate.first, candidate.last
    before = " ".join(view.lower[max(0, first - 5) : first])
    after = "".join(view.lower[last : last + 4])
    if _AT_MOST.search(before) or _AND_LESS.match(after):
        return 1
    return -1 if _AT_LEAST.search(before) or _AND_MORE.match(after) else 0


_AT_MOST = re.compile(
    r"\b(?:under|below|at most|up to|(?<!no )less than|no more than|cheaper than|maximum of)(?: [$€£¥])?$"
    r"|(?:不 ?超 ?过|低 ?于|少 ?于|最 ?多|顶 ?多|至 ?多)$"
)
_AT_LEAST = re.compile(
    r"\b(?:over|above|at least|no less than|(?<!no )more than|minimum of)(?: [$€£¥])?$"
    r"|(?:不 ?低 ?于|高 ?于|超 ?过|至 ?少|最 ?少)$"
)
_AND_LESS = re.compile(r"(?:块钱?|元|平米?|[万个])?(?:以内|以下|之内|封顶)")
_AND_MORE = re.compile(r"(?:块钱?|元|平米?|[万个])?(?:以上|起)")


def _is_number(view: View, at: int) -> bool:
    return any(
        start <= at < last and any(span.kind == "number" for span in spans)
        for (start, last), spans in view.typed.items()
    )


_REACHING = frozenset({"到", "至", "-", "–", "~", "～", "to"})

_LABEL = re.compile("[尾单编卡户]号$")
"""What stands before a number that counts nothing."""


def _said_on(view: View, at: int) -> list[str]:
    """The next words, as they were said."""
    return [f"{'' if is_han(token.text) else ' '}{token.text.lower()}" for token in view.tokens[at : at + 2]]


class _Measure(NamedTuple):
    """What stands after a number, and the slots whose numbers count that."""

    counted: re.Pattern[str]
    slot: re.Pattern[str]


@cache
def _measures() -> tuple[_Measure, ...]:
    return tuple(
        _Measure(re.compile(rf"\s*(?:{row['counted']})"), re.compile(row["slot"])) for row in table("measures")
    )


@lru_cache(maxsize=4096)
def _wanted_by(name: str, description: str) -> tuple[frozenset[_Measure], int]:
    """What a slot counts, by its name and description; and -1 where it is the least of something, 1 for the most."""
    told = f"{name} {description}".replace("_", " ").lower()
    bound = _BOUND.search(name.lower())
    end = 0 if bound is None else -1 if bound["low"] else 1
    return frozenset(row for row in _measures() if row.slot.search(told)), end


def _announced(aim: Aim, view: View, first: int) -> float:
    """Whether the nearest name of a slot before a quote is this one's."""
    for at in range(first - 1, max(-1, first - 1 - REACH), -1):
        if view.lower[at] in _QUOTES or view.lower[at] in ".?!;":
            break
        if view.keys[at] & aim.own or _names_all(aim, view, at):
            return ANNOUNCED
        if view.keys[at] & aim.others and not view.keys[at] & aim.shared:
            return ANOTHERS
    return 0.0


def _names_all(aim: Aim, view: View, at: int) -> bool:
    """All words of the slot's name end here, and none of another's stands before them: `title` beside `meta title`."""
    first = at + 1 - len(aim.shared)
    if not aim.shared or first < 0 or not view.keys[at] & aim.shared:
        return False
    said = frozenset[str]().union(*view.keys[first : at + 1])
    return aim.shared <= said and not (first and view.keys[first - 1] & aim.others)


def _introduced(aim: Aim, view: View, candidate: Candidate) -> float:
    """Whether the words around a name tell whose it is: `starring` before that of an actor."""
    rows = _rows_of(aim.slot.name)
    if not rows:
        return 0.0
    before = set(view.lower[max(0, candidate.first - NEAR) : candidate.first])
    after = " ".join(view.lower[candidate.last : candidate.last + 4])
    told = {row for row in _people() if before & row.before or any(after.startswith(each) for each in row.after)}
    return INTRODUCED if told.intersection(rows) else -INTRODUCED if told else 0.0


@lru_cache(maxsize=4096)
def _rows_of(name: str) -> tuple[_Person, ...]:
    """The rows that a slot belongs to, by its name."""
    return tuple(row for row in _people() if row.slot.search(name.replace("_", " ").lower()))


class _Person(NamedTuple):
    """Which slots a person goes into, and what is said before and after the name."""

    slot: re.Pattern[str]
    before: frozenset[str]
    after: tuple[str, ...]


@cache
def _people() -> tuple[_Person, ...]:
    return tuple(
        _Person(
            re.compile(rf"\b(?:{row['slot']})\b"), frozenset(row["before"].split("|")), tuple(row["after"].split("|"))
        )
        for row in table("announcing")
    )


INTRODUCED, NEAR, COUNTED, COUNTED_IN = 3.5, 2, 3.5, 1.5
_QUOTES = frozenset("'\"“”‘’`")
