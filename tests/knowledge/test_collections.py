"""Collections hold what lies in their folders, and nobody finds what others may read."""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
import unicodedata
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from actum.core.errors import ActumError, Busy, PermissionDenied, UnknownName, UsageError
from actum.core.interfaces import Journal
from actum.knowledge.collections import CollectionNameTaken, CollectionUser, listed, make, named, remove, set_readers
from actum.knowledge.documents import documents_of, page_of, put_document, remove_document
from actum.knowledge.jailed_reader import JailedReader
from actum.knowledge.search import search
from actum.knowledge.tables import INDEX, PASSAGES
from actum.knowledge.update import update
from actum.storage.sqlite import SQLiteJournal
from tests import warm
from tests.storage.conftest import Store, shared, store

__all__ = ["shared", "store"]
pytestmark = pytest.mark.row("F8")

ANN, BOB, CLERK = CollectionUser("", "ann"), CollectionUser("", "bob"), CollectionUser("", "cleo", ("staff",))
NORTH, ROOT = CollectionUser("north", "ann", ("staff",)), CollectionUser("", "root", administers=True)
TRAVEL = "# Travel\n\nA hotel may cost 120 euros.\n\n# 酒店\n\n酒店每晚最多一百二十欧元。\n"


def write(folder: Path, **files: str) -> None:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.md").write_text(text, "utf-8")


@pytest.fixture
async def reader() -> AsyncIterator[JailedReader]:
    async with JailedReader() as made:
        yield made


async def found(journal: Journal, who: CollectionUser, question: str, name: str = "rules") -> list[str]:
    return [each.document for each in await search(journal, who, name, question)]


async def test_an_update_reads_what_is_new_or_changed_and_lets_go_of_what_is_gone(store: Store, tmp_path: Path) -> None:
    journal, folder = store.open(), tmp_path / "docs"
    write(folder, travel=TRAVEL, notice="# Notice\n\nThree months.", old="Nothing.")
    await make(journal, ANN, "rules", folder=str(folder))
    report = await update(journal, ANN, "rules")
    assert (report.read, report.unchanged, report.removed, report.problems) == (3, 0, 0, ())
    assert await found(journal, ANN, "How much may a hotel cost?") == ["travel.md"]
    assert await found(journal, ANN, "酒店最多多少钱？") == ["travel.md"]
    assert await found(journal, ANN, "hotels") == []  # words are equal or not
    write(folder, travel="# Travel\n\nA hostel may cost 80 euros.")
    (folder / "old.md").unlink()
    os.utime(folder / "notice.md", (1, 1))  # touched, and the same
    report = await update(journal, ANN, "rules")
    assert (report.read, report.unchanged, report.removed) == (1, 1, 1)
    assert await found(journal, ANN, "hotel 酒店") == []
    assert await found(journal, ANN, "hostel") == ["travel.md"]
    row = await named(journal, ANN, "rules")
    assert (row.documents, row.passages) == (2, len(await journal.stores.find("", PASSAGES)))
    assert (await update(journal, ANN, "rules", every=True)).removed == 0
    await remove(journal, ANN, "rules")
    assert [await journal.stores.count("", table) for table in (PASSAGES, *INDEX.tables)] == [0, 0, 0]


async def test_nobody_else_learns_that_a_collection_exists_but_by_its_name_being_taken(
    store: Store, tmp_path: Path
) -> None:
    journal, folder = store.open(), tmp_path / "docs"
    write(folder, travel=TRAVEL)
    await make(journal, ANN, "rules", ["role:staff", "user:dan"], str(folder))
    await update(journal, ANN, "rules")
    for who in (ANN, CLERK, CollectionUser("", "dan"), ROOT):
        assert await found(journal, who, "hotel") == ["travel.md"]
        assert [each.name for each in await listed(journal, who)] == ["rules"]
    for who in (
        BOB,
        NORTH,
        CollectionUser("", ""),
        CollectionUser("", "role:staff"),
        CollectionUser("", "bob", ("all", "user:dan")),
    ):
        assert await listed(journal, who) == []
        for name in ("rules", "none"):
            told = [await refused(journal, who, name, at) for at in range(8)]
            assert set(told) == {f"UnknownName there is no collection '{name}'"}
    with pytest.raises(CollectionNameTaken):
        await make(journal, BOB, "rules")
    await make(journal, NORTH, "rules")  # names are unique within a tenant
    for act in (update(journal, CLERK, "rules"), set_readers(journal, CLERK, "rules", ["all"])):
        with pytest.raises(PermissionDenied):
            await act
    await set_readers(journal, ANN, "rules", ["all"])
    assert await found(journal, BOB, "hotel") == ["travel.md"]
    await set_readers(journal, ANN, "rules", [])
    with pytest.raises(UnknownName):
        await found(journal, CLERK, "hotel")


