"""One command in a jail as a tool runs it: files in, text and files out, and an error that says how the command failed.

What the command leaves in its work folder is collected without following links, and only from beneath that folder.
`code.py` runs code that a model wrote in this way, `scripts.py` runs scripts of a folder.
"""

from __future__ import annotations

import asyncio
import mimetypes
import os
import signal
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from ..core.attachment import File
from ..core.call import Effect, MediaPart, TextPart
from ..core.errors import CallError, ResourceLimit, ToolError, Unavailable, UsageError
from ..core.secret_values import is_secret_name
from ..core.visible import shown_path
from ..sandbox.jail import Jail
from ..sandbox.layers import start
from ..sandbox.process import AROUND_PROXY, JailedProcess, JailReport
from ..transport.egress import Egress

OUTPUT_BYTES_MAX = 100_000
"""So much of what a program prints is kept; the rest is read and dropped, so that the program is not stuck."""
STDERR_SHOWN_MAX = 4_000
FILES_MAX = 16
FILE_BYTES_MAX = 8 * 1024 * 1024
NAMES_MAX = 2_000
DEPTH_MAX = 16
"""Folders that are nested deeper are not looked into."""
HIDDEN = ("tmp", "__pycache__")
ENDING_S = 15.0
"""Seconds to start a command, and to end the command and collect its files."""
SECRET_CHARS_MIN = 4
"""What is shorter can't be told from other words."""

Returned = list[TextPart | File]


class CommandOutput(Struct, frozen=True):
    """What a command printed and left behind.

    Attributes:
        said: what it printed.
        errors: the end of what it wrote to stderr.
        files: the files that are new or changed, by their path in the work folder.
    """

    said: str
    errors: str
    files: dict[str, bytes]

    @property
    def text(self) -> str:
        """What it printed, and what it wrote to stderr under a line that says so."""
        errors = f"[stderr]\n{self.errors.rstrip()}" if self.errors.strip() else ""
        return "\n".join(part for part in (self.said.rstrip("\n"), errors) if part)


async def run_command(
    command: Sequence[str],
    jail: Jail,
    files: Mapping[str, bytes],
    *,
    stdin: bytes = b"",
    what: str = "The code",
    collect: Sequence[str] = (),
    egress: Egress | None = None,
) -> CommandOutput:
    """Run a command in a jail to its end.

    Args:
        command: the program and its arguments.
        jail: what the command may do.
        files: what lies in its work folder at the start.
        stdin: what the command reads.
        what: what the command is called in errors.
        collect: hidden files that are collected, too.
        egress: the operator's rules for outgoing calls, where the jail names hosts.

    Raises:
        Unavailable: the machine does not hold the jail; nothing was run.
        ResourceLimit: a limit of the jail ended the command.
        ToolError: the command failed; the message has the exit code or the signal, and the last lines of stderr.
            These two errors carry the files that the command wrote before it ended.
    """
    try:
        async with start(command, jail, files=files, egress=egress) as process:
            _, said, errors = await asyncio.gather(
                _write(process.child.stdin, stdin),
                _read(process.child.stdout),
                _read(process.child.stderr, STDERR_SHOWN_MAX, last=True),
            )
            report = await process.ended()
            around = process.went_around_proxy()
            left = await asyncio.to_thread(collected, process.work, lambda name, data: files.get(name) == data, collect)
    except UsageError as error:
        raise Unavailable("{what} was not run: {why}", what=what, why=error) from None
    output = CommandOutput(plain(said, process, jail), plain(errors, process, jail), left)
    check_report(report, jail, output, what, around=around)
    return output


def check_report(report: JailReport, jail: Jail, output: CommandOutput, what: str, *, around: bool = False) -> None:
    """See that a command ended well.

    Args:
        report: how the command ended.
        jail: what it ran in.
        output: what it printed and left.
        what: what the command is called in errors.
        around: it tried to connect without the proxy of its jail.

    Raises:
        ResourceLimit, ToolError: as `run_command`.
    """
    if report.exit == 0 and not report.limit:
        return
    hint = AROUND_PROXY if around else ""
    shown = "\n".join(part for part in (output.said[-STDERR_SHOWN_MAX:], output.errors, hint) if part.strip())
    kind: type[CallError] = ResourceLimit if report.limit or report.exit is None else ToolError
    effect: Effect = "none" if jail.changes_nothing_outside else "unknown"
    raise kind(f"{reason(report, jail, what)}\n{shown}".rstrip(), effect=effect, files=written(output.files))


