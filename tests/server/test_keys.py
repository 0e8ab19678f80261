"""Who may come in at a server whose journal keeps keys, and the key of its first start."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from actum.core.errors import UsageError
from actum.core.identity import Identity
from actum.core.stored.key import hash_of, new_key
from actum.journal.memory import MemoryJournal
from actum.server.access import Access
from actum.server.keys import Entrance, make_key, revoke_key, with_stored_keys
from actum.server.verifier import Keys, SharedKey, is_text_of, wants_token
from actum.storage.place import open_journal
from actum.testing import FakeClock

SHARED = "0123456789abcdef0123456789abcdef"


class Shown:
    """A verifier that remembers what it was shown, as one of an outside issuer would show it to the issuer."""

    def __init__(self) -> None:
        self.tokens: list[str] = []

    async def verify_token(self, token: str) -> Identity | None:
        self.tokens.append(token)
        return None


async def entrance(
    access: Access, journal: MemoryJournal, host: str = "127.0.0.1", *, is_person: bool = False
) -> Entrance:
    return await with_stored_keys(access, journal, host=host, by="root", is_person=is_person, scopes=["tools"])


async def test_the_loopback_wants_a_key_from_the_first_key_on_also_when_all_were_revoked() -> None:
    journal = MemoryJournal()
    early = await entrance(Access(), journal)
    assert not await wants_token(early.access.verifier)
    made = await make_key(journal, "ci", by="root")
    for works in (True, False):
        assert await wants_token(early.access.verifier)
        found = await entrance(Access(), journal)
        assert found.access.verifier is not None
        assert await wants_token(found.access.verifier)
        assert (await found.access.verifier.verify_token(made.text) is not None) == works
        await revoke_key(journal, "ci", by="root")


async def test_others_come_in_with_a_key_alone_and_the_first_is_made_for_a_person_alone() -> None:
    journal = MemoryJournal()
    with pytest.raises(UsageError, match="actum keys add NAME"):
        await entrance(Access(), journal, "0.0.0.0")
    assert await journal.keys.all() == []
    first = await entrance(Access(), journal, "0.0.0.0", is_person=True)
    assert first.made is not None
    assert (first.made.key.id, first.made.key.principal, first.made.key.scopes) == ("first", "root", ("tools",))
    assert first.made.text not in repr(first)
    assert first.access.verifier is not None
    assert await first.access.verifier.verify_token(first.made.text) is not None
    assert (await entrance(Access(), journal, "0.0.0.0", is_person=True)).made is None
    await revoke_key(journal, "first", by="root")
    with pytest.raises(UsageError, match="no key is valid any more"):
        await entrance(Access(), journal, "0.0.0.0", is_person=True)


async def test_a_server_with_another_way_in_makes_no_key_and_an_insecure_one_looks_at_none() -> None:
    journal = MemoryJournal()
    shared = await entrance(Access(verifier=SharedKey(SHARED, "ada")), journal, "0.0.0.0", is_person=True)
    late = await make_key(journal, "late", by="root")
    assert shared.made is None
    assert shared.access.verifier is not None
    assert [bool(await shared.access.verifier.verify_token(text)) for text in (SHARED, late.text, "x")] == [1, 1, 0]
    insecure = Access(insecure=True)
    assert (await entrance(insecure, journal, "0.0.0.0")).access == insecure


async def test_the_text_of_a_good_key_is_shown_to_no_other_verifier() -> None:
    journal, other = MemoryJournal(), Shown()
    made = await make_key(journal, "ci", by="root")
    found = await entrance(Access(verifier=other), journal)
    assert found.access.verifier is not None
    assert await found.access.verifier.verify_token(made.text) is not None
    assert other.tokens == []


async def test_two_servers_that_start_at_once_make_one_first_key(tmp_path: Path) -> None:
    journals = [open_journal(tmp_path / "journal.db") for _ in range(2)]
    both = await asyncio.gather(
        *(
            with_stored_keys(Access(), journal, host="0.0.0.0", by="root", is_person=True)
            for journal in journals
            for _ in range(3)
        )
    )
    (made,) = (each.made for each in both if each.made is not None)
    for each in both:
        assert each.access.verifier is not None
        assert await each.access.verifier.verify_token(made.text) is not None
    assert len(await journals[0].keys.all()) == 1
    for journal in journals:
        await journal.close()


async def test_a_key_that_ends_says_so_and_what_is_no_key_is_not_made() -> None:
    clock, journal = FakeClock(), MemoryJournal()
    made = await make_key(journal, "ci", by="root", expires_at=clock.now() + 5, clock=clock)
    assert made.key.state(clock.now()) == "valid"
    clock.advance(5)
    assert made.key.state(clock.now()) == "ended"
    for words in ({"user": "a\nb"}, {"roles": [""]}, {"scopes": ['a"b']}, {"tenant": " "}, {"agents": [" "]}):
        with pytest.raises(UsageError):
            await make_key(journal, "bad", by="root", **words)
    with pytest.raises(UsageError, match="in the future"):
        await make_key(journal, "bad", by="root", expires_at=clock.now(), clock=clock)
    assert [key.id for key in await journal.keys.all()] == ["ci"]
    assert len(await journal.runs()) == 1


async def test_an_unknown_id_is_compared_as_a_known_one_is() -> None:
    text, key = new_key("ci")
    assert (is_text_of(text, key), is_text_of(text, None), is_text_of(text + "x", key)) == (True, False, False)
    empty = await Keys([]).verify_token(text)
    assert empty is None
    assert not is_text_of("", None)
    assert hash_of(text) == key.sha256
