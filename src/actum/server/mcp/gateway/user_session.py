"""What a gateway keeps for each of its users: a way to every server, what these offer, and who listens.

Nothing of it is shared between users: no connection, no credentials, no state of a server. A server may describe one
tool differently to different users, so each user has a catalog: calls are held against the definitions that their user
was shown. Users who were shown the same share the catalog.

The tools of one server keep their names. Of several, each has its server's name before its own, as at a host.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary, WeakValueDictionary

import msgspec
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.shared.subscriptions import ServerEvent, event_from_wire
from msgspec import Struct

from ....core.call import ToolCall, ToolResult
from ....core.errors import CallError, UnknownTool
from ....core.holder import HolderKey
from ....core.interfaces import Clock, Context, Toolset
from ....core.json import JsonObject
from ....core.process.worker_thread import walk
from ....core.tool import Tool
from ....core.user import User
from ....protocols.mcp.name import public_name
from ....runs.runner import Runner
from ....toolsets.mcp.error import INVALID_PARAMS, McpError
from ....toolsets.mcp.listing import Usable
from ....toolsets.mcp.pages import all_pages
from ....toolsets.wrappers import ToolLabels, labels_of
from ..changes import Changes
from ..client import LEVELS, LOG_LEVEL, connection_of
from ..service import URI_CHARS_MAX
from .gateway_client import USUAL_LEVEL, GatewayClient
from .relay import client_of
from .upstream import ServerState, UpstreamToolset

log = logging.getLogger("actum.mcp")

RETRY_S = 30.0
"""Seconds until a server that could not be reached is tried again, where there are others."""
ANSWER_S = 5.0
"""Seconds in which a server has to answer what is asked of several at once: a page of a list, a level."""
MESSAGE = "notifications/message"
NEWS_MAX = 1_000
"""The most changes that may wait to be told; a server that tells of more loses the oldest."""


Heard: TypeAlias = Callable[[str, str, JsonObject], None]
"""Hears a notification: the server's name, method, parameters."""
Upstreams: TypeAlias = Callable[[Heard, Callable[[UpstreamToolset], None]], Mapping[str, UpstreamToolset]]


class Logged(Struct, frozen=True):
    """What a server logged while no call was under way.

    Attributes:
        params: of the notification.
        holder: whose session it came over; None where it is nobody's, and so any client may be meant.
    """

    params: JsonObject
    holder: HolderKey | None


class ShownTool(Struct, frozen=True):
    """A tool as a user's clients see it.

    Attributes:
        upstream: the way to its server.
        usable: the tool there.
        tool: under the name that clients know.
    """

    upstream: UpstreamToolset
    usable: Usable
    tool: Tool


class Watched(Struct, frozen=True):
    """A resource whose changes a server tells a client.

    Attributes:
        upstream: the way to the server.
        uri: the server's own address of the resource.
        client: the client that asked to be told.
    """

    upstream: UpstreamToolset
    uri: str
    client: GatewayClient