def written(files: Mapping[str, bytes]) -> list[MediaPart]:
    """The files of a command that failed, as its error carries them. Names that begin with a dot are ours."""
    return [file.part() for file in media(files) if not file.name.startswith(".")]


def patience_s(jail: Jail) -> float:
    """Seconds that a call of a command may take. The jail's own limit comes first: its error has the files."""
    return jail.limits.seconds + ENDING_S


def reason(report: JailReport, jail: Jail, what: str) -> str:
    """How a command ended, in words for a model."""
    if report.limit:
        return f"{what} was ended at the limit {report.limit} = {getattr(jail.limits, report.limit)}."
    if report.exit is None:
        return f"{what} was ended from outside; how far it came is not known."
    if report.exit < 0:
        return f"{what} was ended by signal {-report.exit} ({signal.strsignal(-report.exit) or 'unknown'})."
    return f"{what} ended with exit code {report.exit}."


async def _write(stream: asyncio.StreamWriter, data: bytes) -> None:
    try:
        if data:
            stream.write(data)
            await stream.drain()
    except OSError:  # the command does not read it
        pass
    finally:
        stream.close()


async def _read(stream: asyncio.StreamReader, most: int = OUTPUT_BYTES_MAX, *, last: bool = False) -> str:
    """The beginning or the end of what a program writes, while all of it is read."""
    kept, dropped = b"", 0
    while part := await stream.read(65_536):
        joined = kept + part
        kept = joined[-most:] if last else joined[:most]
        dropped += len(joined) - len(kept)
    text = kept.decode("utf-8", "replace")
    note = f"[{dropped} bytes are left out]"
    return text if not dropped else f"{note}\n{text}" if last else f"{text}\n{note}"


def plain(text: str, process: JailedProcess, jail: Jail) -> str:
    """What a command wrote, without the path of its work folder and without the secrets of its environment."""
    for name, value in jail.environment.items():
        if len(value) >= SECRET_CHARS_MIN and is_secret_name(name):
            text = text.replace(value, "[secret]")
    return text.replace(f"{process.work}/", "").replace(str(process.work), ".")


def file_name(file: File | MediaPart) -> str:
    """The last part of the name of a file, which somebody else may have chosen."""
    name = file.name.replace("\\", "/").rpartition("/")[2].replace("\0", "")[:100]
    return name if name.strip(". ") else "file"


def media(files: Mapping[str, bytes]) -> Iterator[File]:
    """Files that a command left, as a tool returns them."""
    for name, data in files.items():
        yield File(data, media_type=mimetypes.guess_type(name)[0] or "application/octet-stream", name=name)


def collected(work: Path, is_known: Callable[[str, bytes], bool], hidden: Sequence[str] = ()) -> dict[str, bytes]:
    """What the code left: regular files below its folder that are not known. No link is followed.

    Args:
        work: the folder. A command may still run in it and change it.
        is_known: whether a file of this path with these bytes is no news.
        hidden: hidden files that are collected, too.
    """
    found: dict[str, bytes] = {}
    names = 0
    for path, folders, files, folder in os.fwalk(work, follow_symlinks=False, onerror=None):
        relative = Path(path).relative_to(work)
        names += len(folders)
        is_deep = len(relative.parts) >= DEPTH_MAX or names > NAMES_MAX
        kept = [name for name in folders if not name.startswith(".") and name not in HIDDEN and not is_deep]
        folders[:] = sorted(kept)
        for name in sorted(files):
            names += 1
            place = shown_path(str(relative / name))
            if names > NAMES_MAX or len(found) >= FILES_MAX:
                return found
            if name.startswith(".") and place not in hidden:
                continue
            data = _regular(name, folder)
            if data is not None and not is_known(place, data):
                found[place] = data
    return found


def _regular(name: str, folder: int) -> bytes | None:
    """The bytes of a regular file that is not too large, opened without following a link or waiting for a pipe."""
    try:
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return None
    with open(fd, "rb") as file:  # noqa: PTH123 - a descriptor
        about = os.fstat(fd)
        if not stat.S_ISREG(about.st_mode) or about.st_size > FILE_BYTES_MAX:
            return None
        return file.read(FILE_BYTES_MAX)
