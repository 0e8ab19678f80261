"""The run that calls are made for: what its path, and what asks persons on its behalf, need to know of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import count

import msgspec
from msgspec import Struct

from ..core.budget import Budget, Price
from ..core.call import MediaPart, TextPart, ToolResult
from ..core.event import Event
from ..core.holder import Holder
from ..core.interfaces import Clock, Journal, Peer
from ..core.json import whole_text
from ..core.message import Message, Reply
from ..core.model import Request
from ..core.run.record import CallsRequested, Record
from ..core.secrets.redaction import DEFAULT_REDACTION, Redaction
from ..journal.recording import RunState
from ..policy.labels import Labelling
from .limits.limits import Limits


class RunContext(Struct, kw_only=True):
    """The run that calls are made for.

    Attributes:
        run_id: the id of the run.
        journal: where the run is written down.
        clock: the time of the run.
        recording: what was on record when the run was taken up.
        began: when the run was taken up, by the monotonic clock, less the seconds that the run had already used.
        epoch: what the wall clock showed when the monotonic one was at 0, by all that was known when the run was taken
            up.
        deps: the program's own object for tools.
        attachments: the media that tools can be handed, by handle.
        emit: is told each event of the run; None when nobody watches.
        secrets: the secrets that tools may ask for.
        redaction: what is kept out of results.
        told: the secrets that tools were given in this run.
        heard: the conversation, to look up where an argument came from.
        begins: the index in `heard` of the first message of the run itself.
        instructions: as for `OriginIndex`.
        requested: the calls that were asked for directly, to look up where an argument came from.
        budget: what the run has used.
        peer: the program at the other end of the run, where tools may turn to it.
        limits: the limits of the run.
        sample: has the run's own model answer a tool.
        price: the price of the run's model, where it is known.
        asks_mandates: the model may be asked what the user's words empower the agent to do.
        counts_tokens: something limits the tokens of the run, so that they are estimated where an endpoint tells none.
        limit: ends the run when its time is over, while it waits for something.
        trace: id of the trace that the run belongs to.
        labels: the labelled values of the conversation; None where no labels are declared.
        holder: for whom toolsets keep sessions open between calls.
    """

    run_id: str
    journal: Journal
    clock: Clock
    recording: RunState
    began: float
    epoch: float = 0.0
    deps: object = None
    attachments: dict[str, MediaPart] = {}
    emit: Callable[[Event], None] | None = None
    secrets: Mapping[str, str] = {}
    redaction: Redaction = DEFAULT_REDACTION
    told: set[str] = msgspec.field(default_factory=set)
    heard: Sequence[Message] = ()
    begins: int = 0
    instructions: Mapping[str, str] = {}
    requested: Sequence[CallsRequested] = ()
    budget: Budget = msgspec.field(default_factory=Budget)
    peer: Peer | None = None
    limits: Limits = Limits()
    sample: Callable[[Request], Awaitable[Reply]] | None = None
    asks_mandates: bool = False
    price: Price | None = None
    counts_tokens: bool = False
    limit: asyncio.Timeout | None = None
    trace: str = ""
    holder: Holder | None = None
    labels: Labelling | None = None

    def write(self, record: Record) -> int:
        """Put a record on the run's record, and take it into the state of the run.

        Returns:
            The number of its entry.

        Raises:
            TypeError, ValueError, RecursionError: the record holds a value that can not be written down.
        """
        number = self.journal.append(self.run_id, record)
        self.recording.take(number, record)
        return number

    def keep_media(self, result: ToolResult) -> ToolResult:
        """The result with a handle for each picture, sound or file in it, by which other tools can be handed them.

        A handle that a tool wrote itself counts for nothing: it could be that of another attachment.
        """
        if not any(isinstance(part, MediaPart) for part in result.content):
            return result
        content: list[TextPart | MediaPart] = []
        for part in result.content:
            if isinstance(part, MediaPart):
                free = (handle for number in count(1) if (handle := f"att_{number}") not in self.attachments)
                part = msgspec.structs.replace(part, handle=next(free), name=whole_text(part.name))  # noqa: PLW2901
                self.attachments[part.handle] = part
            content.append(part)
        return msgspec.structs.replace(result, content=tuple(content))

    def elapsed(self) -> float:
        """Seconds that the run has taken, without the time it was paused."""
        return self.clock.monotonic() - self.began

    def now(self) -> float:
        """Seconds since 1970, for what may outlast this process, such as an approval: never before the latest entry of
        the run, though the wall clock was set back.
        """
        return max(self.clock.now(), self.epoch + self.clock.monotonic())
