"""What a running tool asks of the person at the terminal: a form to fill in, a page to visit, a model to be asked."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from rich.console import Console

from ...core.errors import UsageError, tell_problem
from ...core.json import (
    Json,
    JsonObject,
    JsonProblem,
    parse,
)
from ...core.policy import Answer
from ...core.run.pending import Pending
from ...core.visible import on_one_line, visible
from ...schema.schema import compile_schema
from ..language import tr
from .terminal import GUTTER, Terminal, styled, who

INDENT = " " * GUTTER

_HOW_TO_FILL_IN = "Enter takes what stands in brackets; ! declines, . puts it aside, end of input asks later."
_VISIT = "open it yourself. Do you agree to go there?  [y]es  [n]o  [l]ater: "
SHOWN_CHARS = 2_000


class Left(Exception):
    """The person will answer later."""


def fill_in(terminal: Terminal, pending: Pending) -> Answer | None:
    """Have the person fill in a form, field by field; None when they will do it later."""
    _head(terminal, pending, "asks")
    terminal.note(f"{INDENT}{tr(_HOW_TO_FILL_IN)}")
    schema = pending.schema or {}
    content: JsonObject = {}
    try:
        for name, field in _fields(schema).items():
            answered = _field(terminal, name, field, required=name in _required(schema))
            if isinstance(answered, Answer):
                return answered
            if answered is not _NOTHING:
                content[name] = answered
    except Left:
        return None
    if not _fields(schema):
        typed = terminal.ask(f"{INDENT}{tr('[y]es  [n]o  [l]ater: ')}")
        match (typed or "later").strip().lower():
            case "y" | "yes":
                return Answer("answer", by=who(), arguments={})
            case "n" | "no" | "!":
                return Answer("deny", by=who())
            case _:
                return None
    return Answer("answer", by=who(), arguments=content)


def visit(terminal: Terminal, pending: Pending) -> Answer | None:
    """Show the person the page they are asked to visit. It is never opened nor looked at from here."""
    _head(terminal, pending, "asks")
    host = urlsplit(pending.url).hostname or ""
    terminal.line(tr("page"), styled((pending.url, "underline")), console=terminal.err)
    shown = (
        host
        if host.isascii() and not host.startswith("xn--") and ".xn--" not in host
        else tr("{host} (not all Latin)", host=host)
    )
    terminal.line(tr("host"), styled((shown, "bold")), console=terminal.err)
    typed = terminal.ask(f"{INDENT}{tr(_VISIT)}")
    match (typed or "later").strip().lower():
        case "y" | "yes":
            return Answer("answer", by=who(), arguments={})
        case "n" | "no":
            return Answer("deny", by=who())
        case _:
            return None


def let_ask(terminal: Terminal, pending: Pending) -> Answer | None:
    """Show the person what their model would be asked."""
    _head(terminal, pending, "wants")
    for message in _messages(pending.request or {}):
        terminal.line("", styled((visible(message)[:SHOWN_CHARS], "dim")), console=terminal.err)
    typed = terminal.ask(f"{INDENT}{tr('ask your model this?  [y]es  [n]o  [l]ater: ')}")
    match (typed or "later").strip().lower():
        case "y" | "yes":
            return Answer("approve", by=who())
        case "n" | "no":
            return Answer("deny", by=who())
        case _:
            return None


def show_form(terminal: Terminal, pending: Pending, console: Console) -> None:
    """What is asked for: the fields of a form, the page, or what a model would be asked."""
    for name, field in _fields(pending.schema or {}).items():
        words = visible(str(field.get("description") or field.get("title") or ""))
        terminal.line("", styled((name, "bold"), (f"  {_kind(field)}", "cyan"), (f"  {words}", "dim")), console=console)
    if pending.url:
        terminal.line(tr("page"), pending.url, console=console)
    for message in _messages(pending.request or {}):
        terminal.line("", visible(message), "dim", console=console)


def read_form(schema: JsonObject, given: Mapping[str, str]) -> JsonObject:
    """The fields of a form out of `name=value` words.

    Raises:
        UsageError: a value does not fit its field.
    """
    return {name: _value(name, _fields(schema).get(name, {}), text) for name, text in given.items()}


def _head(terminal: Terminal, pending: Pending, verb: str) -> None:
    tool = pending.call.name if pending.call is not None else tr("a tool")
    asker = f"{pending.asker} ({tool})" if pending.asker else tool
    terminal.line(
        tr(verb),
        styled((on_one_line(asker), "bold yellow"), f"  {visible(pending.message)}"),
        "bold magenta",
        console=terminal.err,
    )


_NOTHING: JsonObject = {}
_KINDS = {"boolean": "yes or no", "integer": "a whole number", "number": "a number"}


def _field(terminal: Terminal, name: str, field: JsonObject, *, required: bool) -> Json | Answer:
    """What the person types for one field, asked again until it fits."""
    default = field.get("default")
    told = f" [{_shown(default)}]" if "default" in field else "" if required else f" [{tr('nothing')}]"
    title = on_one_line(str(field.get("title") or name))
    words = visible(str(field.get("description") or ""))
    terminal.line(
        "", styled((title, "bold"), (f"  {_kind(field)}", "cyan"), (f"  {words}", "dim")), console=terminal.err
    )
    while True:
        typed = terminal.ask(f"{INDENT}{title}{told}: ")
        if typed is None:
            raise Left
        text = typed.strip()
        if text == "!":
            return Answer("deny", by=who())
        if text == ".":
            return Answer("cancel", by=who())
        if not text and ("default" in field or not required):
            return default if "default" in field else _NOTHING
        try:
            return _value(name, field, text)
        except UsageError as error:
            terminal.error(str(error))


def _value(name: str, field: JsonObject, text: str) -> Json:
    """A value for a field out of what was typed.

    Raises:
        UsageError: it does not fit; the message says what would.
    """
    value: Json = text
    match field.get("type"):
        case "boolean":
            value = {"y": True, "yes": True, "true": True, "n": False, "no": False, "false": False}.get(
                text.lower(), text
            )
        case "integer" | "number":
            value = _number(text)
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
        raise UsageError(f"{tell_problem(problems[0])}. {_kind(field)}")
    return value


def _number(text: str) -> Json:
    try:
        return parse(text)[0]
    except JsonProblem:
        return text


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


def _kind(field: JsonObject) -> str:
    """What can be typed, in a few words."""
    items = field.get("items")
    choices = _choices(items if isinstance(items, dict) else field)
    if choices:
        listed = ", ".join(f"{at} {on_one_line(title)}" for at, (_, title) in enumerate(choices, 1))
        return tr(
            "some of, with commas: {listed}" if field.get("type") == "array" else "one of: {listed}", listed=listed
        )
    kind = tr(_KINDS.get(str(field.get("type")), "text"))
    form = field.get("format")
    return f"{kind} ({visible(str(form))})" if form else kind


def _shown(value: Json) -> str:
    if isinstance(value, bool):
        return tr("yes" if value else "no")
    return visible(", ".join(map(str, value)) if isinstance(value, list) else str(value))


def _fields(schema: JsonObject) -> dict[str, JsonObject]:
    found = schema.get("properties")
    return {name: field for name, field in found.items() if isinstance(field, dict)} if isinstance(found, dict) else {}


def _required(schema: JsonObject) -> list[Json]:
    found = schema.get("required")
    return found if isinstance(found, list) else []


def _messages(request: JsonObject) -> list[str]:
    """The texts that a model would be asked."""
    messages = request.get("messages")
    texts: list[str] = []
    for message in messages if isinstance(messages, list) else []:
        content = message.get("content") if isinstance(message, dict) else None
        if isinstance(content, str):
            texts.append(content)
        parts = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
        texts += [str(part["text"]) for part in parts if isinstance(part.get("text"), str)]
    return texts
