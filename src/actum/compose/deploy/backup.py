"""`back_up` and `restore`: everything that this machine keeps for a server, in one file, and back.

In a backup are the journal with the tables of features, the settings, the policies, the files of workflows and of MCP
servers, what people approved (pins), the catalog, described APIs, and the file of secrets as it is, encrypted. What is
made from the record, such as full-text indexes, is made anew. What has to be carried apart is told by name.

A restored journal is held: see `core.stored.held`.
"""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from urllib.parse import unquote

from msgspec import Struct

from ...core.errors import JournalError, UsageError
from ...core.interfaces import Journal
from ...core.language.sentence import Sentence
from ...journal.export import check_journal
from ...knowledge.citing.sources import pages_kept
from ...runs.administration import put_on_record
from ...server.keys import revoke_key
from ...storage.backup_file import (
    FORMAT,
    BackupManifest,
    checked_path,
    paths_below,
    read_backup,
    scratch_beside,
    write_backup,
)
from ...storage.folders import settings_path, state_folder
from ...storage.place import SCHEMES
from ...storage.place import open_journal as open_at
from ...storage.sqlite import copy_database
from ..features import features_of
from ..journals import journal_path, read_journal_key
from ..mcp import MCP_FILE, names_file
from ..remote_agents import A2A_SOURCE
from ..secrets import secret_file
from ..settings import EVERYDAY, MEMORY, PUBLISHED, SETTINGS_FILE, Settings
from ..tools import API_SOURCES, BROWSER, KNOWLEDGE

STATE, CONFIG = "state/actum", "config/actum"
"""Where the person's own folders stand in a restored folder: `XDG_STATE_HOME=FOLDER/state`."""
JOURNAL = "journal.db"
"""The place of a journal in a restored folder whose settings do not name it."""
# The count comes before the file of secrets: it must not be newer than the file. Each tenant has pins of its own.
_OF_STATE = (
    *("secrets.json.count", "secrets.json", "mcp-approved*.json", "a2a-approved*.json", "apis", "a2a-tasks"),
    "catalog",
)
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_BUILT_IN = {EVERYDAY, BROWSER, "none", "code", "mcp", "published"}
_WITHOUT_CODE = (PUBLISHED, KNOWLEDGE, A2A_SOURCE, *API_SOURCES)
"""How tools begin whose code is not on this machine, or that are in the journal or the folder of states."""
PROBLEMS_MAX = 5
_PASSWORDS = ("", "password", "sslpassword")
"""The parameters of an address of PostgreSQL that are not shown."""


class BackedUp(Struct, frozen=True):
    """A backup that was made.

    Attributes:
        file: the backup.
        files: how many files are in it.
        bytes: how many bytes these have.
        apart: what is not in it and has to be carried apart.
        command: what backs up the database, where the journal is not in a file; else empty.
    """

    file: str
    files: int
    bytes: int
    apart: tuple[str, ...]
    command: str


class Restored(Struct, frozen=True):
    """A backup that was restored.

    Attributes:
        folder: where.
        at: when the backup was made, in seconds since 1970.
        runs: how many runs the journal has.
        held: how many of them are held.
        keys: the names of the keys that are valid again.
        approvals: how many approvals wait again.
        revoked: how many keys were revoked.
        apart: what was not in the backup and has to be carried apart.
        variables: what has to be set for a server in the folder.
    """

    folder: str
    at: float
    runs: int
    held: int
    keys: tuple[str, ...]
    approvals: int
    revoked: int
    apart: tuple[str, ...]
    variables: dict[str, str]


