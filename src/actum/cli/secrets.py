"""`actum secrets`: what tools may ask for by name: set one, list them, remove one, change the key.

A value is read from a prompt that shows nothing, or from stdin. It is never an argument, which every user of the
machine could read, and no command shows it.
"""

from __future__ import annotations

import asyncio
import getpass
import os
import sys
import warnings
from collections.abc import Awaitable, Callable
from typing import Annotated, TypeVar

import typer

from ..compose.secrets import EnvironmentSecrets, begin_rekey, remove_secret, secret_file, set_secret
from ..core.errors import UsageError
from ..core.interfaces import Journal
from ..core.json import Json, JsonObject
from ..core.secret_store import VALUE_BYTES_MAX, SecretEntry, SecretValue, checked_name, checked_value
from ..core.user import User
from ..runs.administration import put_on_record
from . import options
from .exit_codes import DONE, FAILED
from .language import tr
from .options import JournalFlag, JsonFlag
from .show import moments
from .show.terminal import Terminal, said, who

app = typer.Typer(help="Secrets for tools: set one, list them, remove one.", invoke_without_command=True)

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The name of the secret.")]
UserFlag = Annotated[
    str, typer.Option("--user", metavar="NAME", help="Whose secret it is. Default: everybody shares it.")
]
TenantFlag = Annotated[str, typer.Option("--tenant", metavar="NAME", help="The tenant that the secret belongs to.")]

T = TypeVar("T")


@app.callback()
def secrets(context: typer.Context) -> None:
    """Without a word more, the list."""
    if context.invoked_subcommand is None:
        list_secrets()


@app.command("set")
def set_one(name: NameArgument, user: UserFlag = "", tenant: TenantFlag = "", journal: JournalFlag = "") -> int:
    """Set a secret. The value is asked for and not shown; without a terminal it is read from stdin.

    For instance: actum secrets set crm_key, or: actum secrets set crm_key --user ann < key.txt
    """
    name, owner = checked_name(said(name)), User(said(tenant), said(user))
    terminal, store = Terminal(), secret_file(os.environ)
    source = store.check()  # before somebody types a value in vain
    value = checked_value(_read_value(name))
    _on_record(journal, lambda opened: set_secret(opened, store, name, value, owner, who()))
    terminal.note(tr("The secret {name} is set, in {path}. Its key: {key}.", name=name, path=store.path, key=source))
    return DONE


@app.command("list")
def list_secrets(as_json: JsonFlag = False) -> int:
    """List the secrets: names, owners, when each was set. Values are never shown."""
    terminal, store = Terminal(), secret_file(os.environ)
    rows = [(entry, "file") for entry in store.entries()]
    rows += [(entry, "environment") for entry in EnvironmentSecrets(os.environ).entries()]
    if as_json:
        terminal.json([_as_json(entry, place) for entry, place in rows])
    elif not rows:
        terminal.note(tr("There are no secrets yet. Try: actum secrets set crm_key"))
    else:
        terminal.table(
            "name",
            "user",
            "tenant",
            "set",
            "kept in",
            rows=[
                (
                    entry.name,
                    entry.owner.principal or tr("(shared)"),
                    entry.owner.tenant,
                    moments.shown(entry.set_at) if entry.set_at else "",
                    tr(place),
                )
                for entry, place in rows
            ],
        )
    return DONE


@app.command("rm")
def remove(name: NameArgument, user: UserFlag = "", tenant: TenantFlag = "", journal: JournalFlag = "") -> int:
    """Remove a secret. A variable of the environment can not be removed here."""
    name, owner = said(name), User(said(tenant), said(user))
    terminal, store = Terminal(), secret_file(os.environ)
    if _on_record(journal, lambda opened: remove_secret(opened, store, name, owner, who())):
        terminal.note(tr("The secret {name} is removed.", name=name))
        return DONE
    terminal.error(
        tr("There is no secret {name} of this owner: `actum secrets list` tells which there are.", name=name)
    )
    return FAILED


@app.command("rekey")
def rekey(
    finish: Annotated[
        bool, typer.Option("--finish", help="With the new key: the old one opens nothing any more.")
    ] = False,
    cancel: Annotated[
        bool, typer.Option("--cancel", help="With the old key: the new one opens nothing any more.")
    ] = False,
    journal: JournalFlag = "",
) -> int:
    """Change the key of the secrets: first both keys are valid, and with --finish only the new one.

    The new key is named by ACTUM_SECRETS_NEW_KEY_FILE or ACTUM_SECRETS_NEW_KEY. Without them, a key in the system
    keyring is replaced at once.
    """
    if finish and cancel:
        raise UsageError("--finish and --cancel exclude each other")
    terminal, store = Terminal(), secret_file(os.environ)
    step = "finish" if finish else "cancel" if cancel else "begin"

    async def command(opened: Journal) -> bool:
        await put_on_record(opened, "secrets.rekey", {"step": step}, principal=who())
        if finish or cancel:
            store.finish_rekey() if finish else store.cancel_rekey()
            return True
        return begin_rekey(store, os.environ)

    if _on_record(journal, command):
        terminal.note(tr("One key opens {path} now, and all values are encrypted anew.", path=store.path))
    else:
        terminal.note(
            tr(
                "Two keys open {path} now. Set ACTUM_SECRETS_KEY_FILE or ACTUM_SECRETS_KEY to the new key everywhere, "
                "then: actum secrets rekey --finish",
                path=store.path,
            )
        )
    return DONE


def _on_record(journal: str, act: Callable[[Journal], Awaitable[T]]) -> T:
    """Do what is put on record in the journal of this command."""
    settings = options.read(journal=journal)

    async def command() -> T:
        async with options.journal(settings) as opened:
            return await act(opened)

    return asyncio.run(command())


def _read_value(name: str) -> SecretValue:
    """The value that a person types, or that stdin holds; a line end behind it is none of it.

    Raises:
        UsageError: the terminal can not hide what is typed.
    """
    if sys.stdin is None:
        raise UsageError("there is no stdin to read the value of the secret from")
    if not sys.stdin.isatty():
        read = sys.stdin.buffer.read(VALUE_BYTES_MAX + 3).decode(errors="surrogateescape")
        return SecretValue(read.removesuffix("\n").removesuffix("\r"))
    with warnings.catch_warnings():
        warnings.simplefilter("error", getpass.GetPassWarning)
        try:
            return SecretValue(getpass.getpass(tr("The value of {name} (it is not shown): ", name=name)))
        except getpass.GetPassWarning:
            raise UsageError("this terminal would show the value: give it by stdin, as in `< key.txt`") from None
        except EOFError:
            return SecretValue("")


def _as_json(entry: SecretEntry, place: str) -> JsonObject:
    told: dict[str, Json] = {"name": entry.name, "user": entry.owner.principal, "tenant": entry.owner.tenant}
    return {**told, "set_at": entry.set_at or None, "kept_in": place}
