"""What every dialect is: a pure pair of functions between what a model says and our nouns.

No I/O, no clock, no ids from outside.

There are two kinds. An *API dialect* speaks bytes: the body of a request, the body or the event stream of an answer.
A *text dialect* speaks text: it tells a model in its prompt how to write a call, and finds the call in what it writes.
Both are served as well as spoken, so any-to-any is: decode with one, encode with another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from ..core.errors import ActumError, ModelError
from ..core.event import Delta
from ..core.message import Reply
from ..core.model import Request
from ..core.tool import Tool
from .error_answer import ErrorAnswer

if TYPE_CHECKING:
    from .chat_marks import ChatMarks


class Decoder(Protocol):
    """Reads an answer piece by piece. Linear in the total input, whatever the cuts; `reply` does not depend on them."""

    def feed(self, chunk: bytes | str) -> list[Delta]:
        """Take the next piece and return what became certain by it, in order."""

    def close(self) -> list[Delta]:
        """The input is at its end: return what was held back. A call that broke off is reported as not complete."""

    @property
    def reply(self) -> Reply:
        """All that was said; whole after `close`."""


class TextDecoder(Decoder, Protocol):
    """Reads what a model wrote in a text dialect."""

    def close(self, *, cut_off: bool = False) -> list[Delta]:
        """The input is at its end; see `Decoder.close`.

        Args:
            cut_off: the endpoint says that it broke the output off, at a limit of its length for one. A call whose last
                mark is missing then broke off; else the server may have taken that mark away.
        """

    @property
    def settled(self) -> bool:
        """What was told stays as it was told: no `ThoughtEnded` can come any more."""

    @property
    def unclosed(self) -> bool:
        """The output ended in a thought that, as the dialect's option `thinking` says, the prompt had opened."""


class ApiDecoder(Decoder, Protocol):
    """Reads the streamed answer of a model API, which says itself when it is at its end."""

    @property
    def ended(self) -> bool:
        """The answer came to its own end. False when it broke off, which after `close` means that a part is missing."""


class Encoder(Protocol):
    """Writes an answer piece by piece, as a server that streams does."""

    def feed(self, delta: Delta) -> bytes:
        """The bytes to send for this piece; may be empty, as they are for `ThoughtEnded`: what was sent stays."""

    def close(self, reply: Reply) -> bytes:
        """The bytes that end the stream, with finish reason and usage."""

    def fail(self, error: ActumError) -> bytes:
        """The bytes that end the stream instead, when the answer did not come to its own end."""


@runtime_checkable
class ApiDialect(Protocol):
    """A model API's wire format, both ways. `isinstance` tells an API dialect from a text dialect."""

    @property
    def name(self) -> str: ...

    def encode_request(self, request: Request) -> bytes:
        """The body of the HTTP request. Client side."""

    def decode_request(self, wire: bytes) -> Request:
        """What a client asks. Served side.

        Raises:
            UsageError: the body is not a request of this API; the message says where.
        """

    def decode(self, wire: bytes | str, *, tools: Sequence[Tool] = ()) -> Reply:
        """A whole, unstreamed answer. Client side.

        Raises:
            ModelGarbled: the body is not an answer of this API.
        """

    def decoder(self, *, tools: Sequence[Tool] = ()) -> ApiDecoder:
        """A reader of a streamed answer. Client side. It raises a `ModelError` when the stream tells of one."""

    def decode_error(self, status: int, retry_after: float | None, wire: bytes) -> ModelError:
        """The error that an answer with a failing HTTP status means. Client side."""

    def encode_reply(self, reply: Reply) -> bytes:
        """The body of a whole answer. Served side."""

    def encode_error(self, error: ActumError) -> ErrorAnswer:
        """What a client is answered when there is no reply. Served side."""

    def encoder(self, *, id_: str = ..., model: str = ...) -> Encoder:
        """A writer of a streamed answer, whose id and model must be known before it is. Served side."""


@runtime_checkable
class StrictTools(Protocol):
    """A dialect that can ask an API to hold the model to the schemas of its tools."""

    @property
    def strict(self) -> bool:
        """The API is asked to."""


@runtime_checkable
class SearchesTools(Protocol):
    """A dialect whose API can be told of tools where a search found them; see `api.native_search`."""

    @property
    def tool_search(self) -> bool:
        """The model can, where a request does not say how it is to be told."""


@runtime_checkable
class TextDialect(Protocol):
    """A way to say calls in plain text."""

    @property
    def name(self) -> str: ...

    def encode_request(self, request: Request) -> Request:
        """The same request for a model that only reads and writes text: the tools described in its instructions, past
        calls and results written out as text, no tools beside the messages, and the texts at which it must stop."""

    def decode(self, output: bytes | str, *, tools: Sequence[Tool] = ()) -> Reply:
        """What a model wrote, as text and calls."""

    def decoder(self, *, tools: Sequence[Tool] = (), reasoned: bool = False) -> TextDecoder:
        """A reader of the same text in pieces.

        Args:
            tools: of the request.
            reasoned: the server tells reasoning in a field of its own, so marks of thoughts in the text are text.
        """

    def encode_reply(self, reply: Reply) -> str:
        """The text by which a model would have said this reply; `decode` takes it back."""


Dialect = ApiDialect | TextDialect
"""A dialect of either kind."""


@runtime_checkable
class ChatMarked(Protocol):
    """A text dialect of a model family whose chat template is known. Prompts that fit any model have no such marks."""

    @property
    def marks(self) -> ChatMarks:
        """How turns are marked for a model that only goes on with a text."""
