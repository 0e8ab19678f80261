"""Values of a result as text: numbers with their units, fields with their names, rows as a table."""

from __future__ import annotations

import re
from collections.abc import Sequence

from actum.core.json import Json

from ..text.lexicon import is_han
from .voice import Voice, unit_of

TEXT_MAX = 1_500
ITEMS_MAX = 12
CELL_MAX = 48


def field(name: str, value: Json, voice: Voice) -> str:
    """A field in a sentence: `battery 78%`, `首都巴黎`."""
    label = voice.label(without_unit(name))
    if isinstance(value, dict):
        return f"{label} ({voice.say('list').join(field(key, each, voice) for key, each in value.items())})"
    said = cell(value, voice, name)
    gap = "" if is_han(label[-1:]) and is_han(said[:1]) else " "
    return f"{label}{gap}{said}"


def cell(value: Json, voice: Voice, name: str = "") -> str:
    """A value as text; `name` is that of its field, for a unit."""
    match value:
        case None:
            return "–"
        case bool():
            return voice.say("yes" if value else "no")
        case int() | float():
            unit = _unit(name)
            plain = re.search(r"(?:^|_)(?:year|id|code|number|phone|zip|port)$", name.lower())
            number = str(value) if plain else voice.number(value)
            return f"{number} {unit}".rstrip() if unit != "%" else f"{number}%"
        case str():
            said = voice.value(value)
            return said if len(said) <= TEXT_MAX else said[:TEXT_MAX].rstrip() + " …"
        case list():
            return voice.say("list").join(cell(item, voice) for item in value[:ITEMS_MAX])
        case _:
            return voice.say("list").join(field(key, each, voice) for key, each in value.items())


def _unit(name: str) -> str:
    """The unit that a field's name ends with: `temperature_c`, `area_km2`, `bytes`."""
    last = re.split(r"[_\s]|(?<=[a-z])(?=[A-Z])", name)[-1].lower()
    known = unit_of(last)
    return known if last != name.lower() or last == "bytes" else ""


def without_unit(name: str) -> str:
    """A field's name without the unit at its end."""
    if not _unit(name) or name == "bytes":
        return name
    return re.sub(r"_?[^_]+$", "", name) if "_" in name else name


def capital(text: str, voice: Voice) -> str:
    """With a capital, where the language has them."""
    return text if voice.chinese else text[:1].upper() + text[1:]


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table in Markdown."""
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return lines + ["| " + " | ".join(_on_one_line(each) for each in row) + " |" for row in rows]


def _on_one_line(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def bullet(item: Json, voice: Voice) -> str:
    """An item of a list on one line: its title, what else it has, its link."""
    if not isinstance(item, dict):
        return cell(item, voice)
    said = [(name, cell(value, voice, name)) for name, value in item.items() if value not in (None, "", [], {})]
    title = next((text for name, text in said if name.lower() in ("title", "name", "headline", "subject")), None)
    link = next((text for name, text in said if name.lower() in ("url", "link", "href")), None)
    rest = [
        text if len(text) > CELL_MAX else f"{voice.label(name)} {text}"
        for name, text in said
        if text not in (title, link)
    ]
    line = voice.say("colon").join(filter(None, [title, voice.say("list").join(rest)]))
    return f"{line} ({link})" if link else line
