"""The file of a backup: an uncompressed tar of plain files. The first, `manifest.json`, names all others.

A backup may come from anywhere. A file is written only where the manifest names it, with the size and the digest that
stand there, into a folder that nobody else sees. Links, devices, sparse files, compressed archives and paths that lead
elsewhere are refused. This file knows nothing of what is in a backup.
"""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import BinaryIO

import msgspec
from msgspec import Struct

from ..core.errors import UsageError
from ..core.process.named_file import open_named

FORMAT = 1
MANIFEST = "manifest.json"
MANIFEST_BYTES_MAX = 4 * 1024 * 1024
PIECE = 1024 * 1024
"""The bytes that are read and written at a time."""
_CLEAN = "import shutil, sys; sys.stdin.read(); shutil.rmtree(sys.argv[1], ignore_errors=True)"


class BackupMember(Struct, frozen=True):
    """A file of a backup.

    Attributes:
        path: where it belongs, relative to the folder into which the backup is restored.
        size: in bytes.
        sha256: the digest of the content, in hexadecimal digits.
    """

    path: str
    size: int
    sha256: str


class BackupManifest(Struct, frozen=True, kw_only=True):
    """What a backup says of itself.

    Attributes:
        format: of the backup.
        version: of actum.
        at: when the backup was made, in seconds since 1970.
        journal: the path of the journal, which is one of the members; empty where it is in another database.
        apart: what is not in the backup and has to be carried apart, a line each.
        members: the files.
    """

    format: int
    version: str
    at: float
    journal: str
    apart: tuple[str, ...]
    members: tuple[BackupMember, ...]


@contextmanager
def scratch_beside(path: Path) -> Iterator[Path]:
    """A folder beside a path that nobody else can read. It is gone behind the block, also where this process is killed:
    another process waits for the end of this one and deletes it.

    Raises:
        UsageError: it can not be made.
    """
    try:
        folder = Path(tempfile.mkdtemp(dir=path.absolute().parent, prefix=f".{path.name}."))
    except OSError as error:
        raise UsageError("{path} can not be written: {why}", path=path, why=error.strerror or error) from None
    command = [sys.executable, "-I", "-c", _CLEAN, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True) as cleaner:
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            assert cleaner.stdin is not None
            cleaner.stdin.close()


def write_backup(target: BinaryIO, manifest: BackupManifest, sources: Mapping[str, Path]) -> BackupManifest:
    """Write a backup.

    Args:
        target: the file.
        manifest: without its members.
        sources: the files, by the paths to which they belong.

    Returns:
        The manifest, with its members.

    Raises:
        OSError: a file can not be read, or the backup not be written.
        UsageError: a file changed while it was read.
    """
    members = tuple(_member(path, source) for path, source in sources.items())
    manifest = msgspec.structs.replace(manifest, members=members)
    told = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
    with tarfile.open(fileobj=target, mode="w", format=tarfile.GNU_FORMAT) as archive:
        archive.addfile(_header(MANIFEST, len(told)), io.BytesIO(told))
        for member in members:
            with sources[member.path].open("rb") as content:
                digested = _Digested(content)
                archive.addfile(_header(member.path, member.size), digested)
                if digested.sha256 != member.sha256:
                    raise UsageError("{path} was changed while it was read: begin the backup anew", path=member.path)
    return manifest


def read_backup(source: Path, into: Path) -> BackupManifest:
    """Unpack a backup into an empty folder, and check each file. What was unpacked is worth nothing where this raises.

    Args:
        source: the file of the backup.
        into: an empty folder.

    Raises:
        UsageError: this is no backup, it is damaged, or a newer version made it.
    """
    try:
        with open_named(source) as file, tarfile.open(fileobj=_Careful(file), mode="r:") as archive:
            return _unpacked(archive, into)
    except (tarfile.TarError, EOFError, ValueError) as error:
        raise UsageError("{file} is no backup, or is damaged: {why}", file=source, why=error) from None
    except OSError as error:
        raise UsageError("{file} can not be restored: {why}", file=source, why=error.strerror or error) from None


