"""A piece of the question as the value that a slot's schema wants: a date in the form that the description asks for, a
percentage as a fraction, a currency by its code.

Where more than one form is likely each is offered, by name; `ranker` has learned which.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from functools import cache, lru_cache

from actum.core.json import Json

from ..text.lexicon import fold, is_han, lexicon, shared_table, table
from ..text.places import region_named
from ..text.spans import Span
from ..text.words import spaced
from .slots import Slot, form_told, wants_weekday

_PERCENT = re.compile(r"\s*(?:[%％]|percent\b|per cent\b)")


def value_for(slot: Slot, span: Span) -> Json | None:
    """The span's value as the slot's schema wants it; None when it can not be that."""
    return next((value for value, _ in forms_of(slot, span, "")), None)


def forms_of(slot: Slot, span: Span, text: str) -> Iterator[tuple[Json, str]]:
    """The values that a span may mean for a slot, each with the name of its form, the usual one first.

    Args:
        slot: the slot.
        span: the span.
        text: the whole question: what stands around the span may change what it means.
    """
    match slot.type:
        case "integer" | "number":
            yield from _numbers(slot, span, text)
        case "string":
            yield from _strings(slot, span)
        case _:
            yield span.value, "plain"


def _numbers(slot: Slot, span: Span, text: str) -> Iterator[tuple[Json, str]]:
    value = span.value
    if span.kind == "date" and isinstance(value, str) and slot.name in _PARTS:
        yield _PARTS[slot.name](date.fromisoformat(value)), "part"
        return
    if isinstance(value, bool) or not isinstance(value, int | float):
        return
    back = _EARLIER.match(text, span.end) or _BACK.search(text, 0, span.start)
    if value > 0 and back and _NEGATIVE.search(slot.description):
        yield -value, "earlier"
        return
    converted = _converted(slot, span)
    if converted is not None and (slot.type == "number" or float(converted).is_integer()):
        yield (int(converted) if float(converted).is_integer() else converted), "converted"
        return
    if slot.type == "number":
        percent = _is_percent(span, text)
        if not percent or not _AS_A_SHARE.search(slot.description):
            yield value, "plain"
        if percent and not _IN_PERCENT.search(slot.description):
            yield round(value / 100, 12), "fraction"
    elif float(value).is_integer():
        yield int(value), "plain"


def _is_percent(span: Span, text: str) -> bool:
    before = text[: span.start].rstrip()
    return bool(_PERCENT.match(text, span.end)) or before.endswith("百分之") or span.text.endswith("成")


_IN_PERCENT = re.compile(
    r"\bin (?:percent|%)|\bas a percentage|\b(?<!\.)(\d+) for \1%|百分数|百分点|[(（]%[)）]", re.IGNORECASE
)
_AS_A_SHARE = re.compile(r"\bas a (?:decimal|fraction)|\bin decimal|\b0\.\d+ (?:for|means) \d", re.IGNORECASE)
"""What says that a number is wanted as so many of a hundred, and what says that it is wanted as a part of one."""

_NEGATIVE = re.compile(r"\bnegative\b|负数|为负", re.IGNORECASE)
_EARLIER = re.compile(r"\s*(?:天|周|个?星期|个?月|年)[之以]?前|\s*\w+\s+(?:ago|before|earlier|prior)\b", re.IGNORECASE)
_BACK = re.compile(r"(?:往前|向前|往回|回溯|倒)[倒推数退算]{0,3}$")
"""What makes a number negative for a slot that says it may be: 20天前, `3 days before`, 往前推20天."""


def _converted(slot: Slot, span: Span) -> float | None:
    """The number in the unit that the slot asks for, where it was said in another: two hours as 120 minutes."""
    said, wanted = span.detail.split(":")[-1], unit_of(f"{spaced(slot.name)} {slot.description}")
    units = _units()
    if not isinstance(span.value, int | float) or wanted is None or said not in units or said == wanted:
        return None
    (quantity, factor), (other, scale) = units[said], units[wanted]
    factor = _CALENDAR.get((said, wanted), factor / scale)
    return round(span.value * factor, 6) if quantity == other else None


_CALENDAR = {("month", "d"): 30.0, ("year", "d"): 365.0, ("year", "month"): 12.0, ("month", "year"): 1 / 12}
"""How many of one are said for another, which no exact length tells."""


@lru_cache(maxsize=4096)
def unit_of(told: str) -> str | None:
    """The unit that a name or description ends by or puts in brackets: `duration_minutes`, `时长（分钟）`."""
    match = _TOLD_UNIT.search(_SPEED.sub("m/s", told.lower()))
    said = match[0].removesuffix("数") if match else ""
    names = lexicon().names.get(said) or lexicon().names.get("个" + said, ())
    return next((name.key for name in names if name.kind == "unit"), None)


_SPEED = re.compile(r"(?<=velocity )ms\b|(?<=speed )ms\b")
"""The end of a name that can not have a stroke: `velocity_ms`."""

_TOLD_UNIT = re.compile(
    r"\b(?:(?:kilo)?met(?:er|re)s?(?: per |/)(?:second|hour)(?: squared|\^2|²)?"
    r"|(?:miles|feet)(?: per |/)(?:hour|second)|m/s(?:\^2|²|2\b)?|km/h(?:r|our)?\b|mph\b|light[ -]years\b"
    r"|(?:minutes|seconds|hours|days|weeks|months|years|secs?|mins)\b"
    r"|(?<!/)(?<!per )(?:kilometers|kilometres|km|meters|metres|(?<!nautical )miles|feet|inches|yards|kg|lbs|ounces"
    r"|milligrams|mg|tonnes|watts|joules|gallons|hectares|acres|kilograms|grams|pounds|liters|litres|milliliters|ml|cm|centimeters"
    r"|centimetres)\b(?! ?(?:per\b|/)))|分钟|小时|(?<!/)(?<!每)(?:公里|千米|厘米|公斤|千克|毫升)(?![/每])"
    r"|天数|[周月年]数|秒|(?<=[（(位为以按])[天周月年](?![度均初末份内化])"
)


def quantity_of(unit: str) -> str | None:
    """What a unit is one of: length, mass, ...; None of none."""
    return _units().get(unit, (None,))[0]


@cache
def _units() -> dict[str, tuple[str, float]]:
    rows = shared_table("units")
    return {row["unit"]: (row["quantity"], float(row["factor"])) for row in rows if float(row["offset"] or 0) == 0}


_PARTS = {"year": lambda day: day.year, "month": lambda day: day.month, "day": lambda day: day.day}


def _strings(slot: Slot, span: Span) -> Iterator[tuple[Json, str]]:
    if span.kind == "language" and ("code" in slot.description.lower() or "code" in slot.name):
        yield span.detail, "code"
    elif span.kind == "country" and _WANTS_CODE.search(slot.description) and span.detail in _codes():
        yield _codes()[span.detail], "code"
    elif span.kind == "currency" and slot.kind in ("id", *_NAMED):
        yield span.text, "plain"
    elif span.kind == "currency":
        yield span.detail.split(":")[0], "code"
        yield span.text, "verbatim"
    elif span.kind == "date" and isinstance(span.value, str) and wants_weekday(slot.description):
        named = _WEEKDAY.search(span.text)
        number = date.fromisoformat(span.value).weekday()
        by_date = f"星期{'一二三四五六日'[number]}" if is_han(span.text) else _WEEKDAYS[number]
        yield named[0] if named else by_date, "plain"
    elif span.kind == "date" and isinstance(span.value, str):
        timed = slot.kind == "datetime" and _APART.search(form_told(slot.description))
        dated = _momentous(slot, f"{span.value}T00:00:00") if timed else _dated(slot, span.value)
        yield (span.text if _is_inform_told(slot, span.text) else dated), "iso"
        yield span.text, "verbatim"
    elif span.kind == "month":
        yield span.value if slot.kind == "month" else span.text, "plain"
    elif span.kind == "datetime" and isinstance(span.value, str):
        yield _momentous(slot, span.value), "iso"
    elif span.kind == "expression" and span.value != span.text:
        yield span.value, "plain"
        yield span.text, "verbatim"
    elif span.kind == "time":
        yield span.value, "iso"
        yield span.text, "verbatim"
    elif isinstance(span.value, int | float):
        yield span.text, "plain"
    else:
        yield span.value, "plain"


_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_WEEKDAY = re.compile(rf"\b(?:{'|'.join(_WEEKDAYS)})\b|(?:周|星期|礼拜)[一二三四五六日天]", re.IGNORECASE)

_WANTS_CODE = re.compile(r"ISO ?3166|alpha-2|country codes?\b|two-letter|国家代码", re.IGNORECASE)


@cache
def _codes() -> dict[str, str]:
    return {row["country"]: row["code"] for row in table("country_codes")}


_NAMED = ("person", "place", "city", "country")


def _momentous(slot: Slot, iso: str) -> str:
    """A moment in the form that the description shows, else as ISO 8601."""
    told = f"{form_told(slot.description)} {slot.schema.get('format')}"
    day, _, time = iso.partition("T")
    apart = _APART.search(told)
    seconds = re.search(r"SS\b|:ss\b|:\d\d:\d\d" if apart else r"SS\b|:ss\b|:\d\d:\d\d|ISO|date-time", told)
    zone = "Z" if _UTC.search(told) and not apart else ""
    return f"{_dated(slot, day)}{' ' if apart else 'T'}{time if seconds else time[:-3]}{zone}"


_APART = re.compile(r"(?:YYYY|DD|MM)\s+HH:MM|\d{4}\s+\d\d:\d\d|\d{4}-\d\d-\d\d\s+\d\d:\d\d", re.IGNORECASE)
_UTC = re.compile(r"\d\d:\d\d(?::\d\d)?Z|SS['\"]?Z", re.IGNORECASE)


_FORMATS = (
    (re.compile(r"MM[/-]DD[/-]YYYY", re.IGNORECASE), "%m{0}%d{0}%Y"),
    (re.compile(r"DD[/-]MM[/-]YYYY", re.IGNORECASE), "%d{0}%m{0}%Y"),
    (re.compile(r"YYYY/MM/DD", re.IGNORECASE), "%Y/%m/%d"),
    (re.compile(r"\bYYYYMMDD\b", re.IGNORECASE), "%Y%m%d"),
)


def _dated(slot: Slot, iso: str) -> str:
    """A day in the form that the description shows, else as ISO 8601."""
    for pattern, form in _FORMATS:
        if match := pattern.search(form_told(slot.description)):
            return date.fromisoformat(iso).strftime(form.format(match[0][2]))
    return iso


def _is_inform_told(slot: Slot, said: str) -> bool:
    """Whether a day was said in the very form that the description shows: then it needs no reading."""
    wanted = _SIGNED_FORM.search(slot.description)
    return wanted is not None and re.fullmatch(rf"\d\d{wanted[1]}\d\d{wanted[1]}\d{{4}}", said) is not None


_SIGNED_FORM = re.compile(r"(?:MM|DD)([/-])(?:MM|DD)\1YYYY", re.IGNORECASE)


# Places ---------------------------------------------------------------------------------------------------------------

_CITY_AND_REGION = re.compile(
    r"(?<!e\.g\. )(?<!e\.g\., )(?<!such as )[Cc]ity(?:\s+name)?\s*(?:,|and|with|\(|/)\s*(?:its\s+|the\s+)?"
    r"(?:[Ss]tate|[Cc]ountry|[Rr]egion)\b(?!,? or\b)|城市[，、和]?(?:州|国家)",
)
_BESIDE = re.compile(r"(?=\b([A-Z][\w.'’-]*(?: [A-Z][\w.'’-]*)*), ([A-Z]{2}\b|[A-Z][a-z]+(?: [A-Z][a-z]+)*))")


@lru_cache(maxsize=4096)
def _wants_region(description: str) -> bool:
    """Whether it asks for a city and its region, or shows one so: `Austin, TX`, but not `New York, Paris`."""
    beside = _BESIDE.findall(description)
    return bool(_CITY_AND_REGION.search(description)) or any(_is_region_of(city, region) for city, region in beside)


def _is_region_of(city: str, region: str) -> bool:
    if len(region) == 2:
        return True
    own, named = _regions().get(city.casefold()), region_named(region)
    if own is not None:
        return own == (named[0] if named and named[0] else _SHORT.get(region, region))
    return named is not None or (_is_country(region) and not _is_country(city))


def _is_country(name: str) -> bool:
    return any(each.kind == "country" for each in lexicon().names.get(fold(name), ()))


_TAIL = re.compile(r",\s*(?:[A-Z]{2}|[A-Z][a-z]+)\.?$")


def located(slot: Slot, value: Json) -> Json:
    """A city with its region where the description wants both, and without where it wants the city alone."""
    if isinstance(value, str) and _STATE.search(spaced(slot.name).lower()) and _LETTERS.search(slot.description):
        region = region_named(value)
        return region[0] if region and region[0] else value
    if slot.kind not in ("city", "place") or not isinstance(value, str):
        return value
    value = _full_names().get(value, value)
    if _wants_region(slot.description):
        value = _abbreviated(value) if _SHOWN_REGION.search(slot.description) else value
        beside = _regions().get(value.casefold()) if "," not in value else None
        return f"{value}, {beside}" if beside else value
    alone = "city" in slot.name.lower() and not re.search("state|country|region", slot.description, re.IGNORECASE)
    return _TAIL.sub("", value) if alone else value


_STATE = re.compile(r"\b(?:state|province)\b")
_LETTERS = re.compile(r"abbreviat|two-letter|2-letter|['\"“‘][A-Z]{2}['\"”’]", re.IGNORECASE)


@cache
def _full_names() -> dict[str, str]:
    """Cities that go by letters or a nickname: `LA`."""
    return {row["short"]: row["name"] for row in table("short_places")}


def _abbreviated(place: str) -> str:
    """`Austin, Texas` and `Austin Texas` as `Austin, TX`: the states of the USA by their letters."""
    for city, state in (place.rsplit(sign, 1) for sign in (", ", " ") if sign in place):
        region = region_named(state)
        if region and region[0] and region[1] == "United States" and city.casefold() in _regions():
            return f"{city.rstrip(',')}, {region[0]}"
    return place


_SHOWN_REGION = re.compile(r"[A-Za-z], ?[A-Z]{2}\b")


@cache
def _regions() -> dict[str, str]:
    """The region of a city, by its name: the state in the USA, else the country, as it is written beside one."""
    found = {row["name"].casefold(): _SHORT.get(row["country"], row["country"]) for row in shared_table("cities")}
    return found | {city.casefold(): row["region"] for row in table("regions") for city in row["cities"].split("|")}


def country_of(city: str) -> str | None:
    """The country of a city, by one of its names in Latin letters."""
    name = next((each.key for each in lexicon().names.get(fold(city), ()) if each.kind == "city"), city)
    return _countries().get(name)


@cache
def _countries() -> dict[str, str]:
    return {row["name"]: row["country"] for row in shared_table("cities")}


_SHORT = {"United Kingdom": "UK", "United Arab Emirates": "UAE", "United States": "USA"}
