"""Tables beside the journal, declared as values: a table is a name, a row type, a key and indexes.

A feature declares its tables and how they change (`Change`); the SQL of each database is made from these values. Every
row belongs to a tenant, which stands first in each key and index and is no field of the row: each read and write takes
the tenant first, and the rows of another tenant do not exist for it. This file knows no database.
"""

from __future__ import annotations

import math
import re
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Generic, Protocol, TypeVar, Union, get_args, get_origin

from msgspec import Struct, structs

from .errors import UsageError
from .language.sentence import Sentence

R = TypeVar("R", bound=Struct)
Row = TypeVar("Row", bound=Struct, covariant=True)
T = TypeVar("T")
Value = str | int | float | bytes | None
"""What a column can hold."""

KINDS = (str, int, float, bytes)
KEY_BYTES_MAX = 2_500
"""The limit of the texts and bytes in one entry of a key or index, with the tenant: PostgreSQL has no more room."""
INTEGERS = range(-(2**63), 2**63)

_NAME = re.compile(r"[a-z][a-z0-9_]{0,23}")
_TAKEN = frozenset({"tenant", "oid", "tableoid", "xmin", "cmin", "xmax", "cmax", "ctid", "rowid"})
"""Names of columns that every table has already, in one database or the other."""


ABOUT_RUN = "about_run_id"
"""The column that names a run, beside the one in `run_id`, with which the row is forgotten."""


class Column(Struct, frozen=True):
    """A column of a table.

    Attributes:
        name: as the field of the row.
        kind: one of the four types.
        nullable: whether None is allowed.
    """

    name: str
    kind: type[str | int | float | bytes]
    nullable: bool = False

    def checked(self, value: object) -> Value:
        """A value for this column, if it is one. A whole number is taken for a float.

        Raises:
            UsageError: it has another type, or no database can keep it.
        """
        if type(value) is str and self.kind is str and value.isascii() and "\0" not in value:  # nearly all values
            return value
        if value is None and self.nullable:
            return None
        if self.kind is float and type(value) is int:
            value = float(value)
        if type(value) is not self.kind:
            raise UsageError(
                "{name}={value!r:.140}: give {kind}{nullable}",
                name=self.name,
                value=value,
                kind=self.kind.__name__,
                nullable=" or None" * self.nullable,
            )
        match value:
            case int() if value not in INTEGERS:
                raise UsageError("{name}={value!r:.140}: a number has 64 bits at most", name=self.name, value=value)
            case float() if not math.isfinite(value):
                raise UsageError("{name}={value}: give a finite number", name=self.name, value=value)
            case str() if "\0" in value or (not value.isascii() and not _is_unicode(value)):
                raise UsageError(
                    "{name}={value!r:.140}: a text holds no NUL and no half of a surrogate pair",
                    name=self.name,
                    value=value,
                )
            case str() | int() | float() | bytes():
                return value
            case _:
                raise AssertionError(value)


class Table(Struct, Generic[Row], frozen=True, eq=False):
    """A table of a feature. In the database it is called `<feature>_<name>`.

    Attributes:
        name: 1 to 24 small letters, digits and `_`.
        row: the type of its rows: a frozen msgspec Struct whose fields are `str`, `int`, `float` or `bytes`, or one of
            them `| None`. A field named `run_id` names a run: the row is deleted when the run is forgotten. A field
            named `about_run_id` names another run with which the row is deleted as well. A field named `principal`
            names a user of the tenant: the row is deleted when the user is forgotten.
        key: the fields that tell a row from all others of its tenant.
        indexes: the fields by which rows are looked for in other ways, an index each.

    Raises:
        UsageError: the table can not be made like this.

    >>> class Bookmark(Struct, frozen=True):
    ...     id: str
    ...     url: str
    ...     at: float
    >>> Table("bookmarks", Bookmark, key=("id",), indexes=(("at",),)).columns["at"].kind
    <class 'float'>
    """

    name: str
    row: type[Row]
    key: tuple[str, ...]
    indexes: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        checked_name("table", self.name)
        if not (isinstance(self.row, type) and issubclass(self.row, Struct) and self.row.__struct_config__.frozen):
            raise UsageError("the table {name}: a row is a frozen msgspec Struct", name=self.name)
        columns = self.columns
        if not self.key or any(columns[name].nullable for name in self.key if name in columns):
            raise UsageError(
                "the table {name}: its key names at least one field, and none that may be None", name=self.name
            )
        for names in (self.key, *self.indexes):
            if not names or len(set(names)) != len(names) or not set(names) <= columns.keys():
                raise UsageError(
                    "the table {name}: {names!r:.140} are not fields of its rows, each named once",
                    name=self.name,
                    names=names,
                )

    @property
    def columns(self) -> Mapping[str, Column]:
        """The columns of the rows by their names; the tenant is none of them."""
        return _columns(self.name, self.row)


