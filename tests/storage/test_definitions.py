"""The definitions: drafts that nobody overwrites unseen, and publications that never change."""

from __future__ import annotations

import asyncio
import resource
import sqlite3
import sys
from collections.abc import Awaitable, Callable
from contextlib import closing

import msgspec
import psycopg
import pytest
from msgspec import structs

from actum import Agent
from actum.compose.settings import AgentTable
from actum.core.errors import JournalError, UnknownName, UsageError
from actum.core.run.record import Started
from actum.core.stored import definitions as core_definitions
from actum.core.stored.definitions import (
    DEFINITIONS_BYTES_MAX,
    TEXT_BYTES_MAX,
    Canary,
    CanaryInUse,
    DefinitionDeed,
    DefinitionDraft,
    DraftInUse,
    KindName,
    PublicationInUse,
    StaleDraft,
    TooManyDefinitions,
    check_definition_quota,
    reference,
)
from actum.testing import ScriptedModel
from tests import warm
from tests.patience import HANGS_S

from .conftest import Store


async def test_a_stale_save_is_refused_and_carries_both_texts(store: Store) -> None:
    definitions = store.open().definitions
    assert await definitions.draft("workflow", "desk") is None
    first = await definitions.save("workflow", "desk", "one", 0, by="ann")
    second = await definitions.save("workflow", "desk", "two", first.revision, by="bob")
    with pytest.raises(StaleDraft, match=r"has the revision 2, saved by 'bob', and not 1") as refused:
        await definitions.save("workflow", "desk", "other", first.revision, by="ann")
    assert (refused.value.current, refused.value.text, refused.value.revision) == (second, "other", 1)
    assert await definitions.draft("workflow", "desk") == second
    with pytest.raises(StaleDraft, match="has the revision 2"):
        await definitions.save("workflow", "desk", "new", 0)
    with pytest.raises(StaleDraft, match="there is no draft with the revision 4"):
        await definitions.save("workflow", "none", "new", 4)
    assert await definitions.save("workflow", "desk", "two", 1) == second  # the reply to the second save was lost


async def test_publications_are_numbered_and_a_rollback_publishes_an_older_text_anew(store: Store) -> None:
    definitions = store.open().definitions
    with pytest.raises(UnknownName, match="no draft of workflow 'desk'"):
        await definitions.publish("workflow", "desk")
    assert await definitions.published("workflow", "desk") is None
    draft = await definitions.save("workflow", "desk", "one", 0)
    one = await definitions.publish("workflow", "desk", revision=1, by="ann")
    assert (one.number, one.text, one.digest, one.by, one.again) == (1, "one", draft.digest, "ann", 0)
    assert await definitions.publish("workflow", "desk") == one  # a second press of the button
    await definitions.save("workflow", "desk", "two", 1)
    assert [line.changed for line in await definitions.names("workflow")] == [True]
    with pytest.raises(StaleDraft, match="has the revision 2"):
        await definitions.publish("workflow", "desk", revision=1)
    two = await definitions.publish("workflow", "desk", revision=2)
    three = await definitions.rollback("workflow", "desk", 1, by="bob")
    assert (three.number, three.text, three.again, three.by) == (3, "one", 1, "bob")
    assert await definitions.rollback("workflow", "desk", 1) == three
    assert await definitions.published("workflow", "desk") == three
    assert [await definitions.published("workflow", "desk", number) for number in (1, 2, 3)] == [one, two, three]
    for number in (-1, 0, 4, 10**18):
        assert await definitions.published("workflow", "desk", number) is None
        with pytest.raises(UnknownName, match="no published workflow"):
            await definitions.rollback("workflow", "desk", number)
    assert [(each.number, each.again) for each in await definitions.versions("workflow", "desk")] == [
        (3, 1),
        (2, 0),
        (1, 0),
    ]
    (line,) = await definitions.names("workflow")
    assert (line.name, line.revision, line.published, line.changed) == ("desk", 2, 3, True)
    found = await definitions.draft("workflow", "desk")
    assert found is not None
    assert (found.text, found.revision, found.published) == ("two", 2, 3)


