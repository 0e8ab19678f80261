"""The tools of one MCP server: `tools=[McpToolset(McpServer(name="files", command="..."))]`.

What is known of a server is served at once: what it listed last, or the definitions that a person approved. It is
started when a call needs it, or where nothing is known of it; then a run waits for its first list for some seconds, and
takes its tools in later if that was not enough. It ends with the event loop at the latest.

Its definitions are a stranger's: each is pinned when it is approved, and one that is new or changed is kept back until
a person has looked at it. They are listed anew on every session, when the server says that they changed, and when what
it told is too old; a call is held back if its tool is not what it was.

It serves one event loop at a time: in another one it starts the server anew.

How the server is reached is the affair of `mcp.connection`, what may be used of `mcp.listing`, what it may ask of
`mcp.caller`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal, Self

import msgspec

from ...core.call import TextPart, ToolCall, ToolResult
from ...core.clock import SystemClock
from ...core.errors import (
    ActumError,
    CallError,
    CallTimeout,
    InvalidResult,
    PermissionDenied,
    ToolError,
    Unavailable,
    UnknownName,
    UnknownTool,
    UsageError,
)
from ...core.holder import Holder
from ...core.interfaces import Clock, Context
from ...core.json import JsonObject, size_of_json
from ...core.message import Message
from ...core.process.worker_thread import WALKED, off_loop, walk
from ...core.tool import Tool
from ...protocols.mcp.config import McpServer
from ...protocols.mcp.content import (
    Part,
    contents_of,
    messages_of,
)
from ...protocols.mcp.name import public_name
from ...protocols.mcp.offer import (
    PromptOffer,
    ResourceOffer,
    prompts_of,
    resources_of,
    values_of,
)
from ...protocols.mcp.pin import digest
from ...protocols.mcp.tasks import only_as_task
from ...sandbox.process import AROUND_PROXY
from ...storage.pins import Known, PinStore
from ...transport.guard import Guard, is_here
from .answer import told_by_server
from .caller import (
    OFFERS,
    ContextCaller,
    Offer,
    RunCaller,
    capabilities_of,
)
from .connection import Health, McpConnection
from .error import HEADER_MISMATCH, METHOD_NOT_FOUND, Lost, McpError
from .listing import (
    Fault,
    Listing,
    Quarantined,
    Usable,
    sort_out,
)
from .pages import Listed, all_pages
from .resources import ResourceTools
from .session import (
    NOBODY,
    Caller,
    McpSession,
    OfRun,
    ServerFacts,
)
from .session_quota import SessionQuota

if TYPE_CHECKING:
    import httpx2

log = logging.getLogger("actum.mcp")

Approve = Literal["first", "all", "pinned"]
LISTED_S = (1.0, 3600.0)
"""For how many seconds a list is taken to hold at least and at most, whatever the server says."""
LISTED_S_USUAL = 300.0
"""And where it says nothing."""
RETRY_S = 10.0
"""Seconds until a list that could not be had is asked for again."""
TRIES_MAX = 3
WAIT_S = 5.0
"""Seconds for which a run waits for a server when nothing is known of it yet."""
STARTED_ANEW = "The server {name} was started anew; its state is gone."


class McpToolset:
    """The tools of one server.

    Args:
        server: as it is configured.
        pins: the approvals on disk; where this is given, the server and each of its tools must have been approved
            there.
        approve: `first` takes the tools as they are when they are first seen and keeps back what changes after that,
            `all` takes whatever comes, `pinned` what was approved. `pinned` with `pins`, else `first`.
        offers: what the server may ask of a run.
        capabilities: the capabilities of a session that is begun before its caller is known; those of `offers` when
            left out.
        changed: hears of notifications that belong to no request: a list or a resource that changed.
        logged: hears what the server logs while no call is under way: the notification's params, and the holder of the
            session, where it has one.
        met: hears what the server says of itself, whenever a session was begun and the tools were listed.
        auth: logs in at a remote server.
        secrets: the secrets that its configuration names.
        guard: decides where requests may go; one that lets a person's own server through, by default.
        clock: time.
        wait_s: seconds for which a run waits for the server when nothing is known of it yet.
        quota: bounds how many sessions there are, where several toolsets of one server share the bound.

    Attributes:
        server: as it is configured.

    Raises:
        UsageError: `pinned`, and no pins.
    """

    def __init__(
        self,
        server: McpServer,
        *,
        pins: PinStore | None = None,
        approve: Approve | None = None,
        offers: Collection[Offer] = OFFERS,
        capabilities: JsonObject | None = None,
        changed: Callable[[str, JsonObject], None] | None = None,
        logged: Callable[[JsonObject, Holder | None], None] | None = None,
        met: Callable[[ServerFacts], None] | None = None,
        auth: httpx2.Auth | None = None,
        secrets: Mapping[str, str] | None = None,
        guard: Guard | None = None,
        clock: Clock | None = None,
        wait_s: float = WAIT_S,
        quota: SessionQuota | None = None,
    ) -> None:
        self.server = server
        self._approve: Approve = approve or ("pinned" if pins is not None else "first")
        if self._approve == "pinned" and pins is None:
            raise UsageError("MCP server {server!r}: approve='pinned' needs pins=PinStore(...)", server=server.name)
        self._pins = pins
        offered = capabilities_of([*offers, "roots"] if server.roots else offers)
        self._capabilities = offered if capabilities is None else capabilities
        self._changed = changed
        self._logged = logged
        self._met = met
        self._auth = auth
        self._secrets = secrets
        self._guard = guard
        self._clock: Clock = clock or SystemClock()
        self._connection: McpConnection | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = asyncio.Lock()
        self._quota = quota
        self._wait_s = self._patience_s = wait_s
        self._looking: asyncio.Task[None] | None = None
        self._failure: ActumError | None = None
        self._seen: dict[str, tuple[JsonObject, ...]] | None = None
        self._readers: frozenset[str] = frozenset()
        self._definitions: Sequence[JsonObject] = ()
        self._listing: Listing | None = None
        self._tools: tuple[Tool, ...] = ()
        self._resources: ResourceTools | None = None
        self._generation = 0
        self._offered: JsonObject = {}
        self._faults: dict[str, str] = {}
        self._is_met = False
        self._is_listed = False
        self._is_stale = False
        self._is_noticed = False
        self._holds_until = 0.0
        self._retry_at = 0.0
        self._stamp: tuple[int, ...] = ()

    # Tools ------------------------------------------------------------------------------------------------------------

    @property
    def generation(self) -> int:
        """Changes when the tools do, and when they have to be listed anew."""
        if not self._is_noticed and self._clock.now() >= self._retry_at and self._wants_a_look():
            self._is_noticed = True
            self._generation += 1
        return self._generation

    def _wants_a_look(self) -> bool:
        """A list of the tools now may tell something else than the last."""
        if self.is_looking:
            return False
        if self._listing is None:
            return self._failure is not None
        return self._has_new_approvals() or (self.is_up and self.is_due)

    @property
    def is_up(self) -> bool:
        """There is a session with the server."""
        return self._connection is not None and self._connection.is_up

    @property
    def failure(self) -> ActumError | None:
        """Why the server could not be looked at; None where nobody tried, or where it could be since."""
        return self._failure

    @property
    def problem(self) -> str:
        """What is the matter, in a sentence for people; empty where nothing is known to be."""
        if self._failure is not None:
            return str(self._failure)
        if self._listing is None and self._looking is not None:
            return "It has not told its tools yet; its tools are taken in when it has."
        if self._faults:
            return " ".join(self._faults.values())
        return self.health.problem if self.health.state == "resting" else ""

    async def list_tools(self) -> Sequence[Tool]:
        """The tools that may be used now, as far as is known. Only where nothing is known is the server waited for, and
        no longer than `wait_s`.

        Raises:
            CallError: nothing is known, and the server can not be reached or is not approved.
        """
        if self.server.disabled:
            return ()
        self.check_approved()
        if self._knows() and not (self.is_up and self.is_due):
            self._is_noticed = False
            return self._tools
        self.introduce()
        await self._wait_for_the_look()
        if self._listing is None and self._failure is not None:
            raise self._failure
        return self._tools

    @property
    def known_tools(self) -> tuple[Usable, ...]:
        """The tools that may be used as far as is known now, in the server's order; nothing is asked for that."""
        if not self.server.disabled and (self._approve != "pinned" or self._known().approved):
            self._knows()
        return tuple(self._listing.usable.values()) if self._listing is not None else ()

    @property
    def ambiguous(self) -> frozenset[str]:
        """The server's names of tools that have several approved definitions, as long as the server has not told which
        of them is meant: a server may describe a tool differently to different users.
        """
        if self._is_listed or self._approve != "pinned":
            return frozenset()
        return frozenset(name for name, approved in self._known().tools.items() if len(approved) > 1)

    @property
    def offers(self) -> Sequence[str] | None:
        """The names of the capabilities that the server was last known to have; None where it was never reached."""
        return tuple(self._offered) if self._is_listed else self._known().offers

    def introduce(self) -> None:
        """Begin to look at the server in the background, unless that is under way, or failed a moment ago."""
        _ = self.connection  # forgets what an earlier event loop began
        if self._looking is not None and (not self._looking.done() or self._clock.now() < self._retry_at):
            return
        self._looking = asyncio.create_task(self._look_once(), name=f"mcp {self.server.name} introduces itself")

    @property
    def is_looking(self) -> bool:
        """What `introduce` began is under way."""
        return self._looking is not None and not self._looking.done()

    async def looked(self) -> None:
        """Wait until what `introduce` began is over, whether it found the server or failed."""
        if self._looking is not None:
            await asyncio.wait([self._looking])

    async def _look_once(self) -> None:
        try:
            await self._look()
        except Exception as bug:  # those who wait for the tools hear of it
            log.debug("MCP server %s", self.server.name, exc_info=bug)
            unknown = f"The MCP server {self.server.name!r} can not be looked at: {type(bug).__name__}."
            self._failure = error = bug if isinstance(bug, ActumError) else Unavailable(unknown)
            pause = self._connection.rests_s if self._connection is not None else 0.0
            self._retry_at = self._clock.now() + max(RETRY_S, pause)
            if self._listing is None and self._connection is not None:  # it was not closed meanwhile
                log.warning("MCP server %s: %s", self.server.name, error)
        finally:
            self._is_noticed = False

    async def _wait_for_the_look(self) -> None:
        """Wait until the server was looked at, for as long as there is patience: a server that used it all up is not
        waited for again before it has told its tools.
        """
        if not self.is_looking or self._patience_s <= 0:
            return
        limit = self._clock.timeout(self._patience_s)
        try:
            async with limit:
                await self.looked()
        except TimeoutError:
            if not limit.expired():
                raise
            self._patience_s = 0.0
            log.warning("MCP server %s: %s", self.server.name, self.problem or "It is waited for no longer.")

    async def usable(self) -> Mapping[str, Usable]:
        """The server's own tools that may be used now, by their names here."""
        await self._look()
        return self._listing.usable if self._listing is not None else {}

    async def execute(self, call: ToolCall, context: Context, caller: RunCaller | None = None) -> ToolResult:
        """Make a call of a tool that is what it was when it was approved.

        Args:
            call: the call.
            context: of the call.
            caller: answers what the server asks, and passes on the words of both; the run of the context when it is
                left out.

        Raises:
            PermissionDenied: it is not.
            CallError: the server can not be reached, refuses, or says that it failed.
            InputRequired: it asks what nobody can answer now.
        """
        context.conceal(*self.concealed)
        outside: dict[str, None] = {}
        self.connection.outside.went_around_proxy()  # what was before this call is not laid to it
        try:
            with self.connection.outside.during() as outside:
                return await self._execute(call, caller or self._caller(context))
        except ToolError as error:
            if self.connection.outside.went_around_proxy():
                error.message = f"{error.message}\n{AROUND_PROXY}"
            raise
        finally:
            context.opened_outside |= outside
            context.conceal(*self.concealed)  # a login may have been renewed meanwhile

    @property
    def concealed(self) -> Sequence[str]:
        """What a server may echo, and nobody else is to read: tokens, and what its configuration fills in."""
        granted: Sequence[str] = getattr(self._auth, "secrets", ())
        return [*granted, *(self._secrets or {}).values()]

    async def _execute(self, call: ToolCall, caller: RunCaller) -> ToolResult:
        words = STARTED_ANEW.format(name=self.server.name)
        try:
            result = await self._made(call, caller)
        except CallError as error:
            if caller.anew:
                error.message = f"{words} {error.message}"
            raise
        if not caller.anew:
            return result
        return msgspec.structs.replace(result, content=(TextPart(words), *(result.content or (TextPart(result.text),))))

    async def _made(self, call: ToolCall, caller: RunCaller) -> ToolResult:
        """Make a call by a session of its holder."""
        await self._look(caller=caller)
        paused = await caller.resume()
        if self._resources is not None and self._resources.has(call.name):

            async def read(uri: str) -> JsonObject:
                return await self.request("resources/read", {"uri": uri}, caller, paused=paused)

            async def listed() -> list[ResourceOffer]:
                return await self._resources_of(caller)

            return await self._resources.execute(call, listed, read)
        for tried in range(TRIES_MAX):
            if tried:
                await self._look(caller=caller)
            usable = self._usable(call.name)
            try:
                raw = await self._called(usable, call, caller, paused)
            except _Outdated:
                continue
            except McpError as error:
                if error.rpc_code != HEADER_MISMATCH or tried:
                    raise
                self._is_stale = True
                continue
            reads_only = usable.tool.reads_only
            return await off_loop(WALKED * size_of_json(raw), told_by_server, call.id, raw, reads_only=reads_only)
        raise Unavailable("The tools of {server} change all the time; the call was not made.", server=self.server.name)

    def _caller(self, context: Context) -> ContextCaller:
        """Answers what the server asks during this call."""
        return ContextCaller(
            context,
            server=self.server.name,
            capabilities=self._capabilities,
            roots=self.server.roots,
            local=not self.server.url or is_here(self.server.url),
            ours=self._listing.usable if self._listing is not None else (),
        )

    async def _called(self, usable: Usable, call: ToolCall, caller: RunCaller, paused: JsonObject | None) -> JsonObject:
        pinned = digest(usable.definition)

        def ready() -> None:
            if self._is_stale or digest(self._usable(call.name).definition) != pinned:
                raise _Outdated

        params: JsonObject = {"name": usable.name, "arguments": call.arguments}
        if only_as_task(usable.definition, self._offered):
            params["task"] = {}
        schema = usable.tool.parameters
        return await self.request("tools/call", params, caller, paused=paused, header_schema=schema, ready=ready)

    async def request(
        self,
        method: str,
        params: JsonObject,
        caller: RunCaller,
        *,
        paused: JsonObject | None = None,
        header_schema: JsonObject | None = None,
        ready: Callable[[], None] | None = None,
    ) -> JsonObject:
        """Send a request of a call, or go on with one that paused, and return the server's raw result.

        Args:
            method, params: of the request.
            caller: whose call it is.
            paused: the server's result after which it paused, out of `RunCaller.resume`.
            header_schema, ready: as for `McpConnection.request`.

        Raises:
            CallError: the server refuses, or can not be reached.
            InputRequired: it asks what nobody can answer now.
        """

        async def send(params: JsonObject, *, settles: bool = True) -> JsonObject:
            return await self.connection.request(
                method,
                params,
                caller=caller,
                holder=caller.holder,
                header_schema=header_schema,
                paused=paused,
                ready=ready,
                settles=settles,
            )

        return await caller.carry(method, params, send)

    def _usable(self, name: str) -> Usable:
        """The tool of this name.

        Raises:
            PermissionDenied: it waits for a person.
            UnknownTool: there is none.
        """
        usable = self._listing.usable.get(name) if self._listing is not None else None
        if usable is not None:
            return usable
        held = next((each for each in self.quarantined if public_name(self.server.name, each.name) == name), None)
        if held is None:
            raise UnknownTool("{name} is not there any more.", name=name)
        raise PermissionDenied(
            "The call was not made: {name} waits for a person to look at it. {why}", name=name, why=_WHY[held.fault]
        )

    # What is approved -------------------------------------------------------------------------------------------------

    @property
    def faults(self) -> Sequence[str]:
        """Why lists of the server are not whole, in its own words; a sentence for each list."""
        return tuple(self._faults.values())

    @property
    def quarantined(self) -> Sequence[Quarantined]:
        """The tools that may not be used, each with the reason."""
        return self._listing.quarantined if self._listing is not None else ()

    @property
    def health(self) -> Health:
        """How the connection does."""
        return self._connection.health if self._connection is not None else Health()

    async def survey(self) -> Listing:
        """Ask the server for its tools, whether it was approved or not: for a person who is about to decide.

        A local server is started by that: show its command line first.
        """
        await self._look(anyway=True)
        assert self._listing is not None
        return self._listing

    async def approve(
        self, names: Collection[str] | None = None, *, by: str = "", reads: Collection[str] = ()
    ) -> Sequence[str]:
        """Approve the tools that the server listed last, on behalf of a person.

        Args:
            names: the tools, by the server's names; all by default.
            by: who agrees.
            reads: tools that the person believes to only read, where their definitions say so, whether they are
                approved now or were before. By the default policy their calls are made without asking.

        Returns:
            The names that are approved by this and were not before.

        Raises:
            UnknownName: there is no sound tool of such a name.
        """
        listed = {str(definition["name"]): definition for definition in self._listing.sound} if self._listing else {}
        unknown = sorted({*(names or ()), *reads} - listed.keys())
        if unknown:
            raise UnknownName(
                "{name} has no tool {tool!r} that could be approved", name=self.server.name, tool=unknown[0]
            )
        waiting = {each.name for each in self.quarantined if each.fault in ("new", "changed")}
        chosen = [name for name in listed if name in waiting and (names is None or name in names)]
        believed = [name for name in listed if name in reads and (name in chosen or name not in waiting)]
        if self._pins is not None:
            approved = [listed[name] for name in dict.fromkeys([*chosen, *believed])]
            await asyncio.to_thread(self._pins.approve, self.server.identity, approved, by=by, reads=believed)
        self._readers |= {digest(listed[name]) for name in believed}
        seen = self._seen or {}
        self._seen = {**seen, **{name: (*seen.get(name, ()), listed[name]) for name in chosen}}
        self._sort_out()
        return chosen

    # Resources, prompts, completion -----------------------------------------------------------------------------------

    async def facts(self) -> ServerFacts:
        """What the server says of itself."""
        await self._look()
        return await self.connection.facts()

    async def resources(self) -> list[ResourceOffer]:
        """What can be read, and templates of addresses."""
        return await self._resources_of(NOBODY)

    async def _resources_of(self, caller: Caller) -> list[ResourceOffer]:
        """What can be read, and templates, as far as the server lists any of both.

        Raises:
            CallError: neither list can be had.
        """
        listed: list[JsonObject] = []
        refused: list[CallError] = []
        for method in ("resources/list", "resources/templates/list"):
            try:
                listed += await self._all(method, caller)
            except (McpError, InvalidResult, CallTimeout) as error:
                if isinstance(error, Lost):
                    raise
                refused.append(error)
        if len(refused) == 2:
            raise refused[0]
        return await walk(resources_of, listed)

    async def read(self, uri: str) -> tuple[Part, ...]:
        """A resource as parts, for a `UserMessage`.

        Raises:
            CallError: it can not be read.
        """
        await self._look()
        raw = await self.connection.request("resources/read", {"uri": uri})
        return await walk(contents_of, raw)

    async def subscribe(self, *uris: str) -> None:
        """Have `changed` hear when one of these resources is not what it was."""
        await self._look()
        self.connection.listen(uris)

    async def prompts(self) -> list[PromptOffer]:
        """The prompts there are."""
        listed = await self._all("prompts/list")
        return await walk(prompts_of, listed)

    async def prompt(self, name: str, arguments: Mapping[str, str] | None = None) -> tuple[Message, ...]:
        """The messages of a prompt, filled in.

        Raises:
            CallError: there is none of this name, or an argument is missing.
        """
        await self._look()
        given: JsonObject = {**(arguments or {})}
        raw = await self.connection.request("prompts/get", {"name": name, "arguments": given})
        return await walk(messages_of, raw)

    async def complete(
        self, subject: PromptOffer | ResourceOffer, argument: str, typed: str, others: Mapping[str, str] | None = None
    ) -> list[str]:
        """What an argument of a prompt, or a place in a template, could be.

        Args:
            subject: the prompt, or the template.
            argument: its name.
            typed: what was typed so far.
            others: what is settled already.
        """
        await self._look()
        ref: JsonObject = (
            {"type": "ref/resource", "uri": subject.uri}
            if isinstance(subject, ResourceOffer)
            else {
                "type": "ref/prompt",
                "name": subject.name,
            }
        )
        params: JsonObject = {"ref": ref, "argument": {"name": argument, "value": typed}}
        if others:
            params["context"] = {"arguments": {**others}}
        with _if_it_does_that() as found:
            found.append(await self.connection.request("completion/complete", params))
        return await walk(values_of, found[0]) if found else []

    async def _all(self, method: str, caller: Caller = NOBODY) -> list[JsonObject]:
        await self._look(caller=caller)
        note, holder = partial(self._note_fault, method), _holder_of(caller)
        try:
            with _if_it_does_that() as found:
                found.extend(await self.connection.list_all(method, caller=caller, holder=holder, note=note))
        except CallError as error:
            note(error)
            raise
        return found

    def _note_fault(self, method: str, fault: CallError | None) -> None:
        """Keep why a list could not be had whole, and log it once."""
        told = "" if fault is None else f"{method}: {fault}"
        if told and self._faults.get(method) != told:
            log.warning("MCP server %s (what was listed is used): %s", self.server.name, told)
        self._faults = {name: words for name, words in self._faults.items() if name != method}
        if told:
            self._faults[method] = told

    # Life -------------------------------------------------------------------------------------------------------------

    async def close(self) -> None:
        """End the server, or leave it. What is asked after that starts it again."""
        connection, self._connection = self._connection, None
        looking, self._looking = self._looking, None
        if connection is not None:
            await connection.close()
        if looking is not None and looking.get_loop() is asyncio.get_running_loop():
            looking.cancel()
            await asyncio.wait([looking])

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # Listing ----------------------------------------------------------------------------------------------------------

    @property
    def connection(self) -> McpConnection:
        """The connection of the running event loop; that of an earlier one has ended with it. Nothing is opened before
        the first request.
        """
        loop = asyncio.get_running_loop()
        if self._connection is None or self._loop is not loop:
            self._loop, self._lock, self._is_met, self._looking = loop, asyncio.Lock(), False, None
            self._connection = McpConnection(
                self.server,
                clock=self._clock,
                auth=self._auth,
                changed=self._heard,
                logged=self._logged,
                secrets=self._secrets,
                era=self._known().era,
                guard=self._guard,
                vet=self._vet,
                capabilities=self._capabilities,
                quota=self._quota,
            )
        return self._connection

    @property
    def is_due(self) -> bool:
        """What the server told of its tools is too old, or it never told."""
        return self._is_stale or not self._is_listed or self._clock.now() >= self._holds_until

    def _has_new_approvals(self) -> bool:
        """The approvals were written since the tools were sorted out."""
        return self._approve == "pinned" and self._pins is not None and self._pins.stamp != self._stamp

    def _knows(self) -> bool:
        """Something is known of the tools: they were listed, or were approved at some time."""
        if self._listing is not None:
            if self._has_new_approvals():
                self._sort_out()
            return True
        known = self._known()
        if self._approve != "pinned" or not (known.tools or known.offers is not None):
            return False
        self._definitions = [approved[-1].definition for approved in known.tools.values()]
        self._offered = dict.fromkeys(known.offers or ("tools",), None)
        self._sort_out()
        return True

    def check_approved(self) -> None:
        """Nothing is done with a server to which nobody agreed.

        Raises:
            PermissionDenied: nobody did.
        """
        if self._approve == "pinned" and not self._known().approved:
            name = self.server.name
            raise PermissionDenied(
                "MCP server {name!r} was not approved: `actum mcp approve {name}` shows what it is.", name=name
            )

    async def _look(self, *, anyway: bool = False, caller: Caller = NOBODY) -> None:
        """See to it that the tools are known as they are now.

        Args:
            anyway: also where the server was not approved.
            caller: over whose session, where it has a holder.

        Raises:
            PermissionDenied: it was not.
            CallError: it can not be reached.
        """
        if not anyway:
            self.check_approved()
        connection, holder = self.connection, _holder_of(caller)
        facts = await connection.facts(caller=caller, holder=holder)  # `_vet` lists the tools of a new session
        if not self._is_met:
            self._is_met = True
            await self._remember(facts)
            if facts.era == "modern":
                connection.listen()
        if self.is_due:
            async with self._lock:
                if self.is_due:

                    async def page(params: JsonObject) -> JsonObject:
                        return await connection.request("tools/list", params, caller=caller, holder=holder)

                    await self._list(page)
        elif self._has_new_approvals():
            self._sort_out()
        self._failure, self._patience_s, self._is_noticed = None, self._wait_s, False

    def _known(self) -> Known:
        return self._pins.known(self.server.identity) if self._pins is not None else Known()

    async def _vet(self, session: McpSession) -> None:
        """Look at what a new connection offers, before it is used."""

        ends = self._clock.now() + self.server.timeout

        async def page(params: JsonObject) -> JsonObject:
            try:
                async with self._clock.timeout(max(0.0, ends - self._clock.now())):
                    return await session.once("tools/list", params, NOBODY)
            except TimeoutError:
                raise CallTimeout("The server did not tell its tools in time.") from None

        self._offered = session.facts.capabilities
        try:
            await self._list(page)
        except Lost:
            raise
        except CallTimeout:
            raise Unavailable("The MCP server {server!r} does not tell its tools.", server=self.server.name) from None
        if self._met is not None:
            self._met(session.facts)

    async def _list(self, page: Callable[[JsonObject], Awaitable[JsonObject]]) -> None:
        self._is_stale = False  # before it is asked: it may change again while it is told
        try:
            await self._take(await self._listed(page) if "tools" in self._offered else Listed([]))
        except BaseException:
            self._is_stale = True
            raise

    async def _listed(self, page: Callable[[JsonObject], Awaitable[JsonObject]]) -> Listed:
        """The server's own tools. Where it refuses to list them and has other things to offer, it is used for these,
        with the tools that it listed before.

        Raises:
            McpError, InvalidResult: it refuses, or can not be understood, and offers nothing else.
        """
        try:
            listed = await all_pages("tools/list", page)
        except (McpError, InvalidResult) as error:
            if not {"resources", "prompts"} & self._offered.keys():
                raise
            listed = Listed(list(self._definitions), fault=error)
        self._note_fault("tools/list", listed.fault)
        return listed

    async def _take(self, listed: Listed) -> None:
        """These are the tools now."""
        definitions, holds_s = listed.items, listed.holds_s
        size = WALKED * size_of_json(definitions)
        if self._seen is None:
            first = await off_loop(size, sort_out, self.server, definitions, None)
            self._seen = {str(each["name"]): (each,) for each in first.sound}
        approved = self._approved()
        judged_by = (self._seen, self._stamp)
        listing = await off_loop(size, sort_out, self.server, definitions, approved, self._readers)
        least, most = LISTED_S
        holds_s = LISTED_S_USUAL if holds_s is None else min(max(holds_s, least), most)
        self._holds_until, self._is_noticed = self._clock.now() + holds_s, False
        self._definitions, self._is_listed = definitions, True
        if judged_by == (self._seen, self._stamp):
            self._use(listing)
        else:  # somebody approved meanwhile
            self._sort_out()

    def _approved(self) -> Mapping[str, Sequence[JsonObject]] | None:
        """The approved definitions, as they are now; None where none need be approved."""
        if self._approve == "pinned" and self._pins is not None:
            self._stamp = self._pins.stamp
            self._readers = self._pins.readers(self.server.identity)
            return self._pins.approved(self.server.identity)
        return self._seen if self._approve == "first" else None

    def _sort_out(self) -> None:
        approved = self._approved()
        self._use(sort_out(self.server, self._definitions, approved, self._readers))

    def _use(self, listing: Listing) -> None:
        self._listing = listing
        # By name, so that a run which is resumed finds the same list, whether it was told by the server or is known
        # from the approvals.
        tools = tuple(sorted((each.tool for each in self._listing.usable.values()), key=lambda tool: tool.name))
        self._resources = None
        if "resources" in self._offered:
            self._resources = ResourceTools(self.server.name, self._listing.usable, self.server.max_timeout)
            tools += self._resources.tools
        if tools != self._tools:
            self._tools = tools
            self._generation += 1

    async def _remember(self, facts: ServerFacts) -> None:
        """Keep which era the server speaks and what it offers, so that it need not be reached to know that."""
        if self._pins is not None:
            fresh = self._pins.stamp == self._stamp
            era = facts.era if self.server.era == "auto" else "auto"
            try:
                await asyncio.to_thread(self._pins.remember, self.server.identity, era, sorted(facts.capabilities))
            except ActumError as error:  # it is found out anew the next time
                log.info("%s: what it offers can not be kept: %s", self.server.name, error)
            self._stamp = self._pins.stamp if fresh else self._stamp

    def _heard(self, method: str, params: JsonObject) -> None:
        if method == "notifications/tools/list_changed":
            self._is_stale = True
        if self._changed is not None:
            self._changed(method, params)


def _holder_of(caller: Caller) -> Holder | None:
    return caller.holder if isinstance(caller, OfRun) else None


class _Outdated(Exception):
    """What is known of the tools changed just before a call was sent."""


_WHY: dict[Fault, str] = {
    "new": "It was never approved.",
    "changed": "It is not what it was when it was approved.",
    "malformed": "Its definition is malformed.",
    "duplicate": "Its server has several of this name.",
}


@contextlib.contextmanager
def _if_it_does_that() -> Iterator[list[JsonObject]]:
    """A list to fill, which stays empty where a server does not know a method."""
    try:
        yield []
    except McpError as error:
        if error.rpc_code != METHOD_NOT_FOUND:
            raise
