"""`actum models`, and the question which model to use where none was named.

Servers on this machine are looked at where a person at a terminal named no model, or typed `actum models`. Nothing of
the person's is sent to such a server before the person has chosen a model of it; see `models.local_servers`.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import Annotated

import msgspec
import typer

from ...compose.models import make_model
from ...compose.settings import EMBEDDED, Settings
from ...compose.written_settings import remember_model
from ...core.clock import SystemClock
from ...core.errors import UsageError
from ...core.stored.passed import PassedSum
from ...models.local_servers import LocalModel, find_local_models
from .. import options
from ..options import JournalFlag, JsonFlag
from ..show.terminal import GUTTER, Terminal, said

DONE = 0
SHOWN_MAX = 20
NOTHING_FOUND = (
    "No server of models answers on this machine at the usual ports of Ollama (11434), llama.cpp (8080), "
    "LM Studio (1234) and vLLM (8000)."
)


app = typer.Typer(invoke_without_command=True)
DAY_S = 86_400.0

DaysFlag = Annotated[float, typer.Option("--days", metavar="NUMBER", help="Look so many days back.")]


@app.callback()
def models(
    context: typer.Context,
    use: Annotated[
        str, typer.Option(metavar="NAME", help="Take this model from now on, where none is named. Nothing is sent.")
    ] = "",
    as_json: JsonFlag = False,
) -> int:
    """List the models that servers on this machine offer, and choose one.

    The usual ports of Ollama, llama.cpp, LM Studio and vLLM are asked for their list of models, and for nothing else.
    """
    if context.invoked_subcommand is not None:
        return DONE
    terminal = Terminal()
    if use:
        name = said(use).strip()
        make_model(Settings(model=name))  # for its errors: nothing is sent
        terminal.note(
            "{name} is used from now on, where no model is named: {path}",
            name=name,
            path=remember_model(name, os.environ),
        )
        return DONE
    found = asyncio.run(find_local_models(os.environ))
    if as_json:
        terminal.json(found)
    elif found:
        terminal.table("model", "at", rows=[(model.name, model.url) for model in found])
    else:
        terminal.note(NOTHING_FOUND)
    return DONE


@app.command("report")
def report(days: DaysFlag = 30.0, journal: JournalFlag = "", as_json: JsonFlag = False) -> int:
    """Show what was passed on to models: requests, tokens and cost by key, model and upstream."""
    return asyncio.run(_report(options.read(journal=journal), days, as_json=as_json))


async def _report(settings: Settings, days: float, *, as_json: bool) -> int:
    terminal = Terminal()
    now = SystemClock().now()
    async with options.journal(settings) as opened:
        kept = opened.passed
        if kept is None:
            raise UsageError("this journal keeps no lines of requests that were passed on")
        sums = await kept.sums(now - days * DAY_S, now + DAY_S)
    if as_json:
        terminal.json(sums)
    elif not sums:
        terminal.note("Nothing was passed on to a model in this time.")
    else:
        head = ("key", "user", "model", "upstream", "requests", "failed", "tokens in", "tokens out", "cost", "seconds")
        terminal.table(*head, rows=[_row(each) for each in sums])
    return DONE


def _row(each: PassedSum) -> tuple[str, ...]:
    user = f"{each.tenant}/{each.principal}" if each.tenant else each.principal
    cost = "" if each.cost is None else f"{each.cost:.6f}".rstrip("0").rstrip(".")
    used = [f"{'~' if each.estimated and said else ''}{said}" for said in (each.input_tokens, each.output_tokens, cost)]
    numbers = (str(each.requests), str(each.failed), *used)
    return (each.key_id or "-", user, each.model, each.upstream, *numbers, f"{each.seconds:.2f}")


def choose_model(settings: Settings, terminal: Terminal, *, as_json: bool) -> Settings:
    """The settings with the model that a person at the terminal chooses, where none was named and servers offer some.

    Raises:
        CancelledError: the person pressed Ctrl-C.
    """
    if settings.agent or settings.model or settings.base_url or as_json or not terminal.person:
        return settings
    try:
        found = asyncio.run(find_local_models(os.environ))
        name = _chosen(terminal, found) if found else ""
        if name and _yes(terminal, "Take it from now on, where no model is named? [y/N]: "):
            _remember(terminal, name)
    except KeyboardInterrupt:
        raise asyncio.CancelledError from None
    return msgspec.structs.replace(settings, model=name) if name else settings


def _chosen(terminal: Terminal, found: Sequence[LocalModel]) -> str:
    """The name of the model that the person chooses; empty for none."""
    terminal.note("No model was named. Servers on this machine say that they have:")
    shown = found[:SHOWN_MAX]
    for number, model in enumerate(shown, 1):
        terminal.line(str(number), f"{model.name}  at {model.url}", console=terminal.err)
    if len(found) > len(shown):
        terminal.note("{gutter}and {count} more: actum models", gutter=" " * GUTTER, count=len(found) - len(shown))
    terminal.line("0", f"{EMBEDDED}: rules, no language model", console=terminal.err)
    while True:
        typed = terminal.ask("Which one shall get what you say? A number, or Enter for the embedded one: ")
        if not typed or not typed.strip():
            return ""
        word = typed.strip()
        if word.isdecimal() and int(word) <= len(shown):
            return [EMBEDDED, *(model.name for model in shown)][int(word)]
        if word in {EMBEDDED, *(model.name for model in found)}:
            return word


def _remember(terminal: Terminal, name: str) -> None:
    """Remember a model. Where that can not be done, the person is told and the command goes on."""
    try:
        terminal.note("Remembered; --model names another: {path}", path=remember_model(name, os.environ))
    except UsageError as error:
        terminal.error(str(error))


def _yes(terminal: Terminal, question: str) -> bool:
    return (terminal.ask(question) or "").strip().lower() in ("y", "yes")
