"""The door of our own API: routes made of the list of operations, and everything that a request can be wrong in.

Who asks, how large a request may be and how long it may take is looked at by the application before a request comes
here.
"""

from __future__ import annotations

import asyncio
import logging
import math
import re
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache, partial
from importlib.metadata import version as installed_version
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

import msgspec
from msgspec import Struct
from msgspec.inspect import StructType, VarTupleType, type_info
from starlette.requests import ClientDisconnect
from starlette.routing import BaseRoute, Match, Route
from starlette.types import Message, Receive, Scope, Send

from ...core.call import Problem
from ...core.clock import SystemClock
from ...core.errors import ActumError, Busy, DamagedDefinition, JournalError, ReplayDiverged, UnknownName, UsageError
from ...core.identity import Identity
from ...core.interfaces import Clock
from ...core.json import Json, JsonProblem, parse
from ...core.language.sentence import Sentence
from ...core.process.worker_thread import LARGE, off_loop
from ...core.run.ids import new_id
from ...features.feature import NO_FEATURES, FeatureSet
from ...features.operation import AnswerKind, ApiFile, ApiReply, ApiRequest, Operation
from ...features.refusal import Refusal, not_found
from ...runs.runner import Runner
from ..login.browser_sessions import BrowserSessions
from ..login.same_site import own_origin
from ..published import PublishedOffer
from ..route_group import identity_of, language_of
from ..scopes import allows
from ..workflows import WorkflowsByName
from .api import AgentsByName, Api, GivenAgents, KeptSecrets, Tasking
from .approvals.operations import go_on_with_answered
from .connected import TenantModels
from .document import KEY_PATTERN, LAST_EVENT_PATTERN, document
from .events import EventStream, Streams
from .operations import OPERATIONS, recorded
from .problem import encoded
from .session import PATH as SESSION
from .session import offered

if TYPE_CHECKING:
    from typing_extensions import TypeIs

log = logging.getLogger("actum.api")

DRAIN_S = 10.0
"""Seconds that runs may go on when the server stops."""

_KEY = re.compile(KEY_PATTERN)
_EVENT = re.compile(LAST_EVENT_PATTERN)
_PLACE = re.compile(r"^(.*) - at `\$\.?(.*)`$", re.DOTALL)
_encode = msgspec.json.Encoder().encode


