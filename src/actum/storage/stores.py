"""The tables of features in the journal's database: SQL made from `core.stores.Table`, and the migrations of a feature.

The table `features` says for each feature how many of its migrations were made, and which columns its tables have, so
that a process without the feature can count, export, forget and drop what the feature keeps.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from zlib import crc32

import msgspec

from ..core.errors import JournalError, UsageError
from ..core.run.noted import RecordKinds
from ..core.stored.word_index import Space, WordIndex
from ..core.stores import (
    ABOUT_RUN,
    KEY_BYTES_MAX,
    AddColumn,
    AddIndex,
    AddTable,
    Change,
    Column,
    FeatureTables,
    Migrations,
    R,
    RecordView,
    RunView,
    T,
    Table,
    Transaction,
    Value,
    checked_name,
)
from .database import Database, Row
from .tables.views import DatabaseViews, Past
from .writer import Writer

_ALL: Mapping[str, Value] = MappingProxyType({})
_TENANT = Column("tenant", str)
_INDEXED = ["tenant", *WordIndex("forgotten").items.columns]
"""The columns of a table that holds the items of an index of words, by which the table is known."""
_Tables = dict[str, list[str]]
"""The names of a feature's tables in the database, and of their columns."""
_made_once = lru_cache(maxsize=1_024)
"""Statements are the same each time, but for their values."""


