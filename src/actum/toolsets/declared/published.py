"""The tools that a tenant has published as declarations: listed without their texts, opened when one is called.

A run keeps the publications with which it began. The name alone can be taken out of use: from then on no call of the
tool is made, not even by a run that keeps an older publication.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Final, Protocol

import msgspec
from msgspec import Struct, structs

from ...core.call import ToolCall, ToolResult
from ...core.definition import BadText, TextProblem
from ...core.errors import JournalError, PermissionDenied, Unavailable, UnknownTool, UsageError
from ...core.identity import Identity
from ...core.interfaces import Context, Journal, ReservedTools, Toolset
from ...core.language.sentence import Sentence
from ...core.policy import Facts
from ...core.process.worker_thread import off_loop
from ...core.stored.definitions import (
    TRIED,
    Definitions,
    Publication,
    PublicationInUse,
    as_written,
    draft_tried,
    no_publication,
    reference,
)
from ...core.tool import Tool
from ..wrappers import Wrapper
from .declaration import ToolDeclaration, may_call, read_declaration
from .server import SERVER, SERVER_USES, ServerCard, ServerPlaces, read_server, read_server_card, shown_name

log = logging.getLogger("actum")

KIND: Final = "tool"
USES: Final = f"{KIND}/"
"""`tool/weather_api: 2` in `Started.uses`: the run began with publication 2 of this tool."""
ALL: Final = "*"
"""In the place of a name: all tools in use."""
OPENED_MAX = 200
"""The number of opened publications that are kept."""


class MadeTool(Struct, frozen=True):
    """A tool that was made of a declaration.

    Attributes:
        toolset: has the one tool.
        uses: the publications that the tool stands for beside its own, as in `Started.uses`.
        is_kept: whether the same can be used for every later call of the same publication.
    """

    toolset: Toolset
    uses: Mapping[str, int] = {}
    is_kept: bool = True


class DeclaredPlaces(Protocol):
    """Makes tools of the declarations of one tenant."""

    async def make(self, declaration: ToolDeclaration, began_with: Mapping[str, int] | None = None) -> MadeTool:
        """The tool of a declaration.

        Args:
            declaration: as it was read.
            began_with: as in `Started.uses`, of a run that is to go on; None for a run that begins.

        Raises:
            BadText: the place can not be used as it is declared, or does more than the declaration says.
        """

    async def check(self, declaration: ToolDeclaration, who: Identity) -> tuple[Sentence | str, ...]:
        """Whether the address of the place may be reached, and whether the publisher may use what the place names.

        Returns:
            What the publisher should know, though nothing is wrong.

        Raises:
            BadText: it may not, or they may not.
        """

    def shown(self, tool: Tool) -> Tool:
        """The definition with the operator's word on what the tool does."""

    def means(self, name: str) -> str:
        """What a name means by the settings, such as `an agent`; empty for nothing."""


class ListedTool(Struct, frozen=True):
    """A published tool in a list.

    Attributes:
        publication: which publication is in use.
        tool: its definition.
        stands_for: the workflow that it stands for, as its declaration names it; empty for none.
        server: the published server that it is a tool of; empty for none. Then the publication is that of the server.
        users, roles: for whom it is declared; with neither, it is for everybody.
    """

    publication: PublicationInUse
    tool: Tool
    stands_for: str = ""
    server: str = ""
    users: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()

    @property
    def is_for_some(self) -> bool:
        """Whether the tool exists for some users alone."""
        return bool(self.users or self.roles)

    def is_for(self, principal: str, roles: Collection[str]) -> bool:
        """Whether a user may call the tool."""
        return may_call(self.users, self.roles, principal, roles)


class _Card(Struct):
    """What `about` tells of a tool beside its definition."""

    stands_for: str = ""
    users: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()


class CheckedTool(Struct, frozen=True):
    """A text that can be published.

    Attributes:
        declaration: what the text declares.
        tool: the tool, as lists tell it.
        remarks: as of `ReadDefinition`.
    """

    declaration: ToolDeclaration
    tool: Tool
    remarks: tuple[Sentence | str, ...] = ()

    @property
    def about(self) -> str:
        """What lists are told of the text, for `PublicationInUse.about`."""
        declared = self.declaration
        card = {**msgspec.to_builtins(self.tool), "stands_for": declared.workflow or ""}
        card |= {name: [*value] for name in ("users", "roles") if (value := getattr(declared, name))}
        return msgspec.json.encode(card).decode()


