"""`actum conversations`: what was said, turn by turn; branch off from it, sum it up."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Sequence
from typing import Annotated

import typer

from ...agents.conversation import history
from ...compose.agents import make_agent
from ...compose.models import make_model
from ...core.errors import UnknownName, UsageError
from ...core.interfaces import Journal
from ...core.message import Message, Reply, ToolMessage, UserMessage
from ...core.run.ids import new_id
from ...core.run.summary import RunSummary
from ...core.user import User
from ...journal.conversations import Conversation, conversations
from ...journal.mismatch import mismatch
from .. import options
from ..options import JournalFlag, JsonFlag, ModelFlag, OwnerFlag, TenantFlag
from ..show import moments
from ..show.terminal import Terminal, shorten, who
from ..show.trace import RESULT_MAX, call_line, result_line

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
    owner: OwnerFlag = None,
    tenant: TenantFlag = None,
    everybody: Annotated[bool, typer.Option("--all", help="Those of everybody.")] = False,
    as_json: JsonFlag = False,
    journal: JournalFlag = "",
) -> None:
    """List your conversations."""
    terminal = Terminal()

    async def command() -> tuple[list[Conversation], Sequence[str]]:
        async with options.journal(options.read(journal=journal)) as opened:
            found = (
                await conversations(opened, None, tenant) if everybody else await _own(opened, _whose(owner, tenant))
            )
            return found[:limit], (await mismatch(opened)).problems

    found, problems = asyncio.run(command())
    options.tell_problems(terminal, problems)
    if as_json:
        terminal.json(found)
    elif not found and not problems:
        terminal.note("Nobody has talked yet. Try: actum chat")
    else:
        rows = [
            (
                moments.shown(each.latest),
                each.status,
                str(each.runs),
                each.id,
                *([each.owner] * everybody),
                terminal.title(each.question),
            )
            for each in found
        ]
        whose = ["of"] * everybody
        terminal.table("latest", "status", "turns", "conversation", *whose, "begins with", rows=rows)


@app.command("show")
def show(
    conversation: ConversationArgument = "last",
    owner: OwnerFlag = None,
    tenant: TenantFlag = None,
    as_json: JsonFlag = False,
    journal: JournalFlag = "",
) -> None:
    """Show a conversation as the model is told of it, and the runs that it is made of."""
    terminal = Terminal()

    async def command() -> tuple[str, list[RunSummary], list[Message]]:
        async with options.journal(options.read(journal=journal)) as opened:
            whose = _whose(owner, tenant)
            found = await _find(opened, whose, conversation)
            runs = await _runs_of(opened, whose, found)
            seen = len(await opened.read(runs[0].run_id))
            return found, runs[::-1], await history(opened, runs[0].run_id, seen, owner=whose)

    found, runs, messages = asyncio.run(command())
    if as_json:
        terminal.json({"conversation": found, "runs": runs, "messages": messages})
        return
    for message in messages:
        _show_message(terminal, message)
    terminal.note("{found} · {count} turns, the latest in {run}", found=found, count=len(runs), run=runs[-1].run_id)


@app.command("branch")
def branch(
    conversation: ConversationArgument = "last",
    at: Annotated[
        str, typer.Option("--at", metavar="RUN[@N]", help="Go on after this run, or after its record N.")
    ] = "",
    owner: OwnerFlag = None,
    as_json: JsonFlag = False,
    journal: JournalFlag = "",
) -> None:
    """Print the command that goes on from an earlier point, in a conversation of its own."""
    terminal = Terminal()

    async def command() -> str:
        async with options.journal(options.read(journal=journal)) as opened:
            found = await _find(opened, _whose(owner, None), conversation)
            runs = await _runs_of(opened, _whose(owner, None), found)
            wanted, sign, number = at.partition("@")
            run_id = _turn(runs, wanted, found) if wanted else runs[0].run_id
            seen = len(await opened.read(run_id))
            if sign and not (number.isdecimal() and int(number) < seen):
                raise UsageError("--at {at!r}: run {run} has the records 0 to {last}", at=at, run=run_id, last=seen - 1)
            return f"{run_id}{sign}{number}"

    after, new = asyncio.run(command()), new_id("conv")
    words = ["actum", "chat", "--conversation", new, "--after", after]
    words += ["--owner", owner] if owner is not None else []
    words += ["--journal", journal] if journal else []
    if as_json:
        terminal.json({"conversation": new, "after": after, "command": words})
    else:
        terminal.text(shlex.join(words))


@app.command("compact")
def compact(
    conversation: ConversationArgument = "last",
    keep: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="So many of the latest turns stay as they are. Default: 2, or none where all is too long.",
        ),
    ] = None,
    model: ModelFlag = "",
    owner: OwnerFlag = None,
    tenant: TenantFlag = None,
    as_json: JsonFlag = False,
    journal: JournalFlag = "",
) -> None:
    """Have the model sum up what was said before; it is told the summary from here on. Nothing is deleted."""
    settings = options.read(model=model, journal=journal)
    terminal = Terminal()

    async def command() -> tuple[str, str]:
        async with options.journal(settings) as opened:
            found = await _find(opened, _whose(owner, tenant), conversation)
            agent = make_agent(settings, make_model(settings), [], journal=opened, approver=None)
            return found, await agent.compact(found, keep=keep, principal=who(), tenant=tenant or "", owner=owner)

    found, summary = asyncio.run(command())
    if as_json:
        terminal.json({"conversation": found, "summary": summary})
    else:
        terminal.text(summary)


def _whose(owner: str | None, tenant: str | None) -> User:
    """Whose conversations are meant: the person's own, where nobody else is named."""
    return User(tenant or "", who() if owner is None else owner)


async def _own(journal: Journal, owner: User) -> list[Conversation]:
    return await conversations(journal, owner.principal, owner.tenant)


async def _runs_of(journal: Journal, owner: User, conversation: str) -> list[RunSummary]:
    """The runs of a conversation, the latest first."""
    return await journal.runs(conversation=conversation, owner=owner.principal, tenant=owner.tenant, limit=None)


def _turn(runs: Sequence[RunSummary], wanted: str, conversation: str) -> str:
    """The id of the run of a conversation that a person means. Of other runs nothing is told.

    Raises:
        UsageError: none, or more than one.
    """
    if wanted == "last":
        return runs[0].run_id
    found = options.beginning_with(wanted, runs, lambda run: run.run_id)
    if len(found) == 1:
        return found[0].run_id
    raise UsageError(
        "{count} runs of {conversation} begin with {wanted!r}",
        count=len(found) or "no",
        conversation=conversation,
        wanted=wanted,
    )


async def _find(journal: Journal, owner: User, wanted: str) -> str:
    """The id of the conversation that a person means.

    Raises:
        UnknownName: none, or more than one.
    """
    known = [each.id for each in await _own(journal, owner)]
    if wanted == "last" and known:
        return known[0]
    found = [name for name in known if name == wanted] or [name for name in known if name.startswith(wanted)]
    if len(found) == 1:
        return found[0]
    if found:
        raise UnknownName(
            "{count} conversations begin with {wanted!r}: give more of the id", count=len(found), wanted=wanted
        )
    raise UnknownName(
        "there is no conversation {wanted!r}: `actum conversations list` shows those there are", wanted=wanted
    )


def _show_message(terminal: Terminal, message: Message) -> None:
    match message:
        case UserMessage() if message.source not in ("memory", "developer"):
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
