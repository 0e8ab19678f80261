"""The journal in a database: what SQLite and PostgreSQL have in common.

`append` seals the entry at once and hands it to the writer's thread; `sync` waits until the disk has it. An entry that
nobody waits for survives the end of the process as soon as it is written, and a loss of power as soon as a later one
does. Claims are the database's own locks, which end with the process; should two processes drive one run all the same,
the number of an entry, unique within its run, lets only one of them write.

This file does not know what records mean, but for the line of each run in the list of runs and the signed heads. Both
are written in the transaction of the record. What `forget` leaves on the disk depends on the database: see `sqlite.py`
and `postgres.py`.

Somebody else may have changed the rows that are read. A value of another type than its column's becomes one that no
check passes, so that a damaged run is reported as damaged and hinders no other run.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Literal, Unpack

from msgspec import structs

from ..core.errors import JournalError, UnknownName, UsageError
from ..core.interfaces import NOTHING_READ, RunFilter
from ..core.process.claim import Claims, busy
from ..core.run.chain import GENESIS, SignedHead, seal, sign
from ..core.run.ending import ends_secrets, signs_head
from ..core.run.marks import MARKED, marks_of, marks_wanted
from ..core.run.noted import NO_KINDS, RecordKinds
from ..core.run.record import (
    FORMAT,
    Ended,
    Entry,
    Forgotten,
    InputGiven,
    InputRequested,
    Record,
    Started,
    TaskEnded,
    TaskQueued,
    TaskRetrying,
    TaskStarted,
    written_by,
)
from ..core.run.summary import (
    OVER,
    ConversationSummary,
    OpenQuestion,
    RunSummary,
    Telling,
    is_telling,
    may_wait_on,
    nothing_waits,
    persons_needed,
    summarize,
)
from ..core.run.task import TaskLine
from ..core.run.task_line import TaskTelling, may_tell_of_task
from ..core.secrets.sealed import SealedWords, open_words, seal_words
from ..core.stored.counts import Counts
from .database import Database, Row
from .schema import JournalSchema, make_tables
from .stores import DatabaseStores, forget_rows_of_run
from .tables.counts import DatabaseCounts
from .tables.definitions import DatabaseDefinitions
from .tables.held import DatabaseHeld, is_free
from .tables.kept import keep, kept
from .tables.keys import DatabaseKeys
from .tables.objects import DatabaseObjects
from .tables.passed import DatabasePassed
from .tables.positions import DatabasePositions
from .tables.sessions import DatabaseSessions
from .tables.tasks import DatabaseTasks, tell_task
from .tables.webhooks import tell_webhook
from .writer import Writer

LOOK_S, LOOK_S_MAX = 0.005, 0.1
"""The polling interval, first and last, while the database still holds the claim of a process that died."""
SETTLE_S = 30.0
"""The longest wait for the end of such a claim."""
_LINE = "run_id, status, started, ended, agent, model, question, conversation, parent, principal, owner, tenant, kind"
"""The columns of a run's line, named as the fields of `RunSummary`."""
_NAMES = _LINE.split(", ")
_LINE_OF = f"SELECT {_LINE} FROM runs WHERE run_id = ?"
_ADD_LINE = f"INSERT INTO runs ({_LINE}) VALUES ({', '.join('?' * len(_NAMES))})"

_READ = "SELECT number, at, payload, salt, digest, head FROM entries WHERE run_id = ? AND number > ? ORDER BY number"
_READ_OF_TENANT = """SELECT number, at, payload, salt, digest, head FROM entries WHERE run_id = ? AND number > ?
    AND EXISTS (SELECT 1 FROM runs WHERE run_id = ? AND tenant = ?) ORDER BY number"""
_ONE_TURN_MORE = """INSERT INTO conversations
    SELECT tenant, owner, conversation, 1, place, place FROM runs WHERE run_id = ?
    ON CONFLICT (tenant, owner, conversation)
    DO UPDATE SET turns = conversations.turns + 1, latest = excluded.latest"""
_ALL_TURNS = """INSERT INTO conversations
    SELECT tenant, owner, conversation, count(*), min(place), max(place) FROM runs
    WHERE tenant = ? AND owner = ? AND conversation = ? GROUP BY tenant, owner, conversation"""
_MARKS = """INSERT INTO run_marks SELECT tenant, given.mark, place FROM runs, ({given}) AS given WHERE run_id = ?
    ON CONFLICT DO NOTHING"""
_IDS_MAX = 1_000
"""The most runs that are read by one query."""
_KEPT_MAX = 50_000
"""The digests of 50,000 kept payloads are remembered: clients choose their tools, and so what is kept."""
_COUNT = """INSERT INTO counted VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (tenant, kind, agent, model, status, session) DO UPDATE SET number = counted.number + excluded.number"""
_FIRST = "INSERT INTO entries VALUES (?, 0, ?, ?, ?, ?, ?, ?)"
_FURTHER = """INSERT INTO entries VALUES (
    ?, (SELECT number + 1 FROM entries WHERE run_id = ? AND number = ? AND head = ?), ?, ?, ?, ?, ?, ?)"""
