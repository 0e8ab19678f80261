"""The Assistants API as a view: an assistant is an agent, a thread is a conversation, a run is a run.

Only what no run holds is kept beside the runs (`core.stored.kept_object`): assistants and threads that a client made,
and what its user said in a thread. All else is read from the record, in any process. For another caller nothing of it
exists.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import Protocol

import msgspec
from starlette.requests import Request as HttpRequest
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from ....agents.agent import Agent
from ....core.call import TextPart
from ....core.errors import ActumError, Busy, JournalError, ModelError, UnknownName, UsageError
from ....core.event import Event, RunResult
from ....core.identity import Identity
from ....core.json import Json, JsonObject
from ....core.message import UserMessage
from ....core.run.ids import new_id
from ....core.stored.kept_object import KeptObject, ObjectsFull
from ....core.tool import Tool
from ....dialects.api.openai_fields import tool_choice
from ....runs.options import Emit
from ....runs.streaming import both
from ...access_log import traceparent_of_request
from ...api.api import Api, Start
from ...api.records import Recorded
from ...api.runs.operations import cancel_elsewhere
from ...api.work import RunJob
from ...paths import OtherPath
from ...route_group import identity_of
from ..refused import DO_NOT_RETRY, Refused
from .answer import Ending, Piece, ServerCall
from .assistant_requests import (
    WantedRun,
    answers_of,
    check_supported,
    digest_of,
    given_outputs,
    message_text,
    objects_in,
    read_settings,
    read_tools,
    text_in,
    texts_in,
)
from .assistant_view import IS_ACTIVE, AssistantRun, EventWriter, event
from .conversations import Conversations
from .endpoints import Methods, fields_of_body, forget, json_response, memory_header, page_of
from .history import own_words
from .ids import AnswerRef
from .placing import GO_ON, GoOn, Placing
from .telling import Telling

_encode = msgspec.json.Encoder().encode
_ASSISTANT = ("name", "description", "instructions", "metadata", "tools", "temperature", "top_p")
OBJECT_BYTES_MAX = 1024 * 1024
"""The most bytes of an assistant, a thread or a message."""
THREAD_S = 60 * 24 * 3600.0
"""Seconds that a thread is kept to which nobody adds a message. The record of its runs is the operator's to keep."""
Events = asyncio.Queue[Event | None]


class Carrier(Protocol):
    """Carries runs out: the executor."""

    async def with_tools(self, agent: Agent[object], tools: Sequence[Tool]) -> Agent[object]:
        """The agent with the client's tools beside its own."""

    async def go_on(self, place: GoOn, events: Events | None) -> RunJob | None:
        """Go on with a run."""

    def happenings(self, telling: Telling) -> AsyncIterator[Piece | Ending | None]:
        """What happens in an answer."""

    async def agent_named(self, model: str, who: Identity) -> str:
        """The name of the agent that a model's name means."""


