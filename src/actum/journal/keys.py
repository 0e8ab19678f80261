"""Keys in memory, beside the journal in memory. They are gone when the process ends."""

from __future__ import annotations

from msgspec import structs

from ..core.errors import UnknownName, UsageError
from ..core.key import Key, id_taken, id_unknown


class MemoryKeys:
    """A `KeyStore` that lives as long as its process."""

    def __init__(self) -> None:
        self._keys: dict[str, Key] = {}
        self._changes = 0

    async def add(self, key: Key) -> None:
        if key.id in self._keys:
            raise UsageError(id_taken(self._keys[key.id]))
        self._keys[key.id] = key
        self._changes += 1

    async def revoke(self, id: str, *, at: float, by: str) -> bool:
        key = self._keys.get(id)
        if key is None:
            raise UnknownName(id_unknown(id))
        if key.was_revoked:
            return False
        self._keys[id] = structs.replace(key, revoked_at=at, revoked_by=by)
        self._changes += 1
        return True

    async def all(self) -> list[Key]:
        return list(self._keys.values())

    async def find(self, id: str) -> Key | None:
        return self._keys.get(id)

    def changes(self) -> int | None:
        return self._changes
