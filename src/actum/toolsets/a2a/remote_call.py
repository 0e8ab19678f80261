"""`RemoteCall`: one call of a remote agent, from the message to the result.

A message begins a task; the task is followed by its stream, and by asking where there is no stream or it broke. A
question of the agent becomes a question to the user. When the time for following is over the call waits on record with
the task's handle: nothing is in doubt, and the process that goes on with the run finds the task again. A call that is
cancelled, or ends with an error, cancels the task.

As soon as the task's id is known it is kept outside of this process, so that a call whose process was killed joins its
task, and the message is not sent twice.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from typing import NamedTuple, Protocol, TypeVar

import msgspec
from msgspec import UNSET, Struct, UnsetType

from ...core.budget import Used
from ...core.call import MediaPart, TextPart, ToolCall, ToolResult
from ...core.errors import (
    BudgetExceeded,
    CallCancelled,
    CallError,
    CallTimeout,
    JournalError,
    PermissionDenied,
    RateLimited,
    ToolError,
    Unavailable,
    UsageError,
)
from ...core.interfaces import Clock, Context, InputRequired
from ...core.json import Json, JsonObject, dumps
from ...core.process.worker_thread import LARGE, off_loop
from ...core.run.ids import new_id
from ...core.run.pending import Pending
from ...protocols.a2a.card import RemoteCard
from ...protocols.a2a.followed_task import ReadTask, words_of
from ...protocols.a2a.later import UnreadableAnswer
from ...protocols.a2a.model import A2ABytes, A2AData, A2AEvent, A2ALink, A2AMessage, A2APart, A2ATask, A2AText
from ...protocols.a2a.remote_agent import RemoteAgent
from ...protocols.plain_text import plain, plain_json
from ...transport.guard import AddressRefused, check_link
from ..http.agent_credentials import AgentCredentials, Shown
from .connection import A2AConnection, RequestTerms, TaskHandle, is_of_older_server
from .error import UNKNOWN_TASK, UNSUPPORTED, RemoteAgentError, malformed
from .news import NewsAddress

T = TypeVar("T")

log = logging.getLogger("actum.a2a")

POLL_S = (0.5, 10.0)
"""Seconds between two questions about a task: the first number at the beginning, then longer, up to the second."""
FAILURES_MAX = 5
"""The number of failures in a row after which the call waits on record."""
NEWS_S = 10.0
"""Seconds in which an agent has to say that it will send news of a task. A person looks after the task where it does
not."""
CANCEL_S = 5.0
"""How long a task that nobody waits for any more is given to hear of that."""
QUESTIONS_MAX = 50
PROGRESS_CHARS_MAX = 2_000
WORDS_MAX = 2_000
_LINK = re.compile(r"https?://[^\s<>\"')\]]{1,2000}")
_ANSWER: JsonObject = {
    "type": "object",
    "properties": {"answer": {"type": "string", "description": "What to answer the agent."}},
    "required": ["answer"],
}


class HandleStore(Protocol):
    """Keeps the handle of a call's task outside of this process."""

    def get(self, key: str) -> bytes:
        """What was kept for a call; empty where nothing was."""

    def put(self, key: str, handle: bytes) -> None:
        """Keep the handle of a call's task."""

    def forget(self, key: str) -> None:
        """The call has its outcome."""


class RestingTask(Struct, frozen=True):
    """A task that a call waits for; the journal keeps it as `Context.state`.

    Attributes:
        handle: by which the task is found again.
        asked: how many questions of the agent were answered.
        calls: how many tool calls the agent has told of, which are counted for the run of the call.
        granted: how many tool calls the agent was told that it may make; None for no limit.
        news: the id of the address that waits for news of the task; empty for none.
    """

    handle: TaskHandle
    asked: int = 0
    calls: int = 0
    granted: int | None = None
    news: str = ""


