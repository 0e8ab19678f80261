"""A person at the terminal, who is asked before a call is made and when something is missing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import structs
from rich.console import Console

from ...call.asking.inbox import fit
from ...core.errors import UsageError
from ...core.json import JsonObject
from ...core.policy import Answer
from ...core.run.pending import Pending
from ...core.visible import visible
from ...journal.grant import covered
from ..language import tr, tr_message
from ..options import read_pairs
from ..show.form import (
    fill_in,
    let_ask,
    show_form,
    visit,
)
from ..show.terminal import (
    GUTTER,
    Terminal,
    styled,
    who,
)
from ..show.trace import value_text

SHOWN_MAX = 2_000
"""Characters of one argument that are shown unasked: a person must see what they approve, and find the rest."""

INDENT = " " * GUTTER
NO_TENANT = ""
"""A person at a terminal belongs to no tenant, whatever the person's name."""

_RUN_IT = "run it?  [y]es  [r] yes, for this run  [e]dit  [n]o  [l]ater: "
_RUN_IT_LONG = "run it?  [y]es  [r] yes, for this run  [e]dit  [n]o  [l]ater  [a]ll of it: "
_DID_IT_HAPPEN = "did it happen?  [y]es  [n]o  make it [a]gain  [u]nknown  [l]ater: "


def approver_at(terminal: Terminal, *, yes: bool) -> TerminalApprover | None:
    """The person at the terminal; None where nobody is there, such as in a job of cron.

    Args:
        terminal, yes: as for `TerminalApprover`.
    """
    return TerminalApprover(terminal, yes=yes) if terminal.person or yes else None


class TerminalApprover:
    """An `Approver`: asks the person at the terminal.

    Args:
        terminal: where.
        yes: approve every call unasked (`--yes`); what is missing is still asked for.
    """

    def __init__(self, terminal: Terminal, *, yes: bool = False) -> None:
        self._terminal = terminal
        self._yes = yes

    async def ask(self, pending: Pending) -> Answer | None:
        """Show what waits, and wait. None when nobody is there or the person will answer later.

        Raises:
            CancelledError: the person pressed Ctrl-C: the run is cancelled.
        """
        if pending.kind == "approval" and pending.not_by == who():
            if self._terminal.person:
                show_pending(self._terminal, pending, SHOWN_MAX)
                self._terminal.note(f"{INDENT}You began this run: another person has to approve it.")
            return None
        if pending.kind == "approval" and self._yes:
            return Answer("approve", by=who(), claimed="--yes", tenant=NO_TENANT)
        if not self._terminal.person:
            return None
        self._terminal.waiting.end()
        self._terminal.drop_typed()
        try:
            answer = _WAYS[pending.kind](self, pending)
            return None if answer is None else structs.replace(answer, tenant=NO_TENANT)
        except KeyboardInterrupt:
            raise asyncio.CancelledError from None

    async def ask_turn(self, waiting: Sequence[Pending]) -> Answer | Literal["later", "each"]:
        """Show the calls of one reply as one question, and wait; see `core.policy.TurnApprover`.

        Raises:
            CancelledError: the person pressed Ctrl-C: the run is cancelled.
        """
        if self._yes or not self._terminal.person or any(each.not_by == who() for each in waiting):
            return "each"
        self._terminal.waiting.end()
        self._terminal.drop_typed()
        try:
            return self._approve_all(waiting)
        except KeyboardInterrupt:
            raise asyncio.CancelledError from None

    def _approve_all(self, waiting: Sequence[Pending]) -> Answer | Literal["later", "each"]:
        for pending in waiting:
            show_pending(self._terminal, pending, SHOWN_MAX)
        while True:
            question = tr("run all {count}?  [y]es  [o]ne by one  [n]o  [l]ater: ", count=len(waiting))
            typed = self._terminal.ask(f"{INDENT}{question}")
            match "later" if typed is None else typed.strip().lower():
                case "y" | "yes":
                    return Answer("approve", by=who(), tenant=NO_TENANT)
                case "o" | "one":
                    return "each"
                case "n" | "no":
                    return self._no()
                case "l" | "later":
                    return "later"
                case _:
                    pass  # asked again: nothing is taken for a yes or a no that is neither

    def _no(self) -> Answer:
        reason = self._terminal.ask(f"{INDENT}{tr('why not? (Enter for no reason): ')}")
        return Answer("deny", (reason or "").strip(), who(), tenant=NO_TENANT)

    def _approve(self, pending: Pending) -> Answer | None:
        show_pending(self._terminal, pending, SHOWN_MAX)
        arguments = pending.call.arguments if pending.call is not None else {}
        if pending.covers:
            covers = tr("r: yes, and {covers}. r NAME: the same, and NAME may differ", covers=covered(pending))
            self._terminal.note(f"{INDENT}{covers}")
        long = any(len(value_text(value)) > SHOWN_MAX for value in arguments.values())
        while True:
            typed = self._terminal.ask(f"{INDENT}{tr(_RUN_IT_LONG if long else _RUN_IT)}")
            word, *names = ["later"] if typed is None else typed.replace(",", " ").split() or [""]
            match "" if names and word.lower() not in ("r", "run") else word.lower():
                case "y" | "yes":
                    return Answer("approve", by=who())
                case "r" | "run":
                    answer = self._for_run(pending, names)
                    if answer is not None:
                        return answer
                case "e" | "edit":
                    edited = self._edit(arguments)
                    if edited is not None:
                        return Answer("approve", by=who(), arguments=edited)
                case "n" | "no":
                    return self._no()
                case "l" | "later":
                    return None
                case "a" | "all":
                    show_pending(self._terminal, pending, None)
                case _:
                    pass  # asked again: nothing is taken for a yes or a no that is neither

    def _for_run(self, pending: Pending, names: Sequence[str]) -> Answer | None:
        """An approval for the whole run in which these arguments may differ; None where one of them can not."""
        answer = Answer("approve", by=who(), for_run=True, free=tuple(names))
        try:
            fit(pending, answer)
        except UsageError as error:
            self._terminal.error(str(error))
            return None
        return answer

    def _edit(self, arguments: JsonObject) -> JsonObject | None:
        """The arguments with what the person changes; None when they change their mind."""
        typed = self._terminal.ask(f"{INDENT}{tr('NAME=VALUE, or Enter to leave it: ')}")
        try:
            return {**arguments, **read_pairs([typed])} if typed and typed.strip() else None
        except UsageError as error:
            self._terminal.error(str(error))
            return None

    def _clear_up(self, pending: Pending) -> Answer | None:
        show_pending(self._terminal, pending, None)
        while True:
            typed = self._terminal.ask(f"{INDENT}{tr(_DID_IT_HAPPEN)}")
            match "later" if typed is None else typed.strip().lower():
                case "y" | "yes":
                    return Answer("done", by=who())
                case "n" | "no":
                    return Answer("not_done", by=who())
                case "a" | "again":
                    return Answer("retry", by=who())
                case "u" | "unknown":
                    return Answer("unknown", by=who())
                case "l" | "later":
                    return None
                case _:
                    pass

    def _elicit(self, pending: Pending) -> Answer | None:
        return visit(self._terminal, pending) if pending.url else fill_in(self._terminal, pending)

    def _sample(self, pending: Pending) -> Answer | None:
        return let_ask(self._terminal, pending)

    def _later(self, pending: Pending) -> Answer | None:
        return None

    def _answer(self, pending: Pending) -> Answer | None:
        show_pending(self._terminal, pending, None)
        while True:
            typed = self._terminal.ask(f"{INDENT}> ")
            if typed is None or typed.strip():
                return None if typed is None else Answer("answer", typed.strip(), who())


