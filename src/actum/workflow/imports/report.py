"""The report of an import: a line for each node and field of a foreign file, and what became of the field.

`FieldReader` reads the objects of a foreign file and notes what was read. A field that nobody has read is reported as
lost, so that no field is dropped silently. Knows nothing of any format: Dify and Coze use the same report.

    notes = ImportNotes("dify")
    node = notes.reader(value, id="1711", name="ask", title="Ask")
    node.text("title")
    node.near("retry", "a call is repeated by the call path alone")
    node.finish()
    report = notes.report()
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Literal, Self

from msgspec import Struct

from ...core.json import Json, JsonObject, dumps
from ...core.secrets.redaction import DEFAULT_REDACTION

ImportStatus = Literal["same", "near", "open", "lost"]
"""What became of a field: it means the same, it means something near, a person has to choose something, it is lost."""

ALL_CAME, SOMETHING_OPEN, SOMETHING_LOST = 0, 3, 4
"""The exit codes of `actum workflow import`."""

LINES_MAX = 20_000
"""The most lines of a report; the last line then says that there are more."""

_RANKS: dict[ImportStatus, int] = {"same": 0, "near": 1, "open": 2, "lost": 3}
_NOT_KNOWN = "this field is not known to the import"
_EDITOR = "only an editor uses this field"


class ImportLine(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of one field.

    Attributes:
        status: what became of the field.
        field: the place of the field in the node, or in the file where `id` is empty.
        message: what differs, what a person has to choose, or why the field is lost. Holds no value of the file.
        id: the id of the node in the foreign file; empty for what belongs to no node.
        name: what the node is called in our file; empty for a node that has no counterpart.
        title: what the node is called in the foreign file.
    """

    status: ImportStatus
    field: str
    message: str = ""
    id: str = ""
    name: str = ""
    title: str = ""

    def __str__(self) -> str:
        node = self.name or self.title or self.id
        node += f" ({self.id})" if self.id and self.id != node else ""
        what = f"{node}: {self.field}" if node and self.field else node or self.field
        return f"{self.status:<5} {what}{': ' + self.message if self.message else ''}"


class ImportReport(Struct, frozen=True, kw_only=True):
    """What became of a foreign file.

    Attributes:
        format: the format of the file, such as `dify`.
        lines: one for each node and field.
        names: the names of the nodes in our file, by their ids in the foreign file.
        settings: text for `actum.toml`, such as an `[agents.X]` block for a chat app.
        triggers: what begins the workflow: the tables `[triggers.NAME]` of `actum.toml`, without the workflow.
    """

    format: str
    lines: tuple[ImportLine, ...]
    names: dict[str, str] = {}
    settings: str = ""
    triggers: dict[str, JsonObject] = {}

    def settings_for(self, file: str) -> str:
        """Text for `actum.toml`, with the triggers of the workflow.

        Args:
            file: where the definition stands.
        """
        blocks = [self.settings] if self.settings else []
        for name, table in self.triggers.items():
            lines = [f"{key} = {_toml(value)}" for key, value in ({"workflow": file} | table).items()]
            blocks.append("\n".join((f"[triggers.{name}]", *lines, "")))
        return "\n".join(blocks)

    @property
    def exit_code(self) -> int:
        """0 where all came over, 3 where a person has to choose something, 4 where something is lost."""
        worst = max((_RANKS[line.status] for line in self.lines), default=0)
        return {2: SOMETHING_OPEN, 3: SOMETHING_LOST}.get(worst, ALL_CAME)

    def count(self, status: ImportStatus) -> int:
        """How many lines have this status."""
        return sum(line.status == status for line in self.lines)

    @property
    def told(self) -> tuple[ImportLine, ...]:
        """The lines that a person reads: of what differs, without what only an editor uses."""
        return tuple(line for line in self.lines if line.status != "same" and line.message != _EDITOR)

    @property
    def editor_only(self) -> int:
        """How many fields are of use to an editor only."""
        return sum(line.message == _EDITOR for line in self.lines)

    def of(self, name: str) -> tuple[ImportLine, ...]:
        """The lines of a node of our file."""
        return tuple(line for line in self.lines if line.name == name)


