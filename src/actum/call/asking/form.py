"""A form that a running tool asks a person to fill in: its fields, and what a person has typed for them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...core.errors import UsageError, tell_problem
from ...core.json import Json, JsonObject, parse_or_text
from ...core.language.sentence import Sentence
from ...core.visible import on_one_line, visible
from ...schema.schema import compile_schema

_KINDS = {"boolean": "yes or no", "integer": "a whole number", "number": "a number"}
_BOOLEANS = {"y": True, "yes": True, "true": True, "n": False, "no": False, "false": False}


def fields_of(schema: JsonObject) -> dict[str, JsonObject]:
    """The fields of a form by their names."""
    found = schema.get("properties")
    return {name: field for name, field in found.items() if isinstance(field, dict)} if isinstance(found, dict) else {}


def read_words(ask_id: str, schema: JsonObject, words: Sequence[str]) -> JsonObject:
    """The fields of a form out of words `NAME=VALUE`. Of a form with one field, the value alone will do.

    Args:
        ask_id: what the form answers.
        schema: the form.
        words: what a person has typed.

    Raises:
        UsageError: it is not told which field a word is for, or a value does not fit its field.

    >>> read_words("ask_1", {"properties": {"age": {"type": "integer"}}}, ["30"])
    {'age': 30}
    """
    pairs, fields = [word.partition("=") for word in words], fields_of(schema)
    given: Mapping[str, str] = {name: value for name, _, value in pairs}
    if len(fields) == 1 and pairs[0][0] not in fields:
        given = dict.fromkeys(fields, " ".join(words))
    elif not all(sign for _, sign, _ in pairs):
        raise UsageError("{item} waits for NAME=VALUE of its form: `actum approvals show` lists them", item=ask_id)
    return {name: read_field(name, fields.get(name, {}), text) for name, text in given.items()}


def read_field(name: str, field: JsonObject, text: str) -> Json:
    """A value for a field out of what a person has typed.

    Raises:
        UsageError: it does not fit; the message says what would.
    """
    value: Json = text
    match field.get("type"):
        case "boolean":
            value = _BOOLEANS.get(text.lower(), text)
        case "integer" | "number":
            value = parse_or_text(text)
        case "array":
            items = field.get("items")
            value = [_choice(items if isinstance(items, dict) else {}, each.strip()) for each in text.split(",")]
        case _:
            value = _choice(field, text)
    schema: JsonObject = {"type": "object", "properties": {name: field}}
    problems = (
        compile_schema(schema, where=f"the field {name!r}", foreign=True).check({name: value}, coerce=False).problems
    )
    if problems:
        raise UsageError("{problem}. Write {kind}", problem=tell_problem(problems[0]), kind=kind_of(field))
    return value


def kind_of(field: JsonObject) -> Sentence:
    """What can be typed for a field, in a few words.

    >>> str(kind_of({"type": "integer"})), str(kind_of({"enum": ["window", "aisle"]}))
    ('a whole number', 'one of: 1 window, 2 aisle')
    """
    items = field.get("items")
    choices = _choices(items if isinstance(items, dict) else field)
    if choices:
        listed = ", ".join(f"{at} {on_one_line(title)}" for at, (_, title) in enumerate(choices, 1))
        if field.get("type") == "array":
            return Sentence("some of, with commas: {listed}", listed=listed)
        return Sentence("one of: {listed}", listed=listed)
    kind, form = Sentence(_KINDS.get(str(field.get("type")), "text")), field.get("format")
    return Sentence("{kind} ({form})", kind=kind, form=visible(str(form))) if form else kind


def _choice(field: JsonObject, text: str) -> Json:
    """One of several, by its value, its title, or its place in the list."""
    choices = _choices(field)
    if text.isdecimal() and 1 <= int(text) <= len(choices) and text not in dict(choices):
        return choices[int(text) - 1][0]
    return next((value for value, title in choices if text.lower() in (value.lower(), title.lower())), text)


def _choices(field: JsonObject) -> list[tuple[str, str]]:
    """Values and titles of what can be chosen, in all the ways in which a form can list them."""
    listed = field.get("oneOf") or field.get("anyOf")
    if isinstance(listed, list):
        found = [each for each in listed if isinstance(each, dict) and "const" in each]
        return [(str(each["const"]), str(each.get("title") or each["const"])) for each in found]
    values, titles = field.get("enum"), field.get("enumNames")
    known = [str(value) for value in values] if isinstance(values, list) else []
    names = [str(title) for title in titles] if isinstance(titles, list) else known
    return list(zip(known, names, strict=False))