_WAYS = {
    "approval": TerminalApprover._approve,
    "doubt": TerminalApprover._clear_up,
    "answer": TerminalApprover._answer,
    "result": TerminalApprover._answer,
    "elicitation": TerminalApprover._elicit,
    "sampling": TerminalApprover._sample,
    "roots": TerminalApprover._later,
}
_LABELS = {"approval": "approve?", "answer": "asked", "result": "yours", "doubt": "in doubt"}


def show_pending(
    terminal: Terminal, pending: Pending, characters: int | None, *, console: Console | None = None
) -> None:
    """Show a question that waits for a person.

    Of a call, every argument is shown in full, up to `characters` each. On stderr, if not said otherwise.
    """
    console = console or terminal.err
    label, message = _LABELS.get(pending.kind, "asks"), _message(pending)
    if pending.call is None:
        terminal.line(label, styled((message, "bold")), "bold magenta", console=console)
        show_form(terminal, pending, console)
        return
    head = styled((pending.call.name, "bold yellow"), (f"  {message}", "dim"))
    terminal.line(label, head, "bold magenta", console=console)
    for name, value in pending.call.arguments.items():
        text = visible(value_text(value))
        rest = ""
        if characters and len(text) > characters:
            rest = tr(" … and {count} characters more", count=f"{len(text) - characters:,}")
        origin = ", ".join(dict.fromkeys(_origins(pending, name)))
        whence = f"  ← {origin}" if origin else ""
        line = styled((f"{name} = ", "dim"), text[:characters], (rest, "bold red"), (whence, "dim cyan"))
        terminal.line("", line, console=console)
    show_form(terminal, pending, console)


def _message(pending: Pending) -> str:
    """What is asked, in the person's language: what the defence says is put together anew of its facts."""
    if pending.risk is None or str(pending.risk) not in pending.message:
        return tr_message(pending.message)
    said = [tr_message(each) for each in pending.risk.sentences()]
    before, _, after = pending.message.partition(str(pending.risk))
    return f"{tr_message(before.rstrip())} {' '.join(said)}{after}".lstrip()


def _origins(pending: Pending, name: str) -> Iterator[str]:
    """Where the value of an argument, or any value in it, came from."""
    for path, origins in pending.origins.items():
        if path == name or path.startswith((f"{name}.", f"{name}[")):
            yield from map(str, origins)
