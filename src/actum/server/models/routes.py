"""The models door: reads a request of any model API once, finds out what the model's name means, and has it answered.

    application: keys, sizes, places ──▶ ModelRoutes ──▶ Passer     the name of a model behind this server
                                        │
                                        └───────▶ Executor   the name of an agent

Every error is told in the form and with the status of the API that was asked, those of the application among them. This
file sends nothing to anybody: `passing.py` and the executor do.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from typing import Generic, Protocol, TypeVar
from urllib.parse import parse_qsl

import msgspec
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from ...core.errors import ActumError, ModelError, UnknownName
from ...core.identity import Identity, LetsIn
from ...core.json import Json, JsonObject
from ..paths import OtherPath
from ..refusal import HttpRefusal
from ..route_group import REQUEST_ID, Worded, identity_of
from .executor import Executor
from .names import Executing, ModelNames, Passing, lets_all_in
from .refused import NOT_SERVED, Refused, error_of_refusal, refusal_response, told_error
from .request import ModelRequest, read_request
from .surface import KEY_HEADERS, KEY_QUERY, SURFACES, Surface, Vendor, vendor_of

OWNER = "actum"
_BEGAN = 0
"""When a model was made is not known; clients want a number."""


def model_entry(vendor: Vendor, name: str, agent: str = "") -> JsonObject:
    """One model.

    Args:
        vendor: whose client asks.
        name: of the model.
        agent: the agent or workflow that answers under the name; empty for a model. The studio is told of it, in a
            field of our own: where a model is wanted, no agent may be named.
    """
    match vendor:
        case "anthropic":
            at = datetime.fromtimestamp(_BEGAN, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            unknown: JsonObject = dict.fromkeys(("capabilities", "max_input_tokens", "max_tokens"))
            return {"type": "model", "id": name, "display_name": name, "created_at": at, **unknown}
        case "gemini":
            methods: list[Json] = ["generateContent", "streamGenerateContent", "countTokens"]
            return {"name": f"models/{name}", "displayName": name, "supportedGenerationMethods": methods}
        case "openai":
            own: JsonObject = {"agent": agent} if agent else {}
            return {"id": name, "object": "model", "created": _BEGAN, "owned_by": OWNER, **own}


def model_list(vendor: Vendor, models: Mapping[str, str]) -> JsonObject:
    """All models, on one page.

    Args:
        vendor: whose client asks.
        models: by the name of each model the agent that answers, as for `model_entry`.
    """
    entries: list[Json] = [model_entry(vendor, name, agent) for name, agent in models.items()]
    match vendor:
        case "anthropic":
            names = list(models)
            first, last = (names[0], names[-1]) if names else (None, None)
            return {"data": entries, "has_more": False, "first_id": first, "last_id": last}
        case "gemini":
            return {"models": entries}
        case "openai":
            return {"object": "list", "data": entries}


log = logging.getLogger("actum.server.models")

JSON = "application/json"
_NOT_SERVED = (
    OtherPath.AUDIO,
    OtherPath.BATCHES,
    OtherPath.FILES,
    OtherPath.FINE_TUNING,
    OtherPath.IMAGES,
    f"{OtherPath.MESSAGES}/batches",
    OtherPath.MODERATIONS,
    OtherPath.REALTIME,
    f"{OtherPath.RESPONSES}/compact",
    OtherPath.UPLOADS,
    OtherPath.VIDEOS,
)
"""What the vendors' clients may ask for and nobody answers here; they are told in their own form."""

_OTHER_APIS = ("/api/{rest:path}", "/v1/chat", "/v2/{rest:path}")
"""Where clients of Ollama and Cohere ask."""
_WITHOUT_VERSION = ("/chat/completions", "/completions", "/embeddings", "/responses")
"""Where clients of OpenAI ask whose base URL lacks `/v1`."""

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
T_contra = TypeVar("T_contra", contravariant=True)


class Passer(Protocol[T_contra]):
    """Passes requests to upstreams; `passing.PassingThrough` is one."""

    async def answer(self, asked: ModelRequest, name: str, route: T_contra) -> Response:
        """Answer a request.

        Args:
            asked: the request.
            name: of the model in the settings.
            route: where the request goes.

        Raises:
            ActumError, Refused: why there is no answer.
        """

    def lifespan(self) -> AbstractAsyncContextManager[None]:
        """What has to be open while the server runs."""


class ConnectedNames(Protocol[T_co]):
    """The models that tenants have connected while the server runs."""

    async def names(self, tenant: str) -> Sequence[str]:
        """What a tenant calls its models."""

    async def route(self, tenant: str, name: str) -> T_co | None:
        """Where requests for a model of a tenant go; None where the tenant has none of this name.

        Raises:
            UsageError: the model can not be asked now.
        """


