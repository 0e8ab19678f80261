"""The shelf: drafts that nobody overwrites unseen, and publications that never change."""

from __future__ import annotations

import asyncio
import resource
import sqlite3
import sys

import msgspec
import psycopg
import pytest
from msgspec import structs

from actum import Agent
from actum.compose.settings import AgentTable
from actum.core.errors import JournalError, UnknownName, UsageError
from actum.core.run.record import Started
from actum.core.stored import shelf as core_shelf
from actum.core.stored.shelf import (
    SHELF_BYTES_MAX,
    TEXT_BYTES_MAX,
    ShelfDraft,
    ShelfFull,
    ShelfKind,
    StaleDraft,
    check_shelf_room,
    reference,
)
from actum.testing import ScriptedModel
from tests.patience import HANGS_S

from .conftest import Store


async def test_a_stale_save_is_refused_and_carries_both_texts(store: Store) -> None:
    shelf = store.open().shelf
    assert await shelf.draft("workflow", "desk") is None
    first = await shelf.save("workflow", "desk", "one", 0, by="ann")
    second = await shelf.save("workflow", "desk", "two", first.revision, by="bob")
    with pytest.raises(StaleDraft, match=r"has the revision 2, saved by 'bob', and not 1") as refused:
        await shelf.save("workflow", "desk", "other", first.revision, by="ann")
    assert (refused.value.current, refused.value.text, refused.value.revision) == (second, "other", 1)
    assert await shelf.draft("workflow", "desk") == second
    with pytest.raises(StaleDraft, match="has the revision 2"):
        await shelf.save("workflow", "desk", "new", 0)
    with pytest.raises(StaleDraft, match="there is no draft with the revision 4"):
        await shelf.save("workflow", "none", "new", 4)
    assert await shelf.save("workflow", "desk", "two", 1) == second  # the reply to the second save was lost


async def test_publications_are_numbered_and_a_rollback_publishes_an_older_text_anew(store: Store) -> None:
    shelf = store.open().shelf
    with pytest.raises(UnknownName, match="no draft of workflow 'desk'"):
        await shelf.publish("workflow", "desk")
    assert await shelf.published("workflow", "desk") is None
    draft = await shelf.save("workflow", "desk", "one", 0)
    one = await shelf.publish("workflow", "desk", revision=1, by="ann")
    assert (one.number, one.text, one.digest, one.by, one.again) == (1, "one", draft.digest, "ann", 0)
    assert await shelf.publish("workflow", "desk") == one  # a second press of the button
    await shelf.save("workflow", "desk", "two", 1)
    assert [line.changed for line in await shelf.names("workflow")] == [True]
    with pytest.raises(StaleDraft, match="has the revision 2"):
        await shelf.publish("workflow", "desk", revision=1)
    two = await shelf.publish("workflow", "desk", revision=2)
    three = await shelf.rollback("workflow", "desk", 1, by="bob")
    assert (three.number, three.text, three.again, three.by) == (3, "one", 1, "bob")
    assert await shelf.rollback("workflow", "desk", 1) == three
    assert await shelf.published("workflow", "desk") == three
    assert [await shelf.published("workflow", "desk", number) for number in (1, 2, 3)] == [one, two, three]
    for number in (-1, 0, 4, 10**18):
        assert await shelf.published("workflow", "desk", number) is None
        with pytest.raises(UnknownName, match="no published workflow"):
            await shelf.rollback("workflow", "desk", number)
    assert [(each.number, each.again) for each in await shelf.versions("workflow", "desk")] == [(3, 1), (2, 0), (1, 0)]
    (line,) = await shelf.names("workflow")
    assert (line.name, line.revision, line.published, line.changed) == ("desk", 2, 3, True)
    found = await shelf.draft("workflow", "desk")
    assert found is not None
    assert (found.text, found.revision, found.published) == ("two", 2, 3)