class ImportNotes:
    """Collects the lines of a report.

    Args:
        format: the format of the foreign file.
    """

    def __init__(self, format: str) -> None:
        self.format = format
        self.names: dict[str, str] = {}
        self.settings: list[str] = []
        self.triggers: dict[str, JsonObject] = {}
        self._lines: dict[tuple[str, str, str], ImportLine] = {}
        self._titles: dict[str, str] = {}

    def say(
        self, status: ImportStatus, field: str, message: str = "", *, id: str = "", name: str = "", title: str = ""
    ) -> None:
        """Note what became of a field. Of two notes with one message about one field, the worse one stays."""
        key = (id, field, message)
        known = self._lines.get(key)
        if known is None and len(self._lines) >= LINES_MAX:
            more = "the report ends here, and there is more to say"
            self._lines[("", "", more)] = ImportLine(status="lost", field="", message=more)
        elif known is None or _RANKS[status] > _RANKS[known.status]:
            self._lines[key] = ImportLine(
                status=status, field=field, message=message, id=id, name=name, title=self._title(title)
            )

    def _title(self, title: str) -> str:
        """A title as the report tells it, without keys."""
        if title not in self._titles:
            self._titles[title] = str(DEFAULT_REDACTION.value(title[:120]))
        return self._titles[title]

    def reader(self, value: Json, *, id: str = "", name: str = "", title: str = "", path: str = "") -> FieldReader:
        """A reader of an object that belongs to one node, or to the file itself."""
        return FieldReader(value, self, _Owner(id, name, title), path)

    def report(self) -> ImportReport:
        """The report. A field that is the same, but has another line too, gets only the other line."""
        other = {(line.id, line.field) for line in self._lines.values() if line.status != "same"}
        lines = [line for line in self._lines.values() if line.status != "same" or (line.id, line.field) not in other]
        return ImportReport(
            format=self.format,
            lines=tuple(lines),
            names=dict(self.names),
            settings="\n".join(self.settings),
            triggers=dict(self.triggers),
        )


class _Owner(Struct, frozen=True):
    """To which node a line belongs."""

    id: str
    name: str
    title: str


