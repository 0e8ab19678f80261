"""A damaged journal: each kind of damage and each command that reads, by the table in `docs/runs.md`."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import shutil
import sqlite3
import struct
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import Result

from actum import Agent, ToolCall, tool
from actum.call.asking.inbox import read_inbox
from actum.core.errors import JournalError
from actum.core.interfaces import Journal
from actum.core.run.chain import GENESIS
from actum.core.run.record import Entry
from actum.journal.audit import audit
from actum.journal.conversations import conversations
from actum.journal.export import check_journal, entry_line, head_lines
from actum.journal.mismatch import mismatch
from actum.storage.postgres import PostgresJournal
from actum.storage.sqlite import SQLiteJournal
from actum.testing import ScriptedModel
from tests.endurance import share
from tests.postgres import PostgresServer

from .typed import typed

pytestmark = [pytest.mark.row("C8"), pytest.mark.row("C7")]

KEY = b"k" * 32
DOCS = Path(__file__).parents[2] / "docs" / "journal.md"
COMMANDS: dict[str, tuple[tuple[str, ...], ...]] = {
    "`journal verify`": (("journal", "verify", "--key-file", "key"),),
    "`audit`": (("audit",), ("audit", "--principal", "ada", "--tool", "pay", "--since", "1h")),
    "`approvals list`": (("approvals", "list", "--json"),),
    "`runs list`": (("runs", "list"),),
    "`runs show`": (("runs", "show", "run_bad", "--json"),),
    "`conversations list`": (("conversations", "list", "--json"),),
    "`journal show`, `tail`": (("journal", "show", "run_bad"), ("journal", "tail", "run_bad")),
    "`journal export`": (("journal", "export", "--all"),),
    "`doctor`": (("doctor", "--model", "embedded"),),
}
FIRST = list(COMMANDS)[:4]
"""What is tried with every damage and database; the other commands with one damage of a kind, in a file."""
FAILING = ("verify", "doctor")
"""The commands that end with 1 when something is wrong."""


TOLD = r"can not be read|not a record|deleted|changed|missing|no entries|says?\b|kind|cut|signed|does not follow|gone"
"""The words of what is wrong."""


class Database:
    """Somebody who has the database and changes it from outside."""

    def __init__(self, place: str) -> None:
        self._place = place

    def run(self, statement: str, *values: object) -> list[tuple[object, ...]]:
        """Run one statement; its rows."""
        if "://" not in self._place:
            with closing(sqlite3.connect(self._place)) as file, file:
                file.text_factory = bytes
                return file.execute(statement, values).fetchall()
        with psycopg.connect(self._place, options="-c search_path=actum") as server:
            cursor = server.execute(statement.replace("?", "%s").encode(), values or None)
            return cursor.fetchall() if cursor.description else []

    def entries(self) -> list[Entry]:
        """The entries of the run that is to be damaged."""
        columns = "number, at, payload, salt, digest, head"
        rows = self.run(f"SELECT {columns} FROM entries WHERE run_id = 'run_bad' ORDER BY number")
        return [Entry(*row) for row in rows]  # type: ignore[arg-type]  # columns and fields are the same

    def write(self, entry: Entry) -> None:
        """Put an entry in the place of the one of its number."""
        self.run(
            "UPDATE entries SET payload = ?, digest = ?, head = ? WHERE run_id = 'run_bad' AND number = ?",
            *(entry.payload, entry.digest, entry.head, entry.number),
        )


Damage = Callable[[Database], object]
Change = Callable[[bytes], bytes]


def payload(number: int, change: Change, *, with_digest: bool = False) -> Damage:
    """The payload of an entry is changed; its digest too, as by somebody who does not know of the chain."""

    def damage(database: Database) -> None:
        entry = database.entries()[number]
        changed = change(entry.payload)
        digest = hashlib.sha256(entry.salt + changed).digest() if with_digest else entry.digest
        database.write(msgspec.structs.replace(entry, payload=changed, digest=digest))

    return damage


def resealed(number: int, change: Change) -> Damage:
    """The payload of an entry is changed, and every hash fits."""

    def damage(database: Database) -> None:
        previous = GENESIS
        for entry in database.entries():
            changed = change(entry.payload) if entry.number == number else entry.payload
            digest = hashlib.sha256(entry.salt + changed).digest()
            previous = hashlib.sha256(struct.pack(">32sQd32s", previous, entry.number, entry.at, digest)).digest()
            database.write(msgspec.structs.replace(entry, payload=changed, digest=digest, head=previous))

    return damage


def sql(statement: str) -> Damage:
    """One statement."""
    return lambda database: database.run(statement)


def line(change: str) -> Damage:
    """The run's line in the list of runs is changed."""
    return sql(f"UPDATE runs SET {change} WHERE run_id = 'run_bad'")