class TenantTools:
    """The published tools of a tenant, and the tools of its published servers.

    Args:
        definitions: keeps the texts.
        places: makes tools of declarations.
        servers: opens servers.
        tenant: whose tools these are.

    Attributes:
        latest: what `listed` gave when it could last be read; None before.
    """

    def __init__(
        self, definitions: Definitions, places: DeclaredPlaces, servers: ServerPlaces, *, tenant: str = ""
    ) -> None:
        self._definitions = definitions
        self._places = places
        self._servers = servers
        self._tenant = tenant
        self.latest: Mapping[str, ListedTool] | None = None
        self._made = -1
        self._listed: Mapping[str, ListedTool] | None = None
        self._in_use: set[tuple[str, str]] = set()
        self._opened: dict[tuple[str, int], MadeTool] = {}  # servers under the key with which they are in `uses`

    async def listed(self) -> Mapping[str, ListedTool]:
        """The tools in use, in the order of their names: the same object as long as nothing is published.

        No text is read. A publication whose card this version of the program can not read is left out.
        """
        await self._look()
        if self._listed is None:
            made, known, found = self._made, self.latest or {}, dict[str, ListedTool]()
            for line in await self._definitions.in_use(KIND, tenant=self._tenant):
                before = known.get(line.name)
                same = before if before is not None and before.publication == line else self._line(line)
                if same is not None:
                    found[line.name] = same
            for line in await self._definitions.in_use(SERVER, tenant=self._tenant):
                found |= {name: each for name, each in self._of_server(line).items() if name not in found}
            self.latest = found = dict(sorted(found.items()))
            if made != self._made:
                return found  # something was published in the meantime
            self._listed = found
        return self._listed

    def means(self, name: str) -> str:
        """What a name means by the settings, such as `an agent`; empty for nothing."""
        return self._places.means(name)

    async def publications_made(self) -> int:
        """How often something was published here, or taken out of use."""
        tools = await self._definitions.publications_made(KIND, tenant=self._tenant)
        return tools + await self._definitions.publications_made(SERVER, tenant=self._tenant)

    async def open(
        self, name: str, number: int | None = None, *, began_with: Mapping[str, int] | None = None
    ) -> MadeTool:
        """A published tool, with its own publication among those that it uses. For a tool of a server, the server with
        all its tools.

        Args:
            name: what it is called.
            number: which publication; None for the one with which the run began, or the one in use.
            began_with: as for `DeclaredPlaces.make`.

        Raises:
            UnknownName: there is no such publication.
            BadText: the publication can not be used now.
        """
        server = await self._server_of(name, began_with)
        if server:
            return await self.open_server(server, number, began_with=began_with)
        number = began_with.get(USES + name) if number is None and began_with is not None else number
        known = self._opened.get((name, number)) if number is not None else None
        if known is not None:
            return known
        publication = await self._definitions.published(KIND, name, number, tenant=self._tenant)
        if publication is None:
            raise no_publication(KIND, name, number)
        text = publication.text
        made = await self._places.make(await off_loop(len(text), read_declaration, text), began_with)
        toolset = _Published(made.toolset, partial(self.is_in_use, name), self._places.shown)
        opened = MadeTool(toolset, {USES + name: publication.number, **made.uses}, made.is_kept)
        return self._kept((name, publication.number), opened)

    async def open_server(
        self, name: str, number: int | None = None, *, began_with: Mapping[str, int] | None = None
    ) -> MadeTool:
        """All tools of a published server, with its publication.

        Args:
            name: what the server is called.
            number, began_with: as for `open`.

        Raises:
            UnknownName: there is no such publication.
            BadText: the publication can not be used now.
        """
        key = SERVER_USES + name
        number = began_with.get(key, number) if began_with is not None else number
        known = self._opened.get((key, number)) if number is not None else None
        if known is not None:
            return known
        publication = await self._definitions.published(SERVER, name, number, tenant=self._tenant)
        if publication is None:
            raise no_publication(SERVER, name, number)
        text = publication.text
        definition = await off_loop(len(text), read_server, text)
        card = read_server_card(publication.about) or await self._servers.look(definition)
        inside = self._servers.open(definition, card)
        toolset = _Published(
            inside,
            partial(self._is_server_in_use, name),
            lambda tool: self._places.shown(shown_name(name, tool)),
        )
        return self._kept((key, publication.number), MadeTool(toolset, {key: publication.number}))

    def _kept(self, key: tuple[str, int], opened: MadeTool) -> MadeTool:
        if opened.is_kept:
            while len(self._opened) >= OPENED_MAX:
                del self._opened[next(iter(self._opened))]
            self._opened[key] = opened
        return opened

    async def _server_of(self, name: str, began_with: Mapping[str, int] | None) -> str:
        """The server that a tool belongs to; empty for a tool that was declared."""
        if began_with is not None:
            if _is_declared(name, began_with):
                return ""
            servers = [key.removeprefix(SERVER_USES) for key in began_with if key.startswith(SERVER_USES)]
            return max((each for each in servers if name.startswith(f"{each}_")), key=len, default="")
        line = (await self.listed()).get(name)
        return line.server if line is not None else ""

    async def draft(self, name: str, text: int, began_with: Mapping[str, int] | None = None) -> MadeTool:
        """The tool of a draft, for a try, with the draft among what the tool uses.

        Args:
            name: what it is called.
            text: the `number_of_text` of the draft.
            began_with: as for `DeclaredPlaces.make`.

        Raises:
            UnknownName: there is no draft.
            UsageError: the draft has another text by now.
            BadText: the draft can not be used.
        """
        draft = await draft_tried(self._definitions, KIND, name, text, tenant=self._tenant)
        made = await self._places.make(await off_loop(len(draft.text), read_declaration, draft.text), began_with)
        return MadeTool(_Labelled(made.toolset, self._places.shown), {TRIED + USES + name: text, **made.uses})

    async def toolset(
        self,
        names: Sequence[str],
        *,
        without: Collection[str] = (),
        began_with: Mapping[str, int] | None = None,
    ) -> MadeTool:
        """Published tools as one toolset. Each is opened when it is called first.

        Args:
            names: their names, `weather@3` for a version and `*` for all. What is not in use is left out.
            without: names that are left out of `*`.
            began_with: as for `DeclaredPlaces.make`: the run has the tools with which it began.

        Raises:
            BadText, UnknownName: a tool with which the run began can not be used now.
        """
        listed, wanted = await self.listed(), dict(reference(each) for each in names if each != ALL)

        def is_wanted(name: str) -> bool:
            return name in wanted or (ALL in names and name not in without)

        tools: dict[str, Tool] = {}
        uses: dict[str, int] = {}
        numbers: dict[str, int] = {}
        reserved: list[ReservedTools] = []
        if began_with is None:
            numbers |= {name: listed[name].publication.number for name in listed if is_wanted(name)}
            numbers |= {name: number for name, number in wanted.items() if number and name in listed}
        else:
            numbers |= _began_with(wanted, began_with, is_wanted)
            for key in (each for each in began_with if each.startswith(SERVER_USES)):
                made = await self.open_server(key.removeprefix(SERVER_USES), began_with=began_with)
                of_server = {tool.name: tool for tool in await made.toolset.list_tools() if is_wanted(tool.name)}
                tools |= of_server
                uses |= made.uses if of_server else {}
        for name, number in sorted(numbers.items()):
            line = listed.get(name)
            if line is not None and line.publication.number == number and not line.stands_for:
                tools[name] = line.tool
                reserved += [_Reserved(line)] if line.is_for_some else []
                own = {SERVER_USES + line.server if line.server else USES + name: number}
                uses |= as_written(own, KIND, name, wanted.get(name))
                continue
            try:
                made = await self.open(name, number, began_with=began_with)
                tools |= {tool.name: tool for tool in await made.toolset.list_tools() if tool.name == name}
                reserved += [made.toolset] if isinstance(made.toolset, ReservedTools) else []
            except UsageError as error:
                if began_with is not None:
                    raise
                log.warning("the published tool %s can not be used now: %s", name, error)
            else:
                uses |= as_written(made.uses, KIND, name, wanted.get(name))
        pinned = {name: number for name, number in wanted.items() if number}
        return MadeTool(PinnedTools(self, tools, uses, pinned, reserved), uses, is_kept=False)

    async def tool(self, publication: Publication) -> Tool:
        """The definition of a publication.

        Raises:
            BadText: the publication can not be used now.
        """
        (tool,) = await (await self.open(publication.name, publication.number)).toolset.list_tools()
        return tool

    async def check_server(self, name: str, text: str, taken: Collection[str]) -> ServerCard:
        """The tools of a server that somebody wants to publish, as they are now.

        Args:
            name: the name.
            text: its definition.
            taken: the names of other tools.

        Raises:
            BadText: something is wrong with the text, the server can not be reached, or the name of a tool is taken.
        """
        definition = await off_loop(len(text), read_server, text)
        card = await self._servers.look(definition)
        own = {each for each, line in (await self.listed()).items() if line.server != name} | {*taken}
        problems = []
        for tool in card.tools:
            try:
                shown = shown_name(name, tool).name
            except UsageError as error:
                problems.append(TextProblem(str(error)[:300], hint="leave it out by only", path="only"))
                continue
            if shown in own:
                told = f"there is another tool {shown!r} here"
                problems.append(TextProblem(told, hint="take another name for the server", path="name"))
        if problems:
            raise BadText(problems)
        return card

    def _of_server(self, line: PublicationInUse) -> dict[str, ListedTool]:
        card = read_server_card(line.about)
        tools = [self._places.shown(shown_name(line.name, tool)) for tool in card.tools] if card is not None else []
        return {
            tool.name: ListedTool(line, structs.replace(tool, from_client=True), server=line.name) for tool in tools
        }

    async def check(self, name: str, text: str, who: Identity) -> CheckedTool:
        """What a text declares that somebody wants to publish under a name.

        Raises:
            BadText: something is wrong with it.
        """
        declaration = await off_loop(len(text), read_declaration, text)
        if declaration.name != name:
            told = f"the definition is called {declaration.name!r}, and not {name!r}"
            raise BadText([TextProblem(told, hint=f"write name: {name}", path="name")])
        if not declaration.place:
            told = "the declaration does not say where the tool runs"
            raise BadText([TextProblem(told, hint="write http: {url: ...}, or another place")])
        try:
            made = await self._places.make(declaration)
            remarks = await self._places.check(declaration, who)
            (tool,) = await made.toolset.list_tools()
        except BadText:
            raise
        except UsageError as error:
            raise BadText([TextProblem(error.sentence, path=declaration.place)]) from None
        return CheckedTool(declaration, tool, remarks)

    def _line(self, line: PublicationInUse) -> ListedTool | None:
        try:
            tool = msgspec.json.decode(line.about, type=Tool)
            card = msgspec.json.decode(line.about, type=_Card)
        except (msgspec.MsgspecError, UsageError):
            return None
        shown = self._places.shown(structs.replace(tool, from_client=True))
        return ListedTool(line, shown, card.stands_for, users=card.users, roles=card.roles)

    async def has(self, name: str, began_with: Mapping[str, int] | None = None) -> bool:
        """Whether a name without a version stands for a published tool, or for a tool of a published server.

        Args:
            name: the name.
            began_with: as for `DeclaredPlaces.make`: whether it did when the run began.
        """
        if began_with is None:
            return name in await self.listed()
        return USES + name in began_with or bool(await self._server_of(name, began_with))

    async def is_in_use(self, name: str) -> bool:
        """Whether a tool of this name is published, and was not taken out of use."""
        return await self._is_kind_in_use(KIND, name)

    async def is_withdrawn(self, name: str, uses: Mapping[str, int]) -> bool:
        """Whether a run calls a published tool, or a tool of a published server, that was taken out of use since.

        Args:
            name: what the run calls.
            uses: as in `Started.uses`.
        """
        if _is_declared(name, uses):
            return not await self.is_in_use(name)
        server = await self._server_of(name, uses)
        return bool(server) and not await self._is_server_in_use(server)

    async def _is_server_in_use(self, name: str) -> bool:
        return await self._is_kind_in_use(SERVER, name)

    async def _is_kind_in_use(self, kind: str, name: str) -> bool:
        await self._look()
        if (kind, name) not in self._in_use:
            made = self._made
            if await self._definitions.published(kind, name, tenant=self._tenant) is None:
                return False
            if made != self._made:
                return True
            self._in_use.add((kind, name))
        return True

    async def _look(self) -> None:
        """Forget what was known of the publications in use where something was published since."""
        made = await self.publications_made()
        if made != self._made:
            self._made, self._listed = made, None
            self._in_use.clear()


