"""`actum approvals`: what waits for a person, over all runs of a journal, and the answers: operations of the API.

`remind` is no operation and never will be: cron calls it on the operator's machine, and what it posts is the list.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Annotated

import msgspec
import typer

from ...core.call import ToolCall
from ...core.clock import SystemClock
from ...core.errors import ActumError
from ...core.json import dumps
from ...core.run.pending import Pending
from ...server.api.approvals.bodies import Approval, ApprovalPage
from ...server.api.approvals.operations import OPERATIONS
from ...server.api.records import told_problems
from .. import options
from ..conversation.approve import show_pending
from ..exit_codes import DONE
from ..operated import add_commands, say
from ..options import JournalFlag
from ..show.terminal import Terminal, duration


def show_waiting(terminal: Terminal, page: ApprovalPage, names: Mapping[str, str]) -> None:
    """Show what waits to a person, in a table."""
    say(terminal, told_problems(page.problems))
    now = SystemClock().now()
    columns = ["id", "kind", "waits", "what", "needs"]
    columns += [] if terminal.is_narrow else ["run"]  # which `approvals show` tells as well
    cells = [
        (one.id, one.kind, duration(now - one.asked_at), _what(one), _left(one, now), one.run) for one in page.items
    ]
    rows = [row[: len(columns)] for row in cells]
    if rows:
        terminal.table(*columns, rows=rows, folds="what")
    elif not page.problems:
        terminal.note("Nothing waits.")


def _what(one: Approval) -> str:
    if one.arguments is None:
        return one.message
    arguments = [f"{name}={dumps(value)}" for name, value in one.arguments.items()]
    return f"{one.tool}({', '.join(arguments)})"


def _left(one: Approval, now: float) -> str:
    """Who has to answer yet, and until when."""
    needs = " and ".join(one.missing)
    if one.expires is None:
        return needs
    return f"{needs}, {'within ' + duration(one.expires - now) if one.expires > now else 'expired'}"


def show_whole(terminal: Terminal, one: Approval, names: Mapping[str, str]) -> None:
    """Show something that waits to a person, each argument in full."""
    terminal.line("run", f"{one.run}  {one.question}", "bold cyan", console=terminal.out)
    call = None if one.arguments is None else ToolCall("", one.tool, one.arguments)
    pending = Pending(
        one.id,
        one.kind,
        one.message,
        call,
        one.origins,
        schema=one.schema,
        url=one.url,
        request=one.request,
        risk=one.risk,
    )
    show_pending(terminal, pending, None, console=terminal.out)


app = typer.Typer(help="What waits for a person: list, show, approve, deny, edit.", invoke_without_command=True)
APPROVALS = add_commands(app, OPERATIONS, {"listApprovals": show_waiting, "getApproval": show_whole})


@app.command("remind")
def remind(
    webhook: Annotated[str, typer.Option(metavar="URL", help="Where to post what waits, as JSON.")],
    older_than: Annotated[float, typer.Option(metavar="SECONDS", help="Only what has waited so long.")] = 0.0,
    journal: JournalFlag = "",
) -> int:
    """Remind of what waits: post it to a webhook, once. Let cron call this as often as you like to be reminded."""
    from ...compose.administration import open_application  # noqa: PLC0415  # agents, which answers need none of

    terminal, settings, now = Terminal(), options.read(journal=journal), SystemClock().now()

    async def command() -> int:
        async with open_application(settings) as application:
            page = await APPROVALS.ask(application, "listApprovals", {})
        assert isinstance(page, ApprovalPage)
        say(terminal, told_problems(page.problems))
        waiting = [one for one in page.items if now - one.asked_at >= older_than]
        if waiting:
            await _post(webhook, dumps({"items": msgspec.to_builtins(waiting)}).encode())
        return len(waiting)

    count = asyncio.run(command())
    terminal.note(f"reminded of {count}" if count else "Nothing waits.")
    return DONE


async def _post(url: str, body: bytes) -> None:
    from ...transport.http import HttpFailure  # noqa: PLC0415  # an HTTP client, which answers need none of
    from ...transport.upstream_client import post  # noqa: PLC0415

    try:
        async with post(url, headers={"content-type": "application/json"}, body=body, timeout_s=30.0) as answered:
            if answered.status >= 300:
                raise ActumError("the webhook answered with the status {number}", number=answered.status)
    except HttpFailure as failure:
        raise ActumError("the webhook could not be reached: {why}", why=failure) from None