class UserSession:
    """What is kept for one user.

    Args:
        upstreams: a way to each server, made with what hears its notifications, and what hears when it was reached for
            the first time.
        clock: time.
        labels: the operator's word on the tools, by a name or a pattern of names as clients know them.

    Attributes:
        upstreams: by the server's name.
        shown: the tools by the names that clients know.
        runner: makes the calls of these tools.
        changes: tells clients of either era what has changed.
        used: how many requests are under way.
    """

    def __init__(self, upstreams: Upstreams, clock: Clock, labels: Mapping[str, ToolLabels] | None = None) -> None:
        self._clock = clock
        self._labels = labels or {}
        self._news: dict[object, ServerEvent | Logged] = {}
        self._keys: WeakKeyDictionary[Connection, HolderKey] = WeakKeyDictionary()
        self._teller: asyncio.Task[None] | None = None
        self._seen: tuple[tuple[int, int], ...] = ()
        self._told_without: set[tuple[str, str]] = set()
        self._slow_until: dict[str, float] = {}
        self._prompts: dict[str, tuple[UpstreamToolset, str]] = {}
        self.upstreams = upstreams(self._heard, self._met)
        self.shown: dict[str, ShownTool] = {}
        self._runner: Runner | None = None
        self.changes = Changes(clock, _told_by_servers, self._somebody_left)
        self._watched: dict[tuple[HolderKey, str], Watched] = {}
        self._wanted: list[tuple[HolderKey, Sequence[str]]] = []
        self._subscribed: dict[HolderKey, set[str]] = {}
        self._tidying: asyncio.Task[None] | None = None
        self.used = 0

    @property
    def is_single(self) -> bool:
        """There is one server only, whose names are kept."""
        return len(self.upstreams) == 1

    @property
    def runner(self) -> Runner:
        """Makes the calls of the tools that this user is shown."""
        assert self._runner is not None
        return self._runner

    def use(self, runner: Runner) -> None:
        """From now on this runner makes the calls."""
        self._runner = runner

    def look(self) -> bool:
        """Take in what is known of the servers now. None is waited for.

        Returns:
            Whether the tools are others than before.
        """
        shown = [self._shown(upstream, usable) for upstream in self.upstreams.values() for usable in upstream.own_tools]
        seen = tuple(upstream.edition for upstream in self.upstreams.values())
        if seen == self._seen:
            return False
        self._seen = seen
        self.shown = {each.tool.name: each for each in shown}
        return True

    # Waiting ----------------------------------------------------------------------------------------------------------

    async def begin(self, troubled: Callable[[], Collection[str]], kind: str = "", most_s: float | None = None) -> None:
        """Reach for the servers, and wait for those that were never reached; see `UpstreamToolset.meet`.

        Args:
            troubled: tells the names of servers that are not waited for: other users can not reach them either.
            kind: the capability for which they are waited for; empty for any.
            most_s: seconds for which they are waited for at most, where there are several.

        Raises:
            CallError: there is one server only, and it can not be reached.
        """
        for upstream in self.upstreams.values():
            upstream.begin()
        if self.is_single:
            (upstream,) = self.upstreams.values()
            await upstream.meet()
            upstream.check()
            return
        awaited = [each for each in self._awaited(troubled) if each.may_offer(kind)]
        await asyncio.gather(*(upstream.meet(most_s) for upstream in awaited))
        if kind:
            self._told_without |= {(kind, name) for name, each in self.upstreams.items() if each.known is None}

    def _awaited(self, troubled: Callable[[], Collection[str]]) -> list[UpstreamToolset]:
        """The ways to servers that are being reached for the first time, as far as they are waited for."""
        awaited = [upstream for upstream in self.upstreams.values() if upstream.is_awaited]
        left_out = troubled() if awaited else ()
        return [upstream for upstream in awaited if upstream.server.name not in left_out]

    async def list_tools(self, troubled: Callable[[], Collection[str]]) -> None:
        """See to it that the tools are known as they are now; see `begin`.

        Raises:
            CallError: there is one server only, and it can not be reached.
        """

        async def listed(upstream: UpstreamToolset) -> None:
            with contextlib.suppress(CallError):  # it said so in the log
                await upstream.list_own()

        if self.is_single:
            (upstream,) = self.upstreams.values()
            await upstream.list_own()
            return
        for upstream in self.upstreams.values():
            upstream.begin()
        awaited = self._awaited(troubled)
        await asyncio.gather(
            *(listed(each) for each in self.upstreams.values() if not each.is_awaited or each in awaited)
        )
        self._told_without |= {("tools", name) for name, each in self.upstreams.items() if each.known is None}

    async def wait_for(self, tool: str, troubled: Callable[[], Collection[str]]) -> None:
        """Wait until a tool is known, or all servers that were unknown until now were reached or failed; see `begin`.

        Raises:
            CallError: there is only one server, and this server can not be reached.
        """
        if self.is_single:
            await self.list_tools(troubled)
            return
        for upstream in self.upstreams.values():
            upstream.begin()
        awaited = self._awaited(troubled)
        meeting = {asyncio.create_task(upstream.meet()) for upstream in awaited}
        try:
            while meeting and not any(usable.tool.name == tool for each in awaited for usable in each.own_tools):
                _, meeting = await asyncio.wait(meeting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in meeting:
                task.cancel()

    def _met(self, upstream: UpstreamToolset) -> None:
        """A server was reached for the first time: clients that were told of the others already are told of it."""
        name = upstream.server.name
        for kind in ("tools", "prompts", "resources"):
            if (kind, name) in self._told_without:
                self._told_without.discard((kind, name))
                self._heard(name, f"notifications/{kind}/list_changed", {})

    def _shown(self, upstream: UpstreamToolset, usable: Usable) -> ShownTool:
        tool = msgspec.structs.replace(usable.tool, name=usable.name) if self.is_single else usable.tool
        return ShownTool(upstream, usable, labels_of(tool.name, self._labels).on(tool))

    @property
    def reached(self) -> list[UpstreamToolset]:
        """The ways to servers that are known."""
        return [upstream for upstream in self.upstreams.values() if upstream.known is not None]

    def offering(self, kind: str, first: str = "") -> list[UpstreamToolset]:
        """The ways to servers that offer something, by the name of the capability.

        Args:
            kind: the capability.
            first: leave out the servers before the one of this name.
        """
        names = list(self.upstreams)
        late = names[names.index(first) :] if first in names else names
        return [
            each
            for each in self.reached
            if each.known is not None and kind in each.known.capabilities and each.server.name in late
        ]

    # Asking -----------------------------------------------------------------------------------------------------------

    async def ask(
        self, upstream: UpstreamToolset, method: str, params: JsonObject, client: GatewayClient
    ) -> JsonObject | None:
        """What a server answers to a request that calls nothing; None where it does not, and there are other servers.

        Raises:
            CallError: it refuses, or can not be reached, and there is no other server.
        """
        found: list[JsonObject] = []

        async def asked(upstream: UpstreamToolset) -> None:
            found.append(await upstream.ask(method, params, client))

        await self.each([upstream], asked)
        return found[0] if found else None

    async def each(
        self, upstreams: Sequence[UpstreamToolset], do: Callable[[UpstreamToolset], Awaitable[object]]
    ) -> None:
        """Do something at several servers at once. One that fails, or takes long, keeps nobody from the others.

        Raises:
            CallError: it failed, and there is one server only.
        """

        async def done(upstream: UpstreamToolset) -> None:
            name = upstream.server.name
            if self._clock.now() < self._slow_until.get(name, 0.0):
                return
            try:
                async with self._clock.timeout(ANSWER_S):
                    await do(upstream)
            except TimeoutError:
                self._slow_until[name] = self._clock.now() + RETRY_S
                log.warning("mcp gateway: %s does not answer", name)
            except CallError as error:
                log.info("mcp gateway: %s: %s", name, error)

        if self.is_single:
            for upstream in upstreams:
                await do(upstream)
        else:
            await asyncio.gather(*map(done, upstreams))

    # Whose it is ------------------------------------------------------------------------------------------------------

    def name_of(self, upstream: UpstreamToolset, name: str) -> str:
        """What clients know a tool or a prompt of a server by."""
        return name if self.is_single else public_name(upstream.server.name, name)

    async def prompt(self, name: str, client: GatewayClient) -> tuple[UpstreamToolset, str]:
        """The way to the server that has the prompt of this name, and its name there.

        Raises:
            McpError: there is none.
        """
        if self.is_single:
            return next(iter(self.upstreams.values())), name
        # The server that gave its name to the prompt first: the others need not be asked then.
        for upstream in sorted(self.offering("prompts"), key=lambda each: not name.startswith(each.server.name)):
            if name in self._prompts:
                break
            asked = partial(self._page, upstream, "prompts/list", client)
            found = await walk(partial(self._named, upstream), (await all_pages("prompts/list", asked)).items)
            self._prompts = {known: at for known, at in self._prompts.items() if at[0] is not upstream} | found
        if name not in self._prompts:
            raise McpError(INVALID_PARAMS, f"Unknown prompt: {name[:128]}")
        return self._prompts[name]

    def resource(self, uri: str) -> tuple[UpstreamToolset, str]:
        """The way to the server that an address names, and the address there. No other server is asked for it.

        Raises:
            McpError: it names no server.
        """
        for upstream in self.upstreams.values():
            there = upstream.addresses.inward(uri)
            if there is not None:
                return upstream, there
        upstream = next(iter(self.upstreams.values()))
        data: JsonObject = {"uri": uri[:2_000]}
        raise McpError(
            INVALID_PARAMS,
            "Resource not found: several servers stand here, and an address begins with its server, "
            f"as in {upstream.addresses.prefix}memo://today",
            data,
        )

    def server(self, name: str) -> UpstreamToolset:
        """The way to the server of this name; to the only one, where it stands alone.

        Raises:
            UnknownTool: there is none.
        """
        upstream = next(iter(self.upstreams.values())) if self.is_single else self.upstreams.get(name)
        if upstream is None:
            raise UnknownTool("There is no server {name!r} here any more.", name=name[:64])
        return upstream

    async def _page(
        self, upstream: UpstreamToolset, method: str, client: GatewayClient, params: JsonObject
    ) -> JsonObject:
        """A page of what a server lists; an empty one where it does not answer, and there are other servers."""
        return await self.ask(upstream, method, params, client) or {}

    def _named(self, upstream: UpstreamToolset, listed: Sequence[JsonObject]) -> dict[str, tuple[UpstreamToolset, str]]:
        own = [str(item.get("name")) for item in listed]
        return {self.name_of(upstream, name): (upstream, name) for name in own}

    # What changes -----------------------------------------------------------------------------------------------------

    def _heard(self, server: str, method: str, params: JsonObject) -> None:
        """A server tells that something has changed."""
        if method == "notifications/prompts/list_changed":
            self._prompts = {}
        event = event_from_wire(method, params)
        uri = params.get("uri")
        if event is not None and not (isinstance(uri, str) and len(uri) > URI_CHARS_MAX):
            self._add(event, event)

    def log(self, params: JsonObject, holder: HolderKey | None) -> None:
        """A server logs something while no call is under way: its clients with a handshake hear it."""
        self._add(Logged(params, holder), object())

    def _add(self, news: ServerEvent | Logged, key: object) -> None:
        """Have something told, what has a key that already waits once."""
        self._news.setdefault(key, news)
        if len(self._news) > NEWS_MAX:
            del self._news[next(iter(self._news))]
        if self._teller is None or self._teller.done():
            self._teller = asyncio.create_task(self._tell())

    async def _tell(self) -> None:
        """Pass on what changed to all that listen, in order."""
        while self._news:
            news = self._news.pop(next(iter(self._news)))
            if isinstance(news, Logged):
                await self.changes.tell(MESSAGE, news.params, partial(self._wants, news))
            else:
                await self.changes.publish(news)

    async def join(self, ctx: ServerRequestContext[Any, Any], key: HolderKey) -> None:
        """A client with a handshake is told of changes, and of what servers log over its session."""
        self._keys[connection_of(ctx)] = key
        await self.changes.join(ctx)

    def _wants(self, logged: Logged, connection: Connection) -> bool:
        """Whether a client is the one that a server means, and wants to hear of this level."""
        is_meant = logged.holder is None or self._keys.get(connection) == logged.holder
        level, least = logged.params.get("level"), connection.state.get(LOG_LEVEL, USUAL_LEVEL)
        return is_meant and level in LEVELS and LEVELS.index(str(level)) >= LEVELS.index(least)

    # What is listened to ----------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def watching(self, uris: Sequence[str], client: GatewayClient) -> AsyncIterator[None]:
        """A block in which the servers tell a client when these resources change; they go on while it listens.

        Raises:
            McpError: there is no such resource, or its server will not.
        """
        key = client.holder.key
        self._wanted.append((key, uris))
        try:
            for uri in uris:
                if (key, uri) not in self._watched:
                    upstream, there = self.resource(uri)
                    await upstream.watch(there, client)
                    self._watched[key, uri] = Watched(upstream, there, client)
            yield
        finally:
            self._wanted.remove((key, uris))
            self._somebody_left()

    async def subscribe(self, ctx: ServerRequestContext[Any, Any], uri: str, client: GatewayClient) -> bool:
        """A client with a handshake listens to a resource; False when it listens to as many as it may."""
        async with self.watching([uri], client):
            if not await self.changes.subscribe(ctx, uri):
                return False
            self._subscribed.setdefault(client.holder.key, set()).add(uri)
        return True

    async def unsubscribe(self, ctx: ServerRequestContext[Any, Any], uri: str, client: GatewayClient) -> None:
        """It does no more."""
        self.changes.unsubscribe(ctx, uri)
        self._subscribed.get(client.holder.key, set()).discard(uri)
        await self.tidy()

    async def tidy(self) -> None:
        """Tell the servers of what their clients do not listen to any more."""
        while (idle := next((key for key in self._watched if not self._is_wanted(*key)), None)) is not None:
            first = self._watched[idle]
            theirs = [
                key
                for key, each in self._watched.items()
                if each.upstream is first.upstream and key[0] == idle[0] and not self._is_wanted(*key)
            ]
            uris = [self._watched.pop(key).uri for key in theirs]
            with contextlib.suppress(CallError):  # it is gone, and forgets by itself
                await first.upstream.unwatch(uris, first.client.holder)

    def _is_wanted(self, key: HolderKey, uri: str) -> bool:
        if any(key == other and uri in several for other, several in self._wanted):
            return True
        if self._watched[key, uri].client.holder.state == "over":
            self._subscribed.pop(key, None)
        return uri in self._subscribed.get(key, ())

    def _somebody_left(self) -> None:
        """Tidy up after a client has left. The client does not wait for this: it may be gone already."""
        if self._watched and (self._tidying is None or self._tidying.done()):
            self._tidying = asyncio.create_task(self.tidy())

    async def close(self) -> None:
        """Leave all servers."""
        self._watched = {}
        for task in (self._teller, self._tidying):
            if task is not None:
                task.cancel()
        await self.changes.stop()
        await asyncio.gather(*(upstream.close() for upstream in self.upstreams.values()))


async def _told_by_servers(_: ServerEvent) -> None:
    """Nothing is looked after here: the servers tell what changes."""


class UserSessions:
    """The sessions of all users.

    Args:
        make: makes the session of a user, whose first client has these capabilities.
        most: the most sessions that are kept; beyond that, the one that was unused the longest is given up.
        runner: makes calls of given tools.
    """

    def __init__(
        self, make: Callable[[User, JsonObject], UserSession], most: int, runner: Callable[[Toolset], Runner]
    ) -> None:
        self._make = make
        self._most = most
        self._runner = runner
        self._runners: WeakValueDictionary[bytes, Runner] = WeakValueDictionary()
        self._users: dict[User, UserSession] = {}

    async def take(self, whose: User, capabilities: Callable[[], JsonObject]) -> UserSession:
        """What is kept for a user, with what is known of their servers.

        Args:
            whose: the user.
            capabilities: of the client that asks.
        """
        user = self._users.pop(whose, None) or self._make(whose, capabilities())
        self._users[whose] = user  # at the end: it was used last
        await self._make_room()
        self.refresh(user)
        return user

    def refresh(self, user: UserSession) -> None:
        """Take in what is known of the servers of a user now."""
        if user.look():
            user.use(self._runner_for(user))

    def troubled(self) -> set[str]:
        """The names of servers that nobody reaches now, although somebody tried to."""
        upstreams = [item for user in self._users.values() for item in user.upstreams.items()]
        return {name for name, each in upstreams if each.is_troubled} - {name for name, each in upstreams if each.is_up}

    def _runner_for(self, user: UserSession) -> Runner:
        """What makes calls of the tools of a user; one runner for all users who have the same tools."""
        tools = tuple(shown.tool for shown in user.shown.values())
        key = hashlib.sha256("".join(tool.digest for tool in tools).encode()).digest()
        runner = self._runners.get(key)
        if runner is None:
            runner = self._runners[key] = self._runner(UserTools(self, tools))
        return runner

    async def _make_room(self) -> None:
        if len(self._users) <= self._most:
            return
        spare = [name for name, user in self._users.items() if not user.used and not user.changes.listeners]
        for idle in spare[: len(self._users) - self._most]:
            await self._users.pop(idle).close()

    def state(self, server: str) -> ServerState:
        """The state of a server: for a user who can reach the server, else for the user who tried last."""
        states = [user.upstreams[server].state for user in self._users.values()]
        return max(reversed(states), key=lambda each: (each.state == "up", bool(each.problem)), default=ServerState())

    def tool_of(self, whose: User, name: str) -> Tool | None:
        """A tool as a user was shown it; None where the user has no such tool here."""
        user = self._users.get(whose)
        return user.shown[name].tool if user is not None and name in user.shown else None

    def at(self, whose: User) -> UserSession:
        """What is kept for a user.

        Raises:
            UnknownTool: they have none.
        """
        if whose not in self._users:
            raise UnknownTool("This user has no connection here any more.")
        return self._users[whose]

    def hang_up(self) -> None:
        """End the streams of those who only listen."""
        for user in self._users.values():
            user.changes.hang_up()

    async def close(self) -> None:
        """Leave all servers of all users."""
        users, self._users = self._users, {}
        await asyncio.gather(*(user.close() for user in users.values()))


class UserTools:
    """Tools of servers as some users are shown them: the catalog of the call path for these users.

    Args:
        users: what is kept for all users.
        tools: under the names that clients know.
    """

    generation = 0

    def __init__(self, users: UserSessions, tools: Sequence[Tool]) -> None:
        self._users = users
        self._tools = {tool.name: tool for tool in tools}

    async def list_tools(self) -> Sequence[Tool]:
        return tuple(self._tools.values())

    async def execute(self, call: ToolCall, context: Context) -> ToolResult:
        """Pass a call on, by the way of its user.

        Raises:
            UnknownTool: the user has no such tool any more, or is shown another one under this name by now.
            CallError: the server refuses, or can not be reached.
        """
        shown = self._users.at(context.user).shown.get(call.name)
        if shown is None or shown.tool.digest != self._tools[call.name].digest:
            raise UnknownTool("{call} is not what it was any more: list the tools again.", call=call.name)
        return await shown.upstream.execute(msgspec.structs.replace(call, name=shown.usable.tool.name), context)


class Sources:
    """Reading and prompts as tools of the call path; what is read is named by the arguments.

    Args:
        users: what is kept for all users.
    """

    generation = 0

    def __init__(self, users: UserSessions) -> None:
        self._users = users

    async def list_tools(self) -> Sequence[Tool]:
        return (_READ, _PROMPT)

    async def execute(self, call: ToolCall, context: Context) -> ToolResult:
        """Pass it on.

        Raises:
            CallError: the server refuses, or can not be reached.
        """
        user = self._users.at(context.user)
        if call.name == READ:
            upstream = user.server(str(call.arguments.get("server", "")))
            return await upstream.read_raw(str(call.arguments["uri"]), call.id, context)
        upstream, name = await user.prompt(str(call.arguments["name"]), client_of(context))
        given = call.arguments.get("arguments")
        return await upstream.prompt_raw(name, given if isinstance(given, dict) else {}, call.id, context)


READ, PROMPT = "read_resource", "get_prompt"


def _source(name: str, description: str, required: str, properties: JsonObject) -> Tool:
    schema: JsonObject = {"type": "object", "properties": properties, "required": [required]}
    return Tool(name=name, description=description, parameters=schema, effects=frozenset({"read"}), foreign=True)


_READ = _source(
    READ, "Read a resource by its address.", "uri", {"uri": {"type": "string"}, "server": {"type": "string"}}
)
_PROMPT = _source(PROMPT, "Fill in a prompt.", "name", {"name": {"type": "string"}, "arguments": {"type": "object"}})
