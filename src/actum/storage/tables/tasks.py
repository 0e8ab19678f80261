"""The list of tasks in the database of a journal: which task is next, and the state of each.

Each line follows from the records of its run (`core.run.task_line`) and is written in the transaction of the record.
Three columns are the table's own, and say nothing that the record could contradict: `ready` and `turn` put the tasks in
the order in which they are taken, and `progress` holds what a running tool told last.

Fairness: within a priority, users take turns. A task that becomes due gets a `turn`, one more than the last turn of its
user; a user without waiting tasks begins at the lowest turn that waits. The lowest turn is taken first. So a user with
10,000 waiting tasks delays another user's task by one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Unpack, cast

import msgspec

from ...core.json import Json
from ...core.run.summary import RunSummary
from ...core.run.task import (
    DEAD,
    FINISHED,
    TASK_STATES,
    TaskFigure,
    TaskFilter,
    TaskLine,
    TaskOptions,
    TaskProgress,
    TaskState,
)
from ...core.run.task_line import TaskTelling, task_line
from ..database import Database, Row
from ..writer import Writer
from .held import NOT_HELD
from .webhooks import DatabaseOutbox

_NAMES = (
    *("run_id", "tenant", "principal", "agent", "state", "priority", "due", "attempt", "first", "queued", "changed"),
    *("ended", "home", "digest", "error", "worker", "options"),
)
"""The columns of a line, named as the fields of `TaskLine`."""
_LINE = ", ".join(_NAMES)
_FREE = NOT_HELD.format(table="tasks")
_SHOWN = f"{_LINE}, progress"
"""What is read of a line."""
_OF_RUN = f"SELECT {_SHOWN} FROM tasks WHERE run_id = ?"
_ADD = f"""INSERT INTO tasks ({_LINE}, unique_key, deadline, ready, turn)
    VALUES ({", ".join("?" * (len(_NAMES) + 4))})"""
_TURNS = """SELECT
    (SELECT min(turn) FROM tasks WHERE ready = 2 AND home = ? AND priority = ?),
    (SELECT max(turn) FROM tasks WHERE ready = 2 AND tenant = ? AND principal = ? AND home = ? AND priority = ?)"""
"""The lowest turn that waits, and the last turn of a user."""
_COUNTED = tuple(state for state in TASK_STATES if state not in FINISHED or state in DEAD)
_FIGURES = f"""SELECT state, priority, count(*), min(CASE WHEN ready != 0 AND home = '' AND due <= ? THEN due END)
    FROM tasks WHERE state IN ({", ".join("?" * len(_COUNTED))}) GROUP BY state, priority"""

NOT_WAITING, LATER, READY = 0, 1, 2
"""The values of `ready`: the task is not to be begun; when its time has come; it can be taken now."""
ASKED_MAX = 500
"""The most tasks that one statement asks for."""
PROMOTED_MAX = 1_000
"""The most tasks that are moved at a time to those that can be taken."""


Rows = list[Row]


class DatabaseTasks:
    """A `TaskIndex` in the database of a journal.

    Args:
        writer: the thread that reads and writes the tables.
    """

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self.outbox = DatabaseOutbox(writer)

    async def find(self, run_id: str, *, tenant: str | None = None, principal: str | None = None) -> TaskLine | None:
        def look(database: Database) -> list[Row]:
            return database.execute(_OF_RUN, (run_id,))

        rows = await self._writer.ask(look) if "\0" not in run_id else []
        line = _line(rows[0]) if rows else None
        if line is None or tenant not in (None, line.tenant) or principal not in (None, line.principal):
            return None
        return line

    async def states(self, run_ids: Sequence[str]) -> Mapping[str, TaskState]:
        known = [run_id for run_id in run_ids if "\0" not in run_id]

        def look(database: Database) -> dict[str, TaskState]:
            found: dict[str, TaskState] = {}
            for at in range(0, len(known), ASKED_MAX):
                part = known[at : at + ASKED_MAX]
                query = f"SELECT run_id, state FROM tasks WHERE run_id IN ({', '.join('?' * len(part))})"
                found |= {str(run_id): cast(TaskState, state) for run_id, state in database.execute(query, part)}
            return found

        return await self._writer.ask(look)

    async def list(self, *, limit: int | None = 50, behind: str = "", **wanted: Unpack[TaskFilter]) -> list[TaskLine]:
        where, values = _conditions(wanted)
        if behind:
            where.append("place < (SELECT place FROM tasks WHERE run_id = ?)")
            values.append(behind)
        query = f"SELECT {_SHOWN} FROM tasks {_all(where)} ORDER BY place DESC"
        if limit is not None:
            query += f" LIMIT {min(int(limit), 2**31)}"
        if any(isinstance(value, str) and "\0" in value for value in values):
            return []  # no text of PostgreSQL holds a NUL, so nothing is found
        rows = await self._writer.ask(lambda database: database.execute(query, values))
        return [line for row in rows if (line := _line(row)) is not None]

    async def counts(self, **wanted: Unpack[TaskFilter]) -> dict[str, int]:
        where, values = _conditions(wanted)
        query = f"SELECT state, count(*) FROM tasks {_all(where)} GROUP BY state"
        rows = await self._writer.ask(lambda database: database.execute(query, values))
        return {str(state): count for state, count in rows if isinstance(count, int)}

    async def queued(self, tenant: str, principal: str | None, *, most: int) -> int:
        whose, values = "tenant = ?", [tenant]
        if principal is not None:
            whose, values = f"{whose} AND principal = ?", [tenant, principal]
        inner = f"SELECT 1 FROM tasks WHERE {whose} AND state IN ('queued', 'retrying') LIMIT {int(most)}"
        rows = await self._writer.ask(
            lambda database: database.execute(f"SELECT count(*) FROM ({inner}) AS waiting", values)
        )
        return _int(rows[0][0])

    async def figures(self, now: float) -> Sequence[TaskFigure]:
        rows = await self._writer.ask(lambda database: database.execute(_FIGURES, (now, *_COUNTED)))
        names = TaskFigure.__struct_fields__
        return [msgspec.convert(dict(zip(names, row, strict=True)), TaskFigure, strict=False) for row in rows]

    async def keyed(self, tenant: str, principal: str, key: str) -> TaskLine | None:
        query = f"SELECT {_SHOWN} FROM tasks WHERE tenant = ? AND principal = ? AND unique_key = ? AND unique_key != ''"
        rows = await self._writer.ask(lambda database: database.execute(query, (tenant, principal, key)))
        return _line(rows[0]) if rows else None

    async def next_due(
        self,
        now: float,
        *,
        home: str = "",
        limit: int = 1,
        running_max: int | None = None,
        tenant_running_max: int | None = None,
        without: Sequence[str] = (),
    ) -> Sequence[TaskLine]:
        def look(database: Database) -> Rows:
            _promote(database, now)
            taken = _Taken(database, home, running_max, tenant_running_max, set(without))
            return taken.next(limit)

        # The order changes only when a task becomes due: what is read alone writes nothing.
        due = "SELECT 1 FROM tasks WHERE ready = 1 AND due <= ? LIMIT 1"
        writes = bool(await self._writer.ask(lambda database: database.execute(due, (now,))))
        rows = await self._writer.ask(look, writes=writes)
        return [line for row in rows if (line := _line(row)) is not None]

    async def next_time(self, *, home: str = "") -> float | None:
        query = "SELECT min(due) FROM tasks WHERE ready = 1 AND home = ?"
        rows = await self._writer.ask(lambda database: database.execute(query, (home,)))
        return _float(rows[0][0]) if rows and rows[0][0] is not None else None

    async def late(self, now: float, *, limit: int = 100) -> Sequence[TaskLine]:
        query = (
            f"SELECT {_SHOWN} FROM tasks WHERE deadline <= ? AND ended IS NULL AND {_FREE} ORDER BY deadline LIMIT ?"
        )
        rows = await self._writer.ask(lambda database: database.execute(query, (now, limit)))
        return [line for row in rows if (line := _line(row)) is not None]

    async def running(self, *, home: str | None = "") -> Sequence[TaskLine]:
        query = f"SELECT {_SHOWN} FROM tasks WHERE state = 'running' AND {_FREE}"
        values: tuple[str, ...] = ()
        if home is not None:
            query, values = f"{query} AND home = ?", (home,)
        rows = await self._writer.ask(lambda database: database.execute(query, values))
        return [line for row in rows if (line := _line(row)) is not None]

    def tell_progress(self, run_id: str, value: Json, at: float, *, problem: str = "") -> None:
        told = msgspec.json.encode(TaskProgress(value, at, problem)).decode()

        def write(database: Database) -> None:
            database.execute("UPDATE tasks SET progress = ? WHERE run_id = ?", (told.replace("\0", ""), run_id))

        self._writer.put(write, "", lambda error: None)  # the next word follows soon

    async def progress(self, run_id: str) -> TaskProgress | None:
        query = "SELECT progress FROM tasks WHERE run_id = ?"
        rows = await self._writer.ask(lambda database: database.execute(query, (run_id,)))
        return _progress(rows[0][0]) if rows else None

    async def drop(self, ended_before: float, *, limit: int = 1_000) -> int:
        def write(database: Database) -> int:
            query = "SELECT run_id FROM tasks WHERE ended < ? ORDER BY ended LIMIT ?"
            rows = database.execute(query, (ended_before, limit))
            for (run_id,) in rows:
                database.execute("DELETE FROM tasks WHERE run_id = ?", (run_id,))
            return len(rows)

        return await self._writer.ask(write, writes=True)


class _Taken:
    """Finds the tasks to begin next.

    Args:
        database: the database.
        home: as in `TaskLine`.
        running_max, tenant_running_max: the most tasks of one user, or of one tenant, that may run at a time.
        without: tasks to leave out.
    """

    def __init__(
        self,
        database: Database,
        home: str,
        running_max: int | None,
        tenant_running_max: int | None,
        without: set[str],
    ) -> None:
        self._database = database
        self._home = home
        self._limits = ((running_max, "principal"), (tenant_running_max, "tenant"))
        self._without = without
        self._counts: dict[tuple[str, ...], int] = {}
        self._full: list[tuple[str, ...]] = []

    def next(self, limit: int) -> list[Row]:
        """At most `limit` tasks, in the order in which they are to be begun."""
        found: list[Row] = []
        passed = set(self._without)
        while len(found) < limit:
            row = self._first(passed)
            if row is None:
                break
            passed.add(str(row[0]))
            if self._may_run(str(row[1]), str(row[2])):
                found.append(row)
        return found

    def _first(self, passed: set[str]) -> Row | None:
        where, values = ["ready = 2", "home = ?", _FREE], [self._home]
        for full in self._full:
            where.append("NOT (tenant = ? AND principal = ?)" if len(full) == 2 else "tenant != ?")
            values += full
        if passed:
            where.append(f"run_id NOT IN ({', '.join('?' * len(passed))})")
            values += passed
        query = f"SELECT {_SHOWN} FROM tasks WHERE {' AND '.join(where)} ORDER BY priority DESC, turn, place LIMIT 1"
        rows = self._database.execute(query, values)
        return rows[0] if rows else None

    def _may_run(self, tenant: str, principal: str) -> bool:
        """Whether one more task of this user may run; then it is counted as running."""
        names: list[tuple[str, ...]] = [(tenant, principal), (tenant,)]
        for name, (most, _) in zip(names, self._limits, strict=True):
            if most is not None and self._running(name) >= most:
                self._full.append(name)
                return False
        for name in names:
            self._counts[name] = self._counts.get(name, 0) + 1
        return True

    def _running(self, name: tuple[str, ...]) -> int:
        if name not in self._counts:
            whose = "tenant = ? AND principal = ?" if len(name) == 2 else "tenant = ?"
            query = f"SELECT count(*) FROM tasks WHERE state = 'running' AND {whose}"
            ((count,),) = self._database.execute(query, name)
            self._counts[name] = count if isinstance(count, int) else 0
        return self._counts[name]


def tell_task(
    database: Database, run_of: RunSummary | None, run_id: str, record: TaskTelling, at: float, *, is_new: bool = False
) -> tuple[TaskLine | None, TaskLine | None]:
    """Write the line of a task, in the transaction of a record of its run.

    Args:
        database: the database, in the transaction.
        run_of: the run's line in the list of runs, where the record is `TaskQueued`.
        run_id: the run.
        record: the record.
        at: when it was written.
        is_new: the run can not be a task yet.

    Returns:
        The line before and after; None where the run is no task.
    """
    rows = [] if is_new else database.execute(_OF_RUN, (run_id,))
    before = _line(rows[0]) if rows else None
    after = task_line(run_of, before, record, at)
    if after is None:
        if rows:
            database.execute("DELETE FROM tasks WHERE run_id = ?", (run_id,))
    elif before is None:
        values = [_value(after, name) for name in _NAMES]
        options = after.options
        database.execute(_ADD, (*values, options.unique_key, options.deadline, *_place_of(database, after, at)))
    elif after != before:
        changed = [name for name in _NAMES if getattr(after, name) != getattr(before, name)]
        values = [_value(after, name) for name in changed]
        waits = after.state in ("queued", "retrying")
        place = _place_of(database, after, at) if waits else (NOT_WAITING, 0)
        assigned = ", ".join([*(f"{name} = ?" for name in changed), "ready = ?", "turn = ?", "deadline = ?"])
        row = (*values, *place, after.options.deadline, run_id)
        database.execute(f"UPDATE tasks SET {assigned} WHERE run_id = ?", row)
        if before.problem and not waits:  # somebody could build what the task needs
            database.execute("UPDATE tasks SET progress = '' WHERE run_id = ?", (run_id,))
    return before, after


def _place_of(database: Database, line: TaskLine, now: float) -> tuple[int, int]:
    """The place of a task that waits: whether it can be taken now, and its turn."""
    if line.due > now:
        return LATER, 0
    whose = (line.tenant, line.principal, line.home, line.priority)
    ((lowest, last),) = database.execute(_TURNS, (line.home, line.priority, *whose))
    return READY, max(_int(lowest), _int(last) + 1 if last is not None else 0)


def _promote(database: Database, now: float) -> None:
    """Move the tasks whose time has come to those that can be taken."""
    query = f"SELECT {_SHOWN} FROM tasks WHERE ready = 1 AND due <= ? ORDER BY due, place LIMIT ?"
    for row in database.execute(query, (now, PROMOTED_MAX)):
        line = _line(row)
        if line is not None:
            place = _place_of(database, line, now)
            database.execute("UPDATE tasks SET ready = ?, turn = ? WHERE run_id = ?", (*place, line.run_id))


def _conditions(wanted: TaskFilter) -> tuple[list[str], list[object]]:
    where: list[str] = []
    values: list[object] = []
    for name, value in wanted.items():
        if value is None or (value == "" and name not in ("tenant", "principal")):
            continue
        where.append({"since": "queued >= ?", "until": "queued < ?"}.get(name, f"{name} = ?"))
        values.append(value)
    return where, values


def _all(where: Sequence[str]) -> str:
    return f"WHERE {' AND '.join(where)}" if where else ""


def _value(line: TaskLine, name: str) -> object:
    value: object = getattr(line, name)
    if isinstance(value, TaskOptions):
        value = msgspec.json.encode(value).decode()
    return value.replace("\0", "\ufffd") if isinstance(value, str) else value


def _line(row: Row) -> TaskLine | None:
    """The line in a row; None where somebody damaged it."""
    values = dict(zip(_NAMES, row[:-1], strict=True))
    try:
        values["options"] = msgspec.json.decode(str(values["options"]), type=TaskOptions)
        line = msgspec.convert(values, TaskLine)
    except (msgspec.DecodeError, ValueError):
        return None
    progress = _progress(row[-1])
    return line.with_problem(progress) if progress is not None else line


def _progress(told: object) -> TaskProgress | None:
    try:
        return msgspec.json.decode(str(told), type=TaskProgress) if told else None
    except (msgspec.DecodeError, ValueError):
        return None


def _int(value: object) -> int:
    return value if isinstance(value, int) else 0


def _float(value: object) -> float:
    return float(value) if isinstance(value, int | float) else math.nan
