"""A task as it goes on: its events out of the journal, and the words of its answer while the model says them.

Any process can follow any task: what is new in the journal is asked for five times a second, or as soon as something
happens, where this process carries the run out. Words come while they are said only here. They are chunks of the
artifact `answer`; when it turns out that they were not the answer (the model goes on to call a tool), the next chunk
replaces them. Each chunk costs what it says, however long the answer is.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable

from msgspec import Struct

from ...core.event import CallFinished, Event, ReplyFinished, TextDelta
from ...core.interfaces import Clock, Journal
from ...journal.follow import POLL_S
from ...protocols.a2a.model import A2AArtifact, A2AArtifactUpdate, A2AEvent, A2AText
from ...runs.other_values import know_others
from ..api.work import RunJob
from .fold import ANSWER, TaskFold


class Told(Struct, frozen=True):
    """An event, and up to which entry of the run a client that has it knows the run; -1 where that is not sure."""

    event: A2AEvent
    number: int = -1


class TaskListener:
    """Hears what happens in a run that this process carries out.

    Args:
        replies: how many replies of the model are on record when the run is begun, or gone on with.

    Attributes:
        wake: set when there is something new.
        is_dirty: something may have been written to the journal.
        labels: those of the results that came meanwhile. The words behind such a result may repeat its values.
    """

    def __init__(self, replies: int) -> None:
        self.wake = asyncio.Event()
        self.is_dirty = True
        self.labels: set[str] = set()
        self._reply = replies
        self._words: dict[int, list[str]] = {}

    def hear(self, event: Event) -> None:
        """Take in an event of the run."""
        match event:
            case TextDelta(text):
                if text:
                    self._words.setdefault(self._reply, []).append(text)
            case ReplyFinished():
                self._reply += 1
                self.is_dirty = True
            case CallFinished(result=result):
                self.labels.update((*result.labels.values(), *result.seen))
                self.is_dirty = True
            case _:
                self.is_dirty = True
        self.wake.set()

    def poke(self) -> None:
        """Have the one who listens look again."""
        self.is_dirty = True
        self.wake.set()

    def words(self, reply: int) -> str:
        """What was said in a reply since this was last asked. What earlier replies said is dropped."""
        for older in [each for each in self._words if each < reply]:
            del self._words[older]
        return "".join(self._words.pop(reply, ()))


class LiveTasks:
    """Who listens to which of the runs that this process carries out."""

    def __init__(self) -> None:
        self._listeners: dict[str, set[TaskListener]] = {}
        self.is_ending = False

    def listen(self, run_id: str, replies: int = 0) -> TaskListener:
        """Begin to listen to a run; `leave` ends it. The arguments are those of `TaskListener`."""
        listener = TaskListener(replies)
        self._listeners.setdefault(run_id, set()).add(listener)
        return listener

    def leave(self, run_id: str, listener: TaskListener) -> None:
        """Listen no longer."""
        known = self._listeners.get(run_id)
        if known is not None:
            known.discard(listener)
            if not known:
                del self._listeners[run_id]

    def emitter(self, run_id: str, emit: Callable[[Event], None]) -> Callable[[Event], None]:
        """A function that is told each event of a run, and passes it to `emit` and to all listeners."""

        def tell(event: Event) -> None:
            emit(event)
            for listener in self._listeners.get(run_id, ()):
                listener.hear(event)

        return tell

    def end(self) -> None:
        """End all streams."""
        self.is_ending = True
        for listeners in self._listeners.values():
            for listener in listeners:
                listener.poke()


class AnswerChunks:
    """The words of an answer as chunks of an artifact. The latest words are held back, so that the last chunk is known
    to be the last."""

    def __init__(self, fold: TaskFold) -> None:
        self._fold = fold
        self._sent = ""
        self._held = ""
        self._reply = -1

    def add(self, words: str) -> list[Told]:
        """More words of the reply that is said now."""
        if self._reply != self._fold.replies:
            self._reply, self._sent, self._held = self._fold.replies, "", ""
        told = self._tell(self._held, is_last=False) if self._held else []
        self._held = words
        return told

    def close(self, event: A2AArtifactUpdate) -> list[Told]:
        """The whole answer is there: what is still to be told of it."""
        parts = event.artifact.parts
        whole = parts[0].text if len(parts) == 1 and isinstance(parts[0], A2AText) else None
        if whole is None or not self._sent or self._sent + self._held != whole or not self._held:
            return [Told(event)]
        return self._tell(self._held, is_last=True)

    def _tell(self, words: str, *, is_last: bool) -> list[Told]:
        fold = self._fold
        chunk = A2AArtifactUpdate(
            task_id=fold.run_id,
            context_id=fold.context_id,
            artifact=A2AArtifact(id=ANSWER, name=ANSWER, parts=(A2AText(text=words),)),
            append=bool(self._sent),
            last_chunk=is_last,
        )
        self._sent += words
        return [Told(chunk)]


class FollowedTask:
    """A task that somebody follows.

    Args:
        fold: the task; it is taken further.
        journal: may be written to by another process.
        clock: says when to look again.
        live: the tasks under way in this process.
        job: the job that carries the run out in this process now; None where there is none.
        tenant: the tenant on whose behalf the run is followed.
        listener: has listened since before the run was begun or gone on with, so that no word is missing; None where
            words are not told before they are on record.
    """

    def __init__(
        self,
        fold: TaskFold,
        journal: Journal,
        clock: Clock,
        live: LiveTasks,
        job: Callable[[], RunJob | None],
        *,
        tenant: str,
        listener: TaskListener | None = None,
    ) -> None:
        self._fold, self._journal, self._clock, self._live, self._job = fold, journal, clock, live, job
        self._tenant = tenant
        self._tells_words = listener is not None
        self._listener = listener if listener is not None else live.listen(fold.run_id)
        self._chunks = AnswerChunks(fold)

    async def events(self) -> AsyncGenerator[Told, None]:
        """What happens from where the fold stands, until the task has ended, waits for its client, or is carried out by
        nobody.
        """
        fold, own = self._fold, self._listener
        watched: RunJob | None = None
        try:
            while not self._live.is_ending:
                running = self._job()
                if running is not None and running is not watched:
                    watched = running
                    running.task.add_done_callback(lambda _: own.poke())
                own.wake.clear()
                for told in await self._news(is_alone=running is None):
                    yield told
                if fold.is_settled or not await self._more_comes(running):
                    return
        finally:
            self._live.leave(fold.run_id, own)

    async def _more_comes(self, running: RunJob | None) -> bool:
        """Wait until there may be something new; False where nobody carries the run out."""
        if running is not None:
            if not running.task.done():
                await self._listener.wake.wait()
            return True
        run_id = self._fold.run_id
        if not await self._journal.driven([run_id]):
            return self._job() is not None or bool(await self._journal.read(run_id, self._fold.seen))
        await self._clock.sleep(POLL_S)
        return True

    async def _news(self, *, is_alone: bool) -> list[Told]:
        """What is new on record, and the words that were said since."""
        fold, own, told = self._fold, self._listener, list[Told]()
        is_dirty, own.is_dirty = own.is_dirty, False
        if is_dirty or is_alone:
            entries = await self._journal.read(fold.run_id, fold.seen, tenant=self._tenant)
            await know_others(fold.mask, self._journal, fold.run_id, entries)
            told += self._words()  # they were said before the entries that may hold the whole reply
            for entry in entries:
                for event in fold.take(entry):
                    if isinstance(event, A2AArtifactUpdate) and event.artifact.id == ANSWER:
                        told += self._chunks.close(event)
                    else:
                        told.append(Told(event, entry.number))
        return told + self._words()

    def _words(self) -> list[Told]:
        """What was said of the reply that is under way. Words that may repeat a value that is hidden from the client
        are told when they are on record, without the value."""
        fold, mask = self._fold, self._fold.mask
        if mask.has_hidden or mask.hides(self._listener.labels):
            return []
        if self._tells_words and not fold.is_settled and (words := self._listener.words(fold.replies)):
            return self._chunks.add(words)
        return []
