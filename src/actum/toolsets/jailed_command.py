"""One command in a jail as a tool runs it: files in, text and files out, and an error that says how the command failed.

What the command leaves in its work folder is collected without following links, and only from beneath that folder.
`code.py` runs code that a model wrote in this way, `scripts.py` runs scripts of a folder.
"""

from __future__ import annotations

import asyncio
import hashlib
import mimetypes
import os
import signal
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from ..core.attachment import File
from ..core.call import Effect, MediaPart, Problem, TextPart
from ..core.errors import CallError, InvalidArguments, ResourceLimit, ToolError, Unavailable, UsageError
from ..core.json import Json, JsonObject
from ..core.secret_values import is_secret_name
from ..core.visible import shown_path
from ..sandbox.jail import Jail
from ..sandbox.layers import start
from ..sandbox.process import AROUND_PROXY, JailedProcess, JailReport
from ..transport.egress import Egress

OUTPUT_BYTES_MAX = 100_000
"""The most bytes that are kept of a program's output; the rest is read and dropped, so that the program is not
stuck."""
STDERR_SHOWN_MAX = 4_000
FILES_MAX = 16
FILE_BYTES_MAX = 8 * 1024 * 1024
LEFT_OUT_MAX = 10
"""The first files that are left out are named, the others are counted."""
NAMES_MAX = 2_000
DEPTH_MAX = 16
"""Folders that are nested deeper are not looked into."""
HIDDEN = ("tmp", "__pycache__")
INPUT = "input"
"""The folder of attachments. Beside a script, a file called `json.py` would be imported in the place of `json`."""
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
        left_out: a line that names the new files that are not in `files`, and says why; empty for none.
    """

    said: str
    errors: str
    files: dict[str, bytes]
    left_out: str = ""

    @property
    def text(self) -> str:
        """What it printed, what it wrote to stderr under a line that says so, and which files are left out."""
        errors = f"[stderr]\n{self.errors.rstrip()}" if self.errors.strip() else ""
        return "\n".join(part for part in (self.said.rstrip("\n"), errors, self.left_out) if part)

    @property
    def failure(self) -> str:
        """The same for an error: the end of what it printed and wrote, and which files are left out."""
        parts = (self.said[-STDERR_SHOWN_MAX:], self.errors, self.left_out)
        return "\n".join(part for part in parts if part.strip())


class KnownFile(Struct, frozen=True):
    """A file that is no news.

    Attributes:
        size: its bytes.
        digest: their SHA-256.
    """

    size: int
    digest: bytes

    @classmethod
    def of(cls, data: bytes) -> KnownFile:
        """The file with these bytes."""
        return cls(len(data), hashlib.sha256(data).digest())


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
            known = {name: KnownFile.of(data) for name, data in files.items()}
            left, left_out = await asyncio.to_thread(collected, process.work, known, collect)
    except UsageError as error:
        raise Unavailable("{what} was not run: {why}", what=what, why=error) from None
    output = CommandOutput(plain(said, process, jail), plain(errors, process, jail), left, left_out)
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
    shown = "\n".join(part for part in (output.failure, AROUND_PROXY if around else "") if part)
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


def collected(work: Path, known: Mapping[str, KnownFile], hidden: Sequence[str] = ()) -> tuple[dict[str, bytes], str]:
    """What the code left: regular files below its folder that are not known. No link is followed.

    Args:
        work: the folder. A command may still run in it and change it.
        known: the files that are no news, by their paths.
        hidden: hidden files of the folder itself that are collected, too.

    Returns:
        The files by their paths, and a line that names the new files that are left out; empty for none.
    """
    found: dict[str, bytes] = {}
    left_out: list[str] = []

    def take(name: str, place: str, folder: int) -> None:
        data = _news(name, folder, known.get(place), place in hidden or len(found.keys() - set(hidden)) < FILES_MAX)
        if isinstance(data, str):
            left_out.append(f"{place} ({data})")
        elif data is not None:
            found[place] = data

    def unreadable(error: OSError) -> None:
        left_out.append(f"{shown_path(Path(error.filename or '.').name)} (could not be read)")

    names, rest = 0, f"all that comes after {NAMES_MAX} files and folders"
    for path, folders, files, folder in os.fwalk(work, follow_symlinks=False, onerror=unreadable):
        relative = Path(path).relative_to(work)
        for name in hidden if not relative.parts else ():
            take(name, name, folder)
        for name in sorted(files):
            names += 1
            if names > NAMES_MAX:
                return found, _told(left_out, rest)
            if not name.startswith("."):
                take(name, shown_path(str(relative / name)), folder)
        kept = sorted(name for name in folders if not name.startswith(".") and name not in HIDDEN)
        names += len(kept)
        if kept and len(relative.parts) >= DEPTH_MAX:
            left_out.append(f"{shown_path(str(relative))} (folders below it are too deep)")
        elif names <= NAMES_MAX:
            folders[:] = kept
            continue
        folders.clear()
    return found, _told(left_out, rest if names > NAMES_MAX else "")


def _told(left_out: Sequence[str], rest: str = "") -> str:
    """The line that names what is left out."""
    named = [*left_out[:LEFT_OUT_MAX]]
    if len(left_out) > LEFT_OUT_MAX:
        named.append(f"{len(left_out) - LEFT_OUT_MAX} more")
    told = "; ".join([*named, *filter(None, [rest])])
    return f"[left out: {told}]" if told else ""


def _news(name: str, folder: int, known: KnownFile | None, is_wanted: bool) -> bytes | str | None:
    """The bytes of a regular file, opened without following a link or waiting for a pipe.

    Returns:
        The bytes; or why they are left out; or None for a file that is known, and for what is no regular file.
    """
    try:
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except PermissionError:
        return "could not be read"
    except OSError:  # a link, a socket, or a file that is gone again
        return None
    with open(fd, "rb") as file:  # noqa: PTH123 - a descriptor
        about = os.fstat(fd)
        if not stat.S_ISREG(about.st_mode):
            return None
        size = about.st_size
        if known is not None and known.size == size and KnownFile.of(file.read(size)) == known:
            return None
        if size > FILE_BYTES_MAX:
            return f"{size} bytes; at most {FILE_BYTES_MAX} bytes of a file are taken"
        if not is_wanted:
            return f"{size} bytes; at most {FILES_MAX} files are taken"
        file.seek(0)
        return file.read(FILE_BYTES_MAX)


def placed_attachments(
    names: Sequence[str], arguments: JsonObject, attachments: Mapping[str, MediaPart]
) -> tuple[dict[str, bytes], JsonObject]:
    """The files that a command finds in its work folder, and the arguments with their names in the place of handles.

    Args:
        names: the arguments that are handles, or lists of handles.
        arguments: all arguments.
        attachments: those of the run, by their handles.

    Raises:
        InvalidArguments: no attachment has this handle, or its bytes are not at hand.
    """
    files: dict[str, bytes] = {}
    changed: JsonObject = dict(arguments)

    def place(name: str, handle: Json) -> str:
        part = attachments.get(handle) if isinstance(handle, str) else None
        if part is None or (part.url and not part.data):
            expected = f"the handle of an attached file: {', '.join(attachments) or 'there is none'}"
            raise InvalidArguments([Problem(name, "attachment", expected, str(handle)[:100])])
        called = f"{INPUT}/{file_name(part)}"
        while called in files:
            called = f"{INPUT}/_{called.removeprefix(f'{INPUT}/')}"
        files[called] = part.data
        return called

    for name in names:
        value = arguments.get(name)
        if isinstance(value, list):
            changed[name] = [place(name, handle) for handle in value]
        elif value is not None:
            changed[name] = place(name, value)
    return files, changed
