"""`code_tools`: run code that a model wrote, in a jail. Python gives its last value back, with pictures and files.

Nothing is run where the machine does not hold a jail (`sandbox/`). What the code leaves in its work folder is collected
without following links, and only from beneath that folder.
"""

from __future__ import annotations

import asyncio
import mimetypes
import os
import stat
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from ..core.attachment import File
from ..core.call import Effect, TextPart
from ..core.errors import CallError, ResourceLimit, ToolError, Unavailable, UsageError
from ..sandbox.jail import Jail
from ..sandbox.layers import start
from ..sandbox.start import JailedProcess, JailReport
from .function.function import FunctionTool

OUTPUT_BYTES_MAX = 100_000
"""So much of what a program prints is kept; the rest is read and dropped, so that the program is not stuck."""
STDERR_SHOWN_MAX = 4_000
FILES_MAX = 16
FILE_BYTES_MAX = 8 * 1024 * 1024
NAMES_MAX = 2_000
CODE = "code.py"
RUNNER = ".run.py"
VALUE = ".value"
HIDDEN = ("tmp", "__pycache__")

RUN_CODE = f"""\
import ast, sys
tree = ast.parse(open({CODE!r}, encoding="utf-8").read(), {CODE!r})
last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
exec(compile(tree, {CODE!r}, "exec"), globals())
value = None if last is None else eval(compile(ast.Expression(last.value), {CODE!r}, "eval"), globals())
if value is not None:
    open({VALUE!r}, "w", encoding="utf-8").write(repr(value))
if "matplotlib.pyplot" in sys.modules:
    plots = sys.modules["matplotlib.pyplot"]
    for number in plots.get_fignums():
        plots.figure(number).savefig(f"figure_{{number}}.png")
"""

Returned = list[TextPart | File]


def code_tools(jail: Jail | None = None, *, approval: bool = True) -> list[FunctionTool]:
    """`run_python` and `run_shell`, to be passed as `tools=`. Their effect is `execute`.

    Args:
        jail: what the code may read, write, find and use up. By default its own work folder, and no network.
        approval: every call waits for a person. False leaves that to the policy.
    """
    jail = jail or Jail()
    runner = CodeRunner(jail)
    # A call whose outcome is unknown does no harm when it is made again, where nothing outside can be changed.
    harmless = jail.changes_nothing_outside
    return [
        FunctionTool(function, effects={"execute"}, idempotent=harmless, approval=approval)
        for function in (runner.run_python, runner.run_shell)
    ]


class CodeRunner:
    """Runs code in one kind of jail.

    Args:
        jail: what the code may do.
    """

    def __init__(self, jail: Jail) -> None:
        self._jail = jail

    async def run_python(self, code: str, file: File | None = None) -> Returned:
        """Run Python code and return what it prints, the value of its last line, and the files and plots it makes.

        Args:
            code: The code. It has no network. Write files into the current folder.
            file: A file that the code finds in the current folder under its name.
        """
        files = {CODE: code.encode("utf-8", "replace"), RUNNER: RUN_CODE.encode()}
        return await self._run([sys.executable, RUNNER], files, file)

    async def run_shell(self, script: str, file: File | None = None) -> Returned:
        """Run a shell script (sh) and return what it prints and the files it makes.

        Args:
            script: The script. It has no network. Write files into the current folder.
            file: A file that the script finds in the current folder under its name.
        """
        return await self._run(["sh", "script.sh"], {"script.sh": script.encode("utf-8", "replace")}, file)

    async def _run(self, command: list[str], files: dict[str, bytes], given: File | None) -> Returned:
        if given is not None:
            files = {_file_name(given): given.data} | files
        try:
            async with start(command, self._jail, files=files) as process:
                process.child.stdin.close()
                said, errors = await asyncio.gather(
                    _read(process.child.stdout), _read(process.child.stderr, STDERR_SHOWN_MAX, last=True)
                )
                report = await process.ended()
                parts = await asyncio.to_thread(_collected, process.work, files)
        except UsageError as error:
            raise Unavailable(f"The code was not run: {error}") from None
        self._check(report, said, _plain(errors, process))
        return [TextPart(_told(_plain(said, process), _plain(errors, process), parts.pop(VALUE, b""))), *_media(parts)]

    def _check(self, report: JailReport, said: str, errors: str) -> None:
        if report.exit == 0 and not report.limit:
            return
        words = _reason(report, self._jail)
        shown = "\n".join(part for part in (said[-STDERR_SHOWN_MAX:], errors) if part.strip())
        kind: type[CallError] = ResourceLimit if report.limit or report.exit is None else ToolError
        effect: Effect = "none" if self._jail.changes_nothing_outside else "unknown"
        raise kind(f"{words}\n{shown}".rstrip(), effect=effect)


def _reason(report: JailReport, jail: Jail) -> str:
    if report.limit:
        return f"The code was ended at the limit {report.limit} = {getattr(jail.limits, report.limit)}."
    if report.exit is None:
        return "The code was ended from outside; how far it came is not known."
    if report.exit < 0:
        return f"The code was ended by signal {-report.exit}."
    return f"The code ended with exit code {report.exit}."


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


def _plain(text: str, process: JailedProcess) -> str:
    return text.replace(f"{process.work}/", "").replace(str(process.work), ".")


def _told(said: str, errors: str, value: bytes) -> str:
    parts = [said.rstrip("\n")]
    if errors.strip():
        parts.append(f"[stderr]\n{errors.rstrip()}")
    if value:
        parts.append(f"[value]\n{value[:OUTPUT_BYTES_MAX].decode('utf-8', 'replace')}")
    return "\n".join(part for part in parts if part) or "Done."


def _file_name(file: File) -> str:
    """The last part of the name of a file, which somebody else may have chosen."""
    name = file.name.replace("\\", "/").rpartition("/")[2].replace("\0", "")[:100]
    return name if name.strip(". ") else "file"


def _media(files: Mapping[str, bytes]) -> Iterator[File]:
    for name, data in files.items():
        yield File(data, media_type=mimetypes.guess_type(name)[0] or "application/octet-stream", name=name)


def _collected(work: Path, given: Mapping[str, bytes]) -> dict[str, bytes]:
    """What the code left: regular files below its folder, which are new or changed. No link is followed."""
    found: dict[str, bytes] = {}
    names = 0
    for path, folders, files, folder in os.fwalk(work, follow_symlinks=False, onerror=None):
        relative = Path(path).relative_to(work)
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in HIDDEN)
        for name in sorted(files):
            names += 1
            place = str(relative / name)
            if names > NAMES_MAX or len(found) >= FILES_MAX:
                return found
            if name.startswith(".") and place != VALUE:
                continue
            data = _regular(name, folder)
            if data is not None and given.get(place) != data:
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
