"""`actum`: the commands put together, and the edge at which every error becomes one line and an exit code.

    0  done     1  failed, or stopped at a limit     2  misuse     3  waits for a person     130  Ctrl-C

Answers and data go to stdout, everything else to stderr. `ACTUM_DEBUG=1` shows where an error of actum itself came
from.

A command is imported when it is used: `--version`, `--help` and the completion of a shell read `commands.py` alone.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Literal, NoReturn, TextIO

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption
from typer.main import get_group

from .commands import COMMANDS, KnownCommand
from .exit_codes import CANCELLED
from .language import language, tr, tr_help
from .show.characters import plain_characters

if TYPE_CHECKING:
    from typer._click.core import Command, Context  # what the methods that are overridden here are typed by

MARKUP: Literal["rich"] | None = "rich" if sys.stdout.isatty() else None


class Unloaded(TyperGroup):
    """A command that is imported when it is used. Until then its help is known, and the names below it.

    Args:
        name: the name of the command.
        entry: what is known of the command.
    """

    def __init__(self, name: str, entry: KnownCommand) -> None:
        below: dict[str, Command] = {name: TyperCommand(name, help=text) for name, text in entry.commands.items()}
        super().__init__(name=name, commands=below, help=entry.help, rich_markup_mode=MARKUP)
        self._entry = entry

    def make_context(
        self, info_name: str | None, args: list[str], parent: Context | None = None, **extra: object
    ) -> Context:
        """The context of the command. Where only the names below a group are asked for, the group's own context."""
        is_listed = extra.get("resilient_parsing") and not args
        if self.commands and (is_listed or (parent is not None and args and args[0] in parent.help_option_names)):
            return super().make_context(info_name, args, parent, **extra)
        return self.loaded().make_context(info_name, args, parent, **extra)

    def loaded(self) -> TyperCommand | TyperGroup:
        """The command itself."""
        command = _imported(self.name or "", self._entry.place)
        _translate(command)
        return command


class FeatureCommands(TyperGroup):
    """The commands of a feature, which is imported when one of them is used.

    Args:
        name: the name of the feature.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name=name, help=tr("Commands of a feature; see `actum features`."))

    def make_context(
        self, info_name: str | None, args: list[str], parent: Context | None = None, **extra: object
    ) -> Context:
        """The context of the feature's own group.

        Raises:
            UsageError: the feature can not be used, or has no commands.
        """
        from .feature_commands import commands_of  # noqa: PLC0415  # all of the settings, and the feature's own code

        name = self.name or ""
        found = commands_of(name)
        if found is None:
            from ..core.errors import UsageError  # noqa: PLC0415  # as above

            raise UsageError("the feature {name!r} has no commands, or is not switched on in actum.toml", name=name)
        around = typer.Typer(rich_markup_mode=MARKUP)
        around.add_typer(found, name=name)
        command = get_group(around).commands[name]
        assert isinstance(command, TyperGroup)
        _translate(command)
        return command.make_context(info_name, args, parent, **extra)


def _named_features() -> list[str]:
    """The features that the settings switch on, by their names."""
    from .feature_names import named  # noqa: PLC0415  # which our own commands have no need of

    return named()


def _imported(name: str, place: str) -> TyperCommand | TyperGroup:
    module, _, attribute = place.partition(":")
    found = getattr(import_module(f".{module}", __package__), attribute)
    around = typer.Typer(rich_markup_mode=MARKUP)
    if isinstance(found, typer.Typer):
        around.add_typer(found, name=name)
    else:
        around.command(name)(found)
    command = get_group(around).commands[name]
    assert isinstance(command, TyperCommand | TyperGroup)
    return command


class Commands(TyperGroup):
    """The commands, with one edge around them all: nothing leaves it but an exit code."""

    def __init__(self, **settings: object) -> None:
        super().__init__(**settings)  # type: ignore[arg-type]  # what Typer has made of the settings of `app`
        self.commands = {name: Unloaded(name, entry) for name, entry in COMMANDS.items()}

    def list_commands(self, ctx: Context) -> list[str]:
        """The names of the commands, those of features last."""
        return [*self.commands, *(name for name in _named_features() if name not in self.commands)]

    def get_command(self, ctx: Context, cmd_name: str) -> Command | None:
        """A command; where actum itself has none of this name, that of a feature."""
        found = super().get_command(ctx, cmd_name)
        return found if found is not None or cmd_name not in _named_features() else FeatureCommands(cmd_name)

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
            except (SystemExit, KeyboardInterrupt):
                raise
            except BaseException as error:  # noqa: BLE001  # the edge: who typed the command hears of it
                from .edge import tell  # noqa: PLC0415  # rich and asyncio, which help needs none of

                code = tell(error, as_json="--json" in given)
        if code == CANCELLED:
            from .show.terminal import Terminal  # noqa: PLC0415  # rich, which help needs none of

            Terminal().note(tr("cancelled"))
        sys.exit(code)


app = typer.Typer(
    cls=Commands,
    name="actum",
    help="What a language model says, done: any model, any tool, one call path, everything on record.",
    epilog='Try: actum run "What is 17 * 23, and what time is it in Tokyo?" -v',
    rich_markup_mode=MARKUP,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _translate(command: TyperCommand | TyperGroup) -> None:
    """Let `--help` of a command, and of all below it, speak the person's language."""
    command.context_class = _context_class()
    command.help, command.epilog = command.help and tr_help(command.help), command.epilog and tr_help(command.epilog)
    for parameter in command.params:
        if isinstance(parameter, TyperOption | TyperArgument) and parameter.help:
            parameter.help = tr_help(parameter.help)
    for inner in command.commands.values() if isinstance(command, TyperGroup) else ():
        if isinstance(inner, TyperCommand | TyperGroup):
            _translate(inner)


def _context_class() -> type[typer.Context]:
    if language() != "zh":
        return typer.Context
    from .show.help import ChineseHelp  # noqa: PLC0415  # rich, which English help needs none of

    return ChineseHelp


def _show_version(wanted: bool) -> None:
    if wanted:
        from .versions import version_of  # noqa: PLC0415  # a fifth of the time that other commands take to begin

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
    if sys.argv[1:] not in (["--version"], ["-V"]):  # which logs nothing, and takes a third longer with this
        from ..core.secrets.redacted_log import redact_logs  # noqa: PLC0415  # see above

        redact_logs(os.environ)
    app()


def _note_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    from .edge import note_warning  # noqa: PLC0415  # rich, which help needs none of

    note_warning(message)
