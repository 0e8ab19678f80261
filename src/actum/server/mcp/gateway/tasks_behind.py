"""Tasks of the servers behind a gateway: what a server answered with a task is one here, too, and stays the server's.

The call is a run that waits, on record with the server's handle. The id of the task is that of the run, so no client
learns the server's own, and any process that has the journal knows it again. What a client wants of the task is wanted
of the server, one request for one: what that asks, what it is answered and what it comes to is put on record on the
way, and the run ends with that.

Limits: nobody asks but the client. A task that it never asks after again waits on record; once it has been told the
end, it is told the same out of the record for ever.

Source: the MCP extension `io.modelcontextprotocol/tasks` (SEP-2663), for protocol 2026-07-28.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, cast
from weakref import WeakValueDictionary

from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY
from mcp_types import RequestId, SubscriptionsAcknowledgedNotification
from msgspec import Struct
from pydantic import BaseModel

from ....core.approver import USER
from ....core.call import ToolResult
from ....core.errors import (
    ActumError,
    Busy,
    CallError,
    UsageError,
)
from ....core.identity import Identity
from ....core.interfaces import Journal
from ....core.json import Json, JsonObject, size_of_json
from ....core.policy import Answer
from ....core.process.worker_thread import WALKED, off_loop
from ....core.run.ids import new_id
from ....core.run.pending import Pending
from ....core.run.record import Entry, InputGiven, InputRequested, Record
from ....journal.recording import CallRef, RunState
from ....policy.record_mask import RecordMask
from ....protocols.mcp.content import blocks_of, result_of
from ....protocols.mcp.era import result_for
from ....protocols.mcp.tasks import EXTENSION, OVER
from ....runs.runner import Runner
from ..calls import INVALID_PARAMS
from ..tasks import (
    UNKNOWN_TASK,
    entries_of,
    lacking_tasks,
    task_named,
)
from ..wire import call_result
from .gateway_client import (
    ClientMessage,
    GatewayClient,
    rests,
    task_of,
)
from .relay import in_words
from .upstream import TASK, UpstreamToolset
from .user_session import UserSession

log = logging.getLogger("actum.mcp")

_NO_RESULT = frozenset({"resource_limit", "invalid_result"})
"""What the call path says of a result that it does not let pass. Of any other refusal it is too late: it was done."""
FOLLOWED_MAX = 100
"""The most tasks that one stream may tell of."""
NEWS_MAX = 1_000
"""The most news that may wait to be told on a stream; the latest counts, and a client that missed some asks."""
Listened = TypeVar("Listened")
Context = ServerRequestContext[Any, Any]
Reach = Callable[[], Awaitable[UserSession]]
"""Finds what is kept for the user who asks, for which servers have to be reached."""


class Held(Struct, frozen=True):
    """A task of a server, as the record has it.

    Attributes:
        id: what it is called here.
        handed: the question that stands for the task on its run's record.
        questions: what the server asked, by its own keys.
        recording: of its run.
    """

    id: str
    handed: InputRequested
    questions: dict[str, InputRequested]
    recording: RunState

    @property
    def far_id(self) -> str:
        """What its server calls it."""
        return str(task_of(self.handed.pending).get("taskId"))

    @property
    def final(self) -> JsonObject | None:
        """How it ended; None while nobody has been told."""
        answered = self.recording.answers.get(self.handed.id)
        return answered.arguments if answered is not None else None

    @property
    def outcome(self) -> ToolResult | None:
        """What its call came to on record."""
        known = self.recording.outcome(CallRef(self.handed.cause, self.handed.index))
        return known[0] if known is not None else None


class TasksBehind:
    """The tasks of all servers behind a gateway.

    Args:
        journal: where the runs of their calls are written down.
        runner_of: makes the calls of a user.
        mask_of: makes what hides values with a label from a caller.
    """

    def __init__(
        self,
        journal: Journal,
        runner_of: Callable[[Identity], Runner],
        mask_of: Callable[[Identity], RecordMask],
    ) -> None:
        self._runner_of = runner_of
        self._mask_of = mask_of
        self._journal = journal
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def get(self, client: GatewayClient, who: Identity, reach: Reach) -> JsonObject:
        """`tasks/get`: how far it is."""
        held = await self._held(client, who)
        if held.final is not None:
            return await off_loop(WALKED * size_of_json(held.final), _in_full, held, held.final, self._mask_of(who))
        upstream = _upstream(held, await reach())
        return await self._told(held, await upstream.ask_after("tasks/get", client, held.far_id), upstream, client, who)

    async def update(self, client: GatewayClient, who: Identity, reach: Reach) -> JsonObject:
        """`tasks/update`: what it asked for, all of it or some."""
        held = await self._held(client, who)
        if held.final is not None:
            return {}
        acknowledged = await _upstream(held, await reach()).ask_after("tasks/update", client, held.far_id)
        given = client.params.get("inputResponses")
        await self._write(held.id, lambda now: _answers(now, given if isinstance(given, dict) else {}))
        return result_for("tasks/update", acknowledged, modern=True)

    async def cancel(self, client: GatewayClient, who: Identity, reach: Reach) -> JsonObject:
        """`tasks/cancel`: its server is told, and then asked what became of it: its client may never ask again."""
        held = await self._held(client, who)
        if held.final is not None:
            return {}
        upstream = _upstream(held, await reach())
        acknowledged = await upstream.ask_after("tasks/cancel", client, held.far_id)
        with contextlib.suppress(CallError):  # it is asked when the client asks
            await self._told(held, await upstream.ask_after("tasks/get", client, held.far_id), upstream, client, who)
        return result_for("tasks/cancel", acknowledged, modern=True)

    # Told without being asked -----------------------------------------------------------------------------------------

    async def listen(
        self,
        ctx: Context,
        client: GatewayClient,
        who: Identity,
        user: UserSession,
        serve: Callable[[Context], Awaitable[Listened]],
    ) -> Listened:
        """Serve a stream of a client, which is told how its tasks are as their servers tell it.

        Args:
            ctx: of the client's request, which names them.
            serve: tells it all else.

        Raises:
            MCPError: it knows no tasks.
        """
        if EXTENSION not in client.extensions:
            raise lacking_tasks()
        news: asyncio.Queue[tuple[Held, UpstreamToolset, JsonObject]] = asyncio.Queue(NEWS_MAX)
        async with contextlib.AsyncExitStack() as stack:
            agreed: list[str] = []
            for upstream, ours in (await self._by_server(followed(client.params), who, user)).items():

                def hear(task: JsonObject, ours: dict[str, Held] = ours, upstream: UpstreamToolset = upstream) -> None:
                    if news.full():
                        news.get_nowait()
                    news.put_nowait((ours[str(task["taskId"])], upstream, task))

                agreed += [
                    ours[each].id for each in await stack.enter_async_context(upstream.following(ours, client, hear))
                ]
            session = Agreeing(ctx.session, agreed)
            telling = asyncio.create_task(self._tell(session, ctx.request_id, news, client, who))
            stack.callback(telling.cancel)
            return await serve(dataclasses.replace(ctx, session=cast(ServerSession, session)))

    async def _by_server(
        self, ids: list[str], who: Identity, user: UserSession
    ) -> dict[UpstreamToolset, dict[str, Held]]:
        """Those of these tasks that are this user's and not over, by what their servers call them."""
        found: dict[UpstreamToolset, dict[str, Held]] = {}
        for task_id in ids:
            with contextlib.suppress(MCPError):
                held = _read(task_id, await entries_of(self._journal, task_id, who))
                if held.final is None:
                    found.setdefault(_upstream(held, user), {})[held.far_id] = held
        return found

    async def _tell(
        self,
        session: Agreeing,
        request_id: RequestId | None,
        news: asyncio.Queue[tuple[Held, UpstreamToolset, JsonObject]],
        client: GatewayClient,
        who: Identity,
    ) -> None:
        await session.begun.wait()
        while True:
            held, upstream, task = await news.get()
            try:
                told = await self._told(held, await upstream.outside("tasks/get", task), upstream, client, who)
            except ActumError as error:  # its client hears of it when it asks
                log.warning("task %s: %s", held.id, error)
                continue
            params = {**told, "_meta": {SUBSCRIPTION_ID_META_KEY: request_id}}
            await session.send_notification(ClientMessage(method=TASK, params=params), request_id)

    # What is on record ------------------------------------------------------------------------------------------------

    async def _held(self, client: GatewayClient, who: Identity) -> Held:
        """The task that a request is about.

        Raises:
            MCPError: this user has no such task.
        """
        task_id = task_named(client, client.params)
        return _read(task_id, await entries_of(self._journal, task_id, who))

    async def _told(
        self, held: Held, task: JsonObject, upstream: UpstreamToolset, client: GatewayClient, who: Identity
    ) -> JsonObject:
        """What a server says of its task now, once it is on record as far as it is news."""
        if str(task.get("status")) in OVER:
            final = await upstream.without_secrets(task)
            ended = await self._end(held, final, client, who)
            return await off_loop(WALKED * size_of_json(final), _in_full, ended, final, self._mask_of(who))
        requests = task.get("inputRequests")
        asked = requests if isinstance(requests, dict) else {}
        if not asked.keys() <= held.questions.keys():
            with contextlib.suppress(Busy):  # the one who is at it hears the same
                await self._write(held.id, lambda now: _questions(now, asked, who))
        return as_ours("tasks/get", task, held.id)

    async def _end(self, held: Held, final: JsonObject, client: GatewayClient, who: Identity) -> Held:
        """End the run with the result of the task. The quicker of two processes writes it down."""
        async with self._turn(held.id):
            now = _read(held.id, await self._journal.read(held.id))
            if now.final is not None:
                return now
            answers = {asked.id: Answer("cancel", by=_only(asked)) for asked in _open(now)}
            answers[held.handed.id] = Answer("answer", by=held.handed.pending.asker, arguments=final)
            try:
                await self._runner_of(who).resume(
                    held.id, answers, accept=True, approver=client, peer=client, holder=client.holder
                )
            except UsageError as error:  # another process is at it
                log.info("task %s: %s", held.id, error)
            return _read(held.id, await self._journal.read(held.id))

    def _turn(self, task_id: str) -> asyncio.Lock:
        """The lock that is held while something of a task is written down."""
        return self._turns.setdefault(task_id, asyncio.Lock())

    async def _write(self, task_id: str, records: Callable[[Held], list[Record]]) -> None:
        async with self._turn(task_id), self._journal.claim(task_id):
            for record in records(_read(task_id, await self._journal.read(task_id))):
                self._journal.append(task_id, record)
            await self._journal.sync(task_id)


