"""What is said in a conversation: messages, a model's reply, what it cost, and the transcript that a run grows."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Literal, Protocol, TypeVar, cast, overload

import msgspec
from msgspec import Struct, structs

from .call import MediaPart, TextPart, ToolCall, ToolResult
from .errors import UsageError
from .json import JsonObject, whole_text
from .told_result import told_result


class ReasoningPart(Struct, frozen=True, tag="reasoning", omit_defaults=True):
    """What a model thought before it spoke.

    Attributes:
        text: the thought, where the API shows it.
        signature: an opaque token that some APIs want back unchanged.
        redacted: the API keeps the thought to itself; the signature holds it, encrypted, and there is no text.
        by: the family of APIs that made the signature, such as `anthropic`: it means nothing to any other, which would
            refuse the whole request over it. Empty where the family is unknown, as in records that are older than this
            field; then the next model is handed the signature.
    """

    text: str
    signature: str = ""
    redacted: bool = False
    by: str = ""


class RefusalPart(Struct, frozen=True, tag="refusal"):
    """The model's words for why it won't."""

    text: str


class Usage(Struct, frozen=True, omit_defaults=True):
    """Tokens of one reply, or of several added up.

    Attributes:
        input_tokens: all that went in, cached ones included.
        output_tokens: all that came out, reasoning included.
        cached_tokens: how many of `input_tokens` the endpoint had in its cache.
        reasoning_tokens: how many of `output_tokens` were thought, not said.
        cache_written_tokens: how many of `input_tokens` the endpoint wrote into its cache.
        estimated: the endpoint did not tell all of them, and some are estimated; see `core.token_estimate`.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    estimated: bool = False
    cache_written_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            self.estimated or other.estimated,
            self.cache_written_tokens + other.cache_written_tokens,
        )

    def beyond(self, other: Usage) -> Usage:
        """How much more this is than the other."""
        return Usage(
            max(0, self.input_tokens - other.input_tokens),
            max(0, self.output_tokens - other.output_tokens),
            max(0, self.cached_tokens - other.cached_tokens),
            max(0, self.reasoning_tokens - other.reasoning_tokens),
            self.estimated,
            max(0, self.cache_written_tokens - other.cache_written_tokens),
        )

    @property
    def total_tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    @property
    def is_sound(self) -> bool:
        """No number is below 0."""
        return (
            self.input_tokens >= 0
            and self.output_tokens >= 0
            and self.cached_tokens >= 0
            and self.reasoning_tokens >= 0
            and self.cache_written_tokens >= 0
        )


class SystemMessage(Struct, frozen=True, tag="system"):
    """Instructions by the builder of the agent."""

    text: str


class UserMessage(Struct, frozen=True, tag="user", omit_defaults=True):
    """What the user said, with what they attached.

    Attributes:
        source: whose words these are, where they are not the user's: another agent's that hands a task on, a summary of
            what was said before, the program's, a server's whose prompt was picked, the program's about an answer of
            the model that it quotes (`model`), those of a program that is a client of a server (`client`), or what a
            trigger tells of something that happened (`event`).
    """

    content: tuple[TextPart | MediaPart, ...]
    source: Literal["user", "agent", "memory", "developer", "tool", "model", "client", "event"] = "user"

    @classmethod
    def of(cls, said: str | UserMessage) -> UserMessage:
        """The message itself, or one made of plain text.

        Raises:
            UsageError: it is neither.
        """
        if isinstance(said, UserMessage):
            return said
        if not isinstance(said, str):
            raise UsageError("what the user says is a text or a UserMessage, not {kind}", kind=type(said).__name__)
        return cls((TextPart(whole_text(said)),))

    @property
    def text(self) -> str:
        return "\n".join(part.text for part in self.content if isinstance(part, TextPart))


ReplyPart = TextPart | ReasoningPart | RefusalPart | ToolCall | MediaPart