async def test_what_is_unpublished_is_not_in_use_and_keeps_its_number(store: Store) -> None:
    definitions = store.open().definitions
    for tenant in ("", "north"):
        await definitions.save("workflow", "desk", "one", 0, tenant=tenant)
        with pytest.raises(UnknownName, match="no published workflow 'desk'"):
            await definitions.unpublish("workflow", "desk", tenant=tenant)
        await definitions.publish("workflow", "desk", tenant=tenant)
    one = await definitions.published("workflow", "desk")
    assert one is not None
    made = await definitions.publications_made("workflow")
    assert await definitions.unpublish("workflow", "desk") == one
    assert await definitions.publications_made("workflow") > made
    with pytest.raises(UnknownName, match="no published workflow 'desk'"):
        await definitions.unpublish("workflow", "desk")
    assert (await definitions.published("workflow", "desk"), await definitions.in_use("workflow")) == (None, [])
    (line,) = await definitions.names("workflow")
    assert (line.published, line.changed) == (0, True)
    draft = await definitions.draft("workflow", "desk")
    assert draft is not None
    assert draft.published == 0
    assert await definitions.published("workflow", "desk", 1) == one
    assert [each.number for each in await definitions.versions("workflow", "desk")] == [1]
    assert [each.name for each in await definitions.in_use("workflow", tenant="north")] == ["desk"]
    two = await definitions.publish("workflow", "desk")  # the same text: somebody wants it in use again
    assert (two.number, two.text) == (2, "one")
    await definitions.unpublish("workflow", "desk")
    three = await definitions.rollback("workflow", "desk", 1)
    assert (three.number, three.again) == (3, 1)
    assert [each.number for each in await definitions.in_use("workflow")] == [3]


async def test_tenants_and_kinds_have_names_of_their_own(store: Store) -> None:
    definitions = store.open().definitions
    kinds: tuple[KindName, ...] = ("workflow", "agent", "prompt", "tool")
    for tenant in ("", "north", "south"):
        for kind in kinds:
            await definitions.save(kind, "desk", f"{tenant} {kind}", 0, tenant=tenant)
            await definitions.publish(kind, "desk", tenant=tenant)
    await definitions.save("prompt", "alone", "x", 0, tenant="north")
    for tenant in ("", "north", "south"):
        for kind in kinds:
            published = await definitions.published(kind, "desk", tenant=tenant)
            assert published is not None
            assert (published.text, published.number, published.kind) == (f"{tenant} {kind}", 1, kind)
    assert [line.name for line in await definitions.names("prompt", tenant="north")] == ["alone", "desk"]
    assert [line.name for line in await definitions.names("prompt", tenant="south")] == ["desk"]
    assert await definitions.draft("prompt", "alone", tenant="south") is None
    assert await definitions.versions("prompt", "alone", tenant="south") == []
    with pytest.raises(UnknownName):
        await definitions.publish("prompt", "alone", tenant="south")


