"""How a conversation is known again that a client sends back without any id. Pure.

Chat Completions sends texts alone, and so does a loop of functions of 2023, or of Google's client. A run is begun under
a name: a keyed digest of the caller and of all that was said up to the question. The next request holds the same words
at its beginning, so the same name can be made of it. The key is a secret of the journal: nobody can make the name of
another caller.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from ....core.call import MediaPart, TextPart
from ....core.identity import Identity
from ....core.message import Message, Reply, SystemMessage, ToolMessage, UserMessage
from ....runs.wording import Phrases


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


_encode = msgspec.json.Encoder().encode


def history_name(secret: bytes, who: Identity, agent: str, messages: Sequence[Message]) -> str:
    """The name of a run that answers a question.

    Args:
        secret: of the journal.
        who: the caller.
        agent: the agent.
        messages: all that was said, the question at the end.
    """
    return name_of("history", secret, who, [agent, *_essence(messages)])


def question_name(secret: bytes, who: Identity, agent: str, question: UserMessage) -> str:
    """The name of every run that answers this question, whatever was said before it."""
    return name_of("question", secret, who, [agent, *_essence([question])])


def request_name(secret: bytes, who: Identity, path: str, body: bytes) -> str:
    """The name of the run that a request begins, so that the same request finds the run when it comes again."""
    return name_of("request", secret, who, [path, hashlib.sha256(body).hexdigest()])


def name_of(kind: str, secret: bytes, who: Identity, said: Sequence[object]) -> str:
    """A name that nobody can make who does not have the secret.

    Args:
        kind: what the name is made of.
        secret: of the journal.
        who: the caller; two callers never have one name.
        said: what the name is made of.
    """
    whole = _encode([kind, who.tenant, who.issuer, who.principal, *said])
    return f"{kind}:{hmac.digest(secret, whole, 'sha256').hex()}"


def asked_before(messages: Sequence[Message]) -> tuple[Sequence[Message], str]:
    """The last question that was answered with all that stands before it, and what the answer says.

    Args:
        messages: a conversation.

    Returns:
        The conversation up to the last user message that a reply follows, and the texts of the replies behind it.
        Nothing where there is no such message.
    """
    last_reply = max((at for at, said in enumerate(messages) if isinstance(said, Reply)), default=-1)
    question = max((at for at in range(last_reply) if isinstance(messages[at], UserMessage)), default=-1)
    if question < 0:
        return (), ""
    answered = [said for said in messages[question + 1 :] if isinstance(said, Reply)]
    return messages[: question + 1], squeezed("".join([reply.text for reply in answered]))


def squeezed(text: str) -> str:
    """A text without white space: what a client sends back may have other breaks."""
    return "".join(text.split())


def _essence(messages: Sequence[Message]) -> list[object]:
    """What was said, without ids, calls and results: an API may have sent back more or less of these."""
    said: list[list[object]] = []
    for message in messages:
        match message:
            case UserMessage():
                media = [
                    hashlib.sha256(part.data or part.url.encode()).hexdigest()
                    for part in message.content
                    if isinstance(part, MediaPart)
                ]
                said.append(["user", message.text, *media])
            case SystemMessage(text):
                said.append(["system", text])
            case Reply() if said and said[-1][0] == "assistant":
                said[-1][1] = f"{said[-1][1]}{squeezed(message.text)}"
            case Reply():
                said.append(["assistant", squeezed(message.text)])
            case _:
                pass
    return [*said]