class Reply(Struct, frozen=True, tag="reply", omit_defaults=True, gc=False):
    """What a model said in one turn, in the order in which it said it: the assistant's message.

    Attributes:
        content: text, reasoning, calls and media, in order.
        finish_reason: why the model stopped, in its API's word; recorded, never trusted alone.
        usage: tokens, where the endpoint tells them.
        model: the model that answered, by its own name.
        id: the endpoint's id of the reply.
        extras: fields of the reply that have no place here, carried through unharmed.
        claimed: a client of a server says that a model said this, and the record does not know it: the words count as
            the client's.
        demand_in_words: the endpoint takes no demand for a call, so that the demand was said in the instructions.
    """

    content: tuple[ReplyPart, ...] = ()
    finish_reason: str = ""
    usage: Usage = Usage()
    model: str = ""
    id: str = ""
    extras: JsonObject = {}
    claimed: bool = False
    demand_in_words: bool = False

    @classmethod
    def of(cls, text: str = "", calls: Iterable[ToolCall] = (), reasoning: str = "") -> Reply:
        """A reply out of its usual pieces: reasoning, then text, then calls."""
        parts: list[ReplyPart] = []
        if reasoning:
            parts.append(ReasoningPart(reasoning))
        if text:
            parts.append(TextPart(text))
        return cls((*parts, *calls))

    @property
    def cut_off(self) -> Literal["", "length", "content_filter"]:
        """Why the endpoint broke the reply off before the model was done; empty when it did not."""
        return _CUT_OFF.get(self.finish_reason.lower(), "")

    @property
    def is_paused(self) -> bool:
        """The endpoint paused in the middle of its turn: sent back as it is, the reply is gone on with."""
        return self.finish_reason.lower() in PAUSE_WORDS and bool(self.content or self.extras)

    @property
    def says_nothing(self) -> bool:
        """There is no answer in the reply and no call: no text and no media, or the model meant to call a tool and the
        endpoint could not read the call.
        """
        if self.calls or self.is_paused:
            return False
        said = any(isinstance(part, MediaPart) for part in self.content) or bool(self.text.strip())
        return not said or self.finish_reason.lower() in LOST_CALL_WORDS

    @property
    def text(self) -> str:
        return "".join([part.text for part in self.content if isinstance(part, TextPart | RefusalPart)])

    @property
    def reasoning(self) -> str:
        return "".join([part.text for part in self.content if isinstance(part, ReasoningPart)])

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        content = self.content
        if len(content) == 1:  # most replies; asked several times at each step
            only = content[0]
            return (only,) if type(only) is ToolCall else ()
        return tuple([part for part in content if type(part) is ToolCall])


LENGTH_WORDS = frozenset(
    {"length", "max_tokens", "max_output_tokens", "maxtokens", "model_length", "model_context_window_exceeded"}
)
"""What APIs call it when an answer reached the limit of its length, or of the model's context."""

FILTER_WORDS = frozenset(
    {
        *("content_filter", "content_filtered", "refusal", "safety", "recitation", "blocklist", "prohibited_content"),
        *(
            "spii",
            "image_safety",
            "image_prohibited_content",
            "image_recitation",
            "sensitive",
            "model_armor",
            "jailbreak",
        ),
    }
)
"""What APIs call it when a filter of the endpoint broke an answer off, or kept it back."""

PAUSE_WORDS = frozenset({"compaction", "pause_turn"})
"""What APIs call it when an answer waits to be gone on with, after calls of tools that the endpoint runs itself."""

LOST_CALL_WORDS = frozenset(
    {
        *("malformed_function_call", "malformed_response", "missing_thought_signature"),
        *("too_many_tool_calls", "unexpected_tool_call"),
    }
)
"""What APIs call it when the model meant to call a tool, and they could not read the call, or did not want it."""

_CUT_OFF: dict[str, Literal["length", "content_filter"]] = {
    **dict.fromkeys(LENGTH_WORDS, "length"),
    **dict.fromkeys(FILTER_WORDS, "content_filter"),
}


class ToolMessage(Struct, frozen=True, tag="tool", omit_defaults=True, gc=False):
    """What a call came to, said back to the model.

    Attributes:
        name: the tool's name as the model called it.
        result: what came back; `result.call_id` names the call.
        given: the result is part of a history that the program gave. No run here saw the tool return it, so no field of
            the result counts as trusted.
    """

    name: str
    result: ToolResult
    given: bool = False


Message = SystemMessage | UserMessage | Reply | ToolMessage

_encoder = msgspec.json.Encoder()


class Follower(Protocol):
    """What is made of a conversation and grows with it."""

    def extend(self, messages: Sequence[Message], /) -> None:
        """Take the next messages. All but the first to come begin with a reply."""


F = TypeVar("F", bound=Follower)


