"""What is built here, served by the Model Context Protocol: tools, agents, prompts and resources, in both of its eras.

    from actum.server import McpService

    service = McpService([add, weather])
    await service.run_stdio()            # or: service.app(), for any ASGI server

How it is served is the affair of `mcp.source`. Every `tools/call`, `prompts/get` and `resources/read` is a run on the
one call path (`mcp.calls`).

Source: Model Context Protocol, 2026-07-28 and 2025-11-25.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import mcp_types as types
from mcp.server.lowlevel.server import Server
from mcp.server.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from msgspec import structs
from starlette.applications import Starlette

from ...agents.agent_tool import leads_to_memory
from ...call.limits.limits import Limits
from ...core.call import MediaPart, ToolResult
from ...core.clock import SystemClock
from ...core.errors import UsageError
from ...core.event import RunResult
from ...core.holder import Holder
from ...core.identity import Identity
from ...core.interfaces import Clock, Journal
from ...core.json import Json, JsonObject, is_too_deep
from ...core.policy import Facts, Policy
from ...core.run.pending import Pending
from ...core.secrets.store import SecretSource
from ...core.tool import Tool
from ...journal.kept_uses import with_all_uses
from ...journal.memory import MemoryJournal
from ...journal.recording import RunState
from ...policy.labels import Label
from ...policy.record_mask import reader_mask
from ...protocols.mcp.content import resource_of
from ...protocols.mcp.tasks import EXTENSION, Task
from ...runs.given_tools import Toolish
from ...runs.options import Emit
from ...runs.other_values import know_others, questions_as_seen
from ...runs.run import Stopping
from ...runs.runner import Runner
from ..access import LOCAL, Access
from ..published import PublishedOffer
from ..workflows import GivenWorkflows
from .calls import (
    INVALID_PARAMS,
    TOO_DEEP,
    NotYet,
    begin,
    go_on,
    new_call,
    outcome_of,
)
from .changes import Changes
from .client import (
    LEVELS,
    LOG_LEVEL,
    McpClient,
    connection_of,
)
from .http import McpRoutes
from .page import page, page_of_visible
from .parked import Parked
from .prompts import Prompt, PromptToolset, messages_of
from .resources import (
    READ,
    Folder,
    Resource,
    Resources,
)
from .source import INTERNAL_ERROR, RUNS_KEPT, Context, Handler, SourceServer, Visibility, Visible
from .tasks import Answering, TaskMode, Tasks
from .wire import call_result, definition_as_seen, definition_of, served_name

NOT_FOUND = -32002
"""What a server with a handshake says of a resource that is not there."""
SUGGESTIONS_MAX = 100
URI_CHARS_MAX = 8_192
"""The longest address of a resource that is read, in characters: it is parsed while everything else waits."""
SUBSCRIBED_CHARS_MAX = 2_048
"""The longest address of a resource that a client listens to, in characters: it is kept as long as the client."""
TENANTS_MAX = 200
"""The most tenants whose published tools are kept in their encoded form."""


class ListedTools:
    """The tools in the form that clients are told, made once for each list.

    Args:
        tools: the list.
        known: an older list, whose entries are used again where they are still true.
    """

    def __init__(self, tools: Sequence[Tool], known: ListedTools | None = None) -> None:
        self.tools = tools
        self.by_name = {served_name(tool.name): tool for tool in tools}
        self._told: dict[bool, list[tuple[Tool, JsonObject]]] = {}
        told = known._told if known is not None else {}
        self._before = {modern: {tool.name: (tool, of) for tool, of in pairs} for modern, pairs in told.items()}

    def told(self, *, modern: bool) -> list[tuple[Tool, JsonObject]]:
        """The tools with their definitions."""
        if modern not in self._told:
            before = self._before.pop(modern, {})
            known = [before.get(tool.name) for tool in self.tools]
            self._told[modern] = [
                pair if pair is not None and pair[0] is tool else (tool, definition_of(tool, any_value=modern))
                for tool, pair in zip(self.tools, known, strict=True)
            ]
        return self._told[modern]


class PublishedTools(NamedTuple):
    """The tools that a tenant has published.

    Attributes:
        listed: the publications that the tools were made of.
        own: the tools of the service, whose names come first.
        tools: the tools.
    """

    listed: Mapping[str, Tool]
    own: ListedTools
    tools: ListedTools


class McpService:
    """Serves tools, prompts and resources.

    Args:
        tools: as for `Agent`: functions, toolsets, agents.
        prompts: made by `prompt`.
        resources: `Resource` and `Folder`.
        name, version, instructions: what clients and models are told of it.
        policy, limits, secrets: as for `Agent`; they hold for every call. A policy also binds the agents that are
            served: their calls are put to it, too.
        journal: where calls are written down; the latest thousand in memory when it is left out.
        tasks: when a call is answered with a task for its client to ask after, by patterns of tools' names; when it
            takes longer than a moment, where nothing is said.
        visible: who is shown which tool; a tool that is not shown can not be called either. What the policy denies
            somebody whatever the arguments are is not shown to them anyway.
        who: the user for clients that show no token, such as the user of this process.
        keys: secrets with which the state of a call that waits is sealed, the first for new ones; needed where several
            processes serve, or a call is to outlive this one. A random one when it is left out.
        clock: time.
        offer: what tenants have published; each sees and calls its own. None for nothing.
        labels: what the labels of fields of results mean, as for `Agent`: a client gets no value that its user may not
            read.

    Raises:
        UsageError: two things of one name, or a key that is none.
    """

    def __init__(
        self,
        tools: Sequence[Toolish] = (),
        *,
        prompts: Sequence[Prompt] = (),
        resources: Sequence[Resource | Folder] = (),
        name: str = "actum",
        version: str = "",
        instructions: str = "",
        policy: Policy | None = None,
        limits: Limits | None = None,
        journal: Journal | None = None,
        secrets: Mapping[str, str] | SecretSource | None = None,
        tasks: Mapping[str, TaskMode] | None = None,
        visible: Visible | None = None,
        who: Identity | None = None,
        keys: Sequence[bytes] = (),
        clock: Clock | None = None,
        offer: PublishedOffer | None = None,
        labels: Mapping[str, Label] | None = None,
    ) -> None:
        self.clock: Clock = clock or SystemClock()
        self.journal: Journal = journal or MemoryJournal(self.clock, runs_max=RUNS_KEPT)
        self._prompts = PromptToolset(prompts)
        self._resources = Resources(resources)
        self.runner = Runner(
            tools,
            policy=policy,
            limits=limits,
            journal=self.journal,
            secrets=secrets,
            clock=self.clock,
            name=name,
            labels=labels,
        )
        self._sources = self.runner.with_tools([self._prompts, self._resources])
        self.tasks = Tasks(
            self.runner, tasks or {}, lambda _, result: call_result(result, any_value=True), self._runner_of
        )
        self._parked = Parked(self.journal, self.clock, name)
        self._visibility = Visibility(visible, policy, name, self.clock)
        self._shown = ListedTools(())
        self._offer = offer or PublishedOffer(GivenWorkflows({}))
        self._published: dict[str, PublishedTools] = {}
        self._is_up = self._is_hanging_up = False
        self._changes: dict[str, Changes] = {"": self._changes_of("")}
        self._server = SourceServer(
            self,
            name=name,
            version=version,
            instructions=instructions,
            who=who,
            keys=keys,
            listen=self._listen,
        )

    @property
    def changes(self) -> Changes:
        """What tells the clients of the tenant without a name of changes."""
        return self._changes[""]

    @property
    def server(self) -> Server[Any]:
        """The SDK's server, for transports of others."""
        return self._server.server

    # As a source ------------------------------------------------------------------------------------------------------

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """What answers each method."""
        table: dict[str, Handler] = {
            "tools/list": self._list_tools,
            "tools/call": self._call_tool,
            "logging/setLevel": self._set_level,
            "tasks/get": self._of_task(self.tasks.get),
            "tasks/update": self._of_task(self.tasks.update),
            "tasks/cancel": self._of_task(self.tasks.cancel),
        }
        table |= {"prompts/list": self._list_prompts, "prompts/get": self._get_prompt}
        if self._resources.all:
            table |= {
                "resources/list": self._list_resources,
                "resources/templates/list": self._list_templates,
                "resources/read": self._read_resource,
                "resources/subscribe": self._subscribe,
                "resources/unsubscribe": self._unsubscribe,
            }
        table["completion/complete"] = self._complete
        return table

    def capabilities(self, *, modern: bool) -> types.ServerCapabilities:
        """What is offered, in either era."""
        sources, prompts = bool(self._resources.all), self._prompts.is_offered
        return types.ServerCapabilities(
            tools=types.ToolsCapability(list_changed=True),
            prompts=types.PromptsCapability(list_changed=True) if prompts else None,
            resources=types.ResourcesCapability(subscribe=True, list_changed=True) if sources else None,
            completions=types.CompletionsCapability() if sources or prompts else None,
            logging=None if modern else types.LoggingCapability(),
            extensions={EXTENSION: {}} if modern else None,
        )

    async def introduce(self, ctx: Context, introduction: JsonObject) -> JsonObject:
        """What a client is told that introduces itself: what the SDK says, which asks for `capabilities`."""
        return introduction

    def schema_of(self, name: str) -> Mapping[str, Any] | None:
        """The schema of a tool's arguments, some of which may have to come in headers too.

        None also for a tool that the caller may not use: an error about its headers would reveal the tool.
        """
        tool = self._shown.by_name.get(name)
        if tool is None and (known := self._published.get(self.who().tenant)) is not None:
            tool = known.tools.by_name.get(name)
        return tool.parameters if tool is not None and self._visibility.may_call(tool, self.who()) else None

    async def join(self, ctx: Context) -> None:
        """Tell a client with a handshake what changes, from now on."""
        await self._own_changes().join(ctx)

    async def start(self) -> None:
        """Look after what changes."""
        self._is_up, self._is_hanging_up = True, False
        for changes in self._changes.values():
            changes.start()
        await self._tools()

    async def stop(self) -> None:
        """Look after nothing any more, and end the tasks."""
        self._is_up = False
        for changes in self._changes.values():
            await changes.stop()
        await self.tasks.close()

    def hang_up(self) -> None:
        """End the streams of those who only listen."""
        self._is_hanging_up = True
        for changes in self._changes.values():
            changes.hang_up()

    async def _listen(
        self, ctx: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        return await self._own_changes().listen(ctx, params)

    def _own_changes(self) -> Changes:
        """What tells the caller of changes: a tenant is told of its own publications only."""
        tenant = self.who().tenant
        if tenant not in self._changes:
            changes = self._changes[tenant] = self._changes_of(tenant)
            if self._is_up:
                changes.start()
            if self._is_hanging_up:
                changes.hang_up()
        return self._changes[tenant]

    def _changes_of(self, tenant: str) -> Changes:
        def left() -> None:
            changes = self._changes.get(tenant)
            if tenant and changes is not None and not changes.listeners:
                self._changes.pop(tenant).end()

        return Changes(self.clock, partial(self._look, tenant), left)

    def who(self) -> Identity:
        """The user of the current request: by its token, where it has one."""
        return self._server.who()

    def _holder(self, ctx: Context) -> Holder:
        """For whom toolsets keep things open: the client that makes this request."""
        return self._server.client(ctx).holder

    async def _look(self, tenant: str, event: ServerEvent) -> object:
        """The present state behind an event, so that changes can be found."""
        match event:
            case ToolsListChanged():
                own = [tool.digest for tool in await self.runner.list_tools()]
                return own, await self._offer.publications_made(tenant)
            case PromptsListChanged():
                return self._prompts.generation
            case ResourcesListChanged():
                return await self._resources.names()
            case ResourceUpdated(uri):
                return self._resources.stamp(uri)
            case _:
                return None

    def set_prompts(self, prompts: Sequence[Prompt]) -> None:
        """From now on serve these prompts. Clients that listen are told within a second that the list changed; a client
        that came while there were none is told, too, though it was not promised that.

        Args:
            prompts: made by `prompt`.

        Raises:
            UsageError: two of one name.
        """
        if len({each.name for each in prompts}) != len(prompts):
            raise UsageError("prompts: two have the same name")
        self._prompts.replace(prompts)

    # Tools ------------------------------------------------------------------------------------------------------------

    async def _tools(self) -> ListedTools:
        """The tools as they are now."""
        tools = await self.runner.list_tools()
        if tools is not self._shown.tools:
            self._shown = ListedTools(tools)
        return self._shown

    async def _published_tools(self, tenant: str, own: ListedTools) -> ListedTools:
        """What a tenant has published as tools, but for names that mean something else here."""
        listed = await self._offer.tools(tenant)
        known = self._published.get(tenant)
        if known is None or known.listed is not listed or known.own is not own:
            tools = [each for name, each in listed.items() if served_name(name) not in own.by_name]
            known = PublishedTools(listed, own, ListedTools(tools, known.tools if known is not None else None))
            while len(self._published) >= TENANTS_MAX:
                del self._published[next(iter(self._published))]
            self._published[tenant] = known
        return known.tools

    async def _runner_of(self, run_id: str) -> Runner:
        """What can go on with the run of a call."""
        entries = await self.journal.read(run_id)
        if not entries:
            return self.runner
        started = await with_all_uses(RunState(entries[:1]).beginning(), self.journal)
        return await self._offer.runner_of(self.runner, started)

    async def _list_tools(self, ctx: Context, params: JsonObject) -> JsonObject:
        who, shown = self.who(), await self._tools()
        may_see, modern = await self._visibility.shown_to(who), ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        published = await self._published_tools(who.tenant, shown)
        told = [*shown.told(modern=modern), *published.told(modern=modern)]
        if hidden := await self._hidden_from(who):
            told = [each for each in told if each[0].name not in hidden]
        mask = reader_mask(self.runner.labels, who.principal, who.roles)
        told = [(tool, definition_as_seen(definition, tool, mask)) for tool, definition in told]
        return page_of_visible("tools/list", told, may_see, params)

    async def _hidden_from(self, who: Identity) -> frozenset[str]:
        """The names of the tools that do not exist for a caller: of this server, and of the caller's tenant."""
        own = await self.runner.hidden_from(Facts.of(who))
        return own | (await self._offer.offered(who.tenant)).hidden_from(who)

    async def _call_tool(self, ctx: Context, params: JsonObject) -> JsonObject:
        who, shown = self.who(), await self._tools()
        name, arguments = params.get("name"), params.get("arguments") or {}
        tool, is_own = shown.by_name.get(name) if isinstance(name, str) else None, True
        if tool is None and isinstance(name, str):
            tool, is_own = (await self._published_tools(who.tenant, shown)).by_name.get(name), False
        if tool is not None and tool.name in await self._hidden_from(who):
            tool = None
        if tool is None or not self._visibility.may_call(tool, who):
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {str(name)[:128]}")
        if not isinstance(arguments, dict):
            raise MCPError(INVALID_PARAMS, "arguments: expected an object")
        if is_too_deep(arguments):
            raise MCPError(INVALID_PARAMS, TOO_DEEP)
        client = McpClient(ctx, who, self._holder(ctx))
        state = params.get("requestState")
        known = state if isinstance(state, str) else await self._parked.find(tool.name, arguments, who)
        run_id = known or new_call()
        client.seen = partial(self._questions_as_seen, run_id, who)
        ended: list[RunResult] = []

        async def run(emit: Emit | None, stopping: Stopping) -> RunResult:
            if known:
                given = params.get("inputResponses")
                result = await go_on(
                    self._runner_of, run_id, given, client, who, emit, journal=self.journal, stopping=stopping
                )
            else:
                runner = None if is_own else await self._offer.runner(self.runner, who.tenant, tool.name)
                result = await begin(runner or self.runner, tool.name, arguments, client, who, run_id, emit, stopping)
            ended.append(result)
            return structs.replace(result, pending=await client.seen(result.pending))

        outcome: ToolResult | NotYet | Task | None = None
        try:
            outcome = await self.tasks.perform(tool.name, client, run_id, run)
        finally:
            await client.flush()
            if ended and not isinstance(outcome, Task):
                await self._parked.note(tool.name, arguments, who, ended[0], client, is_known=bool(known))
        if isinstance(outcome, Task):  # the client asks for the task from here on, and makes no call again
            if known:
                await self._parked.forget(who, run_id)
            return outcome.handle()
        if isinstance(outcome, NotYet):
            return outcome.told()
        is_without_memory = not who.is_one_person and await self._remembers_users(who, tool.name, is_own=is_own)
        seen = await self._as_seen(run_id, outcome, who)
        return call_result(seen, any_value=client.is_modern, is_without_memory=is_without_memory)

    async def _as_seen(self, run_id: str, result: ToolResult, who: Identity) -> ToolResult:
        """A result of a run as a caller may see it."""
        mask = reader_mask(self.runner.labels, who.principal, who.roles)
        if mask.hides(result.seen):  # an agent answered that was told hidden values
            await know_others(mask, self.journal, run_id, await self.journal.read(run_id))
        return mask.result(result)

    async def _questions_as_seen(self, run_id: str, who: Identity, asked: Sequence[Pending]) -> Sequence[Pending]:
        """Questions of a run as a caller may see them."""
        if not asked:
            return asked
        mask = reader_mask(self.runner.labels, who.principal, who.roles)
        return await questions_as_seen(mask, self.journal, run_id, asked)

    async def _remembers_users(self, who: Identity, tool: str, *, is_own: bool) -> bool:
        """Whether a tool is an agent that has a memory of its users."""
        runner = self.runner if is_own else await self._offer.runner(self.runner, who.tenant, tool)
        for toolset in runner.toolsets if runner is not None else ():
            if leads_to_memory(toolset) and tool in {each.name for each in await toolset.list_tools()}:
                return True
        return False

    def _of_task(self, answer: Answering) -> Handler:
        async def handle(ctx: Context, params: JsonObject) -> JsonObject:
            who = self.who()
            return await answer(McpClient(ctx, who, self._holder(ctx)), who, params)

        return handle

    async def _perform(
        self, runner: Runner, tool: str, arguments: JsonObject, params: JsonObject, client: McpClient, who: Identity
    ) -> ToolResult | NotYet:
        """Make a call, or go on with one that waited for its client."""
        state = params.get("requestState")
        try:
            if isinstance(state, str):

                async def same(_: str) -> Runner:
                    return runner

                result = await go_on(
                    same, state, params.get("inputResponses"), client, who, client.hears, journal=self.journal
                )
            else:
                result = await begin(runner, tool, arguments, client, who, new_call(), client.hears)
            return outcome_of(result, client)
        finally:
            await client.flush()

    # Prompts ----------------------------------------------------------------------------------------------------------

    async def _list_prompts(self, ctx: Context, params: JsonObject) -> JsonObject:
        if not self._prompts.is_offered:
            raise _not_offered(ctx)
        return page("prompts/list", [one.told() for one in self._prompts.by_name.values()], params)

    async def _get_prompt(self, ctx: Context, params: JsonObject) -> JsonObject:
        if not self._prompts.is_offered:
            raise _not_offered(ctx)
        found = self._prompts.by_name.get(str(params.get("name")))
        if found is None:
            raise MCPError(INVALID_PARAMS, f"Unknown prompt: {str(params.get('name'))[:128]}")
        given = params.get("arguments") or {}
        who = self.who()
        client = McpClient(ctx, who, self._holder(ctx))
        arguments = given if isinstance(given, dict) else {}
        outcome = await self._perform(self._sources, found.tool.name, arguments, params, client, who)
        if isinstance(outcome, NotYet):
            return outcome.told()
        if outcome.error is not None:
            code = INVALID_PARAMS if outcome.error.code == "invalid_arguments" else INTERNAL_ERROR
            raise MCPError(code, outcome.error.message)
        told: JsonObject = {"messages": messages_of(outcome)}
        if found.tool.description:
            told["description"] = found.tool.description
        return told

    # Resources --------------------------------------------------------------------------------------------------------

    async def _list_resources(self, ctx: Context, params: JsonObject) -> JsonObject:
        return page("resources/list", await self._resources.listed(), params)

    async def _list_templates(self, ctx: Context, params: JsonObject) -> JsonObject:
        return page("resources/templates/list", self._resources.templates(), params)

    async def _read_resource(self, ctx: Context, params: JsonObject) -> JsonObject:
        uri = _address(params)
        who = self.who()
        client = McpClient(ctx, who, self._holder(ctx))
        outcome = await self._perform(self._sources, READ, {"uri": uri}, params, client, who)
        if isinstance(outcome, NotYet):
            return outcome.told()
        if outcome.error is not None:
            raise MCPError(INTERNAL_ERROR, outcome.error.message)
        parts = [part for part in outcome.content if isinstance(part, MediaPart)]
        if not parts:
            code = INVALID_PARAMS if client.is_modern else NOT_FOUND
            raise MCPError(code, "Resource not found", {"uri": uri[:2_000]})
        return {"contents": [resource_of(part.url or uri, part.media_type, part.data) for part in parts]}

    async def _subscribe(self, ctx: Context, params: JsonObject) -> JsonObject:
        uri = _address(params)
        if len(uri) > SUBSCRIBED_CHARS_MAX:
            raise MCPError(INVALID_PARAMS, f"uri: at most {SUBSCRIBED_CHARS_MAX} characters to listen to")
        if not await self.changes.subscribe(ctx, uri):
            raise MCPError(INVALID_PARAMS, "You listen to as many resources as you may")
        return {}

    async def _unsubscribe(self, ctx: Context, params: JsonObject) -> JsonObject:
        self.changes.unsubscribe(ctx, _address(params))
        return {}

    async def resource_updated(self, uri: str) -> None:
        """Tell all listeners that a resource has changed: for one that a function makes, which can not be watched."""
        for changes in list(self._changes.values()):
            await changes.publish(ResourceUpdated(uri))

    # The rest ---------------------------------------------------------------------------------------------------------

    async def _complete(self, ctx: Context, params: JsonObject) -> JsonObject:
        if not (self._prompts.is_offered or self._resources.all):
            raise _not_offered(ctx)
        reference, argument = params.get("ref"), params.get("argument")
        if not isinstance(reference, dict) or not isinstance(argument, dict):
            raise MCPError(INVALID_PARAMS, "completion/complete wants ref and argument")
        name, begun = str(argument.get("name")), str(argument.get("value") or "")
        found: Sequence[str] = ()
        if reference.get("type") == "ref/prompt":
            prompt = self._prompts.by_name.get(str(reference.get("name")))
            if prompt is None:
                raise MCPError(INVALID_PARAMS, f"Unknown prompt: {str(reference.get('name'))[:128]}")
            found = prompt.suggestions(name, begun)
        else:
            found = self._resources.suggestions(str(reference.get("uri")), name, begun)
        values: list[Json] = [*found[:SUGGESTIONS_MAX]]
        completion: JsonObject = {"values": values, "total": len(found), "hasMore": len(found) > SUGGESTIONS_MAX}
        return {"completion": completion}

    async def _set_level(self, ctx: Context, params: JsonObject) -> JsonObject:
        level = params.get("level")
        if level not in LEVELS:
            raise MCPError(INVALID_PARAMS, f"level: expected one of {', '.join(LEVELS)}")
        connection_of(ctx).state[LOG_LEVEL] = level
        return {}

    # Ways to serve ----------------------------------------------------------------------------------------------------

    def app(
        self, path: str = "/mcp", *, host: str = "127.0.0.1", access: Access = LOCAL, sse: bool = False
    ) -> Starlette:
        """Streamable HTTP in both eras at one path, as an application for any ASGI server.

        Args:
            path: where.
            host: the address of this machine at which the server is going to listen.
            access: who may use the server; by default, every client on this machine.
            sse: also the old HTTP+SSE, at `/sse`.

        Raises:
            UsageError: others than this machine would reach the server, and it wants no key of them.
        """
        return self._server.app(path, host=host, access=access, sse=sse)

    def door(self, path: str = "/mcp", *, sse: bool = False, scopes: Sequence[str] = ()) -> McpRoutes:
        """Streamable HTTP in both eras as one door of an application, beside others; see `server/web_application.py`.

        Args:
            path, sse: as for `app`.
            scopes: that each request needs, where the server wants keys.
        """
        return self._server.door(path, sse=sse, scopes=scopes)

    async def run_stdio(self) -> None:
        """Serve the process that started this one, by its pipes, until it closes them."""
        await self._server.run_stdio()


def _address(params: JsonObject) -> str:
    uri = params.get("uri")
    if not isinstance(uri, str) or not uri:
        raise MCPError(INVALID_PARAMS, "uri: expected a text")
    if len(uri) > URI_CHARS_MAX:
        raise MCPError(INVALID_PARAMS, f"uri: at most {URI_CHARS_MAX} characters")
    return uri


def _not_offered(ctx: Context) -> MCPError:
    """The error for a method that has nothing to offer now, and may have later."""
    return MCPError(types.METHOD_NOT_FOUND, "Method not found", ctx.method)