def back_up(settings: Settings, environment: Mapping[str, str], folder: Path, file: Path) -> BackedUp:
    """Make a backup, also while servers are at work. It has another name until it is whole, and nobody else reads it.

    Args:
        settings: as read.
        environment: the variables of this process.
        folder: the folder of the settings.
        file: the backup; there must be none yet.

    Raises:
        UsageError: the file is there, or something can not be read or written.
        JournalError: the journal can not be read.
    """
    if settings.journal == MEMORY:
        raise UsageError("a journal in memory can not be backed up: use a file or PostgreSQL")
    if file.exists():
        raise UsageError("{path} is there already: name another file", path=file)
    is_file = not settings.journal.startswith(SCHEMES)
    with scratch_beside(file) as scratch:
        sources = dict(_files(settings, environment, folder))
        place = ""
        if is_file:
            path = journal_path(settings, environment)
            place = _place_of_journal(settings, environment)
            copy_database(path, scratch / "journal.db")
            sources[place] = scratch / "journal.db"
        manifest = BackupManifest(
            format=FORMAT,
            version=version("actum"),
            at=time.time(),
            journal=place,
            apart=tuple(map(str, _apart(settings, environment, folder))),
            members=(),
        )
        try:
            with os.fdopen(os.open(scratch / "whole.tar", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "wb") as target:
                manifest = write_backup(target, manifest, sources)
                target.flush()
                os.fsync(target.fileno())
            os.link(scratch / "whole.tar", file)  # which never replaces a file
        except OSError as error:
            raise UsageError("{path} can not be written: {why}", path=file, why=error.strerror or error) from None
    return BackedUp(
        file=str(file),
        files=len(manifest.members),
        bytes=sum(member.size for member in manifest.members),
        apart=manifest.apart,
        command="" if is_file else _dump_command(settings.journal),
    )


def _dump_command(address: str) -> str:
    """What backs up the database at an address. Passwords stay out: `pg_dump` asks for them, or reads PGPASSWORD.

    >>> _dump_command("postgresql://ann:se#cret@db.example/actum?sslmode=require&password=x&port=5433")
    "pg_dump --format=custom --file journal.dump 'postgresql://ann@db.example/actum?sslmode=require&port=5433'"
    """
    scheme, _, rest = address.partition("://")
    before, at, place = rest.partition("@") if "@" in rest.partition("/")[0] else ("", "", rest)  # as libpq reads it
    place, _, query = place.partition("?")
    kept = "&".join(each for each in query.split("&") if unquote(each.partition("=")[0]) not in _PASSWORDS)
    shown = f"{scheme}://{before.partition(':')[0]}{at}{place}{'?' if kept else ''}{kept}"
    return f"pg_dump --format=custom --file journal.dump {shlex.quote(shown)}"


def _place_of_journal(settings: Settings, environment: Mapping[str, str]) -> str:
    """The place of the journal in the restored folder: where the settings in the backup name it, else `journal.db`, for
    which `ACTUM_JOURNAL` is set.
    """
    if not settings.journal:
        return f"{STATE}/journal.db"
    is_in_file = settings.sources.get("journal") in (SETTINGS_FILE, str(settings_path(environment)))
    return settings.journal if is_in_file and _is_inside(settings.journal) else JOURNAL


def _files(settings: Settings, environment: Mapping[str, str], folder: Path) -> Iterator[tuple[str, Path]]:
    """The files beside the journal, by their places in the restored folder."""
    own = settings_path(environment)
    for path in (own, own.with_name(MCP_FILE)) if own is not None else ():
        if path.is_file():
            yield f"{CONFIG}/{path.name}", path
    for name in (SETTINGS_FILE, *_named_files(settings)):
        path = folder / name
        if _is_inside(name) and path.is_file():
            yield name, path
    state = state_folder(environment)
    for found in (each for name in _OF_STATE for each in sorted(state.glob(name))):
        for path in paths_below(found) or ([found] if found.is_file() else []):
            yield f"{STATE}/{path.relative_to(state).as_posix()}", path


def _named_files(settings: Settings) -> Sequence[str]:
    """The policies, the workflows and the files of MCP servers that the settings name."""
    every = (settings, *settings.of_agents.values())
    named = [*(each.policy for each in every), *(table.file for table in settings.workflows.values())]
    named += [word for each in every for word in each.mcp if names_file(word)]
    return list(dict.fromkeys(filter(None, named)))


def _is_inside(name: str) -> bool:
    """Whether a path of the settings stays within their folder."""
    try:
        checked_path(name)
    except ValueError:
        return False
    return not name.startswith("~")


def _apart(settings: Settings, environment: Mapping[str, str], folder: Path) -> Iterator[Sentence]:
    """What is not in a backup, and has to be carried apart."""
    store = secret_file(environment)
    if store.path.is_file():
        if place := store.keys.place():
            yield Sentence("the key of the file of secrets ({place})", place=place)
        else:
            yield Sentence("the key of the file of secrets")
    state = state_folder(environment)
    if (path := state / "mcp-seal.key").is_file():
        yield Sentence("the key with which calls that wait over MCP are sealed ({path})", path=path)
    if (path := state / "tokens.json").is_file():
        yield Sentence(
            "the logins at MCP servers that are kept in plain text ({path}): the users log in again", path=path
        )
    if settings.journal_key:
        yield Sentence("the key that signs the heads of the journal ({file})", file=settings.journal_key)
    for file in filter(None, (settings.serve.certificate, settings.serve.key_file)):
        yield Sentence("the certificate of the server ({file})", file=file)
    for name in sorted(_variables(settings, environment, folder)):
        yield Sentence("the variable {name}", name=name)
    sources = (each for table in (settings, *settings.of_agents.values()) for each in table.tools)
    tools = {each if isinstance(each, str) else each.source for each in sources} - _BUILT_IN
    code = [each for each in sorted(tools) if not each.startswith(_WITHOUT_CODE)]
    if code:
        yield Sentence("the code of the tools ({files})", files=", ".join(code))
    agents = sorted({table.python for table in settings.agents.values() if table.python})
    if agents:
        yield Sentence("the code of the agents ({files})", files=", ".join(agents))
    outside = [name for name in _named_files(settings) if not _is_inside(name)]
    if outside:
        yield Sentence("files outside of the folder ({files})", files=", ".join(outside))


def _variables(settings: Settings, environment: Mapping[str, str], folder: Path) -> set[str]:
    """The variables that the settings and the files of MCP servers name, and those of actum that are set."""
    found = {name for name in environment if name.startswith("ACTUM_") and not name.startswith("ACTUM_TASK")}
    workflows = {table.file for table in settings.workflows.values()}
    for place, path in _files(settings, environment, folder):
        if place not in workflows and not place.startswith(STATE):
            found.update(_VARIABLE.findall(path.read_text("utf-8", "replace")))
    return found


def restore(settings: Settings, file: Path, into: Path, *, revoke_keys: bool = False, by: str = "") -> Restored:
    """Restore a backup into a folder that is not there, or is empty. Everything is checked in another place before.
    No event loop may run in this thread.

    Args:
        settings: of this machine: their features read the journal, and their key checks its signed heads.
        file: the backup.
        into: the folder.
        revoke_keys: all keys that are valid again are revoked.
        by: who restores it, for the record.

    Raises:
        UsageError: the folder holds something; the file is no backup, or it or its journal is damaged or was made by a
            newer version.
    """
    if into.exists() and (not into.is_dir() or any(into.iterdir())):
        raise UsageError("{path} is there already: restore into a new folder", path=into)
    above = next(each for each in into.absolute().parents if each.exists())
    with scratch_beside(above / into.name) as scratch:
        whole = scratch / "restored"
        whole.mkdir(mode=0o700)
        manifest = read_backup(file, whole)
        if manifest.journal:
            try:
                found = asyncio.run(_checked(settings, whole / manifest.journal, revoke_keys=revoke_keys, by=by))
            except JournalError as error:
                raise UsageError("{file} can not be restored: {why}", file=file, why=error) from None
        else:
            found = _NO_JOURNAL
        for name in (STATE, CONFIG):
            (whole / name).mkdir(parents=True, exist_ok=True)
        for each in whole.rglob("*"):
            each.chmod(0o700 if each.is_dir() else 0o600)
        try:
            into.absolute().parent.mkdir(parents=True, exist_ok=True)
            whole.rename(into)  # over an empty folder, and over nothing else
        except OSError as error:
            raise UsageError("{path} can not be made: {why}", path=into, why=error.strerror or error) from None
    folder = into.absolute()
    variables = {"XDG_STATE_HOME": str(folder / "state"), "XDG_CONFIG_HOME": str(folder / "config")}
    if manifest.journal == JOURNAL:
        variables["ACTUM_JOURNAL"] = str(folder / JOURNAL)
    return Restored(
        folder=str(folder),
        at=manifest.at,
        runs=found.runs,
        held=found.held,
        keys=found.keys,
        approvals=found.approvals,
        revoked=found.revoked,
        apart=manifest.apart,
        variables=variables,
    )


class _Found(Struct, frozen=True):
    """What is in a restored journal."""

    runs: int
    held: int
    keys: tuple[str, ...]
    approvals: int
    revoked: int


_NO_JOURNAL = _Found(0, 0, (), 0, 0)


async def _checked(settings: Settings, path: Path, *, revoke_keys: bool, by: str) -> _Found:
    """Check the journal of a backup, and hold it.

    Raises:
        JournalError: it is damaged, or was written by a newer version.
    """
    key = read_journal_key(settings.journal_key) if settings.journal_key else None
    journal = open_at(path, key=key, record_kinds=features_of(settings).record_kinds)
    try:
        report = await check_journal(journal, (), key=key, pages=pages_kept)
        if report.problems:
            shown = "; ".join(report.problems[:PROBLEMS_MAX])
            raise JournalError("the journal in the backup is damaged: {why}", why=shown)
        held = await journal.held.hold()
        valid = [each.id for each in await journal.keys.all() if each.is_valid(journal.now())]
        revoked = [await revoke_key(journal, name, by=by) for name in valid] if revoke_keys else []
        await put_on_record(journal, "journal.restore", {"held": held, "revoked": len(revoked)}, principal=by)
        return _Found(report.runs, held, tuple(valid), await _waiting(journal), len(revoked))
    finally:
        await journal.close()


async def _waiting(journal: Journal) -> int:
    return len(await journal.asked(limit=None))