"""The fence: a row is refused when its number is taken, and when what it was sealed upon is not there."""


class DatabaseJournal:
    """A `Journal` in a database.

    Args:
        database: the database, connected.
        schema: its tables.
        now: where the time of an entry comes from, in seconds since 1970.
        key: the secret with which heads are signed; None to sign none.
        older: a journal of an older format is opened, too, to be verified and exported; nothing is written to it.
        record_kinds: the kinds of records that features bring.

    Raises:
        JournalError: a newer version made the database, it belongs to something else, or its records are of an older
            format and `older` is not set.

    Attributes:
        keys: the keys of a server, kept beside the runs.
        sessions: the sessions of people who logged in.
        passed: a line of each request for a model that was passed on to an upstream.
        objects: small objects that a server keeps for its callers.
        positions: how far triggers have come.
        definitions: texts that people write and publish, such as workflows.
        held: the runs that were unfinished when the journal was restored.
        stores: the tables of features.
    """

    def __init__(
        self,
        database: Database,
        schema: JournalSchema,
        *,
        now: Callable[[], float],
        key: bytes | None,
        older: bool = False,
        record_kinds: RecordKinds = NO_KINDS,
    ) -> None:
        self.record_kinds = record_kinds = record_kinds.copy()
        try:
            self._format = make_tables(database, schema, older=older)
        except BaseException:
            database.close()
            raise
        self._database = database
        self._now = now
        self._key = key
        self._next: dict[str, tuple[int, bytes]] = {}
        self._kept: set[str] = set()
        self._to_keep: dict[str, bytes] = {}
        self._to_keep_of: dict[str, dict[str, bytes]] = {}
        self._to_hide: dict[str, list[SealedWords]] = {}
        self._hiding: set[str] = set()
        self._attempted: set[str] = set()
        self._marked: dict[str, set[str]] = {}
        self._claims = Claims()
        self._writer = Writer(database)
        self.keys = DatabaseKeys(database, self._writer, self._check_format)
        self.sessions = DatabaseSessions(self._writer, self._check_format)
        self.passed = DatabasePassed(self._writer, self._check_format)
        self.objects = DatabaseObjects(self._writer, self._check_format)
        self.positions = DatabasePositions(self._writer, self._check_format)
        self.definitions = DatabaseDefinitions(self._writer, self._check_format, now)
        self.held = DatabaseHeld(self._writer, self._check_format, now)
        self.stores = DatabaseStores(self._writer, self._check_format, record_kinds)
        self._counts = DatabaseCounts(self._writer, self.claim, now)
        self._tasks = DatabaseTasks(self._writer)

    @property
    def name(self) -> str:
        """What to call it: a path, or an address without its password."""
        return self._writer.name

    @property
    def is_shared(self) -> bool:
        return self._database.is_shared

    @property
    def counts(self) -> Counts:
        return self._counts

    @property
    def tasks(self) -> DatabaseTasks:
        return self._tasks

    def now(self) -> float:
        return self._now()

    def append(self, run_id: str, record: Record) -> int:
        self._check_format()
        self._writer.check(run_id)
        if run_id in self._next:
            number, head = self._next[run_id]
        elif isinstance(record, Started):
            number, head = 0, GENESIS
        else:
            number, head = self._writer.ask_now(lambda database: _next(database, run_id))
        entry, views = seal(record, number, self._now(), head), self.stores.views
        to_keep, self._to_keep = self._to_keep, {}
        own = self._to_keep_of.pop(run_id, {}) if self._to_keep_of else {}
        to_hide = self._to_hide.pop(run_id, ()) if self._to_hide else ()
        marks = self._new_marks(run_id, record)

        def write(database: Database) -> None:
            views.note(database, run_id, number, record)
            keep(database, run_id, to_keep, own, to_hide)
            self._write(database, run_id, record, entry, head, marks)

        def tell(error: Exception | None) -> None:
            if error is not None:
                self._kept.difference_update(to_keep)

        self._writer.put(write, run_id, tell)
        views.behind(run_id, number, record)
        if isinstance(record, TaskStarted):
            self._attempted.add(run_id)
        elif isinstance(record, TaskRetrying | TaskEnded):
            self._attempted.discard(run_id)
        is_next_attempt_possible = run_id in self._attempted and isinstance(record, Ended)
        if run_id in self._hiding and ends_secrets(record) and not is_next_attempt_possible:
            self._hiding.discard(run_id)
            self._writer.put_aside(lambda database: database.scrub(wait=False))
        if isinstance(record, Ended):  # the run may go on in another process
            self._next.pop(run_id, None)
            self._marked.pop(run_id, None)
        else:
            self._next[run_id] = (number + 1, entry.head)
        return number

    def _new_marks(self, run_id: str, record: Record) -> Sequence[str]:
        """The marks of a record that the run does not have yet, as far as this process knows."""
        marks = marks_of(record)
        if not marks:
            return ()
        known = self._marked.setdefault(run_id, set())
        new = [mark for mark in dict.fromkeys(marks) if mark not in known]
        known.update(new)
        return new

    @asynccontextmanager
    async def claim(self, name: str, *, may_be_held: bool = False) -> AsyncIterator[None]:
        with self._claims.hold(name):
            try:
                await self._take(name, may_be_held=may_be_held)
                self._next.pop(name, None)
                self._marked.pop(name, None)
                self._writer.pardon(name)
                yield
            finally:  # also when it was cancelled while it was being taken; behind all that was written meanwhile
                try:
                    if not self._writer.closed:  # closing drops all claims
                        await self._writer.ask(lambda database: database.release(name), aside=True)
                finally:  # at last: until now a reader of the run may have noted where it goes on
                    self._next.pop(name, None)
                    self._marked.pop(name, None)

    async def _take(self, name: str, *, may_be_held: bool) -> None:
        """Claim a name from other processes. What a process that died had begun to commit is waited for.

        Raises:
            Busy: a process that lives has claimed the name, or the database has worked for a dead one for too long;
                or it is a `RunHeld`.
        """

        def take(database: Database) -> bool:
            if database.take(name):
                return may_be_held or is_free(database, name)
            if database.holder_lives(name):
                raise busy(name)
            return False

        pause_s, waited_s = LOOK_S, 0.0
        while not await self._writer.ask(take, aside=True):
            if waited_s > SETTLE_S:
                raise busy(name)
            await asyncio.sleep(pause_s)
            waited_s += pause_s
            pause_s = min(pause_s * 2, LOOK_S_MAX)

    async def driven(self, run_ids: Sequence[str]) -> set[str]:
        here = self._claims.held(run_ids)
        others = [run_id for run_id in run_ids if run_id not in here]
        return here | await self._writer.ask(lambda database: database.taken(others), aside=True)

    async def sync(self, run_id: str) -> None:
        await self._writer.sync(run_id)

    def keep(self, digest: str, payload: bytes, run_id: str = "") -> None:
        """Written with the next record, which is the one that refers to it: both are there or neither."""
        self._writer.check(run_id)
        if run_id:
            self._to_keep_of.setdefault(run_id, {})[digest] = payload
        elif digest not in self._kept:
            if len(self._kept) >= _KEPT_MAX:  # what is given again is written again, and changes nothing
                self._kept.clear()
            self._kept.add(digest)
            self._to_keep[digest] = payload

    def keeps(self, digest: str) -> bool:
        return digest in self._kept

    async def kept(self, digest: str) -> bytes:
        of_runs = self._format == FORMAT
        rows = await self._writer.ask(lambda database: kept(database, digest, of_runs=of_runs))
        if rows:
            return _bytes(rows[0][0])
        for waiting in (self._to_keep, *self._to_keep_of.values()):
            if digest in waiting:
                return waiting[digest]
        raise UnknownName("the journal {name} keeps nothing under {digest}", name=self.name, digest=digest)

    def hide(self, run_id: str, words: bytes) -> str:
        self._check_format()
        self._writer.check(run_id)
        sealed = seal_words(words, self._key)
        self._to_hide.setdefault(run_id, []).append(sealed)
        self._hiding.add(run_id)
        return sealed.digest

    async def hidden(self, run_id: str) -> dict[str, bytes]:
        found = await self._sealed(run_id)
        if found:
            self._hiding.add(run_id)
        return {sealed.digest: open_words(sealed, self._key) for sealed in found}

    async def hidden_intact(self, run_id: str) -> dict[str, bool]:
        return {sealed.digest: sealed.is_intact for sealed in await self._sealed(run_id)}

    async def post(self, run_id: str, answer: bytes) -> None:
        self._check_format()
        sealed = seal_words(answer, self._key)
        row = (run_id, sealed.digest, sealed.salt, sealed.payload)
        query = "INSERT INTO posted (run_id, digest, salt, payload) VALUES (?, ?, ?, ?)"
        await self._writer.ask(lambda database: database.execute(query, row), writes=True)

    async def posted(self, run_id: str) -> list[tuple[int, bytes]]:
        if self._format != FORMAT:
            return []  # a journal of an older format has no such table
        query = "SELECT place, digest, salt, payload FROM posted WHERE run_id = ? ORDER BY place"
        rows = await self._writer.ask(lambda database: database.execute(query, (run_id,)))
        held = [
            (place, SealedWords(_str(digest), _bytes(salt), _bytes(payload))) for place, digest, salt, payload in rows
        ]
        return [(_int(place), open_words(sealed, self._key)) for place, sealed in held]

    async def unpost(self, run_id: str, places: Sequence[int]) -> None:
        def delete(database: Database) -> None:
            for place in places:
                database.execute("DELETE FROM posted WHERE run_id = ? AND place = ?", (run_id, place))

        await self._writer.ask(delete, writes=True)

    async def _sealed(self, run_id: str) -> list[SealedWords]:
        if self._format != FORMAT:
            return []  # a journal of an older format has no such table
        query = "SELECT digest, salt, payload FROM hidden WHERE run_id = ?"
        rows = await self._writer.ask(lambda database: database.execute(query, (run_id,)))
        return [SealedWords(_str(digest), _bytes(salt), _bytes(payload)) for digest, salt, payload in rows]

    async def read(self, run_id: str, after: int = -1, *, tenant: str | None = None) -> list[Entry]:
        values: tuple[object, ...] = (run_id, after)
        if tenant is not None:  # the same query whether the run is there, is not, or is another tenant's
            values = (run_id, after, run_id, tenant)
        query = _READ if tenant is None else _READ_OF_TENANT
        rows = await self._writer.ask(lambda database: database.execute(query, values))
        entries = [_entry(row, self._format) for row in rows]
        if entries and run_id not in self._next and self._claims.held((run_id,)):
            self._next[run_id] = (entries[-1].number + 1, entries[-1].head)
        return entries

    async def read_each(
        self, run_ids: Sequence[str], after: Mapping[str, int] = NOTHING_READ
    ) -> dict[str, list[Entry]]:
        found: dict[str, list[Entry]] = {}
        for begin in range(0, len(run_ids), _IDS_MAX):
            behind = {run_id: after.get(run_id, -1) for run_id in run_ids[begin : begin + _IDS_MAX]}
            rows = await self._writer.ask(partial(_rows_of_each, behind=behind))
            for row in rows:
                found.setdefault(_str(row[0]), []).append(_entry(row[1:], self._format))
        return found

    async def edges(self, edge: Literal["first", "latest"]) -> list[tuple[str, Entry]]:
        outermost = "min" if edge == "first" else "max"
        query = f"""SELECT entries.run_id, entries.number, at, payload, salt, digest, head
            FROM (SELECT run_id, {outermost}(number) AS number FROM entries GROUP BY run_id) AS outermost
            JOIN entries ON entries.run_id = outermost.run_id AND entries.number = outermost.number
            ORDER BY entries.run_id"""
        rows = await self._writer.ask(lambda database: database.execute(query))
        return [(_str(row[0]), _entry(row[1:], self._format)) for row in rows]

    async def mislabelled(self, run_id: str) -> list[int]:
        query = "SELECT number, kind, payload FROM entries WHERE run_id = ? AND length(payload) > 0 ORDER BY number"
        rows = await self._writer.ask(lambda database: database.execute(query, (run_id,)))
        return [
            _int(number)
            for number, kind, payload in rows
            if not _bytes(payload).startswith(f'{{"type":"{_str(kind)}"'.encode(errors="replace"))
        ]

    async def runs(self, *, limit: int | None = 50, behind: str = "", **wanted: Unpack[RunFilter]) -> list[RunSummary]:
        # A journal of an older format has neither tenants nor kinds.
        line = _prefixed("runs") if self._format == FORMAT else _LINE.replace("tenant, kind", "'', ''")
        marks = await self._marks(wanted)
        table, where = _marked_runs(wanted, marks)
        if behind:
            where.add("runs.place < (SELECT place FROM runs WHERE run_id = ?)", behind)
        order = "first.place" if table != "runs" else "place"
        query = f"SELECT {line} FROM {table} {where} ORDER BY {order} DESC {_at_most(limit)}"
        rows = await self._writer.ask(lambda database: database.execute(query, where.values))
        return [_summary(row) for row in rows]

    async def _marks(self, wanted: RunFilter) -> Sequence[str]:
        """The marks that a filter asks for. The rows of the first are read: the mark that the fewest runs have."""
        marks = marks_wanted(wanted)
        if len(marks) < 2:
            return marks
        where = Conditions.of({"tenant": wanted.get("tenant")})
        where.add("mark = ?", "")
        query = f"SELECT count(*) FROM (SELECT 1 FROM run_marks {where} LIMIT {_RARE}) AS found"

        def count(database: Database, mark: str) -> int:
            return _int(database.execute(query, [*where.values[:-1], mark])[0][0])

        return await self._writer.ask(lambda database: sorted(marks, key=lambda mark: count(database, mark)))

    async def statuses(self, *, limit: int = 50, tenant: str | None = None) -> dict[str, str]:
        where = Conditions.of({"tenant": tenant if self._format == FORMAT else None})
        query = f"SELECT run_id, status FROM runs {where} ORDER BY place DESC {_at_most(limit)}"
        rows = await self._writer.ask(lambda database: database.execute(query, where.values))
        return {_str(run_id): _str(status) for run_id, status in rows}

    async def is_listed(self, run_id: str, *, tenant: str | None = None) -> bool:
        where = Conditions.of({"tenant": tenant})
        where.add("run_id = ?", run_id)
        query = f"SELECT 1 FROM runs {where}"
        return bool(await self._writer.ask(lambda database: database.execute(query, where.values)))

    async def count_runs(self, *, most: int | None = None, **wanted: Unpack[RunFilter]) -> dict[str, int]:
        marks = await self._marks(wanted)
        table, where = _marked_runs(wanted, marks)
        query, values = f"SELECT status, count(*) FROM {table} {where} GROUP BY status", where.values
        if most is not None:
            query, values = _counted_up_to(most, wanted, marks)
        if {
            name for name, value in wanted.items() if _is_asked(name, value)
        } <= _COUNTED and self._format == FORMAT:  # what has ended is counted already; it may be very much
            where, under_way = Conditions.of(wanted), Conditions.of(wanted)
            under_way.add(f"status IN ({', '.join('?' * len(_UNDER_WAY))})", *_UNDER_WAY)
            query = f"""SELECT status, CAST(sum(number) AS BIGINT) FROM counted {where} GROUP BY status
                UNION ALL SELECT status, count(*) FROM runs {under_way} GROUP BY status"""
            values = where.values + under_way.values
        rows = await self._writer.ask(lambda database: database.execute(query, values))
        return {_str(status): _int(count) for status, count in rows if count}

    async def conversations(
        self, *, limit: int | None = 50, behind: str = "", owner: str | None = None, tenant: str | None = None
    ) -> list[ConversationSummary]:
        where = Conditions.of({"owner": owner, "tenant": tenant}, "talks")
        if behind:
            where.add("talks.latest < (SELECT place FROM runs WHERE run_id = ?)", behind)
        query = f"""SELECT talks.turns, {_prefixed("first")}, {_prefixed("latest")} FROM conversations AS talks
            JOIN runs AS first ON first.place = talks.first JOIN runs AS latest ON latest.place = talks.latest
            {where} ORDER BY talks.latest DESC {_at_most(limit)}"""
        rows = await self._writer.ask(lambda database: database.execute(query, where.values))
        middle = 1 + len(_LINE.split(", "))
        return [
            ConversationSummary(runs=_int(row[0]), first=_summary(row[1:middle]), latest=_summary(row[middle:]))
            for row in rows
        ]

    async def asked(
        self,
        *,
        ask_id: str = "",
        limit: int | None = 50,
        behind: tuple[float, str] | None = None,
        expired: tuple[float, float] | None = None,
        **wanted: Unpack[RunFilter],
    ) -> list[OpenQuestion]:
        where = _waiting(wanted)
        if ask_id:
            where.add("asked.ask_id = ?", ask_id)
        if behind is not None:
            where.add("(asked.at, asked.ask_id) > (?, ?)", *behind)
        if expired is not None:
            where.add("asked.expires > 0 AND asked.expires BETWEEN ? AND ?", *expired)
        query = f"""SELECT asked.run_id, asked.ask_id, asked.at, asked.needs, asked.expires FROM asked
            JOIN runs ON runs.run_id = asked.run_id {where} ORDER BY asked.at, asked.ask_id {_at_most(limit)}"""
        rows = await self._writer.ask(lambda database: database.execute(query, where.values))
        return [
            OpenQuestion(_str(run_id), _str(id_), _float(at), _int(needs), _float(expires))
            for run_id, id_, at, needs, expires in rows
        ]

    async def count_asked(self) -> int:
        where = _waiting({})
        query = f"SELECT count(*) FROM asked JOIN runs ON runs.run_id = asked.run_id {where}"
        rows = await self._writer.ask(lambda database: database.execute(query, where.values))
        return _int(rows[0][0])

    async def named(self, name: str, *, limit: int = 20) -> list[str]:
        query = f"SELECT run_id FROM run_names WHERE name = ? ORDER BY place DESC {_at_most(limit)}"
        rows = await self._writer.ask(lambda database: database.execute(query, (name,)))
        return [_str(run_id) for (run_id,) in rows]

    async def forget(self, run_id: str, by: str = "", reason: str = "") -> int:
        self._check_format()

        def write(database: Database) -> int:
            number, head = _next(database, run_id)
            if not number:
                raise UnknownName("there is no run {wanted!r} in this journal", wanted=run_id)
            self._check_key(database)
            ((count,),) = database.execute(
                "SELECT count(*) FROM entries WHERE run_id = ? AND length(payload) > 0", (run_id,)
            )
            lines = database.execute("SELECT tenant FROM runs WHERE run_id = ?", (run_id,))
            record = Forgotten(by, reason, _str(lines[0][0]) if lines else "")
            database.execute("UPDATE entries SET payload = ?, salt = ? WHERE run_id = ?", (b"", b"", run_id))
            forget_beside(database, run_id)
            self._write(database, run_id, record, seal(record, number, self._now(), head), head)
            assert isinstance(count, int)
            return count

        async with self.claim(run_id, may_be_held=True):
            deleted = await self._writer.ask(write, writes=True, durable=True)
            await self._writer.ask(lambda database: database.scrub(), aside=True)
            return deleted

    async def heads(self) -> list[SignedHead]:
        query = "SELECT run_id, number, head, signature FROM heads ORDER BY place"
        rows = await self._writer.ask(lambda database: database.execute(query))
        return [_signed(row) for row in rows]

    async def close(self) -> None:
        """Write what is left and let go of the database.

        Raises:
            JournalError: something could not be written.
        """
        if not self._writer.closed:
            self.passed.flush()
        try:
            await self._writer.close()
        finally:
            await self.keys.close()  # when no check connects again

    def _check_format(self) -> None:
        """Refuse to write into a journal of an older format: two formats in one journal could not be told apart.

        Raises:
            JournalError: the journal's format is an older one.
        """
        if self._format != FORMAT:
            raise JournalError(
                "nothing can be written to the journal {name}: {written_by}",
                name=self.name,
                written_by=written_by(self._format),
            )

    def _check_key(self, database: Database) -> None:
        """Refuse to delete in a signed journal without its key: the check of the journal would find an end that is not
        signed.

        Raises:
            UsageError: there are signed heads, and the key is missing or is another key.
        """
        rows = database.execute("SELECT run_id, number, head, signature FROM heads ORDER BY place DESC LIMIT 2")
        if not rows:
            return
        last = [_signed(row) for row in rows]
        previous = last[1].signature if len(last) > 1 else GENESIS
        latest = last[0]
        if self._key is None or sign(self._key, previous, latest.run_id, latest.number, latest.head) != latest:
            which = "without its key" if self._key is None else "with this key, which is not the key that signed it"
            raise UsageError(
                "the journal {name} is signed, and nothing can be forgotten {which}: what is deleted "
                "would have to be signed, or `actum journal verify` finds a fault. Open it with its "
                "key (ACTUM_JOURNAL_KEY_FILE)",
                name=self.name,
                which=which,
            )

    def _write(
        self,
        database: Database,
        run_id: str,
        record: Record,
        entry: Entry,
        previous: bytes,
        marks: Sequence[str] = (),
    ) -> None:
        """Write an entry, and with it what follows from it: the run's line, a signed head."""
        signs = self._key is not None and signs_head(record)
        if signs:
            database.lock()
        kind = str(record.__struct_config__.tag)
        row = (entry.at, kind, entry.payload, entry.salt, entry.digest, entry.head)
        if entry.number == 0:
            database.execute(_FIRST, (run_id, *row))
        else:
            database.execute(_FURTHER, (run_id, run_id, entry.number - 1, previous, *row))
        if is_telling(record):
            _tell(database, run_id, record, entry.at)
        if marks:
            given = " UNION ALL ".join(["SELECT CAST(? AS TEXT) AS mark"] * len(marks))
            database.execute(_MARKS.format(given=given), (*marks, run_id))
        task = _tell_task(database, run_id, record, entry) if may_tell_of_task(record) else None
        # A task that is not over may be tried again: its secret values stay for the next attempt.
        if ends_secrets(record) and (task is None or task.is_finished):
            database.execute("DELETE FROM hidden WHERE run_id = ?", (run_id,))
        if signs and self._key is not None:
            _sign(database, self._key, run_id, entry)