class _WorkFailed(JournalError):
    """What the caller's function raised, on its way to the caller."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


class DatabaseStores:
    """`Stores` in the database of a journal.

    Args:
        writer: the thread that reads and writes the tables.
        check_format: raises JournalError where nothing can be written to this journal.
        record_kinds: the kinds of records that features bring.
        past: what a journal in memory has; None where the records are in the database.

    Attributes:
        views: the rows that follow from records.
    """

    def __init__(
        self, writer: Writer, check_format: Callable[[], None], record_kinds: RecordKinds, past: Past | None = None
    ) -> None:
        self._writer = writer
        self._check_format = check_format
        self.views = DatabaseViews(
            writer, record_kinds, lambda database, tenant: _Transaction(database, self._names, tenant), past
        )
        self._names: dict[Table[msgspec.Struct], str] = {}

    async def transact(self, tenant: str, work: Callable[[Transaction], T]) -> T:
        """See `Stores`."""
        self._check_format()
        _TENANT.checked(tenant)

        def run(database: Database) -> T:
            database.lock()
            transaction = _Transaction(database, self._names, tenant)
            try:
                found = work(transaction)
            except (database.failure, JournalError):
                raise
            except Exception as error:  # whatever the caller's function raised is the caller's
                raise _WorkFailed(error) from error
            finally:
                transaction.is_over = True
            if inspect.iscoroutine(found):
                found.close()
                raise UsageError("a transaction takes a plain function, not a coroutine")
            return found

        try:
            return await self._writer.ask(run, writes=True, durable=True)
        except _WorkFailed as failed:
            raise failed.error from None

    async def put(self, tenant: str, table: Table[R], row: R) -> None:
        """See `Stores`."""
        await self.transact(tenant, lambda each: each.put(table, row))

    async def add(self, tenant: str, table: Table[R], row: R) -> bool:
        """See `Stores`."""
        return await self.transact(tenant, lambda each: each.add(table, row))

    async def delete(self, tenant: str, table: Table[R], where: Mapping[str, Value]) -> int:
        """See `Stores`."""
        return await self.transact(tenant, lambda each: each.delete(table, where))

    async def get(self, tenant: str, table: Table[R], *key: Value) -> R | None:
        """See `Stores`."""
        return await self.read(tenant, lambda each: each.get(table, *key))

    async def find(
        self,
        tenant: str,
        table: Table[R],
        *,
        where: Mapping[str, Value] = _ALL,
        order: str = "",
        descending: bool = False,
        limit: int | None = None,
        behind: R | None = None,
    ) -> list[R]:
        """See `Stores`."""
        return await self.read(
            tenant,
            lambda each: each.find(table, where=where, order=order, descending=descending, limit=limit, behind=behind),
        )

    async def count(self, tenant: str, table: Table[R], where: Mapping[str, Value] = _ALL) -> int:
        """See `Stores`."""
        return await self.read(tenant, lambda each: each.count(table, where))

    async def find_everywhere(
        self, table: Table[R], *, where: Mapping[str, Value] = _ALL, limit: int | None = None
    ) -> list[tuple[str, R]]:
        """See `Stores`."""
        self._check_format()
        conditions, values = _conditions(table, where)
        columns = ["tenant", *table.columns]
        query = f"""SELECT {_quoted(columns)} FROM {_name_of(self._names, table)} {_where(conditions)}
            ORDER BY {_quoted(["tenant", *table.key])} {_at_most(limit)}"""
        rows = await self._writer.ask(lambda database: database.execute(query, values))
        return [(str(row[0]), _row(table, row[1:])) for row in rows]

    async def read(
        self, tenant: str, work: Callable[[Transaction], T], *, caught_up: str = "", principal: str | None = None
    ) -> T:
        """See `Stores`. It takes no lock, but where there are runs to be taken in."""
        self._check_format()
        _TENANT.checked(tenant)
        whose = None if principal is None else (tenant, principal)

        def look(database: Database) -> tuple[T] | None:
            if caught_up and self.views.is_behind(database, caught_up, whose):
                return None
            return (work(_Transaction(database, self._names, tenant)),)

        while (found := await self._writer.ask(look)) is None:
            await self.views.catch_up(caught_up, whose)
        return found[0]

    async def migrate(self, feature: str, migrations: Migrations, views: Sequence[RecordView | RunView] = ()) -> None:
        """See `Stores`."""
        self._check_format()
        tables = _checked(checked_name("feature", feature), migrations)
        meant = {name: ["tenant", *table.columns] for name, table in tables.items()}
        others = {table: name for table, name in self._names.items() if name not in tables}
        if both := [table.name for table in tables.values() if table in others]:
            raise UsageError(
                "the feature {feature} brings a table of another feature: {both}", feature=feature, both=", ".join(both)
            )

        def is_made(database: Database) -> bool:
            version, found = _features(database).get(feature, (0, {}))
            if version > len(migrations):
                raise JournalError(
                    "the tables of the feature {feature!r} were made by a newer version of it "
                    "(schema {version}, this version knows {count}): update the feature. Everything "
                    "else in the journal can be used",
                    feature=feature,
                    version=version,
                    count=len(migrations),
                )
            if version == len(migrations) and _sorted(found) != _sorted(meant):
                raise UsageError(
                    "the tables of the feature {feature!r} have other fields than its migrations made", feature=feature
                )
            return version == len(migrations)

        def make(database: Database) -> None:
            database.lock()
            if is_made(database):
                return
            version, _ = _features(database).get(feature, (0, {}))
            _change_tables(database, feature, migrations, version)
            row = (feature, len(migrations), msgspec.json.encode(meant).decode())
            database.execute("DELETE FROM features WHERE name = ?", (feature,))
            database.execute("INSERT INTO features (name, version, tables) VALUES (?, ?, ?)", row)
            self.views.begin_anew(database, feature, views)

        is_old = not await self._writer.ask(is_made)
        if is_old:
            await self._writer.ask(make, writes=True, durable=True)
        self._names = {**others, **{table: name for name, table in tables.items()}}
        await self.views.use(feature, views)
        if is_old:
            self.views.follow_past(feature)

    async def rebuild(self, feature: str) -> int:
        """See `Stores`."""
        self._check_format()
        return await self.views.rebuild(feature)

    async def kept(self) -> Sequence[FeatureTables]:
        """See `Stores`."""
        self._check_format()

        def count(database: Database) -> list[FeatureTables]:
            there = database.tables()
            return [
                FeatureTables(
                    name, version, sum(_count(database, f'FROM "{each}"') for each in there.intersection(tables))
                )
                for name, (version, tables) in _features(database).items()
            ]

        return await self._writer.ask(count)

    async def drop(self, feature: str) -> int:
        """See `Stores`."""
        self._check_format()

        def drop(database: Database) -> int:
            database.lock()
            _, made = _features(database).get(feature, (0, {}))
            tables = database.tables().intersection(made)
            rows = sum(_count(database, f'FROM "{table}"') for table in tables)
            for table in tables:
                database.execute(f'DROP TABLE "{table}"')
            database.execute("DELETE FROM features WHERE name = ?", (feature,))
            database.execute("DELETE FROM noted WHERE feature = ?", (feature,))
            database.execute("DELETE FROM followed WHERE feature = ?", (feature,))
            return rows

        await self.views.use(feature, ())
        dropped = await self._writer.ask(drop, writes=True, durable=True)
        await self._writer.ask(lambda database: database.scrub(), aside=True)
        self._names = {table: name for table, name in self._names.items() if name != f"{feature}_{table.name}"}
        return dropped

    async def rows_of_run(self, run_id: str) -> Mapping[str, Sequence[Mapping[str, Value]]]:
        """See `Stores`."""

        def read(database: Database) -> dict[str, list[dict[str, Value]]]:
            found: dict[str, list[dict[str, Value]]] = {}
            if "features" not in database.tables():  # a journal of an older format, which is exported, too
                return found
            for table, columns in _naming(database, "run_id"):
                query = f'SELECT {_quoted(columns)} FROM "{table}" WHERE "run_id" = ?'
                if rows := database.execute(query, (run_id,)):
                    found[table] = [dict(zip(columns, map(_value, row), strict=True)) for row in rows]
            return found

        return await self._writer.ask(read)

    async def count_of_user(self, principal: str) -> Mapping[str, int]:
        """See `Stores`."""

        def count(database: Database) -> Counter[str]:
            found: Counter[str] = Counter()
            for table, _ in _naming(database, "principal"):
                query = f'SELECT "tenant", count(*) FROM "{table}" WHERE "principal" = ? GROUP BY "tenant"'
                for tenant, number in database.execute(query, (principal,)):
                    found[str(tenant)] += int(str(number))
            return found

        self._check_format()
        return await self._writer.ask(count)

    async def forget_user(self, principal: str, tenant: str) -> int:
        """See `Stores`."""

        def delete(database: Database) -> int:
            where = 'WHERE "principal" = ? AND "tenant" = ?'
            return sum(
                _delete(database, f'FROM "{table}" {where}', (principal, tenant))
                for table, _ in _naming(database, "principal")
            )

        self._check_format()
        deleted = await self._writer.ask(delete, writes=True, durable=True)
        await self._writer.ask(lambda database: database.scrub(), aside=True)
        return deleted


def forget_rows_of_run(database: Database, run_id: str) -> None:
    """Delete the rows of all features that name a run, in the transaction that forgets it."""
    database.lock()  # rows that follow from its records are made before or not at all
    database.execute("DELETE FROM noted WHERE run_id = ?", (run_id,))
    database.execute("DELETE FROM followed WHERE run_id = ?", (run_id,))
    for table, columns in _naming(database, "run_id"):
        if columns == _INDEXED:
            _forget_words(database, table, run_id)
        database.execute(f'DELETE FROM "{table}" WHERE "run_id" = ?', (run_id,))
    for table, _ in _naming(database, ABOUT_RUN):
        database.execute(f'DELETE FROM "{table}" WHERE "{ABOUT_RUN}" = ?', (run_id,))


def _forget_words(database: Database, table: str, run_id: str) -> None:
    """Take the items of a run out of an index of words, also of a feature that is off.

    Args:
        database: where it happens.
        table: the table of the items.
        run_id: the run.
    """
    index = WordIndex("forgotten")
    names: dict[Table[msgspec.Struct], str] = {index.items: table, index.terms: f"{table.removesuffix('items')}terms"}
    query = f'SELECT "tenant", "principal", "space", "item" FROM "{table}" WHERE "run_id" = ?'
    for tenant, principal, space, item in database.execute(query, (run_id,)):
        try:
            index.remove(_Transaction(database, names, str(tenant)), Space(str(principal), str(space)), [str(item)])
        except JournalError:  # damaged: nobody can tell any more which words were those of the run
            for each in names.values():
                where = f'FROM "{each}" WHERE "tenant" = ? AND "principal" = ? AND "space" = ?'
                database.execute(f"DELETE {where}", (tenant, principal, space))


class _Transaction:
    """A `Transaction` in a transaction of the database.

    Args:
        database: where it happens.
        names: the tables that are in use, and what they are called there.
        tenant: whose rows are meant.

    Attributes:
        is_over: nothing can be read or written any more.
    """

    def __init__(self, database: Database, names: Mapping[Table[msgspec.Struct], str], tenant: str) -> None:
        self._database = database
        self._names = names
        self._tenant = tenant
        self.is_over = False

    def put(self, table: Table[R], row: R) -> None:
        self._run(_put(self._name(table), table), list(self._values(table, row).values()))

    def put_all(self, table: Table[R], rows: Iterable[R]) -> None:
        many = [list(self._values(table, row).values()) for row in rows]
        self._check_open()
        if many:
            self._database.execute_many(_put(self._name(table), table), many)

    def add(self, table: Table[R], row: R) -> bool:
        values = self._values(table, row)
        if self.count(table, {name: values[name] for name in table.key}):
            return False
        self._run(_insert(self._name(table), table), list(values.values()))
        return True

    def get(self, table: Table[R], *key: Value) -> R | None:
        if len(key) != len(table.key):
            raise UsageError(
                "the table {table} has the key {key}, and {count} values came",
                table=table.name,
                key=", ".join(table.key),
                count=len(key),
            )
        found = self.find(table, where=dict(zip(table.key, key, strict=True)))
        return found[0] if found else None

    def find(
        self,
        table: Table[R],
        *,
        where: Mapping[str, Value | tuple[Value, ...]] = _ALL,
        order: str = "",
        descending: bool = False,
        limit: int | None = None,
        behind: R | None = None,
    ) -> list[R]:
        conditions, values = _conditions(table, where, self._tenant)
        if order and (order not in table.columns or table.columns[order].nullable):
            raise UsageError("the table {table} can not be sorted by {order!r:.140}", table=table.name, order=order)
        by = tuple(dict.fromkeys([order, *table.key])) if order else table.key
        if self._database.is_shared and behind is None and limit is None and not descending:
            among = _among(table, where)
            if among:
                return self._find_each(table, where, among, by)
        if behind is not None:
            last = self._values(table, behind)
            conditions.append(f"({_quoted(by)}) {'<' if descending else '>'} ({_marks(by)})")
            values += [last[name] for name in by]
        query = _select(self._name(table), table, tuple(conditions), by, descending, limit)
        return [_row(table, row) for row in self._run(query, values)]

    def _find_each(
        self, table: Table[R], where: Mapping[str, Value | tuple[Value, ...]], among: str, by: Sequence[str]
    ) -> list[R]:
        """The rows of each of the values that a field may have. PostgreSQL goes to each of them by the index; told them
        in one condition, it reads every row of the other fields, as long as it has not counted what the table holds.
        """
        several = where[among]
        assert isinstance(several, tuple)
        column = table.columns[among]
        wanted = list(dict.fromkeys(column.checked(each) for each in several))
        rest = {name: value for name, value in where.items() if name != among}
        conditions, values = _conditions(table, rest, self._tenant)
        query = _select_each(self._name(table), table, tuple(conditions), among, by)
        return [_row(table, row) for row in self._run(query, [wanted, *values])]

    def has(self, tables: Sequence[Table[msgspec.Struct]], where: Mapping[str, Value]) -> bool:
        conditions, values = _conditions(tables[0], where, self._tenant)
        query = _has(tuple([self._name(table) for table in tables]), tuple(conditions))
        return bool(self._run(query, values * len(tables)))

    def count(self, table: Table[R], where: Mapping[str, Value] = _ALL) -> int:
        conditions, values = _conditions(table, where, self._tenant)
        ((number,),) = self._run(f"SELECT count(*) FROM {self._name(table)} {_where(conditions)}", values)
        return int(str(number))

    def delete(self, table: Table[R], where: Mapping[str, Value]) -> int:
        number = self.count(table, where)
        conditions, values = _conditions(table, where, self._tenant)
        if number:
            self._run(f"DELETE FROM {self._name(table)} {_where(conditions)}", values)
        return number

    def _run(self, statement: str, values: Sequence[object]) -> list[Row]:
        self._check_open()
        return self._database.execute(statement, values)

    def _check_open(self) -> None:
        if self.is_over:
            raise UsageError("this transaction is over: read and write inside of the function that it was given to")

    def _name(self, table: Table[R]) -> str:
        return _name_of(self._names, table)

    def _values(self, table: Table[R], row: R) -> dict[str, Value]:
        """The values of a row by their columns, the tenant first.

        Raises:
            UsageError: the row is none of this table, or has a value that can not be kept.
        """
        if type(row) is not table.row:
            raise UsageError(
                "the table {table} keeps {kind}, not {kind_name}",
                table=table.name,
                kind=table.row.__name__,
                kind_name=type(row).__name__,
            )
        values: dict[str, Value] = {"tenant": self._tenant}
        values |= {name: column.checked(getattr(row, name)) for name, column in table.columns.items()}
        keys = (table.key, *table.indexes)
        if sum([_size(values[name]) for name in {"tenant"}.union(*keys)]) <= KEY_BYTES_MAX:
            return values
        for names in keys:
            if sum(map(_size, (values[name] for name in {"tenant", *names, *table.key}))) > KEY_BYTES_MAX:
                raise UsageError(
                    "the table {table}: {names} has more than {most} bytes",
                    table=table.name,
                    names=", ".join(names),
                    most=KEY_BYTES_MAX,
                )
        return values


def _checked(feature: str, migrations: Migrations) -> dict[str, Table[msgspec.Struct]]:
    """The tables of a feature by their names in the database.

    Raises:
        UsageError: a table is made twice, or changed before it is made.
    """
    tables: dict[str, Table[msgspec.Struct]] = {}
    for change in (change for changes in migrations for change in changes):
        name = f"{feature}_{change.table.name}"
        if isinstance(change, AddTable) == (name in tables) or tables.setdefault(name, change.table) != change.table:
            raise UsageError(
                "the migrations of the feature {feature}: {name} is made once, before it is changed",
                feature=feature,
                name=name,
            )
    return tables


def _change_tables(database: Database, feature: str, migrations: Migrations, version: int) -> None:
    """Make the migrations of a feature that were not made, those behind the first `version`.

    Raises:
        JournalError: the name of a table is taken.
    """
    taken = database.tables()
    for number, changes in enumerate(migrations):
        for place, change in enumerate(changes if number >= version else ()):
            later = [*changes[place + 1 :], *(each for more in migrations[number + 1 :] for each in more)]
            name = f"{feature}_{change.table.name}"
            if isinstance(change, AddTable) and name in taken:
                raise JournalError(
                    "the feature {feature!r} can not make its table: the journal has a table {name} already",
                    feature=feature,
                    name=name,
                )
            for statement in _statements(database, name, change, later):
                database.execute(statement)


def _statements(database: Database, name: str, change: Change, later: Sequence[Change]) -> Iterator[str]:
    """The SQL of a change.

    Args:
        database: whose words are used.
        name: the name of the table in the database.
        change: what is to be done.
        later: the changes behind it; what they add is left out.
    """
    table = change.table
    of_table = [each for each in later if each.table is table]
    match change:
        case AddTable():
            added = {each.name for each in of_table if isinstance(each, AddColumn)}
            columns = [_TENANT, *(each for each in table.columns.values() if each.name not in added)]
            lines = ", ".join(_column(database, each) for each in columns)
            yield f'CREATE TABLE "{name}" ({lines}, PRIMARY KEY ({_quoted(["tenant", *table.key])}))'
            indexed = [each.columns for each in of_table if isinstance(each, AddIndex)]
            for names in table.indexes:
                if names not in indexed:
                    yield _index(name, table, names)
        case AddColumn():
            column = table.columns[change.name]
            default = _literal(database, column.checked(change.default))
            yield f'ALTER TABLE "{name}" ADD COLUMN {_column(database, column)} DEFAULT {default}'
        case AddIndex():
            yield _index(name, table, change.columns)


def _column(database: Database, column: Column) -> str:
    return f'"{column.name}" {database.types[column.kind]}{"" if column.nullable else " NOT NULL"}'


def _index(name: str, table: Table[R], names: Sequence[str]) -> str:
    """The key stands at the end of each index, so that a page of a list reads its own rows alone."""
    columns = ["tenant", *names, *(each for each in table.key if each not in names)]
    return f'CREATE INDEX "{name}_{crc32(",".join(names).encode()):08x}" ON "{name}" ({_quoted(columns)})'


def _literal(database: Database, value: Value) -> str:
    match value:
        case None:
            return "NULL"
        case bytes():
            return database.bytes_literal(value)
        case str():
            return "'" + value.replace("'", "''") + "'"
        case _:
            return repr(value)


def _features(database: Database) -> dict[str, tuple[int, _Tables]]:
    """How many migrations of each feature were made, and its tables."""
    rows = database.execute("SELECT name, version, tables FROM features ORDER BY name")
    try:
        return {
            str(name): (int(str(version)), msgspec.json.decode(str(tables), type=_Tables))
            for name, version, tables in rows
        }
    except ValueError:
        raise JournalError("the list of features in the journal is damaged") from None


def _naming(database: Database, column: str) -> list[tuple[str, list[str]]]:
    """The tables of all features that have a column of this name, each with its columns."""
    found = [
        (table, columns)
        for _, tables in _features(database).values()
        for table, columns in tables.items()
        if column in columns
    ]
    there = database.tables() if found else set()
    return [(table, columns) for table, columns in found if table in there]  # somebody may have dropped one by hand


def _sorted(tables: _Tables) -> dict[str, list[str]]:
    return {name: sorted(columns) for name, columns in tables.items()}


def _name_of(names: Mapping[Table[msgspec.Struct], str], table: Table[R]) -> str:
    name = names.get(table)
    if name is None:
        raise UsageError(
            "the table {table} is not in use: its feature is off, or its migrations were not made", table=table.name
        )
    return f'"{name}"'


def _conditions(
    table: Table[R], where: Mapping[str, Value | tuple[Value, ...]], tenant: str | None = None
) -> tuple[list[str], list[object]]:
    """The conditions of a query, and their values.

    Raises:
        UsageError: there is no such field, or the field can not hold the value.
    """
    conditions = [] if tenant is None else ['"tenant" = ?']
    values: list[object] = [] if tenant is None else [tenant]
    columns = table.columns
    for name, value in where.items():
        column = columns.get(name)
        if column is None:
            raise UsageError("the table {table} has no field {name!r:.140}", table=table.name, name=name)
        if isinstance(value, tuple):
            conditions.append(f'"{name}" IN ({_marks(value)})')
            values += [column.checked(each) for each in value]
        elif (checked := column.checked(value)) is None:
            conditions.append(f'"{name}" IS NULL')
        else:
            conditions.append(f'"{name}" = ?')
            values.append(checked)
    return conditions, values


@_made_once
def _put(name: str, table: Table[R]) -> str:
    """The statement that writes a row, in the place of the one with the same key."""
    changed = [column for column in table.columns if column not in table.key]
    update = ", ".join(f'"{column}" = excluded."{column}"' for column in changed)
    return f"""{_insert(name, table)}
        ON CONFLICT ({_quoted(["tenant", *table.key])}) DO {f"UPDATE SET {update}" if changed else "NOTHING"}"""


@_made_once
def _insert(name: str, table: Table[R]) -> str:
    """The statement that writes a row whose key no other row has."""
    columns = ["tenant", *table.columns]
    return f"INSERT INTO {name} ({_quoted(columns)}) VALUES ({_marks(columns)})"


@_made_once
def _select(
    name: str, table: Table[R], conditions: Sequence[str], by: Sequence[str], descending: bool, limit: int | None
) -> str:
    """The statement that reads rows, in the order of some columns."""
    sorting = ", ".join(f'"{column}"{" DESC" * descending}' for column in by)
    return f"""SELECT {_quoted(table.columns)} FROM {name} {_where(conditions)}
        ORDER BY {sorting} {_at_most(limit)}"""


_ARRAYS: Mapping[type, str] = {str: "text", int: "bigint"}


def _among(table: Table[R], where: Mapping[str, Value | tuple[Value, ...]]) -> str:
    """The one field that may have several values, where an index leads to each of them; empty for none."""
    several = [name for name, value in where.items() if isinstance(value, tuple)]
    is_found = any(set(where) == set(names[: len(where)]) for names in (table.key, *table.indexes))
    return several[0] if len(several) == 1 and is_found and table.columns[several[0]].kind in _ARRAYS else ""


@_made_once
def _select_each(name: str, table: Table[R], conditions: Sequence[str], among: str, by: Sequence[str]) -> str:
    """The statement that reads, in PostgreSQL, the rows of each of the values that a field may have."""
    kind, sorting = _ARRAYS[table.columns[among].kind], ", ".join(f'"{column}"' for column in by)
    of_value = _where([*conditions, f'"{among}" = wanted.value'])
    return f"""SELECT {_quoted(table.columns)} FROM unnest(?::{kind}[]) AS wanted(value)
        CROSS JOIN LATERAL (SELECT {_quoted(table.columns)} FROM {name} {of_value} OFFSET 0) AS found
        ORDER BY {sorting}"""


@_made_once
def _has(names: Sequence[str], conditions: Sequence[str]) -> str:
    """The statement that finds a row where one of some tables has one."""
    return f"SELECT 1 WHERE {' OR '.join([f'EXISTS (SELECT 1 FROM {name} {_where(conditions)})' for name in names])}"


def _row(table: Table[R], values: Row) -> R:
    """The row of these values.

    Raises:
        JournalError: somebody changed the row by hand, so that a value has another type.
    """
    try:
        found = {
            column.name: column.checked(value if type(value) is column.kind else _value(value))
            for column, value in zip(table.columns.values(), values, strict=True)
        }
        return table.row(**found)
    except (UsageError, TypeError, ValueError):
        raise JournalError("a row of the table {table} is damaged", table=table.name) from None


def _value(value: object) -> Value:
    return value if isinstance(value, str | int | float | bytes) or value is None else str(value)


def _count(database: Database, rest: str, values: Sequence[object] = ()) -> int:
    ((number,),) = database.execute(f"SELECT count(*) {rest}", values)
    return int(str(number))


def _delete(database: Database, rest: str, values: Sequence[object]) -> int:
    number = _count(database, rest, values)
    database.execute(f"DELETE {rest}", values)
    return number


def _quoted(names: Sequence[str] | Mapping[str, object]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _marks(values: Sequence[object] | Mapping[str, object]) -> str:
    return ", ".join("?" * len(values))


def _where(conditions: Sequence[str]) -> str:
    return f"WHERE {' AND '.join(conditions)}" if conditions else ""


def _at_most(limit: int | None) -> str:
    return "" if limit is None else f"LIMIT {max(0, min(int(limit), 2**63 - 1))}"


def _size(value: Value) -> int:
    return len(value.encode()) if isinstance(value, str) else len(value) if isinstance(value, bytes) else 8