async def refused(journal: Journal, who: CollectionUser, name: str, at: int) -> str:
    """What a caller is told who may not read."""
    acts = [
        search(journal, who, name, "hotel"),
        search(journal, who, name, "?!"),
        update(journal, who, name),
        documents_of(journal, who, name),
        page_of(journal, who, name, "travel.md"),
        put_document(journal, who, name, "../x.md", b"x"),
        set_readers(journal, who, name, ["all"]),
        remove(journal, who, name),
    ]
    for number, act in enumerate(acts):
        if number != at:
            act.close()
    with pytest.raises(ActumError) as error:
        await acts[at]
    return f"{type(error.value).__name__} {error.value}"


async def test_what_one_may_not_read_does_not_change_the_order_of_what_one_sees(
    store: Store, reader: JailedReader
) -> None:
    journal = store.open()
    for name, owner in (("mine", BOB), ("theirs", ANN)):
        await make(journal, owner, name)
    for path, text in (("a.md", "hotel hotel rome"), ("b.md", "hotel oslo oslo oslo"), ("c.md", "train")):
        await put_document(journal, BOB, "mine", path, text.encode(), reader)
    before = await search(journal, BOB, "mine", "hotel oslo")
    for number in range(20):
        await put_document(journal, ANN, "theirs", f"{number}.md", b"oslo oslo oslo", reader)
    assert await search(journal, BOB, "mine", "hotel oslo") == before
    assert [each.document for each in before] == ["b.md", "a.md"]


async def test_the_second_of_two_updates_is_told_that_the_first_is_at_work(shared: Store, tmp_path: Path) -> None:
    journal, other, folder = shared.open(), shared.open(), tmp_path / "docs"
    write(folder, travel=TRAVEL)
    row = await make(journal, ANN, "rules", folder=str(folder))
    async with journal.claim(f"knowledge:{row.id}"):
        with pytest.raises(Busy, match="another update of the collection 'rules' is at work"):
            await update(other, ANN, "rules")
    assert (await update(other, ANN, "rules")).read == 1


@pytest.mark.skipif(sys.platform == "win32", reason="links and names of POSIX")
async def test_nothing_outside_of_the_folder_is_read_and_odd_names_are_told(tmp_path: Path) -> None:
    journal, folder = SQLiteJournal(tmp_path / "j.db"), tmp_path / "docs"
    write(folder, travel=TRAVEL)
    (tmp_path / "secret.md").write_text("hotel secret")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "deep.md").write_text("hotel secret")
    (folder / "link.md").symlink_to(tmp_path / "secret.md")
    (folder / "folder").symlink_to(tmp_path / "outside")
    (folder / ".hidden.md").write_text("hotel secret")
    (folder / "bad\x1b[2Jname.md").write_text("hotel")
    os.mkfifo(folder / "pipe.md")
    (folder / os.fsdecode(b"caf\xe9.md")).write_text("hotel")
    (folder / "<b>x<b>.md").write_text("hotel")
    await make(journal, ANN, "rules", folder=str(folder))
    report = await update(journal, ANN, "rules")
    assert sorted(await found(journal, ANN, "hotel")) == ["<b>x<b>.md", "travel.md"]
    told = {each.document: each.problem for each in report.problems}
    assert told.keys() == {"link.md", "folder", "pipe.md", "bad\\x1b[2Jname.md", "caf%E9.md"}
    assert not any(unicodedata.category(sign) == "Cc" for name in told for sign in name)
    for path in ("../secret.md", "/etc/passwd", "a//b.md", "a/./b.md", "", "x" * 500, "a\nb.md"):
        with pytest.raises(UsageError):
            await put_document(journal, ANN, "rules", path, b"x")
    folder.rename(tmp_path / "gone")
    with pytest.raises(UsageError, match="nothing was changed"):
        await update(journal, ANN, "rules")
    assert (await named(journal, ANN, "rules")).documents == 2
    await journal.close()