async def test_what_is_unpublished_is_not_in_use_and_keeps_its_number(store: Store) -> None:
    shelf = store.open().shelf
    for tenant in ("", "north"):
        await shelf.save("workflow", "desk", "one", 0, tenant=tenant)
        with pytest.raises(UnknownName, match="no published workflow 'desk'"):
            await shelf.unpublish("workflow", "desk", tenant=tenant)
        await shelf.publish("workflow", "desk", tenant=tenant)
    one = await shelf.published("workflow", "desk")
    assert one is not None
    made = await shelf.publications_made("workflow")
    assert await shelf.unpublish("workflow", "desk") == one
    assert await shelf.publications_made("workflow") > made
    with pytest.raises(UnknownName, match="no published workflow 'desk'"):
        await shelf.unpublish("workflow", "desk")
    assert (await shelf.published("workflow", "desk"), await shelf.in_use("workflow")) == (None, [])
    (line,) = await shelf.names("workflow")
    assert (line.published, line.changed) == (0, True)
    draft = await shelf.draft("workflow", "desk")
    assert draft is not None
    assert draft.published == 0
    assert await shelf.published("workflow", "desk", 1) == one
    assert [each.number for each in await shelf.versions("workflow", "desk")] == [1]
    assert [each.name for each in await shelf.in_use("workflow", tenant="north")] == ["desk"]
    two = await shelf.publish("workflow", "desk")  # the same text: somebody wants it in use again
    assert (two.number, two.text) == (2, "one")
    await shelf.unpublish("workflow", "desk")
    three = await shelf.rollback("workflow", "desk", 1)
    assert (three.number, three.again) == (3, 1)
    assert [each.number for each in await shelf.in_use("workflow")] == [3]


async def test_tenants_and_kinds_have_names_of_their_own(store: Store) -> None:
    shelf = store.open().shelf
    kinds: tuple[ShelfKind, ...] = ("workflow", "agent", "prompt", "tool")
    for tenant in ("", "north", "south"):
        for kind in kinds:
            await shelf.save(kind, "desk", f"{tenant} {kind}", 0, tenant=tenant)
            await shelf.publish(kind, "desk", tenant=tenant)
    await shelf.save("prompt", "alone", "x", 0, tenant="north")
    for tenant in ("", "north", "south"):
        for kind in kinds:
            published = await shelf.published(kind, "desk", tenant=tenant)
            assert published is not None
            assert (published.text, published.number, published.kind) == (f"{tenant} {kind}", 1, kind)
    assert [line.name for line in await shelf.names("prompt", tenant="north")] == ["alone", "desk"]
    assert [line.name for line in await shelf.names("prompt", tenant="south")] == ["desk"]
    assert await shelf.draft("prompt", "alone", tenant="south") is None
    assert await shelf.versions("prompt", "alone", tenant="south") == []
    with pytest.raises(UnknownName):
        await shelf.publish("prompt", "alone", tenant="south")


