"""The request to a model, and the protocol of a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from msgspec import Struct

from .event import Delta
from .json import JsonObject, dumps
from .message import Message, Reply, SystemMessage
from .tool import SearchWay, Tool, ToolChoice

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    Deps = TypeVar("Deps", default=object, covariant=True)
else:  # the default, which only type checkers read, is not in Python 3.11
    from typing import TypeVar

    Deps = TypeVar("Deps", covariant=True)


class Request(Struct, frozen=True, kw_only=True):
    """A request to a model.

    Attributes:
        messages: the conversation so far, instructions included; a `Transcript` in a run, which only grows.
        tools: the tools the model may call. They stay in every request of a run.
        tool_choice: whether the model must call a tool, and which.
        parallel_calls: whether the model may say several calls in one reply; None leaves that to the endpoint.
        stop: texts at which the model is to stop.
        output_schema: JSON Schema that the final answer must fit, where the dialect can ask for it.
        max_tokens: the most tokens of an answer.
        temperature: randomness; None leaves that to the endpoint.
        top_p, seed, timeout_s, headers, tool_search: as in `ModelSettings`.
        search: the name of the tool by which the model finds others; empty where there is none.
        found: the names of those of the tools that the model was not shown at first.
        model: the model's name at the endpoint; filled in by the sender of the request.
        stream: whether the answer is to come in pieces; likewise.
        extras: further fields, passed to the endpoint as they are.
    """

    messages: Sequence[Message]
    tools: tuple[Tool, ...] = ()
    tool_choice: ToolChoice = "auto"
    parallel_calls: bool | None = None
    stop: tuple[str, ...] = ()
    output_schema: JsonObject | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    timeout_s: float | None = None
    headers: Mapping[str, str] = {}
    tool_search: SearchWay | None = None
    search: str = ""
    found: tuple[str, ...] = ()
    model: str = ""
    stream: bool = False
    extras: JsonObject = {}

    @property
    def untold_schema(self) -> JsonObject | None:
        """The schema of the answer; None where the instructions hold its text already, as those of an agent do."""
        if self.output_schema is None:
            return None
        text = dumps(self.output_schema)
        instructions = takewhile(lambda message: isinstance(message, SystemMessage), self.messages)
        told = any(isinstance(message, SystemMessage) and text in message.text for message in instructions)
        return None if told else self.output_schema


@runtime_checkable
class Model(Protocol):
    """A model. It has one method: an answer is streamed if the caller passes a listener, and comes whole otherwise."""

    @property
    def name(self) -> str:
        """The model's name in records and traces."""

    async def reply(self, request: Request, emit: Callable[[Delta], None] | None = None) -> Reply:
        """Answer a request.

        Args:
            request: the request.
            emit: is told each piece as it comes; None when nobody watches.

        Raises:
            ModelError: the model gave no answer.
        """


@runtime_checkable
class Supervised(Protocol):
    """A model that may say that its calls need a person. The attribute is optional: a model without it is not
    supervised.

    A model around another model (`Prompted`, a router, a fallback) passes on the value of the model inside: see
    `is_supervised`.
    """

    @property
    def supervised(self) -> bool:
        """Whether a call of a tool that declares an effect beyond `read` waits for a person's approval, unless the
        agent was given a policy. True of a model that understands too little to be trusted with effects.
        """


def is_supervised(model: object) -> bool:
    """Whether a model says of itself that its calls need a person; see `Supervised`."""
    return bool(getattr(model, "supervised", False))  # each run asks: isinstance of a protocol costs ten times as much


@runtime_checkable
class LengthLimited(Protocol):
    """A model that limits the length of an answer by itself where a request does not. The attribute is optional; a
    model around another model passes on the value of the model inside: see `default_max_tokens`.
    """

    @property
    def default_max_tokens(self) -> int | None:
        """The limit, in tokens; None for no limit."""


def default_max_tokens(model: object) -> int | None:
    """The limit of an answer's length that a model sets by itself; None for no limit."""
    found: int | None = getattr(model, "default_max_tokens", None)
    return found