class ModelRoutes(Generic[T]):
    """The door of all model APIs.

    Args:
        names: what the names of models mean.
        passer: passes requests to upstreams; None where no name means one.
        executor: answers by agents; None where no name means one.
        scopes: what a key has to allow.
        connected: the models of tenants, whose names come after all others; None for none.
    """

    def __init__(
        self,
        names: ModelNames[T],
        *,
        passer: Passer[T] | None = None,
        executor: Executor | None = None,
        scopes: Sequence[str] = (),
        connected: ConnectedNames[T] | None = None,
    ) -> None:
        self._names = names
        self._connected = connected
        self._passer = passer
        self._executor = executor
        self._lets_in: LetsIn = lets_all_in if executor is None else executor.lets_in
        self.scopes = tuple(scopes)
        if executor is not None:
            executor.know_names(self._agent_of)
        more = executor.routes if executor is not None else ()
        self._routes: list[BaseRoute] = [
            *(Route(path, _Place(self._answerer(surface))) for surface in SURFACES for path in surface.paths),
            *(Route(f"{path}{rest}", _Place(_not_served, "")) for path in _NOT_SERVED for rest in ("", "/{rest:path}")),
            *(Route(path, _Place(_other_api, "")) for path in _OTHER_APIS),
            *(Route(path, _Place(_without_version, "")) for path in _WITHOUT_VERSION),
            Route(f"{OtherPath.TWICE}/{{rest:path}}", _Place(_version_twice, "")),
            *more,
            Route(OtherPath.MODELS, _Place(self._list, "GET")),
            Route("/v1beta/models", _Place(self._list, "GET")),
            Route(f"{OtherPath.MODELS}/{{model:path}}", _Place(self._show, "GET")),
            Route("/v1beta/models/{model:path}", _Place(self._show, "GET")),
            Route("/v1beta/{rest:path}", _Place(_nowhere, "")),
        ]

    @property
    def routes(self) -> Sequence[BaseRoute]:
        """Every path of every API."""
        return self._routes

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """What answers is open within this block."""
        async with AsyncExitStack() as stack:
            for each in (self._passer, self._executor):
                if each is not None:
                    await stack.enter_async_context(each.lifespan())
            yield

    async def end_streams(self) -> None:
        """The streams of agents end by the agents' rules. What is passed through goes on until the server breaks it
        off: the answer of a model ends by itself."""
        if self._executor is not None:
            await self._executor.end_streams()

    def take_keys(self, scope: Scope) -> list[str]:
        """See `door.KeysElsewhere`."""
        found = [value.decode("latin-1") for name, value in scope["headers"] if name in _KEY_HEADERS]
        if found:
            scope["headers"] = [pair for pair in scope["headers"] if pair[0] not in _KEY_HEADERS]
        query: bytes = scope["query_string"]
        if KEY_QUERY.encode() in query or b"%" in query:  # a letter of the field's name may be encoded
            fields = query.split(b"&")
            shown = [_field(field) for field in fields]
            found += [value for name, value in shown if name == KEY_QUERY]
            kept = [field for field, (name, _) in zip(fields, shown, strict=True) if name != KEY_QUERY]
            scope["query_string"] = b"&".join(kept)
        return found

    def word(self, refusal: HttpRefusal, scope: Scope) -> Worded:
        """Tell a refusal of the application in the form of the API that was asked."""
        told = told_error(_vendor_of(scope), error_of_refusal(refusal), scope[REQUEST_ID])
        return Worded(JSON.encode(), told.body)

    async def _meaning(self, model: str, who: Identity) -> Passing[T] | Executing:
        """What a name means: by the settings, or else of what the caller's tenant has published or connected.

        Raises:
            UnknownName: there is no such model for this caller.
        """
        try:
            return self._names.find(model, who, self._lets_in)
        except UnknownName:
            if self._executor is not None and await self._executor.has_published(model, who):
                return Executing(model)
            if self._connected is not None and who.may_use("model", model):
                route = await self._connected.route(who.tenant, model)
                if route is not None:
                    return Passing(model, route)
            raise

    async def _agent_of(self, model: str, who: Identity) -> str:
        match await self._meaning(model, who):
            case Executing(agent):
                return agent
            case Passing():
                raise UnknownName("The model {model!r} is no agent: it has no assistants.", model=model[:200])

    def _answerer(self, surface: Surface) -> Callable[[HttpRequest], Awaitable[Response]]:
        async def answer(http: HttpRequest) -> Response:
            asked = await read_request(surface, http)
            match await self._meaning(asked.model, asked.identity):
                case Passing(name, route) if self._passer is not None:
                    return await self._passer.answer(asked, name, route)
                case Executing(agent) if self._executor is not None:
                    return await self._executor.answer(asked, agent)
            raise UnknownName("There is nothing here that answers for the model {model!r}.", model=asked.model[:200])

        return answer

    async def _list(self, http: HttpRequest) -> Response:
        who = identity_of(http.scope)
        models = self._names.models(who, self._lets_in)
        if self._executor is not None:
            models |= {name: name for name in await self._executor.published(who) if name not in models}
        if self._connected is not None:
            connected = await self._connected.names(who.tenant)
            models |= {name: "" for name in connected if name not in models and who.may_use("model", name)}
        return _json(model_list(_vendor_of(http.scope), models))

    async def _show(self, http: HttpRequest) -> Response:
        name = str(http.path_params["model"])
        meaning = await self._meaning(name, identity_of(http.scope))
        agent = meaning.agent if isinstance(meaning, Executing) else ""
        return _json(model_entry(_vendor_of(http.scope), name, agent))