DAMAGES: dict[str, tuple[Damage, ...]] = {
    "a record's bytes: a flipped bit, cut off, not JSON": (
        payload(1, lambda data: data[:30] + bytes([data[30] ^ 0x80]) + data[31:]),
        payload(1, lambda data: data.replace(b"20", b"21")),
        payload(2, lambda data: data[:-9]),
        payload(2, lambda data: b"\xff" * len(data)),
    ),
    "a record's bytes and its digest": (payload(1, lambda data: data.replace(b"20", b"21"), with_digest=True),),
    "a record of a kind that is not known, every hash right": (
        resealed(2, lambda data: b'{"type":"of tomorrow"}'),
        resealed(2, lambda data: data[:-1]),
    ),
    "a record deleted in between": (sql("DELETE FROM entries WHERE run_id = 'run_bad' AND number = 1"),),
    "a record's bytes deleted without a word": (payload(1, lambda data: b""),),
    "a record's time or hash": (
        sql("UPDATE entries SET at = 5 WHERE run_id = 'run_bad' AND number = 1"),
        sql("UPDATE entries SET head = digest WHERE run_id = 'run_bad' AND number = 1"),
    ),
    "the first record, its bytes or all of it; the latest record's bytes": (
        payload(0, lambda data: b"\xff" * len(data)),
        sql("DELETE FROM entries WHERE run_id = 'run_bad' AND number = 0"),
        payload(-1, lambda data: data[:-1] + b"\xe5"),
        sql("UPDATE entries SET number = 77 WHERE run_id = 'run_bad' AND number = 1"),
    ),
    "the latest record deleted": (sql("DELETE FROM entries WHERE run_id = 'run_bad' AND number = 3"),),
    "all records of the run": (sql("DELETE FROM entries WHERE run_id = 'run_bad'"),),
    "the run's line in the list of runs deleted": (sql("DELETE FROM runs WHERE run_id = 'run_bad'"),),
    "the list of runs emptied": (sql("DELETE FROM runs"),),
    "a field of the run's line: status, principal, start, parent, conversation": (
        line("status = 'done', ended = 5"),
        line("status = 'running'"),
        line("principal = 'eve'"),
        line("started = 5"),
        line("parent = 'run_good'"),
        line("conversation = 'other'"),
        line("agent = '', model = ''"),
    ),
    "the kind that stands beside a record": (
        sql("UPDATE entries SET kind = 'model_replied' WHERE run_id = 'run_bad' AND number = 2"),
    ),
    "the kept definitions of its tools": (
        sql("DELETE FROM kept"),
        sql("UPDATE kept SET digest = 'x' || digest"),
        lambda database: database.run("UPDATE kept SET payload = ?", b"[]"),
        lambda database: database.run("UPDATE kept SET payload = ?", b"\xff"),
    ),
    "a line of the ledger of signed heads": (
        sql("DELETE FROM heads WHERE run_id = 'run_bad'"),
        sql("UPDATE heads SET signature = head"),
    ),
}


@tool(effects={"spend"}, approval=True)
async def pay(to: str, amount: int) -> str:
    """Pay."""
    return f"paid {amount} to {to}"


async def _write(journal: Journal) -> None:
    """Two runs that wait for an approval, and one that has ended, in a conversation each."""
    for run_id, principal in (("run_good", "ada"), ("run_bad", "ada"), ("run_done", "bob")):
        call = ToolCall("1", "pay", {"to": run_id, "amount": 20})
        agent = Agent(ScriptedModel([call, f"Paid for {run_id}."]), [pay], journal=journal)
        paused = await agent.run(f"Pay {run_id}", run_id=run_id, principal=principal, conversation=f"c_{run_id}")
        if run_id == "run_done":
            await agent.resume(run_id, {paused.pending[0].id: "approve"})
    await journal.close()


