"""What a tool asks for while it runs: something of the user, an answer of a model, the directories to work in.

If a person is there, that person is asked at once, while the time limits of the call and the run stand still. If nobody
can answer now, the call is parked: the question is on record, and the tool is executed anew when the answer is on
record, too. The questions of a call are recognised by their content, so that a tool which asks the same again finds its
answer.
"""

from __future__ import annotations

import hashlib
import logging
from contextlib import AbstractContextManager
from typing import TypeVar

import msgspec
from msgspec import Struct

from ...core.budget import ZERO, Used
from ...core.call import ToolCall
from ...core.errors import (
    ApprovalDenied,
    BudgetExceeded,
    InvalidResult,
    ToolError,
)
from ...core.interfaces import InputRequired
from ...core.json import Json, JsonObject
from ...core.message import Reply
from ...core.model import Request
from ...core.process.worker_thread import off_loop
from ...core.run.pending import AskedKind, Pending
from ...core.run.record import InputGiven, InputRequested, Sampled
from ...core.secrets.redaction import WORK, RedactedStream
from ...core.token_estimate import with_sound_usage, with_usage
from ...core.tool import Tool
from ...journal.recording import CallRef
from ..limits.attempt_limit import AttemptLimit
from ..scope import RunContext
from .asker import LiveApprover

log = logging.getLogger("actum.tool")

T = TypeVar("T")

_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "notice": logging.INFO, "warning": logging.WARNING}


