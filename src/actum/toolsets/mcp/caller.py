"""The caller that an MCP server turns to while it serves a call: the run that made the call, by its `Context`.

A server may ask the user (by a form or a page to visit), a model, or for directories. It is told who asks by the name
that we gave it; its words are cleaned; an address for the user is one of the web and is never opened here. Why a person
said no is not told to it.

Source: Model Context Protocol, 2025-11-25 and 2026-07-28, Elicitation, Sampling, Roots, Progress, Logging.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Literal, Protocol

import msgspec
from msgspec import Struct

from ...core.errors import BadTool, CallError, UsageError
from ...core.holder import Holder
from ...core.interfaces import Context, InputRequired
from ...core.json import Json, JsonObject, dumps, size_of_json
from ...core.process.worker_thread import LARGE, off_loop, walk
from ...protocols.mcp.sampling import request_of, result_of_reply
from ...protocols.mcp.tasks import EXTENSION as TASKS
from ...protocols.plain_text import plain, plain_json
from ...schema.schema import compile_schema
from ...transport.guard import AddressRefused, SafeLink, check_link
from .error import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    REFUSED_BY_USER,
    McpError,
)
from .session import Caller, OfRun

LEVELS = frozenset({"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"})
FORM_BYTES_MAX = 16 * 1024
"""The most bytes of the schema of a form for a person, and of the words that go with it."""


Offer = Literal["elicitation", "sampling", "roots", "tasks"]

OFFERS: frozenset[Offer] = frozenset({"elicitation", "sampling", "tasks"})
"""What a server may turn to a run for, if nothing else is said; roots too where some are configured."""

_CAPABILITIES: dict[Offer, JsonObject] = {
    "elicitation": {"elicitation": {"form": {}, "url": {}}},
    "sampling": {"sampling": {"tools": {}}},
    "roots": {"roots": {}},
    "tasks": {"extensions": {TASKS: {}}},
}


def capabilities_of(offers: Collection[Offer]) -> JsonObject:
    """The client capabilities that say so."""
    declared: JsonObject = {}
    for offer, capability in _CAPABILITIES.items():
        declared |= capability if offer in offers else {}
    return declared


class RestingCall(Struct, frozen=True):
    """Where a call stopped to wait for an answer; the journal keeps it as `Context.state`.

    Attributes:
        paused: the server's result that asked for more.
        asked: what it asked before that, and was answered.
    """

    paused: JsonObject
    asked: list[tuple[str, JsonObject]] = []


class Send(Protocol):
    """Sends the request of one call, or goes on with a request that paused earlier."""

    async def __call__(self, params: JsonObject, *, settles: bool = True) -> JsonObject:
        """Return the server's raw result.

        Args:
            params: of the request.
            settles: a task that the server answers with is waited for; else the handle of the task is the result.

        Raises:
            CallError: the server refuses, or can not be reached.
            InputRequired: the server asks what nobody can answer now; `state` holds the server's result, as JSON.
        """


class RunCaller(Caller, OfRun, Protocol):
    """A call of a run, for `McpToolset.execute`: who answers the server, and which words go to the server and back.

    `ContextCaller` does that for a run of ours. Code between a server and its client, such as a gateway, gives a caller
    of its own, which passes on the words of both.
    """

    @property
    def anew(self) -> bool:
        """The call found a new session, and its holder had another session before."""

    async def resume(self) -> JsonObject | None:
        """The server's result after which an earlier attempt of this call paused; None where there was none."""

    async def carry(self, method: str, params: JsonObject, send: Send) -> JsonObject:
        """Have the request of this call sent, and return the server's raw result.

        Args:
            method: of the request.
            params: that the path of the call has allowed. A caller may add to them, and must not change them.
            send: sends the request.

        Raises:
            CallError: as `send` does.
            InputRequired: the call waits; `state` holds what `resume` needs later.
        """