def forget_beside(database: Database, run_id: str) -> None:
    """Delete what names a run beside its entries, in the transaction that forgets the run."""
    for table in ("objects", "held", "kept_of_runs"):
        database.execute(f"DELETE FROM {table} WHERE run_id = ?", (run_id,))
    database.execute("DELETE FROM run_marks WHERE place IN (SELECT place FROM runs WHERE run_id = ?)", (run_id,))
    forget_rows_of_run(database, run_id)


def _rows_of_each(database: Database, behind: Mapping[str, int]) -> list[Row]:
    """The entries of several runs, each behind the id of its run, in the order of their numbers.

    Args:
        database: the database.
        behind: the runs, at least one; of each the number of the last entry that is known already.
    """
    wanted = ", ".join(["(?, CAST(? AS BIGINT))"] * len(behind))
    query = f"""SELECT run_id, number, at, payload, salt, digest, head
        FROM (VALUES {wanted}) AS wanted CROSS JOIN entries
        WHERE run_id = wanted.column1 AND number > wanted.column2 ORDER BY run_id, number"""
    return database.execute(query, [value for place in behind.items() for value in place])


def _next(database: Database, run_id: str) -> tuple[int, bytes]:
    """Number of a run's next entry, and the head that it follows."""
    query = "SELECT number, head FROM entries WHERE run_id = ? ORDER BY number DESC LIMIT 1"
    for number, head in database.execute(query, (run_id,)):
        return _int(number) + 1, _bytes(head)
    return 0, GENESIS


