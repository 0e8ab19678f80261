"""`actum backup` and `actum restore`: everything that this machine keeps for a server, in one file, and back."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Annotated

import typer

from ...compose.deploy.backup import back_up, restore
from ...core.language.translation import in_language
from .. import options
from ..language import language
from ..options import JournalFlag, JsonFlag
from ..show import moments
from ..show.terminal import Terminal, said, who


def backup(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The backup that is made; there must be none yet.")],
    as_json: JsonFlag = False,
    journal: JournalFlag = "",
) -> None:
    """Back up the journal, the settings and what belongs to them, also while a server is at work.

    With PostgreSQL all but the database is in the file, and the line is printed that backs up the database. What is not
    in the file and has to be carried apart is told by name.
    """
    terminal, settings = Terminal(), options.read(journal=journal)
    made = back_up(settings, os.environ, Path.cwd(), Path(said(file)))
    if as_json:
        terminal.json(made)
        return
    terminal.note(
        "{file} is made: {count:file|files}, {bytes} bytes", file=made.file, count=made.files, bytes=made.bytes
    )
    if made.command:
        terminal.note("The database is not in the file. Back it up by:")
        terminal.text(made.command)
    _tell_apart(terminal, made.apart)


def restore_backup(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A backup that `actum backup` has made.")],
    into: Annotated[str, typer.Option(metavar="FOLDER", help="A new folder, or an empty one.")],
    revoke_keys: Annotated[bool, typer.Option("--revoke-keys", help="Revoke all keys that are valid again.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Restore a backup into a new folder. What was unfinished is held: nothing of it goes on or goes out by itself.

    Digests and chains are checked before anything has its place. `actum runs release` lets go on what is held.
    """
    terminal = Terminal()
    found = restore(options.read(), Path(said(file)), Path(said(into)), revoke_keys=revoke_keys, by=who())
    if as_json:
        terminal.json(found)
        return
    at = moments.shown(found.at)
    terminal.note("{folder} is restored, as of {at}: {runs:run|runs}", folder=found.folder, at=at, runs=found.runs)
    if found.held:
        terminal.note(
            "{count:run was unfinished and is|runs were unfinished and are} held. The record does not know what was "
            "done since: look at them with `actum runs list --status interrupted`, then `actum runs release RUN` or "
            "`--all`.",
            count=found.held,
        )
    terminal.note("Nobody is logged in: people log in again, since they may have logged out since.")
    terminal.note("What was forgotten since is there again: repeat each `actum journal forget`.")
    if found.approvals:
        terminal.note(
            "{count:approval waits again; it|approvals wait again; some} may have been answered since.",
            count=found.approvals,
        )
    if found.revoked:
        terminal.note("{count:key was|keys were} revoked.", count=found.revoked)
    elif found.keys:
        terminal.note(
            "These keys are valid again, also those that were revoked since: {keys}. `actum keys revoke` ends one.",
            keys=" ".join(found.keys),
        )
    _tell_apart(terminal, found.apart)
    terminal.note("Start a server there by:")
    variables = " ".join(f"{name}={shlex.quote(value)}" for name, value in found.variables.items())
    terminal.text(f"cd {shlex.quote(found.folder)} && {variables} actum serve")


def _tell_apart(terminal: Terminal, apart: tuple[str, ...]) -> None:
    if apart:
        terminal.note("Not in the backup, to be carried apart:")
    for each in apart:
        told = in_language(each, language(), "message")
        terminal.note(f"  {told}")
