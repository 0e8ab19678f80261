"""User and model in turns: what the program tells the model in the user's place gets a short answer of its own.

A summary, a note that something was left out, and the news of earlier calls are told as messages of the user. Before a
message of the user itself they would make two in a row, which the templates of many models refuse. Two messages that
the user really said stay as they are. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..core.message import Message, Reply, UserMessage


def in_turns(messages: Iterable[Message], noted: str) -> list[Message]:
    """The messages, with a reply between two of the user where the program said one of them.

    Args:
        messages: a conversation, or a part of one.
        noted: the words of the reply.
    """
    found: list[Message] = []
    for message in messages:
        before = found[-1] if found else None
        match before, message:
            case UserMessage(source="user"), UserMessage(source="user"):
                pass
            case UserMessage(), UserMessage():
                found.append(Reply.of(noted))
            case _:
                pass
        found.append(message)
    return found