def _tell(database: Database, run_id: str, record: Telling, at: float) -> None:
    """Write the run's line in the list of runs."""
    rows = database.execute(_LINE_OF, (run_id,))
    if not rows and isinstance(record, Forgotten):  # somebody deleted the line: what the run says can go all the same
        return
    before = _summary(rows[0]) if rows else None
    line = summarize(run_id, before, record, at)
    # No text of PostgreSQL holds a NUL; this one is for people, the record has the user's words as they are.
    line = structs.replace(line, question=line.question.replace("\0", "\ufffd"))
    if before is not None:
        changed = [name for name in _NAMES if getattr(line, name) != getattr(before, name)]
        if changed:  # what stays as it is costs no index anything
            assigned = ", ".join(f"{name} = ?" for name in changed)
            values = [getattr(line, name) for name in changed]
            database.execute(f"UPDATE runs SET {assigned} WHERE run_id = ?", (*values, run_id))
    else:
        database.execute(_ADD_LINE, [getattr(line, name) for name in _NAMES])
    if before is None or _counted_as(before) != _counted_as(line):
        _count(database, before, -1)
        _count(database, line, 1)
    if line.conversation != (before.conversation if before is not None else ""):
        _tell_conversation(database, before, line)
    _tell_asked(database, record, line, at)
    if isinstance(record, Started):
        for name in record.names:
            database.execute("INSERT INTO run_names (name, run_id) VALUES (?, ?)", (name, run_id))
    elif isinstance(record, Forgotten):
        database.execute("DELETE FROM run_names WHERE run_id = ?", (run_id,))


