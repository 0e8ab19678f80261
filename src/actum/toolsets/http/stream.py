"""An answer that is a stream, read item by item within bounds. Those who watch the call are told each item at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from ...core.json import Json
from ...protocols.openapi.items import ItemReader, LongItem
from ...protocols.plain_text import plain_json
from ...transport.fetcher import FetchedStream
from ...transport.http import HttpFailure
from .answer import HIDING, hides_secret


class StreamBounds(NamedTuple):
    """How much of a stream is read: the most items, bytes and seconds.

    The first limit that is reached ends the reading.
    """

    items: int = 1000
    bytes: int = 4 * 1024 * 1024
    seconds: float = 60.0


class TakenItems(NamedTuple):
    """What was read of a stream.

    Attributes:
        items: in their order.
        note: why there may be more, in words for a model; empty where the stream came to its end.
    """

    items: list[Json]
    note: str


class StreamReading:
    """Reads one stream.

    Args:
        bounds: how much is read.
        secrets: what was sent as a credential.
        tell: is told each item.
        problems: what is wrong with an item of a size, by the document.
    """

    def __init__(
        self,
        bounds: StreamBounds,
        secrets: Collection[str],
        tell: Callable[[Json], None],
        problems: Callable[[Json, int], Sequence[str]] = lambda item, size: (),
    ) -> None:
        self._bounds = bounds
        self._secrets = secrets
        self._tell = tell
        self._problems = problems
        self._problem = ""
        self._items: list[Json] = []
        self._broken = 0

    async def read(self, stream: FetchedStream, reader: ItemReader) -> TakenItems:
        """Read until the stream or what may be read of it is at its end."""
        count = 0
        try:
            async with asyncio.timeout(self._bounds.seconds):
                async for piece in stream.pieces:
                    count += len(piece)
                    self._take(reader, piece)
                    if len(self._items) >= self._bounds.items:
                        return self._taken(f"after {self._bounds.items} items; there may be more")
                    if count > self._bounds.bytes:
                        return self._taken(f"after {self._bounds.bytes} bytes; there may be more")
                self._take(reader, None)
        except TimeoutError:
            return self._taken(f"after {self._bounds.seconds:.0f} seconds; there may be more")
        except LongItem:
            return self._taken("at an item that is too long")
        except HttpFailure as failure:
            return self._taken(f"because the connection failed ({failure}); there may be more")
        return self._taken("")

    def _take(self, reader: ItemReader, piece: bytes | None) -> None:
        for item in reader.close() if piece is None else reader.feed(piece):
            if len(self._items) >= self._bounds.items:
                return
            self._broken += not item.is_json
            value = HIDING if hides_secret(item.source, self._secrets) else plain_json(item.value)
            self._items.append(value)
            self._tell(value)
            if not self._problem and (wrong := self._problems(value, len(item.source))):
                self._problem = f"Item {len(self._items)} is not as the API's document says: {wrong[0]}"

    def _taken(self, why: str) -> TakenItems:
        notes = [f"The reading of the stream ended {why}."] if why else []
        if self._broken:
            notes.append(f"{self._broken} of its items are not JSON.")
        notes += [self._problem] if self._problem else []
        return TakenItems(self._items, " ".join(notes))