class ApiRoutes:
    """The door of our own API.

    Args:
        runner: the tools, and all that calls of them are judged by and written down in.
        agents: the agents, such as `GivenAgents({"desk": agent})`; all have to write to the journal of the runner.
        clock: the time.
        drain_s: the seconds that runs may go on when the server stops; those that take longer are cancelled.
        tasking: how tasks are taken on; None where nothing carries tasks out, and each is refused.
        workflows: the workflows that callers may run; None for none.
        features: the features that are on.
        secrets: the secrets that administrators set; None for none.
        browsers: the sessions of browsers; None where no key is wanted.
        connections: the models that tenants have connected; None where nobody can connect one.
        published: what tenants have published; by default their workflows alone.

    Attributes:
        api: the runs that the door carries out.
        streams: the streams of events that are open.
        file_bytes: the paths that take files; see `TakesFiles`.
    """

    def __init__(
        self,
        runner: Runner,
        agents: AgentsByName | None = None,
        *,
        clock: Clock | None = None,
        drain_s: float = DRAIN_S,
        tasking: Tasking | None = None,
        workflows: WorkflowsByName | None = None,
        features: FeatureSet = NO_FEATURES,
        secrets: KeptSecrets | None = None,
        browsers: BrowserSessions | None = None,
        connections: TenantModels | None = None,
        published: PublishedOffer | None = None,
    ) -> None:
        self.streams = Streams()
        given = agents or GivenAgents({})
        time = clock or SystemClock()
        self.api = Api(runner, given, time, tasking, workflows, features, secrets, browsers, connections, published)
        self._drain_s = drain_s
        operations = [*OPERATIONS, *recorded(features)]
        self.api.offers = offered(operations)
        self.file_bytes = {each.path: each.file_bytes for each in operations if each.file_bytes}
        describing = _Document(features)
        if features.scopes:  # a mistake in the operation of a stranger ends the start, not a later request
            describing.made()
        self._routes: list[BaseRoute] = [
            _PathRoute(path, _Place(self.api, self.streams, {each.method.upper(): each for each in operations}))
            for path, operations in by_path(operations).items()
        ]
        self._routes.append(Route("/openapi.json", endpoint=describing))
        self._routes.append(_OtherPaths([*self._routes]))

    @property
    def routes(self) -> Sequence[BaseRoute]:
        """Everything that the API answers to."""
        return self._routes

    @property
    def open_paths(self) -> Sequence[str]:
        """The paths that are for those who have no key yet."""
        return (DOCUMENT.path, SESSION)

    async def recognize(self, scope: Scope) -> Identity | None:
        """Who makes a request in a session of a browser; see `Recognizer`."""
        return None if self.api.browsers is None else await self.api.browsers.recognize(scope)

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Runs that requests start go on within this block."""
        looking = asyncio.create_task(go_on_with_answered(self.api), name="answers from elsewhere")
        try:
            yield
        finally:
            looking.cancel()
            await asyncio.wait([looking])
            self.streams.end()
            await self.api.work.close(self._drain_s)

    async def end_streams(self) -> None:
        """End the streams of events and start no more runs."""
        self.api.work.refuse_new()
        self.streams.end()


def by_path(operations: Iterable[Operation]) -> dict[str, list[Operation]]:
    """The operations by their paths."""
    found: dict[str, list[Operation]] = {}
    for operation in operations:
        found.setdefault(operation.path, []).append(operation)
    return found


async def _described_by_itself(api: object, asked: object) -> ApiReply:
    raise NotImplementedError("the document is answered by its own route")


DOCUMENT = Operation(
    id="getDocument",
    method="get",
    path="/openapi.json",
    tag="server",
    summary="Get this document.",
    replies={200: AnswerKind(means="The document.", body={}, example={"openapi": "3.1.1"})},
    handler=_described_by_itself,
    is_open=True,
)


def whole_document(features: FeatureSet = NO_FEATURES) -> bytes:
    """The document of the API of this version and of the features that are on, as JSON for people to read, too."""
    operations = [*OPERATIONS, *(each for on in features.on for each in on.operations), DOCUMENT]
    made = document(operations, version=installed_version("actum"), features=features.scopes)
    return msgspec.json.format(_encode(made), indent=2) + b"\n"


class _Document:
    """Answers the document, which is made when it is first asked for: that takes as long as the rest of the start.

    Args:
        features: those that are on.
    """

    def __init__(self, features: FeatureSet) -> None:
        self.made = cache(partial(whole_document, features))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] not in ("GET", "HEAD"):
            await _refuse(scope, send, _wrong_method(("GET",)))
        else:
            await _send(send, 200, await off_loop(LARGE + 1, self.made), b"application/json")


async def _nowhere_app(scope: Scope, receive: Receive, send: Send) -> None:
    await _refuse(
        scope, send, Refusal(404, "unknown_path", "There is nothing at this path. /openapi.json lists the paths.")
    )


class _Nowhere:
    """Answers what is asked at a path of ours that there is not."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await _nowhere_app(scope, receive, send)


_nowhere = _Nowhere()


class _Place:
    """One path: chooses the operation by the method, reads the request, and answers.

    Args:
        api: what the handlers share.
        streams: the streams of events that are open.
        operations: the operations of the path, by method.
    """

    def __init__(self, api: Api, streams: Streams, operations: Mapping[str, Operation]) -> None:
        self.api = api
        self.streams = streams
        self._operations = operations

    def takes(self, method: str) -> bool:
        """Whether the path has an operation of this method."""
        return ("GET" if method == "HEAD" else method) in self._operations

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        operation = self._operations.get(method)
        if operation is None:
            await _refuse(scope, send, _wrong_method(self._operations))
            return
        who = identity_of(scope)
        if not allows(who, operation.scopes):
            await _refuse(scope, send, _missing_scope(operation))
            return
        raw = (
            b"" if operation.body is None else await _bytes(receive)
        )  # what the application says against it passes through
        try:
            asked = await off_loop(len(raw), _read, operation, who, scope, raw, self._public())
            answer = await operation.handler(self.api, asked)
        except Exception as error:  # noqa: BLE001  # the client hears of it, and the log of what nobody expected
            await _refuse(scope, send, _refusal(error))
            return
        if isinstance(answer, ApiReply):
            headers = [(b"location", answer.location.encode())] if answer.location else []
            headers += [(b"cache-control", b"no-store")] if answer.is_told_once else []
            headers += [(b"set-cookie", answer.cookie.encode())] if answer.cookie else []
            if isinstance(answer.body, ApiFile):
                headers += [(b"content-disposition", f'attachment; filename="{answer.body.name}"'.encode())]
                await _send(send, answer.status, answer.body.content, answer.body.media_type.encode(), headers)
                return
            body = b"" if answer.body is None else _encode(answer.body)
            await _send(send, answer.status, body, b"application/json", headers)
        else:
            await self.streams.opened(EventStream(answer, self.api.clock))(scope, receive, send)

    def _public(self) -> str:
        return self.api.browsers.public if self.api.browsers is not None else ""