class Agreeing:
    """The session of a stream whose acknowledgement also names the tasks that the stream will tell of.

    Args:
        session: the SDK's.
        task_ids: the ids of those tasks.

    Attributes:
        begun: set once the acknowledgement was sent.
    """

    def __init__(self, session: ServerSession, task_ids: list[str]) -> None:
        self._session = session
        self._ids = task_ids
        self.begun = asyncio.Event()

    async def send_notification(self, notification: BaseModel, related_request_id: RequestId | None = None) -> None:
        if isinstance(notification, SubscriptionsAcknowledgedNotification) and self._ids:
            params = notification.params.model_dump(by_alias=True, mode="json", exclude_none=True)
            params["notifications"]["taskIds"] = self._ids
            notification = ClientMessage(method=notification.method, params=params)
        await self._session.send_notification(cast(Any, notification), related_request_id)
        self.begun.set()


ASKED_OF_TASKS: dict[str, Callable[[TasksBehind, GatewayClient, Identity, Reach], Awaitable[JsonObject]]] = {
    "tasks/get": TasksBehind.get,
    "tasks/update": TasksBehind.update,
    "tasks/cancel": TasksBehind.cancel,
}
"""What a client may want of a task."""


def followed(params: JsonObject) -> list[str]:
    """The tasks that a client wants to be told of on a stream."""
    wanted = params.get("notifications")
    ids = wanted.get("taskIds") if isinstance(wanted, dict) else None
    return [each for each in ids if isinstance(each, str)][:FOLLOWED_MAX] if isinstance(ids, list) else []