class AddTable(Struct, frozen=True):
    """The change that makes a table."""

    table: Table[Struct]


class AddColumn(Struct, frozen=True):
    """The change that gives a table one more column.

    Attributes:
        table: the table, whose row type has the field.
        name: of the field.
        default: what the rows have that are there already.
    """

    table: Table[Struct]
    name: str
    default: Value = None

    def __post_init__(self) -> None:
        if self.name not in self.table.columns or self.name in self.table.key:
            raise UsageError(
                "the table {table}: {name!r:.140} is no field that can be added", table=self.table.name, name=self.name
            )
        self.table.columns[self.name].checked(self.default)


class AddIndex(Struct, frozen=True):
    """The change that gives a table one more index.

    Attributes:
        table: the table, in whose indexes this one stands.
        columns: the fields of the index.
    """

    table: Table[Struct]
    columns: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.columns not in self.table.indexes:
            raise UsageError(
                "the table {table} declares no index of {columns!r:.140}", table=self.table.name, columns=self.columns
            )


Change = AddTable | AddColumn | AddIndex
Migrations = tuple[tuple[Change, ...], ...]
"""How the tables of a feature came to be, from nothing on. A tuple that was released never changes: a later version of
the feature adds one behind it. Tables are given as they are now; what a later change adds, the first leaves out."""


class RecordPlace(Struct, frozen=True):
    """Where a record of a feature stands.

    Attributes:
        run_id: the run.
        number: of the entry within the run.
        at: when it was written down, in seconds since 1970.
        tenant, principal: for whom the run is.
    """

    run_id: str
    number: int
    at: float
    tenant: str
    principal: str


class RecordView(Struct, frozen=True, eq=False):
    """Rows that follow from a feature's records on the record of runs. They are written behind the record. Each new
    migration of the feature and `Stores.rebuild` make them anew from all records. A row that can not be written is told
    in the log and fails no run.

    Attributes:
        table: the table of the rows, which holds no others. It has a field `run_id`, so that the rows are forgotten
            with their run.
        record: the struct of the records, one of the feature's `records`.
        rows: takes a record and its `RecordPlace`, and returns the rows. It may be called more than once for a record.

    Raises:
        UsageError: the table has no field `run_id`.
    """

    table: Table[Struct]
    record: type[Struct]
    rows: Callable[..., Iterable[Struct]]

    def __post_init__(self) -> None:
        if "run_id" not in self.table.columns:
            raise UsageError("the table {table} follows from records and needs a field run_id", table=self.table.name)


class RunView(Struct, frozen=True, eq=False):
    """Rows that follow from runs that are over. They are written when somebody reads with `Stores.read(caught_up=...)`,
    in one transaction with the note that the run is taken in: no run is missing or taken in twice, whatever process
    dies. Runs are taken in as they ended, and again where they go on after they have failed. A run that can not be
    taken in is told in the log.

    Attributes:
        tables: the tables of the rows, which hold no others. What names a run there is forgotten with the run.
        follows: whether rows follow from a run, by its first record.
        take: takes a `Transaction` and the runs of its tenant, each as a `RecordPlace` of its first record, and its
            first record with all that say that it ended and with those of features. It may be called more than once
            for a run, and then replaces the rows of the run.
    """

    tables: tuple[Table[Struct], ...]
    follows: Callable[..., bool]
    take: Callable[..., None]


