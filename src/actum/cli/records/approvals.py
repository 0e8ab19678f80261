"""`actum approvals`: what waits for a person, over all runs of a journal, and the answers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec
import typer
from msgspec import structs

from ...call.asking.inbox import (
    Inbox,
    InboxItem,
    answer_pending,
    answered,
    inbox,
    read_inbox,
    record_expired,
)
from ...core.clock import SystemClock
from ...core.errors import ActumError, TooLate, UnknownName, UsageError
from ...core.json import JsonObject, dumps
from ...core.policy import Answer
from ...journal.grant import covered
from ...journal.recording import MIDWAY
from ...server.api.approvals.bodies import Approval, ApprovalPage, approval_of, missing
from ...server.api.approvals.operations import OPERATIONS
from ...server.api.records import told_problems
from ...transport.http import HttpFailure
from ...transport.upstream_client import post
from .. import options
from ..conversation.approve import NO_TENANT, read_pairs, show_pending
from ..exit_codes import DONE
from ..language import tr
from ..operated import add_commands, say
from ..options import JournalFlag, JsonFlag
from ..show.form import read_form
from ..show.terminal import (
    Terminal,
    duration,
    said,
    who,
)


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


app = typer.Typer(help="What waits for a person: list, show, approve, deny, edit.", invoke_without_command=True)
add_commands(app, OPERATIONS, {"listApprovals": show_waiting})

AskId = Annotated[str, typer.Argument(metavar="ASK_ID", help="What waits: its id, or the beginning of it.")]
ByFlag = Annotated[
    str,
    typer.Option(
        "--by",
        metavar="NAME",
        help="A name to keep beside your own; of a tenant's user: NAME@TENANT. It counts where the journal is your own "
        "file.",
    ),
]


@app.command("show")
def show(ask_id: AskId, as_json: JsonFlag = False, journal: JournalFlag = "") -> None:
    """Show what waits in full: each argument, and where it came from."""
    terminal = Terminal()
    one = _find(list(_look(journal).waiting), ask_id)
    if as_json:
        terminal.json(approval_of(one))
        return
    terminal.line("run", f"{one.run.run_id}  {one.run.question}", "bold cyan", console=terminal.out)
    show_pending(terminal, one.asked.pending, None, console=terminal.out)
    if one.asked.pending.covers:
        covers = tr("with --for-run: {covers}", covers=covered(one.asked.pending))
        terminal.line("for run", covers, console=terminal.out)


@app.command("approve")
def approve(
    ask_id: AskId,
    for_run: Annotated[
        bool, typer.Option("--for-run", help="Also in later calls of this run; `show` tells which.")
    ] = False,
    free: Annotated[
        list[str] | None,
        typer.Option("--any", metavar="NAME", help="With --for-run: an argument that may differ. Can be repeated."),
    ] = None,
    by: ByFlag = "",
    journal: JournalFlag = "",
) -> int:
    """Approve a call, exactly as it was asked."""
    names = tuple(map(said, free or ()))
    return _answer(journal, ask_id, Answer("approve", by=who(), claimed=by, for_run=for_run, free=names))


@app.command("deny")
def deny(
    ask_id: AskId,
    reason: Annotated[str, typer.Argument(help="A word to the model.")] = "",
    by: ByFlag = "",
    journal: JournalFlag = "",
) -> int:
    """Deny a call; the model is told, with your reason."""
    return _answer(journal, ask_id, Answer("deny", said(reason), who(), claimed=by))


@app.command("edit")
def edit(
    ask_id: AskId,
    arguments: Annotated[list[str], typer.Argument(metavar="NAME=VALUE", help="What to change; JSON, else a text.")],
    by: ByFlag = "",
    journal: JournalFlag = "",
) -> int:
    """Approve a call with other arguments: they are judged anew by the policy, and the model is told."""
    one = _find(_read(journal), ask_id)
    if one.asked.pending.call is None:
        raise UsageError("{item} is no call: it has no arguments", item=one.asked.id)
    return _answer(
        journal,
        ask_id,
        Answer(
            "approve", by=who(), claimed=by, arguments={**one.asked.pending.call.arguments, **read_pairs(arguments)}
        ),
    )


@app.command("answer")
def answer(
    ask_id: AskId,
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="TEXT|NAME=VALUE...",
            help="The answer; for a call in doubt: done, not_done, retry or unknown; for a form its fields, or cancel.",
        ),
    ],
    by: ByFlag = "",
    journal: JournalFlag = "",
) -> int:
    """Answer a question, fill in a form, hand in a result, or say what became of a call in doubt."""
    one = _find(_read(journal), ask_id)
    if one.asked.kind not in MIDWAY:
        return _answer(journal, ask_id, Answer("answer", said(" ".join(words)), who(), claimed=by))
    if words == ["cancel"]:
        return _answer(journal, ask_id, Answer("cancel", by=who(), claimed=by))
    schema = one.asked.pending.schema or {}
    if not schema.get("properties"):
        return _answer(journal, ask_id, Answer("answer", said(" ".join(words)), who(), claimed=by))
    given = read_form(schema, _filled(one.asked.id, schema, [said(word) for word in words]))
    return _answer(journal, ask_id, Answer("answer", by=who(), claimed=by, arguments=given))


def _filled(ask_id: str, schema: JsonObject, words: Sequence[str]) -> dict[str, str]:
    """The fields of a form by their names. Of a form with one field, the words alone will do.

    Raises:
        UsageError: it is not told which field a word is for.
    """
    pairs = [word.partition("=") for word in words]
    fields = schema.get("properties")
    if isinstance(fields, dict) and len(fields) == 1 and pairs[0][0] not in fields:
        return dict.fromkeys(fields, " ".join(words))
    if not all(sign for _, sign, _ in pairs):
        raise UsageError("{item} waits for NAME=VALUE of its form: `actum approvals show` lists them", item=ask_id)
    return {name: value for name, _, value in pairs}


@app.command("remind")
def remind(
    webhook: Annotated[str, typer.Option(metavar="URL", help="Where to post what waits, as JSON.")],
    older_than: Annotated[float, typer.Option(metavar="SECONDS", help="Only what has waited so long.")] = 0.0,
    journal: JournalFlag = "",
) -> int:
    """Remind of what waits: post it to a webhook, once. Let cron call this as often as you like to be reminded."""
    terminal = Terminal()
    now = SystemClock().now()
    found = _look(journal)
    options.tell_problems(terminal, [str(each) for each in found.unreadable])
    waiting = [one for one in found.waiting if now - one.at >= older_than]
    if waiting:
        body = dumps({"waiting": [_as_json(one) for one in waiting]}).encode()
        asyncio.run(_post(webhook, body))
    terminal.note(f"reminded of {len(waiting)}" if waiting else "Nothing waits.")
    return DONE


async def _post(url: str, body: bytes) -> None:
    try:
        async with post(url, headers={"content-type": "application/json"}, body=body, timeout_s=30.0) as answered:
            if answered.status >= 300:
                raise ActumError("the webhook answered with the status {number}", number=answered.status)
    except HttpFailure as failure:
        raise ActumError("the webhook could not be reached: {why}", why=failure) from None


def _look(journal: str, *, is_shown: bool = True) -> Inbox:
    async def command() -> Inbox:
        async with options.journal(options.read(journal=journal)) as opened:
            found = await read_inbox(opened)
            if is_shown:
                await record_expired(opened, [(one.run.run_id, one.asked) for one in found.waiting])
            return found

    return asyncio.run(command())


def _read(journal: str) -> list[InboxItem]:
    return list(_look(journal, is_shown=False).waiting)


def _find(waiting: list[InboxItem], wanted: str) -> InboxItem:
    found = options.beginning_with(wanted, waiting, lambda one: one.asked.id)
    if len(found) == 1:
        return found[0]
    raise UnknownName(
        f"{len(found)} things that wait begin with {wanted!r}: give more of the id"
        if found
        else f"nothing waits under {wanted!r}: `actum approvals list` shows what does"
    )


def _answer(journal: str, ask_id: str, given: Answer) -> int:
    """Put the answer on record, and tell how the run goes on.

    Raises:
        TooLate: the time to answer is over.
    """
    terminal = Terminal()
    flag = f" --journal {journal}" if journal else ""

    async def command() -> tuple[InboxItem, bool]:
        async with options.journal(options.read(journal=journal)) as opened:
            one = _find(await inbox(opened), ask_id)
            own = structs.replace(given, tenant=NO_TENANT)
            try:
                return await answer_pending(opened, one.asked.id, own), opened.is_shared
            except TooLate as late:
                raise TooLate(
                    "{why}. To go on without it: actum resume {run}{flag}", why=late, run=one.run.run_id, flag=flag
                ) from None

    one, is_shared = asyncio.run(command())
    if is_shared and given.claimed not in ("", given.by):
        terminal.note("Several persons may write to this journal: the answer counts as {by}'s.", by=given.by)
    record = answered(ask_id, structs.replace(given, tenant=NO_TENANT), 0.0, is_shared=is_shared)
    by = record.voter(one.run.tenant)
    agreed = (by,) if given.arguments is not None else (*one.voters, by)
    pending = one.asked.pending
    if given.for_run and pending.call is not None:
        terminal.note(tr("It holds {covers}.", covers=covered(pending, given.free)))
    if given.verdict == "approve" and not pending.is_agreed(agreed):
        terminal.note(
            "On record. To the same arguments have to agree yet: {missing}.",
            missing=" and ".join(missing(one.asked, agreed)),
        )
    else:
        terminal.note("On record. To go on: actum resume {run}{flag}", run=one.run.run_id, flag=flag)
        terminal.note("A server that let go of the run goes on with it by itself.")
    return DONE


def _as_json(one: InboxItem) -> JsonObject:
    """What waits, with the question and the place of its call on one level."""
    told: JsonObject = msgspec.to_builtins(one)
    asked: JsonObject = msgspec.to_builtins(one.asked)
    pending: JsonObject = msgspec.to_builtins(one.asked.pending)
    del asked["pending"], told["voters"]
    return told | {"asked": pending | asked}