class LiveToolRequests(Struct, kw_only=True):
    """What one attempt at a call asks for.

    Attributes:
        scope: the run.
        asker: who can be asked now.
        call: the call as it is shown: without secret values.
        tool: what it calls.
        place: where it stands.
        key: its idempotency key.
        limit: the time limit of the attempt.
        count: how often each question was asked in this attempt.
        others: the keys of other calls for which the next question may be meant; see `Context.beside`.
        logged: cleans what the tool tells as to a log; made when it first does.
    """

    scope: RunContext
    asker: LiveApprover
    call: ToolCall
    tool: Tool
    place: CallRef
    key: str
    limit: AttemptLimit
    count: dict[str, int] = msgspec.field(default_factory=dict)
    others: tuple[str, ...] = ()
    logged: RedactedStream | None = None

    async def ask(self, pending: Pending) -> InputGiven:
        """The answer to a question of the running tool.

        Raises:
            InputRequired: there is none now.
        """
        return await self._answer(self._known_by(pending))

    async def _answer(self, pending: Pending) -> InputGiven:
        recording = self.scope.recording
        known = recording.answers.get(pending.id)
        if known is None:
            if not recording.is_known(pending.id):
                self._check_limits(pending)
                self._put_on_record(pending)
            with self.held():
                known = await self.asker.answer(pending)
        if known is None:
            raise InputRequired(pending)
        return known

    def _check_limits(self, pending: Pending) -> None:
        """Before a model or a person is asked something new.

        Raises:
            BudgetExceeded: the call, or the run, or one above, may ask no more.
        """
        scope, state = self.scope, self.scope.recording
        most = scope.limits.requests_per_call
        if most is not None and state.requests_of(self.place) >= most:
            raise BudgetExceeded(
                "One call of a tool may make {most} requests (the setting Limits.requests_per_call).",
                limit="requests_per_call",
                most=most,
            )
        if pending.kind != "sampling":
            most = scope.limits.calls
            if most is not None and state.asked_midway >= most:
                raise BudgetExceeded(
                    "The tools of this run may ask {most} questions (the setting Limits.calls).",
                    limit="calls",
                    most=most,
                )
            return
        most = scope.limits.steps
        if most is not None and len(state.replies) + len(state.sampled) >= most:
            raise BudgetExceeded(
                "This run may ask a model {most} times (the setting Limits.steps).", limit="steps", most=most
            )
        exhausted = scope.budget.exhausted()
        if exhausted:
            raise BudgetExceeded(
                "This run may use no more {exhausted} (the setting Limits.{exhausted}).",
                limit=exhausted,
                exhausted=exhausted,
            )

    def beside(self, keys: tuple[str, ...]) -> None:
        """What is asked next may be meant for these calls as well."""
        self.others = keys

    def held(self) -> AbstractContextManager[None]:
        """A block in which the limit stands still: until the last of several at once is left."""
        return self.limit.held()

    def _known_by(self, pending: Pending) -> Pending:
        """With its id: the same for the same question of the same call, and another when it is asked once more."""
        words = [pending.message, pending.schema, pending.url, pending.request]
        what = msgspec.json.encode([pending.kind, pending.name or words])
        digest = hashlib.sha256(self.key.encode() + what).hexdigest()[:20]
        self.count[digest] = self.count.get(digest, 0) + 1
        if self.count[digest] == 1:
            return msgspec.structs.replace(pending, id=f"ask_{digest}", call=self.call)
        return msgspec.structs.replace(pending, id=f"ask_{digest}_{self.count[digest]}", call=self.call, name="")

    def _put_on_record(self, pending: Pending) -> None:
        asked = msgspec.structs.replace(pending, call=self.call)
        place, version = self.place, self.tool.digest
        self.scope.write(InputRequested(asked, place.cause, place.index, version=version, beside=self.others))

    async def sample(self, request: Request, key: str = "") -> Reply:
        """Have a model answer: the peer's, or the run's own. A tool of another party may only once a person agrees.
        What was answered in an earlier attempt at this call is not asked again.

        Raises:
            InputRequired: nobody can tell now.
            BudgetExceeded: the run, or one above, has used up what it may.
            ApprovalDenied: a person said no.
        """
        if self.scope.peer is None and self.scope.labels is not None:
            request = self.scope.labels.asked_apart(request)
        pending = self._known_by(self._pending("sampling", f"{self.tool.name} asks your model.", request, key))
        known = self.scope.recording.sampled.get(pending.id)
        if known is not None:
            return known
        if not self.scope.recording.is_known(pending.id):
            self._check_limits(pending)
        began = self.scope.clock.monotonic()
        peer, own = self.scope.peer, self.scope.sample
        if peer is not None:
            reply = await peer.sample(request) or await self._given(pending)
        elif own is None:
            raise ToolError("There is no model to ask here.")
        else:
            if self.tool.foreign:
                await self._agreed(pending)
            reply = with_sound_usage(await own(request))
            if self.scope.counts_tokens:
                reply = with_usage(reply, request.messages)
        await self._put_sample_on_record(pending, reply, self.scope.clock.monotonic() - began)
        return reply

    async def _agreed(self, pending: Pending) -> InputGiven:
        answer = await self._answer(pending)
        if answer.verdict not in ("approve", "answer"):
            raise ApprovalDenied(f"The model may not be asked. {answer.text}".rstrip())
        return answer

    async def _given(self, pending: Pending) -> Reply:
        return _converted((await self._agreed(pending)).arguments, Reply)

    def _pending(self, kind: AskedKind, message: str, request: Request | None = None, key: str = "") -> Pending:
        said: JsonObject | None = msgspec.to_builtins(request) if request is not None else None
        return Pending("", kind, message, self.call, request=said, name=key)

    async def _put_sample_on_record(self, pending: Pending, reply: Reply, seconds: float) -> None:
        scope, place = self.scope, self.place
        cost = scope.price.of(reply.usage) if scope.price is not None and scope.peer is None else ZERO
        said = pending.request or {}
        if scope.recording.secrets:
            known = frozenset(scope.recording.secrets)
            said = await off_loop(WORK * len(msgspec.json.encode(said)), scope.redaction.fields_of, said, known)
        elapsed = scope.elapsed()
        sampled = Sampled(place.cause, place.index, pending.id, said, reply, seconds, elapsed, cost, self.others)
        scope.write(sampled)
        if scope.peer is None:
            scope.budget.add_for(self.key, Used(tokens=reply.usage.total_tokens, cost=cost, usage=reply.usage))

    async def roots(self, key: str = "") -> tuple[str, ...]:
        """The directories of the other end; none where there is no other end.

        Raises:
            InputRequired: nobody can tell now.
        """
        if self.scope.peer is None:
            return ()
        told = await self.scope.peer.roots()
        if told is not None:
            return tuple(told)
        answer = await self.ask(
            self._pending("roots", f"{self.tool.name} asks for the directories to work in.", key=key)
        )
        return _converted((answer.arguments or {}).get("roots", []), tuple[str, ...])

    def log(self, level: str, message: Json) -> None:
        """Pass on what the tool tells of itself, without secrets."""
        if self.logged is None:
            self.logged = self.scope.redaction.stream(self.scope.told)
        clean = self.logged.value(message)
        if self.scope.labels is not None:
            clean = self.scope.labels.logged(clean)
        if self.scope.peer is not None:
            self.scope.peer.log(level, clean)
        else:
            log.log(_LEVELS.get(level, logging.ERROR), "%s: %s", self.tool.name, clean)


def _converted(value: Json, kind: type[T]) -> T:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as wrong:
        raise InvalidResult(
            "What was answered is not what the tool asked for: {why}", effect="none", why=wrong
        ) from None
