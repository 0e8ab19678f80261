"""Contents that change: each change from one digest to another is one event, also back to what the content was before.

How far a content has come stands in the journal's database, so that several servers may look at the same content. A
change is written down before its event is told. A server that finds a change which nobody has told yet tells it: so no
kill between the two loses the event, and the id of the event is the same whoever tells it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import msgspec
from msgspec import Struct

from ..core.json import JsonObject
from .event import TriggerEvent
from .intake import TriggerIntake

TEXT_BYTES_MAX = 64 * 1024
"""A shorter text is told with the event."""


class WatchedContent(Struct, frozen=True):
    """A content as it is now.

    Attributes:
        digest: SHA-256 of the content; empty where there is nothing.
        text: the content, where it is a short text; else None.
    """

    digest: str = ""
    text: str | None = None

    @classmethod
    def of(cls, pieces: Iterable[bytes]) -> WatchedContent:
        """The digest of the pieces together, and their text.

        >>> WatchedContent.of([b"Hello", b"."]).text
        'Hello.'
        """
        hashed, kept = hashlib.sha256(), bytearray()
        for piece in pieces:
            hashed.update(piece)
            if len(kept) <= TEXT_BYTES_MAX:
                kept += piece
        text: str | None = None
        if len(kept) <= TEXT_BYTES_MAX:
            try:
                text = kept.decode("utf-8")
            except UnicodeDecodeError:
                text = None
        return cls(hashed.hexdigest(), text)


class ContentPosition(Struct, frozen=True, omit_defaults=True):
    """How far a content has come.

    Attributes:
        digest: of the content that was seen last.
        count: how often the content has changed.
        was: the digest before the latest change.
        text: the content after the latest change, while nobody has told of the change.
        is_told: whether the event of the latest change is on record.
    """

    digest: str
    count: int = 0
    was: str = ""
    text: str | None = None
    is_told: bool = True


class ContentChanges:
    """Tells a trigger how one content changes.

    Args:
        intake: takes the events.
        trigger: the name of the trigger.
        kind: what the content is, such as `file`.
        about: what each event says beside the digests and the text.
    """

    def __init__(self, intake: TriggerIntake, trigger: str, kind: str, about: JsonObject) -> None:
        self._intake = intake
        self._trigger = trigger
        self._kind = kind
        self._about = about
        self._key = f"{kind}:{trigger}"

    async def saw(self, content: WatchedContent) -> None:
        """The content was looked at. The content that is seen first is no change.

        Raises:
            TooManyEvents, TaskRefused: no run can begin for now; the next look tells of the change again.
            JournalError: nothing can be read or written.
        """
        positions = self._intake.positions
        known = await positions.find(self._key)
        if known is None:
            await positions.move(self._key, None, _encode(ContentPosition(content.digest)))
            return
        position = _decode(known)
        if not position.is_told:
            position, known = await self._tell(position)
        if position.digest == content.digest:
            return
        changed = ContentPosition(content.digest, position.count + 1, position.digest, content.text, is_told=False)
        if await positions.move(self._key, known, _encode(changed)):  # else another server has seen the change
            await self._tell(changed)

    async def _tell(self, changed: ContentPosition) -> tuple[ContentPosition, str]:
        """Tell of a change that is written down; returns how far the content has come then."""
        data: JsonObject = {**self._about, "digest": changed.digest, "was": changed.was}
        if changed.text is not None:
            data["text"] = changed.text
        id_ = f"{changed.count}:{changed.digest}"
        now = self._intake.clock.now()
        await self._intake.take_watched(
            TriggerEvent(trigger=self._trigger, id=id_, at=now, data=data, kind=self._kind),
        )
        told = ContentPosition(changed.digest, changed.count)
        await self._intake.positions.move(self._key, _encode(changed), _encode(told))
        return told, _encode(told)


def _encode(position: ContentPosition) -> str:
    return msgspec.json.encode(position).decode()


def _decode(text: str) -> ContentPosition:
    return msgspec.json.decode(text, type=ContentPosition)
