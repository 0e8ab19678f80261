"""The definitions of tools in a journal: each once, under its own digest."""

from pathlib import Path

import msgspec
import pytest

from actum.core.errors import JournalError
from actum.core.run.record import Started
from actum.core.tool import Tool, digest_of
from actum.journal.kept_tools import keep_tools, kept_tools
from actum.journal.memory import MemoryJournal
from actum.storage.sqlite import SQLiteJournal

TOOLS = [Tool(name=f"t{number}", description="x" * 1000) for number in range(50)]


class CountingJournal(MemoryJournal):
    """Counts the bytes that it keeps."""

    kept_bytes = 0

    def keep(self, digest: str, payload: bytes, run_id: str = "") -> None:
        self.kept_bytes += len(payload)
        super().keep(digest, payload, run_id)


async def test_of_changed_tools_only_those_are_kept_that_changed() -> None:
    journal = CountingJournal()
    keep_tools(journal, digest_of(TOOLS), TOOLS)
    first = journal.kept_bytes
    assert first > 50_000
    keep_tools(journal, digest_of(TOOLS), TOOLS)
    assert journal.kept_bytes == first
    changed = [*TOOLS[:-1], Tool(name="t49", description="new")]
    keep_tools(journal, digest_of(changed), changed)
    assert journal.kept_bytes - first < 4_000
    assert await kept_tools(journal, digest_of(changed)) == tuple(changed)
    assert await kept_tools(journal, digest_of(TOOLS)) == tuple(TOOLS)


async def test_a_list_of_an_earlier_version_is_read() -> None:
    journal = MemoryJournal()
    journal.keep(digest_of(TOOLS), msgspec.json.encode(TOOLS))
    assert await kept_tools(journal, digest_of(TOOLS)) == tuple(TOOLS)


@pytest.mark.parametrize(
    ("payload", "why"),
    [
        (b"[]", "changed"),
        (b"{", "changed"),
        (b'["nothing"]', "gone"),
        (msgspec.json.encode([TOOLS[0].digest, TOOLS[2].digest]), "changed"),
    ],
)
async def test_definitions_that_are_not_those_of_their_digest_are_told(payload: bytes, why: str) -> None:
    journal, digest = MemoryJournal(), digest_of(TOOLS[:2])
    journal.keep(TOOLS[0].digest, TOOLS[0].definition)
    journal.keep(TOOLS[2].digest, TOOLS[0].definition)  # another definition than that of the digest
    journal.keep(digest, payload)
    with pytest.raises(JournalError, match=why):
        await kept_tools(journal, digest)


async def test_definitions_are_on_disk_with_the_record_that_names_them(tmp_path: Path) -> None:
    journal = SQLiteJournal(tmp_path / "runs.db")
    async with journal.claim("r"):
        keep_tools(journal, digest_of(TOOLS), TOOLS)
        journal.append("r", Started(agent="a", model="m", said=(), tools=digest_of(TOOLS)))
        await journal.sync("r")
    await journal.close()
    again = SQLiteJournal(tmp_path / "runs.db")
    assert await kept_tools(again, digest_of(TOOLS)) == tuple(TOOLS)
    await again.close()
