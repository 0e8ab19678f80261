"""What the further endpoints of model APIs share: methods of a path, bodies, pages of lists, forgetting a run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress

import msgspec
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ....agents.agent import Agent
from ....core.errors import Busy, ModelError, UnknownName, UsageError
from ....core.identity import Identity
from ....core.json import Json, JsonObject
from ....core.process.worker_thread import off_loop
from ....dialects.api.openai_fields import read_body
from ....features.refusal import Refusal
from ...api.api import Api
from ..refused import DO_NOT_RETRY, Refused
from ..routes import in_its_form

Endpoint = Callable[[HttpRequest], Awaitable[Response]]
MEMORY_HEADER = "x-actum-memory"
LIMIT = 20
LIMIT_MAX = 100


class Methods:
    """A path that takes several methods. Errors are told in the form of the API of the path.

    Args:
        endpoints: by the method.
    """

    def __init__(self, endpoints: Mapping[str, Endpoint]) -> None:
        self._apps = {method: in_its_form(_converted(endpoint), method) for method, endpoint in endpoints.items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        app = self._apps.get(method) or next(iter(self._apps.values()))  # which says what the path takes
        await app(scope, receive, send)


def _converted(endpoint: Endpoint) -> Endpoint:
    async def answer(http: HttpRequest) -> Response:
        try:
            return await endpoint(http)
        except Refusal as refusal:
            raise refused(refusal) from None
        except Busy as busy:
            raise Refused(ModelError(str(busy), status=409), DO_NOT_RETRY) from None

    return answer


def refused(refusal: Refusal) -> Refused:
    """A refusal of our own API, for a client of a model API."""
    details = refusal.details
    error = ModelError(details.detail, status=details.status, retry_after=details.retry_after)
    return Refused(error, DO_NOT_RETRY if details.status in (403, 404, 409) else {})


async def fields_of_body(http: HttpRequest) -> JsonObject:
    """The body as JSON; empty where there is none.

    Raises:
        UsageError: it is no JSON object.
    """
    body = await http.body()
    return await off_loop(len(body), read_body, body) if body.strip() else {}


def json_response(body: JsonObject, headers: Mapping[str, str] | None = None) -> Response:
    """An answer of JSON."""
    return Response(msgspec.json.encode(body), media_type="application/json", headers=headers)


def memory_header(agent: Agent[object], who: Identity) -> dict[str, str]:
    """The header that says that an agent answers without the memory of its users, since several may have this key."""
    return {MEMORY_HEADER: "off"} if agent.remembers_users and not who.is_one_person else {}


def page_of(items: Sequence[JsonObject], http: HttpRequest) -> JsonObject:
    """A page of a list, as OpenAI has it: `order` (`desc` unless it says `asc`), `limit`, and the id `after` which or
    `before` which the page begins.

    Args:
        items: all items, the oldest first.
        http: the request.

    Raises:
        UsageError: a parameter does not fit.
    """
    query = http.query_params
    order, limit = query.get("order", "desc"), query.get("limit", str(LIMIT))
    if order not in ("asc", "desc"):
        raise UsageError("order: asc or desc was expected")
    if not limit.isdecimal() or not 1 <= int(limit) <= LIMIT_MAX:
        raise UsageError("limit: a number from 1 to {most} was expected", most=LIMIT_MAX)
    listed = list(items) if order == "asc" else list(reversed(items))
    ids = [item["id"] for item in listed]
    for name in ("after", "before"):
        if (at := query.get(name)) is not None and at not in ids:
            raise UsageError("{name}: there is no such item", name=name)
    if (after := query.get("after")) is not None:
        listed = listed[ids.index(after) + 1 :]
    elif (before := query.get("before")) is not None:
        listed = listed[: ids.index(before)]
    shown: list[Json] = [*listed[: int(limit)]]
    return {
        "object": "list",
        "data": shown,
        "first_id": listed[0]["id"] if shown else None,
        "last_id": listed[len(shown) - 1]["id"] if shown else None,
        "has_more": len(listed) > len(shown),
    }


async def forget(api: Api, run_id: str, who: Identity, why: str) -> None:
    """Delete what a run says, and what the runs say that its calls started.

    Raises:
        Refused: it is under way, or the record is signed.
    """
    try:
        for child in reversed(await api.records.children(run_id, who)):
            if child.status != "forgotten":
                await api.journal.forget(child.run_id, who.principal or "user", why)
        with suppress(UnknownName):
            await api.journal.forget(run_id, who.principal or "user", why)
    except (Busy, UsageError):
        words = "This can not be deleted now: a run is under way, or the record is signed."
        raise Refused(ModelError(words, status=409), DO_NOT_RETRY) from None
