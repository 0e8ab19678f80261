"""The way of one user to one server behind a gateway: a wrapped `McpToolset`, whose calls keep the server's own words.

A call comes here by the call path, like any other call. `relay` says what goes to the server and what comes back: our
result goes to the record, and the server's own answer goes to the client.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, cast

from msgspec import Struct

from ....core.call import ToolCall, ToolResult
from ....core.clock import SystemClock
from ....core.errors import CallError, Unavailable
from ....core.holder import Holder
from ....core.interfaces import Clock, Context
from ....core.json import Json, JsonObject, size_of_json
from ....core.process.worker_thread import WALKED, off_loop, walk
from ....core.secrets.redaction import DEFAULT_REDACTION, WORK
from ....protocols.mcp.address import ServerAddresses
from ....protocols.mcp.config import McpServer
from ....protocols.mcp.content import contents_of
from ....protocols.mcp.era import offers_tasks, passed_on, with_tasks
from ....protocols.plain_text import plain_json
from ....storage.pins import PinStore
from ....toolsets.mcp.answer import told_by_server
from ....toolsets.mcp.connection import State
from ....toolsets.mcp.error import McpError
from ....toolsets.mcp.listing import Usable
from ....toolsets.mcp.session import ServerFacts
from ....toolsets.mcp.session_quota import SessionQuota
from ....toolsets.mcp.task import outcome
from ....toolsets.mcp.toolset import WAIT_S, McpToolset
from ....transport.guard import Guard
from .gateway_client import GatewayClient
from .relay import Declaring, RawRelay, Standing, final_task, told_outside

if TYPE_CHECKING:
    import httpx2

ACK_S = 10.0
"""Seconds in which a server has to say what it will tell of."""
VISITS_MAX = 1_000
"""The most pages to which users were sent that are remembered at a time."""
VISIT_CHARS_MAX = 1_000
_ANYTHING = ("tools", "prompts", "resources", "completions", "logging")
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
UPDATED = "notifications/resources/updated"
VISITED = "notifications/elicitation/complete"
TASK = "notifications/tasks"


class ServerState(Struct, frozen=True):
    """How a server behind a gateway does.

    Attributes:
        state: of its connection; `up` where there is a session with it, `resting` after it failed.
        problem: what is the matter, for people; empty where nothing is known to be.
    """

    state: State = "idle"
    problem: str = ""


class Follow(Struct):
    """Tasks that a client wants to be told of.

    Attributes:
        ids: the ids that their server gave them.
        hear: is told the state of a task, in the server's words.
        agreed: the ids of the tasks that the server will tell of.
    """

    ids: frozenset[str]
    hear: Callable[[JsonObject], None]
    agreed: asyncio.Future[frozenset[str]]

    def agree(self, ids: Iterable[Json]) -> None:
        """The server has said which tasks it will tell of."""
        if not self.agreed.done():
            self.agreed.set_result(self.ids.intersection(map(str, ids)))


class UpstreamToolset:
    """The way to one server, for one user: an `McpToolset` whose calls keep the words of server and client.

    Args:
        server: as it is configured.
        addresses: what clients know the server's resources by.
        capabilities: that a session declares which is begun before its client is known.
        met: hears when the server was reached for the first time.
        changed: hears of notifications that belong to no request, resources by the addresses that clients know.
        pins, auth, secrets, clock, wait_s, quota: as for `McpToolset`.

    Attributes:
        server, addresses: the same.
        known: what the server says of itself; None while it was never reached.
    """

    def __init__(
        self,
        server: McpServer,
        *,
        addresses: ServerAddresses,
        capabilities: JsonObject | None = None,
        met: Callable[[UpstreamToolset], None] = lambda _: None,
        pins: PinStore | None = None,
        changed: Callable[[str, JsonObject], None] = lambda method, params: None,
        logged: Callable[[JsonObject, Holder | None], None] = lambda params, holder: None,
        auth: httpx2.Auth | None = None,
        secrets: Mapping[str, str] | None = None,
        guard: Guard | None = None,
        clock: Clock | None = None,
        wait_s: float = WAIT_S,
        quota: SessionQuota | None = None,
    ) -> None:
        self.server = server
        self.addresses = addresses
        self.known: ServerFacts | None = None
        self._clock: Clock = clock or SystemClock()
        self._wait_s = wait_s
        self._met = met
        self._changed = changed
        self._toolset = McpToolset(
            server,
            pins=pins,
            capabilities=capabilities or {},
            changed=self._heard,
            logged=lambda params, holder: logged(self._without_secrets(params), holder),
            met=self._learned,
            auth=auth,
            secrets=secrets,
            guard=guard,
            clock=self._clock,
            wait_s=wait_s,
            quota=quota,
        )
        self._begun_at: float | None = None
        self._visits: dict[str, GatewayClient] = {}
        self._follows: list[Follow] = []
        self._acknowledged: set[str] = set()
        self._awaited: Counter[str] = Counter()
        self._news = asyncio.Event()

    @property
    def is_modern(self) -> bool:
        """It speaks the protocol without a handshake, as far as is known."""
        return self.known is not None and self.known.era == "modern"

    @property
    def has_tasks(self) -> bool:
        """It may answer a call with a task."""
        return self.is_modern and self.known is not None and offers_tasks(self.known.capabilities)

    @property
    def capabilities(self) -> JsonObject:
        """What the server offers, by the names of capabilities. Before it was reached, what it offered when it was last
        reached in an earlier process; and where it never was, all that a server may offer.
        """
        if self.known is not None:
            return self.known.capabilities
        offers = self._toolset.offers
        names = _ANYTHING if offers is None else offers
        return {name: {"subscribe": True} if name == "resources" else {} for name in names}

    @property
    def own_tools(self) -> tuple[Usable, ...]:
        """The tools that may be used, with their definitions as the server told them last.

        Before it told any, those that were approved, but for those that it describes differently to different users:
        which definition is for this user is not known yet.
        """
        unclear = self._toolset.ambiguous
        return tuple(each for each in self._toolset.known_tools if each.name not in unclear)

    @property
    def edition(self) -> tuple[int, int]:
        """Changes when `own_tools` do."""
        return self._toolset.generation, len(self._toolset.ambiguous)

    @property
    def is_up(self) -> bool:
        """There is a session with the server."""
        return self._toolset.is_up

    def may_offer(self, kind: str) -> bool:
        """Whether the server may have a capability, as far as is known; empty for any."""
        offers = self._toolset.offers
        return not kind or offers is None or kind in offers

    # First contact ----------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Have a look at the server in the background, where what is known of it is nothing, or too old."""
        if self._begun_at is None:
            self._begun_at = self._clock.now()
        if self.known is None or self._toolset.is_due:
            self._toolset.introduce()

    @property
    def is_awaited(self) -> bool:
        """It is being reached for the first time."""
        return self.known is None and self._toolset.is_looking

    @property
    def is_troubled(self) -> bool:
        """It failed, or should have been reached long ago."""
        if self.is_up:
            return False
        late = self._begun_at is not None and self._clock.now() >= self._begun_at + self._wait_s
        return self._toolset.failure is not None or (late and self.is_awaited)

    async def list_own(self) -> None:
        """See to it that the tools are known as they are now.

        Raises:
            CallError: nothing is known of them, and the server can not be reached or is not approved.
        """
        self.begin()
        await self._toolset.list_tools()
        if self._toolset.ambiguous:
            await self.meet()

    async def meet(self, most_s: float | None = None) -> None:
        """Wait until the server was reached for the first time, or failed; until `wait_s` after that was begun.

        Args:
            most_s: a shorter wait, in seconds since the attempt began; None for `wait_s`.
        """
        wait_s = self._wait_s if most_s is None else min(most_s, self._wait_s)
        if not self.is_awaited or self._begun_at is None:
            return
        with contextlib.suppress(TimeoutError):
            async with self._clock.timeout(self._begun_at + wait_s - self._clock.now()):
                await self._toolset.looked()

    @property
    def state(self) -> ServerState:
        """How the server does for this user."""
        health = self._toolset.health
        return ServerState("up" if self.is_up else health.state, self._toolset.problem or health.problem)

    def check(self) -> None:
        """Whether the server can be served at all, where it stands alone.

        Raises:
            CallError: it could not be reached.
        """
        if self.known is None and isinstance(self._toolset.failure, CallError):
            raise self._toolset.failure

    # Calls ------------------------------------------------------------------------------------------------------------

    async def execute(self, call: ToolCall, context: Context) -> ToolResult:
        """Make a call; its client gets the server's own words.

        Raises:
            CallError: the server refuses, can not be reached, or says that it failed.
            InputRequired: it asks what its client answers by the next request, or answers with a task.
        """
        final = final_task(context)
        if final is None:
            return self._noted(context, await self._toolset.execute(call, context, RawRelay(context, self)))
        context.conceal(*self._toolset.concealed)
        raw = outcome(final)
        return await off_loop(WALKED * size_of_json(raw), told_by_server, call.id, raw, reads_only=False)

    async def read_raw(self, uri: str, call_id: str, context: Context) -> ToolResult:
        """A resource, for the record; its client gets the server's own words."""
        raw = await self._passed_on("resources/read", {"uri": uri}, context)
        return self._noted(context, ToolResult(call_id, await walk(contents_of, raw)))

    async def prompt_raw(self, name: str, arguments: JsonObject, call_id: str, context: Context) -> ToolResult:
        """A prompt, likewise."""
        given: JsonObject = {"arguments": arguments} if arguments else {}
        raw = await self._passed_on("prompts/get", {"name": name, **given}, context)
        messages = raw.get("messages")
        structured = await walk(plain_json, messages)
        return self._noted(context, ToolResult(call_id, structured=structured))

    async def _passed_on(self, method: str, params: JsonObject, context: Context) -> JsonObject:
        self._toolset.check_approved()
        relay = RawRelay(context, self)
        return await self._toolset.request(method, params, relay, paused=await relay.resume())

    def _noted(self, context: Context, result: ToolResult) -> ToolResult:
        client = context.peer
        if isinstance(client, GatewayClient):
            client.result = result
        return result

    # What is no tool --------------------------------------------------------------------------------------------------

    async def ask(self, method: str, params: JsonObject, client: GatewayClient) -> JsonObject:
        """A request that calls nothing: a page of a list, a completion. It goes over its client's own session."""
        self._toolset.check_approved()
        caller = Declaring(client.capabilities)
        raw = await self._toolset.connection.request(method, params, caller=caller, holder=client.holder)
        return await self.outside(method, raw)

    async def outside(self, method: str, raw: JsonObject) -> JsonObject:
        """A result of the server, as clients are told it."""
        return await walk(partial(self.addresses.result, method), raw)

    async def ask_after(self, method: str, client: GatewayClient, task_id: str) -> JsonObject:
        """What its client wants of a task, wanted of the server, by its own name of the task."""
        self._toolset.check_approved()
        answers = client.params.get("inputResponses")
        given: JsonObject = {"inputResponses": await walk(self._answers, answers)} if answers is not None else {}
        sent = {**passed_on(client.params), **given, "taskId": task_id}
        caller = Declaring(with_tasks(client.capabilities))
        raw = await self._toolset.connection.request(method, sent, caller=caller, holder=client.holder)
        return await self.outside(method, raw)

    def _answers(self, answers: Json) -> Json:
        if not isinstance(answers, dict):
            return answers
        return {key: self.addresses.answer(each) if isinstance(each, dict) else each for key, each in answers.items()}

    @asynccontextmanager
    async def following(
        self, task_ids: Iterable[str], client: GatewayClient, hear: Callable[[JsonObject], None]
    ) -> AsyncIterator[frozenset[str]]:
        """A block in which the server tells the states of tasks: those that it has agreed to tell of."""
        follow = Follow(frozenset(task_ids), hear, asyncio.get_running_loop().create_future())
        wanted: JsonObject = {"taskIds": list[Json](sorted(follow.ids))}

        async def listen() -> None:
            with contextlib.suppress(CallError):  # it does not do that, or is gone
                caller = Declaring(with_tasks(client.capabilities))
                await self._toolset.connection.listen_for(wanted, caller, holder=client.holder)
            follow.agree(())

        self._follows.append(follow)
        listening = asyncio.create_task(listen())
        try:
            with contextlib.suppress(TimeoutError):
                async with self._clock.timeout(ACK_S):
                    await asyncio.shield(follow.agreed)
            follow.agree(())
            yield follow.agreed.result()
        finally:
            self._follows.remove(follow)
            listening.cancel()

    def _agreed(self, found: JsonObject) -> bool:
        """Whether what the server acknowledged is what it was asked of tasks."""
        ids = found.get("taskIds", [])
        waiting = (each for each in self._follows if not each.agreed.done())
        follow = next((each for each in waiting if isinstance(ids, list) and each.ids.issuperset(map(str, ids))), None)
        if follow is None or (found and "taskIds" not in found):
            return False
        follow.agree(ids if isinstance(ids, list) else ())
        return True

    async def without_secrets(self, told: JsonObject) -> JsonObject:
        """What the server told, fit to be written down."""
        return await off_loop(WORK * size_of_json(told), self._without_secrets, told)

    def _without_secrets(self, told: JsonObject) -> JsonObject:
        return cast(JsonObject, DEFAULT_REDACTION.value(told, self._toolset.concealed))

    async def watch(self, uri: str, client: GatewayClient) -> None:
        """Have the server tell when a resource changes; it does when this returns.

        It tells that over the session of the client, where what the client does is seen.

        Raises:
            McpError: it will not.
            Unavailable: it does not say.
        """
        self._toolset.check_approved()
        connection, caller = self._toolset.connection, Declaring(client.capabilities)
        await connection.facts(caller=caller, holder=client.holder)
        if not self.is_modern:
            try:
                await connection.request("resources/subscribe", {"uri": uri}, caller=caller, holder=client.holder)
            except McpError as error:
                raise told_outside("resources/subscribe", error, self.addresses) from None
            connection.listen([uri], holder=client.holder, caller=caller)  # on the next connection, too
            return
        self._acknowledged.discard(uri)
        self._awaited[uri] += 1
        connection.listen([uri], holder=client.holder, caller=caller)
        try:
            async with self._clock.timeout(ACK_S):
                while uri not in self._acknowledged:
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            raise Unavailable(
                "The MCP server {server!r} does not say that it will tell of this.", server=self.server.name
            ) from None
        finally:
            self._awaited -= Counter([uri])

    async def unwatch(self, uris: Sequence[str], holder: Holder) -> None:
        """A client does not want to hear of these any more."""
        connection = self._toolset.connection
        connection.unlisten(uris, holder=holder)
        if not self.is_modern and holder.state != "over":  # else its session ends, and what it listened to with it
            for uri in uris:
                await connection.request("resources/unsubscribe", {"uri": uri}, holder=holder)

    async def roots_changed(self, client: GatewayClient) -> None:
        """A client has other directories than before."""
        if self.is_up and not self.is_modern and "roots" in client.capabilities:
            await self._toolset.connection.roots_changed(Standing(client, self._clock), holder=client.holder)

    def note_visit(self, asked: Json, client: GatewayClient) -> None:
        """A client was asked to send its user to a page: it is told when that is done, and nobody else is."""
        name = asked.get("elicitationId") if isinstance(asked, dict) else None
        if isinstance(name, str) and len(name) <= VISIT_CHARS_MAX and not client.is_modern:
            while len(self._visits) >= VISITS_MAX:
                del self._visits[next(iter(self._visits))]
            self._visits[name] = client

    def _heard(self, method: str, params: JsonObject) -> None:
        if method == VISITED:
            client = self._visits.pop(str(params.get("elicitationId")), None)
            if client is not None:
                client.pass_on(method, params)
            return
        if method == TASK:
            for follow in self._follows:
                if str(params.get("taskId")) in follow.ids:
                    follow.hear(params)
            return
        if method == ACKNOWLEDGED:
            found = params.get("notifications")
            if isinstance(found, dict) and self._agreed(found):
                return
            uris = found.get("resourceSubscriptions") if isinstance(found, dict) else None
            told = set(map(str, uris)) if isinstance(uris, list) else set()
            self._acknowledged |= told & self._awaited.keys()
            self._news.set()
            return
        self._changed(method, self.addresses.updated(params) if method == UPDATED else params)

    def _learned(self, facts: ServerFacts) -> None:
        """A session with the server was begun."""
        is_first, self.known = self.known is None, facts
        if is_first:
            self._met(self)

    async def close(self) -> None:
        """Leave the server. What is asked after that reaches it again."""
        await self._toolset.close()