class _Place:
    """One path.

    Args:
        answer: answers a request with the right method.
        method: the right one; empty for every method.
    """

    def __init__(self, answer: Callable[[HttpRequest], Awaitable[Response]], method: str = "POST") -> None:
        self._answer = answer
        self._method = method

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        http = HttpRequest(scope, receive, send)
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        if self._method and method != self._method:
            error = ModelError("This path takes {method}.", status=405, method=self._method)
            response = refusal_response(_vendor_of(scope), error, _id_of(scope), {"allow": self._method})
        else:
            response = await _answered(self._answer, http)
        await response(scope, receive, send)


def in_its_form(endpoint: Callable[[HttpRequest], Awaitable[Response]], method: str = "POST") -> ASGIApp:
    """An endpoint for a `Route` of an executor: its errors are told in the form of the API of the path.

    Args:
        endpoint: answers; may raise an `ActumError` or a `Refused`.
        method: the one that the path takes.
    """
    return _Place(endpoint, method)


async def _answered(answer: Callable[[HttpRequest], Awaitable[Response]], http: HttpRequest) -> Response:
    try:
        return await answer(http)
    except Refused as refused:
        return refusal_response(_vendor_of(http.scope), refused.error, _id_of(http.scope), refused.headers)
    except ActumError as error:
        if not isinstance(error, ModelError | ValueError):  # the client learns nothing of it
            log.exception("request %s failed", _id_of(http.scope))
        return refusal_response(_vendor_of(http.scope), error, _id_of(http.scope))


async def _nowhere(http: HttpRequest) -> Response:
    raise UnknownName("There is nothing at this path.")


async def _other_api(http: HttpRequest) -> Response:
    raise UnknownName(
        "There is nothing at {path}: this server speaks the APIs of OpenAI, Anthropic and Google. Use a client of one "
        "of them, such as one of OpenAI with the base URL {origin}/v1.",
        path=http.scope["path"][:200],
        origin=_origin(http),
    )


async def _without_version(http: HttpRequest) -> Response:
    raise UnknownName(
        "There is nothing at {path}: the base URL of a client of OpenAI is {origin}/v1 here.",
        path=http.scope["path"][:200],
        origin=_origin(http),
    )


async def _version_twice(http: HttpRequest) -> Response:
    raise UnknownName(
        "There is nothing at {path}: the client adds /v1 by itself, so its base URL is {origin} here.",
        path=http.scope["path"][:200],
        origin=_origin(http),
    )


def _origin(http: HttpRequest) -> str:
    return f"{http.url.scheme}://{http.url.netloc}"[:200]


async def _not_served(http: HttpRequest) -> Response:
    raise ModelError("This server does not serve {path}.", status=NOT_SERVED, path=http.scope["path"][:200])


def _vendor_of(scope: Scope) -> Vendor:
    return vendor_of(scope["path"], scope["headers"])


def _id_of(scope: Scope) -> str:
    return str(scope.get(REQUEST_ID, ""))


def _field(field: bytes) -> tuple[str, str]:
    found = parse_qsl(field.decode("latin-1"), keep_blank_values=True)
    return found[0] if found else ("", "")


def _json(body: Mapping[str, object]) -> Response:
    return Response(msgspec.json.encode(body), media_type=JSON)


_KEY_HEADERS = frozenset(name.encode() for name in KEY_HEADERS)