def _unpacked(archive: tarfile.TarFile, into: Path) -> BackupManifest:
    first = archive.next()
    if first is None or first.name != MANIFEST or not _is_plain(first) or first.size > MANIFEST_BYTES_MAX:
        raise tarfile.TarError(f"it does not begin with {MANIFEST}")
    content = archive.extractfile(first)
    assert content is not None
    told = content.read()
    _check_format(told)
    manifest = msgspec.json.decode(told, type=BackupManifest)
    wanted = {member.path: member for member in manifest.members}
    if len(wanted) != len(manifest.members):
        raise tarfile.TarError("the manifest names a file twice")
    if manifest.journal and manifest.journal not in wanted:
        raise tarfile.TarError(f"the journal {manifest.journal[:200]!r} is none of its files")
    while (header := archive.next()) is not None:
        member = wanted.pop(header.name, None)
        if member is None or not _is_plain(header) or header.size != member.size:
            raise tarfile.TarError(f"{header.name[:200]!r} is not what the manifest says")
        _write(archive, header, member, into / checked_path(member.path))
    if wanted:
        raise tarfile.TarError(f"{next(iter(wanted))[:200]!r} is missing")
    return manifest


def _check_format(told: bytes) -> None:
    """Raises:
    UsageError: a newer version made the backup.
    """

    class Said(Struct):
        format: int
        version: str

    said = msgspec.json.decode(told, type=Said)
    if said.format > FORMAT:
        raise UsageError(
            "the backup was made by a newer actum ({version}): update actum, and restore it then",
            version=said.version[:100],
        )


def _is_plain(header: tarfile.TarInfo) -> bool:
    return header.type == tarfile.REGTYPE and header.sparse is None and not header.pax_headers


def checked_path(path: str) -> PurePosixPath:
    """A path of a backup, if it stays within the folder.

    Raises:
        ValueError: it leads elsewhere.
    """
    parts = path.split("/")
    if not all(parts) or not path.isprintable() or "\\" in path or any(each in (".", "..") for each in parts):
        raise ValueError(f"the path {path[:200]!r} leads elsewhere")
    return PurePosixPath(path)


def _write(archive: tarfile.TarFile, header: tarfile.TarInfo, member: BackupMember, path: Path) -> None:
    """Raises:
    TarError: the content is another.
    """
    content, digest, left = archive.extractfile(header), hashlib.sha256(), member.size
    assert content is not None
    path.parent.mkdir(parents=True, exist_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        while left and (piece := content.read(min(PIECE, left))):
            digest.update(piece)
            file.write(piece)
            left -= len(piece)
        file.flush()
        os.fsync(file.fileno())
    if left or digest.hexdigest() != member.sha256:
        raise tarfile.TarError(f"{member.path!r} was changed: its digest is another")


class _Careful(io.RawIOBase):
    """A file that is read in pieces of a limited size: a header that claims to be long fills no memory."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= MANIFEST_BYTES_MAX:
            raise tarfile.TarError("a header is too long")
        return self._file.read(size)

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()


class _Digested(io.RawIOBase):
    """A file that is read once, and its digest."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._digest = file, hashlib.sha256()

    @property
    def sha256(self) -> str:
        """The digest of what was read."""
        return self._digest.hexdigest()

    def read(self, size: int = -1) -> bytes:
        piece = self._file.read(size)
        self._digest.update(piece)
        return piece


def _member(path: str, source: Path) -> BackupMember:
    digest, size = hashlib.sha256(), 0
    with source.open("rb") as content:
        while piece := content.read(PIECE):
            digest.update(piece)
            size += len(piece)
    return BackupMember(path, size, digest.hexdigest())


def _header(path: str, size: int) -> tarfile.TarInfo:
    header = tarfile.TarInfo(path)
    header.size, header.mode = size, 0o600
    return header


def paths_below(folder: Path) -> Sequence[Path]:
    """The plain files in a folder and below it, without links."""
    if not folder.is_dir() or folder.is_symlink():
        return ()
    return sorted(each for each in folder.rglob("*") if each.is_file() and not each.is_symlink())