class FieldReader:
    """Reads an object of a foreign file, and notes which fields were read.

    A field of a wrong type is read as if it were not there, and is reported as lost. Use `ImportNotes.reader`.

    Args:
        value: the object; anything else counts as an object without fields, and is reported.
        notes: where to report.
        owner: the node that the object belongs to.
        path: the place of the object in its node.
    """

    def __init__(self, value: Json, notes: ImportNotes, owner: _Owner, path: str) -> None:
        self.path = path
        self.notes = notes
        self.owner = owner
        self.value: dict[str, Json] = {}
        self._read: set[str] = set()
        self._inner: dict[str, FieldReader] = {}
        if isinstance(value, dict):
            self.value = value
        elif value is not None:
            notes.say(
                "lost",
                path,
                f"an object is expected, not {_kind(value)}",
                id=owner.id,
                name=owner.name,
                title=owner.title,
            )

    def __contains__(self, name: str) -> bool:
        return self.value.get(name) is not None

    # Values -----------------------------------------------------------------------------------------------------------

    def raw(self, name: str) -> Json:
        """A value as it is, read wholly."""
        self._read.add(name)
        return self.value.get(name)

    def text(self, name: str, default: str = "") -> str:
        """A text. A number or a truth value is taken as text."""
        value = self.raw(name)
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, int | float):
            return str(value)
        return default if not self._is(name, value, str) else str(value)

    def flag(self, name: str, default: bool = False) -> bool:
        """True or false."""
        value = self.raw(name)
        if isinstance(value, str) and value.lower() in ("true", "false"):
            return value.lower() == "true"
        return default if not self._is(name, value, bool) else bool(value)

    def number(self, name: str, default: float) -> float:
        """A number; a text that says a number is one."""
        value = self.raw(name)
        if isinstance(value, str):
            with contextlib.suppress(ValueError):
                value = float(value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            self._is(name, value, float)
            return default
        return value if abs(value) < 1e15 else default

    def items(self, name: str) -> list[Json]:
        """A list, read wholly."""
        value = self.raw(name)
        return list(value) if self._is(name, value, list) and isinstance(value, list) else []

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts, such as the way to a value. Numbers in the list count as texts."""
        return tuple(
            str(item) for item in self.items(name) if isinstance(item, str | int) and not isinstance(item, bool)
        )

    def object(self, name: str) -> FieldReader:
        """An object; what is read of the object is noted apart."""
        self._read.add(name)
        return self._child(f"{self.path}.{name}" if self.path else name, self.value.get(name))

    def objects(self, name: str) -> list[FieldReader]:
        """A list of objects."""
        path = f"{self.path}.{name}" if self.path else name
        return [self._child(f"{path}[{index}]", item) for index, item in enumerate(self.items(name))]

    def fields(self) -> Iterator[str]:
        """The names of the fields."""
        yield from self.value

    # Report -----------------------------------------------------------------------------------------------------------

    def taken(self, *names: str) -> None:
        """Note that our file says what these fields say, directly or by what follows from it."""
        self._read.update(names)

    def editor_only(self, *names: str) -> None:
        """These fields are of use to an editor only."""
        for name in names:
            if name in self.value and name not in self._read:
                self._read.add(name)
                if not _is_empty(self.value[name]):
                    self.near(name, _EDITOR)

    def say(self, status: ImportStatus, field: str, message: str) -> None:
        """Note what became of a field of this object."""
        path = f"{self.path}.{field}" if self.path and field else self.path or field
        owner = self.owner
        self.notes.say(status, path, message, id=owner.id, name=owner.name, title=owner.title)

    def same(self, field: str) -> None:
        """The field means the same."""
        self.say("same", field, "")

    def near(self, field: str, message: str) -> None:
        """The field means something near; the message says what differs."""
        self.say("near", field, message)

    def open(self, field: str, message: str) -> None:
        """A person has to choose something; the message says what."""
        self.say("open", field, message)

    def lost(self, field: str, message: str) -> None:
        """The field is lost; the message says why."""
        self.say("lost", field, message)

    def finish(self) -> Self:
        """Note what was read, and what was not, here and in the objects inside."""
        for inner in self._inner.values():
            inner.finish()
        for name, value in self.value.items():
            path = f"{self.path}.{name}" if self.path else name
            if name in self._read:
                if path not in self._inner and f"{path}[0]" not in self._inner:
                    self.same(name)
            elif not _is_empty(value):
                self.lost(name, _NOT_KNOWN)
        return self

    # Inside -----------------------------------------------------------------------------------------------------------

    def _child(self, path: str, value: Json) -> FieldReader:
        """The reader of an object inside; the same reader for every caller."""
        if path not in self._inner:
            self._inner[path] = FieldReader(value, self.notes, self.owner, path)
        return self._inner[path]

    def _is(self, name: str, value: Json, kind: type) -> bool:
        if isinstance(value, kind):
            return True
        if value is not None and value != "":
            self.lost(name, f"{_KINDS[kind]} is expected, not {_kind(value)}")
        return False


_KINDS: dict[type, str] = {str: "a text", bool: "true or false", float: "a number", list: "a list"}


def _toml(value: Json) -> str:
    """A text, or an object of texts, in TOML."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{dumps(name)} = {_toml(each)}" for name, each in value.items()) + " }"
    return dumps(value).replace("\x7f", "\\u007f")


def _kind(value: Json) -> str:
    match value:
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list():
            return "a list"
        case _:
            return "an object" if isinstance(value, dict) else "nothing"


def _is_empty(value: Json) -> bool:
    """Whether a field says nothing: nothing is lost with the field."""
    return value is None or value is False or value in ("", [], {}) or value == 0