class ShownToAgent:
    """What goes with the requests of one call: a token that has run out meanwhile, or that the agent does not take any
    more, is renewed.

    Args:
        credentials: of the user of the call.
        card: of the agent, as it was approved.
        context: of the call.
        always: what goes with each request beside.
    """

    def __init__(self, credentials: AgentCredentials, card: RemoteCard, context: Context, always: RequestTerms) -> None:
        self._credentials, self._card, self._context, self._always = credentials, card, context, always
        self._shown = Shown()

    async def now(self) -> RequestTerms:
        """What goes with a request now.

        Raises:
            CallError: a credential is missing, or can not be had now.
        """
        shown = self._shown = await self._credentials.of_call(self._card, self._context)
        headers = {**self._always.credentials, **shown.headers}
        return msgspec.structs.replace(self._always, credentials=headers, query=shown.query)

    def refuse(self) -> bool:
        """The agent did not take what was shown last. Whether something new may help."""
        return self._credentials.refuse(self._card, self._context, self._shown)


class CallTerms(NamedTuple):
    """What a call is made with.

    Attributes:
        connection: to the agent.
        card: of the agent, as it was approved.
        request: knows what goes with each request.
        asker: what the agent is called here.
        clock: time.
        wait_s: the seconds for which the task is followed.
        handles: keeps handles outside of this process; None for nothing.
        agent: as it is configured.
        news: where the agent may send news of a task that outlives the call; None for nowhere.
    """

    connection: A2AConnection
    card: RemoteCard
    request: ShownToAgent
    asker: str
    clock: Clock
    wait_s: float
    handles: HandleStore | None
    agent: RemoteAgent
    news: NewsAddress | None = None


def resting_task(data: str | bytes) -> RestingTask | None:
    """The task in a state that a call left; None where there is none."""
    try:
        return msgspec.json.decode(data, type=RestingTask) if data else None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def rest(task: RestingTask, call: ToolCall, asker: str, words: str, ask_id: str = "") -> InputRequired:
    """The exception for a call that has to wait for its task. Any answer has the task looked at again.

    Args:
        task: the task.
        call: the call.
        asker: what the agent is called here.
        words: why the call waits, for a person.
        ask_id: of the question; empty for a new one.
    """
    pending = Pending(
        ask_id or new_id("ask"),
        "elicitation",
        f"{words} Answer to look at its task again.",
        call,
        schema={"type": "object", "properties": {}},
        request={"a2a": msgspec.to_builtins(task.handle)},
        asker=asker,
    )
    return InputRequired(pending, "", dumps(task))


