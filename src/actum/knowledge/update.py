"""Brings a collection to what lies in its folder: new and changed files are read, files that are gone leave.

Nothing that is hidden (a name with a dot in front) is read, and no link is followed. Each document is a transaction of
its own: after a kill the next update goes on where this one ended.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Iterator

from msgspec import Struct, structs

from ..core.errors import Busy, UsageError
from ..core.interfaces import Journal
from ..core.stores import Transaction
from ..core.visible import on_one_line, shown_path
from ..kinds import Unclear, open_under
from .collections import CollectionUser, changeable, take_into_use
from .document_kinds import kind_of
from .documents import (
    PATH_BYTES_MAX,
    PUT,
    CollectionFull,
    FileVersion,
    ReadDocument,
    digest_of,
    drop,
    note_version,
    read_document,
    take_in,
)
from .jailed_reader import DOCUMENT_BYTES_MAX, JailedReader
from .problems import PROBLEMS
from .tables import COLLECTIONS, DOCUMENTS, CollectionRow, DocumentRow

FILES_MAX = 100_000
_READ_AGAIN = frozenset({"not_installed", "too_slow", "unopened"})
"""Problems that may be over though the file is as it was."""


class DocumentProblem(Struct, frozen=True):
    """A document that can not be found.

    Attributes:
        document: its path.
        problem: why, for a person.
    """

    document: str
    problem: str


class UpdateReport(Struct, frozen=True, kw_only=True):
    """What an update has done.

    Attributes:
        name: the collection.
        read: how many documents were read and can be found.
        unchanged: how many of those that can be found were as they were.
        removed: how many have left.
        problems: the documents that can not be found, all of them.
        unjailed: no jail held the process that read the documents.
    """

    name: str
    read: int
    unchanged: int
    removed: int
    problems: tuple[DocumentProblem, ...] = ()
    unjailed: bool = False


class _File(Struct, frozen=True):
    """A file of a folder, or a folder below that can not be read: its path there, the path as a collection keeps it,
    its version, and what is wrong with it.
    """

    path: str
    kept: str
    version: FileVersion
    problem: str = ""


async def update(
    journal: Journal,
    caller: CollectionUser,
    name: str,
    *,
    every: bool = False,
    reader: JailedReader | None = None,
    passages_most: int | None = None,
) -> UpdateReport:
    """Bring a collection to what lies in its folder.

    Args:
        journal: beside which it is kept.
        caller: who asks.
        name: of the collection.
        every: every file is read again, also one that looks as it was.
        reader: reads the documents; None for one of its own.
        passages_most: as for `take_in`.

    Raises:
        UnknownName, PermissionDenied: as `changeable`.
        Busy: another update of the collection is at work.
        UsageError: the collection has no folder, or its folder is not there.
    """
    collection = await changeable(journal, caller, name)
    if not collection.folder:
        raise UsageError("the collection {name!r} has no folder: put its documents by HTTP", name=name)
    try:
        async with journal.claim(f"knowledge:{collection.id}"), reader or JailedReader() as reads:
            return await _Update(journal, caller, collection, reads, every, passages_most).run()
    except Busy:
        raise Busy("another update of the collection {name!r} is at work", name=name) from None


class _Update(Struct):
    """One update: what it works with, as in `update`, and what it has done, as in `UpdateReport`."""

    journal: Journal
    caller: CollectionUser
    collection: CollectionRow
    reader: JailedReader
    every: bool
    passages_most: int | None
    read: int = 0
    unchanged: int = 0
    removed: int = 0

    async def run(self) -> UpdateReport:
        stores, tenant = await take_into_use(self.journal), self.caller.tenant
        where = {"collection": self.collection.id}
        known = {each.path: each for each in await stores.find(tenant, DOCUMENTS, where=where)}
        files = await asyncio.to_thread(_files, self.collection.folder)
        here = {each.kept for each in files}
        unread = tuple(f"{each.kept}/" for each in files if each.problem == "unread_folder")
        for row in known.values():
            if row.path not in here and row.inode != PUT and not row.path.startswith(unread):
                await drop(self.journal, self.caller, self.collection, row.path)
                self.removed += 1
        more: list[DocumentProblem] = []
        for file in files:
            try:
                await self._one(file, known.get(file.kept))
            except CollectionFull as error:
                more.append(DocumentProblem(file.kept, str(error)))
                break
        await stores.transact(tenant, self._note_time)
        rows = await stores.find(tenant, DOCUMENTS, where=where)
        return UpdateReport(
            name=self.collection.name,
            read=self.read,
            unchanged=self.unchanged,
            removed=self.removed,
            problems=(*problems_of(rows), *more),
            unjailed=not self.reader.is_jailed,
        )

    def _note_time(self, transaction: Transaction) -> None:
        row = transaction.get(COLLECTIONS, self.collection.name)
        if row is not None and row.id == self.collection.id:
            transaction.put(COLLECTIONS, structs.replace(row, updated_at=self.journal.now()))

    async def _one(self, file: _File, row: DocumentRow | None) -> None:
        is_same = row is not None and FileVersion.of(row) == file.version and row.problem not in _READ_AGAIN
        document = None if is_same and not self.every else await self._document(file, row)
        if document is not None:
            await take_in(self.journal, self.caller, self.collection, document, passages_most=self.passages_most)
            self.read += document.page is not None
        elif row is not None:
            self.unchanged += not row.problem

    async def _document(self, file: _File, row: DocumentRow | None) -> ReadDocument | None:
        """The document of a file, which is not opened where something is wrong already; None where it is as it was."""
        problem = file.problem or ("" if kind_of(file.kept) else "unknown_kind")
        if not problem and file.version.size > DOCUMENT_BYTES_MAX:
            problem = "too_large"
        if problem:
            is_known = row is not None and row.problem == problem
            return None if is_known else ReadDocument(file.kept, "", file.version, problem=problem)
        try:
            data, version = await asyncio.to_thread(_bytes_of, self.collection.folder, file.path)
        except (OSError, Unclear, ValueError):
            return ReadDocument(file.kept, "", file.version, problem="unopened")
        if row is not None and row.problem not in _READ_AGAIN and row.digest == digest_of(data):
            await note_version(self.journal, self.caller, row, version)
            return None
        return await read_document(self.reader, file.kept, data, version)


def problems_of(rows: list[DocumentRow]) -> tuple[DocumentProblem, ...]:
    """The documents that can not be found."""
    return tuple(DocumentProblem(each.path, str(PROBLEMS[each.problem])) for each in rows if each.problem)


def _bytes_of(folder: str, path: str) -> tuple[bytes, FileVersion]:
    with open_under(folder, path, "rb") as file:
        version = _version(os.fstat(file.fileno()))
        return file.read(DOCUMENT_BYTES_MAX + 1), version


def _version(found: os.stat_result) -> FileVersion:
    return FileVersion(found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino & (2**63 - 1))


def _files(folder: str) -> list[_File]:
    """The files of a folder, by path, and the folders below that can not be read.

    Raises:
        UsageError: the folder is not there, can not be read, or has too many files.
    """
    try:
        number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except (FileNotFoundError, NotADirectoryError):
        raise UsageError("there is no folder {folder}: nothing was changed", folder=folder) from None
    except OSError:
        raise UsageError("the folder {folder} can not be read: nothing was changed", folder=folder) from None
    try:
        found: list[_File] = []
        for each in _walked(number, ""):
            if not each.path:
                raise UsageError("the folder {folder} can not be read: nothing was changed", folder=folder)
            found.append(each)
            if len(found) > FILES_MAX:
                raise UsageError("{folder} has more than {most} files", folder=folder, most=FILES_MAX)
    finally:
        os.close(number)
    return sorted(found, key=lambda each: each.kept)


def _walked(number: int, within: str) -> Iterator[_File]:
    """The files of an open folder and below, of each folder by name. A path that is too long is gone into no further,
    so that no folder is too deep to be walked through.

    Args:
        number: the open folder.
        within: its path; empty for the outermost.
    """
    try:
        names = sorted(os.listdir(number))
    except OSError:
        yield _unread_folder(within)
        return
    for name in names:
        if name.startswith("."):
            continue
        path = f"{within}/{name}" if within else name
        try:
            about = os.stat(name, dir_fd=number, follow_symlinks=False)
        except OSError:  # gone again
            continue
        kept = on_one_line(shown_path(path))
        is_folder, is_long = stat.S_ISDIR(about.st_mode), len(kept.encode()) > PATH_BYTES_MAX
        if is_folder and not is_long:
            yield from _below(number, name, path)
            continue
        problem = "" if stat.S_ISREG(about.st_mode) else "not_a_file"
        if kept != path or is_long:
            kept, problem = kept.encode()[:PATH_BYTES_MAX].decode(errors="ignore"), "name"
        yield _File(path, kept, _version(about), problem)


def _below(number: int, name: str, path: str) -> Iterator[_File]:
    try:
        inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=number)
    except FileNotFoundError:  # gone again
        return
    except OSError:
        yield _unread_folder(path)
        return
    try:
        yield from _walked(inner, path)
    finally:
        os.close(inner)


def _unread_folder(path: str) -> _File:
    return _File(path, on_one_line(shown_path(path)), FileVersion(0, inode=0), "unread_folder")
