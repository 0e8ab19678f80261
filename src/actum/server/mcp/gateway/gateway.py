"""A gateway: one MCP endpoint in front of other servers, which loses nothing of what they say.

    from actum.server.mcp.gateway.gateway import McpGateway

    gateway = McpGateway([McpServer(name="files", command="npx", args=("server-files",)), McpServer(name="x", url=...)])
    await gateway.run_stdio()            # or: gateway.app()

Every call is a run on the call path, as with `McpService`: judged, limited, on record. What the path allowed goes to
the server as its client said it, and the answer goes to the client as the server said it, schemas and unknown fields
included; one request in front is one request behind. A client is asked only what it declared that it can be asked.

The two eras of the protocol meet here. A server of either may stand behind a client of either:

    server asks while it serves    client with a handshake    asked on the stream of its request
    server asks while it serves    client without one         the call is held open here; the client is answered
                                                              with the question, and its next request goes on with it
    server asks by its result      client with a handshake    asked on the stream, and the server is asked again
    server asks by its result      client without one         the run is paused, on record, and goes on with the answers

What a server answers with a task is a task here, too, for a client that knows tasks; see `gateway.tasks_behind`.

Of several servers, the addresses of resources name their server; see `mcp.address`.

Limits: a call that is held open is lost with this process.
"""

from __future__ import annotations

import base64
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import msgspec
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    NotificationParams,
    ServerCapabilities,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.applications import Starlette

from ....call.limits.limits import Limits
from ....core.call import ToolResult, size_of
from ....core.clock import SystemClock
from ....core.errors import CallError, UsageError
from ....core.event import RunResult
from ....core.holder import Holder
from ....core.identity import Identity
from ....core.interfaces import Clock, Journal
from ....core.json import Json, JsonObject, is_too_deep, size_of_json
from ....core.policy import Answer, Policy
from ....core.process.worker_thread import off_loop, walk
from ....core.secrets.redaction import DEFAULT_REDACTION, WORK
from ....core.user import User
from ....journal.memory import MemoryJournal
from ....journal.recording import RunState
from ....policy.labels import Label
from ....policy.record_mask import RecordMask, reader_mask
from ....protocols.mcp.address import ServerAddresses
from ....protocols.mcp.config import McpServer
from ....protocols.mcp.era import (
    definition_for,
    error_code_for,
    offered,
    passed_on,
    result_for,
)
from ....runs.runner import Runner, unless_stopped
from ....storage.pins import PinStore
from ....toolsets.mcp.error import McpError
from ....toolsets.mcp.session_quota import SessionQuota
from ....toolsets.mcp.toolset import WAIT_S
from ....toolsets.mcp.transport import guard_of
from ....toolsets.wrappers import ToolLabels
from ....transport.egress import Egress
from ...access import LOCAL, Access
from ..calls import (
    INVALID_PARAMS,
    TOO_DEEP,
    NotYet,
    answers_of,
    begin,
    new_call,
    outcome_of,
    resumed,
)
from ..client import LEVELS, LOG_LEVEL, connection_of
from ..http import McpRoutes
from ..parked import Parked
from ..source import INTERNAL_ERROR, RUNS_KEPT, Context, Handler, SourceServer, Visibility, Visible
from ..wire import call_result, definition_as_seen
from .gateway_client import (
    GatewayClient,
    capabilities_of,
    is_behind,
    rests,
    task_of,
)
from .held_call import HeldCall, HeldCalls
from .tasks_behind import (
    ASKED_OF_TASKS,
    TasksBehind,
    as_ours,
    followed,
    with_notes,
)
from .upstream import ServerState, UpstreamToolset
from .user_session import (
    PROMPT,
    READ,
    Heard,
    Sources,
    UserSession,
    UserSessions,
)

if TYPE_CHECKING:
    import httpx2

log = logging.getLogger("actum.mcp")

INTRODUCE_S = 1.0
"""Seconds for which a client that introduces itself waits for servers that were never reached for its user."""
USERS_MAX = 256
"""The most users with connections of their own at a time."""

_KINDS = {
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resources",
}


