"""What a client says was said before, where the record does not have this conversation as a whole. Pure.

A client that sends its own history may leave out the oldest part, change its own words, or make up what a model said.
Each answer that the record does have is taken from there, with the calls and results behind the answer. For all else
the client's word counts as the client's word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from ....core.call import TextPart
from ....core.identity import Identity
from ....core.message import Message, Reply, SystemMessage, ToolMessage, UserMessage
from ....runs.wording import Phrases
from .history import squeezed


class HistoryTurn(Struct, frozen=True):
    """A question in a conversation, and what was said and done for the answer.

    Attributes:
        question: the user's words.
        begins: the number of the first message of the answer.
        ends: the number of the first message behind the answer.
        text: what the replies say together.
    """

    question: UserMessage
    begins: int
    ends: int
    text: str

    @property
    def answer(self) -> str:
        """The text without white space."""
        return squeezed(self.text)


def turns_of(messages: Sequence[Message]) -> list[HistoryTurn]:
    """The questions of a conversation that have an answer in words, the oldest first."""
    found: list[HistoryTurn] = []
    question: UserMessage | None = None
    at = 0
    while at < len(messages):
        message = messages[at]
        begins, at = at, at + 1
        if not isinstance(message, Reply):
            question = message if isinstance(message, UserMessage) else question
            continue
        while at < len(messages) and isinstance(messages[at], Reply | ToolMessage):
            at += 1
        replies = [said for said in messages[begins:at] if isinstance(said, Reply)]
        text = "".join([reply.text for reply in replies])
        if question is not None and squeezed(text):
            found.append(HistoryTurn(question, begins, at, text))
        question = None
    return found


def up_to_answer(recorded: Sequence[Message], turn: HistoryTurn) -> list[Message]:
    """What a run said and did up to the answer that its client tells: the run may have gone on since."""
    found: list[Message] = []
    said = ""
    for message in recorded:
        if isinstance(message, UserMessage) and squeezed(said) == turn.answer:
            break
        said += message.text if isinstance(message, Reply) else ""
        found.append(message)
    if not found or not isinstance(found[-1], Reply) or found[-1].calls:
        found.append(Reply.of(turn.text))
    return found


def claimed_history(
    messages: Sequence[Message],
    who: Identity,
    own_tools: set[str],
    question: str,
    recorded: Mapping[int, Sequence[Message]],
) -> tuple[Message, ...]:
    """A conversation as its client tells it. What the client says that a model said counts as the client's words, and
    calls of tools that live here are left out: what such a call came to is known from the record or not at all.

    Args:
        messages: as the client tells them.
        who: the caller.
        own_tools: the names of the tools that live here.
        question: the new question, for its language.
        recorded: what the record has, by the number of the first reply to a question; see `HistoryTurn.begins`. It
            takes the place of the replies and results that the client tells there.
    """
    noted = Phrases.for_text(question).noted
    found: list[Message] = []
    at = 0
    ends = {turn.begins: turn.ends for turn in turns_of(messages)}
    while at < len(messages):
        if at in recorded:
            found += recorded[at]
            at = ends[at]
            continue
        message = messages[at]
        at += 1
        match message:
            case SystemMessage():
                found += [own_words(message, who), Reply.of(noted)]
            case UserMessage():
                found.append(own_words(message, who))
            case Reply():
                results: dict[str, ToolMessage] = {}
                while at < len(messages) and isinstance(following := messages[at], ToolMessage):
                    results.setdefault(following.result.call_id, following)
                    at += 1
                calls = [call for call in message.calls if call.id in results and call.name not in own_tools]
                if message.text or calls:
                    found.append(msgspec.structs.replace(Reply.of(message.text, calls), claimed=True))
                    found += [msgspec.structs.replace(results[call.id], name=call.name) for call in calls]
            case ToolMessage():  # the result of no call
                pass
    return tuple(found)


def own_words(word: UserMessage | SystemMessage, who: Identity) -> UserMessage:
    """The words of a request: those of its user, or of the program that is the client."""
    if isinstance(word, SystemMessage):
        return UserMessage((TextPart(word.text),), "client")
    return msgspec.structs.replace(word, source="client") if who.speaks_for == "program" else word
