"""Answers requests of model APIs by the agents of this server.

A request becomes a run of the agent (`placing`), which this process carries out in a task of its own: a client that
hangs up ends no run, unless the key says so. The answer is told while it happens, or out of the record where another
request, or another process, carries the run out.

Runs that a client wants done in the background are carried out by the same tasks: `_begin` is the one place where a run
is started.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager

import msgspec
from msgspec import Struct
from starlette.background import BackgroundTask
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute

from ....agents.agent import Agent
from ....core.errors import ActumError, BadTool, Busy, JournalError, ModelError, ReplayDiverged, UnknownName, UsageError
from ....core.event import Event, RunResult
from ....core.identity import Identity
from ....core.interfaces import Clock
from ....core.json import JsonObject
from ....core.process.worker_thread import LARGE, off_loop
from ....core.run.ending import last_entry
from ....core.run.record import Ended, Entry, Started
from ....core.token_estimate import TOKEN_BYTES
from ....core.tool import Tool
from ....dialects.api.openai_responses.encoder import repeated
from ....dialects.losses import Loss
from ....features.refusal import Refusal
from ....journal.recording import RunState
from ....policy.record_mask import RecordMask
from ....runs.options import Emit
from ....runs.other_values import know_others
from ....runs.runner import unless_stopped
from ....runs.streaming import both
from ...api.api import Api
from ...api.approvals.operations import go_on_with_answered
from ...api.records import POLL_S
from ...api.work import RunJob
from ...route_group import REQUEST_ID
from ..lost import lost_header
from ..refused import DO_NOT_RETRY, Refused
from ..request import ModelRequest
from ..surface import CHAT, RESPONSES, token_count
from .answer import AnswerFold, Ending, LiveAnswer, Piece, Said
from .assistants import Assistants
from .conversations import Conversations
from .endpoints import memory_header, refused
from .failure import STATUS_HEADER, failed_response, failure
from .ids import AnswerRef
from .items import answer_fold, quoted_before
from .placing import REPEAT_S, UNSTORED, Begin, GoOn, Place, Placing, door_fields, is_to_be_stored, under_way
from .references import ItemReferences
from .secret import NameSecret
from .stored import StoredAnswers
from .telling import Telling
from .turn import ANY_OBJECT, RUN_HEADER, AskedTurn, read_turn
from .writers import AnswerWriter, comment, last_words, open_writer

log = logging.getLogger("actum.server.models")

LOOK_MAX = 10_000
"""The most runs, the latest ones, that one look reads."""
AT_ONCE = 50


class UnstoredRuns:
    """Deletes the words of runs that are not to be stored.

    Args:
        api: the runs and the journal.
    """

    def __init__(self, api: Api) -> None:
        self._api = api
        self._refused: set[str] = set()

    async def look(self) -> None:
        """Delete the words of each run that nobody carries out, and in which nothing happened for ten minutes."""
        journal = self._api.journal
        ids = [id_ for id_ in await journal.named(UNSTORED, limit=LOOK_MAX) if id_ not in self._refused]
        for at in range(0, len(ids), AT_ONCE):
            part = ids[at : at + AT_ONCE]
            driven = {*await journal.driven(part), *(id_ for id_ in part if self._api.work.get(id_) is not None)}
            for run_id, entries in (await journal.read_each(part)).items():
                if run_id not in driven and entries[-1].at <= self._api.clock.now() - REPEAT_S:
                    await self._forget(run_id, entries)

    async def forget(self, run_id: str) -> None:
        """Delete the words of a run that has come to its end."""
        entries = await self._api.journal.read(run_id)
        if entries and isinstance(last_entry(entries).record, Ended):
            await self._forget(run_id, entries)

    async def _forget(self, run_id: str, entries: Sequence[Entry]) -> None:
        journal = self._api.journal
        try:
            if RunState(entries).waiting():
                return
            for child in await journal.runs(parent=run_id, limit=None):
                if child.status != "forgotten":
                    await self._forget(child.run_id, await journal.read(child.run_id))
            await journal.forget(run_id, by="models door", reason="store: false")
        except (UnknownName, Busy):
            pass  # it was forgotten, or somebody goes on with it
        except (UsageError, JournalError) as error:
            self._refused.add(run_id)
            log.warning("run %s is not to be stored and can not be forgotten: %s", run_id, error)


log = logging.getLogger("actum.server.models")

HOLD_S = 60.0
"""Seconds that a request is held while its run waits for a person."""
SILENT_S = 15.0
"""Seconds without a word after which a comment is sent, where the API allows comments."""
DRAIN_S = 10.0
TIDY_S = 300.0
"""Seconds between two looks for things that are not to be kept any more."""
TOOLS_MAX, SCHEMAS_BYTES_MAX = 1_000, 512 * 1024
"""The most tools that a client may bring, and the most bytes of their schemas together."""
HISTORY_HEADER = "x-actum-history"
JSON = "application/json"
_encode = msgspec.json.Encoder().encode
_SSE = {"cache-control": "no-cache, no-transform", "x-accel-buffering": "no"}


class AgentServing(Struct, frozen=True, kw_only=True):
    """How agents are served at the models door.

    Attributes:
        hold_s: the seconds that a request is held while its run waits for a person.
        drain_s: the seconds that runs may go on when the server stops.
    """

    hold_s: float = HOLD_S
    drain_s: float = DRAIN_S


class Answering(Telling, frozen=True, kw_only=True):
    """An answer that is about to be told to a client of a model API.

    Attributes:
        writer: writes it.
        is_stored: whether the record is kept.
        ends: the run ends when the client hangs up.
    """

    writer: AnswerWriter
    is_stored: bool = True
    ends: bool = False


class AgentExecutor:
    """Answers by agents.

    Args:
        api: the runs, the journal and the agents.
        serving: how agents are served.
    """

    def __init__(self, api: Api, serving: AgentServing | None = None) -> None:
        self._api = api
        self._serving = serving or AgentServing()
        secret = NameSecret(api.journal)
        conversations = Conversations(api, secret)
        self._placing = Placing(api, secret, conversations)
        self._unstored = UnstoredRuns(api)
        self._ending = asyncio.Event()
        self._agent_of: Callable[[str, Identity], Awaitable[str]] | None = None
        self._assistants = Assistants(api, self._placing, conversations, self)
        stored = StoredAnswers(api, self._placing, self.told_from_record)
        self._references = ItemReferences(api, stored)
        self._routes = [
            *stored.routes,
            *conversations.routes,
            *self._assistants.routes,
        ]

    @property
    def routes(self) -> Sequence[BaseRoute]:
        """See `Executor`."""
        return self._routes

    def lets_in(self, who: Identity, agent: str) -> bool:
        """See `Executor`."""
        return self._api.lets_in(who, agent)

    async def published(self, who: Identity) -> Sequence[str]:
        """See `Executor`."""
        return await self._api.published_agents(who)

    async def has_published(self, name: str, who: Identity) -> bool:
        """See `Executor`."""
        return who.may_use("agent", name) and name in await self._api.published.agents(who.tenant)

    def know_names(self, agent_of: Callable[[str, Identity], Awaitable[str]]) -> None:
        """See `Executor`."""
        self._agent_of = agent_of

    async def agent_named(self, model: str, who: Identity) -> str:
        """The name of the agent that a model's name means.

        Raises:
            UnknownName: the name means no agent for this caller.
        """
        if self._agent_of is not None:
            return await self._agent_of(model, who)
        if model not in await self._api.agent_names(who):
            raise UnknownName("There is no agent {model!r} here, or your key may not use it.", model=model[:200])
        return model

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Runs that requests begin go on within this block."""
        looking = [
            asyncio.create_task(self._tidy(), name="tidy up behind clients"),
            asyncio.create_task(go_on_with_answered(self._api), name="answers from elsewhere"),
        ]
        try:
            yield
        finally:
            for each in looking:
                each.cancel()
            await asyncio.wait(looking)
            await self._api.work.close(self._serving.drain_s)

    async def _tidy(self) -> None:
        """Delete from time to time what nobody is to find any more: see `UnstoredRuns`, and threads that are old."""
        while True:
            try:
                await self._unstored.look()
                await self._assistants.expire()
            except JournalError as error:
                log.warning("what is not to be kept any more could not be deleted: %s", error)
            await self._api.clock.sleep(TIDY_S)

    async def end_streams(self) -> None:
        """Begin no more runs; streams end with their runs, which have some seconds left."""
        self._api.work.refuse_new()
        self._ending.set()

    async def answer(self, asked: ModelRequest, agent: str) -> Response:
        """See `Executor`."""
        if asked.surface.does == "count_tokens":
            return await off_loop(len(asked.body), count_tokens, asked)
        if asked.surface.does != "answer":
            raise UsageError("an agent gives no {does}: ask for a model that does", does=asked.surface.does)
        asked = await self._references.replaced(asked)
        turn = await off_loop(len(asked.body), read_turn, asked)
        try:
            place = await self._placing.place(asked, turn, agent)
            return await self._answer(asked, turn, agent, place)
        except Refusal as refusal:
            raise refused(refusal) from None
        except Busy:
            raise under_way() from None
        except ReplayDiverged as error:
            raise Refused(ModelError(str(error), status=409), DO_NOT_RETRY) from None

    async def _answer(self, asked: ModelRequest, turn: AskedTurn, agent: str, place: Place) -> Response:
        who, fields = asked.identity, asked.fields
        is_stored = is_to_be_stored(asked)
        in_background = asked.surface is RESPONSES and fields.get("background") is True
        if in_background and not is_stored:
            raise UsageError("background: an answer that is not stored can not be asked for later")
        events: asyncio.Queue[Event | None] | None = asyncio.Queue() if asked.stream and not in_background else None
        begun: RunJob | None = None
        of_memory: dict[str, str] = {}
        if isinstance(place, Begin):
            run_id, begins = place.start.run_id, 0
            begun, of_memory = await self._begin(asked, turn, agent, place, events)
        else:
            run_id, begins = place.recorded.run_id, place.begins
            if isinstance(place, GoOn):
                begun = await self.go_on(place, events)
        ref = AnswerRef(run_id, begins, is_stored)
        lost = turn.lost
        if turn.tool_choice is not None and not isinstance(place, Begin):
            lost += (Loss("tool_choice", str(turn.tool_choice), "the run goes on with the choice that it began with"),)
        headers = {RUN_HEADER: run_id, **lost_header(lost), **of_memory}
        if place.disagrees:
            headers[HISTORY_HEADER] = "disagrees"
        recorded = await self._placing.own(run_id, who)
        writer = self._writer(asked, agent, ref, int(recorded.entries[0].at))
        answering = Answering(
            run_id=run_id,
            ref=ref,
            who=who,
            writer=writer,
            events=events if begun is not None else None,
            live_from=len(place.recorded.entries) if isinstance(place, GoOn) else 0,
            is_stored=is_stored,
            ends=who.hang_up == "end" and not in_background,
            door=recorded.started.door,
        )
        if asked.stream:
            body = self._stream(answering)
            return StreamingResponse(body, media_type="text/event-stream", headers={**headers, **_SSE})
        if in_background:
            pending = Ending(run_id=run_id, how="running")
            headers[STATUS_HEADER] = pending.status
            return Response(writer.whole((), pending), media_type=JSON, headers=headers)
        return await self._whole(asked, answering, headers)

    def _writer(self, asked: ModelRequest, agent: str, ref: AnswerRef, created: int) -> AnswerWriter:
        options = asked.fields.get("stream_options")
        usage = asked.surface is not CHAT or (isinstance(options, dict) and options.get("include_usage") is True)
        return open_writer(
            asked.surface,
            asked.dialect,
            ref,
            agent=agent,
            model=asked.model,
            created=created,
            usage=usage,
            fields=response_fields(asked) if asked.surface is RESPONSES else None,
        )

    # Runs -------------------------------------------------------------------------------------------------------------

    async def _begin(
        self, asked: ModelRequest, turn: AskedTurn, name: str, place: Begin, events: asyncio.Queue[Event | None] | None
    ) -> tuple[RunJob | None, dict[str, str]]:
        """Begin a run, unless the same request has begun it before; with the header that says how the run stands to the
        memory of its user.
        """
        who = asked.identity
        agent = await self._api.agent(who, name, conversation=place.conversation)
        self._api.check_question(agent, place.question)
        agent = await self.with_tools(agent, turn.tools, turn.answer_schema)

        def carry_out(emit: Emit) -> Coroutine[object, object, RunResult]:
            return agent.run(
                place.question,
                messages=place.messages,
                conversation=place.conversation,
                after=place.after,
                principal=who.principal,
                tenant=who.tenant,
                roles=who.roles,
                key_id=who.key_id,
                run_id=place.start.run_id,
                request=place.start.request,
                trace=place.start.trace,
                names=place.names,
                door=door_fields(asked),
                told=place.told,
                settings=turn.settings,
                tool_choice=turn.tool_choice,
                memory=who.is_one_person,
                emit=both(emit, events),
            )

        job = await self._api.begin(place.start, carry_out)
        return self._told(job, events), memory_header(agent, who)

    async def with_tools(
        self, agent: Agent[object], tools: Sequence[Tool], answer_schema: JsonObject | None = None
    ) -> Agent[object]:
        """The agent with the client's tools beside its own, and the form of answer that the client wants.

        Raises:
            UsageError: two tools have one name, the agent has a form of answer of its own, or a schema is bad or too
                large.
        """
        own = agent.output_schema
        if answer_schema == ANY_OBJECT and own is not None and own.get("type") == "object":
            answer_schema = None  # the agent answers with an object anyway
        if not tools and answer_schema is None:
            return agent
        if len(tools) > TOOLS_MAX or len(_encode([tool.parameters for tool in tools])) > SCHEMAS_BYTES_MAX:
            raise UsageError(
                "tools: at most {most} with {other_most} KB of schemas are taken",
                most=TOOLS_MAX,
                other_most=SCHEMAS_BYTES_MAX // 1024,
            )
        if len(_encode(answer_schema)) > LARGE:
            raise UsageError("the schema of the answer: at most {large} KB are taken", large=LARGE // 1024)
        ((named, times),) = Counter(tool.name for tool in tools).most_common(1) or [("", 0)]
        if times > 1:
            raise UsageError("tools: two of them are called {name!r}", name=named)
        taken = {tool.name for tool in await agent.list_tools()}
        if both_have := sorted(taken & {tool.name for tool in tools}):
            raise UsageError(
                "tools: this agent has a tool {both_have!r} of its own: give yours another name", both_have=both_have[0]
            )
        try:
            return agent.with_client_tools(tools, answer_schema)
        except BadTool as error:
            raise UsageError("the schema of the answer: {why}", why=error) from None

    async def go_on(self, place: GoOn, events: asyncio.Queue[Event | None] | None) -> RunJob | None:
        """Go on with a run, with what it waited for.

        Raises:
            Refused: another request goes on with it.
        """
        recorded = place.recorded
        agent = await self._api.agent_of(recorded.started)
        if agent is None:
            raise UnknownName("There is no agent any more that can go on with this run.")
        if await self._api.journal.driven([recorded.run_id]):
            raise under_way()
        job = self._api.work.start(
            recorded.run_id,
            recorded.started.request,
            lambda emit: agent.resume(
                recorded.run_id,
                place.answers,
                principal=recorded.started.principal,
                tenant=recorded.started.tenant,
                emit=both(emit, events),
                begins=unless_stopped,
            ),
        )
        return self._told(await self._api.started(job), events)

    def _told(self, job: RunJob | None, events: asyncio.Queue[Event | None] | None) -> RunJob | None:
        if job is not None and events is not None:
            job.task.add_done_callback(lambda _: events.put_nowait(None))
        return job

    # Telling ----------------------------------------------------------------------------------------------------------

    async def _whole(self, asked: ModelRequest, answering: Answering, headers: dict[str, str]) -> Response:
        pieces: list[Piece] = []
        ending: Ending | None = None
        telling = asyncio.create_task(self._to_its_end(answering, pieces))
        try:
            ending = await (self._until_gone(asked, telling) if answering.ends else telling)
        except asyncio.CancelledError:
            self._hang_up(answering)
            raise
        finally:
            telling.cancel()
        headers[STATUS_HEADER] = ending.status
        if ending.how == "failed":
            request_id = str(asked.http.scope.get(REQUEST_ID, ""))
            response = failed_response(asked.surface.vendor, ending, pieces, request_id, headers)
        else:
            response = Response(answering.writer.whole(pieces, ending), media_type=JSON, headers=headers)
        response.background = BackgroundTask(self._delivered, answering, ending)
        return response

    async def _to_its_end(self, answering: Answering, pieces: list[Piece]) -> Ending:
        if self._api.work.get(answering.run_id) is not None:  # nobody reads along, so the record is read at the end
            await self._moved(answering.run_id, answering.who)
        async for happening in self.happenings(answering):
            if isinstance(happening, Ending):
                return happening
            if happening is not None:
                pieces.append(happening)
        raise JournalError("the run is not on record any more")

    async def _until_gone(self, asked: ModelRequest, telling: asyncio.Task[Ending]) -> Ending:
        """Wait for an answer as long as the client does."""

        async def gone() -> None:
            while (await asked.http.receive())["type"] != "http.disconnect":
                pass

        leaving = asyncio.create_task(gone())
        try:
            await asyncio.wait([telling, leaving], return_when=asyncio.FIRST_COMPLETED)
            if not telling.done():
                raise asyncio.CancelledError
            return telling.result()
        finally:
            leaving.cancel()

    async def _stream(self, answering: Answering) -> AsyncIterator[bytes]:
        writer = answering.writer
        ending: Ending | None = None
        try:
            yield writer.begin()
            async for happening in self.happenings(answering):
                match happening:
                    case None:
                        if writer.comments:
                            yield comment("still here")
                    case Ending() if happening.how == "failed":
                        ending = happening
                        if last := last_words(happening):
                            yield writer.piece(Said(last, begins=True))
                        yield writer.fail(failure(happening))
                    case Ending():
                        ending = happening
                        yield writer.end(happening)
                    case piece:
                        if told := writer.piece(piece):
                            yield told
        except ActumError as error:
            log.info("the stream of run %s ends with an error: %s", answering.run_id, type(error).__name__)
            yield writer.fail(error if isinstance(error, ModelError | ValueError) else ModelError("internal error"))
        finally:
            if ending is None:
                self._hang_up(answering)
        if ending is not None:
            await self._delivered(answering, ending)

    def told_from_record(
        self, ref: AnswerRef, who: Identity, writer: AnswerWriter, door: JsonObject
    ) -> AsyncIterator[bytes]:
        """The stream of an answer out of the record, what is still to come as it comes."""
        return self._stream(Answering(run_id=ref.run_id, ref=ref, who=who, writer=writer, door=door))

    async def happenings(self, answering: Telling) -> AsyncIterator[Piece | Ending | None]:
        """What happens in an answer: pieces, None after a silence, and at the end the ending.

        Raises:
            ActumError: the run can not be gone on with.
        """
        api, run_id, clock = self._api, answering.run_id, self._api.clock
        fold = answer_fold(run_id, answering.ref.begins, answering.door)
        mask, seen, live = api.records.mask(answering.who), -1, None
        if answering.events is not None:
            live = await self._live_answer(answering, fold, mask)
            async for told in self._live(answering, answering.events, fold, live, mask):
                yield told
            seen = answering.live_from - 1
        hold_s = 0.0 if answering.door.get("background") is True else self._serving.hold_s
        held_until, silent_since = clock.monotonic() + hold_s, clock.monotonic()
        while True:
            entries = await api.journal.read(run_id, seen, tenant=answering.who.tenant)
            await know_others(mask, api.journal, run_id, entries)
            for entry in entries:
                seen = entry.number
                if isinstance(entry.record, Started):
                    fold.before = await quoted_before(api.journal, entry.record)
                for piece in fold.take(mask.take(entry)):
                    if live is None or not live.has_told(piece):
                        silent_since = clock.monotonic()
                        yield piece
                if isinstance(entry.record, Ended):
                    live = None  # what is behind it was done by somebody else
            ending = fold.ending()
            is_under_way = api.work.get(run_id) is not None and not fold.is_cut
            if ending.how == "running" or is_under_way:
                await self._moved(run_id, answering.who)
            elif ending.how == "waits" and clock.monotonic() < held_until and not self._ending.is_set():
                await clock.sleep(POLL_S)
            else:
                yield ending
                return
            if clock.monotonic() - silent_since >= SILENT_S:
                silent_since = clock.monotonic()
                yield None

    async def _live_answer(self, answering: Telling, fold: AnswerFold, mask: RecordMask) -> LiveAnswer:
        recorded = await self._placing.own(answering.run_id, answering.who)
        started, begins = recorded.started, recorded.entries[:1]
        mask.know_run(begins)
        await know_others(mask, self._api.journal, answering.run_id, begins)
        fold.before = await quoted_before(self._api.journal, started)
        own = [tool.name for tool in started.client_tools]
        return LiveAnswer(own, mask, says_last=started.answer_schema is not None, references=fold.before)

    async def _live(
        self,
        answering: Telling,
        events: asyncio.Queue[Event | None],
        fold: AnswerFold,
        live: LiveAnswer,
        mask: RecordMask,
    ) -> AsyncIterator[Piece | None]:
        """What this process does in a run, as it happens; before it, what is on record of the answer already."""
        entries = (await self._api.journal.read(answering.run_id))[: answering.live_from]
        await know_others(mask, self._api.journal, answering.run_id, entries)
        for entry in entries:
            for piece in fold.take(mask.take(entry)):
                yield piece
        live.is_masked = mask.has_hidden
        if live.is_masked:
            return
        async for event in listened(events, self._api.clock):
            for happened in [None] if event is None else live.take(event):
                yield happened
            if live.is_masked:
                return

    async def _moved(self, run_id: str, who: Identity) -> None:
        """Wait until a run has come further; a run that nobody carries out any more is gone on with.

        Raises:
            ActumError: the run can not be gone on with.
        """
        job = self._api.work.get(run_id)
        if job is None and not await self._api.journal.driven([run_id]):
            recorded = await self._placing.own(run_id, who)
            if recorded.is_over or recorded.state.waiting():
                return  # it came further between the two looks
            try:
                job = await self._api.started(self._api.go_on(recorded))
            except Busy:  # somebody else was a moment earlier, such as the process that took a person's answer
                job = None
        waiting = [asyncio.create_task(self._api.clock.sleep(POLL_S)), *([job.task] if job is not None else [])]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting[0].cancel()

    # Afterwards -------------------------------------------------------------------------------------------------------

    def _hang_up(self, answering: Answering) -> None:
        """The client has gone before the end of its answer."""
        job = self._api.work.get(answering.run_id)
        if job is not None and answering.ends:
            job.cancel()

    async def _delivered(self, answering: Answering, ending: Ending) -> None:
        """The answer was told to its end. An answer that is not to be stored leaves no words on record once nothing
        waits in its run."""
        if not answering.is_stored and ending.how in ("done", "stopped", "failed", "cancelled"):
            await self._unstored.forget(answering.run_id)


async def listened(events: asyncio.Queue[Event | None], clock: Clock) -> AsyncIterator[Event | None]:
    """The events until their end; None after each silence."""
    getting = asyncio.ensure_future(events.get())
    try:
        while True:
            silence = asyncio.ensure_future(clock.sleep(SILENT_S))
            await asyncio.wait([getting, silence], return_when=asyncio.FIRST_COMPLETED)
            silence.cancel()
            if not getting.done():
                yield None
                continue
            event = getting.result()
            if event is None:
                return
            getting = asyncio.ensure_future(events.get())
            yield event
    finally:
        getting.cancel()


def response_fields(asked: ModelRequest) -> JsonObject:
    """What an answer of the Responses API repeats of its request."""
    fields = asked.fields
    conversation = fields.get("conversation")
    return {
        **repeated(fields),
        "background": fields.get("background") is True,
        "conversation": {"id": conversation} if isinstance(conversation, str) else conversation,
        "previous_response_id": fields.get("previous_response_id"),
        "store": fields.get("store") is not False,
    }


def count_tokens(asked: ModelRequest) -> Response:
    """How many tokens a request has, as far as this can be estimated: no model counts what an agent will be told."""
    body = token_count(asked.surface.vendor, len(asked.body) // TOKEN_BYTES)
    return Response(msgspec.json.encode(body), media_type=JSON, headers={"x-actum-estimated": "true"})