class Transcript(Sequence[Message]):
    """The messages of a run: append-only, so that what was made of a message once need not be made again.

    A result is kept as a model is told it; `digest` and `shown` use the result as it was.

    Nothing scans the history at each step: its digest rolls on with each message, a dialect's encoding of past messages
    is kept by `render`, and anything else that is made of a conversation by `follow`.
    """

    __slots__ = ("_aside", "_digest", "_digested", "_followers", "_messages", "_rendered", "_shown")

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._messages: list[Message] = []
        self._rendered: dict[str, tuple[list[bytes], Callable[[Message], bytes]]] = {}
        self._followers: dict[str, tuple[Hashable, Follower, int]] = {}
        self._digest = hashlib.sha256()
        self._digested = 0
        self._shown: dict[int, Message] = {}
        self._aside: set[int] = set()
        self.extend(messages)

    def set_aside(self, message: Message, named: Message) -> None:
        """Say that a message is told in this run alone: it is no part of `shown`, and counts in `digest` by what names
        its words, so that the run goes on once the words are forgotten.

        Args:
            message: a message that the transcript has or that is going to be appended.
            named: names what the message says.
        """
        self._shown[id(message)] = named
        self._aside.add(id(message))

    def show_as(self, message: Message, shown: Message) -> None:
        """Say how a message that holds secret values is shown. `digest`, which is written down, and `shown` use this
        form. The model is told the message itself.

        Args:
            message: a message that is going to be appended.
            shown: the message without its secret values.
        """
        self._shown[id(message)] = shown

    @property
    def shown(self) -> tuple[Message, ...]:
        """All messages, without secret values and without those that were set aside."""
        if not self._shown:
            return tuple(self._messages)
        kept = [message for message in self._messages if id(message) not in self._aside]
        return tuple([self._shown.get(id(message), message) for message in kept])

    def take_over(self, other: Transcript, message: Message, told: Message) -> None:
        """Add a message of another transcript, as the model of this one is told it.

        Args:
            other: the other transcript.
            message: a message of that transcript.
            told: the same message as it is told here; `message` itself where nothing is changed.
        """
        if told is message and id(message) in other._shown:
            self._shown[id(message)] = other._shown[id(message)]
        self._messages.append(told)

    def append(self, message: Message) -> None:
        """Add a message at the end. A result is added as a model is told it; see `told_result`."""
        if type(message) is ToolMessage:
            message = self._told(message)
        self._messages.append(message)

    def extend(self, messages: Iterable[Message]) -> None:
        """Add messages at the end, as in `append`."""
        self._messages.extend(
            [self._told(message) if type(message) is ToolMessage else message for message in messages]
        )

    def _told(self, message: ToolMessage) -> ToolMessage:
        result = told_result(message.result)
        if result is message.result:
            return message
        told = structs.replace(message, result=result)
        self._shown[id(told)] = message
        return told

    @property
    def digest(self) -> str:
        """SHA-256 over all messages so far, hexadecimal."""
        for message in self._messages[self._digested :]:
            said = self._shown.get(id(message), message) if self._shown else message
            self._digest.update(_encoder.encode(said))
        self._digested = len(self._messages)
        return self._digest.hexdigest()

    def render(self, dialect: str, encode: Callable[[Message], bytes]) -> list[bytes]:
        """Each message as `encode` writes it, encoding only those that were not asked for before.

        Args:
            dialect: the name under which the result is kept.
            encode: writes one message. The first that is given for a dialect is kept and gets the messages in order, so
                it may remember what it wrote, such as the ids of calls.

        Returns:
            One piece a message; the list grows in place at later calls and must not be changed.
        """
        pieces, encode = self._rendered.setdefault(dialect, ([], encode))
        for message in self._messages[len(pieces) :]:
            pieces.append(encode(message))
        return pieces

    def follow(self, name: str, told: Hashable, begin: Callable[[], F]) -> F:
        """What follows this conversation, having taken all of it. It is given only what was added since last time.

        It is begun anew where what was added does not begin with a reply: a user's word may belong to what is before.

        Args:
            name: under which it is kept; always the same type under the same name.
            told: what it depends on beside the messages; another begins it anew.
            begin: makes it, with no message taken yet.
        """
        kept = self._followers.get(name)
        seen = kept[2] if kept is not None and kept[0] == told else 0
        new = self._messages[seen:]
        if kept is None or not seen or (new and not isinstance(new[0], Reply)):
            follower, new = begin(), self._messages
        else:
            follower = cast(F, kept[1])
        if new:
            follower.extend(new)
            self._followers[name] = (told, follower, len(self._messages))
        return follower

    def __len__(self) -> int:
        return len(self._messages)

    def __iter__(self) -> Iterator[Message]:
        return iter(self._messages)

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> list[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | list[Message]:
        return self._messages[index]
