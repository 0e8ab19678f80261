"""`TriggerDoor`: `POST /v1/triggers/NAME` tells a trigger of an event.

    202   the event is on record, and its run begins: {"trigger", "event", "run_id", "how", "woken"}
    200   the same with `state` and `result`, where the trigger answers and the run has ended in time
    400   the body or the id can not be read        401   the signature does not fit
    404   there is no such trigger, or nothing waits for the event
    413   the body is too long                      422   the inputs do not fit the workflow
    429   the trigger begins no more for now, or too many tasks wait
    503   nothing can be written

A trigger with a secret is open to whoever signs with the secret; every other one wants a key with the scope `runs`.
The errors have the form of our own API.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager, suppress

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import Scope

from ..core.errors import InvalidArguments, JournalError, TaskRefused, UnknownName, UsageError
from ..core.json import Json, JsonObject, JsonProblem, parse
from ..triggers.desk import TakenEvent, TooManyEvents, TriggerDesk
from ..triggers.event import TriggerEvent, event_id, kind_of
from ..triggers.settings import TriggerTable
from ..triggers.signature import BadSignature, check_signature
from ..triggers.watch import Watcher
from .api.problem import Refusal, encoded
from .door import identity_of
from .scopes import allows

log = logging.getLogger("actum.server.triggers")

SCOPE = "runs"
BODY_BYTES_MAX = 1024 * 1024
_SHOWN = "actum.trigger"
"""Under this key the scope of a request holds the header with the token of a sender."""


class TriggerDoor:
    """The door of the triggers.

    Args:
        desk: begins the runs.
        secret: the value of the secret of a trigger; empty where there is none. Asked for each event.
        watcher: watches schedules and files while the server runs; None where another process does.
    """

    def __init__(self, desk: TriggerDesk, secret: Callable[[str], str], watcher: Watcher | None = None) -> None:
        self._desk = desk
        self._secret = secret
        self._watcher = watcher

    @property
    def routes(self) -> Sequence[BaseRoute]:
        """What the door answers to."""
        return [Route("/v1/triggers/{name}", self._told, methods=["POST"])]

    @property
    def open_paths(self) -> Collection[str]:
        """Triggers with a secret need no key."""
        return [f"/v1/triggers/{name}" for name, table in self._desk.triggers.items() if table.secret]

    def take_keys(self, scope: Scope) -> list[str]:
        """No key is shown elsewhere. The token of a sender stands where a key of the server would stand, and is no key:
        the house must not see the token, or it would refuse the request.
        """
        name = str(scope["path"]).removeprefix("/v1/triggers/")
        table = self._desk.triggers.get(name)
        if table is not None and table.is_webhook and table.secret and table.signature == "token":
            shown = [value for key, value in scope["headers"] if key == b"authorization"]
            if len(shown) == 1:
                scope["headers"] = [pair for pair in scope["headers"] if pair[0] != b"authorization"]
                scope[_SHOWN] = {"authorization": shown[0].decode("latin-1")}
        return []

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Schedules and files are watched within this block."""
        watching = asyncio.create_task(self._watcher.run(), name="triggers") if self._watcher is not None else None
        try:
            yield
        finally:
            if watching is not None:
                watching.cancel()
                with suppress(asyncio.CancelledError):
                    await watching

    async def end_streams(self) -> None:
        """There are no streams."""

    async def _told(self, request: Request) -> Response:
        try:
            return await self._answer(request)
        except Refusal as refusal:
            status, body, headers = encoded(refusal)
            return Response(body, status, {name.decode(): value.decode("latin-1") for name, value in headers})

    async def _answer(self, request: Request) -> Response:
        name = str(request.path_params["name"])
        table = self._desk.triggers.get(name)
        if table is None or not table.is_webhook:
            raise _unknown()
        body = await request.body()
        headers = {key.lower(): value for key, value in request.headers.items()} | request.scope.get(_SHOWN, {})
        self._check_sender(name, table, headers, body, request)
        if len(body) > BODY_BYTES_MAX:
            raise Refusal(413, "too_long", f"The body is longer than {BODY_BYTES_MAX} bytes.")
        data = await asyncio.to_thread(_data, headers.get("content-type", ""), body)
        try:
            event = TriggerEvent(
                trigger=name,
                id=event_id(table, headers, data),
                at=self._desk.clock.now(),
                data=data,
                kind=kind_of(headers),
            )
        except UsageError as error:
            raise Refusal(400, "no_event_id", f"{error}.") from None
        taken = await self._taken(event)
        told: JsonObject = {
            "trigger": name,
            "event": taken.event,
            "run_id": taken.run_id,
            "how": taken.how,
            "woken": list[Json](taken.woken),
        }
        if not table.answer or not taken.run_id:
            return Response(msgspec.json.encode(told), status_code=202, media_type="application/json")
        view = await self._desk.wait(taken.run_id, table.answer_s)
        told |= {"state": view.line.state}
        if view.line.is_finished:
            told |= {"result": view.text if view.line.state == "succeeded" else None}
        status = 200 if view.line.is_finished else 202
        return Response(msgspec.json.encode(told), status_code=status, media_type="application/json")

    def _check_sender(
        self, name: str, table: TriggerTable, headers: dict[str, str], body: bytes, request: Request
    ) -> None:
        """Raises:
        Refusal: the event comes from somebody who may not tell of it.
        """
        if not table.secret:
            who = identity_of(request.scope)
            if not allows(who, (SCOPE,)):
                raise Refusal(403, "scope", f"This needs a key with the scope `{SCOPE}`.", scope=(SCOPE,))
            if who.tenant != table.tenant or (table.agent and not who.may_use("agent", table.agent)):
                raise _unknown()  # a trigger of others can not be told from one that is not there
            return
        secret = self._secret(name)
        if not secret:
            log.error("trigger %s: there is no secret %r, so nobody can tell of an event", name, table.secret)
            raise Refusal(401, "signature", "The signature can not be checked here.")
        try:
            check_signature(
                table.signature, secret, headers, body, now=self._desk.clock.now(), max_age_s=table.max_age_s
            )
        except BadSignature as bad:
            log.warning("trigger %s: refused: %s", name, bad)
            raise Refusal(401, "signature", "The signature is missing, too old, or does not fit.") from None

    async def _taken(self, event: TriggerEvent) -> TakenEvent:
        try:
            return await self._desk.take(event)
        except TooManyEvents as error:
            raise Refusal(429, "too_many", f"{error}.", retry_after=error.wait_s) from None
        except TaskRefused as error:
            status = 429 if error.code == "queued_max" else 503 if error.code == "journal" else 409
            raise Refusal(status, error.code, f"{error}.", retry_after=60.0 if status == 429 else None) from None
        except InvalidArguments as error:
            raise Refusal(422, "invalid_arguments", "The inputs do not fit.", problems=error.problems) from None
        except UnknownName as error:
            raise Refusal(404, "nothing_waits", f"{error}.") from None
        except JournalError:
            log.exception("trigger %s: the event could not be put on record", event.trigger)
            raise Refusal(
                503, "journal", "The event could not be put on record: send it again.", retry_after=5.0
            ) from None
        except UsageError as error:
            raise Refusal(422, "inputs", f"{error}.") from None


def _unknown() -> Refusal:
    return Refusal(404, "unknown_trigger", "There is no such trigger.")


def _data(media_type: str, body: bytes) -> Json:
    """The body: JSON, or a text.

    Raises:
        Refusal: it is neither.
    """
    kind = media_type.partition(";")[0].strip().lower()
    if kind.startswith("text/"):
        try:
            return body.decode("utf-8")
        except UnicodeDecodeError:
            raise Refusal(400, "body", "The text is no UTF-8.") from None
    if not body:
        return {}
    try:
        value, _ = parse(body.decode("utf-8"))
    except (JsonProblem, UnicodeDecodeError, RecursionError) as problem:
        raise Refusal(400, "body", f"The body is no JSON: {problem}.") from None
    return value