@pytest.mark.skipif(sys.platform == "win32", reason="folders of POSIX")
async def test_a_folder_may_be_as_deep_as_it_likes(tmp_path: Path) -> None:
    journal, folder = SQLiteJournal(tmp_path / "j.db"), tmp_path / "docs"
    write(folder, travel=TRAVEL)
    number, depth = os.open(folder, os.O_RDONLY), 1_100  # deeper than Python calls functions in each other
    for _ in range(depth):
        os.mkdir("d", dir_fd=number)
        number = _gone_to("d", number)
    await make(journal, ANN, "rules", folder=str(folder))
    try:
        report = await update(journal, ANN, "rules")
    finally:  # whoever empties the folder of the tests goes down less far
        for _ in range(depth):
            number = _gone_to("..", number)
            os.rmdir("d", dir_fd=number)
        os.close(number)
    assert (report.read, len(report.problems)) == (1, 1)
    assert report.problems[0].document.startswith("d/d/d/")
    assert "too long" in report.problems[0].problem
    await journal.close()


def _gone_to(name: str, number: int) -> int:
    """The folder of a name in an open folder, which is closed."""
    try:
        return os.open(name, os.O_RDONLY, dir_fd=number)
    finally:
        os.close(number)


UNREAD = """
import asyncio, os, sys, tempfile
from pathlib import Path
from actum.core.errors import UsageError
from actum.journal.memory import MemoryJournal
from actum.knowledge.collections import CollectionUser, make
from actum.knowledge.documents import documents_of
from actum.knowledge.update import update
ANN = CollectionUser("", "ann")
IS_ROOT = os.geteuid() == 0

def go_as(user):  # whoever may read everything is not kept out of a folder
    if IS_ROOT:
        os.seteuid(user)

async def main():
    with tempfile.TemporaryDirectory() as place:
        journal, folder = MemoryJournal(), Path(place, "docs")
        (folder / "sub").mkdir(parents=True)
        Path(place).chmod(0o755)
        (folder / "sub" / "b.md").write_text("hotel of glass")
        (folder / "a.md").write_text("hotel")
        await make(journal, ANN, "rules", folder=str(folder))
        print((await update(journal, ANN, "rules")).read)
        (folder / "sub").chmod(0)
        go_as(65534)
        report = await update(journal, ANN, "rules")
        go_as(0)
        print(report.removed, *(f"{each.document}: {each.problem}" for each in report.problems))
        print(*(each.path for each in await documents_of(journal, ANN, "rules")))
        (folder / "sub").chmod(0o700)
        folder.chmod(0)
        go_as(65534)
        try:
            await update(journal, ANN, "rules")
        except UsageError as error:
            print(str(error).endswith("docs can not be read: nothing was changed"))
        go_as(0)
        folder.chmod(0o700)
        report = await update(journal, ANN, "rules")
        print(report.unchanged, len(report.problems))

asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="rights of POSIX")
def test_a_folder_that_can_not_be_read_is_told_and_its_documents_stay() -> None:
    done = warm.run([sys.executable, "-c", UNREAD], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == [
        "2",
        "0 sub: the folder can not be read: what was read of it before stays",
        "a.md sub sub/b.md",
        "True",
        "2 0",
    ], done.stderr


async def test_a_document_that_was_put_stays_when_the_folder_is_updated(store: Store, tmp_path: Path) -> None:
    journal, folder = store.open(), tmp_path / "docs"
    write(folder, travel=TRAVEL)
    await make(journal, ANN, "rules", folder=str(folder))
    await put_document(journal, ANN, "rules", "more/put.md", b"hotel of glass")
    assert (await update(journal, ANN, "rules")).removed == 0
    assert await found(journal, ANN, "glass") == ["more/put.md"]
    row, page = await page_of(journal, ANN, "rules", "more/put.md")
    assert (row.title, page.text) == ("put.md", "hotel of glass")
    await remove_document(journal, ANN, "rules", "more/put.md")
    assert await found(journal, ANN, "glass") == []
    with pytest.raises(UnknownName):
        await remove_document(journal, ANN, "rules", "more/put.md")


async def test_a_full_collection_stops_with_what_it_has_and_says_so(tmp_path: Path) -> None:
    journal, folder = SQLiteJournal(tmp_path / "j.db"), tmp_path / "docs"
    write(folder, a="one", b="two", c="three", d="four")
    await make(journal, ANN, "rules", folder=str(folder))
    report = await update(journal, ANN, "rules", passages_most=2)
    assert (report.read, [each.document for each in report.problems]) == (2, ["c.md"])
    assert "is full: it holds 2 passages" in report.problems[0].problem
    await journal.close()


KILLED = """
import asyncio, sys
from actum.knowledge.collections import CollectionUser
from actum.knowledge.update import update
from actum.storage.sqlite import SQLiteJournal

