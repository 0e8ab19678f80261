"""`TriggerRoutes`: `POST /v1/triggers/NAME` tells a trigger of an event.

    202   the event is on record, and its run begins: {"trigger", "event", "run_id", "how", "woken"}
    200   the same with `state` and `result`, where the trigger answers and the run has ended in time
    400   the body or the id can not be read        401   the signature does not fit
    404   there is no such trigger, or nothing waits for the event
    413   the body is too long                      415   the body is neither JSON nor a text
    422   the inputs do not fit the workflow
    409   what the trigger begins is not allowed, or the trigger is paused
    429   the trigger begins no more for now, or too many tasks wait
    503   nothing can be written, or what the trigger begins is not there now

Who may tell a trigger of an event is decided in `trigger_senders.py`. The errors have the form of our own API.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager, suppress

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import Scope

from ..core.errors import Busy, CallError, InvalidArguments, JournalError, TaskRefused, UnknownName, UsageError
from ..core.json import Json, JsonObject, JsonProblem, parse
from ..core.process.worker_thread import off_loop
from ..features.refusal import Refusal
from ..triggers.event import TriggerEvent, event_id, kind_of
from ..triggers.intake import TakenEvent, TargetAway, TooManyEvents, TriggerIntake
from ..triggers.states import TriggerPaused
from ..triggers.watch import Watcher
from .access_log import traceparent_of_request
from .api.problem import encoded
from .paths import OtherPath
from .route_group import language_of
from .trigger_senders import TriggerSenders, unknown_trigger

log = logging.getLogger("actum.server.triggers")

BODY_BYTES_MAX = 1024 * 1024


class TriggerRoutes:
    """The door of the triggers.

    Args:
        intake: begins the runs.
        senders: checks who tells of an event.
        watcher: watches all that no request tells of while the server runs; None where another process does.
    """

    def __init__(self, intake: TriggerIntake, senders: TriggerSenders, watcher: Watcher | None = None) -> None:
        self._intake = intake
        self._senders = senders
        self._watcher = watcher

    @property
    def routes(self) -> Sequence[BaseRoute]:
        """What the door answers to."""
        return [Route(f"{OtherPath.TRIGGERS}/{{name}}", self._told, methods=["POST"])]

    @property
    def open_paths(self) -> Collection[str]:
        """Triggers with a secret need no key."""
        return [f"{OtherPath.TRIGGERS}/{name}" for name, table in self._intake.triggers.items() if table.secrets]

    def take_keys(self, scope: Scope) -> list[str]:
        """No key is shown elsewhere."""
        self._senders.hide_token(scope)
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
            status, body, headers = encoded(refusal, language_of(request.scope))
            return Response(body, status, {name.decode(): value.decode("latin-1") for name, value in headers})

    async def _answer(self, request: Request) -> Response:
        name = str(request.path_params["name"])
        table = self._intake.triggers.get(name)
        if table is None or not table.is_webhook:
            raise unknown_trigger()
        body = await _body(request)
        headers = self._senders.headers_of(request)
        await self._senders.check(name, table, headers, body, request)
        data = await off_loop(len(body), _data, headers.get("content-type", ""), body)
        try:
            event = TriggerEvent(
                trigger=name,
                id=event_id(table, headers, data),
                at=self._intake.clock.now(),
                data=data,
                kind=kind_of(table, headers, data),
                trace=traceparent_of_request(),
            )
        except UsageError as error:
            raise Refusal(400, "no_event_id", error) from None
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
        try:
            view = await self._intake.wait(taken.run_id, table.answer_s)
        except UnknownName:  # the list of tasks holds the task no longer, or the run was forgotten
            return Response(msgspec.json.encode(told), status_code=202, media_type="application/json")
        told |= {"state": view.line.state}
        if view.line.is_finished:
            told |= {"result": view.text if view.line.state == "succeeded" else None}
        status = 200 if view.line.is_finished else 202
        return Response(msgspec.json.encode(told), status_code=status, media_type="application/json")

    async def _taken(self, event: TriggerEvent) -> TakenEvent:
        try:
            return await self._intake.take(event)
        except TriggerPaused:
            raise Refusal(409, "paused", "This trigger is paused: it begins nothing.") from None
        except TooManyEvents as error:
            raise Refusal(429, "too_many", error, retry_after=error.wait_s) from None
        except TargetAway as error:
            log.error("trigger %s: %s", event.trigger, error)
            told = "What this trigger begins is not there now: send the event again later."
            raise Refusal(503, "no_target", told, retry_after=60.0) from None
        except Busy:
            raise Refusal(503, "busy", "The event is being taken: send it again.", retry_after=5.0) from None
        except TaskRefused as error:
            status = 429 if error.code == "queued_max" else 503 if error.code == "journal" else 409
            raise Refusal(status, error.code, error, retry_after=60.0 if status == 429 else None) from None
        except InvalidArguments as error:
            raise Refusal(422, "invalid_arguments", "The inputs do not fit.", problems=error.problems) from None
        except CallError as error:
            log.error("trigger %s: the event %s begins nothing: %s", event.trigger, event.id, error)
            raise Refusal(409, "refused", "What this trigger begins is not allowed.") from None
        except UnknownName as error:
            raise Refusal(404, "nothing_waits", error) from None
        except JournalError:
            log.exception("trigger %s: the event could not be put on record", event.trigger)
            raise Refusal(
                503, "journal", "The event could not be put on record: send it again.", retry_after=5.0
            ) from None
        except UsageError as error:
            raise Refusal(422, "inputs", error) from None


async def _body(request: Request) -> bytes:
    """The body.

    Raises:
        Refusal: the body is too long; what is left of it is not read.
    """
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > BODY_BYTES_MAX:
            raise Refusal(413, "too_long", "The body is longer than {most} bytes.", most=BODY_BYTES_MAX)
    return bytes(body)


def _data(media_type: str, body: bytes) -> Json:
    """The body: JSON, or a text.

    Raises:
        Refusal: it is neither, or says that it is something else.
    """
    kind = media_type.partition(";")[0].strip().lower()
    if kind and kind != "application/json" and not kind.endswith("+json") and not kind.startswith("text/"):
        raise Refusal(415, "media_type", "Send JSON with `content-type: application/json`, or a text.")
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
        raise Refusal(400, "body", "The body is no JSON: {why}.", why=problem) from None
    return value
