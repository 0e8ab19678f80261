"""What a model is told of a conversation that is too long for it. Pure.

Nothing is taken out of a transcript, and nothing of this changes what is on record of what was said. The model is told
a shorter conversation: first without the earliest turns, then with tool results cut, and at last both.

The question of the run itself, and all that was done for it, is always told.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, takewhile

import msgspec
from msgspec import Struct

from ..core.call import MediaPart, TextPart, ToolResult
from ..core.errors import ContextOverflow
from ..core.message import Message, SystemMessage, ToolMessage, UserMessage
from .alternation import in_turns

CLIPS = (8_000, 2_000, 500)
"""To how many characters texts are cut, one after the other."""

_encode = msgspec.json.Encoder().encode


class Shortening(Struct, frozen=True):
    """How a conversation is shortened.

    Attributes:
        left_out: how many messages behind the instructions, and behind a summary, are left out.
        clipped: the length to which each tool result is cut, in characters; 0 for no cut.
    """

    left_out: int = 0
    clipped: int = 0

    def told(self, messages: Sequence[Message], note: str, noted: str) -> list[Message]:
        """The messages that the model is told.

        Args:
            messages: the whole conversation.
            note: tells the model that messages were left out.
            noted: what the model says to the note.
        """
        first = _fixed(messages)
        left = [UserMessage((TextPart(note),), "developer")] if self.left_out else []
        kept = messages[first + self.left_out :]
        return in_turns([*messages[:first], *left, *self.clip(kept)], noted)

    def clip(self, messages: Sequence[Message]) -> Sequence[Message]:
        """The messages with their results cut."""
        return [clipped_result(each, self.clipped) for each in messages] if self.clipped else messages

    def next(self, messages: Sequence[Message], question: int) -> Shortening | None:
        """The next shorter way to tell the conversation; None where there is none.

        Args:
            messages: the whole conversation.
            question: the index of the first message of the run itself.
        """
        first = _fixed(messages)
        turns = [at - first for at in range(first, question + 1) if isinstance(messages[at], UserMessage)]
        later = [turn for turn in turns if turn > self.left_out]
        if later:
            sizes = [len(_encode(message)) for message in messages[first:question]]
            half = sum(sizes[self.left_out :]) / 2
            dropped = list(accumulate(sizes[self.left_out :], initial=0))
            enough = [turn for turn in later if dropped[min(turn - self.left_out, len(dropped) - 1)] >= half]
            return Shortening(enough[0] if enough else later[-1], self.clipped)
        smaller = [clip for clip in CLIPS if not self.clipped or clip < self.clipped]
        for clip in smaller:
            if any(clipped_result(message, clip) is not message for message in messages[first + self.left_out :]):
                return Shortening(self.left_out, clip)
        return None


WHOLE = Shortening()
"""All of the conversation is told."""


def with_advice(overflow: ContextOverflow, *, truncates: bool, can_be_shortened: bool) -> ContextOverflow:
    """The same error, with what will help.

    Args:
        overflow: what the model said.
        truncates: the agent is allowed to shorten conversations.
        can_be_shortened: there is something that can be left out or cut.
    """
    ways = "a model with a longer context, a new conversation, or a summary of this one (compact)"
    if can_be_shortened and not truncates:
        ways = f"the setting truncation='auto', which leaves out the beginning; {ways}"
    told = ContextOverflow(
        "{overflow}. What helps: {ways}",
        status=overflow.status,
        retry_after=overflow.retry_after,
        overflow=overflow,
        ways=ways,
    )
    told.can_be_shortened = can_be_shortened and not truncates
    return told


def halves(messages: Sequence[Message]) -> tuple[list[Message], list[Message]] | None:
    """A conversation in two parts of about the same size, calls together with their results; None for one that has no
    such parts.
    """
    places = [at for at in range(1, len(messages)) if not isinstance(messages[at], ToolMessage)]
    if not places:
        return None
    sizes = list(accumulate((len(_encode(message)) for message in messages), initial=0))
    at = min(places, key=lambda place: abs(2 * sizes[place] - sizes[-1]))
    return list(messages[:at]), list(messages[at:])


def clipped(message: Message, most: int) -> Message:
    """The message with each text cut to `most` characters, and media described in words."""
    if isinstance(message, UserMessage):
        content = tuple(TextPart(_cut(_described(part), most)) for part in message.content)
        return message if content == message.content else msgspec.structs.replace(message, content=content)
    return clipped_result(message, most)


def clipped_result(message: Message, most: int) -> Message:
    """The message with its result, if it has one, cut to `most` characters.

    The media of a cut result are described in words.
    """
    if not isinstance(message, ToolMessage) or message.result.error is not None:
        return message
    result = message.result
    if len(result.text) <= most and not any(isinstance(part, MediaPart) for part in result.content):
        return message
    return ToolMessage(message.name, ToolResult(result.call_id, (TextPart(_cut(result.text, most)),)))


def _described(part: TextPart | MediaPart) -> str:
    return part.text if isinstance(part, TextPart) else part.describe()


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]} [cut here: {len(text) - most} more characters]"


def _fixed(messages: Sequence[Message]) -> int:
    """How many messages at the beginning always stay: the instructions, and a summary of what was said before."""
    return sum(1 for _ in takewhile(_stays, messages))


def _stays(message: Message) -> bool:
    return isinstance(message, SystemMessage) or (isinstance(message, UserMessage) and message.source == "memory")