@pytest.fixture(scope="module")
def places(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Callable[[], str]]:
    """For each kind of database a function that makes one more, with the same runs."""
    folder = tmp_path_factory.mktemp("damage")
    count = iter(range(10_000))
    asyncio.run(_write(SQLiteJournal(folder / "whole.db", key=KEY)))

    def file() -> str:
        return str(shutil.copy(folder / "whole.db", folder / f"{next(count)}.db"))

    template = postgres.new_database()
    asyncio.run(_write(PostgresJournal(template, key=KEY)))

    def database() -> str:
        name = f"damaged_{next(count)}"
        with psycopg.connect(postgres.url("postgres"), autocommit=True) as connection:
            connection.execute(
                f"CREATE DATABASE {name} TEMPLATE {psycopg.conninfo.conninfo_to_dict(template)['dbname']}".encode()
            )
        return postgres.url(name)

    return {"SQLite": file, "PostgreSQL": database}


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Type a command, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    (tmp_path / "key").write_bytes(KEY)
    return typed


def table() -> Iterator[tuple[str, str, str]]:
    """The cells of the table in the documentation: damage, command, what the command does."""
    rows = [line for line in DOCS.read_text("utf-8").splitlines() if line.startswith("|")]
    start = next(place for place, row in enumerate(rows) if row.startswith("| damage"))
    head, _, *rest = [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows[start:]]
    for row in rest[: len(DAMAGES)]:
        yield from ((row[0].strip(), name, cell) for name, cell in zip(head[1:], row[1:], strict=True))


def test_the_table_has_every_damage_and_every_command() -> None:
    assert [(damage, name) for damage, name, _ in table()] == [(d, name) for d in DAMAGES for name in COMMANDS]


@pytest.mark.parametrize("kind", ["SQLite", "PostgreSQL"])
def test_what_is_damaged_is_told_and_hides_nothing_else(
    kind: str, places: dict[str, Callable[[], str]], command: Callable[..., Result]
) -> None:
    whole = places[kind]()
    cells = {(damage, name): cell for damage, name, cell in table()}
    before = {words: command(*words, "--journal", whole) for name in COMMANDS for words in COMMANDS[name]}
    assert all(result.exit_code == 0 for result in before.values())
    for what, damages in DAMAGES.items():
        for number, damage in enumerate(damages if kind == "SQLite" else damages[:1]):  # a server is slow to copy
            place = places[kind]()
            damage(Database(place))
            for name in COMMANDS if number == 0 and kind == "SQLite" else FIRST:
                for words in COMMANDS[name]:
                    result = command(*words, "--journal", place)
                    where = f"{kind}: {what}, {number}: {' '.join(words)}\n{result.output}"
                    _check(cells[what, name], words, before[words], result, where)


def _check(cell: str, words: tuple[str, ...], before: Result, result: Result, where: str) -> None:
    assert result.exception is None or isinstance(result.exception, SystemExit), where
    all_taken_out = "emptied" in where and "conversations" in words  # which are listed by the list of runs alone
    if set(words) & {"list", "audit", "export"} and not all_taken_out:
        others = {line for line in _lines(before.stdout) if re.search("run_good|run_done", line)}
        assert others <= set(_lines(result.stdout)), where
    if cell == "told":
        assert re.search(r"run_bad|definitions|signed head|problems", result.output), where
        assert re.search(TOLD, result.output), where
        assert result.exit_code == (1 if words[-1] in FAILING or set(words) & set(FAILING) else 0), where
    elif cell == "same":
        assert sorted(_lines(result.stdout)) == sorted(_lines(before.stdout)), where
        assert "actum:" not in result.stderr, where
        assert result.exit_code == 0, where
    else:
        assert cell == "as it is", where
        assert result.exit_code == 0, where


def _lines(text: str) -> list[str]:
    """The lines, or the items of a list in JSON, without what changes from one look to the next."""
    if text.startswith('{"items"'):
        text = "\n".join(map(json.dumps, json.loads(text.splitlines()[0])["items"]))
    text = re.sub(r"\d+(\.\d+)? (s|ms|min)\b|\d+\.db|(damaged|test)_\d+", "", text)
    return [re.sub(r" +", " ", line).strip() for line in text.splitlines()]


