"""`actum`: the commands put together, and the edge at which every error becomes one line and an exit code.

    0  done     1  failed, or stopped at a limit     2  misuse     3  waits for a person     130  Ctrl-C

Answers and data go to stdout, everything else to stderr. `ACTUM_DEBUG=1` shows where an error of actum itself came
from.
"""

from __future__ import annotations

import asyncio
import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Annotated, NoReturn, TextIO

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from ..core.errors import ActumError, JournalError, UsageError
from ..core.given_secrets import GIVEN
from ..core.redacted_log import redact_logs, traceback_of
from . import (
    a2a,
    agents,
    approvals,
    audit,
    call,
    catalog,
    chat,
    config,
    conversations,
    demo,
    dialects,
    doctor,
    journal,
    keys,
    models,
    policy,
    run,
    runs,
    secrets,
    serve,
    tasks,
    tools,
    transcode,
    trigger,
    worker,
    workflow,
)
from .language import language, tr, tr_help
from .mcp import commands as mcp
from .show.help import ChineseHelp
from .show.terminal import Terminal, plain_characters, version_of

CANCELLED = 130


ORDER = (
    *(
        "init",
        "demo",
        "run",
        "chat",
        "call",
        "models",
        "tools",
        "mcp",
        "a2a",
        "catalog",
        "serve",
        "worker",
        "policy",
        "agents",
        "runs",
        "resume",
        "approvals",
        "tasks",
        "workflow",
        "trigger",
    ),
    *("conversations", "audit", "secrets", "journal", "keys", "dialects", "transcode", "config", "doctor"),
)
"""In which the commands are listed: as somebody comes to need them."""


class Commands(TyperGroup):
    """The commands, with one edge around them all: nothing leaves it but an exit code."""

    def list_commands(self, ctx: object) -> list[str]:
        return sorted(self.commands, key=ORDER.index)

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: object,
    ) -> NoReturn:
        given = list(sys.argv[1:] if args is None else args) or ["--help"]
        plain_characters()
        _translate(self)
        with warnings.catch_warnings():
            warnings.showwarning = _note_warning
            try:
                code = super().main(given, prog_name or "actum", complete_var, False, windows_expand_args, **extra)
            except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001  # the edge: who typed the command hears of it
                code = _tell(error, as_json="--json" in given)
        if code == CANCELLED:
            Terminal().note(tr("cancelled"))
        sys.exit(code)


app = typer.Typer(
    cls=Commands,
    name="actum",
    help="What a language model says, done: any model, any tool, one call path, everything on record.",
    epilog='Try: actum run "What is 17 * 23, and what time is it in Tokyo?" -v',
    rich_markup_mode="rich" if sys.stdout.isatty() else None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(run.run)
app.command()(chat.chat)
app.command()(call.call)
app.command()(run.resume)
app.add_typer(models.app, name="models")
app.add_typer(agents.app, name="agents")
app.add_typer(runs.app, name="runs")
app.add_typer(approvals.app, name="approvals")
app.add_typer(tasks.app, name="tasks")
app.add_typer(workflow.app, name="workflow")
app.add_typer(trigger.app, name="trigger")
app.add_typer(tools.app, name="tools")
app.add_typer(mcp.app, name="mcp")
app.add_typer(a2a.app, name="a2a")
app.add_typer(catalog.app, name="catalog")
app.command("serve")(serve.serve)
app.command("worker")(worker.worker)
app.add_typer(policy.app, name="policy")
app.add_typer(conversations.app, name="conversations")
app.command("audit")(audit.show_audit)
app.add_typer(secrets.app, name="secrets")
app.add_typer(journal.app, name="journal")
app.add_typer(keys.app, name="keys")
app.command()(dialects.dialects)
app.command()(transcode.transcode)
app.command()(config.init)
app.add_typer(config.app, name="config")
app.command()(doctor.doctor)
app.command()(demo.demo)


def _translate(command: TyperCommand | TyperGroup) -> None:
    """Let `--help` of a command, and of all below it, speak the person's language."""
    command.context_class = ChineseHelp if language() == "zh" else typer.Context
    command.help, command.epilog = command.help and tr_help(command.help), command.epilog and tr_help(command.epilog)
    for parameter in command.params:
        if isinstance(parameter, TyperOption | TyperArgument) and parameter.help:
            parameter.help = tr_help(parameter.help)
    for inner in command.commands.values() if isinstance(command, TyperGroup) else ():
        if isinstance(inner, TyperCommand | TyperGroup):
            _translate(inner)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"actum {version_of('actum')}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", "-V", help="Print the version.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    """Every command has --help; data goes to stdout, everything else to stderr."""


def main() -> None:
    """The entry point of the `actum` script."""
    redact_logs(os.environ)
    app()


def _tell(error: BaseException, *, as_json: bool) -> int:
    """Tell what went wrong, in one line on stderr, with `--json` on stdout too. The exit code."""
    message, code = str(error), run.FAILED
    match error:
        case asyncio.CancelledError():
            return CANCELLED
        case typer.TyperException():
            message, code = f"{error.format_message()} (--help tells more)", error.exit_code
        case UsageError():
            code = run.MISUSED
        case JournalError():
            message += ". Name another with --journal PATH or ACTUM_JOURNAL, or use --journal memory"
        case ActumError():
            pass
        case _:
            message = _bug(error)
    terminal, message = Terminal(), GIVEN.without(message)
    if as_json:
        terminal.json({"status": "failed", "error": {"kind": GIVEN.without(type(error).__name__), "message": message}})
    terminal.error(" ".join(message.split()))
    return code


def _bug(error: BaseException) -> str:
    """A bug: ours, or one in a model of the user's own."""
    if os.environ.get("ACTUM_DEBUG"):
        sys.stderr.write(traceback_of(error))
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} at {frame.filename}:{frame.lineno}: {error}. ACTUM_DEBUG=1 shows the way there"


def _note_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    Terminal().note(f"note: {message}")