def _began_with(
    wanted: Mapping[str, int | None], began_with: Mapping[str, int], is_wanted: Callable[[str], bool]
) -> dict[str, int]:
    """The publications of an agent's own tools with which a run began, without those of the agents below it."""
    found: dict[str, int] = {}
    for key, number in began_with.items():
        name, _, pinned = key.removeprefix(USES).partition("@") if key.startswith(USES) else ("", "", "")
        if name and is_wanted(name) and (not pinned or wanted.get(name) == number):
            found[name] = number if pinned or name not in found else found[name]
    return found


def _is_declared(name: str, uses: Mapping[str, int]) -> bool:
    """Whether a run uses a tool of this name that was declared, and that is no tool of a server."""
    return USES + name in uses or any(key.startswith(f"{USES}{name}@") for key in uses)


class _Reserved:
    """A published tool that exists for some users alone.

    Args:
        line: the tool, as it is listed.
    """

    def __init__(self, line: ListedTool) -> None:
        self._line = line

    async def hidden_from(self, journal: Journal, facts: Facts) -> frozenset[str]:
        """The name of the tool, for others; see `ReservedTools`."""
        is_for = self._line.is_for(facts.principal, facts.roles)
        return frozenset() if is_for else frozenset({self._line.publication.name})


class PinnedTools:
    """Some of the published tools of a tenant, as a run has them.

    Args:
        own: opens them.
        tools: their definitions, by name.
        uses: their publications, as in `Started.uses`.
        pinned: the versions that are named, by the names of the tools.
        reserved: those that exist for some users alone.
    """

    generation = 0

    def __init__(
        self,
        own: TenantTools,
        tools: Mapping[str, Tool],
        uses: Mapping[str, int],
        pinned: Mapping[str, int],
        reserved: Sequence[ReservedTools],
    ) -> None:
        self._own = own
        self._tools = tools
        self._uses = uses
        self._pinned = pinned
        self._reserved = reserved

    async def hidden_from(self, journal: Journal, facts: Facts) -> frozenset[str]:
        """What the tools say; see `ReservedTools`."""
        return frozenset[str]().union(*[await each.hidden_from(journal, facts) for each in self._reserved])

    async def list_tools(self) -> Sequence[Tool]:
        """The definitions of the tools."""
        return tuple(self._tools.values())

    async def execute(self, call: ToolCall, context: Context) -> ToolResult:
        """Make a call of one of the tools.

        Raises:
            UnknownTool: there is no such tool.
            Unavailable: the tool can not be opened now.
        """
        if call.name not in self._tools:
            raise UnknownTool("There is no tool {call!r}.", call=call.name)
        try:
            made = await self._own.open(call.name, self._pinned.get(call.name), began_with=self._uses)
        except (UsageError, JournalError):
            raise Unavailable("The tool {call!r} can not be used now. Nothing was done.", call=call.name) from None
        return await made.toolset.execute(call, context)


class _Labelled(Wrapper):
    """The tool of a declaration, with the operator's word on what it does."""

    def __init__(self, toolset: Toolset, label: Callable[[Tool], Tool]) -> None:
        self._label = label
        super().__init__(toolset)

    def shown(self, tool: Tool) -> Tool:
        return self._label(structs.replace(tool, from_client=True))


class _Published(_Labelled):
    """A published tool. No call of the tool is made once its name was taken out of use."""

    def __init__(
        self,
        toolset: Toolset,
        is_in_use: Callable[[], Awaitable[bool]],
        label: Callable[[Tool], Tool],
    ) -> None:
        self._is_in_use = is_in_use
        super().__init__(toolset, label)

    async def execute(self, call: ToolCall, context: Context) -> ToolResult:
        """Make the call.

        Raises:
            PermissionDenied: the tool was taken out of use.
            Unavailable: nobody can tell whether it was.
        """
        try:
            is_in_use = await self._is_in_use()
        except JournalError:
            raise Unavailable("Nobody can tell now whether the tool is in use. Nothing was done.") from None
        if not is_in_use:
            raise PermissionDenied("The tool {call!r} was taken out of use. Nothing was done.", call=call.name)
        return await super().execute(call, context)
