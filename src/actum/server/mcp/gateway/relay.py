"""One call as it passes through a gateway, in the words of its client and of its server.

What goes to the server is what its client sent, with the arguments that the call path allowed. What the server answers
goes to the client as it is. What the server asks meanwhile is asked of that client, if it declared that it can be.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

import msgspec
from msgspec import Struct

from ....core.errors import CallError, InvalidResult, UsageError
from ....core.interfaces import Clock, Context, InputRequired
from ....core.json import Json, JsonObject, dumps, size_of_json
from ....core.process.worker_thread import walk
from ....core.run.ids import new_id
from ....core.run.pending import Pending
from ....protocols.mcp.address import ServerAddresses
from ....protocols.mcp.config import McpServer
from ....protocols.mcp.era import passed_on, with_tasks
from ....protocols.mcp.sampling import request_of, result_of_reply
from ....protocols.plain_text import plain
from ....toolsets.mcp.answer import with_notice
from ....toolsets.mcp.caller import FORM_BYTES_MAX, ContextCaller, Send, told_to_person
from ....toolsets.mcp.error import INVALID_PARAMS, MISSING_CAPABILITY, McpError
from ....toolsets.mcp.session import Nobody
from ....toolsets.mcp.toolset import STARTED_ANEW
from .gateway_client import GatewayClient

WORDS_MAX = 2_000
"""The most characters of a server's question that are on record in words."""
ROOTS_S = 10.0
"""Seconds in which a client has to say what its directories are, while it waits for nothing itself."""
REFUSED = -1


class Upstream(Protocol):
    """The server's side of a call: what `RawRelay` needs to know of it."""

    @property
    def server(self) -> McpServer:
        """As it is configured."""

    @property
    def addresses(self) -> ServerAddresses:
        """What clients know the server's resources by."""

    @property
    def is_modern(self) -> bool:
        """It speaks the protocol without a handshake, as far as is known."""

    @property
    def has_tasks(self) -> bool:
        """It may answer a call with a task."""

    async def outside(self, method: str, raw: JsonObject) -> JsonObject:
        """A result of the server, as clients are told it."""

    def note_visit(self, asked: Json, client: GatewayClient) -> None:
        """A client was asked to send its user to a page."""


class RestingUpstream(Struct, frozen=True):
    """Where a call stopped to wait for its client, or for its server's task; the journal keeps it as `Context.state`.

    Attributes:
        ask: the id under which the question is on record.
        paused: the server's result that asked, or that is the handle of the task.
    """

    ask: str
    paused: JsonObject