class FeatureTables(Struct, frozen=True):
    """What a feature keeps.

    Attributes:
        feature: the name of the feature.
        version: how many of its migrations were made.
        rows: how many rows its tables have, of all tenants together.
    """

    feature: str
    version: int
    rows: int


AMONG_MAX = 500
"""At most this many values of a field are looked for at once."""


class Transaction(Protocol):
    """Reads and writes of one tenant that happen together or not at all. No other transaction of stores comes between
    them, of this process or another.
    """

    def put(self, table: Table[R], row: R) -> None:
        """Write a row, in the place of the row with the same key.

        Args:
            table: where it is written.
            row: the row.

        Raises:
            UsageError: the table can not hold a value of the row, or the table is not in use (`Stores.migrate`).
        """

    def put_all(self, table: Table[R], rows: Iterable[R]) -> None:
        """Write rows as `put` does; many at once cost less than one by one.

        Args:
            table: where they are written.
            rows: the rows.

        Raises:
            UsageError: as for `put`.
        """

    def add(self, table: Table[R], row: R) -> bool:
        """Write a row; False, and nothing is changed, where there is one with the same key.

        Args:
            table: where it is written.
            row: the row.

        Raises:
            UsageError: as for `put`.
        """

    def get(self, table: Table[R], *key: Value) -> R | None:
        """The row with this key; None where there is none.

        Args:
            table: where to look.
            key: the values of the table's key, in its order.

        Raises:
            UsageError: the key has other fields, or the table is not in use.
            JournalError: the row is damaged.
        """

    def find(
        self,
        table: Table[R],
        *,
        where: Mapping[str, Value | tuple[Value, ...]] = ...,
        order: str = "",
        descending: bool = False,
        limit: int | None = None,
        behind: R | None = None,
    ) -> list[R]:
        """Rows, in the order of a field and then of their keys.

        Args:
            table: where to look.
            where: the values that fields have; None for fields that hold nothing. A tuple of 1 to `AMONG_MAX`
                values, none of them None, means any of these values.
            order: the field to sort by, none that may be None; empty for the key alone. Texts are sorted by their code
                points, in every database.
            descending: the last first.
            limit: the most rows that are returned; None for all.
            behind: only rows behind this one, the last of the page before.

        Raises:
            UsageError, JournalError: as `get`.
        """

    def has(self, tables: Sequence[Table[Struct]], where: Mapping[str, Value]) -> bool:
        """Whether one of some tables has a row with these values, in one question to the database.

        Args:
            tables: where to look: at least one.
            where: as for `find`; each of the tables has these fields.

        Raises:
            UsageError: as `get`.
        """

    def count(self, table: Table[R], where: Mapping[str, Value] = ...) -> int:
        """How many rows there are; `where` as for `find`."""

    def delete(self, table: Table[R], where: Mapping[str, Value]) -> int:
        """Delete rows of the tenant; how many there were.

        Args:
            table: where they are.
            where: the values that their fields have; `{}` for all rows.

        Raises:
            UsageError: the table has no such field, or is not in use.
        """


