"""Keys that a journal's database keeps: checked in memory, and dead as soon as any process has revoked them.

All keys are held in memory, so that a check costs the same with a thousand keys as with one. Before each check the
store is asked for the number of changes, which costs no round trip; where the number is another one, the keys are read
anew. Where the store can not tell, the key is read from the database.
"""

from __future__ import annotations

import asyncio

from ..core.clock import SystemClock
from ..core.errors import JournalError
from ..core.interfaces import Clock
from ..core.key import Key, KeyStore, id_of
from .identity import Identity, identity_of_key, is_text_of

ASK_S = 5.0
"""So long a check waits for the database, where it has to ask."""
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
        if identity is None or not is_text_of(token, key) or key is None or not key.is_valid(self._clock.now()):
            return None
        return identity

    async def has_ended(self, identity: Identity) -> bool:
        """Whether the key with which somebody came in was revoked or has ended since.

        For streams that outlive the request in which the key was shown.

        Args:
            identity: who came in; with a token of another kind the answer is False.

        Raises:
            JournalError: the database can not be asked.
        """
        if identity.issuer or not identity.key_id:
            return False
        key, _ = await self._find(identity.key_id)
        return key is not None and not key.is_valid(self._clock.now())

    async def until_ended(self, identity: Identity) -> None:
        """Return when the key with which somebody came in was revoked or has ended; for the stream that they read.

        Args:
            identity: who came in; with a token of another kind this never returns.

        Raises:
            JournalError: the database can not be asked: then nobody can tell whether the key is still valid.
        """
        while not await self.has_ended(identity):
            await self._clock.sleep(LOOK_S)

    async def _find(self, id: str) -> tuple[Key | None, Identity | None]:
        changes = self._store.changes()
        if changes is not None and changes == self._changes:
            return self._keys.get(id, _NOBODY)
        try:
            async with self._clock.timeout(ASK_S):
                if changes is None:
                    key = await self._store.find(id)
                    return (key, identity_of_key(key)) if key is not None else _NOBODY
                await self._read(changes)
                return self._keys.get(id, _NOBODY)
        except TimeoutError:
            raise JournalError(f"the keys could not be read within {ASK_S:g} seconds") from None

    async def _read(self, changes: int) -> None:
        async with self._reading:  # who comes meanwhile waits for what is read, and does not read it again
            if changes == self._changes:
                return
            latest = self._store.changes()  # before the keys are read: what changes meanwhile is read the next time
            self._keys = {key.id: (key, identity_of_key(key)) for key in await self._store.all()}
            self._changes = latest


_NOBODY: tuple[Key | None, Identity | None] = (None, None)
