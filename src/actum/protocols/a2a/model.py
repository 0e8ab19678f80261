"""The values of A2A: tasks, messages, parts, artifacts and what is told of them while an agent works.

They are those of version 1.0. Each wire format is a translation of these values: `legacy` has the one of April 2025,
and the official SDK has those of 1.0 and 0.3.

Source: A2A 1.0, section 4 (https://a2a-protocol.org).
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal

from msgspec import Struct

from ...core.json import Json, JsonObject

A2AState = Literal[
    "submitted",
    "working",
    "input-required",
    "auth-required",
    "completed",
    "failed",
    "canceled",
    "rejected",
    "unknown",
]
Role = Literal["user", "agent"]

TERMINAL: frozenset[A2AState] = frozenset({"completed", "failed", "canceled", "rejected"})
"""The states that a task does not leave."""
INTERRUPTED: frozenset[A2AState] = frozenset({"input-required", "auth-required"})
"""The states in which a task waits for its client."""


class _PartBase(Struct, frozen=True, kw_only=True, omit_defaults=True):
    name: str = ""
    media_type: str = ""
    metadata: JsonObject = {}


class A2AText(_PartBase, frozen=True, tag="text"):
    """Text.

    Attributes:
        text: the text.
        name: the name of a file, if the part is one.
        media_type: such as `text/markdown`; empty where it is not said.
        metadata: what a program says beside it.
    """

    text: str


class A2ABytes(_PartBase, frozen=True, tag="bytes"):
    """A file that came with the message; see `A2AText` for the other attributes."""

    data: bytes


class A2ALink(_PartBase, frozen=True, tag="link"):
    """A file that lies elsewhere; see `A2AText` for the other attributes."""

    url: str


class A2AData(_PartBase, frozen=True, tag="data"):
    """A JSON value; see `A2AText` for the other attributes."""

    data: Json


A2APart = A2AText | A2ABytes | A2ALink | A2AData


class A2AMessage(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one side says.

    Attributes:
        role: who says it.
        parts: what is said.
        id: made by the sender; the protocol of April 2025 has none.
        context_id, task_id: the conversation and the task that the message belongs to; empty where the message does not
            say.
        references: other tasks that the message is about.
        extensions: addresses of the extensions that the message uses.
        metadata: further data of a program.
    """

    role: Role
    parts: tuple[A2APart, ...]
    id: str = ""
    context_id: str = ""
    task_id: str = ""
    references: tuple[str, ...] = ()
    extensions: tuple[str, ...] = ()
    metadata: JsonObject = {}


class A2AStatus(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How far a task is.

    Attributes:
        state: one of `A2AState`.
        message: what the agent says about the state.
        at: since when, in seconds since 1970; None where it is not said.
    """

    state: A2AState
    message: A2AMessage | None = None
    at: float | None = None


class A2AArtifact(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A result of a task.

    Attributes:
        id: unique within its task.
        parts: the result.
        name, description: for people.
        extensions: addresses of the extensions that the artifact uses.
        metadata: what a program says beside it.
    """

    id: str
    parts: tuple[A2APart, ...]
    name: str = ""
    description: str = ""
    extensions: tuple[str, ...] = ()
    metadata: JsonObject = {}


class A2ATask(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A task as its client sees it.

    Attributes:
        id: of the task.
        context_id: the conversation that the task belongs to.
        status: how far the task is.
        artifacts: its results.
        history: what was said.
        metadata: what a program says beside it.
    """

    id: str
    context_id: str
    status: A2AStatus
    artifacts: tuple[A2AArtifact, ...] = ()
    history: tuple[A2AMessage, ...] = ()
    metadata: JsonObject = {}


class A2AStatusUpdate(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A task has come to another state.

    Attributes:
        task_id, context_id: whose.
        status: the new state.
        metadata: what a program says beside it.
    """

    task_id: str
    context_id: str
    status: A2AStatus
    metadata: JsonObject = {}


class A2AArtifactUpdate(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A task has a result, or a piece of one.

    Attributes:
        task_id, context_id: whose.
        artifact: the result, or the piece.
        append: the parts stand behind those that the artifact has already.
        last_chunk: nothing more comes for this artifact.
        metadata: what a program says beside it.
    """

    task_id: str
    context_id: str
    artifact: A2AArtifact
    append: bool = False
    last_chunk: bool = False
    metadata: JsonObject = {}


_USE = "actum"
CALLS_TOLD_MAX = 1_000_000_000


def with_calls_used(calls: int) -> JsonObject:
    """The metadata by which an agent tells its caller how many tool calls it has made for a task."""
    return {_USE: {"calls": calls}}


def with_memory_off(metadata: JsonObject) -> JsonObject:
    """The same metadata, which also says that the agent does without the memory of its user.

    >>> with_memory_off(with_calls_used(3))
    {'actum': {'calls': 3, 'memory': 'off'}}
    """
    told = metadata.get(_USE)
    return {**metadata, _USE: {**(told if isinstance(told, dict) else {}), "memory": "off"}}


def calls_used_in(metadata: JsonObject) -> int:
    """How many tool calls an agent says that it has made for a task; 0 where it does not say.

    >>> calls_used_in(with_calls_used(3)), calls_used_in({"actum": {"calls": -1}}), calls_used_in({})
    (3, 0, 0)
    """
    told = metadata.get(_USE)
    calls = told.get("calls") if isinstance(told, dict) else None
    if isinstance(calls, bool) or not isinstance(calls, int | float) or not 0 < calls <= CALLS_TOLD_MAX:
        return 0
    return int(calls)  # servers write whole numbers as 3.0, since protobuf knows no others in metadata


A2AEvent = A2ATask | A2AMessage | A2AStatusUpdate | A2AArtifactUpdate
"""What a stream of a task tells."""


class A2APushTarget(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where news of a task are sent.

    Attributes:
        url: the address.
        id: the name of this target within its task; the protocol of April 2025 has one target a task, without a name.
        token: is sent with each piece of news, so that the receiver knows who sends it.
        schemes: the names of HTTP authentication schemes that the receiver takes, such as `Bearer`.
        credentials: for the first scheme; a secret.
    """

    url: str
    id: str = ""
    token: str = ""
    schemes: tuple[str, ...] = ()
    credentials: str = ""


def timestamp(seconds: float) -> str:
    """A point in time as A2A writes it: in UTC, to the millisecond.

    >>> timestamp(0)
    '1970-01-01T00:00:00.000Z'
    """
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def read_timestamp(text: str) -> float | None:
    """Seconds since 1970; None where the text is no point in time. One without a zone counts as UTC, since several
    servers leave the zone out.

    >>> read_timestamp("1970-01-01T00:00:01")
    1.0
    """
    try:
        when = datetime.fromisoformat(text)
        return (when if when.tzinfo is not None else when.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