class RemoteCall:
    """One call.

    Args:
        terms: what it is made with.
        call: the call.
        context: of the call.
    """

    def __init__(self, terms: CallTerms, call: ToolCall, context: Context) -> None:
        self._terms = terms
        self._call = call
        self._context = context
        self._task = ReadTask()
        self._handle: TaskHandle | None = None
        self._is_begun = False
        self._asked = 0
        self._counted = 0
        self._granted = self._calls_left()
        self._news = ""
        self._left_s = terms.wait_s

    async def run(self) -> ToolResult:
        """Make the call, or go on with it.

        Raises:
            CallError: it could not be done.
            InputRequired: the call waits: for an answer, or for the task.
        """
        try:
            await self._work()
        except asyncio.CancelledError:
            await self._cancel()
            raise
        except InputRequired:
            raise  # the handle is on record now, and stays in its file until there is an outcome
        except CallError as error:
            if self._is_begun and error.effect == "none":
                error.effect = "unknown"  # what was refused last did not happen; the task did, at least in part
            await self._cancel()  # nobody waits for the task any more, nor finds it again
            await self._forget()
            raise
        await self._forget()
        return await off_loop(LARGE + 1, self._outcome)  # it may be anything up to `RESULT_BYTES_MAX`

    async def _work(self) -> None:
        known = resting_task(self._context.state) or await self._kept()
        if known is None:
            await self._followed(self._begin())
        else:
            self._handle, self._asked, self._counted = known.handle, known.asked, known.calls
            self._is_begun = True
            self._granted, self._news = known.granted, known.news
            self._task = ReadTask(known.handle.task_id, known.handle.context_id)
            await self._followed(self._go_on())
        while not self._task.is_over:
            if self._asked >= QUESTIONS_MAX:
                raise ToolError(
                    "{asker} asks too many questions; its task was cancelled.",
                    effect="unknown",
                    asker=self._terms.asker,
                )
            message = await self._answer()
            self._asked += 1
            self._task.answered()
            await self._followed(self._say(message))
        if self._task.lacks_answer and self._task.task_id and self._handle is not None:
            with suppress(CallError):  # it is done, whatever it says now
                task = await self._get(self._handle)
                try:
                    self._task.fill(task)
                except UnreadableAnswer as problem:
                    raise malformed(problem) from None

    # Following --------------------------------------------------------------------------------------------------------

    async def _followed(self, step: Awaitable[None]) -> None:
        """Follow the task until it is settled, as long as there is time."""
        clock = self._terms.clock
        began = clock.monotonic()
        limit = clock.timeout(max(0.0, self._left_s))
        try:
            async with limit:
                await step
                await self._poll()
        except TimeoutError:
            if not limit.expired() or self._handle is None or not self._task.task_id:
                raise CallTimeout(
                    "{asker} did not say which task it began; the work may be under way.", asker=self._terms.asker
                ) from None
            await self._rest(f"{self._terms.asker} is still at work on it.")
        finally:
            self._left_s -= clock.monotonic() - began

    async def _begin(self) -> None:
        """Send the message, by the first way that works."""
        card, connection = self._terms.card, self._terms.connection
        ways = connection.handles(card)
        for number, way in enumerate(ways):
            handle = self._with_ids(way)
            self._task, self._handle = ReadTask(handle.task_id), handle
            if handle.task_id:  # made here: the task can be found again from the moment at which the message leaves
                await self._keep()
            try:
                await self._send(handle, self._message(handle))
            except Unavailable as error:
                if error.effect != "none" or number + 1 == len(ways):
                    raise
            except RemoteAgentError as error:
                follows = ways[number + 1].spoken if number + 1 < len(ways) else ""
                if follows != "legacy" or way.spoken == "legacy" or not is_of_older_server(error):
                    raise
            else:
                if way.spoken == "legacy":
                    connection.know_as_legacy(way.url)
                return

    async def _say(self, message: A2AMessage) -> None:
        assert self._handle is not None
        await self._send(self._handle, message)

    async def _send(self, handle: TaskHandle, message: A2AMessage) -> None:
        connection = self._terms.connection
        if self._terms.card.streams:
            try:
                await self._shown(lambda request: self._listen(connection.send(handle, message, request, streams=True)))
            except RemoteAgentError as error:
                if error.rpc_code != UNSUPPORTED:
                    raise
            else:
                return
        await self._shown(lambda request: self._listen(connection.send(handle, message, request, streams=False)))

    async def _shown(self, ask: Callable[[RequestTerms], Awaitable[T]]) -> T:
        """Ask with what is to be shown now; once more with something new, where the agent does not take that.

        Raises:
            PermissionDenied: it takes neither. Then nothing was done.
        """
        shown = self._terms.request
        request = await shown.now()
        try:
            return await ask(request)
        except PermissionDenied:
            if not shown.refuse():
                raise
            return await ask(await shown.now())

    async def _get(self, handle: TaskHandle) -> A2ATask:
        return await self._shown(lambda request: self._terms.connection.get(handle, request))

    async def _go_on(self) -> None:
        """Find the task again."""
        handle, connection = self._handle, self._terms.connection
        assert handle is not None
        try:
            await self._take(await self._get(handle))
        except (Unavailable, CallTimeout, RateLimited):
            return  # it is asked after again
        except RemoteAgentError as error:
            if handle.spoken != "legacy" or error.rpc_code != UNKNOWN_TASK or self._asked:
                raise
            return await self._begin()  # the process ended before the message left
        if self._terms.card.streams and not self._task.is_settled:
            # A task that ended meanwhile, or an agent that does not take up a stream again: asking tells more.
            with suppress(CallError):
                await self._shown(lambda request: self._listen(connection.subscribe(handle, request)))

    async def _listen(self, stream: AbstractAsyncContextManager[AsyncIterator[A2AEvent]]) -> None:
        """Take in a stream until the task is settled. A stream that breaks once the task is known is not missed."""
        heard = False
        try:
            async with stream as events:
                async for event in events:
                    heard = True
                    await self._take(event)
                    if self._task.is_settled:
                        return
        except (CallTimeout, Unavailable) as error:
            is_begun = heard or (
                error.effect == "unknown" and self._handle is not None and self._handle.spoken == "legacy"
            )
            if not self._task.task_id or not is_begun:
                raise
        if not self._task.task_id:
            raise malformed("it tells neither of a task nor of a message")

    async def _poll(self) -> None:
        """Ask after the task until it is settled."""
        failures, pause = 0, POLL_S[0]
        while not self._task.is_settled:
            await self._terms.clock.sleep(pause)
            pause = min(pause * 1.5, POLL_S[1])
            assert self._handle is not None
            try:
                task = await self._get(self._handle)
            except (Unavailable, CallTimeout, RateLimited):
                failures += 1
                if failures >= FAILURES_MAX:
                    await self._rest(f"{self._terms.asker} can not be reached at the moment.")
                continue
            failures = 0
            await self._take(task)

    async def _take(self, event: A2AEvent) -> None:
        before = self._task.status
        self._is_begun = True
        try:
            self._task.take(event)
        except UnreadableAnswer as problem:
            raise malformed(problem) from None
        handle = self._handle
        assert handle is not None
        if self._task.task_id and (handle.task_id, handle.context_id) != (self._task.task_id, self._task.context_id):
            known = msgspec.structs.replace(handle, task_id=self._task.task_id, context_id=self._task.context_id)
            self._handle = known
            await self._keep()
        if self._task.status != before and not self._task.is_over:
            words = plain(words_of(self._task.status.message))[:PROGRESS_CHARS_MAX]
            self._context.progress({"state": self._task.state, "message": words})
        await self._count_calls()

    def _calls_left(self) -> int | None:
        budget = self._context.budget
        return budget.way_down(shares_calls=True).calls if budget is not None else None

    async def _count_calls(self) -> None:
        """Count the tool calls that the agent tells of for the run of this call, and for all runs above that run.

        No more are counted than are left: an agent that lies can use a limit up, and nothing else.

        Raises:
            BudgetExceeded: a limit that the agent shares is reached; its task is cancelled.
        """
        budget, more = self._context.budget, self._task.calls_used - self._counted
        left = self._calls_left()
        if budget is None or left is None or more <= 0:
            return
        budget.add_for(self._context.key, Used(calls=min(more, left)))
        self._counted += more
        stops_itself = self._granted is not None and self._task.calls_used >= self._granted
        if budget.exhausted() == "calls" and not stops_itself and not self._task.is_over:
            raise BudgetExceeded(
                "{asker} was stopped: with its tool calls the run has made all that it may.",
                limit="calls",
                asker=self._terms.asker,
            )

    # What is kept -----------------------------------------------------------------------------------------------------

    async def _kept(self) -> RestingTask | None:
        handles = self._terms.handles
        return resting_task(await asyncio.to_thread(handles.get, self._context.key)) if handles is not None else None

    async def _keep(self) -> None:
        if self._terms.handles is not None and self._handle is not None:
            await asyncio.to_thread(self._terms.handles.put, self._context.key, self._state().encode())

    async def _forget(self) -> None:
        await self._drop_news()
        if self._terms.handles is not None:
            await asyncio.to_thread(self._terms.handles.forget, self._context.key)

    def _state(self) -> str:
        return dumps(self._resting())

    def _resting(self) -> RestingTask:
        assert self._handle is not None
        return RestingTask(self._handle, self._asked, self._counted, self._granted, self._news)

    async def _rest(self, words: str) -> None:
        """Let the call wait for the task. An answer has the task looked at again: one of a person, or news of the
        agent.

        Raises:
            InputRequired: always, unless the task has been settled meanwhile.
        """
        ask_id = new_id("ask")
        if self._terms.card.pushes and self._terms.news is not None:
            await self._await_news(ask_id)
        if not self._task.is_settled:
            raise rest(self._resting(), self._call, self._terms.asker, words, ask_id)

    async def _await_news(self, ask_id: str) -> None:
        """Have the agent send news that answer a question, and look at the task once more: it may have ended before
        the agent knew where to send news."""
        handle, terms, journal = self._handle, self._terms, self._context.journal
        if handle is None or not handle.task_id or terms.news is None or journal is None:
            return
        await self._drop_news()
        is_told = False
        try:
            opened = await terms.news.open(journal, terms.agent, ask_id=ask_id, tenant=self._context.tenant)
            self._news = opened.kept_id
            async with terms.clock.timeout(NEWS_S):
                await self._shown(lambda request: terms.connection.send_news_to(handle, opened.target, request))
                is_told = True
                await self._take(await self._get(handle))
        except (CallError, JournalError, TimeoutError) as error:  # a person answers, as where there are no news
            log.info("%s sends no news of its task: %s", terms.asker, str(error) or "no answer in time")
        except UsageError as error:
            log.warning("no news of %s are awaited: %s", terms.asker, error)
        if not is_told:
            await self._drop_news()

    async def _drop_news(self) -> None:
        """Await no news at the address that the agent was told of before."""
        dropped, self._news = self._news, ""
        if dropped and self._terms.news is not None and self._context.journal is not None:
            with suppress(JournalError):  # it is forgotten when it is old
                await self._terms.news.close(self._context.journal, dropped)

    async def _cancel(self) -> None:
        """Have the task stop; nobody waits for it any more."""
        if self._handle is None or not self._is_begun or not self._task.task_id or self._task.is_over:
            return

        async def stop(handle: TaskHandle) -> None:
            with suppress(CallError):
                await self._shown(lambda request: self._terms.connection.cancel(handle, request))

        await asyncio.wait([asyncio.ensure_future(stop(self._handle))], timeout=CANCEL_S)

    # What the agent asks ----------------------------------------------------------------------------------------------

    async def _answer(self) -> A2AMessage:
        """The answer of the user to the question of the agent, as the next message of the task.

        Raises:
            InputRequired: nobody can answer now.
            ToolError: the user does not answer.
        """
        handle, status, asker = self._handle, self._task.status, self._terms.asker
        assert handle is not None
        said = plain(words_of(status.message))[:WORDS_MAX]
        question = said or "The agent needs something before it can go on."
        marks = (handle.task_id, status.message.id if status.message else "", str(status.at), said, str(self._asked))
        key = hashlib.sha256("\n".join(marks).encode()).hexdigest()[:32]
        url = _login_page(status.message) if status.state == "auth-required" else ""
        try:
            given = await self._context.elicit(question, None if url else _ANSWER, url=url, asker=asker, key=key)
        except InputRequired as waiting:
            raise InputRequired(waiting.pending, waiting.run_id, self._state()) from None
        if given.action != "accept":
            raise ToolError(
                "The user did not answer {asker}, so its task was cancelled.", effect="unknown", asker=asker
            )
        text = given.content.get("answer")
        return A2AMessage(
            role="user",
            parts=(A2AText(text=text if isinstance(text, str) and text else "Done."),),
            id=_digest("answer", self._context.key, str(self._asked)),
            context_id=handle.context_id,
            task_id=handle.task_id,
        )

    # The message ------------------------------------------------------------------------------------------------------

    def _with_ids(self, way: TaskHandle) -> TaskHandle:
        """The way with the ids that a client of its version makes. They follow from the call, so that they are the same
        for each attempt."""
        conversation = self._call.arguments.get("conversation")
        context_id = conversation if isinstance(conversation, str) else ""
        if way.spoken == "legacy":
            task_id = _digest("task", self._context.key)
            return msgspec.structs.replace(
                way, task_id=task_id, context_id=context_id or _digest("session", self._context.key)
            )
        return msgspec.structs.replace(way, context_id=context_id)

    def _message(self, handle: TaskHandle) -> A2AMessage:
        """The first message of the call.

        Raises:
            ToolError: an attachment is not there.
        """
        given = self._call.arguments
        skill = given.get("skill")
        return A2AMessage(
            role="user",
            parts=(A2AText(text=str(given.get("message", ""))), *self._files(given.get("files"))),
            id=_digest("message", self._context.key),
            context_id=handle.context_id,
            metadata={"skill": skill} if isinstance(skill, str) else {},
        )

    def _files(self, handles: Json) -> list[A2APart]:
        found: list[A2APart] = []
        for handle in handles if isinstance(handles, list) else ():
            part = self._context.attachments.get(str(handle))
            if part is None:
                raise ToolError("There is no attachment {handle!r}.", handle=str(handle)[:100])
            if not part.data and part.url:
                found.append(A2ALink(url=part.url, name=part.name, media_type=part.media_type))
            else:
                found.append(A2ABytes(data=part.data, name=part.name, media_type=part.media_type))
        return found

    # The outcome ------------------------------------------------------------------------------------------------------

    def _outcome(self) -> ToolResult:
        """What the task came to.

        Raises:
            CallError: it failed, was refused or cancelled.
        """
        task, asker = self._task, self._terms.asker
        words = plain(words_of(task.reply or task.status.message))[:WORDS_MAX]
        match task.state:
            case "failed":
                raise ToolError(
                    "{asker} failed: {why}", effect="unknown", asker=asker, why=words or "it does not say why."
                )
            case "rejected":
                raise ToolError("{asker} does not do this: {why}", asker=asker, why=words or "it does not say why.")
            case "canceled":
                raise CallCancelled("{asker} cancelled the task; it may have happened in part.", asker=asker)
            case _:
                pass
        parts = [part for artifact in task.artifacts for part in artifact.parts]
        last = task.reply or task.status.message
        told = {part.text for part in parts if isinstance(part, A2AText)}
        parts += [
            part for part in (last.parts if last else ()) if not (isinstance(part, A2AText) and part.text in told)
        ]
        content = [_content(part) for part in parts]
        structured: Json | UnsetType = UNSET
        if len(parts) == 1 and isinstance(parts[0], A2AData):
            structured = plain_json(parts[0].data)
        if task.context_id:
            content.append(TextPart(f"[conversation: {plain(task.context_id)[:200]}]"))
            wanted = self._call.arguments.get("conversation")
            if isinstance(wanted, str) and wanted not in ("", task.context_id):
                content.append(TextPart("The agent did not go on with the conversation that was asked for."))
        return ToolResult(self._call.id, tuple(content) or (TextPart("Done."),), structured=structured)


def _content(part: A2APart) -> TextPart | MediaPart:
    """A part as content. An address is told as text: nobody is made to fetch it."""
    match part:
        case A2AText():
            return TextPart(plain(part.text))
        case A2AData():
            return TextPart(dumps(plain_json(part.data)))
        case A2ABytes():
            kind = (
                part.media_type if re.fullmatch(r"[\w.+-]+/[\w.+-]+", part.media_type) else "application/octet-stream"
            )
            return MediaPart(kind, data=part.data, name=plain(part.name)[:200])
        case A2ALink():
            return TextPart(f"[file {plain(part.name)[:200]} at {plain(part.url)[:2000]}]")


def _login_page(message: A2AMessage | None) -> str:
    """The page of the web that an agent sends the user to; empty where it names none that is safe to show."""
    links: Sequence[str] = [part.url for part in message.parts if isinstance(part, A2ALink)] if message else []
    for url in [*links, *_LINK.findall(words_of(message))]:
        with suppress(AddressRefused):
            return check_link(url).url
    return ""


def _digest(*words: str) -> str:
    return hashlib.sha256("\n".join(words).encode("utf-8", "surrogatepass")).hexdigest()[:32]
