"""One conversation with an MCP server, on raw messages: which era it speaks, what each request carries, and the rounds
in which it asks back. The SDK's dispatcher matches answers to requests; nothing here is validated away.

Knows nothing of how the server is reached or kept alive; see `mcp.connection`.

Source: Model Context Protocol 2025-11-25 (lifecycle) and 2026-07-28 (versioning, patterns/mrtr, streamable-http).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Literal, Protocol, cast, runtime_checkable

from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    encode_header_value,
    mcp_param_headers,
    x_mcp_header_map,
)
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.transport_context import TransportContext
from msgspec import Struct
from opentelemetry.context import attach, detach
from opentelemetry.propagate import extract

from ...core.cancellation import cancellations
from ...core.errors import CallTimeout, InvalidResult, Unavailable
from ...core.holder import Holder
from ...core.interfaces import Clock, InputRequired
from ...core.json import Json, JsonObject, dumps
from ...protocols.mcp.config import McpEra
from ...protocols.mcp.tasks import EXTENSION as TASKS
from .error import (
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MISSING_CAPABILITY,
    REFUSED_BY_USER,
    UNSUPPORTED_VERSION,
    Lost,
    McpError,
    told,
)
from .limit import TimeLimit
from .task import collect, settle

MODERN = "2026-07-28"
LEGACY = "2025-11-25"
LEGACY_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
ROUNDS_MAX = 16
"""How often a server may ask back during one request."""
TOLD_CHARS_MAX = 4 * 1024
"""The most characters that are kept of one log message, or one progress message, of a server."""
ASKED_MAX = 100
"""The most things that a server may ask for at once."""

Known = Literal["legacy", "modern"]

_FIRST = ("server/discover", "initialize")
_ASKS = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}
"""What a server may ask, and the capability that lets it."""
_NAMED = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}
_SENT_AT = "io.modelcontextprotocol/"


class Caller(Protocol):
    """The caller of a request, and what a server may ask of the caller while the request is served."""

    @property
    def capabilities(self) -> JsonObject:
        """The client capabilities that are declared on their behalf."""

    async def answer(self, method: str, params: JsonObject) -> JsonObject:
        """Answer `elicitation/create`, `sampling/createMessage` or `roots/list` with its raw result.

        Raises:
            McpError: they will not.
            InputRequired: nobody can now.
        """

    def told(self, method: str, params: JsonObject) -> None:
        """Hear a notification that belongs to the request."""


@runtime_checkable
class OfRun(Protocol):
    """A caller that is a call of a run.

    Attributes:
        key: the idempotency key of the call.
        holder: for whom sessions are kept open.
    """

    key: str

    @property
    def holder(self) -> Holder | None: ...

    def held(self) -> AbstractContextManager[None]:
        """A block in which the time limit of the call stands still."""

    def beside(self, keys: tuple[str, ...]) -> None:
        """What is asked of it next may be meant for the calls of these keys as well: they go on record with it."""

    def found_new(self, *, had: bool) -> None:
        """It is the first call of its holder over a session.

        Args:
            had: whether the holder had another session before.
        """


class Nobody:
    """A caller that can not be asked anything."""

    @property
    def capabilities(self) -> JsonObject:
        return {}

    async def answer(self, method: str, params: JsonObject) -> JsonObject:
        raise McpError(METHOD_NOT_FOUND, f"{method}: nobody can be asked")

    def told(self, method: str, params: JsonObject) -> None:
        return


NOBODY: Caller = Nobody()


class ServerFacts(Struct, frozen=True, kw_only=True):
    """What a server says of itself. None of it is proven.

    Attributes:
        era: how it is spoken to.
        version: of the protocol.
        capabilities: what it offers.
        info: its name and version, where it tells.
        instructions: how it wants to be used, for a model.
    """

    era: Known
    version: str
    capabilities: JsonObject = {}
    info: JsonObject = {}
    instructions: str = ""


class McpSession:
    """A session over an open transport.

    Args:
        dispatcher: over the transport's streams, running.
        clock: time.
        capabilities: of the client, declared in the handshake of a legacy server.
        log_level: from which on a modern server is to tell what it logs; empty for not at all.
    """

    def __init__(
        self,
        dispatcher: JSONRPCDispatcher[TransportContext],
        clock: Clock,
        capabilities: JsonObject | None = None,
        log_level: str = "",
    ) -> None:
        self._dispatcher = dispatcher
        self._clock = clock
        self._capabilities = capabilities or {}
        self._log_level = log_level
        self._facts: ServerFacts | None = None

    @property
    def facts(self) -> ServerFacts:
        """What the server told when the session began."""
        assert self._facts is not None
        return self._facts

    # Beginning --------------------------------------------------------------------------------------------------------

    async def begin(self, era: McpEra, probe_s: float, begin_s: float, *, silence_is_legacy: bool) -> ServerFacts:
        """Find out which era the server speaks, unless it is known, and begin.

        Args:
            era: `auto` to find out.
            probe_s: seconds in which it has to answer whether it is modern.
            begin_s: seconds in which it has to shake hands.
            silence_is_legacy: one that does not answer the question is taken for a server of old, which knows no
                request before the handshake; over HTTP, silence tells nothing.

        Raises:
            McpError: it refuses, or speaks no version that we do.
            CallTimeout: it does not answer.
        """
        if era == "legacy":
            return await self._shake_hands(begin_s)
        try:
            return await self._asked(probe_s)
        except McpError as refused:
            if era == "modern" or _is_modern_only(refused):
                raise
        except InvalidResult:
            if era == "modern":
                raise
        except CallTimeout:
            if era == "modern" or not silence_is_legacy:
                raise
        try:
            return await self._shake_hands(begin_s)
        except McpError as refused:
            if MODERN not in _supported(refused):
                raise
        return await self._asked(begin_s)  # it was slow to start, and had taken the question when the handshake came

    async def _asked(self, seconds: float) -> ServerFacts:
        try:
            async with self._clock.timeout(seconds):
                return await self._discover()
        except TimeoutError:
            raise CallTimeout("The server does not answer server/discover.", effect="none") from None

    async def _shake_hands(self, seconds: float) -> ServerFacts:
        try:
            async with self._clock.timeout(seconds):
                return await self._initialize()
        except TimeoutError:
            raise CallTimeout("The server does not answer initialize.", effect="none") from None

    async def _discover(self) -> ServerFacts:
        try:
            found = await self._send("server/discover", self._stamped({}, {}), _headers("server/discover", {}))
        except McpError as refused:
            if MODERN not in _supported(refused):
                raise
            found = await self._send("server/discover", self._stamped({}, {}), _headers("server/discover", {}))
        versions = found.get("supportedVersions")
        if not isinstance(versions, list) or MODERN not in versions:
            raise InvalidResult("The server offers no version of the protocol without a handshake.", effect="none")
        meta = found.get("_meta")
        info = meta.get(f"{_SENT_AT}serverInfo") if isinstance(meta, dict) else None
        self._facts = _facts("modern", MODERN, found, info)
        return self._facts

    async def _initialize(self) -> ServerFacts:
        params: JsonObject = {
            "protocolVersion": LEGACY,
            "capabilities": self._capabilities,
            "clientInfo": _us(),
        }
        found = await self._send("initialize", params, {})
        version = found.get("protocolVersion")
        if version not in LEGACY_VERSIONS:
            raise McpError(UNSUPPORTED_VERSION, f"it speaks {version!r}, which nobody here does")
        self._facts = _facts("legacy", str(version), found, found.get("serverInfo"))
        await self.notify("notifications/initialized", {})
        return self._facts

    # Requests ---------------------------------------------------------------------------------------------------------

    async def request(
        self,
        method: str,
        params: JsonObject,
        caller: Caller,
        limit: TimeLimit,
        progress: Callable[[JsonObject], None] | None = None,
        header_schema: JsonObject | None = None,
        paused: JsonObject | None = None,
        *,
        settles: bool = True,
    ) -> JsonObject:
        """Send a request, answer what the server asks back, and return the raw result.

        Args:
            limit: ends it; stands still while somebody is asked.
            progress: hears of progress.
            header_schema: the schema of the tool that is called, which may want arguments in headers.
            paused: where it stopped before, out of the `state` of what was raised then: it goes on from there.
            settles: what the server answers with a task is waited for; else its handle is the result.

        Raises:
            McpError: the server refuses.
            InputRequired: it asks what nobody can answer now; its `state` tells how to go on.
            CallTimeout: the connection was lost.
        """
        result = paused or await self.once(method, params, caller, progress, header_schema)
        if "task" in params and isinstance(handle := result.get("task"), dict):
            return await collect(handle, self._sender(caller, limit), self._clock, _tells(caller))
        for _ in range(ROUNDS_MAX):
            kind = result.get("resultType", "complete")
            if kind not in ("task", "input_required"):
                return result
            try:
                if kind == "task":
                    _check_wanted(caller)
                    return await self._settled(result, caller, limit) if settles else result
                state = await self._answers(result, caller, limit)
            except InputRequired as waiting:
                raise InputRequired(waiting.pending, waiting.run_id, dumps(result)) from None
            limit.heard()
            result = await self.once(method, {**params, **state}, caller, progress, header_schema)
        raise McpError(INVALID_REQUEST, f"it asked back {ROUNDS_MAX} times during one request", effect="unknown")

    async def once(
        self,
        method: str,
        params: JsonObject,
        caller: Caller,
        progress: Callable[[JsonObject], None] | None = None,
        header_schema: JsonObject | None = None,
    ) -> JsonObject:
        """Send a request and return the raw result, whatever it is."""
        headers = _headers(method, params, header_schema) if self.facts.era == "modern" else {}
        if self.facts.era == "modern":
            params = self._stamped(params, caller.capabilities)
        else:
            headers[MCP_PROTOCOL_VERSION_HEADER] = self.facts.version
        return await self._send(method, params, headers, progress)

    async def notify(self, method: str, params: JsonObject) -> None:
        """Send a notification."""
        opts: CallOptions = {"headers": {MCP_PROTOCOL_VERSION_HEADER: self.facts.version}}
        await self._dispatcher.notify(method, params or None, opts)

    async def _send(
        self,
        method: str,
        params: JsonObject,
        headers: dict[str, str],
        progress: Callable[[JsonObject], None] | None = None,
    ) -> JsonObject:
        opts: CallOptions = {"headers": headers, "cancel_on_abandon": method not in _FIRST}
        if progress is not None:
            opts["on_progress"] = _Progress(progress)
        try:
            with _traced(params):
                return cast(JsonObject, await self._dispatcher.send_raw_request(method, params, opts))
        except MCPError as error:
            failed = told(method, error.code, error.message, cast(Json, error.data))
            if isinstance(failed, Lost) and method in _FIRST:
                failed = Unavailable("It ended before it had answered.")
            raise failed from None

    def _stamped(self, params: JsonObject, capabilities: JsonObject) -> JsonObject:
        """With what every request without a handshake says of who sends it."""
        given = params.get("_meta")
        meta: JsonObject = {
            **(given if isinstance(given, dict) else {}),
            f"{_SENT_AT}protocolVersion": MODERN,
            f"{_SENT_AT}clientInfo": _us(),
            f"{_SENT_AT}clientCapabilities": capabilities,
        }
        if self._log_level:
            meta.setdefault(f"{_SENT_AT}logLevel", self._log_level)
        return {**params, "_meta": meta}

    # Asked back -------------------------------------------------------------------------------------------------------

    async def _answers(self, result: JsonObject, caller: Caller, limit: TimeLimit) -> JsonObject:
        """What goes with the next round."""
        requests = result.get("inputRequests") or {}
        state: JsonObject = {}
        if "requestState" in result:
            state["requestState"] = result["requestState"]
        if not isinstance(requests, dict):
            raise InvalidResult("The server asks back, and it can not be told what.", effect="unknown")
        if len(requests) > ASKED_MAX:
            asked_for = f"The server asks back for {len(requests)} things at once"
            raise InvalidResult(
                "{asked_for}; at most {most} are answered.", effect="unknown", asked_for=asked_for, most=ASKED_MAX
            )
        answers: JsonObject = {}
        with limit.held():
            for key, request in requests.items():
                asked = request if isinstance(request, dict) else {}
                params = asked.get("params")
                answers[key] = await ask(caller, str(asked.get("method")), params if isinstance(params, dict) else {})
        if answers:
            state["inputResponses"] = answers
        if not state:  # the same request again would be the same call again
            raise InvalidResult("The server asks back, and does not say what.", effect="unknown")
        return state

    async def _settled(self, handle: JsonObject, caller: Caller, limit: TimeLimit) -> JsonObject:
        """What a task came to."""

        async def answer(method: str, params: JsonObject) -> JsonObject:
            with limit.held():
                return await ask(caller, method, params)

        return await settle(handle, self._sender(caller, limit), answer, self._clock, _tells(caller))

    def _sender(self, caller: Caller, limit: TimeLimit) -> Callable[[str, JsonObject], Awaitable[JsonObject]]:
        """What sends the requests about a task; each answer is a word of the server."""

        async def send(method: str, params: JsonObject) -> JsonObject:
            result = await self.once(method, params, caller)
            limit.heard()
            return result

        return send


def _tells(caller: Caller) -> Callable[[str], None]:
    return lambda message: caller.told("notifications/message", {"level": "info", "data": message[:TOLD_CHARS_MAX]})


@contextmanager
def _traced(params: JsonObject) -> Iterator[None]:
    """The trace that a request names is the one that it is sent in: the SDK would write the one of the request that we
    ourselves are serving over it.
    """
    meta = params.get("_meta")
    carrier: dict[str, str] = {}
    if isinstance(meta, dict) and "traceparent" in meta:
        carrier = {name: str(meta[name]) for name in ("traceparent", "tracestate") if name in meta}
    token = attach(extract(carrier)) if carrier else None
    try:
        yield
    finally:
        if token is not None:
            detach(token)


async def ask(caller: Caller, method: str, params: JsonObject) -> JsonObject:
    """Have a caller answer what a server asks, if it may ask that.

    Raises:
        McpError: it may not, or they will not.
        InputRequired: nobody can now.
    """
    wanted = _ASKS.get(method)
    if wanted is None:
        raise McpError(METHOD_NOT_FOUND, f"{method} is nothing that can be asked of a client")
    if wanted not in caller.capabilities:
        raise McpError(MISSING_CAPABILITY, f"{method}: the capability {wanted!r} was not declared")
    return await caller.answer(method, params)


async def ask_live(caller: Caller, method: str, params: JsonObject) -> JsonObject:
    """As `ask`, for a server that waits on the line: what nobody can answer now is put aside, or refused."""
    before = cancellations()
    try:
        return await ask(caller, method, params)
    except InputRequired:
        if method == "elicitation/create":
            return {"action": "cancel"}
        raise McpError(METHOD_NOT_FOUND, f"{method}: nobody can answer that now") from None
    except asyncio.CancelledError:
        if cancellations() > before:
            raise
        raise McpError(REFUSED_BY_USER, "It was not agreed to.") from None  # their run ends, and not the connection


class _Progress:
    """What the dispatcher calls on progress, as a message again."""

    def __init__(self, tell: Callable[[JsonObject], None]) -> None:
        self._tell = tell

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        told: JsonObject = {"progress": progress}
        if total is not None:
            told["total"] = total
        if message is not None:
            told["message"] = message[:TOLD_CHARS_MAX]
        self._tell(told)


def _headers(method: str, params: JsonObject, schema: JsonObject | None = None) -> dict[str, str]:
    headers = {MCP_PROTOCOL_VERSION_HEADER: MODERN, MCP_METHOD_HEADER: method}
    name = params.get(_NAMED.get(method, ""))
    if isinstance(name, str):
        headers[MCP_NAME_HEADER] = encode_header_value(name)
    arguments = params.get("arguments")
    if schema is not None and method == "tools/call" and isinstance(arguments, Mapping):
        headers |= mcp_param_headers(x_mcp_header_map(schema), arguments)
    return headers


def _facts(era: Known, version: str, found: JsonObject, info: Json) -> ServerFacts:
    capabilities, instructions = found.get("capabilities"), found.get("instructions")
    return ServerFacts(
        era=era,
        version=version,
        capabilities=capabilities if isinstance(capabilities, dict) else {},
        info=info if isinstance(info, dict) else {},
        instructions=instructions if isinstance(instructions, str) else "",
    )


def _check_wanted(caller: Caller) -> None:
    """Check that the caller has said that it knows tasks; only then a server may answer with one.

    Raises:
        InvalidResult: the caller did not say so.
    """
    declared = caller.capabilities.get("extensions")
    if not isinstance(declared, dict) or not isinstance(declared.get(TASKS), dict):
        raise InvalidResult("The server answered with a task, which nobody asked for.", effect="unknown")


def _is_modern_only(refused: McpError) -> bool:
    """It says that it speaks none but versions that we do not, all of them without a handshake."""
    supported = _supported(refused)
    return bool(supported) and not any(version in LEGACY_VERSIONS for version in supported)


def _supported(refused: McpError) -> list[Json]:
    """The versions that a server names when it refuses one."""
    named = refused.data.get("supported") if isinstance(refused.data, dict) else None
    return named if refused.rpc_code == UNSUPPORTED_VERSION and isinstance(named, list) else []


@cache
def _version() -> str:
    try:
        return version("actum")
    except PackageNotFoundError:  # run out of its source
        return "0"


def _us() -> JsonObject:
    return {"name": "actum", "version": _version()}
