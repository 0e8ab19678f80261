"""A conversation that lives elsewhere, as the program gives it to `Agent.run(messages=...)`: checked, and made our own.

No run of ours saw the tools return the results of such a conversation. So the results are marked as given: none of
their fields counts as trusted, whatever the tool of that name declares.

The conversation goes on record, and its calls are over. So secret values are taken out for good: those in the arguments
of its calls, and where the same reply or a later result repeats them; results are cleaned as those of a run are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import dropwhile

import msgspec
from msgspec import structs

from ..core.call import ToolCall
from ..core.errors import UsageError
from ..core.message import Message, Reply, SystemMessage, ToolMessage, UserMessage
from ..core.secret_values import Path, differing_texts, split_reply
from ..core.secrets.redaction import Redaction
from .conversation import media, with_attachments

_OURS = (SystemMessage, UserMessage, Reply, ToolMessage)
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Message).decode


def history_given(
    messages: Sequence[Message],
    instructions: str,
    *,
    replace: bool,
    secret_paths: Callable[[ToolCall], Sequence[Path]],
    redaction: Redaction,
) -> tuple[Message, ...]:
    """The messages as they go on record.

    Args:
        messages: the conversation; calls directly followed by their results.
        instructions: what the agent's model is told now, with the form of the answer.
        replace: the agent has instructions of its own, which take the place of system messages at the beginning.
        secret_paths: where the arguments of a call hold secrets.
        redaction: what is kept out of results.

    Returns:
        The conversation, its media with handles, and without secret values. `instructions` are left out at its
        beginning: the model is told them anyway.

    Raises:
        UsageError: an item is no message or can not be written down, a call has no result, a result has no call, or an
            id is used twice. The error names the message.
    """
    if isinstance(messages, str | bytes | UserMessage | Reply | SystemMessage | ToolMessage):
        raise UsageError("messages= is a list of messages, not one {kind}", kind=type(messages).__name__)
    taken = [_as_own(number, message) for number, message in enumerate(messages)]
    _check_calls(taken)
    taken = _in_order(taken)

    def is_told(message: Message) -> bool:
        return isinstance(message, SystemMessage) and (replace or message.text == instructions)

    cleaned = _without_secrets(dropwhile(is_told, taken), secret_paths, redaction)
    return tuple(_with_handles(list(cleaned)))


def size_of_history(messages: Sequence[Message]) -> int:
    """How many bytes the messages have as JSON; 0 where they can not be written, which `history_given` tells."""
    try:
        return len(_encode(messages))
    except (TypeError, ValueError, RecursionError):
        return 0


def _without_secrets(
    messages: Iterable[Message], secret_paths: Callable[[ToolCall], Sequence[Path]], redaction: Redaction
) -> Iterator[Message]:
    """The messages with `[secret]` in the place of each secret value, and results without the values before them."""
    known: set[str] = set()
    for message in messages:
        if isinstance(message, Reply):
            parted = split_reply(message, [secret_paths(call) for call in message.calls])
            shown = message if parted is None else parted[0]
            for one, other in zip(shown.calls, message.calls, strict=True):
                if one is not other:
                    known.update(differing_texts(one.arguments, other.arguments))
            yield shown
        elif isinstance(message, ToolMessage):
            yield structs.replace(message, result=redaction.clean(message.result, known))
        else:
            yield message


def _in_order(messages: Sequence[Message]) -> list[Message]:
    """The messages with the results of a turn in the order of its calls: formats that say no ids go by the order."""
    found = list(messages)
    for at, message in enumerate(messages):
        if isinstance(message, Reply) and len(message.calls) > 1:
            order = {call.id: number for number, call in enumerate(message.calls)}
            behind = slice(at + 1, at + 1 + len(order))
            results = {order[each.result.call_id]: each for each in messages[behind] if isinstance(each, ToolMessage)}
            found[behind] = [results[number] for number in sorted(results)]
    return found


def _with_handles(messages: Sequence[Message]) -> Iterator[Message]:
    """The messages with a handle for each attachment, by which tools can be handed it."""
    handles = {part.handle for part in media(messages)}
    for message in messages:
        if isinstance(message, UserMessage):
            named = with_attachments(message, (), handles)
            handles |= {part.handle for part in media([named])}
            yield named
        else:
            yield message


def _as_own(number: int, message: object) -> Message:
    """The message as it is read back from the journal: a resumed run sees the same, and nobody can change it."""
    if isinstance(message, dict):
        raise UsageError(
            "messages[{number}] is a dict. For messages in the form of an API, use read_messages: "
            '`messages=read_messages(messages, "openai")`',
            number=number,
        )
    if not isinstance(message, _OURS):
        raise UsageError("messages[{number}] is no message but {kind}", number=number, kind=type(message).__name__)
    try:
        own: Message = _decode(_encode(message))
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
        raise UsageError("messages[{number}] can not be written down: {why}", number=number, why=error) from None
    return structs.replace(own, given=True) if isinstance(own, ToolMessage) else own


def _check_calls(messages: Sequence[Message]) -> None:
    """Whether each turn of calls is directly followed by its results, as every API wants it."""
    said_at, waiting, answered = 0, dict[str, str](), set[str]()
    for number, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            _take_result(number, message, waiting, answered)
            continue
        _check_answered(said_at, waiting)
        if isinstance(message, Reply):
            said_at, waiting, answered = number, {}, set()
            for call in message.calls:
                if call.id in waiting:
                    raise UsageError(
                        "messages[{number}]: the id {call!r} is used for two calls", number=number, call=call.id
                    )
                waiting[call.id] = call.name
    _check_answered(said_at, waiting)


def _take_result(number: int, message: ToolMessage, waiting: dict[str, str], answered: set[str]) -> None:
    call_id = message.result.call_id
    if call_id in answered:
        raise UsageError(
            "messages[{number}]: the call {call_id!r} has a result already", number=number, call_id=call_id
        )
    if call_id not in waiting:
        raise UsageError(
            "messages[{number}] is the result of the call {call_id!r}, which no message before it makes",
            number=number,
            call_id=call_id,
        )
    del waiting[call_id]
    answered.add(call_id)


def _check_answered(said_at: int, waiting: dict[str, str]) -> None:
    for call_id, name in waiting.items():
        raise UsageError(
            "messages[{said_at}]: the call {call_id!r} of {name!r} has no result. Results stand "
            "directly behind the message that makes the calls; a run that waits goes on by resume()",
            said_at=said_at,
            call_id=call_id,
            name=name,
        )
