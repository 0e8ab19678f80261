"""`actum conversations`: what was said, turn by turn; branch off from it, sum it up."""

from __future__ import annotations

import asyncio
import shlex
from typing import Annotated

import typer

from .. import compose
from ..agents.conversation import history
from ..call.overview import Conversation, conversations
from ..core.errors import UnknownName, UsageError
from ..core.interfaces import Journal
from ..core.message import Message, Reply, ToolMessage, UserMessage
from ..core.record import RunSummary, new_id
from . import moments, options
from .options import JournalFlag, JsonFlag, ModelFlag
from .terminal import Terminal, shorten, who
from .trace import RESULT_MAX, call_line, result_line

app = typer.Typer(help="What was said, turn by turn: list, show, branch off, sum up.", invoke_without_command=True)

ConversationArgument = Annotated[
    str, typer.Argument(metavar="ID", help="The conversation: its id, the beginning of it, or `last`.")
]


@app.callback()
def listed(context: typer.Context) -> None:
    """Without a word more, the list."""
    if context.invoked_subcommand is None:
        list_conversations()


@app.command("list")
def list_conversations(
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many, the latest first.")] = 20,
    as_json: JsonFlag = False,
    journal: JournalFlag = "",
) -> None:
    """List the conversations."""
    terminal = Terminal()

    async def command() -> list[Conversation]:
        async with options.journal(options.read(journal=journal)) as opened:
            return (await conversations(opened))[:limit]

    found = asyncio.run(command())
    if as_json:
        terminal.json(found)
    elif not found:
        terminal.note("Nobody has talked yet. Try: actum chat")
    else:
        rows = [(moments.shown(each.latest), each.status, str(each.runs), each.id, each.question) for each in found]
        terminal.table("latest", "status", "turns", "conversation", "begins with", rows=rows)


@app.command("show")
def show(conversation: ConversationArgument = "last", as_json: JsonFlag = False, journal: JournalFlag = "") -> None:
    """Show a conversation as the model is told of it, and the runs that it is made of."""
    terminal = Terminal()

    async def command() -> tuple[str, list[RunSummary], list[Message]]:
        async with options.journal(options.read(journal=journal)) as opened:
            found = await _find(opened, conversation)
            runs = await opened.runs(conversation=found, limit=None)
            seen = len(await opened.read(runs[0].run_id))
            return found, runs[::-1], await history(opened, runs[0].run_id, seen)

    found, runs, messages = asyncio.run(command())
    if as_json:
        terminal.json({"conversation": found, "runs": runs, "messages": messages})
        return
    for message in messages:
        _show_message(terminal, message)
    terminal.note(f"{found} · {len(runs)} turns, the latest in {runs[-1].run_id}")


@app.command("branch")
def branch(
    conversation: ConversationArgument = "last",
    at: Annotated[
        str, typer.Option("--at", metavar="RUN[@N]", help="Go on after this run, or after its record N.")
    ] = "",
    as_json: JsonFlag = False,
    journal: JournalFlag = "",
) -> None:
    """Print the command that goes on from an earlier point, in a conversation of its own."""
    terminal = Terminal()

    async def command() -> str:
        async with options.journal(options.read(journal=journal)) as opened:
            found = await _find(opened, conversation)
            runs = await opened.runs(conversation=found, limit=None)
            wanted, sign, number = at.partition("@")
            run_id = (await options.find_run(opened, wanted)).run_id if wanted else runs[0].run_id
            if run_id not in {run.run_id for run in runs}:
                raise UsageError(f"run {run_id} is not part of {found}")
            seen = len(await opened.read(run_id))
            if sign and not (number.isdecimal() and int(number) < seen):
                raise UsageError(f"--at {at!r}: run {run_id} has the records 0 to {seen - 1}")
            return f"{run_id}{sign}{number}"

    after, new = asyncio.run(command()), new_id("conv")
    words = ["actum", "chat", "--conversation", new, "--after", after]
    words += ["--journal", journal] if journal else []
    if as_json:
        terminal.json({"conversation": new, "after": after, "command": words})
    else:
        terminal.text(shlex.join(words))


@app.command("compact")
def compact(
    conversation: ConversationArgument = "last",
    keep: Annotated[int, typer.Option(min=0, help="So many of the latest turns stay as they are.")] = 2,
    model: ModelFlag = "",
    as_json: JsonFlag = False,
    journal: JournalFlag = "",
) -> None:
    """Have the model sum up what was said before; it is told the summary from here on. Nothing is deleted."""
    settings = options.read(model=model, journal=journal)
    terminal = Terminal()

    async def command() -> tuple[str, str]:
        async with options.journal(settings) as opened:
            found = await _find(opened, conversation)
            agent = compose.make_agent(settings, compose.make_model(settings), [], journal=opened, approver=None)
            return found, await agent.compact(found, keep=keep, principal=who())

    found, summary = asyncio.run(command())
    if as_json:
        terminal.json({"conversation": found, "summary": summary})
    else:
        terminal.text(summary)


async def _find(journal: Journal, wanted: str) -> str:
    """The id of the conversation that a person means.

    Raises:
        UnknownName: none, or more than one.
    """
    known = [each.id for each in await conversations(journal)]
    if wanted == "last" and known:
        return known[0]
    found = [name for name in known if name == wanted] or [name for name in known if name.startswith(wanted)]
    if len(found) == 1:
        return found[0]
    if found:
        raise UnknownName(f"{len(found)} conversations begin with {wanted!r}: give more of the id")
    raise UnknownName(f"there is no conversation {wanted!r}: `actum conversations list` shows those there are")


def _show_message(terminal: Terminal, message: Message) -> None:
    match message:
        case UserMessage():
            terminal.line("you", message.text, "bold cyan")
        case Reply():
            if message.text.strip():
                terminal.line("agent", message.text)
            for call in message.calls:
                terminal.line("call", call_line(call), "yellow")
        case ToolMessage():
            terminal.line("result", result_line(message.result), "green")
        case _:
            terminal.line("told", shorten(message.text, RESULT_MAX), "dim")
