"""Small objects of callers: kept for their owner alone, and there for every process of the journal."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs

from actum.core.run.record import Started
from actum.core.stored.kept_object import OBJECTS_BYTES_MAX, KeptObject, ObjectsFull, ObjectStore
from actum.journal.memory import MemoryJournal
from actum.storage.place import open_journal
from actum.storage.sqlite import SQLiteJournal


def kept(id_: str, owner: str, parent: str = "", payload: bytes = b"{}") -> KeptObject:
    return KeptObject(id=id_, owner=owner, kind="note", parent=parent, payload=payload)


async def test_objects_exist_for_their_owner_alone(tmp_path: Path) -> None:
    journal, other = SQLiteJournal(tmp_path / "runs.db"), SQLiteJournal(tmp_path / "runs.db")
    memory = MemoryJournal().objects
    stores: list[tuple[ObjectStore, ObjectStore]] = [(journal.objects, other.objects), (memory, memory)]
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


async def test_objects_are_forgotten_with_their_run_with_their_user_and_with_their_age(place: str) -> None:
    for journal in (MemoryJournal(), open_journal(place)):
        store = journal.objects
        assert store is journal.objects

        async def left(store: ObjectStore = store) -> list[str]:
            return [
                o.id for kind in ("note", "thread") for parent in ("", "t") for o in await store.find("o", kind, parent)
            ]

        for id_, parent in (("heard", "t"), ("new", "t"), ("alone", "")):
            await store.put(structs.replace(kept(id_, "o", parent), at=5.0, principal="ann"))
        for id_, principal, at in (("t", "ann", 1.0), ("old", "ann", 1.0), ("other", "bob", 9.0)):
            await store.put(KeptObject(id=id_, owner="o", kind="thread", principal=principal, at=at))
        await store.put(KeptObject(id="in old", owner="o", kind="note", parent="old", at=1.0))

        journal.append("run_1", Started(agent="a", model="m", said=()))
        await store.take_up("somebody else", ["new"], "run_1")
        await store.take_up("o", ["heard"], "run_1")
        await journal.forget("run_1")
        assert await left() == ["alone", "new", "t", "old", "other"]
        assert await store.expire("thread", before=4.0) == 2  # the other thread was added to since
        assert await left() == ["alone", "new", "t", "other"]
        assert not await store.find("o", "note", "old")
        await store.put(KeptObject(id="north", owner="p", kind="note", principal="ann", tenant="north", at=9.0))
        assert (await store.count("ann"), await store.forget("ann")) == ({"": 3, "north": 1}, 3)
        assert (await left(), await store.count("ann")) == (["other"], {"north": 1})
        assert (await store.forget("ann", "north"), await store.count("ann")) == (1, {})
        await journal.close()


async def test_an_owner_has_room_for_so_much_and_no_more(place: str) -> None:
    for journal in (MemoryJournal(), open_journal(place)):
        store = journal.objects
        half = bytes(OBJECTS_BYTES_MAX // 2)
        await store.put(kept("a", "ann", payload=half))
        await store.put(kept("b", "ann", payload=half))
        await store.put(kept("b", "ann", payload=half))  # takes its own place
        with pytest.raises(ObjectsFull, match="limit"):
            await store.put(kept("c", "ann", payload=b"1"))
        await store.put(kept("c", "bob", payload=b"1"))
        assert await store.delete("ann", "a")
        await store.put(kept("d", "ann", payload=b"1"))
        await journal.close()
