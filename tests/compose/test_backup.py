"""Backups: whole or not there, restored only after all was checked, and nothing goes on before it is released."""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import os
import shlex
import signal
import sqlite3
import sys
import tarfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

import pytest

from actum.compose.deploy.backup import Restored, back_up, restore
from actum.compose.journals import open_journal
from actum.compose.secrets import open_secrets, secret_file
from actum.compose.settings import Settings, read_settings
from actum.core.errors import JournalError, UsageError
from actum.core.language.translation import chinese
from actum.core.message import UserMessage
from actum.core.run.record import Ended, Started
from actum.core.secrets.store import SecretValue
from actum.core.stored.held import RunHeld
from actum.core.user import User
from actum.server.keys import make_key
from actum.storage.backup_file import MANIFEST
from actum.storage.pins import PinStore
from actum.storage.sqlite import SQLiteJournal
from tests import warm
from tests.patience import HANGS_S

pytestmark = pytest.mark.row("A6")

KEY = {"ACTUM_SECRETS_KEY": "0123456789abcdef" * 4}


class Shop:
    """A folder with settings, a journal, a policy and a file of secrets."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.file = folder / "shop", folder / "night.tar"
        self.into = folder / "elsewhere"
        self.environment = {"XDG_STATE_HOME": str(folder / "state"), "HOME": str(folder), **KEY}
        self.folder.mkdir()
        (self.folder / "actum.toml").write_text(
            f'journal = "{self.folder}/runs.db"\npolicy = "rules/policy.toml"\n[serve]\nissuer = "${{ISSUER}}"\n'
        )
        (self.folder / "rules").mkdir()
        (self.folder / "rules" / "policy.toml").write_text('default = "allow"\n')

    @property
    def settings(self) -> Settings:
        return read_settings(self.folder, self.environment, {})

    def journal(self, path: Path | None = None) -> SQLiteJournal:
        return SQLiteJournal(path or self.folder / "runs.db")

    def back_up(self) -> None:
        back_up(self.settings, self.environment, self.folder, self.file)

    async def restore(self, **more: bool) -> Restored:
        return await asyncio.to_thread(restore, Settings(), self.file, self.into, by="ann", **more)


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


def begin(journal: SQLiteJournal, run_id: str, *, ends: bool) -> None:
    journal.append(run_id, Started(agent="desk", model="m", said=(UserMessage.of("Go"),)))
    if ends:
        journal.append(run_id, Ended("done"))


async def test_a_backup_under_load_is_restored_elsewhere_with_keys_and_secrets_and_waits_for_a_person(
    shop: Shop,
) -> None:
    secrets = open_secrets(shop.environment)
    secret_file(shop.environment).set("till", SecretValue("s3cret"), User())
    journal = shop.journal()
    key = await make_key(journal, "ci", by="ann")
    stop, grown, written = threading.Event(), asyncio.Event(), 0

    async def load() -> None:
        nonlocal written
        while not stop.is_set():
            begin(journal, f"run_{written}", ends=bool(written % 2))
            await journal.sync(f"run_{written}")
            written += 1
            if written == 20:
                grown.set()

    loading = asyncio.create_task(load())
    async with asyncio.timeout(HANGS_S):
        await grown.wait()
    before = written
    await asyncio.to_thread(shop.back_up)
    stop.set()
    await loading
    await journal.close()
    assert shop.file.stat().st_mode & 0o777 == 0o600
    with pytest.raises(UsageError, match="already"):
        shop.back_up()

    found = await shop.restore()
    assert before <= found.runs - 1 <= written  # beside the act that made the key
    assert (found.keys, found.revoked) == (("ci",), 0)
    assert {"the variable ISSUER", "the variable ACTUM_SECRETS_KEY"} <= set(found.apart)
    assert any("key of the file of secrets" in each for each in found.apart)
    assert all(chinese(each, "message") for each in found.apart), found.apart
    moved = {**found.variables, "HOME": "/nowhere", **KEY}
    assert open_secrets(moved).of(User())["till"] == secrets.of(User())["till"] == "s3cret"
    assert (shop.into / "rules" / "policy.toml").read_text() == 'default = "allow"\n'
    assert {each.stat().st_mode & 0o077 for each in [shop.into, *shop.into.rglob("*")]} == {0}
    restored = shop.journal(Path(found.variables["ACTUM_JOURNAL"]))
    assert await restored.keys.find("ci") is not None
    assert key.text not in shop.file.read_bytes().decode("latin-1")
    assert found.held >= 10
    with pytest.raises(RunHeld):
        async with restored.claim("run_0"):
            pass
    assert await restored.held.release() == found.held
    async with restored.claim("run_0"):
        pass
    await restored.close()
    with pytest.raises(UsageError, match="new folder"):
        await shop.restore()


async def test_the_code_that_the_settings_name_is_to_be_carried_apart_and_no_tools_without_code(shop: Shop) -> None:
    await shop.journal().close()
    path = shop.folder / "actum.toml"
    tools = '["everyday", "browser", "crm.py", "published:*", "knowledge:handbook", "a2a:weather", "openapi:shop"]'
    text = f"{path.read_text()}[agents.desk]\ntools = {tools}\n"
    path.write_text(f'{text}[agents.firm]\npython = "firm.py:firm"\n')
    made = await asyncio.to_thread(back_up, shop.settings, shop.environment, shop.folder, shop.file)
    code = [each for each in made.apart if "code" in each]
    assert code == ["the code of the tools (crm.py)", "the code of the agents (firm.py:firm)"]


async def test_what_a_server_reads_beside_its_journal_is_in_the_backup_or_is_named(shop: Shop) -> None:
    """Servers of MCP, the catalog, and what each tenant approved: without them a restored server has fewer tools."""
    await shop.journal().close()
    state, config = shop.folder.parent / "state" / "actum", shop.folder.parent / ".config" / "actum"
    pins = PinStore(state / "mcp-approved.json").of_tenant("north").path.name
    texts = {
        shop.folder / "more.json": '{"mcpServers": {"crm": {"url": "https://crm.example/${CRM}"}}}',
        config / "mcp.json": '{"mcpServers": {"notes": {"command": "notes", "env": {"KEY": "${NOTES}"}}}}',
        state / "catalog" / "one.json": "{}",
        state / pins: "{}",
        state / "tokens.json": "{}",
        state / "mcp-seal.key": "sealed",
    }
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    settings = shop.folder / "actum.toml"
    settings.write_text(f'mcp = ["mine", "more.json"]\n{settings.read_text()}')
    shop.back_up()
    found = await shop.restore()
    for place in ("more.json", "config/actum/mcp.json", "state/actum/catalog/one.json", f"state/actum/{pins}"):
        assert (shop.into / place).is_file(), place
    assert not (shop.into / "state/actum/tokens.json").exists()
    told = "\n".join(found.apart)
    assert all(each in told for each in ("the variable CRM", "the variable NOTES", "tokens.json", "mcp-seal.key"))


@pytest.mark.parametrize("named", ["by a flag", "by a variable", "in the home folder"])
async def test_a_restored_server_finds_its_journal_however_the_journal_was_named(
    shop: Shop, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shop.folder)
    monkeypatch.setenv("HOME", str(shop.folder.parent))
    where, path = "other.db", shop.folder / "other.db"
    if named == "in the home folder":
        where, path = "~/mine.db", shop.folder.parent / "mine.db"
    journal = shop.journal(path)
    begin(journal, "run_1", ends=True)
    await journal.sync("run_1")
    await journal.close()
    (shop.folder / "actum.toml").write_text(f'journal = "{where}"\n' if named == "in the home folder" else "")
    environment = {**shop.environment, **({"ACTUM_JOURNAL": where} if named == "by a variable" else {})}
    settings = read_settings(shop.folder, environment, {"journal": where} if named == "by a flag" else {})
    await asyncio.to_thread(back_up, settings, environment, shop.folder, shop.file)
    path.unlink()
    found = await shop.restore()
    moved = {**shop.environment, **found.variables}
    restored = open_journal(read_settings(shop.into, moved, {}), moved)
    assert "run_1" in {run.run_id for run in await restored.runs()}
    await restored.close()


async def test_the_line_that_dumps_the_database_names_that_database_and_no_password(shop: Shop) -> None:
    """Pasted into a shell as it is printed; the host may be a parameter, and a password, too."""
    address = "postgresql://ann:s3cret@/firm?host=/run/pg&sslmode=require&%70assword=s3cret&application_name=a%20b"
    made = back_up(Settings(journal=address), shop.environment, shop.folder, shop.file)
    *_, told = shlex.split(made.command)
    assert told == "postgresql://ann@/firm?host=/run/pg&sslmode=require&application_name=a%20b"


async def test_all_keys_are_revoked_where_that_is_said(shop: Shop) -> None:
    journal = shop.journal()
    for name in ("ci", "cd"):
        await make_key(journal, name, by="ann")
    await journal.close()
    shop.back_up()
    found = await shop.restore(revoke_keys=True)
    assert found.revoked == 2
    restored = shop.journal(Path(found.variables["ACTUM_JOURNAL"]))
    assert not [key for key in await restored.keys.all() if key.is_valid(time.time())]
    await restored.close()


async def test_a_backup_while_a_migration_runs_has_all_of_the_migration_or_nothing(shop: Shop) -> None:
    """The backup takes pages of what is committed; the migration is begun before it, and ends behind it."""
    journal = shop.journal()
    begin(journal, "run_1", ends=True)
    await journal.close()
    before = journal_version(shop.folder / "runs.db")
    migrating = sqlite3.connect(shop.folder / "runs.db", isolation_level=None)
    migrating.execute("BEGIN IMMEDIATE")
    migrating.execute("ALTER TABLE runs ADD COLUMN extra TEXT NOT NULL DEFAULT 'x'")
    migrating.execute("CREATE TABLE added AS SELECT * FROM entries")
    migrating.execute("PRAGMA user_version = 7")
    await asyncio.to_thread(shop.back_up)
    migrating.execute("COMMIT")
    migrating.close()
    assert journal_version(shop.folder / "runs.db") != before
    await shop.restore()
    assert journal_version(shop.into / "journal.db") == before
    restored = shop.journal(shop.into / "journal.db")
    assert "run_1" in {run.run_id for run in await restored.runs()}
    await restored.close()


def journal_version(path: Path) -> tuple[int, set[str]]:
    """What a migration changes: the version and the tables."""
    with closing(sqlite3.connect(path)) as database:
        ((version,),) = database.execute("PRAGMA user_version").fetchall()
        tables = database.execute("SELECT sql FROM sqlite_master WHERE type = 'table'").fetchall()
    return version, {sql for (sql,) in tables}


def plain(name: str, content: bytes, **more: object) -> tuple[tarfile.TarInfo, io.BytesIO]:
    header = tarfile.TarInfo(name)
    header.size = len(content)
    for field, value in more.items():
        setattr(header, field, value)
    return header, io.BytesIO(content)


def changed(shop: Shop, change: Callable[[dict[str, bytes], dict[str, object]], Mapping[str, object]]) -> None:
    """Write the backup anew, after somebody changed its files and its manifest."""
    with tarfile.open(shop.file) as old:
        content = {each.name: old.extractfile(each).read() for each in old}  # type: ignore[union-attr]
    manifest = json.loads(content.pop(MANIFEST))
    headers = change(content, manifest)
    with tarfile.open(shop.file, "w") as new:
        new.addfile(*plain(MANIFEST, json.dumps(manifest).encode()))
        for name, data in content.items():
            new.addfile(*plain(name, data, **(headers.get(name, {}))))  # type: ignore[arg-type]


def promise(manifest: dict[str, object], name: str, data: bytes) -> None:
    members = manifest["members"]
    assert isinstance(members, list)
    members[:] = [each for each in members if each["path"] != name]
    members.append({"path": name, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()})


def add(path: str, data: bytes = b"x", promised: bytes | None = None, **header: object) -> Callable[..., object]:
    def change(content: dict[str, bytes], manifest: dict[str, object]) -> Mapping[str, object]:
        content[path] = data
        promise(manifest, path, data if promised is None else promised)
        return {path: header}

    return change


def newer(content: dict[str, bytes], manifest: dict[str, object]) -> Mapping[str, object]:
    manifest |= {"format": 2, "version": "9.9", "news": {}}
    return {}


def newer_journal(content: dict[str, bytes], manifest: dict[str, object]) -> Mapping[str, object]:
    return _with_journal(content, manifest, "PRAGMA user_version=9999")


def rewritten(content: dict[str, bytes], manifest: dict[str, object]) -> Mapping[str, object]:
    return _with_journal(content, manifest, "UPDATE entries SET payload = x'7b7d' WHERE number = 0")


def elsewhere(content: dict[str, bytes], manifest: dict[str, object]) -> Mapping[str, object]:
    manifest["journal"] = str(Path("runs.db").absolute())
    return {}


def _with_journal(content: dict[str, bytes], manifest: dict[str, object], statement: str) -> Mapping[str, object]:
    path = Path("changed.db")
    path.write_bytes(content["journal.db"])
    with sqlite3.connect(path) as connection:
        connection.execute(statement)
    connection.close()
    content["journal.db"] = path.read_bytes()
    promise(manifest, "journal.db", content["journal.db"])
    return {}


def unnamed(content: dict[str, bytes], manifest: dict[str, object]) -> Mapping[str, object]:
    content["more"] = b"x"
    return {}


def missing(content: dict[str, bytes], manifest: dict[str, object]) -> Mapping[str, object]:
    del content["actum.toml"]
    return {}


ATTACKS: dict[str, tuple[Callable[..., object], str]] = {
    "a path above": (add("../up"), "elsewhere"),
    "a path from the root": (add("/tmp/root"), "elsewhere"),
    "a path above within": (add("a/../../up"), "elsewhere"),
    "a changed byte": (add("actum.toml", b"x", b"y"), "changed"),
    "more than promised": (add("actum.toml", b"x" * 100, b"y"), "manifest says"),
    "less than promised": (add("actum.toml", b"x", b"y" * 100), "manifest says"),
    "a link": (add("link", b"", type=tarfile.SYMTYPE, linkname="/etc/passwd"), "manifest says"),
    "a hard link": (add("link", b"", type=tarfile.LNKTYPE, linkname="actum.toml"), "manifest says"),
    "a device": (add("device", b"", type=tarfile.CHRTYPE, devmajor=1, devminor=3), "manifest says"),
    "a pipe": (add("pipe", b"", type=tarfile.FIFOTYPE), "manifest says"),
    "a folder": (add("folder", b"", type=tarfile.DIRTYPE), "manifest says"),
    "a file in the place of a folder": (add("actum.toml/x"), "can not be restored"),
    "what nobody promised": (unnamed, "manifest says"),
    "what is missing": (missing, "missing"),
    "a newer format": (newer, "newer actum"),
    "a newer journal": (newer_journal, "newer actum"),
    "a rewritten journal": (rewritten, "damaged"),
    "a journal that is elsewhere": (elsewhere, "none of its files"),
}


@pytest.mark.parametrize("attack", ATTACKS)
async def test_a_backup_that_somebody_changed_is_refused_and_leaves_nothing(
    shop: Shop, attack: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shop.folder)
    journal = shop.journal()
    begin(journal, "run_1", ends=True)
    await journal.sync("run_1")
    await journal.close()
    shop.back_up()
    change, word = ATTACKS[attack]
    changed(shop, change)  # type: ignore[arg-type]
    shop.into = shop.folder.parent / "new" / "folder"
    before = sorted(shop.folder.parent.rglob("*"))
    with pytest.raises(UsageError, match=word):  # no error of the journal in use: nothing is wrong with that one
        await shop.restore()
    assert sorted(shop.folder.parent.rglob("*")) == before
    untouched = shop.journal()
    assert not await untouched.held.is_on()
    await untouched.close()


async def test_what_is_no_backup_is_refused_with_a_sentence(shop: Shop) -> None:
    bomb = tarfile.TarInfo("x")
    bomb.type, bomb.size = tarfile.XHDTYPE, 1 << 40  # a header that claims to be long
    for content in (b"", b"no tar", b"\x1f\x8b" + b"x" * 2_000, bomb.tobuf() + b"x" * 10_240, b"\0" * 10_240):
        shop.file.write_bytes(content)
        with pytest.raises(UsageError, match="no backup"):
            await shop.restore()
    assert not shop.into.exists()
    with pytest.raises(JournalError, match="there is no journal"):
        back_up(shop.settings, shop.environment, shop.folder, shop.folder / "other.tar")


KILLED = """
import os, sys
from pathlib import Path
from actum.compose.deploy import backup
from actum.compose.settings import Settings, read_settings
from actum.storage import backup_file
file, folder, into, what, after = Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4], int(sys.argv[5])
done = 0
def count(*_):
    global done
    done += 1
    if done == after:
        os.kill(os.getpid(), 9)