class RawRelay:
    """A `RunCaller` that passes on the raw words of a client and of a server.

    Args:
        context: of the call.
        upstream: the server's side.

    Attributes:
        client: the client that made the call.
        capabilities: what is declared to the server.
        key, holder, traceparent: of the call.
    """

    def __init__(self, context: Context, upstream: Upstream) -> None:
        self.client = client_of(context)
        may_get_task = self.client.may_get_task and upstream.has_tasks
        self.capabilities = with_tasks(self.client.capabilities) if may_get_task else self.client.capabilities
        self._context = context
        self._server = upstream.server.name
        self._call = ContextCaller(context, server=self._server, capabilities=self.capabilities)
        self.key, self.holder, self.traceparent = self._call.key, self._call.holder, self._call.traceparent
        self._upstream = upstream
        self._given: list[JsonObject] = []

    @property
    def anew(self) -> bool:
        return self._call.anew

    def held(self) -> AbstractContextManager[None]:
        return self._call.held()

    def beside(self, keys: tuple[str, ...]) -> None:
        self._call.beside(keys)

    def found_new(self, *, had: bool) -> None:
        self._call.found_new(had=had)

    # What the server asks and tells -----------------------------------------------------------------------------------

    async def answer(self, method: str, params: JsonObject) -> JsonObject:
        """The client's answer, raw.

        Raises:
            McpError: it did not declare that it can be asked this, or refuses.
            InputRequired: it answers by its next request.
        """
        addresses = self._upstream.addresses
        asked = await walk(addresses.question, _without_token(params))
        declared = self.capabilities.get("elicitation")
        if asked.get("mode") == "url" and not (isinstance(declared, dict) and "url" in declared):
            raise McpError(MISSING_CAPABILITY, "elicitation by URL was not declared")
        if asked.get("mode") == "url":
            self._upstream.note_visit(asked, self.client)
        if self._given:
            return await walk(addresses.answer, self._given.pop(0))
        if self.client.is_modern and self._upstream.is_modern:
            raise InputRequired(Pending("", "elicitation", ""))  # see `_rest`
        self.client.asking, self.client.answered = (method, asked), None
        try:
            told = await _RECORDED[method](self, asked)
        except McpError:
            raise
        except CallError as why:
            raise McpError(REFUSED, why.message) from None
        except UsageError as error:
            raise McpError(INVALID_PARAMS, f"{method}: {error}") from None
        finally:
            self.client.asking = None
        return await walk(addresses.answer, self.client.answered or told)

    def told(self, method: str, params: JsonObject) -> None:
        if method == "notifications/message":
            self.client.hear(params)
        else:
            self._call.told(method, params)

    # What goes to the server, and comes back --------------------------------------------------------------------------

    async def carry(self, method: str, params: JsonObject, send: Send) -> JsonObject:
        """Pass a request on, with what its client sent beside the arguments, and keep the answer's own words."""
        client = self.client
        client.error = None
        try:
            sent = passed_on(client.params, client.log_level, self.traceparent, self._call.tracestate)
            raw = await send({**sent, **params}, settles=False)
        except InputRequired as waiting:
            raise await self._rest(waiting.state) from None
        except McpError as error:
            self._note_refusal(method, error)
            raise
        told = await self._upstream.outside(method, raw)
        client.raw = told
        if told.get("resultType") == "task":
            raise self._hand_over(told)
        if self.anew and method == "tools/call":
            client.raw = with_notice(told, STARTED_ANEW.format(name=self._server))
        return told

    def _note_refusal(self, method: str, error: McpError) -> None:
        """Keep the server's own words for the client, and the pages to which these send its user."""
        refused = told_outside(method, error, self._upstream.addresses)
        if self.anew:
            words = f"{STARTED_ANEW.format(name=self._server)} {error.words}"
            refused = McpError(error.rpc_code, words, refused.data, error.effect)
        self.client.error = refused
        asked = error.data.get("elicitations") if isinstance(error.data, dict) else None
        for each in asked if isinstance(asked, list) else ():
            self._upstream.note_visit(each, self.client)

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

    async def _rest(self, paused: str) -> InputRequired:
        """What to raise where the server asks something, so that the call waits for it on record.

        Args:
            paused: the server's result, as JSON.
        """
        result: JsonObject = msgspec.json.decode(paused)
        requests = (await walk(self._upstream.addresses.requests, result)).get("inputRequests")
        ask = new_id("ask")
        message = "; ".join(in_words(request) for request in requests.values()) if isinstance(requests, dict) else ""
        pending = Pending(
            ask, "elicitation", message, self._context.call, request={"inputRequests": requests}, asker=self._server
        )
        return InputRequired(pending, "", dumps(msgspec.to_builtins(RestingUpstream(ask, result))))

    def _hand_over(self, handle: JsonObject) -> InputRequired:
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
        if size_of_json(schema) > FORM_BYTES_MAX:
            raise UsageError("requestedSchema: at most {most} bytes", most=FORM_BYTES_MAX)
        given = await self._context.elicit(
            await told_to_person(params),
            schema if isinstance(schema, dict) else None,
            url=url if isinstance(url, str) else "",
            asker=self._server,
        )
        return {"action": given.action, "content": given.content}

    async def _sampled(self, params: JsonObject) -> JsonObject:
        request = await walk(request_of, params)
        return result_of_reply(await self._context.sample(request), request)

    async def _listed_roots(self, _: JsonObject) -> JsonObject:
        return {"roots": [{"uri": uri} for uri in await self._context.roots()]}


_RECORDED = {
    "elicitation/create": RawRelay._elicited,
    "sampling/createMessage": RawRelay._sampled,
    "roots/list": RawRelay._listed_roots,
}


class Standing(Nobody):
    """A client with a handshake while none of its requests is under way: it can be asked for its directories."""

    def __init__(self, client: GatewayClient, clock: Clock) -> None:
        self._front = client
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


def client_of(context: Context) -> GatewayClient:
    """The client that made a call.

    Raises:
        UsageError: the caller is no client of the gateway.
    """
    if not isinstance(context.peer, GatewayClient):
        raise UsageError("a gateway's tools are called by its clients alone")
    return context.peer


def final_task(context: Context) -> JsonObject | None:
    """How the server's task of a call ended; None where the call has no task, or one that goes on."""
    if not context.state:
        return None
    resting = msgspec.json.decode(context.state, type=RestingUpstream)
    answered = context.answers.get(resting.ask)
    return answered.arguments if answered is not None and resting.paused.get("resultType") == "task" else None


def told_outside(method: str, error: McpError, addresses: ServerAddresses) -> McpError:
    """A server's error as its client hears it: one about a resource names that by the client's address."""
    if not method.startswith("resources/") or not isinstance(error.data, dict):
        return error
    return McpError(error.rpc_code, error.words, addresses.updated(error.data), error.effect)


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
    return plain(str(words)[:WORDS_MAX]) if words else str(asked.get("method"))[:WORDS_MAX]
