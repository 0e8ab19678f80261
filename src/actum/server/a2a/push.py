"""News of tasks that are pushed to addresses, until each has arrived or a day has passed.

The journal is the outbox: for each address it is kept up to which entry of the run its news have arrived. So no news is
lost when a process is killed. A process that is killed between the answer of the receiver and the note of it sends the
same news again.

News are what a stream of the same version tells; for versions before 1.0 they are the task. They go through the guard
of addresses, on a connection to the very address that the guard looked at, and no redirect is followed. The header
`X-A2A-Notification-Signature` holds a JWT with the SHA-256 of the body, signed by the key of the cards; it is also the
`Authorization` where the receiver named no authentication of its own.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial

import msgspec
from a2a.compat.v0_3 import conversions
from a2a.utils.errors import InvalidParamsError, TaskNotFoundError
from google.protobuf.json_format import MessageToDict
from msgspec import Struct

from ...core.errors import Busy, JournalError, UsageError
from ...core.interfaces import Clock, Journal
from ...core.json import JsonObject
from ...core.process.tenant import acting_for
from ...core.run.ids import new_id
from ...core.run.record import Entry
from ...core.secrets.store import SecretStore, SecretValue
from ...core.stored.kept_object import OPEN_NEWS, KeptObject
from ...core.user import User
from ...journal.recording import RunState
from ...policy.labels import Label
from ...policy.record_mask import reader_mask
from ...protocols.a2a.legacy import encode_task
from ...protocols.a2a.model import A2AEvent, A2APushTarget
from ...runs.other_values import know_others
from ...tasks.webhook import AT_ONCE, BACKOFF, GIVEN_UP_S
from ...transport.fetcher import Fetcher
from ...transport.guard import Guard
from ...transport.http import HttpFailure
from .fold import TaskFold
from .service import A2ARequest, Form
from .signing import CardKey
from .wire import stream_response, task_to_proto

log = logging.getLogger("actum.server.a2a")

POLL_S = 0.5
LOOK_S = 10.0
"""Seconds between two looks whether a task without news is still carried out."""
TARGETS_MAX = 20
"""The most addresses of a task."""
TOKEN_CHARS_MAX = 4_096
TOKEN_HEADER = "x-a2a-notification-token"  # the name of a header
SIGNATURE_HEADER = "x-a2a-notification-signature"
_OWNER = "a2a"
_TARGET, _OPEN = "a2a_push", OPEN_NEWS


class KeptTarget(Struct, frozen=True, kw_only=True):
    """Where news of a task are pushed, as it is kept. The credentials lie in the store of secrets.

    Attributes:
        target: the address, without its credentials.
        run_id: the task.
        form: the version of the protocol.
        client_id: what the client calls the task, where the client makes ids.
        tenant, principal: whose task it is.
        is_structured: the agent answers with JSON.
        has_credentials: whether there are credentials.
    """

    target: A2APushTarget
    run_id: str
    form: Form
    client_id: str
    tenant: str
    principal: str
    is_structured: bool
    has_credentials: bool


class PushProgress(Struct, frozen=True, kw_only=True):
    """How far the news of an address have arrived.

    Attributes:
        run_id: the task.
        seen: the number of the last entry whose news have arrived.
        tries: how often the next news were tried.
        due: the next try begins then at the earliest.
        since: when the next news were tried first; 0 where they were not.
    """

    run_id: str
    seen: int = -1
    tries: int = 0
    due: float = 0.0
    since: float = 0.0


class PushTargets:
    """Where news are pushed.

    Args:
        journal: keeps the addresses beside the runs.
        guard: which addresses may be reached.
        clock: the time.
        secrets: keeps credentials; None where none can be kept.
        is_structured: whether the agent of a request answers with JSON.
    """

    def __init__(
        self,
        journal: Journal,
        guard: Guard,
        clock: Clock,
        secrets: SecretStore | None,
        is_structured: Callable[[A2ARequest], Awaitable[bool]],
    ) -> None:
        self._objects = journal.objects
        self._guard = guard
        self._clock = clock
        self._secrets = secrets
        self._is_structured = is_structured

    def check(self, target: A2APushTarget) -> None:
        """Raises:
        InvalidParamsError: news can not be pushed there.
        """
        if len(target.token) > TOKEN_CHARS_MAX or not (target.token.isascii() and _is_header(target.token)):
            raise InvalidParamsError("token: this can not be sent in a header")
        if target.schemes and not _is_header(target.schemes[0] + target.credentials):
            raise InvalidParamsError("authentication: this can not be sent in a header")
        if target.credentials and self._secrets is None:
            raise InvalidParamsError("authentication.credentials: this server has no place to keep them")
        try:
            self._guard.judge(target.url)
        except (HttpFailure, UsageError, ValueError):
            raise InvalidParamsError("url: news may not be pushed to this address") from None

    async def set(self, asked: A2ARequest, run_id: str, target: A2APushTarget, client_id: str = "") -> A2APushTarget:
        """Push news of a task to an address from now on; an address of the same name is replaced.

        Raises:
            InvalidParamsError: news can not be pushed there, or there are too many addresses.
        """
        self.check(target)
        known = await self._kept(run_id)
        if not target.id:
            target = msgspec.structs.replace(target, id=new_id("push"))
        if target.id not in [each.target.id for each in known] and len(known) >= TARGETS_MAX:
            raise InvalidParamsError(f"a task has at most {TARGETS_MAX} addresses for its news")
        name, user = _name(run_id, target.id), asked.who.user
        if target.credentials and self._secrets is not None:
            try:
                self._secrets.set(name, SecretValue(target.credentials), user)
            except UsageError:
                raise InvalidParamsError("authentication.credentials: they can not be kept here") from None
        kept = KeptTarget(
            target=msgspec.structs.replace(target, credentials=""),
            run_id=run_id,
            form=asked.form,
            client_id=client_id,
            tenant=user.tenant,
            principal=user.principal,
            is_structured=await self._is_structured(asked),
            has_credentials=bool(target.credentials),
        )
        await self._put(_TARGET, name, kept, run_id)
        await self._put(_OPEN, f"{name}.open", PushProgress(run_id=run_id))
        return kept.target

    async def get(self, asked: A2ARequest, run_id: str, id_: str) -> A2APushTarget:
        """An address of a task; the first where none is named.

        Raises:
            TaskNotFoundError: there is no such address.
        """
        for kept in await self._kept(run_id):
            if id_ in ("", kept.target.id):
                return kept.target
        raise TaskNotFoundError("There is no such address for news of this task.")

    async def all_of(self, asked: A2ARequest, run_id: str) -> Sequence[A2APushTarget]:
        """All addresses of a task."""
        return [kept.target for kept in await self._kept(run_id)]

    async def delete(self, asked: A2ARequest, run_id: str, id_: str) -> None:
        """Push no more news there; an address that is not there is no error."""
        await self.forget(run_id, id_)

    async def forget(self, run_id: str, id_: str) -> None:
        """Forget an address and its credentials."""
        name = _name(run_id, id_)
        for kept in await self._kept(run_id):
            if kept.target.id == id_ and kept.has_credentials and self._secrets is not None:
                with suppress(UsageError):
                    self._secrets.remove(name, User(kept.tenant, kept.principal))
        await self._objects.delete(_OWNER, name)
        await self._objects.delete(_OWNER, f"{name}.open")

    def credentials(self, kept: KeptTarget) -> str:
        """The credentials of an address."""
        if not kept.has_credentials or self._secrets is None:
            return ""
        found = self._secrets.get(_name(kept.run_id, kept.target.id), User(kept.tenant, kept.principal))
        return found.reveal() if found is not None else ""

    async def _kept(self, run_id: str) -> list[KeptTarget]:
        found = await self._objects.find(_OWNER, _TARGET, run_id)
        return [msgspec.json.decode(each.payload, type=KeptTarget) for each in found]

    async def open(self) -> list[tuple[str, PushProgress]]:
        """What has news still to come: the name of each address, and how far it is."""
        found = await self._objects.find(_OWNER, _OPEN)
        return [(each.id.removesuffix(".open"), msgspec.json.decode(each.payload, type=PushProgress)) for each in found]

    async def at(self, name: str, run_id: str) -> tuple[KeptTarget, PushProgress] | None:
        """An address and how far its news are; None where it is not there any more."""
        kept = await self._objects.find(_OWNER, _TARGET, run_id, name)
        progress = await self._objects.find(_OWNER, _OPEN, "", f"{name}.open")
        if not kept or not progress:
            return None
        return (
            msgspec.json.decode(kept[0].payload, type=KeptTarget),
            msgspec.json.decode(progress[0].payload, type=PushProgress),
        )

    async def note(self, name: str, progress: PushProgress | None) -> None:
        """Note how far the news of an address are; None where none are to come."""
        if progress is None:
            await self._objects.delete(_OWNER, f"{name}.open")
        else:
            await self._put(_OPEN, f"{name}.open", progress)

    async def _put(self, kind: str, name: str, payload: Struct, parent: str = "") -> None:
        encoded = msgspec.json.encode(payload)
        at = self._clock.now()
        await self._objects.put(KeptObject(id=name, owner=_OWNER, kind=kind, parent=parent, at=at, payload=encoded))


class PushSender:
    """Pushes news. Each process that serves may run a sender: a claim keeps two from sending the same news.

    Args:
        targets: where news are pushed.
        journal: where the runs are on record.
        fetcher: sends requests through the guard of addresses.
        key: signs news.
        jku: the address of the JWK set of the key; empty where the server does not know its own address.
        clock: the time.
        revive: goes on with a run whose process has ended.
        labels: what the labels of values mean: an address is told what the user of the task may see, by the roles with
            which the task was begun.
    """

    def __init__(
        self,
        targets: PushTargets,
        journal: Journal,
        fetcher: Fetcher,
        key: Callable[[], Awaitable[CardKey]],
        jku: str,
        *,
        clock: Clock,
        revive: Callable[[str], Awaitable[None]],
        labels: Mapping[str, Label],
    ) -> None:
        self._labels = labels
        self._targets = targets
        self._journal = journal
        self._fetcher = fetcher
        self._key = key
        self._jku = jku
        self._clock = clock
        self._revive = revive
        self._jobs: dict[str, asyncio.Task[None]] = {}
        self._looked: dict[str, float] = {}

    async def run(self) -> None:
        """Push news until this is cancelled."""
        try:
            while True:
                with suppress(JournalError):
                    await self._begin()
                await self._clock.sleep(POLL_S)
        finally:
            jobs = list(self._jobs.values())
            for job in jobs:
                job.cancel()
            if jobs:
                await asyncio.wait(jobs)

    async def _begin(self) -> None:
        now = self._clock.now()
        found = await self._targets.open()
        held = await self._journal.held.which([progress.run_id for _, progress in found])
        found = [(name, progress) for name, progress in found if progress.run_id not in held]
        names = {name for name, _ in found}
        self._looked = {name: at for name, at in self._looked.items() if name in names}
        for name, progress in found:
            if name in self._jobs or len(self._jobs) >= AT_ONCE or progress.due > now:
                continue
            job = self._jobs[name] = asyncio.create_task(self._tried(name, progress.run_id), name=f"push {name}")
            job.add_done_callback(partial(self._done, name))

    def _done(self, name: str, job: asyncio.Task[None]) -> None:
        self._jobs.pop(name, None)
        if not job.cancelled() and (error := job.exception()) is not None:
            log.error("news of a task could not be pushed", exc_info=error)

    async def _tried(self, name: str, run_id: str) -> None:
        with suppress(Busy, JournalError):
            if self._clock.monotonic() - self._looked.get(name, -LOOK_S) >= LOOK_S:
                self._looked[name] = self._clock.monotonic()
                await self._revive(run_id)
            found = await self._targets.at(name, run_id)
            if found is None or await self._journal.read(run_id, found[1].seen):
                self._looked.pop(name, None)
                async with self._journal.claim(name):
                    await self._push(name, run_id)

    async def _push(self, name: str, run_id: str) -> None:
        """Push all news that there are."""
        found = await self._targets.at(name, run_id)
        if found is None:
            return
        kept, progress = found
        try:
            entries = await self._journal.read(run_id)
            if not entries or not entries[0].payload:
                await self._targets.forget(run_id, kept.target.id)
                return
            started = RunState(entries[:1]).beginning()
            mask = reader_mask(self._labels, started.principal, started.roles)
            await know_others(mask, self._journal, run_id, entries)
            fold = TaskFold(run_id, mask, is_structured=kept.is_structured)
            for entry in entries:
                events = fold.take(entry)
                if entry.number <= progress.seen or not events:
                    continue
                for body in self._bodies(kept, fold, events, entry):
                    if not await self._post(kept, body):
                        await self._put_off(name, progress)
                        return
                progress = PushProgress(run_id=run_id, seen=entry.number)
                await self._targets.note(name, progress)
        except JournalError:
            await self._targets.note(name, None)
            return
        if fold.is_over:
            await self._targets.note(name, None)

    async def _put_off(self, name: str, progress: PushProgress) -> None:
        now = self._clock.now()
        since = progress.since or now
        if now - since > GIVEN_UP_S:
            log.info("news of task %s were given up", progress.run_id)
            await self._targets.note(name, None)
            return
        due = now + BACKOFF.delay_s(progress.tries + 1, name)
        later = msgspec.structs.replace(progress, tries=progress.tries + 1, due=due, since=since)
        await self._targets.note(name, later)

    def _bodies(self, kept: KeptTarget, fold: TaskFold, events: Sequence[A2AEvent], entry: Entry) -> list[JsonObject]:
        if kept.form == "1.0":
            return [MessageToDict(stream_response(event)) for event in events]
        if kept.form == "0.3":
            told = conversions.to_compat_task(task_to_proto(fold.task()))
            return [told.model_dump(mode="json", by_alias=True, exclude_none=True)]
        return [encode_task(fold.task(), task_id=kept.client_id)]

    async def _post(self, kept: KeptTarget, body: JsonObject) -> bool:
        """Push one of the news; whether it has arrived."""
        content = msgspec.json.encode(body)
        claims: JsonObject = {
            "iat": int(self._clock.now()),
            "request_body_sha256": hashlib.sha256(content).hexdigest(),
            "task": kept.client_id or kept.run_id,
        }
        signed = (await self._key()).sign_claims(claims, self._jku)
        headers = {
            "content-type": "application/a2a+json" if kept.form == "1.0" else "application/json",
            "user-agent": "actum",
            SIGNATURE_HEADER: signed,
        }
        if kept.target.token:
            headers[TOKEN_HEADER] = kept.target.token
        scheme = kept.target.schemes[0] if kept.target.schemes else ""
        credentials = self._targets.credentials(kept)
        headers["authorization"] = f"{scheme} {credentials}" if scheme and credentials else f"Bearer {signed}"
        try:
            with acting_for(kept.tenant):
                answer = await self._fetcher.send(
                    "POST", kept.target.url, headers=headers, body=content, redirects="none", head_only=True
                )
        except (HttpFailure, UsageError, ValueError):
            return False
        return 200 <= answer.status < 300


def _name(run_id: str, id_: str) -> str:
    """The name of an address; made so that the id, which a client chose, names nothing else."""
    return f"{run_id}-push-{hashlib.sha256(id_.encode()).hexdigest()[:32]}"


def _is_header(text: str) -> bool:
    return all(" " <= sign <= "~" for sign in text)
