"""The commands of definitions of one kind: `actum workflow publish`, `rollback`, `unpublish`, `versions`, `list`,
`show` and `diff`. Most are made from operations; those that take files are written here, once for all kinds.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec
import typer

from ...compose.administration import open_application
from ...compose.settings import Settings
from ...core.definition import BadText, DefinitionChange, TextProblem
from ...core.errors import DamagedDefinition, UsageError
from ...core.json import Json, JsonObject, dumps
from ...core.language.sentence import Sentence
from ...core.process.named_file import read_named
from ...core.stored.definitions import (
    DefinitionDraft,
    Definitions,
    ListedDefinition,
    Publication,
    StaleDraft,
    is_unpublished,
    no_draft,
    no_publication,
    reference,
)
from ...features.definition import DefinitionKind
from ...features.operation import Application, Operation
from ...server.api.api import Api
from ...server.api.applying import name_of
from ...server.api.definitions.bodies import DefinitionChecked, DefinitionPublished, DraftText
from ...server.api.definitions.operations import named_text, published_text
from ...server.api.definitions.references import used_by
from .. import loading, options
from ..exit_codes import DONE, FAILED
from ..language import language, tr
from ..operated import Operated, add_commands, say
from ..options import JournalFlag, JsonFlag, McpFlag, ToolsFlag
from ..show import moments
from ..show.terminal import Terminal, said, shorten

TenantNameFlag = Annotated[
    str, typer.Option("--tenant", metavar="NAME", help="The tenant that is meant. Default: none.")
]

_DRAFT = "@draft"
_SHOWN = 120
_SIGNS = {"added": "+", "removed": "-", "changed": "~"}


def is_name(source: str) -> bool:
    """Whether an argument is the name of a definition, and not a file: a name has no dot and no slash."""
    return not any(sign in source for sign in "./\\")


async def found_in(source: str, kind: str, definitions: Definitions, tenant: str) -> DefinitionDraft | Publication:
    """What is under a name, or under one of its numbers; `name@draft` is the draft.

    Raises:
        UnknownName: there is nothing under this name.
    """
    if source.endswith(_DRAFT):
        name = source.removesuffix(_DRAFT)
        draft = await definitions.draft(kind, name, tenant=tenant)
        if draft is None:
            raise no_draft(kind, name)
        return draft
    name, number = reference(source)
    publication = await definitions.published(kind, name, number, tenant=tenant)
    if publication is None:
        raise no_publication(kind, name, number)
    return publication


FilesOfSettings = Callable[[Settings], Mapping[str, str]]
"""The files of the definitions that stand in the settings, each by its name."""


def no_files(settings: Settings) -> Mapping[str, str]:
    """The files of a kind that the settings do not know."""
    return {}


def add_definition_commands(
    app: typer.Typer,
    kind: DefinitionKind,
    operations: Sequence[Operation],
    files_of: FilesOfSettings = no_files,
) -> None:
    """Add the commands of a kind of definitions.

    Args:
        app: the group.
        kind: the kind.
        operations: those of the kind.
        files_of: the definitions of this kind that stand in the settings; `list`, `show` and `diff` know them, too.
    """
    commands = _DefinitionCommands(kind, files_of)
    app.command("publish")(commands.publish())
    commands.operated = add_commands(app, operations)
    if kind.is_listed:
        app.command("list")(commands.list())
        app.command("show")(commands.show())
    app.command("diff")(commands.diff())


class _Own(NamedTuple):
    """A definition of the settings in a list.

    Attributes:
        name: what it is called.
        file: where its text is.
        problem: why it can not be used; None where it can be.
    """

    name: str
    file: str
    problem: UsageError | None

    def told(self) -> JsonObject:
        """The definition as an item of a list in JSON."""
        problem: JsonObject = {"problem": str(self.problem)} if self.problem is not None else {}
        return {"name": self.name, "published": 0, "file": self.file, **problem}


class _DefinitionCommands:
    """The commands of one kind that take files, or look at the definitions as they are."""

    def __init__(self, kind: DefinitionKind, files_of: FilesOfSettings) -> None:
        self._kind = kind
        self._files_of = files_of
        self.operated = Operated(())

    def publish(self) -> Callable[..., int]:
        """`publish FILE|NAME`."""

        def publish(
            source: Annotated[
                str, typer.Argument(metavar="FILE|NAME", help="A file to publish, or the name of a draft to publish.")
            ],
            revision: Annotated[
                int | None,
                typer.Option("--revision", metavar="NUMBER", help="Publish only if the draft still has this revision."),
            ] = None,
            tools: ToolsFlag = None,
            mcp: McpFlag = None,
            tenant: TenantNameFlag = "",
            as_json: JsonFlag = False,
            journal: JournalFlag = "",
        ) -> int:
            settings = options.read(tools=tools, mcp=mcp, journal=journal)
            return asyncio.run(self._publish(settings, source, revision, said(tenant), as_json=as_json))

        kind = self._kind
        publish.__doc__ = (
            f"Publish {kind.a_name} under the next number. {kind.a_name.capitalize()} with a mistake is not published."
            + (f"\n\nFor instance: actum {kind.words} publish {kind.example}" if kind.example else "")
        )
        if not kind.uses_tools:
            shape = inspect.signature(publish, eval_str=True)
            kept = [each for each in shape.parameters.values() if each.name not in ("tools", "mcp")]
            publish.__signature__ = shape.replace(parameters=kept)  # type: ignore[attr-defined]
        return publish

    async def _publish(
        self, settings: Settings, source: str, revision: int | None, tenant: str, *, as_json: bool
    ) -> int:
        terminal, kind = Terminal(), self._kind
        async with application_of(kind, settings, terminal) as app:
            name, known, file = source, revision, ""
            if not is_name(source):
                file = source[-1_000:]
                name, known = await self._save_file(app, source, revision, tenant, terminal)
            operation = f"publish{kind.title}"
            made = await self.operated.ask(app, operation, {"name": name}, {"revision": known, "source": file}, tenant)
            assert isinstance(made, DefinitionPublished)
            published = await app.journal.definitions.published(kind.name, name, made.number, tenant=tenant)
        if as_json:
            terminal.json(made)
            return DONE
        say(terminal, kind.remarks(published.text) if published is not None else ())
        say(terminal, published_text(made, {}))
        return DONE

    async def _save_file(
        self, app: Application, file: str, revision: int | None, tenant: str, terminal: Terminal
    ) -> tuple[str, int]:
        """Save a file as the draft of what the file defines.

        Returns:
            The name of it, and the revision of the draft.

        Raises:
            BadText: something is wrong with the text.
            StaleDraft: the draft has another revision than the one that was given.
            UsageError: the draft has changes that nobody has published, and no revision was given.
        """
        kind, definitions = self._kind, app.journal.definitions
        text = text_in(file, kind.name)
        name, text = named_text(kind, text, name_of(file, kind.name))
        names: dict[str, str] = {"name": name}
        checked = await self.operated.ask(app, f"check{kind.title}", names, {"text": text}, tenant, language=language())
        assert isinstance(checked, DefinitionChecked)
        if checked.problems:
            raise BadText(
                [TextProblem(each.message, each.line, each.column, each.hint, each.place) for each in checked.problems]
            )
        draft, damaged = None, 0
        try:
            draft = await definitions.draft(kind.name, name, tenant=tenant)
        except DamagedDefinition:  # the file takes its place
            lines = await definitions.names(kind.name, tenant=tenant)
            damaged = next((line.revision for line in lines if line.name == name), 0)
        is_given = draft is None or revision is not None or draft.text == text
        if draft is not None and not is_given and await is_unpublished(definitions, draft, tenant=tenant):
            raise UsageError(
                "the draft of {name} has changes that nobody has published: look at them with "
                "`actum {group} show {draft}@draft`, and replace them with --revision {revision}",
                name=name,
                group=kind.words,
                draft=name,
                revision=draft.revision,
            )
        known = revision if revision is not None else draft.revision if draft is not None else damaged
        given: dict[str, Json] = {"text": text, "revision": known}
        try:
            saved = await self.operated.ask(app, f"save{kind.title}Draft", names, given, tenant)
        except StaleDraft as stale:
            if stale.current is not None:
                terminal.note(tr("What your file changes in the draft of {name}:", name=name))
                _tell_changes(terminal, kind.difference(stale.current.text, text))
            raise
        assert isinstance(saved, DraftText)
        return name, saved.revision

    def list(self) -> Callable[..., int]:
        """`list`."""
        kind = self._kind

        def list_names(tenant: TenantNameFlag = "", as_json: JsonFlag = False, journal: JournalFlag = "") -> int:
            settings, terminal = options.read(journal=journal), Terminal()

            async def command() -> list[ListedDefinition]:
                async with options.journal(settings) as opened:
                    return await opened.definitions.names(kind.name, tenant=said(tenant))

            files = sorted(self._files_of(settings).items())
            own = [_Own(name, file, self._problem_in(file)) for name, file in files]
            found = asyncio.run(command()) if not own or options.has_journal(settings) else []
            if as_json:
                terminal.json([*map(_Own.told, own), *msgspec.to_builtins(found)])
            elif not own and not found:
                terminal.note(tr(kind.empty))
            else:
                rows = [(each.name, tr("settings"), "", "", "") for each in own]
                rows += [
                    (
                        each.name,
                        f"{each.name}@{each.published}" if each.published else "",
                        str(each.revision) if each.changed else "",
                        moments.shown(each.at),
                        each.by,
                    )
                    for each in found
                ]
                terminal.table("name", "from", "changed draft", "saved", "user", rows=rows)
                for each in own:
                    if each.problem is not None:
                        terminal.error(
                            "{name} of the settings can not be used: {why}", name=each.name, why=each.problem
                        )
            return FAILED if any(each.problem is not None for each in own) else DONE

        list_names.__doc__ = (
            f"List the {kind.plural} that have a draft or are published."
            if self._files_of is no_files
            else f"List the {kind.plural} of the settings, and those that have a draft or are published. Exit code 1 "
            "when one of the settings can not be used."
        )
        return list_names

    def _problem_in(self, file: str) -> UsageError | None:
        """Why the file of a definition can not be used; None where it can be."""
        try:
            text = text_in(file, self._kind.name)
            if self._kind.read is not None:
                self._kind.read(text)
        except UsageError as error:
            return error
        return None

    def show(self) -> Callable[..., None]:
        """`show NAME[@N]`."""
        kind = self._kind

        def show(
            source: Annotated[
                str,
                typer.Argument(
                    metavar="NAME[@N]", help="What is published under a name, or its number N; NAME@draft: the draft."
                ),
            ],
            tenant: TenantNameFlag = "",
            as_json: JsonFlag = False,
            journal: JournalFlag = "",
        ) -> None:
            settings, terminal = options.read(journal=journal), Terminal()
            file = self._files_of(settings).get(said(source))
            if file is not None:
                text = text_in(file, kind.name)
                if as_json:
                    terminal.json({"kind": kind.name, "name": source, "file": file, "text": text})
                    return
                terminal.note("{name} is of the settings, from the file {file}.", name=source, file=file)
                terminal.text(text.rstrip("\n"))
                return

            async def command() -> DefinitionDraft | Publication:
                async with options.journal(settings) as opened:
                    return await found_in(source, kind.name, opened.definitions, said(tenant))

            found = asyncio.run(command())
            if as_json:
                terminal.json(msgspec.to_builtins(found))
            else:
                terminal.text(found.text.rstrip("\n"))

        show.__doc__ = f"Show the text of a published {kind.name}, or of its draft" + (
            "." if self._files_of is no_files else f"; or of {kind.a_name} of the settings."
        )
        return show

    def diff(self) -> Callable[..., None]:
        """`diff OLD [NEW]`."""
        kind = self._kind

        def diff(
            old: Annotated[
                str,
                typer.Argument(
                    metavar="FILE|NAME[@N]", help="A file; or what is published under a name, or under its number N."
                ),
            ],
            new: Annotated[
                str,
                typer.Argument(
                    metavar="[FILE|NAME[@N]]",
                    help="The other one, likewise; NAME@draft is a draft. Default: the draft.",
                ),
            ] = "",
            number: Annotated[
                str, typer.Argument(metavar="[N]", help="NAME N N compares two numbers of one name, as in price 1 2.")
            ] = "",
            tenant: TenantNameFlag = "",
            as_json: JsonFlag = False,
            journal: JournalFlag = "",
        ) -> None:
            settings, terminal = options.read(journal=journal), Terminal()
            old, other = _compared(old, new, number)

            files = self._files_of(settings)

            async def text_at(source: str) -> str:
                if not is_name(source) or source in files:
                    return text_in(files.get(source, source), kind.name)
                async with options.journal(settings) as opened:
                    return (await found_in(source, kind.name, opened.definitions, said(tenant))).text

            async def users() -> list[str]:
                if not is_name(old):
                    return []
                async with options.journal(settings) as opened:
                    return await used_by(opened.definitions, kind.name, reference(old)[0], tenant=said(tenant))

            async def command() -> tuple[Sequence[DefinitionChange], list[str]]:
                before, after = await text_at(old), await text_at(other)
                found = [*kind.difference(before, after)]
                if found and kind.weighed is not None:
                    async with options.journal(settings) as opened:
                        found += await kind.weighed(opened, said(tenant), before, after)
                return found, await users()

            changes, others = asyncio.run(command())
            if as_json:
                terminal.json(msgspec.to_builtins(changes))
            elif not changes:
                terminal.note(tr("There is no difference."))
            else:
                _tell_changes(terminal, changes)
                if others:
                    terminal.note("Used by {others}.", others=", ".join(others))

        diff.__doc__ = f"Show what differs between two versions of {kind.a_name}{kind.differs_in}."
        return diff


def _compared(old: str, new: str, number: str) -> tuple[str, str]:
    """The two sources that `diff OLD [NEW] [N]` compares.

    Raises:
        UsageError: the arguments are no two sources.
    """
    if number:
        if not (is_name(old) and new.isdecimal() and number.isdecimal()):
            raise UsageError("two things are compared: write NAME N N, or NAME@N NAME@N")
        return f"{old}@{new}", f"{old}@{number}"
    if not new and not is_name(old):
        raise UsageError("give a second file or name to compare with")
    return old, new or reference(old)[0] + _DRAFT


def text_in(path: str, kind: str) -> str:
    """The text in a file, without the mark that some editors write in front of it.

    Raises:
        UsageError: the file can not be read, or is not UTF-8.
    """
    try:
        return bytes_in(path, kind).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError("{path} is not UTF-8, at byte {at}: save it as UTF-8", path=path, at=error.start) from None


def bytes_in(path: str, kind: str) -> bytes:
    """What is in a file.

    Raises:
        UsageError: the file can not be read.
    """
    try:
        return read_named(Path(path).expanduser())
    except OSError as error:
        raise UsageError(
            "the {kind} {path} can not be read: {why}", kind=Sentence(kind), path=path, why=error.strerror
        ) from None


@asynccontextmanager
async def application_of(kind: DefinitionKind, settings: Settings, terminal: Terminal) -> AsyncIterator[Api]:
    """What the operations of a kind work with: with the tools of the settings, where the kind uses tools."""
    if not kind.uses_tools:
        async with open_application(settings) as app:
            yield app
        return
    async with loading.tools(settings, terminal) as loaded, open_application(settings, loaded.tools) as app:
        yield app


def _tell_changes(terminal: Terminal, changes: Sequence[DefinitionChange]) -> None:
    for change in changes:
        line = f"{_SIGNS[change.kind]} {tr(change.what)} {change.place}"
        if change.what not in ("node", "edge"):
            line += f": {_short(change.old)} → {_short(change.new)}"
        terminal.text(line)
        if change.what == "decision":
            terminal.note("  run {run}", run=change.node)
        if change.breaks:
            terminal.note("  breaks callers: {detail}", detail=Sentence(change.breaks))


def _short(value: Json) -> str:
    return shorten(dumps(value), _SHOWN, 1)