class Assistants:
    """The endpoints.

    Args:
        api: the runs and the journal.
        placing: finds the runs of callers.
        conversations: the conversations of callers.
        carrier: carries runs out.
    """

    def __init__(self, api: Api, placing: Placing, conversations: Conversations, carrier: Carrier) -> None:
        self._api, self._placing, self._conversations, self._carrier = api, placing, conversations, carrier
        self._objects = api.journal.objects

    @property
    def routes(self) -> Sequence[BaseRoute]:
        """The paths."""
        thread, run = f"{OtherPath.THREADS}/{{thread}}", f"{OtherPath.THREADS}/{{thread}}/runs/{{run}}"
        message = f"{thread}/messages/{{message}}"
        absent = Methods(dict.fromkeys(("GET", "POST", "DELETE"), _absent))
        return [
            Route(OtherPath.ASSISTANTS, Methods({"GET": self._list_assistants, "POST": self._make_assistant})),
            Route(
                f"{OtherPath.ASSISTANTS}/{{id:path}}",
                Methods({"GET": self._get_assistant, "POST": self._change_assistant, "DELETE": self._drop_assistant}),
            ),
            Route(OtherPath.THREADS, Methods({"POST": self._make_thread})),
            Route(f"{OtherPath.THREADS}/runs", Methods({"POST": self._make_thread_and_run})),
            Route(thread, Methods({"GET": self._get_thread, "POST": self._change_thread, "DELETE": self._drop_thread})),
            Route(f"{thread}/messages", Methods({"GET": self._list_messages, "POST": self._make_message})),
            Route(message, Methods({"GET": self._get_message, "DELETE": self._drop_message})),
            Route(f"{thread}/runs", Methods({"GET": self._list_runs, "POST": self._make_run})),
            Route(run, Methods({"GET": self._get_run})),
            Route(f"{run}/cancel", Methods({"POST": self._cancel_run})),
            Route(f"{run}/submit_tool_outputs", Methods({"POST": self._submit})),
            Route(f"{run}/steps", Methods({"GET": self._list_steps})),
            Route(f"{run}/steps/{{step}}", Methods({"GET": self._get_step})),
            Route(OtherPath.VECTOR_STORES, absent),
            Route(f"{OtherPath.VECTOR_STORES}/{{rest:path}}", absent),
        ]

    async def expire(self) -> None:
        """Delete threads to which nobody has added a message for a long time."""
        await self._objects.expire("thread", self._api.clock.now() - THREAD_S)

    # Assistants -------------------------------------------------------------------------------------------------------

    async def _list_assistants(self, http: HttpRequest) -> Response:
        who = identity_of(http.scope)
        names = await self._api.agent_names(who)
        made = [_told(kept) for kept in await self._objects.find(owner_of(who), "assistant")]
        return json_response(page_of([*map(_of_agent, names), *made], http))

    async def _make_assistant(self, http: HttpRequest) -> Response:
        return json_response(await self._keep_assistant(http, {}, f"asst_{os.urandom(12).hex()}"))

    async def _get_assistant(self, http: HttpRequest) -> Response:
        return json_response(await self._assistant(http.path_params["id"], identity_of(http.scope)))

    async def _change_assistant(self, http: HttpRequest) -> Response:
        id_ = http.path_params["id"]
        before = await self._one("assistant", id_, identity_of(http.scope))
        return json_response(await self._keep_assistant(http, before, id_))

    async def _drop_assistant(self, http: HttpRequest) -> Response:
        id_, who = http.path_params["id"], identity_of(http.scope)
        await self._one("assistant", id_, who)
        await self._objects.delete(owner_of(who), id_)
        return json_response({"id": id_, "object": "assistant.deleted", "deleted": True})

    async def _keep_assistant(self, http: HttpRequest, before: JsonObject, id_: str) -> JsonObject:
        who, body = identity_of(http.scope), await fields_of_body(http)
        model = text_in(body, "model") or text_in(before, "model")
        await self._carrier.agent_named(model, who)  # raises where there is none for the caller
        check_supported(body)
        said: JsonObject = {name: body.get(name, before.get(name)) for name in _ASSISTANT}
        await read_tools(said.get("tools"))
        now = self._api.clock.now()
        told: JsonObject = {
            "id": id_,
            "object": "assistant",
            "created_at": before.get("created_at", int(now)),
            "model": model,
            **said,
            "tools": said.get("tools") or [],
            "metadata": said.get("metadata") or {},
            "response_format": "auto",
            "tool_resources": {},
        }
        await self._keep("assistant", told, who)
        return told

    async def _assistant(self, id_: str, who: Identity) -> JsonObject:
        if id_ and id_ in await self._api.agent_names(who):
            return _of_agent(id_)
        return await self._one("assistant", id_, who)

    # Threads ----------------------------------------------------------------------------------------------------------

    async def _make_thread(self, http: HttpRequest) -> Response:
        return json_response(await self._new_thread(await fields_of_body(http), identity_of(http.scope)))

    async def _new_thread(self, body: JsonObject, who: Identity) -> JsonObject:
        check_supported(body)
        messages = [message_text(message) for message in objects_in(body, "messages")]
        thread: JsonObject = {
            "id": f"thread_{os.urandom(12).hex()}",
            "object": "thread",
            "created_at": int(self._api.clock.now()),
            "metadata": body.get("metadata") or {},
            "tool_resources": {},
        }
        await self._keep("thread", thread, who)
        for (role, text), said in zip(messages, objects_in(body, "messages"), strict=True):
            await self._new_message(text_in(thread, "id"), role, text, said, who)
        return thread

    async def _get_thread(self, http: HttpRequest) -> Response:
        return json_response(await self._thread(http))

    async def _change_thread(self, http: HttpRequest) -> Response:
        thread, body = await self._thread(http), await fields_of_body(http)
        check_supported(body)
        changed: JsonObject = {**thread, "metadata": body.get("metadata", thread.get("metadata"))}
        await self._keep("thread", changed, identity_of(http.scope))
        return json_response(changed)

    async def _drop_thread(self, http: HttpRequest) -> Response:
        thread, who = await self._thread(http), identity_of(http.scope)
        id_ = text_in(thread, "id")
        for run in await self._conversations.runs_of(id_, who, must_be=False):
            await forget(self._api, run.run_id, who, "thread deleted")
        await self._objects.delete(owner_of(who), id_)
        return json_response({"id": id_, "object": "thread.deleted", "deleted": True})

    async def _thread(self, http: HttpRequest) -> JsonObject:
        return await self._one("thread", http.path_params["thread"], identity_of(http.scope))

    # Messages ---------------------------------------------------------------------------------------------------------

    async def _make_message(self, http: HttpRequest) -> Response:
        who, body = identity_of(http.scope), await fields_of_body(http)
        role, text = message_text(body)
        thread = text_in(await self._thread(http), "id")
        if http.headers.get("x-stainless-retry-count", "0") != "0":
            said = await self._said_in(thread, who)
            if said and (said[-1]["role"], _value(said[-1])) == (role, text):
                return json_response(said[-1])  # the client did not hear that this was done
        await self._check_idle(thread, who)
        return json_response(await self._new_message(thread, role, text, body, who))

    async def _new_message(self, thread: str, role: str, text: str, body: JsonObject, who: Identity) -> JsonObject:
        now = int(self._api.clock.now())
        content: list[Json] = [{"type": "text", "text": {"value": text, "annotations": []}}]
        message: JsonObject = {
            "id": f"msg_{os.urandom(12).hex()}",
            "object": "thread.message",
            "created_at": now,
            "completed_at": now,
            "incomplete_at": None,
            "incomplete_details": None,
            "thread_id": thread,
            "run_id": None,
            "assistant_id": None,
            "role": role,
            "status": "completed",
            "content": content,
            "attachments": [],
            "metadata": body.get("metadata") or {},
        }
        await self._keep("message", message, who, thread)
        return message

    async def _said_in(self, thread: str, who: Identity) -> list[JsonObject]:
        return [_told(kept) for kept in await self._objects.find(owner_of(who), "message", thread)]

    async def _messages(self, thread: str, who: Identity) -> list[JsonObject]:
        """All messages of a thread, the oldest first: those of a run follow what the run was asked."""
        waiting = {text_in(said, "id"): said for said in await self._said_in(thread, who)}
        found: list[JsonObject] = []
        for run in await self._runs(thread, who):
            asked = run.door.get("messages")
            heard = set(asked) if isinstance(asked, list) else set()
            found += [waiting.pop(id_) for id_ in list(waiting) if id_ in heard]
            found += run.messages()
        return [*found, *waiting.values()]

    async def _list_messages(self, http: HttpRequest) -> Response:
        who = identity_of(http.scope)
        messages = await self._messages(text_in(await self._thread(http), "id"), who)
        if run := http.query_params.get("run_id"):
            messages = [message for message in messages if message["run_id"] == run]
        return json_response(page_of(messages, http))

    async def _get_message(self, http: HttpRequest) -> Response:
        messages = await self._messages(text_in(await self._thread(http), "id"), identity_of(http.scope))
        return json_response(_pick(messages, http.path_params["message"], "message"))

    async def _drop_message(self, http: HttpRequest) -> Response:
        who, id_ = identity_of(http.scope), http.path_params["message"]
        said = await self._said_in(text_in(await self._thread(http), "id"), who)
        _pick(said, id_, "message")
        await self._objects.delete(owner_of(who), id_)
        return json_response({"id": id_, "object": "thread.message.deleted", "deleted": True})

    # Runs -------------------------------------------------------------------------------------------------------------

    async def _runs(self, thread: str, who: Identity) -> list[AssistantRun]:
        """The runs of a thread that were not forgotten, the oldest first."""
        found: list[AssistantRun] = []
        for run in reversed(await self._conversations.runs_of(thread, who, must_be=False)):
            with suppress(JournalError):
                found.append(AssistantRun(run.run_id, run.entries))
        return found

    async def _check_idle(self, thread: str, who: Identity) -> None:
        for run in await self._runs(thread, who):
            if run.status in IS_ACTIVE:
                raise UsageError("Thread {thread} already has an active run {id}.", thread=thread, id=run.told()["id"])

    async def _list_runs(self, http: HttpRequest) -> Response:
        runs = await self._runs(text_in(await self._thread(http), "id"), identity_of(http.scope))
        return json_response(page_of([run.told() for run in runs], http))

    async def _make_thread_and_run(self, http: HttpRequest) -> Response:
        who, body = identity_of(http.scope), await fields_of_body(http)
        await self._assistant(text_in(body, "assistant_id"), who)
        begun = body.get("thread")
        thread = await self._new_thread(begun if isinstance(begun, dict) else {}, who)
        return await self._begin(text_in(thread, "id"), body, who)

    async def _make_run(self, http: HttpRequest) -> Response:
        who, body = identity_of(http.scope), await fields_of_body(http)
        thread = text_in(await self._thread(http), "id")
        if http.headers.get("x-stainless-retry-count", "0") != "0":
            runs = await self._runs(thread, who)
            if runs and runs[-1].door.get("request") == digest_of(body):
                return json_response(runs[-1].told())  # the client did not hear that its run had begun
        await self._check_idle(thread, who)
        return await self._begin(thread, body, who)

    async def _wanted(self, thread: str, body: JsonObject, who: Identity) -> WantedRun:
        """What the request for a run says.

        Raises:
            UsageError: it asks for something that an agent does not do.
            UnknownName: there is no such assistant, or no such agent.
        """
        assistant = await self._assistant(text_in(body, "assistant_id"), who)
        check_supported(body)
        model = text_in(body, "model") or text_in(assistant, "model")
        agent = await self._carrier.agent_named(model, who)
        for said in objects_in(body, "additional_messages"):
            role, text = message_text(said)
            await self._new_message(thread, role, text, said, who)
        heard = {id_ for run in await self._runs(thread, who) for id_ in texts_in(run.door.get("messages"))}
        new = [said for said in await self._said_in(thread, who) if text_in(said, "id") not in heard]
        instructions = text_in(body, "instructions") or text_in(assistant, "instructions")
        told = "\n".join(text for text in (instructions, text_in(body, "additional_instructions")) if text)
        words = [UserMessage((TextPart(told),), "client")] if told else []
        for said in new:
            user = said["role"] == "user"
            text = _value(said) if user else f"[an assistant said:] {_value(said)}"
            words.append(own_words(UserMessage((TextPart(text),), "user" if user else "client"), who))
        if not new:
            words.append(UserMessage((TextPart(GO_ON),), "client"))
        tools = body["tools"] if isinstance(body.get("tools"), list) else assistant.get("tools")
        ids: list[Json] = [text_in(said, "id") for said in new]
        door: JsonObject = {
            "surface": "assistants",
            "background": True,
            "assistant": assistant["id"],
            "model": model,
            "instructions": told,
            "tools": tools,
            "tool_choice": body.get("tool_choice"),
            "metadata": body.get("metadata") or {},
            "messages": ids,
            "request": digest_of(body),
        }
        return WantedRun(
            thread=thread,
            agent=agent,
            body=body,
            assistant=assistant,
            tools=await read_tools(tools),
            tool_choice=tool_choice({"tool_choice": body.get("tool_choice")}),
            door=door,
            words=tuple(words),
        )

    async def _begin(self, thread: str, body: JsonObject, who: Identity) -> Response:
        wanted = await self._wanted(thread, body, who)
        agent = await self._carrier.with_tools(
            await self._api.agent(who, wanted.agent, conversation=thread), wanted.tools
        )
        self._api.check_question(agent, wanted.words[-1])
        start = Start(new_id("run"), trace=traceparent_of_request())
        events = Events() if body.get("stream") is True else None
        settings = read_settings(wanted)
        # Before the run begins: where the server is killed in between, the messages are only new to the next run.
        await self._objects.take_up(owner_of(who), texts_in(wanted.door["messages"]), start.run_id)

        def carry_out(emit: Emit) -> Coroutine[object, object, RunResult]:
            return agent.run(
                wanted.words[-1],
                told=wanted.words[:-1],
                conversation=thread,
                principal=who.principal,
                tenant=who.tenant,
                roles=who.roles,
                key_id=who.key_id,
                run_id=start.run_id,
                trace=start.trace,
                door=wanted.door,
                settings=settings,
                tool_choice=None if wanted.tool_choice == "auto" else wanted.tool_choice,
                memory=who.is_one_person,
                emit=both(emit, events),
            )

        job = await self._api.begin(start, carry_out)
        run = await self._run(start.run_id, thread, who)
        if events is None:
            return json_response(run.told(), memory_header(agent, who))
        if job is not None:
            job.task.add_done_callback(lambda _: events.put_nowait(None))
        opened = event("thread.run.created", run.told()) + event("thread.run.in_progress", run.told())
        telling = Telling(run_id=start.run_id, ref=AnswerRef(start.run_id), who=who, events=events, door=wanted.door)
        stream = self._stream(telling, thread, EventWriter(run, 0), opened)
        return _stream_of(stream, memory_header(agent, who))

    async def _stream(self, telling: Telling, thread: str, writer: EventWriter, opened: bytes) -> AsyncIterator[bytes]:
        yield opened
        try:
            async for happening in self._carrier.happenings(telling):
                match happening:
                    case None:
                        yield b": still here\n\n"
                    case Ending():
                        yield writer.end(await self._run(telling.run_id, thread, telling.who))
                    case ServerCall():
                        await self._api.journal.sync(telling.run_id)
                        yield writer.piece(happening, await self._run(telling.run_id, thread, telling.who))
                    case piece:
                        yield writer.piece(piece, None)
        except ActumError as error:
            words = str(error) if isinstance(error, ModelError | ValueError) else "internal error"
            yield event("error", {"message": words, "code": "server_error", "param": None, "type": "server_error"})

    async def _recorded(self, run_id: str, thread: str, who: Identity) -> Recorded:
        await self._one("thread", thread, who)
        recorded = await self._placing.own(run_id, who)
        if recorded.started.conversation != thread:
            raise UnknownName("There is no such run.")
        return recorded

    async def _run(self, run_id: str, thread: str, who: Identity) -> AssistantRun:
        return await self._shown_run(await self._recorded(run_id, thread, who), who)

    async def _shown_run(self, recorded: Recorded, who: Identity) -> AssistantRun:
        return AssistantRun(recorded.run_id, (await self._api.records.shown(recorded, who)).entries)

    async def _asked_run(self, http: HttpRequest) -> AssistantRun:
        """The run of a request. A run that nobody carries out any more, such as after a kill, is gone on with."""
        who, run_id, thread = identity_of(http.scope), http.path_params["run"], http.path_params["thread"]
        run = await self._run(run_id, thread, who)
        if run.status == "in_progress" and self._api.work.get(run_id) is None:
            if not await self._api.journal.driven([run_id]):
                with suppress(Busy):
                    recorded = await self._recorded(run_id, thread, who)
                    if not recorded.is_over and not recorded.state.waiting():
                        await self._api.started(self._api.go_on(recorded))
            run = await self._run(run_id, thread, who)
        return run

    async def _get_run(self, http: HttpRequest) -> Response:
        return json_response((await self._asked_run(http)).told())

    async def _cancel_run(self, http: HttpRequest) -> Response:
        who, run_id, thread = identity_of(http.scope), http.path_params["run"], http.path_params["thread"]
        recorded = await self._recorded(run_id, thread, who)
        if recorded.is_over:
            raise UsageError("Cannot cancel a run that has ended.")
        if not await self._api.work.cancel(run_id):
            await cancel_elsewhere(self._api, run_id, who)
        return json_response((await self._run(run_id, thread, who)).told())

    async def _list_steps(self, http: HttpRequest) -> Response:
        return json_response(page_of((await self._asked_run(http)).steps(), http))

    async def _get_step(self, http: HttpRequest) -> Response:
        return json_response(_pick((await self._asked_run(http)).steps(), http.path_params["step"], "step"))

    async def _submit(self, http: HttpRequest) -> Response:
        who, body = identity_of(http.scope), await fields_of_body(http)
        run_id, thread = http.path_params["run"], http.path_params["thread"]
        recorded = await self._recorded(run_id, thread, who)
        before = await self._shown_run(recorded, who)
        given = given_outputs(body)
        known = {ask: recorded.state.answers[ask].text for ask in given if ask in recorded.state.answers}
        is_again = bool(given) and known == given
        events = Events() if body.get("stream") is True else None
        if not is_again:
            if before.status != "requires_action":
                raise UsageError("This run takes no outputs: it is {number}.", number=before.status)
            answers = answers_of(recorded, given, who)
            job = await self._carrier.go_on(GoOn(recorded, len(recorded.entries), answers), events)
        else:
            job = None
        run = await self._run(run_id, thread, who)
        if events is None:
            return json_response(run.told())
        telling = Telling(
            run_id=run_id,
            ref=AnswerRef(run_id, len(recorded.entries)),
            who=who,
            events=events if job is not None else None,
            live_from=len(recorded.entries),
            door=run.door,
        )
        opened = event("thread.run.in_progress", {**run.told(), "status": "in_progress", "required_action": None})
        opened = _ended_steps(before, run) + opened
        return _stream_of(self._stream(telling, thread, EventWriter(run, len(before.messages())), opened))

    # Objects ----------------------------------------------------------------------------------------------------------

    async def _keep(self, kind: str, told: JsonObject, who: Identity, parent: str = "") -> None:
        kept = KeptObject(
            id=text_in(told, "id"),
            owner=owner_of(who),
            kind=kind,
            parent=parent,
            at=self._api.clock.now(),
            payload=_encode(told),
            tenant=who.tenant,
            principal=who.principal,
        )
        if len(kept.payload) > OBJECT_BYTES_MAX:
            raise UsageError("This {kind} is too large: {most} bytes are the limit.", kind=kind, most=OBJECT_BYTES_MAX)
        try:
            await self._objects.put(kept)
        except ObjectsFull as full:
            raise Refused(ModelError(str(full), status=429), DO_NOT_RETRY) from None

    async def _one(self, kind: str, id_: str, who: Identity) -> JsonObject:
        found = await self._objects.find(owner_of(who), kind, "", id_) if id_ else ()
        if not found:
            raise UnknownName("There is no such {kind}.", kind=kind)
        return _told(found[0])


