"""What is kept of a request for a model that was passed on to an upstream, one line each, and what has to keep it.

A passed-through request is no run: nothing is decided and no tool is called here. So it leaves one line and not a
sequence of records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Literal, Protocol, get_args

from msgspec import Struct

from ..errors import ContextOverflow, ModelError, ModelGarbled
from ..trace import trace_id

PassedEnd = Literal["answered", "refused", "broke_off", "client_left"]
"""How a passed-through request ended: with an answer; with an error instead of an answer; with an error in the middle
of a stream; or the client hung up."""


Trouble = Literal["unreachable", "trouble", "rate_limit", "garbled", "key", "unknown_model", "context"]
"""Why an upstream has given no answer: no connection or silence; a status of 500 and above; 429; an answer that is none
of its API; the upstream does not accept the key of this server; it knows no such model; the conversation is too long
for its model."""
ALL_TROUBLE: tuple[Trouble, ...] = get_args(Trouble)
_BY_STATUS: Mapping[int, Trouble] = {
    401: "key",
    402: "key",
    403: "key",
    404: "unknown_model",
    408: "trouble",
    425: "trouble",
    429: "rate_limit",
}


def trouble_of(error: ModelError, status: int | None) -> Trouble | None:
    """Why an upstream has given no answer; None where the request itself is wrong, so that no other upstream is asked.

    Args:
        error: what was raised.
        status: the HTTP status of its answer; None where none came.
    """
    if isinstance(error, ContextOverflow):
        return "context"
    if status is None:
        return "garbled" if isinstance(error, ModelGarbled) else "unreachable"
    if status < 400:
        return "garbled"
    return _BY_STATUS.get(status, "trouble" if status >= 500 else None)


class PassedRequest(Struct, frozen=True, kw_only=True):
    """One request that was passed on.

    Attributes:
        at: when the request came, in seconds since 1970.
        request_id: the id of the request in the log.
        tenant, principal, key_id: who made the request.
        surface: the API that the client asked, such as `chat` or `messages`.
        model: the name of the model in the settings.
        asked: the name of the model as the client wrote it.
        upstream: the name of the upstream that answered, or was asked last; empty where none was asked.
        tried: how many upstreams were asked.
        end: how the request ended.
        status: the HTTP status of the answer to the client; 0 where the client had hung up before.
        input_tokens, output_tokens, cached_tokens, cache_written_tokens: as the upstream told them.
        estimated: the upstream did not tell all of them, and some are estimated; see `core.token_estimate`.
        cost: what the tokens cost, by the prices of the settings; None where no price is set.
        seconds: how long all of it took.
        first_s: how long it took until the first byte of the answer went out.
        request_body, answer_body: what was said, where the operator wants that kept; else empty.
        trace: the `traceparent` that came with the request; empty where none came.
        response_model: the model that answered, by its own name; empty where it did not tell.
        finish_reasons: why the model stopped, in the word of its API, one for each choice.
    """

    at: float
    request_id: str
    tenant: str = ""
    principal: str = ""
    key_id: str = ""
    surface: str
    model: str
    asked: str
    upstream: str = ""
    tried: int = 0
    end: PassedEnd
    status: int
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cache_written_tokens: int = 0
    cost: Decimal | None = None
    seconds: float
    first_s: float = 0.0
    request_body: bytes = b""
    answer_body: bytes = b""
    trace: str = ""
    response_model: str = ""
    finish_reasons: tuple[str, ...] = ()
    estimated: bool = False

    @property
    def trace_id(self) -> str:
        """The trace that the request belongs to: that of its caller, or its own."""
        return trace_id(passed_key(self.request_id, self.at), self.trace)


def passed_key(request_id: str, at: float) -> str:
    """What the id of the span of a passed-through request is made of.

    Args:
        request_id: of the request; a client may have chosen the id, so that the id alone names no request.
        at: when the request came, in seconds since 1970.
    """
    return f"passed {request_id} {at!r}"


class PassedSum(Struct, frozen=True, kw_only=True):
    """What the requests of one key for one model came to, at one upstream.

    Attributes:
        tenant, key_id, principal, model, upstream: what was summed up.
        requests: how many there were.
        failed: how many of them did not end with an answer.
        input_tokens, output_tokens: of all of them.
        estimated: of how many of them these are estimated, since the upstream did not tell.
        cost: of those whose cost is known; None where no cost is known.
        seconds: how long they took on average.
    """

    tenant: str
    key_id: str
    principal: str
    model: str
    upstream: str
    requests: int
    failed: int
    input_tokens: int
    output_tokens: int
    cost: Decimal | None
    seconds: float
    estimated: int = 0


class PassedRequests(Protocol):
    """A place that keeps lines of passed-through requests."""

    def add(self, line: PassedRequest) -> None:
        """Keep a line. Nobody waits until it is written."""

    async def ready(self) -> None:
        """Whether lines can be kept. Lines that could not be written are tried again.

        Raises:
            JournalError: they can not.
        """

    async def sums(self, since: float, until: float) -> list[PassedSum]:
        """The lines of a time, summed up by key, model and upstream; the most requests first.

        Args:
            since, until: in seconds since 1970; the end is left out.

        Raises:
            JournalError: they can not be read.
        """

    def note_unsent(self) -> None:
        """Note of each line that is kept from now on, in one transaction with the line, that its span is to be sent."""

    async def unsent(self, limit: int) -> Sequence[tuple[int, PassedRequest]]:
        """The oldest lines whose spans were not sent, each with its place.

        Args:
            limit: the most lines that are returned.

        Raises:
            JournalError: the lines can not be read.
        """

    async def sent(self, places: Sequence[int]) -> None:
        """The spans of these lines are not to be sent any more.

        Args:
            places: of the lines.

        Raises:
            JournalError: that can not be written.
        """

    async def count_unsent(self) -> int:
        """How many lines there are whose spans were not sent.

        Raises:
            JournalError: the lines can not be read.
        """

    async def drop_unsent(self, most: int) -> int:
        """Where the spans of more lines than these wait, those of the oldest are not sent; how many these were.

        Args:
            most: the most lines whose spans wait.

        Raises:
            JournalError: that can not be written.
        """

    async def lines(self, since: float, until: float, limit: int) -> Sequence[PassedRequest]:
        """The lines of a time, the latest first.

        Args:
            since, until: in seconds since 1970; the end is left out.
            limit: the most lines that are returned.

        Raises:
            JournalError: the lines can not be read.
        """