async def test_what_can_not_be_kept_is_refused_before_anything_is_touched(store: Store) -> None:
    definitions = store.open().definitions
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
            await definitions.save("workflow", name, "x", 0)
        with pytest.raises(UsageError, match="the name"):
            await definitions.published("workflow", name)
    with pytest.raises(UsageError, match="'Poem' can not be a kind"):
        await definitions.save("Poem", "a", "x", 0)
    for text in ("x" * (TEXT_BYTES_MAX + 1), "é" * (TEXT_BYTES_MAX // 2 + 1)):
        with pytest.raises(UsageError, match="bytes: at most"):
            await definitions.save("workflow", "a", text, 0)
    with pytest.raises(UsageError, match="UTF-8"):
        await definitions.save("workflow", "a", "\ud800", 0)
    for user in ("a\x00", "\ud800", "x" * 1_001):
        with pytest.raises(UsageError, match="by="):
            await definitions.save("workflow", "a", "x", 0, by=user)
        with pytest.raises(UsageError, match="tenant="):
            await definitions.save("workflow", "a", "x", 0, tenant=user)
    for revision in (-1, 10**30):
        with pytest.raises(StaleDraft):
            await definitions.save("workflow", "a", "x", revision)
    assert await definitions.names("workflow") == []
    largest = await definitions.save("workflow", "Büro-büro.2", "é" * (TEXT_BYTES_MAX // 2), 0)
    assert await definitions.draft("workflow", "Büro-büro.2") == largest
    for text in ("", "a@", "a@0", "a@x", "a@1@2", "a@-1", "a@1000000000"):
        with pytest.raises(UsageError):
            reference(text)


async def test_ten_thousand_names_of_one_kind_leave_room_for_other_kinds_and_other_tenants(shared: Store) -> None:
    definitions = shared.open().definitions
    await definitions.save("tool", "first", "x", 0, tenant="north")
    is_postgres = shared.place.startswith("postgresql:")
    text, table = ("decode('78', 'hex')", "actum.drafts") if is_postgres else ("x'78'", "drafts")
    rows = f"""WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
        INSERT INTO {table} (tenant, kind, name, text, revision, digest, at, author, published)
        SELECT 'north', 'tool', 't' || i, {text}, 1, 'd', 0, '', 0 FROM n"""
    if is_postgres:
        with psycopg.connect(shared.place, autocommit=True) as connection:
            connection.execute(rows)
    else:
        with closing(sqlite3.connect(shared.place)) as file, file:
            file.execute(rows)
    with pytest.raises(TooManyDefinitions, match="10000 names of a kind"):
        await definitions.save("tool", "one_more", "x", 0, tenant="north")
    assert (await definitions.save("agent", "helper", "x", 0, tenant="north")).revision == 1
    assert (await definitions.save("tool", "one_more", "x", 0, tenant="south")).revision == 1


async def test_a_full_journal_refuses_and_keeps_what_it_has(shared: Store) -> None:
    for names, publications, size in ((10_001, 0, 0), (0, 10_001, 0), (0, 0, DEFINITIONS_BYTES_MAX + 1)):
        with pytest.raises(TooManyDefinitions, match="there is no room"):
            check_definition_quota(names, publications, size)
    definitions = shared.open().definitions
    await definitions.save("prompt", "desk", "text", 0, tenant="north")
    row = "INSERT INTO publications VALUES ('north', 'tool', 'large', 1, {}, '', 0, '', 0, '', '')"
    if shared.place.startswith("postgresql:"):
        with psycopg.connect(shared.place, autocommit=True) as connection:
            large = f"convert_to(repeat('x', {DEFINITIONS_BYTES_MAX - 8}), 'UTF8')"
            connection.execute(row.format(large).replace("INTO ", "INTO actum."))
    else:
        with sqlite3.connect(shared.place) as file:
            file.execute(row.format(f"zeroblob({DEFINITIONS_BYTES_MAX - 8})"))
        file.close()
    assert (await definitions.publish("prompt", "desk", tenant="north")).number == 1
    for refused in (
        definitions.save("prompt", "desk", "longer", 1, tenant="north"),
        definitions.save("prompt", "new", "x", 0, tenant="north"),
    ):
        with pytest.raises(TooManyDefinitions):
            await refused
    smaller = await definitions.save("prompt", "desk", "abc", 1, tenant="north")  # a smaller text always has room
    with pytest.raises(TooManyDefinitions):
        await definitions.publish("prompt", "desk", tenant="north")
    assert await definitions.draft("prompt", "desk", tenant="north") == structs.replace(smaller, published=1)
    assert (await definitions.save("prompt", "desk", "free", 0, tenant="south")).revision == 1


async def test_of_many_that_save_and_publish_at_once_none_is_lost_unseen(shared: Store) -> None:
    one, two = shared.open().definitions, shared.open().definitions
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
        won = [each for each in saved[:2] if isinstance(each, DefinitionDraft)]
        lost = [each for each in saved[:2] if isinstance(each, StaleDraft)]
        assert len(won) == len(lost) == 1
        assert lost[0].current == structs_like(won[0], lost[0].current)
        assert {type(each) for each in saved[2:]} <= {core_definitions.Publication, StaleDraft}
        made = {each.text for each in saved[2:] if isinstance(each, core_definitions.Publication)}
        assert made <= {draft.text}  # nobody published a text that he had not looked at
    numbers = [each.number for each in await two.versions("workflow", "desk")]
    assert numbers == list(range(len(numbers), 0, -1))


def structs_like(draft: DefinitionDraft, current: DefinitionDraft | None) -> DefinitionDraft:
    """The draft, with the number of whatever was published meanwhile."""
    assert current is not None
    return structs.replace(draft, published=current.published)


_RACE = """
import asyncio, sys
from actum.core.stored.definitions import StaleDraft
from actum.storage.place import open_journal
async def main():
    journal, mine, wins = open_journal(sys.argv[1]), sys.argv[2], 0
    definitions = journal.definitions
    while wins < 10:
        draft = await definitions.draft("workflow", "desk")
        try:
            saved = await definitions.save("workflow", "desk", draft.text + mine, draft.revision, by=mine)
            wins += 1
            await definitions.publish("workflow", "desk", revision=saved.revision, by=mine)
        except StaleDraft:
            continue
    await journal.close()
asyncio.run(main())
"""


async def test_two_processes_lose_no_save_and_number_no_publication_twice(shared: Store) -> None:
    definitions = shared.open().definitions
    await definitions.save("workflow", "desk", "", 0)
    racing = [await warm.start(sys.executable, "-c", _RACE, shared.place, mine) for mine in "ab"]
    assert [await asyncio.wait_for(each.wait(), HANGS_S) for each in racing] == [0, 0]
    draft = await definitions.draft("workflow", "desk")
    assert draft is not None
    assert (sorted(draft.text), draft.revision) == (sorted("a" * 10 + "b" * 10), 21)
    versions = await definitions.versions("workflow", "desk")
    assert [each.number for each in versions] == list(range(len(versions), 0, -1))
    for each in versions:
        published = await definitions.published("workflow", "desk", each.number)
        assert published is not None
        assert draft.text.startswith(published.text)
        assert published.text.endswith(published.by)  # each published what it had saved itself


async def test_a_damaged_text_is_told_and_never_used(shared: Store) -> None:
    definitions = shared.open().definitions
    await definitions.save("workflow", "desk", "good", 0)
    await definitions.publish("workflow", "desk")
    if shared.place.startswith("postgresql:"):
        with psycopg.connect(shared.place, autocommit=True) as connection:
            connection.execute("UPDATE actum.publications SET text = 'evil'::bytea")
    else:
        with sqlite3.connect(shared.place) as file:
            file.execute("UPDATE publications SET text = CAST('evil' AS BLOB)")
        file.close()
    with pytest.raises(JournalError, match="the text of workflow 'desk' in the journal is damaged"):
        await definitions.published("workflow", "desk")
    with pytest.raises(JournalError, match="damaged"):
        await definitions.rollback("workflow", "desk", 1)
    assert (await definitions.names("workflow"))[0].published == 1


async def test_a_share_of_the_users_gets_another_publication_until_something_is_published_or_taken_back(
    store: Store,
) -> None:
    definitions = store.open().definitions
    for number, text in enumerate(("one", "two")):
        await definitions.save("agent", "desk", text, number)
        await definitions.publish("agent", "desk", source=f"{text}.yaml", about="Helps.")
    counts = [await definitions.publications_made("agent")]

    async def line(kind: str = "agent") -> tuple[int, Canary | None, str] | None:
        found = await definitions.line_in_use(kind, "desk")
        counts.append(await definitions.publications_made("agent"))
        assert ([found] if found is not None else []) == await definitions.in_use(kind)
        return (found.number, found.canary, found.about) if found is not None else None

    for wrong, error in ((Canary(3, 5), UnknownName), (Canary(2, 5), CanaryInUse), (Canary(1, 101), UsageError)):
        with pytest.raises(error):
            await definitions.set_canary("agent", "desk", wrong)
    with pytest.raises(UnknownName):
        await definitions.set_canary("agent", "none", Canary(1, 5))
    with pytest.raises(UnknownName):
        await definitions.set_canary("agent", "desk", Canary(1, 5), tenant="north")
    assert await line() == (2, None, "Helps.")
    await definitions.set_canary("agent", "desk", Canary(1, 5))
    assert (await line(), await line("workflow")) == ((2, Canary(1, 5), "Helps."), None)
    await definitions.set_canary("agent", "desk", Canary(1, 0))
    assert await line() == (2, None, "Helps.")
    endings: list[Callable[[], Awaitable[object]]] = [
        lambda: definitions.publish("agent", "desk"),  # the text that is in use already
        lambda: definitions.rollback("agent", "desk", 2),
        lambda: definitions.rollback("agent", "desk", 1),
        lambda: definitions.unpublish("agent", "desk"),
    ]
    for ends in endings:
        in_use = await definitions.line_in_use("agent", "desk")
        assert in_use is not None
        await definitions.set_canary("agent", "desk", Canary(1 if in_use.number == 2 else 2, 50))
        await ends()
        left = await line()
        assert left is None or left[1] is None
    assert counts == sorted(counts), "each change is seen by those who count"
    assert len(set(counts)) == 7
    assert [each.source for each in await definitions.versions("agent", "desk")] == ["one.yaml", "two.yaml", "one.yaml"]


def test_a_user_always_gets_the_same_publication_and_keeps_the_new_one_when_more_get_it() -> None:
    users = [f"user {number}" for number in range(2_000)]

    def drawn(share: int, number: int = 4) -> set[str]:
        line = PublicationInUse(name="desk", number=3, digest="", at=0, canary=Canary(number, share))
        return {user for user in users if line.number_for(user) == number}

    few, more = drawn(10), drawn(30)
    assert (drawn(0), few < more, drawn(100)) == (set(), True, set(users))
    assert (150 < len(few) < 250, 500 < len(more) < 700, few != drawn(10, 5)) == (True, True, True)


async def test_changes_of_drafts_are_told_behind_a_number_with_who_made_them_to_their_tenant_alone(
    store: Store,
) -> None:
    mine = store.open().definitions
    assert await mine.drafts_changed(None) == []
    await mine.save("tool", "pay", "one", 0, by="ann")
    await mine.save("tool", "pay", "one", 1, by="ann")  # changes nothing
    (first,) = await mine.drafts_changed(None)
    assert (first.kind, first.name, first.revision, first.by, first.is_gone) == ("tool", "pay", 1, "ann", False)
    await mine.save("workflow", "desk", "x", 0, by="bob")
    await mine.save("tool", "pay", "two", 1, by="bob")
    await mine.save("agent", "spy", "x", 0, tenant="south")
    with pytest.raises(StaleDraft):
        await mine.save("tool", "pay", "three", 1)
    found = await mine.drafts_changed(first.number)
    assert [(each.name, each.revision, each.by) for each in found] == [("desk", 1, "bob"), ("pay", 2, "bob")]
    assert await mine.drafts_changed(found[-1].number) == []
    await mine.delete_draft("tool", "pay", by="cy")
    (gone,) = await mine.drafts_changed(found[-1].number)
    assert (gone.name, gone.revision, gone.by, gone.is_gone) == ("pay", 2, "cy", True)
    assert [each.name for each in await mine.drafts_changed(0, tenant="south")] == ["spy"]


async def test_a_draft_is_deleted_where_nothing_is_in_use_and_its_revisions_never_come_again(store: Store) -> None:
    definitions = store.open().definitions
    await definitions.save("tool", "pay", "one", 0)
    await definitions.publish("tool", "pay")
    with pytest.raises(DraftInUse):
        await definitions.delete_draft("tool", "pay")
    await definitions.save("tool", "pay", "two", 1)
    await definitions.unpublish("tool", "pay")
    with pytest.raises(StaleDraft, match="has the revision 2"):
        await definitions.delete_draft("tool", "pay", revision=1)
    for kind, tenant in (("tool", "north"), ("agent", "")):
        with pytest.raises(UnknownName):
            await definitions.delete_draft(kind, "pay", tenant=tenant)
    was = await definitions.delete_draft("tool", "pay", revision=2)
    assert (was.text, await definitions.draft("tool", "pay"), await definitions.names("tool")) == ("two", None, [])
    with pytest.raises(UnknownName):
        await definitions.delete_draft("tool", "pay")
    with pytest.raises(UnknownName):
        await definitions.publish("tool", "pay")
    with pytest.raises(StaleDraft, match="there is no draft with the revision 2"):
        await definitions.save("tool", "pay", "of somebody who looked at the old one", 2)
    assert (await definitions.save("tool", "pay", "three", 0)).revision == 3
    await definitions.delete_draft("tool", "pay")
    back = await definitions.rollback("tool", "pay", 1)
    draft = await definitions.draft("tool", "pay")
    assert draft is not None
    assert (back.number, draft.text, draft.published) == (2, "one", 2), "what is in use has a draft"


async def test_what_mentions_a_word_is_found_among_what_is_in_use_alone(store: Store) -> None:
    definitions = store.open().definitions
    texts = {"a": "tools: [pay]", "b": "tools: [other]", "c": "tools: [pay]", "d": '{"tools": ["z\\u00e4hlen"]}'}
    for name, text in texts.items():
        await definitions.save("agent", name, text, 0)
        await definitions.publish("agent", name)
    await definitions.unpublish("agent", "c")

    async def found(word: str, **more: str) -> set[str]:
        return {each.name for each in await definitions.mentioning("agent", word, **more)}

    assert (await found("pay"), await found("pay", tenant="north"), await found("nothing")) == ({"a"}, set(), set())
    assert "d" in await found("zählen"), "other letters may be written in ways of their own"
    (only,) = await definitions.mentioning("agent", "pay")
    assert only == await definitions.published("agent", "a")


_PUBLISHES = """
import asyncio, itertools, sys
from actum.storage.place import open_journal


async def main():
    definitions = open_journal(sys.argv[1]).definitions
    for revision in itertools.count():
        await definitions.save("tool", "pay", f"text {revision}", revision)
        made = await definitions.publish("tool", "pay", source="pay.json")
        print(made.number, flush=True)


asyncio.run(main())
"""


async def test_a_process_that_is_killed_as_it_publishes_leaves_all_or_nothing(shared: Store) -> None:
    journal = shared.open()
    dying = await warm.start(sys.executable, "-c", _PUBLISHES, shared.place, stdout=asyncio.subprocess.PIPE)
    assert dying.stdout is not None
    told = 0
    async with asyncio.timeout(HANGS_S):
        for _ in range(5):
            told = int(await dying.stdout.readline())
        dying.kill()  # in whatever it is doing
        await dying.wait()
    definitions = journal.definitions
    draft, line = await definitions.draft("tool", "pay"), await definitions.line_in_use("tool", "pay")
    versions = await definitions.versions("tool", "pay")
    assert (draft is not None, line is not None, len(versions) >= told) == (True, True, True)
    assert draft is not None
    assert line is not None
    assert [each.number for each in versions] == list(range(len(versions), 0, -1))
    assert (draft.published, line.number, line.digest) == (len(versions), len(versions), versions[0].digest)
    assert await definitions.publications_made("tool") == len(versions)
    assert (await definitions.save("tool", "pay", "next", draft.revision)).revision == draft.revision + 1
    assert (await definitions.publish("tool", "pay")).number == len(versions) + 1, "nobody is held up by it"


async def test_lists_of_publications_read_no_text(shared: Store) -> None:
    journal = shared.open()
    definitions = journal.definitions
    assert (await definitions.in_use("workflow"), await definitions.publications_made("workflow")) == ([], 0)
    for name, about in (("b", "two\x00"), ("a", "one")):
        await definitions.save("workflow", name, f"text of {name}", 0, tenant="north")
        await definitions.publish("workflow", name, tenant="north", about=about)
    await definitions.publish("workflow", "a", tenant="north", about="again")  # the same text: nothing new
    found = await definitions.in_use("workflow", tenant="north")
    assert [(each.name, each.number, each.about) for each in found] == [("a", 1, "one"), ("b", 1, "two\x00")]
    assert await definitions.publications_made("workflow", tenant="north") == 2
    await definitions.save("workflow", "a", "other", 1, tenant="north")
    await definitions.publish("workflow", "a", tenant="north", about="other")
    await definitions.rollback("workflow", "a", 1, tenant="north", about="back")
    found = await definitions.in_use("workflow", tenant="north")
    assert [(each.name, each.number, each.about) for each in found] == [("a", 3, "back"), ("b", 1, "two\x00")]
    assert await definitions.publications_made("workflow", tenant="north") == 4
    for kind, tenant in (("workflow", ""), ("agent", "north")):
        assert await definitions.in_use(kind, tenant=tenant) == []
        assert await definitions.publications_made(kind, tenant=tenant) == 0


async def test_a_prompt_and_an_agent_are_published_like_a_workflow_and_a_run_keeps_what_it_began_with(
    store: Store,
) -> None:
    journal = store.open()
    definitions = journal.definitions
    for number, words in enumerate(("Be brief.", "Be kind.")):
        await definitions.save("prompt", "greeting", words, number)
        await definitions.publish("prompt", "greeting")
        await definitions.save("agent", "clerk", f'model = "ollama:qwen3"\ninstructions = "{words}"', number)
        await definitions.publish("agent", "clerk")

    async def instructed(run_id: str) -> str:
        prompt = await definitions.published("prompt", "greeting")
        assert prompt is not None
        agent = Agent(ScriptedModel(["Hello."]), instructions=prompt.text, journal=journal)
        await agent.run("Hi", run_id=run_id)
        started = (await journal.read(run_id))[0].record
        assert isinstance(started, Started)
        return started.instructions

    assert await instructed("run_1") == "Be kind."
    await definitions.rollback("prompt", "greeting", 1)
    assert await instructed("run_2") == "Be brief."
    began = (await journal.read("run_1"))[0].record
    assert isinstance(began, Started)
    assert began.instructions == "Be kind."
    clerk = await definitions.published("agent", "clerk", 1)
    assert clerk is not None
    assert msgspec.toml.decode(clerk.text, type=AgentTable).instructions == "Be brief."
    assert [line.name for line in await definitions.names("agent")] == ["clerk"]
    assert await definitions.names("workflow") == []


async def test_on_a_full_disk_a_save_fails_whole_and_what_was_kept_stands(file: Store) -> None:
    definitions = file.open().definitions
    await definitions.save("workflow", "desk", "one", 0)
    await definitions.publish("workflow", "desk")
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, hard))
    try:
        with pytest.raises(JournalError, match=r"disk I/O error|disk is full"):
            await definitions.save("workflow", "desk", "x" * 900_000, 1)
        assert (await definitions.draft("workflow", "desk")) is not None
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    draft = await definitions.draft("workflow", "desk")
    assert draft is not None
    assert (draft.text, draft.revision) == ("one", 1)
    assert (await definitions.save("workflow", "desk", "two", 1)).revision == 2
    assert (await definitions.publish("workflow", "desk")).number == 2


async def test_of_several_deeds_all_are_done_or_none(store: Store) -> None:
    definitions = store.open().definitions
    await definitions.save("tool", "old", "old", 0)
    await definitions.publish("tool", "old")
    await definitions.save("tool", "two", "of another", 0)

    def deeds(revision: int = 0) -> list[DefinitionDeed]:
        texts = [DefinitionDeed(kind="prompt", name="one", text="one", about="One.")]
        texts.append(DefinitionDeed(kind="tool", name="two", text="two", revision=revision))
        return [*texts, DefinitionDeed(kind="tool", name="old", text=None)]

    with pytest.raises(StaleDraft) as stale:
        await definitions.apply(deeds())
    assert (stale.value.text, stale.value.current and stale.value.current.text) == ("two", "of another")
    with pytest.raises(UnknownName):
        await definitions.apply([*deeds(revision=1), DefinitionDeed(kind="tool", name="none", text=None)])
    assert await definitions.in_use("prompt") == []
    assert [line.name for line in await definitions.in_use("tool")] == ["old"]
    assert await definitions.draft("prompt", "one") is None
    made = await definitions.apply(deeds(revision=1), by="ann")
    assert [(each.name, each.number, each.by) for each in made] == [
        ("one", 1, "ann"),
        ("two", 1, "ann"),
        ("old", 1, ""),
    ]
    (line,) = await definitions.in_use("prompt")
    assert (line.about, [each.name for each in await definitions.in_use("tool")]) == ("One.", ["two"])
    counts = [await definitions.publications_made(kind) for kind in ("prompt", "tool")]
    again = [each for each in deeds(revision=1) if each.text is not None]
    assert [each.number for each in await definitions.apply(again)] == [1, 1]
    assert [await definitions.publications_made(kind) for kind in ("prompt", "tool")] == counts
    assert await definitions.in_use("tool", tenant="north") == []


_DIES = """
import asyncio, os, signal, sys
from actum.core.stored.definitions import DefinitionDeed
from actum.storage.place import open_journal


class Deadly(list):
    read = 0

    def __iter__(self):
        self.read += 1
        for number, deed in enumerate(list.__iter__(self)):
            if self.read == 3 and number == 40:  # once to look at them, twice to check them, then they are written
                os.kill(os.getpid(), signal.SIGKILL)
            yield deed


async def main():
    deeds = [DefinitionDeed(kind="prompt", name=f"p{number}", text="new") for number in range(80)]
    await open_journal(sys.argv[1]).definitions.apply(Deadly(deeds))


asyncio.run(main())
"""


async def test_a_process_that_is_killed_among_several_deeds_leaves_none_of_them(shared: Store) -> None:
    definitions = shared.open().definitions
    await definitions.save("prompt", "p0", "new", 0)
    dying = await warm.start(sys.executable, "-c", _DIES, shared.place)
    async with asyncio.timeout(HANGS_S):
        assert await dying.wait() == -9
    assert [line.name for line in await definitions.names("prompt")] == ["p0"]
    assert (await definitions.in_use("prompt"), await definitions.publications_made("prompt")) == ([], 0)
    made = await definitions.apply([DefinitionDeed(kind="prompt", name="p0", text="new", revision=1)])
    assert [each.number for each in made] == [1], "nobody is held up by the process that died"