def owner_of(who: Identity) -> str:
    """Names a caller among those of all issuers and tenants."""
    return hashlib.sha256(_encode([who.tenant, who.issuer, who.principal])).hexdigest()


async def _absent(http: HttpRequest) -> Response:
    raise ModelError("There are no vector stores here.", status=501)


def _ended_steps(before: AssistantRun, run: AssistantRun) -> bytes:
    """The steps of calls that the client has made by now."""
    open_ids = {step["id"] for step in before.steps() if step["status"] == "in_progress"}
    ended = [step for step in run.steps() if step["id"] in open_ids and step["status"] != "in_progress"]
    return b"".join([event(f"thread.run.step.{step['status']}", step) for step in ended])


def _stream_of(body: AsyncIterator[bytes], headers: Mapping[str, str] | None = None) -> Response:
    own = {"cache-control": "no-cache"}
    return StreamingResponse(body, media_type="text/event-stream", headers={**own, **(headers or {})})


def _of_agent(name: str) -> JsonObject:
    """An agent of this server, as an assistant."""
    return {
        "id": name,
        "object": "assistant",
        "created_at": 0,
        "model": name,
        "name": name,
        "description": None,
        "instructions": None,
        "tools": [],
        "metadata": {},
    }


def _told(kept: KeptObject) -> JsonObject:
    return msgspec.json.decode(kept.payload, type=JsonObject)


def _pick(items: Sequence[JsonObject], id_: str, what: str) -> JsonObject:
    found = next((item for item in items if item["id"] == id_), None)
    if found is None:
        raise UnknownName("There is no such {what}.", what=what)
    return found


def _value(message: JsonObject) -> str:
    match message.get("content"):
        case [{"text": {"value": str(text)}}]:
            return text
        case _:
            return ""