def _counted_as(line: RunSummary) -> tuple[str, ...]:
    """Under what a run is counted."""
    return (line.tenant, line.kind, line.agent, line.model, line.status)


def _count(database: Database, line: RunSummary | None, change: int) -> None:
    """Count a run that is under way no more: one more of its kind, or one less."""
    if line is not None and line.status not in _UNDER_WAY:
        database.execute(_COUNT, (*_counted_as(line), database.session, change))


def _tell_conversation(database: Database, before: RunSummary | None, line: RunSummary) -> None:
    """Write the line of a conversation: it has one turn more, or one less since a run was forgotten."""
    if line.conversation:
        database.execute(_ONE_TURN_MORE, (line.run_id,))
    elif before is not None:
        named = (before.tenant, before.owner, before.conversation)
        database.execute("DELETE FROM conversations WHERE tenant = ? AND owner = ? AND conversation = ?", named)
        database.execute(_ALL_TURNS, named)


def _tell_asked(database: Database, record: Telling, line: RunSummary, at: float) -> None:
    """Write down that a run waits for something, or does not wait any more."""
    if isinstance(record, InputRequested):
        if not line.parent:  # a run that works for another run waits by that one
            pending = record.pending
            row = (line.run_id, record.id, line.tenant, at, persons_needed(pending), pending.expires)
            database.execute("INSERT INTO asked VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", row)
    elif isinstance(record, InputGiven):
        named = (line.run_id, record.id)
        rows = database.execute("SELECT needs FROM asked WHERE run_id = ? AND ask_id = ?", named)
        if rows and not may_wait_on(record, _int(rows[0][0])):
            database.execute("DELETE FROM asked WHERE run_id = ? AND ask_id = ?", named)
    elif nothing_waits(record):
        database.execute("DELETE FROM asked WHERE run_id = ?", (line.run_id,))


