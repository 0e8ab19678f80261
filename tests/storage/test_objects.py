"""Small objects of callers: kept for their owner alone, and there for every process of the journal."""

from __future__ import annotations

from pathlib import Path

from actum.core.kept_object import KeptObject, MemoryObjects, ObjectStore, objects_of
from actum.storage.sqlite import SQLiteJournal


def kept(id_: str, owner: str, parent: str = "", payload: bytes = b"{}") -> KeptObject:
    return KeptObject(id=id_, owner=owner, kind="note", parent=parent, payload=payload)


async def test_objects_exist_for_their_owner_alone(tmp_path: Path) -> None:
    journal, other = SQLiteJournal(tmp_path / "runs.db"), SQLiteJournal(tmp_path / "runs.db")
    memory = MemoryObjects()
    stores: list[tuple[ObjectStore, ObjectStore]] = [(objects_of(journal), objects_of(other)), (memory, memory)]
    for store, elsewhere in stores:
        await store.put(kept("a", "ann"))
        await store.put(kept("b", "ann"))
        await store.put(kept("c", "ann", parent="a"))
        await elsewhere.put(kept("a", "ann", payload=b'{"new":1}'))
        await elsewhere.put(kept("a", "bob", payload=b'{"stolen":1}'))
        assert [(o.id, o.payload) for o in await store.find("ann", "note")] == [("a", b'{"new":1}'), ("b", b"{}")]
        assert [o.id for o in await elsewhere.find("ann", "note", "a")] == ["c"]
        assert not await store.find("bob", "note")
        assert not await store.find("bob", "note", "", "a")
        assert not await store.delete("bob", "a")
        assert await elsewhere.delete("ann", "a")
        assert not await store.delete("ann", "a")
        assert [o.id for o in [*await store.find("ann", "note"), *await store.find("ann", "note", "a")]] == ["b"]
    await journal.close()
    await other.close()
