"""`actum conversations`: what was said, turn by turn; branch off from it, sum it up. Its list and what was said are
operations of the API.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

from ...compose.agents import make_agent
from ...compose.models import make_model
from ...core.call import Failure, TextPart, ToolCall, ToolResult
from ...core.errors import UnknownName, UsageError
from ...core.interfaces import Journal
from ...core.run.ids import new_id
from ...core.run.summary import RunSummary
from ...core.user import User
from ...journal.conversations import Conversation, conversations
from ...journal.named import beginning_with
from ...server.api.sessions import OPERATIONS, SessionMessage, SessionMessages
from .. import options
from ..language import language
from ..operated import add_commands
from ..options import JournalFlag, JsonFlag, ModelFlag, OwnerFlag, TenantFlag
from ..show.terminal import Terminal, shorten, who
from ..show.trace import RESULT_MAX, call_line, result_line


def show_session(terminal: Terminal, session: SessionMessages, names: Mapping[str, str]) -> None:
    """Show a conversation to a person."""
    for message in session.items:
        _show_message(terminal, message)
    terminal.note(
        "{found} · {count:turn|turns}, the latest in {run}",
        found=session.session,
        count=len(session.runs),
        run=session.runs[-1].id,
    )


def _show_message(terminal: Terminal, message: SessionMessage) -> None:
    match message.role:
        case "user":
            terminal.line("you", message.text, "bold cyan")
        case "agent":
            if message.text.strip():
                terminal.line("agent", message.text)
            for call in message.calls:
                terminal.line("call", call_line(ToolCall("", call.tool, call.arguments)), "yellow")
        case "tool":
            terminal.line("result", result_line(_result(message), language()), "green")
        case "server":
            terminal.line("told", shorten(message.text, RESULT_MAX), "dim")


def _result(message: SessionMessage) -> ToolResult:
    """The result that a message tells of."""
    if message.error is not None:
        error = message.error
        return ToolResult("", error=Failure(error.code, error.message, problems=error.problems))
    if isinstance(message.result, dict):
        return ToolResult("", structured=message.result)
    return ToolResult("", (TextPart(message.text),))


app = typer.Typer(help="What was said, turn by turn: list, show, branch off, sum up.", invoke_without_command=True)
add_commands(app, OPERATIONS, {"listMessages": show_session})

ConversationArgument = Annotated[
    str, typer.Argument(metavar="ID", help="The conversation: its id, the beginning of it, or `last`.")
]


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
    found = beginning_with(wanted, runs, lambda run: run.run_id)
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