class ContextCaller:
    """Answers for one call of a run.

    Args:
        context: of the call.
        server: what the server is called here.
        capabilities: that are declared to it.
        roots: directories that it may be told of; those of the run's other end where there are none.
        local: it runs on this machine, and may send the user to a page on it.
        ours: the names here of the server's tools.

    Attributes:
        traceparent: of the call, for servers that continue a trace.
        tracestate: which agents wait for the call, so that none of them is asked in turn.
        key: its idempotency key.
        holder: for whom sessions are kept open.
        anew: it found a new session, and its holder had another one before.
    """

    def __init__(
        self,
        context: Context,
        *,
        server: str,
        capabilities: JsonObject,
        roots: Sequence[str] = (),
        local: bool = False,
        ours: Collection[str] = (),
    ) -> None:
        self.capabilities = capabilities
        self.traceparent = context.traceparent
        self.tracestate = context.budget.way_down().tracestate if context.budget is not None else ""
        self.key = context.key
        self.holder = context.holder or _passing(context)
        self.anew = False
        self._ours = ours
        self._context = context
        self._server = server
        self._roots = tuple(Path(root).expanduser().absolute().as_uri() for root in roots)
        self._is_local = local
        self._asked: list[tuple[str, JsonObject]] = []

    async def answer(self, method: str, params: JsonObject) -> JsonObject:
        """Answer what the server asks; see `session.Caller`.

        Raises:
            McpError: it is not answered.
            InputRequired: nobody can answer now.
        """
        answering = _ANSWERS.get(method)
        if answering is None:
            raise McpError(METHOD_NOT_FOUND, f"{method} is nothing that can be asked of a client")
        self._asked.append((method, params))
        try:
            return await answering(self, params)
        except McpError:
            raise
        except CallError as why:
            refused = McpError(REFUSED_BY_USER, "It was not agreed to.", effect="unknown")
            refused.message = why.message  # for our own model; the server hears no more than the words above
            raise refused from None
        except (UsageError, BadTool) as error:
            raise McpError(INVALID_PARAMS, f"{method}: {error}") from None

    def told(self, method: str, params: JsonObject) -> None:
        """Pass on progress, and what the server logs."""
        if method == "notifications/progress":
            facts: JsonObject = {name: params[name] for name in ("progress", "total", "message") if name in params}
            self._context.progress(plain_json(facts))
        elif method == "notifications/message":
            level = params.get("level")
            with contextlib.suppress(UsageError):  # a check before a call: nobody listens
                self._context.log(level if level in LEVELS else "info", plain_json(params.get("data")))

    def held(self) -> AbstractContextManager[None]:
        """A block in which the time limit of the call stands still."""
        return self._context.held()

    def beside(self, keys: tuple[str, ...]) -> None:
        """What is asked next may be meant for the calls of these keys as well."""
        self._context.beside(keys)

    def found_new(self, *, had: bool) -> None:
        """It is the first call of its holder over a session. That the holder had another one before may stand in its
        record alone, where an earlier process had it.
        """
        called = self.holder.called() if self.holder is not None and not had else ()
        self.anew = had or not set(self._ours).isdisjoint(called)

    # A call that waits ------------------------------------------------------------------------------------------------

    async def resume(self) -> JsonObject | None:
        """Where an earlier attempt stopped to wait, for `McpConnection.request`; None where it did not.

        What was asked before that is asked again, and found answered: a question is known by what it asks and how often
        it was asked before.
        """
        if not self._context.state:
            return None
        try:
            resting = msgspec.json.decode(self._context.state, type=RestingCall)
        except msgspec.MsgspecError:
            return None
        for method, params in resting.asked:
            with contextlib.suppress(McpError):  # it was refused then, too
                await self.answer(method, params)
        return resting.paused

    async def carry(self, method: str, params: JsonObject, send: Send) -> JsonObject:
        """Send the request with the trace of the call; see `RunCaller`."""
        try:
            return await send({**params, "_meta": {"traceparent": self.traceparent, "tracestate": self.tracestate}})
        except InputRequired as waiting:
            raise InputRequired(waiting.pending, waiting.run_id, self._state(waiting.state)) from None

    def _state(self, paused: str) -> str:
        """Where this call stops to wait.

        Args:
            paused: the server's result that asks for more, as JSON.
        """
        result: JsonObject = msgspec.json.decode(paused)
        requests = result.get("inputRequests")
        # Those of the last round are asked anew with it; of a task, what it waits for is.
        last = [_wanted(request) for request in requests.values()] if isinstance(requests, dict) else self._asked[-1:]
        for count in range(len(last), 0, -1):
            if self._asked[-count:] == last[:count]:
                return dumps(RestingCall(result, self._asked[:-count]))
        return dumps(RestingCall(result, self._asked))

    # What may be asked ------------------------------------------------------------------------------------------------

    async def _elicit(self, params: JsonObject) -> JsonObject:
        message, url, schema = await told_to_person(params), params.get("url"), params.get("requestedSchema")
        if params.get("mode") == "url":
            link = _web_address(url, local=self._is_local)
            given = await self._context.elicit(f"{message}\n{link.words[1]}", url=link.url, asker=self._server)
            return {"action": given.action}
        if not isinstance(schema, dict):
            raise UsageError("requestedSchema: the schema of an object was expected")
        if size_of_json(schema) > FORM_BYTES_MAX:
            raise UsageError("requestedSchema: at most {most} bytes", most=FORM_BYTES_MAX)
        await off_loop(LARGE + 1, partial(compile_schema, schema, where="requestedSchema", foreign=True))
        given = await self._context.elicit(message, schema, asker=self._server)
        return (
            {"action": given.action, "content": given.content} if given.action == "accept" else {"action": given.action}
        )

    async def _sample(self, params: JsonObject) -> JsonObject:
        request = await walk(request_of, params)
        return result_of_reply(await self._context.sample(request), request)

    async def _list_roots(self, _: JsonObject) -> JsonObject:
        uris = self._roots or await self._context.roots()
        return {"roots": [{"uri": uri, "name": uri.rstrip("/").rpartition("/")[2]} for uri in uris]}


async def told_to_person(params: JsonObject) -> str:
    """What a person is told by a server that asks, without what nobody sees.

    Raises:
        UsageError: it is too long.
    """
    words = str(params.get("message") or "")
    if len(words) > FORM_BYTES_MAX:
        raise UsageError("message: at most {most} characters", most=FORM_BYTES_MAX)
    return await walk(plain, words)


def _passing(context: Context) -> Holder:
    """The holder of a call for which nobody says who holds sessions: its run, which needs none between its calls."""
    holder = Holder(context.principal, f"run:{context.run_id}", tenant=context.tenant)
    holder.leave()
    return holder


_ANSWERS: dict[str, Callable[[ContextCaller, JsonObject], Awaitable[JsonObject]]] = {
    "elicitation/create": ContextCaller._elicit,
    "sampling/createMessage": ContextCaller._sample,
    "roots/list": ContextCaller._list_roots,
}


def _web_address(url: Json, *, local: bool) -> SafeLink:
    """An address that a person can be shown.

    Raises:
        UsageError: it is none, hides something, or leads where nobody should be sent.
    """
    try:
        return check_link(url if isinstance(url, str) else "", local=local)
    except AddressRefused as refused:
        raise UsageError("url: {why}", why=refused) from None


def _wanted(request: Json) -> tuple[str, JsonObject]:
    asked = request if isinstance(request, dict) else {}
    params = asked.get("params")
    return str(asked.get("method")), params if isinstance(params, dict) else {}