class _PathRoute(Route):
    """The route of one path. Another path that fits comes first for a method that this one does not take: `import` in
    `/v1/workflows/import` is the name of a workflow for GET, and a word of ours for POST.

    Args:
        path: the path.
        place: answers.
    """

    def __init__(self, path: str, place: _Place) -> None:
        super().__init__(path, endpoint=place)
        self._place = place

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        match, more = super().matches(scope)
        is_taken = match != Match.FULL or self._place.takes(scope["method"])
        return (match if is_taken else Match.PARTIAL), more


class _OtherPaths(Route):
    """All paths below `/v1/` that no route before it has, not even for another method.

    Args:
        before: the routes before it.
    """

    def __init__(self, before: Sequence[BaseRoute]) -> None:
        super().__init__("/v1/{rest:path}", endpoint=_nowhere)
        self._before = before

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        match, more = super().matches(scope)
        is_known = match == Match.FULL and any(route.matches(scope)[0] != Match.NONE for route in self._before)
        return (Match.NONE if is_known else match), more


def _wrong_method(allowed: Iterable[str]) -> Refusal:
    names = sorted({*allowed, *({"HEAD"} if "GET" in allowed else ())})
    told = ", ".join(names)
    return Refusal(405, "method", "This path takes {methods}.", headers={"Allow": told}, methods=told)


# Reading a request ----------------------------------------------------------------------------------------------------


def _missing_scope(operation: Operation) -> Refusal:
    wanted = tuple(dict.fromkeys((*operation.scopes, "admin")))
    if wanted == ("admin",):
        return Refusal(403, "scope", "This needs a key with the scope `{needed}`.", scope=wanted, needed="admin")
    return Refusal(
        403, "scope", "This needs a key with one of the scopes {wanted}.", scope=wanted, wanted=", ".join(wanted)
    )


def _read(operation: Operation, who: Identity, scope: Scope, raw: bytes, public: str) -> ApiRequest[object, object]:
    """A request, checked.

    Raises:
        Refusal: it is not as the operation wants it.
    """
    key, last_event = "", -1
    if operation.takes_key and (found := _header(scope, b"idempotency-key")) is not None:
        if not _KEY.fullmatch(found):
            raise Refusal(400, "header", "Idempotency-Key: use 1 to 255 visible ASCII characters.")
        key = found
    if operation.takes_last_event and (found := _header(scope, b"last-event-id")):
        if not _EVENT.fullmatch(found):
            raise Refusal(400, "header", "Last-Event-ID: use the id of an event, which is a number.")
        last_event = int(found)
    query = _query(operation.query, scope) if operation.query is not None else None
    body = _body(operation, scope, raw) if operation.body is not None else None
    names: Mapping[str, str] = scope.get("path_params", {})
    sender = (scope.get("client") or ("",))[0]
    return ApiRequest(
        operation.id,
        who,
        names,
        query,
        body,
        key=key,
        last_event=last_event,
        sender=sender,
        origin=own_origin(scope, public),
        language=language_of(scope),
    )


def _header(scope: Scope, wanted: bytes) -> str | None:
    """The value of a header; None where it is not there.

    Raises:
        Refusal: it is there twice.
    """
    found = [value.decode("latin-1") for name, value in scope["headers"] if name == wanted]
    if len(found) > 1:
        raise Refusal(400, "header", "{wanted}: given twice.", wanted=wanted.decode().title())
    return found[0].strip() if found else None


