"""The chain of a run, and the ledger of signed heads: what each of them tells, and what it can not."""

from __future__ import annotations

import subprocess
import sys

import msgspec
import pytest

from actum.core.message import Reply, UserMessage
from actum.core.run.chain import GENESIS, SignedHead, against_head, seal, sign, verify, verify_ledger
from actum.core.run.record import Entry, ModelReplied, Started
from actum.journal.memory import MemoryJournal

pytestmark = pytest.mark.row("C7")

KEY = b"a secret that is not in the database"


async def chain(count: int = 6) -> list[Entry]:
    journal = MemoryJournal()
    journal.append("r", Started(agent="a", model="m", said=(UserMessage.of("hi"),)))
    for number in range(count - 1):
        journal.append("r", ModelReplied(str(number), Reply.of("x")))
    return list(await journal.read("r"))


async def test_the_chain_finds_a_changed_payload() -> None:
    entries = await chain()
    entries[2] = msgspec.structs.replace(entries[2], payload=entries[2].payload.replace(b"x", b"y"))
    assert verify(entries) == ["entry 2: its payload was changed"]


async def test_the_chain_finds_a_missing_entry() -> None:
    entries = await chain()
    del entries[2]
    assert any("missing" in problem for problem in verify(entries))


async def test_the_chain_finds_a_changed_time() -> None:
    entries = await chain()
    entries[2] = msgspec.structs.replace(entries[2], at=entries[2].at + 1)
    assert verify(entries) == ["entry 2: it does not follow the entry before it"]


async def test_a_deleted_payload_leaves_the_chain_verifiable() -> None:
    entries = await chain()
    entries[2] = msgspec.structs.replace(entries[2], payload=b"", salt=b"")
    assert verify(entries) == []


async def test_equal_payloads_have_different_digests() -> None:
    assert (await chain())[0].digest != (await chain())[0].digest


async def test_a_rewritten_and_a_cut_chain_pass_alone_and_fail_against_a_signed_head() -> None:
    entries = await chain()
    head = sign(KEY, GENESIS, "r", 5, entries[5].head)
    rewritten, previous = [], GENESIS
    for entry in entries:
        record = ModelReplied("forged", Reply.of("y")) if entry.number == 3 else entry.record
        rewritten.append(seal(record, entry.number, entry.at, previous))
        previous = rewritten[-1].head
    for forged in (rewritten, entries[:4]):
        assert verify(forged) == []
        assert against_head(forged, head)
    assert against_head(entries, head) == []


def test_the_ledger_finds_a_line_that_was_changed_moved_or_taken_out() -> None:
    lines: list[SignedHead] = []
    for number in range(4):
        lines.append(sign(KEY, lines[-1].signature if lines else GENESIS, "r", number, bytes([number]) * 32))
    assert verify_ledger(lines, KEY) == []
    changed = msgspec.structs.replace(lines[1], number=7)
    for forged in ([lines[0], changed, *lines[2:]], [lines[0], *lines[2:]], [lines[1], lines[0], *lines[2:]]):
        assert verify_ledger(forged, KEY)
    assert verify_ledger(lines[:-1], KEY) == []  # what only an exported copy tells


def test_a_process_that_was_forked_off_draws_ids_of_its_own() -> None:
    code = (
        "import os\nfrom actum.core.run.ids import new_id\nnew_id('a')\nchild = os.fork()\n"
        "os.write(1, new_id('a ').encode())\nif child: os.waitpid(child, 0)"
    )
    printed = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    _, first, second = printed.stdout.split("a _")
    assert first != second
