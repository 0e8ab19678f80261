"""What a running tool asks of the person at the terminal: a form to fill in, a page to visit, a model to be asked."""

from __future__ import annotations

from urllib.parse import urlsplit

from rich.console import Console

from ...call.asking.form import fields_of, kind_of, read_field
from ...core.errors import UsageError
from ...core.json import Json, JsonObject
from ...core.policy import Answer
from ...core.run.pending import Pending
from ...core.visible import on_one_line, visible
from ..language import tr, tr_message
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
        for name, field in fields_of(schema).items():
            answered = _field(terminal, name, field, required=name in _required(schema))
            if isinstance(answered, Answer):
                return answered
            if answered is not _NOTHING:
                content[name] = answered
    except Left:
        return None
    if not fields_of(schema):
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
    for name, field in fields_of(pending.schema or {}).items():
        words = visible(str(field.get("description") or field.get("title") or ""))
        terminal.line(
            "",
            styled((name, "bold"), (f"  {tr_message(kind_of(field))}", "cyan"), (f"  {words}", "dim")),
            console=console,
        )
    if pending.url:
        terminal.line(tr("page"), pending.url, console=console)
    for message in _messages(pending.request or {}):
        terminal.line("", visible(message), "dim", console=console)


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


def _field(terminal: Terminal, name: str, field: JsonObject, *, required: bool) -> Json | Answer:
    """What the person types for one field, asked again until it fits."""
    default = field.get("default")
    told = f" [{_shown(default)}]" if "default" in field else "" if required else f" [{tr('nothing')}]"
    title = on_one_line(str(field.get("title") or name))
    words = visible(str(field.get("description") or ""))
    terminal.line(
        "",
        styled((title, "bold"), (f"  {tr_message(kind_of(field))}", "cyan"), (f"  {words}", "dim")),
        console=terminal.err,
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
            return read_field(name, field, text)
        except UsageError as error:
            terminal.error(str(error))


def _shown(value: Json) -> str:
    if isinstance(value, bool):
        return tr("yes" if value else "no")
    return visible(", ".join(map(str, value)) if isinstance(value, list) else str(value))


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
