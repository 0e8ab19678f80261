"""What the installers of `npx.py` and `uvx.py` share: the folder, the jail's run, the digest, and the check at a start.

An installed server lies in a folder that is named by the digest of all that is in the folder. The folder's path is part
of the server's command line, and so of what a person approves. Before a server is started from such a folder, the
digest is taken anew: a file that was changed, added or removed since then is found, and the server is not started.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import stat
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from msgspec import Struct

from ....core.errors import UsageError
from ....protocols.mcp.config import McpServer
from ....protocols.plain_text import shown
from ....sandbox.jail import Jail, JailLimits
from ....sandbox.layers import start
from ....sandbox.removal import remove
from ....storage.folders import data_folder
from ....transport.egress import Egress

LIMITS = JailLimits(memory_bytes=2 << 30, cpu_seconds=300.0, processes=128, disk_bytes=1 << 30, seconds=300.0)
SAID_BYTES_MAX = 4_000
DIGEST_DIGITS = 32
SECRET_LENGTH_MIN = 4
_PINNED = re.compile(rf".+-([0-9a-f]{{{DIGEST_DIGITS}}})")


class InstalledPackage(Struct, frozen=True):
    """One package that was installed.

    Attributes:
        name: of the package.
        version: of the package.
        integrity: the digest of the package's archive, as the installer checked it.
    """

    name: str
    version: str
    integrity: str


class InstalledServer(Struct, frozen=True):
    """A server whose package is installed.

    Attributes:
        server: the server as it is started from now on: without the installer, and with the folder among what it may
            read.
        packages: the server's own package first, then all that it needs.
    """

    server: McpServer
    packages: tuple[InstalledPackage, ...]


@asynccontextmanager
async def new_folder(environment: Mapping[str, str]) -> AsyncIterator[Path]:
    """An empty folder for an installation. It is removed at the end of the block, unless `keep` named it."""
    parent = _parent(environment)
    parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=".new-", dir=parent.resolve()))
    try:
        yield made
    finally:
        with suppress(FileNotFoundError):  # it has its name
            await asyncio.to_thread(remove, str(made))


def keep(made: Path, tree: Path, name: str) -> Path:
    """Give what was installed the name of its contents.

    Args:
        made: the folder of the installation.
        tree: what is kept of the installation: this folder, or one below.
        name: of the package.

    Returns:
        The folder that is kept. Where the same contents are installed already, that is the older folder.

    Raises:
        UsageError: a folder of this name is there, and was changed.
    """
    place = made.parent / f"{name.replace('/', '+')}-{tree_digest(tree)}"
    try:
        tree.rename(place)
    except OSError:  # the same contents are installed already, perhaps by another process at this moment
        if not place.is_dir():
            raise
        _check_folder(place)
    return place


def check_installed(server: McpServer, environment: Mapping[str, str]) -> None:
    """See that the folders from which an installed server is started are as they were installed.

    Raises:
        UsageError: a file of such a folder was changed, added or removed.
    """
    if server.jail is None:
        return
    try:
        parent = _parent(environment).resolve()
    except UsageError:  # there is no home folder, and so no installation
        return
    for path in server.jail.read:
        if Path(path).parent.resolve() == parent:
            _check_folder(Path(path))


def _check_folder(folder: Path) -> None:
    pinned = _PINNED.fullmatch(folder.name)
    if pinned is None or not folder.is_dir() or tree_digest(folder) != pinned[1]:
        raise UsageError(
            "{folder}: the installed server is not as it was installed: files were changed, added or "
            "removed. Remove this folder, and add the server again with `actum mcp add`",
            folder=folder,
        )


def _parent(environment: Mapping[str, str]) -> Path:
    return data_folder(environment) / "mcp" / "installed"


def tree_digest(folder: Path) -> str:
    """The digest of a folder: of the paths, the contents, the links, and which files may be run.

    Raises:
        UsageError: the folder holds something that is no file, folder or link, or can't be read.
    """
    found = hashlib.sha256()
    try:
        for path in sorted(folder.rglob("*")):
            about = path.lstat()
            if stat.S_ISREG(about.st_mode):
                with path.open("rb") as file:
                    what = hashlib.file_digest(file, "sha256").hexdigest()
                kind = "program" if about.st_mode & stat.S_IXUSR else "file"
            elif stat.S_ISLNK(about.st_mode):
                kind, what = "link", hashlib.sha256(os.fsencode(path.readlink())).hexdigest()
            elif stat.S_ISDIR(about.st_mode):
                kind, what = "folder", ""
            else:
                raise UsageError("{path} is no file, folder or link", path=path)
            name = hashlib.sha256(os.fsencode(path.relative_to(folder))).hexdigest()
            found.update(f"{name} {kind} {what}\n".encode())
    except OSError as error:
        raise UsageError("{folder} can't be read: {why}", folder=folder, why=error.strerror) from None
    return found.hexdigest()[:DIGEST_DIGITS]


async def run_installer(
    installer: str, command: Sequence[str], jail: Jail, cwd: Path, egress: Egress | None, secrets: Sequence[str] = ()
) -> None:
    """Run a command of an installer in its jail.

    Args:
        installer: what the installer is called in an error.
        secrets: values that an error must not show.

    Raises:
        UsageError: the installer failed; the message holds the last of what the installer said.
    """
    async with start(command, jail, cwd=str(cwd), egress=egress) as process:
        process.child.stdin.close()
        said, errors = await asyncio.gather(_last(process.child.stdout), _last(process.child.stderr))
        report = await process.ended()
    if report.exit != 0 or report.limit:
        how = f"at the limit {report.limit}" if report.limit else f"with exit code {report.exit}"
        text = (errors or said).strip()
        for value in sorted(secrets, key=len, reverse=True):
            if len(value) >= SECRET_LENGTH_MIN:
                text = text.replace(value, "[secret]")
        raise UsageError(
            "{installer} could not install the server; it ended {how}: {text}",
            installer=installer,
            how=how,
            text=shown(text),
        )


async def _last(stream: asyncio.StreamReader) -> str:
    kept = b""
    while part := await stream.read(65_536):
        kept = (kept + part)[-SAID_BYTES_MAX:]
    return kept.decode("utf-8", "replace")