def test_a_run_that_is_missing_in_the_list_is_found_by_its_id_and_can_be_forgotten(
    places: dict[str, Callable[[], str]], command: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind, new in places.items():
        place = new()
        database = Database(place)
        database.run("DELETE FROM runs WHERE run_id = 'run_bad'")
        database.run("UPDATE runs SET run_id = 'run_bad_2' WHERE run_id = 'run_good'")
        shown = command("runs", "show", "run_bad", "--journal", place)
        assert "Pay run_bad" in shown.stdout, f"{kind}: {shown.output}"
        assert command("journal", "verify", "run_bad", "--journal", place).exit_code == 1
        refused = command("journal", "forget", "run_bad", "--yes", "--journal", place)
        assert (refused.exit_code, "is signed" in refused.stderr) == (2, True), f"{kind}: {refused.output}"
        with monkeypatch.context() as with_key:
            with_key.setenv("ACTUM_JOURNAL_KEY_FILE", "key")
            forgotten = command("journal", "forget", "run_bad", "--yes", "--journal", place)
        assert "forgotten: 1 run, 4 records" in forgotten.stdout, f"{kind}: {forgotten.output}"
        rows = database.run("SELECT count(*) FROM entries WHERE run_id = 'run_bad' AND length(payload) > 0")
        assert rows == [(1,)]


WORKFLOW = "actum: workflow/1\nname: {}\nnodes: {{}}\noutputs: {{sum: 1}}\n"
DEFINITIONS = {
    "agent.yaml": "actum: agent/1\nname: {}\ndescription: Helps.\n",
    "prompt.md": "You help {}.\n",
    "tool.yaml": "actum: tool/1\nname: {}\ndescription: Adds.\nparameters: {{a: string}}\nworkflow: good_workflow\n",
    "workflow.yaml": WORKFLOW,
}


def test_a_damaged_definition_hides_no_other_and_is_mended_by_publishing_its_file(
    command: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACTUM_JOURNAL", "defined.db")
    (tmp_path / "mine").mkdir()
    files = {name: {end: f"{name}_{end.partition('.')[0]}.{end}" for end in DEFINITIONS} for name in ("good", "bad")}
    for each in files.values():
        for end, file in each.items():
            (tmp_path / "mine" / file).write_text(DEFINITIONS[end].format(file.partition(".")[0]), "utf-8")
    assert command("apply", "mine").exit_code == 0
    database = Database("defined.db")
    for rows in ("drafts", "publications"):
        database.run(f"UPDATE {rows} SET text = CAST('x' AS BLOB) WHERE name LIKE 'bad%'")
    for rows in ("in_use", "publications"):
        database.run(f"UPDATE {rows} SET about = CAST('{{' AS BLOB) WHERE name LIKE 'bad%'")
    database.run("UPDATE in_use SET number = 'x' WHERE name = 'bad_agent'")

    agents = command("agents", "list", "--json")
    told = {each["name"]: each.get("problem", "") for each in json.loads(agents.stdout)}
    assert (agents.exit_code, [*told], told["good_agent"]) == (1, ["bad_agent", "good_agent"], "")
    database.run("UPDATE in_use SET number = 1 WHERE name = 'bad_agent'")
    assert "is damaged: publish it anew from its file" in command("agents", "list").stdout
    tools = command("tools", "list", "--tools", "none")
    assert [line.split()[0] for line in tools.stdout.splitlines()[1:]] == ["good_tool", "good_workflow"]
    assert all(f"{name}@1 can not be read" in tools.stderr for name in ("tool bad_tool", "workflow bad_workflow"))
    assert command("workflow", "unpublish", "good_workflow").exit_code == 0, "what is damaged may mention it"
    written = command("export", "out")
    assert (written.exit_code, sorted(written.stdout.split())) == (
        1,
        sorted({*files["good"].values()} - {"good_workflow.workflow.yaml"}),
    )
    doctor = command("doctor", "--model", "embedded", "--json")
    found = [each for each in json.loads(doctor.stdout) if each["about"] == "published"]
    assert (doctor.exit_code, len(found)) == (1, len(DEFINITIONS))
    assert "actum agents publish bad_agent.agent.yaml" in [each["advice"] for each in found]

    for group, end in (("agents", "agent.yaml"), ("workflow", "workflow.yaml")):
        mended = command(group, "publish", f"mine/{files['bad'][end]}")
        assert mended.stdout.strip().endswith("@2 is published."), mended.output
    assert command("agents", "list").exit_code == 0
    assert command("prompts", "unpublish", "bad_prompt").exit_code == 0


async def _look(place: str) -> tuple[set[str], set[str]]:
    """What every function that reads many runs makes of a file: the lines of it, and the problems."""
    journal = SQLiteJournal(place, key=KEY)
    try:
        lines = {f"{line.run} {line.number} {line.decision} {line.text}" async for line in audit(journal)}
        found = await read_inbox(journal)
        lines |= {f"waits {one.run.run_id} {one.asked.pending.call}" for one in found.waiting}
        report = await check_journal(journal, key=KEY)
        problems = {*report.problems, *(await mismatch(journal)).problems, *map(str, found.unreadable)}
        assert [each async for each in head_lines(journal)]
        assert await conversations(journal) is not None
        for run in await journal.runs():
            for entry in await journal.read(run.run_id):
                msgspec.json.encode(entry_line(run.run_id, entry))
        return lines, problems
    finally:
        await journal.close()


@pytest.mark.no_cover
@given(data=st.data())
@settings(
    max_examples=share(150, 20),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_whatever_cell_is_damaged_it_is_told_or_nothing_changes(
    data: st.DataObject, places: dict[str, Callable[[], str]]
) -> None:
    whole = places["SQLite"]()
    before, _ = asyncio.run(_look(whole))
    database = Database(whole)
    name = data.draw(st.sampled_from(["entries", "runs", "kept", "heads"]))
    rows = database.run(f"SELECT rowid FROM {name}")
    columns = [column[1].decode() for column in database.run(f"PRAGMA table_info({name})")]  # type: ignore[attr-defined]
    rowid = data.draw(st.sampled_from(rows))[0]
    column = data.draw(st.sampled_from(columns))
    run_id = "run_id" if "run_id" in columns else "''"
    cell = f"coalesce(CAST({column} AS BLOB), x''), typeof({column}), {run_id}"
    ((value, kind, run),) = database.run(f"SELECT {cell} FROM {name} WHERE rowid = ?", rowid)
    assert isinstance(value, bytes)
    new = _flipped(data, value, kind, column)
    try:
        database.run(f"UPDATE {name} SET {column} = {new[0]} WHERE rowid = ?", *new[1], rowid)
    except (sqlite3.IntegrityError, sqlite3.OperationalError):
        return  # the database itself does not take it
    try:
        after, problems = asyncio.run(_look(whole))
    except JournalError as told:
        raise AssertionError(f"{name}.{column}: one damaged value stops a command: {told}") from told
    others = {line for line in before if not (isinstance(run, bytes) and run.decode() in line)}
    assert others <= after, f"{name}.{column}: what other runs say is hidden"
    assert problems or before == after, f"{name}.{column}: changed, and nobody tells"


def _flipped(data: st.DataObject, value: bytes, kind: object, column: str) -> tuple[str, list[object]]:
    """A damaged value, as an expression of SQL and what it needs: of the same type with one bit another, or another."""
    if data.draw(st.integers(0, 4)) == 0:
        return data.draw(
            st.sampled_from(["x'ff'", "'text'", "-1", "1.5", "9e999", "''", "x''", "99999999999", "NULL"])
        ), []
    if kind in (b"integer", b"real"):
        return f"{column} + ?", [data.draw(st.sampled_from([1, -1, 0.5, 1e9]))]
    if not value:
        return "CAST(? AS TEXT)", [b"\xff"]
    at, bit = data.draw(st.integers(0, len(value) - 1)), data.draw(st.integers(0, 7))
    flipped = value[:at] + bytes([value[at] ^ (1 << bit)]) + value[at + 1 :]
    return ("CAST(? AS TEXT)" if kind == b"text" else "?"), [flipped]