class McpGateway:
    """Stands in front of other MCP servers.

    Args:
        servers: as they are configured. The tools of one keep their names, those of several get its name before.
        pins: what was approved, for each tenant by itself; without it, what a server offers first is taken, and what
            changes after that held back.
        secrets: what the configuration of servers names, for a user of a tenant.
        auth: logs a user of a tenant in at a server. What a client shows here is never shown to a server.
        egress: the operator's rules for outgoing calls.
        labels: the operator's word on the tools of the servers, by a name or a pattern of names as clients know them.
        value_labels: what the labels of fields of results mean: a client gets no value that its user may not read.
        wait_s: seconds for which a list waits for servers that were never reached for its user, all side by side.
        name, version, policy, limits, journal, visible, who, keys, clock: as for `McpService`.

    Raises:
        UsageError: no server, or two of one name.
    """

    def __init__(
        self,
        servers: Sequence[McpServer],
        *,
        pins: PinStore | None = None,
        secrets: Callable[[User], Mapping[str, str]] = lambda user: {},
        auth: Callable[[McpServer, User], httpx2.Auth | None] = lambda server, user: None,
        egress: Egress | None = None,
        labels: Mapping[str, ToolLabels] | None = None,
        value_labels: Mapping[str, Label] | None = None,
        wait_s: float = WAIT_S,
        name: str = "actum",
        version: str = "",
        policy: Policy | None = None,
        limits: Limits | None = None,
        journal: Journal | None = None,
        visible: Visible | None = None,
        who: Identity | None = None,
        keys: Sequence[bytes] = (),
        clock: Clock | None = None,
    ) -> None:
        servers = [server for server in servers if not server.disabled]
        if not servers or len({server.name for server in servers}) != len(servers):
            raise UsageError("a gateway needs at least one server, and a name of its own for each")
        self._servers, self._pins, self._secrets_of, self._auth_of = servers, pins, secrets, auth
        self._egress, self._labels = egress, labels
        self._value_labels: Mapping[str, Label] = value_labels or {}
        self._wait_s = wait_s
        self._rooms = {server.name: SessionQuota(server) for server in servers}
        self.clock: Clock = clock or SystemClock()
        self.journal: Journal = journal or MemoryJournal(self.clock, runs_max=RUNS_KEPT)
        runner = partial(Runner, policy=policy, limits=limits, journal=self.journal, clock=self.clock, name=name)
        self.runner = runner(())
        self.users = UserSessions(self._session_for, USERS_MAX, lambda toolset: self.runner.with_tools([toolset]))
        self._sources = runner([Sources(self.users)])
        self._parked = Parked(self.journal, self.clock, name)
        self._visibility = Visibility(visible, policy, name, self.clock)
        self._held_calls = HeldCalls(self.clock)
        self._tasks_behind = TasksBehind(self.journal, lambda who: self.users.at(who.user).runner, self._mask)
        self._server = SourceServer(self, name=name, version=version, who=who, keys=keys)
        self.server.add_notification_handler(
            "notifications/roots/list_changed", NotificationParams, self._roots_changed
        )

    @property
    def server(self) -> Server[Any]:
        """The SDK's server, for transports of others."""
        return self._server.server

    @property
    def behind(self) -> tuple[str, ...]:
        """The names of the servers."""
        return tuple(server.name for server in self._servers)

    @property
    def states(self) -> dict[str, ServerState]:
        """How each server does, by its name."""
        return {name: self.users.state(name) for name in self.behind}

    def _session_for(self, whose: User, capabilities: JsonObject) -> UserSession:
        is_single = len(self._servers) == 1

        def upstream(server: McpServer, heard: Heard, met: Callable[[UpstreamToolset], None]) -> UpstreamToolset:
            def logged(params: JsonObject, holder: Holder | None) -> None:
                user.log(params, holder.key if holder is not None else None)

            return UpstreamToolset(
                server,
                addresses=ServerAddresses("" if is_single else server.name),
                capabilities=capabilities,
                met=met,
                pins=self._pins.of_tenant(whose.tenant) if self._pins is not None else None,
                changed=lambda method, params: heard(server.name, method, params),
                logged=logged,
                auth=self._auth_of(server, whose),
                secrets=self._secrets_of(whose),
                guard=guard_of(server, self._egress),
                clock=self.clock,
                wait_s=server.max_timeout if is_single else self._wait_s,
                quota=self._rooms[server.name],
            )

        def upstreams(heard: Heard, met: Callable[[UpstreamToolset], None]) -> dict[str, UpstreamToolset]:
            return {server.name: upstream(server, heard, met) for server in self._servers}

        user = UserSession(upstreams, self.clock, self._labels)
        return user

    # As a source ------------------------------------------------------------------------------------------------------

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """What answers each method."""
        handlers: dict[str, Handler] = {
            "tools/list": self._list_tools,
            "tools/call": self._call_tool,
            "logging/setLevel": self._set_level,
            "prompts/list": self._page_of,
            "prompts/get": self._get_prompt,
            "resources/list": self._page_of,
            "resources/templates/list": self._page_of,
            "resources/read": self._read_resource,
            "resources/subscribe": self._subscribe,
            "resources/unsubscribe": self._unsubscribe,
            "completion/complete": self._complete,
            "subscriptions/listen": self._listen,
            **dict.fromkeys(ASKED_OF_TASKS, self._of_a_task),
        }
        return {method: _told_as_errors(handler) for method, handler in handlers.items()}

    def capabilities(self, *, modern: bool) -> ServerCapabilities:
        """Nothing before a client introduces itself: what is offered is what the servers offer its user."""
        return ServerCapabilities()

    async def introduce(self, ctx: Context, introduction: JsonObject) -> JsonObject:
        """Say what is offered: what the servers behind do, and how they want to be used.

        A server that was not reached in time is taken to offer what it offered when it was last reached, or anything.
        """
        return await _told_as_errors(self._introduce)(ctx, introduction)

    def schema_of(self, name: str) -> Mapping[str, Any] | None:
        """The schema of a tool's arguments for the present caller: some of them may have to come in headers, too."""
        who = self.who()
        tool = self.users.tool_of(who.user, name)
        return tool.parameters if tool is not None and self._visibility.may_call(tool, who) else None

    async def join(self, ctx: Context) -> None:
        """Tell a client with a handshake what changes, from now on."""
        await self._user(ctx)

    async def start(self) -> None:
        """Nothing is to be done: servers are reached when a client wants something of them."""

    async def stop(self) -> None:
        """Leave all servers."""
        await self.close()

    def hang_up(self) -> None:
        """End the streams of those who only listen."""
        self.users.hang_up()

    def who(self) -> Identity:
        """The user of the current request: by its token, where it has one."""
        return self._server.who()

    def _holder(self, ctx: Context) -> Holder:
        """For whom servers keep things open: the client that makes this request."""
        return self._server.client(ctx).holder

    async def close(self) -> None:
        """End the calls that are held open, and leave all servers."""
        await self._held_calls.close()
        await self.users.close()

    # Ways to serve ----------------------------------------------------------------------------------------------------

    def app(
        self, path: str = "/mcp", *, host: str = "127.0.0.1", access: Access = LOCAL, sse: bool = False
    ) -> Starlette:
        """Streamable HTTP in both eras at one path; see `McpService.app`.

        Raises:
            UsageError: others than this machine would reach it, and it wants nothing of them.
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

    # Requests ---------------------------------------------------------------------------------------------------------

    async def _introduce(self, ctx: Context, introduction: JsonObject) -> JsonObject:
        user = await self.users.take(self.who().user, lambda: capabilities_of(ctx))
        await user.begin(self.users.troubled, most_s=INTRODUCE_S)
        modern = ctx.method == "server/discover"
        each_offers = [(upstream.capabilities, upstream.is_modern) for upstream in user.upstreams.values()]
        # A server that is reached later adds to the lists, and the gateway tells of that.
        grows = any(upstream.known is None for upstream in user.upstreams.values())
        capabilities = offered(each_offers, modern=modern, grows=grows)
        told: JsonObject = {**introduction, "capabilities": capabilities}
        words = [(each.server.name, each.known.instructions) for each in user.reached if each.known is not None]
        text = "\n\n".join(said if user.is_single else f"# {name}\n\n{said}" for name, said in words if said)
        if text:
            told["instructions"] = text
        return told

    async def _user(self, ctx: Context) -> UserSession:
        """The session of the user who makes this request."""
        user = await self.users.take(self.who().user, lambda: capabilities_of(ctx))
        if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            await user.join(ctx, self._holder(ctx).key)
        return user

    # Tools ------------------------------------------------------------------------------------------------------------

    async def _list_tools(self, ctx: Context, params: JsonObject) -> JsonObject:
        user, modern = await self._user(ctx), ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        await user.list_tools(self.users.troubled)
        self.users.refresh(user)
        who = self.who()
        may_see, mask = await self._visibility.shown_to(who), self._mask(who)
        told = [
            (definition_for(shown.upstream.addresses.definition(shown.usable.definition), name, modern=modern), shown)
            for name, shown in user.shown.items()
            if may_see(shown.tool)
        ]
        return {"tools": [definition_as_seen(definition, shown.tool, mask) for definition, shown in told]}

    async def _call_tool(self, ctx: Context, params: JsonObject) -> JsonObject:
        name, arguments, who = params.get("name"), params.get("arguments"), self.who()
        user = await self._user(ctx)
        if isinstance(name, str) and name not in user.shown:
            await user.wait_for(name, self.users.troubled)
            self.users.refresh(user)
        shown = user.shown.get(name) if isinstance(name, str) else None
        if shown is None or not self._visibility.may_call(shown.tool, who):
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {str(name)[:128]}")
        if arguments is not None and not isinstance(arguments, dict):
            raise MCPError(INVALID_PARAMS, "arguments: expected an object")
        if is_too_deep(arguments):
            raise MCPError(INVALID_PARAMS, TOO_DEEP)
        client = GatewayClient(ctx, who, params, self._holder(ctx))
        given = cast(JsonObject, await walk(shown.upstream.addresses.arguments, arguments or {}))
        return await self._through(user.runner, shown.tool.name, given, client, who, user, shown.upstream)

    async def _through(
        self,
        runner: Runner,
        tool: str,
        arguments: JsonObject,
        client: GatewayClient,
        who: Identity,
        user: UserSession,
        upstream: UpstreamToolset,
    ) -> JsonObject:
        """Have a call made, and answer with what the server said."""
        state = client.params.get("requestState")
        if isinstance(state, str) and HeldCalls.is_of(state):
            return await self._held_calls.go_on(state, client, who.user)
        work = self._run(runner, tool, arguments, client, who, user)
        if client.is_modern and client.capabilities and not upstream.is_modern:
            return await self._held_calls.begin(HeldCall(client, work), who)
        return await work

    async def _run(
        self, runner: Runner, tool: str, arguments: JsonObject, client: GatewayClient, who: Identity, user: UserSession
    ) -> JsonObject:
        state = client.params.get("requestState")
        known = state if isinstance(state, str) else await self._parked.find(tool, arguments, who)
        user.used += 1
        try:
            if known:
                result = await self._resume(runner, known, client, who)
            else:
                result = await begin(runner, tool, arguments, client, who, new_call(), client.emit)
            if not any(map(is_behind, result.pending)):
                await self._parked.note(tool, arguments, who, result, client, is_known=bool(known))
            return await self._answer(result, client, who)
        finally:
            user.used -= 1
            await client.flush()
            client.detach()

    async def _resume(self, runner: Runner, run_id: str, client: GatewayClient, who: Identity) -> RunResult:
        """Go on with a run that waited for what its client answers by this request.

        Raises:
            MCPError: there is no such call of theirs.
        """
        given = client.params.get("inputResponses")

        async def resume(recording: RunState) -> RunResult:
            waiting = [each.pending for each in recording.waiting()]
            by_task = any(map(task_of, waiting))  # then it is answered by `tasks/update`
            responses = given if isinstance(given, dict) and not by_task else {}
            answers = answers_of(recording, responses, who)
            for asked in waiting:
                if rests(asked) and responses:
                    answers[asked.id] = who.vouched(Answer("answer", by="client", arguments=responses))
            return await runner.resume(
                run_id,
                answers,
                accept=True,
                approver=client,
                peer=client,
                holder=client.holder,
                emit=client.emit,
                begins=unless_stopped,
            )

        return await resumed(run_id, resume, who, runner.journal, self.clock)

    def _mask(self, who: Identity) -> RecordMask:
        """Hides values that a caller may not read."""
        return reader_mask(self._value_labels, who.principal, who.roles)

    async def _answer(self, run: RunResult, client: GatewayClient, who: Identity) -> JsonObject:
        """What a run came to, in the server's own words where they are its outcome.

        Raises:
            MCPError: the server refused, or the call was stopped here and is no tool's.
        """
        for pending in run.pending:
            if task_of(pending):
                return as_ours("tools/call", task_of(pending), run.run_id)
        for pending in run.pending:
            if rests(pending):
                return NotYet(run.run_id, rests(pending)).told()
        outcome = outcome_of(run, client)
        if isinstance(outcome, NotYet):
            return outcome.told()
        if outcome.labels and (seen := self._mask(who).result(outcome)) != outcome:
            return call_result(seen, any_value=client.is_modern)  # no word of the server's, which holds the values
        if outcome.error is not None and client.error is not None:
            raise _refused(client.error, client.method, modern=client.is_modern)
        if client.method != "tools/call" and (outcome.error is not None or client.raw is None):
            bad = outcome.error is not None and outcome.error.code == "invalid_arguments"
            raise MCPError(INVALID_PARAMS if bad else INTERNAL_ERROR, outcome.text)
        size = size_of_json(client.raw) if client.raw is not None else 0
        return await off_loop(WORK * (size + size_of(outcome)), _told, outcome, client)

    async def _of_a_task(self, ctx: Context, params: JsonObject) -> JsonObject:
        """What a client wants of a task is wanted of the server that has it."""
        who = self.who()
        client, reach = GatewayClient(ctx, who, params, self._holder(ctx)), partial(self._user, ctx)
        return await ASKED_OF_TASKS[ctx.method](self._tasks_behind, client, who, reach)

    # Prompts, resources, completion -----------------------------------------------------------------------------------

    async def _page_of(self, ctx: Context, params: JsonObject) -> JsonObject:
        """A page of what the servers list, one server after the other: one request in front is one behind."""
        user, kind = await self._user(ctx), _KINDS[ctx.method]
        await user.begin(self.users.troubled, kind)
        client = GatewayClient(ctx, self.who(), params, self._holder(ctx))
        name, cursor = _read_cursor(params.get("cursor"))
        left = user.offering(kind, name)
        if left and left[0].server.name != name:
            cursor = None  # it is another server's
        sent = {name: value for name, value in passed_on(params).items() if name != "cursor"}
        field = "resourceTemplates" if "templates" in ctx.method else kind
        while left:
            upstream = left[0]
            page = await user.ask(
                upstream, ctx.method, {**sent, "cursor": cursor} if cursor is not None else sent, client
            )
            told = result_for(ctx.method, page or {}, modern=client.is_modern)
            following, items = told.pop("nextCursor", None), told.get(field)
            is_next = isinstance(following, str) and following not in ("", cursor)  # what repeats has no end
            left, cursor = (left, str(following)) if is_next else (left[1:], None)
            told[field] = await walk(_renamed, items, kind, upstream, user) if isinstance(items, list) else []
            if cursor is not None or (told[field] and left):
                told["nextCursor"] = _write_cursor(left[0].server.name, cursor)
            if told[field] or "nextCursor" in told:
                return told
        return {field: []}

    async def _get_prompt(self, ctx: Context, params: JsonObject) -> JsonObject:
        name, arguments, who = params.get("name"), params.get("arguments"), self.who()
        user = await self._user(ctx)
        client = GatewayClient(ctx, who, params, self._holder(ctx))
        await user.begin(self.users.troubled, "prompts")
        upstream, _ = await user.prompt(str(name), client)
        given: JsonObject = {"name": str(name)}
        if isinstance(arguments, dict):
            given["arguments"] = await walk(upstream.addresses.arguments, arguments)
        return await self._through(self._sources, PROMPT, given, client, who, user, upstream)

    async def _read_resource(self, ctx: Context, params: JsonObject) -> JsonObject:
        uri, who = params.get("uri"), self.who()
        if not isinstance(uri, str):
            raise MCPError(INVALID_PARAMS, "uri: expected a string")
        user = await self._user(ctx)
        upstream, there = user.resource(uri)
        given: JsonObject = {"uri": there} if user.is_single else {"uri": there, "server": upstream.server.name}
        client = GatewayClient(ctx, who, params, self._holder(ctx))
        return await self._through(self._sources, READ, given, client, who, user, upstream)

    async def _complete(self, ctx: Context, params: JsonObject) -> JsonObject:
        user, reference = await self._user(ctx), params.get("ref")
        if not isinstance(reference, dict):
            raise MCPError(INVALID_PARAMS, "completion/complete wants ref and argument")
        client = GatewayClient(ctx, self.who(), params, self._holder(ctx))
        if reference.get("type") == "ref/prompt":
            await user.begin(self.users.troubled, "prompts")
            upstream, name = await user.prompt(str(reference.get("name")), client)
            reference = {**reference, "name": name}
        else:
            upstream, there = user.resource(str(reference.get("uri")))
            reference = {**reference, "uri": there}
        modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        result = await upstream.ask(ctx.method, {**passed_on(params), "ref": reference}, client)
        return result_for(ctx.method, result, modern=modern)

    # Listening --------------------------------------------------------------------------------------------------------

    async def _subscribe(self, ctx: Context, params: JsonObject) -> JsonObject:
        user, uri = await self._user(ctx), str(params.get("uri"))
        client = GatewayClient(ctx, self.who(), params, self._holder(ctx))
        if not await user.subscribe(ctx, uri, client):
            raise MCPError(INVALID_PARAMS, "You listen to as many resources as you may")
        self._server.client(ctx).listening.add(uri)
        return {}

    async def _unsubscribe(self, ctx: Context, params: JsonObject) -> JsonObject:
        user, uri = await self._user(ctx), str(params.get("uri"))
        self._server.client(ctx).listening.discard(uri)
        await user.unsubscribe(ctx, uri, GatewayClient(ctx, self.who(), params, self._holder(ctx)))
        return {}

    async def _listen(self, ctx: Context, params: JsonObject) -> JsonObject:
        user = await self._user(ctx)
        who, wanted = self.who(), SubscriptionsListenRequestParams.model_validate(params, by_name=False)

        async def serve(ctx: Context) -> SubscriptionsListenResult:
            return await user.changes.listen(ctx, wanted)

        user.used += 1
        try:
            client = GatewayClient(ctx, who, params, self._holder(ctx))
            async with user.watching(wanted.notifications.resource_subscriptions or (), client):
                if followed(params):
                    ended = await self._tasks_behind.listen(ctx, client, who, user, serve)
                else:
                    ended = await serve(ctx)
        finally:
            user.used -= 1
        return cast(JsonObject, ended.model_dump(by_alias=True, mode="json", exclude_none=True))

    async def _roots_changed(self, ctx: Context, params: NotificationParams) -> None:
        user, who = await self._user(ctx), self.who()
        client = GatewayClient(ctx, who, {}, self._holder(ctx))
        await user.each(user.reached, lambda upstream: upstream.roots_changed(client))

    async def _set_level(self, ctx: Context, params: JsonObject) -> JsonObject:
        level = params.get("level")
        if level not in LEVELS:
            raise MCPError(INVALID_PARAMS, f"level: expected one of {', '.join(LEVELS)}")
        connection_of(ctx).state[LOG_LEVEL] = level
        user = await self._user(ctx)
        client = GatewayClient(ctx, self.who(), params, self._holder(ctx))
        old = [upstream for upstream in user.offering("logging") if not upstream.is_modern]
        await user.each(old, lambda upstream: upstream.ask(ctx.method, {"level": level}, client))
        return {}


def _told_as_errors(handler: Handler) -> Handler:
    """A handler whose client hears of what went wrong behind the gateway as of an error of the protocol."""

    async def answer(ctx: Context, params: JsonObject) -> JsonObject:
        try:
            return await handler(ctx, params)
        except McpError as error:
            modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
            raise _refused(error, ctx.method, modern=modern) from None
        except CallError as error:
            raise MCPError(INTERNAL_ERROR, error.message) from None

    return answer


def _refused(error: McpError, method: str, *, modern: bool) -> MCPError:
    """A server's error, as the client hears it."""
    return MCPError(error_code_for(error.rpc_code, method, modern=modern), error.words, error.data)


