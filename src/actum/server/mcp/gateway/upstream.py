"""The way of one user to one server behind a gateway: a toolset whose calls keep the server's own words.

A call comes here by the call path, like any other. What goes to the server is what its client sent, with the arguments
that the path allowed; what comes back goes to the record as our result, and to the client as it is. What the server
asks meanwhile is asked of that client, if it declared that it can be.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, cast

import msgspec
from msgspec import Struct

from ....core.call import ToolCall, ToolResult
from ....core.errors import (
    CallError,
    InvalidResult,
    Unavailable,
    UsageError,
)
from ....core.holder import Holder
from ....core.interfaces import Clock, Context, InputRequired
from ....core.json import Json, JsonObject, dumps
from ....core.pending import Pending
from ....core.record import new_id
from ....core.redaction import DEFAULT_REDACTION
from ....protocols.mcp.address import ServerAddresses
from ....protocols.mcp.config import McpServer
from ....protocols.mcp.content import contents_of
from ....protocols.mcp.era import offers_tasks, passed_on, with_tasks
from ....protocols.mcp.sampling import request_of, result_of_reply
from ....protocols.plain_text import plain, plain_json
from ....storage.pins import PinStore
from ....toolsets.mcp.caller import ContextCaller
from ....toolsets.mcp.connection import State
from ....toolsets.mcp.error import INVALID_PARAMS, MISSING_CAPABILITY, McpError
from ....toolsets.mcp.listing import Usable
from ....toolsets.mcp.room import Room
from ....toolsets.mcp.session import McpSession, Nobody, ServerFacts
from ....toolsets.mcp.task import outcome
from ....toolsets.mcp.toolset import (
    STARTED_ANEW,
    WAIT_S,
    McpToolset,
    told_by_server,
    with_notice,
)
from .gateway_client import GatewayClient

if TYPE_CHECKING:
    import httpx2

ACK_S = 10.0
"""Seconds in which a server has to say what it will tell of."""
ROOTS_S = 10.0
"""Seconds in which a client has to say what its directories are, while it waits for nothing itself."""
VISITS_MAX = 1_000
"""So many pages to which users were sent are remembered at a time."""
REFUSED = -1
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


class RestingUpstream(Struct, frozen=True):
    """Where a call stopped to wait for its client, or for its server's task; stands in the journal as `Context.state`.

    Attributes:
        ask: the id under which it is on record what was asked.
        paused: the server's result that asked, or that is the handle of the task.
    """

    ask: str
    paused: JsonObject


class Follow(Struct):
    """Tasks of which a client wants to be told.

    Attributes:
        ids: what their server calls them.
        hear: hears how one is.
        agreed: of which of them the server will tell.
    """

    ids: frozenset[str]
    hear: Callable[[JsonObject], None]
    agreed: asyncio.Future[frozenset[str]]

    def agree(self, ids: Iterable[Json]) -> None:
        """Its server has said of which it will tell."""
        if not self.agreed.done():
            self.agreed.set_result(self.ids.intersection(map(str, ids)))


class RawRelay(ContextCaller):
    """Carries what a server asks to the client that made the call, and back, raw.

    Args:
        context: of the call.
        passage: the way to the server.
    """

    def __init__(self, context: Context, passage: UpstreamToolset) -> None:
        front = front_of(context)
        may_get_task = front.may_get_task and passage.has_tasks
        declared = with_tasks(front.capabilities) if may_get_task else front.capabilities
        super().__init__(context, server=passage.server.name, capabilities=declared)
        self.front = front
        self._passage = passage
        self._given: list[JsonObject] = []

    async def answer(self, method: str, params: JsonObject) -> JsonObject:
        """The client's answer, raw.

        Raises:
            McpError: it did not declare that it can be asked this, or refuses.
            Waiting: it answers by its next request.
        """
        addresses = self._passage.addresses
        asked = addresses.question(_without_token(params))
        declared = self.capabilities.get("elicitation")
        if asked.get("mode") == "url" and not (isinstance(declared, dict) and "url" in declared):
            raise McpError(MISSING_CAPABILITY, "elicitation by URL was not declared")
        if asked.get("mode") == "url":
            self._passage.note_visit(asked, self.front)
        if self._given:
            return addresses.answer(self._given.pop(0))
        if self.front.is_modern and self._passage.is_modern:
            raise InputRequired(Pending("", "elicitation", ""))  # see `rest`
        self.front.asking, self.front.answered = (method, asked), None
        try:
            told = await _RECORDED[method](self, asked)
        except McpError:
            raise
        except CallError as why:
            raise McpError(REFUSED, why.message) from None
        except UsageError as error:
            raise McpError(INVALID_PARAMS, f"{method}: {error}") from None
        finally:
            self.front.asking = None
        return addresses.answer(self.front.answered or told)

    def told(self, method: str, params: JsonObject) -> None:
        if method == "notifications/message":
            self.front.hear(params)
        else:
            super().told(method, params)

    # A call that waits for the next request of its client -------------------------------------------------------------

    async def resume(self) -> JsonObject | None:
        if not self._context.state:
            return None
        resting = msgspec.json.decode(self._context.state, type=RestingUpstream)
        answered = self._context.answers.get(resting.ask)
        responses = (answered.arguments if answered is not None else None) or {}
        requests = resting.paused.get("inputRequests")
        for key in requests if isinstance(requests, dict) else ():
            response = responses.get(key)
            if not isinstance(response, dict):
                self._given = []
                break  # all of it is asked again
            self._given.append({name: value for name, value in response.items() if name != "resultType"})
        return resting.paused

    def rest(self, paused: str) -> InputRequired:
        """What to raise where the server asks something, so that the call waits for it on record.

        Args:
            paused: the server's result, as JSON.
        """
        result: JsonObject = msgspec.json.decode(paused)
        requests = self._passage.addresses.requests(result).get("inputRequests")
        ask = new_id("ask")
        message = "; ".join(in_words(request) for request in requests.values()) if isinstance(requests, dict) else ""
        pending = Pending(
            ask, "elicitation", message, self._context.call, request={"inputRequests": requests}, asker=self._server
        )
        return InputRequired(pending, "", dumps(msgspec.to_builtins(RestingUpstream(ask, result))))

    def hand_over(self, handle: JsonObject) -> InputRequired:
        """What to raise where the server answers with a task: the call waits, on record, for what that comes to.

        No person is asked for it: the server answers this, by name.

        Raises:
            InvalidResult: it can not be asked after.
        """
        if not isinstance(handle.get("taskId"), str):
            raise InvalidResult("The server answered with a task that has no id.", effect="unknown")
        ask = new_id("ask")
        pending = Pending(
            ask,
            "elicitation",
            f"{self._server} is at work on it.",
            self._context.call,
            approvers=(self._server,),
            request={"task": handle},
            asker=self._server,
        )
        return InputRequired(pending, "", dumps(msgspec.to_builtins(RestingUpstream(ask, handle))))

    # What was asked, on record ----------------------------------------------------------------------------------------

    async def _elicited(self, params: JsonObject) -> JsonObject:
        schema, url = params.get("requestedSchema"), params.get("url")
        given = await self._context.elicit(
            plain(str(params.get("message") or "")),
            schema if isinstance(schema, dict) else None,
            url=url if isinstance(url, str) else "",
            asker=self._server,
        )
        return {"action": given.action, "content": given.content}

    async def _sampled(self, params: JsonObject) -> JsonObject:
        request = request_of(params)
        return result_of_reply(await self._context.sample(request), request)

    async def _listed_roots(self, _: JsonObject) -> JsonObject:
        return {"roots": [{"uri": uri} for uri in await self._context.roots()]}


_RECORDED = {
    "elicitation/create": RawRelay._elicited,
    "sampling/createMessage": RawRelay._sampled,
    "roots/list": RawRelay._listed_roots,
}


class UpstreamToolset(McpToolset):
    """The way to one server, for one user. The other arguments are those of `McpToolset`.

    Args:
        addresses: what clients know the server's resources by.
        capabilities: that a session declares which is begun before its client is known.
        met: hears when the server was reached for the first time.

    Attributes:
        addresses: the same.
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
        changed: Callable[[str, JsonObject], None] | None = None,
        auth: httpx2.Auth | None = None,
        secrets: Mapping[str, str] | None = None,
        clock: Clock | None = None,
        wait_s: float = WAIT_S,
        room: Room | None = None,
    ) -> None:
        super().__init__(
            server,
            pins=pins,
            offers=(),
            changed=changed,
            auth=auth,
            secrets=secrets,
            clock=clock,
            wait_s=wait_s,
            room=room,
        )
        self._capabilities = capabilities or {}
        self.addresses = addresses
        self._met = met
        self._begun_at: float | None = None
        self.known: ServerFacts | None = None
        self._visits: dict[str, GatewayClient] = {}
        self._follows: list[Follow] = []
        self._acknowledged: set[str] = set()
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
        names = _ANYTHING if self.offers is None else self.offers
        return {name: {"subscribe": True} if name == "resources" else {} for name in names}

    @property
    def own_tools(self) -> tuple[Usable, ...]:
        """The tools that may be used, with their definitions as the server told them last.

        Before it told any, those that were approved, but for those that it describes differently to different users:
        which definition is for this user is not known yet.
        """
        unclear = self._unclear()
        return tuple(each for each in self.known_tools if each.name not in unclear)

    @property
    def edition(self) -> tuple[int, int]:
        """Changes when `own_tools` do."""
        return self.generation, len(self._unclear())

    def _unclear(self) -> set[str]:
        """The tools with several approved definitions, as long as the server has not told which is for this user."""
        if self._is_listed or self._approve != "pinned":
            return set()
        return {name for name, approved in self._known().tools.items() if len(approved) > 1}

    # First contact ----------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Have a look at the server in the background, where what is known of it is nothing, or too old."""
        if self._begun_at is None:
            self._begun_at = self._clock.now()
        if self.known is None or self._is_due():
            self.introduce()

    @property
    def is_awaited(self) -> bool:
        """It is being reached for the first time."""
        return self.known is None and self._looking is not None and not self._looking.done()

    @property
    def is_troubled(self) -> bool:
        """It failed, or should have been reached long ago."""
        if self.is_up:
            return False
        late = self._begun_at is not None and self._clock.now() >= self._begun_at + self._wait_s
        return self._failure is not None or (late and self.is_awaited)

    async def list_own(self) -> None:
        """See to it that the tools are known as they are now.

        Raises:
            CallError: nothing is known of them, and the server can not be reached or is not approved.
        """
        self.begin()
        await self.list_tools()
        if self._unclear():
            await self.meet()

    async def meet(self, most_s: float | None = None) -> None:
        """Wait until the server was reached for the first time, or failed; until `wait_s` after that was begun.

        Args:
            most_s: until so many seconds after that was begun, where they are fewer.
        """
        wait_s = self._wait_s if most_s is None else min(most_s, self._wait_s)
        looking = self._looking
        if looking is None or not self.is_awaited or self._begun_at is None:
            return
        with contextlib.suppress(TimeoutError):
            async with self._clock.timeout(self._begun_at + wait_s - self._clock.now()):
                await asyncio.wait([looking])

    @property
    def state(self) -> ServerState:
        """How the server does for this user."""
        health = self.health
        return ServerState("up" if self.is_up else health.state, self.problem or health.problem)

    def check(self) -> None:
        """Whether the server can be served at all, where it stands alone.

        Raises:
            CallError: it could not be reached.
        """
        if self.known is None and isinstance(self._failure, CallError):
            raise self._failure

    async def execute(self, call: ToolCall, context: Context) -> ToolResult:
        final = _final(context)
        if final is None:
            return self._noted(context, await super().execute(call, context))
        context.conceal(*self._hidden())
        return told_by_server(call.id, outcome(final), reads_only=False)

    def _caller(self, context: Context) -> RawRelay:
        return RawRelay(context, self)

    async def _asked(
        self,
        method: str,
        params: JsonObject,
        caller: ContextCaller,
        paused: JsonObject | None,
        schema: JsonObject | None = None,
        ready: Callable[[], None] | None = None,
    ) -> JsonObject:
        """Pass a request on, with what its client sent beside the arguments, and keep the answer's own words."""
        assert isinstance(caller, RawRelay)
        self._check_approved()
        front = caller.front
        front.error = None
        sent = {**passed_on(front.params, front.log_level, caller.traceparent), **params}
        try:
            raw = await self._connected().request(
                method,
                sent,
                caller=caller,
                holder=caller.holder,
                header_schema=schema,
                paused=paused,
                ready=ready,
                settles=False,
            )
        except InputRequired as waiting:
            raise caller.rest(waiting.state) from None
        except McpError as error:
            front.error = self._told_outside(method, error)
            if caller.anew:
                words = f"{STARTED_ANEW.format(name=self.server.name)} {error.words}"
                front.error = McpError(error.rpc_code, words, front.error.data, error.effect)
            asked = error.data.get("elicitations") if isinstance(error.data, dict) else None
            for each in asked if isinstance(asked, list) else ():
                self.note_visit(each, front)
            raise
        front.raw = self.addresses.result(method, raw)
        if front.raw.get("resultType") == "task":
            raise caller.hand_over(front.raw)
        told = front.raw
        if caller.anew and method == "tools/call":
            front.raw = with_notice(told, STARTED_ANEW.format(name=self.server.name))
        return told

    # What is no tool --------------------------------------------------------------------------------------------------

    async def read_raw(self, uri: str, call_id: str, context: Context) -> ToolResult:
        """A resource, for the record; its client gets the server's own words."""
        caller = self._caller(context)
        raw = await self._asked("resources/read", {"uri": uri}, caller, await caller.resume())
        return self._noted(context, ToolResult(call_id, contents_of(raw)))

    async def prompt_raw(self, name: str, arguments: JsonObject, call_id: str, context: Context) -> ToolResult:
        """A prompt, likewise."""
        given: JsonObject = {"arguments": arguments} if arguments else {}
        caller = self._caller(context)
        raw = await self._asked("prompts/get", {"name": name, **given}, caller, await caller.resume())
        return self._noted(context, ToolResult(call_id, structured=plain_json(raw.get("messages"))))

    def _noted(self, context: Context, result: ToolResult) -> ToolResult:
        front = context.peer
        if isinstance(front, GatewayClient):
            front.result = result
        return result

    async def ask(self, method: str, params: JsonObject, front: GatewayClient) -> JsonObject:
        """A request that calls nothing: a page of a list, a completion. It goes over its client's own session."""
        self._check_approved()
        caller = Declaring(front.capabilities)
        raw = await self._connected().request(method, params, caller=caller, holder=front.holder)
        return self.addresses.result(method, raw)

    def _told_outside(self, method: str, error: McpError) -> McpError:
        """A server's error as its client hears it: one about a resource names that by the client's address."""
        if not method.startswith("resources/") or not isinstance(error.data, dict):
            return error
        return McpError(error.rpc_code, error.words, self.addresses.updated(error.data), error.effect)

    async def ask_after(self, method: str, front: GatewayClient, task_id: str) -> JsonObject:
        """What its client wants of a task, wanted of the server, by its own name of the task."""
        self._check_approved()
        answers = front.params.get("inputResponses")
        given: JsonObject = {"inputResponses": self._answers(answers)} if answers is not None else {}
        sent = {**passed_on(front.params), **given, "taskId": task_id}
        caller = Declaring(with_tasks(front.capabilities))
        raw = await self._connected().request(method, sent, caller=caller, holder=front.holder)
        return self.addresses.result(method, raw)

    def _answers(self, answers: Json) -> Json:
        if not isinstance(answers, dict):
            return answers
        return {key: self.addresses.answer(each) if isinstance(each, dict) else each for key, each in answers.items()}

    @asynccontextmanager
    async def following(
        self, task_ids: Iterable[str], front: GatewayClient, hear: Callable[[JsonObject], None]
    ) -> AsyncIterator[frozenset[str]]:
        """A block in which the server tells how tasks are: those of which it said that it will."""
        follow = Follow(frozenset(task_ids), hear, asyncio.get_running_loop().create_future())
        wanted: JsonObject = {"taskIds": list[Json](sorted(follow.ids))}

        async def listen() -> None:
            with contextlib.suppress(CallError):  # it does not do that, or is gone
                caller = Declaring(with_tasks(front.capabilities))
                await self._connected().listen_for(wanted, caller, holder=front.holder)
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

    def without_secrets(self, told: JsonObject) -> JsonObject:
        """What the server told, fit to be written down."""
        return cast(JsonObject, DEFAULT_REDACTION.value(told, self._hidden()))

    async def watch(self, uri: str, front: GatewayClient) -> None:
        """Have the server tell when a resource changes; it does when this returns.

        It tells that over the session of the client, where what the client does is seen.

        Raises:
            McpError: it will not.
            Unavailable: it does not say.
        """
        self._check_approved()
        connection, caller = self._connected(), Declaring(front.capabilities)
        await connection.facts(caller=caller, holder=front.holder)
        if not self.is_modern:
            try:
                await connection.request("resources/subscribe", {"uri": uri}, caller=caller, holder=front.holder)
            except McpError as error:
                raise self._told_outside("resources/subscribe", error) from None
            connection.listen([uri], holder=front.holder, caller=caller)  # on the next connection, too
            return
        self._acknowledged.discard(uri)
        connection.listen([uri], holder=front.holder, caller=caller)
        try:
            async with self._clock.timeout(ACK_S):
                while uri not in self._acknowledged:
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            raise Unavailable(f"The MCP server {self.server.name!r} does not say that it will tell of this.") from None

    async def unwatch(self, uris: Sequence[str], holder: Holder) -> None:
        """A client does not want to hear of these any more."""
        connection = self._connected()
        connection.unlisten(uris, holder=holder)
        if not self.is_modern and holder.state != "over":  # else its session ends, and what it listened to with it
            for uri in uris:
                await connection.request("resources/unsubscribe", {"uri": uri}, holder=holder)

    async def roots_changed(self, front: GatewayClient) -> None:
        """A client has other directories than before."""
        if self._connection is not None and not self.is_modern and "roots" in front.capabilities:
            await self._connection.roots_changed(Standing(front, self._clock), holder=front.holder)

    def note_visit(self, asked: Json, front: GatewayClient) -> None:
        """A client was asked to send its user to a page: it is told when that is done, and nobody else is."""
        name = asked.get("elicitationId") if isinstance(asked, dict) else None
        if isinstance(name, str) and not front.is_modern:
            while len(self._visits) >= VISITS_MAX:
                del self._visits[next(iter(self._visits))]
            self._visits[name] = front

    def _heard(self, method: str, params: JsonObject) -> None:
        if method == VISITED:
            front = self._visits.pop(str(params.get("elicitationId")), None)
            if front is not None:
                front.pass_on(method, params)
            return
        if method == TASK:
            for follow in self._follows:
                if str(params.get("taskId")) in follow.ids:
                    follow.hear(self.addresses.result("tasks/get", params))
            return
        if method == ACKNOWLEDGED:
            found = params.get("notifications")
            if isinstance(found, dict) and self._agreed(found):
                return
            uris = found.get("resourceSubscriptions") if isinstance(found, dict) else None
            self._acknowledged.update(map(str, uris) if isinstance(uris, list) else ())
            self._news.set()
            return
        super()._heard(method, self.addresses.updated(params) if method == UPDATED else params)

    async def _vet(self, session: McpSession) -> None:
        await super()._vet(session)
        is_first, self.known = self.known is None, session.facts
        if is_first:
            self._met(self)


