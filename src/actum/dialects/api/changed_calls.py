"""`ChangedCalls`: a decoder whose calls come back in the words of the tools' true schemas. Pure."""

from __future__ import annotations

from collections.abc import Callable, Container

from msgspec import structs

from ...core.call import ToolCall
from ...core.event import CallDelta, CallSaid, Delta
from ...core.message import Reply
from ..base import ApiDecoder


class ChangedCalls:
    """A decoder around another one.

    Args:
        decoder: reads the answer.
        change: a whole call, as its tool's schema has it.
        held: the tools whose arguments are told at once, when the call is whole. Those of all other calls are told as
            they come.
    """

    def __init__(self, decoder: ApiDecoder, change: Callable[[ToolCall], ToolCall], held: Container[str] = ()) -> None:
        self._decoder, self._change, self._tools = decoder, change, held
        self._held: set[int] = set()

    @property
    def ended(self) -> bool:
        """The answer came to its own end."""
        return self._decoder.ended

    @property
    def reply(self) -> Reply:
        """All that was said."""
        reply = self._decoder.reply
        content = [self._change(part) if isinstance(part, ToolCall) else part for part in reply.content]
        return structs.replace(reply, content=tuple(content))

    def feed(self, chunk: bytes | str) -> list[Delta]:
        """Take the next piece."""
        return [told for delta in self._decoder.feed(chunk) for told in self._delta(delta)]

    def close(self) -> list[Delta]:
        """The input is at its end."""
        return [told for delta in self._decoder.close() for told in self._delta(delta)]

    def _delta(self, delta: Delta) -> list[Delta]:
        match delta:
            case CallDelta(index, name, _, id_):
                if name in self._tools:
                    self._held.add(index)
                if index not in self._held:
                    return [delta]
                return [structs.replace(delta, arguments="")] if name or id_ else []
            case CallSaid(index, said):
                call = self._change(said)
                pieces = [CallDelta(index, "", call.arguments_text())] if index in self._held else []
                self._held.discard(index)
                return [*pieces, CallSaid(index, call)]
            case _:
                return [delta]
