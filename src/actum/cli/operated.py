"""Commands made from operations: the arguments, the options, their completion, `--json` and the table.

An operation says in its `Command` how it is typed and shown. Its handler works on the journal of `actum.toml`, without
a server. The user of this machine may do what an administrator may.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Annotated, Any, NamedTuple

import msgspec
import typer
from msgspec import Struct
from msgspec import inspect as types
from msgspec.structs import replace

from ..compose.settings import MEMORY, Settings
from ..core.clock import SystemClock
from ..core.errors import UnknownName, UsageError
from ..core.identity import Identity
from ..core.json import Json, JsonObject, dumps, parse_or_text
from ..core.language.sentence import Sentence
from ..core.language.translation import Language
from ..features.command import AnswerText, Command, CommandFlag, CommandOption, FoundBy, ListColumn
from ..features.described import attributes_of
from ..features.operation import ApiReply, ApiRequest, Application, Operation
from ..journal.named import beginning_with
from . import options
from .exit_codes import DONE
from .language import tr
from .options import JournalFlag, JsonFlag, McpFlag, TenantFlag, ToolsFlag
from .show import moments
from .show.spreadsheet import write_rows
from .show.terminal import Terminal, said, who

ALL = 1_000_000_000
OWN_OPTIONS = ("tenant", "as_json", "json", "as_csv", "csv", "journal", "help")
"""The options that every command has."""

COMPLETED = 100
"""The most names that are offered when a shell completes a name."""

ROWS = 20
"""The items of a list that are shown where nobody says how many."""


CsvFlag = Annotated[bool, typer.Option("--csv", help="Print CSV with a header.")]
MeantTenantFlag = Annotated[
    str | None, typer.Option("--tenant", metavar="NAME", help="The tenant that is meant. Default: none.")
]
"""The tenant of a command that makes or changes something."""


View = Callable[[Terminal, Any, Mapping[str, str]], None]
"""Shows a person the answer of an operation, given what its path names, where a terminal can do more than texts."""


def add_commands(
    app: typer.Typer,
    operations: Sequence[Operation],
    views: Mapping[str, View] | None = None,
    beside: Sequence[Operation] = (),
) -> Operated:
    """Add the command of each operation that has one.

    Args:
        app: the group; where it may be called without a word more, that means its `list`.
        operations: the operations of a subject.
        views: show a person the answers of operations, by the ids of the operations. Others are shown as their
            commands say.
        beside: the operations of another subject, by which a person names things.
    """
    operated, made = Operated((*operations, *beside), views), {}
    for operation in operations:
        for command in operation.commands:
            name = command.words[-1]
            made[name] = _Typed(operation, command, operated).function()
            app.command(name)(made[name])
    listing = made.get("list")
    if listing is not None and app.info.invoke_without_command is True:

        def without_a_word(context: typer.Context) -> None:
            if context.invoked_subcommand is None:
                listing()

        app.callback()(without_a_word)
    return operated


def command_of(operations: Sequence[Operation], operation: str, views: Mapping[str, View]) -> Callable[..., int]:
    """The function of a command that stands alone, such as `actum audit`.

    Args:
        operations: as for `add_commands`.
        operation: the id of the operation.
        views: as for `add_commands`.
    """
    made = next(each for each in operations if each.id == operation)
    assert made.command is not None
    return _Typed(made, made.command, Operated(operations, views)).function()


def group_of(operations: Sequence[Operation], about: str) -> typer.Typer:
    """A group of commands that are all made from operations.

    Args:
        operations: the operations of a subject.
        about: what `--help` says of the group.
    """
    has_list = any(command.words[-1] == "list" for each in operations for command in each.commands)
    app = typer.Typer(help=about, invoke_without_command=has_list, no_args_is_help=not has_list)
    add_commands(app, operations)
    return app


def say(terminal: Terminal, told: Iterable[AnswerText], journal: str = "") -> None:
    """Tell a person what an operation has answered.

    Args:
        terminal: where.
        told: the texts.
        journal: what the person has named by `--journal`.
    """
    for each in told:
        values: dict[str, object] = {**each.values}
        if each.command:
            values["command"] = " ".join(["actum", *each.command, *(("--journal", journal) if journal else ())])
        text = tr(each.text, **values) if values or each.is_note else each.text
        text = f"{moments.shown(each.at)}  {text}".rstrip() if each.at else text
        if each.is_problem:
            terminal.error(text)
        elif each.is_note:
            terminal.note(text)
        elif each.label:
            terminal.line(each.label, text)
        else:
            terminal.text(text)


class Operated:
    """Operations of a subject, asked by the user of this machine.

    Args:
        operations: the operations.
        views: show a person the answers of some operations, by their ids.
    """

    def __init__(self, operations: Sequence[Operation], views: Mapping[str, View] | None = None) -> None:
        self.views = views or {}
        self._operations = {each.id: each for each in operations}

    def has(self, operation: str) -> bool:
        """Whether an operation of this id is among them."""
        return operation in self._operations

    async def ask(
        self,
        app: Application,
        operation: str,
        names: Mapping[str, str],
        values: Mapping[str, Json] | None = None,
        tenant: str | None = None,
        *,
        language: Language = "en",
    ) -> Struct | JsonObject | None:
        """The body of the answer of an operation.

        Args:
            app: what the operation works with.
            operation: its id.
            names: the values in its path.
            values: the fields of its query and of its body.
            tenant: the tenant that is meant; None for all.
            language: as in `ApiRequest`.

        Raises:
            Refusal: the operation refuses.
            UsageError: a value does not fit.
        """
        return (await self.reply(app, operation, names, values or {}, tenant, language=language)).body

    async def reply(
        self,
        app: Application,
        operation: str,
        names: Mapping[str, str],
        values: Mapping[str, Json],
        tenant: str | None = None,
        *,
        body: type[Struct] | None = None,
        to_find: bool = False,
        language: Language = "en",
    ) -> ApiReply:
        """The answer of an operation.

        Args:
            app, operation, names, values, tenant: as for `ask`.
            body: the type of the body; None for the operation's own.
            to_find, language: as in `ApiRequest`.

        Raises:
            Refusal, UsageError: as for `ask`.
        """
        known = self._operations[operation]
        asked = ApiRequest(
            known.id,
            Identity(principal=who(), tenant=tenant or "", scopes=("admin", *known.scopes)),
            names,
            _made(known.query, values),
            _made(body or known.body, values),
            everywhere=tenant is None,
            by_operator=True,
            to_find=to_find,
            language=language,
        )
        answer = await known.handler(app, asked)
        assert isinstance(answer, ApiReply), "an operation that answers a stream has no command"
        return answer

    async def parts(
        self,
        app: Application,
        operation: str,
        names: Mapping[str, str],
        values: Mapping[str, Json],
        left: int,
        tenant: str | None = None,
        *,
        to_find: bool = False,
    ) -> AsyncIterator[Any]:
        """The parts of a list, as long as more items are wanted.

        Args:
            app, operation, names, values, tenant: as for `ask`.
            left: the number of items that are wanted.
            to_find: as in `ApiRequest`.
        """
        if self._operations[operation].query is None:  # a list that is told whole
            yield (await self.reply(app, operation, names, values, tenant, to_find=to_find)).body
            return
        cursor, most = "", _limit_of(self._operations[operation])
        while left > 0:
            wanted: dict[str, Json] = {**values, "limit": min(left, most), "cursor": cursor}
            page: Any = (await self.reply(app, operation, names, wanted, tenant, to_find=to_find)).body
            yield page
            left -= len(page.items)
            if page.next in (None, "", cursor):  # an operation that comes back to the same place has come to its end
                return
            cursor = page.next

    async def find(
        self,
        app: Application,
        found_by: FoundBy,
        named: str,
        tenant: str | None = None,
        values: Mapping[str, Json] | None = None,
    ) -> str:
        """The id of the thing that a person names.

        Args:
            app, tenant: as for `ask`.
            found_by: how the person names the thing.
            named: what the person says.
            values: the fields of the query and of the body, which may say among which things the thing is.

        Raises:
            UnknownName: there is none, or several begin so.
        """
        if found_by.look_up is not None:
            return await found_by.look_up(app, named)
        ids: list[str] = []
        is_last = named == "last" and found_by.has_last and not found_by.is_whole
        among = {name: value for name, value in (values or {}).items() if name in found_by.among}
        async for page in self.parts(app, found_by.operation, {}, among, 1 if is_last else ALL, tenant, to_find=True):
            ids += [_text(_of(item, found_by.field)) for item in page.items]
            if named in ids:
                return named
        fitting = ids if is_last else [] if found_by.is_whole else beginning_with(named, ids, str)
        if len(fitting) == 1:
            return fitting[0]
        noun = Sentence(found_by.noun)
        if fitting:
            raise UnknownName(
                "{count} {noun}s begin with {named!r}: write more of the id", count=len(fitting), noun=noun, named=named
            )
        raise UnknownName(
            "there is no {noun} {named!r}: `{command}` shows which there are",
            noun=noun,
            named=named,
            command=f"actum {noun}s list",
        )

    def completing(self, found_by: FoundBy) -> Callable[[str], list[tuple[str, str]]]:
        """Completes the id of a thing in a shell."""

        async def found(incomplete: str) -> list[tuple[str, str]]:
            from ..compose.administration import open_application  # noqa: PLC0415  # see `_application`

            async with open_application(options.read()) as app:
                pages = [page async for page in self.parts(app, found_by.operation, {}, {}, COMPLETED, to_find=True)]
            items = [item for page in pages for item in page.items]
            rows = [
                (_text(_of(item, found_by.field)), " ".join(_text(_of(item, name)) for name in found_by.about))
                for item in items
            ]
            return [row for row in rows if row[0].startswith(incomplete)]

        def complete(incomplete: str) -> list[tuple[str, str]]:
            try:
                return asyncio.run(found(incomplete))
            except Exception:  # noqa: BLE001  # a shell that completes a word is told nothing of errors
                return []

        return complete


class _Field(NamedTuple):
    """A field of the query or of the body.

    Attributes:
        name: its name.
        kind: what Typer reads: `str`, `int`, `float`, `bool` or a list of texts.
        choices: the values that there are; empty where there are others.
        is_json: whether the text is JSON.
        is_pairs: whether texts are `NAME=VALUE`.
        is_required: whether something has to be said.
        is_on: whether a flag is on where nothing is said.
        help: what the field means.
        option: how it is said.
    """

    name: str
    kind: type[str | int | float | bool | list[str]]
    choices: tuple[str, ...]
    is_json: bool
    is_pairs: bool
    is_required: bool
    is_on: bool
    help: str
    option: CommandOption

    @property
    def flag(self) -> str:
        """The name of the option."""
        name = self.name.replace("_", "-")
        return f"--{name}/--no-{name}" if self.is_on else f"--{name}"


class _Typed:
    """The command of an operation.

    Args:
        operation: the operation.
        command: how it is typed.
        operated: the operations of its subject.
    """

    def __init__(self, operation: Operation, command: Command, operated: Operated) -> None:
        self._operation = operation
        self._command = command
        self._operated = operated
        shape = [each for each in (operation.query, command.body or operation.body) if each is not None]
        self._fields = {
            field.name: field
            for kind in shape
            for field in _fields(kind, command.options)
            if field.name not in command.given
        }
        self._pages = self._fields.pop("cursor", None) is not None
        self._check()

    def _check(self) -> None:
        """Raises:
        UsageError: the command can not be made; the message says why.
        """
        operation, shown = self._operation, {name for name, field in self._fields.items() if not field.option.is_hidden}
        taken = sorted(shown & {*OWN_OPTIONS, *operation.names})
        finder = self._command.found_by
        unknown = sorted(
            {*self._command.arguments, *self._command.options} - {*self._fields, *operation.names, "cursor"}
        )
        if finder is not None and not self._operated.has(finder.operation):
            raise UsageError(
                "the operation {operation} can not be a command: there is no operation {finder!r} "
                "beside it, which lists what its path names",
                operation=operation.id,
                finder=finder.operation,
            )
        if taken:
            raise UsageError(
                "the operation {operation} can not be a command: {name!r} means something else in "
                "every command; hide the field",
                operation=operation.id,
                name=taken[0],
            )
        if unknown:
            raise UsageError(
                "the operation {operation} can not be a command: neither its query nor its body has a field {name!r}",
                operation=operation.id,
                name=unknown[0],
            )

    def function(self) -> Callable[..., int]:
        """The function that Typer makes the command of."""
        parameters = [*self._arguments(), *self._options()]
        defaults = {each.name: each.default for each in parameters}

        def command(**given: Any) -> int:  # noqa: ANN401  # whatever the fields of the operation are
            return self._carry_out({**defaults, **given})

        command.__name__ = self._command.words[-1]
        command.__doc__ = self._command.help or self._operation.summary
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {each.name: each.annotation for each in parameters} | {"return": int}
        return command

    def _arguments(self) -> list[inspect.Parameter]:
        found_by, made = self._command.found_by, []
        for name, means in self._operation.names.items():
            option = self._command.options.get(name, CommandOption())
            metavar, text = option.metavar or name.upper(), option.help or means
            completion = None if found_by is None else self._operated.completing(found_by)
            if found_by is not None and not found_by.is_whole and name not in self._command.options:
                metavar, text = found_by.noun.upper(), f"The {found_by.noun}: its id, the beginning of it, or `last`."
            about = typer.Argument(metavar=metavar, help=text, autocompletion=completion)
            made.append(_parameter(name, str, about, self._command.default or inspect.Parameter.empty))
        for name in self._command.arguments:
            field = self._fields[name]
            metavar = field.option.metavar or name.upper()
            default = inspect.Parameter.empty if field.is_required else None
            argument = typer.Argument(metavar=metavar, help=field.help, autocompletion=self._completion(field))
            made.append(_parameter(name, field.kind, argument, default))
        return made

    def _completion(self, field: _Field) -> Callable[[str], list[str]] | Callable[[str], list[tuple[str, str]]] | None:
        if field.option.found_by is not None:
            return self._operated.completing(field.option.found_by)
        return _completing(field.choices) if field.choices else None

    def _options(self) -> list[inspect.Parameter]:
        made = []
        for field in self._fields.values():
            if field.option.is_hidden or field.name in self._command.arguments:
                continue
            if field.name == "limit" and self._pages:
                about = typer.Option("--limit", "-n", min=1, help=field.option.help or "How many.")
                made.append(_parameter("limit", int, about, ROWS))
                continue
            if field.option.flags:
                made += [
                    _parameter(_named(flag), bool, typer.Option(flag.name, help=flag.help), False)
                    for flag in field.option.flags
                ]
                continue
            about = typer.Option(
                *(field.option.names or (field.flag,)),
                metavar=field.option.metavar or ("TIME" if field.option.form else None),
                help=field.help,
                autocompletion=self._completion(field),
            )
            default = field.is_on if field.kind is bool else inspect.Parameter.empty if field.is_required else None
            made.append(_parameter(field.name, field.kind, about, default))
        is_list = self._operation.method == "get" and not self._operation.names
        tenant = TenantFlag if is_list or self._command.found_by is not None else MeantTenantFlag
        tools = (("tools", ToolsFlag, None), ("mcp", McpFlag, None)) if self._command.uses_tools else ()
        form = (
            ("as_json", JsonFlag, False),
            *((("as_csv", CsvFlag, False),) if self._command.csv_of is not None else ()),
        )
        for name, kind, default in (*tools, ("tenant", tenant, None), *form):
            made.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind))
        made.append(inspect.Parameter("journal", inspect.Parameter.KEYWORD_ONLY, default="", annotation=JournalFlag))
        return made

    # What is typed ----------------------------------------------------------------------------------------------------

    def _carry_out(self, given: Mapping[str, Any]) -> int:
        terminal = Terminal()
        settings = options.read(tools=given.get("tools"), mcp=given.get("mcp"), journal=given["journal"])
        tenant = None if given["tenant"] is None else said(given["tenant"])
        names = {name: said(given[name]) for name in self._operation.names}
        if given["as_json"] and given.get("as_csv"):
            raise UsageError("--json or --csv, not both")
        values: dict[str, Json] = {**self._command.given}
        values |= {name: self._value(field, _typed_in(field, given)) for name, field in self._fields.items()}
        if self._operation.method != "get" and settings.journal == MEMORY:
            raise UsageError(
                "a journal in memory keeps nothing beyond this command: name a file or a database by --journal"
            )

        async def command() -> tuple[ApiReply, Mapping[str, str]]:
            async with self._application(settings, terminal) as app:
                found = {name: await self._found(app, named, tenant, values) for name, named in names.items()}
                for name, field in self._fields.items():
                    if field.option.found_by is not None and isinstance(named := values.get(name), str) and named:
                        values[name] = await self._operated.find(app, field.option.found_by, named, tenant, values)
                return await self._answer(app, tenant, found, values), found

        reply, found = asyncio.run(command())
        body = reply.body
        if given["as_json"]:
            terminal.json({} if body is None else body)
        elif given.get("as_csv") and self._command.csv_of is not None:
            items: Any = _of(body, "items")
            write_rows(items, self._command.csv_of)
            self._beside(terminal, body)
        else:
            self._tell(terminal, reply, found, values)
            say(terminal, reply.told, given["journal"])
        return self._command.exit_code(body) if self._command.exit_code is not None else DONE

    @asynccontextmanager
    async def _application(self, settings: Settings, terminal: Terminal) -> AsyncIterator[Application]:
        """What the operation works with."""
        # Agents and workflows, which neither `--help` nor the completion of an option needs.
        from ..compose.administration import open_application  # noqa: PLC0415

        if not self._command.uses_tools:
            async with open_application(settings) as app:
                yield app
            return
        from . import loading  # noqa: PLC0415  # agents and MCP servers, which other commands have no need of

        async with loading.tools(settings, terminal) as loaded, open_application(settings, loaded.tools) as app:
            yield app

    def _value(self, field: _Field, text: Any) -> Json:  # noqa: ANN401  # what Typer has read
        """What the operation is given for a field; None where nothing was said."""
        if text is None or text == []:
            return None
        if isinstance(text, list):
            return options.read_pairs(text) if field.is_pairs else [said(each) for each in text]
        if not isinstance(text, str):
            value: Json = text
            return value
        text = said(text)
        if field.option.form == "time":
            return moments.moment(text, SystemClock().now())
        if field.option.form == "end":
            return moments.end(text, SystemClock().now())
        if field.choices and text not in field.choices:
            raise UsageError(
                "there is no {field} {text!r}; there are: {choices}",
                field=field.name,
                text=text,
                choices=", ".join(field.choices),
            )
        return parse_or_text(text) if field.is_json else text

    async def _answer(
        self, app: Application, tenant: str | None, names: Mapping[str, str], values: Mapping[str, Json]
    ) -> ApiReply:
        """The answer; of a list as many items as are wanted."""
        if not self._pages:
            return await self._operated.reply(app, self._operation.id, names, values, tenant, body=self._command.body)
        limit = values.get("limit")
        left = limit if isinstance(limit, int) else ROWS
        whole: Any = None
        async for page in self._operated.parts(app, self._operation.id, names, values, left, tenant):
            whole = page if whole is None else _joined(whole, page)
        return ApiReply(whole)

    async def _found(self, app: Application, named: str, tenant: str | None, values: Mapping[str, Json]) -> str:
        found_by = self._command.found_by
        return named if found_by is None else await self._operated.find(app, found_by, named, tenant, values)

    # What a person reads ----------------------------------------------------------------------------------------------

    def _tell(self, terminal: Terminal, reply: ApiReply, names: Mapping[str, str], values: Mapping[str, Json]) -> None:
        body = reply.body
        items, view = _of(body, "items"), self._operated.views.get(self._operation.id)
        if view is not None:
            view(terminal, body, names)
        elif self._command.show is not None:
            say(terminal, self._command.show(body, names))
        elif isinstance(items, tuple | list):
            beside = self._beside(terminal, body)
            if items or not any(each.is_problem for each in beside):
                self._table(terminal, items, names, values)
        elif body is not None and not reply.told:
            for name, value in msgspec.to_builtins(body).items():
                terminal.line(name, _text(value))

    def _beside(self, terminal: Terminal, body: Struct | JsonObject | None) -> Sequence[AnswerText]:
        """Tell a person the remarks beside a table."""
        told = self._command.beside(body) if self._command.beside is not None else ()
        say(terminal, told)
        return told

    def _table(
        self, terminal: Terminal, items: Sequence[object], names: Mapping[str, str], values: Mapping[str, Json]
    ) -> None:
        if not items:
            terminal.note(tr(self._command.empty or "There is nothing.", **names))
            return
        columns = self._command.columns or [ListColumn(name, name) for name in msgspec.to_builtins(items[0])]
        columns = [column for column in columns if not column.only_with or values[column.only_with]]
        rows = [tuple(_cell(terminal, item, column) for column in columns) for item in items]
        terminal.table(*(column.head for column in columns), rows=rows, folds=self._command.folds)


def _parameter(name: str, kind: Any, about: Any, default: object) -> inspect.Parameter:  # noqa: ANN401  # Typer's own
    is_optional = default is None
    kind = kind | None if is_optional else kind
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, about])


def _fields(kind: type[Struct], said_as: Mapping[str, CommandOption]) -> Iterable[_Field]:
    about = attributes_of(kind)
    shape = types.type_info(kind)
    assert isinstance(shape, types.StructType)
    for field in shape.fields:
        option = said_as.get(field.name, CommandOption())
        read, choices, is_json = _read_as(field.type)
        is_pairs = option.form == "pairs"
        if option.form:
            read, is_json = list[str] if is_pairs else str, False
        means, is_required = option.help or about.get(field.name, ""), field.required or option.is_required
        yield _Field(field.name, read, choices, is_json, is_pairs, is_required, field.default is True, means, option)


def _named(flag: CommandFlag) -> str:
    """The name of the parameter of a flag."""
    return flag.name.removeprefix("--").replace("-", "_")


def _typed_in(field: _Field, given: Mapping[str, Any]) -> Any:  # noqa: ANN401  # what Typer has read
    """What was typed for a field.

    Raises:
        UsageError: two flags were given, and each says something else.
    """
    chosen = [flag for flag in field.option.flags if given[_named(flag)]]
    if len(chosen) > 1:
        raise UsageError("{flag} and {other}: give one of the two", flag=chosen[0].name, other=chosen[1].name)
    return chosen[0].value if chosen else given.get(field.name)


def _read_as(
    kind: types.Type,
) -> tuple[type[str | int | float | bool | list[str]], tuple[str, ...], bool]:
    """What Typer reads for a type, the values that there are, and whether the text is JSON."""
    match kind:
        case types.UnionType(types=members):
            members = tuple(each for each in members if not isinstance(each, types.NoneType))
            if all(isinstance(each, types.LiteralType) for each in members):
                return str, tuple(choice for each in members for choice in _read_as(each)[1]), False
            return _read_as(members[0]) if len(members) == 1 else (str, (), True)
        case types.LiteralType(values=values):
            return str, tuple(str(value) for value in values if value), False
        case types.StrType():
            return str, (), False
        case types.BoolType():
            return bool, (), False
        case types.IntType():
            return int, (), False
        case types.FloatType():
            return float, (), False
        case types.ListType(item_type=types.StrType()) | types.VarTupleType(item_type=types.StrType()):
            return list[str], (), False
        case _:
            return str, (), True


def _limit_of(operation: Operation) -> int:
    """How many items one part of a list may have."""
    assert operation.query is not None
    shape = types.type_info(operation.query)
    assert isinstance(shape, types.StructType)
    kind = next((field.type for field in shape.fields if field.name == "limit"), None)
    return kind.le if isinstance(kind, types.IntType) and kind.le is not None else ROWS


def _made(kind: type[Struct] | None, values: Mapping[str, Json]) -> Struct | None:
    """The query or the body out of what was said.

    Raises:
        UsageError: a value does not fit.
    """
    if kind is None:
        return None
    names = kind.__struct_fields__
    try:
        return msgspec.convert({name: values[name] for name in names if values.get(name) is not None}, kind)
    except msgspec.ValidationError as error:
        words, _, place = str(error).partition(" - at `$.")
        where = f"{place.removesuffix('`')}: " if place else ""
        raise UsageError("a value does not fit: {where}{why}", where=where, why=words) from None


def _joined(whole: Any, page: Any) -> Struct:  # noqa: ANN401  # parts of a list of any kind
    """A list and its next part as one list: with the items of both, and whatever else both tell several of."""
    several = [name for name in whole.__struct_fields__ if isinstance(getattr(whole, name), tuple)]
    joined = {name: (*getattr(whole, name), *getattr(page, name)) for name in several}
    found: Struct = replace(whole, **joined, next=page.next)
    return found


def _completing(choices: Sequence[str]) -> Callable[[str], list[str]]:
    def complete(incomplete: str) -> list[str]:
        return [choice for choice in choices if choice.startswith(incomplete)]

    return complete


def _of(thing: object, name: str) -> object:
    return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, tuple | list) and not any(isinstance(each, tuple | list | dict | Struct) for each in value):
        return " ".join(map(_text, value))
    return value if isinstance(value, str) else dumps(msgspec.to_builtins(value))


def _cell(terminal: Terminal, item: object, column: ListColumn) -> str:
    value = _of(item, column.field) or (_of(item, column.other) if column.other else _of(item, column.field))
    text = _text(value) if column.made_of is None else column.made_of(item)
    match column.form:
        case "moment" | "minute":
            form = "%Y-%m-%d %H:%M:%S" if column.form == "moment" else "%Y-%m-%d %H:%M"
            return moments.shown(value, form) if isinstance(value, int | float) and value else ""
        case "title":
            return terminal.title(text)
        case "word":
            return tr(text)
        case _:
            return text or tr(column.empty)