async def main():
    await update(SQLiteJournal(sys.argv[1]), CollectionUser("", "ann"), "rules")

asyncio.run(main())
"""


async def killed_after(journal: Journal, place: Path, seen: int) -> None:
    """An update in a process of its own, killed when so many documents are there."""
    process = await warm.start(sys.executable, "-c", KILLED, str(place))
    for _ in itertools.count():
        if (await named(journal, ANN, "rules")).documents >= seen or process.returncode is not None:
            break
    process.kill()
    await process.wait()


async def test_an_update_that_was_killed_goes_on_and_nothing_is_there_twice_or_in_part(tmp_path: Path) -> None:
    folder, count, place = tmp_path / "docs", 60, tmp_path / "j.db"
    write(folder, **{f"d{number}": f"# First\n\nhotel\n\n# Second\n\nrome{number}" for number in range(count)})
    journal = SQLiteJournal(place)
    await make(journal, ANN, "rules", folder=str(folder))
    for seen in (1, 20, 40):
        await killed_after(journal, place, seen)
        row = await named(journal, ANN, "rules")
        there = [each.path for each in await documents_of(journal, ANN, "rules")]
        assert (row.documents, row.passages) == (len(there), 2 * len(there))
        passages = Counter(each.document for each in await journal.stores.find("", PASSAGES))
        assert passages == dict.fromkeys(there, 2)
        assert await journal.stores.count("", INDEX.items) == 2 * len(there)
    report = await update(journal, ANN, "rules")
    assert report.read + report.unchanged == count
    assert report.unchanged >= 40
    assert (await named(journal, ANN, "rules")).passages == 2 * count
    assert await found(journal, ANN, "rome7") == ["d7.md"]
    await journal.close()


async def test_a_search_sees_a_document_whole_while_it_changes(shared: Store, reader: JailedReader) -> None:
    reads, writes = shared.open(), shared.open()
    await make(writes, ANN, "rules")
    await put_document(writes, ANN, "rules", "a.md", b"# One\n\nhotel 0\n\n# Two\n\nhotel 0", reader)

    async def change() -> None:
        for number in range(1, 15):
            text = f"# One\n\nhotel {number}\n\n# Two\n\nhotel {number}"
            await put_document(writes, ANN, "rules", "a.md", text.encode(), reader)

    changing = asyncio.ensure_future(change())
    while not changing.done():
        told = [each.text.split()[-1] for each in await search(reads, ANN, "rules", "hotel")]
        assert len(told) == 2
        assert len(set(told)) == 1
    await changing
