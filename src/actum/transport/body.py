"""The body of an answer, unpacked, and never longer than it may be: a packed one can be a thousand times as long."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncGenerator, AsyncIterator

from .connection import PORTION_BYTES, first_portion
from .http import AnswerTooLong, HttpFailure

_PACKED = {"gzip": 31, "x-gzip": 31, "deflate": 47}
"""Which ways of packing are understood, as zlib counts them."""
ACCEPTED = "gzip, deflate"
_EMPTY_MEMBERS_MAX = 1_000


async def bounded(pieces: AsyncIterator[bytes], encoding: str, bytes_max: int) -> AsyncGenerator[bytes]:
    """The pieces of a body, unpacked.

    Args:
        pieces: as they come from the network.
        encoding: the header `Content-Encoding`.
        bytes_max: the longest body, packed and unpacked.

    Raises:
        HttpFailure: the body is too long, or packed in a way that is not understood, or broken.
    """
    name = encoding.strip().lower()
    if name not in ("", "identity", *_PACKED):
        raise HttpFailure("its answer is packed in a way that was not asked for", sent=True, lasting=True)
    unpacker = _Unpacker(_PACKED[name]) if name in _PACKED else None
    came = left = 0
    async for piece in pieces:
        came += len(piece)
        if came > bytes_max:
            raise AnswerTooLong(bytes_max)
        if unpacker is None:
            yield piece
            continue
        unpacker.feed(piece)
        while found := unpacker.take(bytes_max - left + 1):
            left += len(found)
            if left > bytes_max:
                raise AnswerTooLong(bytes_max)
            rest = memoryview(found)
            while rest:
                portion, rest = first_portion(rest)
                yield portion
                await asyncio.sleep(0)  # a few bytes may hold megabytes
    if unpacker is not None and came and not unpacker.is_whole:
        raise _broken()


class _Unpacker:
    """Unpacks no more than is asked for. A body of gzip may have several members, one after the other."""

    def __init__(self, kind: int) -> None:
        self._kind = kind
        self._inner = zlib.decompressobj(kind)
        self._rest = b""
        self._is_fresh = True
        self._empty = 0

    @property
    def is_whole(self) -> bool:
        """The body ended where its packing says."""
        return self._inner.eof or (self._is_fresh and not self._rest)

    def feed(self, piece: bytes) -> None:
        self._rest += piece

    def take(self, most: int) -> bytes:
        """The bytes that can be unpacked now, at most `most`; empty where more input has to come first."""
        while True:
            if self._inner.eof:
                self._begin_member()
            if not self._rest and self._is_fresh:
                return b""
            before = self._rest
            try:
                found = self._inner.decompress(self._rest, min(most, PORTION_BYTES))
            except zlib.error:
                raise _broken() from None
            self._is_fresh = False
            self._rest = self._inner.unused_data if self._inner.eof else self._inner.unconsumed_tail
            if found:
                return found
            if not self._rest or self._rest == before:
                return b""

    def _begin_member(self) -> None:
        """Begin with the next member, where there is more."""
        if not self._rest:
            return
        self._empty += 1
        if self._kind != _PACKED["gzip"] or self._empty > _EMPTY_MEMBERS_MAX:
            raise _broken()
        self._inner, self._is_fresh = zlib.decompressobj(self._kind), True


def _broken() -> HttpFailure:
    return HttpFailure("its answer can not be unpacked", sent=True, lasting=True)
