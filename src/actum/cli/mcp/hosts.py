"""`actum mcp config`: the entry by which another program, a host, starts `actum mcp serve`; and the host's own file."""

from __future__ import annotations

import difflib
import os
import re
import sys
from pathlib import Path
from typing import Annotated

import typer

from ...core.errors import UsageError
from ...core.json import JsonObject
from ...core.process.named_file import read_named
from ...protocols.jsonc_edit import with_member, without_member
from ...protocols.mcp.hosts import HOSTS, Host, entry_for, file_of, host_named
from ...storage.whole_file import alone_with, replace
from ..exit_codes import DONE, FAILED
from ..options import JsonFlag, ToolsFlag
from ..show.terminal import Terminal, said

COPY = ".before-actum"
"""What is added to the name of a host's file for the copy of the file as it was."""
BYTES_MAX = 16 * 1024 * 1024
NAMED = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
SECRET = re.compile(r"KEY|SECRET|TOKEN|PASSWORD")

HostArgument = Annotated[
    str, typer.Argument(metavar="HOST", help=f"One of {', '.join(host.name for host in HOSTS)}.", show_default=False)
]


def config(
    host: HostArgument,
    name: Annotated[str, typer.Option(metavar="NAME", help="What the host calls the server.")] = "actum",
    tools: ToolsFlag = None,
    write: Annotated[
        bool, typer.Option("--write", help="Put the entry into the host's file; the rest of the file stays.")
    ] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Take the entry out of the host's file.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Change the file without asking.")] = False,
    as_json: JsonFlag = False,
) -> int:
    """Print the entry by which a host, such as Claude Desktop, starts `actum mcp serve` in this folder.

    With --write the entry is put into the host's file: the difference is shown first, and a copy stays beside it.
    """
    terminal, known = Terminal(), host_named(said(host))
    if write and remove:
        raise UsageError("--write puts the entry in, --remove takes it out: choose one")
    word = file_of(known, sys.platform)
    path = Path(word).expanduser() if word else None
    entry = _entry(known, [said(tool) for tool in tools or []])
    if as_json:
        terminal.json({"host": known.name, "file": str(path or ""), "key": known.key, "name": name, "entry": entry})
    elif not (write or remove):
        terminal.text(with_member("", known.key, name, entry).rstrip("\n"))
    if write or remove:
        return _change(terminal, known, path, name, None if remove else entry, yes=yes)
    if path is not None:
        terminal.note(
            "{title} keeps its servers in {path}. To put the entry there: --write", title=known.title, path=path
        )
    terminal.note(known.after)
    _tell_variables(terminal, known)
    return DONE


def _entry(host: Host, tools: list[str]) -> JsonObject:
    """The entry for this installation and this folder."""
    program = Path(sys.executable).with_name("actum.exe" if sys.platform == "win32" else "actum")
    command, start = (str(program), []) if program.is_file() else (sys.executable, ["-m", "actum"])
    flags = [word for tool in tools for word in ("--tools", tool)]
    variables = {
        key: value
        for key, value in sorted(os.environ.items())
        if key.startswith("ACTUM_") and not SECRET.search(key) and "@" not in value
    }
    return entry_for(host, command, [*start, "mcp", "serve", "--in", str(Path.cwd()), *flags], variables)


def _tell_variables(terminal: Terminal, host: Host) -> None:
    """Name the variables that the settings of this folder want: a host does not have those of a shell."""
    settings = Path("actum.toml")
    named = sorted(set(NAMED.findall(settings.read_text("utf-8", "replace")))) if settings.is_file() else []
    if named:
        terminal.note(
            "actum.toml names variables that {title} may not have: {names}. Put no secret into its file; keep it with "
            "`actum secrets set`.",
            title=host.title,
            names=", ".join(named),
        )


def _change(
    terminal: Terminal, host: Host, path: Path | None, name: str, entry: JsonObject | None, *, yes: bool
) -> int:
    """Put an entry into a host's file, or take it out with None, when the person agrees to the difference."""
    if path is None:
        raise UsageError("{title} keeps its servers in no file: {after}", title=host.title, after=host.after)
    if not path.parent.is_dir():
        raise UsageError(
            "{title} was looked for at {folder}, and there is no such folder: install it and start it once",
            title=host.title,
            folder=path.parent,
        )
    with alone_with(path):
        before = _read(path)
        try:
            if entry is None:
                after = without_member(before, host.key, name)
            else:
                after = with_member(before, host.key, name, entry)
        except UsageError as error:
            raise UsageError("{path}: {why}", path=path, why=error) from None
        if after == before:
            terminal.note("{path} is as it should be: nothing was changed", path=path)
            return DONE
        shown = difflib.unified_diff(before.splitlines(), after.splitlines(), str(path), str(path), lineterm="")
        terminal.err.print("\n".join(shown), markup=False, highlight=False)
        if not yes:
            typed = terminal.ask("change the file?  [y]es  [n]o: ") if terminal.person else None
            if (typed or "").strip().lower() not in ("y", "yes"):
                terminal.note("Nothing was changed. With --yes it is, without a question.")
                return FAILED
        if _read(path) != before:
            raise UsageError("{path} was changed meanwhile: nothing was written, try again", path=path)
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
        if path.exists():
            replace(path.with_name(path.name + COPY), before.encode("utf-8"))
        replace(path, after.encode("utf-8"))
        path.chmod(mode)
    terminal.note("{path} is changed; as it was: {copy}", path=path, copy=path.name + COPY)
    terminal.note(host.after)
    return DONE


def _read(path: Path) -> str:
    """What a host's file holds; an empty text where there is none.

    Raises:
        UsageError: the file can not be read, is too large, or is no UTF-8.
    """
    try:
        if path.stat().st_size > BYTES_MAX:
            raise UsageError("{path} is too large to be a file of servers: nothing was changed", path=path)
        return read_named(path).decode("utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError("{path} can not be read: {why}", path=path, why=error) from None
