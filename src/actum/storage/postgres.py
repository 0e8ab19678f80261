"""The journal in PostgreSQL: one record for the runs of many machines.

The tables lie in the schema `actum` of the database that the address names; the user who opens it first needs the right
to create that schema. Entries that somebody waits for with `sync` are committed with the server's `synchronous_commit`,
or `on` where that is off; all others with `off`.

Within a transaction statements are sent without waiting for their answers (libpq's pipeline), so that a server far away
is asked twice for many records, not once for each.

A journal has one connection; a server that checks keys has a second connection, which listens (`key_feed.py`). Claims
are advisory locks of the session that writes. The server drops these locks when it ends the session, and it ends the
session only after the last transaction that the process sent. So a process that gets the claim of a killed process
reads all that the killed process has written, even if its last COMMIT was slow. While such a COMMIT is under way the
claim is waited for; a claim whose holder lives is refused at once (`holder_lives`).

Of a machine that is gone the server hears within half a minute (`tcp_keepalives`, `tcp_user_timeout`). When the
connection is lost and another process takes a claim before the connection is back, the number of an entry is the fence.
A pooler that shares sessions between clients (PgBouncer by transaction or statement) can not be in between. The server
has to be PostgreSQL 14 or newer.

After the connection was lost the next transaction connects again, and ends what the server may have kept of the lost
session. What was being committed when the connection went may be written or not, and of what was committed with `off` a
server that crashed may have lost the end: these runs fail, until somebody claims them anew and reads what is there.

What `forget` leaves: the old row until the table is vacuumed and its place used again, and the server's log of changes,
archives, replicas and backups.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

from ..core.errors import JournalError, UsageError
from ..core.run.noted import NO_KINDS, RecordKinds
from .database import Row
from .journal import DatabaseJournal
from .schema import POSTGRES
from .tables.key_feed import PostgresKeyChanges

if TYPE_CHECKING:
    import psycopg

CONNECT_S = 10
WAIT_S = 30
END_MS = 5_000
"""How long to wait for the server to end a session that was lost."""

_SESSION = "; ".join(
    f"SET {name} TO {value}"
    for name, value in {
        "search_path": "actum",
        "lock_timeout": f"'{WAIT_S}s'",
        "idle_in_transaction_session_timeout": f"'{WAIT_S}s'",  # one that was stopped midway stops no others
        "tcp_keepalives_idle": 10,
        "tcp_keepalives_interval": 5,
        "tcp_keepalives_count": 3,
        "tcp_user_timeout": 25_000,  # the server asks no silent client that has not taken all it was sent
        "random_page_cost": 1.1,  # lists and counts are read from their index, and not from the whole table
    }.items()
)
_TAKE = "SELECT pg_try_advisory_lock(%s)"
_IS_CLAIM = """locktype = 'advisory' AND objsubid = 1 AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND classid::bigint << 32 | objid::bigint"""
_OWN_SESSION = "SELECT pid, backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()"
"""Both name the session: the server may give a number again."""
_NUMBER = f"""SELECT number FROM generate_series(1, 1000) AS number
    WHERE pg_try_advisory_lock({int.from_bytes(b"runs", "big")}, number) LIMIT 1"""
"""The first number that no other session has, kept until the session ends. The pair of keys is a kind of lock of its
own, and none of the claims."""
_END_SESSION = f"""SELECT pg_terminate_backend(pid, {END_MS}) FROM pg_stat_activity
    WHERE pid = %s AND backend_start = %s"""
_IS_MADE = """SELECT EXISTS (SELECT FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE nspname = 'actum' AND relname = 'version')"""
"""Read from the catalog: `to_regclass` remembers what it did not find, also while another process makes it."""
_TABLES = "SELECT relname FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE nspname = 'actum'"
LOCK = int.from_bytes(b"actum", "big")
"""The advisory lock behind which heads are signed and tables made. Claims are hashes; it is none of theirs."""


class PostgresJournal(DatabaseJournal):
    """A `Journal` in a PostgreSQL database.

    Args:
        url: `postgresql://user@host:port/database`. A password is better kept in `~/.pgpass` or `PGPASSWORD`; one that
            stands here is never shown.
        now: where the time of an entry comes from, in seconds since 1970.
        key: the secret with which heads are signed; None to sign none.
        older: a journal of an older format is opened, too, to be verified and exported; nothing is written to it.
        record_kinds: the kinds of records that features bring.

    Raises:
        UsageError: psycopg is not installed.
        JournalError: the server can not be reached, the schema was written by a newer version, or the journal is of
            an older format and `older` is not set.
    """

    def __init__(
        self,
        url: str,
        *,
        now: Callable[[], float] = time.time,
        key: bytes | None = None,
        older: bool = False,
        record_kinds: RecordKinds = NO_KINDS,
    ) -> None:
        database = PostgresDatabase(url)
        try:
            super().__init__(database, POSTGRES, now=now, key=key, older=older, record_kinds=record_kinds)
        except database.failure as error:
            raise JournalError(
                "can not open the journal {path}: {why}", path=database.name, why=_line(error)
            ) from error


class PostgresDatabase:
    """A `Database` on a PostgreSQL server.

    Raises:
        UsageError: psycopg is not installed.
        JournalError: the server can not be reached.
    """

    types: Mapping[type, str] = MappingProxyType(
        # Texts are sorted by their code points, as SQLite does.
        {str: 'TEXT COLLATE "C"', int: "BIGINT", float: "DOUBLE PRECISION", bytes: "BYTEA"}
    )

    def __init__(self, url: str) -> None:
        try:
            import psycopg  # noqa: PLC0415  # an extra, and 0.1 s that only those who use it should wait
        except ImportError:
            raise UsageError("a journal in PostgreSQL needs psycopg: pip install 'actum[postgres]'") from None
        self.name = address(url)
        self.conflict: type[Exception] = psycopg.IntegrityError
        self.failure: type[Exception] = psycopg.Error
        self._lost = psycopg.OperationalError
        self._waited = psycopg.errors.LockNotAvailable
        try:
            told = psycopg.conninfo.conninfo_to_dict(url)
        except psycopg.ProgrammingError:  # its message may quote the password
            raise JournalError(
                "can not open the journal {name}: this address is not well-formed", name=self.name
            ) from None
        self._password = str(told.get("password") or "")
        defaults: dict[str, str | int] = {"connect_timeout": CONNECT_S, "application_name": "actum"}
        target = psycopg.conninfo.make_conninfo(url, **(defaults | told))
        self._make = partial(psycopg.connect, target, autocommit=True)
        self._pipeline = contextlib.ExitStack()
        self._held: set[str] = set()
        self._connection, self._is_new = self._connect(), False
        self._backend, self.session = _introduce(self._connection)
        ((level,),) = self._connection.execute("SHOW synchronous_commit").fetchall()
        self._durable = "on" if level == "off" else level

    @property
    def is_shared(self) -> bool:
        return True

    def begin(self, *, writes: bool, durable: bool) -> bool:
        begin = "BEGIN ISOLATION LEVEL READ COMMITTED"
        if writes:
            begin += f"; SET LOCAL synchronous_commit TO {self._durable if durable else 'off'}"
        try:
            self._connection.execute(begin)
        except self._lost:
            if not self._connection.closed:
                raise
            self._reconnect()
            self._connection.execute(begin)
        self._pipeline.enter_context(self._connection.pipeline())
        is_new, self._is_new = self._is_new, False
        return is_new

    def commit(self) -> None:
        self._connection.execute("COMMIT")
        self._pipeline.close()  # here the server is waited for; what failed before is told, and was not committed

    def rollback(self) -> None:
        try:
            with contextlib.suppress(self.failure):  # told by `commit`
                self._pipeline.close()
            self._connection.rollback()
        except self.failure:
            self._connection.close()  # `begin` makes a new one

    def execute(self, statement: str, values: Sequence[object] = ()) -> list[Row]:
        cursor = self._connection.execute(statement.replace("?", "%s") if values else statement, values or None)
        return cursor.fetchall() if statement.startswith("SELECT") or " RETURNING " in statement else []

    def execute_many(self, statement: str, rows: Sequence[Sequence[object]]) -> None:
        with self._connection.cursor() as cursor:
            cursor.executemany(statement.replace("?", "%s"), rows)

    def tables(self) -> set[str]:
        return {str(name) for (name,) in self.execute(_TABLES)}

    def bytes_literal(self, value: bytes) -> str:
        return f"'\\x{value.hex()}'"

    def has_bytes(self, column: str) -> str:
        return f"position(? in {column}) > 0"

    def lock(self) -> None:
        self._connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))

    def flush(self) -> None:
        # A commit waits for the disk only when its transaction has written something to the log.
        self._connection.execute("SELECT pg_logical_emit_message(true, 'actum', 'sync')")

    def version(self) -> int:
        ((made,),) = self._connection.execute(_IS_MADE).fetchall()
        if not made:
            return 0
        ((version,),) = self._connection.execute("SELECT version FROM actum.version").fetchall()
        return int(version)

    def set_version(self, version: int) -> None:
        self._connection.execute("UPDATE actum.version SET version = %s", (version,))

    def is_outage(self, error: Exception) -> bool:
        return bool(self._connection.closed) or isinstance(error, self._waited)

    def scrub(self, *, wait: bool = True) -> None:
        """Copies of old rows are the server's; see the top of this file."""

    def take(self, name: str) -> bool:
        ((taken,),) = self._ask_of_claims(_TAKE, _key(name))
        if taken:
            self._held.add(name)
        return bool(taken)

    def release(self, name: str) -> None:
        if name not in self._held:
            return
        self._held.discard(name)
        with contextlib.suppress(self._lost):  # the server drops the claim with the connection
            self._connection.execute("SELECT pg_advisory_unlock(%s)", (_key(name),))

    def holder_lives(self, name: str) -> bool:
        # A session that waits for its client has one: after the last transaction of a client that is gone, the session
        # finds its connection closed and ends without waiting. Other users' sessions are not shown: these live, too.
        query = f"""SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid)
            WHERE {_IS_CLAIM} = ANY(%s) AND (wait_event_type = 'Client' OR state IS NULL)"""
        ((count,),) = self._ask_of_claims(query, [_key(name)])
        return bool(count)

    def taken(self, names: Sequence[str]) -> set[str]:
        if not names:
            return set()
        by_key = {_key(name): name for name in names}
        query = f"SELECT classid::bigint << 32 | objid::bigint FROM pg_locks WHERE {_IS_CLAIM} = ANY(%s)"
        locked = self._ask_of_claims(query, list(by_key))
        return {name for key, name in by_key.items() if (key,) in locked}

    def key_changes(self) -> PostgresKeyChanges:
        return PostgresKeyChanges(self._connect, self.failure)

    def close(self) -> None:
        self._connection.close()

    def _ask_of_claims(self, query: str, value: int | list[int]) -> list[Row]:
        """Ask about claims, outside of a transaction; once more on a new connection, where the connection is lost."""
        try:
            return self._connection.execute(query, (value,)).fetchall()
        except self._lost:
            if not self._connection.closed:
                raise
        self._reconnect()
        return self._connection.execute(query, (value,)).fetchall()

    def _reconnect(self) -> None:
        """Connect anew, end what the server has kept of the lost session, and take again what was claimed.

        A server that has not heard that the connection is lost keeps the session, its claims, and perhaps its last
        transaction, which must not come after what is read now. A claim that another process has by now is its own.
        """
        connection = self._connect()
        connection.execute(_END_SESSION, self._backend)
        self._backend, self.session = _introduce(connection)
        for name in list(self._held):
            ((taken,),) = connection.execute(_TAKE, (_key(name),)).fetchall()
            if not taken:
                self._held.discard(name)
        self._connection, self._is_new = connection, True

    def _connect(self) -> psycopg.Connection:
        try:
            connection = self._make()
            connection.execute(_SESSION)
        except self.failure as error:
            told = _line(error)
            told = told.replace(self._password, "***") if self._password else told
            raise JournalError("can not open the journal {path}: {why}", path=self.name, why=told) from None
        return connection


def _introduce(connection: psycopg.Connection) -> tuple[Row, int]:
    """What names a new session to the server, and the number under which the session counts runs.

    Where a thousand sessions have all the numbers, those that come later share 0, and wait for each other.
    """
    numbers = connection.execute(_NUMBER).fetchall()
    return connection.execute(_OWN_SESSION).fetchall()[0], numbers[0][0] if numbers else 0


def address(url: str) -> str:
    """A journal's address as it may be shown: without the password, and without the part behind `?`.

    >>> address("postgresql://ann:secret@host:5432/runs?sslmode=require")
    'postgresql://ann@host:5432/runs'
    """
    scheme, _, rest = url.partition("://")
    who, at, where = rest.rpartition("@")  # the last one, wherever it stands: a password may not be well-formed
    return f"{scheme}://{who.partition(':')[0]}{at}{where.partition('?')[0]}"


def _key(name: str) -> int:
    """The advisory lock of a claim: 63 bits of a hash, for the key is signed."""
    return int.from_bytes(hashlib.sha256(f"actum claim {name}".encode()).digest()[:8], "big") >> 1


def _line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