def _tell_task(database: Database, run_id: str, record: TaskTelling, entry: Entry) -> TaskLine | None:
    """Write the line of a task.

    Returns:
        The line; None where the run is no task.
    """
    run = None
    if isinstance(record, TaskQueued):
        rows = database.execute(_LINE_OF, (run_id,))
        run = _summary(rows[0]) if rows else None
    # A task behind Started alone, or behind the calls that somebody asked for, is the run's first.
    behind_calls = entry.number == 2 and run is not None and run.kind == "call" and bool(run.question)
    is_new = run is not None and (entry.number == 1 or behind_calls)
    before, after = tell_task(database, run, run_id, record, entry.at, is_new=is_new)
    if before is not None and after is not None and after.is_finished and not before.is_finished:
        _tell_webhook(database, after, entry.at)
    return after


def _tell_webhook(database: Database, line: TaskLine, at: float) -> None:
    """Write down that somebody is to be told of the end of a task, in the transaction of the record that ends it."""
    tell_webhook(database, line, at)


class Conditions:
    """The conditions of a query, and their values.

    Attributes:
        values: of the conditions, in order.
    """

    def __init__(self) -> None:
        self._conditions: list[str] = []
        self.values: list[object] = []

    @classmethod
    def of(cls, wanted: Mapping[str, object], table: str = "") -> Conditions:
        """The conditions of a filter.

        Args:
            wanted: a `RunFilter`, or a part of it.
            table: the table whose columns are meant, where a query has several.
        """
        made = cls()
        for name, value in wanted.items():
            if name in MARKED or not _is_asked(name, value):
                continue
            column, compared = _COMPARED.get(name, (name, "="))
            values = value if isinstance(value, tuple) else (value,)
            one = f"{table}{'.' if table else ''}{column} {compared} ?"
            made.add(f"({' OR '.join([one] * len(values))})" if len(values) > 1 else one, *values)
        return made

    def add(self, condition: str, *values: object) -> None:
        """One more condition."""
        if any(isinstance(value, str) and "\0" in value for value in values):
            self._conditions.append("1 = 0")  # no text of PostgreSQL holds a NUL, so nothing is found
            return
        self._conditions.append(condition)
        self.values += values

    def __str__(self) -> str:
        return f"WHERE {' AND '.join(self._conditions)}" if self._conditions else ""


