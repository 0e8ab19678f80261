"""The index of memory is a view of the journal: no turn is missing, doubled, or found by somebody else."""

from __future__ import annotations

import asyncio
import random
import sys
from datetime import UTC, datetime
from functools import partial

import pytest
from msgspec import structs

from actum.core.interfaces import Journal
from actum.core.message import Reply, UserMessage
from actum.core.run.record import Ended, ModelReplied, Started
from actum.core.stored.word_index import Space
from actum.journal.memory import MemoryJournal
from actum.memory.feature import FEATURE
from actum.memory.index import INDEX, find
from tests import warm
from tests.storage.conftest import Store

NOW = datetime(2026, 11, 27, 9, tzinfo=UTC)
ANN = Space("ann", "desk")


def begun(
    said: str, *, principal: str = "ann", space: str = "desk", conversation: str = "c", tenant: str = ""
) -> Started:
    return Started(
        agent="a",
        model="m",
        said=(UserMessage.of(said),),
        principal=principal,
        space=space,
        conversation=conversation,
        tenant=tenant,
    )


def say(journal: Journal, run_id: str, started: Started, ended: Ended | None = None) -> None:
    journal.append(run_id, started)
    journal.append(run_id, ModelReplied("i", Reply.of("x")))
    if ended is not None:
        journal.append(run_id, ended)


async def opened(store: Store, *, is_on: bool = True) -> Journal:
    journal = store.open()
    if is_on:
        await journal.stores.migrate("memory", FEATURE.all_migrations, FEATURE.views)
    return journal


async def ask(journal: Journal, question: str, space: Space = ANN, tenant: str = "") -> list[tuple[str, float]]:
    look = partial(find, space=space, question=question, now=NOW, limit=50)
    return [(hit.item, hit.score) for hit in await journal.stores.read(tenant, look, caught_up="memory")]


async def found(journal: Journal, question: str, space: Space = ANN, tenant: str = "") -> list[str]:
    return [name for name, _ in await ask(journal, question, space, tenant)]


async def test_a_run_is_found_as_soon_as_it_is_over_by_what_was_said_and_answered(store: Store) -> None:
    journal = await opened(store)
    say(journal, "r1", begun("I started a project called Heron"))
    assert await found(journal, "project") == []
    journal.append("r1", Ended("paused", "wait"))
    assert await found(journal, "project") == []
    journal.append("r1", Ended("failed", "an answer that nobody got", "why"))
    assert await found(journal, "projects") == ["r1"]
    assert await found(journal, "nobody") == []
    journal.append("r1", Ended("done", "Rivers, how nice."))
    assert await found(journal, "river") == ["r1"]
    assert await found(journal, "项目") == []
    say(journal, "r2", begun("我养了一只猫"), Ended("done", "好"))
    assert await found(journal, "我的猫叫什么") == ["r2", "r1"]  # the neighbour comes behind


async def test_only_runs_count_whose_own_record_names_a_space_also_when_the_index_is_made_anew(store: Store) -> None:
    before = await opened(store, is_on=False)
    said = {
        "r1": begun("heron one"),
        "r2": begun("heron two", space=""),
        "r3": begun("heron three", principal="bob"),
        "r4": begun("heron four", space="other"),
        "r5": begun("heron five", tenant="north"),
        "r6": structs.replace(begun(""), said=(UserMessage.of("heron six"), UserMessage.of("heron seven"))),
        "r7": structs.replace(begun("heron eight"), said=(structs.replace(UserMessage.of("heron"), source="client"),)),
    }
    for run_id, started in said.items():
        say(before, run_id, started, Ended("done", "yes"))
        await before.sync(run_id)
    journal = before if not store.place else store.open()
    await journal.stores.migrate("memory", FEATURE.all_migrations, FEATURE.views)
    for _ in range(2):
        assert set(await found(journal, "heron")) >= {"r1", "r6"}
        assert (await found(journal, "seven"))[0] == "r6"
        assert await found(journal, "eight") == []
        assert "r2" not in await found(journal, "heron")
        assert await found(journal, "heron", Space("bob", "desk")) == ["r3"]
        assert await found(journal, "heron", Space("ann", "other")) == ["r4"]
        assert await found(journal, "heron", tenant="north") == ["r5"]
        whole = await ask(journal, "heron one seven")
        assert await journal.stores.rebuild("memory") == 6
        assert await ask(journal, "heron one seven") == whole


async def test_a_forgotten_run_is_found_by_nothing_in_no_process_and_never_again(shared: Store) -> None:
    journal, other = await opened(shared), await opened(shared)
    for number in range(3):
        say(journal, f"r{number}", begun(f"heron number{number}"), Ended("done", "yes"))
        await journal.sync(f"r{number}")
    assert len(await found(journal, "heron")) == len(await found(other, "heron")) == 3
    say(other, "r3", begun("heron last"), Ended("done", "yes"))
    await other.sync("r3")
    await other.forget("r1")
    await other.forget("r3")  # it was not taken in yet
    for each in (journal, other):
        assert sorted(await found(each, "heron")) == ["r0", "r2"]
        assert await found(each, "number1") == []
    await journal.stores.rebuild("memory")
    assert sorted(await found(other, "heron")) == ["r0", "r2"]