class Standing(Nobody):
    """A client with a handshake while none of its requests is under way: it can be asked for its directories."""

    def __init__(self, front: GatewayClient, clock: Clock) -> None:
        self._front = front
        self._clock = clock

    @property
    def capabilities(self) -> JsonObject:
        return self._front.capabilities

    async def answer(self, method: str, params: JsonObject) -> JsonObject:
        if method != "roots/list":
            return await super().answer(method, params)
        try:
            async with self._clock.timeout(ROOTS_S):
                return await self._front.directories()
        except TimeoutError:
            raise McpError(REFUSED, f"{method}: the client does not answer") from None


class Declaring(Nobody):
    """A caller that is asked nothing, and says what another one can do."""

    def __init__(self, capabilities: JsonObject) -> None:
        self._declared = capabilities

    @property
    def capabilities(self) -> JsonObject:
        return self._declared


def front_of(context: Context) -> GatewayClient:
    """Whoever made a call.

    Raises:
        UsageError: it is no client of the gateway.
    """
    if not isinstance(context.peer, GatewayClient):
        raise UsageError("a gateway's tools are called by its clients alone")
    return context.peer


def _final(context: Context) -> JsonObject | None:
    """How the server's task of a call ended, where it has one that is over."""
    if not context.state:
        return None
    resting = msgspec.json.decode(context.state, type=RestingUpstream)
    answered = context.answers.get(resting.ask)
    return answered.arguments if answered is not None and resting.paused.get("resultType") == "task" else None


def _without_token(params: JsonObject) -> JsonObject:
    """Less the number by which the server knows how far its own request is, which nobody else does."""
    meta = params.get("_meta")
    if not isinstance(meta, dict) or "progressToken" not in meta:
        return params
    kept = {name: value for name, value in meta.items() if name != "progressToken"}
    rest = {name: value for name, value in params.items() if name != "_meta"}
    return {**rest, "_meta": kept} if kept else rest


def in_words(request: object) -> str:
    """What a server asks, as a person is shown it."""
    asked = request if isinstance(request, dict) else {}
    params = asked.get("params")
    words = params.get("message") if isinstance(params, dict) else None
    return plain(str(words)) if words else str(asked.get("method"))