def _marked_runs(wanted: Mapping[str, object], marks: Sequence[str]) -> tuple[str, Conditions]:
    """The table of a list of runs, and the conditions of a filter there. The rows of one mark stand in the order of the
    list, so that a page reads what is on the page.
    """
    where = Conditions.of(wanted, "runs")
    if not marks:
        return "runs", where
    tenant = wanted.get("tenant")
    for at, mark in enumerate(marks):
        name = "first" if at == 0 else "another"
        same = "first.mark = ?" if tenant is None else "first.tenant = ? AND first.mark = ?"
        condition = same.replace("first.", f"{name}.")
        if at:
            condition = f"EXISTS (SELECT 1 FROM run_marks AS another WHERE {condition} AND another.place = runs.place)"
        where.add(condition, *([mark] if tenant is None else [tenant, mark]))
    where.add("first.place = runs.place")
    return "run_marks AS first CROSS JOIN runs", where


def _counted_up_to(most: int, wanted: Mapping[str, object], marks: Sequence[str]) -> tuple[str, list[object]]:
    """The query that counts runs of each status up to a number, and its values."""
    parts, values = [], []
    for status in (*_UNDER_WAY, *OVER):
        table, where = _marked_runs(wanted, marks)
        where.add("runs.status = ?", status)
        parts.append(f"SELECT '{status}', count(*) FROM (SELECT 1 FROM {table} {where} LIMIT {int(most)}) AS found")
        values += where.values
    return " UNION ALL ".join(parts), values