def _query(kind: type[Struct], scope: Scope) -> Struct:
    pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    lists: dict[str, list[str]] = {name: [] for name in _lists_in(kind)}
    given: dict[str, object] = {}
    for name, value in pairs:
        if name in lists:
            given[name] = lists[name]
            lists[name].append(value)
        elif name in given:
            raise _invalid(Problem(name[:100], "unique", "the parameter once"))
        else:
            given[name] = value
    try:
        query = msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError as error:
        raise _invalid(_problem(error)) from None
    for name in kind.__struct_fields__:
        value = getattr(query, name)
        if isinstance(value, float) and not math.isfinite(value):
            raise _invalid(Problem(name, "type", "a number"))
    return query


@cache
def _lists_in(kind: type[Struct]) -> tuple[str, ...]:
    """The query parameters that may be given several times."""
    shape = type_info(kind)
    assert isinstance(shape, StructType)
    return tuple(field.encode_name for field in shape.fields if isinstance(field.type, VarTupleType))


def _body(operation: Operation, scope: Scope, raw: bytes) -> Struct:
    assert operation.body is not None
    if not raw and operation.body_is_optional:
        return msgspec.convert({}, operation.body)
    kind = (_header(scope, b"content-type") or "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refusal(415, "content_type", "The body has to be JSON: send Content-Type: application/json.")
    try:
        value, _ = parse(raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise Refusal(400, "malformed", "The body is not UTF-8: byte {at}.", at=error.start) from None
    except JsonProblem as problem:
        raise Refusal(400, "malformed", "The body is not JSON: {why}.", why=problem) from None
    if isinstance(value, dict):  # 26.0 is an integer to JSON Schema
        value = {name: int(field) if _is_integral(field) else field for name, field in value.items()}
    try:
        return msgspec.convert(value, operation.body)
    except msgspec.ValidationError as error:
        raise _invalid(_problem(error)) from None


def _is_integral(value: Json) -> TypeIs[float]:
    return isinstance(value, float) and value.is_integer()


async def _bytes(receive: Receive) -> bytes:
    chunks: list[bytes] = []
    while True:
        message: Message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        chunks.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(chunks)


def _problem(error: msgspec.ValidationError) -> Problem:
    """What msgspec says is wrong, with the place taken out of the sentence."""
    found = _PLACE.match(str(error))
    words, place = (found[1], found[2]) if found else (str(error), "")
    return Problem(place, "schema", words)


def _invalid(problem: Problem) -> Refusal:
    where = f"{problem.path}: " if problem.path else ""
    return Refusal(
        422,
        "invalid",
        "A value does not fit: {where}{why}.",
        problems=(problem,),
        where=where,
        why=problem.expected,
    )


# Answering ------------------------------------------------------------------------------------------------------------


def _refusal(error: Exception) -> Refusal:
    """What a client is told of an error. Words of errors that may name files or addresses stay in the log."""
    match error:
        case Refusal():
            return error
        case Busy():
            return Refusal(409, "busy", error, retry_after=1.0)
        case ReplayDiverged():
            return Refusal(409, "changed", error)
        case UnknownName():
            return not_found("thing")  # the words may name the journal
        case DamagedDefinition():
            return Refusal(409, "damaged", error)  # to ask again does not help
        case UsageError():
            return Refusal(409, "conflict", error)
        case _:
            return _unexpected(error)


def _unexpected(error: Exception) -> Refusal:
    """What a client is told of an error that the log has under a reference."""
    reference = new_id("err")
    log.error("%s: %s", reference, error, exc_info=error)
    if isinstance(error, JournalError):
        return Refusal(
            503, "record", "The record can not be read or written now.", reference=reference, retry_after=5.0
        )
    what = Sentence("The run could not be carried out." if isinstance(error, ActumError) else "Something went wrong.")
    return Refusal(
        500,
        "internal",
        "{what} The log of the server has the cause under {mark}.",
        reference=reference,
        what=what,
        mark=reference,
    )


async def _refuse(scope: Scope, send: Send, refusal: Refusal) -> None:
    status, body, headers = encoded(refusal, language_of(scope))
    await _send(send, status, body, headers[0][1], headers[1:])


async def _send(send: Send, status: int, body: bytes, kind: bytes, headers: Sequence[tuple[bytes, bytes]] = ()) -> None:
    about = [(b"content-length", b"%d" % len(body)), *headers] if status != 204 else [*headers]
    if body:
        about.append((b"content-type", kind))
    await send({"type": "http.response.start", "status": status, "headers": about})
    await send({"type": "http.response.body", "body": body})