class Stores(Protocol):
    """The tables beside a journal. What a method wrote is on disk when the method returns.

    Every method may raise JournalError where the database can not do it. Methods with a table raise UsageError for a
    table that is not in use (`migrate`), and for a value that the table can not hold.
    """

    async def transact(self, tenant: str, work: Callable[[Transaction], T]) -> T:
        """Do several things in one transaction.

        Args:
            tenant: whose rows are read and written.
            work: what to do. It runs in the journal's thread and should only compute; it may be run twice, when what
                the first run did was undone. When it raises, nothing of it has happened.

        Returns:
            What `work` returned.
        """

    async def read(
        self, tenant: str, work: Callable[[Transaction], T], *, caught_up: str = "", principal: str | None = None
    ) -> T:
        """Read several things in one go, without a lock: what another process writes meanwhile may be seen in part.

        Args:
            tenant: whose rows are read.
            work: reads, and writes nothing. It runs in the journal's thread and should only compute.
            caught_up: the name of a feature: runs that are over are taken into its `RunView` before.
            principal: only runs of this user of the tenant are taken in; None for those of everybody.

        Returns:
            What `work` returned.
        """

    async def put(self, tenant: str, table: Table[R], row: R) -> None:
        """As `Transaction.put`."""

    async def add(self, tenant: str, table: Table[R], row: R) -> bool:
        """As `Transaction.add`."""

    async def get(self, tenant: str, table: Table[R], *key: Value) -> R | None:
        """As `Transaction.get`."""

    async def find(
        self,
        tenant: str,
        table: Table[R],
        *,
        where: Mapping[str, Value] = ...,
        order: str = "",
        descending: bool = False,
        limit: int | None = None,
        behind: R | None = None,
    ) -> list[R]:
        """As `Transaction.find`."""

    async def count(self, tenant: str, table: Table[R], where: Mapping[str, Value] = ...) -> int:
        """As `Transaction.count`."""

    async def delete(self, tenant: str, table: Table[R], where: Mapping[str, Value]) -> int:
        """As `Transaction.delete`."""

    async def find_everywhere(
        self, table: Table[R], *, where: Mapping[str, Value] = ..., limit: int | None = None
    ) -> list[tuple[str, R]]:
        """The rows of all tenants, each behind its tenant, in the order of tenants and keys: for administrators.

        Args:
            table, where: as for `Transaction.find`.
            limit: how many rows at most; None for all.
        """

    async def migrate(self, feature: str, migrations: Migrations, views: Sequence[RecordView | RunView] = ()) -> None:
        """Bring the tables of a feature to their latest form, all of it or nothing, and take them into use. One process
        does so while others wait. Where a migration was made, the rows of the views are made anew from all records of
        the feature. A migration that changes nothing, `()`, is for a view that makes its rows otherwise than before.

        Args:
            feature: the name of the feature.
            migrations: how its tables came to be.
            views: the rows that follow from its records and from runs.

        Raises:
            UsageError: the name of the feature, or the order of the migrations, can not be used.
            JournalError: a newer version of the feature made the tables, or the name of a table is taken.
        """

    async def rebuild(self, feature: str) -> int:
        """Delete the rows of a feature's views, and make them anew from all its records, and from runs; how many
        records and runs there are.
        """

    async def kept(self) -> Sequence[FeatureTables]:
        """What all features keep, also those that are off."""

    async def drop(self, feature: str) -> int:
        """Delete the tables of a feature, whether it is on or off; how many rows they had. 0 where there are none."""

    async def rows_of_run(self, run_id: str) -> Mapping[str, Sequence[Mapping[str, Value]]]:
        """The rows of all features that name a run, by the name of their table in the database, for exports."""

    async def count_of_user(self, principal: str) -> Mapping[str, int]:
        """How many rows of all features name a user (a column `principal`), by the tenants of users of this name."""

    async def forget_user(self, principal: str, tenant: str) -> int:
        """Delete the rows of all features that name a user of a tenant; how many there were.

        Args:
            principal: the user.
            tenant: the tenant of the user.
        """


def checked_name(what: str, name: str) -> str:
    """A name of a feature, table or column, if it is one.

    Args:
        what: of what it is the name, for the error.
        name: the name.

    Raises:
        UsageError: it is none.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise UsageError(
            "the {what_why} {name!r:.140}: a name has 1 to 24 small letters, digits and '_', a letter first",
            what_why=Sentence(what),
            name=name,
        )
    return name


@cache
def _columns(table: str, row: type[Struct]) -> Mapping[str, Column]:
    return types.MappingProxyType({field.name: _column(table, field.name, field.type) for field in structs.fields(row)})


def _column(table: str, name: str, annotation: object) -> Column:
    """The column of a field.

    Raises:
        UsageError: the field has another type than the four, or a name that can not be used.
    """
    checked_name(f"column of the table {table}", name)
    if name in _TAKEN:
        raise UsageError("the table {table}: a field can not be called {name!r}", table=table, name=name)
    union = get_origin(annotation) in (Union, types.UnionType)
    options = [each for each in (get_args(annotation) if union else (annotation,)) if each is not types.NoneType]
    for kind in KINDS:
        if options == [kind]:
            return Column(name, kind, nullable=union)
    raise UsageError(
        "the table {table}: the field {name} is none of str, int, float and bytes, or one of them | None",
        table=table,
        name=name,
    )


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
