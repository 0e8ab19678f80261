"""`RunHandler`: every method of A2A 1.0 over runs, as the official SDK calls them.

The SDK's translations of 0.3 and its gRPC services stand on it, and so do `jsonrpc.py` and `rest.py`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

from a2a.server.context import ServerCallContext
from a2a.server.request_handlers.request_handler import RequestHandler
from a2a.types import a2a_pb2 as pb
from a2a.utils.errors import (
    InvalidParamsError,
    PushNotificationNotSupportedError,
    UnsupportedOperationError,
)
from a2a.utils.proto_utils import validate_proto_required_fields
from google.protobuf.message import Message as ProtoMessage

from ...core.process.worker_thread import off_loop
from ...protocols.a2a.model import A2APushTarget
from .follow import Told
from .push import PushTargets
from .reading import TRANSLATED
from .service import PAGE, PAGE_MAX, PARTS_MAX, TOO_MANY_PARTS, A2ARequest, TaskService, plain_answer
from .wire import (
    BY_NUMBER,
    event_to_proto,
    is_empty,
    message_of,
    message_to_proto,
    push_of,
    push_to_proto,
    task_to_proto,
)

MISSING_SHOWN_MAX = 5
ASKED = "actum.a2a"
"""Under this name the state of a context holds the `A2ARequest`."""
Event = pb.Task | pb.Message | pb.TaskStatusUpdateEvent | pb.TaskArtifactUpdateEvent


def context_of(asked: A2ARequest, headers: dict[str, str] | None = None) -> ServerCallContext:
    """The context in which the SDK hands a request on.

    Args:
        asked: the request.
        headers: those that the SDK looks at, such as the version.
    """
    return ServerCallContext(state={ASKED: asked, "headers": headers or {}})


class RunHandler(RequestHandler):
    """The methods of 1.0.

    Args:
        tasks: the tasks.
        push: where news are pushed; None where no news are pushed.
        extended_card: makes the card for callers who have shown who they are; None where there is none.
    """

    def __init__(
        self,
        tasks: TaskService,
        push: PushTargets | None = None,
        extended_card: Callable[[A2ARequest], Awaitable[pb.AgentCard]] | None = None,
    ) -> None:
        self.tasks = tasks
        self.push = push
        self._extended_card = extended_card

    # Messages ---------------------------------------------------------------------------------------------------------

    async def on_message_send(self, params: pb.SendMessageRequest, context: ServerCallContext) -> pb.Task | pb.Message:
        """See `RequestHandler`."""
        asked = _asked(context)
        target = await _check_message(params, self.push)
        message = await off_loop(TRANSLATED * params.ByteSize(), message_of, params.message)
        sent = await self.tasks.send(asked, message)
        if target is not None and self.push is not None:
            await self.push.set(asked, sent.run_id, target)
        wanted = params.configuration
        task = await self.tasks.finish(
            asked, sent, at_once=wanted.return_immediately, history=_length(wanted, "history_length")
        )
        answer = plain_answer(sent.agent, message, task)
        return message_to_proto(answer) if answer is not None else task_to_proto(task)

    async def on_message_send_stream(
        self, params: pb.SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event, None]:
        """See `RequestHandler`."""
        async with aclosing(self.stream(params, context)) as stream:
            async for told in stream:
                yield event_to_proto(told.event)

    async def stream(self, params: pb.SendMessageRequest, context: ServerCallContext) -> AsyncGenerator[Told, None]:
        """As `on_message_send_stream`, with the numbers of the entries."""
        asked = _asked(context)
        target = await _check_message(params, self.push)
        message = await off_loop(TRANSLATED * params.ByteSize(), message_of, params.message)
        sent = await self.tasks.send(asked, message)
        if target is not None and self.push is not None:
            await self.push.set(asked, sent.run_id, target)
        async with aclosing(self.tasks.stream(asked, sent)) as stream:
            async for told in stream:
                yield told

    # Tasks ------------------------------------------------------------------------------------------------------------

    async def on_get_task(self, params: pb.GetTaskRequest, context: ServerCallContext) -> pb.Task | None:
        """See `RequestHandler`."""
        _check_required(params)
        task = await self.tasks.get(_asked(context), params.id, history=_length(params, "history_length"))
        return task_to_proto(task)

    async def on_list_tasks(self, params: pb.ListTasksRequest, context: ServerCallContext) -> pb.ListTasksResponse:
        """See `RequestHandler`."""
        size = _length(params, "page_size")
        if size is not None and not 1 <= size <= PAGE_MAX:
            raise InvalidParamsError(f"pageSize: from 1 to {PAGE_MAX}")
        since = params.status_timestamp_after
        page = await self.tasks.page(
            _asked(context),
            context_id=params.context_id,
            state=BY_NUMBER.get(params.status) if params.status else None,
            since=since.seconds + since.nanos / 1e9 if params.HasField("status_timestamp_after") else None,
            size=size or PAGE,
            behind=params.page_token,
            history=_length(params, "history_length"),
            with_artifacts=params.include_artifacts,
        )
        return pb.ListTasksResponse(
            tasks=map(task_to_proto, page.tasks),
            next_page_token=page.following,
            page_size=page.size,
            total_size=page.total,
        )

    async def on_cancel_task(self, params: pb.CancelTaskRequest, context: ServerCallContext) -> pb.Task | None:
        """See `RequestHandler`."""
        _check_required(params)
        return task_to_proto(await self.tasks.cancel(_asked(context), params.id))

    async def on_subscribe_to_task(
        self, params: pb.SubscribeToTaskRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event, None]:
        """See `RequestHandler`."""
        async with aclosing(self.subscription(params, context)) as stream:
            async for told in stream:
                yield event_to_proto(told.event)

    async def subscription(
        self, params: pb.SubscribeToTaskRequest, context: ServerCallContext
    ) -> AsyncGenerator[Told, None]:
        """As `on_subscribe_to_task`, with the numbers of the entries."""
        _check_required(params)
        async with aclosing(self.tasks.subscribe(_asked(context), params.id)) as stream:
            async for told in stream:
                yield told

    # Pushed news ------------------------------------------------------------------------------------------------------

    async def on_create_task_push_notification_config(
        self, params: pb.TaskPushNotificationConfig, context: ServerCallContext
    ) -> pb.TaskPushNotificationConfig:
        """See `RequestHandler`."""
        push, asked = self._pushing(), _asked(context)
        _check_required(params)
        await self.tasks.own(asked, params.task_id)
        target = await push.set(asked, params.task_id, push_of(params))
        return push_to_proto(params.task_id, target)

    async def on_get_task_push_notification_config(
        self, params: pb.GetTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> pb.TaskPushNotificationConfig:
        """See `RequestHandler`."""
        push, asked = self._pushing(), _asked(context)
        await self.tasks.own(asked, params.task_id)
        return push_to_proto(params.task_id, await push.get(asked, params.task_id, params.id))

    async def on_list_task_push_notification_configs(
        self, params: pb.ListTaskPushNotificationConfigsRequest, context: ServerCallContext
    ) -> pb.ListTaskPushNotificationConfigsResponse:
        """See `RequestHandler`."""
        push, asked = self._pushing(), _asked(context)
        await self.tasks.own(asked, params.task_id)
        found = await push.all_of(asked, params.task_id)
        return pb.ListTaskPushNotificationConfigsResponse(
            configs=[push_to_proto(params.task_id, target) for target in found]
        )

    async def on_delete_task_push_notification_config(
        self, params: pb.DeleteTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> None:
        """See `RequestHandler`."""
        push, asked = self._pushing(), _asked(context)
        await self.tasks.own(asked, params.task_id)
        await push.delete(asked, params.task_id, params.id)

    def _pushing(self) -> PushTargets:
        if self.push is None:
            raise PushNotificationNotSupportedError
        return self.push

    # Card -------------------------------------------------------------------------------------------------------------

    async def on_get_extended_agent_card(
        self, params: pb.GetExtendedAgentCardRequest, context: ServerCallContext
    ) -> pb.AgentCard:
        """See `RequestHandler`."""
        asked = _asked(context)
        await self.tasks.agent(asked)
        if self._extended_card is None:
            raise UnsupportedOperationError("There is no extended card: this server wants no keys.")
        return await self._extended_card(asked)


def _asked(context: ServerCallContext) -> A2ARequest:
    found = context.state[ASKED]
    assert isinstance(found, A2ARequest)
    return found


async def _check_message(params: pb.SendMessageRequest, push: PushTargets | None) -> A2APushTarget | None:
    """Where the news of a message's task are to be pushed; None for nowhere.

    Raises:
        InvalidParamsError: the message is not complete.
        PushNotificationNotSupportedError: no news are pushed here.
    """
    if len(params.message.parts) > PARTS_MAX:
        raise InvalidParamsError(TOO_MANY_PARTS)
    await off_loop(TRANSLATED * params.ByteSize(), _check_required, params)
    for index, part in enumerate(params.message.parts):
        if is_empty(part):
            raise InvalidParamsError(f"message.parts[{index}]: a part holds text, raw, url or data")
    if not params.configuration.HasField("task_push_notification_config"):
        return None
    if push is None:
        raise PushNotificationNotSupportedError
    target = push_of(params.configuration.task_push_notification_config)
    push.check(target)
    return target


def _check_required(params: ProtoMessage) -> None:
    """Refuse a request in which something is missing, in words that say what: old errors have no further data.

    Raises:
        InvalidParamsError: something is.
    """
    try:
        validate_proto_required_fields(params)
    except InvalidParamsError as error:
        missing = [f"{each['field']}: {each['message']}" for each in (error.data or {}).get("errors", [])]
        raise InvalidParamsError(" ".join(missing[:MISSING_SHOWN_MAX]) or error.message, error.data) from None


def _length(params: ProtoMessage, field: str) -> int | None:
    """A length that a request may say.

    Raises:
        InvalidParamsError: it is negative.
    """
    if not params.HasField(field):
        return None
    found = int(getattr(params, field))
    if found < 0:
        raise InvalidParamsError(f"{field}: a length can not be negative")
    return found
