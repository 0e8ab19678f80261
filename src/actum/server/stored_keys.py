"""Keys that a journal's database keeps: checked in memory, and dead as soon as any process has revoked them.

All keys are held in memory, so that a check costs the same with a thousand keys as with one. Before each check the
store is asked for the number of changes, which costs no round trip; where the number is another one, the keys are read
anew. Where the store can not tell, the key is read from the database.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from typing import TypeVar

from ..core.clock import SystemClock
from ..core.errors import ActumError, JournalError
from ..core.identity import Identity
from ..core.interfaces import Clock
from ..core.stored.key import CLOCK, Key, KeyStore, id_of
from .verifier import identity_of_key, is_text_of

T = TypeVar("T")

ASK_S = 5.0
"""Seconds that a check waits for the database, where it has to ask."""
LOOK_S = 0.5
"""Seconds between two looks at a key whose stream is open."""


class StoredKeys:
    """The `Verifier` of keys that a store keeps.

    Args:
        store: where the keys are kept.
        clock: tells when a key ends.
    """

    def __init__(self, store: KeyStore, *, clock: Clock | None = None) -> None:
        self._store = store
        self._clock = clock or SystemClock()
        self._keys: dict[str, tuple[Key, Identity]] = {}
        self._changes: int | None = None
        self._any_made = False
        self._reading = asyncio.Lock()

    async def verify_token(self, token: str) -> Identity | None:
        """Whose key this is; None when the key is unknown, was revoked or has ended.

        Raises:
            JournalError: the database can not be asked, and nobody can tell whether the key is still valid.
        """
        key_id = id_of(token)
        if not key_id:
            return None
        key, identity = await self._find(key_id)
        if identity is None or not is_text_of(token, key) or key is None or not await self._is_valid(key):
            return None
        return identity

    async def any_made(self) -> bool:
        """Whether a key was ever made, also one that was revoked or has ended since. Once True, always True.

        Raises:
            JournalError: the database can not be asked.
        """
        if not self._any_made:
            changes = self._store.changes()
            if changes is None or changes != self._changes:
                await self._in_time(self._look(changes))
            self._any_made = self._any_made or bool(self._keys)
        return self._any_made

    async def any_valid(self) -> bool:
        """Whether a key can be used now, or none was ever made.

        Raises:
            JournalError: the database can not be asked.
        """
        changes = self._store.changes()
        keys = await self._in_time(self._store.all()) if changes is None else await self._all(changes)
        now = self._clock.now()
        return not keys or any(key.is_valid(now) for key in keys)

    async def _all(self, changes: int) -> Sequence[Key]:
        await self._in_time(self._read(changes))
        return [key for key, _ in self._keys.values()]

    async def has_ended(self, identity: Identity) -> bool:
        """Whether the key of a client was revoked or has ended since.

        For streams that outlive the request in which the key was shown.

        Args:
            identity: the identity of the client; with a token of another kind the answer is False.

        Raises:
            JournalError: the database can not be asked.
        """
        if identity.issuer or not identity.key_id:
            return False
        key, _ = await self._find(identity.key_id)
        return key is not None and not await self._is_valid(key)

    async def identity(self, key_id: str) -> Identity | None:
        """The identity of a client that showed a key before; None when the key is unknown, was revoked or has ended.

        Args:
            key_id: the id of the key.

        Raises:
            JournalError: the database can not be asked.
        """
        key, identity = await self._find(key_id)
        return identity if key is not None and await self._is_valid(key) else None

    async def _is_valid(self, key: Key) -> bool:
        """Whether a key may be used now. A key that is seen to have ended stays so, also when the clock goes back."""
        now = self._clock.now()
        if not key.is_valid(now) and key.sha256 and not key.revoked_at:
            with suppress(ActumError):  # it is refused all the same, and the next process that sees it tries again
                await self._in_time(self._store.revoke(key.id, at=now, by=CLOCK))
        return key.is_valid(now)

    async def _find(self, id: str) -> tuple[Key | None, Identity | None]:
        changes = self._store.changes()
        if changes is not None and changes == self._changes:
            return self._keys.get(id, _NOBODY)
        if changes is None:
            key = await self._in_time(self._store.find(id))
            return (key, identity_of_key(key)) if key is not None else _NOBODY
        await self._in_time(self._read(changes))
        return self._keys.get(id, _NOBODY)

    async def _look(self, changes: int | None) -> None:
        """Look whether there are keys, where the keys in memory may not be the latest."""
        if changes is not None:
            await self._read(changes)
        elif await self._store.all():
            self._any_made = True

    async def _in_time(self, asking: Awaitable[T]) -> T:
        """What the database answers.

        Raises:
            JournalError: the database does not answer in time.
        """
        try:
            async with self._clock.timeout(ASK_S):
                return await asking
        except TimeoutError:
            raise JournalError("the keys could not be read within {seconds:g} seconds", seconds=ASK_S) from None

    async def _read(self, changes: int) -> None:
        async with self._reading:  # who comes meanwhile waits for what is read, and does not read it again
            if changes == self._changes:
                return
            latest = self._store.changes()  # before the keys are read: what changes meanwhile is read the next time
            self._keys = {key.id: (key, identity_of_key(key)) for key in await self._store.all()}
            self._changes = latest


_NOBODY: tuple[Key | None, Identity | None] = (None, None)


class KeysOnceMade:
    """The `Verifier` of a server that wants no key until the first key was made, by whatever process.

    Args:
        stored: the keys.
    """

    def __init__(self, stored: StoredKeys) -> None:
        self._stored = stored

    async def is_wanted(self) -> bool:
        """See `WantedLater`."""
        return await self._stored.any_made()

    async def verify_token(self, token: str) -> Identity | None:
        """See `StoredKeys`."""
        return await self._stored.verify_token(token)