_MAY_BE_EMPTY = frozenset({"tenant", "owner", "parent"})


def _is_asked(name: str, value: object) -> bool:
    """Whether a part of a filter leaves anything out."""
    return value is not None and (value != "" or name in _MAY_BE_EMPTY)


_COMPARED = {"since": ("started", ">="), "until": ("started", "<")}


_COUNTED = frozenset({"tenant", "kind", "agent", "model", "status"})
"""The filters by which the table `counted` can answer."""
_RARE = 1_000
"""How many rows of a mark are counted, to find the mark with the fewest rows."""
_UNDER_WAY = ("running", "waiting", "paused")
"""Runs with these states are not in the table `counted`: see `schema`."""


def _waiting(wanted: Mapping[str, object]) -> Conditions:
    """The conditions of what is waited for."""
    where = Conditions.of(wanted, "runs")
    if (tenant := wanted.get("tenant")) is not None:
        where.add("asked.tenant = ?", tenant)
    where.add(f"runs.status NOT IN ({', '.join('?' * len(OVER))})", *OVER)
    return where


def _at_most(limit: int | None) -> str:
    return "" if limit is None else f"LIMIT {min(int(limit), 2**63 - 1)}"


def _prefixed(table: str) -> str:
    return ", ".join(f"{table}.{name}" for name in _NAMES)


def _sign(database: Database, key: bytes, run_id: str, entry: Entry) -> None:
    rows = database.execute("SELECT signature FROM heads ORDER BY place DESC LIMIT 1")
    line = sign(key, _bytes(rows[0][0]) if rows else GENESIS, run_id, entry.number, entry.head)
    database.execute(
        "INSERT INTO heads (run_id, number, head, signature) VALUES (?, ?, ?, ?)",
        (run_id, entry.number, entry.head, line.signature),
    )


def _signed(row: Row) -> SignedHead:
    run_id, number, head, signature = row
    return SignedHead(_str(run_id), _int(number), _bytes(head), _bytes(signature))


def _summary(row: Row) -> RunSummary:
    values = dict(zip(_NAMES, row, strict=True))
    started, ended = _float(values.pop("started")), values.pop("ended")
    texts = {name: _str(value) for name, value in values.items()}
    return RunSummary(**texts, started=started, ended=None if ended is None else _float(ended))


def _entry(row: Row, format_: int) -> Entry:
    number, at, payload, salt, digest, head = row
    return Entry(_int(number), _float(at), _bytes(payload), _bytes(salt), _bytes(digest), _bytes(head), format_)


def _bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else _str(value).encode()


def _str(value: object) -> str:
    if isinstance(value, str):
        return value
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _int(value: object) -> int:
    return value if isinstance(value, int) else -1


def _float(value: object) -> float:
    return value if isinstance(value, float) else float(value) if isinstance(value, int) else math.nan
