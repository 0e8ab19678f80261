"""How a conversation is known again that a client sends back without any id. Pure.

Chat Completions sends texts alone, and so does a loop of functions of 2023, or of Google's client. A run is begun under
a name: a keyed digest of the caller and of all that was said up to the question. The next request holds the same words
at its beginning, so the same name can be made of it. The key is a secret of the journal: nobody can make the name of
another caller.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence

import msgspec

from ....core.call import MediaPart
from ....core.identity import Identity
from ....core.message import Message, Reply, SystemMessage, UserMessage

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