def _told(outcome: ToolResult, client: GatewayClient) -> JsonObject:
    """The server's own words, where they are what is on record; what was changed on the way is changed in them, too."""
    raw, known = client.raw, client.result
    if raw is None or (outcome.error is not None and raw.get("isError") is not True):
        return call_result(outcome, any_value=client.is_modern)  # the call path's own, or out of the record
    told = result_for(client.method, raw, modern=client.is_modern)
    if known is not None and (outcome.content, outcome.structured) == (known.content, known.structured):
        return told
    told = cast(JsonObject, DEFAULT_REDACTION.value(told))
    return with_notes(told, outcome, known) if known is not None else told


def _renamed(items: list[Json], kind: str, upstream: UpstreamToolset, user: UserSession) -> list[Json]:
    if kind != "prompts" or user.is_single:
        return items
    return [
        {**item, "name": user.name_of(upstream, str(item.get("name")))} if isinstance(item, dict) else item
        for item in items
    ]


def _write_cursor(server: str, cursor: str | None) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode([server, cursor])).decode()


def _read_cursor(cursor: Json) -> tuple[str, str | None]:
    """Which server's turn it is, empty for the first, and the server's own cursor.

    Raises:
        MCPError: it is none of ours.
    """
    if cursor is None:
        return "", None
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(str(cursor).encode()), type=tuple[str, str | None])
    except (ValueError, msgspec.MsgspecError):
        raise MCPError(INVALID_PARAMS, "This cursor is of no list: begin anew") from None