async def test_what_can_not_be_kept_is_refused_before_the_shelf_is_touched(store: Store) -> None:
    shelf = store.open().shelf
    bad = (
        "",
        "a/b",
        "a\\b",
        "..",
        "-x",
        "a b",
        "a\n",
        "a\x00",
        "a\u200bb",
        "a\u202eb",
        "\ufeffa",
        "e\u0301",
        "ﬁ",
        "a@2",
    )
    for name in (*bad, "a" * 129):
        with pytest.raises(UsageError, match="the name"):
            await shelf.save("workflow", name, "x", 0)
        with pytest.raises(UsageError, match="the name"):
            await shelf.published("workflow", name)
    with pytest.raises(UsageError, match="no kind 'Poem'"):
        await shelf.save("Poem", "a", "x", 0)
    for text in ("x" * (TEXT_BYTES_MAX + 1), "é" * (TEXT_BYTES_MAX // 2 + 1)):
        with pytest.raises(UsageError, match="bytes: at most"):
            await shelf.save("workflow", "a", text, 0)
    with pytest.raises(UsageError, match="UTF-8"):
        await shelf.save("workflow", "a", "\ud800", 0)
    for user in ("a\x00", "\ud800", "x" * 1_001):
        with pytest.raises(UsageError, match="by="):
            await shelf.save("workflow", "a", "x", 0, by=user)
        with pytest.raises(UsageError, match="tenant="):
            await shelf.save("workflow", "a", "x", 0, tenant=user)
    for revision in (-1, 10**30):
        with pytest.raises(StaleDraft):
            await shelf.save("workflow", "a", "x", revision)
    assert await shelf.names("workflow") == []
    largest = await shelf.save("workflow", "Büro-büro.2", "é" * (TEXT_BYTES_MAX // 2), 0)
    assert await shelf.draft("workflow", "Büro-büro.2") == largest
    for text in ("", "a@", "a@0", "a@x", "a@1@2", "a@-1", "a@1000000000"):
        with pytest.raises(UsageError):
            reference(text)


async def test_a_full_shelf_refuses_and_keeps_what_it_has(shared: Store) -> None:
    for names, publications, size in ((10_001, 0, 0), (0, 10_001, 0), (0, 0, SHELF_BYTES_MAX + 1)):
        with pytest.raises(ShelfFull, match="the shelf is full"):
            check_shelf_room(names, publications, size)
    shelf = shared.open().shelf
    await shelf.save("prompt", "desk", "text", 0, tenant="north")
    row = "INSERT INTO publications VALUES ('north', 'tool', 'large', 1, {}, '', 0, '', 0)"
    if shared.place.startswith("postgresql:"):
        with psycopg.connect(shared.place, autocommit=True) as connection:
            large = f"convert_to(repeat('x', {SHELF_BYTES_MAX - 8}), 'UTF8')"
            connection.execute(row.format(large).replace("INTO ", "INTO actum."))
    else:
        with sqlite3.connect(shared.place) as file:
            file.execute(row.format(f"zeroblob({SHELF_BYTES_MAX - 8})"))
        file.close()
    assert (await shelf.publish("prompt", "desk", tenant="north")).number == 1
    for refused in (
        shelf.save("prompt", "desk", "longer", 1, tenant="north"),
        shelf.save("prompt", "new", "x", 0, tenant="north"),
    ):
        with pytest.raises(ShelfFull):
            await refused
    smaller = await shelf.save("prompt", "desk", "abc", 1, tenant="north")  # a smaller text always has room
    with pytest.raises(ShelfFull):
        await shelf.publish("prompt", "desk", tenant="north")
    assert await shelf.draft("prompt", "desk", tenant="north") == structs.replace(smaller, published=1)
    assert (await shelf.save("prompt", "desk", "free", 0, tenant="south")).revision == 1


async def test_of_many_that_save_and_publish_at_once_none_is_lost_unseen(shared: Store) -> None:
    one, two = shared.open().shelf, shared.open().shelf
    await one.save("workflow", "desk", "0", 0)
    for turn in range(1, 11):
        draft = await one.draft("workflow", "desk")
        assert draft is not None
        saved = await asyncio.gather(
            one.save("workflow", "desk", f"{turn} one", draft.revision),
            two.save("workflow", "desk", f"{turn} two", draft.revision),
            one.publish("workflow", "desk", revision=draft.revision),
            two.publish("workflow", "desk", revision=draft.revision),
            return_exceptions=True,
        )
        won = [each for each in saved[:2] if isinstance(each, ShelfDraft)]
        lost = [each for each in saved[:2] if isinstance(each, StaleDraft)]
        assert len(won) == len(lost) == 1
        assert lost[0].current == structs_like(won[0], lost[0].current)
        assert {type(each) for each in saved[2:]} <= {core_shelf.Publication, StaleDraft}
        made = {each.text for each in saved[2:] if isinstance(each, core_shelf.Publication)}
        assert made <= {draft.text}  # nobody published a text that he had not looked at
    numbers = [each.number for each in await two.versions("workflow", "desk")]
    assert numbers == list(range(len(numbers), 0, -1))


def structs_like(draft: ShelfDraft, current: ShelfDraft | None) -> ShelfDraft:
    """The draft, with the number of whatever was published meanwhile."""
    assert current is not None
    return structs.replace(draft, published=current.published)


_RACE = """
import asyncio, sys
from actum.core.stored.shelf import StaleDraft
from actum.storage.place import open_journal
async def main():
    journal, mine, wins = open_journal(sys.argv[1]), sys.argv[2], 0
    shelf = journal.shelf
    while wins < 10:
        draft = await shelf.draft("workflow", "desk")
        try:
            saved = await shelf.save("workflow", "desk", draft.text + mine, draft.revision, by=mine)
            wins += 1
            await shelf.publish("workflow", "desk", revision=saved.revision, by=mine)
        except StaleDraft:
            continue
    await journal.close()
asyncio.run(main())
"""


async def test_two_processes_lose_no_save_and_number_no_publication_twice(shared: Store) -> None:
    shelf = shared.open().shelf
    await shelf.save("workflow", "desk", "", 0)
    racing = [await asyncio.create_subprocess_exec(sys.executable, "-c", _RACE, shared.place, mine) for mine in "ab"]
    assert [await asyncio.wait_for(each.wait(), HANGS_S) for each in racing] == [0, 0]
    draft = await shelf.draft("workflow", "desk")
    assert draft is not None
    assert (sorted(draft.text), draft.revision) == (sorted("a" * 10 + "b" * 10), 21)
    versions = await shelf.versions("workflow", "desk")
    assert [each.number for each in versions] == list(range(len(versions), 0, -1))
    for each in versions:
        published = await shelf.published("workflow", "desk", each.number)
        assert published is not None
        assert draft.text.startswith(published.text)
        assert published.text.endswith(published.by)  # each published what it had saved itself


async def test_a_damaged_text_is_told_and_never_used(shared: Store) -> None:
    shelf = shared.open().shelf
    await shelf.save("workflow", "desk", "good", 0)
    await shelf.publish("workflow", "desk")
    if shared.place.startswith("postgresql:"):
        with psycopg.connect(shared.place, autocommit=True) as connection:
            connection.execute("UPDATE actum.publications SET text = 'evil'::bytea")
    else:
        with sqlite3.connect(shared.place) as file:
            file.execute("UPDATE publications SET text = CAST('evil' AS BLOB)")
        file.close()
    with pytest.raises(JournalError, match="the text of workflow 'desk' on the shelf is damaged"):
        await shelf.published("workflow", "desk")
    with pytest.raises(JournalError, match="damaged"):
        await shelf.rollback("workflow", "desk", 1)
    assert (await shelf.names("workflow"))[0].published == 1


async def test_lists_of_publications_read_no_text(shared: Store) -> None:
    journal = shared.open()
    shelf = journal.shelf
    assert (await shelf.in_use("workflow"), await shelf.publications_made("workflow")) == ([], 0)
    for name, about in (("b", "two\x00"), ("a", "one")):
        await shelf.save("workflow", name, f"text of {name}", 0, tenant="north")
        await shelf.publish("workflow", name, tenant="north", about=about)
    await shelf.publish("workflow", "a", tenant="north", about="again")  # the same text: nothing new
    found = await shelf.in_use("workflow", tenant="north")
    assert [(each.name, each.number, each.about) for each in found] == [("a", 1, "one"), ("b", 1, "two\x00")]
    assert await shelf.publications_made("workflow", tenant="north") == 2
    await shelf.save("workflow", "a", "other", 1, tenant="north")
    await shelf.publish("workflow", "a", tenant="north", about="other")
    await shelf.rollback("workflow", "a", 1, tenant="north", about="back")
    found = await shelf.in_use("workflow", tenant="north")
    assert [(each.name, each.number, each.about) for each in found] == [("a", 3, "back"), ("b", 1, "two\x00")]
    assert await shelf.publications_made("workflow", tenant="north") == 4
    for kind, tenant in (("workflow", ""), ("agent", "north")):
        assert await shelf.in_use(kind, tenant=tenant) == []
        assert await shelf.publications_made(kind, tenant=tenant) == 0


async def test_a_prompt_and_an_agent_are_published_like_a_workflow_and_a_run_keeps_what_it_began_with(
    store: Store,
) -> None:
    journal = store.open()
    shelf = journal.shelf
    for number, words in enumerate(("Be brief.", "Be kind.")):
        await shelf.save("prompt", "greeting", words, number)
        await shelf.publish("prompt", "greeting")
        await shelf.save("agent", "clerk", f'model = "ollama:qwen3"\ninstructions = "{words}"', number)
        await shelf.publish("agent", "clerk")

    async def instructed(run_id: str) -> str:
        prompt = await shelf.published("prompt", "greeting")
        assert prompt is not None
        agent = Agent(ScriptedModel(["Hello."]), instructions=prompt.text, journal=journal)
        await agent.run("Hi", run_id=run_id)
        started = (await journal.read(run_id))[0].record
        assert isinstance(started, Started)
        return started.instructions

    assert await instructed("run_1") == "Be kind."
    await shelf.rollback("prompt", "greeting", 1)
    assert await instructed("run_2") == "Be brief."
    began = (await journal.read("run_1"))[0].record
    assert isinstance(began, Started)
    assert began.instructions == "Be kind."
    clerk = await shelf.published("agent", "clerk", 1)
    assert clerk is not None
    assert msgspec.toml.decode(clerk.text, type=AgentTable).instructions == "Be brief."
    assert [line.name for line in await shelf.names("agent")] == ["clerk"]
    assert await shelf.names("workflow") == []


async def test_on_a_full_disk_a_save_fails_whole_and_the_shelf_stands(file: Store) -> None:
    shelf = file.open().shelf
    await shelf.save("workflow", "desk", "one", 0)
    await shelf.publish("workflow", "desk")
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, hard))
    try:
        with pytest.raises(JournalError, match=r"disk I/O error|disk is full"):
            await shelf.save("workflow", "desk", "x" * 900_000, 1)
        assert (await shelf.draft("workflow", "desk")) is not None
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    draft = await shelf.draft("workflow", "desk")
    assert draft is not None
    assert (draft.text, draft.revision) == ("one", 1)
    assert (await shelf.save("workflow", "desk", "two", 1)).revision == 2
    assert (await shelf.publish("workflow", "desk")).number == 2
