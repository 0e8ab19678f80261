"""What is built here, served by the Model Context Protocol: tools, agents, prompts and resources, in both of its eras.

    from actum.server.mcp import McpService

    service = McpService([add, weather])
    await service.run_stdio()            # or: service.app(), for any ASGI server

The SDK's low-level server has the transports and the handshake; requests for what is served here are answered on raw
messages, so that nothing of a schema is lost and nothing is validated twice. Every `tools/call`, `prompts/get` and
`resources/read` is a run on the one call path (`mcp_calls`).

Source: Model Context Protocol, 2026-07-28 and 2025-11-25.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, cast

import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourcesListChanged,
    ResourceUpdated,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.applications import Starlette

from ..agents.agent import Agent, Toolish
from ..call.authorize import DEFAULT
from ..call.journal import MemoryJournal
from ..call.limit import Limits
from ..core.call import MediaPart, ToolResult
from ..core.clock import SystemClock
from ..core.event import RunResult
from ..core.interfaces import Clock, Journal, Policy
from ..core.json import Json, JsonObject
from ..core.tool import Tool
from ..protocols.mcp_tasks import EXTENSION, Task
from .mcp_calls import INVALID_PARAMS, Emit, NotYet, Spoken, Who, begin, go_on, new_call, outcome_of
from .mcp_client import LEVELS, LOG_LEVEL, McpClient, state_of
from .mcp_prompts import Prompt, Prompts, messages_of
from .mcp_resources import READ, Folder, Resource, Resources
from .mcp_tasks import Answering, TaskMode, Tasks
from .mcp_wire import contents_of, definition_of, result_of, served_name

METHOD_NOT_FOUND = -32601
INTERNAL_ERROR = -32603
NOT_FOUND = -32002
"""What a server with a handshake says of a resource that is not there."""
PAGE = 100
SUGGESTIONS_MAX = 100
RUNS_KEPT = 1_000
WATCH_S = 1.0
"""Seconds between two looks at files that somebody listens to."""

Context = ServerRequestContext[Any, Any]
Handler = Callable[[Context, JsonObject], Awaitable[JsonObject]]
Visible = Callable[[Tool, Who], bool]

_LISTS: dict[str, str] = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
_CACHED = frozenset({*_LISTS, "resources/read", "server/discover"})


def everybody(tool: Tool, who: Who) -> bool:
    """Everybody sees every tool."""
    return True


class McpService:
    """Serves tools, prompts and resources.

    Args:
        tools: as for `Agent`: functions, toolsets, agents.
        prompts: made by `prompt`.
        resources: `Resource` and `Folder`.
        name, version, instructions: what clients and models are told of it.
        policy, limits, secrets: as for `Agent`; they hold for every call.
        journal: where calls are written down; the latest thousand in memory when it is left out.
        tasks: when a call is answered with a task for its client to ask after, by patterns of tools' names; when it
            takes longer than a moment, where nothing is said.
        visible: who is shown which tool; a tool that is not shown can not be called either.
        who: on whose behalf a client speaks that showed no token: the user of this process, say.
        keys: secrets with which the state of a call that waits is sealed, the first for new ones; needed where several
            processes serve, or a call is to outlive this one. A random one when it is left out.
        clock: time.

    Raises:
        UsageError: two things of one name.
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
        policy: Policy = DEFAULT,
        limits: Limits | None = None,
        journal: Journal | None = None,
        secrets: Mapping[str, str] | None = None,
        tasks: Mapping[str, TaskMode] | None = None,
        visible: Visible = everybody,
        who: Who | None = None,
        keys: Sequence[bytes] = (),
        clock: Clock | None = None,
    ) -> None:
        self.clock: Clock = clock or SystemClock()
        self.journal: Journal = journal or MemoryJournal(self.clock, runs_max=RUNS_KEPT)
        self._prompts = Prompts(prompts)
        self._resources = Resources(resources)
        agent = partial(
            Agent,
            Spoken(),
            policy=policy,
            limits=limits,
            journal=self.journal,
            secrets=secrets,
            clock=self.clock,
            name=name,
        )
        self.agent = agent(tools)
        self._sources = agent([self._prompts, self._resources])
        self.tasks = Tasks(self.agent, tasks or {}, self._tell_task)
        self._visible = visible
        self._who = who or Who()
        self._shown: tuple[Sequence[Tool], dict[str, Tool], list[JsonObject]] = ((), {}, [])
        self._bus = InMemorySubscriptionBus()
        self._watched: dict[str, float | None] = {}
        self._watcher: asyncio.Task[None] | None = None
        self._listening: dict[str, set[Any]] = {}
        self._methods: dict[str, Handler] = self._table()
        self.server = _Server(self, name, version=version, instructions=instructions or None)
        security = RequestStateSecurity(keys=list(keys)) if keys else RequestStateSecurity.ephemeral()
        self.server.middleware.append(RequestStateBoundary(security, default_audience=name))
        self.server.middleware.append(self._serve)

    def _table(self) -> dict[str, Handler]:
        table: dict[str, Handler] = {
            "tools/list": self._list_tools,
            "tools/call": self._call_tool,
            "logging/setLevel": self._set_level,
            "tasks/get": self._of_task(self.tasks.get),
            "tasks/update": self._of_task(self.tasks.update),
            "tasks/cancel": self._of_task(self.tasks.cancel),
        }
        if self._prompts.by_name:
            table |= {"prompts/list": self._list_prompts, "prompts/get": self._get_prompt}
        if self._resources.all:
            table |= {
                "resources/list": self._list_resources,
                "resources/templates/list": self._list_templates,
                "resources/read": self._read_resource,
                "resources/subscribe": self._subscribe,
                "resources/unsubscribe": self._unsubscribe,
            }
        if self._prompts.by_name or self._resources.all:
            table["completion/complete"] = self._complete
        return table

    def capabilities(self, *, modern: bool) -> types.ServerCapabilities:
        """What is offered, in either era."""
        sources, prompts = bool(self._resources.all), bool(self._prompts.by_name)
        return types.ServerCapabilities(
            tools=types.ToolsCapability(list_changed=True),
            prompts=types.PromptsCapability(list_changed=False) if prompts else None,
            resources=types.ResourcesCapability(subscribe=True, list_changed=True) if sources else None,
            completions=types.CompletionsCapability() if sources or prompts else None,
            logging=None if modern else types.LoggingCapability(),
            extensions={EXTENSION: {}} if modern else None,
        )

    # Requests ---------------------------------------------------------------------------------------------------------

    async def _serve(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Answer what is served here; the SDK answers the rest."""
        handler = self._methods.get(ctx.method)
        modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        if handler is None or ctx.request_id is None or ctx.method in (_HANDSHAKE_ONLY if modern else _MODERN_ONLY):
            return await call_next(ctx)
        if not modern and ctx.session.client_params is None:
            raise MCPError(INVALID_PARAMS, "The connection was not initialized")
        result = await handler(ctx, cast(JsonObject, dict(ctx.params or {})))
        if modern:
            result.setdefault("resultType", "complete")
            if ctx.method in _CACHED and result["resultType"] == "complete":
                result = {"ttlMs": 0, "cacheScope": "private", **result}
            meta = result.get("_meta")
            stamp: JsonObject = {types.SERVER_INFO_META_KEY: self.server.server_info_stamp}
            result["_meta"] = {**stamp, **(meta if isinstance(meta, dict) else {})}
        return cast(HandlerResult, result)

    def who(self, ctx: Context) -> Who:
        """On whose behalf this request is made."""
        return self._who

    # Tools ------------------------------------------------------------------------------------------------------------

    async def _tools(self) -> tuple[dict[str, Tool], list[JsonObject]]:
        """The tools by the names that clients know, and what they are told of them."""
        tools = await self.agent.list_tools()
        if tools is not self._shown[0]:
            by_name = {served_name(tool.name): tool for tool in tools}
            self._shown = (tools, by_name, [definition_of(tool) for tool in tools])
        return self._shown[1], self._shown[2]

    def schema_of(self, name: str) -> Mapping[str, Any] | None:
        """The schema of a tool's arguments, some of which may have to come in headers too."""
        tool = self._shown[1].get(name)
        return tool.parameters if tool is not None else None

    async def _list_tools(self, ctx: Context, params: JsonObject) -> JsonObject:
        by_name, told = await self._tools()
        who = self.who(ctx)
        if self._visible is not everybody:
            told = [each for tool, each in zip(by_name.values(), told, strict=True) if self._visible(tool, who)]
        return _page("tools/list", told, params)

    async def _call_tool(self, ctx: Context, params: JsonObject) -> JsonObject:
        who = self.who(ctx)
        name, arguments = params.get("name"), params.get("arguments")
        by_name, _ = await self._tools()
        tool = by_name.get(name) if isinstance(name, str) else None
        if tool is None or not self._visible(tool, who):
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {str(name)[:128]}")
        if arguments is not None and not isinstance(arguments, dict):
            raise MCPError(INVALID_PARAMS, "arguments: expected an object")
        client = McpClient(ctx, who.principal)
        state = params.get("requestState")
        run_id = state if isinstance(state, str) else new_call()

        async def run(emit: Emit) -> RunResult:
            if isinstance(state, str):
                return await go_on(self.agent, run_id, params.get("inputResponses"), client, who, emit)
            return await begin(self.agent, tool.name, arguments or {}, client, who, run_id, emit)

        try:
            outcome = await self.tasks.perform(tool.name, client, run_id, run)
        finally:
            await client.flush()
        if isinstance(outcome, Task):
            return outcome.handle()
        if isinstance(outcome, NotYet):
            return outcome.told()
        return result_of(outcome, tool, any_value=client.is_modern)

    def _tell_task(self, name: str, result: ToolResult) -> JsonObject:
        """The result of a task, as `tools/call` would have told it."""
        tool = next((tool for tool in self._shown[0] if tool.name == name), None)
        return result_of(result, tool, any_value=True)

    def _of_task(self, answer: Answering) -> Handler:
        async def handle(ctx: Context, params: JsonObject) -> JsonObject:
            who = self.who(ctx)
            return await answer(McpClient(ctx, who.principal), who, params)

        return handle

    async def _perform(
        self, agent: Agent, tool: str, arguments: JsonObject, params: JsonObject, client: McpClient, who: Who
    ) -> ToolResult | NotYet:
        """Make a call, or go on with one that waited for its client."""
        state = params.get("requestState")
        try:
            if isinstance(state, str):
                result = await go_on(agent, state, params.get("inputResponses"), client, who, client.emit)
            else:
                result = await begin(agent, tool, arguments, client, who, new_call(), client.emit)
            return outcome_of(result, client)
        finally:
            await client.flush()

    async def tools_changed(self) -> None:
        """Tell whoever listens that the tools have changed."""
        await self._bus.publish(ToolsListChanged())
        await self._notify_all("tools", types.ToolListChangedNotification())

    # Prompts ----------------------------------------------------------------------------------------------------------

    async def _list_prompts(self, ctx: Context, params: JsonObject) -> JsonObject:
        return _page("prompts/list", [one.told() for one in self._prompts.by_name.values()], params)

    async def _get_prompt(self, ctx: Context, params: JsonObject) -> JsonObject:
        found = self._prompts.by_name.get(str(params.get("name")))
        if found is None:
            raise MCPError(INVALID_PARAMS, f"Unknown prompt: {str(params.get('name'))[:128]}")
        given = params.get("arguments") or {}
        who = self.who(ctx)
        client = McpClient(ctx, who.principal)
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
        return _page("resources/list", self._resources.listed(), params)

    async def _list_templates(self, ctx: Context, params: JsonObject) -> JsonObject:
        return _page("resources/templates/list", self._resources.templates(), params)

    async def _read_resource(self, ctx: Context, params: JsonObject) -> JsonObject:
        uri = params.get("uri")
        if not isinstance(uri, str):
            raise MCPError(INVALID_PARAMS, "uri: expected a string")
        who = self.who(ctx)
        client = McpClient(ctx, who.principal)
        outcome = await self._perform(self._sources, READ, {"uri": uri}, params, client, who)
        if isinstance(outcome, NotYet):
            return outcome.told()
        if outcome.error is not None:
            raise self._unread(outcome, uri, client)
        parts = [part for part in outcome.content if isinstance(part, MediaPart)]
        return {"contents": [contents_of(part.url or uri, part.media_type, part.data) for part in parts]}

    def _unread(self, outcome: ToolResult, uri: str, client: McpClient) -> MCPError:
        assert outcome.error is not None
        if outcome.error.code != "tool_error":
            return MCPError(INTERNAL_ERROR, outcome.error.message)
        code = INVALID_PARAMS if client.is_modern else NOT_FOUND
        return MCPError(code, "Resource not found", {"uri": uri[:2_000]})

    async def _subscribe(self, ctx: Context, params: JsonObject) -> JsonObject:
        uri = str(params.get("uri"))
        self._listening.setdefault(uri, set()).add(ctx.session)
        self.watch(uri)
        return {}

    async def _unsubscribe(self, ctx: Context, params: JsonObject) -> JsonObject:
        self._listening.pop(str(params.get("uri")), None)
        return {}

    def watch(self, uri: str) -> None:
        """Look at the file behind an address now and then, for whoever listens."""
        self._watched.setdefault(uri, self._stamp(uri))
        if self._watcher is None or self._watcher.done():
            self._watcher = asyncio.create_task(self._keep_watching())

    def _stamp(self, uri: str) -> float | None:
        for one in self._resources.all:
            path = one.matches(uri) if isinstance(one, Folder) else None
            if path is not None and isinstance(one, Folder):
                return one.stamps(path)
        return None

    async def _keep_watching(self) -> None:
        while self._watched:
            await self.clock.sleep(WATCH_S)
            for uri, known in list(self._watched.items()):
                stamp = self._stamp(uri)
                if stamp != known:
                    self._watched[uri] = stamp
                    await self.resource_updated(uri)

    async def resource_updated(self, uri: str) -> None:
        """Tell whoever listens that a resource has changed."""
        await self._bus.publish(ResourceUpdated(uri))
        told = types.ResourceUpdatedNotification(params=types.ResourceUpdatedNotificationParams(uri=uri))
        await self._notify_all(uri, told)

    async def resources_changed(self) -> None:
        """Tell whoever listens that there are others."""
        await self._bus.publish(ResourcesListChanged())

    async def _notify_all(self, what: str, notification: types.ServerNotification) -> None:
        for session in list(self._listening.get(what, ())):
            await session.send_notification(notification)

    # The rest ---------------------------------------------------------------------------------------------------------

    async def _complete(self, ctx: Context, params: JsonObject) -> JsonObject:
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
            template = self._resources.template(str(reference.get("uri")))
            suggest = template.suggest.get(name) if template is not None else None
            found = suggest(begun) if suggest is not None else ()
        values: list[Json] = [*found[:SUGGESTIONS_MAX]]
        completion: JsonObject = {"values": values, "total": len(found), "hasMore": len(found) > SUGGESTIONS_MAX}
        return {"completion": completion}

    async def _set_level(self, ctx: Context, params: JsonObject) -> JsonObject:
        level = params.get("level")
        if level not in LEVELS:
            raise MCPError(INVALID_PARAMS, f"level: expected one of {', '.join(LEVELS)}")
        state_of(ctx)[LOG_LEVEL] = level
        return {}

    # Ways to serve ----------------------------------------------------------------------------------------------------

    def app(self, path: str = "/mcp", *, host: str = "127.0.0.1") -> Starlette:
        """Streamable HTTP in both eras at one path, as an application for any ASGI server.

        Args:
            path: where.
            host: under which name it is reached; on this machine alone, other names and origins are refused.
        """
        return self.server.streamable_http_app(streamable_http_path=path, host=host)

    async def run_stdio(self) -> None:
        """Serve the process that started this one, by its pipes, until it closes them."""
        async with stdio_server() as (read, write):
            await self.server.run(read, write, self.server.create_initialization_options())


_MODERN_ONLY = frozenset({"tasks/get", "tasks/update", "tasks/cancel"})
_HANDSHAKE_ONLY = frozenset({"logging/setLevel", "resources/subscribe", "resources/unsubscribe"})


class _Server(Server[dict[str, Any]]):
    """The SDK's server, which says of itself what the service does."""

    def __init__(self, service: McpService, name: str, *, version: str, instructions: str | None) -> None:
        hint = CacheHint(ttl_ms=0, scope="private")
        super().__init__(
            name,
            version=version,
            instructions=instructions,
            cache_hints={"server/discover": hint},
            on_subscriptions_listen=ListenHandler(service._bus),
            get_tool_input_schema=service.schema_of,
        )
        self._service = service

    def get_capabilities(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
        *,
        protocol_version: str | None = None,
    ) -> types.ServerCapabilities:
        return self._service.capabilities(modern=protocol_version in MODERN_PROTOCOL_VERSIONS)


def _page(method: str, items: Sequence[JsonObject], params: JsonObject) -> JsonObject:
    """One page of a list. A cursor says where the next begins, and of which list it was."""
    stamp = hashlib.sha256(f"{method} {len(items)}".encode()).hexdigest()[:8]
    begin_at = _read_cursor(params.get("cursor"), stamp)
    told: JsonObject = {_LISTS[method]: [*items[begin_at : begin_at + PAGE]]}
    if begin_at + PAGE < len(items):
        told["nextCursor"] = base64.urlsafe_b64encode(f"{stamp}:{begin_at + PAGE}".encode()).decode()
    return told


def _read_cursor(cursor: Json, stamp: str) -> int:
    if cursor is None:
        return 0
    try:
        known, _, number = base64.urlsafe_b64decode(str(cursor).encode()).decode().partition(":")
        if known == stamp:
            return int(number)
    except ValueError:
        pass
    raise MCPError(INVALID_PARAMS, "This cursor is of no list, or of one that has changed: begin anew")