def hook(event, args):
    if event in ("open", "os.rename", "os.link", "os.mkdir", "shutil.rmtree"):
        if any(isinstance(each, (str, os.PathLike)) and str(each).startswith(str(file.parent)) for each in args[:2]):
            count()
sys.addaudithook(hook)
if what == "backup":
    backup.back_up(read_settings(folder, os.environ, {}), os.environ, folder, file)
else:
    backup.restore(Settings(), file, into)
"""


@pytest.mark.parametrize("what", ["backup", "restore"])
async def test_killed_at_any_moment_it_is_whole_or_not_there_and_leaves_nothing_behind(shop: Shop, what: str) -> None:
    journal = shop.journal()
    begin(journal, "run_1", ends=False)
    await journal.sync("run_1")
    await journal.close()
    if what == "restore":
        shop.back_up()
    whole, kills = shop.file if what == "backup" else shop.into, 0
    (shop.folder / "rules" / "policy.toml").touch()
    for after in range(1, 200, 7):
        places = map(str, (shop.file, shop.folder, shop.into))
        command = [sys.executable, "-c", KILLED, *places, what, str(after)]
        environment = {**os.environ, **shop.environment}
        ended = await asyncio.to_thread(warm.run, command, env=environment, timeout=HANGS_S, check=False)
        if ended.returncode != -signal.SIGKILL:
            assert ended.returncode == 0
            break
        kills += 1
        until = time.monotonic() + HANGS_S
        while list(whole.parent.glob(".*")):  # what waits for the end of the killed process cleans up
            assert time.monotonic() < until
        if whole.exists():
            break
    assert kills > 1
    assert whole.exists()
    if what == "backup":
        found = await shop.restore()
        assert found.runs == 1
    restored = shop.journal(shop.into / "journal.db")
    assert await restored.held.which(["run_1"]) == {"run_1"}
    await restored.close()