async def test_both_databases_and_the_journal_in_memory_answer_in_one_order(store: Store) -> None:
    journal, drawn = await opened(store), random.Random(3)
    words = [f"word{number}" for number in range(30)]
    for number in range(60):
        say(
            journal,
            f"r{number}",
            begun(" ".join(drawn.choices(words, k=5)), conversation=f"c{number % 7}"),
            Ended("done", ""),
        )
        await journal.sync(f"r{number}")
        if number == 30:
            await found(journal, "word1")
    order = await ask(journal, "word1 word2 word3 yesterday")
    assert [(name, round(score, 9)) for name, score in order[:3]] == ORDER
    assert len(order) == len({name for name, _ in order})


ORDER = [("r49", 6.831425669), ("r56", 5.338711211), ("r32", 5.053062362)]

DIES = """
import asyncio, os, signal, sys, time
from pathlib import Path
from actum.memory.feature import FEATURE
from actum.storage.journal import DatabaseJournal
from actum.storage.schema import SQLITE
from actum.storage.sqlite import SQLiteDatabase
from tests.memory.test_index import RECORDS, found

class Dying(SQLiteDatabase):
    left = 0
    def execute(self, statement, values=()):
        if statement.startswith(("INSERT", "UPDATE", "DELETE")):
            self.left -= 1
            if self.left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return super().execute(statement, values)

async def main(statements):
    database = Dying(Path(sys.argv[1]))
    journal = DatabaseJournal(database, SQLITE, now=time.time, key=None)
    await journal.stores.migrate("memory", FEATURE.all_migrations, FEATURE.views)
    database.left = statements
    for run_id, records in RECORDS.items():
        for record in records[len(await journal.read(run_id)):]:
            async with journal.claim(run_id):
                await journal.read(run_id)
                journal.append(run_id, record)
        await journal.sync(run_id)
    await found(journal, "heron")
    os._exit(0)

for statements in range(1, 10_000):
    child = os.fork()
    if child == 0:
        asyncio.run(main(statements * 2))
    if os.waitpid(child, 0)[1] == 0:
        break
print(statements)
"""

RECORDS = {
    f"r{number}": [begun(f"heron number{number}"), ModelReplied("i", Reply.of("x")), Ended("done", "yes")]
    for number in range(20)
}


async def test_no_turn_is_missing_or_doubled_whatever_statement_a_process_dies_at(file: Store) -> None:
    done = await asyncio.to_thread(
        warm.run, [sys.executable, "-c", DIES, file.place], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 5  # processes
    journal = await opened(file)
    known = await ask(journal, "heron number7")
    assert sorted(name for name, _ in known) == sorted(RECORDS)
    assert known[0][0] == "r7"
    assert await journal.stores.count("", INDEX.items) == len(RECORDS)
    await journal.stores.rebuild("memory")
    assert await ask(journal, "heron number7") == known


async def test_a_question_takes_in_the_runs_of_its_user_and_waits_for_those_of_nobody_else(store: Store) -> None:
    journal = await opened(store)
    whose = [("ann", ""), ("bob", ""), ("ann", "north"), ("cyd", "")]
    for number, (principal, tenant) in enumerate(whose):
        said = begun("heron", principal=principal, tenant=tenant)
        say(journal, f"r{number}", said, Ended("stopped" if principal == "bob" else "done", "yes"))
        await journal.sync(f"r{number}")

    async def taken_in(principal: str | None) -> list[str]:
        await journal.stores.read("", lambda transaction: None, caught_up="memory", principal=principal)
        return sorted(row.item for _, row in await journal.stores.find_everywhere(INDEX.items))

    assert await taken_in("ann") == ["r0"]
    assert await taken_in("bob") == ["r0", "r1"]
    journal.append("r1", Ended("done", "an answer"))
    await journal.sync("r1")
    assert await found(journal, "answer", Space("bob", "desk")) == ["r1"]  # everybody's are taken in
    assert await taken_in(None) == ["r0", "r1", "r2", "r3"]


async def test_a_journal_that_keeps_few_runs_lets_none_wait_that_it_dropped() -> None:
    journal = MemoryJournal(runs_max=2)
    await journal.stores.migrate("memory", FEATURE.all_migrations, FEATURE.views)
    for number in range(5):
        say(journal, f"r{number}", begun("heron", principal=f"user {number}"), Ended("done", "yes"))
    await journal.stores.read("", lambda transaction: None, caught_up="memory")
    assert [row.item for _, row in await journal.stores.find_everywhere(INDEX.items)] == ["r3", "r4"]


async def test_what_one_process_ends_another_finds_with_its_next_question(shared: Store) -> None:
    one, other = await opened(shared), await opened(shared)
    for number in range(4):
        say(one, f"a{number}", begun(f"heron number{number}"), Ended("done", "yes"))
        say(other, f"b{number}", begun(f"heron count{number}"), Ended("done", "yes"))
        await asyncio.gather(one.sync(f"a{number}"), other.sync(f"b{number}"))
        orders = await asyncio.gather(ask(one, "heron"), ask(other, "heron"))
        assert orders[0] == orders[1]
        assert len(orders[0]) == 2 * number + 2


async def test_a_run_that_no_table_can_hold_is_told_and_keeps_no_other_out(
    shared: Store, caplog: pytest.LogCaptureFixture
) -> None:
    journal = await opened(shared)
    for run_id, principal in (("r1", "ann"), ("r2", "x" * 3_000), ("r3", "ann")):
        say(journal, run_id, begun("heron", principal=principal), Ended("done", "yes"))
        await journal.sync(run_id)
    assert sorted(await found(journal, "heron")) == ["r1", "r3"]
    assert [record.message.partition(":")[0] for record in caplog.records if record.levelname == "WARNING"] == [
        "run r2 could not be taken in by memory"
    ]
