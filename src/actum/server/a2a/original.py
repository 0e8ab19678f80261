"""The protocol of April 2025 at an address of its own: `tasks/send` and its companions.

Its clients make the ids of tasks; the journal knows each run under the id of its client, which is hashed together with
the caller, so that two callers may use one id. Clients of 0.2 read the card that names this address, too: the methods
of 0.2 and 0.3 are answered here as well. A name that both have, such as `tasks/get`, is answered in the form in which
the task was begun.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

import msgspec
from a2a.utils.errors import A2AError, TaskNotFoundError
from starlette.requests import Request
from starlette.responses import Response

from ...core.json import Json, JsonObject
from ...core.process.worker_thread import off_loop
from ...protocols.a2a.legacy import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHODS,
    LegacyCancel,
    LegacyError,
    LegacyEventWriter,
    LegacyGet,
    LegacyGetPush,
    LegacyRequest,
    LegacyResubscribe,
    LegacySend,
    LegacySetPush,
    decode_request,
    encode_error,
    encode_push,
    encode_result,
    encode_task,
)
from ..refusal import HttpRefusal
from .asking import asked_by, event_stream
from .failures import failure_of
from .follow import Told
from .handler import RunHandler
from .jsonrpc import JSON, BadCall, JsonRpc, RpcCall, RpcId, code_of, is_old, read_call, told_error
from .reading import TRANSLATED
from .service import A2ARequest

SHARED = frozenset({"tasks/get", "tasks/cancel", "tasks/resubscribe"})
"""Names of methods that 0.3 has, too."""
_CODES = frozenset({-32700, -32600, -32601, -32602, -32603, -32001, -32002, -32003, -32004})


class OriginalRpc:
    """The address of the original protocol.

    Args:
        handler: the methods of later versions, with the tasks and the addresses for news.
        later: answers the methods of 0.2 and 0.3.
        agent_at: the name of the agent that a request is for.
    """

    def __init__(self, handler: RunHandler, later: JsonRpc, agent_at: Callable[[Request], Awaitable[str]]) -> None:
        self._handler = handler
        self._tasks = handler.tasks
        self._later = later
        self._agent_at = agent_at

    async def answer(self, request: Request) -> Response:
        """Answer a request."""
        call = RpcCall(None, "", {})
        try:
            call = await read_call(request)
            asked = asked_by(request, await self._agent_at(request), "0.1")
            if call.method not in METHODS:
                return await self._later.carry_out(request, call)
            if call.method in SHARED and not await self._is_original(asked, call):
                return await self._later.carry_out(request, call)
            return await self._carry_out(asked, call)
        except BadCall as bad:
            return told_error(bad.call.id, bad.error, is_old=True)
        except LegacyError as error:  # its words quote no more than a word of the request
            return _answer(encode_error(call.id, error.code, str(error)))
        except HttpRefusal:
            raise
        except Exception as error:  # noqa: BLE001  # the edge: the caller is told what `failure_of` says
            failure = failure_of(error)
            if call.method in METHODS and not is_old(call.method):
                return _answer(_error(call.id, failure))
            return told_error(call.id, failure, is_old=True)

    async def _is_original(self, asked: A2ARequest, call: RpcCall) -> bool:
        """Whether a task was begun by the original protocol. An id that nobody knows counts as one of it."""
        task_id = call.params.get("id")
        if not isinstance(task_id, str):
            return False
        if await self._tasks.find(asked, task_id) is not None:
            return True
        return await self._tasks.find_own(asked, task_id, await self._tasks.agent(asked)) is None

    async def _carry_out(self, asked: A2ARequest, call: RpcCall) -> Response:
        body: JsonObject = {"jsonrpc": "2.0", "id": call.id, "method": call.method, "params": call.params}
        wanted = await off_loop(TRANSLATED * call.size, decode_request, body)
        match wanted:
            case LegacySend():
                return await self._send(asked, call.id, wanted)
            case LegacyResubscribe():
                run_id = await self._run_of(asked, wanted.task_id)
                return await self._stream(call.id, wanted.task_id, self._tasks.subscribe(asked, run_id))
            case _:
                return _answer(encode_result(call.id, await self._result(asked, wanted)))

    async def _send(self, asked: A2ARequest, id_: RpcId, wanted: LegacySend) -> Response:
        push = self._handler.push
        if wanted.push is not None:
            if push is None:
                raise LegacyError("Push notification is not supported", -32003)
            push.check(wanted.push)
        message = msgspec.structs.replace(wanted.message, context_id=wanted.session_id)
        sent = await self._tasks.send(asked, message, client_id=wanted.task_id)
        if wanted.push is not None and push is not None:
            await push.set(asked, sent.run_id, msgspec.structs.replace(wanted.push, id="1"), wanted.task_id)
        if wanted.streams:
            return await self._stream(id_, wanted.task_id, self._tasks.stream(asked, sent))
        task = await self._tasks.finish(asked, sent)
        told = encode_task(task, task_id=wanted.task_id, history_length=wanted.history_length or 0)
        return _answer(encode_result(id_, told))

    async def _result(self, asked: A2ARequest, wanted: LegacyRequest) -> JsonObject:
        run_id = await self._run_of(asked, wanted.task_id)
        match wanted:
            case LegacyGet(history_length=length):
                task = await self._tasks.get(asked, run_id)
                return encode_task(task, task_id=wanted.task_id, history_length=length or 0)
            case LegacyCancel():
                return encode_task(await self._tasks.cancel(asked, run_id), task_id=wanted.task_id, history_length=0)
            case LegacySetPush() | LegacyGetPush() if self._handler.push is None:
                raise LegacyError("Push notification is not supported", -32003)
            case LegacySetPush(push=target) if (push := self._handler.push) is not None:
                target = msgspec.structs.replace(target, id="1")
                return encode_push(wanted.task_id, await push.set(asked, run_id, target, wanted.task_id))
            case LegacyGetPush() if (push := self._handler.push) is not None:
                return encode_push(wanted.task_id, await push.get(asked, run_id, ""))
            case _:
                raise LegacyError("unknown method", -32601)

    async def _run_of(self, asked: A2ARequest, client_id: str) -> str:
        found = await self._tasks.find(asked, client_id)
        if found is None:
            raise TaskNotFoundError
        return found.run_id

    async def _stream(self, id_: RpcId, client_id: str, events: AsyncGenerator[Told, None]) -> Response:
        first = await anext(events, None)
        writer = LegacyEventWriter(client_id)

        async def told() -> AsyncGenerator[tuple[Json, int], None]:
            async with aclosing(events):
                try:
                    if first is not None:
                        for event in writer.encode(first.event):
                            yield encode_result(id_, event), first.number
                    async for each in events:
                        for event in writer.encode(each.event):
                            yield encode_result(id_, event), each.number
                        if writer.is_over:
                            return
                except Exception as error:  # noqa: BLE001  # the edge of a stream, as in `answer`
                    yield _error(id_, failure_of(error)), -1

        return event_stream(told(), self._tasks.api.clock)


def _error(id_: RpcId, failure: A2AError) -> JsonObject:
    code = code_of(failure)
    if code == -32005:  # a type of content that is not taken
        code = INVALID_PARAMS
    return encode_error(id_, code if code in _CODES else INTERNAL_ERROR, failure.message)


def _answer(told: JsonObject) -> Response:
    return Response(msgspec.json.encode(told), media_type=JSON)
