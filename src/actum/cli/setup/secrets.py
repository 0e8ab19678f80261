"""`actum secrets`: what tools may ask for by name: set one, list them, remove one, change the key. The list and the end
of a secret are made from operations.

A value is read from a prompt that shows nothing, or from stdin. It is never an argument, which every user of the
machine could read, and no command shows it.
"""

from __future__ import annotations

import asyncio
import getpass
import os
import sys
import warnings
from typing import Annotated

import typer

from ...compose.administration import open_application
from ...compose.secrets import begin_rekey, secret_file
from ...core.errors import UsageError
from ...core.json import Json
from ...core.secrets.store import VALUE_BYTES_MAX, SecretValue, checked_name, checked_value
from ...core.user import User
from ...runs.administration import put_on_record
from ...server.api.secrets import OPERATIONS
from .. import options
from ..exit_codes import DONE
from ..language import tr
from ..operated import add_commands
from ..options import JournalFlag
from ..show.terminal import Terminal, said, who

app = typer.Typer(help="Secrets for tools: set one, list them, remove one.", invoke_without_command=True)
SECRETS = add_commands(app, OPERATIONS)

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The name of the secret.")]
UserFlag = Annotated[
    str, typer.Option("--user", metavar="NAME", help="Whose secret it is. Default: everybody shares it.")
]
TenantFlag = Annotated[str, typer.Option("--tenant", metavar="NAME", help="The tenant that the secret belongs to.")]


@app.command("set")
def set_one(name: NameArgument, user: UserFlag = "", tenant: TenantFlag = "", journal: JournalFlag = "") -> int:
    """Set a secret. The value is asked for and not shown; without a terminal it is read from stdin.

    For instance: actum secrets set crm_key, or: actum secrets set crm_key --user ann < key.txt
    """
    name, owner = checked_name(said(name)), User(said(tenant), said(user))
    terminal, store, settings = Terminal(), secret_file(os.environ), options.read(journal=journal)
    source = store.check()  # before somebody types a value in vain
    value = checked_value(_read_value(name))

    async def command() -> None:
        async with open_application(settings) as application:
            given: dict[str, Json] = {"value": value.reveal(), "user": owner.principal}
            await SECRETS.ask(application, "setSecret", {"name": name}, given, owner.tenant)

    asyncio.run(command())
    terminal.note(tr("The secret {name} is set, in {path}. Its key: {key}.", name=name, path=store.path, key=source))
    return DONE


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

    async def command() -> bool:
        async with options.journal(options.read(journal=journal)) as opened:
            await put_on_record(opened, "secrets.rekey", {"step": step}, principal=who())
        if finish or cancel:
            store.finish_rekey() if finish else store.cancel_rekey()
            return True
        return begin_rekey(store, os.environ)

    if asyncio.run(command()):
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