def as_ours(method: str, task: JsonObject, task_id: str) -> JsonObject:
    """What a server says of its task, under the id that clients know."""
    return {**result_for(method, task, modern=True), "taskId": task_id}


def with_notes(told: JsonObject, outcome: ToolResult, known: ToolResult) -> JsonObject:
    """A server's result, after what the call path says beside it.

    Args:
        told: the result, raw.
        outcome: on record.
        known: what the server's result alone would be there.
    """
    notes = outcome.content[: len(outcome.content) - len(known.content)]
    content = told.get("content")
    return {**told, "content": [*blocks_of(notes), *(content if isinstance(content, list) else [])]} if notes else told


def _in_full(held: Held, final: JsonObject, mask: RecordMask) -> JsonObject:
    """How a task ended: in the server's own words, but for what the call path says of them, and for hidden values."""
    told, result, outcome = as_ours("tasks/get", final, held.id), final.get("result"), held.outcome
    if outcome is None or final.get("status") != "completed":
        return told
    if outcome.labels and (seen := mask.result(outcome)) != outcome:
        told["result"] = call_result(seen, any_value=True)
    elif not isinstance(result, dict) or (outcome.error is not None and outcome.error.code in _NO_RESULT):
        told["result"] = call_result(outcome, any_value=True)
    elif outcome.error is None:
        told["result"] = with_notes(result, outcome, result_of("", result))
    return told


def _read(task_id: str, entries: list[Entry]) -> Held:
    """The task of a run.

    Raises:
        MCPError: it has none.
    """
    asked = [entry.record for entry in entries if isinstance(entry.record, InputRequested)]
    handed = next((each for each in asked if task_of(each.pending)), None)
    if handed is None:
        raise MCPError(INVALID_PARAMS, UNKNOWN_TASK)
    questions = {each.pending.name: each for each in asked if each.pending.name and rests(each.pending)}
    return Held(task_id, handed, questions, RunState(entries))


def _upstream(held: Held, user: UserSession) -> UpstreamToolset:
    """The way to the server that has a task.

    Raises:
        MCPError: it is no server of this gateway any more.
    """
    upstream = user.upstreams.get(held.handed.pending.asker)
    if upstream is None:
        raise MCPError(INVALID_PARAMS, UNKNOWN_TASK)
    return upstream


def _open(held: Held) -> list[InputRequested]:
    """What its server asked and nobody has answered."""
    return [asked for asked in held.questions.values() if asked.id not in held.recording.answers]


def _only(asked: InputRequested) -> str:
    """The name of the one who may answer."""
    return asked.pending.approvers[0].removeprefix(USER)


def _questions(held: Held, requests: JsonObject, who: Identity) -> list[Record]:
    """The records of what a server asks that is not on record yet. It is the client's to answer, by `tasks/update`."""
    return [
        InputRequested(
            Pending(
                id=new_id("ask"),
                kind="elicitation",
                message=in_words(request),
                call=held.handed.pending.call,
                approvers=(f"{USER}{who.principal or 'client'}",),
                request={"inputRequests": {key: request}},
                asker=held.handed.pending.asker,
                name=key,
            ),
            held.handed.cause,
            held.handed.index,
        )
        for key, request in requests.items()
        if key not in held.questions
    ]


def _answers(held: Held, responses: dict[str, Json]) -> list[Record]:
    """The records of what a client answered, as far as it is on record that it was asked for."""
    return [
        InputGiven(asked.id, "answer", by=_only(asked), elapsed=held.recording.elapsed, arguments=response)
        for asked in _open(held)
        if isinstance(response := responses.get(asked.pending.name), dict)
    ]
